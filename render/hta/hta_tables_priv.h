/* hta_tables_priv.h -- private to the hta_tables files: what the builders of trace-hta's tables share. */
#ifndef GP_RENDER_HTA_TABLES_PRIV_H
#define GP_RENDER_HTA_TABLES_PRIV_H

#include "render/hta/hta_sums.h"
#include "render/hta/hta_tables.h"
#include "render/report/record.h"

/* What all builders need. */
struct gp_hta_tables {
    struct gp_report *r;
    const struct gp_hta *h; /* what the table is about: everything, or the steps */
    bool whole;             /* everything was asked for */
    size_t top, step_rows;
    bool merged; /* device numbers repeat: several processes' traces were merged */
    struct gp_hta_totals all;
};

enum { GP_HTA_FEW_DEVICES = 4 }; /* as many get rows of their own in text */

/* hta_cells.c: the first of N rows of a record of m->h, or all of them; NULL where there are none. */
struct gp_report_table *gp_hta_table_of(struct gp_hta_tables *m, const struct gp_record *rec,
                                        const void *rows, size_t n);
struct gp_report_table *gp_hta_table_all(struct gp_hta_tables *m, const struct gp_record *rec,
                                         const void *rows, size_t n);

/* The builders: hta_tables_time.c, */
void gp_hta_table_findings(struct gp_hta_tables *m);
void gp_hta_table_breakdown(struct gp_hta_tables *m);
void gp_hta_table_devices(struct gp_hta_tables *m);
void gp_hta_table_streams(struct gp_hta_tables *m);
void gp_hta_table_idle(struct gp_hta_tables *m);
void gp_hta_table_idle_list(struct gp_hta_tables *m);
void gp_hta_table_culprits(struct gp_hta_tables *m);

/* hta_tables_work.c, */
void gp_hta_table_kernels(struct gp_hta_tables *m);
void gp_hta_table_operators(struct gp_hta_tables *m);
void gp_hta_table_op_shapes(struct gp_hta_tables *m);
void gp_hta_table_ranges(struct gp_hta_tables *m);
void gp_hta_table_modules(struct gp_hta_tables *m);
void gp_hta_table_launches(struct gp_hta_tables *m);
void gp_hta_table_launch_times(struct gp_hta_tables *m);
void gp_hta_table_api(struct gp_hta_tables *m);
void gp_hta_table_graphs(struct gp_hta_tables *m);
void gp_hta_table_copies(struct gp_hta_tables *m);
void gp_hta_table_memory(struct gp_hta_tables *m);
void gp_hta_table_range_memory(struct gp_hta_tables *m);
void gp_hta_table_sampled(struct gp_hta_tables *m);

/* hta_tables_ranks.c, */
void gp_hta_table_parts(struct gp_hta_tables *m);
void gp_hta_table_steps(struct gp_hta_tables *m);
void gp_hta_table_step_list(struct gp_hta_tables *m);
void gp_hta_table_collectives(struct gp_hta_tables *m);
void gp_hta_table_matches(struct gp_hta_tables *m);
void gp_hta_table_stragglers(struct gp_hta_tables *m);
void gp_hta_table_offsets(struct gp_hta_tables *m);

/* hta_paths.c, */
void gp_hta_table_path_bounds(struct gp_hta_tables *m);
void gp_hta_table_path_names(struct gp_hta_tables *m);
void gp_hta_table_path_pieces(struct gp_hta_tables *m);

/* and hta_fleet.c. */
void gp_hta_table_slow(struct gp_hta_tables *m);

#endif
