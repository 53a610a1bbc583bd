/* fuzz_trace-compile.c -- a log of torch.compile, or a trace, through trace-compile to each of its
 * outputs. */
#include "tests/fuzz/help/fuzz.h"
#include "tests/fuzz/help/mutate.h"
#include "tests/fuzz/help/tool.h"

static const struct fuzz_way ways[] = {
    {FUZZ_TEXT, {NULL}},
    {FUZZ_JSON, {"-f", "json", NULL}},
    {FUZZ_HTML, {"-f", "html", NULL}},
    {FUZZ_TEXT, {"-v", "--top", "0", "--code", "--width", "full", NULL}},
    {FUZZ_HTML, {"-f", "html", "--code", "--step-marker", "Step|step", NULL}},
    {FUZZ_JSON, {"-f", "json", "--code", "--fail-on", "break", "--fail-on", "recompile", NULL}},
};

static const struct fuzz_tool tool = {
    .name = "trace-compile", .ways = ways, .n = sizeof ways / sizeof *ways, .head = 1};
const struct fuzz_heads fuzz_heads = {6, 1};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) { return fuzz_tool_run(&tool, data, size); }

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    return fuzz_mutate(data, size, most, seed, tool.head);
}
