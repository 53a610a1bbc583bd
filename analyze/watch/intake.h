/* intake.h -- what becomes of a message: checked, counted, recorded, and compared or passed on.
 *
 *     struct gp_intake in = {.key = key, .watch = watch, .forward = -1};
 *     gp_net_receive(fd, gp_intake_message, &in);
 */
#ifndef GP_ANALYZE_WATCH_INTAKE_H
#define GP_ANALYZE_WATCH_INTAKE_H

#include <stdio.h>
#include <time.h>
#include "analyze/watch/watch.h"

struct gp_intake {
    struct gp_digest_key key;
    struct gp_watch *watch; /* NULL: messages are passed on to FORWARD */
    int forward;
    FILE *record; /* or NULL */
    bool replay;  /* time is what digests say */
    uint64_t used, refused, dropped;
};

/* CTX is a struct gp_intake. */
void gp_intake_message(void *ctx, const void *data, size_t n);
int64_t gp_intake_clock_ns(clockid_t id);

/* Open PATH for writing, unless it is NULL; and close what is open, if it is. FAILED is passed on. */
GP_MUST_CHECK int gp_intake_open(const char *path, FILE **to, struct gp_err *err);
GP_MUST_CHECK int gp_intake_close(const char *path, FILE *file, int failed, struct gp_err *err);

#endif
