#include "collect/bench/measure.h"

#include <stdio.h>
#include <string.h>

enum { MOST_REPEATS = 1000 };

int gp_measure_rates(struct gp_gpu *g, const char *figure, gp_gpu_work *work, void *context, double amount,
                     const struct gp_effort *e)
{
    uint64_t n = gp_gpu_repeats(g, work, context, e->batch_ns, MOST_REPEATS);
    if (!n) return -1;
    for (int i = 0; i < e->rounds; i++) {
        double ns;
        if (gp_gpu_time(g, work, context, n, &ns)) return -1;
        gp_say_figure(figure, amount * (double)n / ns * 1e9);
    }
    return 0;
}

/* ---- lines of the answer ---- */

/* Names are ours; values may come from a driver. */
static void line(const char *kind, const char *name, const char *value)
{
    printf("%s %s %.*s\n", kind, name, (int)strcspn(value, "\r\n"), value);
    fflush(stdout);
}

void gp_say_fact(const char *name, const char *value) { line("fact", name, value); }

void gp_say_fact_u64(const char *name, uint64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    line("fact", name, text);
}

void gp_say_figure(const char *name, double value)
{
    char text[48];
    snprintf(text, sizeof text, "%.9g", value);
    line("figure", name, text);
}

void gp_say_missing(const char *name, const char *why) { line("missing", name, why); }

void gp_say_op(const struct gp_say_op *o)
{
    printf("op %s %s %llu %llu %llu", o->op, o->type, (unsigned long long)o->elements,
           (unsigned long long)o->bytes, (unsigned long long)o->flops);
    for (size_t i = 0; i < o->n; i++) printf(" %.6g", o->ns[i]);
    printf("\n");
    fflush(stdout);
}
