/* mend.h -- makes the checksums and hashes of mutated files right, so that what they protect is reached.
 *
 *     fuzz_mend(copy, n);     // a binary trace, a partial of trace-hta or a saved profile; all else stays as
 *                             it is
 */
#ifndef GP_TESTS_FUZZ_MEND_H
#define GP_TESTS_FUZZ_MEND_H

#include <stddef.h>
#include <stdint.h>

/* Change checksums, and lengths of saved files, in place. */
void fuzz_mend(uint8_t *data, size_t n);

#endif
