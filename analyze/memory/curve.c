/* What was allocated, in use and reserved at each position of a history: the peak, and a curve that can be
 * drawn. */
#include <stdlib.h>
#include <string.h>
#include "analyze/memory/memory_priv.h"

enum { BUCKETS = 1500 };

int64_t gp_memory_time(const struct gp_memory_device *d, uint32_t position)
{
    if (!d->rows) return INT64_MIN;
    if (!position) return INT64_MIN;
    size_t i = position > d->rows ? d->rows : position;
    return d->s->rows.time_ns[d->first_row + i - 1];
}

struct sums {
    uint32_t device;             /* index */
    int64_t *allocated, *active; /* changes by position; one more than there are entries */
    int64_t now_allocated, now_active, now_reserved;
};

static void add_lives(const struct gp_memory_device *d, struct sums *s)
{
    size_t last = d->rows;
    GP_EACH(const struct gp_memory_life, l, d->lives) {
        if (l->end > l->begin || !l->begin) {
            s->allocated[l->begin] += l->end ? l->bytes : 0;
            if (l->end && l->end <= last) s->allocated[l->end] -= l->bytes;
        }
        s->active[l->begin] += l->bytes;
        uint32_t done = l->done > l->begin ? l->done : l->begin;
        if (done <= last) s->active[done] -= l->bytes;
    }
}

int64_t gp_memory_mapped(const struct gp_memory_device *d, uint32_t position)
{
    const struct gp_snapshot_rows *rows = &d->s->rows;
    size_t row = d->first_row + position - 1;
    switch (rows->action[row]) {
    case GP_ACT_SEGMENT_ALLOC:
    case GP_ACT_SEGMENT_MAP: return rows->size[row];
    case GP_ACT_SEGMENT_FREE:
    case GP_ACT_SEGMENT_UNMAP: return -rows->size[row];
    default: return 0;
    }
}

static struct gp_memory_point point_at(const struct gp_memory_device *d, const struct sums *s,
                                       uint32_t position)
{
    int64_t time_ns = gp_memory_time(d, position);
    if (time_ns == INT64_MIN) time_ns = d->begin_ns;
    return (struct gp_memory_point){time_ns,         s->now_allocated, s->now_active,
                                    s->now_reserved, position,         s->device};
}

/* The highest and the lowest point of a piece of the history. */
struct bucket {
    struct gp_memory_point high, low, reserved;
    bool any;
};

static void put_point(struct gp_memory_device *d, const struct gp_memory_point *p)
{
    size_t n = d->series.n;
    if (n && d->series.at[n - 1].position >= p->position) return;
    GP_VEC_PUSH(&d->series, *p);
}

static void flush(struct gp_memory_device *d, struct bucket *b)
{
    struct gp_memory_point p[3] = {b->high, b->low, b->reserved};
    if (!b->any) return;
    for (int i = 0; i < 3; i++)
        for (int k = i + 1; k < 3; k++)
            if (p[k].position < p[i].position) {
                struct gp_memory_point swap = p[i];
                p[i] = p[k];
                p[k] = swap;
            }
    for (int i = 0; i < 3; i++) put_point(d, &p[i]);
    b->any = false;
}

static void note_peaks(struct gp_memory_device *d, const struct sums *s, uint32_t position)
{
    if (s->now_reserved > d->reserved_peak) d->reserved_peak = s->now_reserved;
    if (position && s->now_allocated <= d->peak_bytes) return;
    d->peak_bytes = s->now_allocated;
    d->peak_position = position;
    d->reserved_at_peak = s->now_reserved;
}

static void walk(struct gp_memory_device *d, struct sums *s)
{
    struct bucket bucket = {.any = false};
    size_t oom = 0, per_bucket = d->rows / BUCKETS + 1;
    s->now_reserved = d->reserved_start;
    for (uint32_t p = 0; p <= d->rows; p++) {
        s->now_allocated += s->allocated[p];
        s->now_active += s->active[p];
        if (p) s->now_reserved += gp_memory_mapped(d, p);
        note_peaks(d, s, p);
        for (; oom < d->ooms.n && d->ooms.at[oom].position == p; ++oom) {
            struct gp_memory_oom *o = &d->ooms.at[oom];
            o->reserved = s->now_reserved;
            o->allocated = s->now_allocated;
            o->active = s->now_active;
        }
        struct gp_memory_point here = point_at(d, s, p);
        if (!bucket.any || here.allocated > bucket.high.allocated) bucket.high = here;
        if (!bucket.any || here.allocated < bucket.low.allocated) bucket.low = here;
        if (!bucket.any || here.reserved > bucket.reserved.reserved) bucket.reserved = here;
        bucket.any = true;
        if (!p || p == d->rows || p % per_bucket == 0) flush(d, &bucket);
    }
    struct gp_memory_point end = point_at(d, s, (uint32_t)d->rows);
    put_point(d, &end);
}

void gp_curve(const struct gp_memory *m, struct gp_memory_device *d)
{
    struct sums s = {.device = gp_memory_index(m, d),
                     .allocated = gp_zalloc((d->rows + 2) * sizeof *s.allocated),
                     .active = gp_zalloc((d->rows + 2) * sizeof *s.active)};
    add_lives(d, &s);
    walk(d, &s);
    /* Who was alive at the peak. */
    GP_EACH(const struct gp_memory_life, l, d->lives)
        if (l->begin <= d->peak_position && d->peak_position < l->end)
            d->peak_requested_bytes += l->requested;
    d->peak_ns = gp_memory_time(d, d->peak_position);
    bool measured = d->fragmentation.known;
    if (!measured) d->end_bytes = s.now_allocated;
    free(s.allocated);
    free(s.active);
}

/* ---- fields ---- */

#define AT(member) offsetof(struct gp_memory_point, member)

GP_GET(get_reserved, struct gp_memory_point,
       gp_memory_cell_known(c, gp_memory_has_segments(gp_memory_device_at(x, r->device)),
                            (uint64_t)r->reserved))

static const struct gp_field point_fields[] = {
    GP_MEMORY_DEVICE(AT(device)),
    {"time_ns", NULL, GP_CELL_NS, gp_member_i64, AT(time_ns), .flags = GP_FIELD_SIGNED},
    {"allocated_bytes", NULL, GP_CELL_BYTES, gp_member_i64, AT(allocated), .help = "in blocks"},
    {"active_bytes", NULL, GP_CELL_BYTES, gp_member_i64, AT(active),
     .help = "allocated, or freed and still used by a stream"},
    {"reserved_bytes", NULL, GP_CELL_BYTES, get_reserved, 0, .help = "null: no segments are recorded",
     .flags = GP_FIELD_NULL},
};
#undef AT

const struct gp_record gp_memory_series = {
    "series", "Memory over time", GP_FIELDS(point_fields), sizeof(struct gp_memory_point),
    .note = "reduced; keeps the highest and lowest point of each piece, and so the peak"};
