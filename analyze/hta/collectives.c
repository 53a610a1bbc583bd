
#include <stdlib.h>
#include <string.h>
#include "analyze/hta/hta.h"
#include "analyze/hta/hta_priv.h"
#include "analyze/hta/nccl.h"
#include "analyze/math/sums.h"
#include "analyze/names/args.h"
#include "analyze/names/names.h"
#include "formats/base/buf.h"
#include "formats/base/count.h"
#include "formats/base/scale.h"

/* ---- fields ---- */

#define AT(member) offsetof(struct gp_collective, member)
static const struct gp_field collective_fields[] = {
    {.at = AT(rank), .keep = GP_KEEP_I32},       {.at = AT(device), .keep = GP_KEEP_I64},
    {.at = AT(stream), .keep = GP_KEEP_I64},     {.at = AT(op), .keep = GP_KEEP_STR},
    {.at = AT(group), .keep = GP_KEEP_STR},      {.at = AT(ranks), .keep = GP_KEEP_STR},
    {.at = AT(kernel), .keep = GP_KEEP_STR},     {.at = AT(dtype), .keep = GP_KEEP_STR},
    {.at = AT(seq), .keep = GP_KEEP_U64},        {.at = AT(order), .keep = GP_KEEP_U32},
    {.at = AT(group_size), .keep = GP_KEEP_U32}, {.at = AT(calls), .keep = GP_KEEP_U32},
    {.at = AT(src_rank), .keep = GP_KEEP_I32},   {.at = AT(dst_rank), .keep = GP_KEEP_I32},
    {.at = AT(bytes), .keep = GP_KEEP_I64},      {.at = AT(start_ns), .keep = GP_KEEP_I64},
    {.at = AT(end_ns), .keep = GP_KEEP_I64},
};
#undef AT

static const struct gp_record collectives = {"collective", NULL, GP_FIELDS(collective_fields),
                                             sizeof(struct gp_collective),
                                             .note = "each one, until they are matched"};

#define AT(member) offsetof(struct gp_collective_stat, member)

GP_GET_UNLESS(get_group_size, void, gp_member_u32, !c->i)

GP_GET_UNLESS(get_calls, void, gp_member_u64, !c->i)

GP_GETTER_OF(get_mean_bytes, struct gp_collective_stat, s)
{
    c->none = s->bytes < 0;
    c->i = s->bytes > 0 && s->count ? s->bytes / (int64_t)s->count : s->bytes;
}

#define TABLES GP_FIELD_TABLES
static const struct gp_field stat_fields[] = {
    {"operation", "Operation", GP_CELL_NAME, gp_member_sid, AT(op), .help = "all_reduce, all_gather, ..."},
    {"group", "Group", GP_CELL_NAME, gp_member_name, AT(group), .help = "process group",
     .flags = GP_COLUMN_SPARE | GP_FIELD_NULL},
    {"type", "Type", GP_CELL_NAME, gp_member_name, AT(dtype), .flags = GP_COLUMN_WIDE | GP_FIELD_NULL},
    {"group_size", "Ranks", GP_CELL_ID, get_group_size, AT(group_size), .help = "of the group",
     .flags = GP_FIELD_NULL, .after = "group"},
    {"count", "Count", GP_CELL_COUNT, gp_member_u64, AT(count), .help = "collectives"},
    {"calls", "Calls", GP_CELL_COUNT, get_calls, AT(calls), .help = "NCCL calls served, where known",
     .flags = GP_FIELD_NULL},
    {"mean_bytes", "Each", GP_CELL_BYTES, get_mean_bytes, 0, .help = "mean size, where known",
     .flags = TABLES | GP_FIELD_NULL},
    {"bytes", "Bytes", GP_CELL_BYTES, gp_member_known_i64, AT(bytes), .help = "in all, where known",
     .flags = GP_COLUMN_WIDE | GP_FIELD_NULL},
    {"duration", NULL, GP_CELL_DIST, gp_member_dist, AT(dur), .help = "waiting included", .unit = "_ns",
     .keep = GP_KEEP_DIST},
    {"duration_total_ns", "Total", GP_CELL_NS, gp_member_total, AT(dur),
     .help = "sum of durations, waiting included", .flags = TABLES},
    {"duration_mean_ns", "Mean", GP_CELL_NS_REAL, gp_member_mean, AT(dur), .flags = TABLES | GP_COLUMN_SPARE},
    {"duration_max_ns", "Max", GP_CELL_NS, gp_member_max, AT(dur), .flags = TABLES | GP_COLUMN_WIDE},
    {"start_skew", NULL, GP_CELL_DIST, gp_member_dist, AT(skew),
     .help = "last start - first start over the ranks", .unit = "_ns", .keep = GP_KEEP_DIST},
    {"start_skew_mean_ns", "Skew", GP_CELL_NS_REAL, gp_member_mean, AT(skew),
     .help = "mean of last start - first start over the ranks", .flags = TABLES | GP_FIELD_NULL},
    {"start_skew_max_ns", "Skew max", GP_CELL_NS, gp_member_max, AT(skew),
     .flags = TABLES | GP_COLUMN_WIDE | GP_FIELD_NULL},
    {"algorithm_bandwidth_gbps", "Alg. bandwidth", GP_CELL_GBPS, gp_member_positive_double, AT(algbw_gbps),
     .help = "bytes / duration of the median collective", .flags = GP_COLUMN_WIDE | GP_FIELD_NULL},
    {"bus_bandwidth_gbps", "Bus bw.", GP_CELL_GBPS, gp_member_positive_double, AT(busbw_gbps),
     .help = "algorithm bandwidth x the operation's bus factor", .flags = GP_FIELD_NULL},
};
#undef TABLES
#undef AT

const struct gp_record gp_hta_collectives = {"collectives",
                                             "Communication",
                                             GP_FIELDS(stat_fields),
                                             sizeof(struct gp_collective_stat),
                                             .note = "collectives by operation, group and type",
                                             .rest = {{"count", "count"}, {"total_ns", "duration_total_ns"}}};

#define AT(member) offsetof(struct gp_collective_match, member)

GP_GET(get_matched_by, struct gp_collective_match, gp_cell_text(c, r->by_seq ? "sequence" : "order"))

static const char *const matched_by[] = {"sequence", "order", NULL};
static const struct gp_field match_fields[] = {
    {"operation", "Operation", GP_CELL_NAME, gp_member_sid, AT(op), .help = "all_reduce, all_gather, ..."},
    {"group", "Group", GP_CELL_NAME, gp_member_name, AT(group), .flags = GP_FIELD_NULL},
    {"type", "Type", GP_CELL_NAME, gp_member_name, AT(dtype), .flags = GP_FIELD_NULL},
    {"sequence", "Sequence", GP_CELL_ID, gp_member_id, AT(seq),
     .help = "number in the group, or position in order", .flags = GP_FIELD_NULL},
    {"matched_by", "Matched by", GP_CELL_TEXT, get_matched_by, 0, .help = "sequence or order",
     .words = matched_by},
    {"ranks", "Ranks", GP_CELL_COUNT, gp_member_u32, AT(ranks), .help = "that took part"},
    {"bytes", "Bytes", GP_CELL_BYTES, gp_member_known_i64, AT(bytes), .flags = GP_FIELD_NULL},
    {"start_skew_ns", "Start skew", GP_CELL_NS, gp_member_i64, AT(start_skew_ns),
     .help = "last start - first start, clocks aligned"},
    {"end_skew_ns", "End skew", GP_CELL_NS, gp_member_i64, AT(end_skew_ns), .help = "last end - first end"},
    {"duration_ns", "Duration", GP_CELL_NS, gp_member_i64, AT(duration_ns),
     .help = "the shortest over the ranks"},
    {"wait_ns", "Wait", GP_CELL_NS, gp_member_i64, AT(wait_ns),
     .help = "sum over ranks of last start - own start"},
    {"last_rank", "Last rank", GP_CELL_ID, gp_member_rank, AT(last_rank), .flags = GP_FIELD_NULL},
    {"algorithm_bandwidth_gbps", "Alg. bandwidth", GP_CELL_GBPS, gp_member_positive_double, AT(algbw_gbps),
     .flags = GP_FIELD_NULL},
    {"bus_bandwidth_gbps", "Bus bandwidth", GP_CELL_GBPS, gp_member_positive_double, AT(busbw_gbps),
     .flags = GP_FIELD_NULL},
};
#undef AT

const struct gp_record gp_hta_matches = {"matches", "Collectives matched over ranks", GP_FIELDS(match_fields),
                                         sizeof(struct gp_collective_match),
                                         .note = "one collective of several ranks"};

#define AT(member) offsetof(struct gp_straggler, member)

GP_GET(get_last_pct, struct gp_straggler,
       gp_cell_real(c, gp_pct((int64_t)r->times_last, (int64_t)r->matched)))

static const struct gp_field straggler_fields[] = {
    {"rank", "Rank", GP_CELL_ID, gp_member_rank, AT(rank), .flags = GP_FIELD_NULL},
    {"collectives", "Collectives", GP_CELL_COUNT, gp_member_u64, AT(matched),
     .help = "matched collectives it took part in"},
    {"times_last", "Last in", GP_CELL_COUNT, gp_member_u64, AT(times_last), .help = "of them"},
    {"last_pct", "Share", GP_CELL_PCT, get_last_pct, 0, .help = "times_last / collectives",
     .flags = GP_FIELD_TABLES},
    {"lateness_ns", "Late by", GP_CELL_NS, gp_member_i64, AT(lateness_ns),
     .help = "sum of own start - median start, where positive"},
    {"caused_wait_ns", "Others waited", GP_CELL_NS, gp_member_i64, AT(caused_wait_ns),
     .help = "in the collectives where it was last"},
};
#undef AT

const struct gp_record gp_hta_stragglers = {"stragglers", "Who came last", GP_FIELDS(straggler_fields),
                                            sizeof(struct gp_straggler),
                                            .note = "a rank and how late it came"};

#define AT(member) offsetof(struct gp_rank_offset, member)
static const struct gp_field offset_fields[] = {
    {"rank", "Rank", GP_CELL_ID, gp_member_rank, AT(rank), .flags = GP_FIELD_NULL},
    {"offset_ns", "Offset", GP_CELL_NS, gp_member_i64, AT(offset_ns), .help = "add it to the rank's clock",
     .flags = GP_FIELD_SIGNED},
    {"error_ns", "Error", GP_CELL_NS, gp_member_i64, AT(error_ns), .help = "median absolute deviation"},
    {"collectives", "Collectives", GP_CELL_COUNT, gp_member_u32, AT(pairs), .help = "used for the estimate"},
};
#undef AT

const struct gp_record gp_hta_offsets = {"clock_offsets", "Clocks of the ranks", GP_FIELDS(offset_fields),
                                         sizeof(struct gp_rank_offset),
                                         .note = "the clock of a rank, relative to the lowest"};

/* The data type that a kernel is compiled for: the first word of its name that is a type. Operations that
 * only move bytes are compiled for bytes, which shows nothing. */
static gp_sid kernel_dtype(struct gp_hta *h, const char *op, const char *name, size_t n)
{
    if (strcmp(op, "all_reduce") && strcmp(op, "reduce_scatter") && strcmp(op, "reduce")) return 0;
    for (size_t i = 0, end; i < n; i = end + 1) {
        for (end = i; end < n && name[end] != '_'; end++) continue;
        if (gp_dtype_bytes(name + i, end - i)) return gp_intern(&h->strings, name + i, end - i);
    }
    return 0;
}

/* ---- adding ---- */

/* What a kernel's name shows. */
struct kernel {
    gp_sid name, op, dtype;
};

/* What its args show; op 0: nothing. */
struct details {
    gp_sid op, group, ranks, dtype;
    uint64_t seq;
    uint32_t group_size;
    int32_t src_rank, dst_rank;
    int64_t bytes;
};

struct reading {
    struct gp_hta *h;
    const struct gp_view *v;
    struct gp_map kernel_of, details_of; /* by sid of name and of args */
    GP_VEC(struct kernel) kernels;
    GP_VEC(struct details) details;
    struct gp_nccl nccl; /* for kernels without args */
};

static const struct kernel *kernel_of(struct reading *r, gp_sid name)
{
    uint32_t *at = gp_map_put(&r->kernel_of, name, (uint32_t)r->kernels.n);
    if (*at == r->kernels.n) {
        struct gp_strings *strings = &r->h->strings;
        struct gp_buf full = {0}, function = {0};
        gp_name_demangle(&full, gp_trace_str(r->v->t, name), gp_string_len(&r->v->t->strings, name));
        gp_name_kernel_function(&function, full.data, full.n);
        const char *op = gp_collective_op(function.data, function.n);
        struct kernel k = {gp_intern(strings, full.data, full.n), gp_intern_cstr(strings, op), 0};
        k.dtype = kernel_dtype(r->h, op, function.data, function.n);
        GP_VEC_PUSH(&r->kernels, k);
        gp_buf_release(&full);
        gp_buf_release(&function);
    }
    return &r->kernels.at[*at];
}

/* Elements in and out, 0 where not recorded. The full message: the data that every rank ends or begins
 * with. */
static int64_t message_bytes(const char *op, uint64_t in, uint64_t out, uint32_t element)
{
    bool by_out = !strcmp(op, "all_gather") || !strcmp(op, "all_to_all") || !strcmp(op, "gather");
    uint64_t n = by_out ? (out ? out : in) : (in ? in : out);
    return element && n && n <= (uint64_t)INT64_MAX / element ? (int64_t)(n * element) : -1;
}

static int32_t rank_arg(const struct gp_arg *a)
{
    uint64_t v;
    return gp_arg_u64(a, &v) && v <= INT32_MAX ? (int32_t)v : -1;
}

static struct details read_details(struct gp_hta *h, const char *text)
{
    struct details d = {.seq = GP_NO_ID, .src_rank = -1, .dst_rank = -1, .bytes = -1};
    const char *op = NULL;
    uint64_t in = 0, out = 0, v;
    uint32_t element = 0;
    struct gp_arg a;
    for (const char *at = text; gp_args_next(&at, &a);) {
        if (gp_arg_is(&a, "Collective name")) op = gp_collective_op(a.value, a.n);
        else if (gp_arg_is(&a, "In msg nelems")) in = gp_arg_u64(&a, &v) ? v : 0;
        else if (gp_arg_is(&a, "Out msg nelems")) out = gp_arg_u64(&a, &v) ? v : 0;
        else if (gp_arg_is(&a, "Group size"))
            d.group_size = gp_arg_u64(&a, &v) && v <= UINT32_MAX ? (uint32_t)v : 0;
        else if (gp_arg_is(&a, "Process Group Name")) d.group = gp_intern(&h->strings, a.value, a.n);
        else if (gp_arg_is(&a, "Process Group Ranks")) d.ranks = gp_intern(&h->strings, a.value, a.n);
        else if (gp_arg_is(&a, "Seq")) d.seq = gp_arg_u64(&a, &v) ? v : GP_NO_ID;
        else if (gp_arg_is(&a, "Src Rank")) d.src_rank = rank_arg(&a);
        else if (gp_arg_is(&a, "Dst Rank")) d.dst_rank = rank_arg(&a);
        else if (gp_arg_is(&a, "dtype")) {
            element = gp_dtype_bytes(a.value, a.n);
            d.dtype = gp_intern(&h->strings, a.value, a.n);
        }
    }
    if (!op) return d;
    d.op = gp_intern_cstr(&h->strings, op);
    d.bytes = message_bytes(op, in, out, element);
    return d;
}

static const struct details *details_of(struct reading *r, gp_sid args)
{
    uint32_t *at = gp_map_put(&r->details_of, args, (uint32_t)r->details.n);
    if (*at == r->details.n) GP_VEC_PUSH(&r->details, read_details(r->h, gp_trace_str(r->v->t, args)));
    return &r->details.at[*at];
}

/* The same from NCCL's ranges. */
static struct details details_of_work(const struct gp_nccl_work *w)
{
    return (struct details){
        .op = w->op,
        .group = w->comm,
        .seq = GP_NO_ID,
        .group_size = w->ranks,
        .src_rank = w->rank,
        .dst_rank = w->peer,
        .bytes = w->bytes,
    };
}

static void add_collective(struct reading *r, const struct gp_view_device *device, uint32_t row)
{
    const struct gp_trace *t = r->v->t;
    const struct gp_events *gpu = &t->events[GP_GPU];
    struct kernel k = *kernel_of(r, gp_gpu_config(t, row)->name);
    struct details d = *details_of(r, gp_get_extra(gpu, row));
    const struct gp_nccl_work *w = d.op ? NULL : gp_nccl_work_of(&r->nccl, row);
    if (w) d = details_of_work(w);
    struct gp_collective c = {.rank = device->rank,
                              .device = device->device,
                              .stream = t->tracks.at[gpu->track[row]].stream,
                              .op = d.op ? d.op : k.op,
                              .group = d.group,
                              .ranks = d.ranks,
                              .kernel = k.name,
                              .dtype = d.dtype ? d.dtype : k.dtype,
                              .seq = d.seq};
    c.order = (uint32_t)r->h->collectives.n; /* order of arrival until all are there */
    c.group_size = d.group_size;
    c.calls = w ? w->calls : 0;
    c.src_rank = d.src_rank;
    c.dst_rank = d.dst_rank;
    c.bytes = d.bytes;
    c.start_ns = gpu->start_ns[row];
    c.end_ns = c.start_ns + gpu->dur_ns[row];
    GP_VEC_PUSH(&r->h->collectives, c);
}

void gp_hta_add_collectives(struct gp_hta *h, const struct gp_view *v)
{
    struct reading r = {.h = h, .v = v};
    gp_nccl_find(&r.nccl, v, &h->strings);
    GP_EACH(const struct gp_view_device, d, v->devices) {
        for (size_t k = d->first; k < d->first + d->n; k++)
            if (gp_view_class(v, v->rows[k]) == GP_CLASS_COMMUNICATION) add_collective(&r, d, v->rows[k]);
    }
    gp_map_release(&r.kernel_of);
    gp_map_release(&r.details_of);
    gp_nccl_release(&r.nccl);
    GP_VEC_FREE(&r.kernels);
    GP_VEC_FREE(&r.details);
}

/* Where they came from breaks ties. */
static void merged(struct gp_hta *to, size_t rows)
{
    for (size_t i = to->collectives.n - rows; i < to->collectives.n; i++)
        to->collectives.at[i].order = (uint32_t)i;
}

/* ---- finishing ---- */

GP_COMPARE(compare_collectives, struct gp_collective, GP_UP(rank) GP_UP(start_ns) GP_UP(order) GP_UP(device))

/* A collective for the table by operation, group, type and size, in powers of two. */
struct sample {
    const char *op, *group, *dtype;
    uint32_t group_size, index;
    int size;
    int64_t ns; /* duration of the transfer: the shortest of a match, otherwise its own */
};

static int size_class(int64_t bytes)
{
    int size = -1;
    for (; bytes > 0; bytes >>= 1) size++;
    return size;
}

GP_COMPARE(compare_kinds, struct sample,
           GP_THEN(strcmp(x->op, y->op)) GP_THEN(strcmp(x->group, y->group))
               GP_THEN(strcmp(x->dtype, y->dtype)) GP_UP(group_size) GP_UP(size))

GP_COMPARE(compare_samples, struct sample, GP_THEN(compare_kinds(x, y)) GP_UP(ns) GP_UP(index))

/* SAMPLES are all of one kind, by time. A match counts once, with its first collective. */
static void add_stat(struct gp_hta *h, const struct sample *samples, size_t n, const uint32_t *match_of,
                     bool *match_seen)
{
    const struct gp_collective *first = &h->collectives.at[samples[0].index];
    struct gp_collective_stat s = {.op = first->op,
                                   .group = first->group,
                                   .dtype = first->dtype,
                                   .group_size = first->group_size,
                                   .bytes = -1};
    for (size_t i = 0; i < n; i++) {
        const struct gp_collective *c = &h->collectives.at[samples[i].index];
        uint32_t m = match_of[samples[i].index];
        s.count++;
        s.calls += c->calls;
        if (c->bytes >= 0) s.bytes = gp_add_saturated(s.bytes < 0 ? 0 : s.bytes, c->bytes);
        gp_histogram_add(&s.dur, c->end_ns - c->start_ns);
        if (m == GP_NO_MATCH || match_seen[m]) continue;
        match_seen[m] = true;
        gp_histogram_add(&s.skew, h->matches.at[m].start_skew_ns);
    }
    const struct sample *median = &samples[(n - 1) / 2];
    s.algbw_gbps = gp_collective_bandwidth(h->collectives.at[median->index].bytes, median->ns);
    s.busbw_gbps = s.algbw_gbps * gp_collective_bus_factor(median->op, s.group_size);
    GP_VEC_PUSH(&h->collective_stats, s);
}

static void add_stats(struct gp_hta *h, const uint32_t *match_of)
{
    size_t n = h->collectives.n;
    struct sample *samples = gp_alloc((n + 1) * sizeof *samples);
    bool *match_seen = gp_zalloc(h->matches.n + 1);
    for (uint32_t i = 0; i < n; i++) {
        const struct gp_collective *c = &h->collectives.at[i];
        samples[i] = (struct sample){
            gp_hta_str(h, c->op), gp_hta_str(h, c->group), gp_hta_str(h, c->dtype), c->group_size, i,
            size_class(c->bytes), c->end_ns - c->start_ns};
        if (match_of[i] != GP_NO_MATCH) samples[i].ns = h->matches.at[match_of[i]].duration_ns;
    }
    qsort(samples, n, sizeof *samples, compare_samples);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && !compare_kinds(&samples[i], &samples[end]);) end++;
        add_stat(h, samples + i, end - i, match_of, match_seen);
    }
    free(samples);
    free(match_seen);
}

/* Processes of one trace without known ranks, each with its own device. */
bool gp_hta_devices_are_ranks(const struct gp_hta *h)
{
    struct gp_map seen = {0};
    bool distinct = h->devices.n > 1;
    for (size_t i = 0; i < h->devices.n && distinct; i++) {
        const struct gp_hta_device *d = &h->devices.at[i];
        distinct = d->rank < 0 && d->input == h->devices.at[0].input && d->device >= 0 &&
                   d->device <= INT32_MAX && !gp_map_get(&seen, (uint64_t)d->device);
        gp_map_put(&seen, (uint64_t)d->device, 0);
    }
    gp_map_release(&seen);
    return distinct;
}

static void sort_ranks(struct gp_hta *h)
{
    qsort(h->collectives.at, h->collectives.n, sizeof *h->collectives.at, compare_collectives);
}

static void finish(struct gp_hta *h)
{
    if (!h->collectives.n) return;
    bool by_device = gp_hta_devices_are_ranks(h);
    for (size_t i = 0; i < h->collectives.n && by_device; i++)
        h->collectives.at[i].rank = (int32_t)h->collectives.at[i].device;
    sort_ranks(h);
    uint32_t *match_of = gp_collectives_match(h);
    add_stats(h, match_of);
    free(match_of);
    if (!by_device) return;
    for (size_t i = 0; i < h->collectives.n; i++) h->collectives.at[i].rank = -1;
    sort_ranks(h);
}

/* ---- clock error ---- */

static int64_t clock_residual(const struct gp_hta *h)
{
    int64_t worst = 0;
    for (size_t i = 0; i < h->offsets.n; i++)
        if (h->offsets.at[i].error_ns > worst) worst = h->offsets.at[i].error_ns;
    return worst;
}

bool gp_hta_is_late(const struct gp_hta *h, const struct gp_straggler *s)
{
    int64_t residual = clock_residual(h);
    return s->times_last && s->lateness_ns / (int64_t)s->times_last / 3 >= residual;
}

void gp_hta_put_residual(struct gp_buf *b, const struct gp_hta *h)
{
    int64_t residual = clock_residual(h);
    if (residual) gp_buf_printf(b, " The clocks of the ranks agree to within %s.", GP_NS(residual));
}

/* ---- as a section ---- */

GP_COMPARE(by_rank_and_start, struct gp_collective,
           GP_UP(rank) GP_UP(start_ns) GP_UP(device) GP_UP(stream) GP_UP(end_ns) GP_UP(seq) GP_UP(order))

static void sort_all(struct gp_hta *h)
{
    if (h->collectives.n)
        qsort(h->collectives.at, h->collectives.n, sizeof *h->collectives.at, by_rank_and_start);
    for (size_t i = 0; i < h->collectives.n; i++) h->collectives.at[i].order = (uint32_t)i;
}

static const struct gp_hta_list lists[] = {
    {&collectives, offsetof(struct gp_hta, collectives),
     .kept = {GP_HTA_KEPT_COLLECTIVES, GP_HTA_KEPT_UNRANKED, sizeof(int32_t),
              offsetof(struct gp_hta_bound, collectives)}},
    {&gp_hta_matches, offsetof(struct gp_hta, matches), .made = true},
    {&gp_hta_collectives, offsetof(struct gp_hta, collective_stats), .made = true},
    {&gp_hta_offsets, offsetof(struct gp_hta, offsets), .made = true},
    {&gp_hta_stragglers, offsetof(struct gp_hta, stragglers), .made = true},
};
/* Timed: kernels wait for other ranks. */
const struct gp_hta_section gp_hta_collectives_section = {lists,
                                                          GP_COUNT(lists),
                                                          .add = gp_hta_add_collectives,
                                                          .merged = merged,
                                                          .sort = sort_all,
                                                          .finish = finish,
                                                          .timed = true};
