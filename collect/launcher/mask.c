#include "collect/launcher/mask.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include "formats/base/buf.h"
#include "formats/base/count.h"
#include "formats/base/str.h"

enum { LONG_VALUE = 32, AFTER_PREFIX = 12 };

#define LETTERS_AND_DIGITS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

/* ---- names ---- */

static bool begins(const char *s, size_t n, const char *word)
{
    size_t k = strlen(word);
    if (k > n) return false;
    for (size_t i = 0; i < k; i++)
        if (tolower((unsigned char)s[i]) != word[i]) return false;
    return true;
}

/* Is NAME, of N bytes, that of something secret? LAST: only its end counts. */
static bool is_secret_name(const char *name, size_t n, bool last)
{
    static const char *const parts[] = {"key",  "token",  "pass",   "pwd",       "secret", "credential",
                                        "auth", "cookie", "bearer", "signature", "jwt"};
    static const char *const wholes[] = {"sig", "sas", "pw", "pat"};
    for (size_t w = 0; w < GP_COUNT(wholes); w++)
        if (n == strlen(wholes[w]) && begins(name, n, wholes[w])) return true;
    for (size_t i = 0; i < n; i++)
        for (size_t w = 0; w < GP_COUNT(parts); w++)
            if (begins(name + i, n - i, parts[w]) && (!last || strlen(parts[w]) == n - i)) return true;
    return false;
}

static bool is_in_name(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.';
}

/* The name that ends at S + *N, behind which quotes and spaces are ignored; *N becomes its length. */
static const char *name_before(const char *s, size_t *n)
{
    size_t end = *n;
    while (end && strchr(" \t'\"\\", s[end - 1])) end--;
    size_t from = end;
    while (from && is_in_name(s[from - 1])) from--;
    *n = end - from;
    return s + from;
}

/* ---- values ---- */

/* Does a key begin at S, by its prefix? */
static bool has_known_prefix(const char *s)
{
    static const char *const prefixes[] = {
        "AKIA", "ASIA",        "AIza",   "eyJ",      "dckr_pat_", "ghp_",  "gho_",  "ghu_",   "ghs_",
        "ghr_", "github_pat_", "glpat-", "gsk_",     "hf_",       "lsv2_", "npm_",  "nvapi-", "pypi-",
        "r8_",  "rk_live_",    "sk-",    "sk_live_", "xoxa-",     "xoxb-", "xoxp-", "ya29."};
    for (size_t i = 0; i < GP_COUNT(prefixes); i++)
        if (gp_starts(s, prefixes[i]) &&
            strspn(s + strlen(prefixes[i]), LETTERS_AND_DIGITS "_-") >= AFTER_PREFIX)
            return true;
    return false;
}

/* Do 32 letters and digits, some of them digits, stand at S? */
static bool is_long_word(const char *s)
{
    size_t n = strspn(s, LETTERS_AND_DIGITS);
    return n >= LONG_VALUE && strcspn(s, "0123456789") < n;
}

/* All of S. A path has these letters, too, but more than one slash. */
static bool is_long_key(const char *s)
{
    size_t n = strspn(s, LETTERS_AND_DIGITS "+/_-=");
    const char *slash = strchr(s, '/');
    return n >= LONG_VALUE && !s[n] && !(slash && strchr(slash + 1, '/'));
}

/* Does S begin with what is before the @ of an address? */
static bool is_user(const char *s)
{
    size_t n = strcspn(s, "@/?#'\" \t\n");
    return n && s[n] == '@';
}

/* ---- arguments ---- */

/* Is ARG secret because of PREVIOUS? */
static bool follows(const char *previous, const char *arg)
{
    if (!previous) return false;
    if (!strcmp(previous, "-k") || !strcmp(previous, "-p")) return *arg != '-';
    if (!strcmp(previous, "-u") || !strcmp(previous, "--user")) return strchr(arg, ':') != NULL;
    size_t n = strlen(previous);
    while (n && strchr(":=", previous[n - 1])) n--;
    bool option = *previous == '-';
    for (size_t i = 0; i < n; i++)
        if (!is_in_name(previous[i])) return false;
    return (option || *arg != '-') && is_secret_name(previous, n, !option);
}

/* Does a value that is secret begin behind ARG[I], because of what is at I and before? */
static bool is_announced(const char *arg, size_t i)
{
    char c = arg[i];
    if (c == '=' && is_long_key(arg + i + 1)) return true;
    if (i >= 2 && gp_begin(arg + i - 2, 3, "://")) return is_user(arg + i + 1);
    if (!strchr("=: \t", c)) return false;
    size_t n = i;
    const char *name = name_before(arg, &n);
    bool apart = c == ' ' || c == '\t'; /* from the option or the word before it */
    return (!apart || *name == '-' || begins(name, n, "bearer")) && is_secret_name(name, n, false);
}

/* Where in ARG a secret begins; its length: nowhere. */
static size_t find_secret(const char *previous, const char *arg)
{
    if (follows(previous, arg)) return 0;
    if (gp_starts(arg, "-p") && arg[2]) return strlen("-p");
    for (size_t i = 0; arg[i]; i++) {
        bool first = !i || !isalnum((unsigned char)arg[i - 1]);
        if (first && (has_known_prefix(arg + i) || is_long_word(arg + i))) return i;
        if (!is_announced(arg, i)) continue;
        i++;
        return i + strspn(arg + i, " \t'\"\\");
    }
    return strlen(arg);
}

void gp_mask_put(struct gp_buf *to, const char *previous, const char *arg)
{
    size_t n = find_secret(previous, arg);
    gp_buf_put(to, arg, n);
    if (arg[n]) gp_buf_puts(to, "***");
}
