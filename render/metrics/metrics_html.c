#include "render/metrics/metrics_html.h"

#include <string.h>
#include "render/metrics/metrics_json.h"
#include "render/metrics/metrics_roofline.h"
#include "render/metrics/metrics_tables.h"
#include "render/page/page_html.h"
#include "render/page/page_report.h"
#include "render/page/table_html.h"

static void put(struct gp_svg *w, const char *element, const char *class, const char *text)
{
    gp_page_element(w, element, class, text, strlen(text));
}

static void put_header(struct gp_svg *w, const struct gp_metrics *m, const char *input)
{
    struct gp_buf text = {0};
    gp_page_open(w, "header", NULL);
    put(w, "p", "brand", "gpuprof trace-metrics");
    put(w, "h1", NULL, input ? input : "standard input");
    gp_metrics_chips(&text, m);
    if (text.n) put(w, "p", "facts", gp_buf_str(&text));
    gp_svg_close(w);
    gp_buf_release(&text);
}

/* Kernels without counted operations have no place on it. */
static void put_left_out(struct gp_svg *w, size_t shown, size_t all)
{
    struct gp_buf text = {0};
    if (shown == all) return;
    gp_buf_printf(&text,
                  "%zu of %zu kernels are drawn. The others did no operations that these counters count, or "
                  "took less time.",
                  shown, all);
    put(w, "p", "note", gp_buf_str(&text));
    gp_buf_release(&text);
}

static void put_roofline(struct gp_svg *w, const struct gp_metrics *m, const struct gp_ceilings *measured)
{
    struct gp_buf drawn = {0};
    size_t shown = gp_metrics_roofline(&drawn, m, measured);
    if (!shown) return;
    gp_page_open(w, "section", "theme");
    gp_svg_attr(w, "id", "roofline");
    put(w, "h2", NULL, "Roofline, as measured");
    put(w, "p", NULL,
        "Each kernel has a circle for device memory, a square for the L2 cache and a triangle for L1, at the "
        "operations per byte of that level. All three are at the rate that the kernel reached; the farther "
        "apart they are, the more the caches save. The lines are what the device can do: as gpuprof-collect "
        "--calibrate measured it, or else the peaks that the counters report.");
    gp_page_graph(w, &drawn, "Roofline of the kernels at three levels of memory");
    put_left_out(w, shown, m->groups.n);
    gp_svg_close(w);
    gp_buf_release(&drawn);
}

static void put_footer(struct gp_svg *w, const char *options)
{
    struct gp_buf text = {0};
    gp_page_open(w, "footer", NULL);
    gp_buf_puts(&text, "trace-metrics (gpuprof) " GP_VERSION);
    if (options) gp_buf_puts(&text, options);
    put(w, "p", NULL, gp_buf_str(&text));
    put(w, "p", NULL, "This file has the same answer for programs in the script element gpuprof-answer.");
    gp_svg_close(w);
    gp_buf_release(&text);
}

void gp_metrics_html_write(struct gp_buf *b, const struct gp_metrics *m, const struct gp_ceilings *measured,
                           const char *input, const char *options)
{
    struct gp_svg w;
    struct gp_report r = {0};
    struct gp_buf text = {0};
    gp_metrics_report(&r, m, true);
    gp_buf_printf(&text, "trace-metrics: %s", input ? input : "standard input");
    gp_page_begin(&w, b, gp_buf_str(&text), &gp_page_suggest);
    gp_page_open(&w, "main", NULL);
    put_header(&w, m, input);
    gp_page_quality(&w, &r);
    gp_page_verdict(&w, &r);
    put_roofline(&w, m, measured);
    for (size_t i = 0; i < r.tables.n; i++)
        if (gp_report_rows(r.tables.at[i]))
            gp_table_html_write(&w, r.tables.at[i], &(struct gp_table_html_opts){.open = !i});
    put_footer(&w, options);
    gp_svg_close(&w);
    text.n = 0;
    gp_metrics_json_write(&text, m, GP_VERSION);
    gp_page_json(&w, "gpuprof-answer", text.data, text.n);
    gp_page_end(&w, &gp_page_suggest);
    gp_report_release(&r);
    gp_buf_release(&text);
}
