#include "collect/wire/gate.h"
#include "formats/base/str.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

static bool parse_count(const char *text, uint64_t *n)
{
    char *end;
    if (*text < '1' || *text > '9') return false;
    *n = strtoull(text, &end, 10);
    return !*end && *n < UINT64_MAX;
}

static bool parse_range(const char *text, struct gp_trigger *t)
{
    const char *at = strrchr(text, '@');
    size_t len = strlen(text);
    if (at && parse_count(at + 1, &t->n)) len = (size_t)(at - text);
    if (!len || len >= sizeof t->name) return false;
    memcpy(t->name, text, len);
    t->when = GP_WHEN_RANGE;
    return true;
}

bool gp_trigger_parse(const char *text, struct gp_trigger *t)
{
    memset(t, 0, sizeof *t);
    if (!strcmp(text, "profiler")) {
        t->when = GP_WHEN_PROFILER;
    } else if (gp_starts(text, "range:")) {
        return parse_range(text + strlen("range:"), t);
    } else if (gp_starts(text, "launch:")) {
        t->when = GP_WHEN_LAUNCH;
        return parse_count(text + strlen("launch:"), &t->n);
    } else if (!strcmp(text, "SIGUSR1") || !strcmp(text, "SIGUSR2")) {
        t->when = GP_WHEN_SIGNAL;
        t->signal = text[6] == '1' ? SIGUSR1 : SIGUSR2;
    }
    return t->when != GP_WHEN_UNSET;
}

void gp_gate_init(struct gp_gate *g, const struct gp_gate_opts *opts, int64_t now_ns)
{
    memset(g, 0, sizeof *g);
    g->opts = *opts;
    g->opts.start.name[sizeof g->opts.start.name - 1] = g->opts.stop.name[sizeof g->opts.stop.name - 1] = 0;
    if (!opts->open) return;
    gp_gate_set(g, true, now_ns);
    g->windows.at[0].start_ns = INT64_MIN; /* ranges may have begun before CUDA was initialized */
}

void gp_gate_release(struct gp_gate *g)
{
    GP_VEC_FREE(&g->windows);
}

static bool follow(struct gp_gate *g, int64_t now_ns)
{
    bool open = g->wanted && !g->paused;
    if (open == g->open) return false;
    g->open = open;
    if (open) {
        GP_VEC_PUSH(&g->windows, (struct gp_window){now_ns, INT64_MAX});
        if (g->opts.duration_ns && !g->due_ns) g->due_ns = now_ns + g->opts.duration_ns;
    } else {
        g->windows.at[g->windows.n - 1].end_ns = now_ns;
    }
    return true;
}

bool gp_gate_set(struct gp_gate *g, bool open, int64_t now_ns)
{
    if (open && g->over) return false;
    g->wanted = open;
    return follow(g, now_ns);
}

bool gp_gate_pause(struct gp_gate *g, bool paused, int64_t now_ns)
{
    g->paused = paused;
    return follow(g, now_ns);
}

bool gp_gate_profiler(struct gp_gate *g, bool start, int64_t now_ns)
{
    const struct gp_trigger *t = start ? &g->opts.start : &g->opts.stop;
    return t->when == GP_WHEN_PROFILER && gp_gate_set(g, start, now_ns);
}

bool gp_gate_launch_begins(struct gp_gate *g, int64_t now_ns)
{
    const struct gp_trigger *stop = &g->opts.stop;
    return stop->when == GP_WHEN_LAUNCH && g->launches == stop->n && gp_gate_set(g, false, now_ns);
}

bool gp_gate_launch_ends(struct gp_gate *g, int64_t now_ns)
{
    const struct gp_trigger *start = &g->opts.start;
    g->launches++;
    return start->when == GP_WHEN_LAUNCH && g->launches == start->n && gp_gate_set(g, true, now_ns);
}

bool gp_gate_counts_launches(const struct gp_gate *g)
{
    const struct gp_trigger *start = &g->opts.start, *stop = &g->opts.stop;
    return (start->when == GP_WHEN_LAUNCH && g->launches < start->n) ||
           (stop->when == GP_WHEN_LAUNCH && g->launches <= stop->n);
}

bool gp_gate_tick(struct gp_gate *g, int64_t now_ns)
{
    if (g->over || !g->due_ns || now_ns < g->due_ns) return false;
    g->over = true;
    return gp_gate_set(g, false, now_ns);
}

static bool is_called(const struct gp_trigger *t, const char *domain, const char *text)
{
    if (!strcmp(t->name, text)) return true;
    size_t n = strlen(domain);
    return n && !strncmp(t->name, domain, n) && t->name[n] == ':' && !strcmp(t->name + n + 1, text);
}

bool gp_gate_range_matters(const struct gp_gate *g, unsigned which, const char *domain, const char *text)
{
    const struct gp_trigger *t = which == GP_GATE_START ? &g->opts.start : &g->opts.stop;
    return t->when == GP_WHEN_RANGE && is_called(t, domain, text);
}

bool gp_gate_range_begins(struct gp_gate *g, unsigned which, const char *domain, const char *text,
                          int64_t now_ns, bool *changed)
{
    const struct gp_trigger *t = which == GP_GATE_START ? &g->opts.start : &g->opts.stop;
    *changed = false;
    if (!gp_gate_range_matters(g, which, domain, text)) return false;
    uint64_t n = ++g->begun[which];
    if (t->n && t->n != n) return false;
    if (which == GP_GATE_START) *changed = gp_gate_set(g, true, now_ns);
    return true;
}

bool gp_gate_range_ends(struct gp_gate *g, unsigned which, int64_t now_ns)
{
    return which == GP_GATE_STOP && gp_gate_set(g, false, now_ns);
}

bool gp_gate_clip(const struct gp_gate *g, int64_t *start_ns, int64_t *end_ns)
{
    const struct gp_window *w = g->windows.at;
    size_t first = 0, last = g->windows.n;
    for (size_t n = g->windows.n; n;) { /* the first window that ends after the start */
        size_t half = n / 2;
        if (w[first + half].end_ns >= *start_ns) n = half;
        else first += half + 1, n -= half + 1;
    }
    while (last > first && w[last - 1].start_ns > *end_ns)
        last--; /* most ranges touch the end of the list, if any window */
    if (first >= last) return false;
    if (*start_ns < w[first].start_ns) *start_ns = w[first].start_ns;
    if (*end_ns > w[last - 1].end_ns) *end_ns = w[last - 1].end_ns;
    return true;
}
