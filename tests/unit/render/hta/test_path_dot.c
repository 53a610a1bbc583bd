// The critical path as a graph: folded to a size that a person can look at, and safe whatever the names are.
#include <stdio.h>

#include "analyze/hta/hta.h"
#include "analyze/hta/hta_priv.h"
#include "formats/base/buf.h"
#include "render/hta/hta_priv.h"
#include "tests/unit/unit.h"

/* A path of N pieces, piece I of LENGTH[I % 8] ns. */
static struct gp_hta_path *begin(struct gp_hta *h, size_t n, const int64_t *length)
{
    gp_hta_init(h, NULL);
    struct gp_hta_path path;
    memset(&path, 0, sizeof path);
    path.rank = -1;
    for (size_t i = 0; i < n; i++) {
        struct gp_path_piece p = {
            .begin_ns = path.end_ns, .end_ns = path.end_ns + length[i % 8], .bound = GP_PATH_COMPUTE};
        p.name = gp_intern_cstr(&h->strings, "kernel");
        p.stream = 7;
        p.tid = -1;
        path.end_ns = p.end_ns;
        path.bound_ns[p.bound] += length[i % 8];
        GP_VEC_PUSH(&path.pieces, p);
    }
    GP_VEC_PUSH(&h->paths, path);
    return &h->paths.at[0];
}

static size_t count(const char *text, const char *what)
{
    size_t n = 0;
    for (; (text = strstr(text, what)); text++) n++;
    return n;
}

TEST(a_short_path_is_drawn_piece_by_piece)
{
    const int64_t length[8] = {10, 20, 30, 40, 50, 60, 70, 80};
    struct gp_hta h;
    struct gp_buf b = {0};
    begin(&h, 3, length);
    gp_path_dot(&b, &h, 0);
    const char *dot = gp_buf_str(&b);
    assert_int_equal(count(dot, "[label="), 3);
    assert_int_equal(count(dot, " -> "), 2);
    assert_non_null(strstr(dot, "label=\"kernel\\n30 ns (50.0%)\"")); // 30 of 10 + 20 + 30
    assert_non_null(strstr(dot, "from 10 ns to 30 ns"));
    gp_buf_release(&b);
    gp_hta_release(&h);
}

TEST(a_long_path_is_folded_and_its_longest_pieces_stay)
{
    const int64_t length[8] = {1, 1, 1, 1000, 1, 1, 1, 1};
    struct gp_hta h;
    struct gp_buf b = {0};
    begin(&h, 80, length); // ten of 1000 ns, seventy of 1 ns in eleven runs
    gp_path_dot(&b, &h, 30);
    const char *dot = gp_buf_str(&b);
    assert_int_equal(count(dot, "label=\"kernel\\n1.00 "), 10);
    assert_int_equal(count(dot, " short pieces"), 11);
    // between the long ones; 3 before the first, 4 after the last
    assert_int_equal(count(dot, "7 short pieces"), 9);
    gp_buf_release(&b);
    gp_hta_release(&h);
}

TEST(there_are_never_more_nodes_than_asked_for)
{
    const int64_t lengths[][8] = {
        {5, 5, 5, 5, 5, 5, 5, 5}, {1, 9, 1, 9, 1, 9, 1, 9}, {1, 2, 3, 4, 5, 6, 7, 8}};
    for (size_t k = 0; k < 3; k++)
        for (uint32_t max = 3; max < 40; max += 4) {
            struct gp_hta h;
            struct gp_buf b = {0};
            begin(&h, 200, lengths[k]);
            gp_path_dot(&b, &h, max);
            assert_true(count(gp_buf_str(&b), "[label=") <= max);
            gp_buf_release(&b);
            gp_hta_release(&h);
        }
}

TEST(names_cannot_leave_their_string)
{
    const int64_t length[8] = {10, 10, 10, 10, 10, 10, 10, 10};
    struct gp_hta h;
    struct gp_buf b = {0};
    struct gp_hta_path *p = begin(&h, 1, length);
    p->pieces.at[0].name = gp_intern(&h.strings, "a\"];x\\\n\xff", 8);
    gp_path_dot(&b, &h, 0);
    // picture of a newline, U+FFFD
    assert_non_null(strstr(gp_buf_str(&b), "a\\\"];x\\\\\xE2\x90\x8A\xEF\xBF\xBD"));
    gp_buf_release(&b);
    gp_hta_release(&h);
}

TEST(nothing_to_draw_says_so)
{
    struct gp_hta h;
    struct gp_buf b = {0};
    gp_hta_init(&h, NULL);
    gp_path_dot(&b, &h, 0);
    assert_non_null(strstr(gp_buf_str(&b), "no critical path"));
    gp_buf_release(&b);
    gp_hta_release(&h);
}
