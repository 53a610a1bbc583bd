// Proton's trees as traces: what follows what, and that no time is lost or made up.
#include <string.h>
#include "formats/base/err.h"
#include "formats/base/input.h"
#include "formats/model/format.h"
#include "tests/unit/trace_rows.h"
#include "tests/unit/unit.h"

extern const struct gp_reader gp_reader_hatchet;

static void read_text(struct gp_trace *t, const char *text)
{
    struct gp_err err = {0};
    const struct gp_read_opts opts = {.threads = 1};
    struct gp_input *in = gp_input_memory(text, strlen(text), 1);
    gp_trace_init(t, GP_NEED_ALL);
    assert_int_equal(gp_reader_hatchet.read(t, in, &opts, &err), 0);
    gp_input_close(in);
    gp_trace_finish(t);
}

#define FRAME(name)    "{\"frame\":{\"name\":\"" name "\"},\"metrics\":{"
#define TIME(ns, n, d) "\"time (ns)\":" #ns ",\"count\":" #n ",\"device_id\":\"" #d "\"}"
#define TREE(nodes)    "[" FRAME("ROOT") "},\"children\":[" nodes "]},{\"CUDA\":{}}]"

TEST(kernels_follow_each_other_in_the_order_of_the_tree)
{
    struct gp_trace t;
    read_text(&t, TREE(FRAME("layer") "},\"children\":[" FRAME("gemm")
                           TIME(1001, 2, 1) ",\"children\":[]}," FRAME("add")
                               TIME(500, 1, 0) "}]}," FRAME("last") TIME(7, 1, 0) "}"));
    /* 1001 ns of two kernels are 501 and 500 */
    assert_string_equal(rows_of(&t, GP_GPU), "0+501 gemm; 501+500 gemm; 1001+500 add; 1501+7 last");
    assert_string_equal(rows_of(&t, GP_RANGE), "0+1501 layer"); /* the root is none */
    assert_string_equal(rows_of(&t, GP_API), "0+0 cudaLaunchKernel; 501+0 cudaLaunchKernel; "
                                             "1001+0 cudaLaunchKernel; 1501+0 cudaLaunchKernel");
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(gp_get_corr(&t.events[GP_GPU], i), gp_get_corr(&t.events[GP_API], i));
    assert_int_equal(track_of(&t, GP_GPU, 0)->device, 1);
    assert_int_equal(track_of(&t, GP_GPU, 2)->device, 0);
    assert_string_equal(gp_trace_get_meta(&t, "timeline"), "\"made up\"");
    gp_trace_release(&t);
}

TEST(the_own_time_of_a_scope_is_a_kernel_before_its_children)
{
    struct gp_trace t;
    read_text(&t, TREE(FRAME("step") TIME(30, 1, 0) ",\"children\":[" FRAME("gemm") TIME(70, 1, 0) "}]}"));
    assert_string_equal(rows_of(&t, GP_GPU), "0+30 step; 30+70 gemm");
    assert_string_equal(rows_of(&t, GP_RANGE), "0+100 step");
    gp_trace_release(&t);
}

/* 10^9 kernels stand in a few bytes: they are joined to at most 65536 and one per 16 bytes, and counted. */
TEST(a_count_beyond_all_bounds_is_joined_and_its_time_kept)
{
    struct gp_trace t;
    int64_t sum_ns = 0;
    static const char text[] = TREE(FRAME("k") TIME(2000000003, 1000000000, 0) "}");
    const int64_t most = 65536 + (int64_t)(sizeof text - 1) / 16;
    read_text(&t, text);
    const struct gp_events *gpu = &t.events[GP_GPU];
    assert_int_equal(gpu->n, most);
    for (size_t i = 0; i < gpu->n; i++) sum_ns += gpu->dur_ns[i];
    assert_int_equal(sum_ns, 2000000003);
    assert_int_equal(t.issues[GP_Q_LIMIT].count, 1000000000 - most);
    gp_trace_release(&t);
}

TEST(what_is_damaged_is_counted_where_it_is)
{
    static const char cut[] = "[" FRAME("ROOT") "},\"children\":[" FRAME("a") TIME(5, 1, 0) "}";
    static const char bad[] =
        TREE(FRAME("a") "\"time (ns)\":-4}},{\"frame\":{\"name\":\"b\"},\"metrics\":{" TIME(6, 1, 0) "}");
    struct gp_trace t;
    read_text(&t, cut);
    assert_string_equal(rows_of(&t, GP_GPU), "0+5 a");
    assert_int_equal(t.issues[GP_Q_TRUNCATED].count, 1);
    assert_int_equal(t.issues[GP_Q_TRUNCATED].first_offset, strlen(cut));
    gp_trace_release(&t);
    read_text(&t, bad);
    assert_string_equal(rows_of(&t, GP_GPU), "0+6 b");
    assert_int_equal(t.issues[GP_Q_BAD_VALUE].count, 1);
    assert_int_equal(t.issues[GP_Q_BAD_VALUE].first_offset, strstr(bad, "-4") - bad);
    gp_trace_release(&t);
}

static bool is_hatchet(const char *text)
{
    return gp_reader_hatchet.sniff((const uint8_t *)text, strlen(text));
}

TEST(other_json_is_left_to_other_readers)
{
    assert_true(is_hatchet(TREE("")));
    assert_false(is_hatchet("[{\"ph\":\"X\",\"name\":\"children\",\"children\":1}]"));
    assert_false(is_hatchet("{\"frame\":{},\"children\":[]}"));
    assert_false(is_hatchet("[1,2]"));
    assert_false(is_hatchet(""));
}
