// Colours are distinct and text on them is legible; the contrast is computed here a second time, from WCAG
// 2's table of steps.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "render/draw/palette.h"
#include "tests/unit/unit.h"

static double channel(int v) { return v <= 10 ? v / 255.0 / 12.92 : pow((v / 255.0 + 0.055) / 1.055, 2.4); }

static double contrast(struct gp_color a, struct gp_color b)
{
    double x = 0.2126 * channel(a.r) + 0.7152 * channel(a.g) + 0.0722 * channel(a.b) + 0.05;
    double y = 0.2126 * channel(b.r) + 0.7152 * channel(b.g) + 0.0722 * channel(b.b) + 0.05;
    return x > y ? x / y : y / x;
}

TEST(text_is_readable_on_every_shade_of_every_kind_in_both_themes)
{
    for (int kind = 0; kind < GP_FRAME_KIND_COUNT; kind++)
        for (int shade = 0; shade < GP_PALETTE_SHADES; shade++)
            for (int theme = GP_THEME_LIGHT; theme <= GP_THEME_DARK; theme++) {
                struct gp_color fill = gp_palette_fill((enum gp_frame_kind)kind, shade, (enum gp_theme)theme);
                // one colour of text for all shades of a kind: the one of the first
                struct gp_color first = gp_palette_fill((enum gp_frame_kind)kind, 0, (enum gp_theme)theme);
                assert_true(contrast(fill, gp_palette_text(first)) >= 4.5);
            }
}

TEST(the_library_computes_the_same_contrast)
{
    struct gp_color blue = {0x00, 0x72, 0xB2}, white = {255, 255, 255}, black = {0, 0, 0};
    assert_true(fabs(gp_palette_contrast(white, black) - 21) < 1e-9);
    assert_true(fabs(gp_palette_contrast(blue, white) - contrast(blue, white)) < 1e-9);
    assert_int_equal(gp_palette_text(blue).r, 255);                              // 5.2 against 4.0
    assert_int_equal(gp_palette_text((struct gp_color){0xD5, 0x5E, 0x00}).r, 0); // vermillion
}

TEST(classes_differ_and_all_kinds_have_names)
{
    for (int a = 0; a < GP_FRAME_KIND_COUNT; a++) {
        assert_true(strlen(gp_palette_class((enum gp_frame_kind)a)) > 0);
        assert_true(strlen(gp_palette_label((enum gp_frame_kind)a)) > 0);
        for (int b = 0; b < a; b++)
            assert_string_not_equal(gp_palette_class((enum gp_frame_kind)a),
                                    gp_palette_class((enum gp_frame_kind)b));
    }
}

TEST(the_legend_has_every_kind_once)
{
    int seen[GP_FRAME_KIND_COUNT] = {0};
    for (int i = 0; i < GP_FRAME_KIND_COUNT; i++) seen[gp_palette_legend(i)]++;
    for (int i = 0; i < GP_FRAME_KIND_COUNT; i++) assert_int_equal(seen[i], 1);
}

TEST(shades_depend_on_the_name_and_are_all_used)
{
    int used[GP_PALETTE_SHADES] = {0};
    char name[8];
    for (int i = 0; i < 100; i++) {
        int n = snprintf(name, sizeof name, "k%d", i);
        used[gp_palette_shade(name, (size_t)n)]++;
    }
    for (int i = 0; i < GP_PALETTE_SHADES; i++) assert_true(used[i] >= 5);
    assert_int_equal(gp_palette_shade("gemm", 4), gp_palette_shade("gemm!", 4));
}
