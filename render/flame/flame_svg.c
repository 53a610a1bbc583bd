#include "render/flame/flame_svg.h"

#include <math.h>
#include <string.h>
#include "formats/base/buf.h"
#include "formats/base/str.h"
#include "render/draw/canvas_svg.h"
#include "render/draw/palette.h"
#include "render/draw/plot.h"
#include "render/draw/text.h"
#include "render/flame/flame_layout.h"
#include "render/page/assets.h"
#include "render/page/page_html.h"

/* The grid, in pixels. */
enum {
    DEFAULT_WIDTH = 1200,
    MIN_WIDTH = 320,
    MARGIN = 16,
    TITLE_Y = 34,
    SUBTITLE_Y = 56,
    LEGEND_Y = 70,
    LEGEND_ROW = 22,
    LEGEND_TEXT_X = 18,
    LEGEND_SHARE = 50,
    LEGEND_GAP = 18,
    ROW = 20,
    RECT = 19,
    TEXT_Y = 14,
    FOOT = 44,
    EMPTY_HEIGHT = 150,
};

/* Advance widths in hundredths of a pixel: of the 12 px fixed-width font in frames (0.602 em in the widest of
 * the usual ones), and a mean for the proportional font of the legend. */
enum { MONO = 725, PROPORTIONAL = 620, TITLE_ADVANCE = 1050, SUBTITLE_ADVANCE = 720 };

enum { MAX_TOOLTIP_NAME = 4000 };

/* The scale of a comparison. */
enum {
    SCALE_STEP = 26,
    SCALE_WIDTH = SCALE_STEP * (2 * GP_PALETTE_CHANGES + 1),
    SCALE_ROW = 30,
    MEANING_WIDTH = 190 /* of the words beside the scale of a comparison */
};

/* One entry of the legend, in pixels. */
struct entry {
    enum gp_frame_kind kind;
    int x, y;
};

struct picture {
    struct gp_svg svg;
    const struct gp_flame *flame;
    const struct gp_flame_svg_opts *opts;
    struct gp_flame_layout layout;
    struct gp_buf text; /* scratch */
    int width, height, chart_y;
    struct entry entries[GP_FRAME_KIND_COUNT];
    int entry_count;
    int64_t clamp; /* comparisons: a change like this has the strongest colour */
};

/* An attribute with the scratch text, which is empty after. */
static void attr_scratch(struct picture *p, const char *name)
{
    gp_svg_attr_n(&p->svg, name, p->text.data, p->text.n);
    p->text.n = 0;
}

static const char *measure_of(const struct gp_flame_svg_opts *o)
{
    return o->measure ? o->measure : "GPU time";
}

static void put_weight(struct picture *p, int64_t weight)
{
    gp_scale_put(&p->text, p->opts->unit, weight);
    if (p->opts->unit == GP_UNIT_COUNT) {
        gp_buf_putc(&p->text, ' ');
        gp_buf_puts(&p->text, measure_of(p->opts));
    }
}

static void put_events(struct gp_buf *b, uint64_t count)
{
    gp_buf_printf(b, "%s event%s", GP_COUNTED(count), count == 1 ? "" : "s");
}

#define DOT " \xC2\xB7 " /* middle dot */

/* Is the number of events shown beside the weight? Not if it is the weight, or unknown. */
static bool counts_events(const struct picture *p)
{
    return p->opts->events && p->opts->unit != GP_UNIT_COUNT && !p->layout.grouped;
}

static void put_subtitle(struct picture *p)
{
    if (p->opts->unit != GP_UNIT_COUNT) {
        gp_buf_puts(&p->text, measure_of(p->opts));
        gp_buf_putc(&p->text, ' ');
    }
    put_weight(p, p->layout.total);
    if (counts_events(p)) {
        gp_buf_puts(&p->text, DOT);
        put_events(&p->text, p->layout.events);
    }
    if (p->opts->note) {
        gp_buf_puts(&p->text, DOT);
        gp_buf_puts(&p->text, p->opts->note);
    }
    if (p->opts->input) {
        gp_buf_puts(&p->text, DOT);
        gp_buf_puts(&p->text, p->opts->input);
    }
}

static void put_title(struct picture *p)
{
    if (p->opts->title) {
        gp_buf_puts(&p->text, p->opts->title);
    } else {
        const char *measure = measure_of(p->opts);
        bool lower = measure[0] >= 'a' && measure[0] <= 'z';
        gp_buf_putc(&p->text, (char)(lower ? measure[0] - 'a' + 'A' : measure[0]));
        gp_buf_puts(&p->text, measure + 1);
        gp_buf_puts(&p->text, " by stack");
    }
}

/* A text element with the scratch text, cut to the page. */
static void draw_line(struct picture *p, const char *class, int64_t x, int64_t y, int advance)
{
    struct gp_buf cut = {0};
    int64_t room = (int64_t)(p->width - 2 * MARGIN) * 100 / advance;
    gp_text_fit(&cut, p->text.data, p->text.n, room > 0 ? (size_t)room : 0);
    gp_plot_text(&p->svg, class, (double)x, (double)y, &cut);
    gp_svg_newline(&p->svg);
    gp_buf_release(&cut);
    p->text.n = 0;
}

/* Frames that are not work have no colour: see draw_defs. */
static bool is_hatched(enum gp_frame_kind k) { return k == GP_FRAME_OTHER || k == GP_FRAME_IDLE; }

/* The rules for the kinds that are in the picture, for one theme. */
static void put_kind_rules(struct gp_buf *css, const bool *seen, enum gp_theme theme)
{
    for (int k = 0; k < GP_FRAME_KIND_COUNT; k++) {
        if ((!seen[k] && k != GP_FRAME_ROOT) || is_hatched((enum gp_frame_kind)k)) continue;
        const char *class = gp_palette_class((enum gp_frame_kind)k);
        for (int shade = 0; shade < GP_PALETTE_SHADES; shade++) {
            struct gp_color fill = gp_palette_fill((enum gp_frame_kind)k, shade, theme);
            gp_buf_printf(css, ".gpf .%s.s%d rect{fill:", class, shade);
            gp_color_put(css, fill);
            gp_buf_puts(css, "}\n");
            if (shade) continue;
            gp_buf_printf(css, ".gpf .%s text{fill:", class);
            gp_color_put(css, gp_palette_text(fill));
            gp_buf_puts(css, "}\n");
        }
    }
}

/* The change of a frame: a level of the scale, or a pattern. */
struct change_class {
    char name[8];
};
static struct change_class class_of_level(int level)
{
    return (struct change_class){{'d', level < 0 ? 'm' : 'p', (char)('0' + (level < 0 ? -level : level))}};
}

/* Pages choose their theme, so both colours stand in one rule; the first is for programs that know no such
 * rule. */
static void put_change_rules(struct gp_buf *css)
{
    for (int level = -GP_PALETTE_CHANGES; level <= GP_PALETTE_CHANGES; level++) {
        struct gp_color light = gp_palette_change(level, GP_THEME_LIGHT);
        struct gp_color dark = gp_palette_change(level, GP_THEME_DARK);
        const struct {
            const char *what;
            struct gp_color light, dark;
        } rules[] = {{"rect", light, dark}, {"text", gp_palette_text(light), gp_palette_text(dark)}};
        for (int i = 0; i < 2; i++) {
            gp_buf_printf(css, ".gpf .%s %s{fill:", class_of_level(level).name, rules[i].what);
            gp_color_put(css, rules[i].light);
            gp_buf_puts(css, ";fill:light-dark(");
            gp_color_put(css, rules[i].light);
            gp_buf_putc(css, ',');
            gp_color_put(css, rules[i].dark);
            gp_buf_puts(css, ")}\n");
        }
    }
}

/* A pattern with its ground, of class PAGE; TURN may be NULL. */
static void open_pattern(struct gp_svg *s, const char *id, const char *turn, const char *page)
{
    gp_svg_open(s, "pattern");
    gp_svg_attr(s, "id", id);
    gp_svg_attr(s, "patternUnits", "userSpaceOnUse");
    if (turn) gp_svg_attr(s, "patternTransform", turn);
    gp_svg_int(s, "width", 6);
    gp_svg_int(s, "height", 6);
    gp_page_open(s, "rect", page);
    gp_svg_int(s, "width", 6);
    gp_svg_int(s, "height", 6);
    gp_svg_close(s);
}

/* Stripes: PAGE and LINE are the classes of their two colours. */
static void draw_hatch(struct gp_svg *s, const char *id, const char *turn, const char *page, const char *line)
{
    open_pattern(s, id, turn, page);
    gp_page_open(s, "rect", line);
    gp_svg_int(s, "width", 2);
    gp_svg_int(s, "height", 6);
    gp_svg_close(s);
    gp_svg_close(s);
}

/* Dots, for frames that the baseline does not have. */
static void draw_dots(struct gp_svg *s)
{
    open_pattern(s, "gpf-new", NULL, "new-page");
    gp_plot_circle(s, "new-dot", 3, 3, 1.3, NULL);
    gp_svg_close(s);
}

/* The hatching of grouped frames, and that of idle time, which leans to the other side. */
static void draw_defs(struct picture *p)
{
    struct gp_svg *s = &p->svg;
    gp_svg_open(s, "defs");
    draw_hatch(s, "gpf-more", "rotate(45)", "hatch-page", "hatch-line");
    if (p->layout.kind_seen[GP_FRAME_IDLE])
        draw_hatch(s, "gpf-idle", "rotate(-45)", "idle-page", "idle-line");
    if (p->opts->diff && p->opts->diff->tree_is_base)
        draw_hatch(s, "gpf-gone", "rotate(-45)", "gone-page", "gone-line");
    else if (p->opts->diff) draw_dots(s);
    gp_svg_close_line(s);
}

/* ---- legend ---- */

static bool in_legend(const struct picture *p, enum gp_frame_kind k)
{
    if (k == GP_FRAME_OTHER) return p->entry_count && p->layout.kind_weight[k] > 0;
    return k != GP_FRAME_UNKNOWN && p->layout.kind_seen[k];
}

/* Does a class have its own share in the legend? Idle time does not belong to the frame in which it ends. */
static bool has_share(const struct picture *p, enum gp_frame_kind k)
{
    return p->layout.kind_weight[k] > 0 && !p->layout.kind_seen[GP_FRAME_IDLE];
}

/* Place the entries: work on the GPU first, with its shares; then the frames that lead to it. */
static void place_legend(struct picture *p)
{
    if (p->opts->diff) {
        p->chart_y = (p->opts->still ? 4 : LEGEND_Y) + SCALE_ROW + 8;
        return;
    }
    int x = MARGIN, top = p->opts->still ? 4 : LEGEND_Y, y = top;
    for (int i = 0; i < GP_FRAME_KIND_COUNT; i++) {
        enum gp_frame_kind k = gp_palette_legend(i);
        if (!in_legend(p, k)) continue;
        int chars = (int)strlen(gp_palette_label(k));
        int width = LEGEND_TEXT_X + chars * PROPORTIONAL / 100 + (has_share(p, k) ? LEGEND_SHARE : 0);
        if (x > MARGIN && x + width > p->width - MARGIN) {
            x = MARGIN;
            y += LEGEND_ROW;
        }
        p->entries[p->entry_count++] = (struct entry){k, x, y};
        x += width + LEGEND_GAP;
    }
    p->chart_y = p->entry_count ? y + LEGEND_ROW + 8 : top + 4;
}

static void draw_entry(struct picture *p, const struct entry *e)
{
    struct gp_svg *s = &p->svg;
    const char *label = gp_palette_label(e->kind);
    bool weighs = has_share(p, e->kind);
    gp_buf_printf(&p->text, "translate(%d %d)", e->x, e->y);
    gp_page_open(s, "g", weighs || e->kind == GP_FRAME_IDLE ? "entry" : "entry way");
    gp_svg_attr(s, "data-k", gp_palette_class(e->kind));
    attr_scratch(p, "transform");
    gp_buf_printf(&p->text, "%s s0", gp_palette_class(e->kind));
    gp_svg_open(s, "g");
    attr_scratch(p, "class");
    gp_svg_open(s, "rect");
    gp_svg_box(s, 0, 300, 1200, 1200);
    gp_svg_attr(s, "rx", "2");
    gp_svg_close(s);
    gp_svg_close(s);
    gp_svg_open(s, "text");
    gp_svg_int(s, "x", LEGEND_TEXT_X);
    gp_svg_int(s, "y", 13);
    gp_svg_text(s, label, strlen(label));
    if (weighs) {
        gp_scale_put_share(&p->text, p->layout.kind_weight[e->kind], p->layout.total);
        gp_svg_open(s, "tspan");
        gp_svg_attr(s, "dx", "5");
        gp_svg_text(s, p->text.data, p->text.n);
        gp_svg_close(s);
        p->text.n = 0;
    }
    gp_svg_close(s);
    gp_svg_close(s);
}

static void draw_legend(struct picture *p)
{
    gp_page_open(&p->svg, "g", "legend");
    for (int i = 0; i < p->entry_count; i++) draw_entry(p, &p->entries[i]);
    gp_svg_close_line(&p->svg);
}

/* ---- comparisons: how much a frame changed, and the scale of it ---- */

static int64_t magnitude(int64_t v) { return v < 0 ? -v : v; }

/* Current minus baseline; sums of weights stay below half of INT64_MAX. */
static int64_t change_of(const struct picture *p, const struct gp_flame_frame *f)
{
    const struct gp_flame_svg_diff *diff = p->opts->diff;
    int64_t more = f->weight - diff->other[f->node];
    return diff->tree_is_base ? -more : more;
}

/* The scale ends at the largest change. */
static void find_clamp(struct picture *p)
{
    p->clamp = 0;
    GP_EACH(const struct gp_flame_frame, f, p->layout.frames) {
        if (f->more || !p->opts->diff->other[f->node]) continue;
        int64_t change = magnitude(p->opts->diff->counts[f->node]);
        if (change > p->clamp) p->clamp = change;
    }
}

static struct change_class change_class_of(const struct picture *p, const struct gp_flame_frame *f)
{
    if (!p->opts->diff->other[f->node])
        return p->opts->diff->tree_is_base ? (struct change_class){"gone"} : (struct change_class){"new"};
    int64_t change = p->opts->diff->counts[f->node];
    if (!change) return class_of_level(0);
    int level = (int)((double)magnitude(change) / (double)p->clamp * GP_PALETTE_CHANGES + 0.5);
    if (!level) level = 1; /* grey: unchanged */
    return class_of_level(change < 0 ? -level : level);
}

static int64_t base_total(const struct picture *p)
{
    return p->opts->diff->tree_is_base ? p->layout.total : p->opts->diff->other[GP_CALLTREE_ROOT];
}

static void draw_tick(struct picture *p, const char *class, int x, int64_t v)
{
    gp_plot_put_signed(&p->text, p->opts->unit, v);
    if (v && base_total(p) > 0)
        gp_buf_printf(&p->text, " (%s%s)", v < 0 ? "\xE2\x88\x92" : "+",
                      GP_SHARE(magnitude(v), base_total(p)));
    gp_plot_text(&p->svg, class, x, 24, &p->text);
}

static void draw_swatch(struct picture *p, const char *class, int x, int width)
{
    gp_page_open(&p->svg, "g", class);
    gp_plot_rect(&p->svg, NULL, x, 0, width, 11, NULL);
    gp_svg_close(&p->svg);
}

/* A pattern or a plain colour with its words, X pixels from the left edge of the legend. */
static void draw_meaning(struct picture *p, const char *class, const char *words, int x)
{
    gp_page_open(&p->svg, "g", "entry");
    gp_svg_attr(&p->svg, "data-k", class);
    gp_buf_printf(&p->text, "translate(%d %d)", x, p->chart_y - SCALE_ROW - 8);
    attr_scratch(p, "transform");
    draw_swatch(p, class, 0, 22);
    gp_buf_puts(&p->text, words);
    gp_plot_text(&p->svg, NULL, 28, 10, &p->text);
    gp_svg_close(&p->svg);
}

static void draw_scale(struct picture *p)
{
    gp_page_open(&p->svg, "g", "legend");
    gp_page_open(&p->svg, "g", "scale");
    gp_buf_printf(&p->text, "translate(%d %d)", MARGIN, p->chart_y - SCALE_ROW - 8);
    attr_scratch(p, "transform");
    for (int level = -GP_PALETTE_CHANGES; level <= GP_PALETTE_CHANGES && p->clamp; level++)
        draw_swatch(p, class_of_level(level).name, (level + GP_PALETTE_CHANGES) * SCALE_STEP, SCALE_STEP);
    if (p->clamp) {
        draw_tick(p, "low", 0, -p->clamp);
        draw_tick(p, "mid", SCALE_WIDTH / 2, 0);
        draw_tick(p, "high", SCALE_WIDTH, p->clamp);
    }
    gp_svg_close(&p->svg);
    int x = p->clamp ? MARGIN + SCALE_WIDTH + 24 : MARGIN;
    draw_meaning(p, "dp0", "no change, or undecided", x);
    x += MEANING_WIDTH;
    if (p->opts->diff->tree_is_base) draw_meaning(p, "gone", "gone: only in the baseline", x);
    else draw_meaning(p, "new", "new: only in the current trace", x);
    gp_svg_close_line(&p->svg);
}

/* ---- frames ---- */

struct name {
    const char *at;
    size_t n;
};

static struct name label_of(const struct picture *p, uint32_t node)
{
    gp_sid sid = p->flame->tree.nodes.at[node].name;
    struct name label = {gp_string(&p->flame->strings, sid), gp_string_len(&p->flame->strings, sid)};
    if (!label.n)
        label =
            node == GP_CALLTREE_ROOT ? (struct name){GP_TEXT("all")} : (struct name){GP_TEXT("(no name)")};
    return label;
}

/* The name in the tooltip: as recorded, if the label is shorter. */
static struct name full_name_of(const struct picture *p, uint32_t node, uint32_t *variants)
{
    gp_sid sid = p->flame->tree.nodes.at[node].name;
    *variants = 1;
    if (sid >= p->flame->full_n || !p->flame->full[sid]) return label_of(p, node);
    *variants = p->flame->full_count[sid];
    gp_sid full = p->flame->full[sid];
    return (struct name){gp_string(&p->flame->strings, full), gp_string_len(&p->flame->strings, full)};
}

/* " . was 1.2 ms . +0.3 ms (25%)", after the weight. */
static void put_comparison(struct picture *p, const struct gp_flame_frame *f)
{
    int64_t other = p->opts->diff->other[f->node], change = change_of(p, f);
    bool is_base = p->opts->diff->tree_is_base;
    gp_buf_puts(&p->text, is_base ? DOT "now " : DOT "was ");
    put_weight(p, other);
    if (!other) {
        gp_buf_puts(&p->text, is_base ? DOT "gone" : DOT "new");
        return;
    }
    gp_buf_puts(&p->text, DOT);
    gp_plot_put_signed(&p->text, p->opts->unit, change);
    if (!change) return;
    gp_buf_printf(&p->text, " (%+.1f%%)", 100 * (double)change / (double)(is_base ? f->weight : other));
    if (!p->opts->diff->counts[f->node]) gp_buf_puts(&p->text, ", no change that is decided");
}

/* "sampled: 36 samples, share 12.3% +- 4.0%": the count of samples is as uncertain as its square root. */
static void put_samples(struct picture *p, const struct gp_flame_frame *f)
{
    gp_sid sid = p->flame->tree.nodes.at[f->node].name;
    uint64_t n = p->flame->samples && sid < p->flame->full_n ? p->flame->samples[sid] : 0;
    if (!n || f->more || p->layout.total <= 0) return;
    double share = 100 * (double)f->weight / (double)p->layout.total;
    gp_svg_newline(&p->svg);
    gp_buf_printf(&p->text, "sampled: %s sample%s, share %.3g%% \xC2\xB1 %.2g%%", GP_COUNTED(n),
                  n > 1 ? "s" : "", share, share * 1.96 / sqrt((double)n));
    gp_svg_text(&p->svg, p->text.data, p->text.n);
    p->text.n = 0;
}

/* First line: the full name; then the figures, then any notes. */
static void draw_tooltip(struct picture *p, const struct gp_flame_frame *f, struct name name,
                         uint32_t variants)
{
    const struct gp_flame_frame *parent = &p->layout.frames.at[f->parent];
    gp_svg_open(&p->svg, "title");
    gp_text_fit(&p->text, name.at, name.n, MAX_TOOLTIP_NAME);
    gp_svg_text(&p->svg, p->text.data, p->text.n);
    p->text.n = 0;
    gp_svg_newline(&p->svg);
    put_weight(p, f->weight);
    gp_buf_printf(&p->text, DOT "%s of all", GP_SHARE(f->weight, p->layout.total));
    if (p->opts->diff && !f->more) put_comparison(p, f);
    if (f != parent) gp_buf_printf(&p->text, DOT "%s of parent", GP_SHARE(f->weight, parent->weight));
    if (counts_events(p)) {
        gp_buf_puts(&p->text, DOT);
        put_events(&p->text, f->count);
    }
    gp_svg_text(&p->svg, p->text.data, p->text.n);
    p->text.n = 0;
    put_samples(p, f);
    if (f->more) {
        gp_svg_newline(&p->svg);
        gp_buf_puts(&p->text, "too narrow to draw individually");
    } else if (variants > 1) {
        gp_svg_newline(&p->svg);
        gp_buf_printf(&p->text, "one of %s full names with this label", GP_COUNTED(variants));
    }
    gp_svg_text(&p->svg, p->text.data, p->text.n);
    p->text.n = 0;
    gp_svg_close(&p->svg);
}

/* Left edge of WEIGHT in hundredths of a pixel of the chart. */
static int64_t position(const struct picture *p, int64_t weight)
{
    int64_t width = (int64_t)(p->width - 2 * MARGIN) * 100, total = p->layout.total;
    while (total > INT64_MAX / width) { /* bits that no pixel can show */
        total /= 2;
        weight /= 2;
    }
    return weight * width / total;
}

static void draw_box(struct picture *p, const struct gp_flame_frame *f, struct name label)
{
    int64_t x = position(p, f->start), w = position(p, f->start + f->weight) - x;
    int64_t gap = w > 300 ? 100 : w / 3; /* a hairline between neighbours, narrower between slivers */
    gp_svg_open(&p->svg, "rect");
    gp_svg_box(&p->svg, x, (int64_t)f->depth * ROW * 100, w - gap, RECT * 100);
    gp_svg_close(&p->svg);
    int64_t columns = (w - 900) / MONO;
    if (columns < 3) return;
    gp_text_fit_name(&p->text, label.at, label.n, (size_t)columns);
    if (p->text.n) gp_plot_text(&p->svg, NULL, (double)(x + 400) / 100, f->depth * ROW + TEXT_Y, &p->text);
}

static enum gp_frame_kind kind_of(const struct picture *p, const struct gp_flame_frame *f)
{
    if (f->more) return GP_FRAME_OTHER;
    return f->node == GP_CALLTREE_ROOT ? GP_FRAME_ROOT : p->flame->tree.nodes.at[f->node].kind;
}

static void draw_frame(struct picture *p, const struct gp_flame_frame *f)
{
    enum gp_frame_kind kind = kind_of(p, f);
    uint32_t variants = 1;
    struct name label, full;
    struct gp_buf more = {0};
    if (f->more) {
        gp_buf_printf(&more, "%s more", GP_COUNTED(f->more));
        label = full = (struct name){more.data, more.n};
    } else {
        label = label_of(p, f->node);
        full = full_name_of(p, f->node, &variants);
    }
    gp_svg_open(&p->svg, "g");
    if (p->opts->diff && !f->more) gp_buf_puts(&p->text, change_class_of(p, f).name);
    else gp_buf_printf(&p->text, "%s s%d", gp_palette_class(kind), gp_palette_shade(label.at, label.n));
    attr_scratch(p, "class");
    gp_svg_int(&p->svg, "data-d", f->depth);
    gp_svg_attr_i64(&p->svg, "data-v", f->weight);
    if (label.at != full.at) gp_svg_attr_n(&p->svg, "data-l", label.at, label.n);
    draw_tooltip(p, f, full, variants);
    draw_box(p, f, label);
    gp_svg_close_line(&p->svg);
    gp_buf_release(&more);
}

static void draw_frames(struct picture *p)
{
    gp_page_open(&p->svg, "svg", "view");
    gp_svg_int(&p->svg, "x", MARGIN);
    gp_svg_int(&p->svg, "y", p->chart_y);
    gp_svg_int(&p->svg, "width", p->width - 2 * MARGIN);
    gp_svg_int(&p->svg, "height", (int64_t)p->layout.depth * ROW);
    gp_page_open(&p->svg, "g", "frames");
    gp_svg_newline(&p->svg);
    for (size_t i = 0; i < p->layout.frames.n; i++) draw_frame(p, &p->layout.frames.at[i]);
    gp_svg_close(&p->svg);
    gp_svg_close_line(&p->svg);
}

static void draw_foot(struct picture *p)
{
    gp_scale_put_count(&p->text, p->layout.shown);
    gp_buf_puts(&p->text, p->layout.shown == 1 ? " frame" : " frames");
    if (p->layout.hidden && !p->layout.grouped)
        gp_buf_printf(&p->text, " of %s", GP_COUNTED(p->layout.shown + p->layout.hidden));
    if (p->layout.kind_seen[GP_FRAME_OTHER])
        gp_buf_puts(&p->text, "; frames too narrow to draw are grouped as \xE2\x80\x9CN more\xE2\x80\x9D");
    gp_buf_puts(&p->text, DOT "root on top, widest first" DOT "gpuprof " GP_VERSION);
    draw_line(p, "foot", MARGIN, p->height - 18, SUBTITLE_ADVANCE);
}

static void draw_empty(struct picture *p)
{
    gp_buf_puts(&p->text, p->opts->empty ? p->opts->empty : "No GPU events in this trace");
    draw_line(p, "empty", p->width / 2, p->chart_y + 44, TITLE_ADVANCE);
    if (!p->opts->hint) return;
    gp_buf_puts(&p->text, p->opts->hint);
    draw_line(p, "empty hint", p->width / 2, p->chart_y + 70, SUBTITLE_ADVANCE);
}

/* ---- page ---- */

static void draw_head(struct picture *p)
{
    struct gp_svg *s = &p->svg;
    put_title(p);
    gp_svg_begin(s, p->width, p->height, gp_buf_str(&p->text));
    gp_svg_attr(s, "class", "gpf");
    gp_svg_attr(s, "data-measure", p->opts->unit == GP_UNIT_COUNT ? measure_of(p->opts) : "");
    if (!p->opts->width) gp_svg_attr(s, "data-fluid", "1");
    gp_svg_newline(s);
    gp_svg_open(s, "title");
    gp_svg_text(s, p->text.data, p->text.n);
    p->text.n = 0;
    gp_svg_close(s);
    gp_svg_open(s, "desc");
    gp_buf_puts(&p->text, "Flame graph. ");
    put_subtitle(p);
    gp_buf_puts(&p->text,
                ". Each box is a frame: its width is its share, and the boxes below it are its children.");
    gp_svg_text(s, p->text.data, p->text.n);
    p->text.n = 0;
    gp_svg_close_line(s);
    struct gp_buf css = {0};
    gp_buf_put(&css, gp_asset_flame_css.data, gp_asset_flame_css.n);
    if (p->opts->diff) {
        gp_buf_put(&css, gp_asset_flame_diff_css.data, gp_asset_flame_diff_css.n);
        put_change_rules(&css);
    } else {
        put_kind_rules(&css, p->layout.kind_seen, GP_THEME_LIGHT);
        gp_buf_puts(&css, "@media screen and (prefers-color-scheme:dark){\n");
        put_kind_rules(&css, p->layout.kind_seen, GP_THEME_DARK);
        gp_buf_puts(&css, "}\n");
    }
    gp_svg_style(&p->svg, css.data, css.n);
    gp_buf_release(&css);
    draw_defs(p);
    gp_page_open(s, "rect", "page");
    gp_svg_attr(s, "width", "100%");
    gp_svg_attr(s, "height", "100%");
    gp_svg_close_line(s);
    if (p->opts->still) return; /* the page has a heading */
    put_title(p);
    draw_line(p, "h1", MARGIN, TITLE_Y, TITLE_ADVANCE);
    put_subtitle(p);
    draw_line(p, "h2", MARGIN, SUBTITLE_Y, SUBTITLE_ADVANCE);
}

void gp_flame_svg_write(struct gp_buf *out, const struct gp_flame *flame,
                        const struct gp_flame_svg_opts *opts)
{
    struct picture p = {.svg = {.out = out, .html = opts->still}, .flame = flame, .opts = opts};
    p.width = !opts->width ? DEFAULT_WIDTH : opts->width < MIN_WIDTH ? MIN_WIDTH : opts->width;
    gp_flame_layout_init(&p.layout, &flame->tree, &flame->strings,
                         &(struct gp_flame_layout_opts){.max_frames = opts->max_frames});
    place_legend(&p);
    bool empty = p.layout.frames.n == 0;
    if (opts->diff) find_clamp(&p);
    p.height = p.chart_y + (empty ? EMPTY_HEIGHT : (int)p.layout.depth * ROW + FOOT);
    draw_head(&p);
    if (empty) {
        draw_empty(&p);
    } else {
        if (opts->diff) draw_scale(&p);
        else draw_legend(&p);
        draw_frames(&p);
        draw_foot(&p);
        if (!opts->still) gp_svg_script(&p.svg, gp_asset_flame_js.data, gp_asset_flame_js.n);
    }
    gp_svg_end(&p.svg);
    gp_flame_layout_release(&p.layout);
    gp_buf_release(&p.text);
}
