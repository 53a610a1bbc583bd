/* unit.h -- what a unit test begins with: a test is TEST(name) { ... } and is run without being listed
 * anywhere.
 *
 *     TEST(sums_close)
 *     {
 *         assert_int_equal(busy_ns + idle_ns, all_ns);
 *     }
 *
 * A test that needs something made and taken down again is TEST_WITH(set_up, tear_down, name); its functions
 * and the test share what set_up writes to *state. TESTS_BETWEEN(set_up, tear_down), once in a file, is about
 * all of its tests. Tests run in the order of the file. */
#ifndef GP_TESTS_UNIT_H
#define GP_TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "formats/base/declare.h"

static struct CMUnitTest unit_tests[200]; /* cmocka skips those without a name */
static size_t unit_tests_n;
static CMFixtureFunction unit_before, unit_after;

/* Beyond the last place the program ends before its first test. */
static inline void unit_add(const char *name, CMUnitTestFunction test, CMFixtureFunction set_up,
                            CMFixtureFunction tear_down)
{
    if (unit_tests_n == sizeof unit_tests / sizeof *unit_tests) __builtin_trap();
    unit_tests[unit_tests_n++] = (struct CMUnitTest){name, test, set_up, tear_down, NULL};
}

#define TEST(name) TEST_WITH(NULL, NULL, name)

#define TEST_WITH(set_up, tear_down, name)                                                                   \
    static void name(void **state);                                                                          \
    __attribute__((constructor)) static void unit_add_##name(void)                                           \
    {                                                                                                        \
        unit_add(#name, name, set_up, tear_down);                                                            \
    }                                                                                                        \
    static void name(GP_UNUSED void **state)

#define TESTS_BETWEEN(set_up, tear_down)                                                                     \
    __attribute__((constructor)) static void unit_between(void)                                              \
    {                                                                                                        \
        unit_before = set_up;                                                                                \
        unit_after = tear_down;                                                                              \
    }                                                                                                        \
    _Static_assert(1, "")

static inline int unit_run(void) { return cmocka_run_group_tests(unit_tests, unit_before, unit_after); }

/* A program that also does something else defines UNIT_OWN_MAIN before it includes this, and returns
 * unit_run(). */
#ifndef UNIT_OWN_MAIN
int main(void) { return unit_run(); }
#endif

#endif
