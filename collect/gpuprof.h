/* gpuprof.h -- ranges, marks and sessions in a program's own hands. Header only, C11 and C++17 with gcc or
 * clang on Linux; there is nothing to link (glibc before 2.34: -ldl). May be included anywhere, in any number
 * of shared objects. Without a collector each call is a load and a branch. With one, a range is two notes in
 * a ring of its thread. If another tool listens to NVTX, ranges go there as plain NVTX (where
 * <nvtx3/nvToolsExt.h> is found at compile time), and never to both.
 *
 *     void step(void)
 *     {
 *         GPUPROF_RANGE("step");                        // to the end of the scope, however that is left
 *         ...
 *     }
 *     gpuprof_session_t session;                              // a trace of only this block
 *     if (gpuprof_begin(&session, "train", GPUPROF_SYNC)) puts(gpuprof_reason(session.error));
 *     step();
 *     if (!gpuprof_end(&session)) printf("%s\n", session.path);
 *
 * Times are ns on CLOCK_MONOTONIC. Names are UTF-8, copied, at most 4096 bytes of them are recorded.
 * Functions that return int return 0 or one of enum gpuprof_error. All of it can be called from any thread; a
 * range ends on the thread that began it, unless gpuprof_start() began it. GPUPROF_OFF=1 in the environment
 * switches everything off.
 */
#ifndef GPUPROF_H
#define GPUPROF_H

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if !defined(GPUPROF_NO_NVTX) && !defined(GPUPROF_TYPES_ONLY) && defined(__has_include)
#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#define GPUPROF_HAS_NVTX_ 1
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- for callers ---- */

enum gpuprof_error {
    GPUPROF_OK,
    GPUPROF_E_OFF,     /* GPUPROF_OFF is set */
    GPUPROF_E_LIBRARY, /* libgpuprof-inject.so was not found */
    GPUPROF_E_LAUNCH,  /* the recording process could not be started or does not answer */
    GPUPROF_E_CUPTI,   /* no libcupti, or it refuses */
    GPUPROF_E_HELD,    /* CUPTI is held by another tool */
    GPUPROF_E_FORKED,  /* a fork child of a process that was attached */
    GPUPROF_E_GONE,    /* the recording process has ended */
    GPUPROF_E_OPEN,    /* gpuprof_end() without gpuprof_begin() */
    GPUPROF_E_FILE,    /* the trace could not be written */
    /* recording is controlled by --start, --stop or --filter and is over, or not for this process */
    GPUPROF_E_SHUT
};

/* How values of a metric are combined over the calls of a range. */
enum gpuprof_rule { GPUPROF_SUM, GPUPROF_MAX, GPUPROF_MEAN };

/* A number of a range, such as {"flops", 2e9, GPUPROF_SUM}. In the trace its name has the rule as a suffix
 * unless it is the sum: "level (max)". */
typedef struct gpuprof_metric {
    const char *name;
    double value;
    int rule; /* enum gpuprof_rule */
} gpuprof_metric_t;

enum gpuprof_flag {
    GPUPROF_SYNC = 1,  /* wait for the device at both ends, so that the block holds all of its launches */
    GPUPROF_MEMORY = 2 /* allocations and frees, too */
};

typedef struct gpuprof_session {
    char name[128];
    /* Absolute. Before gpuprof_begin(): where to write, "": NAME.PID.N.trace in $GPUPROF_DIR or ".". */
    char path[1024];
    int64_t start_ns, end_ns;
    uint64_t id; /* 0: not begun */
    int flags;   /* enum gpuprof_flag */
    int late;    /* CUDA was initialized before the process was attached */
    int error;   /* result of the last call */
} gpuprof_session_t;

typedef struct gpuprof_options {
    /* Path of libgpuprof-inject.so; NULL: from $GPUPROF_INJECT, or as the linker finds it. */
    const char *library;
} gpuprof_options_t;

struct gpuprof_site;
typedef struct gpuprof_site *gpuprof_name_t;

/* The functions of a collector or another tool, versioned by SIZE: members are only ever added. */
typedef struct gpuprof_table {
    uint32_t size, version;
    uint64_t (*name)(const char *text); /* an id for the other functions */
    void (*push)(uint64_t name, const gpuprof_metric_t *m, size_t n);
    void (*pop)(void);
    uint64_t (*start)(uint64_t name, const gpuprof_metric_t *m, size_t n);
    void (*stop)(uint64_t range);
    void (*mark)(uint64_t name, const uint64_t *value, const gpuprof_metric_t *m, size_t n);
    int (*attach)(void);
    int (*record)(int on);
    int (*enabled)(void);
    int (*begin)(gpuprof_session_t *session);
    int (*end)(gpuprof_session_t *session);
    const char *(*reason)(int error);
} gpuprof_table_t;

/* A name that was interned once; id belongs to table. */
struct gpuprof_site {
    const char *text;
    uint64_t id;
    const gpuprof_table_t *table;
    struct gpuprof_site *next;
};

#ifndef GPUPROF_TYPES_ONLY /* only the table, for providers */

/* ---- internal: which table, found at the first call ---- */

struct gpuprof_here {
    const gpuprof_table_t *table; /* NULL: nobody listens */
    struct gpuprof_site *names;
};

extern __attribute__((weak, visibility("default"))) struct gpuprof_here gpuprof_here_;

static inline const gpuprof_table_t *gpuprof_table_(void)
{
    return __atomic_load_n(&gpuprof_here_.table, __ATOMIC_ACQUIRE);
}

static inline uint64_t gpuprof_id_(const gpuprof_table_t *t, gpuprof_name_t name)
{
    if (__atomic_load_n(&name->table, __ATOMIC_ACQUIRE) != t) {
        name->id = t->name(name->text);
        __atomic_store_n(&name->table, t, __ATOMIC_RELEASE);
    }
    return name->id;
}

static inline int gpuprof_is_ours_(const char *path)
{
    static const char name[] = "libgpuprof-inject.so";
    size_t n = path ? strlen(path) : 0, k = sizeof name - 1;
    return n >= k && !strcmp(path + n - k, name);
}

static inline int gpuprof_is_off_(void)
{
    const char *off = getenv("GPUPROF_OFF");
    return off && *off && strcmp(off, "0") != 0;
}

static inline const gpuprof_table_t *gpuprof_open_(const char *path, int flags)
{
    void *lib = dlopen(path, RTLD_LAZY | RTLD_LOCAL | flags);
    const gpuprof_table_t *t = lib ? (const gpuprof_table_t *)dlsym(lib, "gpuprof_table_v1") : NULL;
    return t && t->size >= sizeof *t ? t : NULL;
}

#ifdef GPUPROF_HAS_NVTX_
static inline uint64_t gpuprof_nvtx_name_(const char *text) { return (uint64_t)(uintptr_t)text; }

static inline nvtxEventAttributes_t gpuprof_nvtx_event_(uint64_t name, const gpuprof_metric_t *m, size_t n)
{
    nvtxEventAttributes_t a;
    memset(&a, 0, sizeof a);
    a.version = NVTX_VERSION;
    a.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    a.messageType = NVTX_MESSAGE_TYPE_ASCII;
    a.message.ascii = (const char *)(uintptr_t)name;
    if (n) {
        a.payloadType = NVTX_PAYLOAD_TYPE_DOUBLE;
        a.payload.dValue = m[0].value;
    }
    return a;
}

static inline void gpuprof_nvtx_push_(uint64_t name, const gpuprof_metric_t *m, size_t n)
{
    nvtxEventAttributes_t a = gpuprof_nvtx_event_(name, m, n);
    nvtxRangePushEx(&a);
}

static inline void gpuprof_nvtx_pop_(void) { nvtxRangePop(); }

static inline uint64_t gpuprof_nvtx_start_(uint64_t name, const gpuprof_metric_t *m, size_t n)
{
    nvtxEventAttributes_t a = gpuprof_nvtx_event_(name, m, n);
    return nvtxRangeStartEx(&a);
}

static inline void gpuprof_nvtx_stop_(uint64_t range) { nvtxRangeEnd(range); }

static inline void gpuprof_nvtx_mark_(uint64_t name, const uint64_t *value, const gpuprof_metric_t *m,
                                      size_t n)
{
    nvtxEventAttributes_t a = gpuprof_nvtx_event_(name, m, n);
    if (value) {
        a.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
        a.payload.ullValue = *value;
    }
    nvtxMarkEx(&a);
}

static inline const gpuprof_table_t *gpuprof_nvtx_(void)
{
    static const gpuprof_table_t t = {sizeof t,
                                      1,
                                      gpuprof_nvtx_name_,
                                      gpuprof_nvtx_push_,
                                      gpuprof_nvtx_pop_,
                                      gpuprof_nvtx_start_,
                                      gpuprof_nvtx_stop_,
                                      gpuprof_nvtx_mark_,
                                      NULL,
                                      NULL,
                                      NULL,
                                      NULL,
                                      NULL,
                                      NULL};
    return &t;
}
#else
static inline const gpuprof_table_t *gpuprof_nvtx_(void) { return NULL; }
#endif

/* Who listens: our library where it is loaded or about to be, otherwise another tool for NVTX, otherwise
 * nobody. */
static inline const gpuprof_table_t *gpuprof_look_(void)
{
    const char *nvtx = getenv("NVTX_INJECTION64_PATH"), *cuda = getenv("CUDA_INJECTION64_PATH");
    const gpuprof_table_t *t = NULL;
    if (gpuprof_is_off_()) return NULL;
    t = gpuprof_open_("libgpuprof-inject.so", RTLD_NOLOAD);
    if (!t && gpuprof_is_ours_(cuda)) t = gpuprof_open_(cuda, 0);
    if (!t && gpuprof_is_ours_(nvtx)) t = gpuprof_open_(nvtx, 0);
    return t || !nvtx || !*nvtx ? t : gpuprof_nvtx_();
}

static inline const gpuprof_table_t *gpuprof_find_(void)
{
    const gpuprof_table_t *t = gpuprof_look_();
    __atomic_store_n(&gpuprof_here_.table, t, __ATOMIC_RELEASE);
    return t;
}

/* The table of the first call looks for the real one and repeats the call there. */
static inline uint64_t gpuprof_first_name_(const char *text)
{
    const gpuprof_table_t *t = gpuprof_find_();
    return t ? t->name(text) : (uint64_t)(uintptr_t)text;
}

static inline void gpuprof_first_push_(uint64_t name, const gpuprof_metric_t *m, size_t n)
{
    const gpuprof_table_t *t = gpuprof_table_();
    if (t) t->push(name, m, n);
}

static inline void gpuprof_first_pop_(void) { gpuprof_find_(); }

static inline uint64_t gpuprof_first_start_(uint64_t name, const gpuprof_metric_t *m, size_t n)
{
    const gpuprof_table_t *t = gpuprof_table_();
    return t ? t->start(name, m, n) : 0;
}

static inline void gpuprof_first_stop_(uint64_t range) { (void)range; }

static inline void gpuprof_first_mark_(uint64_t name, const uint64_t *value, const gpuprof_metric_t *m,
                                       size_t n)
{
    const gpuprof_table_t *t = gpuprof_table_();
    if (t) t->mark(name, value, m, n);
}

static const gpuprof_table_t gpuprof_first_ = {sizeof(gpuprof_table_t),
                                               0,
                                               gpuprof_first_name_,
                                               gpuprof_first_push_,
                                               gpuprof_first_pop_,
                                               gpuprof_first_start_,
                                               gpuprof_first_stop_,
                                               gpuprof_first_mark_,
                                               NULL,
                                               NULL,
                                               NULL,
                                               NULL,
                                               NULL,
                                               NULL};

/* One for all objects of a program whose linkage allows that; an object with its own looks for itself. */
__attribute__((weak, visibility("default"))) struct gpuprof_here gpuprof_here_ = {&gpuprof_first_, NULL};

/* The library of the collector, loaded if need be. */
static inline int gpuprof_load_(const gpuprof_options_t *o, const gpuprof_table_t **t)
{
    const char *path = o && o->library ? o->library : getenv("GPUPROF_INJECT");
    *t = gpuprof_table_();
    if (*t && (*t)->begin) return GPUPROF_OK;
    if (gpuprof_is_off_()) return GPUPROF_E_OFF;
    *t = gpuprof_look_();
    if (!*t || !(*t)->begin) *t = gpuprof_open_(path && *path ? path : "libgpuprof-inject.so", 0);
    if (!*t) return GPUPROF_E_LIBRARY;
    __atomic_store_n(&gpuprof_here_.table, *t, __ATOMIC_RELEASE);
    return GPUPROF_OK;
}

/* ---- names, ranges and marks ---- */

/* TEXT as a name, the same for equal texts. Keep it; it is never freed. NULL if there is no memory. */
static inline gpuprof_name_t gpuprof_name(const char *text)
{
    struct gpuprof_site *first = __atomic_load_n(&gpuprof_here_.names, __ATOMIC_ACQUIRE), *s;
    size_t n = strlen(text) + 1;
    for (s = first; s; s = s->next)
        if (!strcmp(s->text, text)) return s;
    s = (struct gpuprof_site *)calloc(1, sizeof *s + n);
    if (!s) return NULL;
    memcpy(s + 1, text, n);
    s->text = (const char *)(s + 1);
    s->next = first;
    while (!__atomic_compare_exchange_n(&gpuprof_here_.names, &s->next, s, 0, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED))
        continue;
    return s;
}

/* A range of this thread begins, with N numbers, at most 16 of which are kept. */
static inline void gpuprof_push_metrics(gpuprof_name_t name, const gpuprof_metric_t *m, size_t n)
{
    const gpuprof_table_t *t = gpuprof_table_();
    if (t && name) {
        uint64_t id = gpuprof_id_(t, name);
        t->push(id, m, n);
    }
}

static inline void gpuprof_push(gpuprof_name_t name) { gpuprof_push_metrics(name, NULL, 0); }

/* The latest open range of this thread ends; without one nothing happens. */
static inline void gpuprof_pop(void)
{
    const gpuprof_table_t *t = gpuprof_table_();
    if (t) t->pop();
}

/* A range that any thread may end. The result is for gpuprof_stop(); 0: nobody listens. */
static inline uint64_t gpuprof_start(gpuprof_name_t name, const gpuprof_metric_t *m, size_t n)
{
    const gpuprof_table_t *t = gpuprof_table_();
    return t && name ? t->start(gpuprof_id_(t, name), m, n) : 0;
}

static inline void gpuprof_stop(uint64_t range)
{
    const gpuprof_table_t *t = gpuprof_table_();
    if (t && range) t->stop(range);
}

/* A moment, with a number. */
static inline void gpuprof_mark(gpuprof_name_t name, uint64_t value)
{
    const gpuprof_table_t *t = gpuprof_table_();
    if (t && name) t->mark(gpuprof_id_(t, name), &value, NULL, 0);
}

/* ---- recording and sessions ---- */

/* Connect this process: under gpuprof-collect to it, otherwise to a recording process that is started and
 * that ends with the program. Takes CUPTI until the next gpuprof_off() or gpuprof_end(), but records nothing.
 * OPTIONS may be NULL. */
static inline int gpuprof_attach(const gpuprof_options_t *options)
{
    const gpuprof_table_t *t;
    int error = gpuprof_load_(options, &t);
    return error ? error : t->attach();
}

/* Record this process from now on (attaching it if need be), or no longer. */
static inline int gpuprof_on(void)
{
    const gpuprof_table_t *t;
    int error = gpuprof_load_(NULL, &t);
    return error ? error : t->record(1);
}

static inline int gpuprof_off(void)
{
    const gpuprof_table_t *t = gpuprof_table_();
    return t && t->record ? t->record(0) : GPUPROF_OK;
}

/* Is this process being recorded now? */
static inline int gpuprof_enabled(void)
{
    const gpuprof_table_t *t = gpuprof_table_();
    return t && t->enabled ? t->enabled() : 0;
}

/* What ERROR, from a call of this thread, means. Never NULL. */
static inline const char *gpuprof_reason(int error)
{
    static const char *const texts[] = {
        "no error",
        "switched off by GPUPROF_OFF",
        "libgpuprof-inject.so was not found: set GPUPROF_INJECT to its path",
        "the recording process could not be started or does not answer",
        "CUPTI was not found or refuses: set GPUPROF_LIBCUPTI to a libcupti",
        "CUPTI is held by another tool",
        ("a fork child of a process that uses CUDA cannot be recorded: use spawn, or fork before the first "
         "session"),
        "the recording process has ended",
        "the session was not begun, or has ended",
        "the trace could not be written",
        "this process is not to be recorded now: see --start, --stop and --filter of gpuprof-collect",
    };
    const gpuprof_table_t *t = gpuprof_table_();
    const char *text = t && t->reason && error ? t->reason(error) : NULL;
    if (text && *text) return text;
    return error >= 0 && (size_t)error < sizeof texts / sizeof *texts ? texts[error] : "unknown error";
}

/* A session begins: from here to gpuprof_end(), the process has a trace of its own. Attaches and records as
 * need be; what was off before is off again afterwards. Zero *SESSION, or set session->path. Sessions may
 * nest and overlap. */
static inline int gpuprof_begin(gpuprof_session_t *session, const char *name, int flags)
{
    const gpuprof_table_t *t;
    size_t n = strlen(name);
    if (n >= sizeof session->name) n = sizeof session->name - 1;
    memcpy(session->name, name, n);
    session->name[n] = 0;
    session->flags = flags;
    session->id = 0;
    session->error = gpuprof_load_(NULL, &t);
    if (!session->error) session->error = t->begin(session);
    return session->error;
}

/* The session ends: the trace is at session->path when this returns. */
static inline int gpuprof_end(gpuprof_session_t *session)
{
    const gpuprof_table_t *t = gpuprof_table_();
    if (!session->id || !t || !t->end)
        return session->error = session->error ? session->error : GPUPROF_E_OPEN;
    return session->error = t->end(session);
}

#ifdef __cplusplus
}

/* GPUPROF_RANGE(NAME): a range from here to the end of the scope. NAME is a string literal. */
namespace gpuprof
{
struct scope {
    explicit scope(gpuprof_name_t name) { gpuprof_push(name); }
    ~scope() { gpuprof_pop(); }
    scope(const scope &) = delete;
    scope &operator=(const scope &) = delete;
};
} // namespace gpuprof
#define GPUPROF_RANGE_AT_(name, line)                                                                        \
    static struct gpuprof_site gpuprof_site_##line = {name, 0, nullptr, nullptr};                            \
    ::gpuprof::scope gpuprof_scope_##line(&gpuprof_site_##line)
#else
static inline void gpuprof_leave_(const int *unused)
{
    (void)unused;
    gpuprof_pop();
}
#define GPUPROF_RANGE_AT_(name, line)                                                                        \
    static struct gpuprof_site gpuprof_site_##line = {name, 0, NULL, NULL};                                  \
    int gpuprof_scope_##line __attribute__((cleanup(gpuprof_leave_), unused)) =                              \
        (gpuprof_push(&gpuprof_site_##line), 0)
#endif
#define GPUPROF_RANGE_ON_(name, line) GPUPROF_RANGE_AT_(name, line)
#define GPUPROF_RANGE(name)           GPUPROF_RANGE_ON_(name, __LINE__)

#else
#ifdef __cplusplus
}
#endif
#endif

#endif
