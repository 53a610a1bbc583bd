/* mutate.h -- changes inputs the way their format is built, so that what comes out is still read to its end:
 * blocks and columns of the binary trace, events and members of JSON. What is in neither format is left to
 * libFuzzer.
 *
 *     size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
 *     {
 *         return fuzz_mutate(data, size, most, seed, 1);      // one byte stands before the trace
 *     }
 */
#ifndef GP_TESTS_FUZZ_MUTATE_H
#define GP_TESTS_FUZZ_MUTATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "formats/base/declare.h"
#include "tests/fuzz/help/dice.h"

/* Change an input of HEAD bytes and a trace, in place. With HEAD 3, the last two say in parts of 65536 where
 * a second trace begins (0: there is none), and one of both is changed. */
size_t fuzz_mutate(uint8_t *data, size_t size, size_t most, unsigned seed, size_t head);

/* Append a changed copy of the N bytes at DATA to TO. False if they are not a binary trace, or not JSON
 * text. */
bool fuzz_mutate_gpt(struct gp_buf *to, const uint8_t *data, size_t n, struct fuzz_dice *d);
bool fuzz_mutate_json(struct gp_buf *to, const uint8_t *data, size_t n, struct fuzz_dice *d);

#endif
