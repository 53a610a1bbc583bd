#include "render/flame/hatchet_write.h"

#include <inttypes.h>
#include "formats/base/buf.h"
#include "formats/base/json_write.h"

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
