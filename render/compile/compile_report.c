#include "render/compile/compile_priv.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "formats/base/buf.h"
#include "formats/base/order.h"
#include "formats/base/scale.h"
#include "render/compile/compile_formats.h"
#include "render/report/record.h"

/* One of the table of caches, CUDA graphs and fusion. */
struct line {
    const char *what, *text;
};

struct maker {
    struct gp_report *r;
    const struct gp_compile *c;
    struct gp_row_of of;
    size_t top;
    struct gp_buf text; /* scratch */
    GP_VEC(struct line) lines;
};

/* The scratch text as a text of the report; empty after. */
static const char *take(struct maker *m)
{
    const char *text = gp_report_str(m->r, m->text.data, m->text.n);
    m->text.n = 0;
    return text;
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
    t->note = take(m);
}

/* ---- recompiles ---- */

static void add_recompiles(struct maker *m)
{
    const struct gp_compile *c = m->c;
    struct gp_report_table *t =
        gp_record_table(m->r, &gp_compile_recompiles, c->recompiles.at, c->recompiles.n, m->top, &m->of);
    if (t) t->note = "A function is compiled again when no compiled entry fits its inputs.";
}

/* ---- time ---- */

static void add_time(struct maker *m)
{
    const struct gp_compile_time *time = &m->c->time;
    struct gp_columns columns;
    if (!time->total_ns) return;
    gp_columns_find(&columns, &gp_compile_class_times);
    struct gp_report_table *t = gp_columns_table(m->r, &gp_compile_class_times, &columns, &m->of);
    gp_buf_puts(
        &m->text,
        time->from_spans
            ? "Each moment counts once; the classes add up to the whole."
            : "From the nested fields of the metrics, because this version of PyTorch logs no spans.");
    if (time->kernel_work_ns)
        gp_buf_printf(&m->text, " Worker processes spent %s on kernels beside that.",
                      GP_NS(time->kernel_work_ns));
    t->note = take(m);
    for (int i = 0; i < GP_COMPILE_CLASS_COUNT; i++)
        if (time->class_ns[i]) gp_columns_put(m->r, t, &columns, &time->class_ns[i], &m->of);
    gp_columns_release(&columns);
}

/* The most time first. */
GP_COMPARE_IN(by_compile_time, struct gp_compile_frame, struct gp_compile, GP_DOWN(total_ns))
GP_COMPARE_IN(by_gpu_time, struct gp_compile_kernel, struct gp_compile,
              GP_DOWN(gpu_ns)
                  GP_KEY(of->log->kernels.at[y->index].compile_ns, of->log->kernels.at[x->index].compile_ns))

/* The table of N rows in that order. */
static struct gp_report_table *add_sorted(struct maker *m, const struct gp_record *rec, const void *rows,
                                          size_t n, gp_compare_in *compare)
{
    void *sorted = gp_alloc((n + 1) * rec->size);
    if (n) memcpy(sorted, rows, n * rec->size);
    gp_sort_in(sorted, n, rec->size, compare, m->c);
    struct gp_report_table *t = gp_record_table(m->r, rec, sorted, n, m->top, &m->of);
    free(sorted);
    return t;
}

static void add_frames(struct maker *m)
{
    const struct gp_compile *c = m->c;
    struct gp_report_table *t = add_sorted(m, &gp_compile_frames, c->frames.at, c->frames.n, by_compile_time);
    if (!t || c->time.outside_ns <= 0) return;
    gp_buf_puts(&m->text, t->more ? t->more : "and ");
    if (t->more) gp_buf_puts(&m->text, "; ");
    gp_buf_printf(&m->text, "%s outside any compile", GP_NS(c->time.outside_ns));
    t->more = take(m);
}

/* ---- run time ---- */

static void add_modes(struct maker *m)
{
    const struct gp_compile *c = m->c;
    if (c->modes.n && c->modes.at[0].step_ns >= 0)
        (void)gp_record_table(m->r, &gp_compile_modes, c->modes.at, c->modes.n, 0, &m->of);
}

/* ---- caches, fusion, CUDA graphs: a line each ---- */

GP_GETTER(get_words) { gp_cell_text(c, *(const char *const *)gp_member_at(row, f)); }

static const struct gp_field line_fields[] = {
    {"what", "What", GP_CELL_TEXT, get_words, offsetof(struct line, what), .help = NULL},
    {"text", "", GP_CELL_TEXT, get_words, offsetof(struct line, text), .help = NULL},
};
static const struct gp_record line_record = {"graphs", "Caches, CUDA graphs and fusion",
                                             GP_FIELDS(line_fields), sizeof(struct line), .note = NULL};

static void put_line(struct maker *m, const char *what)
{
    GP_VEC_PUSH(&m->lines, (struct line){what, take(m)});
}

static void put_cache(struct maker *m, int layer, const char *what)
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
    if (any) put_line(m, what);
    m->text.n = 0;
}

static void put_fusion(struct maker *m)
{
    const struct gp_compile_fusion *f = &m->c->fusion;
    uint64_t calls = f->triton + f->external + f->fallback;
    if (f->nodes_before >= 0) {
        gp_buf_printf(&m->text, "%" PRId64 " nodes before, %" PRId64 " after", f->nodes_before,
                      f->nodes_after);
        put_line(m, "scheduler");
    }
    if (f->operators >= 0 && calls) {
        gp_buf_printf(&m->text,
                      "%" PRId64 " operators without views in %" PRIu64 " calls: %.1f each (%" PRIu64
                      " generated kernels, %" PRIu64 " library calls, %" PRIu64
                      " fallbacks); operators are counted after decomposition",
                      f->operators - f->views, calls, (double)(f->operators - f->views) / (double)calls,
                      f->triton, f->external, f->fallback);
        put_line(m, "operators per call");
    }
    if (f->kernels) {
        gp_buf_printf(&m->text, "%" PRIu64 " ATen operators in %" PRIu64 " generated kernels: %.1f each",
                      f->operators_in_kernels, f->kernels,
                      (double)f->operators_in_kernels / (double)f->kernels);
        put_line(m, "operators per kernel");
    }
    if (f->kernels_eager >= 0 && f->kernels_compiled >= 0) {
        gp_buf_printf(&m->text,
                      "%.0f eager, %.0f compiled: the only one of these numbers that shows the gain",
                      f->kernels_eager, f->kernels_compiled);
        put_line(m, "kernels per step");
    }
}

static void put_cudagraphs(struct maker *m)
{
    const struct gp_compile_cudagraphs *g = &m->c->cudagraphs;
    if (!g->asked && !g->skips.n) return;
    gp_compile_put_count(&m->text, g->recorded, "region recorded", "regions recorded");
    if (g->recordings > g->recorded) gp_buf_printf(&m->text, ", %" PRIu32 " times in all", g->recordings);
    if (g->launches_per_step > 0) gp_buf_printf(&m->text, ", %.1f launches per step", g->launches_per_step);
    put_line(m, "CUDA graphs");
    GP_EACH(const struct gp_compile_skip, s, g->skips) {
        gp_compile_put_place(&m->text, m->c, s->file, s->line, s->function);
        gp_buf_printf(&m->text, ": %s", gp_compile_str(m->c, s->text));
        put_line(m, "skipped");
    }
}

static void add_summary(struct maker *m)
{
    put_cache(m, GP_CLOG_FX, "graph cache");
    put_cache(m, GP_CLOG_AOT, "autograd cache");
    put_cudagraphs(m);
    put_fusion(m);
    (void)gp_record_table(m->r, &line_record, m->lines.at, m->lines.n, 0, &m->of);
    GP_VEC_FREE(&m->lines);
}

/* ---- kernels ---- */

static void add_kernels(struct maker *m)
{
    const struct gp_compile *c = m->c;
    struct gp_record rec = gp_compile_kernels;
    if (!c->traces.n) rec.rest[1].field = "compile_ns";
    (void)add_sorted(m, &rec, c->kernels.at, c->kernels.n, by_gpu_time);
}

void gp_compile_report(struct gp_report *r, const struct gp_compile *c, size_t top)
{
    struct maker m = {.r = r, .c = c, .of = gp_compile_rows_of(c), .top = top};
    gp_compile_quality(r, c);
    gp_compile_summary(r, c);
    add_breaks(&m);
    add_recompiles(&m);
    add_time(&m);
    add_modes(&m);
    add_frames(&m);
    add_summary(&m);
    add_kernels(&m);
    gp_buf_release(&m.text);
}

/* ---- compile verdict ---- */

enum { ADVICE_SHOWN = 3 };

/* ---- problems of the inputs ---- */

void gp_compile_quality(struct gp_report *r, const struct gp_compile *c)
{
    const struct gp_compile_log *log = c->log;
    GP_EACH(const struct gp_clog_input, in, log->inputs) {
        for (int k = 0; k < GP_CLOG_ISSUE_COUNT; k++) {
            const struct gp_clog_issue *q = &in->issues[k];
            if (!q->count || k == GP_CLOG_NOISE) continue;
            struct gp_buf at = {0};
            if (q->first_offset >= 0) gp_buf_printf(&at, ", the first at byte %" PRId64, q->first_offset);
            gp_report_note(r, GP_TONE_WARN, "%s: %s: %" PRIu64 "%s", gp_compile_str(c, in->path),
                           gp_clog_issue_text((enum gp_clog_issue_kind)k), q->count, gp_buf_str(&at));
            gp_buf_release(&at);
        }
    }
    for (size_t i = 0; i < c->traces.n; i++)
        gp_inputs_quality(r, &log->strings, &c->traces.at[i].input, 1, true);
    if (c->gaps)
        gp_report_note(r, GP_TONE_WARN, "%" PRIu32 " %s missing in the log: compile ids have gaps", c->gaps,
                       c->gaps == 1 ? "compile is" : "compiles are");
}

/* ---- advice ---- */

static void summarize_advice(struct gp_report *r, const struct gp_compile *c)
{
    static const char *const heads[ADVICE_SHOWN] = {"First", "Then", "Then"};
    for (size_t i = 0; i < c->advice.n && i < ADVICE_SHOWN; i++) {
        const struct gp_compile_advice *a = &c->advice.at[i];
        const char *place = gp_compile_str(c, a->place), *action = gp_compile_str(c, a->action);
        const char *stop = strchr(action, ';');
        int n = stop ? (int)(stop - action) : (int)strlen(action);
        struct gp_buf saving = {0};
        if (a->saving_ns) gp_buf_printf(&saving, " for up to %s per step", GP_NS(a->saving_ns));
        gp_report_verdict(r, a->priority >= GP_COMPILE_HIGH ? GP_TONE_BAD : GP_TONE_WARN,
                          "%s: %s%s%s%s. %.*s.", c->advice.n == 1 ? "What to do" : heads[i], place,
                          *place ? ": " : "", gp_compile_str(c, a->description), gp_buf_str(&saving), n,
                          action);
        gp_buf_release(&saving);
    }
    if (!c->advice.n && c->frames.n && !c->cut)
        gp_report_verdict(r, GP_TONE_GOOD,
                          "Nothing to do: no graph breaks, no recompiles that matter, nothing skipped.");
    else if (c->advice.n > ADVICE_SHOWN)
        gp_report_verdict(r, GP_TONE_PLAIN, "%zu suggestions in all; the tables below have the others.",
                          c->advice.n);
}

/* ---- the overview ---- */

static void summarize_new(struct gp_report *r, const struct gp_compile *c)
{
    struct gp_buf b = {0};
    if (!c->opts.against) return;
    gp_buf_puts(&b, "Against the baseline: ");
    gp_compile_put_count(&b, c->added[GP_FINDING_BREAK], "new graph break, ", "new graph breaks, ");
    gp_compile_put_count(&b, c->added[GP_FINDING_RECOMPILE], "new recompile, ", "new recompiles, ");
    gp_compile_put_count(&b, c->added[GP_FINDING_SKIP], "new skip of CUDA graphs.",
                         "new skips of CUDA graphs.");
    bool any = c->added[GP_FINDING_BREAK] || c->added[GP_FINDING_RECOMPILE] || c->added[GP_FINDING_SKIP];
    gp_report_verdict(r, any ? GP_TONE_BAD : GP_TONE_GOOD, "%s", gp_buf_str(&b));
    gp_buf_release(&b);
}

/* The end of the log: its innermost span and its compile. */
static void summarize_cut(struct gp_report *r, const struct gp_compile *c)
{
    struct gp_buf b = {0};
    if (!c->cut) return;
    if (c->last_frame != GP_CLOG_NONE) {
        const struct gp_compile_frame *f = &c->frames.at[c->last_frame];
        gp_compile_put_place(&b, c, f->file, f->line, f->function);
        gp_buf_puts(&b, " is being compiled");
    }
    if (c->last_span != GP_CLOG_NONE)
        gp_buf_printf(&b, c->last_frame == GP_CLOG_NONE ? "%s is running" : " (in %s)",
                      gp_compile_str(c, c->log->spans.at[c->last_span].name));
    else if (c->last_frame == GP_CLOG_NONE) gp_buf_puts(&b, "a record is being written");
    gp_report_verdict(
        r, GP_TONE_WARN,
        "The log ends while %s: the process was killed, or is still compiling. The figures cover "
        "what was logged.",
        gp_buf_str(&b));
    gp_buf_release(&b);
}

static void summarize_time(struct gp_report *r, const struct gp_compile *c)
{
    const struct gp_compile_time *t = &c->time;
    struct gp_buf b = {0};
    if (!c->log->processes.n) return;
    const struct gp_compile_log *log = c->log;
    const char *torch = log->processes.n ? gp_clog_str(log, log->processes.at[0].torch) : "";
    if (*torch) gp_buf_printf(&b, "torch %s, ", torch);
    if (c->mode) gp_buf_printf(&b, "mode %s, ", gp_compile_str(c, c->mode));
    gp_compile_put_count(&b, c->log->processes.n, "process, ", "processes, ");
    gp_compile_put_count(&b, c->frames.n, "compile, ", "compiles, ");
    gp_compile_put_count(&b, c->graphs.n, "graph: ", "graphs: ");
    gp_buf_printf(&b, "%s of compile time", GP_NS(t->total_ns));
    if (c->caches.warmth) gp_buf_printf(&b, ", %s", gp_compile_warmth_name(c->caches.warmth));
    if (t->saved_ns) gp_buf_printf(&b, " (the cache saved %s)", GP_NS(t->saved_ns));
    if (t->stalls) gp_buf_printf(&b, "; %s of it inside steady steps", GP_NS(t->stall_ns));
    gp_report_verdict(r, GP_TONE_PLAIN, "%s.", gp_buf_str(&b));
    gp_buf_release(&b);
}

static void summarize_mode(struct gp_report *r, const struct gp_compile *c, const struct gp_compile_mode *m)
{
    const struct gp_compile_mode *base = &c->modes.at[0];
    struct gp_buf b = {0};
    gp_buf_printf(&b, "%s: ", gp_compile_str(c, m->name));
    if (m->refused) {
        gp_report_verdict(r, GP_TONE_WARN, "%snot compared with %s: %s.", gp_buf_str(&b),
                          gp_compile_str(c, base->name), gp_compile_str(c, m->refused));
        gp_buf_release(&b);
        return;
    }
    char low[32], high[32];
    gp_buf_printf(&b, "%.2fx", m->speedup);
    if (m->low > 0 && m->high > 0) {
        snprintf(low, sizeof low, "%.2f", m->low);
        snprintf(high, sizeof high, "%.2f", m->high);
        if (strcmp(low, high) != 0) gp_buf_printf(&b, " (%s to %s)", low, high);
    }
    gp_buf_printf(&b, " as fast as %s, a step takes %s instead of %s", gp_compile_str(c, base->name),
                  GP_NS(m->step_ns), GP_NS(base->step_ns));
    if (!m->slower && m->low > 0 && m->low <= 1) gp_buf_puts(&b, "; that may be chance");
    if (m->break_even_steps > 0) {
        gp_buf_puts(&b, "; compiling pays back after ");
        gp_compile_put_count(&b, (uint64_t)m->break_even_steps, "step", "steps");
    } else if (m->break_even_steps == 0) {
        gp_buf_puts(&b, "; compiling never pays back");
    }
    gp_report_verdict(r,
                      m->slower    ? GP_TONE_BAD
                      : m->low > 1 ? GP_TONE_GOOD
                                   : GP_TONE_PLAIN,
                      "%s.", gp_buf_str(&b));
    gp_buf_release(&b);
}

void gp_compile_summary(struct gp_report *r, const struct gp_compile *c)
{
    summarize_new(r, c);
    summarize_cut(r, c);
    summarize_advice(r, c);
    summarize_time(r, c);
    for (size_t i = 1; i < c->modes.n; i++) summarize_mode(r, c, &c->modes.at[i]);
    if (!c->log->inputs.n)
        gp_report_verdict(r, GP_TONE_PLAIN,
                          "No log of torch.compile was given: with TORCH_TRACE's folder, compile time, graph "
                          "breaks and recompiles are reported, too.");
    if (!c->frames.n && c->log->inputs.n) gp_report_verdict(r, GP_TONE_PLAIN, "Nothing was compiled.");
}
