/* output.h -- the traces that the launcher writes: one of everything, or, where the name is a pattern, one a process. Each
 * has a sink, and a writer for what the launcher itself knows. Does not know what that is.
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
#include "formats/base/buf.h"
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

/* Does NAME differ from process to process? -1 with ERR filled when it has a % that means nothing. */
int gp_output_is_pattern(const char *name, struct gp_err *err) GP_MUST_CHECK;
/* PATTERN with %r the rank ("none" where it is unknown), %p the process id, %h the host and %% a percent sign. */
void gp_output_expand(struct gp_buf *to, const char *pattern, const struct gp_hub_process *process);

/* One trace of everything, to PATH or, when it is NULL, FD. The result belongs to OUTS; NULL with ERR filled. */
struct gp_output *gp_outputs_open(struct gp_outputs *outs, const char *path, int fd,
                                  struct gp_err *err) GP_MUST_CHECK;
/* One of that process alone. A name that another one has already gets a number behind it. */
struct gp_output *gp_outputs_add(struct gp_outputs *outs, const char *pattern,
                                 const struct gp_hub_process *process, struct gp_err *err) GP_MUST_CHECK;
/* A whole block, to where the blocks of its producer go; dropped when that is nowhere. */
void gp_outputs_put(struct gp_outputs *outs, const void *block, size_t n);
/* As gp_sink_full() and gp_sink_failed(), of any of them. */
bool gp_outputs_full(const struct gp_outputs *outs);
int gp_outputs_failed(const struct gp_outputs *outs);
/* Close all of them, as gp_sink_close(), and free what they have. */
int gp_outputs_close(struct gp_outputs *outs, bool commit, struct gp_err *err) GP_MUST_CHECK;

#endif
