#include "analyze/math/intervals.h"
#include "formats/base/order.h"

#include <stdbool.h>
#include <stdlib.h>

void gp_intervals_add(struct gp_intervals *s, int64_t begin_ns, int64_t end_ns)
{
    if (end_ns <= begin_ns) return;
    struct gp_interval *last = s->v.n ? &s->v.at[s->v.n - 1] : NULL;
    if (last && begin_ns >= last->begin_ns && begin_ns <= last->end_ns) {
        if (end_ns > last->end_ns) last->end_ns = end_ns;
        return;
    }
    GP_VEC_PUSH(&s->v, (struct gp_interval){begin_ns, end_ns});
}

GP_COMPARE(compare_begins, struct gp_interval, GP_UP(begin_ns))

static bool is_normal(const struct gp_intervals *s)
{
    for (size_t i = 1; i < s->v.n; i++)
        if (s->v.at[i].begin_ns <= s->v.at[i - 1].end_ns) return false;
    return true;
}

void gp_intervals_normalise(struct gp_intervals *s)
{
    if (is_normal(s)) return;
    qsort(s->v.at, s->v.n, sizeof *s->v.at, compare_begins);
    size_t n = s->v.n;
    s->v.n = 0; /* joined intervals never overtake the one being read */
    for (size_t i = 0; i < n; i++) gp_intervals_add(s, s->v.at[i].begin_ns, s->v.at[i].end_ns);
}

int64_t gp_intervals_length(const struct gp_intervals *s)
{
    int64_t sum = 0;
    for (size_t i = 0; i < s->v.n; i++) sum += s->v.at[i].end_ns - s->v.at[i].begin_ns;
    return sum;
}

static int64_t later(int64_t a, int64_t b) { return a > b ? a : b; }

static int64_t earlier(int64_t a, int64_t b) { return a < b ? a : b; }

/* The next piece that two normal sets share; false if there is none. *I and *J are where to continue. */
static bool next_shared(const struct gp_intervals *a, const struct gp_intervals *b, size_t *i, size_t *j,
                        struct gp_interval *piece)
{
    while (*i < a->v.n && *j < b->v.n) {
        const struct gp_interval *x = &a->v.at[*i], *y = &b->v.at[*j];
        *piece = (struct gp_interval){later(x->begin_ns, y->begin_ns), earlier(x->end_ns, y->end_ns)};
        if (x->end_ns <= y->end_ns) ++*i;
        else ++*j;
        if (piece->begin_ns < piece->end_ns) return true;
    }
    return false;
}

int64_t gp_intervals_overlap(const struct gp_intervals *a, const struct gp_intervals *b)
{
    size_t i = 0, j = 0;
    int64_t sum = 0;
    struct gp_interval piece;
    while (next_shared(a, b, &i, &j, &piece)) sum += piece.end_ns - piece.begin_ns;
    return sum;
}

int64_t gp_intervals_within(const struct gp_intervals *s, int64_t begin_ns, int64_t end_ns)
{
    if (end_ns <= begin_ns) return 0;
    size_t lo = 0, hi = s->v.n;
    /* the first that ends after BEGIN */
    GP_NARROW(lo, hi, mid, s->v.at[mid].end_ns <= begin_ns)
    int64_t sum = 0;
    for (; lo < s->v.n && s->v.at[lo].begin_ns < end_ns; lo++)
        sum += earlier(s->v.at[lo].end_ns, end_ns) - later(s->v.at[lo].begin_ns, begin_ns);
    return sum;
}

void gp_intervals_release(struct gp_intervals *s) { GP_VEC_FREE(&s->v); }
