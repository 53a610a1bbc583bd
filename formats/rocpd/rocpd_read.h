/* rocpd_read.h -- the SQLite files of AMD's rocprofv3 (rocpd). Their tables have a suffix of their own behind
 * views, which are not used. Three layouts of times and places are known; the columns decide which it is.
 *
 *     if (gp_rocpd_matches(db)) gp_rocpd_read(trace, db);
 */
#ifndef GP_FORMATS_ROCPD_READ_H
#define GP_FORMATS_ROCPD_READ_H

#include <stdbool.h>
#include "formats/sqlite/sqlite_db.h"
#include "formats/model/trace.h"

/* Does DB have tables of rocpd? */
bool gp_rocpd_matches(const struct gp_sqlite *db);
/* Append all of DB that T needs to T. */
void gp_rocpd_read(struct gp_trace *t, struct gp_sqlite *db);

#endif
