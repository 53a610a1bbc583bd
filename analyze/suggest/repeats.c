// For each period, two places that are one period apart are compared at every multiple of it: a run covers
// at least three such pairs, and how far it reaches to both sides is found by bisection over hashes.
#include "analyze/suggest/repeats.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "formats/base/mem.h"

static const uint64_t BASE = UINT64_C(0x9e3779b97f4a7c15); /* odd, so that no symbol is lost */

struct sequence {
    const uint32_t *at;
    uint32_t n;
    uint64_t *sum, *power; /* hash of the first i symbols, BASE to the i */
};

static uint64_t mixed(uint64_t v)
{
    v = (v ^ v >> 31) * UINT64_C(0xbf58476d1ce4e5b9);
    return v ^ v >> 29;
}

static void begin(struct sequence *s, const uint32_t *symbols, uint32_t n)
{
    *s = (struct sequence){symbols, n, gp_alloc(((size_t)n + 1) * sizeof *s->sum),
                           gp_alloc(((size_t)n + 1) * sizeof *s->power)};
    s->sum[0] = 0;
    s->power[0] = 1;
    for (uint32_t i = 0; i < n; i++) {
        s->sum[i + 1] = s->sum[i] * BASE + mixed((uint64_t)symbols[i] + 1);
        s->power[i + 1] = s->power[i] * BASE;
    }
}

static uint64_t hash_of(const struct sequence *s, uint32_t from, uint32_t n)
{
    return s->sum[from + n] - s->sum[from] * s->power[n];
}

/* How many symbols from A and from B on are equal; A < B. */
static uint32_t equal_from(const struct sequence *s, uint32_t a, uint32_t b)
{
    uint32_t low = 0, high = s->n - b;
    while (low < high) {
        uint32_t middle = high - (high - low) / 2;
        if (hash_of(s, a, middle) == hash_of(s, b, middle)) low = middle;
        else high = middle - 1;
    }
    return low;
}

/* How many symbols before A and before B are equal, MOST at most. */
static uint32_t equal_before(const struct sequence *s, uint32_t a, uint32_t b, uint32_t most)
{
    uint32_t low = 0, high = most < a ? most : a;
    while (low < high) {
        uint32_t middle = high - (high - low) / 2;
        if (hash_of(s, a - middle, middle) == hash_of(s, b - middle, middle)) low = middle;
        else high = middle - 1;
    }
    return low;
}

/* Is the part of N symbols at FROM made of equal parts? */
static bool is_repeated(const struct sequence *s, uint32_t from, uint32_t n)
{
    for (uint32_t left = n, prime = 2; left > 1; prime++) {
        if (prime > left / prime) prime = left;
        if (left % prime) continue;
        while (left % prime == 0) left /= prime;
        uint32_t part = n / prime;
        if (hash_of(s, from, n - part) == hash_of(s, from + part, n - part)) return true;
    }
    return false;
}

static void find_period(struct gp_repeats *r, const struct sequence *s, uint32_t period)
{
    for (uint32_t at = 0; at + period < s->n;) {
        uint32_t next = at + period;
        if (s->at[at] != s->at[next]) {
            at = next;
            continue;
        }
        uint32_t after = equal_from(s, at, next), before = equal_before(s, at, next, period - 1);
        uint32_t count = (before + after + period) / period;
        if (count >= GP_REPEATS_LEAST && !is_repeated(s, at - before, period))
            GP_VEC_PUSH(&r->v, ((struct gp_repeat){at - before, period, count}));
        at = after >= period ? at + after - after % period : next; /* the rest of this run is known */
        if (at < next) at = next;
    }
}

static int compare_repeats(const void *a, const void *b)
{
    const struct gp_repeat *x = a, *y = b;
    uint64_t x_n = (uint64_t)x->period * x->count, y_n = (uint64_t)y->period * y->count;
    if (x_n != y_n) return x_n > y_n ? -1 : 1;
    if (x->first != y->first) return x->first < y->first ? -1 : 1;
    return x->period < y->period ? -1 : x->period > y->period;
}

void gp_repeats_find(struct gp_repeats *r, const uint32_t *symbols, uint32_t n)
{
    struct sequence s;
    size_t from = r->v.n;
    begin(&s, symbols, n);
    for (uint32_t period = 1; period <= n / GP_REPEATS_LEAST; period++) find_period(r, &s, period);
    free(s.sum);
    free(s.power);
    if (r->v.n > from) qsort(r->v.at + from, r->v.n - from, sizeof *r->v.at, compare_repeats);
}

void gp_repeats_release(struct gp_repeats *r) { GP_VEC_FREE(&r->v); }
