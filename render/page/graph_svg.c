#include "render/page/graph_svg.h"

#include "formats/base/buf.h"

#ifndef GP_HAVE_GRAPHVIZ

bool gp_graph_can(void) { return false; }

bool gp_graph_svg(struct gp_svg *w, const char *dot, size_t n, const struct gp_graph_opts *opts)
{
    (void)w, (void)dot, (void)n, (void)opts;
    return false;
}

#else

#include <gvc.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "formats/base/intern.h"
#include "formats/base/mem.h"
#include "formats/base/str.h"
#include "formats/base/vec.h"
#include "render/page/page_html.h"
#include "render/draw/text.h"

enum {
    MAX_BYTES = 8 << 20,
    MAX_SPAN = 4000, /* of all edges together, in ranks: Graphviz creates a node for each */
    MAX_LINES = 40,  /* of a label */
    LINE = 14,       /* pixels from line to line; a point of Graphviz is a pixel */
    SIZE = 12,       /* of text; its widest letters are as wide as Courier's */
    PAD = 4,
    LEFT = 9, /* from the edge of a box to lines that begin there */
};

/* The layout that is linked in. No other parts of Graphviz are loaded, so the same graph has the same layout
 * everywhere, independent of installed fonts. */
extern gvplugin_library_t gvplugin_dot_layout_LTX_library;

/* ---- labels ---- */

struct line {
    uint32_t from, n; /* in text */
    char align;       /* 'l', 'n', 'r' */
};

/* A label, without its escapes. */
struct label {
    struct gp_buf text;
    GP_VEC(struct line) lines;
};

static void end_line(struct label *l, uint32_t from, char align)
{
    if (l->lines.n < MAX_LINES)
        GP_VEC_PUSH(&l->lines, ((struct line){from, (uint32_t)l->text.n - from, align}));
}

static void read_label(struct label *l, const char *s)
{
    uint32_t from = 0;
    l->text.n = 0;
    l->lines.n = 0;
    for (; *s; s++) {
        if (*s != '\\') {
            gp_buf_putc(&l->text, *s);
            continue;
        }
        if (!*++s) break;
        if (*s == 'n' || *s == 'l' || *s == 'r') {
            end_line(l, from, *s);
            from = (uint32_t)l->text.n;
        } else {
            gp_buf_putc(&l->text, *s);
        }
    }
    if (l->text.n > from) end_line(l, from, 'n');
}

/* ---- the graph ---- */

struct graph {
    Agraph_t *g;
    char **labels; /* of nodes, then of edges, in their order; borrowed from the graph's strings */
    struct label label;
    struct gp_buf text; /* scratch */
    double top;
};

/* Graphviz takes strings as char *, but only reads them. */
static const char *value(void *of, const char *name)
{
    const char *v = agget(of, (char *)name);
    return v ? v : "";
}

static void set(void *of, const char *name, const char *v)
{
    char none[] = "";
    agsafeset(of, (char *)name, (char *)v, none);
}

static bool is_cluster(Agraph_t *g) { return gp_starts(agnameof(g), "cluster"); }

/* Ranks by the longest way to each node; false when there is a cycle, or edges are too long together. */
static bool is_quick(Agraph_t *g)
{
    int n = agnnodes(g), done = 0;
    int64_t span = 0;
    GP_VEC(Agnode_t *) ready = {0};
    int *rank = gp_zalloc(((size_t)n + 1) * sizeof *rank), *left = gp_zalloc(((size_t)n + 1) * sizeof *left);
    for (Agnode_t *v = agfstnode(g); v; v = agnxtnode(g, v)) {
        left[AGSEQ(v) - 1] = agdegree(g, v, 1, 0);
        if (!left[AGSEQ(v) - 1]) GP_VEC_PUSH(&ready, v);
    }
    for (; (size_t)done < ready.n; done++) {
        Agnode_t *v = ready.at[done];
        for (Agedge_t *e = agfstin(g, v); e; e = agnxtin(g, e))
            span += rank[AGSEQ(v) - 1] - rank[AGSEQ(agtail(e)) - 1];
        for (Agedge_t *e = agfstout(g, v); e; e = agnxtout(g, e)) {
            size_t to = AGSEQ(aghead(e)) - 1;
            if (rank[to] <= rank[AGSEQ(v) - 1]) rank[to] = rank[AGSEQ(v) - 1] + 1;
            if (!--left[to]) GP_VEC_PUSH(&ready, aghead(e));
        }
    }
    free(rank);
    free(left);
    GP_VEC_FREE(&ready);
    return done == n && span <= MAX_SPAN;
}

/* Replace each label by one of its size, in a font whose letters Graphviz knows to be of one width. */
static void shape(struct graph *a, void *of, char **keep)
{
    *keep = agstrdup(a->g, (char *)value(of, "label"));
    /* The stand-in for S during the layout: as many letters in as many lines. */
    read_label((&a->label), (*keep));
    a->text.n = 0;
    for (size_t i = 0; i < a->label.lines.n; i++) {
        if (i) gp_buf_puts((&a->text), "\\n");
        size_t columns =
            gp_text_width(a->label.text.data + a->label.lines.at[i].from, a->label.lines.at[i].n);
        for (size_t k = 0; k < columns; k++) gp_buf_putc((&a->text), 'x');
    }
    set(of, "label", gp_buf_str(&a->text));
    set(of, "fontname", "Courier");
    set(of, "fontsize", "12");
}

static void shape_clusters(struct graph *a, Agraph_t *g)
{
    for (Agraph_t *s = agfstsubg(g); s; s = agnxtsubg(s)) {
        char *label;
        shape(a, s, &label);
        set(s, "gp_label", label);
        agstrfree(a->g, label);
        shape_clusters(a, s);
    }
}

static void shape_all(struct graph *a)
{
    size_t i = 0;
    set(a->g, "label", "");
    for (Agnode_t *v = agfstnode(a->g); v; v = agnxtnode(a->g, v)) {
        shape(a, v, &a->labels[i++]);
        set(v, "shape", "box");
        set(v, "margin", "0.11,0.07");
    }
    for (Agnode_t *v = agfstnode(a->g); v; v = agnxtnode(a->g, v))
        for (Agedge_t *e = agfstout(a->g, v); e; e = agnxtout(a->g, e)) shape(a, e, &a->labels[i++]);
    shape_clusters(a, a->g);
}

/* ---- drawing ---- */

static int64_t px(double v) { return llround(v * 100); }

static int64_t y_of(const struct graph *a, double y) { return px(a->top - y + PAD); }

static int64_t x_of(double x) { return px(x + PAD); }

/* The label S as lines around the middle X, Y, or from LEFT on where its lines are to begin there. */
static void draw_label(struct gp_svg *w, struct graph *a, const char *s, int64_t left, int64_t x, int64_t y,
                       const char *style)
{
    struct label *l = &a->label;
    read_label(l, s);
    if (!l->lines.n) return;
    bool is_left = l->lines.at[0].align == 'l';
    if (is_left) x = left;
    gp_page_open(w, "text", is_left ? "left" : NULL);
    if (*style) gp_svg_attr(w, "style", style);
    for (size_t i = 0; i < l->lines.n; i++) {
        gp_svg_open(w, "tspan");
        gp_svg_px(w, "x", x);
        gp_svg_px(w, "y", y + (2 * (int64_t)i + 1 - (int64_t)l->lines.n) * LINE * 50 + SIZE * 36);
        gp_svg_text(w, l->text.data + l->lines.at[i].from, l->lines.at[i].n);
        gp_svg_close(w);
    }
    gp_svg_close(w);
}

static bool is_dashed(void *of) { return strstr(value(of, "style"), "dashed") != NULL; }

static void draw_node(struct gp_svg *w, struct graph *a, Agnode_t *v, const char *label)
{
    double width = ND_width(v) * 72, height = ND_height(v) * 72;
    pointf at = ND_coord(v);
    char style[64] = "", rect[40] = "";
    /* Classes are words of the palette; others are ignored. */
    const char *c = value(v, "class");
    const char *class =
        !gp_starts(c, "k-") || strlen(c) > 30 || c[strspn(c, "abcdefghijklmnopqrstuvwxyz-")] ? "" : c;
    if (*class) {
        strcat(strncat(strcpy(style, "fill:var(--"), class, 30), "-ink)");
        strcpy(rect, class);
    }
    gp_page_open(w, "g", is_dashed(v) ? "node dashed" : "node");
    read_label(&a->label, value(v, "tooltip"));
    if (a->label.lines.n) {
        gp_svg_open(w, "title");
        for (size_t i = 0; i < a->label.lines.n; i++) {
            if (i) gp_svg_newline(w);
            gp_svg_text(w, a->label.text.data + a->label.lines.at[i].from, a->label.lines.at[i].n);
        }
        gp_svg_close(w);
    }
    gp_page_open(w, "rect", *rect ? rect : NULL);
    gp_svg_box(w, x_of(at.x - width / 2), y_of(a, at.y + height / 2), px(width), px(height));
    gp_svg_attr(w, "rx", "3");
    gp_svg_close(w);
    draw_label(w, a, label, x_of(at.x - width / 2 + LEFT), x_of(at.x), y_of(a, at.y), style);
    gp_svg_close_line(w);
}

static void put_px(struct gp_buf *b, int64_t centi)
{
    gp_buf_printf(b, "%s%lld.%02lld", centi < 0 ? "-" : "", (long long)llabs(centi) / 100,
                  (long long)llabs(centi) % 100);
}

static void put_point(struct graph *a, const char *before, pointf p)
{
    gp_buf_puts(&a->text, before);
    put_px(&a->text, x_of(p.x));
    gp_buf_putc(&a->text, ' ');
    put_px(&a->text, y_of(a, p.y));
}

/* A triangle from where the line ends to the TIP. */
static void put_arrow(struct graph *a, pointf from, pointf tip)
{
    double dx = (tip.x - from.x) * .4, dy = (tip.y - from.y) * .4;
    put_point(a, " M", tip);
    put_point(a, "L", (pointf){from.x - dy, from.y + dx});
    put_point(a, "L", (pointf){from.x + dy, from.y - dx});
    gp_buf_putc(&a->text, 'Z');
}

static void draw_path(struct gp_svg *w, struct graph *a, const char *class)
{
    gp_page_open(w, "path", class);
    gp_svg_attr_n(w, "d", a->text.data, a->text.n);
    gp_svg_close(w);
}

static void draw_edge(struct gp_svg *w, struct graph *a, Agedge_t *e, const char *label)
{
    const splines *s = ED_spl(e);
    if (!s) return;
    gp_page_open(w, "g", is_dashed(e) ? "edge dashed" : "edge");
    a->text.n = 0;
    for (int i = 0; i < s->size; i++)
        for (int k = 0; k < s->list[i].size; k++)
            put_point(a, !k ? "M" : k % 3 == 1 ? "C" : " ", s->list[i].list[k]);
    draw_path(w, a, NULL);
    a->text.n = 0;
    for (int i = 0; i < s->size; i++)
        if (s->list[i].eflag) put_arrow(a, s->list[i].list[s->list[i].size - 1], s->list[i].ep);
    if (a->text.n) draw_path(w, a, "head");
    if (ED_label(e) && ED_label(e)->set)
        draw_label(w, a, label, x_of(ED_label(e)->pos.x - ED_label(e)->dimen.x / 2), x_of(ED_label(e)->pos.x),
                   y_of(a, ED_label(e)->pos.y), "");
    gp_svg_close_line(w);
}

/* Whether the clusters of the graph are one below the other, so that they can be drawn as wide as all of
 * it. */
static bool are_stacked(const struct graph *a)
{
    for (Agraph_t *s = agfstsubg(a->g); s; s = agnxtsubg(s))
        for (Agraph_t *t = agnxtsubg(s); t; t = agnxtsubg(t))
            if (!is_cluster(s) || !is_cluster(t) ||
                (GD_bb(s).LL.y < GD_bb(t).UR.y && GD_bb(t).LL.y < GD_bb(s).UR.y))
                return false;
    return true;
}

static void draw_clusters(struct gp_svg *w, struct graph *a, Agraph_t *g, bool stacked)
{
    for (Agraph_t *s = agfstsubg(g); s; s = agnxtsubg(s)) {
        if (is_cluster(s)) {
            boxf b = GD_bb(s);
            if (stacked) {
                b.LL.x = GD_bb(a->g).LL.x;
                b.UR.x = GD_bb(a->g).UR.x;
            }
            gp_page_open(w, "g", "cluster");
            gp_svg_open(w, "rect");
            gp_svg_box(w, x_of(b.LL.x), y_of(a, b.UR.y), px(b.UR.x - b.LL.x), px(b.UR.y - b.LL.y));
            gp_svg_attr(w, "rx", "6");
            gp_svg_close(w);
            if (GD_label(s) && GD_label(s)->set)
                draw_label(w, a, value(s, "gp_label"), x_of(b.LL.x + LEFT), x_of(GD_label(s)->pos.x),
                           y_of(a, GD_label(s)->pos.y), "");
            gp_svg_close_line(w);
        }
        draw_clusters(w, a, s, false);
    }
}

static void draw(struct gp_svg *w, struct graph *a, const char *label)
{
    boxf b = GD_bb(a->g);
    int width = (int)ceil(b.UR.x) + 2 * PAD, height = (int)ceil(b.UR.y) + 2 * PAD;
    size_t i = 0;
    a->top = b.UR.y;
    gp_svg_newline(w);
    gp_page_open(w, "svg", "graph");
    a->text.n = 0;
    gp_buf_printf(&a->text, "0 0 %d %d", width, height);
    gp_svg_attr_n(w, "viewBox", a->text.data, a->text.n);
    gp_svg_int(w, "width", width);
    gp_svg_int(w, "height", height);
    gp_svg_attr(w, "role", "img");
    if (label) gp_svg_attr(w, "aria-label", label);
    gp_svg_newline(w);
    draw_clusters(w, a, a->g, are_stacked(a));
    gp_page_open(w, "g", "frames");
    for (Agnode_t *v = agfstnode(a->g); v; v = agnxtnode(a->g, v)) draw_node(w, a, v, a->labels[i++]);
    gp_svg_close_line(w);
    for (Agnode_t *v = agfstnode(a->g); v; v = agnxtnode(a->g, v))
        for (Agedge_t *e = agfstout(a->g, v); e; e = agnxtout(a->g, e)) draw_edge(w, a, e, a->labels[i++]);
    gp_svg_close_line(w);
}

/* ---- reading ---- */

/* How cgraph gets its text and numbers its objects. By default it would number them by the addresses of their
 * names, and visit clusters in that order. */
struct source {
    Agdisc_t disc; /* first: cgraph passes it on */
    Agiddisc_t numbers;
    Agiodisc_t io;
    struct gp_strings names;
    uint64_t nameless;
    const char *text;
    size_t n;
};

static void *number_begin(Agraph_t *g, Agdisc_t *disc)
{
    (void)g;
    return disc;
}

static long number_of(void *state, int type, char *name, IDTYPE *id, int create)
{
    struct source *s = state;
    (void)type;
    if (!name) {
        if (create) *id = 2 * ++s->nameless + 1;
        return create != 0;
    }
    gp_sid sid = create ? gp_intern_cstr(&s->names, name) : gp_intern_find(&s->names, name, strlen(name));
    if (sid == UINT32_MAX) return 0;
    *id = 2 * ((IDTYPE)sid + 1);
    return 1;
}

static long number_alloc(void *state, int type, IDTYPE id)
{
    (void)state, (void)type, (void)id;
    return 0;
}

static void number_free(void *state, int type, IDTYPE id) { (void)state, (void)type, (void)id; }

static char *name_of(void *state, int type, IDTYPE id)
{
    struct source *s = state;
    (void)type;
    return id % 2 || !id ? NULL : (char *)gp_string(&s->names, (gp_sid)(id / 2 - 1));
}

static void number_end(void *state) { (void)state; }

static void number_note(void *state, int type, void *object) { (void)state, (void)type, (void)object; }

static int read_text(void *from, char *buf, int size)
{
    struct source *s = from;
    size_t n = s->n < (size_t)size ? s->n : (size_t)size;
    memcpy(buf, s->text, n);
    s->text += n;
    s->n -= n;
    return (int)n;
}

/* Is the text one block in braces with nothing after it, without comments or markup? Text that cgraph leaves
 * when it gives up would precede the next one. */
static bool is_whole(const char *s, size_t n)
{
    int depth = 0;
    bool quoted = false, ended = false;
    for (size_t i = 0; i < n; i++) {
        if (ended && !strchr(" \n", s[i])) return false;
        if (s[i] == '"') quoted = !quoted;
        else if (quoted && s[i] == '\\') i++;
        else if (quoted) continue;
        else if (strchr("</#\\", s[i])) return false;
        else if (s[i] == '{') depth++;
        else if (s[i] == '}') ended = !--depth;
    }
    return ended && !quoted;
}

static Agraph_t *read_graph(struct source *s)
{
    s->numbers = (Agiddisc_t){.open = number_begin,
                              .map = number_of,
                              .alloc = number_alloc,
                              .free = number_free,
                              .print = name_of,
                              .close = number_end,
                              .idregister = number_note};
    s->disc = AgDefaultDisc;
    s->io = *s->disc.io;
    s->io.afread = read_text;
    s->disc.id = &s->numbers;
    s->disc.io = &s->io;
    return agread(s, &s->disc);
}

/* ---- all of it ---- */

static int summarize_nothing(char *message)
{
    (void)message;
    return 0;
}

static bool lay_out(struct gp_svg *w, struct graph *a, const char *label)
{
    lt_symlist_t parts[] = {{"gvplugin_dot_layout_LTX_library", &gvplugin_dot_layout_LTX_library}, {0, 0}};
    GVC_t *context = gvContextPlugins(parts, 0);
    char engine[] = "dot";
    if (!context) return false;
    bool done = !gvLayout(context, a->g, engine);
    if (done) draw(w, a, label);
    gvFreeLayout(context, a->g);
    gvFreeContext(context);
    return done;
}

bool gp_graph_can(void) { return true; }

bool gp_graph_svg(struct gp_svg *w, const char *dot, size_t n, const struct gp_graph_opts *opts)
{
    struct graph a = {0};
    uint32_t most = opts && opts->max_nodes ? opts->max_nodes : GP_GRAPH_NODES;
    bool done = false;
    if (n > MAX_BYTES || memchr(dot, 0, n) || !is_whole(dot, n)) return false;
    struct source from = {.text = dot, .n = n};
    agusererrf before = agseterrf(summarize_nothing);
    a.g = read_graph(&from);
    if (a.g) {
        uint32_t nodes = (uint32_t)agnnodes(a.g), edges = (uint32_t)agnedges(a.g);
        if (agisdirected(a.g) && nodes && nodes <= most && edges / 2 <= most && is_quick(a.g)) {
            a.labels = gp_zalloc(((size_t)nodes + edges) * sizeof *a.labels);
            shape_all(&a);
            done = lay_out(w, &a, opts ? opts->label : NULL);
        }
        for (size_t i = 0; a.labels && i < (size_t)nodes + edges; i++) agstrfree(a.g, a.labels[i]);
        agclose(a.g);
    }
    agseterrf(before);
    gp_buf_release(&a.label.text);
    GP_VEC_FREE(&a.label.lines);
    gp_buf_release(&a.text);
    gp_strings_release(&from.names);
    free(a.labels);
    return done;
}

#endif
