/* A program that records itself with gpuprof.h, on the pretended GPU. Prints what it gets. */
#include "mock.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "collect/gpuprof.h"

static void launch(unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        struct mock_event e = {.op = MOCK_LAUNCH, .stream = 7, .kernel = "_Z4gemmPf", .grid = 1};
        if (mock_do(&e)) exit(9);
    }
}

static int say(const char *what, int error, const gpuprof_session_t *session)
{
    if (error) printf("%s: %d %s\n", what, error, gpuprof_reason(error));
    else printf("%s: %s\n", what, session ? session->path : "ok");
    return error;
}

static void work(const char *name, unsigned n)
{
    gpuprof_session_t session = {.id = 0};
    if (say("begin", gpuprof_begin(&session, name, GPUPROF_SYNC), NULL)) return;
    {
        GPUPROF_RANGE("step");
        launch(n);
        GPUPROF_RANGE("inner");
        launch(n ? 1 : 0);
    }
    say("end", gpuprof_end(&session), &session);
}

/* Before CUDA is up, and after; outside of sessions, too. */
static int do_sessions(void)
{
    work("early", 0);
    cuInit(0);
    launch(5);
    work("first", 10);
    launch(7);
    work("second", 20);
    return 0;
}

/* CUDA is up before the process is attached. */
static int do_late(void)
{
    gpuprof_session_t session = {.id = 0};
    cuInit(0);
    launch(3);
    if (say("begin", gpuprof_begin(&session, "late", 0), NULL)) return 1;
    launch(4);
    printf("late %d\n", session.late);
    return say("end", gpuprof_end(&session), &session);
}

/* Sessions that nest and overlap. */
static int do_overlap(void)
{
    gpuprof_session_t a = {.id = 0}, b = {.id = 0};
    cuInit(0);
    gpuprof_begin(&a, "a", 0);
    launch(3);
    gpuprof_begin(&b, "b", 0);
    launch(5);
    say("end", gpuprof_end(&a), &a);
    launch(7);
    return say("end", gpuprof_end(&b), &b);
}

static int do_misuse(void)
{
    gpuprof_session_t session = {.id = 0}, relative = {.path = "here.trace"};
    say("end", gpuprof_end(&session), &session);
    gpuprof_pop();
    say("relative", gpuprof_begin(&relative, "x", 0), NULL);
    strcpy(session.path, "/no/such/folder/x.trace");
    cuInit(0);
    say("begin", gpuprof_begin(&session, "x", 0), NULL);
    say("end", gpuprof_end(&session), &session);
    say("again", gpuprof_end(&session), &session);
    return 0;
}

/* Only ranges: whoever listens gets them. */
static int do_plain(void)
{
    cuInit(0);
    for (int i = 0; i < 3; i++) {
        GPUPROF_RANGE("plain");
        launch(1);
    }
    gpuprof_stop(gpuprof_start(gpuprof_name("started"), NULL, 0));
    gpuprof_mark(gpuprof_name("here"), 7);
    return 0;
}

static jmp_buf out;

/* Metrics, marks, ranges of two threads, and leaving by longjmp: the range stays open, and its parent's pop
 * ends it. */
static void *other_thread(void *range)
{
    gpuprof_stop(*(uint64_t *)range);
    GPUPROF_RANGE("other");
    launch(1);
    return NULL;
}

static int do_ranges(void)
{
    gpuprof_session_t session = {.id = 0};
    gpuprof_metric_t m[] = {{"flops", 2e9, GPUPROF_SUM}, {"level", 0.5, GPUPROF_MAX}};
    pthread_t t;
    cuInit(0);
    gpuprof_begin(&session, "ranges; \"quoted\"/..", 0);
    uint64_t range = gpuprof_start(gpuprof_name("crossing"), NULL, 0);
    gpuprof_push_metrics(gpuprof_name("gemm"), m, 2);
    launch(2);
    gpuprof_mark(gpuprof_name("loss"), 42);
    gpuprof_pop();
    pthread_create(&t, NULL, other_thread, &range);
    pthread_join(t, NULL);
    gpuprof_push(gpuprof_name("outer"));
    if (!setjmp(out)) {
        gpuprof_push(gpuprof_name("left"));
        longjmp(out, 1);
    }
    gpuprof_pop();
    gpuprof_pop();
    printf("same %d\n", gpuprof_name("gemm") == gpuprof_name("gemm"));
    return say("end", gpuprof_end(&session), &session);
}

/* A fork child of an attached process, and the parent afterwards. */
static int do_fork(void)
{
    gpuprof_session_t session = {.id = 0};
    int status;
    cuInit(0);
    gpuprof_begin(&session, "fork", 0);
    launch(2);
    pid_t pid = fork();
    if (!pid) {
        gpuprof_session_t child = {.id = 0};
        GPUPROF_RANGE("child");
        say("child", gpuprof_begin(&child, "child", 0), NULL);
        fflush(stdout);
        _exit(0);
    }
    waitpid(pid, &status, 0);
    printf("children %d\n", waitpid(-1, &status, WNOHANG));
    launch(1);
    return say("end", gpuprof_end(&session), &session);
}

/* The launcher dies in a session. */
static int do_orphan(void)
{
    gpuprof_session_t session = {.id = 0};
    char command[300];
    cuInit(0);
    say("begin", gpuprof_begin(&session, "orphan", 0), NULL);
    launch(2);
    snprintf(command, sizeof command, "kill -9 $(echo %s | cut -d- -f2)", getenv("GPUPROF_SOCKET"));
    if (system(command)) return 8;
    launch(1);
    say("end", gpuprof_end(&session), &session);
    session.path[0] = 0;
    return !say("begin", gpuprof_begin(&session, "after", 0), NULL);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(void);
    } modes[] = {{"sessions", do_sessions}, {"late", do_late}, {"overlap", do_overlap}, {"misuse", do_misuse},
                 {"ranges", do_ranges},     {"fork", do_fork}, {"orphan", do_orphan},   {"plain", do_plain}};
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (size_t i = 0; argc > 1 && i < sizeof modes / sizeof *modes; i++)
        if (!strcmp(argv[1], modes[i].name)) return modes[i].run();
    return 2;
}
