/* ceilings_cache.h -- where the measured ceilings of a device are kept between runs:
 * $XDG_CACHE_HOME/gpuprof/ceilings, or ~/.cache/gpuprof/ceilings, one document per kind of device. Reads and
 * writes nothing.
 *
 *     struct gp_buf path = {0};
 *     if (gp_ceilings_cache_path(&path, "NVIDIA H200")) ...        // .../gpuprof/ceilings/nvidia-h200.json
 */
#ifndef GP_ANALYZE_APP_CEILINGS_CACHE_H
#define GP_ANALYZE_APP_CEILINGS_CACHE_H

#include <stdbool.h>
#include "formats/base/declare.h"

/* Append the path for a device called NAME. False, and nothing, if there is no home or no name. */
bool gp_ceilings_cache_path(struct gp_buf *path, const char *name);

#endif
