#include <stdlib.h>
#include <string.h>
#include "render/timeline/timeline_priv.h"

enum { MOST_BUCKETS = 65536, LEAST_BUCKETS = 256 };

/* ---- which events stay ---- */

static int by_begin(const void *a, const void *b)
{
    const struct gp_timeline_window *x = a, *y = b;
    if (x->begin_ns != y->begin_ns) return x->begin_ns < y->begin_ns ? -1 : 1;
    return (x->end_ns > y->end_ns) - (x->end_ns < y->end_ns);
}

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
static bool stays(const struct gp_timeline *tl, size_t event)
{
    int64_t start = gp_lanes_start(tl->l, event), end = start + gp_lanes_dur(tl->l, event);
    size_t lo = 0, hi = tl->windows.n; /* the first window that ends after the start */
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (tl->windows.at[mid].end_ns <= start) lo = mid + 1;
        else hi = mid;
    }
    return lo < tl->windows.n && (tl->windows.at[lo].begin_ns < end || tl->windows.at[lo].begin_ns <= start);
}

void gp_timeline_keep_windows(struct gp_timeline *tl, size_t windows)
{
    const struct gp_lanes *l = tl->l;
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
            if (!stays(tl, i)) continue;
            tl->shown[tl->n++] = (uint32_t)i;
            tl->number[i] = (uint32_t)tl->n;
        }
    }
    tl->first[l->lanes.n] = tl->n;
}

/* ---- the rest ---- */

/* What happened in each bucket of time: how long it was busy, and with what. */
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

static void put_lane(const struct gp_lanes *l, const struct gp_lane *lane, struct buckets *b,
                     struct gp_buf *to)
{
    memset(b->busy, 0, b->n * sizeof *b->busy);
    memset(b->of_kind, 0, b->n * GP_FRAME_KIND_COUNT * sizeof *b->of_kind);
    for (size_t i = lane->first; i < lane->first + lane->n; i++) {
        int64_t start = gp_lanes_start(l, i), end = start + gp_lanes_dur(l, i);
        if (i + 1 < lane->first + lane->n && gp_lanes_start(l, i + 1) < end) end = gp_lanes_start(l, i + 1);
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

void gp_timeline_add_overview(struct gp_timeline *tl)
{
    const struct gp_lanes *l = tl->l;
    struct gp_buf bytes = {0};
    tl->buckets =
        MOST_BUCKETS; /* most buckets deflate to half a byte and less; a quarter of the room is theirs */
    while (tl->buckets > LEAST_BUCKETS && tl->buckets * l->lanes.n > tl->opts.max_bytes / 4) tl->buckets /= 2;
    struct buckets b = {l->begin_ns, l->end_ns > l->begin_ns ? l->end_ns - l->begin_ns : 1, tl->buckets,
                        gp_alloc(tl->buckets * sizeof *b.busy),
                        gp_alloc(tl->buckets * GP_FRAME_KIND_COUNT * sizeof *b.of_kind)};
    for (size_t i = 0; i < l->lanes.n; i++) put_lane(l, &l->lanes.at[i], &b, &bytes);
    gp_timeline_add(tl, "overview", bytes.data, bytes.n);
    gp_buf_release(&bytes);
    free(b.busy);
    free(b.of_kind);
}
