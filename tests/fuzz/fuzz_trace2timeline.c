/* fuzz_trace2timeline.c -- a trace through trace2timeline to each of its outputs, also to pages that must
 * leave events out. */
#include "tests/fuzz/help/fuzz.h"
#include "tests/fuzz/help/mutate.h"
#include "tests/fuzz/help/tool.h"

static const struct fuzz_way ways[] = {
    {FUZZ_HTML, {NULL}},
    {FUZZ_HTML, {"--max-size", "100K", "--detail", "steps:1,gaps:2", NULL}},
    {FUZZ_SVG, {"-f", "svg", NULL}},
    {FUZZ_JSON, {"-f", "chrome", NULL}},
    {FUZZ_SVG, {"-f", "svg", "--range", "1us-2ms", "--width", "500", NULL}},
    {FUZZ_HTML, {"--range", "-1ms", "--no-args", "--title", "</title>&\"", NULL}},
};

static const struct fuzz_tool tool = {
    .name = "trace2timeline", .ways = ways, .n = sizeof ways / sizeof *ways, .head = 1};
const struct fuzz_heads fuzz_heads = {4, 1};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) { return fuzz_tool_run(&tool, data, size); }

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    return fuzz_mutate(data, size, most, seed, tool.head);
}
