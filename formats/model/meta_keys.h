/* meta_keys.h -- keys of a trace's metadata (struct gp_meta) that one program writes and another one reads.
 *
 *     snprintf(key, sizeof key, GP_META_NCCL_RANKS "%s", communicator);
 */
#ifndef GP_META_KEYS_H
#define GP_META_KEYS_H

/* Followed by the id of a communicator of NCCL: the value is its number of ranks. For traces that begin after
 * the communicator was created. */
#define GP_META_NCCL_RANKS "nccl_ranks."

/* "true" in a trace that was recorded while counters were read: launches waited for each other, and were
 * repeated. */
#define GP_META_DISTORTED "metrics.distorted"
/* What was asked for, what the counters were read per ("kernel", "range"), and how often a launch was run for
 * them. */
#define GP_META_METRIC_SET    "metrics.set"
#define GP_META_METRIC_PER    "metrics.per"
#define GP_META_METRIC_PASSES "metrics.passes"
/* ns between two samples of the counters of a GPU. */
#define GP_META_COUNTER_PERIOD "metrics.sample_period_ns"
/* ns between two samples of a thread. */
#define GP_META_SAMPLE_PERIOD "sample_period_ns"

#endif
