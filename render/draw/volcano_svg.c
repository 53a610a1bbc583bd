#include "render/draw/volcano_svg.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "formats/base/count.h"
#include "formats/base/mem.h"
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
    double reach; /* log of the ratio at the right edge; the left one is its inverse */
    double sure;  /* -log10(q) at the top */
    double most_weight;
    struct spot *spots; /* by dot */
    struct gp_buf text;
};

struct spot {
    int x, y, r;
    bool beyond; /* it is outside, and drawn at the edge */
};

struct box {
    int x, y, width;
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
    p->reach = fmin(reach * 1.08, ratio_log(MOST_PCT));
    p->sure = fmin(sure * 1.08, MOST_SURE);
}

static int x_of(const struct plot *p, double change_pct)
{
    return LEFT + PLOT_WIDTH / 2 + (int)lround(ratio_log(change_pct) / p->reach * PLOT_WIDTH / 2);
}

static int y_of(const struct plot *p, double q)
{
    return TOP + PLOT_HEIGHT - PAD - (int)lround(sureness(q) / p->sure * (PLOT_HEIGHT - PAD));
}

static struct spot spot_of(const struct plot *p, const struct gp_volcano_dot *d)
{
    struct spot s = {x_of(p, d->change_pct), y_of(p, d->q), 4, false};
    if (p->most_weight > 0) s.r = 3 + (int)lround(9 * sqrt(d->weight / p->most_weight));
    int right = LEFT + PLOT_WIDTH;
    s.beyond = s.x < LEFT || s.x > right || (s.y < TOP && d->q > 0);
    s.x = s.x < LEFT ? LEFT : s.x > right ? right : s.x;
    if (s.y < TOP) s.y = TOP;
    return s;
}

/* Dots that are certain share the top line: those that would hide each other go below, as far as there is room.
 * The first dots are the ones that changed most. */
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

static void draw_line(struct plot *p, const char *class, int x1, int y1, int x2, int y2)
{
    gp_svg_open(p->w, "line");
    gp_svg_attr(p->w, "class", class);
    gp_svg_int(p->w, "x1", x1);
    gp_svg_int(p->w, "y1", y1);
    gp_svg_int(p->w, "x2", x2);
    gp_svg_int(p->w, "y2", y2);
    gp_svg_close(p->w);
}

/* The scratch text, which is empty after. */
static void draw_text(struct plot *p, const char *class, int x, int y)
{
    gp_svg_open(p->w, "text");
    gp_svg_attr(p->w, "class", class);
    gp_svg_int(p->w, "x", x);
    gp_svg_int(p->w, "y", y);
    gp_svg_text(p->w, p->text.data, p->text.n);
    gp_svg_close(p->w);
    p->text.n = 0;
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
    draw_text(p, class, x, GP_VOLCANO_HEIGHT - 8);
}

/* Round changes, those that are apart enough to have a label. */
static void draw_columns(struct plot *p)
{
    static const double at[] = {0, -50, 100, -20, 20, -80, 50, 200, -10, 10, -5, 5, -2, 2, -1, 1};
    int taken[GP_COUNT(at)], n = 0;
    for (size_t i = 0; i < GP_COUNT(at); i++) {
        int x = x_of(p, at[i]);
        bool free = x >= LEFT && x <= LEFT + PLOT_WIDTH;
        for (int k = 0; k < n; k++) free &= x - taken[k] > 50 || taken[k] - x > 50;
        if (!free) continue;
        taken[n++] = x;
        draw_line(p, at[i] != 0 ? "rule" : "base", x, TOP, x, TOP + PLOT_HEIGHT);
        if (at[i] == 0) gp_buf_puts(&p->text, "same");
        else gp_buf_printf(&p->text, "%s%.0f%%", at[i] < 0 ? "\xE2\x88\x92" : "+", fabs(at[i]));
        draw_text(p, "tick mid", x, TOP + PLOT_HEIGHT + 16);
    }
    draw_edge(p, "gone", "tick", LEFT, -INFINITY);
    draw_edge(p, "new", "tick end", LEFT + PLOT_WIDTH, INFINITY);
    gp_buf_puts(&p->text, "change in GPU time (logarithmic)");
    draw_text(p, "tick mid", LEFT + PLOT_WIDTH / 2, GP_VOLCANO_HEIGHT - 8);
}

static void draw_rows(struct plot *p)
{
    int step = p->sure > 8 ? 3 : p->sure > 4 ? 2 : 1;
    draw_line(p, "base", LEFT, TOP + PLOT_HEIGHT, LEFT + PLOT_WIDTH, TOP + PLOT_HEIGHT);
    for (int power = 0; power <= p->sure; power += step) {
        int y = y_of(p, pow(10, -power));
        if (power) draw_line(p, "rule", LEFT, y, LEFT + PLOT_WIDTH, y);
        if (power <= 3) gp_buf_printf(&p->text, "%.*f", power, pow(10, -power));
        else gp_buf_printf(&p->text, "1e\xE2\x88\x92%d", power);
        draw_text(p, "tick end", LEFT - 7, y + 4);
    }
    gp_buf_puts(&p->text, "q");
    draw_text(p, "tick end", LEFT - 18, TOP - 2); /* clear of a dot in the corner */
}

/* What must be exceeded. */
static void draw_guards(struct plot *p)
{
    int left = x_of(p, -p->v->floor_pct), right = x_of(p, p->v->floor_pct), y = y_of(p, p->v->alpha);
    gp_svg_open(p->w, "rect");
    gp_svg_attr(p->w, "class", "noise");
    gp_svg_box(p->w, left * 100, TOP * 100, (right - left) * 100, PLOT_HEIGHT * 100);
    gp_svg_close(p->w);
    if (y < TOP) return;
    draw_line(p, "mark", LEFT, y, LEFT + PLOT_WIDTH, y);
    gp_buf_printf(&p->text, "q = %g", p->v->alpha);
    draw_text(p, "halo end", LEFT + PLOT_WIDTH - 2, y - 4);
}

/* ---- the dots ---- */

static void draw_dot(struct plot *p, const struct gp_volcano_dot *d, struct spot s)
{
    gp_svg_open(p->w, "circle");
    gp_buf_printf(&p->text, "v-%s%s", d->k, s.beyond ? " beyond" : "");
    gp_svg_attr_n(p->w, "class", p->text.data, p->text.n);
    p->text.n = 0;
    gp_svg_int(p->w, "cx", s.x);
    gp_svg_int(p->w, "cy", s.y);
    gp_svg_int(p->w, "r", s.r);
    gp_svg_open(p->w, "title");
    for (const char *line = d->full ? d->full : d->label; *line;) {
        size_t n = strcspn(line, "\n");
        gp_svg_text(p->w, line, n);
        line += n;
        if (*line) gp_svg_newline(p->w);
        line += *line != 0;
    }
    gp_svg_close(p->w);
    gp_svg_close(p->w);
    gp_svg_newline(p->w);
}

static bool is_apart(struct box a, struct box b)
{
    return a.x >= b.x + b.width || b.x >= a.x + a.width || a.y - b.y >= LINE || b.y - a.y >= LINE;
}

static bool is_named(const struct gp_volcano_dot *d)
{
    return !strcmp(d->k, "worse") || !strcmp(d->k, "better");
}

/* Neither on other names, nor on dots that count. */
static bool is_free(const struct plot *p, const struct box *taken, size_t n, struct box b)
{
    if (b.x < LEFT || b.x + b.width > LEFT + PLOT_WIDTH || b.y < TOP) return false;
    for (size_t i = 0; i < n; i++)
        if (!is_apart(b, taken[i])) return false;
    for (size_t i = 0; i < p->v->dots_n; i++) {
        struct spot s = p->spots[i];
        if (is_named(&p->v->dots[i]) && !is_apart(b, (struct box){s.x - s.r, s.y + 4, 2 * s.r})) return false;
    }
    return true;
}

/* Names beside the first dots that count, where no other name is. */
static void draw_labels(struct plot *p)
{
    struct box taken[LABELS];
    size_t n = 0;
    for (size_t i = 0; i < p->v->dots_n && n < LABELS; i++) {
        const struct gp_volcano_dot *d = &p->v->dots[i];
        if (!is_named(d)) continue;
        struct spot s = p->spots[i];
        gp_text_fit_name(&p->text, d->label, strlen(d->label), LABEL_COLUMNS);
        int width = (int)gp_text_width(p->text.data ? p->text.data : "", p->text.n) * ADVANCE + 8;
        struct box right = {s.x + s.r + 4, s.y + 4, width}, left = {s.x - s.r - 4 - width, s.y + 4, width};
        bool is_right = is_free(p, taken, n, right);
        if (is_right || is_free(p, taken, n, left)) {
            taken[n++] = is_right ? right : left;
            draw_text(p, is_right ? "halo" : "halo end", is_right ? right.x : s.x - s.r - 4, s.y + 4);
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
    gp_svg_open(w, "svg");
    gp_svg_attr(w, "class", "chart volcano");
    gp_buf_printf(w->out, " viewBox=\"0 0 %d %d\"", GP_VOLCANO_WIDTH, GP_VOLCANO_HEIGHT);
    gp_svg_int(w, "width", GP_VOLCANO_WIDTH);
    gp_svg_int(w, "height", GP_VOLCANO_HEIGHT);
    gp_svg_attr(w, "role", "img");
    gp_svg_attr(w, "aria-label", v->label);
    draw_guards(&p);
    draw_columns(&p);
    draw_rows(&p);
    for (size_t i = v->dots_n; i-- > 0;) draw_dot(&p, &v->dots[i], p.spots[i]);
    draw_labels(&p);
    gp_svg_close(w);
    free(p.spots);
    gp_buf_release(&p.text);
}
