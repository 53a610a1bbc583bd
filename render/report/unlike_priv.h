/* unlike_priv.h -- the names of a table as a line of text has room for them, cut so that no two rows read the
 * same where they are not: the cut moves to where the names differ, and what is alike in full gets a number,
 * "#2". Private to report_text.
 *
 *     struct gp_unlike u;
 *     gp_unlike_init(&u, table, column, others, n_others);   // numbers what is the same in full
 *     size_t natural = gp_unlike_width(&u);
 *     gp_unlike_fit(&u, 32);
 *     fwrite(gp_unlike_at(&u, row).s, 1, gp_unlike_at(&u, row).n, stdout);
 *     gp_unlike_release(&u);
 */
#ifndef GP_RENDER_UNLIKE_PRIV_H
#define GP_RENDER_UNLIKE_PRIV_H

#include "formats/base/buf.h"
#include "render/report/report.h"

struct gp_unlike_row {
    uint64_t others; /* hash of the row's other cells that identify it */
    uint32_t number; /* "#2"; 0: none */
    size_t from;     /* the byte that the cut leaves in sight; SIZE_MAX: none in particular */
    size_t at, n;    /* where the cut name is in `text` */
};

struct gp_unlike {
    const struct gp_report_table *table;
    size_t column, rows;
    struct gp_unlike_row *row;
    struct gp_buf text;
};

struct gp_unlike_text {
    const char *s;
    size_t n;
};

/* Of the names in COLUMN of TABLE, which is borrowed. OTHERS are the N_OTHERS columns that are shown as well:
 * two rows are alike if their names and the words and ids there are. O(n log n). */
void gp_unlike_init(struct gp_unlike *u, const struct gp_report_table *table, size_t column,
                    const size_t *others, size_t n_others);
/* Columns of the widest name with its number. */
size_t gp_unlike_width(const struct gp_unlike *u);
/* Cut all names to WIDTH columns. O(n log n). */
void gp_unlike_fit(struct gp_unlike *u, size_t width);
/* The name of ROW as it was cut, with its number. Valid until the next fit. */
struct gp_unlike_text gp_unlike_at(const struct gp_unlike *u, size_t row);
void gp_unlike_release(struct gp_unlike *u);

#endif
