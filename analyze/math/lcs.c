#include "analyze/math/lcs.h"

#include <stdlib.h>
#include <string.h>
#include "formats/base/mem.h"
#include "formats/base/order.h"

/* How often a symbol occurs in the current part, and where last. All zero between uses. */
struct gp_lcs_count {
    uint32_t a, b, at_a, at_b;
};

/* A part of both sides. After symbols are left out, the rest has its own positions. */
struct part {
    const uint32_t *a, *b;       /* symbols */
    const uint32_t *at_a, *at_b; /* their places in the whole; NULL: as here, from from_a and from_b */
    uint32_t from_a, from_b;
    uint32_t na, nb;
};

enum { DEPTH_MAX = 12, NOWHERE = INT32_MIN };

static void put_pair(struct gp_lcs *l, const struct part *p, uint32_t a, uint32_t b)
{
    struct gp_lcs_pair pair = {p->at_a ? p->at_a[a] : p->from_a + a, p->at_b ? p->at_b[b] : p->from_b + b};
    GP_VEC_PUSH(&l->pairs, pair);
}

static struct part part_of(const struct part *p, uint32_t a, uint32_t na, uint32_t b, uint32_t nb)
{
    struct part s = *p;
    if (a) s.a += a; /* may be NULL */
    if (b) s.b += b;
    s.na = na, s.nb = nb;
    if (s.at_a) s.at_a += a;
    if (s.at_b) s.at_b += b;
    s.from_a += a, s.from_b += b;
    return s;
}

/* ---- Myers' search ---- */

/* Row D of the search, D + 1 long: the furthest position in A with D differences on the diagonals -D, -D + 2
 * .. D, where a diagonal is the position in A minus that in B. */
static int32_t *row(struct gp_lcs *l, int32_t d) { return l->reached.at + (size_t)d * ((size_t)d + 1) / 2; }

/* The position on diagonal K after one more difference than in row D - 1: a step along A from the diagonal
 * below, or along B from the one above. NOWHERE when both lead outside. */
static int32_t step(const int32_t *before, int32_t d, int32_t k, const struct part *p, bool *along_a)
{
    int32_t from_b = k < d && k + 1 >= -(d - 1) && k + 1 <= d - 1 ? before[(k + 1 + d - 1) / 2] : NOWHERE;
    int32_t from_a = k > -d && k - 1 >= -(d - 1) && k - 1 <= d - 1 ? before[(k - 1 + d - 1) / 2] : NOWHERE;
    if (from_b != NOWHERE && from_b - k > (int32_t)p->nb) from_b = NOWHERE;
    from_a = from_a == NOWHERE || from_a + 1 > (int32_t)p->na ? NOWHERE : from_a + 1;
    *along_a = from_a > from_b;
    return *along_a ? from_a : from_b;
}

/* What the search has come to. */
struct found {
    int32_t d, x, y;
    bool complete;
};

static struct found search(struct gp_lcs *l, const struct part *p)
{
    int32_t n = (int32_t)p->na, m = (int32_t)p->nb;
    struct found best = {0};
    GP_VEC_RESERVE(&l->reached, (size_t)(l->edits + 1) * (l->edits + 2) / 2);
    for (int32_t d = 0; d <= (int32_t)l->edits && l->budget > 0; d++) {
        int32_t *now = row(l, d);
        const int32_t *before = d ? row(l, d - 1) : NULL;
        for (int32_t k = -d; k <= d; k += 2) {
            bool along_a;
            int32_t x = d ? step(before, d, k, p, &along_a) : 0, begin = x;
            if (x != NOWHERE) {
                while (x < n && x - k < m && p->a[x] == p->b[x - k]) x++;
                l->budget -= x - begin;
                if (!d || x + x - k > best.x + best.y)
                    best = (struct found){d, x, x - k, x == n && x - k == m};
            }
            now[(k + d) / 2] = x;
            if (best.complete) return best;
        }
        l->budget -= d + 1;
    }
    return best;
}

/* The pairs on the way to what was found, from its end to the beginning, and then put in order. */
static void put_path(struct gp_lcs *l, const struct part *p, struct found f)
{
    l->path.n = 0;
    int32_t x = f.x, k = f.x - f.y;
    for (int32_t d = f.d; d >= 0; d--) {
        bool along_a = false;
        int32_t from = d ? step(row(l, d - 1), d, k, p, &along_a) : 0;
        for (; x > from; x--)
            GP_VEC_PUSH(&l->path, (struct gp_lcs_pair){(uint32_t)x - 1, (uint32_t)(x - k) - 1});
        if (along_a) x--, k--;
        else k++;
    }
    for (size_t i = l->path.n; i-- > 0;) put_pair(l, p, l->path.at[i].a, l->path.at[i].b);
}

/* ---- cuts ---- */

/* Of pairs in ascending order of `a`, keep a longest run that also ascends in `b`. Returns their number. */
static size_t keep_ascending(struct gp_lcs_pair *pair, size_t n)
{
    uint32_t *tail = gp_alloc((n + 1) * sizeof *tail), *before = gp_alloc((n + 1) * sizeof *before);
    size_t length = 0;
    for (size_t i = 0; i < n; i++) {
        /* the first run whose end is not below this one */
        GP_SEARCH(low, 0, length, mid, pair[tail[mid]].b < pair[i].b);
        before[i] = low ? tail[low - 1] : UINT32_MAX;
        tail[low] = (uint32_t)i;
        if (low == length) length++;
    }
    struct gp_lcs_pair *kept = gp_alloc((length + 1) * sizeof *kept);
    uint32_t at = length ? tail[length - 1] : UINT32_MAX;
    for (size_t i = length; i-- > 0; at = before[at]) kept[i] = pair[at];
    memcpy(pair, kept, length * sizeof *pair);
    GP_RELEASE(free, kept, tail, before);
    return length;
}

static void count(struct gp_lcs *l, const struct part *p)
{
    for (uint32_t i = 0; i < p->na; i++) l->counts[p->a[i]].a++, l->counts[p->a[i]].at_a = i;
    for (uint32_t i = 0; i < p->nb; i++) l->counts[p->b[i]].b++, l->counts[p->b[i]].at_b = i;
    l->budget -= (int64_t)p->na + p->nb;
}

static void uncount(struct gp_lcs *l, const struct part *p)
{
    for (uint32_t i = 0; i < p->na; i++) l->counts[p->a[i]] = (struct gp_lcs_count){0};
    for (uint32_t i = 0; i < p->nb; i++) l->counts[p->b[i]] = (struct gp_lcs_count){0};
}

static void match(struct gp_lcs *l, struct part p, int depth);

/* Match between symbols that occur once on both sides. False if there are none, or if too many of them have
 * moved for the others to be meaningful. */
static bool match_between_cuts(struct gp_lcs *l, const struct part *p, int depth)
{
    struct gp_lcs_pair *cut = gp_alloc((p->na + (size_t)1) * sizeof *cut);
    size_t n = 0;
    count(l, p);
    for (uint32_t i = 0; i < p->na; i++) {
        const struct gp_lcs_count *c = &l->counts[p->a[i]];
        if (c->a == 1 && c->b == 1) cut[n++] = (struct gp_lcs_pair){i, c->at_b};
    }
    uncount(l, p);
    size_t kept = keep_ascending(cut, n);
    bool use = kept && kept * 2 >= n;
    uint32_t a = 0, b = 0;
    for (size_t i = 0; use && i < kept; i++) {
        match(l, part_of(p, a, cut[i].a - a, b, cut[i].b - b), depth + 1);
        put_pair(l, p, cut[i].a, cut[i].b);
        a = cut[i].a + 1, b = cut[i].b + 1;
    }
    if (use) match(l, part_of(p, a, p->na - a, b, p->nb - b), depth + 1);
    free(cut);
    return use;
}

/* ---- all of it ---- */

/* Match P, whose symbols are all on both sides, within the search limit. */
static void match_common(struct gp_lcs *l, struct part p, int depth)
{
    while (p.na && p.nb && l->budget > 0) {
        struct found f = search(l, &p);
        if (!f.complete) {
            l->bounded = true;
            if (depth < DEPTH_MAX && l->budget > 0 && match_between_cuts(l, &p, depth)) return;
        }
        put_path(l, &p, f);
        if (f.complete || f.x + f.y == 0) return;
        p = part_of(&p, (uint32_t)f.x, p.na - (uint32_t)f.x, (uint32_t)f.y, p.nb - (uint32_t)f.y);
    }
    l->bounded |= p.na && p.nb;
}

/* P without the symbols that only one side has, into arrays of the caller: of na and nb symbols and
 * places. */
static struct part without_foreign(struct gp_lcs *l, const struct part *p, uint32_t *symbols,
                                   uint32_t *places)
{
    struct part s = {.a = symbols, .b = symbols + p->na, .at_a = places, .at_b = places + p->na};
    count(l, p);
    for (uint32_t i = 0; i < p->na; i++) {
        if (!l->counts[p->a[i]].b) continue;
        symbols[s.na] = p->a[i];
        places[s.na++] = p->at_a ? p->at_a[i] : p->from_a + i;
    }
    for (uint32_t i = 0; i < p->nb; i++) {
        if (!l->counts[p->b[i]].a) continue;
        symbols[p->na + s.nb] = p->b[i];
        places[p->na + s.nb++] = p->at_b ? p->at_b[i] : p->from_b + i;
    }
    uncount(l, p);
    return s;
}

static void match(struct gp_lcs *l, struct part p, int depth)
{
    uint32_t head = 0, tail = 0;
    while (head < p.na && head < p.nb && p.a[head] == p.b[head]) put_pair(l, &p, head, head), head++;
    while (tail < p.na - head && tail < p.nb - head && p.a[p.na - 1 - tail] == p.b[p.nb - 1 - tail]) tail++;
    struct part rest = part_of(&p, head, p.na - head - tail, head, p.nb - head - tail);
    if (rest.na && rest.nb && l->budget > 0) {
        uint32_t *symbols = gp_alloc(2 * ((size_t)rest.na + rest.nb) * sizeof *symbols);
        match_common(l, without_foreign(l, &rest, symbols, symbols + rest.na + rest.nb), depth);
        free(symbols);
    } else if (rest.na && rest.nb) l->bounded = true;
    for (uint32_t i = tail; i > 0; i--) put_pair(l, &p, p.na - i, p.nb - i);
}

void gp_lcs_match(struct gp_lcs *l, const uint32_t *a, size_t na, const uint32_t *b, size_t nb)
{
    size_t symbols = 0;
    for (size_t i = 0; i < na; i++) symbols = a[i] >= symbols ? (size_t)a[i] + 1 : symbols;
    for (size_t i = 0; i < nb; i++) symbols = b[i] >= symbols ? (size_t)b[i] + 1 : symbols;
    if (symbols > l->n_counts) {
        free(l->counts);
        l->n_counts = symbols > 2 * l->n_counts ? symbols : 2 * l->n_counts;
        l->counts = gp_zalloc(l->n_counts * sizeof *l->counts);
    }
    l->pairs.n = 0;
    match(l, (struct part){.a = a, .b = b, .na = (uint32_t)na, .nb = (uint32_t)nb}, 0);
}

void gp_lcs_release(struct gp_lcs *l)
{
    GP_RELEASE(gp_vec_free, &l->pairs, &l->reached, &l->path);
    free(l->counts);
    l->counts = NULL;
    l->n_counts = 0;
}
