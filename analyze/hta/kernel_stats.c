#include <stdlib.h>
#include <string.h>
#include "analyze/hta/hta.h"
#include "analyze/math/sums.h"
#include "analyze/view/backward.h"
#include "analyze/view/captured.h"
#include "analyze/view/host_stack.h"
#include "analyze/hta/hta_priv.h"
#include "analyze/math/end_heap.h"
#include "analyze/names/name_predicates.h"
#include "analyze/names/names.h"
#include "analyze/cost/occupancy.h"
#include "formats/base/buf.h"

#define NONE UINT32_MAX

/* A share of a time, in whole ns: sums of integers do not depend on their order. */
static int64_t whole_ns(double share, int64_t dur_ns)
{
    double v = share * (double)dur_ns;
    return v < 0x1p62 ? (int64_t)(v + 0.5) : INT64_MAX;
}

/* ---- fields ---- */

#define AT(member) offsetof(struct gp_kernel_stat, member)

static enum gp_class class_of(const struct gp_kernel_stat *k)
{
    return gp_class_of((enum gp_frame_kind)k->kind);
}

GP_GETTER_OF(get_class, struct gp_kernel_stat, k)
{
    gp_cell_named(c, gp_class_name(class_of(k)), gp_frame_kind_word((enum gp_frame_kind)k->kind));
}

GP_GET(get_kind, struct gp_kernel_stat, gp_cell_text(c, gp_frame_kind_word((enum gp_frame_kind)r->kind)))

GP_GETTER(get_label)
{
    struct gp_row_of labelled = *x;
    labelled.labels = true;
    gp_member_kernel(c, f, row, &labelled);
    gp_cell_label(c, c->label, c->label_len, NULL, 0);
}

GP_GETTER_OF(get_tensor_core, struct gp_kernel_stat, k)
{
    c->none = class_of(k) == GP_CLASS_MEMORY || k->tensor_core < 0;
    c->i = k->tensor_core;
}

GP_GET(get_occupancy, struct gp_kernel_stat,
       gp_cell_share(c, (double)r->occupancy_ns, (double)r->occupancy_known_ns))

GP_GET_IF(get_waves, struct gp_kernel_stat, r->occupancy_known_ns,
          gp_cell_real(c, (double)r->waves_ns / (double)r->occupancy_known_ns))

GP_GET_UNLESS(get_blocks, struct gp_kernel_stat, gp_member_u64, !r->blocks_max)

GP_GET_UNLESS(get_bytes, void, gp_member_i64, class_of(row) != GP_CLASS_MEMORY)

GP_GETTER(get_share) { gp_cell_real(c, gp_pct(((const struct gp_kernel_stat *)row)->dur.sum, x->whole_ns)); }

static const struct gp_field kernel_fields[] = {
    {"name", "Kernel, copy or set", GP_CELL_NAME, gp_member_kernel, AT(name), .keep = GP_KEEP_STR,
     .merge = GP_MERGE_KEY},
    {"class", "Class", GP_CELL_TEXT, get_class, AT(kind),
     .help = "the kind of work; in CSV and JSON: compute, communication or memory", .words = gp_class_words,
     .keep = GP_KEEP_U32, .merge = GP_MERGE_KEY, .below = GP_FRAME_KIND_COUNT},
    {"count", "Count", GP_CELL_COUNT, gp_member_count, AT(dur), .keep = GP_KEEP_DIST},
    {"total_ns", "Total", GP_CELL_NS, gp_member_total, AT(dur), .help = "sum of durations"},
    {"min_ns", "Min", GP_CELL_NS, gp_member_min, AT(dur), .flags = GP_COLUMN_WIDE},
    {"max_ns", "Max", GP_CELL_NS, gp_member_max, AT(dur), .flags = GP_COLUMN_SPARE},
    {"mean_ns", "Mean", GP_CELL_NS_REAL, gp_member_mean, AT(dur), .help = "total_ns / count",
     .after = "total_ns"},
    {"stddev_ns", "Std. dev.", GP_CELL_NS_REAL, gp_member_stddev, AT(dur),
     .help = "population standard deviation", .flags = GP_COLUMN_WIDE},
    {"share_pct", "Share", GP_CELL_PCT, get_share, 0, .help = "of the durations of all GPU events",
     .after = "total_ns"},
    {"p50_ns", "Median", GP_CELL_NS, gp_member_p50, AT(dur), .help = "within 1/16", .flags = GP_COLUMN_WIDE},
    {"p99_ns", "p99", GP_CELL_NS, gp_member_p99, AT(dur), .help = "within 1/16", .flags = GP_COLUMN_WIDE},
    {"label", NULL, GP_CELL_TEXT, get_label, AT(name), .help = "short name"},
    {"kind", "Kind", GP_CELL_TEXT, get_kind, 0, .help = "gemm, attention, elementwise, ...",
     .flags = GP_COLUMN_RAW, .words = gp_frame_kind_words},
    {"tensor_core", "Tensor Cores", GP_CELL_BOOL, get_tensor_core, AT(tensor_core),
     .help = "by name; unknown if the name does not show it, and of copies and sets",
     .flags = GP_COLUMN_WIDE | GP_FIELD_NULL, .keep = GP_KEEP_I32, .merge = GP_MERGE_SAME},
    {"occupancy_pct", "Occupancy", GP_CELL_PCT, get_occupancy, AT(occupancy_ns),
     .help = "estimated, weighted by time", .flags = GP_COLUMN_WIDE | GP_FIELD_NULL, .keep = GP_KEEP_I64,
     .merge = GP_MERGE_SUM},
    {"waves", "Waves", GP_CELL_REAL, get_waves, AT(waves_ns),
     .help = "blocks / blocks that fit at once, weighted by time", .flags = GP_COLUMN_WIDE | GP_FIELD_NULL,
     .keep = GP_KEEP_I64, .merge = GP_MERGE_SUM},
    {"blocks_min", "Blocks min", GP_CELL_COUNT, get_blocks, AT(blocks_min), .help = "smallest grid",
     .flags = GP_COLUMN_WIDE | GP_FIELD_NULL, .keep = GP_KEEP_U64, .merge = GP_MERGE_MIN_SET},
    {"blocks_max", "Blocks max", GP_CELL_COUNT, get_blocks, AT(blocks_max), .help = "largest grid",
     .flags = GP_COLUMN_WIDE | GP_FIELD_NULL, .keep = GP_KEEP_U64, .merge = GP_MERGE_MAX},
    {"bytes", "Bytes", GP_CELL_BYTES, get_bytes, AT(bytes), .help = "of copies and sets",
     .flags = GP_COLUMN_WIDE | GP_FIELD_NULL, .keep = GP_KEEP_I64, .merge = GP_MERGE_SUM},
    {.at = AT(occupancy_known_ns), .keep = GP_KEEP_I64, .merge = GP_MERGE_SUM},
};
#undef AT

static uint8_t kernel_colour(const void *row)
{
    return gp_row_of_kind(((const struct gp_kernel_stat *)row)->kind, class_of(row));
}

const struct gp_record gp_hta_kernels = {
    "kernels",
    "GPU time by kernel",
    GP_FIELDS(kernel_fields),
    sizeof(struct gp_kernel_stat),
    .note = "every GPU event by full name and class, by total_ns; with --top 0 the sums of count and "
            "total_ns are the trace's",
    .rest = {{"count", "count"}, {"total_ns", "total_ns"}},
    .colour = kernel_colour};

struct gp_row_of gp_hta_kernels_of(const struct gp_hta *h)
{
    int64_t all_ns = 0;
    for (size_t i = 0; i < h->kernels.n; i++) all_ns = gp_add_saturated(all_ns, h->kernels.at[i].dur.sum);
    return gp_hta_rows_of(h, all_ns);
}

#define AT(member) offsetof(struct gp_owner_stat, member)

GP_GETTER(get_owner) { gp_cell_owner(c, f, row, x, "(outside any)"); }

static const struct gp_field owner_fields[] = {
    {.at = AT(sort), .keep = GP_KEEP_U32, .merge = GP_MERGE_KEY, .below = GP_OWNER_SORTS},
    {.at = AT(self_ns), .keep = GP_KEEP_I64, .merge = GP_MERGE_SUM},
    {"name", "Launched in", GP_CELL_NAME, get_owner, AT(name), .help = "null: outside of any",
     .flags = GP_FIELD_NULL, .keep = GP_KEEP_STR, .merge = GP_MERGE_KEY},
    {"calls", "Calls", GP_CELL_COUNT, gp_member_u64, AT(calls), .help = "calls that launched GPU events",
     .keep = GP_KEEP_U64, .merge = GP_MERGE_SUM},
    {"gpu_events", "Kernels", GP_CELL_COUNT, gp_member_u64, AT(gpu_events), .help = "GPU events launched",
     .keep = GP_KEEP_U64, .merge = GP_MERGE_SUM},
    {"gpu_ns", "GPU time", GP_CELL_NS, gp_member_i64, AT(gpu_ns), .help = "sum of their durations",
     .keep = GP_KEEP_I64, .merge = GP_MERGE_SUM},
    {"share_pct", "Share", GP_CELL_PCT, gp_member_share, AT(gpu_ns),
     .help = "of the durations of all GPU events"},
    {"host_ns", "Host time", GP_CELL_NS, gp_member_i64, AT(host_ns),
     .help = "sum of the durations of those calls", .flags = GP_FIELD_TIMED, .keep = GP_KEEP_I64,
     .merge = GP_MERGE_SUM},
    {"delay", NULL, GP_CELL_DIST, gp_member_dist, AT(delay),
     .help = "from the end of the launch to the start", .flags = GP_FIELD_TIMED, .unit = "_ns",
     .keep = GP_KEEP_DIST},
    {"delay_mean_ns", "Delay", GP_CELL_NS_REAL, gp_member_mean, AT(delay),
     .help = "mean time from the end of the launch to the start",
     .flags = GP_COLUMN_SPARE | GP_FIELD_TABLES | GP_FIELD_TIMED},
};

static const struct gp_field function_fields[] = {
    {"name", "Function", GP_CELL_NAME, gp_member_name, AT(name),
     .help = "with the line that most launches have"},
    {"gpu_events", "Kernels", GP_CELL_COUNT, gp_member_u64, AT(gpu_events),
     .help = "GPU events launched in it or in what it calls"},
    {"gpu_ns", "GPU time", GP_CELL_NS, gp_member_i64, AT(gpu_ns), .help = "sum of their durations"},
    {"share_pct", "Share", GP_CELL_PCT, gp_member_share, AT(gpu_ns),
     .help = "of the durations of all GPU events; a function's is part of its callers'"},
    {"self_ns", "Itself", GP_CELL_NS, gp_member_i64, AT(self_ns),
     .help = "of it, launched in no other function that it calls"},
};
#undef AT

#define OWNER(word, words)                                                                                   \
    {                                                                                                        \
        .id = words, .title = "GPU time by " word, GP_FIELDS(owner_fields),                                  \
        .size = sizeof(struct gp_owner_stat),                                                                \
        .note = "GPU time by the " word " that launched it, by gpu_ns", .rest = {                            \
            {"gpu_events", "gpu_events"},                                                                    \
            {"gpu_ns", "gpu_ns"}                                                                             \
        }                                                                                                    \
    }
const struct gp_record gp_hta_owners[GP_OWNER_SORTS] = {OWNER("operator", "operators"),
                                                        OWNER("range", "ranges"),
                                                        OWNER("module", "modules"),
                                                        {.id = "functions",
                                                         .title = "GPU time by function",
                                                         GP_FIELDS(function_fields),
                                                         .size = sizeof(struct gp_owner_stat),
                                                         .note =
                                                             "GPU time by the functions around its launch, "
                                                             "by gpu_ns; those that only samples show and "
                                                             "glue of the framework are left out"}};

struct gp_owner_rows gp_hta_owner_rows(const struct gp_hta *h, enum gp_owner_sort sort)
{
    struct gp_owner_rows r = {0};
    GP_EACH(const struct gp_owner_stat, o, h->owners) {
        if (o->sort != (uint32_t)sort) continue;
        if (!r.n++) r.at = o;
        if (o->gpu_events) r.launched = r.n;
        r.named |= o->name != 0;
        r.gpu_ns = gp_add_saturated(r.gpu_ns, o->gpu_ns);
    }
    return r;
}

/* ---- kernels ---- */

static uint64_t kernel_key(uint32_t kind, gp_sid name) { return (uint64_t)kind << 32 | name; }

GP_COMPARE_IN(by_sort_and_time, struct gp_owner_stat, struct gp_hta,
              GP_UP(sort) GP_DOWN(gpu_ns) GP_THEN(gp_hta_order(of, x->name, y->name)))
GP_COMPARE_IN(by_time, struct gp_kernel_stat, struct gp_hta,
              GP_DOWN(dur.sum) GP_THEN(gp_hta_order(of, x->name, y->name)) GP_UP(kind))

static const struct gp_hta_list lists[] = {
    {&gp_hta_kernels, offsetof(struct gp_hta, kernels), .map = offsetof(struct gp_hta_work, kernels),
     .limit = offsetof(struct gp_hta_bound, kernel_limit), .order = by_time},
    {&gp_hta_owners[0], offsetof(struct gp_hta, owners), .map = offsetof(struct gp_hta_work, owners),
     .limit = offsetof(struct gp_hta_bound, owner_limit), .order = by_sort_and_time},
};

/* What all GPU events of a config have in common. */
struct config_use {
    uint32_t kernel; /* index into h->kernels; NONE: not looked at */
    uint32_t device; /* that `occupancy` is of, plus 1 */
    struct gp_occupancy occupancy;
    bool matrix, could_matrix;
};

struct adder {
    struct gp_hta *h;
    const struct gp_view *v;
    struct config_use *configs;
    struct gp_map names; /* kind << 32 | name in the trace -> config that has it looked up */
};

/* Kernels that are not matrix products do not use matrix units. For the others only the name shows it; most
 * handwritten and Triton kernels have names that do not. */
static int32_t uses_matrix(enum gp_frame_kind kind, enum gp_matrix_use use)
{
    bool may = kind == GP_FRAME_COMPUTE || kind == GP_FRAME_GEMM || kind == GP_FRAME_ATTENTION;
    if (use == GP_MATRIX_YES && may) return 1;
    return use == GP_MATRIX_UNKNOWN && may ? -1 : 0;
}

/* Our collector, the only one that records clocks, has the driver's mangled names. Names of other profilers
 * stay as they are, even the few mangled ones: their users know them in that form, and other tools sum by
 * them. */
static void name_kernel(struct adder *a, struct config_use *u, const struct gp_config *c,
                        enum gp_frame_kind kind)
{
    const struct gp_trace *t = a->v->t;
    struct gp_buf full = {0};
    const char *recorded = gp_trace_str(t, c->name);
    size_t n = gp_string_len(&t->strings, c->name);
    gp_name_demangle(&full, recorded, n);
    gp_sid name = t->clocks.n ? gp_intern(&a->h->strings, full.n ? full.data : "", full.n)
                              : gp_intern(&a->h->strings, recorded, n);
    struct gp_kernel_stat *k =
        gp_hta_row(a->h, &lists[0], &(struct gp_kernel_stat){.name = name, .kind = kind});
    if (kind == GP_FRAME_COMPUTE || kind == GP_FRAME_GEMM || kind == GP_FRAME_ATTENTION) {
        enum gp_matrix_use use = gp_matrix_use_of(full.n ? full.data : "", full.n);
        u->matrix = use == GP_MATRIX_YES;
        u->could_matrix = u->matrix || use == GP_MATRIX_NO;
        k->tensor_core = uses_matrix(kind, use);
    }
    u->kernel = (uint32_t)(k - a->h->kernels.at);
    gp_buf_release(&full);
}

static struct config_use *use_of(struct adder *a, uint32_t row, uint32_t device)
{
    const struct gp_trace *t = a->v->t;
    uint32_t config = gp_get_config(&t->events[GP_GPU], row);
    struct config_use *u = &a->configs[config];
    if (u->device == device + 1) return u;
    const struct gp_config *c = &t->configs.at[config];
    if (u->kernel == NONE) {
        enum gp_frame_kind kind = gp_view_kind(a->v, row);
        uint32_t first = *gp_map_put(&a->names, kernel_key(kind, c->name), config);
        if (first == config) name_kernel(a, u, c, kind);
        else *u = a->configs[first];
    }
    gp_occupancy_of(&u->occupancy, t, c, a->v->devices.at[device].props);
    u->device = device + 1;
    return u;
}

static void count_blocks(struct gp_kernel_stat *k, uint64_t blocks)
{
    if (!blocks) return;
    if (!k->blocks_max || blocks < k->blocks_min) k->blocks_min = blocks;
    if (blocks > k->blocks_max) k->blocks_max = blocks;
}

static void add_event(struct adder *a, struct gp_hta_device *d, const struct config_use *u, uint32_t row)
{
    const struct gp_events *gpu = &a->v->t->events[GP_GPU];
    struct gp_kernel_stat *k = &a->h->kernels.at[u->kernel];
    int64_t dur = gpu->dur_ns[row], bytes = gp_get_bytes(gpu, row);
    const struct gp_occupancy *o = &u->occupancy;
    gp_histogram_add(&k->dur, dur);
    if (gp_gpu_config(a->v->t, row)->kind != GP_KERNEL) {
        if (bytes > 0) k->bytes = gp_add_saturated(k->bytes, bytes);
        return;
    }
    d->kernel_ns = gp_add_saturated(d->kernel_ns, dur);
    if (u->matrix) d->tensor_core_ns = gp_add_saturated(d->tensor_core_ns, dur);
    if (u->could_matrix) d->gemm_ns = gp_add_saturated(d->gemm_ns, dur);
    count_blocks(k, o->blocks);
    if (!o->known) return;
    int64_t occupied = whole_ns(o->achieved, dur);
    k->occupancy_ns = gp_add_saturated(k->occupancy_ns, occupied);
    k->waves_ns = gp_add_saturated(k->waves_ns, whole_ns(o->waves, dur));
    k->occupancy_known_ns = gp_add_saturated(k->occupancy_known_ns, dur);
    d->occupancy_ns = gp_add_saturated(d->occupancy_ns, occupied);
    d->occupancy_known_ns = gp_add_saturated(d->occupancy_known_ns, dur);
}

/* ---- estimated SM efficiency ---- */

/* Kernels that run. Blocks per SM are whole numbers of 2^-20. */
enum { ONE_BLOCK = 1 << 20 };

struct running {
    int64_t end_ns;
    uint64_t blocks;
};

struct sm_sweep {
    GP_VEC(struct running) heap; /* end_heap.h */
    uint64_t blocks;             /* of all that run */
    int64_t at_ns;
    double sum;
};

static void advance(struct sm_sweep *s, int64_t to_ns)
{
    uint64_t blocks = s->blocks < ONE_BLOCK ? s->blocks : ONE_BLOCK;
    s->sum += (double)blocks * (double)(to_ns - s->at_ns);
    s->at_ns = to_ns;
}

static void advance_and_end(struct sm_sweep *s, int64_t to_ns)
{
    while (s->heap.n && s->heap.at[0].end_ns <= to_ns) {
        advance(s, s->heap.at[0].end_ns);
        s->blocks -= s->heap.at[0].blocks;
        GP_END_POP(&s->heap, struct running);
    }
    advance(s, to_ns);
}

/* ---- the kernels of one device ---- */

struct kernel_sum {
    uint64_t calls;
    int64_t ns;
    const char *name;
    uint32_t kernel; /* index into h->kernels */
};

struct kernel_sums {
    GP_VEC(struct kernel_sum) at; /* of the kernels that the device ran, the first run first */
    struct gp_map of_kernel;      /* -> index into AT */
};

static void sum_kernel(struct kernel_sums *s, uint32_t kernel, int64_t ns)
{
    uint32_t at = *gp_map_put(&s->of_kernel, kernel, (uint32_t)s->at.n);
    if (at == s->at.n) GP_VEC_PUSH(&s->at, ((struct kernel_sum){.kernel = kernel}));
    s->at.at[at].calls++;
    s->at.at[at].ns = gp_add_saturated(s->at.at[at].ns, ns);
}

GP_COMPARE(largest_sum_first, struct kernel_sum, GP_DOWN(ns) GP_THEN(strcmp(x->name, y->name)) GP_UP(kernel))

/* The largest computing kernels, for comparisons between ranks. */
static void keep_sums(const struct gp_hta *h, struct kernel_sums *s, struct gp_hta_device *d)
{
    size_t n = 0;
    for (size_t i = 0; i < s->at.n; i++) {
        const struct gp_kernel_stat *k = &h->kernels.at[s->at.at[i].kernel];
        if (gp_class_of((enum gp_frame_kind)k->kind) != GP_CLASS_COMPUTE) continue;
        s->at.at[n] = s->at.at[i];
        s->at.at[n++].name = gp_hta_str(h, k->name);
    }
    if (n) qsort(s->at.at, n, sizeof *s->at.at, largest_sum_first);
    for (size_t i = 0; i < n && i < GP_FLEET_KERNELS; i++)
        GP_VEC_PUSH(&d->kernels, ((struct gp_device_kernel){h->kernels.at[s->at.at[i].kernel].name,
                                                            s->at.at[i].calls, s->at.at[i].ns}));
    GP_VEC_FREE(&s->at);
    gp_map_release(&s->of_kernel);
}

static void add_device(struct adder *a, uint32_t device, struct gp_hta_device *d)
{
    const struct gp_events *gpu = &a->v->t->events[GP_GPU];
    const struct gp_view_device *from = &a->v->devices.at[device];
    struct kernel_sums sums = {0};
    struct sm_sweep s = {0};
    if (from->n) s.at_ns = gpu->start_ns[a->v->rows[from->first]];
    for (size_t i = 0; i < from->n; i++) {
        uint32_t row = a->v->rows[from->first + i];
        const struct config_use *u = use_of(a, row, device);
        add_event(a, d, u, row);
        sum_kernel(&sums, u->kernel, gpu->dur_ns[row]);
        int64_t dur = gpu->dur_ns[row];
        if (u->occupancy.blocks_per_sm <= 0) continue;
        d->sm_known_ns = gp_add_saturated(d->sm_known_ns, dur);
        advance_and_end(&s, gpu->start_ns[row]);
        double blocks = u->occupancy.blocks_per_sm < 1 ? u->occupancy.blocks_per_sm * ONE_BLOCK
                                                       : ONE_BLOCK; /* more than 1 counts as 1 */
        struct running r = {gpu->start_ns[row] + dur, (uint64_t)(blocks + 0.5)};
        s.blocks += r.blocks;
        GP_END_PUSH(&s.heap, struct running, r);
    }
    advance_and_end(&s, INT64_MAX / 2); /* nothing runs any more at the end */
    d->sm_ns = s.sum / ONE_BLOCK;
    keep_sums(a->h, &sums, d);
    GP_VEC_FREE(&s.heap);
}

/* ---- owners ---- */

static uint32_t owner_of(struct gp_hta *h, uint32_t sort, gp_sid name)
{
    const struct gp_owner_stat *o =
        gp_hta_row(h, &lists[1], &(struct gp_owner_stat){.sort = sort, .name = name});
    return (uint32_t)(o - h->owners.at);
}

struct owners {
    struct gp_hta *h;
    const struct gp_view *v;
    enum gp_owner_sort sort;
    enum gp_table table;
    uint8_t *module;           /* by name of the trace: 1 no nn.Module, 2 one, 0 not looked at */
    bool any;                  /* there are events of the sort */
    struct gp_host_memo inner; /* the innermost event of the sort */
    uint8_t *seen;             /* by host event: it has launched something */
    struct gp_map named;       /* name in the trace -> owner */
    struct gp_backward backward;
    struct gp_host_memo backwards; /* the innermost operator of the backward pass */
    struct gp_captured captured;
    struct gp_map replays; /* ranges of a capture << 32 | host event: replayed it already */
};

static bool is_of_sort(struct owners *o, const struct gp_host_event *ev)
{
    if (ev->table != (uint32_t)o->table) return false;
    if (o->sort != GP_OWNER_MODULE) return true;
    const struct gp_trace *t = o->v->t;
    gp_sid name = t->events[GP_PYTHON].name[ev->row];
    uint8_t *known = &o->module[name];
    if (!*known) *known = gp_name_is_module(gp_trace_str(t, name), gp_string_len(&t->strings, name)) ? 2 : 1;
    return *known == 2;
}

static uint32_t of_sort_in(void *ctx, uint32_t node, uint32_t around)
{
    struct owners *o = ctx;
    return is_of_sort(o, &o->v->hs.nodes[node]) ? node : around;
}

/* The innermost event of the sort, NODE or around it; NONE. */
static uint32_t inner_of(struct owners *o, uint32_t node)
{
    return o->any ? gp_host_memo_get(&o->inner, node, of_sort_in, o) : NONE;
}

static uint32_t backward_in(void *ctx, uint32_t node, uint32_t around)
{
    const struct gp_view *v = ctx;
    const struct gp_host_event *e = &v->hs.nodes[node];
    if (e->table != GP_OP) return around;
    gp_sid name = v->t->events[GP_OP].name[e->row];
    return gp_name_is_backward(gp_trace_str(v->t, name), gp_string_len(&v->t->strings, name)) ? node : around;
}

/* The threads of the backward pass run no modules: the forward operator of the node was in one. */
static uint32_t module_of_backward(struct owners *o, uint32_t node)
{
    node = gp_host_memo_get(&o->backwards, node, backward_in, (void *)(uintptr_t)o->v);
    return node == GP_HOST_NONE ? NONE : inner_of(o, gp_backward_origin(&o->backward, node));
}

static uint32_t owner_named(struct owners *o, const char *text, size_t n)
{
    struct gp_buf label = {0};
    gp_name_label(&label, o->table, text, n);
    if (!label.n) gp_buf_puts(&label, "[no name]");
    return owner_of(o->h, o->sort, gp_intern_buf(&o->h->strings, &label));
}

static uint32_t owner_of_event(struct owners *o, uint32_t event)
{
    const struct gp_trace *t = o->v->t;
    gp_sid name = t->events[o->table].name[o->v->hs.nodes[event].row];
    uint32_t *known = gp_map_put(&o->named, name, NONE);
    if (*known == NONE) *known = owner_named(o, gp_trace_str(t, name), gp_string_len(&t->strings, name));
    return *known;
}

/* The innermost range that work of a graph was captured under, unless that is around the replay as well;
 * NONE. */
static uint32_t owner_of_capture(struct owners *o, uint32_t row)
{
    gp_sid captured = gp_get_captured(&o->v->t->events[GP_GPU], row);
    if (!captured || o->sort != GP_OWNER_RANGE) return NONE;
    const struct gp_captured_name *rest;
    size_t n = gp_captured_rest(&o->captured, o->v->at.node[row], gp_captured_path(&o->captured, captured, 0),
                                &rest);
    return n ? owner_named(o, rest[n - 1].text, rest[n - 1].n) : NONE;
}

/* The first item that a host event launches counts its call and its time. */
static void see_event(struct owners *o, struct gp_owner_stat *s, uint32_t event)
{
    uint8_t bit = (uint8_t)(1 << event % 8);
    if (o->seen[event / 8] & bit) return;
    o->seen[event / 8] |= bit;
    s->calls++;
    s->host_ns = gp_add_saturated(s->host_ns, o->v->t->events[o->table].dur_ns[o->v->hs.nodes[event].row]);
}

/* Each replay of a range counts as a call; the host spends no time there. */
static void see_replay(struct owners *o, struct gp_owner_stat *s, uint32_t row)
{
    uint32_t node = o->v->at.node[row];
    uint64_t key = (uint64_t)o->v->t->events[GP_GPU].captured[row] << 32 | node;
    uint32_t *seen = gp_map_put(&o->replays, key, 0);
    s->calls += node != GP_HOST_NONE && !*seen;
    *seen = 1;
}

static void add_owned(struct owners *o, uint32_t row, uint32_t nobody)
{
    const struct gp_trace *t = o->v->t;
    const struct gp_events *gpu = &t->events[GP_GPU], *api = &t->events[GP_API];
    uint32_t node = o->v->at.node[row], event = inner_of(o, node), capture = owner_of_capture(o, row);
    if (event == NONE && o->any && o->sort == GP_OWNER_MODULE) event = module_of_backward(o, node);
    uint32_t owner = capture != NONE ? capture
                     : event == NONE ? nobody
                                     : owner_of_event(o, event); /* which may move the owners */
    struct gp_owner_stat *s = &o->h->owners.at[owner];
    if (capture != NONE) see_replay(o, s, row);
    else if (event != NONE) see_event(o, s, event);
    s->gpu_events++;
    s->gpu_ns = gp_add_saturated(s->gpu_ns, gpu->dur_ns[row]);
    uint32_t call = gp_view_launch(o->v, row);
    if (call == UINT32_MAX) return;
    int64_t delay = gpu->start_ns[row] - (api->start_ns[call] + api->dur_ns[call]);
    if (delay >= 0) gp_histogram_add(&s->delay, delay);
}

static void add_owners(struct gp_hta *h, const struct gp_view *v, enum gp_owner_sort sort,
                       enum gp_table table)
{
    const struct gp_trace *t = v->t;
    struct owners o = {
        .h = h, .v = v, .sort = sort, .table = table, .inner.hs = &v->hs, .backwards.hs = &v->hs};
    o.any = t->events[table].n && v->hs.n;
    bool modules = o.any && sort == GP_OWNER_MODULE;
    gp_captured_init(&o.captured, &v->hs, true);
    if (o.any) o.seen = gp_zalloc(v->hs.n / 8 + 1);
    if (modules) {
        o.module = gp_zalloc(t->strings.n);
        gp_backward_build(&o.backward, t, &v->hs);
    }
    uint32_t nobody = t->events[GP_GPU].n ? owner_of(h, sort, 0) : 0;
    for (uint32_t i = 0; i < t->events[GP_GPU].n; i++) add_owned(&o, i, nobody);
    if (modules) gp_backward_release(&o.backward);
    GP_RELEASE(gp_host_memo_release, &o.inner, &o.backwards);
    GP_RELEASE(gp_map_release, &o.named, &o.replays);
    gp_captured_release(&o.captured);
    GP_RELEASE(free, o.module, o.seen);
}

/* ---- functions: of all around a launch, those that more than samples show ---- */

struct work {
    int64_t ns;
    uint64_t events;
};

struct functions {
    struct gp_hta *h;
    const struct gp_view *v;
    struct gp_captured captured;
    struct gp_map owner;   /* name of a row -> owner + 1; 0: it is left out */
    struct gp_map work_of; /* host event, path of a capture -> index into work */
    GP_VEC(struct work) work;
    GP_VEC(uint64_t) keys;  /* of work */
    GP_VEC(uint32_t) stack; /* owners, innermost first */
};

static uint32_t function_named(struct functions *f, const char *text, size_t n)
{
    if (gp_name_is_glue(text, n) || gp_name_is_module(text, n)) return 0;
    struct gp_buf label = {0};
    gp_name_python_label(&label, text, n);
    gp_sid name = gp_intern_buf(&f->h->strings, &label);
    return name ? owner_of(f->h, GP_OWNER_FUNCTION, name) + 1 : 0;
}

static uint32_t function_of_row(struct functions *f, uint32_t row)
{
    const struct gp_trace *t = f->v->t;
    const struct gp_events *e = &t->events[GP_PYTHON];
    if (gp_category_is_sampled(gp_trace_str(t, gp_get_cat(e, row)))) return 0;
    uint32_t *known = gp_map_put(&f->owner, e->name[row], NONE);
    if (*known == NONE)
        *known = function_named(f, gp_trace_str(t, e->name[row]), gp_string_len(&t->strings, e->name[row]));
    return *known;
}

/* The functions around NODE and the rest of a capture, which is further in. */
static void find_functions(struct functions *f, uint32_t node, uint32_t path)
{
    const struct gp_captured_name *rest;
    size_t n = path != NONE ? gp_captured_rest(&f->captured, node, path, &rest) : 0;
    f->stack.n = 0;
    while (n--)
        if (rest[n].table == GP_PYTHON) GP_VEC_PUSH(&f->stack, function_named(f, rest[n].text, rest[n].n));
    for (; node != GP_HOST_NONE; node = f->v->hs.nodes[node].parent)
        if (f->v->hs.nodes[node].table == GP_PYTHON)
            GP_VEC_PUSH(&f->stack, function_of_row(f, f->v->hs.nodes[node].row));
}

static void add_work(struct functions *f, const struct work *w)
{
    bool innermost = true;
    for (size_t i = 0; i < f->stack.n; i++) {
        uint32_t owner = f->stack.at[i];
        bool again = !owner;
        for (size_t k = 0; k < i && !again; k++) again = f->stack.at[k] == owner; /* it calls itself */
        if (again) continue;
        struct gp_owner_stat *s = &f->h->owners.at[owner - 1];
        s->gpu_events += w->events;
        s->gpu_ns = gp_add_saturated(s->gpu_ns, w->ns);
        if (innermost) s->self_ns = gp_add_saturated(s->self_ns, w->ns);
        innermost = false;
    }
}

static void add_functions(struct gp_hta *h, const struct gp_view *v)
{
    const struct gp_events *gpu = &v->t->events[GP_GPU];
    if (!v->t->events[GP_PYTHON].n && !gpu->stack) return;
    struct functions f = {.h = h, .v = v};
    struct gp_host_memo function = {.hs = &v->hs};
    gp_captured_init(&f.captured, &v->hs, true);
    for (uint32_t i = 0; i < gpu->n; i++) {
        uint32_t stack = gp_get_stack(gpu, i), path = NONE;
        if (stack) path = gp_captured_path(&f.captured, gp_get_captured(gpu, i), stack);
        uint32_t node = gp_host_memo_innermost(&function, v->at.node[i], GP_PYTHON);
        uint64_t key = (uint64_t)node << 32 | path;
        uint32_t at = *gp_map_put(&f.work_of, key, (uint32_t)f.work.n);
        if (at == f.work.n) {
            GP_VEC_PUSH(&f.work, (struct work){0});
            GP_VEC_PUSH(&f.keys, key);
        }
        f.work.at[at].ns = gp_add_saturated(f.work.at[at].ns, gpu->dur_ns[i]);
        f.work.at[at].events++;
    }
    for (size_t i = 0; i < f.work.n; i++) {
        find_functions(&f, (uint32_t)(f.keys.at[i] >> 32), (uint32_t)f.keys.at[i]);
        add_work(&f, &f.work.at[i]);
    }
    gp_host_memo_release(&function);
    gp_captured_release(&f.captured);
    GP_RELEASE(gp_map_release, &f.owner, &f.work_of);
    GP_RELEASE(gp_vec_free, &f.work, &f.keys, &f.stack);
}

static void add(struct gp_hta *h, const struct gp_view *v)
{
    struct adder a = {.h = h, .v = v};
    a.configs = gp_zalloc((v->t->configs.n + 1) * sizeof *a.configs);
    for (size_t i = 0; i < v->t->configs.n; i++) a.configs[i].kernel = NONE;
    for (uint32_t d = 0; d < v->devices.n; d++) add_device(&a, d, &h->devices.at[d]);
    free(a.configs);
    gp_map_release(&a.names);
    add_owners(h, v, GP_OWNER_OP, GP_OP);
    add_owners(h, v, GP_OWNER_RANGE, GP_RANGE);
    add_owners(h, v, GP_OWNER_MODULE, GP_PYTHON);
    add_functions(h, v);
}

/* ---- order ---- */

const struct gp_hta_section gp_hta_kernels_section = {lists, GP_COUNT(lists), .add = add, .inside = true};
