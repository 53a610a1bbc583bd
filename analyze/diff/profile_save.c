/* A profile as bytes. Numbers that change little from event to event are written as differences, so that an event takes
 * five to eight bytes. */
#include <string.h>
#include "analyze/math/sums.h"
#include "analyze/diff/profile_priv.h"
#include "analyze/result/keep.h"

/* ---- parts ---- */

static void xfer_env(struct gp_xfer *x, struct gp_profile_env *e)
{
    gp_xfer_str(x, &e->gpu);
    gp_xfer_u32(x, &e->devices);
    gp_xfer_i32(x, &e->sms);
    gp_xfer_i32(x, &e->cc_major);
    gp_xfer_i32(x, &e->cc_minor);
    gp_xfer_i64(x, &e->driver);
    gp_xfer_i64(x, &e->runtime);
    gp_xfer_str(x, &e->recorder);
    gp_xfer_str(x, &e->framework);
    gp_xfer_str(x, &e->command);
    gp_xfer_i32(x, &e->world_size);
    gp_xfer_bool(x, &e->record_shapes);
    gp_xfer_bool(x, &e->profile_memory);
    gp_xfer_bool(x, &e->with_flops);
    gp_xfer_bool(x, &e->with_stack);
    gp_xfer_bool(x, &e->has_python);
    gp_xfer_bool(x, &e->has_ops);
    gp_xfer_bool(x, &e->has_ranges);
}

static void xfer_kernel(struct gp_xfer *x, struct gp_profile_kernel *k)
{
    gp_xfer_str(x, &k->name);
    gp_xfer_u32(x, &k->kind);
    for (int i = 0; i < 3; i++) gp_xfer_u32(x, &k->grid[i]);
    for (int i = 0; i < 3; i++) gp_xfer_u32(x, &k->block[i]);
    if (k->kind >= GP_FRAME_KIND_COUNT) x->failed = true;
}

static void xfer_place(struct gp_xfer *x, struct gp_profile_place *p)
{
    gp_xfer_u32(x, &p->parent);
    gp_xfer_u32(x, &p->kind);
    gp_xfer_str(x, &p->label);
    gp_xfer_str(x, &p->op);
    gp_xfer_str(x, &p->range);
}

static void xfer_host(struct gp_xfer *x, struct gp_profile_host *h)
{
    gp_xfer_u64(x, &h->launches);
    gp_xfer_u64(x, &h->graph_launches);
    gp_xfer_u64(x, &h->syncs);
    gp_xfer_u64(x, &h->blocking);
    gp_xfer_i64(x, &h->sync_ns);
    gp_xfer_u64(x, &h->allocations);
    gp_xfer_i64(x, &h->allocated_bytes);
    gp_xfer_i64(x, &h->peak_bytes);
    gp_xfer_i64(x, &h->peak_reserved_bytes);
    gp_xfer_i64(x, &h->end_bytes);
}

static void xfer_step(struct gp_xfer *x, struct gp_profile_step *s)
{
    gp_xfer_u32(x, &s->lane);
    gp_xfer_str(x, &s->name);
    gp_xfer_bool(x, &s->cut);
    gp_xfer_bool(x, &s->warm_up);
    gp_xfer_bool(x, &s->open);
    gp_xfer_u32(x, &s->first);
    gp_xfer_u32(x, &s->n);
    gp_xfer_u64(x, &s->sequence);
    gp_xfer_i64(x, &s->host_ns);
    gp_xfer_i64(x, &s->begin_ns);
    gp_xfer_i64(x, &s->wall_ns);
    gp_xfer_i64(x, &s->busy_ns);
    gp_xfer_i64(x, &s->gpu_ns);
    for (int i = 0; i < GP_IDLE_CAUSE_COUNT; i++) gp_xfer_i64(x, &s->idle_ns[i]);
    gp_xfer_i64(x, &s->other_ns);
    xfer_host(x, &s->host);
}

static void xfer_lane(struct gp_xfer *x, struct gp_profile_lane *l)
{
    gp_xfer_i32(x, &l->rank);
    gp_xfer_u32(x, &l->producer);
    gp_xfer_i64(x, &l->device);
    gp_xfer_u32(x, &l->first_event);
    gp_xfer_u32(x, &l->n_events);
    gp_xfer_u32(x, &l->first_step);
    gp_xfer_u32(x, &l->n_steps);
    xfer_step(x, &l->whole);
    gp_xfer_u64(x, &l->unlaunched);
}

/* V as its difference to *LAST, which becomes V. */
static void xfer_near(struct gp_xfer *x, uint32_t *v, uint32_t *last)
{
    int64_t d = (int64_t)*v - (int64_t)*last;
    gp_xfer_i64(x, &d);
    int64_t sum = (int64_t)((uint64_t)d + *last);
    if (sum < 0 || sum > UINT32_MAX) x->failed = true;
    *v = *last = x->failed ? 0 : (uint32_t)sum;
}

static void xfer_events(struct gp_xfer *x, struct gp_profile *p)
{
    size_t n = gp_xfer_count(x, p->events.n, 8);
    struct gp_profile_event last;
    memset(&last, 0, sizeof last);
    if (!x->save) {
        GP_VEC_RESERVE(&p->events, n);
        if (n) memset(p->events.at, 0, n * sizeof *p->events.at);
        p->events.n = n;
    }
    for (size_t i = 0; i < n; i++) {
        struct gp_profile_event *e = &p->events.at[i];
        int64_t hidden = e->dur_ns - e->share_ns;
        gp_xfer_u32(x, &e->kernel);
        xfer_near(x, &e->place, &last.place);
        xfer_near(x, &e->step, &last.step);
        xfer_near(x, &e->launch, &last.launch);
        gp_xfer_u32(x, &e->firsts);
        gp_xfer_i64(x, &e->dur_ns);
        gp_xfer_i64(x, &hidden);
        gp_xfer_i64(x, &e->bytes);
        if (hidden < 0 || e->dur_ns < hidden) x->failed = true;
        else e->share_ns = e->dur_ns - hidden;
    }
}

static void xfer_spill(struct gp_xfer *x, struct gp_profile_spill *s)
{
    gp_xfer_u32(x, &s->event);
    gp_xfer_u32(x, &s->step);
    gp_xfer_i64(x, &s->share_ns);
}

/* What was measured. */
static void xfer_content(struct gp_xfer *x, struct gp_profile *p)
{
    GP_XFER_VEC(x, &p->kernels, xfer_kernel);
    GP_XFER_VEC(x, &p->places, xfer_place);
    GP_XFER_VEC(x, &p->lanes, xfer_lane);
    GP_XFER_VEC(x, &p->steps, xfer_step);
    xfer_events(x, p);
    GP_XFER_VEC(x, &p->spills, xfer_spill);
}

static void xfer_all(struct gp_xfer *x, struct gp_profile *p)
{
    gp_record_xfer(x, &gp_inputs, &p->input);
    xfer_env(x, &p->env);
    gp_xfer_u32(x, &p->step_source);
    gp_xfer_bool(x, &p->has_memory);
    gp_xfer_u64(x, &p->unlaunched);
    gp_xfer_u64(x, &p->lost);
    gp_xfer_i32(x, &p->tick_ns);
    xfer_content(x, p);
}

void gp_profile_hash(struct gp_profile *p)
{
    struct gp_buf bytes = {0};
    struct gp_xfer x = {.save = &bytes, .strings = &p->strings};
    xfer_content(&x, p);
    p->content = gp_hash_bytes(bytes.data, bytes.n);
    gp_buf_release(&bytes);
}

/* ---- what is loaded must hold together ---- */

static bool slice_fits(uint32_t first, uint32_t n, size_t size)
{
    return first <= size && n <= size - first;
}

static bool host_fits(const struct gp_profile_host *h)
{
    bool counts = h->launches <= UINT32_MAX && h->graph_launches <= UINT32_MAX && h->syncs <= UINT32_MAX &&
                  h->blocking <= UINT32_MAX && h->allocations <= UINT32_MAX;
    return counts && h->sync_ns >= 0 && h->allocated_bytes >= 0 && h->peak_bytes >= 0 &&
           h->peak_reserved_bytes >= 0;
}

static bool step_fits(const struct gp_profile *p, const struct gp_profile_step *s)
{
    bool times = s->wall_ns >= 0 && s->busy_ns >= 0 && s->gpu_ns >= 0 && s->other_ns >= 0;
    int64_t left = s->wall_ns - s->busy_ns;
    for (int c = 0; c < GP_IDLE_CAUSE_COUNT && times; c++) {
        times = s->idle_ns[c] >= 0 && s->idle_ns[c] <= left;
        left -= times ? s->idle_ns[c] : 0;
    }
    return times && !left && s->other_ns <= s->busy_ns && s->lane < p->lanes.n &&
           slice_fits(s->first, s->n, p->events.n) && host_fits(&s->host);
}

/* Spills come by event, and leave each something. */
static bool spills_fit(const struct gp_profile *p)
{
    int64_t left = 0;
    for (size_t i = 0; i < p->spills.n; i++) {
        const struct gp_profile_spill *s = &p->spills.at[i];
        bool fresh = !i || s->event != p->spills.at[i - 1].event;
        if (s->event >= p->events.n || (i && s->event < p->spills.at[i - 1].event)) return false;
        if (fresh) left = p->events.at[s->event].share_ns;
        if ((s->step != GP_PROFILE_NONE && s->step >= p->steps.n) || s->share_ns < 0 || s->share_ns > left)
            return false;
        left -= s->share_ns;
    }
    return true;
}

/* What is not saved because it follows. */
static void place_graphs(struct gp_profile *p)
{
    for (size_t i = 1; i < p->places.n; i++) {
        struct gp_profile_place *place = &p->places.at[i];
        place->by_graph = gp_profile_place_by_graph(place->kind, &p->places.at[place->parent]);
    }
}

static bool holds(const struct gp_profile *p)
{
    for (size_t i = 0; i < p->places.n; i++)
        if (i ? p->places.at[i].parent >= i : p->places.at[i].parent != 0) return false;
    for (size_t i = 0; i < p->lanes.n; i++) {
        const struct gp_profile_lane *l = &p->lanes.at[i];
        if (!slice_fits(l->first_event, l->n_events, p->events.n)) return false;
        if (!slice_fits(l->first_step, l->n_steps, p->steps.n) || !step_fits(p, &l->whole)) return false;
    }
    for (size_t i = 0; i < p->steps.n; i++)
        if (!step_fits(p, &p->steps.at[i])) return false;
    for (size_t i = 0; i < p->events.n; i++) {
        const struct gp_profile_event *e = &p->events.at[i];
        bool step = e->step == GP_PROFILE_NONE || e->step < p->steps.n;
        if (e->kernel >= p->kernels.n || e->place >= p->places.n || !step) return false;
        if (e->dur_ns < 0 || e->share_ns < 0 || e->bytes < 0) return false;
    }
    if (p->tick_ns < 1 || p->tick_ns > 1000 || !spills_fit(p)) return false;
    return p->step_source <= GP_STEPS_PERIOD;
}

/* ---- the file ---- */

/* Magic, version of the content, length and hash of what follows; little endian. The version changes with any struct
 * that is saved. */
static const struct gp_xfer_head head = {{'g', 'p', 'p', 'r', 'o', 'f', '\n', 0x1a}, 5, "profile"};

bool gp_profile_is_saved(const void *data, size_t n)
{
    return n >= sizeof head.magic && !memcmp(data, head.magic, sizeof head.magic);
}

void gp_profile_save(struct gp_profile *p, struct gp_buf *to)
{
    size_t start = gp_xfer_begin(to);
    struct gp_xfer x = {.save = to, .strings = &p->strings};
    xfer_all(&x, p);
    gp_xfer_end(to, start, &head);
}

int gp_profile_load(struct gp_profile *p, const void *data, size_t n, struct gp_err *err)
{
    struct gp_profile_opts opts = p->opts;
    struct gp_xfer x = {.strings = &p->strings};
    if (gp_xfer_open(&x, data, n, &head, err)) return -1;
    xfer_all(&x, p);
    if (!x.failed && x.load == x.end && holds(p)) {
        place_graphs(p);
        gp_profile_hash(p);
        return 0;
    }
    gp_profile_release(p);
    gp_profile_init(p, &opts);
    return gp_fail(err, GP_E_SYNTAX, GP_XFER_HEAD, "the profile is inconsistent");
}
