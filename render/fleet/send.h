/* send.h -- digests of a recording while it is written: about once per second, the means of the steps that
 * have come.
 *
 *     if (gp_sender_open(&s, "10.0.0.1:7707", &key, &err)) ...
 *     gp_sender_put(&s, bytes, n, now_ns, real_ns);         // what gpuprof-collect writes
 *     gp_sender_end(&s, real_ns);
 */
#ifndef GP_RENDER_FLEET_SEND_H
#define GP_RENDER_FLEET_SEND_H

#include "analyze/live/digest.h"
#include "analyze/live/window.h"

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
    uint32_t host;               /* a number of this machine, which tells apart devices without a rank */
    uint64_t seq, sent, dropped; /* digests */
    uint64_t unranked; /* digests of devices of no known rank, which have the rank of their number */
    /* private */
    struct gp_window window;
    struct gp_strings names;              /* of kernels */
    GP_VEC(struct gp_sender_usual) usual; /* by name */
    int64_t begun_ns, due_ns, wait_ns;
};

/* Overwrite S. -1 with ERR when nobody listens at ADDRESS, which is tried again, or, GP_E_USAGE, when it is
 * not an address. */
GP_MUST_CHECK int gp_sender_open(struct gp_sender *s, const char *address, const struct gp_digest_key *key,
                                 struct gp_err *err);
/* Send digests of the recording that IN is read from, to its end. -1 with ERR: it is not one of
 * gpuprof-collect. */
GP_MUST_CHECK int gp_sender_run(struct gp_sender *s, int in, struct gp_err *err);

/* False: these are not bytes of a recording. */
bool gp_sender_put(struct gp_sender *s, const void *data, size_t n, int64_t now_ns, int64_t real_ns);
/* Send what is left, and release. */
void gp_sender_end(struct gp_sender *s, int64_t real_ns);

#endif
