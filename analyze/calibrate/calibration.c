#include "analyze/calibrate/calibration.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "formats/base/err.h"
#include "formats/base/mem.h"
#include "formats/base/str.h"

void gp_calibration_devices(struct gp_calibration *c, const int *ids, size_t n)
{
    c->n = n;
    c->ids = gp_zalloc((n ? n : 1) * sizeof *c->ids);
    c->devices = gp_zalloc((n ? n : 1) * sizeof *c->devices);
    c->peer = n > 1 ? gp_zalloc(n * n * sizeof *c->peer) : NULL;
    if (n) memcpy(c->ids, ids, n * sizeof *ids);
}

static size_t place_of(const struct gp_calibration *c, int id)
{
    for (size_t i = 0; i < c->n; i++)
        if (c->ids[i] == id) return i;
    return c->n;
}

/* "figure peer_0_1 3.7e11": the best of several. False for another line. */
static bool take_peer(struct gp_calibration *c, const char *line)
{
    int from, to, end = 0;
    double v;
    if (sscanf(line, "figure peer_%d_%d %lf%n", &from, &to, &v, &end) != 3 || !end || line[end]) return false;
    size_t i = place_of(c, from), k = place_of(c, to);
    if (c->peer && i < c->n && k < c->n && isfinite(v) && v > c->peer[i * c->n + k])
        c->peer[i * c->n + k] = v;
    return true;
}

void gp_calibration_line(struct gp_calibration *c, size_t i, const char *line)
{
    struct gp_err ignored = {0};
    int failed = 0;
    if (gp_starts(line, "op ")) failed = gp_sweep_line(&c->sweep, line, &ignored);
    else if (!take_peer(c, line)) failed = gp_figures_line(&c->devices[i], line, &ignored);
    c->strange += failed != 0;
}

void gp_calibration_settle(struct gp_calibration *c)
{
    for (size_t i = 0; i < c->n; i++) gp_figures_settle(&c->devices[i]);
    if (c->n) gp_sweep_settle(&c->sweep, &c->devices[0]);
}

bool gp_calibration_any(const struct gp_calibration *c)
{
    for (size_t i = 0; i < c->n; i++)
        for (int f = 0; f < GP_FIGURE_COUNT; f++)
            if (c->devices[i].value[f] > 0) return true;
    return false;
}

void gp_calibration_release(struct gp_calibration *c)
{
    for (size_t i = 0; i < c->n; i++) gp_figures_release(&c->devices[i]);
    gp_sweep_release(&c->sweep);
    GP_RELEASE(free, c->devices, c->ids, c->peer);
    *c = (struct gp_calibration){0};
}
