/* The record of devices, and the rows of each. */
#include "analyze/memory/memory_priv.h"
#include "formats/base/declare.h"

#define AT(member) offsetof(struct gp_memory_device, member)

GP_GETTER(get_device) { gp_memory_cell_device(c, x, row); }

GP_GET_UNLESS(get_counted, struct gp_memory_device, gp_member_u64, r->history == GP_HISTORY_SUMS)

GP_GET_UNLESS(get_reserved, void, gp_member_u64, !gp_memory_has_segments(r))

GP_GET_IF(get_peak_step, struct gp_memory_device, r->peak_step < r->steps.n,
          gp_cell_sid(c, x->strings, r->steps.at[r->peak_step].name))

GP_GET_IF(get_peak_range, struct gp_memory_device, r->peak_span != GP_NO_SPAN,
          gp_cell_sid(c, x->strings, r->spans.at[r->peak_span].name))

GP_GETTER(get_steps) { c->i = (int64_t)((const struct gp_memory_device *)row)->steps.n; }

GP_GETTER(get_lost) { c->none = ((const struct gp_memory_device *)row)->history != GP_HISTORY_WHOLE; }

GP_GET(get_exact, struct gp_memory_device,
       c->i = r->exact || (r->history == GP_HISTORY_WHOLE && r->s->sizes_are_real))

GP_GETTER(get_whole_row) { c->at = row; }

static const struct gp_field contradiction_fields[] = {
    {"lost_frees", NULL, GP_CELL_COUNT, gp_member_u64, AT(lost_frees),
     .help = "blocks that are allocated again and were never freed"},
    {"double_frees", NULL, GP_CELL_COUNT, gp_member_u64, AT(double_frees),
     .help = "of blocks that are free already"},
    {"size_mismatches", NULL, GP_CELL_COUNT, gp_member_u64, AT(size_mismatches),
     .help = "frees of another size"},
    {"unordered", NULL, GP_CELL_COUNT, gp_member_u64, AT(unordered), .help = "entries that go back in time"},
};
static const struct gp_record contradictions = {
    "contradictions", "Contradictions", GP_FIELDS(contradiction_fields), sizeof(struct gp_memory_device),
    .note = "entries of the history that contradict each other"};

static const char *const histories[] = {GP_HISTORIES(GP_SECOND) NULL};

static const struct gp_field device_fields[] = {
    {"device", "Device", GP_CELL_TEXT, get_device, 0, .help = "cuda:0; cpu for the host"},
    {"kind", "Kind", GP_CELL_NAME, gp_member_name, AT(kind),
     .help = "of memory, where a collector recorded it: Device, Pinned, Managed; null: an allocator's",
     .flags = GP_COLUMN_RAW | GP_FIELD_NULL},
    {"input", "Input", GP_CELL_ID, gp_member_u32, AT(input), .help = "index into inputs",
     .flags = GP_COLUMN_RAW},
    {"base_bytes", "Before", GP_CELL_BYTES, gp_member_i64, AT(base_bytes),
     .help = "allocated before the history begins"},
    {"base_blocks", "Blocks before", GP_CELL_COUNT, gp_member_u64, AT(base_blocks), .flags = GP_COLUMN_RAW},
    {"end_bytes", "End", GP_CELL_BYTES, gp_member_i64, AT(end_bytes),
     .help = "allocated at the end; of a snapshot, the sum of the sizes of blocks that are allocated in it"},
    {"end_blocks", "Blocks at the end", GP_CELL_COUNT, gp_member_u64, AT(end_blocks), .flags = GP_COLUMN_RAW},
    {"peak_bytes", "Peak", GP_CELL_BYTES, gp_member_i64, AT(peak_bytes),
     .help = "the first maximum of what was allocated, blocks as the allocator rounds them",
     .after = "device"},
    {"peak_requested_bytes", "Peak requested", GP_CELL_BYTES, gp_member_i64, AT(peak_requested_bytes),
     .help = "what the blocks of the peak were asked for", .flags = GP_COLUMN_RAW},
    {"peak_ns", "Peak at", GP_CELL_NS, gp_memory_get_ns, AT(peak_ns),
     .help = "null: before the history begins", .flags = GP_COLUMN_RAW | GP_FIELD_NULL | GP_FIELD_SIGNED},
    {"peak_step", "Step of the peak", GP_CELL_NAME, get_peak_step, 0, .flags = GP_COLUMN_RAW | GP_FIELD_NULL},
    {"peak_range", "Range of the peak", GP_CELL_NAME, get_peak_range, 0,
     .flags = GP_COLUMN_RAW | GP_FIELD_NULL},
    {"reserved_at_peak_bytes", "Reserved at the peak", GP_CELL_BYTES, get_reserved, AT(reserved_at_peak),
     .help = "null: no segments are recorded", .flags = GP_COLUMN_RAW | GP_FIELD_NULL},
    {"reserved_peak_bytes", "Reserved", GP_CELL_BYTES, get_reserved, AT(reserved_peak),
     .help = "most memory reserved on the device", .flags = GP_FIELD_NULL, .after = "peak_bytes"},
    {"reserved_end_bytes", "Reserved at the end", GP_CELL_BYTES, get_reserved, AT(reserved_end),
     .flags = GP_COLUMN_RAW | GP_FIELD_NULL},
    {"allocations", "Allocations", GP_CELL_COUNT, get_counted, AT(allocations),
     .help = "entries that allocate", .flags = GP_FIELD_NULL},
    {"frees", "Frees", GP_CELL_COUNT, get_counted, AT(frees),
     .help = "entries that complete the free of what an entry allocated", .flags = GP_FIELD_NULL},
    {"steps", "Steps", GP_CELL_COUNT, get_steps, 0, .flags = GP_COLUMN_RAW},
    {"begin_ns", "Begins", GP_CELL_NS, gp_member_i64, AT(begin_ns),
     .help = "clock of the input: of a snapshot, Unix time", .flags = GP_COLUMN_RAW | GP_FIELD_SIGNED},
    {"end_ns", "Ends", GP_CELL_NS, gp_member_i64, AT(end_ns), .flags = GP_COLUMN_RAW | GP_FIELD_SIGNED},
    {"history", "History", GP_CELL_TEXT, gp_member_word, AT(history),
     .help = "whole, tail, sums, state or none", .words = histories},
    {"lost", "Lost", GP_CELL_COUNT, get_lost, 0, .help = "entries that are known to be lost; null: not known",
     .flags = GP_COLUMN_RAW | GP_FIELD_NULL},
    {"sizes_exact", "Exact", GP_CELL_BOOL, get_exact, 0,
     .help = "sizes of blocks were worked out from the layout of segments and agree with it",
     .flags = GP_COLUMN_RAW},
    {"joined_blocks", "Joined", GP_CELL_COUNT, gp_member_u64, AT(joined),
     .help = "blocks of a snapshot that a trace of the same run says more of", .flags = GP_COLUMN_RAW},
    {"graph_launches", "Graph launches", GP_CELL_COUNT, gp_member_u64, AT(graph_launches),
     .help = "of CUDA graphs: what they use was allocated when they were recorded", .flags = GP_COLUMN_RAW},
    {"contradictions", NULL, GP_CELL_ROW, get_whole_row, 0, .rows = &contradictions},
};
#undef AT

const struct gp_record gp_memory_device_rows = {"devices", "Devices", GP_FIELDS(device_fields),
                                                sizeof(struct gp_memory_device),
                                                .note = "memory of a device, or of one kind on it"};

/* ---- rows of devices ---- */

struct gp_memory_rows gp_memory_rows(const struct gp_memory_device *d, const struct gp_record *rec)
{
#define ROWS(record, list)                                                                                   \
    if (rec == &(record)) return (struct gp_memory_rows){(list).at, (list).n}
    ROWS(gp_memory_growths, d->growth);
    ROWS(gp_memory_pools, d->fragmentation.pools);
    ROWS(gp_memory_ooms, d->ooms);
    ROWS(gp_memory_ranges, d->ranges);
    ROWS(gp_memory_operators, d->operators);
    ROWS(gp_memory_lifetimes, d->lifetimes);
    ROWS(gp_memory_series, d->series);
#undef ROWS
    return (struct gp_memory_rows){&d->churn, 1}; /* gp_memory_churns */
}
