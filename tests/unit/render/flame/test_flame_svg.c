// The picture as text: what a reader without a script gets, and that no name can break out of its place.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/buf.h"
#include "render/draw/canvas_svg.h"
#include "render/flame/flame_svg.h"
#include "tests/unit/unit.h"

static void add(struct gp_flame *f, const char *op, const char *kernel, enum gp_frame_kind kind,
                int64_t weight)
{
    uint32_t node =
        gp_calltree_child(&f->tree, GP_CALLTREE_ROOT, gp_intern_cstr(&f->strings, op), GP_FRAME_OP);
    node = gp_calltree_child(&f->tree, node, gp_intern_cstr(&f->strings, kernel), kind);
    gp_calltree_add(&f->tree, node, weight);
}

// The picture as a string, which the caller frees; F is released.
static char *picture(struct gp_flame *f, const struct gp_flame_svg_opts *opts)
{
    struct gp_buf out = {0};
    gp_calltree_finish(&f->tree, &f->strings);
    gp_flame_svg_write(&out, f, opts);
    gp_buf_str(&out);
    gp_calltree_release(&f->tree);
    gp_strings_release(&f->strings);
    return out.data;
}

// The part from the frames on, without the script.
static char *frames_of(char *svg)
{
    char *frames = strstr(svg, "class=\"frames\"");
    assert_non_null(frames);
    char *end = strstr(frames, "<script>");
    assert_non_null(end);
    *end = 0;
    return frames;
}

TEST(a_reader_without_a_script_gets_all_figures)
{
    struct gp_flame f = {0};
    add(&f, "aten::mm", "gemm_kernel", GP_FRAME_GEMM, 3000000);
    add(&f, "aten::copy_", "Memcpy HtoD", GP_FRAME_MEMCPY, 1000000);
    struct gp_flame_svg_opts opts = {.events = true, .input = "run.trace"};
    char *svg = picture(&f, &opts);
    assert_non_null(strstr(svg, ">GPU time by stack</text>"));
    assert_non_null(strstr(svg, ">GPU time 4.00 ms \xC2\xB7 2 events \xC2\xB7 run.trace</text>"));
    assert_non_null(strstr(svg, "matrix multiply, convolution<tspan dx=\"5\">75.0%</tspan>"));
    assert_non_null(strstr(svg, "memory copy<tspan dx=\"5\">25.0%</tspan>"));
    assert_non_null(strstr(svg, "<title>gemm_kernel\n3.00 ms \xC2\xB7 75.0% of all \xC2\xB7 100% of parent "
                                "\xC2\xB7 1 event</title>"));
    assert_non_null(strstr(svg, ">gemm_kernel</text>"));
    assert_non_null(strstr(svg, "role=\"img\" aria-label=\"GPU time by stack\""));
    assert_non_null(strstr(svg, "prefers-color-scheme:dark"));
    free(svg);
}

TEST(boxes_are_as_wide_as_their_weight)
{
    struct gp_flame f = {0};
    add(&f, "a", "k", GP_FRAME_GEMM, 3);
    add(&f, "b", "k", GP_FRAME_GEMM, 1);
    // 1032 pixels less 2 x 16 of margin: 750 and 250, each less a gap of 1; rows are 20 pixels
    char *svg = picture(&f, &(struct gp_flame_svg_opts){.width = 1032});
    assert_non_null(strstr(svg, "<rect x=\"0\" y=\"0\" width=\"999\" height=\"19\"/>"));
    assert_non_null(strstr(svg, "<rect x=\"0\" y=\"20\" width=\"749\" height=\"19\"/>"));
    assert_non_null(strstr(svg, "<rect x=\"750\" y=\"40\" width=\"249\" height=\"19\"/>"));
    free(svg);
}

TEST(names_cannot_break_out)
{
    static const char evil[] = "</title></script><script>alert(1)</script>]]>\"'&amp;\x01\xFF\xE2\x80\xAE";
    struct gp_flame f = {0};
    add(&f, "op", evil, GP_FRAME_COMPUTE, 5);
    char *svg = picture(&f, &(struct gp_flame_svg_opts){.title = evil, .input = evil, .note = evil});
    char *frames = frames_of(svg);
    assert_null(strstr(frames, "<script"));
    assert_null(strstr(frames, "]]>"));
    assert_null(strchr(frames, 1));
    assert_null(strchr(frames, '\xFF'));
    assert_null(strstr(frames, "\xE2\x80\xAE"));
    assert_non_null(
        strstr(frames, "&lt;/title&gt;&lt;/script&gt;&lt;script&gt;alert(1)&lt;/script&gt;]]&gt;&quot;&#39;"
                       "&amp;amp;\xE2\x90\x81\xEF\xBF\xBD\xEF\xBF\xBD"));
    frames[0] = 0; // and before the frames: title, description, subtitle
    assert_null(strstr(svg, "<script"));
    free(svg);
}

TEST(labels_are_short_and_tooltips_full)
{
    struct gp_flame f = {0};
    add(&f, "op", "reduce_kernel", GP_FRAME_REDUCTION, 5);
    gp_sid full = gp_intern_cstr(&f.strings, "void reduce_kernel<512, 1>(float*)");
    f.full_n = f.strings.n;
    f.full = calloc(f.full_n, sizeof *f.full);
    f.full_count = calloc(f.full_n, sizeof *f.full_count);
    gp_sid label = gp_intern_cstr(&f.strings, "reduce_kernel");
    f.full[label] = full;
    f.full_count[label] = 3;
    char *svg = picture(&f, &(struct gp_flame_svg_opts){0});
    assert_non_null(
        strstr(svg, "data-l=\"reduce_kernel\"><title>void reduce_kernel&lt;512, 1&gt;(float*)\n"));
    assert_non_null(strstr(svg, "\none of 3 full names with this label</title>"));
    assert_non_null(strstr(svg, ">reduce_kernel</text>"));
    free(svg);
    free(f.full);
    free(f.full_count);
}

/* A quarter of the time, seen by 49 samples: 25% * 1.96 / 7. */
TEST(what_only_samples_show_says_so)
{
    struct gp_flame f = {0};
    add(&f, "main", "load", GP_FRAME_PYTHON, 25);
    add(&f, "main", "step", GP_FRAME_PYTHON, 75);
    f.full_n = f.strings.n;
    f.full = calloc(f.full_n, sizeof *f.full);
    f.full_count = calloc(f.full_n, sizeof *f.full_count);
    f.samples = calloc(f.full_n, sizeof *f.samples);
    gp_sid load = gp_intern_cstr(&f.strings, "load");
    f.samples[load] = 49;
    char *svg = picture(&f, &(struct gp_flame_svg_opts){0});
    assert_non_null(strstr(svg, "\nsampled: 49 samples, share 25% \xC2\xB1 7%</title>"));
    assert_null(strstr(strstr(svg, "sampled: ") + 1, "sampled: "));
    free(svg);
    free(f.full);
    free(f.full_count);
    free(f.samples);
}

TEST(frames_that_do_not_fit_are_told)
{
    struct gp_flame f = {0};
    char name[16];
    for (int i = 0; i < 20; i++) {
        snprintf(name, sizeof name, "k%d", i);
        add(&f, "op", name, GP_FRAME_COMPUTE, 10);
    }
    // all, op, 7 kernels and the rest: 10
    char *svg = picture(&f, &(struct gp_flame_svg_opts){.max_frames = 10, .events = true});
    char *frames = frames_of(svg);
    assert_non_null(
        strstr(frames,
               "<title>13 more\n130 ns \xC2\xB7 65.0% of all \xC2\xB7 65.0% of parent \xC2\xB7 13 events\n"));
    assert_non_null(strstr(frames, "9 frames of 22"));
    free(svg);
}

TEST(nothing_to_draw_is_a_friendly_page)
{
    struct gp_flame f = {0};
    char *svg = picture(&f, &(struct gp_flame_svg_opts){.hint = "--weight cpu shows the host's time"});
    assert_non_null(strstr(svg, ">No GPU events in this trace</text>"));
    assert_non_null(strstr(svg, ">--weight cpu shows the host&#39;s time</text>"));
    assert_null(strstr(svg, "<script>"));
    free(svg);
}

TEST(equal_input_gives_equal_bytes)
{
    char *svg[2];
    for (int i = 0; i < 2; i++) {
        struct gp_flame f = {0};
        for (int k = 0; k < 9; k++) { // the same stacks, in two orders
            int n = i ? 8 - k : k;
            char name[8];
            snprintf(name, sizeof name, "k%d", n);
            add(&f, "op", name, GP_FRAME_COMPUTE, 1 + n % 3);
        }
        svg[i] = picture(&f, &(struct gp_flame_svg_opts){0});
    }
    assert_string_equal(svg[0], svg[1]);
    free(svg[0]);
    free(svg[1]);
}

TEST(coordinates_are_printed_exactly)
{
    struct gp_buf b = {0};
    struct gp_svg s = {.out = &b};
    gp_svg_open(&s, "rect");
    gp_svg_px(&s, "x", 1250);
    gp_svg_px(&s, "y", -5);
    gp_svg_px(&s, "z", 300);
    gp_svg_attr_i64(&s, "v", INT64_MAX);
    gp_svg_close(&s);
    assert_string_equal(gp_buf_str(&b), "<rect x=\"12.5\" y=\"-0.05\" z=\"3\" v=\"9223372036854775807\"/>");
    gp_buf_release(&b);
}
