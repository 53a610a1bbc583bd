#include "render/schema/records.h"

#include <string.h>
#include "analyze/calibrate/calibration.h"
#include "analyze/compile/compile.h"
#include "analyze/diff/diff.h"
#include "analyze/hta/hta.h"
#include "analyze/hta/hta_rows.h"
#include "analyze/hta/hta_spread.h"
#include "analyze/memory/records.h"
#include "analyze/live/watch.h"
#include "analyze/metrics/metrics.h"
#include "analyze/suggest/suggest.h"
#include "render/hta/hta_fleet.h"
#include "render/hta/hta_json.h"
#include "render/hta/hta_paths.h"

static const struct {
    const char *tool;
    const struct gp_record *record;
} records[] = {
    {"trace-hta", &gp_hta_kernels},
    {"trace-hta", &gp_hta_launch_sums},
    {"trace-hta", &gp_hta_devices},
    {"trace-hta", &gp_hta_parts},
    {"trace-hta", &gp_hta_spread_rows},
    {"trace-hta", &gp_hta_path_rows},
    {"trace-hta", &gp_hta_ranks},
    {"trace-hta", &gp_hta_matching},
    {"trace-hta", &gp_hta_findings},
    {"trace-hta", &gp_hta_fleet_row},
    {"trace-hta", &gp_hta_collectives},
    {"trace-hta", &gp_hta_stragglers},
    {"trace-hta", &gp_hta_owners[GP_OWNER_OP]},
    {"trace-hta", &gp_hta_op_shapes},
    {"trace-hta", &gp_hta_owners[GP_OWNER_RANGE]},
    {"trace-hta", &gp_hta_owners[GP_OWNER_MODULE]},
    {"trace-hta", &gp_hta_api},
    {"trace-hta", &gp_hta_graphs},
    {"trace-hta", &gp_hta_offsets},
    {"trace-hta", &gp_hta_copies},
    {"trace-hta", &gp_hta_memory},
    {"trace-hta", &gp_hta_range_memory},
    {"trace-hta", &gp_hta_sampled},
    {"trace-diff", &gp_diff_reason_rows},
    {"trace-diff", &gp_diff_note_rows},
    {"trace-diff", &gp_diff_step_rows},
    {"trace-diff", &gp_diff_side_row},
    {"trace-diff", &gp_diff_total_row},
    {"trace-diff", &gp_diff_summary_row},
    {"trace-diff", &gp_diff_gate_rows},
    {"trace-diff", &gp_diff_expect_rows},
    {"trace-diff", &gp_diff_setting_row},
    {"trace-diff", &gp_diff_metric_rows},
    {"trace-diff", &gp_diff_op_rows},
    {"trace-diff", &gp_diff_cause_rows},
    {"trace-diff", &gp_diff_block_rows},
    {"trace-compile", &gp_compile_environment},
    {"trace-compile", &gp_compile_times},
    {"trace-compile", &gp_compile_frames},
    {"trace-compile", &gp_compile_breaks[1]},
    {"trace-compile", &gp_compile_recompiles},
    {"trace-compile", &gp_compile_cache_counts},
    {"trace-compile", &gp_compile_graphs[1]},
    {"trace-compile", &gp_compile_fused},
    {"trace-compile", &gp_compile_cuda_graphs},
    {"trace-compile", &gp_compile_modes},
    {"trace-compile", &gp_compile_suggestions},
    {"trace-suggest", &gp_suggest_suggestions},
    {"trace-suggest", &gp_suggest_together},
    {"trace-suggest", &gp_suggest_seen},
    {"trace-suggest", &gp_suggest_steps},
    {"trace-suggest", &gp_suggest_regime},
    {"trace-suggest", &gp_suggest_kernels},
    {"trace-suggest", &gp_suggest_operators},
    {"trace-fleet", &gp_watch_events},
    {"trace-memory", &gp_memory_device_rows},
    {"trace-memory", &gp_memory_holder_rows},
    {"trace-memory", &gp_memory_changes},
    {"trace-memory", &gp_memory_growths},
    {"trace-memory", &gp_memory_fragments},
    {"trace-memory", &gp_memory_pools},
    {"trace-memory", &gp_memory_ooms},
    {"trace-memory", &gp_memory_ranges},
    {"trace-memory", &gp_memory_operators},
    {"trace-memory", &gp_memory_churns},
    {"trace-memory", &gp_memory_lifetimes},
    {"trace-memory", &gp_memory_outsiders},
    {"trace-memory", &gp_memory_series},
    {"trace-metrics", &gp_metrics_columns},
    {"trace-metrics", &gp_metrics_groups},
    {"trace-metrics", &gp_metrics_rests},
    {"trace-metrics", &gp_metrics_losses},
    {"ceilings", &gp_missing_rows},
    {"ceilings", &gp_calibrated_devices},
    {"sweep", &gp_figure_members},
    {"sweep", &gp_figure_conditions},
    {"sweep", &gp_sweep_ops},
    {"sweep", &gp_missing_rows},
};

const struct gp_record *gp_schema_record(const char *tool, const char *id, size_t n)
{
    for (size_t i = 0; i < GP_COUNT(records); i++) {
        const char *known = records[i].record->id;
        if (!strcmp(records[i].tool, tool) && strlen(known) == n && !memcmp(known, id, n))
            return records[i].record;
    }
    return NULL;
}
