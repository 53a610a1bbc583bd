/* payload.h -- NVTX payloads: the schemas and enumerations that a program registers, and payloads written
 * with them as args, the inside of a JSON object. Knows the numbers of NVTX's binary interface but none of
 * its headers.
 *
 * Nothing is trusted: a schema is cut to limits when it is registered, and a field is read only if it lies
 * inside the bytes of the payload. Pointers are not followed, since their targets may be gone or invalid. Any
 * thread may register and write; writing takes no lock.
 *
 *     struct gp_payloads p = {0};
 *     struct gp_payload_entry e[] = {{.type = 22, .name = "Message size [bytes]"}};
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

/* Types of entries: X(name, number in NVTX, bytes, what it is). */
#define GP_PAYLOAD_TYPES(X)                                                                                  \
    X(CHAR, 1, sizeof(char), TEXT)                                                                           \
    X(UCHAR, 2, sizeof(char), UNSIGNED)                                                                      \
    X(SHORT, 3, sizeof(short), SIGNED)                                                                       \
    X(USHORT, 4, sizeof(short), UNSIGNED)                                                                    \
    X(INT, 5, sizeof(int), SIGNED)                                                                           \
    X(UINT, 6, sizeof(int), UNSIGNED)                                                                        \
    X(LONG, 7, sizeof(long), SIGNED)                                                                         \
    X(ULONG, 8, sizeof(long), UNSIGNED)                                                                      \
    X(LONGLONG, 9, sizeof(long long), SIGNED)                                                                \
    X(ULONGLONG, 10, sizeof(long long), UNSIGNED)                                                            \
    X(INT8, 11, 1, SIGNED)                                                                                   \
    X(UINT8, 12, 1, UNSIGNED)                                                                                \
    X(INT16, 13, 2, SIGNED)                                                                                  \
    X(UINT16, 14, 2, UNSIGNED)                                                                               \
    X(INT32, 15, 4, SIGNED)                                                                                  \
    X(UINT32, 16, 4, UNSIGNED)                                                                               \
    X(INT64, 17, 8, SIGNED)                                                                                  \
    X(UINT64, 18, 8, UNSIGNED)                                                                               \
    X(FLOAT, 19, sizeof(float), REAL)                                                                        \
    X(DOUBLE, 20, sizeof(double), REAL)                                                                      \
    X(LONGDOUBLE, 21, sizeof(long double), REAL)                                                             \
    X(SIZE, 22, sizeof(size_t), UNSIGNED)                                                                    \
    X(ADDRESS, 23, sizeof(void *), ADDRESS)                                                                  \
    X(WCHAR, 24, sizeof(wchar_t), TEXT)                                                                      \
    X(CHAR8, 25, 1, TEXT)                                                                                    \
    X(CHAR16, 26, 2, TEXT)                                                                                   \
    X(CHAR32, 27, 4, TEXT)                                                                                   \
    X(BYTE, 32, 1, UNSIGNED)                                                                                 \
    X(INT128, 33, 16, WIDE)                                                                                  \
    X(UINT128, 34, 16, WIDE)                                                                                 \
    X(FLOAT16, 42, 2, HALF)                                                                                  \
    X(FLOAT32, 43, 4, REAL)                                                                                  \
    X(FLOAT64, 44, 8, REAL)                                                                                  \
    X(FLOAT128, 45, 16, OPAQUE)                                                                              \
    X(BF16, 50, 2, BRAIN)                                                                                    \
    X(TF32, 52, 4, REAL)                                                                                     \
    X(CATEGORY, 68, 4, UNSIGNED)                                                                             \
    X(COLOR, 69, 4, COLOR)                                                                                   \
    X(SCOPE, 70, 8, UNSIGNED)                                                                                \
    X(PID32, 71, 4, UNSIGNED)                                                                                \
    X(PID64, 72, 8, UNSIGNED)                                                                                \
    X(TID32, 73, 4, UNSIGNED)                                                                                \
    X(TID64, 74, 8, UNSIGNED)                                                                                \
    X(CSTRING, 75, 1, TEXT)                                                                                  \
    X(UTF8, 76, 1, TEXT)                                                                                     \
    X(UTF16, 77, 2, TEXT)                                                                                    \
    X(UTF32, 78, 4, TEXT)                                                                                    \
    X(STRING_HANDLE, 80, sizeof(void *), OPAQUE)

/* From GP_PAYLOAD_FIRST_ID on they are registered ones. */
enum gp_payload_type {
#define X(name, number, bytes, form) GP_PAYLOAD_##name = number,
    GP_PAYLOAD_TYPES(X)
#undef X
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
