/* clocks.h -- clocks, power, heat and neighbours beside a recording: begins when the first process uses
 * CUDA, and writes down what it reads of the GPUs that are in the trace. Prints nothing.
 *
 *     struct gp_clocks *c = gp_clocks_new(&opts);
 *     gp_clocks_joined(c, pid);                        // a process that is recorded
 *     gp_clocks_saw(c, 0, &trace);                     // which GPUs it uses
 *     gp_clocks_turn(c, now_ns);                       // at gp_clocks_due()
 *     gp_clocks_beside(c, &cut);                       // the same in the trace of a session
 *     gp_clocks_end(c);
 *     use(gp_clocks_why(c));
 *     gp_clocks_free(c);
 */
#ifndef GP_COLLECT_CLOCKS_CLOCKS_H
#define GP_COLLECT_CLOCKS_CLOCKS_H

#include <stddef.h>
#include <stdint.h>
#include "collect/clocks/clock_sampler.h"
#include "formats/model/trace.h"

struct gp_clocks_opts {
    const char *library; /* NULL: the driver's */
    bool redact;
    bool apart; /* no trace of the whole: only of sessions */
    /* A new number of a producer, whose blocks go where those of OWNER go (0: to the trace of all). */
    uint32_t (*producer)(void *ctx, uint32_t owner);
    int (*on_block)(void *ctx, const void *block, size_t n); /* a gp_gpt_sink that never stops */
    /* A sample of a GPU in use; may be NULL. */
    void (*on_sample)(void *ctx, const struct gp_clock_sample *s, const struct gp_clock_device *device);
    void *ctx;
};

struct gp_clocks;

/* Each of these accepts NULL: no clocks are wanted. */
struct gp_clocks *gp_clocks_new(const struct gp_clocks_opts *opts);
void gp_clocks_joined(struct gp_clocks *c, int32_t pid);
/* OWNER: the producer of T, where it has a trace of its own; 0: there is one of all. */
void gp_clocks_saw(struct gp_clocks *c, uint32_t owner, const struct gp_trace *t);
/* When to call gp_clocks_turn(); 0: not yet. */
int64_t gp_clocks_due(const struct gp_clocks *c);
void gp_clocks_turn(struct gp_clocks *c, int64_t now_ns);
/* Write the samples between FROM_NS and TO_NS of the GPUs of T as blocks, to the end of their producers. */
void gp_clocks_beside(struct gp_clocks *c, const struct gp_trace *t, int64_t from_ns, int64_t to_ns,
                      int (*write)(void *ctx, const void *block, size_t n), void *ctx);
/* Write the rest; not where there is no trace of the whole. Call once. */
void gp_clocks_end(struct gp_clocks *c);
/* Why there is nothing, where a GPU was used; "" otherwise. */
const char *gp_clocks_why(struct gp_clocks *c);
void gp_clocks_free(struct gp_clocks *c);

#endif
