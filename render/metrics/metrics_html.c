#include "render/metrics/metrics_html.h"

#include "formats/base/buf.h"
#include "formats/base/count.h"
#include "render/metrics/metrics_json.h"
#include "render/metrics/metrics_tables.h"
#include "render/page/chart_roofline.h"
#include "render/page/page_doc.h"
#include "render/page/page_html.h"
#include "render/page/page_report.h"

struct page {
    struct gp_svg w;
    struct gp_roofline roofline;
    struct gp_strings names; /* of it */
    size_t all;              /* kernels or ranges */
};

static bool has_roofline(const void *page)
{
    const struct page *p = page;
    return p->roofline.points.n > 0;
}

static void put_roofline(void *page)
{
    struct page *p = page;
    struct gp_buf text = {0};
    gp_page_put(
        &p->w, "p", NULL,
        "Each kernel has a circle for device memory, a square for the L2 cache and a triangle for L1, at the "
        "operations per byte of that level; the circle's area is its share of the time. All three are at the "
        "rate "
        "that the kernel reached; the farther apart they are, the more the caches save. The lines are what "
        "the "
        "device can do: as gpuprof-collect --calibrate measured it, or else the peaks that the counters "
        "report.");
    gp_page_open(&p->w, "figure", NULL);
    gp_chart_roofline(&p->w, &(struct gp_chart_roofline){&p->roofline, &p->names, .counted = true});
    gp_chart_roofline(&p->w,
                      &(struct gp_chart_roofline){&p->roofline, &p->names, .counted = true, .narrow = true});
    gp_svg_close(&p->w);
    gp_svg_newline(&p->w);
    size_t points = p->roofline.points.n, shown = points < GP_ROOFLINE_POINTS ? points : GP_ROOFLINE_POINTS;
    if (shown == p->all) return;
    gp_buf_printf(&text,
                  "%zu of %zu kernels are drawn. The others did no operations that these counters count, or "
                  "took less time.",
                  shown, p->all);
    gp_page_take(&p->w, &text, "p", "note");
    gp_buf_release(&text);
}

static const struct gp_page_section sections[] = {
    {"roofline", "Roofline, as measured", .entry = "Roofline", .draw = put_roofline, .there = has_roofline},
    {"counters", "Counters", .tables = {"groups", "values"}},
};

void gp_metrics_html_write(struct gp_buf *b, const struct gp_metrics *m, const struct gp_ceilings *measured,
                           const char *input, const char *options)
{
    struct gp_report r = {0};
    struct gp_buf json = {0};
    struct page p = {.all = m->groups.n};
    gp_metrics_roofline(&p.roofline, &p.names, m, measured);
    gp_metrics_report(&r, m, true);
    gp_metrics_json_write(&json, m, GP_VERSION);
    struct gp_page_doc doc = {.tool = "trace-metrics",
                              .parts = &gp_page_metrics,
                              .report = &r,
                              .input = input,
                              .sections = sections,
                              .sections_n = GP_COUNT(sections),
                              .page = &p,
                              .options = options,
                              .json = json.data,
                              .json_n = json.n};
    gp_metrics_chips(&doc.facts, m);
    gp_page_write(&p.w, b, &doc);
    gp_report_release(&r);
    gp_buf_release(&json);
    gp_roofline_release(&p.roofline);
    gp_strings_release(&p.names);
}
