/* What is left of an answer about traces whose GPU was measured kernel by kernel: kernels, copies, who
 * launched them and how often. Launches waited for each other and were repeated, so the moments at which
 * anything began say nothing. */
#include <string.h>
#include "analyze/hta/hta.h"
#include "analyze/hta/hta_priv.h"
#include "analyze/hta/kernel_stats.h"
#include "analyze/hta/launches.h"

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

static void forget_launches(struct gp_hta_launches *l)
{
    forget_dist(&l->delay);
    forget_dist(&l->api_dur);
    forget_dist(&l->queue_len);
    *l = (struct gp_hta_launches){.gpu_events = l->gpu_events,
                                  .linked = l->linked,
                                  .calls = l->calls,
                                  .graph_calls = l->graph_calls,
                                  .graph_events = l->graph_events};
}

void gp_hta_forget_times(struct gp_hta *h)
{
    for (size_t i = 0; i < h->devices.n; i++) forget_device(&h->devices.at[i]);
    forget_launches(&h->launches);
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
