/* hash.h -- hashes of bytes and numbers (intern.c). One is the same everywhere and may be stored and printed.
 * The others are places in tables: they depend on a random number of the process, so that whoever writes a
 * file cannot choose keys that meet in one place. What is printed must not depend on them.
 *
 *     uint64_t seed = gp_hash_seed();
 *     size_t slot = gp_hash_u64(key, seed) & mask;
 */
#ifndef GP_BASE_HASH_H
#define GP_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* The same for the same bytes, always. */
uint64_t gp_hash_bytes(const void *p, size_t n);
/* What the kernel drew for this process when it began. */
uint64_t gp_hash_seed(void);
/* A place for N bytes, with the SEED of gp_hash_seed(). */
uint64_t gp_hash_place(const void *p, size_t n, uint64_t seed);

/* A place for a number: the finaliser of MurmurHash3, of which every bit depends on every bit. */
static inline uint64_t gp_hash_u64(uint64_t key, uint64_t seed)
{
    uint64_t h = key ^ seed;
    h = (h ^ h >> 33) * UINT64_C(0xff51afd7ed558ccd);
    h = (h ^ h >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
    return h ^ h >> 33;
}

#endif
