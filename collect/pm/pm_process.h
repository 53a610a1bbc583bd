/* pm_process.h -- samples of the counters of all GPUs beside a recording: starts the process that takes them
 * (pm_child.h), and writes down what it sends. Prints nothing.
 *
 *     struct gp_pm *pm = gp_pm_start(&opts);                         // before there is a thread
 *     bool samples = gp_pm_await(pm, &writer_opts, &why);            // before the command starts
 *     gp_pm_turn(pm, now_ns);                                        // at gp_pm_due()
 *     gp_pm_end(pm);
 *     use(gp_pm_samples(pm));
 *     gp_pm_free(pm);
 */
#ifndef GP_COLLECT_PM_PROCESS_H
#define GP_COLLECT_PM_PROCESS_H

#include "collect/pm/pm_child.h"
#include "collect/pm/pm_writer.h"
#include "formats/base/declare.h"

struct gp_pm;

/* Start the process. It is a fork that goes on in this program: a thread that held a lock meanwhile would
 * never give it back there. NULL: it cannot be started. */
struct gp_pm *gp_pm_start(const struct gp_pm_opts *opts);
/* Wait until it samples. False if nothing can be sampled: PM is only to be freed. Either way WHY gets a line
 * for each GPU that is not. PM may be NULL. */
bool gp_pm_await(struct gp_pm *pm, const struct gp_pm_writer_opts *to, struct gp_buf *why);
/* When to call gp_pm_turn(); 0 if PM is NULL. */
int64_t gp_pm_due(const struct gp_pm *pm);
/* Write down what has come, if it is time to. PM may be NULL. */
void gp_pm_turn(struct gp_pm *pm, int64_t now_ns);
/* End the process, and write down the rest. PM may be NULL. */
void gp_pm_end(struct gp_pm *pm);
uint64_t gp_pm_samples(const struct gp_pm *pm);
/* What the process had to say since the start; "" nothing. */
const char *gp_pm_said(struct gp_pm *pm);
/* Ends the process if that has not been done. PM may be NULL. */
void gp_pm_free(struct gp_pm *pm);

#endif
