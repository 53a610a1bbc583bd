/* fuzz_trace-convert.c -- a trace through trace-convert to each format and compression. */
#include "tests/fuzz/help/fuzz.h"
#include "tests/fuzz/help/mutate.h"
#include "tests/fuzz/help/tool.h"

static const struct fuzz_way ways[] = {
    {FUZZ_TRACE, {"--to", "gpuprof", NULL}},
    {FUZZ_JSON, {"--to", "chrome", NULL}},
    {FUZZ_TRACE, {"--to", "gpuprof", "--compress", "zstd", NULL}},
    {FUZZ_PACKED, {"--to", "chrome", "--compress", "gzip", NULL}},
    {FUZZ_PACKED, {"--to", "chrome", "--compress", "zstd", NULL}},
    {FUZZ_JSON, {"--to", "chrome", "--strict", NULL}},
    {FUZZ_PACKETS, {"--to", "perfetto", NULL}},
    {FUZZ_JSON, {"--to", "chrome", "--redact", NULL}},
    {FUZZ_TRACE, {"--to", "gpuprof", "--redact", NULL}},
};

static const struct fuzz_tool tool = {
    .name = "trace-convert", .ways = ways, .n = sizeof ways / sizeof *ways, .head = 1};
const struct fuzz_heads fuzz_heads = {2, 1};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) { return fuzz_tool_run(&tool, data, size); }

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    return fuzz_mutate(data, size, most, seed, tool.head);
}
