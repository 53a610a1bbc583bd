/* label_disambiguate.h -- tags for names that share a label: the template argument, type or number in which
 * their full names differ. Knows nothing of tables' layout.
 *
 *     struct gp_label names[] = {{full, label, full_n, label_n, ""}, ...};
 *     gp_label_tag(names, n);                        // names[i].tag: "bf16"
 */
#ifndef GP_RENDER_REPORT_LABEL_DISAMBIGUATE_H
#define GP_RENDER_REPORT_LABEL_DISAMBIGUATE_H

#include "render/report/report.h"

enum { GP_LABEL_TAG = 64 };

/* TAG goes behind the label; "" where the label is unique, or the full names are equal. The rest is borrowed
 * and need not end in a NUL. */
struct gp_label {
    const char *full, *label;
    size_t full_n, label_n;
    char tag[GP_LABEL_TAG];
};

/* Fill the tags of N names. The same names in full get the same tag. O(n log n) but for names that have the
 * same label. */
void gp_label_tag(struct gp_label *names, size_t n);
/* Append the tags to the labels of R, table by table and column by column. Once, when the tables are
 * complete. */
void gp_label_disambiguate(struct gp_report *r);

#endif
