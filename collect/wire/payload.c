#include "collect/wire/payload.h"

#include <stdlib.h>
#include <string.h>
#include "formats/base/buf.h"
#include "formats/base/count.h"
#include "formats/base/json_write.h"
#include "formats/base/mem.h"
#include "formats/base/utf8.h"

enum {
    MAX_KEY = 96,      /* bytes of a name */
    MAX_CHARS = 128,   /* characters of a text */
    MAX_ELEMENTS = 16, /* of an array */
    MAX_DEPTH = 3,     /* of schemas in schemas */
};

/* ---- types ---- */

enum form { SIGNED = 1, UNSIGNED, REAL, HALF, BRAIN, ADDRESS, WIDE, TEXT, COLOR, OPAQUE, REGISTERED };

struct type {
    uint8_t bytes, form;
};

static struct type type_of(uint64_t id)
{
    static const struct type types[] = {
#define X(name, number, bytes, form) [number] = {bytes, form},
        GP_PAYLOAD_TYPES(X)
#undef X
    };
    return id < GP_COUNT(types) ? types[id] : (struct type){0, 0};
}

static bool is_string(uint64_t type) { return type >= GP_PAYLOAD_CSTRING && type <= GP_PAYLOAD_UTF32; }

/* ---- registered schemas ---- */

/* A field that can be read: everything else in a schema was left out. */
struct field {
    char *key; /* as JSON, with its colon; NULL: none */
    uint64_t type;
    uint64_t offset;
    uint32_t count; /* elements of an array, or units of a text; 0: one value */
};

struct value {
    char *name;
    uint64_t value;
    bool is_flag;
};

/* A schema, or, with VALUES, an enumeration. Never changes once it is in the list. */
struct gp_payload_node {
    struct gp_payload_node *next;
    const void *domain;
    uint64_t id;
    char *name;
    size_t bytes, align; /* 0 bytes: unknown */
    struct field *fields;
    struct value *values;
    size_t n_fields, n_values;
};

static void free_node(struct gp_payload_node *s)
{
    if (!s) return;
    for (size_t i = 0; i < s->n_fields; i++) free(s->fields[i].key);
    for (size_t i = 0; i < s->n_values; i++) free(s->values[i].name);
    GP_RELEASE(free, s->fields, s->values, s->name, s);
}

static const struct gp_payload_node *find(const struct gp_payloads *p, const void *domain, uint64_t id)
{
    if (id < GP_PAYLOAD_FIRST_ID) return NULL;
    const struct gp_payload_node *s = atomic_load_explicit(&p->first, memory_order_acquire);
    while (s && (s->id != id || (s->domain != domain && id < GP_PAYLOAD_FIRST_MADE_ID))) s = s->next;
    return s;
}

uint64_t gp_payload_give_id(struct gp_payloads *p)
{
    return GP_PAYLOAD_FIRST_MADE_ID + atomic_fetch_add_explicit(&p->given, 1, memory_order_relaxed);
}

static struct gp_payload_node *new_node(struct gp_payloads *p, const void *domain, uint64_t id)
{
    if (atomic_fetch_add(&p->n, 1) >= GP_PAYLOAD_MAX_REGISTERED) {
        atomic_fetch_sub(&p->n, 1);
        return NULL;
    }
    struct gp_payload_node *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    s->domain = domain;
    s->id = id ? id : gp_payload_give_id(p);
    return s;
}

static uint64_t add_node(struct gp_payloads *p, struct gp_payload_node *s)
{
    s->next = atomic_load(&p->first);
    while (!atomic_compare_exchange_weak(&p->first, &s->next, s)) continue;
    return s->id;
}

/* At most MAX_KEY bytes of TEXT, which may be NULL; NULL if it is empty or there is no memory. */
static char *short_copy(const char *text)
{
    size_t n = text ? strnlen(text, MAX_KEY + 1) : 0;
    return n ? strndup(text, gp_utf8_fit_bytes(text, n, MAX_KEY)) : NULL;
}

static char *key_of(const char *name)
{
    char room[6 * MAX_KEY + 3];
    struct gp_buf b = {room, 0, sizeof room}; /* never grows: no byte becomes more than six */
    char *text = short_copy(name);
    if (!text) return NULL;
    gp_json_put_string(&b, text, strlen(text));
    gp_buf_putc(&b, ':');
    free(text);
    return strndup(b.data, b.n);
}

/* ---- layout ---- */

/* Bytes of one element of an entry, and its alignment; false if they do not follow from what is
 * registered. */
static bool element_of(const struct gp_payloads *p, const void *domain, const struct gp_payload_entry *e,
                       size_t *bytes, size_t *align)
{
    if (e->flags & GP_PAYLOAD_POINTER || (is_string(e->type) && !e->count)) {
        *bytes = *align = sizeof(void *);
        return true;
    }
    struct type t = type_of(e->type);
    if (t.bytes) {
        *bytes = t.bytes;
        *align = e->type == GP_PAYLOAD_LONGDOUBLE ? _Alignof(long double) : t.bytes;
        return true;
    }
    const struct gp_payload_node *s = find(p, domain, e->type);
    if (!s || !s->bytes) return false;
    *bytes = s->bytes;
    *align = s->align;
    return true;
}

static bool is_readable(const struct gp_payload_entry *e)
{
    uint64_t array = e->flags & GP_PAYLOAD_ANY_ARRAY,
             more = GP_PAYLOAD_POINTER | GP_PAYLOAD_FROM_BASE | GP_PAYLOAD_FROM_HERE | GP_PAYLOAD_HIDDEN;
    if (e->flags & more || (array && array != GP_PAYLOAD_FIXED_ARRAY) || (is_string(e->type) && !e->count))
        return false;
    return e->type >= GP_PAYLOAD_FIRST_ID || (type_of(e->type).form && type_of(e->type).form != OPAQUE);
}

/* How many elements are in the payload itself; false if that is not known in advance. */
static bool count_of(const struct gp_payload_entry *e, uint64_t *count)
{
    uint64_t array = e->flags & GP_PAYLOAD_ANY_ARRAY;
    *count = 1;
    if (e->flags & (GP_PAYLOAD_POINTER | GP_PAYLOAD_FROM_BASE | GP_PAYLOAD_FROM_HERE)) return true;
    if (array && array != GP_PAYLOAD_FIXED_ARRAY) return false;
    if (array || (is_string(e->type) && e->count)) *count = e->count;
    return *count <= UINT32_MAX;
}

/* Find the offsets of the entries, and keep those that can be read. */
static void lay_out(const struct gp_payloads *p, struct gp_payload_node *s,
                    const struct gp_payload_schema_def *def)
{
    size_t n = def->n < GP_PAYLOAD_MAX_ENTRIES ? def->n : GP_PAYLOAD_MAX_ENTRIES;
    uint64_t at = 0, count;
    bool known = true; /* AT */
    s->align = 1;
    s->fields = n ? calloc(n, sizeof *s->fields) : NULL;
    if (!s->fields) return;
    for (size_t i = 0; i < n; i++) {
        const struct gp_payload_entry *e = &def->entries[i];
        size_t bytes = 0, align = 1;
        bool sized = element_of(p, s->domain, e, &bytes, &align);
        if (def->pack && align > def->pack) align = def->pack;
        if (e->offset) at = e->offset;
        else if (known) at = (at + align - 1) / align * align;
        known = e->offset || (known && sized);
        if (at > UINT32_MAX) known = false;
        if (!known) continue; /* a later one may have an offset */
        if (align > s->align) s->align = align;
        bool counted = count_of(e, &count);
        bool many = e->flags & GP_PAYLOAD_ANY_ARRAY || is_string(e->type);
        if (is_readable(e) && counted && count) {
            s->fields[s->n_fields++] =
                (struct field){key_of(e->name), e->type, at, many ? (uint32_t)count : 0};
        }
        known = sized && counted;
        at += bytes * (counted ? count : 0);
    }
    if (!s->bytes) s->bytes = known ? (size_t)((at + s->align - 1) / s->align * s->align) : 0;
}

uint64_t gp_payload_register(struct gp_payloads *p, const void *domain,
                             const struct gp_payload_schema_def *def)
{
    struct gp_payload_node *s = new_node(p, domain, def->id);
    if (!s) return 0;
    s->name = short_copy(def->name);
    s->align = 1;
    if (def->bytes <= UINT32_MAX) s->bytes = def->bytes;
    if (def->entries && (def->kind == GP_PAYLOAD_STATIC || def->kind == GP_PAYLOAD_DYNAMIC))
        lay_out(p, s, def);
    return add_node(p, s);
}

uint64_t gp_payload_register_enum(struct gp_payloads *p, const void *domain,
                                  const struct gp_payload_enum_def *def)
{
    struct gp_payload_node *s = new_node(p, domain, def->id);
    if (!s) return 0;
    size_t n = def->values ? def->n : 0;
    if (n > GP_PAYLOAD_MAX_VALUES) n = GP_PAYLOAD_MAX_VALUES;
    s->values = calloc(n + 1, sizeof *s->values);
    s->bytes = def->bytes ? def->bytes : sizeof(int);
    s->align = s->bytes;
    if (!s->values || (s->bytes != 1 && s->bytes != 2 && s->bytes != 4 && s->bytes != 8)) {
        free_node(s);
        return 0;
    }
    for (size_t i = 0; i < n; i++) {
        char *name = short_copy(def->values[i].name);
        if (name)
            s->values[s->n_values++] = (struct value){name, def->values[i].value, def->values[i].is_flag};
    }
    return add_node(p, s);
}

const char *gp_payload_name(const struct gp_payloads *p, const void *domain, uint64_t id)
{
    const struct gp_payload_node *s = find(p, domain, id);
    return s && s->name ? s->name : "";
}

void gp_payloads_release(struct gp_payloads *p)
{
    for (struct gp_payload_node *s = atomic_load(&p->first), *next; s; s = next) {
        next = s->next;
        free_node(s);
    }
    memset(p, 0, sizeof *p);
}

/* ---- writing ---- */

struct writing {
    const struct gp_payloads *p;
    const void *domain;
    struct gp_buf *to;
};

static uint64_t unsigned_at(const uint8_t *data, size_t bytes)
{
    uint8_t u8;
    uint16_t u16;
    uint32_t u32;
    uint64_t u64;
    switch (bytes) {
    case 1: return memcpy(&u8, data, 1), u8;
    case 2: return memcpy(&u16, data, 2), u16;
    case 4: return memcpy(&u32, data, 4), u32;
    case 8: return memcpy(&u64, data, 8), u64;
    default: return 0;
    }
}

/* Readers that keep numbers as doubles would change numbers longer than 53 bits, so those are text. */
static const uint64_t EXACT = UINT64_C(1) << 53;

static void put_unsigned(struct gp_buf *to, uint64_t v)
{
    if (v > EXACT) gp_buf_putc(to, '"');
    gp_buf_put_u64(to, v);
    if (v > EXACT) gp_buf_putc(to, '"');
}

static void put_signed(struct gp_buf *to, uint64_t v, size_t bytes)
{
    uint64_t sign = UINT64_C(1) << (8 * bytes - 1);
    if (!(v & sign)) {
        put_unsigned(to, v);
        return;
    }
    uint64_t size = (~v + 1) & (sign | (sign - 1));
    if (size > EXACT) gp_buf_putc(to, '"');
    gp_buf_putc(to, '-');
    gp_buf_put_u64(to, size);
    if (size > EXACT) gp_buf_putc(to, '"');
}

static void put_hex(struct gp_buf *to, const char *before, uint64_t v, unsigned digits)
{
    gp_buf_puts(to, before);
    while (digits--) gp_buf_putc(to, "0123456789abcdef"[v >> 4 * digits & 15]);
}

static double real_at(const uint8_t *data, size_t bytes)
{
    float f;
    double d;
    long double l;
    if (bytes == sizeof f) return memcpy(&f, data, sizeof f), f;
    if (bytes == sizeof d) return memcpy(&d, data, sizeof d), d;
    return memcpy(&l, data, sizeof l), (double)l;
}

static double real_of_bits(uint64_t bits)
{
    uint32_t b = (uint32_t)bits;
    float f;
    memcpy(&f, &b, sizeof f);
    return f;
}

/* A half precision number, by its fields: the compiler need not know the type. */
static double half(uint64_t v)
{
    uint64_t sign = (v & 0x8000) << 16, exponent = v >> 10 & 31, fraction = v & 0x3ff;
    if (!exponent) return (sign ? -1.0 : 1.0) * (double)fraction / 16777216; /* 2^-24 */
    return real_of_bits(sign | (exponent == 31 ? 255 : exponent + 112) << 23 | fraction << 13);
}

static size_t put_utf8(char *to, uint32_t c)
{
    return gp_utf8_encode(to, c > 0x10ffff || (c >= 0xd800 && c < 0xe000) ? GP_UTF8_BAD : c);
}

/* N units of BYTES bytes each, up to a zero. */
static void put_text(struct gp_buf *to, const uint8_t *data, size_t bytes, size_t n)
{
    char text[4 * MAX_CHARS];
    size_t used = 0;
    if (n > MAX_CHARS)
        n = bytes == 1 ? gp_utf8_fit_bytes((const char *)data, MAX_CHARS + 1, MAX_CHARS) : MAX_CHARS;
    for (size_t i = 0; i < n; i++) {
        uint32_t c = (uint32_t)unsigned_at(data + i * bytes, bytes);
        uint32_t low = bytes == 2 && i + 1 < n ? (uint32_t)unsigned_at(data + (i + 1) * 2, 2) : 0;
        if (!c) break;
        if (bytes == 1) {
            text[used++] = (char)c;
        } else if (bytes == 2 && c >= 0xd800 && c < 0xdc00 && low >= 0xdc00 && low < 0xe000) {
            used += put_utf8(text + used, 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00));
            i++;
        } else {
            used += put_utf8(text + used, c);
        }
    }
    gp_json_put_string(to, text, used);
}

static void put_scalar(struct gp_buf *to, struct type t, const uint8_t *data)
{
    uint64_t v = unsigned_at(data, t.bytes);
    switch (t.form) {
    case SIGNED: put_signed(to, v, t.bytes); break;
    case REAL: gp_json_put_double(to, real_at(data, t.bytes)); break;
    case HALF: gp_json_put_double(to, half(v)); break;
    case BRAIN: gp_json_put_double(to, real_of_bits(v << 16)); break;
    case ADDRESS:
        put_hex(to, "\"0x", v, 16);
        gp_buf_putc(to, '"');
        break;
    case WIDE:
        put_hex(to, "\"0x", unsigned_at(data + 8, 8), 16);
        put_hex(to, "", unsigned_at(data, 8), 16);
        gp_buf_putc(to, '"');
        break;
    case COLOR:
        put_hex(to, "\"#", v & 0xffffff, 6);
        gp_buf_putc(to, '"');
        break;
    case TEXT: put_text(to, data, t.bytes, 1); break;
    default: put_unsigned(to, v);
    }
}

/* The name of the value, or of each set of bits in it; the number if there is none. */
static void put_enum(struct gp_buf *to, const struct gp_payload_node *s, const uint8_t *data)
{
    uint64_t v = unsigned_at(data, s->bytes), rest = v,
             mask = s->bytes < 8 ? (UINT64_C(1) << 8 * s->bytes) - 1 : UINT64_MAX;
    char text[MAX_KEY * 4];
    size_t n = 0;
    for (size_t i = 0; i < s->n_values; i++)
        if ((s->values[i].value & mask) == v) {
            gp_json_put_string(to, s->values[i].name, strlen(s->values[i].name));
            return;
        }
    for (size_t i = 0; i < s->n_values; i++) {
        uint64_t bits = s->values[i].value;
        size_t name_n = strlen(s->values[i].name);
        if (!s->values[i].is_flag || !bits || (rest & bits) != bits || n + name_n + 1 > sizeof text) continue;
        if (n) text[n++] = '|';
        memcpy(text + n, s->values[i].name, name_n);
        n += name_n;
        rest &= ~bits;
    }
    if (rest) put_signed(to, v, s->bytes);
    else gp_json_put_string(to, text, n);
}

static void put_fields(const struct writing *w, const struct gp_payload_node *s, const uint8_t *data,
                       size_t n, unsigned depth, const char *open);

/* One element of TYPE with N bytes of payload left. False, and nothing written, if it does not fit into
 * them. */
static bool put_element(const struct writing *w, uint64_t type, const uint8_t *data, size_t n, unsigned depth,
                        size_t *bytes)
{
    const struct gp_payload_node *s = find(w->p, w->domain, type);
    struct type t = type_of(type);
    *bytes = s ? s->bytes : t.bytes;
    if (!*bytes || *bytes > n) return false;
    if (!s) {
        put_scalar(w->to, t, data);
    } else if (s->values) {
        put_enum(w->to, s, data);
    } else {
        if (depth == MAX_DEPTH) return false;
        size_t before = w->to->n;
        put_fields(w, s, data, *bytes, depth + 1, "{");
        if (w->to->n == before) return false;
        gp_buf_putc(w->to, '}');
    }
    return true;
}

static bool put_array(const struct writing *w, const struct field *f, const uint8_t *data, size_t n,
                      unsigned depth)
{
    struct type t = type_of(f->type);
    if (t.form == TEXT) {
        if ((uint64_t)f->count * t.bytes > n) return false;
        put_text(w->to, data, t.bytes, f->count);
        return true;
    }
    gp_buf_putc(w->to, '[');
    for (uint32_t i = 0; i < f->count && i < MAX_ELEMENTS && w->to->n < GP_PAYLOAD_ENOUGH_BYTES; i++) {
        size_t before = w->to->n, bytes;
        if (i) gp_buf_putc(w->to, ',');
        if (!put_element(w, f->type, data, n, depth, &bytes)) {
            w->to->n = before;
            break;
        }
        data += bytes;
        n -= bytes;
    }
    if (w->to->data[w->to->n - 1] == '[') return false;
    gp_buf_putc(w->to, ']');
    return true;
}

/* OPEN is written before the first. */
static void put_fields(const struct writing *w, const struct gp_payload_node *s, const uint8_t *data,
                       size_t n, unsigned depth, const char *open)
{
    for (size_t i = 0; i < s->n_fields && w->to->n < GP_PAYLOAD_ENOUGH_BYTES; i++) {
        const struct field *f = &s->fields[i];
        size_t before = w->to->n, bytes;
        if (f->offset >= n) continue;
        gp_buf_puts(w->to, open);
        if (f->key) {
            gp_buf_puts(w->to, f->key);
        } else {
            gp_buf_puts(w->to, "\"#");
            gp_buf_put_u64(w->to, i);
            gp_buf_puts(w->to, "\":");
        }
        const uint8_t *at = data + f->offset;
        size_t left = n - (size_t)f->offset;
        if (f->count ? put_array(w, f, at, left, depth) : put_element(w, f->type, at, left, depth, &bytes))
            open = ",";
        else w->to->n = before;
    }
}

/* A payload of values of one type, without a schema. */
static void put_values(const struct writing *w, uint64_t id, const void *data, size_t n)
{
    struct type t = type_of(id);
    if (n == SIZE_MAX) n = t.form == TEXT ? 0 : t.bytes;
    if (!t.form || t.form == OPAQUE || !t.bytes || n < t.bytes) return;
    size_t count = n / t.bytes, before = w->to->n;
    struct field f = {.type = id,
                      .count = count > 1 || is_string(id) ? (uint32_t)(count < UINT32_MAX ? count : 0) : 0};
    gp_buf_puts(w->to, before ? ",\"Payload\":" : "\"Payload\":");
    size_t bytes;
    if (!(f.count ? put_array(w, &f, data, n, 0) : put_element(w, id, data, n, 0, &bytes))) w->to->n = before;
}

void gp_payload_put(const struct gp_payloads *p, const void *domain, uint64_t id, const void *data, size_t n,
                    struct gp_buf *to)
{
    struct writing w = {p, domain, to};
    if (!data || !n || to->n >= GP_PAYLOAD_ENOUGH_BYTES) return;
    const struct gp_payload_node *s = find(p, domain, id);
    if (s && !s->values) put_fields(&w, s, data, n == SIZE_MAX ? s->bytes : n, 0, to->n ? "," : "");
    else if (!s) put_values(&w, id, data, n);
}

static void put_key(const char *key, struct gp_buf *to)
{
    gp_buf_puts(to, to->n ? ",\"" : "\"");
    gp_buf_puts(to, key);
    gp_buf_puts(to, "\":");
}

void gp_payload_put_value(const char *key, enum gp_payload_type type, const void *value, struct gp_buf *to)
{
    if (to->n >= GP_PAYLOAD_ENOUGH_BYTES || !type_of(type).form) return;
    put_key(key, to);
    put_scalar(to, type_of(type), value);
}

void gp_payload_put_text(const char *key, const char *text, struct gp_buf *to)
{
    if (to->n >= GP_PAYLOAD_ENOUGH_BYTES) return;
    put_key(key, to);
    put_text(to, (const uint8_t *)text, 1, strnlen(text, MAX_CHARS + 1));
}
