#include "collect/sample/remote.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/uio.h>
#include <unistd.h>

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
