/* inject_link.h -- the connection of this process to the launcher. Flush thread only, unless it says
 * otherwise.
 *
 *     if (!gp_link_open(&opts, &memory)) return false;
 *     gp_link_send(GP_WIRE_FILLED, &frame, sizeof frame);
 *     gp_link_hear();
 *     if (gp_link_is_broken()) ...
 */
#ifndef GP_COLLECT_INJECT_INJECT_LINK_H
#define GP_COLLECT_INJECT_INJECT_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "collect/wire/wire.h"

/* Connect, or take FD, which is connected, if it is not -1; say HELLO; OPTS gets the WELCOME, MEMORY the
 * descriptor that comes with it. False after a message. FD is taken. */
bool gp_link_open(int fd, struct gp_wire_welcome *opts, int *memory);
/* Say BYE before anything was recorded, and close. */
void gp_link_close(void);
/* The recording is over, or, in a fork child, the parent's. */
void gp_link_end(void);

bool gp_link_is_open(void);
bool gp_link_is_broken(void);
bool gp_link_is_gone(void); /* broken, because the launcher is gone */
bool gp_link_leaves(void);  /* the launcher has ended the recording of this process */
/* Did a launcher listen when gp_link_open() was called last? */
bool gp_link_was_reached(void);
/* A number that changes as long as the flush thread makes progress; MORE: it has made some. Any thread. */
uint64_t gp_link_progress(bool more);

/* Nothing is sent once the connection is broken. */
void gp_link_send(enum gp_wire_type type, const void *data, size_t n);
void gp_link_fact(const char *key, int64_t value);
void gp_link_device(const struct gp_wire_device *device);
/* Nothing if COUNT is 0. */
void gp_link_lose(const char *what, const char *why, uint64_t count);
/* A flush begins; with CLOCK, or if the last time was long ago, with both clocks. */
void gp_link_tick(bool clock);
void gp_link_write(void);
void gp_link_window(void *ctx, const struct gp_wire_window *w);
/* Obey orders of the launcher to record. If it is gone, sending will show it. */
void gp_link_hear(void);
/* Wait for the answer to the end of a session; such orders may come first. False: there will be none. */
bool gp_link_hear_cut(struct gp_wire_cut_done *done);

#endif
