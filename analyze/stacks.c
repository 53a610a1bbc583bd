#include "analyze/stacks.h"

#include <inttypes.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "analyze/attribute.h"
#include "analyze/backward.h"
#include "analyze/calltree_shape.h"
#include "analyze/classify.h"
#include "analyze/host_stack.h"
#include "analyze/names.h"
#include "analyze/stackset.h"
#include "formats/base/buf.h"
#include "formats/base/map.h"

const char *gp_weight_name(enum gp_weight w)
{
    static const char *const names[] = {
#define X(id, name, unit, text) name,
        GP_WEIGHTS(X)
#undef X
    };
    return names[w];
}

const char *gp_weight_unit(enum gp_weight w)
{
    static const char *const units[] = {
#define X(id, name, unit, text) unit,
        GP_WEIGHTS(X)
#undef X
    };
    return units[w];
}

const char *gp_weight_text(enum gp_weight w)
{
    static const char *const texts[] = {
#define X(id, name, unit, text) text,
        GP_WEIGHTS(X)
#undef X
    };
    return texts[w];
}

/* What is known of a label. */
struct label_info {
    gp_sid full;         /* the first full name */
    uint32_t full_count; /* different full names; 0: it came as it is */
    bool seen;           /* the filter was asked about it */
    bool wanted;         /* and matches it or one of its full names */
};

struct gp_stacks {
    struct gp_stacks_opts opts;
    bool has_filter;
    regex_t filter;
    struct gp_calltree tree;
    struct gp_strings strings;
    GP_VEC(struct label_info) labels; /* by sid */
    struct gp_map pairs;              /* label << 32 | full name: met before */
    struct gp_stackset folded;
    GP_VEC(gp_sid) names; /* scratch of add_folded */
    gp_sid short_label;   /* "[shorter than 10 us]", 0: no limit */
    struct gp_stacks_stats stats;
};

/* ---- labels ---- */

static struct label_info *info_of(struct gp_stacks *b, gp_sid label)
{
    GP_VEC_RESERVE(&b->labels, (size_t)label + 1);
    while (b->labels.n <= label) b->labels.at[b->labels.n++] = (struct label_info){0};
    return &b->labels.at[label];
}

static bool filter_matches(struct gp_stacks *b, gp_sid text)
{
    return !regexec(&b->filter, gp_string(&b->strings, text), 0, NULL, 0);
}

/* The label for N bytes at TEXT. FULL is the name that it was made from. */
static gp_sid add_label(struct gp_stacks *b, const char *text, size_t n, const char *full, size_t full_n)
{
    gp_sid label = gp_intern(&b->strings, text, n), whole = gp_intern(&b->strings, full, full_n);
    uint32_t *met = gp_map_put(&b->pairs, (uint64_t)label << 32 | whole, 0);
    if (*met) return label;
    *met = 1;
    struct label_info *info = info_of(b, label);
    if (!info->full_count++) info->full = whole;
    if (b->has_filter && !info->wanted) info->wanted = filter_matches(b, label) || filter_matches(b, whole);
    info->seen = true;
    return label;
}

static gp_sid plain_label(struct gp_stacks *b, const char *text, size_t n)
{
    return add_label(b, text, n, text, n);
}

static void put_duration(char *to, size_t n, int64_t ns)
{
    if (ns % 1000000000 == 0) snprintf(to, n, "%" PRId64 " s", ns / 1000000000);
    else if (ns % 1000000 == 0) snprintf(to, n, "%" PRId64 " ms", ns / 1000000);
    else if (ns % 1000 == 0) snprintf(to, n, "%" PRId64 " us", ns / 1000);
    else snprintf(to, n, "%" PRId64 " ns", ns);
}

/* ---- making and freeing ---- */

struct gp_stacks *gp_stacks_new(const struct gp_stacks_opts *opts, struct gp_err *err)
{
    struct gp_stacks *b = gp_zalloc(sizeof *b);
    b->opts = *opts;
    b->opts.filter = NULL;
    if (opts->filter) {
        int flags = REG_EXTENDED | REG_NOSUB | (opts->filter_ignore_case ? REG_ICASE : 0);
        int rc = regcomp(&b->filter, opts->filter, flags);
        if (rc) {
            char why[128];
            regerror(rc, &b->filter, why, sizeof why);
            gp_fail(err, GP_E_USAGE, -1, "bad regular expression '%s': %s", opts->filter, why);
            free(b);
            return NULL;
        }
        b->has_filter = true;
    }
    if (opts->min_duration_ns > 0) {
        char limit[40], text[64];
        put_duration(limit, sizeof limit, opts->min_duration_ns);
        snprintf(text, sizeof text, "[shorter than %s]", limit);
        b->short_label = plain_label(b, text, strlen(text));
    }
    return b;
}

void gp_stacks_free(struct gp_stacks *b)
{
    if (!b) return;
    if (b->has_filter) regfree(&b->filter);
    gp_calltree_release(&b->tree);
    gp_strings_release(&b->strings);
    GP_VEC_FREE(&b->labels);
    gp_map_release(&b->pairs);
    gp_stackset_release(&b->folded);
    GP_VEC_FREE(&b->names);
    free(b);
}

/* ---- one trace ---- */

/* What a GPU event of a config is drawn as. */
struct leaf {
    gp_sid label;
    uint32_t kind; /* enum gp_frame_kind */
    bool known;
};

struct walk {
    struct gp_stacks *b;
    const struct gp_trace *t;
    struct gp_host_stack hs;
    struct gp_attribution at;
    struct gp_backward backward;
    uint32_t top;             /* the node that everything of this trace lies below */
    uint32_t *place;          /* by host event: its node in the tree, NO_NODE: not made yet */
    struct leaf *leaves;      /* by config */
    struct gp_map named;      /* record kind << 32 | name -> the first config with both */
    struct gp_map labels;     /* table << 32 | name -> label */
    uint32_t *process_frame;  /* by process: its node below top; NULL: no process frames */
    uint32_t device_top;      /* the node of the device at hand, or top */
    GP_VEC(uint32_t) chain;   /* scratch of place_event */
    GP_VEC(uint32_t) modules; /* scratch of frames_of_modules */
};

#define NO_NODE UINT32_MAX

static gp_sid label_of_config(struct walk *w, const struct gp_config *c)
{
    struct gp_buf full = {0}, label = {0};
    gp_name_demangle(&full, gp_trace_str(w->t, c->name), gp_string_len(&w->t->strings, c->name));
    if (w->b->opts.raw || c->kind != GP_KERNEL) gp_buf_put(&label, full.data, full.n);
    else gp_name_kernel_label(&label, full.data, full.n);
    if (!label.n) gp_buf_puts(&label, "[no name]");
    gp_sid sid = add_label(w->b, label.data, label.n, full.n ? full.data : "", full.n);
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
        leaf->kind = gp_classify(w->b->opts.classes, (enum gp_gpu_kind)c->kind, gp_trace_str(w->t, c->name),
                                 gp_string_len(&w->t->strings, c->name));
        leaf->known = true;
    }
    return leaf;
}

static gp_sid label_of_host(struct walk *w, enum gp_table table, gp_sid name)
{
    uint32_t *known = gp_map_put(&w->labels, (uint64_t)table << 32 | name, NO_NODE);
    if (*known != NO_NODE) return *known;
    const char *text = gp_trace_str(w->t, name);
    size_t n = gp_string_len(&w->t->strings, name);
    struct gp_buf label = {0};
    if (w->b->opts.raw) gp_buf_put(&label, text, n);
    else if (table == GP_RANGE) gp_name_range_label(&label, text, n);
    else if (table == GP_PYTHON) gp_name_python_label(&label, text, n);
    else if (table == GP_OP) gp_name_op_label(&label, text, n);
    else gp_buf_put(&label, text, n);
    if (!label.n) gp_buf_puts(&label, "[no name]");
    gp_sid sid = add_label(w->b, label.data, label.n, text, n);
    *gp_map_put(&w->labels, (uint64_t)table << 32 | name, NO_NODE) = sid;
    gp_buf_release(&label);
    return sid;
}

/* A graph's launch is the only thing that its kernels have in common: it is always shown. */
static bool launches_graph(const char *name)
{
    return strstr(name, "GraphLaunch") != NULL;
}

static bool is_hidden(const struct walk *w, const struct gp_host_event *ev, gp_sid name)
{
    const struct gp_stacks_opts *o = &w->b->opts;
    const char *text = gp_trace_str(w->t, name);
    if (o->weight == GP_WEIGHT_CPU) {
        if (w->t->events[ev->table].dur_ns[ev->row] < o->min_duration_ns) return true;
    } else if (ev->table == GP_API) return !o->show_api && !launches_graph(text);
    return ev->table == GP_PYTHON && !o->raw && !o->show_python_glue &&
           gp_name_is_glue(text, gp_string_len(&w->t->strings, name));
}

static enum gp_frame_kind kind_of_host(const struct walk *w, const struct gp_host_event *ev, gp_sid name)
{
    switch (ev->table) {
    case GP_RANGE:
        return GP_FRAME_RANGE;
    case GP_OP:
        return GP_FRAME_OP;
    case GP_API:
        return GP_FRAME_API;
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

/* A frame below NODE. Something that calls itself by the same name is one frame, unless all is shown as recorded. */
static uint32_t frame_below(struct walk *w, uint32_t node, gp_sid label, enum gp_frame_kind kind)
{
    const struct gp_calltree *tree = &w->b->tree;
    if (!w->b->opts.raw && node < tree->nodes.n && tree->nodes.at[node].name == label &&
        tree->nodes.at[node].kind == (uint32_t)kind && node != GP_CALLTREE_ROOT)
        return node;
    return gp_calltree_child(&w->b->tree, node, label, kind);
}

/* The modules around a host event, outermost first. */
static uint32_t frames_of_modules(struct walk *w, uint32_t node, uint32_t id)
{
    size_t begin = w->modules.n;
    for (; id != GP_HOST_NONE; id = w->hs.nodes[id].parent)
        if (w->hs.nodes[id].table == GP_PYTHON) GP_VEC_PUSH(&w->modules, id);
    while (w->modules.n > begin) {
        const struct gp_host_event *ev = &w->hs.nodes[w->modules.at[--w->modules.n]];
        gp_sid name = w->t->events[GP_PYTHON].name[ev->row];
        if (kind_of_host(w, ev, name) == GP_FRAME_MODULE)
            node = frame_below(w, node, label_of_host(w, GP_PYTHON, name), GP_FRAME_MODULE);
    }
    return node;
}

/* The backward pass has its own threads, where neither ranges nor modules tell what it is: "backward" does, and the
 * modules of the forward operator. */
static uint32_t frames_of_backward(struct walk *w, uint32_t node, uint32_t id)
{
    node = frame_below(w, node, plain_label(w->b, "backward", strlen("backward")), GP_FRAME_RANGE);
    uint32_t forward = gp_backward_origin(&w->backward, id);
    return forward == GP_HOST_NONE ? node : frames_of_modules(w, node, forward);
}

/* The frame of a host event below NODE; NODE itself for one that is not shown. */
static uint32_t frame_of_event(struct walk *w, uint32_t node, uint32_t id)
{
    const struct gp_host_event *ev = &w->hs.nodes[id];
    gp_sid name = w->t->events[ev->table].name[ev->row];
    if (is_hidden(w, ev, name)) return node;
    if (ev->table == GP_OP && !w->b->opts.raw &&
        gp_name_is_backward(gp_trace_str(w->t, name), gp_string_len(&w->t->strings, name)))
        node = frames_of_backward(w, node, id);
    return frame_below(w, node, label_of_host(w, (enum gp_table)ev->table, name), kind_of_host(w, ev, name));
}

/* The tree node of a host event: those of the events around it first. */
static uint32_t place_event(struct walk *w, uint32_t id)
{
    w->chain.n = 0;
    uint32_t top = id;
    while (w->place[top] == NO_NODE) {
        GP_VEC_PUSH(&w->chain, top);
        if (w->hs.nodes[top].parent == GP_HOST_NONE) break;
        top = w->hs.nodes[top].parent;
    }
    uint32_t node = w->place[top] == NO_NODE ? start_of_track(w, w->hs.nodes[top].track) : w->place[top];
    while (w->chain.n) {
        uint32_t k = w->chain.at[--w->chain.n];
        node = w->place[k] = frame_of_event(w, node, k);
    }
    return node;
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
    return gp_calltree_child(&b->tree, parent, plain_label(b, label->data, label->n), kind);
}

/* "[unattributed]", then the stream. */
static uint32_t place_unattributed(struct walk *w, size_t row)
{
    uint32_t track = w->t->events[GP_GPU].track[row];
    uint32_t node = gp_calltree_child(&w->b->tree, start_of_track(w, track),
                                      plain_label(w->b, "[unattributed]", strlen("[unattributed]")),
                                      GP_FRAME_UNATTRIBUTED);
    struct gp_buf label = {0};
    put_number(&label, "stream ", w->t->tracks.at[track].stream);
    node = labelled_child(w->b, node, &label, GP_FRAME_UNATTRIBUTED);
    gp_buf_release(&label);
    return node;
}

static int64_t weight_of_gpu(const struct walk *w, size_t row)
{
    const struct gp_events *gpu = &w->t->events[GP_GPU];
    int64_t bytes = 0;
    switch (w->b->opts.weight) {
    case GP_WEIGHT_COUNT:
        return 1;
    case GP_WEIGHT_BYTES:
        bytes = gp_get_bytes(gpu, row);
        return bytes > 0 ? bytes : 0;
    default:
        return gpu->dur_ns[row];
    }
}

/* What all events that are too short for a frame of their own are drawn as. */
static enum gp_frame_kind kind_of_short(uint32_t kind)
{
    if (kind == GP_FRAME_MEMCPY || kind == GP_FRAME_MEMSET || kind == GP_FRAME_COMMUNICATION)
        return (enum gp_frame_kind)kind;
    return GP_FRAME_COMPUTE;
}

static void add_gpu_event(struct walk *w, size_t row)
{
    struct gp_stacks *b = w->b;
    const struct leaf *leaf = leaf_of(w, row);
    int64_t weight = weight_of_gpu(w, row);
    uint32_t host = w->at.node[row], node;
    if (host != GP_HOST_NONE) node = place_event(w, host);
    else {
        node = place_unattributed(w, row);
        b->stats.unattributed++;
        b->stats.unattributed_weight += weight <= INT64_MAX - b->stats.unattributed_weight ? weight : 0;
    }
    bool is_short = w->t->events[GP_GPU].dur_ns[row] < b->opts.min_duration_ns;
    if (is_short) node = gp_calltree_child(&b->tree, node, b->short_label, kind_of_short(leaf->kind));
    else node = gp_calltree_child(&b->tree, node, leaf->label, (enum gp_frame_kind)leaf->kind);
    gp_calltree_add(&b->tree, node, weight);
    b->stats.gpu_events++;
}

static void forget_places(struct walk *w)
{
    memset(w->place, 0xff, w->hs.n * sizeof *w->place);
}

static int64_t device_of(const struct walk *w, size_t row)
{
    return w->t->tracks.at[w->t->events[GP_GPU].track[row]].device;
}

/* The rows of each device in turn, below a frame of its own. */
static void add_gpu_by_device(struct walk *w, const int64_t *devices, size_t n)
{
    const struct gp_events *gpu = &w->t->events[GP_GPU];
    for (size_t d = 0; d < n; d++) {
        struct gp_buf label = {0};
        put_number(&label, "GPU ", devices[d]);
        w->device_top = labelled_child(w->b, w->top, &label, GP_FRAME_ROOT);
        gp_buf_release(&label);
        forget_places(w);
        for (size_t i = 0; i < gpu->n; i++)
            if (device_of(w, i) == devices[d]) add_gpu_event(w, i);
    }
}

/* More devices than any host has get no frames: a damaged file would make one pass over the events for each.
 */
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

static void add_cpu(struct walk *w)
{
    for (uint32_t i = 0; i < w->hs.n; i++)
        if (w->hs.nodes[i].self_ns > 0)
            gp_calltree_add(&w->b->tree, place_event(w, i), w->hs.nodes[i].self_ns);
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

/* Give processes frames when host events of more than one are there. */
static void frame_processes(struct walk *w)
{
    size_t n = w->t->processes.n, used = 0;
    uint32_t *frame = gp_alloc(n * sizeof *frame);
    memset(frame, 0xff, n * sizeof *frame);
    for (size_t k = 0; k < w->t->tracks.n; k++) {
        uint32_t process = w->t->tracks.at[k].process;
        if (w->hs.first[k + 1] == w->hs.first[k] || frame[process] != NO_NODE) continue;
        frame[process] = GP_CALLTREE_ROOT;
        used++;
    }
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

static uint32_t frame_of_trace(struct gp_stacks *b, const struct gp_trace *t)
{
    struct gp_buf label = {0};
    if (t->rank >= 0) put_number(&label, "rank ", t->rank);
    else gp_buf_puts(&label, t->input.path ? t->input.path : "trace");
    uint32_t node = labelled_child(b, GP_CALLTREE_ROOT, &label, GP_FRAME_ROOT);
    gp_buf_release(&label);
    return node;
}

void gp_stacks_add_trace(struct gp_stacks *b, const struct gp_trace *t, bool several)
{
    struct walk w = {.b = b, .t = t};
    gp_host_stack_build(&w.hs, t);
    gp_attribute(&w.at, t, &w.hs);
    gp_backward_build(&w.backward, t, &w.hs);
    w.top = w.device_top = several ? frame_of_trace(b, t) : GP_CALLTREE_ROOT;
    w.place = gp_alloc(w.hs.n * sizeof *w.place);
    w.leaves = gp_zalloc((t->configs.n + 1) * sizeof *w.leaves);
    forget_places(&w);
    frame_processes(&w);
    if (b->opts.weight == GP_WEIGHT_CPU) add_cpu(&w);
    else add_gpu(&w);
    b->stats.overlapping += w.hs.overlapping;
    b->stats.duplicate_corr += w.at.duplicate_corr;
    gp_backward_release(&w.backward);
    gp_attribution_release(&w.at);
    gp_host_stack_release(&w.hs);
    gp_map_release(&w.labels);
    gp_map_release(&w.named);
    GP_VEC_FREE(&w.chain);
    GP_VEC_FREE(&w.modules);
    free(w.place);
    free(w.leaves);
    free(w.process_frame);
}

/* ---- folded text ---- */

static bool is_wanted(struct gp_stacks *b, gp_sid name)
{
    struct label_info *info = info_of(b, name);
    if (!info->seen) info->wanted = filter_matches(b, name);
    info->seen = true;
    return info->wanted;
}

/* What gp_shape_stack does, for the many. False: leave it out. */
static bool shape_folded(struct gp_stacks *b)
{
    bool wanted = !b->has_filter;
    size_t n = b->names.n;
    for (size_t i = 0; i < n && !wanted; i++) wanted = is_wanted(b, b->names.at[i]);
    for (size_t i = 0; b->opts.invert && i < n / 2; i++) {
        gp_sid s = b->names.at[i];
        b->names.at[i] = b->names.at[n - 1 - i];
        b->names.at[n - 1 - i] = s;
    }
    if (b->opts.max_depth && n > b->opts.max_depth) b->names.n = b->opts.max_depth;
    return wanted;
}

void gp_stacks_add_folded(struct gp_stacks *b, const char *line, size_t n, int64_t weight)
{
    b->names.n = 0;
    for (size_t i = 0; i < n;) {
        const char *sep = memchr(line + i, ';', n - i);
        size_t end = sep ? (size_t)(sep - line) : n;
        if (end > i) GP_VEC_PUSH(&b->names, gp_intern(&b->strings, line + i, end - i));
        i = end + 1;
    }
    if (shape_folded(b)) gp_stackset_add(&b->folded, b->names.at, b->names.n, weight);
    else b->stats.filtered++;
}

/* ---- the result ---- */

static void shape_tree(struct gp_stacks *b)
{
    if (!b->tree.nodes.n) return;
    uint8_t *wanted = b->has_filter ? gp_alloc(b->labels.n) : NULL;
    for (size_t i = 0; wanted && i < b->labels.n; i++) wanted[i] = b->labels.at[i].wanted;
    struct gp_shape shape = {wanted, (uint32_t)b->labels.n, b->opts.invert, b->opts.max_depth};
    if (!wanted && !shape.invert && !shape.max_depth) return;
    struct gp_calltree shaped = {0};
    b->stats.filtered += gp_calltree_reshape(&b->tree, &shape, &shaped);
    gp_calltree_release(&b->tree);
    b->tree = shaped;
    free(wanted);
}

static void take_names(struct gp_stacks *b, struct gp_flame *out)
{
    out->full_n = (uint32_t)b->labels.n;
    out->full = gp_alloc(b->labels.n * sizeof *out->full);
    out->full_count = gp_alloc(b->labels.n * sizeof *out->full_count);
    for (size_t i = 0; i < b->labels.n; i++) {
        const struct label_info *info = &b->labels.at[i];
        out->full[i] = info->full == i && info->full_count == 1 ? 0 : info->full;
        out->full_count[i] = b->labels.at[i].full_count;
    }
}

void gp_stacks_finish(struct gp_stacks *b, size_t max_nodes, struct gp_flame *out)
{
    memset(out, 0, sizeof *out);
    shape_tree(b);
    gp_stackset_expand(&b->folded, max_nodes, &b->tree, &b->strings);
    gp_calltree_finish(&b->tree, &b->strings);
    if (b->opts.group_small_pct > 0) {
        struct gp_calltree grouped = {0};
        gp_calltree_group_small(&b->tree, b->opts.group_small_pct, &b->strings, &grouped);
        gp_calltree_finish(&grouped, &b->strings);
        gp_calltree_release(&b->tree);
        b->tree = grouped;
    }
    take_names(b, out);
    out->tree = b->tree;
    out->strings = b->strings;
    out->weight = b->opts.weight;
    out->stats = b->stats;
    memset(&b->tree, 0, sizeof b->tree);
    memset(&b->strings, 0, sizeof b->strings);
    gp_stacks_free(b);
}

void gp_flame_release(struct gp_flame *f)
{
    gp_calltree_release(&f->tree);
    gp_strings_release(&f->strings);
    free(f->full);
    free(f->full_count);
    memset(f, 0, sizeof *f);
}
