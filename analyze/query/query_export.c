/* The same tables as real ones, in a file. */
#include <string.h>
#include "analyze/query/query_sql_priv.h"
#include "formats/base/buf.h"
#include "formats/base/err.h"

/* The statement that makes a table documents it: SQLite keeps it as it is. */
static void put_table(struct gp_buf *sql, const struct gp_query_table *t)
{
    struct gp_sql_columns c = {0};
    gp_sql_columns_of(&c, &t->rec, 0);
    gp_buf_printf(sql, "CREATE TABLE x.%s ( -- %s\n", t->rec.id, t->rec.note);
    for (size_t i = 0; i < c.v.n; i++) {
        const struct gp_field *f = c.v.at[i].f;
        const char *help = f->help ? f->help : f->heading;
        gp_buf_printf(sql, "    \"%s\" %s%s%s%s%s\n", f->id, gp_sql_type_of(f),
                      strcmp(f->id, "id") ? "" : " PRIMARY KEY", i + 1 < c.v.n ? "," : "", help ? " -- " : "",
                      help ? help : "");
    }
    gp_buf_printf(sql, ");\nINSERT INTO x.%s SELECT * FROM main.%s;\n", t->rec.id, t->rec.id);
    GP_VEC_FREE(&c.v);
}

static void put_all(struct gp_buf *sql)
{
    const struct gp_query_table *t;
    gp_buf_printf(
        sql, "PRAGMA x.journal_mode = OFF; PRAGMA x.synchronous = OFF; PRAGMA x.user_version = %d; BEGIN;",
        GP_SQL_SCHEMA);
    for (size_t i = 0; (t = gp_query_table_at(i)); i++) put_table(sql, t);
    for (const struct gp_sql_view *v = gp_sql_views; v->name; v++)
        gp_buf_printf(sql, "CREATE VIEW x.%s AS %s;\n", v->name, v->select);
    gp_buf_puts(sql, "CREATE TABLE x.tables AS SELECT * FROM main.tables;"
                     "CREATE TABLE x.columns AS SELECT * FROM main.columns; COMMIT; DETACH x;");
}

int gp_sql_export(struct gp_sql *s, const char *path, struct gp_err *err)
{
    struct gp_buf sql = {0};
    char *attach = sqlite3_mprintf("ATTACH %Q AS x;", path);
    put_all(&sql);
    s->guarded = false;
    sqlite3_limit(s->db, SQLITE_LIMIT_ATTACHED, 1);
    int rc = sqlite3_exec(s->db, attach, NULL, NULL, NULL);
    if (rc == SQLITE_OK) rc = sqlite3_exec(s->db, gp_buf_str(&sql), NULL, NULL, NULL);
    if (rc != SQLITE_OK) gp_fail(err, GP_E_IO, -1, "%s: %s", path, sqlite3_errmsg(s->db));
    sqlite3_limit(s->db, SQLITE_LIMIT_ATTACHED, 0);
    s->guarded = true;
    sqlite3_free(attach);
    gp_buf_release(&sql);
    return rc == SQLITE_OK ? 0 : -1;
}
