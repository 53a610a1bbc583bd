/* str.h -- texts in quotes, and questions about text. The length of a text in quotes is never counted by
 * hand.
 *
 *     gp_buf_put(b, GP_TEXT("null"));            // the text and its length: two arguments
 *     if (gp_starts(name, "aten::")) ...
 *     if (gp_is(key.p, key.n, "rank")) ...       // KEY has no end of its own
 *     GP_WORDS(gp_gpu_kind_category, enum gp_gpu_kind, "kernel", "gpu_memcpy", "gpu_memset")
 *     GP_WORD(gp_regime_name, enum gp_regime, GP_REGIMES, 1)  // from an enumeration to its words
 */
#ifndef GP_BASE_STR_H
#define GP_BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* A text in quotes and the number of its bytes, as two arguments of a function or two members of a struct. */
#define GP_TEXT(text) text, (sizeof(text) - 1)

/* Decimal, in any locale. */
static inline bool gp_is_digit(char c) { return c >= '0' && c <= '9'; }

/* Does S begin with WITH? */
static inline bool gp_starts(const char *s, const char *with) { return !strncmp(s, with, strlen(with)); }

/* Are the N bytes at P those of TEXT? */
static inline bool gp_is(const void *p, size_t n, const char *text)
{
    return n == strlen(text) && !memcmp(p, text, n);
}

/* Do the N bytes at P begin with TEXT? */
static inline bool gp_begin(const void *p, size_t n, const char *text)
{
    return n >= strlen(text) && !memcmp(p, text, strlen(text));
}

/* Do the N bytes at P end in TEXT? */
static inline bool gp_ends(const char *p, size_t n, const char *text)
{
    return n >= strlen(text) && !memcmp(p + n - strlen(text), text, strlen(text));
}

/* Are the N > 0 bytes at P one of WORDS? These have a blank before and after each: " one two ". */
static inline bool gp_is_one_of(const void *p, size_t n, const char *words)
{
    for (size_t k; *words && *++words; words += k) {
        k = strcspn(words, " ");
        if (k == n && !memcmp(words, p, n)) return true;
    }
    return false;
}

/* Is VALUE one of CHOICES: "one|two"? */
static inline bool gp_is_choice(const char *choices, const char *value)
{
    size_t n = strlen(value);
    for (size_t k; *choices; choices += k + (choices[k] == '|')) {
        k = strcspn(choices, "|");
        if (k == n && !memcmp(choices, value, n)) return true;
    }
    return false;
}

/* Do the N bytes at P begin with TEXT, which is in lower case, in any case? */
static inline bool gp_begin_folded(const char *p, size_t n, const char *text)
{
    while (n && *text && (*p == *text || (*p >= 'A' && *p <= 'Z' && *p + ('a' - 'A') == *text)))
        p++, text++, n--;
    return !*text;
}

/* Do they contain it? */
static inline bool gp_contains_folded(const char *p, size_t n, const char *text)
{
    for (size_t i = 0; i < n; i++)
        if (gp_begin_folded(p + i, n - i, text)) return true;
    return false;
}

/* What follows the last slash of PATH; all of it without one. */
static inline const char *gp_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Do the N bytes at P contain TEXT? */
static inline bool gp_contains(const char *p, size_t n, const char *text)
{
    size_t length = strlen(text);
    for (size_t i = 0; i + length <= n; i++)
        if (!memcmp(p + i, text, length)) return true;
    return false;
}

/* Copy the next of the texts at *AT, which SEPARATOR separates, to TO, which has room for SIZE bytes, and
 * move on. False at the end. */
static inline bool gp_next_of(const char **at, char separator, char *to, size_t size)
{
    const char *end = strchr(*at, separator);
    size_t n = end ? (size_t)(end - *at) : strlen(*at), kept = n < size ? n : size - 1;
    if (!**at) return false;
    memcpy(to, *at, kept);
    to[kept] = 0;
    *at += n + (end != NULL);
    return true;
}

/* Define NAME(TYPE), the word for each value from 0, or the first of the words for a value that has none. */
#define GP_WORDS(name, type, ...)                                                                            \
    const char *name(type value)                                                                             \
    {                                                                                                        \
        static const char *const words[] = {__VA_ARGS__};                                                    \
        return words[(size_t)value < sizeof words / sizeof *words ? value : 0];                              \
    }
/* The same with the word at place AT, 1 to 3, behind the enumerator in each row of TABLE. */
#define GP_WORD(name, type, table, at) GP_WORDS(name, type, table(GP_WORD_##at))

#define GP_WORD_1(id, ...)       GP_WORD_1_(__VA_ARGS__, 0)
#define GP_WORD_2(id, ...)       GP_WORD_2_(__VA_ARGS__, 0)
#define GP_WORD_3(id, ...)       GP_WORD_3_(__VA_ARGS__, 0)
#define GP_WORD_1_(a, ...)       a,
#define GP_WORD_2_(a, b, ...)    b,
#define GP_WORD_3_(a, b, c, ...) c,

#endif
