/* fuzz_decode.c -- hostile gzip and zstd. The first byte says how many bytes are asked for at a time, and
 * whether a second thread decompresses; the bytes and the verdict must be the same as those of one piece on
 * one thread. */
#include <string.h>
#include "formats/base/buf.h"
#include "formats/base/err.h"
#include "formats/base/input.h"
#include "tests/fuzz/help/fuzz.h"

enum { MOST = 1 << 20, PIECE = 1 << 16 };

static int read_all(const uint8_t *data, size_t n, size_t piece, int threads, struct gp_buf *to)
{
    struct gp_err err = {0};
    struct gp_input *in = gp_input_memory(data, n, threads);
    size_t k, peeked;
    const uint8_t *head = gp_input_peek(in, piece < 16 ? piece : 16, &peeked);
    uint8_t first = peeked ? head[0] : 0;
    do {
        k = gp_input_read(in, gp_buf_reserve(to, piece), piece);
        to->n += k;
    } while (k && to->n < MOST);
    if (peeked) FUZZ_CHECK(to->n && (uint8_t)to->data[0] == first);
    int status = to->n < MOST ? gp_input_status(in, &err) : 0;
    FUZZ_CHECK(!status || err.msg[0]);
    gp_input_close(in);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const size_t pieces[] = {1, 7, 63, 64, 65, 4095, 4096, PIECE};
    struct gp_buf a = {0}, b = {0};
    if (!size) return 0;
    size_t piece = pieces[data[0] % (sizeof pieces / sizeof *pieces)];
    if (piece < 64 && size > 2000) piece = 64;
    int one = read_all(data + 1, size - 1, PIECE, 1, &a);
    int other = read_all(data + 1, size - 1, piece, data[0] >= 0xf8 ? 2 : 1, &b);
    if (a.n < MOST && b.n < MOST)
        FUZZ_CHECK(one == other && a.n == b.n && (!a.n || !memcmp(a.data, b.data, a.n)));
    gp_buf_release(&a);
    gp_buf_release(&b);
    return 0;
}
