/* nsys_read.h -- the SQLite export of an Nsight Systems report (nsys export --type sqlite). Its columns are
 * looked for, never concluded from a version; tables that the export lacks are empty.
 *
 *     if (gp_nsys_matches(db)) gp_nsys_read(trace, db);
 */
#ifndef GP_FORMATS_NSYS_READ_H
#define GP_FORMATS_NSYS_READ_H

#include <stdbool.h>
#include "formats/sqlite/sqlite_db.h"
#include "formats/model/trace.h"

/* Does DB have tables of such an export? */
bool gp_nsys_matches(const struct gp_sqlite *db);
/* Append all of DB that T needs to T. */
void gp_nsys_read(struct gp_trace *t, struct gp_sqlite *db);

#endif
