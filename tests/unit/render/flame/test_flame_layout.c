// Which frames are shown, where, and that sums close.
#include <stdio.h>
#include <string.h>

#include "render/flame/flame_layout.h"
#include "tests/unit/unit.h"

struct fixture {
    struct gp_strings strings;
    struct gp_calltree tree;
    struct gp_flame_layout layout;
};

// Count WEIGHT once at the stack "a;b;c" of frames of KIND.
static void add(struct fixture *x, const char *stack, int64_t weight, enum gp_frame_kind kind)
{
    uint32_t node = GP_CALLTREE_ROOT;
    for (const char *s = stack; *s;) {
        size_t n = strcspn(s, ";");
        node = gp_calltree_child(&x->tree, node, gp_intern(&x->strings, s, n), kind);
        s += n + (s[n] == ';');
    }
    gp_calltree_add(&x->tree, node, weight);
}

static void lay_out(struct fixture *x, uint32_t max_frames)
{
    gp_calltree_finish(&x->tree, &x->strings);
    gp_flame_layout_init(&x->layout, &x->tree, &x->strings, &(struct gp_flame_layout_opts){max_frames});
}

static void release(struct fixture *x)
{
    gp_flame_layout_release(&x->layout);
    gp_calltree_release(&x->tree);
    gp_strings_release(&x->strings);
}

// The frames as text: "name@start+weight", indented by a dot a level, "N more" for what stands for many.
static const char *drawn(const struct fixture *x, char *to, size_t size)
{
    size_t n = 0;
    to[0] = 0;
    for (size_t i = 0; i < x->layout.frames.n; i++) {
        const struct gp_flame_frame *f = &x->layout.frames.at[i];
        for (uint32_t d = 0; d < f->depth; d++) n += (size_t)snprintf(to + n, size - n, ".");
        char more[32];
        snprintf(more, sizeof more, "%u more", f->more);
        const char *name = gp_string(&x->strings, x->tree.nodes.at[f->node].name);
        n += (size_t)snprintf(to + n, size - n, "%s@%lld+%lld ", f->more ? more : name, (long long)f->start,
                              (long long)f->weight);
    }
    return to;
}

// Children lie side by side inside their parents and, with the parent's own weight, fill them exactly.
static void assert_sums_close(const struct fixture *x)
{
    for (size_t i = 0; i < x->layout.frames.n; i++) {
        const struct gp_flame_frame *f = &x->layout.frames.at[i];
        if (f->more) continue;
        int64_t at = f->start;
        uint64_t count = x->tree.nodes.at[f->node].count;
        for (size_t k = i + 1; k < x->layout.frames.n; k++) {
            const struct gp_flame_frame *c = &x->layout.frames.at[k];
            if (c->parent != i) continue;
            assert_int_equal(c->depth, f->depth + 1);
            assert_int_equal(c->start, at);
            at += c->weight;
            count += c->count;
        }
        assert_int_equal(at + x->tree.nodes.at[f->node].self, f->start + f->weight);
        assert_int_equal(count, f->count);
    }
}

TEST(siblings_are_drawn_heaviest_first_and_equal_ones_by_name)
{
    struct fixture x = {0};
    char text[500];
    add(&x, "a;light", 10, GP_FRAME_OP);
    add(&x, "a;heavy;k", 30, GP_FRAME_OP);
    add(&x, "c", 20, GP_FRAME_OP);
    add(&x, "b", 20, GP_FRAME_OP);
    add(&x, "a", 5, GP_FRAME_OP); // its own weight: the gap on the right
    lay_out(&x, 0);
    // a = 5 + 10 + 30 = 45, all = 85
    assert_string_equal(drawn(&x, text, sizeof text),
                        "@0+85 .a@0+45 ..heavy@0+30 ...k@0+30 ..light@30+10 .b@45+20 .c@65+20 ");
    assert_int_equal(x.layout.depth, 4);
    assert_int_equal(x.layout.events, 5);
    assert_int_equal(x.layout.kind_weight[GP_FRAME_OP], 85);
    assert_sums_close(&x);
    release(&x);
}

TEST(ranks_come_in_the_order_of_their_numbers)
{
    struct fixture x = {0};
    char text[500];
    add(&x, "rank 10", 30, GP_FRAME_ROOT);
    add(&x, "rank 9", 10, GP_FRAME_ROOT);
    add(&x, "rank 0", 20, GP_FRAME_ROOT);
    lay_out(&x, 0);
    assert_string_equal(drawn(&x, text, sizeof text), "@0+60 .rank 0@0+20 .rank 9@20+10 .rank 10@30+30 ");
    release(&x);
}

// A stack of frames of different kinds.
static void add_kinds(struct fixture *x, const enum gp_frame_kind *kinds, size_t n, int64_t weight)
{
    uint32_t node = GP_CALLTREE_ROOT;
    for (size_t i = 0; i < n; i++)
        node = gp_calltree_child(&x->tree, node, gp_intern(&x->strings, &"abcdef"[i], 1), kinds[i]);
    gp_calltree_add(&x->tree, node, weight);
}

TEST(the_legend_counts_gpu_work_from_either_end)
{
    struct fixture x = {0};
    add_kinds(&x, (enum gp_frame_kind[]){GP_FRAME_OP, GP_FRAME_GEMM}, 2, 10);
    add_kinds(&x, (enum gp_frame_kind[]){GP_FRAME_MEMCPY, GP_FRAME_OP, GP_FRAME_RANGE}, 3, 7); // turned over
    add_kinds(&x, (enum gp_frame_kind[]){GP_FRAME_OP}, 1, 2); // cut by --max-depth
    lay_out(&x, 0);
    assert_int_equal(x.layout.kind_weight[GP_FRAME_GEMM], 10);
    assert_int_equal(x.layout.kind_weight[GP_FRAME_MEMCPY], 7);
    assert_int_equal(x.layout.kind_weight[GP_FRAME_OP], 2);
    assert_int_equal(x.layout.kind_weight[GP_FRAME_RANGE], 0);
    release(&x);
}

TEST(what_does_not_fit_is_one_frame_that_says_how_many)
{
    struct fixture x = {0};
    char text[500];
    add(&x, "a", 50, GP_FRAME_OP);
    add(&x, "b", 40, GP_FRAME_OP);
    add(&x, "c", 3, GP_FRAME_OP);
    add(&x, "d;e", 2, GP_FRAME_OP);
    add(&x, "zero", 0, GP_FRAME_OP); // weighs nothing: neither shown nor told
    lay_out(&x, 4);
    assert_string_equal(drawn(&x, text, sizeof text), "@0+95 .a@0+50 .b@50+40 .2 more@90+5 ");
    assert_int_equal(x.layout.frames.at[3].count, 3); // c, e and the one without weight
    assert_int_equal(x.layout.shown, 3);
    assert_int_equal(x.layout.hidden, 3);
    release(&x);
}

TEST(what_was_grouped_before_is_counted_with_what_does_not_fit)
{
    struct fixture x = {0};
    char text[500];
    add(&x, "a", 50, GP_FRAME_OP);
    add(&x, "b", 4, GP_FRAME_OP);
    uint32_t more =
        gp_calltree_child(&x.tree, GP_CALLTREE_ROOT, gp_intern_cstr(&x.strings, "7 more"), GP_FRAME_OTHER);
    gp_calltree_add(&x.tree, more, 6);
    x.tree.nodes.at[more].count = 7; // frames
    lay_out(&x, 3);
    assert_string_equal(drawn(&x, text, sizeof text), "@0+60 .a@0+50 .8 more@50+10 ");
    assert_true(x.layout.grouped);
    gp_flame_layout_release(&x.layout);
    lay_out(&x, 0);
    assert_string_equal(drawn(&x, text, sizeof text), "@0+60 .a@0+50 .b@50+4 .7 more@54+6 ");
    release(&x);
}

TEST(the_number_of_frames_is_never_above_the_limit)
{
    for (uint32_t max = 2; max < 60; max += 3) {
        struct fixture x = {0};
        char stack[64];
        for (int i = 0; i < 400; i++) {
            snprintf(stack, sizeof stack, "a%d;b%d;c%d;d%d", i % 3, i % 7, i % 11, i);
            add(&x, stack, 1 + (i * 7919) % 101, GP_FRAME_OP);
        }
        lay_out(&x, max);
        assert_true(x.layout.frames.n <= max);
        assert_true(x.layout.frames.n + 2 >= max); // and close to it: 400 leaves are there
        assert_sums_close(&x);
        release(&x);
    }
}

TEST(a_tree_that_weighs_nothing_has_no_frames)
{
    struct fixture x = {0};
    add(&x, "a;b", 0, GP_FRAME_OP);
    lay_out(&x, 0);
    assert_int_equal(x.layout.frames.n, 0);
    assert_int_equal(x.layout.depth, 0);
    release(&x);
}

TEST(weights_that_pass_the_largest_number_stay_inside)
{
    struct fixture x = {0};
    add(&x, "a", INT64_MAX, GP_FRAME_OP);
    add(&x, "b", INT64_MAX, GP_FRAME_OP);
    add(&x, "c", 5, GP_FRAME_OP);
    lay_out(&x, 0);
    for (size_t i = 0; i < x.layout.frames.n; i++)
        assert_true(x.layout.frames.at[i].start <= INT64_MAX - x.layout.frames.at[i].weight);
    release(&x);
}

TEST(names_compare_with_numbers_as_numbers)
{
    assert_true(gp_flame_name_compare("r2", 2, "r10", 3) < 0);
    assert_true(gp_flame_name_compare("r10", 3, "r9x", 3) > 0);
    assert_true(gp_flame_name_compare("r", 1, "r0", 2) < 0);
    assert_true(gp_flame_name_compare("7", 1, "a", 1) < 0);
    assert_int_equal(gp_flame_name_compare("r2", 2, "r2", 2), 0);
}
