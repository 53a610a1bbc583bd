/* What the driver gave to others than the allocator: it is not in the segments of the snapshot of the same
 * process. */
#include <stdlib.h>
#include <string.h>
#include "analyze/memory/memory_priv.h"
#include "formats/base/order.h"

/* ---- segments ---- */

/* From FIRST to LAST; LAST is the furthest of this one and those before. */
struct reach {
    uint64_t first, last;
};

typedef GP_VEC(struct reach) reaches; /* by first */

GP_COMPARE(by_first, struct reach, GP_UP(first))

/* Where the driver gave the segments of a device: expandable ones are mapped piece by piece, others as
 * one. */
static void index_segments(const struct gp_memory_device *d, reaches *to)
{
    size_t n;
    const struct gp_snapshot_segment *segments = gp_snapshot_segments(d->s, d->number, &n);
    GP_EACH_OF(const struct gp_snapshot_segment, g, segments, n) {
        uint64_t more = g->expandable && g->total_size > 0 ? (uint64_t)g->total_size - 1 : 0;
        struct reach r = {g->address, more > UINT64_MAX - g->address ? UINT64_MAX : g->address + more};
        GP_VEC_PUSH(to, r);
    }
    if (to->n) qsort(to->at, to->n, sizeof *to->at, by_first);
    for (size_t i = 1; i < to->n; i++)
        if (to->at[i].last < to->at[i - 1].last) to->at[i].last = to->at[i - 1].last;
}

static bool is_segment(const reaches *all, uint64_t addr)
{
    GP_SEARCH(lo, 0, all->n, mid, all->at[mid].first <= addr);
    return lo && all->at[lo - 1].last >= addr;
}

/* ---- the snapshot of the same process ---- */

/* A block of the driver's records. */
struct held {
    int32_t number;
    uint32_t input;
    uint64_t addr;
};

/* Blocks of all kinds of memory of one device of an input, and the snapshot that has one of them as a
 * segment. */
struct process {
    int32_t number;
    uint32_t input;
    size_t first, n;
    uint32_t snapshot; /* index of a device; UINT32_MAX: none */
};

struct finding {
    struct gp_memory *m;
    reaches *segments; /* by device */
    GP_VEC(struct held) held;
    GP_VEC(struct process) processes;
};

static int by_number(int32_t a, uint32_t a_input, int32_t b, uint32_t b_input)
{
    if (a != b) return a < b ? -1 : 1;
    return (a_input > b_input) - (a_input < b_input);
}

GP_COMPARE(by_process, struct held, GP_THEN(by_number(x->number, x->input, y->number, y->input)) GP_UP(addr))

static bool holds_one(const struct finding *f, const struct process *p, const struct reach *r)
{
    GP_SEARCH(lo, p->first, p->first + p->n, mid, f->held.at[mid].addr < r->first);
    return lo < p->first + p->n && f->held.at[lo].addr <= r->last;
}

static uint32_t snapshot_of(const struct finding *f, const struct process *p)
{
    for (uint32_t i = 0; i < f->m->devices.n; i++) {
        const reaches *all = &f->segments[i];
        if (f->m->devices.at[i].number != p->number) continue;
        for (size_t k = 0; k < all->n; k++)
            if (holds_one(f, p, &all->at[k])) return i;
    }
    return UINT32_MAX;
}

static void find_processes(struct finding *f)
{
    const struct gp_memory *m = f->m;
    for (size_t i = 0; i < m->devices.n; i++) {
        const struct gp_memory_device *d = &m->devices.at[i];
        if (!d->kind && !d->s->sizes_are_real) index_segments(d, &f->segments[i]);
        for (size_t k = 0; d->kind && k < d->lives.n; k++)
            GP_VEC_PUSH(&f->held, ((struct held){d->number, d->input, d->lives.at[k].addr}));
    }
    if (f->held.n) qsort(f->held.at, f->held.n, sizeof *f->held.at, by_process);
    for (size_t i = 0, end = 0; i < f->held.n; i = end) {
        const struct held *h = &f->held.at[i];
        while (end < f->held.n &&
               !by_number(f->held.at[end].number, f->held.at[end].input, h->number, h->input))
            end++;
        struct process p = {h->number, h->input, i, end - i, UINT32_MAX};
        p.snapshot = snapshot_of(f, &p);
        GP_VEC_PUSH(&f->processes, p);
    }
}

static uint32_t snapshot_of_device(const struct finding *f, const struct gp_memory_device *d)
{
    const struct process *p = f->processes.at;
    GP_SEARCH(lo, 0, f->processes.n, mid, by_number(p[mid].number, p[mid].input, d->number, d->input) < 0);
    return d->kind && d->lives.n ? f->processes.at[lo].snapshot : UINT32_MAX;
}

/* ---- memory outside ---- */

GP_COMPARE(by_owner, struct gp_memory_outside,
           GP_THEN(by_number(x->number, x->input, y->number, y->input)) GP_UP(kind) GP_UP(who))

GP_COMPARE(most_first, struct gp_memory_outside, GP_DOWN(bytes) GP_UP(who) GP_THEN(by_owner(x, y)))

/* Blocks of one owner become one row. */
static void sum_owners(struct gp_memory *m)
{
    struct gp_memory_outside *at = m->outside.at;
    size_t n = 0;
    if (m->outside.n) qsort(at, m->outside.n, sizeof *at, by_owner);
    for (size_t i = 0; i < m->outside.n; i++) {
        if (!n || by_owner(&at[n - 1], &at[i]) != 0) {
            at[n++] = at[i];
            continue;
        }
        at[n - 1].blocks += at[i].blocks;
        at[n - 1].bytes += at[i].bytes;
    }
    m->outside.n = n;
    if (n) qsort(at, n, sizeof *at, most_first);
}

static void add_outside(struct gp_memory *m, const struct gp_memory_device *d, const reaches *segments)
{
    GP_EACH(const struct gp_memory_life, l, d->lives) {
        if (l->end <= d->rows || is_segment(segments, l->addr)) continue;
        struct gp_memory_outside one = {.input = d->input,
                                        .number = d->number,
                                        .kind = d->kind,
                                        .who = d->sites.at[l->site].key,
                                        .blocks = 1,
                                        .bytes = l->bytes};
        GP_VEC_PUSH(&m->outside, one);
    }
}

void gp_outside_find(struct gp_memory *m)
{
    struct finding f = {.m = m, .segments = gp_zalloc((m->devices.n + 1) * sizeof *f.segments)};
    bool *told = gp_zalloc(m->devices.n + 1);
    find_processes(&f);
    for (size_t i = 0; i < m->devices.n; i++) {
        uint32_t snapshot = snapshot_of_device(&f, &m->devices.at[i]);
        if (snapshot == UINT32_MAX) continue;
        told[i] = true;
        add_outside(m, &m->devices.at[i], &f.segments[snapshot]);
    }
    sum_owners(m);
    for (size_t i = 0; i < m->devices.n; i++) GP_VEC_FREE(&f.segments[i]);
    gp_memory_drop_devices(m, told);
    GP_RELEASE(free, told, f.segments);
    GP_RELEASE(gp_vec_free, &f.held, &f.processes);
}

/* ---- fields ---- */

#define AT(member) offsetof(struct gp_memory_outside, member)
static const struct gp_field outside_fields[] = {
    {"device", "Device", GP_CELL_ID, gp_member_rank, AT(number), .help = "its number"},
    {"kind", "Memory", GP_CELL_TEXT, gp_member_sid, AT(kind), .help = "Device, Pinned, Managed"},
    {"who", "Allocated by", GP_CELL_NAME, gp_member_sid, AT(who),
     .help = "what was running when the driver gave it"},
    {"blocks", "Blocks", GP_CELL_COUNT, gp_member_u64, AT(blocks), .help = "pieces that the driver gave"},
    {"bytes", "Bytes", GP_CELL_BYTES, gp_member_i64, AT(bytes), .help = "of them together"},
};
#undef AT

const struct gp_record gp_memory_outsiders = {
    "outside",
    "Outside the allocator, at the end",
    GP_FIELDS(outside_fields),
    sizeof(struct gp_memory_outside),
    .note = "what the driver gave to others than the allocator, still held at the end of the trace",
    .rest = {[1] = {.field = "bytes"}}};
