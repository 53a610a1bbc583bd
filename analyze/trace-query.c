/* trace-query -- traces and a statement in SQL in; its answer out. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "analyze/app/app.h"
#include "analyze/app/app_join.h"
#include "analyze/query/query.h"
#include "analyze/query/query_sql.h"
#include "analyze/view/repair.h"
#include "formats/base/buf.h"
#include "formats/base/clock.h"
#include "formats/base/err.h"
#include "formats/base/input.h"
#include "formats/base/output.h"
#include "render/query/query_formats.h"

struct opts {
    struct gp_app_opts app; /* first */
    const char *explain;
    int64_t timeout_ns;
    bool tables, interactive;
};

static const struct gp_option options[] = {
    {'i', "interactive", NULL, "read statements from standard input; each ends with a semicolon", GP_OPT_FLAG,
     offsetof(struct opts, interactive)},
    {0, "tables", NULL, "list the tables and views, and exit", GP_OPT_FLAG, offsetof(struct opts, tables)},
    {0, "explain", "NAME", "list the columns of a table or the statement of a view, and exit", GP_OPT_STRING,
     offsetof(struct opts, explain)},
    {0, "timeout", "TIME", "stop a statement after this long (default: never)", GP_OPT_SECONDS,
     offsetof(struct opts, timeout_ns)},
    GP_OPTIONS_ANALYSIS,
    GP_OPTIONS_COMMON,
    {0},
};

struct job {
    const struct gp_tool *tool;
    const struct opts *opts;
    const struct gp_answer_format *format;
    struct gp_app app;
    struct gp_sql *sql;
    int64_t deadline_ns;
    struct gp_trace trace;
    struct gp_query query;
    struct gp_app_joined in;
    bool read;
};

static bool expired(void *ctx)
{
    const struct job *j = ctx;
    return j->opts->timeout_ns && gp_now_ns() > j->deadline_ns;
}

/* To TO, or, where that is NULL, to --output. */
static int answer(struct job *j, const char *sql, struct gp_output *to, struct gp_err *err)
{
    struct gp_query_answer a = {.sql = j->sql,
                                .text = sql,
                                .inputs = j->in.inputs.at,
                                .n_inputs = j->in.inputs.n,
                                .strings = &j->in.strings};
    j->deadline_ns = gp_now_ns() + j->opts->timeout_ns;
    if (!to) return gp_query_answer_write(j->format, &a, j->opts->app.common.output, err);
    int failed = gp_query_answer_put(j->format, &a, to, err);
    gp_output_flush(to);
    return failed;
}

/* ---- without a trace ---- */

static int describe(struct job *j, struct gp_err *err)
{
    struct gp_buf sql = {0};
    const char *name = j->opts->explain;
    const struct gp_sql_view *v = gp_sql_views;
    while (name && v->name && strcmp(v->name, name) != 0) v++;
    if (!name) gp_buf_puts(&sql, "SELECT name, kind, about FROM tables");
    else if (gp_query_table(name))
        gp_buf_printf(&sql, "SELECT name, type, about FROM columns WHERE table_name = '%s'", name);
    else if (v->name)
        gp_buf_printf(&sql, "SELECT sql AS statement FROM sqlite_master WHERE name = '%s'", v->name);
    else return gp_fail(err, GP_E_USAGE, -1, "--explain: no table or view \"%s\"; --tables lists them", name);
    int failed =
        gp_sql_prepare(j->sql, gp_buf_str(&sql), NULL, err) || answer(j, gp_buf_str(&sql), NULL, err);
    gp_buf_release(&sql);
    return failed;
}

/* ---- reading ---- */

/* What is known of a single input, as joining finds it for several. */
static void judge(struct job *j)
{
    struct gp_input_quality q;
    struct gp_view v;
    gp_input_quality_read(&q, &j->in.strings, &j->trace);
    gp_repair(&j->trace, GP_REPAIR_NONE);
    gp_input_quality_damage(&q, &j->in.strings, &j->trace);
    if (!strcmp(j->format->name, "json")) {
        gp_view_init(&v, &j->trace, j->app.classes);
        gp_input_quality_judge(&q, &j->in.strings, &j->trace, &v);
        gp_view_release(&v);
    }
    GP_VEC_PUSH(&j->in.inputs, q);
}

/* No answer of ours shows what is wrong with an input, at a terminal neither. */
static void warn_line(void *tool, const char *line, bool usable)
{
    (void)usable;
    gp_cli_warn(tool, "%s", line);
}

static int read_traces(struct job *j, uint32_t need, uint32_t wants, struct gp_err *err)
{
    struct gp_tool tool = *j->tool;
    if (!strcmp(j->format->name, "json")) need |= GP_VIEW_NEED;
    if (gp_app_join(&j->app, need, &j->trace, &j->in, err)) return -1;
    j->read = true;
    if (j->app.n == 1) judge(j);
    if (!j->opts->app.common.quiet)
        gp_quality_lines(&j->in.strings, j->in.inputs.at, j->in.inputs.n, true, warn_line, &tool);
    struct gp_query_opts o = {.classes = j->app.classes,
                              .step_marker = j->opts->app.step_marker,
                              .inputs = j->in.inputs.at,
                              .n_inputs = j->in.inputs.n,
                              .strings = &j->in.strings};
    gp_app_phase(&j->app, "analysing");
    int failed = gp_query_make(&j->query, &j->trace, &o, wants, err);
    gp_app_phase(&j->app, NULL);
    if (failed) return failed;
    if (wants & GP_QUERY_HTA) gp_app_warn_marker(&j->app, j->query.hta.steps.n);
    gp_sql_bind(j->sql, &j->query);
    return 0;
}

/* ---- statements ---- */

static int run_one(struct job *j, const char *sql, struct gp_err *err)
{
    if (gp_sql_prepare(j->sql, sql, NULL, err)) {
        struct gp_input *file = gp_input_open(sql, 1, NULL);
        gp_input_close(file);
        return file ? gp_fail(err, GP_E_USAGE, -1, "%s is a file: the last operand is the SQL", sql) : -1;
    }
    if (read_traces(j, gp_sql_need(j->sql) | GP_NEED(GP_GPU), gp_sql_wants(j->sql), err)) return -1;
    return answer(j, sql, NULL, err);
}

/* Every statement in TEXT, whose last one is complete. */
static void run_all(struct job *j, const char *text, struct gp_output *to)
{
    const char *rest = text;
    while (rest[strspn(rest, "; \t\r\n")] && !gp_output_failed(to)) {
        struct gp_err err = {0};
        const char *sql = rest;
        if (!gp_sql_prepare(j->sql, sql, &rest, &err) && !answer(j, sql, to, &err)) continue;
        gp_cli_error(j->tool, &err);
        return;
    }
}

static void read_statements(struct job *j, struct gp_output *to)
{
    struct gp_buf text = {0};
    char *line = NULL;
    size_t cap = 0;
    bool person = isatty(STDIN_FILENO);
    while (!gp_output_failed(to)) {
        if (person) fputs(text.n ? "  ...> " : "trace> ", stderr);
        ssize_t n = getline(&line, &cap, stdin);
        if (n < 0) break;
        gp_buf_put(&text, line, (size_t)n);
        const char *end = line + n;
        while (end > line && strchr(" \t\r\n", end[-1])) end--;
        if (end == line || end[-1] != ';') continue;
        run_all(j, gp_buf_str(&text), to);
        text.n = 0;
    }
    run_all(j, gp_buf_str(&text), to);
    free(line);
    gp_buf_release(&text);
}

static int prompt(struct job *j, struct gp_err *err)
{
    if (read_traces(j, GP_NEED_ALL & ~GP_NEED_RAW_SAMPLES, GP_QUERY_ALL, err)) return -1;
    struct gp_output *out = gp_output_open(NULL, err);
    if (!out) return -1;
    read_statements(j, out);
    return gp_output_close(out, true, err);
}

static int run(struct job *j, struct gp_err *err)
{
    const struct opts *o = j->opts;
    const struct gp_tool *tool = j->tool;
    int files = tool->nargs - !o->interactive;
    struct gp_sql_limits limits = {.expired = expired, .ctx = j};
    j->format = gp_answer_format(gp_query_formats, o->app.common.format);
    if (!(j->sql = gp_sql_open(&limits, err))) return -1;
    if (o->tables || o->explain) return describe(j, err);
    if (files < 0) return gp_fail(err, GP_E_USAGE, -1, "no statement: the last operand is the SQL");
    if (!files && (o->interactive || isatty(STDIN_FILENO)))
        return gp_fail(err, GP_E_USAGE, -1, "no trace: name a file%s",
                       o->interactive ? "" : " before the statement");
    if (o->interactive && o->app.common.output)
        return gp_fail(err, GP_E_USAGE, -1,
                       "--interactive prints to standard output; --output does not apply");
    gp_app_inputs(&j->app, tool->args, (size_t)files);
    if (!files) {
        static const char *const standard_input = "-";
        gp_app_inputs(&j->app, &standard_input, 1);
    }
    return o->interactive ? prompt(j, err) : run_one(j, tool->args[files], err);
}

int main(int argc, char **argv)
{
    struct gp_tool tool = {
        .name = "trace-query",
        .summary = "ask GPU traces in SQL",
        .operands = "[TRACE...] SQL",
        .example = "trace-query app.trace \"SELECT label, sum(dur_ns) FROM kernels GROUP BY 1\"\n"
                   "trace-query app.trace \"SELECT step, sum(dur_ns) FROM kernels\n"
                   "    WHERE under(stack, 'layer_3') GROUP BY 1\"\n"
                   "trace-query --explain idle\n",
        .options = options,
        .formats = gp_query_formats,
        .max_operands = -1,
    };
    struct opts o = {.app = {GP_APP_DEFAULTS}};
    struct job j = {.tool = &tool, .opts = &o};
    struct gp_err err = {0};
    if (gp_cli_parse(&tool, argc, argv, &o)) return tool.status;
    int failed = gp_app_open(&j.app, &tool, &o.app, &err) || run(&j, &err);
    gp_sql_close(j.sql);
    if (j.read) gp_query_release(&j.query);
    if (j.read) gp_trace_release(&j.trace);
    gp_app_joined_release(&j.in);
    gp_app_close(&j.app);
    return gp_cli_end(&tool, failed, &err, GP_EXIT_OK);
}
