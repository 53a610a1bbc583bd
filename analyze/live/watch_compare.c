#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "analyze/live/watch_priv.h"
#include "formats/base/buf.h"
#include "formats/base/order.h"
#include "formats/base/scale.h"

/* TWICE: comparisons in a row that find something before it is reported, and that miss it before it has
 * recovered. */
enum { TWICE = 2, PAST_EVERY = 2, PAST_LEAST = 3, SHARED_BY = 4, SILENT_GAPS = 3 };
static const double ALL_SLOWER_PCT = 10, CHANGED_PM = 100, CHANGED_STEP_PCT = 1;

/* ---- the ranks as a fleet ---- */

struct gp_watch_rank *gp_watch_rank(const struct gp_watch *w, struct gp_fleet_key key)
{
    const uint32_t *known = gp_map_get(&w->rank_of, gp_watch_id(key));
    return known ? &w->ranks.at[*known] : NULL;
}

/* How long a rank may be quiet: twice the time between comparisons, or three of its own pauses. */
static int64_t patience_ns(const struct gp_watch_rank *r)
{
    int64_t least = 2 * GP_WATCH_EVERY_NS, own = SILENT_GAPS * r->gap_ns;
    return own > least ? own : least;
}

static void add_member(struct gp_watch *w, const struct gp_watch_rank *r)
{
    struct gp_fleet_member m = {.key = r->key, .device = r->device, .gpu = r->gpu, .steps = r->n};
    if (!r->n) return;
    for (int i = 0; i < GP_FLEET_METRIC_COUNT; i++) m.ns[i] = r->ns[i] / r->n;
    GP_EACH_OF(const struct gp_watch_kernel, k, r->kernels, r->n_kernels) {
        struct gp_fleet_kernel_time t = {k->name, k->n, k->step_ns / k->n, k->call_ns / k->n};
        GP_VEC_PUSH(&m.kernels, t);
    }
    gp_fleet_add(&w->fleet, &m, &w->names, NULL, 0);
    GP_VEC_FREE(&m.kernels);
}

static void send_event(struct gp_watch *w, struct gp_watch_event e, struct gp_buf *text)
{
    e.time_ns = w->now_ns - w->first_ns;
    e.text = gp_buf_str(text);
    w->on_event(w->ctx, &e);
    text->n = 0;
}

/* ---- what two comparisons find ---- */

/* How much longer a call of kernel NAME takes on R than it did before, per mille. */
static double change_of(const struct gp_watch *w, const struct gp_watch_rank *r, const char *name)
{
    for (size_t i = 0; i < r->n_kernels; i++)
        if (!strcmp(gp_string(&w->names, r->kernels[i].name), name)) return r->kernels[i].change_pm;
    return 0;
}

static void put_own_past(const struct gp_watch *w, const struct gp_watch_found *f, struct gp_buf *text)
{
    const struct gp_watch_rank *r = *f->name ? gp_watch_rank(w, f->slow.key) : NULL;
    double change = r ? change_of(w, r, f->name) : 0;
    if (change >= CHANGED_PM / 2)
        gp_buf_printf(text, " A call takes %.0f%% longer than it did on this rank before.", change / 10);
}

static void put_changed(const struct gp_watch_found *f, struct gp_buf *text)
{
    const struct gp_slow *s = &f->slow;
    gp_buf_printf(text,
                  "Rank %" PRId32 ": %s takes %s per step; before, it took %s on this rank (%.0f%% longer).",
                  s->key.rank, f->name, GP_NS(s->ns), GP_NS(s->median_ns),
                  100 * (double)s->cause_ns / (double)(s->median_ns ? s->median_ns : 1));
}

static void report(struct gp_watch *w, const struct gp_watch_found *f, struct gp_buf *text)
{
    struct gp_watch_event e = {.kind = f->kind,
                               .slow = &f->slow,
                               .kernel = *f->name ? f->name : NULL,
                               .rank = f->slow.key.rank,
                               .ranks = f->slow.ranks,
                               .cause = gp_slow_cause_name(f->slow.cause)};
    if (f->kind == GP_WATCH_CHANGED) put_changed(f, text);
    else gp_slow_put(text, &w->fleet, &f->slow);
    if (f->kind == GP_WATCH_SLOW) put_own_past(w, f, text);
    send_event(w, e, text);
}

/* Is there something new to judge by? A rank whose steps take long is in several comparisons with the same
 * figures. */
static bool has_news(const struct gp_watch *w, const struct gp_slow *s)
{
    const struct gp_watch_rank *r = gp_watch_rank(w, s->key);
    return !r || r->fresh;
}

static void note(struct gp_watch *w, enum gp_watch_kind kind, const struct gp_slow *s, struct gp_buf *text)
{
    const char *name = s->kernel ? gp_string(&w->fleet.strings, s->kernel) : "";
    struct gp_watch_found *f = NULL;
    for (size_t i = 0; i < w->found.n && !f; i++) {
        struct gp_watch_found *old = &w->found.at[i];
        bool kernel = s->what != GP_SLOW_KERNEL || !strncmp(old->name, name, GP_DIGEST_NAME);
        if (old->kind == kind && old->slow.what == s->what && old->slow.device == s->device &&
            !gp_fleet_key_compare(old->slow.key, s->key) && kernel)
            f = old;
    }
    if (!f) {
        GP_VEC_PUSH(&w->found, ((struct gp_watch_found){.kind = kind}));
        f = &w->found.at[w->found.n - 1];
    }
    f->slow = *s;
    memset(f->name, 0, sizeof f->name);
    strncpy(f->name, name, GP_DIGEST_NAME);
    f->seen = true;
    f->misses = 0;
    f->hits += has_news(w, s) && f->hits < TWICE;
    if (f->reported || f->hits < TWICE) return;
    f->reported = true;
    report(w, f, text);
}

/* Kernels of a few ranks against their own past: too few to compare with each other. */
static void note_changed(struct gp_watch *w, struct gp_buf *text)
{
    GP_EACH(const struct gp_fleet_kernel, k, w->fleet.kernels) {
        const char *name = gp_string(&w->fleet.strings, k->name);
        for (uint32_t n = 0; n < k->worst.n && k->step.n < SHARED_BY; n++) {
            const struct gp_watch_rank *r = gp_watch_rank(w, k->worst.at[n].key);
            if (!r || !r->n) continue;
            double change = change_of(w, r, name), ns = (double)k->worst.at[n].value;
            if (change < CHANGED_PM) continue;
            struct gp_slow s = {.what = GP_SLOW_KERNEL,
                                .key = r->key,
                                .device = r->device,
                                .ranks = 1,
                                .cause = GP_SLOW_COMPUTE,
                                .ns = k->worst.at[n].value,
                                .median_ns = (int64_t)(ns / (1 + change / 1000)),
                                .kernel = k->name};
            s.cause_ns = s.ns - s.median_ns;
            double least = (double)(r->ns[GP_FLEET_STEP] / r->n) / 100 * CHANGED_STEP_PCT;
            if ((double)s.cause_ns >= least) note(w, GP_WATCH_CHANGED, &s, text);
        }
    }
}

static void put_recovered(struct gp_watch *w, struct gp_watch_found *f, struct gp_buf *text)
{
    struct gp_slow *s = &f->slow;
    s->kernel = 0; /* its fleet is gone */
    if (s->what == GP_SLOW_ORDINAL) gp_buf_printf(text, "GPU %" PRId64 " of every node", s->device);
    else
        gp_buf_printf(text, "%s %" PRId32, s->what == GP_SLOW_NODE ? "The node of rank" : "Rank",
                      s->key.rank);
    gp_buf_printf(text, " is no longer slow%s%s.", *f->name ? ": " : "", f->name);
    struct gp_watch_event e = {.kind = GP_WATCH_RECOVERED,
                               .slow = s,
                               .kernel = *f->name ? f->name : NULL,
                               .rank = s->key.rank,
                               .ranks = s->ranks,
                               .cause = gp_slow_cause_name(s->cause)};
    send_event(w, e, text);
}

/* What this comparison did not find has recovered, or never was. */
static void end_found(struct gp_watch *w, struct gp_buf *text)
{
    size_t n = 0;
    w->now.n = 0;
    for (size_t i = 0; i < w->found.n; i++) {
        struct gp_watch_found f = w->found.at[i];
        if (!f.seen) {
            f.misses += has_news(w, &f.slow);
            f.slow.kernel = 0;
        }
        bool stays = f.seen || (f.reported && f.misses < TWICE);
        if (!stays && f.reported) put_recovered(w, &f, text);
        if (!stays) continue;
        f.seen = false;
        w->found.at[n++] = f;
    }
    w->found.n = n;
    for (size_t i = 0; i < n; i++)
        if (w->found.at[i].reported)
            GP_VEC_PUSH(&w->now, ((struct gp_watch_slow){w->found.at[i].slow, w->found.at[i].name}));
}

/* ---- ranks that send nothing ---- */

struct moved {
    bool silent; /* current state */
    uint32_t ranks;
    int32_t first;
    int64_t quiet_ns;
};

static void put_moved(struct gp_watch *w, const struct moved *m, struct gp_buf *text)
{
    if (m->ranks > 1)
        gp_buf_printf(text, "%" PRIu32 " ranks, of which %" PRId32 " is the first,", m->ranks, m->first);
    else gp_buf_printf(text, "Rank %" PRId32, m->first);
    if (m->silent)
        gp_buf_printf(text, " %s sent nothing for %s.", m->ranks > 1 ? "have" : "has", GP_NS(m->quiet_ns));
    else gp_buf_puts(text, m->ranks > 1 ? " send again." : " sends again.");
    enum gp_watch_kind kind = m->silent ? GP_WATCH_SILENT : GP_WATCH_BACK;
    send_event(w, (struct gp_watch_event){.kind = kind, .rank = m->first, .ranks = m->ranks}, text);
}

static bool has_moved(const struct gp_watch *w, const struct gp_watch_rank *r, bool silent)
{
    return r->silent != silent && (w->now_ns - r->heard_ns > patience_ns(r)) == silent;
}

/* Ranks that have become silent, or send again: a line for each, or one for many. */
static void note_moved(struct gp_watch *w, bool silent, struct gp_buf *text)
{
    struct moved all = {.silent = silent, .first = INT32_MAX};
    GP_EACH(const struct gp_watch_rank, r, w->ranks) {
        if (!has_moved(w, r, silent)) continue;
        all.ranks++;
        all.quiet_ns = w->now_ns - r->heard_ns > all.quiet_ns ? w->now_ns - r->heard_ns : all.quiet_ns;
        if (r->key.rank < all.first) all.first = r->key.rank;
    }
    if (all.ranks > GP_WATCH_ROWS) put_moved(w, &all, text);
    GP_EACH(struct gp_watch_rank, r, w->ranks) {
        struct moved one = {silent, 1, r->key.rank, w->now_ns - r->heard_ns};
        if (!has_moved(w, r, silent)) continue;
        if (all.ranks <= GP_WATCH_ROWS) put_moved(w, &one, text);
        r->silent = silent;
    }
}

/* ---- all ranks against their own past hour ---- */

static int64_t usual_ns(const struct gp_watch *w, enum gp_fleet_metric m)
{
    int64_t past[GP_WATCH_HOUR];
    for (size_t i = 0; i < w->n_past; i++) past[i] = w->past[i].ns[m];
    qsort(past, w->n_past, sizeof *past, gp_order_i64);
    return past[w->n_past / 2];
}

static bool is_longer(const struct gp_watch *w, const struct gp_watch_past *now, enum gp_fleet_metric m)
{
    return (double)now->ns[m] > (double)usual_ns(w, m) * (1 + ALL_SLOWER_PCT / 100);
}

/* What slows all ranks is not seen by comparing them. A step that only waits longer for a slow rank has been
 * explained. */
static void compare_with_past(struct gp_watch *w, const struct gp_watch_past *now, size_t n_slow,
                              struct gp_buf *text)
{
    if (w->n_past < PAST_LEAST) return;
    bool own = is_longer(w, now, GP_FLEET_OWN), slower = own || (!n_slow && is_longer(w, now, GP_FLEET_STEP));
    enum gp_fleet_metric by = own ? GP_FLEET_OWN : GP_FLEET_STEP, cause = GP_FLEET_COMPUTE;
    int64_t most = INT64_MIN;
    w->slower = slower ? w->slower + (w->slower <= TWICE) : 0;
    if (w->slower != TWICE) return;
    for (int m = GP_FLEET_COMPUTE; m < GP_FLEET_METRIC_COUNT; m++) {
        int64_t more = now->ns[m] - usual_ns(w, (enum gp_fleet_metric)m);
        if (more <= most) continue;
        most = more;
        cause = (enum gp_fleet_metric)m;
    }
    gp_buf_printf(
        text,
        "All ranks are slower: the median %s takes %s; in the last hour it took %s. Cause: %s takes "
        "%s longer.",
        gp_fleet_metric_text(by), GP_NS(now->ns[by]), GP_NS(usual_ns(w, by)), gp_fleet_metric_text(cause),
        GP_NS(most));
    send_event(w,
               (struct gp_watch_event){.kind = GP_WATCH_ALL_SLOWER,
                                       .rank = -1,
                                       .ranks = (uint32_t)w->fleet.members,
                                       .cause = gp_fleet_metric_name(cause)},
               text);
}

static void keep_past(struct gp_watch *w, const struct gp_watch_past *now)
{
    if (w->compared % PAST_EVERY) return;
    if (w->n_past == GP_WATCH_HOUR) memmove(w->past, w->past + 1, --w->n_past * sizeof *w->past);
    w->past[w->n_past++] = *now;
}

void gp_watch_compare(struct gp_watch *w)
{
    struct gp_buf text = {0};
    struct gp_slow_list slow = {0};
    gp_fleet_release(&w->fleet);
    gp_fleet_init(&w->fleet);
    w->compared++;
    for (size_t i = 0; i < w->ranks.n; i++)
        if (w->now_ns - w->ranks.at[i].heard_ns <= patience_ns(&w->ranks.at[i]))
            add_member(w, &w->ranks.at[i]);
    gp_fleet_settle(&w->fleet);
    gp_slow_find(&slow, &w->fleet);
    for (size_t i = 0; i < slow.at.n; i++) note(w, GP_WATCH_SLOW, &slow.at.at[i], &text);
    note_changed(w, &text);
    end_found(w, &text);
    note_moved(w, true, &text);
    note_moved(w, false, &text);
    if (w->fleet.members) {
        struct gp_watch_past now;
        for (int i = 0; i < GP_FLEET_METRIC_COUNT; i++) now.ns[i] = gp_sketch_median(&w->fleet.spread[i]);
        compare_with_past(w, &now, slow.at.n, &text);
        keep_past(w, &now);
    }
    for (size_t i = 0; i < w->ranks.n; i++) w->ranks.at[i].fresh = false;
    gp_slow_release(&slow);
    gp_buf_release(&text);
}
