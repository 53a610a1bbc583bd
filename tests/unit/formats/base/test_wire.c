// Protobuf's wire format: numbers, bytes, and where it is broken.
#include "formats/base/str.h"
#include "formats/base/wire.h"
#include "tests/unit/unit.h"

TEST(fields_come_with_their_values)
{
    static const char message[] = "\x08\x96\x01" // 1: 150
                                  "\x12\x03"     // 2: "abc"
                                  "abc"
                                  "\x19\x01\x00\x00\x00\x00\x00\x00\x80" // 3: eight bytes
                                  "\x25\x02\x00\x00\x00";                // 4: four bytes
    struct gp_wire w = gp_wire_begin(message, sizeof message - 1);
    struct gp_wire_field f;
    assert_true(gp_wire_next(&w, &f));
    assert_true(f.tag == GP_WIRE_TAG(1, 0) && f.value == 150 && !f.data);
    assert_true(gp_wire_next(&w, &f));
    assert_true(f.tag == GP_WIRE_TAG(2, 2) && gp_is(f.data, f.value, "abc"));
    assert_true(gp_wire_next(&w, &f));
    assert_true(f.tag == GP_WIRE_TAG(3, 1) && f.value == (UINT64_C(1) << 63 | 1));
    assert_true(gp_wire_next(&w, &f));
    assert_true(f.tag == GP_WIRE_TAG(4, 5) && f.value == 2);
    assert_false(gp_wire_next(&w, &f));
    assert_false(w.broken);
}

// N bytes at DATA hold WHOLE fields and then something broken.
static void breaks(const char *data, size_t n, int whole)
{
    struct gp_wire w = gp_wire_begin(data, n);
    struct gp_wire_field f;
    int fields = 0;
    while (gp_wire_next(&w, &f)) fields++;
    assert_int_equal(fields, whole);
    assert_true(w.broken && w.p <= w.end);
    assert_false(gp_wire_next(&w, &f));
}

TEST(broken_messages_end_where_they_break)
{
    breaks(GP_TEXT("\x08"), 0); // no value
    breaks(GP_TEXT("\x08\x01\x12\x05"
                   "ab"),
           1);                                                                  // fewer bytes than promised
    breaks(GP_TEXT("\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), 0);         // a length of 2^64 - 1
    breaks(GP_TEXT("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), 0); // 12 bytes of a number
    breaks(GP_TEXT("\x19\x01\x02"), 0);                                         // three of eight bytes
    breaks(GP_TEXT("\x0b\x0c"), 0);                                             // a group
    breaks(GP_TEXT("\x00\x01"), 0);                                             // field 0
    breaks(GP_TEXT("\x0f"), 0);                                                 // type 7
}

TEST(a_number_may_have_ten_bytes)
{
    static const char message[] = "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";
    struct gp_wire w = gp_wire_begin(message, sizeof message - 1);
    struct gp_wire_field f;
    assert_true(gp_wire_next(&w, &f));
    assert_true(f.value == UINT64_MAX);
}
