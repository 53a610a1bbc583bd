#include "render/hta/path_dot.h"

#include <inttypes.h>
#include <stdlib.h>
#include "analyze/hta/hta.h"
#include "formats/base/buf.h"
#include "formats/base/scale.h"
#include "render/draw/dot.h"
#include "render/hta/hta_sums.h"
#include "render/draw/palette.h"
#include "render/draw/text.h"

enum { DEFAULT_NODES = 120, LABEL_COLUMNS = 36 };

/* ---- what a node shows ---- */

static enum gp_frame_kind kind_of(enum gp_path_bound b)
{
    switch (b) {
    case GP_PATH_COMPUTE:
        return GP_FRAME_GEMM;
    case GP_PATH_COMMUNICATION:
        return GP_FRAME_COMMUNICATION;
    case GP_PATH_MEMORY:
        return GP_FRAME_MEMCPY;
    case GP_PATH_LAUNCH:
        return GP_FRAME_API;
    case GP_PATH_HOST:
        return GP_FRAME_OP;
    default:
        return GP_FRAME_RANGE;
    }
}

static void put_sid(struct gp_buf *b, const struct gp_hta *h, gp_sid sid)
{
    gp_dot_text(b, gp_hta_str(h, sid), gp_string_len(&h->strings, sid));
}

static void put_short(struct gp_buf *b, const struct gp_hta *h, gp_sid sid)
{
    struct gp_buf fit = {0};
    gp_text_fit_name(&fit, gp_hta_str(h, sid), gp_string_len(&h->strings, sid), LABEL_COLUMNS);
    gp_dot_text(b, fit.data, fit.n);
    gp_buf_release(&fit);
}

static void put_time(struct gp_buf *b, int64_t ns)
{
    gp_scale_put(b, GP_UNIT_NS, ns);
}

/* Thread or stream: what the pieces of one column have in common. */
static void put_lane(struct gp_buf *b, const struct gp_path_piece *p)
{
    if (p->stream >= 0) gp_buf_printf(b, "stream %" PRId64, p->stream);
    else if (p->tid >= 0) gp_buf_printf(b, "thread %" PRId64, p->tid);
    else gp_buf_puts(b, "host");
}

static void put_label(struct gp_buf *b, const struct gp_hta *h, const struct gp_hta_path *p,
                      struct gp_path_run n)
{
    enum gp_path_bound bound = n.bound;
    int64_t ns = n.total_ns;
    const struct gp_path_piece *piece = &p->pieces.at[n.first];
    if (n.end - n.first > 1) {
        gp_scale_put_count(b, n.end - n.first);
        gp_buf_printf(b, " short pieces\\nmostly %s", gp_path_bound_text(bound));
    } else {
        if (bound == GP_PATH_LAUNCH) gp_buf_puts(b, "launch: ");
        if (bound == GP_PATH_SYNC) gp_buf_puts(b, "end of ");
        if (bound == GP_PATH_KERNEL_GAP) gp_buf_puts(b, "gap before ");
        if (piece->name) put_short(b, h, piece->name);
        else gp_buf_puts(b, "host, nothing recorded");
    }
    gp_buf_puts(b, "\\n");
    put_time(b, ns);
    gp_buf_puts(b, " (");
    gp_scale_put_share(b, ns, p->end_ns - p->begin_ns);
    gp_buf_puts(b, ")");
}

static void put_tooltip(struct gp_buf *b, const struct gp_hta *h, const struct gp_hta_path *p,
                        struct gp_path_run n)
{
    const struct gp_path_piece *first = &p->pieces.at[n.first];
    if (n.end - n.first == 1) {
        put_sid(b, h, first->full ? first->full : first->name);
        gp_buf_puts(b, first->name ? "; " : "");
        put_lane(b, first);
        gp_buf_puts(b, "; ");
    }
    gp_buf_puts(b, "from ");
    put_time(b, first->begin_ns - p->begin_ns);
    gp_buf_puts(b, " to ");
    put_time(b, p->pieces.at[n.end - 1].end_ns - p->begin_ns);
}

static void put_node(struct gp_buf *b, const struct gp_hta *h, size_t path, size_t i, struct gp_path_run n)
{
    const struct gp_hta_path *p = &h->paths.at[path];
    struct gp_color fill = gp_palette_fill(kind_of(n.bound), 2, GP_THEME_LIGHT);
    gp_buf_printf(b, "    p%zu_%zu [label=\"", path, i);
    put_label(b, h, p, n);
    gp_buf_puts(b, "\", tooltip=\"");
    put_tooltip(b, h, p, n);
    gp_buf_puts(b, "\", fillcolor=");
    gp_dot_color(b, fill);
    gp_buf_puts(b, ", fontcolor=");
    gp_dot_color(b, gp_palette_text(fill));
    gp_buf_printf(b, ", class=\"k-%s\"", gp_palette_class(kind_of(n.bound)));
    if (n.end - n.first > 1) {
        gp_buf_puts(b, ", style=\"filled,dashed\"");
    } else {
        gp_buf_printf(b, ", group=\"%zu ", path);
        put_lane(b, &p->pieces.at[n.first]);
        gp_buf_putc(b, '"');
    }
    gp_buf_puts(b, "];\n");
}

/* ---- the graph ---- */

static void put_title(struct gp_buf *b, const struct gp_hta *h, const struct gp_hta_path *p)
{
    gp_buf_puts(b, "Critical path");
    if (p->window) {
        gp_buf_puts(b, " of ");
        put_sid(b, h, p->window);
    }
    if (p->rank >= 0) gp_buf_printf(b, ", rank %d", (int)p->rank);
    gp_buf_puts(b, ": ");
    put_time(b, p->end_ns - p->begin_ns);
    for (int i = 0; i < GP_PATH_BOUND_COUNT; i++) {
        if (!p->bound_ns[i]) continue;
        gp_buf_printf(b, "\\l    %s ", gp_path_bound_text((enum gp_path_bound)i));
        put_time(b, p->bound_ns[i]);
        gp_buf_puts(b, " (");
        gp_scale_put_share(b, p->bound_ns[i], p->end_ns - p->begin_ns);
        gp_buf_puts(b, ")");
    }
    gp_buf_puts(b, "\\l");
}

static void put_path(struct gp_buf *b, const struct gp_hta *h, size_t path, uint32_t max_nodes)
{
    gp_path_runs all = {0};
    gp_hta_path_fold(&h->paths.at[path], max_nodes, &all);
    gp_buf_printf(b, "  subgraph cluster_%zu {\n    label=\"", path);
    put_title(b, h, &h->paths.at[path]);
    gp_buf_puts(b, "\";\n");
    for (size_t i = 0; i < all.n; i++) put_node(b, h, path, i, all.at[i]);
    for (size_t i = 1; i < all.n; i++) gp_buf_printf(b, "    p%zu_%zu -> p%zu_%zu;\n", path, i - 1, path, i);
    gp_buf_puts(b, "  }\n");
    GP_VEC_FREE(&all);
}

void gp_path_dot(struct gp_buf *b, const struct gp_hta *h, const struct gp_path_dot_opts *opts)
{
    uint32_t max_nodes = opts && opts->max_nodes ? opts->max_nodes : DEFAULT_NODES;
    gp_buf_puts(b,
                "digraph critical_path {\n"
                "  graph [fontname=\"sans-serif\", fontsize=12, labeljust=l, nodesep=0.15, ranksep=0.2, "
                "color=\"#c5cad8\"];\n"
                "  node [shape=box, style=filled, fontname=\"sans-serif\", fontsize=10, color=\"#5b6474\", "
                "margin=\"0.1,0.04\"];\n"
                "  edge [color=\"#5b6474\", arrowsize=0.6];\n");
    if (h->untimed) gp_buf_puts(b, "  label=\"" GP_UNTIMED_TEXT "\";\n");
    else if (!h->paths.n) gp_buf_puts(b, "  label=\"no GPU events, so no critical path\";\n");
    for (size_t i = 0; i < h->paths.n; i++) put_path(b, h, i, max_nodes < 3 ? 3 : max_nodes);
    gp_buf_puts(b, "}\n");
}
