/* sample_count.h -- how many samples of a thread's stack were taken in a stretch of time: what a share that
 * samples found rests on. Knows nothing of stacks or causes.
 *
 *     struct gp_sample_count s;
 *     gp_sample_count_init(&s, &trace);
 *     uint64_t n = gp_sample_count(&s, track, begin_ns, end_ns);
 *     gp_sample_count_release(&s);
 */
#ifndef GP_ANALYZE_SAMPLE_COUNT_H
#define GP_ANALYZE_SAMPLE_COUNT_H

#include "formats/model/trace.h"

struct gp_sample_count {
    const struct gp_trace *t;
    uint32_t *first; /* by track: its first run in RUNS; one more than there are tracks */
    uint32_t *runs;  /* rows of GP_SAMPLE by track, in order of time */
};

/* T must be finished and outlive S. O(n). */
void gp_sample_count_init(struct gp_sample_count *s, const struct gp_trace *t);
void gp_sample_count_release(struct gp_sample_count *s);
/* The samples of TRACK in [BEGIN, END). The samples of a run are taken to be at equal distances. O(log n) and
 * the runs in the stretch. */
uint64_t gp_sample_count(const struct gp_sample_count *s, uint32_t track, int64_t begin_ns, int64_t end_ns);

#endif
