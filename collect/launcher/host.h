/* host.h -- samples of the host while a command runs: a sampler and the writer of its samples. Prints
 * nothing.
 *
 *     struct gp_host *h = gp_host_new(&opts, flush_ns);
 *     gp_host_start(h, pid, &err);
 *     gp_host_turn(h, now_ns);                     // at gp_host_due()
 *     gp_host_end(h);
 *     struct gp_sampler_counts c = gp_host_counts(h);
 *     gp_host_free(h);
 */
#ifndef GP_COLLECT_HOST_H
#define GP_COLLECT_HOST_H

#include "collect/sample/sample_writer.h"
#include "collect/sample/sampler.h"

struct gp_host;

/* Samples are written down every FLUSH_NS. */
struct gp_host *gp_host_new(const struct gp_sample_writer_opts *opts, int64_t flush_ns);
int gp_host_start(struct gp_host *h, pid_t pid, struct gp_err *err) GP_MUST_CHECK;
/* When to call gp_host_turn(); 0 if H is NULL. */
int64_t gp_host_due(const struct gp_host *h);
/* Write down new samples, if it is time to. H may be NULL. */
void gp_host_turn(struct gp_host *h, int64_t now_ns);
/* Stop, and write down the rest. H may be NULL. */
void gp_host_end(struct gp_host *h);
struct gp_sampler_counts gp_host_counts(struct gp_host *h);
void gp_host_free(struct gp_host *h);

#endif
