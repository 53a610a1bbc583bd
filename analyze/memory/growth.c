/* What is alive at the end of each step and grows from one to the next: leaks, by where they are made. */
#include <stdlib.h>
#include "analyze/memory/memory_priv.h"
#include "formats/base/order.h"

enum { RISES_LEAST = 2, RISES_CERTAIN = 4, RISES_STAIRS = 3 };

/* Alive at the ends of steps FIRST to LAST - 1. Sites of one name are one: the same line is called from
 * several. */
struct across {
    gp_sid key;
    uint32_t site, first, last;
    int64_t bytes;
};

typedef GP_VEC(struct across) acrosses;

/* The first step that ends at POSITION or later. */
static uint32_t first_end(const struct gp_memory_device *d, uint32_t position)
{
    GP_SEARCH(lo, 0, d->steps.n, mid, d->steps.at[mid].end < position);
    return (uint32_t)lo;
}

GP_COMPARE(by_key, struct across, GP_UP(key) GP_UP(first) GP_UP(last) GP_UP(site))

/* How well a line fits N values. */
static double fit(const int64_t *v, size_t n)
{
    double mx = (double)(n - 1) / 2, my = 0, sxy = 0, sxx = 0, syy = 0;
    for (size_t i = 0; i < n; i++) my += (double)v[i] / (double)n;
    for (size_t i = 0; i < n; i++) {
        double dx = (double)i - mx, dy = (double)v[i] - my;
        sxy += dx * dy;
        sxx += dx * dx;
        syy += dy * dy;
    }
    return sxx > 0 && syy > 0 ? sxy * sxy / (sxx * syy) : 0;
}

/* BYTES and BLOCKS of what is like FRESH at the N ends of steps. */
static void judge(struct gp_memory_device *d, const struct gp_memory_growth *fresh, const int64_t *bytes,
                  const int64_t *blocks, size_t n)
{
    uint32_t rises = 0;
    for (size_t i = 1; i < n; i++) {
        if (bytes[i] < bytes[i - 1]) return;
        rises += bytes[i] > bytes[i - 1];
    }
    size_t spans = n - 1;
    double r2 = fit(bytes, n);
    bool each = rises == spans;
    if (rises < RISES_LEAST || (!each && (rises < RISES_STAIRS || r2 < 0.9))) return;
    struct gp_memory_growth g = {.device = fresh->device,
                                 .site = fresh->site,
                                 .bytes = bytes[n - 1] - bytes[0],
                                 .bytes_per_step = (bytes[n - 1] - bytes[0]) / (int64_t)spans,
                                 .blocks = blocks[n - 1] - blocks[0],
                                 .steps = (uint32_t)spans,
                                 .rises = rises,
                                 .r2 = r2,
                                 .certain = each && rises >= RISES_CERTAIN};
    GP_VEC_PUSH(&d->growth, g);
}

GP_COMPARE(most_first, struct gp_memory_growth, GP_DOWN(bytes) GP_UP(site))

void gp_growth_find(const struct gp_memory *m, struct gp_memory_device *d)
{
    size_t n = d->steps.n;
    acrosses all = {0};
    if (n <= RISES_LEAST) return;
    GP_EACH(const struct gp_memory_life, l, d->lives) {
        struct across a = {d->sites.at[l->site].key, l->site, first_end(d, l->begin), first_end(d, l->end),
                           l->bytes};
        if (a.first < a.last) GP_VEC_PUSH(&all, a);
    }
    if (all.n) qsort(all.at, all.n, sizeof *all.at, by_key);
    int64_t *bytes = gp_alloc((n + 1) * sizeof *bytes), *blocks = gp_alloc((n + 1) * sizeof *blocks);
    for (size_t i = 0; i < all.n;) {
        gp_sid key = all.at[i].key;
        struct gp_memory_growth fresh = {.device = gp_memory_index(m, d), .site = all.at[i].site};
        for (size_t k = 0; k <= n; k++) bytes[k] = blocks[k] = 0;
        for (; i < all.n && all.at[i].key == key; i++) {
            bytes[all.at[i].first] += all.at[i].bytes;
            bytes[all.at[i].last] -= all.at[i].bytes;
            blocks[all.at[i].first]++;
            blocks[all.at[i].last]--;
        }
        for (size_t k = 1; k < n; k++) {
            bytes[k] += bytes[k - 1];
            blocks[k] += blocks[k - 1];
        }
        judge(d, &fresh, bytes, blocks, n);
    }
    free(bytes);
    free(blocks);
    GP_VEC_FREE(&all);
    if (d->growth.n) qsort(d->growth.at, d->growth.n, sizeof *d->growth.at, most_first);
}

/* ---- fields ---- */

#define AT(member) offsetof(struct gp_memory_growth, member)

static const struct gp_memory_site *site_of(const struct gp_row_of *x, const struct gp_memory_growth *g)
{
    return &gp_memory_device_at(x, g->device)->sites.at[g->site];
}

GP_GETTER(get_key) { gp_member_sid(c, f, &site_of(x, row)->key, x); }

GP_GET(get_stack, struct gp_memory_growth,
       gp_memory_cell_site(c, x, gp_memory_device_at(x, r->device), r->site))

GP_GETTER(get_stand_in) { c->i = site_of(x, row)->stand_in; }

/* People see whole numbers as such. */
GP_GETTER_OF(get_blocks_per_step, struct gp_memory_growth, g)
{
    if (x->labels && g->blocks % g->steps == 0) {
        c->type = GP_CELL_COUNT;
        c->i = g->blocks / g->steps;
    } else {
        gp_cell_real(c, (double)g->blocks / g->steps);
    }
}

static const struct gp_field growth_fields[] = {
    GP_MEMORY_DEVICE(AT(device)),
    {"key", "Allocated by", GP_CELL_NAME, get_key, 0, .help = "innermost frame < the program's own code"},
    {"stack", NULL, GP_CELL_LIST, get_stack, 0, .help = GP_MEMORY_STACK, .rows = &gp_memory_frames},
    {"stand_in", "Stand-in", GP_CELL_BOOL, get_stand_in, 0,
     .help = "no stack was recorded: the key is the best that is known", .flags = GP_COLUMN_RAW},
    {"bytes_per_step", "Per step", GP_CELL_BYTES, gp_member_i64, AT(bytes_per_step),
     .help = "mean over the steps after the first"},
    {"blocks_per_step", "Blocks", GP_CELL_REAL, get_blocks_per_step, 0, .help = "per step",
     .flags = GP_FIELD_SIGNED},
    {"bytes", "In all", GP_CELL_BYTES, gp_member_i64, AT(bytes), .help = "after the first step"},
    {"steps", "Steps", GP_CELL_COUNT, gp_member_u32, AT(steps), .help = "that were compared"},
    {"rises", "Rises", GP_CELL_COUNT, gp_member_u32, AT(rises),
     .help = "steps that end with more memory held than before", .after = "bytes"},
    {"certain", "Certain", GP_CELL_BOOL, gp_member_bool, AT(certain),
     .help = "rose at the end of each of four steps or more", .flags = GP_COLUMN_RAW},
    {"r2", "R2", GP_CELL_REAL, gp_member_double, AT(r2), .help = "how well a line fits",
     .flags = GP_COLUMN_RAW},
};
#undef AT

const struct gp_record gp_memory_growths = {
    "growth",
    "Growth from step to step",
    GP_FIELDS(growth_fields),
    sizeof(struct gp_memory_growth),
    .note = "what is alive at the ends of steps and never falls, most bytes first",
    .rest = {[1] = {.field = "bytes"}}};
