#include <stdlib.h>
#include <string.h>
#include "formats/base/json_write.h"
#include "formats/base/map.h"
#include "formats/base/str.h"
#include "formats/chrome/chrome.h"
#include "formats/chrome/chrome_priv.h"

enum { FLUSH_SIZE = 128 << 10 };

/* What is known about a string of the trace, determined when it is first written. */
enum { UNKNOWN, COPY, ESCAPE, MEMBERS, NO_MEMBERS, NO_JSON };

/* The position of a plain name. */
struct plain {
    size_t at, n;
};

struct writer {
    const struct gp_trace *t;
    struct gp_chrome_rows rows;
    struct gp_buf b;
    gp_chrome_sink *sink;
    void *ctx;
    uint8_t *as_text, *as_object; /* by sid: the states above */
    gp_chrome_plain_name *plain_name;
    struct gp_map plain_at;    /* sid of a kernel's name -> index in `plains` */
    struct gp_map captured_at; /* the same for ranges of a capture */
    GP_VEC(struct plain) plains;
    struct gp_buf plain; /* their text, as JSON strings and arrays */
    bool first;          /* no event written yet */
    bool stopped;
};

#define PUT(w, literal) gp_buf_put(&(w)->b, literal, sizeof(literal) - 1)

static void flush(struct writer *w)
{
    if (!w->stopped && w->b.n && w->sink(w->ctx, w->b.data, w->b.n)) w->stopped = true;
    w->b.n = 0;
}

static void put_string(struct writer *w, gp_sid sid)
{
    const struct gp_strings *s = &w->t->strings;
    const char *text = gp_string(s, sid);
    size_t n = gp_string_len(s, sid);
    if (!w->as_text[sid]) w->as_text[sid] = gp_json_is_clean(text, n) ? COPY : ESCAPE;
    if (w->as_text[sid] == ESCAPE) {
        gp_json_put_string(&w->b, text, n);
        return;
    }
    char *to = gp_buf_reserve(&w->b, n + 2);
    to[0] = '"';
    memcpy(to + 1, text, n);
    to[n + 1] = '"';
    w->b.n += n + 2;
}

/* The demangled form of a kernel's name. Traces have few names and many events. */
static void put_plain_name(struct writer *w, gp_sid sid)
{
    uint32_t *at = gp_map_put(&w->plain_at, sid, UINT32_MAX);
    if (*at == UINT32_MAX) {
        struct gp_buf name = {0};
        struct plain p = {.at = w->plain.n};
        w->plain_name(&name, gp_trace_str(w->t, sid), gp_string_len(&w->t->strings, sid));
        gp_json_put_string(&w->plain, name.data, name.n);
        gp_buf_release(&name);
        p.n = w->plain.n - p.at;
        *at = (uint32_t)w->plains.n;
        GP_VEC_PUSH(&w->plains, p);
    }
    const struct plain *p = &w->plains.at[*at];
    gp_buf_put(&w->b, w->plain.data + p->at, p->n);
}

/* The ranges of a capture as an array of names. */
static void put_captured(struct writer *w, gp_sid sid)
{
    uint32_t *known = gp_map_put(&w->captured_at, sid, UINT32_MAX);
    if (*known == UINT32_MAX) {
        struct plain p = {.at = w->plain.n};
        const char *at = gp_trace_str(w->t, sid), *end = at + gp_string_len(&w->t->strings, sid), *name;
        for (size_t n; (name = gp_captured_next(&at, end, &n));) {
            gp_buf_putc(&w->plain, w->plain.n == p.at ? '[' : ',');
            gp_json_put_string(&w->plain, name, n);
        }
        gp_buf_putc(&w->plain, ']');
        p.n = w->plain.n - p.at;
        *known = (uint32_t)w->plains.n;
        GP_VEC_PUSH(&w->plains, p);
    }
    const struct plain *p = &w->plains.at[*known];
    gp_buf_put(&w->b, w->plain.data + p->at, p->n);
}

static void put_number_or_string(struct writer *w, int64_t number, gp_sid text)
{
    /* the model cannot hold an empty text here; the reader keeps "" as a blank */
    if (text && !strcmp(gp_trace_str(w->t, text), " ")) PUT(w, "\"\"");
    else if (text) put_string(w, text);
    else gp_buf_put_i64(&w->b, number);
}

/* ---- args ---- */

/* Opens the args object of an event with its first member; the caller closes it with end_args. */
struct args {
    struct writer *w;
    bool any;
};

static void arg_key(struct args *a, const char *key, size_t n)
{
    struct gp_buf *b = &a->w->b;
    if (a->any) gp_buf_putc(b, ',');
    else PUT(a->w, ",\"args\":{");
    a->any = true;
    gp_buf_putc(b, '"');
    gp_buf_put(b, key, n);
    gp_buf_put(b, GP_TEXT("\":"));
}

#define ARG(a, key) arg_key((a), key, sizeof(key) - 1)

static void arg_u64(struct args *a, const char *key, uint64_t v)
{
    arg_key(a, key, strlen(key));
    gp_buf_put_u64(&a->w->b, v);
}

static void arg_i64(struct args *a, const char *key, int64_t v)
{
    arg_key(a, key, strlen(key));
    gp_buf_put_i64(&a->w->b, v);
}

static void arg_triple(struct args *a, const char *key, const uint32_t v[3])
{
    arg_key(a, key, strlen(key));
    for (int i = 0; i < 3; i++) {
        gp_buf_putc(&a->w->b, i ? ',' : '[');
        gp_buf_put_u64(&a->w->b, v[i]);
    }
    gp_buf_putc(&a->w->b, ']');
}

static void end_args(struct args *a)
{
    if (a->any) gp_buf_putc(&a->w->b, '}');
}

static bool is_ascii(const char *s, size_t n)
{
    unsigned char all = 0;
    for (size_t i = 0; i < n; i++) all |= (unsigned char)s[i];
    return all < 0x80;
}

/* The members of a JSON object that was recorded as text. */
static void arg_members(struct args *a, gp_sid sid)
{
    if (!sid) return;
    struct writer *w = a->w;
    const char *text = gp_trace_str(w->t, sid);
    size_t n = gp_string_len(&w->t->strings, sid);
    uint8_t *state = &w->as_object[sid];
    if (!*state) {
        size_t len;
        const char *members = gp_json_members(text, n, &len);
        /* the common case, "{...}" in ASCII without white space around it, needs no further check */
        if (!members) *state = NO_JSON;
        else if (!len) *state = NO_MEMBERS;
        else *state = members == text + 1 && len == n - 2 && is_ascii(text, n) ? COPY : MEMBERS;
    }
    if (*state == NO_MEMBERS) return;
    if (*state == NO_JSON) {
        ARG(a, "extra");
        put_string(w, sid);
        return;
    }
    if (a->any) gp_buf_putc(&w->b, ',');
    else PUT(w, ",\"args\":{");
    a->any = true;
    size_t len = n - 2;
    if (*state == COPY) {
        gp_buf_put(&w->b, text + 1, len);
    } else {
        const char *members = gp_json_members(text, n, &len);
        gp_json_put_valid(&w->b, members, len);
    }
}

/* Kineto writes -1 if a synchronization does not concern a stream. */
static void stream_args(struct args *a, const struct gp_track *k, enum gp_table table)
{
    if (k->kind != GP_TRACK_STREAM) return;
    if (k->device >= 0) arg_i64(a, "device", k->device);
    if (k->context >= 0) arg_i64(a, "context", k->context);
    if (k->stream >= 0 || table == GP_SYNC) arg_i64(a, "stream", k->stream);
}

static void config_args(struct args *a, const struct gp_config *c)
{
    if (c->has & GP_HAS_REGS) arg_u64(a, "registers per thread", c->registers);
    if (c->has & GP_HAS_SHARED) arg_u64(a, "shared memory", c->shared_bytes);
    if (c->has & GP_HAS_GRID) arg_triple(a, "grid", c->grid);
    if (c->has & GP_HAS_BLOCK) arg_triple(a, "block", c->block);
    if (c->has & GP_HAS_CLUSTER) arg_triple(a, "cluster", c->cluster);
    if (c->shared_static_bytes) arg_u64(a, "static shared memory", c->shared_static_bytes);
    if (c->local_bytes) arg_u64(a, "local memory per thread", c->local_bytes);
    arg_members(a, c->extra);
}

/* The args that any table may have, in the order in which Kineto writes them. */
static void column_args(struct args *a, const struct gp_events *e, size_t i, const struct gp_chrome_row *row)
{
    uint64_t v;
    const char *ext = gp_get_phase(e, i) & GP_PHASE_OLD_EXT ? "external id" : "External id";
    if ((v = gp_get_ext(e, i)) != GP_NO_ID) arg_u64(a, ext, gp_chrome_unique_id(row, v));
    if ((v = gp_get_recfn(e, i)) != GP_NO_ID) arg_u64(a, "Record function id", v);
    if ((v = gp_get_seq(e, i)) != GP_NO_ID) arg_u64(a, "Sequence number", v);
    if ((v = gp_get_py_parent(e, i)) != GP_NO_ID) arg_u64(a, "Python parent id", v);
    if ((v = gp_get_py_module(e, i)) != GP_NO_ID) arg_u64(a, "Python module id", v);
    if ((v = gp_get_py_id(e, i)) != GP_NO_ID) arg_u64(a, "Python id", v);
    if ((v = gp_get_corr(e, i)) != GP_NO_ID) arg_u64(a, "correlation", gp_chrome_unique_id(row, v));
    if ((v = gp_get_graph(e, i)) != GP_NO_ID) arg_u64(a, "graph id", v);
    if ((v = gp_get_node(e, i)) != GP_NO_ID) arg_u64(a, "graph node id", v);
    if (gp_get_ret(e, i)) arg_i64(a, "return value", gp_get_ret(e, i));
}

/* Kineto's args for the CUDA event that a row of GP_SYNC records or waits for. */
static void event_args(struct args *a, const struct gp_events *e, size_t i, const struct gp_chrome_row *row)
{
    uint64_t v;
    bool record = !strcmp(gp_trace_str(a->w->t, gp_get_cat(e, i)), "cuda_event");
    if ((v = gp_get_event(e, i)) != GP_NO_ID) arg_u64(a, record ? "event_id" : "wait_on_cuda_event_id", v);
    if ((v = gp_get_source(e, i)) != GP_NO_ID)
        arg_u64(a, "wait_on_cuda_event_record_corr_id", gp_chrome_unique_id(row, v));
}

static void memory_args(struct args *a, const struct gp_events *e, size_t i)
{
    if (e->total) arg_i64(a, "Total Allocated", e->total[i]);
    if (e->reserved) arg_i64(a, "Total Reserved", e->reserved[i]);
    arg_i64(a, "Bytes", gp_get_bytes(e, i));
    if (gp_get_addr(e, i)) arg_u64(a, "Addr", e->addr[i]);
}

/* The thread id only: a thread waits for others of its process. */
static void waiter_arg(struct args *a, uint32_t track, uint32_t waiter)
{
    const struct gp_track *k = a->w->t->tracks.at;
    if (k[track].process == k[waiter].process && !k[waiter].tid_text && k[waiter].tid >= 0)
        arg_i64(a, "waiting thread", k[waiter].tid);
}

static void put_args(struct writer *w, enum gp_table table, size_t i)
{
    const struct gp_events *e = &w->t->events[table];
    struct args a = {w, false};
    column_args(&a, e, i, &w->rows.tracks[e->track[i]]);
    if (table == GP_GPU || table == GP_SYNC) stream_args(&a, &w->t->tracks.at[e->track[i]], table);
    if (table == GP_SYNC) event_args(&a, e, i, &w->rows.tracks[e->track[i]]);
    if (table == GP_MEMORY) memory_args(&a, e, i);
    else if (gp_get_bytes(e, i)) arg_i64(&a, "bytes", gp_get_bytes(e, i));
    if (gp_get_waiter(e, i) != UINT32_MAX) waiter_arg(&a, e->track[i], e->waiter[i]);
    if (table == GP_GPU && gp_get_captured(e, i)) {
        ARG(&a, "capture ranges");
        put_captured(w, e->captured[i]);
    }
    if (table != GP_MEMORY && gp_get_addr(e, i)) arg_u64(&a, "Addr", e->addr[i]);
    if (table == GP_GPU) config_args(&a, gp_gpu_config(w->t, i));
    arg_members(&a, gp_get_extra(e, i));
    end_args(&a);
}

/* ---- events ---- */

static void begin_event(struct writer *w, char phase)
{
    char head[] = ",\n{\"ph\":\"?\"";
    head[9] = phase;
    size_t skip = w->first ? 1 : 0;
    gp_buf_put(&w->b, head + skip, sizeof head - 1 - skip);
    w->first = false;
}

static void end_event(struct writer *w)
{
    gp_buf_putc(&w->b, '}');
    if (w->b.n >= FLUSH_SIZE) flush(w);
}

static void put_row(struct writer *w, const struct gp_chrome_row *row)
{
    PUT(w, ",\"pid\":");
    put_number_or_string(w, row->pid, row->pid_text);
    PUT(w, ",\"tid\":");
    put_number_or_string(w, row->tid, row->tid_text);
}

static void put_category(struct writer *w, enum gp_table table, size_t i)
{
    const struct gp_events *e = &w->t->events[table];
    const struct gp_config *c = table == GP_GPU ? gp_gpu_config(w->t, i) : NULL;
    gp_sid cat = gp_get_cat(e, i);
    if (!cat && c) cat = c->cat;
    const char *usual = c ? gp_gpu_kind_category((enum gp_gpu_kind)c->kind) : gp_table_category(table);
    if (!cat && !*usual) return;
    PUT(w, ",\"cat\":");
    if (cat) put_string(w, cat);
    else {
        gp_buf_putc(&w->b, '"');
        gp_buf_puts(&w->b, usual);
        gp_buf_putc(&w->b, '"');
    }
}

/* Phase, category, name, row and time, which all events have. */
static void put_head(struct writer *w, enum gp_table table, size_t i, char phase)
{
    const struct gp_events *e = &w->t->events[table];
    const struct gp_chrome_row *row = &w->rows.tracks[e->track[i]];
    begin_event(w, phase);
    put_category(w, table, i);
    PUT(w, ",\"name\":");
    if (table == GP_GPU && row->placed_here && w->plain_name) put_plain_name(w, e->name[i]);
    else put_string(w, e->name[i]);
    put_row(w, row);
    PUT(w, ",\"ts\":");
    gp_json_put_us(&w->b, e->start_ns[i]);
    if (gp_get_stack(e, i)) {
        PUT(w, ",\"sf\":");
        gp_buf_put_u64(&w->b, e->stack[i]);
    }
}

static void put_id(struct writer *w, enum gp_table table, size_t i)
{
    const struct gp_events *e = &w->t->events[table];
    uint64_t id = gp_get_id(e, i);
    gp_sid text = gp_get_id_text(e, i);
    if (id == GP_NO_ID && !text) return;
    PUT(w, ",\"id\":");
    if (text) put_string(w, text);
    else gp_buf_put_u64(&w->b, table == GP_FLOW ? gp_chrome_unique_id(&w->rows.tracks[e->track[i]], id) : id);
}

/* The recorded phase, or the table's own if it is not a letter. */
static char phase_of(const struct gp_events *e, size_t i, char usual)
{
    char c = (char)(gp_get_phase(e, i) & 0x7f);
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ? c : usual;
}

static void put_span(struct writer *w, enum gp_table table, size_t i)
{
    const struct gp_events *e = &w->t->events[table];
    char phase = table == GP_OTHER ? phase_of(e, i, 'X') : 'X';
    put_head(w, table, i, phase);
    if (phase == 'X' || e->dur_ns[i]) {
        PUT(w, ",\"dur\":");
        gp_json_put_us(&w->b, e->dur_ns[i]);
    }
    put_id(w, table, i);
    put_args(w, table, i);
    end_event(w);
}

/* An instant's scope is the second byte of its phase: 'g' global, 'p' process, otherwise thread. */
static void put_instant(struct writer *w, enum gp_table table, size_t i)
{
    const struct gp_events *e = &w->t->events[table];
    char scope = (char)(gp_get_phase(e, i) >> 8 & 0x7f);
    put_head(w, table, i, phase_of(e, i, 'i'));
    if (scope == 'g') PUT(w, ",\"s\":\"g\"");
    else if (scope == 'p') PUT(w, ",\"s\":\"p\"");
    else PUT(w, ",\"s\":\"t\"");
    put_id(w, table, i);
    put_args(w, table, i);
    end_event(w);
}

static void put_flow(struct writer *w, size_t i)
{
    char phase = phase_of(&w->t->events[GP_FLOW], i, 's');
    put_head(w, GP_FLOW, i, phase);
    put_id(w, GP_FLOW, i);
    if (phase == 'f') PUT(w, ",\"bp\":\"e\"");
    put_args(w, GP_FLOW, i);
    end_event(w);
}

/* Do the counter rows I and J belong to one sample? */
static bool same_sample(const struct gp_events *e, size_t i, size_t j)
{
    return e->start_ns[i] == e->start_ns[j] && e->track[i] == e->track[j] && e->name[i] == e->name[j] &&
           gp_get_id(e, i) == gp_get_id(e, j) && gp_get_id_text(e, i) == gp_get_id_text(e, j) &&
           gp_get_cat(e, i) == gp_get_cat(e, j);
}

/* Rows first..end-1 are one sample, as long as no series occurs twice. Counters have few series. */
static size_t sample_end(const struct gp_events *e, size_t first)
{
    size_t end = first + 1;
    for (; end < e->n && end - first < 64 && same_sample(e, first, end); end++)
        for (size_t i = first; i < end; i++)
            if (gp_get_series(e, i) == gp_get_series(e, end)) return end;
    return end;
}

static size_t put_counter(struct writer *w, size_t first)
{
    const struct gp_events *e = &w->t->events[GP_COUNTER];
    size_t end = sample_end(e, first);
    put_head(w, GP_COUNTER, first, 'C');
    put_id(w, GP_COUNTER, first);
    for (size_t i = first; i < end; i++) {
        if (i == first) PUT(w, ",\"args\":{");
        else gp_buf_putc(&w->b, ',');
        put_string(w, gp_get_series(e, i));
        gp_buf_putc(&w->b, ':');
        gp_json_put_double(&w->b, gp_get_value(e, i));
    }
    gp_buf_putc(&w->b, '}');
    end_event(w);
    return end;
}

static void put_table(struct writer *w, enum gp_table table)
{
    size_t n = w->t->events[table].n;
    for (size_t i = 0; i < n && !w->stopped;) {
        switch (table) {
        case GP_COUNTER: i = put_counter(w, i); continue;
        case GP_FLOW: put_flow(w, i); break;
        case GP_MEMORY:
        case GP_MARK: put_instant(w, table, i); break;
        default: put_span(w, table, i);
        }
        i++;
    }
}

/* ---- flows from correlation ids ---- */

static bool wants_flows(const struct writer *w)
{
    if (w->t->events[GP_FLOW].n) return false;
    for (size_t i = 0; i < w->t->tracks.n; i++)
        if (w->rows.tracks[i].placed_here) return true;
    return false;
}

static void put_arrow(struct writer *w, char phase, uint64_t id, const struct gp_chrome_row *row,
                      int64_t ts_ns)
{
    begin_event(w, phase);
    PUT(w, ",\"id\":");
    gp_buf_put_u64(&w->b, id);
    put_row(w, row);
    PUT(w, ",\"ts\":");
    gp_json_put_us(&w->b, ts_ns);
    PUT(w, ",\"cat\":\"ac2g\",\"name\":\"ac2g\"");
    if (phase == 'f') PUT(w, ",\"bp\":\"e\"");
    end_event(w);
}

/* The id of the event's arrow: its correlation id, unique among producers. */
static uint64_t arrow_id(const struct writer *w, const struct gp_events *e, size_t i)
{
    return gp_chrome_unique_id(&w->rows.tracks[e->track[i]], gp_get_corr(e, i));
}

static void put_correlation_flows(struct writer *w)
{
    const struct gp_events *api = &w->t->events[GP_API], *gpu = &w->t->events[GP_GPU];
    struct gp_map launches = {0};
    uint8_t *launched = gp_zalloc(api->n + 1);
    for (size_t i = 0; i < api->n; i++)
        if (gp_get_corr(api, i) != GP_NO_ID) *gp_map_put(&launches, arrow_id(w, api, i), 0) = (uint32_t)i;
    for (size_t i = 0; i < gpu->n && !w->stopped; i++) {
        uint64_t id = arrow_id(w, gpu, i);
        const uint32_t *row = id != GP_NO_ID ? gp_map_get(&launches, id) : NULL;
        if (!row) continue;
        launched[*row] = 1;
        put_arrow(w, 'f', id, &w->rows.tracks[gpu->track[i]], gpu->start_ns[i]);
    }
    for (size_t i = 0; i < api->n && !w->stopped; i++)
        if (launched[i])
            put_arrow(w, 's', arrow_id(w, api, i), &w->rows.tracks[api->track[i]], api->start_ns[i]);
    gp_map_release(&launches);
    free(launched);
}

/* ---- names of rows ---- */

static void begin_row_fact(struct writer *w, const char *what, int64_t pid, gp_sid pid_text, int64_t tid,
                           gp_sid tid_text)
{
    struct gp_chrome_row row = {.pid = pid, .tid = tid, .pid_text = pid_text, .tid_text = tid_text};
    begin_event(w, 'M');
    PUT(w, ",\"name\":\"");
    gp_buf_puts(&w->b, what);
    gp_buf_putc(&w->b, '"');
    put_row(w, &row);
    PUT(w, ",\"args\":{");
}

static void end_row_fact(struct writer *w)
{
    gp_buf_putc(&w->b, '}');
    end_event(w);
}

static void put_process(struct writer *w, size_t i)
{
    const struct gp_process *p = &w->t->processes.at[i];
    int64_t pid = w->rows.process_pids[i];
    if (p->name) {
        begin_row_fact(w, "process_name", pid, p->pid_text, 0, 0);
        PUT(w, "\"name\":");
        put_string(w, p->name);
        end_row_fact(w);
    }
    if (p->labels) {
        begin_row_fact(w, "process_labels", pid, p->pid_text, 0, 0);
        PUT(w, "\"labels\":");
        put_string(w, p->labels);
        end_row_fact(w);
    }
    if (p->has_sort_index) {
        begin_row_fact(w, "process_sort_index", pid, p->pid_text, 0, 0);
        PUT(w, "\"sort_index\":");
        gp_buf_put_i64(&w->b, p->sort_index);
        end_row_fact(w);
    }
}

/* A device that is not in any process of the trace: "GPU 0", with its process if there are several. */
static void put_device_row(struct writer *w, const struct gp_chrome_device *d)
{
    static const char *const facts[] = {"process_name", "process_labels"};
    for (int i = 0; i < 2; i++) {
        begin_row_fact(w, facts[i], d->pid, 0, 0, 0);
        gp_buf_printf(&w->b, "\"%s\":\"GPU %lld", i ? "labels" : "name", (long long)d->device);
        if (!i && w->rows.producers > 1)
            gp_buf_printf(&w->b, " (process %lld)", (long long)w->rows.process_pids[d->process]);
        gp_buf_putc(&w->b, '"');
        end_row_fact(w);
    }
    begin_row_fact(w, "process_sort_index", d->pid, 0, 0, 0);
    gp_buf_printf(&w->b, "\"sort_index\":%lld", (long long)((uint64_t)d->device + 5000000));
    end_row_fact(w);
}

static void put_track(struct writer *w, size_t i)
{
    const struct gp_track *k = &w->t->tracks.at[i];
    const struct gp_chrome_row *row = &w->rows.tracks[i];
    if (k->name || row->placed_here) {
        begin_row_fact(w, "thread_name", row->pid, row->pid_text, row->tid, row->tid_text);
        PUT(w, "\"name\":");
        if (k->name) put_string(w, k->name);
        else if (k->stream < 0) PUT(w, "\"no stream\"");
        else gp_buf_printf(&w->b, "\"stream %lld\"", (long long)k->stream);
        end_row_fact(w);
    }
    if (k->has_sort_index) {
        begin_row_fact(w, "thread_sort_index", row->pid, row->pid_text, row->tid, row->tid_text);
        PUT(w, "\"sort_index\":");
        gp_buf_put_i64(&w->b, k->sort_index);
        end_row_fact(w);
    }
}

/* Several tracks of the model may be one row: a thread with and without a device. Write each row's name once.
 */
static uint64_t row_key(const struct writer *w, size_t i)
{
    const struct gp_chrome_row *row = &w->rows.tracks[i];
    const struct gp_track *k = &w->t->tracks.at[i];
    int64_t key[7] = {row->pid_text ? 0 : row->pid,
                      row->pid_text,
                      row->tid_text ? 0 : row->tid,
                      row->tid_text,
                      k->name,
                      k->sort_index,
                      k->has_sort_index};
    return gp_hash_place(key, sizeof key, gp_hash_seed());
}

static void put_rows(struct writer *w)
{
    struct gp_map seen = {0};
    for (size_t i = 0; i < w->t->processes.n; i++) put_process(w, i);
    for (size_t i = 0; i < w->rows.devices.n; i++) put_device_row(w, &w->rows.devices.at[i]);
    for (size_t i = 0; i < w->t->tracks.n; i++) {
        uint32_t *again = gp_map_put(&seen, row_key(w, i), 0);
        if (!*again) put_track(w, i);
        *again = 1;
    }
    gp_map_release(&seen);
}

/* ---- metadata ---- */

static void put_property(struct writer *w, const char *name, int64_t v)
{
    if (v > 0) gp_buf_printf(&w->b, ",\"%s\":%lld", name, (long long)v);
}

/* `extra` holds all properties as written (then including "id"), or those that have no field. */
static void put_device(struct writer *w, const struct gp_device *d)
{
    const char *extra = gp_trace_str(w->t, d->extra);
    size_t n = gp_string_len(&w->t->strings, d->extra), len = 0;
    const char *members = d->extra ? gp_json_members(extra, n, &len) : NULL;
    if (members && strstr(extra, "\"id\"")) {
        gp_json_put_valid(&w->b, extra, n);
        return;
    }
    gp_buf_printf(&w->b, "{\"id\":%lld,\"name\":", (long long)d->id);
    put_string(w, d->name);
    put_property(w, "totalGlobalMem", d->memory_bytes);
    put_property(w, "computeMajor", d->cc_major);
    if (d->cc_major > 0) gp_buf_printf(&w->b, ",\"computeMinor\":%d", d->cc_minor);
    put_property(w, "maxThreadsPerBlock", d->max_threads_per_block);
    put_property(w, "maxThreadsPerMultiprocessor", d->max_threads_per_sm);
    put_property(w, "regsPerBlock", d->regs_per_block);
    put_property(w, "warpSize", d->warp_size);
    put_property(w, "sharedMemPerBlock", d->shared_per_block);
    put_property(w, "numSms", d->sms);
    put_property(w, "regsPerMultiprocessor", d->regs_per_sm);
    put_property(w, "sharedMemPerBlockOptin", d->shared_per_block_optin);
    put_property(w, "sharedMemPerMultiprocessor", d->shared_per_sm);
    put_property(w, "l2CacheSize", d->l2_bytes);
    put_property(w, "coreClockKHz", d->core_clock_khz);
    put_property(w, "memoryClockKHz", d->memory_clock_khz);
    put_property(w, "memoryBandwidthBytesPerSecond", d->memory_bandwidth_bps);
    if (len) gp_buf_putc(&w->b, ',');
    gp_buf_put(&w->b, members, len);
    gp_buf_putc(&w->b, '}');
}

static void put_devices(struct writer *w)
{
    if (!w->t->devices.n) return;
    PUT(w, "\"deviceProperties\":[");
    for (size_t i = 0; i < w->t->devices.n; i++) {
        if (i) PUT(w, ",\n");
        put_device(w, &w->t->devices.at[i]);
    }
    PUT(w, "],\n");
}

static void put_losses(struct writer *w)
{
    if (!w->t->losses.n) return;
    PUT(w, "\"gpuprofLosses\":[");
    for (size_t i = 0; i < w->t->losses.n; i++) {
        const struct gp_loss *loss = &w->t->losses.at[i];
        gp_buf_puts(&w->b, i ? ",{\"what\":" : "{\"what\":");
        put_string(w, loss->what);
        PUT(w, ",\"reason\":");
        put_string(w, loss->reason);
        PUT(w, ",\"count\":");
        gp_buf_put_u64(&w->b, loss->count);
        gp_buf_putc(&w->b, '}');
    }
    PUT(w, "],\n");
}

/* Keys that are written from other parts of the trace than its metadata. */
static bool is_own_key(const struct writer *w, const char *key)
{
    return !strcmp(key, "traceEvents") || !strcmp(key, GP_CHROME_FRAMES) || !strcmp(key, GP_CHROME_PACE) ||
           (w->t->devices.n && !strcmp(key, "deviceProperties")) ||
           (w->t->losses.n && !strcmp(key, "gpuprofLosses"));
}

static void put_metadata(struct writer *w)
{
    const struct gp_trace *t = w->t;
    if (!gp_trace_get_meta(t, "schemaVersion")) PUT(w, "\"schemaVersion\":1,\n");
    put_devices(w);
    if ((t->rank >= 0 || t->world_size >= 0) && !gp_trace_get_meta(t, "distributedInfo")) {
        PUT(w, "\"distributedInfo\":{");
        if (t->rank >= 0) gp_buf_printf(&w->b, "\"rank\":%d", t->rank);
        if (t->world_size >= 0)
            gp_buf_printf(&w->b, "%s\"world_size\":%d", t->rank >= 0 ? "," : "", t->world_size);
        PUT(w, "},\n");
    }
    if (t->clocks.n && !gp_trace_get_meta(t, "baseTimeNanoseconds"))
        gp_buf_printf(
            &w->b, "\"baseTimeNanoseconds\":%lld,\n",
            (long long)((uint64_t)t->clocks.at[0].realtime_ns - (uint64_t)t->clocks.at[0].trace_ns));
    put_losses(w);
    gp_chrome_put_producers(&w->b, t, &w->rows);
    gp_chrome_put_frames(&w->b, t);
    GP_EACH(const struct gp_meta, m, t->meta) {
        if (is_own_key(w, gp_trace_str(t, m->key))) continue;
        const char *value = gp_trace_str(t, m->value);
        size_t n = gp_string_len(&t->strings, m->value);
        put_string(w, m->key);
        gp_buf_putc(&w->b, ':');
        if (gp_json_is_valid(value, n)) gp_json_put_valid(&w->b, value, n);
        else gp_json_put_string(&w->b, value, n);
        PUT(w, ",\n");
    }
}

int gp_chrome_write(const struct gp_trace *t, gp_chrome_plain_name *plain_name, gp_chrome_sink *sink,
                    void *ctx)
{
    /* At equal times, viewers nest later events inside earlier ones. */
    static const enum gp_table order[] = {GP_OTHER,   GP_RANGE,    GP_PYTHON,    GP_OP,  GP_API,
                                          GP_SYNC,    GP_OVERHEAD, GP_GPU_RANGE, GP_GPU, GP_MEMORY,
                                          GP_COUNTER, GP_MARK,     GP_FLOW};
    struct writer w = {.t = t, .plain_name = plain_name, .sink = sink, .ctx = ctx, .first = true};
    w.as_text = gp_zalloc(t->strings.n + 1);
    w.as_object = gp_zalloc(t->strings.n + 1);
    gp_chrome_rows_make(&w.rows, t);
    PUT(&w, "{");
    put_metadata(&w);
    PUT(&w, "\"traceEvents\":[");
    put_rows(&w);
    for (size_t i = 0; i < GP_COUNT(order); i++) put_table(&w, order[i]);
    if (wants_flows(&w)) put_correlation_flows(&w);
    PUT(&w, "\n]}\n");
    flush(&w);
    gp_chrome_rows_release(&w.rows);
    GP_RELEASE(gp_buf_release, &w.b, &w.plain);
    GP_RELEASE(gp_map_release, &w.plain_at, &w.captured_at);
    GP_VEC_FREE(&w.plains);
    GP_RELEASE(free, w.as_text, w.as_object);
    return w.stopped ? -1 : 0;
}
