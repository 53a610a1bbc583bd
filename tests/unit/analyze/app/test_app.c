#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "analyze/app/app.h"
#include "formats/base/err.h"
#include "formats/base/input.h"
#include "tests/unit/unit.h"

/* ---- sharing of threads ---- */

static void assert_shared(uint64_t asked, size_t inputs, size_t workers, int each)
{
    struct gp_threads t = gp_threads_share(asked, inputs);
    assert_int_equal(t.workers, workers);
    assert_int_equal(t.each, each);
}

TEST(threads_go_to_inputs_first_and_then_into_them)
{
    assert_shared(8, 1, 1, 8);
    assert_shared(8, 3, 3, 2); /* 2 are left over */
    assert_shared(8, 8, 8, 1);
    assert_shared(8, 100, 8, 1);
    assert_shared(1, 100, 1, 1);
    assert_shared(3, 2, 2, 1);
    assert_shared(64, 2, 2, 32);
    assert_shared(64, 100, 8, 8); /* at most 8 inputs at once */
    assert_shared(65, 1, 1, 64);  /* at most 64 threads */
    assert_shared(UINT64_MAX, 1, 1, 64);
    assert_shared(5, 0, 1, 5);
}

TEST(by_default_there_is_a_thread_per_processor)
{
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    assert_shared(0, 1, 1, online < 1 ? 1 : online > 8 ? 8 : (int)online);
}

/* ---- parts in their order ---- */

enum { PARTS = 200, NOBODY = PARTS };

struct parts {
    pthread_mutex_t lock;
    size_t fails; /* this part and every seventh after it; NOBODY: none */
    int read[PARTS], dropped[PARTS];
    size_t merged, reading_past;
    bool in_order;
};

static int read_part(void *ctx, size_t i, struct gp_err *err)
{
    struct parts *p = ctx;
    pthread_mutex_lock(&p->lock);
    p->read[i]++;
    if (i > p->merged + p->reading_past) p->reading_past = i - p->merged;
    pthread_mutex_unlock(&p->lock);
    /* some parts take longer than those behind them */
    if (i % 3 == 0) nanosleep(&(struct timespec){.tv_nsec = 300000}, NULL);
    if (i < p->fails || (i - p->fails) % 7) return 0;
    return gp_fail(err, GP_E_FORMAT, -1, "part %zu", i);
}

static void merge_part(void *ctx, size_t i)
{
    struct parts *p = ctx;
    pthread_mutex_lock(&p->lock);
    p->in_order &= i == p->merged && p->read[i] == 1;
    p->merged++;
    pthread_mutex_unlock(&p->lock);
}

static void drop_part(void *ctx, size_t i)
{
    struct parts *p = ctx;
    p->dropped[i]++;
}

static int read_parts(struct parts *p, size_t workers, size_t fails, struct gp_err *err)
{
    *p = (struct parts){.lock = PTHREAD_MUTEX_INITIALIZER, .fails = fails, .in_order = true};
    struct gp_read_all job = {
        .n = PARTS, .workers = workers, .read = read_part, .merge = merge_part, .drop = drop_part, .ctx = p};
    return gp_read_all(&job, err);
}

TEST(parts_are_merged_in_their_order)
{
    for (size_t workers = 0; workers <= 20; workers += 4) {
        struct parts p;
        assert_int_equal(read_parts(&p, workers, NOBODY, NULL), 0);
        assert_true(p.in_order);
        assert_int_equal(p.merged, PARTS);
        assert_true(p.reading_past <= 2 * (workers < 8 ? workers : 8) + 1);
        for (size_t i = 0; i < PARTS; i++) assert_int_equal(p.dropped[i], 0);
    }
}

/* Whoever fails first in time, the error is that of the first part that failed in their order. */
TEST(the_first_failure_is_reported_and_the_rest_dropped)
{
    for (size_t workers = 1; workers <= 8; workers++) {
        struct parts p;
        struct gp_err err = {0};
        assert_int_equal(read_parts(&p, workers, 50, &err), -1);
        assert_string_equal(err.msg, "part 50");
        assert_true(p.in_order);
        assert_int_equal(p.merged, 50);
        for (size_t i = 0; i < PARTS; i++) assert_int_equal(p.dropped[i], i < 50 ? 0 : p.read[i]);
        assert_int_equal(p.read[PARTS - 1], 0); /* nobody went on to the end */
    }
}

TEST(no_parts_are_no_work)
{
    struct gp_read_all none = {.workers = 4, .read = read_part, .ctx = NULL};
    assert_int_equal(gp_read_all(&none, NULL), 0);
}

/* ---- inputs ---- */

static const char good[] =
    "[{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":1,\"dur\":2,"
    "\"args\":{\"device\":0,\"stream\":7}}]";
/* The same, cut in a second event. */
static const char cut[] =
    "[{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":1,\"dur\":2,"
    "\"args\":{\"device\":0,\"stream\":7}},{\"ph\":\"X\"";

struct folder {
    char path[40];
    char good[60], cut[60], missing[60], classes[60];
};

static void put_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, strlen(text), f), strlen(text));
    assert_int_equal(fclose(f), 0);
}

static int make_folder(void **state)
{
    static struct folder d;
    snprintf(d.path, sizeof d.path, "/tmp/gpuprof-front-XXXXXX");
    if (!mkdtemp(d.path)) return -1;
    snprintf(d.good, sizeof d.good, "%s/good", d.path);
    snprintf(d.cut, sizeof d.cut, "%s/cut", d.path);
    snprintf(d.missing, sizeof d.missing, "%s/missing", d.path);
    snprintf(d.classes, sizeof d.classes, "%s/classes", d.path);
    put_file(d.good, good);
    put_file(d.cut, cut);
    put_file(d.classes, "^k$ communication\n");
    *state = &d;
    return 0;
}

static int remove_folder(void **state)
{
    const struct folder *d = *state;
    unlink(d->good);
    unlink(d->cut);
    unlink(d->classes);
    return rmdir(d->path);
}

static const struct gp_tool tool = {.name = "trace-x"};

/* What F prints to standard error while it describes T, with ISSUES or as it was judged. */
static const char *printed(const struct gp_app *f, const struct gp_trace *t,
                           const struct gp_input_quality *in, const struct gp_strings *s)
{
    static char text[1000];
    FILE *to = tmpfile();
    assert_non_null(to);
    fflush(stderr);
    int saved = dup(STDERR_FILENO);
    dup2(fileno(to), STDERR_FILENO);
    if (t) gp_app_warn_issues(f, t);
    else gp_app_warn_inputs(f, s, in, 1);
    fflush(stderr);
    dup2(saved, STDERR_FILENO);
    close(saved);
    rewind(to);
    text[fread(text, 1, sizeof text - 1, to)] = '\0';
    fclose(to);
    return text;
}

TEST(operands_are_the_inputs)
{
    static const char *const args[] = {"a", "b", "c"};
    struct gp_tool three = tool;
    struct gp_app_opts o = {.common = {.threads = 6, .progress = "never"}};
    struct gp_app f;
    assert_int_equal(gp_app_open(&f, &tool, &o, NULL), 0);
    assert_int_equal(f.n, 1);
    assert_string_equal(f.paths[0], "-");
    assert_int_equal(f.threads.each, 6);
    assert_null(f.classes);
    gp_app_close(&f);
    three.args = args;
    three.nargs = 3;
    assert_int_equal(gp_app_open(&f, &three, &o, NULL), 0);
    assert_int_equal(f.n, 3);
    assert_ptr_equal(f.paths, args);
    assert_int_equal(f.threads.workers, 3);
    assert_int_equal(f.threads.each, 2);
    gp_app_close(&f);
}

TEST_WITH(make_folder, remove_folder, a_damaged_input_is_read_and_reported_in_one_line)
{
    const struct folder *d = *state;
    const char *paths[] = {d->good, d->cut, d->missing};
    struct gp_app_opts o = {.common = {.threads = 1, .progress = "never"}};
    struct gp_app f;
    struct gp_trace t;
    struct gp_err err = {0};
    char want[200];
    assert_int_equal(gp_app_open(&f, &tool, &o, &err), 0);
    gp_app_inputs(&f, paths, 3);
    assert_int_equal(gp_app_trace(&f, 0, GP_NEED(GP_GPU), &t, &err), 0);
    assert_string_equal(printed(&f, &t, NULL, NULL), "");
    gp_trace_release(&t);
    assert_int_equal(gp_app_trace(&f, 1, GP_NEED(GP_GPU), &t, &err), 0);
    assert_int_equal(t.events[GP_GPU].n, 1);
    snprintf(want, sizeof want, "trace-x: %s: the input ends early (first at byte %zu)\n", d->cut,
             strlen(cut));
    assert_string_equal(printed(&f, &t, NULL, NULL), want);
    o.common.quiet = true;
    assert_string_equal(printed(&f, &t, NULL, NULL), "");
    gp_trace_release(&t);
    o.common.strict = true;
    assert_int_equal(gp_app_trace(&f, 1, GP_NEED(GP_GPU), &t, &err), -1);
    assert_int_equal(err.offset, strlen(cut));
    assert_int_equal(gp_app_trace(&f, 2, GP_NEED(GP_GPU), &t, &err), -1);
    assert_int_equal(err.code, GP_E_IO);
    assert_non_null(strstr(err.msg, d->missing));
    gp_app_close(&f);
}

struct reading {
    struct gp_app f;
    size_t kernels, merged;
    struct gp_trace t[4];
};

static int read_trace(void *ctx, size_t i, struct gp_err *err)
{
    struct reading *r = ctx;
    return gp_app_trace(&r->f, i, GP_NEED(GP_GPU), &r->t[i], err);
}

static void merge_trace(void *ctx, size_t i)
{
    struct reading *r = ctx;
    assert_int_equal(i, r->merged);
    r->merged++;
    r->kernels += r->t[i].events[GP_GPU].n;
    gp_trace_release(&r->t[i]);
}

TEST_WITH(make_folder, remove_folder, many_inputs_are_read_in_order_and_a_missing_one_is_named)
{
    const struct folder *d = *state;
    const char *paths[] = {d->good, d->cut, d->good, d->missing};
    for (uint64_t threads = 1; threads <= 8; threads++) {
        struct gp_app_opts o = {.common = {.threads = threads, .progress = "never"}};
        struct reading r = {0};
        struct gp_read_all job = {.read = read_trace, .merge = merge_trace, .ctx = &r};
        struct gp_err err = {0};
        assert_int_equal(gp_app_open(&r.f, &tool, &o, &err), 0);
        gp_app_inputs(&r.f, paths, 3);
        assert_int_equal(gp_app_read_all(&r.f, &job, &err), 0);
        assert_int_equal(r.kernels, 3);
        r.merged = 0;
        gp_app_inputs(&r.f, paths, 4);
        assert_int_equal(gp_app_read_all(&r.f, &job, &err), -1);
        assert_int_equal(r.merged, 3);
        assert_non_null(strstr(err.msg, d->missing));
        gp_app_close(&r.f);
    }
}

TEST_WITH(make_folder, remove_folder, classes_come_from_a_file_that_errors_name)
{
    const struct folder *d = *state;
    struct gp_app_opts o = {.common = {.progress = "never"}, .classes = d->classes};
    struct gp_app f;
    struct gp_err err = {0};
    char want[200];
    assert_int_equal(gp_app_open(&f, &tool, &o, &err), 0);
    assert_int_equal(gp_class_of(gp_classify(f.classes, GP_KERNEL, "k", 1)), GP_CLASS_COMMUNICATION);
    gp_app_close(&f);
    o.classes = d->good; /* no rules */
    assert_int_equal(gp_app_open(&f, &tool, &o, &err), -1);
    snprintf(want, sizeof want, "%s: ", d->good);
    assert_memory_equal(err.msg, want, strlen(want));
    gp_app_close(&f);
    o.classes = d->missing;
    assert_int_equal(gp_app_open(&f, &tool, &o, &err), -1);
    gp_app_close(&f);
}

TEST(nothing_on_the_gpu_is_an_error_unless_allowed)
{
    static const char *const paths[] = {"a", "b"};
    struct gp_app_opts o = {.common = {.progress = "never"}};
    struct gp_app f;
    struct gp_err err = {0};
    assert_int_equal(gp_app_open(&f, &tool, &o, &err), 0);
    assert_int_equal(gp_app_check_empty(&f, 1, false, &err), 0);
    assert_int_equal(gp_app_check_empty(&f, 0, false, &err), -1);
    assert_string_equal(err.msg, "-: no GPU events");
    gp_app_inputs(&f, paths, 2);
    assert_int_equal(gp_app_check_empty(&f, 0, false, &err), -1);
    assert_string_equal(err.msg, "none of 2 inputs has GPU events");
    o.allow_empty = true;
    assert_int_equal(gp_app_check_empty(&f, 0, false, &err), 0);
    gp_app_close(&f);
}

TEST(a_judged_input_is_reported_when_it_is_damaged)
{
    struct gp_app_opts o = {.common = {.progress = "never"}};
    struct gp_app f;
    struct gp_strings s = {0};
    struct gp_input_quality in = {.path = gp_intern_cstr(&s, "a.json"),
                                  .verdict = gp_intern_cstr(&s, "repaired")};
    for (int k = 0; k < GP_ISSUE_COUNT; k++) in.issues[k].first_offset = -1;
    in.issues[GP_Q_BAD_DURATION] = (struct gp_issue){1234, 56789};
    in.issues[GP_Q_NO_CORRELATION].count = 2;
    assert_int_equal(gp_app_open(&f, &tool, &o, NULL), 0);
    assert_string_equal(printed(&f, NULL, &in, &s),
                        "trace-x: a.json: durations that are missing or invalid, read as 0: 1,234 "
                        "(first at byte 56789); GPU events without a usable launch record: 2\n");
    in.verdict = gp_intern_cstr(&s, "clean");
    assert_string_equal(printed(&f, NULL, &in, &s), "");
    gp_app_close(&f);
    gp_strings_release(&s);
}
