/* meta_keys.h -- keys of a trace's metadata (struct gp_meta) that one program writes and another one reads.
 *
 *     snprintf(key, sizeof key, GP_META_NCCL_RANKS "%s", communicator);
 */
#ifndef GP_META_KEYS_H
#define GP_META_KEYS_H

/* Followed by the id of a communicator of NCCL: the value is its number of ranks. For traces that begin after the
 * communicator was created. */
#define GP_META_NCCL_RANKS "nccl_ranks."

#endif
