// The causes of idle time and what each weighs.
#include "analyze/stacks/stacks.h"
#include "tests/unit/unit.h"

static void add(struct gp_flame *f, uint32_t device, const char *name, int64_t ns)
{
    gp_sid sid = gp_intern_cstr(&f->strings, name);
    gp_calltree_add(&f->tree, gp_calltree_child(&f->tree, device, sid, GP_FRAME_IDLE), ns);
}

static uint32_t device(struct gp_flame *f, const char *name)
{
    gp_sid sid = gp_intern_cstr(&f->strings, name);
    return gp_calltree_child(&f->tree, GP_CALLTREE_ROOT, sid, GP_FRAME_ROOT);
}

TEST(a_cause_counts_once_over_all_devices_and_the_largest_comes_first)
{
    struct gp_flame f = {.weight = GP_WEIGHT_IDLE};
    struct gp_idle_share causes[GP_IDLE_SHARES];
    uint32_t first = device(&f, "GPU 0"), second = device(&f, "GPU 1");
    add(&f, first, "idle: host", 10);
    add(&f, first, "idle: sync", 25);
    add(&f, second, "idle: host", 30);
    add(&f, second, "not a cause", 99);
    gp_calltree_finish(&f.tree, &f.strings);
    assert_int_equal(gp_idle_shares(&f, causes), 2);
    assert_string_equal(causes[0].name, "host");
    assert_int_equal(causes[0].ns, 40);
    assert_string_equal(causes[1].name, "sync");
    assert_int_equal(causes[1].ns, 25);
    gp_flame_release(&f);
}

TEST(a_tree_without_nodes_has_no_causes)
{
    struct gp_flame f = {.weight = GP_WEIGHT_IDLE};
    struct gp_idle_share causes[GP_IDLE_SHARES];
    assert_int_equal(gp_idle_shares(&f, causes), 0);
}
