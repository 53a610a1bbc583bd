/* Stacks as backtrace() of the C library has them, which unwinds by another implementation. */
#define UNIT_OWN_MAIN
#include "collect/unwind/unwind.h"

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>
#include "collect/unwind/unwind_priv.h"
#include "tests/unit/collect/unwind/shapes.h"
#include "tests/unit/unit.h"

enum { PATHS = 1500, DEPTH_MOST = 100, TABLES_MOST = 8 };

static struct gp_unwinder *unwinder, *indexed;
static const shape_fn *tables[TABLES_MOST];
static unsigned tables_n;

/* One thread's checks. */
struct checks {
    struct gp_unwind_thread thread, thread_indexed;
    unsigned walks, same, wrong, partial;
};

static struct checks *checks_new(void) { return calloc(1, sizeof(struct checks)); }

static bool equal(const struct gp_unwind_result *r, void **expected, int n)
{
    int skip = 0; /* a sanitizer has a frame of its own */
    while (skip < n && r->n > 1 && (uintptr_t)expected[skip] != r->ip[1]) skip++;
    for (uint32_t i = 1; i < r->n; i++)
        if (skip + (int)i > n || (uintptr_t)expected[skip + (int)i - 1] != r->ip[i]) return false;
    return r->n == GP_UNWIND_DEPTH || skip + (int)r->n - 1 == n;
}

static void report(const struct gp_unwind_result *r, void **expected, int n)
{
    fprintf(stderr, "# %u frames, end %d; expected %d\n", r->n, (int)r->end, n);
    for (int i = 0; i < n || i < (int)r->n; i++)
        fprintf(stderr, "# %#llx %p\n", i < (int)r->n ? (unsigned long long)r->ip[i] : 0,
                i < n ? expected[i] : NULL);
}

__attribute__((noinline)) static void check(struct checks *c)
{
    void *expected[1024];
    int n = backtrace(expected, 1024);
    struct gp_unwind_result r = gp_unwind(unwinder, &c->thread);
    struct gp_unwind_result i = gp_unwind(indexed, &c->thread_indexed);
    bool ok = equal(&r, expected, n) && equal(&i, expected, n) && r.exact == r.n;
    if (!ok && !c->wrong) report(&r, expected, n);
    c->walks++;
    c->same += r.same;
    c->partial += !r.whole;
    c->wrong += !ok;
}

static void wander(struct path *p)
{
    struct path further = *p;
    if (!further.left--) {
        check(p->ctx);
        return;
    }
    further.seed = further.seed * 1103515245 + 12345;
    const shape_fn *table = tables[(further.seed >> 16) % tables_n];
    unsigned n = 0;
    while (table[n]) n++;
    table[(further.seed >> 20) % n](&further, (int)(further.seed >> 8 & 0xffff));
}

static void wander_often(struct checks *c, unsigned seed, unsigned paths)
{
    for (unsigned i = 0; i < paths; i++) {
        struct path p = {wander, seed + i * 7919, (int)(seed + i * 31) % DEPTH_MOST, c};
        wander(&p);
        if (i % 4 == 0) wander(&p);
    }
}

static int set_up(void **state)
{
    (void)state;
    tables[tables_n++] = shapes_o0;
    tables[tables_n++] = shapes_o2;
    tables[tables_n++] = shapes_fp;
    for (int i = 0; i < 2; i++) {
        void *so = dlopen(i ? SHAPES_CPP : SHAPES_SO, RTLD_NOW);
        const void *table = so ? dlsym(so, i ? "shapes_cpp" : "shapes_so") : NULL;
        if (table) tables[tables_n++] = table;
    }
    unwinder = gp_unwinder_new(false);
    indexed = gp_unwinder_new(true);
    return !unwinder || !indexed;
}

static int tear_down(void **state)
{
    (void)state;
    gp_unwinder_free(unwinder);
    gp_unwinder_free(indexed);
    return 0;
}

TESTS_BETWEEN(set_up, tear_down);

TEST(a_library_and_the_program_have_shapes) { assert_in_range(tables_n, 4, 5); }

TEST(stacks_of_random_shapes_are_those_of_backtrace)
{
    struct checks *c = checks_new();
    wander_often(c, 1, PATHS);
    assert_in_range(c->walks, 1000, 100000);
    assert_int_equal(c->wrong, 0);
    assert_int_equal(c->partial, 0);
    free(c);
}

static void *wander_in_thread(void *arg)
{
    struct checks *c = checks_new();
    wander_often(c, (unsigned)(uintptr_t)arg, PATHS / 5);
    unsigned wrong = c->wrong + c->partial;
    free(c);
    return (void *)(uintptr_t)wrong;
}

TEST(threads_walk_at_the_same_time)
{
    pthread_t threads[8];
    for (uintptr_t i = 0; i < 8; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, wander_in_thread, (void *)(i * 1000 + 5)), 0);
    for (int i = 0; i < 8; i++) {
        void *wrong;
        pthread_join(threads[i], &wrong);
        assert_null(wrong);
    }
}

static int recurse(struct checks *c, int left)
{
    volatile int kept = left;
    if (left) return recurse(c, left - 1) + kept;
    check(c);
    return kept;
}

TEST(a_stack_deeper_than_the_limit_has_its_inner_frames)
{
    struct checks *c = checks_new();
    recurse(c, 450);
    assert_int_equal(c->partial, 0);
    recurse(c, 2000);
    assert_int_equal(c->partial, 1);
    assert_int_equal(c->wrong, 0);
    assert_int_equal(c->thread.n, GP_UNWIND_DEPTH);
    assert_int_equal(c->thread.end, GP_UNWIND_DEEP);
    free(c);
}

/* ---- the same chain ---- */

__attribute__((noinline)) static void inner(struct checks *c, int times)
{
    for (int i = 0; i < times; i++) check(c);
}

__attribute__((noinline)) static int outer_one(struct checks *c, int n)
{
    inner(c, n);
    return n + 1;
}

__attribute__((noinline)) static int outer_two(struct checks *c, int n)
{
    inner(c, n);
    return n + 2;
}

TEST(a_chain_is_used_again_until_an_outer_frame_differs)
{
    struct checks *c = checks_new();
    int (*const outers[])(struct checks *, int) = {outer_one, outer_two};
    for (volatile int i = 0; i < 6; i++) outers[i % 2](c, 3);
    assert_int_equal(c->walks, 18);
    assert_int_equal(c->same, 12);
    assert_int_equal(c->wrong, 0);
    free(c);
}

TEST(errno_is_kept)
{
    struct gp_unwind_thread *t = calloc(1, sizeof *t);
    errno = 77;
    gp_unwind(unwinder, t);
    assert_int_equal(errno, 77);
    free(t);
}

static void go_check(struct path *p) { check(p->ctx); }

TEST(a_library_is_replaced_by_another_at_its_address)
{
    struct checks *c = checks_new();
    struct path p = {go_check, 0, 0, c};
    const char *const files[] = {RELOAD_A, RELOAD_B};
    const void *first = NULL;
    int again = 0;
    for (int i = 0; i < 6; i++) {
        void *so = dlopen(files[i % 2], RTLD_NOW);
        assert_non_null(so);
        void *found = dlsym(so, "reload_call");
        shape_fn call;
        memcpy(&call, &found, sizeof call);
        again += found == first;
        first = found;
        gp_unwind_refresh(indexed);
        call(&p, 5);
        call(&p, 5);
        dlclose(so);
    }
    print_message("# %d of 5 came to the same address\n", again);
    assert_int_equal(c->wrong + c->partial, 0);
    free(c);
}

/* ---- other stacks ---- */

static struct checks *in_coroutine;

static void coroutine(void) { wander_often(in_coroutine, 3, 20); }

TEST(a_coroutine_has_a_stack_of_its_own)
{
    enum { ROOM = 1 << 22 };
    ucontext_t here, there;
    char *stack = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    in_coroutine = checks_new();
    getcontext(&there);
    there.uc_stack.ss_sp = stack;
    there.uc_stack.ss_size = ROOM;
    there.uc_link = &here;
    makecontext(&there, coroutine, 0);
    swapcontext(&here, &there);
    assert_int_equal(in_coroutine->walks, 25);
    assert_int_equal(in_coroutine->wrong, 0);
    assert_int_equal(in_coroutine->same, 0);
    free(in_coroutine);
    munmap(stack, ROOM);
}

static struct checks *in_handler;

static void handle(int signal)
{
    (void)signal;
    check(in_handler);
}

TEST(a_handler_runs_on_an_alternate_stack)
{
    enum { ROOM = 1 << 20 };
    stack_t stack = {.ss_sp = malloc(ROOM), .ss_size = ROOM}, old;
    struct sigaction action = {.sa_handler = handle, .sa_flags = SA_ONSTACK};
    in_handler = checks_new();
    sigaltstack(&stack, &old);
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
    assert_int_equal(in_handler->walks, 1);
    assert_int_equal(in_handler->wrong + in_handler->partial, 0);
    old.ss_flags = old.ss_sp ? old.ss_flags : SS_DISABLE;
    sigaltstack(&old, NULL);
    free(stack.ss_sp);
    free(in_handler);
}

#ifdef __x86_64__
/* A function whose first instruction is interrupted: the address before it belongs to another one. */
void trap_first(void);
__asm__(".text\n.cfi_startproc\n.cfi_def_cfa_offset 4096\nnop\n.cfi_endproc\n"
        ".globl trap_first\ntrap_first:\n.cfi_startproc\nud2\nret\n.cfi_endproc\n");

static void skip_trap(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)info;
    check(in_handler);
    ((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] += 2;
}

TEST(a_function_is_interrupted_at_its_first_instruction)
{
    struct sigaction action = {.sa_sigaction = skip_trap, .sa_flags = SA_SIGINFO}, old;
    in_handler = checks_new();
    sigaction(SIGILL, &action, &old);
    trap_first();
    sigaction(SIGILL, &old, NULL);
    assert_int_equal(in_handler->walks, 1);
    assert_int_equal(in_handler->wrong + in_handler->partial, 0);
    free(in_handler);
}

/* ---- code made at run time ---- */

static struct gp_unwind_thread made_thread;
static struct gp_unwind_result made_result;

static void walk_from_made(void) { made_result = gp_unwind(unwinder, &made_thread); }

/* Calls walk_from_made() from code that begins with the N bytes at BEGIN. */
static bool call_made(const void *begin, size_t n)
{
    uint8_t code[64] = {0};
    void (*const target)(void) = walk_from_made;
    void (*made)(void);
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(code, begin, n);
    memcpy(code + n, "\x48\xb8", 2); /* mov rax, target */
    memcpy(code + n + 2, &target, 8);
    memcpy(code + n + 10, "\xff\xd0\x5d\xc3", 4); /* call rax; pop rbp; ret */
    memcpy(page, code, sizeof code);
    if (mprotect(page, 4096, PROT_READ | PROT_EXEC)) return false;
    memcpy(&made, &page, sizeof made);
    made();
    struct gp_unwind_module m;
    bool unknown = !gp_unwind_module(unwinder, made_result.ip[1], &m);
    munmap(page, 4096);
    return unknown;
}

TEST(code_made_at_run_time_is_passed_by_its_frame_pointer)
{
    static const char begin[] = {0x55, 0x48, (char)0x89, (char)0xe5}; /* push rbp; mov rbp, rsp */
    assert_true(call_made(begin, sizeof begin));
    assert_true(made_result.whole);
    assert_int_equal(made_result.exact, 2);
    assert_in_range(made_result.n, 5, 100);
    assert_true(call_made(begin, sizeof begin));
}

TEST(code_made_at_run_time_without_a_frame_pointer_ends_the_walk)
{
    static const char begin[] = {0x55, 0x31, (char)0xed}; /* push rbp; xor ebp, ebp */
    assert_true(call_made(begin, sizeof begin));
    assert_false(made_result.whole);
    assert_int_equal(made_result.end, GP_UNWIND_NO_CFI);
    assert_int_equal(made_result.n, 2);
}
#endif

/* ---- modules ---- */

TEST(a_module_has_its_file_and_its_bias)
{
    struct gp_unwinder *const both[] = {unwinder, indexed};
    static struct gp_unwind_module m;
    char exe[GP_UNWIND_PATH] = {0};
    assert_true(readlink("/proc/self/exe", exe, sizeof exe - 1) > 0);
    for (int i = 0; i < 2; i++) {
        uint64_t here = (uintptr_t)check, there = (uintptr_t)tables[3][0];
        Dl_info info;
        assert_true(gp_unwind_module(both[i], here, &m));
        assert_string_equal(m.path, exe);
        assert_in_range(here, m.begin, m.end - 1);
        assert_true(dladdr((void *)(uintptr_t)there, &info));
        assert_true(gp_unwind_module(both[i], there, &m));
        assert_string_equal(m.path, SHAPES_SO);
        assert_int_equal(m.bias, (uintptr_t)info.dli_fbase);
        assert_false(gp_unwind_module(both[i], 4096, &m));
    }
}

/* ---- speed, on request ---- */

enum { BATCHES = 40, TURNS = 1000 };

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* The fastest of several batches, ns per walk. */
static double time_walk(struct checks *c, bool is_cold, bool is_same)
{
    double least = 1e18;
    for (int batch = 0; batch < BATCHES; batch++) {
        int turns = is_cold ? 1 : TURNS;
        if (is_cold) memset(&unwinder->rows, 0, sizeof unwinder->rows);
        double begin = now_ns();
        for (int i = 0; i < turns; i++) {
            c->thread.reusable &= is_same;
            gp_unwind(unwinder, &c->thread);
        }
        double spent = (now_ns() - begin) / turns;
        if (spent < least) least = spent;
    }
    return least;
}

__attribute__((noinline)) static void time_walks(struct checks *c)
{
    struct gp_unwind_result r = gp_unwind(unwinder, &c->thread);
    printf("# depth %u, %u words, %u modules: ", r.n, c->thread.words_n, c->thread.places_n);
    printf("cold %.0f ns, cached %.0f ns, ", time_walk(c, true, false), time_walk(c, false, false));
    gp_unwind(unwinder, &c->thread);
    printf("same %.0f ns\n", time_walk(c, false, true));
}

static void wander_to_time(struct path *p)
{
    struct path further = *p;
    further.seed = further.seed * 1103515245 + 12345;
    struct checks *c = p->ctx;
    if (gp_unwind(unwinder, &c->thread).n >= (uint32_t)p->left) {
        time_walks(c);
        return;
    }
    shapes_o2[(further.seed >> 20) % 7](&further, (int)(further.seed >> 8 & 0xffff));
}

static int bench(void)
{
    struct checks *c = checks_new();
    unwinder = gp_unwinder_new(false);
    for (int depth = 10; depth <= 40; depth *= 2) {
        struct path p = {wander_to_time, 1, depth, c};
        wander_to_time(&p);
    }
    gp_unwinder_free(unwinder);
    free(c);
    return 0;
}

int main(int argc, char **argv) { return argc > 1 && !strcmp(argv[1], "--bench") ? bench() : unit_run(); }
