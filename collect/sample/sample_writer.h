/* sample_writer.h -- runs of samples as blocks of the binary trace: each process that was sampled is a
 * producer of its own, with its threads and the stacks that it needs. Does not know where the blocks go.
 *
 *     struct gp_sample_writer *w = gp_sample_writer_new(&opts);
 *     gp_sampler_take(sampler, gp_sample_writer_put, w);
 *     gp_sample_writer_flush(w);
 *     gp_sample_writer_end(w); gp_sample_writer_free(w);
 */
#ifndef GP_COLLECT_SAMPLE_SAMPLE_WRITER_H
#define GP_COLLECT_SAMPLE_SAMPLE_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "collect/sample/sampler.h"

struct gp_sample_writer_opts {
    int64_t period_ns;
    bool redact; /* names of functions and files are stored as hashes */
    /* A new number of a producer for what process PID does, or 0 while nobody takes it: of that time only the
     * last samples are kept. */
    uint32_t (*producer)(void *ctx, int32_t pid);
    int (*on_block)(void *ctx, const void *block, size_t n); /* a gp_gpt_sink that never stops */
    void *ctx;
};

struct gp_sample_writer;

struct gp_sample_writer *gp_sample_writer_new(const struct gp_sample_writer_opts *opts);
/* WRITER is the struct gp_sample_writer. */
void gp_sample_writer_put(void *writer, const struct gp_sample_run *run, const struct gp_stacks *stacks);
/* Pass on what there is. */
void gp_sample_writer_flush(struct gp_sample_writer *w);
/* Nothing more comes: each producer ends. */
void gp_sample_writer_end(struct gp_sample_writer *w);
void gp_sample_writer_free(struct gp_sample_writer *w);

#endif
