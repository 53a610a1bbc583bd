#include "collect/launcher/host.h"

#include <stdlib.h>
#include "formats/base/mem.h"

struct gp_host {
    struct gp_sampler *sampler;
    struct gp_sample_writer *writer;
    int64_t flush_ns, due_ns;
};

struct gp_host *gp_host_new(const struct gp_sample_writer_opts *opts, int64_t flush_ns)
{
    struct gp_host *h = gp_zalloc(sizeof *h);
    h->sampler = gp_sampler_new(opts->period_ns);
    h->writer = gp_sample_writer_new(opts);
    h->flush_ns = flush_ns;
    h->due_ns = 1;
    return h;
}

int gp_host_start(struct gp_host *h, pid_t pid, struct gp_err *err)
{
    return gp_sampler_start(h->sampler, pid, err);
}

int64_t gp_host_due(const struct gp_host *h) { return h ? h->due_ns : 0; }

void gp_host_turn(struct gp_host *h, int64_t now_ns)
{
    if (!h || now_ns < h->due_ns) return;
    h->due_ns = now_ns + h->flush_ns;
    gp_sampler_take(h->sampler, gp_sample_writer_put, h->writer);
    gp_sample_writer_flush(h->writer);
}

void gp_host_end(struct gp_host *h)
{
    if (!h) return;
    gp_sampler_stop(h->sampler);
    gp_sampler_take(h->sampler, gp_sample_writer_put, h->writer);
    gp_sample_writer_end(h->writer);
}

struct gp_sampler_counts gp_host_counts(struct gp_host *h) { return gp_sampler_counts(h->sampler); }

void gp_host_free(struct gp_host *h)
{
    if (!h) return;
    gp_sampler_free(h->sampler);
    gp_sample_writer_free(h->writer);
    free(h);
}
