/* intake.h -- what becomes of a message: checked, counted, recorded, and compared or merged and passed on.
 *
 *     struct gp_intake in = {.key = key, .watch = watch, .forward = -1};
 *     gp_intake_receive(&in, fd);
 */
#ifndef GP_RENDER_FLEET_INTAKE_H
#define GP_RENDER_FLEET_INTAKE_H

#include <stdio.h>
#include "analyze/live/watch.h"
#include "formats/base/output.h"

enum { GP_INTAKE_OFF_S = 60 };

struct gp_intake {
    struct gp_digest_key key;
    struct gp_watch *watch; /* compares, or merges and passes on to FORWARD */
    int forward;
    FILE *record;           /* or NULL: of what is heard, as it comes */
    struct gp_output *copy; /* or NULL: of what files hold, whole or not at all */
    bool replay;            /* of files: time is what digests say */
    uint64_t used, refused;
    uint64_t off; /* refused since their time is more than GP_INTAKE_OFF_S from this machine's */
    uint64_t forwarded, dropped; /* merged digests that were to be passed on; those that could not be */
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

/* Open PATH for writing, unless it is NULL; and close what is open, if it is. FAILED is passed on. */
GP_MUST_CHECK int gp_intake_open(const char *path, FILE **to, struct gp_err *err);
GP_MUST_CHECK int gp_intake_close(const char *path, FILE *file, int failed, struct gp_err *err);

#endif
