#include "render/metrics/metrics_csv.h"

#include <math.h>
#include <string.h>
#include "formats/base/buf.h"
#include "formats/base/json_write.h"
#include "render/report/report_csv.h"

static const char *const reduces[] = {"sum", "mean", "max", "min"}; /* as in enum gp_metric_reduce */

static double value_of(const struct gp_metrics_stat *s, int reduce)
{
    const double v[] = {s->sum, s->mean, s->max, s->min};
    return v[reduce];
}

static bool is_wanted(const struct gp_metrics *m, size_t column, int reduce, int only)
{
    if (only >= 0 && reduce != only) return false;
    return reduce != GP_REDUCE_SUM || m->columns.at[column].reduce == GP_REDUCE_SUM;
}

static void put_text(struct gp_buf *b, const char *s)
{
    gp_report_csv_put(b, s, strlen(s));
}

/* Of a group, what is one value in JSON; its name demangled, which is long enough. */
static bool is_column(const struct gp_field *f)
{
    return f->heading && f->type < GP_CELL_ANY && !(f->flags & GP_FIELD_TABLES);
}

static void put_group(struct gp_buf *b, const struct gp_metrics *m, size_t g)
{
    struct gp_arena mem = {0};
    struct gp_row_of of = gp_metrics_rows_of(m);
    of.mem = &mem;
    bool first = true;
    for (size_t i = 0; i < gp_metrics_groups.n; i++) {
        const struct gp_field *f = &gp_metrics_groups.fields[i];
        if (!is_column(f)) continue;
        const struct gp_cell c = gp_field_cell(f, &m->groups.at[g], &of);
        if (!first) gp_buf_putc(b, ',');
        gp_report_csv_cell(b, &c);
        first = false;
    }
    gp_arena_release(&mem);
}

static void put_head(struct gp_buf *b)
{
    bool first = true;
    for (size_t i = 0; i < gp_metrics_groups.n; i++) {
        if (!is_column(&gp_metrics_groups.fields[i])) continue;
        if (!first) gp_buf_putc(b, ',');
        gp_buf_puts(b, gp_metrics_groups.fields[i].id);
        first = false;
    }
}

void gp_metrics_csv_long(struct gp_buf *b, const struct gp_metrics *m, int reduce)
{
    struct gp_buf head = {0};
    put_head(b);
    gp_buf_puts(b, ",metric,unit,reduce,value\r\n");
    for (size_t g = 0; g < m->groups.n; g++) {
        head.n = 0;
        put_group(&head, m, g);
        for (size_t c = 0; c < m->columns.n; c++)
            for (int k = 0; k < 4; k++) {
                double v = value_of(gp_metrics_stat(m, g, c), k);
                if (!is_wanted(m, c, k, reduce)) continue;
                gp_buf_put(b, head.data, head.n);
                gp_buf_putc(b, ',');
                put_text(b, gp_metrics_str(m, m->columns.at[c].name));
                gp_buf_putc(b, ',');
                put_text(b, gp_metrics_str(m, m->columns.at[c].unit));
                gp_buf_printf(b, ",%s,", reduces[k]);
                if (!isnan(v)) gp_json_put_double(b, v);
                gp_buf_puts(b, "\r\n");
            }
    }
    gp_buf_release(&head);
}

void gp_metrics_csv_wide(struct gp_buf *b, const struct gp_metrics *m, int reduce)
{
    struct gp_buf text = {0};
    put_head(b);
    for (size_t c = 0; c < m->columns.n; c++)
        for (int k = 0; k < 4; k++) {
            if (!is_wanted(m, c, k, reduce)) continue;
            text.n = 0;
            gp_buf_printf(&text, "%s %s", gp_metrics_str(m, m->columns.at[c].name), reduces[k]);
            gp_buf_putc(b, ',');
            gp_report_csv_put(b, gp_buf_str(&text), text.n);
        }
    gp_buf_puts(b, "\r\n");
    for (size_t g = 0; g < m->groups.n; g++) {
        put_group(b, m, g);
        for (size_t c = 0; c < m->columns.n; c++)
            for (int k = 0; k < 4; k++) {
                double v = value_of(gp_metrics_stat(m, g, c), k);
                if (!is_wanted(m, c, k, reduce)) continue;
                gp_buf_putc(b, ',');
                if (!isnan(v)) gp_json_put_double(b, v);
            }
        gp_buf_puts(b, "\r\n");
    }
    gp_buf_release(&text);
}
