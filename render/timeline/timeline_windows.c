#include "render/timeline/timeline_formats.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include "analyze/hta/hta.h"
#include "analyze/hta/hta_rows.h"
#include "formats/base/buf.h"
#include "formats/base/err.h"
#include "formats/base/mem.h"
#include "formats/base/num.h"
#include "formats/base/order.h"
#include "formats/base/scale.h"
#include "formats/model/step_name.h"

enum { MOST_WINDOWS = 10000, RANK_OF_NO_STEP = 3 };

/* ---- words to times ---- */

int gp_timeline_range(struct gp_timeline_window *w, const char *option, const char *text, size_t n,
                      int64_t origin_ns, struct gp_err *err)
{
    char words[128];
    int64_t from = 0, to = INT64_MAX / 4;
    const char *dash = memchr(text, '-', n);
    if (!dash || n >= sizeof words)
        return gp_fail(err, GP_E_USAGE, -1, "--%s: '%.*s' is not a time range, such as 12ms-14ms", option,
                       (int)(n < 60 ? n : 60), text);
    memcpy(words, text, n);
    words[n] = '\0';
    words[dash - text] = '\0';
    const char *end = words + (dash - text) + 1;
    if (words[0] && gp_parse_duration(words, &from, err)) return gp_err_context(err, "--%s", option);
    if (end[0] && gp_parse_duration(end, &to, err)) return gp_err_context(err, "--%s", option);
    if (from >= to)
        return gp_fail(err, GP_E_USAGE, -1, "--%s: '%.*s' ends before it begins", option, (int)n, text);
    int64_t most = INT64_MAX / 2;
    w->begin_ns = from > most - origin_ns && origin_ns > 0 ? most : origin_ns + from;
    w->end_ns = to > most - origin_ns && origin_ns > 0 ? most : origin_ns + to;
    return 0;
}

int gp_timeline_check_range(const struct gp_timeline_window *w, const char *text, const struct gp_trace *t,
                            struct gp_err *err)
{
    int64_t origin = gp_tracks_origin(t), last = origin;
    for (int table = 0; table < GP_TABLE_COUNT; table++)
        for (size_t i = 0; i < t->events[table].n; i++) {
            int64_t end = t->events[table].start_ns[i] + t->events[table].dur_ns[i];
            if (end > last) last = end;
        }
    if (w->begin_ns <= last) return 0;
    struct gp_buf all = {0};
    gp_scale_put(&all, GP_UNIT_NS, last - origin);
    gp_fail(err, GP_E_USAGE, -1, "--range: %s is outside of the trace, which takes %s", text,
            gp_buf_str(&all));
    gp_buf_release(&all);
    return -1;
}

/* The number at the end of a step's name; false: it has none. */
static bool number_of(const char *name, uint64_t *number)
{
    size_t n = strlen(name), i = n;
    while (i && isdigit((unsigned char)name[i - 1])) i--;
    if (i == n || n - i > 18) return false;
    *number = strtoull(name + i, NULL, 10);
    return true;
}

static void widen(struct gp_timeline_window *w, int64_t begin_ns, int64_t end_ns)
{
    if (w->begin_ns == w->end_ns) *w = (struct gp_timeline_window){begin_ns, end_ns};
    if (begin_ns < w->begin_ns) w->begin_ns = begin_ns;
    if (end_ns > w->end_ns) w->end_ns = end_ns;
}

int gp_timeline_steps(struct gp_timeline_window *w, const char *text, const struct gp_hta *h,
                      struct gp_err *err)
{
    char *end;
    uint64_t from = strtoull(text, &end, 10), to = from, number;
    bool good = isdigit((unsigned char)text[0]);
    if (good && *end == '-') {
        good = isdigit((unsigned char)end[1]);
        to = strtoull(end + 1, &end, 10);
    }
    if (!good || *end || to < from)
        return gp_fail(err, GP_E_USAGE, -1,
                       "--steps: '%s' is not a step or a range of steps, such as 3 or 3-5", text);
    GP_EACH(const struct gp_hta_step, s, h->steps) {
        if (!number_of(gp_hta_str(h, s->name), &number) || number < from || number > to) continue;
        widen(w, s->begin_ns, s->end_ns);
        if (s->host_end_ns > s->host_begin_ns) widen(w, s->host_begin_ns, s->host_end_ns);
    }
    if (w->begin_ns < w->end_ns) return 0;
    if (!h->steps.n) return gp_fail(err, GP_E_USAGE, -1, "--steps: found no steps in the trace");
    return gp_fail(err, GP_E_USAGE, -1, "--steps: no step has that number; the first of %zu is '%s'",
                   h->steps.n, gp_hta_str(h, h->steps.at[0].name));
}

bool gp_timeline_all_steps(struct gp_timeline_window *w, const struct gp_hta *h)
{
    struct gp_timeline_window all = {0, 0};
    GP_EACH(const struct gp_hta_step, s, h->steps) {
        if (s->warm_up) continue;
        widen(&all, s->begin_ns, s->end_ns);
    }
    if (all.begin_ns >= all.end_ns) return false;
    *w = all;
    return true;
}

bool gp_timeline_all_events(struct gp_timeline_window *w, const struct gp_trace *t)
{
    struct gp_timeline_window all = {0, 0};
    GP_EACH_OF(const struct gp_events, e, t->events, GP_TABLE_COUNT)
        for (size_t i = 0; i < e->n; i++)
            if (e->dur_ns[i] > 0) widen(&all, e->start_ns[i], e->start_ns[i] + e->dur_ns[i]);
    if (all.begin_ns >= all.end_ns) return false;
    *w = all;
    return true;
}

bool gp_timeline_named_steps(struct gp_timeline_window *w, const struct gp_trace *t)
{
    const struct gp_events *e = &t->events[GP_RANGE];
    struct gp_timeline_window all = {0, 0};
    int best = RANK_OF_NO_STEP;
    for (size_t i = 0; i < e->n; i++) {
        size_t base = 0;
        uint64_t number = GP_NO_ID;
        gp_sid name = e->name[i];
        int rank =
            gp_step_name_rank(gp_string(&t->strings, name), gp_string_len(&t->strings, name), &base, &number);
        if (rank > best || rank == RANK_OF_NO_STEP) continue;
        if (rank < best) all = (struct gp_timeline_window){0, 0};
        best = rank;
        widen(&all, e->start_ns[i], e->start_ns[i] + e->dur_ns[i]);
    }
    if (all.begin_ns >= all.end_ns) return false;
    *w = all;
    return true;
}

/* ---- windows that keep their events in a page that cannot hold all ---- */

GP_COMPARE(longest_first, struct gp_timeline_window,
           GP_KEY(y->end_ns - y->begin_ns, x->end_ns - x->begin_ns) GP_UP(begin_ns))

/* The longest of many: now and then all but the N longest are dropped. */
struct longest {
    GP_VEC(struct gp_timeline_window) all;
    size_t n;
    int64_t least_ns; /* shorter ones do not belong to them */
};

static void keep_longest(struct longest *g)
{
    if (g->all.n) qsort(g->all.at, g->all.n, sizeof *g->all.at, longest_first);
    if (g->all.n > g->n) g->all.n = g->n;
    if (g->all.n && g->all.n == g->n) g->least_ns = g->all.at[g->n - 1].end_ns - g->all.at[g->n - 1].begin_ns;
}

static void keep_if_longest(struct longest *g, int64_t begin_ns, int64_t end_ns)
{
    if (end_ns - begin_ns <= g->least_ns) return;
    GP_VEC_PUSH(&g->all, ((struct gp_timeline_window){begin_ns, end_ns}));
    if (g->all.n > 8 * g->n + 1024) keep_longest(g);
}

/* Append them, with an eighth of their length at both sides. */
static void take_longest(struct gp_timeline_windows *to, struct longest *g)
{
    keep_longest(g);
    for (size_t i = 0; i < g->all.n && to->n < MOST_WINDOWS; i++) {
        const struct gp_timeline_window *w = &g->all.at[i];
        int64_t more = (w->end_ns - w->begin_ns) / 8;
        GP_VEC_PUSH(to, ((struct gp_timeline_window){w->begin_ns - more, w->end_ns + more}));
    }
    GP_VEC_FREE(&g->all);
}

static void take_steps(struct gp_timeline_windows *to, const struct gp_hta *h, uint64_t n)
{
    struct longest g = {.n = (size_t)n};
    for (size_t i = 0; i < h->steps.n; i++)
        if (!h->steps.at[i].partial) keep_if_longest(&g, h->steps.at[i].begin_ns, h->steps.at[i].end_ns);
    take_longest(to, &g);
}

static void take_gaps(struct gp_timeline_windows *to, const struct gp_tracks *l, uint64_t n)
{
    struct longest g = {.n = (size_t)n};
    const struct gp_tracks_gap *gaps = l->gaps.at;
    for (size_t i = 0, next; i < l->gaps.n; i = next) { /* pieces that touch are one gap */
        for (next = i + 1; next < l->gaps.n && gaps[next].begin_ns == gaps[next - 1].end_ns; next++) continue;
        keep_if_longest(&g, gaps[i].begin_ns, gaps[next - 1].end_ns);
    }
    take_longest(to, &g);
}

/* WORD is "steps:" or "gaps:"; a number must follow. */
static bool parse_count(const char *text, size_t n, const char *word, uint64_t *count)
{
    size_t len = strlen(word);
    if (n <= len || n > len + 6 || strncmp(text, word, len)) return false;
    *count = 0;
    for (size_t i = len; i < n; i++) {
        if (!isdigit((unsigned char)text[i])) return false;
        *count = *count * 10 + (uint64_t)(text[i] - '0');
    }
    return true;
}

int gp_timeline_detail(struct gp_timeline_windows *to, const char *list, const struct gp_tracks *l,
                       const struct gp_hta *h, int64_t origin_ns, struct gp_err *err)
{
    for (const char *at = list; at && *at;) {
        const char *end = strchr(at, ',');
        size_t n = end ? (size_t)(end - at) : strlen(at);
        struct gp_timeline_window w = {0, 0};
        uint64_t count;
        if (parse_count(at, n, "steps:", &count)) take_steps(to, h, count);
        else if (parse_count(at, n, "gaps:", &count)) take_gaps(to, l, count);
        else if (gp_timeline_range(&w, "detail", at, n, origin_ns, err)) return -1;
        else GP_VEC_PUSH(to, w);
        at += n + (end != NULL);
    }
    return 0;
}

/* ---- rows of a trace within a window ---- */

void gp_timeline_keep(struct gp_trace *t, const struct gp_timeline_window *w)
{
    if (w->begin_ns >= w->end_ns) return;
    GP_EACH_OF(struct gp_events, e, t->events, GP_TABLE_COUNT) {
        uint8_t *keep = gp_zalloc(e->n + 1);
        for (size_t i = 0; i < e->n; i++) {
            int64_t start = e->start_ns[i];
            keep[i] = start < w->end_ns && (start >= w->begin_ns || e->dur_ns[i] > w->begin_ns - start);
        }
        gp_events_keep(e, keep);
        free(keep);
    }
}
