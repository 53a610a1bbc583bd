// The Chrome trace reader: every defect of samples/broken, what becomes of every kind of event, threads,
// hostile input.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "formats/base/buf.h"
#include "formats/base/err.h"
#include "formats/base/input.h"
#include "formats/chrome/chrome.h"
#include "formats/reader.h"
#include "tests/unit/trace_check.h"
#include "tests/unit/trace_same.h"
#include "tests/unit/unit.h"

/* ---- samples/broken ---- */

/* What must be read. Offsets are of the opening brace of the event, counted in the file (grep -b); line 1 of
 * the objects has 17 bytes, the first event 140 or 126. */
struct broken {
    const char *file;
    uint64_t events, gpu;
    int64_t gpu_ns;
    struct {
        enum gp_issue_kind kind;
        uint64_t count;
        int64_t offset;
    } issues[2];
};

#define KERNELS_NS (10500 + 1250 + 3) /* k1, k2 and k3 */

static const struct broken broken[] = {
    {"bare_array.json", 4, 3, KERNELS_NS, {{0}}},
    {"bare_na.json", 4, 3, KERNELS_NS, {{GP_Q_BAD_VALUE, 2, 283}}},
    {"big_ids.json", 6, 1, 10500, {{0}}},
    {"broken_metadata.json", 4, 3, KERNELS_NS, {{GP_Q_SYNTAX, 1, 31}}}, /* behind 20 + `"note":"a "` */
    {"control_character.json", 4, 3, KERNELS_NS, {{GP_Q_REPAIRED_TEXT, 1, 283}}},
    {"correlation_zero.json", 4, 2, 10500 + 1250, {{0}}},
    {"corrupt_duration.json", 4, 3, 10500 + 3400000000 + 3, {{0}}},
    {"deep_nesting.json", 3, 2, 10500 + 1250, {{GP_Q_SYNTAX, 1, 157}}},
    {"duplicate_keys.json", 4, 3, KERNELS_NS, {{GP_Q_DUPLICATE_KEY, 2, 283}}},
    {"early_ts.json", 4, 3, KERNELS_NS, {{0}}},
    {"garbage_between.json", 2, 2, 10500 + 1250, {{GP_Q_SYNTAX, 1, 157}}},
    {"huge_ts.json", 4, 2, 10500 + 3, {{GP_Q_BAD_TIME, 1, 283}}},
    {"invalid_escape.json", 4, 3, KERNELS_NS, {{GP_Q_REPAIRED_TEXT, 1, 283}}},
    {"invalid_utf8.json", 4, 3, KERNELS_NS, {{GP_Q_REPAIRED_TEXT, 1, 283}}},
    {"missing_brace.json", 4, 3, 10500 + 3 + 2000, {{GP_Q_SYNTAX, 1, 157}}},
    {"missing_dur.json", 4, 3, 10500 + 3, {{GP_Q_BAD_DURATION, 1, 283}}},
    {"missing_end.json", 4, 3, KERNELS_NS, {{0}}},
    {"missing_ts.json", 4, 2, 10500 + 3, {{GP_Q_BAD_TIME, 1, 283}}},
    {"nan_duration.json", 4, 3, 10500 + 3, {{GP_Q_BAD_DURATION, 1, 283}}},
    {"negative_dur.json", 4, 3, 10500 + 3, {{GP_Q_BAD_DURATION, 1, 283}}},
    {"no_events.json", 0, 0, 0, {{0}}},
    {"no_flows.json", 4, 3, KERNELS_NS, {{0}}},
    {"sci_notation.json", 4, 3, KERNELS_NS, {{0}}},
    {"string_pid.json", 3, 1, 10500, {{0}}},
    {"string_ts.json", 4, 3, KERNELS_NS, {{0}}},
    {"trailing_comma.json", 4, 3, KERNELS_NS, {{0}}},
    {"truncated.json", 3, 2, 10500 + 1250, {{GP_Q_TRUNCATED, 1, 474}}}, /* its length */
    {"truncated.json.gz", 3, 2, 10500 + 1250, {{GP_Q_TRUNCATED, 1, 503}, {GP_Q_COMPRESSION, 1, 518}}},
    {"unescaped_quote.json", 4, 2, 10500 + 3, {{GP_Q_SYNTAX, 1, 283}}},
    {"unknown_phase.json", 4, 2, 10500 + 1250, {{GP_Q_UNKNOWN_PHASE, 2, 157}}},
    {"unmatched_begin.json", 4, 1, 10500, {{GP_Q_UNMATCHED_BEGIN, 1, 17}}},
    {"unmatched_end.json", 3, 0, 0, {{GP_Q_UNMATCHED_END, 1, 17}}},
    {"window_end.json", 5, 3, KERNELS_NS, {{0}}},
    {"wrong_types.json", 2, 2, 10500 + 1250, {{GP_Q_BAD_VALUE, 1, 157}}},
    {"zero_ts.json", 4, 3, KERNELS_NS, {{0}}},
};

static void read_sample(struct gp_trace *t, const char *file)
{
    const char *source = getenv("GP_SOURCE");
    char path[4096];
    struct gp_read_opts opts = {.threads = 1};
    struct gp_err err = {0};
    snprintf(path, sizeof path, "%s/samples/broken/%s", source ? source : ".", file);
    if (gp_trace_read(t, path, &opts, &err)) fail_msg("%s", err.msg);
    if (gp_trace_check(t, &err)) fail_msg("%s: %s", file, err.msg);
}

static uint64_t wanted_count(const struct broken *b, int kind)
{
    uint64_t n = 0;
    for (int i = 0; i < 2; i++)
        if (b->issues[i].count && (int)b->issues[i].kind == kind) n = b->issues[i].count;
    return n;
}

TEST(each_broken_sample_gives_what_is_there)
{
    for (size_t i = 0; i < GP_COUNT(broken); i++) {
        const struct broken *b = &broken[i];
        struct gp_trace t;
        int64_t ns = 0;
        read_sample(&t, b->file);
        for (size_t row = 0; row < t.events[GP_GPU].n; row++) ns += t.events[GP_GPU].dur_ns[row];
        if (t.input.events != b->events || t.events[GP_GPU].n != b->gpu || ns != b->gpu_ns)
            fail_msg("%s: %llu events, %zu on the GPU, %lld ns", b->file, (unsigned long long)t.input.events,
                     t.events[GP_GPU].n, (long long)ns);
        for (int kind = 0; kind < GP_ISSUE_COUNT; kind++)
            if (t.issues[kind].count != wanted_count(b, kind))
                fail_msg("%s: %llu x %s", b->file, (unsigned long long)t.issues[kind].count,
                         gp_issue_name((enum gp_issue_kind)kind));
        for (int k = 0; k < 2 && b->issues[k].count; k++)
            if (t.issues[b->issues[k].kind].first_offset != b->issues[k].offset)
                fail_msg("%s: %s at %lld", b->file, gp_issue_name(b->issues[k].kind),
                         (long long)t.issues[b->issues[k].kind].first_offset);
        gp_trace_release(&t);
    }
}

TEST(names_are_repaired_not_lost)
{
    const char *const want[][2] = {{"control_character.json", "line\none\ttab"},
                                   {"invalid_escape.json", "C:\\ok \\path"},
                                   {"invalid_utf8.json", "caf\xef\xbf\xbd"}};
    for (size_t i = 0; i < 3; i++) {
        struct gp_trace t;
        read_sample(&t, want[i][0]);
        assert_string_equal(gp_trace_str(&t, t.events[GP_GPU].name[1]), want[i][1]);
        gp_trace_release(&t);
    }
}

/* ---- text in memory ---- */

static void read_text(struct gp_trace *t, const char *text, size_t n, int threads, size_t chunk)
{
    struct gp_read_opts opts = {.threads = threads, .need = GP_NEED_ALL};
    struct gp_err err = {0};
    struct gp_input *in = gp_input_memory(text, n, 1);
    gp_trace_init(t, GP_NEED_ALL);
    if (gp_chrome_read_chunked(t, in, &opts, chunk, &err)) fail_msg("%s", err.msg);
    gp_trace_finish(t);
    if (gp_trace_check(t, &err)) fail_msg("%s", err.msg);
    gp_input_close(in);
}

static void read_events(struct gp_trace *t, const char *events)
{
    struct gp_buf b = {0};
    gp_buf_printf(&b, "{\"traceEvents\":[%s]}", events);
    read_text(t, b.data, b.n, 1, GP_CHROME_CHUNK);
    gp_buf_release(&b);
}

static uint64_t issues_of(const struct gp_trace *t)
{
    uint64_t n = 0;
    for (int i = 0; i < GP_ISSUE_COUNT; i++) n += t->issues[i].count;
    return n;
}

#define KERNEL(tid, ts, args)                                                                                \
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":" tid ",\"ts\":" ts                   \
    ",\"dur\":1,\"args\":{" args "}}"
#define ROW "\"pid\":1,\"tid\":2,\"ts\":5"

TEST(a_kernel_keeps_its_launch_configuration)
{
    struct gp_trace t;
    read_events(
        &t,
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":1.5,\"dur\":2,\"args\":{"
        "\"External id\":9,\"queued\":0,\"device\":0,\"context\":1,\"stream\":7,\"correlation\":11,"
        "\"registers per thread\":168,\"shared memory\":213188,\"blocks per SM\":1.5,"
        "\"grid\":[2, 66, 1],\"block\":[384,1,1],\"graph id\":3,\"graph node id\":4,"
        "\"Collective name\":\"allreduce\",\"Ev Idx\":5}}");
    const struct gp_events *e = &t.events[GP_GPU];
    const struct gp_config *c = gp_gpu_config(&t, 0);
    assert_int_equal(e->n, 1);
    assert_int_equal(e->start_ns[0], 1500);
    assert_int_equal(gp_get_corr(e, 0), 11);
    assert_int_equal(gp_get_ext(e, 0), 9);
    assert_int_equal(gp_get_graph(e, 0), 3);
    assert_int_equal(gp_get_node(e, 0), 4);
    assert_true(c->kind == GP_KERNEL && !c->cat);
    assert_int_equal(c->has, GP_HAS_GRID | GP_HAS_BLOCK | GP_HAS_REGS | GP_HAS_SHARED);
    assert_true(c->grid[0] == 2 && c->grid[1] == 66 && c->grid[2] == 1 && c->block[0] == 384);
    assert_true(c->registers == 168 && c->shared_bytes == 213188);
    assert_string_equal(gp_trace_str(&t, c->extra), "{\"queued\":0,\"blocks per SM\":1.5}");
    assert_string_equal(gp_trace_str(&t, gp_get_extra(e, 0)), "{\"Collective name\":\"allreduce\"}");
    const struct gp_track *k = &t.tracks.at[e->track[0]];
    assert_true(k->kind == GP_TRACK_STREAM && k->device == 0 && k->context == 1 && k->stream == 7 &&
                k->tid == 7);
    gp_trace_release(&t);
}

TEST(ranges_of_a_capture_are_read_when_they_are_names)
{
    static const struct {
        const char *arg, *captured, *extra;
    } cases[] = {
        {"[\"step\",\"layer \\\"0\\\"\"]", "step\x1flayer \"0\"", ""},
        {" [ \"a\\u001fb\" , \"c\" ] ",
         "a b\x1f"
         "c",
         ""},
        {"[\"gr\\u00f6\\u00dfe\"]",
         "gr\xc3\xb6\xc3\x9f"
         "e",
         ""},
        {"[]", "", "{\"capture ranges\":[]}"},
        {"[\"a\",1]", "", "{\"capture ranges\":[\"a\",1]}"},
        {"\"a\"", "", "{\"capture ranges\":\"a\"}"},
        {"{\"a\":\"b\"}", "", "{\"capture ranges\":{\"a\":\"b\"}}"},
    };
    for (size_t i = 0; i < GP_COUNT(cases); i++) {
        struct gp_trace t;
        char text[300];
        snprintf(text, sizeof text,
                 "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":1,\"dur\":2,"
                 "\"args\":{\"graph node id\":4,\"capture ranges\":%s}}",
                 cases[i].arg);
        read_events(&t, text);
        const struct gp_events *e = &t.events[GP_GPU];
        assert_int_equal(e->n, 1);
        assert_string_equal(gp_trace_str(&t, gp_get_captured(e, 0)), cases[i].captured);
        assert_string_equal(gp_trace_str(&t, gp_get_extra(e, 0)), cases[i].extra);
        gp_trace_release(&t);
    }
    struct gp_trace t; /* not of GPU work: kept as it stands; and a span in two parts */
    read_events(&t, "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"o\"," ROW
                    ",\"dur\":1,\"args\":{\"capture ranges\":[\"a\"]}},"
                    "{\"ph\":\"B\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":1,"
                    "\"args\":{\"capture ranges\":[\"a\",\"b\"]}},"
                    "{\"ph\":\"E\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":3}");
    assert_string_equal(gp_trace_str(&t, gp_get_extra(&t.events[GP_OP], 0)), "{\"capture ranges\":[\"a\"]}");
    assert_string_equal(gp_trace_str(&t, gp_get_captured(&t.events[GP_GPU], 0)), "a\x1f"
                                                                                 "b");
    gp_trace_release(&t);
}

/* The frames of a stack, innermost first: "*" before those of native code. */
static const char *frames_of(const struct gp_trace *t, uint32_t stack, struct gp_buf *to)
{
    to->n = 0;
    for (; stack; stack = t->stacks.at[stack].parent) {
        const struct gp_stack *s = &t->stacks.at[stack];
        gp_buf_printf(to, "%s%s%s|%s|%u", to->n ? "; " : "", s->symbol ? "*" : "", gp_trace_str(t, s->name),
                      gp_trace_str(t, s->file), (unsigned)s->line);
    }
    return gp_buf_str(to);
}

#define OPERATOR(rest) "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"o\"," ROW ",\"dur\":1" rest "}"

TEST(stacks_are_read_wherever_their_frames_stand)
{
    static const char frames[] = "\"stackFrames\":{\"7\":{\"name\":\"f (a b.py:12)\",\"parent\":\"x\"},"
                                 "\"x\":{\"name\":\"g (h) (c:d:0)\",\"category\":\"native\",\"parent\":1.5},"
                                 "\"1.5\":{\"name\":\"main\"},\"8\":5,\"9\":{\"parent\":7},"
                                 "\"n\":{\"name\":\"i\",\"function\":\"j (k:1)\",\"line\":4}}";
    static const char events[] =
        "\"traceEvents\":[" OPERATOR(",\"sf\":7") "," OPERATOR(",\"sf\":\"x\"") "," OPERATOR(
            ",\"sf\":8") "," OPERATOR("") "," OPERATOR(",\"sf\":\"n\"") "," OPERATOR(",\"sf\":9") ",{\"ph\":"
                                                                                                  "\"B\","
                                                                                                  "\"cat\":"
                                                                                                  "\"cpu_"
                                                                                                  "op\","
                                                                                                  "\"name\":"
                                                                                                  "\"b\"," ROW
                                                                                                  ",\"sf\":1."
                                                                                                  "5},{"
                                                                                                  "\"ph\":"
                                                                                                  "\"E\"," ROW
                                                                                                  ",\"sf\":7}"
                                                                                                  "]";
    static const char *const want[] = {"f|a b.py|12; *g (h)|c:d|0; main||0",
                                       "*g (h)|c:d|0; main||0",
                                       "",
                                       "",
                                       "j (k:1)||4",
                                       "||0; f|a b.py|12; *g (h)|c:d|0; main||0",
                                       "main||0"};
    for (int before = 0; before < 2; before++) {
        struct gp_trace t;
        struct gp_buf b = {0}, text = {0};
        gp_buf_printf(&b, "{%s,%s}", before ? frames : events, before ? events : frames);
        read_text(&t, b.data, b.n, 1, GP_CHROME_CHUNK);
        const struct gp_events *e = &t.events[GP_OP];
        assert_int_equal(e->n, 7);
        assert_int_equal(issues_of(&t), 0);
        assert_null(gp_trace_get_meta(&t, "stackFrames"));
        for (size_t i = 0; i < 7; i++) /* the pair was added last, and is shorter */
            assert_string_equal(frames_of(&t, gp_get_stack(e, i), &text), want[i]);
        gp_trace_release(&t);
        gp_buf_release(&b);
        gp_buf_release(&text);
    }
}

TEST(labels_of_frames_are_taken_apart_only_if_they_have_the_form)
{
    static const struct {
        const char *label, *want;
    } cases[] = {
        {"f (a:1)", "f|a|1"},
        {" (a:1)", "|a|1"},
        {"f (a:)", "f (a:)||0"},
        {"f (:1)", "f (:1)||0"},
        {"(a:1)", "(a:1)||0"},
        {"f (a:4294967296)", "f (a:4294967296)||0"},
        {"f (a:4294967295)", "f|a|4294967295"},
        {"", "||0"},
        {")", ")||0"},
        {":1)", ":1)||0"},
        {"f(a:1)", "f(a:1)||0"},
        {"f (a:1) ", "f (a:1) ||0"},
        {"operator() (x) (b:2)", "operator() (x)|b|2"},
    };
    for (size_t i = 0; i < GP_COUNT(cases); i++) {
        struct gp_trace t;
        struct gp_buf b = {0}, text = {0};
        gp_buf_printf(&b, "{\"stackFrames\":{\"1\":{\"name\":\"%s\"}},\"traceEvents\":[%s]}", cases[i].label,
                      OPERATOR(",\"sf\":1"));
        read_text(&t, b.data, b.n, 1, GP_CHROME_CHUNK);
        assert_string_equal(frames_of(&t, gp_get_stack(&t.events[GP_OP], 0), &text), cases[i].want);
        gp_trace_release(&t);
        gp_buf_release(&b);
        gp_buf_release(&text);
    }
}

TEST(frames_that_call_themselves_or_nobody_end)
{
    static const char *const frames[] = {
        "{\"1\":{\"name\":\"a\",\"parent\":1}}",
        "{\"1\":{\"name\":\"a\",\"parent\":2},\"2\":{\"name\":\"b\",\"parent\":1}}",
        "{\"1\":{\"name\":\"a\",\"parent\":\"none\"}}",
        "{\"1\":{\"name\":\"z\",\"parent\":3},\"1\":{\"name\":\"a\"},\"\":{\"name\":\"q\"}}",
    };
    static const char *const want[] = {"a||0", "a||0; b||0", "a||0", "a||0"};
    for (size_t i = 0; i < GP_COUNT(frames); i++) {
        struct gp_trace t;
        struct gp_buf b = {0}, text = {0};
        gp_buf_printf(&b, "{\"traceEvents\":[%s],\"stackFrames\":%s}", OPERATOR(",\"sf\":1"), frames[i]);
        read_text(&t, b.data, b.n, 1, GP_CHROME_CHUNK);
        assert_string_equal(frames_of(&t, gp_get_stack(&t.events[GP_OP], 0), &text), want[i]);
        gp_trace_release(&t);
        gp_buf_release(&b);
        gp_buf_release(&text);
    }
    struct gp_trace t;
    static const char cut[] =
        "{\"stackFrames\":{\"1\":{\"name\":\"a\"} x},\"traceEvents\":[" OPERATOR(",\"sf\":1") "]}";
    read_text(&t, cut, sizeof cut - 1, 1, GP_CHROME_CHUNK);
    assert_int_equal(t.issues[GP_Q_BAD_VALUE].count, 1);
    assert_int_equal(t.stacks.n, 2);
    gp_trace_release(&t);
}

TEST(a_waiting_thread_is_one_of_the_same_process)
{
    struct gp_trace t;
    read_events(&t, "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"c\"," ROW
                    ",\"dur\":1,\"args\":{\"waiting thread\":77}},"
                    "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"c\"," ROW
                    ",\"dur\":1,\"args\":{\"waiting thread\":\"x\"}}");
    const struct gp_events *e = &t.events[GP_API];
    const struct gp_track *k = &t.tracks.at[gp_get_waiter(e, 0)];
    assert_true(k->kind == GP_TRACK_THREAD && k->tid == 77 && k->process == t.tracks.at[e->track[0]].process);
    assert_int_equal(gp_get_waiter(e, 1), UINT32_MAX);
    assert_string_equal(gp_trace_str(&t, gp_get_extra(e, 1)), "{\"waiting thread\":\"x\"}");
    gp_trace_release(&t);
}

TEST(categories_choose_the_table)
{
    static const struct {
        const char *cat;
        enum gp_table table;
        const char *kept; /* in the cat column, or in the config's */
    } want[] = {
        {"Kernel", GP_GPU, "Kernel"},
        {"gpu_memcpy", GP_GPU, ""},
        {"Memset", GP_GPU, "Memset"},
        {"cuda_runtime", GP_API, ""},
        {"cuda_driver", GP_API, "cuda_driver"},
        {"hip_runtime", GP_API, "hip_runtime"},
        {"cpu_op", GP_OP, ""},
        {"Operator", GP_OP, "Operator"},
        {"python_function", GP_PYTHON, ""},
        {"user_annotation", GP_RANGE, ""},
        {"gpu_user_annotation", GP_GPU_RANGE, ""},
        {"cuda_sync", GP_SYNC, ""},
        {"overhead", GP_OVERHEAD, ""},
        {"Trace", GP_OTHER, "Trace"},
    };
    for (size_t i = 0; i < GP_COUNT(want); i++) {
        struct gp_buf b = {0};
        struct gp_trace t;
        gp_buf_printf(&b, "{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"n\"," ROW ",\"dur\":1}", want[i].cat);
        read_events(&t, gp_buf_str(&b));
        assert_int_equal(t.events[want[i].table].n, 1);
        gp_sid cat =
            want[i].table == GP_GPU ? gp_gpu_config(&t, 0)->cat : gp_get_cat(&t.events[want[i].table], 0);
        assert_string_equal(gp_trace_str(&t, cat), want[i].kept);
        gp_trace_release(&t);
        gp_buf_release(&b);
    }
}

TEST(space_is_free)
{
    struct gp_trace t;
    read_events(&t, KERNEL("7", "1", "\"device\":0,\"stream\":7") "," //
                KERNEL("7", " 2", "\"device\": 0 ,\n\"stream\" : 7 ") "," KERNEL(
                    "7", "3", "\"device\":0,\"stream\":  7"));
    assert_int_equal(t.tracks.n, 1);
    assert_int_equal(t.events[GP_GPU].start_ns[2], 3000);
    assert_null(t.events[GP_GPU].extra);
    gp_trace_release(&t);
}

TEST(an_operator_keeps_its_shapes_as_written)
{
    struct gp_trace t;
    read_events(
        &t, "{\"args\":{\"Input Dims\":[[4096, 32000], []],\"Record function id\":3,\"Sequence number\":8,"
            "\"Input type\":[\"float\"]},\"cat\":\"cpu_op\",\"ph\":\"X\",\"name\":\"n\"," ROW ",\"dur\":1}");
    const struct gp_events *e = &t.events[GP_OP];
    assert_true(e->n == 1 && gp_get_recfn(e, 0) == 3 && gp_get_seq(e, 0) == 8);
    assert_string_equal(gp_trace_str(&t, gp_get_extra(e, 0)),
                        "{\"Input Dims\":[[4096, 32000], []],\"Input type\":[\"float\"]}");
    gp_trace_release(&t);
}

TEST(instants_counters_flows_and_memory)
{
    struct gp_trace t;
    read_events(&t,
                "{\"ph\":\"i\",\"s\":\"g\",\"name\":\"mark\"," ROW "},"
                "{\"ph\":\"i\",\"s\":\"t\",\"cat\":\"cpu_instant_event\",\"name\":\"[memory]\"," ROW
                ",\"args\":{\"Bytes\":-512,\"Addr\":4096,\"Total Allocated\":7,\"Total Reserved\":9,\"Device "
                "Id\":0}},"
                "{\"ph\":\"C\",\"name\":\"power\"," ROW ",\"args\":{\"gpu\":1.5,\"cpu\":-2,\"bad\":\"x\"}},"
                "{\"ph\":\"s\",\"id\":7,\"cat\":\"ac2g\",\"name\":\"ac2g\"," ROW "},"
                "{\"ph\":\"f\",\"id\":8,\"cat\":\"fwdbwd\",\"name\":\"x\",\"bp\":\"e\"," ROW "},"
                "{\"ph\":\"N\",\"id\":\"obj\",\"cat\":\"o\",\"name\":\"x\"," ROW "}");
    const struct gp_events *mark = &t.events[GP_MARK], *memory = &t.events[GP_MEMORY],
                           *flow = &t.events[GP_FLOW];
    const struct gp_events *counter = &t.events[GP_COUNTER], *other = &t.events[GP_OTHER];
    assert_true(mark->n == 1 && gp_get_phase(mark, 0) == (uint32_t)'g' << 8);
    assert_true(memory->n == 1 && gp_get_bytes(memory, 0) == -512 && gp_get_addr(memory, 0) == 4096);
    assert_true(gp_get_total(memory, 0) == 7 && gp_get_reserved(memory, 0) == 9 && !gp_get_cat(memory, 0));
    assert_string_equal(gp_trace_str(&t, gp_get_extra(memory, 0)), "{\"Device Id\":0}");
    assert_int_equal(counter->n, 2);
    assert_string_equal(gp_trace_str(&t, counter->series[1]), "cpu");
    assert_true(counter->value[0] == 1.5 && counter->value[1] == -2);
    assert_true(flow->n == 2 && flow->id[0] == 7 && flow->phase[1] == 'f' && !gp_get_cat(flow, 0));
    assert_string_equal(gp_trace_str(&t, gp_get_cat(flow, 1)), "fwdbwd");
    assert_true(other->n == 1 && other->phase[0] == 'N');
    assert_string_equal(gp_trace_str(&t, gp_get_id_text(other, 0)), "obj");
    assert_int_equal(t.issues[GP_Q_BAD_VALUE].count, 1);
    assert_int_equal(issues_of(&t), 1);
    gp_trace_release(&t);
}

TEST(ids_that_fit_are_numbers_and_others_text)
{
    struct gp_trace t;
    read_sample(&t, "big_ids.json");
    const struct gp_events *flow = &t.events[GP_FLOW], *other = &t.events[GP_OTHER];
    assert_true(gp_get_id(flow, 0) == 18446744073709551614u && gp_get_id(flow, 1) == GP_NO_ID);
    assert_string_equal(gp_trace_str(&t, gp_get_id_text(flow, 1)), "36893488147419103232");
    assert_int_equal(gp_get_id(flow, 2), 0x1f);
    assert_int_equal(gp_get_id(other, 0), 0x20);
    assert_string_equal(gp_trace_str(&t, gp_get_id_text(other, 1)), "request-7");
    assert_int_equal(gp_get_corr(&t.events[GP_GPU], 0), GP_NO_ID);
    assert_string_equal(gp_trace_str(&t, gp_get_extra(&t.events[GP_GPU], 0)),
                        "{\"correlation\":18446744073709551616,\"Comms Id\":36893488147419103232}");
    gp_trace_release(&t);
}

TEST(begins_and_ends_are_matched_by_nesting)
{
    struct gp_trace t;
    read_sample(&t, "unmatched_begin.json");
    const struct gp_events *e = &t.events[GP_RANGE];
    assert_int_equal(e->n, 2);
    assert_string_equal(gp_trace_str(&t, e->name[0]), "outer");
    assert_int_equal(e->start_ns[0], 10000);
    assert_int_equal(e->dur_ns[0], 100500); /* to the end of k1: 110.5 us */
    assert_int_equal(e->dur_ns[1], 10000);
    assert_string_equal(gp_trace_str(&t, gp_get_extra(e, 1)), "{\"a\":1,\"b\":2}");
    gp_trace_release(&t);
}

TEST(rows_of_one_pair_share_the_stream)
{
    struct gp_trace t;
    read_events(&t,
                "{\"ph\":\"X\",\"cat\":\"gpu_user_annotation\",\"name\":\"a\",\"pid\":0,\"tid\":7,\"ts\":1,"
                "\"dur\":9},"
                "{\"ph\":\"f\",\"id\":1,\"cat\":\"ac2g\",\"name\":\"ac2g\",\"pid\":0,\"tid\":7,\"ts\":2}," //
                KERNEL("7", "2", "\"device\":0,\"context\":1,\"stream\":7") ","                            //
                KERNEL("7", "4", "\"device\":0,\"context\":2,\"stream\":7") ","                            //
                KERNEL("8", "6", "") ","
                                     "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":0,\"tid\":7,\"args\":{"
                                     "\"name\":\"stream 7\"}}");
    const struct gp_events *gpu = &t.events[GP_GPU];
    uint32_t first = gpu->track[0], second = gpu->track[1], third = gpu->track[2];
    assert_true(first != second && second != third && first != third);
    assert_int_equal(t.events[GP_GPU_RANGE].track[0], first);
    assert_int_equal(t.events[GP_FLOW].track[0], first);
    assert_int_equal(t.tracks.at[second].context, 2);
    assert_string_equal(gp_trace_str(&t, t.tracks.at[second].name), "stream 7");
    /* without args: the row is (device, stream) */
    assert_true(t.tracks.at[third].device == 0 && t.tracks.at[third].stream == 8);
    gp_trace_release(&t);
}

TEST(the_outer_object_is_kept)
{
    static const char text[] =
        "{\"displayTimeUnit\":\"ms\",\"deviceProperties\":[{\"id\":1,\"name\":\"H200\",\"numSms\":132,"
        "\"computeMajor\":9,\"totalGlobalMem\":150109880320}],\"traceEvents\":[],"
        "\"distributedInfo\":{\"backend\":\"nccl\",\"rank\":3,\"world_size\":8},\"traceName\":\"a\\nb\"}";
    struct gp_trace t;
    read_text(&t, text, sizeof text - 1, 1, GP_CHROME_CHUNK);
    assert_string_equal(gp_trace_get_meta(&t, "displayTimeUnit"), "\"ms\"");
    assert_string_equal(gp_trace_get_meta(&t, "traceName"), "\"a\\nb\"");
    assert_true(t.rank == 3 && t.world_size == 8);
    assert_null(gp_trace_get_meta(&t, "deviceProperties"));
    assert_int_equal(t.devices.n, 1);
    assert_true(t.devices.at[0].id == 1 && t.devices.at[0].sms == 132 && t.devices.at[0].cc_major == 9);
    assert_int_equal(t.devices.at[0].memory_bytes, 150109880320);
    assert_string_equal(gp_trace_str(&t, t.devices.at[0].name), "H200");
    assert_int_equal(issues_of(&t), 0);
    gp_trace_release(&t);
}

TEST(what_is_not_needed_is_not_kept)
{
    static const char text[] =
        "[{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"o\"," ROW ",\"dur\":1,\"args\":{\"a\":1}},"
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\"," ROW ",\"dur\":1,\"args\":{\"a\":1}}]";
    struct gp_trace t;
    struct gp_read_opts opts = {.need = GP_NEED(GP_GPU), .threads = 1};
    struct gp_err err = {0};
    assert_int_equal(gp_trace_read_memory(&t, text, sizeof text - 1, &opts, &err), 0);
    assert_true(t.events[GP_OP].n == 0 && t.events[GP_GPU].n == 1 && !t.events[GP_GPU].extra);
    assert_int_equal(t.input.events, 2);
    gp_trace_release(&t);
}

static void refused(const char *text, const char *message)
{
    struct gp_trace t;
    struct gp_read_opts opts = {.threads = 1};
    struct gp_err err = {0};
    assert_int_equal(gp_trace_read_memory(&t, text, strlen(text), &opts, &err), -1);
    if (!strstr(err.msg, message)) fail_msg("%s", err.msg);
}

TEST(links_are_kept_where_ids_do_not_tell)
{
    static const char format[] =
        "[{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"launch\",\"pid\":1,\"tid\":1,\"ts\":1,"
        "\"dur\":2,\"args\":{\"correlation\":7,\"cbid\":211}},"
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":9,\"dur\":2,"
        "\"args\":{\"device\":0,\"stream\":7,\"correlation\":%d,\"External id\":33,\"queued\":0}},"
        "{\"ph\":\"s\",\"cat\":\"ac2g\",\"name\":\"ac2g\",\"id\":5,\"pid\":1,\"tid\":1,\"ts\":1},"
        "{\"ph\":\"f\",\"cat\":\"ac2g\",\"name\":\"ac2g\",\"id\":5,\"pid\":0,\"tid\":7,\"ts\":9}]";
    for (int corr = 7; corr <= 8; corr++) {
        char text[1024];
        struct gp_trace t;
        struct gp_read_opts opts = {.threads = 1,
                                    .need = GP_NEED(GP_GPU) | GP_NEED(GP_API) | GP_NEED(GP_FLOW) |
                                            GP_NEED_FEW_ARROWS | GP_NEED_EXTRA_WORK};
        int n = snprintf(text, sizeof text, format, corr);
        assert_int_equal(gp_trace_read_memory(&t, text, (size_t)n, &opts, NULL), 0);
        assert_int_equal(t.events[GP_FLOW].n, corr == 7 ? 0 : 2);
        assert_true(gp_get_ext(&t.events[GP_GPU], 0) == (corr == 7 ? GP_NO_ID : 33));
        assert_int_equal(t.input.events, 4);
        assert_null(t.events[GP_API].extra); /* the args of GPU work alone */
        assert_int_equal(gp_gpu_config(&t, 0)->extra || t.events[GP_GPU].extra, 1);
        gp_trace_release(&t);
    }
}

TEST(what_is_no_trace_is_refused)
{
    refused("", "empty input");
    refused("hello", "not a trace");
    refused("{\"name\":\"left-pad\",\"version\":1}", "no \"traceEvents\"");
    struct gp_trace t;
    struct gp_read_opts strict = {.threads = 1, .strict = true};
    struct gp_err err = {0};
    assert_int_equal(gp_trace_read_memory(&t, "[{\"ph\":\"X\"}]", 12, &strict, &err), -1);
    assert_int_equal(err.offset, 1);
}

/* ---- chunks and threads ---- */

/* Events of all kinds, some with nested objects that look like events, some broken, with spaces as Kineto has
 * them. */
static void make_events(struct gp_buf *b, int n, bool damage, bool nested)
{
    gp_buf_puts(b, "{\"schemaVersion\":1,\n\"traceEvents\": [\n");
    for (int i = 0; i < n; i++) {
        gp_buf_printf(
            b,
            "%s  {\n    \"ph\": \"X\", \"cat\": \"%s\", \"name\": \"name %d\", \"pid\": %d, \"tid\": %d,\n",
            i ? ",\n" : "", i % 3 ? "kernel" : "cpu_op", i % 50, i % 2, i % 5);
        gp_buf_printf(
            b,
            "    \"ts\": %d.%03d, \"dur\": %d,\n    \"args\": {\n      \"stream\": %d, \"correlation\": %d",
            i, i % 1000, i % 7, i % 3, i);
        if (nested && i % 11 == 0)
            gp_buf_puts(b, ", \"list\": [{\"ph\": 1}, {\"name\": \"x\"}, {\"ts\": 2}]");
        if (i % 13 == 0) gp_buf_printf(b, ", \"text\": \"%*s\"", i % 400, "");
        if (damage && i % 17 == 0) gp_buf_puts(b, ", \"bad\": \"a \"quoted\" word\"");
        if (damage && i % 29 == 0) gp_buf_puts(b, ", \"open\": [1, 2");
        gp_buf_puts(b, "\n    }\n  }");
    }
    gp_buf_puts(b, "\n],\n\"traceName\": \"x\"}\n");
}

TEST(threads_do_not_change_the_result)
{
    static const size_t chunks[] = {64, 100, 333, 1000, 20000};
    for (int damage = 0; damage < 2; damage++) {
        struct gp_buf b = {0};
        make_events(&b, 500, damage, true);
        for (size_t i = 0; i < GP_COUNT(chunks); i++) {
            struct gp_trace one, four;
            read_text(&one, b.data, b.n, 1, chunks[i]);
            read_text(&four, b.data, b.n, 4, chunks[i]);
            assert_true(trace_same(&one, &four));
            gp_trace_release(&one);
            gp_trace_release(&four);
        }
        gp_buf_release(&b);
    }
}

/* Whatever was learned from the events before. */
TEST(no_control_character_ends_an_event)
{
#define OP "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\"," ROW ",\"dur\":1"
    for (int byte = 1; byte < ' '; byte++) {
        struct gp_trace t;
        char text[300];
        if (strchr("\t\n\r", byte)) continue;
        snprintf(text, sizeof text, "%s},%s},%s%c}", OP, OP, OP, byte);
        read_events(&t, text);
        assert_int_equal(t.events[GP_OP].n, 2);
        assert_int_equal(t.issues[GP_Q_SYNTAX].count, 1);
        gp_trace_release(&t);
    }
#undef OP
}

/* All rows as text, so that readings with different numbers for the same strings compare. */
static void rows_as_text(const struct gp_trace *t, struct gp_buf *b)
{
    for (int table = 0; table < GP_TABLE_COUNT; table++) {
        const struct gp_events *e = &t->events[table];
        for (size_t i = 0; i < e->n; i++)
            gp_buf_printf(b, "%d %lld %lld %lld %s %s %llu\n", table, (long long)e->start_ns[i],
                          (long long)e->dur_ns[i], (long long)t->tracks.at[e->track[i]].tid,
                          gp_trace_str(t, e->name[i]), gp_trace_str(t, gp_get_extra(e, i)),
                          (unsigned long long)gp_get_corr(e, i));
    }
    for (int i = 0; i < GP_ISSUE_COUNT; i++)
        gp_buf_printf(b, "%llu\n", (unsigned long long)t->issues[i].count);
}

TEST(chunks_do_not_change_the_result_of_sound_input)
{
    struct gp_buf b = {0}, whole = {0};
    struct gp_trace t;
    make_events(&b, 500, false, true);
    read_text(&t, b.data, b.n, 1, GP_CHROME_CHUNK);
    assert_int_equal(t.input.events, 500);
    rows_as_text(&t, &whole);
    gp_trace_release(&t);
    for (size_t chunk = 64; chunk < 6000; chunk += chunk / 3 + 7) {
        struct gp_buf cut = {0};
        read_text(&t, b.data, b.n, 2, chunk);
        rows_as_text(&t, &cut);
        gp_trace_release(&t);
        assert_string_equal(gp_buf_str(&cut), gp_buf_str(&whole));
        gp_buf_release(&cut);
    }
    gp_buf_release(&whole);
    gp_buf_release(&b);
}

/* Cut anywhere, the events before the cut are there. */
/* An event with braces too many: its array "grid" does not end the events, the array after the last one
 * does. */
TEST(arrays_of_a_damaged_event_do_not_end_the_events)
{
#define SPAN "{\"ph\":\"X\",\"cat\":\"kernel\"," ROW ",\"dur\":9,\"name\":"
    static const char text[] =
        "{\"traceEvents\":[" SPAN "\"a\"}," SPAN
        "\"b\",\"args\":{\"x\":{\"y\":{}}}}},\"grid\":[8,1,1],\"block\":[128,[1],1]}}," SPAN
        "\"c\"}, garbage [,{}],\"seen\":\"yes\"}";
    struct gp_trace t;
    read_text(&t, text, sizeof text - 1, 1, GP_CHROME_CHUNK);
    assert_int_equal(t.events[GP_GPU].n, 3);
    assert_string_equal(gp_trace_str(&t, t.events[GP_GPU].name[2]), "c");
    assert_int_equal(t.meta.n, 1);
    assert_string_equal(gp_trace_str(&t, t.meta.at[0].key), "seen");
    gp_trace_release(&t);
}

TEST(every_cut_gives_what_came_before)
{
    struct gp_buf b = {0};
    make_events(&b, 12, false, false);
    for (size_t n = 40; n < b.n; n++) {
        struct gp_trace t;
        size_t whole = 0;
        for (size_t i = 0; i + 8 <= n; i++)
            whole += !memcmp(b.data + i, "\n    }\n  }", 10 < n - i ? 10 : n - i) && n - i >= 10;
        read_text(&t, b.data, n, 1, GP_CHROME_CHUNK);
        if (t.input.events != whole)
            fail_msg("cut at %zu: %llu events, not %zu", n, (unsigned long long)t.input.events, whole);
        if (n < b.n - 2) assert_true(gp_trace_truncated(&t));
        gp_trace_release(&t);
    }
    gp_buf_release(&b);
}

/* ---- hostile input ---- */

/* CPU seconds that reading BEGIN, then COUNT times UNIT, takes. */
static double seconds_to_read(const char *begin, const char *unit, int count)
{
    struct gp_buf b = {0};
    struct gp_trace t;
    gp_buf_puts(&b, begin);
    for (int i = 0; i < count; i++) gp_buf_puts(&b, unit);
    struct gp_read_opts opts = {.threads = 2, .need = GP_NEED_ALL};
    struct gp_err err = {0};
    struct gp_input *in = gp_input_memory(b.data, b.n, 1);
    gp_trace_init(&t, GP_NEED_ALL);
    clock_t began = clock();
    int refused = gp_chrome_read_chunked(&t, in, &opts, GP_CHROME_CHUNK, &err);
    double took = (double)(clock() - began) / CLOCKS_PER_SEC;
    if (!refused) {
        gp_trace_finish(&t);
        if (gp_trace_check(&t, &err)) fail_msg("%s", err.msg);
    }
    gp_input_close(in);
    gp_trace_release(&t);
    gp_buf_release(&b);
    return took;
}

/* Eight times the input takes about eight times as long, not 64 times, however fast the machine is. What
 * takes less than a second is not looked at: quadratic work takes longer with these counts. */
static void grows_linearly(const char *begin, const char *unit, int count)
{
    double whole = seconds_to_read(begin, unit, count);
    if (whole < 1) return;
    double part = seconds_to_read(begin, unit, count / 8);
    if (whole > 30 * part)
        fail_msg("%.40s %.40s: %.2f s, and %.2f s for an eighth", begin, unit, whole, part);
}

TEST(hostile_input_takes_linear_time)
{
    grows_linearly("[", "[", 1000000);
    grows_linearly("[", "{\"a\":", 500000);
    grows_linearly("[{\"args\":", "[", 1000000);
    grows_linearly("[{\"name\":\"", "x", 4000000);
    grows_linearly("[{\"name\":\"", "\\", 1000001);
    grows_linearly("[", "{\"ph\":\"X\",\"name\":\"a \"b\" c\"},", 200000);
    grows_linearly("[", "{\"ph\":\"X\",\"x\":[1,2},", 200000);
    grows_linearly("[", "{\"ph\":\"X\"},{\"args\":[{},", 200000);
    grows_linearly("[{\"a\":[{}", ",{\"ph\":[{}", 300000);
    grows_linearly("[{\"x\":1}", ",{\"ph\":\"},{\"ph\":\"", 200000);
    grows_linearly("[", "{\"ph\":\"B\",\"name\":\"n\"," ROW "},", 100000);
    grows_linearly("[", "{\"ph\":\"B\",\"name\":\"n\"," ROW "},{\"ph\":\"E\",\"name\":\"m\"," ROW "},",
                   60000);
    grows_linearly("[{\"ph\":\"X\",\"cat\":\"kernel\"," ROW ",\"dur\":1,\"args\":{\"a\":1", ",\"k\":2",
                   300000);
    grows_linearly("[", "garbage { } ] , ", 200000);
    grows_linearly("{\"a\":{", "\"traceEvents\":", 200000);
    grows_linearly("{\"stackFrames\":{", "\"1\":{\"parent\":1},", 300000);
    grows_linearly("{\"stackFrames\":{\"1\":", "{\"parent\":", 300000);
    grows_linearly("{\"traceEvents\":[", "{\"ph\":\"X\"," ROW ",\"dur\":1,\"sf\":1},", 200000);
    grows_linearly("{", "                    ", 200000);
}
