#include "analyze/fleet/slow.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "analyze/math/stat.h"
#include "formats/base/buf.h"
#include "formats/base/order.h"
#include "formats/base/scale.h"
#include "formats/base/str.h"

/* With fewer members their deviation says little, and the share must do. */
enum { MANY = 8, ENOUGH = 4, ROWS_MOST = 16 };
static const double RANK_PCT = 2, RANK_FEW_PCT = 5, FEW_OF_STEP_PCT = 4, RANK_TIMES = 6;
static const double KERNEL_PCT = 10, KERNEL_TIMES = 8, KERNEL_STEP_PCT = 0.2;
static const double LINK_PCT = 10, TURN_PCT = 10, OF_STEP_PCT = 1;

GP_WORD(gp_slow_cause_name, enum gp_slow_cause, GP_SLOW_CAUSES, 1)
GP_WORDS(gp_slow_what_name, enum gp_slow_what, "rank", "kernel", "node", "gpu")

static const char *cause_text(enum gp_slow_cause c)
{
    static const char *const texts[] = {GP_SLOW_CAUSES(GP_THIRD)};
    return texts[c];
}

static int64_t part(int64_t ns, double pct) { return (int64_t)((double)ns / 100 * pct); }

int64_t gp_slow_limit(const struct gp_sketch *s, int64_t middle, double pct, double times)
{
    int64_t share = part(middle, pct), apart = 0;
    if (s->n >= ENOUGH) apart = (int64_t)((double)gp_sketch_deviation(s, middle) * times);
    return middle + (share > apart ? share : apart);
}

/* ---- one member ---- */

struct judge {
    const struct gp_fleet *f;
    struct gp_slow_list *list;
    int64_t median[GP_FLEET_METRIC_COUNT];
};

static const struct gp_fleet_kernel *kernel_named(const struct gp_fleet *f, gp_sid name)
{
    const uint32_t *at = gp_map_get(&f->names, name);
    return at ? &f->kernels.at[*at] : NULL;
}

/* Does T take MORE_NS longer in a step than MEDIAN since it runs more often, and not since a call takes
 * longer than CALL_NS? */
static bool runs_more(const struct gp_fleet_kernel_time *t, int64_t call_ns, int64_t more_ns, int64_t median)
{
    return (double)(t->call_ns - call_ns) * 2 * (double)median < (double)more_ns * (double)call_ns;
}

/* Which kernel explains most of what M computes longer; none where many are slower. */
static void find_kernel(const struct judge *j, const struct gp_fleet_member *m, struct gp_slow *s)
{
    int64_t worst_ns = 0, all_ns = 0, slower_ns = 0;
    double ratio = (double)s->cause_ns / (double)(m->ns[GP_FLEET_COMPUTE] - s->cause_ns + 1);
    GP_EACH(const struct gp_fleet_kernel_time, t, m->kernels) {
        const struct gp_fleet_kernel *k = kernel_named(j->f, t->name);
        if (!k) continue;
        int64_t median = gp_sketch_median(&k->step), call = gp_sketch_median(&k->call);
        all_ns += t->step_ns;
        if ((double)t->step_ns > (double)median * (1 + ratio / 2)) slower_ns += t->step_ns;
        if (t->step_ns - median <= worst_ns) continue;
        worst_ns = t->step_ns - median;
        s->kernel = t->name;
        s->kernel_ns = t->step_ns;
        s->kernel_median_ns = median;
        s->more_calls = runs_more(t, call, worst_ns, median);
    }
    bool alike = m->kernels.n > 2 && slower_ns > all_ns / 5 * 4 && worst_ns < s->cause_ns / 2;
    if (alike || worst_ns < s->cause_ns / 3) s->kernel = 0;
}

/* Where every operator of the host is recorded, hosts are late by what that costs them, and not by the same
 * on each rank. A rank with more work still computes for longer, and its kernels say so. */
static void look_behind_host(const struct judge *j, const struct gp_fleet_member *m, struct gp_slow *s)
{
    struct gp_slow compute = *s;
    int64_t median = j->median[GP_FLEET_COMPUTE];
    compute.cause = GP_SLOW_COMPUTE;
    compute.cause_ns = m->ns[GP_FLEET_COMPUTE] - median;
    compute.host_ns = s->cause_ns;
    if (compute.cause_ns <= part(median, RANK_PCT)) return;
    if (j->f->spread[GP_FLEET_COMPUTE].n >= ENOUGH &&
        m->ns[GP_FLEET_COMPUTE] <=
            gp_slow_limit(&j->f->spread[GP_FLEET_COMPUTE], median, RANK_PCT, RANK_TIMES))
        return;
    find_kernel(j, m, &compute);
    *s = compute;
}

static void find_cause(const struct judge *j, const struct gp_fleet_member *m, struct gp_slow *s)
{
    static const struct {
        enum gp_fleet_metric metric;
        enum gp_slow_cause cause;
    } parts[] = {{GP_FLEET_COMPUTE, GP_SLOW_COMPUTE},
                 {GP_FLEET_COPY, GP_SLOW_COPIES},
                 {GP_FLEET_HOST, GP_SLOW_HOST},
                 {GP_FLEET_DATA, GP_SLOW_DATA},
                 {GP_FLEET_GAP, GP_SLOW_GAPS}};
    s->cause_ns = INT64_MIN;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        int64_t more = m->ns[parts[i].metric] - j->median[parts[i].metric];
        if (more <= s->cause_ns) continue;
        s->cause_ns = more;
        s->cause = parts[i].cause;
    }
    if (s->cause == GP_SLOW_COMPUTE) find_kernel(j, m, s);
    if (j->f->host_slowed && (s->cause == GP_SLOW_HOST || s->cause == GP_SLOW_GAPS))
        look_behind_host(j, m, s);
}

/* A column counts where the member is at least half as far behind as it is on average. */
static void find_pattern(const struct judge *j, struct gp_slow *s)
{
    int64_t half = (s->ns - s->median_ns) / 2;
    GP_EACH(const struct gp_fleet_column, c, j->f->columns) {
        if (c->own.n < 2) continue;
        int64_t limit = gp_sketch_median(&c->own) + half;
        bool slow = false;
        for (uint32_t k = 0; k < c->worst.n; k++)
            slow |= c->worst.at[k].value > limit && !gp_fleet_key_compare(c->worst.at[k].key, s->key);
        bool full = c->worst.n == c->worst.most && c->worst.at[c->worst.n - 1].value > limit;
        if (full && !slow) continue; /* others fill the list: not known */
        s->columns++;
        s->slow_columns += slow;
    }
    if (s->columns < 2) return;
    s->pattern = s->slow_columns * 5 >= s->columns * 4                       ? GP_SLOW_ALWAYS
                 : s->slow_columns <= 2 || s->slow_columns * 10 < s->columns ? GP_SLOW_ONCE
                                                                             : GP_SLOW_SOMETIMES;
}

/* Is each column a step, and are there enough of them to speak of a typical one? */
static bool has_typical(const struct judge *j) { return j->f->columns.n >= ENOUGH && !j->f->column_shift; }

/* Own time of the median rank in the median step; 0: unknown. */
static int64_t typical_own(const struct judge *j)
{
    GP_VEC(int64_t) middles = {0};
    if (!has_typical(j)) return 0;
    for (size_t i = 0; i < j->f->columns.n; i++)
        GP_VEC_PUSH(&middles, gp_sketch_median(&j->f->columns.at[i].own));
    int64_t typical = (int64_t)gp_stat_median(middles.at, middles.n);
    GP_VEC_FREE(&middles);
    return typical;
}

/* How far KEY is behind the median rank in its median step, which a few late steps do not move. A step counts
 * where the ranks do not differ as much among themselves. Of few ranks: a column lists the worst. */
static int64_t typical_more(const struct judge *j, struct gp_fleet_key key)
{
    GP_VEC(int64_t) more = {0};
    if (!has_typical(j)) return 0;
    GP_EACH(const struct gp_fleet_column, c, j->f->columns) {
        int64_t of_step = gp_sketch_median(&c->own), behind = 0;
        int64_t limit = gp_slow_limit(&c->own, of_step, 0, RANK_TIMES);
        for (uint32_t k = 0; k < c->worst.n; k++)
            if (!gp_fleet_key_compare(c->worst.at[k].key, key) && c->worst.at[k].value > limit)
                behind = c->worst.at[k].value - of_step;
        GP_VEC_PUSH(&more, behind);
    }
    int64_t typical = (int64_t)gp_stat_median(more.at, more.n);
    GP_VEC_FREE(&more);
    return typical;
}

/* The stages of a pipeline have other work, which is not that a rank does its work more slowly. */
static bool has_other_work(const struct judge *j, const struct gp_fleet_member *m, const struct gp_slow *s)
{
    double slower_ns = 0;
    if (!j->f->staged || s->cause != GP_SLOW_COMPUTE) return false;
    GP_EACH(const struct gp_fleet_kernel_time, t, m->kernels) {
        const struct gp_fleet_kernel *k = kernel_named(j->f, t->name);
        int64_t call_ns = k ? gp_sketch_median(&k->call) : t->call_ns;
        if (t->call_ns > call_ns)
            slower_ns += (double)t->step_ns * (double)(t->call_ns - call_ns) / (double)t->call_ns;
    }
    return slower_ns * 2 < (double)s->cause_ns;
}

static void add(struct judge *j, struct gp_slow s) { GP_VEC_PUSH(&j->list->at, s); }

static bool is_told(const struct judge *j, struct gp_fleet_key key)
{
    for (size_t i = 0; i < j->list->at.n; i++)
        if (!gp_fleet_key_compare(j->list->at.at[i].key, key)) return true;
    return false;
}

static void find_ranks(struct judge *j)
{
    const struct gp_sketch *own = &j->f->spread[GP_FLEET_OWN];
    int64_t middle = j->median[GP_FLEET_OWN];
    bool few = own->n < MANY, steps = j->f->columns.n != 0;
    double least_pct = few ? FEW_OF_STEP_PCT : OF_STEP_PCT;
    int64_t typical_ns = few ? typical_own(j) : 0;
    int64_t limit = gp_slow_limit(own, middle, few && steps ? RANK_FEW_PCT : RANK_PCT, RANK_TIMES);
    GP_EACH(const struct gp_fleet_member, m, j->f->kept) {
        int64_t more = m->ns[GP_FLEET_OWN] - middle, typical = few ? typical_more(j, m->key) : 0;
        int64_t least = part(m->ns[GP_FLEET_STEP], least_pct);
        bool mean = m->ns[GP_FLEET_OWN] > limit && more >= least, median = typical > 0 && typical >= least;
        if ((!mean && !median) || !gp_topk_has(&j->f->worst[GP_FLEET_OWN], m->key)) continue;
        struct gp_slow s = {.what = GP_SLOW_RANK,
                            .key = m->key,
                            .device = m->device,
                            .ranks = 1,
                            .ns = m->ns[GP_FLEET_OWN],
                            .median_ns = middle};
        find_cause(j, m, &s);
        if (!mean || (median && more > 2 * typical)) {
            s.ns = typical_ns + typical;
            s.median_ns = typical_ns;
        }
        find_pattern(j, &s);
        /* Hosts of few ranks are late now and then: that is not a slow rank. */
        bool now_and_then = typical_ns && s.cause > GP_SLOW_COPIES && s.slow_columns * 2 < s.columns;
        if (mean ? now_and_then : s.pattern != GP_SLOW_ALWAYS) continue;
        if (!has_other_work(j, m, &s)) add(j, s);
    }
}

/* ---- kernels, links ---- */

static void find_kernels(struct judge *j)
{
    int64_t least = part(j->median[GP_FLEET_STEP], KERNEL_STEP_PCT);
    GP_EACH(const struct gp_fleet_kernel, k, j->f->kernels) {
        if (k->step.n < ENOUGH) continue;
        int64_t middle = gp_sketch_median(&k->step);
        int64_t limit = gp_slow_limit(&k->step, middle, KERNEL_PCT, KERNEL_TIMES),
                call = gp_sketch_median(&k->call);
        GP_EACH(const struct gp_topk_entry, e, k->worst) {
            if (e->value <= limit || e->value - middle < least || is_told(j, e->key)) continue;
            const struct gp_fleet_member *m = gp_fleet_member(j->f, e->key);
            bool slower = !m;
            for (size_t t = 0; m && t < m->kernels.n; t++)
                slower |= m->kernels.at[t].name == k->name &&
                          !runs_more(&m->kernels.at[t], call, e->value - middle, middle);
            if (!slower) continue; /* more calls: other work, as of a stage of a pipeline, and in time */
            add(j, (struct gp_slow){.what = GP_SLOW_KERNEL,
                                    .key = e->key,
                                    .device = -1,
                                    .ranks = 1,
                                    .cause = GP_SLOW_COMPUTE,
                                    .ns = e->value,
                                    .median_ns = middle,
                                    .cause_ns = e->value - middle,
                                    .kernel = k->name,
                                    .kernel_ns = e->value,
                                    .kernel_median_ns = middle});
        }
    }
}

/* Where nobody is late, a rank that communicates for longer than all others has the slower link. */
static void find_links(struct judge *j)
{
    const struct gp_sketch *c = &j->f->spread[GP_FLEET_COMMUNICATION];
    int64_t middle = j->median[GP_FLEET_COMMUNICATION],
            limit = gp_slow_limit(c, middle, LINK_PCT, RANK_TIMES);
    const struct gp_topk *w = &j->f->worst[GP_FLEET_COMMUNICATION];
    if (c->n < ENOUGH || j->list->at.n) return;
    for (uint32_t i = 0; i < w->n; i++) {
        if (w->at[i].value <= limit || w->at[i].value - middle < part(j->median[GP_FLEET_STEP], RANK_PCT))
            continue;
        const struct gp_fleet_member *m = gp_fleet_member(j->f, w->at[i].key);
        /* It is there first, and waits for the others. */
        if (m && m->ns[GP_FLEET_STEP] - j->median[GP_FLEET_STEP] < (w->at[i].value - middle) / 2) continue;
        add(j, (struct gp_slow){.what = GP_SLOW_RANK,
                                .key = w->at[i].key,
                                .device = m ? m->device : -1,
                                .ranks = 1,
                                .cause = GP_SLOW_LINK,
                                .ns = w->at[i].value,
                                .median_ns = middle,
                                .cause_ns = w->at[i].value - middle});
    }
}

/* ---- nodes, GPUs of one number ---- */

/* How many GPUs a node has: numbers in use; ranks follow each other on a node. */
static uint32_t gpus_of_node(const struct gp_fleet *f)
{
    uint32_t n = 0;
    while (n < GP_FLEET_ORDINALS && f->ordinals[n].n) n++;
    return n;
}

static int64_t node_of(const struct gp_slow *s) { return (int64_t)s->key.rank - s->device; }

/* Where all ranks of a node are slow, the node is. */
static void join_nodes(struct judge *j)
{
    uint32_t gpus = gpus_of_node(j->f);
    struct gp_slow *at = j->list->at.at;
    if (gpus < 2 || j->f->members <= gpus) return;
    for (size_t i = 0; i < j->list->at.n; i++) {
        if (at[i].what != GP_SLOW_RANK || at[i].device < 0) continue;
        uint32_t same = 0;
        for (size_t k = 0; k < j->list->at.n; k++)
            same += at[k].what == GP_SLOW_RANK && at[k].device >= 0 && node_of(&at[k]) == node_of(&at[i]);
        if (same < gpus) continue;
        int64_t node = node_of(&at[i]);
        at[i].what = GP_SLOW_NODE;
        at[i].ranks = same;
        at[i].key.rank = (int32_t)node;
        size_t n = i + 1;
        for (size_t k = i + 1; k < j->list->at.n; k++)
            if (at[k].what != GP_SLOW_RANK || at[k].device < 0 || node_of(&at[k]) != node) at[n++] = at[k];
        j->list->at.n = n;
    }
}

/* The GPUs of one number on all nodes against the others. */
static void find_ordinals(struct judge *j)
{
    const struct gp_fleet *f = j->f;
    int64_t middle = j->median[GP_FLEET_OWN];
    uint32_t gpus = gpus_of_node(f);
    if (gpus < 2) return;
    int64_t most = 0, second = 0;
    uint32_t which = 0;
    for (uint32_t i = 0; i < gpus; i++) {
        if (f->ordinals[i].n < ENOUGH) return;
        int64_t mean = f->ordinals[i].own_ns / (int64_t)f->ordinals[i].n;
        if (mean > most) {
            second = most;
            most = mean;
            which = i;
        } else if (mean > second) {
            second = mean;
        }
    }
    if (most <= middle + part(middle, RANK_PCT) || second > middle + (most - middle) / 4) return;
    uint32_t reported = 0;
    for (size_t i = 0; i < j->list->at.n; i++) reported += j->list->at.at[i].device == (int64_t)which;
    if (reported * 2 < f->ordinals[which].n && reported < GP_TOPK_MOST / 2)
        return; /* a single rank can move the mean */
    struct gp_slow s = {.what = GP_SLOW_ORDINAL,
                        .key = {-1, 0},
                        .device = which,
                        .ranks = (uint32_t)f->ordinals[which].n,
                        .ns = most,
                        .median_ns = middle,
                        .cause_ns = most - middle};
    size_t n = 0;
    GP_EACH(const struct gp_slow, other, j->list->at) {
        if (other->device == (int64_t)which && !n) s.cause = other->cause;
        if (other->device != (int64_t)which) j->list->at.at[n++] = *other;
    }
    j->list->at.n = n;
    add(j, s);
}

/* ---- in turn ---- */

static void find_in_turn(struct judge *j)
{
    struct gp_slow_list *list = j->list;
    GP_VEC(int32_t) late = {0};
    GP_EACH(const struct gp_fleet_column, c, j->f->columns) {
        if (c->own.n < ENOUGH) continue;
        int64_t middle = gp_sketch_median(&c->own);
        list->columns++;
        if (c->worst.at[0].value <= gp_slow_limit(&c->own, middle, TURN_PCT, RANK_TIMES)) continue;
        list->late++;
        bool known = false;
        for (size_t k = 0; k < late.n && !known; k++) known = late.at[k] == c->worst.at[0].key.rank;
        if (!known) GP_VEC_PUSH(&late, c->worst.at[0].key.rank);
    }
    list->ranks = late.n;
    list->in_turn = list->late >= 4 && list->late * 4 >= list->columns && list->ranks >= 3 &&
                    list->ranks * 2 >= list->late;
    GP_VEC_FREE(&late);
}

GP_COMPARE(by_time, struct gp_slow,
           GP_KEY(x->what == GP_SLOW_KERNEL, y->what == GP_SLOW_KERNEL)
               GP_KEY(y->ns - y->median_ns, x->ns - x->median_ns)
                   GP_THEN(gp_fleet_key_compare(x->key, y->key)))

static bool repeats(const struct gp_fleet *f)
{
    for (int32_t r = 0; f->twice && r < GP_FLEET_BITS / 64; r++)
        if (f->twice[r]) return true;
    return false;
}

void gp_slow_find(struct gp_slow_list *list, const struct gp_fleet *f)
{
    struct judge j = {.f = f, .list = list};
    memset(list, 0, sizeof *list);
    /* Ranks of one job only, and each once. */
    if (f->members < 2 || f->last_rank < 1 || repeats(f) || f->stepped * 2 < f->members) return;
    for (int m = 0; m < GP_FLEET_METRIC_COUNT; m++) j.median[m] = gp_sketch_median(&f->spread[m]);
    find_ranks(&j);
    find_kernels(&j);
    find_links(&j);
    join_nodes(&j);
    find_ordinals(&j);
    find_in_turn(&j);
    if (list->at.n) qsort(list->at.at, list->at.n, sizeof *list->at.at, by_time);
    if (list->at.n > ROWS_MOST) list->at.n = ROWS_MOST;
}

void gp_slow_release(struct gp_slow_list *list) { GP_VEC_FREE(&list->at); }

int64_t gp_slow_cost_ns(const struct gp_fleet *f, const struct gp_slow *s)
{
    const struct gp_fleet_member *m = gp_fleet_member(f, s->key);
    double waiting = f->members > s->ranks ? (double)(f->members - s->ranks) : 0;
    double ns = (double)(s->ns - s->median_ns) * (m && m->steps ? (double)m->steps : 1) * waiting;
    return ns < 9e18 ? (int64_t)ns : INT64_MAX;
}

/* ---- sentences ---- */

static void put_more(struct gp_buf *b, int64_t ns, int64_t than)
{
    if (than > 0) gp_buf_printf(b, "%.1f%%", 100 * (double)(ns - than) / (double)than);
    else gp_buf_puts(b, "more");
}

static void put_who(struct gp_buf *b, const struct gp_fleet *f, const struct gp_slow *s)
{
    const char *rank = f->by_device ? "GPU" : "Rank";
    if (s->what == GP_SLOW_NODE)
        gp_buf_printf(b, "The node of ranks %" PRId32 " to %" PRId32, s->key.rank,
                      s->key.rank + (int32_t)s->ranks - 1);
    else if (s->what == GP_SLOW_ORDINAL)
        gp_buf_printf(b, "GPU %" PRId64 " of every node, %" PRIu32 " in all,", s->device, s->ranks);
    else gp_buf_printf(b, "%s %" PRId32, rank, s->key.rank);
}

static void put_kernel(struct gp_buf *b, const struct gp_fleet *f, const struct gp_slow *s)
{
    const char *name = gp_string(&f->strings, s->kernel);
    if (s->more_calls) {
        gp_buf_printf(b, "more calls of %s, %s per step instead of %s", name, GP_NS(s->kernel_ns),
                      GP_NS(s->kernel_median_ns));
        return;
    }
    gp_buf_printf(b, "%s takes ", name);
    put_more(b, s->kernel_ns, s->kernel_median_ns);
    gp_buf_puts(b, " longer");
}

static void put_pattern(struct gp_buf *b, const struct gp_fleet *f, const struct gp_slow *s)
{
    const char *unit = f->column_shift ? "groups of steps" : "steps";
    if (s->pattern == GP_SLOW_UNKNOWN) return;
    if (s->pattern == GP_SLOW_ALWAYS && s->slow_columns == s->columns)
        gp_buf_printf(b, " It is slow in all %" PRIu64 " %s.", s->columns, unit);
    else gp_buf_printf(b, " It is slow in %" PRIu64 " of %" PRIu64 " %s.", s->slow_columns, s->columns, unit);
}

static const char *typical(const struct gp_fleet *f)
{
    if (f->members == 2) return f->by_device ? "the other GPU" : "the other rank";
    return f->by_device ? "the median GPU" : "the median rank";
}

void gp_slow_put(struct gp_buf *b, const struct gp_fleet *f, const struct gp_slow *s)
{
    put_who(b, f, s);
    if (s->what == GP_SLOW_KERNEL) {
        gp_buf_puts(b, ": ");
        put_kernel(b, f, s);
        gp_buf_printf(b, " than on %s (%s per step instead of %s).", typical(f), GP_NS(s->ns),
                      GP_NS(s->median_ns));
        return;
    }
    bool link = s->cause == GP_SLOW_LINK;
    gp_buf_printf(b,
                  link ? " communicates for longer than the others: %s per step, "
                       : " holds up the others: its own work takes %s per step, ",
                  GP_NS(s->ns));
    put_more(b, s->ns, s->median_ns);
    gp_buf_printf(b, " more than %s's %s", typical(f), GP_NS(s->median_ns));
    if (link) {
        gp_buf_puts(b, ". No rank is late, so its link is slow.");
        return;
    }
    gp_buf_printf(b, ". Cause: %s takes %s longer", cause_text(s->cause), GP_NS(s->cause_ns));
    if (s->kernel) {
        gp_buf_puts(b, "; ");
        put_kernel(b, f, s);
    } else if (s->cause == GP_SLOW_COMPUTE && s->what == GP_SLOW_RANK) {
        gp_buf_puts(b, ", in many of its kernels");
    }
    gp_buf_putc(b, '.');
    if (s->host_ns)
        gp_buf_printf(b,
                      " It also waits %s longer for its host, which the recording of every operator slows "
                      "down.",
                      GP_NS(s->host_ns));
    put_pattern(b, f, s);
}

void gp_slow_put_in_turn(struct gp_buf *b, const struct gp_slow_list *list)
{
    gp_buf_printf(b,
                  "Ranks hold up the others in turn: in %" PRIu64 " of %" PRIu64
                  " steps one is late, %" PRIu64 " different ones.",
                  list->late, list->columns, list->ranks);
}

/* ---- fields ---- */

#define AT(member) offsetof(struct gp_slow, member)

GP_GET(get_more, struct gp_slow, gp_cell_share(c, (double)(r->ns - r->median_ns), (double)r->median_ns))

/* Unknown where no kernel explains it. */
GP_GET_UNLESS(get_kernel_ns, struct gp_slow, gp_member_known_i64, !r->kernel)

GP_GET_TEXT(get_text, struct gp_slow, gp_slow_put(&b, x->of, r))

static const char *const whats[] = {"rank", "kernel", "node", "gpu", NULL};
static const char *const causes[] = {GP_SLOW_CAUSES(GP_WORD_1) NULL};
static const char *const patterns[] = {"unknown", "always", "sometimes", "once", NULL};
static const struct gp_field slow_fields[] = {
    {"what", "What", GP_CELL_TEXT, gp_member_word, AT(what), .words = whats},
    {"rank", "Rank", GP_CELL_ID, gp_member_rank, AT(key.rank),
     .help = "for a node, its first rank; none: the GPUs of one number", .flags = GP_FIELD_NULL},
    {"device", NULL, GP_CELL_ID, gp_member_device, AT(device), .help = "its number on the node",
     .flags = GP_FIELD_NULL},
    {"ranks", "Ranks", GP_CELL_COUNT, gp_member_u32, AT(ranks), .flags = GP_COLUMN_WIDE},
    {"cause", "Cause", GP_CELL_TEXT, gp_member_phrase, AT(cause), .words = causes},
    {"step_ns", "Per step", GP_CELL_NS, gp_member_i64, AT(ns),
     .help = "own time per step, or the kernel's, or communication's", .flags = GP_FIELD_SIGNED},
    {"median_ns", "Median rank", GP_CELL_NS, gp_member_i64, AT(median_ns),
     .help = "the same of the median rank", .flags = GP_FIELD_SIGNED},
    {"more_pct", "Longer", GP_CELL_PCT, get_more, 0, .help = "step_ns / median_ns - 1",
     .flags = GP_FIELD_TABLES},
    {"cause_ns", NULL, GP_CELL_NS, gp_member_i64, AT(cause_ns),
     .help = "how much longer the cause takes than on the median rank", .flags = GP_FIELD_SIGNED},
    {"host_ns", NULL, GP_CELL_NS, gp_member_i64, AT(host_ns),
     .help = "not 0: as much longer it waits for its host, which the recording of operators slows down",
     .flags = GP_FIELD_SIGNED},
    {"kernel", "Kernel", GP_CELL_NAME, gp_member_name, AT(kernel),
     .help = "that explains a third of it or more; none: many do, or another cause",
     .flags = GP_COLUMN_BELOW | GP_FIELD_NULL, .after = "pattern"},
    {"kernel_ns", NULL, GP_CELL_NS, get_kernel_ns, AT(kernel_ns), .help = "per step", .flags = GP_FIELD_NULL},
    {"kernel_median_ns", NULL, GP_CELL_NS, get_kernel_ns, AT(kernel_median_ns), .help = "of the median rank",
     .flags = GP_FIELD_NULL},
    {"more_calls", NULL, GP_CELL_BOOL, gp_member_bool, AT(more_calls),
     .help = "the kernel is not slower but runs more often"},
    {"pattern", "When", GP_CELL_TEXT, gp_member_word, AT(pattern), .help = "of the steps that were compared",
     .flags = GP_COLUMN_SPARE, .words = patterns},
    {"slow_steps", NULL, GP_CELL_COUNT, gp_member_u64, AT(slow_columns), .help = "or columns of the map"},
    {"compared_steps", NULL, GP_CELL_COUNT, gp_member_u64, AT(columns), .help = "or columns of the map"},
    {"text", NULL, GP_CELL_TEXT, get_text, 0, .help = "one sentence or two"},
};
#undef AT
const struct gp_record gp_slow_rows = {"slow", "Who holds up the others", GP_FIELDS(slow_fields),
                                       sizeof(struct gp_slow),
                                       .note = "who holds up the others, the most time first, at most 16"};

#define AT(member) offsetof(struct gp_slow_list, member)
static const struct gp_field in_turn_fields[] = {
    {"found", NULL, GP_CELL_BOOL, gp_member_bool, AT(in_turn), .help = "another rank is late in most steps"},
    {"steps", NULL, GP_CELL_COUNT, gp_member_u64, AT(columns), .help = "that were compared"},
    {"late_steps", NULL, GP_CELL_COUNT, gp_member_u64, AT(late), .help = "with a rank that is far behind"},
    {"ranks", NULL, GP_CELL_COUNT, gp_member_u64, AT(ranks), .help = "different ones"},
};
#undef AT
const struct gp_record gp_slow_in_turn = {"in_turn", NULL, GP_FIELDS(in_turn_fields),
                                          sizeof(struct gp_slow_list),
                                          .note = "different ranks are late in turn"};
