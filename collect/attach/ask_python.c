/* CPython 3.14 and later runs a file when somebody who may trace the process asks its main thread to, by a
 * few words in memory, as sys.remote_exec() does. That happens between two instructions of the program, so it
 * is asked before a thread is made to do a detour. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "collect/attach/attach_priv.h"
#include "collect/cpython/python_layout.h"

/* Where its main thread has what can be asked. */
static bool find_thread(pid_t pid, struct gp_py_ask *a, uint64_t *thread)
{
    uint8_t table[GP_PY_TABLE_BYTES];
    struct gp_py_place place = {.runtime = 0};
    uint64_t interp = 0;
    int allows = 0;
    *thread = 0;
    if (!gp_py_find(pid, &place) ||
        gp_process_read(pid, place.runtime, table, sizeof table) != sizeof table ||
        !gp_py_asking(a, table, sizeof table))
        return false;
    gp_process_read(pid, place.runtime + a->runtime_head, &interp, sizeof interp);
    if (interp) gp_process_read(pid, interp + a->interp_allows, &allows, sizeof allows);
    if (interp && allows) gp_process_read(pid, interp + a->interp_main, thread, sizeof *thread);
    return *thread != 0;
}

/* A file that only the process's user can read, in its own /tmp; the path is in hexadecimal, so that it needs
 * no quotes. */
static bool write_file(const struct gp_reach *r, const char *library, char *path, size_t size)
{
    snprintf(path, size, "/proc/%ld/root/tmp/gpuprof-XXXXXX", (long)r->pid);
    int fd = mkstemp(path);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
    if (!f) return false;
    bool ok = geteuid() == r->uid || !fchown(fd, r->uid, (gid_t)-1);
    fprintf(f, "try:\n  import ctypes, os\n  ctypes.CDLL(os.fsdecode(bytes.fromhex('");
    for (const char *c = library; *c; c++) fprintf(f, "%02x", (unsigned char)*c);
    fprintf(f, "'))).InitializeInjectionDormant()\nexcept Exception: pass\n");
    return !fclose(f) && ok;
}

/* PATH, as the process sees it. */
static bool ask(pid_t pid, const struct gp_py_ask *a, uint64_t thread, const char *path)
{
    static const int yes = 1;
    uint64_t breaks = 0;
    size_t n = strlen(path) + 1;
    if (n > a->path_bytes || !gp_process_write(pid, thread + a->thread_path, path, n) ||
        !gp_process_write(pid, thread + a->thread_asked, &yes, sizeof yes) ||
        gp_process_read(pid, thread + a->thread_breaks, &breaks, sizeof breaks) != sizeof breaks)
        return false;
    breaks |= GP_PY_STOP;
    return gp_process_write(pid, thread + a->thread_breaks, &breaks, sizeof breaks);
}

bool gp_may_ask_python(pid_t pid)
{
    struct gp_py_ask a;
    uint64_t thread;
    return find_thread(pid, &a, &thread);
}

bool gp_ask_python(struct gp_asked_python *asked, const struct gp_reach *r, const char *library)
{
    struct gp_py_ask a;
    uint64_t thread;
    asked->path[0] = 0;
    asked->pid = r->pid;
    if (!find_thread(r->pid, &a, &thread)) return false;
    asked->at = thread + a.thread_asked;
    return write_file(r, library, asked->path, sizeof asked->path) &&
           ask(r->pid, &a, thread, strstr(asked->path, "/tmp/"));
}

void gp_unask_python(const struct gp_asked_python *asked)
{
    static const int no = 0;
    if (!asked->path[0]) return;
    gp_process_write(asked->pid, asked->at, &no, sizeof no);
    unlink(asked->path);
}
