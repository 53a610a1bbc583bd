/* fuzz_payload.c -- hostile schemas and payloads. The input is a list of records: an enumeration, a schema,
 * or a payload that is written by whatever is registered under its number by then. What must always hold is
 * checked: what comes out is JSON, of the length that was promised, and no byte outside of the payload is
 * read (by the sanitizers). */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "collect/wire/payload.h"
#include "formats/base/buf.h"
#include "formats/base/json_write.h"
#include "tests/fuzz/help/fuzz.h"

enum { ENTRIES = 24, IDS = 8 };

struct input {
    const uint8_t *at, *end;
};

static uint64_t number(struct input *in, size_t bytes)
{
    uint64_t v = 0;
    for (size_t i = 0; i < bytes && in->at < in->end; i++) v = v << 8 | *in->at++;
    return v;
}

/* Up to 15 bytes of the input as a name; a length of 0 means no name. */
static const char *name(struct input *in, char text[16])
{
    size_t n = number(in, 1) & 15;
    if ((size_t)(in->end - in->at) < n) n = (size_t)(in->end - in->at);
    memcpy(text, in->at, n);
    text[n] = 0;
    in->at += n;
    return n ? text : NULL;
}

static uint64_t small_id(struct input *in) { return GP_PAYLOAD_FIRST_ID + number(in, 1) % IDS; }

static void add_schema(struct gp_payloads *p, struct input *in)
{
    struct gp_payload_entry entries[ENTRIES];
    char names[ENTRIES][16];
    struct gp_payload_schema_def d = {.id = small_id(in), .kind = number(in, 1) % 5, .entries = entries};
    d.n = number(in, 1) % ENTRIES;
    d.bytes = number(in, 1) & 1 ? number(in, 2) : 0;
    d.pack = number(in, 1) & 15;
    for (size_t i = 0; i < d.n; i++) {
        uint64_t type = number(in, 1);
        entries[i].flags = number(in, 1) & 1 ? GP_PAYLOAD_FIXED_ARRAY : number(in, 2);
        entries[i].type = type < 128 ? type : GP_PAYLOAD_FIRST_ID + type % IDS;
        entries[i].name = name(in, names[i]);
        entries[i].count = number(in, 1) & 1 ? number(in, 8) : number(in, 1);
        entries[i].offset = number(in, 1) & 1 ? number(in, 8) : number(in, 1);
    }
    gp_payload_register(p, NULL, &d);
}

static void add_enum(struct gp_payloads *p, struct input *in)
{
    struct gp_payload_value values[ENTRIES];
    char names[ENTRIES][16];
    struct gp_payload_enum_def d = {.id = small_id(in), .values = values, .n = number(in, 1) % ENTRIES};
    d.bytes = number(in, 1) % 10;
    for (size_t i = 0; i < d.n; i++) {
        values[i].name = name(in, names[i]);
        values[i].value = number(in, 1);
        values[i].is_flag = number(in, 1) & 1;
    }
    gp_payload_register_enum(p, NULL, &d);
}

static void write_payload(struct gp_payloads *p, struct input *in, struct gp_buf *to)
{
    uint64_t id = number(in, 1);
    size_t n = number(in, 1);
    if ((size_t)(in->end - in->at) < n) n = (size_t)(in->end - in->at);
    uint8_t *copy = malloc(n + !n);
    memcpy(copy, in->at, n);
    in->at += n;
    gp_payload_put(p, NULL, id < 128 ? id : GP_PAYLOAD_FIRST_ID + id % IDS, copy, n, to);
    free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct gp_payloads p = {0};
    struct input in = {data, data + size};
    char *room = malloc(GP_PAYLOAD_ROOM);
    struct gp_buf b = {room, 0, GP_PAYLOAD_ROOM};
    while (in.at < in.end) {
        uint64_t what = number(&in, 1) % 3;
        if (what == 0) add_enum(&p, &in);
        else if (what == 1) add_schema(&p, &in);
        else write_payload(&p, &in, &b);
        FUZZ_CHECK(b.data == room && b.n <= GP_PAYLOAD_ROOM - 2);
    }
    char object[GP_PAYLOAD_ROOM];
    size_t n = (size_t)snprintf(object, sizeof object, "{%.*s}", (int)b.n, b.data);
    FUZZ_CHECK(n == b.n + 2 && gp_json_is_valid(object, n));
    gp_payloads_release(&p);
    free(room);
    return 0;
}
