// The chain of waiting that made a step as long as it was, found by walking back from its end: at every
// moment the
// question is what had to end last before this could begin. Definitions: analyze/hta/README.md, "The critical
// path".
#include <stdlib.h>
#include <string.h>
#include "analyze/hta/hta.h"
#include "analyze/hta/hta_priv.h"
#include "analyze/math/end_heap.h"
#include "analyze/math/sums.h"
#include "analyze/names/name_predicates.h"
#include "analyze/names/names.h"
#include "analyze/view/backward.h"
#include "analyze/view/waits.h"
#include "formats/base/buf.h"
#include "formats/base/str.h"

GP_WORD(gp_path_bound_name, enum gp_path_bound, GP_PATH_BOUNDS, 1)
GP_WORD(gp_path_bound_text, enum gp_path_bound, GP_PATH_BOUNDS, 2)

#define NONE UINT32_MAX
enum { LOOK_BACK = 256 }; /* events or calls, in search of a certain one */

/* What a thread did just before a moment. */
struct doing {
    uint32_t node; /* innermost event that was open; GP_HOST_NONE: none */
    /* it, or the absence of an open event, reaches back to here; INT64_MIN: to the beginning */
    int64_t since_ns;
};

struct thread {
    uint32_t track;
    struct doing doing; /* where the walk was when it was looked at */
};

struct turn {
    int64_t since_ns;
    uint32_t thread; /* index into threads */
};

/* For heaps: the latest turn on top, of the first thread. */
#define IS_LATER(a, b)                                                                                       \
    ((a).since_ns > (b).since_ns || ((a).since_ns == (b).since_ns && (a).thread < (b).thread))

struct walk {
    const struct gp_view *v;
    struct gp_hta *h;
    struct gp_hta_path *path; /* its pieces are pushed latest first */
    int64_t begin_ns;         /* of the window */
    int64_t at_ns;            /* explained from here to the end */
    const uint32_t *previous; /* by row of GP_GPU: the one before it on its stream */
    struct gp_waits waits;
    GP_VEC(struct thread) threads; /* that have host events; none: not asked for yet */
    GP_VEC(struct turn) turns;     /* heap, the latest first: the last activity of each thread */
    GP_VEC(struct turn) open;      /* heap of those turns in which an event was open */
    const struct gp_wait_index *index;
    uint32_t producer;
    struct gp_map labels; /* (table, sid of the trace) -> sid of the result */
};

/* ---- labels ---- */

static gp_sid label_of(struct walk *w, enum gp_table table, gp_sid name)
{
    uint32_t *known = gp_map_put(&w->labels, (uint64_t)table << 32 | name, NONE);
    if (*known != NONE) return *known;
    struct gp_buf label = {0};
    gp_name_label(&label, table, gp_trace_str(w->v->t, name), gp_string_len(&w->v->t->strings, name));
    return *known = gp_intern_buf(&w->h->strings, &label);
}

/* The name in full; of our collector's traces demangled, as everywhere. */
static gp_sid full_name(struct walk *w, gp_sid name)
{
    uint32_t *known = gp_map_put(&w->labels, (uint64_t)GP_TABLE_COUNT << 32 | name, NONE);
    if (*known != NONE) return *known;
    struct gp_buf full = {0};
    gp_name_demangle(&full, gp_trace_str(w->v->t, name), gp_string_len(&w->v->t->strings, name));
    return *known = gp_intern_buf(&w->h->strings, &full);
}

static gp_sid kernel_label(struct walk *w, uint32_t row)
{
    const struct gp_config *c = gp_gpu_config(w->v->t, row);
    return c->kind == GP_KERNEL ? label_of(w, GP_GPU, c->name)
                                : gp_intern_from(&w->h->strings, &w->v->t->strings, c->name);
}

/* ---- pieces ---- */

static const struct gp_track *track_of(const struct walk *w, uint32_t track)
{
    return &w->v->t->tracks.at[track];
}

/* Explain the time from FROM to the part already explained. Consecutive equal pieces become one. */
static void explain(struct walk *w, int64_t from_ns, struct gp_path_piece piece)
{
    if (from_ns < w->begin_ns) from_ns = w->begin_ns;
    if (from_ns >= w->at_ns) return;
    w->path->bound_ns[piece.bound] += w->at_ns - from_ns;
    size_t n = w->path->pieces.n;
    struct gp_path_piece *later = n ? &w->path->pieces.at[n - 1] : NULL;
    if (later && later->bound == piece.bound && later->name == piece.name && later->stream == piece.stream &&
        later->tid == piece.tid) {
        later->begin_ns = from_ns;
    } else {
        piece.begin_ns = from_ns;
        piece.end_ns = w->at_ns;
        GP_VEC_PUSH(&w->path->pieces, piece);
    }
    w->at_ns = from_ns;
}

static void explain_gpu(struct walk *w, int64_t from_ns, uint32_t row, enum gp_path_bound bound)
{
    const struct gp_track *k = track_of(w, w->v->t->events[GP_GPU].track[row]);
    struct gp_path_piece piece = {
        .bound = bound, .name = kernel_label(w, row), .stream = k->stream, .tid = -1};
    gp_sid full = full_name(w, gp_gpu_config(w->v->t, row)->name);
    piece.full = full == piece.name ? 0 : full;
    explain(w, from_ns, piece);
}

static void explain_host(struct walk *w, int64_t from_ns, uint32_t track, gp_sid label,
                         enum gp_path_bound bound)
{
    struct gp_path_piece piece = {
        .bound = bound, .name = label, .stream = -1, .tid = track == NONE ? -1 : track_of(w, track)->tid};
    explain(w, from_ns, piece);
}

/* ---- the GPU's side ---- */

static int64_t gpu_start(const struct walk *w, uint32_t row) { return w->v->t->events[GP_GPU].start_ns[row]; }

static int64_t gpu_end(const struct walk *w, uint32_t row)
{
    return gpu_start(w, row) + w->v->t->events[GP_GPU].dur_ns[row];
}

static uint32_t *index_streams(const struct gp_view *v)
{
    uint32_t *previous = gp_alloc(v->t->events[GP_GPU].n * sizeof *previous);
    GP_EACH(const struct gp_view_stream, stream, v->streams) {
        for (size_t i = 0; i < stream->n; i++)
            previous[v->stream_rows[stream->first + i]] = i ? v->stream_rows[stream->first + i - 1] : NONE;
    }
    return previous;
}

/* ---- which calls waited ---- */

/* The last call of TRACK that waited and was over by AT. */
static const struct gp_wait *last_blocking(const struct walk *w, uint32_t track, int64_t at_ns)
{
    const struct gp_wait *b = w->waits.calls.at;
    GP_SEARCH(lo, 0, w->waits.calls.n, mid,
              b[mid].track < track || (b[mid].track == track && b[mid].end_ns <= at_ns));
    return lo && w->waits.calls.at[lo - 1].track == track ? &w->waits.calls.at[lo - 1] : NULL;
}

/* ---- the host's side ---- */

static struct doing doing_before(const struct walk *w, uint32_t track, int64_t at_ns)
{
    const struct gp_host_stack *hs = &w->v->hs;
    uint32_t lo = hs->first[track], hi = hs->end[track], first = lo;
    GP_NARROW(lo, hi, mid, hs->nodes[mid].start_ns < at_ns);
    struct doing d = {GP_HOST_NONE, INT64_MIN};
    if (lo == first) return d;
    uint32_t ended, node = gp_host_ends_from(hs, lo - 1, at_ns, &ended);
    if (ended != GP_HOST_NONE) d.since_ns = hs->nodes[ended].end_ns;
    d.node = node;
    if (node != GP_HOST_NONE && hs->nodes[node].start_ns > d.since_ns) d.since_ns = hs->nodes[node].start_ns;
    return d;
}

/* What a thread did last is asked again only when the walk has come to where it began to. */
static void look_at_thread(struct walk *w, uint32_t i)
{
    struct thread *t = &w->threads.at[i];
    t->doing = doing_before(w, t->track, w->at_ns);
    struct turn turn = {t->doing.since_ns, i};
    GP_HEAP_PUSH(&w->turns, struct turn, turn, IS_LATER);
    if (t->doing.node != GP_HOST_NONE) GP_HEAP_PUSH(&w->open, struct turn, turn, IS_LATER);
}

/* The thread of the process with the event that was open just before at_ns and began last; otherwise the
 * thread with the event that ended last. The walk only goes back, so in all of it each thread is looked at
 * once per event. */
static uint32_t busiest_thread(struct walk *w, struct doing *best)
{
    if (!w->turns.n) {
        size_t end, row = gp_wait_rows_of(&w->index->threads, w->producer, &end);
        for (; row < end; row++) {
            GP_VEC_PUSH(&w->threads, ((struct thread){.track = w->index->threads.at[row].row}));
            look_at_thread(w, (uint32_t)w->threads.n - 1);
        }
    }
    while (w->turns.n && w->turns.at[0].since_ns >= w->at_ns) {
        uint32_t thread = w->turns.at[0].thread;
        GP_HEAP_POP(&w->turns, struct turn, IS_LATER);
        look_at_thread(w, thread);
    }
    while (w->open.n && w->open.at[0].since_ns != w->threads.at[w->open.at[0].thread].doing.since_ns)
        GP_HEAP_POP(&w->open, struct turn, IS_LATER);
    *best = (struct doing){GP_HOST_NONE, INT64_MIN};
    if (!w->turns.n) return NONE;
    const struct thread *t = &w->threads.at[(w->open.n ? w->open.at : w->turns.at)->thread];
    *best = t->doing;
    return t->track;
}

/* Another thread of the process of TRACK, which launched last in [SINCE, AT); NONE: none did, or other
 * processes called more often since. */
static uint32_t other_launching_thread(const struct walk *w, uint32_t track, int64_t since_ns, int64_t at_ns)
{
    const struct gp_events *api = &w->v->t->events[GP_API];
    size_t lo = gp_events_from(api, at_ns);
    for (int tries = 0; lo-- && tries < LOOK_BACK && api->start_ns[lo] >= since_ns; tries++)
        if (api->track[lo] != track && track_of(w, api->track[lo])->process == track_of(w, track)->process &&
            gp_call_gives_work(gp_trace_str(w->v->t, api->name[lo])))
            return api->track[lo];
    return NONE;
}

/* Explain what TRACK did just before at_ns: D, and if it waited for the backward pass, by the function that
 * ran that. */
static void explain_doing(struct walk *w, uint32_t track, const struct doing *d)
{
    const struct gp_host_event *nodes = w->v->hs.nodes, *e = d->node == GP_HOST_NONE ? NULL : &nodes[d->node];
    gp_sid name = e ? w->v->t->events[e->table].name[e->row] : 0;
    if (e && gp_frame_is_state(gp_trace_str(w->v->t, name)) && gp_backward_waits(w->v->t, &w->v->hs, d->node))
        e = &nodes[e->parent], name = w->v->t->events[e->table].name[e->row];
    explain_host(w, d->since_ns, track, e ? label_of(w, (enum gp_table)e->table, name) : 0, GP_PATH_HOST);
}

/* TRACK was in nothing since D->since_ns: another thread may show what the process did. If that one waited
 * for the backward pass, it was not for longer than TRACK did nothing. */
static void look_elsewhere(struct walk *w, uint32_t *track, struct doing *d)
{
    struct doing nothing = *d;
    uint32_t found = busiest_thread(w, d);
    if (found != NONE && gp_backward_waits(w->v->t, &w->v->hs, d->node) && nothing.since_ns > d->since_ns) {
        d->since_ns = nothing.since_ns;
        return;
    }
    *track = found;
}

/* Walk back along the host from at_ns, starting on TRACK, to a call that waited for the GPU. Returns the
 * event that it waited for, or NONE at the beginning of the window. */
static uint32_t walk_host(struct walk *w, uint32_t track)
{
    while (w->at_ns > w->begin_ns) {
        struct doing d = doing_before(w, track, w->at_ns);
        if (gp_backward_waits(w->v->t, &w->v->hs, d.node)) { /* for another thread */
            uint32_t other = other_launching_thread(w, track, w->v->hs.nodes[d.node].start_ns, w->at_ns);
            if (other != NONE) d = doing_before(w, track = other, w->at_ns);
        }
        const struct gp_wait *b = last_blocking(w, track, w->at_ns);
        int64_t waited_until = b ? b->end_ns : INT64_MIN;
        if (d.node == GP_HOST_NONE && waited_until < w->at_ns) look_elsewhere(w, &track, &d);
        else if (waited_until > d.since_ns || waited_until == w->at_ns) d.since_ns = waited_until;
        if (w->at_ns > d.since_ns) explain_doing(w, track, &d);
        if (b && b->track == track && b->end_ns == w->at_ns) {
            int64_t end = gpu_end(w, b->row) < b->end_ns ? gpu_end(w, b->row) : b->end_ns;
            explain_host(w, end, track, label_of(w, GP_API, w->v->t->events[GP_API].name[b->call]),
                         GP_PATH_SYNC);
            return b->row;
        }
    }
    return NONE;
}

/* ---- from one GPU event to its predecessor ---- */

/* The largest gap between queued kernels on a stream; a longer wait has another reason. */
enum { KERNEL_GAP_NS = 5000 };

/* Of a longer launch call, only this much at its end counts as launching. */
enum { LAUNCH_CALL_NS = 10000 };

/* An event on another stream of the device that ended between AFTER and the start of ROW: what ROW waited for
 * if neither its stream nor its launch shows it. */
static uint32_t other_stream(const struct walk *w, uint32_t row, int64_t after_ns)
{
    const struct gp_events *gpu = &w->v->t->events[GP_GPU];
    size_t i = gp_waits_ended_by(&w->waits, gpu_start(w, row));
    for (int tries = 0; i-- && tries < LOOK_BACK && w->waits.by_end.at[i].end_ns > after_ns; tries++) {
        uint32_t other = w->waits.by_end.at[i].row;
        if (w->v->device_of_row[other] == w->v->device_of_row[row] && gpu->track[other] != gpu->track[row] &&
            gpu_start(w, other) < gpu_start(w, row))
            return other;
    }
    return NONE;
}

/* The call that launched ROW, if it had not ended when the stream became free, so that ROW cannot have been
 * queued. The nodes of a graph, except the first, share a call and wait for each other. */
struct launch {
    uint32_t call;            /* row of GP_API; NONE */
    int64_t begin_ns, end_ns; /* no later than the start of ROW */
    bool late;
};

static struct launch launch_of(const struct walk *w, uint32_t row, int64_t free_since_ns)
{
    const struct gp_events *api = &w->v->t->events[GP_API];
    int64_t start = gpu_start(w, row);
    struct launch l = {gp_view_launch(w->v, row), INT64_MIN, INT64_MIN, false};
    if (l.call == NONE) return l;
    l.begin_ns = api->start_ns[l.call] < start ? api->start_ns[l.call] : start;
    l.end_ns = api->dur_ns[l.call] < start - l.begin_ns ? l.begin_ns + api->dur_ns[l.call] : start;
    uint32_t previous = w->previous[row];
    bool same = previous != NONE && gp_view_launch(w->v, previous) == l.call;
    l.late = l.begin_ns >= free_since_ns || (!same && l.end_ns > free_since_ns);
    return l;
}

static void explain_launch(struct walk *w, const struct launch *l)
{
    const struct gp_events *api = &w->v->t->events[GP_API];
    gp_sid label = label_of(w, GP_API, api->name[l->call]);
    int64_t from = l->end_ns - l->begin_ns > LAUNCH_CALL_NS ? l->end_ns - LAUNCH_CALL_NS : l->begin_ns;
    explain_host(w, from, api->track[l->call], label, GP_PATH_LAUNCH);
    explain_host(w, l->begin_ns, api->track[l->call], label, GP_PATH_HOST);
}

/* Explain the time before the start of ROW and return what to examine next: a GPU event, or NONE with *TRACK
 * set to the thread that launched it. */
static uint32_t before(struct walk *w, uint32_t row, uint32_t *track)
{
    int64_t start = gpu_start(w, row), free_since = INT64_MIN;
    uint32_t previous = w->previous[row];
    if (previous != NONE) free_since = gpu_end(w, previous) < start ? gpu_end(w, previous) : start;
    struct launch launch = launch_of(w, row, free_since);
    int64_t ready = launch.begin_ns > free_since ? launch.begin_ns : free_since;
    if (ready == INT64_MIN || start - ready > KERNEL_GAP_NS) {
        uint32_t other = other_stream(w, row, ready);
        if (other != NONE) {
            explain_gpu(w, gpu_end(w, other), row, GP_PATH_KERNEL_GAP);
            return other;
        }
    }
    if (launch.late) {
        explain_launch(w, &launch);
        *track = w->v->t->events[GP_API].track[launch.call];
        return NONE;
    }
    if (previous != NONE) explain_gpu(w, free_since, row, GP_PATH_KERNEL_GAP);
    *track = NONE;
    return previous;
}

static enum gp_path_bound bound_of(const struct walk *w, uint32_t row)
{
    switch (gp_view_class(w->v, row)) {
    case GP_CLASS_COMMUNICATION: return GP_PATH_COMMUNICATION;
    case GP_CLASS_MEMORY: return GP_PATH_MEMORY;
    default: return GP_PATH_COMPUTE;
    }
}

/* The whole walk back. ROW: the event at the end; INSIDE: the window ends during or at the end of it, not at
 * its start. */
static void walk_back(struct walk *w, uint32_t row, bool inside)
{
    while (row != NONE && w->at_ns > w->begin_ns) {
        if (inside) explain_gpu(w, gpu_start(w, row), row, bound_of(w, row));
        inside = true;
        uint32_t track = NONE;
        row = before(w, row, &track);
        if (row == NONE && track != NONE) row = walk_host(w, track);
    }
    explain_host(w, w->begin_ns, NONE, 0, GP_PATH_HOST); // nothing recorded explains it
}

/* ---- windows ---- */

GP_COMPARE(by_length, struct gp_hta_step *const,
           GP_KEY((*x)->end_ns - (*x)->begin_ns, (*y)->end_ns - (*y)->begin_ns)
               GP_KEY((*x)->begin_ns, (*y)->begin_ns))

/* The whole step of median length on a device; NULL if there is none. */
static const struct gp_hta_step *median_step(const struct gp_hta *h, const struct gp_view_device *d)
{
    GP_VEC(const struct gp_hta_step *) whole = {0};
    GP_EACH(const struct gp_hta_step, s, h->steps)
        if (s->producer == d->producer && s->device == d->device && !s->partial && s->end_ns > s->begin_ns)
            GP_VEC_PUSH(&whole, s);
    const struct gp_hta_step *median = NULL;
    if (whole.n) {
        qsort(whole.at, whole.n, sizeof *whole.at, by_length);
        median = whole.at[(whole.n - 1) / 2];
    }
    GP_VEC_FREE(&whole);
    return median;
}

/* The event at the end of the window: the first that begins there, otherwise the last that ends in it. */
static uint32_t last_event(const struct gp_view *v, const struct gp_view_device *d, int64_t end_ns,
                           bool *inside)
{
    const struct gp_events *gpu = &v->t->events[GP_GPU];
    uint32_t last = NONE;
    int64_t last_end = INT64_MIN;
    *inside = true;
    for (size_t i = 0; i < d->n; i++) {
        uint32_t row = v->rows[d->first + i];
        int64_t start = gpu->start_ns[row], end = start + gpu->dur_ns[row];
        if (start == end_ns && end > end_ns) {
            *inside = false;
            return row;
        }
        if (start >= end_ns) break;
        if (end > last_end) last = row, last_end = end;
    }
    return last;
}

/* What the paths of all processes have in common. */
struct shared {
    struct gp_wait_index index;
    uint32_t *previous;
};

static void add_path(struct gp_hta *h, const struct gp_view *v, const struct gp_view_device *d,
                     const struct shared *shared)
{
    const struct gp_events *gpu = &v->t->events[GP_GPU];
    const struct gp_hta_step *step = median_step(h, d);
    struct gp_hta_path path = {.rank = d->rank, .producer = d->producer, .window = step ? step->name : 0};
    path.begin_ns = step ? step->begin_ns : gpu->start_ns[v->rows[d->first]];
    path.end_ns = step ? step->end_ns : INT64_MIN;
    for (size_t i = 0; i < d->n && !step; i++) {
        uint32_t row = v->rows[d->first + i];
        int64_t end = gpu->start_ns[row] + gpu->dur_ns[row];
        if (end > path.end_ns) path.end_ns = end;
    }
    struct walk w = {.v = v,
                     .h = h,
                     .path = &path,
                     .begin_ns = path.begin_ns,
                     .at_ns = path.end_ns,
                     .previous = shared->previous,
                     .index = &shared->index,
                     .producer = d->producer};
    gp_waits_find(&w.waits, v, &shared->index, d->producer, path.begin_ns, path.end_ns);
    bool inside;
    uint32_t row = last_event(v, d, path.end_ns, &inside);
    walk_back(&w, row, inside);
    for (size_t i = 0, j = path.pieces.n; i + 1 < j; i++) {
        struct gp_path_piece piece = path.pieces.at[i];
        path.pieces.at[i] = path.pieces.at[--j];
        path.pieces.at[j] = piece;
    }
    GP_VEC_PUSH(&h->paths, path);
    gp_waits_release(&w.waits);
    GP_RELEASE(gp_vec_free, &w.threads, &w.turns, &w.open);
    gp_map_release(&w.labels);
}

static int64_t gpu_time(const struct gp_view *v, const struct gp_view_device *d)
{
    int64_t ns = 0;
    for (size_t i = 0; i < d->n; i++)
        ns = gp_add_saturated(ns, v->t->events[GP_GPU].dur_ns[v->rows[d->first + i]]);
    return ns;
}

/* Of each process the device that worked longest, the first of equals: by device, whether it is one. */
static bool *busiest(const struct gp_view *v, const struct gp_wait_index *index)
{
    bool *most = gp_zalloc(v->devices.n + 1);
    for (size_t i = 0, end; i < index->devices.n; i = end) {
        int64_t most_ns = -1;
        size_t best = v->devices.n;
        gp_wait_rows_of(&index->devices, index->devices.at[i].producer, &end);
        for (size_t k = i; k < end; k++) {
            const struct gp_view_device *d = &v->devices.at[index->devices.at[k].row];
            int64_t ns = d->n ? gpu_time(v, d) : -1;
            if (ns <= most_ns) continue;
            best = index->devices.at[k].row;
            most_ns = ns;
        }
        most[best] = true;
    }
    return most;
}

/* After the steps. */
static void add_paths(struct gp_hta *h, const struct gp_view *v)
{
    struct shared shared = {.previous = index_streams(v)};
    gp_wait_index_build(&shared.index, v);
    bool *most = busiest(v, &shared.index); // one path per process
    for (size_t i = 0; i < v->devices.n; i++)
        if (most[i]) add_path(h, v, &v->devices.at[i], &shared);
    free(most);
    gp_wait_index_release(&shared.index);
    free(shared.previous);
}

/* ---- as a section ---- */

#define AT(member) offsetof(struct gp_path_piece, member)
static const struct gp_field piece_fields[] = {
    {.at = AT(begin_ns), .keep = GP_KEEP_I64},
    {.at = AT(end_ns), .keep = GP_KEEP_I64},
    {.at = AT(bound), .keep = GP_KEEP_U32, .below = GP_PATH_BOUND_COUNT},
    {.at = AT(name), .keep = GP_KEEP_STR},
    {.at = AT(full), .keep = GP_KEEP_STR},
    {.at = AT(stream), .keep = GP_KEEP_I64},
    {.at = AT(tid), .keep = GP_KEEP_I64},
};
#undef AT
static const struct gp_record pieces = {"pieces", NULL, GP_FIELDS(piece_fields), sizeof(struct gp_path_piece),
                                        .note = NULL};

static const struct gp_field time_fields[] = {
#define X(id, name, text)                                                                                    \
    {name "_ns",                                                                                             \
     NULL,                                                                                                   \
     GP_CELL_NS,                                                                                             \
     gp_member_i64,                                                                                          \
     id * sizeof(int64_t),                                                                                   \
     .help = text,                                                                                           \
     .flags = GP_FIELD_TIMED,                                                                                \
     .keep = GP_KEEP_I64,                                                                                    \
     .merge = GP_MERGE_SUM},
    GP_PATH_BOUNDS(X)
#undef X
};
const struct gp_record gp_hta_path_times = {"bound", NULL, GP_FIELDS(time_fields),
                                            GP_PATH_BOUND_COUNT * sizeof(int64_t),
                                            .note = "by what bounds the path; sums to its length"};

#define AT(member) offsetof(struct gp_hta_path, member)

GP_GET(get_length, struct gp_hta_path, c->i = r->end_ns - r->begin_ns)

static const struct gp_field path_fields[] = {
    {"rank", NULL, GP_CELL_ID, gp_member_rank, AT(rank), .flags = GP_FIELD_NULL, .keep = GP_KEEP_I32},
    {"process", NULL, GP_CELL_ID, gp_member_process, AT(producer), .keep = GP_KEEP_U32},
    {"window", NULL, GP_CELL_NAME, gp_member_name, AT(window),
     .help = "name of the step; null: the whole trace", .flags = GP_FIELD_NULL, .keep = GP_KEEP_STR},
    {"begin_ns", NULL, GP_CELL_NS, gp_member_i64, AT(begin_ns), .help = "on the clock of the trace",
     .flags = GP_FIELD_SIGNED, .keep = GP_KEEP_I64},
    {"end_ns", NULL, GP_CELL_NS, gp_member_i64, AT(end_ns), .flags = GP_FIELD_SIGNED, .keep = GP_KEEP_I64},
    {"length_ns", NULL, GP_CELL_NS, get_length, 0, .help = "end_ns - begin_ns"},
    {"bound", NULL, GP_CELL_ROW, gp_member_row, AT(bound_ns), .rows = &gp_hta_path_times,
     .keep = GP_KEEP_ROW},
    {"pieces", NULL, GP_CELL_COUNT, gp_member_rows_count, AT(pieces), .rows = &pieces, .keep = GP_KEEP_ROWS},
};
#undef AT

const struct gp_record gp_hta_paths = {"paths", NULL, GP_FIELDS(path_fields), sizeof(struct gp_hta_path),
                                       .note = "of the median step of a rank, or the whole trace"};

GP_COMPARE_IN(by_rank, struct gp_hta_path, void, GP_UP(rank) GP_UP(producer) GP_UP(begin_ns))

static const struct gp_hta_list lists[] = {
    {.rows = &gp_hta_paths, .at = offsetof(struct gp_hta, paths), .order = by_rank}};
const struct gp_hta_section gp_hta_paths_section = {lists, GP_COUNT(lists), .add = add_paths, .timed = true};
