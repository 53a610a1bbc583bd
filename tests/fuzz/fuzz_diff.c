/* fuzz_diff.c -- hostile traces and hostile saved profiles, compared. Bits of the first byte choose: 1, the
 * rest follows the head of a saved profile, with the right hash; otherwise it is two traces, and the next two
 * bytes say, in parts of 65536, where the second one begins. The others choose what operations are, the mode,
 * and whether steps count. What must always hold is checked: sums are sums, and swapped sides are
 * opposite. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "analyze/diff/diff.h"
#include "formats/base/buf.h"
#include "formats/reader.h"
#include "tests/fuzz/help/fuzz.h"
#include "tests/fuzz/help/mutate.h"

static void put_number(uint8_t *to, uint64_t v, int width)
{
    for (int i = 0; i < width; i++) to[i] = (uint8_t)(v >> 8 * i);
}

/* Saturated values are not sums. */
static bool is_damaged(const struct gp_diff *d)
{
    for (int side = 0; side < GP_DIFF_SIDES; side++)
        if (d->side[side].gpu_ns > INT64_MAX / 8 || d->side[side].step_ns > INT64_MAX / 8) return true;
    for (size_t i = 0; i < d->ops.n; i++)
        for (int side = 0; side < GP_DIFF_SIDES; side++)
            if (d->ops.at[i].side[side].sum_ns > INT64_MAX / 8) return true;
    return false;
}

static void check_sums(const struct gp_diff *d)
{
    uint64_t ops = 0, causes = 0, stacks[GP_DIFF_SIDES] = {0};
    if (is_damaged(d)) return;
    for (size_t i = 0; i < d->ops.n; i++) ops += (uint64_t)d->ops.at[i].change_ns;
    for (size_t i = 0; i < d->causes.n; i++) causes += (uint64_t)d->causes.at[i].change_ns;
    for (size_t i = 0; i < d->stacks.n; i++)
        for (int side = 0; side < GP_DIFF_SIDES; side++)
            stacks[side] += (uint64_t)d->stacks.at[i].side_ns[side];
    FUZZ_CHECK(ops == (uint64_t)d->metrics[GP_METRIC_GPU].change);
    FUZZ_CHECK(causes == (uint64_t)d->metrics[GP_METRIC_STEP].change && !d->residual_ns);
    for (int side = 0; side < GP_DIFF_SIDES; side++)
        FUZZ_CHECK(stacks[side] == (uint64_t)d->side[side].gpu_ns);
}

static void run(struct gp_diff *d, const struct gp_profile *a, const struct gp_profile *b,
                const struct gp_diff_opts *opts)
{
    gp_diff_init(d, opts);
    gp_diff_run(d, &a, 1, &b, 1);
}

static void compare(const struct gp_profile *a, const struct gp_profile *b, const struct gp_diff_opts *opts,
                    bool exact)
{
    struct gp_diff d, e;
    run(&d, a, b, opts);
    run(&e, b, a, opts);
    if (exact) check_sums(&d);
    FUZZ_CHECK(d.comparable == e.comparable && d.ops.n == e.ops.n && d.unit == e.unit);
    for (int m = 0; m < GP_METRIC_COUNT; m++) FUZZ_CHECK(d.metrics[m].change == -e.metrics[m].change);
    for (size_t i = 0; i < d.ops.n; i++) FUZZ_CHECK(d.ops.at[i].change_ns == -e.ops.at[i].change_ns);
    (void)gp_diff_status(&d);
    gp_diff_release(&d);
    gp_diff_release(&e);
}

/* Bytes behind the head of an empty profile. */
static void load(const uint8_t *data, size_t size, const struct gp_diff_opts *opts)
{
    enum { HEAD = 28, SIZE_AT = 12, HASH_AT = 20 };
    struct gp_profile p, none;
    struct gp_buf b = {0};
    gp_profile_init(&none, NULL);
    gp_profile_save(&none, &b);
    b.n = HEAD;
    gp_buf_put(&b, data, size);
    put_number((uint8_t *)b.data + SIZE_AT, size, 8);
    put_number((uint8_t *)b.data + HASH_AT, gp_hash_bytes(b.data + HEAD, size), 8);
    gp_profile_init(&p, NULL);
    if (!gp_profile_load(&p, b.data, b.n, NULL)) {
        compare(&p, &none, opts, false);
        compare(&p, &p, opts, false);
    }
    gp_profile_release(&p);
    gp_profile_release(&none);
    gp_buf_release(&b);
}

static bool reduce(struct gp_profile *p, const uint8_t *data, size_t size, bool whole)
{
    struct gp_trace t;
    struct gp_profile_opts opts = {.no_steps = whole};
    struct gp_read_opts read = {.threads = 1, .need = GP_PROFILE_NEED};
    gp_profile_init(p, &opts);
    if (gp_trace_read_memory(&t, data, size, &read, NULL)) return false;
    FUZZ_CHECK(!gp_profile_add_trace(p, &t, NULL));
    gp_trace_release(&t);
    struct gp_profile copy;
    struct gp_buf saved = {0}, again = {0};
    gp_profile_init(&copy, NULL);
    gp_profile_save(p, &saved);
    FUZZ_CHECK(!gp_profile_load(&copy, saved.data, saved.n, NULL) && copy.content == p->content);
    gp_profile_save(&copy, &again);
    FUZZ_CHECK(saved.n == again.n && !memcmp(saved.data, again.data, saved.n));
    gp_profile_release(&copy);
    gp_buf_release(&saved);
    gp_buf_release(&again);
    return true;
}

const struct fuzz_heads fuzz_heads = {1, 3};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 3) return 0;
    struct gp_diff_opts opts = {.by = (enum gp_diff_by)((data[0] >> 1) % 3), .any_work = true};
    if (data[0] & 8) opts.mode = GP_DIFF_SIMPLE;
    if (data[0] & 1) {
        load(data + 1, size - 1, &opts);
        return 0;
    }
    size_t n = size - 3, parts = (size_t)data[1] << 8 | data[2], first = n * parts / 65536, second = first;
    if (!parts) first = n; /* one trace, compared with itself */
    struct gp_profile a, b;
    bool good_a = reduce(&a, data + 3, first, data[0] & 16);
    bool good_b = reduce(&b, data + 3 + second, n - second, data[0] & 16); /* both are to be released */
    if (good_a && good_b) compare(&a, &b, &opts, true);
    gp_profile_release(&a);
    gp_profile_release(&b);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    return fuzz_mutate(data, size, most, seed, fuzz_heads.size);
}
