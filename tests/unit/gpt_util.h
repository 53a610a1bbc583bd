/* gpt_util.h -- helpers of the tests of the binary trace: traces from a seed, writing to memory, exact
 * comparison. */
#ifndef GP_TESTS_GPT_UTIL_H
#define GP_TESTS_GPT_UTIL_H

#include <math.h>
#include <stdio.h>
#include <string.h>
#include "formats/base/buf.h"
#include "formats/base/input.h"
#include "formats/gpt/gpt_write.h"
#include "formats/model/metric.h"
#include "formats/reader.h"
#include "formats/model/trace.h"

static inline uint64_t next_random(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    uint64_t x = *seed;
    x ^= x >> 29;
    x *= 0xbf58476d1ce4e5b9u;
    return x ^ x >> 32;
}

static inline int to_buf(void *ctx, const void *data, size_t n)
{
    gp_buf_put(ctx, data, n);
    return 0;
}

/* Write all of T as one file. */
static inline void write_trace(struct gp_trace *t, const struct gp_gpt_write_opts *opts, struct gp_buf *to,
                               struct gp_gpt_stats *stats)
{
    struct gp_gpt_writer *w = gp_gpt_writer_new(opts, to_buf, to);
    gp_gpt_begin(w);
    gp_gpt_end(w, t);
    if (stats) *stats = *gp_gpt_writer_stats(w);
    gp_gpt_writer_free(w);
}

static inline int read_trace_need(struct gp_trace *t, const void *data, size_t n, int threads, uint32_t need,
                                  struct gp_err *err)
{
    struct gp_read_opts opts = {.need = need, .threads = threads};
    struct gp_input *in = gp_input_memory(data, n, 1);
    gp_trace_init(t, need);
    int rc = gp_reader_gpt.read(t, in, &opts, err);
    gp_input_close(in);
    if (rc) gp_trace_release(t);
    else gp_trace_finish(t);
    return rc;
}

static inline int read_trace(struct gp_trace *t, const void *data, size_t n)
{
    return read_trace_need(t, data, n, 1, GP_NEED_ALL, NULL);
}

static inline uint64_t cell(const struct gp_events *e, int col, size_t row)
{
    const char *cells = gp_events_column(e, (enum gp_column)col);
    uint64_t dflt = gp_column_infos[col].dflt;
    uint32_t narrow;
    if (gp_column_infos[col].width == 8) {
        if (cells) memcpy(&dflt, cells + row * 8, 8);
        return dflt;
    }
    if (!cells) return (uint32_t)dflt;
    memcpy(&narrow, cells + row * 4, 4);
    return narrow;
}

/* NULL if all events are the same in every column, otherwise where they differ. Sids, tracks and configs must
 * agree. */
static inline const char *events_differ(const struct gp_trace *a, const struct gp_trace *b, char *where,
                                        size_t size)
{
    for (int table = 0; table < GP_TABLE_COUNT; table++) {
        const struct gp_events *x = &a->events[table], *y = &b->events[table];
        const char *name = gp_table_name((enum gp_table)table);
        if (x->n != y->n) {
            snprintf(where, size, "%s: %zu and %zu rows", name, x->n, y->n);
            return where;
        }
        for (size_t i = 0; table == GP_METRIC && i < x->n; i++)
            if (memcmp(gp_metric_values(a, i), gp_metric_values(b, i),
                       a->metric_sets.at[gp_get_set(x, i)].n * sizeof(double))) {
                snprintf(where, size, "%s row %zu: other values", name, i);
                return where;
            }
        for (int col = 0; col < GP_COL_VALUES; col++)
            for (size_t i = 0; i < x->n; i++) {
                if (cell(x, col, i) == cell(y, col, i)) continue;
                snprintf(where, size, "%s row %zu %s: %llx and %llx", name, i, gp_column_infos[col].name,
                         (unsigned long long)cell(x, col, i), (unsigned long long)cell(y, col, i));
                return where;
            }
    }
    return NULL;
}

#define SMALL_DIFFERS(a, b, vec)                                                                             \
    ((a)->vec.n != (b)->vec.n ||                                                                             \
     ((a)->vec.n && memcmp((a)->vec.at, (b)->vec.at, (a)->vec.n * sizeof *(a)->vec.at)))

/* The same for everything beside the events. */
static inline const char *rest_differs(const struct gp_trace *a, const struct gp_trace *b)
{
    if (a->strings.n != b->strings.n) return "strings";
    for (uint32_t i = 0; i < a->strings.n; i++)
        if (a->strings.len[i] != b->strings.len[i] ||
            memcmp(a->strings.at[i], b->strings.at[i], a->strings.len[i]))
            return "a string";
    if (SMALL_DIFFERS(a, b, configs)) return "configs";
    if (SMALL_DIFFERS(a, b, processes)) return "processes";
    if (SMALL_DIFFERS(a, b, tracks)) return "tracks";
    if (SMALL_DIFFERS(a, b, devices)) return "devices";
    if (SMALL_DIFFERS(a, b, meta)) return "meta";
    if (SMALL_DIFFERS(a, b, losses)) return "losses";
    if (SMALL_DIFFERS(a, b, clocks)) return "clocks";
    if (SMALL_DIFFERS(a, b, metrics)) return "metrics";
    if (SMALL_DIFFERS(a, b, metric_sets)) return "sets of metrics";
    if (SMALL_DIFFERS(a, b, stacks)) return "stacks";
    if (a->symbols.n != b->symbols.n) return "symbols";
    for (size_t i = 0; i < a->symbols.n; i++) {
        const struct gp_symbol *x = &a->symbols.at[i], *y = &b->symbols.at[i];
        if (x->module != y->module || x->offset != y->offset || x->name != y->name || x->file != y->file ||
            x->line != y->line || x->caller != y->caller)
            return "a symbol";
    }
    if (SMALL_DIFFERS(a, b, paces)) return "paces";
    if (a->rank != b->rank || a->world_size != b->world_size) return "rank";
    return NULL;
}

/* ---- traces ---- */

static inline uint64_t pick(uint64_t *seed, uint64_t n) { return next_random(seed) % n; }

/* Sometimes none, often near LAST, now and then anything. */
static inline uint64_t some_id(uint64_t *seed, uint64_t *last)
{
    switch (pick(seed, 8)) {
    case 0: return GP_NO_ID;
    case 1: return next_random(seed);
    case 2: return next_random(seed) >> 40;
    default: return *last += pick(seed, 4);
    }
}

/* Every column of every table holds something else than its default in some rows. */
static inline void fill_row(struct gp_trace *t, struct gp_events *e, size_t row, uint64_t *seed,
                            uint64_t *last)
{
    static const double doubles[] = {0.0, -0.0, 1.5, -3.0, 1e300, 4503599627370497.0};
    gp_set_config(e, row,
                  e == &t->events[GP_GPU] || e == &t->events[GP_METRIC] ? (uint32_t)pick(seed, t->configs.n)
                                                                        : 0);
    gp_set_corr(e, row, some_id(seed, last));
    gp_set_ext(e, row, some_id(seed, last));
    gp_set_graph(e, row, some_id(seed, last));
    gp_set_node(e, row, some_id(seed, last));
    gp_set_seq(e, row, some_id(seed, last));
    gp_set_recfn(e, row, some_id(seed, last));
    gp_set_py_id(e, row, some_id(seed, last));
    gp_set_py_parent(e, row, some_id(seed, last));
    gp_set_py_module(e, row, some_id(seed, last));
    if (e != &t->events[GP_SAMPLE]) gp_set_id(e, row, some_id(seed, last)); /* there a stack */
    gp_set_addr(e, row, next_random(seed) >> pick(seed, 64));
    gp_set_bytes(e, row, (int64_t)(next_random(seed) >> pick(seed, 64)));
    gp_set_total(e, row, (int64_t)next_random(seed));
    gp_set_reserved(e, row, -(int64_t)pick(seed, 1000));
    gp_set_cat(e, row, (gp_sid)pick(seed, t->strings.n));
    gp_set_id_text(e, row, (gp_sid)pick(seed, t->strings.n));
    gp_set_series(e, row, (gp_sid)pick(seed, t->strings.n));
    gp_set_extra(e, row, (gp_sid)pick(seed, t->strings.n));
    gp_set_captured(e, row, (gp_sid)pick(seed, t->strings.n));
    gp_set_phase(e, row, (uint32_t)pick(seed, 2) * 's');
    gp_set_ret(e, row, (int32_t)next_random(seed));
    if (t->stacks.n) gp_set_stack(e, row, (uint32_t)(row * row / 3 % t->stacks.n));
    gp_set_waiter(e, row, row % 3 ? UINT32_MAX : (uint32_t)(row * row % t->tracks.n));
    gp_set_value(e, row, pick(seed, 2) ? doubles[pick(seed, 6)] : (double)pick(seed, 100));
}

static inline void add_names(struct gp_trace *t)
{
    char text[40];
    for (int i = 1; i < 50; i++)
        gp_trace_intern(t, text, (size_t)snprintf(text, sizeof text, "name %d%.*s", i * i, i % 7, "abcdefg"));
    gp_trace_intern(t, "a\0b", 3);
}

static inline void add_tracks(struct gp_trace *t)
{
    for (int i = 0; i < 3; i++) {
        struct gp_process p = gp_process_unknown();
        p.pid = i * 1000000007LL - 5;
        p.name = 3;
        p.rank = i;
        p.has_sort_index = i == 1;
        p.sort_index = i == 1 ? -7 : 0;
        uint32_t process = gp_trace_process(t, &p);
        for (int j = 0; j < 4; j++) {
            struct gp_track k = gp_track_unknown();
            k.kind = j % 2 ? GP_TRACK_STREAM : GP_TRACK_THREAD;
            k.process = process;
            k.tid = j == 3 ? INT64_MIN : j;
            k.stream = j % 2 ? j + 6 : -1;
            k.device = j % 2 ? i : -1;
            k.tid_text = j == 2 ? 9 : 0;
            gp_trace_track(t, &k);
        }
    }
}

static inline void add_rest(struct gp_trace *t)
{
    for (uint32_t i = 0; i < 30; i++) {
        struct gp_config c;
        memset(&c, 0, sizeof c);
        c.name = 1 + i % 20;
        c.kind = i % 3;
        c.grid[0] = i * 1000 + UINT32_MAX / 2;
        c.block[2] = 64;
        c.extra = i == 5 ? 11 : 0;
        gp_trace_config(t, &c);
    }
    struct gp_device d = gp_device_unknown();
    d.id = 1;
    d.name = 4;
    d.memory_bytes = 150754820096;
    GP_VEC_PUSH(&t->devices, d);
    gp_trace_set_meta(t, "key", "{\"a\":1}", 7);
    struct gp_loss loss;
    memset(&loss, 0, sizeof loss); /* the padding, too: entries are compared as bytes */
    loss.what = 5;
    loss.reason = 6;
    loss.count = 1234567890123;
    loss.process = UINT32_MAX;
    GP_VEC_PUSH(&t->losses, loss);
    loss.process = 1;
    GP_VEC_PUSH(&t->losses, loss);
    struct gp_clock clock;
    memset(&clock, 0, sizeof clock);
    clock.trace_ns = -1;
    clock.realtime_ns = INT64_MAX;
    GP_VEC_PUSH(&t->clocks, clock);
    t->rank = 3;
}

/* Python and native frames, all of which have names, and steps that were timed. */
static inline void add_stacks(struct gp_trace *t)
{
    GP_VEC_PUSH(&t->stacks, (struct gp_stack){0});
    GP_VEC_PUSH(&t->symbols, (struct gp_symbol){0});
    for (uint32_t i = 1; i < 60; i++) {
        GP_VEC_PUSH(&t->symbols, ((struct gp_symbol){.module = 1 + i % 5,
                                                     .offset = (uint64_t)i * i << i % 40,
                                                     .name = i % 4 ? 20 + i % 9 : 0,
                                                     .file = i % 3 ? 7 : 0,
                                                     .line = i % 3,
                                                     .caller = i % 7 ? 0 : i / 2}));
        GP_VEC_PUSH(&t->stacks, ((struct gp_stack){.parent = i % 9 ? i / 2 : 0,
                                                   .name = 1 + i % 3,
                                                   .file = 1 + i % 2,
                                                   .line = i % 40,
                                                   .symbol = i % 3 ? 0 : i}));
        GP_VEC_PUSH(&t->paces, ((struct gp_pace){-5000 * (int64_t)i, 4000 + i % 3, i % 2, i % 3}));
    }
}

/* A set of three metrics, and one of the first and another. */
static inline void add_metrics(struct gp_trace *t)
{
    const struct gp_metric m[] = {{10, 11, GP_METRIC_COUNTER, GP_REDUCE_SUM, 1, 12},
                                  {13, 0, GP_METRIC_RATIO, GP_REDUCE_MEAN, 1, 12},
                                  {14, 15, GP_METRIC_THROUGHPUT, GP_REDUCE_MEAN, 1, 12},
                                  {10, 11, GP_METRIC_COUNTER, GP_REDUCE_SUM, 2, 12},
                                  {16, 11, GP_METRIC_COUNTER, GP_REDUCE_SUM, 2, 12}};
    gp_trace_metric_set(t, m, 3);
    gp_trace_metric_set(t, m + 3, 2);
}

static inline void fill_values(struct gp_trace *t, size_t row, uint64_t *seed)
{
    double v[3];
    for (int i = 0; i < 3; i++)
        v[i] = !pick(seed, 6) ? NAN : i ? (double)pick(seed, 1000) / 8 : (double)pick(seed, 1u << 30);
    gp_metric_put(t, row, (uint32_t)pick(seed, 2), v);
}

/* ROWS rows in every table; with LAUNCHES, GPU events and API calls share correlation ids. */
static inline void random_trace(struct gp_trace *t, uint64_t seed, size_t rows)
{
    uint64_t last = 100;
    gp_trace_init(t, GP_NEED_ALL);
    add_names(t);
    add_tracks(t);
    add_rest(t);
    add_metrics(t);
    add_stacks(t);
    for (int table = 0; table < GP_TABLE_COUNT; table++) {
        struct gp_events *e = &t->events[table];
        int64_t now = (int64_t)1 << 60;
        for (size_t i = 0; i < rows; i++) {
            now += (int64_t)(next_random(&seed) >> (44 + pick(&seed, 20))) - 100;
            int64_t dur = (int64_t)(next_random(&seed) >> (1 + pick(&seed, 63)));
            size_t row = gp_events_add(e, now, dur, (uint32_t)pick(&seed, t->tracks.n),
                                       (gp_sid)pick(&seed, t->strings.n));
            fill_row(t, e, row, &seed, &last);
            if (table == GP_METRIC) fill_values(t, row, &seed);
            if (table <= GP_API) gp_set_corr(e, row, 1000 + i * 3 / 2 + pick(&seed, 2));
        }
    }
    gp_trace_finish(t);
    memset(t->issues, 0, sizeof t->issues);
}

/* A small program: NEACH launches and their kernels on two streams. */
static inline void launch_trace(struct gp_trace *t, int neach)
{
    gp_trace_init(t, GP_NEED_ALL);
    add_names(t);
    add_tracks(t);
    add_rest(t);
    for (int i = 0; i < neach; i++) {
        int64_t call = 1000000 + i * 10000;
        size_t row = gp_events_add(&t->events[GP_API], call, 3000 + i % 7, 0, 2);
        gp_set_corr(&t->events[GP_API], row, (uint64_t)i + 1);
        gp_set_ext(&t->events[GP_API], row, (uint64_t)i / 3);
        row = gp_events_add(&t->events[GP_GPU], call + 5000 + i % 3 * 32, 4000 + i % 5 * 32, i % 2 ? 1 : 3,
                            t->configs.at[i % 4].name);
        gp_set_corr(&t->events[GP_GPU], row, (uint64_t)i + 1);
        gp_set_ext(&t->events[GP_GPU], row, (uint64_t)i / 3);
        gp_set_config(&t->events[GP_GPU], row, (uint32_t)i % 4);
    }
    gp_trace_finish(t);
}

#endif
