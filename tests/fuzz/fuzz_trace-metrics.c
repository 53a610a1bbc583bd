/* fuzz_trace-metrics.c -- a trace through trace-metrics to each of its outputs. */
#include "tests/fuzz/help/fuzz.h"
#include "tests/fuzz/help/mutate.h"
#include "tests/fuzz/help/tool.h"

static const struct fuzz_way ways[] = {
    {FUZZ_TEXT, {NULL}},
    {FUZZ_JSON, {"-f", "json", NULL}},
    {FUZZ_CSV, {"-f", "csv", NULL}},
    {FUZZ_CSV, {"-f", "csv", "--wide", "--per", "launch", NULL}},
    {FUZZ_TEXT, {"--per", "range", "--top", "0", NULL}},
    {FUZZ_JSON, {"-f", "json", "--per", "launch", "--top", "3", NULL}},
    {FUZZ_HTML, {"-f", "html", NULL}},
};

static const struct fuzz_tool tool = {
    .name = "trace-metrics", .ways = ways, .n = sizeof ways / sizeof *ways, .head = 1};
const struct fuzz_heads fuzz_heads = {7, 1};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) { return fuzz_tool_run(&tool, data, size); }

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    return fuzz_mutate(data, size, most, seed, tool.head);
}
