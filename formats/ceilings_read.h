/* ceilings_read.h -- measured ceilings of a device, for trace-suggest --ceilings: a small JSON object,
 * described by schemas/ceilings.schema.json. Does not know how they are used, nor which types exist.
 *
 *     struct gp_ceilings_file f;
 *     if (gp_ceilings_read(&f, text, n, &err)) ...
 *     for (size_t i = 0; i < f.n; i++) use(f.flops[i].type, f.flops[i].per_s);
 */
#ifndef GP_FORMATS_CEILINGS_READ_H
#define GP_FORMATS_CEILINGS_READ_H

#include <stddef.h>
#include "formats/base/declare.h"

enum {
    GP_CEILINGS_TYPES = 16,     /* maximum number of types */
    GP_CEILINGS_TYPE_BYTES = 8, /* size of a type's name, including its NUL */
};

/* Members that the file does not have are 0. */
struct gp_ceilings_file {
    double memory_bytes_per_s, memory_read_bytes_per_s, memory_write_bytes_per_s;
    double l2_bytes_per_s, l2_bytes, empty_kernel_ns;
    struct {
        char type[GP_CEILINGS_TYPE_BYTES]; /* "bf16" */
        double per_s;
    } flops[GP_CEILINGS_TYPES];
    size_t n;
};

/* Fill F from N bytes at TEXT. -1 with ERR naming the member that is not a number above 0, or the position of
 * the error. A file without ceilings is an error, too; unknown members are ignored, for later versions. */
GP_MUST_CHECK int gp_ceilings_read(struct gp_ceilings_file *f, const char *text, size_t n,
                                   struct gp_err *err);

/* The number at PATH ("memory_bytes_per_s", "flops_per_s.bf16") of the document of N bytes at TEXT, which
 * gp_ceilings_read() has read; 0 if it has none, or none above 0. */
double gp_ceilings_number(const char *text, size_t n, const char *path);

#endif
