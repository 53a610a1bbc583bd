/* shared.h -- memory that the launcher owns and a traced process fills, so that its content outlives the
 * process: the activity buffers ("slots", each with a state), a log of the names that records only point at,
 * and the sizes of records. Either side may disappear or misbehave at any moment: the launcher checks
 * everything that it takes from here. Does not know what records are, and takes no locks: each slot belongs
 * to one side at a time, by its state.
 *
 *     int fd = gp_shared_make(&opts, &err);                           // launcher; the process is sent FD
 *     if (!gp_shared_map(&s, fd, &opts)) ...                          // both; FD may be closed then
 *     gp_shared_log(&s, GP_NAME_TEXT, address, "gemm");               // process
 *     while (gp_shared_read_log(&s, until, &name)) use(&name);        // launcher
 */
#ifndef GP_COLLECT_WIRE_SHARED_H
#define GP_COLLECT_WIRE_SHARED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "formats/base/declare.h"

enum {
    GP_SHARED_KINDS = 128,
    GP_SHARED_TEXT = 1 << 16,
    GP_SHARED_LOG = 16 << 20,
    GP_SHARED_WAITING = 160 << 20
};

/* The owner and the content of a slot. */
enum gp_slot_state {
    GP_SLOT_FREE,     /* the process's: zeroed, ready for use or never used */
    GP_SLOT_OUT,      /* CUPTI's: it is being filled */
    GP_SLOT_RETURNED, /* the process's: filled, its names are not in the log yet */
    GP_SLOT_FILLED,   /* the launcher's */
    GP_SLOT_DONE,     /* the process's: read and zeroed by the launcher */
};

struct gp_slot {
    _Atomic uint32_t state; /* enum gp_slot_state */
    uint32_t valid;         /* bytes; from RETURNED on */
    uint64_t seq;           /* in the order in which they were returned, from 1 on */
    uint64_t records;       /* how many; only FILLED */
    uint64_t names;         /* where the log ended at that time; only FILLED */
    uint64_t reserved[4];   /* a cache line each */
};

/* The options that both sides must share. */
struct gp_shared_opts {
    uint32_t slots, buffer_bytes;
};

struct gp_shared {
    uint8_t *map; /* NULL: none */
    size_t bytes, log_at, buffers_at;
    struct gp_shared_opts opts;
    uint64_t log_read; /* the launcher's own count, which no other process can change */
};

enum gp_name_kind {
    GP_NAME_PAD,
    GP_NAME_TEXT,    /* KEY is the address of a text */
    GP_NAME_THREAD,  /* a thread id */
    GP_NAME_RUNTIME, /* the number of a call of that API */
    GP_NAME_DRIVER,
};

struct gp_name {
    enum gp_name_kind kind;
    uint64_t key;
    const char *text; /* N bytes, no NUL; in memory that the other side may write to */
    size_t n;
};

/* The number of slots for a process: those with GP_SHARED_WAITING bytes of records, and those that are being
 * filled. */
struct gp_shared_opts gp_shared_size(uint32_t buffer_bytes);
/* How many addresses memory of that shape takes up. */
size_t gp_shared_bytes(const struct gp_shared_opts *opts);
/* Create memory of that shape that cannot shrink. Only touched pages take up memory. -1 with ERR filled. */
int gp_shared_make(const struct gp_shared_opts *opts, struct gp_err *err) GP_MUST_CHECK;
/* Map it; FD is no longer needed then. False with errno set if it is too small, can
 * shrink, or there is no room. */
bool gp_shared_map(struct gp_shared *s, int fd, const struct gp_shared_opts *opts) GP_MUST_CHECK;
void gp_shared_unmap(struct gp_shared *s);
/* In a fork child: private zeroed memory in the same place. */
void gp_shared_forget(struct gp_shared *s);

struct gp_slot *gp_shared_slot(const struct gp_shared *s, size_t i);
uint8_t *gp_shared_buffer(const struct gp_shared *s, size_t i);
/* The slot that contains P; false if there is none. */
bool gp_shared_find(const struct gp_shared *s, const uint8_t *p, size_t *i);
/* Zero what CUPTI has written in a buffer of which it reported VALID bytes as filled. */
void gp_shared_clear(const struct gp_shared *s, size_t i, size_t valid);
/* Return the memory of a zeroed buffer to the system. */
void gp_shared_trim(const struct gp_shared *s, size_t i);

/* ---- the process's side: one thread ---- */

/* False if there is no room until the launcher has read more. Texts over GP_SHARED_TEXT bytes are cut. */
bool gp_shared_log(struct gp_shared *s, enum gp_name_kind kind, uint64_t key, const char *text);
uint64_t gp_shared_logged(const struct gp_shared *s);
/* Set the size of records of that kind. */
void gp_shared_learn(struct gp_shared *s, uint32_t kind, size_t bytes);
/* Times of records are on the process's CLOCK_MONOTONIC and not before that; 0, the initial value: any
 * time. */
void gp_shared_set_earliest(struct gp_shared *s, int64_t ns);

/* ---- the launcher's side ---- */

/* The next name before UNTIL (UINT64_MAX: all of them); false if there is none. An invalid log ends early. */
bool gp_shared_read_log(struct gp_shared *s, uint64_t until, struct gp_name *name);
/* Bytes of a record of that kind, 0 unknown. */
size_t gp_shared_record_bytes(const struct gp_shared *s, uint32_t kind);
int64_t gp_shared_earliest(const struct gp_shared *s);

#endif
