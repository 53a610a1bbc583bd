#include "analyze/names/pattern.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* A pattern while its size is counted. Counts never pass GP_PATTERN_LONGEST * GP_PATTERN_REPEATED. */
struct measure {
    const char *p;
    uint64_t sizes[GP_PATTERN_DEEPEST + 1]; /* of the open groups */
    uint64_t last;                          /* size of what a repetition would repeat */
    uint64_t added;                         /* by repetitions */
    size_t depth;
};

static void add(struct measure *m, uint64_t size)
{
    m->sizes[m->depth] += size;
    m->last = size;
}

/* What was added last, TIMES times. */
static bool repeat(struct measure *m, uint64_t times)
{
    if (times < 2) return true;
    uint64_t more = m->last * (times - 1);
    m->added += more;
    m->sizes[m->depth] += more;
    m->last += more;
    return m->added <= GP_PATTERN_REPEATED;
}

/* Behind the bracket expression whose [ is before P. */
static const char *skip_bracket(const char *p)
{
    p += *p == '^';
    p += *p == ']';
    while (*p && *p != ']') {
        char kind = p[0] == '[' && p[1] && strchr(".:=", p[1]) ? p[1] : 0;
        if (!kind) {
            p++;
            continue;
        }
        for (p += 2; *p && !(p[0] == kind && p[1] == ']');) p++;
        p += *p ? 2 : 0;
    }
    return *p ? p + 1 : p;
}

static uint64_t number(const char **p)
{
    uint64_t n = 0;
    for (; isdigit((unsigned char)**p); (*p)++)
        if (n <= GP_PATTERN_REPEATED) n = n * 10 + (uint64_t)(**p - '0');
    return n;
}

/* {n}, {n,}, {,m} or {n,m}, whose { is before m->p; anything else is ordinary text. */
static bool take_braces(struct measure *m)
{
    const char *p = m->p;
    uint64_t least = number(&p), most = least;
    if (*p == ',') {
        p++;
        most = isdigit((unsigned char)*p) ? number(&p) : least + 1;
    }
    if (*p != '}') {
        add(m, 1);
        return true;
    }
    m->p = p + 1;
    return repeat(m, most > least ? most : least);
}

static const char *take(struct measure *m)
{
    static const char *const repeated = "repetition makes it longer than 1,000";
    switch (*m->p++) {
    case '\\':
        if (*m->p >= '1' && *m->p <= '9') return "back-references are not supported";
        m->p += *m->p != 0;
        add(m, 1);
        return NULL;
    case '[':
        m->p = skip_bracket(m->p);
        add(m, 1);
        return NULL;
    case '(':
        if (m->depth == GP_PATTERN_DEEPEST) return "more than 100 nested groups";
        m->sizes[++m->depth] = 0;
        m->last = 0;
        return NULL;
    case ')':
        if (m->depth) {
            uint64_t inside = m->sizes[m->depth--];
            add(m, inside + 1);
        } else add(m, 1);
        return NULL;
    case '*':
    case '?': /* one more to repeat */
        m->sizes[m->depth]++;
        m->last++;
        return NULL;
    case '+':
        return repeat(m, 2) ? NULL : repeated;
    case '{':
        return take_braces(m) ? NULL : repeated;
    default:
        add(m, 1);
        return NULL;
    }
}

/* What makes TEXT too costly; NULL: nothing. */
static const char *too_costly(const char *text)
{
    struct measure m = {.p = text};
    if (strnlen(text, GP_PATTERN_LONGEST + 1) > GP_PATTERN_LONGEST) return "longer than 4,096 bytes";
    for (const char *why; *m.p;)
        if ((why = take(&m))) return why;
    return NULL;
}

int gp_pattern_compile(regex_t *to, const char *text, int flags, char *why)
{
    const char *costs = too_costly(text);
    if (costs) {
        snprintf(why, GP_PATTERN_WHY, "%s", costs);
        return -1;
    }
    int rc = regcomp(to, text, REG_EXTENDED | REG_NOSUB | flags);
    if (rc) regerror(rc, to, why, GP_PATTERN_WHY);
    return rc ? -1 : 0;
}
