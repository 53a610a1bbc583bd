// Which trees each format shows, and what it says where there are none.
#include "formats/base/buf.h"
#include "render/flame/flame_formats.h"
#include "tests/unit/unit.h"

static void assert_weights(const char *format, const char *asked, size_t n, const enum gp_weight *want)
{
    enum gp_weight got[GP_FLAME_WEIGHTS];
    assert_int_equal(gp_flame_weights(gp_answer_format(gp_flame_formats, format), asked, got), n);
    for (size_t i = 0; i < n; i++) assert_int_equal(got[i], want[i]);
}

TEST(formats_show_the_weight_that_was_asked_for_and_those_they_have_room_for)
{
    static const enum gp_weight gpu[] = {GP_WEIGHT_GPU}, bytes[] = {GP_WEIGHT_BYTES},
                                idle[] = {GP_WEIGHT_IDLE};
    static const enum gp_weight times[] = {GP_WEIGHT_GPU, GP_WEIGHT_CPU, GP_WEIGHT_IDLE};
    static const enum gp_weight figures[] = {GP_WEIGHT_GPU, GP_WEIGHT_COUNT, GP_WEIGHT_BYTES};
    assert_weights("svg", NULL, 1, gpu);
    assert_weights("svg", "bytes", 1, bytes);
    assert_weights("folded", "idle", 1, idle);
    assert_weights("html", NULL, 3, times);
    assert_weights("html", "bytes", 3, times);
    assert_weights("pprof", NULL, 2, times);
    assert_weights("pprof", "idle", 1, idle);
    assert_weights("speedscope", NULL, 3, figures);
    assert_weights("speedscope", "gpu", 1, gpu);
}

TEST(stats_are_one_line)
{
    struct gp_flame f = {.stats = {.gpu_events = 7, .unattributed = 2, .filtered = 1}};
    struct gp_buf b = {0};
    gp_flame_put_stats(&b, &f);
    assert_string_equal(gp_buf_str(&b),
                        "GPU events: 7, without a launch record: 2, filtered out: 1, host events "
                        "that cross others: 0, duplicate launch records: 0, frames: 0");
    gp_buf_release(&b);
}
