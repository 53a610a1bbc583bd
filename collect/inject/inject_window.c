/* The capture window of this process: the program's actions open and close it, on whatever thread, and CUPTI
 * is switched at once, so that a process that is not being recorded has no cost. */
#include "collect/inject/inject_window.h"

#include <pthread.h>
#include <stdatomic.h>
#include "collect/inject/inject.h"
#include "collect/inject/wakeup.h"
#include "formats/base/clock.h"

static struct {
    pthread_mutex_t lock;
    struct gp_capture capture; /* under lock */
    const struct gp_inject_switches *switches;
    size_t reported;          /* windows that the launcher knows of; flush thread only */
    bool reported_start;      /* it knows the start of the next one */
    _Atomic bool up;          /* there is a window */
    _Atomic int64_t due_ns;   /* when it must be checked next */
    _Atomic bool over_launch; /* launches need no longer be counted */
    _Atomic unsigned closing; /* enum closing */
    int64_t closes_ns;        /* at the latest; flush thread only */
} self = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The reason for closing it, once the program is where it may be closed. */
enum closing { CLOSE_NOT, CLOSE_SET, CLOSE_PAUSE, CLOSE_DUE, CLOSE_RUNS };

/* Under the lock: switch recording as the window requires, if it CHANGED. */
static bool follow(bool changed)
{
    atomic_store(&self.due_ns, self.capture.over ? 0 : self.capture.due_ns);
    if (!changed) return true;
    gp_debug("recording %s", self.capture.open ? "starts" : "stops");
    return self.switches->record(self.capture.open);
}

/* Lock, call FN(&self.capture, ...), unlock; records up to the closing are written soon. */
#define MOVE(call)                                                                                           \
    do {                                                                                                     \
        if (!atomic_load(&self.up)) break;                                                                   \
        pthread_mutex_lock(&self.lock);                                                                      \
        bool changed_ = (call);                                                                              \
        follow(changed_);                                                                                    \
        bool closed_ = changed_ && !self.capture.open;                                                       \
        pthread_mutex_unlock(&self.lock);                                                                    \
        if (closed_) gp_inject_wake(true);                                                                   \
    } while (0)

bool gp_inject_window_start(const struct gp_capture_opts *opts, const struct gp_inject_switches *switches)
{
    bool launches = opts->start.when == GP_WHEN_LAUNCH || opts->stop.when == GP_WHEN_LAUNCH;
    pthread_mutex_lock(&self.lock);
    self.switches = switches;
    gp_capture_release(&self.capture);
    gp_capture_init(&self.capture, opts, gp_now_ns());
    self.reported = 0;
    self.reported_start = false;
    atomic_store(&self.over_launch, false);
    atomic_store(&self.closing, CLOSE_NOT);
    atomic_store(&self.up, true);
    switches->watch_ranges(opts->start.when == GP_WHEN_RANGE || opts->stop.when == GP_WHEN_RANGE);
    bool ok = follow(self.capture.open);
    pthread_mutex_unlock(&self.lock);
    if (launches) switches->count_launches(true);
    return ok;
}

void gp_inject_profiler(bool start) { MOVE(gp_capture_profiler(&self.capture, start, gp_now_ns())); }

/* The last relevant launch ends the counting, but not from inside its callback. */
void gp_inject_launch(bool begins)
{
    if (begins) {
        MOVE(gp_capture_launch_begins(&self.capture, gp_now_ns()));
        return;
    }
    bool more = true, changed = false;
    MOVE((changed = gp_capture_launch_ends(&self.capture, gp_now_ns()),
          more = gp_capture_counts_launches(&self.capture), changed));
    if (!more) atomic_store(&self.over_launch, true);
}

/* The reason becomes NEXT for whoever gets it. If another thread closes, that is over when this returns. */
static unsigned claim(enum closing next)
{
    unsigned how;
    do {
        while ((how = atomic_load(&self.closing)) == CLOSE_RUNS) gp_rest_ms(1);
    } while (how && !atomic_compare_exchange_weak(&self.closing, &how, next));
    return how;
}

static void close_now(void)
{
    unsigned how = claim(CLOSE_RUNS);
    if (how == CLOSE_SET) MOVE(gp_capture_set(&self.capture, false, gp_now_ns()));
    if (how == CLOSE_PAUSE) MOVE(gp_capture_pause(&self.capture, true, gp_now_ns()));
    if (how == CLOSE_DUE) MOVE(gp_capture_tick(&self.capture, gp_now_ns()));
    if (how) atomic_store(&self.closing, CLOSE_NOT);
}

/* Where a call of the program ends; at once if there is nothing to wait for. */
static void close_later(enum closing how, int64_t least_ns)
{
    unsigned none = CLOSE_NOT;
    if (!atomic_load(&self.up) || !atomic_compare_exchange_strong(&self.closing, &none, how)) return;
    int64_t patience_ns = self.switches->await_end(close_now);
    if (patience_ns && patience_ns < least_ns) patience_ns = least_ns;
    self.closes_ns = gp_now_ns() + patience_ns;
    if (!patience_ns) close_now();
}

void gp_inject_window_set(bool open)
{
    if (open) close_now();
    else claim(CLOSE_NOT);
    MOVE(gp_capture_set(&self.capture, open, gp_now_ns()));
}

void gp_inject_window_close(void) { close_later(CLOSE_SET, 0); }

void gp_inject_window_end(int64_t least_ns)
{
    close_later(CLOSE_SET, least_ns);
    while (atomic_load(&self.closing)) {
        gp_rest_ms(1);
        gp_inject_window_tick(gp_now_ns());
    }
}

bool gp_inject_window_is_open(void)
{
    pthread_mutex_lock(&self.lock);
    bool open = atomic_load(&self.up) && self.capture.wanted;
    pthread_mutex_unlock(&self.lock);
    return open;
}

void gp_inject_window_pause(bool paused)
{
    if (paused) {
        close_later(CLOSE_PAUSE, 0);
        return;
    }
    close_now();
    MOVE(gp_capture_pause(&self.capture, false, gp_now_ns()));
}

/* Under the lock: whoever opens the window meanwhile waits, and takes CUPTI back. */
bool gp_inject_window_leave(int64_t since_ns, bool (*lend)(void))
{
    pthread_mutex_lock(&self.lock);
    const struct gp_capture *g = &self.capture;
    bool closed = !g->open && g->windows.n && g->windows.at[g->windows.n - 1].end_ns <= since_ns;
    if (closed && lend) lend();
    pthread_mutex_unlock(&self.lock);
    return closed;
}

uint64_t gp_inject_window_before(int64_t ns, bool *recording)
{
    pthread_mutex_lock(&self.lock);
    uint64_t n = gp_capture_before(&self.capture, ns);
    *recording = n && self.capture.windows.at[n - 1].end_ns > ns;
    pthread_mutex_unlock(&self.lock);
    return n;
}

bool gp_inject_range_begins(unsigned which, const char *domain, const char *text, int64_t ns)
{
    bool mine = false, changed = false;
    if (!gp_capture_range_matters(&self.capture, which, domain, text)) return false;
    MOVE((mine = gp_capture_range_begins(&self.capture, which, domain, text, ns, &changed), changed));
    return mine;
}

void gp_inject_range_ends(unsigned which, int64_t ns)
{
    MOVE(gp_capture_range_ends(&self.capture, which, ns));
}

int64_t gp_inject_window_due(void)
{
    return atomic_load(&self.closing) ? self.closes_ns : atomic_load(&self.due_ns);
}

void gp_inject_window_tick(int64_t now_ns)
{
    int64_t due_ns = atomic_load(&self.due_ns);
    if (atomic_load(&self.closing) && now_ns >= self.closes_ns) close_now();
    else if (due_ns && now_ns >= due_ns) close_later(CLOSE_DUE, 0);
    if (atomic_exchange(&self.over_launch, false)) self.switches->count_launches(false);
}

void gp_inject_window_windows(void (*tell)(void *ctx, const struct gp_wire_window *w), void *ctx)
{
    for (;;) {
        pthread_mutex_lock(&self.lock);
        bool any = self.reported < self.capture.windows.n;
        struct gp_window w = any ? self.capture.windows.at[self.reported] : (struct gp_window){0, 0};
        pthread_mutex_unlock(&self.lock);
        bool ended = w.end_ns != INT64_MAX;
        if (!any || (self.reported_start && !ended)) return;
        struct gp_wire_window wire = {self.reported, w.start_ns, w.end_ns};
        tell(ctx, &wire); /* may wait for the launcher, so not under the lock */
        self.reported_start = !ended;
        self.reported += ended;
    }
}

void gp_inject_window_forked(void)
{
    pthread_mutex_init(&self.lock, NULL);
    atomic_store(&self.up, false);
    atomic_store(&self.closing, CLOSE_NOT);
}
