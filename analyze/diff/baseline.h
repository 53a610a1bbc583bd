/* baseline.h -- a folder of saved profiles by name, to compare a later trace with earlier ones that no longer
 * exist. FOLDER/NAME/000012-HASH.profile: numbers rise; HASH covers the measurements. Each file appears whole
 * or not at all; the oldest are removed beyond GP_BASELINE_KEEP. Knows nothing of comparing.
 *
 *     if (gp_baseline_save("ci/baselines", "main", &profile, &err)) ...
 *     gp_baseline_profiles all = {0};
 *     if (gp_baseline_load(&all, "ci/baselines", "main", &err)) ...
 *     gp_baseline_release(&all);
 */
#ifndef GP_ANALYZE_BASELINE_H
#define GP_ANALYZE_BASELINE_H

#include "analyze/diff/profile.h"
#include "formats/base/declare.h"
#include "formats/base/vec.h"

enum { GP_BASELINE_KEEP = 10, GP_BASELINE_NAME_MAX = 80 };

typedef GP_VEC(struct gp_profile) gp_baseline_profiles;

/* Does NAME consist of letters, digits, '.', '_' and '-', and begin with a letter or digit? It is then a
 * single folder in FOLDER. */
GP_MUST_CHECK int gp_baseline_check_name(const char *name, struct gp_err *err);
/* Append all profiles of that name, oldest first. Returns -1 if there are none or one cannot be read. */
GP_MUST_CHECK int gp_baseline_load(gp_baseline_profiles *to, const char *folder, const char *name,
                                   struct gp_err *err);
/* Add P, making both folders where they are missing. */
GP_MUST_CHECK int gp_baseline_save(const char *folder, const char *name, struct gp_profile *p,
                                   struct gp_err *err);
/* Add all N of them, or, where one has no GPU events, none: an empty trace would compare well with
 * everything. */
GP_MUST_CHECK int gp_baseline_save_all(const char *folder, const char *name, struct gp_profile *p, size_t n,
                                       struct gp_err *err);
void gp_baseline_release(gp_baseline_profiles *all);

#endif
