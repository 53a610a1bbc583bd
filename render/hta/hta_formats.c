
#include <string.h>
#include "analyze/hta/hta.h"
#include "formats/base/buf.h"
#include "formats/model/trace.h"
#include "render/draw/text.h"
#include "render/hta/hta_priv.h"

/* ---- JSON ---- */

struct out {
    struct gp_doc d;
    const struct gp_hta *h;
    size_t top;
    bool steps, whole;
};

/* ---- objects that are not rows of a list ---- */

static const struct gp_field rank_fields[] = {{"rank", NULL, GP_CELL_ID, gp_member_rank, 0, .help = NULL}};
static const struct gp_record rank_list = {"rank", NULL, GP_FIELDS(rank_fields), sizeof(int32_t),
                                           .note = NULL};

#define AT(member) offsetof(struct gp_hta, member)
static const struct gp_field ranks_fields[] = {
    {"world_size", NULL, GP_CELL_COUNT, gp_member_rank, AT(world_size), .flags = GP_FIELD_NULL},
    {"missing", NULL, GP_CELL_LIST, gp_member_rows, AT(missing_ranks), .rows = &rank_list},
    {"repeated", NULL, GP_CELL_LIST, gp_member_rows, AT(repeated_ranks), .rows = &rank_list},
};
const struct gp_record gp_hta_ranks = {"ranks", NULL, GP_FIELDS(ranks_fields), sizeof(struct gp_hta),
                                       .note = "of the inputs"};

static const struct gp_field matching_fields[] = {
    {"seen", NULL, GP_CELL_COUNT, gp_member_rows_count, AT(collectives), .help = "collectives of all ranks"},
    {"matched", NULL, GP_CELL_COUNT, gp_member_rows_count, AT(matches), .help = NULL},
    {"unmatched", NULL, GP_CELL_COUNT, gp_member_u64, AT(unmatched_collectives), .help = "on one rank only"},
    {"mismatched", NULL, GP_CELL_COUNT, gp_member_u64, AT(mismatched_collectives),
     .help = "that contradict the order"},
    {"matches", NULL, GP_CELL_ROWS, gp_member_top_rows, AT(matches), .help = "all of them with --top 0",
     .rows = &gp_hta_matches},
};
#undef AT
const struct gp_record gp_hta_matching = {"collective_matching", NULL, GP_FIELDS(matching_fields),
                                          sizeof(struct gp_hta),
                                          .note = "how the collectives of the ranks were put together"};

static void put_object(struct out *o, const struct gp_record *rec, const void *row)
{
    struct gp_row_of of = gp_hta_rows_of(o->h, 0);
    of.top = o->top;
    gp_doc_object(&o->d, rec->id);
    gp_record_members(&o->d, rec, row, &of);
    gp_doc_end(&o->d, '}');
}

/* ---- lists ---- */

/* The first TOP of N rows, 0: all; shares are of WHOLE_NS. */
static void put_list(struct out *o, const struct gp_record *rec, const void *rows, size_t n, size_t top,
                     int64_t whole_ns)
{
    struct gp_row_of of = gp_hta_rows_of(o->h, whole_ns);
    of.top = o->top;
    gp_record_json(&o->d, rec, rows, n, top, &of);
}

/* All rows of a list of H, or the first ones. */
#define PUT_ALL(o, rec, list) put_list(o, rec, (o)->h->list.at, (o)->h->list.n, 0, 0)
#define PUT_TOP(o, rec, list) put_list(o, rec, (o)->h->list.at, (o)->h->list.n, (o)->top, 0)

static void put_owners(struct out *o, enum gp_owner_sort sort)
{
    struct gp_owner_rows r = gp_hta_owner_rows(o->h, sort);
    bool parts = sort != GP_OWNER_FUNCTION; /* of a function is part of its callers' */
    put_list(o, &gp_hta_owners[sort], r.at, r.n, o->top, parts ? r.gpu_ns : gp_hta_kernels_of(o->h).whole_ns);
}

static void put_findings(struct out *o)
{
    const struct gp_hta *h = gp_hta_about(o->h, o->whole);
    struct gp_row_of of = gp_hta_rows_of(h, 0);
    gp_doc_cstr(&o->d, "about", h == o->h ? "trace" : "steps");
    gp_record_json(&o->d, &gp_hta_findings, h->findings.at, h->findings.n, 0, &of);
}

/* ---- all ---- */

void gp_hta_json_write(struct gp_buf *b, const struct gp_hta_answer *a)
{
    const struct gp_hta *h = a->h;
    struct out out = {{.b = b, .strings = &h->strings}, h, a->top, a->steps, a->whole}, *o = &out;
    gp_doc_begin(&o->d, '{');
    gp_doc_head_of(&o->d, &(struct gp_doc_tool){"trace-hta", a->tool ? a->tool : "trace-hta", GP_VERSION},
                   h->inputs.at, h->bound.listed ? h->bound.listed : h->inputs.n, h->inputs.n);
    struct gp_report r = {0};
    gp_hta_summary(&r, o->h, o->whole);
    gp_doc_summary(&o->d, &r);
    gp_report_release(&r);
    PUT_ALL(o, &gp_hta_devices, devices);
    put_list(o, &gp_hta_kernels, h->kernels.at, h->kernels.n, o->top, gp_hta_kernels_of(h).whole_ns);
    put_object(o, &gp_hta_launch_sums, &h->launches);
    PUT_ALL(o, &gp_hta_parts, parts);
    gp_hta_spreads all = {0};
    gp_hta_find_spreads(o->h, o->steps, &all);
    put_list(o, &gp_hta_spread_rows, all.at, all.n, 0, 0);
    GP_VEC_FREE(&all);
    PUT_TOP(o, &gp_hta_collectives, collective_stats);
    PUT_TOP(o, &gp_hta_stragglers, stragglers);
    gp_hta_json_paths(&o->d, h, o->top);
    put_object(o, &gp_hta_ranks, h);
    put_owners(o, GP_OWNER_OP);
    put_list(o, &gp_hta_op_shapes, h->op_shapes.at, h->op_shapes.n, o->top, gp_hta_op_shapes_of(h).whole_ns);
    put_owners(o, GP_OWNER_RANGE);
    put_owners(o, GP_OWNER_MODULE);
    put_owners(o, GP_OWNER_FUNCTION);
    PUT_TOP(o, &gp_hta_api, api);
    PUT_TOP(o, &gp_hta_graphs, graphs);
    put_object(o, &gp_hta_matching, h);
    PUT_ALL(o, &gp_hta_offsets, offsets);
    PUT_TOP(o, &gp_hta_copies, copies);
    PUT_ALL(o, &gp_hta_memory, memory);
    PUT_TOP(o, &gp_hta_range_memory, range_memory);
    PUT_ALL(o, &gp_hta_sampled, sampled);
    PUT_ALL(o, &gp_hta_clocks, clocks);
    PUT_ALL(o, &gp_hta_energy, energy);
    put_findings(o);
    gp_hta_json_fleet(&o->d, h);
    gp_doc_end(&o->d, '}');
    gp_buf_putc(b, '\n');
}

/* ---- formats ---- */

static void make_report(struct gp_report *r, const struct gp_hta_answer *a, const char *table, bool whole)
{
    struct gp_hta_report_opts o = {.top = a->top,
                                   .steps = a->steps || (table && !strcmp(table, "step_list")),
                                   .whole = whole,
                                   .brief = true,
                                   .few = !a->full && !table,
                                   .only = table};
    gp_hta_report(r, a->h, &o);
}

/* Where to read on after the short text. */
static void put_more(struct gp_buf *b, const struct gp_report *r, size_t width)
{
    struct gp_buf text = {0};
    for (size_t i = 0; i < r->tables.n; i++) {
        const struct gp_report_table *t = r->tables.at[i];
        if (!t->detail && !t->more) continue;
        gp_buf_puts(&text, text.n ? " " : "More: --full, or -t with one of ");
        gp_buf_puts(&text, t->id);
    }
    if (text.n) {
        gp_buf_puts(&text, ". Pictures: -f html, trace2timeline, trace2flame. What to do: trace-suggest.");
        gp_buf_putc(b, '\n');
        gp_text_wrap(b, text.data, text.n, 0, gp_report_prose_width(width));
        gp_buf_putc(b, '\n');
    }
    gp_buf_release(&text);
}

static void put_text(void *answer, struct gp_buf *b)
{
    struct gp_hta_answer *a = answer;
    struct gp_report r = {0};
    struct gp_report_text_opts o = {.color = a->color, .width = a->width};
    make_report(&r, a, a->table, a->whole);
    const struct gp_report_table *t = a->table ? gp_report_find(&r, a->table) : NULL;
    if (t) gp_report_text_table(b, t, &o);
    else if (!a->table) gp_report_text_write(b, &r, &o);
    if (!a->table && !a->full) put_more(b, &r, a->width);
    a->empty = a->table && !t;
    gp_report_release(&r);
}

static void put_markdown(void *answer, struct gp_buf *b)
{
    struct gp_hta_answer all = *(const struct gp_hta_answer *)answer;
    struct gp_report r = {0};
    all.full = true; /* what is long is folded there */
    make_report(&r, &all, NULL, false);
    gp_report_markdown_write(b, &r);
    gp_report_release(&r);
}

static void put_csv(void *answer, struct gp_buf *b)
{
    struct gp_hta_answer *a = answer;
    const char *table = a->table ? a->table : "kernels";
    struct gp_report r = {0};
    make_report(&r, a, table, true); /* as JSON has it */
    const struct gp_report_table *t = gp_report_find(&r, table);
    gp_report_csv_write(b, t, a->h->untimed ? GP_UNTIMED_TEXT : NULL);
    a->empty = !t;
    gp_report_release(&r);
}

GP_PUT_ANSWER(put_json, struct gp_hta_answer, gp_hta_json_write(b, a))

static void put_html(void *answer, struct gp_buf *b)
{
    const struct gp_hta_answer *a = answer;
    struct gp_report r = {0};
    struct gp_buf json = {0};
    gp_hta_report(&r, a->h,
                  &(struct gp_hta_report_opts){
                      .top = a->top, .steps = true, .whole = a->whole, .step_rows = a->steps ? 0 : a->top});
    put_json(answer, &json);
    gp_hta_html_write(b, a, &r, &json);
    gp_buf_release(&json);
    gp_report_release(&r);
}

GP_PUT_ANSWER(put_dot, struct gp_hta_answer, gp_path_dot(b, a->h, 0))
GP_PUT_ANSWER(put_openmetrics, struct gp_hta_answer, gp_hta_openmetrics(b, a->h))

const struct gp_answer_format gp_hta_formats[] = {
    {"text", 10, GP_HTA_TAKES_TABLE | GP_HTA_TAKES_FULL, .put = put_text},
    {"markdown", 10, 0, .put = put_markdown},
    {"json", 10, 0, .put = put_json},
    {"csv", 0, GP_HTA_TAKES_TABLE, .put = put_csv},
    {"html", 100, GP_HTA_TAKES_LINKS, .put = put_html},
    {"dot", 0, 0, .put = put_dot},
    {"openmetrics", 0, 0, .put = put_openmetrics},
    {0},
};
