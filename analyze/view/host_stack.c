#include "analyze/view/host_stack.h"
#include "formats/base/order.h"

#include <stdlib.h>
#include <string.h>

/* Outermost first: of events with the same times, the one from the earlier table contains the other. */
static const enum gp_table host_tables[] = {GP_RANGE, GP_PYTHON, GP_OP, GP_API};
enum { HOST_TABLES = GP_COUNT(host_tables) };
enum { MOST_ROWS = (1 << 29) - 1 }; /* limit of struct gp_host_event */
enum { DEEP = 64 };                 /* from there on walking up is too long */

/* Damaged input can hold any time; within these bounds no difference of two overflows. */
static const int64_t EARLIEST = -(INT64_MAX / 2), LATEST = INT64_MAX / 2;

static int64_t start_of(int64_t start_ns)
{
    return start_ns < EARLIEST ? EARLIEST : start_ns > LATEST ? LATEST : start_ns;
}

static int64_t end_of(int64_t start_ns, int64_t dur_ns)
{
    return dur_ns > LATEST - start_ns ? LATEST : start_ns + dur_ns;
}

/* Times that went through a double in microseconds are off by up to an ulp at each end. */
int64_t gp_host_tolerance(int64_t end_ns)
{
    uint64_t us = (uint64_t)(end_ns < 0 ? -(end_ns + 1) : end_ns) / 1000;
    int64_t ulp_us = us >> 53 ? 2 : us >> 52 ? 1 : 0;
    return ulp_us ? 2000 * ulp_us : 1000;
}

/* ---- the events of each thread in order ---- */

/* Where a table has come to; the key of the row is kept at hand. */
struct cursor {
    const struct gp_events *e;
    int64_t start_ns, dur_ns;
    uint32_t row;
    uint32_t table;
};

static void load(struct cursor *c)
{
    c->start_ns = c->e->start_ns[c->row];
    c->dur_ns = c->e->dur_ns[c->row];
}

static bool comes_before(const struct cursor *a, const struct cursor *b)
{
    if (a->start_ns != b->start_ns) return a->start_ns < b->start_ns;
    return a->dur_ns > b->dur_ns;
}

/* The tables that have rows, outer ones first. */
static int open_cursors(struct cursor *c, const struct gp_trace *t)
{
    int n = 0;
    for (int i = 0; i < HOST_TABLES; i++) {
        if (!t->events[host_tables[i]].n) continue;
        c[n] = (struct cursor){.e = &t->events[host_tables[i]], .table = host_tables[i]};
        load(&c[n++]);
    }
    return n;
}

/* The cursor whose row is next. Ties go to the outer table. */
static int next_cursor(const struct cursor *c, int n)
{
    int best = 0;
    for (int i = 1; i < n; i++)
        if (comes_before(&c[i], &c[best])) best = i;
    return best;
}

/* Advance cursor I of N to its next row; finished cursors are removed. Returns how many are left. */
static int advance(struct cursor *c, int n, int i)
{
    if (++c[i].row < c[i].e->n) {
        load(&c[i]);
        return n;
    }
    memmove(c + i, c + i + 1, (size_t)(n - i - 1) * sizeof *c);
    return n - 1;
}

/* ---- nesting ---- */

/* The open events of a thread are the innermost one and its parents. Each ends no later than its parent: an
 * event that ends later than open ones closes them, because any later event inside one of those is also
 * inside this one, which began later. But a Python frame that ends in something larger closes frames only:
 * its end is late by what the recorder missed, and what is an operator's stays the operator's. */
struct nest {
    struct gp_host_stack *hs;
    uint32_t *open;  /* by track: the innermost open event, GP_HOST_NONE: none */
    uint32_t *next;  /* by track: its next node */
    int64_t *at_ns;  /* by track: time up to which self times have been given out; NULL when not asked for */
    uint32_t *depth; /* by track: of the innermost open event, 0: none */
    uint32_t deepest;
};

static void give_self(struct nest *n, uint32_t track, int64_t until_ns)
{
    if (!n->at_ns) return;
    if (n->open[track] != GP_HOST_NONE && until_ns > n->at_ns[track])
        n->hs->self_ns[n->open[track]] += until_ns - n->at_ns[track];
    n->at_ns[track] = until_ns;
}

static void close_until(struct nest *n, uint32_t track, int64_t at_ns)
{
    while (n->open[track] != GP_HOST_NONE) {
        const struct gp_host_event *top = &n->hs->nodes[n->open[track]];
        if (top->end_ns > at_ns) break;
        give_self(n, track, top->end_ns);
        n->open[track] = top->parent;
        n->depth[track]--;
    }
}

/* Is a parent of AROUND open up to END_NS? Then no time is lost where an event is cut at AROUND's end. */
static bool is_covered(const struct nest *n, uint32_t around, int64_t end_ns)
{
    while (around != GP_HOST_NONE && n->hs->nodes[around].end_ns < end_ns)
        around = n->hs->nodes[around].parent;
    return around != GP_HOST_NONE;
}

static void open_event(struct nest *n, uint32_t track, uint32_t id)
{
    struct gp_host_event *ev = &n->hs->nodes[id];
    close_until(n, track, ev->start_ns);
    give_self(n, track, ev->start_ns);
    uint32_t around = n->open[track];
    bool crossed = false;
    while (around != GP_HOST_NONE) {
        const struct gp_host_event *top = &n->hs->nodes[around];
        if (ev->end_ns <= top->end_ns) break;
        if (ev->end_ns - top->end_ns <= gp_host_tolerance(ev->end_ns)) {
            ev->end_ns = top->end_ns;
            n->hs->clamped++;
            break;
        }
        crossed = true;
        if (ev->table == GP_PYTHON && top->table != GP_PYTHON && is_covered(n, around, ev->end_ns)) {
            ev->end_ns = top->end_ns;
            break;
        }
        around = top->parent;
        n->depth[track]--;
    }
    n->hs->overlapping += crossed;
    ev->parent = around;
    n->open[track] = id;
    if (++n->depth[track] > n->deepest) n->deepest = n->depth[track];
}

/* All events in order of time, each laid out on its track. */
static void nest_all(struct nest *n, const struct gp_trace *t)
{
    struct gp_host_stack *hs = n->hs;
    struct cursor c[HOST_TABLES];
    for (int left = open_cursors(c, t); left;) {
        int i = next_cursor(c, left);
        uint32_t row = c[i].row, track = c[i].e->track[row];
        if (t->tracks.at[track].kind == GP_TRACK_THREAD) {
            uint32_t id = n->next[track]++;
            struct gp_host_event *ev = &hs->nodes[id];
            ev->start_ns = start_of(c[i].start_ns);
            ev->end_ns = end_of(ev->start_ns, c[i].dur_ns);
            ev->table = c[i].table & 7;
            ev->row = row & MOST_ROWS;
            if (c[i].table == GP_API) hs->node_of_call[row] = id;
            open_event(n, track, id);
        }
        left = advance(c, left, i);
    }
    for (uint32_t k = 0; k < t->tracks.n; k++) close_until(n, k, INT64_MAX);
}

/* Where events are nested deeply, each has a second way up, so that any event around it is a few steps away
 * (E. W. Myers, An applicative random-access stack, 1983). */
static void make_jumps(struct gp_host_stack *hs)
{
    uint32_t *depth = gp_alloc(hs->n * sizeof *depth);
    hs->jump = gp_alloc(hs->n * sizeof *hs->jump);
    for (uint32_t i = 0; i < hs->n; i++) { /* parents come first */
        uint32_t up = hs->nodes[i].parent;
        depth[i] = up == GP_HOST_NONE ? 0 : depth[up] + 1;
        hs->jump[i] = up == GP_HOST_NONE ? i : up;
        if (up == GP_HOST_NONE) continue;
        uint32_t far = hs->jump[up], farther = hs->jump[far];
        if (depth[up] - depth[far] == depth[far] - depth[farther]) hs->jump[i] = farther;
    }
    free(depth);
}

/* ---- threads that others wait for ---- */

static uint32_t waiter_of(const struct gp_trace *t, const struct gp_host_event *ev)
{
    uint32_t waiter = gp_get_waiter(&t->events[ev->table], ev->row);
    return waiter < t->tracks.n ? waiter : UINT32_MAX;
}

/* Marks the tracks whose calls another thread waits for. */
static void mark_waited(const struct gp_trace *t, uint8_t *waited)
{
    static const enum gp_table tables[] = {GP_API, GP_PYTHON};
    for (size_t i = 0; i < GP_COUNT(tables); i++) {
        const struct gp_events *e = &t->events[tables[i]];
        for (size_t k = 0; e->waiter && k < e->n; k++) waited[e->track[k]] |= e->waiter[k] < t->tracks.n;
    }
}

/* The outermost events of TRACK get their parent on the thread that waits for them: what that is in when the
 * first call is made. */
static void join_waiting(struct gp_host_stack *hs, uint32_t track)
{
    for (uint32_t i = hs->first[track]; i < hs->end[track]; i++) {
        struct gp_host_event *ev = &hs->nodes[i];
        uint32_t waiter = ev->parent == GP_HOST_NONE ? waiter_of(hs->t, ev) : UINT32_MAX, call = i;
        if (waiter == UINT32_MAX) continue;
        while (call < hs->end[track] && hs->nodes[call].table != GP_API &&
               hs->nodes[call].start_ns <= ev->end_ns)
            call++;
        bool inside = call < hs->end[track] && hs->nodes[call].start_ns <= ev->end_ns;
        uint32_t up = gp_host_at(hs, waiter, inside ? hs->nodes[call].start_ns : ev->start_ns);
        if (up == GP_HOST_NONE || up >= hs->first[track]) continue;
        ev->parent = up;
        hs->joined = true;
    }
}

/* Give each track its slice of the nodes. */
static void lay_out(struct gp_host_stack *hs, const struct gp_trace *t, const uint8_t *waited)
{
    size_t total = 0, tracks = t->tracks.n;
    hs->first = gp_zalloc((tracks + 1) * sizeof *hs->first);
    hs->end = gp_zalloc((tracks + 1) * sizeof *hs->end);
    for (int i = 0; i < HOST_TABLES; i++) {
        const struct gp_events *e = &t->events[host_tables[i]];
        total += e->n;
        if (e->n > MOST_ROWS || total >= GP_HOST_NONE) gp_out_of_memory(total);
        for (size_t k = 0; k < e->n; k++) hs->end[e->track[k]]++;
    }
    for (int pass = 0; pass < 2; pass++)
        for (size_t k = 0; k < tracks; k++) {
            if (waited[k] != pass) continue;
            uint32_t n = t->tracks.at[k].kind == GP_TRACK_THREAD ? hs->end[k] : 0;
            hs->first[k] = hs->n;
            hs->end[k] = hs->n += n;
        }
}

static void build(struct gp_host_stack *hs, const struct gp_trace *t, bool self)
{
    memset(hs, 0, sizeof *hs);
    size_t tracks = t->tracks.n, calls = t->events[GP_API].n;
    hs->t = t;
    uint8_t *waited = gp_zalloc(tracks + 1);
    mark_waited(t, waited);
    lay_out(hs, t, waited);
    hs->node_of_call = gp_alloc_ones(calls * sizeof *hs->node_of_call);
    hs->nodes = gp_alloc_large(hs->n * sizeof *hs->nodes);
    if (self) hs->self_ns = gp_zalloc(hs->n * sizeof *hs->self_ns);
    struct nest nest = {.hs = hs};
    nest.next = gp_alloc((tracks + 1) * sizeof *nest.next);
    memcpy(nest.next, hs->first, (tracks + 1) * sizeof *nest.next);
    nest.open = gp_alloc_ones((tracks + 1) * sizeof *nest.open);
    if (self) nest.at_ns = gp_zalloc((tracks + 1) * sizeof *nest.at_ns);
    nest.depth = gp_zalloc((tracks + 1) * sizeof *nest.depth);
    nest_all(&nest, t);
    for (uint32_t k = 0; k < tracks; k++)
        if (waited[k]) join_waiting(hs, k);
    if (nest.deepest > DEEP) make_jumps(hs);
    GP_RELEASE(free, waited, nest.depth, nest.next, nest.open, nest.at_ns);
}

void gp_host_stack_build(struct gp_host_stack *hs, const struct gp_trace *t) { build(hs, t, false); }

void gp_host_stack_build_self(struct gp_host_stack *hs, const struct gp_trace *t) { build(hs, t, true); }

void gp_host_stack_release(struct gp_host_stack *hs)
{
    GP_RELEASE(free, hs->nodes, hs->self_ns, hs->first, hs->end, hs->node_of_call, hs->jump);
    memset(hs, 0, sizeof *hs);
}

/* Does node ID come before row ROW of TABLE, in the order that nodes are in? */
static bool node_is_before(const struct gp_host_stack *hs, uint32_t id, enum gp_table table, size_t row)
{
    const struct gp_host_event *ev = &hs->nodes[id];
    const struct gp_events *a = &hs->t->events[ev->table], *b = &hs->t->events[table];
    if (a->start_ns[ev->row] != b->start_ns[row]) return a->start_ns[ev->row] < b->start_ns[row];
    if (a->dur_ns[ev->row] != b->dur_ns[row]) return a->dur_ns[ev->row] > b->dur_ns[row];
    for (int i = 0; i < HOST_TABLES && ev->table != (unsigned)table; i++) {
        if (host_tables[i] == table) return false;
        if (ev->table == (unsigned)host_tables[i]) return true;
    }
    return ev->row < row;
}

uint32_t gp_host_node(const struct gp_host_stack *hs, enum gp_table table, size_t row)
{
    if (table == GP_API) return hs->node_of_call[row];
    uint32_t track = hs->t->events[table].track[row], lo = hs->first[track], end = hs->end[track];
    for (uint32_t hi = end; lo < hi;) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (node_is_before(hs, mid, table, row)) lo = mid + 1;
        else hi = mid;
    }
    bool found = lo < end && hs->nodes[lo].table == (unsigned)table && hs->nodes[lo].row == row;
    return found ? lo : GP_HOST_NONE;
}

uint32_t gp_host_ends_from(const struct gp_host_stack *hs, uint32_t node, int64_t at_ns, uint32_t *ended)
{
    const struct gp_host_event *nodes = hs->nodes;
    uint32_t last = GP_HOST_NONE, first = 0;
    if (hs->joined && node != GP_HOST_NONE) first = hs->first[gp_host_track(hs, node)];
    while (node != GP_HOST_NONE && nodes[node].end_ns < at_ns) {
        last = node;
        uint32_t far = hs->jump ? hs->jump[node] : node;
        bool jumps = far != node && far >= first && nodes[far].end_ns < at_ns;
        node = jumps ? far : nodes[node].parent;
        if (node < first) node = GP_HOST_NONE; /* of another thread */
    }
    if (ended) *ended = last;
    return node;
}

uint32_t gp_host_at(const struct gp_host_stack *hs, uint32_t track, int64_t at_ns)
{
    uint32_t lo = hs->first[track], hi = hs->end[track], base = lo;
    GP_NARROW(lo, hi, mid, hs->nodes[mid].start_ns <= at_ns);
    if (lo == base || at_ns == INT64_MAX) return GP_HOST_NONE;
    return gp_host_ends_from(hs, lo - 1, at_ns + 1, NULL);
}

/* ---- memo ---- */

/* Stored answers: GP_HOST_NONE becomes 1, and 0 is zeroed memory. */
enum { SHIFT = 2 };

uint32_t gp_host_memo_get(struct gp_host_memo *m, uint32_t node, gp_host_answer *answer, void *ctx)
{
    if (node == GP_HOST_NONE) return GP_HOST_NONE;
    if (!m->known) m->known = gp_zalloc(((size_t)m->hs->n + 1) * sizeof *m->known);
    for (; node != GP_HOST_NONE && !m->known[node]; node = m->hs->nodes[node].parent)
        GP_VEC_PUSH(&m->chain, node);
    uint32_t around = node == GP_HOST_NONE ? GP_HOST_NONE : m->known[node] - SHIFT;
    while (m->chain.n) {
        node = m->chain.at[--m->chain.n];
        around = answer(ctx, node, around);
        m->known[node] = around + SHIFT;
    }
    return around;
}

struct innermost {
    const struct gp_host_event *nodes;
    uint32_t table;
};

static uint32_t of_table(void *ctx, uint32_t node, uint32_t around)
{
    const struct innermost *in = ctx;
    return in->nodes[node].table == in->table ? node : around;
}

uint32_t gp_host_memo_innermost(struct gp_host_memo *m, uint32_t node, enum gp_table table)
{
    struct innermost in = {m->hs->nodes, (uint32_t)table};
    return gp_host_memo_get(m, node, of_table, &in);
}

void gp_host_memo_release(struct gp_host_memo *m)
{
    free(m->known);
    GP_VEC_FREE(&m->chain);
    m->known = NULL;
}
