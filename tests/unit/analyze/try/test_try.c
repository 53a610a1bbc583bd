// Rows of trials: what is read of them, what is unknown, and when they are believed.
#include <math.h>
#include <string.h>
#include "analyze/try/try.h"
#include "formats/base/buf.h"
#include "formats/base/err.h"
#include "tests/unit/unit.h"

#define MEASURED(kind, name, low, high)                                                                      \
    "{\"kind\": \"" kind "\", \"row\": {\"change\": \"" name                                                 \
    "\", \"status\": \"measured\", \"off_ns\": 900, \"on_ns\": 700, \"saving_ns\": 200, \"low_ns\": " low    \
    ", \"high_ns\": " high ", \"pairs\": 8, \"later\": [1]}}\n"

static void read_text(struct gp_try *t, const char *text)
{
    struct gp_err err = {0};
    *t = (struct gp_try){0};
    assert_int_equal(gp_try_read(t, text, strlen(text), &err), 0);
}

TEST(a_row_is_read)
{
    struct gp_try t;
    read_text(
        &t, "{\"kind\": \"steps\", \"row\": {\"name\": \"a step ends with X.step()\", \"device\": null}}\n"
            "{\"row\": {\"change\": \"caf\\u00e9\", \"status\": \"measured\", \"mode\": \"processes\", "
            "\"off_ns\": 900, "
            "\"on_ns\": 1000, \"saving_ns\": -100, \"low_ns\": -150, \"high_ns\": -50, \"drift_pct\": -2.5, "
            "\"what_if\": true, \"rule\": \"optimizer\", \"predicted_low_ns\": 5, \"peak_bytes_off\": 1, "
            "\"difference\": {\"loss_relative\": 1e-3, \"loss_on\": null}, \"notes\": [\"a\", 3, \"b\"], "
            "\"samples\": [{\"off_ns\": 9, \"on_ns\": 8}, {\"off_ns\": 9}, {\"off_ns\": -1, \"on_ns\": 8}]}, "
            "\"kind\": \"trial\"}\n\n");
    assert_string_equal(t.steps, "a step ends with X.step()");
    assert_null(t.device);
    const struct gp_trial *r = &t.trials.at[0];
    assert_string_equal(r->change, "caf\xc3\xa9");
    assert_string_equal(r->mode, "processes");
    assert_true(gp_trial_measured(r) && !gp_trial_helps(r) && r->what_if && r->compared);
    assert_int_equal(r->saving_ns, -100);
    assert_int_equal(r->predicted_low_ns, 5);
    assert_true(r->predicted_high_ns == GP_TRY_UNKNOWN && r->peak_bytes_on == GP_TRY_UNKNOWN &&
                r->pairs == 0);
    assert_true(r->drift_pct < -2.4 && isnan(r->difference.loss_on) && isnan(r->difference.noise_relative));
    assert_int_equal(r->notes.n, 2);
    assert_int_equal(r->samples.n, 1);
    gp_try_release(&t);
}

TEST(an_answer_is_read_as_its_rows_were)
{
    static const char row[] = "{\"change\": \"a\", \"status\": \"measured\", \"off_ns\": 9, \"on_ns\": 7, "
                              "\"saving_ns\": 2, \"low_ns\": 1, \"high_ns\": 3}";
    struct gp_try t = {0};
    struct gp_err err = {0};
    struct gp_buf b = {0};
    gp_buf_printf(&b,
                  "{\"schema\": \"gpuprof/gpuprof-try/1\", \"device\": \"X\", \"trusted\": true, \"trials\": "
                  "[%s, %s, 3], "
                  "\"control\": %s, \"together\": null}",
                  row, row, row);
    assert_int_equal(gp_try_load(&t, b.data, b.n, &err), 0);
    assert_true(t.trials.n == 2 && t.control.n == 1 && !t.together.n && gp_trial_helps(&t.trials.at[1]));
    assert_string_equal(t.device, "X");
    assert_false(gp_try_trusted(&t));
    gp_try_release(&t);
    gp_buf_release(&b);
    assert_int_equal(gp_try_load(&t, "{\"trials\": []}", 14, &err), -1);
    gp_try_release(&t);
}

TEST(what_cannot_be_is_not_measured)
{
    struct gp_try t;
    read_text(&t,
              "{\"kind\": \"trial\", \"row\": {}}\n"
              "{\"kind\": \"trial\", \"row\": {\"change\": \"a\", \"status\": \"measured\", \"off_ns\": 1}}\n"
              "{\"kind\": \"trial\", \"row\": {\"change\": 7, \"status\": \"not_applicable\", \"reason\": "
              "\"no\"}}\n"
              "{\"kind\": \"of a later version\", \"row\": {}}\n");
    assert_int_equal(t.trials.n, 3);
    for (size_t i = 0; i < 3; i++) assert_false(gp_trial_measured(&t.trials.at[i]));
    assert_string_equal(t.trials.at[1].status, "failed");
    assert_true(t.trials.at[1].off_ns == GP_TRY_UNKNOWN);
    assert_string_equal(t.trials.at[2].reason, "no");
    gp_try_release(&t);
}

TEST(damage_is_located)
{
    struct gp_try t = {0};
    struct gp_err err = {0};
    const char *text = MEASURED("trial", "a", "100", "300") "{\"kind\": \"trial\"}\n";
    assert_int_equal(gp_try_read(&t, text, strlen(text), &err), -1);
    assert_int_equal(err.offset, strchr(text, '\n') + 1 - text);
    assert_int_equal(t.trials.n, 1);
    gp_try_release(&t);
    assert_int_equal(gp_try_read(&t, "{\"a\"", 4, &err), -1);
    gp_try_release(&t);
}

TEST(the_control_decides)
{
    static const struct {
        const char *text;
        bool trusted;
    } cases[] = {{"", false},
                 {MEASURED("trial", "a", "100", "300"), false},
                 {MEASURED("trial", "a", "100", "300") MEASURED("control", "control", "-1", "300"), true},
                 {MEASURED("trial", "a", "100", "300") MEASURED("control", "control", "1", "300"), false},
                 {MEASURED("control", "control", "-1", "1"), false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gp_try t;
        read_text(&t, cases[i].text);
        assert_int_equal(gp_try_trusted(&t), cases[i].trusted);
        gp_try_release(&t);
    }
}

TEST(effects_are_words)
{
    static const struct {
        double loss, outputs;
        int64_t off, on;
        const char *words;
    } cases[] = {{0.0005, NAN, GP_TRY_UNKNOWN, GP_TRY_UNKNOWN, "loss equal to 3 digits"},
                 {0, 0.5, 1000, 800001000, "loss equal, 0.8 GB more memory"},
                 {NAN, 0.25, 90000000, 30000000, "outputs differ by 25%, 60 MB less memory"},
                 {NAN, NAN, 5, 6, "no more memory"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gp_trial r = {.compared = true, .peak_bytes_off = cases[i].off, .peak_bytes_on = cases[i].on};
        struct gp_buf b = {0};
        r.difference = (struct gp_try_difference){NAN, NAN, cases[i].loss, cases[i].outputs, NAN, NAN};
        gp_trial_put_effect(&b, &r);
        assert_string_equal(gp_buf_str(&b), cases[i].words);
        gp_buf_release(&b);
    }
}
