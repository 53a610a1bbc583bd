#include "collect/bench/measure.h"

#include "collect/bench/say.h"

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
