#include "formats/gpt/gpt_codec.h"

#include <string.h>
#include "formats/base/buf.h"

/* The encoder sees values through a histogram with a few bins per octave: exact below 8, then the top two
 * bits. */
enum { BIN_COUNT = 8 + 61 * 2, MAX_BUCKETS = 1 << GP_STREAM_MAX_BITS, FAST_WIDTH = 56, KEPT = 4096 };

struct bucket {
    uint64_t base, mask;
    uint64_t width;
    uint64_t unused; /* makes the size a power of two */
};

static struct bucket make_bucket(uint64_t base, unsigned width)
{
    return (struct bucket){base, width ? UINT64_MAX >> (64 - width) : 0, width, 0};
}

struct bins {
    uint32_t count[BIN_COUNT];
    uint64_t min, max;
    size_t nonzero;
    uint8_t of[KEPT]; /* bin of each value, if there are at most KEPT values */
};

static unsigned bit_length(uint64_t v) { return v ? 64 - (unsigned)__builtin_clzll(v) : 0; }

static unsigned varint_size(uint64_t v) { return (bit_length(v | 1) + 6) / 7; }

/* ---- varints ---- */

static size_t varint_write(uint8_t *p, uint64_t v)
{
    size_t n = 0;
    for (; v >= 0x80; v >>= 7) p[n++] = (uint8_t)(v | 0x80);
    p[n++] = (uint8_t)v;
    return n;
}

void gp_varint_put(struct gp_buf *b, uint64_t v)
{
    b->n += varint_write((uint8_t *)gp_buf_reserve(b, GP_VARINT_MAX), v);
}

uint64_t gp_cursor_varint(struct gp_cursor *c)
{
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 64 && c->p < c->end; shift += 7) {
        uint8_t byte = *c->p++;
        if (shift == 63 && byte > 1) break;
        v |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) return v;
    }
    c->bad = true;
    c->p = c->end;
    return 0;
}

const uint8_t *gp_cursor_bytes(struct gp_cursor *c, uint64_t n)
{
    const uint8_t *p = c->p;
    if (n > (uint64_t)(c->end - c->p)) {
        c->bad = true;
        c->p = c->end;
        return NULL;
    }
    c->p += n;
    return p;
}

uint8_t gp_cursor_u8(struct gp_cursor *c)
{
    const uint8_t *p = gp_cursor_bytes(c, 1);
    return p ? *p : 0;
}

/* ---- the encoder's view of the values ---- */

static unsigned bin_of(uint64_t v)
{
    if (v < 8) return (unsigned)v;
    unsigned e = bit_length(v) - 1;
    return 8 + (e - 3) * 2 + (unsigned)(v >> (e - 1) & 1);
}

static uint64_t bin_low(unsigned bin)
{
    if (bin < 8) return bin;
    return (uint64_t)(2 + (bin - 8) % 2) << (2 + (bin - 8) / 2);
}

static uint64_t bin_high(unsigned bin) { return bin + 1 < BIN_COUNT ? bin_low(bin + 1) - 1 : UINT64_MAX; }

static void count_bins(struct bins *b, const uint64_t *v, size_t n)
{
    uint32_t other[BIN_COUNT] = {0}; /* two counters, so that equal neighbours do not wait for each other */
    uint64_t min = UINT64_MAX, max = 0;
    memset(b->count, 0, sizeof b->count);
    size_t i = 0;
    for (; i + 2 <= n; i += 2) {
        unsigned x = bin_of(v[i]), y = bin_of(v[i + 1]);
        b->count[x]++;
        other[y]++;
        if (n <= KEPT) b->of[i] = (uint8_t)x, b->of[i + 1] = (uint8_t)y;
    }
    if (i < n) {
        unsigned x = bin_of(v[i]);
        b->count[x]++;
        if (n <= KEPT) b->of[i] = (uint8_t)x;
    }
    for (i = 0; i < n; i++) {
        min = v[i] < min ? v[i] : min;
        max = v[i] > max ? v[i] : max;
    }
    for (unsigned k = 0; k < BIN_COUNT; k++) b->count[k] += other[k];
    b->min = min;
    b->max = max;
    b->nonzero = n - b->count[0];
}

/* ---- buckets: the best partition of the occupied bins ---- */

struct plan {
    unsigned k; /* code bits */
    unsigned n; /* buckets used, at most 1 << k */
    struct bucket bucket[MAX_BUCKETS];
    uint8_t code_of_bin[BIN_COUNT];
    uint64_t bits; /* size of the stream */
};

/* best[m][j]: payload bits of the first j occupied bins in m + 1 buckets; from[m][j]: where the last of them
 * begins. */
struct search {
    unsigned nbins;
    uint8_t bin[BIN_COUNT];
    uint64_t low[BIN_COUNT], high[BIN_COUNT];
    uint64_t sum[BIN_COUNT + 1];
    uint64_t best[MAX_BUCKETS][BIN_COUNT + 1];
    uint8_t from[MAX_BUCKETS][BIN_COUNT + 1];
};

static void search_fill(struct search *s, const struct bins *b)
{
    s->nbins = 0;
    s->sum[0] = 0;
    for (unsigned i = 0; i < BIN_COUNT; i++) {
        if (!b->count[i]) continue;
        unsigned k = s->nbins++;
        s->bin[k] = (uint8_t)i;
        s->low[k] = bin_low(i) > b->min ? bin_low(i) : b->min;
        s->high[k] = bin_high(i) < b->max ? bin_high(i) : b->max;
        s->sum[k + 1] = s->sum[k] + b->count[i];
    }
}

static uint64_t bucket_bits(const struct search *s, unsigned i, unsigned j)
{
    return (s->sum[j] - s->sum[i]) * bit_length(s->high[j - 1] - s->low[i]);
}

static void search_level(struct search *s, unsigned m)
{
    for (unsigned j = 1; j <= s->nbins; j++) {
        uint64_t best = UINT64_MAX;
        unsigned from = 0;
        for (unsigned i = m; i < j; i++) {
            uint64_t bits = s->best[m - 1][i] + bucket_bits(s, i, j);
            if (bits < best) best = bits, from = i;
        }
        s->best[m][j] = m < j ? best : s->best[m - 1][j];
        s->from[m][j] = (uint8_t)from;
    }
}

static void plan_from_search(struct plan *p, const struct search *s, unsigned buckets)
{
    unsigned j = s->nbins;
    p->n = buckets;
    for (unsigned m = buckets; m-- > 0;) {
        unsigned i = m ? s->from[m][j] : 0;
        unsigned width = bit_length(s->high[j - 1] - s->low[i]);
        p->bucket[m] = make_bucket(s->low[i], width);
        for (unsigned b = i; b < j; b++) p->code_of_bin[s->bin[b]] = (uint8_t)m;
        j = i;
    }
}

/* Size in bits of the stream with 1 << K codes, its table of at most BUCKETS entries included. */
static uint64_t plan_bits(const struct search *s, unsigned k, unsigned buckets, size_t n)
{
    uint64_t table = 16 + 16 * (UINT64_C(1) << k);
    for (unsigned m = 0; m < buckets; m++) table += 8;
    return s->best[buckets - 1][s->nbins] + (uint64_t)n * k + table;
}

static void plan_make(struct plan *p, const struct bins *b, size_t n)
{
    struct search s;
    search_fill(&s, b);
    s.best[0][0] = 0;
    for (unsigned j = 1; j <= s.nbins; j++) s.best[0][j] = bucket_bits(&s, 0, j);
    unsigned done = 1, best_buckets = 1;
    p->k = 0;
    p->bits = plan_bits(&s, 0, 1, n);
    unsigned max_k = n < 64 ? 1 : n < 256 ? 2 : n < 1024 ? 3 : GP_STREAM_MAX_BITS;
    for (unsigned k = 1; k <= max_k && s.nbins > 1u << (k - 1); k++) {
        unsigned buckets = s.nbins < 1u << k ? s.nbins : 1u << k;
        while (done < buckets) search_level(&s, done++);
        uint64_t bits = plan_bits(&s, k, buckets, n);
        if (bits >= p->bits) continue;
        p->bits = bits;
        p->k = k;
        best_buckets = buckets;
    }
    plan_from_search(p, &s, best_buckets);
}

/* ---- encoding ---- */

static void store64(uint8_t *p, uint64_t v)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    v = __builtin_bswap64(v);
#endif
    memcpy(p, &v, 8);
}

struct bit_writer {
    uint8_t *p;
    uint64_t acc;
    unsigned fill; /* below 8 after each put */
};

/* WIDTH <= FAST_WIDTH, V < 2^WIDTH. */
static inline void put_few_bits(struct bit_writer *w, uint64_t v, unsigned width)
{
    w->acc |= v << w->fill;
    w->fill += width;
    store64(w->p, w->acc);
    w->p += w->fill >> 3;
    w->acc >>= w->fill & ~7u;
    w->fill &= 7;
}

/* V < 2^WIDTH, WIDTH <= 64. */
static void put_bits(struct bit_writer *w, uint64_t v, unsigned width)
{
    if (width > 32) {
        put_few_bits(w, v & 0xffffffff, 32);
        v >>= 32;
        width -= 32;
    }
    put_few_bits(w, v, width);
}

static void finish_bits(struct bit_writer *w)
{
    if (w->fill) *w->p++ = (uint8_t)w->acc;
    w->acc = 0;
    w->fill = 0;
}

enum { CHUNK = 256 }; /* values whose codes are looked up at once; a multiple of 8 */

/* Codes of the values FROM.. of N. */
static void look_up(const struct plan *plan, const struct bins *bins, const uint64_t *v, size_t from,
                    size_t count, size_t n, uint8_t *code)
{
    for (size_t i = 0; n > KEPT && i < count; i++) code[i] = plan->code_of_bin[bin_of(v[from + i])];
    for (size_t i = 0; n <= KEPT && i < count; i++) code[i] = plan->code_of_bin[bins->of[from + i]];
}

/* Codes of K bits; eight of them are K whole bytes. */
static void put_codes(struct bit_writer *w, const uint8_t *code, size_t n, unsigned k)
{
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        uint64_t eight = 0;
        for (unsigned j = 0; j < 8; j++) eight |= (uint64_t)code[i + j] << (j * k);
        put_few_bits(w, eight, 8 * k);
    }
    for (; i < n; i++) put_few_bits(w, code[i], k);
}

static void put_offsets(struct bit_writer *w, const struct plan *plan, const uint64_t *v, size_t n,
                        const uint8_t *code)
{
    struct bit_writer o = *w;
    for (size_t i = 0; i < n; i++) {
        const struct bucket *u = &plan->bucket[code[i]];
        uint64_t offset = v[i] - u->base;
        if (GP_LIKELY(u->width <= FAST_WIDTH)) put_few_bits(&o, offset, (unsigned)u->width);
        else put_bits(&o, offset, (unsigned)u->width);
    }
    *w = o;
}

static void encode_bucket(struct gp_buf *b, const struct plan *plan, const struct bins *bins,
                          const uint64_t *v, size_t n)
{
    gp_buf_putc(b, GP_STREAM_BUCKET);
    gp_buf_putc(b, (char)plan->k);
    for (unsigned i = 0; i < 1u << plan->k; i++) {
        gp_buf_putc(b, i < plan->n ? (char)plan->bucket[i].width : 0);
        gp_varint_put(b, i < plan->n ? plan->bucket[i].base : 0);
    }
    char *start = gp_buf_reserve(b, (size_t)(plan->bits / 8) + 2 * n + 64);
    struct bit_writer w = {(uint8_t *)start, 0, 0};
    uint8_t code[CHUNK];
    for (size_t i = 0, count; plan->k && i < n; i += count) {
        count = n - i < CHUNK ? n - i : CHUNK;
        look_up(plan, bins, v, i, count, n, code);
        put_codes(&w, code, count, plan->k);
    }
    finish_bits(&w);
    memset(code, 0, sizeof code);
    for (size_t i = 0, count; i < n; i += count) {
        count = n - i < CHUNK ? n - i : CHUNK;
        if (plan->k) look_up(plan, bins, v, i, count, n, code);
        put_offsets(&w, plan, v + i, count, code);
    }
    finish_bits(&w);
    b->n += (size_t)((char *)w.p - start);
}

static void encode_leb(struct gp_buf *b, const uint64_t *v, size_t n)
{
    gp_buf_putc(b, GP_STREAM_LEB);
    uint8_t *p = (uint8_t *)gp_buf_reserve(b, n * GP_VARINT_MAX);
    size_t used = 0;
    for (size_t i = 0; i < n; i++) used += varint_write(p + used, v[i]);
    b->n += used;
}

static void encode_sparse(struct gp_buf *b, const uint64_t *v, size_t n, size_t nonzero)
{
    gp_buf_putc(b, GP_STREAM_SPARSE);
    gp_varint_put(b, nonzero);
    size_t next = 0;
    for (size_t i = 0; i < n; i++) {
        if (!v[i]) continue;
        gp_varint_put(b, i - next);
        gp_varint_put(b, v[i]);
        next = i + 1;
    }
}

static uint64_t leb_bytes(const struct bins *b)
{
    uint64_t bytes = 1;
    for (unsigned i = 0; i < BIN_COUNT; i++) bytes += (uint64_t)b->count[i] * varint_size(bin_low(i));
    return bytes;
}

/* An upper bound that is close: every gap up to 127 takes one byte. */
static uint64_t sparse_bytes(const struct bins *b, size_t n)
{
    uint64_t bytes = 3 + n / 128;
    for (unsigned i = 1; i < BIN_COUNT; i++) bytes += (uint64_t)b->count[i] * (1 + varint_size(bin_low(i)));
    return bytes;
}

static void encode(struct gp_buf *b, enum gp_stream_kind kind, const struct plan *plan,
                   const struct bins *bins, const uint64_t *v, size_t n)
{
    if (kind == GP_STREAM_SPARSE) encode_sparse(b, v, n, bins->nonzero);
    else if (kind == GP_STREAM_LEB) encode_leb(b, v, n);
    else encode_bucket(b, plan, bins, v, n);
}

void gp_stream_encode(struct gp_buf *b, const uint64_t *v, size_t n)
{
    struct bins bins;
    count_bins(&bins, v, n);
    if (!n || !bins.max) {
        gp_buf_putc(b, GP_STREAM_ZERO);
    } else if (bins.min == bins.max) {
        gp_buf_putc(b, GP_STREAM_CONST);
        gp_varint_put(b, bins.max);
    } else {
        struct plan plan;
        plan_make(&plan, &bins, n);
        uint64_t leb = leb_bytes(&bins), sparse = sparse_bytes(&bins, n), bucket = (plan.bits + 7) / 8;
        bool is_sparse = sparse < leb && sparse < bucket;
        encode(b,
               is_sparse       ? GP_STREAM_SPARSE
               : leb <= bucket ? GP_STREAM_LEB
                               : GP_STREAM_BUCKET,
               &plan, &bins, v, n);
    }
}

void gp_stream_encode_as(struct gp_buf *b, enum gp_stream_kind kind, const uint64_t *v, size_t n)
{
    struct bins bins;
    struct plan plan;
    count_bins(&bins, v, n);
    plan_make(&plan, &bins, n);
    encode(b, kind, &plan, &bins, v, n);
}

uint64_t gp_stream_cost(const uint64_t *v, size_t n)
{
    uint64_t bits = 0;
    for (size_t i = 0; i < n; i++) bits += v[i] ? bit_length(v[i]) + 3 : 0;
    return bits;
}

/* ---- decoding ---- */

static uint64_t load64(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, 8);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    v = __builtin_bswap64(v);
#endif
    return v;
}

/* WIDTH bits at bit POS, which lie within the data; reads up to 8 bytes past it. */
static uint64_t get_bits(const uint8_t *p, uint64_t pos, unsigned width)
{
    uint64_t v = load64(p + (pos >> 3)) >> (pos & 7);
    if (width <= FAST_WIDTH) return width ? v & (UINT64_MAX >> (64 - width)) : 0;
    unsigned low = 64 - (unsigned)(pos & 7);
    if (low < width) v |= (uint64_t)p[(pos >> 3) + 8] << low;
    return v & (UINT64_MAX >> (64 - width));
}

/* All values of one width; the data is long enough. */
static void decode_fixed(uint64_t *out, size_t n, const uint8_t *p, const struct bucket *b)
{
    uint64_t pos = 0;
    unsigned width = (unsigned)b->width;
    if (width > FAST_WIDTH) {
        for (size_t i = 0; i < n; i++, pos += width) out[i] = b->base + get_bits(p, pos, width);
        return;
    }
    for (size_t i = 0; i < n; i++, pos += width)
        out[i] = b->base + (load64(p + (pos >> 3)) >> (pos & 7) & b->mask);
}

/* The offsets packed after the codes, while they are decoded. */
struct packed {
    const uint8_t *codes, *p;
    uint64_t bits; /* of data at p */
    const struct bucket *table;
    unsigned widest;
};

/* Values I.. of N, one by one, with every bound checked. POS: bit of the first one's offset. */
static int decode_careful(uint64_t *out, size_t i, size_t n, const struct packed *s, unsigned k, uint64_t pos)
{
    for (; i < n; i++) {
        uint64_t code = load64(s->codes + (i * k >> 3)) >> (i * k & 7) & ((1u << k) - 1);
        const struct bucket *u = &s->table[code];
        if (u->width > s->bits - pos) return -1;
        uint64_t v = load64(s->p + (pos >> 3)) >> (pos & 7);
        if (GP_UNLIKELY(u->width > FAST_WIDTH)) v = get_bits(s->p, pos, (unsigned)u->width);
        out[i] = u->base + (v & u->mask);
        pos += u->width;
    }
    return s->bits - pos < 8 ? 0 : -1;
}

/* Eight at a time as long as no bound can be exceeded. With K known to the compiler this is a dozen
 * instructions per value, and only the position depends on the value before. */
static inline __attribute__((always_inline)) int decode_codes_k(uint64_t *out, size_t n,
                                                                const struct packed *s, const unsigned k)
{
    uint64_t pos = 0;
    size_t i = 0;
    const uint64_t safe = s->widest <= FAST_WIDTH && s->bits >= 8 * s->widest ? s->bits - 8 * s->widest : 0;
    for (; i + 8 <= n && pos < safe; i += 8) {
        uint64_t c = load64(s->codes + i / 8 * k);
        for (unsigned j = 0; j < 8; j++) {
            const struct bucket *u = &s->table[c >> (j * k) & ((1u << k) - 1)];
            out[i + j] = u->base + (load64(s->p + (pos >> 3)) >> (pos & 7) & u->mask);
            pos += u->width;
        }
    }
    return decode_careful(out, i, n, s, k, pos);
}

static inline __attribute__((always_inline)) int decode_codes_any(uint64_t *out, size_t n,
                                                                  const struct packed *s, unsigned k)
{
    switch (k) {
    case 1: return decode_codes_k(out, n, s, 1);
    case 2: return decode_codes_k(out, n, s, 2);
    case 3: return decode_codes_k(out, n, s, 3);
    default: return decode_codes_k(out, n, s, 4);
    }
}

#if defined(__x86_64__)
/* The same with shifts that take their count from any register. */
__attribute__((target("bmi,bmi2"))) static int decode_codes_bmi2(uint64_t *out, size_t n,
                                                                 const struct packed *s, unsigned k)
{
    return decode_codes_any(out, n, s, k);
}
#endif

static int decode_codes(uint64_t *out, size_t n, const uint8_t *codes, unsigned k, const uint8_t *p,
                        uint64_t bits, const struct bucket *table)
{
    struct packed s = {codes, p, bits, table, 0};
    for (unsigned i = 0; i < 1u << k; i++)
        if (table[i].width > s.widest) s.widest = table[i].width;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("bmi2")) return decode_codes_bmi2(out, n, &s, k);
#endif
    return decode_codes_any(out, n, &s, k);
}

static int decode_bucket(uint64_t *out, size_t n, struct gp_cursor *c)
{
    struct bucket table[MAX_BUCKETS];
    unsigned k = gp_cursor_u8(c);
    if (k > GP_STREAM_MAX_BITS) return -1;
    for (unsigned i = 0; i < 1u << k; i++) {
        unsigned width = gp_cursor_u8(c);
        if (width > 64) return -1;
        table[i] = make_bucket(gp_cursor_varint(c), width);
    }
    const uint8_t *codes = gp_cursor_bytes(c, ((uint64_t)n * k + 7) / 8);
    if (c->bad) return -1;
    uint64_t bits = (uint64_t)(c->end - c->p) * 8;
    if (k) return decode_codes(out, n, codes, k, c->p, bits, table);
    if ((n * table[0].width + 7) / 8 * 8 != bits) return -1;
    decode_fixed(out, n, c->p, &table[0]);
    return 0;
}

static int decode_leb(uint64_t *out, size_t n, struct gp_cursor *c)
{
    for (size_t i = 0; i < n; i++) {
        if (GP_LIKELY(c->p < c->end && *c->p < 0x80)) out[i] = *c->p++;
        else out[i] = gp_cursor_varint(c);
    }
    return c->bad || c->p != c->end ? -1 : 0;
}

static int decode_sparse(uint64_t *out, size_t n, struct gp_cursor *c)
{
    memset(out, 0, n * sizeof *out);
    uint64_t count = gp_cursor_varint(c), at = 0;
    for (; count && !c->bad; count--) {
        uint64_t skip = gp_cursor_varint(c), v = gp_cursor_varint(c);
        if (at >= n || skip >= n - at) return -1;
        at += skip;
        out[at++] = v;
    }
    return c->bad || c->p != c->end ? -1 : 0;
}

int gp_stream_decode(uint64_t *out, size_t n, const uint8_t *p, size_t len)
{
    struct gp_cursor c = {p, p + len, false};
    uint64_t v = 0;
    switch (gp_cursor_u8(&c)) {
    case GP_STREAM_CONST: v = gp_cursor_varint(&c); /* fall through */
    case GP_STREAM_ZERO:
        for (size_t i = 0; i < n; i++) out[i] = v;
        return len && !c.bad && c.p == c.end ? 0 : -1;
    case GP_STREAM_LEB: return decode_leb(out, n, &c);
    case GP_STREAM_SPARSE: return decode_sparse(out, n, &c);
    case GP_STREAM_BUCKET: return decode_bucket(out, n, &c);
    default: return -1;
    }
}
