/* Pieces of packets, each compressed by itself. */
#include <pthread.h>
#include <zlib.h>
#include "formats/perfetto/perfetto_priv.h"
#ifdef GP_HAVE_ISAL
#include <isa-l/igzip_lib.h>
#endif

enum { MOST_THREADS = 16 };

void gp_pf_chunks_init(struct gp_pf_chunks *c, int threads, gp_perfetto_sink *sink, void *ctx)
{
    c->threads = threads < 1 ? 1 : threads > MOST_THREADS ? MOST_THREADS : threads;
    c->sink = sink;
    c->ctx = ctx;
    for (int i = 0; i < c->threads; i++) GP_VEC_PUSH(&c->at, ((struct gp_pf_chunk){.from = 0}));
}

/* zlib's format, by the fastest means at hand, appended to PACKED. False: it failed. */
static bool deflate_chunk(struct gp_pf_chunk *c)
{
    struct gp_buf *packed = &c->packed;
#ifdef GP_HAVE_ISAL
    struct isal_zstream z;
    size_t most = c->raw.n + c->raw.n / 8 + 1024;
    isal_deflate_stateless_init(&z);
    z.level = 1;
    z.level_buf = (uint8_t *)(c->work.cap ? c->work.data : gp_buf_reserve(&c->work, ISAL_DEF_LVL1_DEFAULT));
    z.level_buf_size = ISAL_DEF_LVL1_DEFAULT;
    z.gzip_flag = IGZIP_ZLIB;
    z.end_of_stream = 1;
    z.flush = NO_FLUSH;
    z.next_in = (uint8_t *)c->raw.data;
    z.avail_in = (uint32_t)c->raw.n;
    z.next_out = (uint8_t *)gp_buf_reserve(packed, most);
    z.avail_out = (uint32_t)most;
    if (isal_deflate_stateless(&z) == COMP_OK) {
        packed->n += z.total_out;
        return true;
    }
#endif
    uLongf n = compressBound((uLong)c->raw.n);
    char *to = gp_buf_reserve(packed, n);
    if (compress2((Bytef *)to, &n, (const Bytef *)c->raw.data, (uLong)c->raw.n, Z_BEST_SPEED) != Z_OK)
        return false;
    packed->n += n;
    return true;
}

/* Where compression fails the packets are written as they are, which means the same. */
static void *pack(void *arg)
{
    enum { HEAD = 2 * GP_FIELD_MOST };
    struct gp_pf_chunk *c = arg;
    gp_buf_reserve(&c->packed, HEAD);
    c->packed.n = c->from = HEAD;
    if (deflate_chunk(c)) {
        /* its head ends where the compressed bytes begin */
        size_t n = c->packed.n - HEAD;
        char head[HEAD], inner[GP_FIELD_MOST], *p = gp_put_field(inner, GP_PF_COMPRESSED, n);
        size_t inner_n = (size_t)(p - inner);
        p = gp_put_field(head, GP_PF_PACKET, inner_n + n);
        memcpy(p, inner, inner_n);
        c->from = HEAD - (size_t)(p - head) - inner_n;
        memcpy(c->packed.data + c->from, head, HEAD - c->from);
    } else {
        gp_buf_put(&c->packed, c->raw.data, c->raw.n);
    }
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
        const struct gp_pf_chunk *done = &c->at.at[i];
        if (!c->stopped && c->sink(c->ctx, done->packed.data + done->from, done->packed.n - done->from))
            c->stopped = true;
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
        GP_RELEASE(gp_buf_release, &c->at.at[i].raw, &c->at.at[i].packed, &c->at.at[i].work);
    }
    GP_VEC_FREE(&c->at);
}
