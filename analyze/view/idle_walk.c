#include "analyze/view/idle_walk.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include "analyze/math/histogram.h"
#include "analyze/math/sums.h"
#include "analyze/names/name_predicates.h"
#include "analyze/view/backward.h"
#include "analyze/view/gauges.h"
#include "formats/base/order.h"
#include "formats/base/str.h"

/* Less is a desktop, or what rounding makes of nothing. */
static const double OTHERS_PCT = 5;

GP_WORD(gp_idle_cause_name, enum gp_idle_cause, GP_IDLE_CAUSES, 1)
GP_WORD(gp_idle_cause_text, enum gp_idle_cause, GP_IDLE_CAUSES, 2)

static const struct gp_field cause_fields[] = {
#define X(id, name, text)                                                                                    \
    {name "_ns",           NULL,         GP_CELL_NS,          gp_member_i64,                                 \
     id * sizeof(int64_t), .help = text, .keep = GP_KEEP_I64, .merge = GP_MERGE_SUM},
    GP_IDLE_CAUSES(X)
#undef X
};
const struct gp_record gp_idle_causes = {"idle", NULL, GP_FIELDS(cause_fields),
                                         GP_IDLE_CAUSE_COUNT * sizeof(int64_t),
                                         .note = "idle time by cause; sums to idle_ns"};

/* ---- names ---- */

enum gp_idle_cause gp_idle_call_cause(const char *name)
{
    if (gp_call_synchronizes(name)) return GP_IDLE_SYNC;
    return gp_call_blocks(name) ? GP_IDLE_ALLOCATION : GP_IDLE_HOST;
}

/* Letters and digits in lower case, one blank between words: "Load_Batch #3" -> "load batch". Numbers go. */
static size_t plain_words(char *to, size_t room, const char *s, size_t n)
{
    size_t len = 0;
    bool gap = false;
    for (size_t i = 0; i < n && len + 2 < room; i++) {
        if (!isalpha((unsigned char)s[i])) {
            gap = len > 0;
            continue;
        }
        if (gap) to[len++] = ' ';
        gap = false;
        to[len++] = (char)tolower((unsigned char)s[i]);
    }
    to[len] = '\0';
    return len;
}

bool gp_idle_loads_data(enum gp_table table, const char *name, size_t n)
{
    static const char *const parts[] = {"dataloader", "data load", "load data", "loading data",
                                        "torch utils data "};
    static const char ranges[] = "load|loading|loader|data|fetch batch|load batch|next batch|get batch|"
                                 "batch loading|fetch data|get data|data fetch|data loader|input pipeline";
    char words[256];
    if (table == GP_API) return false;
    plain_words(words, sizeof words, name, n);
    for (size_t i = 0; i < GP_COUNT(parts); i++)
        if (strstr(words, parts[i])) return true;
    return table == GP_RANGE && gp_is_choice(ranges, words);
}

/* ---- the walk ---- */

static const int64_t EARLIEST = -(INT64_MAX / 2), LATEST = INT64_MAX / 2;
/* What dispatches operators launches more often. */
static const int64_t PYTHON_LEAST_NS = 1000000;

/* What is known about a name, so that each is looked at once. */
enum { AS_CALL = 1, AS_CALL_WAITS = 2, AS_FRAME = 4, AS_FRAME_LOADS = 8, AS_RANGE = 16, AS_RANGE_LOADS = 32 };
enum { WORK_SHIFT = 8 };        /* three bits: enum gp_host_work of a Python frame */
enum { IS_STATE = 1 << 11 };    /* a Python frame that is a thread's state, not a function */
#define SECOND (UINT32_MAX - 1) /* no thread: see emit_thread */
enum { CALL_SHIFT = 6 };        /* two bits: 0 host, 1 synchronises, 2 blocks */

/* The last GPU event on a stream. */
struct last_event {
    int64_t end_ns;
    uint32_t row;
};

struct gap {
    int64_t begin_ns, end_ns;
    uint32_t row;        /* the event that ends it */
    uint32_t before;     /* the event that ended last before it */
    int64_t stream_end;  /* end of the last event of its stream before it; EARLIEST: it is the first */
    uint32_t stream_row; /* that event */
};

struct walk {
    const struct gp_view *v;
    struct gp_gauges gauges;
    gp_idle_fn *fn;
    void *ctx;
    uint16_t *of_name;       /* by sid: AS_* */
    uint8_t *of_node;        /* by host event: 1 + cause of time in it; 0: not looked at yet */
    GP_VEC(uint32_t) chain;  /* for cause_of_node(); empty */
    uint32_t *stream_of;     /* by track: index into view->streams */
    struct last_event *last; /* by stream */
    uint32_t threads[2];     /* the two threads that launched last on the device, UINT32_MAX: none */
    uint32_t wait, waiter;   /* the call that synchronised last, and the function that it is in */
    int64_t waited_ns;       /* when it was over */
    gp_sid category;         /* of the row that seen_in() looked at last, and */
    int seen;                /* what it means */
    uint8_t *sampled;        /* by track: there are samples of it */
    struct gp_histogram latency, queue_gap;
    int64_t latency_ns, latency_limit_ns, queue_limit_ns;
    uint32_t *cursor; /* by track: see next_node */
    uint64_t steps_left;
    struct gp_idle_piece piece;   /* the current gap: begins where the reported part ends */
    struct gp_idle_piece pending; /* found but not yet reported: the next piece may continue it */
};

static int64_t start_of(const struct walk *w, uint32_t row)
{
    int64_t s = w->v->t->events[GP_GPU].start_ns[row];
    return s < EARLIEST ? EARLIEST : s > LATEST ? LATEST : s;
}

static int64_t end_of(const struct walk *w, uint32_t row)
{
    int64_t s = start_of(w, row), dur = w->v->t->events[GP_GPU].dur_ns[row];
    return dur > LATEST - s ? LATEST : s + dur;
}

static int64_t min_of(int64_t a, int64_t b) { return a < b ? a : b; }

static int64_t max_of(int64_t a, int64_t b) { return a > b ? a : b; }

/* Report the pending piece. */
static void flush(struct walk *w)
{
    if (w->pending.end_ns > w->pending.begin_ns) w->fn(w->ctx, &w->pending);
    w->pending.end_ns = w->pending.begin_ns;
}

/* The next piece of the current gap, up to END; nothing if END is not later. */
static void emit(struct walk *w, int64_t end_ns, enum gp_idle_cause cause, uint32_t node)
{
    struct gp_idle_piece *p = &w->piece;
    if (end_ns > p->gap_end_ns) end_ns = p->gap_end_ns;
    if (end_ns <= p->begin_ns) return;
    if (w->pending.end_ns > w->pending.begin_ns && (w->pending.cause != cause || w->pending.node != node))
        flush(w);
    if (w->pending.end_ns <= w->pending.begin_ns) w->pending = *p;
    w->pending.end_ns = end_ns;
    w->pending.cause = cause;
    w->pending.node = node;
    p->begin_ns = end_ns;
}

/* ---- the host's activity ---- */

static unsigned look_at_name(struct walk *w, enum gp_table table, gp_sid name)
{
    uint16_t *known = &w->of_name[name];
    uint16_t bit = table == GP_API ? AS_CALL : table == GP_RANGE ? AS_RANGE : AS_FRAME;
    if (*known & bit) return *known;
    const char *text = gp_trace_str(w->v->t, name);
    *known |= bit;
    if (bit == AS_FRAME) *known |= (uint16_t)((unsigned)gp_frame_work(text) << WORK_SHIFT);
    if (bit == AS_FRAME && gp_frame_is_state(text)) *known |= IS_STATE;
    if (table == GP_API) {
        enum gp_idle_cause cause = gp_idle_call_cause(text);
        if (cause != GP_IDLE_HOST) *known |= (uint16_t)((cause == GP_IDLE_SYNC ? 1u : 2u) << CALL_SHIFT);
        if (gp_call_orders_wait(text)) *known |= AS_CALL_WAITS;
    } else if (gp_idle_loads_data(table, text, gp_string_len(&w->v->t->strings, name))) {
        *known |= table == GP_RANGE ? AS_RANGE_LOADS : AS_FRAME_LOADS;
    }
    return *known;
}

/* Garbage is collected wherever it is; other work of frames is what is around it, if that is known. */
static enum gp_idle_cause cause_of_work(enum gp_host_work work, enum gp_idle_cause around)
{
    static const enum gp_idle_cause causes[] = {[GP_WORK_OTHER] = GP_IDLE_HOST,
                                                [GP_WORK_GARBAGE] = GP_IDLE_GARBAGE,
                                                [GP_WORK_LOCK] = GP_IDLE_LOCK,
                                                [GP_WORK_LOGGING] = GP_IDLE_LOGGING,
                                                [GP_WORK_IMPORT] = GP_IDLE_IMPORT};
    return around == GP_IDLE_HOST || work == GP_WORK_GARBAGE ? causes[work] : around;
}

/* The cause of host time in node ID, from that of the node around it. */
static enum gp_idle_cause cause_inside(struct walk *w, uint32_t id, enum gp_idle_cause around)
{
    const struct gp_host_event *ev = &w->v->hs.nodes[id];
    unsigned known = look_at_name(w, (enum gp_table)ev->table, w->v->t->events[ev->table].name[ev->row]);
    if (ev->table == GP_API) {
        unsigned call = known >> CALL_SHIFT & 3;
        return call == 1 ? GP_IDLE_SYNC : call == 2 ? GP_IDLE_ALLOCATION : around;
    }
    if (known & (ev->table == GP_RANGE ? AS_RANGE_LOADS : AS_FRAME_LOADS)) return GP_IDLE_DATA;
    if (ev->table != GP_PYTHON) return around;
    enum gp_host_work work = (enum gp_host_work)(known >> WORK_SHIFT & 7);
    if (work == GP_WORK_LOCK && gp_backward_waits(w->v->t, &w->v->hs, id)) work = GP_WORK_OTHER;
    return cause_of_work(work, around);
}

/* Each node is worked out once: the parents that are not known yet are few, or never come again. */
static enum gp_idle_cause cause_of_node(struct walk *w, uint32_t id)
{
    const struct gp_host_event *nodes = w->v->hs.nodes;
    uint32_t top;
    if (id == GP_HOST_NONE) return GP_IDLE_HOST;
    if (w->of_node[id]) return (enum gp_idle_cause)(w->of_node[id] - 1);
    for (top = nodes[id].parent; top != GP_HOST_NONE && !w->of_node[top]; top = nodes[top].parent)
        GP_VEC_PUSH(&w->chain, top);
    enum gp_idle_cause cause = top == GP_HOST_NONE ? GP_IDLE_HOST : (enum gp_idle_cause)(w->of_node[top] - 1);
    while (w->chain.n) {
        top = w->chain.at[--w->chain.n];
        cause = cause_inside(w, top, cause);
        w->of_node[top] = (uint8_t)(1 + cause);
    }
    cause = cause_inside(w, id, cause);
    w->of_node[id] = (uint8_t)(1 + cause);
    return cause;
}

/* Index of the first node of TRACK that begins after AT. Gaps come in order of time, so it is mostly near
 * the one that was found before. */
static uint32_t next_node(struct walk *w, uint32_t track, int64_t at_ns)
{
    const struct gp_host_stack *hs = &w->v->hs;
    uint32_t lo = hs->first[track], hi = hs->end[track], from = w->cursor[track], step = 1;
    if (from > lo && hs->nodes[from - 1].start_ns <= at_ns) {
        for (lo = from; lo < hi && step < hi - lo && hs->nodes[lo + step].start_ns <= at_ns; step *= 2)
            lo += step;
        if (step < hi - lo) hi = lo + step;
    }
    GP_NARROW(lo, hi, mid, hs->nodes[mid].start_ns <= at_ns);
    w->cursor[track] = lo;
    return lo;
}

static bool in_framework(const struct gp_host_stack *hs, uint32_t node)
{
    while (node != GP_HOST_NONE && hs->nodes[node].table == GP_API) node = hs->nodes[node].parent;
    return node != GP_HOST_NONE;
}

/* How NODE is known to be a function that a thread was in. */
enum seen { NOT_SEEN, BY_STACK, BY_SAMPLES };

static enum seen seen_in(struct walk *w, uint32_t node)
{
    if (node == GP_HOST_NONE || w->v->hs.nodes[node].table != GP_PYTHON) return NOT_SEEN;
    const struct gp_host_event *ev = &w->v->hs.nodes[node];
    const struct gp_trace *t = w->v->t;
    const struct gp_events *e = &t->events[GP_PYTHON];
    gp_sid category = gp_get_cat(e, ev->row);
    if (!category || look_at_name(w, GP_PYTHON, e->name[ev->row]) & IS_STATE) return NOT_SEEN;
    if (category != w->category) {
        const char *text = gp_trace_str(t, category);
        w->category = category;
        w->seen = gp_category_is_sampled(text) ? BY_SAMPLES
                  : gp_category_is_stack(text) ? BY_STACK
                                               : NOT_SEEN;
    }
    return w->seen == BY_STACK && w->sampled[e->track[ev->row]] ? BY_SAMPLES : w->seen;
}

/* Host time up to END in function NODE without a call in it. Samples would have shown it if the thread had
 * not been running. */
static enum gp_idle_cause cause_in_function(const struct walk *w, int64_t end_ns, uint32_t node,
                                            enum seen seen)
{
    int64_t begin = w->piece.begin_ns, ns = min_of(end_ns, w->piece.gap_end_ns) - begin;
    /* it makes its next call soon after one that synchronised, and could have made it before */
    if (node == w->waiter && begin == w->waited_ns && ns <= w->latency_limit_ns) return GP_IDLE_SYNC;
    return seen == BY_SAMPLES && ns >= PYTHON_LEAST_NS ? GP_IDLE_PYTHON : GP_IDLE_HOST;
}

static void note_wait(struct walk *w, int64_t end_ns, uint32_t node)
{
    w->wait = node;
    w->waited_ns = end_ns;
    while (node != GP_HOST_NONE && w->v->hs.nodes[node].table == GP_API) node = w->v->hs.nodes[node].parent;
    w->waiter = node;
}

static void emit_thread(struct walk *w, uint32_t track, int64_t end_ns, uint32_t other);

/* Add time during which a thread was in NODE. If it was in nothing, thread OTHER decides; UINT32_MAX: no
 * such thread. */
static void emit_node(struct walk *w, int64_t end_ns, uint32_t node, uint32_t other)
{
    if (other == SECOND && !in_framework(&w->v->hs, node)) node = GP_HOST_NONE;
    if (node == GP_HOST_NONE && other != UINT32_MAX && other != SECOND) {
        emit_thread(w, other, end_ns, SECOND);
        return;
    }
    enum gp_idle_cause cause = cause_of_node(w, node);
    /* what it waits for is the thread that launches, as backward() does for autograd's */
    if (other == SECOND && cause == GP_IDLE_LOCK) cause = GP_IDLE_HOST;
    if (cause == GP_IDLE_SYNC) note_wait(w, end_ns, node);
    enum seen seen = cause == GP_IDLE_HOST ? seen_in(w, node) : NOT_SEEN;
    if (seen) cause = cause_in_function(w, end_ns, node, seen);
    emit(w, end_ns, cause, cause == GP_IDLE_SYNC ? w->wait : node);
}

/* Add the host time on TRACK from the current end of the gap. OTHER is a thread to consult where this one
 * is in nothing; UINT32_MAX: none, SECOND: this is that thread. */
static void emit_thread(struct walk *w, uint32_t track, int64_t end_ns, uint32_t other)
{
    const struct gp_host_stack *hs = &w->v->hs;
    int64_t at = w->piece.begin_ns;
    if (at >= end_ns) return;
    if (!w->steps_left) { /* see README.md, "Idle time": only damaged input gets here */
        emit_node(w, end_ns, gp_host_at(hs, track, at + (end_ns - at) / 2), other);
        return;
    }
    uint32_t next = next_node(w, track, at), last = hs->end[track];
    uint32_t node = next > hs->first[track] ? next - 1 : GP_HOST_NONE; /* or one around it: see gp_host_at */
    while (at < end_ns) {
        node = gp_host_ends_from(hs, node, at + 1, NULL);
        int64_t until = node == GP_HOST_NONE ? end_ns : min_of(end_ns, hs->nodes[node].end_ns);
        uint32_t deeper = node;
        if (next < last && hs->nodes[next].start_ns <= until) {
            until = hs->nodes[next].start_ns;
            deeper = next++;
        }
        emit_node(w, until, node, other);
        at = until;
        node = deeper;
        if (w->steps_left) w->steps_left--;
    }
}

/* ---- the launch ---- */

/* Position of the launch call. */
struct call {
    int64_t begin_ns, end_ns;
    uint32_t node, thread; /* GP_HOST_NONE, UINT32_MAX: on no thread */
};

static bool call_of(const struct walk *w, uint32_t row, struct call *c)
{
    uint32_t api = gp_view_launch(w->v, row);
    if (api == UINT32_MAX) return false;
    const struct gp_events *e = &w->v->t->events[GP_API];
    c->begin_ns = min_of(max_of(e->start_ns[api], EARLIEST), LATEST);
    c->end_ns = e->dur_ns[api] > LATEST - c->begin_ns ? LATEST : c->begin_ns + e->dur_ns[api];
    c->node = gp_host_node(&w->v->hs, GP_API, api);
    c->thread = c->node == GP_HOST_NONE ? UINT32_MAX : gp_host_track(&w->v->hs, c->node);
    return true;
}

/* Is there a record that the stream of ROW was ordered to wait for an event, in [FROM, TO]? */
static bool wait_recorded(const struct walk *w, uint32_t row, int64_t from_ns, int64_t to_ns)
{
    const struct gp_trace *t = w->v->t;
    const struct gp_events *sync = &t->events[GP_SYNC];
    size_t lo = gp_events_from(sync, from_ns);
    enum { MOST = 256 }; /* there are one or two between launches */
    for (size_t i = lo; i < sync->n && i < lo + MOST && sync->start_ns[i] <= to_ns; i++)
        if (sync->track[i] == t->events[GP_GPU].track[row] && strstr(gp_trace_str(t, sync->name[i]), "Wait"))
            return true;
    return false;
}

/* Did the launching thread order a wait just before the launch, which begins at node ID? Looks back as far
 * as the launch before. */
static bool ordered_wait(struct walk *w, uint32_t id)
{
    const struct gp_host_stack *hs = &w->v->hs;
    enum { MOST = 256 };
    uint32_t first = hs->first[gp_host_track(hs, id)], steps = 0;
    for (uint32_t i = id; i-- > first && steps++ < MOST;) {
        const struct gp_host_event *ev = &hs->nodes[i];
        if (ev->table != GP_API) continue;
        gp_sid name = w->v->t->events[GP_API].name[ev->row];
        if (look_at_name(w, GP_API, name) & AS_CALL_WAITS) return true;
        if (gp_call_gives_work(gp_trace_str(w->v->t, name))) break;
    }
    return false;
}

/* Explains why launched work with nothing before it still did not start. */
static enum gp_idle_cause cause_of_stall(struct walk *w, const struct gap *g, const struct call *c)
{
    struct call before;
    if (c->node != GP_HOST_NONE && ordered_wait(w, c->node)) return GP_IDLE_DEPENDENCY;
    bool known =
        g->stream_row != UINT32_MAX && call_of(w, g->stream_row, &before) && before.begin_ns <= c->begin_ns;
    int64_t from_ns = known ? before.begin_ns : c->begin_ns - w->latency_limit_ns;
    if (wait_recorded(w, g->row, from_ns, c->end_ns)) return GP_IDLE_DEPENDENCY;
    const struct gp_gauge_gpu *gpu = gp_gauges_of(&w->gauges, w->piece.device);
    bool others = gpu && gp_step_mean(&gpu->of[GP_GAUGE_OTHERS], w->piece.begin_ns, g->end_ns) >= OTHERS_PCT;
    return others ? GP_IDLE_OTHER : GP_IDLE_UNKNOWN;
}

static bool same_call(const struct walk *w, uint32_t a, uint32_t b)
{
    return a != UINT32_MAX && gp_view_launch(w->v, a) == gp_view_launch(w->v, b);
}

static void emit_host(struct walk *w, const struct call *c, int64_t end_ns)
{
    if (w->piece.begin_ns >= end_ns) return;
    uint32_t other = w->threads[0] == c->thread ? w->threads[1] : w->threads[0];
    if (c->thread == UINT32_MAX) emit_node(w, end_ns, GP_HOST_NONE, other);
    else emit_thread(w, c->thread, end_ns, other);
}

/* The call itself, from its start or that of the gap: all but the end of a long call is host time, and all
 * of a blocking call. */
static void emit_call(struct walk *w, const struct call *c)
{
    int64_t end = min_of(c->end_ns, w->piece.gap_end_ns);
    bool blocks = c->node != GP_HOST_NONE && cause_of_node(w, c->node) == GP_IDLE_ALLOCATION;
    emit_host(w, c, blocks ? end : end - w->latency_limit_ns);
    emit(w, end, GP_IDLE_LAUNCH, c->node);
}

/* It was in its stream's queue. */
static void emit_queue(struct walk *w, const struct gap *g, const struct call *c)
{
    if (w->piece.begin_ns >= g->end_ns) return;
    bool in_order = g->stream_end >= g->begin_ns;
    if (in_order || g->end_ns - g->stream_end <= w->queue_limit_ns)
        emit(w, max_of(g->stream_end, g->begin_ns) + w->queue_limit_ns, GP_IDLE_QUEUED, c->node);
    else emit(w, g->begin_ns + w->latency_limit_ns, GP_IDLE_DEPENDENCY, c->node);
    if (w->piece.begin_ns < g->end_ns) emit(w, g->end_ns, cause_of_stall(w, g, c), c->node);
}

static void emit_gap(struct walk *w, const struct gap *g)
{
    struct call c;
    w->piece.row = g->row;
    w->piece.begin_ns = w->piece.gap_begin_ns = g->begin_ns;
    w->piece.gap_end_ns = g->end_ns;
    if (!call_of(w, g->row, &c) || c.begin_ns > g->end_ns) {
        emit(w, g->end_ns, GP_IDLE_UNKNOWN, w->v->at.node[g->row]);
    } else if (c.begin_ns >= g->begin_ns) {
        /* The launch began in the gap. */
        emit_host(w, &c, c.begin_ns);
        emit_call(w, &c);
        emit(w, max_of(w->piece.begin_ns, min_of(c.end_ns, g->end_ns)) + w->latency_limit_ns, GP_IDLE_LAUNCH,
             c.node);
        if (w->piece.begin_ns < g->end_ns) emit(w, g->end_ns, cause_of_stall(w, g, &c), c.node);
    } else {
        bool was_running = same_call(w, g->before, g->row) || same_call(w, g->stream_row, g->row);
        if (!was_running) {
            if (c.end_ns > g->begin_ns) emit_call(w, &c);
            emit(w, c.begin_ns + w->latency_ns, GP_IDLE_LAUNCH, c.node);
        }
        emit_queue(w, g, &c);
    }
    flush(w);
}

/* ---- gaps ---- */

/* The device's medians come from a first look at all gaps. */
static void measure_gap(struct walk *w, const struct gap *g)
{
    struct call c;
    if (!call_of(w, g->row, &c) || c.begin_ns > g->end_ns) return;
    if (c.begin_ns >= g->begin_ns) gp_histogram_add(&w->latency, g->end_ns - c.begin_ns);
    else if (g->stream_end == g->begin_ns) gp_histogram_add(&w->queue_gap, g->end_ns - g->begin_ns);
}

static void note_thread(struct walk *w, uint32_t row)
{
    uint32_t node = w->v->at.node[row];
    if (node == GP_HOST_NONE) return;
    uint32_t track = gp_host_track(&w->v->hs, node);
    if (track == w->threads[0]) return;
    w->threads[1] = w->threads[0];
    w->threads[0] = track;
}

/* Of the events I.. that start together, the one of the first stream. */
static uint32_t first_stream_row(const struct walk *w, const uint32_t *rows, size_t n, size_t i)
{
    const struct gp_events *gpu = &w->v->t->events[GP_GPU];
    uint32_t best = rows[i];
    for (size_t k = i + 1; k < n && gpu->start_ns[rows[k]] == gpu->start_ns[rows[i]]; k++)
        if (w->stream_of[gpu->track[rows[k]]] < w->stream_of[gpu->track[best]]) best = rows[k];
    return best;
}

typedef void gap_fn(struct walk *w, const struct gap *g);

static void each_gap(struct walk *w, uint32_t device, gap_fn *fn)
{
    const struct gp_view_device *d = &w->v->devices.at[device];
    const uint32_t *rows = w->v->rows + d->first, *track = w->v->t->events[GP_GPU].track;
    struct gap g = {0};
    int64_t busy_until = d->n ? start_of(w, rows[0]) : 0;
    uint32_t before = UINT32_MAX;
    w->threads[0] = w->threads[1] = UINT32_MAX;
    for (size_t i = d->first_stream; i < d->first_stream + d->n_streams; i++)
        w->last[i] = (struct last_event){EARLIEST, UINT32_MAX};
    for (size_t i = 0; i < d->n; i++) {
        int64_t start = start_of(w, rows[i]), end = end_of(w, rows[i]);
        if (start > busy_until) {
            uint32_t row = first_stream_row(w, rows, d->n, i);
            const struct last_event *last = &w->last[w->stream_of[track[row]]];
            g = (struct gap){busy_until, start, row, before, last->end_ns, last->row};
            fn(w, &g);
            busy_until = start;
        }
        struct last_event *mine = &w->last[w->stream_of[track[rows[i]]]];
        if (end >= mine->end_ns) *mine = (struct last_event){end, rows[i]};
        if (end >= busy_until) before = rows[i], busy_until = end;
        note_thread(w, rows[i]);
    }
}

static int64_t clamp(int64_t v, int64_t low, int64_t high) { return v < low ? low : v > high ? high : v; }

void gp_idle_walk(const struct gp_view *v, gp_idle_fn *fn, void *ctx)
{
    const struct gp_trace *t = v->t;
    struct walk w = {.v = v, .fn = fn, .ctx = ctx};
    w.of_name = gp_zalloc((t->strings.n + 1) * sizeof *w.of_name);
    w.of_node = gp_zalloc((size_t)v->hs.n + 1);
    w.stream_of = gp_zalloc((t->tracks.n + 1) * sizeof *w.stream_of);
    w.cursor = gp_zalloc((t->tracks.n + 1) * sizeof *w.cursor);
    w.sampled = gp_zalloc(t->tracks.n + 1);
    for (size_t i = 0; i < t->events[GP_SAMPLE].n; i++) w.sampled[t->events[GP_SAMPLE].track[i]] = 1;
    w.last = gp_alloc((v->streams.n + 1) * sizeof *w.last);
    w.steps_left = 16 * ((uint64_t)v->hs.n + t->events[GP_GPU].n) + 1024;
    for (uint32_t s = 0; s < v->streams.n; s++)
        for (size_t i = 0; i < v->streams.at[s].n; i++)
            w.stream_of[t->events[GP_GPU].track[v->stream_rows[v->streams.at[s].first + i]]] = s;
    gp_gauges_find(&w.gauges, v);
    for (uint32_t d = 0; d < v->devices.n; d++) {
        w.latency = w.queue_gap = (struct gp_histogram){0};
        each_gap(&w, d, measure_gap);
        w.latency_ns = clamp(gp_histogram_quantile(&w.latency, 0.5), 0, 100000);
        w.latency_limit_ns = clamp(4 * w.latency_ns, 10000, 100000);
        w.queue_limit_ns = clamp(4 * clamp(gp_histogram_quantile(&w.queue_gap, 0.5), 0, 50000), 10000, 50000);
        gp_histogram_release(&w.latency);
        gp_histogram_release(&w.queue_gap);
        w.piece.device = d;
        w.waiter = GP_HOST_NONE;
        each_gap(&w, d, emit_gap);
    }
    gp_gauges_release(&w.gauges);
    GP_RELEASE(free, w.of_name, w.of_node, w.stream_of, w.cursor, w.sampled, w.last);
    GP_VEC_FREE(&w.chain);
}

int64_t gp_idle_for_host_ns(const int64_t ns[GP_IDLE_CAUSE_COUNT])
{
    static const enum gp_idle_cause of_host[] = {
        GP_IDLE_HOST,    GP_IDLE_SYNC, GP_IDLE_LAUNCH,  GP_IDLE_DATA,   GP_IDLE_PYTHON,
        GP_IDLE_GARBAGE, GP_IDLE_LOCK, GP_IDLE_LOGGING, GP_IDLE_IMPORT, GP_IDLE_ALLOCATION};
    int64_t sum = 0;
    for (size_t i = 0; i < GP_COUNT(of_host); i++) sum = gp_add_saturated(sum, ns[of_host[i]]);
    return sum;
}
