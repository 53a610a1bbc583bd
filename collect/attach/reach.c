#include "collect/attach/reach.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include "collect/attach/attach_priv.h"
#include "collect/wire/wire.h"
#include "formats/base/str.h"

/* ---- files of /proc ---- */

/* The beginning of a file, of process PID or, if that is 0, of the system, with a NUL behind it; the number
 * of bytes, 0 if it cannot be read. */
static size_t read_proc(pid_t pid, const char *name, char *to, size_t size)
{
    char path[64];
    if (pid) snprintf(path, sizeof path, "/proc/%ld/%s", (long)pid, name);
    else snprintf(path, sizeof path, "/proc/%s", name);
    FILE *f = fopen(path, "re");
    size_t n = f ? fread(to, 1, size - 1, f) : 0;
    if (f) fclose(f);
    to[n] = 0;
    return n;
}

/* What stands behind KEY in its line, or only the LAST of it; "" if there is none. */
static const char *value_of(const char *status, const char *key, bool last)
{
    const char *at = strstr(status, key), *end = at ? strchr(at + 1, '\n') : NULL;
    if (!end) return "";
    at += strlen(key);
    while (last && end > at && end[-1] != '\t') end--;
    return last ? end : at;
}

static long number_of(const char *status, const char *key)
{
    return strtol(value_of(status, key, false), NULL, 10);
}

/* The same file, seen from there? */
static bool sees(pid_t pid, const char *path)
{
    char there[PATH_MAX];
    struct stat a, b;
    snprintf(there, sizeof there, "/proc/%ld/root%s", (long)pid, path);
    return !stat(path, &a) && !stat(there, &b) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static bool maps(pid_t pid, const char *part)
{
    char line[PATH_MAX + 128], path[64];
    bool found = false;
    snprintf(path, sizeof path, "/proc/%ld/maps", (long)pid);
    FILE *f = fopen(path, "re");
    while (f && !found && fgets(line, sizeof line, f)) found = strstr(line, part) != NULL;
    if (f) fclose(f);
    return found;
}

bool gp_reach_uses_cuda(pid_t pid)
{
    char path[64], to[64];
    bool found = maps(pid, "/libcuda.so");
    snprintf(path, sizeof path, "/proc/%ld/fd", (long)pid);
    DIR *d = found ? NULL : opendir(path);
    for (struct dirent *e; d && !found && (e = readdir(d));) {
        ssize_t n = readlinkat(dirfd(d), e->d_name, to, sizeof to - 1);
        to[n > 0 ? n : 0] = 0;
        found = gp_starts(to, "/dev/nvidia");
    }
    if (d) closedir(d);
    return found;
}

/* ---- a process that sleeps ---- */

/* The folder that its socket is in, of the places where it may be; -1: it has none. */
static int open_folder(const struct gp_reach *r)
{
    char text[1 << 16], inside[GP_SLEEP_PATH], path[GP_SLEEP_PATH + 32], name[24];
    const char *runtime = "";
    size_t bytes = read_proc(r->pid, "environ", text, sizeof text);
    for (size_t at = 0; at < bytes; at += strlen(text + at) + 1)
        if (gp_starts(text + at, "XDG_RUNTIME_DIR=")) runtime = strchr(text + at, '=') + 1;
    snprintf(name, sizeof name, "%ld", (long)r->inner);
    for (const char *place = runtime;; place = "") {
        bool fits = gp_wire_sleep_path(inside, place, r->uid, "");
        snprintf(path, sizeof path, "/proc/%ld/root%s", (long)r->pid, inside);
        int folder = fits ? open(path, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
        if (folder >= 0 && !faccessat(folder, name, F_OK, 0)) return folder;
        if (folder >= 0) close(folder);
        if (!*place) return -1;
    }
}

/* Nobody else may answer for it. */
static bool is_of(int fd, const struct gp_reach *r)
{
    struct ucred cred;
    socklen_t len = sizeof cred;
    return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) && cred.pid == r->pid && cred.uid == r->uid;
}

int gp_reach_connect(struct gp_reach *r)
{
    char path[64];
    if (r->way != GP_REACH_DORMANT) return -1;
    int folder = open_folder(r);
    snprintf(path, sizeof path, "/proc/self/fd/%d/%ld", folder, (long)r->inner); /* which is short */
    int fd = folder < 0 ? -1 : gp_wire_connect(path);
    if (folder >= 0) close(folder);
    if (fd >= 0 && is_of(fd, r)) return fd;
    if (fd >= 0) close(fd);
    snprintf(r->why, sizeof r->why, "the library in it does not answer");
    return -1;
}

static bool sleeps(const struct gp_reach *r)
{
    int folder = open_folder(r);
    if (folder >= 0) close(folder);
    return folder >= 0 && maps(r->pid, "/libgpuprof-inject");
}

/* ---- a process that does not ---- */

const char *gp_reach_refusal(const struct gp_reach_facts *f, char *text, size_t size)
{
    enum { STRICT = 1, PARENT = 1, NOBODY = 3 };
    *text = 0;
    if (f->own_uid && f->uid != f->own_uid)
        snprintf(text, size, "it belongs to another user (%lu)", (unsigned long)f->uid);
    else if (f->tracer) snprintf(text, size, "process %ld traces it already", f->tracer);
    else if (f->yama >= NOBODY || (f->yama >= PARENT && !f->may_trace))
        snprintf(text, size, "kernel.yama.ptrace_scope is %ld, which lets %s trace it", f->yama,
                 f->yama >= NOBODY ? "nobody" : "only root");
    else if (!f->uses_cuda) snprintf(text, size, "it does not use CUDA");
    else if (f->stopped) snprintf(text, size, "it is stopped by a signal");
    else if (f->seccomp == STRICT || f->filters > f->own_filters)
        snprintf(text, size, "it runs under a seccomp filter of its own");
    else if (f->shadow_stack) snprintf(text, size, "it has a shadow stack");
    else if (!f->has_dlopen)
        snprintf(text, size, "it is statically linked, or to another C library than this program");
    else if (!f->sees_library)
        snprintf(text, size, "it does not see the recording library: it has other files mounted");
    return *text ? text : NULL;
}

void gp_reach(struct gp_reach *r, pid_t pid, const char *library)
{
    enum { CAN_TRACE = 19 /* CAP_SYS_PTRACE */ };
    char status[4096], own[4096], yama[16];
    memset(r, 0, sizeof *r);
    r->pid = pid;
    read_proc(getpid(), "status", own, sizeof own);
    read_proc(0, "sys/kernel/yama/ptrace_scope", yama, sizeof yama);
    read_proc(pid, "status", status, sizeof status);
    char state = value_of(status, "\nState:\t", false)[0];
    if (!state || state == 'Z' || state == 'X') {
        snprintf(r->why, sizeof r->why, state ? "it has ended" : "there is no such process");
        return;
    }
    sscanf(status, "Name: %31[^\n]", r->name);
    r->inner = (pid_t)strtol(value_of(status, "\nNSpid:", true), NULL, 10);
    r->uid = (uint32_t)strtoul(value_of(status, "\nUid:", true), NULL, 10);
    struct gp_reach_facts f = {.uid = r->uid,
                               .own_uid = geteuid(),
                               .tracer = number_of(status, "\nTracerPid:"),
                               .seccomp = number_of(status, "\nSeccomp:"),
                               .filters = number_of(status, "\nSeccomp_filters:"),
                               .own_filters = number_of(own, "\nSeccomp_filters:"),
                               .yama = strtol(yama, NULL, 10),
                               .may_trace =
                                   strtoull(value_of(own, "\nCapEff:", false), NULL, 16) >> CAN_TRACE & 1,
                               .stopped = state == 'T' || state == 't',
                               .shadow_stack = strstr(status, "shstk") != NULL,
                               .uses_cuda = gp_reach_uses_cuda(pid),
                               .has_dlopen = gp_process_function(pid, "dlopen") || gp_may_ask_python(pid),
                               .sees_library = sees(pid, library)};
    bool ours = !f.own_uid || f.uid == f.own_uid;
    if (ours && sleeps(r)) r->way = GP_REACH_DORMANT;
    else if (!gp_reach_refusal(&f, r->why, sizeof r->why)) r->way = GP_REACH_PTRACE;
}

/* ---- many of them ---- */

static bool is_below(pid_t pid, pid_t root)
{
    enum { DEEPEST = 64 };
    char status[4096];
    for (int i = 0; pid > 0 && pid != root && i < DEEPEST; i++) {
        read_proc(pid, "status", status, sizeof status);
        pid = (pid_t)number_of(status, "\nPPid:");
    }
    return pid == root;
}

void gp_reach_find(gp_reach_list *list, pid_t root, const char *library)
{
    DIR *d = opendir("/proc");
    for (struct dirent *e; d && (e = readdir(d));) {
        pid_t pid = (pid_t)strtol(e->d_name, NULL, 10);
        struct gp_reach r;
        if (pid <= 0 || pid == getpid() || (root && !is_below(pid, root)) || !gp_reach_uses_cuda(pid))
            continue;
        gp_reach(&r, pid, library);
        GP_VEC_PUSH(list, r);
    }
    if (d) closedir(d);
}
