/* What the host did for each step, and how the trace was recorded. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "analyze/math/sums.h"
#include "analyze/metrics/measured.h"
#include "analyze/names/args.h"
#include "analyze/view/idle_walk.h"
#include "analyze/diff/profile_priv.h"
#include "formats/base/buf.h"
#include "formats/base/order.h"

#define NONE GP_PROFILE_NONE

/* Calls of a process count for each of its devices; damaged files have any number of those. */
enum { MOST_LANES = 64 };

/* ---- launches ---- */

static void count_launches(const struct gp_profile *p, struct gp_profile_step *s)
{
    uint32_t last = NONE;
    for (uint32_t i = s->first; i < s->first + s->n; i++) {
        const struct gp_profile_event *e = &p->events.at[i];
        if (e->launch == NONE || e->launch == last) continue;
        last = e->launch;
        s->host.launches++;
        s->host.graph_launches += p->places.at[e->place].by_graph;
    }
}

/* ---- calls that wait ---- */

/* The step of a lane for the program's window W; NONE if nothing of it was launched on the lane. */
static uint32_t step_of_window(const struct gp_profile_job *j, const struct gp_profile_lane *l, size_t w)
{
    GP_SEARCH(lo, l->first_step, l->first_step + l->n_steps, mid, j->window_of_step.at[mid] < w);
    return lo < l->first_step + l->n_steps && j->window_of_step.at[lo] == w ? lo : NONE;
}

static void add_call(struct gp_profile_host *h, enum gp_idle_cause cause, int64_t dur_ns)
{
    h->syncs += cause == GP_IDLE_SYNC;
    h->blocking += cause == GP_IDLE_ALLOCATION;
    if (cause == GP_IDLE_SYNC) h->sync_ns = gp_add_saturated(h->sync_ns, dur_ns);
}

/* Calls of the steps are kept with their lines; those that wait come before allocations. */
static void keep_call(struct gp_profile_job *j, uint32_t step, enum gp_profile_call_sort sort, uint32_t stack)
{
    GP_VEC_PUSH(&j->p->calls, ((struct gp_profile_call){step, sort, gp_profile_line(j, stack)}));
}

static void count_call(struct gp_profile_job *j, size_t row, enum gp_idle_cause cause)
{
    const struct gp_events *api = &j->t->events[GP_API];
    enum gp_profile_call_sort sort = cause == GP_IDLE_SYNC ? GP_PROFILE_SYNC : GP_PROFILE_BLOCKING;
    uint32_t producer = gp_track_producer(j->t, api->track[row]), lanes = 0;
    for (size_t i = 0; i < j->p->lanes.n && lanes < MOST_LANES; i++) {
        struct gp_profile_lane *l = &j->p->lanes.at[i];
        if (l->producer != producer) continue;
        lanes++;
        add_call(&l->whole.host, cause, api->dur_ns[row]);
        const struct gp_steps_program *program = gp_steps_of(&j->steps, producer);
        size_t w = gp_steps_window_at(program, api->start_ns[row], 0);
        uint32_t step = w < program->windows.n ? step_of_window(j, l, w) : NONE;
        if (step == NONE) continue;
        add_call(&j->p->steps.at[step].host, cause, api->dur_ns[row]);
        keep_call(j, step, sort, gp_get_stack(api, row));
    }
}

static void count_waits(struct gp_profile_job *j)
{
    const struct gp_trace *t = j->t;
    const struct gp_events *api = &t->events[GP_API];
    uint8_t *causes = gp_zalloc((size_t)t->strings.n + 1); /* by name: cause + 1 */
    for (size_t i = 0; i < api->n; i++) {
        uint8_t *cause = &causes[api->name[i]];
        if (!*cause) *cause = (uint8_t)(gp_idle_call_cause(gp_trace_str(t, api->name[i])) + 1);
        if (*cause != GP_IDLE_HOST + 1) count_call(j, i, (enum gp_idle_cause)(*cause - 1));
    }
    free(causes);
}

/* ---- memory ---- */

/* Allocated bytes of a lane, while rows are read in order of time. */
struct level {
    int64_t now;
    uint32_t next; /* the first step that has not begun */
};

static void set_level(struct gp_profile_host *h, int64_t bytes)
{
    if (bytes > h->peak_bytes) h->peak_bytes = bytes;
    h->end_bytes = bytes;
}

static void add_allocation(struct gp_profile_host *h, int64_t bytes, int64_t level, int64_t reserved)
{
    if (bytes > 0) {
        h->allocations++;
        h->allocated_bytes = gp_add_saturated(h->allocated_bytes, bytes);
    }
    set_level(h, level);
    if (reserved > h->peak_reserved_bytes) h->peak_reserved_bytes = reserved;
}

/* Steps that began before AT_NS start with the bytes allocated then. */
static void begin_steps(struct gp_profile_job *j, const struct gp_profile_lane *l, struct level *level,
                        int64_t at_ns)
{
    const struct gp_steps_program *program = gp_steps_of(&j->steps, l->producer);
    for (; level->next < l->first_step + l->n_steps; level->next++) {
        if (program->windows.at[j->window_of_step.at[level->next]].begin_ns > at_ns) break;
        set_level(&j->p->steps.at[level->next].host, level->now);
    }
}

static void track_row(struct gp_profile_job *j, struct gp_profile_lane *l, struct level *level, size_t row,
                      bool totals)
{
    const struct gp_events *e = &j->t->events[GP_MEMORY];
    const struct gp_steps_program *program = gp_steps_of(&j->steps, l->producer);
    int64_t at = e->start_ns[row], bytes = gp_get_bytes(e, row), reserved = gp_get_reserved(e, row);
    begin_steps(j, l, level, at);
    level->now = totals ? gp_get_total(e, row) : gp_add_saturated(level->now, bytes);
    add_allocation(&l->whole.host, bytes, level->now, reserved);
    if (level->next == l->first_step) return;
    struct gp_profile_step *s = &j->p->steps.at[level->next - 1];
    if (at >= program->windows.at[j->window_of_step.at[level->next - 1]].end_ns) return;
    add_allocation(&s->host, bytes, level->now, reserved);
    if (bytes > 0) keep_call(j, level->next - 1, GP_PROFILE_ALLOCATION, gp_get_stack(e, row));
}

static uint64_t lane_key(uint32_t producer, int64_t device)
{
    return (uint64_t)device * 0x9e3779b97f4a7c15u + producer;
}

static void track_memory(struct gp_profile_job *j)
{
    const struct gp_trace *t = j->t;
    const struct gp_events *e = &t->events[GP_MEMORY];
    struct gp_map lane_of = {0}, device_of = {0}; /* args text -> index into devices */
    GP_VEC(int64_t) devices = {0};
    bool totals = false;
    for (size_t i = 0; i < e->n; i++) totals |= gp_get_total(e, i) != 0;
    struct level *levels = gp_zalloc((j->p->lanes.n + 1) * sizeof *levels);
    for (uint32_t i = 0; i < j->p->lanes.n; i++) {
        const struct gp_profile_lane *l = &j->p->lanes.at[i];
        gp_map_put(&lane_of, lane_key(l->producer, l->device), i);
        levels[i].next = l->first_step;
    }
    for (size_t i = 0; i < e->n; i++) {
        uint32_t *known = gp_map_put(&device_of, gp_get_extra(e, i), (uint32_t)devices.n);
        if (*known == devices.n) GP_VEC_PUSH(&devices, gp_memory_device(gp_trace_str(t, gp_get_extra(e, i))));
        if (devices.at[*known] < 0) continue;
        uint64_t key = lane_key(gp_track_producer(t, e->track[i]), devices.at[*known]);
        const uint32_t *lane = gp_map_get(&lane_of, key);
        if (!lane) continue;
        track_row(j, &j->p->lanes.at[*lane], &levels[*lane], i, totals);
        j->p->has_memory = true;
    }
    for (uint32_t i = 0; i < j->p->lanes.n && j->p->has_memory; i++)
        begin_steps(j, &j->p->lanes.at[i], &levels[i], INT64_MAX);
    free(levels);
    GP_RELEASE(gp_map_release, &lane_of, &device_of);
    GP_VEC_FREE(&devices);
}

void gp_profile_host_work(struct gp_profile_job *j)
{
    for (size_t i = 0; i < j->p->steps.n; i++) count_launches(j->p, &j->p->steps.at[i]);
    for (size_t i = 0; i < j->p->lanes.n; i++) count_launches(j->p, &j->p->lanes.at[i].whole);
    count_waits(j);
    track_memory(j);
}

/* ---- counters ---- */

void gp_profile_count(struct gp_profile_job *j)
{
    size_t n = j->t->events[GP_GPU].n;
    struct gp_measured m;
    if (!j->t->events[GP_METRIC].n) return;
    for (size_t i = 0; i < j->p->events.n * GP_COUNTED_COUNT; i++) GP_VEC_PUSH(&j->p->counted, -1);
    gp_measured_init(&m, j->t, j->t);
    for (size_t row = 0; row < n; row++) {
        struct gp_counted k;
        if (gp_measured_at(&m, row, &k) != GP_MEASURED_LAUNCH) continue;
        const double counted[GP_COUNTED_COUNT] = {k.instructions, k.tensor_instructions, k.l2_bytes,
                                                  k.dram_bytes};
        int64_t *to = &j->p->counted.at[(size_t)j->event_of_row[row] * GP_COUNTED_COUNT];
        for (int i = 0; i < GP_COUNTED_COUNT; i++)
            if (counted[i] >= 0 && counted[i] < 1e18) to[i] = llround(counted[i]);
    }
    gp_measured_release(&m);
}

/* ---- the environment ---- */

static int64_t meta_number(const struct gp_trace *t, const char *key)
{
    const char *value = gp_trace_get_meta(t, key);
    return value ? strtoll(value, NULL, 10) : 0;
}

static bool meta_flag(const struct gp_trace *t, const char *key)
{
    const char *value = gp_trace_get_meta(t, key);
    return value && (!strcmp(value, "true") || strtoll(value, NULL, 10) != 0);
}

/* A text or an array of texts, without JSON punctuation. 0: none. */
static gp_sid meta_text(struct gp_profile *p, const struct gp_trace *t, const char *key)
{
    const char *value = gp_trace_get_meta(t, key);
    struct gp_buf text = {0};
    if (!value) return 0;
    for (const char *c = value; *c; c++) {
        if (*c == ',' && c > value && c[-1] == '"') gp_buf_putc(&text, ' ');
        else if (*c == '\\' && c[1]) gp_buf_putc(&text, *++c);
        else if (!strchr("\"[]\n", *c)) gp_buf_putc(&text, *c);
    }
    return gp_intern_buf(&p->strings, &text);
}

/* The models of the devices with work, each once, in the order of the lanes. */
static void read_devices(struct gp_profile_job *j)
{
    struct gp_profile_env *env = &j->p->env;
    struct gp_buf names = {0};
    struct gp_map seen = {0};
    env->devices = (uint32_t)j->p->lanes.n;
    for (size_t i = 0; i < j->v->devices.n; i++) {
        const struct gp_device *d = j->v->devices.at[i].props;
        if (!d) continue;
        if (!env->sms) {
            env->sms = d->sms;
            env->cc_major = d->cc_major;
            env->cc_minor = d->cc_minor;
        }
        if (!d->name || !*gp_map_put(&seen, d->name, 1)) continue;
        *gp_map_put(&seen, d->name, 0) = 0;
        if (names.n) gp_buf_puts(&names, ", ");
        gp_buf_puts(&names, gp_trace_str(j->t, d->name));
    }
    env->gpu = gp_intern(&j->p->strings, names.n ? names.data : "", names.n);
    gp_map_release(&seen);
    gp_buf_release(&names);
}

void gp_profile_read_env(struct gp_profile_job *j)
{
    struct gp_profile_env *env = &j->p->env;
    const struct gp_trace *t = j->t;
    read_devices(j);
    env->driver = meta_number(t, "cuda_driver_version");
    env->runtime = meta_number(t, "cuda_runtime_version");
    env->recorder = meta_text(j->p, t, "collector");
    bool kineto = gp_trace_get_meta(t, "schemaVersion") || gp_trace_get_meta(t, "trace_id");
    if (!env->recorder && kineto) env->recorder = gp_intern_cstr(&j->p->strings, "torch.profiler");
    env->framework = meta_text(j->p, t, "pytorch_version");
    env->command = meta_text(j->p, t, "command");
    env->world_size = t->world_size;
    env->record_shapes = meta_flag(t, "record_shapes");
    env->profile_memory = meta_flag(t, "profile_memory");
    env->with_flops = meta_flag(t, "with_flops");
    env->with_stack = meta_flag(t, "with_stack");
    env->has_python = t->events[GP_PYTHON].n > 0;
    env->has_ops = t->events[GP_OP].n > 0;
    env->has_ranges = t->events[GP_RANGE].n > 0;
}
