/* The memory events of a trace as histories of allocators: one per process, device and kind of memory. */
#include <stdlib.h>
#include <string.h>
#include "analyze/math/sums.h"
#include "analyze/memory/memory_priv.h"
#include "analyze/names/args.h"
#include "analyze/names/names.h"
#include "analyze/view/backward.h"
#include "analyze/view/host_stack.h"
#include "formats/base/buf.h"
#include "formats/base/num.h"
#include "formats/base/str.h"

enum { GROUPS_MOST = 256, DEPTH_MOST = 128 };
#define SIZE_MOST  ((int64_t)1 << 48)
#define TOTAL_MOST ((int64_t)1 << 60)

/* A process's memory of one kind on one device. */
struct group {
    uint32_t process;
    int32_t device; /* -1: the host */
    gp_sid kind;    /* of the trace; 0: an allocator's */
    struct gp_snapshot *s;
    int64_t base, reserved, last_total, total_size;
    bool begun;
    struct gp_map frame_of_name; /* (table, name) -> index + 1 */
    struct gp_map stack_of_node; /* host node -> index + 1 */
    struct gp_map stack_of_hash;
};

struct adding {
    struct gp_memory *m;
    const struct gp_trace *t;
    struct gp_host_stack hs;
    struct gp_backward bw;
    int64_t to_unix_ns;
    GP_VEC(struct group) groups;
    struct gp_map group_of; /* (process, args) -> index */
};

/* ---- time ---- */

/* Offset from times of T to Unix time; 0 if unknown. */
static int64_t unix_offset(const struct gp_trace *t)
{
    const char *text = gp_trace_get_meta(t, "baseTimeNanoseconds");
    int64_t base = 0;
    if (text && gp_i64_from_text(text, strlen(text), &base) && base > 0 && base < INT64_MAX / 2) return base;
    if (!t->clocks.n) return 0;
    int64_t a = t->clocks.at[0].realtime_ns, b = t->clocks.at[0].trace_ns;
    return a > 0 && b > INT64_MIN / 2 && b < INT64_MAX / 2 ? a - b : 0;
}

/* ---- groups ---- */

static gp_sid kind_of_memory(const char *args, struct gp_strings *to)
{
    struct gp_arg a;
    bool pool = false;
    struct gp_buf b = {0};
    for (const char *at = args; gp_args_next(&at, &a);) {
        if (gp_arg_is(&a, "Memory")) gp_buf_put(&b, a.value, a.n);
        pool |= gp_arg_is(&a, "Pool");
    }
    if (pool) gp_buf_puts(&b, " pool");
    gp_sid sid = b.n ? gp_intern(to, b.data, b.n) : 0;
    gp_buf_release(&b);
    return sid;
}

static struct gp_snapshot *new_history(void)
{
    struct gp_snapshot *s = gp_zalloc(sizeof *s);
    gp_intern(&s->strings, "", 0);
    GP_VEC_PUSH(&s->stacks, (struct gp_snapshot_stack){0, 0});
    GP_VEC_PUSH(&s->contexts, (struct gp_snapshot_context){0});
    GP_VEC_PUSH(&s->streams, 0);
    s->sizes_are_real = true;
    return s;
}

/* NULL: there are too many. */
static struct group *group_of(struct adding *a, uint32_t row)
{
    const struct gp_events *e = &a->t->events[GP_MEMORY];
    uint32_t process = a->t->tracks.at[e->track[row]].process;
    gp_sid args = gp_get_extra(e, row);
    uint32_t *known = gp_map_put(&a->group_of, (uint64_t)process << 32 | args, UINT32_MAX);
    if (*known != UINT32_MAX) return *known < GROUPS_MOST ? &a->groups.at[*known] : NULL;
    int64_t device = gp_memory_device(gp_trace_str(a->t, args));
    gp_sid kind = kind_of_memory(gp_trace_str(a->t, args), &a->m->strings);
    size_t i = 0;
    for (; i < a->groups.n; i++) {
        const struct group *g = &a->groups.at[i];
        if (g->process == process && g->device == device && g->kind == kind) break;
    }
    *known = i < GROUPS_MOST ? (uint32_t)i : GROUPS_MOST;
    if (i == GROUPS_MOST) return NULL;
    if (i == a->groups.n) {
        struct group fresh = {
            .process = process, .device = (int32_t)device, .kind = kind, .s = new_history()};
        GP_VEC_PUSH(&a->groups, fresh);
    }
    return &a->groups.at[i];
}

/* ---- stacks ---- */

/* "torch/nn/modules/linear.py(134): forward" in its parts. */
static void split_python(struct gp_snapshot *s, const char *name, size_t n, struct gp_snapshot_frame *f)
{
    const char *open = memchr(name, '(', n), *close = open ? strstr(open, "): ") : NULL;
    uint64_t line;
    if (!close || !gp_u64_from_text(open + 1, (size_t)(close - open - 1), &line)) {
        f->name = gp_intern(&s->strings, name, n);
        return;
    }
    f->file = gp_intern(&s->strings, name, (size_t)(open - name));
    f->line = line > 0 && line <= INT32_MAX ? (int32_t)line : -1;
    f->name = gp_intern(&s->strings, close + 3, n - (size_t)(close + 3 - name));
}

static struct gp_snapshot_frame make_frame(struct gp_snapshot *s, enum gp_table table, const char *name,
                                           size_t n)
{
    struct gp_snapshot_frame f = {.line = -1};
    struct gp_buf b = {0};
    if (table == GP_PYTHON && !gp_name_is_module(name, n)) {
        split_python(s, name, n, &f);
        return f;
    }
    if (table == GP_OP) gp_buf_put(&b, name, n);
    else gp_name_label(&b, table, name, n);
    f.kind = table == GP_PYTHON ? GP_SNAP_MODULE : table == GP_RANGE ? GP_SNAP_RANGE : GP_SNAP_OP;
    f.name = gp_intern_buf(&s->strings, &b);
    return f;
}

static uint32_t frame_of(struct adding *a, struct group *g, const struct gp_host_event *node)
{
    gp_sid name = a->t->events[node->table].name[node->row];
    uint32_t *known = gp_map_put(&g->frame_of_name, (uint64_t)node->table << 32 | name, 0);
    if (*known) return *known - 1;
    struct gp_snapshot_frame f = make_frame(g->s, (enum gp_table)node->table, gp_trace_str(a->t, name),
                                            gp_string_len(&a->t->strings, name));
    GP_VEC_PUSH(&g->s->frames, f);
    *known = (uint32_t)g->s->frames.n;
    return *known - 1;
}

static bool is_shown(const struct gp_trace *t, const struct gp_host_event *node)
{
    gp_sid name = t->events[node->table].name[node->row];
    return node->table != GP_PYTHON ||
           !gp_name_is_glue(gp_trace_str(t, name), gp_string_len(&t->strings, name));
}

/* What was running, innermost first; behind a node of the backward pass what its forward operator was in. */
static uint32_t stack_of(struct adding *a, struct group *g, uint32_t node)
{
    uint32_t frames[DEPTH_MOST], n = 0;
    if (node == GP_HOST_NONE) return 0;
    uint32_t *known = gp_map_put(&g->stack_of_node, node, UINT32_MAX);
    if (*known != UINT32_MAX) return *known;
    uint32_t backward = GP_HOST_NONE;
    bool python = false;
    for (uint32_t i = node; i != GP_HOST_NONE && n < DEPTH_MOST; i = a->hs.nodes[i].parent) {
        const struct gp_host_event *e = &a->hs.nodes[i];
        python |= e->table == GP_PYTHON;
        if (e->table == GP_OP) backward = i;
        if (is_shown(a->t, e)) frames[n++] = frame_of(a, g, e);
    }
    uint32_t origin =
        python || backward == GP_HOST_NONE ? GP_HOST_NONE : gp_backward_origin(&a->bw, backward);
    for (; origin != GP_HOST_NONE && n < DEPTH_MOST; origin = a->hs.nodes[origin].parent) {
        const struct gp_host_event *e = &a->hs.nodes[origin];
        if (e->table != GP_RANGE && is_shown(a->t, e)) frames[n++] = frame_of(a, g, e);
    }
    uint32_t stack = gp_snapshot_stack(g->s, &g->stack_of_hash, frames, n);
    *gp_map_put(&g->stack_of_node, node, UINT32_MAX) = stack;
    return stack;
}

/* STACK below the library that asked for the memory, if the args of the row name one. */
static uint32_t below_source(struct adding *a, struct group *g, uint32_t stack, gp_sid args)
{
    uint32_t frames[DEPTH_MOST], n = 0;
    struct gp_arg arg;
    bool found = false;
    for (const char *at = gp_trace_str(a->t, args); !found && gp_args_next(&at, &arg);)
        found = gp_arg_is(&arg, "Source") && arg.n;
    if (!found) return stack;
    struct gp_snapshot_frame f = {
        .line = -1, .kind = GP_SNAP_OP, .name = gp_intern(&g->s->strings, arg.value, arg.n)};
    uint32_t *known = gp_map_put(&g->frame_of_name, UINT64_MAX - f.name, 0);
    if (!*known) {
        GP_VEC_PUSH(&g->s->frames, f);
        *known = (uint32_t)g->s->frames.n;
    }
    frames[n++] = *known - 1;
    const struct gp_snapshot_stack *s = &g->s->stacks.at[stack];
    for (uint32_t i = 0; i < s->n && n < DEPTH_MOST; i++) frames[n++] = g->s->stack_frames.at[s->first + i];
    return gp_snapshot_stack(g->s, &g->stack_of_hash, frames, n);
}

/* ---- rows ---- */

static void put_row(struct group *g, uint8_t action, uint64_t addr, int64_t size, int64_t time_ns,
                    uint32_t stack)
{
    struct gp_snapshot_rows *r = &g->s->rows;
    size_t i = gp_snapshot_add_row(r);
    r->action[i] = action;
    r->addr[i] = addr;
    r->size[i] = size;
    r->time_ns[i] = time_ns;
    r->stack[i] = stack;
}

/* The row of the trace where nothing else is known to be wrong with it. */
static bool is_usable(struct group *g, int64_t bytes)
{
    int64_t size = bytes < 0 ? -(bytes + 1) : bytes;
    if (!bytes || size > SIZE_MOST || size > TOTAL_MOST - g->total_size) return false;
    g->total_size += size;
    return true;
}

static void add_row(struct adding *a, uint32_t row)
{
    const struct gp_events *e = &a->t->events[GP_MEMORY];
    struct group *g = group_of(a, row);
    int64_t bytes = gp_get_bytes(e, row), total = gp_get_total(e, row), reserved = gp_get_reserved(e, row);
    int64_t time_ns = e->start_ns[row];
    if (!g || !is_usable(g, bytes)) return;
    if (time_ns < INT64_MAX / 2 && time_ns > INT64_MIN / 2) time_ns += a->to_unix_ns;
    bool allocator = !g->kind && total > 0;
    if (!g->begun) {
        g->base = allocator && total > bytes ? total - bytes : -1;
        if (allocator && reserved > 0 && reserved <= SIZE_MOST) {
            put_row(g, GP_ACT_SEGMENT_MAP, 0, reserved, time_ns, 0);
            g->reserved = reserved;
        }
        g->begun = true;
    } else if (allocator && reserved > g->reserved && reserved <= SIZE_MOST) {
        put_row(g, GP_ACT_SEGMENT_MAP, 0, reserved - g->reserved, time_ns, 0);
        g->reserved = reserved;
    }
    uint32_t stack = stack_of(a, g, gp_host_at(&a->hs, e->track[row], e->start_ns[row]));
    if (bytes > 0 && g->kind) stack = below_source(a, g, stack, gp_get_extra(e, row));
    put_row(g, bytes > 0 ? GP_ACT_ALLOC : GP_ACT_FREE_COMPLETED, gp_get_addr(e, row),
            bytes < 0 ? -bytes : bytes, time_ns, stack);
    if (allocator && reserved < g->reserved && reserved >= 0) {
        put_row(g, GP_ACT_SEGMENT_UNMAP, 0, g->reserved - reserved, time_ns, 0);
        g->reserved = reserved;
    }
}

/* ---- ranges ---- */

static void put_mark(struct adding *a, struct gp_snapshot *s, const struct gp_host_event *e, bool end)
{
    gp_sid name = a->t->events[GP_RANGE].name[e->row];
    struct gp_snapshot_mark k = {.time_ns = gp_add_saturated(end ? e->end_ns : e->start_ns, a->to_unix_ns),
                                 .name = gp_intern_from(&s->strings, &a->t->strings, name),
                                 .end = end};
    GP_VEC_PUSH(&s->marks, k);
}

/* The thread of PROCESS with most ranges. */
static uint32_t busiest_track(const struct adding *a, uint32_t process)
{
    uint32_t best = UINT32_MAX, most = 0;
    for (uint32_t k = 0; k < a->t->tracks.n; k++) {
        uint32_t n = 0;
        if (a->t->tracks.at[k].process != process) continue;
        for (uint32_t i = a->hs.first[k]; i < a->hs.end[k]; i++) n += a->hs.nodes[i].table == GP_RANGE;
        if (n > most) best = k;
        if (n > most) most = n;
    }
    return best;
}

static void put_marks(struct adding *a, struct group *g)
{
    uint32_t track = busiest_track(a, g->process), open[DEPTH_MOST], depth = 0;
    if (track == UINT32_MAX) return;
    for (uint32_t i = a->hs.first[track]; i < a->hs.end[track]; i++) {
        const struct gp_host_event *e = &a->hs.nodes[i];
        if (e->table != GP_RANGE) continue;
        while (depth && a->hs.nodes[open[depth - 1]].end_ns <= e->start_ns)
            put_mark(a, g->s, &a->hs.nodes[open[--depth]], true);
        if (depth == DEPTH_MOST) continue;
        put_mark(a, g->s, e, false);
        open[depth++] = i;
    }
    while (depth) put_mark(a, g->s, &a->hs.nodes[open[--depth]], true);
}

/* ---- all of it ---- */

/* The host's allocator is reported only if there is no device. */
static bool is_wanted(const struct adding *a, const struct group *g)
{
    if (g->device >= 0 || g->kind) return true;
    for (size_t i = 0; i < a->groups.n; i++)
        if (a->groups.at[i].device >= 0) return false;
    return true;
}

static int64_t memory_of(const struct gp_trace *t, int32_t device)
{
    for (size_t i = 0; i < t->devices.n; i++)
        if (t->devices.at[i].id == device && t->devices.at[i].memory_bytes > 0)
            return t->devices.at[i].memory_bytes;
    return 0;
}

static uint64_t graph_launches(const struct gp_trace *t)
{
    const struct gp_events *e = &t->events[GP_API];
    gp_sid name = gp_intern_find(&t->strings, GP_TEXT("cudaGraphLaunch"));
    uint64_t n = 0;
    for (size_t i = 0; name != UINT32_MAX && i < e->n; i++) n += e->name[i] == name;
    return n;
}

static void finish_group(struct adding *a, struct group *g)
{
    struct gp_snapshot_trace t = {0, g->s->rows.n, g->base};
    size_t before = a->m->devices.n;
    if (is_wanted(a, g) && t.n) {
        put_marks(a, g);
        GP_VEC_PUSH(&a->m->sources, g->s);
        gp_memory_add_device(a->m, g->s, g->device, &t);
        if (a->m->devices.n > before) {
            struct gp_memory_device *d = &a->m->devices.at[before];
            d->kind = g->kind;
            d->graph_launches = graph_launches(a->t);
        }
    } else {
        gp_snapshot_release(g->s);
        free(g->s);
    }
    GP_RELEASE(gp_map_release, &g->frame_of_name, &g->stack_of_node, &g->stack_of_hash);
}

void gp_memory_add_trace(struct gp_memory *m, const struct gp_trace *t)
{
    struct adding a = {.m = m, .t = t, .to_unix_ns = unix_offset(t)};
    gp_host_stack_build(&a.hs, t);
    gp_backward_build(&a.bw, t, &a.hs);
    struct gp_input_quality in;
    gp_input_quality_read(&in, &a.m->strings, a.t);
    memcpy(in.issues, a.t->issues, sizeof in.issues);
    in.verdict = gp_intern_cstr(&a.m->strings, gp_trace_verdict(a.t));
    in.truncated = gp_trace_truncated(a.t);
    in.skipped = gp_trace_skipped(a.t);
    GP_VEC_PUSH(&a.m->inputs, in);
    for (size_t i = 0; i < t->events[GP_MEMORY].n; i++) add_row(&a, (uint32_t)i);
    for (size_t i = 0; i < a.groups.n; i++) finish_group(&a, &a.groups.at[i]);
    /* The sizes of devices, for all inputs. */
    for (int32_t i = 0; i < GP_MEMORY_DEVICES; i++)
        if (memory_of(t, i) > 0) m->device_bytes[i] = memory_of(t, i);
    GP_VEC_FREE(&a.groups);
    gp_map_release(&a.group_of);
    gp_backward_release(&a.bw);
    gp_host_stack_release(&a.hs);
}
