/* query_sql_priv.h -- what the parts of the SQL side share: a connection, its tables and functions. Private
 * to this wing.
 *
 *     struct gp_sql *s = gp_sql_open(&limits, &err);
 *     int rc = gp_sql_make_module(s);
 */
#ifndef GP_ANALYZE_QUERY_SQL_PRIV_H
#define GP_ANALYZE_QUERY_SQL_PRIV_H

#include <sqlite3.h>
#include "analyze/query/query.h"
#include "analyze/query/query_order.h"
#include "analyze/query/query_sql.h"

enum { GP_SQL_PATTERNS = 8, GP_SQL_FUNCTIONS = 5 };

/* A column of a table: a field, and how far into the row the struct lies that it is of. */
struct gp_sql_column {
    const struct gp_field *f;
    size_t base;
};
struct gp_sql_columns {
    GP_VEC(struct gp_sql_column) v;
};

/* Frames that a pattern matches. */
struct gp_sql_pattern {
    char *text;
    uint8_t *hit; /* by stack: it or a frame around it does */
};

struct gp_sql_function {
    struct gp_sql *s;
    const char *name;
};

struct gp_sql {
    sqlite3 *db;
    sqlite3_stmt *stmt;
    struct gp_query *q; /* NULL: none yet */
    struct gp_sql_limits limits;
    bool guarded, expired; /* statements are those of a user; the time was over */
    const char *refused;   /* what a statement wanted to do */
    uint32_t need, wants;
    unsigned generation; /* of the trace: indexes of an older one are made anew */
    struct gp_sql_pattern patterns[GP_SQL_PATTERNS];
    size_t next_pattern;
    struct gp_sql_function functions[GP_SQL_FUNCTIONS];
};

/* The columns of a table, those of parts of rows included. */
void gp_sql_columns_of(struct gp_sql_columns *c, const struct gp_record *rec, size_t base);
/* SQLite's word for the type of a field. */
const char *gp_sql_type_of(const struct gp_field *f);

/* Virtual tables (query_module.c) and functions (query_functions.c). SQLITE_OK or its error. */
int gp_sql_make_module(struct gp_sql *s);
int gp_sql_make_functions(struct gp_sql *s);
void gp_sql_forget_patterns(struct gp_sql *s);

#endif
