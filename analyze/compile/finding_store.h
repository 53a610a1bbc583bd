/* finding_store.h -- the findings of a run kept by name, so that a later run can be held against them:
 * FOLDER/NAME.findings, a line each (gp_compile_key). The file appears whole or not at all. Knows nothing of
 * comparing.
 *
 *     struct gp_finding_lines known = {0};
 *     if (gp_findings_load(&known, "ci", "main", &err)) ...
 *     if (gp_findings_save(&c, "ci", "main", &err)) ...
 *     gp_finding_lines_release(&known);
 */
#ifndef GP_ANALYZE_FINDING_STORE_H
#define GP_ANALYZE_FINDING_STORE_H

#include "analyze/compile/compile.h"
#include "formats/base/buf.h"
#include "formats/base/vec.h"

struct gp_finding_lines {
    struct gp_buf text;
    GP_VEC(const char *) at; /* into text */
};

/* -1 when NAME is none (gp_baseline_check_name), or nothing was saved by that name. */
GP_MUST_CHECK int gp_findings_load(struct gp_finding_lines *to, const char *folder, const char *name,
                                   struct gp_err *err);
/* Replace the document saved by that name; a missing folder is created. */
GP_MUST_CHECK int gp_findings_save(const struct gp_compile *c, const char *folder, const char *name,
                                   struct gp_err *err);
void gp_finding_lines_release(struct gp_finding_lines *lines);

#endif
