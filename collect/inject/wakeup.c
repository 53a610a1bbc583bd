/* Threads of ours: how they start, and what wakes the flush thread when there is work; any thread may. */
#include "collect/inject/wakeup.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include "collect/inject/inject.h"

static struct {
    pthread_mutex_t lock;
    pthread_cond_t rung;
    unsigned work;      /* under lock: work before the next flush */
    _Atomic bool muted; /* there is no listener in this process */
} self = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void ring(unsigned work)
{
    if (atomic_load(&self.muted)) return;
    pthread_mutex_lock(&self.lock);
    self.work |= work;
    pthread_cond_signal(&self.rung);
    pthread_mutex_unlock(&self.lock);
}

void gp_inject_wake(bool write) { ring(write ? GP_WORK | GP_WORK_WRITE : GP_WORK); }

void gp_inject_soon(void) { ring(GP_WORK_SOON); }

void gp_inject_wakeup_init(const pthread_condattr_t *monotonic) { pthread_cond_init(&self.rung, monotonic); }

unsigned gp_inject_wakeup_wait(int64_t due_ns)
{
    struct timespec t = {.tv_sec = due_ns / 1000000000, .tv_nsec = due_ns % 1000000000};
    int rc = 0;
    pthread_mutex_lock(&self.lock);
    while (!self.work && rc != ETIMEDOUT) rc = pthread_cond_timedwait(&self.rung, &self.lock, &t);
    unsigned work = self.work;
    self.work = 0;
    pthread_mutex_unlock(&self.lock);
    return work;
}

void gp_inject_wakeup_forked(bool mute)
{
    if (mute) atomic_store(&self.muted, true);
    pthread_mutex_init(&self.lock, NULL);
}

bool gp_inject_thread(void *(*run)(void *))
{
    pthread_t thread;
    sigset_t all, before; /* signals belong to the program */
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    int rc = pthread_create(&thread, NULL, run, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc) gp_say("cannot start a thread: %s: this process runs untraced", strerror(rc));
    return !rc && !pthread_detach(thread);
}
