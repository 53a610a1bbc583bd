#include "render/diff/diff_priv.h"

#include <math.h>
#include <string.h>
#include "analyze/math/sums.h"
#include "formats/base/buf.h"
#include "formats/base/scale.h"
#include "render/draw/change_svg.h"
#include "render/draw/palette.h"
#include "render/draw/plot.h"
#include "render/draw/text.h"
#include "render/flame/flame_svg.h"
#include "render/page/assets.h"
#include "render/page/page_html.h"

enum { TERMS = 14, DOTS = 5000, MARGIN = 24, HEAD = 78, FOOT = 30, TITLE_COLUMNS = 120 };

/* ---- the waterfall ---- */

/* The terms with their names, for as long as the picture is being drawn. */
struct falls {
    struct gp_arena mem;
    struct gp_waterfall_bar bars[GP_DIFF_TERMS];
    struct gp_waterfall f;
};

static const char *kept(struct gp_arena *mem, struct gp_buf *b)
{
    const char *s = gp_arena_strndup(mem, b->n ? b->data : "", b->n);
    b->n = 0;
    return s;
}

static void fill_bar(struct falls *w, const struct gp_diff *d, const struct gp_diff_term *t,
                     struct gp_waterfall_bar *bar)
{
    struct gp_buf b = {0};
    gp_diff_put_term(&b, d, t);
    bar->label = kept(&w->mem, &b);
    bar->change = t->change_ns;
    if (t->cause < d->causes.n) {
        const struct gp_diff_cause *c = &d->causes.at[t->cause];
        if (c->sort == GP_CAUSE_OP && c->index < d->ops.n)
            bar->full = gp_diff_str(d, d->ops.at[c->index].name);
        gp_buf_printf(&b, "Was %s, is %s", GP_NS(c->side_ns[GP_DIFF_BASE]), GP_NS(c->side_ns[GP_DIFF_CUR]));
        if (c->sort == GP_CAUSE_IDLE && c->index < GP_IDLE_CAUSE_COUNT)
            gp_buf_printf(&b, ": %s", gp_idle_cause_text((enum gp_idle_cause)c->index));
        bar->note = kept(&w->mem, &b);
    }
    gp_buf_release(&b);
}

/* The number of terms large enough to be seen; the rest goes into the sums. */
static size_t count_shown_terms(const struct gp_diff *d, const int64_t ends[GP_DIFF_SIDES])
{
    int64_t longer = ends[GP_DIFF_BASE] > ends[GP_DIFF_CUR] ? ends[GP_DIFF_BASE] : ends[GP_DIFF_CUR];
    int64_t all = ends[GP_DIFF_CUR] - ends[GP_DIFF_BASE];
    int64_t range = all < 0 ? -all : all, least = (range > longer / 50 ? range : longer / 50) / 100;
    size_t n = 0;
    while (n < d->causes.n && n < TERMS &&
           (d->causes.at[n].change_ns > least || d->causes.at[n].change_ns < -least))
        n++;
    return n > 3 ? n : 3;
}

/* At most TOP single terms; 0: as many as can be seen. */
static void fill(struct falls *w, const struct gp_diff *d, size_t top)
{
    struct gp_diff_term terms[GP_DIFF_TERMS];
    int64_t ends[GP_DIFF_SIDES];
    gp_diff_term_ends(d, ends);
    size_t n = gp_diff_terms(d, top ? top : count_shown_terms(d, ends), terms);
    memset(w, 0, sizeof *w);
    for (size_t i = 0; i < n; i++) fill_bar(w, d, &terms[i], &w->bars[i]);
    struct gp_buf b = {0};
    for (size_t i = n; i-- > 1;) { /* kernels that are only called the same have numbers */
        size_t same = 1;
        for (size_t k = 0; k < i; k++) same += !strcmp(w->bars[k].label, w->bars[i].label);
        if (same == 1) continue;
        gp_buf_printf(&b, "%s #%zu", w->bars[i].label, same);
        w->bars[i].label = kept(&w->mem, &b);
    }
    gp_buf_release(&b);
    w->f = (struct gp_waterfall){
        .label = d->unit == GP_DIFF_PER_STEP ? "How the step's time changed, by cause"
                                             : "How the time changed, by cause",
        .from_name = "baseline",
        .to_name = "current",
        .from = ends[GP_DIFF_BASE],
        .to = ends[GP_DIFF_CUR],
        .unit = GP_UNIT_NS,
        .bars = w->bars,
        .bars_n = n,
    };
}

static void put_entry(struct gp_svg *w, const char *k, const char *words)
{
    gp_page_open(w, "li", NULL);
    gp_page_swatch(w, k);
    gp_page_text(w, words);
    gp_svg_close(w);
}

static void open_figure(struct gp_svg *w, const char *title, const char *words)
{
    gp_page_captioned(w, title, words);
    gp_page_open(w, "ul", "legend");
}

void gp_diff_chart_waterfall(struct gp_svg *w, const struct gp_diff *d, size_t top)
{
    struct falls falls;
    fill(&falls, d, top);
    bool step = d->unit == GP_DIFF_PER_STEP;
    open_figure(w,
                step ? "From the baseline's step to the current one"
                     : "From the baseline's time to the current one",
                "each cause starts where the previous one ended; they sum exactly");
    put_entry(w, "worse", "more time");
    put_entry(w, "better", "less time");
    gp_svg_close(w);
    gp_waterfall_svg(w, &falls.f);
    gp_svg_close_line(w);
    gp_arena_release(&falls.mem);
}

/* "step 2.55 ms, was 14.0 ms (-81.8%) . a.json -> b.json" */
static void put_subtitle(struct gp_buf *b, const struct gp_diff *d, const struct gp_waterfall *f,
                         const char *input)
{
    if (d->untimed) {
        gp_buf_puts(b, GP_UNTIMED_TEXT);
        return;
    }
    gp_buf_printf(b, "%s %s, was %s", d->unit == GP_DIFF_PER_STEP ? "step" : "time", GP_NS(f->to),
                  GP_NS(f->from));
    if (f->from > 0) {
        gp_buf_puts(b, " (");
        gp_diff_put_pct(b, 100 * (double)(f->to - f->from) / (double)f->from);
        gp_buf_putc(b, ')');
    }
    if (input) gp_buf_printf(b, " \xC2\xB7 %s", input);
}

void gp_diff_waterfall_svg(struct gp_buf *out, const struct gp_diff *d, size_t top, const char *input)
{
    static const char foot[] = "gpuprof " GP_VERSION " \xC2\xB7 orange is more time, blue is less";
    struct falls falls;
    struct gp_svg s = {.out = out};
    struct gp_buf text = {0}, words = {0}, css = {0};
    fill(&falls, d, top);
    int width = GP_WATERFALL_WIDTH + 2 * MARGIN, height = HEAD + gp_waterfall_height(&falls.f) + FOOT;
    gp_buf_put(&css, gp_asset_change_svg_css.data, gp_asset_change_svg_css.n);
    gp_buf_put(&css, gp_asset_change_css.data, gp_asset_change_css.n);
    gp_plot_picture(&s, width, height, falls.f.label, &css);
    gp_buf_puts(&text, falls.f.label);
    gp_plot_text(&s, "h1", MARGIN, 34, &text);
    put_subtitle(&words, d, &falls.f, input);
    gp_text_fit(&text, words.data, words.n, TITLE_COLUMNS);
    gp_plot_text(&s, "h2", MARGIN, 58, &text);
    if (!d->untimed) {
        gp_svg_open(&s, "g");
        gp_svg_attr(&s, "transform", "translate(24 78)");
        gp_waterfall_svg(&s, &falls.f);
        gp_svg_close(&s);
    }
    gp_buf_puts(&text, foot);
    gp_plot_text(&s, "foot", MARGIN, height - 12, &text);
    gp_svg_end(&s);
    GP_RELEASE(gp_buf_release, &css, &words, &text);
    gp_arena_release(&falls.mem);
}

/* ---- the volcano ---- */

static const char *class_of(const struct gp_diff_op *op)
{
    if (op->d.significant) return op->change_ns > 0 ? "worse" : "better";
    return op->change == GP_CHANGE_NONE ? "same" : "unsure";
}

/* Operations that were tested, and those that changed for certain: by count, new, gone, replaced. */
static size_t fill_dots(const struct gp_diff *d, struct gp_arena *mem, struct gp_volcano_dot *dots)
{
    struct gp_buf b = {0};
    size_t n = 0;
    for (size_t i = 0; i < d->ops.n && n < DOTS; i++) {
        const struct gp_diff_op *op = &d->ops.at[i];
        bool tested = !isnan(op->d.q) && isfinite(op->d.estimate_pct);
        double change = tested ? op->d.estimate_pct : isnan(op->change_pct) ? INFINITY : op->change_pct;
        if (!tested && !op->d.significant) continue;
        gp_text_clean(&b, gp_diff_str(d, op->name), gp_string_len(&d->strings, op->name));
        gp_buf_putc(&b, '\n');
        gp_diff_put_change(&b, "ns", op->change_ns);
        gp_buf_puts(&b, " of GPU time");
        if (isfinite(op->d.estimate_pct)) gp_buf_printf(&b, "\nper call: %+.2f%%", op->d.estimate_pct);
        if (isfinite(op->d.ci_low_pct) && isfinite(op->d.ci_high_pct))
            gp_buf_printf(&b, ", %+.2f to %+.2f%%", op->d.ci_low_pct, op->d.ci_high_pct);
        if (!isnan(op->d.q))
            gp_buf_printf(&b, "\nq = %.2g, %s", op->d.q, gp_diff_test_name((enum gp_diff_test)op->d.test));
        int64_t was = op->side[GP_DIFF_BASE].total_ns, is = op->side[GP_DIFF_CUR].total_ns;
        dots[n++] = (struct gp_volcano_dot){.label = gp_diff_str(d, op->label),
                                            .full = kept(mem, &b),
                                            .change_pct = change,
                                            .q = tested ? op->d.q : 0,
                                            .weight = (double)(was > is ? was : is),
                                            .k = class_of(op)};
    }
    gp_buf_release(&b);
    return n;
}

void gp_diff_chart_volcano(struct gp_svg *w, const struct gp_diff *d)
{
    struct gp_arena mem = {0};
    struct gp_volcano_dot *dots = gp_arena_alloc(&mem, DOTS * sizeof *dots);
    size_t n = fill_dots(d, &mem, dots);
    if (n) {
        open_figure(w, "Size and certainty",
                    "each dot is an operation, sized by GPU time; what changed lies above the dashed line, "
                    "outside the grey band of noise, and is large enough to matter. Changed counts are at "
                    "the top, new and removed operations in the corners");
        put_entry(w, "worse", "more time");
        put_entry(w, "better", "less time");
        put_entry(w, "same", "shown to be the same");
        put_entry(w, "unsure", "undecided");
        gp_svg_close(w);
        gp_volcano_svg(w, &(struct gp_volcano){.label = "Changes in operations, by size and certainty",
                                               .dots = dots,
                                               .dots_n = n,
                                               .alpha = d->opts.alpha,
                                               .floor_pct = d->noise_pct});
        gp_svg_close_line(w);
    }
    gp_arena_release(&mem);
}

/* ---- diff flame ---- */

/* The tree of all stacks with the weights of one side, and the other weight of each node. */
struct both {
    struct gp_flame flame;
    GP_VEC(int64_t) other, counts;
    bool no_python; /* one side has Python frames and the other could not: nothing would be alike */
};

/* A frame that exists only in recordings with Python stacks: "file.py(12): name", "nn.Module: Name". */
static bool is_python(const char *s, size_t n)
{
    static const char module[] = "nn.Module: ", file[] = ".py(";
    if (n > sizeof module - 1 && !memcmp(s, module, sizeof module - 1)) return true;
    for (size_t i = 0; i + sizeof file <= n; i++)
        if (!memcmp(s + i, file, sizeof file - 1)) return true;
    return false;
}

/* The node of the stack's last frame, made where it is new. */
static uint32_t node_of(struct both *b, const char *stack, size_t n, enum gp_frame_kind leaf)
{
    uint32_t node = GP_CALLTREE_ROOT;
    for (size_t at = 0; at < n;) {
        const char *semicolon = memchr(stack + at, ';', n - at);
        size_t len = semicolon ? (size_t)(semicolon - stack) - at : n - at;
        enum gp_frame_kind kind = at + len == n ? leaf : GP_FRAME_OP;
        bool skip = b->no_python && at + len < n && is_python(stack + at, len);
        if (!skip)
            node =
                gp_calltree_child(&b->flame.tree, node, gp_intern(&b->flame.strings, stack + at, len), kind);
        at += len + (semicolon != NULL);
    }
    return node;
}

/* The change of a stack without noise: undecided operations that are on both sides. A stack of one side only
 * is always a change. */
static int64_t counted(const struct gp_diff *d, const struct gp_diff_stack *s)
{
    int64_t was = s->side_ns[GP_DIFF_BASE], is = s->side_ns[GP_DIFF_CUR], change = is - was;
    if (!was || !is) return change;
    if (s->op >= d->ops.n) return fabs((double)change) > d->noise_pct / 100 * (double)was ? change : 0;
    uint32_t what = d->ops.at[s->op].change;
    return what == GP_CHANGE_NONE || what == GP_CHANGE_INCONCLUSIVE ? 0 : change;
}

static void add_stack(struct both *b, const struct gp_diff *d, const struct gp_diff_stack *s, int side)
{
    uint32_t node = node_of(b, gp_diff_str(d, s->stack), gp_string_len(&d->strings, s->stack),
                            (enum gp_frame_kind)s->kind);
    if (!b->flame.tree.nodes.n) return;
    gp_calltree_add(&b->flame.tree, node, s->side_ns[side]);
    while (b->other.n < b->flame.tree.nodes.n) {
        GP_VEC_PUSH(&b->other, 0);
        GP_VEC_PUSH(&b->counts, 0);
    }
    b->other.at[node] = gp_add_saturated(b->other.at[node], s->side_ns[!side]);
    b->counts.at[node] = gp_add_saturated(b->counts.at[node], counted(d, s));
}

static void build(struct both *b, const struct gp_diff *d, int side)
{
    b->no_python = d->side[GP_DIFF_BASE].env.has_python != d->side[GP_DIFF_CUR].env.has_python;
    for (size_t i = 0; i < d->stacks.n; i++) add_stack(b, d, &d->stacks.at[i], side);
    gp_calltree_finish(&b->flame.tree, &b->flame.strings);
    while (b->other.n < b->flame.tree.nodes.n) {
        GP_VEC_PUSH(&b->other, 0);
        GP_VEC_PUSH(&b->counts, 0);
    }
    /* parents come before their children */
    for (size_t i = b->other.n; i-- > 1;) {
        uint32_t parent = b->flame.tree.nodes.at[i].parent;
        b->other.at[parent] = gp_add_saturated(b->other.at[parent], b->other.at[i]);
        b->counts.at[parent] = gp_add_saturated(b->counts.at[parent], b->counts.at[i]);
    }
}

void gp_diff_flame_svg(struct gp_buf *out, const struct gp_diff *d, const struct gp_diff_flame_opts *o)
{
    struct both b = {0};
    bool is_base = o->side == GP_DIFF_BASE;
    build(&b, d, is_base ? GP_DIFF_BASE : GP_DIFF_CUR);
    struct gp_flame_svg_diff diff = {.other = b.other.at, .counts = b.counts.at, .tree_is_base = is_base};
    gp_flame_svg_write(
        out, &b.flame,
        &(struct gp_flame_svg_opts){
            .title = is_base ? "What became of the baseline's GPU time" : "Where the current GPU time is new",
            .measure = d->unit == GP_DIFF_PER_STEP ? "GPU time per step" : "GPU time",
            .note = is_base ? "scaled to the baseline" : "scaled to the current trace",
            .input = o->input,
            .empty = "No GPU events on this side",
            .diff = &diff,
            .still = o->embedded,
            .max_frames = o->max_frames,
        });
    GP_VEC_FREE(&b.other);
    GP_VEC_FREE(&b.counts);
    gp_flame_release(&b.flame);
}

/* ---- diff dot ---- */

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
    gp_buf_printf(b, "%s%s", ns < 0 ? "\xE2\x88\x92" : ns > 0 ? "+" : "", GP_NS(ns < 0 ? -ns : ns));
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
    gp_buf_printf(b, "%g launch%s, %s\\l\", fillcolor=", k->kernels[side], k->kernels[side] == 1 ? "" : "es",
                  GP_NS(k->side_ns[side]));
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
    for (size_t i = n; i-- > 0;) put_block(b, d, i, largest); /* Graphviz puts the first at the bottom */
    gp_buf_puts(b, "}\n");
}
