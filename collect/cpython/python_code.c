#include "collect/cpython/python_code.h"

#include <stdlib.h>
#include <string.h>
#include "formats/base/mem.h"
#include "formats/base/utf8.h"

enum { CHARS_MOST = 1000, TABLE_MOST = 1 << 20, CODE_BYTES_MOST = 16 << 20, CHECKED_AT_ONCE = 128 };
enum { COPIES_MOST = 1024 };

/* ---- texts ---- */

static uint32_t char_at(const uint8_t *chars, size_t i, unsigned kind)
{
    uint16_t two;
    uint32_t four;
    if (kind == 1) return chars[i];
    if (kind == 2) {
        memcpy(&two, chars + 2 * i, sizeof two);
        return two;
    }
    memcpy(&four, chars + 4 * i, sizeof four);
    return four > 0x10ffff ? '?' : four;
}

/* The width of its characters is a field of the state of a text, then come a bit that it is compact, which
 * all names are, and one that it is ASCII. */
static bool kind_of(const struct gp_py_layout *o, uint32_t state, unsigned *kind, unsigned *ascii)
{
    *kind = state >> o->str_kind & 7;
    *ascii = state >> (o->str_kind + 4) & 1;
    return (*kind == 1 || *kind == 2 || *kind == 4) && state >> (o->str_kind + 3) & 1;
}

static bool read_text(const struct gp_py_layout *o, const struct gp_remote *remote, uint64_t at, char *to,
                      size_t size)
{
    uint8_t head[128], chars[4 * CHARS_MOST];
    if (o->str_ascii > sizeof head || !gp_remote_get(remote, at, head, o->str_ascii)) return false;
    uint64_t length = gp_take_u64(head, o->str_length);
    uint32_t state = gp_take_u32(head, o->str_state);
    unsigned kind, ascii;
    if (length > 1 << 20 || !kind_of(o, state, &kind, &ascii)) return false;
    size_t n = length < CHARS_MOST ? (size_t)length : CHARS_MOST, used = 0;
    if (!gp_remote_get(remote, at + (ascii ? o->str_ascii : o->str_other), chars, n * kind)) return false;
    for (size_t i = 0; i < n && used + 8 < size; i++) {
        uint32_t c = char_at(chars, i, kind);
        used += gp_utf8_encode(to + used, c < 0x20 ? '?' : c);
    }
    to[used] = 0;
    if (n < length && used + 4 <= size) strcpy(to + used, "...");
    return true;
}

/* ---- objects ---- */

static void take_marks(const struct gp_py_layout *o, const uint8_t *code, uint64_t marks[GP_PY_MARKS])
{
    marks[0] = gp_take_u64(code, o->object_type);
    marks[1] = gp_take_u64(code, o->code_file);
    marks[2] = gp_take_u64(code, o->code_name);
    marks[3] = gp_take_u64(code, o->code_lines);
    marks[4] = gp_take_u32(code, o->code_first);
    marks[5] = gp_take_u64(code, o->object_size);
    marks[6] = gp_take_u64(code, o->object_size + 16);
}

static bool load_lines(struct gp_py_codes *codes, struct gp_py_code *c, uint64_t at)
{
    const struct gp_py_layout *o = codes->layout;
    uint8_t head[72];
    if (!gp_remote_get(codes->remote, at, head, o->bytes_data)) return false;
    uint64_t n = gp_take_u64(head, o->bytes_size);
    free(c->table);
    c->table = NULL;
    c->table_n = 0;
    bool fits = n <= TABLE_MOST; /* otherwise every instruction has the first line */
    c->table = gp_alloc(fits ? n + 1 : 1);
    if (!fits) return true;
    c->table_n = (uint32_t)n;
    return gp_remote_get(codes->remote, at + o->bytes_data, c->table, n);
}

static bool load_start(struct gp_py_codes *codes, struct gp_py_code *c, const uint8_t *code)
{
    const struct gp_py_layout *o = codes->layout;
    uint8_t head[72];
    if (o->minor >= 11) {
        c->start = c->at + o->code_start;
        c->bytes = (gp_take_u64(code, o->object_size) & UINT32_MAX) * 2;
    } else {
        uint64_t instructions = gp_take_u64(code, o->code_start);
        if (!gp_remote_get(codes->remote, instructions, head, o->bytes_data)) return false;
        c->start = 0;
        c->bytes = gp_take_u64(head, o->bytes_size);
    }
    return c->bytes <= CODE_BYTES_MOST;
}

static bool load(struct gp_py_codes *codes, struct gp_py_code *c)
{
    const struct gp_py_layout *o = codes->layout;
    uint8_t code[GP_PY_CODE_MOST], again[GP_PY_CODE_MOST];
    uint64_t marks[GP_PY_MARKS];
    char text[4 * CHARS_MOST + 16];
    if (!gp_remote_get(codes->remote, c->at, code, o->code_bytes)) return false;
    take_marks(o, code, c->marks);
    if (codes->code_type && c->marks[0] != codes->code_type) return false;
    c->copies_n = 0;
    c->first = (int32_t)gp_take_u32(code, o->code_first);
    if (!read_text(o, codes->remote, c->marks[2], text, sizeof text)) return false;
    c->name = gp_intern_cstr(codes->strings, text);
    if (!read_text(o, codes->remote, c->marks[1], text, sizeof text)) return false;
    c->file = gp_intern_cstr(codes->strings, text);
    if (!load_lines(codes, c, c->marks[3]) || !load_start(codes, c, code)) return false;
    if (!gp_remote_get(codes->remote, c->at, again, o->code_bytes)) return false;
    take_marks(o, again, marks);
    codes->loaded++;
    return !memcmp(marks, c->marks, sizeof marks); /* it was the same object all the time */
}

static void free_code(struct gp_py_code *c) { GP_RELEASE(free, c->table, c->copies, c); }

const struct gp_py_code *gp_py_code(struct gp_py_codes *codes, uint64_t at)
{
    if (!gp_is_address(at)) return NULL;
    const uint32_t *known = gp_map_get(&codes->index, at);
    if (known && codes->list.at[*known]->table) return codes->list.at[*known];
    struct gp_py_code *c = known ? codes->list.at[*known] : gp_zalloc(sizeof *c);
    c->at = at;
    bool ok = load(codes, c);
    if (!ok && known) {
        free(c->table);
        c->table = NULL;
    } else if (!ok) {
        free_code(c);
    } else if (!known) {
        *gp_map_put(&codes->index, at, 0) = (uint32_t)codes->list.n;
        GP_VEC_PUSH(&codes->list, c);
    }
    return ok ? c : NULL;
}

void gp_py_code_forget(struct gp_py_codes *codes, uint64_t at)
{
    const uint32_t *known = gp_map_get(&codes->index, at);
    if (!known) return;
    struct gp_py_code *c = codes->list.at[*known];
    free(c->table);
    c->table = NULL; /* read again when it is met again */
}

bool gp_py_codes_check(struct gp_py_codes *codes, const struct gp_py_code *const *list, size_t n)
{
    const struct gp_py_layout *o = codes->layout;
    uint8_t buf[CHECKED_AT_ONCE][GP_PY_CODE_MOST];
    struct gp_remote_range ranges[CHECKED_AT_ONCE];
    uint64_t marks[GP_PY_MARKS];
    for (size_t from = 0; from < n; from += CHECKED_AT_ONCE) {
        size_t k = n - from < CHECKED_AT_ONCE ? n - from : CHECKED_AT_ONCE;
        for (size_t i = 0; i < k; i++)
            ranges[i] = (struct gp_remote_range){list[from + i]->at, buf[i], o->code_lines + 8u};
        if (codes->remote->read(codes->remote->ctx, ranges, k) != k) return false;
        for (size_t i = 0; i < k; i++) {
            take_marks(o, buf[i], marks);
            if (!memcmp(marks, list[from + i]->marks, sizeof marks)) continue;
            codes->stale++;
            struct gp_py_code *c = codes->list.at[*gp_map_get(&codes->index, list[from + i]->at)];
            if (load(codes, c)) continue;
            free(c->table);
            c->table = NULL; /* read again when it is met again */
            return false;
        }
    }
    return true;
}

/* ---- lines ---- */

static bool is_in(const struct gp_py_code *c, uint64_t start, uint64_t ip)
{
    return ip + 2 >= start && ip < start + c->bytes;
}

/* Where the copy of the instructions begins that IP is in; 0: in none of those that are known. */
static uint64_t copy_of(const struct gp_py_code *c, uint64_t ip)
{
    if (is_in(c, c->start, ip)) return c->start;
    for (uint32_t i = 0; i < c->copies_n; i++)
        if (c->copies[i] && is_in(c, c->copies[i], ip)) return c->copies[i];
    return 0;
}

/* Read anew which threads have a copy of their own. */
static void load_copies(struct gp_py_codes *codes, struct gp_py_code *c)
{
    uint64_t list = 0, n = 0;
    c->copies_n = 0;
    if (!gp_remote_get(codes->remote, c->at + codes->layout->code_copies, &list, sizeof list) ||
        !gp_is_address(list) || !gp_remote_get(codes->remote, list, &n, sizeof n))
        return;
    if (n > COPIES_MOST) n = COPIES_MOST;
    c->copies = gp_realloc(c->copies, (n + 1) * sizeof *c->copies);
    if (gp_remote_get(codes->remote, list + 8, c->copies, n * sizeof *c->copies)) c->copies_n = (uint32_t)n;
}

static uint64_t start_of(struct gp_py_codes *codes, const struct gp_py_code *c, uint64_t ip)
{
    uint64_t start = copy_of(c, ip);
    const uint32_t *known = gp_map_get(&codes->index, c->at);
    if (start || codes->layout->code_copies == GP_PY_NONE || !known) return start;
    load_copies(codes, codes->list.at[*known]);
    return copy_of(codes->list.at[*known], ip);
}

uint32_t gp_py_code_line(struct gp_py_codes *codes, const struct gp_py_code *c, uint64_t ip, bool *ok)
{
    const struct gp_py_layout *o = codes->layout;
    int64_t unit;
    if (o->minor >= 11) {
        uint64_t start = start_of(codes, c, ip);
        *ok = start != 0;
        unit = ip < start ? -1 : (int64_t)(ip - start) / 2;
    } else {
        int32_t last = (int32_t)(uint32_t)ip;
        unit = o->minor == 10 ? last : last < 0 ? -1 : last / 2;
        *ok = unit >= -1 && unit < (int64_t)(c->bytes / 2);
    }
    if (!*ok) return 0;
    int64_t line = unit < 0 || !c->table_n
                       ? c->first
                       : gp_py_line(o->minor, c->table, c->table_n, c->first, (uint32_t)unit);
    return line > 0 && line < UINT32_MAX ? (uint32_t)line : 0;
}

void gp_py_codes_release(struct gp_py_codes *codes)
{
    for (size_t i = 0; i < codes->list.n; i++) free_code(codes->list.at[i]);
    GP_VEC_FREE(&codes->list);
    gp_map_release(&codes->index);
    memset(&codes->index, 0, sizeof codes->index);
}

void gp_py_codes_trim(struct gp_py_codes *codes)
{
    if (codes->list.n > GP_PY_CODES_MOST) gp_py_codes_release(codes);
}

/* ---- line tables ---- */

/* Six bits in each byte, the lowest first; bit 6: more follow. Bit 0 of the number is its sign. */
static int64_t get_signed(const uint8_t **at, const uint8_t *end)
{
    uint32_t v = 0;
    for (unsigned shift = 0; *at < end && shift < 32; shift += 6) {
        uint8_t b = *(*at)++;
        v |= (uint32_t)(b & 63) << shift;
        if (!(b & 64)) break;
    }
    return v & 1 ? -(int64_t)(v >> 1) : (int64_t)(v >> 1);
}

/* 3.11 on: an entry is 1 kkkk lll, for lll + 1 units. */
static int64_t line_of_locations(const uint8_t *at, const uint8_t *end, int64_t line, uint32_t unit)
{
    enum { SHORT_END = 10, ONE_LINE_END = 13, NO_COLUMNS = 13, LONG = 14, NONE = 15 };
    int64_t first = line;
    uint32_t from = 0;
    while (at < end) {
        uint8_t head = *at++;
        unsigned kind = head >> 3 & 15, units = (head & 7u) + 1;
        if (kind < SHORT_END) at++;
        else if (kind < ONE_LINE_END) line += kind - SHORT_END, at += 2;
        else if (kind == NO_COLUMNS) line += get_signed(&at, end);
        else if (kind == LONG) {
            line += get_signed(&at, end);
            for (int i = 0; i < 3; i++) get_signed(&at, end);
        }
        if (unit < from + units) return kind == NONE ? -1 : line;
        from += units;
    }
    return first;
}

/* 3.9 and 3.10: pairs of bytes that the entry is long and lines to add. In 3.10 the lines come first and -128
 * is none; in 3.9 they come after the entry. */
static int64_t line_of_pairs(bool old, const uint8_t *at, const uint8_t *end, int64_t line, uint32_t unit)
{
    int64_t first = line;
    uint64_t from = 0, byte = (uint64_t)unit * 2;
    for (; end - at >= 2; at += 2) {
        int8_t lines = (int8_t)at[1];
        bool none = !old && lines == -128;
        if (!old && !none) line += lines;
        if (byte < from + at[0]) return none ? -1 : line;
        from += at[0];
        if (old) line += lines;
    }
    return old ? line : first;
}

int64_t gp_py_line(unsigned minor, const uint8_t *table, size_t n, int64_t first, uint32_t unit)
{
    const uint8_t *end = n ? table + n : table;
    if (minor >= 11) return line_of_locations(table, end, first, unit);
    return line_of_pairs(minor < 10, table, end, first, unit);
}
