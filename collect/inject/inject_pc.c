/* Samples of program counters. A context is sampled from its beginning on while the window is open. CUPTI
 * sums the samples up by instruction; the sums of a second are fetched by the flush thread, those of a single
 * launch where its call ends. Lines are found when the flush thread hands them over. Whatever fails here
 * switches sampling off, and the program runs on. */
#include "collect/inject/inject_pc.h"

#include <cupti.h>
#include <cupti_pcsampling.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "collect/counters/perfworks.h"
#include "collect/inject/inject.h"
#include "collect/inject/inject_link.h"
#include "formats/base/buf.h"
#include "formats/base/count.h"
#include "formats/base/hash.h"
#include "formats/base/intern.h"
#include "formats/base/map.h"
#include "formats/base/mem.h"
#include "formats/base/str.h"
#include "formats/base/vec.h"

enum {
    MAX_CONTEXTS = 64,
    MAX_REASONS = 128,
    AT_ONCE = 4096, /* records that are fetched at once */
    REST = 16384,   /* records that CUPTI hands over at the end: instructions that were sampled since */
    SCRATCH_BYTES = 16 << 20,
    FRAME_BYTES = 256 << 10,
    ROWS_MOST = 8192, /* of a frame */
    MAX_TEXT = 60000,
    CODE_MOST = 1 << 30, /* bytes of cubins that are kept */
    SENT_MOST = 8 << 20, /* and of those that go into the trace */
};
static const int64_t WINDOW_NS = 1000000000;

struct context {
    void *handle;
    uint32_t device, number;
    bool sampled;
    int64_t since_ns; /* the window began */
};

/* A cubin with lines. */
struct cubin {
    void *data;
    size_t n;
    uint64_t crc; /* 0: not worked out yet */
    bool sent;    /* or too large for that */
};

struct place {
    uint32_t file, line;
};

#define CALLS(X)                                                                                             \
    X(cuptiPCSamplingEnable)                                                                                 \
    X(cuptiPCSamplingDisable)                                                                                \
    X(cuptiPCSamplingSetConfigurationAttribute)                                                              \
    X(cuptiPCSamplingGetNumStallReasons)                                                                     \
    X(cuptiPCSamplingGetStallReasons)                                                                        \
    X(cuptiPCSamplingGetData)                                                                                \
    X(cuptiGetSassToSourceCorrelation)                                                                       \
    X(cuptiGetCubinCrc)                                                                                      \
    X(cuptiGetDeviceId)                                                                                      \
    X(cuptiGetContextId)

static struct {
#define X(fn) __typeof__(&(fn)) fn;
    CALLS(X)
#undef X
} api;

static struct {
    struct gp_pc_opts opts;
    _Atomic bool on, recording; /* RECORDING: the window is open */
    pthread_mutex_t lock;       /* of all from here on */
    struct context contexts[MAX_CONTEXTS];
    size_t ncontexts;
    /* by the number of a reason: its text, and whether it counts what no other warp hid */
    uint32_t reason[MAX_REASONS], nreasons;
    bool hidden[MAX_REASONS];
    CUpti_PCSamplingData data, rest;
    struct gp_strings texts; /* their numbers are one less */
    uint32_t sent;           /* of the texts */
    GP_VEC(struct gp_pc_head) windows;
    struct gp_buf rows; /* of all windows */
    GP_VEC(struct place) places;
    struct gp_map place_of;    /* an instruction's hash -> index of its place */
    pthread_mutex_t code_lock; /* of the rest: code is loaded while samples are fetched */
    GP_VEC(struct cubin) cubins;
    size_t code_bytes, sent_bytes;
    struct gp_buf code; /* rows of cubins that have been sampled since the last frame */
} self = {.lock = PTHREAD_MUTEX_INITIALIZER, .code_lock = PTHREAD_MUTEX_INITIALIZER};

static void fail(const char *what, int code)
{
    static const struct gp_perfworks none;
    char why[200];
    if (!atomic_exchange(&self.on, false)) return;
    gp_perfworks_why(why, sizeof why, code, &none, NULL);
    gp_say("cannot sample program counters: %s%s", why,
           code == CUPTI_ERROR_UNKNOWN ? "; perhaps another profiler (DCGM?) holds the GPU's counters" : "");
    gp_debug("program counters: %s: %d", what, code);
}

/* ---- texts ---- */

static uint32_t text_of(char kind, const char *folder, const char *text)
{
    struct gp_buf b = {0};
    gp_buf_putc(&b, kind);
    if (folder && *folder && *text != '/') gp_buf_printf(&b, "%s/", folder);
    gp_buf_put(&b, text, strnlen(text, MAX_TEXT));
    uint32_t sid = gp_intern(&self.texts, b.data, b.n < MAX_TEXT ? b.n : MAX_TEXT);
    gp_buf_release(&b);
    return sid - 1;
}

/* "smsp__pcsamp_warps_issue_stalled_long_scoreboard_not_issued" counts the samples of long_scoreboard in
 * which no warp could issue. Others count no samples of warps. */
static void read_reason(uint32_t index, const char *name)
{
    static const char hidden[] = "_not_issued";
    const char *at = strstr(name, "_stalled_");
    if (index >= MAX_REASONS || !at) return;
    size_t n = strlen(at += strlen("_stalled_"));
    self.hidden[index] = gp_ends(at, n, hidden);
    char word[CUPTI_STALL_REASON_STRING_SIZE];
    snprintf(word, sizeof word, "%.*s", (int)(n - (self.hidden[index] ? sizeof hidden - 1 : 0)), at);
    self.reason[index] = text_of(GP_PC_TEXT_NAME, NULL, word) + 1;
}

/* ---- lines ---- */

/* On the way of a call that loads code, so it is only copied. */
void gp_inject_pc_module(const void *cubin, size_t n)
{
    static const char lines[] = ".debug_line";
    if (!atomic_load(&self.on) || !cubin || !memmem(cubin, n, lines, sizeof lines - 1)) return;
    pthread_mutex_lock(&self.code_lock);
    struct cubin c = {.n = n};
    if (n <= CODE_MOST - self.code_bytes && (c.data = malloc(n))) {
        memcpy(c.data, cubin, n);
        self.code_bytes += n;
        GP_VEC_PUSH(&self.cubins, c);
    }
    pthread_mutex_unlock(&self.code_lock);
}

/* Its bytes, as texts of hexadecimal digits. */
static void put_code(struct cubin *c, uint32_t function)
{
    static const char digits[] = "0123456789abcdef";
    const uint8_t *code = c->data;
    struct gp_buf text = {0};
    c->sent = true;
    if (c->n > SENT_MOST - self.sent_bytes) return;
    self.sent_bytes += c->n;
    for (size_t at = 0; at < c->n; at += GP_PC_CODE_BYTES, text.n = 0) {
        for (size_t i = at; i < c->n && i < at + GP_PC_CODE_BYTES; i++) {
            gp_buf_putc(&text, digits[code[i] >> 4]);
            gp_buf_putc(&text, digits[code[i] & 15]);
        }
        const struct gp_pc_row row = {.offset = at,
                                      .crc = c->crc,
                                      .function = function,
                                      .reason = text_of(GP_PC_TEXT_NAME, NULL, gp_buf_str(&text))};
        gp_buf_put(&self.code, &row, sizeof row);
    }
    gp_buf_release(&text);
}

/* The latest with that checksum, which the FUNCTION is in; without data: none. */
static struct cubin cubin_of(uint64_t crc, uint32_t function)
{
    struct cubin found = {0};
    pthread_mutex_lock(&self.code_lock);
    for (size_t i = self.cubins.n; i-- > 0 && !found.data;) {
        struct cubin *c = &self.cubins.at[i];
        CUpti_GetCubinCrcParams q = {CUpti_GetCubinCrcParamsSize, c->n, c->data, 0};
        if (!c->crc && !api.cuptiGetCubinCrc(&q)) c->crc = q.cubinCrc;
        if (c->crc != crc) continue;
        if (!c->sent) put_code(c, function);
        found = *c;
    }
    pthread_mutex_unlock(&self.code_lock);
    return found;
}

static struct place find_place(const struct gp_pc_row *row)
{
    struct cubin c = cubin_of(row->crc, row->function);
    struct place place = {0, 0};
    CUpti_GetSassToSourceCorrelationParams q = {
        .size = CUpti_GetSassToSourceCorrelationParamsSize,
        .cubin = c.data,
        .functionName = gp_string(&self.texts, row->function + 1) + 1,
        .cubinSize = c.n,
        .pcOffset = row->offset,
    };
    if (c.data && !api.cuptiGetSassToSourceCorrelation(&q) && q.lineNumber && q.fileName && *q.fileName)
        place = (struct place){text_of(GP_PC_TEXT_FILE, q.dirName, q.fileName), q.lineNumber};
    free(q.fileName);
    free(q.dirName);
    return place;
}

/* Remembered by a hash of 64 bits. */
static struct place place_of(const struct gp_pc_row *row)
{
    uint64_t key[] = {row->crc, row->offset, row->function};
    uint32_t *at = gp_map_put(&self.place_of, gp_hash_bytes(key, sizeof key), UINT32_MAX);
    if (*at != UINT32_MAX) return self.places.at[*at];
    *at = (uint32_t)self.places.n;
    GP_VEC_PUSH(&self.places, find_place(row));
    return self.places.at[self.places.n - 1];
}

/* ---- fetching; under the lock ---- */

static void put_record(const CUpti_PCSamplingPCData *r)
{
    uint32_t samples[MAX_REASONS] = {0}, stalled[MAX_REASONS] = {0};
    const char *name = r->functionName ? r->functionName : "[unnamed kernel]";
    for (size_t i = 0; i < r->stallReasonCount; i++) {
        uint32_t index = r->stallReason[i].pcSamplingStallReasonIndex,
                 text = index < MAX_REASONS ? self.reason[index] : 0;
        if (text) *(self.hidden[index] ? &stalled[text] : &samples[text]) += r->stallReason[i].samples;
    }
    struct gp_pc_row row = {
        .offset = r->pcOffset, .crc = r->cubinCrc, .function = text_of(GP_PC_TEXT_NAME, NULL, name)};
    if (self.opts.mode == GP_PC_LAUNCHES) row.corr = r->correlationId;
    for (uint32_t k = 1; k <= self.nreasons; k++) {
        row.reason = k - 1;
        row.samples = samples[k];
        row.stalled = stalled[k] < samples[k] ? stalled[k] : samples[k];
        if (row.samples) gp_buf_put(&self.rows, &row, sizeof row);
    }
}

static void put_data(struct gp_pc_head *h, const CUpti_PCSamplingData *d)
{
    h->total += d->totalSamples;
    h->dropped += d->droppedSamples;
    h->other += d->nonUsrKernelsTotalSamples;
    for (size_t i = 0; i < d->totalNumPcs && i < d->collectNumPcs; i++) put_record(&d->pPcData[i]);
}

static void empty(CUpti_PCSamplingData *d)
{
    d->totalNumPcs = d->remainingNumPcs = d->totalSamples = d->droppedSamples = 0;
    d->nonUsrKernelsTotalSamples = 0;
}

/* Fetch what has been sampled since the last time; at the LAST time that includes what the GPU still has. */
static void fetch(struct context *c, bool last)
{
    CUpti_PCSamplingGetDataParams get = {CUpti_PCSamplingGetDataParamsSize, NULL, c->handle, &self.data};
    CUpti_PCSamplingDisableParams end = {CUpti_PCSamplingDisableParamsSize, NULL, c->handle};
    struct gp_pc_head h = {.start_ns = c->since_ns,
                           .device = c->device,
                           .context = c->number,
                           .mode = self.opts.mode,
                           .period = self.opts.period};
    int64_t begin_ns = gp_now_ns();
    size_t before = self.rows.n;
    int code;
    do {
        empty(&self.data);
        code = api.cuptiPCSamplingGetData(&get);
        if (!code) put_data(&h, &self.data);
    } while (!code && self.data.remainingNumPcs && self.data.totalNumPcs);
    h.full = code == CUPTI_ERROR_OUT_OF_MEMORY;
    if (code && !h.full) {
        fail("data", code);
        last = true;
    }
    if (last) empty(&self.rest);
    if (last && !(code = api.cuptiPCSamplingDisable(&end))) put_data(&h, &self.rest);
    c->sampled &= !last;
    h.end_ns = c->since_ns = gp_now_ns();
    h.rows = (uint32_t)((self.rows.n - before) / sizeof(struct gp_pc_row));
    if (h.total || h.full) GP_VEC_PUSH(&self.windows, h);
    gp_debug("program counters: %u rows, %llu samples, fetched in %lld us: %d", h.rows,
             (unsigned long long)h.total, (long long)(h.end_ns - begin_ns) / 1000, code);
}

/* ---- contexts; under the lock ---- */

static int read_reasons(void *context)
{
    size_t n = 0;
    uint32_t index[MAX_REASONS];
    char text[MAX_REASONS][CUPTI_STALL_REASON_STRING_SIZE] = {""}, *names[MAX_REASONS];
    CUpti_PCSamplingGetNumStallReasonsParams count = {CUpti_PCSamplingGetNumStallReasonsParamsSize, NULL,
                                                      context, &n};
    if (self.nreasons) return 0;
    for (size_t i = 0; i < MAX_REASONS; i++) names[i] = text[i];
    int code = api.cuptiPCSamplingGetNumStallReasons(&count);
    if (n > MAX_REASONS) n = MAX_REASONS;
    CUpti_PCSamplingGetStallReasonsParams r = {
        CUpti_PCSamplingGetStallReasonsParamsSize, NULL, context, n, index, names};
    if (!code) code = api.cuptiPCSamplingGetStallReasons(&r);
    for (size_t i = 0; !code && i < n; i++) read_reason(index[i], names[i]);
    self.nreasons = self.texts.n ? self.texts.n - 1 : 0;
    return code;
}

/* Room for N records. */
static void make_room(CUpti_PCSamplingData *d, size_t n)
{
    if (d->pPcData) return;
    CUpti_PCSamplingStallReason *reasons = gp_zalloc(n * MAX_REASONS * sizeof *reasons);
    d->pPcData = gp_zalloc(n * sizeof *d->pPcData);
    d->size = sizeof *d;
    d->collectNumPcs = n;
    for (size_t i = 0; i < n; i++) {
        d->pPcData[i].size = sizeof *d->pPcData;
        d->pPcData[i].stallReason = reasons + i * MAX_REASONS;
    }
}

#define ATTRIBUTE(type, member, value)                                                                       \
    {                                                                                                        \
        .attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_##type, .attributeData.member = (value)   \
    }

static int configure(void *context)
{
    CUpti_PCSamplingConfigurationInfo a[] = {
        ATTRIBUTE(COLLECTION_MODE, collectionModeData.collectionMode,
                  (CUpti_PCSamplingCollectionMode)self.opts.mode),
        ATTRIBUTE(SCRATCH_BUFFER_SIZE, scratchBufferSizeData.scratchBufferSize, SCRATCH_BYTES),
        ATTRIBUTE(SAMPLING_DATA_BUFFER, samplingDataBufferData.samplingDataBuffer, &self.rest),
        ATTRIBUTE(SAMPLING_PERIOD, samplingPeriodData.samplingPeriod, self.opts.period),
    };
    CUpti_PCSamplingConfigurationInfoParams q = {CUpti_PCSamplingConfigurationInfoParamsSize, NULL, context,
                                                 GP_COUNT(a), a};
    return (int)api.cuptiPCSamplingSetConfigurationAttribute(&q);
}

static void sample(struct context *c)
{
    CUpti_PCSamplingEnableParams q = {CUpti_PCSamplingEnableParamsSize, NULL, c->handle};
    if (c->sampled || !atomic_load(&self.on) || !atomic_load(&self.recording)) return;
    int64_t begin_ns = gp_now_ns();
    int code = api.cuptiPCSamplingEnable(&q);
    if (!code) code = read_reasons(c->handle);
    make_room(&self.data, AT_ONCE);
    make_room(&self.rest, REST);
    if (!code) code = configure(c->handle);
    if (code) fail("enable", code);
    c->sampled = !code;
    c->since_ns = gp_now_ns();
    gp_debug("program counters: enabled in %lld us: %d", (long long)(c->since_ns - begin_ns) / 1000, code);
}

static void end_samples(struct context *c)
{
    if (c->sampled && atomic_load(&self.on)) fetch(c, true);
}

void gp_inject_pc_context_begins(void *context)
{
    if (!atomic_load(&self.on)) return;
    pthread_mutex_lock(&self.lock);
    struct context *c = self.ncontexts < MAX_CONTEXTS ? &self.contexts[self.ncontexts++] : NULL;
    if (c) {
        *c = (struct context){.handle = context, .device = UINT32_MAX, .number = UINT32_MAX};
        api.cuptiGetDeviceId(context, &c->device);
        api.cuptiGetContextId(context, &c->number);
        sample(c);
    }
    pthread_mutex_unlock(&self.lock);
}

/* CALL for the context, or for all. */
static void for_contexts(void *context, void (*call)(struct context *c))
{
    pthread_mutex_lock(&self.lock);
    for (size_t i = 0; i < self.ncontexts; i++)
        if (!context || self.contexts[i].handle == context) call(&self.contexts[i]);
    pthread_mutex_unlock(&self.lock);
}

static void end_context(struct context *c)
{
    end_samples(c);
    *c = self.contexts[--self.ncontexts];
}

void gp_inject_pc_context_ends(void *context)
{
    if (atomic_load(&self.on)) for_contexts(context, end_context);
}

static void fetch_due(struct context *c)
{
    bool due = self.opts.mode == GP_PC_LAUNCHES || gp_now_ns() - c->since_ns >= WINDOW_NS;
    if (c->sampled && due) fetch(c, false);
}

void gp_inject_pc_launch_ends(void *context)
{
    if (atomic_load_explicit(&self.on, memory_order_relaxed) && self.opts.mode == GP_PC_LAUNCHES)
        for_contexts(context, fetch_due);
}

void gp_inject_pc_record(bool on)
{
    atomic_store(&self.recording, on);
    if (atomic_load(&self.on)) for_contexts(NULL, on ? sample : end_samples);
}

/* ---- handing over; flush thread ---- */

/* Append the frames of a window, each after its length: texts that are new, and rows. */
static void put_frames(struct gp_buf *to, struct gp_pc_head h, struct gp_pc_row *rows)
{
    static const char padding[8];
    uint32_t left = h.rows;
    struct gp_buf b = {0};
    for (uint32_t i = 0; i < left; i++) {
        struct place place = rows[i].samples ? place_of(&rows[i]) : (struct place){0, 0};
        rows[i].file = place.file;
        rows[i].line = place.line;
    }
    do {
        b.n = 0;
        gp_buf_put(&b, &h, sizeof h);
        for (h.texts = 0; self.sent + 1 < self.texts.n && b.n < FRAME_BYTES; h.texts++) {
            self.sent++;
            gp_buf_put(&b, gp_string(&self.texts, self.sent), gp_string_len(&self.texts, self.sent) + 1);
        }
        gp_buf_put(&b, padding, -b.n & 7);
        h.text_bytes = (uint32_t)(b.n - sizeof h);
        h.rows = self.sent + 1 < self.texts.n ? 0 : left < ROWS_MOST ? left : ROWS_MOST;
        memcpy(b.data, &h, sizeof h);
        gp_buf_put(&b, rows, h.rows * sizeof *rows);
        gp_buf_put(to, &b.n, sizeof b.n);
        gp_buf_put(to, b.data, b.n);
        rows += h.rows;
        left -= h.rows;
        h.total = h.dropped = h.other = h.full = 0;
    } while (left || self.sent + 1 < self.texts.n);
    gp_buf_release(&b);
}

void gp_inject_pc_drain(void)
{
    struct gp_buf frames = {0};
    size_t row = 0, n;
    if (!self.opts.mode) return;
    if (atomic_load(&self.on) && self.opts.mode == GP_PC_CONTINUOUS) for_contexts(NULL, fetch_due);
    pthread_mutex_lock(&self.lock);
    for (size_t i = 0; i < self.windows.n; i++) {
        put_frames(&frames, self.windows.at[i], (struct gp_pc_row *)(void *)self.rows.data + row);
        row += self.windows.at[i].rows;
        if (!self.code.n) continue;
        struct gp_pc_head h = self.windows.at[i];
        h.total = h.dropped = h.other = h.full = 0;
        h.rows = (uint32_t)(self.code.n / sizeof(struct gp_pc_row));
        put_frames(&frames, h, (struct gp_pc_row *)(void *)self.code.data);
        self.code.n = 0;
    }
    self.windows.n = self.rows.n = 0;
    pthread_mutex_unlock(&self.lock);
    for (size_t at = 0; at < frames.n; at += sizeof n + n) {
        memcpy(&n, frames.data + at, sizeof n);
        gp_link_send(GP_WIRE_PC_ROWS, frames.data + at + sizeof n, n);
    }
    gp_buf_release(&frames);
}

/* ---- life ---- */

bool gp_inject_pc_start(const struct gp_pc_opts *opts, void *libcupti, bool late)
{
    if (!opts->mode) return false;
#define X(fn) #fn,
    static const char *const names[] = {CALLS(X)};
#undef X
    const char *missing = gp_find_calls(&api, libcupti, names, GP_COUNT(names));
    if (missing) gp_say("cannot sample program counters: this CUPTI has no %s", missing);
    else if (late) gp_say("cannot sample program counters: the program used CUDA before it was recorded");
    if (missing || late) return false;
    self.opts = *opts;
    atomic_store(&self.on, true);
    return true;
}

void gp_inject_pc_forked(void)
{
    atomic_store(&self.on, false);
    self.opts.mode = GP_PC_OFF;
}
