/* gpt.h -- the fixed numbers of the suite's binary trace, shared by its reader, its writer and the
 * collector's launcher, which forwards whole blocks without decoding them. The full description is
 * schemas/gpt-1.md. Little endian.
 */
#ifndef GP_FORMATS_GPT_H
#define GP_FORMATS_GPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GP_GPT_MAGIC "\x89GPT\r\n\x1a\n" /* 8 bytes; a text-mode transfer breaks it visibly */

enum {
    GP_GPT_MAJOR = 1,
    GP_GPT_MINOR = 3,
    GP_GPT_HEADER_SIZE = 16, /* magic[8] u8 major, u8 minor, u16 header length, u32 flags */
    GP_GPT_BLOCK_HEADER_SIZE = 40,
    GP_GPT_MAX_PAYLOAD = 64 << 20, /* a block with more is damaged */
};
#define GP_GPT_SYNC 0x4B425047u /* "GPBK" */

enum {
    GP_GPT_CRITICAL = 2, /* block flag: a reader that does not know the kind must stop */
    /* Limits that keep memory in proportion to input: a block has at most GP_GPT_MAX_ROWS rows, and at most
     * GP_GPT_FREE_ROWS + GP_GPT_ROWS_PER_BYTE rows per byte of payload as stored; raw_len is at most
     * GP_GPT_MAX_RATIO times payload_len. */
    GP_GPT_MAX_ROWS = 1 << 16,
    GP_GPT_FREE_ROWS = 16,
    GP_GPT_ROWS_PER_BYTE = 2,
    GP_GPT_MAX_RATIO = 64,
};

/* The reader of such files; formats/model/format.h has the struct. */
struct gp_reader;
extern const struct gp_reader gp_reader_gpt;

/* The header of a block, as decoded. On disk, in this order: u32 sync, u32 payload_len, u32 raw_len, u16
 * kind, u8 codec, u8 flags, u32 nrec, u32 seq, u32 producer, u64 base_ns, u32 crc32c over header[0..35] and
 * payload. */
struct gp_gpt_block_header {
    uint32_t payload_len, raw_len;
    uint16_t kind;
    uint8_t codec, flags;
    uint32_t nrec, seq, producer;
    uint64_t base_ns;
    uint32_t crc;
};

/* Decode P (GP_GPT_BLOCK_HEADER_SIZE bytes). False if the sync word or the lengths are invalid. */
bool gp_gpt_get_header(const uint8_t *p, struct gp_gpt_block_header *h);
/* CRC-32C of N bytes, continuing from CRC (0 to begin). Uses the hardware instruction if there is one. */
uint32_t gp_crc32c(uint32_t crc, const void *data, size_t n);
/* Does the checksum of the whole block at P (header and payload) match? */
bool gp_gpt_block_ok(const uint8_t *p, const struct gp_gpt_block_header *h);
/* Write H at P with the checksum; the payload must already follow it (h->crc is ignored). */
void gp_gpt_put_header(uint8_t *p, const struct gp_gpt_block_header *h);
/* The header of a file of this version. */
void gp_gpt_file_header(uint8_t p[GP_GPT_HEADER_SIZE]);
/* Give the block at P another producer number or sequence number and update its checksum. */
void gp_gpt_patch(uint8_t *p, uint32_t producer, uint32_t seq);

#endif
