/* Where compile time went. */
#include <fnmatch.h>
#include <string.h>
#include "analyze/compile/compile_priv.h"
#include "formats/base/str.h"

GP_WORD(gp_compile_class_name, enum gp_compile_class, GP_COMPILE_CLASSES, 1)
GP_WORD(gp_compile_class_text, enum gp_compile_class, GP_COMPILE_CLASSES, 2)

/* Names of spans; the first pattern that fits counts. */
static const struct {
    const char *patterns;
    enum gp_compile_class class;
} patterns[] = {
    {"*autotun* *benchmark* CachingAutotuner.* *coordinate_descent* *_template_precompiling",
     GP_COMPILE_AUTOTUNE},
    {"async_compile.* compile_file PyCodeCache.* reload_kernel* TritonBundler.* StaticAutotuner*",
     GP_COMPILE_KERNELS},
    {"cudagraphify* CUDAGraph*", GP_COMPILE_CUDAGRAPHS},
    {"_recursive_*_passes pass.*", GP_COMPILE_PASSES},
    {"GraphLowering.* Scheduler.* PythonWrapperCodegen.* code_gen fx_codegen_and_compile inductor_*",
     GP_COMPILE_INDUCTOR},
    {"compile_fx_aot", GP_COMPILE_AOT},
    {"compile_fx.*", GP_COMPILE_INDUCTOR},
    {"backend_compile create_aot_dispatcher_function aot_* AOTAutogradCache.* min_cut* "
     "*fake_tensor_prop entire_backward_compile",
     GP_COMPILE_AOT},
    {"dynamo entire_frame_compile compile_attempt_* bytecode_tracing build_guards insert_deferred*",
     GP_COMPILE_DYNAMO},
};

enum gp_compile_class gp_compile_class_of(const char *name)
{
    char pattern[64];
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++)
        for (const char *at = patterns[i].patterns; gp_next_of(&at, ' ', pattern, sizeof pattern);)
            if (!fnmatch(pattern, name, 0)) return patterns[i].class;
    return GP_COMPILE_OTHER;
}

/* ---- by spans ---- */

/* What happens once the compiled code runs. */
static bool at_run_time(const char *root)
{
    return gp_starts(root, "CachingAutotuner.") || gp_starts(root, "cudagraphify") ||
           gp_starts(root, "CUDAGraph");
}

static void add_spans(struct gp_compile *c)
{
    const struct gp_compile_log *log = c->log;
    struct gp_map classes = {0};
    struct gp_compile_time *t = &c->time;
    int64_t *of_process = gp_zalloc((log->processes.n + 1) * sizeof *of_process);
    for (size_t i = 0; i < log->spans.n; i++) {
        const struct gp_clog_span *s = &log->spans.at[i];
        uint32_t *known = gp_map_put(&classes, s->name, UINT32_MAX);
        if (*known == UINT32_MAX) *known = gp_compile_class_of(gp_clog_str(log, s->name));
        struct gp_compile_frame *f = gp_compile_frame_of(c, s->process, s->compile_id);
        t->class_ns[*known] += s->self_ns;
        if (f) {
            f->total_ns += s->self_ns;
            f->class_ns[*known] += s->self_ns;
        }
        if (s->open) {
            t->open++;
            c->last_span = (uint32_t)i;
            c->last_frame = f ? (uint32_t)(f - c->frames.at) : GP_CLOG_NONE;
        }
        if (s->parent != GP_CLOG_NONE) continue;
        t->total_ns += s->dur_ns;
        of_process[s->process] += s->dur_ns;
        if (at_run_time(gp_clog_str(log, s->name))) t->runtime_ns += s->dur_ns;
    }
    for (size_t i = 0; i < log->processes.n; i++)
        if (of_process[i] > t->longest_ns) t->longest_ns = of_process[i];
    free(of_process);
    gp_map_release(&classes);
}

/* ---- by metrics: logs before 2.5 have no spans ---- */

static int64_t known(int64_t ns) { return ns > 0 ? ns : 0; }

/* The fields are nested: each is a part of the one before. */
static void add_nested(struct gp_compile *c, const struct gp_clog_metrics *m)
{
    int64_t whole = known(m->kind == GP_CLOG_BACKWARD && m->backward_ns > 0 ? m->backward_ns : m->frame_ns);
    int64_t backend = known(m->backend_ns), inductor = known(m->inductor_ns), codegen = known(m->codegen_ns);
    if (inductor < codegen) inductor = codegen;
    if (backend < inductor) backend = inductor;
    if (whole < backend) whole = backend;
    int64_t parts[GP_COMPILE_CLASS_COUNT] = {[GP_COMPILE_DYNAMO] = whole - backend,
                                             [GP_COMPILE_AOT] = backend - inductor,
                                             [GP_COMPILE_INDUCTOR] = inductor - codegen,
                                             [GP_COMPILE_KERNELS] = codegen};
    struct gp_compile_frame *f = gp_compile_frame_of(c, m->process, m->compile_id);
    for (int i = 0; i < GP_COMPILE_CLASS_COUNT; i++) {
        c->time.class_ns[i] += parts[i];
        if (f) f->class_ns[i] += parts[i];
    }
    if (f) f->total_ns += whole;
    c->time.total_ns += whole;
}

void gp_compile_add_time(struct gp_compile *c)
{
    const struct gp_compile_log *log = c->log;
    struct gp_compile_time *t = &c->time;
    t->stall_ns = -1;
    c->last_span = c->last_frame = GP_CLOG_NONE;
    t->from_spans = log->spans.n > 0;
    if (t->from_spans) add_spans(c);
    GP_EACH(const struct gp_clog_metrics, m, log->metrics) {
        if (!t->from_spans && m->kind != GP_CLOG_RUNTIME) add_nested(c, m);
        t->logging_ns += known(m->logging_ns);
        t->kernel_work_ns += known(m->kernel_compile_ns);
    }
    if (!t->from_spans) t->longest_ns = t->total_ns;
    t->outside_ns = t->total_ns;
    for (size_t i = 0; i < c->frames.n; i++) t->outside_ns -= c->frames.at[i].total_ns;
    for (size_t i = 0; i < log->inputs.n; i++)
        c->cut |= log->inputs.at[i].issues[GP_CLOG_TRUNCATED].count > 0;
    c->cut |= t->open > 0;
}

/* ---- fields ---- */

static const struct gp_field class_fields[] = {
#define X(id, name, text)                                                                                    \
    {name "_ns",                                                                                             \
     NULL,                                                                                                   \
     GP_CELL_NS,                                                                                             \
     gp_member_i64,                                                                                          \
     id * sizeof(int64_t),                                                                                   \
     .help = text,                                                                                           \
     .flags = GP_FIELD_SIGNED},
    GP_COMPILE_CLASSES(X)
#undef X
};
const struct gp_record gp_compile_classes = {"classes", NULL, GP_FIELDS(class_fields),
                                             GP_COMPILE_CLASS_COUNT * sizeof(int64_t),
                                             .note = "self times, which sum to total_ns exactly"};

/* The row is one of the times of all. */
static enum gp_compile_class class_at(const void *row, const struct gp_row_of *x)
{
    return (enum gp_compile_class)((const int64_t *)row - gp_compile_of(x)->time.class_ns);
}

GP_GETTER(get_class) { gp_cell_text(c, gp_compile_class_name(class_at(row, x))); }

GP_GETTER(get_class_text) { gp_cell_text(c, gp_compile_class_text(class_at(row, x))); }

static const struct gp_field class_time_fields[] = {
    {"class", "Class", GP_CELL_TEXT, get_class, 0, .help = "what the compiler did"},
    {"time_ns", "Time", GP_CELL_NS, gp_member_i64, 0, .help = "self time"},
    {"share_pct", "Share", GP_CELL_PCT, gp_member_share, 0, .help = "of all compile time",
     .flags = GP_COLUMN_BAR},
    {"text", "What", GP_CELL_TEXT, get_class_text, 0, .flags = GP_COLUMN_WIDE},
};
const struct gp_record gp_compile_class_times = {"time", "Compile time", GP_FIELDS(class_time_fields),
                                                 sizeof(int64_t), .note = "a class of compile time"};

static const struct gp_field open_fields[] = {
    {"name", NULL, GP_CELL_NAME, gp_member_name, offsetof(struct gp_clog_span, name), .flags = GP_FIELD_NULL},
    {"compile_id", NULL, GP_CELL_NAME, gp_member_name, offsetof(struct gp_clog_span, compile_id),
     .flags = GP_FIELD_NULL},
    {"process", NULL, GP_CELL_ID, gp_member_u32, offsetof(struct gp_clog_span, process),
     .help = "by its place among the processes of the logs"},
};
static const struct gp_record open_spans = {"open", NULL, GP_FIELDS(open_fields), sizeof(struct gp_clog_span),
                                            .note = "a span that never ended"};

GP_GETTER_OF(get_open, struct gp_compile_time, t)
{
    const struct gp_compile_log *log = gp_compile_of(x)->log;
    struct gp_clog_span *list = gp_arena_alloc(x->mem, (t->open + 1) * sizeof *list);
    size_t n = 0;
    for (size_t i = 0; n < t->open && i < log->spans.n; i++)
        if (log->spans.at[i].open) list[n++] = log->spans.at[i];
    gp_cell_list(c, list, n);
}

GP_GET(get_from, struct gp_compile_time, gp_cell_text(c, r->from_spans ? "spans" : "metrics"))

GP_GETTER(get_cache) { gp_cell_text(c, gp_compile_warmth_name(gp_compile_of(x)->caches.warmth)); }

#define AT(member) offsetof(struct gp_compile_time, member)
static const char *const from[] = {"spans", "metrics", NULL};
static const struct gp_field time_fields[] = {
    {"total_ns", NULL, GP_CELL_NS, gp_member_i64, AT(total_ns),
     .help = "of the root spans, all processes; the classes sum to it exactly", .flags = GP_FIELD_SIGNED},
    {"classes", NULL, GP_CELL_ROW, gp_member_row, AT(class_ns), .rows = &gp_compile_classes},
    {"longest_process_ns", NULL, GP_CELL_NS, gp_member_i64, AT(longest_ns),
     .help = "of the process that compiled longest"},
    {"outside_ns", NULL, GP_CELL_NS, gp_member_i64, AT(outside_ns),
     .help = "of total_ns: of no frame; with it, the frames add up", .flags = GP_FIELD_SIGNED},
    {"runtime_ns", NULL, GP_CELL_NS, gp_member_i64, AT(runtime_ns),
     .help = "of total_ns: once compiled code ran (autotuning, recording CUDA graphs)"},
    {"logging_ns", NULL, GP_CELL_NS, gp_member_i64, AT(logging_ns), .help = "that writing the log took"},
    {"kernel_work_ns", NULL, GP_CELL_NS, gp_member_i64, AT(kernel_work_ns),
     .help = "sum over kernels in worker processes; not a part of total_ns"},
    {"saved_ns", NULL, GP_CELL_NS, gp_member_i64, AT(saved_ns),
     .help = "what cache hits saved by their own account"},
    {"stall_ns", NULL, GP_CELL_NS, gp_member_known_i64, AT(stall_ns),
     .help = "of total_ns: inside steady steps of the trace; null without one", .flags = GP_FIELD_NULL},
    {"stalls", NULL, GP_CELL_COUNT, gp_member_u32, AT(stalls), .help = "root spans inside steady steps"},
    {"open_spans", NULL, GP_CELL_COUNT, gp_member_u32, AT(open), .help = "spans that never ended"},
    {"open", NULL, GP_CELL_ROWS, get_open, 0,
     .help = "the spans that never ended, outermost first: what the process did when its log ends",
     .rows = &open_spans},
    {"from", NULL, GP_CELL_TEXT, get_from, 0,
     .help = "spans, or the nested fields of the metrics for logs before 2.5", .words = from},
    {"cache", NULL, GP_CELL_TEXT, get_cache, 0, .help = "which caches answered", .words = gp_compile_warmths},
};
#undef AT
const struct gp_record gp_compile_times = {"time", NULL, GP_FIELDS(time_fields),
                                           sizeof(struct gp_compile_time),
                                           .note = "compile time of all processes"};
