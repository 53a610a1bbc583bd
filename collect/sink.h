/* sink.h -- where the launcher writes the trace: a descriptor that may be slow or be closed, written by its
 * own thread so that nothing else waits for it, or a file that is written under a temporary name and renamed
 * at the end.
 *
 *     struct gp_sink *s = gp_sink_open(NULL, fd, wake_fd, &err);
 *     gp_sink_put(s, block, n);
 *     if (gp_sink_full(s)) ...                  // stop producing until a byte arrives at wake_fd
 *     if (gp_sink_close(s, true, &err)) ...
 */
#ifndef GP_COLLECT_SINK_H
#define GP_COLLECT_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include "formats/base/declare.h"

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
/* Write what is queued, close, rename; without COMMIT a file is removed instead. 0, or -1 with ERR filled; it
 * is not an error if the reader closed its end. A file that could not be written to the end, because the disk
 * is full, keeps what was put whole, gets its name, and ERR says how much that is. Frees S. */
int gp_sink_close(struct gp_sink *s, bool commit, struct gp_err *err) GP_MUST_CHECK;

#endif
