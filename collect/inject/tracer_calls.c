#include "collect/inject/tracer_priv.h"

#include <string.h>
#include <time.h>
#include "collect/inject/inject.h"
#include "collect/inject/inject_budget.h"
#include "collect/inject/inject_metrics.h"
#include "collect/inject/inject_pc.h"
#include "collect/inject/inject_stacks.h"
#include "collect/inject/inject_window.h"
#include "collect/inject/nvtx.h"
#include "collect/records/records.h"
#include "formats/base/str.h"

enum { MAX_CBID = 2048, MAX_GAP = 200 };

/* Of the runtime and of the driver, by the number of a call. */
static struct {
    uint8_t hooks[2][MAX_CBID];   /* enum hook */
    bool wanted[2][MAX_CBID];     /* calls that are recorded */
    uint8_t classes[2][MAX_CBID]; /* enum gp_call_class */
    uint32_t unused[2];           /* a call that programs do not make, 0: unknown */
    bool called;                  /* the calls have been found and logged */
    _Atomic bool primed;          /* CUPTI takes orders about single calls, even now */
    _Atomic bool noting;          /* by us, at both ends of each */
    _Atomic bool counting;        /* launches are counted */
    _Atomic bool measuring;       /* hardware counters are read of them */
    _Atomic bool placing;         /* the stacks of launches, copies and waits are read */
} calls;

/* Calls at which there is something to do. */
enum hook {
    HOOK_NONE,
    HOOK_RESET,
    HOOK_PROFILER_START,
    HOOK_PROFILER_STOP,
    HOOK_LAUNCH,
    HOOK_PLACE, /* of copies, sets and allocations: only their stacks are wanted */
    HOOK_CAPTURE_BEGIN,
    HOOK_CAPTURE_END,
    HOOK_WAIT, /* and on: by the entry of waiting[] */
};

/* The calls that wait, or record what others wait for, by the beginning of their names, and the indices of
 * stream and event among their parameters, -1 none. */
static const struct {
    const char *runtime, *driver;
    enum gp_wait type;
    int stream, event;
} waiting[] = {
    {"cudaStreamSynchronize", "cuStreamSynchronize", GP_WAIT_STREAM, 0, -1},
    {"cudaDeviceSynchronize", "cuCtxSynchronize", GP_WAIT_CONTEXT, -1, -1},
    {"cudaEventSynchronize", "cuEventSynchronize", GP_WAIT_EVENT, -1, 0},
    {"cudaStreamWaitEvent", "cuStreamWaitEvent", GP_WAIT_STREAM_EVENT, 0, 1},
    {"cudaEventRecord", "cuEventRecord", GP_WAIT_RECORD, 1, 0},
};

static CUpti_CallbackDomain domain_of(bool driver)
{
    return driver ? CUPTI_CB_DOMAIN_DRIVER_API : CUPTI_CB_DOMAIN_RUNTIME_API;
}

static CUpti_ActivityKind kind_of_calls(bool driver)
{
    return driver ? CUPTI_ACTIVITY_KIND_DRIVER : CUPTI_ACTIVITY_KIND_RUNTIME;
}

/* ---- ends of calls ----
 * While calls are reported, CUPTI 13.0 keeps for each thread which of them it is in. What is entered then and
 * left when its reports are off stays there: later calls get its number and no time, and after some twenty
 * CUPTI writes where it must not, and the program dies. So what we switch off by ourselves is switched off
 * where a call of the program ends, with all of its threads that make calls there, or outside of calls for a
 * while: a thread that waits for another one, as for autograd's, makes none. */

enum { CALLERS_MOST = 256 };
static const int64_t LOOK_NS = 5000000, /* which threads make calls */
    SURE_NS = 20000000,                 /* a driver call may be part of a runtime call until then */
    QUIET_NS = 2000000, PARK_NS = 10000000, SOON_NS = 50000000, WAIT_NS = 2000000000;

static struct {
    void (*then)(void);
    int64_t since_ns;
    _Atomic unsigned round, done; /* round 0: nothing is awaited */
    unsigned rounds;
    _Atomic unsigned seen;                    /* threads that make calls */
    _Atomic int64_t outside_ns[CALLERS_MOST]; /* of each: since when it is in no call, 0: in one */
    _Atomic int waiting;                      /* threads in calls that wait */
    _Atomic bool all;                         /* calls are reported that are not of interest otherwise */
} ends;

static _Thread_local struct {
    unsigned round, depth, at;
} mine;

static void i_am_outside(int64_t since_ns)
{
    if (mine.at < CALLERS_MOST) atomic_store(&ends.outside_ns[mine.at], since_ns);
}

static bool all_are_outside(void)
{
    int64_t before_ns = gp_now_ns() - QUIET_NS;
    unsigned n = atomic_load(&ends.seen);
    for (unsigned i = 0; i < n && i < CALLERS_MOST; i++) {
        int64_t since_ns = atomic_load(&ends.outside_ns[i]);
        if (!since_ns || since_ns > before_ns) return false;
    }
    return n <= CALLERS_MOST;
}

static bool is_done(void) { return atomic_load(&ends.done) == mine.round; }

/* For a moment at most. */
static bool wait_until(bool (*there)(void))
{
    struct timespec t = {0, PARK_NS / 100};
    for (int i = 0; i < 100 && !there() && !is_done(); i++) nanosleep(&t, NULL);
    return there();
}

static void on_end(bool driver, bool enter)
{
    unsigned round = atomic_load_explicit(&ends.round, memory_order_acquire);
    if (GP_LIKELY(!round)) return;
    int64_t age_ns = gp_now_ns() - ends.since_ns;
    if (mine.round != round) {
        mine.round = round;
        mine.depth = 0;
        mine.at = atomic_fetch_add(&ends.seen, 1);
    }
    i_am_outside(0);
    if (enter) {
        mine.depth++;
        return;
    }
    bool seen_begin = mine.depth > 0;
    if (seen_begin && --mine.depth) return;
    i_am_outside(ends.since_ns + age_ns);
    if ((driver && (!seen_begin || age_ns < SURE_NS)) || age_ns < LOOK_NS) return;
    i_am_outside(1); /* until this one is let go */
    bool now = age_ns >= SOON_NS || wait_until(all_are_outside);
    if (now && atomic_compare_exchange_strong(&ends.round, &round, 0)) {
        gp_debug("%u threads make calls, %s of them are in one", atomic_load(&ends.seen),
                 age_ns < SOON_NS ? "none" : "some");
        ends.then();
        atomic_store(&ends.done, mine.round);
    } else if (now) {
        wait_until(is_done); /* another thread is at it */
    } else if (!is_done()) {
        i_am_outside(gp_now_ns());
    }
}

static bool has_other_use(bool driver, uint32_t cbid);

/* Report all calls that may be recorded, or only those that are of interest otherwise. */
static void report_all(bool on)
{
    for (int driver = 0; driver < 2; driver++)
        for (uint32_t cbid = 1; cbid < MAX_CBID; cbid++)
            if (calls.wanted[driver][cbid] || calls.hooks[driver][cbid])
                gp_cupti.cuptiEnableCallback(on || has_other_use(driver, cbid), gp_cupti.subscriber,
                                             domain_of(driver), cbid);
    atomic_store(&ends.all, on);
}

int64_t gp_tracer_await_end(void (*then)(void))
{
    bool known = gp_tracer.opts.api == GP_API_LEVEL_SYNC && !gp_tracer_leaves_out(GP_BUDGET_EVENTS);
    if (!atomic_load(&gp_tracer.recording) || atomic_load(&gp_tracer.stopped)) return 0;
    report_all(true);
    if (!atomic_load(&gp_tracer.recording)) { /* the program has ended it meanwhile */
        report_all(false);
        return 0;
    }
    ends.then = then;
    ends.since_ns = gp_now_ns();
    atomic_store(&ends.seen, 0);
    for (unsigned i = 0; i < CALLERS_MOST; i++) atomic_store(&ends.outside_ns[i], 0);
    atomic_store(&ends.round, ++ends.rounds);
    return known && atomic_load(&ends.waiting) <= 0 ? SOON_NS : WAIT_NS;
}

/* ---- waits ----
 * CUPTI's own records of waits would cost every launch a quarter of what the records of kernels cost, whether
 * anything waits or not; callbacks at these calls cost other calls nothing. */

/* Of this thread: driver calls inside a runtime call count as one, and captured calls do not happen. */
static _Thread_local struct {
    unsigned depth, capturing;
    unsigned period; /* in which the depth was counted: recording may stop inside a call */
    int64_t start_ns;
} waits;

static uint32_t stream_number(const CUpti_CallbackData *call, const void *stream)
{
    uint32_t number = UINT32_MAX;
    bool per_thread = strstr(call->functionName ? call->functionName : "", "_ptsz") != NULL;
    if (!gp_cupti.cuptiGetStreamIdEx || !call->context ||
        gp_cupti.cuptiGetStreamIdEx(call->context, (CUstream)(uintptr_t)stream, per_thread, &number) !=
            CUPTI_SUCCESS)
        return UINT32_MAX;
    return number;
}

/* ---- calls ---- Where CUPTI takes no orders about single calls, it records either all calls, of which a
 * program in Python makes ten for each launch, or none. So the calls that are wanted are noted here, at both
 * of their ends. Of this thread: a driver call inside a runtime call is part of it. */
static _Thread_local struct {
    unsigned depth, period;
    int64_t start_ns;
} inside;

static void call_ends(bool driver, uint32_t cbid, const CUpti_CallbackData *call)
{
    if (inside.period != atomic_load_explicit(&gp_tracer.period, memory_order_relaxed)) return;
    if (!inside.depth || --inside.depth) return;
    struct gp_note_call c = {
        .end_ns = gp_now_ns(), .corr = call->correlationId, .cbid = cbid, .driver = driver};
    if (call->functionReturnValue) memcpy(&c.ret, call->functionReturnValue, sizeof c.ret);
    gp_nvtx_call(inside.start_ns, &c);
    uint8_t cls = calls.classes[driver][cbid];
    if (gp_tracer.opts.budget && cls != GP_CALL_LAUNCH) /* launches have been counted */
        gp_inject_budget_count(cls == GP_CALL_MEMORY ? GP_INJECT_ALLOCATION
                               : cls == GP_CALL_SYNC ? GP_INJECT_WAIT
                                                     : GP_INJECT_CALL);
}

static void on_wait(unsigned which, const CUpti_CallbackData *call)
{
    unsigned period = atomic_load_explicit(&gp_tracer.period, memory_order_relaxed);
    if (waits.period != period) waits.depth = 0;
    waits.period = period;
    if (call->callbackSite == CUPTI_API_ENTER) {
        if (waits.depth++) return;
        atomic_fetch_add_explicit(&ends.waiting, 1, memory_order_relaxed);
        waits.start_ns = gp_now_ns();
        if (atomic_load_explicit(&calls.placing, memory_order_relaxed))
            gp_inject_stack_of_call(call->correlationId);
        return;
    }
    if (!waits.depth || --waits.depth) return;
    atomic_fetch_sub_explicit(&ends.waiting, 1, memory_order_relaxed);
    if (waits.capturing) return;
    const void *const *params = call->functionParams;
    int stream = waiting[which].stream, event = waiting[which].event;
    struct gp_note_wait w = {
        .end_ns = gp_now_ns(),
        .event = event >= 0 && params ? (uint64_t)(uintptr_t)params[event] : 0,
        .corr = call->correlationId,
        .context = call->contextUid,
        .stream = stream >= 0 && params ? stream_number(call, params[stream]) : UINT32_MAX,
        .type = waiting[which].type,
    };
    gp_nvtx_wait(waits.start_ns, &w);
    if (gp_tracer.opts.budget) gp_inject_budget_count(GP_INJECT_WAIT);
}

static void on_launch(bool enter, const CUpti_CallbackData *call)
{
    int result = 0;
    if (!enter && call->functionReturnValue) memcpy(&result, call->functionReturnValue, sizeof result);
    struct gp_launch_call l = {.context = call->context,
                               .corr = call->correlationId,
                               .failed = result != 0,
                               .call = call->functionName ? call->functionName : "",
                               .kernel = call->symbolName,
                               .params = call->functionParams};
    gp_inject_metrics_launch(enter, &l);
    if (!enter) gp_inject_pc_launch_ends(l.context);
}

/* True if that was everything to do. */
static bool on_hook(uint8_t hook, const CUpti_CallbackData *call)
{
    bool enter = call->callbackSite == CUPTI_API_ENTER;
    if (hook == HOOK_PROFILER_START && !enter) gp_inject_profiler(true);
    if (hook == HOOK_PROFILER_STOP && enter) gp_inject_profiler(false);
    if (hook == HOOK_LAUNCH && atomic_load_explicit(&calls.counting, memory_order_relaxed))
        gp_inject_launch(enter);
    if (hook == HOOK_LAUNCH && atomic_load_explicit(&calls.measuring, memory_order_relaxed))
        on_launch(enter, call);
    if ((hook == HOOK_LAUNCH || hook == HOOK_PLACE) && enter &&
        atomic_load_explicit(&calls.placing, memory_order_relaxed))
        gp_inject_stack_of_call(call->correlationId);
    if (hook == HOOK_CAPTURE_BEGIN && enter) waits.capturing = 1;
    if (hook == HOOK_CAPTURE_END && !enter) waits.capturing = 0;
    if (hook >= HOOK_WAIT && !gp_tracer_leaves_out(GP_BUDGET_EVENTS)) on_wait(hook - HOOK_WAIT, call);
    return (hook != HOOK_PROFILER_STOP && hook != HOOK_RESET) || !enter;
}

/* The call that begins a recording belongs to it, as does the one that ends it. */
bool gp_tracer_on_call(bool driver, uint32_t cbid, const CUpti_CallbackData *call)
{
    bool enter = call->callbackSite == CUPTI_API_ENTER;
    uint8_t hook = cbid < MAX_CBID ? calls.hooks[driver][cbid] : HOOK_NONE;
    bool wanted = cbid < MAX_CBID && calls.wanted[driver][cbid];
    if (wanted && !enter && atomic_load_explicit(&calls.noting, memory_order_relaxed))
        call_ends(driver, cbid, call);
    bool done = on_hook(hook, call);
    if (wanted && enter && atomic_load_explicit(&calls.noting, memory_order_relaxed)) {
        unsigned period = atomic_load_explicit(&gp_tracer.period, memory_order_relaxed);
        if (inside.period != period) inside.depth = 0;
        inside.period = period;
        if (!inside.depth++) inside.start_ns = gp_now_ns();
    }
    on_end(driver, enter);
    return done;
}

/* ---- which calls ---- */

static unsigned find_hook(bool driver, const char *name)
{
    static const struct {
        const char *name;
        enum hook hook;
    } hooks[] = {{"cudaDeviceReset", HOOK_RESET},
                 {"cuDevicePrimaryCtxReset", HOOK_RESET},
                 {"cudaProfilerStart", HOOK_PROFILER_START},
                 {"cuProfilerStart", HOOK_PROFILER_START},
                 {"cudaProfilerStop", HOOK_PROFILER_STOP},
                 {"cuProfilerStop", HOOK_PROFILER_STOP},
                 {"cudaStreamBeginCapture", HOOK_CAPTURE_BEGIN},
                 {"cuStreamBeginCapture", HOOK_CAPTURE_BEGIN},
                 {"cudaStreamEndCapture", HOOK_CAPTURE_END},
                 {"cuStreamEndCapture", HOOK_CAPTURE_END}};
    for (size_t i = 0; i < GP_COUNT(hooks); i++)
        if (!strncmp(name, hooks[i].name, strlen(hooks[i].name))) return hooks[i].hook;
    for (unsigned i = 0; i < GP_COUNT(waiting); i++) {
        const char *begins = driver ? waiting[i].driver : waiting[i].runtime;
        if (!strncmp(name, begins, strlen(begins))) return HOOK_WAIT + i;
    }
    /* Every launch of the runtime goes through one of the driver. */
    enum gp_call_class cls = gp_call_classify(name);
    if (cls == GP_CALL_LAUNCH) return driver ? HOOK_LAUNCH : HOOK_NONE;
    return cls == GP_CALL_COPY || cls == GP_CALL_MEMORY ? HOOK_PLACE : HOOK_NONE;
}

static const char *call_name(bool driver, uint32_t cbid)
{
    const char *name = NULL;
    return gp_cupti.cuptiGetCallbackName(domain_of(driver), cbid, &name) == CUPTI_SUCCESS ? name : NULL;
}

/* Walk the calls that this CUPTI knows, by name, so that those of later versions are included. */
static void find_calls(bool driver)
{
    unsigned gap = 0;
    for (uint32_t cbid = 1; cbid < MAX_CBID && gap < MAX_GAP; cbid++) {
        const char *name = call_name(driver, cbid);
        gap = name ? 0 : gap + 1;
        if (!name) continue;
        if (gp_starts(name, driver ? "cuProfilerInitialize" : "cudaProfilerInitialize"))
            calls.unused[driver] = cbid;
        calls.hooks[driver][cbid] = (uint8_t)find_hook(driver, name);
        calls.classes[driver][cbid] = (uint8_t)gp_call_classify(name);
        calls.wanted[driver][cbid] =
            gp_call_wanted(gp_call_classify(name), gp_tracer.opts.api, gp_tracer.opts.memory);
        if (calls.wanted[driver][cbid] && !calls.called)
            gp_shared_log(gp_tracer.opts.shared, driver ? GP_NAME_DRIVER : GP_NAME_RUNTIME, cbid, name);
        if (calls.hooks[driver][cbid] != HOOK_NONE && calls.hooks[driver][cbid] < HOOK_LAUNCH)
            gp_cupti.cuptiEnableCallback(1, gp_cupti.subscriber, domain_of(driver), cbid);
    }
}

static __typeof__(&cuptiActivityEnableRuntimeApi) call_switch(bool driver)
{
    return driver ? gp_cupti.cuptiActivityEnableDriverApi : gp_cupti.cuptiActivityEnableRuntimeApi;
}

/* Record one call that programs do not make, and no other one. Once CUDA is up, CUPTI takes no order about a
 * single call if none is recorded: all are switched on, and off again one by one. */
static bool prime_domain(bool driver, bool late)
{
    __typeof__(&cuptiActivityEnableRuntimeApi) enable = call_switch(driver);
    unsigned gap = 0;
    if (!enable || !calls.unused[driver]) return false;
    if (late && gp_cupti_switch(kind_of_calls(driver), true) != CUPTI_SUCCESS) return false;
    for (uint32_t cbid = 1; late && cbid < MAX_CBID && gap < MAX_GAP; cbid++) {
        gap = call_name(driver, cbid) ? 0 : gap + 1;
        if (!gap && cbid != calls.unused[driver]) enable(cbid, 0);
    }
    return enable(calls.unused[driver], 1) == CUPTI_SUCCESS;
}

/* Is the stack of the call wanted? Of allocations, where those are recorded. */
static bool places(bool driver, uint32_t cbid)
{
    return calls.classes[driver][cbid] != GP_CALL_MEMORY || gp_tracer.opts.memory;
}

/* Is the call reported to us for another reason than its own record? */
static bool has_other_use(bool driver, uint32_t cbid)
{
    uint8_t hook = calls.hooks[driver][cbid];
    if (hook == HOOK_LAUNCH)
        return atomic_load(&calls.counting) || atomic_load(&calls.measuring) || atomic_load(&calls.placing);
    if (hook == HOOK_PLACE) return atomic_load(&calls.placing) && places(driver, cbid);
    if (hook >= HOOK_CAPTURE_BEGIN)
        return atomic_load(&gp_tracer.recording) && gp_tracer.opts.api == GP_API_LEVEL_SYNC &&
               !gp_tracer_leaves_out(GP_BUDGET_EVENTS);
    return hook != HOOK_NONE;
}

/* The part of the recording that the call belongs to. */
static uint32_t part_of(bool driver, uint32_t cbid)
{
    uint8_t cls = calls.classes[driver][cbid];
    return GP_BUDGET_CALLS | (cls == GP_CALL_MEMORY ? GP_BUDGET_MEMORY : 0) |
           (cls == GP_CALL_SYNC ? GP_BUDGET_EVENTS : 0);
}

/* Report the calls that are wanted to us, or only those of them that are hooks. */
static unsigned note_calls(bool driver, bool on)
{
    unsigned n = 0;
    for (uint32_t cbid = 1; cbid < MAX_CBID; cbid++) {
        if (!calls.wanted[driver][cbid]) continue;
        bool noted = on && !gp_tracer_leaves_out(part_of(driver, cbid));
        n += gp_cupti.cuptiEnableCallback(noted || has_other_use(driver, cbid), gp_cupti.subscriber,
                                          domain_of(driver), cbid) == CUPTI_SUCCESS;
    }
    return n;
}

/* Switch the records of API calls; returns how many calls are switched one by one: by CUPTI, or, where it
 * accepts that and does nothing, by us. */
static unsigned switch_domain(bool driver, bool on)
{
    __typeof__(&cuptiActivityEnableRuntimeApi) enable = call_switch(driver);
    unsigned n = 0;
    if (gp_tracer.opts.api == GP_API_LEVEL_NONE) return 0;
    if (gp_tracer.opts.api == GP_API_LEVEL_ALL) gp_cupti_switch(kind_of_calls(driver), on);
    bool by_us = !enable || gp_tracer.opts.budget || (atomic_load(&gp_tracer.up) && !calls.primed);
    if (on && gp_tracer_leaves_out(GP_BUDGET_CALLS)) return 0;
    if (gp_tracer.opts.api != GP_API_LEVEL_ALL && by_us && on) atomic_store(&calls.noting, true);
    if (atomic_load(&calls.noting)) n = note_calls(driver, on);
    if (!enable || (on && (by_us || gp_tracer.opts.api == GP_API_LEVEL_ALL))) return n;
    for (uint32_t cbid = 1; cbid < MAX_CBID; cbid++)
        if (calls.wanted[driver][cbid]) n += enable(cbid, on) == CUPTI_SUCCESS;
    return n;
}

static void call_back_at_launches(void)
{
    for (int driver = 0; driver < 2; driver++)
        for (uint32_t cbid = 1; cbid < MAX_CBID; cbid++) {
            uint8_t hook = calls.hooks[driver][cbid];
            bool on =
                has_other_use(driver, cbid) || (calls.wanted[driver][cbid] && atomic_load(&calls.noting));
            if (hook == HOOK_LAUNCH || hook == HOOK_PLACE)
                gp_cupti.cuptiEnableCallback(on, gp_cupti.subscriber, domain_of(driver), cbid);
        }
}

void gp_tracer_place_calls(bool on)
{
    atomic_store(&calls.placing, on && gp_inject_stacks_on());
    call_back_at_launches();
}

void gp_tracer_count_launches(bool on)
{
    atomic_store(&calls.counting, on);
    call_back_at_launches();
}

void gp_tracer_measure(void)
{
    atomic_store(&calls.measuring, true);
    call_back_at_launches();
}

/* With --api all, CUPTI records waits and their events, with the times of the GPU. */
void gp_tracer_switch_waits(bool on)
{
    atomic_fetch_add(&gp_tracer.period, 1);
    atomic_store(&ends.waiting, 0);
    for (int driver = 0; gp_tracer.opts.api == GP_API_LEVEL_SYNC && driver < 2; driver++)
        for (uint32_t cbid = 1; cbid < MAX_CBID; cbid++)
            if (calls.hooks[driver][cbid] >= HOOK_CAPTURE_BEGIN)
                gp_cupti.cuptiEnableCallback(on, gp_cupti.subscriber, domain_of(driver), cbid);
}

void gp_tracer_find_calls(bool late)
{
    find_calls(false);
    find_calls(true);
    calls.called = true;
    /* Let CUPTI take orders about single calls at any time. LATE: CUDA is up, and a call in which another
     * thread is meanwhile may be recorded, which the launcher leaves out. Seen with CUPTI 13.0. */
    enum { LEAST_VERSION = 130000 };
    calls.primed = false;
    if (gp_cupti.version < LEAST_VERSION) return;
    if (late && (gp_tracer.opts.budget ||
                 (gp_tracer.opts.api != GP_API_LEVEL_LAUNCH && gp_tracer.opts.api != GP_API_LEVEL_SYNC)))
        return;
    calls.primed = prime_domain(false, late) && prime_domain(true, late);
}

void gp_tracer_forget_calls(void)
{
    calls.called = false;
    calls.primed = false;
}

void gp_tracer_lend_calls(void)
{
    for (int driver = 0; calls.primed && driver < 2; driver++) gp_cupti_switch(kind_of_calls(driver), false);
    calls.primed = false;
}

void gp_tracer_switch_calls(bool on)
{
    unsigned runtime = switch_domain(false, on), driver = switch_domain(true, on);
    atomic_store(&ends.round, 0);
    if (!on) atomic_store(&calls.noting, false);
    if (atomic_load(&ends.all)) report_all(false);
    gp_debug("%s: %u runtime calls, %u driver calls", on ? "enabled" : "disabled", runtime, driver);
}

void gp_tracer_leave_out_calls(uint32_t more)
{
    if (more & GP_BUDGET_EVENTS) gp_tracer_switch_waits(false);
    if (!more || !atomic_load(&calls.noting)) return;
    atomic_store(&calls.noting, !gp_tracer_leaves_out(GP_BUDGET_CALLS));
    for (int driver = 0; driver < 2; driver++) note_calls(driver, !gp_tracer_leaves_out(GP_BUDGET_CALLS));
}
