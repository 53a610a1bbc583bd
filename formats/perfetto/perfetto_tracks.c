/* Who has events: processes, devices, threads, streams, counters. */
#include <inttypes.h>
#include <stdio.h>
#include "formats/base/utf8.h"
#include "formats/perfetto/perfetto_priv.h"

static void put_text(struct gp_buf *b, uint32_t tag, const char *text, size_t n)
{
    struct gp_buf clean = {0};
    gp_utf8_repair(&clean, text, n);
    gp_put_bytes(b, tag, clean.n ? clean.data : "", clean.n);
    gp_buf_release(&clean);
}

static bool fits(int64_t id) { return id >= 0 && id <= INT32_MAX; }

/* A pid that is a text, or too large, is replaced by one that no system gives out. */
static int64_t pid_of(const struct gp_pf *w, uint32_t process)
{
    enum { ABOVE_ALL = 1 << 23 };
    const struct gp_process *p = &w->t->processes.at[process];
    return p->pid_text || !fits(p->pid) ? ABOVE_ALL + (int64_t)process : p->pid;
}

static void put_process(struct gp_pf *w, uint32_t i)
{
    const struct gp_process *p = &w->t->processes.at[i];
    struct gp_buf track = {0}, process = {0}, name = {0};
    gp_buf_puts(&name, gp_trace_str(w->t, p->name ? p->name : p->pid_text));
    if (p->labels && !p->name) gp_buf_puts(&name, gp_trace_str(w->t, p->labels));
    w->process_uuids[i] = ++w->uuids;
    gp_put_number(&track, GP_PF_UUID, w->process_uuids[i]);
    gp_put_number(&process, GP_PF_PID, (uint64_t)pid_of(w, i));
    put_text(&process, GP_PF_PROCESS_NAME, gp_buf_str(&name), name.n);
    gp_put_bytes(&track, GP_PF_PROCESS, process.data, process.n);
    gp_pf_packet(w, GP_PF_TRACK, &track);
    GP_RELEASE(gp_buf_release, &track, &process, &name);
}

void gp_pf_processes(struct gp_pf *w)
{
    w->process_uuids = gp_zalloc((w->t->processes.n + 1) * sizeof *w->process_uuids);
    for (uint32_t i = 0; i < w->t->processes.n; i++) put_process(w, i);
}

/* A named track below another one; events of equal names in different ones stay apart. */
static uint64_t put_named(struct gp_pf *w, uint64_t parent, const char *name, size_t n, uint32_t rank,
                          const struct gp_buf *counter)
{
    struct gp_buf track = {0};
    uint64_t uuid = ++w->uuids;
    gp_put_number(&track, GP_PF_UUID, uuid);
    put_text(&track, GP_PF_NAME, name, n);
    gp_put_number(&track, GP_PF_PARENT, parent);
    if (counter) gp_put_bytes(&track, GP_PF_COUNTER, counter->data, counter->n);
    if (rank) gp_put_number(&track, GP_PF_RANK, rank);
    gp_put_number(&track, GP_PF_MERGE, GP_PF_MERGE_NONE);
    gp_pf_packet(w, GP_PF_TRACK, &track);
    gp_buf_release(&track);
    return uuid;
}

/* The group of a device's streams in their process. */
static uint64_t device_group(struct gp_pf *w, const struct gp_track *k)
{
    uint64_t key = (uint64_t)k->process << 32 | ((uint64_t)k->device & UINT32_MAX);
    uint32_t *at = gp_map_put(&w->group_uuids, key, 0);
    if (*at) return *at;
    char name[40];
    int n = snprintf(name, sizeof name, "GPU %" PRId64, k->device);
    uint64_t uuid = put_named(w, w->process_uuids[k->process], name, (size_t)n, 0, NULL);
    *gp_map_put(&w->group_uuids, key, 0) = (uint32_t)uuid;
    return uuid;
}

static void put_name(struct gp_pf *w, const struct gp_track *k, struct gp_buf *b)
{
    gp_sid name = k->name ? k->name : k->tid_text;
    if (name) gp_buf_put(b, gp_trace_str(w->t, name), gp_string_len(&w->t->strings, name));
    else if (k->kind == GP_TRACK_STREAM && k->stream < 0) gp_buf_puts(b, "no stream");
    else if (k->kind == GP_TRACK_STREAM) gp_buf_printf(b, "stream %" PRId64, k->stream);
    else gp_buf_printf(b, "thread %" PRId64, k->tid);
}

uint64_t gp_pf_track(struct gp_pf *w, uint32_t track, const char *suffix)
{
    const struct gp_track *k = &w->t->tracks.at[track];
    struct gp_buf name = {0}, descriptor = {0}, thread = {0};
    uint64_t uuid;
    put_name(w, k, &name);
    bool is_thread = k->kind == GP_TRACK_THREAD && !k->tid_text && fits(k->tid) && !*suffix;
    if (is_thread) {
        uuid = ++w->uuids;
        gp_put_number(&descriptor, GP_PF_UUID, uuid);
        gp_put_number(&descriptor, GP_PF_PARENT, w->process_uuids[k->process]);
        gp_put_number(&thread, GP_PF_PID, (uint64_t)pid_of(w, k->process));
        gp_put_number(&thread, GP_PF_TID, (uint64_t)k->tid);
        put_text(&thread, GP_PF_THREAD_NAME, name.data, name.n);
        gp_put_bytes(&descriptor, GP_PF_THREAD, thread.data, thread.n);
        gp_put_number(&descriptor, GP_PF_RANK, track + 1);
        gp_pf_packet(w, GP_PF_TRACK, &descriptor);
    } else {
        bool on_device = k->kind == GP_TRACK_STREAM && k->device >= 0;
        gp_buf_puts(&name, suffix);
        uuid = put_named(w, on_device ? device_group(w, k) : w->process_uuids[k->process], name.data, name.n,
                         track + 1, NULL);
    }
    GP_RELEASE(gp_buf_release, &name, &descriptor, &thread);
    return uuid;
}

uint64_t gp_pf_counter(struct gp_pf *w, uint32_t process, const char *name, size_t n, bool bytes)
{
    struct gp_buf counter = {0};
    gp_put_number(&counter, GP_PF_UNIT, bytes ? GP_PF_UNIT_BYTES : GP_PF_UNIT_COUNT);
    uint64_t uuid = put_named(w, w->process_uuids[process], name, n, 0, &counter);
    gp_buf_release(&counter);
    return uuid;
}

/* The time of day, for each process that has one. */
void gp_pf_clocks(struct gp_pf *w)
{
    for (size_t i = 0; i < w->t->clocks.n; i++) {
        const struct gp_clock *c = &w->t->clocks.at[i];
        bool first = true;
        for (size_t k = 0; k < i && first; k++) first = w->t->clocks.at[k].producer != c->producer;
        int64_t at_ns = gp_time_fits(c->trace_ns) ? c->trace_ns + w->shift_ns : -1;
        if (!first || at_ns < 0 || c->realtime_ns < 0) continue;
        struct gp_buf snapshot = {0}, clock = {0};
        const uint64_t clocks[][2] = {{GP_PF_BOOTTIME, (uint64_t)at_ns},
                                      {GP_PF_MONOTONIC, (uint64_t)at_ns},
                                      {GP_PF_REALTIME, (uint64_t)c->realtime_ns}};
        for (size_t k = 0; k < GP_COUNT(clocks); k++) {
            clock.n = 0;
            gp_put_number(&clock, GP_PF_CLOCK_ID, clocks[k][0]);
            gp_put_number(&clock, GP_PF_CLOCK_TIME, clocks[k][1]);
            gp_put_bytes(&snapshot, GP_PF_CLOCK, clock.data, clock.n);
        }
        gp_pf_packet(w, GP_PF_CLOCK_SNAPSHOT, &snapshot);
        gp_buf_release(&snapshot);
        gp_buf_release(&clock);
    }
}
