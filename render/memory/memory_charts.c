#include "render/memory/memory_priv.h"

#include <stdlib.h>
#include <string.h>
#include "formats/base/buf.h"
#include "formats/base/map.h"
#include "formats/base/scale.h"
#include "render/draw/plot.h"
#include "render/draw/text.h"
#include "render/page/page_html.h"

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
        int64_t y =
            (TOP + HEIGHT) * 100 - gp_plot_scaled(values[i] < 0 ? 0 : values[i], c->most, HEIGHT * 100);
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

/* From the highest sum down, so that each area covers those above it. */
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
    gp_buf_printf(&c->text, "%s %s", words, GP_BYTES(bytes));
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
    gp_buf_printf(&c->text, ": %s", GP_NS(to_ns > from_ns ? to_ns - from_ns : 0));
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

/* ---- memory map ---- */

enum { LINE = 22, BAR = 18, LINES = 14, MOST_POOLS = 24, MOST_NAME = 160 };

/* Neighbours in a strip, drawn as one box. */
struct piece {
    int64_t bytes, largest; /* in all, and of the largest block */
    uint32_t blocks;
    uint8_t state; /* enum gp_block_state */
    uint8_t category;
    uint32_t life; /* of the largest block; UINT32_MAX: not known */
};

struct map {
    struct gp_svg *w;
    const struct gp_memory *m;
    const struct gp_memory_device *d;
    struct gp_map lives;  /* address -> life at the end */
    size_t boxes, budget; /* drawn, and room for */
    struct gp_buf text;   /* scratch */
    int64_t whole, least; /* bytes of the strip, and of the smallest piece */
    int lines;
    int64_t at; /* bytes of the strip so far */
    struct piece piece;
};

static void index_lives(struct map *p)
{
    for (size_t i = 0; i < p->d->lives.n; i++) {
        const struct gp_memory_life *l = &p->d->lives.at[i];
        if (l->done > p->d->rows) *gp_map_put(&p->lives, l->addr, 0) = (uint32_t)i;
    }
}

static bool is_in(const struct gp_memory_pool *pool, const struct gp_snapshot_segment *g)
{
    return g->pool[0] == pool->id[0] && g->pool[1] == pool->id[1] && g->stream == pool->stream &&
           g->large == pool->large && g->expandable == pool->expandable;
}

/* ---- one box ---- */

static void put_words(struct map *p)
{
    static const char *const words[] = {"free", "in use", "freed, still used by a stream"};
    const struct piece *e = &p->piece;
    struct gp_buf *b = &p->text;
    b->n = 0;
    gp_buf_printf(b, "%s %s", GP_BYTES(e->bytes), words[e->state]);
    if (e->blocks > 1)
        gp_buf_printf(b, " in %u blocks, the largest %s", (unsigned)e->blocks, GP_BYTES(e->largest));
    if (e->state == GP_BLOCK_INACTIVE || e->life == UINT32_MAX) return;
    const struct gp_memory_life *l = &p->d->lives.at[e->life];
    gp_sid key = p->d->sites.at[l->site].key;
    gp_buf_puts(b, ": ");
    gp_text_fit(b, gp_memory_str(p->m, key), gp_string_len(&p->m->strings, key), MOST_NAME);
    if (e->category != GP_CAT_UNKNOWN)
        gp_buf_printf(b, " (%s)", gp_category_text((enum gp_category)e->category));
}

static const char *class_of(const struct piece *e, char class[static 40])
{
    strcpy(class, "k-");
    if (e->state == GP_BLOCK_INACTIVE) return "hole";
    if (e->state == GP_BLOCK_PENDING) return "k-communication";
    strncat(class, gp_memory_category_color((enum gp_category)e->category), 36);
    return class;
}

/* From byte FROM to byte TO of the strip, cut where lines end. */
static void put_box(struct map *p, int64_t from, int64_t to)
{
    char class[40];
    int64_t room = (int64_t)p->lines * WIDTH * 100;
    int64_t x = gp_plot_scaled(from, p->whole, room), end = gp_plot_scaled(to, p->whole, room);
    put_words(p);
    for (bool first = true; x < end; first = false) {
        int64_t line = x / (WIDTH * 100), stop = (line + 1) * WIDTH * 100;
        if (stop > end) stop = end;
        gp_page_open(p->w, "rect", class_of(&p->piece, class));
        gp_svg_box(p->w, x - line * WIDTH * 100, line * LINE * 100, stop - x, BAR * 100);
        if (first || stop - x > 2000) {
            gp_svg_open(p->w, "title");
            gp_svg_text(p->w, p->text.data, p->text.n);
            gp_svg_close(p->w);
        }
        gp_svg_close(p->w);
        p->boxes++;
        x = stop;
    }
}

static void flush(struct map *p)
{
    if (p->piece.bytes > 0) put_box(p, p->at - p->piece.bytes, p->at);
    memset(&p->piece, 0, sizeof p->piece);
}

static void add_block(struct map *p, const struct gp_snapshot_block *b)
{
    const uint32_t *life = b->state == GP_BLOCK_INACTIVE ? NULL : gp_map_get(&p->lives, b->address);
    struct piece e = {b->size, b->size, 1, b->state, GP_CAT_UNKNOWN, life ? *life : UINT32_MAX};
    bool recorded;
    if (life) e.category = (uint8_t)gp_memory_category(p->d, &p->d->lives.at[*life], &recorded);
    if (b->size <= 0) return;
    bool joins = p->piece.bytes > 0 && (p->piece.bytes < p->least || e.bytes < p->least) &&
                 (p->piece.bytes < p->least * 4) && p->piece.bytes + e.bytes < p->least * 4;
    if (!joins) {
        flush(p);
        p->piece = e;
    } else {
        if (e.largest > p->piece.largest) {
            e.bytes += p->piece.bytes;
            e.blocks += p->piece.blocks;
            p->piece = e;
        } else {
            p->piece.bytes += e.bytes;
            p->piece.blocks++;
        }
    }
    p->at += b->size;
}

/* ---- one pool ---- */

static void put_caption(struct map *p, const struct gp_memory_pool *pool)
{
    struct gp_buf *b = &p->text;
    b->n = 0;
    gp_page_open(p->w, "figcaption", NULL);
    if (pool->id[0] || pool->id[1])
        gp_buf_printf(b, "private pool %u.%u, ", (unsigned)pool->id[0], (unsigned)pool->id[1]);
    gp_buf_printf(b, "%s blocks%s", pool->large ? "large" : "small", pool->expandable ? ", expandable" : "");
    if (pool->stream) gp_buf_printf(b, ", stream 0x%llx", (unsigned long long)pool->stream);
    gp_page_take(p->w, b, "strong", NULL);
    gp_buf_printf(b, " %s in %u segment%s, %s in use, largest free block %s; one line is %s",
                  GP_BYTES(pool->reserved), (unsigned)pool->segments, pool->segments == 1 ? "" : "s",
                  GP_BYTES(pool->active), GP_BYTES(pool->largest_free), GP_BYTES(pool->reserved / p->lines));
    gp_page_element(p->w, "span", NULL, b->data, b->n);
    gp_svg_close(p->w);
}

static void put_pool(struct map *p, const struct gp_memory_pool *pool)
{
    const struct gp_snapshot *s = p->d->s;
    int64_t lines = gp_plot_scaled(pool->reserved, p->d->fragmentation.reserved, LINES);
    p->lines = lines < 1 ? 1 : (int)lines;
    p->whole = pool->active + pool->free_whole + pool->free_split;
    p->at = 0;
    if (p->whole <= 0) return;
    int64_t room = (int64_t)p->lines * WIDTH, share = (int64_t)(p->budget / LINES) * p->lines;
    p->least = p->whole / (share < room ? (share > 0 ? share : 1) : room) + 1;
    gp_page_open(p->w, "figure", "pan");
    gp_svg_attr(p->w, "tabindex", "0");
    put_caption(p, pool);
    gp_svg_begin(p->w, WIDTH, p->lines * LINE, "Blocks in the segments of a pool");
    gp_svg_attr(p->w, "class", "segments");
    size_t n;
    const struct gp_snapshot_segment *segments = gp_snapshot_segments(s, p->d->number, &n);
    GP_EACH_OF(const struct gp_snapshot_segment, g, segments, n) {
        if (!is_in(pool, g)) continue;
        for (size_t k = g->first_block; k < g->first_block + g->n_blocks; k++) add_block(p, &s->blocks.at[k]);
        flush(p);
        if (pool->segments < p->budget / 4 && p->at < p->whole) {
            int64_t x = gp_plot_scaled(p->at, p->whole, (int64_t)p->lines * WIDTH * 100),
                    line = x / (WIDTH * 100);
            x -= line * WIDTH * 100;
            gp_plot_line(p->w, "border", (double)x / 100, (double)(line * LINE - 1), (double)x / 100,
                         (double)(line * LINE + BAR + 1));
        }
    }
    gp_svg_close(p->w);
    gp_svg_close_line(p->w);
}

void gp_memory_map(struct gp_svg *w, const struct gp_memory *m, uint32_t device, size_t boxes)
{
    struct map p = {.w = w, .m = m, .d = &m->devices.at[device], .budget = boxes};
    index_lives(&p);
    for (size_t i = 0; i < p.d->fragmentation.pools.n && i < MOST_POOLS; i++)
        put_pool(&p, &p.d->fragmentation.pools.at[i]);
    gp_map_release(&p.lives);
    gp_buf_release(&p.text);
}
