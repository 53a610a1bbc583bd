/* try.h -- what gpuprof-try measured: changes that went on and off while a program ran, and what a step
 * saved with each. gputrace measures it and writes rows as JSON lines, {"kind": ..., "row": {...}}; here they
 * become structs, and their records describe them for every answer. Computes nothing: the statistics are
 * where the measuring stops, in collect/python/gputrace/_trial_stat.py.
 *
 *     struct gp_try t = {0};
 *     if (gp_try_read(&t, text, n, &err)) ...
 *     const struct gp_trial *control = t.control.n ? &t.control.at[0] : NULL;
 *     gp_try_release(&t);
 */
#ifndef GP_ANALYZE_TRY_H
#define GP_ANALYZE_TRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "analyze/result/field.h"
#include "formats/base/declare.h"
#include "formats/base/mem.h"
#include "formats/base/vec.h"

/* What is not known. Savings may be negative. */
#define GP_TRY_UNKNOWN INT64_MIN

/* NAN: not known, or not compared. The relative ones are distances as a share of the results without the
 * change. */
struct gp_try_difference {
    double loss_off, loss_on, loss_relative;
    double outputs_relative; /* of an outermost module, from the same inputs and random numbers */
    double update_relative;  /* of an optimizer's step, from the same gradients */
    double noise_relative;   /* without the change, the second time beside the first */
};

/* A pair of neighbouring blocks of steps. */
struct gp_try_sample {
    int64_t off_ns, on_ns; /* per step */
};

/* Texts are NULL where they are null. */
struct gp_trial {
    const char *change, *rule, *mode, *status, *reason, *permanent, *may_change;
    int64_t off_ns, on_ns, saving_ns, low_ns, high_ns;
    int64_t predicted_low_ns, predicted_high_ns;
    int64_t peak_bytes_off, peak_bytes_on;
    int64_t pairs, steps_per_block, outliers;
    double drift_pct; /* NAN: none */
    bool what_if;     /* not a change to make: an upper end */
    bool compared;    /* DIFFERENCE is known */
    struct gp_try_difference difference;
    GP_VEC(const char *) notes;
    GP_VEC(const char *) changes; /* of all together: which */
    GP_VEC(struct gp_try_sample) samples;
};
typedef GP_VEC(struct gp_trial) gp_trials;

/* A zeroed struct is empty. */
struct gp_try {
    struct gp_arena mem;
    const char *steps, *device; /* how steps end: "a step ends with Adam.step()"; NULL: not found, no GPU */
    const char *refused;        /* why nothing, or no more, was measured; NULL */
    gp_trials trials, control, together; /* of the last two one at most */
};

/* Add the JSON lines in the N bytes of TEXT to T. Members that are not known here are skipped; a line that is
 * none of these is an error, with its byte in ERR, and what came before it stays. */
GP_MUST_CHECK int gp_try_read(struct gp_try *t, const char *text, size_t n, struct gp_err *err);
/* The same of an answer that gpuprof-try -f json wrote. */
GP_MUST_CHECK int gp_try_load(struct gp_try *t, const char *text, size_t n, struct gp_err *err);
void gp_try_release(struct gp_try *t);

static inline bool gp_trial_measured(const struct gp_trial *r) { return r->saving_ns != GP_TRY_UNKNOWN; }
/* Is it sure, with 95%, that the change saves something? */
static inline bool gp_trial_helps(const struct gp_trial *r) { return gp_trial_measured(r) && r->low_ns > 0; }
/* Was anything measured, and does the control's interval hold zero? */
bool gp_try_trusted(const struct gp_try *t);

/* Append what R does besides time: "loss equal to 3 digits, 0.80 GB more memory"; nothing where that is not
 * known. */
void gp_trial_put_effect(struct gp_buf *b, const struct gp_trial *r);

/* Rows of struct gp_trial. */
extern const struct gp_record gp_try_trials;
/* Of struct gp_try, all of it; and parts of rows: struct gp_try_difference, struct gp_try_sample. */
extern const struct gp_record gp_try_answers, gp_try_differences, gp_try_samples;

#endif
