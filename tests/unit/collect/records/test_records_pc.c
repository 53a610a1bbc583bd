// Samples of program counters from a process: rows of its trace, sums that close, and what is refused.
#include <string.h>
#include "collect/records/records.h"
#include "formats/base/buf.h"
#include "tests/unit/unit.h"

struct fixture {
    struct gp_records records;
};

static void begin(struct fixture *f, const char *kernel)
{
    memset(f, 0, sizeof *f);
    struct gp_records_opts o = {.pid = 7, .rank = -1, .kernel = kernel};
    gp_records_init(&f->records, &o);
}

static void end(struct fixture *f) { gp_records_release(&f->records); }

static const char texts[24] =
    "nwait\0ngemm\0f/k.cu\0nrelu"; /* 0 to 3, the last of them ended by its length */
static const struct gp_pc_head head = {.start_ns = 1000,
                                       .end_ns = 5000,
                                       .total = 20,
                                       .dropped = 3,
                                       .other = 4,
                                       .device = 1,
                                       .context = 2,
                                       .mode = GP_PC_CONTINUOUS,
                                       .period = 12,
                                       .texts = 3,
                                       .text_bytes = sizeof texts,
                                       .rows = 2};
static const struct gp_pc_row rows[2] = {
    {.offset = 16, .crc = 0xc0de, .function = 1, .file = 2, .line = 9, .samples = 8, .stalled = 5},
    {.offset = 32, .crc = 0xc0de, .function = 1, .samples = 5, .corr = 77},
};

static bool take(struct fixture *f, const struct gp_pc_head *h, const struct gp_pc_row *two, size_t n)
{
    struct gp_buf b = {0};
    gp_buf_put(&b, h, sizeof *h);
    gp_buf_put(&b, texts, sizeof texts);
    gp_buf_put(&b, two, 2 * sizeof *two);
    struct gp_buf cut = {0}; /* lets the sanitizers see reading beyond */
    gp_buf_put(&cut, b.data, n < b.n ? n : b.n);
    bool taken = gp_records_add_pc(&f->records, cut.n ? cut.data : "", cut.n);
    gp_buf_release(&b);
    gp_buf_release(&cut);
    return taken;
}

TEST(rows_have_the_names_lines_and_times_of_their_window)
{
    struct fixture f;
    begin(&f, NULL);
    assert_true(take(&f, &head, rows, SIZE_MAX));
    const struct gp_trace *t = &f.records.trace;
    const struct gp_events *e = &t->events[GP_PC];
    assert_int_equal(e->n, 2);
    assert_string_equal(gp_trace_str(t, e->name[0]), "gemm");
    assert_string_equal(gp_trace_str(t, gp_get_series(e, 0)), "wait");
    assert_true(e->start_ns[0] == 1000 && e->dur_ns[0] == 4000);
    assert_true(gp_get_addr(e, 0) == 16 && gp_get_total(e, 0) == 8 && gp_get_value(e, 0) == 5);
    const struct gp_stack *s = &t->stacks.at[gp_get_stack(e, 0)];
    assert_string_equal(gp_trace_str(t, s->file), "/k.cu");
    assert_true(s->line == 9 && s->parent == 0 && s->symbol != 0);
    assert_string_equal(gp_trace_str(t, t->symbols.at[s->symbol].module), "cubin 000000000000c0de");
    assert_int_equal(gp_get_stack(e, 1), 0);
    assert_int_equal(gp_get_corr(e, 1), 77);
    assert_true(gp_get_corr(e, 0) == GP_NO_ID);
    const struct gp_track *k = &t->tracks.at[e->track[0]];
    assert_true(k->kind == GP_TRACK_OTHER && k->device == 1 && k->context == 2);
    end(&f);
}

TEST(a_row_without_samples_is_code_which_redaction_leaves_out)
{
    struct fixture f;
    const struct gp_pc_row two[2] = {rows[0], {.offset = 64, .crc = 0xc0de, .function = 1, .reason = 0}};
    for (int redact = 0; redact < 2; redact++) {
        begin(&f, NULL);
        f.records.opts.redact = redact;
        assert_true(take(&f, &head, two, SIZE_MAX));
        const struct gp_events *e = &f.records.trace.events[GP_PC];
        assert_int_equal(e->n, 2 - redact);
        if (redact) assert_int_equal(gp_get_total(e, 0), 8);
        else assert_true(gp_get_id(e, 1) == 0xc0de && gp_get_addr(e, 1) == 64 && !gp_get_total(e, 1));
        assert_string_equal(gp_trace_get_meta(&f.records.trace, "pc.recorded"), "8");
        end(&f);
    }
}

TEST(sums_close)
{
    struct fixture f;
    begin(&f, NULL);
    assert_true(take(&f, &head, rows, SIZE_MAX));
    const struct gp_trace *t = &f.records.trace;
    assert_string_equal(gp_trace_get_meta(t, "pc.samples"), "20");
    assert_string_equal(gp_trace_get_meta(t, "pc.recorded"), "13");
    assert_string_equal(gp_trace_get_meta(t, "pc.dropped"), "3");
    assert_string_equal(gp_trace_get_meta(t, "pc.other"), "4");
    assert_string_equal(gp_trace_get_meta(t, "pc.unattributed"), "0");
    assert_string_equal(gp_trace_get_meta(t, "pc.period_cycles"), "4096");
    assert_string_equal(gp_trace_get_meta(t, "pc.mode"), "\"continuous\"");
    end(&f);
}

TEST(kernels_that_are_left_out_have_no_rows_and_are_counted)
{
    struct fixture f;
    begin(&f, "*relu*");
    assert_true(take(&f, &head, rows, SIZE_MAX));
    assert_int_equal(f.records.trace.events[GP_PC].n, 0);
    assert_string_equal(gp_trace_get_meta(&f.records.trace, "pc.other"), "17");
    end(&f);
}

TEST(what_is_cut_is_refused)
{
    struct fixture f;
    begin(&f, NULL);
    for (size_t n = 0; n < sizeof head + sizeof texts + sizeof rows; n++)
        assert_false(take(&f, &head, rows, n));
    end(&f);
}

static bool takes_head(struct gp_pc_head h)
{
    struct fixture f;
    begin(&f, NULL);
    bool taken = take(&f, &h, rows, SIZE_MAX);
    end(&f);
    return taken;
}

#define REFUSED(member, value)                                                                               \
    do {                                                                                                     \
        struct gp_pc_head h_ = head;                                                                         \
        h_.member = value;                                                                                   \
        assert_false(takes_head(h_));                                                                        \
    } while (0)

TEST(heads_that_cannot_be_are_refused)
{
    assert_true(takes_head(head));
    REFUSED(end_ns, 999);
    REFUSED(start_ns, INT64_MIN);
    REFUSED(end_ns, INT64_MAX);
    REFUSED(dropped, 21);
    REFUSED(other, 21);
    REFUSED(total, UINT64_MAX);
    REFUSED(full, UINT64_MAX);
    REFUSED(mode, 0);
    REFUSED(mode, GP_PC_LAUNCHES + 1);
    REFUSED(period, 32);
    REFUSED(texts, 4); /* the last one has no end */
    REFUSED(texts, UINT32_MAX);
    REFUSED(text_bytes, 23);
    REFUSED(text_bytes, UINT32_MAX);
    REFUSED(rows, 3);
    REFUSED(rows, UINT32_MAX);
}

TEST(rows_that_cannot_be_are_refused)
{
    struct fixture f;
    for (int wrong = 0; wrong < 4; wrong++) {
        struct gp_pc_row two[2] = {rows[0], rows[1]};
        if (wrong == 0) two[1].function = 3;
        if (wrong == 1) two[1].reason = UINT32_MAX;
        if (wrong == 2) two[0].file = 3;
        if (wrong == 3) two[0].stalled = 9;
        begin(&f, NULL);
        assert_false(take(&f, &head, two, SIZE_MAX));
        end(&f);
    }
}
