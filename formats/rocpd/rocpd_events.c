/* Dispatches, copies, allocations, regions and gauges. */
#include <string.h>
#include "formats/base/json_scan.h"
#include "formats/base/str.h"
#include "formats/model/cuda_names.h"
#include "formats/model/gauges.h"
#include "formats/rocpd/rocpd_priv.h"
#include "formats/rocpd/rocpd_read.h"

/* What the tables of events have in common; each table's own columns follow. */
#define PLACE "start end start_id end_id track_id pid tid agent_id queue_id stream_id event_id "
enum { START, END, START_ID, END_ID, TRACK, PROCESS, THREAD, AGENT, QUEUE, STREAM, EVENT, OWN };

static bool time_of(const struct gp_rocpd *r, struct gp_sqlite_scan *scan, int inline_column, int id_column,
                    int64_t *ns)
{
    int64_t id;
    if (gp_sqlite_has_column(scan, inline_column)) return gp_sqlite_get(scan, inline_column, ns);
    const uint32_t *at = gp_sqlite_get(scan, id_column, &id) ? gp_map_get(&r->time_at, (uint64_t)id) : NULL;
    if (at) *ns = r->times.at[*at];
    return at != NULL;
}

static bool span_of(struct gp_rocpd *r, struct gp_sqlite_scan *scan, int64_t *start_ns, int64_t *dur_ns)
{
    int64_t end;
    r->t->input.events++;
    *dur_ns = 0;
    if (!time_of(r, scan, START, START_ID, start_ns) || !gp_time_fits(*start_ns)) {
        gp_trace_issue(r->t, GP_Q_BAD_TIME, 1, -1);
        return false;
    }
    if (!time_of(r, scan, END, END_ID, &end) || !gp_time_fits(end) || end < *start_ns ||
        end - *start_ns > GP_DURATION_MOST)
        gp_trace_issue(r->t, GP_Q_BAD_DURATION, 1, -1);
    else *dur_ns = end - *start_ns;
    return true;
}

static struct gp_rocpd_place place_of(const struct gp_rocpd *r, struct gp_sqlite_scan *scan)
{
    int64_t track;
    const uint32_t *at =
        gp_sqlite_get(scan, TRACK, &track) ? gp_map_get(&r->place_at, (uint64_t)track) : NULL;
    if (at) return r->places.at[*at];
    return (struct gp_rocpd_place){gp_sqlite_int(scan, PROCESS, -1), gp_sqlite_int(scan, THREAD, -1),
                                   gp_sqlite_int(scan, AGENT, -1), gp_sqlite_int(scan, QUEUE, -1),
                                   gp_sqlite_int(scan, STREAM, -1)};
}

/* Calls and their work share the id of a stack; 0 means none. */
static uint64_t corr_of(const struct gp_rocpd *r, struct gp_sqlite_scan *scan)
{
    int64_t stack = gp_rocpd_event(r, gp_sqlite_int(scan, EVENT, -1)).stack;
    return stack > 0 ? (uint64_t)stack : GP_NO_ID;
}

static void add_work(struct gp_rocpd *r, struct gp_sqlite_scan *scan, const struct gp_config *c,
                     int64_t agent, int64_t bytes)
{
    struct gp_events *e = &r->t->events[GP_GPU];
    struct gp_rocpd_place place = place_of(r, scan);
    int64_t start, dur;
    if (!span_of(r, scan, &start, &dur)) return;
    if (agent >= 0) place.agent = agent;
    size_t row = gp_events_add(e, start, dur, gp_rocpd_stream(r, &place), c->name);
    gp_events_materialise(e, GP_COL_CONFIG);
    e->config[row] = gp_trace_config(r->t, c);
    gp_set_corr(e, row, corr_of(r, scan));
    gp_set_bytes(e, row, bytes);
}

/* Sizes of grids are counted in work items here. */
static void read_dispatches(struct gp_rocpd *r)
{
    enum { KERNEL = OWN, BLOCK, GRID = BLOCK + 3, SHARED = GRID + 3 };
    GP_SQLITE_EACH(scan, r->db, gp_rocpd_table(r, "rocpd_kernel_dispatch"),
                   PLACE "kernel_id workgroup_size_x workgroup_size_y workgroup_size_z grid_size_x "
                         "grid_size_y grid_size_z group_segment_size") {
        const uint32_t *at = gp_map_get(&r->kernel_at, (uint64_t)gp_sqlite_int(&scan, KERNEL, -1));
        const struct gp_rocpd_kernel *kernel = at ? &r->kernels.at[*at] : NULL;
        struct gp_config c = {.kind = GP_KERNEL};
        c.name = kernel && kernel->name ? kernel->name : gp_intern_cstr(&r->t->strings, "[unnamed kernel]");
        for (int i = 0; i < 3; i++) {
            uint32_t items = gp_sqlite_u32(&scan, GRID + i);
            c.block[i] = gp_sqlite_u32(&scan, BLOCK + i);
            c.grid[i] = c.block[i] ? items / c.block[i] + (items % c.block[i] != 0) : items;
        }
        c.has = GP_HAS_GRID | GP_HAS_BLOCK;
        if (kernel && kernel->registers) c.has |= GP_HAS_REGS;
        if (kernel) c.registers = kernel->registers;
        if (gp_sqlite_has_column(&scan, SHARED)) c.has |= GP_HAS_SHARED;
        c.shared_bytes = gp_sqlite_u32(&scan, SHARED);
        add_work(r, &scan, &c, -1, 0);
    }
}

/* ---- copies ---- */

static uint32_t copy_kind(const char *name)
{
    static const struct {
        uint32_t kind;
        const char *part;
    } kinds[] = {{1, "HOST_TO_DEVICE"}, {2, "DEVICE_TO_HOST"}, {8, "DEVICE_TO_DEVICE"}, {9, "HOST_TO_HOST"}};
    for (size_t i = 0; i < GP_COUNT(kinds); i++)
        if (strstr(name, kinds[i].part)) return kinds[i].kind;
    return 0;
}

/* The GPU that takes part, the destination if both ends do. */
static int64_t copying_agent(const struct gp_rocpd *r, int64_t to, int64_t from)
{
    const uint32_t *a = gp_map_get(&r->agent_at, (uint64_t)to), *b = gp_map_get(&r->agent_at, (uint64_t)from);
    if (a && r->agents.at[*a].gpu) return to;
    return b && r->agents.at[*b].gpu ? from : -1;
}

static void read_copies(struct gp_rocpd *r)
{
    enum { NAME = OWN, TO, FROM, SIZE };
    GP_SQLITE_EACH(scan, r->db, gp_rocpd_table(r, "rocpd_memory_copy"),
                   PLACE "name_id dst_agent_id src_agent_id size") {
        static const char *const ends[][2] = {
            {"Host", "Device"}, {"Device", "Host"}, {"Device", "Device"}, {"Host", "Host"}};
        static const uint32_t kinds[] = {1, 2, 8, 9};
        struct gp_buf name = {0};
        struct gp_config c = {.kind = GP_MEMCPY};
        c.copy_kind = copy_kind(gp_trace_str(r->t, gp_rocpd_string(r, gp_sqlite_int(&scan, NAME, -1))));
        gp_buf_printf(&name, "Memcpy %s", gp_cuda_copy_kind(c.copy_kind));
        for (size_t i = 0; i < GP_COUNT(kinds); i++)
            if (kinds[i] == c.copy_kind) gp_buf_printf(&name, " (%s -> %s)", ends[i][0], ends[i][1]);
        c.name = gp_trace_intern(r->t, name.data, name.n);
        gp_buf_release(&name);
        int64_t agent = copying_agent(r, gp_sqlite_int(&scan, TO, -1), gp_sqlite_int(&scan, FROM, -1));
        add_work(r, &scan, &c, agent, gp_sqlite_int(&scan, SIZE, 0));
    }
}

/* ---- allocations ---- */

static void read_allocations(struct gp_rocpd *r)
{
    enum { TYPE = OWN, ADDRESS, SIZE };
    struct gp_events *e = &r->t->events[GP_MEMORY];
    struct gp_map sizes = {0}; /* address -> index */
    GP_VEC(int64_t) held = {0};
    gp_sid name = gp_intern_cstr(&r->t->strings, "[memory]");
    GP_SQLITE_EACH(scan, r->db, gp_rocpd_table(r, "rocpd_memory_allocate"), PLACE "type address size") {
        size_t n = 0;
        int64_t start, dur, size = gp_sqlite_int(&scan, SIZE, 0);
        uint64_t address = (uint64_t)gp_sqlite_int(&scan, ADDRESS, 0);
        const char *type = gp_sqlite_text(&scan, TYPE, &n);
        bool frees = type && gp_is(type, n, "FREE");
        if (size < 0 || !span_of(r, &scan, &start, &dur)) continue;
        uint32_t *at = gp_map_put(&sizes, address, (uint32_t)held.n);
        if (*at == held.n) GP_VEC_PUSH(&held, 0);
        if (frees && !size) size = held.at[*at];
        held.at[*at] = frees ? 0 : size;
        struct gp_rocpd_place place = place_of(r, &scan);
        size_t row = gp_events_add(e, start, 0, gp_rocpd_thread(r, &place), name);
        gp_set_bytes(e, row, frees ? -size : size);
        gp_set_addr(e, row, address);
        gp_set_corr(e, row, corr_of(r, &scan));
    }
    gp_map_release(&sizes);
    GP_VEC_FREE(&held);
}

/* ---- regions: calls and ranges ---- */

/* Which table a region belongs to, by its category; where there is none, by its name. */
static enum gp_table table_of(const char *category, const char *name)
{
    if (strstr(category, "MARKER") || strstr(category, "ROCTX")) return GP_RANGE;
    if (gp_starts(category, "HIP") || (!*category && gp_starts(name, "hip"))) return GP_API;
    return *category ? GP_OTHER : GP_RANGE;
}

/* A marker's text is in its further data. */
static gp_sid message_of(struct gp_rocpd *r, struct gp_sqlite_scan *scan, int column, gp_sid name)
{
    struct gp_json_value key, v;
    struct gp_buf text = {0}, decoded = {0};
    size_t n;
    const char *extra = gp_sqlite_text(scan, column, &n);
    if (!extra || n < 2 || extra[0] != '{') return name;
    gp_buf_put(&text, extra, n);
    memset(gp_buf_reserve(&text, GP_JSON_PAD), 0, GP_JSON_PAD);
    const char *at = text.data + 1;
    while (gp_json_next(&at, text.data + n, &key, &v)) {
        if (!gp_is(key.p, key.n, "message") || !gp_json_is_string(&v)) continue;
        gp_json_decode(&decoded, v.p, v.n);
        if (decoded.n) name = gp_trace_intern(r->t, decoded.data, decoded.n);
        break;
    }
    gp_buf_release(&text);
    gp_buf_release(&decoded);
    return name;
}

static void read_regions(struct gp_rocpd *r)
{
    enum { NAME = OWN, EXTRA };
    GP_SQLITE_EACH(scan, r->db, gp_rocpd_table(r, "rocpd_region"), PLACE "name_id extdata") {
        int64_t start, dur, category = gp_rocpd_event(r, gp_sqlite_int(&scan, EVENT, -1)).category;
        const uint32_t *known = gp_map_get(&r->categories, (uint64_t)category);
        gp_sid kind = known ? *known : gp_rocpd_string(r, category);
        gp_sid name = gp_rocpd_string(r, gp_sqlite_int(&scan, NAME, -1));
        if (!name) name = gp_intern_cstr(&r->t->strings, "[unnamed call]");
        enum gp_table table = table_of(gp_trace_str(r->t, kind), gp_trace_str(r->t, name));
        if (!span_of(r, &scan, &start, &dur) || !(r->t->need & GP_NEED(table))) continue;
        struct gp_events *e = &r->t->events[table];
        if (table == GP_RANGE) name = message_of(r, &scan, EXTRA, name);
        struct gp_rocpd_place place = place_of(r, &scan);
        size_t row = gp_events_add(e, start, dur, gp_rocpd_thread(r, &place), name);
        if (table == GP_API) gp_set_corr(e, row, corr_of(r, &scan));
        if (table == GP_OTHER) gp_set_cat(e, row, kind);
    }
}

/* ---- gauges ---- */

/* Of what rocprof-sys samples of the driver, what has one unit in all its versions: not the memory in use. */
static enum gp_gauge gauge_of(struct gp_sqlite_scan *scan, int column)
{
    size_t n = 0;
    const char *name = gp_sqlite_text(scan, column, &n);
    if (name && gp_is(name, n, "device_power")) return GP_GAUGE_POWER;
    return name && gp_is(name, n, "device_temp") ? GP_GAUGE_TEMPERATURE : GP_GAUGE_COUNT;
}

struct gauge {
    enum gp_gauge gauge;
    uint32_t track;
};

/* One event has several samples, at one time, and the values of all of them. */
static void read_gauges(struct gp_rocpd *r)
{
    struct gp_map time_at = {0}, gauge_at = {0};
    GP_VEC(int64_t) times = {0};
    GP_VEC(struct gauge) gauges = {0};
    int64_t at, time;
    GP_SQLITE_EACH(scan, r->db, gp_rocpd_table(r, "rocpd_info_pmc"), "id pid agent_id name") {
        struct gauge g = {gauge_of(&scan, 3), 0};
        if (g.gauge == GP_GAUGE_COUNT || !gp_sqlite_get(&scan, 2, &at)) continue;
        g.track = gp_rocpd_device(r, gp_sqlite_int(&scan, 1, -1), at);
        gp_map_put(&gauge_at, (uint64_t)gp_sqlite_int(&scan, 0, -1), (uint32_t)gauges.n);
        GP_VEC_PUSH(&gauges, g);
    }
    if (gauges.n)
        GP_SQLITE_EACH(scan, r->db, gp_rocpd_table(r, "rocpd_sample"), "event_id timestamp") {
            if (!gp_sqlite_get(&scan, 0, &at) || !gp_sqlite_get(&scan, 1, &time) || !gp_time_fits(time))
                continue;
            gp_map_put(&time_at, (uint64_t)at, (uint32_t)times.n);
            GP_VEC_PUSH(&times, time);
        }
    if (gauges.n)
        GP_SQLITE_EACH(scan, r->db, gp_rocpd_table(r, "rocpd_pmc_event"), "event_id pmc_id value") {
            const uint32_t *when = gp_map_get(&time_at, (uint64_t)gp_sqlite_int(&scan, 0, -1));
            const uint32_t *what = gp_map_get(&gauge_at, (uint64_t)gp_sqlite_int(&scan, 1, -1));
            double value;
            if (!when || !what || !gp_sqlite_double(&scan, 2, &value)) continue;
            gp_gauge_put(r->t, times.at[*when], gauges.at[*what].track, gauges.at[*what].gauge, NULL, value);
            r->t->input.events++;
        }
    GP_RELEASE(gp_map_release, &time_at, &gauge_at);
    GP_RELEASE(gp_vec_free, &times, &gauges);
}

static void read_events(struct gp_rocpd *r)
{
    if (r->t->need & GP_NEED(GP_COUNTER)) read_gauges(r);
    if (r->t->need & GP_NEED(GP_GPU)) {
        read_dispatches(r);
        read_copies(r);
    }
    if (r->t->need & GP_NEED(GP_MEMORY)) read_allocations(r);
    if (r->t->need & (GP_NEED(GP_API) | GP_NEED(GP_RANGE) | GP_NEED(GP_OTHER))) read_regions(r);
}

static const char FIRST[] = "rocpd_string"; /* a table that every database has, with a suffix */

bool gp_rocpd_matches(const struct gp_sqlite *db)
{
    const char *name;
    for (size_t i = 0; (name = gp_sqlite_table(db, i)); i++)
        if (gp_starts(name, FIRST)) return true;
    return false;
}

/* Merged files have the tables of several recordings, each with its suffix. */
void gp_rocpd_read(struct gp_trace *t, struct gp_sqlite *db)
{
    static const char collector[] = "\"rocprofv3\"";
    const char *name;
    for (size_t i = 0; (name = gp_sqlite_table(db, i)); i++) {
        if (!gp_starts(name, FIRST)) continue;
        struct gp_rocpd r = {.t = t, .db = db, .suffix = name + strlen(FIRST)};
        gp_rocpd_load(&r);
        read_events(&r);
        gp_rocpd_release(&r);
    }
    gp_trace_set_meta(t, "collector", collector, strlen(collector));
}
