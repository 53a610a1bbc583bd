// Where things lie in the interpreters: the versions, and the table that 3.13 and 3.14 have of themselves.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "collect/sample/python_layout.h"
#include "collect/sample/thread_state.h"

static void versions_before_3_13_are_known(void **state)
{
    (void)state;
    struct gp_py_layout o;
    assert_true(gp_py_layout(&o, 0x030b02f0, NULL, 0));
    assert_int_equal(o.minor, 11);
    assert_int_equal(o.thread_native_id, 160);
    assert_int_equal(o.code_start, 184);
    assert_true(gp_py_layout(&o, 0x03090000, NULL, 0));
    assert_int_equal(o.thread_native_id, GP_PY_NONE);
    assert_false(gp_py_layout(&o, 0x03080000, NULL, 0));
    assert_false(gp_py_layout(&o, 0x030f0000, NULL, 0));
    assert_false(gp_py_layout(&o, 0x020b0000, NULL, 0));
}

/* The table of 3.13, or with MORE = 1 of 3.14, whose groups are longer. */
static void make_table(uint64_t t[GP_PY_TABLE_BYTES / 8], unsigned more)
{
    memset(t, 0, GP_PY_TABLE_BYTES);
    memcpy(t, "xdebugpy", 8);
    t[1] = 0x030d00f0 + ((uint64_t)more << 16);
    t[4] = 608, t[5] = 632;
    uint64_t *interp = t + 6, *thread = interp + 13 + 3 * more, *frame = thread + 9,
             *code = frame + 6 + 2 * more;
    uint64_t *bytes = code + 10 + more + 20 + 4 * more, *string = bytes + 3, *gc = string + 4;
    interp[2] = 7264, interp[3] = 7344, interp[4 + more] = 7500, interp[8 + more] = 16;
    thread[0] = 304, thread[2] = 8, thread[3] = 16, thread[4] = 72, thread[5] = 152, thread[6] = 160,
    thread[7] = 232;
    frame[0] = 88, frame[1] = 8, frame[2] = 0, frame[3] = 56, frame[5] = 70;
    code[0] = 208, code[1] = 112, code[3] = 128, code[4] = 136, code[5] = 68, code[9] = 200;
    bytes[1] = 16, bytes[2] = 32;
    string[1] = 32, string[2] = 16, string[3] = 40;
    gc[1] = 100;
}

static void later_versions_say_it_themselves(void **state)
{
    (void)state;
    for (unsigned more = 0; more < 2; more++) {
        uint64_t t[GP_PY_TABLE_BYTES / 8];
        struct gp_py_layout o;
        make_table(t, more);
        uint32_t version = (uint32_t)t[1];
        assert_true(gp_py_layout(&o, version, t, sizeof t));
        assert_int_equal(o.minor, 13 + more);
        assert_int_equal(o.runtime_head, 632);
        assert_int_equal(o.interp_threads, 7344);
        assert_int_equal(o.interp_collecting, 7600);
        assert_int_equal(o.gil_pointer, 16);
        assert_int_equal(o.thread_frame, 72);
        assert_int_equal(o.thread_cframe, GP_PY_NONE);
        assert_int_equal(o.thread_top, 240);
        assert_int_equal(o.frame_owner, 70);
        assert_int_equal(o.code_start, 200);
        assert_int_equal(o.str_other, 56);
        assert_false(gp_py_layout(&o, version, t, sizeof t - 1));
        t[1] = 0;
        t[6 + 13 + 3 * more] = 1 << 19; /* a thread of half a megabyte */
        assert_false(gp_py_layout(&o, version, t, sizeof t));
        memcpy(t, "xdebugpx", 8);
        assert_false(gp_py_layout(&o, version, t, sizeof t));
    }
}

static void what_a_thread_waits_for_is_read_off_its_call(void **state)
{
    (void)state;
    int fd;
    assert_int_equal(gp_thread_does_parse("running\n", &fd), GP_DOES_RUN);
    assert_int_equal(gp_thread_does_parse("", &fd), GP_DOES_RUN);
#ifdef __x86_64__
    assert_int_equal(gp_thread_does_parse("202 0x7f 0x80 0x0 0x0 0x0 0x0 0x1 0x2\n", &fd), GP_DOES_LOCK);
    assert_int_equal(gp_thread_does_parse("0 0x3 0x80 0x0 0x0 0x0 0x0 0x1 0x2\n", &fd), GP_DOES_READ);
    assert_int_equal(gp_thread_does_parse("230 0x0 0x0\n", &fd), GP_DOES_SLEEP);
    assert_int_equal(fd, -1);
    assert_int_equal(gp_thread_does_parse("16 0x1f 0x80\n", &fd), GP_DOES_OTHER);
    assert_int_equal(fd, 31);
#endif
    assert_int_equal(gp_thread_does_parse("99999 0x1f\n", &fd), GP_DOES_OTHER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(versions_before_3_13_are_known),
        cmocka_unit_test(later_versions_say_it_themselves),
        cmocka_unit_test(what_a_thread_waits_for_is_read_off_its_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
