/* log_folder.h -- the logs that torch.compile left in a folder, one per process, by name. Reads no log.
 *
 *     struct gp_log_files files = {0};
 *     if (gp_log_folder("traces", &files, &err)) ...
 *     gp_log_files_release(&files);
 */
#ifndef GP_FORMATS_LOG_FOLDER_H
#define GP_FORMATS_LOG_FOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include "formats/base/declare.h"
#include "formats/base/vec.h"

struct gp_log_files {
    GP_VEC(char *) at; /* paths */
};

/* Is PATH a folder? */
bool gp_log_is_folder(const char *path);
/* Append the paths of the dedicated_log_torch_trace_* files in PATH, sorted. -1 when it cannot be read or has
 * none. */
GP_MUST_CHECK int gp_log_folder(const char *path, struct gp_log_files *files, struct gp_err *err);
void gp_log_files_release(struct gp_log_files *files);

#endif
