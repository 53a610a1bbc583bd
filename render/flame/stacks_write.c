#include "render/flame/flame_formats.h"

#include <inttypes.h>
#include <string.h>
#include "formats/base/buf.h"
#include "formats/base/json_write.h"
#include "formats/base/output.h"
#include "formats/base/utf8.h"
#include "formats/base/vec.h"
#include "render/draw/text.h"
#include "render/flame/flame_priv.h"

enum { FLUSH = 1 << 16 };

/* Controls, line breaks, and characters that reorder or hide their neighbours. */
static bool is_control(const char *s, size_t n, uint32_t cp) { return gp_text_next(s, n).cp != cp; }

/* "stream 7", "v 1.5": would be read as a column of numbers. FROM is where the frame begins in B. */
static void join_number(struct gp_buf *b, size_t from)
{
    size_t i = b->n;
    while (i > from && ((b->data[i - 1] >= '0' && b->data[i - 1] <= '9') || b->data[i - 1] == '.')) i--;
    if (i < b->n)
        while (i > from && b->data[i - 1] == ' ') b->data[--i] = '_';
}

void gp_folded_put_frame(struct gp_buf *b, const char *name, size_t n)
{
    size_t from = b->n;
    for (size_t i = 0, len; i < n; i += len) {
        uint32_t cp = gp_utf8_next(name + i, n - i, &len);
        gp_text_put(b, is_control(name + i, n - i, cp) ? '_' : cp == ';' ? ':' : cp);
    }
    while (b->n > from && b->data[b->n - 1] == ' ') b->n--;
    if (b->n == from) gp_buf_puts(b, "[no name]");
    join_number(b, from);
}

/* Append the frame of NODE to the stack of its parent, which is the first PREFIX bytes of LINE. */
static size_t push_frame(struct gp_buf *line, size_t prefix, const struct gp_calltree_node *node,
                         const struct gp_strings *strings)
{
    line->n = prefix;
    if (prefix) gp_buf_putc(line, ';');
    gp_folded_put_frame(line, gp_string(strings, node->name), gp_string_len(strings, node->name));
    return line->n;
}

static void write_stack(struct gp_output *out, struct gp_buf *chunk, const struct gp_buf *line,
                        int64_t weight)
{
    if (line->n) gp_buf_put(chunk, line->data, line->n);
    else gp_buf_puts(chunk, "all"); /* weight of the root itself: a line needs a frame */
    gp_buf_putc(chunk, ' ');
    gp_buf_put_i64(chunk, weight);
    gp_buf_putc(chunk, '\n');
    if (chunk->n < FLUSH) return;
    gp_output_write(out, chunk->data, chunk->n);
    chunk->n = 0;
}

void gp_folded_write(struct gp_output *out, const struct gp_calltree *tree, const struct gp_strings *strings)
{
    struct gp_buf line = {0}, chunk = {0};
    GP_VEC(size_t) ends = {0}; /* by depth: length of the line with that frame */
    uint32_t node = GP_CALLTREE_ROOT;
    if (!tree->nodes.n) return;
    GP_VEC_PUSH(&ends, 0);
    for (;;) {
        const struct gp_calltree_node *n = &tree->nodes.at[node];
        line.n = ends.at[ends.n - 1];
        if (n->self > 0) write_stack(out, &chunk, &line, n->self);
        uint32_t next = n->first_child;
        while (!next && node != GP_CALLTREE_ROOT) {
            next = tree->nodes.at[node].next_sibling;
            node = tree->nodes.at[node].parent;
            ends.n--;
        }
        if (!next) break;
        node = next;
        size_t end = push_frame(&line, ends.at[ends.n - 1], &tree->nodes.at[node], strings);
        GP_VEC_PUSH(&ends, end);
    }
    if (chunk.n) gp_output_write(out, chunk.data, chunk.n);
    GP_VEC_FREE(&ends);
    gp_buf_release(&line);
    gp_buf_release(&chunk);
}

/* ---- hatchet write ---- */

static void begin_node(struct gp_buf *b, const struct gp_calltree *tree, const struct gp_strings *strings,
                       uint32_t at)
{
    const struct gp_calltree_node *n = &tree->nodes.at[at];
    const char *name = at == GP_CALLTREE_ROOT ? "ROOT" : gp_string(strings, n->name);
    size_t length = at == GP_CALLTREE_ROOT ? strlen(name) : gp_string_len(strings, n->name);
    gp_buf_puts(b, "{\"frame\": {\"name\": ");
    gp_json_put_string(b, name, length);
    gp_buf_puts(b, ", \"type\": \"function\"}, \"metrics\": {");
    if (n->self > 0 || at == GP_CALLTREE_ROOT)
        gp_buf_printf(b, "\"count\": %" PRIu32 ", \"time (ns)\": %" PRId64, n->self > 0 ? n->count : 0,
                      n->self);
    gp_buf_puts(b, "}, \"children\": [");
}

/* Depth first, without recursion: trees may be deep. */
void gp_hatchet_write(struct gp_buf *b, const struct gp_calltree *tree, const struct gp_strings *strings)
{
    uint32_t at = GP_CALLTREE_ROOT;
    gp_buf_puts(b, "[");
    if (tree->nodes.n) begin_node(b, tree, strings, at);
    while (tree->nodes.n) {
        uint32_t next = tree->nodes.at[at].first_child;
        if (next) {
            gp_buf_putc(b, '\n');
            begin_node(b, tree, strings, at = next);
            continue;
        }
        while (at != GP_CALLTREE_ROOT && !tree->nodes.at[at].next_sibling) {
            gp_buf_puts(b, "]}");
            at = tree->nodes.at[at].parent;
        }
        gp_buf_puts(b, "]}");
        if (at == GP_CALLTREE_ROOT) break;
        gp_buf_puts(b, ",\n");
        begin_node(b, tree, strings, at = tree->nodes.at[at].next_sibling);
    }
    gp_buf_puts(b, ", {}]\n");
}

/* ---- speedscope write ---- */

struct writer {
    struct gp_output *out;
    struct gp_buf text;
    struct gp_strings frames; /* the shared frames: sid - 1 is the frame's index */
};

static void flush(struct writer *w, size_t above)
{
    if (w->text.n <= above) return;
    gp_output_write(w->out, w->text.data, w->text.n);
    w->text.n = 0;
}

static void put_string(struct writer *w, const char *s) { gp_json_put_string(&w->text, s, strlen(s)); }

/* Index of the frame that NODE shows. */
static uint32_t frame_of(struct writer *w, const struct gp_speedscope_profile *p, uint32_t node)
{
    gp_sid name = p->tree->nodes.at[node].name;
    size_t n = gp_string_len(p->strings, name);
    if (!n) return gp_intern_cstr(&w->frames, "(no name)") - 1;
    return gp_intern(&w->frames, gp_string(p->strings, name), n) - 1;
}

static void write_frames(struct writer *w, const struct gp_speedscope_profile *profiles, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (uint32_t node = 1; node < profiles[i].tree->nodes.n; node++)
            (void)frame_of(w, &profiles[i], node);
    gp_buf_puts(&w->text, "\"shared\":{\"frames\":[");
    for (gp_sid sid = 1; sid < w->frames.n; sid++) {
        gp_buf_puts(&w->text, sid > 1 ? ",\n{\"name\":" : "\n{\"name\":");
        gp_json_put_string(&w->text, gp_string(&w->frames, sid), gp_string_len(&w->frames, sid));
        gp_buf_putc(&w->text, '}');
        flush(w, FLUSH);
    }
    gp_buf_puts(&w->text, "]},\n");
}

/* Calls nothing back and allocates nothing: the next node in depth-first order, 0 after the last. */
static uint32_t next_node(const struct gp_calltree *t, uint32_t node, size_t *depth)
{
    if (t->nodes.at[node].first_child) {
        ++*depth;
        return t->nodes.at[node].first_child;
    }
    while (node != GP_CALLTREE_ROOT && !t->nodes.at[node].next_sibling) {
        node = t->nodes.at[node].parent;
        --*depth;
    }
    return node == GP_CALLTREE_ROOT ? 0 : t->nodes.at[node].next_sibling;
}

static void write_samples(struct writer *w, const struct gp_speedscope_profile *p)
{
    GP_VEC(uint32_t) path = {0};
    size_t depth = 0;
    const char *separator = "\n[";
    gp_buf_puts(&w->text, "\"samples\":[");
    for (uint32_t node = GP_CALLTREE_ROOT, more = p->tree->nodes.n > 0; more;
         node = next_node(p->tree, node, &depth), more = node != 0) {
        path.n = depth ? depth - 1 : 0;
        if (depth) GP_VEC_PUSH(&path, frame_of(w, p, node));
        if (p->tree->nodes.at[node].self <= 0) continue;
        gp_buf_puts(&w->text, separator);
        separator = ",\n[";
        for (size_t i = 0; i < path.n; i++) {
            if (i) gp_buf_putc(&w->text, ',');
            gp_buf_put_u64(&w->text, path.at[i]);
        }
        gp_buf_putc(&w->text, ']');
        flush(w, FLUSH);
    }
    gp_buf_puts(&w->text, "],\n");
    GP_VEC_FREE(&path);
}

static void write_profile(struct writer *w, const struct gp_speedscope_profile *p)
{
    static const char *const units[] = {
        [GP_UNIT_NS] = "nanoseconds", [GP_UNIT_BYTES] = "bytes", [GP_UNIT_COUNT] = "none"};
    gp_buf_puts(&w->text, "{\"type\":\"sampled\",\"name\":");
    put_string(w, p->name);
    gp_buf_puts(&w->text, ",\"unit\":");
    put_string(w, units[p->unit]);
    gp_buf_puts(&w->text, ",\"startValue\":0,\"endValue\":");
    gp_buf_put_i64(&w->text, p->tree->nodes.n ? p->tree->total[GP_CALLTREE_ROOT] : 0);
    gp_buf_puts(&w->text, ",\n");
    write_samples(w, p);
    /* In the order of the samples. */
    size_t depth = 0;
    const char *separator = "";
    gp_buf_puts(&w->text, "\"weights\":[");
    for (uint32_t node = GP_CALLTREE_ROOT, more = p->tree->nodes.n > 0; more;
         node = next_node(p->tree, node, &depth), more = node != 0) {
        if (p->tree->nodes.at[node].self <= 0) continue;
        gp_buf_puts(&w->text, separator);
        separator = ",";
        gp_buf_put_i64(&w->text, p->tree->nodes.at[node].self);
        flush(w, FLUSH);
    }
    gp_buf_puts(&w->text, "]");
    gp_buf_putc(&w->text, '}');
}

void gp_speedscope_write(struct gp_output *out, const char *name,
                         const struct gp_speedscope_profile *profiles, size_t n)
{
    struct writer w = {.out = out};
    (void)gp_intern(&w.frames, "", 0); /* sid 0 */
    gp_buf_puts(&w.text, "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n"
                         "\"exporter\":\"gpuprof " GP_VERSION "\",\n\"name\":");
    put_string(&w, name);
    gp_buf_puts(&w.text, ",\n\"activeProfileIndex\":0,\n");
    write_frames(&w, profiles, n);
    gp_buf_puts(&w.text, "\"profiles\":[\n");
    for (size_t i = 0; i < n; i++) {
        if (i) gp_buf_puts(&w.text, ",\n");
        write_profile(&w, &profiles[i]);
    }
    gp_buf_puts(&w.text, "]}\n");
    flush(&w, 0);
    gp_strings_release(&w.frames);
    gp_buf_release(&w.text);
}
