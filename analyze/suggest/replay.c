#include "analyze/suggest/replay.h"

#include <stdlib.h>
#include <string.h>
#include "analyze/math/sums.h"
#include "formats/base/mem.h"

/* What an edit has already touched, by item: later edits can only lower it. */
enum { DUR_SET = 1, GAP_SET = 2, DELAY_SET = 4, GONE = 8, ASIDE = 16 };
enum { BEFORE_SET = 1, OWN_SET = 2 };

struct run {
    struct gp_replay_item *items;
    struct gp_replay_call *calls;
    uint8_t *item_edits, *call_edits;
    int64_t *end_ns;        /* by item */
    int64_t *free_ns;       /* by stream */
    const uint32_t *device; /* by stream; NULL: there is one */
    int64_t *over_ns;       /* by device: when all that was launched so far is over */
    struct gp_replay_marks *marks;
};

static void set(int64_t *value, uint8_t *edits, uint8_t bit, int64_t ns)
{
    if (!(*edits & bit) || ns < *value) *value = ns;
    *edits |= bit;
}

static void apply(struct run *run, const struct gp_edit *e)
{
    if (e->kind < GP_EDIT_BEFORE) {
        struct gp_replay_item *item = &run->items[e->index];
        uint8_t *edits = &run->item_edits[e->index];
        if (e->kind == GP_EDIT_DUR) set(&item->dur_ns, edits, DUR_SET, e->ns);
        else if (e->kind == GP_EDIT_GAP) set(&item->gap_ns, edits, GAP_SET, e->ns);
        else if (e->kind == GP_EDIT_DELAY) set(&item->delay_ns, edits, DELAY_SET, e->ns);
        else *edits |= e->kind == GP_EDIT_GONE ? GONE : ASIDE;
    } else {
        struct gp_replay_call *call = &run->calls[e->index];
        uint8_t *edits = &run->call_edits[e->index];
        if (e->kind == GP_EDIT_BEFORE) set(&call->before_ns, edits, BEFORE_SET, e->ns);
        else if (e->kind == GP_EDIT_OWN) set(&call->own_ns, edits, OWN_SET, e->ns);
        else call->waits_for = GP_REPLAY_NONE;
    }
}

static int64_t later(int64_t a, int64_t b) { return a > b ? a : b; }

static int64_t *over_on_device(const struct run *run, uint32_t stream)
{
    return &run->over_ns[run->device ? run->device[stream] : 0];
}

static void mark(const struct run *run, uint32_t i, int64_t start_ns)
{
    if (!run->marks) return;
    if (i == run->marks->from) run->marks->from_ns = start_ns;
    if (i == run->marks->to) run->marks->to_ns = start_ns;
}

static void run_item(struct run *run, uint32_t i, int64_t ready_ns)
{
    const struct gp_replay_item *item = &run->items[i];
    int64_t *free_ns = &run->free_ns[item->stream];
    if (run->item_edits[i] & GONE) {
        run->end_ns[i] = *free_ns;
        mark(run, i, *free_ns);
        return;
    }
    int64_t start = ready_ns;
    if (!(run->item_edits[i] & ASIDE))
        start = later(start, *free_ns ? gp_add_saturated(*free_ns, item->gap_ns) : 0);
    if (item->after != GP_REPLAY_NONE) start = later(start, run->end_ns[item->after]);
    start = gp_add_saturated(start, item->delay_ns);
    mark(run, i, start);
    run->end_ns[i] = gp_add_saturated(start, item->dur_ns);
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
        int64_t begin = later(0, gp_add_saturated(host, call->before_ns));
        int64_t over = gp_add_saturated(begin, call->own_ns);
        for (uint32_t i = call->first; i < call->first + call->n; i++) {
            run_item(run, i, gp_add_saturated(begin, r->launch_ns - call->sooner_ns));
            end = later(end, run->end_ns[i]);
        }
        if (call->waits_for != GP_REPLAY_NONE)
            over = later(over, gp_add_saturated(waited_until(run, call), r->wake_ns + call->after_ns));
        host = later(host, over);
    }
    return later(gp_add_saturated(host, r->tail_ns), end);
}

/* ---- memory ---- */

/* One block for all that a run writes. */
struct gp_replay_room {
    char *at;
    size_t size;
};

/* The next N bytes of a block after USED, rounded up to a multiple of 8, the largest alignment needed
 * here. */
static void *take(char *block, size_t *used, size_t n)
{
    void *at = block ? block + *used : NULL;
    *used += (n + 7) / 8 * 8;
    return at;
}

/* Divide up BLOCK, or, if it is NULL, only count the bytes it needs. What the N edits do not touch is not
 * copied. */
static size_t deal_out(struct run *run, const struct gp_replay *r, char *block, const struct gp_edit *edits,
                       size_t n)
{
    size_t used = 0, items = 0, calls = 0;
    for (size_t i = 0; i < n; i++) *(edits[i].kind < GP_EDIT_BEFORE ? &items : &calls) += 1;
    run->items = items ? take(block, &used, r->items.n * sizeof *run->items) : r->items.at;
    run->calls = calls ? take(block, &used, r->calls.n * sizeof *run->calls) : r->calls.at;
    run->end_ns = take(block, &used, r->items.n * sizeof *run->end_ns);
    run->free_ns = take(block, &used, r->free_ns.n * sizeof *run->free_ns);
    run->over_ns = take(block, &used, (r->free_ns.n + 1) * sizeof *run->over_ns);
    run->item_edits = take(block, &used, r->items.n);
    run->call_edits = take(block, &used, r->calls.n);
    return used;
}

static void copy(void *to, const void *from, size_t n)
{
    if (n) memcpy(to, from, n);
}

static void fill(struct run *run, const struct gp_replay *r)
{
    if (run->items != r->items.at) copy(run->items, r->items.at, r->items.n * sizeof *run->items);
    if (run->calls != r->calls.at) copy(run->calls, r->calls.at, r->calls.n * sizeof *run->calls);
    copy(run->free_ns, r->free_ns.at, r->free_ns.n * sizeof *run->free_ns);
    memset(run->end_ns, 0, r->items.n * sizeof *run->end_ns);
    memset(run->over_ns, 0, (r->free_ns.n + 1) * sizeof *run->over_ns);
    memset(run->item_edits, 0, r->items.n);
    memset(run->call_edits, 0, r->calls.n);
    run->device = r->device.n ? r->device.at : NULL;
}

int64_t gp_replay_run(const struct gp_replay *r, const struct gp_edit *edits, size_t n,
                      struct gp_replay_marks *marks)
{
    struct gp_replay_room own = {NULL, 0}, *room = r->room ? r->room : &own;
    struct run run = {.marks = marks};
    size_t size = deal_out(&run, r, NULL, edits, n);
    if (size > room->size) {
        free(room->at);
        room->at = gp_alloc(size);
        room->size = size;
    }
    deal_out(&run, r, room->at, edits, n);
    fill(&run, r);
    for (size_t i = 0; i < n; i++) apply(&run, &edits[i]);
    int64_t length = run_all(&run, r);
    free(own.at);
    return length;
}

void gp_replay_keep_room(struct gp_replay *r)
{
    if (!r->room) r->room = gp_zalloc(sizeof *r->room);
}

void gp_replay_release(struct gp_replay *r)
{
    if (r->room) free(r->room->at);
    free(r->room);
    r->room = NULL;
    GP_VEC_FREE(&r->items);
    GP_VEC_FREE(&r->calls);
    GP_VEC_FREE(&r->free_ns);
    GP_VEC_FREE(&r->device);
}
