/* Track events and render stages become rows; then the ends of spans find their beginnings. */
#include <stdlib.h>
#include "formats/base/order.h"
#include "formats/base/str.h"
#include "formats/perfetto/perfetto_read_priv.h"

/* Categories that only files of one recorder have. */
static const struct {
    const char *category;
    enum gp_table table;
    enum gp_gpu_kind kind;
} categories[] = {
    {"kernel_dispatch", GP_GPU, GP_KERNEL}, /* rocprofv3 */
    {"memory_copy", GP_GPU, GP_MEMCPY},     {"hip_api", GP_API, GP_KERNEL},
    {"hsa_api", GP_API, GP_KERNEL},         {"rccl_api", GP_API, GP_KERNEL},
    {"marker_api", GP_RANGE, GP_KERNEL},
};

/* Kinds of render stages, by the beginning of their name. */
static const struct {
    const char *name;
    enum gp_table table;
    enum gp_gpu_kind kind;
} stages[] = {
    {"Kernel", GP_GPU, GP_KERNEL}, {"Compute", GP_GPU, GP_KERNEL},          {"Memcpy", GP_GPU, GP_MEMCPY},
    {"Memset", GP_GPU, GP_MEMSET}, {"Annotation", GP_GPU_RANGE, GP_KERNEL}, {"", GP_OTHER, GP_KERNEL},
};

static void mark(struct gp_pr *r, uint32_t row, bool is_end)
{
    const struct gp_pr_event *e = &r->event;
    struct gp_pr_marker m = {.at_ns = e->at_ns,
                             .offset = r->offset,
                             .track = e->track,
                             .row = row,
                             .table = (uint8_t)e->table,
                             .is_end = is_end};
    GP_VEC_PUSH(&r->markers, m);
}

/* ---- what an event is ---- */

static void classify(struct gp_pr *r, bool instant)
{
    struct gp_pr_event *e = &r->event;
    const char *text = gp_trace_str(r->t, e->category);
    size_t n = gp_string_len(&r->t->strings, e->category);
    const struct gp_pr_track *k = &r->tracks.at[e->track];
    struct gp_category means = gp_category(text, n);
    for (size_t i = 0; !r->ours && i < GP_COUNT(categories); i++)
        if (gp_is(text, n, categories[i].category))
            means = (struct gp_category){categories[i].table, categories[i].kind};
    if (!r->ours && means.table == GP_OTHER && !instant) {
        const char *name = gp_trace_str(r->t, e->name);
        if (gp_pr_is_stream(r, k)) means.table = GP_GPU;
        else if (k->has & GP_PR_IS_THREAD) means.table = GP_RANGE;
        if (gp_starts(name, "Memcpy") || gp_starts(name, "memcpy")) means.kind = GP_MEMCPY;
        if (gp_starts(name, "Memset") || gp_starts(name, "memset")) means.kind = GP_MEMSET;
    }
    e->table = means.table;
    e->config.kind = means.kind;
    if (instant && gp_category_is_usual(text, n, GP_MEMORY, GP_KERNEL)) e->table = GP_MEMORY;
    else if (instant) e->table = gp_is(text, n, "cuda_event") ? GP_SYNC : GP_MARK;
}

/* What only args tell, and the cell of the category. */
static void settle(struct gp_pr *r)
{
    struct gp_pr_event *e = &r->event;
    struct gp_pr_track *k = &r->tracks.at[e->track];
    if (e->is_sync) e->table = GP_SYNC;
    if (e->table == GP_GPU || e->table == GP_GPU_RANGE) {
        if (k->device < 0) k->device = e->device;
        if (k->stream < 0) k->stream = e->stream;
    }
    const char *text = gp_trace_str(r->t, e->category);
    size_t n = gp_string_len(&r->t->strings, e->category);
    bool usual = gp_category_is_usual(text, n, e->table, (enum gp_gpu_kind)e->config.kind);
    if (e->table == GP_GPU && !usual) e->config.cat = e->category;
    if (usual) e->category = 0;
}

/* ---- track events ---- */

/* The fields of a track event but its args. */
struct head {
    uint64_t type, track, value;
    uint32_t value_tag;
};

static gp_sid entry_text(struct gp_pr *r, const struct gp_pr_sequence *s, enum gp_pr_kind kind, uint64_t iid)
{
    const struct gp_pr_entry *e = gp_pr_look_up(r, s, kind, iid);
    return e ? e->text : 0;
}

static void read_head(struct gp_pr *r, const struct gp_pr_sequence *s, struct gp_wire w, struct head *h)
{
    struct gp_pr_event *e = &r->event;
    for (struct gp_wire_field f; gp_wire_next(&w, &f);) {
        if (f.tag == GP_PF_TYPE) h->type = f.value;
        if (f.tag == GP_PF_TRACK_UUID) h->track = f.value;
        if (f.tag == GP_PF_NAME_IID) e->name = entry_text(r, s, GP_PR_NAMES, f.value);
        if (f.tag == GP_PF_NAME_TEXT) e->name = gp_trace_intern(r->t, (const char *)f.data, f.value);
        if (f.tag == GP_PF_CATEGORY_IID && !e->category)
            e->category = entry_text(r, s, GP_PR_CATEGORIES, f.value);
        if (f.tag == GP_PF_CATEGORY_TEXT && !e->category)
            e->category = gp_trace_intern(r->t, (const char *)f.data, f.value);
        if (f.tag == GP_PF_COUNTER_VALUE || f.tag == GP_PF_DOUBLE_VALUE)
            h->value = f.value, h->value_tag = f.tag;
    }
    if (w.broken) gp_trace_issue(r->t, GP_Q_SYNTAX, 1, (int64_t)r->offset);
}

static void add_count(struct gp_pr *r, const struct head *h)
{
    struct gp_pr_track *k = &r->tracks.at[r->event.track];
    double v = h->value_tag == GP_PF_DOUBLE_VALUE ? gp_wire_double(h->value) : (double)(int64_t)h->value;
    if (r->ours) return; /* they are in the rest, with their series */
    if (!h->value_tag) gp_trace_issue(r->t, GP_Q_BAD_VALUE, 1, (int64_t)r->offset);
    v *= (double)k->multiplier;
    if (k->delta) v = k->sum += v;
    r->event.table = GP_COUNTER;
    uint32_t row = h->value_tag ? gp_pr_add(r) : GP_PR_NONE;
    if (row != GP_PR_NONE) gp_set_value(&r->t->events[GP_COUNTER], row, v);
}

/* An arrow begins where its id is first seen. */
static void add_flow(struct gp_pr *r, uint64_t id, bool ends)
{
    struct gp_events *to = &r->t->events[GP_FLOW];
    uint32_t *begun = gp_map_put(&r->flows, id, 0);
    uint32_t phase = *begun ? ends ? 'f' : 't' : 's';
    *gp_map_put(&r->flows, id, 0) = !ends;
    if (!(r->t->need & GP_NEED(GP_FLOW)) || to->n >= GP_PR_NONE) return;
    size_t row = gp_events_add(to, r->event.at_ns, 0, r->event.track, gp_intern_cstr(&r->t->strings, "ac2g"));
    gp_set_id(to, row, id);
    gp_set_phase(to, row, phase);
}

/* The render stages that a call submitted: the first one's id stands for the call's correlation. */
static void take_submitted(struct gp_pr *r, struct gp_wire w)
{
    struct gp_pr_event *e = &r->event;
    for (struct gp_wire_field f; gp_wire_next(&w, &f);) {
        if (f.tag != GP_PF_SUBMITTED || e->has & GP_COLUMN(GP_COL_CORR)) continue;
        e->cells[GP_COL_CORR] = f.value;
        e->has |= GP_COLUMN(GP_COL_CORR);
    }
}

static void add_event(struct gp_pr *r, struct gp_pr_sequence *s, struct gp_wire w, bool instant)
{
    struct gp_pr_event *e = &r->event;
    struct gp_wire flows = w;
    classify(r, instant);
    for (struct gp_wire_field f; gp_wire_next(&w, &f);) {
        if (f.tag == GP_PF_ANNOTATION) gp_pr_annotation(r, s, gp_wire_message(&f));
        if (f.tag == GP_PF_CORRELATION) take_submitted(r, gp_wire_message(&f));
    }
    settle(r);
    bool stays = !r->ours || e->table != GP_FLOW; /* those of ours are in the rest */
    uint32_t row = stays ? gp_pr_add(r) : GP_PR_NONE;
    if (!instant) mark(r, row, false);
    for (struct gp_wire_field f; !r->ours && gp_wire_next(&flows, &f);) {
        if (f.tag == GP_PF_FLOW || f.tag == GP_PF_FLOW_OLD) add_flow(r, f.value, false);
        if (f.tag == GP_PF_FLOW_END || f.tag == GP_PF_FLOW_END_OLD) add_flow(r, f.value, true);
    }
}

void gp_pr_track_event(struct gp_pr *r, struct gp_pr_sequence *s, int64_t at_ns, struct gp_wire w)
{
    struct head h = {.track = s->track};
    struct gp_pr_event *e = &r->event;
    gp_pr_begin_event(r);
    read_head(r, s, w, &h);
    e->at_ns = at_ns;
    e->track = gp_pr_track(r, h.track);
    if (at_ns > r->last_ns) r->last_ns = at_ns;
    r->t->input.events += h.type != GP_PF_END;
    if (h.type == GP_PF_BEGIN || h.type == GP_PF_INSTANT) add_event(r, s, w, h.type == GP_PF_INSTANT);
    else if (h.type == GP_PF_END) mark(r, GP_PR_NONE, true);
    else if (h.type == GP_PF_COUNT) add_count(r, &h);
    else gp_trace_issue(r->t, GP_Q_UNKNOWN_PHASE, 1, (int64_t)r->offset);
}

/* ---- render stages ---- */

static void take_text_arg(struct gp_pr *r, struct gp_wire w)
{
    gp_sid key = 0;
    struct gp_pr_value v = {.kind = GP_PR_TEXT, .p = ""};
    for (struct gp_wire_field f; gp_wire_next(&w, &f);) {
        if (f.tag == GP_PF_EXTRA_NAME) key = gp_trace_intern(r->t, (const char *)f.data, f.value);
        if (f.tag == GP_PF_EXTRA_VALUE) v.p = (const char *)f.data, v.n = f.value;
    }
    gp_pr_take_arg(r, key, &v);
}

static bool read_size(struct gp_wire w, uint32_t to[3])
{
    for (struct gp_wire_field f; gp_wire_next(&w, &f);)
        for (uint32_t i = 0; i < 3; i++)
            if (f.tag == GP_PF_TAG(i + 1, 0)) to[i] = (uint32_t)f.value;
    return !w.broken;
}

static void take_launch_arg(struct gp_pr *r, const struct gp_pr_sequence *s, struct gp_wire w)
{
    gp_sid key = 0;
    struct gp_pr_value v = {.kind = GP_PR_NO_VALUE};
    for (struct gp_wire_field f; gp_wire_next(&w, &f);) {
        if (f.tag == GP_PF_ARG_NAME_IID) key = entry_text(r, s, GP_PR_LAUNCH_ARGS, f.value);
        if (f.tag == GP_PF_ARG_NAME) key = gp_trace_intern(r->t, (const char *)f.data, f.value);
        if (f.tag != GP_PF_ARG_INT && f.tag != GP_PF_ARG_UINT) continue;
        v.kind = GP_PR_NUMBER;
        v.v = f.value;
        v.negative = f.tag == GP_PF_ARG_INT && (int64_t)f.value < 0;
    }
    gp_pr_take_arg(r, key, &v);
}

static void take_launch(struct gp_pr *r, const struct gp_pr_sequence *s, struct gp_wire w)
{
    struct gp_config *c = &r->event.config;
    for (struct gp_wire_field f; gp_wire_next(&w, &f);) {
        if (f.tag == GP_PF_GRID_SIZE && read_size(gp_wire_message(&f), c->grid)) c->has |= GP_HAS_GRID;
        if (f.tag == GP_PF_GROUP_SIZE && read_size(gp_wire_message(&f), c->block)) c->has |= GP_HAS_BLOCK;
        if (f.tag == GP_PF_LAUNCH_ARG) take_launch_arg(r, s, gp_wire_message(&f));
    }
}

void gp_pr_stage(struct gp_pr *r, struct gp_pr_sequence *s, int64_t at_ns, struct gp_wire w)
{
    struct gp_pr_event *e = &r->event;
    uint64_t id = GP_NO_ID, queue = 0, context = 0, gpu = 0;
    gp_sid kind = 0, queue_name = 0;
    bool any = false;
    struct gp_wire args = w;
    gp_pr_begin_event(r);
    e->at_ns = at_ns;
    for (struct gp_wire_field f; gp_wire_next(&w, &f);) {
        any = any || f.tag == GP_PF_STAGE_ID;
        if (f.tag == GP_PF_STAGE_ID) id = f.value;
        if (f.tag == GP_PF_STAGE_DURATION) e->dur_ns = f.value <= GP_DURATION_MOST ? (int64_t)f.value : 0;
        if (f.tag == GP_PF_STAGE_CONTEXT) context = f.value;
        if (f.tag == GP_PF_STAGE_GPU) gpu = f.value & INT32_MAX;
        if (f.tag == GP_PF_STAGE_QUEUE) queue = f.value;
        if (f.tag == GP_PF_STAGE_QUEUE) queue_name = entry_text(r, s, GP_PR_STAGES, queue);
        if (f.tag == GP_PF_STAGE_KIND) kind = entry_text(r, s, GP_PR_STAGES, f.value);
        if (f.tag == GP_PF_STAGE_NAME) e->name = gp_trace_intern(r->t, (const char *)f.data, f.value);
        if (f.tag == GP_PF_STAGE_NAME_IID && !e->name) e->name = entry_text(r, s, GP_PR_NAMES, f.value);
        if (f.tag == GP_PF_STAGE_KERNEL && !e->name) e->name = entry_text(r, s, GP_PR_KERNELS, f.value);
    }
    if (w.broken) gp_trace_issue(r->t, GP_Q_SYNTAX, 1, (int64_t)r->offset);
    if (!any) return; /* a list of names for all */
    size_t row = 0;
    while (!gp_starts(gp_trace_str(r->t, kind), stages[row].name)) row++;
    e->table = stages[row].table;
    e->config.kind = stages[row].kind;
    if (!e->name) e->name = kind;
    const struct gp_pr_entry *owner = gp_pr_look_up(r, s, GP_PR_CONTEXTS, context);
    e->track = gp_pr_stage_track(r, (int64_t)gpu, queue, queue_name, owner ? owner->pid : -1);
    for (struct gp_wire_field f; gp_wire_next(&args, &f);) {
        if (f.tag == GP_PF_STAGE_EXTRA) take_text_arg(r, gp_wire_message(&f));
        if (f.tag == GP_PF_STAGE_LAUNCH) take_launch(r, s, gp_wire_message(&f));
    }
    if (!(e->has & GP_COLUMN(GP_COL_CORR))) e->cells[GP_COL_CORR] = id;
    e->has |= GP_COLUMN(GP_COL_CORR);
    if (at_ns <= INT64_MAX - e->dur_ns && at_ns + e->dur_ns > r->last_ns) r->last_ns = at_ns + e->dur_ns;
    r->t->input.events++;
    gp_pr_add(r);
}

/* ---- pairs ---- */

/* By time; at equal times in the order of the file. */
GP_COMPARE(by_time, struct gp_pr_marker *const, GP_KEY((*x)->at_ns, (*y)->at_ns) GP_KEY(*x, *y))

static void end_span(struct gp_pr *r, const struct gp_pr_marker *begin, int64_t end_ns)
{
    if (begin->row != GP_PR_NONE) r->t->events[begin->table].dur_ns[begin->row] = end_ns - begin->at_ns;
}

/* The N markers of a track; OPEN has room for as many. */
static void pair(struct gp_pr *r, const struct gp_pr_marker **all, size_t n, const struct gp_pr_marker **open)
{
    size_t depth = 0, sorted = 1;
    while (sorted < n && all[sorted - 1]->at_ns <= all[sorted]->at_ns) sorted++;
    if (sorted < n) qsort(all, n, sizeof(const struct gp_pr_marker *), by_time);
    for (size_t i = 0; i < n; i++) {
        if (!all[i]->is_end) open[depth++] = all[i];
        else if (depth) end_span(r, open[--depth], all[i]->at_ns);
        else gp_trace_issue(r->t, GP_Q_UNMATCHED_END, 1, (int64_t)all[i]->offset);
    }
    while (depth) {
        gp_trace_issue(r->t, GP_Q_UNMATCHED_BEGIN, 1, (int64_t)open[depth - 1]->offset);
        end_span(r, open[--depth], r->last_ns);
    }
}

void gp_pr_pair(struct gp_pr *r)
{
    size_t n = r->markers.n;
    size_t *first = gp_zalloc((r->tracks.n + 2) * sizeof *first);
    const struct gp_pr_marker **order = gp_alloc(2 * (n + 1) * sizeof(const struct gp_pr_marker *));
    for (size_t i = 0; i < n; i++) first[r->markers.at[i].track + 2]++;
    for (size_t k = 2; k < r->tracks.n + 2; k++) first[k] += first[k - 1];
    for (size_t i = 0; i < n; i++) order[first[r->markers.at[i].track + 1]++] = &r->markers.at[i];
    for (size_t k = 0; k < r->tracks.n; k++)
        if (first[k + 1] > first[k]) pair(r, order + first[k], first[k + 1] - first[k], order + n + 1);
    free(first);
    free(order);
}
