/* gauges.h -- what the driver reported of the GPUs of a trace (formats/model/gauges.h), as step functions of
 * time, and which device of a view each of them is. Measures nothing.
 *
 *     struct gp_gauges g;
 *     gp_gauges_find(&g, &view);
 *     const struct gp_gauge_gpu *gpu = gp_gauges_of(&g, device);      // NULL: nothing is known of it
 *     double mhz = gp_step_mean(&gpu->of[GP_GAUGE_SM_CLOCK], begin_ns, end_ns);
 *     gp_gauges_release(&g);
 */
#ifndef GP_ANALYZE_GAUGES_H
#define GP_ANALYZE_GAUGES_H

#include "analyze/math/step_function.h"
#include "analyze/view/view.h"
#include "formats/model/gauges.h"

struct gp_gauge_gpu {
    uint32_t process; /* index into the trace's processes */
    int64_t number;   /* of the driver */
    const struct gp_device *props;
    struct gp_step_function of[GP_GAUGE_COUNT]; /* without points: it was not recorded */
    int64_t first_ns, last_ns;                  /* of all of them */
    double boost_mhz;                           /* the highest SM clock; 0 unknown, as below */
    double power_limit_w, energy_step_j;
    int64_t energy_period_ns;
};

struct gp_gauges {
    GP_VEC(struct gp_gauge_gpu) gpus;
    uint32_t *of_device; /* by device of the view; UINT32_MAX: none */
};

/* The number in the driver of the GPU of a track of gauges, also in formats that only have processes. */
int64_t gp_gauge_gpu_number(const struct gp_trace *t, uint32_t track);
/* The gauges of the GPUs of V, which outlives G. Overwrites G. */
void gp_gauges_find(struct gp_gauges *g, const struct gp_view *v);
void gp_gauges_release(struct gp_gauges *g);

static inline const struct gp_gauge_gpu *gp_gauges_of(const struct gp_gauges *g, uint32_t device)
{
    return g->gpus.n && g->of_device[device] != UINT32_MAX ? &g->gpus.at[g->of_device[device]] : NULL;
}

/* The mean SM clock of a GPU between two times; not a number where it is not known. GPU may be NULL. */
double gp_gauge_mhz(const struct gp_gauge_gpu *gpu, int64_t begin_ns, int64_t end_ns);

/* Which of the reasons of a clock counts where there are several: index into the rows of GP_CLOCK_REASONS,
 * GP_CLOCK_REASON_COUNT: none of them. */
enum {
#define X(bit, name, text) GP_CLOCK_REASON_##name,
    GP_CLOCK_REASONS(X)
#undef X
        GP_CLOCK_REASON_COUNT
};
unsigned gp_clock_reason(double bits);
/* "power_cap", "the power cap"; "unknown" and "nothing recorded" for GP_CLOCK_REASON_COUNT. */
const char *gp_clock_reason_name(unsigned reason);
const char *gp_clock_reason_text(unsigned reason);

#endif
