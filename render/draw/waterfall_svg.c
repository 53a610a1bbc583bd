#include "render/draw/waterfall_svg.h"

#include <string.h>
#include "render/draw/chart_svg.h"
#include "render/draw/text.h"

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

/* Position of a level, in hundredths of a pixel. */
static int64_t x_of(const struct plot *p, int64_t level)
{
    return LABEL * 100 + gp_chart_scaled(level - p->low, p->high - p->low, PLOT * 100);
}

static void put_signed(struct gp_buf *b, enum gp_unit unit, int64_t v)
{
    gp_buf_puts(b, v < 0 ? "\xE2\x88\x92" : v > 0 ? "+" : "");
    gp_scale_put(b, unit, v < 0 ? -v : v);
}

/* The scratch text, which is empty after; cut to ROOM pixels unless that is 0. */
static void draw_text(struct plot *p, const char *class, int64_t x, int64_t y, int room)
{
    struct gp_buf cut = {0};
    if (room) gp_text_fit_name(&cut, p->text.data, p->text.n, (size_t)room * 100 / ADVANCE);
    else gp_text_clean(&cut, p->text.data, p->text.n);
    gp_svg_open(p->w, "text");
    gp_svg_attr(p->w, "class", class);
    gp_svg_px(p->w, "x", x);
    gp_svg_int(p->w, "y", y);
    gp_svg_text(p->w, cut.data, cut.n);
    gp_svg_close(p->w);
    gp_buf_release(&cut);
    p->text.n = 0;
}

static void draw_line(struct plot *p, const char *class, int64_t x, int64_t y1, int64_t y2)
{
    gp_svg_open(p->w, "line");
    gp_svg_attr(p->w, "class", class);
    gp_svg_px(p->w, "x1", x);
    gp_svg_px(p->w, "x2", x);
    gp_svg_int(p->w, "y1", y1);
    gp_svg_int(p->w, "y2", y2);
    gp_svg_close(p->w);
}

static int row_y(size_t row)
{
    return TOP + (int)row * ROW;
}

static void open_row(struct plot *p, size_t row)
{
    gp_svg_open(p->w, "g");
    gp_svg_open(p->w, "title");
    gp_svg_text(p->w, p->text.data, p->text.n);
    gp_svg_close(p->w);
    p->text.n = 0;
    gp_svg_open(p->w, "rect"); /* the whole row answers to the pointer */
    gp_svg_attr(p->w, "class", "catch");
    gp_svg_box(p->w, 0, (int64_t)row_y(row) * 100, GP_WATERFALL_WIDTH * 100, ROW * 100);
    gp_svg_close(p->w);
}

static void close_row(struct plot *p)
{
    gp_svg_close(p->w);
    gp_svg_newline(p->w);
}

static void draw_bar(struct plot *p, const char *class, size_t row, int64_t from, int64_t to)
{
    int64_t x = x_of(p, from), end = x_of(p, to);
    if (end < x) {
        int64_t swap = x;
        x = end;
        end = swap;
    }
    gp_svg_open(p->w, "rect");
    gp_svg_attr(p->w, "class", class);
    gp_svg_box(p->w, x, (int64_t)(row_y(row) + (ROW - BAR) / 2) * 100, end - x < 100 ? 100 : end - x,
               BAR * 100);
    gp_svg_close(p->w);
}

/* A slanted gap marks a bar that begins left of the plot. */
static void draw_tear(struct plot *p, size_t row)
{
    int x = LABEL + TEAR, y = row_y(row) + (ROW - BAR) / 2 - 1;
    gp_svg_open(p->w, "path");
    gp_svg_attr(p->w, "class", "tear");
    gp_buf_printf(p->w->out, " d=\"M%d %dl4 0l-6 %dl-4 0z\"", x, y, BAR + 2);
    gp_svg_close(p->w);
}

static void draw_total(struct plot *p, size_t row, const char *name, int64_t v)
{
    gp_buf_puts(&p->text, name);
    gp_buf_puts(&p->text, ": ");
    gp_scale_put(&p->text, p->f->unit, v);
    open_row(p, row);
    gp_buf_puts(&p->text, name);
    draw_text(p, "label total", (LABEL - 10) * 100, row_y(row) + TEXT_DY, LABEL - 14);
    draw_bar(p, "w-total", row, p->low, v);
    if (p->low > 0) draw_tear(p, row);
    gp_scale_put(&p->text, p->f->unit, v);
    draw_text(p, "end total", CHANGE_X * 100, row_y(row) + TEXT_DY, 0);
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
    gp_buf_puts(&p->text, b->label);
    draw_text(p, "label", (LABEL - 10) * 100, row_y(row) + TEXT_DY, LABEL - 14);
    draw_line(p, "step", x_of(p, before), row_y(row) - (ROW - BAR) / 2, row_y(row) + (ROW - BAR) / 2);
    if (b->change) draw_bar(p, b->change > 0 ? "w-worse" : "w-better", row, before, before + b->change);
    put_signed(&p->text, p->f->unit, b->change);
    draw_text(p, "end value", CHANGE_X * 100, row_y(row) + TEXT_DY, 0);
    put_share(p, b->change);
    draw_text(p, "end tick", GP_WATERFALL_WIDTH * 100, row_y(row) + TEXT_DY, 0);
    close_row(p);
}

/* Thin rules. If the plot begins at zero they show the value, otherwise the distance from the first level. */
static void draw_rules(struct plot *p, size_t rows)
{
    int64_t step = gp_chart_tick_step(p->high - p->low > 0 ? p->high - p->low : 1);
    int64_t origin = p->low > 0 ? p->f->from : 0;
    int64_t first = (p->low - origin) / step;
    if (origin + first * step < p->low) first++;
    int64_t last = (p->high - origin) / step;
    for (int64_t i = first; i <= last; i++) {
        int64_t x = x_of(p, origin + i * step);
        draw_line(p, i || origin ? "rule" : "base", x, TOP, row_y(rows));
        if (p->low > 0 && !i) gp_buf_puts(&p->text, p->f->from_name);
        else if (p->low > 0) put_signed(&p->text, p->f->unit, i * step);
        else if (i) gp_scale_put(&p->text, p->f->unit, i * step);
        else gp_buf_putc(&p->text, '0');
        draw_text(p, "tick mid", x, row_y(rows) + 14, 0);
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
    gp_svg_open(w, "svg");
    gp_svg_attr(w, "class", "chart waterfall");
    gp_buf_printf(w->out, " viewBox=\"0 0 %d %d\"", GP_WATERFALL_WIDTH, gp_waterfall_height(f));
    gp_svg_int(w, "width", GP_WATERFALL_WIDTH);
    gp_svg_int(w, "height", gp_waterfall_height(f));
    gp_svg_attr(w, "role", "img");
    gp_svg_attr(w, "aria-label", f->label);
    draw_rules(&p, f->bars_n + 2);
    draw_total(&p, 0, f->from_name, f->from);
    int64_t level = f->from;
    for (size_t i = 0; i < f->bars_n; i++) {
        draw_change(&p, i + 1, &f->bars[i], level);
        level += f->bars[i].change;
    }
    draw_line(&p, "step", x_of(&p, level), row_y(f->bars_n + 1) - (ROW - BAR) / 2,
              row_y(f->bars_n + 1) + (ROW - BAR) / 2);
    draw_total(&p, f->bars_n + 1, f->to_name, f->to);
    gp_svg_close(w);
    gp_buf_release(&p.text);
}
