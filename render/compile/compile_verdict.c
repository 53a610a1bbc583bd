#include "render/compile/compile_verdict.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "formats/base/buf.h"
#include "formats/base/scale.h"
#include "analyze/compile/compile_text.h"
#include "render/report/quality_text.h"

enum { TOLD = 3 };

/* ---- what is wrong with the inputs ---- */

void gp_compile_quality(struct gp_report *r, const struct gp_compile *c)
{
    const struct gp_compile_log *log = c->log;
    for (size_t i = 0; i < log->inputs.n; i++) {
        const struct gp_clog_input *in = &log->inputs.at[i];
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
    for (size_t i = 0; i < c->traces.n; i++) gp_inputs_say(r, &log->strings, &c->traces.at[i].input, 1, true);
    if (c->gaps)
        gp_report_note(r, GP_TONE_WARN, "%" PRIu32 " %s missing in the log: compile ids have gaps", c->gaps,
                       c->gaps == 1 ? "compile is" : "compiles are");
}

/* ---- what to do ---- */

static void say_advice(struct gp_report *r, const struct gp_compile *c)
{
    static const char *const heads[TOLD] = {"First", "Then", "Then"};
    for (size_t i = 0; i < c->advice.n && i < TOLD; i++) {
        const struct gp_compile_advice *a = &c->advice.at[i];
        const char *place = gp_compile_str(c, a->place), *action = gp_compile_str(c, a->action);
        const char *stop = strchr(action, ';');
        int n = stop ? (int)(stop - action) : (int)strlen(action);
        struct gp_buf saving = {0};
        if (a->saving_ns) {
            gp_buf_puts(&saving, " for up to ");
            gp_scale_put(&saving, GP_UNIT_NS, a->saving_ns);
            gp_buf_puts(&saving, " per step");
        }
        gp_report_verdict(r, a->priority >= GP_COMPILE_HIGH ? GP_TONE_BAD : GP_TONE_WARN,
                          "%s: %s%s%s%s. %.*s.", c->advice.n == 1 ? "What to do" : heads[i], place,
                          *place ? ": " : "", gp_compile_str(c, a->description), gp_buf_str(&saving), n,
                          action);
        gp_buf_release(&saving);
    }
    if (!c->advice.n && c->frames.n && !c->cut)
        gp_report_verdict(r, GP_TONE_GOOD,
                          "Nothing to do: no graph breaks, no recompiles that matter, nothing skipped.");
    else if (c->advice.n > TOLD)
        gp_report_verdict(r, GP_TONE_PLAIN, "%zu suggestions in all; the tables below have the others.",
                          c->advice.n);
}

/* ---- what there is ---- */

static void say_new(struct gp_report *r, const struct gp_compile *c)
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

static void put_mode(struct gp_buf *b, const struct gp_compile *c)
{
    const struct gp_compile_log *log = c->log;
    const char *torch = log->processes.n ? gp_clog_str(log, log->processes.at[0].torch) : "";
    if (*torch) gp_buf_printf(b, "torch %s, ", torch);
    if (c->mode) gp_buf_printf(b, "mode %s, ", gp_compile_str(c, c->mode));
}

/* Where the log ends: in which span, the innermost one, of which compile. */
static void say_cut(struct gp_report *r, const struct gp_compile *c)
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

static void say_time(struct gp_report *r, const struct gp_compile *c)
{
    const struct gp_compile_time *t = &c->time;
    struct gp_buf b = {0};
    if (!c->log->processes.n) return;
    put_mode(&b, c);
    gp_compile_put_count(&b, c->log->processes.n, "process, ", "processes, ");
    gp_compile_put_count(&b, c->frames.n, "compile, ", "compiles, ");
    gp_compile_put_count(&b, c->graphs.n, "graph: ", "graphs: ");
    gp_scale_put(&b, GP_UNIT_NS, t->total_ns);
    gp_buf_puts(&b, " of compile time");
    if (c->caches.warmth) gp_buf_printf(&b, ", %s", gp_compile_warmth_name(c->caches.warmth));
    if (t->saved_ns) {
        gp_buf_puts(&b, " (the cache saved ");
        gp_scale_put(&b, GP_UNIT_NS, t->saved_ns);
        gp_buf_puts(&b, ")");
    }
    if (t->stalls) {
        gp_buf_puts(&b, "; ");
        gp_scale_put(&b, GP_UNIT_NS, t->stall_ns);
        gp_buf_puts(&b, " of it inside steady steps");
    }
    gp_report_verdict(r, GP_TONE_PLAIN, "%s.", gp_buf_str(&b));
    gp_buf_release(&b);
}

static void put_factor(struct gp_buf *b, const struct gp_compile_mode *m)
{
    char low[32], high[32];
    gp_buf_printf(b, "%.2fx", m->speedup);
    if (!(m->low > 0 && m->high > 0)) return;
    snprintf(low, sizeof low, "%.2f", m->low);
    snprintf(high, sizeof high, "%.2f", m->high);
    if (strcmp(low, high) != 0) gp_buf_printf(b, " (%s to %s)", low, high);
}

static void say_mode(struct gp_report *r, const struct gp_compile *c, const struct gp_compile_mode *m)
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
    put_factor(&b, m);
    gp_buf_printf(&b, " as fast as %s, a step takes ", gp_compile_str(c, base->name));
    gp_scale_put(&b, GP_UNIT_NS, m->step_ns);
    gp_buf_puts(&b, " instead of ");
    gp_scale_put(&b, GP_UNIT_NS, base->step_ns);
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

void gp_compile_verdict(struct gp_report *r, const struct gp_compile *c)
{
    say_new(r, c);
    say_cut(r, c);
    say_advice(r, c);
    say_time(r, c);
    for (size_t i = 1; i < c->modes.n; i++) say_mode(r, c, &c->modes.at[i]);
    if (!c->log->inputs.n)
        gp_report_verdict(r, GP_TONE_PLAIN,
                          "No log of torch.compile was given: with TORCH_TRACE's folder, compile time, graph "
                          "breaks and recompiles "
                          "are reported, too.");
    if (!c->frames.n && c->log->inputs.n) gp_report_verdict(r, GP_TONE_PLAIN, "Nothing was compiled.");
}
