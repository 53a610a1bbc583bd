#include "formats/nsys/nsys_read.h"

#include "formats/nsys/nsys_priv.h"

bool gp_nsys_matches(const struct gp_sqlite *db)
{
    return gp_sqlite_has(db, "StringIds") || gp_sqlite_has(db, "CUPTI_ACTIVITY_KIND_KERNEL") ||
           gp_sqlite_has(db, "NVTX_EVENTS");
}

void gp_nsys_read(struct gp_trace *t, struct gp_sqlite *db)
{
    struct gp_nsys n = {.t = t, .db = db, .last.track = GP_NSYS_NONE};
    gp_nsys_load_strings(&n);
    gp_nsys_load_enums(&n);
    gp_nsys_load_names(&n);
    gp_nsys_read_gpu(&n);
    gp_nsys_read_host(&n);
    gp_nsys_read_ranges(&n);
    gp_nsys_read_syncs(&n);
    gp_nsys_read_memory(&n);
    gp_nsys_read_graphs(&n);
    gp_nsys_read_samples(&n);
    gp_nsys_read_target(&n);
    gp_nsys_release(&n);
}
