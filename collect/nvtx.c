/* NVTX injection: one ring of notes a thread, drained by the flush thread. A process that uses NVTX but not
 * CUDA only fills its rings, which is cheap, and stops at the first one that is full. */
#include "collect/inject.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <wchar.h>

#define NVTX_NO_IMPL
#include "nvtx3/nvToolsExt.h"
#include "nvtx3/nvToolsExtPayload.h"

enum { RING_BYTES = 4 << 20, POP_BYTES = 2 * sizeof(struct gp_note), MAX_TEXT = 4096 };

/* A range of this thread whose end somebody waits for. */
struct nvtx_watch {
    const char *domain; /* NULL: none */
    uint32_t nested;    /* ranges of that domain that were pushed inside */
};

/* One thread's ring. The thread writes, the flush thread reads and, when the thread is gone, frees. */
struct nvtx_thread {
    struct nvtx_thread *next;
    struct gp_ring *ring;
    int64_t tid;
    unsigned epoch;             /* of the process this was made in: a fork child must not use its parent's */
    uint32_t open;              /* pushes that were accepted and not popped */
    uint32_t skipped;           /* pushes that were refused and not popped */
    struct nvtx_watch watch[2]; /* by GP_GATE_START and GP_GATE_STOP */
    _Atomic bool woke;          /* the flush thread has been told that this is half full */
    _Atomic bool gone;          /* the thread has ended */
};

struct nvtx_string {
    const char *text;
};

/* A registered kind of payload. */
struct nvtx_schema {
    struct nvtx_schema *next;
    const char *name;
    uint64_t id;
};

static struct {
    pthread_mutex_t lock;
    struct nvtx_thread *threads; /* under lock */
    struct nvtx_schema *schemas; /* under lock; and next_schema */
    uint64_t next_schema;
    pthread_key_t key;
    pthread_once_t once;
    _Atomic bool off;
    _Atomic bool used; /* some thread has a ring */
    _Atomic unsigned epoch;
    _Atomic uint64_t next_id;
    uint64_t refused_gone; /* by threads that were freed; flush thread only */
    uint64_t refused_told;
    _Atomic uint64_t watched_id[2]; /* start/end ranges whose end somebody waits for */
} nvtx = {.lock = PTHREAD_MUTEX_INITIALIZER, .once = PTHREAD_ONCE_INIT};

static _Thread_local struct nvtx_thread *this_thread;

static void thread_ends(void *arg)
{
    struct nvtx_thread *t = arg;
    this_thread = NULL;
    atomic_store(&t->gone, true);
}

static void make_key(void)
{
    pthread_key_create(&nvtx.key, thread_ends);
}

static struct nvtx_thread *new_thread(void)
{
    pthread_once(&nvtx.once, make_key);
    struct nvtx_thread *t = calloc(1, sizeof *t);
    if (t) t->ring = gp_ring_new(RING_BYTES);
    if (!t || !t->ring) {
        free(t);
        return NULL;
    }
    t->tid = syscall(SYS_gettid);
    t->epoch = atomic_load(&nvtx.epoch);
    pthread_setspecific(nvtx.key, t);
    pthread_mutex_lock(&nvtx.lock);
    t->next = nvtx.threads;
    nvtx.threads = t;
    pthread_mutex_unlock(&nvtx.lock);
    atomic_store(&nvtx.used, true);
    return this_thread = t;
}

static struct nvtx_thread *get_thread(void)
{
    if (atomic_load_explicit(&nvtx.off, memory_order_relaxed)) return NULL;
    struct nvtx_thread *t = this_thread;
    if (GP_LIKELY(t && t->epoch == atomic_load_explicit(&nvtx.epoch, memory_order_relaxed))) return t;
    return new_thread();
}

static bool put(struct nvtx_thread *t, const struct gp_note *note, const char *text, size_t reserve)
{
    size_t n = note->text ? 0 : strlen(text);
    bool ok = gp_ring_put(t->ring, note, text, n < MAX_TEXT ? n : MAX_TEXT, NULL, reserve);
    if (GP_UNLIKELY(gp_ring_half_full(t->ring)) && !atomic_exchange(&t->woke, true)) gp_inject_wake(false);
    return ok;
}

/* ---- messages ---- */

static void to_utf8(char *to, size_t size, const wchar_t *from)
{
    size_t n = 0;
    for (; *from && n + 5 < size; from++) {
        uint32_t c = (uint32_t)*from;
        if (c < 0x80) {
            to[n++] = (char)c;
        } else if (c < 0x800) {
            to[n++] = (char)(0xc0 | c >> 6);
            to[n++] = (char)(0x80 | (c & 0x3f));
        } else if (c < 0x10000) {
            to[n++] = (char)(0xe0 | c >> 12);
            to[n++] = (char)(0x80 | (c >> 6 & 0x3f));
            to[n++] = (char)(0x80 | (c & 0x3f));
        } else {
            to[n++] = (char)(0xf0 | (c >> 18 & 7));
            to[n++] = (char)(0x80 | (c >> 12 & 0x3f));
            to[n++] = (char)(0x80 | (c >> 6 & 0x3f));
            to[n++] = (char)(0x80 | (c & 0x3f));
        }
    }
    to[n] = 0;
}

static const char *domain_name(nvtxDomainHandle_t d)
{
    return d ? (const char *)d : "";
}

/* The message of ATTR, maybe in WIDE; a registered one becomes the note's. */
static const char *message_of(const nvtxEventAttributes_t *attr, struct gp_note *note, char wide[MAX_TEXT])
{
    if (attr && attr->messageType == NVTX_MESSAGE_TYPE_ASCII && attr->message.ascii)
        return attr->message.ascii;
    if (attr && attr->messageType == NVTX_MESSAGE_TYPE_REGISTERED && attr->message.registered)
        return note->text = ((const struct nvtx_string *)(const void *)attr->message.registered)->text;
    if (!attr || attr->messageType != NVTX_MESSAGE_TYPE_UNICODE || !attr->message.unicode) return "";
    to_utf8(wide, MAX_TEXT, attr->message.unicode);
    return wide;
}

/* A range was pushed: the gate may want to know when it ends. One that lies in a watched one is counted alone. */
static void watch_push(struct nvtx_thread *t, const struct gp_note *note, const char *text)
{
    for (unsigned which = 0; which < 2; which++) {
        struct nvtx_watch *w = &t->watch[which];
        if (w->domain) w->nested += !strcmp(w->domain, note->domain);
        else if (gp_inject_range_begins(which, note->domain, text, note->time_ns))
            *w = (struct nvtx_watch){note->domain, 0};
    }
}

static void watch_pop(struct nvtx_thread *t, const struct gp_note *note)
{
    for (unsigned which = 0; which < 2; which++) {
        struct nvtx_watch *w = &t->watch[which];
        if (!w->domain || strcmp(w->domain, note->domain)) continue;
        if (w->nested) {
            w->nested--;
        } else {
            w->domain = NULL;
            gp_inject_range_ends(which, note->time_ns);
        }
    }
}

/* The same for ranges that may end on another thread. */
static void watch_start(const struct gp_note *note, const char *text)
{
    for (unsigned which = 0; which < 2; which++)
        if (!atomic_load(&nvtx.watched_id[which]) &&
            gp_inject_range_begins(which, note->domain, text, note->time_ns))
            atomic_store(&nvtx.watched_id[which], note->id);
}

static void watch_stop(const struct gp_note *note)
{
    for (unsigned which = 0; which < 2; which++) {
        uint64_t expected = note->id;
        if (atomic_compare_exchange_strong(&nvtx.watched_id[which], &expected, 0))
            gp_inject_range_ends(which, note->time_ns);
    }
}

/* Put a note with the message of ATTR; room for RESERVE bytes stays. */
static bool put_event(struct nvtx_thread *t, struct gp_note *note, const nvtxEventAttributes_t *attr,
                      size_t reserve)
{
    char wide[MAX_TEXT];
    const char *text = message_of(attr, note, wide);
    if (GP_UNLIKELY(gp_inject_watches_ranges())) {
        if (note->op == GP_NOTE_PUSH) watch_push(t, note, text);
        if (note->op == GP_NOTE_START) watch_start(note, text);
    }
    return put(t, note, text, reserve);
}

static nvtxEventAttributes_t ascii_event(const char *message)
{
    nvtxEventAttributes_t a;
    memset(&a, 0, sizeof a);
    a.messageType = NVTX_MESSAGE_TYPE_ASCII;
    a.message.ascii = message;
    return a;
}

static nvtxEventAttributes_t wide_event(const wchar_t *message)
{
    nvtxEventAttributes_t a;
    memset(&a, 0, sizeof a);
    a.messageType = NVTX_MESSAGE_TYPE_UNICODE;
    a.message.unicode = message;
    return a;
}

/* ---- the calls ---- */

static int NVTX_API push(nvtxDomainHandle_t d, const nvtxEventAttributes_t *attr)
{
    struct nvtx_thread *t = get_thread();
    if (!t) return NVTX_NO_PUSH_POP_TRACKING;
    struct gp_note note = {.op = GP_NOTE_PUSH, .time_ns = gp_now_ns(), .domain = domain_name(d)};
    int depth = (int)(t->open + t->skipped);
    if (t->skipped) { /* what lies inside a refused range is refused, too, so that the pops still match */
        char wide[MAX_TEXT];
        if (gp_inject_watches_ranges()) watch_push(t, &note, message_of(attr, &note, wide));
        t->skipped++;
        atomic_fetch_add(&t->ring->refused, 1);
    } else if (put_event(t, &note, attr, (size_t)(t->open + 1) * POP_BYTES)) {
        t->open++;
    } else {
        t->skipped++;
    }
    return depth;
}

static int NVTX_API pop(nvtxDomainHandle_t d)
{
    struct nvtx_thread *t = get_thread();
    if (!t) return NVTX_NO_PUSH_POP_TRACKING;
    struct gp_note note = {.op = GP_NOTE_POP, .time_ns = gp_now_ns(), .domain = domain_name(d), .text = ""};
    if (t->skipped) {
        t->skipped--;
    } else if (t->open) {
        put(t, &note, "", 0);
        t->open--;
    } else {
        return -1;
    }
    if (GP_UNLIKELY(gp_inject_watches_ranges())) watch_pop(t, &note);
    return (int)(t->open + t->skipped);
}

static nvtxRangeId_t NVTX_API start(nvtxDomainHandle_t d, const nvtxEventAttributes_t *attr)
{
    nvtxRangeId_t id = atomic_fetch_add(&nvtx.next_id, 1) + 1;
    struct nvtx_thread *t = get_thread();
    if (!t) return id;
    struct gp_note note = {.op = GP_NOTE_START, .time_ns = gp_now_ns(), .domain = domain_name(d), .id = id};
    put_event(t, &note, attr, (size_t)(t->open + 1) * POP_BYTES);
    return id;
}

static void NVTX_API stop(nvtxDomainHandle_t d, nvtxRangeId_t id)
{
    struct nvtx_thread *t = get_thread();
    if (!t) return;
    struct gp_note note = {
        .op = GP_NOTE_STOP, .time_ns = gp_now_ns(), .domain = domain_name(d), .text = "", .id = id};
    put(t, &note, "", (size_t)(t->open + 1) * POP_BYTES);
    if (GP_UNLIKELY(gp_inject_watches_ranges())) watch_stop(&note);
}

static void NVTX_API mark(nvtxDomainHandle_t d, const nvtxEventAttributes_t *attr)
{
    struct nvtx_thread *t = get_thread();
    if (!t) return;
    struct gp_note note = {.op = GP_NOTE_MARK, .time_ns = gp_now_ns(), .domain = domain_name(d)};
    put_event(t, &note, attr, (size_t)(t->open + 1) * POP_BYTES);
}

static void NVTX_API mark_ex(const nvtxEventAttributes_t *attr)
{
    mark(NULL, attr);
}

static void NVTX_API mark_ascii(const char *message)
{
    nvtxEventAttributes_t a = ascii_event(message);
    mark(NULL, &a);
}

static void NVTX_API mark_wide(const wchar_t *message)
{
    nvtxEventAttributes_t a = wide_event(message);
    mark(NULL, &a);
}

static nvtxRangeId_t NVTX_API start_ex(const nvtxEventAttributes_t *attr)
{
    return start(NULL, attr);
}

static nvtxRangeId_t NVTX_API start_ascii(const char *message)
{
    nvtxEventAttributes_t a = ascii_event(message);
    return start(NULL, &a);
}

static nvtxRangeId_t NVTX_API start_wide(const wchar_t *message)
{
    nvtxEventAttributes_t a = wide_event(message);
    return start(NULL, &a);
}

static void NVTX_API stop_default(nvtxRangeId_t id)
{
    stop(NULL, id);
}

static int NVTX_API push_ex(const nvtxEventAttributes_t *attr)
{
    return push(NULL, attr);
}

static int NVTX_API push_ascii(const char *message)
{
    nvtxEventAttributes_t a = ascii_event(message);
    return push(NULL, &a);
}

static int NVTX_API push_wide(const wchar_t *message)
{
    nvtxEventAttributes_t a = wide_event(message);
    return push(NULL, &a);
}

static int NVTX_API pop_default(void)
{
    return pop(NULL);
}

/* Domains and registered strings are few, and notes point at them, so they are never freed. */
static nvtxDomainHandle_t NVTX_API create_domain(const char *name)
{
    return (nvtxDomainHandle_t)(void *)strdup(name ? name : "");
}

static nvtxDomainHandle_t NVTX_API create_domain_wide(const wchar_t *name)
{
    char text[MAX_TEXT];
    to_utf8(text, sizeof text, name ? name : L"");
    return create_domain(text);
}

static nvtxStringHandle_t NVTX_API register_string(nvtxDomainHandle_t d, const char *text)
{
    (void)d;
    struct nvtx_string *s = malloc(sizeof *s);
    char *copy = strdup(text ? text : "");
    if (!s || !copy) {
        free(s);
        free(copy);
        return NULL;
    }
    s->text = copy;
    return (nvtxStringHandle_t)(void *)s;
}

static nvtxStringHandle_t NVTX_API register_string_wide(nvtxDomainHandle_t d, const wchar_t *text)
{
    char utf8[MAX_TEXT];
    to_utf8(utf8, sizeof utf8, text ? text : L"");
    return register_string(d, utf8);
}

/* ---- nodes of CUDA graphs ---- */

void gp_nvtx_node(uint64_t node, uint64_t original)
{
    if (!atomic_load_explicit(&nvtx.used, memory_order_relaxed)) return;
    struct nvtx_thread *t = get_thread();
    if (!t) return;
    struct gp_note note = {.op = original ? GP_NOTE_CLONE : GP_NOTE_NODE,
                           .time_ns = gp_now_ns(),
                           .domain = "",
                           .text = "",
                           .id = node,
                           .other = original};
    put(t, &note, "", (size_t)(t->open + 1) * POP_BYTES);
}

/* ---- the payload extension ----
 * NCCL pushes its ranges with the plain calls and pops them with nvtxRangePopPayload: without these entry points such
 * ranges would never end. What the payloads hold is not recorded; an event that has no other message is called by the
 * name of its payload's schema. */

static nvtxEventAttributes_t payload_event(const nvtxPayloadData_t *payload, size_t n)
{
    const char *name = "";
    uint64_t id = n && payload ? payload->schemaId : 0;
    if (id >= NVTX_PAYLOAD_SCHEMA_ID_STATIC_START) {
        pthread_mutex_lock(&nvtx.lock);
        for (const struct nvtx_schema *s = nvtx.schemas; s; s = s->next)
            if (s->id == id) name = s->name;
        pthread_mutex_unlock(&nvtx.lock);
    }
    return ascii_event(name);
}

/* Schemas and enumerations share their numbers; few are made, and they live as long as the process. */
static uint64_t register_schema(nvtxDomainHandle_t d, const nvtxPayloadSchemaAttr_t *attr)
{
    (void)d;
    if (!attr) return 0;
    struct nvtx_schema *s = malloc(sizeof *s);
    char *name = strdup(attr->name ? attr->name : "");
    if (!s || !name) {
        free(s);
        free(name);
        return 0;
    }
    pthread_mutex_lock(&nvtx.lock);
    *s = (struct nvtx_schema){nvtx.schemas, name, attr->schemaId};
    if (!s->id) s->id = NVTX_PAYLOAD_SCHEMA_ID_DYNAMIC_START + nvtx.next_schema++;
    nvtx.schemas = s;
    pthread_mutex_unlock(&nvtx.lock);
    return s->id;
}

static uint64_t register_number(void)
{
    pthread_mutex_lock(&nvtx.lock);
    uint64_t id = NVTX_PAYLOAD_SCHEMA_ID_DYNAMIC_START + nvtx.next_schema++;
    pthread_mutex_unlock(&nvtx.lock);
    return id;
}

static uint64_t register_enum(nvtxDomainHandle_t d, const nvtxPayloadEnumAttr_t *attr)
{
    (void)d;
    return attr && attr->schemaId ? attr->schemaId : register_number();
}

static uint64_t register_scope(nvtxDomainHandle_t d, const nvtxScopeAttr_t *attr)
{
    (void)d;
    return attr && attr->scopeId ? attr->scopeId : register_number();
}

static void mark_payload(nvtxDomainHandle_t d, const nvtxPayloadData_t *payload, size_t n)
{
    nvtxEventAttributes_t a = payload_event(payload, n);
    mark(d, &a);
}

static int push_payload(nvtxDomainHandle_t d, const nvtxPayloadData_t *payload, size_t n)
{
    nvtxEventAttributes_t a = payload_event(payload, n);
    return push(d, &a);
}

static int pop_payload(nvtxDomainHandle_t d, const nvtxPayloadData_t *payload, size_t n)
{
    (void)payload;
    (void)n;
    return pop(d);
}

static nvtxRangeId_t start_payload(nvtxDomainHandle_t d, const nvtxPayloadData_t *payload, size_t n)
{
    nvtxEventAttributes_t a = payload_event(payload, n);
    return start(d, &a);
}

static void stop_payload(nvtxDomainHandle_t d, nvtxRangeId_t id, const nvtxPayloadData_t *payload, size_t n)
{
    (void)payload;
    (void)n;
    stop(d, id);
}

static uint8_t domain_is_enabled(nvtxDomainHandle_t d)
{
    (void)d;
    return 1;
}

/* ---- set-up ---- */

struct slot {
    size_t id;
    intptr_t function;
};

#define PAYLOAD(name, function)                                                                              \
    {                                                                                                        \
        NVTX3EXT_CBID_##name, (intptr_t)(function)                                                           \
    }

GP_EXPORT int InitializeInjectionNvtxExtension(nvtxExtModuleInfo_t *module);

GP_EXPORT int InitializeInjectionNvtxExtension(nvtxExtModuleInfo_t *module)
{
    static const struct slot slots[] = {
        PAYLOAD(nvtxPayloadSchemaRegister, register_schema),
        PAYLOAD(nvtxPayloadEnumRegister, register_enum),
        PAYLOAD(nvtxMarkPayload, mark_payload),
        PAYLOAD(nvtxRangePushPayload, push_payload),
        PAYLOAD(nvtxRangePopPayload, pop_payload),
        PAYLOAD(nvtxRangeStartPayload, start_payload),
        PAYLOAD(nvtxRangeEndPayload, stop_payload),
        PAYLOAD(nvtxDomainIsEnabled, domain_is_enabled),
        PAYLOAD(nvtxScopeRegister, register_scope),
    };
    if (!module || module->moduleId != NVTX_EXT_PAYLOAD_MODULEID || !module->segmentsCount ||
        !module->segments)
        return 0;
    gp_inject_once();
    const nvtxExtModuleSegment_t *segment = &module->segments[0];
    for (size_t i = 0; i < sizeof slots / sizeof *slots; i++)
        if (slots[i].id < segment->slotCount) segment->functionSlots[slots[i].id] = slots[i].function;
    gp_debug("NVTX payloads attached");
    return 1;
}

struct entry {
    unsigned id;
    NvtxFunctionPointer function;
};

#define CORE(name, function)                                                                                 \
    {                                                                                                        \
        NVTX_CBID_CORE_##name, (NvtxFunctionPointer)(function)                                               \
    }
#define CORE2(name, function)                                                                                \
    {                                                                                                        \
        NVTX_CBID_CORE2_##name, (NvtxFunctionPointer)(function)                                              \
    }

static void attach(const NvtxExportTableCallbacks *cb, NvtxCallbackModule module, const struct entry *entries,
                   size_t n)
{
    NvtxFunctionTable table = NULL;
    unsigned size = 0;
    if (!cb->GetModuleFunctionTable(module, &table, &size) || !table) return;
    for (size_t i = 0; i < n; i++)
        if (entries[i].id < size && table[entries[i].id]) *table[entries[i].id] = entries[i].function;
}

GP_EXPORT int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table);

GP_EXPORT int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table)
{
    static const struct entry core[] = {
        CORE(MarkEx, mark_ex),        CORE(MarkA, mark_ascii),        CORE(MarkW, mark_wide),
        CORE(RangeStartEx, start_ex), CORE(RangeStartA, start_ascii), CORE(RangeStartW, start_wide),
        CORE(RangeEnd, stop_default), CORE(RangePushEx, push_ex),     CORE(RangePushA, push_ascii),
        CORE(RangePushW, push_wide),  CORE(RangePop, pop_default),
    };
    static const struct entry core2[] = {
        CORE2(DomainMarkEx, mark),
        CORE2(DomainRangeStartEx, start),
        CORE2(DomainRangeEnd, stop),
        CORE2(DomainRangePushEx, push),
        CORE2(DomainRangePop, pop),
        CORE2(DomainRegisterStringA, register_string),
        CORE2(DomainRegisterStringW, register_string_wide),
        CORE2(DomainCreateA, create_domain),
        CORE2(DomainCreateW, create_domain_wide),
    };
    gp_inject_once();
    const NvtxExportTableCallbacks *cb = get_table(NVTX_ETID_CALLBACKS);
    if (!cb) return 0;
    attach(cb, NVTX_CB_MODULE_CORE, core, sizeof core / sizeof *core);
    attach(cb, NVTX_CB_MODULE_CORE2, core2, sizeof core2 / sizeof *core2);
    gp_debug("NVTX attached");
    return 1;
}

/* ---- the reading side ---- */

static void drain_thread(struct nvtx_thread *t, struct gp_ranges *ranges)
{
    atomic_store(&t->woke, false);
    for (const struct gp_note *note; (note = gp_ring_peek(t->ring));) {
        gp_ranges_note(ranges, t->tid, note);
        gp_ring_pop(t->ring, note);
    }
}

uint64_t gp_nvtx_drain(struct gp_ranges *ranges)
{
    pthread_mutex_lock(&nvtx.lock);
    struct nvtx_thread *first = nvtx.threads;
    pthread_mutex_unlock(&nvtx.lock);
    uint64_t refused = nvtx.refused_gone;
    struct nvtx_thread *before = NULL;
    for (struct nvtx_thread *t = first, *next; t; t = next) {
        bool gone = atomic_load(&t->gone); /* read before draining, so that nothing is written after */
        next = t->next;
        drain_thread(t, ranges);
        uint64_t n = atomic_load(&t->ring->refused);
        refused += n;
        if (gone && before) { /* the first one stays: a new thread may be linking to it now */
            nvtx.refused_gone += n;
            before->next = next;
            gp_ring_free(t->ring);
            free(t);
        } else {
            before = t;
        }
    }
    uint64_t fresh = refused - nvtx.refused_told;
    nvtx.refused_told = refused;
    return fresh;
}

void gp_nvtx_off(void)
{
    atomic_store(&nvtx.off, true);
}

void gp_nvtx_forked(bool off)
{
    pthread_mutex_init(&nvtx.lock, NULL); /* some other thread of the parent may have held it */
    nvtx.threads = NULL;
    atomic_fetch_add(&nvtx.epoch, 1);
    if (off) gp_nvtx_off();
}
