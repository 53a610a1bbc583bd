/* Events in the order of their tracks. On a thread, spans nest; spans that do not, and work of a stream that
 * overlaps, go to further tracks, one span at a time, so that no viewer has to drop any. */
#include <stdio.h>
#include <stdlib.h>
#include "formats/perfetto/perfetto_priv.h"

/* The events of a track of the model go to these tracks of ours. */
enum group { MAIN, SYNCS, RANGES, GROUPS };

struct lane {
    GP_VEC(struct gp_pf_ref) refs;
    int64_t end_ns; /* of the last span */
};

struct order {
    struct gp_pf *w;
    GP_VEC(struct gp_pf_ref) refs, merged;
    GP_VEC(struct lane) lanes;
    GP_VEC(int64_t) open;  /* ends of the spans that are open */
    GP_VEC(uint32_t) heap; /* lanes from 1 on, the one that ends first on top */
};

static int64_t start_of(const struct gp_pf *w, struct gp_pf_ref r)
{
    return w->t->events[r.table].start_ns[r.row];
}

static int64_t end_of(const struct gp_pf *w, struct gp_pf_ref r)
{
    const struct gp_events *e = &w->t->events[r.table];
    return e->start_ns[r.row] + e->dur_ns[r.row];
}

/* Instants: marks, allocations, arrows, records of CUDA events, and the ends of asynchronous events. */
static bool is_instant(const struct gp_pf *w, struct gp_pf_ref r)
{
    const struct gp_events *e = &w->t->events[r.table];
    if (r.table == GP_MARK || r.table == GP_MEMORY || r.table == GP_FLOW) return true;
    if (r.table == GP_SYNC)
        return gp_get_cat(e, r.row) && !strcmp(gp_trace_str(w->t, gp_get_cat(e, r.row)), "cuda_event");
    if (r.table != GP_OTHER) return false;
    uint32_t phase = gp_get_phase(e, r.row) & 0x7f;
    return phase && phase != 'X';
}

/* ---- lanes ---- */

static void sift(struct order *o, size_t i)
{
    for (;;) {
        size_t least = i, left = 2 * i + 1;
        for (size_t k = left; k < left + 2 && k < o->heap.n; k++)
            if (o->lanes.at[o->heap.at[k]].end_ns < o->lanes.at[o->heap.at[least]].end_ns) least = k;
        if (least == i) return;
        uint32_t was = o->heap.at[i];
        o->heap.at[i] = o->heap.at[least];
        o->heap.at[least] = was;
        i = least;
    }
}

/* A lane from 1 on that is free at START; a new one if there is none. */
static uint32_t free_lane(struct order *o, int64_t start_ns, int64_t end_ns)
{
    if (o->heap.n && o->lanes.at[o->heap.at[0]].end_ns <= start_ns) {
        uint32_t lane = o->heap.at[0];
        o->lanes.at[lane].end_ns = end_ns;
        sift(o, 0);
        return lane;
    }
    uint32_t lane = (uint32_t)o->lanes.n;
    GP_VEC_PUSH(&o->lanes, ((struct lane){.end_ns = end_ns}));
    GP_VEC_PUSH(&o->heap, lane);
    for (size_t i = o->heap.n - 1; i && o->lanes.at[o->heap.at[(i - 1) / 2]].end_ns > end_ns;
         i = (i - 1) / 2) {
        o->heap.at[i] = o->heap.at[(i - 1) / 2];
        o->heap.at[(i - 1) / 2] = lane;
    }
    return lane;
}

/* Put each event into a lane: 0 if it nests there, or, with FLAT, if nothing is open. As long as there is no
 * other, all are in lane 0, and nothing is copied. */
static void divide(struct order *o, bool flat)
{
    for (size_t i = 0; i < o->refs.n; i++) {
        struct gp_pf_ref r = o->refs.at[i];
        int64_t start = start_of(o->w, r), end = end_of(o->w, r);
        uint32_t lane = 0;
        while (o->open.n && o->open.at[o->open.n - 1] <= start) o->open.n--;
        if (!is_instant(o->w, r)) {
            if (o->open.n && (flat || o->open.at[o->open.n - 1] < end)) lane = free_lane(o, start, end);
            else GP_VEC_PUSH(&o->open, end);
        }
        if (o->lanes.n == 1) continue;
        struct lane *to = &o->lanes.at[lane];
        if (!o->lanes.at[0].refs.n && i) {
            GP_VEC_RESERVE(&o->lanes.at[0].refs, o->refs.n);
            memcpy(o->lanes.at[0].refs.at, o->refs.at, i * sizeof r);
            o->lanes.at[0].refs.n = i;
        }
        GP_VEC_PUSH(&to->refs, r);
    }
}

/* ---- packets of a lane ---- */

/* How many GPU events a call launched. */
static uint32_t launches(const struct gp_pf *w, struct gp_pf_ref r)
{
    return r.table == GP_API && w->first ? w->first[r.row + 1] - w->first[r.row] : 0;
}

/* An arrow from a call to each GPU event that it launched: its id is the row of that event. */
static char *put_flows(struct gp_pf *w, char *p, struct gp_pf_ref r)
{
    if (r.table == GP_GPU && w->launch_of && w->launch_of[r.row] != GP_PF_NONE)
        p = gp_put_fixed64(p, GP_PF_FLOW_END, (uint64_t)r.row + 1);
    for (uint32_t i = 0, n = launches(w, r); i < n; i++)
        p = gp_put_fixed64(p, GP_PF_FLOW, (uint64_t)w->launches[w->first[r.row] + i] + 1);
    return p;
}

/* The category of events that have none of their own, 0 if they are without. */
static gp_sid usual_category(struct gp_pf *w, struct gp_pf_ref r)
{
    if (r.table != GP_GPU) return *gp_table_category((enum gp_table)r.table) ? w->usual[r.table] : 0;
    struct gp_pf_config *known = gp_pf_config(w, gp_get_config(&w->t->events[GP_GPU], r.row));
    if (known->category) return known->category;
    const struct gp_config *c = gp_gpu_config(w->t, r.row);
    if (c->cat) known->category = c->cat;
    else if (*gp_gpu_kind_category((enum gp_gpu_kind)c->kind))
        known->category = w->usual[GP_TABLE_COUNT + c->kind];
    return known->category;
}

/* What a reader makes of the category: cached for spans, which are many. */
static uint32_t expected_table(struct gp_pf *w, gp_sid cat, bool instant)
{
    const char *text = gp_pf_string(w, cat);
    if (instant) return gp_pf_table_of(text, strlen(text), true);
    while (cat >= w->class_of.n) GP_VEC_PUSH(&w->class_of, 0);
    uint8_t *known = &w->class_of.at[cat];
    if (!*known) *known = (uint8_t)(1 + gp_pf_table_of(text, strlen(text), false));
    return *known - 1u;
}

static void put_begin(struct gp_pf *w, struct gp_pf_ref r, bool instant)
{
    const struct gp_events *e = &w->t->events[r.table];
    int64_t at_ns = e->start_ns[r.row];
    gp_sid cat = gp_get_cat(e, r.row);
    char *p = gp_pf_prepare(w, at_ns, (size_t)launches(w, r) * GP_FIELD_MOST);
    p = gp_put_field(p, GP_PF_TYPE, instant ? GP_PF_INSTANT : GP_PF_BEGIN);
    p = gp_put_field(p, GP_PF_NAME_IID, gp_pf_intern(w, GP_PF_NAMES, e->name[r.row]));
    if (!cat) cat = usual_category(w, r);
    if (cat) p = gp_put_field(p, GP_PF_CATEGORY_IID, gp_pf_intern(w, GP_PF_CATEGORIES, cat));
    if (expected_table(w, cat, instant) != r.table) p = gp_pf_arg(w, p, GP_PF_KEY_TABLE, GP_PF_UINT, r.table);
    if (instant && e->dur_ns[r.row])
        p = gp_pf_arg(w, p, GP_PF_KEY_DURATION, GP_PF_INT, (uint64_t)e->dur_ns[r.row]);
    p = gp_pf_args(w, p, (enum gp_table)r.table, r.row);
    gp_pf_event(w, at_ns, put_flows(w, p, r));
}

static void put_lane(struct order *o, const struct gp_pf_ref *refs, size_t n, uint64_t uuid)
{
    struct gp_pf *w = o->w;
    gp_pf_begin(w, uuid, start_of(w, refs[0]));
    o->open.n = 0;
    for (size_t i = 0; i < n && !w->chunks.stopped; i++) {
        struct gp_pf_ref r = refs[i];
        int64_t start = start_of(w, r);
        while (o->open.n && o->open.at[o->open.n - 1] <= start) gp_pf_end(w, o->open.at[--o->open.n]);
        bool instant = is_instant(w, r);
        put_begin(w, r, instant);
        if (!instant) GP_VEC_PUSH(&o->open, end_of(w, r));
    }
    while (o->open.n) gp_pf_end(w, o->open.at[--o->open.n]);
}

/* ---- tracks ---- */

static void put_group(struct order *o, uint32_t track, enum group group)
{
    static const char *const names[] = {"", " waits", " ranges"};
    struct gp_pf *w = o->w;
    char suffix[40];
    bool stream = w->t->tracks.at[track].kind == GP_TRACK_STREAM;
    if (!o->refs.n) return;
    GP_VEC_PUSH(&o->lanes, ((struct lane){.end_ns = INT64_MIN}));
    divide(o, stream && group == MAIN);
    if (o->lanes.n == 1) put_lane(o, o->refs.at, o->refs.n, gp_pf_track(w, track, names[group]));
    for (uint32_t i = 0; i < o->lanes.n; i++) {
        struct lane *lane = &o->lanes.at[i];
        if (i) snprintf(suffix, sizeof suffix, "%s, beside %u", names[group], (unsigned)i);
        else snprintf(suffix, sizeof suffix, "%s", names[group]);
        if (lane->refs.n) put_lane(o, lane->refs.at, lane->refs.n, gp_pf_track(w, track, suffix));
        GP_VEC_FREE(&lane->refs);
    }
    o->lanes.n = o->heap.n = o->open.n = o->refs.n = 0;
}

static bool comes_first(const struct gp_pf *w, struct gp_pf_ref a, struct gp_pf_ref b)
{
    int64_t x = start_of(w, a), y = start_of(w, b);
    return x != y ? x < y : end_of(w, a) >= end_of(w, b);
}

/* Merge refs FIRST.. of `refs`, sorted, into those before, which are sorted, too. */
static void merge(struct order *o, size_t first)
{
    size_t a = 0, b = first, n = o->refs.n;
    if (!first || first == n || comes_first(o->w, o->refs.at[first - 1], o->refs.at[first])) return;
    o->merged.n = 0;
    GP_VEC_RESERVE(&o->merged, n);
    while (a < first && b < n) {
        bool left = comes_first(o->w, o->refs.at[a], o->refs.at[b]);
        o->merged.at[o->merged.n++] = o->refs.at[left ? a++ : b++];
    }
    memcpy(o->merged.at + o->merged.n, o->refs.at + a, (first - a) * sizeof *o->refs.at);
    o->merged.n += first - a;
    memcpy(o->refs.at, o->merged.at, o->merged.n * sizeof *o->refs.at);
}

static enum group group_of(enum gp_table table, const struct gp_track *k)
{
    if (k->kind != GP_TRACK_STREAM) return MAIN;
    return table == GP_SYNC ? SYNCS : table == GP_GPU_RANGE ? RANGES : MAIN;
}

/* The rows of each table in the order of their tracks: those of track K are rows[first[K]] up to first[K +
 * 1]. */
struct by_track {
    uint32_t *rows, *first;
};

static void sort_by_track(struct by_track *b, const struct gp_trace *t, enum gp_table table)
{
    const struct gp_events *e = &t->events[table];
    b->first = gp_zalloc((t->tracks.n + 2) * sizeof *b->first);
    b->rows = gp_alloc((e->n + 1) * sizeof *b->rows);
    for (size_t i = 0; i < e->n; i++) b->first[e->track[i] + 2]++;
    for (size_t k = 2; k < t->tracks.n + 2; k++) b->first[k] += b->first[k - 1];
    for (size_t i = 0; i < e->n; i++) b->rows[b->first[e->track[i] + 1]++] = (uint32_t)i;
}

/* At equal times, the first one here is outside. */
static const enum gp_table order[] = {GP_OTHER,    GP_RANGE,     GP_PYTHON, GP_OP,     GP_API,  GP_SYNC,
                                      GP_OVERHEAD, GP_GPU_RANGE, GP_GPU,    GP_MEMORY, GP_MARK, GP_FLOW};

void gp_pf_tracks_of_events(struct gp_pf *w)
{
    struct order o = {.w = w};
    struct by_track by[GP_COUNT(order)];
    for (size_t i = 0; i < GP_COUNT(order); i++) sort_by_track(&by[i], w->t, order[i]);
    for (uint32_t k = 0; k < w->t->tracks.n; k++) {
        for (int group = MAIN; group < GROUPS; group++) {
            for (size_t i = 0; i < GP_COUNT(order); i++) {
                size_t first = o.refs.n;
                if (order[i] == GP_FLOW && w->launch_of) continue; /* made from the correlation ids instead */
                if (group_of(order[i], &w->t->tracks.at[k]) != (enum group)group) continue;
                for (uint32_t r = by[i].first[k]; r < by[i].first[k + 1]; r++)
                    GP_VEC_PUSH(&o.refs, ((struct gp_pf_ref){order[i], by[i].rows[r]}));
                merge(&o, first);
            }
            put_group(&o, k, (enum group)group);
        }
    }
    for (size_t i = 0; i < GP_COUNT(order); i++) {
        free(by[i].rows);
        free(by[i].first);
    }
    GP_RELEASE(gp_vec_free, &o.refs, &o.merged, &o.lanes, &o.open, &o.heap);
}
