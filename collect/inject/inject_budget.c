/* What recording costs this process: its threads count, its steps are timed, and the flush thread weighs that
 * against --budget. */
#include "collect/inject/inject_budget.h"

#include <stdatomic.h>
#include "collect/inject/budget.h"
#include "collect/inject/inject.h"
#include "collect/records/pace.h"

static const int64_t TURN_NS = 100000000;

static struct {
    _Atomic bool on;
    _Atomic uint64_t counts[GP_INJECT_COSTS];
    /* flush thread only */
    struct gp_budget budget;
    struct gp_pace_markers recorded, else_; /* steps */
    struct gp_inject_work work;
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

/* ---- the flush thread ---- */

static uint64_t take(enum gp_inject_cost what)
{
    return atomic_exchange_explicit(&self.counts[what], 0, memory_order_relaxed);
}

void gp_inject_budget_begins(int64_t tid, const char *name, int64_t ns, bool recording, uint64_t windows)
{
    if (gp_inject_budget_is_on())
        gp_pace_begins(recording ? &self.recorded : &self.else_, tid, name, ns, windows);
}

static void report(const struct gp_inject_budget_switches *to, int64_t now_ns)
{
    const struct gp_budget *b = &self.budget;
    struct gp_wire_budget w = {.at_ns = now_ns,
                               .left_out = b->left_out,
                               .share_ppm = b->share_ppm,
                               .launch_ns = b->launch_ns,
                               .measured = b->measured,
                               .stays_ppm = b->stays_ppm};
    to->send(GP_WIRE_BUDGET, &w, sizeof w);
    self.reported = b->left_out;
}

static void follow(const struct gp_inject_budget_switches *to, enum gp_budget_phase before, int64_t now_ns)
{
    const struct gp_budget *b = &self.budget;
    if (b->left_out != self.reported) {
        to->leave_out(b->left_out);
        report(to, now_ns);
    }
    if (b->phase == before) return;
    gp_debug("budget: %u ppm of the time so far, %lld ms for CUPTI to come and leave, %lld ns per launch%s",
             (unsigned)b->share_ppm, (long long)(b->moved_ns / 1000000), (long long)b->launch_ns,
             b->measured ? " by its steps" : "");
    if (b->phase == GP_BUDGET_OVER)
        gp_say("--budget: steps stay %.1f%% longer after a recording, so there is no other one",
               (double)b->stays_ppm / 1e4);
    to->pause(b->phase != GP_BUDGET_RECORD);
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
                                 .moved_ns = to->moved(),
                                 .step_with_ns = gp_pace_mean(&self.recorded, true),
                                 .step_rest_ns = gp_pace_mean(&self.else_, true),
                                 .step_stays_ns = gp_pace_median(&self.else_, true),
                                 .step_before_ns = gp_pace_median(&self.else_, false)};
    self.work = *work;
    gp_budget_turn(&self.budget, now_ns, &c);
    follow(to, before, now_ns);
    self.due_ns = now_ns + TURN_NS;
}

void gp_inject_budget_end(const struct gp_inject_budget_switches *to, int64_t now_ns)
{
    if (gp_inject_budget_is_on()) report(to, now_ns);
}
