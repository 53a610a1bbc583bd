#include "render/draw/chart_svg.h"

#include <math.h>
#include <string.h>
#include "analyze/math/sums.h"
#include "formats/base/buf.h"
#include "render/draw/plot.h"
#include "render/draw/text.h"

/* The grid, in pixels. Pages show charts at about this width, so that text has its size. */
enum {
    WIDTH = 640,
    LABEL_MIN = 60, /* rows: room for the labels */
    LABEL_MAX = 276,
    VALUE = 112, /* and for the text on the right */
    ROW = 24,
    BAR = 16,
    TEXT_DY = 12,
    PLOT_LEFT = 62,
    PLOT_TOP = 12,
    PLOT_HEIGHT = 176,
    AXIS = 20,       /* below the plot */
    AXIS_WORDS = 18, /* below that */
};
enum { WIDEST = 9000 }; /* hundredths of a pixel: caps the column width if there are few columns */
enum { ADVANCE = 720 }; /* mean width of a character in a wide font, hundredths of a pixel */

struct plot {
    struct gp_svg *w;
    const struct gp_chart *c;
    int64_t top; /* value at the upper edge */
    int label;   /* room for the labels of rows */
    struct gp_buf text;
};

static void put_value(const struct plot *p, struct gp_buf *b, int64_t v)
{
    if (p->c->whole) gp_scale_put_share(b, v, p->c->whole);
    else gp_scale_put(b, p->c->unit, v);
}

static int64_t sum_of(const struct gp_chart *c, const struct gp_chart_row *row)
{
    int64_t sum = 0;
    for (size_t i = 0; i < c->series_n; i++)
        if (row->values[i] > 0) sum = gp_add_saturated(sum, row->values[i]);
    return sum;
}

static int64_t greatest_sum(const struct gp_chart *c)
{
    int64_t most = 0;
    for (size_t i = 0; i < c->rows_n; i++) {
        int64_t sum = sum_of(c, &c->rows[i]);
        if (sum > most) most = sum;
    }
    return most;
}

static int64_t greatest_value(const struct gp_chart *c)
{
    int64_t most = 0;
    for (size_t i = 0; i < c->rows_n; i++)
        for (size_t j = 0; j < c->series_n; j++)
            if (c->rows[i].values[j] > most) most = c->rows[i].values[j];
    return most;
}

static void begin(struct plot *p, int height)
{
    gp_svg_newline(p->w);
    gp_plot_begin(p->w, "chart", WIDTH, height, p->c->label);
}

static void end(struct plot *p)
{
    gp_svg_close(p->w);
    gp_buf_release(&p->text);
}

/* A box in hundredths of a pixel, in the colour of series I. */
static void draw_box(struct plot *p, const struct gp_chart_row *row, size_t i, int64_t x, int64_t y,
                     int64_t width, int64_t height)
{
    gp_buf_puts(&p->text, "k-");
    gp_buf_puts(&p->text, row->k ? row->k : p->c->series[i].k);
    gp_plot_rect(p->w, gp_buf_str(&p->text), (double)x / 100, (double)y / 100, (double)width / 100,
                 (double)height / 100, NULL);
    p->text.n = 0;
}

static void draw_tooltip(struct plot *p, const struct gp_chart_row *row)
{
    const struct gp_chart *c = p->c;
    const char *name = row->full ? row->full : row->label;
    int64_t sum = sum_of(c, row);
    gp_text_clean(&p->text, name, strlen(name));
    for (size_t i = 0; i < c->series_n; i++) {
        gp_buf_putc(&p->text, '\n');
        if (c->series[i].name) gp_buf_printf(&p->text, "%s: ", c->series[i].name);
        put_value(p, &p->text, row->values[i]);
        if (c->whole || c->series_n < 2 || c->mark_text) continue;
        gp_buf_printf(&p->text, " (%s)", GP_SHARE(row->values[i], sum));
    }
    gp_plot_title(p->w, &p->text);
}

/* ---- rows ---- */

static void draw_row(struct plot *p, const struct gp_chart_row *row, int y)
{
    int64_t room = (WIDTH - p->label - VALUE) * 100;
    int64_t whole = p->c->each ? sum_of(p->c, row) : p->top, before = 0;
    gp_svg_open(p->w, "g");
    draw_tooltip(p, row);
    gp_plot_rect(p->w, "catch", 0, y, WIDTH, ROW, NULL); /* the whole row answers to the pointer */
    gp_buf_puts(&p->text, row->label);
    gp_plot_fit(&p->text, p->label - 14, ADVANCE);
    gp_plot_text(p->w, "label", p->label - 10, y + (ROW - BAR) / 2 + TEXT_DY, &p->text);
    for (size_t i = 0; i < p->c->series_n; i++) {
        if (row->values[i] <= 0) continue;
        int64_t x = gp_plot_scaled(before, whole, room),
                width = gp_plot_scaled(gp_add_saturated(before, row->values[i]), whole, room) - x;
        before = gp_add_saturated(before, row->values[i]);
        if (width < 60) width = 60; /* so that every value is seen */
        draw_box(p, row, i, p->label * 100 + x, (y + (ROW - BAR) / 2) * 100, width, BAR * 100);
    }
    if (row->text) {
        gp_buf_puts(&p->text, row->text);
        int at = p->label + (int)(gp_plot_scaled(p->c->each ? whole : before, whole, room) / 100) + 8;
        gp_plot_text(p->w, "value", at, y + (ROW - BAR) / 2 + TEXT_DY, &p->text);
    }
    gp_svg_close_line(p->w);
}

static int label_room(const struct gp_chart *c)
{
    size_t widest = 0;
    for (size_t i = 0; i < c->rows_n; i++) {
        size_t n = gp_text_width(c->rows[i].label, strlen(c->rows[i].label));
        if (n > widest) widest = n;
    }
    if (widest * ADVANCE / 100 + 16 > LABEL_MAX) return LABEL_MAX;
    return widest * ADVANCE / 100 + 16 < LABEL_MIN ? LABEL_MIN : (int)widest * ADVANCE / 100 + 16;
}

void gp_chart_rows(struct gp_svg *w, const struct gp_chart *c)
{
    struct plot p = {.w = w, .c = c, .top = greatest_sum(c), .label = label_room(c)};
    begin(&p, (int)c->rows_n * ROW + 4);
    for (size_t i = 0; i < c->rows_n; i++) draw_row(&p, &c->rows[i], 2 + (int)i * ROW);
    end(&p);
}

/* ---- the axis of the others ---- */

static int64_t height_of(const struct plot *p, int64_t v)
{
    return gp_plot_scaled(v, p->top, PLOT_HEIGHT * 100);
}

/* Height of value V in the plot, in pixels. */
static double level(const struct plot *p, int64_t v)
{
    return PLOT_TOP + PLOT_HEIGHT - (double)height_of(p, v) / 100;
}

static void begin_axis(struct plot *p, int64_t most)
{
    int64_t step = gp_plot_step(most > 0 ? most : 1);
    p->top = most > INT64_MAX - step ? INT64_MAX : (most / step + (most % step != 0)) * step;
    if (p->top <= 0) p->top = step;
    begin(p, PLOT_TOP + PLOT_HEIGHT + AXIS + (p->c->x_axis ? AXIS_WORDS : 0));
    for (int64_t v = 0;; v += step) {
        double y = level(p, v);
        gp_plot_line(p->w, v ? "rule" : "base", PLOT_LEFT, y, WIDTH, y);
        if (v) put_value(p, &p->text, v);
        else gp_buf_putc(&p->text, '0');
        gp_plot_text(p->w, "tick end", PLOT_LEFT - 8, floor(y) + 4, &p->text);
        if (v > p->top - step) break;
    }
    gp_svg_newline(p->w);
}

/* Left edge of column I, hundredths of a pixel. */
static int64_t column_x(const struct plot *p, size_t i)
{
    return PLOT_LEFT * 100 + (int64_t)i * (WIDTH - PLOT_LEFT) * 100 / (int64_t)p->c->rows_n;
}

static void end_axis(struct plot *p)
{
    const struct gp_chart *c = p->c;
    for (size_t i = 0; c->ticks && i < c->rows_n; i++) {
        if (!c->ticks[i]) continue;
        gp_buf_puts(&p->text, c->ticks[i]);
        int middle = (int)((column_x(p, i) + column_x(p, i + 1)) / 200);
        gp_plot_text(p->w, "tick mid", middle, PLOT_TOP + PLOT_HEIGHT + 15, &p->text);
    }
    if (c->x_axis) {
        gp_buf_puts(&p->text, c->x_axis);
        gp_plot_text(p->w, "tick mid", (PLOT_LEFT + WIDTH) / 2, PLOT_TOP + PLOT_HEIGHT + AXIS + 12, &p->text);
    }
    if (c->mark > 0 && c->mark <= p->top) {
        double y = level(p, c->mark);
        gp_plot_line(p->w, "mark", PLOT_LEFT, y, WIDTH, y);
        if (c->mark_text) {
            gp_buf_puts(&p->text, c->mark_text);
            gp_plot_text(p->w, "halo end", WIDTH - 2, floor(y) - 4, &p->text);
        }
    }
    end(p);
}

/* ---- columns ---- */

/* Free share of the width of a column on each side. */
static int64_t gap_of(int64_t width)
{
    if (width > WIDEST) return (width - WIDEST) / 2 + 400;
    return width > 3000 ? 400 : width > 400 ? width / 8 : 0;
}

static void open_column(struct plot *p, const struct gp_chart_row *row, int64_t x, int64_t width)
{
    gp_svg_open(p->w, "g");
    draw_tooltip(p, row);
    gp_plot_rect(p->w, "catch", (double)x / 100, PLOT_TOP, (double)width / 100, PLOT_HEIGHT, NULL);
}

static void close_column(struct plot *p) { gp_svg_close_line(p->w); }

/* The series of a row on each other, or beside each other if GROUPED. */
static void draw_columns(struct gp_svg *w, const struct gp_chart *c, bool grouped)
{
    struct plot p = {.w = w, .c = c};
    begin_axis(&p, grouped ? greatest_value(c) : greatest_sum(c));
    for (size_t i = 0; i < c->rows_n; i++) {
        int64_t x = column_x(&p, i), width = column_x(&p, i + 1) - x, gap = gap_of(width), before = 0;
        int64_t each = grouped ? (width - 2 * gap) / (int64_t)c->series_n : width - 2 * gap;
        open_column(&p, &c->rows[i], x, width);
        for (size_t j = 0; j < c->series_n; j++) {
            int64_t v = c->rows[i].values[j];
            if (v <= 0) continue;
            int64_t low = height_of(&p, before), high = height_of(&p, gp_add_saturated(before, v));
            if (grouped && high < 60) high = 60;
            draw_box(&p, &c->rows[i], j, x + gap + (grouped ? (int64_t)j * each : 0),
                     (PLOT_TOP + PLOT_HEIGHT) * 100 - high, each, high - low);
            if (!grouped) before = gp_add_saturated(before, v);
        }
        close_column(&p);
    }
    end_axis(&p);
}

void gp_chart_columns(struct gp_svg *w, const struct gp_chart *c) { draw_columns(w, c, false); }

void gp_chart_grouped(struct gp_svg *w, const struct gp_chart *c) { draw_columns(w, c, true); }

void gp_chart_dots(struct gp_svg *w, const struct gp_chart *c)
{
    struct plot p = {.w = w, .c = c};
    begin_axis(&p, greatest_value(c));
    for (size_t i = 0; i < c->rows_n; i++) {
        const int64_t *v = c->rows[i].values;
        int64_t x = column_x(&p, i), width = column_x(&p, i + 1) - x;
        open_column(&p, &c->rows[i], x, width);
        double middle = (double)(x + width / 2) / 100, y[3];
        for (int k = 0; k < 3; k++) y[k] = level(&p, v[k]);
        gp_plot_line(w, "whisker", middle, y[0], middle, y[2]);
        gp_plot_circle(w, "dot", middle, y[1], width > 1400 ? 4 : width > 500 ? 2.5 : 1.5, NULL);
        close_column(&p);
    }
    end_axis(&p);
}
