/* Under which ranges the nodes of CUDA graphs were captured. */
#include <stdlib.h>
#include "formats/base/buf.h"
#include "formats/nsys/nsys_priv.h"
#include "formats/base/order.h"

enum { MOST_DEPTH = 128, MOST_HOPS = 16 };

/* The creation of a node, or of a clone of one. */
struct creation {
    int64_t start_ns;
    uint64_t process, node, original;
    uint32_t track;
    gp_sid captured;
};

struct graphs {
    struct gp_nsys *n;
    GP_VEC(struct creation) list;
    struct gp_map at;      /* process and node -> index */
    GP_VEC(uint32_t) open; /* pushes around the creation that is looked at */
    struct gp_buf text;
};

GP_COMPARE(by_track_and_start, struct gp_nsys_push, GP_UP(track) GP_UP(start_ns) GP_DOWN(end_ns) GP_UP(name))

/* Of a node's creations the one that makes it a clone counts, otherwise the first. */
GP_COMPARE(by_creation, struct creation,
           GP_UP(track) GP_UP(start_ns) GP_KEY(x->original != 0, y->original != 0) GP_UP(node))

static void read_creations(struct graphs *g)
{
    enum { START, THREAD, NODE, ORIGINAL };
    GP_SQLITE_EACH(scan, g->n->db, "CUDA_GRAPH_NODE_EVENTS",
                   "start globalTid graphNodeId originalGraphNodeId") {
        int64_t thread = gp_sqlite_int(&scan, THREAD, 0), node;
        if (!gp_sqlite_get(&scan, NODE, &node)) continue;
        struct creation one = {.start_ns = gp_sqlite_int(&scan, START, 0),
                               .process = GP_NSYS_PROCESS(thread),
                               .node = (uint64_t)node,
                               .original = (uint64_t)gp_sqlite_int(&scan, ORIGINAL, 0),
                               .track = gp_nsys_thread(g->n, thread)};
        GP_VEC_PUSH(&g->list, one);
    }
}

/* The names of the open ranges, outermost first. */
static gp_sid path_of(struct graphs *g)
{
    struct gp_trace *t = g->n->t;
    g->text.n = 0;
    for (size_t i = g->open.n > MOST_DEPTH ? g->open.n - MOST_DEPTH : 0; i < g->open.n; i++) {
        gp_sid name = g->n->pushes.at[g->open.at[i]].name;
        const char *text = gp_trace_str(t, name);
        size_t n = gp_string_len(&t->strings, name);
        if (g->text.n) gp_buf_putc(&g->text, GP_CAPTURED_END);
        for (size_t k = 0; k < n; k++) gp_buf_putc(&g->text, text[k] == GP_CAPTURED_END ? ' ' : text[k]);
    }
    return gp_trace_intern(t, g->text.n ? g->text.data : "", g->text.n);
}

/* Both lists are sorted by thread and time. */
static void find_paths(struct graphs *g)
{
    const struct gp_nsys_push *pushes = g->n->pushes.at;
    size_t next = 0;
    gp_sid path = 0;
    bool known = false;
    for (size_t i = 0; i < g->list.n; i++) {
        struct creation *c = &g->list.at[i];
        if (i && c->track != g->list.at[i - 1].track) g->open.n = 0, known = false;
        while (next < g->n->pushes.n &&
               (pushes[next].track < c->track ||
                (pushes[next].track == c->track && pushes[next].start_ns <= c->start_ns))) {
            if (pushes[next].track == c->track) {
                while (g->open.n && pushes[g->open.at[g->open.n - 1]].end_ns <= pushes[next].start_ns)
                    g->open.n--;
                GP_VEC_PUSH(&g->open, (uint32_t)next);
                known = false;
            }
            next++;
        }
        while (g->open.n && pushes[g->open.at[g->open.n - 1]].end_ns <= c->start_ns)
            g->open.n--, known = false;
        if (!known) path = path_of(g);
        known = true;
        c->captured = path;
    }
}

static gp_sid captured_of(const struct graphs *g, uint64_t process, uint64_t node)
{
    const struct creation *c = NULL;
    for (int hop = 0; hop < MOST_HOPS; hop++) {
        const uint32_t *at = gp_map_get(&g->at, gp_nsys_key(process, node));
        if (!at) return 0;
        c = &g->list.at[*at];
        if (!c->original) return c->captured;
        node = c->original;
    }
    return 0;
}

void gp_nsys_read_graphs(struct gp_nsys *n)
{
    struct graphs g = {.n = n};
    struct gp_events *e = &n->t->events[GP_GPU];
    if (!(n->t->need & GP_NEED(GP_GPU)) || !e->node) return;
    read_creations(&g);
    if (g.list.n) qsort(g.list.at, g.list.n, sizeof *g.list.at, by_creation);
    if (n->pushes.n) qsort(n->pushes.at, n->pushes.n, sizeof *n->pushes.at, by_track_and_start);
    find_paths(&g);
    for (size_t i = 0; i < g.list.n; i++) {
        const struct creation *c = &g.list.at[i];
        uint32_t *at = gp_map_put(&g.at, gp_nsys_key(c->process, c->node), (uint32_t)i);
        if (c->original && !g.list.at[*at].original) *at = (uint32_t)i;
    }
    for (size_t i = 0; i < e->n && g.list.n; i++) {
        if (e->node[i] == GP_NO_ID) continue;
        uint32_t process = n->t->tracks.at[e->track[i]].process;
        gp_set_captured(e, i,
                        captured_of(&g, n->process_ids.at[n->t->processes.at[process].producer], e->node[i]));
    }
    GP_RELEASE(gp_vec_free, &g.list, &g.open);
    gp_map_release(&g.at);
    gp_buf_release(&g.text);
}
