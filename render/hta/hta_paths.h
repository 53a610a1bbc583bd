/* hta_paths.h -- the critical paths of trace-hta's answer in its JSON.
 *
 *     gp_hta_json_paths(&doc, &hta, 10);           // "critical_path": {"paths": [...]}
 */
#ifndef GP_RENDER_HTA_PATHS_H
#define GP_RENDER_HTA_PATHS_H

#include "render/report/json_doc.h"

struct gp_hta;

/* With the first TOP names of each path; 0: all. */
void gp_hta_json_paths(struct gp_doc *d, const struct gp_hta *h, size_t top);
extern const struct gp_record gp_hta_path_rows;

#endif
