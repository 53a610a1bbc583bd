#include "formats/compile_log/log_lines.h"

#include <stdlib.h>
#include <string.h>
#include "formats/base/input.h"
#include "formats/base/json_scan.h"
#include "formats/base/mem.h"
#include "formats/base/str.h"

enum { WINDOW = 1 << 20, SNIFFED_LINES = 64, MOST_DIGITS = 20 };

/* ---- the prefix ---- */

/* Terminal colours ("\033[32m") and the word that torchrun puts in front ("[rank0]: "). */
static const char *skip_decoration(const char *s, const char *end)
{
    for (;;) {
        while (s < end && *s == ' ') s++;
        if (s < end && *s == '\033') {
            while (s < end && *s != 'm') s++;
            s += s < end;
        } else if (gp_begin(s, (size_t)(end - s), "[rank") && end - s > 5 && gp_is_digit(s[5])) {
            while (s < end && *s != ']') s++;
            s += s < end;
            s += s < end && *s == ':';
        } else {
            return s;
        }
    }
}

/* Exactly N digits as a number; -1: they are not there. */
static int64_t digits(const char *s, const char *end, int n)
{
    int64_t v = 0;
    if (end - s < n) return -1;
    for (int i = 0; i < n; i++) {
        if (!gp_is_digit(s[i])) return -1;
        v = v * 10 + (s[i] - '0');
    }
    return v;
}

/* "12:05:49.468000" */
static int64_t clock_us(const char *s, const char *end)
{
    enum { LENGTH = 15 };
    if (end - s < LENGTH || s[2] != ':' || s[5] != ':' || s[8] != '.') return -1;
    int64_t h = digits(s, end, 2), m = digits(s + 3, end, 2), sec = digits(s + 6, end, 2),
            us = digits(s + 9, end, 6);
    if (h < 0 || m < 0 || sec < 0 || us < 0) return -1;
    return ((h * 60 + m) * 60 + sec) * 1000000 + us;
}

static const char *read_prefix(const char *s, const char *end, struct gp_log_line *r)
{
    enum { CLOCK = 15 };
    s = skip_decoration(s, end);
    if (end - s < 8 || !memchr("VIWECDF", *s, 7) || digits(s + 1, end, 4) < 0 || s[5] != ' ') return NULL;
    r->level = *s;
    r->of_day_us = clock_us(s + 6, end);
    if (r->of_day_us < 0) return NULL;
    for (s += 6 + CLOCK; s < end && *s == ' ';) s++;
    r->process = 0;
    int n = 0;
    for (; s < end && gp_is_digit(*s) && n < MOST_DIGITS; s++, n++)
        r->process = r->process * 10 + (uint64_t)(*s - '0');
    if (!n || s >= end || *s != ' ') return NULL;
    r->place = ++s;
    while (s < end && *s != ']') s++;
    if (s >= end || end - s < 2 || s[1] != ' ') return NULL;
    r->place_n = (size_t)(s - r->place);
    s = skip_decoration(s + 2, end);
    return s;
}

bool gp_log_sniff(const uint8_t *head, size_t n)
{
    const char *s = (const char *)head, *all = s + n;
    struct gp_log_line r;
    for (int i = 0; i < SNIFFED_LINES && s < all; i++) {
        const char *end = memchr(s, '\n', (size_t)(all - s));
        if (!end) end = all;
        if (read_prefix(s, end, &r)) return true;
        s = end + 1;
    }
    return false;
}

/* ---- the window ---- */

void gp_log_lines_init(struct gp_log_lines *l, struct gp_input *in)
{
    *l = (struct gp_log_lines){.in = in};
    l->stats.first_noise = l->stats.first_orphan = l->stats.first_too_long = -1;
}

void gp_log_lines_release(struct gp_log_lines *l)
{
    free(l->data);
    gp_buf_release(&l->text);
    *l = (struct gp_log_lines){0};
}

/* Read more behind the buffer's end; bytes before AT go. False when there is no more. */
static bool fill(struct gp_log_lines *l)
{
    if (l->ended) return false;
    if (l->at) {
        memmove(l->data, l->data + l->at, l->n - l->at);
        l->base += (int64_t)l->at;
        l->n -= l->at;
        l->at = 0;
    }
    if (l->cap - l->n < WINDOW / 2) {
        l->cap = l->cap ? l->cap * 2 : WINDOW;
        l->data = gp_realloc(l->data, l->cap);
    }
    size_t got = gp_input_read(l->in, l->data + l->n, l->cap - l->n);
    l->n += got;
    l->stats.bytes += got;
    if (!got) l->ended = true;
    if (l->progress) l->progress(l->progress_ctx, gp_input_done(l->in, l->stats.bytes));
    return got > 0;
}

/* The end of the line that begins FROM bytes behind AT, as such a distance: of its newline, or of the end of
 * the input. */
static size_t line_end(struct gp_log_lines *l, size_t from)
{
    size_t searched = from;
    for (;;) {
        size_t have = l->n - l->at;
        const char *nl = have > searched ? memchr(l->data + l->at + searched, '\n', have - searched) : NULL;
        if (nl) return (size_t)(nl - (l->data + l->at));
        searched = have;
        if (have > GP_LOG_RECORD_MAX || !fill(l)) return l->n - l->at;
    }
}

/* Is there a byte FROM bytes behind AT? */
static bool has(struct gp_log_lines *l, size_t from)
{
    return l->at + from < l->n || (fill(l) && l->at + from < l->n);
}

/* ---- records ---- */

static void count(uint64_t *n, int64_t *first, int64_t offset)
{
    if (!(*n)++) *first = offset;
}

/* A line without a prefix. */
static void count_other(struct gp_log_lines *l, const char *s, const char *end, int64_t offset)
{
    bool tab = s < end && *s == '\t';
    while (s < end && (*s == ' ' || *s == '\r' || *s == '\t')) s++;
    if (tab) count(&l->stats.orphans, &l->stats.first_orphan, offset);
    else if (s < end) count(&l->stats.noise, &l->stats.first_noise, offset);
}

/* The lines behind the first that belong to it: those that begin with a tab, and blank ones between them.
 * FROM is behind the first one's newline. Returns the distance of their end. */
static size_t payload_end(struct gp_log_lines *l, size_t from)
{
    size_t end = from;
    while (has(l, from)) {
        char c = l->data[l->at + from];
        if (c != '\t' && c != '\n' && c != '\r') break;
        size_t stop = line_end(l, from);
        if (c == '\t') end = stop;
        if (stop > GP_LOG_RECORD_MAX) {
            count(&l->stats.too_long, &l->stats.first_too_long, l->base + (int64_t)l->at);
            break;
        }
        from = stop + 1;
    }
    return end;
}

static void keep_text(struct gp_log_lines *l, struct gp_log_line *r, const char *s, const char *end)
{
    static const char zeros[GP_JSON_PAD];
    size_t place_n = r->place_n;
    l->text.n = 0;
    gp_buf_put(&l->text, r->place, place_n);
    gp_buf_put(&l->text, zeros, 1);
    gp_buf_put(&l->text, s, (size_t)(end - s));
    gp_buf_put(&l->text, zeros, sizeof zeros);
    r->place = l->text.data;
    r->text = l->text.data + place_n + 1;
    r->text_n = (size_t)(end - s);
}

bool gp_log_lines_next(struct gp_log_lines *l, struct gp_log_line *r)
{
    while (has(l, 0)) {
        size_t stop = line_end(l, 0);
        const char *s = l->data + l->at, *end = s + stop;
        int64_t offset = l->base + (int64_t)l->at;
        *r = (struct gp_log_line){.offset = offset};
        const char *text = read_prefix(s, end, r);
        if (!text) {
            count_other(l, s, end, offset);
            l->at += stop;
            l->at += l->at < l->n;
            continue;
        }
        if (end > text && end[-1] == '\r') end--;
        keep_text(l, r, text, end);
        size_t last = payload_end(l, stop + 1);
        if (last > stop + 1) {
            r->payload = l->data + l->at + stop + 1;
            r->payload_n = last - stop - 1;
            stop = last;
        }
        l->at += stop;
        r->complete = l->at < l->n; /* a newline stands there */
        l->at += r->complete;
        l->stats.lines++;
        return true;
    }
    return false;
}

void gp_log_payload(const struct gp_log_line *r, struct gp_buf *to)
{
    const char *s = r->payload, *all = s ? s + r->payload_n : s;
    size_t from = to->n;
    char *out = gp_buf_reserve(to, r->payload_n + 1);
    while (s < all) {
        const char *nl = memchr(s, '\n', (size_t)(all - s)), *end = nl ? nl : all;
        if (*s == '\t') {
            size_t n = (size_t)(end - s) - 1;
            if (n && end[-1] == '\r') n--;
            memcpy(out, s + 1, n);
            out += n;
            *out++ = '\n';
        }
        s = end + 1;
    }
    size_t n = (size_t)(out - (to->data + from));
    to->n += n ? n - 1 : 0; /* the last line has no newline */
}
