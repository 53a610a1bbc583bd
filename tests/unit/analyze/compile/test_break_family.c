// Kinds of graph breaks to what we say about them.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "analyze/compile/break_family.h"

static void numbers_count_before_words(void **state)
{
    (void)state;
    assert_int_equal(gp_break_family_of(124, "a new text", ""), GP_FAMILY_SCALAR);
    assert_int_equal(gp_break_family_of(39, "cache limit", ""), GP_FAMILY_RECOMPILES);
    assert_int_equal(gp_break_family_of(39, "recompile limit", ""), GP_FAMILY_RECOMPILES);
    assert_int_equal(gp_break_family_of(291, "", ""), GP_FAMILY_OUTPUT); /* inside the range of NumPy's */
    assert_int_equal(gp_break_family_of(294, "", ""), GP_FAMILY_NUMPY);
}

static void a_number_that_stands_for_several_is_told_by_its_context(void **state)
{
    (void)state;
    assert_int_equal(gp_break_family_of(59, "Failed to trace builtin operator", "builtin print [] True"),
                     GP_FAMILY_OUTPUT);
    assert_int_equal(gp_break_family_of(59, "Failed to trace builtin operator", "builtin open []"),
                     GP_FAMILY_FOREIGN);
}

static void the_prose_of_old_versions_is_known(void **state)
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
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(gp_break_family_of(-1, rows[i].text, ""), rows[i].family);
}

static void every_family_says_what_to_do(void **state)
{
    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_count_before_words),
        cmocka_unit_test(a_number_that_stands_for_several_is_told_by_its_context),
        cmocka_unit_test(the_prose_of_old_versions_is_known),
        cmocka_unit_test(every_family_says_what_to_do),
    };
    return cmocka_run_group_tests_name("break_family", tests, NULL, NULL);
}
