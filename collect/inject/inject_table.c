/* What gpuprof.h finds in this library: ranges go to nvtx.c, sessions to the flush thread, and a process that
 * nobody has started under gpuprof-collect gets a launcher without a command (gpuprof-collect --hub). */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "collect/inject/inject.h"
#include "collect/inject/inject_cuts.h"
#include "collect/inject/inject_metrics.h"
#include "collect/inject/inject_window.h"
#include "collect/inject/nvtx.h"
#include "collect/inject/tracer.h"

enum { HUB_MS = 10000 };

static struct {
    pthread_mutex_t lock; /* one thread attaches at a time */
    _Atomic uint64_t cuts;
    bool late; /* CUDA was up when this process was attached */
} self = {.lock = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local char why[256]; /* of the last error, if there is more to say than its number */

static int fail(int error, const char *text)
{
    snprintf(why, sizeof why, "%s", text ? text : "");
    return error;
}

/* ---- CUDA, as far as it is there ---- */

static void *cuda_function(const char *name)
{
    void *lib = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    return lib ? dlsym(lib, name) : NULL;
}

static void wait_for_device(void)
{
    int (*synchronize)(void) = NULL;
    void *p = cuda_function("cuCtxSynchronize");
    memcpy(&synchronize, &p, sizeof synchronize);
    if (synchronize) synchronize();
}

/* ---- starting a launcher ---- */

/* The launcher beside this library: in ../bin, or in the same folder. */
static bool find_launcher(char *path, size_t size)
{
    static const char *const places[] = {"/../bin/gpuprof-collect", "/gpuprof-collect",
                                         "/../../bin/gpuprof-collect"};
    const char *chosen = getenv("GPUPROF_COLLECT");
    Dl_info info;
    if (chosen && *chosen) return (size_t)snprintf(path, size, "%s", chosen) < size;
    if (!dladdr(&self, &info) || !info.dli_fname) return false;
    const char *slash = strrchr(info.dli_fname, '/');
    for (size_t i = 0; slash && i < GP_COUNT(places); i++) {
        int n = snprintf(path, size, "%.*s%s", (int)(slash - info.dli_fname), info.dli_fname, places[i]);
        if (n > 0 && (size_t)n < size && !access(path, X_OK)) return true;
    }
    return false;
}

/* It has the pipes as its standard input and output, and none of our signals and descriptors. */
static bool spawn(const char *path, int in, int out, pid_t *pid)
{
    extern char **environ;
    char name[] = "gpuprof-collect", hub[] = "--hub", quiet[] = "-q";
    char *argv[] = {name, quiet, hub, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    sigset_t none, dflt;
    sigemptyset(&none);
    sigfillset(&dflt);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attr);
    posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    posix_spawnattr_setsigmask(&attr, &none);
    posix_spawnattr_setsigdefault(&attr, &dflt);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
    int rc = posix_spawn(pid, path, &actions, &attr, argv, environ);
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&actions);
    return !rc;
}

/* Its one line: its address. */
static bool read_address(int fd, char *to, size_t size)
{
    size_t n = 0;
    while (n + 1 < size) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        int ready = poll(&p, 1, HUB_MS);
        if (ready < 0 && errno == EINTR) continue;
        ssize_t k = ready > 0 ? read(fd, to + n, size - 1 - n) : 0;
        if (k <= 0) break;
        n += (size_t)k;
        to[n] = 0;
        char *end = memchr(to, '\n', n);
        if (end) return *end = 0, to[0] == '@';
    }
    return false;
}

/* It ends when the descriptor that is left open here is closed, by the end of this process and of its fork
 * children. */
static int start_launcher(void)
{
    char path[PATH_MAX], address[128];
    int in[2], out[2], status;
    pid_t pid;
    if (!find_launcher(path, sizeof path))
        return fail(GPUPROF_E_LAUNCH, "gpuprof-collect was not found: set GPUPROF_COLLECT");
    if (pipe2(in, O_CLOEXEC)) return fail(GPUPROF_E_LAUNCH, strerror(errno));
    if (pipe2(out, O_CLOEXEC)) {
        close(in[0]);
        close(in[1]);
        return fail(GPUPROF_E_LAUNCH, strerror(errno));
    }
    bool ok = spawn(path, in[0], out[1], &pid);
    close(in[0]);
    close(out[1]);
    ok = ok && read_address(out[0], address, sizeof address);
    close(out[0]);
    if (ok) gp_wire_move_up(in[1]);
    else close(in[1]);
    while (ok && waitpid(pid, &status, 0) < 0 && errno == EINTR) continue; /* it has forked and left */
    if (!ok) return fail(GPUPROF_E_LAUNCH, "gpuprof-collect --hub did not start");
    setenv(GP_ENV_SOCKET, address, 1);
    return GPUPROF_OK;
}

/* ---- attaching ---- */

static int attach_once(void)
{
    bool late = gp_inject_cuda_is_up();
    int error = gp_inject_attach(late);
    if (error == GPUPROF_E_LAUNCH) {
        error = start_launcher();
        if (!error) error = gp_inject_attach(late);
    }
    if (error) return error;
    self.late = late;
    /* NVTX of modules that have not used it yet comes to us, unless somebody else has asked for it. */
    Dl_info info;
    if (dladdr(&self, &info) && info.dli_fname) setenv("NVTX_INJECTION64_PATH", info.dli_fname, 0);
    return GPUPROF_OK;
}

static int attach(void)
{
    *why = 0;
    pthread_mutex_lock(&self.lock);
    enum gp_inject_state state = gp_inject_state();
    int error = state == GP_INJECT_RUNS     ? GPUPROF_OK
                : state == GP_INJECT_FORKED ? GPUPROF_E_FORKED
                : state == GP_INJECT_OVER   ? GPUPROF_E_GONE
                                            : attach_once();
    pthread_mutex_unlock(&self.lock);
    const char *holder = error == GPUPROF_E_HELD ? gp_tracer_holder() : NULL;
    if (holder) snprintf(why, sizeof why, "CUPTI is held by %s", holder);
    return error;
}

/* ---- recording and sessions ---- */

static int record(int on)
{
    if (!on)
        return gp_inject_state() == GP_INJECT_RUNS ? gp_inject_ask(GP_ASK_STOP, NULL, false, NULL)
                                                   : GPUPROF_OK;
    int error = attach();
    return error ? error : gp_inject_ask(GP_ASK_RECORD, NULL, false, NULL);
}

static int enabled(void) { return gp_inject_state() == GP_INJECT_RUNS && gp_inject_window_is_open(); }

/* NAME.PID.N.trace where the user wants it, with nothing in NAME that a path or a shell would stumble
 * over. */
static int name_file(gpuprof_session_t *session, uint64_t n)
{
    char folder[PATH_MAX], name[sizeof session->name];
    const char *chosen = getenv("GPUPROF_DIR");
    if (session->path[0] == '/') return GPUPROF_OK;
    if (session->path[0]) return fail(GPUPROF_E_FILE, "the path of the trace must be absolute");
    size_t i = 0;
    for (; session->name[i]; i++) {
        char c = session->name[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                     c == '_';
        name[i] = plain ? c : '_';
    }
    name[i] = 0;
    if (!(chosen && *chosen ? realpath(chosen, folder) : getcwd(folder, sizeof folder)))
        return fail(GPUPROF_E_FILE, strerror(errno));
    int k = snprintf(session->path, sizeof session->path, "%s/%s.%ld.%llu.trace", folder,
                     *name ? name : "session", (long)getpid(), (unsigned long long)n);
    return k > 0 && (size_t)k < sizeof session->path
               ? GPUPROF_OK
               : fail(GPUPROF_E_FILE, "the path of the trace is too long");
}

static int held(int error)
{
    const char *holder = error == GPUPROF_E_HELD ? gp_tracer_holder() : NULL;
    if (holder) snprintf(why, sizeof why, "CUPTI is held by %s", holder);
    return error;
}

static int begin(gpuprof_session_t *session)
{
    struct gp_wire_cut frame = {.id = atomic_fetch_add(&self.cuts, 1) + 1};
    *why = 0;
    int error = name_file(session, frame.id);
    if (!error) error = attach();
    if (error) return error;
    memcpy(frame.path, session->path, sizeof frame.path);
    if (session->flags & GPUPROF_SYNC) wait_for_device();
    error = held(gp_inject_ask(GP_ASK_BEGIN, &frame, session->flags & GPUPROF_MEMORY, NULL));
    if (error) return error;
    session->id = frame.id;
    session->start_ns = frame.start_ns;
    session->late = self.late;
    return GPUPROF_OK;
}

static int end(gpuprof_session_t *session)
{
    struct gp_wire_cut frame = {.id = session->id, .start_ns = session->start_ns};
    struct gp_wire_cut_done done = {.id = 0};
    *why = 0;
    if (session->flags & GPUPROF_SYNC) wait_for_device();
    session->end_ns = frame.end_ns = gp_now_ns();
    session->id = 0;
    if (gp_inject_state() == GP_INJECT_FORKED) return GPUPROF_E_FORKED;
    gp_inject_metrics_settle();
    int error = gp_inject_ask(GP_ASK_END, &frame, false, &done);
    done.why[sizeof done.why - 1] = 0;
    return error == GPUPROF_E_FILE ? fail(error, done.why) : error;
}

static const char *reason(int error) { return error ? why : ""; }

extern GP_EXPORT const gpuprof_table_t gpuprof_table_v1;

GP_EXPORT const gpuprof_table_t gpuprof_table_v1 = {
    .size = sizeof gpuprof_table_v1,
    .version = 1,
    .name = gp_nvtx_own_name,
    .push = gp_nvtx_own_push,
    .pop = gp_nvtx_own_pop,
    .start = gp_nvtx_own_start,
    .stop = gp_nvtx_own_stop,
    .mark = gp_nvtx_own_mark,
    .attach = attach,
    .record = record,
    .enabled = enabled,
    .begin = begin,
    .end = end,
    .reason = reason,
};
