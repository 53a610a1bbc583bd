/* Sessions of the program, and recording that it switches: its threads ask, and the flush thread, which calls
 * CUPTI and speaks with the launcher, answers. */
#include "collect/inject/inject_cuts.h"

#include <errno.h>
#include <stdlib.h>
#include "collect/inject/inject.h"
#include "collect/inject/inject_window.h"
#include "collect/inject/tracer.h"
#include "collect/inject/wakeup.h"

enum { ANSWER_S = 90 };

struct asked {
    struct asked *next;
    enum gp_ask ask;
    struct gp_wire_cut frame;
    struct gp_wire_cut_done done;
    bool memory, taken, answered;
    bool left; /* nobody waits any longer: whoever answers frees it */
    int error;
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t answered;
    struct asked *first; /* under lock */
    bool open;           /* under lock: somebody answers */
    /* flush thread only */
    bool alone;
    bool gone;     /* the launcher did not answer */
    bool on;       /* the program has switched recording on */
    bool opened;   /* the window was opened for a session */
    unsigned cuts; /* sessions that are open */
} self = {.lock = PTHREAD_MUTEX_INITIALIZER, .answered = PTHREAD_COND_INITIALIZER};

/* ---- the program's threads ---- */

static void forget(const struct asked *a)
{
    struct asked **at = &self.first;
    while (*at && *at != a) at = &(*at)->next;
    if (*at) *at = a->next;
}

/* Under the lock: put A at the end of the queue, and wait. */
static void wait_for(struct asked *a)
{
    struct asked **at = &self.first;
    struct timespec until = gp_clock_after(ANSWER_S);
    int rc = 0;
    while (*at) at = &(*at)->next;
    *at = a;
    gp_inject_wake(false);
    while (!a->answered && rc != ETIMEDOUT) rc = pthread_cond_timedwait(&self.answered, &self.lock, &until);
    if (!a->answered && !a->taken) forget(a);
    a->left = !a->answered && a->taken;
}

int gp_inject_ask(enum gp_ask ask, struct gp_wire_cut *frame, bool memory, struct gp_wire_cut_done *done)
{
    struct asked *a = calloc(1, sizeof *a);
    if (!a) return GPUPROF_E_GONE;
    a->ask = ask;
    a->memory = memory;
    a->error = GPUPROF_E_GONE;
    if (frame) a->frame = *frame;
    pthread_mutex_lock(&self.lock);
    if (self.open) wait_for(a);
    bool left = a->left;
    int error = a->error;
    pthread_mutex_unlock(&self.lock);
    if (left) return GPUPROF_E_GONE;
    if (frame) *frame = a->frame;
    if (done) *done = a->done;
    free(a);
    return error;
}

/* ---- the flush thread ---- */

void gp_inject_cuts_start(bool alone)
{
    pthread_mutex_lock(&self.lock);
    self.alone = alone;
    self.gone = self.on = self.opened = false;
    self.cuts = 0;
    self.open = true;
    pthread_mutex_unlock(&self.lock);
}

/* Record, if that is not so already. */
static int open_window(bool memory)
{
    if (self.gone) return GPUPROF_E_GONE;
    gp_say_quiet(true); /* the program asks for the reason */
    bool taken = gp_tracer_take();
    gp_say_quiet(false);
    if (!taken) return gp_tracer_holder() ? GPUPROF_E_HELD : GPUPROF_E_CUPTI;
    if (gp_inject_window_is_open()) return GPUPROF_OK;
    if (self.alone) gp_tracer_want_memory(memory);
    gp_inject_window_set(true);
    if (!gp_inject_window_is_open()) return GPUPROF_E_SHUT;
    self.opened = true;
    return GPUPROF_OK;
}

/* Nobody needs it any longer: as before the first of them. */
static void close_window(void)
{
    if (self.cuts || self.on || !self.opened) return;
    gp_inject_window_set(false);
    self.opened = false;
}

static void lend(const struct gp_inject_flusher *f)
{
    if (self.cuts || self.on || !self.alone || gp_tracer_is_lent()) return;
    gp_tracer_flush(true);
    f->flush();
    if (gp_tracer_lend()) f->flush();
}

static int begin(const struct gp_inject_flusher *f, struct gp_wire_cut *frame, bool memory)
{
    int error = open_window(memory);
    if (error) {
        lend(f);
        return error;
    }
    frame->start_ns = gp_now_ns();
    f->send(GP_WIRE_CUT, frame, sizeof *frame);
    self.cuts++;
    return GPUPROF_OK;
}

static int record(const struct gp_inject_flusher *f, bool on, bool memory)
{
    int error = on ? open_window(memory) : GPUPROF_OK;
    self.on = on && !error;
    if (on) return error;
    if (!self.cuts && gp_inject_window_is_open()) {
        gp_inject_window_set(false);
        self.opened = false;
    }
    lend(f);
    return GPUPROF_OK;
}

static int answer(const struct gp_inject_flusher *f, struct asked *a)
{
    switch (a->ask) {
    case GP_ASK_BEGIN: return begin(f, &a->frame, a->memory);
    case GP_ASK_END:
        f->flush();
        f->send(GP_WIRE_CUT, &a->frame, sizeof a->frame);
        bool heard = f->hear(&a->done);
        self.gone = !heard;
        self.cuts--;
        close_window();
        lend(f);
        return !heard ? GPUPROF_E_GONE : a->done.why[0] ? GPUPROF_E_FILE : GPUPROF_OK;
    default: return record(f, a->ask == GP_ASK_RECORD, a->memory);
    }
}

/* Not under the lock while CUPTI is called: a thread of the program may be inside CUDA and ask. */
void gp_inject_cuts_serve(const struct gp_inject_flusher *f)
{
    for (;;) {
        pthread_mutex_lock(&self.lock);
        struct asked *a = self.first;
        if (a) self.first = a->next;
        if (a) a->taken = true;
        pthread_mutex_unlock(&self.lock);
        if (!a) return;
        int error = answer(f, a);
        pthread_mutex_lock(&self.lock);
        a->error = error;
        a->answered = true;
        bool left = a->left;
        pthread_cond_broadcast(&self.answered);
        pthread_mutex_unlock(&self.lock);
        if (left) free(a);
    }
}

void gp_inject_cuts_close(void)
{
    pthread_mutex_lock(&self.lock);
    self.open = false;
    for (struct asked *a = self.first; a; a = a->next) a->answered = true;
    self.first = NULL;
    pthread_cond_broadcast(&self.answered);
    pthread_mutex_unlock(&self.lock);
}

void gp_inject_cuts_forked(void)
{
    pthread_mutex_init(&self.lock, NULL);
    pthread_cond_init(&self.answered, NULL);
    self.first = NULL;
    self.open = false;
}
