/* inject_window.h -- the capture window of this process (collect/wire/capture_window.h), and its switches.
 */
#ifndef GP_COLLECT_INJECT_INJECT_WINDOW_H
#define GP_COLLECT_INJECT_INJECT_WINDOW_H

#include <stdbool.h>
#include <stdint.h>
#include "collect/wire/capture_window.h"
#include "collect/wire/wire.h"

/* What the capture window switches on and off. `record` returns false if the process must run untraced;
 * `await_end` is gp_tracer_await_end(). */
struct gp_inject_switches {
    bool (*record)(bool on);
    int64_t (*await_end)(void (*then)(void));
    void (*count_launches)(bool on);
    void (*watch_ranges)(bool on);
};
/* From now on the process is recorded as OPTS specify. Whatever opens or closes the window operates the
 * SWITCHES, which are static, at once. False if the process must run untraced. */
bool gp_inject_window_start(const struct gp_capture_opts *opts, const struct gp_inject_switches *switches);
void gp_inject_profiler(bool start);
void gp_inject_launch(bool begins); /* otherwise it has ended */
void gp_inject_window_set(bool open);
/* Close it where a call of the program ends, or soon. Flush thread only, as everything that closes it by a
 * time. */
void gp_inject_window_close(void);
/* The same, and wait for it, LEAST_NS if no call ends. */
void gp_inject_window_end(int64_t least_ns);
/* Is the process being recorded, except for pauses? */
bool gp_inject_window_is_open(void);
/* Record nothing for a while, whatever else opens the window, or no longer. */
void gp_inject_window_pause(bool paused);
/* Has the window been closed since SINCE_NS? Then LEND CUPTI, unless that is NULL; see gp_tracer_lend().
 * Flush thread only. */
bool gp_inject_window_leave(int64_t since_ns, bool (*lend)(void));
/* How many windows began before; RECORDING: is NS in one of them? */
uint64_t gp_inject_window_before(int64_t ns, bool *recording);
/* See gp_capture_range_begins(). */
bool gp_inject_range_begins(unsigned which, const char *domain, const char *text, int64_t ns);
void gp_inject_range_ends(unsigned which, int64_t ns);
/* When to call gp_inject_window_tick(), 0: no need. */
int64_t gp_inject_window_due(void);
void gp_inject_window_tick(int64_t now_ns);
/* Report each window that has begun or ended since the last call; flush thread only. */
void gp_inject_window_windows(void (*tell)(void *ctx, const struct gp_wire_window *w), void *ctx);
void gp_inject_window_forked(void);

#endif
