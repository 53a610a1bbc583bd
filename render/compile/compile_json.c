#include "render/compile/compile_json.h"

#include <math.h>
#include <string.h>
#include "formats/base/json_write.h"
#include "formats/base/str.h"
#include "analyze/compile/compile_text.h"
#include "render/report/json_doc.h"
#include "render/report/record.h"
#include "render/compile/compile_verdict.h"

struct writer {
    struct gp_doc d;
    struct gp_row_of of;
    const struct gp_compile *c;
    const struct gp_compile_log *log;
};

/* ---- pieces ---- */

static void put_real_known(struct gp_doc *d, const char *k, double v)
{
    if (v >= 0) gp_doc_real(d, k, v);
    else gp_doc_null(d, k);
}

static void put_path(struct writer *w, const char *k, gp_sid file)
{
    if (file) gp_doc_cstr(&w->d, k, gp_compile_short_path(gp_compile_str(w->c, file)));
    else gp_doc_null(&w->d, k);
}

static void put_classes(struct gp_doc *d, const char *k, const int64_t *ns)
{
    char name[64];
    gp_doc_object(d, k);
    for (int i = 0; i < GP_COMPILE_CLASS_COUNT; i++) {
        const char *s = gp_compile_class_name((enum gp_compile_class)i);
        memcpy(name, s, strlen(s));
        memcpy(name + strlen(s), "_ns", 4);
        gp_doc_i64(d, name, ns[i]);
    }
    gp_doc_end(d, '}');
}

/* ---- the head ---- */

static bool is_damaged(const struct gp_clog_input *in)
{
    for (int k = 0; k < GP_CLOG_ISSUE_COUNT; k++)
        if (in->issues[k].count && k != GP_CLOG_NOISE) return true;
    return false;
}

static void put_issues(struct gp_doc *d, const struct gp_clog_issue *issues)
{
    gp_doc_list(d, "issues");
    for (int k = 0; k < GP_CLOG_ISSUE_COUNT; k++)
        gp_doc_issue(d, gp_clog_issue_name((enum gp_clog_issue_kind)k), issues[k].count,
                     issues[k].first_offset);
    gp_doc_end(d, ']');
}

static int32_t rank_of(const struct gp_compile_log *log, uint32_t input)
{
    for (size_t i = 0; i < log->processes.n; i++)
        if (log->processes.at[i].input == input) return log->processes.at[i].rank;
    return -1;
}

static void put_log_input(struct writer *w, uint32_t i)
{
    const struct gp_clog_input *in = &w->log->inputs.at[i];
    gp_doc_element(&w->d);
    gp_doc_sid(&w->d, "path", in->path);
    gp_doc_cstr(&w->d, "format", in->records || !in->texts ? "torch_trace" : "torch_logs");
    gp_doc_sid(&w->d, "compression", in->compression);
    gp_doc_known(&w->d, "rank", rank_of(w->log, i));
    gp_doc_u64(&w->d, "events", in->records + in->texts);
    gp_doc_u64(&w->d, "gpu_events", 0);
    gp_doc_cstr(&w->d, "verdict", is_damaged(in) ? "repaired" : "clean");
    gp_doc_bool(&w->d, "truncated", in->issues[GP_CLOG_TRUNCATED].count > 0);
    gp_doc_u64(&w->d, "events_skipped", in->damaged);
    gp_doc_u64(&w->d, "records_used", in->used);
    gp_doc_u64(&w->d, "records_unknown", in->skipped);
    put_issues(&w->d, in->issues);
    gp_doc_end(&w->d, '}');
}

static void put_trace_input(struct writer *w, const struct gp_input_quality *in)
{
    gp_doc_element(&w->d);
    gp_doc_sid(&w->d, "path", in->path);
    gp_doc_sid(&w->d, "format", in->format);
    gp_doc_sid(&w->d, "compression", in->compression);
    gp_doc_known(&w->d, "rank", in->rank);
    gp_doc_u64(&w->d, "events", in->events);
    gp_doc_u64(&w->d, "gpu_events", in->gpu_events);
    gp_doc_sid(&w->d, "verdict", in->verdict);
    gp_doc_bool(&w->d, "truncated", in->truncated);
    gp_doc_u64(&w->d, "events_skipped", in->skipped);
    gp_doc_list(&w->d, "issues");
    for (int k = 0; k < GP_ISSUE_COUNT; k++) {
        if (!in->issues[k].count) continue;
        gp_doc_element(&w->d);
        gp_doc_cstr(&w->d, "kind", gp_issue_name((enum gp_issue_kind)k));
        gp_doc_u64(&w->d, "count", in->issues[k].count);
        gp_doc_known(&w->d, "first_offset", in->issues[k].first_offset);
        gp_doc_end(&w->d, '}');
    }
    gp_doc_end(&w->d, ']');
    gp_doc_end(&w->d, '}');
}

/* Of all logs together; an offset is written when there is one input. */
static void put_quality(struct writer *w)
{
    struct gp_clog_issue sum[GP_CLOG_ISSUE_COUNT] = {{0}};
    uint64_t skipped = 0;
    bool truncated = false, damaged = false;
    for (size_t i = 0; i < w->log->inputs.n; i++) {
        const struct gp_clog_input *in = &w->log->inputs.at[i];
        skipped += in->damaged;
        truncated |= in->issues[GP_CLOG_TRUNCATED].count > 0;
        damaged |= is_damaged(in);
        for (int k = 0; k < GP_CLOG_ISSUE_COUNT; k++) {
            sum[k].count += in->issues[k].count;
            sum[k].first_offset = w->log->inputs.n == 1 && !w->c->traces.n ? in->issues[k].first_offset : -1;
        }
    }
    for (size_t i = 0; i < w->c->traces.n; i++) {
        const struct gp_input_quality *in = &w->c->traces.at[i].input;
        skipped += in->skipped;
        truncated |= in->truncated;
        damaged |= strcmp(gp_compile_str(w->c, in->verdict), "clean") != 0;
    }
    gp_doc_object(&w->d, "quality");
    gp_doc_cstr(&w->d, "verdict", damaged ? "repaired" : "clean");
    gp_doc_bool(&w->d, "truncated", truncated);
    gp_doc_u64(&w->d, "events_skipped", skipped);
    put_issues(&w->d, sum);
    gp_doc_end(&w->d, '}');
}

static void put_head(struct writer *w, const char *version)
{
    gp_doc_cstr(&w->d, "schema", "gpuprof/trace-compile/1");
    gp_doc_cstr(&w->d, "tool", "trace-compile");
    gp_doc_cstr(&w->d, "version", version);
    gp_doc_list(&w->d, "inputs");
    for (uint32_t i = 0; i < w->log->inputs.n; i++) put_log_input(w, i);
    for (size_t i = 0; i < w->c->traces.n; i++) put_trace_input(w, &w->c->traces.at[i].input);
    gp_doc_end(&w->d, ']');
    put_quality(w);
}

static void put_summary(struct writer *w)
{
    struct gp_report r = {0};
    gp_compile_verdict(&r, w->c);
    gp_doc_summary(&w->d, &r);
    gp_report_release(&r);
}

static void put_environment(struct writer *w)
{
    const struct gp_compile_log *log = w->log;
    struct gp_clog_process none = {0}, *p = log->processes.n ? &log->processes.at[0] : &none;
    gp_doc_object(&w->d, "environment");
    gp_doc_name(&w->d, "torch", p->torch);
    gp_doc_name(&w->d, "cuda", p->cuda);
    gp_doc_name(&w->d, "triton", p->triton);
    gp_doc_name(&w->d, "python", p->python);
    gp_doc_name(&w->d, "mode", w->c->mode);
    gp_doc_name(&w->d, "mode_from", w->c->mode_from);
    gp_doc_u64(&w->d, "processes", log->processes.n);
    gp_doc_bool(&w->d, "cut", w->c->cut);
    gp_doc_end(&w->d, '}');
}

/* ---- frames and time ---- */

static void put_frame(struct writer *w, const struct gp_compile_frame *f)
{
    struct gp_doc *d = &w->d;
    gp_doc_element(d);
    gp_doc_sid(d, "compile_id", f->compile_id);
    gp_doc_u64(d, "process", f->process);
    gp_doc_known(d, "rank", w->log->processes.at[f->process].rank);
    gp_doc_name(d, "name", f->name);
    gp_doc_name(d, "function", f->function);
    put_path(w, "file", f->file);
    gp_doc_known(d, "line", f->line);
    gp_doc_known(d, "resumed_line", f->resumed_line);
    gp_doc_i64(d, "attempts", f->attempts);
    gp_doc_known(d, "graph_ops", f->graph_ops);
    gp_doc_known(d, "guards", f->guards);
    gp_doc_known(d, "cache_size", f->cache_size);
    gp_doc_cstr(d, "cache", gp_compile_warmth_name((enum gp_compile_warmth)f->cache));
    gp_doc_cstr(d, "outcome", gp_compile_outcome_name((enum gp_compile_outcome)f->outcome));
    gp_doc_name(d, "fail_kind", f->fail_kind);
    gp_doc_i64(d, "total_ns", f->total_ns);
    put_classes(d, "classes", f->class_ns);
    put_real_known(d, "calls_per_step", f->calls_per_step);
    gp_doc_end(d, '}');
}

/* The spans that never ended, outermost first: where the process was when its log ends. */
static void put_open(struct writer *w)
{
    const struct gp_compile_log *log = w->c->log;
    gp_doc_list(&w->d, "open");
    for (size_t i = 0; w->c->time.open && i < log->spans.n; i++) {
        const struct gp_clog_span *s = &log->spans.at[i];
        if (!s->open) continue;
        gp_doc_element(&w->d);
        gp_doc_name(&w->d, "name", s->name);
        gp_doc_name(&w->d, "compile_id", s->compile_id);
        gp_doc_u64(&w->d, "process", s->process);
        gp_doc_end(&w->d, '}');
    }
    gp_doc_end(&w->d, ']');
}

static void put_time(struct writer *w)
{
    const struct gp_compile_time *t = &w->c->time;
    gp_doc_object(&w->d, "time");
    gp_doc_i64(&w->d, "total_ns", t->total_ns);
    put_classes(&w->d, "classes", t->class_ns);
    gp_doc_i64(&w->d, "longest_process_ns", t->longest_ns);
    gp_doc_i64(&w->d, "runtime_ns", t->runtime_ns);
    gp_doc_i64(&w->d, "logging_ns", t->logging_ns);
    gp_doc_i64(&w->d, "kernel_work_ns", t->kernel_work_ns);
    gp_doc_i64(&w->d, "saved_ns", t->saved_ns);
    gp_doc_known(&w->d, "stall_ns", t->stall_ns);
    gp_doc_u64(&w->d, "stalls", t->stalls);
    gp_doc_u64(&w->d, "open_spans", t->open);
    put_open(w);
    gp_doc_cstr(&w->d, "from", t->from_spans ? "spans" : "metrics");
    gp_doc_cstr(&w->d, "cache", gp_compile_warmth_name(w->c->caches.warmth));
    gp_doc_end(&w->d, '}');
}

/* ---- breaks and recompiles ---- */

static void put_recompile(struct writer *w, const struct gp_compile_recompile *r)
{
    struct gp_doc *d = &w->d;
    gp_doc_element(d);
    gp_doc_name(d, "frame", r->function);
    put_path(w, "file", r->file);
    gp_doc_known(d, "line", r->line);
    gp_doc_cstr(d, "kind", gp_recompile_kind_name((enum gp_recompile_kind)r->kind));
    gp_doc_name(d, "expression", r->expression);
    gp_doc_sids(&w->d, "values", GP_VEC_FROM(&w->c->values, r->first_value), r->n_values);
    gp_doc_u64(d, "count", r->count);
    gp_doc_sids(&w->d, "compile_ids", GP_VEC_FROM(&w->c->ids, r->first_id), r->n_ids);
    gp_doc_i64(d, "compile_ns", r->compile_ns);
    gp_doc_bool(d, "limit", r->limit);
    gp_doc_u64(d, "stalls", r->stalls);
    gp_doc_name(d, "guard", r->sample);
    gp_doc_bool(d, "new", r->is_new);
    gp_doc_end(d, '}');
}

/* ---- caches and graphs ---- */

static void put_cache(struct writer *w, const char *k, int layer)
{
    static const char *const names[] = {"misses", "hits", "bypassed", "disabled"};
    gp_doc_object(&w->d, k);
    for (int i = 0; i < GP_CLOG_CACHE_STATES; i++) gp_doc_u64(&w->d, names[i], w->c->caches.count[layer][i]);
    gp_doc_end(&w->d, '}');
}

static void put_caches(struct writer *w)
{
    gp_doc_object(&w->d, "caches");
    gp_doc_cstr(&w->d, "state", gp_compile_warmth_name(w->c->caches.warmth));
    put_cache(w, "fx", GP_CLOG_FX);
    put_cache(w, "aot", GP_CLOG_AOT);
    gp_doc_sids(&w->d, "bypass_reasons", w->c->caches.bypass.at, w->c->caches.bypass.n);
    gp_doc_end(&w->d, '}');
}

/* "poi" of triton_poi_fused_add_0 */
static const char *category_of(const char *name)
{
    static const struct {
        const char *part, *word;
    } words[] = {{"_poi_", "pointwise"}, {"_red_", "reduction"}, {"_per_", "persistent_reduction"},
                 {"_tem_", "template"},  {"_for_", "foreach"},   {"_spl_", "split_scan"}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (gp_starts(name, "triton") && !strncmp(name + 6, words[i].part, 5)) return words[i].word;
    return "other";
}

static void put_kernel(struct writer *w, uint32_t i)
{
    const struct gp_clog_kernel *k = &w->log->kernels.at[i];
    const struct gp_compile_kernel *seen = &w->c->kernels.at[i];
    struct gp_doc *d = &w->d;
    gp_doc_element(d);
    gp_doc_sid(d, "name", k->name);
    gp_doc_cstr(d, "category", category_of(gp_compile_str(w->c, k->name)));
    gp_doc_sids(&w->d, "operators", GP_VEC_FROM(&w->log->operators, k->first_operator), k->n_operators);
    gp_doc_u64(d, "source_nodes", k->sources);
    gp_doc_u64(d, "calls", k->calls);
    gp_doc_known(d, "compile_ns", k->compile_ns);
    gp_doc_name(d, "config", k->config);
    gp_doc_known(d, "gpu_ns", seen->gpu_ns);
    put_real_known(d, "count", seen->count);
    gp_doc_end(d, '}');
}

static void put_graph(struct writer *w, uint32_t i)
{
    static const char *const directions[] = {"unknown", "forward", "backward", "inference"};
    const struct gp_clog_graph *g = &w->log->graphs.at[i];
    const struct gp_compile_graph *more = &w->c->graphs.at[i];
    struct gp_doc *d = &w->d;
    gp_doc_element(d);
    gp_doc_name(d, "key", g->key);
    gp_doc_name(d, "compile_id", g->compile_id);
    gp_doc_u64(d, "process", g->process);
    gp_doc_cstr(d, "direction", directions[g->direction]);
    gp_doc_known(d, "operators", g->operators);
    gp_doc_known(d, "views", g->views);
    gp_doc_object(d, "calls");
    gp_doc_u64(d, "triton", g->triton_calls);
    gp_doc_u64(d, "extern", g->extern_calls);
    gp_doc_u64(d, "fallback", g->fallback_calls);
    gp_doc_end(d, '}');
    gp_doc_object(d, "scheduler");
    gp_doc_known(d, "before", more->nodes_before);
    gp_doc_known(d, "after", more->nodes_after);
    gp_doc_end(d, '}');
    put_real_known(d, "calls_per_step", more->calls_per_step);
    gp_doc_list(d, "kernels");
    for (uint32_t k = 0; k < g->n_kernels; k++) put_kernel(w, g->first_kernel + k);
    gp_doc_end(d, ']');
    if (w->log->keep_code) gp_doc_name(d, "code", g->code);
    gp_doc_end(d, '}');
}

static void put_fusion(struct writer *w)
{
    const struct gp_compile_fusion *f = &w->c->fusion;
    struct gp_doc *d = &w->d;
    gp_doc_object(d, "fusion");
    gp_doc_known(d, "scheduler_before", f->nodes_before);
    gp_doc_known(d, "scheduler_after", f->nodes_after);
    gp_doc_known(d, "operators", f->operators);
    gp_doc_known(d, "views", f->views);
    gp_doc_object(d, "calls");
    gp_doc_u64(d, "triton", f->triton);
    gp_doc_u64(d, "extern", f->external);
    gp_doc_u64(d, "fallback", f->fallback);
    gp_doc_end(d, '}');
    gp_doc_u64(d, "kernels", f->kernels);
    gp_doc_u64(d, "operators_in_kernels", f->operators_in_kernels);
    put_real_known(d, "kernels_per_step_eager", f->kernels_eager);
    put_real_known(d, "kernels_per_step_compiled", f->kernels_compiled);
    put_real_known(d, "triton_calls_per_step", f->triton_per_step);
    gp_doc_list(d, "unfused");
    for (size_t i = 0; i < w->log->unfused.n; i++) {
        gp_doc_element(d);
        gp_doc_sid(d, "reason", w->log->unfused.at[i].reason);
        gp_doc_u64(d, "count", w->log->unfused.at[i].count);
        gp_doc_end(d, '}');
    }
    gp_doc_end(d, ']');
    gp_doc_end(d, '}');
}

static void put_cudagraphs(struct writer *w)
{
    const struct gp_compile_cudagraphs *g = &w->c->cudagraphs;
    struct gp_doc *d = &w->d;
    gp_doc_object(d, "cudagraphs");
    gp_doc_bool(d, "asked", g->asked);
    gp_doc_u64(d, "recorded", g->recorded);
    gp_doc_u64(d, "recordings", g->recordings);
    put_real_known(d, "launches_per_step", g->launches_per_step);
    gp_doc_list(d, "skips");
    for (size_t i = 0; i < g->skips.n; i++) {
        const struct gp_compile_skip *s = &g->skips.at[i];
        gp_doc_element(d);
        gp_doc_sid(d, "reason", s->reason);
        put_path(w, "file", s->file);
        gp_doc_known(d, "line", s->line);
        gp_doc_name(d, "function", s->function);
        gp_doc_name(d, "compile_id", s->compile_id);
        gp_doc_u64(d, "count", s->count);
        gp_doc_bool(d, "new", s->is_new);
        gp_doc_end(d, '}');
    }
    gp_doc_end(d, ']');
    gp_doc_end(d, '}');
}

/* ---- run time and suggestions ---- */

static void put_mode(struct writer *w, const struct gp_compile_mode *m)
{
    struct gp_doc *d = &w->d;
    gp_doc_element(d);
    gp_doc_sid(d, "name", m->name);
    gp_doc_bool(d, "baseline", m->baseline);
    gp_doc_u64(d, "steps", m->steps);
    gp_doc_known(d, "step_ns", m->step_ns);
    gp_doc_known(d, "gpu_ns", m->gpu_ns);
    gp_doc_real(d, "kernels", m->kernels);
    gp_doc_real(d, "launches", m->launches);
    gp_doc_real(d, "graph_launches", m->graph_launches);
    gp_doc_known(d, "compile_ns", m->compile_ns);
    gp_doc_known(d, "break_even_steps", m->break_even_steps > 0 ? m->break_even_steps : -1);
    gp_doc_bool(d, "never_pays_back", m->break_even_steps == 0);
    gp_doc_real(d, "speedup", m->speedup > 0 ? m->speedup : NAN);
    gp_doc_real(d, "speedup_low", m->low > 0 ? m->low : NAN);
    gp_doc_real(d, "speedup_high", m->high > 0 ? m->high : NAN);
    gp_doc_real(d, "p_value", m->p);
    gp_doc_bool(d, "within_run", m->within_run);
    gp_doc_bool(d, "significant", m->significant);
    gp_doc_name(d, "refused", m->refused);
    gp_doc_end(d, '}');
}

static void put_suggestion(struct writer *w, const struct gp_compile_advice *a, int64_t step_ns)
{
    struct gp_doc *d = &w->d;
    int64_t left = step_ns - a->saving_ns;
    gp_doc_element(d);
    gp_doc_cstr(d, "rule", a->rule);
    gp_doc_cstr(d, "type", "compile");
    gp_doc_cstr(d, "priority", gp_compile_priority_name(a->priority));
    gp_doc_sid(d, "operation", a->operation);
    gp_doc_sid(d, "description", a->description);
    gp_doc_object(d, "evidence");
    gp_doc_known(d, "index", a->index == GP_CLOG_NONE ? -1 : (int64_t)a->index);
    gp_doc_end(d, '}');
    gp_doc_sid(d, "action", a->action);
    gp_doc_known(d, "current_ns", step_ns);
    gp_doc_i64(d, "saving_low_ns", 0);
    gp_doc_i64(d, "saving_high_ns", a->saving_ns);
    gp_doc_real(d, "speedup_low", 1);
    gp_doc_real(d, "speedup_high", step_ns > 0 && left > 0 ? (double)step_ns / (double)left : 1);
    gp_doc_end(d, '}');
}

static int64_t step_of(const struct gp_compile *c)
{
    for (size_t i = 0; i < c->modes.n; i++)
        if (c->traces.at[c->modes.at[i].trace].role == GP_COMPILE_RUN) return c->modes.at[i].step_ns;
    return -1;
}

void gp_compile_json_write(struct gp_buf *b, const struct gp_compile *c, const char *version)
{
    struct writer w = {
        .d = {.b = b, .strings = &c->log->strings}, .of = gp_compile_rows_of(c), .c = c, .log = c->log};
    struct gp_doc *d = &w.d;
    gp_doc_begin(d, '{');
    put_head(&w, version);
    put_summary(&w);
    put_environment(&w);
    put_time(&w);
    gp_doc_list(d, "frames");
    for (size_t i = 0; i < c->frames.n; i++) put_frame(&w, &c->frames.at[i]);
    gp_doc_end(d, ']');
    gp_record_json(d, &gp_compile_breaks[w.log->keep_code], c->breaks.at, c->breaks.n, 0, &w.of);
    gp_doc_list(d, "recompiles");
    for (size_t i = 0; i < c->recompiles.n; i++) put_recompile(&w, &c->recompiles.at[i]);
    gp_doc_end(d, ']');
    put_caches(&w);
    gp_doc_list(d, "graphs");
    for (uint32_t i = 0; i < c->graphs.n; i++) put_graph(&w, i);
    gp_doc_end(d, ']');
    put_fusion(&w);
    put_cudagraphs(&w);
    gp_doc_object(d, "speedup");
    gp_doc_list(d, "modes");
    for (size_t i = 0; i < c->modes.n; i++) put_mode(&w, &c->modes.at[i]);
    gp_doc_end(d, ']');
    gp_doc_end(d, '}');
    gp_doc_list(d, "suggestions");
    for (size_t i = 0; i < c->advice.n; i++) put_suggestion(&w, &c->advice.at[i], step_of(c));
    gp_doc_end(d, ']');
    gp_doc_end(d, '}');
    gp_buf_putc(b, '\n');
}
