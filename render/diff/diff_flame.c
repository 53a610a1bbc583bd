#include "render/diff/diff_flame.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "analyze/math/sums.h"
#include "render/flame/flame_svg.h"

/* The tree of all stacks with the weights of one side, and what each node weighs on the other. */
struct both {
    struct gp_flame flame;
    GP_VEC(int64_t) other, counts;
    bool no_python; /* one side has Python frames and the other could not: nothing would be alike */
};

/* A frame that exists only in recordings with Python stacks: "file.py(12): name", "nn.Module: Name". */
static bool is_python(const char *s, size_t n)
{
    static const char module[] = "nn.Module: ", file[] = ".py(";
    if (n > sizeof module - 1 && !memcmp(s, module, sizeof module - 1)) return true;
    for (size_t i = 0; i + sizeof file <= n; i++)
        if (!memcmp(s + i, file, sizeof file - 1)) return true;
    return false;
}

/* The node of the stack's last frame, made where it is new. */
static uint32_t node_of(struct both *b, const char *stack, size_t n, enum gp_frame_kind leaf)
{
    uint32_t node = GP_CALLTREE_ROOT;
    for (size_t at = 0; at < n;) {
        const char *semicolon = memchr(stack + at, ';', n - at);
        size_t len = semicolon ? (size_t)(semicolon - stack) - at : n - at;
        enum gp_frame_kind kind = at + len == n ? leaf : GP_FRAME_OP;
        bool skip = b->no_python && at + len < n && is_python(stack + at, len);
        if (!skip)
            node =
                gp_calltree_child(&b->flame.tree, node, gp_intern(&b->flame.strings, stack + at, len), kind);
        at += len + (semicolon != NULL);
    }
    return node;
}

/* The change of a stack without what is noise: on both sides, an operation that is not decided. A stack of
 * one side only is a change, whatever its operation did. */
static int64_t counted(const struct gp_diff *d, const struct gp_diff_stack *s)
{
    int64_t was = s->side_ns[GP_DIFF_BASE], is = s->side_ns[GP_DIFF_CUR], change = is - was;
    if (!was || !is) return change;
    if (s->op >= d->ops.n) return fabs((double)change) > d->noise_pct / 100 * (double)was ? change : 0;
    uint32_t what = d->ops.at[s->op].change;
    return what == GP_CHANGE_NONE || what == GP_CHANGE_INCONCLUSIVE ? 0 : change;
}

static void add_stack(struct both *b, const struct gp_diff *d, const struct gp_diff_stack *s, int side)
{
    uint32_t node = node_of(b, gp_diff_str(d, s->stack), gp_string_len(&d->strings, s->stack),
                            (enum gp_frame_kind)s->kind);
    if (!b->flame.tree.nodes.n) return;
    gp_calltree_add(&b->flame.tree, node, s->side_ns[side]);
    while (b->other.n < b->flame.tree.nodes.n) {
        GP_VEC_PUSH(&b->other, 0);
        GP_VEC_PUSH(&b->counts, 0);
    }
    b->other.at[node] = gp_add_saturated(b->other.at[node], s->side_ns[!side]);
    b->counts.at[node] = gp_add_saturated(b->counts.at[node], counted(d, s));
}

static void build(struct both *b, const struct gp_diff *d, int side)
{
    b->no_python = d->side[GP_DIFF_BASE].env.has_python != d->side[GP_DIFF_CUR].env.has_python;
    for (size_t i = 0; i < d->stacks.n; i++) add_stack(b, d, &d->stacks.at[i], side);
    gp_calltree_finish(&b->flame.tree, &b->flame.strings);
    while (b->other.n < b->flame.tree.nodes.n) {
        GP_VEC_PUSH(&b->other, 0);
        GP_VEC_PUSH(&b->counts, 0);
    }
    /* parents come before their children */
    for (size_t i = b->other.n; i-- > 1;) {
        uint32_t parent = b->flame.tree.nodes.at[i].parent;
        b->other.at[parent] = gp_add_saturated(b->other.at[parent], b->other.at[i]);
        b->counts.at[parent] = gp_add_saturated(b->counts.at[parent], b->counts.at[i]);
    }
}

void gp_diff_flame_svg(struct gp_buf *out, const struct gp_diff *d, const struct gp_diff_flame_opts *o)
{
    struct both b = {0};
    bool is_base = o->side == GP_DIFF_BASE;
    build(&b, d, is_base ? GP_DIFF_BASE : GP_DIFF_CUR);
    struct gp_flame_svg_diff diff = {.other = b.other.at, .counts = b.counts.at, .tree_is_base = is_base};
    gp_flame_svg_write(
        out, &b.flame,
        &(struct gp_flame_svg_opts){
            .title = is_base ? "What became of the baseline's GPU time" : "Where the current GPU time is new",
            .measure = d->unit == GP_DIFF_PER_STEP ? "GPU time per step" : "GPU time",
            .note = is_base ? "scaled to the baseline" : "scaled to the current trace",
            .input = o->input,
            .empty = "No GPU events on this side",
            .diff = &diff,
            .still = o->embedded,
            .max_frames = o->max_frames,
        });
    GP_VEC_FREE(&b.other);
    GP_VEC_FREE(&b.counts);
    gp_flame_release(&b.flame);
}
