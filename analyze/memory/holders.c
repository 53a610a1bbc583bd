/* Who holds what is allocated at a position. */
#include <string.h>
#include "analyze/memory/memory_priv.h"
#include "formats/base/buf.h"
#include "formats/base/declare.h"
#include "formats/base/order.h"
#include "formats/base/scale.h"

struct holding {
    struct gp_memory *m;
    uint32_t device, position;
    enum gp_memory_key by;
    struct gp_map index; /* key -> index behind `first` */
    size_t first;
    gp_memory_holders *to;
};

/* The range that holds a block: from its stack, otherwise the innermost at its allocation. */
static gp_sid range_of(const struct gp_memory_device *d, const struct gp_memory_life *l)
{
    const struct gp_memory_site *site = &d->sites.at[l->site];
    if (site->range) return site->range;
    return l->span == GP_NO_SPAN ? 0 : d->spans.at[l->span].label;
}

/* The key of a block: two words of KEYS that no other block has unless it is the same, and its name. */
static gp_sid key_of(struct holding *h, const struct gp_memory_device *d, const struct gp_memory_life *l)
{
    const struct gp_memory_site *site = &d->sites.at[l->site];
    bool recorded;
    const char *none = "[outside any range]";
    gp_sid key = 0;
    switch (h->by) {
    case GP_BY_STACK: return site->key;
    case GP_BY_RANGE:
        key = range_of(d, l);
        if (!l->begin) none = "[before the history]";
        break;
    case GP_BY_OP:
        key = site->op;
        none = "[no operator]";
        break;
    case GP_BY_MODULE:
        key = site->module;
        none = site->stand_in ? gp_memory_str(h->m, site->key) : "[no module]";
        break;
    default: return gp_intern_cstr(&h->m->strings, gp_category_text(gp_memory_category(d, l, &recorded)));
    }
    return key ? key : gp_intern_cstr(&h->m->strings, none);
}

static void add_life(struct holding *h, const struct gp_memory_device *d, const struct gp_memory_life *l)
{
    gp_sid key = key_of(h, d, l);
    uint64_t hash = h->by == GP_BY_STACK ? (uint64_t)l->site << 32 : key;
    uint32_t *at = gp_map_put(&h->index, hash, (uint32_t)(h->to->n - h->first));
    bool recorded;
    enum gp_category category = gp_memory_category(d, l, &recorded);
    if (*at == h->to->n - h->first) {
        struct gp_memory_holder fresh = {.device = h->device,
                                         .key = key,
                                         .site = h->by == GP_BY_STACK ? l->site : UINT32_MAX,
                                         .since_ns = INT64_MAX,
                                         .since_step = UINT32_MAX,
                                         .category = category,
                                         .category_recorded = recorded};
        GP_VEC_PUSH(h->to, fresh);
    }
    struct gp_memory_holder *o = &h->to->at[h->first + *at];
    int64_t since = gp_memory_time(d, l->begin);
    o->blocks++;
    o->bytes += l->bytes;
    o->requested += l->requested;
    if (since < o->since_ns) {
        uint32_t step = l->begin ? gp_memory_step_at(d, l->begin) : UINT32_MAX;
        o->since_ns = since;
        o->since_step = step < d->steps.n ? step : UINT32_MAX;
    }
    if (o->category != category) o->category = GP_CAT_MIXED;
    o->category_recorded &= recorded;
}

GP_COMPARE_IN(most_first, struct gp_memory_holder, struct gp_memory,
              GP_DOWN(bytes) GP_THEN(strcmp(gp_memory_str(of, x->key), gp_memory_str(of, y->key)))
                  GP_UP(site))

/* Add O to TO. */
static void add_holder(struct gp_memory_holder *to, const struct gp_memory_holder *o)
{
    to->blocks += o->blocks;
    to->bytes += o->bytes;
    to->requested += o->requested;
    if (o->since_ns < to->since_ns) {
        to->since_ns = o->since_ns;
        to->since_step = o->since_step;
    }
    if (o->category != to->category) to->category = GP_CAT_MIXED;
    to->category_recorded &= o->category_recorded;
}

/* Those that hold less than the limit become one. */
static void fold_small(struct holding *h)
{
    size_t keep = h->first;
    while (keep < h->to->n && h->to->at[keep].bytes >= h->m->opts.min_bytes) keep++;
    if (h->to->n - keep < 2) return;
    struct gp_memory_holder sum = h->to->at[keep];
    struct gp_buf b = {0};
    gp_buf_printf(&b, "[%zu smaller]", h->to->n - keep);
    for (size_t i = keep + 1; i < h->to->n; i++) add_holder(&sum, &h->to->at[i]);
    sum.key = gp_intern(&h->m->strings, b.data, b.n);
    sum.site = UINT32_MAX;
    gp_buf_release(&b);
    h->to->at[keep] = sum;
    h->to->n = keep + 1;
}

void gp_memory_holders_at(struct gp_memory *m, uint32_t device, uint32_t position, enum gp_memory_key key,
                          gp_memory_holders *to)
{
    const struct gp_memory_device *d = &m->devices.at[device];
    struct holding h = {.m = m, .device = device, .position = position, .by = key, .first = to->n, .to = to};
    GP_EACH(const struct gp_memory_life, l, d->lives)
        if (l->begin <= position && position < l->end) add_life(&h, d, l);
    gp_sort_in(GP_VEC_FROM(to, h.first), to->n - h.first, sizeof *to->at, most_first, m);
    if (m->opts.min_bytes > 0) fold_small(&h);
    gp_map_release(&h.index);
}

void gp_holders_name(struct gp_memory *m)
{
    struct gp_map index = {0};
    size_t first = 0;
    GP_EACH(const struct gp_memory_holder, o, m->holders) {
        if (m->named.n && m->named.at[m->named.n - 1].device != o->device) {
            gp_sort_in(GP_VEC_FROM(&m->named, first), m->named.n - first, sizeof *m->named.at, most_first, m);
            first = m->named.n;
        }
        uint32_t *at = gp_map_put(&index, (uint64_t)o->device << 32 | o->key, (uint32_t)m->named.n);
        if (*at < m->named.n) add_holder(&m->named.at[*at], o);
        else GP_VEC_PUSH(&m->named, *o);
    }
    gp_sort_in(GP_VEC_FROM(&m->named, first), m->named.n - first, sizeof *m->named.at, most_first, m);
    gp_map_release(&index);
}

/* ---- fields ---- */

#define AT(member) offsetof(struct gp_memory_holder, member)

enum { STEP_NAME_BYTES = 120 };

static const struct gp_memory_device *device_of(const struct gp_row_of *x, const void *row)
{
    return gp_memory_device_at(x, ((const struct gp_memory_holder *)row)->device);
}

GP_GETTER(get_kind) { gp_cell_text(c, gp_memory_key_name(gp_memory_of(x)->opts.by)); }

GP_GET(get_stack, struct gp_memory_holder, gp_memory_cell_site(c, x, device_of(x, row), r->site))

GP_GET(get_stand_in, struct gp_memory_holder,
       c->i = r->site != UINT32_MAX && device_of(x, row)->sites.at[r->site].stand_in)

/* Of sums by category, no blocks are known. */
GP_GET(get_blocks, struct gp_memory_holder,
       gp_memory_cell_known(c, device_of(x, row)->history != GP_HISTORY_SUMS, r->blocks))

GP_GETTER_OF(get_category, struct gp_memory_holder, h)
{
    struct gp_buf label = {0};
    if (h->category == GP_CAT_UNKNOWN) gp_buf_putc(&label, '-');
    else gp_buf_printf(&label, "%s%s", gp_category_text(h->category), h->category_recorded ? "" : "?");
    gp_cell_text(c, gp_category_name(h->category));
    gp_cell_shown(c, &label, x);
}

GP_GET(get_category_from, struct gp_memory_holder,
       gp_cell_text(c, r->category_recorded ? "recorded" : "guess"))

/* The name of a step, or as much of it as there is room for. */
static void put_step(struct gp_buf *b, const struct gp_row_of *x, gp_sid name)
{
    const char *s = gp_string(x->strings, name);
    size_t n = gp_string_len(x->strings, name), most = STEP_NAME_BYTES;
    if (n <= most) {
        gp_buf_put(b, s, n);
        return;
    }
    while (((unsigned char)s[most] & 0xc0) == 0x80) most--;
    gp_buf_put(b, s, most);
    gp_buf_puts(b, "\xE2\x80\xA6");
}

GP_GETTER_OF(get_since, struct gp_memory_holder, h)
{
    const struct gp_memory_device *d = device_of(x, h);
    struct gp_buf b = {0};
    if (h->since_ns == INT64_MIN) gp_buf_puts(&b, "before");
    else if (h->since_step != UINT32_MAX && d->steps_by_optimizer)
        gp_buf_printf(&b, "step %u", (unsigned)h->since_step);
    else if (h->since_step != UINT32_MAX) put_step(&b, x, d->steps.at[h->since_step].name);
    else if (d->steps.n && h->since_ns < d->steps.at[0].begin_ns) gp_buf_puts(&b, "start");
    else if (!x->untimed) gp_scale_put(&b, GP_UNIT_NS, h->since_ns - d->begin_ns);
    gp_cell_take(c, &b, x);
}

static const char *const kinds[] = {GP_MEMORY_KEYS(GP_SECOND) NULL};
static const char *const categories[] = {GP_CATEGORIES(GP_SECOND) NULL};
const char *const gp_memory_froms[] = {"recorded", "guess", NULL};

static const struct gp_field holder_fields[] = {
    GP_MEMORY_DEVICE(AT(device)),
    {"key", "Allocated by", GP_CELL_NAME, gp_member_sid, AT(key),
     .help = "innermost frame < the program's own code"},
    {"kind", "Kind", GP_CELL_TEXT, get_kind, 0, .help = "of key", .flags = GP_COLUMN_RAW, .words = kinds},
    {"stack", NULL, GP_CELL_LIST, get_stack, 0, .help = GP_MEMORY_STACK, .rows = &gp_memory_frames},
    {"stand_in", "Stand-in", GP_CELL_BOOL, get_stand_in, 0,
     .help = "no stack was recorded: the key is the best that is known", .flags = GP_COLUMN_RAW},
    {"blocks", "Blocks", GP_CELL_COUNT, get_blocks, AT(blocks), .flags = GP_FIELD_NULL},
    {"bytes", "Bytes", GP_CELL_BYTES, gp_member_i64, AT(bytes), .help = "as the allocator rounds them"},
    {"requested_bytes", "Requested", GP_CELL_BYTES, gp_member_i64, AT(requested), .flags = GP_COLUMN_RAW},
    {"category", "Holds", GP_CELL_TEXT, get_category, 0,
     .help = "with a question mark: guessed from when it was allocated and freed", .after = "blocks",
     .words = categories},
    {"category_from", "Category from", GP_CELL_TEXT, get_category_from, 0, .flags = GP_COLUMN_RAW,
     .words = gp_memory_froms},
    {"share_pct", "Share", GP_CELL_PCT, gp_member_share, AT(bytes), .help = "of what was allocated",
     .flags = GP_COLUMN_BAR | GP_COLUMN_SPARE | GP_FIELD_TABLES, .after = "bytes"},
    {"since", "Since", GP_CELL_TEXT, get_since, 0, .help = "when the oldest of the blocks was allocated",
     .flags = GP_FIELD_TABLES},
    {"since_ns", "Since", GP_CELL_NS, gp_memory_get_ns, AT(since_ns),
     .help = "when the oldest of the blocks was allocated; null: before the history begins",
     .flags = GP_COLUMN_RAW | GP_FIELD_NULL | GP_FIELD_SIGNED},
};

const struct gp_record gp_memory_holder_rows = {
    "holders",
    "What held the peak",
    GP_FIELDS(holder_fields),
    sizeof(struct gp_memory_holder),
    .note = "what held memory at that moment, by device, then most bytes first",
    .rest = {[1] = {.field = "bytes"}}};

static const struct gp_field oom_holder_fields[] = {
    {"key", NULL, GP_CELL_NAME, gp_member_sid, AT(key), .help = "the stack, as a person reads it"},
    {"blocks", NULL, GP_CELL_COUNT, gp_member_u64, AT(blocks), .help = "of this stack"},
    {"bytes", NULL, GP_CELL_BYTES, gp_member_i64, AT(bytes), .help = "as the allocator rounds them"},
};
#undef AT

const struct gp_record gp_memory_oom_holders = {"holders", "Memory held when it ran out",
                                                GP_FIELDS(oom_holder_fields),
                                                .size = sizeof(struct gp_memory_holder)};
