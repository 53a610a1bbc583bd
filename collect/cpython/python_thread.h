/* python_thread.h -- the stack of one thread of a CPython process that runs on while it is read. What the
 * thread uses of its stack is guessed from last time and read twice in one call; the stack counts if both
 * copies agree and it reaches the base of the stack. Otherwise it is read again, and in the end the outer
 * frames that both copies share count as a partial one.
 *
 *     struct gp_py_thread t = {.at = address_of_its_state};
 *     switch (gp_py_thread_read(&reader, &t)) { case GP_PY_WHOLE: use(reader.stack, reader.n); ... }
 */
#ifndef GP_COLLECT_CPYTHON_PYTHON_THREAD_H
#define GP_COLLECT_CPYTHON_PYTHON_THREAD_H

#include <stdbool.h>
#include <stdint.h>
#include "collect/cpython/python_layout.h"
#include "collect/cpython/remote.h"

enum { GP_PY_DEPTH = 4096, GP_PY_PARTS = 48, GP_PY_PART_BYTES = 24 << 10, GP_PY_ODD = 96, GP_PY_HEAD = 8 };

enum gp_py_read {
    GP_PY_WHOLE,
    GP_PY_PARTIAL, /* its inner frames are missing */
    GP_PY_EMPTY,   /* it runs no Python code */
    GP_PY_TORN,    /* it changed too fast */
    GP_PY_GONE     /* there is no such thread any more */
};

/* A frame: where its code, itself and its next instruction are. */
struct gp_py_frame {
    uint64_t code, at, ip;
};

/* What is remembered of a thread between samples. Zeroed, with AT set, it is ready. */
struct gp_py_thread {
    uint64_t at;                /* of its state */
    uint64_t cframe;            /* that it had last */
    uint64_t part[GP_PY_PARTS]; /* of its stack, the newest first, and how much of each is read */
    uint32_t part_n[GP_PY_PARTS], parts;
    uint64_t root;           /* the oldest part, 0 unknown */
    uint64_t base;           /* the root that was known last: it stays as long as the thread does */
    uint64_t odd[GP_PY_ODD]; /* frames outside of the stack: of generators */
    uint32_t odds;
    struct gp_py_frame *last; /* the latest whole stack, innermost first; owned */
    uint32_t last_n;
};

/* Shared by all threads of a process. The stack of the latest call is STACK[0..N-1], innermost first; STATE
 * is the thread's. */
struct gp_py_reader {
    const struct gp_py_layout *layout;
    const struct gp_remote *remote;
    uint64_t retries, singles; /* how often it had to read again, or a frame that was not guessed */
    uint32_t n;
    struct gp_py_frame stack[GP_PY_DEPTH];
    uint8_t state[GP_PY_THREAD_MOST];
    /* private: the second copy's stack, and both copies of the guessed parts */
    struct gp_py_frame second[GP_PY_DEPTH];
    uint32_t second_n;
    uint64_t new_odd[GP_PY_ODD], top;
    uint32_t new_odds;
    bool have[2];
    uint64_t cframe; /* that was guessed */
    uint64_t again;  /* the last that was read: the pointer of the thread that leads to its innermost frame */
    uint8_t cframes[2][16];
    uint8_t parts[2][GP_PY_PARTS][GP_PY_PART_BYTES];
    uint8_t odds[2][GP_PY_ODD][GP_PY_HEAD + GP_PY_FRAME_MOST];
};

enum gp_py_read gp_py_thread_read(struct gp_py_reader *r, struct gp_py_thread *t);
/* The stack that was read is a whole and sound one: remember it. */
void gp_py_thread_keep(const struct gp_py_reader *r, struct gp_py_thread *t);
/* Is the stack that was read the one that is remembered? */
bool gp_py_thread_same(const struct gp_py_reader *r, const struct gp_py_thread *t);
/* Does every frame that is remembered stand where it did? In one read of what they take, so cheaper than
 * reading anew. False also where there are too many to tell. */
bool gp_py_thread_stands(struct gp_py_reader *r, const struct gp_py_thread *t);
void gp_py_thread_release(struct gp_py_thread *t);

#endif
