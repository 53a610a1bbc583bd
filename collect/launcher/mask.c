#include "collect/launcher/mask.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include "formats/base/count.h"
#include "formats/base/str.h"

enum { LONG_VALUE = 32, ACCESS_KEY = 20 };

static bool begins(const char *s, size_t n, const char *word)
{
    size_t k = strlen(word);
    if (k > n) return false;
    for (size_t i = 0; i < k; i++)
        if (tolower((unsigned char)s[i]) != word[i]) return false;
    return true;
}

/* Is NAME, of N bytes, that of something secret? */
static bool is_secret_name(const char *name, size_t n)
{
    static const char *const words[] = {"key", "token", "passw", "secret", "credential", "auth"};
    for (size_t i = 0; i < n; i++)
        for (size_t w = 0; w < GP_COUNT(words); w++)
            if (begins(name + i, n - i, words[w])) return true;
    return false;
}

static bool is_access_key(const char *s)
{
    if (!gp_starts(s, "AKIA") && !gp_starts(s, "ASIA")) return false;
    size_t n = 0;
    while (isupper((unsigned char)s[n]) || isdigit((unsigned char)s[n])) n++;
    return n == ACCESS_KEY && !s[n];
}

/* A path has these letters, too, but more than one slash. */
static bool is_long_key(const char *s)
{
    size_t n = strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/_-=");
    const char *slash = strchr(s, '/');
    return n >= LONG_VALUE && !s[n] && !(slash && strchr(slash + 1, '/'));
}

void gp_mask_put(struct gp_buf *to, const char *previous, const char *arg)
{
    const char *equals = strchr(arg, '='), *value = equals ? equals + 1 : arg;
    bool named = equals && is_secret_name(arg, (size_t)(equals - arg));
    bool follows = !equals && arg[0] != '-' && previous && previous[0] == '-' && !strchr(previous, '=') &&
                   is_secret_name(previous, strlen(previous));
    bool looks = is_access_key(value) || (equals && is_long_key(value));
    if (!*value || (!named && !follows && !looks)) {
        gp_buf_puts(to, arg);
        return;
    }
    gp_buf_put(to, arg, (size_t)(value - arg));
    gp_buf_puts(to, "***");
}
