/* What threads did: calls of CUDA, what the tool itself cost, waits in the operating system. */
#include <string.h>
#include "formats/base/str.h"
#include "formats/model/cuda_names.h"
#include "formats/nsys/nsys_priv.h"

enum { START, END, THREAD, NAME, CORR, RETURN };

/* The name of a call without its version. There are few names and many calls. */
static gp_sid call_name(struct gp_nsys *n, struct gp_map *names, int64_t id)
{
    uint32_t *known = gp_map_put(names, (uint64_t)id, GP_NSYS_NONE);
    if (*known != GP_NSYS_NONE) return *known;
    const uint32_t *at = gp_map_get(&n->text_at, (uint64_t)id);
    const char *text = at ? n->texts.at[*at].p : "[unnamed call]";
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
    static const char *const columns[] = {"start",         "end",         "globalTid", "nameId",
                                          "correlationId", "returnValue", NULL};
    struct gp_sqlite_scan scan;
    struct gp_map names = {0};
    gp_sid driver = gp_intern_cstr(&n->t->strings, "cuda_driver");
    if (gp_sqlite_begin(n->db, &scan, "CUPTI_ACTIVITY_KIND_RUNTIME", columns))
        while (gp_sqlite_next(&scan)) add_call(n, &scan, &names, driver);
    gp_sqlite_end(&scan);
    gp_map_release(&names);
}

/* Spans of a table on threads, of category CAT (NULL: that of the table TO). */
static void read_spans(struct gp_nsys *n, const char *table, enum gp_table to, const char *cat)
{
    static const char *const columns[] = {"start", "end", "globalTid", "nameId", NULL};
    struct gp_events *e = &n->t->events[to];
    struct gp_sqlite_scan scan;
    if (gp_sqlite_begin(n->db, &scan, table, columns)) {
        gp_sid category = cat ? gp_intern_cstr(&n->t->strings, cat) : 0;
        while (gp_sqlite_next(&scan)) {
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
    gp_sqlite_end(&scan);
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
