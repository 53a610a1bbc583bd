/* sqlite_db.h -- an SQLite file that a stranger wrote, read as rows of ordinary tables. No SQL of the file is
 * ever run: views, triggers, virtual tables and generated columns do not exist here, and an authorizer
 * refuses everything but reading columns. The file is opened read-only without locks, and nothing beside it
 * is opened. Knows nothing of traces but their list of issues.
 *
 *     struct gp_sqlite *db = gp_sqlite_open(in, trace, opts, &err);
 *     GP_SQLITE_EACH(scan, db, "StringIds", "id value") use(gp_sqlite_int(&scan, 0, -1));
 *     gp_sqlite_close(db);
 */
#ifndef GP_FORMATS_SQLITE_DB_H
#define GP_FORMATS_SQLITE_DB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "formats/base/declare.h"
#include "formats/base/map.h"
#include "formats/model/format.h"
#include "formats/model/trace.h"

struct gp_input;
struct gp_sqlite;

enum { GP_SQLITE_MOST_COLUMNS = 40 }; /* of a scan */

struct gp_sqlite_scan {
    struct gp_sqlite *db;
    void *stmt;                        /* sqlite3_stmt, NULL: nothing to read */
    int8_t at[GP_SQLITE_MOST_COLUMNS]; /* place in the result, -1: the table lacks it */
    int64_t last;                      /* row id of the last row */
    uint64_t rows;
    int tries; /* how often damage was skipped since the last row */
    int64_t skip;
};

/* Open the content of IN, which must stay open. What is compressed or comes from a pipe goes through a
 * temporary file, which T->input.spooled records. Damage that is found then and later is counted in T's
 * issues. */
struct gp_sqlite *gp_sqlite_open(struct gp_input *in, struct gp_trace *t, const struct gp_read_opts *opts,
                                 struct gp_err *err) GP_MUST_CHECK;
/* Accepts NULL. */
void gp_sqlite_close(struct gp_sqlite *db);

/* The name of the I-th ordinary table in the order of the file, NULL after the last. */
const char *gp_sqlite_table(const struct gp_sqlite *db, size_t i);
bool gp_sqlite_has(const struct gp_sqlite *db, const char *table);

/* Begin to read TABLE: those of COLUMNS, with a blank between two, that it has. False if there is no such
 * table, and then SCAN has no rows. */
bool gp_sqlite_begin(struct gp_sqlite *db, struct gp_sqlite_scan *scan, const char *table,
                     const char *columns);
/* The next row in the order of row ids. Damaged pages are skipped and counted. False: SCAN has ended. */
bool gp_sqlite_next(struct gp_sqlite_scan *scan);
/* Each row of TABLE in turn, at SCAN; no row may be left out by leaving the loop. */
#define GP_SQLITE_EACH(scan, db, table, columns)                                                             \
    for (struct gp_sqlite_scan scan = gp_sqlite_rows(db, table, columns); gp_sqlite_next(&scan);)
static inline struct gp_sqlite_scan gp_sqlite_rows(struct gp_sqlite *db, const char *table,
                                                   const char *columns)
{
    struct gp_sqlite_scan scan;
    gp_sqlite_begin(db, &scan, table, columns);
    return scan;
}
/* Does the table have column COLUMN, an index into the columns of the scan? */
static inline bool gp_sqlite_has_column(const struct gp_sqlite_scan *scan, int column)
{
    return scan->at[column] >= 0;
}
/* The integer in COLUMN of the current row, DFLT if there is none (a value of another type is counted). */
int64_t gp_sqlite_int(struct gp_sqlite_scan *scan, int column, int64_t dflt);
/* The same; false, and V untouched, if there is none. */
bool gp_sqlite_get(struct gp_sqlite_scan *scan, int column, int64_t *v);
/* The same where it fits 32 bits, otherwise 0. */
uint32_t gp_sqlite_u32(struct gp_sqlite_scan *scan, int column);
/* A number that may be real. */
bool gp_sqlite_double(struct gp_sqlite_scan *scan, int column, double *v);
/* The text in COLUMN of the current row, valid until the next one; NULL if there is none. */
const char *gp_sqlite_text(struct gp_sqlite_scan *scan, int column, size_t *n);
/* Only where rows are left. */
void gp_sqlite_end(struct gp_sqlite_scan *scan);

/* Texts that rows name by number. A file has many that no event uses: they are kept aside until one does. */
struct gp_sqlite_texts {
    struct gp_arena bytes;
    GP_VEC(struct gp_sqlite_kept {
        const char *p;
        size_t n;
        gp_sid sid; /* in the trace; 0: not used yet, or empty */
    })
    all;
    struct gp_map at; /* number -> index in `all` */
};
/* COLUMNS of TABLE: the number and the text. */
void gp_sqlite_texts_read(struct gp_sqlite_texts *k, struct gp_sqlite *db, const char *table,
                          const char *columns);
/* 0 if there is none. */
gp_sid gp_sqlite_texts_sid(struct gp_sqlite_texts *k, struct gp_trace *t, int64_t number);
void gp_sqlite_texts_release(struct gp_sqlite_texts *k);

#endif
