/* records_priv.h -- private to records*.c: fields, tracks, and held records.
 *
 *     struct gp_held_work w = {.start_ns = (int64_t)AT(u64, rec, KERNEL_start), ...};
 *     gp_records_hold(r, &w, &config);
 */
#ifndef GP_COLLECT_RECORDS_RECORDS_PRIV_H
#define GP_COLLECT_RECORDS_RECORDS_PRIV_H

#include <string.h>
#include "collect/records/records.h"

enum {
    GP_HOLD_TICKS = 1,      /* how long something waits for its counterpart */
    GP_INVALID_ID32 = -1,   /* CUPTI's "no such device, context, stream, event" */
    GP_CUPTI_GROWN = 130000 /* from this version on, records have the fields of CUPTI 13 */
};

/* Field FIELD of the record REC, by its offset. */
#define AT(type, rec, field) gp_get_##type((rec), GP_AT_##field)

static inline uint64_t gp_get_u64(const void *rec, size_t at)
{
    uint64_t v;
    memcpy(&v, (const char *)rec + at, sizeof v);
    return v;
}

static inline uint32_t gp_get_u32(const void *rec, size_t at)
{
    uint32_t v;
    memcpy(&v, (const char *)rec + at, sizeof v);
    return v;
}

static inline uint32_t gp_get_u16(const void *rec, size_t at)
{
    uint16_t v;
    memcpy(&v, (const char *)rec + at, sizeof v);
    return v;
}

static inline uint32_t gp_get_u8(const void *rec, size_t at) { return ((const uint8_t *)rec)[at]; }

/* Are its times usable? */
static inline bool gp_held_is_usable(const struct gp_held_work *w)
{
    return w->start_ns > 0 && w->end_ns >= w->start_ns;
}

static inline void gp_records_note_time(struct gp_records *r, int64_t end_ns)
{
    if (end_ns > r->latest_ns) r->latest_ns = end_ns;
}

/* ---- records_hold.c ---- */

/* The track of a stream, created if it is new; GP_INVALID_ID32 for unknown ids. */
uint32_t gp_records_stream(struct gp_records *r, uint32_t device, uint32_t context, uint32_t stream);
/* Hold work back for its call, or count it as lost if its times are not usable. Sets W's config and tick. */
void gp_records_hold(struct gp_records *r, struct gp_held_work *w, const struct gp_config *c);
/* The slot of a correlation id: its index into the calls. If it has none: NULL, or with INSERT, a new one of
 * UINT32_MAX. */
uint32_t *gp_records_slot(struct gp_records *r, uint32_t corr, bool insert);
/* Remove the slots of all correlation ids and make room for N. */
void gp_records_clear_slots(struct gp_records *r, size_t n);
/* The call with that correlation id in the current commit, marked as having work; NULL if there is none. */
struct gp_held_call *gp_records_call(struct gp_records *r, uint32_t corr);
/* Is it too early to give up waiting for the call of a record that arrived in TICK? */
bool gp_records_may_come(const struct gp_records *r, uint32_t tick);

/* ---- records_events.c ---- */

void gp_records_add_sync(struct gp_records *r, const void *rec);
void gp_records_add_event(struct gp_records *r, const void *rec);
/* Write the events and waits that are ready; with ALL, everything. */
void gp_records_write_events(struct gp_records *r, bool all);
void gp_records_release_events(struct gp_records *r);

/* ---- records_graphs.c ---- */

void gp_records_add_graph(struct gp_records *r, const void *rec);
/* Does W, a node of a graph, go into the row of its launch? False: it gets its own row. */
bool gp_records_fold(struct gp_records *r, const struct gp_held_work *w);
/* Write rows for launches that are certainly over; with ALL, for all. */
void gp_records_end_launches(struct gp_records *r, bool all);

/* ---- records_events.c: hardware counters ---- */

/* CUPTI runs a kernel of its own behind each that it measures. */
static inline bool gp_record_is_of_counters(const char *kernel) { return !strcmp(kernel, "WaitNs"); }
/* Nothing more comes. How many launches were measured of which CUPTI handed out no kernel at all? Ask before
 * the next one. */
uint64_t gp_records_vanished(const struct gp_records *r);
/* Nothing more comes. Returns how many have no times. */
uint64_t gp_records_end_timeless(struct gp_records *r);
void gp_records_release_timeless(struct gp_records *r);

/* ---- records_memory.c ---- */

void gp_records_add_unified(struct gp_records *r, const void *rec);
void gp_records_add_pool(struct gp_records *r, const void *rec);

#endif
