#include "analyze/names/pattern.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Choices (|, ?, * and the like) and places (^, $ and the like) that follow each other without a character
 * between them. */
struct chain {
    uint64_t n;
    uint64_t forks; /* those both of whose ways may match nothing, and places */
};

/* A part of a pattern. Counts of SIZE and LOOPS never pass GP_PATTERN_LONGEST * GP_PATTERN_REPEATED, the
 * others MANY.
 *
 * From each character the compiler walks to all that may come next, on every way through what matches
 * nothing; it does not walk the same way twice unless an endless repetition of what may be empty lies on it.
 * What follows a place is copied, and each fork there takes memory that grows with the square of the chain.
 */
struct part {
    uint64_t size;  /* characters, groups, branches and repetitions, which are repeated, too */
    uint64_t loops; /* endless repetitions of what may be empty: each can double the time of the compiler */
    uint64_t ways;  /* to match nothing */
    uint64_t walk;  /* steps of the compiler from its beginning */
    uint64_t out;   /* ways to its end from the characters in it, of all together */
    struct chain begin; /* from its beginning */
    struct chain after; /* from a place in it to its end; none: there is no such place */
};

/* A pattern while it is measured. */
struct measure {
    const char *p;
    struct part groups[GP_PATTERN_DEEPEST + 1];   /* the open ones, without LAST; the branch at hand */
    struct part branches[GP_PATTERN_DEEPEST + 1]; /* what choose() makes of the branches before */
    struct part last;                             /* what a repetition would repeat */
    uint64_t added;                               /* size, by repetitions */
    uint64_t loops;                               /* of all */
    uint64_t steps;                               /* from all characters */
    struct chain longest;                         /* behind a place */
    size_t depth;
};

enum { PLACE_FORKS = 16 }; /* a place behind others is copied once for each set of them */
static const uint64_t MANY = UINT64_C(1) << 24;

static uint64_t bounded(uint64_t n) { return n < MANY ? n : MANY; }

static struct chain joined(struct chain a, struct chain b)
{
    return (struct chain){bounded(a.n + b.n), bounded(a.forks + b.forks)};
}

static void lengthen(struct chain *a, struct chain b)
{
    if (a->n < b.n) a->n = b.n;
    if (a->forks < b.forks) a->forks = b.forks;
}

/* A and behind it B, as far as the work of the compiler goes. */
static void follow(struct measure *m, struct part *a, const struct part *b)
{
    /* B comes behind A. */
    struct chain after = a->after.n ? joined(a->after, b->begin) : (struct chain){0};
    lengthen(&m->longest, after);
    if (a->ways) a->begin = joined(a->begin, b->begin);
    a->after = b->after;
    if (b->ways) lengthen(&a->after, after);
    m->steps = bounded(m->steps + a->out * b->walk);
    a->walk = bounded(a->walk + a->ways * b->walk);
    a->out = bounded(a->out * b->ways + b->out);
    a->ways = bounded(a->ways * b->ways);
}

/* A or B. */
static void choose(struct part *a, const struct part *b)
{
    a->walk = bounded(a->walk + b->walk);
    a->out = bounded(a->out + b->out);
    a->ways = bounded(a->ways + b->ways);
    a->begin = joined(a->begin, b->begin);
    lengthen(&a->after, b->after);
}

/* One may choose between A and something else, which may match nothing if EMPTY. */
static void branch(struct part *a, bool empty)
{
    a->walk = bounded(a->walk + 1);
    a->begin = joined(a->begin, (struct chain){1, a->ways && empty});
}

/* What comes next begins: the last part belongs to its group. */
static void settle(struct measure *m)
{
    struct part *group = &m->groups[m->depth];
    group->size += m->last.size;
    group->loops += m->last.loops;
    follow(m, group, &m->last);
    m->last = (struct part){.ways = 1};
}

static void add(struct measure *m, struct part part)
{
    settle(m);
    m->last = part;
}

static void add_one(struct measure *m) { add(m, (struct part){.size = 1, .walk = 1, .out = 1}); }

/* A place between characters. */
static void add_place(struct measure *m)
{
    add(m,
        (struct part){.size = 1, .ways = 1, .walk = 1, .out = 1, .begin = {1, PLACE_FORKS}, .after = {1, 1}});
}

static void open_group(struct measure *m)
{
    settle(m);
    m->groups[++m->depth] = (struct part){.ways = 1};
    m->branches[m->depth] = (struct part){0};
}

static void close_group(struct measure *m)
{
    settle(m);
    struct part group = m->groups[m->depth];
    choose(&group, &m->branches[m->depth--]);
    group.size++;
    m->last = group;
}

static void next_branch(struct measure *m)
{
    settle(m);
    struct part *group = &m->groups[m->depth];
    choose(&m->branches[m->depth], group);
    branch(&m->branches[m->depth], true);
    *group = (struct part){.size = group->size + 1, .loops = group->loops, .ways = 1};
}

/* ONE any number of times; each time leads back to the choice. */
static void repeat_endlessly(struct measure *m, struct part *one)
{
    struct part again = *one;
    branch(&again, true);
    m->steps = bounded(m->steps + one->out * again.walk);
    if (one->after.n) lengthen(&m->longest, joined(one->after, again.begin));
    again.ways = 1;
    *one = again;
}

/* ONE from LEAST times to TIMES times or, if ENDLESS, any number of times, as far as the work of the compiler
 * goes. */
static struct part repeated(struct measure *m, const struct part *one, uint64_t least, uint64_t times,
                            bool endless)
{
    struct part all = {.ways = 1};
    for (uint64_t i = times; i-- > 0;) {
        struct part next = *one;
        if (endless && i + 1 == times) {
            repeat_endlessly(m, &next);
        } else {
            follow(m, &next, &all);
            if (i >= least) {
                branch(&next, true);
                next.ways = bounded(next.ways + 1);
            }
        }
        all = next;
    }
    return all;
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
    if (m->added > GP_PATTERN_REPEATED) return "repetition makes it longer than 1,000";
    m->last.size++;
    m->last.loops += endless && m->last.ways;
    m->loops += m->last.loops - loops;
    struct part all = repeated(m, &m->last, least, times, endless);
    all.size = m->last.size;
    all.loops = m->last.loops;
    m->last = all;
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
    case '$': add_place(m); return NULL;
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
    case '|': next_branch(m); return NULL;
    case '*': return repeat(m, 0, 1, true);
    case '?': return repeat(m, 0, 1, false);
    case '+': return repeat(m, 1, 2, true);
    case '{': return take_braces(m);
    default: add_one(m); return NULL;
    }
}

/* What makes TEXT too costly; NULL: nothing. */
static const char *too_costly(const char *text)
{
    struct measure m = {.p = text, .groups = {{.ways = 1}}, .last = {.ways = 1}};
    if (strnlen(text, GP_PATTERN_LONGEST + 1) > GP_PATTERN_LONGEST) return "longer than 4,096 bytes";
    for (const char *why; *m.p;)
        if ((why = take(&m))) return why;
    settle(&m);
    if (m.loops && m.steps > GP_PATTERN_STEPS)
        return "too many ways to match nothing before an endless repetition of it";
    if (m.longest.n * m.longest.n > GP_PATTERN_COPIES / (m.longest.forks + 1))
        return "too many ways to match nothing behind an anchor";
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
