/* Generated graphs: fusion as numbers that are kept apart, kernels, and CUDA graphs. */
#include <string.h>
#include "analyze/compile/compile_priv.h"
#include "formats/base/str.h"

/* ---- the scheduler ---- */

/* Rounds begin with number 1: the NTH such run of a compile. */
static void find_run(const struct gp_compile_log *log, uint32_t process, gp_sid id, uint32_t nth,
                     int64_t *before, int64_t *after)
{
    uint32_t runs = 0;
    bool inside = false;
    for (size_t i = 0; i < log->rounds.n; i++) {
        const struct gp_clog_fusion_round *r = &log->rounds.at[i];
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
    for (size_t i = 0; i < log->caches.n; i++) {
        const struct gp_clog_cache *k = &log->caches.at[i];
        if (g->key && k->key == g->key && k->process == g->process && k->compile_id == g->compile_id &&
            k->layer == GP_CLOG_FX)
            return k->state == GP_CLOG_HIT;
    }
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
            GP_VEC_PUSH(&c->kernels, (struct gp_compile_kernel){.graph = i, .gpu_ns = -1, .count = -1});
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
    for (size_t i = 0; i < g->skips.n; i++) {
        struct gp_compile_skip *s = &g->skips.at[i];
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
    for (size_t i = 0; i < c->frames.n; i++) {
        const struct gp_compile_frame *f = &c->frames.at[i];
        if (f->file == file && f->line <= line && (!best || f->line > best->line)) best = f;
    }
    return best ? best->function : 0;
}

static void count_recorded(struct gp_compile *c)
{
    const struct gp_compile_log *log = c->log;
    struct gp_map regions = {0};
    for (size_t i = 0; i < log->spans.n; i++) {
        const struct gp_clog_span *s = &log->spans.at[i];
        if (strcmp(gp_clog_str(log, s->name), "CUDAGraphNode.record") != 0) continue;
        uint64_t key = (uint64_t)s->process << 33 | (uint64_t)s->compile_id << 1 | s->backward;
        c->cudagraphs.recordings++;
        c->cudagraphs.recorded += !(*gp_map_put(&regions, key, 0))++;
    }
    if (!c->cudagraphs.recordings) { /* no spans: the text log has them as well */
        c->cudagraphs.recordings = (uint32_t)log->recordings.n;
        for (size_t i = 0; i < log->recordings.n; i++) {
            const struct gp_clog_recording *r = &log->recordings.at[i];
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
    for (size_t i = 0; i < log->skips.n; i++) {
        const struct gp_clog_skip *s = &log->skips.at[i];
        add_skip(c, s->reason, s->file, s->line, s->compile_id, function_at(c, s->file, s->line));
    }
    for (size_t i = 0; i < log->metrics.n; i++) {
        const struct gp_clog_metrics *m = &log->metrics.at[i];
        const struct gp_compile_frame *f = gp_compile_frame_of(c, m->process, m->compile_id);
        bool told = !m->skip_reason;
        for (size_t k = 0; k < log->skips.n && f && !told; k++)
            told = log->skips.at[k].process == m->process &&
                   function_at(c, log->skips.at[k].file, log->skips.at[k].line) == f->function;
        if (!told)
            add_skip(c, m->skip_reason, f ? f->file : 0, f ? f->line : -1, m->compile_id,
                     f ? f->function : 0);
    }
}
