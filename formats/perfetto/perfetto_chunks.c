/* Pieces of packets, each compressed by itself. */
#include <pthread.h>
#include <stdlib.h>
#include <zlib.h>
#include "formats/perfetto/perfetto_priv.h"
#ifdef GP_HAVE_ISAL
#include <isa-l/igzip_lib.h>
#endif

enum { CHUNK = 1 << 20, MOST_THREADS = 16 };

void gp_pf_chunks_init(struct gp_pf_chunks *c, int threads, gp_perfetto_sink *sink, void *ctx)
{
    c->threads = threads < 1 ? 1 : threads > MOST_THREADS ? MOST_THREADS : threads;
    c->sink = sink;
    c->ctx = ctx;
    for (int i = 0; i < c->threads; i++) GP_VEC_PUSH(&c->at, ((struct gp_pf_chunk){{0}, {0}}));
}

struct gp_buf *gp_pf_raw(struct gp_pf_chunks *c)
{
    return &c->at.at[c->used].raw;
}

bool gp_pf_is_full(const struct gp_pf_chunks *c)
{
    return c->at.at[c->used].raw.n >= CHUNK;
}

/* zlib's format, by the fastest means at hand. False: it failed. */
static bool deflate_chunk(const struct gp_buf *raw, struct gp_buf *packed)
{
#ifdef GP_HAVE_ISAL
    struct isal_zstream z;
    uint8_t *level = gp_alloc(ISAL_DEF_LVL1_DEFAULT);
    size_t most = raw->n + raw->n / 8 + 1024;
    isal_deflate_stateless_init(&z);
    z.level = 1;
    z.level_buf = level;
    z.level_buf_size = ISAL_DEF_LVL1_DEFAULT;
    z.gzip_flag = IGZIP_ZLIB;
    z.end_of_stream = 1;
    z.flush = NO_FLUSH;
    z.next_in = (uint8_t *)raw->data;
    z.avail_in = (uint32_t)raw->n;
    z.next_out = (uint8_t *)gp_buf_reserve(packed, most);
    z.avail_out = (uint32_t)most;
    bool done = isal_deflate_stateless(&z) == COMP_OK;
    free(level);
    if (done) {
        packed->n = z.total_out;
        return true;
    }
#endif
    uLongf n = compressBound((uLong)raw->n);
    char *to = gp_buf_reserve(packed, n);
    if (compress2((Bytef *)to, &n, (const Bytef *)raw->data, (uLong)raw->n, Z_BEST_SPEED) != Z_OK)
        return false;
    packed->n = n;
    return true;
}

/* Where compression fails the packets are written as they are, which means the same. */
static void *pack(void *arg)
{
    struct gp_pf_chunk *c = arg;
    struct gp_buf z = {0};
    c->packed.n = 0;
    if (deflate_chunk(&c->raw, &z)) {
        struct gp_buf packet = {0};
        gp_put_bytes(&packet, GP_PF_COMPRESSED, z.data, z.n);
        gp_put_bytes(&c->packed, GP_PF_PACKET, packet.data, packet.n);
        gp_buf_release(&packet);
    } else {
        gp_buf_put(&c->packed, c->raw.data, c->raw.n);
    }
    gp_buf_release(&z);
    c->raw.n = 0;
    return NULL;
}

void gp_pf_flush(struct gp_pf_chunks *c)
{
    pthread_t ids[MOST_THREADS];
    bool started[MOST_THREADS] = {false};
    if (c->used < c->at.n && c->at.at[c->used].raw.n) c->used++;
    for (size_t i = 1; i < c->used; i++) started[i] = !pthread_create(&ids[i], NULL, pack, &c->at.at[i]);
    for (size_t i = 0; i < c->used; i++)
        if (!started[i]) pack(&c->at.at[i]);
    for (size_t i = 0; i < c->used; i++) {
        if (started[i]) pthread_join(ids[i], NULL);
        if (!c->stopped && c->sink(c->ctx, c->at.at[i].packed.data, c->at.at[i].packed.n)) c->stopped = true;
    }
    c->used = 0;
}

void gp_pf_next_chunk(struct gp_pf_chunks *c)
{
    if (++c->used == c->at.n) gp_pf_flush(c);
}

void gp_pf_chunks_release(struct gp_pf_chunks *c)
{
    for (size_t i = 0; i < c->at.n; i++) {
        gp_buf_release(&c->at.at[i].raw);
        gp_buf_release(&c->at.at[i].packed);
    }
    GP_VEC_FREE(&c->at);
}
