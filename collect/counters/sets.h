/* sets.h -- the words of --metrics: names of metrics in PerfWorks, by chip. Knows no CUPTI.
 *
 *     struct gp_metric_names names = {0};
 *     if (gp_metric_names_parse(&names, "basic,sm__cycles_active.avg", "GH100", &err)) ...
 *     for (size_t i = 0; i < names.n; i++) use(names.at[i]);
 *     gp_metric_names_release(&names);
 */
#ifndef GP_COLLECT_METRIC_SETS_H
#define GP_COLLECT_METRIC_SETS_H

#include <stddef.h>
#include "formats/base/declare.h"
#include "formats/base/vec.h"

struct gp_metric_names {
    char **at; /* each once, in the order of the text */
    size_t n, cap;
};

/* TEXT: sets and names with rollup, separated by commas; "" is "basic". -1 with ERR: no such set or type, a
 * name without rollup, too many. */
GP_MUST_CHECK int gp_metric_names_parse(struct gp_metric_names *to, const char *text, const char *chip,
                                        struct gp_err *err);
/* TEXT as --sample-metrics has it: names with rollup, or "" for the default. */
GP_MUST_CHECK int gp_sampled_names_parse(struct gp_metric_names *to, const char *text, const char *chip,
                                         struct gp_err *err);
void gp_metric_names_release(struct gp_metric_names *names);
/* The I-th set, NULL behind the last, and its purpose. */
const char *gp_metric_set_name(size_t i, const char **what);

#endif
