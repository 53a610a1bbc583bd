/* A program that uses the pretended GPU of mock.h, in ways whose record counts follow from the arguments. */
#include "mock.h"

#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static unsigned arg(int argc, char **argv, int i, unsigned dflt)
{
    return i < argc ? (unsigned)strtoul(argv[i], NULL, 10) : dflt;
}

static void rest(unsigned ms)
{
    struct timespec t = {ms / 1000, (long)(ms % 1000) * 1000000};
    while (nanosleep(&t, &t)) continue;
}

static void launch(unsigned n, unsigned streams)
{
    static const char *const names[] = {"_Z4gemmPf", "_Z4reluPf", "ncclDevKernel_AllReduce"};
    for (unsigned i = 0; i < n; i++) {
        struct mock_event e = {
            .op = MOCK_LAUNCH, .stream = 7 + i % streams, .kernel = names[i % 3], .grid = 1 + i % 5};
        if (mock_do(&e)) exit(9);
    }
}

static void once(enum mock_op op, uint64_t bytes, uint32_t count)
{
    struct mock_event e = {.op = op, .stream = 7, .kernel = "_Z4nodePf", .bytes = bytes, .count = count};
    if (mock_do(&e)) exit(9);
}

struct work {
    unsigned n, streams;
};

static void *launch_thread(void *ctx)
{
    const struct work *w = ctx;
    launch(w->n, w->streams);
    return NULL;
}

/* launch N T S: N launches by each of T threads over S streams. */
static int do_launch(int argc, char **argv)
{
    struct work w = {arg(argc, argv, 2, 100), arg(argc, argv, 4, 1)};
    unsigned threads = arg(argc, argv, 3, 1);
    pthread_t t[64];
    cuInit(0);
    for (unsigned i = 0; i < threads && i < 64; i++) pthread_create(&t[i], NULL, launch_thread, &w);
    for (unsigned i = 0; i < threads && i < 64; i++) pthread_join(t[i], NULL);
    return 0;
}

/* mix: 3 copies of 1000 bytes, 1 peer copy, 2 sets of 50 bytes, 4 waits, 5 allocations, 2 graphs of 10 nodes,
 * 6 driver launches, 1 kernel that starts early, 1 without times. With "window", profiling is started
 * first. */
static int do_mix(int argc, char **argv)
{
    (void)argv;
    cuInit(0);
    if (argc > 2) once(MOCK_PROFILER_START, 0, 0);
    for (int i = 0; i < 3; i++) once(MOCK_COPY, 1000, 0);
    once(MOCK_PEER_COPY, 500, 0);
    for (int i = 0; i < 2; i++) once(MOCK_SET, 50, 0);
    for (int i = 0; i < 4; i++) once(MOCK_SYNC, 0, 0);
    for (int i = 0; i < 5; i++) once(MOCK_MALLOC, 0, 0);
    for (int i = 0; i < 2; i++) once(MOCK_GRAPH, 0, 10);
    for (int i = 0; i < 6; i++) once(MOCK_DRIVER_LAUNCH, 0, 0);
    once(MOCK_EARLY, 0, 0);
    once(MOCK_BAD_TIME, 0, 0);
    return 0;
}

/* die HOW N MS: N launches, then MS of rest, then the end by HOW. */
static int do_die(int argc, char **argv)
{
    const char *how = argc > 2 ? argv[2] : "";
    cuInit(0);
    launch(arg(argc, argv, 3, 100), 1);
    rest(arg(argc, argv, 4, 0));
    if (!strcmp(how, "_exit")) _exit(3);
    if (!strcmp(how, "exit")) exit(4);
    if (!strcmp(how, "abort")) abort();
    if (!strcmp(how, "segv")) kill(getpid(), SIGSEGV);
    if (!strcmp(how, "torn")) once(MOCK_TORN, 0, 0);
    if (!strcmp(how, "kill")) kill(getpid(), SIGKILL);
    if (!strcmp(how, "term")) kill(getpid(), SIGTERM);
    return 5;
}

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static _Atomic unsigned launched;

/* Kills the process after MS, having told how much it has launched by then. */
static void *killer(void *ctx)
{
    rest(*(const unsigned *)ctx);
    fprintf(stderr, "app: launched %u\n", (unsigned)launched);
    kill(getpid(), SIGKILL);
    return NULL;
}

static void *launch_for_ever(void *ctx)
{
    (void)ctx;
    for (;;) {
        launch(1, 1);
        rest(1);
    }
    return NULL;
}

/* serve T: T threads launch all the time; each line of standard input is a number of launches by the first
 * thread, or "s" for one whose kernel never ends; it waits in poll() and answers "done". */
static int do_serve(int argc, char **argv)
{
    pthread_t t;
    char line[64];
    cuInit(0);
    launch(5, 1);
    for (unsigned i = arg(argc, argv, 2, 0); i; i--) pthread_create(&t, NULL, launch_for_ever, NULL);
    for (struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};;) {
        if (poll(&p, 1, -1) < 0) return 7; /* nothing may interrupt it */
        ssize_t n = read(STDIN_FILENO, line, sizeof line - 1);
        if (n <= 0) return 0;
        line[n] = 0;
        if (*line == 's') once(MOCK_STUCK, 0, 0);
        launch((unsigned)strtoul(line, NULL, 10), 1);
        printf("done\n");
        fflush(stdout);
    }
}

/* killed MS: launches all the time, and is killed after MS. */
static int do_killed(int argc, char **argv)
{
    unsigned ms = arg(argc, argv, 2, 100);
    pthread_t t;
    cuInit(0);
    pthread_create(&t, NULL, killer, &ms);
    for (;;) {
        launch(1, 1);
        if (++launched % 4 == 0) rest(1);
    }
    return 0;
}

/* open HOW MS: a range in which there are 10 launches and one of another name, then MS of rest, and the end
 * by HOW inside it. */
static int do_open(int argc, char **argv)
{
    cuInit(0);
    nvtxRangePushA("outer");
    nvtxRangePushA("done");
    launch(10, 1);
    nvtxRangePop();
    rest(arg(argc, argv, 3, 0));
    launch(1, 1);
    if (argc > 2 && !strcmp(argv[2], "abort")) abort();
    _exit(3);
}

/* stuck N: N launches and one whose kernel never ends. */
static int do_stuck(int argc, char **argv)
{
    cuInit(0);
    launch(arg(argc, argv, 2, 10), 1);
    once(MOCK_STUCK, 0, 0);
    return 0;
}

static void *allocate_elsewhere(void *ctx)
{
    (void)ctx;
    once(MOCK_MALLOC_ASYNC, 200, 4096);
    return NULL;
}

/* memory: 3 times 1000 bytes on the device, 500 pinned, 200 from a pool of 4096 on another thread; the first
 * and, by a record without a size, the second are freed. */
static int do_memory(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    pthread_t t;
    cuInit(0);
    for (int i = 0; i < 3; i++) once(MOCK_MALLOC, 1000, 0);
    once(MOCK_MALLOC_HOST, 500, 0);
    pthread_create(&t, NULL, allocate_elsewhere, NULL);
    pthread_join(t, NULL);
    once(MOCK_FREE, 1000, 1);
    once(MOCK_FREE, 0, 2);
    launch(5, 1);
    return 0;
}

/* mapped: an allocation of 1000 bytes, and two pieces of 2 MiB that are mapped one behind the other. */
static int do_mapped(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    cuInit(0);
    once(MOCK_MALLOC, 1000, 0);
    for (int i = 0; i < 2; i++) once(MOCK_MAP, 2 << 20, 0);
    launch(1, 1);
    return 0;
}

/* unified: 2 migrations of 4096 bytes to the device, 1 of 1000 back, 1 of 500 between devices, 3 page faults
 * of the CPU, 1 of the GPU (7 groups), 1 thrashing, 1 throttling and 1 remote map of 64; 2 launches. */
static int do_unified(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    cuInit(0);
    launch(2, 1);
    for (int i = 0; i < 2; i++) once(MOCK_UNIFIED, 4096, 1);
    once(MOCK_UNIFIED, 1000, 2);
    once(MOCK_UNIFIED, 500, 8);
    for (int i = 0; i < 3; i++) once(MOCK_UNIFIED, 0x400123, 3);
    once(MOCK_UNIFIED, 7, 4);
    once(MOCK_UNIFIED, 64, 5);
    once(MOCK_UNIFIED, 0, 6);
    once(MOCK_UNIFIED, 64, 7);
    return 0;
}

/* scopes: step { 1000 bytes allocated, layer { 500 allocated, 100 copied }, the 1000 freed }, twice; 7 copied
 * outside. */
static int do_scopes(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    cuInit(0);
    for (uint32_t i = 0; i < 2; i++) {
        nvtxRangePushA("step");
        once(MOCK_MALLOC, 1000, 0);
        nvtxRangePushA("layer");
        once(MOCK_MALLOC, 500, 0);
        once(MOCK_COPY, 100, 0);
        nvtxRangePop();
        once(MOCK_FREE, 1000, 1 + 2 * i);
        nvtxRangePop();
    }
    once(MOCK_COPY, 7, 0);
    return 0;
}

/* storm N M MS: N launches of a graph of M nodes, MS of rest, and N more, with a launch of a kernel behind
 * them. */
static int do_storm(int argc, char **argv)
{
    unsigned n = arg(argc, argv, 2, 10), nodes = arg(argc, argv, 3, 10);
    cuInit(0);
    for (unsigned i = 0; i < n; i++) once(MOCK_GRAPH, 0, nodes);
    rest(arg(argc, argv, 4, 0));
    for (unsigned i = 0; i < n; i++) once(MOCK_GRAPH, 0, nodes);
    launch(1, 1);
    return 0;
}

/* rare: a pool is created, trimmed and destroyed; code is found in the cache, compiled and stored; modules
 * and functions are loaded. */
static int do_rare(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    cuInit(0);
    once(MOCK_POOL, 0, 1);
    once(MOCK_POOL, 0, 3);
    once(MOCK_POOL, 0, 2);
    for (uint32_t i = 1; i <= 3; i++) once(MOCK_JIT, 0, i);
    once(MOCK_LOAD, 0, 4);
    once(MOCK_LOAD, 0, 5);
    launch(1, 1);
    return 0;
}

static void event(enum mock_op op, uint32_t stream, uint32_t number)
{
    struct mock_event e = {.op = op, .stream = stream, .count = number};
    if (mock_do(&e)) exit(9);
}

static void *wait_elsewhere(void *ctx)
{
    (void)ctx;
    event(MOCK_STREAM_WAIT, 8, 3);
    return NULL;
}

/* events: event 3 is recorded on stream 7, stream 8 waits for it, on another thread; it is recorded again, on
 * stream 9, and the host waits for it; event 4, which was never recorded, is waited for; event 5 is only part
 * of a graph. */
static int do_events(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    pthread_t t;
    cuInit(0);
    launch(2, 1);
    event(MOCK_EVENT_RECORD, 7, 3);
    pthread_create(&t, NULL, wait_elsewhere, NULL);
    pthread_join(t, NULL);
    event(MOCK_EVENT_RECORD, 9, 3);
    event(MOCK_EVENT_SYNC, 0, 3);
    event(MOCK_STREAM_WAIT, 8, 4);
    event(MOCK_CAPTURING, 7, 1);
    event(MOCK_EVENT_RECORD, 7, 5);
    event(MOCK_STREAM_WAIT, 8, 5);
    event(MOCK_CAPTURING, 7, 0);
    return 0;
}

/* gate: phases of launches, 63 in all: 10, 20 between cudaProfilerStart() and Stop(), 5, 8 in a range "train"
 * of which 1 in "inner", 3, 11 in another "train", 2 in a start/end range "span", and 4 after
 * cudaProfilerStart() again. */
static int do_gate(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    cuInit(0);
    launch(10, 1);
    once(MOCK_PROFILER_START, 0, 0);
    launch(20, 1);
    once(MOCK_PROFILER_STOP, 0, 0);
    launch(5, 1);
    nvtxRangePushA("train");
    launch(7, 1);
    nvtxRangePushA("inner");
    launch(1, 1);
    nvtxRangePop();
    nvtxRangePop();
    launch(3, 1);
    nvtxRangePushA("train");
    launch(11, 1);
    nvtxRangePop();
    nvtxRangeId_t id = nvtxRangeStartA("span");
    launch(2, 1);
    nvtxRangeEnd(id);
    once(MOCK_PROFILER_START, 0, 0);
    launch(4, 1);
    return 0;
}

static int wait_for(pid_t pid)
{
    int status;
    if (waitpid(pid, &status, 0) != pid) return 99;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 98;
}

/* fork HOW N: the parent uses CUDA, then a child that does nothing ("idle"), pushes ranges ("nvtx"), tries to
 * use CUDA all the same ("uses"), outlives its parent ("stays") or becomes another program that uses CUDA
 * ("exec"); "first": the child is made before either of them uses CUDA, and both do. */
static int do_fork(int argc, char **argv)
{
    const char *how = argc > 2 ? argv[2] : "idle";
    unsigned n = arg(argc, argv, 3, 10);
    if (!strcmp(how, "first")) {
        nvtxRangePushA("before");
        nvtxRangePop();
    } else {
        cuInit(0);
        launch(n, 1);
    }
    pid_t pid = fork();
    if (!pid && !strcmp(how, "exec")) {
        execl("/proc/self/exe", "app", "launch", "30", "1", "1", (char *)NULL);
        _exit(97);
    }
    if (!pid && !strcmp(how, "nvtx")) {
        nvtxRangePushA("child");
        nvtxRangePop();
    }
    if (!pid && !strcmp(how, "first")) {
        cuInit(0);
        launch(n, 1);
    }
    if (!strcmp(how, "uses")) { /* after its parent has gone on */
        if (pid) launch(n, 1);
        else rest(200);
    }
    for (unsigned i = 0; !pid && !strcmp(how, "uses") && i < n; i++) {
        struct mock_event e = {.op = MOCK_LAUNCH, .stream = 7};
        if (!mock_do(&e)) exit(8);
    }
    if (!pid && !strcmp(how, "stays")) rest(3000);
    if (!pid) exit(0);
    if (!strcmp(how, "stays")) kill(getpid(), SIGKILL);
    int rc = wait_for(pid);
    if (!strcmp(how, "first")) cuInit(0);
    launch(n, 1);
    return rc;
}

static void *stop_elsewhere(void *ctx)
{
    const nvtxRangeId_t *id = ctx;
    nvtxRangeEnd(*id);
    return NULL;
}

/* nvtx: outer{ inner x3 } with launches, one in a domain with a registered string, one in wide characters,
 * one start/end range that ends on another thread, a mark, and one push that is never popped. */
static int do_nvtx(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    nvtxRangePushA("outer"); /* before CUDA is there */
    cuInit(0);
    for (int i = 0; i < 3; i++) {
        nvtxRangePushA("inner");
        launch(2, 1);
        nvtxRangePop();
    }
    nvtxDomainHandle_t d = nvtxDomainCreateA("lib");
    nvtxEventAttributes_t a = {.version = NVTX_VERSION,
                               .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
                               .messageType = NVTX_MESSAGE_TYPE_REGISTERED};
    a.message.registered = nvtxDomainRegisterStringA(d, "step");
    nvtxDomainRangePushEx(d, &a);
    nvtxDomainRangePop(d);
    nvtxRangePushW(L"gr\u00f6\u00dfe");
    nvtxRangePop();
    nvtxRangeId_t id = nvtxRangeStartA("span");
    pthread_t t;
    pthread_create(&t, NULL, stop_elsewhere, &id);
    pthread_join(t, NULL);
    nvtxMarkA("here");
    nvtxRangePop();
    nvtxRangePushA("left open");
    return 0;
}

static void capture(uint32_t graph, const char *kernel)
{
    struct mock_event e = {.op = MOCK_CAPTURE, .count = graph, .kernel = kernel};
    if (mock_do(&e)) exit(9);
}

static void instantiate(uint32_t graph, uint32_t from) { once(MOCK_INSTANTIATE, from, graph); }

/* Pretended calls take 1000 ns, during which nothing else may be done. */
static void replay(uint32_t graph)
{
    int64_t end_ns = now_ns() + 5000;
    once(MOCK_REPLAY, 0, graph);
    while (now_ns() < end_ns) continue;
}

/* Graph 0: five nodes, of 100 to 500 ns, under "main" and what is inside; the last one only under "main". */
static void capture_layers(void)
{
    nvtxRangePushA("warm-up");
    for (int layer = 0; layer < 2; layer++) {
        nvtxRangePushA(layer ? "layer 1" : "layer 0");
        nvtxRangePushA("attention");
        capture(0, "_Z4attnPf");
        nvtxRangePop();
        capture(0, "_Z3mlpPf");
        nvtxRangePop();
    }
    nvtxRangePop();
    capture(0, "_Z4headPf");
}

static void *replay_steps(void *ctx)
{
    const uint32_t *graph = ctx;
    nvtxRangePushA("main");
    for (int step = 0; step < 3; step++) {
        nvtxRangePushA("step");
        replay(*graph);
        nvtxRangePop();
    }
    nvtxRangePop();
    return NULL;
}

/* Graphs 2 and 3: a clone of 1, and a clone of that. */
static void *clone_elsewhere(void *ctx)
{
    (void)ctx;
    nvtxRangePushA("elsewhere");
    instantiate(2, 1);
    instantiate(3, 2);
    nvtxRangePop();
    return NULL;
}

/* graph HOW: five nodes are captured under nested ranges, and a graph made of them is replayed three times,
 * in a step each, on another thread. "clones": of a clone of a clone that another thread makes; "late":
 * between them recording is started; "kill": killed 300 ms after that; "many N": replays of N instantiations
 * instead. */
static int do_graph(int argc, char **argv)
{
    const char *how = argc > 2 ? argv[2] : "plain";
    uint32_t graph = 1;
    pthread_t t;
    cuInit(0);
    nvtxRangePushA("main");
    capture_layers();
    nvtxRangePushA("instantiate");
    instantiate(1, 0);
    nvtxRangePop();
    nvtxRangePop();
    if (!strcmp(how, "clones")) {
        pthread_create(&t, NULL, clone_elsewhere, NULL);
        pthread_join(t, NULL);
        graph = 3;
    }
    if (!strcmp(how, "late")) {
        rest(500);
        once(MOCK_PROFILER_START, 0, 0);
    }
    pthread_create(&t, NULL, replay_steps, &graph);
    pthread_join(t, NULL);
    for (uint32_t i = 0; i < arg(argc, argv, 3, 0) && !strcmp(how, "many"); i++) {
        instantiate(2 + i % 60, 0);
        replay(2 + i % 60);
    }
    if (!strcmp(how, "kill")) {
        rest(300);
        kill(getpid(), SIGKILL);
    }
    return 0;
}

/* payload: two ranges after each other, with launches, popped as NCCL does it; the second has no name but its
 * schema's. */
static int do_payload(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    cuInit(0);
    nvtxDomainHandle_t d = nvtxDomainCreateA("lib");
    const nvtxPayloadSchemaEntry_t entry = {.type = NVTX_PAYLOAD_ENTRY_TYPE_INT64, .name = "bytes"};
    const nvtxPayloadSchemaAttr_t schema = {
        .fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NAME | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES,
        .name = "message size",
        .type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC,
        .entries = &entry,
        .numEntries = 1,
    };
    int64_t bytes = 4096;
    const nvtxPayloadData_t payload = {nvtxPayloadSchemaRegister(d, &schema), sizeof bytes, &bytes};
    nvtxEventAttributes_t a = {.version = NVTX_VERSION,
                               .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
                               .messageType = NVTX_MESSAGE_TYPE_ASCII};
    a.message.ascii = "all reduce";
    nvtxDomainRangePushEx(d, &a);
    launch(2, 1);
    nvtxRangePopPayload(d, &payload, 1);
    nvtxRangePushPayload(d, &payload, 1);
    launch(3, 1);
    nvtxRangePopPayload(d, NULL, 0);
    return 0;
}

/* ranges N: N nested pairs of ranges as fast as they go; tells how long one took. */
static int do_ranges(int argc, char **argv)
{
    unsigned n = arg(argc, argv, 2, 1000);
    struct timespec a, b;
    cuInit(0);
    nvtxRangePushA("warm up");
    nvtxRangePop();
    clock_gettime(CLOCK_MONOTONIC, &a);
    for (unsigned i = 0; i < n; i++) {
        nvtxRangePushA("one of many");
        nvtxRangePop();
    }
    clock_gettime(CLOCK_MONOTONIC, &b);
    double ns = (double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec);
    fprintf(stderr, "app: %.1f ns per pair\n", ns / n);
    return 0;
}

/* deep N: N open ranges, whose ends have their room kept; then N marks; the ranges end. */
static int do_deep(int argc, char **argv)
{
    unsigned n = arg(argc, argv, 2, 1000);
    cuInit(0);
    for (unsigned i = 0; i < n; i++) nvtxRangePushA("one of many");
    for (unsigned i = 0; i < n; i++) nvtxMarkA("one of many");
    for (unsigned i = 0; i < n; i++) nvtxRangePop();
    return 0;
}

/* none: CUDA is never touched. */
static int do_none(int argc, char **argv)
{
    if (argc > 2) puts(argv[2]);
    return 7;
}

/* long MS: launches all the time; with "waits", four times, and waits all the time. */
static int do_long(int argc, char **argv)
{
    cuInit(0);
    if (argc > 3) launch(4, 1);
    for (unsigned ms = arg(argc, argv, 2, 1000); ms; ms--) {
        if (argc <= 3) launch(20, 1);
        for (int i = 0; argc > 3 && i < 20; i++) once(MOCK_SYNC, 0, 0);
        rest(1);
    }
    puts("done");
    return 6;
}

/* steps N MS M SLOW graph: N ranges "step 0" and on, of 5 launches and MS, from number M on of SLOW. Says
 * when 20 are over. With "graph", each also runs a graph that a step before it has made. */
static int do_steps(int argc, char **argv)
{
    unsigned n = arg(argc, argv, 2, 40), ms = arg(argc, argv, 3, 2), slow = arg(argc, argv, 4, n);
    cuInit(0);
    if (argc > 6) capture(0, "_Z4nodePf");
    for (unsigned i = 0; i < n; i++) {
        char name[32];
        snprintf(name, sizeof name, "step %u", i);
        nvtxRangePushA(name);
        launch(5, 1);
        if (argc > 6) instantiate(2 + i % 16, 0), replay(2 + (i + 1) % 16);
        rest(i < slow ? ms : arg(argc, argv, 5, ms));
        nvtxRangePop();
        if (i == 19) puts("20 steps"), fflush(stdout);
    }
    return 0;
}

/* backward N M: N steps of a launch here and M by another thread, for which this one waits. */
static struct {
    pthread_barrier_t begins, ends;
    unsigned n, launches;
} turns;

static void *go_backward(void *arg)
{
    for (unsigned i = 0; i < turns.n; i++) {
        pthread_barrier_wait(&turns.begins);
        for (unsigned j = 0; j < turns.launches; j++) launch(1, 1), rest(1);
        pthread_barrier_wait(&turns.ends);
    }
    return arg;
}

static int do_backward(int argc, char **argv)
{
    pthread_t other;
    turns.n = arg(argc, argv, 2, 100), turns.launches = arg(argc, argv, 3, 1);
    cuInit(0);
    pthread_barrier_init(&turns.begins, NULL, 2), pthread_barrier_init(&turns.ends, NULL, 2);
    if (pthread_create(&other, NULL, go_backward, NULL)) return 1;
    for (unsigned i = 0; i < turns.n; i++) {
        nvtxMarkA("step");
        launch(1, 1);
        pthread_barrier_wait(&turns.begins);
        pthread_barrier_wait(&turns.ends);
    }
    return pthread_join(other, NULL);
}

/* reset: launches, cudaDeviceReset(), then _exit() at once: what came before the reset must be there. */
static int do_reset(int argc, char **argv)
{
    cuInit(0);
    launch(arg(argc, argv, 2, 10), 1);
    once(MOCK_RESET, 0, 0);
    rest(100);
    _exit(0);
}

/* closefds: a program that closes every descriptor and opens a file of its own. */
static int do_closefds(int argc, char **argv)
{
    cuInit(0);
    launch(10, 1);
    rest(200);
    for (int fd = 3; fd < 1024; fd++) close(fd);
    for (int fd = 3; fd < 1000; fd++) {
        FILE *f = fopen(argc > 2 ? argv[2] : "/dev/null", "a");
        if (!f) break;
    }
    launch(10, 1);
    rest(200);
    return 0;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(int argc, char **argv);
    } modes[] = {
        {"launch", do_launch}, {"mix", do_mix},           {"die", do_die},           {"stuck", do_stuck},
        {"fork", do_fork},     {"nvtx", do_nvtx},         {"payload", do_payload},   {"none", do_none},
        {"long", do_long},     {"reset", do_reset},       {"closefds", do_closefds}, {"ranges", do_ranges},
        {"killed", do_killed}, {"gate", do_gate},         {"memory", do_memory},     {"mapped", do_mapped},
        {"graph", do_graph},   {"nccl", mock_nccl},       {"args", mock_args},       {"events", do_events},
        {"open", do_open},     {"unified", do_unified},   {"rare", do_rare},         {"storm", do_storm},
        {"scopes", do_scopes}, {"deep", do_deep},         {"torch", mock_torch},     {"steps", do_steps},
        {"serve", do_serve},   {"backward", do_backward},
    };
    for (size_t i = 0; argc > 1 && i < sizeof modes / sizeof *modes; i++)
        if (!strcmp(argv[1], modes[i].name)) return modes[i].run(argc, argv);
    fprintf(stderr, "usage: app MODE [ARG...]\n");
    return 2;
}
