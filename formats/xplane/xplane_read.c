/* XPlane, the protobuf of XLA's profiler: planes for the host and each device, lines in them for threads and
 * streams, events in those, whose names and stats are kept by number beside the lines. */
#include "formats/base/buf.h"
#include "formats/base/declare.h"
#include "formats/base/err.h"
#include "formats/base/input.h"
#include "formats/base/json_write.h"
#include "formats/base/map.h"
#include "formats/base/num.h"
#include "formats/base/str.h"
#include "formats/base/wire.h"
#include "formats/model/format.h"
#include "formats/xplane/hlo.h"

#define TAG GP_WIRE_TAG
enum {
    SPACE_PLANE = TAG(1, 2), /* XSpace */
    SPACE_HOST = TAG(4, 2),
    PLANE_NAME = TAG(2, 2), /* XPlane */
    PLANE_LINE = TAG(3, 2),
    PLANE_EVENTS = TAG(4, 2),
    PLANE_STATS = TAG(5, 2),
    PLANE_STAT = TAG(6, 2),
    ENTRY_KEY = TAG(1, 0), /* of the two maps */
    ENTRY_VALUE = TAG(2, 2),
    META_NAME = TAG(2, 2), /* XEventMetadata, XStatMetadata */
    META_SHOWN = TAG(4, 2),
    META_STAT = TAG(5, 2),
    LINE_ID = TAG(1, 0), /* XLine */
    LINE_NAME = TAG(2, 2),
    LINE_TIME = TAG(3, 0),
    LINE_EVENT = TAG(4, 2),
    LINE_SHOWN = TAG(11, 2),
    EVENT_META = TAG(1, 0), /* XEvent */
    EVENT_OFFSET = TAG(2, 0),
    EVENT_DURATION = TAG(3, 0),
    EVENT_STAT = TAG(4, 2),
    EVENT_COUNT = TAG(5, 0),
    STAT_META = TAG(1, 0), /* XStat */
    STAT_DOUBLE = TAG(2, 1),
    STAT_UINT = TAG(3, 0),
    STAT_INT = TAG(4, 0),
    STAT_TEXT = TAG(5, 2),
    STAT_BYTES = TAG(6, 2),
    STAT_REF = TAG(7, 0),
};

/* Lines of a plane that hold GPU work; other lines of devices are drawn as they are. */
static const struct {
    const char *plane, *line;
} work[] = {{"/device:GPU:", "Stream #"}, {"/device:TPU:", "XLA Ops"}};

/* Stats that have a place of their own; all others are args. X(enumerator, name) */
#define STATS(X)                                                                                             \
    X(CORRELATION, "correlation_id")                                                                         \
    X(GRAPH, "cuda_graph_id")                                                                                \
    X(NODE, "cuda_graph_node_id")                                                                            \
    X(KERNEL_DETAILS, "kernel_details")                                                                      \
    X(COPY_DETAILS, "memcpy_details")                                                                        \
    X(SET_DETAILS, "memset_details")                                                                         \
    X(HLO_CATEGORY, "hlo_category")                                                                          \
    X(FLOPS, "flops")                                                                                        \
    X(BYTES_ACCESSED, "bytes_accessed")                                                                      \
    X(HLO_OP, "hlo_op")                                                                                      \
    X(HLO_MODULE, "hlo_module")                                                                              \
    X(PROGRAM, "program_id")                                                                                 \
    X(CLOCK_RATE, "clock_rate")                                                                              \
    X(CORES, "core_count")                                                                                   \
    X(BANDWIDTH, "memory_bandwidth")                                                                         \
    X(MEMORY, "memory_size")                                                                                 \
    X(CC_MAJOR, "compute_cap_major")                                                                         \
    X(CC_MINOR, "compute_cap_minor")                                                                         \
    X(DEVICE_TYPE, "device_type_string")                                                                     \
    X(DEVICE_NAME, "gpu_device_name")                                                                        \
    X(PROCESS, "process_id")                                                                                 \
    X(START_TIME, "profile_start_time")

enum stat { STATS(GP_FIRST) OTHER_STAT };

struct stat_meta {
    gp_sid name;
    uint32_t known; /* enum stat */
};

struct event_meta {
    gp_sid name;
    struct gp_wire stats; /* the message that has them */
};

struct value {
    enum stat stat;
    gp_sid key, text; /* TEXT: 0 if it is a number */
    bool is_double, is_signed;
    uint64_t v;
    struct gp_wire bytes;
};

/* A range over the work of a stream that belongs to the same operator or module. */
struct range {
    gp_sid name;
    int64_t start_ns, end_ns;
};

struct reading {
    struct gp_trace *t;
    const uint8_t *begin; /* of the file */
    uint32_t process;
    struct gp_map stat_at, event_at; /* of the plane */
    GP_VEC(struct stat_meta) stat_metas;
    GP_VEC(struct event_meta) event_metas;
    struct range ranges[2]; /* operator and module, of the line */
    int64_t first_ns;
    struct gp_hlo hlo;
    struct gp_buf members, launch, text; /* LAUNCH: members that depend only on what is launched */
};

static int64_t offset_of(const struct reading *r, const uint8_t *at) { return at - r->begin; }

static gp_sid text_of(struct reading *r, const struct gp_wire_field *f)
{
    return gp_trace_intern(r->t, (const char *)f->data, f->value);
}

static void check(struct reading *r, const struct gp_wire *w)
{
    if (w->broken) gp_trace_issue(r->t, GP_Q_SYNTAX, 1, offset_of(r, w->p));
}

/* ---- names and stats by number ---- */

static void add_meta(struct reading *r, struct gp_wire w, bool of_event)
{
    static const char *const names[] = {STATS(GP_SECOND)};
    uint64_t key = 0;
    struct gp_wire value = {0};
    for (struct gp_wire_field f; gp_wire_next(&w, &f);) {
        if (f.tag == ENTRY_KEY) key = f.value;
        if (f.tag == ENTRY_VALUE) value = gp_wire_message(&f);
    }
    check(r, &w);
    gp_sid name = 0, shown = 0;
    struct gp_wire all = value;
    for (struct gp_wire_field f; gp_wire_next(&value, &f);) {
        if (f.tag == META_NAME) name = text_of(r, &f);
        if (of_event && f.tag == META_SHOWN && f.value) shown = text_of(r, &f);
    }
    check(r, &value);
    if (of_event) {
        *gp_map_put(&r->event_at, key, 0) = (uint32_t)r->event_metas.n;
        GP_VEC_PUSH(&r->event_metas, ((struct event_meta){shown ? shown : name, all}));
        return;
    }
    struct stat_meta m = {name, OTHER_STAT};
    for (uint32_t i = 0; i < GP_COUNT(names); i++)
        if (!strcmp(gp_trace_str(r->t, name), names[i])) m.known = i;
    *gp_map_put(&r->stat_at, key, 0) = (uint32_t)r->stat_metas.n;
    GP_VEC_PUSH(&r->stat_metas, m);
}

static const struct stat_meta *stat_meta(const struct reading *r, uint64_t id)
{
    const uint32_t *at = gp_map_get(&r->stat_at, id);
    return at ? &r->stat_metas.at[*at] : NULL;
}

static struct value read_stat(struct reading *r, struct gp_wire w)
{
    struct value v = {.stat = OTHER_STAT};
    for (struct gp_wire_field f; gp_wire_next(&w, &f);) {
        const struct stat_meta *m = f.tag == STAT_META || f.tag == STAT_REF ? stat_meta(r, f.value) : NULL;
        if (f.tag == STAT_META && m) v.stat = (enum stat)m->known, v.key = m->name;
        if (f.tag == STAT_REF) v.text = m ? m->name : 0;
        if (f.tag == STAT_TEXT) v.text = text_of(r, &f);
        if (f.tag == STAT_BYTES) v.bytes = gp_wire_message(&f);
        if (f.tag == STAT_DOUBLE || f.tag == STAT_UINT || f.tag == STAT_INT) v.v = f.value;
        v.is_double = v.is_double || f.tag == STAT_DOUBLE;
        v.is_signed = v.is_signed || f.tag == STAT_INT;
    }
    check(r, &w);
    return v;
}

/* ---- events ---- */

/* What the stats of an event mean. */
struct event {
    gp_sid name, details, hlo[2]; /* HLO: operator, module */
    enum gp_gpu_kind kind;
    uint64_t corr, graph, node, program;
    bool wants_args;
};

static void put_arg(struct reading *r, struct gp_buf *b, const struct value *v)
{
    if (b->n) gp_buf_putc(b, ',');
    gp_json_put_string(b, gp_trace_str(r->t, v->key), gp_string_len(&r->t->strings, v->key));
    gp_buf_putc(b, ':');
    if (v->text) gp_json_put_string(b, gp_trace_str(r->t, v->text), gp_string_len(&r->t->strings, v->text));
    else if (v->is_double) gp_json_put_double(b, gp_wire_double(v->v));
    else if (v->is_signed) gp_buf_put_i64(b, (int64_t)v->v);
    else gp_buf_put_u64(b, v->v);
}

static void take_stats(struct reading *r, struct event *e, struct gp_wire w, uint32_t tag)
{
    for (struct gp_wire_field f; gp_wire_next(&w, &f);) {
        if (f.tag != tag) continue;
        struct value v = read_stat(r, gp_wire_message(&f));
        if (v.stat == CORRELATION) e->corr = v.v;
        if (v.stat == GRAPH && v.v) e->graph = v.v;
        if (v.stat == NODE) e->node = v.v;
        if (v.stat == COPY_DETAILS) e->kind = GP_MEMCPY;
        if (v.stat == SET_DETAILS) e->kind = GP_MEMSET;
        if (v.stat >= KERNEL_DETAILS && v.stat <= SET_DETAILS) e->details = v.text;
        if (v.stat == HLO_OP) e->hlo[0] = v.text;
        if (v.stat == HLO_MODULE) e->hlo[1] = v.text;
        if (v.stat == PROGRAM) e->program = v.v;
        if (v.stat >= HLO_CATEGORY && v.stat <= BYTES_ACCESSED) put_arg(r, &r->launch, &v);
        else if (e->wants_args && v.key && v.stat > SET_DETAILS) put_arg(r, &r->members, &v);
    }
}

/* The numbers after KEY in "regs:32 grid:4,1,1"; how many there are, at most N. */
static int numbers_after(const char *details, const char *key, uint64_t *to, int n)
{
    size_t length = strlen(key);
    for (const char *p = details; (p = strstr(p, key)); p += length) {
        if (p[length] != ':' || (p > details && p[-1] != ' ' && p[-1] != '\n')) continue;
        p += length + 1;
        for (int i = 0; i < n; i++) {
            size_t digits = strspn(p, "0123456789");
            if (!gp_u64_from_text(p, digits, &to[i])) return i;
            p += digits + (p[digits] == ',');
        }
        return n;
    }
    return 0;
}

static bool triple_after(const char *details, const char *key, uint32_t to[3])
{
    uint64_t v[3];
    bool known = numbers_after(details, key, v, 3) == 3;
    for (int i = 0; known && i < 3; i++) to[i] = (uint32_t)v[i];
    return known;
}

/* An object of the members; 0: there are none. */
static gp_sid object_of(struct reading *r, const struct gp_buf *members)
{
    if (!members->n) return 0;
    r->text.n = 0;
    gp_buf_putc(&r->text, '{');
    gp_buf_put(&r->text, members->data, members->n);
    gp_buf_putc(&r->text, '}');
    return gp_trace_intern(r->t, r->text.data, r->text.n);
}

/* LAUNCHED: what is known of its launch where the profiler says nothing. */
static uint32_t config_of(struct reading *r, const struct event *e, gp_sid launched)
{
    const char *details = gp_trace_str(r->t, e->details);
    uint64_t regs, fixed, dynamic = 0;
    struct gp_config c = {.name = e->name, .kind = e->kind};
    if (triple_after(details, "grid", c.grid)) c.has |= GP_HAS_GRID;
    if (triple_after(details, "block", c.block)) c.has |= GP_HAS_BLOCK;
    if (numbers_after(details, "regs", &regs, 1)) c.registers = (uint32_t)regs, c.has |= GP_HAS_REGS;
    if (numbers_after(details, "static_shared", &fixed, 1)) {
        if (numbers_after(details, "dynamic_shared", &dynamic, 1)) fixed += dynamic;
        c.shared_bytes = (uint32_t)fixed;
        c.has |= GP_HAS_SHARED;
    }
    c.extra = r->launch.n ? object_of(r, &r->launch) : launched;
    return gp_trace_config(r->t, &c);
}

/* End the range I of the line, if there is one. */
static void end_range(struct reading *r, int i, uint32_t track)
{
    struct range *range = &r->ranges[i];
    if (range->name && r->t->need & GP_NEED(GP_GPU_RANGE))
        gp_events_add(&r->t->events[GP_GPU_RANGE], range->start_ns, range->end_ns - range->start_ns, track,
                      range->name);
    range->name = 0;
}

/* Work one after the other of an operator or a module is one range. Work of a stream does not overlap. */
static void extend_ranges(struct reading *r, const struct event *e, uint32_t track, int64_t start_ns,
                          int64_t dur_ns)
{
    for (int i = 0; i < 2; i++) {
        struct range *range = &r->ranges[i];
        if (range->name != e->hlo[i] || start_ns < range->end_ns) end_range(r, i, track);
        if (!range->name) *range = (struct range){e->hlo[i], start_ns, start_ns};
        range->end_ns = start_ns + dur_ns;
    }
}

static void add_work(struct reading *r, const struct event *e, uint32_t track, int64_t start_ns,
                     int64_t dur_ns)
{
    struct gp_events *to = &r->t->events[GP_GPU];
    const char *details = gp_trace_str(r->t, e->details);
    uint64_t bytes;
    extend_ranges(r, e, track, start_ns, dur_ns);
    if (!(r->t->need & GP_NEED(GP_GPU))) return;
    const struct gp_hlo_op *op =
        e->kind == GP_KERNEL ? gp_hlo_find(&r->hlo, e->program, e->hlo[0], e->name) : NULL;
    size_t row = gp_events_add(to, start_ns, dur_ns, track, e->name);
    if (op) gp_set_stack(to, row, op->stack);
    gp_set_cell(to, GP_COL_CONFIG, row, config_of(r, e, op ? op->args : 0));
    gp_set_corr(to, row, e->corr);
    gp_set_graph(to, row, e->graph);
    gp_set_node(to, row, e->node);
    if (e->kind != GP_KERNEL &&
        (numbers_after(details, "size", &bytes, 1) || numbers_after(details, "num_bytes", &bytes, 1)))
        gp_set_bytes(to, row, (int64_t)(bytes & INT64_MAX));
    gp_set_extra(to, row, object_of(r, &r->members));
}

/* "$train.py:12 step" as other recorders write it: "train.py(12): step". 0: it is not a Python function. */
static gp_sid python_name(struct reading *r, const char *name)
{
    const char *line = *name == '$' ? strrchr(name, ':') : NULL, *space = line ? strchr(line, ' ') : NULL;
    if (!line || !space || !gp_is_digit(line[1])) return 0;
    r->text.n = 0;
    gp_buf_put(&r->text, name + 1, (size_t)(line - name - 1));
    gp_buf_putc(&r->text, '(');
    gp_buf_put(&r->text, line + 1, (size_t)(space - line - 1));
    gp_buf_puts(&r->text, "): ");
    gp_buf_puts(&r->text, space + 1);
    return gp_trace_intern(r->t, r->text.data, r->text.n);
}

/* XLA names most calls after the work that they launch. */
static gp_sid call_name(struct reading *r, const struct event *e, const char *name)
{
    static const char *const calls[] = {"cuLaunchKernel", "cuMemcpyAsync", "cuMemsetAsync"};
    bool is_call = gp_starts(name, "cu") && name[2] >= 'A' && name[2] <= 'Z';
    return is_call ? gp_trace_intern(r->t, name, strcspn(name, " ")) /* " (CudaGraph:11)" */
                   : gp_intern_cstr(&r->t->strings, calls[e->kind]);
}

static void add_host(struct reading *r, const struct event *e, uint32_t track, int64_t start_ns,
                     int64_t dur_ns)
{
    const char *name = gp_trace_str(r->t, e->name);
    bool call = e->corr != GP_NO_ID;
    gp_sid python = call ? 0 : python_name(r, name);
    enum gp_table table = python ? GP_PYTHON : call ? GP_API : GP_RANGE;
    struct gp_events *to = &r->t->events[table];
    if (!(r->t->need & GP_NEED(table))) return;
    size_t row = gp_events_add(to, start_ns, dur_ns, track,
                               python ? python
                               : call ? call_name(r, e, name)
                                      : e->name);
    if (!call) return;
    gp_set_corr(to, row, e->corr);
    gp_set_graph(to, row, e->graph);
    gp_set_cat(to, row, gp_intern_cstr(&r->t->strings, "cuda_driver"));
}

/* ---- lines ---- */

struct place {
    uint32_t track;
    bool host, work;
    int64_t base_ns;
};

static void read_event(struct reading *r, const struct place *at, struct gp_wire w)
{
    struct event e = {.corr = GP_NO_ID,
                      .graph = GP_NO_ID,
                      .node = GP_NO_ID,
                      .kind = GP_KERNEL,
                      .wants_args = at->work && gp_needs_extra(r->t->need, GP_GPU)};
    uint64_t meta = 0, from_ps = 0, dur_ps = 0;
    bool summed = false;
    struct gp_wire stats = w;
    for (struct gp_wire_field f; gp_wire_next(&w, &f);) {
        if (f.tag == EVENT_META) meta = f.value;
        if (f.tag == EVENT_OFFSET) from_ps = f.value;
        if (f.tag == EVENT_DURATION) dur_ps = f.value;
        summed = summed || f.tag == EVENT_COUNT;
    }
    check(r, &w);
    r->t->input.events++;
    if (summed) return; /* how often something happened, not when */
    int64_t start_ns = (int64_t)((uint64_t)at->base_ns + from_ps / 1000);
    if (from_ps > INT64_MAX || dur_ps > INT64_MAX || !gp_time_fits(at->base_ns) || !gp_time_fits(start_ns)) {
        gp_trace_issue(r->t, GP_Q_BAD_TIME, 1, offset_of(r, stats.p));
        return;
    }
    int64_t dur_ns = (int64_t)((from_ps + dur_ps) / 1000 - from_ps / 1000);
    const uint32_t *known = gp_map_get(&r->event_at, meta);
    r->members.n = r->launch.n = 0;
    if (known) {
        const struct event_meta *m = &r->event_metas.at[*known];
        e.name = m->name;
        take_stats(r, &e, m->stats, META_STAT);
    } else {
        gp_trace_issue(r->t, GP_Q_BAD_VALUE, 1, offset_of(r, stats.p));
    }
    take_stats(r, &e, stats, EVENT_STAT);
    if (gp_starts(gp_trace_str(r->t, e.name), "Memcpy")) e.kind = GP_MEMCPY;
    if (gp_starts(gp_trace_str(r->t, e.name), "Memset")) e.kind = GP_MEMSET;
    if (at->work) add_work(r, &e, at->track, start_ns, dur_ns);
    else if (at->host) add_host(r, &e, at->track, start_ns, dur_ns);
    else if (r->t->need & GP_NEED(GP_OTHER))
        gp_events_add(&r->t->events[GP_OTHER], start_ns, dur_ns, at->track, e.name);
}

static int64_t device_of(const char *plane)
{
    const char *colon = strrchr(plane, ':');
    int64_t device;
    size_t digits = colon ? strspn(colon + 1, "0123456789") : 0;
    return gp_i64_from_text(colon ? colon + 1 : "", digits, &device) ? device : -1;
}

static void read_line(struct reading *r, const char *plane, struct gp_wire w)
{
    struct place at = {.host = gp_starts(plane, "/host:")};
    struct gp_track k = gp_track_unknown();
    struct gp_wire events = w;
    gp_sid shown = 0;
    for (struct gp_wire_field f; gp_wire_next(&w, &f);) {
        if (f.tag == LINE_ID) k.tid = (int64_t)f.value;
        if (f.tag == LINE_NAME) k.name = text_of(r, &f);
        if (f.tag == LINE_SHOWN && f.value) shown = text_of(r, &f);
        if (f.tag == LINE_TIME) at.base_ns = (int64_t)f.value;
    }
    check(r, &w);
    if (!k.name) k.name = shown;
    const char *name = gp_trace_str(r->t, k.name);
    for (size_t i = 0; i < GP_COUNT(work); i++)
        at.work = at.work || (gp_starts(plane, work[i].plane) && gp_starts(name, work[i].line));
    k.kind = at.work ? GP_TRACK_STREAM : at.host ? GP_TRACK_THREAD : GP_TRACK_OTHER;
    k.process = r->process;
    if (!at.host) k.device = device_of(plane);
    if (at.work) {
        size_t number = strcspn(name, "0123456789");
        if (!gp_i64_from_text(name + number, strspn(name + number, "0123456789"), &k.stream))
            k.stream = k.tid;
        k.tid = k.stream;
    }
    at.track = gp_trace_track(r->t, &k);
    for (struct gp_wire_field f; gp_wire_next(&events, &f);)
        if (f.tag == LINE_EVENT) read_event(r, &at, gp_wire_message(&f));
    for (int i = 0; i < 2 && at.work; i++) end_range(r, i, at.track);
}

/* ---- planes ---- */

static void take_plane_stats(struct reading *r, const char *plane, struct gp_wire w)
{
    struct gp_device d = gp_device_unknown();
    bool any = false;
    for (struct gp_wire_field f; gp_wire_next(&w, &f);) {
        if (f.tag != PLANE_STAT) continue;
        struct value v = read_stat(r, gp_wire_message(&f));
        any = true;
        int64_t n = (int64_t)(v.v & INT64_MAX);
        if (v.stat == CLOCK_RATE) d.core_clock_khz = n;
        if (v.stat == BANDWIDTH) d.memory_bandwidth_bps = n;
        if (v.stat == MEMORY) d.memory_bytes = n;
        if (v.stat == CORES) d.sms = (int32_t)(n & INT32_MAX);
        if (v.stat == CC_MAJOR) d.cc_major = (int32_t)(n & INT32_MAX);
        if (v.stat == CC_MINOR) d.cc_minor = (int32_t)(n & INT32_MAX);
        if (v.stat == DEVICE_NAME || (v.stat == DEVICE_TYPE && !d.name)) d.name = v.text;
        if (v.stat == PROCESS) r->t->processes.at[r->process].pid = n;
        if (v.stat == START_TIME && gp_time_fits(n) && !r->t->clocks.n) /* lines count from there */
            GP_VEC_PUSH(&r->t->clocks, ((struct gp_clock){0, n, 0}));
    }
    d.id = device_of(plane);
    if (any && d.id >= 0 && gp_starts(plane, "/device:")) GP_VEC_PUSH(&r->t->devices, d);
}

/* The programs stand in the stats of what are names of events elsewhere, whose numbers are theirs. */
static void read_programs(struct reading *r, struct gp_wire w)
{
    for (struct gp_wire_field f; gp_wire_next(&w, &f);) {
        if (f.tag != PLANE_EVENTS) continue;
        uint64_t id = 0;
        struct gp_wire entry = gp_wire_message(&f), meta = {0};
        for (struct gp_wire_field g; gp_wire_next(&entry, &g);) {
            if (g.tag == ENTRY_KEY) id = g.value;
            if (g.tag == ENTRY_VALUE) meta = gp_wire_message(&g);
        }
        struct gp_wire proto = {0};
        for (struct gp_wire_field g; gp_wire_next(&meta, &g);) {
            struct value v = {0};
            if (g.tag == META_STAT) v = read_stat(r, gp_wire_message(&g));
            if (v.bytes.p) proto = v.bytes;
            else if (g.tag == META_STAT && v.stat == PROGRAM) id = v.v;
        }
        gp_hlo_add(&r->hlo, r->t, id, proto);
    }
}

/* Either that of the programs, or another one. */
static void read_plane(struct reading *r, struct gp_wire w, bool programs)
{
    gp_sid name = 0;
    struct gp_wire all = w, lines = w;
    for (struct gp_wire_field f; gp_wire_next(&w, &f);) {
        if (f.tag == PLANE_NAME) name = text_of(r, &f);
        if (f.tag == PLANE_EVENTS || f.tag == PLANE_STATS)
            add_meta(r, gp_wire_message(&f), f.tag == PLANE_EVENTS);
    }
    if (!programs) check(r, &w);
    if (programs == !strcmp(gp_trace_str(r->t, name), "/host:metadata")) {
        if (programs) read_programs(r, all);
        else take_plane_stats(r, gp_trace_str(r->t, name), all);
        for (struct gp_wire_field f; !programs && gp_wire_next(&lines, &f);)
            if (f.tag == PLANE_LINE) read_line(r, gp_trace_str(r->t, name), gp_wire_message(&f));
    }
    gp_map_release(&r->stat_at);
    gp_map_release(&r->event_at);
    memset(&r->stat_at, 0, sizeof r->stat_at);
    memset(&r->event_at, 0, sizeof r->event_at);
    r->stat_metas.n = r->event_metas.n = 0;
}

/* The first plane has perhaps a number, and then its name. */
static bool sniff(const uint8_t *head, size_t n)
{
    static const char *const planes[] = {"/", "Task Environment", "Host CPUs", "Syscalls", "#Chip"};
    struct gp_wire w = gp_wire_begin(head, n);
    struct gp_wire_field f;
    uint64_t tag, size;
    if (!gp_wire_varint(&w, &tag) || tag != SPACE_PLANE || !gp_wire_varint(&w, &size)) return false;
    if (size < (size_t)(w.end - w.p)) w.end = w.p + size;
    while (gp_wire_next(&w, &f) && f.tag == TAG(1, 0)) continue;
    for (size_t i = 0; i < GP_COUNT(planes) && f.data && f.tag == PLANE_NAME; i++)
        if (gp_begin(f.data, f.value, planes[i])) return true;
    return false;
}

static int read_xplane(struct gp_trace *t, struct gp_input *in, const struct gp_read_opts *opts,
                       struct gp_err *err)
{
    static const size_t most = (size_t)1 << 32;
    struct reading r = {.t = t};
    struct gp_buf file = {0};
    struct gp_process p = gp_process_unknown();
    (void)opts;
    if (gp_input_rest(in, most, &file, err)) {
        gp_buf_release(&file);
        return -1;
    }
    r.begin = (const uint8_t *)file.data;
    t->input.bytes = file.n;
    struct gp_wire w = gp_wire_begin(file.data, file.n), hosts = w;
    for (struct gp_wire_field f; gp_wire_next(&hosts, &f);) {
        if (f.tag == SPACE_HOST && !p.name) p.name = text_of(&r, &f);
        if (f.tag == SPACE_PLANE) read_plane(&r, gp_wire_message(&f), true);
    }
    r.process = gp_trace_process(t, &p);
    for (struct gp_wire_field f; gp_wire_next(&w, &f);)
        if (f.tag == SPACE_PLANE) read_plane(&r, gp_wire_message(&f), false);
    if (w.broken) gp_trace_issue(t, GP_Q_TRUNCATED, 1, offset_of(&r, w.p));
    GP_VEC_FREE(&r.stat_metas);
    GP_VEC_FREE(&r.event_metas);
    gp_hlo_release(&r.hlo);
    GP_RELEASE(gp_buf_release, &r.members, &r.launch, &r.text, &file);
    return 0;
}

const struct gp_reader gp_reader_xplane = {"xplane", "a profile of JAX (XPlane)", sniff, read_xplane, {NULL}};
