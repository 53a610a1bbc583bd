/* Turns events into rows, tracks, configurations and labels of the parser's local trace. */
#include <string.h>
#include "formats/base/num.h"
#include "formats/base/str.h"
#include "formats/chrome/chrome_priv.h"
#include "formats/model/category.h"

/* ---- life ---- */

void gp_chrome_chunk_clear(struct gp_chrome_chunk *c)
{
    for (int i = 0; i < GP_CHROME_TABLES; i++) c->events[i].n = 0;
    for (int i = 0; i < GP_ISSUE_COUNT; i++) c->issues[i] = (struct gp_issue){0, -1};
    c->labels.n = c->meta.n = c->frames.n = 0;
    c->n_events = c->n_known = 0;
    c->last_ns = INT64_MIN;
}

void gp_chrome_chunk_release(struct gp_chrome_chunk *c)
{
    for (int i = 0; i < GP_CHROME_TABLES; i++) gp_events_release(&c->events[i]);
    GP_RELEASE(gp_vec_free, &c->labels, &c->meta, &c->frames);
}

void gp_chrome_parser_init(struct gp_chrome_parser *c, uint32_t need)
{
    memset(c, 0, sizeof *c);
    c->need = need;
    gp_trace_init(&c->local, need);
    gp_keys_init(&c->keys);
}

void gp_chrome_parser_release(struct gp_chrome_parser *c)
{
    gp_trace_release(&c->local);
    GP_RELEASE(gp_vec_free, &c->extras, &c->args, &c->config_args);
    GP_RELEASE(gp_buf_release, &c->text, &c->repaired);
}

/* ---- strings ---- */

static gp_sid intern(struct gp_chrome_parser *c, const char *p, size_t n)
{
    return gp_intern(&c->local.strings, p, n);
}

/* The content of a value: strings are decoded, anything else is its text. */
static gp_sid text_of(struct gp_chrome_parser *c, const struct gp_json_value *v, struct gp_chrome_fields *f)
{
    if (v->kind == GP_JSON_ABSENT) return 0;
    if (v->kind != GP_JSON_ODD_STRING) return intern(c, v->p, v->n);
    c->text.n = 0;
    if (gp_json_decode(&c->text, v->p, v->n)) f->repaired = true;
    return intern(c, c->text.data, c->text.n);
}

/* ---- categories ---- */

static void look_up_category(struct gp_chrome_category *k, const char *text, size_t n)
{
    struct gp_category means = gp_category(text, n);
    k->table = means.table;
    k->kind = means.kind;
}

/* The last entry is shared by all categories for which there is no room. */
const struct gp_chrome_category *
gp_chrome_category_of(struct gp_chrome_parser *c, const struct gp_json_value *v, struct gp_chrome_fields *f)
{
    GP_EACH_OF(struct gp_chrome_category, k, c->categories, c->n_categories)
        if (k->n == v->n && !memcmp(k->text, v->p, v->n)) return k;
    bool fits = v->n <= sizeof c->categories[0].text && v->kind == GP_JSON_STRING;
    if (fits && c->n_categories < GP_CHROME_CATEGORIES - 1) c->n_categories++;
    else fits = false;
    struct gp_chrome_category *k = &c->categories[fits ? c->n_categories - 1 : GP_CHROME_CATEGORIES - 1];
    k->sid = text_of(c, v, f);
    const char *text = gp_trace_str(&c->local, k->sid);
    k->n = fits ? (uint32_t)v->n : UINT32_MAX;
    if (fits) memcpy(k->text, text, v->n);
    look_up_category(k, text, gp_string_len(&c->local.strings, k->sid));
    return k;
}

/* The value of the `cat` column: 0 if the category is the default of the table. */
static gp_sid category_cell(struct gp_chrome_parser *c, const struct gp_chrome_fields *f)
{
    if (!f->category) return 0;
    gp_sid sid = f->category->sid;
    const char *text = gp_trace_str(&c->local, sid);
    bool usual =
        gp_category_is_usual(text, gp_string_len(&c->local.strings, sid), f->table, f->category->kind);
    return usual ? 0 : sid;
}

/* ---- tracks ---- */

/* A non-empty text: sid 0 means that there is none. */
static gp_sid row_text(struct gp_chrome_parser *c, const struct gp_json_value *v, struct gp_chrome_fields *f)
{
    gp_sid sid = text_of(c, v, f);
    return sid || v->kind == GP_JSON_ABSENT ? sid : intern(c, GP_TEXT(" "));
}

static uint32_t process_of(struct gp_chrome_parser *c, struct gp_chrome_fields *f)
{
    struct gp_process p = gp_process_unknown();
    p.pid = f->pid_number;
    p.pid_text = row_text(c, &f->pid, f);
    if (p.pid_text) p.pid = 0;
    return gp_trace_process(&c->local, &p);
}

static uint32_t find_track(struct gp_chrome_parser *c, struct gp_chrome_fields *f, uint32_t kind)
{
    struct gp_track k = gp_track_unknown();
    k.kind = kind;
    k.process = process_of(c, f);
    k.tid = f->tid_number;
    k.tid_text = row_text(c, &f->tid, f);
    if (k.tid_text) k.tid = 0;
    k.device = f->device;
    k.context = f->context;
    k.stream = f->stream;
    return gp_trace_track(&c->local, &k);
}

static uint32_t track_of(struct gp_chrome_parser *c, struct gp_chrome_fields *f)
{
    uint32_t kind = f->table == GP_GPU || f->table == GP_GPU_RANGE || f->table == GP_SYNC ? GP_TRACK_STREAM
                                                                                          : GP_CHROME_PAIR;
    if (f->pid.kind != GP_JSON_ABSENT || f->tid.kind != GP_JSON_ABSENT) return find_track(c, f, kind);
    uint64_t h = ((uint64_t)f->pid_number * 31 + (uint64_t)f->tid_number) * 31 + (uint64_t)f->stream + kind;
    struct gp_chrome_cached_track *k = &c->tracks[(h * 0x9e3779b97f4a7c15u >> 32) % GP_CHROME_TRACK_CACHE];
    if (k->kind == kind + 1 && k->pid == f->pid_number && k->tid == f->tid_number && k->device == f->device &&
        k->context == f->context && k->stream == f->stream)
        return k->track;
    *k = (struct gp_chrome_cached_track){
        f->pid_number, f->tid_number, f->device, f->context, f->stream, kind + 1, find_track(c, f, kind)};
    return k->track;
}

/* ---- extra ---- */

/* The sid of the text as valid JSON, repaired if necessary; 0 and *BROKEN if it cannot be repaired. Each
 * distinct text is examined once. */
static gp_sid checked_extra(struct gp_chrome_parser *c, gp_sid sid, struct gp_chrome_fields *f, bool *broken)
{
    if (sid >= c->extras.n) {
        size_t n = c->extras.n;
        GP_VEC_RESERVE(&c->extras, (size_t)sid + 1);
        c->extras.n = c->extras.cap;
        memset(c->extras.at + n, 0, (c->extras.n - n) * sizeof *c->extras.at);
    }
    struct gp_chrome_extra *x = &c->extras.at[sid];
    if (!x->state) {
        unsigned changes;
        c->repaired.n = 0;
        x->state = gp_json_clean(&c->repaired, c->text.data, c->text.data + c->text.n, &changes) ? 1 : 2;
        x->changes = changes;
        x->sid = x->state == 2 ? intern(c, c->repaired.data, c->repaired.n) : 0;
    }
    if (x->state == 1) *broken = true;
    if (x->changes & GP_JSON_CLEANED_TEXT) f->repaired = true;
    if (x->changes & GP_JSON_CLEANED_WORD) f->bad_value = true;
    return x->sid;
}

/* {"key":value,...} of the kept args, with keys and values as written. */
static gp_sid extra_of(struct gp_chrome_parser *c, const struct gp_chrome_arg *args, size_t n,
                       struct gp_chrome_fields *f, bool *broken)
{
    if (!n) return 0;
    size_t size = 2 + GP_JSON_PAD;
    for (size_t i = 0; i < n; i++) size += args[i].key_n + args[i].v.n + 6;
    c->text.n = 0;
    char *to = gp_buf_reserve(&c->text, size), *p = to;
    for (size_t i = 0; i < n; i++) {
        const struct gp_json_value *v = &args[i].v;
        bool string = gp_json_is_string(v);
        *p++ = i ? ',' : '{';
        *p++ = '"';
        memcpy(p, args[i].key, args[i].key_n);
        p += args[i].key_n;
        *p++ = '"';
        *p++ = ':';
        memcpy(p, v->p - string, v->n + 2 * string);
        p += v->n + 2 * string;
    }
    *p++ = '}';
    memset(p, 0, GP_JSON_PAD);
    c->text.n = (size_t)(p - to);
    gp_sid sid = intern(c, to, c->text.n);
    if (GP_LIKELY(sid < c->extras.n && c->extras.at[sid].state == 2 && !c->extras.at[sid].changes))
        return c->extras.at[sid].sid;
    return checked_extra(c, sid, f, broken);
}

/* ---- rows ---- */

static void issue(struct gp_chrome_parser *c, enum gp_issue_kind kind, int64_t offset)
{
    struct gp_issue *q = &c->out->issues[kind];
    q->count++;
    if (q->first_offset < 0 || offset < q->first_offset) q->first_offset = offset;
}

static void set_id(struct gp_chrome_parser *c, struct gp_events *e, size_t row, struct gp_chrome_fields *f)
{
    uint64_t id;
    if (f->id.kind == GP_JSON_ABSENT) return;
    if ((gp_u64_from_text(f->id.p, f->id.n, &id) || gp_u64_from_hex(f->id.p, f->id.n, &id)) && id != GP_NO_ID)
        gp_set_id(e, row, id);
    else gp_set_id_text(e, row, row_text(c, &f->id, f));
}

static uint32_t config_of(struct gp_chrome_parser *c, struct gp_chrome_fields *f, gp_sid name, gp_sid extra)
{
    struct gp_config k = {.name = name, .kind = f->category ? f->category->kind : GP_KERNEL, .has = f->has};
    if (f->has & GP_HAS_GRID) memcpy(k.grid, f->grid, sizeof k.grid);
    if (f->has & GP_HAS_BLOCK) memcpy(k.block, f->block, sizeof k.block);
    if (f->has & GP_HAS_CLUSTER) memcpy(k.cluster, f->cluster, sizeof k.cluster);
    if (f->has & GP_HAS_REGS) k.registers = f->registers;
    if (f->has & GP_HAS_SHARED) k.shared_bytes = f->shared_bytes;
    k.shared_static_bytes = f->shared_static;
    k.local_bytes = f->local;
    k.cat = category_cell(c, f);
    k.extra = extra;
    return gp_trace_config(&c->local, &k);
}

/* The names of a JSON array as one string, as the model stores them. */
static gp_sid captured_of(struct gp_chrome_parser *c, struct gp_chrome_fields *f)
{
    if (f->captured.kind == GP_JSON_ABSENT) return 0;
    const char *at = f->captured.p + 1;
    struct gp_json_value name;
    c->text.n = 0;
    while (gp_json_next(&at, c->end, NULL, &name)) {
        if (c->text.n) gp_buf_putc(&c->text, GP_CAPTURED_END);
        size_t from = c->text.n;
        if (gp_json_decode(&c->text, name.p, name.n)) f->repaired = true;
        for (size_t i = from; i < c->text.n; i++)
            if (c->text.data[i] == GP_CAPTURED_END) c->text.data[i] = ' ';
    }
    return intern(c, c->text.n ? c->text.data : "", c->text.n);
}

static void set_ids(const struct gp_chrome_parser *c, struct gp_events *e, size_t row,
                    const struct gp_chrome_fields *f)
{
    gp_set_corr(e, row, f->corr);
    gp_set_ext(e, row, f->ext);
    gp_set_graph(e, row, f->graph);
    gp_set_node(e, row, f->node);
    gp_set_seq(e, row, f->seq);
    gp_set_event(e, row, f->event);
    gp_set_source(e, row, f->source);
    if (c->need & GP_NEED_IDS) {
        gp_set_recfn(e, row, f->recfn);
        gp_set_py_id(e, row, f->py_id);
        gp_set_py_parent(e, row, f->py_parent);
        gp_set_py_module(e, row, f->py_module);
    }
    gp_set_bytes(e, row, f->bytes);
}

/* The phase cell: the character if the table does not imply it, the scope of an instant, and
 * GP_PHASE_OLD_EXT. */
static uint32_t phase_cell(const struct gp_chrome_fields *f)
{
    uint32_t ext = f->old_ext ? GP_PHASE_OLD_EXT : 0;
    if (f->table == GP_MARK || f->table == GP_MEMORY) {
        uint32_t scope = f->scope == 'g' || f->scope == 'p' ? (uint32_t)f->scope << 8 : 0;
        return ext | (f->phase == 'i' ? 0 : (uint32_t)f->phase) | scope;
    }
    if (f->table == GP_COUNTER) return 0;
    return ext | (f->phase == 'X' ? 0 : (uint32_t)f->phase);
}

/* Another thread of the event's process. */
static uint32_t waiter_of(struct gp_chrome_parser *c, const struct gp_chrome_fields *f)
{
    struct gp_chrome_fields waiter = *f;
    waiter.tid.kind = GP_JSON_ABSENT;
    waiter.tid_number = (int64_t)f->waiter;
    waiter.device = waiter.context = waiter.stream = -1;
    return find_track(c, &waiter, GP_CHROME_PAIR);
}

static size_t add_row(struct gp_chrome_parser *c, struct gp_chrome_fields *f, gp_sid name)
{
    bool open = f->phase == 'B' || f->phase == 'E';
    struct gp_events *e = &c->out->events[open ? GP_CHROME_OPEN : f->table];
    size_t row = gp_events_add(e, f->ts_ns, f->phase == 'X' ? f->dur_ns : 0, track_of(c, f), name);
    if (f->table == GP_FLOW) {
        gp_set_cat(e, row, category_cell(c, f));
        gp_set_phase(e, row, (uint32_t)f->phase);
        set_id(c, e, row, f);
        return row;
    }
    if (f->table != GP_GPU) gp_set_cat(e, row, category_cell(c, f));
    gp_set_phase(e, row, phase_cell(f));
    set_id(c, e, row, f);
    set_ids(c, e, row, f);
    if (GP_UNLIKELY(f->frame.kind != GP_JSON_ABSENT)) gp_set_stack(e, row, gp_chrome_frame_id(c, &f->frame));
    if (GP_UNLIKELY(f->waiter != GP_NO_ID)) gp_set_waiter(e, row, waiter_of(c, f));
    if (open) {
        gp_set_ret(e, row, (int32_t)f->table);
        gp_set_addr(e, row, (uint64_t)f->offset);
    } else {
        gp_set_ret(e, row, (int32_t)f->ret);
    }
    return row;
}

/* One row per series. */
static void add_counter(struct gp_chrome_parser *c, struct gp_chrome_fields *f, gp_sid name)
{
    struct gp_events *e = &c->out->events[GP_COUNTER];
    GP_EACH(const struct gp_chrome_arg, arg, c->args) {
        double v;
        if (!gp_double_from_text(arg->v.p, arg->v.n, &v)) {
            f->bad_value = true;
            continue;
        }
        struct gp_json_value key = {arg->key, arg->key_n, GP_JSON_ODD_STRING};
        size_t row = add_row(c, f, name);
        gp_set_series(e, row, text_of(c, &key, f));
        gp_set_value(e, row, v);
    }
}

static void add_span(struct gp_chrome_parser *c, struct gp_chrome_fields *f, gp_sid name, gp_sid extra,
                     gp_sid config_text)
{
    bool open = f->phase == 'B' || f->phase == 'E';
    struct gp_events *e = &c->out->events[open ? GP_CHROME_OPEN : f->table];
    size_t row = add_row(c, f, name);
    gp_set_extra(e, row, extra);
    if (c->need & GP_NEED_IDS && !open) gp_set_addr(e, row, f->addr);
    if (f->table == GP_GPU) {
        /* config 0 of the parser need not be config 0 of the trace */
        gp_events_materialise(e, GP_COL_CONFIG);
        e->config[row] = config_of(c, f, name, config_text);
        gp_set_captured(e, row, captured_of(c, f));
        if (c->need & GP_NEED_PLACES) gp_set_place(e, row, (uint64_t)f->offset);
    }
    if (f->table == GP_MEMORY) {
        gp_set_total(e, row, f->total);
        gp_set_reserved(e, row, f->reserved);
    }
}

/* ---- labels ---- */

static void add_label(struct gp_chrome_parser *c, struct gp_chrome_fields *f)
{
    static const char *const names[] = {"process_name", "process_labels", "process_sort_index", "thread_name",
                                        "thread_sort_index"};
    for (uint32_t what = 0; what < GP_COUNT(names); what++) {
        if (strlen(names[what]) != f->name.n || memcmp(names[what], f->name.p, f->name.n)) continue;
        struct gp_chrome_label label = {.what = what, .sort_index = f->sort_index};
        label.where = what >= GP_CHROME_THREAD_NAME ? find_track(c, f, GP_CHROME_PAIR) : process_of(c, f);
        label.text = text_of(c, &f->text_arg, f);
        GP_VEC_PUSH(&c->out->labels, label);
    }
}

/* ---- events ---- */

static void check_duration(struct gp_chrome_parser *c, struct gp_chrome_fields *f)
{
    bool bad = !f->has_dur || f->dur_ns < 0 || f->dur_ns > GP_DURATION_MOST;
    if (!bad) return;
    f->dur_ns = 0;
    issue(c, GP_Q_BAD_DURATION, f->offset);
}

static bool has_known_phase(const struct gp_chrome_fields *f)
{
    return f->phase && strchr("MXBEiIRCstfbenNODSTpFPvVac()", f->phase);
}

/* Does the event become rows? Counts it if not. */
static bool is_usable(struct gp_chrome_parser *c, struct gp_chrome_fields *f)
{
    if (!has_known_phase(f)) {
        issue(c, GP_Q_UNKNOWN_PHASE, f->offset);
        return false;
    }
    if (!f->has_ts || !gp_time_fits(f->ts_ns)) {
        issue(c, GP_Q_BAD_TIME, f->offset);
        return false;
    }
    if (f->phase == 'X') check_duration(c, f);
    if (f->phase == 'X' || f->phase == 'B' || f->phase == 'E') {
        int64_t last = f->ts_ns + (f->phase == 'X' ? f->dur_ns : 0);
        if (last > c->out->last_ns) c->out->last_ns = last;
    }
    return f->needed;
}

bool gp_chrome_add(struct gp_chrome_parser *c, struct gp_chrome_fields *f)
{
    bool broken = false;
    gp_sid extra = 0, config_text = 0;
    if (f->needed && f->table != GP_COUNTER && f->phase != 'M') {
        extra = extra_of(c, c->args.at, c->args.n, f, &broken);
        if (f->table == GP_GPU) config_text = extra_of(c, c->config_args.at, c->config_args.n, f, &broken);
        if (broken) return false;
    }
    c->out->n_events++;
    c->out->n_known += has_known_phase(f);
    if (f->phase == 'M') {
        add_label(c, f);
    } else if (is_usable(c, f)) {
        gp_sid name = text_of(c, &f->name, f);
        if (f->table == GP_COUNTER) add_counter(c, f, name);
        else add_span(c, f, name, extra, config_text);
    }
    if (f->repaired) issue(c, GP_Q_REPAIRED_TEXT, f->offset);
    if (f->bad_value) issue(c, GP_Q_BAD_VALUE, f->offset);
    if (f->duplicate) issue(c, GP_Q_DUPLICATE_KEY, f->offset);
    return true;
}
