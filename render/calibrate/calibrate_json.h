/* calibrate_json.h -- what was measured as documents: ceilings of devices (gpuprof/ceilings/1,
 * schemas/ceilings.schema.json) and operations over sizes (gpuprof/sweep/1, schemas/sweep.schema.json).
 * Measures nothing.
 *
 *     gp_ceilings_json_write(&b, &c);
 */
#ifndef GP_RENDER_CALIBRATE_JSON_H
#define GP_RENDER_CALIBRATE_JSON_H

#include "analyze/calibrate/calibration.h"
#include "formats/base/declare.h"

/* Of one device its figures; of several, the median of each figure, and the devices in a list. C is
 * settled. */
void gp_ceilings_json_write(struct gp_buf *b, const struct gp_calibration *c);
void gp_sweep_json_write(struct gp_buf *b, const struct gp_calibration *c);

#endif
