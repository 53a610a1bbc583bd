#include "analyze/math/serialize.h"

#include <string.h>
#include "formats/base/buf.h"
#include "formats/base/err.h"

static void put_varint(struct gp_buf *b, uint64_t v)
{
    for (; v >= 0x80; v >>= 7) gp_buf_putc(b, (char)(v | 0x80));
    gp_buf_putc(b, (char)v);
}

/* What does not fit 64 bits, or ends early, fails. */
static uint64_t take_varint(struct gp_serializer *x)
{
    uint64_t v = 0;
    for (unsigned shift = 0; !x->failed && shift < 64 && x->load < x->end; shift += 7) {
        uint8_t byte = *x->load++;
        if (shift == 63 && byte > 1) break;
        v |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) return v;
    }
    x->failed = true;
    x->load = x->end;
    return 0;
}

void gp_serialize_u64(struct gp_serializer *x, uint64_t *v)
{
    if (x->save) put_varint(x->save, *v);
    else *v = take_varint(x);
}

/* Small numbers of either sign become small: 0, -1, 1, -2 are 0, 1, 2, 3. */
void gp_serialize_i64(struct gp_serializer *x, int64_t *v)
{
    uint64_t u = *v < 0 ? ~((uint64_t)*v << 1) : (uint64_t)*v << 1;
    gp_serialize_u64(x, &u);
    if (x->save) return;
    u = u & 1 ? ~(u >> 1) : u >> 1;
    memcpy(v, &u, sizeof u);
}

void gp_serialize_u32(struct gp_serializer *x, uint32_t *v)
{
    uint64_t u = *v;
    gp_serialize_u64(x, &u);
    if (u > UINT32_MAX) x->failed = true;
    *v = x->failed ? 0 : (uint32_t)u;
}

void gp_serialize_i32(struct gp_serializer *x, int32_t *v)
{
    int64_t i = *v;
    gp_serialize_i64(x, &i);
    if (i < INT32_MIN || i > INT32_MAX) x->failed = true;
    *v = x->failed ? 0 : (int32_t)i;
}

void gp_serialize_bool(struct gp_serializer *x, bool *v)
{
    uint64_t u = *v;
    gp_serialize_u64(x, &u);
    if (u > 1) x->failed = true;
    *v = !x->failed && u;
}

void gp_serialize_double(struct gp_serializer *x, double *v)
{
    uint64_t bits;
    memcpy(&bits, v, sizeof bits);
    if (x->save) {
        for (int i = 0; i < 8; i++) gp_buf_putc(x->save, (char)(bits >> 8 * i));
        return;
    }
    bits = 0;
    if (x->end - x->load < 8) {
        x->failed = true;
        x->load = x->end;
    }
    if (!x->failed)
        for (int i = 0; i < 8; i++) bits |= (uint64_t)*x->load++ << 8 * i;
    memcpy(v, &bits, sizeof bits);
}

void gp_serialize_seen_release(struct gp_serialize_seen *seen)
{
    GP_VEC_FREE(&seen->at);
    gp_map_release(&seen->place_of);
}

static void save_str(struct gp_serializer *x, gp_sid v)
{
    uint64_t n = gp_string_len(x->strings, v);
    if (x->seen) {
        uint32_t *place = gp_map_put(&x->seen->place_of, v, (uint32_t)x->seen->at.n);
        if (*place < x->seen->at.n) {
            put_varint(x->save, (uint64_t)*place << 1 | 1);
            return;
        }
        GP_VEC_PUSH(&x->seen->at, v);
    }
    put_varint(x->save, x->seen ? n << 1 : n);
    gp_buf_put(x->save, gp_string(x->strings, v), n);
}

void gp_serialize_str(struct gp_serializer *x, gp_sid *v)
{
    if (x->save) {
        save_str(x, *v);
        return;
    }
    uint64_t n = take_varint(x);
    *v = 0;
    if (x->seen && n & 1) {
        if (n >> 1 >= x->seen->at.n) x->failed = true;
        else *v = x->seen->at.at[n >> 1];
        return;
    }
    if (x->seen) n >>= 1;
    if (n > (uint64_t)(x->end - x->load)) {
        x->failed = true;
        x->load = x->end;
    }
    if (x->failed) return;
    *v = gp_intern(x->strings, (const char *)x->load, n);
    x->load += n;
    if (x->seen) GP_VEC_PUSH(&x->seen->at, *v);
}

size_t gp_serialize_count(struct gp_serializer *x, size_t n, size_t min_bytes)
{
    uint64_t u = n;
    gp_serialize_u64(x, &u);
    if (x->save) return n;
    if (u > (uint64_t)(x->end - x->load) / (min_bytes ? min_bytes : 1)) {
        x->failed = true;
        x->load = x->end;
    }
    return x->failed ? 0 : (size_t)u;
}

/* ---- files ---- */

static void put_number(uint8_t *to, uint64_t v, int width)
{
    for (int i = 0; i < width; i++) to[i] = (uint8_t)(v >> 8 * i);
}

static uint64_t get_number(const uint8_t *from, int width)
{
    uint64_t v = 0;
    for (int i = 0; i < width; i++) v |= (uint64_t)from[i] << 8 * i;
    return v;
}

size_t gp_serialize_begin(struct gp_buf *to)
{
    gp_buf_reserve(to, GP_SERIALIZE_HEAD);
    to->n += GP_SERIALIZE_HEAD;
    return to->n - GP_SERIALIZE_HEAD;
}

void gp_serialize_end(struct gp_buf *to, size_t start, const struct gp_serialize_head *head)
{
    uint8_t *p = (uint8_t *)to->data + start;
    uint64_t size = to->n - start - GP_SERIALIZE_HEAD;
    memcpy(p, head->magic, sizeof head->magic);
    put_number(p + 8, head->version, 4);
    put_number(p + 12, size, 8);
    put_number(p + 20, gp_hash_bytes(p + GP_SERIALIZE_HEAD, size), 8);
}

int gp_serialize_open(struct gp_serializer *x, const void *data, size_t n,
                      const struct gp_serialize_head *head, struct gp_err *err)
{
    const uint8_t *p = data;
    if (n < sizeof head->magic || memcmp(p, head->magic, sizeof head->magic))
        return gp_fail(err, GP_E_FORMAT, 0, "not a saved %s", head->what);
    if (n < GP_SERIALIZE_HEAD) return gp_fail(err, GP_E_SYNTAX, (int64_t)n, "the %s ends early", head->what);
    uint64_t version = get_number(p + 8, 4), size = get_number(p + 12, 8);
    if (version != head->version)
        return gp_fail(err, GP_E_FORMAT, 8, "%s version %llu is not supported; expected version %u",
                       head->what, (unsigned long long)version, head->version);
    if (size > n - GP_SERIALIZE_HEAD)
        return gp_fail(err, GP_E_SYNTAX, (int64_t)n, "the %s ends early", head->what);
    if (size < n - GP_SERIALIZE_HEAD)
        return gp_fail(err, GP_E_SYNTAX, (int64_t)(GP_SERIALIZE_HEAD + size), "trailing data after the %s",
                       head->what);
    if (gp_hash_bytes(p + GP_SERIALIZE_HEAD, size) != get_number(p + 20, 8))
        return gp_fail(err, GP_E_SYNTAX, GP_SERIALIZE_HEAD, "the %s is damaged", head->what);
    x->load = p + GP_SERIALIZE_HEAD;
    x->end = p + n;
    return 0;
}
