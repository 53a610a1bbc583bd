#include "formats/gpt/gpt.h"

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__ARM_FEATURE_CRC32)
#include <arm_acle.h>
#endif

enum { CRC_AT = GP_GPT_BLOCK_HEADER_SIZE - 4, SEQ_AT = 20, PRODUCER_AT = 24 };

static uint32_t get32(const uint8_t *p)
{
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static uint64_t get64(const uint8_t *p) { return get32(p) | (uint64_t)get32(p + 4) << 32; }

static void put32(uint8_t *p, uint32_t v)
{
    for (int i = 0; i < 4; i++) p[i] = (uint8_t)(v >> (8 * i));
}

/* The portable form: four bits at a time, so that the table is small enough to check by eye. */
static uint32_t crc_portable(uint32_t crc, const uint8_t *p, size_t n)
{
    static const uint32_t table[16] = {0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3,
                                       0x61c69362, 0x7198540d, 0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9,
                                       0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75};
    for (size_t i = 0; i < n; i++) {
        crc ^= p[i];
        crc = crc >> 4 ^ table[crc & 15];
        crc = crc >> 4 ^ table[crc & 15];
    }
    return crc;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) static uint32_t crc_hardware(uint32_t crc, const uint8_t *p, size_t n)
{
    uint64_t c = crc;
    for (; n >= 8; p += 8, n -= 8) {
        uint64_t v;
        memcpy(&v, p, 8);
        c = _mm_crc32_u64(c, v);
    }
    for (; n; p++, n--) c = _mm_crc32_u8((uint32_t)c, *p);
    return (uint32_t)c;
}
#elif defined(__ARM_FEATURE_CRC32)
static uint32_t crc_hardware(uint32_t crc, const uint8_t *p, size_t n)
{
    for (; n >= 8; p += 8, n -= 8) {
        uint64_t v;
        memcpy(&v, p, 8);
        crc = __crc32cd(crc, v);
    }
    for (; n; p++, n--) crc = __crc32cb(crc, *p);
    return crc;
}
#endif

uint32_t gp_crc32c(uint32_t crc, const void *data, size_t n)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("sse4.2")) return ~crc_hardware(~crc, data, n);
#elif defined(__ARM_FEATURE_CRC32)
    return ~crc_hardware(~crc, data, n);
#endif
    return ~crc_portable(~crc, data, n);
}

bool gp_gpt_get_header(const uint8_t *p, struct gp_gpt_block_header *h)
{
    h->payload_len = get32(p + 4);
    h->raw_len = get32(p + 8);
    h->kind = (uint16_t)(p[12] | p[13] << 8);
    h->codec = p[14];
    h->flags = p[15];
    h->nrec = get32(p + 16);
    h->seq = get32(p + SEQ_AT);
    h->producer = get32(p + PRODUCER_AT);
    h->base_ns = get64(p + 28);
    h->crc = get32(p + CRC_AT);
    if (get32(p) != GP_GPT_SYNC || h->payload_len > GP_GPT_MAX_PAYLOAD || h->raw_len > GP_GPT_MAX_PAYLOAD)
        return false;
    return h->codec || h->payload_len == h->raw_len;
}

static uint32_t block_crc(const uint8_t *p, uint32_t payload_len)
{
    uint32_t crc = gp_crc32c(0, p, CRC_AT);
    return gp_crc32c(crc, p + GP_GPT_BLOCK_HEADER_SIZE, payload_len);
}

bool gp_gpt_block_ok(const uint8_t *p, const struct gp_gpt_block_header *h)
{
    return block_crc(p, h->payload_len) == h->crc;
}

void gp_gpt_patch(uint8_t *p, uint32_t producer, uint32_t seq)
{
    put32(p + PRODUCER_AT, producer);
    put32(p + SEQ_AT, seq);
    put32(p + CRC_AT, block_crc(p, get32(p + 4)));
}

void gp_gpt_put_header(uint8_t *p, const struct gp_gpt_block_header *h)
{
    put32(p, GP_GPT_SYNC);
    put32(p + 4, h->payload_len);
    put32(p + 8, h->raw_len);
    p[12] = (uint8_t)h->kind;
    p[13] = (uint8_t)(h->kind >> 8);
    p[14] = h->codec;
    p[15] = h->flags;
    put32(p + 16, h->nrec);
    put32(p + SEQ_AT, h->seq);
    put32(p + PRODUCER_AT, h->producer);
    put32(p + 28, (uint32_t)h->base_ns);
    put32(p + 32, (uint32_t)(h->base_ns >> 32));
    put32(p + CRC_AT, block_crc(p, h->payload_len));
}

void gp_gpt_file_header(uint8_t p[GP_GPT_HEADER_SIZE])
{
    memset(p, 0, GP_GPT_HEADER_SIZE);
    memcpy(p, GP_GPT_MAGIC, 8);
    p[8] = GP_GPT_MAJOR;
    p[9] = GP_GPT_MINOR;
    p[10] = GP_GPT_HEADER_SIZE;
}
