#include "render/metrics/metrics_json.h"

#include <math.h>
#include "formats/base/json_write.h"
#include "render/metrics/metrics_tables.h"
#include "render/report/json_doc.h"

static const char *const types[] = {"counter", "ratio", "throughput"};

static void put_metrics(struct gp_doc *d, const struct gp_metrics *m)
{
    gp_doc_list(d, "metrics");
    for (size_t c = 0; c < m->columns.n; c++) {
        const struct gp_metrics_column *k = &m->columns.at[c];
        gp_doc_element(d);
        gp_doc_sid(d, "name", k->name);
        gp_doc_sid(d, "unit", k->unit);
        gp_doc_cstr(d, "type", types[k->type]);
        gp_doc_cstr(d, "reduce", k->reduce == GP_REDUCE_SUM ? "sum" : "mean");
        gp_doc_end(d, '}');
    }
    gp_doc_end(d, ']');
}

static void put_values(struct gp_doc *d, const struct gp_metrics *m, size_t g)
{
    gp_doc_object(d, "values");
    for (size_t c = 0; c < m->columns.n; c++) {
        const struct gp_metrics_stat *s = gp_metrics_stat(m, g, c);
        gp_sid name = m->columns.at[c].name;
        gp_doc_next(d);
        gp_json_put_string(d->b, gp_metrics_str(m, name), gp_string_len(&m->strings, name));
        gp_buf_puts(d->b, ": ");
        gp_doc_begin(d, '{');
        gp_doc_real(d, "sum", s->sum);
        gp_doc_real(d, "mean", s->mean);
        gp_doc_real(d, "min", s->min);
        gp_doc_real(d, "max", s->max);
        gp_doc_end(d, '}');
    }
    gp_doc_end(d, '}');
}

static void put_figures(struct gp_doc *d, const struct gp_metrics *m, size_t g)
{
    struct gp_counted k;
    gp_metrics_counted(m, g, &k);
    gp_doc_object(d, "figures");
    gp_doc_real(d, "dram_bytes", k.dram_bytes);
    gp_doc_real(d, "l2_bytes", k.l2_bytes);
    gp_doc_real(d, "l1_bytes", k.l1_bytes);
    gp_doc_real(d, "flops", k.tensor_unknown && !(k.flops > 0) ? NAN : k.flops);
    gp_doc_real(d, "tensor_flops", k.tensor_flops);
    gp_doc_real(d, "vector_flops", k.vector_flops);
    if (k.arith == GP_ARITH_NONE) gp_doc_null(d, "arith");
    else gp_doc_cstr(d, "arith", gp_arith_name((enum gp_arith)k.arith));
    gp_doc_real(d, "l1_hit_pct", k.l1_hit_pct);
    gp_doc_real(d, "l2_hit_pct", k.l2_hit_pct);
    gp_doc_real(d, "occupancy_pct", k.occupancy_pct);
    gp_doc_real(d, "issue_pct", k.issue_pct);
    gp_doc_real(d, "tensor_pct", k.tensor_pct);
    gp_doc_real(d, "peak_dram_gbps", k.peak_dram_bps / 1e9);
    gp_doc_real(d, "peak_l2_gbps", k.peak_l2_bps / 1e9);
    gp_doc_real(d, "peak_flops_per_s", k.peak_flops);
    gp_doc_end(d, '}');
}

static void put_group(struct gp_doc *d, const struct gp_metrics *m, size_t g)
{
    const struct gp_metrics_group *group = &m->groups.at[g];
    struct gp_buf text = {0};
    gp_doc_element(d);
    gp_doc_sid(d, "name", group->name);
    gp_metrics_put_name(&text, m, g);
    gp_doc_cstr(d, "label", gp_buf_str(&text));
    text.n = 0;
    gp_metrics_put_config(&text, group);
    if (text.n) gp_doc_cstr(d, "config", gp_buf_str(&text));
    else gp_doc_null(d, "config");
    if (group->ordinal == GP_NO_ID) gp_doc_null(d, "ordinal");
    else gp_doc_u64(d, "ordinal", group->ordinal);
    gp_doc_u64(d, "count", group->count);
    gp_doc_u64(d, "measured", group->measured);
    gp_doc_known(d, "time_ns", group->time_ns);
    gp_doc_known(d, "timing_ns", group->joined_ns);
    put_values(d, m, g);
    put_figures(d, m, g);
    gp_doc_end(d, '}');
    gp_buf_release(&text);
}

void gp_metrics_json_write(struct gp_buf *b, const struct gp_metrics *m, const char *version)
{
    struct gp_doc d = {.b = b, .strings = &m->strings};
    struct gp_buf text = {0};
    gp_doc_begin(&d, '{');
    gp_doc_head(&d, "trace-metrics", version, &m->input, 1);
    if (m->chips.n) gp_doc_cstr(&d, "chip", gp_metrics_chips(&text, m));
    else gp_doc_null(&d, "chip");
    gp_doc_u64(&d, "passes", m->passes);
    gp_doc_bool(&d, "distorted", m->distorted);
    gp_doc_u64(&d, "launches", m->launches);
    gp_doc_u64(&d, "launches_measured", m->launches_measured);
    put_metrics(&d, m);
    gp_doc_list(&d, "groups");
    for (size_t g = 0; g < m->groups.n; g++) put_group(&d, m, g);
    gp_doc_end(&d, ']');
    gp_doc_u64(&d, "groups_left_out", m->left_out);
    gp_doc_list(&d, "losses");
    for (size_t i = 0; i < m->losses.n; i++) {
        gp_doc_element(&d);
        gp_doc_sid(&d, "what", m->losses.at[i].what);
        gp_doc_sid(&d, "reason", m->losses.at[i].reason);
        gp_doc_u64(&d, "count", m->losses.at[i].count);
        gp_doc_end(&d, '}');
    }
    gp_doc_end(&d, ']');
    gp_doc_end(&d, '}');
    gp_buf_putc(b, '\n');
    gp_buf_release(&text);
}
