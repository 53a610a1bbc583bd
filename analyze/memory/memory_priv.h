/* memory_priv.h -- what the parts of the memory analysis pass to each other. Private to analyze/memory. */
#ifndef GP_ANALYZE_MEMORY_MEMORY_PRIV_H
#define GP_ANALYZE_MEMORY_MEMORY_PRIV_H

#include "analyze/memory/heap.h"
#include "analyze/memory/memory.h"

/* What a program was doing when it made a block. */
enum gp_phase { GP_PHASE_NONE, GP_PHASE_SETUP, GP_PHASE_FORWARD, GP_PHASE_BACKWARD, GP_PHASE_OPTIMIZER };

/* From TIME_NS on SPAN is the innermost range. */
struct gp_break {
    int64_t time_ns;
    uint32_t span, other; /* other: the span that begins (it is SPAN) or ends here */
    bool end;
};
typedef GP_VEC(struct gp_break) gp_breaks;

static inline uint32_t gp_memory_index(const struct gp_memory *m, const struct gp_memory_device *d)
{
    return (uint32_t)(d - m->devices.at);
}

/* ---- inputs.c ---- */

/* An input with what is known of its quality, from S. */
void gp_memory_add_input(struct gp_memory *m, const struct gp_snapshot *s);
/* Device NUMBER of the last input, whose history is slice T of S; unless another device was asked for. */
void gp_memory_add_device(struct gp_memory *m, struct gp_snapshot *s, int32_t number,
                          const struct gp_snapshot_trace *t);

void gp_memory_release_device(struct gp_memory_device *d);

/* ---- ranges.c: annotations to ranges and steps ---- */

/* The ranges of D's annotations, into D->spans, and where the innermost one changes. Labels go to M's
 * strings. */
void gp_ranges_build(struct gp_memory *m, struct gp_memory_device *d, gp_breaks *breaks);
/* The steps among D's ranges. -1 when EXPRESSION is none. */
GP_MUST_CHECK int gp_ranges_steps(struct gp_memory *m, struct gp_memory_device *d, const char *expression,
                                  struct gp_err *err);
/* The innermost range at POSITION that is not a step; GP_NO_SPAN. */
uint32_t gp_ranges_at(const struct gp_memory_device *d, uint32_t position);
/* What a range's name says of the phase of training. */
enum gp_phase gp_phase_of_name(const char *name, size_t n);

/* ---- replay.c: the history to lives of blocks ---- */
void gp_replay(struct gp_memory *m, struct gp_memory_device *d, gp_breaks *breaks);
/* ---- curve.c: the sums over time, peak and series ---- */
void gp_curve(const struct gp_memory *m, struct gp_memory_device *d);

/* ---- sites.c ---- */

/* The site of STACK, or, where it is 0, of SPAN. */
uint32_t gp_site_of(struct gp_memory *m, struct gp_memory_device *d, uint32_t stack, uint32_t span);
/* Name the sites of D. */
void gp_sites_name(struct gp_memory *m, struct gp_memory_device *d);
/* Append a stack as a person reads it: the frame that matters, then who called it from the program's own
 * code. */
void gp_site_key(struct gp_buf *b, const struct gp_snapshot *s, uint32_t stack);

/* ---- join.c: a snapshot and a trace of one run ---- */

/* Merge devices of traces into a snapshot's device with the same allocations, and remove them. */
void gp_join(struct gp_memory *m);
/* Leave out the devices that are marked in DROP. */
void gp_memory_drop_devices(struct gp_memory *m, const bool *drop);

/* ---- outside.c ---- */

/* What the driver gave to others than the allocator, into M->outside; the devices that told it go. */
void gp_outside_find(struct gp_memory *m);

/* ---- holders.c ---- */

/* Holders of one name as one, from M->holders into M->named. */
void gp_holders_name(struct gp_memory *m);

/* ---- growth.c, fragments.c, uses.c ---- */
void gp_growth_find(const struct gp_memory *m, struct gp_memory_device *d);
void gp_fragments_find(const struct gp_memory *m, struct gp_memory_device *d);
void gp_ooms_judge(struct gp_memory *m, struct gp_memory_device *d);
void gp_uses_count(struct gp_memory *m, struct gp_memory_device *d);

#endif
