/* What the ids of the tables mean. */
#include <stdio.h>
#include <string.h>
#include "formats/rocpd/rocpd_priv.h"

const char *gp_rocpd_table(struct gp_rocpd *r, const char *table)
{
    r->name.n = 0;
    gp_buf_puts(&r->name, table);
    gp_buf_puts(&r->name, r->suffix);
    return gp_buf_str(&r->name);
}

static gp_sid sid_of(struct gp_rocpd *r, struct gp_sqlite_scan *scan, int column)
{
    size_t n;
    const char *text = gp_sqlite_text(scan, column, &n);
    return text ? gp_trace_intern(r->t, text, n) : 0;
}

/* Of a command only the name of its program. */
static gp_sid program_of(struct gp_rocpd *r, const char *command, size_t n)
{
    size_t length = 0, from = 0;
    while (length < n && command[length] != ' ') length++;
    for (size_t i = 0; i < length; i++)
        if (command[i] == '/') from = i + 1;
    return gp_trace_intern(r->t, command + from, length - from);
}

static void load_processes(struct gp_rocpd *r)
{
    enum { ID, PID, COMMAND };
    GP_SQLITE_EACH(scan, r->db, gp_rocpd_table(r, "rocpd_info_process"), "id pid command") {
        struct gp_process p = gp_process_unknown();
        size_t n;
        const char *command = gp_sqlite_text(&scan, COMMAND, &n);
        p.pid = gp_sqlite_int(&scan, PID, 0);
        p.producer = (uint32_t)r->t->processes.n;
        if (command) p.name = program_of(r, command, n);
        gp_map_put(&r->process_at, (uint64_t)gp_sqlite_int(&scan, ID, -1), gp_trace_process(r->t, &p));
        GP_VEC_PUSH(&r->t->clocks, ((struct gp_clock){.producer = p.producer}));
    }
}

static void load_threads(struct gp_rocpd *r)
{
    enum { ID, PID, TID, NAME };
    GP_SQLITE_EACH(scan, r->db, gp_rocpd_table(r, "rocpd_info_thread"), "id pid tid name") {
        struct gp_rocpd_thread one = {gp_sqlite_int(&scan, PID, -1), gp_sqlite_int(&scan, TID, 0),
                                      sid_of(r, &scan, NAME)};
        gp_map_put(&r->thread_at, (uint64_t)gp_sqlite_int(&scan, ID, -1), (uint32_t)r->threads.n);
        GP_VEC_PUSH(&r->threads, one);
    }
}

static void load_agents(struct gp_rocpd *r)
{
    enum { ID, TYPE, INDEX, LOGICAL, PRODUCT, NAME };
    GP_SQLITE_EACH(scan, r->db, gp_rocpd_table(r, "rocpd_info_agent"),
                   "id type type_index logical_index product_name name") {
        size_t n;
        struct gp_rocpd_agent one = {.gpu = true};
        const char *type = gp_sqlite_text(&scan, TYPE, &n);
        if (type) one.gpu = n == strlen("GPU") && !memcmp(type, "GPU", n);
        one.ordinal = gp_sqlite_int(&scan, INDEX, gp_sqlite_int(&scan, LOGICAL, 0));
        one.name = sid_of(r, &scan, PRODUCT);
        if (!one.name) one.name = sid_of(r, &scan, NAME);
        gp_map_put(&r->agent_at, (uint64_t)gp_sqlite_int(&scan, ID, -1), (uint32_t)r->agents.n);
        GP_VEC_PUSH(&r->agents, one);
    }
}

static void load_kernels(struct gp_rocpd *r)
{
    enum { ID, NAME, DISPLAY, REGISTERS, SHARED };
    GP_SQLITE_EACH(scan, r->db, gp_rocpd_table(r, "rocpd_info_kernel_symbol"),
                   "id kernel_name display_name arch_vgpr_count group_segment_size") {
        struct gp_rocpd_kernel one = {.name = sid_of(r, &scan, DISPLAY)};
        if (!one.name) one.name = sid_of(r, &scan, NAME);
        one.registers = gp_sqlite_u32(&scan, REGISTERS);
        one.shared_bytes = gp_sqlite_u32(&scan, SHARED);
        gp_map_put(&r->kernel_at, (uint64_t)gp_sqlite_int(&scan, ID, -1), (uint32_t)r->kernels.n);
        GP_VEC_PUSH(&r->kernels, one);
    }
}

static void load_names(struct gp_rocpd *r, const char *table, struct gp_map *to)
{
    GP_SQLITE_EACH(scan, r->db, gp_rocpd_table(r, table), "id name")
        gp_map_put(to, (uint64_t)gp_sqlite_int(&scan, 0, -1), sid_of(r, &scan, 1));
}

static void load_events(struct gp_rocpd *r)
{
    GP_SQLITE_EACH(scan, r->db, gp_rocpd_table(r, "rocpd_event"), "id stack_id category_id") {
        struct gp_rocpd_event one = {gp_sqlite_int(&scan, 1, 0), gp_sqlite_int(&scan, 2, 0)};
        gp_map_put(&r->event_at, (uint64_t)gp_sqlite_int(&scan, 0, -1), (uint32_t)r->events.n);
        GP_VEC_PUSH(&r->events, one);
    }
}

/* Newer layouts keep places and times apart from the events that have them. */
static void load_places(struct gp_rocpd *r)
{
    GP_SQLITE_EACH(scan, r->db, gp_rocpd_table(r, "rocpd_track"), "id pid tid agent_id queue_id stream_id") {
        struct gp_rocpd_place one = {gp_sqlite_int(&scan, 1, -1), gp_sqlite_int(&scan, 2, -1),
                                     gp_sqlite_int(&scan, 3, -1), gp_sqlite_int(&scan, 4, -1),
                                     gp_sqlite_int(&scan, 5, -1)};
        gp_map_put(&r->place_at, (uint64_t)gp_sqlite_int(&scan, 0, -1), (uint32_t)r->places.n);
        GP_VEC_PUSH(&r->places, one);
    }
}

static void load_times(struct gp_rocpd *r)
{
    GP_SQLITE_EACH(scan, r->db, gp_rocpd_table(r, "rocpd_timestamp"), "id value") {
        int64_t v;
        if (!gp_sqlite_get(&scan, 1, &v)) continue;
        gp_map_put(&r->time_at, (uint64_t)gp_sqlite_int(&scan, 0, -1), (uint32_t)r->times.n);
        GP_VEC_PUSH(&r->times, v);
    }
}

void gp_rocpd_load(struct gp_rocpd *r)
{
    gp_sqlite_texts_read(&r->texts, r->db, gp_rocpd_table(r, "rocpd_string"), "id string");
    load_processes(r);
    load_threads(r);
    load_agents(r);
    load_kernels(r);
    load_names(r, "rocpd_info_stream", &r->stream_names);
    load_names(r, "rocpd_info_category", &r->categories);
    load_events(r);
    load_places(r);
    load_times(r);
}

struct gp_rocpd_event gp_rocpd_event(const struct gp_rocpd *r, int64_t id)
{
    const uint32_t *at = gp_map_get(&r->event_at, (uint64_t)id);
    return at ? r->events.at[*at] : (struct gp_rocpd_event){0};
}

/* ---- tracks ---- */

static uint32_t process_of(struct gp_rocpd *r, int64_t id)
{
    const uint32_t *known = gp_map_get(&r->process_at, (uint64_t)id);
    if (known) return *known;
    struct gp_process p = gp_process_unknown();
    return gp_trace_process(r->t, &p);
}

uint32_t gp_rocpd_thread(struct gp_rocpd *r, const struct gp_rocpd_place *place)
{
    const uint32_t *at = gp_map_get(&r->thread_at, (uint64_t)place->thread);
    struct gp_track k = gp_track_unknown();
    k.kind = GP_TRACK_THREAD;
    k.process = process_of(r, at && place->process < 0 ? r->threads.at[*at].process : place->process);
    k.tid = at ? r->threads.at[*at].tid : r->t->processes.at[k.process].pid;
    if (at) k.name = r->threads.at[*at].name;
    return gp_trace_track(r->t, &k);
}

static void add_device(struct gp_rocpd *r, uint32_t process, const struct gp_rocpd_agent *agent)
{
    uint32_t producer = r->t->processes.at[process].producer;
    for (size_t i = 0; i < r->t->devices.n; i++)
        if (r->t->devices.at[i].producer == producer && r->t->devices.at[i].id == agent->ordinal) return;
    struct gp_device d = gp_device_unknown();
    d.producer = producer;
    d.id = agent->ordinal;
    d.name = agent->name;
    GP_VEC_PUSH(&r->t->devices, d);
}

uint32_t gp_rocpd_stream(struct gp_rocpd *r, const struct gp_rocpd_place *place)
{
    const uint32_t *agent = gp_map_get(&r->agent_at, (uint64_t)place->agent);
    const uint32_t *stream_name = gp_map_get(&r->stream_names, (uint64_t)place->stream);
    struct gp_track k = gp_track_unknown();
    char name[40] = "";
    k.kind = GP_TRACK_STREAM;
    k.process = process_of(r, place->process);
    k.device = agent ? r->agents.at[*agent].ordinal : -1;
    k.stream = k.tid = place->stream >= 0 ? place->stream : place->queue;
    if (k.stream >= 0)
        snprintf(name, sizeof name, "%s %lld", place->stream >= 0 ? "stream" : "queue", (long long)k.stream);
    k.name = stream_name && *stream_name ? *stream_name : gp_trace_intern(r->t, name, strlen(name));
    if (agent) add_device(r, k.process, &r->agents.at[*agent]);
    return gp_trace_track(r->t, &k);
}

uint32_t gp_rocpd_device(struct gp_rocpd *r, int64_t process, int64_t agent)
{
    const uint32_t *at = gp_map_get(&r->agent_at, (uint64_t)agent);
    struct gp_track k = gp_track_unknown();
    k.kind = GP_TRACK_OTHER;
    k.process = process_of(r, process);
    if (at && r->agents.at[*at].gpu) k.device = r->agents.at[*at].ordinal;
    return gp_trace_track(r->t, &k);
}

void gp_rocpd_release(struct gp_rocpd *r)
{
    GP_RELEASE(gp_map_release, &r->thread_at, &r->agent_at, &r->kernel_at, &r->event_at, &r->place_at,
               &r->time_at, &r->stream_names, &r->categories, &r->process_at);
    gp_sqlite_texts_release(&r->texts);
    GP_RELEASE(gp_vec_free, &r->threads, &r->agents, &r->kernels, &r->events, &r->places, &r->times);
    gp_buf_release(&r->name);
}
