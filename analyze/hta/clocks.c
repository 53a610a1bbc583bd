#include "analyze/hta/clocks.h"

#include <stdlib.h>
#include <string.h>
#include "analyze/hta/collectives.h"
#include "formats/base/num.h"
#include "formats/base/order.h"

enum {
    NO_RANK_FIRST = 1 << 24
}; /* traces without a rank are numbered from here on, among the collectives only */

/* Readings of the time of day at two moments on one clock differ by what the system has adjusted it between
 * them. */
static const int64_t SAME_CLOCK_NS = 1000000000;

static int64_t minus(int64_t a, int64_t b) { return (int64_t)((uint64_t)a - (uint64_t)b); }

static int64_t plus(int64_t a, int64_t b) { return (int64_t)((uint64_t)a + (uint64_t)b); }

/* ---- clock facts of a trace ---- */

/* The collectives of the new trace are those from FIRST on. Two recordings of one rank are not two ranks. */
static void name_ranks(struct gp_clocks *c, struct gp_clock_facts *f, size_t first)
{
    size_t n = first;
    f->rank = -1;
    for (size_t i = first; i < c->h.collectives.n; i++) {
        struct gp_collective x = c->h.collectives.at[i];
        bool taken = false;
        if (x.rank < 0) x.rank = NO_RANK_FIRST + (int32_t)c->facts.n;
        for (size_t k = 0; k < c->facts.n && !taken; k++) taken = c->facts.at[k].rank == x.rank;
        if (taken) continue;
        if (f->rank < 0) f->rank = x.rank;
        if (x.rank == f->rank)
            c->h.collectives.at[n++] = x; /* further ranks of the trace have the same clock */
    }
    c->h.collectives.n = n;
}

void gp_clocks_add(struct gp_clocks *c, const struct gp_view *v)
{
    struct gp_clock_facts f = {0};
    if (!c->facts.n) gp_hta_init(&c->h, NULL);
    size_t first = c->h.collectives.n;
    const char *base = gp_trace_get_meta(v->t, "baseTimeNanoseconds");
    f.has_base = true;
    if (base && gp_i64_from_text(base, strlen(base), &f.base_ns)) f.exact = true;
    else if (v->t->clocks.n) f.base_ns = minus(v->t->clocks.at[0].realtime_ns, v->t->clocks.at[0].trace_ns);
    else f.has_base = false;
    f.first_ns = INT64_MAX;
    f.last_ns = INT64_MIN;
    for (int i = 0; i < GP_TABLE_COUNT; i++) {
        const struct gp_events *e = &v->t->events[i];
        if (!e->n || i == GP_FLOW || i == GP_COUNTER) continue;
        if (e->start_ns[0] < f.first_ns) f.first_ns = e->start_ns[0];
        if (e->start_ns[e->n - 1] > f.last_ns) f.last_ns = e->start_ns[e->n - 1];
    }
    gp_hta_add_collectives(&c->h, v);
    name_ranks(c, &f, first);
    GP_VEC_PUSH(&c->facts, f);
    GP_VEC_PUSH(&c->shifts, ((struct gp_clock_shift){0}));
}

/* ---- aligning ---- */

GP_COMPARE(by_rank, struct gp_collective, GP_UP(rank) GP_UP(start_ns) GP_UP(order))

/* What matching found for the rank of trace I; NULL: nothing. The lowest rank is the one that the others are
 * compared with. */
static const struct gp_rank_offset *offset_of(const struct gp_clocks *c, size_t i)
{
    for (size_t k = 0; k < c->h.offsets.n; k++) {
        const struct gp_rank_offset *o = &c->h.offsets.at[k];
        if (o->rank == c->facts.at[i].rank && (o->pairs || !k)) return o;
    }
    return NULL;
}

static void shift_by_day(struct gp_clocks *c, size_t i)
{
    const struct gp_clock_facts *first = &c->facts.at[0], *f = &c->facts.at[i];
    struct gp_clock_shift *s = &c->shifts.at[i];
    if (!first->has_base || !f->has_base) return;
    int64_t later = minus(f->base_ns, first->base_ns);
    bool same = !first->exact && !f->exact && later < SAME_CLOCK_NS && later > -SAME_CLOCK_NS;
    if (!later || same) return;
    *s = (struct gp_clock_shift){.source = GP_CLOCK_TIME_OF_DAY, .later_ns = later};
}

/* Recordings that were not made at the same time stand side by side. */
static void shift_by_start(struct gp_clocks *c, size_t i)
{
    const struct gp_clock_facts *first = &c->facts.at[0], *f = &c->facts.at[i];
    struct gp_clock_shift *s = &c->shifts.at[i];
    int64_t from = plus(f->first_ns, s->later_ns), to = plus(f->last_ns, s->later_ns);
    bool any = first->first_ns <= first->last_ns && f->first_ns <= f->last_ns;
    if (!any || s->source == GP_CLOCK_COLLECTIVES || (from <= first->last_ns && to >= first->first_ns))
        return;
    *s = (struct gp_clock_shift){.source = GP_CLOCK_FIRST_EVENT,
                                 .later_ns = minus(first->first_ns, f->first_ns)};
}

void gp_clocks_align(struct gp_clocks *c)
{
    if (c->h.collectives.n) {
        qsort(c->h.collectives.at, c->h.collectives.n, sizeof *c->h.collectives.at, by_rank);
        free(gp_collectives_match(&c->h));
    }
    for (size_t i = 1; i < c->facts.n; i++) shift_by_day(c, i);
    /* All ranks that share collectives move together: with the first trace that is one of them, which stays
     * where it is. */
    size_t anchor = 0;
    while (anchor < c->facts.n && !offset_of(c, anchor)) anchor++;
    for (size_t i = anchor + 1; i < c->facts.n; i++) {
        const struct gp_rank_offset *a = offset_of(c, anchor), *o = offset_of(c, i);
        if (!o) continue;
        int64_t later = plus(c->shifts.at[anchor].later_ns, minus(o->offset_ns, a->offset_ns));
        c->shifts.at[i] = (struct gp_clock_shift){.source = GP_CLOCK_COLLECTIVES,
                                                  .later_ns = later,
                                                  .error_ns = o->pairs ? o->error_ns : a->error_ns,
                                                  .pairs = o->pairs ? o->pairs : a->pairs};
    }
    for (size_t i = 1; i < c->facts.n; i++) shift_by_start(c, i);
}

void gp_clocks_release(struct gp_clocks *c)
{
    if (c->facts.n) gp_hta_release(&c->h);
    GP_VEC_FREE(&c->shifts);
    GP_VEC_FREE(&c->facts);
    memset(c, 0, sizeof *c);
}
