/* compile_text.h -- how places, values and counts of a compilation read in all formats. Knows nothing of
 * layout.
 *
 *     gp_compile_put_place(&buf, c, b->file, b->line, b->function);      // "brk.py:16 f_branch"
 */
#ifndef GP_ANALYZE_COMPILE_TEXT_H
#define GP_ANALYZE_COMPILE_TEXT_H

#include "analyze/compile/compile.h"
#include "formats/base/declare.h"

/* The path from the folder of installed packages on; other paths as they are. */
const char *gp_compile_short_path(const char *path);
/* File name, line and function; what is not known is left out. */
void gp_compile_put_place(struct gp_buf *to, const struct gp_compile *c, gp_sid file, int32_t line,
                          gp_sid function);
/* "3, 5, 7" or "0..7" of a recompile's values; of many the first. */
void gp_compile_put_values(struct gp_buf *to, const struct gp_compile *c,
                           const struct gp_compile_recompile *r);
/* "1 break", "3 breaks" */
void gp_compile_put_count(struct gp_buf *to, uint64_t n, const char *one, const char *many);

#endif
