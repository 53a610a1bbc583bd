/* json_scan.h -- walks JSON text in memory, fast and without a tree: where a value ends, the contents of a
 * string, whether a piece of text is valid. For readers; knows nothing about traces and reads no files.
 *
 * Every function needs GP_JSON_PAD zero bytes after the text (at END): they are read, and they end every
 * loop. Nothing here recurses or allocates, except for the buffers that are passed.
 *
 *     struct gp_json_value v;
 *     const char *at = p;                                  // becomes the place of the mistake
 *     if (!gp_json_value(p, end, &v, &at)) ...             // at >= end: too short, otherwise invalid
 */
#ifndef GP_FORMATS_JSON_SCAN_H
#define GP_FORMATS_JSON_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include "formats/base/declare.h"
#include "formats/base/str.h"
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

enum {
    GP_JSON_PAD = 64,   /* zero bytes that must follow the text */
    GP_JSON_DEPTH = 64, /* nested objects and arrays inside one value; more is an error */
};

enum gp_json_kind {
    GP_JSON_ABSENT,
    GP_JSON_STRING,
    GP_JSON_ODD_STRING, /* a string with escapes, control characters or non-ASCII bytes: see gp_json_decode */
    GP_JSON_NUMBER,     /* looks like a number but may not be one ("1.2.3") */
    GP_JSON_WORD,       /* true, false, null */
    GP_JSON_BARE,       /* another bare word: NaN, N/A, Infinity */
    GP_JSON_OBJECT,
    GP_JSON_ARRAY,
};

/* A value as it is in the text; strings without the quotes. */
struct gp_json_value {
    const char *p;
    size_t n;
    enum gp_json_kind kind;
};

/* Are the bytes of V those of TEXT? Those of a key, or of a string without escapes. */
static inline bool gp_json_is(const struct gp_json_value *v, const char *text)
{
    return gp_is(v->p, v->n, text);
}

static inline bool gp_json_is_string(const struct gp_json_value *v)
{
    return v->kind == GP_JSON_STRING || v->kind == GP_JSON_ODD_STRING;
}

static inline const char *gp_json_space(const char *p)
{
    while (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t') p++;
    return p;
}

/* The end of a string that is odd at P; END if there is none. */
const char *gp_json_odd_string_end(const char *p, const char *end);

/* P: after the opening quote. Returns the position of the closing quote, or something >= END if there is
 * none. *ODD is set to true if the string is a GP_JSON_ODD_STRING. */
static inline const char *gp_json_string_end(const char *p, const char *end, bool *odd)
{
#if defined(__SSE2__)
    for (;; p += 16) {
        __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
        __m128i quote = _mm_cmpeq_epi8(v, _mm_set1_epi8('"')), back = _mm_cmpeq_epi8(v, _mm_set1_epi8('\\'));
        /* the comparison is signed, so bytes from 0x80 on are below 0x20, too */
        __m128i control = _mm_cmplt_epi8(v, _mm_set1_epi8(0x20));
        unsigned mask = (unsigned)_mm_movemask_epi8(_mm_or_si128(_mm_or_si128(quote, back), control));
        if (!mask) continue;
        p += __builtin_ctz(mask);
        break;
    }
#else
    while (*p != '"' && *p != '\\' && (unsigned char)*p >= 0x20 && (unsigned char)*p < 0x80) p++;
#endif
    if (*p == '"') return p;
    *odd = true;
    return gp_json_odd_string_end(p, end);
}

/* P: at '{' or '['. Returns the position after the bracket that closes it (brackets of both kinds are counted
 * alike: gp_json_clean checks that they match), or NULL with *AT at the error. */
const char *gp_json_container_end(const char *p, const char *end, const char **at);

/* The value at P (white space before it is skipped). Returns the position after it, or NULL with *AT at the
 * error. */
const char *gp_json_value(const char *p, const char *end, struct gp_json_value *v, const char **at);

/* Steps through the members of an object or the elements of an array: P is after the opening bracket, or the
 * place that the last call returned. False at the end and at the first error, where P stays. KEY may be NULL
 * for arrays. Trailing commas are accepted. */
bool gp_json_next(const char **p, const char *end, struct gp_json_value *key, struct gp_json_value *v);

/* The content of a string, appended to TO as UTF-8. True if something had to be repaired: raw control
 * characters are kept, unknown escapes are kept with their backslash, invalid UTF-8 and unpaired surrogates
 * become U+FFFD. */
bool gp_json_decode(struct gp_buf *to, const char *p, size_t n);

enum { GP_JSON_CLEANED_TEXT = 1, GP_JSON_CLEANED_WORD = 2 };

/* Appends the value in [P, END) to TO as valid JSON: strings are repaired as above, bare words and malformed
 * numbers become strings, trailing commas go. White space outside strings is kept. 0 with the repairs in
 * *CHANGES (GP_JSON_CLEANED_*), or -1 if brackets, commas or colons are wrong. */
int gp_json_clean(struct gp_buf *to, const char *p, const char *end, unsigned *changes);

#endif
