/* gpt_write.h -- writes the suite's binary trace (schemas/gpt-1.md), block by block, to a callback. Works for
 * a whole trace (trace-convert) and for a stream (the collector): every flush writes the dictionary entries
 * that are new since the last one, then all events of the trace's tables. Nothing written is ever changed.
 *
 *     struct gp_gpt_writer *w = gp_gpt_writer_new(&opts, sink, ctx);
 *     gp_gpt_begin(w);                           // the file header; leave out when the blocks go to a merger
 *     gp_gpt_flush(w, &trace);                   // any number of times; then gp_trace_clear_events(&trace)
 *     gp_gpt_end(w, &trace);                     // END block with totals
 *     gp_gpt_writer_free(w);
 */
#ifndef GP_FORMATS_GPT_WRITE_H
#define GP_FORMATS_GPT_WRITE_H

#include "formats/model/trace.h"

/* Takes N bytes: the file header or exactly one whole block. Returns 0, or -1 to stop all further writing. */
typedef int gp_gpt_sink(void *ctx, const void *data, size_t n);

enum gp_gpt_codec { GP_GPT_PLAIN = 0, GP_GPT_ZSTD = 1, GP_GPT_ZLIB = 2 };

struct gp_gpt_write_opts {
    uint32_t producer;       /* which process of a merged stream wrote the blocks */
    enum gp_gpt_codec codec; /* per block; GP_GPT_PLAIN is the default and the fastest */
    uint32_t rows_per_block; /* 0: 4096 */
    /* threads that make blocks, including the caller's; 0 or 1: only the caller's. The bytes are the same. */
    int threads;
};

struct gp_gpt_writer;

/* Statistics of the output, by block kind and in total; for benchmarks and the collector's last
 * line. */
struct gp_gpt_stats {
    uint64_t blocks, bytes; /* everything */
    uint64_t launch_bytes;  /* complete blocks with GPU events, with or without their launches */
    uint64_t gpu_events;    /* written */
    uint64_t launched;      /* those that were written together with their launch */
};

/* Never NULL. OPTS may be NULL. */
struct gp_gpt_writer *gp_gpt_writer_new(const struct gp_gpt_write_opts *opts, gp_gpt_sink *sink, void *ctx);
/* The 16-byte file header. -1 if the sink stopped. */
int gp_gpt_begin(struct gp_gpt_writer *w);
/* Everything new in T. T need not be finished (sorted): each block is sorted separately. All flushes of a
 * writer must get the same trace object. -1 if the sink stopped. */
int gp_gpt_flush(struct gp_gpt_writer *w, struct gp_trace *t);
/* Flush, then the END block. */
int gp_gpt_end(struct gp_gpt_writer *w, struct gp_trace *t);
const struct gp_gpt_stats *gp_gpt_writer_stats(const struct gp_gpt_writer *w);
void gp_gpt_writer_free(struct gp_gpt_writer *w);

#endif
