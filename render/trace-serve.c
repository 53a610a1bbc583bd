/* trace-serve -- a folder of traces in; reports, timelines, flame graphs and comparisons out, over HTTP. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "formats/base/buf.h"
#include "formats/base/cli.h"
#include "formats/base/err.h"
#include "render/serve/serve.h"

struct opts {
    struct gp_serve_opts serve;
    struct gp_opt_list hosts;
    bool open, quiet;
    char *page; /* that leads the browser to us */
};

#define AT(member) offsetof(struct opts, serve.member)

static const struct gp_option options[] = {
    {0, "listen", "ADDRESS", "listen on this address (default: 127.0.0.1)", GP_OPT_STRING, AT(listen)},
    {0, "port", "N", "listen on this port (default: any that is free)", GP_OPT_UINT, AT(port)},
    {0, "socket", "PATH", "listen on a Unix socket instead, which only you can open", GP_OPT_STRING,
     AT(socket)},
    {0, "host", "NAME", "also accept requests to this host name; may be repeated", GP_OPT_LIST,
     offsetof(struct opts, hosts)},
    {0, "open", NULL, "open the first page in a browser", GP_OPT_FLAG, offsetof(struct opts, open)},
    {0, "perfetto", "URL", "address of the Perfetto UI in which pages may open traces", GP_OPT_STRING,
     AT(perfetto)},
    {0, "upload", "DIR", "accept uploads from browsers, store them in DIR and serve them", GP_OPT_STRING,
     AT(upload)},
    {0, "live", "SOCKET", "show the recording of gpuprof-collect --serve SOCKET while it runs", GP_OPT_STRING,
     AT(live)},
    {0, "upload-size", "SIZE", "refuse larger uploads (default: 2G)", GP_OPT_UINT, AT(upload_bytes)},
    {0, "upload-files", "N", "refuse uploads once DIR holds N files (default: 1000)", GP_OPT_UINT,
     AT(upload_files)},
    {0, "jobs", "N", "run at most N tools at once (default: 2)", GP_OPT_UINT, AT(jobs)},
    {0, "time", "TIME", "stop a tool that runs longer (default: 60s)", GP_OPT_SECONDS, AT(time_ns)},
    {0, "memory-limit", "SIZE", "memory limit of each tool, 0 for none (default: 8G)", GP_OPT_UINT,
     AT(memory_bytes)},
    {0, "keep", "SIZE", "cache at most this much output (default: 512M)", GP_OPT_UINT, AT(keep_bytes)},
    {0, "connections", "N", "accept at most N connections at once (default: 96)", GP_OPT_UINT,
     AT(connections)},
    {0, "request-time", "TIME", "close a connection whose request takes longer (default: 10s)",
     GP_OPT_SECONDS, AT(request_ns)},
    {0, "idle", "TIME", "stop after TIME without a request (default: never)", GP_OPT_SECONDS, AT(idle_ns)},
    {'q', "quiet", NULL, "print errors only", GP_OPT_FLAG, offsetof(struct opts, quiet)},
    {0},
};

static const struct gp_renamed renamed[] = {{"memory", "memory-limit"}, {0}};

/* The folder of this program: the tools are beside it. */
static int own_folder(char *to, size_t n, struct gp_err *err)
{
    ssize_t got = readlink("/proc/self/exe", to, n - 1);
    if (got <= 0) return gp_fail(err, GP_E_IO, -1, "/proc/self/exe: %s", strerror(errno));
    to[got] = 0;
    *strrchr(to, '/') = 0;
    return 0;
}

/* The part of our environment that the tools need: ceilings measured on this machine are below the first
 * two. */
static void take_environment(struct gp_buf *texts, const char **env, size_t n)
{
    static const char *const names[] = {"HOME",         "XDG_CACHE_HOME", "LD_LIBRARY_PATH", "ASAN_OPTIONS",
                                        "LSAN_OPTIONS", "TSAN_OPTIONS",   "UBSAN_OPTIONS"};
    gp_buf_puts(texts, "LC_ALL=C");
    gp_buf_putc(texts, 0);
    gp_buf_puts(texts, "PATH=/usr/bin:/bin");
    gp_buf_putc(texts, 0);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = getenv(names[i]);
        if (!value) continue;
        gp_buf_printf(texts, "%s=%s", names[i], value);
        gp_buf_putc(texts, 0);
    }
    size_t to = 0;
    for (size_t at = 0; at < texts->n && to + 1 < n; at += strlen(texts->data + at) + 1)
        env[to++] = texts->data + at;
    env[to] = NULL;
}

static const char *scratch_folder(void)
{
    const char *run = getenv("XDG_RUNTIME_DIR"), *tmp = getenv("TMPDIR");
    if (run && *run && !access(run, W_OK)) return run;
    return tmp && *tmp ? tmp : "/tmp";
}

static void say(const char *message) { fprintf(stderr, "trace-serve: %s\n", message); }

static void on_warn(void *ctx, const char *message)
{
    (void)ctx;
    say(message);
}

/* The link is the only output. */
static int on_ready(void *ctx, const char *link, struct gp_err *err)
{
    struct opts *o = ctx;
    if (printf("%s\n", link) < 0 || fflush(stdout))
        return gp_fail(err, GP_E_IO, -1, "standard output: %s", strerror(errno));
    if (!o->open || o->serve.socket) return 0;
    struct gp_err why = {0};
    o->page = gp_browser_open(o->serve.scratch, link,
                              "trace-serve: --open: xdg-open found no browser: "
                              "open the link that was printed\n",
                              &why);
    if (!o->page) say(why.msg);
    return 0;
}

int main(int argc, char **argv)
{
    struct gp_tool tool = {.name = "trace-serve",
                           .summary = "serve a folder of traces to browsers: reports, timelines, comparisons",
                           .operands = "DIR|FILE...",
                           .example = "trace-serve --open runs/\n"
                                      "trace-serve --socket $XDG_RUNTIME_DIR/gpuprof.sock runs/\n",
                           .options = options,
                           .renamed = renamed,
                           .min_operands = 1,
                           .max_operands = -1};
    struct opts o = {.serve = {GP_SERVE_DEFAULTS}};
    struct gp_err err = {0};
    struct gp_buf texts = {0};
    const char *env[16];
    char folder[4096];
    if (gp_cli_parse(&tool, argc, argv, &o)) return tool.status;
    take_environment(&texts, env, sizeof env / sizeof *env);
    o.serve.paths = tool.args;
    o.serve.npaths = (size_t)tool.nargs;
    o.serve.hosts = o.hosts.at;
    o.serve.nhosts = o.hosts.n;
    o.serve.tools = folder;
    o.serve.scratch = scratch_folder();
    o.serve.env = env;
    o.serve.ready = on_ready;
    o.serve.warn = on_warn;
    o.serve.ctx = &o;
    int failed = own_folder(folder, sizeof folder, &err) || gp_serve_run(&o.serve, &err);
    if (o.page) unlink(o.page);
    free(o.page);
    GP_VEC_FREE(&o.hosts);
    gp_buf_release(&texts);
    return gp_cli_end(&tool, failed, &err, GP_EXIT_OK);
}
