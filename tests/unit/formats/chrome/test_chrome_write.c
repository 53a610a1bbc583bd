// Chrome JSON out of traces built by hand; the expected text is written by hand from the format's rules.
#include <stdlib.h>

#include "formats/base/buf.h"
#include "formats/base/json_write.h"
#include "formats/chrome/chrome_rows.h"
#include "formats/chrome/chrome.h"
#include "tests/unit/unit.h"

static int to_buf(void *ctx, const void *data, size_t n)
{
    gp_buf_put(ctx, data, n);
    return 0;
}

/* Stands for a demangler. */
static void plain(struct gp_buf *to, const char *text, size_t n)
{
    if (n > 2 && !memcmp(text, "_Z", 2)) gp_buf_puts(to, "plain ");
    gp_buf_put(to, text, n);
}

/* The text of T, which is finished and released. The caller frees the buffer. */
static struct gp_buf written(struct gp_trace *t)
{
    struct gp_buf b = {0};
    gp_trace_finish(t);
    assert_int_equal(gp_chrome_write(t, plain, to_buf, &b), 0);
    gp_buf_str(&b);
    assert_true(gp_json_is_valid(b.data, b.n));
    gp_trace_release(t);
    return b;
}

static void expect_text(struct gp_trace *t, const char *want)
{
    struct gp_buf b = written(t);
    assert_string_equal(gp_buf_str(&b), want);
    gp_buf_release(&b);
}

static void expect_lines(struct gp_trace *t, const char *const *lines)
{
    struct gp_buf b = written(t);
    for (; *lines; lines++)
        if (!strstr(gp_buf_str(&b), *lines)) fail_msg("no line %s\nin %s", *lines, gp_buf_str(&b));
    gp_buf_release(&b);
}

#define EXPECT(t, ...) expect_lines((t), (const char *const[]){__VA_ARGS__, NULL})

static gp_sid name(struct gp_trace *t, const char *s) { return gp_trace_intern(t, s, strlen(s)); }

static uint32_t thread_of(struct gp_trace *t, uint32_t producer, int64_t pid, int64_t tid)
{
    struct gp_process p = gp_process_unknown();
    p.pid = pid;
    p.producer = producer;
    struct gp_track k = gp_track_unknown();
    k.process = gp_trace_process(t, &p);
    k.tid = tid;
    return gp_trace_track(t, &k);
}

static uint32_t thread(struct gp_trace *t, int64_t pid, int64_t tid) { return thread_of(t, 0, pid, tid); }

/* As our collector leaves a trace: with a clock pair. */
static void collected(struct gp_trace *t)
{
    struct gp_clock clock = {1000, 1700000000000000000, 0};
    GP_VEC_PUSH(&t->clocks, clock);
}

/* A stream in the process PID. */
static uint32_t stream(struct gp_trace *t, uint32_t producer, int64_t pid, int64_t tid, int64_t device,
                       int64_t number)
{
    struct gp_process p = gp_process_unknown();
    p.pid = pid;
    p.producer = producer;
    struct gp_track k = gp_track_unknown();
    k.kind = GP_TRACK_STREAM;
    k.process = gp_trace_process(t, &p);
    k.tid = tid;
    k.device = device;
    k.context = 1;
    k.stream = number;
    return gp_trace_track(t, &k);
}

static size_t kernel(struct gp_trace *t, uint32_t track, int64_t start, int64_t dur, const char *text)
{
    struct gp_config c;
    memset(&c, 0, sizeof c);
    c.name = name(t, text);
    size_t row = gp_events_add(&t->events[GP_GPU], start, dur, track, c.name);
    gp_set_config(&t->events[GP_GPU], row, gp_trace_config(t, &c));
    return row;
}

TEST(an_empty_trace_is_a_valid_file)
{
    struct gp_trace t;
    gp_trace_init(&t, GP_NEED_ALL);
    expect_text(&t, "{\"schemaVersion\":1,\n\"traceEvents\":[\n]}\n");
}

TEST(a_span_has_its_name_row_and_exact_times)
{
    struct gp_trace t;
    gp_trace_init(&t, GP_NEED_ALL);
    gp_trace_set_meta(&t, "schemaVersion", "1", 1);
    size_t row = gp_events_add(&t.events[GP_OP], 123456, 2000, thread(&t, 10, 11), name(&t, "aten::\"mm\""));
    gp_set_ext(&t.events[GP_OP], row, 5);
    gp_set_seq(&t.events[GP_OP], row, 0);
    gp_set_extra(&t.events[GP_OP], row, name(&t, "{\"Input Dims\": [[2, 3]]}"));
    expect_text(
        &t,
        "{\"schemaVersion\":1,\n\"traceEvents\":[\n"
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::\\\"mm\\\"\",\"pid\":10,\"tid\":11,\"ts\":123.456,"
        "\"dur\":2,\"args\":{\"External id\":5,\"Sequence number\":0,\"Input Dims\": [[2, 3]]}}\n]}\n");
}

TEST(a_kernel_has_the_args_of_its_track_and_config)
{
    struct gp_trace t;
    gp_trace_init(&t, GP_NEED_ALL);
    struct gp_config c;
    memset(&c, 0, sizeof c);
    c.name = name(&t, "gemm");
    c.has = GP_HAS_GRID | GP_HAS_BLOCK | GP_HAS_REGS | GP_HAS_SHARED;
    c.grid[0] = 4, c.grid[1] = c.grid[2] = 1;
    c.block[0] = 128, c.block[1] = c.block[2] = 1;
    c.registers = 32;
    c.extra = name(&t, "{\"queued\": 0}");
    uint32_t track = stream(&t, 0, 0, 7, 0, 7);
    size_t row = gp_events_add(&t.events[GP_GPU], 1000, 500, track, c.name);
    gp_set_config(&t.events[GP_GPU], row, gp_trace_config(&t, &c));
    gp_set_corr(&t.events[GP_GPU], row, 42);
    gp_set_graph(&t.events[GP_GPU], row, 3);
    gp_set_node(&t.events[GP_GPU], row, 4);
    gp_set_captured(&t.events[GP_GPU], row, name(&t, "step\x1flayer \"0\""));
    EXPECT(&t,
           "\n{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"gemm\",\"pid\":0,\"tid\":7,\"ts\":1,\"dur\":0.500,"
           "\"args\":{"
           "\"correlation\":42,\"graph id\":3,\"graph node id\":4,\"device\":0,\"context\":1,\"stream\":7,"
           "\"capture ranges\":[\"step\",\"layer \\\"0\\\"\"],"
           "\"registers per thread\":32,\"shared memory\":0,\"grid\":[4,1,1],\"block\":[128,1,1],\"queued\": "
           "0}}\n");
}

TEST(a_copy_has_its_bytes_and_its_own_category)
{
    struct gp_trace t;
    gp_trace_init(&t, GP_NEED_ALL);
    struct gp_config c;
    memset(&c, 0, sizeof c);
    c.name = name(&t, "Memcpy HtoD (Pinned -> Device)");
    c.kind = GP_MEMCPY;
    size_t row = gp_events_add(&t.events[GP_GPU], 0, 1, stream(&t, 0, 0, 7, 0, 7), c.name);
    gp_set_config(&t.events[GP_GPU], row, gp_trace_config(&t, &c));
    gp_set_bytes(&t.events[GP_GPU], row, 4096);
    c.cat = name(&t, "Memcpy");
    row = gp_events_add(&t.events[GP_GPU], 5, 1, stream(&t, 0, 0, 7, 0, 7), c.name);
    gp_set_config(&t.events[GP_GPU], row, gp_trace_config(&t, &c));
    EXPECT(&t, "\"cat\":\"gpu_memcpy\",", "\"bytes\":4096}", "\"cat\":\"Memcpy\",");
}

TEST(text_pids_and_tids_stay_text)
{
    struct gp_trace t;
    gp_trace_init(&t, GP_NEED_ALL);
    struct gp_process p = gp_process_unknown();
    p.pid_text = name(&t, "Spans");
    struct gp_track k = gp_track_unknown();
    k.kind = GP_TRACK_OTHER;
    k.process = gp_trace_process(&t, &p);
    k.tid_text = name(&t, "PyTorch Profiler");
    size_t row =
        gp_events_add(&t.events[GP_OTHER], 0, 9000, gp_trace_track(&t, &k), name(&t, "PyTorch Profiler (0)"));
    gp_set_cat(&t.events[GP_OTHER], row, name(&t, "Trace"));
    EXPECT(&t, "{\"ph\":\"X\",\"cat\":\"Trace\",\"name\":\"PyTorch Profiler (0)\",\"pid\":\"Spans\","
               "\"tid\":\"PyTorch Profiler\",\"ts\":0,\"dur\":9}");
}

TEST(flows_keep_phase_id_and_binding)
{
    struct gp_trace t;
    gp_trace_init(&t, GP_NEED_ALL);
    struct gp_events *e = &t.events[GP_FLOW];
    gp_events_add(e, 1000, 0, thread(&t, 1, 2), name(&t, "ac2g"));
    gp_set_phase(e, 0, 's');
    gp_set_id(e, 0, 77);
    gp_events_add(e, 2000, 0, thread(&t, 1, 3), name(&t, "fwdbwd"));
    gp_set_phase(e, 1, 'f');
    gp_set_cat(e, 1, name(&t, "fwdbwd"));
    gp_set_id_text(e, 1, name(&t, "0x1f"));
    EXPECT(&t,
           "\n{\"ph\":\"s\",\"cat\":\"ac2g\",\"name\":\"ac2g\",\"pid\":1,\"tid\":2,\"ts\":1,\"id\":77},\n",
           "\n{\"ph\":\"f\",\"cat\":\"fwdbwd\",\"name\":\"fwdbwd\",\"pid\":1,\"tid\":3,\"ts\":2,\"id\":"
           "\"0x1f\",\"bp\":\"e\"}\n");
}

TEST(instants_keep_their_scope)
{
    struct gp_trace t;
    gp_trace_init(&t, GP_NEED_ALL);
    struct gp_events *e = &t.events[GP_MARK];
    gp_events_add(e, 1000, 0, thread(&t, 1, 2), name(&t, "a"));
    gp_events_add(e, 2000, 0, thread(&t, 1, 2), name(&t, "b"));
    gp_set_phase(e, 1, 'i' | 'g' << 8);
    EXPECT(&t, "{\"ph\":\"i\",\"name\":\"a\",\"pid\":1,\"tid\":2,\"ts\":1,\"s\":\"t\"}",
           "{\"ph\":\"i\",\"name\":\"b\",\"pid\":1,\"tid\":2,\"ts\":2,\"s\":\"g\"}");
}

TEST(allocations_are_memory_instants)
{
    struct gp_trace t;
    gp_trace_init(&t, GP_NEED_ALL);
    struct gp_events *e = &t.events[GP_MEMORY];
    gp_events_add(e, 1001, 0, thread(&t, 1, 2), name(&t, "[memory]"));
    gp_set_bytes(e, 0, -512);
    gp_set_addr(e, 0, 140383086444544);
    gp_set_total(e, 0, 1024);
    gp_set_reserved(e, 0, 2048);
    EXPECT(&t, "{\"ph\":\"i\",\"cat\":\"cpu_instant_event\",\"name\":\"[memory]\",\"pid\":1,\"tid\":2,\"ts\":"
               "1.001,\"s\":\"t\","
               "\"args\":{\"Total Allocated\":1024,\"Total "
               "Reserved\":2048,\"Bytes\":-512,\"Addr\":140383086444544}}");
}

static void add_sample(struct gp_trace *t, int64_t ts, const char *counter, const char *series, double v)
{
    struct gp_events *e = &t->events[GP_COUNTER];
    size_t row = gp_events_add(e, ts, 0, thread(t, 1, 0), name(t, counter));
    gp_set_series(e, row, name(t, series));
    gp_set_value(e, row, v);
}

TEST(the_rows_of_a_sample_are_one_counter_event)
{
    struct gp_trace t;
    gp_trace_init(&t, GP_NEED_ALL);
    add_sample(&t, 1000, "clock", "sm", 1980);
    add_sample(&t, 1000, "clock", "memory", 2619.5);
    add_sample(&t, 1000, "clock", "sm", 1); /* the same series again: another sample */
    add_sample(&t, 1000, "power", "sm", 2);
    add_sample(&t, 2000, "power", "sm", 3);
    EXPECT(&t, "{\"ph\":\"C\",\"name\":\"clock\",\"pid\":1,\"tid\":0,\"ts\":1,\"args\":{\"sm\":1980,"
               "\"memory\":2619.5}},\n"
               "{\"ph\":\"C\",\"name\":\"clock\",\"pid\":1,\"tid\":0,\"ts\":1,\"args\":{\"sm\":1}},\n"
               "{\"ph\":\"C\",\"name\":\"power\",\"pid\":1,\"tid\":0,\"ts\":1,\"args\":{\"sm\":2}},\n"
               "{\"ph\":\"C\",\"name\":\"power\",\"pid\":1,\"tid\":0,\"ts\":2,\"args\":{\"sm\":3}}\n");
}

TEST(async_events_keep_phase_and_id)
{
    struct gp_trace t;
    gp_trace_init(&t, GP_NEED_ALL);
    struct gp_events *e = &t.events[GP_OTHER];
    gp_events_add(e, 1000, 0, thread(&t, 1, 2), name(&t, "io"));
    gp_set_phase(e, 0, 'b');
    gp_set_id(e, 0, 9);
    gp_events_add(e, 2000, 0, thread(&t, 1, 2), name(&t, "odd"));
    gp_set_phase(e, 1, '"'); /* no letter: written as a span, never as broken JSON */
    EXPECT(&t, "{\"ph\":\"b\",\"name\":\"io\",\"pid\":1,\"tid\":2,\"ts\":1,\"id\":9}",
           "{\"ph\":\"X\",\"name\":\"odd\",\"pid\":1,\"tid\":2,\"ts\":2,\"dur\":0}");
}

TEST(extra_that_is_no_object_becomes_a_string)
{
    struct gp_trace t;
    gp_trace_init(&t, GP_NEED_ALL);
    struct gp_events *e = &t.events[GP_OP];
    static const char *const extras[] = {"{\"a\": ", "{}", " {\"b\": 1} ", "\xff"};
    for (int i = 0; i < 4; i++) {
        gp_events_add(e, 1000 * i, 0, thread(&t, 1, 2), name(&t, "op"));
        gp_set_extra(e, (size_t)i, name(&t, extras[i]));
    }
    EXPECT(&t, "\"ts\":0,\"dur\":0,\"args\":{\"extra\":\"{\\\"a\\\": \"}}", "\"ts\":1,\"dur\":0}",
           "\"ts\":2,\"dur\":0,\"args\":{\"b\": 1}}",
           "\"ts\":3,\"dur\":0,\"args\":{\"extra\":\"\xef\xbf\xbd\"}}");
}

TEST(rows_have_their_recorded_names_once)
{
    struct gp_trace t;
    gp_trace_init(&t, GP_NEED_ALL);
    uint32_t a = thread(&t, 5, 7), b = stream(&t, 0, 5, 7, 0, 7);
    t.processes.at[0].name = name(&t, "python");
    t.processes.at[0].labels = name(&t, "CPU");
    t.processes.at[0].has_sort_index = true;
    t.processes.at[0].sort_index = -3;
    t.tracks.at[a].name = t.tracks.at[b].name = name(&t, "stream 7 ");
    struct gp_buf text = written(&t);
    static const char want[] =
        "\"traceEvents\":[\n"
        "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":5,\"tid\":0,\"args\":{\"name\":\"python\"}},\n"
        "{\"ph\":\"M\",\"name\":\"process_labels\",\"pid\":5,\"tid\":0,\"args\":{\"labels\":\"CPU\"}},\n"
        "{\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":5,\"tid\":0,\"args\":{\"sort_index\":-3}},\n"
        "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":5,\"tid\":7,\"args\":{\"name\":\"stream 7 \"}}\n]}\n";
    assert_non_null(strstr(gp_buf_str(&text), want));
    gp_buf_release(&text);
}

TEST(a_collected_stream_gets_the_row_of_its_device)
{
    struct gp_trace t;
    gp_trace_init(&t, GP_NEED_ALL);
    collected(&t);
    struct gp_events *api = &t.events[GP_API], *gpu = &t.events[GP_GPU];
    gp_events_add(api, 1000, 500, thread(&t, 4242, 4243), name(&t, "cudaLaunchKernel"));
    gp_set_corr(api, 0, 11);
    gp_events_add(api, 9000, 500, thread(&t, 4242, 4243), name(&t, "cudaFree"));
    gp_set_corr(api, 1, 12);
    size_t row = kernel(&t, stream(&t, 0, 4242, 13, 1, 13), 2500, 100, "k");
    gp_set_corr(gpu, row, 11);
    struct gp_buf b = written(&t);
    assert_non_null(strstr(
        gp_buf_str(&b),
        "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"tid\":0,\"args\":{\"name\":\"GPU 1\"}},\n"
        "{\"ph\":\"M\",\"name\":\"process_labels\",\"pid\":1,\"tid\":0,\"args\":{\"labels\":\"GPU 1\"}},\n"
        "{\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":1,\"tid\":0,\"args\":{\"sort_index\":5000001}}"
        ",\n"
        "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":1,\"tid\":13,\"args\":{\"name\":\"stream 13\"}},\n"));
    assert_non_null(
        strstr(gp_buf_str(&b), "\"name\":\"k\",\"pid\":1,\"tid\":13,\"ts\":2.500,\"dur\":0.100,"));
    /* one arrow, from the launch that has GPU work */
    assert_non_null(
        strstr(gp_buf_str(&b),
               "{\"ph\":\"f\",\"id\":11,\"pid\":1,\"tid\":13,\"ts\":2.500,\"cat\":\"ac2g\",\"name\":\"ac2g\","
               "\"bp\":\"e\"},\n"
               "{\"ph\":\"s\",\"id\":11,\"pid\":4242,\"tid\":4243,\"ts\":1,\"cat\":\"ac2g\",\"name\":"
               "\"ac2g\"}\n]}"));
    gp_buf_release(&b);
}

TEST(processes_that_share_numbers_do_not_collide)
{
    struct gp_trace t;
    gp_trace_init(&t, GP_NEED_ALL);
    collected(&t);
    /* Two producers with the same pid (containers), the same device, stream and correlation id. */
    for (uint32_t producer = 3; producer < 5; producer++) {
        thread_of(&t, producer, 1, 1);
        size_t row =
            kernel(&t, stream(&t, producer, 1, 7, 0, 7), 1000, 1000, producer == 3 ? "first" : "second");
        gp_set_corr(&t.events[GP_GPU], row, 5);
    }
    /* 4294967301 = 5 + 2^32 */
    EXPECT(&t, "\"name\":\"first\",\"pid\":0,\"tid\":7,\"ts\":1,\"dur\":1,\"args\":{\"correlation\":5,",
           "\"name\":\"second\",\"pid\":10000000,\"tid\":7,\"ts\":1,\"dur\":1,\"args\":{\"correlation\":"
           "4294967301,",
           "\"pid\":0,\"tid\":0,\"args\":{\"name\":\"GPU 0 (process 1)\"}",
           "\"pid\":10000000,\"tid\":0,\"args\":{\"name\":\"GPU 0 (process 10000001)\"}");
}

TEST(a_device_gives_way_to_a_process_with_its_number)
{
    struct gp_trace t;
    gp_trace_init(&t, GP_NEED_ALL);
    collected(&t);
    thread(&t, 1, 1); /* pid 1, as in a container */
    uint32_t a = stream(&t, 0, 1, 7, 1, 7), b = stream(&t, 0, 1, 7, 0, 7);
    struct gp_track other_context = t.tracks.at[b];
    other_context.context = 2;
    uint32_t c = gp_trace_track(&t, &other_context);
    struct gp_chrome_rows rows;
    gp_chrome_rows_make(&rows, &t);
    assert_int_equal(rows.tracks[a].pid, 10000001);
    assert_int_equal(rows.tracks[b].pid, 0);
    assert_int_equal(rows.tracks[b].tid, 7);
    assert_int_equal(rows.tracks[c].pid, 0);
    assert_int_equal(rows.tracks[c].tid, 10000007);
    gp_chrome_rows_release(&rows);
    gp_trace_release(&t);
}

TEST(what_was_read_from_a_chrome_trace_keeps_its_row)
{
    struct gp_trace t;
    gp_trace_init(&t, GP_NEED_ALL);
    thread(&t, 30, 31);
    struct gp_events *gpu = &t.events[GP_GPU];
    gp_set_corr(gpu, kernel(&t, stream(&t, 0, 30, 7, 2, 7), 0, 1, "k"), 4);
    gp_events_add(&t.events[GP_API], 0, 1, thread(&t, 30, 31), name(&t, "launch"));
    gp_set_corr(&t.events[GP_API], 0, 4);
    struct gp_buf b = written(&t);
    assert_non_null(strstr(gp_buf_str(&b), "\"name\":\"k\",\"pid\":30,\"tid\":7,"));
    assert_null(strstr(gp_buf_str(&b), "ac2g")); /* nothing is added to what was recorded */
    gp_buf_release(&b);
}

TEST(mangled_kernel_names_are_made_plain_where_we_recorded_them)
{
    struct gp_trace t;
    gp_trace_init(&t, GP_NEED_ALL);
    collected(&t);
    gp_events_add(&t.events[GP_OP], 0, 1, thread(&t, 1, 1), name(&t, "_Zop"));
    kernel(&t, stream(&t, 0, 1, 7, 0, 7), 0, 1, "_Z1k\"");
    kernel(&t, stream(&t, 0, 1, 7, 0, 7), 5, 1, "_Z1k\"");
    EXPECT(&t, "\"name\":\"_Zop\",", "\"name\":\"plain _Z1k\\\"\",\"pid\":0,\"tid\":7,\"ts\":0,",
           "\"name\":\"plain _Z1k\\\"\",\"pid\":0,\"tid\":7,\"ts\":0.005,");
    gp_trace_init(&t, GP_NEED_ALL);
    kernel(&t, stream(&t, 0, 1, 7, 0, 7), 0, 1, "_Z1k");
    EXPECT(&t, "\"name\":\"_Z1k\",");
}

TEST(metadata_devices_and_losses_are_told)
{
    struct gp_trace t;
    gp_trace_init(&t, GP_NEED_ALL);
    gp_trace_set_meta(&t, "trace_id", "\"AB\"", 4);
    gp_trace_set_meta(&t, "broken", "{", 1);
    gp_trace_set_meta(&t, "deviceProperties", "[]", 2);
    struct gp_device d = gp_device_unknown();
    d.name = name(&t, "NVIDIA H200");
    d.sms = 132;
    d.extra = name(&t, "{\"uuid\":\"GPU-0\"}");
    GP_VEC_PUSH(&t.devices, d);
    d.id = 1;
    d.extra = name(&t, "{\"id\": 1, \"x\": 2}");
    GP_VEC_PUSH(&t.devices, d);
    struct gp_loss loss = {name(&t, "activity records"), name(&t, "buffer pool full"), 12, UINT32_MAX};
    GP_VEC_PUSH(&t.losses, loss);
    collected(&t);
    t.rank = 3;
    expect_text(
        &t,
        "{\"schemaVersion\":1,\n"
        "\"deviceProperties\":[{\"id\":0,\"name\":\"NVIDIA "
        "H200\",\"numSms\":132,\"uuid\":\"GPU-0\"},\n{\"id\": 1, \"x\": 2}],\n"
        "\"distributedInfo\":{\"rank\":3},\n"
        "\"baseTimeNanoseconds\":1699999999999999000,\n"
        "\"gpuprofLosses\":[{\"what\":\"activity records\",\"reason\":\"buffer pool full\",\"count\":12}],\n"
        "\"trace_id\":\"AB\",\n\"broken\":\"{\",\n\"traceEvents\":[\n]}\n");
}

struct stopping_sink {
    int calls;
};

static int stop(void *ctx, const void *data, size_t n)
{
    struct stopping_sink *s = ctx;
    (void)data;
    (void)n;
    s->calls++;
    return -1;
}

/* What a frame's text would not give back has members of its own. */
TEST(frames_waiters_and_the_pace_are_written_for_our_reader)
{
    struct gp_trace t;
    gp_trace_init(&t, GP_NEED_ALL);
    uint32_t track = thread(&t, 5, 6);
    GP_VEC_PUSH(&t.symbols, (struct gp_symbol){0});
    GP_VEC_PUSH(&t.symbols, ((struct gp_symbol){.module = name(&t, "/lib/x.so"), .offset = 20}));
    GP_VEC_PUSH(&t.stacks, (struct gp_stack){0});
    GP_VEC_PUSH(&t.stacks,
                ((struct gp_stack){.name = name(&t, "main"), .file = name(&t, "a.py"), .line = 3}));
    GP_VEC_PUSH(&t.stacks, ((struct gp_stack){.parent = 1, .name = name(&t, "unused")}));
    GP_VEC_PUSH(&t.stacks, ((struct gp_stack){.parent = 1, .name = name(&t, "f (b:1)"), .symbol = 1}));
    GP_VEC_PUSH(&t.stacks,
                ((struct gp_stack){.parent = 3, .name = name(&t, "g"), .file = name(&t, "x (y"), .line = 9}));
    GP_VEC_PUSH(&t.paces, ((struct gp_pace){.start_ns = -4, .dur_ns = 3, .how = GP_PACE_PAUSE}));
    size_t row = gp_events_add(&t.events[GP_API], 1000, 1, track, name(&t, "c"));
    gp_set_stack(&t.events[GP_API], row, 4);
    gp_set_waiter(&t.events[GP_API], row, thread(&t, 5, 7));
    EXPECT(&t, "\"gpuprofPace\":[[-4,3,1,5]],\n",
           "\"stackFrames\":{\"1\":{\"name\":\"main (a.py:3)\",\"category\":\"python\"},\n"
           "\"3\":{\"name\":\"f (b:1)\",\"category\":\"native\",\"parent\":1,\"function\":\"f (b:1)\","
           "\"module\":\"/lib/x.so\",\"offset\":20},\n"
           "\"4\":{\"name\":\"g (x (y:9)\",\"category\":\"python\",\"parent\":3,\"function\":\"g\","
           "\"file\":\"x (y\",\"line\":9}},\n",
           "\"ts\":1,\"sf\":4,\"dur\":0.001,\"args\":{\"waiting thread\":7}}");
}

TEST(a_sink_that_says_stop_is_not_called_again)
{
    struct gp_trace t;
    gp_trace_init(&t, GP_NEED_ALL);
    for (int i = 0; i < 10000; i++) kernel(&t, stream(&t, 0, 0, 7, 0, 7), i, 1, "k");
    gp_trace_finish(&t);
    struct stopping_sink s = {0};
    assert_int_equal(gp_chrome_write(&t, NULL, stop, &s), -1);
    assert_int_equal(s.calls, 1);
    gp_trace_release(&t);
}
