// Several devices: which rank the others wait for, communication through the host, one process for all
// devices.
#include <stdlib.h>
#include <string.h>
#include "analyze/hta/nccl.h"
#include "analyze/hta/collectives.h"
#include "analyze/hta/hta.h"
#include "analyze/math/sums.h"
#include "analyze/suggest/rules_priv.h"
#include "analyze/suggest/rules_table.h"
#include "formats/base/str.h"

static const double SKEW_PCT = 5;  /* of the time, spent waiting for the last rank */
static const double LATE_PCT = 70; /* of that wait is for one rank */
static const double EVEN_PCT = 1;  /* less than this above the average does not count as more work */

enum { CLOCK_PART = 4 }; /* the clocks must be known to this part of a usual wait */

/* A collective that ran on several devices: their start times on one clock. */
struct meeting {
    int64_t last_ns;  /* from the first step's begin on */
    int64_t wait_ns;  /* of the device that waits longest */
    uint32_t n, last; /* number of devices; the last device */
};

/* Devices stand for ranks, as each rank of a program has one. */
struct ranks {
    const struct gp_rule_ctx *c;
    struct gp_hta h;     /* its collectives are by device, then start */
    uint32_t *rows;      /* of GP_GPU, by collective */
    uint32_t *match_of;  /* by collective */
    int64_t *offset_ns;  /* by device: to be added to its times */
    int64_t error_ns;    /* the largest of all clocks */
    struct meeting *all; /* by match */
};

/* Times in a damaged trace can have any value. */
static int64_t minus(int64_t a, int64_t b) { return (int64_t)((uint64_t)a - (uint64_t)b); }

static bool communicates(const struct gp_view *v, uint32_t device)
{
    const struct gp_view_device *d = &v->devices.at[device];
    for (size_t k = d->first; k < d->first + d->n; k++)
        if (gp_view_class(v, v->rows[k]) == GP_CLASS_COMMUNICATION) return true;
    return false;
}

static void read_collectives(struct ranks *r)
{
    const struct gp_view *v = r->c->v;
    size_t n = 0;
    gp_hta_init(&r->h, NULL);
    gp_hta_add_collectives(&r->h, v);
    r->rows = gp_alloc((r->h.collectives.n + 1) * sizeof *r->rows);
    for (uint32_t d = 0; d < v->devices.n; d++)
        for (size_t k = v->devices.at[d].first; k < v->devices.at[d].first + v->devices.at[d].n; k++) {
            if (gp_view_class(v, v->rows[k]) != GP_CLASS_COMMUNICATION) continue;
            r->h.collectives.at[n].rank = (int32_t)d;
            r->rows[n++] = v->rows[k];
        }
    r->match_of = gp_collectives_match(&r->h);
    r->offset_ns = gp_zalloc((v->devices.n + 1) * sizeof *r->offset_ns);
    for (size_t i = 0; i < r->h.offsets.n; i++) {
        const struct gp_rank_offset *o = &r->h.offsets.at[i];
        r->offset_ns[o->rank] = o->offset_ns;
        if (o->error_ns > r->error_ns) r->error_ns = o->error_ns;
    }
}

static int64_t start_of(const struct ranks *r, size_t i)
{
    const struct gp_collective *one = &r->h.collectives.at[i];
    return minus(minus(one->start_ns, r->c->p->begin_ns), minus(0, r->offset_ns[one->rank]));
}

/* Time that collective I waits for the last rank, at most its duration. */
static int64_t wait_of(const struct ranks *r, size_t i)
{
    const struct gp_collective *one = &r->h.collectives.at[i];
    int64_t lag = minus(r->all[r->match_of[i]].last_ns, start_of(r, i)),
            own = minus(one->end_ns, one->start_ns);
    return lag < own ? lag : own;
}

static bool counts(const struct ranks *r, size_t i)
{
    return r->match_of[i] != GP_NO_MATCH &&
           gp_collective_is_symmetric(gp_hta_str(&r->h, r->h.collectives.at[i].op));
}

static void find_meetings(struct ranks *r)
{
    r->all = gp_zalloc((r->h.matches.n + 1) * sizeof *r->all);
    for (size_t i = 0; i < r->h.collectives.n; i++) {
        if (!counts(r, i)) continue;
        struct meeting *m = &r->all[r->match_of[i]];
        int64_t start = start_of(r, i);
        if (!m->n || start > m->last_ns) m->last_ns = start, m->last = (uint32_t)r->h.collectives.at[i].rank;
        m->n++;
    }
    for (size_t i = 0; i < r->h.collectives.n; i++) {
        if (!counts(r, i)) continue;
        struct meeting *m = &r->all[r->match_of[i]];
        if (wait_of(r, i) > m->wait_ns) m->wait_ns = wait_of(r, i);
    }
}

/* Is collective I part of the plan, on the busiest device, and either waiting or waited for? */
static bool is_ours(const struct ranks *r, size_t i)
{
    return counts(r, i) && (uint32_t)r->h.collectives.at[i].rank == r->c->device &&
           r->c->p->item_of_row[r->rows[i]] != GP_REPLAY_NONE && r->all[r->match_of[i]].n > 1;
}

struct late {
    uint32_t device;
    int64_t waited_ns, most_ns; /* for all last ranks; for the device that the others wait for most */
    int64_t count, times;       /* all collectives; those where that device came last */
    /* its compute time in the steps; the average over all ranks; the smallest */
    int64_t work_ns, mean_ns, min_ns;
};

/* The time span of the steps on the busiest device's clock, including the time between steps. */
struct window {
    int64_t begin_ns, end_ns;
};

static struct window window_of_steps(const struct ranks *r)
{
    const struct gp_plan *p = r->c->p;
    struct window w = {INT64_MAX, INT64_MIN};
    for (uint32_t i = 0; i < p->items.n; i++) {
        int64_t start = p->items.at[i].start_ns;
        if (r->c->v->device_of_row[p->items.at[i].row] != r->c->device) continue;
        if (start < w.begin_ns) w.begin_ns = start;
        if (start > w.end_ns) w.end_ns = start;
    }
    return w;
}

/* Compute time of DEVICE in that span. */
static int64_t work_of(const struct ranks *r, uint32_t device, struct window w)
{
    const struct gp_view *v = r->c->v;
    const struct gp_events *gpu = &v->t->events[GP_GPU];
    int64_t work = 0, later = minus(r->offset_ns[device], r->offset_ns[r->c->device]);
    for (size_t k = v->devices.at[device].first; k < v->devices.at[device].first + v->devices.at[device].n;
         k++) {
        uint32_t row = v->rows[k];
        int64_t start = minus(gpu->start_ns[row], minus(0, later));
        if (start >= w.begin_ns && start <= w.end_ns && gp_view_class(v, row) == GP_CLASS_COMPUTE)
            work = gp_add_saturated(work, gpu->dur_ns[row]);
    }
    return work;
}

static void find_work(const struct ranks *r, struct late *l)
{
    int64_t n = 0, sum = 0;
    struct window w = window_of_steps(r);
    l->work_ns = work_of(r, l->device, w);
    l->min_ns = l->work_ns;
    for (uint32_t d = 0; d < r->c->v->devices.n; d++) {
        if (!communicates(r->c->v, d)) continue;
        int64_t work = work_of(r, d, w);
        sum = gp_add_saturated(sum, work);
        if (work < l->min_ns) l->min_ns = work;
        n++;
    }
    l->mean_ns = n ? sum / n : 0;
    if (l->mean_ns > l->work_ns) l->mean_ns = l->work_ns; /* it is slow for another reason */
}

static struct late find_late(const struct ranks *r)
{
    struct late l = {0};
    size_t n = r->c->v->devices.n;
    int64_t *by_device = gp_zalloc((n + 1) * sizeof *by_device);
    for (size_t i = 0; i < r->h.collectives.n; i++) {
        if (!is_ours(r, i)) continue;
        const struct meeting *m = &r->all[r->match_of[i]];
        by_device[m->last] = gp_add_saturated(by_device[m->last], m->wait_ns);
        l.waited_ns = gp_add_saturated(l.waited_ns, m->wait_ns);
        l.count++;
    }
    for (uint32_t d = 1; d < n; d++)
        if (by_device[d] > by_device[l.device]) l.device = d;
    l.most_ns = by_device[l.device];
    free(by_device);
    for (size_t i = 0; i < r->h.collectives.n; i++)
        l.times += is_ours(r, i) && r->all[r->match_of[i]].last == l.device;
    find_work(r, &l);
    return l;
}

/* This device waits: at most, all of its wait goes away; at least, as much as the other device works above
 * the average. Edits start with the last wait of each step, since earlier waits may run beside kernels. */
static void edit_waits(const struct ranks *r, const struct late *l, struct gp_suggestion *s)
{
    const struct gp_plan *p = r->c->p;
    uint32_t step = UINT32_MAX;
    int64_t left = 0;
    for (size_t i = r->h.collectives.n; i-- > 0;) {
        if (!is_ours(r, i) || r->all[r->match_of[i]].last != l->device) continue;
        uint32_t item = p->item_of_row[r->rows[i]];
        int64_t dur = gp_rule_dur(r->c, item), wait = wait_of(r, i);
        if (p->items.at[item].step != step) {
            step = p->items.at[item].step;
            left = (l->work_ns - l->mean_ns) / (int64_t)p->steps.n;
        }
        int64_t less = wait < left ? wait : left;
        left -= less;
        GP_VEC_PUSH(&s->low, ((struct gp_edit){GP_EDIT_DUR, item, dur - less}));
        gp_rule_edit_high(s, GP_EDIT_DUR, item, dur - wait);
    }
}

/* The others wait for this device: it computes less, as much as the average or as the least loaded device. */
static void edit_work(const struct ranks *r, const struct late *l, struct gp_suggestion *s)
{
    const struct gp_plan *p = r->c->p;
    double mean = (double)l->mean_ns / (double)(l->work_ns ? l->work_ns : 1),
           least = (double)l->min_ns / (double)(l->work_ns ? l->work_ns : 1);
    for (uint32_t i = 0; i < p->items.n; i++) {
        double dur = (double)gp_rule_dur(r->c, i);
        if (r->c->v->device_of_row[p->items.at[i].row] != l->device || !gp_rule_computes(r->c, i)) continue;
        GP_VEC_PUSH(&s->low, ((struct gp_edit){GP_EDIT_DUR, i, (int64_t)(dur * mean)}));
        gp_rule_edit_high(s, GP_EDIT_DUR, i, (int64_t)(dur * least));
    }
}

static void suggest_balance(struct gp_rule_ctx *c, struct ranks *r, const struct late *l)
{
    const struct gp_view_device *d = &c->v->devices.at[l->device];
    struct gp_suggestion *s = gp_rule_suggest(c);
    int64_t more = gp_rule_per_step(c, l->work_ns - l->mean_ns);
    if (l->device == c->device) edit_work(r, l, s);
    else edit_waits(r, l, s);
    gp_sid who = d->rank >= 0 ? gp_rule_text(c, "rank %d", d->rank)
                              : gp_rule_text(c, "the process on GPU %lld", (long long)d->device);
    s->operation = who;
    s->current_ns = s->resource_high_ns = gp_rule_per_step(c, l->most_ns);
    s->resource_low_ns = more;
    s->description = gp_rule_text(
        c,
        "Collectives wait %s per step for the last rank, %.0f%% of that for %s, which comes last in %lld of "
        "%lld; its kernels take %s per step more than the average over all ranks",
        gp_rule_ns(c, gp_rule_per_step(c, l->waited_ns)), gp_pct(l->most_ns, l->waited_ns),
        gp_suggest_str(c->s, who), (long long)l->times, (long long)l->count, gp_rule_ns(c, more));
    bool works_more = gp_pct(l->work_ns - l->mean_ns, l->work_ns) >= EVEN_PCT;
    s->action = works_more
                    ? gp_rule_text(c,
                                   "give %s as much work as the others: batches of equal size and length, "
                                   "evenly split layers; or find out why its GPU is slower",
                                   gp_suggest_str(c->s, who))
                    : gp_rule_text(c,
                                   "find out what the host of %s does before its kernels, such as input, "
                                   "logging or checkpoints: the kernels themselves take no longer",
                                   gp_suggest_str(c->s, who));
    if (!works_more)
        s->change =
            gp_rule_text(c, "let the host of %s do less before its kernels", gp_suggest_str(c->s, who));
    s->assumes = gp_rule_text(
        c, "the clocks of the ranks are aligned by the ends of their collectives, which agree to within %s",
        gp_rule_ns(c, r->error_ns));
    gp_rule_evidence_count(s, "collectives", gp_rule_per_step(c, l->count));
    gp_rule_evidence_count(s, "times_last", l->times);
    gp_rule_evidence_ns(s, "waited", gp_rule_per_step(c, l->waited_ns));
    gp_rule_evidence_pct(s, "for_one_rank", gp_pct(l->most_ns, l->waited_ns));
    gp_rule_evidence_ns(s, "computes_more", more);
    gp_rule_evidence_ns(s, "clock_error", r->error_ns);
}

static void check_straggler(struct gp_rule_ctx *c)
{
    size_t with = 0;
    for (uint32_t d = 0; d < c->v->devices.n && with < 2; d++) with += communicates(c->v, d);
    if (with < 2) return;
    struct ranks r = {.c = c};
    read_collectives(&r);
    find_meetings(&r);
    struct late l = find_late(&r);
    if (l.count >= (int64_t)c->n_steps && gp_pct(l.waited_ns, c->plan_ns) >= SKEW_PCT &&
        gp_pct(l.most_ns, l.waited_ns) >= LATE_PCT && r.error_ns <= l.waited_ns / l.count / CLOCK_PART)
        suggest_balance(c, &r, &l);
    if (l.count && l.device != c->device && gp_pct(l.most_ns, l.waited_ns) >= LATE_PCT)
        c->waits_pct = gp_pct(l.most_ns, c->plan_ns);
    gp_hta_release(&r.h);
    free(r.rows);
    free(r.match_of);
    free(r.offset_ns);
    free(r.all);
}

const struct gp_rule gp_rule_straggler = {
    .name = "straggler",
    .type = GP_SUGGEST_COMMUNICATION,
    .summary = "one rank that the others wait for in collectives",
    .needs = "several ranks in one trace (run gpuprof-collect on the program that starts them)",
    .threshold = "ranks wait for the last one 5% of the time, 70% of that for the same rank",
    .guard = "broadcasts, sends and other operations that need not wait; clocks that do not agree to within "
             "a quarter of a wait",
    .formula = "at least, it computes as long as the average rank, as if the work were shared "
               "evenly; at most, no rank waits for it",
    .check = "record all ranks again and run trace-hta: expect less start skew and no straggler",
    .run = check_straggler,
    .to_know = "record more steps, and the clocks of all ranks",
    .measured = true,
};

/* ---- through the host ---- */

static int64_t count_gloo(const struct gp_rule_ctx *c, enum gp_table table)
{
    const struct gp_events *e = &c->t->events[table];
    int64_t count = 0, begin = c->p->begin_ns, end = c->p->steps.at[c->p->steps.n - 1].end_ns;
    for (size_t i = 0; i < e->n && e->start_ns[i] < end; i++)
        count += e->start_ns[i] >= begin && gp_starts(gp_trace_str(c->t, e->name[i]), "gloo:");
    return count;
}

static void check_gloo(struct gp_rule_ctx *c)
{
    int64_t count = count_gloo(c, GP_OP) + count_gloo(c, GP_RANGE);
    if (count < (int64_t)c->n_steps) return;
    struct gp_suggestion *s = gp_rule_suggest(c);
    long long times = (long long)gp_rule_per_step(c, count);
    s->operation = gp_rule_text(c, "gloo");
    s->description = gp_rule_text(
        c,
        "Collectives go through the host: %lld Gloo collectives per step, in a program that computes on GPUs",
        times);
    gp_rule_evidence_count(s, "collectives", times);
}

const struct gp_rule gp_rule_gloo = {
    .name = "gloo",
    .type = GP_SUGGEST_COMMUNICATION,
    .summary = "collectives through the host in a program that computes on GPUs",
    .needs = "operators or ranges (torch.profiler)",
    .threshold = "one per step",
    .guard = "no saving is claimed",
    .action = "use torch.distributed.init_process_group(\"nccl\") for tensors on GPUs",
    .formula = "no saving is claimed: this trace does not show how fast the links between the GPUs are",
    .assumes = "the communicated tensors are on GPUs",
    .check = "record again and run trace-hta: expect collectives as kernels",
    .run = check_gloo,
};

/* ---- one process for several devices ---- */

/* Number of rows of TABLE, within the steps, that are a forward pass of one process on several devices. */
static int64_t count_data_parallel(const struct gp_rule_ctx *c, enum gp_table table)
{
    const struct gp_events *e = &c->t->events[table];
    int64_t count = 0, end = c->p->steps.at[c->p->steps.n - 1].end_ns;
    for (size_t i = gp_events_from(e, c->p->begin_ns); i < e->n && e->start_ns[i] < end; i++)
        count += !strcmp(gp_trace_str(c->t, e->name[i]), "DataParallel.forward");
    return count;
}

static void check_data_parallel(struct gp_rule_ctx *c)
{
    int64_t count = count_data_parallel(c, GP_OP) + count_data_parallel(c, GP_RANGE);
    if (!count) return;
    struct gp_suggestion *s = gp_rule_suggest(c);
    s->operation = gp_rule_text(c, "DataParallel.forward");
    s->description = gp_rule_text(
        c,
        "One process drives several devices (torch.nn.DataParallel, %lld times in %zu steps): it "
        "copies the model to them each time, and its threads share one interpreter",
        (long long)count, c->n_steps);
    gp_rule_evidence_count(s, "forward_passes", count);
}

const struct gp_rule gp_rule_data_parallel = {
    .name = "data_parallel",
    .type = GP_SUGGEST_PARALLELIZATION,
    .summary = "one process that drives several devices with torch.nn.DataParallel",
    .needs = "operators or ranges",
    .threshold = "once",
    .guard = "DistributedDataParallel; no saving is claimed",
    .action = "use torch.nn.parallel.DistributedDataParallel, with one process per device",
    .formula = "no saving is claimed: a replay of this program cannot predict the other one",
    .check = "record all ranks and run trace-diff",
    .run = check_data_parallel,
};
