/* Shared by all kinds of records: tracks, work that is held back for its call, and finding that call. */
#include <stdio.h>
#include <stdlib.h>
#include "collect/records/records_priv.h"
#include "formats/base/buf.h"
#include "formats/redact.h"

/* ---- tracks ---- */

gp_sid gp_records_thread_name(struct gp_records *r, int64_t tid)
{
    char name[64] = "";
    if (r->opts.thread_name) r->opts.thread_name(r->opts.ctx, tid, name, sizeof name);
    return gp_records_own_text(r, name, strlen(name), gp_redact_name);
}

gp_sid gp_records_own_text(struct gp_records *r, const char *text, size_t n,
                           void (*redact)(struct gp_buf *to, const char *s, size_t n))
{
    return gp_redact_intern(&r->trace, r->opts.redact, text, n, redact);
}

uint32_t gp_records_thread(struct gp_records *r, int64_t tid)
{
    uint32_t *slot = gp_map_put(&r->threads, (uint64_t)tid, UINT32_MAX);
    if (*slot != UINT32_MAX) return *slot;
    struct gp_track k = gp_track_unknown();
    k.kind = GP_TRACK_THREAD;
    k.process = r->process;
    k.tid = tid;
    k.name = gp_records_thread_name(r, tid);
    return *slot = gp_trace_track(&r->trace, &k);
}

uint32_t gp_records_stream(struct gp_records *r, uint32_t device, uint32_t context, uint32_t stream)
{
    uint64_t key = (uint64_t)context << 32 | stream;
    if (r->last_track != UINT32_MAX && r->last_stream == key && r->last_device == device)
        return r->last_track;
    struct gp_track k = gp_track_unknown();
    k.kind = GP_TRACK_STREAM;
    k.process = r->process;
    if (device != (uint32_t)GP_INVALID_ID32) k.device = device;
    if (context != (uint32_t)GP_INVALID_ID32) k.context = context;
    char name[32] = "";
    if (stream != (uint32_t)GP_INVALID_ID32) {
        k.tid = k.stream = stream;
        snprintf(name, sizeof name, "stream %u", (unsigned)stream);
    } else {
        k.tid = -1;
    }
    k.name = gp_trace_intern(&r->trace, name, strlen(name));
    r->last_stream = key;
    r->last_device = device;
    return r->last_track = gp_trace_track(&r->trace, &k);
}

/* ---- work ---- */

void gp_records_lose(struct gp_records *r, const char *what, const char *reason, uint64_t count)
{
    if (!count) return;
    struct gp_loss l = {gp_intern_cstr(&r->trace.strings, what), gp_intern_cstr(&r->trace.strings, reason),
                        count, r->process};
    GP_VEC_PUSH(&r->trace.losses, l);
}

/* ---- calls by correlation id ---- */

uint32_t *gp_records_slot(struct gp_records *r, uint32_t corr, bool insert)
{
    uint64_t key = (uint64_t)r->generation << 32 | corr;
    uint32_t i = (corr * 2654435761u) & r->corr_mask;
    while (r->corr_keys[i] >> 32 == r->generation) {
        if (r->corr_keys[i] == key) return &r->corr_at[i];
        i = (i + 1) & r->corr_mask;
    }
    if (!insert) return NULL;
    r->corr_keys[i] = key;
    r->corr_at[i] = UINT32_MAX;
    return &r->corr_at[i];
}

struct gp_held_call *gp_records_call(struct gp_records *r, uint32_t corr)
{
    uint32_t *slot = corr ? gp_records_slot(r, corr, false) : NULL;
    if (!slot) return NULL;
    r->calls.at[*slot].mate = true;
    return &r->calls.at[*slot];
}

bool gp_records_may_come(const struct gp_records *r, uint32_t tick)
{
    return r->opts.api != GP_API_LEVEL_NONE && r->tick - tick < GP_HOLD_TICKS;
}

void gp_records_clear_slots(struct gp_records *r, size_t n)
{
    size_t size = (size_t)r->corr_mask + 1;
    if (!r->corr_keys || size < 2 * n || r->generation == UINT32_MAX) {
        while (size < 2 * n || size < 1024) size *= 2;
        free(r->corr_keys);
        free(r->corr_at);
        r->corr_keys = gp_zalloc(size * sizeof *r->corr_keys);
        r->corr_at = gp_alloc(size * sizeof *r->corr_at);
        r->corr_mask = (uint32_t)(size - 1);
        r->generation = 0;
    }
    r->generation++; /* makes every entry a free one */
}
