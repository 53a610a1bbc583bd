/* Which rows stay. Each decision depends only on the set of all ranks, never on the order in which they came,
 * so that it can be made early: a row that a part of the ranks does not keep is not kept by all of them
 * either. */
#include "analyze/hta/hta_bound.h"

#include <stdlib.h>
#include <string.h>
#include "analyze/hta/hta.h"
#include "analyze/hta/hta_priv.h"
#include "analyze/math/sums.h"
#include "formats/base/buf.h"

/* ---- ranks ---- */

struct keeper {
    struct gp_hta *h;
    const struct gp_fleet *fleet;
    GP_VEC(int32_t) ranks;      /* that have a member that is kept */
    GP_VEC(int32_t) path_ranks; /* ranks with a kept path */
};

static bool has(const int32_t *ranks, size_t n, int32_t rank)
{
    for (size_t i = 0; i < n; i++)
        if (ranks[i] == rank) return true;
    return false;
}

static bool keeps_rank(const void *keeper, int32_t rank)
{
    const struct keeper *k = keeper;
    return rank < 0 || has(k->ranks.at, k->ranks.n, rank);
}

/* ---- devices ---- */

GP_COMPARE(by_stream_time, struct gp_hta_stream, GP_DOWN(b.gpu_ns) GP_UP(stream))

GP_COMPARE(by_stream, struct gp_hta_stream, GP_UP(stream))

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
    GP_EACH(struct gp_hta_device, d, h->devices) {
        struct gp_fleet_key key = gp_hta_key_of(h, d);
        bool ranked = d->rank >= 0 || k->fleet->by_device;
        if (ranked ? !has(k->ranks.at, k->ranks.n, d->rank >= 0 ? d->rank : (int32_t)d->device)
                   : !gp_fleet_keeps(k->fleet, key)) {
            /* The whole of D goes into the sums. */
            h->bound.devices++;
            gp_record_merge(&gp_hta_breakdown, &h->bound.b, &d->b);
            gp_record_merge(&gp_hta_window, &h->bound.b, &d->b);
            gp_record_merge(&gp_idle_causes, h->bound.idle_cause_ns, d->idle_cause_ns);
            gp_histogram_merge(&h->bound.gaps, &d->gaps);
            h->bound.kernel_ns = gp_add_saturated(h->bound.kernel_ns, d->kernel_ns);
            h->bound.gemm_ns = gp_add_saturated(h->bound.gemm_ns, d->gemm_ns);
            h->bound.tensor_core_ns = gp_add_saturated(h->bound.tensor_core_ns, d->tensor_core_ns);
            if (gp_sm_known(d) && d->b.exposed_communication_ns <= d->b.compute_ns / 4) {
                h->bound.sm_ns = gp_add_saturated(h->bound.sm_ns, (int64_t)d->sm_ns);
                h->bound.sm_span_ns =
                    gp_add_saturated(h->bound.sm_span_ns, d->b.compute_ns + d->b.exposed_communication_ns);
            }
            gp_record_release(&gp_hta_devices, d);
            continue;
        }
        trim_device(d);
        h->devices.at[n++] = *d;
    }
    h->devices.n = n;
}

/* ---- paths ---- */

/* The longest pieces of a path that has very many; its sums stay. */
static void trim_path(struct gp_hta_bound *bound, struct gp_hta_path *p)
{
    size_t most = GP_HTA_KEPT_PIECES, n = 0, equal = 0;
    if (p->pieces.n <= most) return;
    int64_t *lengths = gp_alloc(p->pieces.n * sizeof *lengths);
    for (size_t i = 0; i < p->pieces.n; i++) lengths[i] = p->pieces.at[i].end_ns - p->pieces.at[i].begin_ns;
    qsort(lengths, p->pieces.n, sizeof *lengths, gp_order_i64_down);
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
    gp_record_merge(&gp_hta_path_times, h->bound.path_bound_ns, h->paths.at[i].bound_ns);
    gp_record_release(&gp_hta_paths, &h->paths.at[i]);
}

static void leave_paths(struct keeper *k)
{
    struct gp_hta *h = k->h;
    size_t n = 0, unranked = 0;
    gp_hta_section_sort(&gp_hta_paths_section, h);
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

GP_COMPARE(by_rank_and_path, struct placed_input,
           GP_UP(in.rank) GP_THEN(strcmp(x->path, y->path)) GP_UP(in.events) GP_UP(in.gpu_events) GP_UP(was))

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
        else {
            gp_record_merge(&gp_inputs, &h->bound.of_inputs, &all[i].in);
            h->bound.inputs++;
        }
    }
    h->inputs.n = kept;
    for (size_t i = 0; i < h->devices.n; i++)
        if (h->devices.at[i].input < n) h->devices.at[i].input = now[h->devices.at[i].input];
    GP_RELEASE(free, all, now, used);
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
    const struct gp_topk *slowest = &h->fleet.worst[GP_FLEET_OWN];
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
    for (size_t i = 0; i < k.fleet->kept.n; i++) {
        struct gp_fleet_key key = k.fleet->kept.at[i].key;
        if (gp_fleet_keeps(k.fleet, key)) GP_VEC_PUSH(&k.ranks, key.rank);
        if (gp_fleet_shows_path(k.fleet, key)) GP_VEC_PUSH(&k.path_ranks, key.rank);
    }
    h->bound.bounded = true;
    leave_devices(&k);
    leave_paths(&k);
    leave_inputs(h, true);
    for (size_t i = 0; gp_hta_sections[i]; i++) gp_hta_section_leave(gp_hta_sections[i], h, keeps_rank, &k);
    GP_VEC_FREE(&k.ranks);
    GP_VEC_FREE(&k.path_ranks);
    if (h->focus) gp_hta_leave_few(h->focus, fleet);
}

static void sort_rows(struct gp_hta *h)
{
    leave_inputs(h, false);
    for (size_t i = 0; gp_hta_sections[i]; i++) gp_hta_section_sort(gp_hta_sections[i], h);
}

void gp_hta_settle(struct gp_hta *h)
{
    gp_fleet_settle(&h->fleet);
    gp_hta_leave_few(h, &h->fleet);
    sort_rows(h);
    if (h->focus) sort_rows(h->focus);
}

/* ---- members of the fleet ---- */

/* What the fleet keeps of a trace: of each device the mean of its steps, its largest kernels, and its
 * steps. */

/* The tag distinguishes devices of one rank, and traces of no rank. */
struct gp_fleet_key gp_hta_key_of(const struct gp_hta *h, const struct gp_hta_device *d)
{
    uint32_t tag = d->producer * 64u + (uint32_t)d->device + 1;
    if (d->rank < 0 && d->input < h->inputs.n) {
        const char *path = gp_hta_str(h, h->inputs.at[d->input].path);
        tag ^= (uint32_t)gp_hash_bytes(path, strlen(path));
    }
    return (struct gp_fleet_key){d->rank, tag};
}

static bool is_of(const struct gp_hta_device *d, int32_t rank, uint32_t producer, int64_t device)
{
    return d->rank == rank && d->producer == producer && d->device == device;
}

/* PART of SUM, as X is of ALL. */
static int64_t share(int64_t x, int64_t all, int64_t sum)
{
    return all > 0 ? (int64_t)((double)x / (double)all * (double)sum) : 0;
}

/* The number that a step's name ends in; otherwise its place. */
static int64_t number_of(const struct gp_hta *h, const struct gp_hta_step *s, int64_t place)
{
    const char *name = gp_hta_str(h, s->name), *end = name + strlen(name), *p = end;
    while (p > name && p[-1] >= '0' && p[-1] <= '9' && end - p < 10) p--;
    return p == end ? place : strtoll(p, NULL, 10);
}

struct reading {
    struct gp_hta *h;
    const struct gp_hta_device *d; /* of all of the trace */
    struct gp_fleet_member m;
    GP_VEC(struct gp_fleet_step) steps;
    struct gp_breakdown sum;  /* of the steady steps */
    uint64_t launches, whole; /* in the step window; in the steady steps */
};

static void read_steps(struct reading *r, bool steady)
{
    int64_t place = 0;
    r->launches = 0;
    GP_EACH(const struct gp_hta_step, s, r->h->steps) {
        if (!is_of(r->d, s->rank, s->producer, s->device)) continue;
        place++;
        if (!s->warm_up || !steady) r->launches += s->launches;
        if (s->partial || (steady && s->warm_up)) continue;
        r->whole += s->launches;
        int64_t own = s->b.span_ns - s->b.exposed_communication_ns;
        GP_VEC_PUSH(&r->steps, ((struct gp_fleet_step){number_of(r->h, s, place), own > 0 ? own : 0}));
        r->sum.span_ns = gp_add_saturated(r->sum.span_ns, s->b.span_ns);
        r->sum.compute_ns = gp_add_saturated(r->sum.compute_ns, s->b.compute_ns);
        r->sum.exposed_memory_ns = gp_add_saturated(r->sum.exposed_memory_ns, s->b.exposed_memory_ns);
        r->sum.exposed_communication_ns =
            gp_add_saturated(r->sum.exposed_communication_ns, s->b.exposed_communication_ns);
        r->sum.idle_ns = gp_add_saturated(r->sum.idle_ns, s->b.idle_ns);
    }
    r->m.steps = r->steps.n;
}

static void read_times(struct reading *r, const struct gp_hta_device *about)
{
    const struct gp_breakdown *b = r->m.steps ? &r->sum : &about->b;
    int64_t n = r->m.steps ? (int64_t)r->m.steps : 1, *ns = r->m.ns;
    int64_t idle = b->idle_ns / n, of = about->b.idle_ns;
    const int64_t *cause = about->idle_cause_ns;
    ns[GP_FLEET_STEP] = b->span_ns / n;
    ns[GP_FLEET_COMMUNICATION] = b->exposed_communication_ns / n;
    ns[GP_FLEET_OWN] = ns[GP_FLEET_STEP] - ns[GP_FLEET_COMMUNICATION];
    ns[GP_FLEET_COMPUTE] = b->compute_ns / n;
    ns[GP_FLEET_COPY] = b->exposed_memory_ns / n;
    ns[GP_FLEET_DATA] = share(cause[GP_IDLE_DATA], of, idle);
    ns[GP_FLEET_HOST] = share(gp_idle_for_host_ns(cause) - cause[GP_IDLE_DATA], of, idle);
    ns[GP_FLEET_GAP] = idle - ns[GP_FLEET_DATA] - ns[GP_FLEET_HOST];
    for (int i = 0; i < GP_FLEET_METRIC_COUNT; i++)
        if (ns[i] < 0) ns[i] = 0; /* damaged times */
}

/* The kernels are those of the step window, which may begin and end within a step. */
static double steps_in_window(const struct reading *r)
{
    double n = r->m.steps ? (double)r->m.steps : 1;
    return r->whole ? n * (double)r->launches / (double)r->whole : n;
}

static void read_kernels(struct reading *r, const struct gp_hta_device *about)
{
    double n = steps_in_window(r);
    GP_EACH(const struct gp_device_kernel, k, about->kernels) {
        int64_t ns = k->ns > 0 ? k->ns : 0;
        GP_VEC_PUSH(&r->m.kernels,
                    ((struct gp_fleet_kernel_time){k->name, k->calls, (int64_t)((double)ns / n),
                                                   ns / (int64_t)k->calls}));
    }
}

static void drop_kernels(struct gp_hta *h)
{
    for (size_t i = 0; i < h->devices.n; i++) GP_VEC_FREE(&h->devices.at[i].kernels);
}

void gp_hta_add_fleet(struct gp_hta *h)
{
    bool by_device = gp_hta_devices_are_ranks(h);
    h->fleet.by_device = by_device;
    for (size_t i = 0; i < h->devices.n; i++) {
        const struct gp_hta_device *d = &h->devices.at[i], *about = d;
        const struct gp_hta *whose = h;
        for (size_t k = 0; h->focus && k < h->focus->devices.n; k++) {
            const struct gp_hta_device *f = &h->focus->devices.at[k];
            if (!is_of(f, d->rank, d->producer, d->device)) continue;
            about = f;
            whose = h->focus;
        }
        if (d->b.gpu_events) {
            struct reading r = {.h = h, .d = d};
            r.m.key = gp_hta_key_of(h, d);
            if (by_device) r.m.key.rank = (int32_t)d->device;
            r.m.device = d->device;
            r.m.gpu = gp_intern_from((struct gp_strings *)(uintptr_t)&whose->strings, &h->strings, d->name);
            read_steps(&r, true);
            if (!r.m.steps) read_steps(&r, false);
            read_times(&r, about);
            read_kernels(&r, about);
            gp_fleet_add(&h->fleet, &r.m, &whose->strings, r.steps.at, r.steps.n);
            GP_VEC_FREE(&r.m.kernels);
            GP_VEC_FREE(&r.steps);
        }
    }
    drop_kernels(h);
    if (h->focus) drop_kernels(h->focus);
}
