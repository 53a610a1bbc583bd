// SQLite files of strangers: rows of ordinary tables, values of the wrong type, and nothing of what could
// run.
#include <string.h>
#include "tests/unit/sqlite_make.h"
#include "tests/unit/unit.h"

static const char columns[] = "id value absent";
enum { ID, VALUE, ABSENT };

TEST(test_rows)
{
    struct sqlite_made f;
    struct gp_sqlite_scan scan;
    size_t n;
    double d;
    int64_t v = 9;
    open_made(&f, "CREATE TABLE t (value, id); INSERT INTO t VALUES ('a', 1), (2.5, -7), (NULL, 'x'), "
                  "(x'00', 1 << 62)");
    assert_true(gp_sqlite_has(f.db, "t"));
    assert_string_equal(gp_sqlite_table(f.db, 0), "t");
    assert_null(gp_sqlite_table(f.db, 1));
    assert_true(gp_sqlite_begin(f.db, &scan, "t", columns));
    assert_true(gp_sqlite_has_column(&scan, VALUE));
    assert_false(gp_sqlite_has_column(&scan, ABSENT));
    assert_true(gp_sqlite_next(&scan));
    assert_int_equal(gp_sqlite_int(&scan, ID, -1), 1);
    assert_int_equal(gp_sqlite_int(&scan, ABSENT, -1), -1);
    assert_string_equal(gp_sqlite_text(&scan, VALUE, &n), "a");
    assert_int_equal(n, 1);
    assert_true(gp_sqlite_next(&scan));
    assert_int_equal(gp_sqlite_int(&scan, ID, -1), -7);
    assert_true(gp_sqlite_double(&scan, VALUE, &d) && d == 2.5);
    assert_int_equal(f.t.issues[GP_Q_BAD_VALUE].count, 0);
    assert_null(gp_sqlite_text(&scan, VALUE, &n));
    assert_int_equal(f.t.issues[GP_Q_BAD_VALUE].count, 1);
    assert_true(gp_sqlite_next(&scan));
    assert_false(gp_sqlite_get(&scan, ID, &v));
    assert_int_equal(v, 9);
    assert_null(gp_sqlite_text(&scan, VALUE, &n));
    assert_int_equal(f.t.issues[GP_Q_BAD_VALUE].count, 2);
    assert_true(gp_sqlite_next(&scan));
    assert_int_equal(gp_sqlite_int(&scan, ID, 0), INT64_C(1) << 62);
    assert_false(gp_sqlite_next(&scan));
    assert_null(scan.stmt);
    assert_false(gp_sqlite_begin(f.db, &scan, "u", columns));
    assert_false(gp_sqlite_next(&scan));
    close_made(&f);
}

TEST(test_nothing_runs)
{
    struct sqlite_made f;
    struct gp_sqlite_scan scan;
    open_made(&f, "CREATE TABLE t (id, value AS (id + 1)); INSERT INTO t (id) VALUES (1);"
                  "CREATE VIEW v AS SELECT 1 AS id; CREATE INDEX i ON t (id);"
                  "CREATE TRIGGER r AFTER INSERT ON t BEGIN DELETE FROM t; END;"
                  "CREATE TABLE hidden (rowid, id); CREATE TABLE without (id PRIMARY KEY) WITHOUT ROWID");
    assert_false(gp_sqlite_has(f.db, "v"));
    assert_false(gp_sqlite_has(f.db, "r"));
    assert_true(gp_sqlite_begin(f.db, &scan, "t", columns));
    assert_true(gp_sqlite_has_column(&scan, ID));
    assert_false(gp_sqlite_has_column(&scan, VALUE));
    assert_true(gp_sqlite_next(&scan));
    gp_sqlite_end(&scan);
    assert_false(gp_sqlite_begin(f.db, &scan, "hidden", columns));
    assert_false(gp_sqlite_begin(f.db, &scan, "without", columns));
    assert_int_equal(f.t.issues[GP_Q_BAD_BLOCK].count, 2);
    close_made(&f);
}

TEST(test_a_name_is_no_sql)
{
    struct sqlite_made f;
    struct gp_sqlite_scan scan;
    const char *name = "a\"; DROP TABLE b; --";
    open_made(
        &f,
        "CREATE TABLE \"a\"\"; DROP TABLE b; --\" (id); INSERT INTO \"a\"\"; DROP TABLE b; --\" VALUES (5)");
    assert_true(gp_sqlite_begin(f.db, &scan, name, columns));
    assert_true(gp_sqlite_next(&scan));
    assert_int_equal(gp_sqlite_int(&scan, ID, 0), 5);
    gp_sqlite_end(&scan);
    close_made(&f);
}
