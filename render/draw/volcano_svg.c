#include "render/draw/volcano_svg.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "formats/base/buf.h"
#include "formats/base/count.h"
#include "formats/base/mem.h"
#include "render/draw/plot.h"
#include "render/draw/text.h"

/* The grid, in pixels. */
enum {
    LEFT = 46,
    RIGHT = 18,
    TOP = 14,
    BOTTOM = 44,
    PAD = 12,
    LABELS = 8,
    LABEL_COLUMNS = 28,
    LINE = 14,
    PLACED = 300
};
enum { PLOT_WIDTH = GP_VOLCANO_WIDTH - LEFT - RIGHT, PLOT_HEIGHT = GP_VOLCANO_HEIGHT - TOP - BOTTOM };
enum { ADVANCE = 6 };                                 /* mean width of a character of a label */
static const double LEAST_PCT = 6, MOST_PCT = 300;    /* the range of changes that is drawn */
static const double LEAST_SURE = 2.5, MOST_SURE = 12; /* powers of ten */

struct plot {
    struct gp_svg *w;
    const struct gp_volcano *v;
    struct gp_frame f; /* x: log of the ratio; y: -log10(q) */
    double most_weight;
    struct spot *spots; /* by dot */
    struct gp_buf text;
};

struct spot {
    int x, y, r;
    bool beyond; /* it is outside, and drawn at the edge */
};

static double ratio_log(double change_pct)
{
    if (change_pct == INFINITY) return log(1000);
    double ratio = 1 + change_pct / 100;
    return ratio > 0.001 ? log(ratio) : log(0.001);
}

static double sureness(double q)
{
    return q > 0 ? -log10(q) : MOST_SURE;
}

/* Both axes reach as far as the dots do, within reason. */
static void find_range(struct plot *p)
{
    double reach = ratio_log(LEAST_PCT), sure = LEAST_SURE;
    for (size_t i = 0; i < p->v->dots_n; i++) {
        double r = fabs(ratio_log(p->v->dots[i].change_pct)), s = sureness(p->v->dots[i].q);
        if (r > reach) reach = r;
        if (s > sure && p->v->dots[i].q > 0) sure = s;
        if (p->v->dots[i].weight > p->most_weight) p->most_weight = p->v->dots[i].weight;
    }
    reach = fmin(reach * 1.08, ratio_log(MOST_PCT));
    p->f.x = (struct gp_axis){.from = -reach, .to = reach, .at = LEFT, .end = LEFT + PLOT_WIDTH};
    p->f.y = (struct gp_axis){.to = fmin(sure * 1.08, MOST_SURE), .at = TOP + PLOT_HEIGHT - PAD, .end = TOP};
}

/* To whole pixels, which keeps dots of one value in one row. */
static int across(const struct plot *p, double change_pct)
{
    return (int)lround(gp_axis_at(&p->f.x, ratio_log(change_pct)));
}

static int up(const struct plot *p, double q)
{
    return (int)lround(gp_axis_at(&p->f.y, sureness(q)));
}

static struct spot spot_of(const struct plot *p, const struct gp_volcano_dot *d)
{
    struct spot s = {across(p, d->change_pct), up(p, d->q), 4, false};
    if (p->most_weight > 0) s.r = 3 + (int)lround(9 * sqrt(d->weight / p->most_weight));
    int right = LEFT + PLOT_WIDTH;
    s.beyond = s.x < LEFT || s.x > right || (s.y < TOP && d->q > 0);
    s.x = s.x < LEFT ? LEFT : s.x > right ? right : s.x;
    if (s.y < TOP) s.y = TOP;
    return s;
}

/* Dots that are certain share the top line: those that would hide each other go below, as far as there is
 * room. The first dots are the ones that changed most. */
static void place_dots(struct plot *p)
{
    int lowest = TOP + PLOT_HEIGHT / 2;
    for (size_t i = 0; i < p->v->dots_n; i++) {
        struct spot *s = &p->spots[i];
        *s = spot_of(p, &p->v->dots[i]);
        if (p->v->dots[i].q > 0 || i >= PLACED) continue;
        for (size_t k = 0; k < i && s->y < lowest; k++) {
            const struct spot *t = &p->spots[k];
            int gap = s->r + t->r + 1;
            if (p->v->dots[k].q > 0 || abs(s->x - t->x) >= gap || abs(s->y - t->y) >= gap) continue;
            s->y = t->y + gap;
            k = (size_t)-1; /* it may now be on another one */
        }
    }
}

/* ---- the axes ---- */

/* The word for an edge at which dots have no number, if there are some: -100%, or from nothing. */
static void draw_edge(struct plot *p, const char *word, const char *class, int x, double change)
{
    bool any = false;
    for (size_t i = 0; i < p->v->dots_n; i++) {
        double c = p->v->dots[i].change_pct;
        any |= change > 0 ? c == INFINITY : c <= -100;
    }
    if (!any) return;
    gp_buf_puts(&p->text, word);
    gp_plot_text(p->w, class, x, GP_VOLCANO_HEIGHT - 8, &p->text);
}

/* Round changes, those that are apart enough to have a label. */
static void draw_columns(struct plot *p)
{
    static const double at[] = {0, -50, 100, -20, 20, -80, 50, 200, -10, 10, -5, 5, -2, 2, -1, 1};
    int taken[GP_COUNT(at)], n = 0;
    for (size_t i = 0; i < GP_COUNT(at); i++) {
        int x = across(p, at[i]);
        bool free = x >= LEFT && x <= LEFT + PLOT_WIDTH;
        for (int k = 0; k < n; k++) free &= x - taken[k] > 50 || taken[k] - x > 50;
        if (!free) continue;
        taken[n++] = x;
        gp_plot_line(p->w, at[i] != 0 ? "rule" : "base", x, TOP, x, TOP + PLOT_HEIGHT);
        if (at[i] == 0) gp_buf_puts(&p->text, "same");
        else gp_buf_printf(&p->text, "%s%.0f%%", at[i] < 0 ? "\xE2\x88\x92" : "+", fabs(at[i]));
        gp_plot_text(p->w, "tick mid", x, TOP + PLOT_HEIGHT + 16, &p->text);
    }
    draw_edge(p, "gone", "tick", LEFT, -INFINITY);
    draw_edge(p, "new", "tick end", LEFT + PLOT_WIDTH, INFINITY);
    gp_buf_puts(&p->text, "change in GPU time (logarithmic)");
    gp_plot_text(p->w, "tick mid", LEFT + PLOT_WIDTH / 2, GP_VOLCANO_HEIGHT - 8, &p->text);
}

static void draw_rows(struct plot *p)
{
    int step = p->f.y.to > 8 ? 3 : p->f.y.to > 4 ? 2 : 1;
    gp_plot_line(p->w, "base", LEFT, TOP + PLOT_HEIGHT, LEFT + PLOT_WIDTH, TOP + PLOT_HEIGHT);
    for (int power = 0; power <= p->f.y.to; power += step) {
        int y = up(p, pow(10, -power));
        if (power) gp_plot_line(p->w, "rule", LEFT, y, LEFT + PLOT_WIDTH, y);
        if (power <= 3) gp_buf_printf(&p->text, "%.*f", power, pow(10, -power));
        else gp_buf_printf(&p->text, "1e\xE2\x88\x92%d", power);
        gp_plot_text(p->w, "tick end", LEFT - 7, y + 4, &p->text);
    }
    gp_buf_puts(&p->text, "q");
    gp_plot_text(p->w, "tick end", LEFT - 18, TOP - 2, &p->text); /* clear of a dot in the corner */
}

/* What must be exceeded. */
static void draw_guards(struct plot *p)
{
    int left = across(p, -p->v->floor_pct), right = across(p, p->v->floor_pct), y = up(p, p->v->alpha);
    gp_plot_rect(p->w, "noise", left, TOP, right - left, PLOT_HEIGHT, NULL);
    if (y < TOP) return;
    gp_plot_line(p->w, "mark", LEFT, y, LEFT + PLOT_WIDTH, y);
    gp_buf_printf(&p->text, "q = %g", p->v->alpha);
    gp_plot_text(p->w, "halo end", LEFT + PLOT_WIDTH - 2, y - 4, &p->text);
}

/* ---- the dots ---- */

static void draw_dot(struct plot *p, const struct gp_volcano_dot *d, struct spot s)
{
    char class[40];
    snprintf(class, sizeof class, "v-%s%s", d->k, s.beyond ? " beyond" : "");
    gp_buf_puts(&p->text, d->full ? d->full : d->label);
    gp_plot_circle(p->w, class, s.x, s.y, s.r, &p->text);
    gp_svg_newline(p->w);
}

static bool is_named(const struct gp_volcano_dot *d)
{
    return !strcmp(d->k, "worse") || !strcmp(d->k, "better");
}

/* What a text with its base line at Y covers. */
static struct gp_box line_at(int x, int y, int width)
{
    return (struct gp_box){x, y, width, LINE};
}

/* Neither on other names, nor on dots that count. */
static bool is_free(const struct plot *p, const struct gp_box *taken, size_t n, struct gp_box b)
{
    if (b.x < LEFT || b.x + b.width > LEFT + PLOT_WIDTH || b.y < TOP || gp_box_taken(taken, n, b))
        return false;
    for (size_t i = 0; i < p->v->dots_n; i++) {
        struct spot s = p->spots[i];
        if (is_named(&p->v->dots[i]) && gp_box_meets(b, line_at(s.x - s.r, s.y + 4, 2 * s.r))) return false;
    }
    return true;
}

/* Names beside the first dots that count, where no other name is. */
static void draw_labels(struct plot *p)
{
    struct gp_box taken[LABELS];
    size_t n = 0;
    for (size_t i = 0; i < p->v->dots_n && n < LABELS; i++) {
        const struct gp_volcano_dot *d = &p->v->dots[i];
        if (!is_named(d)) continue;
        struct spot s = p->spots[i];
        gp_text_fit_name(&p->text, d->label, strlen(d->label), LABEL_COLUMNS);
        int width = (int)gp_plot_width(&p->text, ADVANCE) + 8, end = s.x - s.r - 4;
        struct gp_box right = line_at(s.x + s.r + 4, s.y + 4, width);
        struct gp_box left = line_at(end - width, s.y + 4, width);
        bool is_right = is_free(p, taken, n, right);
        if (is_right || is_free(p, taken, n, left)) {
            taken[n++] = is_right ? right : left;
            gp_plot_text(p->w, is_right ? "halo" : "halo end", is_right ? right.x : end, s.y + 4, &p->text);
        }
        p->text.n = 0;
    }
}

void gp_volcano_svg(struct gp_svg *w, const struct gp_volcano *v)
{
    struct plot p = {.w = w, .v = v};
    find_range(&p);
    p.spots = gp_alloc((v->dots_n + 1) * sizeof *p.spots);
    place_dots(&p);
    gp_svg_newline(w);
    gp_plot_begin(w, "chart volcano", GP_VOLCANO_WIDTH, GP_VOLCANO_HEIGHT, v->label);
    draw_guards(&p);
    draw_columns(&p);
    draw_rows(&p);
    for (size_t i = v->dots_n; i-- > 0;) draw_dot(&p, &v->dots[i], p.spots[i]);
    draw_labels(&p);
    gp_svg_close(w);
    free(p.spots);
    gp_buf_release(&p.text);
}
