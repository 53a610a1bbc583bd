#include "analyze/math/step_function.h"

#include <math.h>
#include "formats/base/order.h"

void gp_step_add(struct gp_step_function *f, int64_t at_ns, double value)
{
    struct gp_step_point p = {at_ns, value, 0};
    if (f->points.n) {
        const struct gp_step_point *last = &f->points.at[f->points.n - 1];
        p.before = last->before + (last->value - f->points.at[0].value) * (double)(at_ns - last->at_ns);
    } else f->first_ns = at_ns;
    f->last_ns = at_ns;
    GP_VEC_PUSH(&f->points, p);
}

void gp_step_end(struct gp_step_function *f, int64_t last_ns) { f->last_ns = last_ns; }

size_t gp_step_at(const struct gp_step_function *f, int64_t at_ns)
{
    GP_SEARCH(later, 1, f->points.n, mid, f->points.at[mid].at_ns <= at_ns)
    return later - 1;
}

/* The integral of what is above the first value until AT_NS, which is not before the first point. */
static double above_until(const struct gp_step_function *f, int64_t at_ns)
{
    const struct gp_step_point *p = &f->points.at[gp_step_at(f, at_ns)];
    return p->before + (p->value - f->points.at[0].value) * (double)(at_ns - p->at_ns);
}

static void clip(const struct gp_step_function *f, int64_t *begin_ns, int64_t *end_ns)
{
    if (*begin_ns < f->first_ns) *begin_ns = f->first_ns;
    if (*end_ns > f->last_ns) *end_ns = f->last_ns;
}

int64_t gp_step_covered(const struct gp_step_function *f, int64_t begin_ns, int64_t end_ns)
{
    if (!f->points.n) return 0;
    clip(f, &begin_ns, &end_ns);
    return end_ns > begin_ns ? end_ns - begin_ns : 0;
}

double gp_step_area(const struct gp_step_function *f, int64_t begin_ns, int64_t end_ns)
{
    if (!gp_step_covered(f, begin_ns, end_ns)) return 0;
    clip(f, &begin_ns, &end_ns);
    return f->points.at[0].value * (double)(end_ns - begin_ns) +
           (above_until(f, end_ns) - above_until(f, begin_ns));
}

double gp_step_mean(const struct gp_step_function *f, int64_t begin_ns, int64_t end_ns)
{
    int64_t ns = gp_step_covered(f, begin_ns, end_ns);
    return ns ? gp_step_area(f, begin_ns, end_ns) / (double)ns : NAN;
}
