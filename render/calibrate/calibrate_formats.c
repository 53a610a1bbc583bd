#include "render/calibrate/calibrate_formats.h"

#include <string.h>
#include "render/calibrate/calibrate_json.h"
#include "render/calibrate/calibrate_report.h"
#include "render/calibrate/sweep_svg.h"
#include "render/page/page_html.h"
#include "render/page/page_report.h"
#include "render/page/table_html.h"
#include "render/report/report_text.h"

static void put_report(struct gp_buf *b, struct gp_report *r, const struct gp_calibrate_answer *a)
{
    gp_report_text_write(
        b, r, &(struct gp_report_text_opts){.color = a->color, .width = a->width, .verdict_first = true});
    gp_report_release(r);
}

void gp_ceilings_text(struct gp_buf *b, const struct gp_calibrate_answer *a)
{
    struct gp_report r = {0};
    if (a->compare) gp_calibrate_compare_report(&r, a->c, a->compare, a->base);
    else gp_calibrate_report(&r, a->c);
    put_report(b, &r, a);
}

static void write_ceilings_text(void *answer, struct gp_output *to)
{
    struct gp_buf b = {0};
    gp_ceilings_text(&b, answer);
    gp_answer_put(to, &b);
}

static void write_ceilings_json(void *answer, struct gp_output *to)
{
    const struct gp_calibrate_answer *a = answer;
    struct gp_buf b = {0};
    gp_ceilings_json_write(&b, a->c);
    gp_answer_put(to, &b);
}

static void write_sweep_text(void *answer, struct gp_output *to)
{
    const struct gp_calibrate_answer *a = answer;
    struct gp_report r = {0};
    struct gp_buf b = {0};
    gp_sweep_report(&r, a->c);
    put_report(&b, &r, a);
    gp_answer_put(to, &b);
}

static void write_sweep_json(void *answer, struct gp_output *to)
{
    const struct gp_calibrate_answer *a = answer;
    struct gp_buf b = {0};
    gp_sweep_json_write(&b, a->c);
    gp_answer_put(to, &b);
}

static void write_sweep_svg(void *answer, struct gp_output *to)
{
    const struct gp_calibrate_answer *a = answer;
    struct gp_buf b = {0};
    gp_sweep_svg(&b, a->c);
    gp_answer_put(to, &b);
}

static void write_sweep_html(void *answer, struct gp_output *to)
{
    const struct gp_calibrate_answer *a = answer;
    static const char brand[] = "gpuprof-collect --op";
    const char *device = a->c->devices[0].device;
    struct gp_buf b = {0}, json = {0};
    struct gp_svg w;
    struct gp_report r = {0};
    gp_sweep_report(&r, a->c);
    gp_page_begin(&w, &b, "Operations over their sizes", &gp_page_sweep);
    gp_page_open(&w, "main", NULL);
    gp_page_open(&w, "header", NULL);
    gp_page_element(&w, "p", "brand", brand, sizeof brand - 1);
    gp_page_element(&w, "h1", NULL, device, strlen(device));
    gp_svg_close(&w);
    gp_page_quality(&w, &r);
    gp_page_verdict(&w, &r);
    gp_page_open(&w, "div", "sweeps");
    for (int p = 0; p < GP_SWEEP_PANELS; p++) gp_sweep_panel(&w, &a->c->sweep, (enum gp_sweep_panel)p);
    gp_svg_close(&w);
    for (size_t i = 0; i < r.tables.n; i++)
        gp_table_html_write(&w, r.tables.at[i], &(struct gp_table_html_opts){.open = r.tables.n < 3});
    gp_svg_close(&w);
    gp_sweep_json_write(&json, a->c);
    gp_page_json(&w, "gpuprof-answer", json.data, json.n);
    gp_page_end(&w, &gp_page_sweep);
    gp_buf_release(&json);
    gp_report_release(&r);
    gp_answer_put(to, &b);
}

const struct gp_answer_format gp_ceilings_formats[] = {
    {"json", 0, 0, write_ceilings_json},
    {"text", 0, 0, write_ceilings_text},
    {0},
};

const struct gp_answer_format gp_sweep_formats[] = {
    {"text", 0, 0, write_sweep_text},
    {"json", 0, 0, write_sweep_json},
    {"svg", 0, 0, write_sweep_svg},
    {"html", 0, 0, write_sweep_html},
    {0},
};
