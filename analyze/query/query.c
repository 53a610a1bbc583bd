#include "analyze/query/query.h"

#include <stdlib.h>
#include <string.h>
#include "analyze/names/names.h"
#include "analyze/view/idle_walk.h"
#include "analyze/view/waits.h"
#include "formats/base/buf.h"
#include "formats/base/err.h"
#include "formats/base/order.h"
#include "formats/model/metric.h"

/* ---- names ---- */

static void make_kernels(struct gp_query *q)
{
    const struct gp_trace *t = q->t;
    struct gp_map known = {0};
    q->kernels = gp_zalloc((t->configs.n + 1) * sizeof *q->kernels);
    for (uint32_t i = 0; i < t->configs.n; i++) {
        const struct gp_config *c = &t->configs.at[i];
        uint32_t first = *gp_map_put(&known, (uint64_t)c->kind << 32 | c->name, i);
        if (first != i) {
            q->kernels[i] = q->kernels[first];
            continue;
        }
        struct gp_buf full = {0}, label = {0};
        size_t n = gp_string_len(&t->strings, c->name);
        gp_name_demangle(&full, gp_trace_str(t, c->name), n);
        if (c->kind == GP_KERNEL) gp_name_kernel_label(&label, full.data, full.n);
        else gp_buf_put(&label, full.data, full.n);
        q->kernels[i].name = gp_intern(&q->names, gp_buf_str(&full), full.n);
        q->kernels[i].label = gp_intern(&q->names, gp_buf_str(&label), label.n);
        q->kernels[i].kind = gp_classify_config(q->opts.classes, t, c);
        gp_buf_release(&full);
        gp_buf_release(&label);
    }
    gp_map_release(&known);
}

/* A number for every name, as other recorders' tables have. */
static void make_texts(struct gp_query *q)
{
    const struct gp_strings *of = &q->t->strings;
    q->text_of = gp_zalloc(((size_t)of->n + 1) * sizeof *q->text_of);
    for (gp_sid i = 1; i < of->n; i++) q->text_of[i] = gp_intern_from(&q->names, of, i);
    for (gp_sid i = 0; i < q->names.n; i++) GP_VEC_PUSH(&q->texts, (struct gp_query_text){i});
}

/* ---- steps ---- */

GP_COMPARE(by_begin, struct gp_device_step, GP_UP(begin_ns) GP_UP(end_ns) GP_UP(window))

static void place_events(struct gp_query *q, const struct gp_view_device *d, const struct gp_steps_program *p,
                         const int64_t *id_of)
{
    size_t hint = 0;
    for (size_t i = 0; i < d->n; i++) {
        uint32_t row = q->v.rows[d->first + i];
        int64_t begin_ns, end_ns;
        if (!gp_steps_launch_time(&q->v, row, p->by_gpu_time, &begin_ns, &end_ns)) continue;
        size_t w = gp_steps_window_at(p, begin_ns, hint);
        if (w >= p->windows.n) continue;
        hint = w;
        q->step_of[row] = id_of[w];
    }
}

/* Steps are numbered in the order of trace-hta's answer: by device, then by begin. */
static void number_steps(struct gp_query *q)
{
    const struct gp_view *v = &q->v;
    struct gp_step_sharing sharing = {0};
    size_t rows = q->t->events[GP_GPU].n;
    int64_t id = 0;
    q->step_of = gp_alloc_ones((rows + 1) * sizeof *q->step_of);
    for (uint32_t d = 0; d < v->devices.n && !q->untimed; d++) {
        const struct gp_view_device *device = &v->devices.at[d];
        const struct gp_steps_program *p = gp_steps_of(&q->found, device->producer);
        struct gp_device_steps steps;
        if (!p || !p->windows.n) continue;
        int64_t *id_of = gp_alloc_ones(p->windows.n * sizeof *id_of);
        gp_device_steps_find(&steps, &sharing, v, device, p);
        if (steps.v.n) qsort(steps.v.at, steps.v.n, sizeof *steps.v.at, by_begin);
        for (size_t i = 0; i < steps.v.n; i++) id_of[steps.v.at[i].window] = id++;
        place_events(q, device, p, id_of);
        gp_device_steps_release(&steps);
        free(id_of);
    }
    gp_step_sharing_release(&sharing);
}

static void make_steps(struct gp_query *q)
{
    for (size_t i = 0; i < q->hta.steps.n; i++) {
        struct gp_query_step s = {.s = q->hta.steps.at[i], .id = (int64_t)i};
        if (i && gp_hta_same_device(&s.s, &q->hta.steps.at[i - 1])) s.number = q->steps.at[i - 1].number + 1;
        GP_VEC_PUSH(&q->steps, s);
    }
}

/* The step of a device that runs at AT_NS, -1 for none. */
static int64_t step_at(const struct gp_query *q, const struct gp_hta_place *p, int64_t at_ns)
{
    size_t lo = 0, hi = q->steps.n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        const struct gp_hta_step *s = &q->steps.at[mid].s;
        int64_t order = s->rank != p->rank           ? (int64_t)s->rank - p->rank
                        : s->producer != p->producer ? (int64_t)s->producer - p->producer
                        : s->device != p->device     ? (s->device < p->device ? -1 : 1)
                                                     : (s->begin_ns <= at_ns ? -1 : 1);
        if (order < 0) lo = mid + 1;
        else hi = mid;
    }
    if (!lo) return -1;
    const struct gp_query_step *s = &q->steps.at[lo - 1];
    bool in = s->s.rank == p->rank && s->s.producer == p->producer && s->s.device == p->device &&
              s->s.begin_ns <= at_ns && at_ns < s->s.end_ns;
    return in ? s->id : -1;
}

/* ---- idle time and waits ---- */

static void add_idle(void *ctx, const struct gp_idle_piece *p)
{
    struct gp_query *q = ctx;
    const struct gp_view_device *d = &q->v.devices.at[p->device];
    struct gp_query_idle row = {
        .place = {d->rank, d->producer, d->device},
        .begin_ns = p->begin_ns,
        .end_ns = p->end_ns,
        .gap_begin_ns = p->gap_begin_ns,
        .gap_end_ns = p->gap_end_ns,
        .cause = p->cause,
        .row = p->row,
        .stack = gp_query_stack_of_node(&q->stacks, p->node),
    };
    row.step = step_at(q, &row.place, p->begin_ns);
    GP_VEC_PUSH(&q->idle, row);
}

static int32_t rank_of_track(const struct gp_trace *t, uint32_t track)
{
    int32_t rank = t->processes.at[t->tracks.at[track].process].rank;
    return rank < 0 ? t->rank : rank;
}

static void make_waits(struct gp_query *q)
{
    struct gp_wait_index index;
    gp_wait_index_build(&index, &q->v);
    for (size_t d = 0; d < q->v.devices.n; d++) {
        uint32_t producer = q->v.devices.at[d].producer;
        bool again = false;
        for (size_t i = 0; i < d && !again; i++) again = q->v.devices.at[i].producer == producer;
        if (again) continue;
        struct gp_waits w;
        gp_waits_find(&w, &q->v, &index, producer, INT64_MIN / 2, INT64_MAX / 2);
        GP_EACH(const struct gp_wait, from, w.calls) {
            struct gp_query_wait row = {.rank = rank_of_track(q->t, from->track),
                                        .call = from->call,
                                        .event = from->row,
                                        .begin_ns = from->begin_ns,
                                        .end_ns = from->end_ns,
                                        .own = from->own};
            row.name = gp_intern_from(&q->names, &q->t->strings, q->t->events[GP_API].name[from->call]);
            GP_VEC_PUSH(&q->waits, row);
        }
        gp_waits_release(&w);
    }
    gp_wait_index_release(&index);
}

static void make_launched(struct gp_query *q)
{
    const struct gp_events *gpu = &q->t->events[GP_GPU];
    q->launched = gp_zalloc((q->t->events[GP_API].n + 1) * sizeof *q->launched);
    for (uint32_t row = 0; row < gpu->n; row++) {
        uint32_t call = gp_view_launch(&q->v, row);
        if (call == UINT32_MAX) continue;
        q->launched[call].events++;
        q->launched[call].ns += gpu->dur_ns[row];
    }
}

static void make_frames(struct gp_query *q)
{
    struct gp_query_frame none = {0};
    gp_query_stacks_make(&q->stacks, &q->v, &q->names);
    GP_VEC_PUSH(&q->frames, none);
    for (uint32_t i = 1; i < q->stacks.tree.nodes.n; i++) {
        struct gp_query_frame around = q->frames.at[q->stacks.tree.nodes.at[i].parent];
        GP_VEC_PUSH(&q->frames, gp_query_frame_of(&q->stacks, i, &around));
    }
}

/* ---- all ---- */

static uint32_t with_others(uint32_t wants)
{
    if (wants & GP_QUERY_IDLE) wants |= GP_QUERY_HTA | GP_QUERY_STACKS;
    if (wants & (GP_QUERY_STACKS | GP_QUERY_PLACES | GP_QUERY_WAITS | GP_QUERY_CALLS)) wants |= GP_QUERY_VIEW;
    return wants;
}

static int make_view(struct gp_query *q, struct gp_err *err)
{
    struct gp_hta_opts o = {.repair = GP_REPAIR_NONE,
                            .classes = q->opts.classes,
                            .step_marker = q->opts.step_marker,
                            .all_ranks = true,
                            .per_step = true};
    if (!(q->wants & GP_QUERY_HTA)) {
        gp_view_init(&q->v, q->t, q->opts.classes);
        return 0;
    }
    gp_hta_init(&q->hta, &o);
    int failed = gp_hta_add_viewed(&q->hta, q->t, &q->v, err);
    if (!failed) gp_hta_finish(&q->hta);
    if (!failed) make_steps(q);
    return failed;
}

int gp_query_make(struct gp_query *q, struct gp_trace *t, const struct gp_query_opts *opts, uint32_t wants,
                  struct gp_err *err)
{
    memset(q, 0, sizeof *q);
    q->t = t;
    q->opts = *opts;
    q->wants = with_others(wants);
    q->untimed = gp_trace_distorted(t);
    q->rows_of = (struct gp_row_of){.of = q, .strings = &q->names, .mem = &q->mem, .untimed = q->untimed};
    gp_intern_cstr(&q->names, "");
    for (size_t i = 0; i < opts->n_inputs; i++)
        GP_VEC_PUSH(&q->ranks, gp_input_quality_copy(&opts->inputs[i], &q->names, opts->strings));
    for (size_t i = 0; i < t->processes.n; i++) GP_VEC_PUSH(&q->processes, t->processes.at[i]);
    wants = q->wants;
    if (wants & GP_QUERY_NAMES) make_kernels(q);
    int failed = wants & (GP_QUERY_VIEW | GP_QUERY_HTA) ? make_view(q, err) : 0;
    if (!failed && wants & GP_QUERY_PLACES) {
        failed = gp_steps_find(&q->found, &q->v, opts->step_marker, err);
        if (!failed) number_steps(q);
    }
    if (failed) return failed;
    if (wants & GP_QUERY_CALLS) make_launched(q);
    if (wants & GP_QUERY_STACKS) make_frames(q);
    if (wants & GP_QUERY_IDLE && !q->untimed) gp_idle_walk(&q->v, add_idle, q);
    if (wants & GP_QUERY_WAITS && !q->untimed) make_waits(q);
    if (wants & GP_QUERY_TEXTS) make_texts(q);
    return 0;
}

void gp_query_release(struct gp_query *q)
{
    GP_RELEASE(free, q->kernels, q->step_of, q->launched, q->text_of);
    gp_query_stacks_release(&q->stacks);
    if (q->wants & GP_QUERY_PLACES) gp_steps_release(&q->found);
    if (q->wants & (GP_QUERY_VIEW | GP_QUERY_HTA)) gp_view_release(&q->v);
    if (q->wants & GP_QUERY_HTA) gp_hta_release(&q->hta);
    GP_RELEASE(gp_vec_free, &q->steps, &q->idle, &q->waits, &q->frames, &q->texts, &q->ranks, &q->processes);
    gp_arena_release(&q->mem);
    gp_strings_release(&q->names);
    memset(q, 0, sizeof *q);
}

/* ---- rows ---- */

size_t gp_query_count(const struct gp_query *q, const struct gp_query_table *table)
{
    size_t n = 0;
    if (table->at) return gp_rows_n((const char *)q + table->at);
    for (int i = 0; i < table->n_tables; i++) n += q->t->events[table->tables[i]].n;
    return n;
}

bool gp_query_row(const struct gp_query *q, const struct gp_query_table *table, size_t i,
                  struct gp_query_at *at)
{
    if (table->at) {
        at->row = (const char *)gp_rows_at((const char *)q + table->at) + i * table->rec.size;
        return i >= table->skip;
    }
    size_t row = i;
    int k = 0;
    while (k + 1 < table->n_tables && row >= q->t->events[table->tables[k]].n)
        row -= q->t->events[table->tables[k++]].n;
    at->event = (struct gp_query_event){q, table->tables[k], (uint32_t)row, (int64_t)i};
    at->row = &at->event;
    if (table->kinds && !(table->kinds >> gp_gpu_config(q->t, row)->kind & 1)) return false;
    if (table->tables[k] == GP_PC && gp_get_total(&q->t->events[GP_PC], row) <= 0)
        return false; /* no samples */
    return !table->launching || q->launched[row].events;
}

size_t gp_query_from(const struct gp_query *q, const struct gp_query_table *table, int64_t at_ns)
{
    return gp_events_from(&q->t->events[table->tables[0]], at_ns);
}
