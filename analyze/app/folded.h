/* folded.h -- an input of folded stacks at the front door: read, with progress, and what is wrong with it
 * reported.
 *
 *     if (gp_folded_sniff(head, n)) failed = gp_app_folded(&f, in, on_stack, stacks, &damaged, &err);
 */
#ifndef GP_ANALYZE_APP_FOLDED_H
#define GP_ANALYZE_APP_FOLDED_H

#include "analyze/app/app.h"
#include "formats/folded_read.h"

/* Hand every stack of IN to SINK. *DAMAGED becomes true if some of it could not be read, which is an error
 * with --strict and otherwise reported on standard error, unless --quiet. ERR names the input. */
GP_MUST_CHECK int gp_app_folded(struct gp_app *f, struct gp_input *in, gp_folded_sink *sink, void *ctx,
                                bool *damaged, struct gp_err *err);

#endif
