// Lines of instructions: the three encodings, against a table that CPython 3.11 made and against ones by
// hand.
#include "collect/cpython/python_code.h"
#include "formats/base/count.h"
#include "tests/unit/unit.h"

/* Of a function with a list over three lines, a loop and a call over two lines, from line 1 on. */
static const uint8_t table_311[] = {
    128, 0, 216, 8,   9,   136, 65, 137, 5,   128, 65,  240, 6,   0,   9,   10, 216, 8,   9,
    240, 5, 2,   9,   11,  128, 65, 240, 6,   0,   14,  15,  240, 0,   2,   5,  17,  240, 0,
    2,   5, 17,  136, 1,   221, 8,  13,  136, 97,  216, 14,  15,  241, 3,   1,  9,   17,  244,
    0,   1, 9,   17,  240, 0,   1,  9,   17,  240, 0,   1,   9,   17,  224, 11, 12,  128, 72};
static const int64_t lines_311[] = {1, 2, 2, 2, 2, 2, 5, 6, 4, 4, 7, 7, 7, 7, 8,  8, 8,
                                    8, 8, 8, 8, 9, 8, 8, 8, 8, 8, 8, 8, 8, 8, 10, 10};

TEST(a_table_of_3_11_gives_the_lines_of_its_function)
{
    for (uint32_t unit = 0; unit < GP_COUNT(lines_311); unit++)
        assert_int_equal(gp_py_line(11, table_311, sizeof table_311, 1, unit), lines_311[unit]);
    assert_int_equal(gp_py_line(11, table_311, sizeof table_311, 1, 5000), 1);
}

/* 3.10: 4 bytes at line 11, 2 bytes without one, 6 bytes at line 9. */
TEST(pairs_of_3_10_have_their_lines_in_front)
{
    const uint8_t table[] = {4, 1, 2, 0x80, 6, 0xfe};
    const int64_t want[] = {11, 11, -1, 9, 9, 9, 10};
    for (uint32_t unit = 0; unit < GP_COUNT(want); unit++)
        assert_int_equal(gp_py_line(10, table, sizeof table, 10, unit), want[unit]);
}

/* 3.9: after 4 bytes one line more, after 2 more bytes two lines less, to the end. */
TEST(pairs_of_3_9_have_their_lines_behind)
{
    const uint8_t table[] = {4, 1, 2, 0xfe};
    const int64_t want[] = {10, 10, 11, 9, 9};
    for (uint32_t unit = 0; unit < GP_COUNT(want); unit++)
        assert_int_equal(gp_py_line(9, table, sizeof table, 10, unit), want[unit]);
}

TEST(tables_that_are_cut_or_empty_are_read_to_their_end)
{
    for (unsigned minor = 9; minor <= 14; minor++) {
        assert_int_equal(gp_py_line(minor, NULL, 0, 7, 3), 7);
        for (size_t n = 0; n < sizeof table_311; n++) gp_py_line(minor, table_311, n, 7, 1000);
    }
}
