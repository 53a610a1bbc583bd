/* code_names.h -- names for the native code in a process's stacks, from the files that it was loaded from.
 * Where a trace ends, since reading what files say of their code takes long.
 *
 *     struct gp_code_names names = {0};
 *     gp_code_names_find(&names, &stacks);       // of all symbols that have come since the last call
 *     gp_code_names_release(&names);
 */
#ifndef GP_COLLECT_CODE_NAMES_H
#define GP_COLLECT_CODE_NAMES_H

#include "collect/records/call_stacks.h"

struct gp_symbolizer;

/* Zeroed it is ready. */
struct gp_code_names {
    struct gp_symbolizer *symbolizer; /* NULL: nothing native has come */
};

void gp_code_names_find(struct gp_code_names *names, struct gp_call_stacks *stacks);
void gp_code_names_release(struct gp_code_names *names);

#endif
