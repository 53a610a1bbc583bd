/* browser.h -- opens a page in the user's browser without showing its address,
 * which holds a secret, to other users: a file that only its owner can read
 * leads there, and only the name of the file is an argument of a process.
 *
 *     char *file = gp_browser_open("/run/user/1000",
 * "http://127.0.0.1:8080/#token=...", say, &err); unlink(file); free(file);
 */
#ifndef GP_RENDER_SERVE_BROWSER_H
#define GP_RENDER_SERVE_BROWSER_H

#include "formats/base/declare.h"

/* Start xdg-open for a file in FOLDER that leads to LINK. It is not waited for;
 * should it fail, MESSAGE, a line, goes to standard error. The name of the file
 * is the caller's, as is the file; NULL with ERR filled if it could not be
 * written. */
GP_MUST_CHECK char *gp_browser_open(const char *folder, const char *link, const char *message,
                                    struct gp_err *err);

#endif
