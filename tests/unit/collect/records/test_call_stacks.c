// Stacks of calls as processes note them: entries of the trace, what belongs to which call, and notes that
// cannot be.
#include <string.h>

#include "collect/records/call_stacks.h"
#include "collect/records/records.h"
#include "formats/base/str.h"
#include "tests/unit/unit.h"

enum { NUMBERS = 1 << 20, THREADS = 1 << 16 };

static struct gp_records records;
static struct gp_call_stacks stacks;

static void init(bool redact)
{
    struct gp_records_opts o = {.pid = 100, .rank = -1, .api = GP_API_LEVEL_ALL, .redact = redact};
    gp_records_init(&records, &o);
    stacks = (struct gp_call_stacks){.records = &records};
}

static int begin(GP_UNUSED void **state)
{
    init(false);
    return 0;
}

static int end(GP_UNUSED void **state)
{
    gp_call_stacks_release(&stacks);
    gp_records_release(&records);
    return 0;
}

static bool put(enum gp_note_op op, int64_t tid, uint64_t id, const char *text, const void *args, size_t n)
{
    struct {
        struct gp_note note;
        char args[256];
    } k = {.note = {.op = (uint16_t)op, .args_n = (uint16_t)n, .domain = "", .text = text, .id = id}};
    assert_true(n <= sizeof k.args);
    memcpy(k.args, args, n);
    return gp_call_stacks_note(&stacks, tid, &k.note);
}

static void put_function(int64_t tid, uint64_t number, const char *name, const char *file)
{
    assert_true(put(GP_NOTE_FUNCTION, tid, number, name, file, strlen(file)));
}

static void put_frame(int64_t tid, uint64_t number, uint32_t parent, uint32_t function, uint32_t line)
{
    struct gp_note_frame f = {parent, function, line, 0};
    assert_true(put(GP_NOTE_FRAME, tid, number, "", &f, sizeof f));
}

static void put_call(int64_t tid, uint32_t corr, uint32_t stack, uint32_t waiter)
{
    struct gp_note_stack k = {corr, stack, waiter};
    assert_true(put(GP_NOTE_STACK, tid, 0, "", &k, sizeof k));
}

/* main() of a.py calls f(), in a thread that numbers them so. */
static void put_two(int64_t tid)
{
    put_function(tid, 1, "main", "/x/a.py");
    put_function(tid, 2, "f", "/x/b.py");
    put_frame(tid, 1, 0, 1, 10);
    put_frame(tid, 2, 1, 2, 20);
}

static uint32_t stack_of(uint32_t corr)
{
    uint32_t waiter, entry = gp_call_stacks_of(&stacks, corr, &waiter);
    assert_int_equal(waiter, UINT32_MAX);
    return entry;
}

static void check_entry(uint32_t entry, const char *name, const char *file, uint32_t line, uint32_t parent)
{
    assert_in_range(entry, 1, records.trace.stacks.n - 1);
    const struct gp_stack *k = &records.trace.stacks.at[entry];
    assert_string_equal(gp_trace_str(&records.trace, k->name), name);
    assert_string_equal(gp_trace_str(&records.trace, k->file), file);
    assert_int_equal(k->line, line);
    assert_int_equal(k->parent, parent);
    assert_int_equal(k->symbol, 0);
}

#define STACKS_TEST(name) TEST_WITH(begin, end, name)

STACKS_TEST(calls_have_the_stacks_that_their_thread_defined)
{
    put_two(7);
    put_call(7, 1, 2, 0);
    put_call(7, 2, 1, 0);
    check_entry(stack_of(2), "main", "/x/a.py", 10, 0);
    check_entry(stack_of(1), "f", "/x/b.py", 20, stack_of(2));
    assert_int_equal(gp_call_stacks_entry(&stacks, 7, 2), stack_of(1));
    assert_int_equal(stack_of(3), 0);
    assert_int_equal(stack_of(0), 0);
    assert_int_equal(stacks.bad, 0);
}

STACKS_TEST(several_calls_come_in_one_note)
{
    put_two(7);
    struct gp_note_stack k[3] = {{1, 1, 0}, {2, 2, 0}, {3, 1, 0}};
    assert_true(put(GP_NOTE_STACK, 7, 0, "", k, sizeof k));
    assert_int_equal(stack_of(1), stack_of(3));
    check_entry(stack_of(2), "f", "/x/b.py", 20, stack_of(1));
}

STACKS_TEST(equal_stacks_of_two_threads_are_one_entry)
{
    put_two(7);
    put_function(8, 1, "f", "/x/b.py");
    put_function(8, 2, "main", "/x/a.py");
    put_frame(8, 1, 0, 2, 10);
    put_frame(8, 2, 1, 1, 20);
    put_call(7, 1, 2, 0);
    put_call(8, 2, 2, 0);
    assert_int_equal(stack_of(1), stack_of(2));
    assert_int_equal(records.trace.stacks.n, 3); /* and the one that is none */
}

STACKS_TEST(a_thread_with_the_number_of_one_that_ended_begins_anew)
{
    put_two(7);
    put_call(7, 1, 2, 0);
    put_function(7, 1, "other", "/x/c.py");
    put_frame(7, 1, 0, 1, 30);
    put_call(7, 2, 1, 0);
    put_call(7, 3, 2, 0); /* was the stack of the thread before it */
    check_entry(stack_of(1), "f", "/x/b.py", 20, gp_call_stacks_entry(&stacks, 7, 1) - 2);
    check_entry(stack_of(2), "other", "/x/c.py", 30, 0);
    assert_int_equal(stack_of(3), 0);
    assert_int_equal(stacks.bad, 0);
}

STACKS_TEST(numbers_out_of_order_are_bad_and_define_nothing)
{
    put_function(7, 2, "f", "b.py");
    put_function(7, 0, "f", "b.py");
    put_function(7, UINT64_MAX, "f", "b.py");
    assert_int_equal(stacks.bad, 3);
    put_two(7);
    put_function(7, 2, "again", "b.py");
    put_frame(7, 2, 0, 1, 1);
    put_frame(7, 4, 0, 1, 1);
    assert_int_equal(stacks.bad, 6);
    check_entry(gp_call_stacks_entry(&stacks, 7, 2), "f", "/x/b.py", 20, 1);
    assert_int_equal(gp_call_stacks_entry(&stacks, 7, 4), 0);
}

STACKS_TEST(unknown_functions_and_parents_give_no_stack_and_none_below)
{
    put_two(7);
    put_frame(7, 3, 0, 3, 1);          /* no such function */
    put_frame(7, 4, 0, 0, 1);          /* none */
    put_frame(7, 5, 5, 1, 1);          /* its own parent */
    put_frame(7, 6, 9, 1, 1);          /* a parent that is still to come */
    put_frame(7, 7, UINT32_MAX, 1, 1); /* one that never comes */
    assert_int_equal(stacks.bad, 5);
    put_frame(7, 8, 3, 1, 1); /* below one that is unknown */
    assert_int_equal(stacks.bad, 5);
    for (uint32_t number = 3; number <= 8; number++)
        assert_int_equal(gp_call_stacks_entry(&stacks, 7, number), 0);
    put_frame(7, 9, 2, 1, 1);
    check_entry(gp_call_stacks_entry(&stacks, 7, 9), "main", "/x/a.py", 1, 2);
    put_call(7, 1, 99, 0);
    put_call(9, 2, 1, 0); /* of a thread that defined nothing */
    assert_int_equal(stack_of(1), 0);
    assert_int_equal(stack_of(2), 0);
    assert_int_equal(gp_call_stacks_entry(&stacks, 10, 1), 0);
}

STACKS_TEST(notes_of_another_size_are_bad)
{
    char bytes[40] = {0};
    put_two(7);
    for (size_t n = 0; n <= sizeof bytes; n++) {
        uint64_t bad = stacks.bad;
        if (n != sizeof(struct gp_note_frame)) assert_true(put(GP_NOTE_FRAME, 7, 3, "", bytes, n));
        else bad--;
        assert_true(put(GP_NOTE_STACK, 7, 0, "", bytes, n));
        assert_int_equal(stacks.bad, bad + (n % sizeof(struct gp_note_stack) ? 2 : 1));
    }
    assert_int_equal(gp_call_stacks_entry(&stacks, 7, 3), 0);
}

STACKS_TEST(native_code_is_a_place_in_a_file_once)
{
    struct gp_note note = {
        .op = GP_NOTE_PLACE, .domain = "", .text = "/lib/libapp.so", .id = 1, .other = 0x1234};
    struct gp_note_frame frame = {.function = 1};
    assert_true(gp_call_stacks_note(&stacks, 7, &note));
    assert_true(gp_call_stacks_note(&stacks, 8, &note));
    assert_true(put(GP_NOTE_FRAME, 7, 1, "", (const char *)&frame, sizeof frame));
    assert_true(put(GP_NOTE_FRAME, 8, 1, "", (const char *)&frame, sizeof frame));
    uint32_t entry = gp_call_stacks_entry(&stacks, 7, 1);
    assert_int_equal(entry, gp_call_stacks_entry(&stacks, 8, 1));
    const struct gp_trace *t = &stacks.records->trace;
    assert_int_equal(t->symbols.n, 2);
    assert_int_equal(t->stacks.at[entry].symbol, 1);
    assert_int_equal(t->symbols.at[1].offset, 0x1234);
    assert_string_equal(gp_trace_str(t, t->symbols.at[1].module), "/lib/libapp.so");
    assert_int_equal(stacks.bad, 0);
}

STACKS_TEST(notes_of_other_kinds_are_left_to_others)
{
    for (unsigned op = 0; op < GP_NOTE_OPS + 3; op++) {
        bool ours =
            op == GP_NOTE_FUNCTION || op == GP_NOTE_PLACE || op == GP_NOTE_FRAME || op == GP_NOTE_STACK;
        if (!ours) assert_false(put((enum gp_note_op)op, 7, 1, "", "", 0));
    }
    assert_int_equal(stacks.bad, 0);
    assert_int_equal(stacks.list.n, 0);
}

STACKS_TEST(only_the_latest_calls_are_kept)
{
    put_two(7);
    put_call(7, 5, 2, 0);
    put_call(7, 6, 2, 0);
    put_call(7, 5 + GP_CALL_STACKS_KEPT, 1, 0);
    assert_int_equal(stack_of(5), 0);
    assert_int_equal(stack_of(5 + GP_CALL_STACKS_KEPT), gp_call_stacks_entry(&stacks, 7, 1));
    assert_int_equal(stack_of(6), gp_call_stacks_entry(&stacks, 7, 2));
    put_call(7, UINT32_MAX, 1, 0);
    assert_int_equal(stack_of(UINT32_MAX), gp_call_stacks_entry(&stacks, 7, 1));
}

STACKS_TEST(the_thread_that_waits_is_a_track)
{
    put_two(7);
    put_call(7, 1, 2, 42);
    uint32_t track;
    assert_int_equal(gp_call_stacks_of(&stacks, 1, &track), gp_call_stacks_entry(&stacks, 7, 2));
    assert_int_equal(track, gp_records_thread(&records, 42));
    assert_int_equal(records.trace.tracks.at[track].tid, 42);
}

STACKS_TEST(more_numbers_than_a_thread_may_have_are_bad)
{
    for (uint32_t i = 1; i <= NUMBERS; i++) put_function(7, i, "f", "a.py");
    assert_int_equal(stacks.bad, 0);
    put_function(7, NUMBERS + 1, "f", "a.py");
    assert_int_equal(stacks.bad, 1);
    for (uint32_t i = 1; i <= NUMBERS; i++) put_frame(7, i, 0, NUMBERS, i);
    assert_int_equal(stacks.bad, 1);
    put_frame(7, NUMBERS + 1, 0, NUMBERS, 1);
    assert_int_equal(stacks.bad, 2);
    assert_int_equal(records.trace.stacks.n, GP_CALL_STACKS_MOST); /* and no more of any thread */
    check_entry(gp_call_stacks_entry(&stacks, 7, NUMBERS - 1), "f", "a.py", NUMBERS - 1, 0);
    assert_int_equal(gp_call_stacks_entry(&stacks, 7, NUMBERS), 0);
    put_function(8, 1, "f", "a.py");
    put_frame(8, 1, 0, 1, NUMBERS + 5);
    assert_int_equal(gp_call_stacks_entry(&stacks, 8, 1), 0);
    assert_int_equal(stacks.bad, 2);
}

STACKS_TEST(more_threads_than_there_may_be_are_bad)
{
    for (int64_t tid = 1; tid <= THREADS; tid++) put_function(tid, 1, "f", "a.py");
    assert_int_equal(stacks.bad, 0);
    put_function(THREADS + 1, 1, "f", "a.py");
    assert_int_equal(stacks.bad, 1);
    put_function(THREADS, 2, "f", "a.py");
    put_frame(THREADS, 1, 0, 2, 3);
    assert_int_equal(stacks.bad, 1);
    check_entry(gp_call_stacks_entry(&stacks, THREADS, 1), "f", "a.py", 3, 0);
}

TEST(names_and_files_are_hashes_where_that_is_wanted)
{
    init(true);
    put_function(7, 1, "secret_function", "/x/secret_file.py");
    put_function(7, 2, GP_STACK_AUTOGRAD, "");
    put_frame(7, 1, 0, 1, 10);
    put_frame(7, 2, 1, 2, 0);
    const struct gp_stack *k = &records.trace.stacks.at[gp_call_stacks_entry(&stacks, 7, 1)];
    assert_true(gp_starts(gp_trace_str(&records.trace, k->name), "r-"));
    assert_true(gp_starts(gp_trace_str(&records.trace, k->file), "r-"));
    assert_int_equal(k->line, 10);
    check_entry(gp_call_stacks_entry(&stacks, 7, 2), GP_STACK_AUTOGRAD, "", 0, 1);
    for (gp_sid i = 0; i < records.trace.strings.n; i++)
        assert_null(strstr(gp_trace_str(&records.trace, i), "secret"));
    end(NULL);
}
