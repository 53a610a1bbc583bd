/* clocks.h -- how far the clocks of several traces differ, so that they can be shown on one: by the
 * collectives that they have in common, by the time of day that they recorded, or, where neither is known or
 * the traces were not recorded at the same time, by their first events. Knows nothing of files.
 *
 *     struct gp_clocks c = {0};
 *     for (size_t i = 0; i < n; i++) gp_clocks_add(&c, &views[i]); // a view per trace, then released
 *     gp_clocks_align(&c);
 *     ... c.shifts.at[i].later_ns ...
 *     gp_clocks_release(&c);
 */
#ifndef GP_ANALYZE_CLOCKS_H
#define GP_ANALYZE_CLOCKS_H

#include <stdbool.h>
#include <stdint.h>
#include "analyze/hta/hta.h"
#include "analyze/view/view.h"
#include "formats/base/vec.h"

enum gp_clock_source {
    GP_CLOCK_AS_RECORDED, /* the first trace, and traces with the same clock */
    GP_CLOCK_COLLECTIVES, /* the ends of collectives, which ranks reach together */
    GP_CLOCK_TIME_OF_DAY, /* both traces recorded it */
    GP_CLOCK_FIRST_EVENT  /* the first events are put at the same time */
};

struct gp_clock_shift {
    enum gp_clock_source source;
    int64_t later_ns; /* to be added to the trace's times to match those of the first trace */
    int64_t error_ns; /* GP_CLOCK_COLLECTIVES: median absolute deviation */
    uint32_t pairs;   /* GP_CLOCK_COLLECTIVES: how many of them */
};

/* What is known of each trace that was added. */
struct gp_clock_facts {
    int32_t rank;              /* that stands for it among the collectives; -1: it has none of its own */
    bool has_base, exact;      /* the time of day is known; it is not a reading of its own per recording */
    int64_t base_ns;           /* to be added to its times to get the time of day */
    int64_t first_ns, last_ns; /* of its events; first > last: it has none */
};

struct gp_clocks {
    GP_VEC(struct gp_clock_shift) shifts; /* by trace, in the order of adding */
    /* private */
    GP_VEC(struct gp_clock_facts) facts;
    struct gp_hta h; /* of which only the collectives are used */
};

/* V is the view of a finished trace. C starts zeroed. */
void gp_clocks_add(struct gp_clocks *c, const struct gp_view *v);
/* Fill the shifts. Call it once, last. */
void gp_clocks_align(struct gp_clocks *c);
void gp_clocks_release(struct gp_clocks *c);

#endif
