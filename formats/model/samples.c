#include "formats/model/samples.h"

#include <stdlib.h>
#include "formats/base/buf.h"
#include "formats/base/hash.h"
#include "formats/base/map.h"
#include "formats/model/stack_tree.h"

static const int64_t USUAL_NS = 5000000, LEAST_NS = 100000, MOST_NS = 10000000000;

int64_t gp_samples_period(const struct gp_trace *t)
{
    const char *text = gp_trace_get_meta(t, GP_META_SAMPLE_PERIOD);
    if (!t->events[GP_SAMPLE].n) return 0;
    int64_t ns = text ? strtoll(text, NULL, 10) : 0;
    return ns >= LEAST_NS && ns <= MOST_NS ? ns : USUAL_NS;
}

/* ---- tracks ---- */

/* For each track the one of the same thread that another writer of the trace knows, or itself. Of several
 * the first. */
static uint32_t *join_tracks(const struct gp_trace *t)
{
    uint32_t *to = gp_alloc((t->tracks.n + 1) * sizeof *to);
    uint8_t *sampled = gp_zalloc(t->tracks.n + 1);
    struct gp_map threads = {0}; /* pid and tid -> track */
    const struct gp_events *e = &t->events[GP_SAMPLE];
    for (size_t i = 0; i < e->n; i++) sampled[e->track[i]] = 1;
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < t->tracks.n; i++) {
            const struct gp_track *k = &t->tracks.at[i];
            uint64_t key = (uint64_t)t->processes.at[k->process].pid << 32 ^ (uint64_t)k->tid;
            bool thread = k->kind == GP_TRACK_THREAD && !k->tid_text && !t->processes.at[k->process].pid_text;
            const uint32_t *known = thread ? gp_map_get(&threads, key) : NULL;
            if (!pass) to[i] = (uint32_t)i;
            if (!pass && thread && !sampled[i]) gp_map_put(&threads, key, (uint32_t)i);
            if (pass && known && sampled[i]) to[i] = *known;
        }
    gp_map_release(&threads);
    free(sampled);
    return to;
}

/* ---- what is known of a thread, in order of time ---- */

enum kind {
    CALL,   /* a call with its exact stack */
    WAITED, /* a call of another thread, for which this one waits in backward() */
    PUSH,   /* the begin of a range or an operator */
    MOMENT, /* one or more samples; the row is an index in moments */
    DARK,   /* a call whose stack was not recorded */
};

struct knot {
    uint32_t row, node; /* node of the stack */
    uint32_t kind : 3;  /* enum kind */
    uint32_t known : 1; /* the stack was read, and not concluded from those before and after */
    uint32_t exact : 1;
    uint32_t fresh : 1;  /* shares no frame with what was before */
    uint32_t is_op : 1;  /* PUSH: of an operator */
    uint32_t depth : 25; /* PUSH: how many frames are around the range */
};

struct moment {
    int64_t begin_ns, end_ns;
};

/* The rows of a table by track, each in order of time. */
struct by_track {
    uint32_t *first, *rows;
};

struct open_frame {
    uint32_t function, row; /* row in GP_PYTHON */
};

struct open_range {
    int64_t end_ns;
    uint32_t knot;
    uint32_t depth;
    bool empty; /* nothing is known in it */
};

struct expander {
    struct gp_trace *t;
    int64_t period_ns;
    gp_sid sampled, exact, native, running, garbage;
    struct gp_stack_tree tree;
    gp_sid *names; /* by function, 0: not named yet */
    /* by row of GP_SAMPLE: the end of the last sample up to it; NULL: they are of several processes */
    int64_t *sampled_until;
    struct by_track samples, calls, waited, ranges, ops;
    uint8_t *fresh; /* by row of GP_API, NULL: none has a waiter */
    GP_VEC(struct knot) knots;
    GP_VEC(struct moment) moments;
    /* drawing */
    uint32_t track, node, waiter;
    GP_VEC(struct open_frame) open; /* the frames of NODE, outermost first */
    size_t seen_exactly;            /* how many of them */
    GP_VEC(struct open_range) around;
    uint64_t room; /* for so many more rows */
};

static const struct gp_events *table_of(const struct expander *x, const struct knot *k)
{
    return &x->t->events[k->kind != PUSH ? GP_API : k->is_op ? GP_OP : GP_RANGE];
}

static int64_t begin_of(const struct expander *x, const struct knot *k)
{
    return k->kind == MOMENT ? x->moments.at[k->row].begin_ns : table_of(x, k)->start_ns[k->row];
}

static int64_t end_of(const struct expander *x, const struct knot *k)
{
    if (k->kind == MOMENT) return x->moments.at[k->row].end_ns;
    const struct gp_events *e = table_of(x, k);
    return e->start_ns[k->row] + (k->kind == PUSH ? 0 : e->dur_ns[k->row]);
}

static bool is_sane(const struct gp_events *e, size_t row)
{
    return gp_time_fits(e->start_ns[row]) && e->dur_ns[row] >= 0 && e->dur_ns[row] <= GP_DURATION_MOST;
}

static uint32_t stack_of(const struct expander *x, const struct gp_events *e, size_t row)
{
    uint32_t stack = gp_get_stack(e, row);
    return stack < x->t->stacks.n ? stack : 0;
}

static uint32_t waiter_of(const struct expander *x, size_t call)
{
    const struct gp_events *e = &x->t->events[GP_API];
    uint32_t waiter = gp_get_waiter(e, call);
    return waiter < x->t->tracks.n && waiter != e->track[call] && stack_of(x, e, call) ? waiter : UINT32_MAX;
}

/* Group the rows of a table by TRACK[row], UINT32_MAX: left out. The table is sorted. */
static struct by_track group(const struct expander *x, const struct gp_events *e, const uint32_t *track)
{
    size_t tracks = x->t->tracks.n;
    struct by_track g = {gp_zalloc((tracks + 2) * sizeof *g.first), NULL};
    for (size_t i = 0; i < e->n; i++)
        if (track[i] < tracks && is_sane(e, i)) g.first[track[i] + 2]++;
    for (size_t i = 0; i < tracks; i++) g.first[i + 2] += g.first[i + 1];
    g.rows = gp_alloc((g.first[tracks + 1] + 1) * sizeof *g.rows);
    for (size_t i = 0; i < e->n; i++)
        if (track[i] < tracks && is_sane(e, i)) g.rows[g.first[track[i] + 1]++] = (uint32_t)i;
    return g;
}

/* Calls of threads of autograd: those that start another backward pass than the call before, where the
 * thread that waits has called something in between. */
static void find_passes(struct expander *x)
{
    const struct gp_events *e = &x->t->events[GP_API];
    struct pass {
        uint32_t waiter, calls;
    } *last = gp_alloc((x->t->tracks.n + 1) * sizeof *last);
    uint32_t *calls = gp_zalloc((x->t->tracks.n + 1) * sizeof *calls), *waiter;
    for (size_t i = 0; i < x->t->tracks.n; i++) last[i] = (struct pass){UINT32_MAX, 0};
    x->fresh = gp_zalloc(e->n + 1);
    waiter = gp_alloc((e->n + 1) * sizeof *waiter);
    for (size_t i = 0; i < e->n; i++) {
        uint32_t track = e->track[i];
        waiter[i] = waiter_of(x, i);
        struct pass now = {waiter[i], waiter[i] == UINT32_MAX ? 0 : calls[waiter[i]]};
        x->fresh[i] = now.waiter != last[track].waiter || now.calls != last[track].calls;
        last[track] = now;
        if (waiter[i] == UINT32_MAX) calls[track]++;
    }
    x->waited = group(x, e, waiter);
    GP_RELEASE(free, waiter, calls, last);
}

static void add_knot(struct expander *x, struct knot k, int64_t *until_ns)
{
    int64_t end = end_of(x, &k);
    if (k.kind != PUSH && end <= *until_ns) return; /* within a call, or a call without duration */
    GP_VEC_PUSH(&x->knots, k);
    if (end > *until_ns) *until_ns = end;
}

static void add_call(struct expander *x, uint32_t row, bool waited, bool sampled, int64_t *until_ns)
{
    const struct gp_events *e = &x->t->events[GP_API];
    uint32_t stack = stack_of(x, e, row);
    if (!stack && !sampled) return; /* the frames of those before and after are drawn through it */
    struct knot k = {.row = row, .kind = waited ? WAITED : stack ? CALL : DARK};
    k.known = k.exact = stack != 0;
    k.node = waited ? x->tree.waiting[stack] : x->tree.node_of[stack];
    k.fresh = !waited && x->fresh && x->fresh[row];
    add_knot(x, k, until_ns);
}

static void add_range(struct expander *x, uint32_t row, bool is_op, int64_t *until_ns)
{
    const struct gp_events *e = &x->t->events[is_op ? GP_OP : GP_RANGE];
    uint32_t stack = stack_of(x, e, row);
    if (e->dur_ns[row] <= 0) return;
    struct knot k = {.row = row, .kind = PUSH, .is_op = is_op, .node = x->tree.node_of[stack]};
    k.known = k.exact = stack != 0;
    add_knot(x, k, until_ns);
}

/* What the thread does in samples ROW. Of the first samples of a stack the sampler did not ask, so the run
 * after them decides; NEXT is that run, of the same thread. */
static gp_sid does_in(const struct expander *x, uint32_t row, const uint32_t *next)
{
    const struct gp_events *e = &x->t->events[GP_SAMPLE];
    bool asked = e->name[row] != x->running || gp_get_total(e, row) >= GP_SAMPLE_STILL;
    if (asked || !next || e->name[*next] == x->garbage) return e->name[row]; /* garbage is known at once */
    if (gp_sample_stack(e, row) != gp_sample_stack(e, *next)) return e->name[row];
    int64_t end = e->start_ns[row] + e->dur_ns[row];
    return e->start_ns[*next] - end <= GP_SAMPLE_GAP * x->period_ns ? e->name[*next] : e->name[row];
}

/* Where the samples of a track have come to. */
struct run {
    const uint32_t *at, *end;
    int64_t start_ns, dur_ns, step_ns; /* of the row at hand: equal samples, a step apart */
    uint32_t node;
    bool begun, fresh; /* there was a row before; since then the thread ran no Python */
};

/* Were other threads sampled between two samples of this one at FROM and TO? Then it ran no Python there. */
static bool was_absent(const struct expander *x, int64_t from_ns, int64_t to_ns)
{
    const struct gp_events *e = &x->t->events[GP_SAMPLE];
    int64_t since = from_ns + x->period_ns / 4 * 3, until = to_ns - x->period_ns / 4 * 3;
    if (!x->sampled_until || until <= since) return false;
    size_t lo = gp_events_from(e, until);
    return lo && x->sampled_until[lo - 1] > since;
}

static void load_run(struct expander *x, struct run *r)
{
    const struct gp_events *e = &x->t->events[GP_SAMPLE];
    if (r->at == r->end) return;
    r->fresh = r->begun && was_absent(x, r->start_ns + r->dur_ns, e->start_ns[*r->at]);
    r->begun = true;
    uint32_t row = *r->at, stack = gp_sample_stack(e, row) < x->t->stacks.n ? gp_sample_stack(e, row) : 0;
    int64_t total = gp_get_total(e, row);
    gp_sid does = does_in(x, row, r->at + 1 < r->end ? r->at + 1 : NULL);
    r->start_ns = e->start_ns[row];
    r->dur_ns = e->dur_ns[row];
    r->step_ns = total > 0 && r->dur_ns / total > 0 ? r->dur_ns / total : r->dur_ns > 0 ? r->dur_ns : 1;
    r->node = x->tree.node_of[stack];
    if (r->node && does && does != x->running && !(does & GP_STACK_STATE))
        r->node = gp_stack_tree_state(&x->tree, r->node, does);
}

/* The first sample of the run that is not before AT; past its end if there is none. */
static int64_t sample_from(const struct run *r, int64_t at_ns)
{
    if (at_ns <= r->start_ns) return r->start_ns;
    return r->start_ns + (at_ns - r->start_ns + r->step_ns - 1) / r->step_ns * r->step_ns;
}

/* The samples before LIMIT and not before UNTIL, which the last call ended at. Of a call whose stack was
 * not recorded, the first sample in it is its stack, and those in calls are not knots themselves. */
static void add_samples(struct expander *x, struct run *r, int64_t limit_ns, int64_t *until_ns)
{
    while (r->at < r->end && r->start_ns < limit_ns) {
        struct knot *last = x->knots.n ? &x->knots.at[x->knots.n - 1] : NULL;
        int64_t end = r->start_ns + r->dur_ns;
        if (last && last->kind == DARK && !last->known && r->start_ns < *until_ns &&
            sample_from(r, begin_of(x, last)) <= end) {
            last->known = 1;
            last->fresh = r->fresh;
            last->node = r->node;
            r->fresh = false;
            while (x->tree.nodes.at[last->node].function & GP_STACK_STATE)
                last->node = x->tree.nodes.at[last->node].parent;
        }
        int64_t from = sample_from(r, *until_ns), to = end;
        if (to >= limit_ns) to = limit_ns - 1;
        if (from <= to) {
            to = from + (to - from) / r->step_ns * r->step_ns;
            GP_VEC_PUSH(&x->moments, ((struct moment){from, to}));
            struct knot k = {.row = (uint32_t)x->moments.n - 1, .node = r->node, .kind = MOMENT, .known = 1};
            k.fresh = r->fresh;
            r->fresh = false;
            GP_VEC_PUSH(&x->knots, k);
            if (to + 1 > *until_ns) *until_ns = to + 1;
        }
        if (end >= limit_ns) return; /* the rest of it comes after the next call */
        r->at++;
        load_run(x, r);
    }
}

/* ---- what is not known follows from its neighbours ---- */

static uint32_t without_state(const struct gp_stack_tree *tree, uint32_t node)
{
    while (tree->nodes.at[node].function & GP_STACK_STATE) node = tree->nodes.at[node].parent;
    return node;
}

static uint32_t depth_of(const struct expander *x, uint32_t node) { return x->tree.nodes.at[node].depth; }

static uint32_t common(const struct expander *x, const struct knot *a, const struct knot *b)
{
    return b->fresh ? 0 : gp_stack_tree_common(&x->tree, a->node, b->node);
}

/* Knots [FROM, TO) lie between BEFORE, NULL if there is none, and the one at TO, which are known: they have
 * what both have. An operator has all of the first call in it. */
static void conclude_between(struct expander *x, size_t from, size_t to, const struct knot *before)
{
    struct knot *next = &x->knots.at[to];
    uint32_t both = 0;
    if (before && from < to)
        both = without_state(&x->tree, gp_stack_tree_up(&x->tree, before->node, common(x, before, next)));
    for (size_t i = from; i < to; i++) {
        struct knot *k = &x->knots.at[i];
        const struct gp_events *e = table_of(x, k);
        bool holds = k->kind == PUSH && k->is_op && next->exact &&
                     begin_of(x, next) < e->start_ns[k->row] + e->dur_ns[k->row];
        k->node = holds ? next->node : both;
        if (holds && next->fresh) k->fresh = 1, next->fresh = 0;
    }
}

/* Returns whether anything is exact. */
static bool conclude(struct expander *x)
{
    bool exact = false;
    size_t from = 0;
    for (size_t i = 0; i < x->knots.n; i++) {
        if (!x->knots.at[i].known) continue;
        conclude_between(x, from, i, from ? &x->knots.at[from - 1] : NULL);
        exact |= x->knots.at[i].exact;
        from = i + 1;
    }
    return exact;
}

/* ---- how many frames are around a range: those that all has in common that is known from its begin to its
 * end ---- */

static void leave_range(struct expander *x, bool before_next, uint32_t shared)
{
    struct open_range r = x->around.at[--x->around.n];
    struct open_range *up = x->around.n ? &x->around.at[x->around.n - 1] : NULL;
    if (r.empty && before_next && shared < r.depth) r.depth = shared;
    if (up && up->depth > r.depth && r.empty) r.depth = up->depth;
    if (up && !r.empty && r.depth < up->depth) up->depth = r.depth;
    x->knots.at[r.knot].depth = r.depth;
}

static void enter_range(struct expander *x, size_t knot, uint32_t depth)
{
    const struct knot *k = &x->knots.at[knot];
    const struct gp_events *e = table_of(x, k);
    int64_t end = e->start_ns[k->row] + e->dur_ns[k->row];
    const struct open_range *up = x->around.n ? &x->around.at[x->around.n - 1] : NULL;
    if (up && up->end_ns < end) end = up->end_ns; /* the two cross */
    if (up && depth < up->depth) depth = up->depth;
    GP_VEC_PUSH(&x->around, ((struct open_range){end, (uint32_t)knot, depth, true}));
}

/* A name without its digits: "step 3" is opened by the code that opens "step 4". */
static uint64_t hash_of_name(const struct gp_trace *t, gp_sid name)
{
    const char *text = gp_trace_str(t, name);
    struct gp_buf b = {0};
    for (size_t i = 0; text[i]; i++)
        if (text[i] < '0' || text[i] > '9') gp_buf_putc(&b, text[i]);
    uint64_t hash = gp_hash_bytes(gp_buf_str(&b), b.n);
    gp_buf_release(&b);
    return hash;
}

/* Ranges of one name whose stacks were not recorded are opened by the same code: at the least of the depths
 * that samples allow. */
static void level_ranges(struct expander *x)
{
    struct gp_map least = {0};
    for (int pass = 0; pass < 2; pass++)
        GP_EACH(struct knot, k, x->knots) {
            if (k->kind != PUSH || k->known || !k->node) continue;
            uint32_t *known = gp_map_put(&least, hash_of_name(x->t, table_of(x, k)->name[k->row]), k->depth);
            if (k->depth < *known) *known = k->depth;
            else if (pass) k->depth = *known;
        }
    gp_map_release(&least);
}

static void measure_ranges(struct expander *x, bool exact)
{
    const struct knot *last = NULL;
    uint32_t shared = 0;
    for (size_t i = 0; i < x->knots.n; i++) {
        const struct knot *k = &x->knots.at[i];
        if ((exact && k->kind == MOMENT) || (k->kind == DARK && !k->known && !k->node)) continue;
        shared = last ? common(x, last, k) : 0;
        while (x->around.n && x->around.at[x->around.n - 1].end_ns <= begin_of(x, k))
            leave_range(x, true, shared);
        if (x->around.n) {
            struct open_range *r = &x->around.at[x->around.n - 1];
            r->empty = false;
            if (shared < r->depth) r->depth = shared;
        }
        if (k->kind == PUSH) enter_range(x, i, depth_of(x, k->node));
        last = k;
    }
    while (x->around.n) leave_range(x, false, shared);
    level_ranges(x);
}

/* ---- rows ---- */

static gp_sid frame_name(struct expander *x, uint32_t function)
{
    if (function & GP_STACK_STATE) return function & ~GP_STACK_STATE;
    if (x->names[function]) return x->names[function];
    struct gp_buf b = {0};
    gp_stack_tree_name(&x->tree, function, &b);
    x->names[function] = gp_trace_intern(x->t, gp_buf_str(&b), b.n);
    gp_buf_release(&b);
    return x->names[function];
}

static bool is_native(const struct expander *x, uint32_t function)
{
    return !(function & GP_STACK_STATE) && x->t->stacks.at[x->tree.functions.at[function].stack].symbol;
}

/* The frames deeper than DEPTH end. Those that have no duration go: they are the last rows. */
static void close_to(struct expander *x, size_t depth, int64_t at_ns)
{
    struct gp_events *e = &x->t->events[GP_PYTHON];
    while (x->open.n > depth) {
        struct open_frame f = x->open.at[--x->open.n];
        if (f.row == UINT32_MAX) continue;
        if (at_ns <= e->start_ns[f.row]) {
            e->n = f.row;
            x->room++;
            continue;
        }
        e->dur_ns[f.row] = at_ns - e->start_ns[f.row];
        bool exact = x->open.n < x->seen_exactly;
        gp_set_cat(e, f.row, !exact ? x->sampled : is_native(x, f.function) ? x->native : x->exact);
    }
    if (x->seen_exactly > depth) x->seen_exactly = depth;
    x->node = gp_stack_tree_up(&x->tree, x->node, (uint32_t)depth);
}

/* From AT on the thread has the stack NODE. */
static void change_to(struct expander *x, uint32_t node, int64_t at_ns)
{
    size_t same = gp_stack_tree_common(&x->tree, x->node, node), n = depth_of(x, node);
    close_to(x, same, at_ns);
    GP_VEC_RESERVE(&x->open, n);
    x->open.n = n;
    x->node = node;
    for (size_t i = n; i-- > same; node = x->tree.nodes.at[node].parent)
        x->open.at[i].function = x->tree.nodes.at[node].function;
    for (size_t i = same; i < n; i++) {
        struct open_frame *f = &x->open.at[i];
        f->row = UINT32_MAX;
        if (!x->room) continue;
        x->room--;
        struct gp_events *e = &x->t->events[GP_PYTHON];
        f->row = (uint32_t)gp_events_add(e, at_ns, 0, x->track, frame_name(x, f->function));
        if (!i) gp_set_waiter(e, f->row, x->waiter);
    }
}

/* The same where a range with DEPTH frames around it begins or ends: no other frame crosses its border. */
static void cut_to(struct expander *x, size_t depth, uint32_t node, int64_t at_ns)
{
    size_t exact = x->seen_exactly, same = gp_stack_tree_common(&x->tree, x->node, node);
    close_to(x, depth, at_ns);
    change_to(x, node, at_ns);
    if (exact > same) exact = same;
    if (exact > x->seen_exactly) x->seen_exactly = exact;
}

/* The time between two knots. */
struct gap {
    int64_t from_ns, to_ns;
    uint32_t before, shared;        /* stack of the first, frames that both have */
    uint32_t left, right;           /* samples around it, whose other frames are drawn, */
    int64_t left_until, right_from; /* but not between these; 0: there is none */
};

static uint32_t depth_around(const struct expander *x)
{
    return x->around.n ? x->around.at[x->around.n - 1].depth : 0;
}

/* The stack from AT on. */
static uint32_t stack_in(const struct expander *x, const struct gap *g, int64_t at_ns)
{
    uint32_t around = depth_around(x), depth = around > g->shared ? around : g->shared;
    uint32_t node = gp_stack_tree_up(&x->tree, g->before, depth);
    uint32_t more = g->left && at_ns < g->left_until ? g->left : 0;
    if (!more && g->right && at_ns >= g->right_from) more = g->right;
    return more && gp_stack_tree_common(&x->tree, more, node) >= depth_of(x, node) ? more : node;
}

/* Leave the ranges that have ended by AT. Returns the least number of frames around one of them, SIZE_MAX
 * if there is none. */
static size_t leave_ended(struct expander *x, int64_t at_ns)
{
    size_t least = SIZE_MAX;
    for (; x->around.n && x->around.at[x->around.n - 1].end_ns <= at_ns; x->around.n--)
        least = x->around.at[x->around.n - 1].depth;
    return least;
}

static void draw_gap(struct expander *x, const struct gap *g)
{
    int64_t at = g->from_ns;
    change_to(x, stack_in(x, g, at), at);
    for (;;) {
        int64_t next = g->to_ns;
        if (x->around.n && x->around.at[x->around.n - 1].end_ns < next)
            next = x->around.at[x->around.n - 1].end_ns;
        if (g->left && g->left_until > at && g->left_until < next) next = g->left_until;
        if (g->right && g->right_from > at && g->right_from < next) next = g->right_from;
        if (next >= g->to_ns) return;
        if (next > at) at = next;
        size_t ended = leave_ended(x, at);
        uint32_t node = stack_in(x, g, at);
        if (ended == SIZE_MAX) change_to(x, node, at);
        else cut_to(x, ended, node, at);
    }
}

/* What samples add to the time between two knots: the last one before it, unless something exact came
 * after, and the first one after it, unless something exact comes before. The border is in the middle
 * between them. In times between calls that are too short for a sample to mean much, nothing is added. */
struct seen {
    uint32_t node;           /* 0: none */
    int64_t at_ns, reach_ns; /* and how far from there where the other one is far */
};

static void add_seen(const struct expander *x, struct gap *g, struct seen left, struct seen right, bool first)
{
    int64_t far = GP_SAMPLE_GAP * x->period_ns;
    int64_t since = left.node ? left.at_ns : g->from_ns, until = right.node ? right.at_ns : g->to_ns;
    bool is_far = first || until - far > since;
    g->left = left.node;
    g->right = right.node;
    g->left_until = left.node && right.node ? since + (until - since) / 2 : g->to_ns;
    g->right_from = left.node ? g->left_until : g->from_ns;
    if (is_far && left.node) g->left_until = since + left.reach_ns;
    if (is_far && right.node) g->right_from = until - right.reach_ns;
}

static struct seen see(const struct expander *x, const struct knot *k, bool end)
{
    bool seen = k->known && !k->exact;
    return (struct seen){seen ? k->node : 0, end ? end_of(x, k) : begin_of(x, k),
                         k->kind == MOMENT ? x->period_ns / 2 : 0};
}

/* A sample that contradicts what is around an exact range was taken while the stack changed. */
static bool is_torn(const struct expander *x, const struct knot *k, bool exact, const struct knot *last)
{
    if (!exact || k->kind != MOMENT || !last || !x->around.n) return false;
    for (size_t i = x->around.n; i-- > 0;)
        if (x->around.at[i].end_ns > begin_of(x, k))
            return gp_stack_tree_common(&x->tree, last->node, k->node) < x->around.at[i].depth;
    return false;
}

/* Knot I from BEGIN on, which the one before ended at UNTIL. */
static void draw_knot(struct expander *x, size_t i, int64_t until_ns, int64_t begin_ns)
{
    const struct knot *k = &x->knots.at[i];
    size_t ended = leave_ended(x, begin_ns);
    if (k->fresh) close_to(x, 0, begin_ns);
    if (k->kind == PUSH) {
        enter_range(x, i, k->depth);
        uint32_t depth = depth_around(x), around = gp_stack_tree_up(&x->tree, k->node, depth);
        if (depth < ended) ended = depth;
        /* of a frame and a range with the same times the range would be the outer one */
        if (begin_ns > until_ns && gp_stack_tree_common(&x->tree, x->node, around) < depth_of(x, around))
            cut_to(x, ended, around, begin_ns - 1);
    }
    uint32_t node = k->node, around = depth_around(x);
    if (!k->known && depth_of(x, node) < around) node = gp_stack_tree_up(&x->tree, x->node, around);
    cut_to(x, ended, node, begin_ns);
    if (k->exact) x->seen_exactly = x->open.n;
}

static void draw_track(struct expander *x, bool exact)
{
    const struct knot *last = NULL;
    struct seen left = {0};
    int64_t until = 0, fragment = x->period_ns / 64;
    size_t next = 0, called = 0; /* the first that is known, and that is a call, not before the one at hand */
    for (size_t i = 0; i < x->knots.n; i++) {
        const struct knot *k = &x->knots.at[i];
        if (is_torn(x, k, exact, last)) continue;
        for (next = next > i ? next : i; next < x->knots.n && !x->knots.at[next].known; next++) continue;
        const struct knot *known = next < x->knots.n ? &x->knots.at[next] : NULL;
        struct seen right = known ? see(x, known, false) : (struct seen){0};
        int64_t begin = begin_of(x, k);
        if (last && begin < until) begin = until;
        if (!last) until = begin - 1;
        if (!last && right.node && right.at_ns - right.reach_ns < begin) until = right.at_ns - right.reach_ns;
        struct gap g = {.from_ns = until, .to_ns = begin, .before = last ? last->node : 0};
        bool both = k->kind == MOMENT && last && last->kind == MOMENT;
        bool lost = both && !x->around.n && begin - until > GP_SAMPLE_GAP * x->period_ns;
        g.shared = last && !lost ? common(x, last, k) : 0;
        if (both || !last || begin - until >= fragment)
            add_seen(x, &g, left, right, !last || (known && !known->exact && known->fresh));
        /* a range is pushed before the first call that says who waits */
        for (called = called > i ? called : i; called < x->knots.n && x->knots.at[called].kind != CALL;
             called++)
            continue;
        bool says = known && (known->kind == CALL || known->kind == PUSH) && called < x->knots.n;
        x->waiter = says ? waiter_of(x, x->knots.at[called].row) : UINT32_MAX;
        draw_gap(x, &g);
        draw_knot(x, i, until, begin);
        if (k->exact) x->seen_exactly = x->open.n;
        if (k->known) left = see(x, k, true);
        int64_t end = end_of(x, k);
        until = end > begin ? end : begin;
        if (x->around.n && x->around.at[x->around.n - 1].end_ns < until) /* samples go on after it */
            draw_gap(x, &(struct gap){begin, until, k->node, depth_of(x, k->node), 0, 0, 0, 0});
        last = k;
    }
    if (!last) return;
    struct gap g = {.from_ns = until, .to_ns = INT64_MAX, .before = last->node};
    if (left.node) g.left = left.node, g.left_until = left.at_ns + left.reach_ns;
    draw_gap(x, &g);
    x->around.n = 0;
}

/* ---- tracks in turn ---- */

struct cursor {
    const struct gp_events *e;
    const uint32_t *at, *end;
};

enum { RANGES, OPS, CALLS, WAITS, LISTS }; /* outer ones first */

/* What is known of a track. */
static void collect_knots(struct expander *x, uint32_t track)
{
    const struct gp_events *tables[LISTS] = {&x->t->events[GP_RANGE], &x->t->events[GP_OP],
                                             &x->t->events[GP_API], &x->t->events[GP_API]};
    const struct by_track *lists[LISTS] = {&x->ranges, &x->ops, &x->calls, &x->waited};
    struct cursor c[LISTS];
    int64_t until = INT64_MIN;
    for (int i = 0; i < LISTS; i++)
        c[i] = (struct cursor){tables[i], lists[i]->rows + lists[i]->first[track],
                               lists[i]->rows + lists[i]->first[track + 1]};
    struct run run = {.at = x->samples.rows + x->samples.first[track],
                      .end = x->samples.rows + x->samples.first[track + 1]};
    bool sampled = run.at < run.end;
    load_run(x, &run);
    x->knots.n = x->moments.n = 0;
    for (;;) {
        int best = -1;
        for (int i = 0; i < LISTS; i++)
            if (c[i].at < c[i].end &&
                (best < 0 || c[i].e->start_ns[*c[i].at] < c[best].e->start_ns[*c[best].at]))
                best = i;
        if (best < 0) break;
        uint32_t row = *c[best].at++;
        add_samples(x, &run, c[best].e->start_ns[row], &until);
        if (best <= OPS) add_range(x, row, best == OPS, &until);
        else add_call(x, row, best == WAITS, sampled, &until);
    }
    add_samples(x, &run, INT64_MAX, &until);
}

static void expand_track(struct expander *x, uint32_t track)
{
    x->track = track;
    collect_knots(x, track);
    bool known = false;
    for (size_t i = 0; i < x->knots.n && !known; i++) known = x->knots.at[i].known;
    if (!known) return;
    bool exact = conclude(x);
    measure_ranges(x, exact);
    draw_track(x, exact);
}

static bool has_stacks(const struct gp_events *e)
{
    bool any = false;
    for (size_t i = 0; e->stack && i < e->n && !any; i++) any = e->stack[i] != 0;
    return any;
}

/* Every table that is looked at in order of time; gp_trace_finish() finds them sorted. */
static void group_tables(struct expander *x)
{
    static const enum gp_table tables[] = {GP_SAMPLE, GP_API, GP_RANGE, GP_OP};
    struct by_track *groups[] = {&x->samples, &x->calls, &x->ranges, &x->ops};
    for (size_t i = 0; i < GP_COUNT(tables); i++) {
        struct gp_events *e = &x->t->events[tables[i]];
        gp_events_sort(e);
        *groups[i] = group(x, e, e->track);
    }
    if (x->t->events[GP_API].waiter) find_passes(x);
    else x->waited.first = gp_zalloc((x->t->tracks.n + 2) * sizeof *x->waited.first);
}

/* Samples of one process are taken of all its threads at a time. */
static void find_ticks(struct expander *x)
{
    const struct gp_trace *t = x->t;
    const struct gp_events *e = &t->events[GP_SAMPLE];
    int64_t until = INT64_MIN, pid = e->n ? t->processes.at[t->tracks.at[e->track[0]].process].pid : 0;
    x->sampled_until = gp_alloc((e->n + 1) * sizeof *x->sampled_until);
    for (size_t i = 0; i < e->n; i++) {
        int64_t end = e->start_ns[i] + e->dur_ns[i];
        if (end > until) until = end;
        x->sampled_until[i] = until;
        if (t->processes.at[t->tracks.at[e->track[i]].process].pid == pid) continue;
        free(x->sampled_until);
        x->sampled_until = NULL;
        return;
    }
}

static void release(struct expander *x)
{
    free(x->sampled_until);
    struct by_track *groups[] = {&x->samples, &x->calls, &x->waited, &x->ranges, &x->ops};
    for (size_t i = 0; i < GP_COUNT(groups); i++) {
        free(groups[i]->first);
        free(groups[i]->rows);
    }
    gp_stack_tree_release(&x->tree);
    GP_RELEASE(gp_vec_free, &x->knots, &x->moments, &x->open, &x->around);
    GP_RELEASE(free, x->fresh, x->names);
}

/* So many rows for each observation a damaged file gets at most. */
enum { MOST_ROWS = 64, SOME_ROWS = 1 << 20 };

static bool knows_stacks(const struct gp_trace *t)
{
    return has_stacks(&t->events[GP_API]) || has_stacks(&t->events[GP_RANGE]);
}

void gp_samples_drop_made(struct gp_trace *t)
{
    struct gp_events *e = &t->events[GP_PYTHON];
    if (!e->n || !e->cat || !knows_stacks(t)) return;
    gp_sid python = gp_intern_cstr(&t->strings, GP_PYTHON_STACK_CATEGORY);
    gp_sid native = gp_intern_cstr(&t->strings, GP_NATIVE_STACK_CATEGORY);
    uint8_t *keep = gp_alloc(e->n);
    for (size_t i = 0; i < e->n; i++) keep[i] = e->cat[i] != python && e->cat[i] != native;
    gp_events_keep(e, keep);
    free(keep);
}

void gp_samples_expand(struct gp_trace *t)
{
    struct gp_events *e = &t->events[GP_SAMPLE];
    bool exact = knows_stacks(t);
    if ((!e->n && !exact) || !(t->need & GP_NEED(GP_PYTHON))) return;
    /* Times that gp_trace_finish() would refuse tell nothing. */
    uint8_t *keep = gp_alloc(e->n + 1);
    for (size_t i = 0; i < e->n; i++) keep[i] = is_sane(e, i);
    gp_events_keep(e, keep);
    free(keep);
    struct expander x = {.t = t,
                         .period_ns = gp_samples_period(t),
                         .sampled = gp_intern_cstr(&t->strings, GP_SAMPLED_CATEGORY),
                         .exact = gp_intern_cstr(&t->strings, GP_PYTHON_STACK_CATEGORY),
                         .native = gp_intern_cstr(&t->strings, GP_NATIVE_STACK_CATEGORY),
                         .garbage = gp_intern_cstr(&t->strings, GP_SAMPLED_GARBAGE),
                         .running = gp_intern_cstr(&t->strings, GP_SAMPLED_RUNNING)};
    uint32_t *to = join_tracks(t);
    for (size_t i = 0; i < e->n; i++) e->track[i] = to[e->track[i]];
    free(to);
    gp_stack_tree_build(&x.tree, t);
    x.names = gp_zalloc((x.tree.functions.n + 1) * sizeof *x.names);
    group_tables(&x);
    find_ticks(&x);
    x.room = SOME_ROWS + MOST_ROWS * (uint64_t)(e->n + t->events[GP_API].n + t->events[GP_RANGE].n);
    for (uint32_t i = 0; i < t->tracks.n; i++) expand_track(&x, i);
    release(&x);
}
