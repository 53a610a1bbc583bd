/* collect_plan.h -- the plan of a recording: options as typed in, checked values out.
 * Knows neither the command line's syntax nor how a plan is carried out.
 *
 *     struct gp_collect_opts opts = {GP_COLLECT_DEFAULTS};
 *     struct gp_collect_plan plan;
 *     opts.start = "range:train";
 *     if (gp_collect_plan(&plan, &opts, &err)) ...
 */
#ifndef GP_COLLECT_COLLECT_PLAN_H
#define GP_COLLECT_COLLECT_PLAN_H

#include <stdbool.h>
#include <stdint.h>
#include "collect/launcher/triggers.h"
#include "collect/wire/capture_window.h"
#include "collect/wire/filter.h"
#include "collect/wire/wire.h"
#include "formats/base/declare.h"

/* The options; strings are borrowed, NULL where not given. */
struct gp_collect_opts {
    const char *output, *api, *stacks, *graphs, *start, *stop, *dump, *filter, *metrics_file, *serve, *sample;
    const char *digest, *digest_secret;
    const char *metrics, *metrics_per, *list_metrics, *sample_metrics, *pc_sample, *pc_sample_per;
    uint64_t metrics_passes, metrics_every, metrics_count, dump_limit;
    double budget; /* percent, negative: not given */
    bool quiet, verbose, no_nvtx, no_clocks, pace, no_pace, memory, command, redact, hub, tree, list;
    uint64_t pid; /* of a process that runs already, 0: a command is started */
    int64_t flush_ns, duration_ns, last_ns;
    uint64_t buffer_bytes;
};

#define GP_COLLECT_DEFAULTS                                                                                  \
    .api = "sync", .stacks = "launch", .budget = -1, .dump_limit = 20, .flush_ns = 100000000,                \
    .buffer_bytes = 8 << 20

struct gp_collect_plan {
    struct gp_measure_opts metrics;
    struct gp_pc_opts pc;
    enum gp_api_level api;
    enum gp_stacks_mode stacks;
    enum gp_graph_mode graphs;
    uint64_t graph_rate; /* nodes per second */
    struct gp_control control;
    struct gp_filter filter;
    uint64_t signals; /* that are for us, as bits: those of CONTROL and DUMP */
    struct gp_dump_when dump;
    const char *output;  /* NULL: standard output */
    uint32_t budget_ppm; /* of each process's time that recording may cost, 0: no limit */
    int64_t sample_ns;   /* between samples of the host; 0: none */
    int64_t counters_ns; /* between samples of the counters of all GPUs; 0: none */
    char sampled[600];   /* which; "": the default */
    bool pattern;        /* OUTPUT names a trace per process */
};

/* -1 with ERR naming the option that cannot be had. */
GP_MUST_CHECK int gp_collect_plan(struct gp_collect_plan *plan, const struct gp_collect_opts *o,
                                  struct gp_err *err);

/* ---- options about counters ----
 * The options of gpuprof-collect about hardware counters: their rows, and the one that
 * only lists.
 *
 *     static const struct gp_option options[] = { GP_COLLECT_METRICS_OPTIONS, {0} };
 *     if (opts.list_metrics) failed = gp_collect_list(&opts, &err);
 */

// clang-format off
#define GP_COLLECT_METRICS_OPTIONS                                                                           \
    {0, "metrics", "SET[,NAME...]",                                                                          \
        "read hardware counters: basic, traffic, roofline[:TYPE], roofline+, memory, tensor, "        \
        "occupancy, stalls, why, or names",                                                                  \
        GP_OPT_STRING, offsetof(struct gp_collect_opts, metrics)},                                           \
    {0, "metrics-per", "kernel|range|range:NAME",                                                            \
        "read counters of each kernel, of outermost ranges, or of ranges of that name (default: kernel)",    \
        GP_OPT_STRING, offsetof(struct gp_collect_opts, metrics_per)},                                       \
    {0, "metrics-passes", "N", "run each measured kernel at most N times to read all counters (default: 1)", \
        GP_OPT_UINT, offsetof(struct gp_collect_opts, metrics_passes)},                                      \
    {0, "metrics-every", "N", "measure only every Nth launch with the same name and grid",             \
        GP_OPT_UINT, offsetof(struct gp_collect_opts, metrics_every)},                                       \
    {0, "metrics-count", "N", "measure at most N launches or ranges per process",                            \
        GP_OPT_UINT, offsetof(struct gp_collect_opts, metrics_count)},                                       \
    {0, "sample-metrics", "[NAMES][@RATE]",                                                                  \
        "sample hardware counters of all GPUs while recording (default: how busy units and memory are, "     \
        "@10kHz)",                                                                                           \
        GP_OPT_MAYBE, offsetof(struct gp_collect_opts, sample_metrics)},                                     \
    {0, "pc-sample", "PERIOD",                                                                               \
        "sample where warps of the GPU are and why they stall, every PERIOD cycles of each multiprocessor "  \
        "(a power of two; default: 65536)",                                                 \
        GP_OPT_MAYBE, offsetof(struct gp_collect_opts, pc_sample)},                                          \
    {0, "pc-sample-per", "window|launch",                                                                    \
        "sample in windows of time beside kernels that overlap, or each launch by itself, one at a time "    \
        "(default: window)",                                                                                 \
        GP_OPT_STRING, offsetof(struct gp_collect_opts, pc_sample_per)},                                     \
    {0, "list-metrics", "CHIP",                                                                              \
        "list sets and metrics of a chip, such as GH100, instead of running a command",                      \
        GP_OPT_MAYBE, offsetof(struct gp_collect_opts, list_metrics)}
// clang-format on

/* --list-metrics: to standard output, or to --output. */
GP_MUST_CHECK int gp_collect_list(const struct gp_collect_opts *o, struct gp_err *err);

#endif
