/* trace-mcp -- folders of traces in; answers to a client of the Model Context Protocol out. */
#include "analyze/try/try.h"
#include "formats/base/answer.h"
#include "formats/base/buf.h"
#include "formats/base/cli.h"
#include "formats/base/err.h"
#include "formats/base/input.h"
#include "render/catalog/catalog.h"
#include "render/hta/hta_formats.h"
#include "render/mcp/mcp_serve.h"
#include "render/mcp/tools.h"
#include "render/try/try_formats.h"

struct opts {
    uint64_t jobs, memory_bytes;
    int64_t time_ns;
    bool list;
};

static const struct gp_option options[] = {
    {0, "list", NULL, "list the traces in the folders, and exit", GP_OPT_FLAG, offsetof(struct opts, list)},
    {0, "timeout", "TIME", "stop an answer that takes longer (default: 60s)", GP_OPT_SECONDS,
     offsetof(struct opts, time_ns)},
    {0, "memory-limit", "SIZE", "memory limit of each answer, 0 for none (default: 8G)", GP_OPT_UINT,
     offsetof(struct opts, memory_bytes)},
    {0, "jobs", "N", "work on at most N answers at once (default: 2)", GP_OPT_UINT,
     offsetof(struct opts, jobs)},
    {0},
};

/* ---- tools of the protocol ---- */

#define TRACES(what)                                                                                         \
    {                                                                                                        \
        "traces", "paths of traces, as the tool traces lists them" what, GP_MCP_PATHS, .required = true      \
    }

static int run(int argc, char **argv);
static int show_trials(int argc, char **argv);

static const struct gp_mcp_tool tools[] = {
    {"traces",
     "list the traces, and saved answers of gpuprof-try, in the folders: path and format, newest first",
     "trace-mcp --list", run, .folders = true, .tokens = 2000},
    {"summary",
     "where the time of one trace, or of the ranks of one job, went: step time, why GPUs were idle, kernels, "
     "launches",
     "trace-hta", gp_main_trace_hta, "ask for a table, or for fewer rows by top", .tokens = 2000,
     .args = {TRACES("; several are ranks of one job"),
              {"table", "only this table, exact and with full names, as CSV", GP_MCP_TEXT, false,
               "--format=csv --table=", "--width=120", gp_hta_table_id},
              {"top", "rows of each table, 0 for all", GP_MCP_COUNT, false, "--top="},
              {"whole", "cover the whole trace, not only its steps", GP_MCP_FLAG, false, "--whole"}}},
    {"advice", "what to change in the program, where, and the time per step that it would save, with a range",
     "trace-suggest --ceilings=none --width=120", gp_main_trace_suggest, "ask for one rule", .tokens = 2000,
     .args = {TRACES("; several are ranks of one job"),
              {"rule", "only suggestions of this rule", GP_MCP_TEXT, false, "--rule="},
              {"min_saving", "omit suggestions that save less per step, such as 50us", GP_MCP_TEXT, false,
               "--min-saving="}}},
    {"diff",
     "what changed between two traces, or groups of traces of equal runs, and whether it is real; exit "
     "status 1: it got slower, 3: they cannot be compared",
     "trace-diff --width=120", gp_main_trace_diff, "fewer rows by top", .tokens = 2000,
     .args = {{"base", "paths of the traces before", GP_MCP_PATHS, true, "--base"},
              {"current", "paths of the traces after", GP_MCP_PATHS, true, "--current"},
              {"by", "what to compare: kernel, op, range or line", GP_MCP_TEXT, false, "--by="},
              {"top", "rows of each table, 0 for all", GP_MCP_COUNT, false, "--top="}}},
#ifdef GP_HAVE_QUERY
    {"query",
     "rows of a statement in SQLite's SQL over one trace, or the ranks of one job, as CSV; tables lists what "
     "it can ask. under(stack, 'regex') selects by any frame, line(stack) is the line of the program",
     "trace-query --format=csv", gp_main_trace_query, "sums, or LIMIT", .tokens = 2000,
     .args = {TRACES("; several are ranks of one job"), {"sql", "one SELECT statement", GP_MCP_TEXT, true}}},
    {"tables", "the tables and views that query can ask, or the columns of one", "trace-query --format=csv",
     gp_main_trace_query, "name one table", .tokens = 2000,
     .args = {{"name", "a table or view", GP_MCP_TEXT, false, "--explain=", "--tables"}}},
#endif
    {"picture", "a timeline of a range as SVG; without range or steps, of all steps",
     "trace2timeline --format=svg", gp_main_trace2timeline, "a shorter range", .picture = true,
     .tokens = 20000,
     .args = {TRACES("; several are ranks of one job"),
              {"range", "time after the first event, such as 12ms-14ms", GP_MCP_TEXT, false, "--range="},
              {"steps", "steps by their numbers, such as 3 or 3-5", GP_MCP_TEXT, false, "--steps="},
              {"width", "pixels, from 480 on (default: 1200)", GP_MCP_COUNT, false, "--width="}}},
    {"trials",
     "what changes saved when gpuprof-try switched them on and off in the running program, with 95% "
     "intervals",
     "gpuprof-try --show", show_trials, .tokens = 2000,
     .args = {{"answer", "path of a file that gpuprof-try -f json wrote", GP_MCP_PATHS, true}}},
    {0},
};

/* ---- folders ---- */

static int print_list(struct gp_catalog *c, struct gp_err *err)
{
    struct gp_buf b = {0};
    struct gp_catalog_list *l = gp_catalog_list(c, true);
    for (size_t i = 0; i < l->n; i++) gp_buf_printf(&b, "%s\t%s\n", l->at[i].given, l->at[i].format);
    if (l->left_out) gp_buf_printf(&b, "and %llu more\n", (unsigned long long)l->left_out);
    gp_catalog_drop(l);
    return gp_answer_file(NULL, &b, err);
}

static int serve(const struct gp_tool *tool, const struct opts *o, struct gp_err *err)
{
    struct gp_catalog *c = gp_catalog_new(GP_CATALOG_TRACE | GP_CATALOG_TRIALS);
    int failed = 0;
    for (int i = 0; i < tool->nargs && !failed; i++) failed = gp_catalog_add(c, tool->args[i], err);
    struct gp_mcp_serve_opts so = {.mcp = {tools, tool->args, (size_t)tool->nargs},
                                   .opener = gp_catalog_open_given,
                                   .ctx = c,
                                   .jobs = o->jobs ? o->jobs : 1,
                                   .memory_bytes = o->memory_bytes,
                                   .time_ns = o->time_ns};
    if (!failed) failed = o->list ? print_list(c, err) : gp_mcp_serve(&so, err);
    gp_catalog_free(c);
    return failed;
}

/* "gpuprof-try --show -- FILE", without that program, which starts others. */
static int show_trials(int argc, char **argv)
{
    enum { NOT_MEASURED = 3, MOST = 1 << 30 };
    static const struct gp_tool tool = {.name = "gpuprof-try"};
    struct gp_try t = {0};
    struct gp_buf text = {0};
    struct gp_err err = {0};
    const char *path = argv[argc - 1];
    int failed = gp_input_all(path, NULL, MOST, &text, &err);
    if (!failed && gp_try_load(&t, text.n ? text.data : "", text.n, &err))
        failed = gp_err_context(&err, "%s", path);
    struct gp_try_answer a = {.t = &t, .command = path, .width = GP_COLUMNS_PLAIN};
    if (!failed) failed = gp_answer_write(&gp_try_formats[0], &a, NULL, &err);
    int status = gp_cli_end(&tool, failed, &err, gp_try_trusted(&t) ? GP_EXIT_OK : NOT_MEASURED);
    gp_try_release(&t);
    gp_buf_release(&text);
    return status;
}

static int run(int argc, char **argv)
{
    struct gp_tool tool = {
        .name = "trace-mcp",
        .summary = "answer questions of agents about traces, over the Model Context Protocol",
        .operands = "DIR...",
        .example = "trace-mcp runs/\n"
                   "claude mcp add gpuprof -- trace-mcp /data/runs\n",
        .options = options,
        .min_operands = 1,
        .max_operands = -1,
    };
    struct opts o = {.jobs = 2, .memory_bytes = (uint64_t)8 << 30, .time_ns = INT64_C(60000000000)};
    struct gp_err err = {0};
    if (gp_cli_parse(&tool, argc, argv, &o)) return tool.status;
    return gp_cli_end(&tool, serve(&tool, &o, &err), &err, GP_EXIT_OK);
}

int main(int argc, char **argv) { return run(argc, argv); }
