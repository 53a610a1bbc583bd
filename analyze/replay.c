#include "analyze/replay.h"

#include <stdlib.h>
#include <string.h>
#include "formats/base/mem.h"

/* What an edit has touched already, by item: later ones may only make it less. */
enum { DUR_SET = 1, GAP_SET = 2, DELAY_SET = 4, GONE = 8, ASIDE = 16 };
enum { BEFORE_SET = 1, OWN_SET = 2 };

struct run {
    struct gp_replay_item *items;
    struct gp_replay_call *calls;
    uint8_t *item_edits, *call_edits;
    int64_t *end_ns, *start_ns; /* by item */
    int64_t *free_ns;           /* by stream */
    const uint32_t *device;     /* by stream; NULL: there is one */
    int64_t *over_ns;           /* by device: when all that was launched so far is over */
};

static void set(int64_t *value, uint8_t *edits, uint8_t bit, int64_t ns)
{
    if (!(*edits & bit) || ns < *value) *value = ns;
    *edits |= bit;
}

static void edit_item(struct run *run, const struct gp_edit *e)
{
    struct gp_replay_item *item = &run->items[e->index];
    uint8_t *edits = &run->item_edits[e->index];
    if (e->kind == GP_EDIT_DUR) set(&item->dur_ns, edits, DUR_SET, e->ns);
    else if (e->kind == GP_EDIT_GAP) set(&item->gap_ns, edits, GAP_SET, e->ns);
    else if (e->kind == GP_EDIT_DELAY) set(&item->delay_ns, edits, DELAY_SET, e->ns);
    else *edits |= e->kind == GP_EDIT_GONE ? GONE : ASIDE;
}

static void edit_call(struct run *run, const struct gp_edit *e)
{
    struct gp_replay_call *call = &run->calls[e->index];
    uint8_t *edits = &run->call_edits[e->index];
    if (e->kind == GP_EDIT_BEFORE) set(&call->before_ns, edits, BEFORE_SET, e->ns);
    else if (e->kind == GP_EDIT_OWN) set(&call->own_ns, edits, OWN_SET, e->ns);
    else call->waits_for = GP_REPLAY_NONE;
}

static void apply(struct run *run, const struct gp_edit *e)
{
    if (e->kind < GP_EDIT_BEFORE) edit_item(run, e);
    else edit_call(run, e);
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t *over_on_device(const struct run *run, uint32_t stream)
{
    return &run->over_ns[run->device ? run->device[stream] : 0];
}

static void run_item(struct run *run, uint32_t i, int64_t ready_ns)
{
    const struct gp_replay_item *item = &run->items[i];
    int64_t *free_ns = &run->free_ns[item->stream];
    if (run->item_edits[i] & GONE) {
        run->start_ns[i] = run->end_ns[i] = *free_ns;
        return;
    }
    int64_t start = ready_ns;
    if (!(run->item_edits[i] & ASIDE)) start = later(start, *free_ns ? *free_ns + item->gap_ns : 0);
    if (item->after != GP_REPLAY_NONE) start = later(start, run->end_ns[item->after]);
    run->start_ns[i] = start + item->delay_ns;
    run->end_ns[i] = run->start_ns[i] + item->dur_ns;
    if (!(run->item_edits[i] & ASIDE)) *free_ns = run->end_ns[i];
    int64_t *over_ns = over_on_device(run, item->stream);
    *over_ns = later(*over_ns, run->end_ns[i]);
}

/* When the call that waits can go on. */
static int64_t waited_until(const struct run *run, const struct gp_replay_call *call)
{
    int64_t until = run->end_ns[call->waits_for];
    return call->waits_for_all ? later(until, *over_on_device(run, run->items[call->waits_for].stream))
                               : until;
}

static int64_t run_all(struct run *run, const struct gp_replay *r)
{
    int64_t host = 0, end = 0;
    for (size_t k = 0; k < r->calls.n; k++) {
        const struct gp_replay_call *call = &run->calls[k];
        int64_t begin = later(0, host + call->before_ns), over = begin + call->own_ns;
        for (uint32_t i = call->first; i < call->first + call->n; i++) {
            run_item(run, i, begin + r->launch_ns);
            end = later(end, run->end_ns[i]);
        }
        if (call->waits_for != GP_REPLAY_NONE) over = later(over, waited_until(run, call) + r->wake_ns);
        host = later(host, over);
    }
    return later(host + r->tail_ns, end);
}

static void *copy(const void *from, size_t n, size_t size)
{
    void *to = gp_alloc((n + 1) * size);
    if (n) memcpy(to, from, n * size);
    return to;
}

int64_t gp_replay_run(const struct gp_replay *r, const struct gp_edit *edits, size_t n,
                      struct gp_replay_marks *marks)
{
    struct run run = {.items = copy(r->items.at, r->items.n, sizeof *r->items.at),
                      .calls = copy(r->calls.at, r->calls.n, sizeof *r->calls.at),
                      .item_edits = gp_zalloc(r->items.n + 1),
                      .call_edits = gp_zalloc(r->calls.n + 1),
                      .end_ns = gp_zalloc((r->items.n + 1) * sizeof *run.end_ns),
                      .start_ns = gp_zalloc((r->items.n + 1) * sizeof *run.start_ns),
                      .free_ns = copy(r->free_ns.at, r->free_ns.n, sizeof *r->free_ns.at),
                      .device = r->device.n ? r->device.at : NULL,
                      .over_ns = gp_zalloc((r->free_ns.n + 1) * sizeof *run.over_ns)};
    for (size_t i = 0; i < n; i++) apply(&run, &edits[i]);
    int64_t length = run_all(&run, r);
    if (marks) {
        marks->from_ns = run.start_ns[marks->from];
        marks->to_ns = run.start_ns[marks->to];
    }
    free(run.items);
    free(run.calls);
    free(run.item_edits);
    free(run.call_edits);
    free(run.end_ns);
    free(run.start_ns);
    free(run.free_ns);
    free(run.over_ns);
    return length;
}

void gp_replay_release(struct gp_replay *r)
{
    GP_VEC_FREE(&r->items);
    GP_VEC_FREE(&r->calls);
    GP_VEC_FREE(&r->free_ns);
    GP_VEC_FREE(&r->device);
}
