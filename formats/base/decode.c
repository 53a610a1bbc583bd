#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>
#include "formats/base/err.h"
#include "formats/base/input_priv.h"
#ifdef GP_HAVE_ISAL
#include <isa-l/igzip_lib.h>
#else
#include <zlib.h>
#endif
#include "formats/base/count.h"
#include "formats/base/mem.h"

enum { MOST_AT_ONCE = 1 << 30 /* the libraries count in 32 bits */ };

static int cut(struct gp_err *err, const struct gp_raw *raw, const char *what)
{
    if (raw->error) return -1; /* a system error, which input.c reports */
    return gp_fail(err, GP_E_SYNTAX, (int64_t)raw->offset, "the %s data is cut short at byte %llu", what,
                   (unsigned long long)raw->offset);
}

static int damaged(struct gp_err *err, const struct gp_raw *raw, const char *what, const char *how)
{
    return gp_fail(err, GP_E_SYNTAX, (int64_t)raw->offset, "the %s data is damaged near byte %llu: %s", what,
                   (unsigned long long)raw->offset, how);
}

/* What follows a finished gzip member or zstd frame? Zero bytes are padding (of tapes and of block devices)
 * and are skipped. True if another member begins; anything else ends the data, with the reason in ERR. */
static bool another_follows(struct gp_raw *raw, bool (*matches)(const uint8_t *, size_t), const char *what,
                            struct gp_err *err)
{
    while (gp_raw_need(raw, 8) > 0) {
        size_t zeros = 0;
        while (zeros < raw->n && raw->at[zeros] == 0) zeros++;
        if (zeros == 0) {
            if (matches(raw->at, raw->n)) return true;
            gp_fail(err, GP_E_SYNTAX, (int64_t)raw->offset,
                    "the %s data ends at byte %llu, but other data follows", what,
                    (unsigned long long)raw->offset);
            return false;
        }
        gp_raw_skip(raw, zeros);
    }
    return false;
}

/* ---- gzip ---- */

static bool gzip_matches(const uint8_t *head, size_t n)
{
    return n >= 3 && head[0] == 0x1f && head[1] == 0x8b && head[2] == 8;
}

#ifdef GP_HAVE_ISAL

struct gzip {
    struct inflate_state s;
    bool between; /* between members: nothing of the next one was read yet */
    bool ended;
};

enum { HEADER_BYTES = 10, HEADER_CRC = 2, EXTRA = 4, NAME = 8, COMMENT = 16, RESERVED = 0xe0 /* flags */ };

static void *gzip_open(void)
{
    struct gzip *g = gp_zalloc(sizeof *g); /* a distance can reach before the data */
    isal_inflate_init(&g->s);
    g->between = true;
    return g;
}

static const char *gzip_reason(int r)
{
    switch (r) {
    case ISAL_INVALID_BLOCK: return "invalid block";
    case ISAL_INVALID_SYMBOL: return "invalid symbol";
    case ISAL_INVALID_LOOKBACK: return "invalid distance";
    case ISAL_INVALID_WRAPPER: return "invalid header";
    case ISAL_UNSUPPORTED_METHOD: return "unknown method";
    case ISAL_INCORRECT_CHECKSUM: return "wrong checksum";
    default: return "invalid data";
    }
}

/* One call of the library. False if nothing more comes. */
static bool gzip_step(struct gzip *g, struct gp_raw *raw, struct gp_err *err)
{
    gp_raw_need(raw, 1);
    uint32_t give = raw->n < MOST_AT_ONCE ? (uint32_t)raw->n : MOST_AT_ONCE, room = g->s.avail_out;
    g->s.next_in = (uint8_t *)(uintptr_t)raw->at; /* only read from */
    g->s.avail_in = give;
    int r = isal_inflate(&g->s);
    bool moved = g->s.avail_in != give || g->s.avail_out != room;
    gp_raw_skip(raw, give - g->s.avail_in);
    if (r < 0 || r == ISAL_NEED_DICT) {
        damaged(err, raw, "gzip", gzip_reason(r));
        return false;
    }
    if (g->s.block_state == ISAL_BLOCK_FINISH) {
        g->between = true;
    } else if (!moved) {
        if (raw->n > 0) damaged(err, raw, "gzip", gzip_reason(r));
        else cut(err, raw, "gzip");
        return false;
    }
    return true;
}

static bool header_cut(struct gp_raw *raw, struct gp_err *err)
{
    gp_raw_skip(raw, raw->n);
    cut(err, raw, "gzip");
    return false;
}

static bool skip_text(struct gp_raw *raw)
{
    while (gp_raw_need(raw, 1) > 0) {
        const uint8_t *end = memchr(raw->at, 0, raw->n);
        gp_raw_skip(raw, end ? (size_t)(end - raw->at) + 1 : raw->n);
        if (end) return true;
    }
    return false;
}

static bool skip_bytes(struct gp_raw *raw, size_t n)
{
    while (n > 0 && gp_raw_need(raw, 1) > 0) {
        size_t k = raw->n < n ? raw->n : n;
        gp_raw_skip(raw, k);
        n -= k;
    }
    return n == 0;
}

/* ISA-L reads headers, too, but loses track if one comes in pieces and has a name, extra bytes or a
 * checksum. */
static bool gzip_begin(struct gzip *g, struct gp_raw *raw, struct gp_err *err)
{
    isal_inflate_reset(&g->s);
    g->s.crc_flag = ISAL_GZIP_NO_HDR_VER; /* the trailer's checksum and length are verified */
    if (gp_raw_need(raw, HEADER_BYTES) < HEADER_BYTES) return header_cut(raw, err);
    unsigned flags = raw->at[3];
    if (flags & RESERVED) {
        damaged(err, raw, "gzip", "unknown header flags");
        return false;
    }
    gp_raw_skip(raw, HEADER_BYTES);
    if (flags & EXTRA) {
        if (gp_raw_need(raw, 2) < 2) return header_cut(raw, err);
        size_t n = raw->at[0] | (size_t)raw->at[1] << 8;
        if (!skip_bytes(raw, 2 + n)) return header_cut(raw, err);
    }
    if ((flags & NAME) && !skip_text(raw)) return header_cut(raw, err);
    if ((flags & COMMENT) && !skip_text(raw)) return header_cut(raw, err);
    if ((flags & HEADER_CRC) && !skip_bytes(raw, 2)) return header_cut(raw, err);
    return true;
}

static void gzip_close(void *state) { free(state); }

#else

struct gzip {
    z_stream s;
    bool between, ended;
};

static void *gzip_open(void)
{
    struct gzip *g = gp_zalloc(sizeof *g);
    if (inflateInit2(&g->s, 15 + 16) != Z_OK) gp_out_of_memory(sizeof g->s);
    g->between = true;
    return g;
}

static bool gzip_step(struct gzip *g, struct gp_raw *raw, struct gp_err *err)
{
    gp_raw_need(raw, 1);
    uInt give = raw->n < MOST_AT_ONCE ? (uInt)raw->n : MOST_AT_ONCE, room = g->s.avail_out;
    g->s.next_in = (Bytef *)(uintptr_t)raw->at; /* only read from */
    g->s.avail_in = give;
    int r = inflate(&g->s, Z_NO_FLUSH);
    bool moved = g->s.avail_in != give || g->s.avail_out != room;
    gp_raw_skip(raw, give - g->s.avail_in);
    if (r == Z_STREAM_END) {
        g->between = true;
        return true;
    }
    if (r == Z_MEM_ERROR) gp_out_of_memory(sizeof g->s);
    if (r != Z_OK && r != Z_BUF_ERROR) {
        damaged(err, raw, "gzip", g->s.msg ? g->s.msg : "invalid data");
        return false;
    }
    if (!moved) cut(err, raw, "gzip");
    return moved;
}

static bool gzip_begin(struct gzip *g, GP_UNUSED struct gp_raw *raw, struct gp_err *err)
{
    (void)err; /* zlib reads the header itself */
    return inflateReset(&g->s) == Z_OK;
}

static void gzip_close(void *state)
{
    struct gzip *g = state;
    inflateEnd(&g->s);
    free(g);
}

#endif

/* Both libraries call the members next_out and avail_out. */
static size_t gzip_run(void *state, struct gp_raw *raw, uint8_t *to, size_t n, struct gp_err *err)
{
    struct gzip *g = state;
    if (n > MOST_AT_ONCE) n = MOST_AT_ONCE;
    g->s.next_out = to;
    g->s.avail_out = (uint32_t)n;
    while (!g->ended && g->s.avail_out > 0) {
        if (g->between)
            g->ended = !another_follows(raw, gzip_matches, "gzip", err) || !gzip_begin(g, raw, err);
        g->between = false;
        if (!g->ended) g->ended = !gzip_step(g, raw, err);
    }
    return n - g->s.avail_out;
}

/* ---- zstd ---- */

struct zstd {
    ZSTD_DStream *s;
    size_t hint; /* input that the next step needs: the rest of a block */
    bool between, ended;
};

/* Frames, and the skippable ones that pzstd and seekable zstd put around them. */
static bool zstd_matches(const uint8_t *head, size_t n)
{
    if (n < 4) return false;
    if (head[0] == 0x28 && head[1] == 0xb5 && head[2] == 0x2f && head[3] == 0xfd) return true;
    return (head[0] & 0xf0) == 0x50 && head[1] == 0x2a && head[2] == 0x4d && head[3] == 0x18;
}

static void *zstd_open(void)
{
    struct zstd *z = gp_zalloc(sizeof *z);
    z->s = ZSTD_createDStream();
    if (!z->s) gp_out_of_memory(sizeof z->s);
    z->hint = ZSTD_initDStream(z->s);
    return z;
}

static bool zstd_step(struct zstd *z, struct gp_raw *raw, ZSTD_outBuffer *out, struct gp_err *err)
{
    gp_raw_need(raw, 1);
    /* With more than one block at once, an error in the second would lose the first. */
    ZSTD_inBuffer in = {.src = raw->at, .size = raw->n < z->hint ? raw->n : z->hint};
    size_t before = out->pos;
    size_t r = ZSTD_decompressStream(z->s, out, &in);
    bool moved = in.pos > 0 || out->pos != before;
    gp_raw_skip(raw, in.pos);
    if (ZSTD_isError(r)) {
        damaged(err, raw, "zstd", ZSTD_getErrorName(r));
        return false;
    }
    z->hint = r > 0 ? r : ZSTD_initDStream(z->s);
    if (r == 0) {
        z->between = true;
        return true;
    }
    if (!moved) cut(err, raw, "zstd");
    return moved;
}

static size_t zstd_run(void *state, struct gp_raw *raw, uint8_t *to, size_t n, struct gp_err *err)
{
    struct zstd *z = state;
    ZSTD_outBuffer out = {.dst = to, .size = n};
    while (!z->ended && out.pos < n) {
        if (z->between && !another_follows(raw, zstd_matches, "zstd", err)) {
            z->ended = true;
            break;
        }
        z->between = false;
        z->ended = !zstd_step(z, raw, &out, err);
    }
    return out.pos;
}

static void zstd_close(void *state)
{
    struct zstd *z = state;
    ZSTD_freeDStream(z->s);
    free(z);
}

/* ---- */

static const struct gp_decoder decoders[] = {
    {"gzip", gzip_matches, gzip_open, gzip_run, gzip_close},
    {"zstd", zstd_matches, zstd_open, zstd_run, zstd_close},
};

const struct gp_decoder *gp_decoder_find(const uint8_t *head, size_t n)
{
    for (size_t i = 0; i < GP_COUNT(decoders); i++)
        if (decoders[i].matches(head, n)) return &decoders[i];
    return NULL;
}

/* ---- plain bytes ---- */

/* Waits until a read would not block. False if the reader is gone. */
static bool wait_readable(const struct gp_raw *raw)
{
    if (raw->wake_fd < 0) return true;
    struct pollfd p[2] = {{.fd = raw->fd, .events = POLLIN}, {.fd = raw->wake_fd, .events = POLLIN}};
    while (poll(p, 2, -1) < 0)
        if (errno != EINTR && errno != EAGAIN) return true;
    return p[1].revents == 0;
}

size_t gp_raw_read(struct gp_raw *raw, void *to, size_t n)
{
    if (raw->fd < 0 || raw->ended) {
        raw->ended = true;
        return 0;
    }
    ssize_t got = -1;
    while (wait_readable(raw)) {
        got = read(raw->fd, to, n);
        if (got >= 0) break;
        if (errno == EAGAIN || errno == EWOULDBLOCK) { /* the descriptor was left non-blocking */
            struct pollfd p = {.fd = raw->fd, .events = POLLIN};
            poll(&p, 1, -1);
        } else if (errno != EINTR) {
            raw->error = errno;
            break;
        }
    }
    if (got <= 0) raw->ended = true;
    return got > 0 ? (size_t)got : 0;
}

size_t gp_raw_need(struct gp_raw *raw, size_t want)
{
    if (raw->n >= want || raw->ended || raw->fd < 0) return raw->n;
    if (raw->n > 0) memmove(raw->buf, raw->at, raw->n);
    raw->at = raw->buf;
    while (raw->n < want && !raw->ended) raw->n += gp_raw_read(raw, raw->buf + raw->n, raw->cap - raw->n);
    return raw->n;
}

void gp_raw_skip(struct gp_raw *raw, size_t n)
{
    raw->at += n;
    raw->n -= n;
    raw->offset += n;
}
