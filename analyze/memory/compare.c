/* Who holds more, and who less, than in another run. */
#include <string.h>
#include "analyze/memory/memory_priv.h"
#include "formats/base/buf.h"
#include "formats/base/order.h"

struct comparing {
    struct gp_memory *m;
    struct gp_map index; /* hash of device and name -> index into changes */
    struct gp_buf name;  /* scratch */
};

/* Lines move when code is edited: "linear.py:134 forward" is "linear.py forward". */
static void put_without_lines(struct gp_buf *b, const char *s)
{
    while (*s) {
        size_t digits = *s == ':' ? strspn(s + 1, "0123456789") : 0;
        if (digits && (s[1 + digits] == ' ' || !s[1 + digits])) {
            s += 1 + digits;
            continue;
        }
        gp_buf_putc(b, *s++);
    }
}

static struct gp_memory_changed *change_of(struct comparing *c, gp_sid device, const char *key)
{
    struct gp_memory *m = c->m;
    c->name.n = 0;
    put_without_lines(&c->name, key);
    gp_sid name = gp_intern(&m->strings, c->name.n ? c->name.data : "", c->name.n);
    uint32_t *at = gp_map_put(&c->index, (uint64_t)device << 32 | name, (uint32_t)m->changes.n);
    if (*at == m->changes.n)
        GP_VEC_PUSH(&m->changes, (struct gp_memory_changed){.device = device, .key = name});
    return &m->changes.at[*at];
}

static int64_t size_of(int64_t v) { return v < 0 ? -v : v; }

GP_COMPARE_IN(most_first, struct gp_memory_changed, struct gp_memory,
              GP_KEY(size_of(y->change_bytes), size_of(x->change_bytes))
                  GP_THEN(strcmp(gp_memory_str(of, x->key), gp_memory_str(of, y->key))) GP_UP(device))

void gp_memory_compare(struct gp_memory *m, const struct gp_memory *base)
{
    struct comparing c = {.m = m};
    m->compared = true;
    GP_EACH(const struct gp_memory_holder, h, base->holders) {
        gp_sid device = gp_intern_from(&m->strings, &base->strings, base->devices.at[h->device].label);
        struct gp_memory_changed *one = change_of(&c, device, gp_memory_str(base, h->key));
        one->base_bytes += h->bytes;
        one->change_bytes -= h->bytes;
        one->base_blocks += h->blocks;
        one->base_sums |= base->devices.at[h->device].history == GP_HISTORY_SUMS;
        m->base_bytes += h->bytes;
    }
    GP_EACH(const struct gp_memory_holder, h, m->holders) {
        struct gp_memory_changed *one =
            change_of(&c, m->devices.at[h->device].label, gp_memory_str(m, h->key));
        one->bytes += h->bytes;
        one->change_bytes += h->bytes;
        one->blocks += h->blocks;
        one->sums |= m->devices.at[h->device].history == GP_HISTORY_SUMS;
    }
    gp_sort_in(m->changes.at, m->changes.n, sizeof *m->changes.at, most_first, m);
    gp_map_release(&c.index);
    gp_buf_release(&c.name);
}

/* ---- fields ---- */

#define AT(member) offsetof(struct gp_memory_changed, member)

GP_GET(get_base_blocks, struct gp_memory_changed, gp_memory_cell_known(c, !r->base_sums, r->base_blocks))

GP_GET(get_blocks, struct gp_memory_changed, gp_memory_cell_known(c, !r->sums, r->blocks))

static const struct gp_field change_fields[] = {
    {"device", "Device", GP_CELL_TEXT, gp_member_sid, AT(device), .help = "as this run calls it"},
    {"key", "Held by", GP_CELL_NAME, gp_member_sid, AT(key),
     .help = "stacks without line numbers, which move with the code"},
    {"base_blocks", "Base blocks", GP_CELL_COUNT, get_base_blocks, 0, .flags = GP_COLUMN_RAW | GP_FIELD_NULL},
    {"blocks", "Blocks now", GP_CELL_COUNT, get_blocks, 0, .flags = GP_COLUMN_RAW | GP_FIELD_NULL},
    {"base_bytes", "Base", GP_CELL_BYTES, gp_member_i64, AT(base_bytes), .help = "held in the base"},
    {"bytes", "Now", GP_CELL_BYTES, gp_member_i64, AT(bytes), .help = "held in this run"},
    {"change_bytes", "Change", GP_CELL_CHANGE_BYTES, gp_member_i64, AT(change_bytes),
     .help = "bytes - base_bytes"},
};
#undef AT

const struct gp_record gp_memory_changes = {
    "comparison",
    "Against the base",
    GP_FIELDS(change_fields),
    sizeof(struct gp_memory_changed),
    .note = "what one holder has in both runs, largest change first; change_bytes sum to the whole",
    .rest = {[1] = {.field = "change_bytes"}}};
