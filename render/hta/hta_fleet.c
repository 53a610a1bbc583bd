#include "render/hta/hta_fleet.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "formats/base/scale.h"
#include "formats/base/str.h"
#include "render/draw/plot.h"
#include "render/hta/hta_tables_priv.h"
#include "render/page/page_html.h"

static const double level_pct[GP_HEAT_LEVELS] = {0, 2, 5, 10, 20, 50};

int gp_hta_heat_level(const struct gp_fleet *f, const struct gp_fleet_column *c, uint32_t row)
{
    if (row >= f->rows || !c->cells[row]) return -1;
    int64_t middle = gp_spread_median(&c->own), ns = gp_spread_middle(c->cells[row] - 1u);
    if (ns <= gp_slow_limit(&c->own, middle, level_pct[1], 5)) return 0;
    int level = 1;
    while (level + 1 < GP_HEAT_LEVELS && (double)(ns - middle) >= (double)middle / 100 * level_pct[level + 1])
        level++;
    return level;
}

/* ---- JSON ---- */

static void put_slow(struct gp_doc *d, const struct gp_fleet *f, const struct gp_slow *s)
{
    struct gp_buf text = {0};
    gp_doc_element(d);
    gp_doc_cstr(d, "what", gp_slow_what_name(s->what));
    gp_doc_known(d, "rank", s->key.rank);
    gp_doc_known(d, "device", s->device);
    gp_doc_u64(d, "ranks", s->ranks);
    gp_doc_cstr(d, "cause", gp_slow_cause_name(s->cause));
    gp_doc_i64(d, "step_ns", s->ns);
    gp_doc_i64(d, "median_ns", s->median_ns);
    gp_doc_i64(d, "cause_ns", s->cause_ns);
    gp_doc_i64(d, "host_ns", s->host_ns);
    gp_doc_name(d, "kernel", s->kernel);
    gp_doc_known(d, "kernel_ns", s->kernel ? s->kernel_ns : -1);
    gp_doc_known(d, "kernel_median_ns", s->kernel ? s->kernel_median_ns : -1);
    gp_doc_bool(d, "more_calls", s->more_calls);
    gp_doc_cstr(d, "pattern", gp_slow_pattern_name(s->pattern));
    gp_doc_u64(d, "slow_steps", s->slow_columns);
    gp_doc_u64(d, "compared_steps", s->columns);
    gp_slow_put(&text, f, s);
    gp_doc_cstr(d, "text", gp_buf_str(&text));
    gp_doc_end(d, '}');
    gp_buf_release(&text);
}

static void put_metrics(struct gp_doc *d, const struct gp_fleet *f, bool timed)
{
    gp_doc_list(d, "metrics");
    for (int m = 0; timed && m < GP_FLEET_METRIC_COUNT; m++) {
        const struct gp_spread *s = &f->spread[m];
        int64_t middle = gp_spread_median(s);
        gp_doc_element(d);
        gp_doc_cstr(d, "name", gp_fleet_metric_name((enum gp_fleet_metric)m));
        gp_doc_i64(d, "total_ns", s->sum);
        gp_doc_i64(d, "median_ns", middle);
        gp_doc_i64(d, "deviation_ns", gp_spread_deviation(s, middle));
        gp_doc_list(d, "worst");
        for (uint32_t i = 0; i < f->worst[m].n; i++) {
            gp_doc_element(d);
            gp_doc_known(d, "rank", f->worst[m].at[i].key.rank);
            gp_doc_i64(d, "step_ns", f->worst[m].at[i].value);
            gp_doc_end(d, '}');
        }
        gp_doc_end(d, ']');
        gp_doc_end(d, '}');
    }
    gp_doc_end(d, ']');
}

/* A string per block of ranks, with a character per column: "." nothing recorded, otherwise the level. */
static void put_map(struct gp_doc *d, const struct gp_fleet *f, bool timed)
{
    gp_doc_object(d, "map");
    gp_doc_u64(d, "ranks_per_row", UINT64_C(1) << f->row_shift);
    gp_doc_u64(d, "steps_per_column", UINT64_C(1) << f->column_shift);
    gp_doc_list(d, "columns");
    for (size_t i = 0; timed && i < f->columns.n; i++) {
        const struct gp_fleet_column *c = &f->columns.at[i];
        gp_doc_element(d);
        gp_doc_i64(d, "first_step", c->index << f->column_shift);
        gp_doc_u64(d, "count", c->own.n);
        gp_doc_i64(d, "median_ns", gp_spread_median(&c->own));
        gp_doc_known(d, "worst_rank", c->worst.n ? c->worst.at[0].key.rank : -1);
        gp_doc_i64(d, "worst_ns", c->worst.n ? c->worst.at[0].value : 0);
        gp_doc_end(d, '}');
    }
    gp_doc_end(d, ']');
    gp_doc_list(d, "rows");
    for (uint32_t r = 0; timed && r < f->rows; r++) {
        char cells[GP_FLEET_COLUMNS + 1] = "";
        for (size_t i = 0; i < f->columns.n && i < GP_FLEET_COLUMNS; i++) {
            int level = gp_hta_heat_level(f, &f->columns.at[i], r);
            cells[i] = level < 0 ? '.' : (char)('0' + level);
        }
        gp_doc_next(d);
        gp_buf_printf(d->b, "\"%s\"", cells);
    }
    gp_doc_end(d, ']');
    gp_doc_end(d, '}');
}

static void put_in_turn(struct gp_doc *d, const struct gp_slow_list *list)
{
    gp_doc_object(d, "in_turn");
    gp_doc_bool(d, "found", list->in_turn);
    gp_doc_u64(d, "steps", list->columns);
    gp_doc_u64(d, "late_steps", list->late);
    gp_doc_u64(d, "ranks", list->ranks);
    gp_doc_end(d, '}');
}

static void put_skipped(struct gp_doc *d, const struct gp_fleet *f)
{
    gp_doc_u64(d, "skipped_inputs", f->skipped);
    gp_doc_list(d, "skipped");
    for (size_t i = 0; i < f->skips.n; i++) {
        gp_doc_element(d);
        gp_doc_sid(d, "operand", f->skips.at[i].operand);
        gp_doc_sid(d, "reason", f->skips.at[i].reason);
        gp_doc_end(d, '}');
    }
    gp_doc_end(d, ']');
}

/* What is shown, and what there is. */
static void put_kept(struct gp_doc *d, const struct gp_hta *h)
{
    gp_doc_u64(d, "members", h->fleet.members);
    gp_doc_u64(d, "shown", h->fleet.kept.n);
    gp_doc_u64(d, "inputs", h->bound.listed + h->bound.inputs);
    gp_doc_bool(d, "ranks_are_devices", h->fleet.by_device);
    gp_doc_u64(d, "devices_not_shown", h->bound.devices);
    gp_doc_u64(d, "paths_not_shown", h->bound.paths);
    gp_doc_object(d, "path_bound");
    for (int b = 0; b < GP_PATH_BOUND_COUNT; b++) {
        int64_t ns = h->untimed ? -1 : h->bound.path_bound_ns[b];
        char key[48];
        for (size_t i = 0; i < h->paths.n; i++) ns = gp_add_saturated(ns, h->paths.at[i].bound_ns[b]);
        snprintf(key, sizeof key, "%s_ns", gp_path_bound_name((enum gp_path_bound)b));
        gp_doc_known(d, key, ns);
    }
    gp_doc_end(d, '}');
}

void gp_hta_json_fleet(struct gp_doc *d, const struct gp_hta *h)
{
    const struct gp_fleet *f = &h->fleet;
    const struct gp_strings *strings = d->strings;
    if (f->members < 2 && !f->skipped) {
        gp_doc_null(d, "fleet");
        return;
    }
    d->strings = &f->strings;
    gp_doc_object(d, "fleet");
    put_kept(d, h);
    put_skipped(d, f);
    gp_doc_list(d, "slow");
    for (size_t i = 0; i < h->slow.at.n; i++) put_slow(d, f, &h->slow.at.at[i]);
    gp_doc_end(d, ']');
    put_in_turn(d, &h->slow);
    put_metrics(d, f, !h->untimed);
    put_map(d, f, !h->untimed);
    gp_doc_end(d, '}');
    d->strings = strings;
}

/* ---- the table ---- */

void gp_hta_table_slow(struct gp_hta_tables *m)
{
    const struct gp_hta *h = m->h;
    if (!h->slow.at.n) return;
    struct gp_report_table *t = gp_report_add(m->r, "slow", "Who holds up the others");
    COLUMN(t, "what", "What", GP_CELL_TEXT, 0, NULL);
    COLUMN(t, "rank", "Rank", GP_CELL_ID, 0, "for a node, its first rank");
    COLUMN(t, "ranks", "Ranks", GP_CELL_COUNT, GP_COLUMN_WIDE, NULL);
    COLUMN(t, "cause", "Cause", GP_CELL_TEXT, 0, NULL);
    COLUMN(t, "step_ns", "Per step", GP_CELL_NS, 0, "own time, or the kernel's");
    COLUMN(t, "median_ns", "Median rank", GP_CELL_NS, 0, NULL);
    COLUMN(t, "more_pct", "Longer", GP_CELL_PCT, 0, NULL);
    COLUMN(t, "pattern", "When", GP_CELL_TEXT, GP_COLUMN_SPARE, "of the steps that were compared");
    COLUMN(t, "kernel", "Kernel", GP_CELL_NAME, GP_COLUMN_BELOW, NULL);
    size_t n = gp_hta_rows_shown(m, h->slow.at.n);
    for (size_t i = 0; i < n; i++) {
        const struct gp_slow *s = &h->slow.at.at[i];
        const char *kernel = gp_string(&h->fleet.strings, s->kernel);
        gp_report_put_text(m->r, t, gp_slow_what_name(s->what));
        gp_hta_put_rank(t, s->key.rank);
        gp_report_put(t, s->ranks);
        gp_hta_put_word(m, t, gp_slow_cause_name(s->cause));
        gp_report_put(t, s->ns);
        gp_report_put(t, s->median_ns);
        gp_hta_put_part(t, (double)(s->ns - s->median_ns), s->median_ns);
        gp_report_put_text(m->r, t, gp_slow_pattern_name(s->pattern));
        if (s->kernel) gp_report_put_name(m->r, t, kernel, strlen(kernel), NULL, 0);
        else gp_report_put_none(t);
    }
    gp_record_more(m->r, t, h->slow.at.n - n, 0);
}

/* ---- the map ---- */

enum {
    LEFT = 62,
    TOP = 12,
    WIDTH = 640,
    RIGHT = 76,
    LEAST_HEIGHT = 120,
    MOST_HEIGHT = 420,
    BELOW = 40,
    LABEL = 12
};

struct map {
    struct gp_svg *w;
    const struct gp_fleet *f;
    int height; /* of the cells */
    struct gp_buf text;
};

static int64_t column_x(const struct map *m, size_t column)
{
    return LEFT * 100 + (int64_t)column * (WIDTH - LEFT - RIGHT) * 100 / (int64_t)m->f->columns.n;
}

static int64_t row_y(const struct map *m, uint32_t row)
{
    return TOP * 100 + (int64_t)row * m->height * 100 / m->f->rows;
}

/* A coordinate in hundredths of a pixel. */
static void put_px(struct gp_buf *b, int64_t centi)
{
    gp_buf_printf(b, centi % 100 ? "%" PRId64 ".%02" PRId64 : "%" PRId64, centi / 100, centi % 100);
}

/* One path for all cells of a level: runs of neighbouring steps are one box. Rows of less than two pixels are drawn two
 * pixels high, so that a single rank of ten thousand can be seen. */
static void put_level(struct map *m, int level)
{
    static const char *const fills[GP_HEAT_LEVELS] = {
        "light-dark(#e4e8ec,#2b3138)", "light-dark(#fbe3b6,#5c4a22)", "light-dark(#f6c667,#8a6a1d)",
        "light-dark(#ee9a3a,#bf7f1e)", "light-dark(#d9601a,#e5792a)", "light-dark(#9e2a0b,#ff9d7a)"};
    const struct gp_fleet *f = m->f;
    for (uint32_t r = 0; r < f->rows; r++) {
        int64_t y = row_y(m, r), high = row_y(m, r + 1) - y;
        if (level && high < 200) high = 200;
        for (size_t i = 0, end; i < f->columns.n; i = end) {
            for (end = i; end < f->columns.n && gp_hta_heat_level(f, &f->columns.at[end], r) == level;) end++;
            if (end == i) {
                end++;
                continue;
            }
            gp_buf_putc(&m->text, 'M');
            put_px(&m->text, column_x(m, i));
            gp_buf_putc(&m->text, ' ');
            put_px(&m->text, y);
            gp_buf_putc(&m->text, 'H');
            put_px(&m->text, column_x(m, end));
            gp_buf_putc(&m->text, 'v');
            put_px(&m->text, high);
            gp_buf_putc(&m->text, 'H');
            put_px(&m->text, column_x(m, i));
            gp_buf_putc(&m->text, 'z');
        }
    }
    if (!m->text.n) return;
    gp_svg_open(m->w, "path");
    gp_svg_attr_n(m->w, "d", m->text.data, m->text.n);
    m->text.n = 0;
    gp_buf_printf(&m->text, "fill:%s", fills[level]);
    gp_svg_attr_n(m->w, "style", m->text.data, m->text.n);
    gp_svg_close(m->w);
    m->text.n = 0;
}

/* Ranks that are slow, beside their rows; those that would overlap are left out. */
static void put_slow_labels(struct map *m, const struct gp_hta *h)
{
    bool used[MOST_HEIGHT / LABEL + 1] = {false};
    for (size_t i = 0; i < h->slow.at.n; i++) {
        const struct gp_slow *s = &h->slow.at.at[i];
        if (s->key.rank < 0) continue;
        uint32_t row = (uint32_t)s->key.rank >> m->f->row_shift;
        if (row >= m->f->rows) continue;
        int64_t y = (row_y(m, row) + row_y(m, row + 1)) / 200 - TOP;
        if (used[y / LABEL]) continue;
        used[y / LABEL] = true;
        gp_buf_printf(&m->text, "\xE2\x97\x82 %" PRId32, s->key.rank);
        gp_plot_text(m->w, NULL, WIDTH - RIGHT + 4, (double)(TOP + y + 4), &m->text);
    }
}

static void put_axes(struct map *m)
{
    const struct gp_fleet *f = m->f;
    enum { TICKS = 4 };
    for (uint32_t i = 0; i <= TICKS; i++) {
        uint32_t row = i == TICKS ? f->rows - 1 : f->rows * i / TICKS;
        if (i && row == (i - 1) * f->rows / TICKS) continue;
        gp_buf_printf(&m->text, "%" PRIu64,
                      i == TICKS ? (uint64_t)f->last_rank : (uint64_t)row << f->row_shift);
        double y = (double)((row_y(m, row) + row_y(m, row + 1)) / 200);
        gp_plot_text(m->w, "tick end", LEFT - 6, y + 4, &m->text);
    }
    size_t last = f->columns.n - 1;
    for (size_t i = 0; i <= TICKS; i++) {
        size_t column = last * i / TICKS;
        if (i && column == last * (i - 1) / TICKS) continue;
        gp_buf_printf(&m->text, "%" PRId64, f->columns.at[column].index << f->column_shift);
        double x = (double)((column_x(m, column) + column_x(m, column + 1)) / 200);
        gp_plot_text(m->w, "tick mid", x, TOP + m->height + 16, &m->text);
    }
    gp_buf_puts(&m->text, "step");
    gp_plot_text(m->w, "tick mid", (LEFT + WIDTH - RIGHT) / 2, TOP + m->height + 34, &m->text);
}

static void put_caption(struct map *m)
{
    const struct gp_fleet *f = m->f;
    const char *what = "Own time of ranks by steps";
    gp_page_open(m->w, "figcaption", NULL);
    gp_page_element(m->w, "strong", NULL, what, strlen(what));
    gp_buf_puts(&m->text, " without time that a rank only communicates; darker cells exceed the median of "
                          "their step by more (2, 5, 10, 20, 50%)");
    if (f->row_shift) gp_buf_printf(&m->text, "; a row is the worst of %u ranks", 1u << f->row_shift);
    if (f->column_shift)
        gp_buf_printf(&m->text, "; a column is the worst of %u steps", 1u << f->column_shift);
    gp_page_element(m->w, "span", NULL, m->text.data, m->text.n);
    m->text.n = 0;
    gp_svg_close(m->w);
}

void gp_hta_chart_ranks(struct gp_svg *w, const struct gp_hta *h)
{
    const struct gp_fleet *f = &h->fleet;
    if (!f->columns.n || f->rows < 2) return;
    struct map m = {.w = w, .f = f, .height = (int)f->rows * 16};
    if (m.height < LEAST_HEIGHT) m.height = LEAST_HEIGHT;
    if (m.height > MOST_HEIGHT) m.height = MOST_HEIGHT;
    gp_page_open(w, "figure", NULL);
    put_caption(&m);
    gp_svg_newline(w);
    gp_plot_begin(w, "chart", WIDTH, TOP + m.height + BELOW,
                  "Map of ranks by steps: how much longer than the median each rank worked");
    for (int level = 0; level < GP_HEAT_LEVELS; level++) put_level(&m, level);
    put_axes(&m);
    put_slow_labels(&m, h);
    gp_svg_close(w);
    gp_svg_close(w);
    gp_svg_newline(w);
    gp_buf_release(&m.text);
}
