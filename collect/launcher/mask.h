/* mask.h -- command lines without what looks like a secret. Knows nothing of the run.
 *
 *     gp_mask_put(&buf, "--api-key", "s3cr3t");             // "***"
 *     gp_mask_put(&buf, "run", "--token=s3cr3t");           // "--token=***"
 */
#ifndef GP_COLLECT_MASK_H
#define GP_COLLECT_MASK_H

#include "formats/base/buf.h"

/* Append ARG of a command line, behind PREVIOUS (NULL: it is the first), to TO. A value is replaced by "***" when the name
 * before its "=", or the option before it, is one of secrets, when it is an access key of AWS, or when 32 or more letters of
 * base64 or hexadecimal digits follow "=". */
void gp_mask_put(struct gp_buf *to, const char *previous, const char *arg);

#endif
