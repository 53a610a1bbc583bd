#include "collect/recorder.h"

#include <stdlib.h>
#include <string.h>
#include "collect/kept.h"
#include "formats/base/vec.h"
#include "formats/gpt/gpt.h"
#include "formats/gpt/gpt_columns.h"

struct producer {
    uint32_t id, seq; /* the next number to pass on */
    bool ended;
};

struct gp_recorder {
    int64_t last_ns, gpu_ns;
    size_t max_bytes;
    uint64_t crowded_out;
    struct gp_kept_list kept;
    gp_session_block *out;
    void *ctx;
    GP_VEC(struct producer) producers;
};

struct gp_recorder *gp_recorder_new(int64_t last_ns, size_t max_bytes, gp_session_block *out, void *ctx)
{
    struct gp_recorder *r = gp_zalloc(sizeof *r);
    r->last_ns = last_ns;
    r->max_bytes = max_bytes;
    r->out = out;
    r->ctx = ctx;
    return r;
}

static struct producer *find_producer(struct gp_recorder *r, uint32_t id)
{
    for (size_t i = 0; i < r->producers.n; i++)
        if (r->producers.at[i].id == id) return &r->producers.at[i];
    GP_VEC_PUSH(&r->producers, (struct producer){.id = id});
    return &r->producers.at[r->producers.n - 1];
}

/* Blocks are renumbered, so that discarded ones do not look lost. */
static void send_on(struct gp_recorder *r, uint8_t *block, size_t n)
{
    struct gp_gpt_block_header h;
    if (!gp_gpt_get_header(block, &h)) return;
    gp_gpt_patch(block, h.producer, find_producer(r, h.producer)->seq++);
    r->out(r->ctx, block, n);
}

static void keep(struct gp_recorder *r, const void *block, size_t n, int64_t now_ns)
{
    gp_kept_add(&r->kept, block, n, now_ns);
    while (r->kept.head) {
        bool old = now_ns - r->kept.head->at_ns > r->last_ns;
        if (!old && r->kept.bytes <= r->max_bytes) return;
        r->crowded_out += !old;
        free(gp_kept_take(&r->kept));
    }
}

void gp_recorder_put(struct gp_recorder *r, const void *block, size_t n, int64_t now_ns)
{
    struct gp_gpt_block_header h;
    if (n < GP_GPT_BLOCK_HEADER_SIZE || !gp_gpt_get_header(block, &h)) return;
    if (h.kind == GP_GPT_LAUNCH || h.kind == GP_GPT_EVENTS + GP_GPU) r->gpu_ns = now_ns;
    if (h.kind == GP_GPT_END) {
        find_producer(r, h.producer)->ended = true; /* its totals would include everything */
    } else if (GP_GPT_HAS_EVENTS(h.kind)) {
        keep(r, block, n, now_ns);
    } else {
        uint8_t *copy = gp_alloc(n);
        memcpy(copy, block, n);
        send_on(r, copy, n);
        free(copy);
    }
}

void gp_recorder_dump(struct gp_recorder *r)
{
    while (r->kept.head) {
        struct gp_kept *k = gp_kept_take(&r->kept);
        send_on(r, k->data, k->n);
        free(k);
    }
}

void gp_recorder_end(struct gp_recorder *r)
{
    gp_recorder_dump(r);
    for (size_t i = 0; i < r->producers.n; i++) {
        uint8_t block[GP_GPT_BLOCK_HEADER_SIZE];
        struct gp_gpt_block_header h = {.kind = GP_GPT_END, .producer = r->producers.at[i].id};
        if (!r->producers.at[i].ended) continue;
        gp_gpt_put_header(block, &h);
        send_on(r, block, sizeof block);
    }
}

int64_t gp_recorder_gpu_ns(const struct gp_recorder *r) { return r->gpu_ns; }

uint64_t gp_recorder_crowded_out(const struct gp_recorder *r) { return r->crowded_out; }

void gp_recorder_free(struct gp_recorder *r)
{
    if (!r) return;
    while (r->kept.head) free(gp_kept_take(&r->kept));
    GP_VEC_FREE(&r->producers);
    free(r);
}
