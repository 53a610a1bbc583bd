/* wakeup.h -- wakes the flush thread when there is work for it. Any thread may, at no cost to speak of.
 *
 *     gp_inject_wake(false);                        // a thread of the program
 *     unsigned work = gp_inject_wakeup_wait(due_ns);  // the flush thread
 */
#ifndef GP_COLLECT_INJECT_WAKEUP_H
#define GP_COLLECT_INJECT_WAKEUP_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum { GP_WORK = 1, GP_WORK_WRITE = 2, GP_WORK_SOON = 4 };

/* Wake the flush thread early: buffers wait, or a ring is half full; with WRITE, their content is written at
 * once, because the program may be about to end. Cheap, callable from any thread. */
void gp_inject_wake(bool write);
/* Recording has begun: flush sooner than usual. */
void gp_inject_soon(void);

/* Call before any thread exists: MONOTONIC is on CLOCK_MONOTONIC. */
void gp_inject_wakeup_init(const pthread_condattr_t *monotonic);
/* Wait until DUE or until there is work. Returns GP_WORK bits; flush thread only. */
unsigned gp_inject_wakeup_wait(int64_t due_ns);
/* In a fork child; with MUTE, nobody will ever wait. */
void gp_inject_wakeup_forked(bool mute);

#endif
