#include "analyze/view/sample_count.h"

#include <stdlib.h>

void gp_sample_count_init(struct gp_sample_count *s, const struct gp_trace *t)
{
    const struct gp_events *e = &t->events[GP_SAMPLE];
    s->t = t;
    s->first = gp_zalloc((t->tracks.n + 2) * sizeof *s->first);
    s->runs = gp_alloc((e->n + 1) * sizeof *s->runs);
    for (size_t i = 0; i < e->n; i++) s->first[e->track[i] + 2]++;
    for (size_t k = 0; k < t->tracks.n; k++) s->first[k + 2] += s->first[k + 1];
    for (size_t i = 0; i < e->n; i++) s->runs[s->first[e->track[i] + 1]++] = (uint32_t)i;
}

void gp_sample_count_release(struct gp_sample_count *s)
{
    free(s->first);
    free(s->runs);
    *s = (struct gp_sample_count){0};
}

/* The samples of a run before AT. */
static uint64_t before(const struct gp_events *e, uint32_t row, int64_t at_ns)
{
    int64_t more = gp_get_total(e, row), dur = e->dur_ns[row], since = at_ns - e->start_ns[row];
    if (since <= 0) return 0;
    if (more <= 0) return 1;
    int64_t apart = dur / more;
    if (since > dur || apart <= 0) return 1 + (uint64_t)more;
    int64_t n = 1 + (since - 1) / apart;
    return (uint64_t)(n < more ? n : more);
}

uint64_t gp_sample_count(const struct gp_sample_count *s, uint32_t track, int64_t begin_ns, int64_t end_ns)
{
    const struct gp_events *e = &s->t->events[GP_SAMPLE];
    uint32_t lo = s->first[track], hi = s->first[track + 1], last = hi;
    while (lo < hi) { /* the first run that ends at BEGIN or later: the runs of a thread do not overlap */
        uint32_t mid = lo + (hi - lo) / 2;
        if (e->start_ns[s->runs[mid]] + e->dur_ns[s->runs[mid]] < begin_ns) lo = mid + 1;
        else hi = mid;
    }
    uint64_t n = 0;
    for (; lo < last && e->start_ns[s->runs[lo]] < end_ns; lo++) {
        uint64_t a = before(e, s->runs[lo], begin_ns), b = before(e, s->runs[lo], end_ns);
        n += b > a ? b - a : 0;
    }
    return n;
}
