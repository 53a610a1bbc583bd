#include "analyze/view/recorder.h"

#include <stdlib.h>
#include <string.h>
#include "analyze/math/nth.h"
#include "analyze/math/sums.h"
#include "formats/base/count.h"
#include "formats/base/buf.h"
#include "formats/base/mem.h"
#include "formats/base/scale.h"
#include "formats/base/str.h"

/* Measured on an H200 with driver 580 and CUDA 13.0, as tests/bench/README.md has it:
 *
 * launch      gpuprof-collect adds 908 ns to an empty launch, and 3.1 us to each of the 77 launches of a
 *             step of eager decoding (238 us in all), where it has to share the caches with Python;
 *             torch.profiler, CUDA activities only, adds 10.4 us there (808 us), Nsight Systems 971 ns to an
 *             empty launch. Programs of transformers and torchvision, recorded in a window, took up to 14.2
 *             us more per launch (a Llama of 1,014 launches, 25.1 ms unrecorded and 39.4 ms recorded). With
 *             torch.profiler, operators and all, programs of other people's libraries took 5 to 26 us more
 *             per launch.
 * op          with operators and shapes, torch.profiler adds another 0.9 us to each of the 399 operators of
 *             that step, and up to 5 us in programs of transformers (a Llama of 266 launches: 4.55 ms, and
 *             10.7 ms).
 * wait        after a call that waited, the host begins with cold caches and the recorder's threads have
 *             work: the GPU waited for 155 us of a step unrecorded, and for 367 us when gpuprof-collect
 *             recorded it (a GCN that reads its loss).
 * range       75 to 88 ns for an NVTX range; a range of torch.profiler is an operator.
 * frame       with_stack makes the steps of a training twice as long, by 0.5 to 1.5 us per frame.
 * of a gap    without a recorder, nine of ten programs kept 0.24 to 0.84 of the idle time of the GPU in a
 *             recording of torch.profiler, and 0.44 to 1.38 of that in one of gpuprof-collect, which adds
 *             less than two runs differ by.
 * slower      two processes of one program differ by 13 to 45 % of the host's time; torch.profiler's least
 *             cost has that in it.
 */
static const struct gp_recorder recorders[] = {
    {.name = "gpuprof-collect",
     .launch = {900, 14200},
     .call = {0, 1000},
     .range = {75, 300},
     .wait = {0, 200000},
     .graph_kernel_ns = 448,
     .low_pct = 5,
     .high_pct = 50,
     .stack_pct = 50,
     .likely_pct = 35,
     .slower_pct = 15,
     .source = "storm and decode of samples/capture.sh"},
    {.name = "torch.profiler",
     .launch = {3000, 14000},
     .call = {300, 1000},
     .op = {900, 5000},
     .range = {900, 5000},
     .wait = {0, 200000},
     .frame = {200, 1500},
     .graph_kernel_ns = 448,
     .low_pct = 33,
     .high_pct = 65,
     .stack_pct = 80,
     .likely_pct = 15,
     .slower_pct = 5,
     .source = "decode of samples/capture.sh, and pairs with unprofiled times"},
    {.name = "Nsight Systems",
     .launch = {971, 10000},
     .call = {100, 1000},
     .range = {75, 300},
     .wait = {0, 200000},
     .graph_kernel_ns = 446,
     .low_pct = 5,
     .high_pct = 50,
     .stack_pct = 50,
     .likely_pct = 35,
     .slower_pct = 15,
     .source = "storm of samples/capture.sh"},
};

enum { GPUPROF, TORCH, NSYS };

const char *const gp_recorder_names[] = {"gpuprof-collect", "torch.profiler", "Nsight Systems", NULL};

const struct gp_recorder *gp_recorder_of(const struct gp_trace *t)
{
    const char *collector = gp_trace_get_meta(t, "collector"), *format = t->input.format;
    if (collector && *collector == '"') collector++; /* metadata are JSON */
    if (collector && gp_starts(collector, "gpuprof-collect")) return &recorders[GPUPROF];
    if ((format && !strcmp(format, "nsys")) || (collector && gp_starts(collector, "Nsight Systems")))
        return &recorders[NSYS];
    bool torch = gp_trace_get_meta(t, "record_shapes") || gp_trace_get_meta(t, "with_stack") ||
                 (gp_trace_get_meta(t, "schemaVersion") && t->events[GP_OP].n);
    return !collector && torch ? &recorders[TORCH] : NULL;
}

static int64_t at_most_pct(int64_t cost_ns, int64_t ns, int pct)
{
    int64_t most = ns / 100 * pct;
    return cost_ns < most ? cost_ns : most > 0 ? most : 0;
}

int64_t gp_recorder_least_ns(const struct gp_recorder *r, const struct gp_recorder_events *n, int64_t ns)
{
    int64_t cost = n->launches * r->launch.low_ns + n->calls * r->call.low_ns + n->ops * r->op.low_ns +
                   n->ranges * r->range.low_ns + n->frames * r->frame.low_ns + n->waits * r->wait.low_ns;
    int64_t slower = ns > 0 ? gp_part(ns, r->slower_pct, 100) : 0;
    return at_most_pct(cost, ns, n->frames ? r->stack_pct / 2 : r->low_pct) - slower;
}

int64_t gp_recorder_most_ns(const struct gp_recorder *r, const struct gp_recorder_events *n, int64_t ns)
{
    int64_t cost = n->launches * r->launch.high_ns + n->calls * r->call.high_ns + n->ops * r->op.high_ns +
                   n->ranges * r->range.high_ns + n->frames * r->frame.high_ns + n->waits * r->wait.high_ns;
    return at_most_pct(cost, ns, n->frames ? r->stack_pct : r->high_pct);
}

/* ---- what was timed ---- */

/* The lengths of the first N steps of PROCESS that were timed so, in NS; how many there are. What comes after
 * all recorded launches tells nothing of them, though the GPU may work them off for long. */
static size_t list_paces(const struct gp_trace *t, uint32_t process, enum gp_pace_how how, size_t n,
                         int64_t *ns)
{
    const struct gp_events *of = &t->events[t->events[GP_API].n ? GP_API : GP_GPU];
    size_t found = 0;
    for (size_t i = 0; i < t->paces.n && found < n; i++) {
        const struct gp_pace *p = &t->paces.at[i];
        bool within = of->n && p->start_ns < of->start_ns[of->n - 1];
        if (within && p->how == how && p->process == process && p->dur_ns > 0) ns[found++] = p->dur_ns;
    }
    return found;
}

int64_t gp_recorder_pace_ns(const struct gp_trace *t, uint32_t process, int64_t busy_ns)
{
    enum { FIRST = 3, SETTLED = 5 };
    const double CLOCKS = 0.95; /* kernels take so much of their time while they are recorded, at least */
    int64_t *ns = gp_alloc((t->paces.n + 1) * sizeof *ns), sum = 0;
    size_t n = list_paces(t, process, GP_PACE_BARE, SIZE_MAX, ns), ahead = 0;
    while (ahead < n && ns[ahead] < busy_ns / 5 * 4) ahead++;
    if (n - ahead < SETTLED) ahead = 0;
    n -= ahead;
    int64_t most = n ? gp_mul_saturated(gp_nth(ns + ahead, n, n / 2), 2) : 0;
    for (size_t i = ahead; i < ahead + n; i++) sum = gp_add_saturated(sum, ns[i] < most ? ns[i] : most);
    double pace = n ? (double)sum / (double)n : 0;
    n = list_paces(t, process, GP_PACE_PAUSE, SIZE_MAX, ns);
    size_t first = n < FIRST ? n : FIRST;
    int64_t then = n ? gp_nth(ns, first, first / 2) : 0;
    if (n && then >= busy_ns / 2) pace *= (double)gp_nth(ns, n, n / 2) / (double)then;
    if (pace < (double)busy_ns && pace >= (double)busy_ns * CLOCKS) pace = (double)busy_ns;
    free(ns);
    return pace < (double)INT64_MAX ? (int64_t)pace : INT64_MAX;
}

bool gp_recorder_pace_fits(int64_t pace_ns, int64_t step_ns, int64_t busy_ns)
{
    enum { TIMES_MOST = 3 };
    return pace_ns > 0 && pace_ns >= busy_ns && gp_mul_saturated(pace_ns, TIMES_MOST) >= step_ns;
}

/* ---- what it added ---- */

/* The rows of TABLE that begin in the window on threads of PROCESS. */
static uint32_t count_rows(const struct gp_view *v, enum gp_table table, uint32_t process, int64_t begin_ns,
                           int64_t end_ns)
{
    const struct gp_events *e = &v->t->events[table];
    uint32_t n = 0;
    for (size_t i = 0; i < e->n && e->start_ns[i] < end_ns; i++)
        n += e->start_ns[i] >= begin_ns && v->t->tracks.at[e->track[i]].process == process;
    return n;
}

/* The process that launched the device's work: GPU events may be in one of their own. */
static uint32_t process_of(const struct gp_view *v, const struct gp_view_device *d, int64_t begin_ns)
{
    const struct gp_events *gpu = &v->t->events[GP_GPU];
    for (size_t i = d->first; i < d->first + d->n; i++) {
        uint32_t node = v->at.node[v->rows[i]];
        if (gpu->start_ns[v->rows[i]] >= begin_ns && node != GP_HOST_NONE)
            return v->t->tracks.at[gp_host_track(&v->hs, node)].process;
    }
    return v->t->tracks.at[gpu->track[v->rows[d->first]]].process;
}

static int64_t busy_within(const struct gp_view *v, const struct gp_view_device *d, int64_t begin_ns,
                           int64_t end_ns)
{
    const struct gp_events *gpu = &v->t->events[GP_GPU];
    int64_t busy_ns = 0, until = begin_ns;
    for (size_t i = d->first; i < d->first + d->n; i++) { /* by begin */
        int64_t from = gpu->start_ns[v->rows[i]], to = from + gpu->dur_ns[v->rows[i]];
        if (from < until) from = until;
        if (to > end_ns) to = end_ns;
        if (to <= from) continue;
        busy_ns += to - from;
        until = to;
    }
    return busy_ns;
}

struct gp_recorder_added gp_recorder_added(const struct gp_view *v, const struct gp_view_device *d,
                                           int64_t begin_ns, int64_t end_ns, uint64_t steps)
{
    struct gp_recorder_added a = {0};
    const struct gp_recorder *r = gp_recorder_of(v->t);
    if (!r || !steps || !d->n || end_ns <= begin_ns) return a;
    const struct gp_events *gpu = &v->t->events[GP_GPU];
    uint32_t process = process_of(v, d, begin_ns);
    int64_t busy_ns = busy_within(v, d, begin_ns, end_ns), idle = end_ns - begin_ns - busy_ns;
    int64_t count = (int64_t)steps, pace = gp_recorder_pace_ns(v->t, process, busy_ns / count);
    a.who = (uint32_t)(r - recorders) + 1;
    a.of_ns = (end_ns - begin_ns) / count;
    a.measured = gp_recorder_pace_fits(pace, a.of_ns, busy_ns / count);
    if (a.measured) {
        a.ns = a.of_ns > pace ? a.of_ns - pace : 0;
        return a;
    }
    struct gp_recorder_events n = {0};
    for (size_t i = d->first; i < d->first + d->n; i++)
        n.launches += gpu->start_ns[v->rows[i]] >= begin_ns && gpu->start_ns[v->rows[i]] < end_ns;
    uint32_t calls = count_rows(v, GP_API, process, begin_ns, end_ns);
    n.launches = n.launches < calls ? n.launches : calls; /* a graph is one call */
    n.calls = calls - n.launches;
    n.ops = count_rows(v, GP_OP, process, begin_ns, end_ns);
    n.ranges = count_rows(v, GP_RANGE, process, begin_ns, end_ns);
    int64_t most = gp_recorder_most_ns(r, &n, idle), least = gp_recorder_least_ns(r, &n, idle);
    a.ns = (most + gp_part(least - most, r->likely_pct, 100)) / count;
    if (a.ns < 0) a.ns = 0;
    return a;
}

void gp_recorder_added_put(struct gp_buf *b, const struct gp_recorder_added *a)
{
    enum { WORTH_PARTS = 20 };
    if (!a->who || a->who > GP_COUNT(recorders) || a->ns <= a->of_ns / WORTH_PARTS) return;
    gp_buf_printf(b, "; %s %sadded %s of it (%s)", gp_recorder_names[a->who - 1],
                  a->measured ? "" : "likely ", GP_NS(a->ns), GP_SHARE(a->ns, a->of_ns));
}
