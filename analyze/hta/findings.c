// The few things that matter, each with its time and where to look. A rule reads figures that are there
// already and decides whether they are worth a sentence; it never measures. Definitions:
// analyze/hta/README.md, "Findings".
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "analyze/hta/hta.h"
#include "analyze/hta/hta_priv.h"
#include "analyze/math/sums.h"
#include "analyze/names/name_predicates.h"
#include "formats/base/buf.h"
#include "formats/base/mem.h"
#include "formats/base/scale.h"
#include "formats/base/str.h"

/* ---- fields ---- */

#define AT(member) offsetof(struct gp_finding, member)

/* The label of a kernel, or another name. */
GP_GETTER(get_where)
{
    const struct gp_hta *h = x->of;
    gp_sid where = ((const struct gp_finding *)row)->where;
    bool kernel = false;
    for (size_t i = 0; i < h->kernels.n && x->labels && !kernel; i++) kernel = h->kernels.at[i].name == where;
    if (kernel) gp_member_kernel(c, f, row, x);
    else gp_member_name(c, f, row, x);
}

/* People read the parts of a finding below it. */
GP_GETTER_OF(get_text, struct gp_finding, r)
{
    gp_member_sid(c, f, r, x);
    if (!x->labels || !r->part_of) return;
    struct gp_buf b = {0};
    gp_finding_put_part(&b, x->of, r);
    gp_cell_shown(c, &b, x);
}

GP_GET_IF(get_place, struct gp_finding, r->end_ns > r->begin_ns, gp_member_i64(c, f, r, x))

static const struct gp_field fields[] = {
    {"id", "Id", GP_CELL_TEXT, gp_member_sid, AT(id), .help = "stable identifier of the finding",
     .flags = GP_COLUMN_WIDE, .after = "share_pct"},
    {"rank", "Rank", GP_CELL_ID, gp_member_rank, AT(rank), .help = "none: all", .flags = GP_FIELD_NULL,
     .after = "share_pct"},
    {"time_ns", "Time", GP_CELL_NS, gp_member_i64, AT(time_ns),
     .help = "GPU time affected, over all devices"},
    {"share_pct", "Share", GP_CELL_PCT, gp_member_double, AT(share_pct),
     .help = "of the span of the affected devices"},
    {"text", "Finding", GP_CELL_TEXT, get_text, AT(text), .help = "one sentence with the numbers"},
    {"where", "Where", GP_CELL_NAME, get_where, AT(where), .flags = GP_COLUMN_BELOW | GP_FIELD_NULL},
    {"part_of", "Part of", GP_CELL_TEXT, gp_member_name, AT(part_of),
     .help = "the finding above that explains this time, too: only findings without one may be added up",
     .flags = GP_COLUMN_WIDE | GP_FIELD_NULL},
    {"begin_ns", "Begin", GP_CELL_NS, get_place, AT(begin_ns),
     .help = "where it is seen best: the longest gap of a cause, the slow step",
     .flags = GP_COLUMN_WIDE | GP_FIELD_NULL | GP_FIELD_SIGNED},
    {"end_ns", "End", GP_CELL_NS, get_place, AT(end_ns),
     .flags = GP_COLUMN_WIDE | GP_FIELD_NULL | GP_FIELD_SIGNED},
};
#undef AT

const struct gp_record gp_hta_findings = {"findings", "What to look at first", GP_FIELDS(fields),
                                          sizeof(struct gp_finding), .note = "largest first"};

/* Who holds up the others. */
static bool is_slow(const struct gp_hta *h, const struct gp_finding *f)
{
    const char *id = gp_hta_str(h, f->id);
    return gp_starts(id, "slow_") && strcmp(id, "slow_step") != 0;
}

void gp_finding_put_part(struct gp_buf *b, const struct gp_hta *h, const struct gp_finding *f)
{
    const char *how = is_slow(h, f) ? "also" : f->longer ? "seen as" : "of which";
    gp_buf_printf(b, "%s: %s", how, gp_hta_str(h, f->brief ? f->brief : f->text));
}

/* ---- rules ---- */

/* What a finding is about: parts of the devices' time that no other bit is about. */
enum {
    ABOUT_IDLE = (1 << GP_IDLE_CAUSE_COUNT) - 1, /* a bit for each cause */
    ABOUT_COMPUTE = 1 << GP_IDLE_CAUSE_COUNT,
    ABOUT_COMMUNICATION = ABOUT_COMPUTE << 1,
    ABOUT_MEMORY = ABOUT_COMPUTE << 2
};

enum { SLOW_MOST = 4 }; /* that are findings; all are in the list */

/* Worth a sentence: this share of the devices' span, in percent. */
static const double WORTH_PCT = 2.0;

/* Sums over all devices, which every rule needs. */
struct whole {
    struct gp_hta *h;         /* whose findings these are, and of which the sums are */
    const struct gp_hta *all; /* with stragglers and steps */
    int64_t span_ns, busy_ns, idle_ns, kernel_ns, gemm_ns, tensor_core_ns, sm_span_ns;
    int64_t exposed_communication_ns, exposed_memory_ns, overlap_ns;
    int64_t idle_cause_ns[GP_IDLE_CAUSE_COUNT];
    double sm_ns;
    int32_t rank; /* of the only one, -1 when there are several */
};

static void add_times(struct whole *w, const struct gp_breakdown *b, const int64_t *idle_cause_ns)
{
    w->span_ns += b->span_ns;
    w->busy_ns += b->busy_ns;
    w->idle_ns += b->idle_ns;
    w->exposed_communication_ns += b->exposed_communication_ns;
    w->exposed_memory_ns += b->exposed_memory_ns;
    w->overlap_ns += b->overlap_ns;
    for (int c = 0; c < GP_IDLE_CAUSE_COUNT; c++) w->idle_cause_ns[c] += idle_cause_ns[c];
}

/* The devices that have no row. */
static void add_bound(struct whole *w, const struct gp_hta_bound *b)
{
    if (!b->devices) return;
    w->rank = -1;
    add_times(w, &b->b, b->idle_cause_ns);
    w->kernel_ns += b->kernel_ns;
    w->gemm_ns += b->gemm_ns;
    w->tensor_core_ns += b->tensor_core_ns;
    w->sm_ns += (double)b->sm_ns;
    w->sm_span_ns += b->sm_span_ns;
}

static struct whole sum_devices(struct gp_hta *h, const struct gp_hta *all)
{
    struct whole w = {.h = h, .all = all, .rank = h->devices.n ? h->devices.at[0].rank : -1};
    GP_EACH(const struct gp_hta_device, d, h->devices) {
        if (d->rank != w.rank) w.rank = -1;
        add_times(&w, &d->b, d->idle_cause_ns);
        w.kernel_ns += d->kernel_ns;
        w.gemm_ns += d->gemm_ns;
        w.tensor_core_ns += d->tensor_core_ns;
        /* Communication kernels are small by design: where they take much time, the average does not describe
         * the rest. */
        if (gp_sm_known(d) && d->b.exposed_communication_ns <= d->b.compute_ns / 4) {
            w.sm_ns += d->sm_ns;
            w.sm_span_ns += d->b.compute_ns + d->b.exposed_communication_ns;
        }
    }
    add_bound(&w, &h->bound);
    return w;
}

/* ---- sentences ---- */

bool gp_hta_only_processes(const struct gp_hta *h)
{
    for (size_t i = 1; i < h->devices.n; i++)
        if (h->devices.at[i].rank != h->devices.at[0].rank ||
            h->devices.at[i].device != h->devices.at[0].device)
            return false;
    return h->devices.n > 1;
}

/* A time of the devices and its share of theirs: "3 ms (5%)", "3 ms (5% of the time of 2 GPUs)". */
static void put_part(struct gp_buf *b, const struct whole *w, int64_t ns)
{
    size_t devices = w->h->devices.n + w->h->bound.devices;
    gp_buf_printf(b, "%s (%s", GP_NS(ns), GP_SHARE(ns, w->span_ns));
    if (devices > 1)
        gp_buf_printf(b, " of the time of %s %s", GP_COUNTED(devices),
                      gp_hta_only_processes(w->h) ? "processes" : "GPUs");
    gp_buf_putc(b, ')');
}

/* TEXT is taken and emptied. The finding may be changed until the next one is added. */
static struct gp_finding *add(struct whole *w, const char *id, uint32_t about, int64_t time_ns, gp_sid where,
                              struct gp_buf *text)
{
    struct gp_finding f = {
        .about = about,
        .id = gp_intern_cstr(&w->h->strings, id),
        .rank = w->rank,
        .time_ns = time_ns,
        .share_pct = gp_pct(time_ns, w->span_ns),
        .text = gp_intern(&w->h->strings, text->data, text->n),
        .where = where,
    };
    GP_VEC_PUSH(&w->h->findings, f);
    gp_buf_release(text);
    return &w->h->findings.at[w->h->findings.n - 1];
}

static bool worth(const struct whole *w, int64_t ns) { return ns > 0 && gp_pct(ns, w->span_ns) >= WORTH_PCT; }

/* ---- idle ---- */

static const struct gp_idle_culprit *largest_culprit(const struct whole *w, uint32_t cause,
                                                     bool (*less)(const struct gp_idle_culprit *,
                                                                  const struct gp_idle_culprit *))
{
    const struct gp_idle_culprit *largest = NULL;
    for (size_t i = 0; i < w->h->devices.n; i++)
        GP_EACH(const struct gp_idle_culprit, c, w->h->devices.at[i].culprits)
            if (c->cause == cause && (!largest || less(largest, c))) largest = c;
    return largest;
}

static bool has_shorter_gap(const struct gp_idle_culprit *a, const struct gp_idle_culprit *b)
{
    return a->longest_ns < b->longest_ns;
}

static bool is_named(const struct gp_idle_culprit *c) { return c->op || c->python || c->range || c->api; }

/* What nothing is recorded of leads nowhere. */
static bool is_less_specific(const struct gp_idle_culprit *a, const struct gp_idle_culprit *b)
{
    return is_named(a) == is_named(b) ? a->idle_ns < b->idle_ns : is_named(b);
}

/* "aten::item in forward", the operator and the range. */
static void put_culprit(struct gp_buf *b, const struct gp_hta *h, const struct gp_idle_culprit *c)
{
    gp_sid inner = c->op ? c->op : c->python ? c->python : c->api;
    if (inner) gp_buf_puts(b, gp_hta_str(h, inner));
    if (inner && c->range) gp_buf_puts(b, " in ");
    if (c->range) gp_buf_puts(b, gp_hta_str(h, c->range));
}

/* The host activity with most of the idle time of that cause. */
static gp_sid worst_culprit(struct whole *w, uint32_t cause)
{
    const struct gp_idle_culprit *worst = largest_culprit(w, cause, is_less_specific);
    if (!worst || !is_named(worst)) return 0;
    struct gp_buf b = {0};
    put_culprit(&b, w->h, worst);
    return gp_intern_buf(&w->h->strings, &b);
}

/* A gap that is at least a quarter of the time of its cause, with what the host did in it unless the line
 * below shows it. */
static void put_one_gap(struct gp_buf *text, const struct whole *w, uint32_t cause)
{
    const struct gp_idle_culprit *c = largest_culprit(w, cause, has_shorter_gap);
    if (!c || !c->longest_ns || c->longest_ns < w->idle_cause_ns[cause] / 4) return;
    bool all = c->longest_ns == w->idle_cause_ns[cause];
    gp_buf_printf(text, "; %s of it in one gap", all ? "all" : GP_NS(c->longest_ns));
    if (c == largest_culprit(w, cause, is_less_specific) && is_named(c)) return;
    gp_buf_puts(text, is_named(c) ? ", in " : " with no host activity recorded");
    if (is_named(c)) put_culprit(text, w->h, c);
}

/* ---- exposed time ---- */

static const struct gp_kernel_stat *largest_kernel(const struct gp_hta *h,
                                                   bool (*fits)(const struct gp_kernel_stat *))
{
    const struct gp_kernel_stat *largest = NULL;
    for (size_t i = 0; i < h->kernels.n; i++)
        if (fits(&h->kernels.at[i]) && (!largest || h->kernels.at[i].dur.sum > largest->dur.sum))
            largest = &h->kernels.at[i];
    return largest;
}

static bool is_communication(const struct gp_kernel_stat *k)
{
    return gp_class_of((enum gp_frame_kind)k->kind) == GP_CLASS_COMMUNICATION;
}

static bool is_memory(const struct gp_kernel_stat *k)
{
    return gp_class_of((enum gp_frame_kind)k->kind) == GP_CLASS_MEMORY;
}

static void find_exposed_communication(struct whole *w)
{
    if (!worth(w, w->exposed_communication_ns)) return;
    const struct gp_kernel_stat *k = largest_kernel(w->h, is_communication);
    struct gp_buf text = {0};
    gp_buf_puts(&text, "Communication not overlapped by computation took ");
    put_part(&text, w, w->exposed_communication_ns);
    gp_buf_printf(&text, "; %s of all communication was hidden.",
                  GP_SHARE(w->overlap_ns, w->overlap_ns + w->exposed_communication_ns));
    add(w, "exposed_communication", ABOUT_COMMUNICATION, w->exposed_communication_ns, k ? k->name : 0, &text);
}

static void find_exposed_memory(struct whole *w)
{
    if (!worth(w, w->exposed_memory_ns)) return;
    const struct gp_kernel_stat *k = largest_kernel(w->h, is_memory);
    int64_t pageable_ns = 0;
    for (size_t i = 0; i < w->h->copies.n; i++)
        if (w->h->copies.at[i].pageable) pageable_ns += w->h->copies.at[i].dur_ns;
    struct gp_buf text = {0};
    gp_buf_puts(&text, "Copies and sets not overlapped by kernels took ");
    put_part(&text, w, w->exposed_memory_ns);
    if (pageable_ns)
        gp_buf_printf(&text, "; copies from or to pageable memory took %s in all", GP_NS(pageable_ns));
    gp_buf_putc(&text, '.');
    add(w, "exposed_memory", ABOUT_MEMORY, w->exposed_memory_ns, k ? k->name : 0, &text);
}

/* ---- launches ---- */

/* Idle time between consecutive launches, without the few long gaps that have other reasons. */
static int64_t usual_gaps(const struct whole *w, int64_t *limit_ns)
{
    enum { USUAL_TIMES = 10 };
    struct gp_histogram all = {0};
    for (size_t i = 0; i < w->h->devices.n; i++) gp_histogram_merge(&all, &w->h->devices.at[i].gaps);
    gp_histogram_merge(&all, &w->h->bound.gaps);
    int64_t median = gp_histogram_quantile(&all, 0.5);
    *limit_ns = median < INT64_MAX / USUAL_TIMES ? USUAL_TIMES * median : INT64_MAX;
    int64_t sum = gp_histogram_sum_upto(&all, *limit_ns);
    gp_histogram_release(&all);
    return sum;
}

/* Short kernels matter where the GPU waits for launches: elsewhere they run as fast as they can. */
static void find_short_kernels(struct whole *w)
{
    const struct gp_hta_launches *l = &w->h->launches;
    int64_t limit_ns, waiting_ns = w->idle_cause_ns[GP_IDLE_HOST] + w->idle_cause_ns[GP_IDLE_LAUNCH];
    if (!l->linked || l->short_kernels * 2 < l->linked || gp_pct(waiting_ns, w->span_ns) < 10) return;
    int64_t gaps_ns = usual_gaps(w, &limit_ns);
    if (gaps_ns > waiting_ns) gaps_ns = waiting_ns;
    if (!worth(w, gaps_ns)) return;
    struct gp_buf text = {0};
    gp_buf_puts(&text, "The GPU waited for launches for ");
    put_part(&text, w, waiting_ns);
    if (gaps_ns < waiting_ns) gp_buf_printf(&text, ", %s of it", GP_NS(gaps_ns));
    gp_buf_printf(&text, "%s in gaps of up to %s: %s of %s GPU events are shorter than their launch call.",
                  gaps_ns < waiting_ns ? "" : ",", GP_NS(limit_ns), GP_COUNTED(l->short_kernels),
                  GP_COUNTED(l->linked));
    add(w, "short_kernels", 1U << GP_IDLE_HOST | 1U << GP_IDLE_LAUNCH, waiting_ns, 0, &text);
}

/* ---- how well kernels use the device ---- */

/* Time in which kernels ran that compute. */
static int64_t computing(const struct whole *w)
{
    return w->busy_ns - w->exposed_communication_ns - w->exposed_memory_ns;
}

static bool misses_tensor_cores(const struct gp_kernel_stat *k)
{
    return k->kind == GP_FRAME_GEMM && k->tensor_core == 0;
}

/* Kernel names of other vendors do not show whether they use matrix units. */
static bool is_hip(const struct gp_hta *h)
{
    for (size_t i = 0; i < h->api.n; i++)
        if (gp_call_is_hip(gp_hta_str(h, h->api.at[i].name))) return true;
    return false;
}

static void find_tensor_cores(struct whole *w)
{
    int64_t without_ns = w->gemm_ns > w->tensor_core_ns ? w->gemm_ns - w->tensor_core_ns : 0;
    if (without_ns > computing(w)) without_ns = computing(w); /* several streams */
    if (!worth(w, without_ns) || is_hip(w->h)) return;
    const struct gp_kernel_stat *k = largest_kernel(w->h, misses_tensor_cores);
    if (!k) return;
    struct gp_buf text = {0};
    gp_buf_puts(&text,
                "Matrix multiplications and convolutions whose names show no use of Tensor Cores took ");
    put_part(&text, w, without_ns);
    gp_buf_puts(&text, ".");
    add(w, "no_tensor_cores", ABOUT_COMPUTE, without_ns, k->name, &text);
}

static bool is_small_grid(const struct gp_kernel_stat *k)
{
    return k->occupancy_known_ns > 0 && k->waves_ns < k->occupancy_known_ns;
}

static void find_small_grids(struct whole *w)
{
    double unused = (double)w->sm_span_ns - w->sm_ns;
    if (unused <= 0 || unused * 2 < (double)w->sm_span_ns || !worth(w, (int64_t)unused)) return;
    if (unused > (double)computing(w)) unused = (double)computing(w);
    const struct gp_kernel_stat *k = largest_kernel(w->h, is_small_grid);
    struct gp_buf text = {0};
    gp_buf_printf(&text,
                  "While kernels ran, their blocks occupied only %s of the multiprocessors, averaged over "
                  "time.",
                  GP_SHARE((int64_t)w->sm_ns, w->sm_span_ns));
    add(w, "small_grids", ABOUT_COMPUTE, (int64_t)unused, k ? k->name : 0, &text);
}

/* ---- ranks and steps ---- */

/* Who holds up the others comes first, whatever else took more time. */
static void find_slow(struct whole *w)
{
    const struct gp_hta *all = w->all;
    struct gp_strings *strings = &w->h->strings;
    for (size_t i = 0; i < all->slow.at.n && i < SLOW_MOST; i++) {
        const struct gp_slow *s = &all->slow.at.at[i];
        struct gp_buf text = {0}, id = {0};
        gp_slow_put(&text, &all->fleet, s);
        gp_buf_printf(&id, "slow_%s", gp_slow_what_name(s->what));
        gp_sid where = s->kernel ? gp_intern_from(strings, &all->fleet.strings, s->kernel) : 0;
        add(w, gp_buf_str(&id), ABOUT_COMMUNICATION, gp_slow_cost_ns(&all->fleet, s), where, &text)->rank =
            s->key.rank;
        gp_buf_release(&id);
    }
    if (!all->slow.in_turn) return;
    struct gp_buf text = {0};
    gp_slow_put_in_turn(&text, &all->slow);
    add(w, "slow_in_turn", ABOUT_COMMUNICATION, 0, 0, &text)->rank = -1;
}

static bool is_reported_slow(const struct whole *w, int32_t rank)
{
    GP_EACH(const struct gp_slow, s, w->all->slow.at)
        if (s->what == GP_SLOW_RANK && s->key.rank == rank) return true;
    return false;
}

/* What the others lose while they wait for S: they only communicate for so much longer. What they compute
 * meanwhile hides the rest of the wait. */
static int64_t lost_for(const struct whole *w, const struct gp_straggler *s)
{
    const struct gp_hta *h = w->h;
    bool by_device = gp_hta_devices_are_ranks(h);
    int64_t own_ns = INT64_MAX, lost_ns = 0;
    GP_EACH(const struct gp_hta_device, d, h->devices) {
        bool is_its = (by_device ? d->device : d->rank) == s->rank;
        if (is_its && d->b.exposed_communication_ns < own_ns) own_ns = d->b.exposed_communication_ns;
    }
    if (own_ns == INT64_MAX || h->bound.devices) return s->caused_wait_ns; /* not all devices have rows */
    for (size_t i = 0; i < h->devices.n; i++) {
        int64_t more = h->devices.at[i].b.exposed_communication_ns - own_ns;
        if (more > 0) lost_ns = gp_add_saturated(lost_ns, more);
    }
    return lost_ns < s->caused_wait_ns ? lost_ns : s->caused_wait_ns;
}

static void find_straggler(struct whole *w)
{
    if (!w->all->stragglers.n) return;
    const struct gp_straggler *s = &w->all->stragglers.at[0];
    int64_t lost_ns = lost_for(w, s);
    if (s->times_last * 2 < s->matched || !worth(w, lost_ns) || is_reported_slow(w, s->rank)) return;
    if (!gp_hta_is_late(w->all, s)) return;
    struct gp_buf text = {0};
    gp_buf_printf(&text, "Rank %d came last in %s of %s collectives; the others waited %s for it in total",
                  (int)s->rank, GP_COUNTED(s->times_last), GP_COUNTED(s->matched), GP_NS(s->caused_wait_ns));
    if (lost_ns < s->caused_wait_ns) gp_buf_printf(&text, ", %s of it without computing", GP_NS(lost_ns));
    gp_buf_putc(&text, '.');
    gp_hta_put_residual(&text, w->all);
    add(w, "straggler", ABOUT_COMMUNICATION, lost_ns, 0, &text)->rank = s->rank;
}

static int64_t length(const struct gp_hta_step *s) { return s->end_ns - s->begin_ns; }

/* Which time of a slow step is more than that of the others: the longer part of it. */
static uint32_t about_slow_step(const struct whole *w, const struct gp_hta_step *s, int64_t longer_ns)
{
    if (s->b.idle_ns < s->b.busy_ns) return ABOUT_COMPUTE;
    int most = 0;
    for (int c = 1; c < GP_IDLE_CAUSE_COUNT; c++)
        if (w->idle_cause_ns[c] > w->idle_cause_ns[most]) most = c;
    return w->idle_cause_ns[most] >= longer_ns ? 1U << most : ABOUT_IDLE;
}

/* One step that is far longer than the others of its device. */
static void find_slow_step(struct whole *w, size_t first, size_t end)
{
    GP_VEC(int64_t) lengths = {0};
    const struct gp_hta_step *slowest = NULL;
    for (size_t i = first; i < end; i++) {
        const struct gp_hta_step *s = &w->all->steps.at[i];
        if (s->partial || s->warm_up) continue;
        GP_VEC_PUSH(&lengths, length(s));
        if (!slowest || length(s) > length(slowest)) slowest = s;
    }
    if (lengths.n >= 4) {
        qsort(lengths.at, lengths.n, sizeof *lengths.at, gp_order_i64);
        int64_t median = lengths.at[(lengths.n - 1) / 2], longer = length(slowest) - median;
        if (longer > median / 2 && worth(w, longer)) {
            struct gp_buf text = {0};
            gp_buf_printf(&text, "One step took %s; the median of %s steps is %s.", GP_NS(length(slowest)),
                          GP_COUNTED(lengths.n), GP_NS(median));
            gp_sid name = gp_intern_from(&w->h->strings, &w->all->strings, slowest->name);
            struct gp_finding *f =
                add(w, "slow_step", about_slow_step(w, slowest, longer), longer, name, &text);
            f->rank = slowest->rank;
            f->begin_ns = slowest->begin_ns;
            f->end_ns = slowest->end_ns;
        }
    }
    GP_VEC_FREE(&lengths);
}

/* The device whose clocks cost the most: a limit that nobody sees in the trace otherwise. */
static void find_clocks(struct whole *w)
{
    const struct gp_clock_stat *worst = NULL;
    for (size_t i = 0; i < w->all->clocks.n; i++)
        if (!worst || w->all->clocks.at[i].slower_ns > worst->slower_ns) worst = &w->all->clocks.at[i];
    if (!worst || !worth(w, worst->slower_ns)) return;
    struct gp_buf text = {0};
    bool known = worst->reason < GP_CLOCK_REASON_COUNT;
    gp_buf_printf(&text, "For %s of %s busy time %s %s",
                  GP_SHARE(worst->reason_ns[worst->reason], worst->busy_ns),
                  w->all->clocks.n > 1 ? "a GPU's" : "the GPU's",
                  known ? gp_clock_reason_text(worst->reason) : "the SM clock was",
                  known ? "held the SM clock at " : "");
    gp_scale_put_count(&text, (uint64_t)worst->low_mhz);
    if ((uint64_t)worst->high_mhz != (uint64_t)worst->low_mhz)
        gp_buf_printf(&text, " to %s", GP_COUNTED(worst->high_mhz));
    gp_buf_printf(&text, " MHz of %s: work bound by the clock takes up to %.2f times as long.",
                  GP_COUNTED(worst->boost_mhz), worst->boost_mhz / worst->low_mhz);
    int64_t most_ns = computing(w);
    add(w, "clock_low", ABOUT_COMPUTE, worst->slower_ns < most_ns ? worst->slower_ns : most_ns, 0, &text)
        ->rank = worst->at.rank;
}

/* ---- findings that explain the same time ---- */

/* Several findings about computing are parts of one. */
static void find_kernels(struct whole *w)
{
    size_t n = 0;
    for (size_t i = 0; i < w->h->findings.n; i++) n += w->h->findings.at[i].about == ABOUT_COMPUTE;
    if (n < 2) return;
    struct gp_buf text = {0};
    gp_buf_puts(&text, "Kernels computed for ");
    put_part(&text, w, computing(w));
    gp_buf_putc(&text, '.');
    add(w, "kernels", ABOUT_COMPUTE, computing(w), 0, &text);
}

/* Of findings about as much time, the one that was added last may have the others as parts. */
GP_COMPARE(parts_last, struct gp_finding, GP_DOWN(time_ns) GP_DOWN(about) GP_DOWN(id))

/* Order: who holds up the others first, from SLOW on, then by time; each with its parts behind it. A finding
 * is part of the first one that is about all of its time. */
static void join(struct gp_hta *h, size_t slow)
{
    size_t n = h->findings.n, done = 0;
    struct gp_finding *f = h->findings.at, *out = gp_alloc((n + 1) * sizeof *out);
    size_t *head = gp_alloc((n + 1) * sizeof *head);
    if (slow) qsort(f, slow, sizeof *f, parts_last);
    for (size_t i = slow; i < n; i++) out[done++] = f[i];
    if (slow) memcpy(out + done, f, slow * sizeof *out);
    for (size_t i = 0; i < n; i++) {
        head[i] = i;
        for (size_t k = 0; k < i && head[i] == i; k++)
            if (head[k] == k && (out[k].about & out[i].about) == out[i].about) head[i] = k;
        if (head[i] == i) continue;
        out[i].part_of = out[head[i]].id;
        out[i].longer = out[i].time_ns > out[head[i]].time_ns;
    }
    done = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t k = i; k < n && head[i] == i; k++)
            if (head[k] == i) f[done++] = out[k];
    free(out);
    free(head);
}

static void find_idle(struct whole *w, uint32_t cause)
{
    int64_t ns = w->idle_cause_ns[cause];
    if (!worth(w, ns)) return;
    struct gp_buf text = {0}, brief = {0}, id = {0};
    gp_buf_puts(&text, gp_hta_only_processes(w->h) ? "The GPU ran no work of its process for "
                       : w->h->devices.n > 1       ? "The GPUs were idle for "
                                                   : "The GPU was idle for ");
    put_part(&text, w, ns);
    gp_buf_puts(&text, ": ");
    gp_buf_puts(&brief, gp_idle_cause_text((enum gp_idle_cause)cause));
    put_one_gap(&brief, w, cause);
    gp_buf_putc(&brief, '.');
    gp_buf_put(&text, brief.data, brief.n);
    gp_buf_printf(&id, "idle_%s", gp_idle_cause_name((enum gp_idle_cause)cause));
    struct gp_finding *f = add(w, gp_buf_str(&id), 1U << cause, ns, worst_culprit(w, cause), &text);
    f->brief = gp_intern(&w->h->strings, brief.data, brief.n);
    const struct gp_idle_culprit *c = largest_culprit(w, cause, has_shorter_gap);
    if (c) {
        f->begin_ns = c->longest_at_ns;
        f->end_ns = c->longest_at_ns + c->longest_ns;
    }
    gp_buf_release(&brief);
    gp_buf_release(&id);
}

static void find_in(struct gp_hta *h, const struct gp_hta *all)
{
    struct whole w = sum_devices(h, all);
    for (uint32_t c = 0; c < GP_IDLE_CAUSE_COUNT; c++) find_idle(&w, c);
    find_exposed_communication(&w);
    find_exposed_memory(&w);
    find_short_kernels(&w);
    find_tensor_cores(&w);
    find_small_grids(&w);
    find_clocks(&w);
    find_straggler(&w);
    for (size_t i = 0, end; i < w.all->steps.n; i = end) {
        const struct gp_hta_step *s = w.all->steps.at;
        for (end = i + 1; end < w.all->steps.n && gp_hta_same_device(&s[end], &s[i]); end++) continue;
        find_slow_step(&w, i, end);
    }
    find_kernels(&w);
    size_t slow = h->findings.n;
    find_slow(&w);
    join(h, slow);
}

void gp_hta_finish_findings(struct gp_hta *h)
{
    find_in(h, h);
    if (h->focus) find_in(h->focus, h);
}
