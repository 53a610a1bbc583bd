// Files of ceilings: what is read of them, and the messages for invalid ones.
#include <string.h>

#include "formats/base/count.h"
#include "formats/base/err.h"
#include "formats/ceilings_read.h"
#include "tests/unit/unit.h"

#define FILE_OF(members) "{\"schema\": \"gpuprof/ceilings/1\", " members "}"

TEST(all_members)
{
    struct gp_ceilings_file f;
    struct gp_err err = {0};
    static const char text[] =
        FILE_OF("\"device\": \"NVIDIA H200\", \"memory_bytes_per_s\": 4.3e12, \"later\": [1],"
                "\"memory_read_bytes_per_s\": 4.6e12, \"memory_write_bytes_per_s\": 4.7e12, "
                "\"l2_bytes_per_s\": 9e12, \"l2_bytes\": 62914560, \"empty_kernel_ns\": 1500,"
                "\"flops_per_s\": {\"bf16\": 7.9e14, \"tf32\": 400000000000000}");
    assert_int_equal(gp_ceilings_read(&f, text, sizeof text - 1, &err), 0);
    assert_true(f.memory_bytes_per_s == 4.3e12 && f.l2_bytes_per_s == 9e12 && f.l2_bytes == 62914560);
    assert_true(f.memory_read_bytes_per_s == 4.6e12 && f.memory_write_bytes_per_s == 4.7e12);
    assert_true(f.empty_kernel_ns == 1500 && f.n == 2);
    assert_string_equal(f.flops[0].type, "bf16");
    assert_true(f.flops[0].per_s == 7.9e14 && f.flops[1].per_s == 4e14);
}

TEST(what_is_wrong_is_named)
{
    static const struct {
        const char *text, *message;
    } wrong[] = {
        {"", "not a JSON object with ceilings"},
        {"[]", "not a JSON object with ceilings"},
        {"{\"memory_bytes_per_s\": 1", "not a JSON object with ceilings"},
        {"{\"memory_bytes_per_s\": 1}", "schema"},
        {"{\"schema\": \"gpuprof/ceilings/2\", \"memory_bytes_per_s\": 1}", "schema"},
        {FILE_OF("\"x\": 1"), "no ceilings"},
        {FILE_OF("\"flops_per_s\": {}"), "no ceilings"},
        {FILE_OF("\"memory_bytes_per_s\": 0"), "memory_bytes_per_s must be a number above 0"},
        {FILE_OF("\"memory_bytes_per_s\": -1"), "memory_bytes_per_s must be a number above 0"},
        {FILE_OF("\"l2_bytes\": \"60 MB\""), "l2_bytes must be a number above 0"},
        {FILE_OF("\"empty_kernel_ns\": 1e999"), "empty_kernel_ns must be a number above 0"},
        {FILE_OF("\"flops_per_s\": 1"), "flops_per_s must be an object"},
        {FILE_OF("\"flops_per_s\": {\"bf16\": null}"), "flops_per_s: bf16 must be a number above 0"},
        {FILE_OF("\"flops_per_s\": {\"bfloat16\": 1}"), "no type \"bfloat16\""},
        {FILE_OF("\"flops_per_s\": {\"\": 1}"), "no type \"\""},
        {FILE_OF("\"flops_per_s\": {\"a\": 1, \"b\": 1, \"c\": 1, \"d\": 1, \"e\": 1, \"f\": 1, \"g\": 1, "
                 "\"h\": 1, "
                 "\"i\": 1, \"j\": 1, \"k\": 1, \"l\": 1, \"m\": 1, \"n\": 1, \"o\": 1, \"p\": 1, \"q\": 1}"),
         "more than 16 types"},
    };
    for (size_t i = 0; i < GP_COUNT(wrong); i++) {
        struct gp_ceilings_file f;
        struct gp_err err = {0};
        assert_int_equal(gp_ceilings_read(&f, wrong[i].text, strlen(wrong[i].text), &err), -1);
        if (!strstr(err.msg, wrong[i].message)) print_error("%s\n", err.msg);
        assert_non_null(strstr(err.msg, wrong[i].message));
    }
}
