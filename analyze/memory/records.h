/* records.h -- what the answer of trace-memory says, described once (analyze/result/field.h). Their
 * gp_row_of.of is a struct gp_memory_of, and its strings are those of the memory.
 *
 *     struct gp_row_of of = gp_memory_rows_of(&(struct gp_memory_of){m});
 *     struct gp_memory_rows r = gp_memory_rows(&m->devices.at[0], &gp_memory_growths);
 *     gp_record_rows(&doc, &gp_memory_growths, r.at, r.n, &of);
 */
#ifndef GP_ANALYZE_MEMORY_RECORDS_H
#define GP_ANALYZE_MEMORY_RECORDS_H

#include "analyze/memory/memory.h"
#include "analyze/result/field.h"

struct gp_memory_of {
    struct gp_memory *m; /* who holds what when memory runs out is worked out when it is read */
};

/* Rows of the whole memory: devices, holders or named, changes, outside. */
extern const struct gp_record gp_memory_device_rows, gp_memory_holder_rows, gp_memory_changes,
    gp_memory_outsiders;
/* Rows of a device. */
extern const struct gp_record gp_memory_growths, gp_memory_pools, gp_memory_ooms, gp_memory_ranges,
    gp_memory_operators, gp_memory_churns, gp_memory_lifetimes, gp_memory_series;
/* One row: segments of all devices. */
extern const struct gp_record gp_memory_fragments;

static inline struct gp_row_of gp_memory_rows_of(const struct gp_memory_of *of)
{
    return (struct gp_row_of){.of = of, .strings = &of->m->strings, .untimed = of->m->untimed};
}

struct gp_memory_rows {
    const void *at;
    size_t n;
};
/* Those of D that REC describes, of the records of devices above. */
struct gp_memory_rows gp_memory_rows(const struct gp_memory_device *d, const struct gp_record *rec);

/* The name of device D: "cuda:0", with its input where there are several. */
void gp_memory_device_put(struct gp_buf *b, const struct gp_memory *m, const struct gp_memory_device *d);
/* "train.py:12 step": frame NUMBER of a stack, the innermost is 0. */
void gp_memory_frame_path_put(struct gp_buf *b, const struct gp_snapshot *s, uint32_t stack, uint32_t number);
/* What the program said of that moment, "phase: eval"; "": nothing. */
const char *gp_memory_oom_metadata(const struct gp_memory_device *d, const struct gp_memory_oom *o);

#endif
