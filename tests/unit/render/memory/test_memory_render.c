// The answer of trace-memory in its forms: what was held in them sums to what the analysis says.
#include <string.h>
#include "analyze/memory/memory.h"
#include "formats/base/buf.h"
#include "render/memory/memory_formats.h"
#include "render/memory/memory_priv.h"
#include "tests/unit/answer_text.h"
#include "tests/unit/memory_make.h"
#include "tests/unit/unit.h"

TEST(blocks_and_stacks_are_rows)
{
    struct gp_memory m;
    struct gp_buf b = {0};
    memory_of_three(&m);
    struct gp_memory_answer a = {.m = &m, .table = "allocations"};
    /* what lives at the end has no time of its end */
    assert_string_equal(
        answer_text(&b, gp_memory_formats, "csv", &a),
        "device,addr,bytes,requested_bytes,alloc_ns,free_ns,stream,step,range,op,category,stack\r\n"
        "cuda:0,4096,1000,1000,100,,0,,,aten::linear,unknown,0\r\n"
        "cuda:0,8192,600,600,2000,2500,0,,,aten::relu,unknown,1\r\n"
        "cuda:0,12288,300,300,4000,,0,,,aten::add,unknown,2\r\n");
    a.table = "stacks";
    const char *stacks = answer_text(&b, gp_memory_formats, "csv", &a);
    assert_int_equal(strncmp(stacks, "device,stack,key,range,op,module,frames\r\n", 41), 0);
    assert_non_null(strstr(stacks, "cuda:0,1,aten::relu,,aten::relu,,aten::relu\r\n")); // no file, no blank
    a.table = "none";
    assert_string_equal(answer_text(&b, gp_memory_formats, "csv", &a), "");
    assert_true(a.empty);
    gp_buf_release(&b);
    gp_memory_release(&m);
}

static int64_t weight_of(const struct gp_flame *flame)
{
    int64_t sum = 0;
    for (size_t i = 0; i < flame->tree.nodes.n; i++) sum += flame->tree.nodes.at[i].self;
    return sum;
}

TEST(a_tree_of_stacks_weighs_what_was_held)
{
    struct gp_memory m;
    struct gp_flame flame;
    struct gp_buf b = {0};
    memory_of_three(&m);
    gp_memory_flame(&flame, &m, 0, m.devices.at[0].peak_position);
    assert_int_equal(weight_of(&flame), 1600);
    gp_flame_release(&flame);
    gp_memory_flame(&flame, &m, 0, (uint32_t)m.devices.at[0].rows);
    assert_int_equal(weight_of(&flame), 1300);
    gp_flame_release(&flame);
    struct gp_memory_answer a = {.m = &m};
    assert_string_equal(answer_text(&b, gp_memory_formats, "folded", &a),
                        "aten::linear 1000\naten::relu 600\n");
    gp_buf_release(&b);
    gp_memory_release(&m);
}

TEST(sentences_and_tables_have_the_same_figures)
{
    struct gp_memory m;
    struct gp_buf b = {0};
    memory_of_three(&m);
    struct gp_memory_answer a = {.m = &m, .top = 10, .width = ANSWER_WIDE};
    /* 1000 of 1600 bytes; 1900 ns after the first allocation */
    assert_non_null(strstr(answer_text(&b, gp_memory_formats, "text", &a), "62.5% of it: aten::linear."));
    assert_non_null(strstr(b.data, "cuda:0 peaked at 1.60 kB allocated of 4.10 kB reserved, 1.90 µs into"));
    a.table = "holders";
    assert_non_null(strstr(answer_text(&b, gp_memory_formats, "csv", &a),
                           "aten::linear,stack,false,1,unknown,1000,62.5,1000,"));
    assert_non_null(strstr(b.data, "aten::relu,stack,false,1,unknown,600,37.5,600,"));
    gp_buf_release(&b);
    gp_memory_release(&m);
}

TEST(json_that_is_too_long_is_left_out_as_a_whole)
{
    struct gp_memory m;
    struct gp_buf b = {0};
    memory_of_three(&m);
    assert_true(gp_memory_json_short(&b, &m, "1", 1 << 20));
    assert_non_null(strstr(gp_buf_str(&b), "\"peak_bytes\": 1600"));
    assert_non_null(strstr(b.data, "\"fragmentation\": null")); /* not known, and not 0 */
    size_t n = b.n;
    b.n = 0;
    assert_true(gp_memory_json_short(&b, &m, "1", n));
    assert_int_equal(b.n, n);
    b.n = 0;
    assert_false(gp_memory_json_short(&b, &m, "1", n - 1));
    assert_int_equal(b.n, 0);
    gp_buf_release(&b);
    gp_memory_release(&m);
}

/* The next number of a pack: LEB128, as render/page/page_pack.h has it. */
static uint64_t number(const uint8_t **at, const uint8_t *end)
{
    uint64_t v = 0;
    for (int shift = 0; *at < end; shift += 7) {
        v |= (uint64_t)(**at & 0x7f) << shift;
        if (!(*(*at)++ & 0x80)) return v;
    }
    fail_msg("the pack is cut");
    return 0;
}

static int64_t signed_number(const uint8_t **at, const uint8_t *end)
{
    uint64_t v = number(at, end);
    return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

/* Categories, then the curve: times, allocated, reserved, and a column per category. They are read here a
 * second time, and at each point the categories sum to what is allocated. */
TEST(a_packed_curve_closes)
{
    enum { MOST = 64 };
    struct gp_memory m;
    struct gp_memory_moments at;
    struct gp_buf b = {0};
    int64_t allocated[MOST], highest = 0, sum = 0;
    memory_of_three(&m);
    gp_memory_moments_init(&at, &m, 0, &(struct gp_memory_moments_opts){60, 60, 10});
    gp_memory_pack(&b, &m, 0, &at, 100);
    const uint8_t *p = (const uint8_t *)b.data, *end = p + b.n;
    uint64_t categories = number(&p, end);
    assert_int_equal(categories, GP_CATEGORY_COUNT);
    for (uint64_t i = 0; i < 2 * categories; i++) { /* a name and a class each */
        uint64_t n = number(&p, end);
        assert_true(n <= (uint64_t)(end - p));
        p += n;
    }
    uint64_t points = number(&p, end);
    assert_int_equal(points, at.curve.n);
    assert_true(points > 0 && points < MOST);
    uint64_t time_ns = 0;
    for (uint64_t i = 0; i < points; i++) time_ns += number(&p, end);
    assert_int_equal(time_ns, 3900); /* from 100 to 4000 */
    for (uint64_t i = 0; i < points; i++) {
        allocated[i] = sum += signed_number(&p, end);
        if (sum > highest) highest = sum;
    }
    assert_int_equal(highest, 1600);
    assert_int_equal(sum, 1300);
    sum = 0;
    for (uint64_t i = 0; i < points; i++) sum += signed_number(&p, end);
    assert_int_equal(sum, 4096);
    for (uint64_t c = 0; c < categories; c++) {
        sum = 0;
        for (uint64_t i = 0; i < points; i++) allocated[i] -= sum += signed_number(&p, end);
    }
    for (uint64_t i = 0; i < points; i++) assert_int_equal(allocated[i], 0);
    gp_buf_release(&b);
    gp_memory_moments_release(&at);
    gp_memory_release(&m);
}

TEST(pictures_show_the_peak_and_nothing_that_is_not_known)
{
    struct gp_memory m;
    struct gp_memory_moments at;
    struct gp_buf b = {0};
    struct gp_svg w = {.out = &b};
    memory_of_three(&m);
    gp_memory_moments_init(&at, &m, 0, &(struct gp_memory_moments_opts){60, 60, 10});
    gp_memory_curve(&w, &m, 0, &at);
    gp_svg_end(&w);
    assert_non_null(strstr(gp_buf_str(&b), ">peak 1.60 kB<"));
    assert_non_null(strstr(b.data, "class=\"k-api\"")); /* of unknown category, and what was reserved only: */
    assert_non_null(strstr(b.data, "class=\"k-idle\""));
    assert_null(strstr(b.data, "out of memory"));
    b.n = 0;
    gp_memory_map(&w, &m, 0, 3000);
    assert_int_equal(b.n, 0); /* a trace does not tell how segments lie */
    gp_buf_release(&b);
    gp_memory_moments_release(&at);
    gp_memory_release(&m);
}

TEST(a_page_is_the_same_each_time_and_names_its_input)
{
    struct gp_memory m;
    struct gp_buf one = {0}, two = {0};
    const struct gp_memory_answer a = {.m = &m, .input = "a<b>.pickle", .top = 10};
    memory_of_three(&m);
    gp_memory_html_write(&one, &a);
    gp_memory_html_write(&two, &a);
    assert_true(one.n == two.n && !memcmp(one.data, two.data, one.n));
    assert_true(one.n < GP_MEMORY_PAGE_BYTES);
    assert_non_null(strstr(gp_buf_str(&one), "a&lt;b&gt;.pickle"));
    assert_null(strstr(one.data, "a<b>"));
    gp_buf_release(&one);
    gp_buf_release(&two);
    gp_memory_release(&m);
}
