#include "collect/records/records.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "collect/wire/filter.h"
#include "formats/base/str.h"
#include "formats/redact.h"

enum { MAX_TEXTS = 1 << 20 };
static const uint64_t SAMPLES_MOST = UINT64_C(1) << 40; /* of a frame */

/* What the sum of all samples lacks has no rows. */
void gp_records_put_pc_counts(struct gp_trace *t, const struct gp_wire_stats *s)
{
    uint64_t known = s->pc_recorded + s->pc_dropped + s->pc_other;
    gp_trace_set_number(t, "pc.samples", (int64_t)s->pc_samples);
    gp_trace_set_number(t, "pc.recorded", (int64_t)s->pc_recorded);
    gp_trace_set_number(t, "pc.dropped", (int64_t)s->pc_dropped);
    gp_trace_set_number(t, "pc.other", (int64_t)s->pc_other);
    gp_trace_set_number(t, "pc.unattributed", s->pc_samples > known ? (int64_t)(s->pc_samples - known) : 0);
    gp_trace_set_number(t, "pc.buffer_full", (int64_t)s->pc_full);
}

static uint32_t track_of(struct gp_records *r, const struct gp_pc_head *h)
{
    struct gp_track k = gp_track_unknown();
    k.kind = GP_TRACK_OTHER;
    k.process = r->process;
    k.tid = -1;
    if (h->device != UINT32_MAX) k.device = h->device;
    if (h->context != UINT32_MAX) k.context = h->context;
    k.name = gp_intern_cstr(&r->trace.strings, "program counters");
    return gp_trace_track(&r->trace, &k);
}

/* A native frame whose name, file and line are final. */
static uint32_t stack_of(struct gp_trace *t, gp_sid function, gp_sid file, const struct gp_pc_row *row)
{
    char module[32];
    int n = snprintf(module, sizeof module, "cubin %016" PRIx64, row->crc);
    struct gp_symbol symbol = {.module = gp_trace_intern(t, module, (size_t)n)};
    struct gp_stack s = {
        .name = function, .file = file, .line = row->line, .symbol = gp_trace_symbol(t, &symbol)};
    return gp_trace_stack(t, &s);
}

static bool take_texts(struct gp_records *r, const struct gp_pc_head *h, const char *at)
{
    const char *end = at + h->text_bytes;
    if (h->texts > MAX_TEXTS - r->pc_texts.n) return false;
    for (uint32_t i = 0; i < h->texts; i++) {
        const char *nul = at < end ? memchr(at, 0, (size_t)(end - at)) : NULL;
        if (!nul || nul == at) return false;
        bool file = *at == GP_PC_TEXT_FILE;
        size_t n = (size_t)(nul - at) - 1;
        GP_VEC_PUSH(&r->pc_texts, file ? gp_records_own_text(r, at + 1, n, gp_redact_name)
                                       : gp_trace_intern(&r->trace, at + 1, n));
        at = nul + 1;
    }
    return true;
}

static void add_row(struct gp_records *r, const struct gp_pc_head *h, uint32_t track,
                    const struct gp_pc_row *row)
{
    struct gp_trace *t = &r->trace;
    struct gp_wire_stats *stats = &r->stats;
    struct gp_events *e = &t->events[GP_PC];
    gp_sid function = r->pc_texts.at[row->function];
    const char *wanted = r->opts.kernel;
    if (wanted && *wanted && !gp_filter_name(wanted, gp_trace_str(t, function))) {
        stats->pc_other += row->samples;
        return;
    }
    if (!row->samples && r->opts.redact) return;
    stats->pc_recorded += row->samples;
    size_t i = gp_events_add(e, h->start_ns, h->end_ns - h->start_ns, track, function);
    gp_set_series(e, i, r->pc_texts.at[row->reason]);
    gp_set_addr(e, i, row->offset);
    gp_set_total(e, i, row->samples);
    gp_set_value(e, i, row->stalled);
    if (!row->samples) gp_set_id(e, i, row->crc);
    if (row->corr) gp_set_corr(e, i, row->corr);
    if (row->line) gp_set_stack(e, i, stack_of(t, function, r->pc_texts.at[row->file], row));
}

static bool head_fits(const struct gp_pc_head *h, size_t n)
{
    return gp_time_fits(h->start_ns) && gp_time_fits(h->end_ns) && h->end_ns >= h->start_ns &&
           h->end_ns - h->start_ns <= GP_DURATION_MOST && h->total < SAMPLES_MOST && h->dropped <= h->total &&
           h->other <= h->total && h->full < SAMPLES_MOST && !(h->text_bytes % 8) &&
           (h->mode == GP_PC_CONTINUOUS || h->mode == GP_PC_LAUNCHES) && h->period <= GP_PC_PERIOD_MOST &&
           (uint64_t)h->text_bytes + h->rows * (uint64_t)sizeof(struct gp_pc_row) == n;
}

bool gp_records_add_pc(struct gp_records *r, const void *payload, size_t n)
{
    struct gp_pc_head h;
    struct gp_trace *t = &r->trace;
    struct gp_wire_stats *stats = &r->stats;
    if (n < sizeof h) return false;
    memcpy(&h, payload, sizeof h);
    const char *at = (const char *)payload + sizeof h;
    if (!head_fits(&h, n - sizeof h) || !take_texts(r, &h, at)) return false;
    uint32_t track = track_of(r, &h);
    at += h.text_bytes;
    for (uint32_t i = 0; i < h.rows; i++, at += sizeof(struct gp_pc_row)) {
        struct gp_pc_row row;
        memcpy(&row, at, sizeof row);
        if (row.function >= r->pc_texts.n || row.reason >= r->pc_texts.n || row.stalled > row.samples ||
            (row.line && row.file >= r->pc_texts.n))
            return false;
        add_row(r, &h, track, &row);
    }
    stats->pc_samples += h.total;
    stats->pc_dropped += h.dropped;
    stats->pc_other += h.other;
    stats->pc_full += h.full;
    gp_records_put_pc_counts(t, stats);
    if (h.period) gp_trace_set_number(t, "pc.period_cycles", INT64_C(1) << h.period);
    const char *mode = h.mode == GP_PC_LAUNCHES ? "\"launch\"" : "\"continuous\"";
    gp_trace_set_meta(t, "pc.mode", mode, strlen(mode));
    if (h.mode == GP_PC_LAUNCHES) gp_trace_set_meta(t, GP_META_DISTORTED, GP_TEXT("true"));
    return true;
}
