// The graph of chains: its nodes and edges, what is folded, what has no room, names that would break out of
// their quotes.
#include <string.h>

#include "formats/base/buf.h"
#include "render/suggest/suggest_priv.h"
#include "tests/unit/unit.h"

static gp_sid name(struct gp_suggest *s, const char *text) { return gp_intern_cstr(&s->strings, text); }

/* A chain of N kernels of 10 us in each of two steps. */
static void add_chain(struct gp_suggest *s, uint64_t signature, uint32_t n, const char *kernel)
{
    struct gp_suggest_chain c = {.signature = signature, .first = (uint32_t)s->chain_kernels.n, .n = n};
    c.count = 2;
    c.counts = true;
    c.total_ns = n * 10000;
    c.saved_high_ns = (n - 1) * 10000;
    GP_VEC_PUSH(&s->chains, c);
    for (uint32_t i = 0; i < n; i++)
        GP_VEC_PUSH(&s->chain_kernels, ((struct gp_suggest_chain_kernel){.name = name(s, kernel),
                                                                         .label = name(s, kernel),
                                                                         .kind = GP_FRAME_ELEMENTWISE,
                                                                         .ns = 10000}));
}

static void begin(struct gp_suggest *s)
{
    gp_suggest_init(s, NULL);
    s->step.found = true;
    s->step.steps = 2;
    s->step.step_ns = s->step.unprofiled_ns = 1000000;
}

static int count(const char *text, const char *word)
{
    int n = 0;
    for (; (text = strstr(text, word)); text += strlen(word)) n++;
    return n;
}

TEST(sure_edges_have_their_bytes)
{
    struct gp_suggest s;
    struct gp_buf b = {0};
    begin(&s);
    add_chain(&s, 0x12ab, 3, "add");
    s.chain_kernels.at[1].bytes = 3000000;
    s.chain_kernels.at[1].passed_bytes = 1000000;
    gp_suggest_dot_write(&b, &s, 0);
    const char *dot = gp_buf_str(&b);
    assert_non_null(strstr(dot, "c00000000000012ab_0 -> c00000000000012ab_1 [label=\"1.00 MB\"];"));
    assert_non_null(strstr(dot, "c00000000000012ab_1 -> c00000000000012ab_2 [style=dashed];"));
    assert_non_null(strstr(dot, "label=\"add\\n10.0 \xC2\xB5s, 3.00 MB\""));
    assert_non_null(
        strstr(dot, "label=\"once per step, 30.0 \xC2\xB5s per step; one kernel instead saves up to 20.0 "
                    "\xC2\xB5s of GPU time\\l\""));
    assert_null(strstr(dot, "Not shown"));
    gp_buf_release(&b);
    gp_suggest_release(&s);
}

TEST(long_chains_are_folded)
{
    struct gp_suggest s;
    struct gp_buf b = {0};
    begin(&s);
    add_chain(&s, 1, 64, "add"); // 6 in front, 5 behind, 53 in one
    gp_suggest_dot_write(&b, &s, 0);
    const char *dot = gp_buf_str(&b);
    assert_int_equal(count(dot, "fillcolor="), 12);
    assert_int_equal(count(dot, " -> "), 11);
    assert_non_null(strstr(dot, "53 more kernels\\n530 \xC2\xB5s"));
    assert_non_null(strstr(dot, "_5 -> c0000000000000001_6 "));
    assert_non_null(strstr(dot, "_6 -> c0000000000000001_59 "));
    assert_non_null(strstr(dot, "c0000000000000001_63 [label="));
    gp_buf_release(&b);
    gp_suggest_release(&s);
}

TEST(what_has_no_room_is_told)
{
    struct gp_suggest s;
    struct gp_buf b = {0};
    begin(&s);
    add_chain(&s, 1, 4, "a"), add_chain(&s, 2, 4, "b"), add_chain(&s, 3, 2, "c"), add_chain(&s, 4, 2, "d");
    s.chains.at[3].counts = false;
    gp_suggest_dot_write(&b, &s, 6);
    const char *dot = gp_buf_str(&b);
    assert_int_equal(count(dot, "fillcolor="), 6); // the first and the third
    assert_non_null(strstr(dot, "Not shown: 2 kinds of chains, 60.0 \xC2\xB5s per step"));
    assert_true(strstr(dot, "cluster_0000000000000003") < strstr(dot, "cluster_0000000000000001"));
    gp_buf_release(&b);
    gp_suggest_release(&s);
}

TEST(names_stay_inside_their_quotes)
{
    struct gp_suggest s;
    struct gp_buf b = {0};
    begin(&s);
    add_chain(&s, 1, 2, "a\"];\nevil [x\\");
    gp_suggest_dot_write(&b, &s, 0);
    const char *dot = gp_buf_str(&b);
    assert_null(strstr(dot, "\nevil"));
    assert_non_null(strstr(dot, "label=\"a\\\"];"));
    assert_non_null(strstr(dot, "evil [x\\\\\\n10.0"));
    gp_buf_release(&b);
    gp_suggest_release(&s);
}

TEST(no_chains_are_told)
{
    struct gp_suggest s;
    struct gp_buf b = {0};
    begin(&s);
    gp_suggest_dot_write(&b, &s, 0);
    assert_non_null(strstr(gp_buf_str(&b), "no chains of kernels that a single kernel could replace"));
    gp_buf_release(&b);
    gp_suggest_release(&s);
}
