#include "collect/cpython/remote.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/uio.h>
#include <unistd.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include "formats/base/count.h"
#include "formats/base/declare.h"
#include "formats/base/str.h"

static size_t read_file(struct gp_remote_process *mem, const struct gp_remote_range *ranges, size_t n)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld/mem", (long)mem->pid);
    if (mem->mem_fd < 0) mem->mem_fd = open(path, O_RDONLY | O_CLOEXEC);
    if (mem->mem_fd < 0) {
        mem->error = errno == EACCES ? EPERM : errno;
        return 0;
    }
    for (size_t i = 0; i < n; i++) {
        if (ranges[i].at > INT64_MAX ||
            pread(mem->mem_fd, ranges[i].to, ranges[i].n, (off_t)ranges[i].at) != (ssize_t)ranges[i].n) {
            mem->error = errno;
            return i;
        }
    }
    return n;
}

static size_t read_process(void *ctx, const struct gp_remote_range *ranges, size_t n)
{
    struct gp_remote_process *mem = ctx;
    struct iovec to[GP_REMOTE_MOST] = {{0}}, from[GP_REMOTE_MOST] = {{0}};
    size_t whole = 0;
    if (!n) return 0;
    if (n > GP_REMOTE_MOST) n = GP_REMOTE_MOST;
    mem->calls++;
    mem->error = 0;
    if (mem->by_file) return read_file(mem, ranges, n);
    for (size_t i = 0; i < n; i++) {
        to[i] = (struct iovec){ranges[i].to, ranges[i].n};
        from[i] = (struct iovec){(void *)(uintptr_t)ranges[i].at, ranges[i].n};
    }
    ssize_t got = process_vm_readv(mem->pid, to, n, from, n, 0);
    if (got < 0) mem->error = errno;
    if (got < 0 && (errno == EPERM || errno == ENOSYS)) {
        int why = errno;
        size_t k = read_file(mem, ranges, n);
        mem->by_file = k > 0;
        if (!k) mem->error = why;
        return k;
    }
    while (whole < n && got >= (ssize_t)ranges[whole].n) got -= (ssize_t)ranges[whole++].n;
    return whole;
}

struct gp_remote gp_remote_open(struct gp_remote_process *mem, pid_t pid)
{
    *mem = (struct gp_remote_process){.pid = pid, .mem_fd = -1};
    return (struct gp_remote){read_process, mem};
}

void gp_remote_close(struct gp_remote_process *mem)
{
    if (mem->mem_fd >= 0) close(mem->mem_fd);
    mem->mem_fd = -1;
}

bool gp_remote_get(const struct gp_remote *r, uint64_t at, void *to, size_t n)
{
    struct gp_remote_range range = {at, to, n};
    return !n || r->read(r->ctx, &range, 1) == 1;
}

/* ---- states of threads ---- */

static const struct {
    long call;
    enum gp_thread_does does;
} calls[] = {
    {SYS_futex, GP_DOES_LOCK},       {SYS_read, GP_DOES_READ},
    {SYS_pread64, GP_DOES_READ},     {SYS_readv, GP_DOES_READ},
    {SYS_recvfrom, GP_DOES_READ},    {SYS_recvmsg, GP_DOES_READ},
    {SYS_ppoll, GP_DOES_READ},       {SYS_pselect6, GP_DOES_READ},
    {SYS_epoll_pwait, GP_DOES_READ},
#ifdef SYS_poll
    {SYS_poll, GP_DOES_READ},        {SYS_select, GP_DOES_READ},
    {SYS_epoll_wait, GP_DOES_READ},
#endif
    {SYS_accept, GP_DOES_READ},      {SYS_accept4, GP_DOES_READ},
    {SYS_write, GP_DOES_WRITE},      {SYS_pwrite64, GP_DOES_WRITE},
    {SYS_writev, GP_DOES_WRITE},     {SYS_sendto, GP_DOES_WRITE},
    {SYS_sendmsg, GP_DOES_WRITE},    {SYS_fsync, GP_DOES_WRITE},
    {SYS_nanosleep, GP_DOES_SLEEP},  {SYS_clock_nanosleep, GP_DOES_SLEEP},
    {SYS_wait4, GP_DOES_CHILD},      {SYS_waitid, GP_DOES_CHILD},
};

const char *gp_thread_does_name(enum gp_thread_does does)
{
    static const char *const names[] = {GP_SAMPLED_RUNNING, GP_SAMPLED_STATES(GP_SECOND)};
    return (unsigned)does < GP_COUNT(names) ? names[does] : "";
}

/* "running", or the number of the call and its arguments. */
enum gp_thread_does gp_thread_does_parse(const char *text, int *fd)
{
    char *end;
    *fd = -1;
    if (*text < '0' || *text > '9') return GP_DOES_RUN;
    long call = strtol(text, &end, 10);
    if (call == SYS_ioctl) {
        *fd = (int)strtol(end, NULL, 16);
        return GP_DOES_OTHER;
    }
    for (size_t i = 0; i < GP_COUNT(calls); i++)
        if (calls[i].call == call) return calls[i].does;
    return GP_DOES_OTHER;
}

static bool is_nvidia(pid_t pid, int fd)
{
    char path[64], to[64];
    snprintf(path, sizeof path, "/proc/%ld/fd/%d", (long)pid, fd);
    ssize_t n = readlink(path, to, sizeof to - 1);
    if (n <= 0) return false;
    to[n] = 0;
    return gp_starts(to, "/dev/nvidia");
}

enum gp_thread_does gp_thread_does(struct gp_thread_file *f, pid_t pid, pid_t tid)
{
    char text[256];
    int fd;
    if (f->fd < 0) {
        snprintf(text, sizeof text, "/proc/%ld/task/%ld/syscall", (long)pid, (long)tid);
        f->fd = open(text, O_RDONLY | O_CLOEXEC);
    }
    ssize_t n = f->fd < 0 ? -1 : pread(f->fd, text, sizeof text - 1, 0);
    if (n <= 0) return GP_DOES_RUN;
    text[n] = 0;
    enum gp_thread_does does = gp_thread_does_parse(text, &fd);
    return fd >= 0 && is_nvidia(pid, fd) ? GP_DOES_DRIVER : does;
}

void gp_thread_close(struct gp_thread_file *f)
{
    if (f->fd >= 0) close(f->fd);
    f->fd = -1;
}
