/* Turns rows of a trace into events in launch order: what each runs, where it was launched, and its step. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "analyze/cost/occupancy.h"
#include "analyze/names/name_predicates.h"
#include "analyze/view/captured.h"
#include "analyze/view/host_stack.h"
#include "analyze/math/sums.h"
#include "analyze/names/names.h"
#include "analyze/diff/profile_priv.h"
#include "formats/base/buf.h"
#include "formats/base/hash.h"
#include "formats/base/order.h"
#include "formats/base/str.h"
#include "formats/model/stack_tree.h"

#define NONE GP_PROFILE_NONE

struct maker {
    struct gp_profile_job *j;
    struct gp_profile *p;
    const struct gp_view *v;
    const struct gp_trace *t;
    uint32_t *kernel_of_config;   /* NONE: not made */
    struct gp_map kernel_hashes;  /* -> index into kernels; hashes that meet go to the next key */
    GP_VEC(uint64_t) name_hashes; /* by kernel */
    struct gp_map names;          /* name in the trace -> sid */
    struct gp_host_memo place_of; /* a host event */
    struct gp_map place_hashes;
    struct gp_map labels;            /* table << 32 | name in the trace -> sid */
    uint32_t *dealt;                 /* rows by lane */
    uint8_t *seen;                   /* by row: its launch is known */
    uint8_t *launched;               /* by host event: it launched something already */
    struct gp_host_memo ops, ranges; /* around a host event */
    struct gp_captured captured;
    struct gp_map place_of_captured; /* place << 32 | ranges of a capture -> place */
    struct gp_map place_at_line;     /* place << 32 | line -> the same place with it */
    struct gp_map last_replay;       /* ranges of a capture -> the host event that replayed them last */
};

/* ---- kernels ---- */

static gp_sid full_name(struct maker *m, gp_sid name)
{
    uint32_t *known = gp_map_put(&m->names, name, NONE);
    if (*known != NONE) return *known;
    struct gp_buf full = {0};
    gp_name_demangle(&full, gp_trace_str(m->t, name), gp_string_len(&m->t->strings, name));
    return *known = gp_intern_buf(&m->p->strings, &full);
}

static uint32_t add_kernel(struct maker *m, const struct gp_profile_kernel *k)
{
    for (uint64_t key = gp_hash_place(k, sizeof *k, gp_hash_seed());; key++) {
        uint32_t at = *gp_map_put(&m->kernel_hashes, key, (uint32_t)m->p->kernels.n);
        if (at == m->p->kernels.n) {
            GP_VEC_PUSH(&m->p->kernels, *k);
            GP_VEC_PUSH(&m->name_hashes, gp_string_hash(&m->p->strings, k->name));
        }
        if (!memcmp(&m->p->kernels.at[at], k, sizeof *k)) return at;
    }
}

static uint32_t kernel_of(struct maker *m, uint32_t row)
{
    uint32_t config = gp_get_config(&m->t->events[GP_GPU], row);
    if (m->kernel_of_config[config] != NONE) return m->kernel_of_config[config];
    const struct gp_config *c = &m->t->configs.at[config];
    struct gp_profile_kernel k;
    memset(&k, 0, sizeof k);
    k.name = full_name(m, c->name);
    k.kind = gp_view_kind(m->v, row);
    if (c->has & GP_HAS_GRID) memcpy(k.grid, c->grid, sizeof k.grid);
    if (c->has & GP_HAS_BLOCK) memcpy(k.block, c->block, sizeof k.block);
    if (c->has & GP_HAS_REGS) k.registers = c->registers;
    if (c->has & GP_HAS_SHARED) k.shared_bytes = c->shared_bytes;
    k.local_bytes = c->local_bytes;
    struct gp_occupancy o;
    gp_occupancy_of(&o, m->t, c, m->v->devices.at[m->v->device_of_row[row]].props);
    k.waves = (uint32_t)fmin(ceil(o.waves), UINT32_MAX);
    return m->kernel_of_config[config] = add_kernel(m, &k);
}

/* ---- places ---- */

static gp_sid make_label(struct maker *m, enum gp_table table, const char *text, size_t n)
{
    struct gp_buf label = {0};
    gp_name_label(&label, table, text, n);
    if (!label.n) gp_buf_puts(&label, "[no name]");
    for (size_t i = 0; i < label.n; i++)
        if (label.data[i] == ';' || (unsigned char)label.data[i] < 0x20) label.data[i] = ' ';
    return gp_intern_buf(&m->p->strings, &label);
}

static gp_sid label_of(struct maker *m, enum gp_table table, gp_sid name)
{
    uint32_t *known = gp_map_put(&m->labels, (uint64_t)table << 32 | name, NONE);
    if (*known == NONE)
        *known = make_label(m, table, gp_trace_str(m->t, name), gp_string_len(&m->t->strings, name));
    return *known;
}

static uint32_t add_place(struct maker *m, uint32_t parent, enum gp_frame_kind kind, gp_sid label)
{
    const struct gp_profile_place *around = &m->p->places.at[parent];
    if (parent && around->label == label && around->kind == (uint32_t)kind) return parent; /* calls itself */
    struct gp_profile_place place = {parent,
                                     kind,
                                     label,
                                     kind == GP_FRAME_OP ? label : around->op,
                                     kind == GP_FRAME_RANGE ? label : around->range,
                                     0,
                                     gp_profile_place_by_graph(kind, around)};
    uint64_t pair = (uint64_t)parent << 32 | label;
    for (uint64_t key = gp_hash_u64(kind, gp_hash_u64(pair, gp_hash_seed()));; key++) {
        uint32_t at = *gp_map_put(&m->place_hashes, key, (uint32_t)m->p->places.n);
        if (at == m->p->places.n) GP_VEC_PUSH(&m->p->places, place);
        const struct gp_profile_place *found = &m->p->places.at[at];
        if (found->parent == parent && found->kind == (uint32_t)kind && found->label == label) return at;
    }
}

/* The frame of a host event inside PARENT. Runtime calls and Python glue do not count as frames; a graph's
 * launch does, since it is all that its kernels have in common. */
static uint32_t place_inside(void *ctx, uint32_t node, uint32_t around)
{
    struct maker *m = ctx;
    uint32_t parent = around == GP_HOST_NONE ? 0 : around;
    const struct gp_host_event *ev = &m->v->hs.nodes[node];
    enum gp_table table = (enum gp_table)ev->table;
    gp_sid name = m->t->events[table].name[ev->row];
    const char *text = gp_trace_str(m->t, name);
    size_t n = gp_string_len(&m->t->strings, name);
    enum gp_frame_kind kind = table == GP_RANGE ? GP_FRAME_RANGE
                              : table == GP_OP  ? GP_FRAME_OP
                              : table == GP_API ? GP_FRAME_API
                                                : GP_FRAME_PYTHON;
    if (kind == GP_FRAME_API && !gp_call_launches_graph(text)) return parent;
    if (kind == GP_FRAME_PYTHON) {
        if (gp_name_is_glue(text, n)) return parent;
        if (gp_name_is_module(text, n)) kind = GP_FRAME_MODULE;
    }
    return add_place(m, parent, kind, label_of(m, table, name));
}

static uint32_t place_of_host(struct maker *m, uint32_t node)
{
    uint32_t place = gp_host_memo_get(&m->place_of, node, place_inside, m);
    return place == GP_HOST_NONE ? 0 : place;
}

/* Inside PLACE, which is that of host event NODE: what is around the capture of a graph's work. */
static uint32_t place_of_captured(struct maker *m, uint32_t place, uint32_t node, uint32_t path)
{
    uint64_t key = (uint64_t)place << 32 | path;
    uint32_t *known = gp_map_put(&m->place_of_captured, key, NONE);
    if (*known != NONE) return *known;
    const struct gp_captured_name *rest;
    size_t n = gp_captured_rest(&m->captured, node, path, &rest);
    for (size_t i = 0; i < n; i++)
        place = add_place(m, place, rest[i].kind, make_label(m, rest[i].table, rest[i].text, rest[i].n));
    return *gp_map_put(&m->place_of_captured, key, NONE) = place;
}

static uint32_t caller_of(const struct gp_trace *t, uint32_t stack)
{
    uint32_t caller = t->stacks.at[stack].parent;
    return caller < stack ? caller : 0; /* otherwise the file is damaged */
}

/* The innermost function that is neither glue nor of what launches for others, and the line where it stands;
 * without one, that of a script outside functions, or else of the latter, but for the backward pass. */
gp_sid gp_profile_line(struct gp_profile_job *j, uint32_t stack)
{
    const struct gp_trace *t = j->t;
    if (!stack || stack >= t->stacks.n) return 0;
    uint32_t *known = gp_map_put(&j->line_of_stack, stack, NONE);
    if (*known != NONE) return *known;
    struct gp_buf name = {0}, line = {0};
    bool waits = false;
    int best = 0;
    for (uint32_t at = stack; at && best < 3; at = caller_of(t, at)) {
        const struct gp_stack *s = &t->stacks.at[at];
        const char *file = gp_trace_str(t, s->file), *path = gp_stack_short_path(file);
        waits |= !*file && !strcmp(gp_trace_str(t, s->name), GP_STACK_AUTOGRAD);
        bool own = *path && !gp_is_one_of(path, strcspn(path, "/"), " torch triton cupy numba jax "),
             script = own && !strcmp(gp_trace_str(t, s->name), "<module>");
        name.n = 0;
        gp_buf_printf(&name, "%s(%u): %s", path, (unsigned)s->line, gp_trace_str(t, s->name));
        int good = script ? 2 : gp_name_is_glue(name.data, name.n) ? 0 : own ? 3 : !waits;
        if (!*file || good <= best) continue;
        best = good;
        line.n = 0;
        gp_buf_printf(&line, "%s:%u %s", path, (unsigned)s->line, gp_trace_str(t, s->name));
    }
    gp_sid sid = line.n ? gp_intern(&j->p->strings, line.data, line.n) : 0;
    gp_buf_release(&name);
    gp_buf_release(&line);
    return *gp_map_put(&j->line_of_stack, stack, NONE) = sid;
}

static uint32_t place_at_line(struct maker *m, uint32_t place, gp_sid line)
{
    if (!line) return place;
    uint64_t key = (uint64_t)place << 32 | line;
    uint32_t at = *gp_map_put(&m->place_at_line, key, (uint32_t)m->p->places.n);
    if (at < m->p->places.n) return at;
    struct gp_profile_place p = m->p->places.at[place];
    p.line = line;
    GP_VEC_PUSH(&m->p->places, p);
    return at;
}

/* Is this the first work that was captured under those ranges in a replay by NODE? Events come launch by
 * launch. */
static bool is_first_replay(struct maker *m, gp_sid captured, uint32_t node)
{
    uint32_t *last = gp_map_put(&m->last_replay, captured, GP_HOST_NONE);
    bool first = *last != node;
    *last = node;
    return first;
}

/* The innermost host event of TABLE around NODE launches now; was it the first time? */
static bool is_first(struct maker *m, uint32_t node, struct gp_host_memo *innermost, enum gp_table table)
{
    node = gp_host_memo_innermost(innermost, node, table);
    if (node == GP_HOST_NONE || m->launched[node]) return false;
    m->launched[node] = 1;
    return true;
}

static uint32_t firsts_of(struct maker *m, uint32_t node)
{
    uint32_t op = is_first(m, node, &m->ops, GP_OP) ? GP_PROFILE_FIRST_OF_OP : 0;
    return op | (is_first(m, node, &m->ranges, GP_RANGE) ? GP_PROFILE_FIRST_OF_RANGE : 0);
}

/* ---- the order of launches ---- */

/* Nodes of a graph start on several streams in an order that changes from launch to launch: their numbers do
 * not. */
GP_COMPARE_IN(by_node, uint32_t, uint64_t, GP_KEY(of[*x], of[*y]) GP_KEY(*x, *y))

/* Distribute the rows of all programs to the lanes, in launch order: those of a lane are at the view's
 * position, KNOWN[lane] of them. */
static void deal_rows(struct maker *m, size_t *known)
{
    GP_EACH(const struct gp_steps_program, program, m->j->steps.v) {
        for (size_t i = 0; i < program->n; i++) {
            uint32_t lane = m->v->device_of_row[program->rows[i]];
            m->dealt[m->v->devices.at[lane].first + known[lane]++] = program->rows[i];
            m->seen[program->rows[i]] = 1;
        }
    }
}

/* The rows of a lane: first those with a known launch, in launch order, then the others, by time. */
static uint32_t *order_rows(struct maker *m, const struct gp_steps_program *program, uint32_t lane,
                            size_t known)
{
    const struct gp_view_device *d = &m->v->devices.at[lane];
    uint32_t *rows = m->dealt + d->first;
    for (size_t i = 0, n = known; i < d->n; i++)
        if (!m->seen[m->v->rows[d->first + i]]) rows[n++] = m->v->rows[d->first + i];
    if (!m->t->events[GP_GPU].node || program->by_gpu_time) return rows;
    for (size_t i = 0, end; i < known; i = end) {
        uint32_t call = gp_view_launch(m->v, rows[i]);
        for (end = i + 1; end < known && gp_view_launch(m->v, rows[end]) == call;) end++;
        if (call != UINT32_MAX && end - i > 1)
            gp_sort_in(rows + i, end - i, sizeof *rows, by_node, m->t->events[GP_GPU].node);
    }
    return rows;
}

/* ---- events ---- */

static void add_event(struct maker *m, uint32_t row, uint32_t launch)
{
    const struct gp_events *gpu = &m->t->events[GP_GPU];
    int64_t bytes = gp_get_bytes(gpu, row);
    uint32_t node = m->v->at.node[row], around = place_of_host(m, node);
    gp_sid captured = gp_get_captured(gpu, row);
    uint32_t stack = gp_get_stack(gpu, row), path = NONE, call = gp_view_launch(m->v, row);
    if (captured || stack) path = gp_captured_path(&m->captured, captured, stack);
    struct gp_profile_event e = {
        .kernel = kernel_of(m, row),
        .place = path != NONE ? place_of_captured(m, around, node, path) : around,
        .step = NONE,
        .launch = launch,
        .dur_ns = gpu->dur_ns[row],
        .bytes = bytes > 0 ? bytes : 0,
    };
    bool ranges = m->p->places.at[e.place].range != m->p->places.at[around].range; /* of its capture */
    e.firsts = !ranges                              ? firsts_of(m, node)
               : is_first_replay(m, captured, node) ? GP_PROFILE_FIRST_OF_RANGE
                                                    : 0;
    if (!stack && call != UINT32_MAX) stack = gp_get_stack(&m->t->events[GP_API], call);
    e.place = place_at_line(m, e.place, gp_profile_line(m->j, stack));
    m->j->event_of_row[row] = (uint32_t)m->p->events.n;
    GP_VEC_PUSH(&m->p->events, e);
}

static void add_step(struct maker *m, const struct gp_steps_program *program, uint32_t lane, size_t window)
{
    const struct gp_step_window *w = &program->windows.at[window];
    struct gp_profile_step s = {.lane = lane,
                                .name = gp_step_name(&m->p->strings, m->t, program, w),
                                .cut = w->partial,
                                .warm_up = window < program->steady,
                                .first = (uint32_t)m->p->events.n,
                                .host_ns = w->host_end_ns - w->begin_ns};
    GP_VEC_PUSH(&m->p->steps, s);
    GP_VEC_PUSH(&m->j->window_of_step, (uint32_t)window);
}

/* Windows are disjoint and the rows come in the order of launches: the events of a step follow each other. */
static void add_lane_events(struct maker *m, const struct gp_steps_program *program, uint32_t lane,
                            const uint32_t *rows, size_t known)
{
    struct gp_profile *p = m->p;
    uint32_t last_call = UINT32_MAX, launch = 0;
    size_t window = program->windows.n, last_window = program->windows.n;
    for (size_t i = 0; i < m->v->devices.at[lane].n; i++) {
        uint32_t row = rows[i], call = gp_view_launch(m->v, row);
        int64_t begin, end;
        window = program->windows.n;
        if (i < known && gp_steps_launch_time(m->v, row, program->by_gpu_time, &begin, &end))
            window = gp_steps_window_at(program, begin, last_window);
        if (window < program->windows.n && window != last_window) add_step(m, program, lane, window);
        if (window < program->windows.n) last_window = window;
        if (call != UINT32_MAX && call != last_call) launch++;
        if (call != UINT32_MAX) last_call = call;
        add_event(m, row, call == UINT32_MAX ? NONE : launch - 1);
        p->lanes.at[lane].unlaunched += call == UINT32_MAX && m->v->at.node[row] == GP_HOST_NONE;
        if (window == program->windows.n) continue;
        struct gp_profile_step *s = &p->steps.at[p->steps.n - 1];
        p->events.at[p->events.n - 1].step = (uint32_t)p->steps.n - 1;
        s->n++;
        s->gpu_ns = gp_add_saturated(s->gpu_ns, m->t->events[GP_GPU].dur_ns[row]);
    }
}

static uint64_t hash_slice(const struct maker *m, uint32_t first, uint32_t n)
{
    uint64_t hash = n;
    for (uint32_t i = first; i < first + n; i++) {
        uint32_t kernel = m->p->events.at[i].kernel;
        hash = gp_hash_u64(gp_hash_u64(hash, m->name_hashes.at[kernel]), m->p->kernels.at[kernel].kind);
    }
    return hash;
}

static void finish_lane(const struct maker *m, uint32_t lane)
{
    struct gp_profile *p = m->p;
    struct gp_profile_lane *l = &p->lanes.at[lane];
    l->n_events = (uint32_t)p->events.n - l->first_event;
    l->n_steps = (uint32_t)p->steps.n - l->first_step;
    l->whole.lane = lane;
    l->whole.first = l->first_event;
    l->whole.n = l->n_events;
    l->whole.open = true;
    for (uint32_t i = l->first_event; i < l->first_event + l->n_events; i++)
        l->whole.gpu_ns = gp_add_saturated(l->whole.gpu_ns, p->events.at[i].dur_ns);
    l->whole.sequence = hash_slice(m, l->first_event, l->n_events);
    for (uint32_t i = l->first_step; i < l->first_step + l->n_steps; i++)
        p->steps.at[i].sequence = hash_slice(m, p->steps.at[i].first, p->steps.at[i].n);
    if (l->n_steps) p->steps.at[p->steps.n - 1].open = true;
    p->unlaunched += l->unlaunched;
}

void gp_profile_make_events(struct gp_profile_job *j)
{
    size_t n = j->t->events[GP_GPU].n;
    struct maker m = {.j = j,
                      .p = j->p,
                      .v = j->v,
                      .t = j->t,
                      .kernel_of_config = gp_alloc((j->t->configs.n + 1) * sizeof *m.kernel_of_config)};
    memset(m.kernel_of_config, 0xff, (j->t->configs.n + 1) * sizeof *m.kernel_of_config);
    m.place_of.hs = m.ops.hs = m.ranges.hs = &j->v->hs;
    gp_captured_init(&m.captured, &j->v->hs, false);
    m.launched = gp_zalloc((size_t)j->v->hs.n + 1);
    m.dealt = gp_alloc((n + 1) * sizeof *m.dealt);
    m.seen = gp_zalloc(n + 1);
    size_t *known = gp_zalloc((j->v->devices.n + 1) * sizeof *known);
    deal_rows(&m, known);
    GP_VEC_PUSH(&m.p->places, ((struct gp_profile_place){0}));
    GP_VEC_RESERVE(&m.p->events, n);
    for (uint32_t lane = 0; lane < j->v->devices.n; lane++) {
        const struct gp_steps_program *program = gp_steps_of(&j->steps, j->v->devices.at[lane].producer);
        m.p->lanes.at[lane].first_event = (uint32_t)m.p->events.n;
        m.p->lanes.at[lane].first_step = (uint32_t)m.p->steps.n;
        if (program->windows.n && m.p->step_source == GP_STEPS_NONE) m.p->step_source = program->source;
        const uint32_t *rows = order_rows(&m, program, lane, known[lane]);
        add_lane_events(&m, program, lane, rows, known[lane]);
        finish_lane(&m, lane);
    }
    GP_RELEASE(free, known, m.seen, m.launched, m.dealt, m.kernel_of_config);
    GP_RELEASE(gp_host_memo_release, &m.place_of, &m.ops, &m.ranges);
    GP_RELEASE(gp_map_release, &m.kernel_hashes, &m.names, &m.place_hashes, &m.labels, &m.place_of_captured,
               &m.place_at_line, &m.last_replay);
    GP_VEC_FREE(&m.name_hashes);
    gp_captured_release(&m.captured);
}
