#include "render/memory/memory_curve.h"

#include <string.h>
#include "formats/base/buf.h"
#include "formats/base/scale.h"
#include "render/draw/plot.h"
#include "render/draw/text.h"
#include "render/memory/memory_report.h"

enum {
    WIDTH = 1160,
    LEFT = 78,
    RIGHT = 1150,
    TOP = 22,
    HEIGHT = 230,
    AXIS = 24,
    LANE = 18,
    MOST_LANES = 3,
    MOST_BOXES = 300,
    CHARACTER = 7,
    LEAST_TEXT = 40,
};

const uint8_t gp_memory_stacking[GP_CATEGORY_COUNT] = {
    GP_CAT_PARAMETER, GP_CAT_OPTIMIZER,  GP_CAT_INPUT,    GP_CAT_UNKNOWN,   GP_CAT_MIXED,
    GP_CAT_GRADIENT,  GP_CAT_ACTIVATION, GP_CAT_AUTOGRAD, GP_CAT_TEMPORARY,
};

const char *gp_memory_category_color(enum gp_category c)
{
    static const char *const colors[GP_CATEGORY_COUNT] = {
        [GP_CAT_UNKNOWN] = "api",          [GP_CAT_PARAMETER] = "gemm",   [GP_CAT_OPTIMIZER] = "attention",
        [GP_CAT_INPUT] = "reduction",      [GP_CAT_TEMPORARY] = "memset", [GP_CAT_ACTIVATION] = "memcpy",
        [GP_CAT_GRADIENT] = "elementwise", [GP_CAT_AUTOGRAD] = "compute", [GP_CAT_MIXED] = "op",
    };
    return colors[c];
}

struct curve {
    struct gp_svg *w;
    const struct gp_memory *m;
    const struct gp_memory_device *d;
    const struct gp_memory_moments *at;
    int64_t span_ns, most;  /* the ends of the axes */
    GP_VEC(uint32_t) shown; /* points of the curve, two per pixel at most */
    struct gp_buf text;
};

/* In hundredths of a pixel. */
static int64_t at_time(const struct curve *c, int64_t time_ns)
{
    int64_t t = time_ns < 0 ? 0 : time_ns > c->span_ns ? c->span_ns : time_ns;
    return LEFT * 100 + gp_plot_scaled(t, c->span_ns, (RIGHT - LEFT) * 100);
}

static int64_t at_bytes(const struct curve *c, int64_t bytes)
{
    return (TOP + HEIGHT) * 100 - gp_plot_scaled(bytes < 0 ? 0 : bytes, c->most, HEIGHT * 100);
}

/* Two points of each pixel: the highest, and the last, which holds until the next. */
static void choose_shown(struct curve *c)
{
    int64_t column = -1;
    size_t begin = 0;
    for (size_t i = 0; i < c->at->curve.n; i++) {
        int64_t x = at_time(c, c->at->curve.at[i].time_ns) / 100;
        if (x != column) begin = c->shown.n;
        column = x;
        if (c->shown.n - begin < 2) {
            GP_VEC_PUSH(&c->shown, (uint32_t)i);
            continue;
        }
        uint32_t *high = &c->shown.at[begin], *last = high + 1;
        if (c->at->curve.at[*last].allocated > c->at->curve.at[*high].allocated) *high = *last;
        *last = (uint32_t)i;
    }
}

static void put_number(struct curve *c, char letter, int64_t centi)
{
    gp_buf_printf(&c->text, "%c%lld", letter, (long long)(centi / 100));
    if (centi % 100 >= 10) gp_buf_printf(&c->text, ".%lld", (long long)(centi % 100 / 10));
}

/* The area below VALUE(point), as stairs: memory does not change between the points. */
static void put_area(struct curve *c, const char *class, const int64_t *values)
{
    c->text.n = 0;
    put_number(c, 'M', LEFT * 100);
    put_number(c, ' ', (TOP + HEIGHT) * 100);
    int64_t before = -1;
    for (size_t i = 0; i < c->shown.n; i++) {
        int64_t y = at_bytes(c, values[i]);
        if (y == before) continue;
        put_number(c, 'H', at_time(c, c->at->curve.at[c->shown.at[i]].time_ns));
        put_number(c, 'V', y);
        before = y;
    }
    put_number(c, 'H', RIGHT * 100);
    put_number(c, 'V', (TOP + HEIGHT) * 100);
    gp_buf_putc(&c->text, 'Z');
    gp_plot_path(c->w, class, &c->text);
}

/* From the highest sum down, so that each area covers what lies above it. */
static void put_areas(struct curve *c)
{
    size_t n = c->shown.n;
    int64_t *sums = gp_zalloc((n + 1) * sizeof *sums);
    for (size_t i = 0; i < n; i++) sums[i] = c->at->curve.at[c->shown.at[i]].reserved;
    put_area(c, "k-idle", sums);
    for (size_t i = 0; i < n; i++) sums[i] = c->at->curve.at[c->shown.at[i]].allocated;
    for (int k = GP_CATEGORY_COUNT; k-- > 0;) {
        enum gp_category category = (enum gp_category)gp_memory_stacking[k];
        bool any = false;
        for (size_t i = 0; i < n && !any; i++)
            any = gp_memory_moments_category(c->at, category, c->shown.at[i]) > 0;
        if (!any) continue;
        char class[40] = "k-";
        strncat(class, gp_memory_category_color(category), sizeof class - 3);
        put_area(c, class, sums);
        for (size_t i = 0; i < n; i++) sums[i] -= gp_memory_moments_category(c->at, category, c->shown.at[i]);
    }
    free(sums);
}

static void put_axes(struct curve *c)
{
    struct gp_frame f = {
        .x = {.to = (double)c->span_ns, .at = LEFT, .end = RIGHT},
        .y = {.to = (double)c->most, .at = TOP + HEIGHT, .end = TOP},
    };
    int64_t step = gp_plot_step(c->most);
    for (int64_t v = 0; v <= c->most && v >= 0; v += step) {
        gp_scale_put(&c->text, GP_UNIT_BYTES, v);
        gp_frame_tick_y(c->w, &f, (double)v, 8, &c->text);
        if (v > INT64_MAX - step) break;
    }
    step = gp_plot_step(c->span_ns);
    f.y.at += 4; /* beyond the areas, which cover the lines */
    for (int64_t v = 0; v <= c->span_ns && v >= 0; v += step) {
        gp_scale_put(&c->text, GP_UNIT_NS, v);
        gp_frame_tick_x(c->w, &f, (double)v, 13, &c->text);
        if (v > INT64_MAX - step) break;
    }
}

static void put_mark(struct curve *c, int64_t time_ns, const char *words, int64_t bytes)
{
    double x = (double)at_time(c, time_ns) / 100;
    bool right = x > (LEFT + RIGHT) / 2;
    gp_plot_line(c->w, "mark", x, TOP, x, TOP + HEIGHT);
    gp_buf_printf(&c->text, "%s ", words);
    gp_scale_put(&c->text, GP_UNIT_BYTES, bytes);
    gp_plot_text(c->w, right ? "halo end" : "halo", right ? x - 3 : x + 3, TOP - 7, &c->text);
}

/* ---- steps and ranges ---- */

struct lanes {
    struct curve *c;
    int y, boxes;
};

static void put_span(struct lanes *lanes, const char *class, int64_t from_ns, int64_t to_ns, int y,
                     const char *text, size_t n)
{
    struct curve *c = lanes->c;
    double x = (double)at_time(c, from_ns - c->d->begin_ns) / 100;
    double width = (double)at_time(c, to_ns - c->d->begin_ns) / 100 - x;
    if (width < 1 || lanes->boxes >= MOST_BOXES) return;
    lanes->boxes++;
    gp_text_fit(&c->text, text, n, 200);
    gp_buf_puts(&c->text, ": ");
    gp_scale_put(&c->text, GP_UNIT_NS, to_ns > from_ns ? to_ns - from_ns : 0);
    gp_plot_rect(c->w, class, x, y, width - .4, LANE - 2, &c->text);
    if (width < LEAST_TEXT) return;
    gp_text_fit_name(&c->text, text, n, (size_t)width / CHARACTER);
    gp_plot_text(c->w, "lane", x + 4, y + 12, &c->text);
}

static uint32_t depth_of(const struct gp_memory_device *d, uint32_t span)
{
    uint32_t depth = 0;
    for (uint32_t up = d->spans.at[span].parent; up != GP_NO_SPAN && depth < MOST_LANES;
         up = d->spans.at[up].parent)
        depth++;
    return depth;
}

static void put_steps(struct lanes *lanes)
{
    const struct curve *c = lanes->c;
    struct gp_buf name = {0};
    for (uint32_t i = 0; i < c->d->steps.n; i++) {
        name.n = 0;
        gp_memory_step_put(&name, c->m, c->d, i);
        put_span(lanes, "k-range", c->d->steps.at[i].begin_ns, c->d->steps.at[i].end_ns, lanes->y, name.data,
                 name.n);
    }
    gp_buf_release(&name);
}

static void put_lanes(struct curve *c)
{
    struct lanes lanes = {c, TOP + HEIGHT + AXIS, 0};
    const struct gp_memory_device *d = c->d;
    if (d->steps_by_optimizer) put_steps(&lanes);
    if (d->steps_by_optimizer) lanes.y += LANE;
    lanes.boxes = 0;
    for (uint32_t i = 0; i < d->spans.n; i++) {
        uint32_t depth = depth_of(d, i);
        const struct gp_memory_span *s = &d->spans.at[i];
        if (depth >= MOST_LANES) continue;
        put_span(&lanes, depth ? "k-op" : "k-range", s->begin_ns, s->end_ns, lanes.y + (int)depth * LANE,
                 gp_memory_str(c->m, s->name), gp_string_len(&c->m->strings, s->name));
    }
}

static int height_of(const struct gp_memory_device *d)
{
    int lanes = d->steps_by_optimizer;
    uint32_t deepest = 0;
    for (uint32_t i = 0; i < d->spans.n; i++) {
        uint32_t depth = 1 + depth_of(d, i);
        if (depth > deepest && depth <= MOST_LANES) deepest = depth;
    }
    return TOP + HEIGHT + AXIS + (lanes + (int)deepest) * LANE;
}

void gp_memory_curve(struct gp_svg *w, const struct gp_memory *m, uint32_t device,
                     const struct gp_memory_moments *at)
{
    const struct gp_memory_device *d = &m->devices.at[device];
    struct curve c = {.w = w, .m = m, .d = d, .at = at};
    if (!at->curve.n) return;
    c.span_ns = at->curve.at[at->curve.n - 1].time_ns;
    if (c.span_ns < 1) c.span_ns = 1;
    c.most = d->reserved_peak > d->peak_bytes ? d->reserved_peak : d->peak_bytes;
    if (c.most < 1) c.most = 1;
    choose_shown(&c);
    gp_svg_begin(w, WIDTH, height_of(d),
                 "Memory over time: what was allocated, by category, and what was reserved");
    gp_svg_attr(w, "class", "chart memory");
    put_axes(&c);
    put_areas(&c);
    put_lanes(&c);
    put_mark(&c, at->moments.at[at->peak].time_ns, "peak", d->peak_bytes);
    if (at->oom != SIZE_MAX)
        put_mark(&c, at->moments.at[at->oom].time_ns, "out of memory", d->ooms.at[d->ooms.n - 1].requested);
    gp_svg_close(w);
    gp_buf_release(&c.text);
    GP_VEC_FREE(&c.shown);
}
