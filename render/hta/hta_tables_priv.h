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
    struct gp_buf label, plain; /* scratch */
};

#define COLUMN gp_report_column
enum { GP_HTA_FEW_DEVICES = 4 }; /* as many get rows of their own in text */

/* ---- hta_cells.c ---- */

/* How many of N rows are shown. */
size_t gp_hta_rows_shown(const struct gp_hta_tables *m, size_t n);
/* The first of N rows of a record of m->h; NULL where there are none. */
struct gp_report_table *gp_hta_table_of(struct gp_hta_tables *m, const struct gp_record *rec,
                                        const void *rows, size_t n);
/* Cells; what is negative, empty or GP_NO_ID is unknown. */
void gp_hta_put_rank(struct gp_report_table *t, int32_t rank);
void gp_hta_put_device(struct gp_report_table *t, int64_t device);
void gp_hta_put_sid(struct gp_hta_tables *m, struct gp_report_table *t, gp_sid sid);
/* A word of ours as JSON has it, "launch_latency"; a person reads blanks. */
void gp_hta_put_word(struct gp_hta_tables *m, struct gp_report_table *t, const char *word);
/* The name of a kernel, whose label is shown. */
void gp_hta_put_kernel(struct gp_hta_tables *m, struct gp_report_table *t, gp_sid sid);
/* The columns that identify a device, and their cells. */
void gp_hta_rank_columns(struct gp_report_table *t);
void gp_hta_put_process(const struct gp_hta_tables *m, struct gp_report_table *t, uint32_t producer);
void gp_hta_put_place(const struct gp_hta_tables *m, struct gp_report_table *t, int32_t rank,
                      uint32_t producer, int64_t device);
/* The columns of a breakdown, and their cells. */
void gp_hta_breakdown_columns(struct gp_report_table *t);
void gp_hta_put_breakdown(struct gp_report_table *t, const struct gp_breakdown *b);
/* PART of WHOLE in percent; unknown if WHOLE is 0. */
void gp_hta_put_part(struct gp_report_table *t, double part, int64_t whole);

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

/* and hta_tables_ranks.c. */
void gp_hta_table_parts(struct gp_hta_tables *m);
void gp_hta_table_steps(struct gp_hta_tables *m);
void gp_hta_table_step_list(struct gp_hta_tables *m);
void gp_hta_table_collectives(struct gp_hta_tables *m);
void gp_hta_table_matches(struct gp_hta_tables *m);
void gp_hta_table_stragglers(struct gp_hta_tables *m);
void gp_hta_table_offsets(struct gp_hta_tables *m);
void gp_hta_table_path_bounds(struct gp_hta_tables *m);
void gp_hta_table_path_names(struct gp_hta_tables *m);
void gp_hta_table_path_pieces(struct gp_hta_tables *m);

/* hta_fleet.c */
void gp_hta_table_slow(struct gp_hta_tables *m);

#endif
