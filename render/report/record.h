/* record.h -- rows as their record describes them (analyze/result/field.h): as members of a JSON document, as
 * a table of a report, and as JSON Schema.
 *
 *     struct gp_row_of of = {.of = h, .strings = &h->strings, .whole_ns = all_ns};
 *     gp_record_json(&doc, &gp_hta_kernels, h->kernels.at, h->kernels.n, top, &of);    // "copies": [{...}]
 *     gp_record_table(&report, &gp_hta_kernels, h->kernels.at, h->kernels.n, top, &of);   // the same to read
 */
#ifndef GP_RENDER_RECORD_H
#define GP_RENDER_RECORD_H

#include "analyze/result/field.h"
#include "formats/base/declare.h"
#include "render/report/json_doc.h"
#include "render/report/report.h"

struct gp_histogram;

/* ---- JSON ---- */

/* The members of one row, in an object that the caller began. */
void gp_record_members(struct gp_doc *d, const struct gp_record *rec, const void *row,
                       const struct gp_row_of *x);
/* The same as the object KEY. */
void gp_record_object(struct gp_doc *d, const char *key, const struct gp_record *rec, const void *row,
                      const struct gp_row_of *x);
/* The first TOP of N rows (0: all) as the list rec->id, and with rec->rest the sums of the others, as
 * "ID_rest". */
void gp_record_json(struct gp_doc *d, const struct gp_record *rec, const void *rows, size_t n, size_t top,
                    const struct gp_row_of *x);
/* The same in pieces: N rows as elements of a list that the caller began. */
void gp_record_rows(struct gp_doc *d, const struct gp_record *rec, const void *rows, size_t n,
                    const struct gp_row_of *x);

/* ---- tables ---- */

/* A table of the first TOP of N rows (0: of all), and a line about the others. NULL, and no table, where N is
 * 0. */
struct gp_report_table *gp_record_table(struct gp_report *r, const struct gp_record *rec, const void *rows,
                                        size_t n, size_t top, const struct gp_row_of *x);
/* The same in pieces: a table with the columns of C and no rows, and a row for it. The texts of getters live
 * in R. */
struct gp_report_table *gp_columns_table(struct gp_report *r, const struct gp_record *rec,
                                         const struct gp_columns *c, const struct gp_row_of *x);
void gp_columns_put(struct gp_report *r, struct gp_report_table *t, const struct gp_columns *c,
                    const void *row, const struct gp_row_of *x);
/* A row as a table of figures, a line for each column it would have: name, value and unit. Figures that are
 * not known have no line, nor those with GP_COLUMN_SPARE that are 0. */
struct gp_report_table *gp_record_figures(struct gp_report *r, const struct gp_record *rec, const void *row,
                                          const struct gp_row_of *x);
/* What N rows add to rec->rest[WHICH]. */
int64_t gp_record_sum(const struct gp_record *rec, int which, const void *rows, size_t n,
                      const struct gp_row_of *x);
/* "and 34 more, together 1.23 ms" below T, whose record is REC and where rows with that SUM of its last rest
 * are left out; nothing where LEFT is 0, no sum where it is 0. */
void gp_record_left(struct gp_report *r, struct gp_report_table *t, const struct gp_record *rec, size_t left,
                    int64_t sum);
/* The same of a table without a record. */
void gp_record_more(struct gp_report *r, struct gp_report_table *t, size_t left, int64_t time_ns);

/* ---- schemas ---- */

/* The JSON Schema of one row; its lines but the first are indented by DEPTH blanks. */
void gp_record_schema(struct gp_buf *b, const struct gp_record *rec, int depth);
/* The same of "ID_rest", in one line. */
void gp_rest_schema(struct gp_buf *b, const struct gp_record *rec);

#endif
