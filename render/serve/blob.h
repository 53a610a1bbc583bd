/* blob.h -- bytes that never change and that several answers may share, in memory that is a file for the
 * system: a child can write it, and a client can be sent it, without a copy of ours. Safe in several threads.
 *
 *     struct gp_blob *b = gp_blob_take(fd);                 // FD is then its own
 *     const struct gp_blob_part *whole = gp_blob_whole(b), *small = gp_blob_packed(b);
 *     gp_blob_drop(b);
 */
#ifndef GP_RENDER_SERVE_BLOB_H
#define GP_RENDER_SERVE_BLOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "formats/base/declare.h"

struct gp_blob_part {
    int fd;
    uint64_t n;
    char tag[24]; /* of the content, for ETag; without quotes */
};

struct gp_blob;

/* A descriptor to be written and then taken; -1 with errno if there is none. */
int gp_blob_fd(void);
struct gp_blob *gp_blob_take(int fd);
/* A blob of the bytes of B; NULL with errno if the system has no room. */
struct gp_blob *gp_blob_of(const struct gp_buf *b);
struct gp_blob *gp_blob_keep(struct gp_blob *b);
void gp_blob_drop(struct gp_blob *b);
const struct gp_blob_part *gp_blob_whole(const struct gp_blob *b);
/* The same as gzip, made at the first call; NULL where that is not worth it: small, very large, or no
 * shorter. */
const struct gp_blob_part *gp_blob_packed(struct gp_blob *b);
/* Bytes that it takes. */
uint64_t gp_blob_bytes(struct gp_blob *b);
/* All of it, read-only, until the blob is dropped; NULL if it is empty or cannot be mapped. */
const char *gp_blob_map(struct gp_blob *b);
/* All of N bytes to FD; -1 with errno. */
int gp_blob_write(int fd, const void *data, size_t n);

#endif
