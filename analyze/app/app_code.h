/* app_code.h -- the code of kernels, for a page: sources below a folder that the user named, and instructions
 * of a file that the user named. A trace only says which of them, so that one from elsewhere opens nothing
 * else. Only mains include this.
 *
 *     struct gp_app_code code = {0};
 *     if (gp_app_code(&code, &trace, &stalls, source, NULL, &err)) ...
 *     gp_app_code_release(&code);
 */
#ifndef GP_ANALYZE_APP_CODE_H
#define GP_ANALYZE_APP_CODE_H

#include "analyze/metrics/stalls.h"
#include "formats/base/declare.h"
#include "formats/listing_read.h"

struct gp_app_code {
    GP_VEC(struct gp_listing) all; /* of a file or a kernel each, with sids of the strings of the stalls */
};

/* Append what there is of the files of S, which is of T, in the folder SOURCE, and of its kernels without
 * lines in SASS: a listing, or a cubin, program or library that CUDA's nvdisasm or cuobjdump lists. NULL:
 * nothing. -1 with ERR if one of these two cannot be used. */
GP_MUST_CHECK int gp_app_code(struct gp_app_code *to, const struct gp_trace *t, const struct gp_stalls *s,
                              const char *source, const char *sass, struct gp_err *err);
void gp_app_code_release(struct gp_app_code *c);

#endif
