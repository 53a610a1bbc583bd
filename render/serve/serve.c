#include "render/serve/serve.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "formats/base/buf.h"
#include "formats/base/clock.h"
#include "formats/base/err.h"
#include "formats/base/mem.h"
#include "formats/base/str.h"
#include "formats/net/net.h"
#include "render/serve/cache.h"
#include "render/serve/live.h"
#include "render/serve/server.h"
#include "render/serve/upload.h"

#ifndef SYS_close_range
#define SYS_close_range 436 /* glibc has no name for it before 2.32 */
#endif

enum {
    MOST_JOBS = 64,
    UPLOADS_AT_ONCE = 4,
    EXPANSION = 200,
    OTHER_DESCRIPTORS = 60,
    LEAST_KEPT = 4,
    MOST_KEPT = 2000
};

/* ---- descriptors ---- */

/* Raise the soft limit to the hard one, and return it. */
static uint64_t raise_descriptors(void)
{
    struct rlimit l;
    if (getrlimit(RLIMIT_NOFILE, &l)) return 256;
    rlim_t soft = l.rlim_cur;
    l.rlim_cur = l.rlim_max;
    return setrlimit(RLIMIT_NOFILE, &l) ? soft : l.rlim_cur;
}

/* A cached answer may have two, as it is and packed. */
static size_t kept_within(uint64_t descriptors, unsigned connections)
{
    uint64_t taken = 2 * ((uint64_t)connections + GP_SERVER_ENDING) + OTHER_DESCRIPTORS;
    if (descriptors < taken + 2 * LEAST_KEPT) return LEAST_KEPT;
    uint64_t kept = (descriptors - taken) / 2;
    return kept < MOST_KEPT ? (size_t)kept : MOST_KEPT;
}

/* ---- the socket ---- */

static int open_socket(const struct gp_serve_opts *o, struct gp_guard *g, struct gp_err *err)
{
    if (o->socket) return gp_listen_unix(o->socket, "--socket", err);
    if (o->port > UINT16_MAX)
        return gp_fail(err, GP_E_USAGE, -1, "--port: not a port: %llu", (unsigned long long)o->port);
    g->wants_token = true;
    g->address = o->listen;
    return gp_listen_tcp(o->listen ? o->listen : "127.0.0.1", (uint16_t)o->port, &g->port, err);
}

static bool is_loopback(const char *address)
{
    return !address || !strcmp(address, "localhost") || gp_starts(address, "127.") || !strcmp(address, "::1");
}

static bool is_any(const char *address)
{
    return address && (!strcmp(address, "0.0.0.0") || !strcmp(address, "::"));
}

/* The host of our link: on loopback a name that only we know; elsewhere the address, or a name from
 * --host. */
static const char *name_of(const struct gp_serve_opts *o, const struct gp_guard *g, bool named)
{
    if (is_any(o->listen)) return o->nhosts ? o->hosts[0] : strchr(o->listen, ':') ? "::1" : "127.0.0.1";
    if (!is_loopback(o->listen)) return o->listen;
    if (named) return g->name;
    return o->listen && strcmp(o->listen, "localhost") != 0 ? o->listen : "127.0.0.1";
}

/* The link has the token behind the #, which browsers do not send. */
static int announce(const struct gp_serve_opts *o, const struct gp_guard *g, bool named, struct gp_err *err)
{
    struct gp_buf b = {0};
    const char *host = name_of(o, g, named);
    if (!o->socket && !is_loopback(o->listen))
        o->warn(o->ctx, is_any(o->listen) && !o->nhosts
                            ? "--listen: other machines can connect, without encryption, "
                              "and need a name: add --host NAME"
                            : "--listen: other machines can connect, without encryption");
    if (o->socket) gp_buf_printf(&b, "unix:%s", o->socket);
    else {
        gp_buf_printf(&b, strchr(host, ':') ? "http://[%s]:%u/" : "http://%s:%u/", host, (unsigned)g->port);
        gp_buf_printf(&b, "#token=%s", g->token);
    }
    int failed = o->ready(o->ctx, gp_buf_str(&b), err);
    gp_buf_release(&b);
    return failed;
}

/* Until a signal, or the end of --idle without requests. */
static void wait_for_end(const struct gp_serve_opts *o, struct gp_server *s, const sigset_t *ends)
{
    const struct timespec second = {.tv_sec = 1};
    while (sigtimedwait(ends, NULL, &second) < 0)
        if (o->idle_ns && gp_now_ns() - gp_server_last_ns(s) > o->idle_ns) return;
}

static int serve(const struct gp_serve_opts *o, struct gp_backend *backend, struct gp_guard *guard,
                 unsigned connections, struct gp_err *err)
{
    struct gp_server_opts so = {.connections = connections, .head_ns = o->request_ns, .idle_ns = 30000000000};
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGHUP);
    sigprocmask(SIG_BLOCK, &ends, NULL); /* before there are threads, which inherit this */
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a limit of files is an error like a full disk */
    so.listen_fd = open_socket(o, guard, err);
    if (so.listen_fd < 0) return -1;
    bool may_name = !o->socket && is_loopback(o->listen) &&
                    (!o->listen || !gp_starts(o->listen, "127.") || !strcmp(o->listen, "127.0.0.1"));
    /* Names below localhost lead to 127.0.0.1 and to ::1. The one that we do not listen on must not be
     * another user's, who would get the token. */
    bool listens6 = o->listen && !strcmp(o->listen, "::1");
    int held = may_name ? gp_listen_reserve(listens6 ? "127.0.0.1" : "::1", guard->port) : -1;
    struct gp_server *s = gp_server_start(backend, &so, err);
    int failed = !s || announce(o, guard, held != -1, err);
    if (!failed) wait_for_end(o, s, &ends);
    gp_live_view_stop(backend->live);
    gp_crew_stop(backend->library->crew);
    gp_server_stop(s);
    if (held >= 0) close(held);
    if (o->socket) unlink(o->socket);
    return failed ? -1 : 0;
}

/* Where files may be sent, which is served as well. */
static int open_upload(const struct gp_serve_opts *o, struct gp_backend *backend, struct gp_err *err)
{
    struct gp_upload_limits limits = {.bytes = o->upload_bytes,
                                      .files = o->upload_files,
                                      .at_once = UPLOADS_AT_ONCE,
                                      .expansion = EXPANSION};
    backend->upload = gp_upload_new(o->upload, &limits, err);
    if (!backend->upload) return gp_err_context(err, "--upload");
    int fd = gp_upload_folder(backend->upload);
    if (fd < 0) return gp_fail(err, GP_E_IO, -1, "--upload: %s: %s", o->upload, strerror(errno));
    gp_catalog_add_fd(backend->library->catalog, fd, "uploads");
    return 0;
}

int gp_serve_run(const struct gp_serve_opts *o, struct gp_err *err)
{
    struct gp_guard guard = {.hosts = o->hosts, .nhosts = o->nhosts};
    struct gp_crew_opts crew = {.at_once = (unsigned)(o->jobs < MOST_JOBS ? o->jobs : MOST_JOBS),
                                .memory_bytes = o->memory_bytes,
                                .output_bytes = (uint64_t)1 << 30,
                                .time_ns = o->time_ns,
                                .tools = o->tools,
                                .scratch = o->scratch,
                                .env = o->env};
    struct gp_library *lib = gp_zalloc(sizeof *lib);
    struct gp_backend backend = {.guard = &guard, .library = lib, .perfetto = o->perfetto};
    lib->catalog = gp_catalog_new(GP_CATALOG_TRACE | GP_CATALOG_SNAPSHOT | GP_CATALOG_COMPILE_LOG);
    uint64_t descriptors = raise_descriptors();
    /* A connection may have two, its socket and its answer. */
    uint64_t most = descriptors / 4;
    unsigned connections = (unsigned)(o->connections < most ? o->connections : most ? most : 1);
    lib->cache = gp_cache_new(o->keep_bytes, kept_within(descriptors, connections));
    gp_contents_init(&lib->contents);
    int failed = gp_guard_init(&guard, err);
    for (size_t i = 0; !failed && i < o->npaths; i++) failed = gp_catalog_add(lib->catalog, o->paths[i], err);
    if (!failed && o->upload) failed = open_upload(o, &backend, err);
    if (!failed) failed = !(lib->crew = gp_crew_new(&crew, err));
    if (!failed && o->live) backend.live = gp_live_view_new(o->live, lib->crew);
    if (!failed) failed = serve(o, &backend, &guard, connections, err);
    gp_live_view_free(backend.live);
    gp_upload_free(backend.upload);
    gp_crew_free(lib->crew);
    gp_cache_free(lib->cache);
    gp_catalog_free(lib->catalog);
    gp_contents_release(&lib->contents);
    free(lib);
    return failed ? -1 : 0;
}

/* ---- the browser ---- */

static const char head[] = "<!DOCTYPE html>\n<meta charset=\"utf-8\">\n<meta name=\"referrer\" "
                           "content=\"no-referrer\">\n"
                           "<title>gpuprof</title>\n<meta http-equiv=\"refresh\" content=\"0; url=";

/* A page that leads to LINK, which has no characters that would have to be escaped. */
static char *write_page(const char *folder, const char *link, struct gp_err *err)
{
    struct gp_buf name = {0}, page = {0};
    gp_buf_printf(&name, "%s/gpuprof-open-XXXXXX.html", folder);
    gp_buf_putc(&name, 0);
    gp_buf_printf(&page, "%s%s\">\n<p><a href=\"%s\">Open the traces</a></p>\n", head, link, link);
    int fd = mkostemps(name.data, (int)strlen(".html"), O_CLOEXEC); /* of mode 0600 */
    int failed = fd < 0 || gp_blob_write(fd, page.data, page.n), why = errno;
    if (fd >= 0) close(fd);
    if (failed && fd >= 0) unlink(name.data);
    gp_buf_release(&page);
    if (!failed) return name.data;
    gp_fail(err, GP_E_IO, -1, "--open: %s: %s", name.data, strerror(why));
    gp_buf_release(&name);
    return NULL;
}

/* After fork() in a process with threads: only system calls. */
static _Noreturn void watch_browser(char *file, const char *message)
{
    int status = 0;
    pid_t pid = fork();
    if (!pid) {
        int null = open("/dev/null", O_RDWR);
        for (int fd = 0; null >= 0 && fd < 3; fd++) dup2(null, fd);
        syscall(SYS_close_range, 3, ~0U, 0);
        sigset_t none;
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        signal(SIGPIPE, SIG_DFL);
        signal(SIGXFSZ, SIG_DFL);
        char *const argv[] = {(char *)(uintptr_t) "xdg-open", file, NULL};
        execvp(argv[0], argv);
        _exit(127);
    }
    syscall(SYS_close_range, 3, ~0U, 0); /* it may outlive the server */
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (pid < 0 || status) gp_blob_write(STDERR_FILENO, message, strlen(message));
    _exit(0);
}

char *gp_browser_open(const char *folder, const char *link, const char *message, struct gp_err *err)
{
    char *file = write_page(folder, link, err);
    if (!file) return NULL;
    pid_t pid = fork();
    if (!pid) watch_browser(file, message);
    if (pid > 0) return file;
    gp_fail(err, GP_E_IO, -1, "--open: %s", strerror(errno));
    unlink(file);
    free(file);
    return NULL;
}
