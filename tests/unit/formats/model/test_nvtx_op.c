// Names of NVTX ranges as PyTorch's emit_nvtx() makes them, and names that only look like it.
#include <string.h>

#include "formats/model/nvtx_op.h"
#include "formats/model/trace.h"
#include "tests/unit/unit.h"

static void check(const char *text, const char *name, bool is_op, uint64_t seq, const char *sizes)
{
    struct gp_nvtx_op o;
    assert_true(gp_nvtx_op(&o, text, strlen(text)));
    assert_int_equal(o.name_n, strlen(name));
    assert_memory_equal(text, name, o.name_n);
    assert_int_equal(o.is_op, is_op);
    assert_true(o.seq == seq);
    assert_int_equal(o.sizes != NULL, sizes != NULL);
    if (!sizes) return;
    assert_int_equal(o.sizes_n, strlen(sizes));
    assert_memory_equal(o.sizes, sizes, o.sizes_n);
}

TEST(operators_have_a_number_and_shapes)
{
    check("aten::mm, seq = 12, op_id = 3, sizes = [[8, 4], [4, 2]]", "aten::mm", true, 12,
          "[[8, 4], [4, 2]]");
    check("aten::empty, op_id = 7, sizes = [[], [], []]", "aten::empty", true, GP_NO_ID, "[[], [], []]");
    check("aten::add_, op_id = 9, sizes = [[2], []], input_op_ids = [(7,0), (0,-1)]", "aten::add_", true,
          GP_NO_ID, "[[2], []]");
    check("autograd::engine::evaluate_function: MmBackward0, op_id = 40",
          "autograd::engine::evaluate_function: MmBackward0", true, GP_NO_ID, NULL);
    check("detach, op_id = 56, sizes = [[512]], input_op_ids = [(52,0)]", "detach", true, GP_NO_ID,
          "[[512]]");
    check("MmBackward0, seq = 0, op_id = 41", "MmBackward0", true, 0, NULL);
    check("mylib::op, seq = 5", "mylib::op", true, 5, NULL);
}

/* record_function() of the program goes the same way. */
TEST(ranges_of_the_program_only_lose_the_number)
{
    check("forward, op_id = 5", "forward", false, GP_NO_ID, NULL);
    check("step 3, seq = x, op_id = 5", "step 3, seq = x", false, GP_NO_ID, NULL);
    check("Optimizer.step#SGD.step, op_id = 18446744073709551605", "Optimizer.step#SGD.step", false, GP_NO_ID,
          NULL);
    check("see: a::b, op_id = 5", "see: a::b", false, GP_NO_ID, NULL);
}

TEST(other_names_are_left_alone)
{
    static const char *const names[] = {
        "",
        "forward",
        "aten::mm",
        ", op_id = 3",
        "aten::mm, op_id = ",
        "aten::mm, op_id = 3 of 4",
        "aten::mm, op_id = 99999999999999999999",
        "aten::mm, op_id = 3, sizes = [[8, 4]",
        "aten::mm, op_id = 3, sizes = [[8, x]]",
        "aten::mm, op_id = 3, sizes = [[8]] and more",
        "aten::mm, sizes = [[8, 4]]",
    };
    struct gp_nvtx_op o;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_false(gp_nvtx_op(&o, names[i], strlen(names[i])));
}
