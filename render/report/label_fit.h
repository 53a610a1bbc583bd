/* label_fit.h -- for report_text: the names of a table cut to the columns of a line so that no two
 * rows read the same where they are not: the cut moves to where the names differ, and equal names get a
 * number, "#2".
 *
 *     gp_label_fit_init(&u, table, column, others, n_others);
 *     gp_label_fit_cut(&u, 40);
 *     struct gp_label_fit_text t = gp_label_fit_at(&u, row);
 */
#ifndef GP_RENDER_REPORT_LABEL_FIT_H
#define GP_RENDER_REPORT_LABEL_FIT_H

#include "formats/base/buf.h"
#include "render/report/report.h"

struct gp_label_fit_row {
    uint64_t others; /* hash of the row's other cells that identify it */
    uint32_t number; /* "#2"; 0: none */
    size_t from;     /* the byte that the cut leaves in sight; SIZE_MAX: none in particular */
    size_t at, n;    /* where the cut name is in `text` */
};

struct gp_label_fit {
    const struct gp_report_table *table;
    size_t column, rows;
    struct gp_label_fit_row *row;
    struct gp_buf text;
};

struct gp_label_fit_text {
    const char *s;
    size_t n;
};

/* Of the names in COLUMN of TABLE, which is borrowed. OTHERS are the N_OTHERS columns that are shown as well:
 * two rows are alike if their names and the words and ids there are. O(n log n). */
void gp_label_fit_init(struct gp_label_fit *u, const struct gp_report_table *table, size_t column,
                       const size_t *others, size_t n_others);
/* Columns of the widest name with its number. */
size_t gp_label_fit_width(const struct gp_label_fit *u);
/* Cut all names to WIDTH columns. O(n log n). */
void gp_label_fit_cut(struct gp_label_fit *u, size_t width);
/* The name of ROW as it was cut, with its number. Valid until the next fit. */
struct gp_label_fit_text gp_label_fit_at(const struct gp_label_fit *u, size_t row);
void gp_label_fit_release(struct gp_label_fit *u);

#endif
