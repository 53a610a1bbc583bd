/* Which rows stay. Each decision depends only on the set of all ranks, never on the order in which they came, so that it
 * can be made early: a row that a part of the ranks does not keep is not kept by all of them either. */
#include "analyze/hta/hta_bound.h"

#include <stdlib.h>
#include <string.h>
#include "analyze/hta/hta_priv.h"
#include "analyze/math/sums.h"

/* ---- ranks ---- */

struct keeper {
    struct gp_hta *h;
    const struct gp_fleet *fleet;
    GP_VEC(int32_t) ranks;      /* that have a member that is kept */
    GP_VEC(int32_t) path_ranks; /* whose paths are kept */
};

static bool has(const int32_t *ranks, size_t n, int32_t rank)
{
    for (size_t i = 0; i < n; i++)
        if (ranks[i] == rank) return true;
    return false;
}

static bool keeps_rank(const struct keeper *k, int32_t rank)
{
    return rank < 0 || has(k->ranks.at, k->ranks.n, rank);
}

static void find_ranks(struct keeper *k)
{
    for (size_t i = 0; i < k->fleet->kept.n; i++) {
        struct gp_fleet_key key = k->fleet->kept.at[i].key;
        if (gp_fleet_keeps(k->fleet, key)) GP_VEC_PUSH(&k->ranks, key.rank);
        if (gp_fleet_shows_path(k->fleet, key)) GP_VEC_PUSH(&k->path_ranks, key.rank);
    }
}

/* ---- devices ---- */

static void add_figures(struct gp_breakdown *to, const struct gp_breakdown *b)
{
    to->span_ns = gp_add_saturated(to->span_ns, b->span_ns);
    to->busy_ns = gp_add_saturated(to->busy_ns, b->busy_ns);
    to->idle_ns = gp_add_saturated(to->idle_ns, b->idle_ns);
    to->compute_ns = gp_add_saturated(to->compute_ns, b->compute_ns);
    to->communication_ns = gp_add_saturated(to->communication_ns, b->communication_ns);
    to->memory_ns = gp_add_saturated(to->memory_ns, b->memory_ns);
    to->exposed_communication_ns =
        gp_add_saturated(to->exposed_communication_ns, b->exposed_communication_ns);
    to->exposed_memory_ns = gp_add_saturated(to->exposed_memory_ns, b->exposed_memory_ns);
    to->overlap_ns = gp_add_saturated(to->overlap_ns, b->overlap_ns);
    to->gpu_events += b->gpu_events;
    to->gpu_ns = gp_add_saturated(to->gpu_ns, b->gpu_ns);
}

/* The whole of D goes into the sums. */
static void sum_device(struct gp_hta_bound *to, struct gp_hta_device *d)
{
    to->devices++;
    add_figures(&to->b, &d->b);
    for (int c = 0; c < GP_IDLE_CAUSE_COUNT; c++)
        to->idle_cause_ns[c] = gp_add_saturated(to->idle_cause_ns[c], d->idle_cause_ns[c]);
    gp_dist_merge(&to->gaps, &d->gaps);
    to->kernel_ns = gp_add_saturated(to->kernel_ns, d->kernel_ns);
    to->gemm_ns = gp_add_saturated(to->gemm_ns, d->gemm_ns);
    to->tensor_core_ns = gp_add_saturated(to->tensor_core_ns, d->tensor_core_ns);
    if (gp_sm_known(d) && d->b.exposed_communication_ns <= d->b.compute_ns / 4) {
        to->sm_ns = gp_add_saturated(to->sm_ns, (int64_t)d->sm_ns);
        to->sm_span_ns = gp_add_saturated(to->sm_span_ns, d->b.compute_ns + d->b.exposed_communication_ns);
    }
    GP_VEC_FREE(&d->streams);
    GP_VEC_FREE(&d->culprits);
    GP_VEC_FREE(&d->kernels);
    gp_dist_release(&d->gaps);
}

static int by_stream_time(const void *a, const void *b)
{
    const struct gp_hta_stream *x = a, *y = b;
    if (x->b.gpu_ns != y->b.gpu_ns) return x->b.gpu_ns > y->b.gpu_ns ? -1 : 1;
    return (x->stream > y->stream) - (x->stream < y->stream);
}

static int by_stream(const void *a, const void *b)
{
    const struct gp_hta_stream *x = a, *y = b;
    return (x->stream > y->stream) - (x->stream < y->stream);
}

static void trim_device(struct gp_hta_device *d)
{
    if (d->streams.n > GP_HTA_KEPT_STREAMS) {
        qsort(d->streams.at, d->streams.n, sizeof *d->streams.at, by_stream_time);
        d->streams.n = GP_HTA_KEPT_STREAMS;
        qsort(d->streams.at, d->streams.n, sizeof *d->streams.at, by_stream);
    }
    while (d->culprits.n > GP_HTA_KEPT_CULPRITS) { /* most idle time first */
        const struct gp_idle_culprit *c = &d->culprits.at[--d->culprits.n];
        d->culprit_rest_ns[c->cause] = gp_add_saturated(d->culprit_rest_ns[c->cause], c->idle_ns);
    }
}

static void leave_devices(struct keeper *k)
{
    struct gp_hta *h = k->h;
    size_t n = 0;
    for (size_t i = 0; i < h->devices.n; i++) {
        struct gp_hta_device *d = &h->devices.at[i];
        struct gp_fleet_key key = gp_hta_key_of(h, d);
        bool ranked = d->rank >= 0 || k->fleet->by_device;
        if (ranked ? !has(k->ranks.at, k->ranks.n, d->rank >= 0 ? d->rank : (int32_t)d->device)
                   : !gp_fleet_keeps(k->fleet, key)) {
            sum_device(&h->bound, d);
            continue;
        }
        trim_device(d);
        h->devices.at[n++] = *d;
    }
    h->devices.n = n;
}

/* ---- other rows ---- */

#define COMPARE(a, b)                                                                                        \
    if ((a) != (b)) return (a) < (b) ? -1 : 1

/* Is a row of one owner too many, after N others? */
static bool over(int32_t rank, size_t n, size_t most)
{
    return n >= (rank < 0 ? GP_HTA_KEPT_UNRANKED : most);
}

static void leave_steps(struct keeper *k)
{
    struct gp_hta *h = k->h;
    size_t n = 0, run = 0, parts = 0;
    gp_hta_finish_steps(h); /* sorts */
    for (size_t i = 0; i < h->steps.n; i++) {
        const struct gp_hta_step *s = &h->steps.at[i];
        bool same = i && s->rank == s[-1].rank && s->producer == s[-1].producer && s->device == s[-1].device;
        if (!same) run = 0;
        if (!keeps_rank(k, s->rank) || over(s->rank, run, GP_HTA_KEPT_STEPS)) continue;
        run++;
        h->steps.at[n++] = *s;
    }
    h->bound.steps += h->steps.n - n;
    h->steps.n = n;
    n = 0;
    for (size_t i = 0; i < h->parts.n; i++) {
        const struct gp_hta_part *p = &h->parts.at[i];
        if (!keeps_rank(k, p->rank) || (p->rank < 0 && parts >= GP_HTA_KEPT_UNRANKED)) continue;
        parts += p->rank < 0;
        h->parts.at[n++] = *p;
    }
    h->parts.n = n;
}

static int by_rank_and_start(const void *a, const void *b)
{
    const struct gp_collective *x = a, *y = b;
    COMPARE(x->rank, y->rank);
    COMPARE(x->start_ns, y->start_ns);
    COMPARE(x->device, y->device);
    COMPARE(x->stream, y->stream);
    COMPARE(x->end_ns, y->end_ns);
    COMPARE(x->seq, y->seq);
    COMPARE(x->order, y->order);
    return 0;
}

static void sort_collectives(struct gp_hta *h)
{
    if (h->collectives.n)
        qsort(h->collectives.at, h->collectives.n, sizeof *h->collectives.at, by_rank_and_start);
    for (size_t i = 0; i < h->collectives.n; i++) h->collectives.at[i].order = (uint32_t)i;
}

static void leave_collectives(struct keeper *k)
{
    struct gp_hta *h = k->h;
    size_t n = 0, run = 0;
    sort_collectives(h);
    for (size_t i = 0; i < h->collectives.n; i++) {
        const struct gp_collective *c = &h->collectives.at[i];
        if (!i || c->rank != c[-1].rank) run = 0;
        if (!keeps_rank(k, c->rank) || over(c->rank, run, GP_HTA_KEPT_COLLECTIVES)) continue;
        run++;
        h->collectives.at[n++] = *c;
    }
    h->bound.collectives += h->collectives.n - n;
    h->collectives.n = n;
}

static void leave_graphs(struct keeper *k)
{
    struct gp_hta *h = k->h;
    size_t n = 0, run = 0;
    gp_hta_finish_graphs(h);
    for (size_t i = 0; i < h->graphs.n; i++) {
        struct gp_graph_stat g = h->graphs.at[i];
        if (!i || g.rank != h->graphs.at[i - 1].rank) run = 0;
        if (!keeps_rank(k, g.rank) || over(g.rank, run, GP_HTA_KEPT_GRAPHS)) {
            gp_dist_release(&h->graphs.at[i].span);
            gp_dist_release(&h->graphs.at[i].busy);
            h->bound.graphs++;
            continue;
        }
        run++;
        h->graphs.at[n++] = g;
    }
    h->graphs.n = n;
}

static void leave_memory(struct keeper *k)
{
    struct gp_hta *h = k->h;
    size_t n = 0, unranked = 0;
    gp_hta_finish_copies(h);
    for (size_t i = 0; i < h->memory.n; i++) {
        struct gp_memory_stat m = h->memory.at[i];
        if (!keeps_rank(k, m.rank) || (m.rank < 0 && unranked >= GP_HTA_KEPT_UNRANKED)) continue;
        unranked += m.rank < 0;
        h->memory.at[n++] = m;
    }
    h->bound.memory += h->memory.n - n;
    h->memory.n = n;
}

static void leave_sampled(struct keeper *k)
{
    struct gp_hta *h = k->h;
    size_t n = 0;
    for (size_t i = 0; i < h->sampled.n; i++)
        if (h->sampled.at[i].rank >= 0 && keeps_rank(k, h->sampled.at[i].rank))
            h->sampled.at[n++] = h->sampled.at[i];
    h->sampled.n = n;
}

/* ---- paths ---- */

static int longest_first(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x > y ? -1 : x < y;
}

/* The longest pieces of a path that has very many; its sums stay. */
static void trim_path(struct gp_hta_bound *bound, struct gp_hta_path *p)
{
    size_t most = GP_HTA_KEPT_PIECES, n = 0, equal = 0;
    if (p->pieces.n <= most) return;
    int64_t *lengths = gp_alloc(p->pieces.n * sizeof *lengths);
    for (size_t i = 0; i < p->pieces.n; i++) lengths[i] = p->pieces.at[i].end_ns - p->pieces.at[i].begin_ns;
    qsort(lengths, p->pieces.n, sizeof *lengths, longest_first);
    int64_t least = lengths[most - 1];
    for (size_t i = 0; i < most; i++) equal += lengths[i] == least;
    free(lengths);
    for (size_t i = 0; i < p->pieces.n; i++) {
        int64_t ns = p->pieces.at[i].end_ns - p->pieces.at[i].begin_ns;
        if (ns < least || (ns == least && !equal)) continue;
        equal -= ns == least;
        p->pieces.at[n++] = p->pieces.at[i];
    }
    bound->pieces += p->pieces.n - n;
    p->pieces.n = n;
}

static void drop_path(struct gp_hta *h, size_t i)
{
    h->bound.paths++;
    for (int b = 0; b < GP_PATH_BOUND_COUNT; b++)
        h->bound.path_bound_ns[b] = gp_add_saturated(h->bound.path_bound_ns[b], h->paths.at[i].bound_ns[b]);
    GP_VEC_FREE(&h->paths.at[i].pieces);
}

static void leave_paths(struct keeper *k)
{
    struct gp_hta *h = k->h;
    size_t n = 0, unranked = 0;
    gp_hta_finish_paths(h);
    for (size_t i = 0; i < h->paths.n; i++) {
        struct gp_hta_path p = h->paths.at[i];
        bool kept =
            p.rank < 0 ? unranked++ < GP_HTA_KEPT_UNRANKED : has(k->path_ranks.at, k->path_ranks.n, p.rank);
        if (kept) {
            trim_path(&h->bound, &p);
            h->paths.at[n++] = p;
            continue;
        }
        drop_path(h, i);
    }
    h->paths.n = n;
}

/* ---- inputs ---- */

struct placed_input {
    struct gp_input_quality in;
    const char *path;
    uint32_t was;
};

static int by_rank_and_path(const void *a, const void *b)
{
    const struct placed_input *x = a, *y = b;
    COMPARE(x->in.rank, y->in.rank);
    int order = strcmp(x->path, y->path);
    if (order) return order;
    COMPARE(x->in.events, y->in.events);
    COMPARE(x->in.gpu_events, y->in.gpu_events);
    COMPARE(x->was, y->was);
    return 0;
}

static void sum_input(struct gp_hta_bound *b, const struct gp_input_quality *in)
{
    struct gp_input_quality *to = &b->of_inputs;
    b->inputs++;
    to->events += in->events;
    to->gpu_events += in->gpu_events;
    to->truncated |= in->truncated;
    to->skipped += in->skipped;
    for (int i = 0; i < GP_ISSUE_COUNT; i++) to->issues[i].count += in->issues[i].count;
}

/* Sort the inputs; of MANY only those of devices that are left, and some with problems. */
static void leave_inputs(struct gp_hta *h, bool many)
{
    size_t n = h->inputs.n, kept = 0, bad = 0;
    struct placed_input *all = gp_alloc((n + 1) * sizeof *all);
    uint32_t *now = gp_alloc((n + 1) * sizeof *now);
    bool *used = gp_zalloc(n + 1);
    for (uint32_t i = 0; i < n; i++)
        all[i] = (struct placed_input){h->inputs.at[i], gp_hta_str(h, h->inputs.at[i].path), i};
    for (size_t i = 0; i < h->devices.n; i++)
        if (h->devices.at[i].input < n) used[h->devices.at[i].input] = true;
    qsort(all, n, sizeof *all, by_rank_and_path);
    for (size_t i = 0; i < n; i++) {
        bool clean = !strcmp(gp_hta_str(h, all[i].in.verdict), "clean");
        bool stays = !many || used[all[i].was] || (!clean && bad < GP_HTA_KEPT_INPUTS);
        bad += !clean;
        now[all[i].was] = (uint32_t)kept;
        if (stays) h->inputs.at[kept++] = all[i].in;
        else sum_input(&h->bound, &all[i].in);
    }
    h->inputs.n = kept;
    for (size_t i = 0; i < h->devices.n; i++)
        if (h->devices.at[i].input < n) h->devices.at[i].input = now[h->devices.at[i].input];
    free(all);
    free(now);
    free(used);
}

static const char *worse_verdict(const struct gp_input_quality *in)
{
    for (int i = 0; i < GP_ISSUE_COUNT; i++)
        if (in->issues[i].count) return "repaired";
    return in->truncated || in->skipped ? "repaired" : "clean";
}

/* Of the sample only the path of the median rank is reported. */
static void leave_median_path(struct gp_hta *h)
{
    const struct gp_fleet_member *median = gp_fleet_median_member(&h->fleet);
    const struct gp_worst *slowest = &h->fleet.worst[GP_FLEET_OWN];
    size_t n = 0;
    for (size_t i = 0; i < h->paths.n && h->bound.bounded; i++) {
        struct gp_hta_path p = h->paths.at[i];
        bool kept = p.rank < 0 || (median && median->key.rank == p.rank);
        for (uint32_t k = 0; k < slowest->n && !kept; k++) kept = slowest->at[k].key.rank == p.rank;
        if (kept) {
            h->paths.at[n++] = p;
            continue;
        }
        drop_path(h, i);
    }
    if (h->bound.bounded) h->paths.n = n;
}

void gp_hta_finish_bound(struct gp_hta *h)
{
    leave_median_path(h);
    h->bound.listed = h->inputs.n;
    if (!h->bound.inputs) return;
    struct gp_input_quality in = h->bound.of_inputs;
    struct gp_buf name = {0};
    gp_buf_printf(&name, "%llu more inputs", (unsigned long long)h->bound.inputs);
    in.path = gp_intern(&h->strings, name.data, name.n);
    in.rank = -1;
    in.verdict = gp_intern_cstr(&h->strings, worse_verdict(&in));
    for (int i = 0; i < GP_ISSUE_COUNT; i++) in.issues[i].first_offset = -1;
    GP_VEC_PUSH(&h->inputs, in);
    gp_buf_release(&name);
}

/* ---- all ---- */

void gp_hta_leave_few(struct gp_hta *h, const struct gp_fleet *fleet)
{
    if (h->opts.all_ranks || fleet->members <= GP_FLEET_FEW) return;
    struct keeper k = {.h = h, .fleet = fleet};
    find_ranks(&k);
    h->bound.bounded = true;
    leave_devices(&k);
    leave_steps(&k);
    leave_collectives(&k);
    leave_graphs(&k);
    leave_memory(&k);
    leave_sampled(&k);
    leave_paths(&k);
    leave_inputs(h, true);
    gp_hta_cap_kernels(h);
    gp_hta_cap_op_shapes(h);
    gp_hta_cap_range_memory(h);
    GP_VEC_FREE(&k.ranks);
    GP_VEC_FREE(&k.path_ranks);
    if (h->focus) gp_hta_leave_few(h->focus, fleet);
}

/* Devices refer to their inputs, which are sorted first. */
static void sort_rows(struct gp_hta *h)
{
    leave_inputs(h, false);
    gp_hta_finish_devices(h);
    gp_hta_finish_kernels(h);
    gp_hta_finish_op_shapes(h);
    gp_hta_finish_launches(h);
    gp_hta_finish_graphs(h);
    gp_hta_finish_steps(h);
    sort_collectives(h);
    gp_hta_finish_copies(h);
    gp_hta_finish_range_memory(h);
    gp_hta_finish_sampled(h);
    gp_hta_finish_paths(h);
}

void gp_hta_settle(struct gp_hta *h)
{
    gp_fleet_settle(&h->fleet);
    gp_hta_leave_few(h, &h->fleet);
    sort_rows(h);
    if (h->focus) sort_rows(h->focus);
}

/* ---- merging, saving ---- */

void gp_hta_merge_bound(struct gp_hta_bound *to, const struct gp_hta_bound *from)
{
    to->bounded |= from->bounded;
    to->devices += from->devices;
    add_figures(&to->b, &from->b);
    for (int c = 0; c < GP_IDLE_CAUSE_COUNT; c++)
        to->idle_cause_ns[c] = gp_add_saturated(to->idle_cause_ns[c], from->idle_cause_ns[c]);
    gp_dist_merge(&to->gaps, &from->gaps);
    to->kernel_ns = gp_add_saturated(to->kernel_ns, from->kernel_ns);
    to->gemm_ns = gp_add_saturated(to->gemm_ns, from->gemm_ns);
    to->tensor_core_ns = gp_add_saturated(to->tensor_core_ns, from->tensor_core_ns);
    to->sm_ns = gp_add_saturated(to->sm_ns, from->sm_ns);
    to->sm_span_ns = gp_add_saturated(to->sm_span_ns, from->sm_span_ns);
    to->paths += from->paths;
    for (int b = 0; b < GP_PATH_BOUND_COUNT; b++)
        to->path_bound_ns[b] = gp_add_saturated(to->path_bound_ns[b], from->path_bound_ns[b]);
    to->pieces += from->pieces;
    to->steps += from->steps;
    to->collectives += from->collectives;
    to->graphs += from->graphs;
    to->memory += from->memory;
    uint64_t inputs = to->inputs + from->inputs;
    sum_input(to, &from->of_inputs);
    to->inputs = inputs;
    uint64_t *limits[] = {&to->kernel_limit, &to->owner_limit, &to->shape_limit, &to->range_limit};
    const uint64_t theirs[] = {from->kernel_limit, from->owner_limit, from->shape_limit, from->range_limit};
    for (int i = 0; i < 4; i++)
        if (theirs[i] && (!*limits[i] || theirs[i] < *limits[i])) *limits[i] = theirs[i];
}

void gp_hta_xfer_bound(struct gp_xfer *x, struct gp_hta *h)
{
    struct gp_hta_bound *b = &h->bound;
    gp_xfer_bool(x, &b->bounded);
    if (!b->bounded) return;
    gp_xfer_u64(x, &b->devices);
    gp_hta_xfer_figures(x, &b->b);
    for (int c = 0; c < GP_IDLE_CAUSE_COUNT; c++) gp_xfer_i64(x, &b->idle_cause_ns[c]);
    gp_dist_xfer(x, &b->gaps);
    gp_xfer_i64(x, &b->kernel_ns);
    gp_xfer_i64(x, &b->gemm_ns);
    gp_xfer_i64(x, &b->tensor_core_ns);
    gp_xfer_i64(x, &b->sm_ns);
    gp_xfer_i64(x, &b->sm_span_ns);
    gp_xfer_u64(x, &b->paths);
    for (int i = 0; i < GP_PATH_BOUND_COUNT; i++) gp_xfer_i64(x, &b->path_bound_ns[i]);
    uint64_t *const counts[] = {
        &b->pieces,           &b->steps,       &b->collectives,      &b->graphs,
        &b->memory,           &b->inputs,      &b->kernel_limit,     &b->owner_limit,
        &b->shape_limit,      &b->range_limit, &b->of_inputs.events, &b->of_inputs.gpu_events,
        &b->of_inputs.skipped};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) gp_xfer_u64(x, counts[i]);
    gp_xfer_bool(x, &b->of_inputs.truncated);
    for (int i = 0; i < GP_ISSUE_COUNT; i++) gp_xfer_u64(x, &b->of_inputs.issues[i].count);
}
