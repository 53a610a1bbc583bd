/* expects.h -- predictions of a file, in the words of a comparison.
 *
 *     struct gp_expects e = {0};
 *     if (gp_expects_of_file(&e, &file, &err)) ...
 *     opts.expects = &e;
 *     gp_expects_release(&e);
 */
#ifndef GP_ANALYZE_EXPECTS_H
#define GP_ANALYZE_EXPECTS_H

#include "analyze/diff/diff.h"
#include "formats/base/declare.h"
#include "formats/expect_read.h"

/* Append what F predicts to E. -1 with ERR naming the prediction of something that does not exist. */
GP_MUST_CHECK int gp_expects_of_file(struct gp_expects *e, const struct gp_expect_file *f,
                                     struct gp_err *err);

#endif
