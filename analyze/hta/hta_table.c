/* The table of sections, and the section of what all share. */
#include <string.h>
#include "analyze/hta/hta.h"
#include "analyze/hta/hta_priv.h"
#include "analyze/hta/launches.h"

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

/* ---- without times ---- */

/* What is left of an answer about traces whose GPU was measured kernel by kernel: kernels, copies, who
 * launched them and how often. Launches waited for each other and were repeated, so the moments at which
 * anything began say nothing. */

static void forget_dist(struct gp_histogram *d)
{
    gp_histogram_release(d);
    *d = (struct gp_histogram){0};
}

static void keep_counts(struct gp_breakdown *b)
{
    *b = (struct gp_breakdown){.gpu_events = b->gpu_events, .gpu_ns = b->gpu_ns};
}

static void forget_device(struct gp_hta_device *d)
{
    keep_counts(&d->b);
    d->streams.n = d->culprits.n = 0;
    memset(d->idle_cause_ns, 0, sizeof d->idle_cause_ns);
    memset(d->culprit_rest_ns, 0, sizeof d->culprit_rest_ns);
    forget_dist(&d->gaps);
    d->sm_known_ns = 0; /* of the span */
}

void gp_hta_forget_times(struct gp_hta *h)
{
    for (size_t i = 0; i < h->devices.n; i++) forget_device(&h->devices.at[i]);
    forget_dist(&h->launches.delay);
    forget_dist(&h->launches.api_dur);
    forget_dist(&h->launches.queue_len);
    h->launches = (struct gp_hta_launches){.gpu_events = h->launches.gpu_events,
                                           .linked = h->launches.linked,
                                           .calls = h->launches.calls,
                                           .graph_calls = h->launches.graph_calls,
                                           .graph_events = h->launches.graph_events};
    for (size_t i = 0; i < h->owners.n; i++) {
        h->owners.at[i].host_ns = 0;
        forget_dist(&h->owners.at[i].delay);
    }
    for (size_t i = 0; i < h->api.n; i++) gp_histogram_release(&h->api.at[i].dur);
    h->api.n = 0;
    for (size_t i = 0; gp_hta_sections[i]; i++)
        if (gp_hta_sections[i]->timed) gp_hta_section_release(gp_hta_sections[i], h);
    keep_counts(&h->bound.b);
    memset(h->bound.idle_cause_ns, 0, sizeof h->bound.idle_cause_ns);
    memset(h->bound.path_bound_ns, 0, sizeof h->bound.path_bound_ns);
    h->bound.paths = h->bound.pieces = 0;
}
