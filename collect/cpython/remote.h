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
#ifndef GP_COLLECT_CPYTHON_REMOTE_H
#define GP_COLLECT_CPYTHON_REMOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <string.h>
#include "formats/model/samples.h"

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

/* MEM must outlive the result. Opens nothing yet. */
struct gp_remote gp_remote_open(struct gp_remote_process *mem, pid_t pid);
void gp_remote_close(struct gp_remote_process *mem);
/* One range; false if it cannot be read. */
bool gp_remote_get(const struct gp_remote *r, uint64_t at, void *to, size_t n);

/* ---- numbers from bytes ----
 * Numbers out of bytes that were read elsewhere. Only inline functions.
 *
 *     uint64_t next = gp_take_u64(thread, layout->thread_next);
 */

static inline uint64_t gp_take_u64(const uint8_t *p, uint32_t at)
{
    uint64_t v;
    memcpy(&v, p + at, sizeof v);
    return v;
}

static inline uint32_t gp_take_u32(const uint8_t *p, uint32_t at)
{
    uint32_t v;
    memcpy(&v, p + at, sizeof v);
    return v;
}

/* Can an object lie there? */
static inline bool gp_is_address(uint64_t at) { return at >= 4096 && !(at & 7) && !(at >> 47); }

/* ---- states of threads ----
 * What a thread of another process is doing, as the kernel says: running, or waiting in
 * which call. One small file of /proc, which is kept open.
 *
 *     struct gp_thread_file f = {.fd = -1};
 *     enum gp_thread_does does = gp_thread_does(&f, pid, tid);
 *     gp_thread_close(&f);
 */

enum gp_thread_does {
    GP_DOES_RUN,
#define X(id, name) GP_DOES_##id,
    GP_SAMPLED_STATES(X)
#undef X
        GP_THREAD_DOES_COUNT
};

struct gp_thread_file {
    int fd; /* -1: not open */
};

const char *gp_thread_does_name(enum gp_thread_does does);
/* GP_DOES_RUN if that cannot be found out. */
enum gp_thread_does gp_thread_does(struct gp_thread_file *f, pid_t pid, pid_t tid);
/* What the text of the file means; FD gets the descriptor that the call is about, -1: none. */
enum gp_thread_does gp_thread_does_parse(const char *text, int *fd);
void gp_thread_close(struct gp_thread_file *f);

#endif
