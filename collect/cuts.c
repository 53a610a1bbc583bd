#include "collect/cuts.h"

#include <string.h>

static size_t find(const struct gp_cuts *cuts, uint64_t id)
{
    size_t i = 0;
    while (i < cuts->open.n && gp_cut_id(cuts->open.at[i]) != id) i++;
    return i;
}

bool gp_cuts_begin(struct gp_cuts *cuts, const struct gp_wire_cut *frame, uint32_t producer)
{
    if (cuts->open.n >= GP_CUTS_MOST || find(cuts, frame->id) < cuts->open.n) return false;
    GP_VEC_PUSH(&cuts->open, gp_cut_new(frame, producer));
    return true;
}

void gp_cuts_put(struct gp_cuts *cuts, struct gp_trace *t)
{
    for (size_t i = 0; i < cuts->open.n; i++) gp_cut_put(cuts->open.at[i], t);
}

bool gp_cuts_until(struct gp_cuts *cuts, const struct gp_wire_cut *frame)
{
    size_t i = find(cuts, frame->id);
    if (i < cuts->open.n) gp_cut_until(cuts->open.at[i], frame->end_ns);
    return i < cuts->open.n;
}

void gp_cuts_end(struct gp_cuts *cuts, uint64_t id, struct gp_trace *t, struct gp_wire_cut_done *done)
{
    size_t i = find(cuts, id);
    gp_cut_end(cuts->open.at[i], t, done);
    memmove(&cuts->open.at[i], &cuts->open.at[i + 1], (cuts->open.n - i - 1) * sizeof *cuts->open.at);
    cuts->open.n--;
}

void gp_cuts_finish(struct gp_cuts *cuts, struct gp_trace *t)
{
    struct gp_wire_cut_done done; /* nobody waits for it */
    while (cuts->open.n) gp_cuts_end(cuts, gp_cut_id(cuts->open.at[0]), t, &done);
}

void gp_cuts_release(struct gp_cuts *cuts)
{
    for (size_t i = 0; i < cuts->open.n; i++) gp_cut_drop(cuts->open.at[i]);
    GP_VEC_FREE(&cuts->open);
}
