#include "render/draw/palette.h"

#include <math.h>

struct ink {
    const char *css, *label;
    uint32_t light, dark; /* 0xRRGGBB */
    /* percent of white (of black when negative) that each further shade mixes in */
    int step_light, step_dark;
};

/* Shades move away from the colour of the text, so that contrast only grows; near greys have contrast to
 * spare and move towards it instead, to stay apart from the page. */
static const struct ink inks[GP_FRAME_KIND_COUNT] = {
    [GP_FRAME_UNKNOWN] = {"frame", "frames", 0xF0B35A, 0xE8A94F, 5, 5},
    [GP_FRAME_ROOT] = {"root", "rank, process, device", 0xCFD6E1, 0x3F4859, -2, 2},
    [GP_FRAME_RANGE] = {"range", "range, step", 0xDCE2EB, 0x353E4C, -2, 2},
    [GP_FRAME_MODULE] = {"module", "module", 0xE6DECB, 0x4B4433, -2, 2},
    [GP_FRAME_PYTHON] = {"python", "function", 0xEDEBE5, 0x33312C, -2, 2},
    [GP_FRAME_OP] = {"op", "operator", 0xC8D4E4, 0x37475F, -2, 2},
    [GP_FRAME_API] = {"api", "API call", 0xB7C2D0, 0x4A586B, -2, 2},
    [GP_FRAME_COMPUTE] = {"compute", "other compute", 0x4A3DB0, 0x5346BC, -5, -5},
    [GP_FRAME_GEMM] = {"gemm", "matrix multiply, convolution", 0x0072B2, 0x0072B2, -5, -5},
    [GP_FRAME_ATTENTION] = {"attention", "attention", 0x56B4E9, 0x56B4E9, 6, 6},
    [GP_FRAME_ELEMENTWISE] = {"elementwise", "elementwise", 0x009E73, 0x009E73, 5, 5},
    [GP_FRAME_REDUCTION] = {"reduction", "reduction, normalisation", 0xCC79A7, 0xCC79A7, 5, 5},
    [GP_FRAME_COMMUNICATION] = {"communication", "communication", 0xD55E00, 0xD55E00, 5, 5},
    [GP_FRAME_MEMCPY] = {"memcpy", "memory copy", 0xE69F00, 0xE69F00, 6, 6},
    [GP_FRAME_MEMSET] = {"memset", "memory set", 0xF0E442, 0xF0E442, 8, 8},
    [GP_FRAME_UNATTRIBUTED] = {"unattributed", "unattributed", 0xD9D5D5, 0x454040, -2, 2},
    [GP_FRAME_OTHER] = {"more", "grouped small frames", 0xEEF0F3, 0x2A2E35, 0, 0},
    [GP_FRAME_IDLE] = {"idle", "why the GPU was idle", 0xDDE1E6, 0x363D47, 0, 0},
};

static const uint8_t legend[GP_FRAME_KIND_COUNT] = {
    GP_FRAME_GEMM,          GP_FRAME_ATTENTION,    GP_FRAME_ELEMENTWISE, GP_FRAME_REDUCTION, GP_FRAME_COMPUTE,
    GP_FRAME_COMMUNICATION, GP_FRAME_MEMCPY,       GP_FRAME_MEMSET,      GP_FRAME_IDLE,      GP_FRAME_UNKNOWN,
    GP_FRAME_ROOT,          GP_FRAME_RANGE,        GP_FRAME_MODULE,      GP_FRAME_PYTHON,    GP_FRAME_OP,
    GP_FRAME_API,           GP_FRAME_UNATTRIBUTED, GP_FRAME_OTHER,
};

static const struct ink *ink_of(enum gp_frame_kind kind)
{
    return &inks[(unsigned)kind < GP_FRAME_KIND_COUNT ? kind : GP_FRAME_UNKNOWN];
}

const char *gp_palette_class(enum gp_frame_kind kind) { return ink_of(kind)->css; }

const char *gp_palette_label(enum gp_frame_kind kind) { return ink_of(kind)->label; }

enum gp_frame_kind gp_palette_legend(int position) { return legend[position]; }

int gp_palette_shade(const char *name, size_t n)
{
    uint32_t h = 2166136261u; /* FNV-1a */
    for (size_t i = 0; i < n; i++) h = (h ^ (unsigned char)name[i]) * 16777619u;
    return (int)((h ^ h >> 15) % GP_PALETTE_SHADES);
}

/* PCT percent of the way from V to white, or to black when PCT is negative. */
static uint8_t mix(uint32_t v, int pct)
{
    int to = pct < 0 ? 0 : 255;
    int part = pct < 0 ? -pct : pct;
    return (uint8_t)(((int)v * (100 - part) + to * part + 50) / 100);
}

struct gp_color gp_palette_fill(enum gp_frame_kind kind, int shade, enum gp_theme theme)
{
    const struct ink *ink = ink_of(kind);
    uint32_t rgb = theme == GP_THEME_DARK ? ink->dark : ink->light;
    int pct = shade * (theme == GP_THEME_DARK ? ink->step_dark : ink->step_light);
    return (struct gp_color){mix(rgb >> 16, pct), mix(rgb >> 8 & 0xFF, pct), mix(rgb & 0xFF, pct)};
}

struct gp_color gp_palette_change(int level, enum gp_theme theme)
{
    static const struct {
        uint32_t same, slower, faster; /* 0xRRGGBB */
    } scale[] = {
        [GP_THEME_LIGHT] = {0xE9ECF0, 0xD55E00, 0x0072B2}, [GP_THEME_DARK] = {0x343B46, 0xE8741A, 0x3B9BE0}};
    int part = level < 0 ? -level : level;
    uint32_t from = scale[theme].same, to = level < 0 ? scale[theme].faster : scale[theme].slower;
    uint8_t v[3];
    for (int i = 0; i < 3; i++) {
        int a = (int)(from >> (16 - 8 * i) & 0xFF), b = (int)(to >> (16 - 8 * i) & 0xFF);
        v[i] = (uint8_t)(a + (b - a) * part / GP_PALETTE_CHANGES);
    }
    return (struct gp_color){v[0], v[1], v[2]};
}

static double linear(uint8_t v)
{
    double c = v / 255.0;
    return c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4);
}

static double luminance(struct gp_color c)
{
    return 0.2126 * linear(c.r) + 0.7152 * linear(c.g) + 0.0722 * linear(c.b);
}

double gp_palette_contrast(struct gp_color a, struct gp_color b)
{
    double la = luminance(a), lb = luminance(b);
    return la > lb ? (la + 0.05) / (lb + 0.05) : (lb + 0.05) / (la + 0.05);
}

struct gp_color gp_palette_text(struct gp_color fill)
{
    static const struct gp_color black = {0, 0, 0}, white = {255, 255, 255};
    return gp_palette_contrast(fill, black) >= gp_palette_contrast(fill, white) ? black : white;
}
