/* What the records of this folder share, and the record of devices. */
#include "analyze/memory/fields.h"

#include <stdlib.h>
#include <string.h>
#include "formats/base/buf.h"

/* ---- names ---- */

/* Devices are in the order of inputs. */
static bool is_of_several_inputs(const struct gp_memory *m)
{
    return m->devices.at[0].input != m->devices.at[m->devices.n - 1].input;
}

void gp_memory_device_put(struct gp_buf *b, const struct gp_memory *m, const struct gp_memory_device *d)
{
    gp_buf_puts(b, gp_memory_str(m, d->label));
    if (d->kind) {
        gp_buf_putc(b, ' ');
        for (const char *k = gp_memory_str(m, d->kind); *k; k++)
            gp_buf_putc(b, *k >= 'A' && *k <= 'Z' ? (char)(*k + 32) : *k);
        gp_buf_puts(b, " memory");
    }
    if (is_of_several_inputs(m)) {
        const char *path = gp_memory_str(m, m->inputs.at[d->input].path), *slash = strrchr(path, '/');
        gp_buf_printf(b, " of %s", slash && slash[1] ? slash + 1 : path);
    }
}

void gp_memory_frame_path_put(struct gp_buf *b, const struct gp_snapshot *s, uint32_t stack, uint32_t number)
{
    const struct gp_snapshot_frame *f = &s->frames.at[s->stack_frames.at[s->stacks.at[stack].first + number]];
    const char *file = gp_string(&s->strings, f->file), *cut = strstr(file, "site-packages/");
    if (*file && strcmp(file, "??") != 0) {
        gp_buf_puts(b, cut ? cut + strlen("site-packages/") : file);
        if (f->line > 0) {
            gp_buf_putc(b, ':');
            gp_buf_put_i64(b, f->line);
        }
        gp_buf_putc(b, ' ');
    }
    gp_buf_put(b, gp_string(&s->strings, f->name), gp_string_len(&s->strings, f->name));
}

/* ---- cells ---- */

void gp_memory_cell_label(struct gp_cell *c, const struct gp_row_of *x, const char *text,
                          struct gp_buf *label)
{
    gp_cell_label(c, text, strlen(text), gp_arena_strndup(x->mem, label->n ? label->data : "", label->n),
                  label->n);
    gp_buf_release(label);
}

void gp_memory_cell_ns(struct gp_cell *c, int64_t ns)
{
    c->none = ns == INT64_MIN;
    c->i = ns;
}

void gp_memory_cell_known(struct gp_cell *c, bool known, uint64_t v)
{
    c->none = !known;
    c->i = v < INT64_MAX ? (int64_t)v : INT64_MAX;
}

/* A cell as it is: the values of lists. */
GP_GETTER(get_cell)
{
    *c = *(const struct gp_cell *)row;
}

static const struct gp_field frame_fields[] = {{.type = GP_CELL_NAME, .get = get_cell}};
const struct gp_record gp_memory_frames = {
    .id = "frames", .title = "Frames", GP_FIELDS(frame_fields), .size = sizeof(struct gp_cell)};

void gp_memory_cell_stack(struct gp_cell *c, const struct gp_row_of *x, const struct gp_snapshot *s,
                          uint32_t stack)
{
    uint32_t n = s->stacks.at[stack].n;
    struct gp_cell *frames = gp_arena_alloc(x->mem, (n + 1) * sizeof *frames);
    struct gp_buf b = {0};
    for (uint32_t i = 0; i < n; i++) {
        size_t begin = b.n;
        gp_memory_frame_path_put(&b, s, stack, i);
        frames[i] = (struct gp_cell){.type = GP_CELL_NAME, .text_len = (uint32_t)(b.n - begin)};
        gp_buf_putc(&b, '\0');
    }
    const char *text = n ? gp_arena_strndup(x->mem, b.data, b.n) : "";
    for (uint32_t i = 0; i < n; i++) {
        gp_cell_label(&frames[i], text, frames[i].text_len, NULL, 0);
        text += frames[i].text_len + 1;
    }
    gp_cell_list(c, frames, n);
    gp_buf_release(&b);
}

void gp_memory_cell_site(struct gp_cell *c, const struct gp_row_of *x, const struct gp_memory_device *d,
                         uint32_t site)
{
    gp_memory_cell_stack(c, x, d->s, site == UINT32_MAX ? 0 : d->sites.at[site].stack);
}

static void put_device(struct gp_cell *c, const struct gp_row_of *x, const struct gp_memory_device *d)
{
    const struct gp_memory *m = gp_memory_of(x);
    struct gp_buf b = {0};
    if (x->labels) gp_memory_device_put(&b, m, d);
    gp_memory_cell_label(c, x, gp_memory_str(m, d->label), &b);
}

void gp_memory_get_device(struct gp_cell *c, const struct gp_field *f, const void *row,
                          const struct gp_row_of *x)
{
    put_device(c, x, gp_memory_device_at(x, *(const uint32_t *)gp_member_at(row, f)));
}

void gp_memory_get_ns(struct gp_cell *c, const struct gp_field *f, const void *row,
                      GP_UNUSED const struct gp_row_of *x)
{
    gp_memory_cell_ns(c, *(const int64_t *)gp_member_at(row, f));
}

/* ---- devices ---- */

#define AT(member) offsetof(struct gp_memory_device, member)

GP_GETTER(get_device)
{
    put_device(c, x, row);
}

GP_GETTER(get_counted)
{
    const struct gp_memory_device *d = row;
    gp_memory_cell_known(c, d->history != GP_HISTORY_SUMS, *(const uint64_t *)gp_member_at(row, f));
}

GP_GETTER(get_reserved)
{
    gp_memory_cell_known(c, gp_memory_has_segments(row), *(const uint64_t *)gp_member_at(row, f));
}

GP_GETTER(get_peak_step)
{
    const struct gp_memory_device *d = row;
    gp_sid none = 0, *name = d->peak_step < d->steps.n ? &d->steps.at[d->peak_step].name : &none;
    gp_member_name(c, f, name, x);
}

GP_GETTER(get_peak_range)
{
    const struct gp_memory_device *d = row;
    gp_sid none = 0, *name = d->peak_span == GP_NO_SPAN ? &none : &d->spans.at[d->peak_span].name;
    gp_member_name(c, f, name, x);
}

GP_GETTER(get_steps)
{
    c->i = (int64_t)((const struct gp_memory_device *)row)->steps.n;
}

GP_GETTER(get_history)
{
    gp_cell_text(c, gp_history_name(((const struct gp_memory_device *)row)->history));
}

GP_GETTER(get_lost)
{
    c->none = ((const struct gp_memory_device *)row)->history != GP_HISTORY_WHOLE;
}

GP_GETTER(get_exact)
{
    const struct gp_memory_device *d = row;
    c->i = d->exact || (d->history == GP_HISTORY_WHOLE && d->s->sizes_are_real);
}

GP_GETTER(get_whole_row)
{
    c->at = row;
}

static const struct gp_field contradiction_fields[] = {
    {"lost_frees", NULL, GP_CELL_COUNT, gp_member_u64, AT(lost_frees),
     .help = "blocks that are allocated again and were never freed"},
    {"double_frees", NULL, GP_CELL_COUNT, gp_member_u64, AT(double_frees),
     .help = "of blocks that are free already"},
    {"size_mismatches", NULL, GP_CELL_COUNT, gp_member_u64, AT(size_mismatches),
     .help = "frees of another size"},
    {"unordered", NULL, GP_CELL_COUNT, gp_member_u64, AT(unordered), .help = "entries that go back in time"},
};
static const struct gp_record contradictions = {.id = "contradictions",
                                                .title = "Contradictions",
                                                GP_FIELDS(contradiction_fields),
                                                .size = sizeof(struct gp_memory_device),
                                                .note = "entries of the history that contradict each other"};

static const char *const histories[] = {
#define X(id, name) name,
    GP_HISTORIES(X)
#undef X
        NULL};

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
    {"history", "History", GP_CELL_TEXT, get_history, 0, .help = "whole, tail, sums, state or none",
     .words = histories},
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

const struct gp_record gp_memory_device_rows = {.id = "devices",
                                                .title = "Devices",
                                                GP_FIELDS(device_fields),
                                                .size = sizeof(struct gp_memory_device),
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
