#include "render/page/page_pack.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include "formats/base/mem.h"
#include "render/draw/text.h"
#include "render/page/page_html.h"

void gp_pack_text(struct gp_buf *b, const char *s, size_t n)
{
    struct gp_buf clean = {0};
    gp_text_clean(&clean, s, n);
    gp_pack_u64(b, clean.n);
    gp_buf_put(b, clean.data, clean.n);
    gp_buf_release(&clean);
}

/* Bytes of base64 in one element: a multiple of 4, far below the longest string of any browser. */
enum { PART = 1 << 26, PIECE = 3 << 14, LEVEL = 6 };

/* Deflated bytes while they are written. */
struct pack {
    struct gp_svg *w;
    const char *id;
    int parts;   /* elements so far */
    size_t room; /* bytes of base64 that go into the open one */
    uint8_t piece[PIECE];
    size_t n;
};

/* Write the piece; all but the last are whole groups of three bytes. */
static void flush(struct pack *p)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t need = (p->n + 2) / 3 * 4;
    if (!p->parts || need > p->room) {
        char id[80];
        if (p->parts) gp_svg_close(p->w);
        if (p->parts) snprintf(id, sizeof id, "%.60s.%d", p->id, p->parts);
        else snprintf(id, sizeof id, "%.60s", p->id);
        p->parts++;
        p->room = PART;
        gp_page_open(p->w, "script", NULL);
        gp_svg_attr(p->w, "type", "application/octet-stream");
        gp_svg_attr(p->w, "id", id);
        gp_svg_text(p->w, "", 0);
    }
    p->room -= need;
    char *to = gp_buf_reserve(p->w->out, need);
    for (size_t i = 0; i < p->n; i += 3) {
        uint32_t left = (uint32_t)(p->n - i);
        uint32_t v = (uint32_t)p->piece[i] << 16 | (left > 1 ? (uint32_t)p->piece[i + 1] << 8 : 0) |
                     (left > 2 ? p->piece[i + 2] : 0);
        *to++ = letters[v >> 18];
        *to++ = letters[v >> 12 & 63];
        *to++ = left > 1 ? letters[v >> 6 & 63] : '=';
        *to++ = left > 2 ? letters[v & 63] : '=';
    }
    p->w->out->n += need;
    p->n = 0;
}

void gp_page_packed(struct gp_svg *w, const char *id, const void *deflated, size_t n)
{
    struct pack *p = gp_zalloc(sizeof *p);
    p->w = w;
    p->id = id;
    const uint8_t *from = deflated;
    do {
        p->n = n < PIECE ? n : PIECE;
        if (p->n) memcpy(p->piece, from, p->n);
        from += p->n;
        n -= p->n;
        flush(p);
    } while (n);
    gp_svg_close_line(w);
    free(p);
}

void gp_page_deflate(struct gp_buf *to, const void *data, size_t n, int level)
{
    z_stream z = {0};
    if (deflateInit(&z, level) != Z_OK) gp_out_of_memory(n);
    const uint8_t *from = data;
    int status = Z_OK;
    while (status != Z_STREAM_END) {
        if (!z.avail_in && n) {
            uInt most = n < 1u << 30 ? (uInt)n : 1u << 30;
            z.next_in = (z_const Bytef *)from;
            z.avail_in = most;
            from += most;
            n -= most;
        }
        z.next_out = (Bytef *)gp_buf_reserve(to, PIECE);
        z.avail_out = PIECE;
        status = deflate(&z, n ? Z_NO_FLUSH : Z_FINISH);
        to->n += PIECE - z.avail_out;
    }
    deflateEnd(&z);
}

void gp_page_pack(struct gp_svg *w, const char *id, const void *data, size_t n)
{
    struct gp_buf deflated = {0};
    gp_page_deflate(&deflated, data, n, LEVEL);
    gp_page_packed(w, id, deflated.data, deflated.n);
    gp_buf_release(&deflated);
}
