#include "analyze/hang/hang.h"

#include <inttypes.h>
#include <stdlib.h>
#include "formats/base/map.h"
#include "formats/base/num.h"
#include "formats/base/order.h"
#include "formats/base/str.h"

void gp_hang_release(struct gp_hang *h)
{
    gp_strings_release(&h->strings);
    GP_RELEASE(gp_vec_free, &h->entries, &h->groups, &h->logs, &h->ranks);
    gp_buf_release(&h->summary);
}

static gp_sid copied(struct gp_hang *h, const struct gp_flight *f, gp_sid sid)
{
    return gp_intern_from(&h->strings, &f->strings, sid);
}

void gp_hang_add(struct gp_hang *h, const struct gp_flight *f)
{
    int32_t rank = f->rank >= 0 ? f->rank : (int32_t)h->logs.n;
    gp_intern(&h->strings, "", 0);
    for (size_t i = 0; i < f->entries.n; i++) {
        struct gp_flight_entry e = f->entries.at[i];
        e.group = copied(h, f, e.group);
        e.op = copied(h, f, e.op);
        e.sizes = copied(h, f, e.sizes);
        if (e.rank < 0) e.rank = rank;
        else rank = e.rank;
        if (!e.is_p2p) GP_VEC_PUSH(&h->entries, e); /* they have numbers of their own */
    }
    for (size_t i = 0; i < f->groups.n; i++) {
        struct gp_flight_group g = f->groups.at[i];
        size_t known = 0;
        g.name = copied(h, f, g.name);
        g.ranks = copied(h, f, g.ranks);
        while (known < h->groups.n && h->groups.at[known].name != g.name) known++;
        if (known == h->groups.n) GP_VEC_PUSH(&h->groups, g);
    }
    GP_VEC_PUSH(&h->logs, rank);
}

/* ---- a group ---- */

/* The collectives of one group. */
struct group {
    struct gp_hang *h;
    struct gp_map at;     /* rank and number -> entry */
    size_t first, n;      /* its ranks in h->ranks */
    int64_t least;        /* the first number that all logs still have */
    GP_VEC(int64_t) seqs; /* of all its collectives, sorted */
};

enum { SEQ_BITS = 40 };
#define SEQ_MOST ((UINT64_C(1) << SEQ_BITS) - 1)

static uint64_t key_of(int64_t rank, int64_t seq) { return (uint64_t)rank << SEQ_BITS ^ (uint64_t)seq; }

static const struct gp_flight_entry *entry_of(const struct group *g, const struct gp_hang_rank *r,
                                              int64_t seq)
{
    const uint32_t *at = gp_map_get(&g->at, key_of(r->rank, seq));
    return at ? &g->h->entries.at[*at] : NULL;
}

static void add_rank(struct gp_hang *h, gp_sid group, int64_t rank)
{
    enum { MOST = 1 << 17 };
    struct gp_hang_rank r = {.group = group, .rank = rank, .seq = -1};
    for (size_t i = 0; i < h->logs.n; i++) r.logged = r.logged || h->logs.at[i] == rank;
    if (h->ranks.n < MOST) GP_VEC_PUSH(&h->ranks, r);
}

/* The ranks of "[0, 1, 4]", or as many as there are. */
static void add_ranks(struct gp_hang *h, const struct gp_flight_group *group)
{
    const char *p = gp_string(&h->strings, group->ranks);
    uint64_t rank;
    for (uint32_t i = 0; !group->ranks && i < group->size; i++) add_rank(h, group->name, i);
    for (; *p; p += !gp_is_digit(*p)) {
        size_t n = strspn(p, "0123456789");
        if (gp_u64_from_text(p, n, &rank)) add_rank(h, group->name, (int64_t)(rank & INT32_MAX));
        p += n;
        if (!*p) break;
    }
}

static void take_last(struct gp_hang_rank *r, const struct gp_flight_entry *e)
{
    r->seq = (int64_t)e->seq;
    r->op = e->op;
    r->sizes = e->sizes;
    r->state = e->state;
    r->time_ns = e->time_ns;
}

static void open_group(struct group *g, struct gp_hang *h, const struct gp_flight_group *group)
{
    *g = (struct group){.h = h, .first = h->ranks.n};
    add_ranks(h, group);
    g->n = h->ranks.n - g->first;
    struct gp_map place = {0}; /* rank -> 1 + its place in h->ranks */
    int64_t *least = gp_alloc((g->n + 1) * sizeof *least);
    for (size_t k = 0; k < g->n; k++) {
        *gp_map_put(&place, (uint64_t)h->ranks.at[g->first + k].rank, 0) = (uint32_t)k;
        least[k] = INT64_MAX;
    }
    for (size_t i = 0; i < h->entries.n; i++) {
        const struct gp_flight_entry *e = &h->entries.at[i];
        const uint32_t *k = e->group == group->name ? gp_map_get(&place, (uint64_t)e->rank) : NULL;
        if (!k || e->seq > SEQ_MOST) continue;
        *gp_map_put(&g->at, key_of(e->rank, (int64_t)e->seq), 0) = (uint32_t)i;
        GP_VEC_PUSH(&g->seqs, (int64_t)e->seq);
        if ((int64_t)e->seq < least[*k]) least[*k] = (int64_t)e->seq;
        if ((int64_t)e->seq >= h->ranks.at[g->first + *k].seq) take_last(&h->ranks.at[g->first + *k], e);
    }
    for (size_t k = 0; k < g->n; k++)
        if (least[k] != INT64_MAX && least[k] > g->least) g->least = least[k];
    if (g->seqs.n) qsort(g->seqs.at, g->seqs.n, sizeof *g->seqs.at, gp_order_i64);
    gp_map_release(&place);
    free(least);
}

/* ---- who differs ---- */

/* In these, all ranks pass the same sizes. */
static bool sizes_agree(const char *op)
{
    return *op &&
           gp_is_one_of(
               op, strlen(op),
               " all_reduce allreduce AllReduce broadcast Broadcast _all_gather_base all_gather_into_tensor "
               "AllGather _reduce_scatter_base reduce_scatter_tensor ReduceScatter ");
}

/* The entry of collective SEQ that most ranks have, by operation or also by sizes. */
static const struct gp_flight_entry *usual_entry(const struct group *g, int64_t seq, bool by_size)
{
    const struct gp_flight_entry *best = NULL;
    struct gp_map same = {0};
    uint32_t most = 0;
    for (size_t i = 0; i < g->n; i++) {
        const struct gp_flight_entry *e = entry_of(g, &g->h->ranks.at[g->first + i], seq);
        uint32_t *count = e ? gp_map_put(&same, (uint64_t)e->op << 32 | (by_size ? e->sizes : 0), 0) : NULL;
        if (!e || ++*count <= most) continue;
        most = *count;
        best = e;
    }
    gp_map_release(&same);
    return best;
}

/* What is wrong with collective SEQ; the roles of the ranks are set. */
static enum gp_hang_cause judge(const struct group *g, int64_t seq)
{
    enum gp_hang_cause worst = GP_HANG_NONE;
    const struct gp_flight_entry *usual = usual_entry(g, seq, false);
    bool agree = usual && sizes_agree(gp_string(&g->h->strings, usual->op)), pending = false,
         inspected = false;
    const struct gp_flight_entry *sized = agree ? usual_entry(g, seq, true) : usual;
    for (size_t i = 0; i < g->n; i++) {
        struct gp_hang_rank *r = &g->h->ranks.at[g->first + i];
        const struct gp_flight_entry *e = entry_of(g, r, seq);
        r->role = !e && !r->logged ? GP_HANG_NO_LOG : !e ? GP_HANG_MISSING : GP_HANG_WAITS;
        if (e && e->op != usual->op) r->role = GP_HANG_OTHER_OP;
        else if (e && agree && e->sizes != sized->sizes) r->role = GP_HANG_OTHER_SIZE;
        pending = pending || (e && e->state != GP_FLIGHT_COMPLETED);
        inspected = inspected || (r->logged && r->seq < seq);
        if (r->role != GP_HANG_WAITS && (worst == GP_HANG_NONE || r->role > worst)) worst = r->role;
    }
    /* without a log, and everything that others called is over: nothing to see yet */
    if (!pending && !inspected && worst <= GP_HANG_NO_LOG) return GP_HANG_NONE;
    return worst == GP_HANG_NONE && pending ? GP_HANG_ALL_IN : worst;
}

/* ---- the sentence ---- */

/* "rank 3", "ranks 0-2, 5", of those with ROLE; returns how many they are. */
static size_t put_ranks(struct gp_buf *b, const struct group *g, enum gp_hang_cause role)
{
    const struct gp_hang_rank *all = &g->h->ranks.at[g->first];
    size_t n = 0, last;
    for (size_t i = 0; i < g->n; i++) n += all[i].role == role;
    gp_buf_puts(b, n == 1 ? "rank" : "ranks");
    const char *before = " ";
    for (size_t i = 0; i < g->n; i = last + 1) {
        for (last = i;
             last + 1 < g->n && all[last + 1].role == role && all[last + 1].rank == all[last].rank + 1;)
            last++;
        if (all[i].role != role) last = i;
        if (all[i].role != role) continue;
        gp_buf_printf(b, "%s%" PRId64, before, all[i].rank);
        if (last > i) gp_buf_printf(b, "%s%" PRId64, last > i + 1 ? "-" : ", ", all[last].rank);
        before = ", ";
    }
    return n;
}

/* The first rank with ROLE. */
static const struct gp_hang_rank *first_of(const struct group *g, enum gp_hang_cause role)
{
    for (size_t i = 0; i < g->n; i++)
        if (g->h->ranks.at[g->first + i].role == role) return &g->h->ranks.at[g->first + i];
    return NULL;
}

static void put_summary(const struct group *g, enum gp_hang_cause cause, int64_t seq)
{
    struct gp_hang *h = g->h;
    struct gp_buf *b = &h->summary;
    const struct gp_flight_entry *usual = usual_entry(g, seq, cause == GP_HANG_OTHER_SIZE);
    const struct gp_hang_rank *who = first_of(g, cause);
    const struct gp_flight_entry *odd = who ? entry_of(g, who, seq) : NULL;
    b->n = 0;
    gp_buf_printf(b, "Group %s hangs in %s %" PRId64 ": ", gp_string(&h->strings, usual->group),
                  gp_string(&h->strings, usual->op), seq);
    size_t n = cause == GP_HANG_ALL_IN ? 0 : put_ranks(b, g, cause);
    if (cause == GP_HANG_ALL_IN) gp_buf_printf(b, "all %zu ranks are in it, and it does not end", g->n);
    if (cause == GP_HANG_NO_LOG)
        gp_buf_puts(b, n == 1 ? " has no log, so it has ended or is stuck elsewhere"
                              : " have no logs, so they have ended or are stuck elsewhere");
    if (cause == GP_HANG_MISSING && who->seq < 0) gp_buf_puts(b, " did not join it");
    else if (cause == GP_HANG_MISSING)
        gp_buf_printf(b, " did not join it (last: %s %" PRId64 ")", gp_string(&h->strings, who->op),
                      who->seq);
    if (cause == GP_HANG_OTHER_OP) gp_buf_printf(b, " called %s instead", gp_string(&h->strings, odd->op));
    if (cause == GP_HANG_OTHER_SIZE)
        gp_buf_printf(b, " passed %s, the others %s", gp_string(&h->strings, odd->sizes),
                      gp_string(&h->strings, usual->sizes));
    if (cause != GP_HANG_ALL_IN && first_of(g, GP_HANG_WAITS)) {
        gp_buf_puts(b, "; waiting: ");
        put_ranks(b, g, GP_HANG_WAITS);
    }
    gp_buf_putc(b, '.');
    h->cause = cause;
    h->group = usual->group;
    h->op = usual->op;
    h->seq = seq;
}

/* Does a rank that this group waits for wait in another one? Then that one is the cause. */
static bool waits_elsewhere(const struct group *g)
{
    for (size_t i = 0; i < g->n; i++) {
        const struct gp_hang_rank *r = &g->h->ranks.at[g->first + i];
        for (size_t k = 0; r->role == GP_HANG_MISSING && k < g->h->entries.n; k++) {
            const struct gp_flight_entry *e = &g->h->entries.at[k];
            if (e->rank == r->rank && e->group != r->group && e->state != GP_FLIGHT_COMPLETED) return true;
        }
    }
    return false;
}

void gp_hang_find(struct gp_hang *h)
{
    bool sure = false;
    gp_buf_puts(&h->summary,
                "No collective hangs: every rank has ended the last one that the others called.");
    for (size_t i = 0; i < h->groups.n; i++) {
        struct group g;
        enum gp_hang_cause cause = GP_HANG_NONE;
        open_group(&g, h, &h->groups.at[i]);
        int64_t seq = -1;
        for (size_t k = 0; k < g.seqs.n && cause == GP_HANG_NONE; k++) {
            if (g.seqs.at[k] < g.least || g.seqs.at[k] == seq) continue;
            seq = g.seqs.at[k];
            cause = judge(&g, seq);
        }
        bool better = cause != GP_HANG_NONE && (h->cause == GP_HANG_NONE || (!sure && !waits_elsewhere(&g)));
        if (better) sure = !waits_elsewhere(&g) && cause != GP_HANG_ALL_IN;
        if (better) put_summary(&g, cause, seq);
        if (cause == GP_HANG_NONE)
            for (size_t k = 0; k < g.n; k++) h->ranks.at[g.first + k].role = GP_HANG_NONE;
        gp_map_release(&g.at);
        GP_VEC_FREE(&g.seqs);
    }
    gp_buf_str(&h->summary); /* ends it */
}

/* ---- records ---- */

static const char *const roles[] = {GP_HANG_CAUSES(GP_SECOND) NULL};
static const char *const states[] = {"scheduled", "started", "completed", NULL};

GP_GET_UNLESS(get_known, void, gp_member_i64, c->i < 0)

GP_GET_UNLESS(get_state, struct gp_hang_rank, gp_member_word, r->seq < 0)

GP_GET(get_summary, struct gp_hang, gp_cell_text(c, r->summary.data))

#define AT(member) offsetof(struct gp_hang_rank, member)
static const struct gp_field rank_fields[] = {
    {"group", "Group", GP_CELL_TEXT, gp_member_sid, AT(group), .help = "process group or communicator"},
    {"rank", "Rank", GP_CELL_COUNT, gp_member_i64, AT(rank), .help = "in the job"},
    {"role", "Role", GP_CELL_TEXT, gp_member_word, AT(role),
     .help = "in the collective that its group hangs in", .words = roles},
    {"seq", "Last", GP_CELL_COUNT, get_known, AT(seq),
     .help = "number of its last collective; null: it has no log", .flags = GP_FIELD_NULL},
    {"op", "Collective", GP_CELL_TEXT, gp_member_sid, AT(op), .help = "its last one"},
    {"state", "State", GP_CELL_TEXT, get_state, AT(state), .help = "of it", .words = states,
     .flags = GP_FIELD_NULL},
    {"sizes", "Sizes", GP_CELL_TEXT, gp_member_sid, AT(sizes), .help = "of inputs and outputs, or bytes"},
    {"time_ns", NULL, GP_CELL_NS, gp_member_i64, AT(time_ns),
     .help = "when it was called, since 1970; 0: unknown"},
};
const struct gp_record gp_hang_rank_rows = {"ranks", "Last collective of each rank", GP_FIELDS(rank_fields),
                                            sizeof(struct gp_hang_rank), .note = "a rank of a group"};
#undef AT

#define AT(member) offsetof(struct gp_hang, member)
static const struct gp_field answer_fields[] = {
    {"cause", NULL, GP_CELL_TEXT, gp_member_word, AT(cause), .help = "what keeps it", .words = roles},
    {"group", NULL, GP_CELL_TEXT, gp_member_sid, AT(group), .help = "process group or communicator"},
    {"op", NULL, GP_CELL_TEXT, gp_member_sid, AT(op), .help = "the collective that hangs"},
    {"seq", NULL, GP_CELL_COUNT, gp_member_i64, AT(seq), .help = "its number in the group"},
    {"sentence", NULL, GP_CELL_TEXT, get_summary, AT(summary),
     .help = "what hangs, and who is missing or differs"},
};
const struct gp_record gp_hang_answers = {"answer", NULL, GP_FIELDS(answer_fields), sizeof(struct gp_hang),
                                          .note = "where the job hangs"};
#undef AT
