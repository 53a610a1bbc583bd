/* collect.h -- one run: starts the command, serves its processes until it has ended, and closes the trace.
 * One at a time, because of the signal handlers of launch.h. Prints nothing.
 *
 *     struct gp_collect c = {.opts = &opts, .plan = plan, .args = args, .nargs = n, .say = print_message};
 *     if (gp_collect_open(&c, &err)) ...
 *     failed = gp_collect_run(&c, &about, &err);
 *     return c.launch.status;
 */
#ifndef GP_COLLECT_COLLECT_H
#define GP_COLLECT_COLLECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "collect/attach/reach.h"
#include "collect/clocks/clocks.h"
#include "collect/launcher/about.h"
#include "collect/launcher/digest_pipe.h"
#include "collect/hub.h"
#include "collect/launcher/host.h"
#include "collect/launcher/launch.h"
#include "collect/launcher/live.h"
#include "collect/output.h"
#include "collect/launcher/collect_plan.h"
#include "collect/pm/pm_process.h"
#include "collect/recorder.h"
#include "formats/base/err.h"

/* Sums of the recording for --metrics-file, which the caller makes. */
struct gp_collect_sums {
    gp_session_events *add; /* NULL: none are wanted */
    /* Append the sums so far as text; LOST: events known to be lost. */
    void (*write)(void *ctx, uint64_t lost, struct gp_buf *to);
    void *ctx;
};

enum { GP_COLLECT_SINKS = 4 };

struct gp_collect {
    const struct gp_collect_opts *opts;
    struct gp_collect_plan plan;
    const char *const *args; /* the command */
    size_t nargs;
    char library[512];                /* the injected one, for --pid */
    void (*say)(const char *message); /* something happened that people want to know of */
    struct gp_collect_sums sums;
    /* filled by gp_collect_run() */
    struct gp_launch launch;
    /* private */
    struct gp_outputs outs;
    struct gp_hub *hub;
    struct gp_recorder *recorder;                 /* NULL without --last */
    int64_t metrics_due_ns;                       /* when the sums are written next */
    struct gp_live *live;                         /* NULL without --serve */
    struct gp_digest_pipe *digest_pipe;           /* NULL without --digest */
    struct gp_host *host;                         /* NULL without --sample */
    struct gp_pm *pm;                             /* NULL without --sample-metrics */
    struct gp_clocks *clocks;                     /* NULL with --no-clocks */
    struct gp_triggers *triggers;                 /* NULL without --dump */
    int64_t idle_since_ns;                        /* idle time that was dumped already began there */
    struct gp_block_sink sinks[GP_COLLECT_SINKS]; /* in the order in which they get each block */
    size_t nsinks;
    struct gp_err output_err; /* why one of the traces could not be made */
    int trace_fd, listen_fd, wake[2];
    bool reader_left;
    int64_t began_ns;  /* when the command was started */
    uint32_t recorded; /* --pid: so many have begun */
    bool leaving;      /* --pid: the processes have been asked to end the recording */
    int64_t until_ns;  /* --pid: that is waited for, or the recording lasts, until then; 0: no end */
};

/* Make everything ready that can fail before the command starts: standard output, sockets, the trace. The
 * environment of the command is set by the caller. */
GP_MUST_CHECK int gp_collect_open(struct gp_collect *c, struct gp_err *err);
/* Run the command to its end. ABOUT gets the facts for the report; its `ended` is false when the command
 * could not be started. -1 with ERR filled when that failed, or writing a trace. c->launch.status is the exit
 * status; where only a trace failed it is the command's. */
GP_MUST_CHECK int gp_collect_run(struct gp_collect *c, struct gp_about *about, struct gp_err *err);

/* --list: to standard output, or to --output. */
GP_MUST_CHECK int gp_collect_list_processes(const struct gp_collect_opts *o, struct gp_err *err);

/* Without a command: print the address on standard output, go on in the background, and serve processes that
 * attach themselves until standard input has ended and the last of them is gone. */
GP_MUST_CHECK int gp_collect_serve(struct gp_collect *c, struct gp_about *about, struct gp_err *err);

#endif
