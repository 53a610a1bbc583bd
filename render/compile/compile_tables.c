#include "render/compile/compile_tables.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "analyze/compile/compile_text.h"
#include "formats/base/buf.h"
#include "formats/base/scale.h"
#include "formats/base/str.h"
#include "render/compile/compile_verdict.h"
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

/* What was printed, as a text of the report. */
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
    if (time->kernel_work_ns) {
        gp_buf_puts(&m->text, " Worker processes spent ");
        gp_scale_put(&m->text, GP_UNIT_NS, time->kernel_work_ns);
        gp_buf_puts(&m->text, " on kernels beside that.");
    }
    t->note = take(m);
    for (int i = 0; i < GP_COMPILE_CLASS_COUNT; i++)
        if (time->class_ns[i]) gp_columns_put(m->r, t, &columns, &time->class_ns[i], &m->of);
    gp_columns_release(&columns);
}

/* What rows are sorted by: the most GPU time first, then the most compile time. */
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

/* The table of N rows in the order of their weights W, which is freed. */
static struct gp_report_table *add_sorted(struct maker *m, const struct gp_record *rec, const char *rows,
                                          struct weight *w, size_t n)
{
    char *sorted = gp_alloc((n + 1) * rec->size);
    qsort(w, n, sizeof *w, by_weight);
    for (size_t i = 0; i < n; i++) memcpy(sorted + i * rec->size, rows + w[i].index * rec->size, rec->size);
    struct gp_report_table *t = gp_record_table(m->r, rec, sorted, n, m->top, &m->of);
    free(sorted);
    free(w);
    return t;
}

static void add_frames(struct maker *m)
{
    const struct gp_compile *c = m->c;
    struct weight *w = gp_alloc((c->frames.n + 1) * sizeof *w);
    for (uint32_t i = 0; i < c->frames.n; i++) w[i] = (struct weight){0, c->frames.at[i].total_ns, i};
    struct gp_report_table *t = add_sorted(m, &gp_compile_frames, (const char *)c->frames.at, w, c->frames.n);
    if (!t || c->time.outside_ns <= 0) return;
    gp_buf_puts(&m->text, t->more ? t->more : "and ");
    if (t->more) gp_buf_puts(&m->text, "; ");
    gp_scale_put(&m->text, GP_UNIT_NS, c->time.outside_ns);
    gp_buf_puts(&m->text, " outside any compile");
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

GP_GETTER(get_words)
{
    gp_cell_text(c, *(const char *const *)gp_member_at(row, f));
}

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
    for (size_t i = 0; i < g->skips.n; i++) {
        const struct gp_compile_skip *s = &g->skips.at[i];
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
    struct weight *w = gp_alloc((c->kernels.n + 1) * sizeof *w);
    for (uint32_t i = 0; i < c->kernels.n; i++)
        w[i] = (struct weight){c->kernels.at[i].gpu_ns, c->log->kernels.at[c->kernels.at[i].index].compile_ns,
                               i};
    if (!c->traces.n) rec.rest[1].field = "compile_ns";
    (void)add_sorted(m, &rec, (const char *)c->kernels.at, w, c->kernels.n);
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
