// Kinds of graph breaks to what we say about them.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/compile/break_family.h"
#include "analyze/compile/break_ids_table.h"
#include "tests/unit/unit.h"

TEST(numbers_count_before_words)
{
    assert_int_equal(gp_break_family_of(124, "a new text", ""), GP_FAMILY_SCALAR);
    assert_int_equal(gp_break_family_of(39, "cache limit", ""), GP_FAMILY_RECOMPILES);
    assert_int_equal(gp_break_family_of(39, "recompile limit", ""), GP_FAMILY_RECOMPILES);
    assert_int_equal(gp_break_family_of(291, "", ""), GP_FAMILY_OUTPUT); /* inside the range of NumPy's */
    assert_int_equal(gp_break_family_of(294, "", ""), GP_FAMILY_NUMPY);
}

/* One or more of each family, as the registry has them. */
TEST(the_registry_maps_to_families)
{
    static const struct {
        int32_t number;
        enum gp_break_family family;
    } rows[] = {
        {291, GP_FAMILY_OUTPUT},       {569, GP_FAMILY_OUTPUT},        {124, GP_FAMILY_SCALAR},
        {218, GP_FAMILY_SCALAR},       {170, GP_FAMILY_BRANCH},        {34, GP_FAMILY_BRANCH},
        {36, GP_FAMILY_SHAPE},         {9352, GP_FAMILY_SHAPE},        {25, GP_FAMILY_ASKED},
        {377, GP_FAMILY_ASKED},        {7, GP_FAMILY_FOREIGN},         {9193, GP_FAMILY_FOREIGN},
        {39, GP_FAMILY_RECOMPILES},    {88, GP_FAMILY_EXCEPTION},      {7312, GP_FAMILY_EXCEPTION},
        {66, GP_FAMILY_CONTEXT},       {370, GP_FAMILY_CONTEXT},       {123, GP_FAMILY_AUTOGRAD},
        {9958, GP_FAMILY_AUTOGRAD},    {14, GP_FAMILY_TENSOR},         {9182, GP_FAMILY_TENSOR},
        {310, GP_FAMILY_HIGHER_ORDER}, {8165, GP_FAMILY_HIGHER_ORDER}, {31, GP_FAMILY_OBJECT},
        {9899, GP_FAMILY_OBJECT},      {3, GP_FAMILY_ITERATOR},        {9898, GP_FAMILY_ITERATOR},
        {105, GP_FAMILY_NUMPY},        {300, GP_FAMILY_NUMPY},         {53, GP_FAMILY_DISTRIBUTED},
        {9860, GP_FAMILY_DISTRIBUTED}, {216, GP_FAMILY_TRITON},        {6735, GP_FAMILY_TRITON},
        {92, GP_FAMILY_CAUSED},        {7000, GP_FAMILY_CAUSED},       {90, GP_FAMILY_BACKEND},
        {3069, GP_FAMILY_BACKEND},     {219, GP_FAMILY_COMPILER},      {9648, GP_FAMILY_COMPILER},
        {149, GP_FAMILY_OTHER},        {9840, GP_FAMILY_OTHER},        {0, GP_FAMILY_EXCEPTION},
    };
    unsigned seen = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(gp_break_family_of(rows[i].number, "numpy", ""), rows[i].family);
        seen |= 1u << rows[i].family;
    }
    assert_int_equal(seen, (1u << GP_BREAK_FAMILY_COUNT) - 1);
}

#define ID_ROW(first, last, family) {first, last, GP_FAMILY_##family},

TEST(ids_are_sorted_and_none_is_there_twice)
{
    static const struct {
        int32_t first, last;
        enum gp_break_family family;
    } rows[] = {GP_BREAK_IDS(ID_ROW)};
    size_t n = sizeof rows / sizeof *rows;
    int32_t last = -1, ids = 0;
    for (size_t i = 0; i < n; i++) {
        assert_true(rows[i].first > last && rows[i].last >= rows[i].first);
        assert_true(rows[i].family < GP_BREAK_FAMILY_COUNT);
        if (rows[i].first == last + 1 && i) assert_int_not_equal(rows[i].family, rows[i - 1].family);
        last = rows[i].last;
        ids += rows[i].last - rows[i].first + 1;
        for (int32_t id = rows[i].first; id <= rows[i].last; id++)
            if (id != 59) assert_int_equal(gp_break_family_of(id, "", ""), rows[i].family);
    }
    assert_int_equal(ids, 590);
    assert_int_equal(last, 9958);
}

TEST(an_unknown_number_falls_back_to_the_words)
{
    static const int32_t unknown[] = {-1, 378, 400, 6000, 9957, 9959, 9999, 10000, INT32_MAX, INT32_MIN};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        assert_int_equal(gp_break_family_of(unknown[i], "Unsupported NumPy thing", ""), GP_FAMILY_NUMPY);
        assert_int_equal(gp_break_family_of(unknown[i], "something never seen", ""), GP_FAMILY_OTHER);
    }
}

TEST(a_number_that_stands_for_several_is_told_by_its_context)
{
    assert_int_equal(gp_break_family_of(59, "Failed to trace builtin operator", "builtin print [] True"),
                     GP_FAMILY_OUTPUT);
    assert_int_equal(gp_break_family_of(59, "Failed to trace builtin operator", "builtin open []"),
                     GP_FAMILY_FOREIGN);
}

TEST(the_prose_of_old_versions_is_known)
{
    static const struct {
        const char *text;
        enum gp_break_family family;
    } rows[] = {
        {"generic_jump TensorVariable()", GP_FAMILY_BRANCH},
        {"data dependent operator: aten._local_scalar_dense.default", GP_FAMILY_SCALAR},
        {"call_function BuiltinVariable(print) [ConstantVariable()] {}", GP_FAMILY_FOREIGN},
        {"builtin: print [<class 'str'>] False", GP_FAMILY_OUTPUT},
        {"Tensor.item", GP_FAMILY_SCALAR},
        {"dynamic shape operator: aten.nonzero.default", GP_FAMILY_SHAPE},
        {"'skip function f in file /a.py' in skip_files", GP_FAMILY_FOREIGN},
        {"call_function graph_break in skip_files", GP_FAMILY_ASKED},
        {"Tensor.backward", GP_FAMILY_AUTOGRAD},
        {"something never seen", GP_FAMILY_OTHER},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(gp_break_family_of(-1, rows[i].text, ""), rows[i].family);
}

TEST(every_family_says_what_to_do)
{
    for (int i = 0; i < GP_BREAK_FAMILY_COUNT; i++) {
        const struct gp_break_family_row *f = &gp_break_families[i];
        assert_non_null(f->name);
        assert_true(strlen(f->title) > 3 && strlen(f->brief) > 3 && strlen(f->action) > 10 &&
                    strlen(f->check) > 10);
        assert_true(strlen(f->brief) <= 16 && strlen(f->title) <= 22); /* a row fits 80 columns */
        assert_true(!strcmp(f->effort, "small") || !strcmp(f->effort, "medium") ||
                    !strcmp(f->effort, "large"));
    }
}
