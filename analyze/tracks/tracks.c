
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "analyze/hta/hta.h"
#include "analyze/hta/hta_rows.h"
#include "analyze/view/idle_walk.h"
#include "analyze/tracks/tracks_priv.h"
#include "analyze/names/names.h"
#include "formats/base/buf.h"
#include "formats/base/order.h"
#include "formats/base/str.h"

/* Events that nest on a track; of events with the same times, the one from the earlier table contains the
 * other. */
static const enum gp_table nesting[] = {GP_OTHER, GP_RANGE, GP_GPU_RANGE, GP_PYTHON,
                                        GP_OP,    GP_API,   GP_SYNC,      GP_OVERHEAD};
/* Events that do not nest: instants, GP_OTHER events with a phase, and GP_SYNC records of CUDA events. */
static const enum gp_table scattered[] = {GP_OTHER, GP_SYNC, GP_MARK, GP_MEMORY};
enum { NESTING = GP_COUNT(nesting), SCATTERED = GP_COUNT(scattered) };

/* ---- times ---- */

static int64_t start_of(const struct gp_tracks *l, uint32_t table, uint32_t row)
{
    if (table == GP_TRACKS_IDLE) return l->gaps.at[row].begin_ns;
    if (table == GP_TRACKS_STEP) return gp_tracks_bounded(l->hta->steps.at[row].begin_ns);
    return gp_tracks_bounded(l->v->t->events[table].start_ns[row]);
}

static int64_t dur_of(const struct gp_tracks *l, uint32_t table, uint32_t row)
{
    if (table == GP_TRACKS_IDLE) return l->gaps.at[row].end_ns - l->gaps.at[row].begin_ns;
    if (table == GP_TRACKS_STEP)
        return gp_tracks_bounded(l->hta->steps.at[row].end_ns) -
               gp_tracks_bounded(l->hta->steps.at[row].begin_ns);
    int64_t dur = l->v->t->events[table].dur_ns[row], most = GP_TRACKS_LATEST - start_of(l, table, row);
    return dur > most ? most : dur;
}

int64_t gp_tracks_start(const struct gp_tracks *l, size_t i) { return start_of(l, l->table[i], l->row[i]); }

int64_t gp_tracks_dur(const struct gp_tracks *l, size_t i) { return dur_of(l, l->table[i], l->row[i]); }

int64_t gp_tracks_origin(const struct gp_trace *t)
{
    int64_t first = INT64_MAX;
    for (int i = 0; i < GP_TABLE_COUNT; i++)
        if (i != GP_COUNTER && i != GP_FLOW && t->events[i].n && t->events[i].start_ns[0] < first)
            first = t->events[i].start_ns[0];
    return first == INT64_MAX ? 0 : gp_tracks_bounded(first);
}

/* ---- names ---- */

static enum gp_frame_kind kind_of(const struct gp_tracks *l, uint32_t table, uint32_t row)
{
    const struct gp_trace *t = l->v->t;
    switch (table) {
    case GP_GPU: return gp_view_kind(l->v, row);
    case GP_API:
    case GP_SYNC: return GP_FRAME_API;
    case GP_OP: return GP_FRAME_OP;
    case GP_RANGE:
    case GP_GPU_RANGE:
    case GP_TRACKS_STEP: return GP_FRAME_RANGE;
    case GP_PYTHON: {
        gp_sid name = t->events[table].name[row];
        bool module = gp_name_is_module(gp_trace_str(t, name), gp_string_len(&t->strings, name));
        return module ? GP_FRAME_MODULE : GP_FRAME_PYTHON;
    }
    case GP_TRACKS_IDLE: return GP_FRAME_IDLE;
    default: return GP_FRAME_OTHER;
    }
}

static uint32_t find_name(struct gp_tracks_build *b, uint32_t table, uint32_t row, gp_sid sid, uint64_t key)
{
    struct gp_tracks *l = b->l;
    uint32_t id = *gp_map_put(&b->names, key, UINT32_MAX);
    if (id != UINT32_MAX) return id;
    uint8_t kind = (uint8_t)kind_of(l, table, row);
    uint64_t same = (uint64_t)(64 + kind) << 33 | (uint64_t)(table == GP_TRACKS_STEP) << 32 | sid;
    id = *gp_map_put(&b->names, same, (uint32_t)l->names.n);
    if (id == l->names.n) {
        GP_VEC_PUSH(&l->names, ((struct gp_tracks_name){sid, kind, table == GP_TRACKS_STEP}));
        GP_VEC_PUSH(&b->uses, 0);
    }
    return *gp_map_put(&b->names, key, 0) = id;
}

/* Equal names of one kind are one; the kind of a Python frame follows from its name. */
static uint32_t name_of(struct gp_tracks_build *b, uint32_t table, uint32_t row)
{
    struct gp_tracks *l = b->l;
    gp_sid sid = table == GP_TRACKS_IDLE   ? l->gaps.at[row].cause
                 : table == GP_TRACKS_STEP ? l->hta->steps.at[row].name
                                           : l->v->t->events[table].name[row];
    uint32_t sort = table == GP_GPU ? GP_TABLE_COUNT + 2 + (uint32_t)gp_view_kind(l->v, row) : table;
    struct gp_tracks_seen *seen = &b->seen[(sid * 31 + sort) % GP_TRACKS_SEEN];
    uint64_t key = (uint64_t)(sort + 1) << 32 | sid;
    if (seen->key != key) *seen = (struct gp_tracks_seen){key, find_name(b, table, row, sid, key)};
    b->uses.at[seen->name]++;
    return seen->name;
}

GP_COMPARE_IN(by_use, uint32_t, uint64_t, GP_KEY(of[*y], of[*x]))

/* Frequent names get small numbers, which take less room. */
static void sort_names(struct gp_tracks_build *b)
{
    struct gp_tracks *l = b->l;
    size_t n = l->names.n;
    uint32_t *order = gp_alloc((n + 1) * sizeof *order);
    uint32_t *to = gp_alloc((n + 1) * sizeof *to);
    struct gp_tracks_name *names = gp_alloc((n + 1) * sizeof *names);
    for (uint32_t i = 0; i < n; i++) order[i] = i;
    gp_sort_in(order, n, sizeof *order, by_use, b->uses.at);
    for (uint32_t i = 0; i < n; i++) {
        to[order[i]] = i;
        names[i] = l->names.at[order[i]];
    }
    if (n) memcpy(l->names.at, names, n * sizeof *names);
    for (size_t i = 0; i < l->n; i++) l->name[i] = to[l->name[i]];
    GP_RELEASE(free, order, to, names);
}

/* ---- lanes ---- */

struct layout {
    int64_t end_ns[GP_TRACKS_MOST]; /* when the last event of the lane ends */
    int top;                        /* no lane from here on is taken */
    bool rounded;                   /* ends may be off by a rounding error */
};

/* The innermost open lane that holds an event which ends at *END, -1: none. */
static int find_holder(const struct layout *y, struct gp_tracks_track *k, int64_t start_ns, int64_t *end_ns)
{
    bool crossed = false;
    int i = y->top - 1;
    for (; i >= 0; i--) {
        if (y->end_ns[i] <= start_ns) continue;
        if (*end_ns <= y->end_ns[i]) break;
        if (y->rounded && *end_ns - y->end_ns[i] <= gp_host_tolerance(*end_ns)) {
            *end_ns = y->end_ns[i];
            k->clamped++;
            break;
        }
        crossed = true;
    }
    k->crossed += crossed;
    return i;
}

static uint8_t place(struct layout *y, struct gp_tracks_track *k, int64_t start_ns, int64_t end_ns)
{
    while (y->top && y->end_ns[y->top - 1] <= start_ns) y->top--;
    int i = find_holder(y, k, start_ns, &end_ns) + 1;
    while (i < y->top && y->end_ns[i] > start_ns) i++;
    if (i >= GP_TRACKS_MOST) {
        i = GP_TRACKS_MOST - 1;
        k->crowded++;
        if (end_ns < y->end_ns[i]) end_ns = y->end_ns[i];
    }
    y->end_ns[i] = end_ns;
    if (i >= y->top) y->top = i + 1;
    return (uint8_t)i;
}

static void reserve_events(struct gp_tracks_build *b, size_t more)
{
    struct gp_tracks *l = b->l;
    if (l->n + more <= b->cap) return;
    if (l->n + more >= UINT32_MAX) gp_out_of_memory(l->n + more);
    b->cap = l->n + more > b->cap * 2 ? l->n + more : b->cap * 2;
    l->row = gp_realloc(l->row, b->cap * sizeof *l->row);
    l->table = gp_realloc(l->table, b->cap);
    l->name = gp_realloc(l->name, b->cap * sizeof *l->name);
}

/* The items, which are in order, become the lanes of track K, the last one. */
static void lay_out(struct gp_tracks_build *b, struct gp_tracks_track *k, bool rounded)
{
    struct gp_tracks *l = b->l;
    struct layout y = {.rounded = rounded};
    struct gp_lane lanes[GP_TRACKS_MOST] = {0};
    GP_EACH(struct gp_tracks_item, it, b->items) {
        int64_t start = start_of(l, it->table, it->row), dur = dur_of(l, it->table, it->row);
        it->lane = place(&y, k, start, start + dur);
        struct gp_lane *lane = &lanes[it->lane];
        lane->n++;
        if (dur > lane->longest_ns) lane->longest_ns = dur;
        k->total_ns = dur > INT64_MAX - k->total_ns ? INT64_MAX : k->total_ns + dur;
        if (start + dur > l->end_ns) l->end_ns = start + dur;
    }
    k->count = b->items.n;
    reserve_events(b, b->items.n);
    size_t first = l->n, next[GP_TRACKS_MOST];
    for (int i = 0; i < GP_TRACKS_MOST && lanes[i].n; i++) {
        next[i] = lanes[i].first = first;
        first += lanes[i].n;
        GP_VEC_PUSH(&l->lanes, lanes[i]);
        k->lanes++;
    }
    GP_EACH(const struct gp_tracks_item, it, b->items) {
        size_t at = next[it->lane]++;
        l->row[at] = it->row;
        l->table[at] = it->table;
        l->name[at] = name_of(b, it->table, it->row);
        if (it->table < GP_TABLE_COUNT && l->place[it->table]) l->place[it->table][it->row] = (uint32_t)at;
    }
    l->n += b->items.n;
    b->items.n = 0;
}

/* ---- the rows of a track ---- */

static bool is_scattered(const struct gp_tracks_build *b, uint32_t table, uint32_t row)
{
    const struct gp_events *e = &b->l->v->t->events[table];
    return table == GP_OTHER ? (gp_get_phase(e, row) & ~(uint32_t)GP_PHASE_OLD_EXT) != 0
                             : gp_get_cat(e, row) != 0;
}

/* Rows of a table by track, in order of time: a counting sort. */
static void group_rows(struct gp_tracks_build *b, enum gp_table table)
{
    const struct gp_trace *t = b->l->v->t;
    const struct gp_events *e = &t->events[table];
    uint32_t *rows = gp_alloc(e->n * sizeof *rows), *first = gp_zalloc((t->tracks.n + 2) * sizeof *first);
    for (size_t i = 0; i < e->n; i++)
        if (gp_tracks_touches(b, e->start_ns[i], e->dur_ns[i])) first[e->track[i] + 2]++;
    for (size_t k = 2; k < t->tracks.n + 2; k++) first[k] += first[k - 1];
    for (size_t i = 0; i < e->n; i++)
        if (gp_tracks_touches(b, e->start_ns[i], e->dur_ns[i])) rows[first[e->track[i] + 1]++] = (uint32_t)i;
    b->rows[table] = rows;
    b->first[table] = first;
}

struct cursor {
    const struct gp_events *e;
    const uint32_t *at, *end;
    enum gp_table table;
};

static bool comes_before(const struct cursor *a, const struct cursor *b)
{
    int64_t sa = a->e->start_ns[*a->at], sb = b->e->start_ns[*b->at];
    if (sa != sb) return sa < sb;
    return a->e->dur_ns[*a->at] > b->e->dur_ns[*b->at];
}

/* The rows that TRACK has in the tables, by (start, longer first, order of the tables), become items. */
static void merge_rows(struct gp_tracks_build *b, uint32_t track, const enum gp_table *tables, int n,
                       bool scatter)
{
    struct cursor c[NESTING];
    int left = 0;
    for (int i = 0; i < n; i++) {
        const uint32_t *rows = b->rows[tables[i]], *first = b->first[tables[i]];
        if (first[track] == first[track + 1]) continue;
        c[left++] = (struct cursor){&b->l->v->t->events[tables[i]], rows + first[track],
                                    rows + first[track + 1], tables[i]};
    }
    while (left) {
        int best = 0;
        for (int i = 1; i < left; i++)
            if (comes_before(&c[i], &c[best])) best = i;
        struct gp_tracks_item it = {*c[best].at, (uint8_t)c[best].table, 0};
        bool both = it.table == GP_OTHER || it.table == GP_SYNC;
        if (!both || is_scattered(b, it.table, it.row) == scatter) GP_VEC_PUSH(&b->items, it);
        if (++c[best].at == c[best].end) memmove(c + best, c + best + 1, (size_t)(--left - best) * sizeof *c);
    }
}

/* A track of the items, whose ID and NAME are released. */
static struct gp_tracks_track *add_items(struct gp_tracks_build *b, uint32_t group, enum gp_tracks_sort sort,
                                         struct gp_buf *id, struct gp_buf *name, bool rounded)
{
    struct gp_tracks_track *k =
        gp_tracks_add_track(b, group, sort, gp_buf_str(id), gp_buf_str(name), name->n);
    lay_out(b, k, rounded);
    gp_buf_release(id);
    gp_buf_release(name);
    return k;
}

/* ---- devices ---- */

static void put_stream(struct gp_buf *to, const struct gp_trace *t, const struct gp_view_stream *s,
                       bool for_person)
{
    const struct gp_track *k = &t->tracks.at[s->track];
    if (for_person && s->stream < 0 && k->device >= 0 && k->tid < 0 && !k->tid_text) {
        gp_buf_puts(to, "no stream");
    } else if (for_person && k->name) {
        gp_tracks_put_sid(to, t, k->name);
    } else if (s->stream >= 0) {
        gp_buf_printf(to, "stream %" PRId64, s->stream);
    } else {
        gp_buf_puts(to, "row ");
        if (k->tid_text) gp_tracks_put_sid(to, t, k->tid_text);
        else gp_buf_put_i64(to, k->tid);
    }
}

static void add_stream(struct gp_tracks_build *b, uint32_t group, const struct gp_view_stream *s)
{
    const struct gp_view *v = b->l->v;
    const struct gp_events *gpu = &v->t->events[GP_GPU];
    for (size_t i = s->first; i < s->first + s->n; i++) {
        uint32_t row = v->stream_rows[i];
        if (!gp_tracks_touches(b, gpu->start_ns[row], gpu->dur_ns[row])) continue;
        GP_VEC_PUSH(&b->items, ((struct gp_tracks_item){row, GP_GPU, 0}));
    }
    if (!b->items.n) return;
    struct gp_buf id = {0}, name = {0};
    put_stream(&id, v->t, s, false);
    put_stream(&name, v->t, s, true);
    add_items(b, group, GP_TRACKS_SLICES, &id, &name, false)->gpu = true;
}

/* Everything else on row TRACK of a device: ranges and synchronisation beside the work, and instants. */
static void add_notes(struct gp_tracks_build *b, uint32_t group, uint32_t track)
{
    const struct gp_trace *t = b->l->v->t;
    const struct gp_track *k = &t->tracks.at[track];
    for (int marks = 0; marks < 2; marks++) {
        if (marks) merge_rows(b, track, scattered, SCATTERED, true);
        else merge_rows(b, track, nesting, NESTING, false);
        if (!b->items.n) continue;
        struct gp_buf id = {0}, name = {0};
        struct gp_view_stream s = {.track = track, .stream = k->stream};
        put_stream(&id, t, &s, false);
        put_stream(&name, t, &s, true);
        gp_buf_puts(&id, marks ? "/marks" : "/ranges");
        gp_buf_puts(&name, marks           ? ", instants"
                           : k->stream < 0 ? ": waits for the whole context"
                                           : ", ranges and waits");
        add_items(b, group, marks ? GP_TRACKS_MARKS : GP_TRACKS_SLICES, &id, &name, !marks);
    }
}

static bool step_before(const struct gp_hta_step *s, const struct gp_view_device *d)
{
    if (s->rank != d->rank) return s->rank < d->rank;
    if (s->producer != d->producer) return s->producer < d->producer;
    return s->device < d->device;
}

static void add_steps(struct gp_tracks_build *b, uint32_t group, const struct gp_view_device *d)
{
    const struct gp_hta *h = b->l->hta;
    /* steps are grouped by device, in the order of the view */
    GP_SEARCH(lo, 0, h->steps.n, mid, step_before(&h->steps.at[mid], d));
    for (uint32_t i = (uint32_t)lo; i < h->steps.n; i++) {
        const struct gp_hta_step *s = &h->steps.at[i];
        if (s->producer != d->producer || s->device != d->device || s->rank != d->rank) break;
        if (s->end_ns < s->begin_ns || !gp_tracks_touches(b, s->begin_ns, s->end_ns - s->begin_ns)) continue;
        GP_VEC_PUSH(&b->items, ((struct gp_tracks_item){i, GP_TRACKS_STEP, 0}));
    }
    if (b->items.n)
        lay_out(b, gp_tracks_add_track(b, group, GP_TRACKS_STEPS, "steps", GP_TEXT("steps")), false);
}

static void add_gaps(struct gp_tracks_build *b, uint32_t group, uint32_t first, uint32_t n)
{
    for (uint32_t i = first; i < first + n; i++) {
        const struct gp_tracks_gap *g = &b->l->gaps.at[i];
        if (!gp_tracks_touches(b, g->begin_ns, g->end_ns - g->begin_ns)) continue;
        GP_VEC_PUSH(&b->items, ((struct gp_tracks_item){i, GP_TRACKS_IDLE, 0}));
    }
    if (b->items.n)
        lay_out(b, gp_tracks_add_track(b, group, GP_TRACKS_GAPS, "idle", GP_TEXT("idle time")), false);
}

/* A row of a device that ran no work: waits for the whole context, ranges on an idle stream. */
struct idle_row {
    uint32_t group, track;
    int64_t stream;
};

GP_COMPARE(by_group, struct idle_row, GP_UP(group) GP_UP(stream) GP_UP(track))

/* Those of all devices, whose groups exist, by group. They count as placed from now on. */
static struct idle_row *find_idle_rows(struct gp_tracks_build *b, size_t *n)
{
    const struct gp_trace *t = b->l->v->t;
    struct idle_row *rows = gp_alloc((t->tracks.n + 1) * sizeof *rows);
    *n = 0;
    for (uint32_t i = 0; i < t->tracks.n; i++) {
        const struct gp_track *k = &t->tracks.at[i];
        if (k->kind != GP_TRACK_STREAM || b->stream_of[i] != UINT32_MAX) continue;
        uint32_t group = gp_tracks_device_group(b, t->processes.at[k->process].producer, k->device);
        if (group == UINT32_MAX) continue;
        rows[(*n)++] = (struct idle_row){group, i, k->stream};
        b->stream_of[i] = GP_TRACKS_BESIDE;
    }
    if (*n) qsort(rows, *n, sizeof *rows, by_group);
    return rows;
}

struct gaps {
    struct gp_tracks *l;
    uint32_t *n; /* by device */
};

static void take_gap(void *ctx, const struct gp_idle_piece *p)
{
    struct gaps *g = ctx;
    struct gp_tracks_gap gap = {gp_tracks_bounded(p->begin_ns), gp_tracks_bounded(p->end_ns), p->cause,
                                p->node};
    GP_VEC_PUSH(&g->l->gaps, gap);
    g->n[p->device]++;
}

static void add_devices(struct gp_tracks_build *b)
{
    struct gp_tracks *l = b->l;
    const struct gp_view *v = l->v;
    struct gaps gaps = {l, gp_zalloc((v->devices.n + 1) * sizeof *gaps.n)};
    if (!l->hta->untimed) gp_idle_walk(v, take_gap, &gaps);
    size_t most = l->gaps.n + l->hta->steps.n;
    for (int i = 0; i < GP_TABLE_COUNT; i++) most += i != GP_COUNTER && i != GP_FLOW ? v->t->events[i].n : 0;
    reserve_events(b, most);
    uint32_t first = 0;
    for (size_t d = 0; d < v->devices.n; d++)
        ++*gp_map_put(&b->sharers,
                      gp_tracks_device_key((uint32_t)v->devices.at[d].rank, v->devices.at[d].device), 0);
    size_t idle_n, idle = 0;
    for (uint32_t d = 0; d < v->devices.n; d++) gp_tracks_add_device_group(b, d);
    struct idle_row *idle_rows = find_idle_rows(b, &idle_n);
    for (uint32_t d = 0; d < v->devices.n; d++) { /* the groups of devices come first, in their order */
        const struct gp_view_device *dev = &v->devices.at[d];
        uint32_t group = d;
        add_steps(b, group, dev);
        add_gaps(b, group, first, gaps.n[d]);
        first += gaps.n[d];
        for (size_t s = dev->first_stream; s < dev->first_stream + dev->n_streams; s++) {
            add_stream(b, group, &v->streams.at[s]);
            add_notes(b, group, v->streams.at[s].track);
        }
        for (; idle < idle_n && idle_rows[idle].group == group; idle++)
            add_notes(b, group, idle_rows[idle].track);
        gp_tracks_device_counters(b, d, group);
    }
    free(idle_rows);
    free(gaps.n);
}

/* ---- processes ---- */

/* "Spans", "Traces" and the process -1 of profilers are not processes: they come after the real ones. */
static bool is_aside(const struct gp_process *p) { return p->pid_text != 0 || p->pid < 0; }

static int by_place(const void *a, const void *b, const void *of)
{
    const struct gp_trace *t = of;
    const struct gp_track *kx = &t->tracks.at[*(const uint32_t *)a],
                          *ky = &t->tracks.at[*(const uint32_t *)b];
    const struct gp_process *px = &t->processes.at[kx->process], *py = &t->processes.at[ky->process];
    GP_KEY(is_aside(px), is_aside(py));
    GP_KEY(px->has_sort_index ? px->sort_index : 0, py->has_sort_index ? py->sort_index : 0);
    GP_KEY(px->rank, py->rank);
    GP_KEY(px->pid_text != 0, py->pid_text != 0);
    GP_KEY(px->pid, py->pid);
    GP_KEY(kx->process, ky->process);
    GP_KEY(kx->kind, ky->kind);
    GP_KEY(kx->has_sort_index ? kx->sort_index : 0, ky->has_sort_index ? ky->sort_index : 0);
    GP_KEY(kx->tid != px->pid, ky->tid != py->pid); /* the main thread first */
    GP_KEY(kx->tid_text != 0, ky->tid_text != 0);
    GP_KEY(kx->tid, ky->tid);
    return 0;
}

static void put_thread(struct gp_buf *to, const struct gp_trace *t, uint32_t track)
{
    const struct gp_track *k = &t->tracks.at[track];
    gp_buf_puts(to, k->kind == GP_TRACK_THREAD ? "thread " : k->kind == GP_TRACK_STREAM ? "stream " : "row ");
    if (k->tid_text) gp_tracks_put_sid(to, t, k->tid_text);
    else gp_buf_put_i64(to, k->kind == GP_TRACK_STREAM && k->stream >= 0 ? k->stream : k->tid);
}

static void add_thread(struct gp_tracks_build *b, uint32_t track)
{
    const struct gp_trace *t = b->l->v->t;
    const struct gp_track *k = &t->tracks.at[track];
    for (int marks = 0; marks < 2; marks++) {
        if (marks) merge_rows(b, track, scattered, SCATTERED, true);
        else merge_rows(b, track, nesting, NESTING, false);
        if (!b->items.n) continue;
        struct gp_buf id = {0}, name = {0};
        put_thread(&id, t, track);
        if (k->tid_text && k->kind == GP_TRACK_OTHER) gp_tracks_put_sid(&name, t, k->tid_text);
        else put_thread(&name, t, track);
        if (k->name && k->name != k->tid_text) {
            if (k->kind != GP_TRACK_THREAD || gp_starts(gp_trace_str(t, k->name), "thread ")) name.n = 0;
            else gp_buf_puts(&name, ", ");
            gp_tracks_put_sid(&name, t, k->name);
        }
        gp_buf_puts(&id, marks ? "/marks" : "");
        gp_buf_puts(&name, !marks ? "" : name.n ? ", instants" : "instants");
        if (!name.n) gp_buf_puts(&name, "events");
        uint32_t group = gp_tracks_process_group(b, k->process);
        add_items(b, group, marks ? GP_TRACKS_MARKS : GP_TRACKS_SLICES, &id, &name, !marks);
    }
}

static void add_processes(struct gp_tracks_build *b)
{
    const struct gp_trace *t = b->l->v->t;
    uint32_t *order = gp_alloc((t->tracks.n + 1) * sizeof *order);
    for (uint32_t i = 0; i < t->tracks.n; i++) order[i] = i;
    gp_sort_in(order, t->tracks.n, sizeof *order, by_place, t);
    for (size_t i = 0; i < t->tracks.n; i++) {
        uint32_t track = order[i], stream = b->stream_of[track];
        bool placed = stream == GP_TRACKS_BESIDE ||
                      (stream != UINT32_MAX && b->l->v->streams.at[stream].track == track);
        if (!placed) add_thread(b, track);
    }
    free(order);
}

/* ---- all ---- */

static bool has_ranks(const struct gp_view *v)
{
    for (size_t i = 1; i < v->devices.n; i++)
        if (v->devices.at[i].rank != v->devices.at[0].rank) return true;
    return false;
}

static void begin_build(struct gp_tracks_build *b, struct gp_tracks *l, const struct gp_tracks_opts *opts)
{
    const struct gp_trace *t = l->v->t;
    memset(b, 0, sizeof *b);
    b->l = l;
    b->from_ns = opts ? gp_tracks_bounded(opts->begin_ns) : 0;
    b->to_ns = opts ? gp_tracks_bounded(opts->end_ns) : 0;
    b->ranks = has_ranks(l->v);
    b->seen = gp_zalloc(GP_TRACKS_SEEN * sizeof *b->seen);
    for (int i = 0; i < GP_TABLE_COUNT; i++)
        if (i != GP_GPU && i != GP_COUNTER && i != GP_FLOW) group_rows(b, (enum gp_table)i);
    static const enum gp_table placed[] = {GP_GPU, GP_RANGE, GP_PYTHON, GP_OP, GP_API};
    for (size_t i = 0; i < GP_COUNT(placed); i++)
        l->place[placed[i]] = gp_alloc_ones((t->events[placed[i]].n + 1) * sizeof(uint32_t));
    b->stream_of = gp_alloc_ones((t->tracks.n + t->processes.n + 2) * sizeof *b->stream_of);
    b->group_of_process = b->stream_of + t->tracks.n + 1;
    for (uint32_t s = 0; s < l->v->streams.n; s++) {
        const struct gp_view_stream *stream = &l->v->streams.at[s];
        for (size_t i = stream->first; i < stream->first + stream->n; i++)
            b->stream_of[t->events[GP_GPU].track[l->v->stream_rows[i]]] = s;
    }
}

void gp_tracks_build(struct gp_tracks *l, const struct gp_view *v, const struct gp_hta *h,
                     const struct gp_tracks_opts *opts)
{
    struct gp_tracks_build b;
    memset(l, 0, sizeof *l);
    l->v = v;
    l->hta = h;
    l->begin_ns = l->end_ns = gp_tracks_origin(v->t);
    begin_build(&b, l, opts);
    add_devices(&b);
    add_processes(&b);
    gp_tracks_recorded_counters(&b);
    gp_tracks_join_groups(l);
    sort_names(&b);
    for (int i = 0; i < GP_TABLE_COUNT; i++) {
        free(b.rows[i]);
        free(b.first[i]);
    }
    GP_RELEASE(gp_map_release, &b.ids, &b.names, &b.device_groups, &b.sharers);
    GP_RELEASE(gp_vec_free, &b.uses, &b.items);
    GP_RELEASE(free, b.stream_of, b.seen);
}

void gp_tracks_release(struct gp_tracks *l)
{
    gp_strings_release(&l->strings);
    GP_RELEASE(gp_vec_free, &l->groups, &l->tracks, &l->lanes, &l->names, &l->gaps);
    for (size_t i = 0; i < l->counters.n; i++) GP_VEC_FREE(&l->counters.at[i].samples);
    GP_VEC_FREE(&l->counters);
    GP_RELEASE(free, l->row, l->table, l->name);
    for (int i = 0; i < GP_TABLE_COUNT; i++) free(l->place[i]);
    memset(l, 0, sizeof *l);
}

/* ---- asking ---- */

uint32_t gp_tracks_place(const struct gp_tracks *l, enum gp_table table, uint32_t row)
{
    return l->place[table] ? l->place[table][row] : UINT32_MAX;
}

uint32_t gp_tracks_cause(const struct gp_tracks *l, size_t i)
{
    const struct gp_view *v = l->v;
    uint32_t node = GP_HOST_NONE;
    if (l->table[i] == GP_TRACKS_IDLE) {
        node = l->gaps.at[l->row[i]].node;
    } else if (l->table[i] == GP_GPU) {
        uint32_t api = gp_view_launch(v, l->row[i]);
        if (api != UINT32_MAX) return gp_tracks_place(l, GP_API, api);
        node = v->at.node[l->row[i]];
    }
    if (node == GP_HOST_NONE) return UINT32_MAX;
    return gp_tracks_place(l, (enum gp_table)v->hs.nodes[node].table, v->hs.nodes[node].row);
}

static void put_plain(const struct gp_tracks *l, const struct gp_tracks_name *n, struct gp_buf *to)
{
    const char *text = n->step ? gp_hta_str(l->hta, n->name) : gp_trace_str(l->v->t, n->name);
    size_t len = gp_string_len(n->step ? &l->hta->strings : &l->v->t->strings, n->name);
    if (n->kind >= GP_FRAME_COMPUTE && n->kind <= GP_FRAME_MEMSET) gp_name_demangle(to, text, len);
    else gp_buf_put(to, text, len);
}

void gp_tracks_put_name(const struct gp_tracks *l, uint32_t name, struct gp_buf *to)
{
    const struct gp_tracks_name *n = &l->names.at[name];
    if (n->kind == GP_FRAME_IDLE) gp_buf_puts(to, gp_idle_cause_text((enum gp_idle_cause)n->name));
    else put_plain(l, n, to);
}

void gp_tracks_put_label(const struct gp_tracks *l, uint32_t name, struct gp_buf *to)
{
    const struct gp_tracks_name *n = &l->names.at[name];
    if (n->kind == GP_FRAME_IDLE) {
        gp_buf_puts(to, gp_idle_cause_text((enum gp_idle_cause)n->name));
        return;
    }
    struct gp_buf full = {0};
    put_plain(l, n, &full);
    const char *text = full.data ? full.data : "";
    if (n->kind >= GP_FRAME_COMPUTE && n->kind <= GP_FRAME_REDUCTION) gp_name_kernel_label(to, text, full.n);
    else if (n->kind == GP_FRAME_OP) gp_name_op_label(to, text, full.n);
    else if (n->kind == GP_FRAME_PYTHON || n->kind == GP_FRAME_MODULE) gp_name_python_label(to, text, full.n);
    else gp_buf_put(to, text, full.n);
    gp_buf_release(&full);
}
