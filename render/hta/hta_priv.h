/* hta_priv.h -- private: the tables, sums, charts, graph, JSON and page of trace-hta. */
#ifndef GP_RENDER_HTA_HTA_PRIV_H
#define GP_RENDER_HTA_HTA_PRIV_H

#include <stdint.h>
#include "analyze/hta/hta_rows.h"
#include "analyze/hta/hta_spread.h"
#include "analyze/result/field.h"
#include "formats/base/declare.h"
#include "render/draw/canvas_svg.h"
#include "render/hta/hta_formats.h"
#include "render/report/json_doc.h"
#include "render/report/record.h"
#include "render/report/report.h"

struct gp_fleet;
struct gp_fleet_column;
struct gp_hta;

/* ---- sums over the rows of a finished gp_hta ---- */

/* All devices together; times are sums over the devices. */
struct gp_hta_totals {
    struct gp_breakdown b; /* begin and end mean nothing */
    int64_t idle_cause_ns[GP_IDLE_CAUSE_COUNT];
    size_t devices, ranks;
};
struct gp_hta_totals gp_hta_totals(const struct gp_hta *h);

/* Culprits of all devices together, most idle time first; last, by cause, the rest, so that they sum to the
 * idle time. */
typedef GP_VEC(struct gp_idle_culprit) gp_idle_culprits;
void gp_hta_culprit_sums(const struct gp_hta *h, gp_idle_culprits *out);

/* Pieces of a path by bound and name, longest first. */
struct gp_path_sum {
    const struct gp_hta_path *path;
    uint32_t bound;
    gp_sid name, full;
    uint64_t count;
    int64_t total_ns, longest_ns;
};
typedef GP_VEC(struct gp_path_sum) gp_path_sums;
void gp_hta_path_sums(const struct gp_hta_path *p, gp_path_sums *out);

/* The pieces FIRST..END-1 of a path as one. */
struct gp_path_run {
    size_t first, end;
    int64_t total_ns;
    enum gp_path_bound bound; /* of most of that time */
};
typedef GP_VEC(struct gp_path_run) gp_path_runs;
/* Append at most MAX (3 or more; 0: any number) runs that have all pieces of P between them, in order: the
 * longest pieces separately, the shorter ones between them combined. */
void gp_hta_path_fold(const struct gp_hta_path *p, size_t max, gp_path_runs *out);

/* ---- builders of tables ---- */

struct gp_hta_tables {
    struct gp_report *r;
    const struct gp_hta *h; /* the subject of the table: everything, or the steps */
    bool whole;             /* everything was asked for */
    size_t top, step_rows;
    bool few;    /* of findings */
    bool merged; /* device numbers repeat: several processes' traces were merged */
    struct gp_hta_totals all;
};

enum { GP_HTA_FEW_DEVICES = 4 }; /* as many get rows of their own in text */

/* The first TOP of N rows of a record of m->h, 0: all of them, as a table; NULL where there are none. */
struct gp_report_table *gp_hta_table(struct gp_hta_tables *m, const struct gp_record *rec, const void *rows,
                                     size_t n, size_t top);

/* hta_tables_work.c */
void gp_hta_table_kernels(struct gp_hta_tables *m);
void gp_hta_table_operators(struct gp_hta_tables *m);
void gp_hta_table_op_shapes(struct gp_hta_tables *m);
void gp_hta_table_ranges(struct gp_hta_tables *m);
void gp_hta_table_modules(struct gp_hta_tables *m);
void gp_hta_table_functions(struct gp_hta_tables *m);
void gp_hta_table_launches(struct gp_hta_tables *m);
void gp_hta_table_launch_times(struct gp_hta_tables *m);
void gp_hta_table_memory(struct gp_hta_tables *m);
void gp_hta_table_range_memory(struct gp_hta_tables *m);
void gp_hta_table_sampled(struct gp_hta_tables *m);

/* hta_paths.c */
void gp_hta_table_path_bounds(struct gp_hta_tables *m);
void gp_hta_table_path_names(struct gp_hta_tables *m);
void gp_hta_table_path_pieces(struct gp_hta_tables *m);

/* hta_fleet.c */
void gp_hta_table_slow(struct gp_hta_tables *m);

/* ---- JSON ---- */

/* The answer of trace-hta as one JSON object, as schemas/trace-hta.schema.json describes it. Integers stay
 * integers, unknown figures are null, every field's name ends in its unit. */

/* Appends the object and a newline. */
void gp_hta_json_write(struct gp_buf *b, const struct gp_hta_answer *a);

/* ---- the page ---- */

/* The answer of trace-hta as one HTML page: problems of the input, the verdict, the key figures,
 * findings, then charts and tables by theme. Self-contained, readable without its script, printable. */

/* Append the page to OUT. R was made from A's H (gp_hta_report). JSON: the same answer for programs, which
 * becomes part of the page; empty: none. Equal input gives equal bytes. */
void gp_hta_html_write(struct gp_buf *out, const struct gp_hta_answer *a, const struct gp_report *r,
                       const struct gp_buf *json);

/* ---- charts ---- */

/* Each function writes one figure element, or nothing if there is nothing to show. */

/* The exclusive parts of each device's span: computing, exposed communication, exposed memory, idle. */
void gp_hta_chart_devices(struct gp_svg *w, const struct gp_hta *h);
/* Idle time by cause, all devices together. */
void gp_hta_chart_idle(struct gp_svg *w, const struct gp_hta *h);
/* Activity of the host meanwhile. */
void gp_hta_chart_culprits(struct gp_svg *w, const struct gp_hta *h);
/* The kernels with most GPU time, in the colours of their kinds. */
void gp_hta_chart_kernels(struct gp_svg *w, const struct gp_hta *h);
/* Distribution of the durations of GPU events, by number and by GPU time. */
void gp_hta_chart_durations(struct gp_svg *w, const struct gp_hta *h);
/* Steps in their order: their parts for one device, the spread over the devices for several. */
void gp_hta_chart_steps(struct gp_svg *w, const struct gp_hta *h);
/* How long the other ranks waited for each. */
void gp_hta_chart_stragglers(struct gp_svg *w, const struct gp_hta *h);
/* By how much the first rank of a collective is ahead of the last. */
void gp_hta_chart_skew(struct gp_svg *w, const struct gp_hta *h);
/* Bounds of the critical path, one row per rank. */
void gp_hta_chart_path(struct gp_svg *w, const struct gp_hta *h);
/* The path itself as a graph, with short pieces folded; several ranks side by side. Nothing if it cannot be
 * drawn. */
void gp_hta_chart_path_graph(struct gp_svg *w, const struct gp_hta *h);

/* ---- many ranks: the slow ones, their spread, and a map of ranks by steps ---- */

void gp_hta_json_fleet(struct gp_doc *d, const struct gp_hta *h);
void gp_hta_chart_ranks(struct gp_svg *w, const struct gp_hta *h);

/* How much longer the longest own time of a cell of the map is than the median of its column: 0 not at all
 * (or within the spread of ranks), 1 .. GP_HEAT_LEVELS - 1 more and more; -1 nothing recorded. */
enum { GP_HEAT_LEVELS = 6 };

/* With the first TOP names of each path; 0: all. */
void gp_hta_json_paths(struct gp_doc *d, const struct gp_hta *h, size_t top);

/* ---- critical paths ---- */

/* The critical paths of trace-hta as a graph for Graphviz: `dot -Tsvg`. Pieces stand below each other in
 * order of time, those of one thread or stream in one column; runs of short pieces are folded into one
 * node. */

/* Append one digraph with a cluster for each path of a finished H, of at most MOST nodes (3 or more; 0: 120).
 * Names are escaped and cut; the tooltip of a node has its full name. Without paths, the graph has only a
 * label that says so. */
void gp_path_dot(struct gp_buf *b, const struct gp_hta *h, uint32_t most);

/* ---- OpenMetrics ---- */

/* The answer of trace-hta as OpenMetrics text, for Prometheus and the like: at most 200 series per process,
 * seconds and bytes, kernels by a hash whose info series has the name. */

/* H must be finished. Appends all metric families and the end mark. */
void gp_hta_openmetrics(struct gp_buf *b, const struct gp_hta *h);

#endif
