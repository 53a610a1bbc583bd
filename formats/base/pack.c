#include "formats/base/pack.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <zlib.h>
#include <zstd.h>
#include "formats/base/mem.h"

/* Traces repeat themselves: higher levels cost several times the time and save a few percent. */
enum { GZIP_LEVEL = 4, ZSTD_LEVEL = 3, PIECE = 64 << 10 };

struct gp_pack {
    enum gp_packing packing;
    gp_pack_sink *sink;
    void *ctx;
    bool stopped;
    z_stream gzip;
    ZSTD_CCtx *zstd;
    unsigned char out[PIECE];
};

struct gp_pack *gp_pack_new(enum gp_packing packing, gp_pack_sink *sink, void *ctx)
{
    struct gp_pack *p = gp_zalloc(sizeof *p);
    p->packing = packing;
    p->sink = sink;
    p->ctx = ctx;
    /* window bits 15, and 16 for a gzip header, which zlib leaves without name and time */
    if (packing == GP_PACK_GZIP &&
        deflateInit2(&p->gzip, GZIP_LEVEL, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY) != Z_OK)
        gp_out_of_memory(0);
    if (packing == GP_PACK_ZSTD) {
        p->zstd = ZSTD_createCCtx();
        if (!p->zstd) gp_out_of_memory(0);
        ZSTD_CCtx_setParameter(p->zstd, ZSTD_c_compressionLevel, ZSTD_LEVEL);
        ZSTD_CCtx_setParameter(p->zstd, ZSTD_c_checksumFlag, 1);
    }
    return p;
}

static void pass_on(struct gp_pack *p, const void *data, size_t n)
{
    if (!p->stopped && n && p->sink(p->ctx, data, n)) p->stopped = true;
}

static void deflate_all(struct gp_pack *p, int mode)
{
    int rc;
    do {
        p->gzip.next_out = p->out;
        p->gzip.avail_out = PIECE;
        rc = deflate(&p->gzip, mode);
        pass_on(p, p->out, PIECE - p->gzip.avail_out);
    } while (!p->stopped && (mode == Z_FINISH ? rc == Z_OK || rc == Z_BUF_ERROR : !p->gzip.avail_out));
}

static void gzip_some(struct gp_pack *p, const void *data, size_t n)
{
    const unsigned char *from = data;
    while (n && !p->stopped) {
        size_t part = n < (1u << 30) ? n : 1u << 30; /* zlib counts in 32 bits */
        p->gzip.next_in =
            (unsigned char *)(uintptr_t)from; /* zlib does not write there, but its type lacks const */
        p->gzip.avail_in = (unsigned)part;
        deflate_all(p, Z_NO_FLUSH);
        from += part;
        n -= part;
    }
}

static void zstd_some(struct gp_pack *p, const void *data, size_t n, ZSTD_EndDirective mode)
{
    ZSTD_inBuffer in = {data, n, 0};
    size_t left;
    do {
        ZSTD_outBuffer out = {p->out, PIECE, 0};
        left = ZSTD_compressStream2(p->zstd, &out, &in, mode);
        if (ZSTD_isError(left)) gp_out_of_memory(0); /* no other error is possible here */
        pass_on(p, p->out, out.pos);
    } while (!p->stopped && (mode == ZSTD_e_end ? left > 0 : in.pos < in.size));
}

int gp_pack_write(void *pack, const void *data, size_t n)
{
    struct gp_pack *p = pack;
    switch (p->packing) {
    case GP_PACK_NONE:
        pass_on(p, data, n);
        break;
    case GP_PACK_GZIP:
        gzip_some(p, data, n);
        break;
    case GP_PACK_ZSTD:
        zstd_some(p, data, n, ZSTD_e_continue);
        break;
    }
    return p->stopped ? -1 : 0;
}

int gp_pack_end(struct gp_pack *p)
{
    if (p->packing == GP_PACK_GZIP) deflate_all(p, Z_FINISH);
    if (p->packing == GP_PACK_ZSTD) zstd_some(p, NULL, 0, ZSTD_e_end);
    return p->stopped ? -1 : 0;
}

void gp_pack_free(struct gp_pack *p)
{
    if (!p) return;
    if (p->packing == GP_PACK_GZIP) deflateEnd(&p->gzip);
    ZSTD_freeCCtx(p->zstd);
    free(p);
}
