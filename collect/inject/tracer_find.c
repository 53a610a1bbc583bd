#include "collect/inject/tracer_priv.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "collect/inject/inject.h"
#include "formats/base/str.h"

struct gp_cupti gp_cupti;
struct gp_tracer gp_tracer;

static CUpti_CallbackFunc callback;
static bool is_open;          /* subscribed, for the first time */
static bool is_held;          /* by another tool */
static char holder_name[128]; /* that one's */

/* The parameter of cuptiSubscribe_v2; declared here because the headers of CUPTI 12 do not have it. */
struct gp_subscriber_params {
    size_t size;
    const char *name;
    char *old_name;
    size_t old_name_size;
};

const char *gp_cupti_text(CUptiResult rc)
{
    const char *text = NULL;
    if (gp_cupti.cuptiGetResultString) gp_cupti.cuptiGetResultString(rc, &text);
    return text ? text : "";
}

CUptiResult gp_cupti_switch(CUpti_ActivityKind kind, bool on)
{
    CUptiResult rc = on ? gp_cupti.cuptiActivityEnable(kind) : gp_cupti.cuptiActivityDisable(kind);
    if (rc != CUPTI_SUCCESS) gp_debug("activity kind %d: %d %s", (int)kind, (int)rc, gp_cupti_text(rc));
    return rc;
}

enum { MAX_CANDIDATES = 64 };

struct candidates {
    char *path[MAX_CANDIDATES];
    size_t n, mapped; /* the first MAPPED are already in the process */
};

static void add_candidate(struct candidates *c, const char *dir, size_t dir_len, const char *name)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%.*s%s", (int)dir_len, dir, name);
    if (n <= 0 || (size_t)n >= sizeof path || c->n == MAX_CANDIDATES) return;
    for (size_t i = 0; i < c->n; i++)
        if (!strcmp(c->path[i], path)) return;
    char *copy = strdup(path);
    if (copy) c->path[c->n++] = copy;
}

static int find_mapped(struct dl_phdr_info *info, size_t size, void *ctx)
{
    (void)size;
    const char *slash = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
    if (slash && gp_starts(slash, "/libcupti.so"))
        add_candidate(ctx, info->dlpi_name, strlen(info->dlpi_name), "");
    return 0;
}

/* Python wheels: .../site-packages/{torch/lib,nvidia/cuda_runtime/lib,nvidia/cu13/lib}/libX.so is mapped, and
 * CUPTI lies in .../site-packages/nvidia/. */
static int find_wheel(struct dl_phdr_info *info, size_t size, void *ctx)
{
    (void)size;
    const char *path = info->dlpi_name;
    const char *at = path ? strstr(path, "/nvidia/cu") : NULL;
    if (!at && path) at = strstr(path, "/torch/lib/");
    if (!at) return 0;
    size_t n = (size_t)(at - path);
    add_candidate(ctx, path, n, "/nvidia/cu13/lib/libcupti.so.13");
    add_candidate(ctx, path, n, "/nvidia/cuda_cupti/lib/libcupti.so.13");
    add_candidate(ctx, path, n, "/nvidia/cuda_cupti/lib/libcupti.so.12");
    return 0;
}

static void add_toolkit(struct candidates *c, const char *home)
{
    static const char *const names[] = {
        "/lib64/libcupti.so.13",
        "/lib/libcupti.so.13",
        "/extras/CUPTI/lib64/libcupti.so.13",
        "/targets/x86_64-linux/lib/libcupti.so.13",
        "/targets/sbsa-linux/lib/libcupti.so.13",
        "/lib64/libcupti.so.12",
        "/extras/CUPTI/lib64/libcupti.so.12",
        "/targets/x86_64-linux/lib/libcupti.so.12",
    };
    if (!home || !*home) return;
    for (size_t i = 0; i < GP_COUNT(names); i++) add_candidate(c, home, strlen(home), names[i]);
}

static void list_candidates(struct candidates *c)
{
    const char *chosen = getenv(GP_ENV_LIBCUPTI);
    memset(c, 0, sizeof *c);
    dl_iterate_phdr(find_mapped, c);
    c->mapped = c->n;
    if (chosen && *chosen) add_candidate(c, chosen, strlen(chosen), "");
    dl_iterate_phdr(find_wheel, c);
    add_toolkit(c, getenv("CUDA_HOME"));
    add_toolkit(c, getenv("CUDA_PATH"));
    add_toolkit(c, "/usr/local/cuda");
    add_candidate(c, GP_TEXT("libcupti.so.13"), "");
    add_candidate(c, GP_TEXT("libcupti.so.12"), "");
}

void gp_find_symbol(void *lib, const char *name, void *to)
{
    void *p = dlsym(lib, name);
    memcpy(to, &p, sizeof p);
}

static bool load_symbols(void *lib, const char *path)
{
    gp_cupti.library = lib;
#define X(fn) gp_find_symbol(lib, #fn, &gp_cupti.fn);
    GP_CUPTI_NEEDED(X)
    GP_CUPTI_OPTIONAL(X)
#undef X
    gp_find_symbol(lib, "cuptiSubscribe_v2", &gp_cupti.subscribe_v2);
    gp_find_symbol(lib, "cuptiActivityEnableAllSyncRecords", &gp_cupti.enable_all_syncs);
    gp_find_symbol(lib, "cuptiActivityEnableCudaEventDeviceTimestamps", &gp_cupti.enable_event_times);
#define X(fn)                                                                                                \
    if (!gp_cupti.fn) {                                                                                      \
        gp_debug("%s: has no %s", path, #fn);                                                                \
        return false;                                                                                        \
    }
    GP_CUPTI_NEEDED(X)
#undef X
    return gp_cupti.cuptiGetVersion(&gp_cupti.version) == CUPTI_SUCCESS;
}

/* ---- subscribing ---- */

static CUptiResult subscribe(char *holder, size_t size)
{
    if (!gp_cupti.subscribe_v2) return gp_cupti.cuptiSubscribe(&gp_cupti.subscriber, callback, NULL);
    struct gp_subscriber_params p = {sizeof p, "gpuprof", holder, size};
    CUptiResult rc = gp_cupti.subscribe_v2(&gp_cupti.subscriber, callback, NULL, &p);
    if (rc == CUPTI_ERROR_INVALID_PARAMETER)
        rc = gp_cupti.cuptiSubscribe(&gp_cupti.subscriber, callback, NULL);
    return rc;
}

struct search {
    void *tried[MAX_CANDIDATES]; /* several paths can lead to one library */
    size_t n;
    char why[200]; /* the last failure */
};

static bool tried_before(struct search *s, void *lib)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->tried[i] == lib) return true;
    if (s->n < MAX_CANDIDATES) s->tried[s->n++] = lib;
    return false;
}

static void held_by(const char *holder)
{
    is_held = true;
    bool named = *holder && !strstr(holder, "<not provided>"); /* CUPTI's word for a tool without a name */
    snprintf(holder_name, sizeof holder_name, "%s", named ? holder : "another tool");
    gp_say("CUPTI is held by %s: this process runs untraced", holder_name);
}

/* 1: subscribed; 0: try another; -1: another tool holds CUPTI. */
static int try_library(struct search *s, const char *path, bool mapped)
{
    char holder[128] = "";
    void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL | (mapped ? RTLD_NOLOAD : 0));
    /* Unused ones stay open: unloading CUPTI is not safe. */
    if (!lib || tried_before(s, lib) || !load_symbols(lib, path)) return 0;
    CUptiResult rc = subscribe(holder, sizeof holder);
    holder[sizeof holder - 1] = 0;
    gp_debug("%s: CUPTI version %u%s, subscribe: %d %s", path, (unsigned)gp_cupti.version,
             mapped ? ", already mapped" : "", (int)rc, gp_cupti_text(rc));
    if (rc == CUPTI_SUCCESS) return 1;
    if (rc == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) {
        held_by(holder);
        return -1;
    }
    snprintf(s->why, sizeof s->why, "%s (%d) from %s", gp_cupti_text(rc), (int)rc, path);
    return 0;
}

static bool open_cupti(void)
{
    struct candidates c;
    struct search s = {.n = 0};
    list_candidates(&c);
    int rc = 0;
    for (size_t i = 0; i < c.n && !rc; i++) rc = try_library(&s, c.path[i], i < c.mapped);
    for (size_t i = 0; i < c.n; i++) free(c.path[i]);
    if (!rc && *s.why) gp_say("cannot subscribe to CUPTI: %s: this process runs untraced", s.why);
    else if (!rc) gp_say("no libcupti found (set %s): this process runs untraced", GP_ENV_LIBCUPTI);
    return rc > 0;
}

void gp_cupti_preload(void)
{
    struct candidates c;
    void *lib = NULL;
    list_candidates(&c);
    for (size_t i = 0; i < c.n && !lib; i++)
        lib = dlopen(c.path[i], RTLD_NOW | RTLD_LOCAL | (i < c.mapped ? RTLD_NOLOAD : 0));
    for (size_t i = 0; i < c.n; i++) free(c.path[i]);
}

bool gp_cupti_open(CUpti_CallbackFunc call)
{
    callback = call;
    if (!is_open) {
        is_held = false;
        is_open = open_cupti();
    }
    return is_open;
}

void gp_tracer_shut(void)
{
    if (is_open && gp_cupti.cuptiUnsubscribe) gp_cupti.cuptiUnsubscribe(gp_cupti.subscriber);
    is_open = false;
}

bool gp_tracer_resubscribe(void)
{
    char holder[sizeof holder_name] = "";
    CUptiResult rc = subscribe(holder, sizeof holder);
    holder[sizeof holder - 1] = 0;
    is_held = false;
    if (rc == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) held_by(holder);
    else if (rc != CUPTI_SUCCESS) gp_say("cannot subscribe to CUPTI: %s (%d)", gp_cupti_text(rc), (int)rc);
    return rc == CUPTI_SUCCESS;
}

const char *gp_tracer_holder(void) { return is_held ? holder_name : NULL; }

uint32_t gp_tracer_version(void) { return gp_cupti.version; }

int gp_tracer_driver_version(void)
{
    int (*get_version)(int *) = NULL;
    int version = 0;
    void *lib = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (lib) gp_find_symbol(lib, "cuDriverGetVersion", &get_version);
    return get_version && !get_version(&version) ? version : 0;
}

void *gp_tracer_library(void) { return gp_cupti.library; }
