/* own_python.h -- the interpreter of this process: where things lie in it, and the state that it keeps of the
 * calling thread. Found by the symbols that every CPython exports.
 *
 *     if (gp_own_python_find(&py, &why)) state = gp_own_python_state(&py);   // 0: this thread has none
 */
#ifndef GP_COLLECT_STACKS_OWN_PYTHON_H
#define GP_COLLECT_STACKS_OWN_PYTHON_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include "collect/cpython/python_layout.h"
#include "collect/cpython/remote.h"
#include "formats/base/declare.h"

struct gp_own_python {
    struct gp_py_layout layout;
    uint64_t runtime, code_type;
    /* The state that the calling thread has now, and the one that it has even while it has let go of the
     * lock. */
    void *(*attached)(void);
    void *(*own)(void);
    /* This process's memory, read by calls that cannot fault. */
    struct gp_remote_process process;
    struct gp_remote memory;
};

/* False if there is none that can be read: then *WHY is a static text, or NULL where there is none at all, or
 * not yet. PY must not move. */
bool gp_own_python_find(struct gp_own_python *py, const char **why);

static inline uint64_t gp_own_u64(uint64_t at)
{
    uint64_t v;
    memcpy(&v, (const void *)(uintptr_t)at, sizeof v);
    return v;
}

static inline uint32_t gp_own_u32(uint64_t at)
{
    uint32_t v;
    memcpy(&v, (const void *)(uintptr_t)at, sizeof v);
    return v;
}

/* ---- by what a code object is recognised ----
 * Another one may have taken its place. From 3.12 on it has a number of its own; before that, its parts may
 * lie where those of the other one did, so what they hold counts, too. CAREFUL: it may be gone. */

static inline uint64_t gp_own_word(const struct gp_own_python *py, uint64_t at, bool careful)
{
    uint64_t v = 0;
    if (!careful) return gp_own_u64(at);
    gp_remote_get(&py->memory, at, &v, sizeof v);
    return v;
}

/* The end of a text, which is what differs. Its characters may be wider: then it is an earlier part. */
static inline uint64_t gp_own_text_mark(const struct gp_own_python *py, uint64_t at, bool careful)
{
    uint64_t n = gp_own_word(py, at + py->layout.str_length, careful), end = at + py->layout.str_ascii + n;
    return at ^ (n < sizeof n ? n : gp_own_word(py, end - sizeof n, careful) * 11);
}

static inline uint64_t gp_own_code_mark(const struct gp_own_python *py, uint64_t code, bool careful)
{
    const struct gp_py_layout *o = &py->layout;
    uint32_t version =
        o->code_version == GP_PY_NONE ? 0 : (uint32_t)gp_own_word(py, code + o->code_version, careful);
    if (GP_LIKELY(version)) return version;
    if (gp_own_word(py, code + o->object_type, careful) != py->code_type) return 0; /* it is none */
    uint64_t lines = gp_own_word(py, code + o->code_lines, careful);
    uint64_t n = gp_own_word(py, lines + o->bytes_size, careful);
    uint64_t mark = gp_own_text_mark(py, gp_own_word(py, code + o->code_name, careful), careful);
    mark = mark * 31 + gp_own_text_mark(py, gp_own_word(py, code + o->code_file, careful), careful);
    mark = mark * 31 + (lines ^ n << 40 ^ gp_own_word(py, code + o->code_first, careful) << 48);
    return n < sizeof n ? mark : mark * 31 + gp_own_word(py, lines + o->bytes_data + n - sizeof n, careful);
}

/* Before 3.12 there is one attached state for all threads, that of the one that holds the lock. */
static inline uint64_t gp_own_python_state(const struct gp_own_python *py)
{
    enum { OWN_SINCE = 12 };
    uint64_t at = (uint64_t)(uintptr_t)py->attached();
    bool ours = at && (py->layout.minor >= OWN_SINCE ||
                       gp_own_u64(at + py->layout.thread_pthread) == (uint64_t)pthread_self());
    return GP_LIKELY(ours) ? at : (uint64_t)(uintptr_t)py->own();
}

#endif
