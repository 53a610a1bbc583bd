#include "render/memory/memory_flame.h"

#include <string.h>
#include "formats/base/buf.h"
#include "render/flame/folded_write.h"

void gp_memory_frame_put(struct gp_buf *b, const struct gp_snapshot *s, const struct gp_snapshot_frame *f)
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
    gp_memory_frame_put(b, s, f);
    return gp_intern(&flame->strings, b->n ? b->data : "", b->n);
}

static enum gp_frame_kind kind_of(const struct gp_snapshot_frame *f)
{
    switch (f->kind) {
    case GP_SNAP_RANGE:
        return GP_FRAME_RANGE;
    case GP_SNAP_OP:
        return GP_FRAME_OP;
    case GP_SNAP_MODULE:
        return GP_FRAME_MODULE;
    default:
        return GP_FRAME_PYTHON;
    }
}

/* The node of a site: its stack, outermost frame first; where none was recorded, its key. */
static uint32_t node_of(struct gp_flame *flame, const struct gp_memory *m, const struct gp_memory_device *d,
                        uint32_t site, uint32_t root, struct gp_buf *b)
{
    const struct gp_snapshot *s = d->s;
    uint32_t stack = d->sites.at[site].stack, node = root;
    if (!stack)
        return gp_calltree_child(&flame->tree, root,
                                 gp_intern_from(&flame->strings, &m->strings, d->sites.at[site].key),
                                 GP_FRAME_RANGE);
    for (uint32_t i = s->stacks.at[stack].n; i-- > 0;) {
        const struct gp_snapshot_frame *f = &s->frames.at[s->stack_frames.at[s->stacks.at[stack].first + i]];
        node = gp_calltree_child(&flame->tree, node, frame_name(flame, s, f, b), kind_of(f));
    }
    return node;
}

static void add_device(struct gp_flame *flame, const struct gp_memory *m, uint32_t device, uint32_t position,
                       bool several)
{
    const struct gp_memory_device *d = &m->devices.at[device];
    struct gp_buf b = {0};
    uint32_t root = GP_CALLTREE_ROOT, *nodes = gp_zalloc((d->sites.n + 1) * sizeof *nodes);
    if (several)
        root = gp_calltree_child(&flame->tree, root, gp_intern_from(&flame->strings, &m->strings, d->label),
                                 GP_FRAME_ROOT);
    for (size_t i = 0; i < d->lives.n; i++) {
        const struct gp_memory_life *l = &d->lives.at[i];
        if (l->begin > position || position >= l->end) continue;
        if (!nodes[l->site]) nodes[l->site] = 1 + node_of(flame, m, d, l->site, root, &b);
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
    add_device(flame, m, device, position, false);
    gp_calltree_finish(&flame->tree, &flame->strings);
}

void gp_memory_folded(struct gp_output *out, const struct gp_memory *m)
{
    struct gp_flame flame;
    memset(&flame, 0, sizeof flame);
    gp_intern(&flame.strings, "", 0);
    for (uint32_t i = 0; i < m->devices.n; i++)
        add_device(&flame, m, i, m->at_positions.at[i], m->devices.n > 1);
    gp_calltree_finish(&flame.tree, &flame.strings);
    gp_folded_write(out, &flame.tree, &flame.strings);
    gp_flame_release(&flame);
}
