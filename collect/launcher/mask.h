/* mask.h -- command lines without what looks like a secret. Knows nothing of the run.
 *
 *     gp_mask_put(&buf, "--api-key", "s3cr3t");             // "***"
 *     gp_mask_put(&buf, "run", "--token=s3cr3t");           // "--token=***"
 *     gp_mask_put(&buf, "run", "https://me:s3cr3t@host");   // "https://...", masked
 */
#ifndef GP_COLLECT_MASK_H
#define GP_COLLECT_MASK_H

#include "formats/base/declare.h"

/* Append ARG of a command line, behind PREVIOUS (NULL: it is the first), to TO. From where a secret begins,
 * the rest of the argument is "***". Only these forms are known:
 * - a value behind a name that contains key, token, pass, pwd, secret, credential, auth, cookie, bearer, signature or jwt, or
 * that is sig, sas, pw or pat: NAME=VALUE, NAME: VALUE, "NAME": VALUE, --NAME VALUE, anywhere in an argument,
 * and VALUE as an argument of its own behind --NAME or a bare NAME
 * - the values of -pVALUE, -p VALUE, -k VALUE, and -u USER:VALUE
 * - what is before the @ of SCHEME://USER:VALUE@HOST
 * - a key with a known prefix, such as AKIA, ghp_, hf_, sk- or eyJ
 * - 32 letters and digits or more in a row; behind "=" also those of base64
 */
void gp_mask_put(struct gp_buf *to, const char *previous, const char *arg);

#endif
