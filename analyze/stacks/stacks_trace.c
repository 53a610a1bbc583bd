
#include <stdlib.h>
#include <string.h>
#include "analyze/names/name_predicates.h"
#include "analyze/view/backward.h"
#include "analyze/view/captured.h"
#include "analyze/view/host_stack.h"
#include "analyze/view/focus.h"
#include "analyze/view/idle_walk.h"
#include "analyze/names/names.h"
#include "analyze/stacks/stacks_priv.h"
#include "analyze/view/view.h"
#include "formats/base/buf.h"
#include "formats/base/order.h"
#include "formats/base/str.h"
#include "formats/model/stack_tree.h"

/* ---- GPU events ---- */

/* What a GPU event of a config is drawn as. */
struct leaf {
    gp_sid label;
    uint32_t kind; /* enum gp_frame_kind */
    bool known;
};

struct stalled {
    gp_sid function;
    uint32_t node;
    int64_t ns;
};

struct walk {
    struct gp_stacks *b;
    const struct gp_view *v;
    const struct gp_trace *t;
    const struct gp_host_stack *hs;
    const struct gp_backward *backward;
    uint32_t top;                 /* the node above everything from this trace */
    struct gp_host_memo *place;   /* of a host event: its node in the tree */
    struct leaf *leaves;          /* by config */
    struct gp_map named;          /* record kind << 32 | name -> the first config with both */
    struct gp_map labels;         /* table << 32 | name -> label */
    struct gp_map place_of_track; /* track -> name of where it is, with places */
    struct gp_captured captured;
    struct gp_map place_of_captured; /* node << 32 | path of a capture -> node */
    uint32_t *process_frame;         /* by process: its node below top; NULL: no process frames */
    uint32_t device_top; /* the node of the device at hand, or top; with the idle weight that of the cause */
    GP_VEC(uint32_t) modules; /* scratch of frames_of_modules */
    struct gp_host_memo module_of;
    struct gp_map place_of_module; /* where modules begin << 32 | host event -> node */
    struct idle *idle;             /* with the idle weight */
    /* With the weight of stalls, where functions ran, and for how long. */
    GP_VEC(struct stalled) stalled;
    struct gp_map stalled_at; /* function << 32 | node -> index in stalled */
};

#define NO_NODE UINT32_MAX

static gp_sid label_of_config(struct walk *w, const struct gp_config *c)
{
    struct gp_buf full = {0}, label = {0};
    gp_name_demangle(&full, gp_trace_str(w->t, c->name), gp_string_len(&w->t->strings, c->name));
    if (w->b->opts.raw || c->kind != GP_KERNEL) gp_buf_put(&label, full.data, full.n);
    else gp_name_kernel_label(&label, full.data, full.n);
    if (!label.n) gp_buf_puts(&label, "[no name]");
    gp_sid sid = gp_stacks_label(w->b, label.data, label.n, full.n ? full.data : "", full.n);
    gp_buf_release(&full);
    gp_buf_release(&label);
    return sid;
}

/* Launch configurations are many, names are few: grids make no difference to a leaf. */
static const struct leaf *leaf_of(struct walk *w, size_t row)
{
    uint32_t config = w->t->events[GP_GPU].config ? w->t->events[GP_GPU].config[row] : 0;
    const struct gp_config *c = &w->t->configs.at[config];
    struct leaf *leaf = &w->leaves[config];
    if (leaf->known) return leaf;
    uint32_t first = *gp_map_put(&w->named, (uint64_t)c->kind << 32 | c->name, config);
    if (first != config) *leaf = w->leaves[first];
    else {
        leaf->label = label_of_config(w, c);
        leaf->kind = w->v->kind_of_config[config];
        leaf->known = true;
    }
    return leaf;
}

static gp_sid make_label(struct walk *w, enum gp_table table, const char *text, size_t n)
{
    struct gp_buf label = {0};
    if (w->b->opts.raw) gp_buf_put(&label, text, n);
    else gp_name_label(&label, table, text, n);
    if (!label.n) gp_buf_puts(&label, "[no name]");
    gp_sid sid = gp_stacks_label(w->b, label.data, label.n, text, n);
    gp_buf_release(&label);
    return sid;
}

static gp_sid label_of_host(struct walk *w, enum gp_table table, gp_sid name)
{
    uint32_t *known = gp_map_put(&w->labels, (uint64_t)table << 32 | name, NO_NODE);
    if (*known == NO_NODE)
        *known = make_label(w, table, gp_trace_str(w->t, name), gp_string_len(&w->t->strings, name));
    return *known;
}

static bool is_hidden(const struct walk *w, const struct gp_host_event *ev, gp_sid name)
{
    const struct gp_stacks_opts *o = &w->b->opts;
    const char *text = gp_trace_str(w->t, name);
    if (o->weight == GP_WEIGHT_CPU) {
        if (w->t->events[ev->table].dur_ns[ev->row] < o->min_duration_ns) return true;
    } else if (ev->table == GP_API && o->weight != GP_WEIGHT_IDLE) {
        /* A graph's launch is the only thing that its kernels have in common. */
        return !o->show_api && !gp_call_launches_graph(text);
    }
    return ev->table == GP_PYTHON && !o->raw && !o->show_python_glue &&
           gp_name_is_glue(text, gp_string_len(&w->t->strings, name));
}

static enum gp_frame_kind kind_of_host(const struct walk *w, const struct gp_host_event *ev, gp_sid name)
{
    switch (ev->table) {
    case GP_RANGE: return GP_FRAME_RANGE;
    case GP_OP: return GP_FRAME_OP;
    case GP_API: return GP_FRAME_API;
    default:
        return gp_name_is_module(gp_trace_str(w->t, name), gp_string_len(&w->t->strings, name))
                   ? GP_FRAME_MODULE
                   : GP_FRAME_PYTHON;
    }
}

/* The node that stacks of TRACK start from. */
static uint32_t start_of_track(const struct walk *w, uint32_t track)
{
    uint32_t node = w->process_frame ? w->process_frame[w->t->tracks.at[track].process] : NO_NODE;
    return node == NO_NODE ? w->device_top : node;
}

/* A frame below NODE. Recursion with the same name is one frame, unless names are shown as recorded. */
static uint32_t frame_below(struct walk *w, uint32_t node, gp_sid label, enum gp_frame_kind kind)
{
    const struct gp_calltree *tree = &w->b->tree;
    if (!w->b->opts.raw && node < tree->nodes.n && tree->nodes.at[node].name == label &&
        tree->nodes.at[node].kind == (uint32_t)kind && node != GP_CALLTREE_ROOT)
        return node;
    return gp_calltree_child(&w->b->tree, node, label, kind);
}

/* The innermost module at a host event or around it. */
static uint32_t module_in(void *ctx, uint32_t node, uint32_t around)
{
    const struct walk *w = ctx;
    const struct gp_host_event *ev = &w->hs->nodes[node];
    if (ev->table != GP_PYTHON) return around;
    return kind_of_host(w, ev, w->t->events[GP_PYTHON].name[ev->row]) == GP_FRAME_MODULE ? node : around;
}

static uint32_t module_around(struct walk *w, uint32_t id)
{
    return gp_host_memo_get(&w->module_of, id, module_in, w);
}

/* The modules around a host event below NODE, outermost first. Each is worked out once. */
static uint32_t frames_of_modules(struct walk *w, uint32_t node, uint32_t id)
{
    uint32_t start = node;
    size_t begin = w->modules.n;
    for (id = module_around(w, id); id != GP_HOST_NONE; id = module_around(w, w->hs->nodes[id].parent)) {
        const uint32_t *known = gp_map_get(&w->place_of_module, (uint64_t)start << 32 | id);
        if (known) node = *known;
        if (known) break;
        GP_VEC_PUSH(&w->modules, id);
    }
    while (w->modules.n > begin) {
        id = w->modules.at[--w->modules.n];
        gp_sid name = w->t->events[GP_PYTHON].name[w->hs->nodes[id].row];
        node = frame_below(w, node, label_of_host(w, GP_PYTHON, name), GP_FRAME_MODULE);
        *gp_map_put(&w->place_of_module, (uint64_t)start << 32 | id, 0) = node;
    }
    return node;
}

/* The backward pass has its own threads without ranges or modules: it gets the frame "backward" and the
 * modules of the forward operator. */
static uint32_t frames_of_backward(struct walk *w, uint32_t node, uint32_t id)
{
    node = frame_below(w, node, gp_stacks_plain_label(w->b, GP_TEXT("backward")), GP_FRAME_RANGE);
    uint32_t forward = gp_backward_origin(w->backward, id);
    return forward == GP_HOST_NONE ? node : frames_of_modules(w, node, forward);
}

/* The frame of a host event below NODE; NODE itself for one that is not shown. */
static uint32_t frame_of_event(struct walk *w, uint32_t node, uint32_t id)
{
    const struct gp_host_event *ev = &w->hs->nodes[id];
    gp_sid name = w->t->events[ev->table].name[ev->row];
    if (is_hidden(w, ev, name)) return node;
    if (ev->table == GP_OP && !w->b->opts.raw &&
        gp_name_is_backward(gp_trace_str(w->t, name), gp_string_len(&w->t->strings, name)))
        node = frames_of_backward(w, node, id);
    return frame_below(w, node, label_of_host(w, (enum gp_table)ev->table, name), kind_of_host(w, ev, name));
}

static uint32_t place_inside(void *ctx, uint32_t id, uint32_t around)
{
    struct walk *w = ctx;
    if (around == GP_HOST_NONE) around = start_of_track(w, gp_host_track(w->hs, id));
    return frame_of_event(w, around, id);
}

/* The tree node of a host event: those of the events around it first. */
static uint32_t place_event(struct walk *w, uint32_t id)
{
    return gp_host_memo_get(w->place, id, place_inside, w);
}

static void put_number(struct gp_buf *to, const char *before, int64_t number)
{
    gp_buf_puts(to, before);
    if (number < 0) gp_buf_puts(to, "?");
    else gp_buf_put_i64(to, number);
}

static uint32_t labelled_child(struct gp_stacks *b, uint32_t parent, const struct gp_buf *label,
                               enum gp_frame_kind kind)
{
    return gp_calltree_child(&b->tree, parent, gp_stacks_plain_label(b, label->data, label->n), kind);
}

/* "[unattributed]", then the stream. */
static uint32_t place_unattributed(struct walk *w, size_t row)
{
    uint32_t track = w->t->events[GP_GPU].track[row];
    uint32_t node =
        gp_calltree_child(&w->b->tree, start_of_track(w, track),
                          gp_stacks_plain_label(w->b, GP_TEXT("[unattributed]")), GP_FRAME_UNATTRIBUTED);
    struct gp_buf label = {0};
    put_number(&label, "stream ", w->t->tracks.at[track].stream);
    node = labelled_child(w->b, node, &label, GP_FRAME_UNATTRIBUTED);
    gp_buf_release(&label);
    return node;
}

/* The node below NODE, which is HOST's or no host event's, for what is around the capture of a graph's
 * work. */
static uint32_t place_captured(struct walk *w, uint32_t node, uint32_t host, gp_sid captured, uint32_t stack)
{
    uint32_t path = gp_captured_path(&w->captured, captured, stack);
    uint64_t key = (uint64_t)node << 32 | path;
    uint32_t *known = gp_map_put(&w->place_of_captured, key, NO_NODE);
    if (*known != NO_NODE) return *known;
    const struct gp_captured_name *rest;
    size_t n = gp_captured_rest(&w->captured, host, path, &rest);
    for (size_t i = 0; i < n; i++)
        node = frame_below(w, node, make_label(w, rest[i].table, rest[i].text, rest[i].n), rest[i].kind);
    return *gp_map_put(&w->place_of_captured, key, NO_NODE) = node;
}

static int64_t weight_of_gpu(const struct walk *w, size_t row)
{
    const struct gp_events *gpu = &w->t->events[GP_GPU];
    int64_t bytes = 0;
    switch (w->b->opts.weight) {
    case GP_WEIGHT_COUNT: return 1;
    case GP_WEIGHT_BYTES: bytes = gp_get_bytes(gpu, row); return bytes > 0 ? bytes : 0;
    default: return gpu->dur_ns[row];
    }
}

/* The frame for all events that are too short for a separate frame. */
static enum gp_frame_kind kind_of_short(uint32_t kind)
{
    if (kind == GP_FRAME_MEMCPY || kind == GP_FRAME_MEMSET || kind == GP_FRAME_COMMUNICATION)
        return (enum gp_frame_kind)kind;
    return GP_FRAME_COMPUTE;
}

/* What is known of where the work of a track ran, as a name; NO_NODE for nothing. */
static gp_sid name_of_place(struct walk *w, uint32_t track)
{
    const struct gp_track *k = &w->t->tracks.at[track];
    int32_t rank = w->t->processes.at[k->process].rank;
    if (rank < 0) rank = w->t->rank;
    bool gpu = k->kind == GP_TRACK_STREAM;
    if (rank < 0 && !gpu) return NO_NODE;
    return gp_stacks_place(w->b, rank < 0 ? -1 : rank, gpu ? k->device : -1, gpu ? k->stream : -1);
}

/* The node below NODE that shows where the work of a track ran; NODE itself if unknown. */
static uint32_t place_of_work(struct walk *w, uint32_t node, uint32_t track)
{
    enum { NOT_ASKED = INT32_MAX };
    uint32_t *name = gp_map_put(&w->place_of_track, track, NOT_ASKED);
    if (*name == NOT_ASKED) *name = name_of_place(w, track);
    return *name == NO_NODE ? node : gp_calltree_child(&w->b->tree, node, *name, GP_FRAME_ROOT);
}

/* ---- stalls ---- */

static void ran_at(struct walk *w, gp_sid function, uint32_t node, int64_t ns)
{
    uint32_t *at = gp_map_put(&w->stalled_at, (uint64_t)function << 32 | node, (uint32_t)w->stalled.n);
    if (*at == w->stalled.n) GP_VEC_PUSH(&w->stalled, ((struct stalled){function, node, 0}));
    w->stalled.at[*at].ns += ns; /* as all durations of a table, they fit */
}

GP_COMPARE(by_function, struct stalled, GP_UP(function) GP_UP(node))

/* SAMPLES of those of ROW below NODE, by line and reason. */
static void add_stall(struct walk *w, uint32_t node, size_t row, int64_t samples)
{
    const struct gp_events *e = &w->t->events[GP_PC];
    const gp_sid reason = gp_get_series(e, row);
    struct gp_buf label = {0};
    if (gp_get_stack(e, row)) {
        const struct gp_stack *at = &w->t->stacks.at[gp_get_stack(e, row)];
        const char *file = gp_base_name(gp_trace_str(w->t, at->file));
        gp_buf_printf(&label, "%s:%u", file, (unsigned)at->line);
    } else gp_buf_printf(&label, "+0x%llx", (unsigned long long)gp_get_addr(e, row));
    node = labelled_child(w->b, node, &label, GP_FRAME_COMPUTE);
    label.n = 0;
    gp_buf_put(&label, gp_trace_str(w->t, reason), gp_string_len(&w->t->strings, reason));
    node = labelled_child(w->b, node, &label, GP_FRAME_COMPUTE);
    gp_calltree_add(&w->b->tree, node, samples);
    gp_buf_release(&label);
}

/* Samples are of a function; its stacks share them by their time, the last one what is left. */
static void add_stalls(struct walk *w)
{
    const struct gp_events *e = &w->t->events[GP_PC];
    struct gp_map first = {0};
    if (w->stalled.n) qsort(w->stalled.at, w->stalled.n, sizeof *w->stalled.at, by_function);
    for (size_t i = w->stalled.n; i-- > 0;) *gp_map_put(&first, w->stalled.at[i].function, 0) = (uint32_t)i;
    for (size_t row = 0; row < e->n; row++) {
        const uint32_t *from = gp_map_get(&first, e->name[row]);
        int64_t left = gp_get_total(e, row);
        double ns = 0;
        size_t end = from ? *from : 0;
        const char *reason = gp_trace_str(w->t, gp_get_series(e, row));
        if (left <= 0 || !strcmp(reason, "selected") || !strcmp(reason, "not_selected")) continue;
        if (!from) add_stall(w, w->top, row, left); /* no launch of it was recorded */
        for (; from && end < w->stalled.n && w->stalled.at[end].function == e->name[row]; end++)
            ns += (double)w->stalled.at[end].ns;
        for (size_t i = from ? *from : 0; i < end; i++) {
            const double part = ns > 0 ? (double)w->stalled.at[i].ns / ns : 0;
            const int64_t share = i + 1 < end ? (int64_t)((double)left * part) : left;
            if (share) add_stall(w, w->stalled.at[i].node, row, share);
            ns -= (double)w->stalled.at[i].ns;
            left -= share;
        }
    }
    gp_map_release(&first);
    gp_map_release(&w->stalled_at);
    GP_VEC_FREE(&w->stalled);
}

static void add_gpu_event(struct walk *w, size_t row)
{
    struct gp_stacks *b = w->b;
    const struct leaf *leaf = leaf_of(w, row);
    int64_t weight = weight_of_gpu(w, row);
    uint32_t host = w->v->at.node[row], node;
    if (host != GP_HOST_NONE) node = place_event(w, host);
    else {
        node = place_unattributed(w, row);
        b->stats.unattributed++;
        b->stats.unattributed_weight += weight <= INT64_MAX - b->stats.unattributed_weight ? weight : 0;
    }
    gp_sid captured = gp_get_captured(&w->t->events[GP_GPU], row);
    uint32_t stack = gp_get_stack(&w->t->events[GP_GPU], row);
    if (captured || stack) node = place_captured(w, node, host, captured, stack);
    bool is_short = w->t->events[GP_GPU].dur_ns[row] < b->opts.min_duration_ns;
    if (is_short) node = gp_calltree_child(&b->tree, node, b->short_label, kind_of_short(leaf->kind));
    else node = gp_calltree_child(&b->tree, node, leaf->label, (enum gp_frame_kind)leaf->kind);
    if (b->opts.places) node = place_of_work(w, node, w->t->events[GP_GPU].track[row]);
    if (b->opts.weight == GP_WEIGHT_STALLS) ran_at(w, gp_gpu_config(w->t, row)->name, node, weight);
    else gp_calltree_add(&b->tree, node, weight);
    if (b->opts.extra) {
        int64_t bytes = gp_get_bytes(&w->t->events[GP_GPU], row);
        gp_calltree_add_extra(&b->tree, node, (struct gp_calltree_extra){1, bytes > 0 ? bytes : 0});
    }
    b->stats.gpu_events++;
}

static int64_t device_of(const struct walk *w, size_t row)
{
    return w->t->tracks.at[w->t->events[GP_GPU].track[row]].device;
}

/* The rows of each device in turn, below a frame per device. */
static void add_gpu_by_device(struct walk *w, const int64_t *devices, size_t n)
{
    const struct gp_events *gpu = &w->t->events[GP_GPU];
    for (size_t d = 0; d < n; d++) {
        struct gp_buf label = {0};
        put_number(&label, "GPU ", devices[d]);
        w->device_top = labelled_child(w->b, w->top, &label, GP_FRAME_ROOT);
        gp_buf_release(&label);
        gp_host_memo_release(w->place); /* made anew below another node */
        for (size_t i = 0; i < gpu->n; i++)
            if (device_of(w, i) == devices[d]) add_gpu_event(w, i);
    }
}

/* More devices than any host has get no frames: a damaged file would cost a pass over the events for each. */
enum { MOST_DEVICES = 64 };

static void add_gpu(struct walk *w)
{
    const struct gp_events *gpu = &w->t->events[GP_GPU];
    int64_t devices[MOST_DEVICES + 1];
    size_t n = 0;
    for (size_t i = 0; i < gpu->n && n <= MOST_DEVICES && !w->process_frame; i++) {
        size_t k = 0;
        while (k < n && devices[k] != device_of(w, i)) k++;
        if (k == n) devices[n++] = device_of(w, i);
    }
    if (n > 1 && n <= MOST_DEVICES) {
        add_gpu_by_device(w, devices, n);
        return;
    }
    for (size_t i = 0; i < gpu->n; i++) add_gpu_event(w, i);
}

/* Time in hidden frames belongs to their ancestor; without one, it gets its own frame. */
static void add_cpu(struct walk *w)
{
    for (uint32_t i = 0; i < w->hs->n; i++) {
        if (w->hs->self_ns[i] <= 0) continue;
        uint32_t node = place_event(w, i);
        if (node == start_of_track(w, gp_host_track(w->hs, i)))
            node = gp_calltree_child(&w->b->tree, node, gp_stacks_plain_label(w->b, GP_TEXT("[not shown]")),
                                     GP_FRAME_UNATTRIBUTED);
        if (w->b->opts.places) node = place_of_work(w, node, gp_host_track(w->hs, i));
        gp_calltree_add(&w->b->tree, node, w->hs->self_ns[i]);
    }
}

/* ---- frames for ranks and processes ---- */

static void put_process(struct gp_buf *to, const struct gp_trace *t, const struct gp_process *p)
{
    if (p->rank >= 0) {
        put_number(to, "rank ", p->rank);
        return;
    }
    const char *name = p->name ? gp_trace_str(t, p->name) : "process";
    gp_buf_puts(to, name);
    gp_buf_putc(to, ' ');
    if (p->pid_text) gp_buf_puts(to, gp_trace_str(t, p->pid_text));
    else gp_buf_put_i64(to, p->pid);
}

/* Mark the processes whose host events launched GPU work or, with the CPU weight, are there. */
static void mark_processes(const struct walk *w, uint32_t *frame)
{
    if (w->b->opts.weight == GP_WEIGHT_CPU) {
        for (size_t k = 0; k < w->t->tracks.n; k++)
            if (w->hs->end[k] > w->hs->first[k]) frame[w->t->tracks.at[k].process] = GP_CALLTREE_ROOT;
        return;
    }
    for (size_t i = 0; i < w->t->events[GP_GPU].n; i++)
        if (w->v->at.node[i] != GP_HOST_NONE)
            frame[w->t->tracks.at[gp_host_track(w->hs, w->v->at.node[i])].process] = GP_CALLTREE_ROOT;
}

/* Give processes frames when the stacks come from more than one. */
static void frame_processes(struct walk *w)
{
    size_t n = w->t->processes.n, used = 0;
    uint32_t *frame = gp_alloc_ones(n * sizeof *frame);
    mark_processes(w, frame);
    for (size_t i = 0; i < n; i++) used += frame[i] != NO_NODE;
    if (used < 2) {
        free(frame);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        if (frame[i] == NO_NODE) continue;
        struct gp_buf label = {0};
        put_process(&label, w->t, &w->t->processes.at[i]);
        frame[i] = labelled_child(w->b, w->top, &label, GP_FRAME_ROOT);
        gp_buf_release(&label);
    }
    w->process_frame = frame;
}

/* ---- idle time ---- */

/* Places of the same host event differ by cause. */
struct idle {
    uint32_t device, top;                 /* the device at hand, and its node */
    uint32_t causes[GP_IDLE_CAUSE_COUNT]; /* nodes below it, NO_NODE: not made yet */
    struct gp_host_memo places[GP_IDLE_CAUSE_COUNT];
};

/* The process that launched work on a device; UINT32_MAX if unknown. */
static uint32_t process_of_device(const struct walk *w, const struct gp_view_device *d)
{
    for (size_t i = 0; i < d->n; i++) {
        uint32_t node = w->v->at.node[w->v->rows[d->first + i]];
        if (node != GP_HOST_NONE) return w->t->tracks.at[gp_host_track(w->hs, node)].process;
    }
    return UINT32_MAX;
}

/* Frames for the device: of its process, where there are several, and of itself. */
static void start_idle_device(struct walk *w, uint32_t device)
{
    const struct gp_view *v = w->v;
    const struct gp_view_device *d = &v->devices.at[device];
    bool several = false;
    for (size_t i = 1; i < v->devices.n && v->devices.n <= MOST_DEVICES; i++)
        several |= v->devices.at[i].producer != v->devices.at[0].producer;
    struct gp_buf label = {0};
    bool first = w->idle->device == UINT32_MAX;
    w->idle->device = device;
    if (!first && v->devices.n > MOST_DEVICES) return;
    w->idle->top = w->top;
    if (several) {
        uint32_t process = process_of_device(w, d);
        if (process != UINT32_MAX) put_process(&label, w->t, &w->t->processes.at[process]);
        else put_number(&label, "process ", d->producer);
        w->idle->top = labelled_child(w->b, w->idle->top, &label, GP_FRAME_ROOT);
        label.n = 0;
    }
    if (v->devices.n > 1 && v->devices.n <= MOST_DEVICES) {
        put_number(&label, "GPU ", d->device);
        w->idle->top = labelled_child(w->b, w->idle->top, &label, GP_FRAME_ROOT);
    }
    gp_buf_release(&label);
    memset(w->idle->causes, 0xff, sizeof w->idle->causes);
}

/* The node of a cause; the stacks of the device at hand start below it. */
static uint32_t place_cause(struct walk *w, enum gp_idle_cause cause)
{
    struct idle *idle = w->idle;
    if (idle->causes[cause] == NO_NODE) {
        struct gp_buf label = {0};
        const char *text = gp_idle_cause_text(cause);
        gp_buf_printf(&label, "idle: %s", text);
        gp_sid sid = gp_stacks_label(w->b, label.data, label.n, text, strlen(text));
        idle->causes[cause] = gp_calltree_child(&w->b->tree, idle->top, sid, GP_FRAME_IDLE);
        gp_buf_release(&label);
        gp_host_memo_release(&idle->places[cause]);
        idle->places[cause].hs = w->hs;
    }
    w->place = &idle->places[cause];
    w->device_top = idle->causes[cause];
    return w->device_top;
}

static void add_idle_piece(void *ctx, const struct gp_idle_piece *p)
{
    struct walk *w = ctx;
    if (p->device != w->idle->device) start_idle_device(w, p->device);
    uint32_t node = place_cause(w, p->cause);
    bool is_short = p->gap_end_ns - p->gap_begin_ns < w->b->opts.min_duration_ns;
    if (is_short) node = gp_calltree_child(&w->b->tree, node, w->b->short_label, GP_FRAME_IDLE);
    else if (p->node != GP_HOST_NONE) node = place_event(w, p->node);
    gp_calltree_add(&w->b->tree, node, p->end_ns - p->begin_ns);
}

static void add_idle(struct walk *w)
{
    struct idle idle = {.device = UINT32_MAX};
    struct gp_host_memo *place = w->place;
    w->idle = &idle;
    gp_idle_walk(w->v, add_idle_piece, w);
    for (int i = 0; i < GP_IDLE_CAUSE_COUNT; i++) gp_host_memo_release(&idle.places[i]);
    w->place = place;
    w->idle = NULL;
}

static uint32_t frame_of_trace(struct gp_stacks *b, const struct gp_trace *t)
{
    struct gp_buf label = {0};
    if (t->rank >= 0) put_number(&label, "rank ", t->rank);
    else gp_buf_puts(&label, t->input.path ? t->input.path : "trace");
    uint32_t node = labelled_child(b, GP_CALLTREE_ROOT, &label, GP_FRAME_ROOT);
    gp_buf_release(&label);
    return node;
}

/* ---- functions that only samples show ---- */

/* By stack: how many samples have it, and whether a call or range does. Those around a stack have what it
 * has. */
static void count_stacks(const struct gp_trace *t, uint64_t *samples, uint8_t *exact)
{
    static const enum gp_table tables[] = {GP_API, GP_RANGE};
    const struct gp_events *e = &t->events[GP_SAMPLE], *gpu = &t->events[GP_GPU];
    int64_t end = gpu->n ? gpu->start_ns[gpu->n - 1] + gpu->dur_ns[gpu->n - 1] : INT64_MAX;
    for (size_t i = 0; i < e->n; i++) {
        bool inside = !gpu->n || (e->start_ns[i] + e->dur_ns[i] >= gpu->start_ns[0] && e->start_ns[i] <= end);
        if (inside && gp_sample_stack(e, i) < t->stacks.n)
            samples[gp_sample_stack(e, i)] += 1 + (uint64_t)gp_get_total(e, i);
    }
    for (size_t k = 0; k < GP_COUNT(tables); k++) {
        e = &t->events[tables[k]];
        for (size_t i = 0; e->stack && i < e->n; i++)
            if (e->stack[i] < t->stacks.n) exact[e->stack[i]] = 1;
    }
    for (size_t i = t->stacks.n; i-- > 1;) {
        uint32_t parent = t->stacks.at[i].parent;
        if (parent >= i) continue;
        samples[parent] += samples[i];
        exact[parent] |= exact[i];
    }
}

/* Adds the samples to the labels of those functions. What calls itself counts once. */
static void mark_sampled(struct walk *w)
{
    const struct gp_trace *t = w->t;
    if (!t->events[GP_SAMPLE].n) return;
    struct gp_stack_tree tree;
    gp_stack_tree_build(&tree, t);
    uint64_t *samples = gp_zalloc((t->stacks.n + 1) * sizeof *samples);
    uint64_t *sum = gp_zalloc((tree.functions.n + 1) * sizeof *sum);
    uint8_t *exact = gp_zalloc(t->stacks.n + 1), *known = gp_zalloc(tree.functions.n + 1);
    count_stacks(t, samples, exact);
    for (size_t i = 1; i < t->stacks.n; i++) {
        const struct gp_stack_node *node = &tree.nodes.at[tree.node_of[i]];
        bool again = node->parent && tree.nodes.at[node->parent].function == node->function;
        if (!again) sum[node->function] += samples[i];
        known[node->function] |= exact[i];
    }
    for (uint32_t f = 0; f < tree.functions.n; f++) {
        struct gp_buf name = {0};
        if (known[f] || !sum[f]) continue;
        gp_stack_tree_name(&tree, f, &name);
        gp_sid label = make_label(w, GP_PYTHON, gp_buf_str(&name), name.n);
        w->b->labels.at[label].samples += sum[f];
        gp_buf_release(&name);
    }
    GP_RELEASE(free, samples, sum, exact, known);
    gp_stack_tree_release(&tree);
}

static void add_set(struct gp_stacks *b, const struct gp_view *v, const struct gp_backward *backward,
                    bool several)
{
    const struct gp_trace *t = v->t;
    struct gp_host_memo place = {.hs = &v->hs};
    struct walk w = {
        .b = b, .v = v, .t = t, .hs = &v->hs, .backward = backward, .place = &place, .module_of.hs = &v->hs};
    gp_captured_init(&w.captured, w.hs, w.b->opts.raw || w.b->opts.show_python_glue);
    w.top = w.device_top = several ? frame_of_trace(b, t) : GP_CALLTREE_ROOT;
    w.leaves = gp_zalloc((t->configs.n + 1) * sizeof *w.leaves);
    if (b->opts.weight != GP_WEIGHT_IDLE) frame_processes(&w);
    if (b->opts.weight == GP_WEIGHT_IDLE) add_idle(&w);
    else if (b->opts.weight == GP_WEIGHT_CPU) add_cpu(&w);
    else add_gpu(&w);
    if (b->opts.weight == GP_WEIGHT_STALLS) add_stalls(&w);
    mark_sampled(&w);
    b->stats.overlapping += w.hs->overlapping;
    b->stats.duplicate_corr += v->at.duplicate_corr;
    GP_RELEASE(gp_map_release, &w.labels, &w.place_of_track, &w.place_of_captured, &w.named,
               &w.place_of_module);
    gp_captured_release(&w.captured);
    GP_VEC_FREE(&w.modules);
    GP_RELEASE(gp_host_memo_release, &w.module_of, &place);
    GP_RELEASE(free, w.leaves, w.process_frame);
}

static void add_view(struct gp_stacks *const *b, size_t n, const struct gp_view *v, bool several)
{
    struct gp_backward backward;
    gp_backward_build(&backward, v->t, &v->hs);
    for (size_t i = 0; i < n; i++) add_set(b[i], v, &backward, several);
    gp_backward_release(&backward);
}

/* Only GPU events in the step windows, if there are any. */
static int add_steps(struct gp_stacks *const *b, size_t n, const struct gp_view *v, bool several,
                     struct gp_err *err)
{
    struct gp_steps steps;
    struct gp_focus f;
    int failed = gp_steps_find(&steps, v, b[0]->opts.step_marker, err);
    if (!failed) {
        add_view(b, n, gp_focus_make(&f, v, &steps) ? &f.view : v, several);
        for (size_t i = 0; i < n; i++) {
            b[i]->stats.steps += f.steps;
            b[i]->stats.steps_ns += f.span_ns;
            b[i]->stats.outside_ns += f.outside_ns;
            if (f.slowest.mean_ns <= b[i]->stats.slowest.mean_ns) continue;
            b[i]->stats.slowest = f.slowest;
            b[i]->stats.added = f.added;
        }
        gp_focus_release(&f);
    }
    gp_steps_release(&steps);
    return failed;
}

int gp_stacks_add_trace(struct gp_stacks *const *b, size_t n, const struct gp_trace *t, bool several,
                        struct gp_err *err)
{
    struct gp_view v;
    bool self = false;
    int failed = 0;
    if (!n) return 0;
    for (size_t i = 0; i < n; i++) self |= b[i]->opts.weight == GP_WEIGHT_CPU;
    if (self) gp_host_stack_build_self(&v.hs, t);
    else gp_host_stack_build(&v.hs, t);
    gp_view_init_on(&v, t, b[0]->opts.classes);
    if (b[0]->opts.steps) failed = add_steps(b, n, &v, several, err);
    else add_view(b, n, &v, several);
    gp_view_release(&v);
    return failed;
}
