// What samples of Python functions make of the host's time: a rule that names the function, and launch rules that leave that time
// to it.
#include <stdio.h>
#include <string.h>

#include "formats/samples.h"
#include "tests/unit/program_make.h"

#define GEMM "sm90_xmma_gemm_f32f32_tn"

static void sampled(struct program *p, const char *name, const char *state, int64_t ns)
{
    struct gp_events *e = &p->t.events[GP_PYTHON];
    gp_sid category = gp_intern_cstr(&p->t.strings, GP_SAMPLED_CATEGORY);
    gp_set_cat(e, mk_host(&p->t, GP_PYTHON, p->main, p->now, p->now + ns, name), category);
    if (state) gp_set_cat(e, mk_host(&p->t, GP_PYTHON, p->main, p->now, p->now + ns, state), category);
    gp_events_add(&p->t.events[GP_SAMPLE], p->now, ns, p->main,
                  gp_intern_cstr(&p->t.strings, state ? state : "running"));
    host(p, ns);
}

static void ten_kernels(struct program *p)
{
    for (int i = 0; i < 10; i++) host(p, 30 * US), kernel(p, GEMM, 2 * US);
    wait(p, "cudaDeviceSynchronize");
}

static void python_step(struct program *p)
{
    sampled(p, "train.py(12): shuffle", NULL, 5 * MS);
    ten_kernels(p);
}

static void waiting_step(struct program *p)
{
    sampled(p, "train.py(20): fetch_rates", "sleeping", 5 * MS);
    ten_kernels(p);
}

static void short_step(struct program *p)
{
    sampled(p, "train.py(12): shuffle", NULL, 900 * US);
    ten_kernels(p);
}

static void loading_step(struct program *p)
{
    sampled(p, "torch/utils/data/dataloader.py(9): __next__", NULL, 5 * MS);
    ten_kernels(p);
}

static void says(const struct program *p, const char *what, const char *action)
{
    const struct gp_suggestion *s = said(p, "python_overhead");
    assert_non_null(s);
    assert_non_null(strstr(gp_suggest_str(&p->s, s->description), what));
    assert_non_null(strstr(gp_suggest_str(&p->s, s->action), action));
}

/* Before the first kernel nothing is idle: nine of ten steps count. */
static void long_python_code_is_named(void **state)
{
    (void)state;
    struct program p;
    speaks(python_step, "python_overhead", 5 * MS / 2, 5 * MS);
    speaks(waiting_step, "python_overhead", 5 * MS / 2, 5 * MS);
    is_silent(short_step, "python_overhead");
    is_silent(loading_step, "python_overhead");
    run(&p, python_step);
    says(&p, "runs Python code for 4.50 ms per step, mainly in train.py(12): shuffle", "one call of NumPy");
    end(&p);
    run(&p, waiting_step);
    says(&p, "sleeps or waits for 4.50 ms per step, mainly in train.py(20): fetch_rates",
         "to another thread");
    end(&p);
}

/* A compiler saves the time between launches, which is 30 us before each of ten kernels, not the 5 ms of Python before them. */
static void launch_rules_leave_that_time_alone(void **state)
{
    (void)state;
    struct program p;
    run(&p, python_step);
    for (size_t i = 0; i < p.s.suggestions.n; i++) {
        const struct gp_suggestion *s = &p.s.suggestions.at[i];
        if (strcmp(s->rule->name, "python_overhead") != 0) assert_true(s->saving_high_ns < MS);
    }
    end(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(long_python_code_is_named),
        cmocka_unit_test(launch_rules_leave_that_time_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
