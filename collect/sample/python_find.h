/* python_find.h -- whether a process runs CPython, and where its runtime is: from the files that it has
 * mapped (the program itself, or libpython3), which need no symbols beyond those that other libraries link
 * to.
 *
 *     struct gp_py_place p;
 *     if (gp_py_find(pid, &p)) attach(p.runtime);
 */
#ifndef GP_COLLECT_SAMPLE_PYTHON_FIND_H
#define GP_COLLECT_SAMPLE_PYTHON_FIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Addresses in the process, 0 unknown. */
struct gp_py_place {
    uint64_t runtime, version, code_type;
    unsigned minor; /* by the name of the file, 0 unknown */
};

bool gp_py_find(pid_t pid, struct gp_py_place *p);
/* The same in the N bytes of one ELF file that is mapped at BASE. Any bytes may be passed. */
bool gp_py_find_elf(const uint8_t *file, size_t n, uint64_t base, struct gp_py_place *p);

#endif
