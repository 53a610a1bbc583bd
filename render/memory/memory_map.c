#include "render/memory/memory_map.h"

#include <stdlib.h>
#include <string.h>
#include "formats/base/buf.h"
#include "formats/base/map.h"
#include "formats/base/scale.h"
#include "render/draw/plot.h"
#include "render/draw/text.h"
#include "render/memory/memory_curve.h"
#include "render/page/page_html.h"

enum { WIDTH = 1160, LINE = 22, BAR = 18, LINES = 14, MOST_POOLS = 24, MOST_NAME = 160 };

/* What is drawn as one box: neighbours in a strip. */
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
    gp_scale_put(b, GP_UNIT_BYTES, e->bytes);
    gp_buf_printf(b, " %s", words[e->state]);
    if (e->blocks > 1) {
        gp_buf_printf(b, " in %u blocks, the largest ", (unsigned)e->blocks);
        gp_scale_put(b, GP_UNIT_BYTES, e->largest);
    }
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
        gp_svg_open(p->w, "rect");
        gp_svg_attr(p->w, "class", class_of(&p->piece, class));
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

static void put_border(struct map *p)
{
    int64_t x = gp_plot_scaled(p->at, p->whole, (int64_t)p->lines * WIDTH * 100), line = x / (WIDTH * 100);
    x -= line * WIDTH * 100;
    gp_plot_line(p->w, "border", (double)x / 100, (double)(line * LINE - 1), (double)x / 100,
                 (double)(line * LINE + BAR + 1));
}

static void put_caption(struct map *p, const struct gp_memory_pool *pool)
{
    struct gp_buf *b = &p->text;
    b->n = 0;
    gp_page_open(p->w, "figcaption", NULL);
    if (pool->id[0] || pool->id[1])
        gp_buf_printf(b, "private pool %u.%u, ", (unsigned)pool->id[0], (unsigned)pool->id[1]);
    gp_buf_printf(b, "%s blocks%s", pool->large ? "large" : "small", pool->expandable ? ", expandable" : "");
    if (pool->stream) gp_buf_printf(b, ", stream 0x%llx", (unsigned long long)pool->stream);
    gp_page_element(p->w, "strong", NULL, b->data, b->n);
    b->n = 0;
    gp_buf_puts(b, " ");
    gp_scale_put(b, GP_UNIT_BYTES, pool->reserved);
    gp_buf_printf(b, " in %u segment%s, ", (unsigned)pool->segments, pool->segments == 1 ? "" : "s");
    gp_scale_put(b, GP_UNIT_BYTES, pool->active);
    gp_buf_puts(b, " in use, largest free block ");
    gp_scale_put(b, GP_UNIT_BYTES, pool->largest_free);
    gp_buf_puts(b, "; one line is ");
    gp_scale_put(b, GP_UNIT_BYTES, pool->reserved / p->lines);
    gp_page_element(p->w, "span", NULL, b->data, b->n);
    gp_svg_close(p->w);
}

static int lines_of(const struct map *p, const struct gp_memory_pool *pool)
{
    int64_t lines = gp_plot_scaled(pool->reserved, p->d->fragmentation.reserved, LINES);
    return lines < 1 ? 1 : (int)lines;
}

static void put_pool(struct map *p, const struct gp_memory_pool *pool)
{
    const struct gp_snapshot *s = p->d->s;
    p->lines = lines_of(p, pool);
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
    for (size_t i = 0; i < n; i++) {
        const struct gp_snapshot_segment *g = &segments[i];
        if (!is_in(pool, g)) continue;
        for (size_t k = g->first_block; k < g->first_block + g->n_blocks; k++) add_block(p, &s->blocks.at[k]);
        flush(p);
        if (pool->segments < p->budget / 4 && p->at < p->whole) put_border(p);
    }
    gp_svg_close(p->w);
    gp_svg_close(p->w);
    gp_svg_newline(p->w);
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
