/* Takes a binary trace apart into blocks and columns, changes some of them, and writes it again with right
 * checksums; schemas/gpt-1.md describes what is changed here. */
#include <string.h>
#include "formats/base/buf.h"
#include "formats/base/vec.h"
#include "formats/gpt/gpt.h"
#include "tests/fuzz/help/fuzz.h"
#include "tests/fuzz/help/mutate.h"

enum { MAX_BLOCKS = 256, MAX_COLUMNS = 64 };
enum {
    STRINGS = 2,
    FIRST_DICTIONARY = 2,
    LAST_DICTIONARY = 12,
    LAUNCHES = 16,
    EVENTS = 32,
    LAST_EVENTS = 44
};

struct column {
    uint8_t id, predictor;
    const char *body;
    size_t n;
    uint64_t extra; /* the length that is written is wrong by so much */
};

struct block {
    struct gp_gpt_block_header h;
    const char *payload; /* used when there are no columns */
    size_t n;
    struct column columns[MAX_COLUMNS];
    size_t columns_n;
    uint32_t lie; /* added to the length of the payload */
};

struct file {
    struct gp_arena mem;
    uint8_t header[GP_GPT_HEADER_SIZE];
    GP_VEC(struct block) blocks;
};

/* ---- numbers and streams ---- */

static void put_varint(struct gp_buf *b, uint64_t v)
{
    for (; v >= 128; v >>= 7) gp_buf_putc(b, (char)((v & 127) | 128));
    gp_buf_putc(b, (char)v);
}

static bool get_varint(const char **p, const char *end, uint64_t *v)
{
    *v = 0;
    for (int shift = 0; *p < end && shift < 64; shift += 7) {
        uint8_t c = (uint8_t) * (*p)++;
        *v |= (uint64_t)(c & 127) << shift;
        if (c < 128) return true;
    }
    return false;
}

static void put_noise(struct gp_buf *b, size_t n, struct fuzz_dice *d)
{
    while (n--) gp_buf_putc(b, (char)fuzz_bits(d));
}

static void put_packed(struct gp_buf *b, size_t n, struct fuzz_dice *d)
{
    static const uint8_t widths[] = {0, 1, 3, 8, 31, 57, 63, 64, 65, 255};
    unsigned k = (unsigned)fuzz_roll(d, 6), bits = k;
    gp_buf_putc(b, (char)k);
    for (unsigned i = 0; i < 1u << (k < 4 ? k : 4); i++) {
        unsigned width = widths[fuzz_roll(d, sizeof widths)];
        gp_buf_putc(b, (char)width);
        put_varint(b, fuzz_number(d));
        bits += width;
    }
    put_noise(b, n * (bits < 64 ? bits : 64) / 8 + fuzz_roll(d, 3), d);
}

/* A stream of about N numbers. */
static void put_stream(struct gp_buf *b, size_t n, struct fuzz_dice *d)
{
    size_t form = fuzz_roll(d, 9);
    if (n > 300) n = 300;
    if (form > 4) form = 2;
    gp_buf_putc(b, (char)(form == 0 && fuzz_roll(d, 8) == 0 ? 5 + fuzz_roll(d, 250) : form));
    if (form == 1) put_varint(b, fuzz_number(d));
    for (size_t i = 0; form == 2 && i < n; i++) put_varint(b, fuzz_number(d));
    if (form == 3) {
        size_t count = fuzz_roll(d, 8);
        put_varint(b, fuzz_roll(d, 6) ? count : fuzz_number(d));
        for (size_t i = 0; i < 2 * count; i++) put_varint(b, fuzz_number(d));
    }
    if (form == 4) put_packed(b, n, d);
}

static void put_dictionary(struct gp_buf *b, size_t n, struct fuzz_dice *d)
{
    struct gp_buf values = {0};
    size_t m = fuzz_roll(d, 4) ? fuzz_roll(d, n + 2) : (size_t)fuzz_number(d);
    put_stream(&values, m < n ? m : n, d);
    put_varint(b, m);
    put_varint(b, fuzz_roll(d, 8) ? values.n : fuzz_number(d));
    gp_buf_put(b, values.data, values.n);
    put_stream(b, n, d);
    gp_buf_release(&values);
}

/* ---- files ---- */

static const char *keep(struct file *f, const struct gp_buf *b)
{
    return gp_arena_strndup(&f->mem, b->n ? b->data : "", b->n);
}

static void read_columns(struct block *b)
{
    const char *p = b->payload, *end = p + b->n;
    while (end - p >= 3 && b->columns_n < MAX_COLUMNS) {
        struct column *c = &b->columns[b->columns_n];
        uint64_t n;
        *c = (struct column){.id = (uint8_t)p[0], .predictor = (uint8_t)p[1]};
        p += 2;
        if (!get_varint(&p, end, &n) || n > (uint64_t)(end - p)) break;
        c->body = p;
        c->n = (size_t)n;
        p += n;
        b->columns_n++;
    }
    if (p != end) b->columns_n = 0;
}

static bool read_file(struct file *f, const uint8_t *data, size_t n)
{
    if (n < GP_GPT_HEADER_SIZE || memcmp(data, GP_GPT_MAGIC, 8)) return false;
    memcpy(f->header, data, GP_GPT_HEADER_SIZE);
    for (size_t at = GP_GPT_HEADER_SIZE; at + GP_GPT_BLOCK_HEADER_SIZE <= n && f->blocks.n < MAX_BLOCKS;) {
        struct block b = {0};
        if (!gp_gpt_get_header(data + at, &b.h)) break;
        at += GP_GPT_BLOCK_HEADER_SIZE;
        b.payload = (const char *)data + at;
        b.n = b.h.payload_len < n - at ? b.h.payload_len : n - at;
        at += b.n;
        if (!b.h.codec) read_columns(&b);
        GP_VEC_PUSH(&f->blocks, b);
    }
    return true;
}

static void write_block(struct gp_buf *to, struct block *b)
{
    size_t start = to->n;
    gp_buf_reserve(to, GP_GPT_BLOCK_HEADER_SIZE);
    to->n += GP_GPT_BLOCK_HEADER_SIZE;
    if (!b->columns_n) gp_buf_put(to, b->payload, b->n);
    for (size_t i = 0; i < b->columns_n; i++) {
        const struct column *c = &b->columns[i];
        gp_buf_putc(to, (char)c->id);
        gp_buf_putc(to, (char)c->predictor);
        put_varint(to, c->n + c->extra);
        gp_buf_put(to, c->body, c->n);
    }
    size_t n = to->n - start - GP_GPT_BLOCK_HEADER_SIZE;
    if (!b->h.codec) b->h.raw_len = (uint32_t)n + b->lie;
    b->h.payload_len = (uint32_t)n;
    gp_gpt_put_header((uint8_t *)to->data + start, &b->h);
}

/* ---- changes ---- */

static void change_column(struct file *f, const struct block *b, struct column *c, struct fuzz_dice *d)
{
    struct gp_buf body = {0};
    size_t rows = b->h.nrec, at = fuzz_roll(d, c->n), rest = c->n - at;
    switch (fuzz_roll(d, 11)) {
    case 0: c->id = (uint8_t)fuzz_roll(d, 40); return;
    case 1: c->predictor = (uint8_t)(fuzz_roll(d, 15) + (fuzz_roll(d, 4) ? 0 : 64)); return;
    case 2: c->extra = fuzz_number(d); return;
    case 3:
        put_dictionary(&body, rows, d);
        c->predictor = (uint8_t)(fuzz_roll(d, 2) ? 4 : 11 + fuzz_roll(d, 2));
        break;
    case 4: /* quantised */
        c->predictor = (uint8_t)(64 + fuzz_roll(d, 14));
        for (int i = 0; c->predictor == 72 && i < 2; i++) put_varint(&body, fuzz_number(d));
        put_varint(&body, fuzz_number(d));
        put_varint(&body, fuzz_roll(d, 5));
        put_stream(&body, rows, d);
        put_stream(&body, rows, d);
        break;
    case 5: /* one number for all rows */
        c->predictor = 0;
        gp_buf_putc(&body, 1);
        put_varint(&body, fuzz_number(d));
        break;
    case 6: /* numbers that stand in the file, one of them another */
        gp_buf_put(&body, c->body, at);
        put_varint(&body, fuzz_number(d));
        if (rest > 1) gp_buf_put(&body, c->body + at + 1, rest - 1);
        break;
    case 7: gp_buf_put(&body, c->body, at); break;
    case 8:
        gp_buf_put(&body, c->body, c->n);
        if (c->n) body.data[at] = (char)(fuzz_roll(d, 2) ? fuzz_number(d) : fuzz_bits(d));
        break;
    default:
        if (fuzz_roll(d, 3)) c->predictor = (uint8_t)fuzz_roll(d, 2);
        put_stream(&body, rows, d);
        break;
    }
    c->body = keep(f, &body);
    c->n = body.n;
    gp_buf_release(&body);
}

static void add_column(struct file *f, struct block *b, uint8_t id, struct fuzz_dice *d)
{
    struct gp_buf body = {0};
    if (b->columns_n == MAX_COLUMNS) return;
    put_stream(&body, b->h.nrec, d);
    b->columns[b->columns_n++] = (struct column){id, (uint8_t)fuzz_roll(d, 2), keep(f, &body), body.n, 0};
    gp_buf_release(&body);
}

/* Entries of the dictionary of strings, which may stand in place of those that are there. */
static void fill_strings(struct file *f, struct block *b, struct fuzz_dice *d)
{
    struct gp_buf lengths = {0}, text = {0};
    gp_buf_putc(&lengths, 2);
    for (size_t i = 0; i < b->h.nrec; i++) {
        size_t n;
        const char *s = fuzz_text(d, &n);
        put_varint(&lengths, n);
        gp_buf_put(&text, s, n);
    }
    b->columns[0] = (struct column){1, 0, keep(f, &lengths), lengths.n, 0};
    b->columns[1] = (struct column){2, 0, keep(f, &text), text.n, 0};
    b->columns_n = 2;
    gp_buf_release(&lengths);
    gp_buf_release(&text);
}

/* A block of a kind that may be absent from the file, with columns at random. */
static void add_block(struct file *f, struct fuzz_dice *d)
{
    struct block b = {0};
    size_t at = fuzz_roll(d, f->blocks.n + 1), kind = fuzz_roll(d, 4);
    const struct block *near = f->blocks.n ? &f->blocks.at[at < f->blocks.n ? at : at - 1] : NULL;
    if (near) b.h.producer = near->h.producer;
    b.h.nrec = (uint32_t)(1 + fuzz_roll(d, 8));
    b.h.kind =
        (uint16_t)(kind == 0   ? STRINGS
                   : kind == 1 ? FIRST_DICTIONARY + fuzz_roll(d, LAST_DICTIONARY - FIRST_DICTIONARY + 1)
                               : EVENTS + fuzz_roll(d, LAST_EVENTS - EVENTS + 1));
    if (kind == 3 && fuzz_roll(d, 2)) b.h.kind = LAUNCHES;
    b.h.base_ns = near && b.h.kind >= LAUNCHES && fuzz_roll(d, 4) ? near->h.base_ns
                  : b.h.kind < LAUNCHES                           ? fuzz_roll(d, 12)
                                                                  : fuzz_number(d);
    if (b.h.kind == STRINGS) {
        fill_strings(f, &b, d);
    } else {
        size_t n = 1 + fuzz_roll(d, 10);
        if (b.h.kind >= LAUNCHES) add_column(f, &b, 3, d);
        for (size_t i = 0; i < n; i++)
            add_column(f, &b,
                       (uint8_t)(fuzz_roll(d, 30) + (b.h.kind == LAUNCHES && fuzz_roll(d, 2) ? 64 : 0)), d);
    }
    GP_VEC_PUSH(&f->blocks, b);
    b = f->blocks.at[f->blocks.n - 1];
    memmove(f->blocks.at + at + 1, f->blocks.at + at, (f->blocks.n - 1 - at) * sizeof b);
    f->blocks.at[at] = b;
}

static void change_order(struct file *f, size_t i, struct fuzz_dice *d)
{
    size_t k = fuzz_roll(d, f->blocks.n);
    struct block b = f->blocks.at[i];
    switch (fuzz_roll(d, 4)) {
    case 0: memmove(f->blocks.at + i, f->blocks.at + i + 1, (--f->blocks.n - i) * sizeof b); break;
    case 1: GP_VEC_PUSH(&f->blocks, b); break;
    case 2:
        f->blocks.at[i] = f->blocks.at[k];
        f->blocks.at[k] = b;
        break;
    default: f->blocks.n = i + 1; break;
    }
}

/* Bytes of the texts that are there, over others of as many bytes. */
static void change_text(struct file *f, struct fuzz_dice *d)
{
    for (size_t i = 0; i < f->blocks.n; i++) {
        struct block *b = &f->blocks.at[i];
        if (b->h.kind != STRINGS || b->columns_n < 2) continue;
        struct column *c = &b->columns[1];
        struct gp_buf text = {0};
        size_t n, at = fuzz_roll(d, c->n);
        const char *s = fuzz_text(d, &n);
        gp_buf_put(&text, c->body, c->n);
        if (n > c->n - at) n = c->n - at;
        if (n) memcpy(text.data + at, s, n);
        c->body = keep(f, &text);
        gp_buf_release(&text);
        return;
    }
}

static void change_head(struct block *b, struct fuzz_dice *d)
{
    switch (fuzz_roll(d, 8)) {
    case 0: b->h.nrec = (uint32_t)fuzz_number(d); break;
    case 1: b->h.nrec += (uint32_t)fuzz_roll(d, 3) - 1; break;
    case 2: b->h.base_ns = fuzz_number(d); break;
    case 3: b->h.kind = (uint16_t)(fuzz_roll(d, 8) ? EVENTS + fuzz_roll(d, 14) : fuzz_number(d)); break;
    case 4: b->h.producer = (uint32_t)fuzz_number(d); break;
    case 5: b->h.seq += (uint32_t)fuzz_number(d); break;
    case 6: b->lie = (uint32_t)fuzz_number(d); break;
    default:
        b->h.codec = (uint8_t)fuzz_roll(d, 4);
        b->h.flags = (uint8_t)fuzz_roll(d, 4);
        break;
    }
}

static void change_file(struct file *f, struct fuzz_dice *d)
{
    size_t what = fuzz_roll(d, 16), i = fuzz_roll(d, f->blocks.n);
    if (!f->blocks.n || what == 0) {
        add_block(f, d);
        return;
    }
    struct block *b = &f->blocks.at[i];
    struct column *c = b->columns_n ? &b->columns[fuzz_roll(d, b->columns_n)] : NULL;
    if (what <= 8 && c) change_column(f, b, c, d);
    else if (what == 9) change_head(b, d);
    else if (what == 10) change_order(f, i, d);
    else if (what == 11) change_text(f, d);
    else if (what == 12) add_block(f, d);
    else if (what == 13 && c) *c = b->columns[--b->columns_n];
    else if (what == 14) f->header[fuzz_roll(d, sizeof f->header)] = (uint8_t)fuzz_number(d);
    else if (b->h.kind >= LAUNCHES) add_column(f, b, (uint8_t)(1 + fuzz_roll(d, 29)), d);
}

bool fuzz_mutate_gpt(struct gp_buf *to, const uint8_t *data, size_t n, struct fuzz_dice *d)
{
    struct file f = {0};
    bool known = read_file(&f, data, n);
    if (known) {
        for (size_t i = 1 + fuzz_roll(d, 3) * fuzz_roll(d, 3); i; i--) change_file(&f, d);
        gp_buf_put(to, f.header, sizeof f.header);
        for (size_t i = 0; i < f.blocks.n; i++) write_block(to, &f.blocks.at[i]);
    }
    GP_VEC_FREE(&f.blocks);
    gp_arena_release(&f.mem);
    return known;
}
