/* keep.h -- answers that were given before, by a key that names content, arguments and version. The first who
 * asks makes the answer, others who ask meanwhile wait for it, and what was not asked for longest goes when
 * there is too much. Safe in several threads.
 *
 *     struct gp_keep *k = gp_keep_new(512 << 20, 2000);
 *     struct gp_kept *e = gp_keep_get(k, key, &mine);
 *     if (mine) gp_keep_set(k, e, 0, blob, NULL, true);    // or a status and why
 *     send(gp_kept_blob(e));
 *     gp_keep_put(k, e);
 */
#ifndef GP_RENDER_SERVE_KEEP_H
#define GP_RENDER_SERVE_KEEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "formats/base/declare.h"
#include "render/serve/blob.h"

struct gp_keep;
struct gp_kept;

/* Each answer has up to two descriptors. */
struct gp_keep *gp_keep_new(uint64_t most_bytes, size_t most_entries);
/* Let go of half of the answers, those that were asked for longest ago. False if there was none to let go. */
bool gp_keep_shed(struct gp_keep *k);
/* The answer of KEY. *MINE: it is not there, and the caller has to set it. Otherwise it is ready, perhaps
 * after a wait. */
struct gp_kept *gp_keep_get(struct gp_keep *k, const char *key, bool *mine);
/* E's answer is BLOB, which is then its own, or, where STATUS is not 0, that failure. Only what is LASTING is
 * kept for others than those who wait. */
void gp_keep_set(struct gp_keep *k, struct gp_kept *e, int status, struct gp_blob *blob,
                 const struct gp_err *err, bool lasting);
/* 0, or the status of a failure with ERR filled. */
int gp_kept_status(const struct gp_kept *e, struct gp_err *err);
struct gp_blob *gp_kept_blob(const struct gp_kept *e);
/* The caller has done with E. */
void gp_keep_put(struct gp_keep *k, struct gp_kept *e);
/* Bytes and answers that are kept. */
uint64_t gp_keep_bytes(struct gp_keep *k, size_t *n);
void gp_keep_free(struct gp_keep *k);

#endif
