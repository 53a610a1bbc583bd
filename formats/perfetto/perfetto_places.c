/* Tracks of a file and what they are in a trace. */
#include "formats/base/num.h"
#include "formats/base/str.h"
#include "formats/perfetto/perfetto_read_priv.h"

/* How recorders call the tracks of their work: the first numbers of a name that begins like this are the
 * device, if it has one, and the stream or thread. */
static const struct {
    const char *begin, *parent; /* PARENT: the beginning of the name of a process or group with the device */
    bool has_device;
    enum gp_track_kind kind;
} sources[] = {
    {"stream ", "GPU ", false, GP_TRACK_STREAM},          /* torch, gpuprof */
    {"Stream #", "/device:GPU:", false, GP_TRACK_STREAM}, /* XLA */
    {"COMPUTE ", NULL, true, GP_TRACK_STREAM},            /* rocprofv3: COMPUTE AGENT [4] STREAM [1] (GPU) */
    {"COPY to ", NULL, true, GP_TRACK_STREAM},            /* rocprofv3: COPY to AGENT [4] STREAM [1] (GPU) */
    {"THREAD ", NULL, true, GP_TRACK_THREAD},             /* rocprofv3: THREAD 1 (4711) */
};

uint32_t gp_pr_track(struct gp_pr *r, uint64_t uuid)
{
    uint32_t *at = gp_map_put(&r->track_at, uuid, (uint32_t)r->tracks.n);
    if (*at == r->tracks.n) {
        struct gp_pr_track k = {.pid = -1, .tid = -1, .device = -1, .stream = -1, .multiplier = 1};
        GP_VEC_PUSH(&r->tracks, k);
    }
    return *at;
}

static void read_owner(struct gp_pr *r, struct gp_pr_track *k, struct gp_wire w, uint32_t name_tag)
{
    for (struct gp_wire_field f; gp_wire_next(&w, &f);) {
        if (f.tag == GP_PF_PID) k->pid = (int32_t)f.value;
        if (f.tag == GP_PF_TID && name_tag == GP_PF_THREAD_NAME) k->tid = (int64_t)f.value;
        if (f.tag == name_tag) k->name = gp_trace_intern(r->t, (const char *)f.data, f.value);
    }
}

static void read_counter(struct gp_pr_track *k, struct gp_wire w)
{
    for (struct gp_wire_field f; gp_wire_next(&w, &f);) {
        if (f.tag == GP_PF_MULTIPLIER && f.value) k->multiplier = (int64_t)f.value;
        if (f.tag == GP_PF_IS_DELTA) k->delta = f.value != 0;
    }
}

void gp_pr_describe(struct gp_pr *r, struct gp_wire w)
{
    uint64_t uuid = 0;
    struct gp_wire again = w;
    for (struct gp_wire_field f; gp_wire_next(&again, &f);)
        if (f.tag == GP_PF_UUID) uuid = f.value;
    uint32_t at = gp_pr_track(r, uuid);
    struct gp_pr_track *k = &r->tracks.at[at];
    k->described = true;
    for (struct gp_wire_field f; gp_wire_next(&w, &f);) {
        if (f.tag == GP_PF_NAME || f.tag == GP_PF_STATIC_NAME)
            k->name = gp_trace_intern(r->t, (const char *)f.data, f.value);
        if (f.tag == GP_PF_PARENT) k->parent = f.value, k->has_parent = true;
        if (f.tag == GP_PF_RANK) k->rank = f.value;
        if (f.tag == GP_PF_PROCESS) k->has |= GP_PR_IS_PROCESS;
        if (f.tag == GP_PF_THREAD) k->has |= GP_PR_IS_THREAD;
        if (f.tag == GP_PF_COUNTER) k->has |= GP_PR_IS_COUNTER;
        if (f.tag == GP_PF_PROCESS) read_owner(r, k, gp_wire_message(&f), GP_PF_PROCESS_NAME);
        if (f.tag == GP_PF_THREAD) read_owner(r, k, gp_wire_message(&f), GP_PF_THREAD_NAME);
        if (f.tag == GP_PF_COUNTER) read_counter(k, gp_wire_message(&f));
    }
    if (w.broken) gp_trace_issue(r->t, GP_Q_SYNTAX, 1, (int64_t)r->offset);
}

uint32_t gp_pr_stage_track(struct gp_pr *r, int64_t device, uint64_t queue, gp_sid name, int64_t pid)
{
    uint64_t key[4] = {(uint64_t)device, queue, name, (uint64_t)pid};
    /* in the space of uuids, which writers draw at random */
    uint32_t at = gp_pr_track(r, gp_hash_place(key, sizeof key, gp_hash_seed()));
    struct gp_pr_track *k = &r->tracks.at[at];
    k->has = GP_PR_IS_STAGES;
    k->device = device;
    k->stream = (int64_t)(queue & INT64_MAX);
    k->name = name;
    k->pid = pid;
    if (pid >= 0 && r->gpu_pid != pid) r->gpu_pid = r->gpu_pid == -1 ? pid : -2;
    return at;
}

/* ---- what a track is ---- */

/* The NTH number in TEXT, from 0; -1: there are fewer. */
static int64_t number_in(const char *text, int nth)
{
    for (; *text; text++) {
        if (!gp_is_digit(*text)) continue;
        size_t n = strspn(text, "0123456789");
        int64_t v;
        if (!nth--) return gp_i64_from_text(text, n, &v) ? v : -1;
        text += n - 1;
    }
    return -1;
}

/* The row of `sources` for the track; -1: none. */
static int source_of(const struct gp_pr *r, const struct gp_pr_track *k)
{
    const char *name = gp_trace_str(r->t, k->name);
    for (size_t i = 0; i < GP_COUNT(sources); i++)
        if (gp_starts(name, sources[i].begin) && number_in(name, sources[i].has_device) >= 0) return (int)i;
    return -1;
}

bool gp_pr_is_stream(const struct gp_pr *r, const struct gp_pr_track *k)
{
    int source = source_of(r, k);
    return k->has & GP_PR_IS_STAGES || (source >= 0 && sources[source].kind == GP_TRACK_STREAM);
}

/* The parent of a track, or the process of its thread; NULL: none. */
static const struct gp_pr_track *parent_of(const struct gp_pr *r, const struct gp_pr_track *k)
{
    const uint32_t *at = k->has_parent ? gp_map_get(&r->track_at, k->parent) : NULL;
    return at && &r->tracks.at[*at] != k ? &r->tracks.at[*at] : NULL;
}

static uint32_t process_of(struct gp_pr *r, int64_t pid, gp_sid name)
{
    uint32_t *known = gp_map_put(&r->processes, (uint64_t)pid, GP_PR_NONE);
    if (*known != GP_PR_NONE) {
        struct gp_process *p = &r->t->processes.at[*known];
        if (name && !p->name) p->name = name;
        return *known;
    }
    struct gp_process p = gp_process_unknown();
    p.pid = pid < 0 ? 0 : pid;
    p.name = name;
    /* ids are those of one recorder, unless render stages show several processes that have their own */
    p.producer = r->gpu_pid == -2 ? (uint32_t)r->t->processes.n : 0;
    uint32_t at = gp_trace_process(r->t, &p);
    *gp_map_put(&r->processes, (uint64_t)pid, 0) = at;
    return at;
}

/* Up from K to what has a process or thread, and on the way to a name that tells the device. */
static void climb(const struct gp_pr *r, const struct gp_pr_track *k, int source, int64_t *pid,
                  int64_t *device)
{
    enum { DEEPEST = 64 };
    const char *want = source >= 0 ? sources[source].parent : NULL;
    *pid = -1;
    for (int depth = 0; k && depth < DEEPEST; depth++) {
        const char *name = gp_trace_str(r->t, k->name);
        bool tells = want && gp_starts(name, want);
        if (tells && *device < 0) *device = number_in(name, 0);
        /* torch calls the rows of a device a process of its own, whose pid is the device */
        bool made_up = tells && k->has & GP_PR_IS_PROCESS && k->pid == *device && r->gpu_pid >= 0;
        if (k->pid >= 0 && *pid < 0) *pid = k->pid;
        if (made_up) *pid = r->gpu_pid;
        k = parent_of(r, k);
    }
}

static void place(struct gp_pr *r, uint32_t at)
{
    struct gp_pr_track *k = &r->tracks.at[at];
    struct gp_track to = gp_track_unknown();
    int source = source_of(r, k);
    const char *name = gp_trace_str(r->t, k->name);
    int64_t pid, device = k->device, number = source < 0 ? -1 : number_in(name, sources[source].has_device);
    climb(r, k, source, &pid, &device);
    bool stream = k->has_work || gp_pr_is_stream(r, k);
    to.kind = stream                                    ? GP_TRACK_STREAM
              : k->has & GP_PR_IS_THREAD || source >= 0 ? GP_TRACK_THREAD
                                                        : GP_TRACK_OTHER;
    to.tid = k->has & GP_PR_IS_THREAD && !stream ? k->tid : number >= 0 ? number : (int64_t)at;
    to.name = k->name;
    if (stream) {
        to.stream = number >= 0 ? number : k->stream >= 0 ? k->stream : (int64_t)at;
        to.device = source >= 0 && sources[source].has_device ? number_in(name, 0) : device;
        to.tid = to.stream;
    }
    to.process = process_of(r, pid, k->has & GP_PR_IS_PROCESS ? k->name : 0);
    k->model = gp_trace_track(r->t, &to);
}

/* In files of ours the rank of a track is 1 + the number of the model's. */
static bool place_ours(struct gp_pr *r, struct gp_pr_track *k)
{
    if (!r->ours || !k->rank || k->rank > r->t->tracks.n) return false;
    k->model = (uint32_t)(k->rank - 1);
    return true;
}

void gp_pr_place(struct gp_pr *r)
{
    for (uint32_t i = 0; i < r->tracks.n; i++) r->tracks.at[i].model = GP_PR_NONE;
    for (uint32_t i = 0; i < r->tracks.n && !r->ours; i++) /* their names first */
        if (r->tracks.at[i].has & GP_PR_IS_PROCESS) process_of(r, r->tracks.at[i].pid, r->tracks.at[i].name);
    for (int table = 0; table < GP_TABLE_COUNT; table++) {
        struct gp_events *e = &r->t->events[table];
        for (size_t i = r->first_row[table]; i < e->n; i++)
            if (table == GP_GPU || table == GP_GPU_RANGE) r->tracks.at[e->track[i]].has_work = true;
    }
    for (int table = 0; table < GP_TABLE_COUNT; table++) {
        struct gp_events *e = &r->t->events[table];
        for (size_t i = r->first_row[table]; i < e->n; i++) {
            struct gp_pr_track *k = &r->tracks.at[e->track[i]];
            if (k->model == GP_PR_NONE && !place_ours(r, k)) place(r, e->track[i]);
            if (table == GP_COUNTER) e->name[i] = k->name;
            e->track[i] = k->model;
        }
    }
}
