/* sampler.h -- a thread that samples the Python stacks of a process and of all its descendants, and keeps
 * the samples until somebody takes them: runs of equal stacks of a thread. Stops nothing, attaches to
 * nothing, and needs no help of the program.
 *
 *     struct gp_sampler *s = gp_sampler_new(5000000);
 *     gp_sampler_start(s, pid);
 *     gp_sampler_take(s, take_run, ctx);                  // now and then
 *     gp_sampler_stop(s);
 *     gp_sampler_take(s, take_run, ctx);
 *     gp_sampler_free(s);
 */
#ifndef GP_COLLECT_SAMPLE_SAMPLER_H
#define GP_COLLECT_SAMPLE_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <stddef.h>
#include "collect/sample/python.h"
#include "formats/base/declare.h"

enum { GP_SAMPLE_RATE_LEAST = 1, GP_SAMPLE_RATE_MOST = 1000, GP_SAMPLE_RATE = 200 };

/* COUNT samples of a thread in which it did the same. */
struct gp_sample_run {
    int32_t pid;
    int64_t tid;
    int64_t first_ns, last_ns; /* CLOCK_MONOTONIC */
    uint32_t count, stack;
    uint8_t does; /* enum gp_thread_does */
    bool partial;
};

struct gp_sampler_counts {
    struct gp_py_counts samples;
    uint64_t processes; /* that were sampled */
    uint64_t runs_lost; /* nobody took them */
    uint64_t late;      /* times that it could not look */
    uint64_t calls;     /* of the system, to read memory */
    int64_t cpu_ns;     /* of the thread */
    bool forbidden;     /* reading was not permitted in at least one process */
    int32_t forbidden_pid;
    const char *unknown; /* why an interpreter was not sampled, NULL: all were; static */
};

struct gp_sampler;

/* Looks every PERIOD_NS on average. */
struct gp_sampler *gp_sampler_new(int64_t period_ns);
/* Begin with PID. Blocks no signal of the caller and receives none. */
int gp_sampler_start(struct gp_sampler *s, pid_t pid, struct gp_err *err) GP_MUST_CHECK;
/* End the thread; its runs stay. */
void gp_sampler_stop(struct gp_sampler *s);
/* Hand over the runs so far, in the order of time of each thread. STACKS is valid during the call
 * only. */
void gp_sampler_take(struct gp_sampler *s,
                     void (*take)(void *ctx, const struct gp_sample_run *run, const struct gp_stacks *stacks),
                     void *ctx);
struct gp_sampler_counts gp_sampler_counts(struct gp_sampler *s);
void gp_sampler_free(struct gp_sampler *s);

/* ---- the processes to sample ----
 * A process and its descendants, found in /proc.
 *
 *     struct gp_family f = {.root = pid};
 *     gp_family_look(&f);
 *     for (size_t i = 0; i < f.n; i++) use(f.pid[i]);
 */

enum { GP_FAMILY_MOST = 64 };

struct gp_family {
    pid_t root;
    pid_t pid[GP_FAMILY_MOST]; /* the root first, if it lives */
    size_t n;
};

/* Who lives now; of more than GP_FAMILY_MOST the first. */
void gp_family_look(struct gp_family *f);

#endif
