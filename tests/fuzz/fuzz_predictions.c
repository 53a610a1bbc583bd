/* fuzz_predictions.c -- hostile files of predictions (trace-diff --expect) and of measured ceilings
 * (trace-suggest --ceilings), which are both small JSON objects; each input is read as both. */
#include <math.h>
#include <string.h>
#include "formats/base/err.h"
#include "formats/ceilings_read.h"
#include "formats/expect_read.h"
#include "tests/fuzz/help/fuzz.h"
#include "tests/fuzz/help/mutate.h"

static void read_predictions(const char *text, size_t n)
{
    struct gp_expect_file f;
    struct gp_err err = {0};
    memset(&f, 0, sizeof f);
    if (!gp_expect_read(&f, text, n, &err)) FUZZ_CHECK(f.items.n > 0);
    else FUZZ_CHECK(err.msg[0] && !f.items.n);
    for (size_t i = 0; i < f.items.n; i++) {
        const struct gp_expect_item *item = &f.items.at[i];
        FUZZ_CHECK(item->sort <= GP_EXPECT_OPERATION && item->name);
        FUZZ_CHECK(isfinite(item->low) && isfinite(item->high) && item->low <= item->high);
    }
    gp_expect_file_release(&f);
}

static void read_ceilings(const char *text, size_t n)
{
    struct gp_ceilings_file f;
    struct gp_err err = {0};
    memset(&f, 0, sizeof f);
    if (gp_ceilings_read(&f, text, n, &err)) {
        FUZZ_CHECK(err.msg[0]);
        return;
    }
    FUZZ_CHECK(f.n <= GP_CEILINGS_TYPES && f.memory_bytes_per_s >= 0 && f.l2_bytes_per_s >= 0);
    for (size_t i = 0; i < f.n; i++) {
        FUZZ_CHECK(memchr(f.flops[i].type, 0, GP_CEILINGS_TYPE_BYTES));
        FUZZ_CHECK(isfinite(f.flops[i].per_s) && f.flops[i].per_s > 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    read_predictions((const char *)data, size);
    read_ceilings((const char *)data, size);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    return fuzz_mutate(data, size, most, seed, 0);
}
