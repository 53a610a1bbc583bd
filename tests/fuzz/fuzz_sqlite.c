/* fuzz_sqlite.c -- hostile SQLite files of other recorders. Whatever can be read of one must keep the
 * promises of the model, and no table may have more rows than the file has bytes. */
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
    if (gp_trace_check(&t, &err)) fprintf(stderr, "fuzz_sqlite: %s\n", err.msg);
    FUZZ_CHECK(!err.code);
    for (int i = 0; i < GP_TABLE_COUNT; i++) FUZZ_CHECK(t.events[i].n <= 8 * size);
    gp_trace_release(&t);
    return 0;
}
