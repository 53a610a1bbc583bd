/* app_ceilings.h -- the ceilings that a tool judges by: those of a file that was named, or those that
 * gpuprof-measure --calibrate has kept on this machine for a device of that name. Only mains include this.
 *
 *     struct gp_ceilings c;
 *     bool measured = false;
 *     if (gp_app_ceilings(&front, opts.ceilings, "NVIDIA H200", &c, &measured, &err)) ...
 */
#ifndef GP_ANALYZE_APP_CEILINGS_H
#define GP_ANALYZE_APP_CEILINGS_H

#include <stdbool.h>
#include "analyze/cost/ceilings.h"
#include "analyze/app/app.h"
#include "formats/base/declare.h"

/* Fill C and set MEASURED, or leave both as they are if nothing was measured. PATH is what --ceilings
 * names: "none" for nothing; NULL if it was not given: then kept ones are used, if there are any, and a
 * line says so. -1 with ERR if a file that was named cannot be used; a damaged one that nobody named is
 * only reported. */
GP_MUST_CHECK int gp_app_ceilings(const struct gp_app *f, const char *path, const char *device,
                                  struct gp_ceilings *c, bool *measured, struct gp_err *err);

/* Append the path for a device called NAME. False, and nothing, if there is no home or no name. */
bool gp_ceilings_cache_path(struct gp_buf *path, const char *name);

#endif
