/* Where compile time went. */
#include <fnmatch.h>
#include <string.h>
#include "analyze/compile/compile_priv.h"
#include "formats/base/str.h"

GP_WORD(gp_compile_class_name, enum gp_compile_class, GP_COMPILE_CLASSES, 1)
GP_WORD(gp_compile_class_text, enum gp_compile_class, GP_COMPILE_CLASSES, 2)

/* Names of spans; the first pattern that fits counts. */
static const struct {
    const char *pattern;
    enum gp_compile_class class;
} patterns[] = {
    {"*autotun*", GP_COMPILE_AUTOTUNE},
    {"*benchmark*", GP_COMPILE_AUTOTUNE},
    {"CachingAutotuner.*", GP_COMPILE_AUTOTUNE},
    {"*coordinate_descent*", GP_COMPILE_AUTOTUNE},
    {"*_template_precompiling", GP_COMPILE_AUTOTUNE},
    {"async_compile.*", GP_COMPILE_KERNELS},
    {"compile_file", GP_COMPILE_KERNELS},
    {"PyCodeCache.*", GP_COMPILE_KERNELS},
    {"reload_kernel*", GP_COMPILE_KERNELS},
    {"TritonBundler.*", GP_COMPILE_KERNELS},
    {"StaticAutotuner*", GP_COMPILE_KERNELS},
    {"cudagraphify*", GP_COMPILE_CUDAGRAPHS},
    {"CUDAGraph*", GP_COMPILE_CUDAGRAPHS},
    {"_recursive_*_passes", GP_COMPILE_PASSES},
    {"pass.*", GP_COMPILE_PASSES},
    {"GraphLowering.*", GP_COMPILE_INDUCTOR},
    {"Scheduler.*", GP_COMPILE_INDUCTOR},
    {"PythonWrapperCodegen.*", GP_COMPILE_INDUCTOR},
    {"code_gen", GP_COMPILE_INDUCTOR},
    {"fx_codegen_and_compile", GP_COMPILE_INDUCTOR},
    {"inductor_*", GP_COMPILE_INDUCTOR},
    {"compile_fx_aot", GP_COMPILE_AOT},
    {"compile_fx.*", GP_COMPILE_INDUCTOR},
    {"backend_compile", GP_COMPILE_AOT},
    {"create_aot_dispatcher_function", GP_COMPILE_AOT},
    {"aot_*", GP_COMPILE_AOT},
    {"AOTAutogradCache.*", GP_COMPILE_AOT},
    {"min_cut*", GP_COMPILE_AOT},
    {"*fake_tensor_prop", GP_COMPILE_AOT},
    {"entire_backward_compile", GP_COMPILE_AOT},
    {"dynamo", GP_COMPILE_DYNAMO},
    {"entire_frame_compile", GP_COMPILE_DYNAMO},
    {"compile_attempt_*", GP_COMPILE_DYNAMO},
    {"bytecode_tracing", GP_COMPILE_DYNAMO},
    {"build_guards", GP_COMPILE_DYNAMO},
    {"insert_deferred*", GP_COMPILE_DYNAMO},
};

enum gp_compile_class gp_compile_class_of(const char *name)
{
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++)
        if (!fnmatch(patterns[i].pattern, name, 0)) return patterns[i].class;
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

static int64_t known(int64_t ns)
{
    return ns > 0 ? ns : 0;
}

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
    for (size_t i = 0; i < log->metrics.n; i++) {
        const struct gp_clog_metrics *m = &log->metrics.at[i];
        if (!t->from_spans && m->kind != GP_CLOG_RUNTIME) add_nested(c, m);
        t->logging_ns += known(m->logging_ns);
        t->kernel_work_ns += known(m->kernel_compile_ns);
    }
    if (!t->from_spans) t->longest_ns = t->total_ns;
    for (size_t i = 0; i < log->inputs.n; i++)
        c->cut |= log->inputs.at[i].issues[GP_CLOG_TRUNCATED].count > 0;
    c->cut |= t->open > 0;
}
