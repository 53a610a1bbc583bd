/* trace2timeline -- any GPU trace in; a timeline to look at out. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "analyze/hta.h"
#include "analyze/lanes.h"
#include "formats/base/cli.h"
#include "formats/base/output.h"
#include "formats/reader.h"
#include "render/timeline_html.h"
#include "render/timeline_pack.h"

enum { MAX_WORKERS = 8, MAX_THREADS = 64 };

struct opts {
    struct gp_common_opts common;
    uint64_t max_size;
    bool no_args;
};

static const struct gp_option options[] = {
    {0, "max-size", "SIZE",
     "largest page, such as 64M; beyond it an overview and the parts of --detail (default: 64M)", GP_OPT_UINT,
     offsetof(struct opts, max_size)},
    {0, "no-args", NULL, "leave out what was recorded of each event beside its name and times", GP_OPT_FLAG,
     offsetof(struct opts, no_args)},
    GP_OPTIONS_COMMON("html", "html"),
    {0},
};

struct job {
    const struct gp_tool *tool;
    const struct opts *opts;
    int threads;
    const char *path;
    struct gp_trace t;
    struct gp_view v;
    struct gp_hta h;
    struct gp_lanes l;
};

static int read_input(struct job *j, struct gp_err *err)
{
    struct gp_progress progress;
    gp_cli_progress(j->tool, &j->opts->common, &progress);
    struct gp_read_opts o = {.need = GP_LANES_NEED | (j->opts->no_args ? 0 : GP_NEED_EXTRA),
                             .threads = j->threads,
                             .strict = j->opts->common.strict,
                             .progress = gp_progress_bytes,
                             .progress_ctx = &progress};
    int failed = gp_trace_read(&j->t, j->path, &o, err);
    gp_progress_end(&progress);
    return failed;
}

static int write_html(struct job *j, struct gp_err *err)
{
    struct gp_timeline tl;
    struct gp_timeline_opts o = {
        .input = j->path, .max_bytes = j->opts->max_size, .args = !j->opts->no_args, .threads = j->threads};
    struct gp_output *out = gp_output_open(j->opts->common.output, err);
    if (!out) return -1;
    gp_timeline_pack(&tl, &j->l, &o);
    gp_timeline_html_write(&tl, j->path, out);
    gp_timeline_release(&tl);
    return gp_output_close(out, true, err);
}

static int draw(struct job *j, struct gp_err *err)
{
    if (read_input(j, err)) return -1;
    gp_hta_init(&j->h, NULL);
    int failed = gp_hta_add_trace(&j->h, &j->t, err);
    if (!failed) {
        gp_hta_finish(&j->h);
        gp_view_init(&j->v, &j->t, NULL);
        gp_lanes_build(&j->l, &j->v, &j->h, NULL);
        failed = write_html(j, err);
        gp_lanes_release(&j->l);
        gp_view_release(&j->v);
    }
    gp_hta_release(&j->h);
    gp_trace_release(&j->t);
    return failed;
}

int main(int argc, char **argv)
{
    struct gp_tool tool = {
        .name = "trace2timeline",
        .summary = "draw a GPU trace as a timeline",
        .operands = "[FILE]",
        .example = "gpuprof-collect ./app | trace2timeline > timeline.html\n",
        .options = options,
        .max_operands = 1,
        .stdin_default = true,
    };
    struct opts o = {.common.format = "html", .max_size = (uint64_t)64 << 20};
    if (gp_cli_parse(&tool, argc, argv, &o)) return tool.status;
    struct job j = {.tool = &tool, .opts = &o, .path = tool.nargs ? tool.args[0] : "-"};
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    j.threads = o.common.threads     ? (int)(o.common.threads < MAX_THREADS ? o.common.threads : MAX_THREADS)
                : cpus < 1           ? 1
                : cpus < MAX_WORKERS ? (int)cpus
                                     : MAX_WORKERS;
    struct gp_err err = {0};
    if (!draw(&j, &err)) return GP_EXIT_OK;
    gp_cli_error(&tool, &err);
    return GP_EXIT_ERROR;
}
