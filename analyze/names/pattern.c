#include "analyze/names/pattern.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* A part of a pattern. Counts never pass GP_PATTERN_LONGEST * GP_PATTERN_REPEATED. */
struct part {
    uint64_t size;  /* characters, groups, and repetitions, which are repeated, too */
    uint64_t loops; /* endless repetitions of what may be empty: each can double the time of the compiler */
    bool empty;     /* may match nothing */
};

/* A pattern while it is measured. */
struct measure {
    const char *p;
    struct part groups[GP_PATTERN_DEEPEST + 1]; /* the open ones, without LAST; EMPTY of the branch at hand */
    bool branch[GP_PATTERN_DEEPEST + 1];        /* another branch may be empty */
    struct part last;                           /* what a repetition would repeat */
    uint64_t added;                             /* size, by repetitions */
    uint64_t loops;                             /* of all */
    size_t depth;
};

/* What comes next begins: the last part belongs to its group. */
static void settle(struct measure *m)
{
    struct part *group = &m->groups[m->depth];
    group->size += m->last.size;
    group->loops += m->last.loops;
    group->empty &= m->last.empty;
    m->last = (struct part){.empty = true};
}

static void add(struct measure *m, struct part part)
{
    settle(m);
    m->last = part;
}

static void add_one(struct measure *m)
{
    add(m, (struct part){.size = 1});
}

/* A place between characters. */
static void add_place(struct measure *m)
{
    add(m, (struct part){.size = 1, .empty = true});
}

static void open_group(struct measure *m)
{
    settle(m);
    m->groups[++m->depth] = (struct part){.empty = true};
    m->branch[m->depth] = false;
}

static void close_group(struct measure *m)
{
    settle(m);
    struct part group = m->groups[m->depth];
    group.empty |= m->branch[m->depth--];
    group.size++;
    m->last = group;
}

static void next_branch(struct measure *m)
{
    settle(m);
    m->branch[m->depth] |= m->groups[m->depth].empty;
    m->groups[m->depth].empty = true;
}

/* The last part from LEAST times to TIMES times or, if ENDLESS, any number of times. */
static const char *repeat(struct measure *m, uint64_t least, uint64_t times, bool endless)
{
    uint64_t loops = m->last.loops;
    if (times > 1) {
        m->added += m->last.size * (times - 1);
        m->last.size *= times;
        m->last.loops *= times;
    }
    m->last.size++;
    m->last.loops += endless && m->last.empty;
    m->last.empty |= !least;
    m->loops += m->last.loops - loops;
    if (m->added > GP_PATTERN_REPEATED) return "repetition makes it longer than 1,000";
    return m->loops > GP_PATTERN_LOOPS ? "more than 10 endless repetitions of what may be empty" : NULL;
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
static const char *take_braces(struct measure *m)
{
    const char *p = m->p;
    uint64_t least = number(&p), most = least;
    bool endless = false;
    if (*p == ',') {
        p++;
        endless = !isdigit((unsigned char)*p);
        most = endless ? least + 1 : number(&p);
    }
    if (*p != '}') {
        add_one(m);
        return NULL;
    }
    m->p = p + 1;
    return repeat(m, least, most > least ? most : least, endless);
}

static const char *take(struct measure *m)
{
    switch (*m->p++) {
    case '\\':
        if (*m->p >= '1' && *m->p <= '9') return "back-references are not supported";
        if (*m->p && strchr("bB<>`'", *m->p)) add_place(m);
        else add_one(m);
        m->p += *m->p != 0;
        return NULL;
    case '^':
    case '$':
        add_place(m);
        return NULL;
    case '[':
        m->p = skip_bracket(m->p);
        add_one(m);
        return NULL;
    case '(':
        if (m->depth == GP_PATTERN_DEEPEST) return "more than 100 nested groups";
        open_group(m);
        return NULL;
    case ')':
        if (m->depth) close_group(m);
        else add_one(m);
        return NULL;
    case '|':
        next_branch(m);
        return NULL;
    case '*':
        return repeat(m, 0, 1, true);
    case '?':
        return repeat(m, 0, 1, false);
    case '+':
        return repeat(m, 1, 2, true);
    case '{':
        return take_braces(m);
    default:
        add_one(m);
        return NULL;
    }
}

/* What makes TEXT too costly; NULL: nothing. */
static const char *too_costly(const char *text)
{
    struct measure m = {.p = text, .groups = {{.empty = true}}, .last = {.empty = true}};
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
