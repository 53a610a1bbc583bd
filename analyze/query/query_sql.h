/* query_sql.h -- the tables of a trace in SQL: SQLite over the trace as it lies in memory, without a copy.
 * Statements only read: whatever would write, attach, load or set something is refused when it is prepared.
 * They end after a time, and use a bounded amount of memory. What a statement needs of a trace is known
 * before the trace is read.
 *
 *     struct gp_sql *s = gp_sql_open(&limits, &err);
 *     if (gp_sql_prepare(s, "SELECT name, sum(dur_ns) FROM kernels GROUP BY 1", &err)) ...
 *     uint32_t need = gp_sql_need(s), wants = gp_sql_wants(s);    // read the trace, make a struct gp_query
 *     gp_sql_bind(s, &query);
 *     while ((got = gp_sql_next(s, &err)) > 0) use(gp_sql_value(s, 0));
 *     gp_sql_close(s);
 */
#ifndef GP_ANALYZE_QUERY_SQL_H
#define GP_ANALYZE_QUERY_SQL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "formats/base/declare.h"

struct gp_query;
struct gp_sql;

struct gp_sql_limits {
    size_t memory_bytes; /* of SQLite; 0: 1 GiB */
    bool exports;        /* for gp_sql_export(): otherwise SQLite has no files, whatever a statement says */
    /* Asked now and then: is the time over? NULL: never. */
    bool (*expired)(void *ctx);
    void *ctx;
};

struct gp_sql *gp_sql_open(const struct gp_sql_limits *limits, struct gp_err *err) GP_MUST_CHECK;
/* Accepts NULL. */
void gp_sql_close(struct gp_sql *s);

/* Prepare the first statement of SQL; the one before is done with. *REST, unless REST is NULL, becomes what
 * follows it; without REST, more than one statement is an error. */
GP_MUST_CHECK int gp_sql_prepare(struct gp_sql *s, const char *sql, const char **rest, struct gp_err *err);
/* What it needs: GP_NEED(...) of the reader, and GP_QUERY_... */
uint32_t gp_sql_need(const struct gp_sql *s);
uint32_t gp_sql_wants(const struct gp_sql *s);
/* Q is borrowed, and has what is needed. */
void gp_sql_bind(struct gp_sql *s, struct gp_query *q);

/* Columns of the answer. */
int gp_sql_columns(const struct gp_sql *s);
const char *gp_sql_column(const struct gp_sql *s, int i);
/* 1: a row; 0: none is left; -1 with ERR. */
GP_MUST_CHECK int gp_sql_next(struct gp_sql *s, struct gp_err *err);

enum gp_sql_type { GP_SQL_NULL, GP_SQL_INT, GP_SQL_REAL, GP_SQL_TEXT };
struct gp_sql_value {
    enum gp_sql_type type;
    int64_t i;
    double d;
    const char *text; /* until the next row */
    size_t n;
};
struct gp_sql_value gp_sql_value(const struct gp_sql *s, int i);

/* Write all tables and views to PATH, an empty file; the trace that is bound has everything. The
 * user_version of the file is GP_SQL_SCHEMA: schemas/sqlite-1.md. */
enum { GP_SQL_SCHEMA = 1 };
GP_MUST_CHECK int gp_sql_export(struct gp_sql *s, const char *path, struct gp_err *err);

/* Views, in the order of lists. */
struct gp_sql_view {
    const char *name, *about, *select;
};
extern const struct gp_sql_view gp_sql_views[]; /* {NULL} at the end */

#endif
