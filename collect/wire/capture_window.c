#include "collect/wire/capture_window.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include "formats/base/str.h"

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

void gp_capture_init(struct gp_capture *g, const struct gp_capture_opts *opts, int64_t now_ns)
{
    memset(g, 0, sizeof *g);
    g->opts = *opts;
    g->opts.start.name[sizeof g->opts.start.name - 1] = g->opts.stop.name[sizeof g->opts.stop.name - 1] = 0;
    if (!opts->open) return;
    gp_capture_set(g, true, now_ns);
    if (!opts->late)
        g->windows.at[0].start_ns = INT64_MIN; /* ranges may have begun before CUDA was initialized */
}

void gp_capture_release(struct gp_capture *g) { GP_VEC_FREE(&g->windows); }

static bool follow(struct gp_capture *g, int64_t now_ns)
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

bool gp_capture_set(struct gp_capture *g, bool open, int64_t now_ns)
{
    if (open && g->over) return false;
    g->wanted = open;
    return follow(g, now_ns);
}

bool gp_capture_pause(struct gp_capture *g, bool paused, int64_t now_ns)
{
    g->paused = paused;
    return follow(g, now_ns);
}

bool gp_capture_profiler(struct gp_capture *g, bool start, int64_t now_ns)
{
    const struct gp_trigger *t = start ? &g->opts.start : &g->opts.stop;
    return t->when == GP_WHEN_PROFILER && gp_capture_set(g, start, now_ns);
}

bool gp_capture_launch_begins(struct gp_capture *g, int64_t now_ns)
{
    const struct gp_trigger *stop = &g->opts.stop;
    return stop->when == GP_WHEN_LAUNCH && g->launches == stop->n && gp_capture_set(g, false, now_ns);
}

bool gp_capture_launch_ends(struct gp_capture *g, int64_t now_ns)
{
    const struct gp_trigger *start = &g->opts.start;
    g->launches++;
    return start->when == GP_WHEN_LAUNCH && g->launches == start->n && gp_capture_set(g, true, now_ns);
}

bool gp_capture_counts_launches(const struct gp_capture *g)
{
    const struct gp_trigger *start = &g->opts.start, *stop = &g->opts.stop;
    return (start->when == GP_WHEN_LAUNCH && g->launches < start->n) ||
           (stop->when == GP_WHEN_LAUNCH && g->launches <= stop->n);
}

bool gp_capture_tick(struct gp_capture *g, int64_t now_ns)
{
    if (g->over || !g->due_ns || now_ns < g->due_ns) return false;
    g->over = true;
    return gp_capture_set(g, false, now_ns);
}

static bool is_called(const struct gp_trigger *t, const char *domain, const char *text)
{
    if (!strcmp(t->name, text)) return true;
    size_t n = strlen(domain);
    return n && !strncmp(t->name, domain, n) && t->name[n] == ':' && !strcmp(t->name + n + 1, text);
}

bool gp_capture_range_matters(const struct gp_capture *g, unsigned which, const char *domain,
                              const char *text)
{
    const struct gp_trigger *t = which == GP_CAPTURE_START ? &g->opts.start : &g->opts.stop;
    return t->when == GP_WHEN_RANGE && is_called(t, domain, text);
}

bool gp_capture_range_begins(struct gp_capture *g, unsigned which, const char *domain, const char *text,
                             int64_t now_ns, bool *changed)
{
    const struct gp_trigger *t = which == GP_CAPTURE_START ? &g->opts.start : &g->opts.stop;
    *changed = false;
    if (!gp_capture_range_matters(g, which, domain, text)) return false;
    uint64_t n = ++g->begun[which];
    if (t->n && t->n != n) return false;
    if (which == GP_CAPTURE_START) *changed = gp_capture_set(g, true, now_ns);
    return true;
}

bool gp_capture_range_ends(struct gp_capture *g, unsigned which, int64_t now_ns)
{
    return which == GP_CAPTURE_STOP && gp_capture_set(g, false, now_ns);
}

size_t gp_capture_before(const struct gp_capture *g, int64_t ns)
{
    size_t n = g->windows.n;
    while (n && g->windows.at[n - 1].start_ns > ns) n--; /* mostly none */
    return n;
}

bool gp_capture_clip(const struct gp_capture *g, int64_t *start_ns, int64_t *end_ns)
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

/* ---- in the launcher ---- */

void gp_control_init(struct gp_control *c, const struct gp_trigger *start, const struct gp_trigger *stop,
                     int64_t duration_ns)
{
    memset(c, 0, sizeof *c);
    c->capture.start = *start;
    c->capture.stop = *stop;
    c->capture.duration_ns = duration_ns;
    c->capture.open = start->when == GP_WHEN_UNSET;
    bool ends_itself = start->when == GP_WHEN_PROFILER || start->when == GP_WHEN_RANGE;
    if (stop->when == GP_WHEN_UNSET && ends_itself) c->capture.stop = *start;
}

static uint64_t signal_bit(const struct gp_trigger *t)
{
    return t->when == GP_WHEN_SIGNAL ? UINT64_C(1) << t->signal : 0;
}

uint64_t gp_control_signals(const struct gp_control *c)
{
    return signal_bit(&c->capture.start) | signal_bit(&c->capture.stop);
}

void gp_control_begin(struct gp_control *c, int64_t now_ns)
{
    if (c->capture.start.when == GP_WHEN_TIME) c->start_ns = now_ns + c->capture.start.time_ns;
    if (c->capture.start.when == GP_WHEN_PACE) c->start_ns = now_ns + GP_CONTROL_PATIENCE_NS;
    if (c->capture.stop.when == GP_WHEN_TIME) c->stop_ns = now_ns + c->capture.stop.time_ns;
}

static bool has_come(int64_t *due_ns, int64_t now_ns)
{
    if (!*due_ns || now_ns < *due_ns) return false;
    *due_ns = 0;
    return true;
}

bool gp_control_turn(struct gp_control *c, uint64_t signals, int64_t now_ns)
{
    bool start = signals & signal_bit(&c->capture.start), stop = signals & signal_bit(&c->capture.stop);
    if (start && stop && c->capture.start.signal == c->capture.stop.signal) { /* a signal for both toggles */
        start = !c->capture.open;
        stop = !start;
    }
    start |= has_come(&c->start_ns, now_ns);
    stop |= has_come(&c->stop_ns, now_ns);
    if (!start && !stop) return false;
    c->capture.open = !stop;
    return true; /* sent even if nothing changed: a process may have started or stopped by itself */
}

bool gp_control_awaits_pace(const struct gp_control *c)
{
    return c->capture.start.when == GP_WHEN_PACE && c->start_ns;
}

int64_t gp_control_due(const struct gp_control *c)
{
    if (!c->start_ns || !c->stop_ns) return c->start_ns + c->stop_ns;
    return c->start_ns < c->stop_ns ? c->start_ns : c->stop_ns;
}
