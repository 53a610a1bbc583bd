/* fuzz_trace-diff.c -- two traces, or one with itself, through trace-diff to each of its outputs. */
#include "tests/fuzz/help/fuzz.h"
#include "tests/fuzz/help/mutate.h"
#include "tests/fuzz/help/tool.h"

#define ANY "--any-work", "--cross-gpu"

static const struct fuzz_way ways[] = {
    {FUZZ_TEXT, {ANY, NULL}},
    {FUZZ_JSON, {ANY, "-f", "json", "--by", "op", NULL}},
    {FUZZ_HTML, {ANY, "-f", "html", NULL}},
    {FUZZ_SVG, {ANY, "-f", "svg", NULL}},
    {FUZZ_SVG, {ANY, "-f", "svg", "--view", "flame", NULL}},
    {FUZZ_FOLDED, {ANY, "-f", "folded", NULL}},
    {FUZZ_DOT, {ANY, "-f", "dot", NULL}},
    {FUZZ_JSON, {ANY, "-f", "json", "--by", "range", "--mode", "simple", NULL}},
    {FUZZ_SVG, {ANY, "-f", "svg", "--view", "flame-base", "--whole", NULL}},
    {FUZZ_TEXT, {"--whole", "--gate", "op:5%", "--gate", "launches:0", "--require-power", NULL}},
};

static const struct fuzz_tool tool = {
    .name = "trace-diff", .ways = ways, .n = sizeof ways / sizeof *ways, .head = 3, .pairs = true};
const struct fuzz_heads fuzz_heads = {7, 3};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) { return fuzz_tool_run(&tool, data, size); }

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    return fuzz_mutate(data, size, most, seed, tool.head);
}
