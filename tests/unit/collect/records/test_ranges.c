// NVTX notes: the ring that carries them from thread to thread, and the rows they become.
#include <stdio.h>
#include <string.h>
#include <pthread.h>

#include "collect/records/ranges.h"
#include "tests/unit/nodes_util.h"
#include "tests/unit/unit.h"

static struct gp_note note(enum gp_note_op op, int64_t time_ns, const char *text)
{
    return (struct gp_note){.op = op, .time_ns = time_ns, .domain = "", .text = text};
}

TEST(what_goes_in_comes_out_in_order)
{
    struct gp_ring *r = gp_ring_new(4096);
    unsigned in = 0, out = 0;
    char text[64];
    for (int round = 0; round < 1000; round++) {
        struct gp_note n = note(GP_NOTE_PUSH, 0, NULL);
        for (unsigned k = 0; k < 5; k++, in++) {
            n.time_ns = in;
            int len = snprintf(text, sizeof text, "%*u", (int)(1 + in % 40), in);
            assert_true(gp_ring_put(r, &n, text, (size_t)len, NULL, 0));
        }
        for (const struct gp_note *p; (p = gp_ring_peek(r)); gp_ring_pop(r, p), out++) {
            snprintf(text, sizeof text, "%*u", (int)(1 + out % 40), out);
            assert_string_equal(gp_note_text(p), text);
            assert_int_equal(p->time_ns, out);
        }
        assert_int_equal(in, out);
    }
    gp_ring_free(r);
}

TEST(a_full_ring_refuses_and_counts_but_keeps_its_reserve)
{
    struct gp_ring *r = gp_ring_new(4096);
    struct gp_note push = note(GP_NOTE_PUSH, 1, "x"), pop = note(GP_NOTE_POP, 2, "");
    unsigned pushed = 0, popped = 0;
    while (gp_ring_put(r, &push, NULL, 0, NULL, 2 * sizeof push * (pushed + 1))) pushed++;
    assert_true(pushed > 10);
    gp_ring_refuse(r, GP_NOTE_PUSH);
    gp_ring_refuse(r, GP_NOTE_CALL);
    gp_ring_refuse(r, GP_NOTE_CALL);
    for (unsigned op = 0; op < GP_NOTE_OPS; op++)
        assert_int_equal(atomic_load(&r->refused[op]), op == GP_NOTE_PUSH ? 1 : op == GP_NOTE_CALL ? 2 : 0);
    assert_string_equal(gp_note_plural(GP_NOTE_PUSH), "ranges");
    assert_string_equal(gp_note_plural(GP_NOTE_STOP), "ends of ranges");
    assert_string_equal(gp_note_plural(GP_NOTE_MARK), "marks");
    assert_string_equal(gp_note_plural(GP_NOTE_CALL), "API calls");
    for (unsigned op = GP_NOTE_STACK; op < GP_NOTE_OPS; op++)
        assert_string_equal(gp_note_plural(op), "stacks");
    assert_string_equal(gp_note_reason(GP_NOTE_STACK), "too many at once");
    assert_string_equal(gp_note_reason(GP_NOTE_DEEP), "too deep");
    assert_string_equal(gp_note_reason(GP_NOTE_BROKEN), "frames could not be read");
    assert_string_equal(gp_note_reason(GP_NOTE_MANY), "too many different ones");
    while (popped < pushed && gp_ring_put(r, &pop, NULL, 0, NULL, 0)) popped++;
    assert_int_equal(popped, pushed);
    gp_ring_free(r);
}

static void *write_notes(void *ctx)
{
    struct gp_ring *r = ctx;
    for (int64_t i = 0; i < 20000;) {
        struct gp_note n = note(GP_NOTE_MARK, i, NULL);
        if (gp_ring_put(r, &n, "mark", 4, NULL, 0)) i++;
    }
    return NULL;
}

TEST(two_threads_agree)
{
    struct gp_ring *r = gp_ring_new(8192);
    pthread_t t;
    assert_int_equal(pthread_create(&t, NULL, write_notes, r), 0);
    for (int64_t i = 0; i < 20000;) {
        const struct gp_note *p = gp_ring_peek(r);
        if (!p) continue;
        assert_int_equal(p->time_ns, i++);
        gp_ring_pop(r, p);
    }
    pthread_join(t, NULL);
    gp_ring_free(r);
}

/* Records and ranges over them; T is the trace. */
struct fixture {
    struct gp_records records;
    struct gp_ranges ranges;
};

static void begin(struct fixture *f)
{
    struct gp_records_opts o = {.pid = 1, .rank = -1};
    memset(f, 0, sizeof *f);
    gp_records_init(&f->records, &o);
    f->ranges.records = &f->records;
}

static void end(struct fixture *f)
{
    gp_ranges_release(&f->ranges);
    gp_records_release(&f->records);
}

static void say(struct fixture *f, int64_t tid, enum gp_note_op op, int64_t time_ns, const char *text,
                uint64_t id)
{
    struct gp_note n = note(op, time_ns, text);
    n.id = id;
    gp_ranges_note(&f->ranges, tid, &n);
}

static void check_range(struct fixture *f, size_t row, const char *name, int64_t start, int64_t dur)
{
    const struct gp_events *e = &f->records.trace.events[GP_RANGE];
    assert_true(row < e->n);
    assert_string_equal(gp_trace_str(&f->records.trace, e->name[row]), name);
    assert_int_equal(e->start_ns[row], start);
    assert_int_equal(e->dur_ns[row], dur);
}

TEST(ranges_nest_on_their_own_thread)
{
    struct fixture f;
    begin(&f);
    say(&f, 1, GP_NOTE_PUSH, 10, "outer", 0);
    say(&f, 2, GP_NOTE_PUSH, 15, "other", 0);
    say(&f, 1, GP_NOTE_PUSH, 20, "inner", 0);
    say(&f, 1, GP_NOTE_POP, 30, "", 0);
    say(&f, 1, GP_NOTE_POP, 40, "", 0);
    say(&f, 2, GP_NOTE_POP, 50, "", 0);
    say(&f, 2, GP_NOTE_POP, 60, "", 0);
    check_range(&f, 0, "inner", 20, 10);
    check_range(&f, 1, "outer", 10, 30);
    check_range(&f, 2, "other", 15, 35);
    assert_int_equal(f.ranges.unmatched, 1);
    end(&f);
}

TEST(each_domain_has_its_own_stack)
{
    struct fixture f;
    begin(&f);
    struct gp_note lib = note(GP_NOTE_PUSH, 10, "a"), lib_pop = note(GP_NOTE_POP, 30, "");
    lib.domain = lib_pop.domain = "lib";
    gp_ranges_note(&f.ranges, 1, &lib);
    say(&f, 1, GP_NOTE_PUSH, 20, "b", 0);
    gp_ranges_note(&f.ranges, 1, &lib_pop);
    say(&f, 1, GP_NOTE_POP, 40, "", 0);
    check_range(&f, 0, "lib:a", 10, 20);
    check_range(&f, 1, "b", 20, 20);
    end(&f);
}

TEST(a_range_may_end_on_another_thread_that_is_read_first)
{
    struct fixture f;
    begin(&f);
    say(&f, 2, GP_NOTE_STOP, 90, "", 7);
    say(&f, 1, GP_NOTE_START, 10, "span", 7);
    say(&f, 1, GP_NOTE_START, 20, "next", 8);
    say(&f, 2, GP_NOTE_STOP, 50, "", 8);
    check_range(&f, 0, "span", 10, 80);
    check_range(&f, 1, "next", 20, 30);
    assert_string_equal(gp_trace_str(&f.records.trace, gp_get_extra(&f.records.trace.events[GP_RANGE], 0)),
                        "{\"nvtx\":\"start/end\"}");
    end(&f);
}

TEST(open_ranges_end_with_the_trace_and_say_so)
{
    struct fixture f;
    begin(&f);
    say(&f, 1, GP_NOTE_PUSH, 10, "outer", 0);
    say(&f, 1, GP_NOTE_PUSH, 20, "inner", 0);
    gp_ranges_close(&f.ranges, 100);
    check_range(&f, 0, "inner", 20, 80);
    check_range(&f, 1, "outer", 10, 90);
    assert_string_equal(gp_trace_str(&f.records.trace, gp_get_extra(&f.records.trace.events[GP_RANGE], 1)),
                        "{\"open\":true}");
    end(&f);
}

/* A note that came through a ring, with ARGS. */
static void say_with(struct fixture *f, struct gp_ring *r, enum gp_note_op op, int64_t time_ns,
                     const char *text, const char *args)
{
    struct gp_note n = note(op, time_ns, *text ? NULL : text);
    n.id = 7;
    n.args_n = (uint16_t)strlen(args);
    assert_true(gp_ring_put(r, &n, text, strlen(text), args, 0));
    const struct gp_note *p = gp_ring_peek(r);
    assert_int_equal(p->args_n, strlen(args));
    assert_memory_equal(gp_note_args(p), args, p->args_n);
    gp_ranges_note(&f->ranges, 1, p);
    gp_ring_pop(r, p);
}

static void check_args(struct fixture *f, enum gp_table table, size_t row, const char *args)
{
    const struct gp_events *e = &f->records.trace.events[table];
    assert_true(row < e->n);
    assert_string_equal(gp_trace_str(&f->records.trace, gp_get_extra(e, row)), args);
}

TEST(args_of_both_ends_are_the_ranges)
{
    struct fixture f;
    struct gp_ring *r = gp_ring_new(4096);
    begin(&f);
    for (unsigned i = 0; i < 100; i++) { /* so that the ring goes round */
        say_with(&f, r, GP_NOTE_PUSH, 10, "a", "\"x\":1");
        say_with(&f, r, GP_NOTE_POP, 20, "", "\"y\":[1,2]");
    }
    say_with(&f, r, GP_NOTE_PUSH, 10, "b", "");
    say_with(&f, r, GP_NOTE_POP, 20, "", "\"y\":2");
    say_with(&f, r, GP_NOTE_PUSH, 10, "c", "\"x\":1");
    say_with(&f, r, GP_NOTE_POP, 20, "", "");
    say_with(&f, r, GP_NOTE_STOP, 20, "", "\"y\":2");
    say_with(&f, r, GP_NOTE_START, 10, "d", "\"x\":3");
    say_with(&f, r, GP_NOTE_MARK, 10, "e", "\"x\":4");
    check_args(&f, GP_RANGE, 0, "{\"x\":1,\"y\":[1,2]}");
    check_args(&f, GP_RANGE, 99, "{\"x\":1,\"y\":[1,2]}");
    check_args(&f, GP_RANGE, 100, "{\"y\":2}");
    check_args(&f, GP_RANGE, 101, "{\"x\":1}");
    check_args(&f, GP_RANGE, 102, "{\"x\":3,\"y\":2,\"nvtx\":\"start/end\"}");
    check_args(&f, GP_MARK, 0, "{\"x\":4}");
    end(&f);
    gp_ring_free(r);
}

/* ---- nodes of graphs ---- */

static void node(struct fixture *f, int64_t tid, int64_t time_ns, uint64_t id, uint64_t original)
{
    struct gp_note n = note(original ? GP_NOTE_CLONE : GP_NOTE_NODE, time_ns, "");
    n.id = id;
    n.other = original;
    gp_ranges_note(&f->ranges, tid, &n);
}

/* The ranges of a node with '>' between them, by what the trace says of nodes. */
static void check_node(struct fixture *f, uint64_t id, const char *want)
{
    char text[600];
    snprintf(text, sizeof text, "%s", gp_trace_str(&f->records.trace, captured_under(&f->ranges.nodes, id)));
    for (char *c = text; *c; c++)
        if (*c == GP_CAPTURED_END) *c = '>';
    assert_string_equal(text, want);
}

TEST(nodes_have_the_ranges_that_their_thread_was_in)
{
    struct fixture f;
    begin(&f);
    node(&f, 1, 5, 9, 0);
    say(&f, 1, GP_NOTE_PUSH, 10, "model", 0);
    say(&f, 2, GP_NOTE_PUSH, 11, "elsewhere", 0);
    say(&f, 1, GP_NOTE_PUSH, 20, "layer 0", 0);
    node(&f, 1, 21, 10, 0);
    node(&f, 1, 22, 11, 0);
    say(&f, 1, GP_NOTE_START, 23, "not on the stack", 1);
    say(&f, 1, GP_NOTE_POP, 30, "", 0);
    node(&f, 1, 31, 12, 0);
    say(&f, 1, GP_NOTE_PUSH, 40, "odd\x1fname", 0);
    node(&f, 1, 41, 13, 0);
    gp_ranges_close(&f.ranges, 100);
    check_node(&f, 9, "");
    check_node(&f, 10, "model>layer 0");
    check_node(&f, 11, "model>layer 0");
    check_node(&f, 12, "model");
    check_node(&f, 13, "model>odd name");
    assert_int_equal(f.records.trace.node_runs.n, 4); /* 10 and 11 are one */
    end(&f);
}

TEST(ranges_of_domains_are_on_one_stack)
{
    struct fixture f;
    struct gp_note lib = note(GP_NOTE_PUSH, 10, "a"), lib_pop = note(GP_NOTE_POP, 30, "");
    lib.domain = lib_pop.domain = "lib";
    begin(&f);
    gp_ranges_note(&f.ranges, 1, &lib);
    say(&f, 1, GP_NOTE_PUSH, 20, "b", 0);
    node(&f, 1, 25, 1, 0);
    gp_ranges_note(&f.ranges, 1, &lib_pop);
    node(&f, 1, 35, 2, 0);
    gp_ranges_close(&f.ranges, 100);
    check_node(&f, 1, "lib:a>b");
    check_node(&f, 2, "b");
    end(&f);
}

/* As CUDA reports an instantiation: the clone is created, under the ranges around that, and then called a
 * clone. */
TEST(clones_have_the_ranges_of_their_originals)
{
    struct fixture f;
    begin(&f);
    say(&f, 1, GP_NOTE_PUSH, 10, "layer", 0);
    node(&f, 1, 11, 1, 0);
    node(&f, 1, 12, 2, 0);
    say(&f, 1, GP_NOTE_POP, 13, "", 0);
    say(&f, 1, GP_NOTE_PUSH, 20, "instantiate", 0);
    for (uint64_t i = 1; i <= 3; i++) { /* 3 was created before anybody looked */
        node(&f, 1, (int64_t)(20 + i), 10 + i, 0);
        node(&f, 1, (int64_t)(20 + i), 10 + i, i);
    }
    node(&f, 1, 30, 21, 0);
    node(&f, 1, 31, 21, 11); /* a clone of a clone */
    node(&f, 1, 40, 30, 0);  /* created, and no clone */
    gp_ranges_close(&f.ranges, 100);
    check_node(&f, 11, "layer");
    check_node(&f, 12, "layer");
    check_node(&f, 13, "");
    check_node(&f, 21, "layer");
    check_node(&f, 30, "instantiate");
    end(&f);
}

/* The ring of the thread that clones may be gone through before that of the thread that captured. */
TEST(a_clone_may_be_read_before_its_original)
{
    struct fixture f;
    begin(&f);
    node(&f, 3, 300, 30, 20);
    node(&f, 2, 200, 20, 10);
    node(&f, 2, 400, 40, 30);
    check_node(&f, 20, "");
    say(&f, 1, GP_NOTE_PUSH, 100, "layer", 0);
    node(&f, 1, 101, 10, 0);
    say(&f, 1, GP_NOTE_POP, 102, "", 0);
    gp_ranges_close(&f.ranges, 500);
    check_node(&f, 10, "layer");
    check_node(&f, 20, "layer");
    check_node(&f, 30, "layer");
    check_node(&f, 40, "layer");
    end(&f);
}

/* A node that is created last of all is noted at once, but for the moment in which it may be called a
 * clone. */
TEST(what_is_created_last_is_not_forgotten)
{
    struct fixture f;
    begin(&f);
    say(&f, 1, GP_NOTE_PUSH, 10, "a", 0);
    node(&f, 1, 11, 1, 0);
    node(&f, 1, 12, 2, 0);
    check_node(&f, 1, "a");
    check_node(&f, 2, "");
    node(&f, 2, 13, 7, 2); /* another thread's clone says nothing about it */
    check_node(&f, 2, "");
    gp_ranges_close(&f.ranges, 100);
    check_node(&f, 2, "a");
    check_node(&f, 7, "a");
    end(&f);
}

TEST(a_graph_that_is_instantiated_again_takes_one_run)
{
    struct fixture f;
    char name[20];
    begin(&f);
    for (uint64_t i = 1; i <= 100; i++) {
        snprintf(name, sizeof name, "layer %d", (int)i);
        say(&f, 1, GP_NOTE_PUSH, 10, name, 0);
        node(&f, 1, 11, i, 0);
        say(&f, 1, GP_NOTE_POP, 12, "", 0);
    }
    for (uint64_t graph = 1; graph <= 50; graph++)
        for (uint64_t i = 1; i <= 100; i++) {
            node(&f, 1, 20, graph << 32 | i, 0);
            node(&f, 1, 20, graph << 32 | i, i);
        }
    gp_ranges_close(&f.ranges, 100);
    assert_int_equal(f.records.trace.node_runs.n, 100 + 50);
    check_node(&f, UINT64_C(50) << 32 | 99, "layer 99");
    check_node(&f, UINT64_C(1) << 32 | 1, "layer 1");
    check_node(&f, UINT64_C(1) << 32 | 101, "");
    end(&f);
}

TEST(of_ranges_that_never_end_the_innermost_count)
{
    struct fixture f;
    begin(&f);
    for (int i = 0; i < 1000; i++) say(&f, 1, GP_NOTE_PUSH, 10 + i, i < 872 ? "leak" : "x", 0);
    node(&f, 1, 2000, 1, 0);
    gp_ranges_close(&f.ranges, 3000);
    char want[256];
    for (int i = 0; i < 128; i++) want[2 * i] = 'x', want[2 * i + 1] = '>';
    want[255] = 0;
    check_node(&f, 1, want);
    end(&f);
}

/* PyTorch puts what it knows of an operator into the name of its range. */
TEST(operators_are_rows_of_their_own)
{
    struct fixture f;
    begin(&f);
    say(&f, 1, GP_NOTE_PUSH, 10, "step, op_id = 1", 0);
    say(&f, 1, GP_NOTE_PUSH, 20, "aten::mm, seq = 12, op_id = 2, sizes = [[8, 4], [4, 2]]", 0);
    say(&f, 1, GP_NOTE_POP, 30, "", 0);
    say(&f, 1, GP_NOTE_PUSH, 40, "aten::empty, op_id = 3", 0);
    say(&f, 1, GP_NOTE_POP, 50, "", 0);
    say(&f, 1, GP_NOTE_POP, 60, "", 0);
    const struct gp_trace *t = &f.records.trace;
    const struct gp_events *op = &t->events[GP_OP], *range = &t->events[GP_RANGE];
    assert_int_equal(op->n, 2);
    assert_string_equal(gp_trace_str(t, op->name[0]), "aten::mm");
    assert_int_equal(op->seq[0], 12);
    assert_string_equal(gp_trace_str(t, op->extra[0]), "{\"Input Dims\":[[8, 4], [4, 2]]}");
    assert_int_equal(op->start_ns[0], 20);
    assert_int_equal(op->dur_ns[0], 10);
    assert_string_equal(gp_trace_str(t, op->name[1]), "aten::empty");
    assert_true(op->seq[1] == GP_NO_ID);
    assert_int_equal(range->n, 1);
    assert_string_equal(gp_trace_str(t, range->name[0]), "step");
    end(&f);
}
