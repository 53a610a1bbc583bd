/* launch.h -- starts the command and passes signals on to it, as timeout(1) does: signals sent to us are
 * passed on, those that the terminal sends to the whole group are not. Knows nothing about traces.
 *
 *     struct gp_launch l;
 *     if (gp_launch_start(&l, argv, true, &err)) return l.status;
 *     poll on l.events_fd; gp_launch_events(&l);
 *     if (l.ended) return l.status;
 */
#ifndef GP_COLLECT_LAUNCH_H
#define GP_COLLECT_LAUNCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "formats/base/declare.h"

enum { GP_LAUNCH_FAILED = 125, GP_LAUNCH_NOT_EXECUTABLE = 126, GP_LAUNCH_NOT_FOUND = 127 };

struct gp_launch {
    pid_t pid;
    int events_fd; /* readable if a signal arrived or the command ended */
    bool ended;
    int status;       /* exit status of the command, 128+N for signal N; or one of the three above */
    int signal;       /* that ended the command, or 0 */
    unsigned nudges;  /* signals that came after the end */
    uint64_t kept;    /* signals (bits 1 << number) for us, not for the command; set before the start */
    uint64_t arrived; /* those of them that arrived; the caller clears it */
};

/* Start ARGV. With STDOUT_TO_STDERR its standard output goes where its standard error goes. 0, or -1 with
 * l->status and ERR filled. Only one at a time per process, because signal handlers belong to the process. */
int gp_launch_start(struct gp_launch *l, char *const argv[], bool stdout_to_stderr,
                    struct gp_err *err) GP_MUST_CHECK;
/* Without a command: signals that are kept arrive. */
GP_MUST_CHECK int gp_launch_watch(struct gp_launch *l, struct gp_err *err);
/* Handle signals and ends of processes, once events_fd is readable. */
void gp_launch_events(struct gp_launch *l);

/* ---- the environment of the command ----
 * How processes of the command find us: the injected library and the socket, in environment
 * variables. Reads and writes the environment, so it is not part of a library.
 *
 *     if (gp_environment_library(&path, &err)) ...
 *     replaced = gp_environment_set("CUDA_INJECTION64_PATH", path);
 *     listen_fd = gp_environment_listen(&err);
 */

/* The path of the injected library: from the environment, or in a library folder beside the one this program
 * is in. */
GP_MUST_CHECK int gp_environment_library(struct gp_buf *path, struct gp_err *err);
/* The path of another program of the suite, which lies beside this one. */
void gp_environment_beside(struct gp_buf *path, const char *program);
/* The folder that holds the Python package gputrace: in the build, installed, or around the package that
 * bundles this program. */
GP_MUST_CHECK int gp_environment_package(struct gp_buf *path, struct gp_err *err);
/* Set a variable. Returns a value that was lost by that, for a message; the caller frees it. NULL: none. */
char *gp_environment_set(const char *name, const char *value);
/* A socket at a new address, which processes find in the environment; -1 with ERR filled. */
int gp_environment_listen(struct gp_err *err);

#endif
