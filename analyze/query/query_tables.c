/* What each table is: its columns, where their values are, and what they need. */
#include <string.h>
#include "analyze/hta/hta_rows.h"
#include "analyze/names/classify.h"
#include "analyze/names/names.h"
#include "analyze/query/query.h"
#include "analyze/view/quality.h"
#include "formats/base/buf.h"
#include "formats/base/count.h"
#include "formats/model/cuda_names.h"

static const char *const kinds[] = {"kernel", "copy", "set"};
static const char *const frame_kinds[] = {"range", "module", "python", "op", "call"};

/* -1: none. */
static void put_known(struct gp_cell *c, int64_t v)
{
    c->i = v;
    c->none = v < 0;
}

static void put_stack(struct gp_cell *c, uint32_t stack)
{
    c->i = stack;
    c->none = !stack;
}

/* ---- values of events ---- */

// clang-format off
/* What a column of an event is, besides the columns of the trace. */
enum what {
    ID, START, END, DUR, VALUE, LATENCY, SAMPLES, HOST_NAME_ID, RANGE_KIND,            /* get_event */
    RANK, PROCESS, PID, TID, DEVICE, CONTEXT, STREAM, ALLOCATION_DEVICE,               /* get_place */
    KIND, CLASS, CATEGORY, NAME, LABEL, NAME_ID, LABEL_ID, RECORDED_ID,                /* get_work */
    CALL, DELAY, STEP, STACK, HOST_STACK, EXACT_STACK, EVENTS, GPU                     /* get_found */
};

static const struct gp_events *events_of(const struct gp_query_event *e)
{
    return &e->q->t->events[e->table];
}

/* Where an event is. */
GP_GETTER_OF(get_place, struct gp_query_event, e)
{
    const struct gp_track *k = &e->q->t->tracks.at[events_of(e)->track[e->row]];
    const struct gp_process *p = &e->q->t->processes.at[k->process];
    switch ((enum what)f->at) {
    case RANK: put_known(c, p->rank < 0 ? e->q->t->rank : p->rank); return;
    case PID: c->i = p->pid, c->none = p->pid_text != 0; return;
    case TID: c->i = k->tid, c->none = k->tid_text != 0; return;
    case DEVICE: put_known(c, k->device >= 0 || p->pid_text ? k->device : p->pid); return; /* as the view */
    case CONTEXT: put_known(c, k->context); return;
    case STREAM: put_known(c, k->stream); return;
    case ALLOCATION_DEVICE: put_known(c, k->device); return;
    default: c->i = k->process;
    }
}

/* What is recorded of an event itself. How long the host took means nothing while counters are read. */
GP_GETTER_OF(get_event, struct gp_query_event, e)
{
    const struct gp_events *of = events_of(e);
    c->none = e->q->untimed && e->table != GP_GPU && (f->at == END || f->at == DUR);
    switch ((enum what)f->at) {
    case START: c->i = of->start_ns[e->row]; return;
    case END: c->i = of->start_ns[e->row] + of->dur_ns[e->row]; return;
    case DUR: c->i = of->dur_ns[e->row]; return;
    case VALUE: gp_cell_real(c, gp_get_value(of, e->row)); return;
    case LATENCY: c->i = (int64_t)gp_get_value(of, e->row); return;
    case SAMPLES: c->i = 1 + gp_get_total(of, e->row); return;
    case HOST_NAME_ID: c->i = e->q->text_of[of->name[e->row]]; return;
    case RANGE_KIND: gp_cell_text(c, gp_table_name((enum gp_table)e->table)); return; /* range, op, python */
    default: c->i = e->id;
    }
}

/* What a GPU event runs. */
GP_GETTER_OF(get_work, struct gp_query_event, e)
{
    uint32_t config = gp_get_config(events_of(e), e->row);
    const struct gp_query_kernel *k = e->q->kernels ? &e->q->kernels[config] : NULL;
    switch ((enum what)f->at) {
    case KIND: gp_cell_text(c, kinds[e->q->t->configs.at[config].kind]); return;
    case CLASS: gp_cell_text(c, gp_class_name(gp_class_of((enum gp_frame_kind)k->kind))); return;
    case CATEGORY: gp_cell_text(c, gp_frame_kind_word((enum gp_frame_kind)k->kind)); return;
    case NAME: gp_cell_sid(c, &e->q->names, k->name), c->none = false; return;
    case LABEL: gp_cell_sid(c, &e->q->names, k->label), c->none = false; return;
    case NAME_ID: c->i = k->name; return;
    case LABEL_ID: c->i = k->label; return;
    default: c->i = e->q->text_of[e->q->t->configs.at[config].name];
    }
}

/* From the end of a call to the start of what it launched, as trace-hta has it. */
static void put_delay(struct gp_cell *c, const struct gp_query_event *e, uint32_t call)
{
    const struct gp_events *api = &e->q->t->events[GP_API];
    c->none = call == UINT32_MAX || e->q->untimed;
    if (!c->none) c->i = events_of(e)->start_ns[e->row] - api->start_ns[call] - api->dur_ns[call];
    if (c->i < 0) c->i = 0;
}

static uint32_t host_stack_of(const struct gp_query_event *e)
{
    const struct gp_query *q = e->q;
    return gp_query_stack_of_node(&q->stacks, gp_host_node(&q->v.hs, (enum gp_table)e->table, e->row));
}

static uint32_t exact_stack_of(const struct gp_query_event *e)
{
    uint32_t stack = gp_sample_stack(events_of(e), e->row);
    return e->q->stacks.exact && stack < e->q->t->stacks.n ? e->q->stacks.exact[stack] : 0;
}

/* What an analysis found for an event. */
GP_GETTER_OF(get_found, struct gp_query_event, e)
{
    const struct gp_query *q = e->q;
    const uint32_t call = f->at == CALL || f->at == DELAY ? gp_view_launch(&q->v, e->row) : 0;
    switch ((enum what)f->at) {
    case CALL: put_known(c, call == UINT32_MAX ? -1 : (int64_t)call); return;
    case DELAY: put_delay(c, e, call); return;
    case STEP: put_known(c, q->step_of[e->row]); return;
    case STACK: put_stack(c, gp_query_stack_of_event(&q->stacks, e->row)); return;
    case HOST_STACK: put_stack(c, host_stack_of(e)); return;
    case EXACT_STACK: put_stack(c, exact_stack_of(e)); return;
    case EVENTS: c->i = q->launched[e->row].events; return;
    default: c->i = q->launched[e->row].ns;
    }
}

// clang-format on
/* A cell of the column F->at of the trace: a number, one that is not known if it is 0, a text. */
GP_GETTER_OF(get_number, struct gp_query_event, e)
{
    const struct gp_column_info *info = &gp_column_infos[f->at];
    const char *cells = gp_events_column(events_of(e), (enum gp_column)f->at);
    int32_t narrow = (int32_t)info->dflt;
    memcpy(&c->i, &info->dflt, sizeof c->i);
    if (cells && info->width == 8) memcpy(&c->i, cells + (size_t)e->row * 8, 8);
    if (cells && info->width == 4) memcpy(&narrow, cells + (size_t)e->row * 4, 4);
    if (info->width == 4) c->i = narrow;
    c->none = info->dflt == GP_NO_ID && c->i == -1;
}

GP_GET_UNLESS(get_known, void, get_number, !c->i)

GP_GETTER_OF(get_text, struct gp_query_event, e)
{
    get_number(c, f, e, x);
    gp_cell_sid(c, &e->q->t->strings, (gp_sid)c->i);
}

/* The name of a kernel in full. */
GP_GETTER(get_demangled)
{
    const struct gp_query_event *e = row;
    const struct gp_strings *s = &e->q->t->strings;
    const gp_sid name = events_of(e)->name[e->row];
    struct gp_buf b = {0};
    gp_name_demangle(&b, gp_string(s, name), gp_string_len(s, name));
    gp_cell_take(c, &b, x);
}

/* The line of a program counter, or its file. */
GP_GETTER(get_source_line)
{
    const struct gp_query_event *e = row;
    const struct gp_trace *t = e->q->t;
    const uint32_t stack = gp_get_stack(events_of(e), e->row);
    const struct gp_stack *at = &t->stacks.at[stack < t->stacks.n ? stack : 0];
    if (f->type == GP_CELL_NAME) gp_cell_sid(c, &t->strings, at->file);
    else put_known(c, at->line ? (int64_t)at->line : -1);
}

/* A member of the configuration, which is known if it has the bit F->below. */
GP_GETTER_OF(get_config, struct gp_query_event, e)
{
    const struct gp_config *config = gp_gpu_config(e->q->t, e->row);
    c->i = *(const uint32_t *)(const void *)((const char *)config + f->at);
    c->none = f->below && !(config->has & f->below);
}

GP_GETTER(get_copy_kind)
{
    get_config(c, f, row, x);
    gp_cell_text(c, gp_cuda_copy_kind((uint32_t)c->i));
}

GP_GETTER(get_memory_kind)
{
    get_config(c, f, row, x);
    gp_cell_text(c, gp_cuda_memory_kind((uint32_t)c->i));
}

/* ---- values of rows that are made ---- */

GP_GETTER(get_row_number)
{
    const char *first = gp_rows_at((const char *)x->of + f->at);
    c->i = ((const char *)row - first) / (ptrdiff_t)f->below;
}

/* From the time at F->at to the one behind it. */
GP_GETTER(get_span)
{
    const int64_t *begin_ns = gp_member_at(row, f);
    c->i = begin_ns[1] - begin_ns[0];
}

GP_GET(get_cause, struct gp_query_idle, gp_cell_text(c, gp_idle_cause_name((enum gp_idle_cause)r->cause)))

GP_GET(get_source, struct gp_query_step,
       gp_cell_text(c, gp_step_source_name((enum gp_step_source)r->s.source)))

GP_GETTER(get_frame_kind)
{
    uint32_t kind = ((const struct gp_query_frame *)row)->kind;
    gp_cell_text(c, frame_kinds[kind <= GP_FRAME_API && kind >= GP_FRAME_RANGE ? kind - GP_FRAME_RANGE : 4]);
}

GP_GETTER(get_stack) { put_stack(c, *(const uint32_t *)gp_member_at(row, f)); }

GP_GETTER(get_frame_name)
{
    const struct gp_query *q = x->of;
    gp_cell_sid(c, &q->names, q->frames.at[*(const uint32_t *)gp_member_at(row, f)].name);
}

GP_GETTER(get_trace_sid)
{
    gp_cell_sid(c, &((const struct gp_query *)x->of)->t->strings, *(const gp_sid *)gp_member_at(row, f));
}

/* ---- columns ---- */

#define F(id, type, get, at, help_, ...)                                                                     \
    {                                                                                                        \
        id, NULL, GP_CELL_##type, get, at, .help = help_, __VA_ARGS__                                        \
    }
#define KEY    .flags = GP_QUERY_KEY | GP_FIELD_NULL
#define NULLS  .flags = GP_FIELD_NULL
#define ALWAYS .flags = 0
#define ORDER  .flags = GP_QUERY_BY_TEXT
#define PART(at_, record)                                                                                    \
    {                                                                                                        \
        .type = GP_CELL_PART, .at = at_, .rows = record                                                      \
    }

// clang-format off
#define WHO \
    F("id", ID, get_event, ID, "of the row", ALWAYS), \
    F("rank", ID, get_place, RANK, "of the process, or of its file", NULLS), \
    F("process", ID, get_place, PROCESS, "id in processes", ALWAYS), \
    F("pid", ID, get_place, PID, NULL, NULLS)
#define WHEN \
    F("start_ns", NS, get_event, START, "on the clock of the first input", ALWAYS), \
    F("end_ns", NS, get_event, END, NULL, ALWAYS), \
    F("dur_ns", NS, get_event, DUR, NULL, ALWAYS)
#define AT_TIME F("time_ns", NS, get_event, START, "on the clock of the first input", ALWAYS)
#define THREAD WHO, F("tid", ID, get_place, TID, NULL, NULLS)
#define NAMED(id, help) F(id, NAME, get_text, GP_COL_NAME, help, NULLS)
#define ARGS F("args", TEXT, get_text, GP_COL_EXTRA, "what else was recorded, as JSON", NULLS)
#define GPU_EVENT \
    WHO, \
    F("device", ID, get_place, DEVICE, "ordinal", NULLS), \
    F("context", ID, get_place, CONTEXT, NULL, NULLS), \
    F("stream", ID, get_place, STREAM, NULL, NULLS), \
    F("kind", TEXT, get_work, KIND, "kernel, copy or set", ORDER), \
    F("class", TEXT, get_work, CLASS, "compute, communication or memory", ORDER), \
    F("category", TEXT, get_work, CATEGORY, "finer than class: gemm, attention, ...", ORDER), \
    F("name", NAME, get_work, NAME, "in full, demangled", ORDER), \
    F("label", NAME, get_work, LABEL, "the name as reports print it", ORDER), \
    WHEN, \
    F("bytes", BYTES, get_known, GP_COL_BYTES, "copied or set", NULLS), \
    F("call", ID, get_found, CALL, "id in calls of what launched it", KEY), \
    F("delay_ns", NS, get_found, DELAY, "from the end of that call to its start, at least 0", NULLS), \
    F("step", ID, get_found, STEP, "id in steps of the step that launched it", KEY), \
    F("stack", ID, get_found, STACK, "id in frames of what launched it", KEY), \
    F("correlation", ID, get_number, GP_COL_CORR, "as recorded, per process", KEY), \
    F("graph", ID, get_number, GP_COL_GRAPH, "of the CUDA graph", NULLS), \
    F("node", ID, get_number, GP_COL_NODE, "in that graph", NULLS), \
    F("name_id", ID, get_work, NAME_ID, "of name in texts", ALWAYS), \
    F("label_id", ID, get_work, LABEL_ID, "of label in texts", ALWAYS), \
    F("recorded_id", ID, get_work, RECORDED_ID, "in texts of the name as recorded", ALWAYS), \
    ARGS

#define AT(member) offsetof(struct gp_config, member)
#define HAS(bit) NULLS, .below = GP_HAS_##bit
static const struct gp_field event_fields[] = {GPU_EVENT};
static const struct gp_field kernel_fields[] = {
    GPU_EVENT,
    F("grid_x", COUNT, get_config, AT(grid[0]), NULL, HAS(GRID)),
    F("grid_y", COUNT, get_config, AT(grid[1]), NULL, HAS(GRID)),
    F("grid_z", COUNT, get_config, AT(grid[2]), NULL, HAS(GRID)),
    F("block_x", COUNT, get_config, AT(block[0]), NULL, HAS(BLOCK)),
    F("block_y", COUNT, get_config, AT(block[1]), NULL, HAS(BLOCK)),
    F("block_z", COUNT, get_config, AT(block[2]), NULL, HAS(BLOCK)),
    F("registers", COUNT, get_config, AT(registers), "per thread", HAS(REGS)),
    F("shared_bytes", BYTES, get_config, AT(shared_bytes), "per block", HAS(SHARED)),
    F("shared_static_bytes", BYTES, get_config, AT(shared_static_bytes), "of them, static", HAS(SHARED)),
    F("local_bytes", BYTES, get_config, AT(local_bytes), "per thread; 0 if not known", ALWAYS),
};
static const struct gp_field copy_fields[] = {
    GPU_EVENT,
    F("copy_kind", TEXT, get_copy_kind, AT(copy_kind), "HtoD, DtoH, DtoD, PtoP, ...", ALWAYS),
    F("copy_kind_id", ID, get_config, AT(copy_kind), "the same as CUPTI numbers it", ALWAYS),
    F("from_memory", TEXT, get_memory_kind, AT(src_kind), "Pageable, Pinned, Device, ...", ALWAYS),
    F("to_memory", TEXT, get_memory_kind, AT(dst_kind), NULL, ALWAYS),
    F("from_memory_id", ID, get_config, AT(src_kind), NULL, ALWAYS),
    F("to_memory_id", ID, get_config, AT(dst_kind), NULL, ALWAYS),
};
#undef AT

static const struct gp_field call_fields[] = {
    THREAD, NAMED("name", NULL), WHEN,
    F("events", COUNT, get_found, EVENTS, "GPU events that it launched", ALWAYS),
    F("gpu_ns", NS, get_found, GPU, "their durations", ALWAYS),
    F("stack", ID, get_found, HOST_STACK, "id in frames", KEY),
    F("correlation", ID, get_number, GP_COL_CORR, "as recorded, per process", KEY),
    F("returned", ID, get_number, GP_COL_RET, "0: success", ALWAYS),
    F("name_id", ID, get_event, HOST_NAME_ID, "in texts", ALWAYS),
};
static const struct gp_field range_fields[] = {
    THREAD, F("kind", TEXT, get_event, RANGE_KIND, "range, op (a framework's operator) or python", ALWAYS),
    NAMED("name", NULL), WHEN,
    F("stack", ID, get_found, HOST_STACK, "id in frames: itself and what is around it", KEY),
    F("sequence", ID, get_number, GP_COL_SEQ, "of autograd, of operators", NULLS),
    F("name_id", ID, get_event, HOST_NAME_ID, "in texts", ALWAYS), ARGS,
};
static const struct gp_field counter_fields[] = {
    WHO, NAMED("name", NULL), F("series", NAME, get_text, GP_COL_SERIES, NULL, NULLS), AT_TIME,
    F("value", REAL, get_event, VALUE, NULL, NULLS),
};
static const struct gp_field sample_fields[] = {
    THREAD, NAMED("state", "what the thread was doing"), AT_TIME,
    F("samples", COUNT, get_event, SAMPLES, "this one and equal ones after it", ALWAYS),
    F("stack", ID, get_found, EXACT_STACK, "id in frames", KEY),
};
static const struct gp_field stall_fields[] = {
    WHO,
    F("device", ID, get_place, DEVICE, "ordinal", NULLS),
    F("context", ID, get_place, CONTEXT, NULL, NULLS),
    NAMED("recorded_name", "of the kernel, as recorded"),
    F("name", NAME, get_demangled, 0, "in full, demangled, as in kernels", ALWAYS),
    F("file", NAME, get_source_line, 0, NULL, NULLS),
    F("line", COUNT, get_source_line, 0, NULL, NULLS),
    F("offset", ID, get_number, GP_COL_ADDR, "of the instruction in the kernel", ALWAYS),
    F("reason", NAME, get_text, GP_COL_SERIES, "why warps stall; selected: they issued", NULLS),
    F("samples", COUNT, get_number, GP_COL_TOTAL, "of warps, issued or not", ALWAYS),
    F("latency_samples", COUNT, get_event, LATENCY, "of these, when no warp could issue", ALWAYS),
    WHEN,
    F("correlation", ID, get_number, GP_COL_CORR, "of a launch; NULL: of all in that time", KEY),
};
static const struct gp_field allocation_fields[] = {
    THREAD, F("device", ID, get_place, ALLOCATION_DEVICE, "NULL: memory of the host, or not known", NULLS),
    NAMED("name", NULL), AT_TIME,
    F("bytes", CHANGE_BYTES, get_number, GP_COL_BYTES, "negative: freed", ALWAYS),
    F("address", ID, get_known, GP_COL_ADDR, NULL, NULLS),
    F("total_bytes", BYTES, get_known, GP_COL_TOTAL, "allocated after it", NULLS),
    F("reserved_bytes", BYTES, get_known, GP_COL_RESERVED, "reserved after it", NULLS), ARGS,
};

#define AT(member) offsetof(struct gp_query_step, member)
static const struct gp_field step_fields[] = {
    F("id", ID, gp_member_i64, AT(id), "of the step on this device", KEY),
    F("number", ID, gp_member_i64, AT(number), "on its device, from 0", ALWAYS),
    F("source", TEXT, get_source, 0, "how it was found: marker, graph or period", ALWAYS),
    PART(AT(s), &gp_hta_step_list),
};
#undef AT
#define AT(member) offsetof(struct gp_query_idle, member)
static const struct gp_field idle_fields[] = {
    PART(AT(place), &gp_hta_places),
    F("start_ns", NS, gp_member_i64, AT(begin_ns), NULL, ALWAYS),
    F("end_ns", NS, gp_member_i64, AT(end_ns), NULL, ALWAYS),
    F("dur_ns", NS, get_span, AT(begin_ns), "sums to idle_ns of devices and of steps", ALWAYS),
    F("cause", TEXT, get_cause, 0, "as trace-hta: host, synchronisation, ...", ALWAYS),
    F("step", ID, gp_member_known_i64, AT(step), "id in steps of the step that it lies in", KEY),
    F("event", ID, gp_member_u32, AT(row), "id of the GPU event that ended the gap", KEY),
    F("stack", ID, get_stack, AT(stack), "id in frames of what the host did", KEY),
    F("gap_start_ns", NS, gp_member_i64, AT(gap_begin_ns), "a gap has a row for each cause", ALWAYS),
    F("gap_end_ns", NS, gp_member_i64, AT(gap_end_ns), NULL, ALWAYS),
};
#undef AT
#define AT(member) offsetof(struct gp_query_wait, member)
static const struct gp_field wait_fields[] = {
    F("rank", ID, gp_member_rank, AT(rank), NULL, NULLS),
    F("call", ID, gp_member_u32, AT(call), "id in calls", KEY),
    F("event", ID, gp_member_u32, AT(event), "id of the GPU event that it waited for", KEY),
    F("own", BOOL, gp_member_bool, AT(own), "the call started that event itself", ALWAYS),
    F("name", NAME, gp_member_sid, AT(name), "of the call", ALWAYS),
    F("start_ns", NS, gp_member_i64, AT(begin_ns), NULL, ALWAYS),
    F("end_ns", NS, gp_member_i64, AT(end_ns), NULL, ALWAYS),
    F("dur_ns", NS, get_span, AT(begin_ns), NULL, ALWAYS),
};
#undef AT
#define AT(member) offsetof(struct gp_query_frame, member)
#define NUMBER(vec, row, help) \
    F("id", ID, get_row_number, offsetof(struct gp_query, vec), help, KEY, .below = sizeof(struct row))
static const struct gp_field frame_fields[] = {
    NUMBER(frames, gp_query_frame, "of the stack that this frame is the innermost of"),
    F("parent", ID, get_stack, AT(parent), "id of the frame around it", KEY),
    F("depth", COUNT, gp_member_u32, AT(depth), "frames of the stack", ALWAYS),
    F("kind", TEXT, get_frame_kind, 0, "range, module, python, op or call", ALWAYS),
    F("name", NAME, gp_member_sid, AT(name), NULL, ALWAYS),
    F("line", NAME, gp_member_name, AT(own_line), "file:line, of Python frames", NULLS),
    F("program_line", NAME, gp_member_name, AT(line), "line(id): the innermost in no library", NULLS),
    F("module", NAME, get_frame_name, AT(module), "module(id): the innermost", NULLS),
    F("range", NAME, get_frame_name, AT(range), "range(id): the innermost", NULLS),
    F("backward", BOOL, gp_member_bool, AT(backward), "backward(id): in the backward pass", ALWAYS),
};
#undef AT
#define AT(member) offsetof(struct gp_collective, member)
static const struct gp_field collective_fields[] = {
    F("rank", ID, gp_member_rank, AT(rank), NULL, NULLS),
    F("device", ID, gp_member_device, AT(device), NULL, NULLS),
    F("stream", ID, gp_member_known_i64, AT(stream), NULL, NULLS),
    F("operation", NAME, gp_member_sid, AT(op), "all_reduce, all_gather, ...", ALWAYS),
    F("group_name", NAME, gp_member_name, AT(group), NULL, NULLS),
    F("group_size", COUNT, gp_member_u32, AT(group_size), "0: not known", ALWAYS),
    F("type", NAME, gp_member_name, AT(dtype), NULL, NULLS),
    F("sequence", ID, gp_member_id, AT(seq), "in its group, as recorded", NULLS),
    F("number", ID, gp_member_u32, AT(order), "among those of its rank and group", ALWAYS),
    F("bytes", BYTES, gp_member_known_i64, AT(bytes), "of the full message", NULLS),
    F("kernel", NAME, gp_member_sid, AT(kernel), NULL, ALWAYS),
    F("start_ns", NS, gp_member_i64, AT(start_ns), NULL, ALWAYS),
    F("end_ns", NS, gp_member_i64, AT(end_ns), NULL, ALWAYS),
    F("dur_ns", NS, get_span, AT(start_ns), NULL, ALWAYS),
};
#undef AT
#define AT(member) offsetof(struct gp_process, member)
static const struct gp_field process_fields[] = {
    NUMBER(processes, gp_process, "of the process"),
    F("rank", ID, gp_member_rank, AT(rank), NULL, NULLS),
    F("pid", ID, gp_member_i64, AT(pid), NULL, ALWAYS),
    F("name", NAME, get_trace_sid, AT(name), NULL, NULLS),
    F("labels", NAME, get_trace_sid, AT(labels), NULL, NULLS),
};
#undef AT
static const struct gp_field text_fields[] = {
    F("id", ID, gp_member_u32, offsetof(struct gp_query_text, sid), NULL, KEY),
    F("value", NAME, gp_member_sid, offsetof(struct gp_query_text, sid), NULL, ALWAYS),
};
static const struct gp_field device_fields[] = {PART(0, &gp_hta_devices)};
static const struct gp_field match_fields[] = {PART(0, &gp_hta_matches)};
static const struct gp_field rank_fields[] = {PART(0, &gp_inputs)};

/* ---- tables ---- */

#define RECORD(id, fields, size, text) .rec = {id, NULL, GP_FIELDS(fields), size, .note = text}
/* Of the trace: rows of its table. */
#define OF_TRACE(id, fields, text, table, ...) \
    {RECORD(id, fields, sizeof(struct gp_query_event), text), .tables = {table}, .n_tables = 1, __VA_ARGS__}
/* Of a GP_VEC in struct gp_query. */
#define MADE(id, fields, row, vec, text, ...) \
    {RECORD(id, fields, sizeof(struct row), text), .at = offsetof(struct gp_query, vec), __VA_ARGS__}
#define GPU_ROWS .need = GP_NEED(GP_GPU)
#define CALLS    .need = GP_VIEW_NEED, .wants = GP_QUERY_CALLS
#define HTA      .need = GP_HTA_NEED, .wants = GP_QUERY_HTA, .of_hta = true
#define RANGES   GP_NEED(GP_RANGE) | GP_NEED(GP_OP) | GP_NEED(GP_PYTHON)
static const struct gp_query_table tables[] = {
    OF_TRACE("events", event_fields, "GPU events: kernels, copies and sets", GP_GPU, GPU_ROWS),
    OF_TRACE("kernels", kernel_fields, "kernels, with their launch configuration", GP_GPU, GPU_ROWS,
             .kinds = 1 << GP_KERNEL),
    OF_TRACE("copies", copy_fields, "copies of memory", GP_GPU, GPU_ROWS, .kinds = 1 << GP_MEMCPY),
    OF_TRACE("sets", event_fields, "memory that was set to a value", GP_GPU, GPU_ROWS,
             .kinds = 1 << GP_MEMSET),
    OF_TRACE("launches", call_fields, "calls that launched GPU events", GP_API, CALLS, .launching = true),
    OF_TRACE("calls", call_fields, "calls of the runtime and the driver", GP_API, CALLS),
    MADE("waits", wait_fields, gp_query_wait, waits, "calls that waited for the GPU, and for what",
         .need = GP_VIEW_NEED, .wants = GP_QUERY_WAITS),
    {RECORD("ranges", range_fields, sizeof(struct gp_query_event), "ranges, operators, Python frames"),
     .tables = {GP_RANGE, GP_OP, GP_PYTHON}, .n_tables = 3, .need = RANGES},
    MADE("frames", frame_fields, gp_query_frame, frames, "stacks: a frame, and by its parents all around it",
         .need = GP_VIEW_NEED, .wants = GP_QUERY_STACKS, .skip = 1),
    MADE("steps", step_fields, gp_query_step, steps, "steps of each device, as trace-hta --each-step", HTA),
    MADE("idle", idle_fields, gp_query_idle, idle, "idle time of devices, in pieces of one cause each",
         .need = GP_HTA_NEED, .wants = GP_QUERY_IDLE),
    MADE("collectives", collective_fields, gp_collective, hta.collectives, "collectives on each rank", HTA),
    MADE("matches", match_fields, gp_collective_match, hta.matches, "a collective on all its ranks", HTA),
    OF_TRACE("counters", counter_fields, "values over time", GP_COUNTER, .need = GP_NEED(GP_COUNTER)),
    OF_TRACE("samples", sample_fields, "samples of threads' stacks", GP_SAMPLE, .need = GP_NEED(GP_SAMPLE)),
    OF_TRACE("stalls", stall_fields, "samples of program counters: why warps of kernels stall, and where",
             GP_PC, .need = GP_NEED(GP_PC)),
    OF_TRACE("allocations", allocation_fields, "allocations, frees", GP_MEMORY, .need = GP_NEED(GP_MEMORY)),
    MADE("devices", device_fields, gp_hta_device, hta.devices, "where the time of each device went", HTA),
    MADE("processes", process_fields, gp_process, processes, "processes", .need = 0),
    MADE("ranks", rank_fields, gp_input_quality, ranks, "the inputs, and how good they are", GPU_ROWS),
    MADE("texts", text_fields, gp_query_text, texts, "numbers for all names",
         .need = GP_NEED(GP_GPU) | GP_NEED(GP_API) | RANGES, .wants = GP_QUERY_NAMES | GP_QUERY_TEXTS),
    {.at = 0},
};
// clang-format on

const struct gp_query_table *gp_query_table_at(size_t i)
{
    return i + 1 < GP_COUNT(tables) ? &tables[i] : NULL;
}

const struct gp_query_table *gp_query_table(const char *name)
{
    for (size_t i = 0; i + 1 < GP_COUNT(tables); i++)
        if (!strcmp(tables[i].rec.id, name)) return &tables[i];
    return NULL;
}

void gp_query_column_wants(const struct gp_field *f, uint32_t *need, uint32_t *wants)
{
    if (f->get == get_work && f->at != KIND) *wants |= f->at == RECORDED_ID ? GP_QUERY_TEXTS : GP_QUERY_NAMES;
    if (f->get == get_event && f->at == HOST_NAME_ID) *wants |= GP_QUERY_TEXTS;
    if (f->get == get_text && f->at == GP_COL_EXTRA) *need |= GP_NEED_EXTRA;
    if (f->get == get_known && f->at == GP_COL_ADDR) *need |= GP_NEED_IDS;
    if (f->get != get_found) return;
    *need |= GP_VIEW_NEED;
    *wants |= f->at == CALL || f->at == DELAY   ? GP_QUERY_VIEW
              : f->at == STEP                   ? GP_QUERY_PLACES
              : f->at == EVENTS || f->at == GPU ? GP_QUERY_CALLS
                                                : GP_QUERY_STACKS;
}

struct gp_row_of gp_query_rows_of(const struct gp_query *q, const struct gp_query_table *table)
{
    struct gp_row_of of = q->rows_of;
    if (!table->of_hta) return of;
    of = gp_hta_rows_of(&q->hta, 0);
    of.mem = q->rows_of.mem;
    return of;
}
