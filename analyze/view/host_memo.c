#include "analyze/view/host_memo.h"

#include <string.h>

/* Answers as they are kept: GP_HOST_NONE becomes 1, and 0 is what memory begins with. */
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
