/* fleet.h -- the body of trace-fleet: digests sent, received, recorded and forwarded, and its output. */
#ifndef GP_RENDER_FLEET_FLEET_H
#define GP_RENDER_FLEET_FLEET_H

#include <stdio.h>
#include "analyze/live/digest.h"
#include "analyze/live/watch.h"
#include "analyze/live/window.h"
#include "formats/base/declare.h"
#include "formats/base/output.h"

/* ---- messages: checked, counted, recorded, and compared or merged and passed on ---- */

enum { GP_INTAKE_OFF_S = 60 };

struct gp_intake {
    struct gp_digest_key key;
    struct gp_watch *watch; /* compares, or merges and passes on to FORWARD */
    int forward;
    FILE *record;           /* of messages, as they come; NULL */
    struct gp_output *copy; /* of messages in files, whole or not at all; NULL */
    bool replay;            /* of files: the time is that of the digests */
    uint64_t used, refused;
    uint64_t off; /* refused because their time is more than GP_INTAKE_OFF_S from this machine's */
    uint64_t forwarded, dropped; /* merged digests passed on; those that could not be */
};

/* CTX is a struct gp_intake. */
void gp_intake_message(void *ctx, const void *data, size_t n);
/* Messages that have arrived at FD. */
void gp_intake_receive(struct gp_intake *in, int fd);
/* Pass D on: for gp_watch_new_merging(), with a struct gp_intake. */
void gp_intake_forward(void *ctx, const struct gp_digest *d, const struct gp_strings *names);

/* Record to PATH, unless it is NULL; and end that. FAILED is passed on. */
GP_MUST_CHECK int gp_intake_record(struct gp_intake *in, const char *path, struct gp_err *err);
GP_MUST_CHECK int gp_intake_end(struct gp_intake *in, const char *path, int failed, struct gp_err *err);

/* Open PATH for writing, unless it is NULL; and close FILE, unless it is NULL. FAILED is passed on. */
GP_MUST_CHECK int gp_intake_open(const char *path, FILE **to, struct gp_err *err);
GP_MUST_CHECK int gp_intake_close(const char *path, FILE *file, int failed, struct gp_err *err);

/* ---- sending ---- */

/* Digests of a recording while it is written: about once per second, the means of the steps that have
 * come. */

/* The mean time of a call of a kernel, in which later digests weigh more. */
struct gp_sender_usual {
    uint32_t n;
    int64_t ns;
};

struct gp_sender {
    const char *address;
    int fd; /* -1: nobody listens; tried again with each digest */
    struct gp_digest_key key;
    uint64_t run;
    uint32_t host;               /* a hash of the host name, for devices without a rank */
    uint64_t seq, sent, dropped; /* digests */
    uint64_t unranked; /* digests of devices of no known rank, which have the rank of their number */
    /* private */
    struct gp_window window;
    struct gp_strings names;              /* of kernels */
    GP_VEC(struct gp_sender_usual) usual; /* by name */
    int64_t begun_ns, due_ns;
};

/* Overwrite S. -1 with ERR when nobody listens at ADDRESS, which is tried again, or, GP_E_USAGE, when it is
 * not an address. */
GP_MUST_CHECK int gp_sender_open(struct gp_sender *s, const char *address, const struct gp_digest_key *key,
                                 struct gp_err *err);
/* Send digests of the recording that IN is read from, to its end. -1 with ERR: it is not one of
 * gpuprof-collect. */
GP_MUST_CHECK int gp_sender_run(struct gp_sender *s, int in, struct gp_err *err);

/* ---- output ---- */

/* One line, described by schemas/trace-fleet.schema.json where JSON. */
void gp_watch_line(struct gp_buf *b, const struct gp_watch_event *e, bool json);
void gp_watch_openmetrics(struct gp_buf *b, const struct gp_watch_state *s);

#endif
