/* Children of the server: this program is also the tool that they run, which does what its option names. */
#define UNIT_OWN_MAIN
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "formats/base/err.h"
#include "formats/base/str.h"
#include "render/serve/child.h"
#include "tests/unit/unit.h"

/* ---- the tool ---- */

static void show(const char *path, const char *key)
{
    char line[256];
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f))
        if (gp_starts(line, key)) fputs(line, stdout);
    if (f) fclose(f);
}

static int write_much(void)
{
    signal(SIGXFSZ, SIG_IGN);
    char *bytes = calloc(1, 1 << 20);
    int failed = !bytes || fwrite(bytes, 1, 1 << 20, stdout) != 1 << 20 || fflush(stdout);
    free(bytes);
    if (failed) fprintf(stderr, "tool: standard output: %s\n", strerror(errno));
    return failed ? 2 : 0;
}

static int act(const char *what, char **argv, int argc)
{
    if (!strcmp(what, "echo"))
        for (int i = 2; i < argc; i++) printf("%s\n", argv[i]);
    else if (!strcmp(what, "read")) show(argv[argc - 1], "");
    else if (!strcmp(what, "refuse")) return fprintf(stderr, "test_child: a.trace: no good\nmore\n"), 2;
    else if (!strcmp(what, "die")) raise(SIGKILL);
    else if (!strcmp(what, "sleep")) pause();
    else if (!strcmp(what, "much")) return write_much();
    else if (!strcmp(what, "rights")) show("/proc/self/status", "NoNewPrivs");
    else if (!strcmp(what, "files")) {
        for (int fd = 0; fd < 256; fd++)
            if (fcntl(fd, F_GETFD) >= 0) printf("%d ", fd);
        printf("%s", getenv("SECRET") ? "secret" : "");
    } else if (!strcmp(what, "memory")) {
        void *p = malloc((size_t)1 << 30);
        printf("%s", p ? "got it" : "none");
        free(p);
    }
    return 0;
}

/* ---- the tests ---- */

static struct gp_crew *crew(int64_t time_ns, uint64_t memory)
{
    static const char *const env[] = {"LC_ALL=C", "ASAN_OPTIONS=allocator_may_return_null=1:detect_leaks=0",
                                      NULL};
    static char folder[4096];
    struct gp_err err = {0};
    ssize_t n = readlink("/proc/self/exe", folder, sizeof folder - 1);
    assert_true(n > 0);
    folder[n] = 0;
    *strrchr(folder, '/') = 0;
    struct gp_crew_opts o = {.at_once = 1,
                             .memory_bytes = memory,
                             .output_bytes = 100000,
                             .time_ns = time_ns,
                             .tools = folder,
                             .scratch = "/tmp",
                             .env = env};
    struct gp_crew *c = gp_crew_new(&o, &err);
    assert_non_null(c);
    return c;
}

/* The status of asking the tool to do WHAT about the file with descriptor FD; its answer in TEXT. */
static int ask(struct gp_crew *c, const char *what, int fd, char *text, size_t size, struct gp_err *err)
{
    const char *const options[] = {what};
    struct gp_child_file file = {fd, "deep/folder/a b.trace", NULL};
    struct gp_job job = {
        .tool = "test_child", .options = options, .noptions = 1, .files = &file, .nfiles = fd >= 0 ? 1 : 0};
    int status = gp_crew_run(c, &job, err);
    *text = 0;
    if (status) assert_null(job.answer);
    else {
        uint64_t n = gp_blob_whole(job.answer)->n;
        if (n) memcpy(text, gp_blob_map(job.answer), n < size ? n : size - 1);
        text[n < size ? n : size - 1] = 0;
    }
    gp_blob_drop(job.answer);
    return status;
}

TEST(test_answers)
{
    struct gp_crew *c = crew(INT64_C(60000000000), 0);
    struct gp_err err = {0};
    char text[512], path[] = "/tmp/gpuprof-test-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0 && write(fd, "hello\n", 6) == 6);
    unlink(path); /* a child needs no name */
    assert_int_equal(ask(c, "--act=echo", fd, text, sizeof text, &err), 0);
    assert_string_equal(text, "--\ndeep/folder/a b.trace\n");
    assert_int_equal(ask(c, "--act=read", fd, text, sizeof text, &err), 0);
    assert_string_equal(text, "hello\n");
    assert_int_equal(ask(c, "--act=read", fd, text, sizeof text, &err), 0); /* from its start again */
    assert_string_equal(text, "hello\n");
    setenv("SECRET", "x", 1);
    assert_int_equal(ask(c, "--act=files", fd, text, sizeof text, &err), 0);
    assert_string_equal(text, "0 1 2 3 ");
    assert_int_equal(ask(c, "--act=rights", fd, text, sizeof text, &err), 0);
    assert_string_equal(text, "NoNewPrivs:\t1\n");
    assert_true(gp_crew_has(c, "test_child"));
    assert_false(gp_crew_has(c, "no-such-tool"));
    close(fd);
    gp_crew_free(c);
}

TEST(test_failures)
{
    struct gp_crew *c = crew(INT64_C(60000000000), 0);
    struct gp_err err = {0};
    char text[64];
    assert_int_equal(ask(c, "--act=refuse", -1, text, sizeof text, &err), 422);
    assert_string_equal(err.msg, "a.trace: no good");
    assert_int_equal(ask(c, "--act=die", -1, text, sizeof text, &err), 502);
    assert_string_equal(err.msg, "test_child was ended by signal 9");
    assert_int_equal(ask(c, "--act=much", -1, text, sizeof text, &err), 422); /* beyond output_bytes */
    assert_non_null(strstr(err.msg, "File too large"));
    assert_int_equal(ask(c, "--act=nothing", -1, text, sizeof text, &err), 422); /* no answer */
    assert_int_equal(ask(c, "--act=rights", -1, text, sizeof text, &err), 0);    /* and goes on */
    gp_crew_free(c);
}

TEST(test_limits)
{
    struct gp_crew *c = crew(200000000, 0);
    struct gp_err err = {0};
    char text[64];
    assert_int_equal(ask(c, "--act=sleep", -1, text, sizeof text, &err), 504);
    gp_crew_stop(c);
    assert_int_equal(ask(c, "--act=rights", -1, text, sizeof text, &err), 503);
    gp_crew_free(c);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* whose shadows are beyond any limit */
    c = crew(INT64_C(60000000000), 256 << 20);
    assert_int_equal(ask(c, "--act=memory", -1, text, sizeof text, &err), 0);
    assert_string_equal(text, "none");
    gp_crew_free(c);
#endif
}

int main(int argc, char **argv)
{
    if (argc > 1 && gp_starts(argv[1], "--act=")) return act(strchr(argv[1], '=') + 1, argv, argc);
    return unit_run();
}
