/* Args of events: columns, launch configurations, and a JSON object of the others. */
#include "formats/base/json_write.h"
#include "formats/base/num.h"
#include "formats/base/str.h"
#include "formats/perfetto/perfetto_read_priv.h"

/* What recorders call what we have a column for, one row each. */
static const struct {
    const char *text;
    uint32_t key; /* enum gp_pf_key or gp_pr_key */
} names[] = {
#define X(id, text, column, how) {text, id},
    GP_PF_ARGS(X)
#undef X
        {"external id", GP_PF_KEY_EXT}, /* Kineto */
    {"Bytes", GP_PF_KEY_BYTES},
    {"event_id", GP_PF_KEY_EVENT},
    {"wait_on_cuda_event_id", GP_PF_KEY_EVENT},
    {"wait_on_cuda_event_record_corr_id", GP_PF_KEY_SOURCE},
    {"device", GP_PR_KEY_DEVICE},
    {"context", GP_PR_KEY_CONTEXT},
    {"stream", GP_PR_KEY_STREAM},
    {"device id", GP_PR_KEY_DEVICE}, /* torch */
    {"context id", GP_PR_KEY_CONTEXT},
    {"stream id", GP_PR_KEY_STREAM},
    {"cuda_sync_kind", GP_PR_KEY_SYNC_KIND},
    {"registers_per_thread", GP_PF_KEY_REGISTERS},
    {"shared_mem_static", GP_PF_KEY_SHARED},
    {"shared_mem_dynamic", GP_PF_KEY_SHARED},
    {"corr_id", GP_PF_KEY_CORR}, /* rocprofv3 */
    {"copy_bytes", GP_PF_KEY_BYTES},
    {"group_segment_size", GP_PF_KEY_SHARED},
    {"grid_size", GP_PR_KEY_WORK_ITEMS},
    {"workgroup_size", GP_PR_KEY_GROUP_ITEMS},
};

static const struct {
    enum gp_column column;
    enum gp_pf_how how;
} columns[] = {
#define X(id, text, column, how) {column, how},
    GP_PF_ARGS(X)
#undef X
};

static enum gp_pr_key known_key(struct gp_pr *r, gp_sid text)
{
    while (text >= r->key_of.n) GP_VEC_PUSH(&r->key_of, 0);
    uint8_t *known = &r->key_of.at[text];
    if (*known) return (enum gp_pr_key)(*known - 1);
    *known = 1 + GP_PR_KEY_OTHER;
    for (size_t i = 0; i < GP_COUNT(names); i++)
        if (gp_is(gp_trace_str(r->t, text), gp_string_len(&r->t->strings, text), names[i].text))
            *known = (uint8_t)(1 + names[i].key);
    /* numbers of ours mean nothing in other files */
    bool ours_only = *known == 1 + GP_PF_KEY_CONFIG || *known == 1 + GP_PF_KEY_TABLE ||
                     *known == 1 + GP_PF_KEY_STACK || *known == 1 + GP_PF_KEY_WAITER ||
                     *known == 1 + GP_PF_KEY_PHASE || *known == 1 + GP_PF_KEY_DURATION ||
                     *known == 1 + GP_PF_KEY_ID || *known == 1 + GP_PF_KEY_ARGS;
    if (ours_only && !r->ours) *known = 1 + GP_PR_KEY_OTHER;
    if (r->ours && *known >= 1 + GP_PF_KEY_COUNT) *known = 1 + GP_PR_KEY_OTHER;
    return (enum gp_pr_key)(*known - 1);
}

void gp_pr_begin_event(struct gp_pr *r)
{
    struct gp_pr_event *e = &r->event;
    e->dur_ns = 0;
    e->name = e->category = 0;
    e->has = 0;
    memset(&e->config, 0, sizeof e->config);
    e->known_config = GP_PR_NONE;
    e->work_items = e->group_items = 0;
    e->device = e->context = e->stream = -1;
    e->is_sync = false;
    e->members.n = 0;
}

/* ---- values ---- */

/* As a number; numbers may be written as text. */
static bool number_of(const struct gp_pr_value *v, uint64_t *to)
{
    int64_t negative;
    *to = v->v;
    if (v->kind == GP_PR_NUMBER) return true;
    if (v->kind != GP_PR_TEXT) return false;
    if (gp_u64_from_text(v->p, v->n, to)) return true;
    if (!gp_i64_from_text(v->p, v->n, &negative)) return false;
    *to = (uint64_t)negative;
    return true;
}

static void put_value(struct gp_buf *b, const struct gp_pr_value *v)
{
    if (v->kind == GP_PR_NUMBER && v->negative) gp_buf_put_i64(b, (int64_t)v->v);
    else if (v->kind == GP_PR_NUMBER) gp_buf_put_u64(b, v->v);
    else if (v->kind == GP_PR_REAL) gp_json_put_double(b, gp_wire_double(v->v));
    else if (v->kind == GP_PR_TEXT) gp_json_put_string(b, v->p, v->n);
    else if (v->kind == GP_PR_JSON) gp_json_put_valid(b, v->p, v->n);
    else gp_buf_puts(b, "null");
}

/* Three numbers in "[x, y, z]". */
static bool triple_of(const struct gp_pr_value *v, uint32_t to[3])
{
    size_t at = 0;
    for (int i = 0; i < 3; i++) {
        uint64_t number;
        while (at < v->n && !gp_is_digit(v->p[at])) at++;
        size_t from = at;
        while (at < v->n && gp_is_digit(v->p[at])) at++;
        if (!gp_u64_from_text(v->p + from, at - from, &number) || number > UINT32_MAX) return false;
        to[i] = (uint32_t)number;
    }
    return true;
}

static bool take_launch(struct gp_pr_event *e, uint32_t key, const struct gp_pr_value *v)
{
    struct gp_config *c = &e->config;
    uint64_t number = 0;
    bool text = v->kind == GP_PR_TEXT || v->kind == GP_PR_JSON;
    if (key == GP_PF_KEY_GRID && text && triple_of(v, c->grid)) c->has |= GP_HAS_GRID;
    else if (key == GP_PF_KEY_BLOCK && text && triple_of(v, c->block)) c->has |= GP_HAS_BLOCK;
    else if (key == GP_PF_KEY_CLUSTER && text && triple_of(v, c->cluster)) c->has |= GP_HAS_CLUSTER;
    else if (!number_of(v, &number)) return false;
    else if (key == GP_PR_KEY_WORK_ITEMS) e->work_items = number;
    else if (key == GP_PR_KEY_GROUP_ITEMS) e->group_items = number;
    else if (key == GP_PF_KEY_CONFIG) e->known_config = (uint32_t)number;
    else if (number > UINT32_MAX) return false;
    else if (key == GP_PF_KEY_REGISTERS) c->registers = (uint32_t)number, c->has |= GP_HAS_REGS;
    else if (key == GP_PF_KEY_SHARED) c->shared_bytes += (uint32_t)number, c->has |= GP_HAS_SHARED;
    else return false;
    return true;
}

static bool take_place(struct gp_pr_event *e, uint32_t key, const struct gp_pr_value *v)
{
    uint64_t number;
    if (key == GP_PR_KEY_SYNC_KIND) {
        e->is_sync = true;
        return false; /* and it stays an arg */
    }
    if (!number_of(v, &number)) return false;
    if (key == GP_PR_KEY_DEVICE) e->device = (int64_t)number;
    else if (key == GP_PR_KEY_CONTEXT) e->context = (int64_t)number;
    else if (key == GP_PR_KEY_STREAM) e->stream = (int64_t)number;
    else return false;
    return true;
}

static bool take_column(struct gp_pr *r, uint32_t key, const struct gp_pr_value *v)
{
    struct gp_pr_event *e = &r->event;
    enum gp_column column = columns[key].column;
    uint64_t number = 0;
    if (columns[key].how == GP_PF_SID) {
        if (v->kind != GP_PR_TEXT) return false;
        number = gp_trace_intern(r->t, v->p, v->n);
    } else if (!number_of(v, &number)) {
        return false;
    }
    bool known = (column != GP_COL_STACK || number < r->t->stacks.n) &&
                 (column != GP_COL_WAITER || number < r->t->tracks.n);
    if (!known) return false;
    e->cells[column] = number;
    e->has |= GP_COLUMN(column);
    return true;
}

void gp_pr_take_arg(struct gp_pr *r, gp_sid text, const struct gp_pr_value *v)
{
    struct gp_pr_event *e = &r->event;
    uint32_t key = known_key(r, text);
    uint64_t number;
    bool taken = false;
    if (key == GP_PF_KEY_TABLE || key == GP_PF_KEY_DURATION || key == GP_PF_KEY_LAUNCHED) {
        taken = number_of(v, &number) || key == GP_PF_KEY_LAUNCHED;
        if (key == GP_PF_KEY_TABLE && taken && number < GP_TABLE_COUNT) e->table = (enum gp_table)number;
        if (key == GP_PF_KEY_DURATION && taken && number <= GP_DURATION_MOST) e->dur_ns = (int64_t)number;
        if (key == GP_PF_KEY_LAUNCHED && !r->ours) taken = false;
    } else if (key < GP_PF_KEY_COUNT && columns[key].how) {
        taken = take_column(r, key, v);
    } else if (key < GP_PF_KEY_COUNT || key == GP_PR_KEY_WORK_ITEMS || key == GP_PR_KEY_GROUP_ITEMS) {
        taken = take_launch(e, key, v);
    } else {
        taken = take_place(e, key, v);
    }
    if (taken || r->ours || !gp_needs_extra(r->t->need, e->table)) return;
    if (e->members.n) gp_buf_putc(&e->members, ',');
    gp_json_put_string(&e->members, gp_trace_str(r->t, text), gp_string_len(&r->t->strings, text));
    gp_buf_putc(&e->members, ':');
    put_value(&e->members, v);
}

/* ---- annotations ---- */

static gp_sid key_of(struct gp_pr *r, const struct gp_pr_sequence *s, struct gp_wire w)
{
    for (struct gp_wire_field f; gp_wire_next(&w, &f);) {
        if (f.tag == GP_PF_KEY_TEXT) return gp_trace_intern(r->t, (const char *)f.data, f.value);
        const struct gp_pr_entry *e =
            f.tag == GP_PF_KEY_IID ? gp_pr_look_up(r, s, GP_PR_KEYS, f.value) : NULL;
        if (f.tag == GP_PF_KEY_IID) return e ? e->text : 0;
    }
    return 0;
}

static bool is_nested(struct gp_wire w)
{
    for (struct gp_wire_field f; gp_wire_next(&w, &f);)
        if (f.tag == GP_PF_DICT_ENTRY || f.tag == GP_PF_ARRAY_VALUE) return true;
    return false;
}

/* The value that is not nested. */
static struct gp_pr_value plain_value(struct gp_pr *r, const struct gp_pr_sequence *s, struct gp_wire w)
{
    struct gp_pr_value v = {.kind = GP_PR_NO_VALUE};
    for (struct gp_wire_field f; gp_wire_next(&w, &f);) {
        const struct gp_pr_entry *e =
            f.tag == GP_PF_TEXT_IID ? gp_pr_look_up(r, s, GP_PR_TEXTS, f.value) : NULL;
        bool number = f.tag == GP_PF_INT || f.tag == GP_PF_UINT || f.tag == GP_PF_POINTER;
        if (number) v.kind = GP_PR_NUMBER, v.v = f.value;
        if (f.tag == GP_PF_INT) v.negative = (int64_t)f.value < 0;
        if (f.tag == GP_PF_DOUBLE) v.kind = GP_PR_REAL, v.v = f.value;
        if (f.tag == GP_PF_BOOL) v.kind = GP_PR_JSON, v.p = f.value ? "true" : "false", v.n = strlen(v.p);
        if (f.tag == GP_PF_STRING || f.tag == GP_PF_JSON)
            v.kind = GP_PR_TEXT, v.p = (const char *)f.data, v.n = f.value;
        if (f.tag == GP_PF_JSON && gp_json_is_valid(v.p, v.n)) v.kind = GP_PR_JSON;
        if (f.tag == GP_PF_TEXT_IID) v.kind = GP_PR_TEXT, v.p = "", v.n = 0;
        if (e) v.p = gp_trace_str(r->t, e->text), v.n = gp_string_len(&r->t->strings, e->text);
    }
    return v;
}

static void put_nested(struct gp_pr *r, const struct gp_pr_sequence *s, struct gp_wire w, int depth)
{
    enum { DEEPEST = 32 };
    bool dict = false, any = false;
    struct gp_wire again = w;
    if (!is_nested(w) || depth == DEEPEST) {
        struct gp_pr_value v = plain_value(r, s, w);
        put_value(&r->text, &v);
        return;
    }
    for (struct gp_wire_field f; gp_wire_next(&again, &f);) dict = dict || f.tag == GP_PF_DICT_ENTRY;
    gp_buf_putc(&r->text, dict ? '{' : '[');
    for (struct gp_wire_field f; gp_wire_next(&w, &f);) {
        if (f.tag != (dict ? GP_PF_DICT_ENTRY : GP_PF_ARRAY_VALUE)) continue;
        if (any) gp_buf_putc(&r->text, ',');
        any = true;
        if (dict) {
            gp_sid key = key_of(r, s, gp_wire_message(&f));
            gp_json_put_string(&r->text, gp_trace_str(r->t, key), gp_string_len(&r->t->strings, key));
            gp_buf_putc(&r->text, ':');
        }
        put_nested(r, s, gp_wire_message(&f), depth + 1);
    }
    gp_buf_putc(&r->text, dict ? '}' : ']');
}

void gp_pr_annotation(struct gp_pr *r, const struct gp_pr_sequence *s, struct gp_wire w)
{
    gp_sid key = key_of(r, s, w);
    struct gp_pr_value v = plain_value(r, s, w);
    if (v.kind == GP_PR_NO_VALUE && is_nested(w)) {
        r->text.n = 0;
        put_nested(r, s, w, 0);
        v.kind = GP_PR_JSON;
        v.p = r->text.data;
        v.n = r->text.n;
    }
    gp_pr_take_arg(r, key, &v);
}

/* ---- rows ---- */

static uint32_t config_of(struct gp_pr *r)
{
    struct gp_pr_event *e = &r->event;
    if (r->ours && e->known_config < r->t->configs.n) return e->known_config;
    e->config.name = e->name;
    if (e->group_items && e->work_items && !(e->config.has & (GP_HAS_GRID | GP_HAS_BLOCK)) &&
        e->work_items / e->group_items <= UINT32_MAX && e->group_items <= UINT32_MAX) {
        const uint32_t grid[3] = {(uint32_t)(e->work_items / e->group_items), 1, 1};
        const uint32_t block[3] = {(uint32_t)e->group_items, 1, 1};
        memcpy(e->config.grid, grid, sizeof grid);
        memcpy(e->config.block, block, sizeof block);
        e->config.has |= GP_HAS_GRID | GP_HAS_BLOCK;
    }
    return gp_trace_config(r->t, &e->config);
}

/* Columns that only other profilers' tools read. */
#define FOR_OTHERS                                                                                           \
    (GP_COLUMN(GP_COL_RECFN) | GP_COLUMN(GP_COL_PYID) | GP_COLUMN(GP_COL_PYPARENT) |                         \
     GP_COLUMN(GP_COL_PYMODULE) | GP_COLUMN(GP_COL_ADDR))

uint32_t gp_pr_add(struct gp_pr *r)
{
    struct gp_pr_event *e = &r->event;
    struct gp_events *to = &r->t->events[e->table];
    if (!(r->t->need & GP_NEED(e->table)) || to->n >= GP_PR_NONE) return GP_PR_NONE;
    if (e->table == GP_GPU && !e->name) e->name = gp_intern_cstr(&r->t->strings, "?");
    size_t row = gp_events_add(to, e->at_ns, e->dur_ns, e->track, e->name);
    if (e->table == GP_GPU) {
        uint32_t config = config_of(r);
        gp_set_cell(to, GP_COL_CONFIG, row, config);
        to->name[row] = r->t->configs.at[config].name;
        if (r->t->need & GP_NEED_PLACES) gp_set_place(to, row, r->offset);
    }
    if (!gp_needs_extra(r->t->need, e->table)) e->has &= ~GP_COLUMN(GP_COL_EXTRA);
    if (!(r->t->need & GP_NEED_IDS)) e->has &= ~FOR_OTHERS;
    for (int column = GP_COL_NAME + 1; column < GP_COLUMN_COUNT; column++)
        if (e->has & GP_COLUMN(column)) gp_set_cell(to, (enum gp_column)column, row, e->cells[column]);
    if (e->category && e->table != GP_GPU) gp_set_cat(to, row, e->category);
    if (e->members.n) {
        r->text.n = 0;
        gp_buf_putc(&r->text, '{');
        gp_buf_put(&r->text, e->members.data, e->members.n);
        gp_buf_putc(&r->text, '}');
        gp_set_extra(to, row, gp_trace_intern(r->t, r->text.data, r->text.n));
    }
    return (uint32_t)row;
}
