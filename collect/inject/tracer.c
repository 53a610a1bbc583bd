#include "collect/inject/tracer_priv.h"

#include <pthread.h>
#include <sys/mman.h>
#include "collect/inject/inject.h"
#include "collect/inject/inject_metrics.h"
#include "collect/inject/inject_pc.h"
#include "collect/inject/nvtx.h"
#include "collect/inject/wakeup.h"

enum { ATTR_PER_THREAD_BUFFER = 9, FIRST_REQUESTS = 16 };

static _Atomic bool forked;
static _Atomic bool lent;          /* CUPTI is free for others */
static _Atomic int64_t entered_ns; /* when CUPTI was opened, 0: not yet */
static pthread_mutex_t taking = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int64_t moved_ns, left_ns; /* how long it took to come and to leave; when it did */
static _Atomic unsigned requests;         /* of buffers, the first of them */
static struct gp_pool *_Atomic pool;      /* NULL: nothing is recorded */
static _Atomic unsigned users;            /* threads that use it */

static struct gp_pool *use_pool(void)
{
    atomic_fetch_add(&users, 1);
    return atomic_load(&forked) ? NULL : atomic_load(&pool);
}

/* A fork child cannot use CUDA, but CUPTI may try to record its failure; and a thread may have begun a call
 * before the recording ended. Nobody reads that. */
static uint8_t *private_buffer(void)
{
    void *m = mmap(NULL, GP_WIRE_BUFFER_LEAST, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return m == MAP_FAILED ? NULL : m;
}

static void CUPTIAPI buffer_requested(uint8_t **buffer, size_t *size, size_t *max_records)
{
    struct gp_pool *p = use_pool();
    *buffer = p ? gp_pool_take(p) : private_buffer();
    *size = !*buffer ? 0 : p ? gp_pool_buffer_bytes(p) : GP_WIRE_BUFFER_LEAST;
    *max_records = 0;
    atomic_fetch_sub(&users, 1);
    if (atomic_load_explicit(&requests, memory_order_relaxed) >= FIRST_REQUESTS) return;
    atomic_fetch_add(&requests, 1);
    gp_inject_soon(); /* the first is new */
}

static void CUPTIAPI buffer_completed(CUcontext ctx, uint32_t stream, uint8_t *buffer, size_t size,
                                      size_t valid)
{
    (void)ctx;
    (void)stream;
    if (!buffer || atomic_load(&forked)) return;
    struct gp_pool *p = use_pool();
    if (!p || size != gp_pool_buffer_bytes(p)) munmap(buffer, size); /* of a recording that is over */
    else if (!valid || atomic_load(&gp_tracer.stopped)) gp_pool_give(p, buffer, valid ? size : 0);
    else gp_pool_fill(p, buffer, valid < size ? valid : size);
    atomic_fetch_sub(&users, 1);
    if (p && valid) gp_inject_wake(false);
}

static uint64_t CUPTIAPI timestamp(void) { return (uint64_t)gp_now_ns(); }

/* A node of a graph was created, or cloned from another one: an executable graph runs clones of the nodes
 * that were captured, and the records of its kernels have the ids of the clones. */
static void on_graph_node(bool cloned, const CUpti_GraphData *graph)
{
    uint64_t node = 0, original = 0;
    if (!graph || !graph->node || gp_cupti.cuptiGetGraphNodeId(graph->node, &node) != CUPTI_SUCCESS) return;
    if (cloned &&
        (!graph->originalNode ||
         gp_cupti.cuptiGetGraphNodeId(graph->originalNode, &original) != CUPTI_SUCCESS || !original))
        return;
    gp_nvtx_node(node, original);
}

/* ---- leaving ----
 * A process that CUPTI has entered stays slower, though nothing is recorded. cuptiFinalize() ends that, and
 * is safe where a call of CUDA ends, so the flush thread makes one. */

static _Thread_local bool leaving; /* this thread makes a call of CUDA to leave at its end */
static _Atomic bool graphs_made;   /* while CUPTI was there: they may run what it has put into them */

/* Versions in which that was tested, with all that may be in flight (tests/bench/README.md). */
static bool may_leave(void)
{
    if (atomic_load(&graphs_made)) return false;
    static const uint32_t tested[] = {130001};
    for (size_t i = 0; i < GP_COUNT(tested); i++)
        if (gp_cupti.version == tested[i]) return gp_cupti.cuptiFinalize != NULL;
    return false;
}

static void leave_at_end(const CUpti_CallbackData *call)
{
    if (call->callbackSite == CUPTI_API_EXIT) leaving = gp_cupti.cuptiFinalize() != CUPTI_SUCCESS;
}

/* While we are subscribed, nobody else is. False: CUPTI is still in the process. */
static bool leave(void)
{
    leaving = may_leave() &&
              gp_cupti.cuptiEnableCallback(1, gp_cupti.subscriber, CUPTI_CB_DOMAIN_DRIVER_API,
                                           CUPTI_DRIVER_TRACE_CBID_cuDriverGetVersion) == CUPTI_SUCCESS;
    bool asked = leaving;
    if (asked) gp_tracer_driver_version();
    bool left = asked && !leaving;
    leaving = false;
    gp_debug("CUPTI %s", left ? "has left the process" : "stays in the process");
    if (left) atomic_store(&left_ns, gp_now_ns());
    return left;
}

static void on_up(void)
{
    atomic_store(&gp_tracer.up, true);
    gp_tracer_configure_unified();
    gp_tracer.opts.up();
}

static void end_context(void *context)
{
    gp_inject_metrics_context_ends(context);
    gp_inject_pc_context_ends(context);
}

/* Events of CUDA that need action: it is initialized, or records may soon be out of reach. */
static void CUPTIAPI on_callback(void *userdata, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
                                 const void *data)
{
    (void)userdata;
    if (leaving && domain == CUPTI_CB_DOMAIN_DRIVER_API) {
        leave_at_end(data);
        return;
    }
    if (atomic_load(&gp_tracer.stopped)) return;
    if (domain == CUPTI_CB_DOMAIN_RESOURCE &&
        (cbid == CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED || cbid == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED)) {
        atomic_store(&graphs_made, true);
        on_graph_node(cbid == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED,
                      ((const CUpti_ResourceData *)data)->resourceDescriptor);
        return;
    }
    if (domain == CUPTI_CB_DOMAIN_RESOURCE && cbid == CUPTI_CBID_RESOURCE_MODULE_LOADED) {
        const CUpti_ModuleResourceData *code = ((const CUpti_ResourceData *)data)->resourceDescriptor;
        if (code) gp_inject_pc_module(code->pCubin, code->cubinSize);
        return;
    }
    if (domain == CUPTI_CB_DOMAIN_RESOURCE && cbid == CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING)
        end_context(((const CUpti_ResourceData *)data)->context);
    if (domain == CUPTI_CB_DOMAIN_RESOURCE && cbid != CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING) {
        on_up();
        if (cbid == CUPTI_CBID_RESOURCE_CONTEXT_CREATED)
            gp_inject_pc_context_begins(((const CUpti_ResourceData *)data)->context);
        return;
    }
    if (domain != CUPTI_CB_DOMAIN_RESOURCE) {
        if (gp_tracer_on_call(domain == CUPTI_CB_DOMAIN_DRIVER_API, cbid, data)) return;
    }
    gp_cupti.cuptiActivityFlushAll(0);
    gp_inject_wake(true);
}

/* ---- enabling ---- */

/* Not where it is so already: threads of the program may be in the middle of a record. */
static void set_attribute(CUpti_ActivityAttribute attr, uint64_t value, size_t size)
{
    uint64_t is = 0;
    size_t n = size;
    if (gp_cupti.cuptiActivityGetAttribute &&
        gp_cupti.cuptiActivityGetAttribute(attr, &n, &is) == CUPTI_SUCCESS && is == value)
        return;
    CUptiResult rc = gp_cupti.cuptiActivitySetAttribute(attr, &size, &value);
    if (rc != CUPTI_SUCCESS) gp_debug("attribute %d: %d %s", (int)attr, (int)rc, gp_cupti_text(rc));
}

void gp_tracer_leave_out(uint32_t parts)
{
    uint32_t more = parts & ~atomic_exchange(&gp_tracer.left_out, parts);
    if (!atomic_load(&gp_tracer.recording) || atomic_load(&gp_tracer.stopped)) return;
    if (more & GP_BUDGET_MEMORY) gp_tracer_switch_memory(false);
    gp_tracer_leave_out_calls(more);
}

bool gp_tracer_record(bool on)
{
    if (atomic_load(&gp_tracer.stopped)) return true;
    if (on && !gp_tracer_take()) {
        if (!gp_tracer_holder()) atomic_store(&gp_tracer.stopped, true); /* or it is there the next time */
        return false;
    }
    if (atomic_load(&lent)) return true;
    if (!on) gp_tracer_flush(false);
    CUptiResult rc = gp_tracer_switch_kinds(on);
    if (rc != CUPTI_SUCCESS && on) {
        gp_say("cannot trace kernels: %s (%d): this process runs untraced", gp_cupti_text(rc), (int)rc);
        return false;
    }
    gp_tracer_switch_calls(on);
    gp_tracer_place_calls(on);
    if (!on && gp_dormant_is_on()) gp_tracer_lend_calls(); /* there will be no other window */
    gp_inject_pc_record(on);
    return true;
}

/* LATE: CUDA is initialized already. */
static bool get_ready(bool late)
{
    static const CUpti_CallbackId events[] = {
        CUPTI_CBID_RESOURCE_CU_INIT_FINISHED,
        CUPTI_CBID_RESOURCE_CONTEXT_CREATED,
        CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING,
    };
    /* Whatever is recorded now: graphs are made early and replayed late. */
    static const CUpti_CallbackId nodes[] = {
        CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED,
        CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED,
    };
    set_attribute(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, 1, sizeof(uint8_t));
    set_attribute((CUpti_ActivityAttribute)ATTR_PER_THREAD_BUFFER, 1, sizeof(uint8_t));
    if (gp_cupti.cuptiSetThreadIdType) gp_cupti.cuptiSetThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
    CUptiResult rc = CUPTI_ERROR_UNKNOWN;
    if (gp_cupti.cuptiActivityRegisterTimestampCallback)
        rc = gp_cupti.cuptiActivityRegisterTimestampCallback(timestamp);
    if (rc != CUPTI_SUCCESS) gp_say("cannot set the clock of CUPTI: %s (%d)", gp_cupti_text(rc), (int)rc);
    else gp_shared_set_earliest(gp_tracer.opts.shared, gp_now_ns());
    gp_tracer_tell_sizes();
    rc = gp_cupti.cuptiActivityRegisterCallbacks(buffer_requested, buffer_completed);
    if (rc != CUPTI_SUCCESS) {
        gp_say("cannot register buffers: %s (%d): this process runs untraced", gp_cupti_text(rc), (int)rc);
        return false;
    }
    if (gp_cupti.enable_all_syncs)
        gp_cupti.enable_all_syncs(0); /* no records of queries that return "not ready" */
    /* CUPTI leaves these times out by default, since it must get them from the GPU. */
    if (gp_cupti.enable_event_times && gp_tracer.opts.api == GP_API_LEVEL_ALL) gp_cupti.enable_event_times(1);
    gp_tracer_switch_references(true);
    gp_tracer_find_calls(late);
    for (size_t i = 0; i < GP_COUNT(events); i++)
        gp_cupti.cuptiEnableCallback(1, gp_cupti.subscriber, CUPTI_CB_DOMAIN_RESOURCE, events[i]);
    for (size_t i = 0; gp_cupti.cuptiGetGraphNodeId && i < GP_COUNT(nodes); i++)
        gp_cupti.cuptiEnableCallback(1, gp_cupti.subscriber, CUPTI_CB_DOMAIN_RESOURCE, nodes[i]);
    return true;
}

bool gp_tracer_open(void)
{
    int64_t now_ns = gp_now_ns();
    bool ok = gp_cupti_open(on_callback);
    if (ok && !gp_tracer_entered_ns()) atomic_store(&entered_ns, now_ns);
    return ok;
}

int64_t gp_tracer_entered_ns(void) { return atomic_load(&entered_ns); }

bool gp_tracer_start(const struct gp_tracer_opts *opts)
{
    gp_tracer.opts = *opts;
    atomic_store(&gp_tracer.stopped, false);
    atomic_store(&gp_tracer.left_out, 0);
    atomic_store(&requests, 0);
    atomic_store(&pool, opts->pool);
    gp_tracer_forget_calls();
    if (opts->later && !gp_tracer_entered_ns()) {
        gp_cupti_preload(); /* or the step that begins the recording would wait for it */
        atomic_store(&lent, true);
        return true;
    }
    if (atomic_load(&lent)) return gp_tracer_take(); /* it was here before */
    if (!gp_tracer_open()) return false;
    if (get_ready(opts->late)) {
        if (opts->late) on_up();
        return true;
    }
    atomic_store(&gp_tracer.stopped, true);
    if (gp_cupti.cuptiUnsubscribe) gp_cupti.cuptiUnsubscribe(gp_cupti.subscriber);
    return false;
}

void gp_tracer_watch_code(void)
{
    gp_cupti.cuptiEnableCallback(1, gp_cupti.subscriber, CUPTI_CB_DOMAIN_RESOURCE,
                                 CUPTI_CBID_RESOURCE_MODULE_LOADED);
}

/* ---- lending ---- */

bool gp_tracer_is_lent(void) { return atomic_load(&lent); }

int64_t gp_tracer_left_ns(void) { return atomic_exchange(&left_ns, 0); }

static void give_up(bool leaves)
{
    int64_t begin_ns = gp_now_ns();
    gp_tracer_switch_references(false);
    gp_tracer_lend_calls();
    if (gp_cupti.cuptiActivityRegisterTimestampCallback)
        gp_cupti.cuptiActivityRegisterTimestampCallback(NULL);
    if ((leaves && leave()) || gp_cupti.cuptiUnsubscribe(gp_cupti.subscriber) == CUPTI_SUCCESS)
        atomic_store(&lent, true);
    atomic_fetch_add(&moved_ns, gp_now_ns() - begin_ns);
}

bool gp_tracer_lend(void)
{
    if (!gp_cupti.cuptiUnsubscribe || atomic_load(&gp_tracer.stopped) || atomic_load(&lent)) return false;
    give_up(true);
    return true;
}

/* CUPTI stays: that it leaves a process that is not ours to end was not tested. */
bool gp_tracer_sleep(void)
{
    atomic_store(&gp_tracer.stopped, true);
    if (gp_tracer_entered_ns() && gp_cupti.cuptiUnsubscribe && !atomic_load(&lent)) give_up(false);
    struct gp_pool *p = atomic_exchange(&pool, NULL);
    while (atomic_load(&users)) gp_rest_ms(1);
    size_t out = p ? gp_pool_out(p) : 0;
    if (out) gp_debug("CUPTI keeps %zu buffers", out);
    return !out;
}

/* Of threads that ask at once, one does it. */
static bool take_lent(void)
{
    if (!atomic_load(&lent)) return true;
    bool first = !gp_tracer_entered_ns();
    if (first ? !gp_tracer_open() : !gp_tracer_resubscribe()) return false;
    atomic_store(&lent, false);
    if (!get_ready(true)) return false;
    on_up();
    return true;
}

bool gp_tracer_take(void)
{
    if (!atomic_load(&lent)) return !atomic_load(&gp_tracer.stopped);
    int64_t begin_ns = gp_now_ns();
    pthread_mutex_lock(&taking);
    bool ok = take_lent();
    pthread_mutex_unlock(&taking);
    atomic_fetch_add(&moved_ns, gp_now_ns() - begin_ns);
    return ok;
}

int64_t gp_tracer_moved_ns(void) { return atomic_exchange(&moved_ns, 0); }

void gp_tracer_want_memory(bool on)
{
    if (!atomic_load(&gp_tracer.recording)) gp_tracer.opts.memory = on;
}

void gp_tracer_flush(bool forced)
{
    if (atomic_load(&lent)) return;
    CUptiResult rc = gp_cupti.cuptiActivityFlushAll(forced ? CUPTI_ACTIVITY_FLAG_FLUSH_FORCED : 0);
    if (rc != CUPTI_SUCCESS) gp_debug("flush: %d %s", (int)rc, gp_cupti_text(rc));
}

uint64_t gp_tracer_read(uint8_t *data, size_t valid, void (*take)(void *ctx, const void *record), void *ctx)
{
    CUpti_Activity *record = NULL;
    uint64_t n = 0;
    /* Ends with MAX_LIMIT_REACHED, or with INVALID_KIND if the rest of the buffer was never filled. */
    while (gp_cupti.cuptiActivityGetNextRecord(data, valid, &record) == CUPTI_SUCCESS) {
        if (take) take(ctx, record);
        n++;
    }
    return n;
}

uint64_t gp_tracer_dropped(void)
{
    size_t n = 0;
    if (atomic_load(&lent)) return 0;
    return gp_cupti.cuptiActivityGetNumDroppedRecords(NULL, 0, &n) == CUPTI_SUCCESS ? n : 0;
}

void gp_tracer_mute(void) { atomic_store(&gp_tracer.stopped, true); }

void gp_tracer_stop(void)
{
    if (atomic_exchange(&gp_tracer.stopped, true) || atomic_load(&lent)) return;
    gp_tracer_switch_kinds(false);
    gp_tracer_switch_references(false);
    gp_tracer_switch_calls(false);
    gp_debug("tracing stopped");
}

void gp_tracer_forked(void) { atomic_store(&forked, true); }
