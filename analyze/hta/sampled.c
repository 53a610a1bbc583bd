/* Means of sampled hardware counters: each is a step function of time. */

#include <stdlib.h>
#include <string.h>
#include "analyze/hta/hta.h"
#include "analyze/hta/hta_priv.h"
#include "analyze/math/step_function.h"
#include "analyze/math/sums.h"
#include "analyze/names/names.h"
#include "analyze/view/host_stack.h"
#include "formats/base/buf.h"
#include "formats/base/str.h"
#include "formats/model/metric.h"

#define AT(member) offsetof(struct gp_sampled, member)

static const char *const overs[] = {"whole", "steps", "range", NULL};
static const struct gp_field fields[] = {
    {"rank", NULL, GP_CELL_ID, gp_member_rank, AT(rank), .flags = GP_FIELD_NULL, .keep = GP_KEEP_I32},
    {"device", NULL, GP_CELL_ID, gp_member_i64, AT(device), .keep = GP_KEEP_I64},
    {"over", NULL, GP_CELL_TEXT, gp_member_word, AT(over), .help = "what the mean is over", .words = overs,
     .keep = GP_KEEP_U32, .below = GP_SAMPLED_RANGE + 1},
    {"name", NULL, GP_CELL_NAME, gp_member_name, AT(name), .help = "of the range", .flags = GP_FIELD_NULL,
     .keep = GP_KEEP_STR},
    {"metric", NULL, GP_CELL_NAME, gp_member_name, AT(metric), .help = "in PerfWorks, with rollup",
     .flags = GP_FIELD_NULL, .keep = GP_KEEP_STR},
    {"unit", NULL, GP_CELL_NAME, gp_member_name, AT(unit), .flags = GP_FIELD_NULL, .keep = GP_KEEP_STR},
    {"sampled_ns", NULL, GP_CELL_NS, gp_member_i64, AT(ns), .help = "that the mean is over",
     .keep = GP_KEEP_I64},
    {"mean", NULL, GP_CELL_REAL, gp_member_double, AT(mean), .flags = GP_FIELD_SIGNED | GP_FIELD_NULL,
     .keep = GP_KEEP_DOUBLE},
};
#undef AT

const struct gp_record gp_hta_sampled = {"sampled", "Hardware counters", GP_FIELDS(fields),
                                         sizeof(struct gp_sampled),
                                         .note = "a hardware counter that was sampled during the recording"};

/* ---- one counter ---- */

struct series {
    int64_t device;
    gp_sid metric, unit; /* of the trace */
    /* Known as long as all counters of the device: one that does not change has few points. */
    struct gp_step_function f;
};

struct sum {
    int64_t ns;
    double area;
};

/* Add the part between the two times, as far as there are samples. */
static void add_between(struct sum *to, const struct series *s, int64_t begin_ns, int64_t end_ns)
{
    to->ns = gp_add_saturated(to->ns, gp_step_covered(&s->f, begin_ns, end_ns));
    to->area += gp_step_area(&s->f, begin_ns, end_ns);
}

/* ---- those of a trace ---- */

struct adding {
    struct gp_hta *h;
    const struct gp_view *v;
    GP_VEC(struct series) series;
};

static void find_extents(struct adding *a)
{
    struct gp_map first_of = {0}; /* by device: its first series */
    for (size_t i = 0; i < a->series.n; i++) {
        struct gp_step_function *f = &a->series.at[i].f, *d;
        d = &a->series.at[*gp_map_put(&first_of, (uint64_t)a->series.at[i].device, (uint32_t)i)].f;
        if (f->first_ns > d->first_ns) d->first_ns = f->first_ns;
        if (f->last_ns > d->last_ns) d->last_ns = f->last_ns;
    }
    for (size_t i = 0; i < a->series.n; i++) {
        struct gp_step_function *f = &a->series.at[i].f;
        const struct gp_step_function *d =
            &a->series.at[*gp_map_put(&first_of, (uint64_t)a->series.at[i].device, (uint32_t)i)].f;
        f->first_ns = d->first_ns;
        f->last_ns = d->last_ns;
    }
    gp_map_release(&first_of);
}

/* A device has no more of them than a recorder samples; what comes after these is made up. */
static void find_series(struct adding *a)
{
    const struct gp_trace *t = a->v->t;
    const struct gp_events *e = &t->events[GP_COUNTER];
    struct gp_map metrics = {0}, found = {0}; /* of (name, unit); of (device, that) */
    struct gp_map of_device = {0};            /* how many series it has */
    uint32_t known = 0;
    for (size_t row = 0; row < e->n; row++) {
        if (strcmp(gp_trace_str(t, gp_get_cat(e, row)), GP_METRIC_SAMPLED) != 0) continue;
        gp_sid unit = gp_get_series(e, row);
        int64_t device = t->tracks.at[e->track[row]].device;
        uint32_t metric = *gp_map_put(&metrics, (uint64_t)e->name[row] << 32 | unit, known);
        known += metric == known;
        uint32_t *at = gp_map_put(&found, (uint64_t)metric << 32 | (uint32_t)device, (uint32_t)a->series.n);
        if (*at == a->series.n) {
            struct series s = {.device = device, .metric = e->name[row], .unit = unit};
            if ((*gp_map_put(&of_device, (uint64_t)device, 0))++ >= GP_METRICS_MOST) *at = UINT32_MAX;
            else GP_VEC_PUSH(&a->series, s);
        }
        if (*at != UINT32_MAX) gp_step_add(&a->series.at[*at].f, e->start_ns[row], gp_get_value(e, row));
    }
    GP_RELEASE(gp_map_release, &metrics, &found, &of_device);
    find_extents(a);
}

static void put_row(struct adding *a, const struct series *s, const struct gp_view_device *d,
                    enum gp_sampled_over over, const char *name, struct sum sum)
{
    struct gp_hta *h = a->h;
    if (!sum.ns) return;
    struct gp_sampled row = {.rank = d->rank,
                             .device = d->device,
                             .over = over,
                             .name = name ? gp_intern_cstr(&h->strings, name) : 0,
                             .metric = gp_intern_from(&h->strings, &a->v->t->strings, s->metric),
                             .unit = gp_intern_from(&h->strings, &a->v->t->strings, s->unit),
                             .ns = sum.ns,
                             .mean = sum.area / (double)sum.ns};
    GP_VEC_PUSH(&h->sampled, row);
}

/* ---- ranges ---- */

struct range {
    gp_sid name; /* of the trace */
    int64_t ns;
    struct sum *sums; /* by series of the device */
};

GP_COMPARE(most_time_first, struct range, GP_DOWN(ns) GP_UP(name))

/* Of each GPU event of D the innermost range around its launch; those without one are left out. */
static void add_ranges(struct adding *a, const struct gp_view_device *d, const struct series *const *of,
                       size_t n)
{
    const struct gp_view *v = a->v;
    const struct gp_events *gpu = &v->t->events[GP_GPU];
    struct gp_host_memo memo = {.hs = &v->hs};
    struct gp_map found = {0};
    struct {
        struct range *at;
        size_t n, cap;
    } ranges = {0};
    for (size_t i = d->first; i < d->first + d->n; i++) {
        uint32_t row = v->rows[i], call = gp_view_launch(v, row);
        uint32_t node = call == UINT32_MAX ? GP_HOST_NONE : gp_host_node(&v->hs, GP_API, call);
        node = gp_host_memo_innermost(&memo, node, GP_RANGE);
        if (node == GP_HOST_NONE) continue;
        gp_sid name = v->t->events[GP_RANGE].name[v->hs.nodes[node].row];
        uint32_t at = *gp_map_put(&found, name, (uint32_t)ranges.n);
        if (at == ranges.n)
            GP_VEC_PUSH(&ranges, ((struct range){.name = name, .sums = gp_zalloc(n * sizeof(struct sum))}));
        struct range *r = &ranges.at[at];
        r->ns = gp_add_saturated(r->ns, gpu->dur_ns[row]);
        for (size_t s = 0; s < n; s++)
            add_between(&r->sums[s], of[s], gpu->start_ns[row], gpu->start_ns[row] + gpu->dur_ns[row]);
    }
    if (ranges.n) qsort(ranges.at, ranges.n, sizeof *ranges.at, most_time_first);
    for (size_t i = 0; i < ranges.n; i++) {
        struct gp_buf label = {0};
        gp_name_range_label(&label, gp_trace_str(v->t, ranges.at[i].name),
                            gp_string_len(&v->t->strings, ranges.at[i].name));
        for (size_t s = 0; s < n && i < GP_SAMPLED_RANGES; s++)
            put_row(a, of[s], d, GP_SAMPLED_RANGE, label.n ? gp_buf_str(&label) : "[no name]",
                    ranges.at[i].sums[s]);
        gp_buf_release(&label);
        free(ranges.at[i].sums);
    }
    GP_VEC_FREE(&ranges);
    gp_map_release(&found);
    gp_host_memo_release(&memo);
}

/* ---- devices ---- */

static struct sum over_steps(const struct adding *a, const struct series *s, const struct gp_view_device *d)
{
    struct sum sum = {0};
    GP_EACH(const struct gp_hta_step, step, a->h->steps) {
        if (step->device != d->device || step->producer != d->producer || step->partial || step->warm_up)
            continue;
        add_between(&sum, s, step->begin_ns, step->end_ns);
    }
    return sum;
}

static void add_device(struct adding *a, const struct gp_view_device *d)
{
    const struct series **of = gp_alloc((a->series.n + 1) * sizeof *of);
    int64_t begin_ns, end_ns;
    size_t n = 0;
    for (size_t i = 0; i < a->series.n; i++)
        if (a->series.at[i].device == d->device) of[n++] = &a->series.at[i];
    /* From the first event of the device to the end of its last. */
    const struct gp_events *gpu = &a->v->t->events[GP_GPU];
    begin_ns = INT64_MAX;
    end_ns = INT64_MIN;
    for (size_t i = d->first; i < d->first + d->n; i++) {
        uint32_t row = a->v->rows[i];
        int64_t end = gpu->start_ns[row] + gpu->dur_ns[row];
        if (gpu->start_ns[row] < begin_ns) begin_ns = gpu->start_ns[row];
        if (end > end_ns) end_ns = end;
    }
    for (size_t i = 0; i < n; i++) {
        struct sum whole = {0};
        add_between(&whole, of[i], begin_ns, end_ns);
        put_row(a, of[i], d, GP_SAMPLED_WHOLE, NULL, whole);
        put_row(a, of[i], d, GP_SAMPLED_STEPS, NULL, over_steps(a, of[i], d));
    }
    if (n) add_ranges(a, d, of, n);
    free(of);
}

/* After the steps. */
static void add_all(struct gp_hta *h, const struct gp_view *v)
{
    struct adding a = {.h = h, .v = v};
    find_series(&a);
    for (size_t i = 0; i < v->devices.n && a.series.n; i++) add_device(&a, &v->devices.at[i]);
    for (size_t i = 0; i < a.series.n; i++) GP_VEC_FREE(&a.series.at[i].f.points);
    GP_VEC_FREE(&a.series);
}

/* ---- as a section ---- */

GP_COMPARE_IN(compare, struct gp_sampled, struct gp_hta,
              GP_UP(rank) GP_UP(device) GP_UP(over)
                  GP_KEY(y->over == GP_SAMPLED_RANGE ? y->ns : 0, x->over == GP_SAMPLED_RANGE ? x->ns : 0)
                      GP_THEN(gp_hta_order(of, x->name, y->name))
                          GP_THEN(gp_hta_order(of, x->metric, y->metric)) GP_DOWN(ns) GP_UP(mean))

static const struct gp_hta_list lists[] = {
    {&gp_hta_sampled, offsetof(struct gp_hta, sampled), .kept = {SIZE_MAX, 0, sizeof(int32_t), 0},
     .order = compare},
};
const struct gp_hta_section gp_hta_sampled_section = {lists, GP_COUNT(lists), .add = add_all, .timed = true};
