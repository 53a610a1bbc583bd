/* str.h -- questions about text. The length of what is looked for is never counted by hand.
 *
 *     if (gp_starts(name, "aten::")) ...
 *     if (gp_is(key.p, key.n, "rank")) ...       // KEY has no end of its own
 */
#ifndef GP_BASE_STR_H
#define GP_BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

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

#endif
