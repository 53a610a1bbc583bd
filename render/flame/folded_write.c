#include "render/flame/folded_write.h"

#include <stdbool.h>
#include <string.h>
#include "formats/base/buf.h"
#include "formats/base/output.h"
#include "formats/base/utf8.h"
#include "formats/base/vec.h"
#include "render/draw/text.h"

enum { FLUSH = 1 << 16 };

/* Controls, line breaks, and what reorders or hides its neighbours. */
static bool is_control(const char *s, size_t n, uint32_t cp)
{
    return gp_text_next(s, n).cp != cp;
}

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
