#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "formats/base/map.h"
#include "formats/base/mem.h"
#include "formats/base/num.h"
#include "formats/chrome/chrome_priv.h"

enum { PID, IDS, PRODUCER, RANK, FIELDS };

/* ---- writing ---- */

static bool is_plain(const struct gp_trace *t)
{
    for (size_t i = 0; i < t->processes.n; i++)
        if (t->processes.at[i].producer || t->processes.at[i].rank >= 0) return false;
    return true;
}

static void put_process(struct gp_buf *b, bool first, int64_t pid, uint32_t ids, const struct gp_process *p)
{
    gp_buf_printf(b, "%s[%" PRId64 ",%" PRIu32 ",%" PRIu32 ",%" PRId32 "]", first ? "" : ",", pid, ids,
                  p->producer, p->rank);
}

static void put_pace(struct gp_buf *b, const struct gp_trace *t, const struct gp_chrome_rows *rows)
{
    bool any = false;
    GP_EACH(const struct gp_pace, p, t->paces) {
        if (t->processes.at[p->process].pid_text) continue;
        gp_buf_printf(b, "%s[%" PRId64 ",%" PRId64 ",%" PRIu32 ",%" PRId64 "]",
                      any ? "," : "\"" GP_CHROME_PACE "\":[", p->start_ns, p->dur_ns, p->how,
                      rows->process_pids[p->process]);
        any = true;
    }
    if (any) gp_buf_puts(b, "],\n");
}

void gp_chrome_put_producers(struct gp_buf *b, const struct gp_trace *t, const struct gp_chrome_rows *rows)
{
    put_pace(b, t, rows);
    if (is_plain(t)) return;
    uint32_t *ids = gp_zalloc((t->processes.n + 1) * sizeof *ids);
    bool first = true;
    for (size_t i = 0; i < t->tracks.n; i++) ids[t->tracks.at[i].process] = rows->tracks[i].producer;
    gp_buf_puts(b, "\"" GP_CHROME_PROCESSES "\":[");
    for (size_t i = 0; i < t->processes.n; i++) {
        if (t->processes.at[i].pid_text) continue;
        put_process(b, first, rows->process_pids[i], ids[i], &t->processes.at[i]);
        first = false;
    }
    GP_EACH(const struct gp_chrome_device, d, rows->devices) {
        put_process(b, first, d->pid, d->producer, &t->processes.at[d->process]);
        first = false;
    }
    gp_buf_puts(b, "],\n");
    for (size_t i = 0; i < t->devices.n; i++)
        gp_buf_printf(b, "%s%" PRIu32, i ? "," : "\"" GP_CHROME_DEVICES "\":[", t->devices.at[i].producer);
    if (t->devices.n) gp_buf_puts(b, "],\n");
    free(ids);
}

/* ---- reading ---- */

/* The numbers of an array; false: it does not hold N of them. */
static bool read_numbers(const char *p, const char *end, int64_t *to, size_t n)
{
    struct gp_json_value v;
    size_t i = 0;
    for (p++; gp_json_next(&p, end, NULL, &v); i++)
        if (i >= n || !gp_i64_from_text(v.p, v.n, &to[i])) return false;
    return i == n;
}

/* The value of KEY, removed from T, with the bytes after it that the JSON scanner may touch. NULL: there is
 * none. */
static char *take_meta(struct gp_trace *t, const char *key, size_t *n)
{
    const char *value = gp_trace_get_meta(t, key);
    size_t kept = 0;
    if (!value) return NULL;
    *n = strlen(value);
    char *copy = gp_zalloc(*n + GP_JSON_PAD);
    memcpy(copy, value, *n);
    for (size_t i = 0; i < t->meta.n; i++)
        if (strcmp(gp_trace_str(t, t->meta.at[i].key), key) != 0) t->meta.at[kept++] = t->meta.at[i];
    t->meta.n = kept;
    return copy;
}

static bool is_sound(const int64_t f[FIELDS])
{
    return f[IDS] >= 0 && f[IDS] <= INT32_MAX && f[PRODUCER] >= 0 && f[PRODUCER] <= INT32_MAX &&
           f[RANK] >= -1 && f[RANK] <= INT32_MAX;
}

static void index_pids(struct gp_map *by_pid, const struct gp_trace *t)
{
    for (uint32_t i = 0; i < t->processes.n; i++)
        if (!t->processes.at[i].pid_text) gp_map_put(by_pid, (uint64_t)t->processes.at[i].pid, i);
}

static void take_pace(struct gp_trace *t)
{
    enum { START, DUR, HOW, PROCESS, NUMBERS };
    size_t n;
    char *text = take_meta(t, GP_CHROME_PACE, &n);
    struct gp_map by_pid = {0};
    struct gp_json_value v;
    int64_t f[NUMBERS];
    if (!text) return;
    index_pids(&by_pid, t);
    for (const char *p = text + 1; text[0] == '[' && gp_json_next(&p, text + n, NULL, &v);) {
        if (v.kind != GP_JSON_ARRAY || !read_numbers(v.p, v.p + v.n, f, NUMBERS)) continue;
        const uint32_t *at = gp_map_get(&by_pid, (uint64_t)f[PROCESS]);
        if (at && gp_time_fits(f[START]) && f[DUR] >= 0 && f[DUR] <= GP_DURATION_MOST && f[HOW] >= 0 &&
            f[HOW] <= GP_PACE_PAUSE)
            GP_VEC_PUSH(&t->paces, ((struct gp_pace){f[START], f[DUR], (uint32_t)f[HOW], *at}));
    }
    gp_map_release(&by_pid);
    free(text);
}

/* By index of T's processes: the number added to the upper half of its ids. */
static uint32_t *read_processes(struct gp_trace *t, const char *text, size_t n)
{
    struct gp_map by_pid = {0};
    uint32_t *ids = gp_zalloc((t->processes.n + 1) * sizeof *ids);
    const char *p = text + 1, *end = text + n;
    struct gp_json_value v;
    int64_t f[FIELDS];
    index_pids(&by_pid, t);
    while (text[0] == '[' && gp_json_next(&p, end, NULL, &v)) {
        if (v.kind != GP_JSON_ARRAY || !read_numbers(v.p, v.p + v.n, f, FIELDS) || !is_sound(f)) continue;
        const uint32_t *at = gp_map_get(&by_pid, (uint64_t)f[PID]);
        if (!at) continue;
        t->processes.at[*at].producer = (uint32_t)f[PRODUCER];
        t->processes.at[*at].rank = (int32_t)f[RANK];
        ids[*at] = (uint32_t)f[IDS];
    }
    gp_map_release(&by_pid);
    return ids;
}

static void lower(uint64_t *column, const struct gp_trace *t, const struct gp_events *e, const uint32_t *ids)
{
    for (size_t i = 0; column && i < e->n; i++) {
        uint64_t added = (uint64_t)ids[t->tracks.at[e->track[i]].process] << 32;
        if (column[i] != GP_NO_ID && column[i] >= added) column[i] -= added;
    }
}

void gp_chrome_take_producers(struct gp_trace *t)
{
    size_t n;
    take_pace(t);
    char *processes = take_meta(t, GP_CHROME_PROCESSES, &n);
    if (processes) {
        uint32_t *ids = read_processes(t, processes, n);
        for (int k = 0; k < GP_TABLE_COUNT; k++) {
            struct gp_events *e = &t->events[k];
            lower(e->corr, t, e, ids);
            lower(e->ext, t, e, ids);
            lower(e->source, t, e, ids);
            if (k == GP_FLOW) lower(e->id, t, e, ids);
        }
        free(ids);
    }
    char *devices = take_meta(t, GP_CHROME_DEVICES, &n);
    if (devices) {
        const char *p = devices + 1, *end = devices + n;
        struct gp_json_value v;
        int64_t producer;
        for (size_t i = 0; devices[0] == '[' && i < t->devices.n && gp_json_next(&p, end, NULL, &v); i++)
            if (gp_i64_from_text(v.p, v.n, &producer) && producer >= 0 && producer <= INT32_MAX)
                t->devices.at[i].producer = (uint32_t)producer;
    }
    free(processes);
    free(devices);
}
