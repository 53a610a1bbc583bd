#include "render/hta/hta_priv.h"

#include <inttypes.h>
#include "analyze/hta/hta.h"
#include "analyze/result/keep.h"
#include "formats/base/buf.h"
#include "formats/base/str.h"
#include "render/draw/plot.h"
#include "render/page/page_html.h"

static const double level_pct[GP_HEAT_LEVELS] = {0, 2, 5, 10, 20, 50};

static int heat_level(const struct gp_fleet *f, const struct gp_fleet_column *c, uint32_t row)
{
    if (row >= f->rows || !c->cells[row]) return -1;
    int64_t middle = gp_sketch_median(&c->own), ns = gp_sketch_middle(c->cells[row] - 1u);
    if (ns <= gp_slow_limit(&c->own, middle, level_pct[1], 5)) return 0;
    int level = 1;
    while (level + 1 < GP_HEAT_LEVELS && (double)(ns - middle) >= (double)middle / 100 * level_pct[level + 1])
        level++;
    return level;
}

/* ---- JSON ---- */

#define AT(member) offsetof(struct gp_fleet_skip, member)
static const struct gp_field skip_fields[] = {
    {"operand", NULL, GP_CELL_NAME, gp_member_sid, AT(operand), .help = NULL},
    {"reason", NULL, GP_CELL_TEXT, gp_member_sid, AT(reason), .help = NULL},
};
#undef AT
static const struct gp_record skips = {"skipped", NULL, GP_FIELDS(skip_fields), sizeof(struct gp_fleet_skip),
                                       .note = "an operand that could not be read; at most 64"};

/* A metric of the members. */
struct metric {
    const char *name;
    const struct gp_sketch *spread;
    const struct gp_topk *worst;
};

GP_GET(get_total, struct metric, c->i = r->spread->sum)
GP_GET(get_median, struct metric, c->i = gp_sketch_median(r->spread))
GP_GET(get_deviation, struct metric, c->i = gp_sketch_deviation(r->spread, gp_sketch_median(r->spread)))
GP_GET(get_worst, struct metric, gp_cell_list(c, r->worst->at, r->worst->n))

#define AT(member) offsetof(struct gp_topk_entry, member)
static const struct gp_field worst_fields[] = {
    {"rank", NULL, GP_CELL_ID, gp_member_rank, AT(key.rank), .flags = GP_FIELD_NULL},
    {"step_ns", NULL, GP_CELL_NS, gp_member_i64, AT(value), .flags = GP_FIELD_SIGNED},
};
#undef AT
static const struct gp_record worst = {"worst", NULL, GP_FIELDS(worst_fields), sizeof(struct gp_topk_entry),
                                       .note = "the longest"};

static const char *const metric_names[] = {GP_FLEET_METRICS(GP_WORD_1) NULL};
static const struct gp_field metric_fields[] = {
    {"name", NULL, GP_CELL_TEXT, gp_member_text, offsetof(struct metric, name), .words = metric_names},
    {"total_ns", NULL, GP_CELL_NS, get_total, 0, .flags = GP_FIELD_SIGNED},
    {"median_ns", NULL, GP_CELL_NS, get_median, 0, .help = "within 0.4%", .flags = GP_FIELD_SIGNED},
    {"deviation_ns", NULL, GP_CELL_NS, get_deviation, 0,
     .help = "median distance from the median, times 1.4826", .flags = GP_FIELD_SIGNED},
    {"worst", NULL, GP_CELL_ROWS, get_worst, 0, .rows = &worst},
};
static const struct gp_record metrics = {
    "metrics", NULL, GP_FIELDS(metric_fields), sizeof(struct metric),
    .note = "times per step over all members: own is the step without what a rank only communicated"};

/* The map; its rows are those of x->of, a struct gp_fleet. */

GP_GETTER(get_shift) { c->i = INT64_C(1) << *(const unsigned *)gp_member_at(row, f); }

GP_GETTER_OF(get_first_step, struct gp_fleet_column, column)
{
    const struct gp_fleet *fleet = x->of;
    c->i = column->index << fleet->column_shift;
}

GP_GET(get_count, struct gp_fleet_column, c->i = (int64_t)r->own.n)
GP_GET(get_column_median, struct gp_fleet_column, c->i = gp_sketch_median(&r->own))
GP_GET_IF(get_worst_rank, struct gp_fleet_column, r->worst.n && r->worst.at[0].key.rank >= 0,
          c->i = r->worst.at[0].key.rank)
GP_GET(get_worst_ns, struct gp_fleet_column, c->i = r->worst.n ? r->worst.at[0].value : 0)

static const struct gp_field column_fields[] = {
    {"first_step", NULL, GP_CELL_ID, get_first_step, 0, .flags = GP_FIELD_SIGNED},
    {"count", NULL, GP_CELL_COUNT, get_count, 0, .help = "steps of all ranks"},
    {"median_ns", NULL, GP_CELL_NS, get_column_median, 0, .flags = GP_FIELD_SIGNED},
    {"worst_rank", NULL, GP_CELL_ID, get_worst_rank, 0, .flags = GP_FIELD_NULL},
    {"worst_ns", NULL, GP_CELL_NS, get_worst_ns, 0, .flags = GP_FIELD_SIGNED},
};
static const struct gp_record columns = {"columns", NULL, GP_FIELDS(column_fields),
                                         sizeof(struct gp_fleet_column), .note = "a step, or some"};

GP_GET(get_columns, struct gp_fleet, if (!x->untimed) gp_cell_list(c, r->columns.at, r->columns.n))

/* A string per block of ranks, with a character per column. */
GP_GETTER_OF(get_rows, struct gp_fleet, fleet)
{
    uint32_t n = x->untimed ? 0 : fleet->rows;
    const char **rows = gp_arena_zalloc(x->mem, (n + 1) * sizeof *rows);
    for (uint32_t r = 0; r < n; r++) {
        char cells[GP_FLEET_COLUMNS + 1] = "";
        size_t i = 0;
        for (; i < fleet->columns.n && i < GP_FLEET_COLUMNS; i++) {
            int level = heat_level(fleet, &fleet->columns.at[i], r);
            cells[i] = level < 0 ? '.' : (char)('0' + level);
        }
        rows[r] = gp_arena_strndup(x->mem, cells, i);
    }
    gp_cell_list(c, rows, n);
}

static const struct gp_field row_fields[] = {{"row", NULL, GP_CELL_TEXT, gp_member_text, 0, .help = NULL}};
static const struct gp_record map_rows = {"rows", NULL, GP_FIELDS(row_fields), sizeof(const char *),
                                          .note = NULL};

#define AT(member) offsetof(struct gp_fleet, member)
static const struct gp_field map_fields[] = {
    {"ranks_per_row", NULL, GP_CELL_COUNT, get_shift, AT(row_shift), .help = NULL},
    {"steps_per_column", NULL, GP_CELL_COUNT, get_shift, AT(column_shift), .help = NULL},
    {"columns", NULL, GP_CELL_ROWS, get_columns, 0, .rows = &columns},
    {"rows", NULL, GP_CELL_LIST, get_rows, 0,
     .help = "a character per column: the longest own time is longer than the median by 2, 5, 10, 20, 50% "
             "(1 to 5), by less (0), or not recorded (.)",
     .rows = &map_rows},
};
#undef AT
static const struct gp_record map_row = {"map", NULL, GP_FIELDS(map_fields), sizeof(struct gp_fleet),
                                         .note = "ranks by steps"};

/* All of it is in struct gp_hta. */
GP_GET(get_inputs, struct gp_hta, c->i = (int64_t)(r->bound.listed + r->bound.inputs))

GP_GETTER_OF(get_path_bound, struct gp_hta, h)
{
    int64_t *sums = gp_arena_zalloc(x->mem, sizeof h->bound.path_bound_ns);
    gp_record_merge(&gp_hta_path_times, sums, h->bound.path_bound_ns);
    for (size_t i = 0; i < h->paths.n; i++)
        gp_record_merge(&gp_hta_path_times, sums, h->paths.at[i].bound_ns);
    c->at = sums;
}

GP_GETTER(get_metrics)
{
    const struct gp_fleet *fleet = x->of;
    struct metric *all = gp_arena_zalloc(x->mem, GP_FLEET_METRIC_COUNT * sizeof *all);
    for (int i = 0; i < GP_FLEET_METRIC_COUNT; i++)
        all[i] = (struct metric){metric_names[i], &fleet->spread[i], &fleet->worst[i]};
    gp_cell_list(c, all, x->untimed ? 0 : GP_FLEET_METRIC_COUNT);
}

#define AT(member) offsetof(struct gp_hta, member)
static const struct gp_field fields[] = {
    {"members", NULL, GP_CELL_COUNT, gp_member_u64, AT(fleet.members), .help = "devices of ranks"},
    {"shown", NULL, GP_CELL_COUNT, gp_member_rows_count, AT(fleet.kept),
     .help = "members whose figures are kept; all up to 32"},
    {"inputs", NULL, GP_CELL_COUNT, get_inputs, 0,
     .help = "that were read; .inputs lists some of more than 32 ranks"},
    {"ranks_are_devices", NULL, GP_CELL_BOOL, gp_member_bool, AT(fleet.by_device),
     .help = "no ranks are recorded: they are device numbers"},
    {"devices_not_shown", NULL, GP_CELL_COUNT, gp_member_u64, AT(bound.devices), .help = NULL},
    {"paths_not_shown", NULL, GP_CELL_COUNT, gp_member_u64, AT(bound.paths), .help = NULL},
    {"path_bound", NULL, GP_CELL_ROW, get_path_bound, 0, .help = "of the critical paths of all ranks",
     .rows = &gp_hta_path_times},
    {"skipped_inputs", NULL, GP_CELL_COUNT, gp_member_u64, AT(fleet.skipped), .help = NULL},
    {"skipped", NULL, GP_CELL_ROWS, gp_member_rows, AT(fleet.skips), .rows = &skips},
    {"slow", NULL, GP_CELL_ROWS, gp_member_rows, AT(slow.at), .rows = &gp_slow_rows},
    {"in_turn", NULL, GP_CELL_ROW, gp_member_row, AT(slow), .rows = &gp_slow_in_turn},
    {"metrics", NULL, GP_CELL_ROWS, get_metrics, 0, .rows = &metrics},
    {"map", NULL, GP_CELL_ROW, gp_member_row, AT(fleet), .rows = &map_row},
};
#undef AT
const struct gp_record gp_hta_fleet_row = {"fleet", NULL, GP_FIELDS(fields), sizeof(struct gp_hta),
                                           .note = "many ranks together. A member is a device of a rank"};

static struct gp_row_of fleet_of(const struct gp_hta *h)
{
    return (struct gp_row_of){.of = &h->fleet, .strings = &h->fleet.strings, .untimed = h->untimed};
}

void gp_hta_json_fleet(struct gp_doc *d, const struct gp_hta *h)
{
    struct gp_arena mem = {0};
    struct gp_row_of of = fleet_of(h);
    of.mem = &mem;
    if (h->fleet.members < 2 && !h->fleet.skipped) {
        gp_doc_null(d, "fleet");
        return;
    }
    gp_doc_object(d, "fleet");
    gp_record_members(d, &gp_hta_fleet_row, h, &of);
    gp_doc_end(d, '}');
    gp_arena_release(&mem);
}

/* ---- the table ---- */

void gp_hta_table_slow(struct gp_hta_tables *m)
{
    struct gp_row_of of = fleet_of(m->h);
    gp_record_table(m->r, &gp_slow_rows, m->h->slow.at.at, m->h->slow.at.n, m->top, &of);
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

/* One path for all cells of a level: runs of neighbouring steps are one box. Rows of less than two pixels are
 * drawn two pixels high, so that a single rank of ten thousand can be seen. */
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
            for (end = i; end < f->columns.n && heat_level(f, &f->columns.at[end], r) == level;) end++;
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
    GP_EACH(const struct gp_slow, s, h->slow.at) {
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
    gp_page_put(m->w, "strong", NULL, what);
    gp_buf_puts(&m->text, " without time that a rank only communicates; darker cells exceed the median of "
                          "their step by more (2, 5, 10, 20, 50%)");
    if (f->row_shift) gp_buf_printf(&m->text, "; a row is the worst of %u ranks", 1u << f->row_shift);
    if (f->column_shift)
        gp_buf_printf(&m->text, "; a column is the worst of %u steps", 1u << f->column_shift);
    gp_page_take(m->w, &m->text, "span", NULL);
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
    gp_svg_close_line(w);
    gp_buf_release(&m.text);
}
