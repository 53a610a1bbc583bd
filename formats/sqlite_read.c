/* The reader of traces that are SQLite databases: which recorder wrote one shows in its tables. */
#include "formats/base/err.h"
#include "formats/base/input.h"
#include "formats/base/str.h"
#include "formats/reader.h"

#ifdef GP_HAVE_SQLITE

#include "formats/nsys/nsys_read.h"
#include "formats/rocpd/rocpd_read.h"
#include "formats/sqlite/sqlite_db.h"

static const struct {
    const char *name;
    bool (*matches)(const struct gp_sqlite *db);
    void (*read)(struct gp_trace *t, struct gp_sqlite *db);
} kinds[] = {{"rocpd", gp_rocpd_matches, gp_rocpd_read}, {"nsys", gp_nsys_matches, gp_nsys_read}};

static int read_sqlite(struct gp_trace *t, struct gp_input *in, const struct gp_read_opts *opts,
                       struct gp_err *err)
{
    struct gp_sqlite *db = gp_sqlite_open(in, t, opts, err);
    size_t kind = 0;
    if (!db) return -1;
    while (kind < GP_COUNT(kinds) && !kinds[kind].matches(db)) kind++;
    int failed = kind == GP_COUNT(kinds);
    if (failed) {
        gp_fail(err, GP_E_FORMAT, 0,
                "not a trace: an SQLite database without the tables of Nsight Systems or rocpd");
    } else {
        t->input.format = kinds[kind].name;
        kinds[kind].read(t, db);
    }
    gp_sqlite_close(db);
    return failed ? -1 : 0;
}

#else

static int read_sqlite(struct gp_trace *t, struct gp_input *in, const struct gp_read_opts *opts,
                       struct gp_err *err)
{
    (void)t, (void)in, (void)opts;
    return gp_fail(
        err, GP_E_FORMAT, 0,
        "an SQLite database, which this build cannot read: rebuild with SQLite (package libsqlite3-dev)");
}

#endif

static bool sniff(const uint8_t *head, size_t n) { return gp_begin(head, n, "SQLite format 3"); }

const struct gp_reader gp_reader_sqlite = {
    "sqlite", "an SQLite database of Nsight Systems or rocprofv3", sniff, read_sqlite, {"nsys", "rocpd"}};
