#include <stdlib.h>
#include <string.h>
#include "analyze/hta/hta.h"
#include "analyze/hta/hta_priv.h"
#include "analyze/math/sums.h"
#include "formats/base/buf.h"
#include "formats/base/str.h"

/* ---- fields ---- */

#define AT(member) offsetof(struct gp_breakdown, member)

/* A time in percent of the span. */
GP_GET(get_pct, struct gp_breakdown,
       gp_cell_real(c, gp_pct(*(const int64_t *)gp_member_at(row, f), r->span_ns)))

GP_GET(get_overlap, struct gp_breakdown, gp_cell_share(c, (double)r->overlap_ns, (double)r->communication_ns))

#define NS(member) GP_CELL_NS, gp_member_i64, AT(member), .keep = GP_KEEP_I64, .merge = GP_MERGE_SUM
static const struct gp_field breakdown_fields[] = {
    {"span_ns", "Span", NS(span_ns), .help = "last GPU event's end - first GPU event's start",
     .flags = GP_FIELD_TIMED},
    {"busy_ns", "Busy", NS(busy_ns), .help = "union of all GPU events",
     .flags = GP_FIELD_TIMED | GP_COLUMN_WIDE},
    {"idle_ns", "Idle time", NS(idle_ns), .help = "span_ns - busy_ns",
     .flags = GP_FIELD_TIMED | GP_COLUMN_WIDE},
    {"compute_ns", "Compute time", NS(compute_ns), .help = "union of compute kernels over streams",
     .flags = GP_FIELD_TIMED | GP_COLUMN_WIDE},
    {"communication_ns", "Comm. time", NS(communication_ns),
     .help = "union of communication kernels over streams", .flags = GP_FIELD_TIMED | GP_COLUMN_WIDE},
    {"memory_ns", "Memory time", NS(memory_ns), .help = "union of copies and sets over streams",
     .flags = GP_FIELD_TIMED | GP_COLUMN_WIDE},
    {"exposed_communication_ns", "Exp. comm. time", NS(exposed_communication_ns),
     .help = "communication not under compute", .flags = GP_FIELD_TIMED | GP_COLUMN_WIDE},
    {"exposed_memory_ns", "Exp. memory time", NS(exposed_memory_ns),
     .help = "copies and sets not under compute or communication", .flags = GP_FIELD_TIMED | GP_COLUMN_WIDE},
    {"compute_pct", "Compute", GP_CELL_PCT, get_pct, AT(compute_ns), .help = "compute_ns / span_ns",
     .after = "span_ns", .flags = GP_FIELD_TIMED},
    {"exposed_communication_pct", "Exp. comm.", GP_CELL_PCT, get_pct, AT(exposed_communication_ns),
     .help = "exposed_communication_ns / span_ns", .after = "compute_pct", .flags = GP_FIELD_TIMED},
    {"exposed_memory_pct", "Exp. memory", GP_CELL_PCT, get_pct, AT(exposed_memory_ns),
     .help = "exposed_memory_ns / span_ns", .after = "exposed_communication_pct", .flags = GP_FIELD_TIMED},
    {"idle_pct", "Idle", GP_CELL_PCT, get_pct, AT(idle_ns), .help = "idle_ns / span_ns",
     .after = "exposed_memory_pct", .flags = GP_FIELD_TIMED},
    {"overlap_pct", "Overlap", GP_CELL_PCT, get_overlap, 0,
     .help = "communication under compute / communication_ns",
     .flags = GP_FIELD_TIMED | GP_COLUMN_SPARE | GP_FIELD_NULL, .after = "idle_pct"},
    {.at = AT(overlap_ns), .keep = GP_KEEP_I64, .merge = GP_MERGE_SUM},
};

const struct gp_record gp_hta_breakdown = {
    "breakdown", NULL, GP_FIELDS(breakdown_fields), sizeof(struct gp_breakdown),
    .note = "compute_ns + exposed_communication_ns + exposed_memory_ns + idle_ns == span_ns; all null: the "
            "GPU was measured kernel by kernel, so times between launches mean nothing"};

static const struct gp_field window_fields[] = {
    {"gpu_events", "GPU events", GP_CELL_COUNT, gp_member_u64, AT(gpu_events),
     .help = "kernels, copies and sets", .flags = GP_COLUMN_WIDE, .keep = GP_KEEP_U64, .merge = GP_MERGE_SUM},
    {"gpu_ns", "GPU time", NS(gpu_ns), .help = "sum of their durations", .flags = GP_COLUMN_WIDE},
    {"begin_ns", NULL, GP_CELL_NS, gp_member_i64, AT(begin_ns), .help = "on the clock of the trace",
     .flags = GP_FIELD_SIGNED | GP_FIELD_TIMED, .keep = GP_KEEP_I64},
    {"end_ns", NULL, GP_CELL_NS, gp_member_i64, AT(end_ns), .help = "on the clock of the trace",
     .flags = GP_FIELD_SIGNED | GP_FIELD_TIMED, .keep = GP_KEEP_I64},
};
#undef NS
#undef AT

const struct gp_record gp_hta_window = {"window", NULL, GP_FIELDS(window_fields), sizeof(struct gp_breakdown),
                                        .note = "what is in the span"};

/* ---- devices ---- */

#define AT(member) offsetof(struct gp_hta_place, member)
static const struct gp_field place_fields[] = {
    {"rank", "Rank", GP_CELL_ID, gp_member_rank, AT(rank), .flags = GP_FIELD_NULL},
    {"device", "GPU", GP_CELL_ID, gp_member_device, AT(device), .help = "ordinal of the device",
     .flags = GP_FIELD_NULL},
    {"process", "Proc.", GP_CELL_ID, gp_member_process, AT(producer),
     .help = "process in a merged trace; device numbers are per process", .after = "rank"},
};
#undef AT
const struct gp_record gp_hta_places = {"place", NULL, GP_FIELDS(place_fields), sizeof(struct gp_hta_place),
                                        .note = "a device"};

#define AT(member) offsetof(struct gp_hta_stream, member)
static const struct gp_field stream_fields[] = {
    {"stream", "Stream", GP_CELL_ID, gp_member_known_i64, AT(stream), .flags = GP_FIELD_NULL,
     .keep = GP_KEEP_I64},
    {"name", "Name", GP_CELL_NAME, gp_member_name, AT(name), .flags = GP_FIELD_NULL | GP_COLUMN_SPARE,
     .keep = GP_KEEP_STR},
    GP_BREAKDOWN(gp_hta_stream, b),
    GP_WINDOW(gp_hta_stream, b),
};
#undef AT

const struct gp_record gp_hta_streams = {
    "streams", "Streams", GP_FIELDS(stream_fields), sizeof(struct gp_hta_stream),
    .note = "a stream: its span is from its first GPU event to its last"};

#define AT(member) offsetof(struct gp_idle_culprit, member)

/* Outermost first: "train > forward > aten::linear > cudaLaunchKernel". */
GP_GETTER_OF(get_host, struct gp_idle_culprit, culprit)
{
    const gp_sid frames[] = {culprit->range, culprit->python, culprit->op, culprit->api};
    struct gp_buf b = {0};
    if (culprit->rest) gp_buf_puts(&b, GP_HTA_OTHER);
    for (size_t i = 0; i < GP_COUNT(frames); i++) {
        if (!frames[i]) continue;
        if (b.n) gp_buf_puts(&b, " > ");
        gp_buf_put(&b, gp_string(x->strings, frames[i]), gp_string_len(x->strings, frames[i]));
    }
    if (!b.n) gp_buf_puts(&b, "(nothing recorded)");
    gp_cell_take(c, &b, x);
}

GP_GETTER(get_cause)
{
    enum gp_idle_cause cause = (enum gp_idle_cause)((const struct gp_idle_culprit *)row)->cause;
    gp_cell_named(c, gp_idle_cause_name(cause), gp_idle_cause_text(cause));
}

/* What is not known of those that no list has. */
GP_GET_UNLESS(get_found, struct gp_idle_culprit, gp_member_i64, r->rest)

static const char *const causes[] = {GP_IDLE_CAUSES(GP_WORD_1) NULL};
static const struct gp_field culprit_fields[] = {
    {"host", "Host", GP_CELL_NAME, get_host, 0, .help = "innermost range, Python frame, operator and call",
     .flags = GP_FIELD_TABLES},
    {"cause", "Cause", GP_CELL_TEXT, get_cause, AT(cause), .help = "see Why devices were idle",
     .words = causes, .keep = GP_KEEP_U32, .below = GP_IDLE_CAUSE_COUNT},
    {"range", "Range", GP_CELL_NAME, gp_member_name, AT(range), .flags = GP_COLUMN_WIDE | GP_FIELD_NULL,
     .after = "longest_at_ns", .keep = GP_KEEP_STR},
    {"python", "Python", GP_CELL_NAME, gp_member_name, AT(python), .flags = GP_COLUMN_WIDE | GP_FIELD_NULL,
     .after = "range", .keep = GP_KEEP_STR},
    {"operator", "Operator", GP_CELL_NAME, gp_member_name, AT(op), .flags = GP_COLUMN_WIDE | GP_FIELD_NULL,
     .after = "python", .keep = GP_KEEP_STR},
    {"api", "Call", GP_CELL_NAME, gp_member_name, AT(api), .flags = GP_COLUMN_WIDE | GP_FIELD_NULL,
     .after = "operator", .keep = GP_KEEP_STR},
    {"idle_ns", "Idle", GP_CELL_NS, gp_member_i64, AT(idle_ns), .keep = GP_KEEP_I64},
    {"gaps", "Gaps", GP_CELL_COUNT, get_found, AT(gaps), .help = "number of idle gaps",
     .flags = GP_COLUMN_SPARE, .keep = GP_KEEP_U64},
    {"samples", "Samples", GP_CELL_COUNT, get_found, AT(samples),
     .help = "samples of the thread's stack in that time; 0: none were taken", .flags = GP_COLUMN_SPARE,
     .after = "longest_ns", .keep = GP_KEEP_U64},
    {"longest_ns", "Longest", GP_CELL_NS, get_found, AT(longest_ns), .flags = GP_COLUMN_SPARE,
     .keep = GP_KEEP_I64},
    {"longest_at_ns", "Longest at", GP_CELL_ID, get_found, AT(longest_at_ns),
     .help = "on the clock of the trace, ns", .flags = GP_COLUMN_WIDE | GP_FIELD_SIGNED, .keep = GP_KEEP_I64},
};
#undef AT

const struct gp_record gp_hta_culprits = {
    "idle_culprits",
    "What the host was doing meanwhile",
    GP_FIELDS(culprit_fields),
    sizeof(struct gp_idle_culprit),
    .note = "what the host was doing while the device was idle: the innermost of each kind, null: none was "
            "open",
    .rest = {{NULL, NULL}, {NULL, "idle_ns"}}};

#define AT(member) offsetof(struct gp_device_kernel, member)
static const struct gp_field device_kernel_fields[] = {{.at = AT(name), .keep = GP_KEEP_STR},
                                                       {.at = AT(calls), .keep = GP_KEEP_U64},
                                                       {.at = AT(ns), .keep = GP_KEEP_I64}};
#undef AT
static const struct gp_record device_kernels = {"device_kernels", NULL, GP_FIELDS(device_kernel_fields),
                                                sizeof(struct gp_device_kernel), .note = NULL};

#define AT(member) offsetof(struct gp_hta_device, member)

/* Idle time without a culprit in the list. */
GP_GETTER_OF(get_culprits_rest, struct gp_hta_device, d)
{
    c->i = d->b.idle_ns;
    for (size_t i = 0; i < d->culprits.n && (!x->top || i < x->top); i++) c->i -= d->culprits.at[i].idle_ns;
}

GP_GET(get_sm_efficiency, struct gp_hta_device,
       gp_cell_share(c, r->sm_ns, gp_sm_known(r) ? (double)r->b.span_ns : 0))

GP_GET(get_occupancy, struct gp_hta_device,
       gp_cell_share(c, (double)r->occupancy_ns, (double)r->occupancy_known_ns))

GP_GET(get_tensor_core, struct gp_hta_device,
       gp_cell_share(c, (double)r->tensor_core_ns, (double)r->kernel_ns))

#define WIDE_NULL GP_COLUMN_WIDE | GP_FIELD_NULL
static const struct gp_field device_fields[] = {
    {"rank", "Rank", GP_CELL_ID, gp_member_rank, AT(rank), .flags = GP_FIELD_NULL, .keep = GP_KEEP_I32},
    {"device", "GPU", GP_CELL_ID, gp_member_device, AT(device), .help = "ordinal of the device",
     .flags = GP_FIELD_NULL, .keep = GP_KEEP_I64},
    GP_BREAKDOWN(gp_hta_device, b),
    {"idle", NULL, GP_CELL_ROW, gp_member_row, AT(idle_cause_ns), .flags = GP_FIELD_TIMED,
     .rows = &gp_idle_causes, .keep = GP_KEEP_ROW},
    {.at = AT(culprit_rest_ns), .keep = GP_KEEP_ROW, .rows = &gp_idle_causes},
    {"streams", NULL, GP_CELL_ROWS, gp_member_rows, AT(streams), .rows = &gp_hta_streams,
     .keep = GP_KEEP_ROWS},
    {"process", "Proc.", GP_CELL_ID, gp_member_process, AT(producer),
     .help = "process in a merged trace; device numbers are per process", .after = "rank",
     .keep = GP_KEEP_U32},
    {"name", "Name", GP_CELL_NAME, gp_member_name, AT(name), .flags = GP_COLUMN_SPARE | GP_FIELD_NULL,
     .after = "device", .keep = GP_KEEP_STR},
    GP_WINDOW(gp_hta_device, b),
    {"idle_gaps", NULL, GP_CELL_DIST, gp_member_dist, AT(gaps), .help = "their lengths", .unit = "_ns",
     .flags = GP_FIELD_TIMED, .keep = GP_KEEP_DIST},
    {"idle_culprits", NULL, GP_CELL_ROWS, gp_member_top_rows, AT(culprits), .rows = &gp_hta_culprits,
     .keep = GP_KEEP_ROWS},
    {"idle_culprits_rest_ns", NULL, GP_CELL_NS, get_culprits_rest, 0,
     .help = "idle_ns that idle_culprits does not list", .flags = GP_FIELD_TIMED},
    {"sm_efficiency_pct", "SM efficiency", GP_CELL_PCT, get_sm_efficiency, 0,
     .help = "estimated: blocks per multiprocessor, at most 1, over the span; unknown if the blocks of too "
             "many kernels are",
     .flags = WIDE_NULL},
    {"occupancy_pct", "Occupancy", GP_CELL_PCT, get_occupancy, AT(occupancy_ns),
     .help = "estimated from registers, shared memory and block size, weighted by kernel time",
     .flags = WIDE_NULL, .keep = GP_KEEP_I64},
    {"tensor_core_pct", "Tensor Cores", GP_CELL_PCT, get_tensor_core, AT(tensor_core_ns),
     .help = "share of kernel time in kernels that use Tensor Cores, by name", .flags = WIDE_NULL,
     .keep = GP_KEEP_I64},
    {.at = AT(input), .keep = GP_KEEP_U32},
    {.at = AT(sms), .keep = GP_KEEP_I32},
    {.at = AT(kernels), .keep = GP_KEEP_ROWS, .rows = &device_kernels},
    {.at = AT(gemm_ns), .keep = GP_KEEP_I64},
    {.at = AT(kernel_ns), .keep = GP_KEEP_I64},
    {.at = AT(occupancy_known_ns), .keep = GP_KEEP_I64},
    {.at = AT(sm_ns), .keep = GP_KEEP_DOUBLE},
    {.at = AT(sm_known_ns), .keep = GP_KEEP_I64},
};
#undef WIDE_NULL
#undef AT

const struct gp_record gp_hta_devices = {"devices", "Devices", GP_FIELDS(device_fields),
                                         sizeof(struct gp_hta_device),
                                         .note = "where the time of a device went"};

/* ---- measuring ---- */

/* The length of a union of intervals sorted by start, without storing any. */
struct cover {
    int64_t length_ns, end_ns;
};

static void cover(struct cover *c, int64_t begin_ns, int64_t end_ns)
{
    if (begin_ns < c->end_ns) begin_ns = c->end_ns;
    if (end_ns <= begin_ns) return;
    c->length_ns += end_ns - begin_ns;
    c->end_ns = end_ns;
}

/* Uncovered time follows from unions only: |A not under B| = |A or B| - |B|. */
struct covers {
    struct cover of[GP_CLASS_COUNT];
    struct cover work; /* compute or communication */
    struct cover all;
};

static void cover_event(struct covers *c, enum gp_class class, int64_t begin_ns, int64_t end_ns)
{
    cover(&c->of[class], begin_ns, end_ns);
    cover(&c->all, begin_ns, end_ns);
    if (class != GP_CLASS_MEMORY) cover(&c->work, begin_ns, end_ns);
}

void gp_breakdown_rows(struct gp_breakdown *b, const struct gp_view *v, const uint32_t *rows, size_t n,
                       int64_t begin_ns, int64_t end_ns)
{
    const struct gp_events *gpu = &v->t->events[GP_GPU];
    bool window = end_ns > begin_ns;
    struct covers c = {0};
    memset(b, 0, sizeof *b);
    if (!n && !window) return;
    b->begin_ns = window ? begin_ns : gpu->start_ns[rows[0]];
    b->end_ns = window ? end_ns : b->begin_ns;
    c.work.end_ns = c.all.end_ns = b->begin_ns;
    for (int k = 0; k < GP_CLASS_COUNT; k++) c.of[k].end_ns = b->begin_ns;
    for (size_t i = 0; i < n; i++) {
        int64_t start = gpu->start_ns[rows[i]], end = start + gpu->dur_ns[rows[i]];
        if (window) {
            bool outside = start >= end_ns || end < begin_ns || (end == begin_ns && start < end);
            if (outside) continue;
            if (start < begin_ns) start = begin_ns;
            if (end > end_ns) end = end_ns;
        } else if (end > b->end_ns) {
            b->end_ns = end;
        }
        b->gpu_ns = gp_add_saturated(b->gpu_ns, end - start);
        b->gpu_events++;
        cover_event(&c, gp_view_class(v, rows[i]), start, end);
    }
    b->span_ns = b->end_ns - b->begin_ns;
    b->busy_ns = c.all.length_ns;
    b->idle_ns = b->span_ns - b->busy_ns;
    b->compute_ns = c.of[GP_CLASS_COMPUTE].length_ns;
    b->communication_ns = c.of[GP_CLASS_COMMUNICATION].length_ns;
    b->memory_ns = c.of[GP_CLASS_MEMORY].length_ns;
    b->exposed_communication_ns = c.work.length_ns - b->compute_ns;
    b->exposed_memory_ns = b->busy_ns - c.work.length_ns;
    b->overlap_ns = b->communication_ns - b->exposed_communication_ns;
}

void gp_breakdown_busy(const struct gp_view *v, uint32_t device, struct gp_intervals *out)
{
    const struct gp_events *gpu = &v->t->events[GP_GPU];
    const struct gp_view_device *d = &v->devices.at[device];
    out->v.n = 0;
    for (size_t i = 0; i < d->n; i++) {
        uint32_t row = v->rows[d->first + i];
        gp_intervals_add(out, gpu->start_ns[row], gpu->start_ns[row] + gpu->dur_ns[row]);
    }
}

/* ---- devices ---- */

static void add_streams(struct gp_hta *h, const struct gp_view *v, const struct gp_view_device *from,
                        struct gp_hta_device *to)
{
    for (size_t i = from->first_stream; i < from->first_stream + from->n_streams; i++) {
        const struct gp_view_stream *vs = &v->streams.at[i];
        struct gp_hta_stream s = {.stream = vs->stream};
        s.name = gp_intern_from(&h->strings, &v->t->strings, v->t->tracks.at[vs->track].name);
        gp_breakdown_rows(&s.b, v, v->stream_rows + vs->first, vs->n, 0, 0);
        GP_VEC_PUSH(&to->streams, s);
    }
}

static void add(struct gp_hta *h, const struct gp_view *v)
{
    GP_EACH(const struct gp_view_device, from, v->devices) {
        struct gp_hta_device d = {.rank = from->rank,
                                  .producer = from->producer,
                                  .device = from->device,
                                  .input = h->inputs.n ? (uint32_t)h->inputs.n - 1 : 0};
        if (from->props) {
            d.name = gp_intern_from(&h->strings, &v->t->strings, from->props->name);
            d.sms = from->props->sms > 0 ? from->props->sms : 0;
        }
        gp_breakdown_rows(&d.b, v, v->rows + from->first, from->n, 0, 0);
        add_streams(h, v, from, &d);
        GP_VEC_PUSH(&h->devices, d);
    }
}

/* The inputs are merged after the devices. */
static void merged(struct gp_hta *to, size_t rows)
{
    for (size_t i = to->devices.n - rows; i < to->devices.n; i++)
        to->devices.at[i].input += (uint32_t)to->inputs.n;
}

static bool valid(const struct gp_hta *h)
{
    for (size_t i = 0; i < h->devices.n; i++)
        if (h->devices.at[i].input >= h->inputs.n) return false;
    return true;
}

/* Ranks may repeat, and be unknown: the input is the last key. */
GP_COMPARE_IN(in_order, struct gp_hta_device, void, GP_UP(rank) GP_UP(producer) GP_UP(device) GP_UP(input))

static const struct gp_hta_list lists[] = {
    {.rows = &gp_hta_devices, .at = offsetof(struct gp_hta, devices), .order = in_order}};
const struct gp_hta_section gp_hta_devices_section = {
    lists, GP_COUNT(lists), .add = add, .merged = merged, .valid = valid, .inside = true};
