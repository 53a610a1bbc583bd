#include "tests/fuzz/help/mutate.h"

#include <string.h>
#include "formats/base/buf.h"
#include "tests/fuzz/help/fuzz.h"

/* Where the second trace begins in N bytes; N when there is none. */
static size_t split_of(const uint8_t *head, size_t n)
{
    size_t parts = (size_t)head[1] << 8 | head[2];
    return parts ? n * parts / 65536 : n;
}

static void set_split(uint8_t *head, size_t first, size_t n)
{
    size_t parts = n ? (first * 65536 + n - 1) / n : 0; /* rounded up, so that split_of() gives FIRST again */
    parts = parts > 65535 ? 65535 : parts ? parts : 1;
    head[1] = (uint8_t)(parts >> 8);
    head[2] = (uint8_t)parts;
}

static void change(struct gp_buf *to, const uint8_t *data, size_t n, struct fuzz_dice *d)
{
    if (n && data[0] == 0x89 ? fuzz_mutate_gpt(to, data, n, d) : fuzz_mutate_json(to, data, n, d)) return;
    size_t room = n + 64;
    gp_buf_put(to, data, n);
    gp_buf_reserve(to, 64);
    to->n += LLVMFuzzerMutate((uint8_t *)to->data + to->n - n, n, room) - n;
}

size_t fuzz_mutate(uint8_t *data, size_t size, size_t most, unsigned seed, size_t head)
{
    struct fuzz_dice d = fuzz_dice_of(seed);
    struct gp_buf b = {0};
    if (size <= head || fuzz_roll(&d, 16) == 0) return LLVMFuzzerMutate(data, size, most);
    if (head && fuzz_roll(&d, 8) == 0) data[0] = (uint8_t)fuzz_bits(&d);
    const uint8_t *trace = data + head;
    size_t n = size - head, first = head == 3 ? split_of(data, n) : n;
    if (first < n && fuzz_roll(&d, 2)) {
        gp_buf_put(&b, trace, first);
        change(&b, trace + first, n - first, &d);
    } else {
        change(&b, trace, first, &d);
        size_t now = b.n;
        gp_buf_put(&b, trace + first, n - first);
        first = now;
    }
    if (b.n > most - head) b.n = most - head;
    if (first < b.n) set_split(data, first, b.n);
    if (b.n) memcpy(data + head, b.data, b.n);
    size = head + b.n;
    gp_buf_release(&b);
    return size;
}
