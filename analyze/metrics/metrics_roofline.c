/* The roofline of what was measured: a point for each group whose operations and bytes were counted. */
#include <string.h>
#include "analyze/cost/regime.h"
#include "analyze/math/sums.h"
#include "analyze/metrics/metrics.h"
#include "analyze/names/classify.h"

/* Damaged counters may give any number; the scales are for what a device can do. */
static bool can_be(double v) { return v >= 1e-15 && v <= 1e30; }

static double known(double v) { return can_be(v) ? v : 0; }

static void raise(struct gp_ceiling *c, double per_s)
{
    if (can_be(per_s) && per_s > c->per_s) *c = (struct gp_ceiling){per_s, GP_CEILING_COUNTERS};
}

/* What the counters state, unless it was measured. */
static void find_ceilings(struct gp_ceilings *c, const struct gp_metrics *m,
                          const struct gp_ceilings *measured)
{
    memset(c, 0, sizeof *c);
    for (size_t g = 0; g < m->groups.n; g++) {
        const struct gp_counted *k = &m->groups.at[g].counted;
        raise(&c->memory, k->peak_dram_bps);
        raise(&c->l2, k->peak_l2_bps);
        if (k->arith != GP_ARITH_NONE) raise(&c->flops[k->arith], k->peak_flops);
    }
    if (measured) gp_ceilings_prefer(c, measured);
}

static uint32_t kind_of(const struct gp_metrics *m, const struct gp_metrics_group *g)
{
    if (!g->kernel) return GP_FRAME_RANGE;
    return gp_classify(NULL, GP_KERNEL, gp_metrics_str(m, g->label), gp_string_len(&m->strings, g->label));
}

void gp_metrics_roofline(struct gp_roofline *r, struct gp_strings *names, const struct gp_metrics *m,
                         const struct gp_ceilings *measured)
{
    struct gp_ceilings top;
    uint32_t roof_of[GP_ARITH_COUNT + 1];
    bool used[GP_ARITH_COUNT + 1] = {false};
    find_ceilings(&top, m, measured);
    for (size_t g = 0; g < m->groups.n; g++) used[m->groups.at[g].counted.arith] = true;
    gp_roofline_add_roofs(r, names, &top, used, roof_of);
    for (size_t g = 0; g < m->groups.n; g++) {
        const struct gp_metrics_group *group = &m->groups.at[g];
        const struct gp_counted *k = &group->counted;
        if (group->time_ns <= 0) continue;
        double dram = known(k->dram_bytes), l2 = known(k->l2_bytes), l1 = known(k->l1_bytes);
        if (!can_be(k->flops) || !(dram + l2 + l1 > 0)) {
            r->unknown_ns = gp_add_saturated(r->unknown_ns, group->time_ns);
            continue;
        }
        struct gp_roofline_point p = {.label = gp_intern_from(names, &m->strings, group->brief),
                                      .kind = kind_of(m, group),
                                      .regime = GP_REGIME_UNKNOWN,
                                      .roof = roof_of[k->arith],
                                      .count = group->measured,
                                      .total_ns = group->time_ns,
                                      .flops = k->flops,
                                      .bytes_low = dram,
                                      .bytes_high = dram,
                                      .measured_ns = group->time_ns,
                                      .l2_bytes = l2,
                                      .l1_bytes = l1};
        r->measured_ns = gp_add_saturated(r->measured_ns, group->time_ns);
        GP_VEC_PUSH(&r->points, p);
    }
    gp_roofline_sort(r);
}
