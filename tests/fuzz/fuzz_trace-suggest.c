/* fuzz_trace-suggest.c -- a trace through trace-suggest to each of its outputs. */
#include "tests/fuzz/help/fuzz.h"
#include "tests/fuzz/help/mutate.h"
#include "tests/fuzz/help/tool.h"

static const struct fuzz_way ways[] = {
    {FUZZ_TEXT, {"--allow-empty", NULL}},
    {FUZZ_JSON, {"-f", "json", "--top", "0", "--allow-empty", NULL}},
    {FUZZ_HTML, {"-f", "html", NULL}},
    {FUZZ_DOT, {"-f", "dot", NULL}},
    {FUZZ_TEXT, {"-v", "--three-regimes", "--step-marker", "Step|iter", NULL}},
    {FUZZ_JSON, {"-f", "json", "--three-regimes", "--min-saving", "1us", "--fail-on", "low", NULL}},
};

static const struct fuzz_tool tool = {
    .name = "trace-suggest", .ways = ways, .n = sizeof ways / sizeof *ways, .head = 1};
const struct fuzz_heads fuzz_heads = {4, 1};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) { return fuzz_tool_run(&tool, data, size); }

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    return fuzz_mutate(data, size, most, seed, tool.head);
}
