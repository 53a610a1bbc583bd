/* shaped.h -- activity records whose shape is right, so that a reader gets to what is in them, with fields
 * that the input chooses.
 *
 *     struct fuzz_take in = {data, data + size};
 *     size_t n = fuzz_shaped_records(buffer, sizeof buffer, &in, PID, NULL);
 */
#ifndef GP_TESTS_FUZZ_SHAPED_H
#define GP_TESTS_FUZZ_SHAPED_H

#include <stddef.h>
#include <stdint.h>
#include "tests/fuzz/help/take.h"

/* Times of records whose fields are left alone are between these. */
enum { FUZZ_EARLIEST_NS = 1000, FUZZ_LATEST_NS = 100000000 };
/* Texts that their names point at are at this address and multiples of it. */
enum { FUZZ_TEXT_AT = 0x1000 };

/* Bytes of a record of that kind, 0 not known. */
size_t fuzz_shaped_bytes(uint32_t kind);
/* The kinds that have one; 0 behind the last. */
uint32_t fuzz_shaped_kind(size_t i);
/* Fill TO with records: a byte says how many, and each takes three bytes and more where fields change.
 * Returns the bytes written, and at *COUNT (may be NULL) how many records that is. */
size_t fuzz_shaped_records(uint8_t *to, size_t room, struct fuzz_take *in, uint32_t pid, uint64_t *count);

#endif
