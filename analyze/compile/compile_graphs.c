/* Generated graphs: fusion as numbers that are kept apart, kernels, and CUDA graphs. */
#include <string.h>
#include "analyze/compile/compile_priv.h"
#include "formats/base/buf.h"
#include "formats/base/str.h"

/* ---- the scheduler ---- */

/* Rounds begin with number 1: the NTH such run of a compile. */
static void find_run(const struct gp_compile_log *log, uint32_t process, gp_sid id, uint32_t nth,
                     int64_t *before, int64_t *after)
{
    uint32_t runs = 0;
    bool inside = false;
    GP_EACH(const struct gp_clog_fusion_round, r, log->rounds) {
        if (r->process != process || r->compile_id != id) continue;
        if (r->round == 1) {
            if (inside) break;
            inside = runs++ == nth;
            if (inside) *before = r->before;
        }
        if (inside) *after = r->after;
    }
}

/* Did the code of the graph come from the cache? Then nothing was scheduled. */
static bool from_cache(const struct gp_compile_log *log, const struct gp_clog_graph *g)
{
    GP_EACH(const struct gp_clog_cache, k, log->caches)
        if (g->key && k->key == g->key && k->process == g->process && k->compile_id == g->compile_id &&
            k->layer == GP_CLOG_FX)
            return k->state == GP_CLOG_HIT;
    return false;
}

static void find_scheduled(struct gp_compile *c)
{
    const struct gp_compile_log *log = c->log;
    struct gp_map scheduled = {0}; /* graphs of a compile so far */
    for (size_t i = 0; i < log->graphs.n && log->rounds.n; i++) {
        const struct gp_clog_graph *g = &log->graphs.at[i];
        if (from_cache(log, g)) continue;
        uint32_t *nth = gp_map_put(&scheduled, (uint64_t)g->process << 32 | g->compile_id, 0);
        find_run(log, g->process, g->compile_id, (*nth)++, &c->graphs.at[i].nodes_before,
                 &c->graphs.at[i].nodes_after);
    }
    gp_map_release(&scheduled);
}

static void add_known(int64_t *sum, int64_t v)
{
    if (v < 0) return;
    *sum = *sum < 0 ? v : *sum + v;
}

void gp_compile_find_graphs(struct gp_compile *c)
{
    const struct gp_compile_log *log = c->log;
    struct gp_compile_fusion *f = &c->fusion;
    *f = (struct gp_compile_fusion){.nodes_before = -1,
                                    .nodes_after = -1,
                                    .operators = -1,
                                    .views = -1,
                                    .kernels_eager = -1,
                                    .kernels_compiled = -1,
                                    .triton_per_step = -1};
    for (size_t i = 0; i < log->graphs.n; i++)
        GP_VEC_PUSH(&c->graphs,
                    (struct gp_compile_graph){.nodes_before = -1, .nodes_after = -1, .calls_per_step = -1});
    find_scheduled(c);
    for (size_t i = 0; i < log->graphs.n; i++) {
        const struct gp_clog_graph *g = &log->graphs.at[i];
        add_known(&f->nodes_before, c->graphs.at[i].nodes_before);
        add_known(&f->nodes_after, c->graphs.at[i].nodes_after);
        add_known(&f->operators, g->operators);
        add_known(&f->views, g->views);
        f->triton += g->triton_calls;
        f->external += g->extern_calls;
        f->fallback += g->fallback_calls;
        for (uint32_t k = 0; k < g->n_kernels; k++) {
            f->kernels++;
            f->operators_in_kernels += log->kernels.at[g->first_kernel + k].n_operators;
        }
    }
    for (uint32_t i = 0; i < log->graphs.n; i++)
        for (uint32_t k = 0; k < log->graphs.at[i].n_kernels; k++)
            GP_VEC_PUSH(&c->kernels, (struct gp_compile_kernel){.index = log->graphs.at[i].first_kernel + k,
                                                                .graph = i,
                                                                .gpu_ns = -1,
                                                                .count = -1});
}

/* ---- CUDA graphs ---- */

/* The first line of what PyTorch says, without the place, which we have. */
static gp_sid reason_of(struct gp_compile *c, gp_sid as_logged)
{
    const char *s = gp_compile_str(c, as_logged), *place = strstr(s, ". Found from");
    size_t n = strcspn(s, "\n");
    if (place && (size_t)(place - s) < n) n = (size_t)(place - s);
    while (n && strchr(" .:", s[n - 1])) n--;
    return gp_compile_print(c, "%.*s", (int)n, s);
}

/* "mutated inputs (1 instance)" */
static gp_sid text_of(struct gp_compile *c, gp_sid reason)
{
    static const char plural[] = " (1 instances)";
    const char *s = gp_compile_str(c, reason);
    size_t n = strlen(s);
    if (!gp_ends(s, n, plural)) return reason;
    return gp_compile_print(c, "%.*s)", (int)n - 2, s);
}

static void add_skip(struct gp_compile *c, gp_sid as_logged, gp_sid file, int32_t line, gp_sid compile_id,
                     gp_sid function)
{
    struct gp_compile_cudagraphs *g = &c->cudagraphs;
    gp_sid reason = reason_of(c, as_logged);
    GP_EACH(struct gp_compile_skip, s, g->skips) {
        if (s->reason != reason || s->file != file || s->line != line) continue;
        s->count++;
        return;
    }
    GP_VEC_PUSH(&g->skips, (struct gp_compile_skip){.reason = reason,
                                                    .text = text_of(c, reason),
                                                    .file = file,
                                                    .line = line,
                                                    .compile_id = compile_id,
                                                    .function = function,
                                                    .count = 1});
}

/* The function that a line of a file is in, by the frames that were compiled. */
static gp_sid function_at(const struct gp_compile *c, gp_sid file, int32_t line)
{
    const struct gp_compile_frame *best = NULL;
    GP_EACH(const struct gp_compile_frame, f, c->frames)
        if (f->file == file && f->line <= line && (!best || f->line > best->line)) best = f;
    return best ? best->function : 0;
}

static void count_recorded(struct gp_compile *c)
{
    const struct gp_compile_log *log = c->log;
    struct gp_map regions = {0};
    GP_EACH(const struct gp_clog_span, s, log->spans) {
        if (strcmp(gp_clog_str(log, s->name), "CUDAGraphNode.record") != 0) continue;
        uint64_t key = (uint64_t)s->process << 33 | (uint64_t)s->compile_id << 1 | s->backward;
        c->cudagraphs.recordings++;
        c->cudagraphs.recorded += !(*gp_map_put(&regions, key, 0))++;
    }
    if (!c->cudagraphs.recordings) { /* no spans: the text log has them as well */
        c->cudagraphs.recordings = (uint32_t)log->recordings.n;
        GP_EACH(const struct gp_clog_recording, r, log->recordings) {
            uint64_t key = (uint64_t)r->process << 32 | r->compile_id;
            c->cudagraphs.recorded += !(*gp_map_put(&regions, key, 0))++;
        }
    }
    gp_map_release(&regions);
}

void gp_compile_find_cudagraphs(struct gp_compile *c)
{
    const struct gp_compile_log *log = c->log;
    c->cudagraphs.launches_per_step = -1;
    for (size_t i = 0; i < log->processes.n; i++) c->cudagraphs.asked |= log->processes.at[i].cudagraphs;
    count_recorded(c);
    c->cudagraphs.asked |= c->cudagraphs.recordings > 0;
    GP_EACH(const struct gp_clog_skip, s, log->skips)
        add_skip(c, s->reason, s->file, s->line, s->compile_id, function_at(c, s->file, s->line));
    GP_EACH(const struct gp_clog_metrics, m, log->metrics) {
        const struct gp_compile_frame *f = gp_compile_frame_of(c, m->process, m->compile_id);
        bool reported = !m->skip_reason;
        for (size_t k = 0; k < log->skips.n && f && !reported; k++)
            reported = log->skips.at[k].process == m->process &&
                       function_at(c, log->skips.at[k].file, log->skips.at[k].line) == f->function;
        if (!reported)
            add_skip(c, m->skip_reason, f ? f->file : 0, f ? f->line : -1, m->compile_id,
                     f ? f->function : 0);
    }
}

/* ---- fields of kernels ---- */

static const struct gp_clog_kernel *logged(const void *row, const struct gp_row_of *x)
{
    return &gp_compile_of(x)->log->kernels.at[((const struct gp_compile_kernel *)row)->index];
}

GP_GETTER(get_kernel_name) { gp_member_sid(c, f, logged(row, x), x); }

GP_GETTER(get_kernel_known_name) { gp_member_name(c, f, logged(row, x), x); }

GP_GETTER(get_kernel_count) { gp_member_u32(c, f, logged(row, x), x); }

GP_GETTER(get_kernel_ns) { gp_member_known_i64(c, f, logged(row, x), x); }

GP_GETTER(get_kernel_compile)
{
    const struct gp_clog_graph *g =
        &gp_compile_of(x)->log->graphs.at[((const struct gp_compile_kernel *)row)->graph];
    gp_member_name(c, f, g, x);
}

static const char *const categories[] = {
    "pointwise", "reduction", "persistent_reduction", "template", "foreach", "split_scan", "other", NULL};

/* "poi" of triton_poi_fused_add_0 */
GP_GETTER(get_category)
{
    static const char *const parts[] = {"_poi_", "_red_", "_per_", "_tem_", "_for_", "_spl_"};
    const char *name = gp_string(x->strings, logged(row, x)->name);
    size_t i = 0;
    while (i < GP_COUNT(parts) && !(gp_starts(name, "triton") && !strncmp(name + 6, parts[i], 5))) i++;
    gp_cell_text(c, categories[i]);
}

static const gp_sid *operators_of(const void *row, const struct gp_row_of *x)
{
    return GP_VEC_FROM(&gp_compile_of(x)->log->operators, logged(row, x)->first_operator);
}

GP_GETTER(get_operators) { gp_cell_list(c, operators_of(row, x), logged(row, x)->n_operators); }

GP_GETTER(get_operator_names)
{
    struct gp_buf text = {0};
    const gp_sid *operators = operators_of(row, x);
    for (uint32_t i = 0; i < logged(row, x)->n_operators; i++) {
        const char *s = gp_string(x->strings, operators[i]);
        gp_buf_printf(&text, "%s%s", i ? ", " : "", gp_starts(s, "aten.") ? s + strlen("aten.") : s);
    }
    gp_cell_take(c, &text, x);
}

#define AT(member)  offsetof(struct gp_compile_kernel, member)
#define LOG(member) offsetof(struct gp_clog_kernel, member)
static const struct gp_field kernel_fields[] = {
    {"name", "Kernel", GP_CELL_NAME, get_kernel_name, LOG(name), .help = "as in the trace"},
    {"compile_id", "Compile", GP_CELL_NAME, get_kernel_compile, offsetof(struct gp_clog_graph, compile_id),
     .flags = GP_COLUMN_WIDE | GP_FIELD_TABLES},
    {"category", NULL, GP_CELL_TEXT, get_category, 0, .help = "by its name", .words = categories},
    {"operators", NULL, GP_CELL_LIST, get_operators, 0, .help = "ATen operators in it, before decomposition",
     .rows = &gp_each_sid},
    {"source_nodes", NULL, GP_CELL_COUNT, get_kernel_count, LOG(sources),
     .help = "operators before decomposition that went in"},
    {"calls", "Calls", GP_CELL_COUNT, get_kernel_count, LOG(calls), .help = "in the code of the graph"},
    {"compile_ns", "Compile", GP_CELL_NS, get_kernel_ns, LOG(compile_ns), .help = "in a worker process",
     .flags = GP_FIELD_NULL, .after = "gpu_ns"},
    {"operators_count", "Ops", GP_CELL_COUNT, get_kernel_count, LOG(n_operators),
     .help = "ATen operators in it, before decomposition", .flags = GP_FIELD_TABLES, .after = "compile_ns"},
    {"operator_names", "Operators", GP_CELL_NAME, get_operator_names, 0,
     .flags = GP_COLUMN_WIDE | GP_FIELD_TABLES, .after = "operators_count"},
    {"config", "Configuration", GP_CELL_NAME, get_kernel_known_name, LOG(config),
     .flags = GP_COLUMN_WIDE | GP_FIELD_NULL, .after = "operator_names"},
    {"gpu_ns", "GPU per step", GP_CELL_NS, gp_member_known_i64, AT(gpu_ns),
     .help = "if only one kernel has this name", .flags = GP_FIELD_NULL},
    {"count", NULL, GP_CELL_REAL, gp_member_known_double, AT(count), .help = "per step",
     .flags = GP_FIELD_NULL},
};
#undef AT
#undef LOG
const struct gp_record gp_compile_kernels = {
    "kernels",
    "Generated kernels",
    GP_FIELDS(kernel_fields),
    sizeof(struct gp_compile_kernel),
    .note = "a kernel that was generated",
    .rest = {{0}, {NULL, "gpu_ns"}},
};

/* ---- fields of graphs ---- */

static const struct gp_clog_graph *graph_of(const void *row, const struct gp_row_of *x)
{
    const struct gp_compile *all = x->of;
    return &all->log->graphs.at[(const struct gp_compile_graph *)row - all->graphs.at];
}

GP_GETTER(get_graph_name) { gp_member_name(c, f, graph_of(row, x), x); }

GP_GETTER(get_graph_process) { gp_member_u32(c, f, graph_of(row, x), x); }

GP_GETTER(get_graph_known) { gp_member_known_i64(c, f, graph_of(row, x), x); }

static const char *const directions[] = {"unknown", "forward", "backward", "inference", NULL};

GP_GETTER(get_direction) { gp_cell_text(c, directions[graph_of(row, x)->direction]); }

GP_GETTER(get_calls) { c->at = graph_of(row, x); }

GP_GETTER(get_kernels)
{
    const struct gp_clog_graph *g = graph_of(row, x);
    gp_cell_list(c, GP_VEC_FROM(&gp_compile_of(x)->kernels, g->first_kernel), g->n_kernels);
}

#define CALLS(get, type, a, b, d)                                                                            \
    {"triton",          NULL,                                                                                \
     GP_CELL_COUNT,     get,                                                                                 \
     offsetof(type, a), .help = "of generated kernels, in Triton or in C++"},                                \
        {"extern", NULL, GP_CELL_COUNT, get, offsetof(type, b), .help = "of libraries"},                     \
    {                                                                                                        \
        "fallback", NULL, GP_CELL_COUNT, get, offsetof(type, d), .help = "of operators as they are"          \
    }
static const struct gp_field call_fields[] = {
    CALLS(gp_member_u32, struct gp_clog_graph, triton_calls, extern_calls, fallback_calls)};
static const struct gp_record calls = {"calls", NULL, GP_FIELDS(call_fields), sizeof(struct gp_clog_graph),
                                       .note = "in the generated code"};

#define AT(member)  offsetof(struct gp_compile_graph, member)
#define LOG(member) offsetof(struct gp_clog_graph, member)
static const struct gp_field node_fields[] = {
    {"before", NULL, GP_CELL_COUNT, gp_member_known_i64, AT(nodes_before), .flags = GP_FIELD_NULL},
    {"after", NULL, GP_CELL_COUNT, gp_member_known_i64, AT(nodes_after), .flags = GP_FIELD_NULL},
};
static const struct gp_record nodes = {"scheduler", NULL, GP_FIELDS(node_fields),
                                       sizeof(struct gp_compile_graph),
                                       .note = "its nodes; null: no text log"};

static const struct gp_field graph_fields[] = {
    {"key", NULL, GP_CELL_NAME, get_graph_name, LOG(key), .help = "of the cache look-up, as in the trace",
     .flags = GP_FIELD_NULL},
    {"compile_id", NULL, GP_CELL_NAME, get_graph_name, LOG(compile_id), .flags = GP_FIELD_NULL},
    {"process", NULL, GP_CELL_ID, get_graph_process, LOG(process),
     .help = "by its place among the processes of the logs"},
    {"direction", NULL, GP_CELL_TEXT, get_direction, 0, .words = directions},
    {"operators", NULL, GP_CELL_COUNT, get_graph_known, LOG(operators),
     .help = "of the graph that was lowered", .flags = GP_FIELD_NULL},
    {"views", NULL, GP_CELL_COUNT, get_graph_known, LOG(views),
     .help = "of its operators: only change strides", .flags = GP_FIELD_NULL},
    {"calls", NULL, GP_CELL_ROW, get_calls, 0, .rows = &calls},
    {"scheduler", NULL, GP_CELL_ROW, gp_member_row, 0, .rows = &nodes},
    {"calls_per_step", NULL, GP_CELL_REAL, gp_member_known_double, AT(calls_per_step),
     .help = "by its key in the trace", .flags = GP_FIELD_NULL},
    {"kernels", NULL, GP_CELL_ROWS, get_kernels, 0, .help = "that were generated for it",
     .rows = &gp_compile_kernels},
    {"code", NULL, GP_CELL_NAME, get_graph_name, LOG(code), .help = "that was generated; only with --code",
     .flags = GP_FIELD_NULL | GP_FIELD_OPTIONAL},
};
#undef AT
#undef LOG
#define GRAPHS(fields_n)                                                                                     \
    {                                                                                                        \
        "graphs", NULL, graph_fields, fields_n, sizeof(struct gp_compile_graph),                             \
            .note = "what the code generator wrote for one graph"                                            \
    }
const struct gp_record gp_compile_graphs[2] = {GRAPHS(GP_COUNT(graph_fields) - 1),
                                               GRAPHS(GP_COUNT(graph_fields))};

/* ---- fields of fusion ---- */

static const struct gp_field unfused_fields[] = {
    {"reason", NULL, GP_CELL_NAME, gp_member_sid, offsetof(struct gp_clog_unfused, reason),
     .help = "as logged"},
    {"count", NULL, GP_CELL_COUNT, gp_member_u64, offsetof(struct gp_clog_unfused, count),
     .help = "how often"},
};
static const struct gp_record unfused = {"unfused", NULL, GP_FIELDS(unfused_fields),
                                         sizeof(struct gp_clog_unfused),
                                         .note = "a reason why nodes were not fused"};

GP_GETTER(get_unfused)
{
    const struct gp_compile_log *log = gp_compile_of(x)->log;
    gp_cell_list(c, log->unfused.at, log->unfused.n);
}

#define AT(member) offsetof(struct gp_compile_fusion, member)
static const struct gp_field fused_call_fields[] = {
    CALLS(gp_member_u64, struct gp_compile_fusion, triton, external, fallback)};
static const struct gp_record fused_calls = {"calls", NULL, GP_FIELDS(fused_call_fields),
                                             sizeof(struct gp_compile_fusion),
                                             .note = "in the generated code of all graphs"};
static const struct gp_field fusion_fields[] = {
    {"scheduler_before", NULL, GP_CELL_COUNT, gp_member_known_i64, AT(nodes_before),
     .help = "nodes of all graphs", .flags = GP_FIELD_NULL},
    {"scheduler_after", NULL, GP_CELL_COUNT, gp_member_known_i64, AT(nodes_after), .flags = GP_FIELD_NULL},
    {"operators", NULL, GP_CELL_COUNT, gp_member_known_i64, AT(operators),
     .help = "of the graphs that were lowered", .flags = GP_FIELD_NULL},
    {"views", NULL, GP_CELL_COUNT, gp_member_known_i64, AT(views), .flags = GP_FIELD_NULL},
    {"calls", NULL, GP_CELL_ROW, gp_member_row, 0, .rows = &fused_calls},
    {"kernels", NULL, GP_CELL_COUNT, gp_member_u64, AT(kernels), .help = "that were generated"},
    {"operators_in_kernels", NULL, GP_CELL_COUNT, gp_member_u64, AT(operators_in_kernels),
     .help = "ATen operators by the comments of kernels"},
    {"kernels_per_step_eager", NULL, GP_CELL_REAL, gp_member_known_double, AT(kernels_eager),
     .help = "by the trace of --eager", .flags = GP_FIELD_NULL},
    {"kernels_per_step_compiled", NULL, GP_CELL_REAL, gp_member_known_double, AT(kernels_compiled),
     .help = "by the trace", .flags = GP_FIELD_NULL},
    {"triton_calls_per_step", NULL, GP_CELL_REAL, gp_member_known_double, AT(triton_per_step),
     .help = "calls of generated kernels, by the trace", .flags = GP_FIELD_NULL},
    {"unfused", NULL, GP_CELL_ROWS, get_unfused, 0, .help = "nodes that were not fused, by reason",
     .rows = &unfused},
};
#undef AT
const struct gp_record gp_compile_fused = {
    "fusion", NULL, GP_FIELDS(fusion_fields), sizeof(struct gp_compile_fusion),
    .note = "four numbers that are kept apart: nodes of the scheduler, operators per call, operators per "
            "generated kernel, kernels per step"};

/* ---- fields of CUDA graphs ---- */

#define AT(member) offsetof(struct gp_compile_skip, member)
static const struct gp_field skip_fields[] = {
    {"reason", NULL, GP_CELL_NAME, gp_member_sid, AT(reason), .help = "as logged"},
    {"file", NULL, GP_CELL_NAME, gp_compile_get_path, AT(file), .flags = GP_FIELD_NULL},
    {"line", NULL, GP_CELL_ID, gp_member_known_i32, AT(line), .flags = GP_FIELD_NULL},
    {"function", NULL, GP_CELL_NAME, gp_member_name, AT(function), .flags = GP_FIELD_NULL},
    {"compile_id", NULL, GP_CELL_NAME, gp_member_name, AT(compile_id), .flags = GP_FIELD_NULL},
    {"count", NULL, GP_CELL_COUNT, gp_member_u32, AT(count), .help = "compiles"},
    {"new", NULL, GP_CELL_BOOL, gp_member_bool, AT(is_new), .help = "not in the baseline of --against"},
};
#undef AT
static const struct gp_record skips = {"skips", NULL, GP_FIELDS(skip_fields), sizeof(struct gp_compile_skip),
                                       .note = "a reason why there is no CUDA graph, once per place"};

#define AT(member) offsetof(struct gp_compile_cudagraphs, member)
static const struct gp_field cudagraph_fields[] = {
    {"asked", NULL, GP_CELL_BOOL, gp_member_bool, AT(asked), .help = "by the mode"},
    {"recorded", NULL, GP_CELL_COUNT, gp_member_u32, AT(recorded),
     .help = "regions of which a graph was recorded"},
    {"recordings", NULL, GP_CELL_COUNT, gp_member_u32, AT(recordings),
     .help = "all of them: more than regions where one is recorded again"},
    {"launches_per_step", NULL, GP_CELL_REAL, gp_member_known_double, AT(launches_per_step),
     .help = "by the trace", .flags = GP_FIELD_NULL},
    {"skips", NULL, GP_CELL_ROWS, gp_member_rows, AT(skips), .help = "why there is no CUDA graph",
     .rows = &skips},
};
#undef AT
const struct gp_record gp_compile_cuda_graphs = {"cudagraphs", NULL, GP_FIELDS(cudagraph_fields),
                                                 sizeof(struct gp_compile_cudagraphs),
                                                 .note = "CUDA graphs that the compiled code runs as"};
