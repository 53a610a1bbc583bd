// A small profile to the byte, written out by hand from the field numbers of profile.proto: tag = field << 3
// | wire type, where 0 is a number and 2 are bytes with their length.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "analyze/stacks/stacks.h"
#include "formats/base/output.h"
#include "render/flame/flame_priv.h"
#include "tests/unit/unit.h"

static size_t profile_of(const struct gp_flame *f, const struct gp_pprof_opts *o, uint8_t *to, size_t room)
{
    char path[] = "/tmp/test_pprof_XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    struct gp_output *out = gp_output_open(path, NULL);
    assert_non_null(out);
    gp_pprof_write(out, f, 1, o);
    assert_int_equal(gp_output_close(out, true, NULL), 0);
    gzFile in = gzopen(path, "rb");
    assert_non_null(in);
    int n = gzread(in, to, (unsigned)room);
    assert_false(gzdirect(in)); // it was compressed
    gzclose(in);
    unlink(path);
    assert_true(n >= 0);
    return (size_t)n;
}

TEST(a_profile_is_what_the_schema_says)
{
    struct gp_stacks *b = gp_stacks_new(&(struct gp_stacks_opts){0}, NULL);
    gp_stacks_add_folded(b, "a;b", 3, 300);
    struct gp_flame f;
    gp_stacks_finish(b, 0, &f);
    uint8_t got[500];
    size_t n = profile_of(&f, &(struct gp_pprof_opts){.comment = "t.folded"}, got, sizeof got);
    static const uint8_t expected[] = {
        0x0a, 4,   0x08, 1,    0x10, 2, // 1 sample_type { 1 type = "gpu_time", 2 unit = "nanoseconds" }
        0x12, 8,   0x0a, 2,    1,    2,   0x12, 2,   128 + 44, 2, // 2 sample { location_id = [b, a], value }
        0x22, 6,   0x08, 1,    0x22, 2,   0x08, 1, // 4 location { 1 id = 1, 4 line { 1 function_id = 1 } }
        0x22, 6,   0x08, 2,    0x22, 2,   0x08, 2, // the same for 2
        0x2a, 4,   0x08, 1,    0x10, 3,            // 5 function { 1 id = 1, 2 name = "b" }
        0x2a, 4,   0x08, 2,    0x10, 4,            // and "a"
        0x70, 1,                                   // 14 default_sample_type = "gpu_time"
        0x68, 5,                                   // 13 comment = "t.folded"
        0x32, 0,                                   // 6 string_table: "" first
        0x32, 8,   'g',  'p',  'u',  '_', 't',  'i', 'm',      'e', 0x32, 11,  'n',
        'a',  'n', 'o',  's',  'e',  'c', 'o',  'n', 'd',      's', 0x32, 1,   'b',
        0x32, 1,   'a',  0x32, 8,    't', '.',  'f', 'o',      'l', 'd',  'e', 'd',
    };
    assert_int_equal(n, sizeof expected);
    assert_memory_equal(got, expected, n);
    gp_flame_release(&f);
}

TEST(nothing_is_a_profile_too)
{
    struct gp_stacks *b = gp_stacks_new(&(struct gp_stacks_opts){0}, NULL);
    struct gp_flame f;
    gp_stacks_finish(b, 0, &f);
    uint8_t got[500];
    size_t n = profile_of(&f, &(struct gp_pprof_opts){.samples = true}, got, sizeof got);
    static const uint8_t expected[] = {0x0a, 4,   0x08, 1,   0x10, 2,   0x70, 1, 0x32, 0,   0x32, 7,   's',
                                       'a',  'm', 'p',  'l', 'e',  's', 0x32, 5, 'c',  'o', 'u',  'n', 't'};
    assert_int_equal(n, sizeof expected);
    assert_memory_equal(got, expected, n);
    gp_flame_release(&f);
}
