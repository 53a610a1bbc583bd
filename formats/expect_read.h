/* expect_read.h -- predictions as trace-suggest writes them and trace-diff checks them: a small JSON object,
 * described by schemas/expect.schema.json. Does not interpret the predictions.
 *
 *     struct gp_expect_file f = {0};
 *     if (gp_expect_read(&f, text, n, &err)) ...
 *     for (size_t i = 0; i < f.items.n; i++) use(&f.items.at[i]);
 *     gp_expect_file_release(&f);
 */
#ifndef GP_FORMATS_EXPECT_READ_H
#define GP_FORMATS_EXPECT_READ_H

#include <stdbool.h>
#include <stddef.h>
#include "formats/base/declare.h"
#include "formats/base/mem.h"
#include "formats/base/vec.h"

enum gp_expect_sort { GP_EXPECT_METRIC, GP_EXPECT_IDLE, GP_EXPECT_OPERATION };

/* Predicts that the change of something lies between two values. */
struct gp_expect_item {
    enum gp_expect_sort sort;
    const char *name; /* "step"; "host"; an operation's name. NUL-terminated, in the file's memory */
    bool percent;     /* of the baseline; otherwise in ns, bytes or a number */
    double low, high;
};

struct gp_expect_file {
    struct gp_arena mem;
    GP_VEC(struct gp_expect_item) items;
};

/* Fill F, which is zeroed, from N bytes at TEXT. -1 with ERR naming the invalid prediction, or the position
 * of the error; F is then empty. A file without predictions is an error, too. */
GP_MUST_CHECK int gp_expect_read(struct gp_expect_file *f, const char *text, size_t n, struct gp_err *err);
void gp_expect_file_release(struct gp_expect_file *f);

#endif
