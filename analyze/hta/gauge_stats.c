/* Clocks of each device while it was busy, and why they were low; its energy; and processes of others. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "analyze/hta/hta.h"
#include "analyze/hta/hta_priv.h"
#include "analyze/math/sums.h"
#include "analyze/view/gauges.h"

/* A clock this far below the highest one is below it: the steps of the clock are smaller. */
static const double BELOW = 0.99;

/* ---- fields ---- */

#define AT(member) offsetof(struct gp_clock_stat, member)

GP_GET_IF(get_reason, struct gp_clock_stat, r->below_ns, gp_cell_word(c, gp_clock_reason_name(r->reason), x))

static const char *const reason_words[] = {
#define X(bit, name, text) #name,
    GP_CLOCK_REASONS(X)
#undef X
        "unknown",
    NULL};

#define MHZ(id, heading, member, text)                                                                       \
    {                                                                                                        \
        id, heading, GP_CELL_REAL, gp_member_positive_double, AT(member),                                    \
            .help = text, .flags = GP_FIELD_NULL, .keep = GP_KEEP_DOUBLE                                     \
    }
static const struct gp_field clock_fields[] = {
    {"rank", "Rank", GP_CELL_ID, gp_member_rank, AT(at.rank), .flags = GP_FIELD_NULL, .keep = GP_KEEP_I32},
    {NULL, NULL, GP_CELL_ID, gp_member_u32, AT(at.producer), .keep = GP_KEEP_U32},
    {"device", "GPU", GP_CELL_ID, gp_member_device, AT(at.device), .flags = GP_FIELD_NULL,
     .keep = GP_KEEP_I64},
    {"busy_ns", "Busy", GP_CELL_NS, gp_member_i64, AT(busy_ns), .help = "busy time with a known SM clock",
     .keep = GP_KEEP_I64},
    MHZ("mean_mhz", "Mean MHz", mean_mhz, "mean SM clock while busy"),
    MHZ("p10_mhz", "10%", p10_mhz, "the clock is lower for 10% of the busy time"),
    MHZ("p50_mhz", "Median", p50_mhz, "the clock is lower for half of the busy time"),
    MHZ("p90_mhz", "90%", p90_mhz, "the clock is lower for 90% of the busy time"),
    MHZ("boost_mhz", "Highest", boost_mhz, "the highest SM clock of the GPU"),
    {"below_ns", "Below", GP_CELL_NS, gp_member_i64, AT(below_ns),
     .help = "busy time more than 1% below the highest clock; the sum of its reasons", .keep = GP_KEEP_I64},
    {"reason", "Mostly by", GP_CELL_TEXT, get_reason, AT(reason), .help = "that holds most of that time",
     .flags = GP_FIELD_NULL, .words = reason_words, .keep = GP_KEEP_U32, .below = GP_CLOCK_REASON_COUNT + 1},
    MHZ("low_mhz", NULL, low_mhz, "lowest clock by that reason, but for 5% of its time"),
    MHZ("high_mhz", NULL, high_mhz, "highest clock by that reason, but for 5% of its time"),
    {"slower_ns", "Slower by", GP_CELL_NS, gp_member_i64, AT(slower_ns),
     .help = "busy time that work bound by the SM clock would have saved at the highest clock",
     .keep = GP_KEEP_I64},
#define X(bit, name, text)                                                                                   \
    {                                                                                                        \
        #name "_ns",                                                                                         \
        NULL,                                                                                                \
        GP_CELL_NS,                                                                                          \
        gp_member_i64,                                                                                       \
        AT(reason_ns[GP_CLOCK_REASON_##name]),                                                               \
        .help = text,                                                                                        \
        .keep = GP_KEEP_I64},
    GP_CLOCK_REASONS(X)
#undef X
        {"unknown_ns", NULL, GP_CELL_NS, gp_member_i64, AT(reason_ns[GP_CLOCK_REASON_COUNT]),
         .help = "no reason recorded", .keep = GP_KEEP_I64},
};
#undef AT

#define AT(member) offsetof(struct gp_energy_stat, member)
static const char *const overs[] = {"whole", "steps", NULL};

/* Of each GPU's own items. */
GP_GETTER_OF(get_per_item, struct gp_energy_stat, s)
{
    uint64_t items = ((const struct gp_hta *)x->of)->opts.items;
    gp_cell_real(c, items && s->steps ? s->joules_per_step / (double)items : NAN);
}

#define REAL(id, heading, member, text)                                                                      \
    {                                                                                                        \
        id, heading, GP_CELL_REAL, gp_member_double, AT(member), .help = text, .flags = GP_FIELD_NULL,       \
                                                                 .keep = GP_KEEP_DOUBLE                      \
    }
static const struct gp_field energy_fields[] = {
    {"rank", "Rank", GP_CELL_ID, gp_member_rank, AT(at.rank), .flags = GP_FIELD_NULL, .keep = GP_KEEP_I32},
    {NULL, NULL, GP_CELL_ID, gp_member_u32, AT(at.producer), .keep = GP_KEEP_U32},
    {"device", "GPU", GP_CELL_ID, gp_member_device, AT(at.device), .flags = GP_FIELD_NULL,
     .keep = GP_KEEP_I64},
    {"over", "Over", GP_CELL_TEXT, gp_member_word, AT(over), .help = "the GPU's time, or its whole steps",
     .words = overs, .keep = GP_KEEP_U32, .below = 2},
    {"span_ns", "Time", GP_CELL_NS, gp_member_i64, AT(span_ns), .help = "covered", .keep = GP_KEEP_I64},
    REAL("joules", "Joules", joules, "energy of the GPU, by its counter"),
    REAL("error_j", "+-", error_j, "what the counter's resolution and update period leave open"),
    REAL("mean_w", "Mean W", mean_w, "mean power"),
    REAL("mean_error_w", NULL, mean_error_w, "of the mean power"),
    REAL("idle_pct", "Idle %", idle_pct, "share of the energy while the GPU ran nothing of the program"),
    {"steps", "Steps", GP_CELL_COUNT, gp_member_u64, AT(steps), .help = "that are covered",
     .keep = GP_KEEP_U64},
    REAL("joules_per_step", "J/step", joules_per_step, "mean of those steps"),
    {"joules_per_item", "J/item", GP_CELL_REAL, get_per_item, 0,
     .help = "joules_per_step / --items, the samples or tokens of a step", .flags = GP_FIELD_NULL},
    REAL("others_pct", "Others %", others_pct, "mean use of the GPU by processes of others"),
};
#undef AT

const struct gp_record gp_hta_clocks = {"clocks", "Clocks while busy", GP_FIELDS(clock_fields),
                                        sizeof(struct gp_clock_stat), .note = "SM clock of a GPU"};
const struct gp_record gp_hta_energy = {"energy", "Energy", GP_FIELDS(energy_fields),
                                        sizeof(struct gp_energy_stat), .note = "energy of a GPU"};

/* ---- clocks ---- */

struct piece {
    double mhz;
    int64_t ns;
    uint32_t reason; /* GP_CLOCK_REASON_COUNT + 1: at the highest clock */
};

typedef GP_VEC(struct piece) pieces;

static void add_piece(pieces *p, double mhz, uint32_t reason, int64_t ns)
{
    struct piece *last = p->n ? &p->at[p->n - 1] : NULL;
    if (last && last->mhz == mhz && last->reason == reason) last->ns = gp_add_saturated(last->ns, ns);
    else GP_VEC_PUSH(p, ((struct piece){mhz, ns, reason}));
}

/* Busy time as pieces with one clock and one reason. */
static void cut(pieces *p, const struct gp_gauge_gpu *gpu, const struct gp_intervals *busy)
{
    const struct gp_step_function *clock = &gpu->of[GP_GAUGE_SM_CLOCK], *why = &gpu->of[GP_GAUGE_REASONS];
    for (size_t i = 0; i < busy->v.n; i++) {
        int64_t at = busy->v.at[i].begin_ns, end = busy->v.at[i].end_ns;
        if (at < clock->first_ns) at = clock->first_ns;
        if (end > clock->last_ns) end = clock->last_ns;
        while (at < end) {
            size_t c = gp_step_at(clock, at), r = why->points.n ? gp_step_at(why, at) : 0;
            int64_t until = gp_step_until(clock, c, end);
            if (why->points.n) until = gp_step_until(why, r, until);
            double mhz = clock->points.at[c].value;
            bool known = why->points.n && at >= why->first_ns;
            uint32_t reason = gpu->boost_mhz > 0 && mhz < BELOW * gpu->boost_mhz
                                  ? gp_clock_reason(known ? why->points.at[r].value : 0)
                                  : GP_CLOCK_REASON_COUNT + 1;
            add_piece(p, mhz, reason, until - at);
            at = until;
        }
    }
}

GP_COMPARE(by_clock, struct piece, GP_UP(mhz))

/* The clock that the pieces of REASON (UINT32_MAX: all), sorted, are lower than for PART of their NS. */
static double quantile(const pieces *p, uint32_t reason, double part, int64_t ns)
{
    double sum = 0, mhz = 0;
    for (size_t i = 0; i < p->n && (!i || sum < part * (double)ns); i++) {
        if (reason != UINT32_MAX && p->at[i].reason != reason) continue;
        sum += (double)p->at[i].ns;
        mhz = p->at[i].mhz;
    }
    return mhz;
}

static void add_clocks(struct gp_hta *h, struct gp_hta_place at, const struct gp_gauge_gpu *gpu,
                       const struct gp_intervals *busy)
{
    pieces p = {0};
    struct gp_clock_stat s = {.at = at, .boost_mhz = gpu->boost_mhz, .reason = GP_CLOCK_REASON_COUNT};
    double cycles = 0, slower = 0;
    if (!gpu->of[GP_GAUGE_SM_CLOCK].points.n) return;
    cut(&p, gpu, busy);
    for (size_t i = 0; i < p.n; i++) {
        s.busy_ns += p.at[i].ns;
        cycles += p.at[i].mhz * (double)p.at[i].ns;
        if (p.at[i].reason > GP_CLOCK_REASON_COUNT) continue;
        s.below_ns += p.at[i].ns;
        s.reason_ns[p.at[i].reason] += p.at[i].ns;
        slower += (double)p.at[i].ns * (1 - p.at[i].mhz / gpu->boost_mhz);
    }
    if (p.n) qsort(p.at, p.n, sizeof *p.at, by_clock);
    s.mean_mhz = s.busy_ns ? cycles / (double)s.busy_ns : 0;
    s.p10_mhz = quantile(&p, UINT32_MAX, .1, s.busy_ns);
    s.p50_mhz = quantile(&p, UINT32_MAX, .5, s.busy_ns);
    s.p90_mhz = quantile(&p, UINT32_MAX, .9, s.busy_ns);
    for (uint32_t r = 0; r <= GP_CLOCK_REASON_COUNT; r++)
        if (s.reason_ns[r] > s.reason_ns[s.reason]) s.reason = r;
    s.low_mhz = quantile(&p, s.reason, .05, s.reason_ns[s.reason]);
    s.high_mhz = quantile(&p, s.reason, .95, s.reason_ns[s.reason]);
    s.slower_ns = (int64_t)slower;
    if (s.busy_ns) GP_VEC_PUSH(&h->clocks, s);
    GP_VEC_FREE(&p);
}

/* ---- energy ---- */

/* Energy between two times: the integral of the power, which is read often, on the scale of the counter,
 * which is exact and read rarely. */
struct energy {
    const struct gp_gauge_gpu *gpu;
    double scale; /* joules of the counter for one of the power's */
    bool counted;
};

static struct energy begin_energy(const struct gp_gauge_gpu *gpu)
{
    const struct gp_step_function *e = &gpu->of[GP_GAUGE_ENERGY];
    struct energy m = {gpu, 1, false};
    if (e->points.n < 2) return m;
    const struct gp_step_point *first = &e->points.at[0], *last = &e->points.at[e->points.n - 1];
    double integral = gp_step_area(&gpu->of[GP_GAUGE_POWER], first->at_ns, last->at_ns) / 1e9;
    m.counted = integral > 0 && last->value > first->value;
    if (m.counted) m.scale = (last->value - first->value) / integral;
    return m;
}

static double joules(const struct energy *m, int64_t begin_ns, int64_t end_ns)
{
    return m->scale * gp_step_area(&m->gpu->of[GP_GAUGE_POWER], begin_ns, end_ns) / 1e9;
}

static void put_energy(struct gp_hta *h, struct gp_energy_stat *s, const struct energy *m)
{
    double seconds = (double)s->span_ns / 1e9;
    if (!s->span_ns) return;
    s->mean_w = s->joules / seconds;
    s->error_j = m->counted && m->gpu->energy_period_ns
                     ? m->gpu->energy_step_j + s->mean_w * (double)m->gpu->energy_period_ns / 1e9
                     : NAN;
    s->mean_error_w = s->error_j / seconds;
    s->joules_per_step = s->steps ? s->joules / (double)s->steps : NAN;
    GP_VEC_PUSH(&h->energy, *s);
}

/* What of BUSY is between two times. */
static double busy_joules(const struct energy *m, const struct gp_intervals *busy, int64_t begin_ns,
                          int64_t end_ns)
{
    double sum = 0;
    for (size_t i = 0; i < busy->v.n; i++) {
        int64_t from = busy->v.at[i].begin_ns, to = busy->v.at[i].end_ns;
        if (to <= begin_ns || from >= end_ns) continue;
        sum += joules(m, from > begin_ns ? from : begin_ns, to < end_ns ? to : end_ns);
    }
    return sum;
}

static void add_over(struct gp_energy_stat *s, const struct energy *m, int64_t begin_ns, int64_t end_ns)
{
    s->span_ns += gp_step_covered(&m->gpu->of[GP_GAUGE_POWER], begin_ns, end_ns);
    s->joules += joules(m, begin_ns, end_ns);
}

static void add_energy(struct gp_hta *h, struct gp_hta_place at, const struct gp_gauge_gpu *gpu,
                       const struct gp_intervals *busy)
{
    struct energy m = begin_energy(gpu);
    int64_t begin_ns = busy->v.at[0].begin_ns, end_ns = busy->v.at[busy->v.n - 1].end_ns;
    int64_t first_ns = INT64_MAX, last_ns = INT64_MIN;
    struct gp_energy_stat whole = {.at = at, .over = 0}, steps = {.at = at, .over = 1};
    if (!gpu->of[GP_GAUGE_POWER].points.n) return;
    add_over(&whole, &m, begin_ns, end_ns);
    whole.idle_pct =
        whole.joules > 0 ? 100 - 100 * busy_joules(&m, busy, begin_ns, end_ns) / whole.joules : NAN;
    whole.others_pct = gp_step_mean(&gpu->of[GP_GAUGE_OTHERS], begin_ns, end_ns);
    GP_EACH(const struct gp_hta_step, step, h->steps) {
        if (step->device != at.device || step->producer != at.producer || step->partial || step->warm_up)
            continue;
        if (gp_step_covered(&gpu->of[GP_GAUGE_POWER], step->begin_ns, step->end_ns) !=
            step->end_ns - step->begin_ns)
            continue;
        add_over(&steps, &m, step->begin_ns, step->end_ns);
        steps.idle_pct += busy_joules(&m, busy, step->begin_ns, step->end_ns);
        steps.steps++;
        if (step->begin_ns < first_ns) first_ns = step->begin_ns;
        if (step->end_ns > last_ns) last_ns = step->end_ns;
    }
    steps.idle_pct = steps.joules > 0 ? 100 - 100 * steps.idle_pct / steps.joules : NAN;
    steps.others_pct = gp_step_mean(&gpu->of[GP_GAUGE_OTHERS], first_ns, last_ns);
    put_energy(h, &whole, &m);
    put_energy(h, &steps, &m);
}

/* After the steps. */
static void add_all(struct gp_hta *h, const struct gp_view *v)
{
    struct gp_gauges g;
    gp_gauges_find(&g, v);
    for (uint32_t i = 0; i < v->devices.n && g.gpus.n; i++) {
        const struct gp_view_device *d = &v->devices.at[i];
        const struct gp_gauge_gpu *gpu = gp_gauges_of(&g, i);
        struct gp_intervals busy = {0};
        struct gp_hta_place at = {d->rank, d->producer, d->device};
        if (gpu) gp_breakdown_busy(v, i, &busy);
        if (busy.v.n) {
            add_clocks(h, at, gpu, &busy);
            add_energy(h, at, gpu, &busy);
        }
        gp_intervals_release(&busy);
    }
    gp_gauges_release(&g);
}

/* ---- as a section ---- */

#define PLACE GP_UP(at.rank) GP_UP(at.producer) GP_UP(at.device)

GP_COMPARE_IN(compare_clocks, struct gp_clock_stat, void, PLACE GP_UP(busy_ns) GP_UP(mean_mhz))

GP_COMPARE_IN(compare_energy, struct gp_energy_stat, void, PLACE GP_UP(over) GP_UP(joules))

static const struct gp_hta_list lists[] = {
    {&gp_hta_clocks, offsetof(struct gp_hta, clocks), .kept = {SIZE_MAX, 0, sizeof(int32_t), 0},
     .order = compare_clocks},
    {&gp_hta_energy, offsetof(struct gp_hta, energy), .kept = {SIZE_MAX, 0, sizeof(int32_t), 0},
     .order = compare_energy},
};
const struct gp_hta_section gp_hta_gauges_section = {lists, GP_COUNT(lists), .add = add_all, .timed = true};
