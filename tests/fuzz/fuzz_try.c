/* fuzz_try.c -- hostile rows of trials, which processes of the tried program write: read, and written in each
 * format. */
#include "formats/base/buf.h"
#include "formats/base/err.h"
#include "render/try/try_formats.h"
#include "tests/fuzz/help/fuzz.h"
#include "tests/fuzz/help/mutate.h"

static void check(const gp_trials *rows)
{
    for (size_t i = 0; i < rows->n; i++) {
        const struct gp_trial *r = &rows->at[i];
        FUZZ_CHECK(r->change && r->mode && r->status && r->permanent && r->pairs >= 0);
        FUZZ_CHECK(!gp_trial_measured(r) || (r->off_ns > 0 && r->on_ns > 0));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct gp_try t = {0};
    struct gp_err err = {0};
    bool answer = size && data[size - 1] == '}'; /* otherwise lines */
    if ((answer ? gp_try_load : gp_try_read)(&t, (const char *)data, size, &err)) FUZZ_CHECK(err.msg[0]);
    check(&t.trials);
    check(&t.control);
    check(&t.together);
    FUZZ_CHECK(t.control.n <= 1 && t.together.n <= 1);
    struct gp_try_answer a = {.t = &t, .width = 80};
    for (const struct gp_answer_format *f = gp_try_formats; f->name; f++) {
        struct gp_buf b = {0};
        f->put(&a, &b);
        FUZZ_CHECK(b.n > 0);
        gp_buf_release(&b);
    }
    gp_try_release(&t);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    return fuzz_mutate(data, size, most, seed, 0);
}
