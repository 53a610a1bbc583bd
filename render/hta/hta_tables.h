/* hta_tables.h -- the answer of trace-hta as a report: which figures stand in which table, what the verdict
 * says. Measures nothing and knows no output syntax.
 *
 *     struct gp_report r = {0};
 *     gp_hta_report(&r, &hta, &(struct gp_hta_report_opts){.top = 10});
 *     gp_report_csv_write(&buf, gp_report_find(&r, "kernels"));
 *
 * Empty tables are omitted. The others, in this order (*: only CSV and HTML): findings            the
 * bottlenecks slow                ranks, nodes and kernels that hold up the others breakdown           the
 * exclusive parts of each device's span: a row per device and part devices             a row per device: all
 * its figures streams *           the same for each single stream idle                by cause, all devices
 * together idle_list *         a row per device and cause culprits            what the host was doing while
 * devices were idle, all devices together kernels             a row per name and class operators,
 * operators_by_shape, ranges, modules    GPU time by what launched it launches            figures, a line for
 * each launch_times        distributions: launch delay, launch calls, queue length api
 * runtime calls graphs              CUDA graphs parts               start-up, warm-up, steps and the rest,
 * where there is more than steps steps               spread over the steps of a device step_list *         a
 * row per step (needs .steps) collectives         by operation, group, type collective_list *   a row per
 * collective matched over ranks stragglers, offsets ranks copies, memory      transfers, allocator
 * range_memory        allocations and copies by range sampled             means of sampled hardware counters,
 * by device, steps and ranges critical_path       a row per rank and bound critical_names      what the path
 * consists of, by name critical_pieces *   the pieces of the path inputs *, quality * what was read, and its
 * problems
 */
#ifndef GP_RENDER_HTA_TABLES_H
#define GP_RENDER_HTA_TABLES_H

#include "render/report/report.h"

struct gp_hta;

/* A zeroed struct shows everything. */
struct gp_hta_report_opts {
    size_t top; /* rows of tables that grow with the number of names; 0: all */
    bool steps; /* a row for each step */
    bool whole; /* everything; otherwise headline and first tables are about the steps where there are any */
    size_t step_rows; /* ... of the longest ones, as many at most; 0: all */
    bool brief;       /* without the tables that text leaves out (*) */
    const char *only; /* only this table; NULL: all */
};

/* Fill R, which is empty, from H, which is finished; R holds copies and H may go. */
void gp_hta_report(struct gp_report *r, const struct gp_hta *h, const struct gp_hta_report_opts *o);

/* The id of the I-th table of the list above; NULL after the last. */
const char *gp_hta_table_id(size_t i);
bool gp_hta_has_table(const char *id);

#endif
