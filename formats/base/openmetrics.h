/* openmetrics.h -- OpenMetrics text, family by family, for Prometheus and its like.
 * Bounds the number of series. Knows nothing of traces.
 *
 *     struct gp_openmetrics m = {.b = &buf, .most = 200};
 *     gp_openmetrics_family(&m, "launches", "counter", "", "Calls that launched GPU work.");
 *     if (gp_openmetrics_series(&m, "launches_total")) gp_openmetrics_count(&m, 437);
 *     gp_openmetrics_end(&m);
 */
#ifndef GP_FORMATS_BASE_OPENMETRICS_H
#define GP_FORMATS_BASE_OPENMETRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "formats/base/declare.h"

struct gp_openmetrics {
    struct gp_buf *b;
    size_t most; /* series; the last one is kept for the number of those that are left out */
    /* private */
    size_t series, left_out;
    bool labels; /* the line has some already */
};

/* Upper bounds of step times in ns, from a millisecond to ten seconds; one more bucket holds the rest. */
enum { GP_OPENMETRICS_STEPS = 13 };
struct gp_openmetrics_steps {
    uint64_t count[GP_OPENMETRICS_STEPS + 1], n;
    int64_t sum_ns;
};
void gp_openmetrics_step(struct gp_openmetrics_steps *s, int64_t ns);

/* NAME is without "gpuprof_", TYPE as the format has it, UNIT "" or the end of the name. */
void gp_openmetrics_family(struct gp_openmetrics *m, const char *name, const char *type, const char *unit,
                           const char *help);
/* Begin the line of a series; false: there is no room for another one, and nothing of it may be written. Then
 * any number of labels, and exactly one value. */
GP_MUST_CHECK bool gp_openmetrics_series(struct gp_openmetrics *m, const char *name);
void gp_openmetrics_label(struct gp_openmetrics *m, const char *name, const char *text, size_t n);
void gp_openmetrics_label_int(struct gp_openmetrics *m, const char *name, int64_t v);
void gp_openmetrics_seconds(struct gp_openmetrics *m, int64_t ns); /* exactly */
void gp_openmetrics_count(struct gp_openmetrics *m, uint64_t v);
void gp_openmetrics_number(struct gp_openmetrics *m, double v);
/* The family of one counter, whole: V is in ns if UNIT is given, which is then "seconds". */
void gp_openmetrics_total(struct gp_openmetrics *m, const char *name, const char *unit, const char *help,
                          int64_t v);
/* The family of step times, whole; left out whole if there is no room. */
void gp_openmetrics_put_steps(struct gp_openmetrics *m, const struct gp_openmetrics_steps *s);
/* How many series there was no room for, and the end mark. */
void gp_openmetrics_end(struct gp_openmetrics *m);

#endif
