#include "analyze/suggest/plan.h"

#include <stdlib.h>
#include <string.h>
#include "analyze/math/nth.h"
#include "analyze/names/name_predicates.h"
#include "analyze/view/waits.h"
#include "formats/base/mem.h"

#define NONE GP_REPLAY_NONE

enum {
    CALL_NS = 2000,        /* what a call that waits takes at least */
    JITTER_NS = 5000,      /* a start later than this after all known causes has another reason */
    GAPS_LEAST = 5,        /* of one kind, and launches, that are worth a median of their own */
    SANE_NS = 1000000,     /* latencies and gaps longer than this do not count as such */
    GAP_NS = 1000,         /* between queued kernels where none were */
    CLOCK_SLACK_NS = 2000, /* the clocks of host and GPU may differ by */
    LOOK_BACK = 1024,
};

struct numbers {
    int64_t *at;
    size_t n, cap;
};

/* V gets another order. DFLT where it is empty. */
static int64_t median(struct numbers *v, int64_t dflt) { return v->n ? gp_nth(v->at, v->n, v->n / 2) : dflt; }

struct build {
    struct gp_plan *p;
    const struct gp_view *v;
    const struct gp_steps_program *program;
    const struct gp_events *gpu, *api;
    int64_t end_ns;            /* of the last step */
    uint32_t *stream_of_row;   /* by row of GP_GPU: index into view->streams */
    uint32_t *call_of_row;     /* by row of GP_API: index into calls; NONE */
    uint8_t *launching_thread; /* by track */
    int64_t *free_ns;          /* by stream, while recorded times are looked at */
};

static int64_t gpu_end(const struct build *b, uint32_t row)
{
    return b->gpu->start_ns[row] + b->gpu->dur_ns[row];
}

static int64_t api_end(const struct build *b, uint32_t row)
{
    return b->api->start_ns[row] + b->api->dur_ns[row];
}

/* ---- which steps ---- */

/* The longest run of whole steps. A step lasts until the next one begins. */
static void choose_steps(struct build *b)
{
    const struct gp_steps_program *program = b->program;
    size_t best = 0, best_n = 0;
    for (size_t i = 0, n; i < program->windows.n; i += n + 1) {
        for (n = 0; i + n < program->windows.n && !program->windows.at[i + n].partial;) n++;
        if (n > best_n) best = i, best_n = n;
    }
    for (size_t i = best; i < best + best_n; i++) {
        if (i < program->steady && i + 1 < best + best_n) {
            b->p->warm_up++;
            continue;
        }
        const struct gp_step_window *w = &program->windows.at[i];
        bool followed = i + 1 < program->windows.n;
        GP_VEC_PUSH(&b->p->steps, ((struct gp_plan_step){.begin_ns = w->begin_ns,
                                                         .end_ns = followed ? w[1].begin_ns : w->host_end_ns,
                                                         .name = w->marker}));
    }
    /* A recording often ends with a step in which nothing was launched any more. */
    int64_t last = INT64_MIN;
    for (size_t i = 0; i < b->program->n; i++) {
        uint32_t call = gp_view_launch(b->v, b->program->rows[i]);
        if (call != UINT32_MAX && b->api->start_ns[call] > last) last = b->api->start_ns[call];
    }
    while (b->p->steps.n > 1 && b->p->steps.at[b->p->steps.n - 1].begin_ns > last) b->p->steps.n--;
    b->p->found_steps = best_n > 0;
    b->p->source = program->source;
}

/* Everything that was launched, as one step. */
static void choose_whole(struct build *b)
{
    struct gp_plan_step all = {.begin_ns = INT64_MAX, .end_ns = INT64_MIN};
    for (size_t i = 0; i < b->program->n; i++) {
        uint32_t call = gp_view_launch(b->v, b->program->rows[i]);
        if (call == UINT32_MAX) continue;
        if (b->api->start_ns[call] < all.begin_ns) all.begin_ns = b->api->start_ns[call];
        if (api_end(b, call) + 1 > all.end_ns) all.end_ns = api_end(b, call) + 1;
    }
    if (all.begin_ns < all.end_ns) GP_VEC_PUSH(&b->p->steps, all);
}

/* ---- items ---- */

struct launched {
    uint32_t call, row; /* of GP_API, of GP_GPU */
};

static int by_call(const void *a, const void *b)
{
    const struct launched *x = a, *y = b;
    if (x->call != y->call) return x->call < y->call ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

static void add_items(struct build *b)
{
    struct gp_plan *p = b->p;
    GP_VEC(struct launched) all = {0};
    for (size_t i = 0; i < b->program->n; i++) {
        uint32_t row = b->program->rows[i], call = gp_view_launch(b->v, row);
        if (call != UINT32_MAX && b->api->start_ns[call] >= p->begin_ns && b->api->start_ns[call] < b->end_ns)
            GP_VEC_PUSH(&all, ((struct launched){call, row}));
    }
    if (all.n) qsort(all.at, all.n, sizeof *all.at, by_call);
    for (size_t i = 0; i < all.n && i < GP_PLAN_ITEMS_MOST; i++) {
        uint32_t row = all.at[i].row;
        struct gp_replay_item item = {
            .dur_ns = b->gpu->dur_ns[row], .stream = b->stream_of_row[row], .after = NONE};
        p->item_of_row[row] = (uint32_t)p->items.n;
        b->launching_thread[b->api->track[all.at[i].call]] = 1;
        b->call_of_row[all.at[i].call] = 0; /* will be a call */
        GP_VEC_PUSH(&p->replay.items, item);
        GP_VEC_PUSH(&p->items, ((struct gp_plan_item){
                                   .row = row, .call = all.at[i].call, .start_ns = b->gpu->start_ns[row]}));
    }
    if (all.n > GP_PLAN_ITEMS_MOST) { /* the steps that are whole stay */
        int64_t cut = b->api->start_ns[all.at[GP_PLAN_ITEMS_MOST].call];
        while (p->steps.n > 1 && p->steps.at[p->steps.n - 1].end_ns > cut) p->steps.n--;
        if (p->steps.at[p->steps.n - 1].end_ns > cut) p->steps.at[p->steps.n - 1].end_ns = cut;
        b->end_ns = p->steps.at[p->steps.n - 1].end_ns;
        while (p->items.n && b->api->start_ns[p->items.at[p->items.n - 1].call] >= b->end_ns) {
            p->item_of_row[p->items.at[--p->items.n].row] = NONE;
            p->replay.items.n--;
        }
    }
    GP_VEC_FREE(&all);
}

/* ---- calls ---- */

static bool is_call(const struct build *b, uint32_t row)
{
    if (b->call_of_row[row] != NONE) return true;
    return b->launching_thread[b->api->track[row]] &&
           gp_call_synchronizes(gp_trace_str(b->v->t, b->api->name[row]));
}

static void add_calls(struct build *b)
{
    struct gp_plan *p = b->p;
    int64_t host = p->begin_ns;
    uint32_t next = 0;
    for (uint32_t row = 0; row < b->api->n; row++) {
        int64_t begin = b->api->start_ns[row];
        if (begin < p->begin_ns || begin >= b->end_ns || !is_call(b, row)) continue;
        struct gp_replay_call call = {
            .before_ns = begin - host, .own_ns = b->api->dur_ns[row], .first = next, .waits_for = NONE};
        while (next < p->items.n && p->items.at[next].call == row) {
            p->items.at[next++].call = (uint32_t)p->calls.n;
            call.n++;
        }
        b->call_of_row[row] = (uint32_t)p->calls.n;
        if (api_end(b, row) > host) host = api_end(b, row);
        GP_VEC_PUSH(&p->replay.calls, call);
        GP_VEC_PUSH(&p->calls, ((struct gp_plan_call){.row = row, .waited_for = NONE}));
    }
    p->replay.tail_ns = p->found_steps && b->end_ns > host ? b->end_ns - host : 0;
}

/* The GPU copies to a buffer of the driver's; from there the host copies on, before the call returns. */
static void copy_on(struct build *b, uint32_t k)
{
    struct gp_replay_call *call = &b->p->replay.calls.at[k];
    uint32_t item = call->waits_for;
    if (item == NONE || item < call->first || item >= call->first + call->n) return;
    if (!strstr(gp_trace_str(b->v->t, gp_gpu_config(b->v->t, b->p->items.at[item].row)->name), "Pageable"))
        return;
    int64_t ns =
        api_end(b, b->p->calls.at[k].row) - gpu_end(b, b->p->items.at[item].row) - b->p->replay.wake_ns;
    if (ns > JITTER_NS) call->after_ns = ns;
}

/* A call that could have waited but did not: what had ended by then must also end by then in a replay. */
static void wait_for_what_was_over(struct build *b, uint32_t k)
{
    struct gp_plan *p = b->p;
    struct gp_replay_call *call = &p->replay.calls.at[k];
    uint32_t row = p->calls.at[k].row, i = call->first;
    for (int tries = 0; i-- && tries < LOOK_BACK; tries++)
        if (gpu_end(b, p->items.at[i].row) <= api_end(b, row)) {
            call->waits_for = i;
            return;
        }
}

static void add_waits(struct build *b)
{
    struct gp_plan *p = b->p;
    struct gp_wait_index index;
    struct gp_waits waits;
    struct numbers wake = {0};
    gp_wait_index_build(&index, b->v);
    gp_waits_find(&waits, b->v, &index, p->producer, p->begin_ns, b->end_ns);
    gp_wait_index_release(&index);
    for (size_t i = 0; i < waits.calls.n; i++) {
        const struct gp_wait *w = &waits.calls.at[i];
        uint32_t k = b->call_of_row[w->call], item = p->item_of_row[w->row];
        if (k == NONE || item == NONE) continue;
        struct gp_replay_call *call = &p->replay.calls.at[k];
        int64_t least = CALL_NS;
        if (least > w->end_ns - w->begin_ns) least = w->end_ns - w->begin_ns;
        call->own_ns = least;
        call->waits_for = item;
        p->calls.at[k].waited_for = item;
        p->calls.at[k].waited_ns = w->end_ns - w->begin_ns - least;
        int64_t late = w->end_ns - gpu_end(b, w->row);
        if (late >= 0 && late < SANE_NS) GP_VEC_PUSH(&wake, late);
    }
    gp_waits_release(&waits);
    p->replay.wake_ns = median(&wake, 0);
    GP_VEC_FREE(&wake);
    for (uint32_t k = 0; k < p->calls.n; k++) copy_on(b, k);
    for (uint32_t k = 0; k < p->calls.n; k++)
        if (p->replay.calls.at[k].waits_for == NONE &&
            gp_call_synchronizes(gp_trace_str(b->v->t, b->api->name[p->calls.at[k].row])))
            wait_for_what_was_over(b, k);
}

/* Calls that wait for a device wait for the last item on it, which may be a different one after a change;
 * except calls that returned before an already launched item ended. */
static void wait_for_devices(struct build *b)
{
    struct gp_plan *p = b->p;
    int64_t *over_ns = gp_alloc((b->v->devices.n + 1) * sizeof *over_ns);
    for (size_t d = 0; d < b->v->devices.n; d++) over_ns[d] = INT64_MIN;
    for (uint32_t k = 0; k < p->calls.n; k++) {
        struct gp_replay_call *call = &p->replay.calls.at[k];
        for (uint32_t i = call->first; i < call->first + call->n; i++) {
            int64_t *over = &over_ns[b->v->device_of_row[p->items.at[i].row]],
                    end = gpu_end(b, p->items.at[i].row);
            if (end > *over) *over = end;
        }
        uint32_t row = p->calls.at[k].row;
        if (call->waits_for == NONE || !gp_call_synchronizes_device(gp_trace_str(b->v->t, b->api->name[row])))
            continue;
        uint32_t device = b->v->device_of_row[p->items.at[call->waits_for].row];
        call->waits_for_all = over_ns[device] <= api_end(b, row) + CLOCK_SLACK_NS;
    }
    free(over_ns);
}

/* ---- streams ---- */

/* Was ROW launched before the first step begins, or did it run before then, if its launch is not recorded? */
static bool comes_before(const struct build *b, uint32_t row)
{
    uint32_t call = gp_view_launch(b->v, row);
    return (call == UINT32_MAX ? b->gpu->start_ns[row] : b->api->start_ns[call]) < b->p->begin_ns;
}

/* Until when streams work on what was there before the first step, on the clock of the trace; INT64_MIN: they
 * do not. */
static void forget_times(struct build *b)
{
    for (size_t s = 0; s < b->v->streams.n; s++) b->free_ns[s] = INT64_MIN;
    for (size_t i = 0; i < b->program->n; i++) {
        uint32_t row = b->program->rows[i], s = b->stream_of_row[row];
        if (b->p->item_of_row[row] != NONE || !comes_before(b, row)) continue;
        if (gpu_end(b, row) > b->p->begin_ns && gpu_end(b, row) > b->free_ns[s])
            b->free_ns[s] = gpu_end(b, row);
    }
}

/* Is item I the first that its call launches? */
static bool is_first(const struct gp_plan *p, uint32_t i)
{
    return i == p->replay.calls.at[p->items.at[i].call].first;
}

static bool is_copy(const struct build *b, uint32_t item)
{
    return gp_gpu_config(b->v->t, b->p->items.at[item].row)->kind != GP_KERNEL;
}

/* When an item can start that finds its stream idle. */
static int64_t launched_ns(const struct build *b, uint32_t item)
{
    uint32_t call = b->p->items.at[item].call;
    return b->api->start_ns[b->p->calls.at[call].row] + b->p->replay.launch_ns -
           b->p->replay.calls.at[call].sooner_ns;
}

/* From the begin of a call to the start of its item, where the program's streams had nothing else to do:
 * kernels and copies take different times. */
static void measure_launches(struct build *b)
{
    struct gp_plan *p = b->p;
    struct numbers launch = {0}, kinds[2] = {{0}};
    int64_t any_until = INT64_MIN; /* something runs, on whatever stream */
    forget_times(b);
    for (size_t s = 0; s < b->v->streams.n; s++)
        if (b->free_ns[s] > any_until) any_until = b->free_ns[s];
    for (uint32_t i = 0; i < p->items.n; i++) {
        struct gp_plan_item *item = &p->items.at[i];
        int64_t begin = b->api->start_ns[p->calls.at[item->call].row], start = item->start_ns;
        if (is_first(p, i) && any_until <= begin) {
            item->drained = true;
            p->drained++;
            if (start >= begin && start - begin < SANE_NS) {
                GP_VEC_PUSH(&launch, start - begin);
                GP_VEC_PUSH(&kinds[is_copy(b, i)], start - begin);
            }
        }
        if (gpu_end(b, item->row) > any_until) any_until = gpu_end(b, item->row);
    }
    p->replay.launch_ns = median(&launch, 0);
    if (kinds[0].n >= GAPS_LEAST && kinds[1].n >= GAPS_LEAST) {
        p->replay.launch_ns = median(&kinds[0], 0);
        int64_t sooner_ns = p->replay.launch_ns - median(&kinds[1], 0);
        for (uint32_t i = 0; i < p->items.n; i++)
            if (is_copy(b, i) && is_first(p, i))
                p->replay.calls.at[p->items.at[i].call].sooner_ns = sooner_ns;
    }
    GP_VEC_FREE(&launch);
    for (int k = 0; k < 2; k++) GP_VEC_FREE(&kinds[k]);
}

/* What a gap lies between: before single items by whether those before and after it are kernels or copies and
 * sets, which another engine of the device may do; before graphs; inside graphs. */
enum { AFTER_COPY = 2, BEFORE_COPY = 1, GRAPH_FIRST = 4, GRAPH_GAP, GAP_KINDS };

/* By item. The caller frees the result. */
static uint8_t *kinds_of_gaps(const struct build *b)
{
    const struct gp_plan *p = b->p;
    uint8_t *kinds = gp_alloc(p->items.n + 1), *copied = gp_zalloc(b->v->streams.n + 1);
    for (uint32_t i = 0; i < p->items.n; i++) {
        uint8_t *last = &copied[p->replay.items.at[i].stream];
        bool copy = is_copy(b, i);
        uint8_t between = (uint8_t)((*last ? AFTER_COPY : 0) | (copy ? BEFORE_COPY : 0));
        kinds[i] = !is_first(p, i)                                 ? GRAPH_GAP
                   : p->replay.calls.at[p->items.at[i].call].n > 1 ? GRAPH_FIRST
                                                                   : between;
        *last = copy;
    }
    free(copied);
    return kinds;
}

/* Gaps between items of a stream where the later item was launched in time. */
static void measure_gaps(struct build *b)
{
    struct gp_plan *p = b->p;
    struct numbers gaps[GAP_KINDS] = {{0}}, single = {0};
    int64_t typical[GAP_KINDS];
    uint8_t *kinds = kinds_of_gaps(b);
    forget_times(b);
    for (uint32_t i = 0; i < p->items.n; i++) {
        int64_t *free_ns = &b->free_ns[p->replay.items.at[i].stream], start = p->items.at[i].start_ns;
        int64_t ready = launched_ns(b, i);
        int64_t most = kinds[i] == GRAPH_FIRST ? SANE_NS : JITTER_NS; /* graphs take their time to begin */
        if (*free_ns >= ready && start >= *free_ns && start - *free_ns <= most) {
            GP_VEC_PUSH(&gaps[kinds[i]], start - *free_ns);
            if (kinds[i] < GRAPH_FIRST) GP_VEC_PUSH(&single, start - *free_ns);
        }
        if (gpu_end(b, p->items.at[i].row) > *free_ns) *free_ns = gpu_end(b, p->items.at[i].row);
    }
    int64_t between = median(&single, GAP_NS);
    for (int k = 0; k < GAP_KINDS; k++) {
        typical[k] = gaps[k].n < GAPS_LEAST && k < GRAPH_FIRST ? between : median(&gaps[k], between);
        GP_VEC_FREE(&gaps[k]);
    }
    p->graph_gap_ns = typical[GRAPH_GAP];
    for (uint32_t i = 0; i < p->items.n; i++) p->replay.items.at[i].gap_ns = typical[kinds[i]];
    free(kinds);
    GP_VEC_FREE(&single);
}

/* Of the items launched before I on other streams, the one that ended last between AFTER and the start
 * of I. */
static uint32_t held_up_by(const struct build *b, uint32_t i, int64_t after_ns)
{
    const struct gp_plan *p = b->p;
    uint32_t found = NONE;
    int64_t last = after_ns;
    for (uint32_t k = i, tries = 0; k-- && tries < LOOK_BACK; tries++) {
        int64_t end = gpu_end(b, p->items.at[k].row);
        if (end <= last || end > p->items.at[i].start_ns) continue;
        if (p->replay.items.at[k].stream == p->replay.items.at[i].stream) continue;
        last = end;
        found = k;
    }
    return found;
}

static void find_delays(struct build *b)
{
    struct gp_plan *p = b->p;
    forget_times(b);
    for (uint32_t i = 0; i < p->items.n; i++) {
        struct gp_replay_item *item = &p->replay.items.at[i];
        int64_t start = p->items.at[i].start_ns, *free_ns = &b->free_ns[item->stream];
        int64_t ready = launched_ns(b, i);
        if (*free_ns != INT64_MIN && *free_ns + item->gap_ns > ready) ready = *free_ns + item->gap_ns;
        if (start - ready > JITTER_NS) {
            item->after = held_up_by(b, i, ready);
            if (item->after != NONE) ready = gpu_end(b, p->items.at[item->after].row);
            item->delay_ns = start - ready > JITTER_NS ? start - ready : 0;
        }
        if (gpu_end(b, p->items.at[i].row) > *free_ns) *free_ns = gpu_end(b, p->items.at[i].row);
    }
}

/* ---- all of it ---- */

static void number_steps(struct gp_plan *p, const struct gp_events *api)
{
    size_t s = 0;
    for (uint32_t k = 0; k < p->calls.n; k++) {
        while (s + 1 < p->steps.n && api->start_ns[p->calls.at[k].row] >= p->steps.at[s + 1].begin_ns) s++;
        struct gp_plan_step *step = &p->steps.at[s];
        const struct gp_replay_call *call = &p->replay.calls.at[k];
        if (!step->n_calls++) step->first_call = k, step->first_item = call->first;
        step->n_items += call->n;
        p->calls.at[k].step = (uint32_t)s;
        for (uint32_t i = call->first; i < call->first + call->n; i++) p->items.at[i].step = (uint32_t)s;
    }
}

static int64_t recorded(const struct build *b)
{
    int64_t end = b->p->found_steps ? b->end_ns : b->p->begin_ns;
    for (size_t i = 0; i < b->p->items.n; i++)
        if (gpu_end(b, b->p->items.at[i].row) > end) end = gpu_end(b, b->p->items.at[i].row);
    for (size_t k = 0; k < b->p->calls.n; k++)
        if (api_end(b, b->p->calls.at[k].row) > end) end = api_end(b, b->p->calls.at[k].row);
    return end - b->p->begin_ns;
}

static void build(struct build *b)
{
    struct gp_plan *p = b->p;
    p->begin_ns = p->steps.at[0].begin_ns;
    b->end_ns = p->steps.at[p->steps.n - 1].end_ns;
    add_items(b);
    add_calls(b);
    add_waits(b);
    wait_for_devices(b);
    forget_times(b);
    for (size_t s = 0; s < b->v->streams.n; s++)
        GP_VEC_PUSH(&b->p->replay.device, b->v->streams.at[s].device);
    for (size_t s = 0; s < b->v->streams.n; s++)
        GP_VEC_PUSH(&b->p->replay.free_ns, b->free_ns[s] == INT64_MIN ? 0 : b->free_ns[s] - b->p->begin_ns);
    measure_launches(b);
    measure_gaps(b);
    find_delays(b);
    number_steps(p, b->api);
    p->recorded_ns = recorded(b);
    gp_replay_keep_room(&p->replay);
}

static uint32_t *fill_none(size_t n)
{
    uint32_t *to = gp_alloc((n + 1) * sizeof *to);
    memset(to, 0xff, (n + 1) * sizeof *to);
    return to;
}

bool gp_plan_build(struct gp_plan *p, const struct gp_view *v, const struct gp_steps_program *program)
{
    struct build b = {
        .p = p, .v = v, .program = program, .gpu = &v->t->events[GP_GPU], .api = &v->t->events[GP_API]};
    memset(p, 0, sizeof *p);
    p->v = v;
    p->producer = program->producer;
    p->program = program;
    if (program->by_gpu_time || !program->n) return false;
    choose_steps(&b);
    if (!p->steps.n) choose_whole(&b);
    if (!p->steps.n) return false;
    p->item_of_row = fill_none(b.gpu->n);
    b.call_of_row = fill_none(b.api->n);
    b.stream_of_row = fill_none(b.gpu->n);
    b.launching_thread = gp_zalloc(v->t->tracks.n + 1);
    b.free_ns = gp_alloc((v->streams.n + 1) * sizeof *b.free_ns);
    for (uint32_t s = 0; s < v->streams.n; s++)
        for (size_t i = 0; i < v->streams.at[s].n; i++)
            b.stream_of_row[v->stream_rows[v->streams.at[s].first + i]] = s;
    build(&b);
    free(b.call_of_row);
    free(b.stream_of_row);
    free(b.launching_thread);
    free(b.free_ns);
    if (!p->items.n) gp_plan_release(p);
    return p->items.n > 0;
}

void gp_plan_release(struct gp_plan *p)
{
    gp_replay_release(&p->replay);
    GP_VEC_FREE(&p->items);
    GP_VEC_FREE(&p->calls);
    GP_VEC_FREE(&p->steps);
    free(p->item_of_row);
    p->item_of_row = NULL;
}

bool gp_plan_waited_for_result(const struct gp_plan *p, uint32_t k)
{
    const struct gp_replay_call *call = &p->replay.calls.at[k];
    uint32_t item = p->calls.at[k].waited_for;
    return item != GP_REPLAY_NONE && (!call->n || item >= call->first);
}

bool gp_plan_waits_between(const struct gp_plan *p, uint32_t from, uint32_t to)
{
    for (uint32_t k = p->items.at[from].call; k < p->items.at[to].call; k++)
        if (gp_plan_waited_for_result(p, k)) return true;
    return false;
}

int64_t gp_plan_length(const struct gp_plan *p) { return gp_replay_run(&p->replay, NULL, 0, NULL); }

int64_t gp_plan_step_ns(const struct gp_plan *p, const struct gp_edit *edits, size_t n)
{
    return gp_plan_step_of(p, &p->replay, edits, n);
}

int64_t gp_plan_step_of(const struct gp_plan *p, const struct gp_replay *r, const struct gp_edit *edits,
                        size_t n)
{
    const struct gp_plan_step *first = &p->steps.at[0], *last = &p->steps.at[p->steps.n - 1];
    struct gp_replay_marks marks = {first->first_item, last->first_item, 0, 0};
    int64_t length = gp_replay_run(r, edits, n, &marks);
    if (p->steps.n < 2 || !first->n_items || !last->n_items) return length / (int64_t)p->steps.n;
    return (marks.to_ns - marks.from_ns) / (int64_t)(p->steps.n - 1);
}
