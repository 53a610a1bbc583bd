#include "render/hta/hta_priv.h"

#include <inttypes.h>
#include <stdlib.h>
#include "analyze/hta/hta.h"
#include "analyze/math/sums.h"
#include "formats/base/buf.h"
#include "formats/base/map.h"
#include "formats/base/order.h"
#include "formats/base/scale.h"
#include "render/draw/text.h"

struct gp_hta_totals gp_hta_totals(const struct gp_hta *h)
{
    struct gp_hta_totals all = {0};
    for (size_t i = 0; i < h->devices.n; i++) {
        const struct gp_hta_device *d = &h->devices.at[i];
        gp_hta_add_breakdown(&all.b, &d->b);
        for (int c = 0; c < GP_IDLE_CAUSE_COUNT; c++) all.idle_cause_ns[c] += d->idle_cause_ns[c];
        all.ranks += i == 0 || d->rank != d[-1].rank;
    }
    gp_hta_add_breakdown(&all.b, &h->bound.b);
    for (int c = 0; c < GP_IDLE_CAUSE_COUNT; c++) all.idle_cause_ns[c] += h->bound.idle_cause_ns[c];
    all.devices = h->devices.n + h->bound.devices;
    all.ranks += h->bound.devices; /* each its own rank */
    return all;
}

/* ---- culprits ---- */

GP_COMPARE(compare_frames, struct gp_idle_culprit,
           GP_UP(cause) GP_UP(rest) GP_UP(range) GP_UP(python) GP_UP(op) GP_UP(api))

GP_COMPARE(by_idle, struct gp_idle_culprit, GP_UP(rest) GP_DOWN(idle_ns) GP_THEN(compare_frames(x, y)))

static void add_rest(gp_idle_culprits *out, int cause, int64_t ns)
{
    if (ns)
        GP_VEC_PUSH(out, ((struct gp_idle_culprit){.cause = (uint32_t)cause, .rest = true, .idle_ns = ns}));
}

void gp_hta_culprit_sums(const struct gp_hta *h, gp_idle_culprits *out)
{
    for (size_t i = 0; i < h->devices.n; i++)
        for (size_t j = 0; j < h->devices.at[i].culprits.n; j++)
            GP_VEC_PUSH(out, h->devices.at[i].culprits.at[j]);
    for (int c = 0; c < GP_IDLE_CAUSE_COUNT; c++) {
        for (size_t i = 0; i < h->devices.n; i++) add_rest(out, c, h->devices.at[i].culprit_rest_ns[c]);
        add_rest(out, c, h->bound.idle_cause_ns[c]);
    }
    if (!out->n) return;
    qsort(out->at, out->n, sizeof *out->at, compare_frames);
    size_t n = 0;
    GP_EACH(const struct gp_idle_culprit, c, *out) {
        struct gp_idle_culprit *to = n ? &out->at[n - 1] : NULL;
        if (!to || compare_frames(to, c)) {
            out->at[n++] = *c;
            continue;
        }
        to->idle_ns += c->idle_ns;
        to->gaps += c->gaps;
        to->samples += c->samples;
        if (c->longest_ns > to->longest_ns) {
            to->longest_ns = c->longest_ns;
            to->longest_at_ns = c->longest_at_ns;
        }
    }
    out->n = n;
    qsort(out->at, n, sizeof *out->at, by_idle);
}

/* ---- the critical path ---- */

GP_COMPARE(by_total, struct gp_path_sum, GP_DOWN(total_ns) GP_UP(bound) GP_UP(name) GP_UP(full))

void gp_hta_path_sums(const struct gp_hta_path *p, gp_path_sums *out)
{
    struct gp_map rows[GP_PATH_BOUND_COUNT] = {{0}}; /* name and full name -> row of OUT */
    GP_EACH(const struct gp_path_piece, q, p->pieces) {
        int64_t ns = q->end_ns - q->begin_ns;
        uint32_t *row = gp_map_put(&rows[q->bound], (uint64_t)q->name << 32 | q->full, (uint32_t)out->n);
        if (*row == out->n) GP_VEC_PUSH(out, ((struct gp_path_sum){p, q->bound, q->name, q->full, 0, 0, 0}));
        struct gp_path_sum *to = &out->at[*row];
        to->count++;
        to->total_ns += ns;
        if (ns > to->longest_ns) to->longest_ns = ns;
    }
    for (int b = 0; b < GP_PATH_BOUND_COUNT; b++) gp_map_release(&rows[b]);
    if (out->n) qsort(out->at, out->n, sizeof *out->at, by_total);
}

/* ---- runs of short pieces ---- */

static int64_t length(const struct gp_path_piece *p) { return p->end_ns - p->begin_ns; }

/* The length from which a piece is listed separately, so that with the runs in between there are at most
 * MAX. */
static int64_t threshold(const struct gp_hta_path *p, size_t max)
{
    if (!max || p->pieces.n <= max) return 0;
    int64_t *lengths = gp_alloc(p->pieces.n * sizeof *lengths);
    for (size_t i = 0; i < p->pieces.n; i++) lengths[i] = length(&p->pieces.at[i]);
    qsort(lengths, p->pieces.n, sizeof *lengths, gp_order_i64_down);
    int64_t least = lengths[(max - 1) / 2] + 1; /* (max - 1) / 2 longer ones at most, and a run around each */
    free(lengths);
    return least;
}

static struct gp_path_run run_of(const struct gp_hta_path *p, size_t first, size_t end)
{
    struct gp_path_run run = {first, end, 0, GP_PATH_HOST};
    int64_t ns[GP_PATH_BOUND_COUNT] = {0};
    for (size_t i = first; i < end; i++) {
        ns[p->pieces.at[i].bound] += length(&p->pieces.at[i]);
        run.total_ns += length(&p->pieces.at[i]);
    }
    for (int b = 0; b < GP_PATH_BOUND_COUNT; b++)
        if (ns[b] > ns[run.bound]) run.bound = (enum gp_path_bound)b;
    return run;
}

void gp_hta_path_fold(const struct gp_hta_path *p, size_t max, gp_path_runs *out)
{
    int64_t least = threshold(p, max);
    for (size_t i = 0; i < p->pieces.n;) {
        size_t end = i + 1;
        if (length(&p->pieces.at[i]) < least)
            while (end < p->pieces.n && length(&p->pieces.at[end]) < least) end++;
        GP_VEC_PUSH(out, run_of(p, i, end));
        i = end;
    }
}

/* ---- hta verdict ---- */

enum { RANK_GROUPS = 8, NAME_COLUMNS = 44, SLOW_MOST = 3, SKIPS_SHOWN = 3 };

/* The ranks "0, 3 to 7 and 12 more" of N in rising order. */
static void put_ranks(struct gp_buf *b, const int32_t *ranks, size_t n)
{
    int groups = 0;
    for (size_t i = 0, end; i < n; i = end, groups++) {
        if (groups == RANK_GROUPS) {
            gp_buf_printf(b, " and %zu more", n - i);
            return;
        }
        for (end = i + 1; end < n && ranks[end] == ranks[end - 1] + 1; end++) continue;
        gp_buf_printf(b, "%s%" PRId32, i ? ", " : "", ranks[i]);
        if (end - i > 1) gp_buf_printf(b, " to %" PRId32, ranks[end - 1]);
    }
}

/* ---- quality ---- */

/* Operands that could not be read. */
static void summarize_skipped(struct gp_report *r, const struct gp_hta *h, struct gp_buf *b)
{
    const struct gp_fleet *f = &h->fleet;
    if (!f->skipped) return;
    gp_scale_put_count(b, f->skipped);
    gp_buf_puts(b, f->skipped > 1 ? " inputs were skipped: " : " input was skipped: ");
    for (size_t i = 0; i < f->skips.n && i < SKIPS_SHOWN; i++)
        gp_buf_printf(b, "%s%s", i ? "; " : "", gp_string(&f->strings, f->skips.at[i].reason));
    if (f->skipped > SKIPS_SHOWN)
        gp_buf_printf(b, "; and %llu more", (unsigned long long)(f->skipped - SKIPS_SHOWN));
    gp_report_take_note(r, GP_TONE_WARN, b);
}

void gp_hta_quality(struct gp_report *r, const struct gp_hta *h, bool damage)
{
    struct gp_buf out = {0}, *b = &out;
    gp_inputs_quality(r, &h->strings, h->inputs.at, h->inputs.n, damage);
    summarize_skipped(r, h, b);
    if (h->repeated_ranks.n) {
        gp_buf_puts(b, h->repeated_ranks.n > 1 ? "repeated ranks: " : "repeated rank: ");
        put_ranks(b, h->repeated_ranks.at, h->repeated_ranks.n);
        gp_report_take_note(r, GP_TONE_WARN, b);
    }
    if (h->missing_ranks.n && h->inputs.n > 1) { /* a single rank was chosen, not left over */
        gp_buf_printf(b, "missing rank%s", h->missing_ranks.n > 1 ? "s" : "");
        if (h->world_size > 0) gp_buf_printf(b, " of %" PRId32, h->world_size);
        gp_buf_puts(b, ": ");
        put_ranks(b, h->missing_ranks.at, h->missing_ranks.n);
        gp_report_take_note(r, GP_TONE_WARN, b);
    }
    gp_buf_release(b);
}

/* ---- verdict ---- */

/* The number of steps of the time, where it is that of steps: the most that a device ran. */
static uint64_t steps_in(const struct gp_hta *h)
{
    uint64_t most = 0;
    GP_EACH(const struct gp_hta_part, p, h->parts)
        if (p->kind == GP_PART_STEPS && p->steps > most) most = p->steps;
    return most;
}

/* " over 12 ms", or " in 6 steps, 12 ms" */
static void put_time_of(struct gp_buf *b, uint64_t steps, int64_t span_ns)
{
    gp_buf_puts(b, steps ? " in " : " over ");
    if (steps) gp_buf_printf(b, "%s step%s, ", GP_COUNTED(steps), steps > 1 ? "s" : "");
    gp_scale_put(b, GP_UNIT_NS, span_ns);
}

static void put_span(struct gp_buf *b, const struct gp_hta *h, uint64_t steps,
                     const struct gp_hta_totals *all)
{
    const char *name = gp_hta_str(h, h->devices.at[0].name);
    for (size_t i = 1; i < h->devices.n; i++)
        if (h->devices.at[i].name != h->devices.at[0].name) name = "";
    if (all->devices == 1) {
        bool ranked = h->inputs.n == 1 && h->world_size > 1 && h->devices.at[0].rank >= 0;
        if (ranked)
            gp_buf_printf(b, "Rank %" PRId32 " of %" PRId32 ", ", h->devices.at[0].rank, h->world_size);
        gp_buf_puts(b, *name ? name : ranked ? "one GPU" : "The GPU");
        put_time_of(b, steps, all->b.span_ns);
        return;
    }
    if (gp_hta_only_processes(h)) {
        gp_buf_printf(b, "%s in %s processes", *name ? name : "The GPU", GP_COUNTED(all->devices));
        put_time_of(b, steps, all->b.span_ns / (int64_t)all->devices);
        gp_buf_puts(b, " each");
        return;
    }
    gp_scale_put_count(b, all->devices);
    if (*name) gp_buf_printf(b, " %s GPUs", name);
    else gp_buf_puts(b, " GPUs");
    if (all->ranks > 1) gp_buf_printf(b, " of %s ranks", GP_COUNTED(all->ranks));
    put_time_of(b, steps, all->b.span_ns / (int64_t)all->devices);
    gp_buf_puts(b, " each");
}

static void summarize_shares(struct gp_report *r, const struct gp_hta *h, uint64_t steps,
                             const struct gp_hta_totals *all, struct gp_buf *b)
{
    const struct gp_breakdown *d = &all->b;
    put_span(b, h, steps, all);
    gp_buf_printf(b, ": computing %s", GP_SHARE(d->compute_ns, d->span_ns));
    if (d->exposed_communication_ns)
        gp_buf_printf(b, ", only communicating %s", GP_SHARE(d->exposed_communication_ns, d->span_ns));
    if (d->exposed_memory_ns)
        gp_buf_printf(b, ", only copying %s", GP_SHARE(d->exposed_memory_ns, d->span_ns));
    gp_buf_printf(b, ", idle %s", GP_SHARE(d->idle_ns, d->span_ns));
    if (d->idle_ns)
        gp_buf_printf(b, " (%s%s)", GP_NS(d->idle_ns / (int64_t)all->devices),
                      all->devices > 1 ? " each" : "");
    gp_buf_putc(b, '.');
    double idle = gp_pct(d->idle_ns, d->span_ns);
    gp_report_take_verdict(r, idle < 10 ? GP_TONE_GOOD : idle < 30 ? GP_TONE_WARN : GP_TONE_BAD, b);
}

/* Of traces that were measured kernel by kernel; why there is no more is said with the quality of the
 * inputs. */
static void summarize_untimed(struct gp_report *r, const struct gp_hta *h, const struct gp_hta_totals *all,
                              struct gp_buf *b)
{
    const char *name = gp_hta_str(h, h->devices.at[0].name);
    for (size_t i = 1; i < h->devices.n; i++)
        if (h->devices.at[i].name != h->devices.at[0].name) name = "";
    gp_buf_puts(b, *name ? name : all->devices > 1 ? "The GPUs" : "The GPU");
    gp_buf_printf(b,
                  ", measured kernel by kernel: %s GPU event%s, %s of GPU work. Times between launches are "
                  "not meaningful.",
                  GP_COUNTED(all->b.gpu_events), all->b.gpu_events == 1 ? "" : "s", GP_NS(all->b.gpu_ns));
    gp_report_take_verdict(r, GP_TONE_WARN, b);
}

/* Devices that differ: the least and the most idle one. */
static void summarize_spread(struct gp_report *r, const struct gp_hta *h, struct gp_buf *b)
{
    const struct gp_hta_device *least = NULL, *most = NULL;
    GP_EACH(const struct gp_hta_device, d, h->devices) {
        double pct = gp_pct(d->b.idle_ns, d->b.span_ns);
        if (!least || pct < gp_pct(least->b.idle_ns, least->b.span_ns)) least = d;
        if (!most || pct > gp_pct(most->b.idle_ns, most->b.span_ns)) most = d;
    }
    double low = gp_pct(least->b.idle_ns, least->b.span_ns), high = gp_pct(most->b.idle_ns, most->b.span_ns);
    if (high - low < 5) return;
    bool ranks = least->rank >= 0 && most->rank >= 0 && least->rank != most->rank;
    gp_buf_puts(b, "They differ: idle time ranges from ");
    gp_scale_put_share(b, least->b.idle_ns, least->b.span_ns);
    gp_buf_printf(b, " (%s %" PRId64 ") to ", ranks ? "rank" : "GPU", ranks ? least->rank : least->device);
    gp_scale_put_share(b, most->b.idle_ns, most->b.span_ns);
    gp_buf_printf(b, " (%s %" PRId64 ").", ranks ? "rank" : "GPU", ranks ? most->rank : most->device);
    gp_report_take_verdict(r, GP_TONE_WARN, b);
}

static void summarize_idle(struct gp_report *r, const struct gp_hta *h, const struct gp_hta_totals *all,
                           struct gp_buf *b)
{
    int worst = 0;
    for (int c = 1; c < GP_IDLE_CAUSE_COUNT; c++)
        if (all->idle_cause_ns[c] > all->idle_cause_ns[worst]) worst = c;
    if (!all->idle_cause_ns[worst] || gp_pct(all->b.idle_ns, all->b.span_ns) < 2) return;
    gp_buf_printf(b, "Largest cause of idle time: %s, %s%s (%s of it)",
                  gp_idle_cause_text((enum gp_idle_cause)worst),
                  GP_NS(all->idle_cause_ns[worst] / (int64_t)all->devices), all->devices > 1 ? " each" : "",
                  GP_SHARE(all->idle_cause_ns[worst], all->b.idle_ns));
    gp_idle_culprits sums = {0};
    gp_hta_culprit_sums(h, &sums);
    GP_EACH(const struct gp_idle_culprit, c, sums) {
        gp_sid frame = c->op ? c->op : c->python ? c->python : c->range;
        if (c->rest || c->cause != (uint32_t)worst) continue;
        if (frame && c->idle_ns > (all->idle_cause_ns[worst] - 1) / 10) {
            gp_buf_puts(b, ", mainly in ");
            gp_text_fit_place(b, gp_hta_str(h, frame), gp_string_len(&h->strings, frame), NAME_COLUMNS);
        }
        break;
    }
    GP_VEC_FREE(&sums);
    gp_buf_putc(b, '.');
    gp_report_take_verdict(r, GP_TONE_PLAIN, b);
}

/* The step time of the device whose steps are the longest. */
static void summarize_steps(struct gp_report *r, const struct gp_hta *h, struct gp_buf *b)
{
    struct gp_step_spread s;
    if (!gp_hta_step_time(h, &s)) return;
    gp_buf_puts(b, "A step takes ");
    gp_step_time_put(b, s.step_ns, s.median_ns, s.used, true);
    if (s.used > 1)
        gp_buf_printf(b, "%s%s to %s", s.used > 2 ? ", " : "; ", GP_NS(s.fastest->b.span_ns),
                      GP_NS(s.slowest->b.span_ns));
    gp_buf_putc(b, ')');
    struct gp_recorder_added added = gp_hta_recorder_added(h, s.first);
    if (s.first->rank >= 0 && h->devices.n > 1)
        gp_buf_printf(b, " on rank %" PRId32 ", the slowest", s.first->rank);
    gp_recorder_added_put(b, &added);
    gp_buf_putc(b, '.');
    gp_report_take_verdict(r, GP_TONE_PLAIN, b);
}

/* Time outside of the steps, in one line. */
static void summarize_rest(struct gp_report *r, const struct gp_hta *h, struct gp_buf *b)
{
    static const char *const words[] = {"before them", "of warm-up", "", "after them"};
    struct gp_breakdown of[GP_PART_AFTER + 1] = {{0}}, rest = {0};
    int64_t devices = 0;
    GP_EACH(const struct gp_hta_part, p, h->parts) {
        gp_hta_add_breakdown(&of[p->kind], &p->b);
        devices += p->kind == GP_PART_STEPS;
        if (p->kind != GP_PART_STEPS) gp_hta_add_breakdown(&rest, &p->b);
    }
    if (!devices) return;
    gp_buf_puts(b, "Outside the steps:");
    bool any = false;
    for (int kind = GP_PART_START_UP; kind <= GP_PART_AFTER; kind++) {
        if (kind == GP_PART_STEPS || !of[kind].span_ns) continue;
        gp_buf_printf(b, "%s%s %s", any ? ", " : " ", GP_NS(of[kind].span_ns / devices), words[kind]);
        any = true;
    }
    gp_buf_printf(b, "%s; idle %s.", devices > 1 ? ", per GPU" : "", GP_SHARE(rest.idle_ns, rest.span_ns));
    gp_report_take_verdict(r, GP_TONE_PLAIN, b);
}

/* The rank that delays the others comes first. */
static void summarize_slow(struct gp_report *r, const struct gp_hta *h, struct gp_buf *b)
{
    for (size_t i = 0; i < h->slow.at.n && i < SLOW_MOST; i++) {
        gp_slow_put(b, &h->fleet, &h->slow.at.at[i]);
        gp_report_take_verdict(r, GP_TONE_BAD, b);
    }
    if (h->slow.at.n > SLOW_MOST) {
        gp_buf_printf(b, "%zu more ranks, nodes or kernels are slow.", h->slow.at.n - SLOW_MOST);
        gp_report_take_verdict(r, GP_TONE_BAD, b);
    }
    if (!h->slow.in_turn) return;
    gp_slow_put_in_turn(b, &h->slow);
    gp_report_take_verdict(r, GP_TONE_WARN, b);
}

static void summarize_straggler(struct gp_report *r, const struct gp_hta *h, bool whole, struct gp_buf *b)
{
    if (gp_hta_about(h, whole)->findings.n) return; /* it is one of them where it matters */
    if (h->stragglers.n < 2 || !h->stragglers.at[0].times_last || !h->stragglers.at[0].caused_wait_ns) return;
    const struct gp_straggler *s = &h->stragglers.at[0];
    if (s->times_last * h->stragglers.n <= s->matched) return; /* no more often than its share */
    if (!gp_hta_is_late(h, s)) return;
    gp_buf_printf(b, "Rank %" PRId32 " came last in ", s->rank);
    gp_buf_printf(b, "%s of %s collectives; the others waited %s for it.", GP_COUNTED(s->times_last),
                  GP_COUNTED(s->matched), GP_NS(s->caused_wait_ns));
    gp_hta_put_residual(b, h);
    gp_report_take_verdict(r, GP_TONE_WARN, b);
}

/* ---- several programs ---- */

/* The share of their computing time that A and B spend in the same kernels. */
static double alike(const struct gp_fleet_member *a, const struct gp_fleet_member *b)
{
    double sums[2] = {0, 0}, same = 0;
    for (size_t i = 0; i < a->kernels.n; i++) sums[0] += (double)a->kernels.at[i].step_ns;
    for (size_t i = 0; i < b->kernels.n; i++) sums[1] += (double)b->kernels.at[i].step_ns;
    if (sums[0] <= 0 || sums[1] <= 0) return 1;
    for (size_t i = 0; i < a->kernels.n; i++)
        for (size_t k = 0; k < b->kernels.n; k++) {
            if (a->kernels.at[i].name != b->kernels.at[k].name) continue;
            double x = (double)a->kernels.at[i].step_ns / sums[0];
            double y = (double)b->kernels.at[k].step_ns / sums[1];
            same += x < y ? x : y;
        }
    return same;
}

/* Files without ranks whose kernels have little in common are not a job. */
static void summarize_programs(struct gp_report *r, const struct gp_hta *h)
{
    enum { MOST = 64 };
    static const double LITTLE = 0.4;
    const struct gp_fleet_member *firsts[MOST];
    size_t n = 0;
    if (h->inputs.n < 2 || h->inputs.n > MOST) return;
    for (size_t i = 0; i < h->inputs.n; i++)
        if (h->inputs.at[i].rank >= 0) return;
    for (size_t i = 0; i < h->fleet.kept.n && n < MOST; i++) {
        size_t k = 0;
        while (k < n && alike(firsts[k], &h->fleet.kept.at[i]) < LITTLE) k++;
        if (k == n) firsts[n++] = &h->fleet.kept.at[i];
    }
    if (n > 1)
        gp_report_verdict(r, GP_TONE_WARN,
                          "These are %zu programs, whose kernels have little in common, and no ranks of one "
                          "job: figures are sums over all. Report on each by itself; compare two runs of one "
                          "with trace-diff.",
                          n);
}

void gp_hta_summary(struct gp_report *r, const struct gp_hta *h, bool whole)
{
    struct gp_buf b = {0};
    const struct gp_hta *about = gp_hta_about(h, whole);
    gp_hta_quality(r, h, false);
    if (!about->devices.n) {
        gp_report_verdict(r, GP_TONE_BAD, "There are no GPU events.");
    } else {
        struct gp_hta_totals all = gp_hta_totals(about);
        if (h->untimed) {
            summarize_untimed(r, h, &all, &b);
            gp_buf_release(&b);
            return;
        }
        summarize_programs(r, h);
        summarize_slow(r, h, &b);
        summarize_shares(r, about, whole && h->focus ? 0 : steps_in(h), &all, &b);
        if (all.devices > 1) summarize_spread(r, about, &b);
        summarize_idle(r, about, &all, &b);
        summarize_steps(r, h, &b);
        if (about != h) summarize_rest(r, h, &b);
        summarize_straggler(r, h, whole, &b);
    }
    gp_buf_release(&b);
}

/* ---- tables ---- */

struct gp_report_table *gp_hta_table(struct gp_hta_tables *m, const struct gp_record *rec, const void *rows,
                                     size_t n, size_t top)
{
    struct gp_row_of of = gp_hta_rows_of(m->h, 0);
    of.merged = m->merged;
    return gp_record_table(m->r, rec, rows, n, top, &of);
}
