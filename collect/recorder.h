/* recorder.h -- a flight recorder between the hub and the sink: blocks of events are kept for a while and
 * then discarded, unless they are dumped first. Blocks of names and the like pass straight through, since
 * later events need them; the output is a valid trace at any time. Knows no processes, files or signals.
 *
 *     struct gp_recorder *r = gp_recorder_new(30000000000, 256 << 20, to_sink, ctx);
 *     gp_recorder_put(r, block, n, now_ns);
 *     gp_recorder_dump(r);                        // something happened
 *     gp_recorder_end(r);
 */
#ifndef GP_COLLECT_RECORDER_H
#define GP_COLLECT_RECORDER_H

#include <stddef.h>
#include <stdint.h>
#include "collect/session.h"

struct gp_recorder;

/* Keep the blocks of the last LAST_NS, at most MAX_BYTES of it. OUT takes each block that is passed on. */
struct gp_recorder *gp_recorder_new(int64_t last_ns, size_t max_bytes, gp_session_block *out, void *ctx);
/* A complete block of N bytes arrived at NOW_NS, which never decreases. */
void gp_recorder_put(struct gp_recorder *r, const void *block, size_t n, int64_t now_ns);
/* Pass on everything that is kept, oldest first, and discard it here. */
void gp_recorder_dump(struct gp_recorder *r);
/* The same, and then the ends of the processes that ended in order. */
void gp_recorder_end(struct gp_recorder *r);
/* When GPU work arrived last, 0: never. */
int64_t gp_recorder_gpu_ns(const struct gp_recorder *r);
/* Blocks that were discarded early, for lack of room. */
uint64_t gp_recorder_crowded_out(const struct gp_recorder *r);
void gp_recorder_free(struct gp_recorder *r);

#endif
