#include "analyze/calibrate/compare.h"

#include <math.h>
#include <string.h>
#include "formats/ceilings_read.h"

void gp_compare_begin(struct gp_compare *c, const struct gp_figures *devices, size_t n,
                      const double base[GP_FIGURE_COUNT], double tolerance)
{
    *c = (struct gp_compare){.devices = devices, .n = n, .tolerance = tolerance};
    memcpy(c->base, base, sizeof c->base);
    for (size_t i = 0; i < n; i++)
        for (int f = 0; f < GP_FIGURE_COUNT; f++) {
            c->compared += !isnan(gp_compare_change(c, (enum gp_figure)f, i));
            c->worse += gp_compare_is_worse(c, (enum gp_figure)f, i);
        }
}

double gp_compare_change(const struct gp_compare *c, enum gp_figure f, size_t i)
{
    double now = c->devices[i].value[f], base = c->base[f];
    if (now <= 0 || base <= 0) return NAN;
    return (gp_figure_facts(f)->unit == GP_FIGURE_NS ? base / now : now / base) * 100 - 100;
}

bool gp_compare_is_worse(const struct gp_compare *c, enum gp_figure f, size_t i)
{
    return gp_compare_change(c, f, i) < -c->tolerance; /* not for NaN */
}

int gp_compare_document(double base[GP_FIGURE_COUNT], const char *text, size_t n, struct gp_err *err)
{
    struct gp_ceilings_file known;
    if (gp_ceilings_read(&known, text, n, err)) return -1;
    for (int f = 0; f < GP_FIGURE_COUNT; f++)
        base[f] = gp_ceilings_number(text, n, gp_figure_facts((enum gp_figure)f)->path);
    return 0;
}

bool gp_compare_sheet(double base[GP_FIGURE_COUNT], const char *name)
{
    static const enum gp_figure of[GP_ARITH_COUNT] = {
        [GP_ARITH_FP64] = GP_FIGURE_FP64, [GP_ARITH_FP32] = GP_FIGURE_FP32, [GP_ARITH_TF32] = GP_FIGURE_TF32,
        [GP_ARITH_FP16] = GP_FIGURE_FP16, [GP_ARITH_BF16] = GP_FIGURE_BF16, [GP_ARITH_FP8] = GP_FIGURE_FP8,
        [GP_ARITH_INT8] = GP_FIGURE_INT8};
    struct gp_ceilings c;
    memset(base, 0, GP_FIGURE_COUNT * sizeof *base);
    gp_ceilings_of_device(&c, name, NULL);
    if (!c.sheet) return false;
    base[GP_FIGURE_MEMORY_COPY] = gp_ceiling_attainable(&c.memory);
    for (int a = 0; a < GP_ARITH_COUNT; a++) base[of[a]] = gp_ceiling_attainable(&c.flops[a]);
    return true;
}

void gp_compare_siblings(double base[GP_FIGURE_COUNT], const struct gp_figures *devices, size_t n)
{
    for (int f = 0; f < GP_FIGURE_COUNT; f++) {
        struct gp_samples s = {0};
        for (size_t i = 0; i < n; i++)
            if (devices[i].value[f] > 0) GP_VEC_PUSH(&s.v, devices[i].value[f]);
        base[f] = gp_samples_quantile(&s, 0.5);
        GP_VEC_FREE(&s.v);
    }
}
