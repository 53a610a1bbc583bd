/* fuzz_folded.c -- hostile folded stacks. Each line is a stack or is counted, and no stack holds an end of
 * line. */
#include <string.h>
#include "formats/base/err.h"
#include "formats/base/input.h"
#include "formats/folded_read.h"
#include "tests/fuzz/help/fuzz.h"

static void sink(void *ctx, const char *stack, size_t n, int64_t weight)
{
    FUZZ_CHECK(n > 0 && weight >= 0 && !memchr(stack, '\n', n));
    ++*(uint64_t *)ctx;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct gp_folded_stats st = {0};
    struct gp_err err = {0};
    uint64_t stacks = 0;
    struct gp_input *in = gp_input_memory(data, size, 1);
    (void)gp_folded_sniff(data, size);
    int failed = gp_folded_read(in, sink, &stacks, NULL, NULL, &st, &err);
    gp_input_close(in);
    FUZZ_CHECK(stacks + st.bad == st.lines && (failed != 0) == (stacks == 0));
    FUZZ_CHECK((st.first_bad >= 0) == (st.bad > 0) && st.first_bad < (int64_t)st.bytes);
    return 0;
}
