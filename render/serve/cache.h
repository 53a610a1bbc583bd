/* cache.h -- answers given before, by a key that names content, arguments and version; and the blobs that
 * they are. The first who asks makes the answer, others who ask meanwhile wait for it, and the least recently
 * used go when there are too many. Safe in several threads.
 *
 *     struct gp_cache *c = gp_cache_new(512 << 20, 2000);
 *     struct gp_cache_entry *e = gp_cache_get(c, key, &mine);
 *     if (mine) gp_cache_set(c, e, 0, gp_blob_take(fd), NULL, true);    // or a status and its error
 *     send(gp_cache_entry_blob(e));
 *     gp_cache_release(c, e);
 */
#ifndef GP_RENDER_SERVE_CACHE_H
#define GP_RENDER_SERVE_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "formats/base/declare.h"

struct gp_blob;
struct gp_cache;
struct gp_cache_entry;

/* ---- blobs ---- */

/* Bytes that never change and that several answers may share, in a memory file: a child can write it, and a
 * client can be sent it, without a copy of ours. */

struct gp_blob_part {
    int fd;
    uint64_t n;
    char tag[24]; /* of the content, for ETag; without quotes */
};

/* A descriptor to be written and then taken; -1 with errno if there is none. */
int gp_blob_fd(void);
struct gp_blob *gp_blob_take(int fd);
/* A blob of the bytes of B; NULL with errno if the system has no room. */
struct gp_blob *gp_blob_keep(struct gp_blob *b);
void gp_blob_drop(struct gp_blob *b);
const struct gp_blob_part *gp_blob_whole(const struct gp_blob *b);
/* The same as gzip, made at the first call; NULL where that is not worth it: small, very large, or no
 * shorter. */
const struct gp_blob_part *gp_blob_packed(struct gp_blob *b);
/* All of it, read-only, until the blob is dropped; NULL if it is empty or cannot be mapped. */
const char *gp_blob_map(struct gp_blob *b);
/* All of N bytes to FD; -1 with errno. */
int gp_blob_write(int fd, const void *data, size_t n);

/* ---- the cache ---- */

/* Each answer has up to two descriptors. */
struct gp_cache *gp_cache_new(uint64_t most_bytes, size_t most_entries);
/* Drop the least recently used half of the answers. False if there was none to drop. */
bool gp_cache_evict(struct gp_cache *k);
/* The answer of KEY. *MINE: it is not there, and the caller has to set it. Otherwise it is ready, perhaps
 * after a wait. */
struct gp_cache_entry *gp_cache_get(struct gp_cache *k, const char *key, bool *mine);
/* E's answer is BLOB, which is then its own, or, where STATUS is not 0, that failure. Unless it is LASTING,
 * only those who wait now get it. */
void gp_cache_set(struct gp_cache *k, struct gp_cache_entry *e, int status, struct gp_blob *blob,
                  const struct gp_err *err, bool lasting);
/* 0, or the status of a failure with ERR filled. */
int gp_cache_entry_status(const struct gp_cache_entry *e, struct gp_err *err);
struct gp_blob *gp_cache_entry_blob(const struct gp_cache_entry *e);
/* The caller has done with E. */
void gp_cache_release(struct gp_cache *k, struct gp_cache_entry *e);
void gp_cache_free(struct gp_cache *k);

#endif
