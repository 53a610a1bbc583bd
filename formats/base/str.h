/* str.h -- questions about text. The length of a text in quotes is never counted by hand.
 *
 *     gp_buf_put(b, GP_TEXT("null"));            // the text and its length: two arguments
 *     if (gp_starts(name, "aten::")) ...
 *     if (gp_is(key.p, key.n, "rank")) ...       // KEY has no end of its own
 */
#ifndef GP_BASE_STR_H
#define GP_BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* A text in quotes and the number of its bytes, as two arguments of a function or two members of a struct. */
#define GP_TEXT(text) text, (sizeof(text) - 1)

/* Does S begin with WITH? */
static inline bool gp_starts(const char *s, const char *with)
{
    return !strncmp(s, with, strlen(with));
}

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

#endif
