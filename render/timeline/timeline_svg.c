#include "render/timeline/timeline_priv.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "render/draw/canvas_svg.h"
#include "render/draw/palette.h"
#include "render/draw/plot.h"
#include "render/draw/text.h"

/* Pixels. */
enum {
    WIDTH = 1200,
    NAMES = 190,
    RIGHT = 12,
    HEAD = 52,
    STILL_HEAD = 26,
    AXIS = 22,
    LANE = 14,
    GAP = 5,
    HEADING = 24,
    BOTTOM = 26,
    ADVANCE = 6
};
enum { RECTS = 5000, MOST_LANES = 90, DEEPEST = 6, LEVELS = 4, LEAST_COLUMNS = 24, LABEL_FROM = 28 };

struct strip;
struct picture {
    struct gp_svg svg;
    const struct gp_tracks *l;
    const struct gp_timeline_svg_opts *o;
    int64_t begin_ns, end_ns;
    int width, plot, head, y;
    size_t lanes;         /* that are drawn */
    struct strip *strips; /* of each of them */
    int group;            /* columns that are put together */
    size_t left_out;      /* lanes that are not drawn */
    struct gp_buf text;
};

/* ---- tracks and lanes to draw ---- */

static bool is_drawn(const struct gp_tracks_track *k)
{
    return k->sort != GP_TRACKS_COUNTER && k->sort != GP_TRACKS_MARKS;
}

static size_t depth_of(const struct gp_tracks_track *k) { return k->lanes < DEEPEST ? k->lanes : DEEPEST; }

/* The number of lanes that fit, the first ones of the page; TRACKS gets the number of their tracks. */
static size_t count_lanes(struct picture *p, size_t *tracks)
{
    size_t n = 0;
    *tracks = 0;
    for (size_t i = 0; i < p->l->tracks.n; i++) {
        const struct gp_tracks_track *k = &p->l->tracks.at[i];
        if (!is_drawn(k)) continue;
        if (p->left_out || n + depth_of(k) > MOST_LANES) {
            p->left_out += k->lanes;
            continue;
        }
        n += depth_of(k);
        *tracks = i + 1;
    }
    return n;
}

/* ---- pieces ---- */

static int64_t at_time(const struct picture *p, int64_t at_ns) /* hundredths of a pixel */
{
    const struct gp_axis x = {
        .to = (double)(p->end_ns - p->begin_ns), .at = NAMES * 100, .end = (NAMES + p->plot) * 100};
    return llround(gp_axis_at(&x, (double)(at_ns - p->begin_ns)));
}

/* A run of columns that look alike, or an event. */
struct piece {
    int64_t x, width; /* hundredths of a pixel */
    int kind, level;  /* level: 1 .. LEVELS, how busy */
    uint32_t name;    /* UINT32_MAX: several events */
};

static void put_piece(struct picture *p, const struct piece *r)
{
    char class[48];
    snprintf(class, sizeof class, "k-%s", gp_palette_class((enum gp_frame_kind)r->kind));
    gp_svg_open(&p->svg, "rect");
    gp_svg_attr(&p->svg, "class", class);
    gp_svg_box(&p->svg, r->x, p->y * 100, r->width < 50 ? 50 : r->width, (LANE - 2) * 100);
    if (r->level < LEVELS) {
        static const char *const opacity[] = {"0.3", "0.3", "0.5", "0.75"};
        gp_svg_attr(&p->svg, "opacity", opacity[r->level]);
    }
    gp_svg_close(&p->svg);
    if (r->name == UINT32_MAX || r->width < LABEL_FROM * 100) return;
    struct gp_buf label = {0};
    gp_tracks_put_label(p->l, r->name, &label);
    p->text.n = 0;
    gp_text_fit_name(&p->text, label.data ? label.data : "", label.n, (size_t)(r->width / 100 - 6) / ADVANCE);
    gp_buf_release(&label);
    if (!p->text.n) return;
    snprintf(class, sizeof class, "in t-%s", gp_palette_class((enum gp_frame_kind)r->kind));
    gp_plot_text(&p->svg, class, (double)r->x / 100 + 3, p->y + LANE - 5, &p->text);
}

/* ---- a lane ---- */

/* A lane in columns a pixel wide; or its events by name while they are few. */
struct strip {
    const struct gp_lane *lane;
    bool few;
    size_t shown;
    float *busy;  /* by column: share that is busy */
    int8_t *kind; /* by column: the kind with most of it, -1: empty */
};

static bool is_shown(const struct picture *p, size_t event, int64_t *start, int64_t *end)
{
    *start = gp_tracks_start(p->l, event);
    *end = *start + gp_tracks_dur(p->l, event);
    if (*start >= p->end_ns || *end < p->begin_ns) return false;
    if (*start < p->begin_ns) *start = p->begin_ns;
    if (*end > p->end_ns) *end = p->end_ns;
    return true;
}

/* Time of a column by kind, while a lane is gone through; events come in order of their starts. */
struct column {
    double busy, of[GP_FRAME_KIND_COUNT];
};

static void add_time(const struct picture *p, struct column *columns, double from, double to, int kind)
{
    double per = (double)(p->end_ns - p->begin_ns) / p->plot;
    int i = (int)(from / per);
    if (i >= p->plot) i = p->plot - 1;
    for (; i < p->plot && i * per <= to; i++) {
        double a = i * per, b = a + per, ns = (to < b ? to : b) - (from > a ? from : a);
        columns[i].busy += ns > 0 ? ns / per : 0;
        columns[i].of[kind] += (ns > 0 ? ns : 0) + 1e-3; /* instants also have a colour */
    }
}

static void fill_strip(const struct picture *p, struct strip *s, struct column *columns)
{
    int64_t start, end;
    memset(columns, 0, (size_t)p->plot * sizeof *columns);
    s->busy = gp_alloc((size_t)p->plot * sizeof *s->busy);
    s->kind = gp_alloc((size_t)p->plot);
    for (size_t i = s->lane->first; i < s->lane->first + s->lane->n; i++)
        if (is_shown(p, i, &start, &end))
            add_time(p, columns, (double)(start - p->begin_ns), (double)(end - p->begin_ns),
                     p->l->names.at[p->l->name[i]].kind);
    for (int i = 0; i < p->plot; i++) {
        int most = -1;
        for (int k = 0; k < GP_FRAME_KIND_COUNT; k++)
            if (columns[i].of[k] > 0 && (most < 0 || columns[i].of[k] > columns[i].of[most])) most = k;
        s->busy[i] = (float)columns[i].busy;
        s->kind[i] = (int8_t)most;
    }
}

/* The runs of a lane with its columns combined in groups of GROUP; drawn, or only counted. */
static size_t put_runs(struct picture *p, const struct strip *s, int group, bool draw)
{
    struct piece run = {.kind = -1, .name = UINT32_MAX};
    size_t n = 0;
    for (int i = 0; i <= p->plot; i += group) {
        int kind = -1, level = 0;
        float busy = 0, most = -1;
        for (int k = i; k < i + group && k < p->plot; k++) {
            if (s->kind[k] < 0) continue;
            busy += s->busy[k];
            if (s->busy[k] > most) most = s->busy[k], kind = s->kind[k];
        }
        if (kind >= 0) level = 1 + (int)(busy / (float)group * LEVELS - 0.001f);
        if (level > LEVELS) level = LEVELS;
        if (kind == run.kind && level == run.level && i < p->plot) continue;
        int64_t x = (NAMES + (i < p->plot ? i : p->plot)) * 100;
        run.width = x - run.x;
        n += run.kind >= 0;
        if (draw && run.kind >= 0) put_piece(p, &run);
        run = (struct piece){.x = x, .kind = kind, .level = level, .name = UINT32_MAX};
    }
    if (draw && run.kind >= 0) {
        run.width = (NAMES + p->plot) * 100 - run.x;
        if (run.width > 0) put_piece(p, &run);
    }
    return n + (run.kind >= 0);
}

static void draw_strip(struct picture *p, const struct strip *s)
{
    int64_t start, end;
    if (!s->few) put_runs(p, s, p->group, true);
    for (size_t i = s->lane->first; s->few && i < s->lane->first + s->lane->n; i++) {
        if (!is_shown(p, i, &start, &end)) continue;
        struct piece r = {at_time(p, start), at_time(p, end) - at_time(p, start),
                          p->l->names.at[p->l->name[i]].kind, LEVELS, p->l->name[i]};
        put_piece(p, &r);
    }
    p->y += LANE;
}

/* Fill the strips of all lanes, with as many columns combined as it takes to stay below RECTS. */
static void make_strips(struct picture *p, size_t tracks, uint32_t rects)
{
    struct column *columns = gp_alloc((size_t)p->plot * sizeof *columns);
    size_t n = 0, fixed = 0, runs = SIZE_MAX;
    p->strips = gp_zalloc((p->lanes + 1) * sizeof *p->strips);
    GP_EACH_OF(const struct gp_tracks_track, k, p->l->tracks.at, tracks) {
        for (size_t j = 0; is_drawn(k) && j < depth_of(k); j++) {
            struct strip *s = &p->strips[n++];
            s->lane = &p->l->lanes.at[k->first_lane + j];
            int64_t start, end;
            for (size_t e = s->lane->first; e < s->lane->first + s->lane->n; e++)
                s->shown += is_shown(p, e, &start, &end);
            s->few = s->shown <= rects / p->lanes / 2;
            if (s->few) fixed += s->shown;
            else fill_strip(p, s, columns);
        }
    }
    for (p->group = 1; p->group < p->plot / LEAST_COLUMNS; p->group++) {
        runs = fixed;
        for (size_t i = 0; i < n; i++)
            if (!p->strips[i].few) runs += put_runs(p, &p->strips[i], p->group, false);
        if (runs <= rects) break;
    }
    free(columns);
}

/* ---- tracks ---- */

static void put_name(struct picture *p, const char *class, int x, int columns, gp_sid sid)
{
    p->text.n = 0;
    gp_text_fit(&p->text, gp_string(&p->l->strings, sid), gp_string_len(&p->l->strings, sid),
                (size_t)columns);
    if (p->text.n) gp_plot_text(&p->svg, class, x, p->y + LANE - 4, &p->text);
}

static void draw_tracks(struct picture *p, size_t tracks)
{
    const struct gp_tracks *l = p->l;
    uint32_t group = UINT32_MAX;
    size_t n = 0;
    GP_EACH_OF(const struct gp_tracks_track, k, l->tracks.at, tracks) {
        if (!is_drawn(k)) continue;
        if (k->group != group) {
            group = k->group;
            p->y += HEADING - LANE;
            put_name(p, "w group", 12, (p->width - 24) / 7, l->groups.at[group].name);
            p->y += LANE + 2;
        }
        put_name(p, "d", 20, (NAMES - 28) / ADVANCE, k->name);
        for (size_t j = 0; j < depth_of(k); j++) draw_strip(p, &p->strips[n++]);
        p->y += GAP;
    }
}

/* ---- the frame ---- */

/* A point in time with the decimals that steps of STEP need, however late it is: "12.345 ms". */
static void put_tick(struct gp_buf *b, int64_t at, int64_t step)
{
    static const struct {
        int64_t ns;
        int digits;
        const char *name;
    } units[] = {{1000000000, 9, "s"}, {1000000, 6, "ms"}, {1000, 3, "\xC2\xB5s"}, {1, 0, "ns"}};
    int64_t size = at < 0 ? -at : at;
    size_t u = 0;
    while (u + 1 < GP_COUNT(units) && units[u].ns > (size > step ? size : step)) u++;
    int digits = units[u].digits;
    for (int64_t below = 1; digits > 0 && below * 10 <= step; below *= 10) digits--;
    int64_t part = size % units[u].ns;
    for (int i = digits; i < units[u].digits; i++) part /= 10;
    if (at < 0) gp_buf_putc(b, '-');
    gp_buf_printf(b, "%" PRId64, size / units[u].ns);
    if (digits > 0) gp_buf_printf(b, ".%0*" PRId64, digits, part);
    gp_buf_printf(b, " %s", units[u].name);
}

static void draw_axis(struct picture *p, int bottom)
{
    int64_t span = p->end_ns - p->begin_ns, step = 1;
    for (int i = 0; span / step > 8 && step < INT64_MAX / 10; i++)
        step = i % 3 == 2 ? step / 5 * 10 : i % 3 == 0 ? step * 2 : step / 2 * 5;
    int64_t offset = p->begin_ns - p->l->begin_ns, first = (offset + step - 1) / step * step;
    for (int64_t at = first; at <= offset + span; at += step) {
        double x = (double)at_time(p, at + p->l->begin_ns) / 100;
        gp_plot_rect(&p->svg, "tick", x, p->head + AXIS - 4, 1, bottom - p->head - AXIS + 4, NULL);
        p->text.n = 0;
        if (at) put_tick(&p->text, at, step);
        else gp_buf_putc(&p->text, '0');
        bool last = at + step > offset + span && p->width - x < 40;
        gp_plot_text(&p->svg, last ? "d end" : "d mid", x, p->head + AXIS - 8, &p->text);
        if (at > INT64_MAX - step) break;
    }
}

static void put_rule(struct gp_buf *css, const char *prefix, const char *class, struct gp_color light,
                     struct gp_color dark)
{
    gp_buf_printf(css, ".gpt .%s%s{fill:#%02x%02x%02x;fill:light-dark(#%02x%02x%02x,#%02x%02x%02x)}\n",
                  prefix, class, light.r, light.g, light.b, light.r, light.g, light.b, dark.r, dark.g,
                  dark.b);
}

static void put_style(struct picture *p)
{
    static const struct {
        const char *class;
        struct gp_color light, dark;
    } inks[] = {{"w", {27, 31, 36}, {230, 233, 238}},
                {"d", {87, 96, 106}, {154, 164, 177}},
                {"tick", {227, 231, 236}, {42, 48, 56}},
                {"ground", {255, 255, 255}, {20, 24, 29}}};
    struct gp_buf css = {0};
    if (!p->o->still) gp_buf_puts(&css, ":root{color-scheme:light dark}\n");
    gp_buf_puts(&css, ".gpt text{font:11px system-ui,sans-serif}.gpt .title{font-size:15px;font-weight:600}"
                      ".gpt .group{font-weight:600}.gpt .in{font:10px ui-monospace,monospace}"
                      ".gpt .mid{text-anchor:middle}.gpt .end{text-anchor:end}\n");
    for (size_t i = 0; i < GP_COUNT(inks); i++)
        put_rule(&css, "", inks[i].class, inks[i].light, inks[i].dark);
    for (int k = 0; k < GP_FRAME_KIND_COUNT; k++) {
        struct gp_color light = gp_palette_fill((enum gp_frame_kind)k, 0, GP_THEME_LIGHT);
        struct gp_color dark = gp_palette_fill((enum gp_frame_kind)k, 0, GP_THEME_DARK);
        put_rule(&css, "k-", gp_palette_class((enum gp_frame_kind)k), light, dark);
        put_rule(&css, "t-", gp_palette_class((enum gp_frame_kind)k), gp_palette_text(light),
                 gp_palette_text(dark));
    }
    gp_svg_style(&p->svg, css.data, css.n);
    gp_buf_release(&css);
}

/* The classes that occur, as far as they are GPU work, in one line. */
static void draw_legend(struct picture *p)
{
    bool used[GP_FRAME_KIND_COUNT] = {false};
    int64_t x = 12;
    for (size_t i = 0; i < p->l->names.n; i++) used[p->l->names.at[i].kind] = true;
    for (int i = 0; i < GP_FRAME_KIND_COUNT; i++) {
        enum gp_frame_kind kind = gp_palette_legend(i);
        if (!used[kind] || kind < GP_FRAME_COMPUTE || kind > GP_FRAME_MEMSET) continue;
        const char *label = gp_palette_label(kind);
        char class[48];
        if (x + 20 + (int64_t)strlen(label) * 7 > p->width) break;
        snprintf(class, sizeof class, "k-%s", gp_palette_class(kind));
        gp_plot_rect(&p->svg, class, (double)x, p->y + 2, 10, 10, NULL);
        p->text.n = 0;
        gp_buf_puts(&p->text, label);
        gp_plot_text(&p->svg, "d", (double)x + 14, p->y + 11, &p->text);
        x += 14 + (int64_t)strlen(label) * 6 + 20;
    }
    p->y += BOTTOM;
}

static void put_head(struct picture *p)
{
    const struct gp_timeline_svg_opts *o = p->o;
    if (o->title) {
        p->text.n = 0;
        gp_text_fit(&p->text, o->title, strlen(o->title), (size_t)(p->width - 24) / 9);
        gp_plot_text(&p->svg, "w title", 12, 22, &p->text);
    }
    p->text.n = 0;
    int64_t step = 1;
    while (step < (p->end_ns - p->begin_ns) / 500) step *= 10;
    put_tick(&p->text, p->begin_ns - p->l->begin_ns, step);
    gp_buf_puts(&p->text, " to ");
    put_tick(&p->text, p->end_ns - p->l->begin_ns, step);
    if (o->note) gp_buf_printf(&p->text, " \xC2\xB7 %s", o->note);
    if (p->left_out) gp_buf_printf(&p->text, " \xC2\xB7 %zu more lanes are not drawn", p->left_out);
    gp_plot_text(&p->svg, "d", 12, o->title ? 40 : 16, &p->text);
}

/* Height of everything, from the same steps as drawing. */
static int height_of(const struct picture *p, size_t tracks)
{
    int y = p->head + AXIS;
    uint32_t group = UINT32_MAX;
    GP_EACH_OF(const struct gp_tracks_track, k, p->l->tracks.at, tracks) {
        if (!is_drawn(k)) continue;
        if (k->group != group) y += HEADING + 2;
        group = k->group;
        y += (int)depth_of(k) * LANE + GAP;
    }
    return y + BOTTOM;
}

void gp_timeline_svg_write(struct gp_buf *out, const struct gp_tracks *l,
                           const struct gp_timeline_svg_opts *o)
{
    struct picture p = {.svg = {.out = out, .html = o->still},
                        .l = l,
                        .o = o,
                        .width = o->width ? o->width : WIDTH,
                        .head = o->title ? HEAD : STILL_HEAD};
    size_t tracks;
    p.y = p.head + AXIS;
    p.plot = p.width - NAMES - RIGHT;
    p.begin_ns = o->end_ns > o->begin_ns ? o->begin_ns : l->begin_ns;
    p.end_ns = o->end_ns > o->begin_ns ? o->end_ns : l->end_ns;
    if (p.end_ns <= p.begin_ns) p.end_ns = p.begin_ns + 1;
    p.lanes = count_lanes(&p, &tracks);
    make_strips(&p, tracks, o->max_rects ? o->max_rects : RECTS);
    int height = height_of(&p, tracks);
    if (o->still) {
        char box[64];
        snprintf(box, sizeof box, "0 0 %d %d", p.width, height);
        gp_svg_open(&p.svg, "svg");
        gp_svg_int(&p.svg, "width", p.width);
        gp_svg_int(&p.svg, "height", height);
        gp_svg_attr(&p.svg, "viewBox", box);
        gp_svg_attr(&p.svg, "role", "img");
        gp_svg_attr(&p.svg, "aria-label", "timeline: what ran when");
    } else {
        gp_svg_begin(&p.svg, p.width, height, "timeline: what ran when");
    }
    gp_svg_attr(&p.svg, "class", "gpt");
    put_style(&p);
    gp_plot_rect(&p.svg, "ground", 0, 0, p.width, height, NULL);
    put_head(&p);
    if (l->n) draw_axis(&p, height - BOTTOM);
    draw_tracks(&p, tracks);
    draw_legend(&p);
    gp_svg_end(&p.svg);
    for (size_t i = 0; i < p.lanes; i++) {
        free(p.strips[i].busy);
        free(p.strips[i].kind);
    }
    free(p.strips);
    gp_buf_release(&p.text);
}
