#include "render/metrics/metrics_csv.h"

#include <math.h>
#include <string.h>
#include "formats/base/json_write.h"
#include "render/metrics/metrics_tables.h"
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

static void put_group(struct gp_buf *b, const struct gp_metrics *m, size_t g)
{
    const struct gp_metrics_group *group = &m->groups.at[g];
    struct gp_buf text = {0};
    gp_metrics_put_name(&text, m, g);
    gp_report_csv_put(b, gp_buf_str(&text), text.n);
    gp_buf_putc(b, ',');
    text.n = 0;
    gp_metrics_put_config(&text, group);
    put_text(b, gp_buf_str(&text));
    gp_buf_putc(b, ',');
    if (group->ordinal != GP_NO_ID) gp_buf_put_u64(b, group->ordinal);
    gp_buf_putc(b, ',');
    gp_buf_put_u64(b, group->count);
    gp_buf_putc(b, ',');
    gp_buf_put_u64(b, group->measured);
    gp_buf_putc(b, ',');
    if (group->time_ns >= 0) gp_buf_put_i64(b, group->time_ns);
    if (m->joined) gp_buf_putc(b, ',');
    if (m->joined && group->joined_ns >= 0) gp_buf_put_i64(b, group->joined_ns);
    gp_buf_release(&text);
}

static void put_head(struct gp_buf *b, const struct gp_metrics *m)
{
    gp_buf_puts(b, "name,config,ordinal,count,measured,time_ns");
    if (m->joined) gp_buf_puts(b, ",timing_ns");
}

void gp_metrics_csv_long(struct gp_buf *b, const struct gp_metrics *m, int reduce)
{
    struct gp_buf head = {0};
    put_head(b, m);
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
    put_head(b, m);
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
