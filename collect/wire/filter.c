#include "collect/wire/filter.h"
#include "formats/base/err.h"
#include "formats/base/str.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

static bool parse_rank(const char **p, int32_t *rank)
{
    char *end;
    if (**p < '0' || **p > '9') return false;
    long v = strtol(*p, &end, 10);
    *p = end;
    *rank = (int32_t)v;
    return v <= INT32_MAX;
}

/* "0,2-3", up to END. */
static bool parse_ranks(struct gp_filter *f, const char *p, const char *end)
{
    for (;;) {
        int32_t first, last;
        if (f->nranks == GP_FILTER_RANKS || !parse_rank(&p, &first)) return false;
        last = first;
        if (*p == '-' && (p++, !parse_rank(&p, &last))) return false;
        if (last < first) return false;
        f->ranks[f->nranks].first = first;
        f->ranks[f->nranks++].last = last;
        if (p == end) return true;
        if (*p++ != ',') return false;
    }
}

static bool parse_one(struct gp_filter *f, const char *p, size_t n)
{
    static const char rank[] = "rank:", kernel[] = "kernel:";
    if (n > strlen(rank) && gp_starts(p, rank)) return !f->nranks && parse_ranks(f, p + strlen(rank), p + n);
    if (n <= strlen(kernel) || !gp_starts(p, kernel) || *f->kernel) return false;
    p += strlen(kernel);
    n -= strlen(kernel);
    if (n >= sizeof f->kernel) return false;
    memcpy(f->kernel, p, n);
    return true;
}

int gp_filter_parse(struct gp_filter *f, const char *text, struct gp_err *err)
{
    memset(f, 0, sizeof *f);
    for (const char *p = text ? text : ""; *p;) {
        size_t n = strcspn(p, " ");
        if (n && !parse_one(f, p, n))
            return gp_fail(err, GP_E_USAGE, -1,
                           "--filter: '%.*s' is neither rank:LIST, as in rank:0,2-3, nor kernel:PATTERN",
                           (int)n, p);
        p += n + (p[n] == ' ');
    }
    return 0;
}

bool gp_filter_rank(const struct gp_filter *f, int32_t rank)
{
    bool any = !f->nranks;
    for (size_t i = 0; i < f->nranks && !any; i++)
        any = rank >= f->ranks[i].first && rank <= f->ranks[i].last;
    return any;
}

bool gp_filter_name(const char *pattern, const char *name) { return !*pattern || !fnmatch(pattern, name, 0); }
