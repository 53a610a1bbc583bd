/* idle_cause.h -- the causes that idle time of a device is split into. idle_walk.h decides, all others
 * add up. */
#ifndef GP_ANALYZE_IDLE_CAUSE_H
#define GP_ANALYZE_IDLE_CAUSE_H

#include <stdint.h>
#include "analyze/result/field.h"
#include "formats/base/declare.h"

/* X(enum, JSON name without _ns, the name that people read everywhere, in at most 30 columns). Every idle ns
 * of a device has exactly one cause. */
#define GP_IDLE_CAUSES(X)                                                                                    \
    X(GP_IDLE_HOST, "host", "the host had launched nothing")                                                 \
    X(GP_IDLE_SYNC, "synchronisation", "the host synchronised")                                              \
    X(GP_IDLE_LAUNCH, "launch_latency", "launch latency")                                                    \
    X(GP_IDLE_DEPENDENCY, "dependency", "waited for another stream")                                         \
    X(GP_IDLE_DATA, "data_loading", "the host loaded data")                                                  \
    X(GP_IDLE_PYTHON, "python_overhead", "the host ran Python code")                                         \
    X(GP_IDLE_GARBAGE, "garbage_collection", "Python collected garbage")                                     \
    X(GP_IDLE_LOCK, "lock", "the host waited for a lock")                                                    \
    X(GP_IDLE_LOGGING, "logging", "the host wrote log messages")                                             \
    X(GP_IDLE_IMPORT, "import", "the host imported modules")                                                 \
    X(GP_IDLE_ALLOCATION, "blocking_call", "blocking allocation or copy")                                    \
    X(GP_IDLE_QUEUED, "kernel_gap", "between queued kernels")                                                \
    X(GP_IDLE_OTHER, "other_process", "another process used the GPU")                                        \
    X(GP_IDLE_UNKNOWN, "unknown", "nothing recorded explains it")

enum gp_idle_cause { GP_IDLE_CAUSES(GP_FIRST) GP_IDLE_CAUSE_COUNT };
const char *gp_idle_cause_name(enum gp_idle_cause c);
const char *gp_idle_cause_text(enum gp_idle_cause c);
extern const struct gp_record gp_idle_causes; /* one: int64_t[GP_IDLE_CAUSE_COUNT] */
/* Of NS by cause: how long the device waited for the host, whatever that did. At most INT64_MAX. */
int64_t gp_idle_for_host_ns(const int64_t ns[GP_IDLE_CAUSE_COUNT]);

#endif
