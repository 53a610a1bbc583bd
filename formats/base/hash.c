#include "formats/base/hash.h"

#include <string.h>
#include <sys/auxv.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t gp_hash_bytes(const void *p, size_t n)
{
    return XXH3_64bits(p, n);
}

uint64_t gp_hash_seed(void)
{
    const void *drawn = (const void *)(uintptr_t)getauxval(AT_RANDOM); /* 16 bytes */
    uint64_t seed = 0;
    if (drawn) seed = gp_hash_bytes(drawn, 16); /* the bytes themselves are the C library's secret */
    return seed;
}

uint64_t gp_hash_place(const void *p, size_t n, uint64_t seed)
{
    return XXH3_64bits_withSeed(p, n, seed);
}
