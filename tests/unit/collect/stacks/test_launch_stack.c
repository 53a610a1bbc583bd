// The stacks of this process's threads, whose interpreter is made up: this program exports what every CPython
// does, and has states, frames and code objects laid out as the versions do. An interpreter is found once, so
// each case has a process for each version.
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "collect/stacks/launch_stack.h"
#include "collect/stacks/stacks_priv.h"
#include "collect/unwind/unwind.h"
#include "collect/stacks/own_python.h"
#include "formats/base/count.h"
#include "tests/unit/lacks.h"
#include "tests/unit/python_table.h"
#include "tests/unit/unit.h"

/* ---- the interpreter ---- */

extern uint64_t _PyRuntime[512], PyCode_Type[8];
extern unsigned long Py_Version;
void *_PyThreadState_UncheckedGet(void);
void *PyGILState_GetThisThreadState(void);

uint64_t _PyRuntime[512], PyCode_Type[8];
unsigned long Py_Version;
static _Thread_local void *attached, *own;

void *_PyThreadState_UncheckedGet(void) { return attached; }

void *PyGILState_GetThisThreadState(void) { return own; }

enum { FIRST = 9, LAST = 15, FRAME = 128, FIRST_FRAME = 32, FRAMES = 2 * GP_LAUNCH_DEPTH, UNITS = 4 };
static struct gp_py_layout o;

/* In a child, which ends here if something is not as it should be. */
#define CHECK(what)                                                                                          \
    do {                                                                                                     \
        if (!(what)) {                                                                                       \
            printf("# 3.%u, line %d: %s\n", o.minor, __LINE__, #what);                                       \
            fflush(stdout);                                                                                  \
            _exit(1);                                                                                        \
        }                                                                                                    \
    } while (0)

static void begin(unsigned minor)
{
    Py_Version = 3ul << 24 | minor << 16 | 0xf0;
    if (minor >= 13) gp_python_table_make(_PyRuntime, minor, false);
    CHECK(gp_py_layout(&o, (uint32_t)Py_Version, _PyRuntime, sizeof _PyRuntime));
    _PyRuntime[o.runtime_head / 8] = (uint64_t)(uintptr_t)PyCode_Type; /* somewhere */
}

static void in_versions(void (*body)(void), unsigned first)
{
    for (unsigned minor = first; minor <= LAST; minor++) {
        int status = 0;
        pid_t pid = fork();
        if (!pid) {
            signal(SIGSEGV, SIG_DFL); /* cmocka would go on with its next test */
            alarm(60);
            begin(minor);
            body();
            _exit(0);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
    }
}

static void put(uint64_t at, uint64_t value) { memcpy((void *)(uintptr_t)at, &value, sizeof value); }

static uint64_t make(size_t n)
{
    void *p = calloc(1, n + 64);
    CHECK(p);
    return (uint64_t)(uintptr_t)p;
}

static uint64_t make_text(const char *s)
{
    size_t n = strlen(s);
    uint64_t at = make(o.str_ascii + n);
    put(at + o.str_length, n);
    put(at + o.str_state, (1 | 1 << 3 | 1 << 4) << o.str_kind);
    memcpy((void *)(uintptr_t)(at + o.str_ascii), s, n);
    return at;
}

static uint64_t make_bytes(const uint8_t *bytes, size_t n)
{
    uint64_t at = make(o.bytes_data + n);
    put(at + o.bytes_size, n);
    memcpy((void *)(uintptr_t)(at + o.bytes_data), bytes, n);
    return at;
}

/* Each of the units has a line of its own. */
static uint64_t make_lines(void)
{
    static const uint8_t of_3_9[] = {2, 1, 2, 1, 2, 1, 2, 0}, of_3_10[] = {2, 0, 2, 1, 2, 1, 2, 1},
                         of_3_11[] = {0xe8, 0, 0xe8, 2, 0xe8, 2, 0xe8, 2};
    return make_bytes(o.minor == 9 ? of_3_9 : o.minor == 10 ? of_3_10 : of_3_11, sizeof of_3_9);
}

static void fill_code(uint64_t code, const char *name, const char *file, uint32_t first)
{
    static const uint8_t units[2 * UNITS];
    static uint32_t version;
    memset((void *)(uintptr_t)code, 0, o.code_bytes);
    put(code + o.object_type, (uint64_t)(uintptr_t)PyCode_Type);
    put(code + o.object_size, UNITS);
    memcpy((void *)(uintptr_t)(code + o.code_first), &first, sizeof first);
    put(code + o.code_name, make_text(name));
    put(code + o.code_file, make_text(file));
    put(code + o.code_lines, make_lines());
    if (o.minor < 11) put(code + o.code_start, make_bytes(units, sizeof units));
    version++;
    if (o.code_version != GP_PY_NONE)
        memcpy((void *)(uintptr_t)(code + o.code_version), &version, sizeof version);
}

static uint64_t make_code(const char *name, const char *file, uint32_t first)
{
    uint64_t code = make(GP_PY_CODE_MOST);
    fill_code(code, name, file, first);
    return code;
}

/* A thread of the interpreter; its frames lie in one piece, the outermost first. */
struct thread {
    uint64_t state, cframe, chunk;
    unsigned n;
};

static struct thread make_thread(void)
{
    struct thread t = {make(GP_PY_THREAD_MOST), make(64), make(FIRST_FRAME + FRAME * (FRAMES + 1)), 0};
    put(t.chunk + 8, FIRST_FRAME + FRAME * (FRAMES + 1));
    put(t.state + o.thread_pthread, (uint64_t)pthread_self());
    if (o.thread_chunk != GP_PY_NONE) put(t.state + o.thread_chunk, t.chunk);
    if (o.thread_frame == GP_PY_NONE) put(t.state + o.thread_cframe, t.cframe);
    attached = own = (void *)(uintptr_t)t.state;
    return t;
}

/* The Nth frame, the outermost is 0. */
static uint64_t frame_of(const struct thread *t, unsigned n)
{
    return t->chunk + FIRST_FRAME + FRAME * (uint64_t)n;
}

static void set_top(const struct thread *t, uint64_t frame)
{
    put(o.thread_frame != GP_PY_NONE ? t->state + o.thread_frame : t->cframe + o.cframe_at, frame);
}

static void set_unit(uint64_t frame, uint64_t code, unsigned unit)
{
    uint32_t last = o.minor == 9 ? 2 * unit : unit;
    if (o.minor >= 11) put(frame + o.frame_ip, code + o.code_start + 2 * (uint64_t)unit);
    else memcpy((void *)(uintptr_t)(frame + o.frame_ip), &last, sizeof last);
}

static uint64_t call(struct thread *t, uint64_t code, unsigned unit)
{
    uint64_t frame = frame_of(t, t->n);
    put(frame + o.frame_previous, t->n ? frame_of(t, t->n - 1) : 0);
    put(frame + o.frame_code, code);
    set_unit(frame, code, unit);
    set_top(t, frame);
    t->n++;
    return frame;
}

static void leave(struct thread *t)
{
    t->n--;
    set_top(t, t->n ? frame_of(t, t->n - 1) : 0);
}

/* ---- what is read of it ---- */

struct seen {
    struct gp_launch_stack *stack;
    bool no_functions, no_stacks; /* refuse them */
    uint32_t functions_n, stacks_n;
    char name[64][64];
    struct {
        uint32_t parent, function, line;
    } at[GP_LAUNCH_STACKS_MOST + 2];
    int64_t waiter;
    char text[512];
};

static bool take_function(void *ctx, uint32_t number, const char *name, const char *file)
{
    struct seen *s = ctx;
    if (s->no_functions) return false;
    CHECK(number == ++s->functions_n && number < GP_COUNT(s->name));
    snprintf(s->name[number], sizeof s->name[number], "%s %s", name, file);
    return true;
}

static bool take_stack(void *ctx, uint32_t number, uint32_t parent, uint32_t function, uint32_t line)
{
    struct seen *s = ctx;
    if (s->no_stacks) return false;
    CHECK(number == ++s->stacks_n && number <= GP_LAUNCH_STACKS_MOST);
    CHECK(parent < number && function && function <= s->functions_n);
    s->at[number].parent = parent;
    s->at[number].function = function;
    s->at[number].line = line;
    return true;
}

static bool take_place(void *ctx, uint32_t number, const char *path, uint64_t offset)
{
    (void)ctx, (void)number, (void)path, (void)offset;
    CHECK(false); /* native stacks are another test's */
    return false;
}

/* The process, whose threads are asked for Python stacks only. */
static struct gp_stack_process *process(void)
{
    static struct gp_stack_process *p;
    if (p) return p;
    p = gp_stack_process_new();
    CHECK(p);
    gp_unwinder_free(p->unwinder);
    p->unwinder = NULL;
    return p;
}

static struct seen *make_seen(void)
{
    struct seen *s = calloc(1, sizeof *s);
    struct gp_launch_sink sink = {take_function, take_place, take_stack, s};
    CHECK(s);
    s->stack = gp_launch_stack_new(process(), &sink, false);
    CHECK(s->stack);
    return s;
}

static uint32_t number(struct seen *s) { return gp_launch_stack_read(s->stack, &s->waiter); }

static void put_stack(struct seen *s, uint32_t number)
{
    if (!number) return;
    put_stack(s, s->at[number].parent);
    size_t n = strlen(s->text);
    snprintf(s->text + n, sizeof s->text - n, "%s%s:%u", n ? "; " : "", s->name[s->at[number].function],
             s->at[number].line);
}

/* The stack as text, outermost first: "main a.py:10; f b.py:20". */
static const char *text(struct seen *s)
{
    s->text[0] = 0;
    put_stack(s, number(s));
    return s->text;
}

static bool is(struct seen *s, const char *want)
{
    bool same = !strcmp(text(s), want);
    if (!same) printf("# got  %s\n# want %s\n", s->text, want);
    return same;
}

static struct gp_launch_counts counts(struct seen *s) { return gp_launch_stack_counts(s->stack); }

static bool all_known(struct seen *s)
{
    struct gp_launch_counts c = counts(s);
    return c.reads == c.known && !(c.cut | c.broken | c.many | c.refused);
}

/* main() of a.py, at line 11, calls f() of b.py, at line 22. */
static struct thread two_frames(void)
{
    struct thread t = make_thread();
    call(&t, make_code("main", "a.py", 10), 1);
    call(&t, make_code("f", "b.py", 20), 2);
    return t;
}

static const char two[] = "main a.py:11; f b.py:22";

/* Stacks of the first readings are read with care, later ones at full speed. */
static void warm_up(struct seen *s)
{
    for (int i = 0; i < 10; i++) CHECK(is(s, two));
}

/* ---- stacks ---- */

static void whole_stacks(void)
{
    struct thread t = two_frames();
    struct seen *s = make_seen();
    const char *why = "?";
    CHECK(gp_stack_process_has_python(process(), &why) && !why);
    warm_up(s);
    CHECK(s->functions_n == 2 && s->stacks_n == 2 && !s->waiter);
    uint32_t at_f = number(s);
    call(&t, make_code("g", "b.py", 30), 0);
    CHECK(is(s, "main a.py:11; f b.py:22; g b.py:30"));
    leave(&t);
    CHECK(number(s) == at_f && is(s, two));
    leave(&t);
    leave(&t);
    CHECK(is(s, ""));
    struct gp_launch_counts c = counts(s);
    CHECK(c.reads == c.known + 1 && !(c.cut | c.broken | c.many | c.refused));
    call(&t, make_code("last", "a.py", 40), 3);
    CHECK(is(s, "last a.py:43"));
    gp_launch_stack_free(s->stack);
}

TEST(a_stack_has_functions_files_and_lines) { in_versions(whole_stacks, FIRST); }

static void callers_move_on(void)
{
    struct thread t = two_frames();
    struct seen *s = make_seen();
    uint64_t g = make_code("g", "b.py", 30), main = make_code("other", "c.py", 40);
    warm_up(s);
    call(&t, g, 0);
    CHECK(is(s, "main a.py:11; f b.py:22; g b.py:30"));
    set_unit(frame_of(&t, 0), gp_own_u64(frame_of(&t, 0) + o.frame_code) & ~UINT64_C(3), 3);
    CHECK(is(s, "main a.py:13; f b.py:22; g b.py:30"));
    put(frame_of(&t, 0) + o.frame_code, main);
    set_unit(frame_of(&t, 0), main, 0);
    CHECK(is(s, "other c.py:40; f b.py:22; g b.py:30"));
    put(frame_of(&t, 1) + o.frame_code, g);
    set_unit(frame_of(&t, 1), g, 2);
    CHECK(is(s, "other c.py:40; g b.py:32; g b.py:30"));
    put(frame_of(&t, 2) + o.frame_previous, frame_of(&t, 0)); /* a caller less */
    CHECK(is(s, "other c.py:40; g b.py:30"));
    CHECK(all_known(s));
}

TEST(a_caller_may_have_moved_on_while_the_callee_stands) { in_versions(callers_move_on, FIRST); }

static void code_is_replaced(void)
{
    struct thread t = two_frames();
    struct seen *s = make_seen();
    uint64_t code = make_code("g", "b.py", 30);
    warm_up(s);
    call(&t, code, 1);
    CHECK(is(s, "main a.py:11; f b.py:22; g b.py:31"));
    fill_code(code, "h", "c.py", 50);
    CHECK(is(s, "main a.py:11; f b.py:22; h c.py:51"));
    fill_code(code, "g", "b.py", 30);
    CHECK(is(s, "main a.py:11; f b.py:22; g b.py:31"));
    CHECK(all_known(s));
}

TEST(another_code_object_may_take_the_place_of_one) { in_versions(code_is_replaced, FIRST); }

/* From 3.12 on frames that stand for calls from C lie between those of functions; before that the owner is
 * that of a frame of a function that C called. */
static void frames_of_c(void)
{
    struct thread t = two_frames();
    struct seen *s = make_seen();
    warm_up(s);
    uint64_t shim = call(&t, 0, 0);
    *(uint8_t *)(uintptr_t)(shim + o.frame_owner) = 3;
    CHECK(is(s, two));
    uint64_t generator = call(&t, make_code("gen", "b.py", 30), 0);
    *(uint8_t *)(uintptr_t)(generator + o.frame_owner) = 1;
    CHECK(is(s, "main a.py:11; f b.py:22; gen b.py:30"));
    CHECK(all_known(s));
}

TEST(frames_that_stand_for_c_are_left_out) { in_versions(frames_of_c, 12); }

/* How often what is read in doubt, with a call of the system per frame, is read: once more than broken ones
 * are in one version. */
static uint64_t often(void) { return o.minor == LAST ? 17 : 2; }

static void deep(void)
{
    struct thread t = make_thread();
    struct seen *s = make_seen();
    uint64_t f = make_code("f", "a.py", 1);
    while (t.n < GP_LAUNCH_DEPTH) call(&t, f, 1);
    uint32_t all = number(s);
    CHECK(all && s->stacks_n == GP_LAUNCH_DEPTH && number(s) == all);
    call(&t, f, 1);
    for (uint64_t i = 1; i <= 30; i++) CHECK(!number(s) && counts(s).cut == i);
    CHECK(!counts(s).broken);
    leave(&t);
    CHECK(number(s) == all && s->stacks_n == GP_LAUNCH_DEPTH && s->functions_n == 1);
    struct seen *late = make_seen(); /* which meets it at first */
    call(&t, f, 1);
    for (uint64_t i = 0; i < often(); i++) CHECK(!number(late));
    CHECK(counts(late).cut == often() && !counts(late).broken);
    leave(&t);
    CHECK(number(late) == GP_LAUNCH_DEPTH);
}

TEST(a_stack_that_is_too_deep_is_counted_not_cut) { in_versions(deep, FIRST); }

static void cycles(void)
{
    struct thread t = two_frames();
    struct seen *early = make_seen(), *late = make_seen();
    warm_up(late);
    put(frame_of(&t, 0) + o.frame_previous, frame_of(&t, 1));
    for (uint64_t i = 0; i < often(); i++) CHECK(!number(early) && !number(late));
    CHECK(counts(early).cut == often() && counts(late).cut == often());
    put(frame_of(&t, 0) + o.frame_previous, 0);
    CHECK(is(early, two) && is(late, two));
    if (o.minor >= 12) { /* of frames that are not counted */
        *(uint8_t *)(uintptr_t)(frame_of(&t, 0) + o.frame_owner) = 3;
        put(frame_of(&t, 0) + o.frame_previous, frame_of(&t, 0));
        CHECK(!number(early) && !number(late));
    }
}

TEST(a_cycle_of_frames_ends) { in_versions(cycles, FIRST); }

/* The first stacks are doubted: an interpreter may be another than its version says. */
static void nowhere(void)
{
    static const uint64_t places[] = {8, 4096, 0x7fffdeadb000, UINT64_C(1) << 63, 12345677};
    for (size_t i = 0; i < GP_COUNT(places); i++) {
        struct thread t = two_frames();
        struct seen *s = make_seen();
        put(frame_of(&t, 1) + o.frame_previous, places[i]);
        for (int n = 0; n < 30; n++) CHECK(!number(s));
        CHECK(counts(s).broken && !counts(s).known);
        s = make_seen();
        put(frame_of(&t, 1) + o.frame_previous, frame_of(&t, 0));
        put(frame_of(&t, 0) + o.frame_code, places[i] & ~UINT64_C(3));
        for (int n = 0; n < 30; n++) CHECK(!number(s));
        CHECK(counts(s).broken && !counts(s).known);
        s = make_seen();
        attached = (void *)(uintptr_t)places[i];
        if (o.minor >= 12)
            for (int n = 0; n < 30; n++) CHECK(!number(s));
        attached = own;
    }
}

TEST(pointers_to_nowhere_in_the_first_stacks_do_no_harm) { in_versions(nowhere, FIRST); }

static void no_code(void)
{
    struct thread t = two_frames();
    struct seen *early = make_seen(), *late = make_seen();
    uint64_t code = gp_own_u64(frame_of(&t, 0) + o.frame_code), type = make(GP_PY_CODE_MOST);
    warm_up(late);
    put(frame_of(&t, 0) + o.frame_code, 0);
    CHECK(!number(early) && !number(late));
    CHECK(counts(early).broken == 1 && counts(late).broken == 1);
    put(frame_of(&t, 0) + o.frame_code, type); /* not a code object */
    set_unit(frame_of(&t, 0), type, 0);
    CHECK(!number(late) && counts(late).broken == 2);
    put(frame_of(&t, 0) + o.frame_code, code);
    set_unit(frame_of(&t, 0), code, 1);
    CHECK(is(early, two) && is(late, two));
    put(frame_of(&t, 0) + o.frame_code, 0);
    for (int i = 0; i < 40; i++) CHECK(!number(late));
    put(frame_of(&t, 0) + o.frame_code, code);
    CHECK(!number(late)); /* this thread is given up */
    CHECK(counts(late).broken == 43);
}

TEST(frames_without_code_are_broken) { in_versions(no_code, FIRST); }

static void refused(void)
{
    struct thread t = two_frames();
    struct seen *s = make_seen();
    s->no_functions = true;
    CHECK(!number(s) && !number(s) && counts(s).refused == 2);
    s->no_functions = false;
    s->no_stacks = true;
    CHECK(!number(s) && counts(s).refused == 3 && s->functions_n == 1 && !s->stacks_n);
    s->no_stacks = false;
    CHECK(is(s, two) && s->functions_n == 2 && s->stacks_n == 2);
    s->no_stacks = true;
    call(&t, make_code("g", "b.py", 30), 0);
    CHECK(!number(s) && counts(s).refused == 4);
    leave(&t);
    CHECK(is(s, two));
    s->no_stacks = false;
    call(&t, make_code("h", "b.py", 40), 0);
    CHECK(is(s, "main a.py:11; f b.py:22; h b.py:40"));
}

TEST(what_the_sink_refuses_is_defined_at_its_next_use) { in_versions(refused, FIRST); }

static void many(void)
{
    enum { MORE = 100 };
    struct thread t = make_thread();
    struct seen *s = make_seen();
    uint64_t f = make_code("f", "a.py", 1);
    put(f + o.object_size, GP_LAUNCH_STACKS_MOST + MORE);
    call(&t, f, 0);
    for (uint32_t i = 0; i < GP_LAUNCH_STACKS_MOST; i++) {
        set_unit(frame_of(&t, 0), f, i);
        CHECK(number(s) == i + 1);
    }
    for (uint32_t i = 0; i < MORE; i++) {
        set_unit(frame_of(&t, 0), f, GP_LAUNCH_STACKS_MOST + i);
        CHECK(!number(s));
    }
    CHECK(counts(s).many == MORE && !counts(s).broken);
    set_unit(frame_of(&t, 0), f, 5);
    CHECK(number(s) == 6); /* known ones are still known */
}

TEST(more_stacks_than_a_thread_may_have_are_counted)
{
    const char *sanitized = getenv("GP_SANITIZED");
    if (gp_lacks(sanitized && *sanitized, "time for it with the sanitizers")) return;
    in_versions(many, LAST);
}

/* ---- threads ---- */

static void detached(void)
{
    struct thread other = make_thread(), t = two_frames();
    struct seen *s = make_seen();
    call(&other, make_code("other", "c.py", 1), 0);
    put(other.state + o.thread_pthread, 1);
    warm_up(s);
    attached = NULL;
    CHECK(is(s, two));
    if (o.minor < 12) { /* the lock is another thread's */
        attached = (void *)(uintptr_t)other.state;
        CHECK(is(s, two));
    }
    own = attached = NULL; /* a thread that Python does not know */
    CHECK(is(s, ""));
    attached = (void *)(uintptr_t)t.state;
    CHECK(is(s, two));
    CHECK(counts(s).reads == counts(s).known + 1);
}

TEST(a_thread_that_has_let_go_of_the_lock_has_its_stack) { in_versions(detached, FIRST); }

static size_t calls;
static struct gp_remote real;

static size_t counted_read(void *ctx, const struct gp_remote_range *ranges, size_t n)
{
    calls++;
    return real.read(ctx, ranges, n);
}

/* Calls of the system that read memory, for readings of a thread that Python knows and that runs nothing. */
static void without_frames(void)
{
    struct thread t = make_thread();
    struct seen *s = make_seen();
    CHECK(is(s, "") && !t.n);
    real = process()->python.memory;
    process()->python.memory.read = counted_read;
    for (int i = 0; i < 10; i++) CHECK(is(s, ""));
    CHECK(calls && calls < 10);
    calls = 0;
    for (int i = 0; i < 100; i++) CHECK(is(s, ""));
    CHECK(!calls);
    call(&t, make_code("hook", "h.py", 7), 0); /* its first frames are doubted all the same */
    CHECK(is(s, "hook h.py:7") && calls);
}

TEST(a_thread_without_frames_is_doubted_a_few_times_only) { in_versions(without_frames, FIRST); }

static void of_subinterpreter(void)
{
    struct thread t = two_frames(), sub = make_thread();
    struct seen *s = make_seen();
    call(&sub, make_code("inner", "s.py", 5), 0);
    own = (void *)(uintptr_t)t.state;
    CHECK(is(s, "inner s.py:5"));
    attached = own;
    CHECK(is(s, two));
    attached = (void *)(uintptr_t)sub.state;
    for (int i = 0; i < 10; i++) CHECK(is(s, "inner s.py:5"));
    CHECK(all_known(s));
}

TEST(a_subinterpreter_that_is_attached_has_the_stack) { in_versions(of_subinterpreter, FIRST); }

static void begins_late(void)
{
    enum { LOOKS = 4096 };
    struct thread t = two_frames();
    struct seen *s = make_seen();
    const char *why = "?";
    uint64_t interpreter = _PyRuntime[o.runtime_head / 8];
    _PyRuntime[o.runtime_head / 8] = 0;
    CHECK(!gp_stack_process_has_python(process(), &why) && !why);
    CHECK(!number(s));
    _PyRuntime[o.runtime_head / 8] = interpreter;
    for (int i = 1; i < LOOKS; i++) CHECK(!number(s));
    CHECK(is(s, two) && t.n == 2);
}

TEST(an_interpreter_may_begin_later) { in_versions(begins_late, FIRST); }

static void is_unknown(void)
{
    struct seen *s = make_seen();
    const char *why = NULL;
    two_frames();
    Py_Version = 3ul << 24 | 8ul << 16;
    CHECK(!gp_stack_process_has_python(process(), &why) && why && strstr(why, "not supported"));
    CHECK(!number(s) && counts(s).reads == 1 && !counts(s).known);
}

TEST(an_unknown_version_has_no_stacks_and_says_why) { in_versions(is_unknown, LAST); }

static void in_fork_child(void)
{
    struct thread t = two_frames();
    struct seen *s = make_seen();
    uint64_t f = gp_own_u64(frame_of(&t, 1) + o.frame_code);
    warm_up(s);
    pid_t pid = fork();
    if (!pid) { /* what it reads is its own memory, not its parent's */
        struct seen *mine = make_seen();
        fill_code(f, "child", "d.py", 70);
        call(&t, make_code("new", "d.py", 80), 0);
        CHECK(is(mine, "main a.py:11; child d.py:72; new d.py:80"));
        _exit(0);
    }
    int status = 1;
    CHECK(waitpid(pid, &status, 0) == pid && !status);
    CHECK(is(s, two));
}

TEST(a_fork_child_has_stacks_of_its_own) { in_versions(in_fork_child, FIRST); }

/* ---- autograd ---- */

static sem_t go, done;

static void wait_for(sem_t *s)
{
    while (sem_wait(s)) continue;
}

/* Longer than a stack is believed. */
static void pause_a_bit(void)
{
    struct timespec t = {0, 5000000};
    nanosleep(&t, NULL);
}

static int64_t waiting_tid;

/* The other thread does the next thing that is checked. */
static void turn(void)
{
    sem_post(&done);
    wait_for(&go);
    pause_a_bit();
}

static void *autograd(GP_UNUSED void *ctx)
{
    static const char base[] = "main a.py:11; backward /x/torch/autograd/graph.py:92; autograd :0",
                      hook[] =
                          "main a.py:11; backward /x/torch/autograd/graph.py:92; autograd :0; hook h.py:7";
    struct seen *s = make_seen();
    prctl(PR_SET_NAME, "pt_autograd_0");
    wait_for(&go);
    for (int i = 0; i < 10; i++) CHECK(is(s, base) && s->waiter == waiting_tid);
    struct thread t = make_thread();
    CHECK(is(s, base) && s->waiter == waiting_tid);
    call(&t, make_code("hook", "h.py", 7), 0);
    for (int i = 0; i < 10; i++) CHECK(is(s, hook) && s->waiter == waiting_tid);
    turn(); /* it stands in another line of the same function */
    CHECK(is(s, "main a.py:12; backward /x/torch/autograd/graph.py:92; autograd :0; hook h.py:7"));
    turn(); /* it is no longer in backward() */
    CHECK(is(s, "hook h.py:7") && !s->waiter);
    leave(&t);
    CHECK(is(s, "") && !s->waiter);
    turn(); /* it is again, and then it ends */
    CHECK(is(s, base) && s->waiter == waiting_tid);
    turn();
    CHECK(is(s, "") && !s->waiter);
    CHECK(!counts(s).broken);
    gp_launch_stack_free(s->stack);
    sem_post(&done);
    return NULL;
}

static void its_turn(void)
{
    sem_post(&go);
    wait_for(&done);
}

static void backward(void)
{
    struct thread t = make_thread();
    struct seen *s = make_seen();
    pthread_t other;
    uint64_t main = make_code("main", "a.py", 10),
             code = make_code("backward", "/x/torch/autograd/graph.py", 90);
    sem_init(&go, 0, 0);
    sem_init(&done, 0, 0);
    waiting_tid = syscall(SYS_gettid);
    CHECK(!pthread_create(&other, NULL, autograd, NULL));
    call(&t, main, 1);
    CHECK(is(s, "main a.py:11")); /* it has launched something */
    call(&t, code, 2);
    its_turn();
    set_unit(frame_of(&t, 0), main, 2);
    its_turn();
    leave(&t);
    its_turn();
    set_unit(frame_of(&t, 0), main, 1);
    call(&t, code, 2);
    its_turn();
    gp_launch_stack_free(s->stack);
    its_turn();
    CHECK(!pthread_join(other, NULL));
}

TEST(threads_of_autograd_stand_below_the_thread_that_waits) { in_versions(backward, FIRST); }

/* A child is born while a thread of its parent, which the child does not have, reads a stack. */
static void backward_in_child(void)
{
    CHECK(gp_stack_try(&process()->reading) && !gp_stack_try(&process()->reading));
    pid_t pid = fork();
    if (!pid) {
        backward();
        _exit(0);
    }
    int status = 1;
    CHECK(waitpid(pid, &status, 0) == pid && !status);
    CHECK(!gp_stack_try(&process()->reading));
}

TEST(a_fork_child_reads_threads_whoever_read_them_in_its_parent) { in_versions(backward_in_child, LAST); }
