/* send.h -- digests of a recording while it is written: about once per second, the means of the steps that have come.
 *
 *     struct gp_sender s = {.address = "10.0.0.1:7707", .fd = -1, .key = key, .run = run, .host = host};
 *     gp_sender_put(&s, bytes, n, now_ns, real_ns);         // what gpuprof-collect writes
 *     gp_sender_end(&s, real_ns);
 */
#ifndef GP_ANALYZE_WATCH_SEND_H
#define GP_ANALYZE_WATCH_SEND_H

#include "analyze/watch/digest.h"
#include "analyze/watch/window.h"

/* The mean time of a call of a kernel, in which later digests weigh more. */
struct gp_sender_usual {
    uint32_t n;
    int64_t ns;
};

/* Set address, key, run and host, and fd to -1; zero the rest. */
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

/* Send digests of the recording that IN is read from, to its end. -1 with ERR: it is not one of gpuprof-collect. */
GP_MUST_CHECK int gp_sender_run(struct gp_sender *s, int in, struct gp_err *err);

/* False: these are not bytes of a recording. */
bool gp_sender_put(struct gp_sender *s, const void *data, size_t n, int64_t now_ns, int64_t real_ns);
/* Send what is left, and release. */
void gp_sender_end(struct gp_sender *s, int64_t real_ns);

#endif
