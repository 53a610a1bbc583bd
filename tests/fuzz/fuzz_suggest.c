/* fuzz_suggest.c -- hostile traces through everything that trace-suggest does. What must always hold is
 * checked: savings are intervals within the step, and nothing is claimed of a replay that is not trusted. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include "analyze/suggest/suggest.h"
#include "formats/reader.h"
#include "tests/fuzz/help/fuzz.h"
#include "tests/fuzz/help/mutate.h"

static void check(const struct gp_suggest *s, const struct gp_suggestion *one)
{
    FUZZ_CHECK(one->saving_low_ns >= 0 && one->saving_low_ns <= one->saving_high_ns);
    FUZZ_CHECK(one->saving_high_ns <= s->step.step_ns || !one->saving_high_ns);
    FUZZ_CHECK(one->saving_high_ns <= one->ceiling_ns);
    FUZZ_CHECK(s->step.trusted || !one->saving_high_ns);
    FUZZ_CHECK(one->speedup_low >= 1 && one->speedup_high >= one->speedup_low);
}

/* Figures are numbers, and never more than the time that they are of. */
static void check_kernel(const struct gp_suggest_kernel *k)
{
    FUZZ_CHECK(k->regime < GP_REGIME_COUNT && k->tier <= GP_WORK_SHAPES && k->arith <= GP_ARITH_COUNT);
    FUZZ_CHECK(isfinite(k->flops) && k->flops >= 0 && isfinite(k->bytes_high));
    FUZZ_CHECK(k->bytes_low >= 0 && k->bytes_low <= k->bytes_high);
    FUZZ_CHECK(isfinite(k->roof_pct) && k->roof_pct >= 0);
    FUZZ_CHECK(k->known_ns >= 0 && k->impossible_ns >= 0 && k->known_ns <= k->total_ns - k->impossible_ns);
}

static void check_work(const struct gp_suggest *s)
{
    for (size_t i = 0; i < s->kernels.n; i++) check_kernel(&s->kernels.at[i]);
    for (size_t i = 0; i < s->ops.n; i++) check_kernel(&s->ops.at[i]);
    for (size_t i = 0; i < s->roofline.roofs.n; i++) FUZZ_CHECK(s->roofline.roofs.at[i].per_s > 0);
    for (size_t i = 0; i < s->roofline.points.n; i++) {
        const struct gp_roofline_point *p = &s->roofline.points.at[i];
        FUZZ_CHECK(p->count > 0 && isfinite(p->flops) && p->bytes_low <= p->bytes_high);
        FUZZ_CHECK(p->roof == UINT32_MAX || p->roof < s->roofline.roofs.n);
    }
}

const struct fuzz_heads fuzz_heads = {1, 0};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct gp_trace t;
    struct gp_read_opts read = {.threads = 1, .need = GP_SUGGEST_NEED};
    if (gp_trace_read_memory(&t, data, size, &read, NULL)) return 0;
    struct gp_suggest s;
    gp_suggest_init(&s, NULL);
    FUZZ_CHECK(!gp_suggest_run(&s, &t, NULL));
    for (size_t i = 0; i < s.suggestions.n; i++) check(&s, &s.suggestions.at[i]);
    check_work(&s);
    gp_suggest_release(&s);
    gp_trace_release(&t);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    return fuzz_mutate(data, size, most, seed, fuzz_heads.size);
}
