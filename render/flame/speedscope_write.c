#include "render/flame/speedscope_write.h"

#include <stdlib.h>
#include <string.h>
#include "formats/base/buf.h"
#include "formats/base/json_write.h"
#include "formats/base/output.h"
#include "formats/base/vec.h"

enum { FLUSH = 1 << 16 };

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

static void put_string(struct writer *w, const char *s)
{
    gp_json_put_string(&w->text, s, strlen(s));
}

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

/* In the order of the samples. */
static void write_weights(struct writer *w, const struct gp_speedscope_profile *p)
{
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
    write_weights(w, p);
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
