#include "formats/chrome/chrome_rows.h"

#include <stdlib.h>
#include <string.h>
#include "formats/base/map.h"

/* The numbers in use, and for each how many steps the next request for it must take at least: a file full of
 * equal pids must not take quadratic time. */
struct taken {
    struct gp_map used, steps;
};

static uint64_t key2(uint64_t a, uint64_t b)
{
    uint64_t key[2] = {a, b};
    return gp_hash_place(key, sizeof key, gp_hash_seed());
}

/* The first of WANT, WANT + STEP, ... that is free in GROUP; it is then marked as used. */
static int64_t take_free(struct taken *taken, uint64_t group, int64_t want)
{
    uint32_t *steps = gp_map_put(&taken->steps, key2(group, (uint64_t)want), 0);
    for (;; ++*steps) {
        uint64_t v = (uint64_t)want + (uint64_t)*steps * GP_CHROME_ROW_STEP;
        uint32_t *used = gp_map_put(&taken->used, key2(group, v), 0);
        if (*used) continue;
        *used = 1;
        return (int64_t)v;
    }
}

static void taken_release(struct taken *taken)
{
    gp_map_release(&taken->used);
    gp_map_release(&taken->steps);
}

static uint32_t *number_producers(struct gp_chrome_rows *r, const struct gp_trace *t)
{
    struct gp_map seen = {0};
    uint32_t *of_process = gp_alloc((t->processes.n + 1) * sizeof *of_process);
    for (size_t i = 0; i < t->processes.n; i++) {
        uint32_t *number = gp_map_put(&seen, t->processes.at[i].producer, r->producers);
        if (*number == r->producers) r->producers++;
        of_process[i] = *number;
    }
    gp_map_release(&seen);
    return of_process;
}

static bool *processes_with_threads(const struct gp_trace *t)
{
    bool *threads = gp_zalloc((t->processes.n + 1) * sizeof *threads);
    for (size_t i = 0; i < t->tracks.n; i++)
        if (t->tracks.at[i].kind == GP_TRACK_THREAD) threads[t->tracks.at[i].process] = true;
    return threads;
}

struct placer {
    struct gp_chrome_rows *rows;
    struct taken pids, tids;
    struct gp_map devices; /* (producer, device) -> index + 1 in rows->devices */
};

void gp_chrome_rows_make(struct gp_chrome_rows *r, const struct gp_trace *t)
{
    memset(r, 0, sizeof *r);
    struct placer p = {.rows = r};
    uint32_t *producers = number_producers(r, t);
    bool *threads = processes_with_threads(t);
    r->process_pids = gp_zalloc((t->processes.n + 1) * sizeof *r->process_pids);
    for (size_t i = 0; i < t->processes.n; i++)
        if (!t->processes.at[i].pid_text) r->process_pids[i] = take_free(&p.pids, 0, t->processes.at[i].pid);
    r->tracks = gp_zalloc((t->tracks.n + 1) * sizeof *r->tracks);
    for (size_t i = 0; i < t->tracks.n; i++) {
        const struct gp_track *k = &t->tracks.at[i];
        struct gp_chrome_row *row = &r->tracks[i];
        row->producer = producers[k->process];
        row->placed_here = t->clocks.n && k->kind == GP_TRACK_STREAM && k->device >= 0 && threads[k->process];
        if (row->placed_here) {
            uint32_t *known = gp_map_put(&p.devices, key2(row->producer, (uint64_t)k->device), 0);
            if (!*known) {
                struct gp_chrome_device d = {row->producer, k->process, k->device,
                                             take_free(&p.pids, 0, k->device)};
                GP_VEC_PUSH(&p.rows->devices, d);
                *known = (uint32_t)p.rows->devices.n;
            }
            row->pid = p.rows->devices.at[*known - 1].pid;
            row->tid = take_free(&p.tids, (uint64_t)row->pid, k->stream);
        } else {
            row->pid = r->process_pids[k->process];
            row->pid_text = t->processes.at[k->process].pid_text;
            row->tid = k->tid;
            row->tid_text = k->tid_text;
        }
    }
    taken_release(&p.pids);
    taken_release(&p.tids);
    gp_map_release(&p.devices);
    free(producers);
    free(threads);
}

void gp_chrome_rows_release(struct gp_chrome_rows *r)
{
    free(r->tracks);
    free(r->process_pids);
    GP_VEC_FREE(&r->devices);
    memset(r, 0, sizeof *r);
}
