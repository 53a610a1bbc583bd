#include "collect/sample/python_lines.h"

#include <stdbool.h>

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
