/* python.h -- the Python threads of one process, sampled from outside. Knows no clock and no file: whoever
 * calls it decides when, and takes the results.
 *
 *     struct gp_py *p = gp_py_new(pid, remote, &reader, &stacks);
 *     if (gp_py_attach(p, &place)) gp_py_sample(p, take, ctx);
 *     gp_py_free(p);
 */
#ifndef GP_COLLECT_SAMPLE_PYTHON_H
#define GP_COLLECT_SAMPLE_PYTHON_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "collect/cpython/python_layout.h"
#include "collect/cpython/python_thread.h"
#include "collect/cpython/remote.h"
#include "formats/base/intern.h"
#include "formats/base/vec.h"

/* ---- stacks ----
 * Python stacks as a tree: each entry is a function, a file and a line below a parent
 * entry, stored once. Pure; bounded.
 *
 *     uint32_t main_ = gp_stacks_put(&s, 0, "main", "train.py", 12);
 *     uint32_t step = gp_stacks_put(&s, main_, "step", "train.py", 30);
 */

enum { GP_STACKS_MOST = 1 << 20 };

struct gp_stack_node {
    uint32_t parent; /* 0: it is the outermost */
    uint32_t line;   /* 0 unknown */
    gp_sid name, file;
};

/* Entry 0 means none. Zeroed it is empty. */
struct gp_stacks {
    struct gp_strings strings;
    GP_VEC(struct gp_stack_node) nodes;
    uint32_t *hash;
    size_t mask;
    uint64_t seed;
};

/* The entry of NAME at LINE of FILE, called from PARENT; new ones are added until there are GP_STACKS_MOST:
 * then PARENT. NAME and FILE are of s->strings. */
uint32_t gp_stacks_put(struct gp_stacks *s, uint32_t parent, gp_sid name, gp_sid file, uint32_t line);
void gp_stacks_release(struct gp_stacks *s);

/* ---- threads and their stacks ---- */

struct gp_py;

/* What one thread was doing. */
struct gp_py_sample {
    int64_t tid;
    uint32_t stack; /* of struct gp_stacks */
    enum gp_thread_does does;
    bool partial; /* inner frames are missing */
};

/* Since the process was attached to. */
struct gp_py_counts {
    uint64_t whole, partial, torn, empty, skipped;
};

/* READER and STACKS are shared with other processes, one at a time. */
struct gp_py *gp_py_new(pid_t pid, struct gp_remote remote, struct gp_py_reader *reader,
                        struct gp_stacks *stacks);
/* Find its interpreter. False if there is none (yet), or its version is not known: then *WHY is set, a static
 * text. */
bool gp_py_attach(struct gp_py *p, const struct gp_py_place *place, const char **why);
/* Look at each thread once. False if the process can no longer be read. */
bool gp_py_sample(struct gp_py *p, void (*take)(void *ctx, const struct gp_py_sample *sample), void *ctx);
const struct gp_py_counts *gp_py_counts(const struct gp_py *p);
void gp_py_free(struct gp_py *p);

#endif
