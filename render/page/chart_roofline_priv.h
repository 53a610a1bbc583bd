/* chart_roofline_priv.h -- private to chart_roofline*.c: the plot while it is drawn, its axes and its
 * roofs. */
#ifndef GP_RENDER_CHART_ROOFLINE_PRIV_H
#define GP_RENDER_CHART_ROOFLINE_PRIV_H

#include "formats/base/buf.h"
#include "render/draw/plot.h"
#include "render/page/chart_roofline.h"

enum {
    ROOFS = 8,    /* drawn at most */
    LINE = 14,    /* from line to line of text */
    ADVANCE = 68, /* tenths of a pixel: mean width of a character */
    LABELS = 14,
    SEGMENTS = 12, /* of a turned name */
    TAKEN = LABELS + 1 + ROOFS * SEGMENTS,
    LABEL_COLUMNS = 30,
    NO_FLOP = 13, /* kernels without arithmetic are that far from the left edge */
    RUG = 12,
    LEVEL = 4,        /* half the size of a mark for a cache */
    LEVELS_LEAST = 5, /* pixels: the radius from which on a circle has marks for the caches */
};

struct spot {
    double x, y, r;
    bool beyond; /* it is outside, and drawn at the edge */
};

struct plot {
    struct gp_svg *w;
    const struct gp_chart_roofline *c;
    const struct gp_roofline *r;
    const struct gp_roof *memory;
    struct gp_frame f;
    double all_ns; /* of all kernels */
    size_t points; /* that are drawn */
    struct spot spots[GP_ROOFLINE_POINTS];
    struct gp_box bars[GP_ROOFLINE_POINTS];
    struct gp_box levels[GP_ROOFLINE_POINTS]; /* from the marks of the caches to the circle */
    struct gp_box taken[TAKEN];               /* by words */
    size_t n_taken;
    struct gp_buf text; /* scratch */
};

static inline const char *name_of(const struct plot *p, gp_sid sid) { return gp_string(p->c->names, sid); }

static inline double across(const struct plot *p, double intensity) { return gp_axis_at(&p->f.x, intensity); }

static inline double up(const struct plot *p, double flops) { return gp_axis_at(&p->f.y, flops); }

static inline double text_width(const struct plot *p) { return gp_plot_width(&p->text, ADVANCE / 10.0); }

static inline void take(struct plot *p, struct gp_box b)
{
    if (p->n_taken < TAKEN) p->taken[p->n_taken++] = b;
}

/* chart_roofline_roofs.c: the rate of the highest roof of memory, or of arithmetic; */
double gp_roofline_highest(const struct gp_roofline *r, bool memory);
/* the distance of BOX from the nearest circle, 0 if it overlaps a circle or a text; */
double gp_roofline_room(const struct plot *p, struct gp_box box);
/* "memory 4.80 TB/s" into the text of P; */
void gp_roofline_put_roof(struct plot *p, const struct gp_roof *roof);
void gp_roofline_draw_axes(struct plot *p);
void gp_roofline_draw_roofs(struct plot *p);

#endif
