/* apart.h -- what tells names apart whose labels are the same: the template argument, type or number in which
 * their full names differ. Knows nothing of tables' layout.
 *
 *     struct gp_apart names[2] = {{.full = "f<float, 4>(int)", .full_n = 16, .label = "f", .label_n = 1},
 *                                 {.full = "f<half, 4>(int)", .full_n = 15, .label = "f", .label_n = 1}};
 *     gp_apart(names, 2);                      // names[0].tag is " [float]", names[1].tag " [half]"
 *     gp_report_apart(&report);                // the same for the labels of all tables of a report
 */
#ifndef GP_RENDER_APART_H
#define GP_RENDER_APART_H

#include "render/report/report.h"

enum { GP_APART_TAG = 64 };

/* TAG is what belongs behind the label; "" where nothing tells it apart, or nothing has to. The rest is
 * borrowed and need not end in a NUL. */
struct gp_apart {
    const char *full, *label;
    size_t full_n, label_n;
    char tag[GP_APART_TAG];
};

/* Fill the tags of N names. The same names in full get the same tag. O(n log n) but for names that have the
 * same label. */
void gp_apart(struct gp_apart *names, size_t n);
/* Append the tags to the labels of R, table by table and column by column. Once, when the tables are
 * complete. */
void gp_report_apart(struct gp_report *r);

#endif
