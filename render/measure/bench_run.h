/* bench_run.h -- runs gpuprof-bench, several at once if asked, and hands out what they print line by line. A
 * program that crashes, or says nothing for too long and is killed, ends with a line that says so. Knows
 * nothing of measurements.
 *
 *     struct gp_bench_job jobs[] = {{.args = {"figures", "0", "quick"}}, {.args = {"figures", "1", "quick"}}};
 *     if (gp_bench_run(program, jobs, 2, INT64_C(60000000000), take_line, &context, &err)) ...
 */
#ifndef GP_COLLECT_BENCH_RUN_H
#define GP_COLLECT_BENCH_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "formats/base/buf.h"

struct gp_bench_job {
    const char *args[8]; /* after the program's name; NULL ends them */
    /* while it runs */
    pid_t pid;
    int fd; /* -1: it has ended */
    struct gp_buf line;
    int64_t heard_ns; /* when it said something last */
};

/* Run N jobs to their end; LINE gets each complete line of job I, without the newline. A job that is silent
 * for QUIET_NS is killed. -1 with ERR if a program cannot be started; others are then ended. */
GP_MUST_CHECK int gp_bench_run(const char *program, struct gp_bench_job *jobs, size_t n, int64_t quiet_ns,
                               void (*line)(void *context, size_t i, const char *text), void *context,
                               struct gp_err *err);

/* Where gpuprof-bench is: $GPUPROF_BENCH, or beside the library that is injected. -1 with ERR: nowhere. */
GP_MUST_CHECK int gp_bench_find(struct gp_buf *path, struct gp_err *err);

#endif
