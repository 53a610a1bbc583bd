/* The machine and the recording: devices and their counters, ranks, clocks, and the recorder's warnings. */
#include <stdio.h>
#include <string.h>
#include "formats/base/buf.h"
#include "formats/base/json_write.h"
#include "formats/base/str.h"
#include "formats/model/gauges.h"
#include "formats/nsys/nsys_priv.h"
#include "formats/nsys/nsys_read.h"

/* ---- devices ---- */

/* Which GPU a process has under an ordinal. */
struct ordinal {
    int64_t pid, ordinal, gpu;
};

struct gpu {
    int64_t id;
    struct gp_device facts;
};

struct target {
    struct gp_nsys *n;
    GP_VEC(struct ordinal) ordinals;
    GP_VEC(struct gpu) gpus;
};

static void load_ordinals(struct target *t)
{
    enum { PID, CUDA, GPU };
    GP_SQLITE_EACH(scan, t->n->db, "TARGET_INFO_CUDA_DEVICE", "pid cudaId gpuId") {
        struct ordinal o = {gp_sqlite_int(&scan, PID, -1), gp_sqlite_int(&scan, CUDA, -1),
                            gp_sqlite_int(&scan, GPU, -1)};
        GP_VEC_PUSH(&t->ordinals, o);
    }
}

static gp_sid uuid_extra(struct gp_nsys *n, struct gp_sqlite_scan *scan, int column)
{
    size_t length;
    const char *uuid = gp_sqlite_text(scan, column, &length);
    struct gp_buf b = {0};
    if (!uuid || !length) return 0;
    gp_buf_puts(&b, "{\"uuid\":");
    gp_json_put_string(&b, uuid, length);
    gp_buf_puts(&b, "}");
    gp_sid sid = gp_trace_intern(n->t, b.data, b.n);
    gp_buf_release(&b);
    return sid;
}

/* A fact that has to fit an int32_t; 0: unknown. */
static int32_t fact(struct gp_sqlite_scan *scan, int column)
{
    int64_t v = gp_sqlite_int(scan, column, 0);
    return v > 0 && v <= INT32_MAX ? (int32_t)v : 0;
}

static void load_gpus(struct target *t)
{
    enum { ID, NAME, L2, MEMORY, BANDWIDTH, CLOCK, SMS, UUID, MAJOR, MINOR, WARP, WARPS };
    enum { REGS = WARPS + 1, BLOCK_REGS, SHARED, BLOCK_SHARED, OPTIN };
    GP_SQLITE_EACH(scan, t->n->db, "TARGET_INFO_GPU",
                   "id name l2CacheSize totalMemory memoryBandwidth clockRate smCount uuid computeMajor "
                   "computeMinor threadsPerWarp maxWarpsPerSm maxRegistersPerSm maxRegistersPerBlock "
                   "maxShmemPerSm maxShmemPerBlock maxShmemPerBlockOptin") {
        size_t length = 0;
        struct gp_device d = gp_device_unknown();
        const char *name = gp_sqlite_text(&scan, NAME, &length);
        if (name) d.name = gp_trace_intern(t->n->t, name, length);
        d.l2_bytes = gp_sqlite_int(&scan, L2, d.l2_bytes);
        d.memory_bytes = gp_sqlite_int(&scan, MEMORY, d.memory_bytes);
        d.memory_bandwidth_bps = gp_sqlite_int(&scan, BANDWIDTH, d.memory_bandwidth_bps);
        d.core_clock_khz = gp_sqlite_int(&scan, CLOCK, 0) / 1000;
        d.sms = fact(&scan, SMS);
        d.cc_major = fact(&scan, MAJOR);
        d.cc_minor = fact(&scan, MINOR);
        d.warp_size = fact(&scan, WARP);
        if (d.warp_size < 1 || d.warp_size > 1024) d.warp_size = 32; /* as every GPU of this vendor has */
        if (fact(&scan, WARPS) < 4096) d.max_threads_per_sm = fact(&scan, WARPS) * d.warp_size;
        d.regs_per_sm = fact(&scan, REGS);
        d.regs_per_block = fact(&scan, BLOCK_REGS);
        d.shared_per_sm = fact(&scan, SHARED);
        d.shared_per_block = fact(&scan, BLOCK_SHARED);
        d.shared_per_block_optin = fact(&scan, OPTIN);
        d.extra = uuid_extra(t->n, &scan, UUID);
        GP_VEC_PUSH(&t->gpus, ((struct gpu){gp_sqlite_int(&scan, ID, -1), d}));
    }
}

static const struct gpu *find_gpu(const struct target *t, int64_t pid, int64_t ordinal)
{
    int64_t id = ordinal;
    for (size_t i = 0; i < t->ordinals.n; i++)
        if (t->ordinals.at[i].pid == pid && t->ordinals.at[i].ordinal == ordinal) id = t->ordinals.at[i].gpu;
    for (size_t i = 0; i < t->gpus.n; i++)
        if (t->gpus.at[i].id == id) return &t->gpus.at[i];
    return NULL;
}

/* The GPU of a stream; NULL: not known, or it is none. */
static const struct gpu *gpu_of(const struct target *t, const struct gp_track *k)
{
    if (k->kind != GP_TRACK_STREAM || k->device < 0) return NULL;
    return find_gpu(t, t->n->t->processes.at[k->process].pid, k->device);
}

/* The facts of each device that a process used. */
static void add_devices(struct target *t)
{
    struct gp_trace *trace = t->n->t;
    GP_EACH(const struct gp_track, k, trace->tracks) {
        const struct gp_process *p = &trace->processes.at[k->process];
        const struct gpu *gpu = gpu_of(t, k);
        bool known = !gpu;
        for (size_t d = 0; d < trace->devices.n && !known; d++)
            known = trace->devices.at[d].producer == p->producer && trace->devices.at[d].id == k->device;
        if (known) continue;
        struct gp_device d = gpu->facts;
        d.producer = p->producer;
        d.id = k->device;
        GP_VEC_PUSH(&trace->devices, d);
    }
}

/* ---- counters of GPUs ---- */

/* Type and id of a metric -> its name. */
static void load_metrics(struct gp_nsys *n, struct gp_map *names)
{
    enum { TYPE, METRIC, NAME };
    GP_SQLITE_EACH(scan, n->db, "TARGET_INFO_GPU_METRICS", "typeId metricId metricName") {
        size_t length;
        const char *name = gp_sqlite_text(&scan, NAME, &length);
        if (!name) continue;
        uint64_t key =
            gp_nsys_key((uint64_t)gp_sqlite_int(&scan, TYPE, 0), (uint64_t)gp_sqlite_int(&scan, METRIC, 0));
        gp_map_put(names, key, gp_trace_intern(n->t, name, length));
    }
}

/* The track of a GPU's clock: of the first process that uses that GPU, as its device. */
static uint32_t clock_track(const struct target *t, int64_t gpu, uint32_t track)
{
    struct gp_trace *trace = t->n->t;
    struct gp_track k = trace->tracks.at[track];
    for (size_t i = 0; i < trace->tracks.n && k.device < 0; i++) {
        const struct gpu *used = gpu_of(t, &trace->tracks.at[i]);
        if (!used || used->id != gpu) continue;
        k.process = trace->tracks.at[i].process;
        k.device = trace->tracks.at[i].device;
    }
    return gp_trace_track(trace, &k);
}

/* The last byte of a type's id is the number of the GPU. The clock of its SMs is in Hz, whatever the name
 * says. */
static void read_metrics(const struct target *t)
{
    static const char clock[] = "GPC Clock Frequency";
    struct gp_nsys *n = t->n;
    enum { TIME, TYPE, METRIC, VALUE, GPU_BITS = 0xff };
    struct gp_events *e = &n->t->events[GP_COUNTER];
    struct gp_map names = {0}, clocks = {0};
    load_metrics(n, &names);
    GP_SQLITE_EACH(scan, n->db, "GPU_METRICS", "timestamp typeId metricId value") {
        int64_t start, dur, type = gp_sqlite_int(&scan, TYPE, 0);
        double value;
        if (!gp_nsys_span(n, &scan, TIME, TIME, &start, &dur) || !gp_sqlite_double(&scan, VALUE, &value))
            continue;
        const uint32_t *series =
            gp_map_get(&names, gp_nsys_key((uint64_t)type, (uint64_t)gp_sqlite_int(&scan, METRIC, 0)));
        char name[40];
        snprintf(name, sizeof name, "GPU %d metrics", (int)(type & GPU_BITS));
        uint32_t track = gp_nsys_track(n, n->only_process, name);
        if (series && gp_starts(gp_trace_str(n->t, *series), clock)) {
            uint32_t *of = gp_map_put(&clocks, (uint64_t)type, GP_NSYS_NONE);
            if (*of == GP_NSYS_NONE) *of = clock_track(t, type & GPU_BITS, track);
            gp_gauge_put(n->t, start, *of, GP_GAUGE_SM_CLOCK, NULL, value < 1e6 ? value : value / 1e6);
            continue;
        }
        size_t row = gp_events_add(e, start, 0, track, gp_intern_cstr(&n->t->strings, name));
        gp_set_series(e, row, series ? *series : gp_intern_cstr(&n->t->strings, "unknown"));
        gp_set_value(e, row, value);
    }
    gp_map_release(&names);
    gp_map_release(&clocks);
}

/* ---- the recording ---- */

static void set_text(struct gp_nsys *n, const char *key, const char *prefix, const char *text, size_t length)
{
    struct gp_buf plain = {0}, json = {0};
    gp_buf_puts(&plain, prefix);
    gp_buf_put(&plain, text, length);
    gp_json_put_string(&json, plain.data, plain.n);
    gp_trace_set_meta(n->t, key, json.data, json.n);
    gp_buf_release(&plain);
    gp_buf_release(&json);
}

static void read_versions(struct gp_nsys *n)
{
    enum { NAME, VALUE };
    GP_SQLITE_EACH(scan, n->db, "META_DATA_EXPORT", "name value") {
        size_t length, value_n;
        const char *name = gp_sqlite_text(&scan, NAME, &length);
        const char *value = name ? gp_sqlite_text(&scan, VALUE, &value_n) : NULL;
        if (!value) continue;
        if (gp_is(name, length, "EXPORT_PRODUCT_VERSION"))
            set_text(n, "collector", "Nsight Systems ", value, value_n);
        if (gp_is(name, length, "EXPORT_SCHEMA_VERSION")) set_text(n, "nsys_schema", "", value, value_n);
    }
}

/* Events are counted from the start of the recording. */
static void read_clock(struct gp_nsys *n)
{
    struct gp_sqlite_scan scan;
    int64_t epoch = 0;
    gp_sqlite_begin(n->db, &scan, "TARGET_INFO_SESSION_START_TIME", "utcEpochNs");
    if (gp_sqlite_next(&scan)) epoch = gp_sqlite_int(&scan, 0, 0);
    gp_sqlite_end(&scan);
    if (epoch < 0 || !gp_time_fits(epoch)) epoch = 0;
    for (size_t i = 0; i < n->process_ids.n; i++)
        GP_VEC_PUSH(&n->t->clocks, ((struct gp_clock){.realtime_ns = epoch, .producer = (uint32_t)i}));
}

static void read_ranks(struct gp_nsys *n)
{
    int64_t thread, rank;
    GP_SQLITE_EACH(scan, n->db, "MPI_RANKS", "globalTid rank") {
        if (!gp_sqlite_get(&scan, 0, &thread) || !gp_sqlite_get(&scan, 1, &rank) || rank < 0 ||
            rank > INT32_MAX)
            continue;
        const uint32_t *process = gp_map_get(&n->processes, GP_NSYS_PROCESS(thread));
        if (!process) continue;
        n->t->processes.at[*process].rank = (int32_t)rank;
        if (n->t->processes.n == 1) n->t->rank = (int32_t)rank;
    }
}

/* ---- warnings of the recorder ---- */

/* Does the message of a warning say that something is missing? */
static bool names_a_loss(const char *text)
{
    const char *at = "lost|dropped|discarded|missing|incomplete|not all|overflow|truncated";
    for (char word[16]; gp_next_of(&at, '|', word, sizeof word);)
        if (gp_contains_folded(text, strlen(text), word)) return true;
    return false;
}

static void read_warnings(struct gp_nsys *n)
{
    enum { SEVERITY, TEXT, WARNING = 2, MOST = 64 };
    struct gp_sqlite_scan scan;
    gp_sqlite_begin(n->db, &scan, "DIAGNOSTIC_EVENT", "severity text");
    while (gp_sqlite_next(&scan) && n->t->losses.n < MOST) {
        size_t length;
        const char *text = gp_sqlite_text(&scan, TEXT, &length);
        if (!text || gp_sqlite_int(&scan, SEVERITY, 0) < WARNING || !names_a_loss(text)) continue;
        struct gp_loss l = {gp_intern_cstr(&n->t->strings, "events of Nsight Systems"),
                            gp_trace_intern(n->t, text, length), 1, UINT32_MAX};
        GP_VEC_PUSH(&n->t->losses, l);
    }
    gp_sqlite_end(&scan);
}

static void read_target(struct gp_nsys *n)
{
    struct target t = {.n = n};
    load_ordinals(&t);
    load_gpus(&t);
    add_devices(&t);
    if (n->t->need & GP_NEED(GP_COUNTER)) read_metrics(&t);
    GP_VEC_FREE(&t.ordinals);
    GP_VEC_FREE(&t.gpus);
    read_versions(n);
    read_clock(n);
    read_ranks(n);
    read_warnings(n);
}

bool gp_nsys_matches(const struct gp_sqlite *db)
{
    return gp_sqlite_has(db, "StringIds") || gp_sqlite_has(db, "CUPTI_ACTIVITY_KIND_KERNEL") ||
           gp_sqlite_has(db, "NVTX_EVENTS");
}

void gp_nsys_read(struct gp_trace *t, struct gp_sqlite *db)
{
    struct gp_nsys n = {.t = t, .db = db, .last.track = GP_NSYS_NONE};
    gp_sqlite_texts_read(&n.texts, n.db, "StringIds", "id value");
    gp_nsys_load_enums(&n);
    gp_nsys_load_names(&n);
    gp_nsys_read_gpu(&n);
    gp_nsys_read_host(&n);
    gp_nsys_read_ranges(&n);
    gp_nsys_read_syncs(&n);
    gp_nsys_read_memory(&n);
    gp_nsys_read_graphs(&n);
    gp_nsys_read_samples(&n);
    read_target(&n);
    gp_nsys_release(&n);
}
