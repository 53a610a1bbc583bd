
#include <stdlib.h>
#include <string.h>
#include "analyze/live/watch_priv.h"

enum { NAMES_MOST = 1 << 15 };
static const int64_t FORGET_NS = INT64_C(3600000000000), GAP_MOST_NS = INT64_C(60000000000);
/* Sums over the digests between two comparisons: 2^12 times of at most 2^50. */
_Static_assert(GP_DIGEST_MERGED <= 1 << 12, "sums of times do not overflow");

struct gp_watch *gp_watch_new(gp_watch_event_fn *on_event, void *ctx)
{
    struct gp_watch *w = gp_zalloc(sizeof *w);
    w->on_event = on_event;
    w->ctx = ctx;
    w->every_ns = GP_WATCH_EVERY_NS;
    gp_fleet_init(&w->fleet);
    return w;
}

struct gp_watch *gp_watch_new_merging(gp_watch_digest_fn *on_digest, void *ctx)
{
    struct gp_watch *w = gp_watch_new(NULL, ctx);
    w->on_digest = on_digest;
    w->every_ns = GP_WATCH_MERGE_NS;
    return w;
}

void gp_watch_free(struct gp_watch *w)
{
    if (!w) return;
    for (size_t i = 0; i < w->ranks.n; i++) free(w->ranks.at[i].kernels);
    GP_RELEASE(gp_vec_free, &w->ranks, &w->found, &w->now);
    gp_fleet_release(&w->fleet);
    gp_strings_release(&w->names);
    gp_map_release(&w->rank_of);
    free(w);
}

/* ---- ranks ---- */

static struct gp_watch_rank *new_rank(struct gp_watch *w, const struct gp_digest *d)
{
    if (w->ranks.n == GP_WATCH_RANKS) return NULL;
    struct gp_watch_rank r = {.key = d->member.key, .run = d->run, .seq = d->seq - 1, .heard_ns = w->now_ns};
    r.kernels = gp_zalloc(GP_DIGEST_KERNELS * sizeof *r.kernels);
    gp_map_put(&w->rank_of, gp_watch_id(r.key), (uint32_t)w->ranks.n);
    GP_VEC_PUSH(&w->ranks, r);
    return &w->ranks.at[w->ranks.n - 1];
}

/* Forget ranks that have sent nothing for an hour; where there is no room for new ones, for a minute. */
static void forget_ranks(struct gp_watch *w)
{
    int64_t forget_ns = w->ranks.n == GP_WATCH_RANKS ? GAP_MOST_NS : FORGET_NS;
    size_t n = 0;
    for (size_t i = 0; i < w->ranks.n; i++) n += w->now_ns - w->ranks.at[i].heard_ns <= forget_ns;
    if (n == w->ranks.n) return;
    gp_map_release(&w->rank_of);
    memset(&w->rank_of, 0, sizeof w->rank_of);
    n = 0;
    for (size_t i = 0; i < w->ranks.n; i++) {
        struct gp_watch_rank r = w->ranks.at[i];
        if (w->now_ns - r.heard_ns > forget_ns) {
            free(r.kernels);
            continue;
        }
        gp_map_put(&w->rank_of, gp_watch_id(r.key), (uint32_t)n);
        w->ranks.at[n++] = r;
    }
    w->ranks.n = n;
}

/* ---- names ---- */

/* Names that never end would fill the memory: later ones are not compared until those that nobody uses are
 * forgotten. */
static gp_sid name_of(struct gp_watch *w, const struct gp_strings *names, gp_sid name)
{
    const char *text = gp_string(names, name);
    size_t n = gp_string_len(names, name);
    if (w->names.n < NAMES_MOST) return gp_intern(&w->names, text, n);
    gp_sid known = gp_intern_find(&w->names, text, n);
    return known == UINT32_MAX ? 0 : known;
}

static void forget_names(struct gp_watch *w)
{
    struct gp_strings fresh = {0};
    if (w->names.n < NAMES_MOST / 2) return;
    GP_EACH(struct gp_watch_rank, r, w->ranks) {
        r->gpu = gp_intern_from(&fresh, &w->names, r->gpu);
        for (size_t k = 0; k < r->n_kernels; k++)
            r->kernels[k].name = gp_intern_from(&fresh, &w->names, r->kernels[k].name);
    }
    gp_strings_release(&w->names);
    w->names = fresh;
}

/* ---- digests ---- */

/* Of MERGED digests. */
static void add_kernel(struct gp_watch_rank *r, gp_sid name, const struct gp_fleet_kernel_time *t,
                       int64_t usual_ns, uint32_t merged)
{
    size_t i = 0;
    while (i < r->n_kernels && r->kernels[i].name != name) i++;
    if (i == GP_DIGEST_KERNELS) return;
    if (i == r->n_kernels) r->kernels[r->n_kernels++] = (struct gp_watch_kernel){.name = name};
    struct gp_watch_kernel *k = &r->kernels[i];
    if (k->n + merged > GP_DIGEST_MERGED) return; /* only if a digest has it twice */
    double change = usual_ns > 0 ? 1000 * ((double)t->call_ns - (double)usual_ns) / (double)usual_ns : 0;
    k->n = (uint16_t)(k->n + merged);
    k->change_pm = (int16_t)(change > INT16_MAX ? INT16_MAX : change);
    k->step_ns += t->step_ns * merged;
    k->call_ns += t->call_ns * merged;
}

/* Of the run that sends now; what is old, or came before, is refused: it may be a message that was caught on
 * its way. */
static bool is_news(const struct gp_watch_rank *r, const struct gp_digest *d)
{
    return r->run == d->run ? d->seq > r->seq : d->time_ns > r->sent_ns;
}

static void hear(struct gp_watch *w, struct gp_watch_rank *r, const struct gp_digest *d)
{
    int64_t gap_ns = w->now_ns - r->heard_ns;
    bool same = r->run == d->run;
    uint64_t ahead = d->seq - r->seq;
    if (same && ahead > d->merged && ahead < UINT32_MAX) w->missing += ahead - d->merged;
    if (!same) w->dropped += d->dropped;
    else if (d->dropped > r->dropped) w->dropped += d->dropped - r->dropped;
    r->gap_ns -= r->gap_ns / 8;
    if (gap_ns > r->gap_ns) r->gap_ns = gap_ns < GAP_MOST_NS ? gap_ns : GAP_MOST_NS;
    r->run = d->run;
    r->seq = d->seq;
    r->dropped = d->dropped;
    r->sent_ns = d->time_ns;
    if (w->on_digest) r->merged += (uint32_t)d->merged;
    r->heard_ns = w->now_ns;
    r->device = (int32_t)(d->member.device < INT32_MAX ? d->member.device : -1);
}

void gp_watch_add(struct gp_watch *w, const struct gp_digest *d, const struct gp_strings *names,
                  int64_t now_ns)
{
    enum { MOST = GP_DIGEST_MERGED }; /* digests between two comparisons: sums of as many cannot overflow */
    uint32_t merged = (uint32_t)d->merged;
    if (!w->first_ns) {
        w->first_ns = now_ns;
        w->due_ns = now_ns + w->every_ns;
    }
    gp_watch_tick(w, now_ns);
    struct gp_watch_rank *r = gp_watch_rank(w, d->member.key);
    if (!r && !(r = new_rank(w, d))) {
        w->crowded++;
        return;
    }
    if (!is_news(r, d)) {
        w->late++;
        return;
    }
    w->digests += merged;
    hear(w, r, d);
    if (!d->member.steps) { /* it is there, but nothing can be compared */
        w->stepless += merged;
        r->gap_ns = GAP_MOST_NS;
        return;
    }
    r->gpu = name_of(w, names, d->member.gpu);
    if (!r->fresh) {
        r->fresh = true;
        r->n = r->n_kernels = 0;
        r->steps = 0;
        memset(r->ns, 0, sizeof r->ns);
    }
    if (r->n + merged > MOST) return;
    r->n += merged;
    r->steps += d->member.steps;
    r->last_step = d->last_step;
    for (int i = 0; i < GP_FLEET_METRIC_COUNT; i++) r->ns[i] += d->member.ns[i] * merged;
    for (size_t i = 0; i < d->member.kernels.n && i < GP_DIGEST_KERNELS; i++) {
        gp_sid name = name_of(w, names, d->member.kernels.at[i].name);
        if (name) add_kernel(r, name, &d->member.kernels.at[i], d->usual_ns[i], merged);
    }
}

void gp_watch_tick(struct gp_watch *w, int64_t now_ns)
{
    if (now_ns > w->now_ns) w->now_ns = now_ns;
    if (!w->due_ns || w->now_ns < w->due_ns) return;
    if (w->on_digest) gp_watch_pass_on(w);
    else gp_watch_compare(w);
    forget_ranks(w);
    forget_names(w);
    int64_t behind = w->now_ns - w->due_ns;
    w->due_ns = (behind > w->every_ns ? w->now_ns : w->due_ns) + w->every_ns;
}

void gp_watch_end(struct gp_watch *w)
{
    if (w->on_digest) gp_watch_pass_on(w);
}

struct gp_watch_state gp_watch_state(const struct gp_watch *w)
{
    struct gp_watch_state s = {.digests = w->digests,
                               .late = w->late,
                               .crowded = w->crowded,
                               .stepless = w->stepless,
                               .missing = w->missing,
                               .dropped = w->dropped,
                               .ranks = (uint32_t)(w->on_digest ? w->ranks.n : w->fleet.members),
                               .slow = w->now.at,
                               .n_slow = w->now.n};
    for (int i = 0; i < GP_FLEET_METRIC_COUNT; i++) s.ns[i] = gp_sketch_median(&w->fleet.spread[i]);
    return s;
}
