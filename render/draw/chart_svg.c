#include "render/draw/chart_svg.h"

#include <stdio.h>
#include <string.h>
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
    MAX_TICKS = 5,
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

int64_t gp_chart_scaled(int64_t v, int64_t whole, int64_t room)
{
    while (whole > INT64_MAX / 1000000) {
        whole /= 2;
        v /= 2;
    }
    return whole > 0 ? v * room / whole : 0;
}

static int64_t plus(int64_t a, int64_t b)
{
    return a > INT64_MAX - b ? INT64_MAX : a + b;
}

static int64_t sum_of(const struct gp_chart *c, const struct gp_chart_row *row)
{
    int64_t sum = 0;
    for (size_t i = 0; i < c->series_n; i++)
        if (row->values[i] > 0) sum = plus(sum, row->values[i]);
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
    struct gp_svg *w = p->w;
    gp_svg_newline(w);
    gp_svg_open(w, "svg");
    gp_svg_attr(w, "class", "chart");
    gp_buf_printf(w->out, " viewBox=\"0 0 %d %d\"", WIDTH, height);
    gp_svg_int(w, "width", WIDTH);
    gp_svg_int(w, "height", height);
    gp_svg_attr(w, "role", "img");
    gp_svg_attr(w, "aria-label", p->c->label);
}

static void end(struct plot *p)
{
    gp_svg_close(p->w);
    gp_buf_release(&p->text);
}

/* The scratch text at X, Y, in pixels, cut to ROOM pixels (0: as it is); empty after. */
static void draw_text(struct plot *p, const char *class, int64_t x, int64_t y, int room)
{
    struct gp_buf cut = {0};
    if (room) gp_text_fit_name(&cut, p->text.data, p->text.n, (size_t)room * 100 / ADVANCE);
    else gp_text_clean(&cut, p->text.data, p->text.n);
    gp_svg_open(p->w, "text");
    if (class) gp_svg_attr(p->w, "class", class);
    gp_svg_int(p->w, "x", x);
    gp_svg_int(p->w, "y", y);
    gp_svg_text(p->w, cut.data, cut.n);
    gp_svg_close(p->w);
    gp_buf_release(&cut);
    p->text.n = 0;
}

static void draw_rule(struct plot *p, const char *class, int64_t y)
{
    gp_svg_open(p->w, "line");
    gp_svg_attr(p->w, "class", class);
    gp_svg_int(p->w, "x1", PLOT_LEFT);
    gp_svg_int(p->w, "x2", WIDTH);
    gp_svg_px(p->w, "y1", y);
    gp_svg_px(p->w, "y2", y);
    gp_svg_close(p->w);
}

/* A box in hundredths of a pixel, in the colour of series I. */
static void draw_box(struct plot *p, const struct gp_chart_row *row, size_t i, int64_t x, int64_t y,
                     int64_t width, int64_t height)
{
    gp_buf_puts(&p->text, "k-");
    gp_buf_puts(&p->text, row->k ? row->k : p->c->series[i].k);
    gp_svg_open(p->w, "rect");
    gp_svg_attr_n(p->w, "class", p->text.data, p->text.n);
    gp_svg_box(p->w, x, y, width, height);
    gp_svg_close(p->w);
    p->text.n = 0;
}

static void draw_tooltip(struct plot *p, const struct gp_chart_row *row)
{
    const struct gp_chart *c = p->c;
    const char *name = row->full ? row->full : row->label;
    int64_t sum = sum_of(c, row);
    gp_svg_open(p->w, "title");
    gp_svg_text(p->w, name, strlen(name));
    for (size_t i = 0; i < c->series_n; i++) {
        gp_svg_newline(p->w);
        if (c->series[i].name) {
            gp_buf_puts(&p->text, c->series[i].name);
            gp_buf_puts(&p->text, ": ");
        }
        put_value(p, &p->text, row->values[i]);
        if (!c->whole && c->series_n > 1 && !c->mark_text) {
            gp_buf_puts(&p->text, " (");
            gp_scale_put_share(&p->text, row->values[i], sum);
            gp_buf_puts(&p->text, ")");
        }
        gp_svg_text(p->w, p->text.data, p->text.n);
        p->text.n = 0;
    }
    gp_svg_close(p->w);
}

/* ---- rows ---- */

static void draw_row(struct plot *p, const struct gp_chart_row *row, int y)
{
    int64_t room = (WIDTH - p->label - VALUE) * 100;
    int64_t whole = p->c->each ? sum_of(p->c, row) : p->top, before = 0;
    gp_svg_open(p->w, "g");
    draw_tooltip(p, row);
    gp_svg_open(p->w, "rect"); /* the whole row answers to the pointer */
    gp_svg_attr(p->w, "class", "catch");
    gp_svg_box(p->w, 0, y * 100, WIDTH * 100, ROW * 100);
    gp_svg_close(p->w);
    gp_buf_puts(&p->text, row->label);
    draw_text(p, "label", p->label - 10, y + (ROW - BAR) / 2 + TEXT_DY, p->label - 14);
    for (size_t i = 0; i < p->c->series_n; i++) {
        if (row->values[i] <= 0) continue;
        int64_t x = gp_chart_scaled(before, whole, room),
                width = gp_chart_scaled(plus(before, row->values[i]), whole, room) - x;
        before = plus(before, row->values[i]);
        if (width < 60) width = 60; /* what is there is seen */
        draw_box(p, row, i, p->label * 100 + x, (y + (ROW - BAR) / 2) * 100, width, BAR * 100);
    }
    if (row->text) {
        gp_buf_puts(&p->text, row->text);
        int64_t at = p->label + gp_chart_scaled(p->c->each ? whole : before, whole, room) / 100 + 8;
        draw_text(p, "value", at, y + (ROW - BAR) / 2 + TEXT_DY, 0);
    }
    gp_svg_close(p->w);
    gp_svg_newline(p->w);
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

int64_t gp_chart_tick_step(int64_t most)
{
    static const int mantissas[] = {1, 2, 5};
    for (int64_t power = 1; power < INT64_MAX / 100; power *= 10)
        for (int i = 0; i < 3; i++)
            if (most / (mantissas[i] * power) < MAX_TICKS) return mantissas[i] * power;
    return most;
}

static int64_t height_of(const struct plot *p, int64_t v)
{
    return gp_chart_scaled(v, p->top, PLOT_HEIGHT * 100);
}

static void begin_axis(struct plot *p, int64_t most)
{
    int64_t step = gp_chart_tick_step(most > 0 ? most : 1);
    p->top = most > INT64_MAX - step ? INT64_MAX : (most / step + (most % step != 0)) * step;
    if (p->top <= 0) p->top = step;
    begin(p, PLOT_TOP + PLOT_HEIGHT + AXIS + (p->c->x_axis ? AXIS_WORDS : 0));
    for (int64_t v = 0;; v += step) {
        int64_t y = (PLOT_TOP + PLOT_HEIGHT) * 100 - height_of(p, v);
        draw_rule(p, v ? "rule" : "base", y);
        if (v) put_value(p, &p->text, v);
        else gp_buf_putc(&p->text, '0');
        draw_text(p, "tick end", PLOT_LEFT - 8, y / 100 + 4, 0);
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
        int64_t middle = (column_x(p, i) + column_x(p, i + 1)) / 200;
        draw_text(p, "tick mid", middle, PLOT_TOP + PLOT_HEIGHT + 15, 0);
    }
    if (c->x_axis) {
        gp_buf_puts(&p->text, c->x_axis);
        draw_text(p, "tick mid", (PLOT_LEFT + WIDTH) / 2, PLOT_TOP + PLOT_HEIGHT + AXIS + 12, 0);
    }
    if (c->mark > 0 && c->mark <= p->top) {
        int64_t y = (PLOT_TOP + PLOT_HEIGHT) * 100 - height_of(p, c->mark);
        draw_rule(p, "mark", y);
        if (c->mark_text) {
            gp_buf_puts(&p->text, c->mark_text);
            draw_text(p, "halo end", WIDTH - 2, y / 100 - 4, 0);
        }
    }
    end(p);
}

/* ---- columns ---- */

/* How much of the width of a column stays free on each side. */
static int64_t gap_of(int64_t width)
{
    if (width > WIDEST) return (width - WIDEST) / 2 + 400;
    return width > 3000 ? 400 : width > 400 ? width / 8 : 0;
}

static void open_column(struct plot *p, const struct gp_chart_row *row, int64_t x, int64_t width)
{
    gp_svg_open(p->w, "g");
    draw_tooltip(p, row);
    gp_svg_open(p->w, "rect");
    gp_svg_attr(p->w, "class", "catch");
    gp_svg_box(p->w, x, PLOT_TOP * 100, width, PLOT_HEIGHT * 100);
    gp_svg_close(p->w);
}

static void close_column(struct plot *p)
{
    gp_svg_close(p->w);
    gp_svg_newline(p->w);
}

void gp_chart_columns(struct gp_svg *w, const struct gp_chart *c)
{
    struct plot p = {.w = w, .c = c};
    begin_axis(&p, greatest_sum(c));
    for (size_t i = 0; i < c->rows_n; i++) {
        int64_t x = column_x(&p, i), width = column_x(&p, i + 1) - x, gap = gap_of(width), before = 0;
        open_column(&p, &c->rows[i], x, width);
        for (size_t j = 0; j < c->series_n; j++) {
            int64_t v = c->rows[i].values[j];
            if (v <= 0) continue;
            int64_t low = height_of(&p, before), high = height_of(&p, plus(before, v));
            before = plus(before, v);
            draw_box(&p, &c->rows[i], j, x + gap, (PLOT_TOP + PLOT_HEIGHT) * 100 - high, width - 2 * gap,
                     high - low);
        }
        close_column(&p);
    }
    end_axis(&p);
}

void gp_chart_grouped(struct gp_svg *w, const struct gp_chart *c)
{
    struct plot p = {.w = w, .c = c};
    begin_axis(&p, greatest_value(c));
    for (size_t i = 0; i < c->rows_n; i++) {
        int64_t x = column_x(&p, i), width = column_x(&p, i + 1) - x, gap = gap_of(width);
        int64_t each = (width - 2 * gap) / (int64_t)c->series_n;
        open_column(&p, &c->rows[i], x, width);
        for (size_t j = 0; j < c->series_n; j++) {
            int64_t v = c->rows[i].values[j], high = height_of(&p, v);
            if (v > 0 && high < 60) high = 60;
            if (v > 0)
                draw_box(&p, &c->rows[i], j, x + gap + (int64_t)j * each,
                         (PLOT_TOP + PLOT_HEIGHT) * 100 - high, each, high);
        }
        close_column(&p);
    }
    end_axis(&p);
}

void gp_chart_dots(struct gp_svg *w, const struct gp_chart *c)
{
    struct plot p = {.w = w, .c = c};
    begin_axis(&p, greatest_value(c));
    for (size_t i = 0; i < c->rows_n; i++) {
        const int64_t *v = c->rows[i].values;
        int64_t x = column_x(&p, i), width = column_x(&p, i + 1) - x, base = (PLOT_TOP + PLOT_HEIGHT) * 100;
        int64_t radius = width > 1400 ? 400 : width > 500 ? 250 : 150;
        open_column(&p, &c->rows[i], x, width);
        gp_svg_open(w, "line");
        gp_svg_attr(w, "class", "whisker");
        gp_svg_px(w, "x1", x + width / 2);
        gp_svg_px(w, "x2", x + width / 2);
        gp_svg_px(w, "y1", base - height_of(&p, v[0]));
        gp_svg_px(w, "y2", base - height_of(&p, v[2]));
        gp_svg_close(w);
        gp_svg_open(w, "circle");
        gp_svg_attr(w, "class", "dot");
        gp_svg_px(w, "cx", x + width / 2);
        gp_svg_px(w, "cy", base - height_of(&p, v[1]));
        gp_svg_px(w, "r", radius);
        gp_svg_close(w);
        close_column(&p);
    }
    end_axis(&p);
}
