#include "formats/folded_read.h"

#include <stdlib.h>
#include <string.h>
#include "formats/base/err.h"
#include "formats/base/input.h"
#include "formats/base/mem.h"
#include "formats/base/str.h"

/* ---- one line ---- */

/* Digits, with or without a fraction, rounded to the nearest integer. False for anything else and beyond 2^63
 * - 1. */
static bool parse_weight(const char *s, size_t n, int64_t *weight)
{
    uint64_t v = 0;
    size_t i = 0;
    for (; i < n && gp_is_digit(s[i]); i++) {
        uint64_t digit = (uint64_t)(s[i] - '0');
        if (v > (INT64_MAX - digit) / 10) return false;
        v = v * 10 + digit;
    }
    size_t whole = i;
    if (i < n && s[i] == '.') {
        for (i++; i < n && gp_is_digit(s[i]); i++) {
        }
        if (i == whole + 1 && !whole) return false;
        if (i > whole + 1 && s[whole + 1] >= '5' && v < INT64_MAX) v++;
    }
    if (!i || i != n) return false;
    *weight = (int64_t)v;
    return true;
}

/* Cut the last column off LINE if it is a number. */
static bool cut_weight(const char *line, size_t *n, int64_t *weight)
{
    size_t sep = *n;
    while (sep && line[sep - 1] != ' ' && line[sep - 1] != '\t') sep--;
    if (!sep || !parse_weight(line + sep, *n - sep, weight)) return false;
    while (sep && (line[sep - 1] == ' ' || line[sep - 1] == '\t')) sep--;
    *n = sep;
    return true;
}

/* Is LINE a stack and its weight? Sets N to the length of the stack. */
static bool parse_line(const char *line, size_t *n, int64_t *weight)
{
    int64_t before;
    if (!cut_weight(line, n, weight)) return false;
    if (!*n) return false;
    size_t stack = *n;
    if (cut_weight(line, &stack, &before) && stack) *n = stack;
    return true;
}

/* The length without line endings and blanks. */
static size_t trimmed(const char *line, size_t n)
{
    while (n && (line[n - 1] == '\r' || line[n - 1] == ' ' || line[n - 1] == '\t')) n--;
    return n;
}

/* ---- is it folded text? ---- */

static bool is_text(const uint8_t *head, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if ((head[i] < 0x20 && head[i] != '\n' && head[i] != '\r' && head[i] != '\t') || head[i] == 0x7f)
            return false;
    return true;
}

static size_t skip_space(const uint8_t *head, size_t n, size_t i)
{
    while (i < n && (head[i] == ' ' || head[i] == '\n' || head[i] == '\r' || head[i] == '\t')) i++;
    return i;
}

/* A frame may begin with a bracket, too: "[unknown];main 7". */
static bool is_json(const uint8_t *head, size_t n)
{
    size_t i = skip_space(head, n, 0);
    if (i == n || (head[i] != '{' && head[i] != '[')) return false;
    size_t next = skip_space(head, n, i + 1);
    return next == n || strchr(head[i] == '{' ? "\"}" : "{[]\"", head[next]) != NULL;
}

bool gp_folded_sniff(const uint8_t *head, size_t n)
{
    if (!is_text(head, n) || is_json(head, n)) return false;
    size_t lines = 0, good = 0;
    for (size_t i = 0; i < n;) {
        const uint8_t *nl = memchr(head + i, '\n', n - i);
        size_t end = nl ? (size_t)(nl - head) : n, len = trimmed((const char *)head + i, end - i);
        /* A line that the end of the head cuts off cannot be judged, unless it is the only one. */
        if (len && (nl || !lines)) {
            int64_t weight;
            lines++;
            good += parse_line((const char *)head + i, &len, &weight);
        }
        i = end + 1;
    }
    return good && good * 2 >= lines;
}

/* ---- reading ---- */

enum { CHUNK = 1 << 18 };

struct reading {
    gp_folded_sink *sink;
    void *ctx;
    struct gp_folded_stats *st;
    bool skipping; /* inside a line that is too long */
};

static void count_bad(struct reading *r, uint64_t offset)
{
    if (!r->st->bad++) r->st->first_bad = (int64_t)offset;
}

static void take_line(struct reading *r, const char *line, size_t n, uint64_t offset)
{
    int64_t weight;
    n = trimmed(line, n);
    if (!n) return;
    r->st->lines++;
    if (n <= GP_FOLDED_LINE_MAX && parse_line(line, &n, &weight)) r->sink(r->ctx, line, n, weight);
    else count_bad(r, offset);
}

/* Hand out the complete lines of DATA, which begins at byte OFFSET of the input. Returns the number of bytes
 * used. */
static size_t take_lines(struct reading *r, const char *data, size_t n, uint64_t offset)
{
    size_t i = 0;
    for (const char *nl; i < n && (nl = memchr(data + i, '\n', n - i)); i = (size_t)(nl - data) + 1) {
        if (!r->skipping) take_line(r, data + i, (size_t)(nl - (data + i)), offset + i);
        r->skipping = false;
    }
    return i;
}

int gp_folded_read(struct gp_input *in, gp_folded_sink *sink, void *ctx,
                   void (*progress)(void *ctx, uint64_t bytes), void *progress_ctx,
                   struct gp_folded_stats *st, struct gp_err *err)
{
    *st = (struct gp_folded_stats){.first_bad = -1, .cut = -1};
    struct reading r = {.sink = sink, .ctx = ctx, .st = st};
    char *buf = gp_alloc(GP_FOLDED_LINE_MAX + 2 * CHUNK);
    size_t kept = 0; /* the beginning of a line, from the last chunk */
    for (size_t got; (got = gp_input_read(in, buf + kept, CHUNK)) > 0;) {
        uint64_t offset = st->bytes - kept;
        st->bytes += got;
        size_t n = kept + got, used = take_lines(&r, buf, n, offset);
        kept = n - used;
        if (kept > GP_FOLDED_LINE_MAX || r.skipping) {
            if (!r.skipping) {
                st->lines++;
                count_bad(&r, offset + used);
            }
            r.skipping = true;
            kept = 0;
        }
        memmove(buf, buf + used, kept);
        if (progress) progress(progress_ctx, gp_input_done(in, st->bytes));
    }
    if (!r.skipping) take_line(&r, buf, kept, st->bytes - kept);
    if (kept) st->cut = (int64_t)(st->bytes - kept);
    free(buf);
    if (st->lines == st->bad) {
        if (!st->lines) return gp_fail(err, GP_E_FORMAT, -1, "no stacks in the input");
        return gp_fail(err, GP_E_FORMAT, st->first_bad, "no line has a stack and a number");
    }
    return 0;
}
