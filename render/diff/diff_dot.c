#include "render/diff/diff_dot.h"

#include <inttypes.h>
#include <math.h>
#include "formats/base/buf.h"
#include "formats/base/scale.h"
#include "render/draw/dot.h"
#include "render/draw/palette.h"
#include "render/draw/text.h"

enum { MOST = 40, NAMES = 6, NAME_COLUMNS = 44 };

static void put_short(struct gp_buf *b, const struct gp_diff *d, gp_sid sid)
{
    struct gp_buf fit = {0};
    gp_text_fit_name(&fit, gp_diff_str(d, sid), gp_string_len(&d->strings, sid), NAME_COLUMNS);
    gp_dot_text(b, fit.data, fit.n);
    gp_buf_release(&fit);
}

static void put_change(struct gp_buf *b, int64_t ns)
{
    gp_buf_puts(b, ns < 0 ? "\xE2\x88\x92" : ns > 0 ? "+" : "");
    gp_scale_put(b, GP_UNIT_NS, ns < 0 ? -ns : ns);
}

/* Colour strength of a change, relative to the largest one. */
static int level_of(int64_t change, int64_t largest)
{
    double part = largest > 0 ? fabs((double)change) / (double)largest : 0;
    int level = (int)(part * GP_PALETTE_CHANGES + 0.5);
    return change < 0 ? -level : level;
}

/* The launches of one side of a block, one per line. */
static void put_node(struct gp_buf *b, const struct gp_diff *d, size_t i, int side, struct gp_color fill,
                     const char *class)
{
    const struct gp_diff_block *k = &d->blocks.at[i];
    gp_buf_printf(b, "  %c%zu [label=\"", side == GP_DIFF_BASE ? 'b' : 'c', i);
    for (uint32_t n = 0; n < k->n_names[side] && n < NAMES; n++) {
        if (k->first_name[side] + n >= d->names.n) break;
        put_short(b, d, d->names.at[k->first_name[side] + n]);
        gp_buf_puts(b, "\\l");
    }
    if (k->n_names[side] > NAMES) gp_buf_printf(b, "and %u more\\l", (unsigned)(k->n_names[side] - NAMES));
    gp_buf_printf(b, "%g launch%s, ", k->kernels[side], k->kernels[side] == 1 ? "" : "es");
    gp_scale_put(b, GP_UNIT_NS, k->side_ns[side]);
    gp_buf_puts(b, "\\l\", fillcolor=");
    gp_dot_color(b, fill);
    gp_buf_puts(b, ", fontcolor=");
    gp_dot_color(b, gp_palette_text(fill));
    gp_buf_printf(b, ", class=\"k-%s\"];\n", class);
}

static void put_block(struct gp_buf *b, const struct gp_diff *d, size_t i, int64_t largest)
{
    const struct gp_diff_block *k = &d->blocks.at[i];
    struct gp_color plain = gp_palette_change(0, GP_THEME_LIGHT);
    struct gp_color fill = gp_palette_change(level_of(k->change_ns, largest), GP_THEME_LIGHT);
    bool has_base = k->n_names[GP_DIFF_BASE] || k->kernels[GP_DIFF_BASE] > 0;
    bool has_cur = k->n_names[GP_DIFF_CUR] || k->kernels[GP_DIFF_CUR] > 0;
    const char *class = k->change_ns > 0 ? "worse" : k->change_ns < 0 ? "better" : "same";
    if (has_base) put_node(b, d, i, GP_DIFF_BASE, has_cur ? plain : fill, has_cur ? "plain" : class);
    else gp_buf_printf(b, "  b%zu [label=\"absent\", style=dashed];\n", i);
    if (has_cur) put_node(b, d, i, GP_DIFF_CUR, fill, class);
    else gp_buf_printf(b, "  c%zu [label=\"absent\", style=dashed];\n", i);
    gp_buf_printf(b, "  b%zu -> c%zu [label=\"", i, i);
    put_short(b, d, k->label);
    gp_buf_printf(b, "\\n%s", gp_change_name((enum gp_change)k->change));
    if (k->times > 1) gp_buf_printf(b, ", %u times per step", (unsigned)k->times);
    gp_buf_puts(b, "\\n");
    put_change(b, k->change_ns);
    double part = largest > 0 ? fabs((double)k->change_ns) / (double)largest : 0;
    gp_buf_printf(b, "\", penwidth=%.1f];\n", 1 + 4 * part);
}

void gp_diff_dot(struct gp_buf *b, const struct gp_diff *d, size_t most)
{
    size_t n = most ? most : MOST;
    if (n > d->blocks.n) n = d->blocks.n;
    int64_t largest = 0, rest = 0;
    for (size_t i = 0; i < d->blocks.n; i++) {
        int64_t change = d->blocks.at[i].change_ns, size = change < 0 ? -change : change;
        if (size > largest) largest = size;
        if (i >= n) rest += change;
    }
    gp_buf_puts(b, "digraph blocks {\n  graph [rankdir=LR, ranksep=0.4, labelloc=t, labeljust=l, "
                   "fontname=\"Helvetica\", label=\"What replaced what");
    if (d->summary.headline) {
        gp_buf_puts(b, "\\l");
        gp_dot_text(b, gp_diff_str(d, d->summary.headline), gp_string_len(&d->strings, d->summary.headline));
    }
    if (d->untimed) gp_buf_puts(b, "\\l" GP_UNTIMED_TEXT);
    if (!d->blocks.n) gp_buf_puts(b, "\\lboth sides launch the same work");
    if (n < d->blocks.n) {
        gp_buf_printf(b, "\\l%zu smaller blocks are not drawn: ", d->blocks.n - n);
        put_change(b, rest);
        gp_buf_puts(b, " in all");
    }
    gp_buf_puts(b, "\\l\"];\n  node [shape=box, style=filled, fillcolor=\"#ffffff\", color=\"#8a94a3\", "
                   "fontname=\"monospace\", fontsize=10];\n  edge [fontname=\"Helvetica\", fontsize=10, "
                   "color=\"#59626e\"];\n");
    for (size_t i = n; i-- > 0;)
        put_block(b, d, i, largest); /* Graphviz puts what comes first at the bottom */
    gp_buf_puts(b, "}\n");
}
