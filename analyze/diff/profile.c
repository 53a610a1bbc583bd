
#include <stdlib.h>
#include "analyze/names/name_predicates.h"
#include "analyze/view/repair.h"
#include "analyze/diff/profile_priv.h"
#include "analyze/math/stat.h"

/* ---- lanes ---- */

static void make_lanes(struct gp_profile_job *j)
{
    GP_EACH(const struct gp_view_device, d, j->v->devices) {
        struct gp_profile_lane l = {.rank = d->rank, .producer = d->producer, .device = d->device};
        GP_VEC_PUSH(&j->p->lanes, l);
    }
}

/* ---- missing data ---- */

/* The correlation ids of all GPU events. */
static void note_ids(struct gp_map *ids, const struct gp_trace *t)
{
    const struct gp_events *gpu = &t->events[GP_GPU];
    for (size_t i = 0; gpu->corr && i < gpu->n; i++) gp_map_put(ids, gpu->corr[i], 0);
}

enum { CALL_UNREAD, CALL_OTHER, CALL_LAUNCHES, CALL_LAUNCHES_GRAPH };

static uint8_t read_call(const char *name)
{
    if (gp_call_launches_graph(name)) return CALL_LAUNCHES_GRAPH;
    return gp_call_launches_kernel(name) ? CALL_LAUNCHES : CALL_OTHER;
}

/* Number of launch calls whose kernel is not recorded. Unknown with graphs: launches during a capture do not
 * run, and recorders leave out the calls that begin and end a capture. */
static uint64_t count_unrecorded(const struct gp_trace *t)
{
    const struct gp_events *api = &t->events[GP_API];
    struct gp_map ids = {0};
    uint8_t *calls = gp_zalloc((size_t)t->strings.n + 1);
    uint64_t n = 0;
    bool graphs = false;
    note_ids(&ids, t);
    for (size_t i = 0; i < api->n && !graphs; i++) {
        uint8_t *call = &calls[api->name[i]];
        if (!*call) *call = read_call(gp_trace_str(t, api->name[i]));
        graphs = *call == CALL_LAUNCHES_GRAPH;
        n += *call == CALL_LAUNCHES && !gp_get_ret(api, i) && !gp_map_get(&ids, api->corr[i]);
    }
    gp_map_release(&ids);
    free(calls);
    return graphs ? 0 : n;
}

static uint64_t count_lost(const struct gp_trace *t)
{
    uint64_t lost = t->events[GP_API].corr && t->events[GP_GPU].n ? count_unrecorded(t) : 0;
    return lost + gp_trace_lost(t, false);
}

static int32_t find_tick(const struct gp_profile *p)
{
    enum { MOST = 1 << 16 };
    size_t n = 0, most = p->events.n < MOST ? p->events.n : MOST;
    int64_t *dur = gp_alloc((most + 1) * sizeof *dur);
    for (size_t i = 0; i < p->events.n && n < most; i++)
        if (gp_class_of((enum gp_frame_kind)p->kernels.at[p->events.at[i].kernel].kind) != GP_CLASS_MEMORY)
            dur[n++] = p->events.at[i].dur_ns;
    int64_t tick = gp_stat_tick(dur, n);
    free(dur);
    return (int32_t)tick;
}

/* ---- all of it ---- */

static void reduce(struct gp_profile_job *j)
{
    gp_profile_make_events(j);
    for (uint32_t i = 0; i < j->p->lanes.n; i++) gp_profile_share(j, i);
    gp_profile_idle(j);
    gp_profile_clocks(j);
    gp_profile_host_work(j);
    gp_profile_count(j);
    gp_profile_read_env(j);
    j->p->lost = count_lost(j->t);
    j->p->tick_ns = find_tick(j->p);
    gp_profile_hash(j->p);
}

int gp_profile_add_trace(struct gp_profile *p, struct gp_trace *t, struct gp_err *err)
{
    struct gp_view v;
    struct gp_profile_job j = {0};
    gp_input_quality_read(&p->input, &p->strings, t);
    gp_repair(t, GP_REPAIR_NONE);
    gp_view_init(&v, t, p->opts.classes);
    gp_input_quality_judge(&p->input, &p->strings, t, &v);
    j.p = p;
    j.t = t;
    j.v = &v;
    j.event_of_row = gp_alloc((t->events[GP_GPU].n + 1) * sizeof *j.event_of_row);
    make_lanes(&j);
    int failed = gp_steps_find(&j.steps, &v, p->opts.step_marker, err);
    for (size_t i = 0; i < j.steps.v.n && p->opts.no_steps; i++) j.steps.v.at[i].windows.n = 0;
    if (!failed) reduce(&j);
    gp_steps_release(&j.steps);
    free(j.event_of_row);
    GP_VEC_FREE(&j.window_of_step);
    gp_map_release(&j.line_of_stack);
    gp_view_release(&v);
    return failed;
}
