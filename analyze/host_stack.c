#include "analyze/host_stack.h"

#include <stdlib.h>
#include <string.h>

/* Outermost first: of events with the same times the one of the earlier table holds the other. */
static const enum gp_table host_tables[] = {GP_RANGE, GP_PYTHON, GP_OP, GP_API};
enum { HOST_TABLES = sizeof host_tables / sizeof host_tables[0] };

/* Damaged input can hold any time; within these bounds no difference of two overflows. */
static const int64_t EARLIEST = -(INT64_MAX / 2), LATEST = INT64_MAX / 2;

static int64_t start_of(const struct gp_events *e, size_t row)
{
    int64_t s = e->start_ns[row];
    return s < EARLIEST ? EARLIEST : s > LATEST ? LATEST : s;
}

static int64_t end_of(const struct gp_events *e, size_t row)
{
    int64_t s = start_of(e, row);
    return e->dur_ns[row] > LATEST - s ? LATEST : s + e->dur_ns[row];
}

/* How far a child may end after its parent and still be one. Times that went through a double in microseconds
 * are off by up to an ulp at each end. */
static int64_t tolerance(int64_t end_ns)
{
    uint64_t us = (uint64_t)(end_ns < 0 ? -(end_ns + 1) : end_ns) / 1000;
    int64_t ulp_us = us >> 53 ? 2 : us >> 52 ? 1 : 0;
    return ulp_us ? 2000 * ulp_us : 1000;
}

/* ---- the events of each thread in order ---- */

/* Rows of one table grouped by track, in row order: a counting sort. Returns the rows; FIRST gets where each
 * track begins. */
static uint32_t *group_rows(const struct gp_events *e, size_t tracks, uint32_t *first)
{
    uint32_t *rows = gp_alloc(e->n * sizeof *rows);
    memset(first, 0, (tracks + 1) * sizeof *first);
    for (size_t i = 0; i < e->n; i++) first[e->track[i] + 1]++;
    for (size_t k = 0; k < tracks; k++) first[k + 1] += first[k];
    uint32_t *next = gp_alloc((tracks + 1) * sizeof *next);
    memcpy(next, first, (tracks + 1) * sizeof *next);
    for (size_t i = 0; i < e->n; i++) rows[next[e->track[i]]++] = (uint32_t)i;
    free(next);
    return rows;
}

struct cursor {
    const struct gp_events *e;
    const uint32_t *row, *end;
    enum gp_table table;
};

static bool comes_before(const struct cursor *a, const struct cursor *b)
{
    int64_t sa = a->e->start_ns[*a->row], sb = b->e->start_ns[*b->row];
    if (sa != sb) return sa < sb;
    return a->e->dur_ns[*a->row] > b->e->dur_ns[*b->row];
}

/* The cursor whose row is next, NULL when all are done. Ties go to the outer table. */
static struct cursor *next_cursor(struct cursor *c)
{
    struct cursor *best = NULL;
    for (int i = 0; i < HOST_TABLES; i++)
        if (c[i].row < c[i].end && (!best || comes_before(&c[i], best))) best = &c[i];
    return best;
}

/* ---- nesting ---- */

/* The open events of a thread, outermost first. Each ends no later than the one below it: an event that ends
 * later than open ones closes them, for whatever comes after and lies in one of those lies in it, too, and it
 * began later. */
struct nest {
    struct gp_host_stack *hs;
    GP_VEC(uint32_t) open;
    int64_t at_ns; /* time up to which self times have been given out */
};

static void give_self(struct nest *n, int64_t until_ns)
{
    if (!n->hs->self_ns) return;
    if (n->open.n && until_ns > n->at_ns) n->hs->self_ns[n->open.at[n->open.n - 1]] += until_ns - n->at_ns;
    n->at_ns = until_ns;
}

static void close_until(struct nest *n, int64_t at_ns)
{
    while (n->open.n) {
        const struct gp_host_event *top = &n->hs->nodes[n->open.at[n->open.n - 1]];
        if (top->end_ns > at_ns) break;
        give_self(n, top->end_ns);
        n->open.n--;
    }
}

static void open_event(struct nest *n, uint32_t id)
{
    struct gp_host_event *ev = &n->hs->nodes[id];
    close_until(n, ev->start_ns);
    give_self(n, ev->start_ns);
    bool crossed = false;
    while (n->open.n) {
        const struct gp_host_event *top = &n->hs->nodes[n->open.at[n->open.n - 1]];
        if (ev->end_ns <= top->end_ns) break;
        if (ev->end_ns - top->end_ns <= tolerance(ev->end_ns)) {
            ev->end_ns = top->end_ns;
            n->hs->clamped++;
            break;
        }
        crossed = true;
        n->open.n--;
    }
    n->hs->overlapping += crossed;
    ev->parent = n->open.n ? n->open.at[n->open.n - 1] : GP_HOST_NONE;
    GP_VEC_PUSH(&n->open, id);
}

static void nest_track(struct nest *n, struct cursor *c, uint32_t track)
{
    struct gp_host_stack *hs = n->hs;
    n->open.n = 0;
    for (struct cursor *cur; (cur = next_cursor(c)); cur->row++) {
        uint32_t row = *cur->row, id = hs->n++;
        hs->nodes[id] = (struct gp_host_event){
            start_of(cur->e, row), end_of(cur->e, row), GP_HOST_NONE, row, cur->table, track};
        hs->node_of[cur->table][row] = id;
        if (!n->open.n) n->at_ns = hs->nodes[id].start_ns;
        open_event(n, id);
    }
    close_until(n, INT64_MAX);
}

static void build(struct gp_host_stack *hs, const struct gp_trace *t, bool self)
{
    memset(hs, 0, sizeof *hs);
    size_t tracks = t->tracks.n, total = 0;
    uint32_t *rows[HOST_TABLES], *first[HOST_TABLES];
    for (int i = 0; i < HOST_TABLES; i++) {
        const struct gp_events *e = &t->events[host_tables[i]];
        first[i] = gp_alloc((tracks + 1) * sizeof **first);
        rows[i] = group_rows(e, tracks, first[i]);
        total += e->n;
        uint32_t *node_of = gp_alloc(e->n * sizeof *node_of);
        memset(node_of, 0xff, e->n * sizeof *node_of);
        hs->node_of[host_tables[i]] = node_of;
    }
    if (total >= GP_HOST_NONE) gp_out_of_memory(total);
    hs->nodes = gp_alloc(total * sizeof *hs->nodes);
    if (self) hs->self_ns = gp_zalloc(total * sizeof *hs->self_ns);
    hs->first = gp_alloc((tracks + 1) * sizeof *hs->first);
    struct nest nest = {.hs = hs};
    for (uint32_t k = 0; k < tracks; k++) {
        hs->first[k] = hs->n;
        if (t->tracks.at[k].kind != GP_TRACK_THREAD) continue;
        struct cursor c[HOST_TABLES];
        for (int i = 0; i < HOST_TABLES; i++)
            c[i] = (struct cursor){&t->events[host_tables[i]], rows[i] + first[i][k],
                                   rows[i] + first[i][k + 1], host_tables[i]};
        nest_track(&nest, c, k);
    }
    hs->first[tracks] = hs->n;
    GP_VEC_FREE(&nest.open);
    for (int i = 0; i < HOST_TABLES; i++) {
        free(rows[i]);
        free(first[i]);
    }
}

void gp_host_stack_build(struct gp_host_stack *hs, const struct gp_trace *t)
{
    build(hs, t, false);
}

void gp_host_stack_build_self(struct gp_host_stack *hs, const struct gp_trace *t)
{
    build(hs, t, true);
}

void gp_host_stack_release(struct gp_host_stack *hs)
{
    free(hs->nodes);
    free(hs->self_ns);
    free(hs->first);
    for (int i = 0; i < GP_TABLE_COUNT; i++) free(hs->node_of[i]);
    memset(hs, 0, sizeof *hs);
}

uint32_t gp_host_node(const struct gp_host_stack *hs, enum gp_table table, size_t row)
{
    return hs->node_of[table] ? hs->node_of[table][row] : GP_HOST_NONE;
}

uint32_t gp_host_at(const struct gp_host_stack *hs, uint32_t track, int64_t at_ns)
{
    uint32_t lo = hs->first[track], hi = hs->first[track + 1], base = lo;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (hs->nodes[mid].start_ns <= at_ns) lo = mid + 1;
        else hi = mid;
    }
    if (lo == base) return GP_HOST_NONE;
    uint32_t node = lo - 1;
    while (node != GP_HOST_NONE && hs->nodes[node].end_ns <= at_ns) node = hs->nodes[node].parent;
    return node;
}
