/* Matches the collectives of several ranks: by sequence number where recorded, otherwise by order in the
 * group. One rank is the reference. For every other rank, the search looks for the shift that aligns its list
 * with the reference's so that operations, types and sizes agree and all ends are equally far apart. Without
 * a certain shift, its collectives count as mismatched. */
#include "analyze/hta/nccl.h"

#include <stdlib.h>
#include <string.h>
#include "analyze/hta/hta.h"
#include "analyze/hta/hta_priv.h"
#include "analyze/math/sums.h"
#include "formats/base/num.h"

enum {
    SHIFTS = 16,        /* looked at on either side of none */
    SHIFTS_BY_TIME = 4, /* and around where the times of both lists meet */
    SAMPLES = 128,      /* pairs whose ends are compared to judge a shift */
    CERTAIN_NS = 50000, /* ends of the same collective spread by that much anyway */
    SPREAD_MOST_NS = 1000000,
    LOOKS_MOST = 1 << 25, /* at collectives, for clocks: long chains of ranks stop there, without an offset */
};

/* A collective in its group. */
struct entry {
    uint32_t group, index; /* of h->collectives */
    int32_t rank;
    /* of its row: what has the same key is the same collective; NO_KEY: contradicts the others */
    int64_t key;
};

static const int64_t NO_KEY = INT64_MAX;

/* Entries of one row, by rank. */
struct row {
    size_t first, n;
    int64_t at_ns; /* the earliest start: the order of the rows */
    bool by_seq;
};

struct matching {
    struct gp_hta *h;
    GP_VEC(struct entry) entries;
    GP_VEC(struct row) rows;
    GP_VEC(bool) by_seq;    /* by group */
    GP_VEC(int32_t) ranks;  /* of all inputs, sorted */
    int64_t *offset_ns;     /* by rank's index in ranks */
    struct gp_map partners; /* text of the ranks of a group -> are two of them among the inputs? */
};

static int64_t plus(int64_t a, int64_t b) { return gp_minus_wrapped(a, gp_minus_wrapped(0, b)); }

static int64_t distance(int64_t a, int64_t b)
{
    int64_t d = a > b ? gp_minus_wrapped(a, b) : gp_minus_wrapped(b, a);
    return d < 0 ? INT64_MAX : d;
}

/* The median of N > 0 values; sorts them. For an even N, the mean of the middle two. */
static int64_t median(int64_t *values, size_t n)
{
    qsort(values, n, sizeof *values, gp_order_i64);
    int64_t low = values[(n - 1) / 2], high = values[n / 2];
    return plus(low, distance(low, high) / 2);
}

static const struct gp_collective *collective(const struct matching *m, const struct entry *e)
{
    return &m->h->collectives.at[e->index];
}

static const char *op_of(const struct matching *m, const struct gp_collective *c)
{
    return gp_hta_str(m->h, c->op);
}

/* ---- ranks ---- */

static void find_ranks(struct matching *m)
{
    const struct gp_hta *h = m->h;
    int32_t last = -1;
    for (size_t i = 0; i < h->collectives.n; i++) /* sorted by rank */
        if (h->collectives.at[i].rank > last) GP_VEC_PUSH(&m->ranks, last = h->collectives.at[i].rank);
    for (size_t i = 0; i < h->devices.n; i++)
        if (h->devices.at[i].rank >= 0) GP_VEC_PUSH(&m->ranks, h->devices.at[i].rank);
    if (m->ranks.n) qsort(m->ranks.at, m->ranks.n, sizeof *m->ranks.at, gp_order_i32);
    size_t n = 0;
    for (size_t i = 0; i < m->ranks.n; i++)
        if (!n || m->ranks.at[n - 1] != m->ranks.at[i]) m->ranks.at[n++] = m->ranks.at[i];
    m->ranks.n = n;
    m->offset_ns = gp_zalloc((n + 1) * sizeof *m->offset_ns);
}

static size_t rank_index(const struct matching *m, int32_t rank)
{
    const int32_t *at = bsearch(&rank, m->ranks.at, m->ranks.n, sizeof rank, gp_order_i32);
    return at ? (size_t)(at - m->ranks.at) : m->ranks.n;
}

/* Are two of the ranks in this text among the inputs? */
static bool names_two_ranks(const struct matching *m, const char *p)
{
    size_t found = 0;
    while (*p && found < 2) {
        size_t digits = strspn(p, "0123456789");
        uint64_t rank;
        if (!digits) {
            p++;
            continue;
        }
        if (gp_u64_from_text(p, digits, &rank) && rank <= INT32_MAX)
            found += rank_index(m, (int32_t)rank) < m->ranks.n;
        p += digits;
    }
    return found > 1;
}

/* Should this collective have a partner? Yes, if the ranks of the group are not recorded completely. */
static bool has_partner(struct matching *m, const struct gp_collective *c)
{
    enum { UNKNOWN = 2 };
    uint32_t *known = gp_map_put(&m->partners, c->ranks, UNKNOWN);
    if (*known == UNKNOWN) {
        const char *text = gp_hta_str(m->h, c->ranks);
        *known = !*text || strchr(text, '.') ? m->ranks.n > 1 : names_two_ranks(m, text);
    }
    return *known;
}

/* ---- groups ---- */

/* What distinguishes one sequence of collectives from another. */
struct group_key {
    gp_sid group, ranks;
    uint32_t lane;     /* of collectives of no known group: which of the rank's streams for them */
    int32_t low, high; /* of a send or receive: both ends, -1 unknown */
    bool by_seq, point_to_point;
};

static uint64_t hash_key(const struct group_key *k)
{
    uint64_t h = gp_hash_u64((uint64_t)k->group << 32 | k->ranks, gp_hash_seed());
    h = gp_hash_u64((uint64_t)(uint32_t)k->low << 32 | (uint32_t)k->high, h);
    return gp_hash_u64((uint64_t)k->lane << 2 | (uint64_t)k->by_seq << 1 | k->point_to_point, h);
}

static bool same_key(const struct group_key *x, const struct group_key *y)
{
    return x->group == y->group && x->ranks == y->ranks && x->lane == y->lane && x->low == y->low &&
           x->high == y->high && x->by_seq == y->by_seq && x->point_to_point == y->point_to_point;
}

/* The place of C's stream among those on which its rank and device has collectives of no known group. STREAMS
 * holds the (device, stream) pairs of the rank, sorted. */
struct place {
    int64_t device, stream;
};

GP_COMPARE(compare_places, struct place, GP_UP(device) GP_UP(stream))

typedef GP_VEC(struct place) place_vec;

/* The places of the collectives of no known group of the rank whose collectives begin at FIRST. */
static void find_places(const struct gp_hta *h, size_t first, place_vec *places)
{
    places->n = 0;
    for (size_t i = first; i < h->collectives.n && h->collectives.at[i].rank == h->collectives.at[first].rank;
         i++) {
        const struct gp_collective *c = &h->collectives.at[i];
        if (c->group) continue;
        struct place p = {c->device, c->stream};
        if (!places->n || compare_places(&places->at[places->n - 1], &p)) GP_VEC_PUSH(places, p);
    }
    if (places->n) qsort(places->at, places->n, sizeof *places->at, compare_places);
    size_t n = 0;
    for (size_t i = 0; i < places->n; i++)
        if (!n || compare_places(&places->at[n - 1], &places->at[i])) places->at[n++] = places->at[i];
    places->n = n;
}

static struct group_key key_of(const struct matching *m, const struct gp_collective *c,
                               const place_vec *places)
{
    struct group_key k = {
        .group = c->group, .ranks = c->ranks, .low = -1, .high = -1, .by_seq = c->seq != GP_NO_ID};
    if (!c->group) {
        struct place p = {c->device, c->stream};
        const struct place *at = bsearch(&p, places->at, places->n, sizeof p, compare_places);
        k.lane = (uint32_t)(at - places->at);
    } else if (!strcmp(op_of(m, c), "send_recv")) { /* these are numbered apart */
        k.point_to_point = true;
        k.low = c->src_rank < c->dst_rank ? c->src_rank : c->dst_rank;
        k.high = c->src_rank < c->dst_rank ? c->dst_rank : c->src_rank;
    }
    return k;
}

/* The index is by rank, then start. */
GP_COMPARE(compare_entries, struct entry, GP_UP(group) GP_UP(index))

/* How many a rank had so far of a group. */
struct count {
    int32_t rank;
    uint32_t n;
};

/* Fill entries, by (group, rank, start), and the order of each collective. */
static void find_groups(struct matching *m)
{
    struct gp_hta *h = m->h;
    GP_VEC(struct group_key) keys = {0};
    GP_VEC(struct count) counts = {0}; /* by group */
    struct gp_map groups = {0};
    place_vec places = {0};
    for (uint32_t i = 0; i < h->collectives.n; i++) {
        struct gp_collective *c = &h->collectives.at[i];
        if (!i || c->rank != h->collectives.at[i - 1].rank) {
            find_places(h, i, &places);
        }
        struct group_key key = key_of(m, c, &places);
        uint64_t hash = hash_key(&key);
        uint32_t *at;
        while (*(at = gp_map_put(&groups, hash, (uint32_t)keys.n)) < keys.n && !same_key(&keys.at[*at], &key))
            hash++;
        uint32_t group = *at;
        if (group == keys.n) {
            GP_VEC_PUSH(&keys, key);
            GP_VEC_PUSH(&counts, ((struct count){c->rank, 0}));
            GP_VEC_PUSH(&m->by_seq, key.by_seq);
        }
        struct count *count = &counts.at[group];
        if (count->rank != c->rank) *count = (struct count){c->rank, 0};
        c->order = count->n++;
        if (c->rank >= 0) GP_VEC_PUSH(&m->entries, ((struct entry){group, i, c->rank, NO_KEY}));
    }
    if (m->entries.n) qsort(m->entries.at, m->entries.n, sizeof *m->entries.at, compare_entries);
    GP_RELEASE(gp_vec_free, &keys, &counts, &places);
    gp_map_release(&groups);
}

/* ---- do two agree? ---- */

/* Sizes may differ between ranks where each chooses its own. */
static bool agree(const struct matching *m, const struct gp_collective *a, const struct gp_collective *b)
{
    if (a->op != b->op) return false;
    const char *op = op_of(m, a);
    if (!strcmp(op, "send_recv")) return true;
    if (a->dtype && b->dtype && a->dtype != b->dtype) return false;
    return !strcmp(op, "all_to_all") || a->bytes < 0 || b->bytes < 0 || a->bytes == b->bytes;
}

/* ---- by sequence number ---- */

GP_COMPARE(compare_seqs, struct entry, GP_UP(key) GP_UP(index))

/* A number can stand for several kernels of a rank: the first matches the first, and so on. */
static void key_by_seq(struct matching *m, struct entry *e, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t seq = collective(m, &e[i])->seq;
        e[i].key = seq < INT64_MAX ? (int64_t)seq : INT64_MAX - 1;
    }
    qsort(e, n, sizeof *e, compare_seqs);
    int64_t row = 0;
    for (size_t i = 0, end; i < n; i = end) {
        int64_t seq = e[i].key, rows = 0;
        for (end = i; end < n && e[end].key == seq;) {
            int64_t nth = 0;
            int32_t rank = e[end].rank;
            for (; end < n && e[end].key == seq && e[end].rank == rank; end++) e[end].key = row + nth++;
            if (nth > rows) rows = nth;
        }
        row += rows;
    }
}

/* ---- by order ---- */

struct list {
    struct entry *e;
    size_t n;
};

struct shift {
    int64_t by;                   /* entry i of the list matches entry i + by of the reference */
    int64_t middle_ns, spread_ns; /* of the differences of the ends; spread -1: no ends to compare */
};

static size_t lowest_shared(int64_t by) { return by < 0 ? (size_t)-by : 0; }

static size_t end_shared(const struct list *ref, const struct list *list, int64_t by)
{
    int64_t end = (int64_t)ref->n - by;
    return end < 0 ? 0 : (size_t)end < list->n ? (size_t)end : list->n;
}

/* Do all pairs of a shift agree? At least half of the shorter list must overlap the other. */
static bool shift_agrees(const struct matching *m, const struct list *ref, const struct list *list,
                         int64_t by)
{
    size_t first = lowest_shared(by), end = end_shared(ref, list, by);
    size_t shorter = ref->n < list->n ? ref->n : list->n;
    if (end <= first || (end - first) * 2 < shorter) return false;
    for (size_t i = first; i < end; i++)
        if (!agree(m, collective(m, &ref->e[(int64_t)i + by]), collective(m, &list->e[i]))) return false;
    return true;
}

/* Only operations that end for all ranks together give time information. Kernels that send and receive may be
 * an all_to_all. */
static bool ends_together(const struct matching *m, const struct gp_collective *c)
{
    const char *op = op_of(m, c);
    return gp_collective_is_symmetric(op) || (!c->group && !strcmp(op, "send_recv"));
}

static void measure_shift(const struct matching *m, const struct list *ref, const struct list *list,
                          struct shift *s)
{
    int64_t diffs[SAMPLES];
    size_t first = lowest_shared(s->by), end = end_shared(ref, list, s->by), n = 0;
    size_t step = (end - first + SAMPLES - 1) / SAMPLES;
    for (size_t i = first; i < end; i += step) {
        const struct gp_collective *c = collective(m, &list->e[i]);
        if (ends_together(m, c))
            diffs[n++] = gp_minus_wrapped(collective(m, &ref->e[(int64_t)i + s->by])->end_ns, c->end_ns);
    }
    s->spread_ns = -1;
    if (n < 3) return;
    s->middle_ns = median(diffs, n);
    for (size_t i = 0; i < n; i++) diffs[i] = distance(diffs[i], s->middle_ns);
    s->spread_ns = median(diffs, n);
}

/* Allowed spread of the ends of one collective: well below the time between collectives. */
static int64_t most_spread(const struct matching *m, const struct list *list)
{
    int64_t gaps[SAMPLES];
    size_t n = 0, step = (list->n + SAMPLES - 1) / SAMPLES;
    for (size_t i = step; i < list->n && n < SAMPLES; i += step)
        gaps[n++] = distance(collective(m, &list->e[i])->end_ns, collective(m, &list->e[i - 1])->end_ns);
    int64_t quarter = n ? median(gaps, n) / 4 : 0;
    if (quarter > SPREAD_MOST_NS) quarter = SPREAD_MOST_NS;
    return quarter > CERTAIN_NS ? quarter : CERTAIN_NS;
}

/* The shift at which the middle of LIST ends when the reference does, if both have one clock. */
static int64_t shift_by_time(const struct matching *m, const struct list *ref, const struct list *list)
{
    size_t middle = list->n / 2;
    int64_t end = collective(m, &list->e[middle])->end_ns;
    GP_SEARCH(lo, 0, ref->n, mid, collective(m, &ref->e[mid])->end_ns < end);
    return (int64_t)lo - (int64_t)middle;
}

static void try_shift(const struct matching *m, const struct list *ref, const struct list *list, int64_t by,
                      int64_t most, struct shift *found, size_t *n)
{
    for (size_t i = 0; i < *n; i++)
        if (found[i].by == by) return;
    if (!shift_agrees(m, ref, list, by)) return;
    struct shift s = {.by = by};
    measure_shift(m, ref, list, &s);
    if (s.spread_ns <= most) found[(*n)++] = s;
}

/* The only valid shift; false if there is none or more than one. Of shifts whose ends agree equally well, the
 * only one that pairs all of the shorter list wins. */
static bool find_shift(const struct matching *m, const struct list *ref, const struct list *list,
                       struct shift *best)
{
    struct shift found[2 * SHIFTS + 2 * SHIFTS_BY_TIME + 3];
    size_t n = 0, good = 0, complete = 0;
    int64_t most = most_spread(m, list), by_time = shift_by_time(m, ref, list);
    for (int64_t by = -SHIFTS; by <= SHIFTS; by++) try_shift(m, ref, list, by, most, found, &n);
    for (int64_t by = by_time - SHIFTS_BY_TIME; by <= by_time + SHIFTS_BY_TIME; by++)
        try_shift(m, ref, list, by, most, found, &n);
    try_shift(m, ref, list, (int64_t)ref->n - (int64_t)list->n, most, found, &n);
    int64_t least = -1;
    for (size_t i = 0; i < n; i++)
        if (found[i].spread_ns >= 0 && (least < 0 || found[i].spread_ns < least)) least = found[i].spread_ns;
    GP_EACH_OF(const struct shift, s, found, n) {
        if (least >= 0 && (s->spread_ns < 0 || s->spread_ns > 4 * least + 2000)) continue;
        good++;
        bool all = end_shared(ref, list, s->by) - lowest_shared(s->by) == list->n; /* never the longer one */
        complete += all;
        if (all || !complete) *best = *s;
    }
    return good == 1 || complete == 1;
}

/* How far the end of C is from that of entry AT of REF; more than anything if that is another kind. */
static int64_t end_apart(const struct matching *m, const struct list *ref, int64_t at,
                         const struct gp_collective *c, const struct shift *s)
{
    if (at < 0 || at >= (int64_t)ref->n || !agree(m, collective(m, &ref->e[at]), c)) return INT64_MAX;
    return distance(gp_minus_wrapped(collective(m, &ref->e[at])->end_ns, c->end_ns), s->middle_ns);
}

/* Give every entry of LIST the key of its partner in REF. A missing record shifts all ends after it: then
 * another partner is nearer. Ranks that get less from an uneven exchange just end earlier. False if no shift
 * is valid. */
static bool align(const struct matching *m, const struct list *ref, const struct list *list)
{
    struct shift s = {0};
    if (!find_shift(m, ref, list, &s)) return false;
    int64_t limit = s.spread_ns > INT64_MAX / 8 ? INT64_MAX : 8 * s.spread_ns;
    if (limit < 2 * CERTAIN_NS) limit = 2 * CERTAIN_NS;
    for (size_t i = 0; i < list->n; i++) {
        const struct gp_collective *c = collective(m, &list->e[i]);
        int64_t at = (int64_t)i + s.by;
        bool shared = at >= 0 && at < (int64_t)ref->n;
        bool timed = shared && s.spread_ns >= 0 && ends_together(m, c);
        if (timed && end_apart(m, ref, at, c, &s) > limit &&
            (end_apart(m, ref, at - 1, c, &s) < end_apart(m, ref, at, c, &s) ||
             end_apart(m, ref, at + 1, c, &s) < end_apart(m, ref, at, c, &s)))
            continue;
        list->e[i].key = at;
    }
    return true;
}

/* The order counts only if it holds for another rank. */
static void key_by_order(struct matching *m, struct entry *e, size_t n)
{
    struct list ref = {e, 0};
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i; end < n && e[end].rank == e[i].rank;) end++;
        if (end - i > ref.n) ref = (struct list){e + i, end - i};
    }
    bool holds = false;
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i; end < n && e[end].rank == e[i].rank;) end++;
        struct list list = {e + i, end - i};
        if (list.e != ref.e) holds |= align(m, &ref, &list);
    }
    for (size_t i = 0; i < ref.n && holds; i++) ref.e[i].key = (int64_t)i;
}

/* Sends and receives of more than two ranks without recorded peers. */
static bool ends_unknown(const struct matching *m, const struct entry *e, size_t n)
{
    const struct gp_collective *c = collective(m, e);
    if (!c->group || c->src_rank >= 0 || strcmp(op_of(m, c), "send_recv")) return false;
    size_t ranks = 1;
    for (size_t i = 1; i < n; i++) ranks += e[i].rank != e[i - 1].rank;
    return ranks > 2;
}

/* ---- rows ---- */

GP_COMPARE(compare_keys, struct entry, GP_UP(group) GP_UP(key) GP_UP(index))

static void add_row(struct matching *m, size_t first, size_t n)
{
    struct gp_hta *h = m->h;
    const struct entry *e = &m->entries.at[first];
    const struct gp_collective *c = collective(m, e);
    if (e->key == NO_KEY) {
        h->mismatched_collectives += n;
        return;
    }
    if (n == 1) {
        h->unmatched_collectives += has_partner(m, c);
        return;
    }
    for (size_t i = 1; i < n; i++) {
        if (agree(m, c, collective(m, &e[i]))) continue;
        h->mismatched_collectives += n;
        return;
    }
    int64_t at_ns = c->start_ns;
    for (size_t i = 1; i < n; i++)
        if (collective(m, &e[i])->start_ns < at_ns) at_ns = collective(m, &e[i])->start_ns;
    GP_VEC_PUSH(&m->rows, ((struct row){first, n, at_ns, m->by_seq.at[e->group]}));
}

GP_COMPARE(compare_rows, struct row, GP_UP(at_ns) GP_UP(first))

static void find_rows(struct matching *m)
{
    struct entry *e = m->entries.at;
    size_t n = m->entries.n;
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i; end < n && e[end].group == e[i].group;) end++;
        bool alone = e[i].rank == e[end - 1].rank;
        if (ends_unknown(m, e + i, end - i)) continue;
        if (m->by_seq.at[e[i].group]) key_by_seq(m, e + i, end - i);
        else if (!alone) key_by_order(m, e + i, end - i);
        else
            for (size_t k = i; k < end; k++) e[k].key = (int64_t)(k - i);
    }
    qsort(e, n, sizeof *e, compare_keys);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i; end < n && e[end].group == e[i].group && e[end].key == e[i].key;) end++;
        add_row(m, i, end - i);
    }
    if (m->rows.n) qsort(m->rows.at, m->rows.n, sizeof *m->rows.at, compare_rows);
}

/* ---- clocks ---- */

/* Collect the differences of ends between rank R, whose offset is unknown, and the ranks with known
 * offsets. */
struct ends {
    GP_VEC(int64_t) diffs;
};

static void take_ends(const struct matching *m, const struct row *row, const bool *known, struct ends *ends)
{
    const struct entry *e = &m->entries.at[row->first], *ref = NULL;
    for (size_t i = 0; i < row->n && !ref; i++)
        if (known[rank_index(m, e[i].rank)]) ref = &e[i];
    if (!ref) return;
    int64_t end = plus(collective(m, ref)->end_ns, m->offset_ns[rank_index(m, ref->rank)]);
    for (size_t i = 0; i < row->n; i++) {
        size_t r = rank_index(m, e[i].rank);
        if (!known[r]) GP_VEC_PUSH(&ends[r].diffs, gp_minus_wrapped(end, collective(m, &e[i])->end_ns));
    }
}

/* Give offsets to the ranks that share collectives with ranks that already have one. True if there were
 * any. */
static bool spread_offsets(struct matching *m, bool *known, bool symmetric_only)
{
    bool any = false;
    struct ends *ends = gp_zalloc((m->ranks.n + 1) * sizeof *ends);
    for (size_t i = 0; i < m->rows.n; i++) {
        const struct gp_collective *c = collective(m, &m->entries.at[m->rows.at[i].first]);
        if (!symmetric_only || gp_collective_is_symmetric(op_of(m, c)))
            take_ends(m, &m->rows.at[i], known, ends);
    }
    for (size_t r = 0; r < m->ranks.n; r++) {
        size_t n = ends[r].diffs.n;
        int64_t *diffs = ends[r].diffs.at;
        if (!n) continue;
        struct gp_rank_offset *o = &m->h->offsets.at[r];
        m->offset_ns[r] = o->offset_ns = median(diffs, n);
        for (size_t i = 0; i < n; i++) diffs[i] = distance(diffs[i], o->offset_ns);
        o->error_ns = median(diffs, n);
        o->pairs = (uint32_t)n;
        known[r] = any = true;
        GP_VEC_FREE(&ends[r].diffs);
    }
    free(ends);
    return any;
}

/* ---- results from the rows ---- */

static void judge_row(struct matching *m, const struct row *row, struct gp_straggler *of_rank,
                      int64_t *starts)
{
    const struct entry *e = &m->entries.at[row->first];
    const struct gp_collective *first = collective(m, e);
    struct gp_collective_match match = {.op = first->op,
                                        .group = first->group,
                                        .seq = row->by_seq ? first->seq : first->order,
                                        .by_seq = row->by_seq,
                                        .ranks = (uint32_t)row->n,
                                        .bytes = -1,
                                        .duration_ns = INT64_MAX};
    int64_t first_start = 0, last_start = 0, first_end = 0, last_end = 0;
    uint32_t group_size = 0;
    for (size_t i = 0; i < row->n; i++) {
        const struct gp_collective *c = collective(m, &e[i]);
        int64_t offset = m->offset_ns[rank_index(m, e[i].rank)];
        int64_t start = plus(c->start_ns, offset), end = plus(c->end_ns, offset);
        starts[i] = start;
        if (!i || start > last_start) {
            last_start = start;
            match.last_rank = c->rank;
        }
        if (!i || start < first_start) first_start = start;
        if (!i || end > last_end) last_end = end;
        if (!i || end < first_end) first_end = end;
        if (!match.dtype) match.dtype = c->dtype;
        if (c->bytes > match.bytes) match.bytes = c->bytes;
        if (c->group_size > group_size) group_size = c->group_size;
        if (c->end_ns - c->start_ns < match.duration_ns) match.duration_ns = c->end_ns - c->start_ns;
    }
    match.start_skew_ns = distance(last_start, first_start);
    match.end_skew_ns = distance(last_end, first_end);
    for (size_t i = 0; i < row->n; i++) { /* ranks done before the last one starts do not wait for it */
        const struct gp_collective *c = collective(m, &e[i]);
        int64_t lag = distance(last_start, starts[i]), own = c->end_ns - c->start_ns;
        match.wait_ns = gp_add_saturated(match.wait_ns, lag < own ? lag : own);
    }
    match.algbw_gbps = gp_collective_bandwidth(match.bytes, match.duration_ns);
    match.busbw_gbps = match.algbw_gbps * gp_collective_bus_factor(op_of(m, first), group_size);
    GP_VEC_PUSH(&m->h->matches, match);
    /* Who sends waits for who receives by design: the stages of a pipeline take turns at being last. */
    if (!strcmp(op_of(m, first), "send_recv")) return;
    int64_t middle = median(starts, row->n);
    for (size_t i = 0; i < row->n; i++) {
        size_t r = rank_index(m, e[i].rank);
        int64_t start = plus(collective(m, &e[i])->start_ns, m->offset_ns[r]);
        of_rank[r].matched++;
        if (start > middle)
            of_rank[r].lateness_ns = gp_add_saturated(of_rank[r].lateness_ns, distance(start, middle));
    }
    struct gp_straggler *last = &of_rank[rank_index(m, match.last_rank)];
    if (!match.start_skew_ns) return;
    last->times_last++;
    last->caused_wait_ns = gp_add_saturated(last->caused_wait_ns, match.wait_ns);
}

GP_COMPARE(compare_stragglers, struct gp_straggler, GP_DOWN(caused_wait_ns) GP_DOWN(times_last) GP_UP(rank))

static void judge_rows(struct matching *m, uint32_t *match_of)
{
    struct gp_straggler *of_rank = gp_zalloc((m->ranks.n + 1) * sizeof *of_rank);
    size_t most = 1;
    for (size_t i = 0; i < m->rows.n; i++)
        if (m->rows.at[i].n > most) most = m->rows.at[i].n;
    int64_t *starts = gp_alloc(most * sizeof *starts);
    for (size_t i = 0; i < m->rows.n; i++) {
        const struct row *row = &m->rows.at[i];
        judge_row(m, row, of_rank, starts);
        for (size_t k = 0; k < row->n; k++) match_of[m->entries.at[row->first + k].index] = (uint32_t)i;
    }
    for (size_t r = 0; r < m->ranks.n; r++) {
        of_rank[r].rank = m->ranks.at[r];
        if (of_rank[r].matched) GP_VEC_PUSH(&m->h->stragglers, of_rank[r]);
    }
    if (m->h->stragglers.n)
        qsort(m->h->stragglers.at, m->h->stragglers.n, sizeof *m->h->stragglers.at, compare_stragglers);
    free(of_rank);
    free(starts);
}

uint32_t *gp_collectives_match(struct gp_hta *h)
{
    struct matching m = {.h = h};
    uint32_t *match_of = gp_alloc((h->collectives.n + 1) * sizeof *match_of);
    for (size_t i = 0; i < h->collectives.n; i++) match_of[i] = GP_NO_MATCH;
    find_ranks(&m);
    find_groups(&m);
    if (m.ranks.n > 1 && m.entries.n) {
        find_rows(&m);
        bool *known = gp_zalloc(m.ranks.n + 1);
        for (size_t r = 0; r < m.ranks.n; r++)
            GP_VEC_PUSH(&m.h->offsets, ((struct gp_rank_offset){.rank = m.ranks.at[r]}));
        known[0] = true;
        /* Each pass reaches the neighbours of those that are known. */
        uint64_t looked_at = 0;
        while (looked_at < LOOKS_MOST &&
               (spread_offsets(&m, known, true) || spread_offsets(&m, known, false)))
            looked_at += m.entries.n + m.ranks.n;
        free(known);
        judge_rows(&m, match_of);
    }
    GP_RELEASE(gp_vec_free, &m.entries, &m.rows, &m.by_seq, &m.ranks);
    free(m.offset_ns);
    gp_map_release(&m.partners);
    return match_of;
}
