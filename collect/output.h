/* output.h -- the traces that the launcher writes: a single one, or, if the name is a pattern, one per
 * process. Each has a sink, and a writer for the launcher's own facts, which it does not know.
 *
 *     struct gp_outputs o = {.wake_fd = fd};
 *     if (!gp_outputs_open(&o, "all.trace", -1, &err)) ...            // or, for a pattern, for each process:
 *     if (!gp_outputs_add(&o, "trace.%r.%p", &process, &err)) ...
 *     gp_outputs_put(&o, block, n);
 *     if (gp_outputs_close(&o, true, &err)) ...
 */
#ifndef GP_COLLECT_OUTPUT_H
#define GP_COLLECT_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include "collect/hub.h"
#include "formats/base/declare.h"
#include "formats/base/vec.h"
#include "formats/gpt/gpt_write.h"

struct gp_output {
    struct gp_hub_process process; /* producer 0: of all processes */
    GP_VEC(uint32_t) more;         /* producers of what the launcher itself records of the process */
    char *path;                    /* NULL: standard output */
    struct gp_sink *sink;
    struct gp_trace trace; /* the launcher's own facts */
    struct gp_gpt_writer *writer;
};

struct gp_outputs {
    int wake_fd;
    GP_VEC(struct gp_output *) list;
};

/* Does NAME differ between processes? -1 with ERR filled if it has an unknown % sequence. */
int gp_output_is_pattern(const char *name, struct gp_err *err) GP_MUST_CHECK;
/* PATTERN with %r replaced by the rank ("none" if unknown), %p by the process id, %h by the host and %% by a
 * percent sign. */
void gp_output_expand(struct gp_buf *to, const char *pattern, const struct gp_hub_process *process);

/* One trace of everything, to PATH or, if it is NULL, FD. The result belongs to OUTS; NULL with ERR
 * filled. */
struct gp_output *gp_outputs_open(struct gp_outputs *outs, const char *path, int fd,
                                  struct gp_err *err) GP_MUST_CHECK;
/* One trace of only that process. A name that is already used gets a numeric suffix. */
struct gp_output *gp_outputs_add(struct gp_outputs *outs, const char *pattern,
                                 const struct gp_hub_process *process, struct gp_err *err) GP_MUST_CHECK;
/* The trace that has what process PID does, or NULL. */
struct gp_output *gp_outputs_of(const struct gp_outputs *outs, int32_t pid);
/* Blocks of PRODUCER go to where those of OWNER go. */
void gp_outputs_join(struct gp_outputs *outs, uint32_t owner, uint32_t producer);
/* A complete block, to where the blocks of its producer go; dropped if there is no such place. */
void gp_outputs_put(struct gp_outputs *outs, const void *block, size_t n);
/* As gp_sink_full() and gp_sink_failed(), of any of them. */
bool gp_outputs_full(const struct gp_outputs *outs);
int gp_outputs_failed(const struct gp_outputs *outs);
/* Would one of them, once it is closed, take the place of a file that holds something? */
bool gp_outputs_replace(const struct gp_outputs *outs);
/* Close all of them, as gp_sink_close(), and free their memory. */
int gp_outputs_close(struct gp_outputs *outs, bool commit, struct gp_err *err) GP_MUST_CHECK;

/* ---- one of them: a descriptor or a file ----
 * Where the launcher writes the trace: a descriptor that may be slow or be closed, written by its
 * own thread so that nothing else waits for it, or a file that is written under a temporary name and renamed
 * at the end.
 *
 *     struct gp_sink *s = gp_sink_open(NULL, fd, wake_fd, &err);
 *     gp_sink_put(s, block, n);
 *     if (gp_sink_full(s)) ...                  // stop producing until a byte arrives at wake_fd
 *     if (gp_sink_close(s, true, &err)) ...
 */

struct gp_sink;

/* Write to PATH, or, if it is NULL, to FD, which is closed at the end. One byte is written to WAKE_FD
 * (non-blocking) whenever the sink is no longer full or has failed. NULL with ERR filled if the file cannot
 * be created. */
struct gp_sink *gp_sink_open(const char *path, int fd, int wake_fd, struct gp_err *err) GP_MUST_CHECK;
/* Queue a copy of N bytes; never blocks. After a failure they are dropped. */
void gp_sink_put(struct gp_sink *s, const void *data, size_t n);
/* Is more queued than the limit? */
bool gp_sink_full(struct gp_sink *s);
/* Will S, if it is closed with COMMIT, take the place of a file that holds something? */
bool gp_sink_replaces(const struct gp_sink *s);
/* 0, or the errno that ended the writing; EPIPE means that the reader closed its end. */
int gp_sink_failed(struct gp_sink *s);
/* Write the queue, close, rename; without COMMIT a file is removed instead. 0, or -1 with ERR filled; it
 * is not an error if the reader closed its end. A file that could not be written to the end, because the disk
 * is full, keeps the whole blocks, gets its name, and ERR says how much that is. Frees S. */
int gp_sink_close(struct gp_sink *s, bool commit, struct gp_err *err) GP_MUST_CHECK;

#endif
