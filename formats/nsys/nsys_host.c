/* What threads did: calls of CUDA, the costs of the tool itself, waits in the operating system; samples of
 * CPUs. */
#include <stdlib.h>
#include "formats/base/str.h"
#include "formats/model/cuda_names.h"
#include "formats/nsys/nsys_priv.h"
#include "formats/base/buf.h"
#include "formats/base/json_write.h"
#include "formats/base/order.h"

/* ---- samples of CPUs ---- */

struct sample {
    int64_t start_ns, thread;
};

struct frame {
    uint32_t sample;
    int64_t depth, symbol;
};

struct samples {
    struct gp_nsys *n;
    GP_VEC(struct sample) list;
    GP_VEC(struct frame) frames; /* by sample, outermost first */
    struct gp_map by_id;
    struct gp_buf text;
};

GP_COMPARE(by_sample, struct frame, GP_UP(sample) GP_DOWN(depth) GP_UP(symbol))

static void load_samples(struct samples *s)
{
    enum { ID, START, THREAD, SYMBOL = 1, DEPTH };
    int64_t id, start, dur, thread;
    GP_SQLITE_EACH(scan, s->n->db, "COMPOSITE_EVENTS", "id start globalTid") {
        if (!gp_sqlite_get(&scan, ID, &id) || !gp_sqlite_get(&scan, THREAD, &thread) ||
            !gp_nsys_span(s->n, &scan, START, START, &start, &dur))
            continue;
        gp_map_put(&s->by_id, (uint64_t)id, (uint32_t)s->list.n);
        GP_VEC_PUSH(&s->list, ((struct sample){start, thread}));
    }
    GP_SQLITE_EACH(scan, s->n->db, "SAMPLING_CALLCHAINS", "id symbol stackDepth") {
        const uint32_t *at = gp_map_get(&s->by_id, (uint64_t)gp_sqlite_int(&scan, ID, -1));
        struct frame f = {at ? *at : 0, gp_sqlite_int(&scan, DEPTH, 0), gp_sqlite_int(&scan, SYMBOL, -1)};
        if (at) GP_VEC_PUSH(&s->frames, f);
    }
    if (s->frames.n) qsort(s->frames.at, s->frames.n, sizeof *s->frames.at, by_sample);
}

/* A mark with the name of the innermost function, and all as {"stack":[...]}. */
static void add_sample(struct samples *s, size_t i, size_t first, size_t end)
{
    enum { MOST_FRAMES = 128 };
    struct gp_trace *t = s->n->t;
    struct gp_events *e = &t->events[GP_MARK];
    gp_sid leaf = 0;
    s->text.n = 0;
    for (size_t k = end - first > MOST_FRAMES ? end - MOST_FRAMES : first; k < end; k++) {
        leaf = gp_nsys_string(s->n, s->frames.at[k].symbol);
        gp_buf_puts(&s->text, s->text.n ? "," : "{\"stack\":[");
        gp_json_put_string(&s->text, gp_trace_str(t, leaf), gp_string_len(&t->strings, leaf));
    }
    if (!leaf) leaf = gp_intern_cstr(&t->strings, "[unknown]");
    size_t row =
        gp_events_add(e, s->list.at[i].start_ns, 0, gp_nsys_thread(s->n, s->list.at[i].thread), leaf);
    gp_set_cat(e, row, gp_intern_cstr(&t->strings, "cpu_sample"));
    if (!s->text.n || !gp_needs_extra(t->need, GP_MARK)) return;
    gp_buf_puts(&s->text, "]}");
    gp_set_extra(e, row, gp_trace_intern(t, s->text.data, s->text.n));
}

static void read_cpu(struct gp_nsys *n)
{
    struct samples s = {.n = n};
    load_samples(&s);
    for (size_t i = 0, at = 0; i < s.list.n; i++) {
        size_t first = at;
        while (at < s.frames.n && s.frames.at[at].sample == i) at++;
        add_sample(&s, i, first, at);
    }
    GP_RELEASE(gp_vec_free, &s.list, &s.frames);
    gp_map_release(&s.by_id);
    gp_buf_release(&s.text);
}

void gp_nsys_read_samples(struct gp_nsys *n)
{
    if (n->t->need & GP_NEED(GP_MARK)) read_cpu(n);
}

/* ---- calls and waits ---- */

enum { START, END, THREAD, NAME, CORR, RETURN };

/* The name of a call without its version. There are few names and many calls. */
static gp_sid call_name(struct gp_nsys *n, struct gp_map *names, int64_t id)
{
    uint32_t *known = gp_map_put(names, (uint64_t)id, GP_NSYS_NONE);
    if (*known != GP_NSYS_NONE) return *known;
    const uint32_t *at = gp_map_get(&n->texts.at, (uint64_t)id);
    const char *text = at ? n->texts.all.at[*at].p : "[unnamed call]";
    return *known = gp_trace_intern(n->t, text, gp_call_name_length(text));
}

/* Whoever has a correlation id needs the call's thread and end. */
static bool needs_calls(const struct gp_nsys *n)
{
    bool memory = n->t->need & GP_NEED(GP_MEMORY) && gp_sqlite_has(n->db, "CUDA_GPU_MEMORY_USAGE_EVENTS");
    bool events = n->t->need & GP_NEED(GP_SYNC) && gp_sqlite_has(n->db, "CUPTI_ACTIVITY_KIND_CUDA_EVENT");
    return memory || events;
}

static void add_call(struct gp_nsys *n, struct gp_sqlite_scan *scan, struct gp_map *names, gp_sid driver)
{
    struct gp_events *e = &n->t->events[GP_API];
    int64_t start, dur, thread, ret;
    if (!gp_nsys_span(n, scan, START, END, &start, &dur)) return;
    thread = gp_sqlite_int(scan, THREAD, 0);
    uint64_t corr = gp_nsys_corr(scan, CORR);
    uint32_t track = gp_nsys_thread(n, thread);
    gp_sid name = call_name(n, names, gp_sqlite_int(scan, NAME, -1));
    if (n->keep_calls && corr != GP_NO_ID) {
        gp_map_put(&n->calls, gp_nsys_key(GP_NSYS_PROCESS(thread), corr), (uint32_t)n->call_list.n);
        GP_VEC_PUSH(&n->call_list, ((struct gp_nsys_call){track, start + dur}));
    }
    if (!(n->t->need & GP_NEED(GP_API))) return;
    const char *text = gp_trace_str(n->t, name);
    size_t row = gp_events_add(e, start, dur, track, name);
    gp_set_corr(e, row, corr);
    if (gp_starts(text, "cu") && !gp_starts(text, "cuda")) gp_set_cat(e, row, driver);
    if (gp_sqlite_get(scan, RETURN, &ret) && ret >= INT32_MIN && ret <= INT32_MAX)
        gp_set_ret(e, row, (int32_t)ret);
}

static void read_calls(struct gp_nsys *n)
{
    struct gp_map names = {0};
    gp_sid driver = gp_intern_cstr(&n->t->strings, "cuda_driver");
    GP_SQLITE_EACH(scan, n->db, "CUPTI_ACTIVITY_KIND_RUNTIME",
                   "start end globalTid nameId correlationId returnValue")
        add_call(n, &scan, &names, driver);
    gp_map_release(&names);
}

/* Spans of a table on threads, of category CAT (NULL: that of the table TO). */
static void read_spans(struct gp_nsys *n, const char *table, enum gp_table to, const char *cat)
{
    struct gp_events *e = &n->t->events[to];
    gp_sid category = cat ? gp_intern_cstr(&n->t->strings, cat) : 0;
    GP_SQLITE_EACH(scan, n->db, table, "start end globalTid nameId") {
        int64_t start, dur, thread;
        if (!gp_nsys_span(n, &scan, START, END, &start, &dur)) continue;
        gp_sid name = gp_nsys_string(n, gp_sqlite_int(&scan, NAME, -1));
        if (!name) name = gp_intern_cstr(&n->t->strings, to == GP_OVERHEAD ? "Overhead" : "[unnamed]");
        uint32_t track = gp_sqlite_get(&scan, THREAD, &thread)
                             ? gp_nsys_thread(n, thread)
                             : gp_nsys_track(n, n->only_process, "Nsight Systems");
        size_t row = gp_events_add(e, start, dur, track, name);
        gp_set_cat(e, row, category);
    }
}

void gp_nsys_read_host(struct gp_nsys *n)
{
    static const struct {
        const char *table;
        enum gp_table to;
        const char *cat;
    } spans[] = {{"CUPTI_ACTIVITY_KIND_OVERHEAD", GP_OVERHEAD, NULL},
                 {"PROFILER_OVERHEAD", GP_OVERHEAD, NULL},
                 {"CUPTI_ACTIVITY_KIND_JIT", GP_OVERHEAD, NULL},
                 {"CUDA_HOST_CALLBACK", GP_OTHER, "host_callback"},
                 {"CUDNN_EVENTS", GP_OTHER, "cudnn"},
                 {"CUBLAS_EVENTS", GP_OTHER, "cublas"},
                 {"OSRT_API", GP_OTHER, "os_runtime"}};
    n->keep_calls = needs_calls(n);
    if (n->t->need & GP_NEED(GP_API) || n->keep_calls) read_calls(n);
    for (size_t i = 0; i < GP_COUNT(spans); i++)
        if (n->t->need & GP_NEED(spans[i].to)) read_spans(n, spans[i].table, spans[i].to, spans[i].cat);
}
