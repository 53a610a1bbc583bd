/* gpt_util.h -- helpers of the tests of the binary trace: traces from a seed, writing to memory, exact comparison. */
#ifndef GP_TESTS_GPT_UTIL_H
#define GP_TESTS_GPT_UTIL_H

#include <stdio.h>
#include <string.h>
#include "formats/base/buf.h"
#include "formats/base/input.h"
#include "formats/gpt_write.h"
#include "formats/reader.h"
#include "formats/trace.h"

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

/* NULL when all events are the same in every column, else where they are not. Sids, tracks and configs must agree. */
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
        for (int col = 0; col < GP_COLUMN_COUNT; col++)
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
    if (a->rank != b->rank || a->world_size != b->world_size) return "rank";
    return NULL;
}

#endif
