/* metrics_options.h -- the options of gpuprof-collect about hardware counters: their rows, and the one that
 * only lists.
 *
 *     static const struct gp_option options[] = { GP_COLLECT_METRICS_OPTIONS, {0} };
 *     if (opts.list_metrics) failed = gp_collect_list(&opts, &err);
 */
#ifndef GP_COLLECT_METRICS_OPTIONS_H
#define GP_COLLECT_METRICS_OPTIONS_H

#include "collect/launcher/collect_plan.h"

// clang-format off
#define GP_COLLECT_METRICS_OPTIONS                                                                           \
    {0, "metrics", "SET[,NAME...]",                                                                          \
        "read hardware counters: basic, traffic, roofline[:TYPE], roofline+, memory, tensor, occupancy, stalls, or names", \
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
        "sample hardware counters of all GPUs while recording (default: how busy units and memory are, @10kHz)", \
        GP_OPT_MAYBE, offsetof(struct gp_collect_opts, sample_metrics)},                                     \
    {0, "list-metrics", "CHIP", "list sets and metrics of a chip, such as GH100, instead of running a command", \
        GP_OPT_MAYBE, offsetof(struct gp_collect_opts, list_metrics)}
// clang-format on

/* --list-metrics: to standard output, or to --output. */
GP_MUST_CHECK int gp_collect_list(const struct gp_collect_opts *o, struct gp_err *err);

#endif
