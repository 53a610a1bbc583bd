/* pm_writer.h -- samples of counters as blocks of the binary trace: each GPU is a producer of its own, with a
 * row of counters per metric whenever its value changes. Bytes and other counts become rates. Does not know
 * where samples come from, or blocks go.
 *
 *     struct gp_pm_writer *w = gp_pm_writer_new(&opts);
 *     gp_pm_writer_device(w, 0, metrics, n);
 *     gp_pm_writer_put(w, 0, start_ns, end_ns, values);
 *     gp_pm_writer_flush(w, now_ns);
 *     gp_pm_writer_end(w); gp_pm_writer_free(w);
 */
#ifndef GP_COLLECT_PM_WRITER_H
#define GP_COLLECT_PM_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "collect/counters/measured.h"

struct gp_pm_writer_opts {
    int64_t period_ns;
    uint32_t (*producer)(void *ctx);                         /* a new number of a producer */
    int (*on_block)(void *ctx, const void *block, size_t n); /* a gp_gpt_sink that never stops */
    void *ctx;
};

struct gp_pm_writer;

struct gp_pm_writer *gp_pm_writer_new(const struct gp_pm_writer_opts *opts);
/* Samples of DEVICE have N values. Once for each. */
void gp_pm_writer_device(struct gp_pm_writer *w, uint32_t device, const struct gp_measured_metric *metrics,
                         size_t n);
/* How many values those have; 0: it is not known. */
size_t gp_pm_writer_values(const struct gp_pm_writer *w, uint32_t device);
void gp_pm_writer_put(struct gp_pm_writer *w, uint32_t device, int64_t start_ns, int64_t end_ns,
                      const double *values);
/* Samples were lost N times. */
void gp_pm_writer_lost(struct gp_pm_writer *w, uint32_t device, uint64_t n);
uint64_t gp_pm_writer_samples(const struct gp_pm_writer *w);
/* Pass on rows that have waited for a while. */
void gp_pm_writer_flush(struct gp_pm_writer *w, int64_t now_ns);
/* Nothing more comes. */
void gp_pm_writer_end(struct gp_pm_writer *w);
void gp_pm_writer_free(struct gp_pm_writer *w);

#endif
