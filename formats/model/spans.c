#include "formats/model/spans.h"

#include <stdlib.h>

static int by_track_and_begin(const void *a, const void *b)
{
    const struct gp_row_span *x = a, *y = b;
    if (x->track != y->track) return x->track < y->track ? -1 : 1;
    if (x->begin_ns != y->begin_ns) return x->begin_ns < y->begin_ns ? -1 : 1;
    return x->end_ns > y->end_ns ? -1 : x->end_ns < y->end_ns;
}

static void add_table(struct gp_spans *s, const struct gp_events *e, const uint8_t *wanted)
{
    for (size_t i = 0; i < e->n && s->list.n < GP_SPAN_NONE; i++) {
        int64_t begin = e->start_ns[i], dur = e->dur_ns[i];
        if (!wanted[e->track[i]] || !gp_time_fits(begin) || dur <= 0 || dur > GP_DURATION_MOST) continue;
        GP_VEC_PUSH(&s->list, ((struct gp_row_span){begin, begin + dur, e->track[i], GP_SPAN_NONE}));
    }
}

static void nest(struct gp_spans *s)
{
    uint32_t open = GP_SPAN_NONE;
    for (uint32_t i = 0; i < s->list.n; i++) {
        struct gp_row_span *p = &s->list.at[i];
        if (open != GP_SPAN_NONE && s->list.at[open].track != p->track) open = GP_SPAN_NONE;
        while (open != GP_SPAN_NONE && s->list.at[open].end_ns < p->end_ns) open = s->list.at[open].parent;
        p->parent = open;
        open = i;
    }
}

void gp_spans_build(struct gp_spans *s, const struct gp_trace *t, uint32_t tables, const uint8_t *wanted)
{
    *s = (struct gp_spans){0};
    for (int i = 0; i < GP_TABLE_COUNT; i++)
        if (tables & GP_NEED(i)) add_table(s, &t->events[i], wanted);
    s->first = gp_zalloc((t->tracks.n + 2) * sizeof *s->first);
    if (s->list.n) qsort(s->list.at, s->list.n, sizeof *s->list.at, by_track_and_begin);
    for (size_t i = 0; i < s->list.n; i++) s->first[s->list.at[i].track + 1]++;
    for (size_t i = 0; i < t->tracks.n; i++) s->first[i + 1] += s->first[i];
    nest(s);
}

void gp_spans_release(struct gp_spans *s)
{
    GP_VEC_FREE(&s->list);
    free(s->first);
    *s = (struct gp_spans){0};
}

uint32_t gp_spans_at(const struct gp_spans *s, uint32_t track, int64_t at_ns)
{
    enum { MOST = 64 };
    uint32_t lo = s->first[track], hi = s->first[track + 1], none = lo;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (s->list.at[mid].begin_ns < at_ns) lo = mid + 1;
        else hi = mid;
    }
    uint32_t i = lo == none ? GP_SPAN_NONE : lo - 1;
    for (int steps = 0; i != GP_SPAN_NONE && s->list.at[i].end_ns <= at_ns; i = s->list.at[i].parent)
        if (++steps == MOST) return GP_SPAN_NONE;
    return i;
}
