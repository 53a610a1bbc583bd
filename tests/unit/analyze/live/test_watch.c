// What digests of simulated ranks lead to: events once, at their time, and only of what lasts.
#include <stdlib.h>
#include <string.h>

#include "analyze/live/watch.h"
#include "formats/base/buf.h"
#include "tests/fleet/sim_member.h"
#include "tests/unit/unit.h"

static const int64_t SECOND = 1000000000;

struct seen {
    int n[8];
    struct gp_watch_event last;
    char text[400];
};

static void on_event(void *ctx, const struct gp_watch_event *e)
{
    struct seen *s = ctx;
    s->n[e->kind]++;
    s->last = *e;
    s->last.slow = NULL;
    strncpy(s->text, e->text, sizeof s->text - 1);
}

/* The digest of one rank for one second. */
static void add(struct gp_watch *w, struct sim *s, int32_t rank, int32_t second, uint64_t run, int64_t now_ns)
{
    struct gp_fleet f;
    gp_fleet_init(&f);
    s->first = second;
    sim_add(s, rank, &f);
    struct gp_digest d = {.run = run,
                          .seq = (uint64_t)second + 1,
                          .merged = 1,
                          .time_ns = (second + 100) * SECOND,
                          .member = f.kept.at[0]};
    gp_watch_add(w, &d, &f.strings, now_ns);
    gp_fleet_release(&f);
}

static void run(struct gp_watch *w, struct sim *s, int32_t from, int32_t to)
{
    for (int32_t second = from; second < to; second++)
        for (int32_t rank = 0; rank < s->ranks; rank++) add(w, s, rank, second, 1, (second + 1) * SECOND);
}

TEST(test_a_moment_is_not_reported)
{
    struct seen seen = {0};
    struct gp_watch *w = gp_watch_new(on_event, &seen);
    struct sim s = {.ranks = 16, .steps = 1, .per_node = 8, .seed = 3};
    const int32_t every = (int32_t)(GP_WATCH_EVERY_NS / SECOND);
    run(w, &s, 0, 2 * every);
    s.faults[s.n_faults++] = (struct sim_fault){SIM_COMPUTE, 5, 30, 0};
    run(w, &s, 2 * every, 3 * every); /* one comparison */
    s.n_faults = 0;
    run(w, &s, 3 * every, 40);
    for (int i = 0; i < 8; i++) assert_int_equal(seen.n[i], 0);
    assert_int_equal(gp_watch_state(w).n_slow, 0);
    gp_watch_free(w);
}

TEST(test_old_and_repeated_digests)
{
    struct seen seen = {0};
    struct gp_watch *w = gp_watch_new(on_event, &seen);
    struct sim s = {.ranks = 4, .steps = 1, .per_node = 8, .seed = 3};
    run(w, &s, 0, 5);
    add(w, &s, 2, 4, 1, 6 * SECOND); /* again */
    add(w, &s, 2, 3, 2, 6 * SECOND); /* of an earlier run */
    assert_int_equal(gp_watch_state(w).late, 2);
    add(w, &s, 2, 8, 1, 6 * SECOND); /* 5, 6 and 7 are missing */
    assert_int_equal(gp_watch_state(w).missing, 3);
    add(w, &s, 2, 20, 3, 6 * SECOND); /* started again */
    assert_int_equal(gp_watch_state(w).late, 2);
    assert_int_equal(gp_watch_state(w).missing, 3);
    assert_int_equal(gp_watch_state(w).digests, 22);
    gp_watch_free(w);
}

/* Steps of 20 seconds: the rank is not silent between them, and one slow step is not taken for two. */
TEST(test_long_steps)
{
    struct seen seen = {0};
    struct gp_watch *w = gp_watch_new(on_event, &seen);
    struct sim s = {.ranks = 8, .steps = 1, .per_node = 8, .seed = 3};
    for (int32_t step = 0; step < 8; step++) {
        s.n_faults = 0;
        if (step == 4) s.faults[s.n_faults++] = (struct sim_fault){SIM_COMPUTE, 5, 30, 0};
        for (int32_t rank = 0; rank < s.ranks; rank++)
            add(w, &s, rank, step, 1, (20 * step + 1) * SECOND + rank);
        for (int32_t i = 1; i < 20; i++) gp_watch_tick(w, (20 * step + 1 + i) * SECOND);
    }
    assert_int_equal(seen.n[GP_WATCH_SLOW], 0);
    /* The first pause looks like an end. */
    assert_true(seen.n[GP_WATCH_SILENT] <= 8 && seen.n[GP_WATCH_SILENT] == seen.n[GP_WATCH_BACK]);
    s.faults[0] = (struct sim_fault){SIM_COMPUTE, 5, 30, 0};
    s.n_faults = 1;
    for (int32_t step = 8; step < 11; step++)
        for (int32_t rank = 0; rank < s.ranks; rank++)
            add(w, &s, rank, step, 1, (20 * step + 1) * SECOND + rank);
    gp_watch_tick(w, 230 * SECOND);
    assert_int_equal(seen.n[GP_WATCH_SLOW], 1);
    assert_int_equal(seen.last.rank, 5);
    gp_watch_free(w);
}

struct tree {
    struct gp_watch *root;
    int64_t now_ns;
    int messages;
    uint64_t merged, steps;
};

static void to_root(void *ctx, const struct gp_digest *d, const struct gp_strings *names)
{
    static const struct gp_digest_key key = {{7, 8}};
    struct tree *t = ctx;
    struct gp_buf b = {0};
    struct gp_digest got;
    struct gp_strings strings = {0};
    gp_digest_put(&b, d, names, &key);
    assert_int_equal(gp_digest_get(&got, &strings, b.data, b.n, &key, NULL), 0);
    t->messages++;
    t->merged += got.merged;
    t->steps += got.member.steps;
    gp_watch_add(t->root, &got, &strings, t->now_ns);
    gp_digest_release(&got);
    gp_strings_release(&strings);
    gp_buf_release(&b);
}

/* Ranks below two that merge: a third of the messages, and the root finds the same. */
TEST(test_tree)
{
    enum { RANKS = 64, SECONDS = 45, FROM = 20 };
    struct seen seen = {0};
    struct tree t = {.root = gp_watch_new(on_event, &seen)};
    struct gp_watch *leaf[2] = {gp_watch_new_merging(to_root, &t), gp_watch_new_merging(to_root, &t)};
    struct sim s = {.ranks = RANKS, .steps = 1, .per_node = 8, .seed = 3};
    for (int32_t second = 0; second < SECONDS; second++) {
        t.now_ns = (second + 1) * SECOND;
        if (second == FROM) s.faults[s.n_faults++] = (struct sim_fault){SIM_COMPUTE, 50, 5, 0};
        for (int32_t rank = 0; rank < RANKS; rank++) add(leaf[rank >= 32], &s, rank, second, 1, t.now_ns);
        gp_watch_tick(t.root, t.now_ns);
        if (!seen.n[GP_WATCH_SLOW]) assert_true(second < FROM + 15);
    }
    for (int i = 0; i < 2; i++) gp_watch_end(leaf[i]);
    assert_int_equal(t.messages, RANKS * SECONDS / 3);
    assert_int_equal(t.merged, RANKS * SECONDS);
    assert_int_equal(t.steps, RANKS * SECONDS);
    assert_int_equal(gp_watch_state(t.root).digests, RANKS * SECONDS);
    assert_int_equal(gp_watch_state(t.root).missing, 0);
    assert_int_equal(gp_watch_state(leaf[0]).ranks, 32);
    assert_int_equal(seen.n[GP_WATCH_SLOW], 1);
    assert_int_equal(seen.last.rank, 50);
    assert_string_equal(seen.last.cause, "compute");
    for (int i = 0; i < 2; i++) gp_watch_free(leaf[i]);
    gp_watch_free(t.root);
}

TEST(test_node)
{
    struct seen seen = {0};
    struct gp_watch *w = gp_watch_new(on_event, &seen);
    struct sim s = {.ranks = 64, .steps = 1, .per_node = 8, .seed = 3};
    for (int32_t rank = 16; rank < 24; rank++)
        s.faults[s.n_faults++] = (struct sim_fault){SIM_COMPUTE, rank, 8, 0};
    run(w, &s, 0, 20);
    assert_int_equal(seen.n[GP_WATCH_SLOW], 1);
    assert_int_equal(seen.last.rank, 16);
    assert_int_equal(seen.last.ranks, 8);
    assert_non_null(strstr(seen.text, "The node of ranks 16 to 23"));
    gp_watch_free(w);
}

/* A kernel that all run, and an hour: the state has its limits, and ranks that are gone are forgotten. */
TEST(test_an_hour_later)
{
    struct seen seen = {0};
    struct gp_watch *w = gp_watch_new(on_event, &seen);
    struct sim s = {.ranks = 2, .steps = 1, .per_node = 8, .seed = 3};
    run(w, &s, 0, 10);
    s.ranks = 1;
    for (int32_t second = 10; second < 3800; second += 2) add(w, &s, 0, second, 1, (second + 1) * SECOND);
    assert_int_equal(seen.n[GP_WATCH_SILENT], 1);
    assert_int_equal(gp_watch_state(w).ranks, 1);
    s.ranks = 2;
    add(w, &s, 1, 5, 1, 3802 * SECOND); /* its numbers are not known any more */
    assert_int_equal(gp_watch_state(w).late, 0);
    gp_watch_free(w);
}

static void ignore(void *ctx, const struct gp_digest *d, const struct gp_strings *names)
{
    (void)ctx, (void)d, (void)names;
}

/* A digest without steps. */
static void send(struct gp_watch *w, int32_t rank, uint64_t seq, int64_t second)
{
    struct gp_strings names = {0};
    gp_intern(&names, "", 0);
    struct gp_digest d = {
        .run = 1, .seq = seq, .merged = 1, .time_ns = second * SECOND, .member = {.key = {.rank = rank}}};
    gp_watch_add(w, &d, &names, second * SECOND);
    gp_strings_release(&names);
}

/* Where all places are taken, those go that were not heard for a minute; where there is room, nobody goes.
 * Whose place was kept is seen by a digest that it sent before: it is late. */
TEST(test_all_places_are_taken)
{
    enum { HALF = GP_WATCH_RANKS / 2 };
    struct gp_watch *w = gp_watch_new_merging(ignore, NULL);
    for (int32_t rank = 0; rank < HALF; rank++) send(w, rank, 1, 1);
    for (int32_t rank = HALF; rank < GP_WATCH_RANKS; rank++) send(w, rank, 1, 50);
    assert_int_equal(gp_watch_state(w).ranks, GP_WATCH_RANKS);
    assert_int_equal(gp_watch_state(w).crowded, 0);
    send(w, GP_WATCH_RANKS, 1, 58);
    assert_int_equal(gp_watch_state(w).crowded, 1);
    assert_int_equal(gp_watch_state(w).ranks, GP_WATCH_RANKS);
    send(w, 0, 2, 59);
    send(w, GP_WATCH_RANKS, 1, 63); /* the first half but rank 0 has been silent for 62 s */
    assert_int_equal(gp_watch_state(w).crowded, 1);
    assert_int_equal(gp_watch_state(w).ranks, HALF + 2);
    send(w, 0, 2, 64);
    assert_int_equal(gp_watch_state(w).late, 1);
    send(w, 1, 1, 64);
    assert_int_equal(gp_watch_state(w).late, 1);
    assert_int_equal(gp_watch_state(w).ranks, HALF + 3);
    send(w, HALF, 1, 200);
    assert_int_equal(gp_watch_state(w).late, 2);
    assert_int_equal(gp_watch_state(w).ranks, HALF + 3);
    gp_watch_free(w);
}
