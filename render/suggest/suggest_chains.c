#include "render/suggest/suggest_chains.h"

#include <string.h>
#include "formats/base/buf.h"
#include "formats/base/scale.h"
#include "render/page/graph_svg.h"
#include "render/page/page_html.h"
#include "render/page/page_report.h"
#include "render/report/record.h"
#include "render/suggest/suggest_dot.h"
#include "render/page/table_html.h"
#include "render/draw/text.h"

enum {
    DRAWN = 96, /* nodes of the picture: what a reader looks at */
    NAMED = 12, /* kernels of a chain that a row names */
    LABEL_COLUMNS = 40,
};

/* ---- the table ---- */

/* The kernels of chain C in order; with FULL names or short readable ones. */
static void put_kernels(struct gp_buf *b, const struct gp_suggest *s, const struct gp_suggest_chain *c,
                        bool full)
{
    for (uint32_t i = 0; i < c->n; i++) {
        gp_sid label = s->chain_kernels.at[c->first + i].label;
        if (i) gp_buf_puts(b, " \xE2\x86\x92 ");
        if (!full && i == NAMED) {
            gp_buf_printf(b, "%u more", (unsigned)(c->n - i));
            break;
        }
        if (full) gp_buf_put(b, gp_suggest_str(s, label), gp_string_len(&s->strings, label));
        else gp_text_fit(b, gp_suggest_str(s, label), gp_string_len(&s->strings, label), LABEL_COLUMNS);
    }
}

GP_GETTER(get_kernels)
{
    struct gp_buf full = {0}, brief = {0};
    put_kernels(&full, x->of, row, true);
    put_kernels(&brief, x->of, row, false);
    gp_cell_label(c, gp_arena_strndup(x->mem, full.data, full.n), full.n,
                  gp_arena_strndup(x->mem, brief.data, brief.n), brief.n);
    gp_buf_release(&full);
    gp_buf_release(&brief);
}

GP_GETTER(get_times)
{
    const struct gp_suggest *s = x->of;
    gp_cell_real(c,
                 (double)((const struct gp_suggest_chain *)row)->count / (s->step.steps ? s->step.steps : 1));
}

#define AT(member) offsetof(struct gp_suggest_chain, member)
static const struct gp_field chain_fields[] = {
    {"kernels", "Kernels, in order", GP_CELL_NAME, get_kernels, 0, .help = "full names in the tooltip"},
    {"n", "Length", GP_CELL_COUNT, gp_member_u32, AT(n), .help = "kernels in a chain"},
    {"times", "Runs", GP_CELL_REAL, get_times, 0, .help = "per step; in all where there are no steps"},
    {"total_ns", "Takes", GP_CELL_NS, gp_member_i64, AT(total_ns), .help = "GPU time over all these runs"},
    {"saved_low_ns", "Saves at least", GP_CELL_NS, gp_member_i64, AT(saved_low_ns),
     .help = "GPU time that one kernel instead would save for certain"},
    {"saved_high_ns", "At most", GP_CELL_NS, gp_member_i64, AT(saved_high_ns),
     .help = "the same, with everything that might be saved"},
};
#undef AT
static const struct gp_record chains = {"chains", "All chains", GP_FIELDS(chain_fields),
                                        .size = sizeof(struct gp_suggest_chain)};

const struct gp_report_table *gp_suggest_chains_tell(struct gp_report *r, const struct gp_suggest *s)
{
    const struct gp_row_of of = {.of = s, .strings = &s->strings};
    struct gp_report_table *t = NULL;
    struct gp_columns columns;
    gp_columns_find(&columns, &chains);
    for (size_t i = 0; i < s->chains.n; i++) {
        if (!s->chains.at[i].counts) continue;
        if (!t) t = gp_columns_table(r, &chains, &columns, &of);
        gp_columns_put(r, t, &columns, &s->chains.at[i], &of);
    }
    gp_columns_release(&columns);
    return t;
}

/* ---- the graph ---- */

static void put_note(struct gp_svg *w)
{
    static const char text[] =
        "Memory-bound kernels that run back to back: each reads what the previous one wrote. Each line shows "
        "what a single kernel would not write and read again; it is dashed where that is uncertain. The "
        "savings are GPU time: they shorten the step only where the step waits for the GPU.";
    gp_page_element(w, "p", "note", text, sizeof text - 1);
    gp_svg_newline(w);
}

static void put_dot(struct gp_svg *w, const struct gp_buf *dot)
{
    static const char text[] = "The graph for Graphviz (draw it with dot -Tsvg)";
    gp_page_open(w, "details", "source");
    gp_page_element(w, "summary", NULL, text, sizeof text - 1);
    gp_page_open(w, "pre", NULL);
    /* what is shown keeps its lines: control characters become visible elsewhere */
    for (size_t from = 0; from < dot->n;) {
        const char *end = memchr(dot->data + from, '\n', dot->n - from);
        size_t to = end ? (size_t)(end - dot->data) : dot->n;
        gp_svg_text(w, dot->data + from, to - from);
        gp_svg_newline(w);
        from = to + 1;
    }
    gp_svg_close(w);
    gp_svg_close(w);
    gp_svg_newline(w);
}

/* False when it cannot be drawn. */
static bool put_graph(struct gp_svg *w, const struct gp_buf *dot)
{
    struct gp_buf drawn = {0};
    struct gp_svg g = {.out = &drawn, .html = true};
    bool can = gp_graph_svg(
        &g, dot->data, dot->n,
        &(struct gp_graph_opts){
            .label = "Chains of kernels, longest first; the table below has the same content in words"});
    if (can) gp_page_graph(w, &drawn, "Chains of kernels as a graph");
    gp_buf_release(&drawn);
    return can;
}

void gp_suggest_chains_write(struct gp_svg *w, const struct gp_suggest *s, const struct gp_report_table *t)
{
    struct gp_buf dot = {0}, more = {0};
    size_t left = gp_suggest_dot_write(&dot, s, &(struct gp_suggest_dot_opts){.max_nodes = DRAWN});
    put_note(w);
    bool can = put_graph(w, &dot);
    if (can && left) {
        gp_buf_printf(&more, "Not drawn: %zu more that take less time; the table has them.", left);
        gp_page_element(w, "p", "note", more.data, more.n);
        gp_svg_newline(w);
    }
    if (!can) put_dot(w, &dot);
    gp_table_html_write(w, t, &(struct gp_table_html_opts){.open = !can});
    gp_buf_release(&dot);
    gp_buf_release(&more);
}
