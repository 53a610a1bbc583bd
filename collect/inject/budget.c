#include "collect/inject/budget.h"

#include <string.h>

static const int64_t EVALUATE_NS = 1000000000; /* of recording before each decision */
static const int64_t WINDOW_NS = 250000000;    /* the shortest window, once it comes to those, */
static const int64_t LONGEST_NS = 360000000;   /* and what turns make of it */
static const int64_t MOVES_NS = 40000000;      /* until it is known how long CUPTI takes to come and leave */
static const int64_t LATE_NS = 1000000000;     /* records that come so long after a recording are not of it */
/* COMPARED: steps without recording, once, to know what others cost */
enum { REST_OF_IT = GP_BUDGET_PARTS, COMPARED = 12 };

void gp_budget_init(struct gp_budget *b, uint32_t limit_ppm, uint32_t parts)
{
    memset(b, 0, sizeof *b);
    b->limit_ppm = limit_ppm ? limit_ppm : 1;
    b->parts = parts;
    b->launch_ns = GP_BUDGET_LAUNCH_NS;
}

static bool in_windows(const struct gp_budget *b) { return b->left_out & GP_BUDGET_WINDOWS; }

static int64_t total(const struct gp_budget *b)
{
    int64_t sum = 0;
    for (unsigned i = 0; i <= REST_OF_IT; i++) sum += b->cost_ns[i];
    return sum;
}

static uint32_t ppm(int64_t part_ns, int64_t of_ns)
{
    double share = of_ns > 0 && part_ns > 0 ? (double)part_ns / (double)of_ns * 1e6 : 0;
    return share < 1e9 ? (uint32_t)share : 1000000000;
}

/* Of the recording that runs, or of the last one: what steps show, where it is more than what was counted. */
static int64_t cost(const struct gp_budget *b)
{
    int64_t counted_ns = total(b);
    return b->shown_ns > counted_ns ? b->shown_ns : counted_ns;
}

static void record(struct gp_budget *b, int64_t now_ns)
{
    b->spent_ns += cost(b);
    if (!b->measured) b->assumed += b->launches;
    else if (b->shown_ns > total(b)) {
        b->spent_ns += b->assumed * (b->launch_ns - total(b) / b->launches);
        b->assumed = 0;
    }
    b->phase = GP_BUDGET_RECORD;
    b->since_ns = now_ns;
    b->due_ns = now_ns + (in_windows(b) ? WINDOW_NS : EVALUATE_NS);
    b->launches = b->shown_ns = 0;
    memset(b->cost_ns, 0, sizeof b->cost_ns);
}

/* Leave out parts, in their order, until the cost of the last recording is under the limit. */
static void step_down(struct gp_budget *b)
{
    int64_t cost_ns = cost(b);
    uint32_t out = b->left_out;
    for (unsigned i = 0; i < REST_OF_IT && ppm(cost_ns, b->recorded_ns) > b->limit_ppm; i++) {
        uint32_t part = 1u << i;
        bool saves = b->parts & part & ~out && b->cost_ns[i] > 0;
        if (part == GP_BUDGET_WINDOWS) out = GP_BUDGET_WINDOWS; /* with everything in them */
        if (!saves) continue;
        out |= part;
        cost_ns -= b->cost_ns[i];
    }
    b->left_out = out;
}

/* Records are counted when CUPTI hands them out, so the last ones of a recording after its end. */
static void believe_steps(struct gp_budget *b, const struct gp_budget_counts *c)
{
    int64_t bare_ns = c->step_rest_ns ? c->step_rest_ns : c->step_before_ns;
    b->measured = bare_ns && c->step_with_ns > bare_ns && b->launches;
    b->shown_ns = 0;
    if (!b->measured) return;
    b->shown_ns = (int64_t)((double)b->recorded_ns * (1 - (double)bare_ns / (double)c->step_with_ns));
    b->launch_ns = b->shown_ns / b->launches;
}

static void rest(struct gp_budget *b, int64_t now_ns)
{
    b->moves_ns = b->moved_ns ? b->moved_ns : MOVES_NS;
    b->phase = GP_BUDGET_REST;
    b->since_ns = now_ns;
    b->moved_ns = 0;
}

/* Nothing is recorded until what was spent, and another window, are under the limit. */
static bool is_rested(const struct gp_budget *b, int64_t now_ns)
{
    int64_t moves_ns = b->moves_ns > 2 * b->moved_ns ? b->moves_ns : 2 * b->moved_ns;
    double window_ns = (double)cost(b) / (double)b->recorded_ns * (double)LONGEST_NS;
    double needed_ns = ((double)(b->spent_ns + cost(b) + moves_ns) + window_ns) * 1e6 / (double)b->limit_ppm;
    return (double)(now_ns - b->begun_ns) >= needed_ns;
}

static uint32_t share_of_all(const struct gp_budget *b, int64_t now_ns)
{
    return ppm(b->spent_ns + cost(b), now_ns - b->begun_ns);
}

static void recorded(struct gp_budget *b, int64_t now_ns, const struct gp_budget_counts *c)
{
    if (now_ns < b->due_ns) return;
    b->recorded_ns = now_ns - b->since_ns;
    believe_steps(b, c);
    if (!in_windows(b)) {
        b->share_ppm = ppm(cost(b), b->recorded_ns);
        step_down(b);
    }
    bool compare = !b->compared && c->step_with_ns && !c->step_rest_ns && !c->step_before_ns;
    b->compared |= compare;
    b->due_ns = now_ns + COMPARED * c->step_with_ns;
    if (in_windows(b)) b->share_ppm = share_of_all(b, now_ns);
    if (in_windows(b) || compare) rest(b, now_ns);
    else record(b, now_ns);
}

/* Do steps stay longer than they were before CUPTI came? That is a cost as well, and nothing avoids it. CUPTI
 * 13.0 goes on recording the graphs of the first recording until another one has ended. */
static void rested(struct gp_budget *b, int64_t now_ns, const struct gp_budget_counts *c)
{
    believe_steps(b, c);
    if (c->step_before_ns && c->step_stays_ns)
        b->stays_ppm = ppm(c->step_stays_ns - c->step_before_ns, c->step_before_ns);
    bool goes_on = c->nodes && !b->graphs_ended && now_ns - b->since_ns > LATE_NS;
    b->graphs_ended |= goes_on;
    if (!goes_on && (in_windows(b) ? !is_rested(b, now_ns) : now_ns < b->due_ns)) return;
    if (in_windows(b)) b->share_ppm = share_of_all(b, now_ns);
    if (b->stays_ppm > b->limit_ppm) b->phase = GP_BUDGET_OVER;
    else record(b, now_ns);
}

void gp_budget_turn(struct gp_budget *b, int64_t now_ns, const struct gp_budget_counts *c)
{
    bool rows = b->parts & GP_BUDGET_CALLS & ~b->left_out; /* launches are API calls as well */
    if (!b->begun_ns) b->begun_ns = now_ns, record(b, now_ns);
    b->launches += (int64_t)c->launches;
    b->moved_ns += c->moved_ns;
    b->spent_ns += c->moved_ns;
    b->cost_ns[0] += (int64_t)c->allocations * GP_BUDGET_ALLOCATION_NS;
    b->cost_ns[1] += (int64_t)c->waits * GP_BUDGET_NOTE_NS;
    b->cost_ns[2] += (int64_t)(c->calls + (rows ? c->launches : 0)) * GP_BUDGET_NOTE_NS;
    b->cost_ns[REST_OF_IT] +=
        (int64_t)c->launches * GP_BUDGET_LAUNCH_NS + (int64_t)c->nodes * GP_BUDGET_NODE_NS;
    if (b->phase == GP_BUDGET_RECORD) recorded(b, now_ns, c);
    else if (b->phase == GP_BUDGET_REST) rested(b, now_ns, c);
}
