/* Strings, names, processes, threads and streams. */
#include <stdio.h>
#include <string.h>
#include "formats/nsys/nsys_priv.h"

/* ---- the meaning of small integers ---- */

struct meaning {
    uint32_t value;
    const char *label; /* part of the name */
};

/* The numbers of ENUM tables have changed, their names have not. The first that occurs in a name counts. */
static void load_enum(struct gp_nsys *n, const char *table, struct gp_map *to, const struct meaning *known)
{
    enum { ID, NAME };
    GP_SQLITE_EACH(scan, n->db, table, "id name") {
        int64_t id;
        size_t length;
        const char *name = gp_sqlite_text(&scan, NAME, &length);
        if (!name || !gp_sqlite_get(&scan, ID, &id)) continue;
        for (const struct meaning *m = known; m->label; m++) {
            if (!strstr(name, m->label)) continue;
            *gp_map_put(to, (uint64_t)id, m->value) = m->value;
            break;
        }
    }
}

static void put_default(struct gp_map *m, uint64_t key, uint32_t value) { gp_map_put(m, key, value); }

/* The values are those of CUPTI; exports of memory kinds count from 0. */
void gp_nsys_load_enums(struct gp_nsys *n)
{
    static const struct meaning copies[] = {{11, "UVM_HTOD"}, {12, "UVM_DTOH"}, {13, "UVM_DTOD"}, {1, "HTOD"},
                                            {2, "DTOH"},      {3, "HTOA"},      {4, "ATOH"},      {5, "ATOA"},
                                            {6, "ATOD"},      {7, "DTOA"},      {8, "DTOD"},      {9, "HTOH"},
                                            {10, "PTOP"},     {0, NULL}};
    static const struct meaning memory[] = {{7, "MANAGED_STATIC"}, {6, "DEVICE_STATIC"}, {1, "PAGEABLE"},
                                            {2, "PINNED"},         {3, "DEVICE"},        {4, "ARRAY"},
                                            {5, "MANAGED"},        {0, "UNKNOWN"},       {0, NULL}};
    static const struct meaning syncs[] = {
        {2, "STREAM_WAIT"}, {1, "EVENT_SYNC"}, {3, "STREAM_SYNC"}, {4, "CONTEXT_SYNC"}, {0, NULL}};
    static const struct meaning events[] = {
        {GP_NSYS_MARK, "NvtxMark"},           {GP_NSYS_THREAD_NAME, "NvtxThread"},
        {GP_NSYS_PUSH_POP, "NvtxPush"},       {GP_NSYS_START_END, "NvtxStart"},
        {GP_NSYS_DOMAIN, "NvtxDomainCreate"}, {0, NULL}};
    static const struct meaning frees[] = {{1, "DEALLOC"}, {0, "ALLOC"}, {0, NULL}};
    load_enum(n, "ENUM_CUDA_MEMCPY_OPER", &n->copy_kinds, copies);
    load_enum(n, "ENUM_CUDA_MEM_KIND", &n->memory_kinds, memory);
    load_enum(n, "ENUM_CUPTI_SYNC_TYPE", &n->syncs, syncs);
    load_enum(n, "ENUM_CUDA_DEV_MEM_EVENT_OPER", &n->frees, frees);
    load_enum(n, "ENUM_NSYS_EVENT_TYPE", &n->event_types, events);
    for (const struct meaning *m = events; m->label; m++) put_default(&n->event_types, m->value, m->value);
    for (uint32_t i = 0; i <= 13; i++) put_default(&n->copy_kinds, i, i);
    for (uint32_t i = 0; i < 7; i++) put_default(&n->memory_kinds, i, i + 1);
    for (uint32_t i = 1; i <= 4; i++) put_default(&n->syncs, i, i);
    put_default(&n->frees, 1, 1);
}

/* ---- names of processes and threads ---- */

void gp_nsys_load_names(struct gp_nsys *n)
{
    enum { ID, NAME };
    int64_t id, name;
    GP_SQLITE_EACH(scan, n->db, "ThreadNames", "globalTid nameId")
        if (gp_sqlite_get(&scan, ID, &id) && gp_sqlite_get(&scan, NAME, &name)) {
            const uint32_t *at = gp_map_get(&n->texts.at, (uint64_t)name);
            if (at) gp_map_put(&n->thread_names, (uint64_t)id, *at);
        }
    GP_SQLITE_EACH(scan, n->db, "PROCESSES", "globalPid name") {
        size_t length;
        const char *text = gp_sqlite_text(&scan, NAME, &length);
        if (!text || !gp_sqlite_get(&scan, ID, &id)) continue;
        struct gp_sqlite_kept one = {.p = gp_arena_strndup(&n->texts.bytes, text, length), .n = length};
        gp_map_put(&n->process_names, GP_NSYS_PROCESS(id), (uint32_t)n->texts.all.n);
        GP_VEC_PUSH(&n->texts.all, one);
    }
}

/* The name that MAP has for KEY; of a PATH only the last part. */
static gp_sid name_of(struct gp_nsys *n, const struct gp_map *map, uint64_t key, bool path)
{
    const uint32_t *at = gp_map_get(map, key);
    if (!at) return 0;
    const struct gp_sqlite_kept *one = &n->texts.all.at[*at];
    const char *slash = path ? strrchr(one->p, '/') : NULL, *from = slash ? slash + 1 : one->p;
    return gp_trace_intern(n->t, from, one->n - (size_t)(from - one->p));
}

static uint32_t process_of(struct gp_nsys *n, uint64_t process)
{
    uint32_t *at = gp_map_put(&n->processes, process, GP_NSYS_NONE);
    if (*at != GP_NSYS_NONE) return *at;
    if (n->processes.n == 1) n->only_process = process;
    struct gp_process p = gp_process_unknown();
    p.pid = GP_NSYS_PID(process);
    p.producer = (uint32_t)n->process_ids.n;
    GP_VEC_PUSH(&n->process_ids, process);
    p.name = name_of(n, &n->process_names, process, true);
    return *at = gp_trace_process(n->t, &p);
}

/* ---- tracks ---- */

uint32_t gp_nsys_thread(struct gp_nsys *n, int64_t global_tid)
{
    uint32_t *at = gp_map_put(&n->threads, (uint64_t)global_tid, GP_NSYS_NONE);
    if (*at != GP_NSYS_NONE) return *at;
    struct gp_track k = gp_track_unknown();
    k.kind = GP_TRACK_THREAD;
    k.process = process_of(n, GP_NSYS_PROCESS(global_tid));
    k.tid = GP_NSYS_THREAD(global_tid);
    k.name = name_of(n, &n->thread_names, (uint64_t)global_tid, false);
    return *at = gp_trace_track(n->t, &k);
}

uint32_t gp_nsys_stream(struct gp_nsys *n, uint64_t process, int64_t device, int64_t context, int64_t stream)
{
    struct gp_nsys_place *last = &n->last;
    if (last->track != GP_NSYS_NONE && last->process == process && last->device == device &&
        last->context == context && last->stream == stream)
        return last->track;
    struct gp_track k = gp_track_unknown();
    char name[40] = "";
    k.kind = GP_TRACK_STREAM;
    k.process = process_of(n, process);
    k.device = device < 0 ? -1 : device;
    k.context = context < 0 ? -1 : context;
    k.stream = k.tid = stream < 0 ? -1 : stream;
    if (stream >= 0) snprintf(name, sizeof name, "stream %lld", (long long)stream);
    k.name = gp_trace_intern(n->t, name, strlen(name));
    *last = (struct gp_nsys_place){process, device, context, stream, gp_trace_track(n->t, &k)};
    return last->track;
}

uint32_t gp_nsys_track(struct gp_nsys *n, uint64_t process, const char *name)
{
    struct gp_track k = gp_track_unknown();
    k.kind = GP_TRACK_OTHER;
    k.process = process_of(n, process);
    k.name = gp_trace_intern(n->t, name, strlen(name));
    k.tid = -1 - (int64_t)*gp_map_put(&n->locals, k.name, (uint32_t)n->locals.n);
    return gp_trace_track(n->t, &k);
}

/* ---- cells ---- */

uint64_t gp_nsys_key(uint64_t process, uint64_t id)
{
    uint64_t h = process * 0x9e3779b97f4a7c15u;
    return (h ^ h >> 29) + id;
}

bool gp_nsys_span(struct gp_nsys *n, struct gp_sqlite_scan *scan, int start, int end, int64_t *start_ns,
                  int64_t *dur_ns)
{
    int64_t to;
    n->t->input.events++;
    if (!gp_sqlite_get(scan, start, start_ns) || !gp_time_fits(*start_ns)) {
        gp_trace_issue(n->t, GP_Q_BAD_TIME, 1, -1);
        return false;
    }
    *dur_ns = 0;
    if (!gp_sqlite_get(scan, end, &to) || !gp_time_fits(to) || to < *start_ns ||
        to - *start_ns > GP_DURATION_MOST)
        gp_trace_issue(n->t, GP_Q_BAD_DURATION, 1, -1);
    else *dur_ns = to - *start_ns;
    if (*start_ns + *dur_ns > n->last_ns) n->last_ns = *start_ns + *dur_ns;
    return true;
}

uint64_t gp_nsys_corr(struct gp_sqlite_scan *scan, int column)
{
    int64_t v = gp_sqlite_int(scan, column, 0);
    return v > 0 ? (uint64_t)v : GP_NO_ID;
}

uint64_t gp_nsys_process(struct gp_nsys *n, struct gp_sqlite_scan *scan, int column)
{
    int64_t v;
    return gp_sqlite_get(scan, column, &v) ? GP_NSYS_PROCESS(v) : n->only_process;
}

const struct gp_nsys_call *gp_nsys_call(const struct gp_nsys *n, uint64_t process, uint64_t corr)
{
    const uint32_t *at = gp_map_get(&n->calls, gp_nsys_key(process, corr));
    return at && corr != GP_NO_ID ? &n->call_list.at[*at] : NULL;
}

void gp_nsys_release(struct gp_nsys *n)
{
    GP_RELEASE(gp_map_release, &n->processes, &n->threads, &n->locals, &n->thread_names, &n->process_names,
               &n->copy_kinds, &n->memory_kinds, &n->event_types, &n->syncs, &n->frees, &n->domains,
               &n->calls);
    gp_sqlite_texts_release(&n->texts);
    GP_RELEASE(gp_vec_free, &n->pushes, &n->process_ids, &n->call_list);
}
