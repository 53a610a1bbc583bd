#include "collect/inject/budget.h"

#include <string.h>

static const int64_t EVALUATE_NS = 1000000000; /* of recording before each decision */
static const int64_t WINDOW_NS = 250000000;    /* the shortest window, once it comes to those */
static const int64_t LONGEST_REST_NS = 60000000000;
static const int64_t PROBE_NS = 200000000, LONGEST_GAP_NS = 16000000000;
enum { ENOUGH = 2048, LEAST = 64, REST_OF_IT = GP_BUDGET_PARTS };

void gp_budget_init(struct gp_budget *b, uint32_t limit_ppm, uint32_t parts)
{
    memset(b, 0, sizeof *b);
    b->limit_ppm = limit_ppm ? limit_ppm : 1;
    b->parts = parts;
    b->launch_ns = GP_BUDGET_LAUNCH_NS;
    b->probe_gap_ns = EVALUATE_NS;
}

int64_t gp_budget_typical(const struct gp_budget_times *t)
{
    uint64_t left = t->n / 2, sum = 0;
    if (t->n < LEAST) return -1;
    for (unsigned i = 0; i < GP_BUDGET_BUCKETS && left; i++) {
        uint64_t n = t->bucket[i] < left ? t->bucket[i] : left;
        sum += n * (i * GP_BUDGET_BUCKET_NS + GP_BUDGET_BUCKET_NS / 2);
        left -= n;
    }
    return (int64_t)(sum / (t->n / 2));
}

static bool in_windows(const struct gp_budget *b) { return b->left_out & GP_BUDGET_WINDOWS; }

/* Launches are API calls as well. */
static bool has_rows(const struct gp_budget *b) { return b->parts & GP_BUDGET_CALLS & ~b->left_out; }

int64_t gp_budget_launch_ns(const struct gp_budget *b)
{
    return b->launch_ns + (has_rows(b) ? GP_BUDGET_NOTE_NS : 0);
}

static int64_t total(const struct gp_budget *b)
{
    int64_t sum = 0;
    for (unsigned i = 0; i <= REST_OF_IT; i++) sum += b->cost_ns[i];
    return sum;
}

static uint32_t ppm(int64_t part_ns, int64_t of_ns)
{
    double share = of_ns > 0 ? (double)part_ns / (double)of_ns * 1e6 : 0;
    return share < 1e9 ? (uint32_t)share : 1000000000;
}

static void begin(struct gp_budget *b, enum gp_budget_phase phase, int64_t now_ns, int64_t lasts_ns)
{
    b->phase = phase;
    b->since_ns = now_ns;
    b->due_ns = now_ns + lasts_ns;
    if (phase == GP_BUDGET_RECORD) memset(b->cost_ns, 0, sizeof b->cost_ns);
}

static void record(struct gp_budget *b, int64_t now_ns)
{
    begin(b, GP_BUDGET_RECORD, now_ns, in_windows(b) ? WINDOW_NS : EVALUATE_NS);
}

/* Leave out parts, in their order, until the cost of the last ELAPSED_NS is under the limit. */
static void step_down(struct gp_budget *b, int64_t elapsed_ns)
{
    int64_t cost_ns = total(b);
    uint32_t out = b->left_out;
    for (unsigned i = 0; i < REST_OF_IT && ppm(cost_ns, elapsed_ns) > b->limit_ppm; i++) {
        uint32_t part = 1u << i;
        bool saves = b->parts & part & ~out && b->cost_ns[i] > 0;
        if (part == GP_BUDGET_WINDOWS) out = GP_BUDGET_WINDOWS; /* with everything in them */
        if (!saves) continue;
        out |= part;
        cost_ns -= b->cost_ns[i];
    }
    b->left_out = out;
}

/* The pause after a window that has lasted ELAPSED_NS, so that both together keep to the limit. */
static int64_t rest_after(const struct gp_budget *b, int64_t elapsed_ns)
{
    double times = (double)b->share_ppm / (double)b->limit_ppm - 1;
    double rest_ns = times > 0 ? times * (double)elapsed_ns : 0;
    return rest_ns < (double)LONGEST_REST_NS ? (int64_t)rest_ns : LONGEST_REST_NS;
}

/* Between windows nothing is recorded anyway. */
static bool probe_is_due(const struct gp_budget *b, int64_t now_ns, const struct gp_budget_counts *c)
{
    return c->with->n >= ENOUGH && (in_windows(b) || now_ns >= b->probe_ns);
}

static void rest_or_record(struct gp_budget *b, int64_t now_ns)
{
    if (b->rest_ns > 0) begin(b, GP_BUDGET_REST, now_ns, b->rest_ns);
    else record(b, now_ns);
    b->rest_ns = 0;
}

static void recorded(struct gp_budget *b, int64_t now_ns, const struct gp_budget_counts *c)
{
    int64_t elapsed_ns = now_ns - b->since_ns;
    bool probe = probe_is_due(b, now_ns, c), due = now_ns >= b->due_ns;
    if (!due && (!probe || b->probed)) return;
    b->share_ppm = ppm(total(b), elapsed_ns);
    bool known = b->probed || c->with->n < ENOUGH;
    if (due && known && !in_windows(b)) step_down(b, elapsed_ns);
    b->rest_ns = in_windows(b) ? rest_after(b, elapsed_ns) : 0;
    if (probe) begin(b, GP_BUDGET_PROBE, now_ns, PROBE_NS);
    else rest_or_record(b, now_ns);
}

static int64_t median(const int64_t *value, unsigned n)
{
    int64_t sorted[GP_BUDGET_PROBES];
    for (unsigned i = 0; i < n; i++) {
        unsigned at = i;
        for (; at && sorted[at - 1] > value[i]; at--) sorted[at] = sorted[at - 1];
        sorted[at] = value[i];
    }
    return (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
}

/* A process with too few launches for a probe keeps its earlier result. */
static void probed(struct gp_budget *b, int64_t now_ns, const struct gp_budget_counts *c)
{
    if (c->without->n < ENOUGH && now_ns < b->due_ns) return;
    int64_t with_ns = gp_budget_typical(c->with), without_ns = gp_budget_typical(c->without);
    if (with_ns >= 0 && without_ns >= 0) {
        /* One probe differs from the next by more than a launch costs, since a program does not do the same
         * all the time and is not alone on its machine. */
        b->longer_ns[b->probes++ % GP_BUDGET_PROBES] = with_ns - without_ns;
        int64_t typical_ns =
            median(b->longer_ns, b->probes < GP_BUDGET_PROBES ? b->probes : GP_BUDGET_PROBES);
        b->measured = typical_ns > GP_BUDGET_LAUNCH_NS;
        b->launch_ns = b->measured ? typical_ns : GP_BUDGET_LAUNCH_NS;
    }
    b->probed = b->forget = true;
    b->probe_ns = now_ns + b->probe_gap_ns;
    if (b->probe_gap_ns < LONGEST_GAP_NS) b->probe_gap_ns *= 2;
    b->rest_ns -= now_ns - b->since_ns;
    rest_or_record(b, now_ns);
}

bool gp_budget_times_launches(const struct gp_budget *b, const struct gp_budget_times *with)
{
    return b->phase == GP_BUDGET_PROBE ||
           (b->phase == GP_BUDGET_RECORD && (in_windows(b) || with->n < ENOUGH));
}

void gp_budget_turn(struct gp_budget *b, int64_t now_ns, const struct gp_budget_counts *c)
{
    b->forget = false;
    if (!b->since_ns) record(b, now_ns);
    uint64_t calls = c->calls + (has_rows(b) ? c->launches : 0);
    b->cost_ns[0] += (int64_t)c->allocations * GP_BUDGET_ALLOCATION_NS;
    b->cost_ns[1] += (int64_t)c->waits * GP_BUDGET_NOTE_NS;
    b->cost_ns[2] += (int64_t)calls * GP_BUDGET_NOTE_NS;
    b->cost_ns[REST_OF_IT] += (int64_t)c->launches * b->launch_ns + (int64_t)c->nodes * GP_BUDGET_NODE_NS;
    if (b->phase == GP_BUDGET_RECORD) recorded(b, now_ns, c);
    else if (b->phase == GP_BUDGET_PROBE) probed(b, now_ns, c);
    else if (now_ns >= b->due_ns) record(b, now_ns);
}
