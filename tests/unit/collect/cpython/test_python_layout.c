// Where things lie in the interpreters: the versions, and the table that 3.13 to 3.15 have of themselves,
// with the GIL and without.
#include <string.h>

#include "collect/cpython/python_layout.h"
#include "collect/cpython/remote.h"
#include "tests/unit/python_table.h"
#include "tests/unit/unit.h"

TEST(versions_before_3_13_are_known)
{
    struct gp_py_layout o;
    assert_true(gp_py_layout(&o, 0x030b02f0, NULL, 0));
    assert_int_equal(o.minor, 11);
    assert_int_equal(o.thread_native_id, 160);
    assert_int_equal(o.code_start, 184);
    assert_true(gp_py_layout(&o, 0x03090000, NULL, 0));
    assert_int_equal(o.thread_native_id, GP_PY_NONE);
    assert_false(gp_py_layout(&o, 0x03080000, NULL, 0));
    assert_false(gp_py_layout(&o, 0x030f0000, NULL, 0)); /* has no table */
    assert_false(gp_py_layout(&o, 0x03100000, NULL, 0));
    assert_false(gp_py_layout(&o, 0x020b0000, NULL, 0));
}

TEST(later_versions_say_it_themselves)
{
    for (unsigned i = 0; i < 6; i++) {
        unsigned minor = 13 + i / 2, more = i % 2 ? 16 : 0;
        uint64_t t[GP_PY_TABLE_BYTES / 8];
        struct gp_py_layout o;
        gp_python_table_make(t, minor, i % 2);
        uint32_t version = (uint32_t)t[1];
        assert_true(gp_py_layout(&o, version, t, sizeof t));
        assert_int_equal(o.minor, minor);
        assert_int_equal(o.runtime_head, 1024);
        assert_int_equal(o.interp_threads, 7344);
        assert_int_equal(o.interp_collecting, 7600);
        assert_int_equal(o.gil_pointer, 16);
        assert_int_equal(o.gil_holder, 8 + more / 2);
        assert_int_equal(o.gil_locked, 16 + more / 2);
        assert_int_equal(o.thread_frame, 72);
        assert_int_equal(o.thread_cframe, GP_PY_NONE);
        assert_int_equal(o.thread_pthread, 152);
        assert_int_equal(o.thread_native_id, 160);
        assert_int_equal(o.thread_top, 240);
        assert_int_equal(o.frame_owner, 70);
        assert_int_equal(o.code_start, 200 + more);
        assert_int_equal(o.object_type, 8 + more);
        assert_int_equal(o.object_size, 16 + more);
        assert_int_equal(o.bytes_data, 32 + more);
        assert_int_equal(o.str_other, 56 + more);
        assert_int_equal(o.str_kind, more && minor > 13 ? 8 : 2);
        assert_int_equal(o.thread_status, more ? 32 : GP_PY_NONE);
        assert_int_equal(o.code_copies, more && minor > 13 ? 208 : GP_PY_NONE);
        assert_int_equal(o.generator_state, minor > 13 ? 6 : 5);
        assert_int_equal(o.generator_runs, minor > 14 ? 4 : 0);
        assert_false(gp_py_layout(&o, version, t, sizeof t - 1));
        t[1] = 0;
        t[gp_python_table_thread(minor)] = 1 << 19; /* a thread of half a megabyte */
        assert_false(gp_py_layout(&o, version, t, sizeof t));
        memcpy(t, "xdebugpx", 8);
        assert_false(gp_py_layout(&o, version, t, sizeof t));
    }
}

TEST(since_3_14_it_runs_a_file_when_it_is_asked_to)
{
    for (unsigned minor = 13; minor <= 15; minor++) {
        uint64_t t[GP_PY_TABLE_BYTES / 8];
        struct gp_py_ask a;
        gp_python_table_make(t, minor, false);
        assert_int_equal(gp_py_asking(&a, t, sizeof t), minor > 13);
        if (minor == 13) continue;
        assert_int_equal(a.runtime_head, 1024);
        assert_int_equal(a.interp_main, 7360);
        assert_int_equal(a.interp_allows, 8076);
        assert_int_equal(a.thread_breaks, 24);
        assert_int_equal(a.thread_asked, 304);
        assert_int_equal(a.thread_path, 308);
        assert_int_equal(a.path_bytes, 512);
        assert_false(gp_py_asking(&a, t, sizeof t - 1));
        t[1] += UINT64_C(1) << 16;
        if (minor == 15) assert_false(gp_py_asking(&a, t, sizeof t));
        memcpy(t, "xdebugpx", 8);
        assert_false(gp_py_asking(&a, t, sizeof t));
    }
}

TEST(what_a_thread_waits_for_is_read_off_its_call)
{
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
