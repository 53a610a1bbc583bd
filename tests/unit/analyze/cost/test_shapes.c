// What an operator's inputs are, from the text that a profiler wrote beside it, and from text that no
// profiler writes.
#include <string.h>

#include "analyze/cost/shapes.h"
#include "formats/base/count.h"
#include "tests/unit/unit.h"

TEST(tensors_lists_and_values_are_told_apart)
{
    struct gp_shapes s;
    assert_true(gp_shapes_read(
        &s, "{\"Ev Idx\": 7, \"Input Dims\": [[2, 3], [], [], [[4, 5], [6], []], []], "
            "\"Input type\": [\"float\", \"c10::Half\", \"Scalar\", \"TensorList\", \"TensorList\"]}"));
    assert_int_equal(s.n, 5);
    assert_int_equal(s.in[0].sort, GP_SHAPE_TENSOR);
    assert_int_equal(s.in[0].n, 2);
    assert_int_equal(s.in[0].size[1], 3);
    assert_true(s.in[0].elements == 6 && s.in[0].element.size == 4);
    assert_int_equal(s.in[1].sort, GP_SHAPE_TENSOR); // of no dimensions: one element
    assert_true(s.in[1].elements == 1 && s.in[1].element.size == 2);
    assert_int_equal(s.in[2].sort, GP_SHAPE_NOTHING);
    assert_int_equal(s.in[3].sort, GP_SHAPE_LIST);
    assert_true(s.in[3].elements == 20 + 6 + 1);
    assert_int_equal(s.in[4].sort, GP_SHAPE_UNKNOWN_LIST);
    assert_null(gp_shapes_tensor(&s, 2));
    assert_null(gp_shapes_tensor(&s, 5));
    assert_null(gp_shapes_tensor(&s, -1));
}

TEST(lists_may_go_over_several_lines)
{
    struct gp_shapes s;
    int64_t v[2];
    // as jq and json.tool indent it: with spaces, tabs, and the line ends of another system
    assert_true(gp_shapes_read(
        &s, "{\n  \"Input Dims\": [\n    [\n      2,\n      3\n    "
            "],\r\n\t[],\r\n\t[\r\n\t\t[\t4\t]\r\n\t]\n  ],\n"
            "  \"Concrete Inputs\": [\n    \"\",\n    \"[1,\\n 2]\",\n    \"\"\n  ],\n"
            "  \"Input type\": [\n    \"float\",\n    \"Scalar\",\n    \"TensorList\"\n  ]\n}"));
    assert_int_equal(s.n, 3);
    assert_true(s.in[0].n == 2 && s.in[0].size[0] == 2 && s.in[0].size[1] == 3 && s.in[0].element.size == 4);
    assert_int_equal(s.in[1].sort, GP_SHAPE_NOTHING);
    assert_true(s.in[2].sort == GP_SHAPE_LIST && s.in[2].elements == 4);
    assert_int_equal(gp_shapes_ints(&s, 1, v, 2), 0); // an escape within a value does not count as space
}

TEST(what_is_broadcast_lies_in_memory_once)
{
    struct gp_shapes s;
    // 4 x 5 x 6 with stride 0 along the 5: 24 elements; strides come before the sizes in some files
    assert_true(gp_shapes_read(&s, "{\"Input Strides\": [[6, 0, 1], [1]], \"Input Dims\": [[4, 5, 6], [8]], "
                                   "\"Input type\": [\"float\", \"float\"]}"));
    assert_true(s.in[0].elements == 120 && s.in[0].distinct == 24);
    assert_true(s.in[1].distinct == 8);
}

TEST(values_are_read_by_place)
{
    struct gp_shapes s;
    int64_t v[3];
    bool b;
    assert_true(gp_shapes_read(&s, "{\"Input Dims\": [[1], [], [], [], [], []], \"Concrete Inputs\": [\"\", "
                                   "\"[1, -2]\", \"7\", \"True\", \"[True, False, True]\", \"0.5\"]}"));
    assert_int_equal(gp_shapes_ints(&s, 1, v, 3), 2);
    assert_true(v[0] == 1 && v[1] == -2);
    assert_true(gp_shapes_int(&s, 2, v) && v[0] == 7);
    assert_true(gp_shapes_bool(&s, 3, &b) && b);
    assert_int_equal(gp_shapes_ints(&s, 4, v, 3), 3);
    assert_true(v[0] == 1 && v[1] == 0 && v[2] == 1);
    assert_int_equal(gp_shapes_ints(&s, 4, v, 2), 2); // no more than there is room for
    assert_false(gp_shapes_int(&s, 5, v));            // no integer
    assert_false(gp_shapes_int(&s, 3, v));
    assert_false(gp_shapes_bool(&s, 2, &b));
    assert_int_equal(gp_shapes_ints(&s, 2, v, 3), 0);
    assert_false(gp_shapes_int(&s, 6, v));
    assert_false(gp_shapes_int(&s, -1, v));
}

TEST(nonsense_is_refused)
{
    static const char *const texts[] = {
        "",
        "{}",
        "{\"Input Dims\": 7}",
        "{\"Input Dims\": []}",
        "{\"Input Dims\": [[-1, 4]]}",
        "{\"Input Dims\": [[4, x]]}",
        "{\"Input Dims\": [[[[1]]]]}",
        "{\"Input Dims\": [\"4\"]}",
        "{\"Input Dims\": ]]]]",
        "{\"Input Dims\": [[1, 2",
    };
    struct gp_shapes s;
    for (size_t i = 0; i < GP_COUNT(texts); i++) assert_false(gp_shapes_read(&s, texts[i]));
}

TEST(what_is_too_large_overflows_nothing)
{
    struct gp_shapes s;
    char text[4096] = "{\"Input Dims\": [";
    // more inputs, more dimensions and larger numbers than anybody has
    for (int i = 0; i < 30; i++)
        strcat(text, i ? ", [99999999999999999999999, 1000000000000000000]" : "[1, 2, 3, 4, 5, 6, 7, 8, 9]");
    strcat(text, "], \"Input type\": [\"float\"], \"Input Strides\": [[0, 0, 0, 0, 0, 0, 0, 0, 0, 0]]}");
    assert_true(gp_shapes_read(&s, text));
    assert_int_equal(s.n, GP_SHAPE_INPUTS);
    assert_int_equal(s.in[0].n, -1);
    assert_true(s.in[0].elements == 362880); // 9!
    assert_true(s.in[1].size[0] > 0 && s.in[1].elements > 1e35 && s.in[1].elements < 1e37);
}
