#include <stdlib.h>
#include <string.h>
#include "formats/base/buf.h"
#include "formats/base/mem.h"
#include "formats/gpt/gpt.h"
#include "formats/gpt/gpt_codec.h"
#include "formats/gpt/gpt_predict.h"
#include "tests/unit/unit.h"

enum { MOST = 5000 };

/* Decode LEN bytes that end exactly where the allocation's slack begins, so that a sanitizer sees what reads
 * too far. */
static int decode(uint64_t *out, size_t n, const void *bytes, size_t len)
{
    uint8_t *p = gp_alloc(len + GP_STREAM_SLACK);
    if (len) memcpy(p, bytes, len);
    memset(p + len, 0xa5, GP_STREAM_SLACK);
    int rc = gp_stream_decode(out, n, p, len);
    free(p);
    return rc;
}

#define BYTES(...) (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})

static void assert_decodes(const uint8_t *bytes, size_t len, const uint64_t *want, size_t n)
{
    uint64_t out[MOST];
    assert_int_equal(decode(out, n, bytes, len), 0);
    assert_memory_equal(out, want, n * sizeof *want);
}

static void assert_refused(const uint8_t *bytes, size_t len, size_t n)
{
    uint64_t out[MOST];
    assert_int_equal(decode(out, n, bytes, len), -1);
}

TEST(crc_is_castagnoli)
{
    assert_int_equal(gp_crc32c(0, "123456789", 9), 0xe3069283); /* the check value of the polynomial */
    assert_int_equal(gp_crc32c(0, "", 0), 0);
    assert_int_equal(gp_crc32c(gp_crc32c(0, "1234", 4), "56789", 5), 0xe3069283);
}

TEST(zigzag_is_its_own_way_back)
{
    static const int64_t v[] = {0, -1, 1, -2, INT64_MAX, INT64_MIN};
    static const uint64_t z[] = {0, 1, 2, 3, UINT64_MAX - 1, UINT64_MAX};
    for (int i = 0; i < 6; i++) {
        assert_int_equal(gp_zigzag(v[i]), z[i]);
        assert_int_equal(gp_unzigzag(z[i]), v[i]);
    }
}

TEST(streams_by_hand)
{
    assert_decodes(BYTES(0), (const uint64_t[]){0, 0, 0}, 3);
    assert_decodes(BYTES(1, 0xac, 2), (const uint64_t[]){300, 300}, 2); /* 300 = 2 * 128 + 44 */
    assert_decodes(BYTES(2, 5, 0x80, 1), (const uint64_t[]){5, 128}, 2);
    assert_decodes(BYTES(3, 2, 1, 7, 0, 9), (const uint64_t[]){0, 7, 9, 0}, 4);
    /* one bucket of 3 bits from 10 on: offsets 1, 2, 7 are 001, 010, 111, first the low bits: 1 11010001 ->
     * d1 01 */
    assert_decodes(BYTES(4, 0, 3, 10, 0xd1, 0x01), (const uint64_t[]){11, 12, 17}, 3);
    /* buckets {0 bits, 5} and {8 bits, 100}; codes 0, 1, 0; one offset */
    assert_decodes(BYTES(4, 1, 0, 5, 8, 100, 0x02, 55), (const uint64_t[]){5, 155, 5}, 3);
    /* 64-bit offsets that do not begin at a byte: codes 1, 0 with buckets {64, 0} and {1, 0}; offsets 1, then
     * ~0 */
    assert_decodes(BYTES(4, 1, 64, 0, 1, 0, 0x01, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01),
                   (const uint64_t[]){1, UINT64_MAX}, 2);
    /* a varint of ten bytes is 2^64 - 1 */
    assert_decodes(BYTES(1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1),
                   (const uint64_t[]){UINT64_MAX}, 1);
}

TEST(damaged_streams_are_refused)
{
    uint64_t none;
    assert_int_equal(decode(&none, 0, "", 0), -1);
    assert_refused(BYTES(0, 0), 3);    /* a byte too many */
    assert_refused(BYTES(1), 3);       /* no value */
    assert_refused(BYTES(1, 0x80), 3); /* a varint that goes on behind the end */
    assert_refused(BYTES(1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2), 1); /* 2^64 and more */
    assert_refused(BYTES(2, 5), 2);                      /* one value of two */
    assert_refused(BYTES(2, 5, 6, 7), 2);                /* three of two */
    assert_refused(BYTES(3, 1, 4, 7), 4);                /* index 4 of 4 */
    assert_refused(BYTES(3, 0xff, 0xff, 0xff, 0x7f), 4); /* more entries than bytes */
    assert_refused(BYTES(4), 1);
    assert_refused(BYTES(4, 5, 0, 0), 1);                   /* codes of 5 bits */
    assert_refused(BYTES(4, 0, 65, 0), 1);                  /* 65 bits */
    assert_refused(BYTES(4, 0, 8, 0, 1), 2);                /* one offset of two */
    assert_refused(BYTES(4, 0, 8, 0, 1, 2, 3), 2);          /* three of two */
    assert_refused(BYTES(4, 1, 0, 0, 8, 0, 0x03, 1), 2);    /* two codes want offsets, one is there */
    assert_refused(BYTES(4, 1, 0, 0, 8, 0, 0x01, 1, 2), 2); /* one wants, two are there */
    assert_refused(BYTES(5, 0), 1);                         /* an encoding of the future */
}

static uint64_t next_random(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed ^ *seed >> 31;
}

/* Values whose size is bound by BITS, many of them small. */
static void fill(uint64_t *v, size_t n, unsigned bits, uint64_t *seed)
{
    for (size_t i = 0; i < n; i++) {
        unsigned width = (unsigned)(next_random(seed) >> 7) % (bits + 1);
        v[i] = width ? next_random(seed) >> (64 - width) : 0;
    }
}

TEST(every_encoding_gives_the_values_back)
{
    static const size_t sizes[] = {1, 2, 7, 8, 9, 63, 64, 65, 1000, 4096, MOST};
    uint64_t v[MOST], out[MOST], seed = 1;
    for (size_t s = 0; s < GP_COUNT(sizes); s++)
        for (unsigned bits = 0; bits <= 64; bits += bits < 8 ? 1 : 7)
            for (int kind = GP_STREAM_LEB; kind < GP_STREAM_KINDS; kind++) {
                struct gp_buf b = {0};
                fill(v, sizes[s], bits, &seed);
                gp_stream_encode_as(&b, (enum gp_stream_kind)kind, v, sizes[s]);
                assert_int_equal(b.data[0], kind);
                assert_int_equal(decode(out, sizes[s], b.data, b.n), 0);
                assert_memory_equal(out, v, sizes[s] * sizeof *v);
                size_t full = b.n;
                b.n = 0;
                gp_stream_encode(&b, v, sizes[s]);
                assert_int_equal(decode(out, sizes[s], b.data, b.n), 0);
                assert_memory_equal(out, v, sizes[s] * sizeof *v);
                assert_true(b.n <= full + full / 4 + 8); /* the choice is made from estimates */
                gp_buf_release(&b);
            }
}

/* Rows with everything that any predictor asks for. */
struct rows {
    struct gp_pred_rows r;
    uint64_t dur[MOST], launch[MOST], other[MOST], state[MOST];
    uint32_t track[MOST], key[MOST];
};

TEST(predictors_are_inverse)
{
    uint64_t seed = 2, v[MOST], d[MOST];
    static struct rows x;
    x.r = (struct gp_pred_rows){.n = 3000,
                                .first = 1000,
                                .dflt = UINT64_MAX,
                                .track = x.track,
                                .key = x.key,
                                .dur = x.dur,
                                .launch = x.launch,
                                .other = x.other,
                                .state = x.state,
                                .nstate = 9,
                                .gap = INT64_MIN,
                                .latency = 77};
    for (unsigned bits = 1; bits <= 64; bits += 9) {
        fill(v, x.r.n, bits, &seed);
        fill(x.dur, x.r.n, bits, &seed);
        fill(x.launch, x.r.n, 64, &seed);
        fill(x.other, x.r.n, 64, &seed);
        for (size_t i = 0; i < x.r.n; i++) {
            x.track[i] = (uint32_t)(next_random(&seed) >> 20) % 9;
            x.key[i] = (uint32_t)(next_random(&seed) >> 20) % 9;
            if (i % 5 == 0) v[i] = UINT64_MAX;
        }
        for (int p = 0; p < GP_PRED_COUNT; p++) {
            enum gp_gpt_predictor pred = (enum gp_gpt_predictor)p;
            if (p == GP_PRED_DICT || p == GP_PRED_DICT_KEYED || p == GP_PRED_DICT_CONFIG) continue;
            if (!gp_pred_forward(pred, &x.r, v, d)) continue;
            uint64_t back[MOST];
            gp_pred_inverse(pred, &x.r, d, back, false);
            assert_memory_equal(back, v, x.r.n * sizeof *v);
            if (!gp_pred_is_signed(pred)) continue;
            for (size_t i = 0; i < x.r.n; i++) d[i] = gp_zigzag((int64_t)d[i]);
            gp_pred_inverse(pred, &x.r, d, d, true);
            assert_memory_equal(d, v, x.r.n * sizeof *v);
        }
    }
}

TEST(doubles_that_are_integers)
{
    uint64_t v[4], d[4], cells[1];
    static const uint32_t key[4] = {0};
    struct gp_pred_rows r = {.n = 4, .key = key, .state = cells, .nstate = 1};
    double ok[] = {0, 7, -9007199254740991.0, 3}, not [] = {0.5, -0.0, 9007199254740992.0, 1e300};
    memcpy(v, ok, sizeof v);
    assert_true(gp_pred_forward(GP_PRED_FLOAT, &r, v, d));
    assert_int_equal(d[1], 7);
    gp_pred_inverse(GP_PRED_FLOAT, &r, d, d, false);
    assert_memory_equal(d, v, sizeof v);
    for (int i = 0; i < 4; i++) {
        memcpy(&v[2], &not [i], sizeof v[2]);
        assert_false(gp_pred_forward(GP_PRED_FLOAT, &r, v, d));
    }
}

TEST(dictionary_codes_by_hand)
{
    /* a b a b a c: a and b are new, a is not (b was followed by nothing yet), then b follows a, a follows b,
     * c is new */
    static const uint64_t v[] = {70, 80, 70, 80, 70, 90}, want[] = {1, 1, 0, 0, 0, 1};
    uint64_t codes[6], dict[7];
    uint32_t local[6], back[6], slots[64], next[8];
    assert_int_equal(gp_dict_number(v, 6, local, dict, slots, 64), 3);
    assert_int_equal(dict[2], 90);
    gp_dict_forward(local, 6, NULL, codes, next, 7);
    assert_memory_equal(codes, want, sizeof want); /* the guess for what is unknown is number 0, which is a */
    assert_int_equal(gp_dict_inverse(codes, 6, 3, NULL, back, next, 7), 0);
    assert_memory_equal(back, local, sizeof local);
    static const uint32_t context[] = {0, 1, 0, 1, 2, 2};
    gp_dict_forward(local, 6, context, codes, next, 7);
    static const uint64_t by_context[] = {1, 1, 0, 0, 0, 1};
    assert_memory_equal(codes, by_context, sizeof by_context);
    assert_int_equal(gp_dict_inverse(codes, 6, 3, context, back, next, 7), 0);
    assert_memory_equal(back, local, sizeof local);
    codes[3] = 5; /* number 3 of 3 */
    assert_int_equal(gp_dict_inverse(codes, 6, 3, NULL, back, next, 7), -1);
    codes[3] = 1; /* a fourth new one */
    assert_int_equal(gp_dict_inverse(codes, 6, 3, NULL, back, next, 7), -1);
}
