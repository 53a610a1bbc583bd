#include "analyze/view/gauges.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- reasons ---- */

static const struct {
    uint64_t bit;
    const char *name, *text;
} reasons[] = {
#define X(bit, name, text) {bit, #name, text},
    GP_CLOCK_REASONS(X)
#undef X
        {0, "unknown", "nothing recorded"},
};

unsigned gp_clock_reason(double bits)
{
    uint64_t set = bits > 0 && bits < 1e15 ? (uint64_t)bits : 0;
    unsigned i = 0;
    while (i < GP_CLOCK_REASON_COUNT && !(set & reasons[i].bit)) i++;
    return i;
}

const char *gp_clock_reason_name(unsigned reason) { return reasons[reason].name; }

const char *gp_clock_reason_text(unsigned reason) { return reasons[reason].text; }

/* ---- GPUs ---- */

static double number_of(const char *args, const char *key)
{
    const char *at = args ? strstr(args, key) : NULL;
    if (!at || at == args || at[-1] != '"') return 0;
    return at[strlen(key)] == '"' ? strtod(at + strlen(key) + strlen("\":"), NULL) : 0;
}

static const struct gp_device *device_of(const struct gp_trace *t, uint32_t process, int64_t number)
{
    for (size_t i = 0; i < t->devices.n; i++)
        if (t->devices.at[i].id == number && t->devices.at[i].producer == t->processes.at[process].producer)
            return &t->devices.at[i];
    return NULL;
}

int64_t gp_gauge_gpu_number(const struct gp_trace *t, uint32_t track)
{
    const struct gp_track *k = &t->tracks.at[track];
    return k->device >= 0 ? k->device : t->processes.at[k->process].pid;
}

static struct gp_gauge_gpu *find_gpu(struct gp_gauges *g, const struct gp_trace *t, uint32_t track)
{
    uint32_t process = t->tracks.at[track].process;
    int64_t number = gp_gauge_gpu_number(t, track);
    for (size_t i = 0; i < g->gpus.n; i++)
        if (g->gpus.at[i].process == process && g->gpus.at[i].number == number) return &g->gpus.at[i];
    struct gp_gauge_gpu gpu = {.process = process, .number = number, .first_ns = INT64_MAX};
    gpu.last_ns = INT64_MIN;
    gpu.props = device_of(t, process, number);
    const char *args = gpu.props ? gp_trace_str(t, gpu.props->extra) : "";
    gpu.boost_mhz = number_of(args, GP_GAUGE_KEY_MAX_SM_MHZ);
    gpu.power_limit_w = number_of(args, GP_GAUGE_KEY_POWER_LIMIT);
    gpu.energy_step_j = number_of(args, GP_GAUGE_KEY_ENERGY_STEP);
    gpu.energy_period_ns = (int64_t)number_of(args, GP_GAUGE_KEY_ENERGY_PERIOD);
    GP_VEC_PUSH(&g->gpus, gpu);
    return &g->gpus.at[g->gpus.n - 1];
}

static void read_rows(struct gp_gauges *g, const struct gp_trace *t)
{
    const struct gp_events *e = &t->events[GP_COUNTER];
    gp_sid ours = 0, other = 0; /* categories that were looked at; 0 has no text */
    for (size_t row = 0; row < e->n; row++) {
        gp_sid cat = gp_get_cat(e, row);
        if (cat == other) continue;
        if (cat != ours && strcmp(gp_trace_str(t, cat), GP_GAUGE_CATEGORY) != 0) {
            other = cat;
            continue;
        }
        ours = cat;
        enum gp_gauge gauge = gp_gauge_find(gp_trace_str(t, e->name[row]));
        double value = gp_get_value(e, row);
        if (gauge == GP_GAUGE_COUNT || !isfinite(value)) continue;
        struct gp_gauge_gpu *gpu = find_gpu(g, t, e->track[row]);
        gp_step_add(&gpu->of[gauge], e->start_ns[row], value);
        if (e->start_ns[row] < gpu->first_ns) gpu->first_ns = e->start_ns[row];
        if (e->start_ns[row] > gpu->last_ns) gpu->last_ns = e->start_ns[row];
    }
    for (size_t i = 0; i < g->gpus.n; i++)
        for (unsigned k = 0; k < GP_GAUGE_COUNT; k++)
            if (g->gpus.at[i].of[k].points.n) gp_step_end(&g->gpus.at[i].of[k], g->gpus.at[i].last_ns);
}

/* By its number in the recording; in files of other tools by that of the device; or because both are the only
 * one. */
static uint32_t find_for(const struct gp_gauges *g, const struct gp_view *v, const struct gp_view_device *d)
{
    const struct gp_trace *t = v->t;
    uint32_t gpu = d->props ? gp_gauge_number(gp_trace_str(t, d->props->extra)) : 0;
    for (uint32_t i = 0; i < g->gpus.n; i++) {
        const struct gp_device *props = g->gpus.at[i].props;
        if (gpu && props && gp_gauge_number(gp_trace_str(t, props->extra)) == gpu) return i;
    }
    for (uint32_t i = 0; i < g->gpus.n; i++)
        if (t->processes.at[g->gpus.at[i].process].producer == d->producer &&
            g->gpus.at[i].number == d->device)
            return i;
    return g->gpus.n == 1 && v->devices.n == 1 ? 0 : UINT32_MAX;
}

void gp_gauges_find(struct gp_gauges *g, const struct gp_view *v)
{
    memset(g, 0, sizeof *g);
    read_rows(g, v->t);
    if (!g->gpus.n) return;
    g->of_device = gp_alloc((v->devices.n + 1) * sizeof *g->of_device);
    for (size_t i = 0; i < v->devices.n; i++) {
        const struct gp_view_device *d = &v->devices.at[i];
        g->of_device[i] = find_for(g, v, d);
        if (g->of_device[i] == UINT32_MAX) continue;
        struct gp_gauge_gpu *gpu = &g->gpus.at[g->of_device[i]];
        if (!(gpu->boost_mhz > 0) && d->props) gpu->boost_mhz = (double)d->props->core_clock_khz / 1e3;
    }
}

void gp_gauges_release(struct gp_gauges *g)
{
    for (size_t i = 0; i < g->gpus.n; i++)
        for (unsigned k = 0; k < GP_GAUGE_COUNT; k++) GP_VEC_FREE(&g->gpus.at[i].of[k].points);
    GP_VEC_FREE(&g->gpus);
    free(g->of_device);
    memset(g, 0, sizeof *g);
}

double gp_gauge_mhz(const struct gp_gauge_gpu *gpu, int64_t begin_ns, int64_t end_ns)
{
    return gpu ? gp_step_mean(&gpu->of[GP_GAUGE_SM_CLOCK], begin_ns, end_ns) : NAN;
}
