#include "analyze/suggest/recorder.h"

#include <string.h>
#include "analyze/math/sums.h"
#include "formats/base/count.h"
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

const struct gp_recorder *gp_recorder_of(const struct gp_trace *t)
{
    const char *collector = gp_trace_get_meta(t, "collector"), *format = t->input.format;
    if (collector && *collector == '"') collector++; /* metadata are JSON */
    if (collector && gp_starts(collector, "gpuprof-collect")) return &recorders[GPUPROF];
    if (format && !strcmp(format, "nsys")) return &recorders[NSYS];
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
