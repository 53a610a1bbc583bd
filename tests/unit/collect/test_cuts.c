// Parts of a process as traces of their own: which rows belong to a cut, and what happens to its file.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/cuts.h"
#include "formats/base/err.h"
#include "formats/reader.h"
#include "tests/unit/unit.h"

struct fixture {
    char folder[64], path[2][100];
    struct gp_trace trace;
    struct gp_cuts cuts;
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    strcpy(f->folder, "/tmp/gp-cuts-XXXXXX");
    assert_non_null(mkdtemp(f->folder));
    for (int i = 0; i < 2; i++) {
        char folder[sizeof f->folder];
        memcpy(folder, f->folder, sizeof folder);
        snprintf(f->path[i], sizeof f->path[i], "%s/%d.trace", folder, i);
    }
    gp_trace_init(&f->trace, GP_NEED_ALL);
    struct gp_process p = {.pid = 7, .rank = -1, .producer = 3};
    gp_trace_process(&f->trace, &p);
    struct gp_track t = {
        .kind = GP_TRACK_THREAD, .process = 0, .tid = 7, .device = -1, .context = -1, .stream = -1};
    gp_trace_track(&f->trace, &t);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    gp_cuts_release(&f->cuts);
    gp_trace_release(&f->trace);
    for (int i = 0; i < 2; i++) unlink(f->path[i]);
    assert_int_equal(rmdir(f->folder), 0); /* nothing else was left there */
    free(f);
    return 0;
}

static bool begin(struct fixture *f, uint64_t id, int64_t start_ns)
{
    struct gp_wire_cut c = {.id = id, .start_ns = start_ns};
    snprintf(c.path, sizeof c.path, "%s", f->path[id - 1]);
    return gp_cuts_begin(&f->cuts, &c, 3);
}

/* The session writes its rows: ranges that start at 10 * I, FROM <= I < TO. */
static void rows(struct fixture *f, int from, int to)
{
    for (int i = from; i < to; i++)
        gp_events_add(&f->trace.events[GP_RANGE], i * 10, 1000, 0, gp_intern_cstr(&f->trace.strings, "r"));
    gp_cuts_put(&f->cuts, &f->trace);
    assert_int_equal(f->trace.events[GP_RANGE].n, to - from);
    gp_trace_clear_events(&f->trace);
}

static struct gp_wire_cut_done end(struct fixture *f, uint64_t id)
{
    struct gp_wire_cut_done done;
    gp_cuts_end(&f->cuts, id, &f->trace, &done);
    return done;
}

static bool until(struct fixture *f, uint64_t id, int64_t end_ns)
{
    struct gp_wire_cut c = {.id = id, .end_ns = end_ns};
    return gp_cuts_until(&f->cuts, &c);
}

/* The ranges in file I: their number, the first start and the last. */
static void expect(struct fixture *f, int i, size_t n, int64_t first, int64_t last)
{
    struct gp_err err = {0};
    struct gp_trace t;
    struct gp_read_opts opts = {.need = GP_NEED_ALL};
    assert_int_equal(gp_trace_read(&t, f->path[i], &opts, &err), 0);
    assert_int_equal(t.events[GP_RANGE].n, n);
    if (n) {
        assert_int_equal(t.events[GP_RANGE].start_ns[0], first);
        assert_int_equal(t.events[GP_RANGE].start_ns[n - 1], last);
    }
    for (int k = 0; k < GP_ISSUE_COUNT; k++) assert_int_equal(t.issues[k].count, 0);
    gp_trace_release(&t);
}

TEST_WITH(set_up, tear_down, rows_belong_to_a_cut_by_their_start)
{
    struct fixture *f = *state;
    rows(f, 0, 5);
    assert_true(begin(f, 1, 70));
    rows(f, 5, 10);
    rows(f, 10, 20);
    assert_true(until(f, 1, 250));
    rows(f, 20, 30);
    struct gp_wire_cut_done done = end(f, 1);
    assert_int_equal(done.id, 1);
    assert_string_equal(done.why, "");
    expect(f, 0, 18, 70, 240);
}

TEST_WITH(set_up, tear_down, cuts_overlap)
{
    struct fixture *f = *state;
    assert_true(begin(f, 1, 0));
    rows(f, 0, 4);
    assert_true(begin(f, 2, 40));
    rows(f, 4, 8);
    assert_true(until(f, 1, 100));
    rows(f, 8, 12);
    end(f, 1);
    rows(f, 12, 14);
    end(f, 2);
    expect(f, 0, 10, 0, 90);
    expect(f, 1, 10, 40, 130);
}

TEST_WITH(set_up, tear_down, an_id_is_open_once_and_only_so_many)
{
    struct fixture *f = *state;
    assert_true(begin(f, 1, 0));
    assert_false(begin(f, 1, 0));
    assert_false(until(f, 2, 10));
    struct gp_wire_cut c = {.path = "relative"};
    for (c.id = 100; c.id < 100 + GP_CUTS_MOST - 1; c.id++) assert_true(gp_cuts_begin(&f->cuts, &c, 3));
    assert_false(begin(f, 2, 0));
}

TEST_WITH(set_up, tear_down, what_cannot_be_written_is_named)
{
    struct fixture *f = *state;
    struct gp_wire_cut c = {.id = 1, .path = "/no/such/folder/x.trace"}, bare = {.id = 2, .path = "x.trace"};
    assert_true(gp_cuts_begin(&f->cuts, &c, 3));
    assert_true(gp_cuts_begin(&f->cuts, &bare, 3));
    rows(f, 0, 3);
    assert_string_equal(end(f, 1).why, "/no/such/folder/x.trace: No such file or directory");
    assert_string_equal(end(f, 2).why, "x.trace: Invalid argument");
}

TEST_WITH(set_up, tear_down, a_process_that_ends_keeps_what_there_was)
{
    struct fixture *f = *state;
    assert_true(begin(f, 1, 0));
    assert_true(begin(f, 2, 20));
    rows(f, 0, 4);
    gp_cuts_finish(&f->cuts, &f->trace);
    expect(f, 0, 4, 0, 30);
    expect(f, 1, 2, 20, 30);
}
