/* trace-serve -- a folder of traces in; reports, timelines, flame graphs and comparisons out, over HTTP. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "formats/base/cli.h"
#include "formats/base/mem.h"
#include "render/serve/listen.h"
#include "render/serve/server.h"

struct opts {
    const char *listen, *socket, *perfetto;
    struct gp_opt_list hosts;
    uint64_t port, jobs, memory, keep, connections;
    int64_t time_ns, idle_ns;
    bool open, quiet;
};

static const struct gp_option options[] = {
    {0, "listen", "ADDRESS", "listen on this address (default: 127.0.0.1)", GP_OPT_STRING,
     offsetof(struct opts, listen)},
    {0, "port", "N", "listen on this port (default: any that is free)", GP_OPT_UINT,
     offsetof(struct opts, port)},
    {0, "socket", "PATH", "listen on a Unix socket that only you can open, instead", GP_OPT_STRING,
     offsetof(struct opts, socket)},
    {0, "host", "NAME", "another name by which browsers reach this server; may be repeated", GP_OPT_LIST,
     offsetof(struct opts, hosts)},
    {0, "open", NULL, "open the first page in a browser", GP_OPT_FLAG, offsetof(struct opts, open)},
    {0, "perfetto", "URL", "address of a Perfetto to which pages may hand traces", GP_OPT_STRING,
     offsetof(struct opts, perfetto)},
    {0, "jobs", "N", "run at most N tools at once (default: 2)", GP_OPT_UINT, offsetof(struct opts, jobs)},
    {0, "time", "TIME", "end a tool that takes longer (default: 60s)", GP_OPT_SECONDS,
     offsetof(struct opts, time_ns)},
    {0, "memory", "SIZE", "memory of a tool, 0 for no limit (default: 8G)", GP_OPT_UINT,
     offsetof(struct opts, memory)},
    {0, "keep", "SIZE", "keep answers of this size in all (default: 512M)", GP_OPT_UINT,
     offsetof(struct opts, keep)},
    {0, "connections", "N", "at most N connections at once (default: 96)", GP_OPT_UINT,
     offsetof(struct opts, connections)},
    {0, "idle", "TIME", "stop after TIME without a request (default: never)", GP_OPT_SECONDS,
     offsetof(struct opts, idle_ns)},
    {'q', "quiet", NULL, "print errors only", GP_OPT_FLAG, offsetof(struct opts, quiet)},
    {0},
};

/* The folder of this program: the tools are beside it. */
static char *own_folder(struct gp_err *err)
{
    char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    if (n <= 0) {
        gp_fail(err, GP_E_IO, -1, "/proc/self/exe: %s", strerror(errno));
        return NULL;
    }
    path[n] = 0;
    *strrchr(path, '/') = 0;
    return strcpy(gp_alloc((size_t)n + 1), path);
}

static int open_socket(const struct opts *o, struct gp_guard *g, struct gp_err *err)
{
    if (o->socket) return gp_listen_unix(o->socket, err);
    if (o->port > UINT16_MAX)
        return gp_fail(err, GP_E_USAGE, -1, "--port: not a port: %llu", (unsigned long long)o->port);
    g->wants_token = true;
    return gp_listen_tcp(o->listen ? o->listen : "127.0.0.1", (uint16_t)o->port, &g->port, err);
}

/* In a child of its own, which is not waited for. */
static void open_browser(const char *link)
{
    pid_t pid = fork();
    if (pid) return;
    int null = open("/dev/null", O_RDWR);
    if (null >= 0) {
        dup2(null, 1);
        dup2(null, 2);
    }
    execlp("xdg-open", "xdg-open", link, (char *)NULL);
    _exit(127);
}

/* What to open, on standard output: a link with the token behind the #, which browsers do not send. */
static int announce(const struct opts *o, const struct gp_guard *g, struct gp_err *err)
{
    struct gp_buf b = {0};
    const char *host = o->listen && strcmp(o->listen, "localhost") ? o->listen : "127.0.0.1";
    if (o->socket) gp_buf_printf(&b, "unix:%s", o->socket);
    else
        gp_buf_printf(&b, strchr(host, ':') ? "http://[%s]:%u/#token=%s" : "http://%s:%u/#token=%s", host,
                      (unsigned)g->port, g->token);
    bool failed = printf("%s\n", gp_buf_str(&b)) < 0 || fflush(stdout);
    if (o->open && !o->socket) open_browser(gp_buf_str(&b));
    gp_buf_release(&b);
    return failed ? gp_fail(err, GP_E_IO, -1, "standard output: %s", strerror(errno)) : 0;
}

/* Until a signal asks for the end, or nobody has asked for anything for so long. */
static void wait_for_end(const struct opts *o, struct gp_server *s, const sigset_t *ends)
{
    struct timespec second = {.tv_sec = 1}, now;
    for (;;) {
        int sig = sigtimedwait(ends, NULL, &second);
        if (sig > 0 && sig != SIGCHLD) return;
        clock_gettime(CLOCK_MONOTONIC, &now);
        int64_t quiet_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec - gp_server_last_ns(s);
        if (o->idle_ns && quiet_ns > o->idle_ns) return;
    }
}

static int serve(const struct opts *o, struct gp_site *site, struct gp_guard *guard, struct gp_err *err)
{
    struct gp_server_opts so = {
        .connections = (unsigned)o->connections, .head_ns = 10000000000, .idle_ns = 30000000000};
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGHUP);
    sigprocmask(SIG_BLOCK, &ends, NULL); /* before there are threads, which inherit this */
    signal(SIGPIPE, SIG_IGN);
    so.listen_fd = open_socket(o, guard, err);
    if (so.listen_fd < 0) return -1;
    struct gp_server *s = gp_server_start(site, &so, err);
    int failed = !s || announce(o, guard, err);
    if (!failed) wait_for_end(o, s, &ends);
    gp_crew_stop(site->library->crew);
    gp_server_stop(s);
    if (o->socket) unlink(o->socket);
    return failed;
}

static int run(const struct gp_tool *tool, const struct opts *o, struct gp_err *err)
{
    struct gp_guard guard = {.hosts = o->hosts.at, .nhosts = o->hosts.n};
    struct gp_child_limits limits = {.at_once = (unsigned)(o->jobs < 64 ? o->jobs : 64),
                                     .memory_bytes = o->memory,
                                     .output_bytes = (uint64_t)1 << 30,
                                     .time_ns = o->time_ns};
    struct gp_library *lib = gp_zalloc(sizeof *lib);
    struct gp_site site = {.guard = &guard, .library = lib, .perfetto = o->perfetto};
    char *tools = own_folder(err);
    lib->shelf = gp_shelf_new();
    lib->keep = gp_keep_new(o->keep);
    gp_contents_init(&lib->contents);
    int failed = !tools || gp_guard_init(&guard, err);
    for (int i = 0; !failed && i < tool->nargs; i++) failed = gp_shelf_add(lib->shelf, tool->args[i], err);
    if (!failed) failed = !(lib->crew = gp_crew_new(tools, &limits, err));
    if (!failed) failed = serve(o, &site, &guard, err);
    gp_crew_free(lib->crew);
    gp_keep_free(lib->keep);
    gp_shelf_free(lib->shelf);
    gp_contents_release(&lib->contents);
    free(lib);
    free(tools);
    return failed;
}

int main(int argc, char **argv)
{
    struct gp_tool tool = {.name = "trace-serve",
                           .summary = "serve a folder of traces to browsers: reports, timelines, comparisons",
                           .operands = "DIR|FILE...",
                           .example = "trace-serve runs/\n"
                                      "trace-serve --socket $XDG_RUNTIME_DIR/gpuprof.sock runs/\n",
                           .options = options,
                           .min_operands = 1,
                           .max_operands = -1};
    struct opts o = {.jobs = 2,
                     .memory = (uint64_t)8 << 30,
                     .keep = 512 << 20,
                     .connections = 96,
                     .time_ns = INT64_C(60000000000)};
    struct gp_err err = {0};
    if (gp_cli_parse(&tool, argc, argv, &o)) return tool.status;
    int failed = run(&tool, &o, &err);
    GP_VEC_FREE(&o.hosts);
    return gp_cli_end(&tool, failed, &err, GP_EXIT_OK);
}
