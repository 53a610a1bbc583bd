/* fuzz_trace-memory.c -- a trace or a snapshot of an allocator through trace-memory to each of its
 * outputs. */
#include "tests/fuzz/help/fuzz.h"
#include "tests/fuzz/help/mutate.h"
#include "tests/fuzz/help/tool.h"

static const struct fuzz_way ways[] = {
    {FUZZ_TEXT, {NULL}},
    {FUZZ_JSON, {"-f", "json", NULL}},
    {FUZZ_CSV, {"-f", "csv", NULL}},
    {FUZZ_FOLDED, {"-f", "folded", NULL}},
    {FUZZ_CSV, {"-f", "csv", "-t", "stacks", NULL}},
    {FUZZ_TEXT, {"-v", "--by", "op", "--at", "end", "--top", "0", "--step-marker", "Step|step", NULL}},
    {FUZZ_JSON, {"-f", "json", "--by", "category", "--at", "1ms", "--min-bytes", "1k", NULL}},
    {FUZZ_HTML, {"-f", "html", NULL}},
};

static const struct fuzz_tool tool = {
    .name = "trace-memory", .ways = ways, .n = sizeof ways / sizeof *ways, .head = 1};
const struct fuzz_heads fuzz_heads = {8, 1};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) { return fuzz_tool_run(&tool, data, size); }

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    return fuzz_mutate(data, size, most, seed, tool.head);
}
