/* python_stacks.h -- Python stacks as a tree: each entry is a function, a file and a line below a parent
 * entry, stored once. Pure; bounded.
 *
 *     uint32_t main_ = gp_stacks_put(&s, 0, "main", "train.py", 12);
 *     uint32_t step = gp_stacks_put(&s, main_, "step", "train.py", 30);
 */
#ifndef GP_COLLECT_SAMPLE_PYTHON_STACKS_H
#define GP_COLLECT_SAMPLE_PYTHON_STACKS_H

#include <stdint.h>
#include "formats/base/intern.h"
#include "formats/base/vec.h"

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

#endif
