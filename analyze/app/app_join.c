#include "analyze/app/app_join.h"

#include <stdlib.h>
#include <string.h>
#include "analyze/hta/clocks.h"
#include "analyze/view/repair.h"
#include "formats/base/buf.h"
#include "formats/base/scale.h"
#include "formats/base/str.h"
#include "formats/model/join.h"
#include "formats/base/err.h"

enum { TITLE_NAMES = 3 };

struct reading {
    struct gp_app *f;
    struct gp_app_joined *in;
    struct gp_clocks clocks;
    struct gp_trace *parts;
    uint32_t need;
    size_t merged;
};

static int read_input(struct gp_app *f, size_t i, uint32_t need, struct gp_trace *t, struct gp_err *err)
{
    return f->read ? f->read(f, i, need, t, err) : gp_app_trace(f, i, need, t, err);
}

static int read_part(void *ctx, size_t i, struct gp_err *err)
{
    struct reading *r = ctx;
    if (!read_input(r->f, i, r->need, &r->parts[i], err)) return 0;
    memset(&r->parts[i], 0, sizeof r->parts[i]);
    return -1;
}

/* Every input is judged on its own, as if it were the only one; the trace itself does not change. */
static void merge_part(void *ctx, size_t i)
{
    struct reading *r = ctx;
    struct gp_trace *t = &r->parts[i];
    struct gp_input_quality q;
    struct gp_issue as_read[GP_ISSUE_COUNT];
    struct gp_view v;
    gp_input_quality_read(&q, &r->in->strings, t);
    memcpy(as_read, t->issues, sizeof as_read);
    gp_repair(t, GP_REPAIR_NONE);
    gp_view_init(&v, t, r->f->classes);
    gp_input_quality_judge(&q, &r->in->strings, t, &v);
    memcpy(t->issues, as_read, sizeof as_read);
    gp_clocks_add(&r->clocks, &v);
    gp_view_release(&v);
    GP_VEC_PUSH(&r->in->inputs, q);
    r->merged = i + 1;
}

static void drop_part(void *ctx, size_t i)
{
    struct reading *r = ctx;
    gp_trace_release(&r->parts[i]);
}

/* ---- reports ---- */

static void put_shift(struct gp_buf *b, const struct gp_clock_shift *s)
{
    if (s->source == GP_CLOCK_AS_RECORDED) gp_buf_puts(b, "times as recorded");
    else
        gp_buf_printf(b, "moved %s by %s", s->later_ns < 0 ? "back" : "on",
                      GP_NS(s->later_ns < 0 ? -(s->later_ns + 1) + 1 : s->later_ns));
    if (s->source == GP_CLOCK_COLLECTIVES)
        gp_buf_printf(b, ", aligned by %u collectives, which agree to within %s", s->pairs,
                      GP_NS(s->error_ns));
    if (s->source == GP_CLOCK_TIME_OF_DAY) gp_buf_puts(b, ", aligned by the time of day");
    if (s->source == GP_CLOCK_FIRST_EVENT) gp_buf_puts(b, ", aligned by the first events");
}

static void report_shifts(const struct reading *r)
{
    const struct gp_common_opts *o = &r->f->opts->common;
    size_t apart = 0;
    for (size_t i = 0; i < r->clocks.shifts.n; i++) {
        struct gp_buf b = {0};
        put_shift(&b, &r->clocks.shifts.at[i]);
        apart += r->clocks.shifts.at[i].source == GP_CLOCK_FIRST_EVENT;
        if (o->verbose) gp_cli_warn(r->f->tool, "%s: clock: %s", r->f->paths[i], gp_buf_str(&b));
        gp_buf_release(&b);
    }
    if (apart && !o->quiet)
        gp_cli_warn(r->f->tool,
                    "%zu of %zu inputs were not recorded at the same time as %s: their first events are "
                    "aligned instead",
                    apart, r->f->n, r->f->paths[0]);
}

/* ---- all ---- */

int gp_app_join(struct gp_app *f, uint32_t need, struct gp_trace *t, struct gp_app_joined *in,
                struct gp_err *err)
{
    struct reading r = {.f = f, .in = in, .need = need};
    struct gp_read_all all = {.read = read_part, .merge = merge_part, .drop = drop_part, .ctx = &r};
    if (f->n == 1) return read_input(f, 0, need, t, err);
    r.parts = gp_zalloc(f->n * sizeof *r.parts);
    int failed = gp_app_read_all(f, &all, err);
    if (failed) {
        for (size_t i = 0; i < r.merged; i++) gp_trace_release(&r.parts[i]);
    } else {
        int64_t *later_ns = gp_alloc(f->n * sizeof *later_ns);
        gp_clocks_align(&r.clocks);
        report_shifts(&r);
        for (size_t i = 0; i < f->n; i++) later_ns[i] = r.clocks.shifts.at[i].later_ns;
        gp_trace_join(t, r.parts, f->n, later_ns);
        free(later_ns);
    }
    gp_clocks_release(&r.clocks);
    free(r.parts);
    return failed;
}

void gp_app_joined_release(struct gp_app_joined *in)
{
    GP_VEC_FREE(&in->inputs);
    gp_strings_release(&in->strings);
    memset(in, 0, sizeof *in);
}

/* The last part of PATH: "logs" of "runs/logs/". */
static void put_base_name(struct gp_buf *b, const char *path)
{
    const char *end = path + strlen(path), *name;
    if (gp_starts(path, "/dev/fd/") || gp_starts(path, "/proc/self/fd/") || !strcmp(path, "-")) {
        gp_buf_puts(b, *path == '-' ? "standard input" : "a pipe");
        return;
    }
    while (end > path + 1 && end[-1] == '/') end--;
    for (name = end; name > path && name[-1] != '/'; name--) continue;
    gp_buf_put(b, name, (size_t)(end - name));
}

void gp_app_put_title(const struct gp_app *f, struct gp_buf *b)
{
    size_t shown = f->n > TITLE_NAMES + 1 ? TITLE_NAMES : f->n;
    for (size_t i = 0; i < shown; i++) {
        if (i) gp_buf_puts(b, ", ");
        put_base_name(b, f->paths[i]);
    }
    if (shown < f->n) gp_buf_printf(b, " and %zu more", f->n - shown);
}

/* ---- hardware counters of another recording ---- */

int gp_app_counters(struct gp_app *f, const char *path, struct gp_trace *t, struct gp_err *err)
{
    const char *const *paths = f->paths;
    const bool *commands = f->commands;
    size_t n = f->n;
    f->commands = NULL;
    gp_app_inputs(f, &path, 1);
    int failed = gp_app_trace(f, 0, GP_NEED(GP_METRIC), t, err);
    gp_app_inputs(f, paths, n);
    f->commands = commands;
    if (!failed && !t->events[GP_METRIC].n) {
        failed = gp_fail(err, GP_E_FORMAT, -1,
                         "%s: no hardware counters: record it with gpuprof-collect --metrics roofline, "
                         "or why for stalls",
                         path);
        gp_trace_release(t);
    }
    if (failed) memset(t, 0, sizeof *t);
    return failed;
}
