#include "formats/sqlite/sqlite_db.h"

#include <stdlib.h>
#include <string.h>
#include "formats/base/err.h"
#include "formats/base/input.h"
#include "formats/base/str.h"
#include "formats/base/vec.h"
#include "formats/sqlite/sqlite_file_priv.h"

enum {
    MOST_TEXT = 1 << 20, /* bytes of a text */
    MOST_TRIES = 40,     /* to get past a damaged place */
    FIRST_SKIP = 64,     /* row ids */
    STEPS_A_BYTE = 16,   /* of SQLite's machine; a row takes about one step per 2 bytes */
    STEPS_MORE = 10000000,
    STEPS_A_LOOK = 1 << 16,
    ROWS_A_LOOK = 1 << 12,
    SCHEMA_TEXT = 1 << 18, /* bytes of a CREATE statement */
    COLUMN_NAME = 64,      /* bytes of a name that is asked for */
};

struct table {
    char *name;
    bool refused; /* it has no row ids, or a column hides them */
};

struct gp_sqlite {
    struct gp_sqlite_file file;
    sqlite3 *db;
    struct gp_trace *t;
    const struct gp_read_opts *opts;
    GP_VEC(struct table) tables;
    bool listing; /* the list of tables and columns may be read */
    uint64_t steps;
    uint64_t text_left; /* bytes of text that may still be read */
};

/* ---- hardening ---- */

/* Only SELECT of columns by name, and while tables are listed also the list. Nothing from inside a view or
 * trigger. */
static int authorize(void *ctx, int action, const char *a, const char *b, const char *schema,
                     const char *inner)
{
    const struct gp_sqlite *db = ctx;
    (void)b;
    if (inner) return SQLITE_DENY;
    if (action == SQLITE_SELECT) return SQLITE_OK;
    if (action == SQLITE_PRAGMA) return db->listing && !strcmp(a, "table_xinfo") ? SQLITE_OK : SQLITE_DENY;
    if (action != SQLITE_READ || !schema || strcmp(schema, "main")) return SQLITE_DENY;
    if (gp_starts(a, "sqlite_")) return db->listing ? SQLITE_OK : SQLITE_DENY;
    return SQLITE_OK;
}

/* SQLite has done some more steps. Not 0: it gives up. */
static int watch(void *ctx)
{
    struct gp_sqlite *db = ctx;
    db->steps += STEPS_A_LOOK;
    return db->steps > STEPS_MORE + STEPS_A_BYTE * db->file.size;
}

static void harden(struct gp_sqlite *db)
{
    static const struct {
        int what, value;
    } limits[] = {
        {SQLITE_LIMIT_LENGTH, MOST_TEXT},  {SQLITE_LIMIT_SQL_LENGTH, SCHEMA_TEXT},
        {SQLITE_LIMIT_EXPR_DEPTH, 100},    {SQLITE_LIMIT_COMPOUND_SELECT, 2},
        {SQLITE_LIMIT_VDBE_OP, 25000},     {SQLITE_LIMIT_FUNCTION_ARG, 8},
        {SQLITE_LIMIT_ATTACHED, 0},        {SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 50},
        {SQLITE_LIMIT_VARIABLE_NUMBER, 4}, {SQLITE_LIMIT_TRIGGER_DEPTH, 1},
        {SQLITE_LIMIT_WORKER_THREADS, 0},
    };
    static const struct {
        int what, value;
    } switches[] = {
        {SQLITE_DBCONFIG_DEFENSIVE, 1},       {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
        {SQLITE_DBCONFIG_ENABLE_VIEW, 0},     {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
        {SQLITE_DBCONFIG_DQS_DML, 0},         {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0},
        {SQLITE_DBCONFIG_WRITABLE_SCHEMA, 0}, {SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, 0},
    };
    for (size_t i = 0; i < GP_COUNT(limits); i++) sqlite3_limit(db->db, limits[i].what, limits[i].value);
    for (size_t i = 0; i < GP_COUNT(switches); i++)
        sqlite3_db_config(db->db, switches[i].what, switches[i].value, (int *)NULL);
    sqlite3_set_authorizer(db->db, authorize, db);
    sqlite3_progress_handler(db->db, STEPS_A_LOOK, watch, db);
}

/* ---- the list of tables ---- */

static void put_quoted(struct gp_buf *b, const char *name)
{
    gp_buf_putc(b, '"');
    for (; *name; name++) {
        if (*name == '"') gp_buf_putc(b, '"');
        gp_buf_putc(b, *name);
    }
    gp_buf_putc(b, '"');
}

static int list_tables(struct gp_sqlite *db, struct gp_err *err)
{
    static const char sql[] = "SELECT type, name, rootpage FROM sqlite_master";
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(db->db, sql, -1, &stmt, NULL);
    while (rc == SQLITE_OK || rc == SQLITE_ROW) {
        rc = sqlite3_step(stmt);
        if (rc != SQLITE_ROW) break;
        const char *type = (const char *)sqlite3_column_text(stmt, 0);
        const char *name = (const char *)sqlite3_column_text(stmt, 1);
        if (!type || !name || !strcmp(type, "index")) continue;
        bool ordinary = !strcmp(type, "table") && sqlite3_column_int64(stmt, 2) > 0;
        if (!ordinary || gp_starts(name, "sqlite_")) continue;
        GP_VEC_PUSH(&db->tables, ((struct table){.name = gp_strdup(name)}));
    }
    sqlite3_finalize(stmt);
    if (rc == SQLITE_DONE) return 0;
    if (db->tables.n) {
        gp_trace_issue(db->t, GP_Q_BAD_BLOCK, 1, -1);
        return 0;
    }
    return gp_fail(err, GP_E_SYNTAX, 0,
                   "byte 0: the SQLite database is damaged: its list of tables cannot be read (%s)",
                   sqlite3_errstr(rc));
}

/* ---- life ---- */

static int open_database(struct gp_sqlite *db, struct gp_err *err)
{
    int rc = sqlite3_open_v2("trace", &db->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, db->file.name);
    if (rc != SQLITE_OK) return gp_fail(err, GP_E_IO, -1, "SQLite cannot open it: %s", sqlite3_errstr(rc));
    harden(db);
    db->listing = true;
    int failed = list_tables(db, err);
    db->listing = false;
    return failed;
}

struct gp_sqlite *gp_sqlite_open(struct gp_input *in, struct gp_trace *t, const struct gp_read_opts *opts,
                                 struct gp_err *err)
{
    enum { MORE_TEXT = 1 << 24 };
    struct gp_sqlite *db = gp_zalloc(sizeof *db);
    db->t = t;
    db->opts = opts;
    if (gp_sqlite_file_open(&db->file, in, err)) {
        free(db);
        return NULL;
    }
    t->input.spooled = db->file.spool != NULL;
    t->input.bytes = db->file.size;
    db->text_left = 2 * db->file.size + MORE_TEXT;
    bool cut = db->file.claimed > db->file.size;
    if (cut || db->file.unwritten) gp_trace_issue(t, GP_Q_TRUNCATED, 1, cut ? (int64_t)db->file.size : -1);
    if (!open_database(db, err)) return db;
    gp_sqlite_close(db);
    return NULL;
}

void gp_sqlite_close(struct gp_sqlite *db)
{
    if (!db) return;
    sqlite3_close(db->db);
    gp_sqlite_file_close(&db->file);
    for (size_t i = 0; i < db->tables.n; i++) free(db->tables.at[i].name);
    GP_VEC_FREE(&db->tables);
    free(db);
}

const char *gp_sqlite_table(const struct gp_sqlite *db, size_t i)
{
    return i < db->tables.n ? db->tables.at[i].name : NULL;
}

static struct table *find_table(const struct gp_sqlite *db, const char *name)
{
    for (size_t i = 0; i < db->tables.n; i++)
        if (!strcmp(db->tables.at[i].name, name)) return &db->tables.at[i];
    return NULL;
}

bool gp_sqlite_has(const struct gp_sqlite *db, const char *table) { return find_table(db, table) != NULL; }

/* ---- scans ---- */

/* Which of COLUMNS the table has as stored values: bits. A generated column would run its expression. */
static uint64_t probe(struct gp_sqlite *db, struct table *table, const char *columns)
{
    struct gp_buf sql = {0};
    sqlite3_stmt *stmt = NULL;
    uint64_t found = 0;
    gp_buf_puts(&sql, "PRAGMA main.table_xinfo(");
    put_quoted(&sql, table->name);
    gp_buf_puts(&sql, ")");
    db->listing = true;
    int rc = sqlite3_prepare_v2(db->db, gp_buf_str(&sql), -1, &stmt, NULL);
    while (rc == SQLITE_OK && sqlite3_step(stmt) == SQLITE_ROW) {
        enum { NAME = 1, HIDDEN = 6 };
        const char *name = (const char *)sqlite3_column_text(stmt, NAME), *at = columns;
        char column[COLUMN_NAME];
        if (!name) continue;
        if (!sqlite3_stricmp(name, "rowid")) table->refused = true;
        for (size_t i = 0; gp_next_of(&at, ' ', column, sizeof column); i++) {
            bool found_here = !sqlite3_stricmp(name, column) && !sqlite3_column_int(stmt, HIDDEN);
            found |= (uint64_t)found_here << i;
        }
    }
    sqlite3_finalize(stmt);
    db->listing = false;
    gp_buf_release(&sql);
    return found;
}

/* An index is never used: it need not agree with its table. */
static void put_select(struct gp_buf *sql, struct gp_sqlite_scan *scan, const char *table,
                       const char *columns, uint64_t found)
{
    int8_t place = 1;
    char column[COLUMN_NAME];
    gp_buf_puts(sql, "SELECT rowid");
    for (size_t i = 0; gp_next_of(&columns, ' ', column, sizeof column); i++) {
        scan->at[i] = -1;
        if (!(found >> i & 1)) continue;
        gp_buf_putc(sql, ',');
        put_quoted(sql, column);
        scan->at[i] = place++;
    }
    gp_buf_puts(sql, " FROM main.");
    put_quoted(sql, table);
    gp_buf_puts(sql, " NOT INDEXED WHERE rowid >= ?1");
}

bool gp_sqlite_begin(struct gp_sqlite *db, struct gp_sqlite_scan *scan, const char *name, const char *columns)
{
    memset(scan, 0, sizeof *scan);
    memset(scan->at, -1, sizeof scan->at);
    scan->db = db;
    scan->last = INT64_MIN;
    scan->skip = FIRST_SKIP;
    struct table *table = find_table(db, name);
    if (!table) return false;
    struct gp_buf sql = {0};
    sqlite3_stmt *stmt = NULL;
    put_select(&sql, scan, name, columns, probe(db, table, columns));
    int rc = table->refused ? SQLITE_ERROR : sqlite3_prepare_v2(db->db, gp_buf_str(&sql), -1, &stmt, NULL);
    gp_buf_release(&sql);
    if (rc != SQLITE_OK) {
        memset(scan->at, -1, sizeof scan->at);
        gp_trace_issue(db->t, GP_Q_BAD_BLOCK, 1, -1);
        return false;
    }
    sqlite3_bind_int64(stmt, 1, INT64_MIN);
    scan->stmt = stmt;
    return true;
}

/* After damage: go on behind it, farther and farther. False: enough. */
static bool step_over(struct gp_sqlite_scan *scan, int rc)
{
    struct gp_trace *t = scan->db->t;
    rc &= 0xff; /* without its further bits */
    bool damage = rc == SQLITE_CORRUPT || rc == SQLITE_IOERR || rc == SQLITE_TOOBIG || rc == SQLITE_NOTADB;
    if (!scan->tries) gp_trace_issue(t, rc == SQLITE_INTERRUPT ? GP_Q_LIMIT : GP_Q_BAD_BLOCK, 1, -1);
    if (!damage || scan->tries++ >= MOST_TRIES) return false;
    int64_t from = scan->last == INT64_MIN ? 0 : scan->last;
    if (scan->skip > INT64_MAX / 4 || from > INT64_MAX - scan->skip) return false;
    sqlite3_reset(scan->stmt);
    sqlite3_bind_int64(scan->stmt, 1, from + scan->skip);
    scan->skip *= 2;
    return true;
}

static void look_up(struct gp_sqlite_scan *scan)
{
    const struct gp_read_opts *o = scan->db->opts;
    if (scan->rows % ROWS_A_LOOK || !o || !o->progress) return;
    if (scan->db->file.spool || scan->db->file.memory.n) return; /* of which the input's size says nothing */
    uint64_t done = scan->db->file.bytes_read, size = scan->db->file.size;
    o->progress(o->progress_ctx, done < size ? done : size);
}

/* False at the end, and where the rest is damaged. */
static bool step(struct gp_sqlite_scan *scan)
{
    for (;;) {
        int rc = sqlite3_step(scan->stmt);
        if (rc == SQLITE_DONE) return false;
        if (rc != SQLITE_ROW) {
            if (step_over(scan, rc)) continue;
            return false;
        }
        int64_t id = sqlite3_column_int64(scan->stmt, 0);
        if (scan->rows && id <= scan->last) { /* a tree that leads back to itself */
            gp_trace_issue(scan->db->t, GP_Q_BAD_BLOCK, 1, -1);
            return false;
        }
        scan->last = id;
        scan->rows++;
        if (scan->tries) scan->tries = 0, scan->skip = FIRST_SKIP;
        look_up(scan);
        return true;
    }
}

bool gp_sqlite_next(struct gp_sqlite_scan *scan)
{
    if (scan->stmt && step(scan)) return true;
    gp_sqlite_end(scan);
    return false;
}

bool gp_sqlite_get(struct gp_sqlite_scan *scan, int column, int64_t *v)
{
    int at = scan->at[column];
    if (at < 0) return false;
    int type = sqlite3_column_type(scan->stmt, at);
    if (GP_LIKELY(type == SQLITE_INTEGER)) {
        *v = sqlite3_column_int64(scan->stmt, at);
        return true;
    }
    if (type != SQLITE_NULL) gp_trace_issue(scan->db->t, GP_Q_BAD_VALUE, 1, -1);
    return false;
}

int64_t gp_sqlite_int(struct gp_sqlite_scan *scan, int column, int64_t dflt)
{
    gp_sqlite_get(scan, column, &dflt);
    return dflt;
}

uint32_t gp_sqlite_u32(struct gp_sqlite_scan *scan, int column)
{
    int64_t v = gp_sqlite_int(scan, column, 0);
    return v > 0 && v <= UINT32_MAX ? (uint32_t)v : 0;
}

bool gp_sqlite_double(struct gp_sqlite_scan *scan, int column, double *v)
{
    int at = scan->at[column];
    if (at < 0) return false;
    int type = sqlite3_column_type(scan->stmt, at);
    if (type != SQLITE_FLOAT && type != SQLITE_INTEGER) return false;
    *v = sqlite3_column_double(scan->stmt, at);
    return true;
}

const char *gp_sqlite_text(struct gp_sqlite_scan *scan, int column, size_t *n)
{
    int at = scan->at[column];
    if (at < 0) return NULL;
    int type = sqlite3_column_type(scan->stmt, at);
    if (type != SQLITE_TEXT) {
        if (type != SQLITE_NULL) gp_trace_issue(scan->db->t, GP_Q_BAD_VALUE, 1, -1);
        return NULL;
    }
    const char *text = (const char *)sqlite3_column_text(scan->stmt, at);
    if (!text) return NULL;
    *n = (size_t)sqlite3_column_bytes(scan->stmt, at);
    if (*n > scan->db->text_left) {
        gp_trace_issue(scan->db->t, GP_Q_LIMIT, 1, -1);
        return NULL;
    }
    scan->db->text_left -= *n;
    return text;
}

void gp_sqlite_end(struct gp_sqlite_scan *scan)
{
    sqlite3_finalize(scan->stmt);
    scan->stmt = NULL;
}

/* ---- texts ---- */

void gp_sqlite_texts_read(struct gp_sqlite_texts *k, struct gp_sqlite *db, const char *table,
                          const char *columns)
{
    enum { NUMBER, TEXT };
    GP_SQLITE_EACH(scan, db, table, columns) {
        int64_t number;
        size_t n;
        const char *text = gp_sqlite_text(&scan, TEXT, &n);
        if (!text || !gp_sqlite_get(&scan, NUMBER, &number)) continue;
        struct gp_sqlite_kept one = {.p = gp_arena_strndup(&k->bytes, text, n), .n = n};
        uint32_t *at = gp_map_put(&k->at, (uint64_t)number, (uint32_t)k->all.n);
        if (*at == k->all.n) GP_VEC_PUSH(&k->all, one);
    }
}

gp_sid gp_sqlite_texts_sid(struct gp_sqlite_texts *k, struct gp_trace *t, int64_t number)
{
    const uint32_t *at = gp_map_get(&k->at, (uint64_t)number);
    struct gp_sqlite_kept *one = at ? &k->all.at[*at] : NULL;
    if (one && !one->sid) one->sid = gp_trace_intern(t, one->p, one->n);
    return one ? one->sid : 0;
}

void gp_sqlite_texts_release(struct gp_sqlite_texts *k)
{
    gp_arena_release(&k->bytes);
    gp_map_release(&k->at);
    GP_VEC_FREE(&k->all);
}
