#include "render/draw/change_svg.h"

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
    bool beyond; /* outside, and drawn at the edge */
};

static double ratio_log(double change_pct)
{
    if (change_pct == INFINITY) return log(1000);
    double ratio = 1 + change_pct / 100;
    return ratio > 0.001 ? log(ratio) : log(0.001);
}

static double certainty(double q) { return q > 0 ? -log10(q) : MOST_SURE; }

/* Both axes reach as far as the dots do, within reason. */
static void find_range(struct plot *p)
{
    double reach = ratio_log(LEAST_PCT), sure = LEAST_SURE;
    for (size_t i = 0; i < p->v->dots_n; i++) {
        double r = fabs(ratio_log(p->v->dots[i].change_pct)), s = certainty(p->v->dots[i].q);
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

static int up(const struct plot *p, double q) { return (int)lround(gp_axis_at(&p->f.y, certainty(q))); }

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

/* The box of a text with its base line at Y. */
static struct gp_box line_at(int x, int y, int width) { return (struct gp_box){x, y, width, LINE}; }

/* Free of other names, and of dots that count. */
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

/* ---- waterfall svg ---- */

/* The grid, in pixels. */
enum {
    LABEL = 320,                        /* room on the left */
    VALUE = 158,                        /* and on the right */
    CHANGE_X = GP_WATERFALL_WIDTH - 62, /* where the absolute change ends; the percentage follows */
    BARS_TOP = 4,
    ROW = 24,
    BAR = 16,
    TEXT_DY = 16,
    AXIS = 22,
    PLOT = GP_WATERFALL_WIDTH - LABEL - VALUE,
    TEAR = 14, /* the gap in a bar whose left end is not zero */
};
enum { BAR_ADVANCE = 780 };      /* width of a character of a wide name, hundredths of a pixel */
enum { ZERO_FROM_PERCENT = 35 }; /* the smallest change that is visible beside the whole */

struct waterfall {
    struct gp_svg *w;
    const struct gp_waterfall *f;
    int64_t low, high; /* values at the left and right edge of the plot */
    struct gp_buf text;
};

/* The lowest and highest intermediate level; if the changes are small compared with them, the plot does not
 * begin at zero. */
static void find_levels(struct waterfall *p)
{
    int64_t level = p->f->from, low = level, high = level;
    for (size_t i = 0; i < p->f->bars_n; i++) {
        level += p->f->bars[i].change;
        if (level < low) low = level;
        if (level > high) high = level;
    }
    int64_t range = high - low;
    p->high = high > 0 ? high : 1;
    p->low = low < 0 ? low : 0;
    if (low > 0 && range > 0 && range < high / 100 * ZERO_FROM_PERCENT) p->low = low - range / 3;
    if (p->low < 0) p->low = low;
}

/* Position of a level, in pixels. */
static double at_level(const struct waterfall *p, int64_t level)
{
    return LABEL + (double)gp_plot_scaled(level - p->low, p->high - p->low, PLOT * 100) / 100;
}

static int row_y(size_t row) { return BARS_TOP + (int)row * ROW; }

static void open_row(struct waterfall *p, size_t row)
{
    gp_svg_open(p->w, "g");
    gp_plot_title(p->w, &p->text);
    /* the whole row answers to the pointer */
    gp_plot_rect(p->w, "catch", 0, row_y(row), GP_WATERFALL_WIDTH, ROW, NULL);
}

static void close_row(struct waterfall *p) { gp_svg_close_line(p->w); }

static void draw_bar(struct waterfall *p, const char *class, size_t row, int64_t from, int64_t to)
{
    double x = at_level(p, from < to ? from : to), end = at_level(p, from < to ? to : from);
    gp_plot_rect(p->w, class, x, row_y(row) + (ROW - BAR) / 2, fmax(end - x, 1), BAR, NULL);
}

/* The level between two rows. */
static void draw_step(struct waterfall *p, size_t row, int64_t level)
{
    double x = at_level(p, level);
    gp_plot_line(p->w, "step", x, row_y(row) - (ROW - BAR) / 2, x, row_y(row) + (ROW - BAR) / 2);
}

/* The byte of a bar's label in which it first differs from the label that it shares most with. */
static size_t differs_at(const struct gp_waterfall *f, const struct gp_waterfall_bar *b)
{
    size_t most = 0;
    for (size_t i = 0; i < f->bars_n; i++) {
        size_t n = 0;
        while (&f->bars[i] != b && b->label[n] && b->label[n] == f->bars[i].label[n]) n++;
        if (n > most) most = n;
    }
    return most;
}

/* Byte FROM of NAME stays in sight. */
static void draw_label(struct waterfall *p, const char *class, size_t row, const char *name, size_t from)
{
    gp_text_fit_at(&p->text, name, strlen(name), (size_t)(LABEL - 14) * 100 / BAR_ADVANCE, from);
    gp_plot_text(p->w, class, LABEL - 10, row_y(row) + TEXT_DY, &p->text);
}

static void draw_total(struct waterfall *p, size_t row, const char *name, int64_t v)
{
    gp_buf_puts(&p->text, name);
    gp_buf_puts(&p->text, ": ");
    gp_scale_put(&p->text, p->f->unit, v);
    open_row(p, row);
    draw_label(p, "label total", row, name, 0);
    draw_bar(p, "w-total", row, p->low, v);
    if (p->low > 0) {
        /* A slanted gap marks a bar that begins left of the plot. */
        int x = LABEL + TEAR, y = row_y(row) + (ROW - BAR) / 2 - 1;
        gp_buf_printf(&p->text, "M%d %dl4 0l-6 %dl-4 0z", x, y, BAR + 2);
        gp_plot_path(p->w, "tear", &p->text);
    }
    gp_scale_put(&p->text, p->f->unit, v);
    gp_plot_text(p->w, "end total", CHANGE_X, row_y(row) + TEXT_DY, &p->text);
    close_row(p);
}

static void put_share(struct waterfall *p, int64_t change)
{
    if (p->f->from <= 0) return;
    if (!change || (change > -p->f->from / 20000 && change < p->f->from / 20000)) {
        gp_buf_puts(&p->text, change ? "<0.01%" : "0%");
        return;
    }
    gp_buf_puts(&p->text, change < 0 ? "\xE2\x88\x92" : change > 0 ? "+" : "");
    int64_t size = change < 0 ? -change : change;
    if (size <= p->f->from) gp_scale_put_share(&p->text, size, p->f->from);
    else gp_buf_printf(&p->text, "%.0f%%", 100 * (double)size / (double)p->f->from);
}

static void draw_change(struct waterfall *p, size_t row, const struct gp_waterfall_bar *b, int64_t before)
{
    gp_buf_puts(&p->text, b->full ? b->full : b->label);
    gp_buf_puts(&p->text, ": ");
    gp_plot_put_signed(&p->text, p->f->unit, b->change);
    if (b->note) {
        gp_buf_puts(&p->text, ". ");
        gp_buf_puts(&p->text, b->note);
    }
    open_row(p, row);
    draw_label(p, "label", row, b->label, differs_at(p->f, b));
    draw_step(p, row, before);
    if (b->change) draw_bar(p, b->change > 0 ? "w-worse" : "w-better", row, before, before + b->change);
    gp_plot_put_signed(&p->text, p->f->unit, b->change);
    gp_plot_text(p->w, "end value", CHANGE_X, row_y(row) + TEXT_DY, &p->text);
    put_share(p, b->change);
    gp_plot_text(p->w, "end tick", GP_WATERFALL_WIDTH, row_y(row) + TEXT_DY, &p->text);
    close_row(p);
}

/* Thin rules. If the plot begins at zero they show the value, otherwise the distance from the first level. */
static void draw_rules(struct waterfall *p, size_t rows)
{
    int64_t step = gp_plot_step(p->high - p->low > 0 ? p->high - p->low : 1);
    int64_t origin = p->low > 0 ? p->f->from : 0;
    int64_t first = (p->low - origin) / step;
    if (origin + first * step < p->low) first++;
    int64_t last = (p->high - origin) / step;
    for (int64_t i = first; i <= last; i++) {
        double x = at_level(p, origin + i * step);
        gp_plot_line(p->w, i || origin ? "rule" : "base", x, BARS_TOP, x, row_y(rows));
        if (p->low > 0 && !i) gp_buf_puts(&p->text, p->f->from_name);
        else if (p->low > 0) gp_plot_put_signed(&p->text, p->f->unit, i * step);
        else if (i) gp_scale_put(&p->text, p->f->unit, i * step);
        else gp_buf_putc(&p->text, '0');
        gp_plot_text(p->w, "tick mid", x, row_y(rows) + 14, &p->text);
    }
    gp_svg_newline(p->w);
}

int gp_waterfall_height(const struct gp_waterfall *f) { return row_y(f->bars_n + 2) + AXIS; }

void gp_waterfall_svg(struct gp_svg *w, const struct gp_waterfall *f)
{
    struct waterfall p = {.w = w, .f = f};
    find_levels(&p);
    gp_svg_newline(w);
    gp_plot_begin(w, "chart waterfall", GP_WATERFALL_WIDTH, gp_waterfall_height(f), f->label);
    draw_rules(&p, f->bars_n + 2);
    draw_total(&p, 0, f->from_name, f->from);
    int64_t level = f->from;
    for (size_t i = 0; i < f->bars_n; i++) {
        draw_change(&p, i + 1, &f->bars[i], level);
        level += f->bars[i].change;
    }
    draw_step(&p, f->bars_n + 1, level);
    draw_total(&p, f->bars_n + 1, f->to_name, f->to);
    gp_svg_close(w);
    gp_buf_release(&p.text);
}
