/* take.h -- hands out the bytes of an input one after the other; zeros when there are none left.
 *
 *     struct fuzz_take in = {data, data + size};
 *     while (in.at < in.end) step(fuzz_take_number(&in, 1) % STEPS, &in);
 */
#ifndef GP_TESTS_FUZZ_TAKE_H
#define GP_TESTS_FUZZ_TAKE_H

#include <stddef.h>
#include <stdint.h>

struct fuzz_take {
    const uint8_t *at, *end;
};

/* Little endian, of so many bytes. */
static inline uint64_t fuzz_take_number(struct fuzz_take *in, size_t bytes)
{
    uint64_t v = 0;
    for (size_t i = 0; i < bytes && in->at < in->end; i++) v |= (uint64_t)*in->at++ << 8 * i;
    return v;
}

/* The next bytes, at most *N; *N becomes how many there are. */
static inline const uint8_t *fuzz_take_bytes(struct fuzz_take *in, size_t *n)
{
    const uint8_t *p = in->at;
    if (*n > (size_t)(in->end - in->at)) *n = (size_t)(in->end - in->at);
    in->at += *n;
    return p;
}

/* A number of one byte that stands for a small one, a limit, or eight bytes that follow. */
static inline uint64_t fuzz_take_any(struct fuzz_take *in)
{
    static const uint64_t limits[] = {UINT64_MAX, INT64_MAX,  1ull << 63, 1ull << 62, UINT32_MAX, 1ull << 31,
                                      INT32_MAX,  1ull << 32, 65536,      65535,      1000000,    1000000000};
    uint64_t b = fuzz_take_number(in, 1);
    if (b < 128) return b;
    if (b < 224) return limits[b % (sizeof limits / sizeof *limits)];
    return fuzz_take_number(in, 8);
}

#endif
