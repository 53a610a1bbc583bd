#include "tests/fuzz/help/mend.h"

#include <stdbool.h>
#include <string.h>
#include "formats/base/intern.h"
#include "formats/gpt/gpt.h"

/* Saved results of trace-hta and trace-diff: magic, version, length and hash of what follows
 * (analyze/math/serialize.h). */
enum { SAVED_HEAD = 28, SAVED_SIZE = 12, SAVED_HASH = 20 };

static void put_u64(uint8_t *to, uint64_t v)
{
    for (int i = 0; i < 8; i++) to[i] = (uint8_t)(v >> 8 * i);
}

/* Behind a block that makes no sense, goes on at the next place that looks like one. */
static void mend_blocks(uint8_t *p, size_t n)
{
    struct gp_gpt_block_header h;
    for (size_t at = GP_GPT_HEADER_SIZE; at + GP_GPT_BLOCK_HEADER_SIZE <= n;) {
        if (gp_gpt_get_header(p + at, &h) && h.payload_len <= n - at - GP_GPT_BLOCK_HEADER_SIZE) {
            gp_gpt_patch(p + at, h.producer, h.seq);
            at += GP_GPT_BLOCK_HEADER_SIZE + h.payload_len;
            continue;
        }
        const uint8_t *next = memchr(p + at + 1, 'G', n - at - 1);
        at = next ? (size_t)(next - p) : n;
    }
}

static bool is_saved(const uint8_t *p, size_t n)
{
    return n >= SAVED_HEAD && p[0] == 'g' && p[1] == 'p' && p[7] == 0x1a;
}

void fuzz_mend(uint8_t *data, size_t n)
{
    if (n >= GP_GPT_HEADER_SIZE && !memcmp(data, GP_GPT_MAGIC, 8)) mend_blocks(data, n);
    if (!is_saved(data, n)) return;
    put_u64(data + SAVED_SIZE, n - SAVED_HEAD);
    put_u64(data + SAVED_HASH, gp_hash_bytes(data + SAVED_HEAD, n - SAVED_HEAD));
}
