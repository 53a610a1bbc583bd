/* Which thread waits for a thread of autograd, and with what stack. That thread is in another place of the
 * same process and may move on at any moment, so it is read as the sampler reads other processes: by calls
 * that cannot fault, twice, until both readings agree. While it waits its stack stays the same, so it is read
 * again only when there is a reason to doubt that. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include "collect/cpython/python_thread.h"
#include "collect/stacks/stack_numbers.h"
#include "collect/stacks/stacks_priv.h"
#include "formats/base/clock.h"

/* So long a stack is believed at first, and at most; and after so long a silence it is read anew. */
static const int64_t FIRST_NS = 50000, MOST_NS = 2000000, SILENCE_NS = 500000;
enum { CANDIDATES = 16 };

/* Never freed, since a thread of autograd may look at it at any time. */
struct gp_python_thread {
    struct gp_python_thread *next;
    int64_t tid;
    _Atomic uint64_t state; /* 0: the thread has ended */
    _Atomic uint64_t ran;   /* how often */
};

struct gp_waiting {
    struct gp_python_thread *thread; /* that waits, NULL: none */
    struct gp_py_thread memory;      /* of its stack */
    uint64_t ran;                    /* as it was when its stack was read */
    int64_t read_ns, asked_ns, window_ns;
    uint32_t stack;
};

/* ---- threads ---- */

void gp_python_thread_ran(struct gp_stack_process *p, struct gp_python_thread **t, uint64_t state)
{
    if (!*t) {
        struct gp_python_thread *fresh = calloc(1, sizeof *fresh);
        if (!fresh) return;
        fresh->tid = syscall(SYS_gettid);
        fresh->next = atomic_load(&p->first);
        while (!atomic_compare_exchange_weak(&p->first, &fresh->next, fresh)) continue;
        *t = fresh;
    }
    atomic_store_explicit(&(*t)->state, state, memory_order_relaxed);
    uint64_t ran = atomic_load_explicit(&(*t)->ran, memory_order_relaxed); /* only this thread changes it */
    atomic_store_explicit(&(*t)->ran, ran + 1, memory_order_relaxed);
    if (atomic_load_explicit(&p->latest, memory_order_relaxed) != *t)
        atomic_store_explicit(&p->latest, *t, memory_order_relaxed);
}

void gp_python_thread_ended(struct gp_python_thread *t)
{
    if (t) atomic_store(&t->state, 0);
}

/* ---- the stack of one ---- */

/* Number the frames that the reader has. 0 unless the innermost function belongs to torch.autograd. */
static uint32_t number_of(struct gp_stack_numbers *s, const struct gp_own_python *py,
                          const struct gp_py_reader *r)
{
    uint32_t id = 0;
    if (!r->n || !strstr(gp_stack_numbers_file(s, r->stack[0].code), "/torch/autograd/")) return 0;
    for (uint32_t i = r->n; i-- > 0;) {
        struct gp_frame f = {r->stack[i].at, r->stack[i].code, r->stack[i].ip,
                             gp_own_code_mark(py, r->stack[i].code, true)};
        id = gp_stack_numbers_below(s, id, &f);
        if (!id) return 0;
    }
    return gp_stack_numbers_autograd(s, id);
}

static struct gp_py_reader *get_reader(struct gp_stack_process *p)
{
    if (p->reader) return p->reader;
    void *m = mmap(NULL, sizeof *p->reader, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return p->reader = m == MAP_FAILED ? NULL : m;
}

/* Read the stack of the thread that W has in mind. */
static uint32_t read_it(struct gp_waiting *w, struct gp_stack_numbers *s, const struct gp_own_python *py,
                        struct gp_py_reader *r)
{
    uint64_t state = atomic_load(&w->thread->state), ran = atomic_load(&w->thread->ran);
    if (!state) return 0;
    if (w->memory.at != state) {
        gp_py_thread_release(&w->memory);
        w->memory.at = state;
        w->stack = 0;
    }
    r->layout = &py->layout;
    r->remote = &py->memory;
    bool same = w->stack && gp_py_thread_stands(r, &w->memory);
    if (!same && gp_py_thread_read(r, &w->memory) != GP_PY_WHOLE) return 0;
    same = same || (w->stack && gp_py_thread_same(r, &w->memory));
    w->window_ns = same ? 2 * w->window_ns : FIRST_NS;
    if (w->window_ns > MOST_NS) w->window_ns = MOST_NS;
    w->ran = ran;
    if (same) return w->stack;
    gp_py_thread_keep(r, &w->memory);
    return number_of(s, py, r);
}

/* The thread that waited last, the one that launched last, or any other. */
static void find_it(struct gp_waiting *w, struct gp_stack_numbers *s, const struct gp_own_python *py,
                    struct gp_py_reader *r)
{
    struct gp_stack_process *p = s->process;
    struct gp_python_thread *latest = atomic_load(&p->latest), *t = atomic_load(&p->first);
    if (w->thread && (w->stack = read_it(w, s, py, r))) return;
    struct gp_python_thread *tried = w->thread;
    if (latest && latest != tried) {
        w->thread = latest;
        if ((w->stack = read_it(w, s, py, r))) return;
    }
    for (int n = 0; t && n < CANDIDATES; n++, t = t->next) {
        if (t == tried || t == latest) continue;
        w->thread = t;
        if ((w->stack = read_it(w, s, py, r))) return;
    }
}

/* ---- life ---- */

struct gp_waiting *gp_waiting_new(void) { return calloc(1, sizeof(struct gp_waiting)); }

uint32_t gp_waiting_stack(struct gp_waiting *w, struct gp_stack_numbers *s, const struct gp_own_python *py,
                          int64_t *tid)
{
    int64_t now_ns = gp_now_ns();
    bool stands = w->stack && now_ns - w->read_ns < w->window_ns && now_ns - w->asked_ns < SILENCE_NS &&
                  w->ran == atomic_load_explicit(&w->thread->ran, memory_order_relaxed);
    w->asked_ns = now_ns;
    if (!stands && gp_stack_try(&s->process->reading)) {
        struct gp_py_reader *r = get_reader(s->process);
        if (r) find_it(w, s, py, r);
        gp_stack_let_go(&s->process->reading);
        w->read_ns = now_ns;
    }
    *tid = w->stack ? w->thread->tid : 0;
    return w->stack;
}

void gp_waiting_free(struct gp_waiting *w)
{
    if (!w) return;
    gp_py_thread_release(&w->memory);
    free(w);
}
