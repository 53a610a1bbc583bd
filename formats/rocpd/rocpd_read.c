#include "formats/rocpd/rocpd_read.h"

#include "formats/base/str.h"
#include "formats/rocpd/rocpd_priv.h"

static const char FIRST[] = "rocpd_string"; /* a table that every database has, with a suffix */

bool gp_rocpd_matches(const struct gp_sqlite *db)
{
    const char *name;
    for (size_t i = 0; (name = gp_sqlite_table(db, i)); i++)
        if (gp_starts(name, FIRST)) return true;
    return false;
}

/* Merged files have the tables of several recordings, each with its suffix. */
void gp_rocpd_read(struct gp_trace *t, struct gp_sqlite *db)
{
    static const char collector[] = "\"rocprofv3\"";
    const char *name;
    for (size_t i = 0; (name = gp_sqlite_table(db, i)); i++) {
        if (!gp_starts(name, FIRST)) continue;
        struct gp_rocpd r = {.t = t, .db = db, .suffix = name + strlen(FIRST)};
        gp_rocpd_load(&r);
        gp_rocpd_events(&r);
        gp_rocpd_release(&r);
    }
    gp_trace_set_meta(t, "collector", collector, strlen(collector));
}
