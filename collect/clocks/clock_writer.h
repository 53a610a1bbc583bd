/* clock_writer.h -- samples of a GPU's gauges as blocks of the binary trace: a producer of its own, with a
 * row whenever a value changes. Does not know where samples come from, or blocks go.
 *
 *     struct gp_clock_writer *w = gp_clock_writer_new(&opts, 0, &device);
 *     gp_clock_writer_put(w, &sample);
 *     gp_clock_writer_flush(w);
 *     gp_clock_writer_end(w);                      // and frees it
 */
#ifndef GP_COLLECT_CLOCKS_CLOCK_WRITER_H
#define GP_COLLECT_CLOCKS_CLOCK_WRITER_H

#include "collect/clocks/clock_sampler.h"

struct gp_clock_writer_opts {
    uint32_t producer; /* of its blocks */
    bool redact;       /* without names of processes */
    /* Takes one complete block; not 0: it takes no more. */
    int (*write)(void *ctx, const void *block, size_t n);
    void *ctx;
};

struct gp_clock_writer;

/* NUMBER is that of the GPU in NVML. */
struct gp_clock_writer *gp_clock_writer_new(const struct gp_clock_writer_opts *opts, uint32_t number,
                                            const struct gp_clock_device *device);
/* Samples come in order of time. */
void gp_clock_writer_put(struct gp_clock_writer *w, const struct gp_clock_sample *sample);
void gp_clock_writer_flush(struct gp_clock_writer *w);
/* Nothing more comes. W may be NULL. */
void gp_clock_writer_end(struct gp_clock_writer *w);

#endif
