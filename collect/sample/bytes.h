/* bytes.h -- numbers out of bytes that were read elsewhere. Only inline functions.
 *
 *     uint64_t next = gp_take_u64(thread, layout->thread_next);
 */
#ifndef GP_COLLECT_SAMPLE_BYTES_H
#define GP_COLLECT_SAMPLE_BYTES_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t gp_take_u64(const uint8_t *p, uint32_t at)
{
    uint64_t v;
    memcpy(&v, p + at, sizeof v);
    return v;
}

static inline uint32_t gp_take_u32(const uint8_t *p, uint32_t at)
{
    uint32_t v;
    memcpy(&v, p + at, sizeof v);
    return v;
}

/* Can an object lie there? */
static inline bool gp_is_address(uint64_t at)
{
    return at >= 4096 && !(at & 7) && !(at >> 47);
}

#endif
