/* Loading a library into a process that runs: one of its threads, which waits in a call of the system, makes
 * a detour. Its registers are saved where a signal would save them, below the part of its stack that is in
 * use; a few instructions call dlopen() and end as the handler of a signal does, so that the kernel restores
 * everything. What starts them is one change of the thread's registers: before it, nothing has happened, and
 * after it, we are not needed. A process that we trace goes on by itself when we end.
 *
 * The instructions lie in the unused end of a page of code. Nobody else runs them there, and they are the
 * same for every thread and every one of us. */
#include <stdio.h>
#include "collect/attach/attach_priv.h"
#include "formats/base/clock.h"
#include "formats/base/declare.h"

enum {
    ASKED_MS = 1000,   /* Python may be in a call that takes long */
    LOADED_MS = 10000, /* the library may take to listen */
    PAUSE_MS = 5
};

/* Until the library sleeps there. */
static void await(struct gp_reach *r, const char *library, int64_t ms)
{
    int64_t give_up_ns = gp_now_ns() + ms * INT64_C(1000000);
    do {
        gp_rest_ms(PAUSE_MS);
        gp_reach(r, r->pid, library);
    } while (r->way == GP_REACH_PTRACE && gp_now_ns() < give_up_ns);
}

static void load_by_python(struct gp_reach *r, const char *library)
{
    struct gp_asked_python asked;
    if (gp_ask_python(&asked, r, library)) await(r, library, ASKED_MS);
    gp_unask_python(&asked);
}

#if defined __x86_64__ || defined __aarch64__

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    NEAR_WORDS = 128,       /* of a stack that are searched for callers */
    STACK_BYTES = 96 << 10, /* that must be left of it */
    PAGE = 4096,
    STOP_MS = 1000 /* a thread may take to stop */
};
static const uint64_t ADDRESS = UINT64_C(0xffffffffffff); /* aarch64 may have a signature above it */

/* ---- which thread ---- */

static bool read_waiting(pid_t pid, pid_t tid, struct gp_waiting *w)
{
    char path[64], text[256] = "";
    snprintf(path, sizeof path, "/proc/%ld/task/%ld/syscall", (long)pid, (long)tid);
    FILE *f = fopen(path, "re");
    if (f && !fgets(text, sizeof text, f)) text[0] = 0;
    if (f) fclose(f);
    unsigned long a[8] = {0};
    if (sscanf(text, "%ld %lx %lx %lx %lx %lx %lx %lx %lx", &w->call, &a[0], &a[1], &a[2], &a[3], &a[4],
               &a[5], &a[6], &a[7]) != 9)
        return false;
    for (int i = 0; i < 6; i++) w->args[i] = a[i];
    w->sp = a[6];
    w->pc = a[7];
    /* A call that has been interrupted before has lost its number, but not its arguments. */
    uint8_t before[8];
    if (w->call == SYS_restart_syscall)
        w->call = gp_process_read(pid, w->pc - 8, before, sizeof before) ? gp_detour_call(before) : -1;
    return w->call >= 0;
}

/* May the call simply be made again? EXACT: that makes no wait longer. A futex that is waited for with a bit
 * set is that of a condition, a semaphore or a thread; locks, such as those of the C library's heap and of
 * the loader, wait without. */
static bool may_repeat(const struct gp_waiting *w, bool exact)
{
    enum { COMMANDS = 127, WAIT_BITSET = 9, ABSOLUTE = 1 };
    switch (w->call) {
    case SYS_futex: return (w->args[1] & COMMANDS) == WAIT_BITSET;
    case SYS_clock_nanosleep: return !exact || w->args[1] & ABSOLUTE;
    case SYS_nanosleep: return !exact;
    case SYS_ppoll: /* the kernel counts its time down in place */ return true;
#ifdef SYS_poll /* on older kinds of processors */
    case SYS_poll: return !exact || (int)w->args[2] < 0;
    case SYS_epoll_wait:
#endif
    case SYS_epoll_pwait: return !exact || (int)w->args[3] < 0;
    default: return false;
    }
}

/* Did the loader or an allocator call it, or is its stack small? Return addresses to them say so; further out
 * they may be left from calls that are over. */
static bool is_inside(pid_t pid, const struct gp_process_code *c, uint64_t sp)
{
    uint64_t words[NEAR_WORDS];
    uint8_t before[8];
    size_t n = gp_process_read(pid, sp, words, sizeof words) / sizeof *words;
    for (size_t i = 0; i < n; i++) {
        uint64_t caller = words[i] & ADDRESS;
        if (gp_process_is_critical(c, caller) && gp_process_read(pid, caller - 8, before, sizeof before) &&
            gp_detour_is_call(before))
            return true;
    }
    for (uint64_t at = sp - STACK_BYTES; at < sp; at += PAGE)
        if (!gp_process_read(pid, at, before, 1)) return true;
    return false;
}

/* ---- one thread ---- */

/* Seized, and stopped within its time. */
static bool stop_thread(pid_t tid)
{
    int64_t give_up_ns = gp_now_ns() + STOP_MS * INT64_C(1000000);
    if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) || ptrace(PTRACE_INTERRUPT, tid, NULL, NULL)) return false;
    for (int status; gp_now_ns() < give_up_ns; gp_rest_ms(PAUSE_MS)) {
        pid_t got = waitpid(tid, &status, __WALL | WNOHANG);
        if (got == tid && WIFSTOPPED(status) && status >> 16 == PTRACE_EVENT_STOP &&
            WSTOPSIG(status) == SIGTRAP)
            return true;
        if (got == tid && WIFSTOPPED(status)) /* a signal comes first: let it through, and try again later */
            ptrace(PTRACE_DETACH, tid, NULL, (void *)(uintptr_t)WSTOPSIG(status));
        if (got) return false;
    }
    return false;
}

/* Have thread TID do it, if it waits where it may. */
static bool try_thread(pid_t pid, pid_t tid, const struct gp_process_code *c, bool exact, const char *library)
{
    struct gp_waiting w;
    bool waits = read_waiting(pid, tid, &w) && may_repeat(&w, exact) && !gp_process_is_critical(c, w.pc) &&
                 !is_inside(pid, c, w.sp);
    if (!waits) return false;
    bool stopped = stop_thread(tid);
    bool done = stopped && gp_detour_start(tid, &w, c, library);
    if (stopped) ptrace(PTRACE_DETACH, tid, NULL, NULL);
    return done;
}

/* ---- the process ---- */

/* In a process of its own, which ends soon and whatever happens: then nothing stays traced. */
static bool try_threads(pid_t pid, const char *library)
{
    struct gp_process_code c;
    char path[64];
    bool done = false;
    if (!gp_process_code(&c, pid, gp_detour_room() + sizeof(long))) return false;
    snprintf(path, sizeof path, "/proc/%ld/task", (long)pid);
    for (int exact = 1; exact >= 0 && !done; exact--) {
        DIR *d = opendir(path);
        for (struct dirent *e; d && !done && (e = readdir(d));) {
            pid_t tid = (pid_t)strtol(e->d_name, NULL, 10);
            if (tid > 0) done = try_thread(pid, tid, &c, exact, library);
        }
        if (d) closedir(d);
    }
    GP_VEC_FREE(&c.critical);
    return done;
}

static bool try_apart(pid_t pid, const char *library)
{
    enum { MOST_S = 20 };
    int status = -1;
    pid_t child = fork();
    if (!child) {
        signal(SIGALRM, SIG_DFL);
        alarm(MOST_S);
        _exit(try_threads(pid, library) ? 0 : 1);
    }
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    return child > 0 && WIFEXITED(status) && !WEXITSTATUS(status);
}

static void load_by_detour(struct gp_reach *r, const char *library)
{
    enum { TRIES = 100 };
    bool started = false;
    for (int i = 0; i < TRIES && !started; i++) {
        if (i) gp_rest_ms(PAUSE_MS);
        started = try_apart(r->pid, library);
    }
    if (started) await(r, library, LOADED_MS);
    if (r->way != GP_REACH_PTRACE) return;
    r->way = GP_REACH_NOT;
    snprintf(r->why, sizeof r->why, "%s",
             started ? "it did not load the library"
                     : "none of its threads waits where it could be asked to");
}

#else

static void load_by_detour(struct gp_reach *r, GP_UNUSED const char *library)
{
    r->way = GP_REACH_NOT;
    snprintf(r->why, sizeof r->why, "the library cannot be loaded into it on this kind of processor");
}

#endif

void gp_load_library(struct gp_reach *r, const char *library)
{
    load_by_python(r, library);
    if (r->way == GP_REACH_PTRACE) load_by_detour(r, library);
}
