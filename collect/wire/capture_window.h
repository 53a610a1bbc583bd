/* capture_window.h -- when a process is recorded: the triggers that open and close the recording, and the
 * windows of time in which it was open. Only counts and compares: does not know CUPTI, NVTX, threads or
 * sockets. One caller at a time.
 *
 *     gp_capture_init(&g, &opts, now_ns);
 *     if (gp_capture_launch_ends(&g, now_ns)) switch_recording(g.open);
 *     if (gp_capture_clip(&g, &start_ns, &end_ns)) write_range(start_ns, end_ns);
 */
#ifndef GP_COLLECT_WIRE_CAPTURE_WINDOW_H
#define GP_COLLECT_WIRE_CAPTURE_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "formats/base/vec.h"

enum gp_when {
    GP_WHEN_UNSET,    /* start: from the beginning; stop: at the end of the trigger, or of the process */
    GP_WHEN_PROFILER, /* cudaProfilerStart(), cudaProfilerStop() */
    GP_WHEN_RANGE,    /* an NVTX range begins, ends */
    GP_WHEN_LAUNCH,   /* this many kernels and graphs have been launched */
    GP_WHEN_SIGNAL,   /* the launcher receives a signal and informs the processes */
    GP_WHEN_TIME,     /* this long after the start of the command; the launcher informs the processes */
    GP_WHEN_PACE,     /* the launcher knows how long steps take, and informs the processes */
};

/* As sent over the wire: no pointers. */
struct gp_trigger {
    uint32_t when;  /* enum gp_when */
    int32_t signal; /* GP_WHEN_SIGNAL */
    uint64_t n; /* GP_WHEN_LAUNCH: launches; GP_WHEN_RANGE: only the n-th range of that name, 0 all of them */
    int64_t time_ns; /* GP_WHEN_TIME */
    char name[104];  /* GP_WHEN_RANGE: "NAME" or "DOMAIN:NAME" */
};

struct gp_capture_opts {
    struct gp_trigger start, stop;
    int64_t duration_ns; /* closed for good this long after it was first opened; 0: never */
    uint32_t open;       /* from the beginning */
    uint32_t late;       /* which is not that of the process */
};

struct gp_window {
    int64_t start_ns, end_ns;
};

enum { GP_CAPTURE_START, GP_CAPTURE_STOP };

struct gp_capture {
    struct gp_capture_opts opts;
    bool open;
    bool wanted; /* it would be open, were it not paused */
    bool paused;
    int64_t due_ns; /* when gp_capture_tick() closes it; 0: never */
    bool over;      /* closed for good */
    uint64_t launches, begun[2];
    GP_VEC(struct gp_window) windows; /* in order, the last one ends at INT64_MAX while it is open */
};

/* Read TEXT: profiler, range:NAME, range:NAME@N, launch:N, SIGUSR1, SIGUSR2. False if it is none of them. */
bool gp_trigger_parse(const char *text, struct gp_trigger *t);

void gp_capture_init(struct gp_capture *g, const struct gp_capture_opts *opts, int64_t now_ns);
void gp_capture_release(struct gp_capture *g);
/* Each of these returns true if it opened or closed the window. */
bool gp_capture_set(struct gp_capture *g, bool open, int64_t now_ns);
/* Close it for a while, whatever else opens it, or no longer. */
bool gp_capture_pause(struct gp_capture *g, bool paused, int64_t now_ns);
bool gp_capture_profiler(struct gp_capture *g, bool start, int64_t now_ns);
/* Before and after each launch. The window opens after the launch that it counts to, and closes before the
 * next one. */
bool gp_capture_launch_begins(struct gp_capture *g, int64_t now_ns);
bool gp_capture_launch_ends(struct gp_capture *g, int64_t now_ns);
/* Do launches still matter? */
bool gp_capture_counts_launches(const struct gp_capture *g);
bool gp_capture_tick(struct gp_capture *g, int64_t now_ns);
/* Does trigger WHICH wait for a range of that name? Reads only constants, so it may be called at any
 * time. */
bool gp_capture_range_matters(const struct gp_capture *g, unsigned which, const char *domain,
                              const char *text);
/* A range begins. Must its end be reported to gp_capture_range_ends() for trigger WHICH? *CHANGED as
 * above. */
bool gp_capture_range_begins(struct gp_capture *g, unsigned which, const char *domain, const char *text,
                             int64_t now_ns, bool *changed);
bool gp_capture_range_ends(struct gp_capture *g, unsigned which, int64_t now_ns);
/* Clip a range to the windows that it touches, from the first one's start to the last one's end. False if it
 * touches none. */
bool gp_capture_clip(const struct gp_capture *g, int64_t *start_ns, int64_t *end_ns);
/* How many windows began before. */
size_t gp_capture_before(const struct gp_capture *g, int64_t ns);

/* ---- in the launcher ----
 * Signals and times, which concern all processes at once. The rest (the profiler API, ranges, launches)
 * happens inside the processes. Does not handle signals itself.
 *
 *     gp_control_init(&c, &start, &stop, duration_ns);
 *     launch.kept = gp_control_signals(&c);         // for us, not for the command
 *     gp_control_begin(&c, now_ns);
 *     if (gp_control_turn(&c, signals, now_ns)) gp_hub_record(hub, c.capture.open);
 */
struct gp_control {
    struct gp_capture_opts capture; /* sent to the processes; open changes with time */
    int64_t start_ns, stop_ns;      /* the time to do so, 0: never (again) */
};

/* A trigger that was not given is GP_WHEN_UNSET: recording starts with the command, and stops at the end of
 * what it starts with. */
void gp_control_init(struct gp_control *c, const struct gp_trigger *start, const struct gp_trigger *stop,
                     int64_t duration_ns);
/* The signals that it handles, as bits 1 << signal. */
uint64_t gp_control_signals(const struct gp_control *c);
/* Recording that waits for the pace (GP_WHEN_PACE) begins without it after so long. */
#define GP_CONTROL_PATIENCE_NS INT64_C(120000000000)
/* Does it still wait? Set start_ns to begin. */
bool gp_control_awaits_pace(const struct gp_control *c);
/* The command has been started. */
void gp_control_begin(struct gp_control *c, int64_t now_ns);
/* SIGNALS (bits) arrived, or time passed. True if the new c->capture.open must be sent to the processes. */
bool gp_control_turn(struct gp_control *c, uint64_t signals, int64_t now_ns);
/* The latest time to call gp_control_turn(), 0: no need. */
int64_t gp_control_due(const struct gp_control *c);

#endif
