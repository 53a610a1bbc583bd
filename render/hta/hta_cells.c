/* Tables of records, as trace-hta has them. */
#include "analyze/hta/hta.h"
#include "render/hta/hta_tables_priv.h"

static struct gp_report_table *table(struct gp_hta_tables *m, const struct gp_record *rec, const void *rows,
                                     size_t n, size_t top)
{
    struct gp_row_of of = gp_hta_rows_of(m->h, 0);
    of.merged = m->merged;
    return gp_record_table(m->r, rec, rows, n, top, &of);
}

struct gp_report_table *gp_hta_table_of(struct gp_hta_tables *m, const struct gp_record *rec,
                                        const void *rows, size_t n)
{
    return table(m, rec, rows, n, m->top);
}

struct gp_report_table *gp_hta_table_all(struct gp_hta_tables *m, const struct gp_record *rec,
                                         const void *rows, size_t n)
{
    return table(m, rec, rows, n, 0);
}
