
#include <stdlib.h>
#include <string.h>
#include "analyze/query/query_sql_priv.h"
#include "formats/base/buf.h"
#include "formats/base/err.h"

enum {
    STEPS_A_LOOK = 10000, /* of SQLite's machine, between two looks at the time */
    LONGEST_SQL = 1 << 20,
    LONGEST_VALUE = 1 << 24,
};
#define MEMORY ((size_t)1 << 30)

/* ---- what a statement may do ---- */

static int refuse(struct gp_sql *s, const char *what)
{
    if (!s->refused) s->refused = what;
    return SQLITE_DENY;
}

static const char *word_of(int action)
{
    switch (action) {
    case SQLITE_ATTACH:
    case SQLITE_DETACH: return "attaches a file";
    case SQLITE_PRAGMA: return "sets or reads a setting";
    case SQLITE_TRANSACTION:
    case SQLITE_SAVEPOINT: return "is a transaction";
    default: return "writes";
    }
}

static void note_column(struct gp_sql *s, const char *table, const char *column)
{
    const struct gp_query_table *t = gp_query_table(table);
    struct gp_sql_columns c = {0};
    if (!t) return;
    s->need |= t->need;
    s->wants |= t->wants;
    gp_sql_columns_of(&c, &t->rec, 0);
    for (size_t i = 0; i < c.v.n; i++)
        if (!strcmp(c.v.at[i].f->id, column)) gp_query_column_wants(c.v.at[i].f, &s->need, &s->wants);
    GP_VEC_FREE(&c.v);
}

static int authorize(void *ctx, int action, const char *a, const char *b, const char *db, const char *by)
{
    struct gp_sql *s = ctx;
    (void)db, (void)by;
    if (!s->guarded) return SQLITE_OK;
    switch (action) {
    case SQLITE_SELECT:
    case SQLITE_RECURSIVE: return SQLITE_OK;
    case SQLITE_READ: note_column(s, a, b); return SQLITE_OK;
    case SQLITE_FUNCTION:
        return !strcmp(b, "load_extension") || !strcmp(b, "fts3_tokenizer") ? refuse(s, "loads code")
                                                                            : SQLITE_OK;
    default: return refuse(s, word_of(action));
    }
}

static int look_at_time(void *ctx)
{
    struct gp_sql *s = ctx;
    s->expired |= s->limits.expired && s->limits.expired(s->limits.ctx);
    return s->expired;
}

static int fail(struct gp_sql *s, int rc, struct gp_err *err)
{
    if (s->refused)
        return gp_fail(err, GP_E_USAGE, -1, "only statements that read are run; this one %s", s->refused);
    if (s->expired)
        return gp_fail(err, GP_E_LIMIT, -1, "the statement took too long; narrow it, or raise --timeout");
    if (rc == SQLITE_NOMEM)
        return gp_fail(err, GP_E_LIMIT, -1,
                       "the statement takes more than %zu MiB of memory; ask for less at once",
                       s->limits.memory_bytes >> 20);
    return gp_fail(err, GP_E_USAGE, -1, "%s", sqlite3_errmsg(s->db));
}

/* ---- life ---- */

static void set_limits(struct gp_sql *s)
{
    static const struct {
        int limit, most;
    } limits[] = {
        {SQLITE_LIMIT_LENGTH, LONGEST_VALUE},
        {SQLITE_LIMIT_SQL_LENGTH, LONGEST_SQL},
        {SQLITE_LIMIT_COLUMN, 500},
        {SQLITE_LIMIT_EXPR_DEPTH, 200},
        {SQLITE_LIMIT_COMPOUND_SELECT, 100},
        {SQLITE_LIMIT_VDBE_OP, 200000},
        {SQLITE_LIMIT_FUNCTION_ARG, 100},
        {SQLITE_LIMIT_ATTACHED, 0},
        {SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 100},
        {SQLITE_LIMIT_VARIABLE_NUMBER, 100},
        {SQLITE_LIMIT_TRIGGER_DEPTH, 1},
        {SQLITE_LIMIT_WORKER_THREADS, 0},
    };
    for (size_t i = 0; i < GP_COUNT(limits); i++) sqlite3_limit(s->db, limits[i].limit, limits[i].most);
    sqlite3_hard_heap_limit64((sqlite3_int64)s->limits.memory_bytes);
    sqlite3_db_config(s->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(s->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(s->db, SQLITE_DBCONFIG_DQS_DML, 0, NULL); /* "a" is a name, never a text */
    sqlite3_db_config(s->db, SQLITE_DBCONFIG_DQS_DDL, 0, NULL);
}

/* Append what sqlite3_mprintf() makes: with %Q, text as a literal. */
static void put_sql(struct gp_buf *sql, char *text)
{
    gp_buf_puts(sql, text);
    sqlite3_free(text);
}

/* Rows of the tables that describe the others. */
static void describe(struct gp_buf *sql, const char *name, const char *kind, const char *about)
{
    put_sql(sql, sqlite3_mprintf("INSERT INTO tables VALUES (%Q, %Q, %Q);", name, kind, about));
}

static void describe_columns(struct gp_buf *sql, const struct gp_query_table *t)
{
    struct gp_sql_columns c = {0};
    gp_sql_columns_of(&c, &t->rec, 0);
    for (size_t i = 0; i < c.v.n; i++) {
        const struct gp_field *f = c.v.at[i].f;
        put_sql(sql, sqlite3_mprintf("INSERT INTO columns VALUES (%Q, %Q, %Q, %Q);", t->rec.id, f->id,
                                     gp_sql_type_of(f), f->help ? f->help : f->heading));
    }
    GP_VEC_FREE(&c.v);
}

static int make_schema(struct gp_sql *s)
{
    struct gp_buf sql = {0};
    gp_buf_puts(&sql,
                "PRAGMA temp_store = MEMORY; BEGIN; CREATE TABLE tables(name TEXT, kind TEXT, about TEXT);"
                "CREATE TABLE columns(table_name TEXT, name TEXT, type TEXT, about TEXT);");
    const struct gp_query_table *t;
    for (size_t i = 0; (t = gp_query_table_at(i)); i++) {
        gp_buf_printf(&sql, "CREATE VIRTUAL TABLE %s USING gpuprof;", t->rec.id);
        describe(&sql, t->rec.id, "table", t->rec.note);
        describe_columns(&sql, t);
    }
    for (const struct gp_sql_view *v = gp_sql_views; v->name; v++) {
        gp_buf_printf(&sql, "CREATE VIEW %s AS %s;", v->name, v->select);
        describe(&sql, v->name, "view", v->about);
    }
    gp_buf_puts(&sql, "COMMIT;");
    int rc = sqlite3_exec(s->db, gp_buf_str(&sql), NULL, NULL, NULL);
    gp_buf_release(&sql);
    return rc;
}

struct gp_sql *gp_sql_open(const struct gp_sql_limits *limits, struct gp_err *err)
{
    struct gp_sql *s = gp_zalloc(sizeof *s);
    s->limits = *limits;
    if (!s->limits.memory_bytes) s->limits.memory_bytes = MEMORY;
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE;
    if (!s->limits.exports) flags |= SQLITE_OPEN_MEMORY; /* also of what is attached */
    int rc = sqlite3_open_v2(":memory:", &s->db, flags, NULL);
    if (rc == SQLITE_OK) rc = gp_sql_make_module(s);
    if (rc == SQLITE_OK) rc = gp_sql_make_functions(s);
    if (rc == SQLITE_OK) rc = make_schema(s);
    if (rc != SQLITE_OK) {
        gp_fail(err, GP_E_IO, -1, "SQLite cannot be set up: %s", sqlite3_errmsg(s->db));
        gp_sql_close(s);
        return NULL;
    }
    set_limits(s);
    sqlite3_set_authorizer(s->db, authorize, s);
    sqlite3_progress_handler(s->db, STEPS_A_LOOK, look_at_time, s);
    s->guarded = true;
    return s;
}

void gp_sql_close(struct gp_sql *s)
{
    if (!s) return;
    sqlite3_finalize(s->stmt);
    sqlite3_close(s->db);
    gp_sql_forget_patterns(s);
    free(s);
}

/* ---- statements ---- */

int gp_sql_prepare(struct gp_sql *s, const char *sql, const char **rest, struct gp_err *err)
{
    const char *tail = NULL;
    sqlite3_finalize(s->stmt);
    s->stmt = NULL;
    s->refused = NULL;
    s->expired = false;
    s->need = s->wants = 0;
    int rc = sqlite3_prepare_v2(s->db, sql, -1, &s->stmt, &tail);
    if (rc != SQLITE_OK) return fail(s, rc, err);
    if (rest) *rest = tail;
    /* VACUUM asks nobody, and changes nothing that SQLite would call so. */
    if (s->stmt && (!sqlite3_stmt_readonly(s->stmt) || !sqlite3_column_count(s->stmt))) {
        sqlite3_finalize(s->stmt);
        s->stmt = NULL;
        refuse(s, "writes");
        return fail(s, SQLITE_DENY, err);
    }
    if (!s->stmt) return rest ? 0 : gp_fail(err, GP_E_USAGE, -1, "no statement");
    if (!rest && tail[strspn(tail, "; \t\r\n")])
        return gp_fail(err, GP_E_USAGE, -1, "more than one statement: run them one by one");
    return 0;
}

uint32_t gp_sql_need(const struct gp_sql *s) { return s->need; }

uint32_t gp_sql_wants(const struct gp_sql *s) { return s->wants; }

void gp_sql_bind(struct gp_sql *s, struct gp_query *q)
{
    s->q = q;
    s->generation++;
    gp_sql_forget_patterns(s);
}

int gp_sql_columns(const struct gp_sql *s) { return sqlite3_column_count(s->stmt); }

const char *gp_sql_column(const struct gp_sql *s, int i) { return sqlite3_column_name(s->stmt, i); }

int gp_sql_next(struct gp_sql *s, struct gp_err *err)
{
    if (!s->stmt) return 0;
    int rc = sqlite3_step(s->stmt);
    if (rc == SQLITE_ROW) return 1;
    return rc == SQLITE_DONE ? 0 : fail(s, rc, err);
}

struct gp_sql_value gp_sql_value(const struct gp_sql *s, int i)
{
    struct gp_sql_value v = {.type = GP_SQL_NULL};
    switch (sqlite3_column_type(s->stmt, i)) {
    case SQLITE_NULL: return v;
    case SQLITE_INTEGER:
        v.type = GP_SQL_INT;
        v.i = sqlite3_column_int64(s->stmt, i);
        return v;
    case SQLITE_FLOAT:
        v.type = GP_SQL_REAL;
        v.d = sqlite3_column_double(s->stmt, i);
        return v;
    default: /* bytes are read as text */
        v.type = GP_SQL_TEXT;
        v.text = (const char *)sqlite3_column_text(s->stmt, i);
        v.n = (size_t)sqlite3_column_bytes(s->stmt, i);
        if (!v.text) v.text = "", v.n = 0;
        return v;
    }
}
