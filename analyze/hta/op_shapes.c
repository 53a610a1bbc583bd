#include <stdlib.h>
#include <string.h>
#include "analyze/cost/ceilings.h"
#include "analyze/cost/occupancy.h"
#include "analyze/cost/regime.h"
#include "analyze/cost/shapes.h"
#include "analyze/cost/work.h"
#include "analyze/hta/hta.h"
#include "analyze/hta/hta_priv.h"
#include "analyze/math/sums.h"
#include "analyze/names/name_predicates.h"
#include "analyze/names/names.h"
#include "analyze/view/host_stack.h"
#include "formats/base/buf.h"

#define AT(member) offsetof(struct gp_op_shape, member)

GP_GETTER(get_operator) { gp_cell_owner(c, f, row, x, "(outside any)"); }

/* V per NS of known work, times SCALE. */
static void put_rate(struct gp_cell *c, double v, int64_t ns, double scale)
{
    c->none = v <= 0 || ns <= 0;
    if (!c->none) gp_cell_real(c, v / (double)ns * scale);
}

GP_GET(get_tflops, struct gp_op_shape, put_rate(c, (double)r->flops, r->known_ns, 1e-3))

GP_GET(get_gbps, struct gp_op_shape,
       put_rate(c, ((double)r->bytes_low + (double)r->bytes_high) / 2, r->known_ns, 1))

GP_GET(get_ceiling, struct gp_op_shape, put_rate(c, (double)r->ceiling_ns, r->ceiling_known_ns, 100))

GP_GET_IF(get_arithmetic, struct gp_op_shape, r->arith != GP_ARITH_NONE,
          gp_cell_text(c, gp_arith_name((enum gp_arith)r->arith)))

/* Work of calls with known shapes. */
GP_GET_UNLESS(get_known, struct gp_op_shape, gp_member_i64, r->known_ns == 0)

static const struct gp_field fields[] = {
    {"name", "Operator", GP_CELL_NAME, get_operator, AT(name), .help = "null: outside of any",
     .flags = GP_FIELD_NULL, .keep = GP_KEEP_STR, .merge = GP_MERGE_KEY},
    {"shapes", "Inputs", GP_CELL_NAME, gp_member_name, AT(shapes),
     .help = "type and size of its tensors, as far as they were recorded", .flags = GP_FIELD_NULL,
     .keep = GP_KEEP_STR, .merge = GP_MERGE_KEY},
    {"calls", "Calls", GP_CELL_COUNT, gp_member_u64, AT(calls), .help = "that launched GPU events",
     .flags = GP_COLUMN_SPARE, .keep = GP_KEEP_U64, .merge = GP_MERGE_SUM},
    {"gpu_events", "Kernels", GP_CELL_COUNT, gp_member_u64, AT(gpu_events), .help = "GPU events launched",
     .flags = GP_COLUMN_WIDE, .keep = GP_KEEP_U64, .merge = GP_MERGE_SUM},
    {"gpu_ns", "Time", GP_CELL_NS, gp_member_i64, AT(gpu_ns),
     .help = "on the GPU: sum of the durations of its kernels, copies and sets", .keep = GP_KEEP_I64,
     .merge = GP_MERGE_SUM},
    {"share_pct", "Share", GP_CELL_PCT, gp_member_share, AT(gpu_ns),
     .help = "of the durations of all GPU events", .flags = GP_COLUMN_WIDE},
    {"known_ns", "Known", GP_CELL_NS, gp_member_i64, AT(known_ns),
     .help = "time of kernels whose work the shapes show", .flags = GP_COLUMN_WIDE, .keep = GP_KEEP_I64,
     .merge = GP_MERGE_SUM},
    {"flops", "FLOP", GP_CELL_COUNT, get_known, AT(flops), .help = "in all calls",
     .flags = GP_COLUMN_WIDE | GP_FIELD_NULL, .keep = GP_KEEP_I64, .merge = GP_MERGE_SUM},
    {"bytes_low", "Bytes, least", GP_CELL_BYTES, get_known, AT(bytes_low),
     .help = "each input and result moved once", .flags = GP_COLUMN_WIDE | GP_FIELD_NULL, .keep = GP_KEEP_I64,
     .merge = GP_MERGE_SUM},
    {"bytes_high", "Bytes, most", GP_CELL_BYTES, get_known, AT(bytes_high), .help = "if caches keep nothing",
     .flags = GP_COLUMN_WIDE | GP_FIELD_NULL, .keep = GP_KEEP_I64, .merge = GP_MERGE_SUM},
    {"tflops", "TFLOP/s", GP_CELL_REAL, get_tflops, 0,
     .help = "from the shapes: analyze/cost/README.md, Work", .flags = GP_FIELD_NULL, .after = "share_pct"},
    {"gbps", "GB/s", GP_CELL_REAL, get_gbps, 0, .help = "bytes of its inputs and results, per second",
     .flags = GP_COLUMN_SPARE | GP_FIELD_NULL, .after = "tflops"},
    {"ceiling_pct", "Ceiling", GP_CELL_PCT, get_ceiling, 0,
     .help = "share of what the device can do by its data sheet, of the nearer of arithmetic and memory",
     .flags = GP_FIELD_NULL, .after = "gbps"},
    {"arithmetic", "Type", GP_CELL_TEXT, get_arithmetic, AT(arith), .help = "that products are computed in",
     .flags = GP_COLUMN_WIDE | GP_FIELD_NULL, .after = "ceiling_pct", .keep = GP_KEEP_U32,
     .merge = GP_MERGE_MIN, .below = GP_ARITH_NONE + 1},
    {.at = AT(ceiling_ns), .keep = GP_KEEP_I64, .merge = GP_MERGE_SUM},
    {.at = AT(ceiling_known_ns), .keep = GP_KEEP_I64, .merge = GP_MERGE_SUM},
};
#undef AT

const struct gp_record gp_hta_op_shapes = {
    "operators_by_shape",
    "GPU time by operator and input shape",
    GP_FIELDS(fields),
    sizeof(struct gp_op_shape),
    .note = "GPU time by operator and the shapes of its inputs, by gpu_ns; what is not known is null",
    .rest = {{"gpu_events", "gpu_events"}, {"gpu_ns", "gpu_ns"}}};

struct gp_row_of gp_hta_op_shapes_of(const struct gp_hta *h)
{
    int64_t all_ns = 0;
    for (size_t i = 0; i < h->op_shapes.n; i++) all_ns = gp_add_saturated(all_ns, h->op_shapes.at[i].gpu_ns);
    return gp_hta_rows_of(h, all_ns);
}

#define NONE UINT32_MAX

/* ---- rows ---- */

GP_COMPARE_IN(by_time, struct gp_op_shape, struct gp_hta,
              GP_DOWN(gpu_ns) GP_THEN(gp_hta_order(of, x->name, y->name))
                  GP_THEN(gp_hta_order(of, x->shapes, y->shapes)))

static const struct gp_hta_list lists[] = {
    {&gp_hta_op_shapes, offsetof(struct gp_hta, op_shapes), .map = offsetof(struct gp_hta_work, op_shapes),
     .limit = offsetof(struct gp_hta_bound, shape_limit), .order = by_time},
};

static struct gp_op_shape *row_of(struct gp_hta *h, gp_sid name, gp_sid shapes)
{
    return gp_hta_row(h, lists,
                      &(struct gp_op_shape){.name = name, .shapes = shapes, .arith = GP_ARITH_NONE});
}

static void add(int64_t *to, int64_t v) { *to = gp_add_saturated(*to, v); }

static int64_t whole(double v) { return v < 0 ? 0 : v < 9e18 ? (int64_t)(v + 0.5) : INT64_MAX; }

/* ---- calls ---- */

/* An operator that launched GPU events itself, not through another operator within. */
struct call {
    uint32_t op;      /* row of GP_OP */
    uint32_t longest; /* GPU event that computes; NONE */
    uint64_t events;
    int64_t gpu_ns, compute_ns;
    uint32_t device; /* of the view, that `longest` ran on */
    bool replays;    /* a graph: its kernels are not the operator's */
};

/* Calls of an operator with the same arguments, which loops repeat. */
struct met {
    gp_sid name, args;
    uint32_t row; /* of op_shapes, + 1; 0: free */
    bool known;
    struct gp_shapes shapes; /* if known */
};
enum { MET = 64 };

struct finder {
    struct gp_hta *h;
    struct met met[MET]; /* by hash: the last ones */
    const struct gp_view *v;
    struct gp_host_memo inner;
    uint32_t *call_of; /* by row of GP_OP: index into calls + 1 */
    GP_VEC(struct call) calls;
    struct gp_map models;         /* name of an operator -> is its work known? */
    struct gp_map uses;           /* name of a kernel -> enum gp_matrix_use */
    struct gp_ceilings *ceilings; /* by device of the view */
    struct gp_buf text;
};

/* The row of the innermost operator around the launch of a GPU event; NONE. */
static uint32_t op_of(struct finder *f, uint32_t row)
{
    uint32_t node = gp_host_memo_innermost(&f->inner, f->v->at.node[row], GP_OP);
    return node == GP_HOST_NONE ? NONE : f->v->hs.nodes[node].row;
}

static struct call *call_of(struct finder *f, uint32_t op)
{
    if (!f->call_of[op]) {
        GP_VEC_PUSH(&f->calls, ((struct call){.op = op, .longest = NONE}));
        f->call_of[op] = (uint32_t)f->calls.n;
    }
    return &f->calls.at[f->call_of[op] - 1];
}

static void add_event(struct finder *f, uint32_t row, uint32_t device, uint32_t outside)
{
    const struct gp_trace *t = f->v->t;
    const struct gp_events *gpu = &t->events[GP_GPU];
    uint32_t op = op_of(f, row), api = gp_view_launch(f->v, row);
    if (op == NONE) {
        struct gp_op_shape *o = &f->h->op_shapes.at[outside];
        o->gpu_events++;
        add(&o->gpu_ns, gpu->dur_ns[row]);
        return;
    }
    struct call *c = call_of(f, op);
    c->events++;
    add(&c->gpu_ns, gpu->dur_ns[row]);
    if (api != NONE) c->replays |= gp_call_launches_graph(gp_trace_str(t, t->events[GP_API].name[api]));
    if (gp_class_of(gp_view_kind(f->v, row)) != GP_CLASS_COMPUTE) return;
    add(&c->compute_ns, gpu->dur_ns[row]);
    if (c->longest != NONE && gpu->dur_ns[row] <= gpu->dur_ns[c->longest]) return;
    c->longest = row;
    c->device = device;
}

/* ---- shapes as text ---- */

static const char *type_of(const struct gp_dtype *e)
{
    if (e->arith != GP_ARITH_NONE && e->size) return gp_arith_name(e->arith);
    return e->size == 8   ? "int64"
           : e->size == 4 ? "int32"
           : e->size == 2 ? "int16"
           : e->size == 1 ? "bool"
                          : "";
}

/* ---- work ---- */

static bool has_model(struct finder *f, gp_sid name)
{
    uint32_t *known = gp_map_put(&f->models, name, NONE);
    if (*known == NONE) *known = gp_work_knows_op(gp_trace_str(f->v->t, name));
    return *known;
}

static enum gp_matrix_use use_of(struct finder *f, gp_sid kernel)
{
    uint32_t *use = gp_map_put(&f->uses, kernel, NONE);
    if (*use != NONE) return (enum gp_matrix_use) * use;
    f->text.n = 0;
    gp_name_demangle(&f->text, gp_trace_str(f->v->t, kernel), gp_string_len(&f->v->t->strings, kernel));
    *use = gp_matrix_use_of(f->text.n ? f->text.data : "", f->text.n);
    return (enum gp_matrix_use) * use;
}

/* The work of C, whose inputs are S, and what the ceilings of its device are for it. */
static void add_work(struct finder *f, struct gp_op_shape *o, const struct call *c, const struct gp_shapes *s)
{
    const struct gp_trace *t = f->v->t;
    struct gp_work w;
    struct gp_regime_answer a;
    if (c->longest == NONE || c->replays || c->compute_ns <= 0 || !has_model(f, t->events[GP_OP].name[c->op]))
        return;
    const struct gp_config *config = gp_gpu_config(t, c->longest);
    const char *kernel = gp_trace_str(t, config->name);
    const struct gp_ceilings *top = &f->ceilings[c->device];
    const struct gp_device *props = f->v->devices.at[c->device].props;
    if (!gp_work_of_op(&w, gp_trace_str(t, t->events[GP_OP].name[c->op]), s, kernel)) return;
    gp_work_settle_arith(&w, use_of(f, config->name), top->flops, c->compute_ns,
                         props && props->warp_size == 64);
    struct gp_regime_kernel k = {.kind = gp_view_kind(f->v, c->longest), .dur_ns = c->compute_ns, .work = &w};
    gp_regime_of_kernel(&a, &k, top);
    if (a.impossible) return;
    gp_regime_limit(&w, top, a.fits_cache, c->compute_ns);
    add(&o->known_ns, c->compute_ns);
    add(&o->flops, whole(w.flops));
    add(&o->bytes_low, whole(w.bytes_low));
    add(&o->bytes_high, whole(w.bytes_high));
    if (w.flops > 0) o->arith = w.arith;
    double ns = gp_regime_ceiling_ns(&w, top, a.fits_cache);
    if (ns <= 0) return;
    add(&o->ceiling_known_ns, c->compute_ns);
    add(&o->ceiling_ns, whole(ns));
}

/* A type is written where it changes; single values are left out. */
static void put_shapes(struct gp_buf *to, const struct gp_shapes *shapes)
{
    const char *last = "";
    GP_EACH_OF(const struct gp_shape, in, shapes->in, shapes->n) {
        const char *type = type_of(&in->element);
        if (in->sort == GP_SHAPE_NOTHING || (in->sort == GP_SHAPE_TENSOR && !in->n)) continue;
        if (to->n) gp_buf_putc(to, ' ');
        if (in->sort != GP_SHAPE_TENSOR) {
            gp_buf_puts(to, "list");
            if (in->sort == GP_SHAPE_LIST) gp_buf_printf(to, "(%.0f)", in->elements);
            continue;
        }
        if (strcmp(type, last) != 0) gp_buf_puts(to, type);
        last = type;
        gp_buf_putc(to, '[');
        for (int k = 0; k < in->n; k++) {
            if (k) gp_buf_putc(to, ',');
            gp_buf_put_i64(to, in->size[k]);
        }
        gp_buf_puts(to, in->n < 0 ? "...]" : "]");
    }
}

static const struct met *meet(struct finder *f, gp_sid name, gp_sid args)
{
    const struct gp_trace *t = f->v->t;
    struct gp_strings *strings = &f->h->strings;
    struct met *m = &f->met[(name * 31 + args) % MET];
    if (m->row && m->name == name && m->args == args) return m;
    f->text.n = 0;
    gp_name_op_label(&f->text, gp_trace_str(t, name), gp_string_len(&t->strings, name));
    gp_sid label =
        f->text.n ? gp_intern(strings, f->text.data, f->text.n) : gp_intern_cstr(strings, "[no name]");
    m->name = name;
    m->args = args;
    m->known = gp_shapes_read(&m->shapes, gp_trace_str(t, args));
    f->text.n = 0;
    if (m->known) put_shapes(&f->text, &m->shapes);
    gp_sid inputs = f->text.n ? gp_intern(strings, f->text.data, f->text.n) : 0;
    m->row = (uint32_t)(row_of(f->h, label, inputs) - f->h->op_shapes.at) + 1;
    return m;
}

static void add_call(struct finder *f, const struct call *c)
{
    const struct gp_events *ops = &f->v->t->events[GP_OP];
    const struct met *m = meet(f, ops->name[c->op], gp_get_extra(ops, c->op));
    struct gp_op_shape *o = &f->h->op_shapes.at[m->row - 1];
    o->calls++;
    o->gpu_events += c->events;
    add(&o->gpu_ns, c->gpu_ns);
    if (m->known) add_work(f, o, c, &m->shapes);
}

static void add_all(struct gp_hta *h, const struct gp_view *v)
{
    const struct gp_trace *t = v->t;
    if (!t->events[GP_OP].n || !t->events[GP_GPU].n) return;
    struct finder f = {.h = h, .v = v, .inner = {.hs = &v->hs}};
    f.call_of = gp_zalloc(t->events[GP_OP].n * sizeof *f.call_of);
    f.ceilings = gp_zalloc((v->devices.n + 1) * sizeof *f.ceilings);
    uint32_t outside = (uint32_t)(row_of(h, 0, 0) - h->op_shapes.at);
    for (uint32_t d = 0; d < v->devices.n; d++) {
        const struct gp_view_device *from = &v->devices.at[d];
        gp_ceilings_of_device(&f.ceilings[d], from->props ? gp_trace_str(t, from->props->name) : NULL,
                              from->props);
        for (size_t i = 0; i < from->n; i++) add_event(&f, v->rows[from->first + i], d, outside);
    }
    for (size_t i = 0; i < f.calls.n; i++) add_call(&f, &f.calls.at[i]);
    GP_VEC_FREE(&f.calls);
    gp_map_release(&f.models);
    gp_map_release(&f.uses);
    gp_host_memo_release(&f.inner);
    gp_buf_release(&f.text);
    free(f.ceilings);
    free(f.call_of);
}

/* ---- order ---- */

const struct gp_hta_section gp_hta_op_shapes_section = {lists, GP_COUNT(lists), .add = add_all,
                                                        .inside = true};
