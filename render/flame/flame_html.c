#include "render/flame/flame_priv.h"

#include <stdlib.h>
#include <string.h>
#include "formats/base/buf.h"
#include "formats/base/json_write.h"
#include "formats/base/map.h"
#include "formats/base/str.h"
#include "render/draw/palette.h"
#include "render/flame/flame_svg.h"
#include "render/page/page_html.h"
#include "render/page/page_pack.h"

enum { STILL_FRAMES = 1000 };

/* A frame as a box shows it: the same label of another kind is another frame. */
struct frame {
    gp_sid label; /* of writer.names */
    gp_sid full;  /* 0: the label */
    uint32_t variants;
    uint64_t samples; /* 0: not known from samples only */
    uint32_t kind;
};

struct writer {
    struct gp_svg w;
    const struct gp_flame *flames;
    size_t n;
    const struct gp_flame_html_opts *o;
    struct gp_strings names;
    GP_VEC(struct frame) frames;
    struct gp_map by_name; /* label << 8 | kind -> index into frames */
    uint32_t *last;        /* by name of the current tree: 1 + its frame; 0: not looked up yet */
    struct gp_buf text;    /* scratch */
};

/* ---- the trees as columns ---- */

static gp_sid take_name(struct writer *x, const struct gp_flame *f, gp_sid sid)
{
    return gp_intern(&x->names, gp_string(&f->strings, sid), gp_string_len(&f->strings, sid));
}

/* Index of the frame with name SID of F; made when it is new. */
static uint32_t find_frame(struct writer *x, const struct gp_flame *f, gp_sid sid, uint32_t kind)
{
    gp_sid label =
        gp_string_len(&f->strings, sid) ? take_name(x, f, sid) : gp_intern_cstr(&x->names, "(no name)");
    uint32_t *at = gp_map_put(&x->by_name, (uint64_t)label << 8 | kind, UINT32_MAX);
    if (*at != UINT32_MAX) return *at;
    *at = (uint32_t)x->frames.n;
    struct frame frame = {.label = label, .variants = 1, .kind = kind};
    if (sid < f->full_n && f->full[sid]) {
        frame.full = take_name(x, f, f->full[sid]);
        frame.variants = f->full_count[sid];
    }
    if (f->samples && sid < f->full_n) frame.samples = f->samples[sid];
    GP_VEC_PUSH(&x->frames, frame);
    return (uint32_t)x->frames.n - 1;
}

static uint32_t frame_of(struct writer *x, const struct gp_flame *f, const struct gp_calltree_node *node)
{
    uint32_t *last = &x->last[node->name];
    if (!*last || x->frames.at[*last - 1].kind != node->kind)
        *last = find_frame(x, f, node->name, node->kind) + 1;
    return *last - 1;
}

/* The children of each node in order of creation, which is that of the trace. */
struct order {
    uint32_t *first, *next; /* by node; 0: none */
};

static struct order order_of(const struct gp_calltree *tree)
{
    size_t n = tree->nodes.n;
    struct order o = {gp_zalloc(n * sizeof *o.first), gp_zalloc(n * sizeof *o.next)};
    for (size_t i = n; i-- > 1;) {
        uint32_t parent = tree->nodes.at[i].parent;
        o.next[i] = o.first[parent];
        o.first[parent] = (uint32_t)i;
    }
    return o;
}

/* The node after NODE, depth first; 0 after the last. UP grows by the levels left. */
static uint32_t next_node(const struct gp_calltree *tree, const struct order *o, uint32_t node, uint32_t *up)
{
    *up = 0;
    if (o->first[node]) return o->first[node];
    while (node != GP_CALLTREE_ROOT && !o->next[node]) {
        node = tree->nodes.at[node].parent;
        ++*up;
    }
    ++*up;
    return node == GP_CALLTREE_ROOT ? 0 : o->next[node];
}

enum column { COLUMN_UP, COLUMN_FRAME, COLUMN_SELF, COLUMN_EVENTS, COLUMN_BYTES, COLUMNS };

/* One number per node in each column; the root, which has no frame, is only in those of the weights. */
static void pack_columns(struct writer *x, const struct gp_flame *f, const struct order *o,
                         struct gp_buf *columns)
{
    const struct gp_calltree *tree = &f->tree;
    uint32_t node = GP_CALLTREE_ROOT, up = 0;
    do {
        const struct gp_calltree_node *n = &tree->nodes.at[node];
        gp_pack_u64(&columns[COLUMN_SELF], (uint64_t)n->self);
        if (tree->extra.n) {
            struct gp_calltree_extra extra = gp_calltree_extra_of(tree, node);
            gp_pack_u64(&columns[COLUMN_EVENTS], (uint64_t)extra.events);
            gp_pack_u64(&columns[COLUMN_BYTES], (uint64_t)extra.bytes);
        }
        if (node != GP_CALLTREE_ROOT) {
            gp_pack_u64(&columns[COLUMN_UP], up);
            gp_pack_u64(&columns[COLUMN_FRAME], frame_of(x, f, n));
        }
        node = next_node(tree, o, node, &up);
    } while (node);
}

/* The columns follow each other: how far up the next node branches off, frames, weights. */
static void pack_tree(struct writer *x, const struct gp_flame *f, struct gp_buf *to)
{
    gp_pack_u64(to, f->tree.nodes.n);
    if (!f->tree.nodes.n) return;
    struct order o = order_of(&f->tree);
    struct gp_buf columns[COLUMNS] = {{0}};
    x->last = gp_zalloc(((size_t)f->strings.n + 1) * sizeof *x->last);
    pack_columns(x, f, &o, columns);
    for (int i = 0; i < COLUMNS; i++) {
        gp_buf_put(to, columns[i].data, columns[i].n);
        gp_buf_release(&columns[i]);
    }
    GP_RELEASE(free, o.first, o.next, x->last);
}

static void put_data(struct writer *x)
{
    struct gp_buf trees = {0}, all = {0};
    for (size_t i = 0; i < x->n; i++) pack_tree(x, &x->flames[i], &trees);
    gp_pack_u64(&all, x->frames.n);
    for (size_t i = 0; i < x->frames.n; i++) gp_pack_u64(&all, x->frames.at[i].kind);
    for (size_t i = 0; i < x->frames.n; i++) gp_pack_u64(&all, x->frames.at[i].variants);
    for (size_t i = 0; i < x->frames.n; i++) gp_pack_u64(&all, x->frames.at[i].samples);
    GP_EACH(const struct frame, f, x->frames) {
        gp_pack_text(&all, gp_string(&x->names, f->label), gp_string_len(&x->names, f->label));
        gp_pack_text(&all, gp_string(&x->names, f->full), gp_string_len(&x->names, f->full));
    }
    gp_page_pack(&x->w, "flame-frames", all.data, all.n);
    gp_buf_release(&all);
    gp_page_pack(&x->w, "flame-trees", trees.data, trees.n);
    gp_buf_release(&trees);
}

/* ---- the head of the data ---- */

static void put_string(struct gp_buf *b, const char *key, const char *s)
{
    gp_buf_printf(b, ",\"%s\":", key);
    gp_json_put_string(b, s, strlen(s));
}

static void put_measure(struct gp_buf *b, const char *id, const char *text, const char *unit)
{
    gp_buf_printf(b, "{\"id\":\"%s\",\"unit\":\"%s\"", id, unit);
    put_string(b, "text", text);
    gp_buf_putc(b, '}');
}

/* [{"measures": [{"id": "gpu", "unit": "ns", "text": "GPU time"}, ...]}, ...] in the order of the columns */
static void put_meta(struct writer *x)
{
    struct gp_buf *b = &x->text;
    gp_buf_puts(b, "{\"trees\":[");
    for (size_t i = 0; i < x->n; i++) {
        enum gp_weight weight = x->flames[i].weight;
        const char *unit = gp_weight_unit(weight);
        if (i) gp_buf_putc(b, ',');
        gp_buf_puts(b, "{\"measures\":[");
        if (x->o->samples) put_measure(b, "samples", "samples", "events");
        else put_measure(b, gp_weight_name(weight), gp_weight_text(weight), unit);
        if (x->flames[i].tree.extra.n) {
            gp_buf_putc(b, ',');
            put_measure(b, "count", gp_weight_text(GP_WEIGHT_COUNT), "events");
            gp_buf_putc(b, ',');
            put_measure(b, "bytes", gp_weight_text(GP_WEIGHT_BYTES), "bytes");
        }
        gp_buf_puts(b, "]}");
    }
    gp_buf_puts(b, "],\"kinds\":[");
    for (int k = 0; k < GP_FRAME_KIND_COUNT; k++)
        gp_buf_printf(b, "%s\"%s\"", k ? "," : "", gp_palette_class((enum gp_frame_kind)k));
    gp_buf_puts(b, "]");
    put_string(b, "opened", x->o->samples ? "samples" : gp_weight_name(x->o->opened));
    gp_buf_printf(b, ",\"inverted\":%s}", x->o->inverted ? "true" : "false");
    gp_page_json(&x->w, "flame-meta", b->data, b->n);
    b->n = 0;
}

/* ---- the page ---- */

static enum gp_unit unit_of(const struct writer *x, enum gp_weight weight)
{
    if (x->o->samples || weight == GP_WEIGHT_COUNT || weight == GP_WEIGHT_STALLS) return GP_UNIT_COUNT;
    return weight == GP_WEIGHT_BYTES ? GP_UNIT_BYTES : GP_UNIT_NS;
}

static const char *measure_of(const struct writer *x, enum gp_weight weight)
{
    return x->o->samples ? "samples" : gp_weight_text(weight);
}

static int64_t total_of(const struct gp_flame *f)
{
    return f->tree.nodes.n ? f->tree.total[GP_CALLTREE_ROOT] : 0;
}

/* "GPU time 32.5 ms, CPU time 1.20 s": the sums of the trees. */
static void put_facts(struct writer *x)
{
    struct gp_buf *b = &x->text;
    GP_EACH_OF(const struct gp_flame, f, x->flames, x->n) {
        enum gp_unit unit = unit_of(x, f->weight);
        if (total_of(f) <= 0) continue;
        if (b->n) gp_buf_puts(b, " \xC2\xB7 ");
        if (unit != GP_UNIT_COUNT) gp_buf_printf(b, "%s ", measure_of(x, f->weight));
        gp_scale_put(b, unit, total_of(f));
        if (unit == GP_UNIT_COUNT) gp_buf_printf(b, " %s", measure_of(x, f->weight));
        if (f->weight == GP_WEIGHT_GPU && f->stats.gpu_events)
            gp_buf_printf(b, " in %s event%s", GP_COUNTED(f->stats.gpu_events),
                          f->stats.gpu_events == 1 ? "" : "s");
    }
    if (x->o->note) gp_buf_printf(b, "%s%s", b->n ? " \xC2\xB7 " : "", x->o->note);
    if (x->o->title && x->o->input) gp_buf_printf(b, "%s%s", b->n ? " \xC2\xB7 " : "", x->o->input);
    gp_page_take(&x->w, b, "p", "facts");
}

/* The tree that the page opens with: the one asked for, or else the first that weighs anything. */
static const struct gp_flame *first_shown(const struct writer *x)
{
    const struct gp_flame *first = NULL;
    GP_EACH_OF(const struct gp_flame, f, x->flames, x->n) {
        if (total_of(f) <= 0) continue;
        if (f->weight == x->o->opened) return f;
        if (!first) first = f;
    }
    return first ? first : &x->flames[0];
}

static void put_still(struct writer *x)
{
    const struct gp_flame *f = first_shown(x);
    gp_page_open(&x->w, "figure", "still");
    gp_svg_newline(&x->w);
    gp_flame_svg_write(
        x->w.out, f,
        &(struct gp_flame_svg_opts){.still = true,
                                    .measure = measure_of(x, f->weight),
                                    .unit = unit_of(x, f->weight),
                                    .empty = x->o->empty,
                                    .events = f->weight == GP_WEIGHT_GPU && !x->o->samples,
                                    .width = x->o->width,
                                    .max_frames = x->o->still_frames ? x->o->still_frames : STILL_FRAMES});
    gp_svg_close_line(&x->w);
}

void gp_flame_html_write(struct gp_buf *out, const struct gp_flame *flames, size_t n,
                         const struct gp_flame_html_opts *opts)
{
    static const struct gp_page_parts parts = {.css = &gp_asset_flame_page_css,
                                               .js = &gp_asset_flame_page_js};
    struct writer x = {.flames = flames, .n = n, .o = opts};
    const char *heading = opts->title ? opts->title : opts->input ? opts->input : "Flame graph";
    gp_buf_printf(&x.text, "trace2flame: %s", heading);
    gp_page_begin(&x.w, out, gp_buf_str(&x.text), &parts);
    x.text.n = 0;
    gp_page_open(&x.w, "main", "flame");
    gp_page_open(&x.w, "header", NULL);
    gp_page_element(&x.w, "p", "brand", GP_TEXT("gpuprof trace2flame"));
    gp_page_put(&x.w, "h1", NULL, heading);
    put_facts(&x);
    gp_svg_close_line(&x.w);
    put_still(&x);
    gp_svg_close_line(&x.w);
    put_meta(&x);
    gp_page_palette(&x.w);
    put_data(&x);
    gp_page_end(&x.w, &parts);
    gp_strings_release(&x.names);
    GP_VEC_FREE(&x.frames);
    gp_map_release(&x.by_name);
    gp_buf_release(&x.text);
}
