/* fuzz_xplane.c -- hostile profiles of JAX. Whatever can be read of one must keep the promises of the
 * model. */
#include "formats/base/err.h"
#include "formats/reader.h"
#include "tests/fuzz/help/fuzz.h"
#include "tests/unit/trace_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct gp_read_opts opts = {.threads = 1};
    struct gp_err err = {0};
    struct gp_trace t;
    if (gp_trace_read_memory(&t, data, size, &opts, &err)) return 0;
    if (gp_trace_check(&t, &err)) fprintf(stderr, "fuzz_xplane: %s\n", err.msg);
    FUZZ_CHECK(!err.code);
    gp_trace_release(&t);
    return 0;
}
