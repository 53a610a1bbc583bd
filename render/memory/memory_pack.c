#include "render/memory/memory_priv.h"

#include <stdlib.h>
#include <string.h>
#include "analyze/names/name_predicates.h"
#include "formats/base/buf.h"
#include "formats/base/map.h"
#include "formats/base/order.h"
#include "formats/base/str.h"
#include "render/draw/text.h"
#include "render/flame/flame_formats.h"
#include "render/page/page_pack.h"

/* ---- stacks ---- */

/* A frame as these trees name it: "forward (linear.py:134)". */
static void put_frame(struct gp_buf *b, const struct gp_snapshot *s, const struct gp_snapshot_frame *f)
{
    const char *file = gp_string(&s->strings, f->file), *slash = strrchr(file, '/');
    gp_buf_put(b, gp_string(&s->strings, f->name), gp_string_len(&s->strings, f->name));
    if (*file && strcmp(file, "??") != 0) {
        gp_buf_printf(b, " (%s", slash ? slash + 1 : file);
        if (f->line > 0) gp_buf_printf(b, ":%d", (int)f->line);
        gp_buf_putc(b, ')');
    }
}

static gp_sid frame_name(struct gp_flame *flame, const struct gp_snapshot *s,
                         const struct gp_snapshot_frame *f, struct gp_buf *b)
{
    b->n = 0;
    put_frame(b, s, f);
    return gp_intern(&flame->strings, b->n ? b->data : "", b->n);
}

static enum gp_frame_kind kind_of(const struct gp_snapshot_frame *f)
{
    switch (f->kind) {
    case GP_SNAP_RANGE: return GP_FRAME_RANGE;
    case GP_SNAP_OP: return GP_FRAME_OP;
    case GP_SNAP_MODULE: return GP_FRAME_MODULE;
    default: return GP_FRAME_PYTHON;
    }
}

/* Is F left out of pictures? A frame with a file of Python's is not. */
static bool is_hidden(const struct gp_snapshot *s, const struct gp_snapshot_frame *f)
{
    const char *file = gp_string(&s->strings, f->file);
    return f->kind == GP_SNAP_CODE && *file != '<' && !gp_ends(file, strlen(file), ".py") &&
           gp_frame_is_machinery(gp_string(&s->strings, f->name));
}

/* The node of a site: its stack, outermost frame first; where none was recorded, its key. A PICTURE leaves
 * machinery out. */
static uint32_t node_of(struct gp_flame *flame, const struct gp_memory *m, const struct gp_memory_device *d,
                        uint32_t site, uint32_t root, bool picture, struct gp_buf *b)
{
    const struct gp_snapshot *s = d->s;
    uint32_t stack = d->sites.at[site].stack, node = root;
    if (!stack)
        return gp_calltree_child(&flame->tree, root,
                                 gp_intern_from(&flame->strings, &m->strings, d->sites.at[site].key),
                                 GP_FRAME_RANGE);
    for (uint32_t i = s->stacks.at[stack].n; i-- > 0;) {
        const struct gp_snapshot_frame *f = &s->frames.at[s->stack_frames.at[s->stacks.at[stack].first + i]];
        if (picture && is_hidden(s, f) && (i || node != root)) continue; /* something stays */
        node = gp_calltree_child(&flame->tree, node, frame_name(flame, s, f, b), kind_of(f));
    }
    return node;
}

static void add_device(struct gp_flame *flame, const struct gp_memory *m, uint32_t device, uint32_t position,
                       bool several, bool picture)
{
    const struct gp_memory_device *d = &m->devices.at[device];
    struct gp_buf b = {0};
    uint32_t root = GP_CALLTREE_ROOT, *nodes = gp_zalloc((d->sites.n + 1) * sizeof *nodes);
    if (several)
        root = gp_calltree_child(&flame->tree, root, gp_intern_from(&flame->strings, &m->strings, d->label),
                                 GP_FRAME_ROOT);
    GP_EACH(const struct gp_memory_life, l, d->lives) {
        if (l->begin > position || position >= l->end) continue;
        if (!nodes[l->site]) nodes[l->site] = 1 + node_of(flame, m, d, l->site, root, picture, &b);
        gp_calltree_add(&flame->tree, nodes[l->site] - 1, l->bytes);
    }
    free(nodes);
    gp_buf_release(&b);
}

void gp_memory_flame(struct gp_flame *flame, const struct gp_memory *m, uint32_t device, uint32_t position)
{
    memset(flame, 0, sizeof *flame);
    flame->weight = GP_WEIGHT_BYTES;
    gp_intern(&flame->strings, "", 0);
    add_device(flame, m, device, position, false, true);
    gp_calltree_finish(&flame->tree, &flame->strings);
}

void gp_memory_folded(struct gp_output *out, const struct gp_memory *m)
{
    struct gp_flame flame = {0};
    gp_intern(&flame.strings, "", 0);
    for (uint32_t i = 0; i < m->devices.n; i++)
        add_device(&flame, m, i, m->at_positions.at[i], m->devices.n > 1, false);
    gp_calltree_finish(&flame.tree, &flame.strings);
    gp_folded_write(out, &flame.tree, &flame.strings);
    gp_flame_release(&flame);
}

/* ---- packed histories ---- */

enum { MOST_COLUMNS = 240, MOST_FRAMES = 96, MOST_LANES = 3 };

struct pack {
    struct gp_buf *b;
    const struct gp_memory *m;
    const struct gp_memory_device *d;
    const struct gp_memory_moments *at;
    struct gp_strings texts; /* those that are written already */
    struct gp_buf text;      /* scratch */
};

static void put_short(struct pack *p, const char *s, size_t n)
{
    p->text.n = 0;
    gp_text_fit(&p->text, s, n, MOST_COLUMNS);
    gp_pack_text(p->b, p->text.n ? p->text.data : "", p->text.n);
}

/* A text, or the number of an earlier one that is equal. */
static void put_text(struct pack *p, const char *s, size_t n)
{
    size_t before = p->texts.n;
    gp_sid sid = gp_intern(&p->texts, s, n);
    if (sid < before) {
        gp_pack_u64(p->b, (uint64_t)sid + 1);
        return;
    }
    gp_pack_u64(p->b, 0);
    put_short(p, s, n);
}

static void put_points(struct pack *p, const gp_memory_points *points)
{
    int64_t allocated = 0, reserved = 0, time_ns = 0;
    gp_pack_u64(p->b, points->n);
    for (size_t i = 0; i < points->n; i++) {
        gp_pack_u64(p->b, (uint64_t)(points->at[i].time_ns - time_ns));
        time_ns = points->at[i].time_ns;
    }
    for (size_t i = 0; i < points->n; i++) {
        gp_pack_i64(p->b, points->at[i].allocated - allocated);
        allocated = points->at[i].allocated;
    }
    for (size_t i = 0; i < points->n; i++) {
        gp_pack_i64(p->b, points->at[i].reserved - reserved);
        reserved = points->at[i].reserved;
    }
}

static void put_curve(struct pack *p)
{
    gp_pack_u64(p->b, GP_CATEGORY_COUNT);
    for (int k = 0; k < GP_CATEGORY_COUNT; k++) {
        enum gp_category c = (enum gp_category)gp_memory_stacking[k];
        gp_pack_text(p->b, gp_category_text(c), strlen(gp_category_text(c)));
        gp_pack_text(p->b, gp_memory_category_color(c), strlen(gp_memory_category_color(c)));
    }
    put_points(p, &p->at->curve);
    for (int k = 0; k < GP_CATEGORY_COUNT; k++) {
        int64_t before = 0;
        for (size_t i = 0; i < p->at->curve.n; i++) {
            int64_t v = gp_memory_moments_category(p->at, (enum gp_category)gp_memory_stacking[k], i);
            gp_pack_i64(p->b, v - before);
            before = v;
        }
    }
}

/* ---- frames ---- */

struct frames {
    struct gp_map index; /* parent and name -> 1 + frame */
    struct gp_buf packed;
    uint32_t n;
    uint32_t *of_site; /* 1 + frame */
};

static uint32_t child(struct pack *p, struct frames *f, uint32_t parent, const char *s, size_t n)
{
    struct gp_buf *to = p->b;
    size_t before = p->texts.n;
    gp_sid name = gp_intern(&p->texts, s, n);
    uint32_t *at = gp_map_put(&f->index, (uint64_t)parent << 32 | (name + 1), f->n + 1);
    if (*at != f->n + 1) return *at;
    f->n++;
    p->b = &f->packed;
    gp_pack_u64(p->b, parent);
    if (name < before) {
        gp_pack_u64(p->b, (uint64_t)name + 1);
    } else {
        gp_pack_u64(p->b, 0);
        put_short(p, s, n);
    }
    p->b = to;
    return f->n;
}

/* The stack of a site from its outermost frame on; where it is very deep, without its middle. */
static uint32_t frame_of(struct pack *p, struct frames *f, uint32_t site)
{
    const struct gp_memory_site *o = &p->d->sites.at[site];
    const struct gp_snapshot *s = p->d->s;
    struct gp_buf name = {0};
    uint32_t node = 0, n = s->stacks.at[o->stack].n;
    if (!o->stack) return child(p, f, 0, gp_memory_str(p->m, o->key), gp_string_len(&p->m->strings, o->key));
    for (uint32_t i = 0; i < n; i++) {
        if (n > MOST_FRAMES && i >= MOST_FRAMES / 2 && i < n - MOST_FRAMES / 2) continue;
        uint32_t frame = s->stack_frames.at[s->stacks.at[o->stack].first + n - 1 - i];
        name.n = 0;
        if (is_hidden(s, &s->frames.at[frame]) && (i + 1 < n || node)) continue;
        put_frame(&name, s, &s->frames.at[frame]);
        node = child(p, f, node, name.n ? name.data : "", name.n);
    }
    gp_buf_release(&name);
    return node;
}

/* ---- sites ---- */

static void put_changes(struct pack *p, size_t site)
{
    size_t n = 0, last = 0;
    int64_t bytes = 0, blocks = 0;
    for (int pass = 0; pass < 2; pass++) {
        if (pass) gp_pack_u64(p->b, n);
        bytes = blocks = 0;
        for (size_t i = 0; i < p->at->moments.n; i++) {
            int64_t now = gp_memory_moments_bytes(p->at, site, i),
                    many = gp_memory_moments_blocks(p->at, site, i);
            if (now == bytes && many == blocks) continue;
            if (pass) {
                gp_pack_u64(p->b, i - last);
                gp_pack_i64(p->b, now - bytes);
                gp_pack_i64(p->b, many - blocks);
                last = i;
            } else {
                n++;
            }
            bytes = now;
            blocks = many;
        }
    }
}

static uint64_t place_of(uint8_t category)
{
    uint64_t k = 0;
    while (gp_memory_stacking[k] != category) k++;
    return k;
}

static void put_sites(struct pack *p, const struct frames *f)
{
    gp_pack_u64(p->b, p->at->sites.n + 1);
    for (size_t i = 0; i < p->at->sites.n; i++) {
        gp_sid key = p->d->sites.at[p->at->sites.at[i]].key;
        gp_pack_u64(p->b, f->of_site[i]);
        gp_pack_u64(p->b, place_of(p->at->categories.at[i]));
        put_short(p, gp_memory_str(p->m, key), gp_string_len(&p->m->strings, key));
        put_changes(p, i);
    }
    p->text.n = 0;
    gp_buf_printf(&p->text, "[%zu smaller]", p->at->other_sites);
    gp_pack_u64(p->b, 0);
    gp_pack_u64(p->b, place_of(GP_CAT_MIXED));
    gp_pack_text(p->b, p->text.data, p->text.n);
    put_changes(p, p->at->sites.n);
}

/* ---- steps and ranges ---- */

struct box {
    int64_t begin_ns, length_ns;
    uint32_t lane, step; /* UINT32_MAX: it is not a step, but a range of this name */
    gp_sid name;
};
typedef GP_VEC(struct box) boxes;

GP_COMPARE(longest_first, struct box, GP_DOWN(length_ns) GP_UP(begin_ns))

GP_COMPARE(in_order, struct box, GP_UP(begin_ns) GP_UP(lane))

static void add_box(boxes *all, const struct gp_memory_device *d, int64_t begin_ns, int64_t end_ns,
                    struct box fresh)
{
    int64_t end = end_ns - d->begin_ns;
    fresh.begin_ns = begin_ns < d->begin_ns ? 0 : begin_ns - d->begin_ns;
    fresh.length_ns = end > fresh.begin_ns ? end - fresh.begin_ns : 0;
    GP_VEC_PUSH(all, fresh);
}

static void put_ranges(struct pack *p, size_t limit)
{
    const struct gp_memory_device *d = p->d;
    boxes all = {0};
    uint32_t first = d->steps_by_optimizer && d->steps.n;
    for (size_t i = 0; first && i < d->steps.n; i++)
        add_box(&all, d, d->steps.at[i].begin_ns, d->steps.at[i].end_ns, (struct box){.step = (uint32_t)i});
    for (size_t i = 0; i < d->spans.n; i++) {
        uint32_t depth = 0;
        const struct gp_memory_span *s = &d->spans.at[i];
        for (uint32_t up = s->parent; up != GP_NO_SPAN && depth < MOST_LANES; up = d->spans.at[up].parent)
            depth++;
        if (depth < MOST_LANES)
            add_box(&all, d, s->begin_ns, s->end_ns,
                    (struct box){.lane = first + depth, .step = UINT32_MAX, .name = s->name});
    }
    if (all.n > limit) {
        qsort(all.at, all.n, sizeof *all.at, longest_first);
        all.n = limit;
    }
    if (all.n) qsort(all.at, all.n, sizeof *all.at, in_order);
    gp_pack_u64(p->b, all.n);
    int64_t last = 0;
    for (size_t i = 0; i < all.n; i++) {
        gp_pack_u64(p->b, (uint64_t)(all.at[i].begin_ns - last));
        struct gp_buf name = {0};
        if (all.at[i].step == UINT32_MAX)
            gp_buf_put(&name, gp_memory_str(p->m, all.at[i].name),
                       gp_string_len(&p->m->strings, all.at[i].name));
        else gp_memory_step_put(&name, p->m, p->d, all.at[i].step);
        gp_pack_u64(p->b, (uint64_t)all.at[i].length_ns);
        gp_pack_u64(p->b, all.at[i].lane);
        put_text(p, name.n ? name.data : "", name.n);
        gp_buf_release(&name);
        last = all.at[i].begin_ns;
    }
    gp_pack_u64(p->b, first);
    GP_VEC_FREE(&all);
}

void gp_memory_pack(struct gp_buf *b, const struct gp_memory *m, uint32_t device,
                    const struct gp_memory_moments *at, size_t ranges)
{
    struct pack p = {.b = b, .m = m, .d = &m->devices.at[device], .at = at};
    struct frames f = {.n = 0};
    gp_intern(&p.texts, "", 0); /* readers have it from the start */
    put_curve(&p);
    put_points(&p, &at->moments);
    gp_pack_u64(b, at->peak);
    gp_pack_u64(b, at->oom == SIZE_MAX ? 0 : at->oom + 1);
    f.of_site = gp_zalloc((p.at->sites.n + 1) * sizeof *f.of_site);
    for (size_t i = 0; i < p.at->sites.n; i++) f.of_site[i] = frame_of(&p, &f, p.at->sites.at[i]);
    gp_pack_u64(p.b, f.n);
    if (f.packed.n) gp_buf_put(p.b, f.packed.data, f.packed.n);
    put_sites(&p, &f);
    put_ranges(&p, ranges);
    free(f.of_site);
    gp_map_release(&f.index);
    GP_RELEASE(gp_buf_release, &f.packed, &p.text);
    gp_strings_release(&p.texts);
}
