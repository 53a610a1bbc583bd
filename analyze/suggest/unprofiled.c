#include "analyze/suggest/unprofiled_priv.h"

#include <stdlib.h>
#include <string.h>
#include "analyze/math/sums.h"
#include "analyze/names/name_predicates.h"
#include "analyze/suggest/rules_priv.h"
#include "formats/base/mem.h"

enum {
    /* of the host's time may be an unknown recorder's, if the user measured the step */
    ANY_PCT = 90,
    TRIES = 12, /* of the part of the cost that fits a measured step */
    /* by which such a step may be off; where the GPU decides how long it is, it tells little of the host */
    FITS_PCT = 1,
};
static const double PART_MOST = 1.7; /* times the most that was measured elsewhere */

/* ---- events recorded before each call ---- */

/* Host time that belongs to a call: since the previous call, and its own unless that is waiting. */
static int64_t stretch_of(const struct gp_rule_ctx *c, uint32_t k)
{
    const struct gp_replay_call *call = &c->p->replay.calls.at[k];
    bool waits = c->p->calls.at[k].waited_for != GP_REPLAY_NONE;
    return c->calls[k].before_ns + (waits ? 0 : call->own_ns);
}

/* Is the row of the stacks of calls? Those are read when the calls are. */
static bool is_stack(const struct gp_rule_ctx *c, uint32_t row)
{
    gp_sid category = gp_get_cat(&c->t->events[GP_PYTHON], row);
    return category && gp_category_is_stack(gp_trace_str(c->t, category));
}

static void count_node(struct gp_recorder_events *n, const struct gp_rule_ctx *c,
                       const struct gp_host_event *e, uint32_t k)
{
    if (e->table == GP_OP) n->ops++;
    else if (e->table == GP_RANGE) n->ranges++;
    else if (e->table == GP_PYTHON) n->frames += !is_stack(c, e->row);
    else if (e->row == c->p->calls.at[k].row && c->p->replay.calls.at[k].n) n->launches++;
    else n->calls++;
}

/* The events on the call's thread that begin in its stretch. AT: by track, the next node; calls come in order
 * of time. */
static struct gp_recorder_events events_of(const struct gp_rule_ctx *c, uint32_t k, uint32_t *at)
{
    const struct gp_events *api = &c->t->events[GP_API];
    const struct gp_host_stack *hs = &c->v->hs;
    uint32_t row = c->p->calls.at[k].row, track = api->track[row], end = hs->end[track];
    int64_t since = api->start_ns[row] - c->calls[k].before_ns;
    struct gp_recorder_events n = {0};
    if (at[track] < hs->first[track]) at[track] = hs->first[track];
    while (at[track] < end && hs->nodes[at[track]].start_ns < since) at[track]++;
    for (; at[track] < end && hs->nodes[at[track]].start_ns <= api->start_ns[row]; at[track]++)
        count_node(&n, c, &hs->nodes[at[track]], k);
    return n;
}

/* The least and the most of each call's stretch that was the recorder's. */
static void find_costs(struct gp_unprofiled *b, const struct gp_rule_ctx *c, int64_t *least)
{
    uint32_t *at = gp_zalloc((c->t->tracks.n + 1) * sizeof *at);
    for (uint32_t k = 0; k < c->p->calls.n; k++) {
        int64_t ns = stretch_of(c, k);
        struct gp_recorder_events n = events_of(c, k, at);
        n.waits = k && c->p->calls.at[k - 1].waited_for != GP_REPLAY_NONE;
        least[k] = b->recorder ? gp_recorder_least_ns(b->recorder, &n, ns) : 0;
        b->cost_ns[k] = b->recorder ? gp_recorder_most_ns(b->recorder, &n, ns) : ns / 100 * ANY_PCT;
    }
    free(at);
}

/* ---- the models ---- */

static int64_t part_of(int64_t ns, double part) { return (int64_t)((double)ns * part); }

/* M becomes the plan without PART of COST, which is by call, with KEPT of the host's time that is left. */
static void take_out(struct gp_unprofiled_model *m, const struct gp_unprofiled *b,
                     const struct gp_rule_ctx *c, const int64_t *cost, double part, double kept)
{
    const struct gp_replay *r = &c->p->replay;
    for (uint32_t k = 0; k < r->calls.n; k++) {
        int64_t ns = stretch_of(c, k);
        double left = ns > 0 ? 1 - part * (double)cost[k] / (double)ns : 1;
        left = left < 0 ? 0 : left * kept;
        m->replay.calls.at[k] = r->calls.at[k];
        if (r->calls.at[k].before_ns > 0)
            m->replay.calls.at[k].before_ns = part_of(r->calls.at[k].before_ns, left);
        if (c->p->calls.at[k].waited_for == GP_REPLAY_NONE)
            m->replay.calls.at[k].own_ns = part_of(r->calls.at[k].own_ns, left);
        for (uint32_t i = r->calls.at[k].first + 1; i < r->calls.at[k].first + r->calls.at[k].n && m->items.n;
             i++) {
            int64_t gap = r->items.at[i].gap_ns - part_of(b->recorder->graph_kernel_ns, part < 1 ? part : 1);
            m->items.at[i].gap_ns = gap > 0 ? gap : 0;
        }
    }
    m->step_ns = gp_plan_step_of(c->p, &m->replay, NULL, 0);
}

static bool has_graphs(const struct gp_plan *p)
{
    for (size_t k = 0; k < p->calls.n; k++)
        if (p->replay.calls.at[k].n > 1) return true;
    return false;
}

static void begin_model(struct gp_unprofiled_model *m, const struct gp_unprofiled *b,
                        const struct gp_rule_ctx *c, bool graphs)
{
    const struct gp_replay *r = &c->p->replay;
    memset(m, 0, sizeof *m);
    m->replay = *r;
    m->replay.calls.at = gp_alloc((r->calls.n + 1) * sizeof *r->calls.at);
    memcpy(m->replay.calls.at, r->calls.at, r->calls.n * sizeof *r->calls.at);
    if (!graphs || !b->recorder) return;
    for (size_t i = 0; i < r->items.n; i++) GP_VEC_PUSH(&m->items, r->items.at[i]);
    m->replay.items.at = m->items.at;
}

/* M with the part of the cost with which a step takes UNPROFILED_NS. If the largest is too little, the host
 * was slower for other reasons as well: all of its time becomes shorter. */
static void fit(struct gp_unprofiled_model *m, const struct gp_unprofiled *b, const struct gp_rule_ctx *c,
                int64_t unprofiled_ns)
{
    double most = b->recorder ? PART_MOST : 1, low = 0, high = 1;
    take_out(m, b, c, b->cost_ns, most, 1);
    bool slower = m->step_ns > unprofiled_ns;
    for (int i = 0; i < TRIES; i++) {
        double middle = (low + high) / 2;
        take_out(m, b, c, b->cost_ns, slower ? most : middle * most, slower ? 1 - middle : 1);
        if (m->step_ns > unprofiled_ns) low = middle;
        else high = middle;
    }
}

/* How long a step takes when nobody records, as the recorder timed it; 0: it did not, or not these steps. */
static int64_t timed_step(const struct gp_rule_ctx *c, int64_t *other_ns)
{
    const struct gp_suggest_step *s = &c->s->step;
    uint32_t track = c->t->events[GP_API].track[c->p->calls.at[0].row];
    int64_t ns = s->found ? gp_recorder_pace_ns(c->t, c->t->tracks.at[track].process, s->busy_ns) : 0;
    *other_ns = ns;
    if (ns > s->step_ns) ns = s->step_ns; /* it cost nothing that can be seen */
    bool fits = gp_recorder_pace_fits(ns, s->step_ns, s->busy_ns);
    if (fits && *other_ns <= s->step_ns + s->step_ns / 20) *other_ns = 0;
    return fits ? ns : 0;
}

void gp_unprofiled_build(struct gp_unprofiled *b, const struct gp_rule_ctx *c, int64_t given_ns)
{
    size_t n = c->p->calls.n;
    int64_t *least = gp_zalloc((n + 1) * sizeof *least);
    bool graphs = has_graphs(c->p);
    memset(b, 0, sizeof *b);
    b->recorder = gp_recorder_of(c->t);
    b->cost_ns = gp_zalloc((n + 1) * sizeof *b->cost_ns);
    begin_model(&b->least, b, c, graphs);
    begin_model(&b->most, b, c, graphs);
    find_costs(b, c, least);
    b->same = !b->recorder;
    b->step_ns = given_ns > 0 ? given_ns : timed_step(c, &b->other_ns);
    if (b->step_ns > 0) {
        b->source = given_ns > 0 ? GP_UNPROFILED_GIVEN : GP_UNPROFILED_MEASURED;
        int64_t ns = b->step_ns + (c->replay_step_ns - c->s->step.step_ns), off = ns / 100 * FITS_PCT;
        fit(&b->least, b, c, ns + off);
        fit(&b->most, b, c, ns - off);
        b->same = false;
    } else if (b->recorder) {
        take_out(&b->least, b, c, least, 1, 1);
        take_out(&b->most, b, c, b->cost_ns, 1, 1);
    } else {
        b->most.step_ns = c->replay_step_ns;
    }
    if (b->same) b->least.step_ns = b->most.step_ns;
    free(least);
}

static void release_model(struct gp_unprofiled_model *m)
{
    free(m->replay.calls.at);
    GP_VEC_FREE(&m->items);
}

void gp_unprofiled_release(struct gp_unprofiled *b)
{
    release_model(&b->least);
    release_model(&b->most);
    free(b->cost_ns);
    memset(b, 0, sizeof *b);
}

/* ---- savings ---- */

/* NS of host time of call K in the plan, as much in a model where it has TO in place of FROM. */
static int64_t scaled(int64_t ns, int64_t from, int64_t to)
{
    return from > 0 && ns > 0 && to >= 0 ? part_of(ns, (double)to / (double)from) : ns;
}

static int64_t saved_in(const struct gp_unprofiled_model *m, const struct gp_rule_ctx *c,
                        const struct gp_edit *edits, size_t n, bool gaps, struct gp_edit *room)
{
    const struct gp_replay_call *was = c->p->replay.calls.at, *is = m->replay.calls.at;
    for (size_t i = 0; i < n; i++) {
        room[i] = edits[i];
        uint32_t k = edits[i].index;
        if (edits[i].kind == GP_EDIT_OWN) room[i].ns = scaled(edits[i].ns, was[k].own_ns, is[k].own_ns);
        if (edits[i].kind != GP_EDIT_BEFORE) continue;
        int64_t ns = edits[i].ns, held = gaps ? 0 : c->calls[k].held_ns;
        room[i].ns = scaled(ns > held ? ns : held, was[k].before_ns, is[k].before_ns);
    }
    int64_t less = m->step_ns - gp_plan_step_of(c->p, &m->replay, room, n);
    return less > 0 ? less : 0;
}

struct gp_unprofiled_saving gp_unprofiled_saved(const struct gp_unprofiled *b, const struct gp_rule_ctx *c,
                                                const struct gp_edit *edits, size_t n, bool gaps)
{
    struct gp_unprofiled_saving s = {0};
    if (!n) return s;
    struct gp_edit *room = gp_alloc(n * sizeof *room);
    int64_t x = saved_in(&b->most, c, edits, n, gaps, room),
            y = b->same ? x : saved_in(&b->least, c, edits, n, gaps, room);
    s.less_ns = x < y ? x : y;
    s.more_ns = x < y ? y : x;
    s.slow_ns = y;
    int64_t slower = b->least.step_ns - b->most.step_ns;
    s.fastest_after_ns = x + (b->recorder ? gp_part(slower, b->recorder->likely_pct, 100) : 0);
    free(room);
    return s;
}

/* ---- bounds of all edits ---- */

int64_t gp_unprofiled_ideal_ns(const struct gp_unprofiled *b, const struct gp_rule_ctx *c)
{
    GP_VEC(struct gp_edit) edits = {0};
    for (uint32_t k = 0; k < c->p->calls.n; k++) {
        GP_VEC_PUSH(&edits, ((struct gp_edit){GP_EDIT_BEFORE, k, 0}));
        GP_VEC_PUSH(&edits, ((struct gp_edit){GP_EDIT_OWN, k, 0}));
        GP_VEC_PUSH(&edits, ((struct gp_edit){GP_EDIT_NO_WAIT, k, 0}));
    }
    int64_t ns = gp_unprofiled_saved(b, c, edits.at, edits.n, false).more_ns;
    GP_VEC_FREE(&edits);
    return ns;
}

/* Effects of edits on an item. */
enum { CHANGED = 1, ASIDE = 2 };

static size_t mark_items(uint8_t *marks, const struct gp_edit *edits, size_t n)
{
    size_t any = 0;
    for (size_t i = 0; i < n; i++) {
        bool changed = edits[i].kind == GP_EDIT_DUR || edits[i].kind == GP_EDIT_GONE;
        if (!changed && edits[i].kind != GP_EDIT_ASIDE) continue;
        marks[edits[i].index] |= changed ? CHANGED : ASIDE;
        any++;
    }
    return any;
}

/* The longest of all streams and of the items set aside, without changed items. */
static int64_t longest_stream(const struct gp_rule_ctx *c, const uint8_t *marks)
{
    const struct gp_plan *p = c->p;
    size_t streams = c->v->streams.n;
    int64_t *sum = gp_zalloc((streams + 1) * sizeof *sum), most = 0;
    for (uint32_t i = 0; i < p->items.n; i++) {
        if (!gp_rule_is_here(c, i) || marks[i] & CHANGED) continue;
        int64_t *of = &sum[marks[i] & ASIDE ? streams : p->replay.items.at[i].stream];
        *of = gp_add_saturated(*of, gp_rule_dur(c, i));
        if (*of > most) most = *of;
    }
    free(sum);
    return most;
}

int64_t gp_unprofiled_least_ns(const struct gp_rule_ctx *c, const struct gp_suggestion *s)
{
    uint8_t *marks = gp_zalloc(c->p->items.n + 1);
    size_t any = mark_items(marks, s->high.at, s->high.n) + mark_items(marks, s->free.at, s->free.n);
    int64_t least = gp_rule_per_step(c, any ? longest_stream(c, marks) : c->busy_ns);
    free(marks);
    return least;
}
