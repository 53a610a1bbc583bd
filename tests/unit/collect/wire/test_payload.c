// NVTX payloads: what is registered, and what the bytes of a payload become.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collect/wire/payload.h"
#include "formats/base/buf.h"
#include "formats/base/json_write.h"
#include "tests/unit/unit.h"

enum { FIRST = GP_PAYLOAD_FIRST_ID };

/* Room that ends where the args may at most end. */
static char room[GP_PAYLOAD_ROOM];

static const char *written(const struct gp_payloads *p, const void *domain, uint64_t id, const void *data,
                           size_t n)
{
    static char object[GP_PAYLOAD_ROOM + 3];
    struct gp_buf b = {room, 0, sizeof room};
    gp_payload_put(p, domain, id, data, n, &b);
    assert_ptr_equal(b.data, room);
    snprintf(object, sizeof object, "{%.*s}", (int)b.n, b.data);
    assert_true(gp_json_is_valid(object, strlen(object)));
    return object;
}

static uint64_t schema(struct gp_payloads *p, const struct gp_payload_entry *entries, size_t n)
{
    struct gp_payload_schema_def d = {.kind = GP_PAYLOAD_STATIC, .entries = entries, .n = n};
    return gp_payload_register(p, NULL, &d);
}

/* One entry of TYPE at the beginning, called v. */
static const char *one(uint64_t type, const void *data, size_t n)
{
    struct gp_payloads p = {0};
    struct gp_payload_entry e = {.type = type, .name = "v"};
    uint64_t id = schema(&p, &e, 1);
    assert_true(id >= GP_PAYLOAD_FIRST_MADE_ID);
    const char *text = written(&p, NULL, id, data, n);
    gp_payloads_release(&p);
    return text;
}

#define ONE(type, c_type, value, text)                                                                       \
    do {                                                                                                     \
        c_type v = (value);                                                                                  \
        assert_string_equal(one(type, &v, sizeof v), "{\"v\":" text "}");                                    \
    } while (0)

TEST(scalars_of_every_kind)
{
    ONE(GP_PAYLOAD_CHAR, char, 'x', "\"x\"");
    ONE(GP_PAYLOAD_UCHAR, unsigned char, 200, "200");
    ONE(GP_PAYLOAD_SHORT, short, -5, "-5");
    ONE(GP_PAYLOAD_USHORT, unsigned short, 65535, "65535");
    ONE(GP_PAYLOAD_INT, int, INT32_MIN, "-2147483648");
    ONE(GP_PAYLOAD_UINT, unsigned, UINT32_MAX, "4294967295");
    ONE(GP_PAYLOAD_LONG, long, -1, "-1");
    ONE(GP_PAYLOAD_ULONGLONG, unsigned long long, 7, "7");
    ONE(GP_PAYLOAD_INT8, int8_t, -128, "-128");
    ONE(GP_PAYLOAD_UINT16, uint16_t, 1, "1");
    ONE(GP_PAYLOAD_INT64, int64_t, INT64_MIN, "\"-9223372036854775808\"");
    ONE(GP_PAYLOAD_UINT64, uint64_t, UINT64_MAX, "\"18446744073709551615\"");
    ONE(GP_PAYLOAD_UINT64, uint64_t, UINT64_C(1) << 53, "9007199254740992");
    ONE(GP_PAYLOAD_SIZE, size_t, 4096, "4096");
    ONE(GP_PAYLOAD_FLOAT, float, 0.5F, "0.5");
    ONE(GP_PAYLOAD_DOUBLE, double, -1.25, "-1.25");
    ONE(GP_PAYLOAD_LONGDOUBLE, long double, 2.5L, "2.5");
    ONE(GP_PAYLOAD_FLOAT64, double, 1e300, "1e+300");
    ONE(GP_PAYLOAD_FLOAT16, uint16_t, 0x3c00, "1");
    ONE(GP_PAYLOAD_FLOAT16, uint16_t, 0xc100, "-2.5");
    ONE(GP_PAYLOAD_FLOAT16, uint16_t, 0x7bff, "65504");
    ONE(GP_PAYLOAD_FLOAT16, uint16_t, 0x0200, "3.0517578125e-05"); /* 2^-15 */
    ONE(GP_PAYLOAD_FLOAT16, uint16_t, 0x7c00, "null");
    ONE(GP_PAYLOAD_BF16, uint16_t, 0x4049, "3.140625");
    ONE(GP_PAYLOAD_ADDRESS, uintptr_t, 0x7f00, "\"0x0000000000007f00\"");
    ONE(GP_PAYLOAD_COLOR, uint32_t, 0xff336699, "\"#336699\"");
    ONE(GP_PAYLOAD_CHAR16, uint16_t, 0xe4, "\"\xc3\xa4\"");
    ONE(GP_PAYLOAD_CHAR32, uint32_t, 0x1f600, "\"\xf0\x9f\x98\x80\"");
    ONE(GP_PAYLOAD_CHAR32, uint32_t, 0xffffffff, "\"\xef\xbf\xbd\"");
    uint64_t wide[2] = {2, 1};
    assert_string_equal(one(GP_PAYLOAD_UINT128, wide, sizeof wide),
                        "{\"v\":\"0x00000000000000010000000000000002\"}");
}

/* The payload of an all-reduce in NCCL since 2.25: hash of the communicator, bytes, and a reduction that is
 * named. */
TEST(as_nccl_does_it)
{
    struct gp_payloads p = {0};
    int domain = 0;
    struct {
        uint64_t comm;
        size_t bytes;
        int op;
    } all_reduce = {0xfedcba9876543210, 8192, 2};
    const struct gp_payload_value ops[] = {{"Sum", 0, false}, {"Product", 1, false}, {"Max", 2, false}};
    struct gp_payload_enum_def e = {.id = FIRST + 24, .values = ops, .n = 3, .bytes = sizeof(int)};
    const struct gp_payload_entry entries[] = {
        {.type = GP_PAYLOAD_UINT64, .name = "NCCL communicator ID"},
        {.type = GP_PAYLOAD_SIZE, .name = "Message size [bytes]", .offset = 8},
        {.type = FIRST + 24, .name = "Reduction operation", .offset = 16},
    };
    struct gp_payload_schema_def d = {
        .id = FIRST + 5, .kind = GP_PAYLOAD_STATIC, .entries = entries, .n = 3, .bytes = sizeof all_reduce};
    assert_int_equal(gp_payload_register_enum(&p, &domain, &e), FIRST + 24);
    assert_int_equal(gp_payload_register(&p, &domain, &d), FIRST + 5);
    const char *text = "{\"NCCL communicator ID\":\"18364758544493064720\",\"Message size [bytes]\":8192,"
                       "\"Reduction operation\":\"Max\"}";
    assert_string_equal(written(&p, &domain, FIRST + 5, &all_reduce, sizeof all_reduce), text);
    assert_string_equal(written(&p, &domain, FIRST + 5, &all_reduce, SIZE_MAX), text);
    /* another domain */
    assert_string_equal(written(&p, &p, FIRST + 5, &all_reduce, sizeof all_reduce), "{}");
    all_reduce.op = 9; /* one that the program made */
    assert_non_null(
        strstr(written(&p, &domain, FIRST + 5, &all_reduce, sizeof all_reduce), "operation\":9}"));
    assert_string_equal(gp_payload_name(&p, &domain, FIRST + 5), "");
    gp_payloads_release(&p);
}

TEST(what_lies_outside_the_payload_is_left_out)
{
    struct gp_payloads p = {0};
    const struct gp_payload_entry entries[] = {
        {.type = GP_PAYLOAD_INT, .name = "a"},
        {.type = GP_PAYLOAD_INT, .name = "far", .offset = UINT64_MAX - 2},
        {.type = GP_PAYLOAD_INT64, .name = "b", .offset = 8},
        {.type = GP_PAYLOAD_INT, .name = "c", .offset = 4},
        {.type = GP_PAYLOAD_INT,
         .flags = GP_PAYLOAD_FIXED_ARRAY,
         .count = UINT64_MAX,
         .name = "endless",
         .offset = 4},
    };
    uint64_t id = schema(&p, entries, 5);
    uint8_t *exact = malloc(8); /* so that a sanitizer sees what is read behind it */
    memcpy(exact, (const int[]){1, 2}, 8);
    assert_string_equal(written(&p, NULL, id, exact, 8), "{\"a\":1,\"c\":2}");
    assert_string_equal(written(&p, NULL, id, exact, 7), "{\"a\":1}");
    assert_string_equal(written(&p, NULL, id, exact, 3), "{}");
    assert_string_equal(written(&p, NULL, id, exact, 0), "{}");
    assert_string_equal(written(&p, NULL, id, NULL, 8), "{}");
    free(exact);
    gp_payloads_release(&p);
}

TEST(offsets_follow_from_alignment)
{
    struct gp_payloads p = {0};
    const struct {
        char c;
        double d;
        short s;
        int i[2];
        char text[6];
        int64_t last;
    } data = {'c', 0.25, 3, {4, 5}, "six\0x", 7};
    const struct gp_payload_entry entries[] = {
        {.type = GP_PAYLOAD_CHAR, .name = "c"},
        {.type = GP_PAYLOAD_DOUBLE, .name = "d"},
        {.type = GP_PAYLOAD_SHORT, .name = "s"},
        {.type = GP_PAYLOAD_INT, .flags = GP_PAYLOAD_FIXED_ARRAY, .count = 2},
        {.type = GP_PAYLOAD_CSTRING, .count = 6, .name = "text"},
        {.type = GP_PAYLOAD_INT64, .name = "last"},
    };
    uint64_t id = schema(&p, entries, 6);
    assert_string_equal(written(&p, NULL, id, &data, sizeof data),
                        "{\"c\":\"c\",\"d\":0.25,\"s\":3,\"#3\":[4,5],\"text\":\"six\",\"last\":7}");
    const uint8_t packed[] = {'c', 9, 0, 0, 0};
    struct gp_payload_entry two[] = {entries[0], {.type = GP_PAYLOAD_INT, .name = "i"}};
    struct gp_payload_schema_def d = {.kind = GP_PAYLOAD_STATIC, .entries = two, .n = 2, .pack = 1};
    id = gp_payload_register(&p, NULL, &d);
    assert_string_equal(written(&p, NULL, id, packed, sizeof packed), "{\"c\":\"c\",\"i\":9}");
    gp_payloads_release(&p);
}

TEST(pointers_are_not_followed)
{
    struct gp_payloads p = {0};
    const struct {
        const void *p, *q, *r;
        int i;
    } data = {(const void *)1, (const void *)2, (const void *)3, 4};
    const struct gp_payload_entry entries[] = {
        {.type = GP_PAYLOAD_INT, .flags = GP_PAYLOAD_POINTER, .name = "p"},
        {.type = GP_PAYLOAD_CSTRING, .name = "q"},
        {.type = GP_PAYLOAD_STRING_HANDLE, .name = "r"},
        {.type = GP_PAYLOAD_INT, .name = "i"},
    };
    assert_string_equal(written(&p, NULL, schema(&p, entries, 4), &data, sizeof data), "{\"i\":4}");
    gp_payloads_release(&p);
}

TEST(schemas_in_schemas)
{
    struct gp_payloads p = {0};
    const struct {
        int a;
        struct {
            short x;
            int64_t y;
        } in[2];
    } data = {1, {{2, 3}, {4, 5}}};
    const struct gp_payload_entry inner[] = {{.type = GP_PAYLOAD_SHORT, .name = "x"},
                                             {.type = GP_PAYLOAD_INT64, .name = "y"}};
    uint64_t id = schema(&p, inner, 2);
    const struct gp_payload_entry outer[] = {
        {.type = GP_PAYLOAD_INT, .name = "a"},
        {.type = id, .flags = GP_PAYLOAD_FIXED_ARRAY, .count = 2, .name = "in"},
    };
    assert_string_equal(written(&p, NULL, schema(&p, outer, 2), &data, sizeof data),
                        "{\"a\":1,\"in\":[{\"x\":2,\"y\":3},{\"x\":4,\"y\":5}]}");
    /* One that holds itself ends somewhere. */
    const struct gp_payload_entry self[] = {{.type = GP_PAYLOAD_INT, .name = "a"},
                                            {.type = FIRST, .name = "me", .offset = 0}};
    struct gp_payload_schema_def d = {
        .id = FIRST, .kind = GP_PAYLOAD_STATIC, .entries = self, .n = 2, .bytes = 8};
    gp_payload_register(&p, NULL, &d);
    gp_payload_register(&p, NULL, &d); /* now it is known to itself */
    const int twice[] = {1, 2, 3, 4};
    assert_string_equal(written(&p, NULL, FIRST, twice, sizeof twice), "{\"a\":1,\"me\":{\"a\":2}}");
    gp_payloads_release(&p);
}

TEST(enumerations_and_sets_of_bits)
{
    struct gp_payloads p = {0};
    const struct gp_payload_value values[] = {{"minus", UINT64_MAX, false},
                                              {"read", 1, true},
                                              {"write", 2, true},
                                              {"none", 0, false},
                                              {NULL, 4, true}};
    struct gp_payload_enum_def e = {.values = values, .n = 5, .bytes = 1};
    uint64_t id = gp_payload_register_enum(&p, NULL, &e);
    struct gp_payload_entry entry = {.type = id, .name = "v"};
    uint64_t s = schema(&p, &entry, 1);
    assert_string_equal(written(&p, NULL, s, "\1", 1), "{\"v\":\"read\"}");
    assert_string_equal(written(&p, NULL, s, "\3", 1), "{\"v\":\"read|write\"}");
    assert_string_equal(written(&p, NULL, s, "\0", 1), "{\"v\":\"none\"}");
    assert_string_equal(written(&p, NULL, s, "\7", 1), "{\"v\":7}");
    assert_string_equal(written(&p, NULL, s, "\xff", 1), "{\"v\":\"minus\"}");
    e.bytes = 3;
    assert_int_equal(gp_payload_register_enum(&p, NULL, &e), 0);
    gp_payloads_release(&p);
}

TEST(one_value_needs_no_schema)
{
    struct gp_payloads p = {0};
    assert_string_equal(written(&p, NULL, GP_PAYLOAD_INT, (const int[]){5}, sizeof(int)), "{\"Payload\":5}");
    assert_string_equal(written(&p, NULL, GP_PAYLOAD_INT, (const int[]){5}, SIZE_MAX), "{\"Payload\":5}");
    assert_string_equal(written(&p, NULL, GP_PAYLOAD_INT, (const int[]){5, 6}, 8), "{\"Payload\":[5,6]}");
    assert_string_equal(written(&p, NULL, GP_PAYLOAD_CSTRING, "a\"b", 4), "{\"Payload\":\"a\\\"b\"}");
    assert_string_equal(written(&p, NULL, 1023, "raw", 3), "{}");
    assert_string_equal(written(&p, NULL, FIRST, "unknown", 7), "{}");
    struct gp_buf b = {room, 0, sizeof room};
    gp_payload_put_value("Payload", GP_PAYLOAD_DOUBLE, &(double){1.5}, &b);
    gp_payload_put_text("Category", "a\\b", &b);
    assert_memory_equal(b.data, "\"Payload\":1.5,\"Category\":\"a\\\\b\"", b.n);
}

/* The most that can come of one payload: long names of control characters, arrays of sets of bits with long
 * names. */
TEST(args_never_outgrow_their_room)
{
    struct gp_payloads p = {0};
    char name[512];
    memset(name, 1, sizeof name - 1);
    name[sizeof name - 1] = 0;
    struct gp_payload_value values[8];
    for (unsigned i = 0; i < 8; i++) values[i] = (struct gp_payload_value){name, UINT64_C(1) << i, true};
    struct gp_payload_enum_def e = {.values = values, .n = 8, .bytes = 8};
    uint64_t type = gp_payload_register_enum(&p, NULL, &e);
    struct gp_payload_entry entries[200];
    uint64_t data[200];
    for (int depth = 0; depth < 5; depth++) {
        for (unsigned i = 0; i < 200; i++) {
            entries[i] = (struct gp_payload_entry){
                .flags = GP_PAYLOAD_FIXED_ARRAY, .type = type, .name = name, .count = 3, .offset = i % 7};
            data[i] = 255;
        }
        type = schema(&p, entries, 200);
        assert_true(strlen(written(&p, NULL, type, data, sizeof data)) < GP_PAYLOAD_ROOM);
    }
    memset(data, 1, sizeof data);
    assert_true(strlen(written(&p, NULL, GP_PAYLOAD_CSTRING, data, sizeof data)) < 1000);
    gp_payloads_release(&p);
}

TEST(long_text_is_cut_between_characters)
{
    struct gp_payloads p = {0};
    char text[300];
    for (unsigned i = 0; i < sizeof text; i += 3) memcpy(text + i, "\xe2\x82\xac", 3); /* 100 euro signs */
    const char *got = written(&p, NULL, GP_PAYLOAD_UTF8, text, sizeof text);
    assert_int_equal(strlen(got), strlen("{\"Payload\":\"\"}") + 126); /* 42 of them in 128 bytes */
    assert_memory_equal(got + 12, text, 126);
    const uint16_t wide[] = {'a', 0xd83d, 0xde00, 0xd800, 'b', 0, 'c'};
    assert_string_equal(written(&p, NULL, GP_PAYLOAD_UTF16, wide, sizeof wide),
                        "{\"Payload\":\"a\xf0\x9f\x98\x80\xef\xbf\xbd"
                        "b\"}");
    gp_payloads_release(&p);
}

TEST(there_is_an_end_to_registering)
{
    struct gp_payloads p = {0};
    for (int i = 0; i < GP_PAYLOAD_MAX_REGISTERED; i++) assert_true(schema(&p, NULL, 0) != 0);
    assert_int_equal(schema(&p, NULL, 0), 0);
    gp_payloads_release(&p);
}
