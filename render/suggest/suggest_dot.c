#include "render/suggest/suggest_priv.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "formats/base/buf.h"
#include "formats/base/mem.h"
#include "formats/base/scale.h"
#include "render/draw/text.h"
#include "render/page/graph_svg.h"
#include "render/page/page_html.h"
#include "render/page/page_report.h"
#include "render/report/record.h"

enum {
    DEFAULT_NODES = 240,
    CHAIN_NODES = 12, /* of a chain: longer ones have their middle folded */
    LABEL_COLUMNS = 32,
};

/* ---- nodes ---- */

/* The members [FIRST, END) of a chain as one node. */
struct part {
    uint32_t first, end;
};

static void put_line(struct gp_buf *b, const char *s, size_t n)
{
    struct gp_buf fit = {0};
    gp_text_fit(&fit, s, n, LABEL_COLUMNS);
    gp_dot_text(b, fit.data, fit.n);
    gp_buf_release(&fit);
    gp_buf_puts(b, "\\n");
}

/* The function, its template arguments, time and bytes: a line each. */
static void put_label(struct gp_buf *b, const struct gp_suggest *s, const struct gp_suggest_chain_kernel *k)
{
    const char *label = gp_suggest_str(s, k->label);
    size_t n = gp_string_len(&s->strings, k->label), function = strcspn(label, "<");
    if (function > n || !function) function = n;
    put_line(b, label, function);
    if (function < n) put_line(b, label + function, n - function);
    gp_scale_put(b, GP_UNIT_NS, k->ns);
    if (k->bytes) gp_buf_printf(b, ", %s", GP_BYTES(k->bytes));
}

static void put_node(struct gp_buf *b, const struct gp_suggest *s, const struct gp_suggest_chain *c,
                     struct part p)
{
    const struct gp_suggest_chain_kernel *k = &s->chain_kernels.at[c->first + p.first];
    bool fold = p.end - p.first > 1;
    struct gp_color fill =
        gp_palette_fill(fold ? GP_FRAME_RANGE : (enum gp_frame_kind)k->kind, 2, GP_THEME_LIGHT);
    gp_buf_printf(b, "    c%016" PRIx64 "_%u [label=\"", c->signature, p.first);
    if (fold) {
        uint32_t n = p.end - p.first;
        int64_t ns = 0;
        for (uint32_t i = 0; i < n; i++) ns += k[i].ns;
        gp_buf_printf(b, "%s more kernel%s\\n%s", GP_COUNTED(n), n == 1 ? "" : "s", GP_NS(ns));
    } else put_label(b, s, k);
    gp_buf_puts(b, "\", tooltip=\"");
    if (!fold) gp_dot_text(b, gp_suggest_str(s, k->name), gp_string_len(&s->strings, k->name));
    gp_buf_puts(b, "\", fillcolor=");
    gp_dot_color(b, fill);
    gp_buf_puts(b, ", fontcolor=");
    gp_dot_color(b, gp_palette_text(fill));
    gp_buf_printf(b, ", class=\"k-%s\"%s",
                  gp_palette_class(fold ? GP_FRAME_RANGE : (enum gp_frame_kind)k->kind),
                  fold ? ", style=\"filled,dashed\"];\n" : "];\n");
}

static void put_edge(struct gp_buf *b, const struct gp_suggest *s, const struct gp_suggest_chain *c,
                     struct part from, struct part to)
{
    int64_t bytes = s->chain_kernels.at[c->first + to.first].passed_bytes;
    bool sure = bytes && to.end - to.first == 1 && from.end - from.first == 1;
    gp_buf_printf(b, "    c%016" PRIx64 "_%u -> c%016" PRIx64 "_%u [", c->signature, from.first, c->signature,
                  to.first);
    if (sure) gp_buf_printf(b, "label=\"%s\"];\n", GP_BYTES(bytes));
    else gp_buf_puts(b, "style=dashed];\n");
}

/* ---- clusters ---- */

static uint32_t nodes_of(const struct gp_suggest_chain *c) { return c->n < CHAIN_NODES ? c->n : CHAIN_NODES; }

/* The I-th node of a chain: all after the first half and before the last ones are one. */
static struct part part_of(const struct gp_suggest_chain *c, uint32_t i)
{
    const uint32_t before = CHAIN_NODES / 2;
    if (c->n <= CHAIN_NODES || i < before) return (struct part){i, i + 1};
    uint32_t behind = c->n - (CHAIN_NODES - before - 1);
    if (i == before) return (struct part){before, behind};
    return (struct part){behind + i - before - 1, behind + i - before};
}

/* "once", "8 times", "1.5 times" where a chain is not in every step. */
static void put_times(struct gp_buf *b, uint64_t count, uint64_t steps)
{
    if (!steps) steps = 1;
    if (count == steps) {
        gp_buf_puts(b, "once");
        return;
    }
    gp_scale_put_count(b, count / steps);
    if (count % steps) gp_buf_printf(b, ".%u", (unsigned)(count % steps * 10 / steps));
    gp_buf_puts(b, " times");
}

static void put_cluster(struct gp_buf *b, const struct gp_suggest *s, const struct gp_suggest_chain *c)
{
    gp_buf_printf(b, "  subgraph cluster_%016" PRIx64 " {\n    label=\"", c->signature);
    put_times(b, c->count, s->step.steps);
    const char *each = s->step.found ? " per step" : "";
    gp_buf_printf(b, "%s, %s%s; one kernel instead saves %s to %s of GPU time\\l\";\n", each,
                  GP_NS(c->total_ns), each, c->saved_low_ns ? GP_NS(c->saved_low_ns) : "up",
                  GP_NS(c->saved_high_ns));
    uint32_t n = nodes_of(c);
    for (uint32_t i = 0; i < n; i++) put_node(b, s, c, part_of(c, i));
    for (uint32_t i = 1; i < n; i++) put_edge(b, s, c, part_of(c, i - 1), part_of(c, i));
    gp_buf_puts(b, "  }\n");
}

/* ---- the graph ---- */

static void put_title(struct gp_buf *b, const struct gp_suggest *s, size_t shown, size_t left,
                      int64_t left_ns)
{
    gp_buf_puts(b, "  label=\"");
    if (s->untimed) {
        gp_buf_puts(b, GP_UNTIMED_TEXT);
    } else if (shown) {
        gp_buf_puts(b, "Chains of kernels that a single kernel could replace");
        if (s->step.found) gp_buf_printf(b, ", in a step of %s", GP_NS(s->step.step_ns));
        gp_buf_puts(b, ". Edge labels: bytes that would not go through memory; dashed: uncertain");
    } else {
        gp_buf_puts(b, "no chains of kernels that a single kernel could replace");
    }
    if (left) {
        gp_buf_printf(b, "\\lNot shown: %s %s", GP_COUNTED(left),
                      left == 1 ? "kind of chain" : "kinds of chains");
        gp_buf_printf(b, ", %s%s", GP_NS(left_ns), s->step.found ? " per step" : "");
    }
    gp_buf_puts(b, "\\l\";\n");
}

size_t gp_suggest_dot_write(struct gp_buf *b, const struct gp_suggest *s, uint32_t most)
{
    uint32_t room = most ? most : DEFAULT_NODES;
    size_t shown = 0, left = 0, worth = 0;
    int64_t left_ns = 0;
    uint8_t *show = gp_zalloc(s->chains.n + 1);
    for (size_t i = 0; i < s->chains.n; i++) {
        const struct gp_suggest_chain *c = &s->chains.at[i];
        show[i] = c->counts && nodes_of(c) <= room;
        if (show[i]) {
            room -= nodes_of(c);
            shown++;
        } else {
            left++;
            worth += c->counts;
            left_ns += c->total_ns;
        }
    }
    gp_buf_puts(b,
                "digraph fusion {\n"
                "  graph [rankdir=LR, labelloc=t, labeljust=l, fontname=\"sans-serif\", fontsize=12, "
                "nodesep=0.15, ranksep=0.25, color=\"#c5cad8\"];\n"
                "  node [shape=box, style=filled, fontname=\"sans-serif\", fontsize=10, color=\"#5b6474\", "
                "margin=\"0.1,0.04\"];\n"
                "  edge [fontname=\"sans-serif\", fontsize=9, fontcolor=\"#3c4454\", color=\"#5b6474\", "
                "arrowsize=0.6];\n");
    for (size_t i = s->chains.n; i-- > 0;) /* Graphviz puts the first at the bottom */
        if (show[i]) put_cluster(b, s, &s->chains.at[i]);
    put_title(b, s, shown, left, left_ns);
    gp_buf_puts(b, "}\n");
    free(show);
    return worth;
}

/* ---- suggest chains ---- */

enum {
    DRAWN = 96, /* nodes of the picture */
    NAMED = 12, /* kernels of a chain that a row names */
    CHAIN_COLUMNS = 40,
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
        else gp_text_fit(b, gp_suggest_str(s, label), gp_string_len(&s->strings, label), CHAIN_COLUMNS);
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

GP_GETTER_OF(get_times, struct gp_suggest_chain, chain)
{
    const struct gp_suggest *s = x->of;
    gp_cell_real(c, (double)chain->count / (s->step.steps ? s->step.steps : 1));
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

const struct gp_report_table *gp_suggest_chains_table(struct gp_report *r, const struct gp_suggest *s)
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
    /* this text keeps its lines: control characters become visible elsewhere */
    for (size_t from = 0; from < dot->n;) {
        const char *end = memchr(dot->data + from, '\n', dot->n - from);
        size_t to = end ? (size_t)(end - dot->data) : dot->n;
        gp_svg_text(w, dot->data + from, to - from);
        gp_svg_newline(w);
        from = to + 1;
    }
    gp_svg_close(w);
    gp_svg_close_line(w);
}

void gp_suggest_chains_write(struct gp_svg *w, const struct gp_suggest *s, const struct gp_report_table *t)
{
    struct gp_buf dot = {0}, more = {0};
    size_t left = gp_suggest_dot_write(&dot, s, DRAWN);
    put_note(w);
    struct gp_buf drawn = {0};
    struct gp_svg g = {.out = &drawn, .html = true};
    bool can = gp_graph_svg(
        &g, dot.data, dot.n,
        &(struct gp_graph_opts){
            .label = "Chains of kernels, longest first; the table below has the same content in words"});
    if (can) gp_page_graph(w, &drawn, "Chains of kernels as a graph");
    gp_buf_release(&drawn);
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
