/* gate.h -- when a process is recorded: what opens and closes the recording, and the windows of time in which
 * it was open. Only counts and compares: does not know CUPTI, NVTX, threads or sockets. One caller at a time.
 *
 *     gp_gate_init(&g, &opts, now_ns);
 *     if (gp_gate_launch_ends(&g, now_ns)) switch_recording(g.open);
 *     if (gp_gate_clip(&g, &start_ns, &end_ns)) write_range(start_ns, end_ns);
 */
#ifndef GP_COLLECT_WIRE_GATE_H
#define GP_COLLECT_WIRE_GATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "formats/base/vec.h"

enum gp_when {
    GP_WHEN_UNSET,    /* start: from the beginning; stop: at the end of what started, or of the process */
    GP_WHEN_PROFILER, /* cudaProfilerStart(), cudaProfilerStop() */
    GP_WHEN_RANGE,    /* an NVTX range begins, ends */
    GP_WHEN_LAUNCH,   /* this many kernels and graphs have been launched */
    GP_WHEN_SIGNAL,   /* the launcher receives a signal and informs the processes */
    GP_WHEN_TIME,     /* this long after the start of the command; the launcher informs the processes */
};

/* As sent over the wire: no pointers. */
struct gp_trigger {
    uint32_t when;  /* enum gp_when */
    int32_t signal; /* GP_WHEN_SIGNAL */
    uint64_t n; /* GP_WHEN_LAUNCH: launches; GP_WHEN_RANGE: only the n-th range of that name, 0 all of them */
    int64_t time_ns; /* GP_WHEN_TIME */
    char name[104];  /* GP_WHEN_RANGE: "NAME" or "DOMAIN:NAME" */
};

struct gp_gate_opts {
    struct gp_trigger start, stop;
    int64_t duration_ns; /* closed for good this long after it was first opened; 0: never */
    uint32_t open;       /* from the beginning */
    uint32_t reserved;
};

struct gp_window {
    int64_t start_ns, end_ns;
};

enum { GP_GATE_START, GP_GATE_STOP };

struct gp_gate {
    struct gp_gate_opts opts;
    bool open;
    bool wanted; /* it would be open, were it not paused */
    bool paused;
    int64_t due_ns; /* when gp_gate_tick() closes it; 0: never */
    bool over;      /* closed for good */
    uint64_t launches, begun[2];
    GP_VEC(struct gp_window) windows; /* in order, the last one ends at INT64_MAX while it is open */
};

/* Read TEXT: profiler, range:NAME, range:NAME@N, launch:N, SIGUSR1, SIGUSR2. False if it is none of them. */
bool gp_trigger_parse(const char *text, struct gp_trigger *t);

void gp_gate_init(struct gp_gate *g, const struct gp_gate_opts *opts, int64_t now_ns);
void gp_gate_release(struct gp_gate *g);
/* Each of these returns true if it opened or closed the gate. */
bool gp_gate_set(struct gp_gate *g, bool open, int64_t now_ns);
/* Close it for a while, whatever else opens it, or no longer. */
bool gp_gate_pause(struct gp_gate *g, bool paused, int64_t now_ns);
bool gp_gate_profiler(struct gp_gate *g, bool start, int64_t now_ns);
/* Before and after each launch. The gate opens after the launch that it counts to, and closes before the next
 * one. */
bool gp_gate_launch_begins(struct gp_gate *g, int64_t now_ns);
bool gp_gate_launch_ends(struct gp_gate *g, int64_t now_ns);
/* Do launches still matter? */
bool gp_gate_counts_launches(const struct gp_gate *g);
bool gp_gate_tick(struct gp_gate *g, int64_t now_ns);
/* Does trigger WHICH wait for a range of that name? Reads only what never changes, so it may be called at any
 * time. */
bool gp_gate_range_matters(const struct gp_gate *g, unsigned which, const char *domain, const char *text);
/* A range begins. Must its end be reported to gp_gate_range_ends() for trigger WHICH? *CHANGED as above. */
bool gp_gate_range_begins(struct gp_gate *g, unsigned which, const char *domain, const char *text,
                          int64_t now_ns, bool *changed);
bool gp_gate_range_ends(struct gp_gate *g, unsigned which, int64_t now_ns);
/* Clip a range to the windows that it touches, from the first one's start to the last one's end. False if it
 * touches none. */
bool gp_gate_clip(const struct gp_gate *g, int64_t *start_ns, int64_t *end_ns);

#endif
