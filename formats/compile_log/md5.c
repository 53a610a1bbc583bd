#include "formats/compile_log/md5.h"

#include <string.h>

enum { BLOCK = 64, LENGTH_AT = 56 };

static inline uint32_t turn(uint32_t v, int by)
{
    return v << by | v >> (32 - by);
}

/* The four rounds of RFC 1321. K is floor(2^32 * |sin(i + 1)|). */
#define F(x, y, z)                   ((z) ^ ((x) & ((y) ^ (z))))
#define G(x, y, z)                   F(z, x, y)
#define H(x, y, z)                   ((x) ^ (y) ^ (z))
#define I(x, y, z)                   ((y) ^ ((x) | ~(z)))
#define STEP(f, a, b, c, d, i, k, s) a = b + turn(a + f(b, c, d) + w[i] + (k), s)
#define FOUR(f, i0, i1, i2, i3, k0, k1, k2, k3, s0, s1, s2, s3)                                              \
    STEP(f, a, b, c, d, i0, k0, s0);                                                                         \
    STEP(f, d, a, b, c, i1, k1, s1);                                                                         \
    STEP(f, c, d, a, b, i2, k2, s2);                                                                         \
    STEP(f, b, c, d, a, i3, k3, s3)

static void add_block(uint32_t state[4], const uint8_t *data)
{
    uint32_t w[16], a = state[0], b = state[1], c = state[2], d = state[3];
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)data[4 * i] | (uint32_t)data[4 * i + 1] << 8 | (uint32_t)data[4 * i + 2] << 16 |
               (uint32_t)data[4 * i + 3] << 24;
    FOUR(F, 0, 1, 2, 3, 0xd76aa478u, 0xe8c7b756u, 0x242070dbu, 0xc1bdceeeu, 7, 12, 17, 22);
    FOUR(F, 4, 5, 6, 7, 0xf57c0fafu, 0x4787c62au, 0xa8304613u, 0xfd469501u, 7, 12, 17, 22);
    FOUR(F, 8, 9, 10, 11, 0x698098d8u, 0x8b44f7afu, 0xffff5bb1u, 0x895cd7beu, 7, 12, 17, 22);
    FOUR(F, 12, 13, 14, 15, 0x6b901122u, 0xfd987193u, 0xa679438eu, 0x49b40821u, 7, 12, 17, 22);
    FOUR(G, 1, 6, 11, 0, 0xf61e2562u, 0xc040b340u, 0x265e5a51u, 0xe9b6c7aau, 5, 9, 14, 20);
    FOUR(G, 5, 10, 15, 4, 0xd62f105du, 0x02441453u, 0xd8a1e681u, 0xe7d3fbc8u, 5, 9, 14, 20);
    FOUR(G, 9, 14, 3, 8, 0x21e1cde6u, 0xc33707d6u, 0xf4d50d87u, 0x455a14edu, 5, 9, 14, 20);
    FOUR(G, 13, 2, 7, 12, 0xa9e3e905u, 0xfcefa3f8u, 0x676f02d9u, 0x8d2a4c8au, 5, 9, 14, 20);
    FOUR(H, 5, 8, 11, 14, 0xfffa3942u, 0x8771f681u, 0x6d9d6122u, 0xfde5380cu, 4, 11, 16, 23);
    FOUR(H, 1, 4, 7, 10, 0xa4beea44u, 0x4bdecfa9u, 0xf6bb4b60u, 0xbebfbc70u, 4, 11, 16, 23);
    FOUR(H, 13, 0, 3, 6, 0x289b7ec6u, 0xeaa127fau, 0xd4ef3085u, 0x04881d05u, 4, 11, 16, 23);
    FOUR(H, 9, 12, 15, 2, 0xd9d4d039u, 0xe6db99e5u, 0x1fa27cf8u, 0xc4ac5665u, 4, 11, 16, 23);
    FOUR(I, 0, 7, 14, 5, 0xf4292244u, 0x432aff97u, 0xab9423a7u, 0xfc93a039u, 6, 10, 15, 21);
    FOUR(I, 12, 3, 10, 1, 0x655b59c3u, 0x8f0ccc92u, 0xffeff47du, 0x85845dd1u, 6, 10, 15, 21);
    FOUR(I, 8, 15, 6, 13, 0x6fa87e4fu, 0xfe2ce6e0u, 0xa3014314u, 0x4e0811a1u, 6, 10, 15, 21);
    FOUR(I, 4, 11, 2, 9, 0xf7537e82u, 0xbd3af235u, 0x2ad7d2bbu, 0xeb86d391u, 6, 10, 15, 21);
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
}

void gp_md5(const void *data, size_t n, uint8_t digest[GP_MD5_BYTES])
{
    uint32_t state[4] = {0x67452301u, 0xefcdab89u, 0x98badcfeu, 0x10325476u};
    const uint8_t *p = data;
    uint8_t last[2 * BLOCK] = {0};
    size_t left = n;
    for (; left >= BLOCK; left -= BLOCK, p += BLOCK) add_block(state, p);
    if (left) memcpy(last, p, left);
    last[left] = 0x80;
    size_t end = left < LENGTH_AT ? BLOCK : 2 * BLOCK;
    for (int i = 0; i < 8; i++) last[end - 8 + (size_t)i] = (uint8_t)((uint64_t)n << 3 >> (8 * i));
    add_block(state, last);
    if (end > BLOCK) add_block(state, last + BLOCK);
    for (int i = 0; i < GP_MD5_BYTES; i++) digest[i] = (uint8_t)(state[i / 4] >> (8 * (i % 4)));
}
