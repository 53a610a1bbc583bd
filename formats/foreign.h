/* foreign.h -- files that are not traces, but that people hand to tools by mistake: what each is, and the way
 * on. Recognised by their first bytes. Knows nothing of readers.
 *
 *     const char *what = gp_foreign_what(head, n);
 *     if (what) gp_fail(err, GP_E_FORMAT, 0, "%s", what);    // "a program: record it with gpuprof-collect ./app"
 */
#ifndef GP_FORMATS_FOREIGN_H
#define GP_FORMATS_FOREIGN_H

#include <stddef.h>

/* What the N bytes at HEAD begin, and what to do instead; NULL: nothing that is known. Static. */
const char *gp_foreign_what(const void *head, size_t n);

#endif
