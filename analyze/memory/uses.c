/* Allocations and frees of ranges and operators, lifetimes of blocks, and churn. */
#include <stdlib.h>
#include "analyze/memory/memory_priv.h"
#include "formats/base/order.h"

enum { LIFETIMES = 12 }; /* up to 1 us, 10 us, ... 10^10 us, longer */

struct uses {
    struct gp_memory *m;
    struct gp_memory_device *d;
    struct gp_map ranges, operators; /* name -> index */
    struct gp_memory_lifetime lifetimes[LIFETIMES];
};

static struct gp_memory_use *use_of(struct uses *u, struct gp_map *map, gp_memory_uses *all, gp_sid name)
{
    uint32_t *at = gp_map_put(map, name, (uint32_t)all->n);
    if (*at == all->n)
        GP_VEC_PUSH(all, ((struct gp_memory_use){.device = gp_memory_index(u->m, u->d), .name = name}));
    return &all->at[*at];
}

static gp_sid label_of(const struct gp_memory_device *d, uint32_t span)
{
    return span == GP_NO_SPAN ? 0 : d->spans.at[span].label;
}

/* Was it freed before the range that made it ended? */
static bool stays_inside(const struct gp_memory_device *d, const struct gp_memory_life *l)
{
    return l->span != GP_NO_SPAN && l->end <= d->spans.at[l->span].end;
}

static void add_use(struct gp_memory_use *u, const struct gp_memory_device *d, const struct gp_memory_life *l)
{
    u->allocations++;
    u->allocated += l->bytes;
    u->inside += stays_inside(d, l);
}

static void add_free(struct gp_memory_use *u, const struct gp_memory_life *l)
{
    u->frees++;
    u->freed += l->bytes;
}

static void add_lifetime(struct uses *u, const struct gp_memory_life *l)
{
    const struct gp_memory_device *d = u->d;
    int64_t ns = gp_memory_time(d, l->end) - gp_memory_time(d, l->begin);
    int i = 0;
    for (int64_t most = 1000; i < LIFETIMES - 1 && ns > most; most *= 10) i++;
    u->lifetimes[i].blocks++;
    u->lifetimes[i].bytes += l->bytes;
}

static void add_life(struct uses *u, const struct gp_memory_life *l)
{
    struct gp_memory_device *d = u->d;
    const struct gp_memory_site *site = &d->sites.at[l->site];
    bool made = l->begin > 0, freed = l->end <= d->rows;
    gp_sid range = site->range ? site->range : label_of(d, l->span);
    if (made) {
        add_use(use_of(u, &u->ranges, &d->ranges, range), d, l);
        if (site->op) add_use(use_of(u, &u->operators, &d->operators, site->op), d, l);
        d->churn.allocations++;
        d->churn.bytes += l->bytes;
        d->churn.inside += stays_inside(d, l);
    }
    if (freed && l->end) {
        gp_sid where = d->spans.n ? label_of(d, l->end_span) : range;
        add_free(use_of(u, &u->ranges, &d->ranges, where), l);
        if (site->op) add_free(use_of(u, &u->operators, &d->operators, site->op), l);
    }
    if (made && freed && !u->m->untimed) add_lifetime(u, l);
}

GP_COMPARE(most_first, struct gp_memory_use,
           GP_KEY(y->allocated + y->freed, x->allocated + x->freed) GP_UP(name))

void gp_uses_count(struct gp_memory *m, struct gp_memory_device *d)
{
    struct uses u = {.m = m, .d = d};
    d->churn.device = gp_memory_index(m, d);
    if (d->history == GP_HISTORY_SUMS) return;
    for (size_t i = 0; i < d->lives.n; i++) add_life(&u, &d->lives.at[i]);
    if (d->ranges.n) qsort(d->ranges.at, d->ranges.n, sizeof *d->ranges.at, most_first);
    if (d->operators.n) qsort(d->operators.at, d->operators.n, sizeof *d->operators.at, most_first);
    uint32_t warm = d->steps.n ? d->steps.at[0].end : 0;
    for (size_t p = warm; d->steps.n && p < d->rows; p++) {
        uint8_t action = d->s->rows.action[d->first_row + p];
        d->churn.segment_allocs_later += action == GP_ACT_SEGMENT_ALLOC || action == GP_ACT_SEGMENT_MAP;
    }
    int64_t up_to_ns = 1000;
    for (int i = 0; i < LIFETIMES; i++, up_to_ns *= 10) {
        struct gp_memory_lifetime t = u.lifetimes[i];
        t.device = gp_memory_index(u.m, u.d);
        t.up_to_ns = i < LIFETIMES - 1 ? up_to_ns : -1;
        if (t.blocks) GP_VEC_PUSH(&u.d->lifetimes, t);
    }
    gp_map_release(&u.ranges);
    gp_map_release(&u.operators);
}

/* ---- fields ---- */

#define AT(member) offsetof(struct gp_memory_use, member)

/* Nothing is freed inside a range where there are none. */
static void put_inside(struct gp_cell *c, const struct gp_row_of *x, uint32_t device, uint64_t inside)
{
    gp_memory_cell_known(c, gp_memory_device_at(x, device)->spans.n > 0, inside);
}

GP_GETTER(get_range) { gp_cell_owner(c, f, row, x, "[outside any range]"); }

GP_GETTER(get_operator) { gp_cell_owner(c, f, row, x, "[no operator]"); }

GP_GET(get_inside, struct gp_memory_use, put_inside(c, x, r->device, r->inside))

#define USES(heading, get)                                                                                   \
    GP_MEMORY_DEVICE(AT(device)), {"name",                                                                   \
                                   heading,                                                                  \
                                   GP_CELL_NAME,                                                             \
                                   get,                                                                      \
                                   AT(name),                                                                 \
                                   .help = "null: outside of any",                                           \
                                   .flags = GP_FIELD_NULL},                                                  \
        {"allocations", "Allocations", GP_CELL_COUNT, gp_member_u64, AT(allocations), .help = "of blocks"},  \
        {"allocated_bytes", "Allocated",   GP_CELL_BYTES,                                                    \
         gp_member_i64,     AT(allocated), .help = "of those blocks"},                                       \
        {"frees", "Frees", GP_CELL_COUNT, gp_member_u64, AT(frees), .help = "while it ran"},                 \
        {"freed_bytes", "Freed", GP_CELL_BYTES, gp_member_i64, AT(freed), .help = "of those blocks"},        \
    {                                                                                                        \
        "freed_inside", "Inside", GP_CELL_COUNT, get_inside, 0,                                              \
            .help = "of its allocations, freed before it ended; null: there are no ranges",                  \
            .flags = GP_COLUMN_SPARE | GP_FIELD_NULL                                                         \
    }
static const struct gp_field range_fields[] = {USES("Range", get_range)};
static const struct gp_field operator_fields[] = {USES("Operator", get_operator)};
#undef AT

const struct gp_record gp_memory_ranges = {
    "ranges",
    "Allocations and frees by range",
    GP_FIELDS(range_fields),
    sizeof(struct gp_memory_use),
    .note = "what ranges allocate, and what is freed while they run, most bytes first",
    .rest = {[1] = {.field = "allocated_bytes"}}};
const struct gp_record gp_memory_operators = {
    "operators",
    "Allocations and frees by operator",
    GP_FIELDS(operator_fields),
    sizeof(struct gp_memory_use),
    .note = "what operators allocate, and what of it is freed, most bytes first",
    .rest = {[1] = {.field = "allocated_bytes"}}};

#define AT(member) offsetof(struct gp_memory_churn, member)

/* Of sums by category, no blocks are known. */
GP_GET_UNLESS(get_counted, struct gp_memory_churn, gp_member_u64,
              gp_memory_device_at(x, r->device)->history == GP_HISTORY_SUMS)

GP_GETTER_OF(get_churn_inside, struct gp_memory_churn, churn)
{
    put_inside(c, x, churn->device, churn->inside);
    if (!c->none) get_counted(c, f, churn, x);
}

GP_GET_IF(get_segments, struct gp_memory_churn, gp_memory_has_segments(gp_memory_device_at(x, r->device)),
          get_counted(c, f, r, x))

GP_GET_IF(get_later, struct gp_memory_churn, gp_memory_device_at(x, r->device)->steps.n,
          get_segments(c, f, r, x))

static const struct gp_field churn_fields[] = {
    GP_MEMORY_DEVICE(AT(device)),
    {"allocations", "Allocations", GP_CELL_COUNT, get_counted, AT(allocations), .flags = GP_FIELD_NULL},
    {"bytes", "Bytes", GP_CELL_BYTES, get_counted, AT(bytes), .help = "that they asked for, rounded",
     .flags = GP_FIELD_NULL},
    {"freed_inside", "Freed inside", GP_CELL_COUNT, get_churn_inside, AT(inside),
     .help = "freed before their range ended; null: there are no ranges", .flags = GP_FIELD_NULL},
    {"segment_allocs", "cudaMalloc", GP_CELL_COUNT, get_segments, AT(segment_allocs),
     .help = "segments taken from the device", .flags = GP_FIELD_NULL},
    {"segment_allocs_after_first_step", "after step 0", GP_CELL_COUNT, get_later, AT(segment_allocs_later),
     .help = "null: there are no steps", .flags = GP_FIELD_NULL},
    {"segment_frees", "cudaFree", GP_CELL_COUNT, get_segments, AT(segment_frees), .help = "segments returned",
     .flags = GP_FIELD_NULL},
};
#undef AT

const struct gp_record gp_memory_churns = {
    "churn", "Churn", GP_FIELDS(churn_fields), sizeof(struct gp_memory_churn),
    .note = "what a device allocates in all; null: only sums by category were recorded"};

#define AT(member) offsetof(struct gp_memory_lifetime, member)

GP_GETTER_OF(get_lifetime, struct gp_memory_lifetime, t)
{
    static const char *const names[LIFETIMES] = {"up to 1 us",  "up to 10 us",  "up to 100 us",  "up to 1 ms",
                                                 "up to 10 ms", "up to 100 ms", "up to 1 s",     "up to 10 s",
                                                 "up to 100 s", "up to 1000 s", "up to 10000 s", "longer"};
    int i = 0;
    for (int64_t most = 1000; i < LIFETIMES - 1 && t->up_to_ns != most; most *= 10) i++;
    gp_cell_text(c, names[i]);
}

static const struct gp_field lifetime_fields[] = {
    GP_MEMORY_DEVICE(AT(device)),
    {"lifetime", "Lifetime", GP_CELL_TEXT, get_lifetime, 0, .flags = GP_FIELD_TABLES},
    {"up_to_ns", "Up to", GP_CELL_NS, gp_member_known_i64, AT(up_to_ns),
     .help = "and longer than a tenth of it; null: longer than all others",
     .flags = GP_COLUMN_RAW | GP_FIELD_NULL},
    {"blocks", "Blocks", GP_CELL_COUNT, gp_member_u64, AT(blocks), .help = "that were allocated and freed"},
    {"bytes", "Bytes", GP_CELL_BYTES, gp_member_i64, AT(bytes), .help = "of them together"},
};
#undef AT

const struct gp_record gp_memory_lifetimes = {
    "lifetimes", "How long blocks live", GP_FIELDS(lifetime_fields), sizeof(struct gp_memory_lifetime),
    .note = "blocks that were allocated and freed, by how long they lived; none where times mean nothing"};
