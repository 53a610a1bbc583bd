// The program's own texts leave a trace, and what an analysis needs stays.
#include <stdlib.h>

#include <stdbool.h>
#include <string.h>
#include "formats/base/buf.h"
#include "formats/base/err.h"
#include "formats/redact.h"
#include "tests/unit/trace_check.h"
#include "tests/unit/unit.h"

static const char *redacted(struct gp_buf *b, void (*redact)(struct gp_buf *to, const char *s, size_t n),
                            const char *text)
{
    b->n = 0;
    redact(b, text, strlen(text));
    return gp_buf_str(b);
}

/* "r-" and 12 digits. */
static bool is_hash(const char *text)
{
    return !strncmp(text, "r-", 2) && strspn(strchr(text, '-') + 1, "0123456789abcdef") == 12;
}

TEST(a_name_becomes_a_hash_and_keeps_its_number)
{
    struct gp_buf a = {0}, b = {0};
    redacted(&a, gp_redact_name, "encrypt layer 12");
    assert_true(is_hash(gp_buf_str(&a)));
    assert_string_equal(gp_buf_str(&a) + 14, "#12");
    redacted(&b, gp_redact_name, "encrypt layer 13");
    assert_memory_equal(a.data, b.data, 14); /* of one family */
    redacted(&b, gp_redact_name, "decrypt layer 12");
    assert_memory_not_equal(a.data, b.data, 14);
    assert_string_equal(redacted(&b, gp_redact_name, "42"), "42");
    assert_string_equal(redacted(&b, gp_redact_name, ""), "");
    redacted(&b, gp_redact_name, "nn.Module: SecretBlock_3");
    assert_memory_equal(b.data, "nn.Module: r-", 13);
    assert_string_equal(gp_buf_str(&b) + 25, "_3");
    assert_true(is_hash(redacted(&b, gp_redact_name, "conv1")));
    assert_int_equal(b.n, 14);
    gp_buf_release(&a);
    gp_buf_release(&b);
}

TEST(names_of_libraries_stay)
{
    struct gp_buf b = {0};
    static const char *const names[] = {"ProfilerStep#7", "NCCL:ncclAllReduce", "aten::mm",
                                        "Optimizer.step#SGD.step"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_string_equal(redacted(&b, gp_redact_name, names[i]), names[i]);
    gp_buf_release(&b);
}

TEST(what_follows_the_name_of_a_library_stays_if_it_is_known)
{
    struct gp_buf b = {0};
    static const char *const known[] = {
        "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__",
        "Optimizer.zero_grad#AdamW.zero_grad",
        "autograd::engine::evaluate_function: NativeLayerNormBackward0",
        "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad",
        "aten::_foreach_add_",
        "nccl:all_reduce",
        "Torch-Compiled Region: 0/1",
        "DistributedDataParallel.forward",
        "PyTorch Profiler (0)",
        "torch/nn/modules/linear.py(114): forward",
        "<built-in method acquire of _thread.lock object at 0x7f01abcd>",
        "allocations are left out from here on (--budget)"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        assert_string_equal(redacted(&b, gp_redact_name, known[i]), known[i]);
    static const char *const own[][2] = {
        {"enumerate(DataLoader)#_SecretIter.__next__", "enumerate(DataLoader)#r-"},
        {"Optimizer.step#SecretOpt.step", "Optimizer.step#r-"},
        {"aten::secret", "aten::r-"},
        {"ProfilerStep#secret", "ProfilerStep#r-"},
        {"nccl:secret", "nccl:r-"},
        {"autograd::engine::evaluate_function: SecretBackward0", "autograd::engine::evaluate_function: r-"},
        {"<built-in method secret of Secret object at 0x7f>", "<built-in method r-"},
        {"torch/secret plans.py", "r-"},
        {"Torch-Compiled Region: secret", "Torch-Compiled Region: r-"},
        {"recording starts secret", "recording starts r-"}};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        const char *s = redacted(&b, gp_redact_name, own[i][0]);
        assert_int_equal(strncmp(s, own[i][1], strlen(own[i][1])), 0);
        assert_null(strstr(s, "ecret"));
    }
    gp_buf_release(&b);
}

TEST(values_of_known_keys_stay_if_they_are_known)
{
    struct gp_buf b = {0};
    static const char known[] =
        "{\"Input type\":[\"c10::BFloat16\",\"long int\",\"\",\"TensorList\"],\"dtype\":\"Float\","
        "\"Collective name\":\"_allgather_base\"}";
    assert_string_equal(redacted(&b, gp_redact_args, known), known);
    redacted(&b, gp_redact_args,
             "{\"Input type\":[\"secret\",\"c10::Secret\"],\"dtype\":\"secret 7\",\"Collective "
             "name\":\"secret\"}");
    assert_null(strstr(gp_buf_str(&b), "ecret"));
    gp_buf_release(&b);
}

TEST(texts_among_args_become_hashes)
{
    struct gp_buf b = {0};
    const char *s =
        redacted(&b, gp_redact_args,
                 "{\"path\": \"/a\\\"b/c\", \"n\":3,\"dtype\" : \"float\",\"l\":[\"x y\",1],\"id\":\"17\"}");
    assert_null(strstr(s, "/a"));
    assert_null(strstr(s, "x y"));
    assert_int_equal(strncmp(s, "{\"path\": \"r-", 12), 0);
    assert_non_null(strstr(s, "\", \"n\":3,\"dtype\" : \"float\",\"l\":[\"r-"));
    assert_non_null(strstr(s, "\",1],\"id\":\"17\"}"));
    assert_true(is_hash(redacted(&b, gp_redact_args, "\"k\":\"v\"") + 5)); /* the inside of an object */
    redacted(&b, gp_redact_args, "{\"cut\": \"secr");
    assert_null(strstr(gp_buf_str(&b), "secr"));
    gp_buf_release(&b);
}

static gp_sid text(struct gp_trace *t, const char *s) { return gp_trace_intern(t, s, strlen(s)); }

TEST(no_text_that_was_removed_stays)
{
    struct gp_trace t;
    gp_trace_init(&t, GP_NEED_ALL);
    struct gp_process p = gp_process_unknown();
    p.name = text(&t, "SECRET-process");
    struct gp_track k = gp_track_unknown();
    k.process = gp_trace_process(&t, &p);
    k.name = text(&t, "SECRET-thread");
    uint32_t track = gp_trace_track(&t, &k);
    size_t row = gp_events_add(&t.events[GP_RANGE], 10, 5, track, text(&t, "SECRET-range"));
    gp_set_extra(&t.events[GP_RANGE], row, text(&t, "{\"a\":\"SECRET-arg\"}"));
    gp_events_add(&t.events[GP_RANGE], 20, 5, track, text(&t, "ProfilerStep#1"));
    gp_events_add(&t.events[GP_API], 11, 1, track, text(&t, "cudaLaunchKernel"));
    row = gp_events_add(&t.events[GP_PC], 12, 1, track, text(&t, "kernel"));
    gp_set_series(&t.events[GP_PC], row, text(&t, "SECRET-code"));
    GP_VEC_PUSH(&t.symbols, ((struct gp_symbol){.module = text(&t, "/SECRET/lib.so")}));
    GP_VEC_PUSH(&t.symbols, ((struct gp_symbol){.module = text(&t, "/SECRET/lib.so"),
                                                .name = text(&t, "SECRET::f(int)"),
                                                .file = text(&t, "SECRET.cpp")}));
    static const char *const frames[] = {"", "SECRET-main", GP_STACK_AUTOGRAD, GP_STACK_UNKNOWN,
                                         "lib-SECRET.so+0x12"};
    for (uint32_t i = 0; i < 5; i++)
        GP_VEC_PUSH(&t.stacks, ((struct gp_stack){.parent = i ? i - 1 : 0,
                                                  .name = text(&t, frames[i]),
                                                  .file = i == 1 ? text(&t, "SECRET.py") : 0,
                                                  .symbol = i > 2}));
    gp_set_stack(&t.events[GP_API], 0, 4);
    gp_trace_set_meta(&t, "command", "[\"SECRET-command\"]", 18);
    gp_trace_set_meta(&t, "other", "\"SECRET-meta\"", 13);
    gp_trace_set_meta(&t, "collector", "\"gpuprof-collect\"", 17);
    gp_trace_finish(&t);
    gp_redact_trace(&t);
    for (gp_sid i = 0; i < t.strings.n; i++) assert_null(strstr(gp_trace_str(&t, i), "SECRET"));
    struct gp_err err = {0};
    if (gp_trace_check(&t, &err)) fail_msg("%s", err.msg);
    assert_string_equal(gp_trace_str(&t, t.events[GP_RANGE].name[1]), "ProfilerStep#1");
    assert_string_equal(gp_trace_str(&t, t.events[GP_API].name[0]), "cudaLaunchKernel");
    assert_true(is_hash(gp_trace_str(&t, t.events[GP_RANGE].name[0])));
    assert_true(is_hash(gp_trace_str(&t, t.tracks.at[0].name)));
    assert_string_equal(gp_trace_str(&t, t.stacks.at[2].name), GP_STACK_AUTOGRAD);
    assert_string_equal(gp_trace_str(&t, t.stacks.at[3].name), GP_STACK_UNKNOWN);
    assert_true(is_hash(gp_trace_str(&t, t.stacks.at[1].file)));
    assert_null(gp_trace_get_meta(&t, "command"));
    assert_string_equal(gp_trace_get_meta(&t, "collector"), "\"gpuprof-collect\"");
    gp_trace_release(&t);
}
