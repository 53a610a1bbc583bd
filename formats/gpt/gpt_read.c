#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>
#include "formats/base/err.h"
#include "formats/base/input.h"
#include "formats/base/mem.h"
#include "formats/base/str.h"
#include "formats/gpt/gpt_codec.h"
#include "formats/gpt/gpt_decode_priv.h"
#include "formats/model/nodes.h"
#include "formats/model/format.h"

enum {
    READ_STEP = 1 << 16,
    THREADS_MOST = 8,
    ROWS_PER_THREAD = 1 << 15, /* fewer are not worth a thread */
    SPARE_NAMES = 1 << 16,     /* a dictionary may begin so far past the last: its blocks may be lost */
};

struct producer {
    struct gp_gpt_names names;
    uint32_t next_seq;
    bool seen, has_events, ended;
};

/* An event block that is kept until all dictionaries are known. */
struct kept {
    struct gp_block_job job;
    size_t at;    /* of the payload in the store; unused if raw is set */
    uint8_t *raw; /* decompressed */
    size_t producer;
    enum gp_block_result result;
    bool bad_time, bad_duration;
};

struct reader {
    struct gp_trace *t;
    struct gp_input *in;
    const struct gp_read_opts *opts;
    uint8_t *store; /* bytes that were read and are still needed; GP_STREAM_SLACK more are allocated */
    size_t n, cap, pos;
    uint64_t dropped; /* bytes removed from the store: offset in the input = position + dropped */
    bool ended;
    uint64_t bad_unseen; /* damaged blocks not yet counted as missing sequence numbers */
    bool any_end;
    bool few_links; /* neither arrows nor External ids: correlation ids may be enough */
    GP_VEC(struct producer) producers;
    GP_VEC(struct kept) blocks;
};

static bool sniff(const uint8_t *head, size_t n)
{
    static const uint8_t sync[4] = {'G', 'P', 'B', 'K'};
    if (n >= 8 && !memcmp(head, GP_GPT_MAGIC, 8)) return true;
    return n >= GP_GPT_HEADER_SIZE + 4 && !memcmp(head + GP_GPT_HEADER_SIZE, sync, 4);
}

/* ---- bytes ---- */

static int64_t offset_of(const struct reader *r, size_t pos) { return (int64_t)(pos + r->dropped); }

/* Make the store extend to UPTO; false if the input ends before. */
static bool fetch(struct reader *r, size_t upto)
{
    if (upto <= r->n) return true;
    if (r->ended) return false;
    if (upto + GP_STREAM_SLACK > r->cap) {
        size_t cap = r->cap ? r->cap * 2 : READ_STEP;
        while (cap < upto + GP_STREAM_SLACK) cap *= 2;
        r->store = gp_realloc(r->store, cap);
        r->cap = cap;
    }
    size_t got = gp_input_read(r->in, r->store + r->n, upto - r->n);
    r->n += got;
    r->ended = r->n < upto;
    if (r->opts->progress)
        r->opts->progress(r->opts->progress_ctx, gp_input_done(r->in, (uint64_t)offset_of(r, r->n)));
    return !r->ended;
}

/* Is there a complete, undamaged block at POS? CUT is set if the input ends before it does. */
static bool block_at(struct reader *r, size_t pos, struct gp_gpt_block_header *h, bool *cut)
{
    *cut = true;
    if (!fetch(r, pos + GP_GPT_BLOCK_HEADER_SIZE)) return false;
    *cut = false;
    if (!gp_gpt_get_header(r->store + pos, h)) return false;
    *cut = true;
    if (!fetch(r, pos + GP_GPT_BLOCK_HEADER_SIZE + h->payload_len)) return false;
    *cut = false;
    return gp_gpt_block_ok(r->store + pos, h);
}

/* The block at r->pos is damaged or cut: continue with the next complete one. False if there is none. */
static bool resync(struct reader *r, struct gp_gpt_block_header *h, bool cut)
{
    size_t bad = r->pos, damaged = 1;
    for (size_t p = bad + 1; fetch(r, p + GP_GPT_BLOCK_HEADER_SIZE); p++) {
        const uint8_t *q = memchr(r->store + p, 'G', r->n - p - 3);
        bool candidate_cut;
        p = q ? (size_t)(q - r->store) : r->n - 4;
        if (!q || memcmp(q, GP_TEXT("GPBK"))) continue;
        if (block_at(r, p, h, &candidate_cut)) {
            gp_trace_issue(r->t, GP_Q_BAD_BLOCK, damaged, offset_of(r, bad));
            r->bad_unseen += damaged;
            r->pos = p;
            return true;
        }
        damaged += !candidate_cut && gp_gpt_get_header(r->store + p, h);
    }
    if (cut) gp_trace_issue(r->t, GP_Q_TRUNCATED, 1, offset_of(r, bad));
    else gp_trace_issue(r->t, GP_Q_BAD_BLOCK, damaged, offset_of(r, bad));
    return false;
}

static uint8_t *decompress(const uint8_t *p, const struct gp_gpt_block_header *h)
{
    uint8_t *raw = gp_alloc((size_t)h->raw_len + GP_STREAM_SLACK);
    size_t got = 0;
    if (h->codec == 1) {
        got = ZSTD_decompress(raw, h->raw_len, p, h->payload_len);
    } else if (h->codec == 2) {
        uLongf n = h->raw_len;
        got = uncompress(raw, &n, p, h->payload_len) == Z_OK ? n : 0;
    }
    if (got == h->raw_len && h->codec <= 2) return raw;
    free(raw);
    return NULL;
}

/* ---- blocks ---- */

static size_t find_producer(struct reader *r, uint32_t number)
{
    for (size_t i = 0; i < r->producers.n; i++)
        if (r->producers.at[i].names.producer == number) return i;
    GP_VEC_PUSH(&r->producers, (struct producer){.names.producer = number});
    return r->producers.n - 1;
}

static bool within_limits(const struct gp_gpt_block_header *h)
{
    return h->nrec <= GP_GPT_MAX_ROWS &&
           h->nrec <= GP_GPT_FREE_ROWS + GP_GPT_ROWS_PER_BYTE * (uint64_t)h->payload_len &&
           h->raw_len <= GP_GPT_MAX_RATIO * (uint64_t)h->payload_len;
}

static bool is_events(uint16_t kind)
{
    return kind == GP_GPT_LAUNCH || (kind >= GP_GPT_EVENTS && kind < GP_GPT_EVENTS + GP_GPT_TABLE_COUNT);
}

static bool is_known(uint16_t kind)
{
    return is_events(kind) || (kind >= GP_GPT_INFO && kind <= GP_GPT_SYMBOLS) || kind == GP_GPT_PACE ||
           kind == GP_GPT_END;
}

static bool is_needed(const struct gp_trace *t, uint16_t kind)
{
    if (kind == GP_GPT_LAUNCH) return t->need & (GP_NEED(GP_GPU) | GP_NEED(GP_API));
    return t->need & GP_NEED(gp_gpt_model_table[kind - GP_GPT_EVENTS]);
}

/* Process the valid block at r->pos: small ones at once, event blocks later. Returns whether it must stay in
 * the store. */
static bool take_block(struct reader *r, const struct gp_gpt_block_header *h)
{
    size_t index = find_producer(r, h->producer), at = r->pos + GP_GPT_BLOCK_HEADER_SIZE;
    struct producer *p = &r->producers.at[index];
    struct kept k = {.job.header = *h, .job.offset = offset_of(r, r->pos), .at = at, .producer = index};
    if (h->seq > p->next_seq) {
        uint64_t gap = h->seq - p->next_seq;
        uint64_t known = gap < r->bad_unseen ? gap : r->bad_unseen;
        r->bad_unseen -= known;
        gp_trace_issue(r->t, GP_Q_MISSING_BLOCK, gap - known, offset_of(r, r->pos));
    }
    if (h->seq >= p->next_seq) p->next_seq = h->seq + 1;
    p->seen = true;
    if (!is_known(h->kind)) return false;
    bool events = is_events(h->kind);
    if (h->kind == GP_GPT_END) p->ended = r->any_end = true;
    if (events) {
        p->has_events = true;
        p->ended = false;
        r->t->input.events += (uint64_t)h->nrec * (h->kind == GP_GPT_LAUNCH ? 2 : 1);
        if (!is_needed(r->t, h->kind) || !h->nrec) return false;
    }
    bool good = within_limits(h);
    if (good && h->codec) {
        k.raw = decompress(r->store + at, h);
        good = k.raw;
    }
    if (good && events) {
        GP_VEC_PUSH(&r->blocks, k);
        return !k.raw;
    }
    k.job.payload = k.raw ? k.raw : r->store + at;
    k.job.names = &p->names;
    uint64_t limit = GP_GPT_ROWS_PER_BYTE * (uint64_t)(k.job.offset + h->payload_len) + SPARE_NAMES;
    if (!good || gp_block_get_small(&k.job, limit, r->t))
        gp_trace_issue(r->t, GP_Q_BAD_BLOCK, 1, k.job.offset);
    free(k.raw);
    return false;
}

static int scan(struct reader *r, struct gp_err *err)
{
    struct gp_gpt_block_header h;
    for (;;) {
        bool cut;
        if (!fetch(r, r->pos + 1)) break;
        if (!block_at(r, r->pos, &h, &cut) && !resync(r, &h, cut)) break;
        if ((h.flags & GP_GPT_CRITICAL) && !is_known(h.kind))
            return gp_fail(err, GP_E_FORMAT, offset_of(r, r->pos), "block of kind %u needs a newer reader",
                           h.kind);
        size_t end = r->pos + GP_GPT_BLOCK_HEADER_SIZE + h.payload_len;
        bool keep = take_block(r, &h);
        if (!keep && end == r->n) {
            r->dropped += end - r->pos;
            r->n = r->pos;
        } else {
            r->pos = end;
        }
    }
    return 0;
}

static int read_header(struct reader *r, struct gp_err *err)
{
    if (!fetch(r, GP_GPT_HEADER_SIZE)) {
        gp_trace_issue(r->t, GP_Q_TRUNCATED, 1, (int64_t)r->n);
        r->pos = r->n;
        return 0;
    }
    const uint8_t *p = r->store;
    size_t len = p[10] | (size_t)p[11] << 8;
    if (memcmp(p, GP_GPT_MAGIC, 8)) gp_trace_issue(r->t, GP_Q_BAD_BLOCK, 1, 0);
    else if (p[8] != GP_GPT_MAJOR)
        return gp_fail(err, GP_E_FORMAT, 8, "format version %u.%u is not supported (this reader: %u.x)", p[8],
                       p[9], GP_GPT_MAJOR);
    r->pos = len >= GP_GPT_HEADER_SIZE && fetch(r, len) ? len : GP_GPT_HEADER_SIZE;
    return 0;
}

/* ---- decoding ---- */

static int sides_of(const struct kept *k, enum gp_table table[2])
{
    table[0] = GP_GPU;
    table[1] = GP_API;
    if (k->job.header.kind == GP_GPT_LAUNCH) return 2;
    table[0] = (enum gp_table)gp_gpt_model_table[k->job.header.kind - GP_GPT_EVENTS];
    return 1;
}

static uint64_t wanted_columns(const struct reader *r, enum gp_table table)
{
    uint32_t need = r->t->need;
    const uint64_t ids = GP_COLUMN(GP_COL_RECFN) | GP_COLUMN(GP_COL_PYID) | GP_COLUMN(GP_COL_PYPARENT) |
                         GP_COLUMN(GP_COL_PYMODULE) | (table == GP_PC ? 0 : GP_COLUMN(GP_COL_ADDR));
    uint64_t unwanted = need & GP_NEED_IDS ? 0 : ids;
    if (!gp_needs_extra(need, table)) unwanted |= GP_COLUMN(GP_COL_EXTRA);
    if (r->few_links) unwanted |= GP_COLUMN(GP_COL_EXT);
    return ~unwanted;
}

/* Assign the values of a metric block their place. */
static void lay_out_values(struct reader *r, struct kept *k)
{
    struct gp_trace *t = r->t;
    uint32_t set;
    if (k->job.header.kind != GP_GPT_EVENTS + gp_gpt_table_number[GP_METRIC] || k->result == GP_BLOCK_BAD)
        return;
    if (!gp_block_metric_set(&k->job, t, &set)) {
        k->result = GP_BLOCK_BAD;
        return;
    }
    size_t want = t->metric_values.n + (size_t)k->job.header.nrec * t->metric_sets.at[set].n;
    k->job.value = t->metric_values.n;
    GP_VEC_RESERVE(&t->metric_values, want);
    t->metric_values.n = want;
}

/* Assign rows to every block, and memory to the tables. */
static size_t lay_out(struct reader *r)
{
    struct gp_trace *t = r->t;
    uint64_t columns[GP_TABLE_COUNT] = {0};
    size_t rows[GP_TABLE_COUNT], total = 0;
    for (int i = 0; i < GP_TABLE_COUNT; i++) rows[i] = 0;
    t->metric_values.n = 0;
    GP_EACH(struct kept, k, r->blocks) {
        enum gp_table table[2];
        uint64_t mask[2];
        k->job.payload = k->raw ? k->raw : r->store + k->at;
        k->job.names = &r->producers.at[k->producer].names;
        if (!gp_block_columns(&k->job, mask)) k->result = GP_BLOCK_BAD;
        if (k->job.header.kind == GP_GPT_LAUNCH)
            mask[0] |= mask[1] & (GP_COLUMN(GP_COL_CORR) | GP_COLUMN(GP_COL_EXT));
        lay_out_values(r, k);
        for (int s = 0, n = sides_of(k, table); s < n; s++) {
            k->job.row[s] = rows[table[s]];
            if (!(t->need & GP_NEED(table[s]))) continue;
            rows[table[s]] += k->job.header.nrec;
            total += k->job.header.nrec;
            columns[table[s]] |= mask[s];
        }
    }
    columns[GP_GPU] |= GP_COLUMN(GP_COL_CONFIG);
    columns[GP_METRIC] |= GP_COLUMN(GP_COL_CONFIG) | GP_COLUMN(GP_COL_SET) | GP_COLUMN(GP_COL_VALUES);
    if (t->need & GP_NEED_PLACES) columns[GP_GPU] |= GP_COLUMN(GP_COL_PLACE);
    for (int i = 0; i < GP_TABLE_COUNT; i++) columns[i] &= wanted_columns(r, (enum gp_table)i);
    gp_trace_allocate(t, rows, columns);
    return total;
}

/* Each thread begins with its own part, far from the others': neighbouring blocks go to the same pages of
 * memory, and two threads that touch a new page at once both pay for it. A thread that is done helps the
 * others. */
struct work {
    struct reader *r;
    size_t parts;
    struct {
        atomic_size_t next;
        size_t end;
    } part[THREADS_MOST];
};

struct worker {
    struct work *w;
    size_t first;
};

/* What is found to be wrong with GPU events later is reported with the place of their block. */
static void put_places(const struct kept *k, struct gp_trace *t)
{
    enum gp_table table[2];
    uint64_t *place = t->events[GP_GPU].place;
    sides_of(k, table);
    if (!place || table[0] != GP_GPU || !(t->need & GP_NEED(GP_GPU))) return;
    for (size_t i = 0; i < k->job.header.nrec; i++) place[k->job.row[0] + i] = (uint64_t)k->job.offset;
}

static void get_events(struct gp_block_decoder *d, struct kept *k, struct gp_trace *t, bool define)
{
    k->result = gp_block_get_events(d, &k->job, t, define);
    if (k->result == GP_BLOCK_OK) put_places(k, t);
    k->bad_time = gp_block_bad_times(d, GP_Q_BAD_TIME);
    k->bad_duration = gp_block_bad_times(d, GP_Q_BAD_DURATION);
}

/* gp_trace_finish() is going to count them; where they are is known here. */
static void put_place(struct gp_trace *t, enum gp_issue_kind kind, int64_t offset)
{
    int64_t *first = &t->issues[kind].first_offset;
    if (*first < 0 || offset < *first) *first = offset;
}

static void *decode_some(void *arg)
{
    const struct worker *me = arg;
    struct work *w = me->w;
    struct gp_block_decoder *d = gp_block_decoder_new();
    for (size_t p = 0; p < w->parts; p++) {
        size_t part = (me->first + p) % w->parts, i;
        while ((i = atomic_fetch_add(&w->part[part].next, 1)) < w->part[part].end) {
            struct kept *k = &w->r->blocks.at[i];
            if (k->result != GP_BLOCK_BAD && is_needed(w->r->t, k->job.header.kind))
                get_events(d, k, w->r->t, false);
        }
    }
    gp_block_decoder_free(d);
    return NULL;
}

/* Parts of about as many rows each. */
static void share_out(struct work *w, size_t rows)
{
    size_t done = 0, part = 0;
    const struct reader *r = w->r;
    atomic_init(&w->part[0].next, 0);
    for (size_t i = 0; i < r->blocks.n; i++) {
        if (part + 1 < w->parts && done >= rows * (part + 1) / w->parts) {
            w->part[part++].end = i;
            atomic_init(&w->part[part].next, i);
        }
        const struct gp_gpt_block_header *h = &r->blocks.at[i].job.header;
        done += (size_t)h->nrec * (h->kind == GP_GPT_LAUNCH ? 2 : 1);
    }
    w->part[part].end = r->blocks.n;
    w->parts = part + 1;
}

static int thread_count(const struct gp_read_opts *opts, size_t rows)
{
    long n = opts->threads;
    if (!n) n = sysconf(_SC_NPROCESSORS_ONLN);
    if (n > THREADS_MOST) n = THREADS_MOST;
    if ((size_t)n > rows / ROWS_PER_THREAD) n = (long)(rows / ROWS_PER_THREAD);
    return n < 1 ? 1 : (int)n;
}

static void decode_all(struct reader *r, size_t rows)
{
    pthread_t thread[THREADS_MOST];
    struct worker worker[THREADS_MOST];
    int n = thread_count(r->opts, rows), started = 1;
    struct work w = {.r = r, .parts = (size_t)n};
    share_out(&w, rows);
    for (int i = 0; i < n; i++) worker[i] = (struct worker){&w, (size_t)i};
    while (started < n && !pthread_create(&thread[started], NULL, decode_some, &worker[started])) started++;
    decode_some(&worker[0]);
    for (int i = 1; i < started; i++) pthread_join(thread[i], NULL);
    struct gp_block_decoder *d = gp_block_decoder_new();
    GP_EACH(struct kept, k, r->blocks) {
        if (k->result == GP_BLOCK_NAMES) get_events(d, k, r->t, true);
        if (k->result != GP_BLOCK_OK) gp_trace_issue(r->t, GP_Q_BAD_BLOCK, 1, k->job.offset);
        if (k->result == GP_BLOCK_OK && k->bad_time) put_place(r->t, GP_Q_BAD_TIME, k->job.offset);
        if (k->result == GP_BLOCK_OK && k->bad_duration) put_place(r->t, GP_Q_BAD_DURATION, k->job.offset);
    }
    gp_block_decoder_free(d);
}

/* Remove N rows at ROW from a table. */
static void cut_rows(struct gp_events *e, size_t row, size_t n)
{
    for (int col = 0; col < GP_COLUMN_COUNT; col++) {
        char *cells = gp_events_column(e, (enum gp_column)col);
        size_t w = gp_column_infos[col].width;
        if (cells) memmove(cells + row * w, cells + (row + n) * w, (e->n - row - n) * w);
    }
    e->n -= n;
}

static void decode_once(struct reader *r)
{
    for (size_t i = 0; i < r->blocks.n; i++) r->blocks.at[i].result = GP_BLOCK_OK;
    decode_all(r, lay_out(r));
    for (size_t i = r->blocks.n; i-- > 0;) {
        const struct kept *k = &r->blocks.at[i];
        enum gp_table table[2];
        if (k->result == GP_BLOCK_OK) continue;
        for (int s = 0, n = sides_of(k, table); s < n; s++)
            if (r->t->need & GP_NEED(table[s]))
                cut_rows(&r->t->events[table[s]], k->job.row[s], k->job.header.nrec);
    }
}

/* First without the other ways to find launches than correlation ids; in the few traces that need them, once
 * more with them. */
static void decode(struct reader *r)
{
    struct gp_trace *t = r->t;
    uint32_t need = t->need;
    struct gp_issue bad = t->issues[GP_Q_BAD_BLOCK];
    r->few_links = need & GP_NEED_FEW_ARROWS;
    if (r->few_links) t->need &= ~GP_NEED(GP_FLOW);
    decode_once(r);
    t->need = need;
    if (!r->few_links || gp_trace_knows_calls(t)) return;
    t->issues[GP_Q_BAD_BLOCK] = bad;
    gp_trace_deallocate(t);
    r->few_links = false;
    decode_once(r);
}

static void name_native(struct reader *r)
{
    for (size_t i = 0; i < r->producers.n; i++) gp_gpt_link_symbols(&r->producers.at[i].names, r->t);
    uint32_t *moved = gp_gpt_name_native(r->t);
    for (size_t i = 0; moved && i < r->producers.n; i++) gp_gpt_move_stacks(&r->producers.at[i].names, moved);
    free(moved);
}

static int read_gpt(struct gp_trace *t, struct gp_input *in, const struct gp_read_opts *opts,
                    struct gp_err *err)
{
    struct reader r = {.t = t, .in = in, .opts = opts};
    int rc = read_header(&r, err);
    if (!rc) rc = scan(&r, err);
    if (!rc) {
        name_native(&r);
        decode(&r);
        gp_nodes_resolve(t);
        /* An input that stops between two blocks is detected by the missing END blocks. */
        bool whole = r.any_end;
        for (size_t i = 0; i < r.producers.n; i++)
            if (r.producers.at[i].has_events && !r.producers.at[i].ended) whole = false;
        if (!whole && !r.t->issues[GP_Q_TRUNCATED].count)
            gp_trace_issue(r.t, GP_Q_TRUNCATED, 1, offset_of(&r, r.n));
        t->input.bytes = (uint64_t)offset_of(&r, r.n);
    }
    for (size_t i = 0; i < r.blocks.n; i++) free(r.blocks.at[i].raw);
    for (size_t i = 0; i < r.producers.n; i++) gp_gpt_names_release(&r.producers.at[i].names);
    GP_VEC_FREE(&r.blocks);
    GP_VEC_FREE(&r.producers);
    free(r.store);
    return rc;
}

const struct gp_reader gp_reader_gpt = {"gpuprof", "gpuprof's binary format", sniff, read_gpt, {NULL}};
