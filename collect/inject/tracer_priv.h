/* tracer_priv.h -- shared by the parts of the tracer. Only they call CUPTI, which is found and opened at run
 * time, so that one build serves every version from 12 on:
 *
 *     tracer_find.c     finds libcupti and subscribes; has the state that all share
 *     tracer_kinds.c    kinds of records: which are switched on, how they are laid out
 *     tracer_calls.c    calls of the API: which are recorded, and at which there is something to do
 *     tracer.c          the life of the tracer, CUPTI's buffers, and events of CUDA
 */
#ifndef GP_COLLECT_TRACER_PRIV_H
#define GP_COLLECT_TRACER_PRIV_H

#include <cupti.h>
#include "collect/inject/tracer.h"

/* The required functions, and those that some versions lack. */
#define GP_CUPTI_NEEDED(X)                                                                                   \
    X(cuptiSubscribe)                                                                                        \
    X(cuptiEnableCallback)                                                                                   \
    X(cuptiGetVersion)                                                                                       \
    X(cuptiGetCallbackName)                                                                                  \
    X(cuptiActivitySetAttribute)                                                                             \
    X(cuptiActivityRegisterCallbacks)                                                                        \
    X(cuptiActivityEnable)                                                                                   \
    X(cuptiActivityDisable)                                                                                  \
    X(cuptiActivityFlushAll)                                                                                 \
    X(cuptiActivityGetNextRecord)                                                                            \
    X(cuptiActivityGetNumDroppedRecords)
#define GP_CUPTI_OPTIONAL(X)                                                                                 \
    X(cuptiSetThreadIdType)                                                                                  \
    X(cuptiActivityGetAttribute)                                                                             \
    X(cuptiActivityRegisterTimestampCallback)                                                                \
    X(cuptiActivityEnableAllocationSource)                                                                   \
    X(cuptiActivityEnableRuntimeApi)                                                                         \
    X(cuptiActivityEnableDriverApi)                                                                          \
    X(cuptiActivityConfigureUnifiedMemoryCounter)                                                            \
    X(cuptiUnsubscribe)                                                                                      \
    X(cuptiFinalize)                                                                                         \
    X(cuptiGetGraphNodeId)                                                                                   \
    X(cuptiGetStreamIdEx)                                                                                    \
    X(cuptiGetResultString)

/* ---- tracer_find.c ---- */

typedef CUptiResult(CUPTIAPI *gp_cupti_subscribe_v2)(CUpti_SubscriberHandle *, CUpti_CallbackFunc, void *,
                                                     void *);

/* The library that was found. */
extern struct gp_cupti {
#define X(fn) __typeof__(&(fn)) fn;
    GP_CUPTI_NEEDED(X)
    GP_CUPTI_OPTIONAL(X)
#undef X
    gp_cupti_subscribe_v2 subscribe_v2;
    /* cuptiActivityEnableAllSyncRecords and cuptiActivityEnableCudaEventDeviceTimestamps, not in all
     * headers */
    CUptiResult(CUPTIAPI *enable_all_syncs)(uint8_t enable);
    CUptiResult(CUPTIAPI *enable_event_times)(uint8_t enable);
    CUpti_SubscriberHandle subscriber;
    uint32_t version;
    void *library;
} gp_cupti;

const char *gp_cupti_text(CUptiResult rc);
/* Switch records of KIND; a failure is only logged. */
CUptiResult gp_cupti_switch(CUpti_ActivityKind kind, bool on);
/* As gp_tracer_open(); CUPTI calls CALL at everything that is asked for. */
bool gp_cupti_open(CUpti_CallbackFunc call);
/* Load the library that is likely to be opened, without a call of it. */
void gp_cupti_preload(void);
/* Subscribe once more, after gp_cupti_open(). False after a message. */
bool gp_tracer_resubscribe(void);

/* What all parts look at. */
extern struct gp_tracer {
    struct gp_tracer_opts opts;
    _Atomic uint32_t left_out;           /* enum gp_budget_part, as bits */
    _Atomic unsigned period;             /* of recording */
    _Atomic bool recording, up, stopped; /* up: cuInit() is over */
} gp_tracer;

static inline bool gp_tracer_leaves_out(uint32_t parts)
{
    return atomic_load_explicit(&gp_tracer.left_out, memory_order_relaxed) & parts;
}

/* ---- tracer_kinds.c ---- */

/* All that are recorded. */
CUptiResult gp_tracer_switch_kinds(bool on);
void gp_tracer_switch_memory(bool on);
/* What records refer to: on as long as CUPTI is ours. */
void gp_tracer_switch_references(bool on);
/* Unified memory is enabled separately, one counter at a time, since devices lack some, and only after CUDA
 * is initialized. */
void gp_tracer_configure_unified(void);
/* The sizes of records in this build's headers, for buffers that are read before CUPTI has walked any: in the
 * versions that have the same structs. */
void gp_tracer_tell_sizes(void);

/* ---- tracer_calls.c ---- */

/* Find the calls that this CUPTI knows, and those at which there is something to do. LATE: CUDA is up. */
void gp_tracer_find_calls(bool late);
/* The names of calls must be logged again: another launcher reads them. */
void gp_tracer_forget_calls(void);
/* Before CUPTI is lent. */
void gp_tracer_lend_calls(void);
/* Switch the records of API calls; says how many are switched one by one. */
void gp_tracer_switch_calls(bool on);
void gp_tracer_switch_waits(bool on);
/* Read the stacks of calls from now on, if they are wanted, or no longer. */
void gp_tracer_place_calls(bool on);
/* A call begins or ends. True if there is no more to do about it. */
bool gp_tracer_on_call(bool driver, uint32_t cbid, const CUpti_CallbackData *call);
/* MORE is left out from now on, enum gp_budget_part as bits. */
void gp_tracer_leave_out_calls(uint32_t more);

#endif
