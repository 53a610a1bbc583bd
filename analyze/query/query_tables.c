/* What each table is: its columns, where their values are, and what they need. */
#include <string.h>
#include "analyze/hta/hta_rows.h"
#include "analyze/names/classify.h"
#include "analyze/query/query.h"
#include "analyze/view/quality.h"
#include "formats/base/count.h"
#include "formats/model/cuda_names.h"

/* ---- values of events ---- */

#define EVENT(x) const struct gp_query_event *x = row
static const struct gp_events *events_of(const struct gp_query_event *e)
{
    return &e->q->t->events[e->table];
}

static void put_sid(struct gp_cell *c, const struct gp_strings *s, gp_sid sid)
{
    gp_cell_label(c, gp_string(s, sid), gp_string_len(s, sid), NULL, 0);
}

GP_GETTER(get_id)
{
    EVENT(e);
    c->i = e->id;
}

GP_GETTER(get_start)
{
    EVENT(e);
    c->i = events_of(e)->start_ns[e->row];
}

GP_GETTER(get_dur)
{
    EVENT(e);
    c->i = events_of(e)->dur_ns[e->row];
}

GP_GETTER(get_end)
{
    EVENT(e);
    c->i = events_of(e)->start_ns[e->row] + events_of(e)->dur_ns[e->row];
}

static const struct gp_track *track_of(const struct gp_query_event *e)
{
    return &e->q->t->tracks.at[events_of(e)->track[e->row]];
}

GP_GETTER(get_rank)
{
    EVENT(e);
    int32_t rank = e->q->t->processes.at[track_of(e)->process].rank;
    c->i = rank < 0 ? e->q->t->rank : rank;
    c->none = c->i < 0;
}

GP_GETTER(get_process)
{
    EVENT(e);
    c->i = track_of(e)->process;
}

GP_GETTER(get_pid)
{
    EVENT(e);
    const struct gp_process *p = &e->q->t->processes.at[track_of(e)->process];
    c->none = p->pid_text != 0;
    c->i = p->pid;
}

GP_GETTER(get_tid)
{
    EVENT(e);
    c->none = track_of(e)->tid_text != 0;
    c->i = track_of(e)->tid;
}

/* As gp_view_device has it. */
GP_GETTER(get_device)
{
    EVENT(e);
    const struct gp_track *k = track_of(e);
    const struct gp_process *p = &e->q->t->processes.at[k->process];
    c->i = k->device >= 0 ? k->device : p->pid_text ? -1 : p->pid;
    c->none = c->i < 0;
}

GP_GETTER(get_stream)
{
    EVENT(e);
    c->i = track_of(e)->stream;
    c->none = c->i < 0;
}

GP_GETTER(get_context)
{
    EVENT(e);
    c->i = track_of(e)->context;
    c->none = c->i < 0;
}

static const struct gp_config *config_of(const struct gp_query_event *e)
{
    return gp_gpu_config(e->q->t, e->row);
}

static const struct gp_query_kernel *kernel_of(const struct gp_query_event *e)
{
    return &e->q->kernels[gp_get_config(events_of(e), e->row)];
}

static const char *const kinds[] = {"kernel", "copy", "set", NULL};
GP_GETTER(get_kind)
{
    EVENT(e);
    gp_cell_text(c, kinds[config_of(e)->kind]);
}

GP_GETTER(get_class)
{
    EVENT(e);
    gp_cell_text(c, gp_class_name(gp_class_of((enum gp_frame_kind)kernel_of(e)->kind)));
}

GP_GETTER(get_category)
{
    EVENT(e);
    gp_cell_text(c, gp_frame_kind_word((enum gp_frame_kind)kernel_of(e)->kind));
}

GP_GETTER(get_name)
{
    EVENT(e);
    put_sid(c, &e->q->names, kernel_of(e)->name);
}

GP_GETTER(get_label)
{
    EVENT(e);
    put_sid(c, &e->q->names, kernel_of(e)->label);
}

GP_GETTER(get_name_id)
{
    EVENT(e);
    c->i = kernel_of(e)->name;
}

GP_GETTER(get_label_id)
{
    EVENT(e);
    c->i = kernel_of(e)->label;
}

GP_GETTER(get_recorded_id)
{
    EVENT(e);
    c->i = e->q->text_of[config_of(e)->name];
}

GP_GETTER(get_call)
{
    EVENT(e);
    uint32_t call = gp_view_launch(&e->q->v, e->row);
    c->i = call;
    c->none = call == UINT32_MAX;
}

/* As trace-hta: not of the work of graphs, whose nodes wait for each other. */
GP_GETTER(get_delay)
{
    EVENT(e);
    const struct gp_trace *t = e->q->t;
    uint32_t call = gp_view_launch(&e->q->v, e->row);
    c->none = call == UINT32_MAX || e->q->untimed;
    if (c->none) return;
    int64_t end_ns = t->events[GP_API].start_ns[call] + t->events[GP_API].dur_ns[call];
    c->i = events_of(e)->start_ns[e->row] - end_ns;
    if (c->i < 0) c->i = 0;
}

GP_GETTER(get_step)
{
    EVENT(e);
    c->i = e->q->step_of[e->row];
    c->none = c->i < 0;
}

static void put_stack(struct gp_cell *c, uint32_t stack)
{
    c->i = stack;
    c->none = !stack;
}

GP_GETTER(get_stack)
{
    EVENT(e);
    put_stack(c, gp_query_stack_of_event(&e->q->stacks, e->row));
}

GP_GETTER(get_host_stack)
{
    EVENT(e);
    put_stack(
        c, gp_query_stack_of_node(&e->q->stacks, gp_host_node(&e->q->v.hs, (enum gp_table)e->table, e->row)));
}

/* Of samples and allocations. */
GP_GETTER(get_exact_stack)
{
    EVENT(e);
    const struct gp_events *of = events_of(e);
    uint32_t stack = e->table == GP_SAMPLE ? gp_sample_stack(of, e->row) : gp_get_stack(of, e->row);
    put_stack(c, e->q->stacks.exact && stack < e->q->t->stacks.n ? e->q->stacks.exact[stack] : 0);
}

/* A cell of the column F->at of the trace. */
GP_GETTER(get_number)
{
    EVENT(e);
    const struct gp_column_info *info = &gp_column_infos[f->at];
    const void *cells = gp_events_column(events_of(e), (enum gp_column)f->at);
    uint64_t bits = info->dflt;
    if (cells && info->width == 8) memcpy(&bits, (const char *)cells + e->row * 8, 8);
    if (cells && info->width == 4) {
        int32_t v;
        memcpy(&v, (const char *)cells + e->row * 4, 4);
        bits = (uint64_t)v;
    }
    c->none = info->dflt == GP_NO_ID && bits == GP_NO_ID;
    memcpy(&c->i, &bits, sizeof bits);
}

/* The same where 0 means that it is not known. */
GP_GETTER(get_known)
{
    get_number(c, f, row, x);
    c->none |= !c->i;
}

GP_GETTER(get_event_value)
{
    EVENT(e);
    gp_cell_real(c, gp_get_value(events_of(e), e->row));
}

GP_GETTER(get_text)
{
    EVENT(e);
    uint32_t sid = 0;
    const void *cells = gp_events_column(events_of(e), (enum gp_column)f->at);
    if (cells) memcpy(&sid, (const char *)cells + (size_t)e->row * 4, 4);
    put_sid(c, &e->q->t->strings, sid);
    c->none = !c->text_len;
}

GP_GETTER(get_text_id)
{
    EVENT(e);
    c->i = e->q->text_of[events_of(e)->name[e->row]];
}

/* ---- of configurations ---- */

GP_GETTER(get_config)
{
    EVENT(e);
    const char *at = (const char *)config_of(e) + f->at;
    uint32_t v;
    memcpy(&v, at, sizeof v);
    c->i = v;
}

#define HAS_CONFIG(name, bit)                                                                                \
    GP_GETTER(name)                                                                                          \
    {                                                                                                        \
        EVENT(e);                                                                                            \
        get_config(c, f, row, x);                                                                            \
        c->none = !(config_of(e)->has & (bit));                                                              \
    }
HAS_CONFIG(get_grid, GP_HAS_GRID)
HAS_CONFIG(get_block, GP_HAS_BLOCK)
HAS_CONFIG(get_registers, GP_HAS_REGS)
HAS_CONFIG(get_shared, GP_HAS_SHARED)

GP_GETTER(get_copy_kind)
{
    EVENT(e);
    gp_cell_text(c, gp_cuda_copy_kind(config_of(e)->copy_kind));
}

GP_GETTER(get_memory_kind)
{
    get_config(c, f, row, x);
    gp_cell_text(c, gp_cuda_memory_kind((uint32_t)c->i));
}

/* ---- of calls and ranges ---- */

GP_GETTER(get_call_events)
{
    EVENT(e);
    c->i = e->q->launched[e->row].events;
}

GP_GETTER(get_call_gpu)
{
    EVENT(e);
    c->i = e->q->launched[e->row].ns;
}

static const char *const range_kinds[] = {"range", "op", "python", NULL};
GP_GETTER(get_range_kind)
{
    EVENT(e);
    gp_cell_text(c, range_kinds[e->table == GP_RANGE ? 0 : e->table == GP_OP ? 1 : 2]);
}

GP_GETTER(get_sample_count)
{
    get_number(c, f, row, x);
    c->i++;
}

GP_GETTER(get_allocation_device)
{
    EVENT(e);
    c->i = track_of(e)->device;
    c->none = c->i < 0;
}

/* ---- of made rows ---- */

GP_GETTER(get_row_number)
{
    const struct gp_query *q = x->of;
    c->i = ((const char *)row - (const char *)gp_rows_at((const char *)q + f->at)) / (ptrdiff_t)f->below;
}

GP_GETTER(get_cause)
{
    gp_cell_text(c, gp_idle_cause_name((enum gp_idle_cause)((const struct gp_query_idle *)row)->cause));
}

GP_GETTER(get_idle_dur)
{
    const struct gp_query_idle *r = row;
    c->i = r->end_ns - r->begin_ns;
}

GP_GETTER(get_wait_dur)
{
    const struct gp_query_wait *r = row;
    c->i = r->end_ns - r->begin_ns;
}

GP_GETTER(get_collective_dur)
{
    const struct gp_collective *r = row;
    c->i = r->end_ns - r->start_ns;
}

GP_GETTER(get_source)
{
    gp_cell_text(c, gp_step_source_name((enum gp_step_source)((const struct gp_query_step *)row)->s.source));
}

static const char *const frame_kinds[] = {"range", "module", "python", "op", "call", NULL};
GP_GETTER(get_frame_kind)
{
    uint32_t kind = ((const struct gp_query_frame *)row)->kind;
    gp_cell_text(c, frame_kinds[kind == GP_FRAME_RANGE    ? 0
                                : kind == GP_FRAME_MODULE ? 1
                                : kind == GP_FRAME_PYTHON ? 2
                                : kind == GP_FRAME_OP     ? 3
                                                          : 4]);
}

GP_GETTER(get_parent)
{
    put_stack(c, ((const struct gp_query_frame *)row)->parent);
}

GP_GETTER(get_frame_name)
{
    put_sid(c, &((const struct gp_query *)x->of)->names, *(const gp_sid *)gp_member_at(row, f));
    c->none = !c->text_len;
}

GP_GETTER(get_trace_sid)
{
    put_sid(c, &((const struct gp_query *)x->of)->t->strings, *(const gp_sid *)gp_member_at(row, f));
    c->none = !c->text_len;
}

/* ---- columns ---- */

#define TYPE(t)    GP_CELL_##t
#define KEY        .flags = GP_QUERY_KEY | GP_FIELD_NULL
#define NULLS      .flags = GP_FIELD_NULL
#define PLAIN      .flags = 0 /* the name says it */
#define AT(member) offsetof(struct gp_config, member)
#define WHEN                                                                                                 \
    {"start_ns", NULL, TYPE(NS), get_start, 0, .help = "on the clock of the first input"},                   \
        {"end_ns", NULL, TYPE(NS), get_end, 0, PLAIN},                                                       \
    {                                                                                                        \
        "dur_ns", NULL, TYPE(NS), get_dur, 0, PLAIN                                                          \
    }
#define ID(of)                                                                                               \
    {"id", NULL, TYPE(ID), get_id, 0, .help = of},                                                           \
    {                                                                                                        \
        "rank", NULL, TYPE(ID), get_rank, 0, .help = "of the process, or of its file", NULLS                 \
    }
#define THREAD                                                                                               \
    {"process", NULL, TYPE(ID), get_process, 0, .help = "id in processes"},                                  \
        {"pid", NULL, TYPE(ID), get_pid, 0, NULLS},                                                          \
    {                                                                                                        \
        "tid", NULL, TYPE(ID), get_tid, 0, NULLS                                                             \
    }

/* Of every GPU event. */
#define GPU                                                                                                  \
    ID("of the GPU event, the same in events, kernels, copies and sets"),                                    \
        {"process", NULL, TYPE(ID), get_process, 0, .help = "id in processes"},                              \
        {"pid", NULL, TYPE(ID), get_pid, 0, NULLS},                                                          \
        {"device", NULL, TYPE(ID), get_device, 0, .help = "ordinal", NULLS},                                 \
        {"context", NULL, TYPE(ID), get_context, 0, NULLS},                                                  \
        {"stream", NULL, TYPE(ID), get_stream, 0, NULLS},                                                    \
        {"kind", NULL, TYPE(TEXT), get_kind, 0, .flags = GP_QUERY_BY_TEXT, .words = kinds},                  \
        {"class",                                                                                            \
         NULL,                                                                                               \
         TYPE(TEXT),                                                                                         \
         get_class,                                                                                          \
         0,                                                                                                  \
         .flags = GP_QUERY_BY_TEXT,                                                                          \
         .help = "compute, communication or memory",                                                         \
         .words = gp_class_words},                                                                           \
        {"category",                                                                                         \
         NULL,                                                                                               \
         TYPE(TEXT),                                                                                         \
         get_category,                                                                                       \
         0,                                                                                                  \
         .flags = GP_QUERY_BY_TEXT,                                                                          \
         .help = "finer than class: gemm, attention, ...",                                                   \
         .words = gp_frame_kind_words},                                                                      \
        {"name", NULL, TYPE(NAME), get_name, 0, .flags = GP_QUERY_BY_TEXT, .help = "in full, demangled"},    \
        {"label",                                                                                            \
         NULL,                                                                                               \
         TYPE(NAME),                                                                                         \
         get_label,                                                                                          \
         0,                                                                                                  \
         .flags = GP_QUERY_BY_TEXT,                                                                          \
         .help = "the name as reports print it"},                                                            \
        WHEN, {"bytes", NULL, TYPE(BYTES), get_known, GP_COL_BYTES, .help = "copied or set", NULLS},         \
        {"call", NULL, TYPE(ID), get_call, 0, .help = "id in calls of what launched it", KEY},               \
        {"delay_ns", NULL, TYPE(NS),                                                                         \
         get_delay,  0,    .help = "from the end of that call to its start, at least 0",                     \
         NULLS},                                                                                             \
        {"step", NULL, TYPE(ID), get_step, 0, .help = "id in steps of the step that launched it", KEY},      \
        {"stack", NULL, TYPE(ID), get_stack, 0, .help = "id in frames of what launched it", KEY},            \
        {"correlation", NULL, TYPE(ID), get_number, GP_COL_CORR, .help = "as recorded, per process", KEY},   \
        {"graph", NULL, TYPE(ID), get_number, GP_COL_GRAPH, .help = "of the CUDA graph", NULLS},             \
        {"node", NULL, TYPE(ID), get_number, GP_COL_NODE, .help = "in that graph", NULLS},                   \
        {"name_id", NULL, TYPE(ID), get_name_id, 0, .help = "of name in texts"},                             \
        {"label_id", NULL, TYPE(ID), get_label_id, 0, .help = "of label in texts"},                          \
        {"recorded_id", NULL, TYPE(ID), get_recorded_id, 0, .help = "in texts of the name as recorded"},     \
    {                                                                                                        \
        "args", NULL, TYPE(TEXT), get_text, GP_COL_EXTRA, .help = "what else was recorded, as JSON", NULLS   \
    }

static const struct gp_field event_fields[] = {GPU};
static const struct gp_field kernel_fields[] = {
    GPU,
    {"grid_x", NULL, TYPE(COUNT), get_grid, AT(grid[0]), NULLS},
    {"grid_y", NULL, TYPE(COUNT), get_grid, AT(grid[1]), NULLS},
    {"grid_z", NULL, TYPE(COUNT), get_grid, AT(grid[2]), NULLS},
    {"block_x", NULL, TYPE(COUNT), get_block, AT(block[0]), NULLS},
    {"block_y", NULL, TYPE(COUNT), get_block, AT(block[1]), NULLS},
    {"block_z", NULL, TYPE(COUNT), get_block, AT(block[2]), NULLS},
    {"registers", NULL, TYPE(COUNT), get_registers, AT(registers), .help = "per thread", NULLS},
    {"shared_bytes", NULL, TYPE(BYTES), get_shared, AT(shared_bytes), .help = "per block", NULLS},
    {"shared_static_bytes", NULL, TYPE(BYTES), get_shared, AT(shared_static_bytes),
     .help = "of them, static; 0 if not known", NULLS},
    {"local_bytes", NULL, TYPE(BYTES), get_config, AT(local_bytes), .help = "per thread; 0 if not known"},
};
static const struct gp_field copy_fields[] = {
    GPU,
    {"copy_kind", NULL, TYPE(TEXT), get_copy_kind, 0, .help = "HtoD, DtoH, DtoD, PtoP, ..."},
    {"copy_kind_id", NULL, TYPE(ID), get_config, AT(copy_kind), .help = "the same as CUPTI numbers it"},
    {"from_memory", NULL, TYPE(TEXT), get_memory_kind, AT(src_kind), .help = "Pageable, Pinned, Device, ..."},
    {"to_memory", NULL, TYPE(TEXT), get_memory_kind, AT(dst_kind), PLAIN},
    {"from_memory_id", NULL, TYPE(ID), get_config, AT(src_kind), PLAIN},
    {"to_memory_id", NULL, TYPE(ID), get_config, AT(dst_kind), PLAIN},
};
#undef AT

#define CALL                                                                                                 \
    ID("of the call"), THREAD, {"name", NULL, TYPE(NAME), get_text, GP_COL_NAME, PLAIN}, WHEN,               \
        {"events", NULL, TYPE(COUNT), get_call_events, 0, .help = "GPU events that it launched"},            \
        {"gpu_ns", NULL, TYPE(NS), get_call_gpu, 0, .help = "their durations"},                              \
        {"stack", NULL, TYPE(ID), get_host_stack, 0, .help = "id in frames", KEY},                           \
        {"correlation", NULL, TYPE(ID), get_number, GP_COL_CORR, .help = "as recorded, per process", KEY},   \
        {"returned", NULL, TYPE(ID), get_number, GP_COL_RET, .help = "0: success"},                          \
    {                                                                                                        \
        "name_id", NULL, TYPE(ID), get_text_id, 0, .help = "in texts"                                        \
    }
static const struct gp_field call_fields[] = {CALL};
static const struct gp_field range_fields[] = {
    ID("of the range"),
    THREAD,
    {"kind", NULL, TYPE(TEXT), get_range_kind, 0, .help = "a range, a framework's operator, a Python frame",
     .words = range_kinds},
    {"name", NULL, TYPE(NAME), get_text, GP_COL_NAME, PLAIN},
    WHEN,
    {"stack", NULL, TYPE(ID), get_host_stack, 0, .help = "id in frames: itself and what is around it", KEY},
    {"sequence", NULL, TYPE(ID), get_number, GP_COL_SEQ, .help = "of autograd, of operators", NULLS},
    {"name_id", NULL, TYPE(ID), get_text_id, 0, .help = "in texts"},
    {"args", NULL, TYPE(TEXT), get_text, GP_COL_EXTRA, .help = "what else was recorded, as JSON", NULLS},
};
static const struct gp_field counter_fields[] = {
    ID("of the value"),
    {"process", NULL, TYPE(ID), get_process, 0, .help = "id in processes"},
    {"name", NULL, TYPE(NAME), get_text, GP_COL_NAME, PLAIN},
    {"series", NULL, TYPE(NAME), get_text, GP_COL_SERIES, NULLS},
    {"time_ns", NULL, TYPE(NS), get_start, 0, PLAIN},
    {"value", NULL, TYPE(REAL), get_event_value, 0, NULLS},
};
static const struct gp_field sample_fields[] = {
    ID("of the sample"),
    THREAD,
    {"state", NULL, TYPE(NAME), get_text, GP_COL_NAME, .help = "what the thread was doing"},
    {"time_ns", NULL, TYPE(NS), get_start, 0, PLAIN},
    {"samples", NULL, TYPE(COUNT), get_sample_count, GP_COL_TOTAL,
     .help = "this one and equal ones after it"},
    {"stack", NULL, TYPE(ID), get_exact_stack, 0, .help = "id in frames", KEY},
};
static const struct gp_field allocation_fields[] = {
    ID("of the allocation"),
    THREAD,
    {"device", NULL, TYPE(ID), get_allocation_device, 0, .help = "NULL: memory of the host, or not known",
     NULLS},
    {"name", NULL, TYPE(NAME), get_text, GP_COL_NAME, PLAIN},
    {"time_ns", NULL, TYPE(NS), get_start, 0, PLAIN},
    {"bytes", NULL, TYPE(CHANGE_BYTES), get_number, GP_COL_BYTES, .help = "negative: freed"},
    {"address", NULL, TYPE(ID), get_known, GP_COL_ADDR, NULLS},
    {"total_bytes", NULL, TYPE(BYTES), get_known, GP_COL_TOTAL, .help = "allocated after it", NULLS},
    {"reserved_bytes", NULL, TYPE(BYTES), get_known, GP_COL_RESERVED, .help = "reserved after it", NULLS},
    {"args", NULL, TYPE(TEXT), get_text, GP_COL_EXTRA, .help = "what else was recorded, as JSON", NULLS},
};

#define NUMBER(vec, row)                                                                                     \
    "id", NULL, TYPE(ID), get_row_number, offsetof(struct gp_query, vec), .below = sizeof(struct row)

#define AT(member) offsetof(struct gp_query_step, member)
static const struct gp_field step_fields[] = {
    {"id", NULL, TYPE(ID), gp_member_i64, AT(id), .flags = GP_QUERY_KEY,
     .help = "of the step on this device"},
    {"number", NULL, TYPE(ID), gp_member_i64, AT(number), .help = "on its device, from 0"},
    {"source", NULL, TYPE(TEXT), get_source, 0, .help = "how it was found", .words = gp_step_source_words},
    {.type = TYPE(PART), .rows = &gp_hta_step_list},
};
#undef AT

#define AT(member) offsetof(struct gp_query_idle, member)
static const struct gp_field idle_fields[] = {
    {.type = TYPE(PART), .at = AT(place), .rows = &gp_hta_places},
    {"start_ns", NULL, TYPE(NS), gp_member_i64, AT(begin_ns), PLAIN},
    {"end_ns", NULL, TYPE(NS), gp_member_i64, AT(end_ns), PLAIN},
    {"dur_ns", NULL, TYPE(NS), get_idle_dur, 0, .help = "sums to idle_ns of devices"},
    {"cause", NULL, TYPE(TEXT), get_cause, 0, .help = "as trace-hta: host, synchronisation, ..."},
    {"step", NULL, TYPE(ID), gp_member_known_i64, AT(step), .help = "id in steps of the step that it lies in",
     KEY},
    {"event", NULL, TYPE(ID), gp_member_u32, AT(row), .help = "id of the GPU event that ended the gap",
     .flags = GP_QUERY_KEY},
    {"stack", NULL, TYPE(ID), gp_member_u32, AT(stack),
     .help = "id in frames of what the host did; 0: unknown", .flags = GP_QUERY_KEY},
    {"gap_start_ns", NULL, TYPE(NS), gp_member_i64, AT(gap_begin_ns),
     .help = "a gap has a row for each cause"},
    {"gap_end_ns", NULL, TYPE(NS), gp_member_i64, AT(gap_end_ns), PLAIN},
};
#undef AT

#define AT(member) offsetof(struct gp_query_wait, member)
static const struct gp_field wait_fields[] = {
    {"rank", NULL, TYPE(ID), gp_member_rank, AT(rank), NULLS},
    {"call", NULL, TYPE(ID), gp_member_u32, AT(call), .help = "id in calls", .flags = GP_QUERY_KEY},
    {"event", NULL, TYPE(ID), gp_member_u32, AT(event), .help = "id of the GPU event that it waited for",
     .flags = GP_QUERY_KEY},
    {"own", NULL, TYPE(BOOL), gp_member_bool, AT(own), .help = "the call started that event itself"},
    {"name", NULL, TYPE(NAME), gp_member_sid, AT(name), .help = "of the call"},
    {"start_ns", NULL, TYPE(NS), gp_member_i64, AT(begin_ns), PLAIN},
    {"end_ns", NULL, TYPE(NS), gp_member_i64, AT(end_ns), PLAIN},
    {"dur_ns", NULL, TYPE(NS), get_wait_dur, 0, PLAIN},
};
#undef AT

#define AT(member) offsetof(struct gp_query_frame, member)
static const struct gp_field frame_fields[] = {
    {NUMBER(frames, gp_query_frame), .help = "of the stack that this frame is the innermost of",
     .flags = GP_QUERY_KEY},
    {"parent", NULL, TYPE(ID), get_parent, 0, .help = "id of the frame around it", KEY},
    {"depth", NULL, TYPE(COUNT), gp_member_u32, AT(depth), .help = "frames of the stack"},
    {"kind", NULL, TYPE(TEXT), get_frame_kind, 0, .words = frame_kinds},
    {"name", NULL, TYPE(NAME), get_frame_name, AT(name), NULLS},
    {"line", NULL, TYPE(NAME), get_frame_name, AT(own_line), .help = "file:line, of Python frames", NULLS},
    {"backward", NULL, TYPE(BOOL), gp_member_bool, AT(backward), .help = "in the backward pass"},
};
#undef AT

#define AT(member) offsetof(struct gp_collective, member)
static const struct gp_field collective_fields[] = {
    {"rank", NULL, TYPE(ID), gp_member_rank, AT(rank), NULLS},
    {"device", NULL, TYPE(ID), gp_member_device, AT(device), NULLS},
    {"stream", NULL, TYPE(ID), gp_member_known_i64, AT(stream), NULLS},
    {"operation", NULL, TYPE(NAME), gp_member_sid, AT(op), .help = "all_reduce, all_gather, ..."},
    {"group_name", NULL, TYPE(NAME), gp_member_name, AT(group), NULLS},
    {"group_size", NULL, TYPE(COUNT), gp_member_u32, AT(group_size), .help = "0: not known"},
    {"type", NULL, TYPE(NAME), gp_member_name, AT(dtype), NULLS},
    {"sequence", NULL, TYPE(ID), gp_member_id, AT(seq), .help = "in its group, as recorded", NULLS},
    {"number", NULL, TYPE(ID), gp_member_u32, AT(order), .help = "among those of its rank and group"},
    {"bytes", NULL, TYPE(BYTES), gp_member_known_i64, AT(bytes), .help = "of the full message", NULLS},
    {"kernel", NULL, TYPE(NAME), gp_member_sid, AT(kernel), PLAIN},
    {"start_ns", NULL, TYPE(NS), gp_member_i64, AT(start_ns), PLAIN},
    {"end_ns", NULL, TYPE(NS), gp_member_i64, AT(end_ns), PLAIN},
    {"dur_ns", NULL, TYPE(NS), get_collective_dur, 0, PLAIN},
};
#undef AT

#define AT(member) offsetof(struct gp_process, member)
static const struct gp_field process_fields[] = {
    {NUMBER(processes, gp_process), .help = "of the process", .flags = GP_QUERY_KEY},
    {"rank", NULL, TYPE(ID), gp_member_rank, AT(rank), NULLS},
    {"pid", NULL, TYPE(ID), gp_member_i64, AT(pid), PLAIN},
    {"name", NULL, TYPE(NAME), get_trace_sid, AT(name), NULLS},
    {"labels", NULL, TYPE(NAME), get_trace_sid, AT(labels), NULLS},
};
#undef AT

#define AT(member) offsetof(struct gp_query_text, member)
static const struct gp_field text_fields[] = {
    {"id", NULL, TYPE(ID), gp_member_u32, AT(sid), .flags = GP_QUERY_KEY},
    {"value", NULL, TYPE(NAME), gp_member_sid, AT(sid), PLAIN},
};
#undef AT

/* ---- tables ---- */

#define REC(id, fields, text)                                                                                \
    {                                                                                                        \
        id, NULL, GP_FIELDS(fields), sizeof(struct gp_query_event), .note = text                             \
    }
#define GPU_TABLE(id, fields, text, kind_bits)                                                               \
    {                                                                                                        \
        .rec = REC(id, fields, text), .need = GP_NEED(GP_GPU), .wants = 0, .tables = {GP_GPU},               \
        .n_tables = 1, .kinds = (kind_bits)                                                                  \
    }
static const struct gp_query_table
    events = GPU_TABLE("events", event_fields, "GPU events: kernels, copies and sets", 0),
    kernels = GPU_TABLE("kernels", kernel_fields, "kernels, with their launch configuration", 1 << GP_KERNEL),
    copies = GPU_TABLE("copies", copy_fields, "copies of memory", 1 << GP_MEMCPY),
    sets = GPU_TABLE("sets", event_fields, "memory that was set to a value", 1 << GP_MEMSET);
#define CALL_TABLE(id, text, only)                                                                           \
    {                                                                                                        \
        .rec = REC(id, call_fields, text), .need = GP_VIEW_NEED, .tables = {GP_API}, .n_tables = 1,          \
        .launching = (only), .wants = GP_QUERY_CALLS                                                         \
    }
static const struct gp_query_table launches = CALL_TABLE("launches", "calls that launched GPU events", true),
                                   calls = CALL_TABLE("calls", "calls of the runtime and the driver", false);
static const struct gp_query_table ranges = {
    .rec = REC("ranges", range_fields, "ranges, operators and Python frames of the host"),
    .need = GP_NEED(GP_RANGE) | GP_NEED(GP_OP) | GP_NEED(GP_PYTHON),
    .tables = {GP_RANGE, GP_OP, GP_PYTHON},
    .n_tables = 3};
#define HOST_TABLE(name, text, table)                                                                        \
    {                                                                                                        \
        .rec = REC(#name "s", name##_fields, text), .need = GP_NEED(table), .tables = {table}, .n_tables = 1 \
    }
static const struct gp_query_table counters = HOST_TABLE(counter, "values over time", GP_COUNTER),
                                   samples = HOST_TABLE(sample, "samples of threads' stacks", GP_SAMPLE),
                                   allocations = HOST_TABLE(allocation, "allocations and frees", GP_MEMORY);

#define MADE(vec, fields, row, note_, need_, wants_)                                                         \
    {                                                                                                        \
        .rec = {#vec, NULL, GP_FIELDS(fields), sizeof(row), .note = note_}, .need = (need_),                 \
        .wants = (wants_), .at = offsetof(struct gp_query, vec)                                              \
    }
static const struct gp_query_table
    waits = MADE(waits, wait_fields, struct gp_query_wait, "calls that waited for the GPU, and for what",
                 GP_VIEW_NEED, GP_QUERY_WAITS),
    steps = MADE(steps, step_fields, struct gp_query_step,
                 "each step on each device, as trace-hta --each-step", GP_HTA_NEED, GP_QUERY_HTA),
    idle = MADE(idle, idle_fields, struct gp_query_idle, "idle time of devices, in pieces of one cause each",
                GP_HTA_NEED, GP_QUERY_IDLE),
    texts = MADE(texts, text_fields, struct gp_query_text, "numbers for all names",
                 GP_NEED(GP_GPU) | GP_NEED(GP_API) | GP_NEED(GP_RANGE), GP_QUERY_NAMES | GP_QUERY_TEXTS),
    frames = {.rec = {"frames", NULL, GP_FIELDS(frame_fields), sizeof(struct gp_query_frame),
                      .note = "stacks: a frame, and by its parents all around it"},
              .need = GP_VIEW_NEED,
              .wants = GP_QUERY_STACKS,
              .at = offsetof(struct gp_query, frames),
              .skip = 1};

/* Rows of trace-hta's answer. */
#define OF_HTA(name, fields, row, vec, note_)                                                                \
    {                                                                                                        \
        .rec = {name, NULL, GP_FIELDS(fields), sizeof(row), .note = note_}, .need = GP_HTA_NEED,             \
        .wants = GP_QUERY_HTA, .at = offsetof(struct gp_query, vec), .of_hta = true                          \
    }
static const struct gp_field device_fields[] = {{.type = TYPE(PART), .rows = &gp_hta_devices}};
static const struct gp_field match_fields[] = {{.type = TYPE(PART), .rows = &gp_hta_matches}};
static const struct gp_field rank_fields[] = {{.type = TYPE(PART), .rows = &gp_inputs}};
static const struct gp_query_table devices =
                                       OF_HTA("devices", device_fields, struct gp_hta_device, hta.devices,
                                              "each device, and where its time went, as trace-hta"),
                                   collectives =
                                       OF_HTA("collectives", collective_fields, struct gp_collective,
                                              hta.collectives, "collectives on each rank"),
                                   matches = OF_HTA("matches", match_fields, struct gp_collective_match,
                                                    hta.matches, "the same collective on all of its ranks"),
                                   processes =
                                       MADE(processes, process_fields, struct gp_process, "processes", 0, 0),
                                   ranks = MADE(ranks, rank_fields, struct gp_input_quality,
                                                "the inputs, and how good they are", GP_NEED(GP_GPU), 0);

const struct gp_query_table *const gp_query_tables[] = {
    &events,  &kernels,     &copies,  &sets,      &launches,    &calls,   &waits,
    &ranges,  &frames,      &steps,   &idle,      &collectives, &matches, &counters,
    &samples, &allocations, &devices, &processes, &ranks,       &texts,   NULL};

const struct gp_query_table *gp_query_table(const char *name)
{
    for (const struct gp_query_table *const *t = gp_query_tables; *t; t++)
        if (!strcmp((*t)->rec.id, name)) return *t;
    return NULL;
}

void gp_query_column_wants(const struct gp_field *f, uint32_t *need, uint32_t *wants)
{
    static const struct {
        gp_field_get *get;
        uint32_t need, wants;
    } of[] = {
        {get_name, 0, GP_QUERY_NAMES},
        {get_label, 0, GP_QUERY_NAMES},
        {get_name_id, 0, GP_QUERY_NAMES},
        {get_label_id, 0, GP_QUERY_NAMES},
        {get_class, 0, GP_QUERY_NAMES},
        {get_category, 0, GP_QUERY_NAMES},
        {get_recorded_id, 0, GP_QUERY_TEXTS},
        {get_text_id, 0, GP_QUERY_TEXTS},
        {get_call, GP_VIEW_NEED, GP_QUERY_VIEW},
        {get_delay, GP_VIEW_NEED, GP_QUERY_VIEW},
        {get_step, GP_VIEW_NEED, GP_QUERY_PLACES},
        {get_stack, GP_VIEW_NEED, GP_QUERY_STACKS},
        {get_host_stack, GP_VIEW_NEED, GP_QUERY_STACKS},
        {get_exact_stack, GP_VIEW_NEED, GP_QUERY_STACKS},
    };
    for (size_t i = 0; i < GP_COUNT(of); i++)
        if (of[i].get == f->get) *need |= of[i].need, *wants |= of[i].wants;
    if (f->get == get_text && f->at == GP_COL_EXTRA) *need |= GP_NEED_EXTRA;
    if (f->get == get_known && f->at == GP_COL_ADDR) *need |= GP_NEED_IDS;
}

struct gp_row_of gp_query_rows_of(const struct gp_query *q, const struct gp_query_table *table)
{
    struct gp_row_of of = q->rows_of;
    if (!table->of_hta && table->at != offsetof(struct gp_query, steps)) return of;
    of = gp_hta_rows_of(&q->hta, 0);
    of.mem = q->rows_of.mem;
    return of;
}
