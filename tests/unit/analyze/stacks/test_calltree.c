// The weighted tree: sums, order, and what is done to whole trees.
#include <stdlib.h>
#include <string.h>

#include "analyze/stacks/calltree.h"
#include "tests/unit/unit.h"

struct made {
    struct gp_calltree ct;
    struct gp_strings s;
};

static uint32_t child(struct made *m, uint32_t parent, const char *name, enum gp_frame_kind kind)
{
    return gp_calltree_child(&m->ct, parent, gp_intern_cstr(&m->s, name), kind);
}

static void done(struct made *m)
{
    gp_calltree_release(&m->ct);
    gp_strings_release(&m->s);
}

static const char *name_of(const struct made *m, uint32_t node)
{
    return gp_string(&m->s, m->ct.nodes.at[node].name);
}

TEST(equal_children_are_one_node)
{
    struct made m = {0};
    uint32_t a = child(&m, GP_CALLTREE_ROOT, "a", GP_FRAME_OP);
    assert_int_equal(child(&m, GP_CALLTREE_ROOT, "a", GP_FRAME_OP), a);
    assert_int_not_equal(child(&m, GP_CALLTREE_ROOT, "a", GP_FRAME_RANGE), a);
    assert_int_not_equal(child(&m, a, "a", GP_FRAME_OP), a);
    done(&m);
}

TEST(totals_hold_what_is_below)
{
    struct made m = {0};
    uint32_t a = child(&m, GP_CALLTREE_ROOT, "a", GP_FRAME_OP), b = child(&m, a, "b", GP_FRAME_OP);
    gp_calltree_add(&m.ct, a, 5);
    gp_calltree_add(&m.ct, b, 7);
    gp_calltree_add_many(&m.ct, b, 10, 3);
    gp_calltree_finish(&m.ct, &m.s);
    assert_int_equal(m.ct.nodes.at[b].self, 17);
    assert_int_equal(m.ct.nodes.at[b].count, 4);
    assert_int_equal(m.ct.total[b], 17);
    assert_int_equal(m.ct.total[a], 22);
    assert_int_equal(m.ct.total[GP_CALLTREE_ROOT], 22);
    done(&m);
}

TEST(siblings_are_in_bytewise_order_and_the_rest_is_last)
{
    static const char *const names[] = {"b", "ab", "\xc3\xa9", "a", "B"}, *const want[] = {"B", "a", "ab",
                                                                                           "b", "\xc3\xa9"};
    struct made m = {0};
    child(&m, GP_CALLTREE_ROOT, "2 more", GP_FRAME_OTHER);
    for (int i = 0; i < 5; i++) child(&m, GP_CALLTREE_ROOT, names[i], GP_FRAME_OP);
    gp_calltree_finish(&m.ct, &m.s);
    uint32_t c = m.ct.nodes.at[GP_CALLTREE_ROOT].first_child;
    for (int i = 0; i < 5; i++, c = m.ct.nodes.at[c].next_sibling)
        assert_string_equal(name_of(&m, c), want[i]);
    assert_string_equal(name_of(&m, c), "2 more");
    assert_int_equal(m.ct.nodes.at[c].next_sibling, 0);
    done(&m);
}

TEST(a_hundred_thousand_children_are_found_again)
{
    struct made m = {0};
    for (int round = 0; round < 2; round++)
        for (uint32_t i = 0; i < 100000; i++)
            gp_calltree_add(&m.ct, gp_calltree_child(&m.ct, i / 7, i % 1000, GP_FRAME_OP), 1);
    assert_true(m.ct.nodes.n <= 100001);
    uint64_t count = 0;
    for (size_t i = 0; i < m.ct.nodes.n; i++) count += m.ct.nodes.at[i].count;
    assert_int_equal(count, 200000);
    done(&m);
}

TEST(a_tree_without_anything_has_a_root)
{
    struct made m = {0};
    gp_calltree_finish(&m.ct, &m.s);
    assert_int_equal(m.ct.nodes.n, 1);
    assert_int_equal(m.ct.total[GP_CALLTREE_ROOT], 0);
    done(&m);
}

TEST(counts_and_sums_stop_at_the_largest_number)
{
    struct made m = {0};
    gp_calltree_add_many(&m.ct, GP_CALLTREE_ROOT, INT64_MAX - 1, UINT64_MAX);
    gp_calltree_add(&m.ct, GP_CALLTREE_ROOT, 2);
    assert_true(m.ct.nodes.at[0].self == INT64_MAX);
    assert_true(m.ct.nodes.at[0].count == UINT32_MAX);
    done(&m);
}

TEST(grouping_keeps_sums_and_tells_how_many)
{
    struct made m = {0}, to = {0};
    uint32_t a = child(&m, GP_CALLTREE_ROOT, "a", GP_FRAME_OP);
    gp_calltree_add(&m.ct, child(&m, a, "x", GP_FRAME_OP), 90);
    gp_calltree_add(&m.ct, child(&m, a, "y", GP_FRAME_OP), 4);
    gp_calltree_add(&m.ct, child(&m, child(&m, a, "z", GP_FRAME_OP), "deep", GP_FRAME_OP), 3);
    gp_calltree_add_many(&m.ct, child(&m, a, "5 more", GP_FRAME_OTHER), 3, 5);
    gp_calltree_finish(&m.ct, &m.s);
    gp_calltree_group_small(&m.ct, 5, &m.s, &to.ct);
    gp_calltree_finish(&to.ct, &m.s);
    /* y, z and the five: 4 + 3 + 3; root, a, x and the group */
    assert_int_equal(to.ct.nodes.n, 4);
    assert_int_equal(to.ct.total[GP_CALLTREE_ROOT], 100);
    gp_sid more = gp_intern_find(&m.s, "7 more", 6);
    int found = 0;
    for (size_t i = 0; i < to.ct.nodes.n; i++)
        found += to.ct.nodes.at[i].name == more && to.ct.total[i] == 10 && to.ct.nodes.at[i].count == 7;
    assert_int_equal(found, 1);
    done(&to);
    done(&m);
}
