/* remote.h -- reads memory of another process, without stopping it: several ranges in one call, each whole or
 * not at all. What comes back is whatever that process had there, so nothing of it can be trusted. Needs the
 * permission to trace the process, which a parent has unless the system says otherwise.
 *
 *     struct gp_remote_process mem;
 *     struct gp_remote remote = gp_remote_open(&mem, pid);
 *     if (gp_remote_get(&remote, address, &value, sizeof value)) use(value);
 *     else if (mem.error == EPERM) ...
 *     gp_remote_close(&mem);
 */
#ifndef GP_COLLECT_SAMPLE_REMOTE_H
#define GP_COLLECT_SAMPLE_REMOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { GP_REMOTE_MOST = 300 /* ranges in one call */ };

/* N bytes at address AT of the process go TO. */
struct gp_remote_range {
    uint64_t at;
    void *to;
    size_t n;
};

/* Where memory comes from; tests have their own. READ returns how many ranges, from the first on, are
 * whole. */
struct gp_remote {
    size_t (*read)(void *ctx, const struct gp_remote_range *ranges, size_t n);
    void *ctx;
};

/* One process. Where process_vm_readv() is missing or refused, its file in /proc is read. */
struct gp_remote_process {
    pid_t pid;
    int mem_fd; /* -1: not open */
    bool by_file;
    int error; /* errno of the latest call that failed, 0: none */
    uint64_t calls;
};

/* MEM must outlive what is returned. Opens nothing yet. */
struct gp_remote gp_remote_open(struct gp_remote_process *mem, pid_t pid);
void gp_remote_close(struct gp_remote_process *mem);
/* One range; false if it cannot be read. */
bool gp_remote_get(const struct gp_remote *r, uint64_t at, void *to, size_t n);

#endif
