/* fuzz_trace2flame.c -- a trace, or folded stacks, through trace2flame to each of its outputs. The sum of
 * folded stacks is the sum of the durations of all GPU events. */
#include "formats/reader.h"
#include "tests/fuzz/help/fuzz.h"
#include "tests/fuzz/help/mutate.h"
#include "tests/fuzz/help/tool.h"

static const struct fuzz_way ways[] = {
    {FUZZ_SVG, {NULL}},
    {FUZZ_HTML, {"-f", "html", NULL}},
    {FUZZ_FOLDED, {"-f", "folded", NULL}},
    {FUZZ_JSON, {"-f", "speedscope", NULL}},
    {FUZZ_PACKED, {"-f", "pprof", NULL}},
    {FUZZ_SVG, {"-w", "idle", "--invert", NULL}},
    {FUZZ_FOLDED, {"-f", "folded", "--raw", "--show-api", "--show-glue", NULL}},
    {FUZZ_SVG, {"-w", "cpu", "--max-frames", "20", "--max-depth", "5", "--group-small", "1", NULL}},
    {FUZZ_HTML, {"-f", "html", "-w", "bytes", "--min-duration", "2us", NULL}},
    {FUZZ_FOLDED, {"-f", "folded", "-w", "count", "--filter", "k.*l|a", "-i", NULL}},
};
enum { PLAIN_SUM = 2, RAW_SUM = 6 };

/* False where it does not fit, or where the trace is damaged: what of it can be read depends on what is
 * needed. */
static bool gpu_sum(const uint8_t *data, size_t n, uint64_t *sum)
{
    struct gp_trace t;
    struct gp_read_opts opts = {.threads = 1, .need = GP_NEED_ALL};
    if (gp_trace_read_memory(&t, data, n, &opts, NULL)) return false;
    bool fits = !t.issues[GP_Q_BAD_BLOCK].count && !t.issues[GP_Q_SYNTAX].count;
    *sum = 0;
    for (size_t i = 0; i < t.events[GP_GPU].n; i++) {
        *sum += (uint64_t)t.events[GP_GPU].dur_ns[i];
        fits = fits && *sum < INT64_MAX / 8;
    }
    gp_trace_release(&t);
    return fits;
}

static void check(const struct fuzz_result *r)
{
    uint64_t want;
    if (r->way != &ways[PLAIN_SUM] && r->way != &ways[RAW_SUM]) return;
    if (gpu_sum(r->input, r->input_n, &want)) FUZZ_CHECK(fuzz_folded_sum(r->output, r->output_n) == want);
}

static const struct fuzz_tool tool = {
    .name = "trace2flame", .ways = ways, .n = sizeof ways / sizeof *ways, .head = 1, .check = check};
const struct fuzz_heads fuzz_heads = {6, 1};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) { return fuzz_tool_run(&tool, data, size); }

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    return fuzz_mutate(data, size, most, seed, tool.head);
}
