/* fuzz_suggest.c -- hostile traces through everything that trace-suggest does. What must always hold is checked: savings
 * are intervals within the step, and nothing is claimed of a replay that is not trusted. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include "analyze/suggest.h"
#include "formats/reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(what)                                                                                          \
    do {                                                                                                     \
        if (!(what)) {                                                                                       \
            fprintf(stderr, "fuzz_suggest: not so: %s\n", #what);                                            \
            abort();                                                                                         \
        }                                                                                                    \
    } while (0)

static void check(const struct gp_suggest *s, const struct gp_suggestion *one)
{
    CHECK(one->saving_low_ns >= 0 && one->saving_low_ns <= one->saving_high_ns);
    CHECK(one->saving_high_ns <= s->step.step_ns || !one->saving_high_ns);
    CHECK(one->saving_high_ns <= one->ceiling_ns);
    CHECK(s->step.trusted || !one->saving_high_ns);
    CHECK(one->speedup_low >= 1 && one->speedup_high >= one->speedup_low);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct gp_trace t;
    struct gp_read_opts read = {.threads = 1, .need = GP_SUGGEST_NEED};
    if (gp_trace_read_memory(&t, data, size, &read, NULL)) return 0;
    struct gp_suggest s;
    gp_suggest_init(&s, NULL);
    CHECK(!gp_suggest_run(&s, &t, NULL));
    for (size_t i = 0; i < s.suggestions.n; i++) check(&s, &s.suggestions.at[i]);
    gp_suggest_release(&s);
    gp_trace_release(&t);
    return 0;
}
