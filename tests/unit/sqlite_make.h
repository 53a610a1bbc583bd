/* sqlite_make.h -- SQLite files for the tests of their readers, made by SQL.
 *
 *     struct sqlite_made f;
 *     open_made(&f, "CREATE TABLE t (id, value); INSERT INTO t VALUES (1, 'a')");
 *     gp_nsys_read(&f.t, f.db);
 *     close_made(&f);
 */
#ifndef GP_TESTS_SQLITE_MAKE_H
#define GP_TESTS_SQLITE_MAKE_H

#include <sqlite3.h>
#include "formats/base/err.h"
#include "formats/base/input.h"
#include "formats/sqlite/sqlite_db.h"
#include "tests/unit/unit.h"

struct sqlite_made {
    unsigned char *bytes;
    struct gp_input *in;
    struct gp_trace t;
    struct gp_sqlite *db;
};

/* The file that SQL makes, opened. */
static inline void open_made(struct sqlite_made *f, const char *sql)
{
    sqlite3 *made;
    sqlite3_int64 n;
    struct gp_err err = {0};
    assert_int_equal(sqlite3_open(":memory:", &made), SQLITE_OK);
    assert_int_equal(sqlite3_exec(made, sql, NULL, NULL, NULL), SQLITE_OK);
    f->bytes = sqlite3_serialize(made, "main", &n, 0);
    sqlite3_close(made);
    assert_true(n >= 16 && !memcmp(f->bytes, "SQLite format 3", 16));
    gp_trace_init(&f->t, GP_NEED_ALL);
    f->in = gp_input_memory(f->bytes, (size_t)n, 1);
    f->db = gp_sqlite_open(f->in, &f->t, NULL, &err);
    assert_string_equal(err.msg, "");
    assert_non_null(f->db);
}

static inline void close_made(struct sqlite_made *f)
{
    gp_sqlite_close(f->db);
    gp_input_close(f->in);
    gp_trace_release(&f->t);
    sqlite3_free(f->bytes);
}

#endif
