/* hta_rows.h -- the rows of all sections of an answer, for who prints or compares most of them.
 *
 *     for (size_t i = 0; i < h->kernels.n; i++) sum_ns += h->kernels.at[i].total_ns;
 */
#ifndef GP_ANALYZE_HTA_ROWS_H
#define GP_ANALYZE_HTA_ROWS_H

#include "analyze/hta/breakdown.h"
#include "analyze/hta/collectives.h"
#include "analyze/hta/copies.h"
#include "analyze/hta/critical_path.h"
#include "analyze/hta/findings.h"
#include "analyze/hta/graphs.h"
#include "analyze/hta/hta_device.h"
#include "analyze/hta/hta_steps.h"
#include "analyze/hta/kernel_stats.h"
#include "analyze/hta/op_shapes.h"
#include "analyze/hta/range_memory.h"
#include "analyze/hta/sampled.h"

#endif
