// Sequences of kernels laid against each other: cases by hand, and what must hold for any two.
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/diff/align.h"
#include "analyze/stacks/calltree.h"
#include "formats/base/buf.h"
#include "tests/unit/unit.h"

/* A letter is a kernel: A, a are attention, G, g, K, k matrix products, N, n communication, each capital of
 * the same family as its small letter; digits are fused by a compiler; u, v, w have the same role; the rest
 * is elementwise. */
static struct gp_align_item item_of(char c, int64_t dur_ns)
{
    struct gp_align_item i = {.key = (uint32_t)c, .kind = GP_FRAME_ELEMENTWISE, .dur_ns = dur_ns};
    char small = (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    i.family = (uint32_t)small;
    if (small == 'a') i.kind = GP_FRAME_ATTENTION;
    if (small == 'g' || small == 'k') i.kind = GP_FRAME_GEMM;
    if (small == 'n') i.kind = GP_FRAME_COMMUNICATION;
    if (c >= '0' && c <= '9') i.fused = true;
    if (c >= 'u' && c <= 'w') i.role = 1;
    return i;
}

static size_t items_of(struct gp_align_item *to, const char *s, int64_t first_ns)
{
    size_t n = strlen(s);
    for (size_t i = 0; i < n; i++) to[i] = item_of(s[i], first_ns + (int64_t)i);
    return n;
}

/* Pairs as "=" and blocks as "(pq|1 fused)", in order, "*" before whole ones. */
static void put_result(struct gp_buf *to, const struct gp_align *al, const char *a, const char *b)
{
    static const char *const words[] = {
#define X(id, word) word,
        GP_ALIGN_CHANGES(X)
#undef X
    };
    size_t p = 0, k = 0;
    uint32_t at_a = 0, at_b = 0;
    while (p < al->pairs.n || k < al->blocks.n) {
        if (p < al->pairs.n && al->pairs.at[p].a == at_a && al->pairs.at[p].b == at_b) {
            gp_buf_putc(to, '=');
            p++, at_a++, at_b++;
            continue;
        }
        assert_true(k < al->blocks.n);
        const struct gp_align_block *x = &al->blocks.at[k++];
        assert_true(x->a == at_a && x->b == at_b);
        gp_buf_printf(to, "%s(%.*s|%.*s %s)", x->whole ? "*" : "", (int)x->na, a + x->a, (int)x->nb, b + x->b,
                      words[x->change]);
        at_a += x->na, at_b += x->nb;
    }
}

static void expect(const char *a, const char *b, const char *want)
{
    struct gp_align_item x[256], y[256];
    struct gp_align al = {0};
    struct gp_buf got = {0};
    size_t n = items_of(x, a, 100), m = items_of(y, b, 200);
    gp_align_run(&al, x, n, y, m);
    put_result(&got, &al, a, b);
    assert_string_equal(gp_buf_str(&got), want);
    assert_false(al.bounded);
    gp_buf_release(&got);
    gp_align_release(&al);
}

TEST(equal_sequences_are_pairs)
{
    expect("", "", "");
    expect("pqr", "pqr", "===");
    expect("pGqApGqA", "pGqApGqA", "========");
}

TEST(one_side_alone_is_added_or_removed)
{
    expect("", "pq", "(|pq added)");
    expect("pq", "", "(pq| removed)");
    expect("GpqG", "GpqsG", "===(|s added)=");
    expect("GpsqG", "GpqG", "==(s| removed)==");
}

TEST(several_became_one_between_the_same_barriers)
{
    expect("GpqrG", "G1G", "=(pqr|1 fused)=");
    expect("G1G", "GpqrG", "=(1|pqr defused)=");
    expect("GpqrG", "G12G", "=(pqr|12 fused)=");
    expect("GpqrG", "GxyG", "=(pqr|xy changed)="); // other kernels, and no compiler made them
    expect("GuvG", "GwG", "=(uv|w fused)=");       // with the roles of what was there
    expect("GpqG", "G12G", "=(pq|12 changed)=");   // as many as before
}

TEST(variants_of_one_kernel_are_retiled)
{
    expect("pGq", "pgq", "=(G|g retiled)=");
    expect("pGqKr", "pgqkr", "=(G|g retiled)=(K|k retiled)=");
    expect("GuG", "GvG", "=(u|v retiled)=");
    expect("GpG", "G1G", "=(p|1 retiled)="); // alone between the same barriers
    expect("GPQG", "GpqG", "=(P|p retiled)(Q|q retiled)=");
}

TEST(what_moved_within_a_segment_is_reordered)
{
    // q goes from before p to behind it: one of the two is paired, the other moved.
    struct gp_align_item x[8], y[8];
    struct gp_align al = {0};
    size_t n = items_of(x, "GqpsG", 100), m = items_of(y, "GpsqG", 200);
    gp_align_run(&al, x, n, y, m);
    struct gp_buf got = {0};
    put_result(&got, &al, "GqpsG", "GpsqG");
    assert_string_equal(gp_buf_str(&got), "=(q| reordered)==(|q reordered)=");
    assert_int_equal(al.groups.n, 1);
    assert_int_equal(al.groups.at[0].times, 1);
    assert_int_equal(al.groups.at[0].na, 1);
    assert_int_equal(al.groups.at[0].nb, 1);
    assert_int_equal(al.groups.at[0].a_ns, 101);
    assert_int_equal(al.groups.at[0].b_ns, 203);
    gp_buf_release(&got);
    gp_align_release(&al);
}

/* The compiler computes the two products of the backward pass the other way round: what stands between them
 * is not worked out by their order. */
TEST(other_orders_of_barriers_make_no_claims)
{
    expect("AGpqrKstxA", "AKpqrGstxA", "=(G|K changed)===(K|G changed)====");
    expect("AGpqrsKA", "AKpqrsGA", "=(G|K changed)====(K|G changed)=");
    expect("AGpqrsKxA", "AK1G2rsxA", "=(|K1 added)=(pq|2 changed)==(K| removed)==");
}

/* The same names, but the first product is of another shape: other work, of which it is not known what was
 * fused. */
TEST(other_shapes_of_barriers_make_no_claims)
{
    struct gp_align_item x[8], y[8];
    struct gp_align al = {0};
    size_t n = items_of(x, "GpqrGs", 100), m = items_of(y, "G1Gs", 200);
    for (int shapes = 0; shapes < 2; shapes++) {
        x[4].work = y[2].work = 6, x[0].work = 5, y[0].work = shapes ? 7 : 5;
        gp_align_run(&al, x, n, y, m);
        assert_int_equal(al.blocks.n, 1);
        assert_int_equal(al.blocks.at[0].change, shapes ? GP_ALIGN_CHANGED : GP_ALIGN_FUSED);
        assert_true(al.segments.at[al.blocks.at[0].segment].same_work == !shapes);
        gp_align_release(&al);
    }
}

/* Half of a segment is the same: the rest is reported piece by piece; less than half: as a whole. */
TEST(segments_with_little_in_common_stay_whole)
{
    expect("ApqrsGtA", "Apq1G2G3A", "===(rs|1 changed)=(t|2G3 changed)=");
    expect("ApqrstGKA", "A123GGG4A", "=*(pqrstGK|123GGG4 changed)=");
}

/* Another type of data: no kernel is the same, but nothing says that their order is another. */
TEST(what_is_all_foreign_goes_by_kinds)
{
    struct gp_align_item x[8], y[8];
    struct gp_align al = {0};
    struct gp_buf got = {0};
    size_t n = items_of(x, "pGqrKs", 100), m = items_of(y, "5K67G8", 200);
    for (size_t i = 0; i < m; i++) y[i].key += 1000, y[i].family += 1000, y[i].fused = false;
    gp_align_run(&al, x, n, y, m);
    put_result(&got, &al, "pGqrKs", "5K67G8");
    assert_string_equal(gp_buf_str(&got),
                        "(p|5 retiled)(G|K retiled)(qr|67 changed)(K|G retiled)(s|8 retiled)");
    gp_buf_release(&got);
    gp_align_release(&al);
    n = items_of(x, "pGqrKs", 100),
    m = items_of(y, "5K67G8", 200); // some family is on both sides: their order counts
    for (size_t i = 0; i < m; i++) y[i].key += 1000;
    gp_align_run(&al, x, n, y, m);
    assert_false(al.segments.at[0].same_order);
    gp_align_release(&al);
}

/* With attention in one kernel there are other barriers on the sides, but it is known what it consists of. */
TEST(attention_is_fused_of_products)
{
    expect("pKqGrsGtK", "pKqAtK", "===(GrsG|A fused)==");
    expect("pKqAtK", "pKqGrsGtK", "===(A|GrsG defused)==");
}

/* Other products stand where products stood, though there is one more elsewhere: they have not moved, as of
 * their family the other side has none left over. */
TEST(foreign_products_replace_each_other)
{
    struct gp_align_item x[16], y[16];
    struct gp_align al = {0};
    struct gp_buf got = {0};
    size_t n = items_of(x, "pGqrKstGGuv", 100), m = items_of(y, "pGyqrKsktGuv", 200);
    for (size_t i = 0; i < m; i++)
        if (y[i].kind == GP_FRAME_GEMM) y[i].key += 1000, y[i].family += 1000;
    y[9] = item_of('G', 0); // as the second or third of A
    gp_align_run(&al, x, n, y, m);
    put_result(&got, &al, "pGqrKstGGuv", "pGyqrKsktGuv");
    assert_string_equal(gp_buf_str(&got),
                        "=(G|G retiled)(|y added)==(K|K retiled)=(|k added)=(G| removed)===");
    gp_buf_release(&got);
    gp_align_release(&al);
}

/* Kernels of one family, in order, are reported one by one, even if none is the same. */
TEST(families_divide_what_is_left)
{
    expect("GPxQG", "GpyqG", "=(P|p retiled)(x|y retiled)(Q|q retiled)=");
    expect("GPxQG", "GpyzqG", "=(PxQ|pyzq changed)="); // half of the larger side is not enough
    expect("GPxQyzG", "Gp1G", "=(PxQyz|p1 fused)=");
    expect("AGPQRKSA", "AKpqrgsA",
           "=(G|K changed)(P|p retiled)(Q|q retiled)(R|r retiled)(K|g changed)(S|s retiled)=");
}

TEST(segments_begin_at_barriers_of_both)
{
    struct gp_align_item x[32], y[32];
    struct gp_align al = {0};
    size_t n = items_of(x, "sGApGqApGqApGt", 100), m = items_of(y, "sGA1GqA1GqA1Gtt", 200);
    gp_align_run(&al, x, n, y, m);
    assert_int_equal(al.segments.n, 4); // sG, and three that begin with A
    for (size_t i = 0; i < 4; i++) assert_true(al.segments.at[i].same_work && al.segments.at[i].same_order);
    assert_int_equal(al.segments.at[0].na, 2);
    assert_int_equal(al.segments.at[1].a, 2);
    assert_int_equal(al.segments.at[1].na, 4);
    assert_int_equal(al.segments.at[1].a_ns, 102 + 103 + 104 + 105);
    assert_int_equal(al.segments.at[3].nb, 5);
    assert_int_equal(al.segment_groups, 2); // only G; A and G
    assert_true(al.segments.at[1].group == al.segments.at[3].group);
    assert_int_equal(al.groups.n, 2);
    assert_int_equal(al.groups.at[0].times, 3); // p became 1, three times: b - a is 3 * 100
    assert_int_equal(al.groups.at[0].a_ns, 103 + 107 + 111);
    assert_int_equal(al.groups.at[0].b_ns, 203 + 207 + 211);
    assert_int_equal(al.groups.at[1].change, GP_ALIGN_ADDED);
    assert_int_equal(al.groups.at[1].b_ns, 214);
    gp_align_release(&al);
}

/* Attention is another kernel on the other side, but of one family: it is still where segments begin. */
TEST(retiled_barriers_cut_too)
{
    expect("pAqrApA", "paqrapa", "=(A|a retiled)==(A|a retiled)=(A|a retiled)");
    expect("pNqrNpN", "pnq1npn", "=(N|n retiled)=(r|1 retiled)(N|n retiled)=(N|n retiled)");
}

// ---- any two sequences ----

static uint64_t random_below(uint64_t *state, uint64_t n)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (*state >> 33) % n;
}

enum { MOST = 400 };

/* Layers of which each is a random text, repeated. */
static size_t random_step(struct gp_align_item *to, uint64_t *seed)
{
    static const char letters[] = "AGKNGKpqrstxyzuvw1";
    char layer[24];
    size_t n = 0, length = 1 + random_below(seed, sizeof layer - 1), layers = random_below(seed, 9);
    for (size_t i = 0; i < length; i++) layer[i] = letters[random_below(seed, sizeof letters - 1)];
    for (size_t l = 0; l < layers; l++)
        for (size_t i = 0; i < length && n < MOST / 2; i++)
            to[n++] = item_of(layer[i], 1000 + (int64_t)random_below(seed, 1000));
    return n;
}

/* The same with some kernels fused, gone, doubled, of another tile, or in another place. */
static size_t random_edits(struct gp_align_item *to, const struct gp_align_item *from, size_t n,
                           uint64_t *seed)
{
    uint64_t rate = 1 + random_below(seed, 40);
    size_t m = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t what = random_below(seed, rate);
        if (what == 0) continue;
        to[m++] = from[i];
        to[m - 1].dur_ns += (int64_t)random_below(seed, 100);
        if (what == 1) to[m] = item_of('5', 500), m++;
        if (what == 2) to[m - 1] = item_of((char)(from[i].key ^ 32), 700); // the other case
        if (what == 4 && i + 2 < n) to[m - 1] = item_of('6', 900), i += 2;
        if (what == 3 && m > 1) {
            struct gp_align_item t = to[m - 2];
            to[m - 2] = to[m - 1], to[m - 1] = t;
        }
    }
    return m;
}

static bool has_attention(const struct gp_align_item *i, size_t n)
{
    while (n)
        if (i[--n].kind == GP_FRAME_ATTENTION) return true;
    return false;
}

static void assert_each_once(const struct gp_align *al, const struct gp_align_item *a, size_t n,
                             const struct gp_align_item *b, size_t m)
{
    uint32_t at_a = 0, at_b = 0;
    size_t p = 0, k = 0;
    while (at_a < n || at_b < m) {
        if (p < al->pairs.n && al->pairs.at[p].a == at_a && al->pairs.at[p].b == at_b) {
            assert_int_equal(a[at_a].key, b[at_b].key);
            p++, at_a++, at_b++;
            continue;
        }
        assert_true(k < al->blocks.n);
        const struct gp_align_block *x = &al->blocks.at[k++];
        assert_true(x->a == at_a && x->b == at_b && (x->na || x->nb));
        assert_true(x->group < al->groups.n && x->segment < al->segments.n);
        assert_int_equal(al->groups.at[x->group].change, x->change);
        if (x->change == GP_ALIGN_ADDED) assert_true(!x->na);
        else if (x->change == GP_ALIGN_REMOVED) assert_true(!x->nb);
        else if (x->change != GP_ALIGN_REORDERED) assert_true(x->na && x->nb);
        bool claims = al->segments.at[x->segment].same_order;
        if (x->change == GP_ALIGN_FUSED)
            assert_true(x->na > x->nb && (claims || has_attention(b + x->b, x->nb)));
        if (x->change == GP_ALIGN_DEFUSED)
            assert_true(x->na < x->nb && (claims || has_attention(a + x->a, x->na)));
        if (x->change == GP_ALIGN_RETILED) assert_true(x->na == x->nb);
        at_a += x->na, at_b += x->nb;
    }
    assert_true(at_a == n && at_b == m && p == al->pairs.n && k == al->blocks.n);
}

static void assert_sums_close(const struct gp_align *al, const struct gp_align_item *a, size_t n,
                              const struct gp_align_item *b, size_t m)
{
    int64_t sum_a = 0, sum_b = 0, got_a = al->paired_a_ns, got_b = al->paired_b_ns, seg_a = 0, seg_b = 0;
    uint64_t na = al->pairs.n, nb = al->pairs.n;
    for (size_t i = 0; i < n; i++) sum_a += a[i].dur_ns;
    for (size_t i = 0; i < m; i++) sum_b += b[i].dur_ns;
    for (size_t i = 0; i < al->groups.n; i++) {
        const struct gp_align_group *g = &al->groups.at[i];
        got_a += g->a_ns, got_b += g->b_ns, na += g->na, nb += g->nb;
        assert_true(g->times > 0);
        if (i) assert_true(llabs(g[-1].b_ns - g[-1].a_ns) >= llabs(g->b_ns - g->a_ns));
    }
    uint32_t at_a = 0, at_b = 0;
    for (size_t i = 0; i < al->segments.n; i++) {
        const struct gp_align_segment *s = &al->segments.at[i];
        assert_true(s->a == at_a && s->b == at_b && s->group < al->segment_groups);
        at_a += s->na, at_b += s->nb, seg_a += s->a_ns, seg_b += s->b_ns;
    }
    assert_true(at_a == n && at_b == m);
    assert_true(got_a == sum_a && got_b == sum_b && seg_a == sum_a && seg_b == sum_b && na == n && nb == m);
}

static enum gp_align_change mirrored(uint32_t c)
{
    return c == GP_ALIGN_FUSED     ? GP_ALIGN_DEFUSED
           : c == GP_ALIGN_DEFUSED ? GP_ALIGN_FUSED
           : c == GP_ALIGN_ADDED   ? GP_ALIGN_REMOVED
           : c == GP_ALIGN_REMOVED ? GP_ALIGN_ADDED
                                   : (enum gp_align_change)c;
}

static void assert_mirrors(const struct gp_align *al, const struct gp_align *back)
{
    assert_true(al->pairs.n == back->pairs.n && al->blocks.n == back->blocks.n &&
                al->groups.n == back->groups.n);
    for (size_t i = 0; i < al->pairs.n; i++)
        assert_true(al->pairs.at[i].a == back->pairs.at[i].b && al->pairs.at[i].b == back->pairs.at[i].a);
    for (size_t i = 0; i < al->blocks.n; i++) {
        const struct gp_align_block *x = &al->blocks.at[i], *y = &back->blocks.at[i];
        assert_true(x->a == y->b && x->na == y->nb && x->b == y->a && x->nb == y->na && x->group == y->group);
        assert_true(mirrored(x->change) == y->change && x->whole == y->whole);
    }
    for (size_t i = 0; i < al->groups.n; i++) {
        const struct gp_align_group *x = &al->groups.at[i], *y = &back->groups.at[i];
        assert_true(x->a_ns == y->b_ns && x->b_ns == y->a_ns && x->na == y->nb && x->nb == y->na);
    }
}

TEST(any_two_sequences_close_and_mirror)
{
    static struct gp_align_item a[MOST], b[MOST];
    uint64_t seed = 1;
    size_t seen[GP_ALIGN_CHANGED + 1] = {0}, whole = 0;
    for (int round = 0; round < 2000; round++) {
        size_t n = random_step(a, &seed);
        size_t m = round % 4 ? random_edits(b, a, n, &seed) : random_step(b, &seed);
        struct gp_align al = {0}, back = {0};
        gp_align_run(&al, a, n, b, m);
        gp_align_run(&back, b, m, a, n);
        assert_each_once(&al, a, n, b, m);
        assert_each_once(&back, b, m, a, n);
        assert_sums_close(&al, a, n, b, m);
        assert_sums_close(&back, b, m, a, n);
        assert_mirrors(&al, &back);
        for (size_t i = 0; i < al.blocks.n; i++) {
            seen[al.blocks.at[i].change]++, seen[back.blocks.at[i].change]++;
            whole += al.blocks.at[i].whole;
        }
        gp_align_release(&al);
        gp_align_release(&back);
    }
    for (size_t i = 0; i <= GP_ALIGN_CHANGED; i++) assert_true(seen[i] > 50); // the test has seen everything
    assert_true(whole > 50);
}

/* What makes comparisons quadratic: nothing in order, few symbols, all unique. */
TEST(hostile_sequences_are_bounded)
{
    enum { N = 40000 };
    struct gp_align_item *a = calloc(N, sizeof *a), *b = calloc(N, sizeof *b);
    for (int kind = 0; kind < 5; kind++) {
        uint64_t seed = 3;
        for (uint32_t i = 0; i < N; i++) {
            a[i] = (struct gp_align_item){.key = i, .kind = GP_FRAME_GEMM, .dur_ns = INT64_MAX};
            b[i] = (struct gp_align_item){.key = N - i, .kind = GP_FRAME_GEMM, .dur_ns = INT64_MAX};
            if (kind == 1)
                a[i].key = (uint32_t)random_below(&seed, 2), b[i].key = (uint32_t)random_below(&seed, 2);
            if (kind == 2) a[i].key = i % 3, b[i].key = i % 2, a[i].kind = b[i].kind = GP_FRAME_ELEMENTWISE;
            if (kind == 3) b[i].key = i, a[i].role = b[i].role = 7;
            if (kind == 4) b[i].key = i / 2, a[i].kind = b[i].kind = GP_FRAME_ATTENTION;
        }
        struct gp_align al = {0};
        gp_align_run(&al, a, N, b, N);
        assert_each_once(&al, a, N, b, N);
        assert_true(al.bounded == (kind != 3));
        gp_align_release(&al);
    }
    free(a);
    free(b);
}
