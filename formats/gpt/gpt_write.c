
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "formats/base/buf.h"
#include "formats/base/mem.h"
#include "formats/gpt/gpt.h"
#include "formats/gpt/gpt_encode_priv.h"

enum {
    DEFAULT_ROWS = 4096,
    THREADS_MOST = 8,
    STRINGS_PER_BLOCK = 1 << 16,
    STRING_BYTES_PER_BLOCK = 1 << 20, /* a block may exceed it by one string */
    DICT_PER_BLOCK = 1 << 14,
};

/* What was written of one of the small arrays: entries that change later are written again. */
struct shadow {
    char *at;
    size_t n, cap;
};

struct gp_gpt_writer {
    struct gp_gpt_write_opts opts;
    gp_gpt_sink *sink;
    void *ctx;
    bool stopped;
    uint32_t seq;
    uint32_t strings, metric_sets; /* that were written */
    bool schema_done, info_done;
    int32_t rank, world_size;
    struct shadow processes, tracks, configs, devices, meta, losses, clocks, nodes, stacks, symbols, paces;
    uint64_t rows[GP_GPT_TABLE_COUNT];
    struct gp_gpt_stats stats;
    struct gp_buf block, packed;
    struct gp_block_encoder *encoders[THREADS_MOST]; /* created on demand, except for the first */
    struct gp_pairs pairs;
    uint32_t *order;
    size_t order_cap;
};

struct gp_gpt_writer *gp_gpt_writer_new(const struct gp_gpt_write_opts *opts, gp_gpt_sink *sink, void *ctx)
{
    struct gp_gpt_writer *w = gp_zalloc(sizeof *w);
    if (opts) w->opts = *opts;
    if (!w->opts.rows_per_block) w->opts.rows_per_block = DEFAULT_ROWS;
    if (w->opts.rows_per_block > GP_GPT_MAX_ROWS) w->opts.rows_per_block = GP_GPT_MAX_ROWS;
    w->sink = sink;
    w->ctx = ctx;
    w->encoders[0] = gp_block_encoder_new(w->opts.rows_per_block);
    return w;
}

void gp_gpt_writer_free(struct gp_gpt_writer *w)
{
    if (!w) return;
    struct shadow *all[] = {&w->processes, &w->tracks, &w->configs, &w->devices, &w->meta, &w->losses,
                            &w->clocks,    &w->nodes,  &w->stacks,  &w->symbols, &w->paces};
    for (size_t i = 0; i < GP_COUNT(all); i++) free(all[i]->at);
    gp_buf_release(&w->block);
    gp_buf_release(&w->packed);
    for (int i = 0; i < THREADS_MOST; i++) gp_block_encoder_free(w->encoders[i]);
    gp_pairs_release(&w->pairs);
    free(w->order);
    free(w);
}

const struct gp_gpt_stats *gp_gpt_writer_stats(const struct gp_gpt_writer *w) { return &w->stats; }

/* ---- blocks ---- */

static int emit(struct gp_gpt_writer *w, const void *data, size_t n)
{
    if (!w->stopped && w->sink(w->ctx, data, n)) w->stopped = true;
    if (!w->stopped) w->stats.bytes += n;
    return w->stopped ? -1 : 0;
}

int gp_gpt_begin(struct gp_gpt_writer *w)
{
    uint8_t header[GP_GPT_HEADER_SIZE];
    gp_gpt_file_header(header);
    return emit(w, header, sizeof header);
}

/* Begin a block: room for the header, then the caller appends the payload to the buffer. */
static struct gp_buf *buf_begin(struct gp_buf *b)
{
    b->n = 0;
    gp_buf_reserve(b, GP_GPT_BLOCK_HEADER_SIZE);
    b->n = GP_GPT_BLOCK_HEADER_SIZE;
    return b;
}

static struct gp_buf *block_begin(struct gp_gpt_writer *w) { return buf_begin(&w->block); }

/* A block with many rows in few bytes is made longer: readers refuse blocks that would grow out of
 * proportion. */
static void pad_block(struct gp_buf *b, uint32_t nrec)
{
    size_t need = nrec > GP_GPT_FREE_ROWS ? (nrec - GP_GPT_FREE_ROWS + 1) / GP_GPT_ROWS_PER_BYTE : 0;
    size_t have = b->n - GP_GPT_BLOCK_HEADER_SIZE;
    if (have >= need) return;
    gp_buf_putc(b, GP_GPT_PAD);
    gp_buf_putc(b, GP_PRED_PLAIN);
    gp_varint_put(b, need - have);
    memset(gp_buf_reserve(b, need - have), 0, need - have);
    b->n += need - have;
}

/* Complete the block in RAW and pass it to the sink. */
static int buf_end(struct gp_gpt_writer *w, struct gp_buf *raw, uint16_t kind, uint32_t nrec, uint64_t base)
{
    pad_block(raw, nrec);
    struct gp_buf *b = gp_block_compress(raw, &w->packed, w->opts.codec, nrec);
    struct gp_gpt_block_header h = {
        .payload_len = (uint32_t)(b->n - GP_GPT_BLOCK_HEADER_SIZE),
        .raw_len = (uint32_t)(raw->n - GP_GPT_BLOCK_HEADER_SIZE),
        .kind = kind,
        .codec = b == raw ? GP_GPT_PLAIN : (uint8_t)w->opts.codec,
        .nrec = nrec,
        .seq = w->seq++,
        .producer = w->opts.producer,
        .base_ns = base,
    };
    gp_gpt_put_header((uint8_t *)b->data, &h);
    w->stats.blocks++;
    if (kind == GP_GPT_LAUNCH || kind == GP_GPT_EVENTS) w->stats.launch_bytes += b->n;
    return emit(w, b->data, b->n);
}

static int block_end(struct gp_gpt_writer *w, uint16_t kind, uint32_t nrec, uint64_t base)
{
    return buf_end(w, &w->block, kind, nrec, base);
}

/* ---- dictionaries ---- */

/* Entries [from, to) of the array AT; numbers go from FROM. */
static void put_dict(struct gp_gpt_writer *w, const struct gp_gpt_dict *d, const char *at, size_t from,
                     size_t to)
{
    while (from < to) {
        size_t n = to - from < DICT_PER_BLOCK ? to - from : DICT_PER_BLOCK;
        gp_block_put_dict(w->encoders[0], block_begin(w), d, at + from * d->size, n);
        block_end(w, d->kind, (uint32_t)n, from);
        from += n;
    }
}

/* Are the members of two structs equal? Their padding may differ. */
static bool same_entry(const struct gp_gpt_dict *d, const char *a, const char *b)
{
    if (!memcmp(a, b, d->size)) return true;
    for (size_t f = 0; f < d->nfields; f++)
        if (gp_gpt_field_get(&d->fields[f], a) != gp_gpt_field_get(&d->fields[f], b)) return false;
    return true;
}

/* Write the new or changed ones of the N structs at AT. */
static void put_changes(struct gp_gpt_writer *w, const struct gp_gpt_dict *d, struct shadow *s,
                        const void *at, size_t n)
{
    const char *now = at;
    for (size_t i = 0; i < s->n && i < n; i++) {
        if (same_entry(d, s->at + i * d->size, now + i * d->size)) continue;
        size_t j = i + 1;
        while (j < s->n && j < n && !same_entry(d, s->at + j * d->size, now + j * d->size)) j++;
        put_dict(w, d, now, i, j);
        memcpy(s->at + i * d->size, now + i * d->size, (j - i) * d->size);
        i = j - 1;
    }
    if (n <= s->n) return;
    put_dict(w, d, now, s->n, n);
    if (n > s->cap) {
        s->cap = n + n / 2;
        s->at = gp_realloc(s->at, s->cap * d->size);
    }
    memcpy(s->at + s->n * d->size, now + s->n * d->size, (n - s->n) * d->size);
    s->n = n;
}

static void put_strings(struct gp_gpt_writer *w, const struct gp_strings *s)
{
    while (w->strings < s->n) {
        uint32_t n = 0;
        size_t bytes = 0;
        while (w->strings + n < s->n && n < STRINGS_PER_BLOCK && bytes < STRING_BYTES_PER_BLOCK)
            bytes += s->len[w->strings + n++];
        if (bytes > GP_GPT_MAX_PAYLOAD / 2 && n > 1) n--;
        gp_block_put_strings(w->encoders[0], block_begin(w), s, w->strings, n);
        block_end(w, GP_GPT_STRINGS, n, w->strings);
        w->strings += n;
    }
}

static void put_info(struct gp_gpt_writer *w, const struct gp_trace *t)
{
    if (w->info_done && w->rank == t->rank && w->world_size == t->world_size) return;
    w->info_done = true;
    w->rank = t->rank;
    w->world_size = t->world_size;
    gp_block_put_info(block_begin(w), t);
    block_end(w, GP_GPT_INFO, 1, 0);
}

static void put_metric_sets(struct gp_gpt_writer *w, const struct gp_trace *t)
{
    for (; w->metric_sets < t->metric_sets.n; w->metric_sets++) {
        const struct gp_metric_set *s = &t->metric_sets.at[w->metric_sets];
        gp_block_put_dict(w->encoders[0], block_begin(w), &gp_gpt_metric_dict,
                          GP_VEC_FROM(&t->metrics, s->first), s->n);
        block_end(w, GP_GPT_METRICS, s->n, w->metric_sets);
    }
}

static void put_dictionaries(struct gp_gpt_writer *w, const struct gp_trace *t)
{
    if (!w->schema_done) {
        uint32_t n = gp_block_put_schema(block_begin(w));
        block_end(w, GP_GPT_SCHEMA, n, 0);
        w->schema_done = true;
    }
    put_info(w, t);
    put_strings(w, &t->strings);
    put_changes(w, &gp_gpt_process_dict, &w->processes, t->processes.at, t->processes.n);
    put_changes(w, &gp_gpt_track_dict, &w->tracks, t->tracks.at, t->tracks.n);
    put_changes(w, &gp_gpt_config_dict, &w->configs, t->configs.at, t->configs.n);
    put_changes(w, &gp_gpt_device_dict, &w->devices, t->devices.at, t->devices.n);
    put_changes(w, &gp_gpt_meta_dict, &w->meta, t->meta.at, t->meta.n);
    put_changes(w, &gp_gpt_loss_dict, &w->losses, t->losses.at, t->losses.n);
    put_changes(w, &gp_gpt_clock_dict, &w->clocks, t->clocks.at, t->clocks.n);
    put_changes(w, &gp_gpt_symbols_dict, &w->symbols, t->symbols.at, t->symbols.n);
    put_changes(w, &gp_gpt_stacks_dict, &w->stacks, t->stacks.at, t->stacks.n);
    put_changes(w, &gp_gpt_nodes_dict, &w->nodes, t->node_runs.at, t->node_runs.n);
    put_metric_sets(w, t);
    put_changes(w, &gp_gpt_pace_dict, &w->paces, t->paces.at, t->paces.n);
}

/* ---- events ---- */

/* Rows of E in order of (start, longer first, row). */
static const uint32_t *sorted_rows(struct gp_gpt_writer *w, const struct gp_events *e)
{
    if (e->n > w->order_cap) {
        w->order_cap = e->n + e->n / 2;
        free(w->order);
        w->order = gp_alloc(w->order_cap * sizeof *w->order);
    }
    gp_events_order(e, w->order);
    return w->order;
}

/* Rows of a table, or pairs of GPU events and calls, on their way into blocks. */
struct batch {
    const struct gp_trace *t;
    enum gp_table table;
    const uint32_t *rows, *api; /* API is NULL except for pairs */
    size_t n, step;
    struct gp_buf *blocks; /* one per thread */
    size_t nblocks;
    atomic_size_t next;
};

struct helper {
    struct batch *batch;
    struct gp_block_encoder *encoder;
};

static uint32_t rows_of(const struct batch *k, size_t block)
{
    size_t left = k->n - block * k->step;
    return (uint32_t)(left < k->step ? left : k->step);
}

static void encode_block(const struct batch *k, size_t block, struct gp_block_encoder *e, struct gp_buf *b)
{
    size_t from = block * k->step;
    if (k->api) gp_block_put_launches(e, b, k->t, k->rows + from, k->api + from, rows_of(k, block));
    else gp_block_put_events(e, b, k->t, k->table, k->rows + from, rows_of(k, block));
}

static void *encode_blocks(void *arg)
{
    const struct helper *h = arg;
    struct batch *k = h->batch;
    for (size_t i; (i = atomic_fetch_add(&k->next, 1)) < k->nblocks;)
        encode_block(k, i, h->encoder, buf_begin(&k->blocks[i]));
    return NULL;
}

/* Make all blocks of a batch with several threads. */
static void encode_together(struct gp_gpt_writer *w, struct batch *k)
{
    pthread_t thread[THREADS_MOST];
    struct helper helper[THREADS_MOST];
    int n = w->opts.threads < THREADS_MOST ? w->opts.threads : THREADS_MOST, started = 1;
    k->blocks = gp_zalloc(k->nblocks * sizeof *k->blocks);
    atomic_init(&k->next, 0);
    for (int i = 0; i < n; i++) {
        if (!w->encoders[i]) w->encoders[i] = gp_block_encoder_new(w->opts.rows_per_block);
        helper[i] = (struct helper){k, w->encoders[i]};
    }
    while (started < n && !pthread_create(&thread[started], NULL, encode_blocks, &helper[started])) started++;
    encode_blocks(&helper[0]);
    for (int i = 1; i < started; i++) pthread_join(thread[i], NULL);
}

static void put_batch(struct gp_gpt_writer *w, struct batch *k, uint16_t kind)
{
    k->step = w->opts.rows_per_block;
    k->nblocks = (k->n + k->step - 1) / k->step;
    if (w->opts.threads > 1 && k->nblocks >= 2 * (size_t)w->opts.threads) encode_together(w, k);
    for (size_t i = 0; i < k->nblocks; i++) {
        struct gp_buf *b = k->blocks ? &k->blocks[i] : block_begin(w);
        uint64_t base = gp_block_base(k->table, k->t->events[k->table].start_ns[k->rows[i * k->step]]);
        if (!k->blocks && !w->stopped) encode_block(k, i, w->encoders[0], b);
        if (!w->stopped) buf_end(w, b, kind, rows_of(k, i), base);
        if (k->blocks) gp_buf_release(b);
    }
    free(k->blocks);
}

static void put_rows(struct gp_gpt_writer *w, const struct gp_trace *t, enum gp_table table,
                     const uint32_t *rows, size_t n)
{
    struct batch k = {.t = t, .table = table, .rows = rows, .n = n};
    put_batch(w, &k, (uint16_t)(GP_GPT_EVENTS + gp_gpt_table_number[table]));
    w->rows[gp_gpt_table_number[table]] += n;
}

/* GPU and API events: the first GPU event of each call is paired with it. */
static void put_gpu(struct gp_gpt_writer *w, const struct gp_trace *t)
{
    struct gp_pairs *p = &w->pairs;
    gp_pairs_find(p, &t->events[GP_GPU], &t->events[GP_API]);
    struct batch k = {.t = t, .table = GP_GPU, .rows = p->gpu, .api = p->api, .n = p->n};
    put_batch(w, &k, GP_GPT_LAUNCH);
    w->rows[gp_gpt_table_number[GP_GPU]] += p->n;
    w->rows[gp_gpt_table_number[GP_API]] += p->n;
    w->stats.launched += p->n;
    put_rows(w, t, GP_GPU, p->lone_gpu, p->nlone_gpu);
    put_rows(w, t, GP_API, p->lone_api, p->nlone_api);
    w->stats.gpu_events += t->events[GP_GPU].n;
}

/* A block has the values of one set. */
static void put_metrics(struct gp_gpt_writer *w, const struct gp_trace *t)
{
    const struct gp_events *e = &t->events[GP_METRIC];
    const uint32_t *sorted = sorted_rows(w, e);
    uint32_t *rows = gp_alloc(e->n * sizeof *rows);
    for (uint32_t set = 0; set < t->metric_sets.n; set++) {
        size_t n = 0;
        for (size_t i = 0; i < e->n; i++)
            if (gp_get_set(e, sorted[i]) == set) rows[n++] = sorted[i];
        if (n) put_rows(w, t, GP_METRIC, rows, n);
    }
    free(rows);
}

int gp_gpt_flush(struct gp_gpt_writer *w, struct gp_trace *t)
{
    if (w->stopped) return -1;
    put_dictionaries(w, t);
    put_gpu(w, t);
    for (int i = 0; i < GP_TABLE_COUNT; i++) {
        if (i == GP_GPU || i == GP_API || i == GP_METRIC || !t->events[i].n) continue;
        put_rows(w, t, (enum gp_table)i, sorted_rows(w, &t->events[i]), t->events[i].n);
    }
    if (t->events[GP_METRIC].n) put_metrics(w, t);
    return w->stopped ? -1 : 0;
}

int gp_gpt_end(struct gp_gpt_writer *w, struct gp_trace *t)
{
    if (gp_gpt_flush(w, t)) return -1;
    uint32_t n = gp_block_put_issues(block_begin(w), t);
    if (n) block_end(w, GP_GPT_ISSUE, n, 0);
    n = gp_block_put_totals(block_begin(w), w->rows);
    block_end(w, GP_GPT_END, n, 0);
    return w->stopped ? -1 : 0;
}
