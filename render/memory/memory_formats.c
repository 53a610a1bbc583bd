#include "render/memory/memory_formats.h"

#include <string.h>
#include "formats/base/buf.h"
#include "render/memory/memory_csv.h"
#include "render/memory/memory_flame.h"
#include "render/memory/memory_html.h"
#include "render/memory/memory_json.h"
#include "render/memory/memory_report.h"
#include "render/report/report_csv.h"
#include "render/report/report_text.h"

static void put_text(void *answer, struct gp_buf *b)
{
    struct gp_memory_answer *a = answer;
    struct gp_report r = {0};
    struct gp_report_text_opts o = {.color = a->color, .width = a->width};
    gp_memory_report(&r, a->m, &(struct gp_memory_report_opts){.top = a->top, .verbose = a->verbose});
    const struct gp_report_table *t = a->table ? gp_report_find(&r, a->table) : NULL;
    if (t) gp_report_text_table(b, t, &o);
    else if (!a->table) gp_report_text_write(b, &r, &o);
    a->empty = a->table && !t;
    gp_report_release(&r);
}

static void write_json(void *answer, struct gp_output *to)
{
    const struct gp_memory_answer *a = answer;
    gp_memory_json(to, a->m, GP_VERSION);
}

static void write_csv(void *answer, struct gp_output *to)
{
    struct gp_memory_answer *a = answer;
    struct gp_report r = {0};
    struct gp_buf b = {0};
    if (!a->table || !strcmp(a->table, "allocations")) {
        gp_memory_csv_allocations(to, a->m);
        return;
    }
    if (!strcmp(a->table, "stacks")) {
        gp_memory_csv_stacks(to, a->m);
        return;
    }
    gp_memory_report(&r, a->m, &(struct gp_memory_report_opts){.top = a->top, .verbose = true});
    const struct gp_report_table *t = gp_report_find(&r, a->table);
    gp_report_csv_write(&b, t, a->m->untimed ? GP_UNTIMED_TEXT : NULL);
    a->empty = !t;
    gp_report_release(&r);
    gp_output_write(to, b.data, b.n);
    gp_buf_release(&b);
}

static void write_folded(void *answer, struct gp_output *to)
{
    const struct gp_memory_answer *a = answer;
    gp_memory_folded(to, a->m);
}

static void put_html(void *answer, struct gp_buf *b)
{
    const struct gp_memory_answer *a = answer;
    gp_memory_html_write(b, a->m,
                         &(struct gp_memory_html_opts){.input = a->input,
                                                       .options = a->options,
                                                       .flame = a->flame,
                                                       .timeline = a->timeline,
                                                       .top = a->top});
}

const struct gp_answer_format gp_memory_formats[] = {
    {"text", 10, GP_MEMORY_TAKES_TABLE, .put = put_text},
    {"json", 0, 0, .write = write_json},
    {"csv", 0, GP_MEMORY_TAKES_TABLE, .write = write_csv},
    {"html", 200, GP_MEMORY_TAKES_PAGES, .put = put_html},
    {"folded", 0, 0, .write = write_folded},
    {0},
};
