/* The steps that steps.h finds, measured on each device. */
#include <stdlib.h>
#include <string.h>
#include "analyze/hta/hta.h"
#include "analyze/hta/hta_priv.h"
#include "analyze/hta/hta_spread.h"
#include "formats/base/buf.h"
#include "formats/base/str.h"

/* ---- fields ---- */

#define AT(member) offsetof(struct gp_hta_step, member)

GP_GET(get_host, struct gp_hta_step, c->i = r->host_end_ns - r->host_begin_ns)

static const struct gp_field step_fields[] = {
    {"rank", "Rank", GP_CELL_ID, gp_member_rank, AT(rank), .flags = GP_FIELD_TABLES | GP_FIELD_NULL,
     .keep = GP_KEEP_I32},
    {"process", "Proc.", GP_CELL_ID, gp_member_process, AT(producer),
     .help = "process in a merged trace; device numbers are per process", .flags = GP_FIELD_TABLES,
     .keep = GP_KEEP_U32},
    {"device", "GPU", GP_CELL_ID, gp_member_device, AT(device), .help = "ordinal of the device",
     .flags = GP_FIELD_TABLES | GP_FIELD_NULL, .keep = GP_KEEP_I64},
    {"name", "Step", GP_CELL_NAME, gp_member_name, AT(name), .flags = GP_FIELD_NULL, .keep = GP_KEEP_STR},
    {"cut", "Cut", GP_CELL_BOOL, gp_member_bool, AT(partial), .help = "by the edge of the trace",
     .flags = GP_COLUMN_WIDE, .after = "host_ns", .keep = GP_KEEP_BOOL},
    {"warm_up", "Warm-up", GP_CELL_BOOL, gp_member_bool, AT(warm_up),
     .help = "takes much longer than later steps", .flags = GP_COLUMN_WIDE, .after = "cut",
     .keep = GP_KEEP_BOOL},
    {"host_begin_ns", NULL, GP_CELL_NS, gp_member_i64, AT(host_begin_ns),
     .help = "of the marker, or the first launch; on the clock of the trace", .flags = GP_FIELD_SIGNED,
     .keep = GP_KEEP_I64},
    {"host_end_ns", NULL, GP_CELL_NS, gp_member_i64, AT(host_end_ns),
     .help = "of the marker, or the last launch", .flags = GP_FIELD_SIGNED, .keep = GP_KEEP_I64},
    {"launches", "Launches", GP_CELL_COUNT, gp_member_u64, AT(launches), .flags = GP_COLUMN_SPARE,
     .after = "gpu_ns", .keep = GP_KEEP_U64},
    GP_BREAKDOWN(gp_hta_step, b),
    GP_WINDOW(gp_hta_step, b),
    {"begin_ns", "Begin", GP_CELL_ID, gp_member_i64, AT(begin_ns),
     .help = "GPU window, on the clock of the trace, ns", .flags = GP_COLUMN_WIDE | GP_FIELD_TABLES,
     .keep = GP_KEEP_I64},
    {"end_ns", "End", GP_CELL_ID, gp_member_i64, AT(end_ns), .flags = GP_COLUMN_WIDE | GP_FIELD_TABLES,
     .keep = GP_KEEP_I64},
    {"host_ns", "Host time", GP_CELL_NS, get_host, 0, .help = "the marker, or first launch to last launch",
     .flags = GP_COLUMN_WIDE | GP_FIELD_TABLES},
    {.at = AT(source), .keep = GP_KEEP_U32, .below = GP_STEPS_PERIOD + 1},
};
#undef AT

const struct gp_record gp_hta_step_list = {"each", "Each step", GP_FIELDS(step_fields),
                                           sizeof(struct gp_hta_step), .note = "one step"};

#define AT(member) offsetof(struct gp_hta_part, member)

/* The idle time by cause of the device in the answer about the steps. */
GP_GETTER_OF(get_part_idle, struct gp_hta_part, p)
{
    const struct gp_hta *h = gp_hta_about(x->of, false);
    c->at = NULL;
    for (size_t i = 0; i < h->devices.n && !c->at && p->kind == GP_PART_STEPS; i++) {
        const struct gp_hta_device *d = &h->devices.at[i];
        if (d->rank == p->rank && d->producer == p->producer && d->device == p->device &&
            d->b.idle_ns == p->b.idle_ns)
            c->at = d->idle_cause_ns;
    }
    c->none = !c->at;
}

GP_GETTER(get_part)
{
    static const char *const words[] = {"start-up, before the first step", "warm-up steps", "steps",
                                        "after the last step"};
    uint32_t kind = ((const struct gp_hta_part *)row)->kind;
    gp_cell_named(c, gp_hta_part_name((enum gp_hta_part_kind)kind), words[kind]);
}

GP_GET_IF(get_recorder, struct gp_hta_part, r->added.who, gp_cell_text(c, f->words[r->added.who - 1]))

GP_GET_UNLESS(get_added_ns, struct gp_hta_part, gp_member_i64, !r->added.who)

GP_GET_UNLESS(get_added_measured, struct gp_hta_part, gp_member_bool, !r->added.who)

static const char *const part_names[] = {"start_up", "warm_up", "steps", "after", NULL};
static const struct gp_field part_fields[] = {
    {"rank", NULL, GP_CELL_ID, gp_member_rank, AT(rank), .flags = GP_FIELD_NULL, .keep = GP_KEEP_I32},
    {"device", NULL, GP_CELL_ID, gp_member_device, AT(device), .flags = GP_FIELD_NULL, .keep = GP_KEEP_I64},
    {"process", NULL, GP_CELL_ID, gp_member_process, AT(producer), .keep = GP_KEEP_U32},
    {"part", "Part", GP_CELL_TEXT, get_part, AT(kind), .words = part_names, .keep = GP_KEEP_U32,
     .below = GP_PART_AFTER + 1},
    {"steps", "Steps", GP_CELL_COUNT, gp_member_u64, AT(steps), .help = "in it", .keep = GP_KEEP_U64,
     .merge = GP_MERGE_SUM},
    GP_BREAKDOWN(gp_hta_part, b),
    {"idle", NULL, GP_CELL_ROW, get_part_idle, 0, .help = "idle time by cause; only of the steps",
     .flags = GP_FIELD_OPTIONAL, .rows = &gp_idle_causes},
    GP_WINDOW(gp_hta_part, b),
    {"recorder", NULL, GP_CELL_TEXT, get_recorder, AT(added.who), .help = "only of the steps, if it is known",
     .flags = GP_FIELD_OPTIONAL, .words = gp_recorder_names, .keep = GP_KEEP_U32, .below = GP_RECORDERS + 1},
    {"recorder_added_ns", NULL, GP_CELL_NS, get_added_ns, AT(added.ns),
     .help = "what it likely added to a step, or added as measured", .flags = GP_FIELD_OPTIONAL,
     .keep = GP_KEEP_I64},
    {"recorder_measured", NULL, GP_CELL_BOOL, get_added_measured, AT(added.measured),
     .help = "by steps that were timed while nothing was recorded", .flags = GP_FIELD_OPTIONAL,
     .keep = GP_KEEP_BOOL},
};
#undef AT

const struct gp_record gp_hta_parts = {"parts", "Start-up, steps and the rest", GP_FIELDS(part_fields),
                                       sizeof(struct gp_hta_part),
                                       .note = "start-up, warm-up, steps and the rest of a device"};

/* ---- steps of a device ---- */

/* GPU events that are still running where a step ends go on into the next one. */
struct running {
    GP_VEC(uint32_t) rows;
    size_t next; /* of the device's */
};

enum { RUNNING_MOST = 64 };

/* Keep the events that run past AT_NS. No GPU runs very many at once: beyond that, keep only those that end
 * last in their class, so that damaged times do not cost quadratic time; the unions stay exact. */
static void keep_running(struct running *r, const struct gp_view *v, int64_t at_ns)
{
    const struct gp_events *gpu = &v->t->events[GP_GPU];
    size_t n = 0;
    for (size_t i = 0; i < r->rows.n; i++) {
        uint32_t row = r->rows.at[i];
        if (gpu->start_ns[row] + gpu->dur_ns[row] > at_ns) r->rows.at[n++] = row;
    }
    r->rows.n = n;
    if (n <= RUNNING_MOST) return;
    uint32_t last[GP_CLASS_COUNT];
    bool any[GP_CLASS_COUNT] = {false};
    for (size_t i = 0; i < n; i++) {
        uint32_t row = r->rows.at[i];
        enum gp_class k = gp_view_class(v, row);
        if (any[k] && gpu->start_ns[last[k]] + gpu->dur_ns[last[k]] >= gpu->start_ns[row] + gpu->dur_ns[row])
            continue;
        any[k] = true;
        last[k] = row;
    }
    r->rows.n = 0;
    for (int k = 0; k < GP_CLASS_COUNT; k++)
        if (any[k]) r->rows.at[r->rows.n++] = last[k];
}

static void add_steps(struct gp_hta *h, const struct gp_view *v, const struct gp_view_device *d,
                      const struct gp_steps_program *p, const struct gp_device_steps *steps)
{
    struct running running = {0};
    GP_EACH(const struct gp_device_step, from, steps->v) {
        const struct gp_step_window *w = &p->windows.at[from->window];
        struct gp_hta_step s = {.rank = d->rank,
                                .producer = d->producer,
                                .device = d->device,
                                .name = gp_step_name(&h->strings, v->t, p, w),
                                .source = p->source,
                                .partial = from->partial,
                                .warm_up = from->warm_up,
                                .host_begin_ns = w->begin_ns,
                                .host_end_ns = w->host_end_ns,
                                .begin_ns = from->begin_ns,
                                .end_ns = from->end_ns,
                                .launches = from->launches};
        const struct gp_events *gpu = &v->t->events[GP_GPU];
        for (; running.next < d->n; running.next++) {
            uint32_t row = v->rows[d->first + running.next];
            if (gpu->start_ns[row] >= s.begin_ns) break;
            if (gpu->start_ns[row] + gpu->dur_ns[row] > s.begin_ns) GP_VEC_PUSH(&running.rows, row);
        }
        keep_running(&running, v, s.begin_ns);
        for (; running.next < d->n && gpu->start_ns[v->rows[d->first + running.next]] < s.end_ns;
             running.next++)
            GP_VEC_PUSH(&running.rows, v->rows[d->first + running.next]);
        if (s.end_ns > s.begin_ns) {
            gp_breakdown_rows(&s.b, v, running.rows.at, running.rows.n, s.begin_ns, s.end_ns);
        } else {
            memset(&s.b, 0, sizeof s.b);
            s.b.begin_ns = s.b.end_ns = s.begin_ns;
        }
        keep_running(&running, v, s.end_ns);
        GP_VEC_PUSH(&h->steps, s);
    }
    GP_VEC_FREE(&running.rows);
}

/* ---- the parts of a device's time ---- */

static void add_part(struct gp_hta *h, const struct gp_view *v, const struct gp_view_device *d,
                     enum gp_hta_part_kind kind, int64_t begin_ns, int64_t end_ns, uint64_t steps)
{
    struct gp_hta_part part = {
        .rank = d->rank, .producer = d->producer, .device = d->device, .kind = kind, .steps = steps};
    if (begin_ns >= end_ns) return;
    gp_breakdown_rows(&part.b, v, v->rows + d->first, d->n, begin_ns, end_ns);
    if (kind == GP_PART_STEPS) part.added = gp_recorder_added(v, d, begin_ns, end_ns, steps);
    GP_VEC_PUSH(&h->parts, part);
}

/* Start-up, warm-up, the step window and the rest: together the span of the device. */
static void add_parts(struct gp_hta *h, const struct gp_view *v, const struct gp_view_device *d,
                      const struct gp_device_steps *steps)
{
    struct gp_step_stretch w = gp_device_steps_window(steps);
    struct gp_breakdown all;
    if (w.first == w.end) return;
    gp_breakdown_rows(&all, v, v->rows + d->first, d->n, 0, 0);
    int64_t warm_ns = steps->v.at[0].begin_ns;
    add_part(h, v, d, GP_PART_START_UP, all.begin_ns, warm_ns, 0);
    add_part(h, v, d, GP_PART_WARM_UP, warm_ns, w.begin_ns, w.first);
    add_part(h, v, d, GP_PART_STEPS, w.begin_ns, w.end_ns, w.end - w.first);
    add_part(h, v, d, GP_PART_AFTER, w.end_ns, all.end_ns, 0);
}

/* ---- all ---- */

static void add(struct gp_hta *h, const struct gp_view *v)
{
    struct gp_hta_work *work = h->work;
    struct gp_step_sharing sharing = {0};
    work->failed = gp_steps_find(&work->steps, v, h->opts.step_marker, work->err);
    for (size_t i = 0; i < v->devices.n && !work->failed; i++) {
        const struct gp_view_device *d = &v->devices.at[i];
        const struct gp_steps_program *p = gp_steps_of(&work->steps, d->producer);
        struct gp_device_steps steps;
        gp_device_steps_find(&steps, &sharing, v, d, p);
        add_steps(h, v, d, p, &steps);
        add_parts(h, v, d, &steps);
        gp_device_steps_release(&steps);
    }
    gp_step_sharing_release(&sharing);
}

GP_COMPARE_IN(compare_steps, struct gp_hta_step, void,
              GP_UP(rank) GP_UP(producer) GP_UP(device) GP_UP(begin_ns) GP_UP(host_begin_ns) GP_UP(end_ns)
                  GP_UP(b.gpu_events) GP_UP(b.gpu_ns))

GP_COMPARE_IN(compare_parts, struct gp_hta_part, void,
              GP_UP(rank) GP_UP(producer) GP_UP(device) GP_UP(b.begin_ns) GP_UP(kind) GP_UP(b.end_ns)
                  GP_UP(b.gpu_ns))

GP_WORDS(gp_hta_part_name, enum gp_hta_part_kind, "start_up", "warm_up", "steps", "after")

struct gp_recorder_added gp_hta_recorder_added(const struct gp_hta *h, const struct gp_hta_step *step)
{
    struct gp_recorder_added added = {0};
    GP_EACH(const struct gp_hta_part, p, h->parts) {
        if (p->kind != GP_PART_STEPS || !p->steps || p->rank != step->rank || p->producer != step->producer ||
            p->device != step->device)
            continue;
        added = p->added;
        added.of_ns = p->b.span_ns / (int64_t)p->steps; /* is not saved */
    }
    return added;
}

static const struct gp_hta_list lists[] = {
    {&gp_hta_step_list, offsetof(struct gp_hta, steps),
     .kept = {GP_HTA_KEPT_STEPS, GP_HTA_KEPT_UNRANKED, offsetof(struct gp_hta_step, name), /* by device */
              offsetof(struct gp_hta_bound, steps)},
     .order = compare_steps},
    {&gp_hta_parts, offsetof(struct gp_hta, parts),
     .kept = {SIZE_MAX, GP_HTA_KEPT_UNRANKED, sizeof(int32_t), 0}, .order = compare_parts},
};
const struct gp_hta_section gp_hta_steps_section = {lists, GP_COUNT(lists), .add = add, .timed = true};
