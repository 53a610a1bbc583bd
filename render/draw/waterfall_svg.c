#include "render/draw/waterfall_svg.h"

#include <math.h>
#include "formats/base/buf.h"
#include "render/draw/plot.h"

/* The grid, in pixels. */
enum {
    LABEL = 320,                        /* room on the left */
    VALUE = 158,                        /* and on the right */
    CHANGE_X = GP_WATERFALL_WIDTH - 62, /* where the absolute change ends; the percentage follows */
    TOP = 4,
    ROW = 24,
    BAR = 16,
    TEXT_DY = 16,
    AXIS = 22,
    PLOT = GP_WATERFALL_WIDTH - LABEL - VALUE,
    TEAR = 14, /* where a bar whose left end is not zero is torn */
};
enum { ADVANCE = 780 };          /* width of a character of a wide name, hundredths of a pixel */
enum { ZERO_FROM_PERCENT = 35 }; /* changes from this size on are visible beside the whole */

struct plot {
    struct gp_svg *w;
    const struct gp_waterfall *f;
    int64_t low, high; /* what the left and right edge of the plot are */
    struct gp_buf text;
};

/* The lowest and highest intermediate level; if the changes are small compared with them, the plot does not
 * begin at zero. */
static void find_range(struct plot *p)
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
static double at_level(const struct plot *p, int64_t level)
{
    return LABEL + (double)gp_plot_scaled(level - p->low, p->high - p->low, PLOT * 100) / 100;
}

static void put_signed(struct gp_buf *b, enum gp_unit unit, int64_t v)
{
    gp_buf_puts(b, v < 0 ? "\xE2\x88\x92" : v > 0 ? "+" : "");
    gp_scale_put(b, unit, v < 0 ? -v : v);
}

static int row_y(size_t row)
{
    return TOP + (int)row * ROW;
}

static void open_row(struct plot *p, size_t row)
{
    gp_svg_open(p->w, "g");
    gp_plot_title(p->w, &p->text);
    /* the whole row answers to the pointer */
    gp_plot_rect(p->w, "catch", 0, row_y(row), GP_WATERFALL_WIDTH, ROW, NULL);
}

static void close_row(struct plot *p)
{
    gp_svg_close(p->w);
    gp_svg_newline(p->w);
}

static void draw_bar(struct plot *p, const char *class, size_t row, int64_t from, int64_t to)
{
    double x = at_level(p, from < to ? from : to), end = at_level(p, from < to ? to : from);
    gp_plot_rect(p->w, class, x, row_y(row) + (ROW - BAR) / 2, fmax(end - x, 1), BAR, NULL);
}

/* The level between two rows. */
static void draw_step(struct plot *p, size_t row, int64_t level)
{
    double x = at_level(p, level);
    gp_plot_line(p->w, "step", x, row_y(row) - (ROW - BAR) / 2, x, row_y(row) + (ROW - BAR) / 2);
}

static void draw_label(struct plot *p, const char *class, size_t row, const char *name)
{
    gp_buf_puts(&p->text, name);
    gp_plot_fit(&p->text, LABEL - 14, ADVANCE);
    gp_plot_text(p->w, class, LABEL - 10, row_y(row) + TEXT_DY, &p->text);
}

/* A slanted gap marks a bar that begins left of the plot. */
static void draw_tear(struct plot *p, size_t row)
{
    int x = LABEL + TEAR, y = row_y(row) + (ROW - BAR) / 2 - 1;
    gp_buf_printf(&p->text, "M%d %dl4 0l-6 %dl-4 0z", x, y, BAR + 2);
    gp_plot_path(p->w, "tear", &p->text);
}

static void draw_total(struct plot *p, size_t row, const char *name, int64_t v)
{
    gp_buf_puts(&p->text, name);
    gp_buf_puts(&p->text, ": ");
    gp_scale_put(&p->text, p->f->unit, v);
    open_row(p, row);
    draw_label(p, "label total", row, name);
    draw_bar(p, "w-total", row, p->low, v);
    if (p->low > 0) draw_tear(p, row);
    gp_scale_put(&p->text, p->f->unit, v);
    gp_plot_text(p->w, "end total", CHANGE_X, row_y(row) + TEXT_DY, &p->text);
    close_row(p);
}

static void put_share(struct plot *p, int64_t change)
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

static void draw_change(struct plot *p, size_t row, const struct gp_waterfall_bar *b, int64_t before)
{
    gp_buf_puts(&p->text, b->full ? b->full : b->label);
    gp_buf_puts(&p->text, ": ");
    put_signed(&p->text, p->f->unit, b->change);
    if (b->note) {
        gp_buf_puts(&p->text, ". ");
        gp_buf_puts(&p->text, b->note);
    }
    open_row(p, row);
    draw_label(p, "label", row, b->label);
    draw_step(p, row, before);
    if (b->change) draw_bar(p, b->change > 0 ? "w-worse" : "w-better", row, before, before + b->change);
    put_signed(&p->text, p->f->unit, b->change);
    gp_plot_text(p->w, "end value", CHANGE_X, row_y(row) + TEXT_DY, &p->text);
    put_share(p, b->change);
    gp_plot_text(p->w, "end tick", GP_WATERFALL_WIDTH, row_y(row) + TEXT_DY, &p->text);
    close_row(p);
}

/* Thin rules. If the plot begins at zero they show the value, otherwise the distance from the first level. */
static void draw_rules(struct plot *p, size_t rows)
{
    int64_t step = gp_plot_step(p->high - p->low > 0 ? p->high - p->low : 1);
    int64_t origin = p->low > 0 ? p->f->from : 0;
    int64_t first = (p->low - origin) / step;
    if (origin + first * step < p->low) first++;
    int64_t last = (p->high - origin) / step;
    for (int64_t i = first; i <= last; i++) {
        double x = at_level(p, origin + i * step);
        gp_plot_line(p->w, i || origin ? "rule" : "base", x, TOP, x, row_y(rows));
        if (p->low > 0 && !i) gp_buf_puts(&p->text, p->f->from_name);
        else if (p->low > 0) put_signed(&p->text, p->f->unit, i * step);
        else if (i) gp_scale_put(&p->text, p->f->unit, i * step);
        else gp_buf_putc(&p->text, '0');
        gp_plot_text(p->w, "tick mid", x, row_y(rows) + 14, &p->text);
    }
    gp_svg_newline(p->w);
}

int gp_waterfall_height(const struct gp_waterfall *f)
{
    return row_y(f->bars_n + 2) + AXIS;
}

void gp_waterfall_svg(struct gp_svg *w, const struct gp_waterfall *f)
{
    struct plot p = {.w = w, .f = f};
    find_range(&p);
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
