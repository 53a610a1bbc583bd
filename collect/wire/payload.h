/* payload.h -- NVTX payloads: the schemas and enumerations that a program registers, and payloads written
 * with them as args, the inside of a JSON object. Knows the numbers of NVTX's binary interface but none of
 * its headers.
 *
 * Nothing is trusted: a schema is cut to limits when it is registered, and a field is read only if it lies
 * inside the bytes of the payload. Pointers are not followed, since their targets may be gone or invalid. Any
 * thread may register and write; writing takes no lock.
 *
 *     struct gp_payloads p = {0};
 *     struct gp_payload_entry e[] = {{.type = GP_PAYLOAD_SIZE, .name = "Message size [bytes]"}};
 *     struct gp_payload_schema_def d = {.id = 1 << 24, .kind = GP_PAYLOAD_STATIC, .entries = e, .n = 1};
 *     gp_payload_register(&p, domain, &d);
 *     gp_payload_put(&p, domain, 1 << 24, &bytes, sizeof bytes, &b);          // "Message size [bytes]":4096
 */
#ifndef GP_COLLECT_WIRE_PAYLOAD_H
#define GP_COLLECT_WIRE_PAYLOAD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "formats/base/declare.h"

/* Types of entries, as NVTX numbers them; from GP_PAYLOAD_FIRST_ID on they are registered ones. */
enum gp_payload_type {
    GP_PAYLOAD_CHAR = 1,
    GP_PAYLOAD_UCHAR,
    GP_PAYLOAD_SHORT,
    GP_PAYLOAD_USHORT,
    GP_PAYLOAD_INT,
    GP_PAYLOAD_UINT,
    GP_PAYLOAD_LONG,
    GP_PAYLOAD_ULONG,
    GP_PAYLOAD_LONGLONG,
    GP_PAYLOAD_ULONGLONG,
    GP_PAYLOAD_INT8,
    GP_PAYLOAD_UINT8,
    GP_PAYLOAD_INT16,
    GP_PAYLOAD_UINT16,
    GP_PAYLOAD_INT32,
    GP_PAYLOAD_UINT32,
    GP_PAYLOAD_INT64,
    GP_PAYLOAD_UINT64,
    GP_PAYLOAD_FLOAT,
    GP_PAYLOAD_DOUBLE,
    GP_PAYLOAD_LONGDOUBLE,
    GP_PAYLOAD_SIZE,
    GP_PAYLOAD_ADDRESS,
    GP_PAYLOAD_WCHAR,
    GP_PAYLOAD_CHAR8,
    GP_PAYLOAD_CHAR16,
    GP_PAYLOAD_CHAR32,
    GP_PAYLOAD_BYTE = 32,
    GP_PAYLOAD_INT128,
    GP_PAYLOAD_UINT128,
    GP_PAYLOAD_FLOAT16 = 42,
    GP_PAYLOAD_FLOAT32,
    GP_PAYLOAD_FLOAT64,
    GP_PAYLOAD_FLOAT128,
    GP_PAYLOAD_BF16 = 50,
    GP_PAYLOAD_TF32 = 52,
    GP_PAYLOAD_CATEGORY = 68,
    GP_PAYLOAD_COLOR,
    GP_PAYLOAD_SCOPE,
    GP_PAYLOAD_PID32,
    GP_PAYLOAD_PID64,
    GP_PAYLOAD_TID32,
    GP_PAYLOAD_TID64,
    GP_PAYLOAD_CSTRING,
    GP_PAYLOAD_UTF8,
    GP_PAYLOAD_UTF16,
    GP_PAYLOAD_UTF32,
    GP_PAYLOAD_STRING_HANDLE = 80,
    GP_PAYLOAD_FIRST_ID = 1 << 24,
};
#define GP_PAYLOAD_FIRST_MADE_ID (UINT64_C(1) << 32) /* of the ids that are assigned here */

/* Flags of entries: the ones that are used. An array has a fixed size or is left out. */
enum {
    GP_PAYLOAD_POINTER = 1 << 1,
    GP_PAYLOAD_FROM_BASE = 1 << 2,
    GP_PAYLOAD_FROM_HERE = 1 << 3,
    GP_PAYLOAD_FIXED_ARRAY = 1 << 4,
    GP_PAYLOAD_ANY_ARRAY = 7 << 4,
    GP_PAYLOAD_HIDDEN = 1 << 9,
};

enum gp_payload_kind {
    GP_PAYLOAD_STATIC = 1,
    GP_PAYLOAD_DYNAMIC,
    GP_PAYLOAD_UNION,
    GP_PAYLOAD_SELECTED_UNION
};

enum {
    GP_PAYLOAD_MAX_ENTRIES = 64,      /* of a schema; the rest is left out */
    GP_PAYLOAD_MAX_VALUES = 256,      /* of an enumeration */
    GP_PAYLOAD_MAX_REGISTERED = 4096, /* schemas and enumerations of a process */
    GP_PAYLOAD_ENOUGH_BYTES = 1024,   /* of args: if they are longer, no further field is begun */
    GP_PAYLOAD_ROOM = 8192,           /* args never need more, so a buffer of this size never grows */
};

struct gp_payload_entry {
    uint64_t flags, type;
    const char *name; /* NULL: none */
    uint64_t count;   /* of an array, or the length of a text */
    uint64_t offset;  /* 0, except for the first entry: where alignment puts it */
};

/* A schema; everything that it points at is copied. */
struct gp_payload_schema_def {
    uint64_t id;      /* 0: assign one */
    const char *name; /* NULL: none */
    uint64_t kind;    /* enum gp_payload_kind */
    const struct gp_payload_entry *entries;
    size_t n;
    size_t bytes; /* of a payload, 0: as follows from the entries */
    size_t pack;  /* entries are aligned to this at most; 0: as in C */
};

struct gp_payload_value {
    const char *name;
    uint64_t value;
    bool is_flag; /* a set of bits that can be set beside others */
};

struct gp_payload_enum_def {
    uint64_t id; /* 0: assign one */
    const struct gp_payload_value *values;
    size_t n;
    size_t bytes; /* of the type; 0: of an int */
};

/* Zero it. What is registered stays until gp_payloads_release(). */
struct gp_payloads {
    _Atomic uint64_t given; /* ids */
    _Atomic uint32_t n;
    struct gp_payload_node *_Atomic first;
};

/* Ids are unique within a DOMAIN, which is any address. Returns the id; 0 if there is no memory. A later
 * registration of an id replaces the earlier one. */
uint64_t gp_payload_register(struct gp_payloads *p, const void *domain,
                             const struct gp_payload_schema_def *def);
uint64_t gp_payload_register_enum(struct gp_payloads *p, const void *domain,
                                  const struct gp_payload_enum_def *def);
/* An id for something else that shares the number space. */
uint64_t gp_payload_give_id(struct gp_payloads *p);
/* Its name, "" if it has none or is not registered. Lives as long as P. */
const char *gp_payload_name(const struct gp_payloads *p, const void *domain, uint64_t id);

/* Append the fields of the N bytes at DATA (SIZE_MAX: the size of its schema), laid out as ID describes, to
 * TO, with a comma if TO already holds fields. What cannot be read is left out. TO grows by fewer than
 * GP_PAYLOAD_ROOM - GP_PAYLOAD_ENOUGH_BYTES bytes, and not at all once it holds GP_PAYLOAD_ENOUGH_BYTES. */
void gp_payload_put(const struct gp_payloads *p, const void *domain, uint64_t id, const void *data, size_t n,
                    struct gp_buf *to);
/* The same for one value of a scalar TYPE by the NUL-terminated KEY. */
void gp_payload_put_value(const char *key, enum gp_payload_type type, const void *value, struct gp_buf *to);
/* The same for a text. */
void gp_payload_put_text(const char *key, const char *text, struct gp_buf *to);

void gp_payloads_release(struct gp_payloads *p);

#endif
