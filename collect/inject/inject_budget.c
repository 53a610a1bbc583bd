/* What recording costs this process: its threads count and time launches, and the flush thread weighs that
 * against --budget. */
#include "collect/inject/inject_budget.h"

#include <stdatomic.h>
#include "collect/inject/budget.h"
#include "collect/inject/inject.h"

static const int64_t TURN_NS = 100000000, PROBE_TURN_NS = 10000000;

/* How long launches took, by whether they were recorded. */
struct times {
    _Atomic uint32_t bucket[GP_BUDGET_BUCKETS];
};

static struct {
    _Atomic bool on;
    struct times times[2];
    _Atomic uint64_t counts[GP_INJECT_COSTS];
    /* flush thread only */
    struct gp_budget budget;
    struct gp_budget_times read[2];
    struct gp_inject_work work;
    bool timing;
    uint32_t reported;
    int64_t due_ns;
} self;

void gp_inject_budget_start(uint32_t limit_ppm, uint32_t parts)
{
    if (!limit_ppm) return;
    gp_budget_init(&self.budget, limit_ppm, parts);
    atomic_store(&self.on, true);
}

bool gp_inject_budget_is_on(void) { return atomic_load_explicit(&self.on, memory_order_relaxed); }

void gp_inject_budget_count(enum gp_inject_cost what)
{
    atomic_fetch_add_explicit(&self.counts[what], 1, memory_order_relaxed);
}

void gp_inject_budget_launch(bool recorded, int64_t ns)
{
    int64_t i = ns / GP_BUDGET_BUCKET_NS;
    atomic_fetch_add_explicit(&self.times[recorded].bucket[i < GP_BUDGET_BUCKETS ? i : GP_BUDGET_BUCKETS - 1],
                              1, memory_order_relaxed);
}

/* ---- the flush thread ---- */

static uint64_t take(enum gp_inject_cost what)
{
    return atomic_exchange_explicit(&self.counts[what], 0, memory_order_relaxed);
}

static const struct gp_budget_times *read_times(bool recorded)
{
    struct gp_budget_times *to = &self.read[recorded];
    to->n = 0;
    for (unsigned i = 0; i < GP_BUDGET_BUCKETS; i++) {
        to->bucket[i] = atomic_load_explicit(&self.times[recorded].bucket[i], memory_order_relaxed);
        to->n += to->bucket[i];
    }
    return to;
}

static void report(const struct gp_inject_budget_switches *to, int64_t now_ns)
{
    const struct gp_budget *b = &self.budget;
    struct gp_wire_budget w = {.at_ns = now_ns,
                               .left_out = b->left_out,
                               .share_ppm = b->share_ppm,
                               .launch_ns = gp_budget_launch_ns(b),
                               .measured = b->measured};
    to->send(GP_WIRE_BUDGET, &w, sizeof w);
    self.reported = b->left_out;
}

static void follow(const struct gp_inject_budget_switches *to, enum gp_budget_phase before, int64_t now_ns)
{
    const struct gp_budget *b = &self.budget;
    if (b->left_out != self.reported) {
        gp_debug("budget: %u ppm of the time, %lld ns per launch: leaving out %x", (unsigned)b->share_ppm,
                 (long long)gp_budget_launch_ns(b), (unsigned)b->left_out);
        to->leave_out(b->left_out);
        report(to, now_ns);
    }
    bool timing = gp_budget_times_launches(b, &self.read[true]);
    if (timing != self.timing) to->time_launches(self.timing = timing);
    if (b->phase != before) to->pause(b->phase != GP_BUDGET_RECORD);
}

int64_t gp_inject_budget_due(void) { return gp_inject_budget_is_on() ? self.due_ns : 0; }

void gp_inject_budget_turn(const struct gp_inject_budget_switches *to, int64_t now_ns,
                           const struct gp_inject_work *work)
{
    enum gp_budget_phase before = self.budget.phase;
    if (!gp_inject_budget_is_on() || now_ns < self.due_ns) return;
    struct gp_budget_counts c = {.launches = work->launches - self.work.launches,
                                 .nodes = work->nodes - self.work.nodes,
                                 .calls = take(GP_INJECT_CALL),
                                 .waits = take(GP_INJECT_WAIT),
                                 .allocations = take(GP_INJECT_ALLOCATION),
                                 .with = read_times(true),
                                 .without = read_times(false)};
    self.work = *work;
    gp_budget_turn(&self.budget, now_ns, &c);
    if (self.budget.forget) {
        gp_debug("budget: %lld ns from launch to launch recorded, %lld ns else (%llu, %llu launches)",
                 (long long)gp_budget_typical(c.with), (long long)gp_budget_typical(c.without),
                 (unsigned long long)c.with->n, (unsigned long long)c.without->n);
        for (unsigned i = 0; i < GP_BUDGET_BUCKETS; i++) {
            atomic_store(&self.times[false].bucket[i], 0);
            atomic_store(&self.times[true].bucket[i], 0);
        }
    }
    follow(to, before, now_ns);
    self.due_ns = now_ns + (self.budget.phase == GP_BUDGET_PROBE ? PROBE_TURN_NS : TURN_NS);
}

void gp_inject_budget_end(const struct gp_inject_budget_switches *to, int64_t now_ns)
{
    if (gp_inject_budget_is_on()) report(to, now_ns);
}
