/* fuzz.h -- what every fuzz target has: the entry points that libFuzzer and replay.c call, and a check that
 * ends the program. A target is one file: it defines LLVMFuzzerTestOneInput(), and where its inputs hold a
 * trace or a saved file also LLVMFuzzerCustomMutator() (mutate.h) and fuzz_heads, which lets the traces of
 * corpus/traces serve as its seeds.
 *
 *     int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
 *     {
 *         int64_t ns;
 *         if (gp_ns_from_us((const char *)data, size, &ns)) FUZZ_CHECK(ns != 0 || size > 0);
 *         return 0;
 *     }
 */
#ifndef GP_TESTS_FUZZ_H
#define GP_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
/* Change the SIZE bytes at DATA, which has room for MOST, in a way that SEED decides, and return the new
 * size. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);
/* libFuzzer's own changes, which know no format. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);

/* The bytes that stand before a trace in the inputs of a target: SIZE bytes, the first of which counts from 0
 * to COUNT - 1 and the others are 0. */
struct fuzz_heads {
    unsigned count, size;
};
extern const struct fuzz_heads fuzz_heads;

#define FUZZ_CHECK(what)                                                                                     \
    do {                                                                                                     \
        if (!(what)) {                                                                                       \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #what);                        \
            abort();                                                                                         \
        }                                                                                                    \
    } while (0)

#endif
