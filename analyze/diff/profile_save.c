/* A profile as bytes. Numbers that change little from event to event are written as differences, so that an
 * event takes five to eight bytes. */
#include <string.h>
#include "analyze/diff/profile_priv.h"
#include "analyze/result/keep.h"
#include "analyze/view/gauges.h"
#include "formats/base/buf.h"
#include "formats/base/err.h"

void gp_profile_init(struct gp_profile *p, const struct gp_profile_opts *opts)
{
    memset(p, 0, sizeof *p);
    if (opts) p->opts = *opts;
    p->input.rank = p->env.world_size = -1;
    p->tick_ns = 1;
}

void gp_profile_release(struct gp_profile *p)
{
    GP_RELEASE(gp_vec_free, &p->kernels, &p->places, &p->lanes, &p->steps, &p->events, &p->spills, &p->calls,
               &p->counted);
    gp_strings_release(&p->strings);
    memset(p, 0, sizeof *p);
}

/* ---- parts ---- */

#define KEEP(member, how)                                                                                    \
    {                                                                                                        \
        .at = AT(member), .keep = GP_KEEP_##how                                                              \
    }
#define PART(member, record)                                                                                 \
    {                                                                                                        \
        .type = GP_CELL_PART, .at = AT(member), .rows = &(record)                                            \
    }
#define ROW(name, type)                                                                                      \
    static const struct gp_record name##_row = {                                                             \
        .id = #name, .title = NULL, GP_FIELDS(name##_fields), .size = sizeof(type)}

#define AT(member) offsetof(struct gp_profile_env, member)

/* A version; 0 is unknown. */
GP_GET_UNLESS(get_version, void, gp_member_i64, c->i <= 0)

#define NAME(member) GP_CELL_TEXT, gp_member_name, AT(member), .flags = GP_FIELD_NULL, .keep = GP_KEEP_STR
#define BOOL(member) GP_CELL_BOOL, gp_member_bool, AT(member), .keep = GP_KEEP_BOOL
static const struct gp_field env_fields[] = {
    {"gpu", "GPU", NAME(gpu)},
    {"devices", NULL, GP_CELL_COUNT, gp_member_u32, AT(devices), .keep = GP_KEEP_U32},
    KEEP(sms, I32),
    KEEP(cc_major, I32),
    KEEP(cc_minor, I32),
    {"driver", NULL, GP_CELL_ID, get_version, AT(driver), .help = "13000: CUDA 13.0", .flags = GP_FIELD_NULL,
     .keep = GP_KEEP_I64},
    {"runtime", NULL, GP_CELL_ID, get_version, AT(runtime), .flags = GP_FIELD_NULL, .keep = GP_KEEP_I64},
    {"recorder", "recorded by", NAME(recorder)},
    {"framework", "framework", NAME(framework)},
    {"command", "command", NAME(command)},
    {"world_size", NULL, GP_CELL_COUNT, gp_member_known_i32, AT(world_size), .help = "ranks of the job",
     .flags = GP_FIELD_NULL, .keep = GP_KEEP_I32},
    {"record_shapes", NULL, BOOL(record_shapes), .help = "recorded: shapes of operators' inputs"},
    {"profile_memory", NULL, BOOL(profile_memory), .help = "recorded: allocations"},
    {"with_flops", NULL, BOOL(with_flops)},
    {"with_stack", NULL, BOOL(with_stack), .help = "recorded: Python's stacks"},
    KEEP(has_python, BOOL),
    KEEP(has_ops, BOOL),
    KEEP(has_ranges, BOOL),
};
#undef AT
#undef NAME
#undef BOOL
const struct gp_record gp_profile_env_row = {"environment", NULL, GP_FIELDS(env_fields),
                                             sizeof(struct gp_profile_env), .note = "how it was recorded"};

#define AT(member) offsetof(struct gp_profile_kernel, member)
static const struct gp_field kernel_fields[] = {
    KEEP(name, STR),         {.at = AT(kind), .keep = GP_KEEP_U32, .below = GP_FRAME_KIND_COUNT},
    KEEP(grid[0], U32),      KEEP(grid[1], U32),
    KEEP(grid[2], U32),      KEEP(block[0], U32),
    KEEP(block[1], U32),     KEEP(block[2], U32),
    KEEP(registers, U32),    KEEP(local_bytes, U32),
    KEEP(shared_bytes, U32), KEEP(waves, U32),
};
#undef AT
ROW(kernel, struct gp_profile_kernel);

#define AT(member) offsetof(struct gp_profile_place, member)
static const struct gp_field place_fields[] = {KEEP(parent, U32), KEEP(kind, U32),  KEEP(label, STR),
                                               KEEP(op, STR),     KEEP(range, STR), KEEP(line, STR)};
#undef AT
ROW(place, struct gp_profile_place);

#define AT(member) offsetof(struct gp_profile_host, member)
static const struct gp_field host_fields[] = {
    KEEP(launches, U64),        KEEP(graph_launches, U64), KEEP(syncs, U64),
    KEEP(blocking, U64),        KEEP(sync_ns, I64),        KEEP(allocations, U64),
    KEEP(allocated_bytes, I64), KEEP(peak_bytes, I64),     KEEP(peak_reserved_bytes, I64),
    KEEP(end_bytes, I64),
};
#undef AT
ROW(host, struct gp_profile_host);

#define AT(member) offsetof(struct gp_profile_step, member)
static const struct gp_field step_fields[] = {
    KEEP(lane, U32),      KEEP(name, STR),
    KEEP(cut, BOOL),      KEEP(warm_up, BOOL),
    KEEP(open, BOOL),     KEEP(first, U32),
    KEEP(n, U32),         KEEP(sequence, U64),
    KEEP(host_ns, I64),   KEEP(begin_ns, I64),
    KEEP(wall_ns, I64),   KEEP(busy_ns, I64),
    KEEP(gpu_ns, I64),    PART(idle_ns, gp_idle_causes),
    KEEP(other_ns, I64),  PART(host, host_row),
    KEEP(clock_khz, I64), KEEP(others_ppm, I64),
};
#undef AT
ROW(step, struct gp_profile_step);

#define AT(member) offsetof(struct gp_profile_lane, member)
static const struct gp_field lane_fields[] = {
    KEEP(rank, I32),        KEEP(producer, U32),   KEEP(device, I64),
    KEEP(first_event, U32), KEEP(n_events, U32),   KEEP(first_step, U32),
    KEEP(n_steps, U32),     PART(whole, step_row), KEEP(unlaunched, U64),
};
#undef AT
ROW(lane, struct gp_profile_lane);

#define AT(member) offsetof(struct gp_profile_spill, member)
static const struct gp_field spill_fields[] = {KEEP(event, U32), KEEP(step, U32), KEEP(share_ns, I64)};
#undef AT
ROW(spill, struct gp_profile_spill);

#define AT(member) offsetof(struct gp_profile_call, member)
static const struct gp_field call_fields[] = {
    KEEP(step, U32), {.at = AT(sort), .keep = GP_KEEP_U32, .below = GP_PROFILE_CALLS}, KEEP(line, STR)};
#undef AT
ROW(call, struct gp_profile_call);

static const struct gp_field counted_fields[] = {{.keep = GP_KEEP_I64}};
ROW(counted, int64_t);

/* What is not its content. */
#define AT(member) offsetof(struct gp_profile, member)
static const struct gp_field profile_fields[] = {
    PART(input, gp_inputs), PART(env, gp_profile_env_row),
    KEEP(step_source, U32), KEEP(has_memory, BOOL),
    KEEP(unlaunched, U64),  KEEP(lost, U64),
    KEEP(tick_ns, I32),     {.at = AT(clock_reason), .keep = GP_KEEP_U32, .below = GP_CLOCK_REASON_COUNT + 1},
};
#undef AT
ROW(profile, struct gp_profile);

/* V as its difference to *LAST, which becomes V. */
static void serialize_near(struct gp_serializer *x, uint32_t *v, uint32_t *last)
{
    int64_t d = (int64_t)*v - (int64_t)*last;
    gp_serialize_i64(x, &d);
    int64_t sum = (int64_t)((uint64_t)d + *last);
    if (sum < 0 || sum > UINT32_MAX) x->failed = true;
    *v = *last = x->failed ? 0 : (uint32_t)sum;
}

static void serialize_events(struct gp_serializer *x, struct gp_profile *p)
{
    size_t n = gp_serialize_count(x, p->events.n, 8);
    struct gp_profile_event last = {0};
    if (!x->save) {
        GP_VEC_RESERVE(&p->events, n);
        if (n) memset(p->events.at, 0, n * sizeof *p->events.at);
        p->events.n = n;
    }
    GP_EACH_OF(struct gp_profile_event, e, p->events.at, n) {
        int64_t hidden = e->dur_ns - e->share_ns;
        gp_serialize_u32(x, &e->kernel);
        serialize_near(x, &e->place, &last.place);
        serialize_near(x, &e->step, &last.step);
        serialize_near(x, &e->launch, &last.launch);
        gp_serialize_u32(x, &e->firsts);
        gp_serialize_i64(x, &e->dur_ns);
        gp_serialize_i64(x, &hidden);
        gp_serialize_i64(x, &e->bytes);
        if (hidden < 0 || e->dur_ns < hidden) x->failed = true;
        else e->share_ns = e->dur_ns - hidden;
    }
}

/* What was measured. */
static void serialize_content(struct gp_serializer *x, struct gp_profile *p)
{
    gp_rows_serialize(x, &kernel_row, &p->kernels);
    gp_rows_serialize(x, &place_row, &p->places);
    gp_rows_serialize(x, &lane_row, &p->lanes);
    gp_rows_serialize(x, &step_row, &p->steps);
    serialize_events(x, p);
    gp_rows_serialize(x, &spill_row, &p->spills);
    gp_rows_serialize(x, &call_row, &p->calls);
    gp_rows_serialize(x, &counted_row, &p->counted);
}

static void serialize_all(struct gp_serializer *x, struct gp_profile *p)
{
    gp_record_serialize(x, &profile_row, p);
    serialize_content(x, p);
}

void gp_profile_hash(struct gp_profile *p)
{
    struct gp_buf bytes = {0};
    struct gp_serializer x = {.save = &bytes, .strings = &p->strings};
    serialize_content(&x, p);
    p->content = gp_hash_bytes(bytes.data, bytes.n);
    gp_buf_release(&bytes);
}

/* ---- consistency of loaded profiles ---- */

static bool slice_fits(uint32_t first, uint32_t n, size_t size) { return first <= size && n <= size - first; }

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
    GP_EACH(const struct gp_profile_lane, l, p->lanes) {
        if (!slice_fits(l->first_event, l->n_events, p->events.n)) return false;
        if (!slice_fits(l->first_step, l->n_steps, p->steps.n) || !step_fits(p, &l->whole)) return false;
    }
    for (size_t i = 0; i < p->steps.n; i++)
        if (!step_fits(p, &p->steps.at[i])) return false;
    GP_EACH(const struct gp_profile_event, e, p->events) {
        bool step = e->step == GP_PROFILE_NONE || e->step < p->steps.n;
        if (e->kernel >= p->kernels.n || e->place >= p->places.n || !step) return false;
        if (e->dur_ns < 0 || e->share_ns < 0 || e->bytes < 0) return false;
    }
    for (size_t i = 0; i < p->calls.n; i++)
        if (p->calls.at[i].step >= p->steps.n) return false;
    if (p->counted.n && p->counted.n != p->events.n * GP_COUNTED_COUNT) return false;
    if (p->tick_ns < 1 || p->tick_ns > 1000 || !spills_fit(p)) return false;
    return p->step_source <= GP_STEPS_PERIOD;
}

/* ---- the file ---- */

/* Magic, version of the content, length and hash of what follows; little endian. The version changes with any
 * struct that is saved. */
static const struct gp_serialize_head head = {{'g', 'p', 'p', 'r', 'o', 'f', '\n', 0x1a}, 7, "profile"};

bool gp_profile_is_saved(const void *data, size_t n)
{
    return n >= sizeof head.magic && !memcmp(data, head.magic, sizeof head.magic);
}

void gp_profile_save(struct gp_profile *p, struct gp_buf *to)
{
    size_t start = gp_serialize_begin(to);
    struct gp_serializer x = {.save = to, .strings = &p->strings};
    serialize_all(&x, p);
    gp_serialize_end(to, start, &head);
}

int gp_profile_load(struct gp_profile *p, const void *data, size_t n, struct gp_err *err)
{
    struct gp_profile_opts opts = p->opts;
    struct gp_serializer x = {.strings = &p->strings};
    if (gp_serialize_open(&x, data, n, &head, err)) return -1;
    serialize_all(&x, p);
    if (!x.failed && x.load == x.end && holds(p)) {
        place_graphs(p);
        gp_profile_hash(p);
        return 0;
    }
    gp_profile_release(p);
    gp_profile_init(p, &opts);
    return gp_fail(err, GP_E_SYNTAX, GP_SERIALIZE_HEAD, "the profile is inconsistent");
}
