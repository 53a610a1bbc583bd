#include "collect/inject/nvtx.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "collect/inject/inject.h"
#include "collect/inject/inject_metrics.h"
#include "collect/inject/inject_stacks.h"
#include "collect/inject/inject_window.h"
#include "collect/inject/nvtx_priv.h"
#include "collect/inject/thread_ring.h"
#include "collect/wire/payload.h"
#include "formats/base/buf.h"

/* What every event reads is on cache lines that rarely change. */
static struct {
    _Alignas(64) _Atomic bool watching; /* the capture window asks for ranges */
    _Atomic uint64_t watched_id[2];     /* start/end ranges whose end the capture window waits for */
    _Alignas(64) _Atomic uint64_t next_id;
} nvtx;

static inline bool is_watching(void) { return atomic_load_explicit(&nvtx.watching, memory_order_relaxed); }

/* ---- messages ---- */

static const char *domain_name(nvtxDomainHandle_t d)
{
    return d ? ((const struct nvtx_domain *)(const void *)d)->name : "";
}

/* The message of ATTR; NULL if it has wide characters. A registered one becomes the note's. */
static inline const char *message_of(const nvtxEventAttributes_t *attr, struct gp_note *note)
{
    if (attr && attr->messageType == NVTX_MESSAGE_TYPE_ASCII && attr->message.ascii)
        return attr->message.ascii;
    if (attr && attr->messageType == NVTX_MESSAGE_TYPE_REGISTERED && attr->message.registered)
        return note->text = ((const struct nvtx_string *)(const void *)attr->message.registered)->text;
    return attr && attr->messageType == NVTX_MESSAGE_TYPE_UNICODE && attr->message.unicode ? NULL : "";
}

/* A range was pushed: the capture window may need to know when it ends. A range inside a watched one is only
 * counted. */
static void watch_push(struct gp_thread_ring *t, const struct gp_note *note, const char *text)
{
    for (unsigned which = 0; which < 2; which++) {
        struct gp_range_watch *w = &t->watch[which];
        if (w->domain) w->nested += !strcmp(w->domain, note->domain);
        else if (gp_inject_range_begins(which, note->domain, text, note->time_ns))
            *w = (struct gp_range_watch){note->domain, 0};
    }
    gp_inject_metrics_range(true, note->domain, text);
}

static void watch_pop(struct gp_thread_ring *t, const struct gp_note *note)
{
    gp_inject_metrics_range(false, note->domain, "");
    for (unsigned which = 0; which < 2; which++) {
        struct gp_range_watch *w = &t->watch[which];
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

/* ---- args of events ---- */

/* Room for args, or NULL if there is no memory. */
static struct gp_buf *new_args(struct gp_thread_ring *t)
{
    if (!t->args.data) t->args.data = malloc(GP_PAYLOAD_ROOM);
    if (!t->args.data) return NULL;
    t->args.cap = GP_PAYLOAD_ROOM;
    t->args.n = 0;
    return &t->args;
}

static void add_value(const nvtxEventAttributes_t *attr, struct gp_buf *args)
{
    static const uint8_t types[] = {
        [NVTX_PAYLOAD_TYPE_UNSIGNED_INT64] = GP_PAYLOAD_UINT64,
        [NVTX_PAYLOAD_TYPE_INT64] = GP_PAYLOAD_INT64,
        [NVTX_PAYLOAD_TYPE_DOUBLE] = GP_PAYLOAD_DOUBLE,
        [NVTX_PAYLOAD_TYPE_UNSIGNED_INT32] = GP_PAYLOAD_UINT32,
        [NVTX_PAYLOAD_TYPE_INT32] = GP_PAYLOAD_INT32,
        [NVTX_PAYLOAD_TYPE_FLOAT] = GP_PAYLOAD_FLOAT,
    };
    if (attr->payloadType <= 0 || (size_t)attr->payloadType >= sizeof types) return;
    gp_payload_put_value("Payload", types[attr->payloadType], &attr->payload, args);
}

/* The args of ATTR become the note's. Most events have none, and pay only for finding out. */
static __attribute__((noinline)) void add_args(struct gp_thread_ring *t, nvtxDomainHandle_t d,
                                               const nvtxEventAttributes_t *attr, struct gp_note *note)
{
    struct gp_buf *args = new_args(t);
    if (!args) return;
    if (attr->payloadType == NVTX_PAYLOAD_TYPE_EXT)
        gp_nvtx_put_payloads(d, (const nvtxPayloadData_t *)(uintptr_t)attr->payload.ullValue,
                             attr->reserved0 > 0 ? (size_t)attr->reserved0 : 1, args);
    else add_value(attr, args);
    const char *category = attr->category ? gp_nvtx_category(d, attr->category) : NULL;
    if (category) gp_payload_put_text("Category", category, args);
    else if (attr->category) gp_payload_put_value("Category", GP_PAYLOAD_UINT32, &attr->category, args);
    if (attr->colorType == NVTX_COLOR_ARGB)
        gp_payload_put_value("Color", GP_PAYLOAD_COLOR, &attr->color, args);
    note->args_n = (uint16_t)args->n;
}

/* The capture window opens or closes with a range. */
static void watch_begin(struct gp_thread_ring *t, const struct gp_note *note, const char *text)
{
    if (note->op == GP_NOTE_PUSH) watch_push(t, note, text);
    if (note->op == GP_NOTE_START) watch_start(note, text);
}

/* Put a note with a message and the args of ATTR, or, with REFUSE, only inform the capture window; keep room
 * for RESERVE bytes. */
static inline bool put_text(struct gp_thread_ring *t, nvtxDomainHandle_t d, struct gp_note *note,
                            const char *text, const nvtxEventAttributes_t *attr, size_t reserve, bool refuse)
{
    if (GP_UNLIKELY(is_watching())) watch_begin(t, note, text);
    if (GP_UNLIKELY(attr && (attr->payloadType || attr->category || attr->colorType)) && !refuse)
        add_args(t, d, attr, note);
    bool ok = !refuse && gp_thread_ring_put(t, note, text, reserve);
    if (GP_UNLIKELY(!ok)) gp_ring_refuse(t->ring, note->op);
    return ok;
}

static __attribute__((noinline)) bool put_wide(struct gp_thread_ring *t, nvtxDomainHandle_t d,
                                               struct gp_note *note, const nvtxEventAttributes_t *attr,
                                               size_t reserve, bool refuse)
{
    char text[GP_NVTX_TEXT];
    gp_nvtx_utf8(text, sizeof text, attr->message.unicode);
    return put_text(t, d, note, text, attr, reserve, refuse);
}

static inline bool put_event(struct gp_thread_ring *t, nvtxDomainHandle_t d, struct gp_note *note,
                             const nvtxEventAttributes_t *attr, size_t reserve, bool refuse)
{
    const char *text = message_of(attr, note);
    if (GP_UNLIKELY(!text)) return put_wide(t, d, note, attr, reserve, refuse);
    return put_text(t, d, note, text, attr, reserve, refuse);
}

/* An event that has nothing but a text. */
#define ASCII_EVENT(text)                                                                                    \
    &(nvtxEventAttributes_t) { .messageType = NVTX_MESSAGE_TYPE_ASCII, .message.ascii = (text) }
#define WIDE_EVENT(text)                                                                                     \
    &(nvtxEventAttributes_t) { .messageType = NVTX_MESSAGE_TYPE_UNICODE, .message.unicode = (text) }

/* ---- the calls ---- */

/* Everything inside a refused range is refused, too, so that the pops still match. */
static inline int push_event(nvtxDomainHandle_t d, const nvtxEventAttributes_t *attr)
{
    struct gp_thread_ring *t = gp_thread_ring_get();
    if (GP_UNLIKELY(!t)) return NVTX_NO_PUSH_POP_TRACKING;
    struct gp_note note = {.op = GP_NOTE_PUSH,
                           .time_ns = gp_now_ns(),
                           .domain = domain_name(d),
                           .other = gp_inject_stack_here()};
    int depth = (int)(t->open + t->skipped);
    if (put_event(t, d, &note, attr, gp_thread_ring_reserve(t), t->skipped)) t->open++;
    else t->skipped++;
    return depth;
}

int NVTX_API gp_nvtx_push(nvtxDomainHandle_t d, const nvtxEventAttributes_t *attr)
{
    return push_event(d, attr);
}

/* If there is no room for the args of an end, it is noted without them: its note must not be refused. */
static inline void put_end(struct gp_thread_ring *t, nvtxDomainHandle_t d, struct gp_note *note,
                           const nvtxEventAttributes_t *attr, size_t reserve)
{
    if (GP_UNLIKELY(attr)) {
        add_args(t, d, attr, note);
        if (note->args_n && gp_thread_ring_put(t, note, "", reserve + GP_POP_BYTES)) return;
        note->args_n = 0;
    }
    if (GP_UNLIKELY(!gp_thread_ring_put(t, note, "", reserve))) gp_ring_refuse(t->ring, note->op);
}

static inline int pop_with(nvtxDomainHandle_t d, const nvtxEventAttributes_t *attr)
{
    struct gp_thread_ring *t = gp_thread_ring_get();
    if (GP_UNLIKELY(!t)) return NVTX_NO_PUSH_POP_TRACKING;
    struct gp_note note = {.op = GP_NOTE_POP, .time_ns = gp_now_ns(), .domain = domain_name(d), .text = ""};
    if (GP_UNLIKELY(t->skipped)) {
        t->skipped--;
    } else if (t->open) {
        put_end(t, d, &note, attr, (size_t)(t->open - 1) * GP_POP_BYTES);
        t->open--;
    } else {
        return -1;
    }
    if (GP_UNLIKELY(is_watching())) watch_pop(t, &note);
    return (int)(t->open + t->skipped);
}

int gp_nvtx_pop(nvtxDomainHandle_t d, const nvtxEventAttributes_t *attr) { return pop_with(d, attr); }

static int NVTX_API pop(nvtxDomainHandle_t d) { return pop_with(d, NULL); }

nvtxRangeId_t NVTX_API gp_nvtx_start(nvtxDomainHandle_t d, const nvtxEventAttributes_t *attr)
{
    nvtxRangeId_t id = atomic_fetch_add(&nvtx.next_id, 1) + 1;
    struct gp_thread_ring *t = gp_thread_ring_get();
    if (!t) return id;
    struct gp_note note = {.op = GP_NOTE_START, .time_ns = gp_now_ns(), .domain = domain_name(d), .id = id};
    put_event(t, d, &note, attr, gp_thread_ring_reserve(t), false);
    return id;
}

static inline void stop_with(nvtxDomainHandle_t d, nvtxRangeId_t id, const nvtxEventAttributes_t *attr)
{
    struct gp_thread_ring *t = gp_thread_ring_get();
    if (!t) return;
    struct gp_note note = {
        .op = GP_NOTE_STOP, .time_ns = gp_now_ns(), .domain = domain_name(d), .text = "", .id = id};
    put_end(t, d, &note, attr, gp_thread_ring_reserve(t));
    if (GP_UNLIKELY(is_watching())) watch_stop(&note);
}

void gp_nvtx_stop(nvtxDomainHandle_t d, nvtxRangeId_t id, const nvtxEventAttributes_t *attr)
{
    stop_with(d, id, attr);
}

static void NVTX_API stop(nvtxDomainHandle_t d, nvtxRangeId_t id) { stop_with(d, id, NULL); }

void NVTX_API gp_nvtx_mark(nvtxDomainHandle_t d, const nvtxEventAttributes_t *attr)
{
    struct gp_thread_ring *t = gp_thread_ring_get();
    if (!t) return;
    struct gp_note note = {.op = GP_NOTE_MARK, .time_ns = gp_now_ns(), .domain = domain_name(d)};
    put_event(t, d, &note, attr, gp_thread_ring_reserve(t), false);
}

static void NVTX_API mark_ex(const nvtxEventAttributes_t *attr) { gp_nvtx_mark(NULL, attr); }

static void NVTX_API mark_ascii(const char *text) { gp_nvtx_mark(NULL, ASCII_EVENT(text)); }

static void NVTX_API mark_wide(const wchar_t *text) { gp_nvtx_mark(NULL, WIDE_EVENT(text)); }

static nvtxRangeId_t NVTX_API start_ex(const nvtxEventAttributes_t *attr)
{
    return gp_nvtx_start(NULL, attr);
}

static nvtxRangeId_t NVTX_API start_ascii(const char *text) { return gp_nvtx_start(NULL, ASCII_EVENT(text)); }

static nvtxRangeId_t NVTX_API start_wide(const wchar_t *text)
{
    return gp_nvtx_start(NULL, WIDE_EVENT(text));
}

static void NVTX_API stop_default(nvtxRangeId_t id) { stop(NULL, id); }

static int NVTX_API push_ex(const nvtxEventAttributes_t *attr) { return gp_nvtx_push(NULL, attr); }

static int NVTX_API push_ascii(const char *text) { return push_event(NULL, ASCII_EVENT(text)); }

static int NVTX_API push_wide(const wchar_t *text) { return gp_nvtx_push(NULL, WIDE_EVENT(text)); }

static int NVTX_API pop_default(void) { return pop_with(NULL, NULL); }

/* ---- nodes of CUDA graphs ---- */

void gp_nvtx_node(uint64_t node, uint64_t original)
{
    if (!gp_thread_ring_used() && !gp_inject_stacks_on()) return;
    struct gp_thread_ring *t = gp_thread_ring_get();
    if (!t) return;
    struct gp_note note = {.op = original ? GP_NOTE_CLONE : GP_NOTE_NODE,
                           .time_ns = gp_now_ns(),
                           .domain = "",
                           .text = "",
                           .id = node,
                           .other = original ? original : gp_inject_stack_here()};
    if (!gp_thread_ring_put(t, &note, "", gp_thread_ring_reserve(t))) gp_ring_refuse(t->ring, note.op);
}

/* ---- calls ---- */

static inline void put_args(enum gp_note_op op, int64_t start_ns, const void *args, size_t n)
{
    struct gp_thread_ring *t = gp_thread_ring_get();
    if (!t) return;
    struct gp_note note = {.op = op, .args_n = (uint16_t)n, .time_ns = start_ns, .domain = "", .text = ""};
    size_t reserve = gp_thread_ring_reserve(t);
    if (!gp_ring_put(t->ring, &note, "", 0, args, reserve)) gp_ring_refuse(t->ring, note.op);
    gp_thread_ring_wake(t);
}

void gp_nvtx_wait(int64_t start_ns, const struct gp_note_wait *wait)
{
    put_args(GP_NOTE_WAIT, start_ns, wait, sizeof *wait);
}

void gp_nvtx_call(int64_t start_ns, const struct gp_note_call *call)
{
    put_args(GP_NOTE_CALL, start_ns, call, sizeof *call);
}

/* ---- gpuprof.h ---- */

enum { MAX_METRICS = 16 };

/* The args of a range or mark of ours. */
static __attribute__((noinline)) void add_metrics(struct gp_thread_ring *t, const uint64_t *value,
                                                  const gpuprof_metric_t *m, size_t n, struct gp_note *note)
{
    static const char *const rules[] = {"", " (max)", " (mean)"};
    struct gp_buf *args = new_args(t);
    if (!args) return;
    if (value) gp_payload_put_value("Payload", GP_PAYLOAD_UINT64, value, args);
    for (size_t i = 0; m && i < n && i < MAX_METRICS; i++) {
        char key[128];
        unsigned rule = m[i].rule > 0 && m[i].rule < (int)GP_COUNT(rules) ? (unsigned)m[i].rule : 0;
        snprintf(key, sizeof key, "%.100s%s", m[i].name ? m[i].name : "", rules[rule]);
        gp_payload_put_value(key, GP_PAYLOAD_DOUBLE, &m[i].value, args);
    }
    note->args_n = (uint16_t)args->n;
}

static inline bool put_own(struct gp_thread_ring *t, struct gp_note *note, bool refuse)
{
    if (GP_UNLIKELY(is_watching())) watch_begin(t, note, note->text);
    bool ok = !refuse && gp_thread_ring_put(t, note, note->text, gp_thread_ring_reserve(t));
    if (GP_UNLIKELY(!ok)) gp_ring_refuse(t->ring, note->op);
    return ok;
}

static inline struct gp_note own_note(enum gp_note_op op, uint64_t name)
{
    const struct nvtx_string *s = (const struct nvtx_string *)(uintptr_t)name;
    return (struct gp_note){.op = op, .time_ns = gp_now_ns(), .domain = "", .text = s ? s->text : ""};
}

uint64_t gp_nvtx_own_name(const char *text)
{
    return (uint64_t)(uintptr_t)gp_nvtx_register_string(NULL, text);
}

void gp_nvtx_own_push(uint64_t name, const gpuprof_metric_t *m, size_t n)
{
    struct gp_thread_ring *t = gp_thread_ring_get();
    if (GP_UNLIKELY(!t)) return;
    struct gp_note note = own_note(GP_NOTE_PUSH, name);
    note.other = gp_inject_stack_here();
    if (GP_UNLIKELY(n) && !t->skipped) add_metrics(t, NULL, m, n, &note);
    if (put_own(t, &note, t->skipped)) t->open++;
    else t->skipped++;
}

void gp_nvtx_own_pop(void) { pop_with(NULL, NULL); }

uint64_t gp_nvtx_own_start(uint64_t name, const gpuprof_metric_t *m, size_t n)
{
    struct gp_thread_ring *t = gp_thread_ring_get();
    if (!t) return 0;
    struct gp_note note = own_note(GP_NOTE_START, name);
    note.id = atomic_fetch_add(&nvtx.next_id, 1) + 1;
    if (n) add_metrics(t, NULL, m, n, &note);
    put_own(t, &note, false);
    return note.id;
}

void gp_nvtx_own_stop(uint64_t range) { stop_with(NULL, range, NULL); }

void gp_nvtx_own_mark(uint64_t name, const uint64_t *value, const gpuprof_metric_t *m, size_t n)
{
    struct gp_thread_ring *t = gp_thread_ring_get();
    if (!t) return;
    struct gp_note note = own_note(GP_NOTE_MARK, name);
    if (value || n) add_metrics(t, value, m, n, &note);
    put_own(t, &note, false);
}

/* ---- set-up ---- */

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
        CORE(MarkEx, mark_ex),
        CORE(MarkA, mark_ascii),
        CORE(MarkW, mark_wide),
        CORE(RangeStartEx, start_ex),
        CORE(RangeStartA, start_ascii),
        CORE(RangeStartW, start_wide),
        CORE(RangeEnd, stop_default),
        CORE(RangePushEx, push_ex),
        CORE(RangePushA, push_ascii),
        CORE(RangePushW, push_wide),
        CORE(RangePop, pop_default),
        CORE(NameCategoryA, gp_nvtx_name_default_category),
        CORE(NameCategoryW, gp_nvtx_name_default_category_wide),
    };
    static const struct entry core2[] = {
        CORE2(DomainMarkEx, gp_nvtx_mark),
        CORE2(DomainRangeStartEx, gp_nvtx_start),
        CORE2(DomainRangeEnd, stop),
        CORE2(DomainRangePushEx, gp_nvtx_push),
        CORE2(DomainRangePop, pop),
        CORE2(DomainRegisterStringA, gp_nvtx_register_string),
        CORE2(DomainRegisterStringW, gp_nvtx_register_string_wide),
        CORE2(DomainCreateA, gp_nvtx_create_domain),
        CORE2(DomainCreateW, gp_nvtx_create_domain_wide),
        CORE2(DomainNameCategoryA, gp_nvtx_name_category),
        CORE2(DomainNameCategoryW, gp_nvtx_name_category_wide),
    };
    const NvtxExportTableCallbacks *cb = get_table(NVTX_ETID_CALLBACKS);
    if (!cb) return 0;
    attach(cb, NVTX_CB_MODULE_CORE, core, GP_COUNT(core));
    attach(cb, NVTX_CB_MODULE_CORE2, core2, GP_COUNT(core2));
    gp_debug("NVTX attached");
    return 1;
}

void gp_nvtx_watch(bool on) { atomic_store(&nvtx.watching, on); }
