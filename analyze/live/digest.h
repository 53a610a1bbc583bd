/* digest.h -- what a rank reports of its last steps while it runs: a message of at most 3 KB with the figures
 * that a fleet compares, authenticated by a secret that sender and receiver share. Knows no sockets.
 *
 *     struct gp_digest d = {.seq = 7, .merged = 1, .time_ns = now, .member = member};
 *     gp_digest_put(&buf, &d, &key);                              // one message
 *     if (gp_digest_get(&d, &strings, data, n, &key, &err)) ...   // refused: damaged, or of another secret
 *     gp_digest_release(&d);
 */
#ifndef GP_ANALYZE_LIVE_DIGEST_H
#define GP_ANALYZE_LIVE_DIGEST_H

#include <stddef.h>
#include <stdint.h>
#include "analyze/fleet/fleet.h"
#include "formats/base/declare.h"

enum { GP_DIGEST_BYTES = 3072, GP_DIGEST_KERNELS = 16, GP_DIGEST_NAME = 120, GP_DIGEST_MERGED = 1 << 12 };

/* Of the secret; all zero without one. Who knows it can send anything, and who does not nothing; digests can
 * be read. */
struct gp_digest_key {
    uint64_t k[2];
};

struct gp_digest {
    uint64_t run, seq; /* of the sender: which process of it, and which message */
    int64_t time_ns;   /* CLOCK_REALTIME of the sender, from 0 to the year 2116 */
    int64_t last_step; /* number of the last step that it is about */
    uint64_t dropped;  /* messages that could not be sent before */
    uint64_t merged;   /* messages that this one stands for, itself included; the last of them has this SEQ */
    struct gp_fleet_member member;
    /* Of a call of each of its kernels on this rank before; 0: not known. */
    int64_t usual_ns[GP_DIGEST_KERNELS];
};

/* The key of a secret of N bytes. */
struct gp_digest_key gp_digest_key_of(const void *secret, size_t n);
/* The key of the secret in the file PATH, which nobody else may read; NULL: none. */
GP_MUST_CHECK int gp_digest_key_read(const char *path, struct gp_digest_key *key, struct gp_err *err);
/* Append one message. The names of D are of NAMES; long ones are cut, and small kernels left out, to fit. */
void gp_digest_put(struct gp_buf *to, const struct gp_digest *d, const struct gp_strings *names,
                   const struct gp_digest_key *key);
/* Sign the message that begins at START of B anew; tests change messages. */
void gp_digest_sign(struct gp_buf *b, size_t start, const struct gp_digest_key *key);
/* Fill D, whose names go to NAMES, from a message of N bytes. No kernel is in it twice. On failure D is
 * empty. */
GP_MUST_CHECK int gp_digest_get(struct gp_digest *d, struct gp_strings *names, const void *data, size_t n,
                                const struct gp_digest_key *key, struct gp_err *err);
void gp_digest_release(struct gp_digest *d);

typedef void gp_digest_message_fn(void *ctx, const void *data, size_t n);
/* Read a file of messages, each after two bytes with its length, low byte first, as gp_digest_frame() makes
 * them; "-" is standard input. -1 with ERR filled and the place: the file cannot be read, is empty, or ends
 * within a message. */
GP_MUST_CHECK int gp_digest_read(const char *path, gp_digest_message_fn *message, void *ctx,
                                 struct gp_err *err);
/* Append a message of N bytes for such a file. */
void gp_digest_frame(struct gp_buf *to, const void *data, size_t n);

#endif
