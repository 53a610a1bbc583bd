// Graphs as pictures: where boxes stand, what becomes of names and classes, and what is not drawn at all.
#include <string.h>

#include "formats/base/buf.h"
#include "render/draw/text.h"
#include "render/page/graph_svg.h"
#include "tests/unit/lacks.h"
#include "tests/unit/unit.h"

static bool draw(struct gp_buf *b, const char *dot, const struct gp_graph_opts *o)
{
    struct gp_svg w = {.out = b};
    b->n = 0;
    bool drawn = gp_graph_svg(&w, dot, strlen(dot), o);
    assert_int_equal(w.depth, 0);
    if (!drawn) assert_int_equal(b->n, 0);
    return drawn;
}

static int count(const char *text, const char *word)
{
    int n = 0;
    for (; (text = strstr(text, word)); text += strlen(word)) n++;
    return n;
}

TEST(a_box_has_the_least_size_of_graphviz)
{
    struct gp_buf b = {0};
    if (gp_lacks(!gp_graph_can(), "Graphviz")) return;
    assert_true(draw(&b, "digraph { a [label=\"ab\"] }", &(struct gp_graph_opts){.label = "one <box>"}));
    const char *svg = gp_buf_str(&b);
    // three quarters by half an inch, and 4 pixels around
    assert_non_null(strstr(svg, "viewBox=\"0 0 62 44\" width=\"62\" height=\"44\""));
    assert_non_null(strstr(svg, "<rect x=\"4\" y=\"4\" width=\"54\" height=\"36\""));
    assert_non_null(strstr(svg, "<tspan x=\"31\" y=\"26.32\">ab</tspan>")); // 22 and 0.36 of 12
    assert_non_null(strstr(svg, "aria-label=\"one &lt;box&gt;\""));
    gp_buf_release(&b);
}

TEST(boxes_are_as_wide_as_their_longest_line)
{
    struct gp_buf b = {0};
    if (gp_lacks(!gp_graph_can(), "Graphviz")) return;
    // 20 columns of 7.2, of which Graphviz says 7.1988, and 8 whole points for 0.11 inches at both ends
    assert_true(draw(&b, "digraph { a [label=\"12345678901234567890\\nab\\nc\"] }", NULL));
    assert_non_null(strstr(gp_buf_str(&b), " width=\"159.98\""));
    assert_int_equal(count(gp_buf_str(&b), "<tspan"), 3);
    gp_buf_release(&b);
}

TEST(lines_that_begin_at_the_left_do)
{
    struct gp_buf b = {0};
    if (gp_lacks(!gp_graph_can(), "Graphviz")) return;
    assert_true(draw(&b, "digraph { a [label=\"ab\\lcd\\l\"] }", NULL));
    // 9 pixels from the box, which begins at 4; 14 from line to line
    assert_non_null(strstr(gp_buf_str(&b), "<text class=\"left\"><tspan x=\"13\" y="));
    assert_non_null(strstr(gp_buf_str(&b), ">ab</tspan><tspan x=\"13\" y="));
    gp_buf_release(&b);
}

TEST(edges_clusters_tooltips_and_classes)
{
    struct gp_buf b = {0};
    if (gp_lacks(!gp_graph_can(), "Graphviz")) return;
    assert_true(draw(
        &b,
        "digraph { graph [rankdir=LR, label=\"not drawn\"];\n"
        "subgraph cluster_1 { label=\"first\\l\"; a [label=\"a\", class=\"k-gemm\", "
        "tooltip=\"all of a\"]; b [class=\"k-x\\\" onclick=\\\"\", label=\"b\", style=\"filled,dashed\"];\n"
        "a -> b [label=\"1 MB\"]; }\n"
        "subgraph cluster_2 { label=\"second\\l\"; c [label=\"c\"]; d [label=\"d\"]; c -> d [style=dashed]; "
        "} }",
        NULL));
    const char *svg = gp_buf_str(&b);
    assert_int_equal(count(svg, "<g class=\"cluster\">"), 2);
    // both are as wide as all of it, and their names begin 9 pixels in
    assert_int_equal(count(svg, "<g class=\"cluster\"><rect x=\"4\""), 2);
    assert_int_equal(count(svg, "rx=\"6\"/><text class=\"left\"><tspan x=\"13\""), 2);
    assert_int_equal(count(svg, "class=\"head\""), 2);
    assert_int_equal(count(svg, "<g class=\"edge dashed\">"), 1);
    assert_int_equal(count(svg, "<g class=\"node dashed\">"), 1);
    assert_non_null(strstr(svg, "<title>all of a</title><rect class=\"k-gemm\""));
    assert_non_null(strstr(svg, "style=\"fill:var(--k-gemm-ink)\""));
    assert_non_null(strstr(svg, ">1 MB</tspan>"));
    assert_null(strstr(svg, "onclick"));
    assert_null(strstr(svg, "not drawn"));
    gp_buf_release(&b);
}

TEST(names_are_text)
{
    static const char evil[] = "</svg><script>alert(1)</script>\"];evil->x[\\\\N\\n&lt;&#65;<B>\x01\xff%s";
    struct gp_buf b = {0}, dot = {0};
    if (gp_lacks(!gp_graph_can(), "Graphviz")) return;
    gp_buf_puts(&dot, "digraph { subgraph cluster_0 { label=\"");
    gp_dot_text(&dot, evil, sizeof evil - 1);
    gp_buf_puts(&dot, "\"; a [label=\"");
    gp_dot_text(&dot, evil, sizeof evil - 1);
    gp_buf_puts(&dot, "\", tooltip=\"");
    gp_dot_text(&dot, evil, sizeof evil - 1);
    gp_buf_puts(&dot, "\"]; b; a -> b [label=\"");
    gp_dot_text(&dot, evil, sizeof evil - 1);
    gp_buf_puts(&dot, "\"] } }");
    assert_true(draw(&b, gp_buf_str(&dot), NULL));
    const char *svg = gp_buf_str(&b);
    assert_null(strstr(svg, "<script"));
    assert_int_equal(count(svg, "&lt;/svg&gt;&lt;script&gt;alert(1)&lt;/script&gt;&quot;];evil-&gt;x[\\\\N\\n"
                                "&amp;lt;&amp;#65;&lt;B&gt;\xE2\x90\x81\xEF\xBF\xBD%s"),
                     4);
    gp_buf_release(&b);
    gp_buf_release(&dot);
}

TEST(the_same_graph_is_the_same_picture)
{
    static const char dot[] = "digraph { a -> b -> c; a -> c [label=\"x\"]; b -> d }";
    struct gp_buf one = {0}, two = {0};
    if (gp_lacks(!gp_graph_can(), "Graphviz")) return;
    assert_true(draw(&one, dot, NULL));
    assert_true(draw(&two, dot, NULL));
    assert_int_equal(one.n, two.n);
    assert_memory_equal(one.data, two.data, one.n);
    gp_buf_release(&one);
    gp_buf_release(&two);
}

static void chain(struct gp_buf *dot, int nodes, bool back)
{
    dot->n = 0;
    gp_buf_puts(dot, "digraph {");
    for (int i = 1; i < nodes; i++) gp_buf_printf(dot, " n%d -> n%d;", i - 1, i);
    if (back) gp_buf_printf(dot, " n%d -> n0;", nodes - 1);
    gp_buf_puts(dot, " }");
}

TEST(what_would_take_long_is_not_drawn)
{
    struct gp_buf b = {0}, dot = {0};
    if (gp_lacks(!gp_graph_can(), "Graphviz")) return;
    chain(&dot, GP_GRAPH_NODES, false);
    assert_true(draw(&b, gp_buf_str(&dot), NULL));
    chain(&dot, GP_GRAPH_NODES + 1, false);
    assert_false(draw(&b, gp_buf_str(&dot), NULL));
    assert_false(draw(&b, "digraph { a -> b -> c }", &(struct gp_graph_opts){.max_nodes = 2}));
    chain(&dot, 3, true); // a ring
    assert_false(draw(&b, gp_buf_str(&dot), NULL));
    chain(&dot, GP_GRAPH_NODES, false); // and edges from one end to the other: 399 ranks each
    dot.n--;
    for (int i = 0; i < 10; i++) gp_buf_printf(&dot, "n0 -> n%d [label=%d];", GP_GRAPH_NODES - 1, i);
    gp_buf_putc(&dot, '}');
    assert_false(draw(&b, gp_buf_str(&dot), NULL));
    dot.n = 0;
    gp_buf_puts(&dot, "digraph {"); // too many edges
    for (int i = 0; i < 2 * GP_GRAPH_NODES + 2; i++) gp_buf_puts(&dot, " a -> b;");
    gp_buf_putc(&dot, '}');
    assert_false(draw(&b, gp_buf_str(&dot), NULL));
    gp_buf_release(&b);
    gp_buf_release(&dot);
}

TEST(what_is_no_graph_is_not_drawn)
{
    struct gp_buf b = {0};
    assert_false(draw(&b, "", NULL));
    assert_false(draw(&b, "digraph {", NULL));
    assert_false(draw(&b, "no graph", NULL));
    assert_false(draw(&b, "digraph { }", NULL));
    assert_false(draw(&b, "graph { a -- b }", NULL));
    assert_false(draw(&b, "digraph { a } digraph { b }", NULL));
    assert_false(draw(&b, "digraph { a } }}} \"", NULL));
    assert_false(draw(&b, "digraph { a -> \"} }", NULL));
    assert_false(draw(&b, "digraph { a /* } }", NULL));
    assert_false(draw(&b, "digraph { a [[ } }", NULL));
    assert_false(draw(&b, "digraph { a [label=<<B>b</B>>] }", NULL));
    assert_false(draw(&b, "digraph { a [label=] }", NULL)); // nothing of them is left for the next one
    assert_int_equal(draw(&b, "digraph { a }", NULL), gp_graph_can());
    struct gp_svg w = {.out = &b};
    assert_false(gp_graph_svg(&w, "digraph { a \0 }", 15, NULL));
    gp_buf_release(&b);
}
