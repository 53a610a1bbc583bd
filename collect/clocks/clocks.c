#include "collect/clocks/clocks.h"

#include <stdlib.h>
#include <string.h>
#include "collect/clocks/clock_writer.h"
#include "collect/clocks/nvml.h"
#include "formats/base/hash.h"
#include "formats/base/mem.h"
#include "formats/base/vec.h"

enum { KEPT = 1 << 16 /* samples: of one GPU, those of 54 minutes */ };
static const int64_t TURN_NS = 500000000;

struct gp_clocks {
    struct gp_clocks_opts opts;
    struct gp_clock_sampler *sampler; /* NULL: no process has come yet */
    GP_VEC(uint32_t) gpus;            /* that are in the trace */
    struct gp_clock_writer *writers[GP_NVML_DEVICES];
    GP_VEC(struct gp_clock_sample) kept; /* of the GPUs without a writer, and for sessions */
    int64_t due_ns;
};

struct gp_clocks *gp_clocks_new(const struct gp_clocks_opts *opts)
{
    struct gp_clocks *c = gp_zalloc(sizeof *c);
    c->opts = *opts;
    return c;
}

void gp_clocks_joined(struct gp_clocks *c, int32_t pid)
{
    if (!c) return;
    if (!c->sampler) c->sampler = gp_clock_sampler_start(c->opts.library);
    if (!c->sampler) return;
    gp_clock_sampler_own(c->sampler, pid);
    if (!c->due_ns) c->due_ns = 1;
}

/* ---- which GPUs ---- */

static bool has_gpu(const struct gp_clocks *c, uint32_t gpu)
{
    for (size_t i = 0; i < c->gpus.n; i++)
        if (c->gpus.at[i] == gpu) return true;
    return false;
}

/* Did the process do anything there? CUPTI also reports devices that CUDA does not show. */
static bool has_work(const struct gp_trace *t, const struct gp_device *d)
{
    for (size_t i = 0; i < t->tracks.n; i++)
        if (t->tracks.at[i].kind == GP_TRACK_STREAM && t->tracks.at[i].device == d->id) return true;
    return false;
}

void gp_clocks_saw(struct gp_clocks *c, const struct gp_trace *t)
{
    for (size_t i = 0; c && i < t->devices.n; i++) {
        uint32_t gpu = gp_gauge_number(gp_trace_str(t, t->devices.at[i].extra));
        if (!has_gpu(c, gpu) && has_work(t, &t->devices.at[i])) GP_VEC_PUSH(&c->gpus, gpu);
    }
}

/* Is GPU that of T? The only one of the machine is; another view of it may have another name (MIG). */
static bool is_in(const struct gp_clock_device *d, size_t n, size_t gpu, const struct gp_trace *t)
{
    if (n == 1) return t->devices.n != 0;
    for (size_t i = 0; i < t->devices.n; i++)
        if (gp_gauge_number(gp_trace_str(t, t->devices.at[i].extra)) ==
                gp_gauge_gpu(d[gpu].uuid, gp_hash_seed()) &&
            has_work(t, &t->devices.at[i]))
            return true;
    return false;
}

/* ---- writing ---- */

static int send_block(void *ctx, const void *block, size_t n)
{
    struct gp_clocks *c = ctx;
    c->opts.on_block(c->opts.ctx, block, n);
    return 0;
}

static void keep(struct gp_clocks *c, const struct gp_clock_sample *s)
{
    if (c->kept.n == KEPT) {
        c->kept.n -= KEPT / 8;
        memmove(c->kept.at, c->kept.at + KEPT / 8, c->kept.n * sizeof *c->kept.at);
    }
    GP_VEC_PUSH(&c->kept, *s);
}

static void take(void *ctx, const struct gp_clock_sample *s)
{
    struct gp_clocks *c = ctx;
    keep(c, s);
    if (c->writers[s->device]) gp_clock_writer_put(c->writers[s->device], s);
}

/* A GPU that has come into the trace gets its samples from the beginning on. */
static void begin_writers(struct gp_clocks *c)
{
    size_t n;
    const struct gp_clock_device *d = gp_clock_sampler_devices(c->sampler, &n);
    for (uint32_t i = 0; i < n && !c->opts.apart; i++) {
        bool seen = n == 1 ? c->gpus.n != 0 : has_gpu(c, gp_gauge_gpu(d[i].uuid, gp_hash_seed()));
        if (seen) gp_clock_sampler_want(c->sampler, i);
        if (!seen || c->writers[i] || !gp_clock_sampler_known(c->sampler, i)) continue;
        struct gp_clock_writer_opts o = {.producer = c->opts.producer(c->opts.ctx),
                                         .redact = c->opts.redact,
                                         .write = send_block,
                                         .ctx = c};
        c->writers[i] = gp_clock_writer_new(&o, i, &d[i]);
        for (size_t k = 0; k < c->kept.n; k++)
            if (c->kept.at[k].device == i) gp_clock_writer_put(c->writers[i], &c->kept.at[k]);
    }
}

int64_t gp_clocks_due(const struct gp_clocks *c)
{
    return c ? c->due_ns : 0;
}

void gp_clocks_turn(struct gp_clocks *c, int64_t now_ns)
{
    if (!c || !c->due_ns || now_ns < c->due_ns) return;
    c->due_ns = now_ns + TURN_NS;
    begin_writers(c);
    gp_clock_sampler_take(c->sampler, take, c);
    for (size_t i = 0; i < GP_NVML_DEVICES; i++)
        if (c->writers[i]) gp_clock_writer_flush(c->writers[i]);
}

void gp_clocks_beside(struct gp_clocks *c, const struct gp_trace *t, int64_t from_ns, int64_t to_ns,
                      int (*write)(void *ctx, const void *block, size_t n), void *ctx)
{
    size_t n;
    if (!c || !c->sampler) return;
    gp_clock_sampler_take(c->sampler, take, c);
    const struct gp_clock_device *d = gp_clock_sampler_devices(c->sampler, &n);
    for (uint32_t i = 0; i < n; i++) {
        if (!is_in(d, n, i, t)) continue;
        struct gp_clock_writer_opts o = {
            .producer = c->opts.producer(c->opts.ctx), .redact = c->opts.redact, .write = write, .ctx = ctx};
        struct gp_clock_writer *w = gp_clock_writer_new(&o, i, &d[i]);
        for (size_t k = 0; k < c->kept.n; k++) {
            const struct gp_clock_sample *s = &c->kept.at[k];
            if (s->device == i && s->at_ns >= from_ns && s->at_ns < to_ns) gp_clock_writer_put(w, s);
        }
        gp_clock_writer_end(w);
    }
}

void gp_clocks_end(struct gp_clocks *c)
{
    if (!c || !c->sampler) return;
    gp_clock_sampler_stop(c->sampler);
    begin_writers(c);
    gp_clock_sampler_take(c->sampler, take, c);
    for (size_t i = 0; i < GP_NVML_DEVICES; i++) {
        gp_clock_writer_end(c->writers[i]);
        c->writers[i] = NULL;
    }
    c->due_ns = 0;
}

const char *gp_clocks_why(struct gp_clocks *c)
{
    return c && c->sampler && c->gpus.n ? gp_clock_sampler_why(c->sampler) : "";
}

void gp_clocks_free(struct gp_clocks *c)
{
    if (!c) return;
    gp_clock_sampler_free(c->sampler);
    GP_VEC_FREE(&c->gpus);
    GP_VEC_FREE(&c->kept);
    free(c);
}
