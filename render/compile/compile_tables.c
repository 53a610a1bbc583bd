#include "render/compile/compile_tables.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "formats/base/scale.h"
#include "formats/base/str.h"
#include "render/compile/compile_verdict.h"
#include "render/report/record.h"
#include "analyze/compile/compile_text.h"

#define COLUMN gp_report_column

struct maker {
    struct gp_report *r;
    const struct gp_compile *c;
    struct gp_row_of of;
    size_t top;
    struct gp_buf text;
};

static void put_scratch(struct maker *m, struct gp_report_table *t)
{
    if (m->text.n) gp_report_put_text(m->r, t, gp_buf_str(&m->text));
    else gp_report_put_none(t);
    m->text.n = 0;
}

static void put_sid(struct maker *m, struct gp_report_table *t, gp_sid sid)
{
    const char *s = gp_compile_str(m->c, sid);
    if (sid) gp_report_put_name(m->r, t, s, strlen(s), NULL, 0);
    else gp_report_put_none(t);
}

static void put_known(struct gp_report_table *t, int64_t v)
{
    if (v >= 0) gp_report_put(t, v);
    else gp_report_put_none(t);
}

static void put_known_real(struct gp_report_table *t, double v)
{
    if (v >= 0) gp_report_put_real(t, v);
    else gp_report_put_none(t);
}

static size_t shown(const struct maker *m, size_t n)
{
    return m->top && n > m->top ? m->top : n;
}

static void say_more(struct maker *m, struct gp_report_table *t, size_t n)
{
    if (n <= shown(m, n)) return;
    gp_buf_printf(&m->text, "and %zu more; --top 0 prints all", n - shown(m, n));
    t->more = gp_report_str(m->r, m->text.data, m->text.n);
    m->text.n = 0;
}

/* ---- breaks ---- */

static void add_breaks(struct maker *m)
{
    const struct gp_compile *c = m->c;
    struct gp_report_table *t = gp_record_table(m->r, &gp_compile_breaks[c->log->keep_code], c->breaks.at,
                                                c->breaks.n, m->top, &m->of);
    if (!t) return;
    gp_compile_put_count(&m->text, gp_compile_own_breaks(c), "place", "places");
    gp_buf_puts(&m->text, "; \"eager\" means that the whole function runs without being compiled.");
    t->note = gp_report_str(m->r, m->text.data, m->text.n);
    m->text.n = 0;
}

/* ---- recompiles ---- */

/* "n is compiled in: 0..7", as a person says it */
static void put_reason(struct maker *m, const struct gp_compile_recompile *r)
{
    const struct gp_compile *c = m->c;
    gp_buf_printf(&m->text, "%s: %s", gp_recompile_kind_text((enum gp_recompile_kind)r->kind),
                  gp_compile_str(c, r->expression));
    if (!r->n_values) return;
    gp_buf_puts(&m->text, " was ");
    gp_compile_put_values(&m->text, c, r);
}

static void add_recompiles(struct maker *m)
{
    const struct gp_compile *c = m->c;
    if (!c->recompiles.n) return;
    struct gp_report_table *t = gp_report_add(m->r, "recompiles", "Recompiles");
    t->note = "A function is compiled again when no compiled entry fits its inputs.";
    COLUMN(t, "number", "#", GP_CELL_ID, 0, NULL);
    COLUMN(t, "place", "Function", GP_CELL_NAME, 0, NULL);
    COLUMN(t, "count", "Times", GP_CELL_COUNT, 0, NULL);
    COLUMN(t, "compile_ns", "Time", GP_CELL_NS, 0, "compile time of these recompiles");
    COLUMN(t, "stalls", "In steps", GP_CELL_COUNT, GP_COLUMN_SPARE, "inside steady steps of the trace");
    COLUMN(t, "limit", "Limit", GP_CELL_TEXT, 0, "reached: the function runs eagerly from then on");
    COLUMN(t, "reason", "Because", GP_CELL_TEXT, 0, NULL);
    COLUMN(t, "guard", "Guard as logged", GP_CELL_NAME, GP_COLUMN_WIDE, NULL);
    size_t n = shown(m, c->recompiles.n);
    for (size_t i = 0; i < n; i++) {
        const struct gp_compile_recompile *r = &c->recompiles.at[i];
        gp_report_put(t, (int64_t)i + 1);
        gp_compile_put_place(&m->text, c, r->file, r->line, r->function);
        gp_report_put_name(m->r, t, gp_buf_str(&m->text), m->text.n, NULL, 0);
        m->text.n = 0;
        gp_report_put(t, r->count);
        gp_report_put(t, r->compile_ns);
        gp_report_put(t, r->stalls);
        if (r->limit) gp_buf_puts(&m->text, "reached");
        put_scratch(m, t);
        put_reason(m, r);
        put_scratch(m, t);
        put_sid(m, t, r->sample);
    }
    say_more(m, t, c->recompiles.n);
}

/* ---- time ---- */

static double share(int64_t part, int64_t whole)
{
    return whole > 0 ? 100 * (double)part / (double)whole : 0;
}

static void add_time(struct maker *m)
{
    const struct gp_compile_time *time = &m->c->time;
    if (!time->total_ns) return;
    struct gp_report_table *t = gp_report_add(m->r, "time", "Compile time");
    gp_buf_puts(
        &m->text,
        time->from_spans
            ? "Each moment counts once; the classes add up to the whole."
            : "From the nested fields of the metrics, because this version of PyTorch logs no spans.");
    if (time->kernel_work_ns) {
        gp_buf_puts(&m->text, " Worker processes spent ");
        gp_scale_put(&m->text, GP_UNIT_NS, time->kernel_work_ns);
        gp_buf_puts(&m->text, " on kernels beside that.");
    }
    t->note = gp_report_str(m->r, m->text.data, m->text.n);
    m->text.n = 0;
    COLUMN(t, "class", "Class", GP_CELL_TEXT, 0, NULL);
    COLUMN(t, "time_ns", "Time", GP_CELL_NS, 0, "self time");
    COLUMN(t, "share_pct", "Share", GP_CELL_PCT, GP_COLUMN_BAR, "of all compile time");
    COLUMN(t, "text", "What", GP_CELL_TEXT, GP_COLUMN_WIDE, NULL);
    for (int i = 0; i < GP_COMPILE_CLASS_COUNT; i++) {
        if (!time->class_ns[i]) continue;
        gp_report_put_text(m->r, t, gp_compile_class_name((enum gp_compile_class)i));
        gp_report_put(t, time->class_ns[i]);
        gp_report_put_real(t, share(time->class_ns[i], time->total_ns));
        gp_report_put_text(m->r, t, gp_compile_class_text((enum gp_compile_class)i));
    }
}

struct weight {
    int64_t gpu_ns, compile_ns;
    uint32_t index;
};

static int by_weight(const void *a, const void *b)
{
    const struct weight *x = a, *y = b;
    if (x->gpu_ns != y->gpu_ns) return x->gpu_ns > y->gpu_ns ? -1 : 1;
    if (x->compile_ns != y->compile_ns) return x->compile_ns > y->compile_ns ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

static void put_frame(struct maker *m, struct gp_report_table *t, const struct gp_compile_frame *f)
{
    const struct gp_compile *c = m->c;
    gp_buf_printf(&m->text, "[%s] ", gp_compile_str(c, f->compile_id));
    gp_compile_put_place(&m->text, c, f->file, f->resumed_line >= 0 ? f->resumed_line : f->line, f->function);
    if (f->resumed_line >= 0) gp_buf_puts(&m->text, ", rest");
    gp_report_put_name(m->r, t, gp_buf_str(&m->text), m->text.n, NULL, 0);
    m->text.n = 0;
    if (c->log->processes.n > 1) put_known(t, c->log->processes.at[f->process].rank);
    gp_report_put(t, f->total_ns);
    gp_report_put_real(t, share(f->total_ns, c->time.total_ns));
    gp_report_put_text(m->r, t, gp_compile_warmth_name((enum gp_compile_warmth)f->cache));
    put_known(t, f->graph_ops);
    put_known(t, f->guards);
    gp_report_put_text(m->r, t, gp_compile_outcome_name((enum gp_compile_outcome)f->outcome));
    put_known_real(t, f->calls_per_step);
}

static void add_frames(struct maker *m)
{
    const struct gp_compile *c = m->c;
    if (!c->frames.n) return;
    struct gp_report_table *t = gp_report_add(m->r, "frames", "Compiles");
    COLUMN(t, "frame", "Compile", GP_CELL_NAME, 0,
           "compile id and function; rest: what follows a graph break");
    if (c->log->processes.n > 1) COLUMN(t, "rank", "Rank", GP_CELL_ID, 0, NULL);
    COLUMN(t, "time_ns", "Time", GP_CELL_NS, 0, "self times of its spans");
    COLUMN(t, "share_pct", "Share", GP_CELL_PCT, 0, "of all compile time");
    COLUMN(t, "cache", "Cache", GP_CELL_TEXT, 0, NULL);
    COLUMN(t, "graph_ops", "Ops", GP_CELL_COUNT, 0, "operators of the graph that was traced");
    COLUMN(t, "guards", "Guards", GP_CELL_COUNT, GP_COLUMN_SPARE, NULL);
    COLUMN(t, "outcome", "Ended", GP_CELL_TEXT, 0,
           "ok, empty (no graph), failed, eager (refused by the limit), cut (the log ends)");
    COLUMN(t, "calls_per_step", "Calls per step", GP_CELL_REAL, GP_COLUMN_WIDE, NULL);
    struct weight *w = gp_alloc((c->frames.n + 1) * sizeof *w);
    for (uint32_t i = 0; i < c->frames.n; i++) w[i] = (struct weight){-1, c->frames.at[i].total_ns, i};
    qsort(w, c->frames.n, sizeof *w, by_weight);
    size_t n = shown(m, c->frames.n);
    for (size_t i = 0; i < n; i++) put_frame(m, t, &c->frames.at[w[i].index]);
    free(w);
    say_more(m, t, c->frames.n);
}

/* ---- run time ---- */

static void add_modes(struct maker *m)
{
    const struct gp_compile *c = m->c;
    if (c->modes.n < 1 || c->modes.at[0].step_ns < 0) return;
    struct gp_report_table *t = gp_report_add(m->r, "modes", "Modes");
    COLUMN(t, "mode", "Mode", GP_CELL_NAME, 0, NULL);
    COLUMN(t, "step_ns", "Step", GP_CELL_NS, 0, "mean of the steady steps");
    COLUMN(t, "gpu_ns", "GPU", GP_CELL_NS, 0, "sum of GPU events per step");
    COLUMN(t, "kernels", "Kernels", GP_CELL_REAL, 0, "GPU events per step");
    COLUMN(t, "launches", "Launches", GP_CELL_REAL, GP_COLUMN_SPARE,
           "launching calls per step; a graph launch is one");
    COLUMN(t, "graph_launches", "Graphs", GP_CELL_REAL, GP_COLUMN_SPARE, "CUDA graph launches per step");
    COLUMN(t, "speedup", "Speed-up", GP_CELL_REAL, 0, "against the first row");
    COLUMN(t, "compile_ns", "Compile", GP_CELL_NS, 0, "compile time by the log");
    COLUMN(t, "break_even_steps", "Pays after", GP_CELL_COUNT, 0,
           "steps after which compiling has paid back");
    COLUMN(t, "p", "p", GP_CELL_REAL, GP_COLUMN_WIDE, "probability of such a difference by chance");
    for (size_t i = 0; i < c->modes.n; i++) {
        const struct gp_compile_mode *k = &c->modes.at[i];
        put_sid(m, t, k->name);
        put_known(t, k->step_ns);
        put_known(t, k->gpu_ns);
        gp_report_put_real(t, k->kernels);
        gp_report_put_real(t, k->launches);
        gp_report_put_real(t, k->graph_launches);
        if (k->speedup > 0) gp_report_put_real(t, k->speedup);
        else gp_report_put_none(t);
        put_known(t, k->compile_ns);
        put_known(t, k->break_even_steps > 0 ? k->break_even_steps : -1);
        if (k->p >= 0) gp_report_put_real(t, k->p);
        else gp_report_put_none(t);
    }
}

/* ---- caches, fusion, CUDA graphs: a line each ---- */

static void put_line(struct maker *m, struct gp_report_table *t, const char *what)
{
    gp_report_put_text(m->r, t, what);
    put_scratch(m, t);
}

static void put_cache(struct maker *m, struct gp_report_table *t, int layer, const char *what)
{
    static const char *const words[] = {"misses", "hits", "bypassed", "disabled"};
    static const char *const one[] = {"miss", "hit", "bypassed", "disabled"};
    bool any = false;
    for (int s = 0; s < GP_CLOG_CACHE_STATES; s++) {
        uint32_t n = m->c->caches.count[layer][s];
        if (!n) continue;
        if (any) gp_buf_puts(&m->text, ", ");
        gp_compile_put_count(&m->text, n, one[s], words[s]);
        any = true;
    }
    if (layer == GP_CLOG_AOT)
        for (size_t i = 0; i < m->c->caches.bypass.n; i++)
            gp_buf_printf(&m->text, "%s%s", i ? "; " : ": ", gp_compile_str(m->c, m->c->caches.bypass.at[i]));
    if (any) put_line(m, t, what);
    m->text.n = 0;
}

static void put_fusion(struct maker *m, struct gp_report_table *t)
{
    const struct gp_compile_fusion *f = &m->c->fusion;
    uint64_t calls = f->triton + f->external + f->fallback;
    if (f->nodes_before >= 0) {
        gp_buf_printf(&m->text, "%" PRId64 " nodes before, %" PRId64 " after", f->nodes_before,
                      f->nodes_after);
        put_line(m, t, "scheduler");
    }
    if (f->operators >= 0 && calls) {
        gp_buf_printf(&m->text,
                      "%" PRId64 " operators without views in %" PRIu64 " calls: %.1f each (%" PRIu64
                      " generated kernels, %" PRIu64 " library calls, %" PRIu64
                      " fallbacks); operators are counted after decomposition",
                      f->operators - f->views, calls, (double)(f->operators - f->views) / (double)calls,
                      f->triton, f->external, f->fallback);
        put_line(m, t, "operators per call");
    }
    if (f->kernels) {
        gp_buf_printf(&m->text, "%" PRIu64 " ATen operators in %" PRIu64 " generated kernels: %.1f each",
                      f->operators_in_kernels, f->kernels,
                      (double)f->operators_in_kernels / (double)f->kernels);
        put_line(m, t, "operators per kernel");
    }
    if (f->kernels_eager >= 0 && f->kernels_compiled >= 0) {
        gp_buf_printf(&m->text,
                      "%.0f eager, %.0f compiled: the only one of these numbers that shows the gain",
                      f->kernels_eager, f->kernels_compiled);
        put_line(m, t, "kernels per step");
    }
}

static void put_cudagraphs(struct maker *m, struct gp_report_table *t)
{
    const struct gp_compile_cudagraphs *g = &m->c->cudagraphs;
    if (!g->asked && !g->skips.n) return;
    gp_compile_put_count(&m->text, g->recorded, "region recorded", "regions recorded");
    if (g->recordings > g->recorded) gp_buf_printf(&m->text, ", %" PRIu32 " times in all", g->recordings);
    if (g->launches_per_step > 0) gp_buf_printf(&m->text, ", %.1f launches per step", g->launches_per_step);
    put_line(m, t, "CUDA graphs");
    for (size_t i = 0; i < g->skips.n; i++) {
        const struct gp_compile_skip *s = &g->skips.at[i];
        gp_compile_put_place(&m->text, m->c, s->file, s->line, s->function);
        gp_buf_printf(&m->text, ": %s", gp_compile_str(m->c, s->text));
        put_line(m, t, "skipped");
    }
}

static void add_summary(struct maker *m)
{
    struct gp_report_table *t = gp_report_add(m->r, "graphs", "Caches, CUDA graphs and fusion");
    COLUMN(t, "what", "What", GP_CELL_TEXT, 0, NULL);
    COLUMN(t, "text", "", GP_CELL_TEXT, 0, NULL);
    put_cache(m, t, GP_CLOG_FX, "graph cache");
    put_cache(m, t, GP_CLOG_AOT, "autograd cache");
    put_cudagraphs(m, t);
    put_fusion(m, t);
}

/* ---- kernels ---- */

static void put_operators(struct maker *m, struct gp_report_table *t, const struct gp_clog_kernel *k)
{
    for (uint32_t i = 0; i < k->n_operators; i++) {
        const char *s = gp_compile_str(m->c, m->c->log->operators.at[k->first_operator + i]);
        gp_buf_printf(&m->text, "%s%s", i ? ", " : "", gp_starts(s, "aten.") ? s + strlen("aten.") : s);
    }
    gp_report_put_name(m->r, t, gp_buf_str(&m->text), m->text.n, NULL, 0);
    m->text.n = 0;
}

/* Most GPU time first, then most compile time. */
static uint32_t *sort_kernels(const struct gp_compile *c)
{
    size_t n = c->kernels.n;
    struct weight *w = gp_alloc((n + 1) * sizeof *w);
    uint32_t *order = gp_alloc((n + 1) * sizeof *order);
    for (uint32_t i = 0; i < n; i++)
        w[i] = (struct weight){c->kernels.at[i].gpu_ns, c->log->kernels.at[i].compile_ns, i};
    qsort(w, n, sizeof *w, by_weight);
    for (size_t i = 0; i < n; i++) order[i] = w[i].index;
    free(w);
    return order;
}

static void add_kernels(struct maker *m)
{
    const struct gp_compile *c = m->c;
    const struct gp_compile_log *log = c->log;
    if (!log->kernels.n) return;
    struct gp_report_table *t = gp_report_add(m->r, "kernels", "Generated kernels");
    COLUMN(t, "kernel", "Kernel", GP_CELL_NAME, 0, NULL);
    COLUMN(t, "compile_id", "Compile", GP_CELL_NAME, GP_COLUMN_WIDE, NULL);
    COLUMN(t, "calls", "Calls", GP_CELL_COUNT, 0, "in the code of the graph");
    COLUMN(t, "gpu_ns", "GPU per step", GP_CELL_NS, 0, "if only one kernel has this name");
    COLUMN(t, "compile_ns", "Compile", GP_CELL_NS, 0, "in a worker process");
    COLUMN(t, "operators_count", "Ops", GP_CELL_COUNT, 0, "ATen operators in it, before decomposition");
    COLUMN(t, "operators", "Operators", GP_CELL_NAME, GP_COLUMN_WIDE, NULL);
    COLUMN(t, "config", "Configuration", GP_CELL_NAME, GP_COLUMN_WIDE, NULL);
    size_t n = shown(m, log->kernels.n);
    uint32_t *order = sort_kernels(c);
    for (size_t row = 0; row < n; row++) {
        uint32_t i = order[row];
        const struct gp_clog_kernel *k = &log->kernels.at[i];
        put_sid(m, t, k->name);
        put_sid(m, t, log->graphs.at[c->kernels.at[i].graph].compile_id);
        gp_report_put(t, k->calls);
        put_known(t, c->kernels.at[i].gpu_ns);
        put_known(t, k->compile_ns);
        gp_report_put(t, k->n_operators);
        put_operators(m, t, k);
        put_sid(m, t, k->config);
    }
    free(order);
    say_more(m, t, log->kernels.n);
}

void gp_compile_report(struct gp_report *r, const struct gp_compile *c, size_t top)
{
    struct maker m = {.r = r, .c = c, .of = gp_compile_rows_of(c), .top = top};
    gp_compile_quality(r, c);
    gp_compile_verdict(r, c);
    add_breaks(&m);
    add_recompiles(&m);
    add_time(&m);
    add_modes(&m);
    add_frames(&m);
    add_summary(&m);
    add_kernels(&m);
    gp_buf_release(&m.text);
}
