/* stack_numbers.h -- numbers for the stacks of one thread: the same frame below the same stack is the same
 * number, defined through the sink when it is met first. Reads the names of Python functions from their code
 * objects, whose frames must stand still, and the module of native code.
 *
 *     struct gp_stack_numbers n = {.sink = sink, .process = process};
 *     uint32_t id = gp_stack_numbers_below(&n, parent, &frame);        // 0: it cannot be had
 *     gp_stack_numbers_release(&n);
 */
#ifndef GP_COLLECT_STACKS_STACK_NUMBERS_H
#define GP_COLLECT_STACKS_STACK_NUMBERS_H

#include <stdint.h>
#include "collect/cpython/python_code.h"
#include "collect/stacks/launch_stack.h"
#include "formats/base/intern.h"
#include "formats/base/map.h"
#include "formats/base/vec.h"

/* A frame: where it is, its code, its instruction, and by what the code is recognised. If IP is
 * GP_FRAME_NATIVE, CODE is a return address; if it is GP_FRAME_TEXT, the address of a static text that names
 * the frame. */
struct gp_frame {
    uint64_t at, code, ip, mark;
};
#define GP_FRAME_NATIVE UINT64_MAX
#define GP_FRAME_TEXT   (UINT64_MAX - 1)

struct gp_known_stack;

/* Function NUMBER was the code at an address while that had MARK. */
struct gp_known_function {
    uint64_t mark;
    uint32_t number;
};

/* Fill the first two and zero the rest; the layout of the codes once there is an interpreter. */
struct gp_stack_numbers {
    struct gp_launch_sink sink;
    struct gp_stack_process *process;
    struct gp_known_stack *table;
    uint32_t mask, used, functions_used;
    struct gp_map function_at; /* code -> index */
    GP_VEC(struct gp_known_function) functions;
    struct gp_strings strings;
    struct gp_py_codes codes;
    struct gp_launch_counts counts;
};

/* The number of frame F below stack PARENT, 0: that is the outermost. */
uint32_t gp_stack_numbers_below(struct gp_stack_numbers *s, uint32_t parent, const struct gp_frame *f);
/* The same of the entry GP_STACK_AUTOGRAD. */
uint32_t gp_stack_numbers_autograd(struct gp_stack_numbers *s, uint32_t parent);
/* The entry that stands for outer frames that are not known. */
uint32_t gp_stack_numbers_unknown(struct gp_stack_numbers *s);
/* The file of the code object at CODE; "" if it is none. Valid until the next call. */
const char *gp_stack_numbers_file(struct gp_stack_numbers *s, uint64_t code);
void gp_stack_numbers_release(struct gp_stack_numbers *s);

#endif
