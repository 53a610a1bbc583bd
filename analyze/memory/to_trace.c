/* The history of an allocator as events of a trace. */
#include "analyze/memory/memory.h"

#include <stdlib.h>
#include <string.h>
#include "formats/base/buf.h"
#include "formats/base/mem.h"
#include "formats/base/order.h"

/* A block of D that begins or ends at a position. */
struct change {
    uint32_t position, life;
    bool frees;
};

struct writing {
    const struct gp_memory *m;
    const struct gp_memory_device *d;
    struct gp_trace *t;
    uint32_t thread;
    gp_sid name, args;
    int64_t total, reserved;
    struct change *changes; /* by position; frees before allocations */
    size_t n;
};

static uint32_t make_thread(struct gp_trace *t)
{
    struct gp_process p = gp_process_unknown();
    struct gp_track k = gp_track_unknown();
    k.kind = GP_TRACK_THREAD;
    k.process = gp_trace_process(t, &p);
    k.tid = 1;
    return gp_trace_track(t, &k);
}

static gp_sid make_args(struct gp_trace *t, const struct gp_memory_device *d)
{
    struct gp_buf b = {0};
    gp_buf_printf(&b, "{\"Device Type\":%d,\"Device Id\":%d}", d->number >= 0, (int)d->number);
    gp_sid args = gp_trace_intern(t, b.data, b.n);
    gp_buf_release(&b);
    return args;
}

/* ---- blocks ---- */

GP_COMPARE(by_position, struct change, GP_UP(position) GP_DOWN(frees) GP_UP(life))

/* What is there before the history goes into the total that it begins with. */
static void collect(struct writing *w)
{
    const struct gp_memory_device *d = w->d;
    w->changes = gp_alloc((2 * d->lives.n + 1) * sizeof *w->changes);
    for (size_t i = 0; i < d->lives.n; i++) {
        const struct gp_memory_life *l = &d->lives.at[i];
        if (!l->begin && l->end) w->total += l->bytes;
        if (l->begin && l->end > l->begin) w->changes[w->n++] = (struct change){l->begin, (uint32_t)i, false};
        if (l->end && l->end <= d->rows && (l->end > l->begin || !l->begin))
            w->changes[w->n++] = (struct change){l->end, (uint32_t)i, true};
    }
    qsort(w->changes, w->n, sizeof *w->changes, by_position);
}

static void put_row(struct writing *w, int64_t time_ns, int64_t bytes, uint64_t addr)
{
    struct gp_events *e = &w->t->events[GP_MEMORY];
    size_t row = gp_events_add(e, time_ns, 0, w->thread, w->name);
    w->total += bytes;
    gp_set_bytes(e, row, bytes);
    gp_set_addr(e, row, addr);
    gp_set_total(e, row, w->total);
    gp_set_reserved(e, row, w->reserved);
    gp_set_extra(e, row, w->args);
}

static void put_blocks(struct writing *w)
{
    const struct gp_memory_device *d = w->d;
    size_t next = 0;
    w->reserved = d->reserved_start;
    for (uint32_t p = 1; p <= d->rows; p++) {
        int64_t mapped = gp_memory_mapped(d, p), time_ns = gp_memory_time(d, p);
        w->reserved += mapped;
        if (mapped < 0) put_row(w, time_ns, 0, 0);
        for (; next < w->n && w->changes[next].position == p; next++) {
            const struct gp_memory_life *l = &d->lives.at[w->changes[next].life];
            put_row(w, time_ns, w->changes[next].frees ? -l->bytes : l->bytes, l->addr);
        }
    }
}

/* ---- ranges, and where memory ran out ---- */

static void put_ranges(struct writing *w)
{
    const struct gp_memory_device *d = w->d;
    struct gp_events *e = &w->t->events[GP_RANGE];
    GP_EACH(const struct gp_memory_span, s, d->spans) {
        int64_t end_ns = s->end_ns == INT64_MAX ? d->end_ns : s->end_ns;
        gp_sid name = gp_intern_from(&w->t->strings, &w->m->strings, s->name);
        gp_events_add(e, s->begin_ns, end_ns > s->begin_ns ? end_ns - s->begin_ns : 0, w->thread, name);
    }
}

static void put_ooms(struct writing *w)
{
    const struct gp_memory_device *d = w->d;
    struct gp_events *e = &w->t->events[GP_MARK];
    gp_sid name = d->ooms.n ? gp_intern_cstr(&w->t->strings, "out of memory") : 0;
    for (size_t i = 0; i < d->ooms.n; i++) {
        struct gp_buf b = {0};
        const struct gp_memory_oom *o = &d->ooms.at[i];
        gp_buf_printf(&b, "{\"Device Id\":%d,\"Requested\":%lld,\"Verdict\":\"%s\"}", (int)d->number,
                      (long long)o->requested, gp_oom_verdict_name(o->verdict));
        gp_set_extra(e, gp_events_add(e, o->time_ns, 0, w->thread, name), gp_trace_intern(w->t, b.data, b.n));
        gp_buf_release(&b);
    }
}

/* ---- all of it ---- */

static bool has_ranges_of(const struct gp_memory *m, size_t device)
{
    for (size_t i = 0; i < device; i++)
        if (m->devices.at[i].s == m->devices.at[device].s) return true;
    return false;
}

void gp_memory_to_trace(const struct gp_memory *m, struct gp_trace *t)
{
    struct writing w = {.m = m, .t = t, .thread = make_thread(t)};
    w.name = gp_intern_cstr(&t->strings, "[memory]");
    for (size_t i = 0; i < m->devices.n; i++) {
        w.d = &m->devices.at[i];
        w.args = make_args(t, w.d);
        w.total = 0;
        w.n = 0;
        collect(&w);
        put_blocks(&w);
        put_ooms(&w);
        if (!has_ranges_of(m, i)) put_ranges(&w); /* annotations are those of the process */
        free(w.changes);
    }
    for (size_t i = 0; i < m->inputs.n; i++)
        for (int k = 0; k < GP_ISSUE_COUNT; k++) {
            const struct gp_issue *q = &m->inputs.at[i].issues[k];
            if (q->count) gp_trace_issue(t, (enum gp_issue_kind)k, q->count, q->first_offset);
        }
}
