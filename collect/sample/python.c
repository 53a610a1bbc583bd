#include "collect/sample/python.h"

#include <stdlib.h>
#include <string.h>
#include "collect/cpython/python_code.h"
#include "formats/base/mem.h"
#include "formats/base/str.h"
#include "formats/model/samples.h"

enum { THREADS_MOST = 256, INTERPRETERS_MOST = 16, GLIBC_FIELDS = 1024 };
/* Where there are more threads than FEW, one whose stack was the same QUIET times is looked at every EVERY
 * times. */
enum { FEW = 8, QUIET = 16, EVERY = 8 };
enum { NAMED_AGAIN = 3 };

struct thread {
    struct gp_py_thread py;
    uint64_t interp, pthread;
    int64_t tid;
    uint32_t stack, quiet; /* quiet: how often its stack was the same */
    bool seen;
    enum gp_thread_does does;
    struct gp_thread_file file;
};

struct gp_py {
    pid_t pid;
    struct gp_remote remote;
    struct gp_py_layout layout;
    struct gp_py_codes codes;
    struct gp_py_reader *reader;
    struct gp_stacks *stacks;
    struct gp_py_counts counts;
    uint64_t runtime, turn;
    uint32_t tid_at; /* where glibc keeps the thread id; before 3.11 */
    GP_VEC(struct thread) threads;
};

struct gp_py *gp_py_new(pid_t pid, struct gp_remote remote, struct gp_py_reader *reader,
                        struct gp_stacks *stacks)
{
    struct gp_py *p = gp_zalloc(sizeof *p);
    p->pid = pid;
    p->remote = remote;
    p->reader = reader;
    p->stacks = stacks;
    return p;
}

static void free_thread(struct thread *t)
{
    gp_thread_close(&t->file);
    gp_py_thread_release(&t->py);
}

void gp_py_free(struct gp_py *p)
{
    if (!p) return;
    for (size_t i = 0; i < p->threads.n; i++) free_thread(&p->threads.at[i]);
    GP_VEC_FREE(&p->threads);
    gp_py_codes_release(&p->codes);
    free(p);
}

const struct gp_py_counts *gp_py_counts(const struct gp_py *p) { return &p->counts; }

/* ---- attaching ---- */

bool gp_py_attach(struct gp_py *p, const struct gp_py_place *place, const char **why)
{
    uint8_t table[GP_PY_TABLE_BYTES + 1] = {0}; /* ends with NUL */
    uint64_t interp = 0, head = 0, back = 0;
    uint32_t version = 0;
    *why = NULL;
    if (place->version) gp_remote_get(&p->remote, place->version, &version, sizeof version);
    bool has_table = gp_remote_get(&p->remote, place->runtime, table, GP_PY_TABLE_BYTES);
    if (!version && has_table && gp_starts((const char *)table, "xdebugpy"))
        version = gp_take_u64(table, 8) & UINT32_MAX;
    if (!version && place->minor) version = 3u << 24 | place->minor << 16;
    if (!version) return false;
    if (!gp_py_layout(&p->layout, version, table, GP_PY_TABLE_BYTES)) {
        bool begun = version >> 16 < (3u << 8 | 13) || gp_starts((const char *)table, "xdebugpy");
        if (has_table && begun) *why = "this version of Python is not supported, only " GP_PY_VERSIONS;
        return false;
    }
    p->runtime = place->runtime;
    p->codes = (struct gp_py_codes){.layout = &p->layout,
                                    .remote = &p->remote,
                                    .strings = &p->stacks->strings,
                                    .code_type = place->code_type};
    /* it may only just begin: then there is no interpreter, or no thread that belongs to it */
    if (!gp_remote_get(&p->remote, p->runtime + p->layout.runtime_head, &interp, 8) ||
        !gp_is_address(interp) || !gp_remote_get(&p->remote, interp + p->layout.interp_threads, &head, 8) ||
        !gp_is_address(head))
        return false;
    return gp_remote_get(&p->remote, head + p->layout.thread_interp, &back, 8) && back == interp;
}

/* ---- which threads there are ---- */

static struct thread *find_thread(struct gp_py *p, uint64_t at, uint64_t interp)
{
    for (size_t i = 0; i < p->threads.n; i++)
        if (p->threads.at[i].py.at == at) return &p->threads.at[i];
    GP_VEC_PUSH(&p->threads, ((struct thread){.py = {.at = at}, .interp = interp, .file = {-1}}));
    return &p->threads.at[p->threads.n - 1];
}

static bool list_interpreter(struct gp_py *p, uint64_t interp)
{
    const struct gp_py_layout *o = &p->layout;
    uint64_t at = 0, next[1];
    if (!gp_remote_get(&p->remote, interp + o->interp_threads, &at, sizeof at)) return false;
    for (unsigned n = 0; at && n < THREADS_MOST && p->threads.n < THREADS_MOST; n++) {
        if (!gp_is_address(at) || !gp_remote_get(&p->remote, at + o->thread_next, next, sizeof next)) break;
        struct thread *t = find_thread(p, at, interp);
        if (t->seen) break; /* a circle */
        t->seen = true;
        at = next[0];
    }
    return true;
}

/* Follow the lists of interpreters and threads; forget those that are gone. */
static bool list_threads(struct gp_py *p)
{
    uint64_t interp = 0;
    size_t kept = 0;
    for (size_t i = 0; i < p->threads.n; i++) p->threads.at[i].seen = false;
    if (!gp_remote_get(&p->remote, p->runtime + p->layout.runtime_head, &interp, sizeof interp)) return false;
    for (unsigned n = 0; gp_is_address(interp) && n < INTERPRETERS_MOST; n++) {
        if (!list_interpreter(p, interp)) break;
        if (!gp_remote_get(&p->remote, interp + p->layout.interp_next, &interp, sizeof interp)) break;
    }
    for (size_t i = 0; i < p->threads.n; i++) {
        if (p->threads.at[i].seen) p->threads.at[kept++] = p->threads.at[i];
        else free_thread(&p->threads.at[i]);
    }
    p->threads.n = kept;
    return true;
}

/* Are the threads those that were listed last, in their order? All in one call. */
static bool list_stands(struct gp_py *p)
{
    const struct gp_py_layout *o = &p->layout;
    struct gp_remote_range ranges[THREADS_MOST + 1];
    uint64_t next[THREADS_MOST + 1];
    size_t n = 0;
    if (!p->threads.n) return false;
    uint64_t interp = p->threads.at[0].interp;
    ranges[n] = (struct gp_remote_range){interp + o->interp_threads, &next[n], 8};
    for (n = 1; n <= p->threads.n; n++) {
        if (p->threads.at[n - 1].interp != interp) return false;
        ranges[n] = (struct gp_remote_range){p->threads.at[n - 1].py.at + o->thread_next, &next[n], 8};
    }
    if (p->remote.read(p->remote.ctx, ranges, n) != n) return false;
    uint64_t want = next[0];
    for (size_t i = 0; i < p->threads.n; i++) {
        size_t k = 0;
        while (k < p->threads.n && p->threads.at[k].py.at != want) k++;
        if (k == p->threads.n) return false;
        want = next[k + 1];
    }
    return !want;
}

/* Before 3.11 a thread state has no id of the system, but the address of glibc's own struct, which has
 * one. */
static int64_t old_tid(struct gp_py *p, struct thread *t, uint64_t pthread)
{
    uint8_t fields[GLIBC_FIELDS];
    uint32_t tid = 0;
    if (t->pthread == pthread && t->tid) return t->tid;
    t->pthread = pthread;
    if (!p->tid_at && gp_remote_get(&p->remote, pthread, fields, sizeof fields))
        for (uint32_t at = 64; at + 4 <= sizeof fields && !p->tid_at; at += 4)
            if (gp_take_u32(fields, at) == (uint32_t)p->pid) p->tid_at = at;
    return p->tid_at && gp_remote_get(&p->remote, pthread + p->tid_at, &tid, sizeof tid) ? tid : 0;
}

/* A thread state is made by the thread that starts the thread, and has the id of that one until it runs: so
 * the id is read every time. */
static bool take_tid(struct gp_py *p, struct thread *t)
{
    const struct gp_py_layout *o = &p->layout;
    int64_t tid = o->thread_native_id != GP_PY_NONE
                      ? (int64_t)gp_take_u64(p->reader->state, o->thread_native_id)
                      : old_tid(p, t, gp_take_u64(p->reader->state, o->thread_pthread));
    if (tid != t->tid) {
        gp_thread_close(&t->file);
        t->quiet = 0;
    }
    t->tid = tid;
    return tid > 0 && tid <= INT32_MAX;
}

/* ---- naming ---- */

/* The entry of the stack that was read; false if part of it is not code. */
static bool name_stack(struct gp_py *p, uint32_t *stack)
{
    const struct gp_py_code *codes[GP_PY_DEPTH], *distinct[GP_PY_DEPTH];
    const struct gp_py_reader *r = p->reader;
    uint32_t entry = 0, n = 0;
    for (uint32_t i = 0; i < r->n; i++) {
        codes[i] = gp_py_code(&p->codes, r->stack[i].code);
        if (!codes[i]) return false;
        bool again = i && codes[i] == codes[i - 1];
        if (!again) distinct[n++] = codes[i];
    }
    if (!gp_py_codes_check(&p->codes, distinct, n)) return false;
    for (uint32_t i = r->n; i-- > 0;) {
        bool ok;
        uint32_t line = gp_py_code_line(&p->codes, codes[i], r->stack[i].ip, &ok);
        if (!ok) return false;
        entry = gp_stacks_put(p->stacks, entry, codes[i]->name, codes[i]->file, line);
    }
    *stack = entry;
    return true;
}

/* The entry of as many outer frames of the stack that was read as have code that can be named; 0: none. */
static uint32_t name_outer(struct gp_py *p)
{
    const struct gp_py_reader *r = p->reader;
    uint32_t entry = 0;
    for (uint32_t i = r->n; i-- > 0;) {
        bool ok = false;
        const struct gp_py_code *code = gp_py_code(&p->codes, r->stack[i].code);
        if (!code || !gp_py_codes_check(&p->codes, &code, 1)) break;
        uint32_t line = gp_py_code_line(&p->codes, code, r->stack[i].ip, &ok);
        if (!ok) break;
        entry = gp_stacks_put(p->stacks, entry, code->name, code->file, line);
    }
    return entry;
}

/* ---- one sample ---- */

struct interpreter {
    uint64_t at, holder;
    uint64_t collector; /* without the GIL: the thread that collects garbage, 0 unknown */
    bool collecting, locked;
};

/* Without the GIL all threads but the one that collects are stopped most of the time: the only one that is
 * active. */
static uint64_t only_active(struct gp_py *p, uint64_t interp)
{
    enum { ACTIVE = 1 << 4 };
    struct gp_remote_range ranges[THREADS_MOST] = {{0}};
    uint32_t status[THREADS_MOST];
    uint64_t at[THREADS_MOST], only = 0;
    size_t n = 0;
    for (size_t i = 0; i < p->threads.n && n < THREADS_MOST; i++) {
        if (p->threads.at[i].interp != interp) continue;
        at[n] = p->threads.at[i].py.at;
        ranges[n] = (struct gp_remote_range){at[n] + p->layout.thread_status, &status[n], sizeof *status};
        n++;
    }
    if (p->remote.read(p->remote.ctx, ranges, n) != n) return 0;
    for (size_t i = 0; i < n; i++) {
        if (!(status[i] & ACTIVE)) continue;
        if (only) return 0;
        only = at[i];
    }
    return only;
}

/* What all threads of an interpreter share. */
static struct interpreter look_at(struct gp_py *p, uint64_t at)
{
    const struct gp_py_layout *o = &p->layout;
    struct interpreter i = {.at = at};
    uint32_t collecting = 0, locked = 0;
    uint64_t gil = p->runtime;
    if (o->interp_collecting != GP_PY_NONE)
        gp_remote_get(&p->remote, at + o->interp_collecting, &collecting, sizeof collecting);
    i.collecting = collecting == 1;
    if (i.collecting && o->thread_status != GP_PY_NONE) i.collector = only_active(p, at);
    if (o->gil_holder == GP_PY_NONE) return i;
    if (o->gil_pointer != GP_PY_NONE &&
        (!gp_remote_get(&p->remote, at + o->gil_pointer, &gil, sizeof gil) || !gp_is_address(gil)))
        return i;
    if (gp_remote_get(&p->remote, gil + o->gil_holder, &i.holder, sizeof i.holder) &&
        gp_remote_get(&p->remote, gil + o->gil_locked, &locked, sizeof locked))
        i.locked = locked == 1;
    return i;
}

/* Does the thread collect the garbage that its interpreter collects? */
static bool collects(const struct gp_py *p, const struct thread *t, const struct interpreter *i)
{
    if (p->layout.thread_status != GP_PY_NONE) return i->collector == t->py.at;
    return i->collecting && (!i->holder || (i->holder == t->py.at && i->locked));
}

/* A thread whose stack changes runs; of one whose stack stands still the kernel knows more. */
static enum gp_thread_does state_of(struct gp_py *p, struct thread *t, const struct interpreter *i)
{
    if (collects(p, t, i)) return GP_DOES_COLLECT;
    if (t->quiet < GP_SAMPLE_STILL) return t->does = GP_DOES_RUN;
    if (t->quiet == GP_SAMPLE_STILL || t->does == GP_DOES_RUN || !(t->quiet % EVERY))
        t->does = gp_thread_does(&t->file, p->pid, (pid_t)t->tid);
    bool waits = t->does == GP_DOES_LOCK && i->locked && i->holder && i->holder != t->py.at;
    return waits ? GP_DOES_GIL : t->does;
}

/* A stack that was read, whole or in part, as an entry; remembers it for comparison with the next. */
static bool understand(struct gp_py *p, struct thread *t, bool partial)
{
    bool same = !partial && t->stack && gp_py_thread_same(p->reader, &t->py);
    t->quiet = same ? t->quiet + 1 : 0;
    if (same) return true;
    uint32_t stack;
    bool ok = name_stack(p, &stack);
    if (ok && !partial) gp_py_thread_keep(p->reader, &t->py);
    t->stack = ok ? stack : 0;
    return ok;
}

/* Read the stack and name it. Code may be freed between the two, so it may take more than one try. */
static enum gp_py_read read_stack(struct gp_py *p, struct thread *t)
{
    enum gp_py_read got = GP_PY_TORN;
    for (int turn = 0; turn < NAMED_AGAIN; turn++) {
        got = gp_py_thread_read(p->reader, &t->py);
        if (got != GP_PY_WHOLE && got != GP_PY_PARTIAL) return got;
        if (!take_tid(p, t)) return GP_PY_EMPTY;
        if (understand(p, t, got == GP_PY_PARTIAL)) return got;
    }
    t->stack = name_outer(p);
    return t->stack ? GP_PY_PARTIAL : GP_PY_TORN;
}

/* False if the thread is gone. */
static bool sample_thread(struct gp_py *p, struct thread *t, struct interpreter *i,
                          void (*take)(void *ctx, const struct gp_py_sample *sample), void *ctx)
{
    enum gp_py_read got = read_stack(p, t);
    if (got == GP_PY_GONE) return false;
    if (got == GP_PY_EMPTY || got == GP_PY_TORN) {
        if (got == GP_PY_EMPTY) p->counts.empty++;
        else p->counts.torn++;
        t->stack = t->quiet = 0;
        return true;
    }
    if (i->at != t->interp) *i = look_at(p, t->interp);
    struct gp_py_sample s = {t->tid, t->stack, state_of(p, t, i), got == GP_PY_PARTIAL};
    if (s.partial) p->counts.partial++;
    else p->counts.whole++;
    if (s.partial) t->stack = 0; /* compare with nothing next time */
    take(ctx, &s);
    return true;
}

bool gp_py_sample(struct gp_py *p, void (*take)(void *ctx, const struct gp_py_sample *sample), void *ctx)
{
    struct interpreter i = {0};
    bool stale = false;
    p->reader->layout = &p->layout;
    p->reader->remote = &p->remote;
    gp_py_codes_trim(&p->codes);
    if (!list_stands(p) && !list_threads(p)) return false;
    p->turn++;
    for (size_t k = 0; k < p->threads.n; k++) {
        struct thread *t = &p->threads.at[k];
        if (p->threads.n > FEW && t->quiet >= QUIET && t->stack && (p->turn + k) % EVERY) {
            struct gp_py_sample s = {t->tid, t->stack, t->does, false};
            p->counts.skipped++;
            take(ctx, &s); /* as it was: it is looked at again soon */
            continue;
        }
        stale |= !sample_thread(p, t, &i, take, ctx);
    }
    return !stale || list_threads(p);
}

/* ---- stacks ---- */

static size_t hash_of(const struct gp_stack_node *n, uint64_t seed)
{
    return (size_t)gp_hash_place(n, sizeof *n, seed);
}

static void rehash(struct gp_stacks *s)
{
    size_t size = s->hash ? (s->mask + 1) * 2 : 1024;
    free(s->hash);
    s->hash = gp_zalloc(size * sizeof *s->hash);
    s->mask = size - 1;
    s->seed = gp_hash_seed();
    for (size_t i = 1; i < s->nodes.n; i++) {
        size_t at = hash_of(&s->nodes.at[i], s->seed) & s->mask;
        while (s->hash[at]) at = (at + 1) & s->mask;
        s->hash[at] = (uint32_t)i;
    }
}

uint32_t gp_stacks_put(struct gp_stacks *s, uint32_t parent, gp_sid name, gp_sid file, uint32_t line)
{
    struct gp_stack_node n = {parent, line, name, file};
    if (!s->nodes.n) GP_VEC_PUSH(&s->nodes, (struct gp_stack_node){0});
    if (!s->hash || s->nodes.n * 2 > s->mask) rehash(s);
    size_t at = hash_of(&n, s->seed) & s->mask;
    for (; s->hash[at]; at = (at + 1) & s->mask) {
        const struct gp_stack_node *k = &s->nodes.at[s->hash[at]];
        if (k->parent == parent && k->line == line && k->name == name && k->file == file) return s->hash[at];
    }
    if (s->nodes.n >= GP_STACKS_MOST) return parent;
    s->hash[at] = (uint32_t)s->nodes.n;
    GP_VEC_PUSH(&s->nodes, n);
    return s->hash[at];
}

void gp_stacks_release(struct gp_stacks *s)
{
    GP_VEC_FREE(&s->nodes);
    gp_strings_release(&s->strings);
    free(s->hash);
    memset(s, 0, sizeof *s);
}
