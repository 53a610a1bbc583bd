#include "render/timeline/timeline_priv.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "analyze/view/backward.h"
#include "formats/base/order.h"
#include "render/page/page_pack.h"

/* ---- sections ---- */

enum { SMALL_LEVEL = 6 /* of the small ones; the large ones have their own */ };

static void add_section(struct gp_timeline *tl, const char *id, const void *data, size_t n)
{
    struct gp_timeline_section s = {0};
    snprintf(s.id, sizeof s.id, "%s", id);
    gp_page_deflate(&s.bytes, data ? data : "", n, SMALL_LEVEL);
    GP_VEC_PUSH(&tl->sections, s);
}

static void drop_sections(struct gp_timeline *tl, size_t from)
{
    while (tl->sections.n > from) gp_buf_release(&tl->sections.at[--tl->sections.n].bytes);
}

static uint64_t section_bytes(const struct gp_timeline *tl)
{
    uint64_t n = 0;
    for (size_t i = 0; i < tl->sections.n; i++) n += (tl->sections.at[i].bytes.n + 2) / 3 * 4;
    return n;
}

/* ---- counters ---- */

static void add_counters(struct gp_timeline *tl)
{
    const struct gp_tracks *l = tl->l;
    struct gp_buf b = {0};
    static const double MOST = 4503599627370496.0; /* 2^52 */
    for (size_t k = 0; k < l->tracks.n; k++) {
        if (l->tracks.at[k].sort != GP_TRACKS_COUNTER) continue;
        const struct gp_tracks_counter *c = &l->counters.at[l->tracks.at[k].counter];
        int64_t last = 0, scale = gp_timeline_scale(c);
        for (size_t i = 0; i < c->samples.n; i++) {
            int64_t at = c->samples.at[i].at_ns < l->begin_ns ? 0 : c->samples.at[i].at_ns - l->begin_ns;
            gp_pack_u64(&b, (uint64_t)(at - last));
            last = at;
        }
        last = 0;
        for (size_t i = 0; i < c->samples.n; i++) {
            double v = c->samples.at[i].value * (double)scale;
            if (!(v > -MOST)) v = -MOST;
            int64_t value = (int64_t)((v < MOST ? v : MOST) + (v < 0 ? -0.5 : 0.5));
            gp_pack_i64(&b, value - last);
            last = value;
        }
    }
    if (l->counters.n) add_section(tl, "counters", b.data, b.n);
    gp_buf_release(&b);
}

/* ---- the overview ---- */

enum { MOST_BUCKETS = 65536, LEAST_BUCKETS = 256 };

/* ---- which events stay ---- */

GP_COMPARE(by_begin, struct gp_timeline_window, GP_UP(begin_ns) GP_UP(end_ns))

/* The first N of the windows that were asked for, in order of time and disjoint. */
static void set_windows(struct gp_timeline *tl, size_t n)
{
    tl->windows.n = 0;
    for (size_t i = 0; i < n; i++)
        if (tl->opts.windows[i].end_ns > tl->opts.windows[i].begin_ns)
            GP_VEC_PUSH(&tl->windows, tl->opts.windows[i]);
    if (!tl->windows.n) return;
    qsort(tl->windows.at, tl->windows.n, sizeof *tl->windows.at, by_begin);
    size_t last = 0;
    for (size_t i = 1; i < tl->windows.n; i++) {
        struct gp_timeline_window *w = &tl->windows.at[last], *x = &tl->windows.at[i];
        if (x->begin_ns > w->end_ns) tl->windows.at[++last] = *x;
        else if (x->end_ns > w->end_ns) w->end_ns = x->end_ns;
    }
    tl->windows.n = last + 1;
}

/* Does the event touch a window? */
static bool is_kept(const struct gp_timeline *tl, size_t event)
{
    int64_t start = gp_tracks_start(tl->l, event), end = start + gp_tracks_dur(tl->l, event);
    /* the first window that ends after the start */
    GP_SEARCH(lo, 0, tl->windows.n, mid, tl->windows.at[mid].end_ns <= start);
    return lo < tl->windows.n && (tl->windows.at[lo].begin_ns < end || tl->windows.at[lo].begin_ns <= start);
}

/* Keep only events that touch one of the first WINDOWS windows of the options. */
static void keep_windows(struct gp_timeline *tl, size_t windows)
{
    const struct gp_tracks *l = tl->l;
    set_windows(tl, windows);
    free(tl->shown);
    free(tl->number);
    tl->shown = gp_alloc((l->n + 1) * sizeof *tl->shown);
    tl->number = gp_zalloc((l->n + 1) * sizeof *tl->number);
    tl->n = 0;
    for (size_t lane = 0; lane < l->lanes.n; lane++) {
        tl->first[lane] = tl->n;
        const struct gp_lane *k = &l->lanes.at[lane];
        for (size_t i = k->first; i < k->first + k->n; i++) {
            if (!is_kept(tl, i)) continue;
            tl->shown[tl->n++] = (uint32_t)i;
            tl->number[i] = (uint32_t)tl->n;
        }
    }
    tl->first[l->lanes.n] = tl->n;
}

/* ---- the rest ---- */

/* The activity in each bucket of time: how long it was busy, and with which kind. */
struct buckets {
    int64_t begin_ns, span_ns;
    size_t n;
    double *busy;    /* ns, by bucket */
    double *of_kind; /* ns, by bucket and kind */
};

static int64_t edge(const struct buckets *b, size_t i)
{
    return b->begin_ns + (int64_t)((double)b->span_ns * (double)i / (double)b->n);
}

static void add_time(struct buckets *b, int64_t start, int64_t end, int kind)
{
    if (start < b->begin_ns) start = b->begin_ns;
    size_t i = (size_t)((double)(start - b->begin_ns) / (double)b->span_ns * (double)b->n);
    if (i >= b->n) i = b->n - 1;
    while (i && edge(b, i) > start) i--;
    for (; i < b->n && edge(b, i) < end; i++) {
        int64_t from = edge(b, i) > start ? edge(b, i) : start,
                to = edge(b, i + 1) < end ? edge(b, i + 1) : end;
        if (to <= from) continue;
        b->busy[i] += (double)(to - from);
        b->of_kind[i * GP_FRAME_KIND_COUNT + (size_t)kind] += (double)(to - from);
    }
}

static void put_lane(const struct gp_tracks *l, const struct gp_lane *lane, struct buckets *b,
                     struct gp_buf *to)
{
    memset(b->busy, 0, b->n * sizeof *b->busy);
    memset(b->of_kind, 0, b->n * GP_FRAME_KIND_COUNT * sizeof *b->of_kind);
    for (size_t i = lane->first; i < lane->first + lane->n; i++) {
        int64_t start = gp_tracks_start(l, i), end = start + gp_tracks_dur(l, i);
        if (i + 1 < lane->first + lane->n && gp_tracks_start(l, i + 1) < end) end = gp_tracks_start(l, i + 1);
        if (end == start) end++; /* instants are also visible */
        add_time(b, start, end, l->names.at[l->name[i]].kind);
    }
    for (size_t i = 0; i < b->n; i++) {
        double whole = b->busy[i] > 0 ? (double)(edge(b, i + 1) - edge(b, i)) : 0;
        double share = whole > 0 ? b->busy[i] / whole * 255 : 0;
        int level = share > 254.5 ? 255 : (int)(share + 0.5);
        gp_buf_putc(to, (char)(level ? level : b->busy[i] > 0));
    }
    for (size_t i = 0; i < b->n; i++) {
        const double *of = b->of_kind + i * GP_FRAME_KIND_COUNT;
        int most = 0;
        for (int k = 1; b->busy[i] > 0 && k < GP_FRAME_KIND_COUNT; k++)
            if (of[k] > of[most]) most = k;
        gp_buf_putc(to, (char)most);
    }
}

/* The section that shows the events left out. */
static void add_overview(struct gp_timeline *tl)
{
    const struct gp_tracks *l = tl->l;
    struct gp_buf bytes = {0};
    tl->buckets =
        MOST_BUCKETS; /* most buckets deflate to half a byte and less; a quarter of the room is theirs */
    while (tl->buckets > LEAST_BUCKETS && tl->buckets * l->lanes.n > tl->opts.max_bytes / 4) tl->buckets /= 2;
    struct buckets b = {l->begin_ns, l->end_ns > l->begin_ns ? l->end_ns - l->begin_ns : 1, tl->buckets,
                        gp_alloc(tl->buckets * sizeof *b.busy),
                        gp_alloc(tl->buckets * GP_FRAME_KIND_COUNT * sizeof *b.of_kind)};
    for (size_t i = 0; i < l->lanes.n; i++) put_lane(l, &l->lanes.at[i], &b, &bytes);
    add_section(tl, "overview", bytes.data, bytes.n);
    gp_buf_release(&bytes);
    free(b.busy);
    free(b.of_kind);
}

/* ---- events ---- */

/* Higher levels take a third more time for every percent of events. */
enum { LEVEL = 4 };

/* ---- columns ---- */

static size_t lane_of(const struct gp_timeline *tl, size_t event)
{
    GP_SEARCH(later, 1, tl->l->lanes.n, mid, tl->first[mid] <= event)
    return later - 1;
}

/* LEB128 numbers with their first bytes together, then their second bytes, and so on: similar bytes are then
 * adjacent, which deflates better. */
enum { PLANES = 10 };
struct planes {
    struct gp_buf of[PLANES];
};

static void put_number(struct planes *p, uint64_t v)
{
    int k = 0;
    for (; v > 127; v >>= 7) gp_buf_putc(&p->of[k++], (char)(v | 128));
    gp_buf_putc(&p->of[k], (char)v);
}

/* The number of planes, their lengths, and the planes. P is empty after. */
static void put_planes(struct planes *p, struct gp_buf *b)
{
    int n = 0;
    while (n < PLANES && p->of[n].n) n++;
    gp_pack_u64(b, (uint64_t)n);
    for (int k = 0; k < n; k++) gp_pack_u64(b, p->of[k].n);
    for (int k = 0; k < n; k++) {
        gp_buf_put(b, p->of[k].data, p->of[k].n);
        p->of[k].n = 0;
    }
}

static void put_events(const struct gp_timeline *tl, size_t from, size_t to, struct gp_buf *b)
{
    const struct gp_tracks *l = tl->l;
    struct planes starts = {0}, durs = {0};
    size_t i = from;
    for (size_t lane = lane_of(tl, from); i < to; lane++) {
        int64_t end = l->begin_ns, unit = tl->units[lane];
        if (i > tl->first[lane]) {
            size_t last = gp_timeline_event(tl, i - 1);
            end = gp_tracks_start(l, last) + gp_tracks_dur(l, last);
        }
        for (; i < to && i < tl->first[lane + 1]; i++) {
            size_t event = gp_timeline_event(tl, i);
            int64_t start = gp_tracks_start(l, event), dur = gp_tracks_dur(l, event),
                    gap = (start - end) / unit;
            put_number(&starts, (uint64_t)gap << 1 ^ (gap < 0 ? UINT64_MAX : 0));
            put_number(&durs, (uint64_t)(dur / unit));
            end = start + dur;
        }
    }
    put_planes(&starts, b);
    put_planes(&durs, b);
    for (i = from; i < to; i++) put_number(&starts, l->name[gp_timeline_event(tl, i)]);
    put_planes(&starts, b);
    for (int k = 0; k < PLANES; k++) {
        gp_buf_release(&starts.of[k]);
        gp_buf_release(&durs.of[k]);
    }
}

/* The event of the page that caused event I of it; SIZE_MAX: none. */
static size_t cause_of(const struct gp_timeline *tl, size_t i)
{
    uint32_t cause = gp_tracks_cause(tl->l, gp_timeline_event(tl, i));
    return cause == UINT32_MAX ? SIZE_MAX : gp_timeline_number(tl, cause);
}

/* Nothing where no event has a cause. */
static void put_refs(const struct gp_timeline *tl, size_t from, size_t to, struct gp_buf *b)
{
    struct gp_buf distances = {0};
    size_t *next = gp_zalloc((tl->l->lanes.n + 1) * sizeof *next), lane = 0;
    for (size_t i = from; i < to; i++) {
        size_t cause = cause_of(tl, i);
        if (cause == SIZE_MAX) {
            gp_pack_u64(b, 0);
            continue;
        }
        if (cause < tl->first[lane] || cause >= tl->first[lane + 1]) lane = lane_of(tl, cause);
        gp_pack_u64(b, lane + 1);
        gp_pack_i64(&distances, (int64_t)(cause - tl->first[lane]) - (int64_t)next[lane]);
        next[lane] = cause - tl->first[lane] + 1;
    }
    if (distances.n) gp_buf_put(b, distances.data, distances.n);
    else b->n = 0;
    gp_buf_release(&distances);
    free(next);
}

/* ---- many sections at once ---- */

enum what { EVENTS, REFS, ARGS };
static const struct {
    const char *id;
    size_t step;
    void (*put)(const struct gp_timeline *tl, size_t from, size_t to, struct gp_buf *b);
} sorts[] = {
    [EVENTS] = {"events", GP_TIMELINE_SEGMENT, put_events},
    [REFS] = {"refs", GP_TIMELINE_SEGMENT, put_refs},
    [ARGS] = {"args", GP_TIMELINE_BLOCK, gp_timeline_put_args},
};

struct jobs {
    const struct gp_timeline *tl;
    enum what what;
    size_t n;
    struct gp_buf *done; /* by job */
    uint64_t room;       /* bytes of base64 that may still come */
    pthread_mutex_t lock;
    size_t next;
    bool full;
};

static void *work(void *arg)
{
    struct jobs *j = arg;
    struct gp_buf raw = {0};
    for (;;) {
        pthread_mutex_lock(&j->lock);
        size_t i = j->next < j->n && !j->full ? j->next++ : SIZE_MAX;
        pthread_mutex_unlock(&j->lock);
        if (i == SIZE_MAX) break;
        size_t step = sorts[j->what].step, from = i * step,
               to = j->tl->n - from < step ? j->tl->n : from + step;
        raw.n = 0;
        sorts[j->what].put(j->tl, from, to, &raw);
        if (!raw.n) continue;
        gp_page_deflate(&j->done[i], raw.data, raw.n, LEVEL);
        uint64_t need = (j->done[i].n + 2) / 3 * 4;
        pthread_mutex_lock(&j->lock);
        j->full |= need > j->room;
        j->room -= need < j->room ? need : j->room;
        pthread_mutex_unlock(&j->lock);
    }
    gp_buf_release(&raw);
    return NULL;
}

/* Add the sections of a sort. False, and nothing added, when they take more than ROOM bytes: whether they do
 * does not depend on who packs them. */
static bool pack_sort(struct gp_timeline *tl, enum what what, uint64_t room)
{
    enum { MOST_THREADS = 16 };
    pthread_t threads[MOST_THREADS];
    struct jobs j = {
        .tl = tl, .what = what, .n = (tl->n + sorts[what].step - 1) / sorts[what].step, .room = room};
    int started = 0;
    j.done = gp_zalloc((j.n + 1) * sizeof *j.done);
    pthread_mutex_init(&j.lock, NULL);
    while (started + 1 < tl->opts.threads && (size_t)started + 1 < j.n && started < MOST_THREADS &&
           !pthread_create(&threads[started], NULL, work, &j))
        started++;
    work(&j);
    while (started) pthread_join(threads[--started], NULL);
    pthread_mutex_destroy(&j.lock);
    for (size_t i = 0; i < j.n; i++) {
        if (j.full) gp_buf_release(&j.done[i]);
        if (j.full || !j.done[i].n) continue;
        struct gp_timeline_section s = {.bytes = j.done[i]};
        snprintf(s.id, sizeof s.id, "%s.%zu", sorts[what].id, i);
        GP_VEC_PUSH(&tl->sections, s);
        if (what == REFS) GP_VEC_PUSH(&tl->refs, (uint32_t)i);
        if (what == ARGS) GP_VEC_PUSH(&tl->blocks, (uint32_t)i);
    }
    free(j.done);
    return !j.full;
}

/* ---- the small ones ---- */

/* Forward and backward operators that belong together. */
static void add_pairs(struct gp_timeline *tl)
{
    const struct gp_tracks *l = tl->l;
    const struct gp_host_stack *hs = &l->v->hs;
    struct gp_backward bw;
    struct gp_buf b = {0};
    int64_t last[2] = {0, 0};
    if (!l->v->t->events[GP_OP].seq) return;
    gp_backward_build(&bw, l->v->t, hs);
    for (uint32_t node = 0; node < hs->n; node++) {
        if (hs->nodes[node].table != GP_OP) continue;
        uint32_t origin = gp_backward_origin(&bw, node);
        if (origin == GP_HOST_NONE) continue;
        uint32_t from = gp_tracks_place(l, GP_OP, hs->nodes[origin].row),
                 to = gp_tracks_place(l, GP_OP, hs->nodes[node].row);
        size_t a = from == UINT32_MAX ? SIZE_MAX : gp_timeline_number(tl, from);
        size_t z = to == UINT32_MAX ? SIZE_MAX : gp_timeline_number(tl, to);
        if (a == SIZE_MAX || z == SIZE_MAX) continue;
        gp_pack_i64(&b, (int64_t)a - last[0]);
        gp_pack_i64(&b, (int64_t)z - last[1]);
        last[0] = (int64_t)a;
        last[1] = (int64_t)z;
        tl->pairs++;
    }
    if (tl->pairs) add_section(tl, "pairs", b.data, b.n);
    gp_backward_release(&bw);
    gp_buf_release(&b);
}

/* ---- all ---- */

/* Are all times of the lane whole microseconds after the first? Profilers that write such are common. */
static int64_t unit_of(const struct gp_tracks *l, const struct gp_lane *lane)
{
    enum { US = 1000 };
    for (size_t i = lane->first; i < lane->first + lane->n; i++)
        if ((gp_tracks_start(l, i) - l->begin_ns) % US || gp_tracks_dur(l, i) % US) return 1;
    return US;
}

static uint64_t room_of(const struct gp_timeline *tl)
{
    uint64_t used = section_bytes(tl) + tl->reserved;
    if (!tl->opts.max_bytes) return UINT64_MAX;
    return used < tl->opts.max_bytes ? tl->opts.max_bytes - used : 0;
}

static void add_head(struct gp_timeline *tl)
{
    struct gp_buf head = {0};
    gp_timeline_put_head(tl, &head);
    add_section(tl, "timeline", head.data, head.n);
    gp_buf_release(&head);
}

/* Bytes of the page besides its events: script, style, still picture, and the head, which is made twice for
 * this. */
static void reserve(struct gp_timeline *tl)
{
    enum { PAGE = 400000 };
    add_head(tl);
    tl->reserved = section_bytes(tl) + PAGE;
    drop_sections(tl, 0);
}

static void add_args(struct gp_timeline *tl)
{
    struct gp_buf b = {0};
    size_t before = tl->sections.n;
    gp_timeline_put_configs(tl, &b);
    add_section(tl, "configs", b.data, b.n);
    gp_buf_release(&b);
    if (pack_sort(tl, ARGS, room_of(tl))) return;
    drop_sections(tl, before);
    tl->args_left_out = true;
}

static bool add_events(struct gp_timeline *tl)
{
    size_t before = tl->sections.n;
    tl->refs.n = 0;
    if (pack_sort(tl, EVENTS, room_of(tl)) && pack_sort(tl, REFS, room_of(tl))) return true;
    drop_sections(tl, before);
    tl->refs.n = 0;
    return false;
}

/* An overview of all, and the events of as many windows as there is room for, the dearest first. */
static void add_parts(struct gp_timeline *tl)
{
    size_t n = tl->opts.windows_n;
    tl->overview = true;
    add_overview(tl);
    for (;;) {
        enum { LEAST = 2 }; /* bytes of base64 an event: more events cannot fit */
        keep_windows(tl, n);
        if (!n || (tl->n * LEAST <= room_of(tl) && add_events(tl))) break;
        n = n > 8 ? n - n / 4 : n - 1;
    }
}

void gp_timeline_pack(struct gp_timeline *tl, const struct gp_tracks *l, const struct gp_timeline_opts *opts)
{
    memset(tl, 0, sizeof *tl);
    tl->l = l;
    tl->opts = *opts;
    tl->first = gp_zalloc((l->lanes.n + 1) * sizeof *tl->first);
    tl->units = gp_zalloc((l->lanes.n + 1) * sizeof *tl->units);
    for (size_t i = 0; i < l->lanes.n; i++) tl->units[i] = unit_of(l, &l->lanes.at[i]);
    tl->n = l->n;
    for (size_t i = 0; i < l->lanes.n; i++) tl->first[i] = l->lanes.at[i].first;
    tl->first[l->lanes.n] = tl->n;
    reserve(tl);
    add_counters(tl);
    if (!add_events(tl)) add_parts(tl);
    add_pairs(tl);
    if (opts->args) add_args(tl);
    add_head(tl);
}

void gp_timeline_release(struct gp_timeline *tl)
{
    drop_sections(tl, 0);
    GP_RELEASE(gp_vec_free, &tl->sections, &tl->windows, &tl->refs, &tl->blocks);
    GP_RELEASE(free, tl->shown, tl->number, tl->first, tl->units);
    memset(tl, 0, sizeof *tl);
}
