/* The table of sections, and the one that has what is of all of them. */
#include "analyze/hta/hta.h"
#include "analyze/hta/hta_priv.h"
#include "analyze/hta/hta_rows.h"

#define AT(member) offsetof(struct gp_hta_bound, member)
#define COUNT      .keep = GP_KEEP_U64, .merge = GP_MERGE_SUM
#define SUM        .keep = GP_KEEP_I64, .merge = GP_MERGE_SUM
#define LIMIT      .keep = GP_KEEP_U64, .merge = GP_MERGE_MIN_SET
static const struct gp_field fields[] = {
    {.at = AT(bounded), .keep = GP_KEEP_BOOL, .merge = GP_MERGE_OR},
    {.at = AT(devices), COUNT},
    GP_BREAKDOWN(gp_hta_bound, b),
    GP_WINDOW(gp_hta_bound, b),
    {.at = AT(idle_cause_ns), .keep = GP_KEEP_ROW, .rows = &gp_idle_causes},
    {.at = AT(gaps), .keep = GP_KEEP_DIST},
    {.at = AT(kernel_ns), SUM},
    {.at = AT(gemm_ns), SUM},
    {.at = AT(tensor_core_ns), SUM},
    {.at = AT(sm_ns), SUM},
    {.at = AT(sm_span_ns), SUM},
    {.at = AT(paths), COUNT},
    {.at = AT(path_bound_ns), .keep = GP_KEEP_ROW, .rows = &gp_hta_path_times},
    {.at = AT(pieces), COUNT},
    {.at = AT(steps), COUNT},
    {.at = AT(collectives), COUNT},
    {.at = AT(graphs), COUNT},
    {.at = AT(memory), COUNT},
    {.at = AT(inputs), COUNT},
    {.at = AT(of_inputs), .keep = GP_KEEP_ROW, .rows = &gp_inputs},
    {.at = AT(kernel_limit), LIMIT},
    {.at = AT(owner_limit), LIMIT},
    {.at = AT(shape_limit), LIMIT},
    {.at = AT(range_limit), LIMIT},
};
#undef LIMIT
#undef SUM
#undef COUNT
#undef AT

static const struct gp_record sums = {"bound", NULL, GP_FIELDS(fields), sizeof(struct gp_hta_bound),
                                      .note = "over what has no row"};

static const struct gp_hta_list lists[] = {
    {.rows = &gp_inputs, .at = offsetof(struct gp_hta, inputs)},
    {&sums, offsetof(struct gp_hta, bound), .one = true},
    {&gp_hta_findings, offsetof(struct gp_hta, findings), .made = true},
};
/* What is of all sections. Devices refer to their inputs, which are therefore sorted first of all. */
const struct gp_hta_section gp_hta_inputs_section = {lists, GP_COUNT(lists), .inside = true};

const struct gp_hta_section *const gp_hta_sections[] = {
#define X(name) &gp_hta_##name##_section,
    GP_HTA_SECTIONS(X)
#undef X
        NULL};
