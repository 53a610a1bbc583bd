/* output.h -- the traces that the launcher writes: a single one, or, if the name is a pattern, one per
 * process. Each has a sink, and a writer for what the launcher itself knows. Does not know what that is.
 *
 *     struct gp_outputs o = {.wake_fd = fd};
 *     if (!gp_outputs_open(&o, "all.trace", -1, &err)) ...            // or, for a pattern, for each process:
 *     if (!gp_outputs_add(&o, "trace.%r.%p", &process, &err)) ...
 *     gp_outputs_put(&o, block, n);
 *     if (gp_outputs_close(&o, true, &err)) ...
 */
#ifndef GP_COLLECT_OUTPUT_H
#define GP_COLLECT_OUTPUT_H

#include "collect/hub.h"
#include "collect/sink.h"
#include "formats/base/declare.h"
#include "formats/base/vec.h"
#include "formats/gpt/gpt_write.h"

struct gp_output {
    struct gp_hub_process process; /* producer 0: of all processes */
    char *path;                    /* NULL: standard output */
    struct gp_sink *sink;
    struct gp_trace trace; /* what the launcher itself knows */
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
/* A complete block, to where the blocks of its producer go; dropped if there is no such place. */
void gp_outputs_put(struct gp_outputs *outs, const void *block, size_t n);
/* As gp_sink_full() and gp_sink_failed(), of any of them. */
bool gp_outputs_full(const struct gp_outputs *outs);
int gp_outputs_failed(const struct gp_outputs *outs);
/* Would one of them, once it is closed, take the place of a file that holds something? */
bool gp_outputs_replace(const struct gp_outputs *outs);
/* Close all of them, as gp_sink_close(), and free their memory. */
int gp_outputs_close(struct gp_outputs *outs, bool commit, struct gp_err *err) GP_MUST_CHECK;

#endif
