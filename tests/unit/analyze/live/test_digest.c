// A digest: what is put in comes out, the tag is SipHash-2-4, and whatever is changed on the way is refused.
#include <stdlib.h>
#include <string.h>

#include "analyze/live/digest.h"
#include "formats/base/buf.h"
#include "formats/base/err.h"
#include "tests/unit/unit.h"

static const struct gp_digest_key key = {{5, 6}};

static struct gp_digest make(struct gp_strings *names, size_t kernels, size_t name_length)
{
    struct gp_digest d = {
        .run = 9, .seq = 3, .merged = 1, .time_ns = 1234567890123456789, .last_step = 77, .dropped = 2};
    char name[400];
    d.member = (struct gp_fleet_member){.key = {4, 11}, .device = 4, .steps = 10};
    d.member.gpu = gp_intern_cstr(names, "NVIDIA H200");
    for (int i = 0; i < GP_FLEET_METRIC_COUNT; i++) d.member.ns[i] = 1000000 * (i + 1);
    for (size_t k = 0; k < kernels; k++) {
        memset(name, 'a' + (int)(k % 26), sizeof name);
        struct gp_fleet_kernel_time t = {gp_intern(names, name, name_length), 3 + k, 700 + (int64_t)k, 70};
        GP_VEC_PUSH(&d.member.kernels, t);
        if (k < GP_DIGEST_KERNELS) d.usual_ns[k] = 60 + (int64_t)k;
    }
    return d;
}

TEST(test_round_trip)
{
    struct gp_strings names = {0}, others = {0};
    struct gp_buf b = {0};
    struct gp_digest d = make(&names, 5, 20), got;
    gp_digest_put(&b, &d, &names, &key);
    assert_int_equal(gp_digest_get(&got, &others, b.data, b.n, &key, NULL), 0);
    assert_true(got.run == 9 && got.seq == 3 && got.time_ns == d.time_ns && got.last_step == 77 &&
                got.dropped == 2);
    assert_int_equal(got.member.key.rank, 4);
    assert_int_equal(got.member.steps, 10);
    assert_memory_equal(got.member.ns, d.member.ns, sizeof d.member.ns);
    assert_string_equal(gp_string(&others, got.member.gpu), "NVIDIA H200");
    assert_int_equal(got.member.kernels.n, 5);
    assert_string_equal(gp_string(&others, got.member.kernels.at[4].name), "eeeeeeeeeeeeeeeeeeee");
    assert_int_equal(got.member.kernels.at[4].step_ns, 704);
    assert_int_equal(got.usual_ns[4], 64);
    gp_digest_release(&got);
    gp_digest_release(&d);
    gp_buf_release(&b);
    gp_strings_release(&names);
    gp_strings_release(&others);
}

/* However many kernels, and however long their names. */
TEST(test_limits)
{
    static const size_t lengths[] = {1, 119, 120, 121, 399};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        struct gp_strings names = {0}, others = {0};
        struct gp_buf b = {0};
        struct gp_digest d = make(&names, 48, lengths[i]), got;
        d.member.ns[0] = (INT64_C(1) << 50) - 1;
        gp_digest_put(&b, &d, &names, &key);
        assert_true(b.n <= GP_DIGEST_BYTES);
        assert_int_equal(gp_digest_get(&got, &others, b.data, b.n, &key, NULL), 0);
        assert_int_equal(got.member.kernels.n, GP_DIGEST_KERNELS);
        assert_true(gp_string_len(&others, got.member.kernels.at[0].name) <= GP_DIGEST_NAME);
        gp_digest_release(&got);
        gp_digest_release(&d);
        gp_buf_release(&b);
        gp_strings_release(&names);
        gp_strings_release(&others);
    }
}

/* 16 names that are cut to two: each is one kernel, with the sums per step and the mean per call. */
TEST(test_a_kernel_is_there_once)
{
    struct gp_strings names = {0}, others = {0};
    struct gp_buf b = {0};
    struct gp_digest d = make(&names, 0, 0), got;
    char name[GP_DIGEST_NAME + 8];
    for (int k = 0; k < GP_DIGEST_KERNELS; k++) {
        memset(name, k % 2 ? 'a' : 'b', sizeof name);
        name[GP_DIGEST_NAME] = (char)('A' + k);
        struct gp_fleet_kernel_time t = {gp_intern(&names, name, sizeof name), 1 + (uint64_t)k / 8, 1000,
                                         100 + k};
        GP_VEC_PUSH(&d.member.kernels, t);
        d.usual_ns[k] = 100;
    }
    gp_digest_put(&b, &d, &names, &key);
    assert_int_equal(gp_digest_get(&got, &others, b.data, b.n, &key, NULL), 0);
    assert_int_equal(got.member.kernels.n, 2);
    // b: calls 1 1 1 1 2 2 2 2 of 100 102 104 106 108 110 112 114: 12 calls that take 412 + 888 = 1300
    assert_int_equal(got.member.kernels.at[0].calls, 12);
    assert_int_equal(got.member.kernels.at[0].step_ns, 8000);
    assert_in_range(got.member.kernels.at[0].call_ns, 1300 / 12 - 7, 1300 / 12);
    assert_int_equal(got.usual_ns[0], 100);
    gp_digest_release(&got);
    gp_digest_release(&d);
    gp_buf_release(&b);
    gp_strings_release(&names);
    gp_strings_release(&others);
}

/* The test vector of its authors: the bytes 0 to 14 with the key 0 to 15. */
TEST(test_tag_is_siphash)
{
    static const uint8_t expected[8] = {0xe5, 0x45, 0xbe, 0x49, 0x61, 0xca, 0x29, 0xa1};
    const struct gp_digest_key vector = {{0x0706050403020100, 0x0f0e0d0c0b0a0908}};
    struct gp_buf b = {0};
    gp_buf_put(&b, "GPD2\0\0\0\0\0\0\0\0", 12);
    for (int i = 0; i < 15; i++) gp_buf_putc(&b, (char)i);
    gp_digest_sign(&b, 0, &vector);
    assert_memory_equal(b.data + 4, expected, sizeof expected);
    gp_buf_release(&b);
}

TEST(test_changes_are_refused)
{
    struct gp_strings names = {0}, others = {0};
    struct gp_buf b = {0};
    struct gp_digest d = make(&names, 3, 9), got;
    struct gp_digest_key wrong = gp_digest_key_of("another secret", 14);
    struct gp_err err = {0};
    gp_digest_put(&b, &d, &names, &key);
    assert_int_equal(gp_digest_get(&got, &others, b.data, b.n, &wrong, &err), -1);
    assert_non_null(strstr(err.msg, "another secret"));
    for (size_t n = 0; n < b.n; n++)
        assert_int_equal(gp_digest_get(&got, &others, b.data, n, &key, NULL), -1);
    for (size_t i = 0; i < b.n * 8; i++) {
        b.data[i / 8] ^= (char)(1 << i % 8);
        assert_int_equal(gp_digest_get(&got, &others, b.data, b.n, &key, NULL), -1);
        b.data[i / 8] ^= (char)(1 << i % 8);
    }
    assert_int_equal(gp_digest_get(&got, &others, b.data, b.n, &key, NULL), 0);
    gp_digest_release(&got);
    gp_digest_release(&d);
    gp_buf_release(&b);
    gp_strings_release(&names);
    gp_strings_release(&others);
}
