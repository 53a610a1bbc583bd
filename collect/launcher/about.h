/* about.h -- the launcher's own knowledge of a run, as the metadata and losses of a trace, and the line
 * that sums the run up. Knows no sockets and no signals.
 *
 *     gp_about_begin(output, &opts, args, nargs);
 *     gp_about_end(output, &about);
 *     gp_about_missing(&about, print_message);   // "1 process runs untraced: Too many open files"
 *     gp_about_sum(&buf, &about);                // "27 kernels, 4 copies, 2 sets, 1 process, 0 lost, ..."
 */
#ifndef GP_COLLECT_ABOUT_H
#define GP_COLLECT_ABOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "collect/hub.h"
#include "collect/output.h"
#include "collect/launcher/collect_plan.h"
#include "collect/sample/sampler.h"
#include "formats/base/declare.h"

/* A run that is over. */
struct gp_about {
    const struct gp_collect_opts *opts;
    const struct gp_hub *hub; /* of gp_about_end() only */
    struct gp_hub_totals totals;
    bool kept;            /* only the last events, with --last */
    uint64_t crowded_out; /* blocks of events that had no room there */
    uint64_t not_dumped;  /* moments of --dump that were only counted */
    int32_t pid;          /* of the command */
    int64_t began_ns;     /* CLOCK_MONOTONIC, when that was started */
    int status, signal;   /* how it ended; SIGNAL 0: by itself */
    bool ended, reader_left, sampled, counters_sampled;
    bool old_kept;                    /* the file at --output is unchanged: nothing was recorded */
    struct gp_sampler_counts samples; /* where SAMPLED */
    uint64_t counter_samples;         /* where COUNTERS_SAMPLED */
    char no_clocks[200];              /* why; "": there are some, or none are wanted */
    uint64_t digest_dropped;          /* blocks that --digest did not get */
};

/* Put the facts from before the start into O's trace: collector, command, options, clocks. */
void gp_about_begin(struct gp_output *o, const struct gp_collect_opts *opts, const char *const *args,
                    size_t nargs);
/* And those of the end: how the command and its processes ended, losses. Ends the
 * trace. */
void gp_about_end(struct gp_output *o, const struct gp_about *about);
/* Tell SAY which processes are not in the trace, and why: one message for each reason. */
void gp_about_missing(const struct gp_about *about, void (*say)(const char *message));
/* Append a summary of the run, in one line. */
void gp_about_sum(struct gp_buf *b, const struct gp_about *about);

/* ---- secrets of the command line ----
 * Command lines without anything like a secret. Knows nothing of the run.
 *
 *     gp_mask_put(&buf, "--api-key", "s3cr3t");             // "***"
 *     gp_mask_put(&buf, "run", "--token=s3cr3t");           // "--token=***"
 *     gp_mask_put(&buf, "run", "https://me:s3cr3t@host");   // "https://...", masked
 */

/* Append ARG of a command line, behind PREVIOUS (NULL: it is the first), to TO. From where a secret begins,
 * the rest of the argument is "***". Only these forms are known:
 * - a value behind a name that contains key, token, pass, pwd, secret, credential, auth, cookie, bearer,
 *   signature or jwt, or that is sig, sas, pw or pat: NAME=VALUE, NAME: VALUE, "NAME": VALUE, --NAME VALUE,
 *   anywhere in an argument, and VALUE as an argument of its own behind --NAME or a bare NAME
 * - the values of -pVALUE, -p VALUE, -k VALUE, and -u USER:VALUE
 * - the part before the @ of SCHEME://USER:VALUE@HOST
 * - a key with a known prefix, such as AKIA, ghp_, hf_, sk- or eyJ
 * - 32 letters and digits or more in a row; behind "=" also those of base64
 */
void gp_mask_put(struct gp_buf *to, const char *previous, const char *arg);

#endif
