/* Virtual tables: SQLite's calls, answered from the trace. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "analyze/query/query_sql_priv.h"
#include "formats/base/buf.h"

/* ---- columns ---- */

/* Is it a value, under a name that is not taken? JSON and tables may have different fields of one name. */
static bool is_column_of(const struct gp_sql_columns *c, const struct gp_field *f)
{
    for (size_t i = 0; i < c->v.n && f->id; i++)
        if (!sqlite3_stricmp(c->v.at[i].f->id, f->id)) return false;
    return f->id && f->type < GP_CELL_ANY;
}

void gp_sql_columns_of(struct gp_sql_columns *c, const struct gp_record *rec, size_t base)
{
    GP_EACH_OF(const struct gp_field, f, rec->fields, rec->n) {
        if (f->type == GP_CELL_PART) gp_sql_columns_of(c, f->rows, base + f->at);
        else if (is_column_of(c, f)) GP_VEC_PUSH(&c->v, (struct gp_sql_column){f, base});
    }
}

const char *gp_sql_type_of(const struct gp_field *f)
{
    enum gp_cell_form form = gp_cell_form(f->type);
    return form == GP_FORM_TEXT ? "TEXT" : form == GP_FORM_REAL ? "REAL" : "INTEGER";
}

/* ---- a table ---- */

struct table {
    sqlite3_vtab base;
    struct gp_sql *s;
    const struct gp_query_table *t;
    struct gp_sql_columns columns;
    struct gp_row_of of;
    /* what was made of the trace of that generation */
    unsigned generation;
    struct gp_query_order *orders;  /* by column */
    struct gp_query_index *indexes; /* by column */
};

static int connect_table(sqlite3 *db, void *aux, int argc, const char *const *argv, sqlite3_vtab **to,
                         char **why)
{
    const struct gp_query_table *t = argc > 2 ? gp_query_table(argv[2]) : NULL;
    struct gp_buf sql = {0};
    if (!t) {
        *why = sqlite3_mprintf("not a table of a trace");
        return SQLITE_ERROR;
    }
    struct table *v = gp_zalloc(sizeof *v);
    v->s = aux;
    v->t = t;
    gp_sql_columns_of(&v->columns, &t->rec, 0);
    v->indexes = gp_zalloc((v->columns.v.n + 1) * sizeof *v->indexes);
    v->orders = gp_zalloc((v->columns.v.n + 1) * sizeof *v->orders);
    for (size_t i = 0; i < v->columns.v.n; i++)
        gp_buf_printf(&sql, "%s\"%s\" %s", i ? ", " : "CREATE TABLE x(", v->columns.v.at[i].f->id,
                      gp_sql_type_of(v->columns.v.at[i].f));
    gp_buf_puts(&sql, ")");
    int rc = sqlite3_declare_vtab(db, gp_buf_str(&sql));
    gp_buf_release(&sql);
    if (rc == SQLITE_OK) rc = sqlite3_vtab_config(db, SQLITE_VTAB_INNOCUOUS);
    *to = &v->base;
    return rc;
}

static void forget(struct table *v)
{
    for (size_t i = 0; i < v->columns.v.n; i++) {
        gp_query_order_release(&v->orders[i]);
        free(v->indexes[i].at);
        v->indexes[i] = (struct gp_query_index){0};
    }
}

static int disconnect_table(sqlite3_vtab *vtab)
{
    struct table *v = (struct table *)vtab;
    forget(v);
    GP_VEC_FREE(&v->columns.v);
    GP_RELEASE(free, v->indexes, v->orders, v);
    return SQLITE_OK;
}

/* ---- plans ---- */

/* How rows are found. The column of a key or text stands above the bits. */
enum { PLAN_KEY = 1, PLAN_FROM = 2, PLAN_TO = 4, PLAN_BY_TEXT = 8, PLAN_COLUMN = 8 /* bits */ };

static bool is_column(const struct table *v, int column, const char *id)
{
    return column >= 0 && !strcmp(v->columns.v.at[column].f->id, id);
}

/* Is the table one of the trace, whose rows are in the order of their starts? */
static bool by_start(const struct table *v) { return !v->t->at && v->t->n_tables == 1; }

static bool is_start(const struct table *v, int column)
{
    return by_start(v) && (is_column(v, column, "start_ns") || is_column(v, column, "time_ns"));
}

static bool is_key(const struct table *v, int column)
{
    if (column < 0) return false;
    return v->columns.v.at[column].f->flags & GP_QUERY_KEY || (!v->t->at && is_column(v, column, "id"));
}

static void use(sqlite3_index_info *info, int i, int *args) { info->aConstraintUsage[i].argvIndex = ++*args; }

/* At most one key, or one bound on each side. */
static void plan_constraints(const struct table *v, sqlite3_index_info *info, int *args)
{
    int key = -1, from = -1, to = -1;
    for (int i = 0; i < info->nConstraint; i++) {
        const struct sqlite3_index_constraint *c = &info->aConstraint[i];
        if (!c->usable) continue;
        bool is_id = is_column(v, c->iColumn, "id");
        if (c->op == SQLITE_INDEX_CONSTRAINT_EQ && is_key(v, c->iColumn) && (key < 0 || is_id)) key = i;
        if (!is_start(v, c->iColumn)) continue;
        if (c->op == SQLITE_INDEX_CONSTRAINT_GT || c->op == SQLITE_INDEX_CONSTRAINT_GE) from = i;
        if (c->op == SQLITE_INDEX_CONSTRAINT_LT || c->op == SQLITE_INDEX_CONSTRAINT_LE) to = i;
    }
    if (key >= 0) {
        use(info, key, args);
        info->idxNum = PLAN_KEY | info->aConstraint[key].iColumn << PLAN_COLUMN;
        return;
    }
    if (from >= 0) use(info, from, args);
    if (to >= 0) use(info, to, args);
    info->idxNum = (from >= 0 ? PLAN_FROM : 0) | (to >= 0 ? PLAN_TO : 0);
}

static int best_index(sqlite3_vtab *vtab, sqlite3_index_info *info)
{
    const struct table *v = (const struct table *)vtab;
    const double rows = v->t->at ? 1e4 : 1e6;
    int args = 0;
    plan_constraints(v, info, &args);
    bool is_id = info->idxNum & PLAN_KEY && is_column(v, info->idxNum >> PLAN_COLUMN, "id");
    double part = info->idxNum & PLAN_KEY ? (is_id ? 1 : 10) / rows : 1;
    if (info->idxNum & PLAN_FROM) part /= 4;
    if (info->idxNum & PLAN_TO) part /= 4;
    info->estimatedRows = (sqlite3_int64)(rows * part) + 1;
    info->estimatedCost = rows * part + 1;
    if (info->nOrderBy != 1 || info->aOrderBy[0].desc || info->idxNum & PLAN_KEY) return SQLITE_OK;
    int column = info->aOrderBy[0].iColumn;
    if (is_start(v, column) || (!v->t->at && is_column(v, column, "id"))) info->orderByConsumed = 1;
    if (column >= 0 && v->columns.v.at[column].f->flags & GP_QUERY_BY_TEXT && !info->idxNum) {
        info->orderByConsumed = 1;
        info->idxNum = PLAN_BY_TEXT | column << PLAN_COLUMN;
    }
    return SQLITE_OK;
}

/* ---- rows ---- */

struct cursor {
    sqlite3_vtab_cursor base;
    struct table *v;
    struct gp_query_at at;
    size_t i, end;                   /* numbers of rows, or places in `keys` */
    const struct gp_query_key *keys; /* NULL: none */
    struct gp_query_walk walk;
    const struct gp_query_order *order; /* rows are in this one; NULL: in their own */
    int ordered;                        /* its column */
    bool done;
};

static int open_cursor(sqlite3_vtab *vtab, sqlite3_vtab_cursor **to)
{
    struct cursor *c = gp_zalloc(sizeof *c);
    c->v = (struct table *)vtab;
    *to = &c->base;
    return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *base)
{
    free(base);
    return SQLITE_OK;
}

/* To the next row from c->i on. */
static void settle(struct cursor *c)
{
    const struct gp_query *q = c->v->s->q;
    for (; c->i < c->end; c->i++)
        if (gp_query_row(q, c->v->t, c->keys ? c->keys[c->i].row : c->i, &c->at)) return;
    c->done = true;
}

static void settle_in_order(struct cursor *c)
{
    const struct gp_query *q = c->v->s->q;
    c->done = !gp_query_walk_next(c->order, &c->walk, &q->t->events[GP_GPU]);
    c->at.event = (struct gp_query_event){q, GP_GPU, c->walk.row, c->walk.row};
    c->at.row = &c->at.event;
}

static int next_row(sqlite3_vtab_cursor *base)
{
    struct cursor *c = (struct cursor *)base;
    if (c->order) settle_in_order(c);
    else {
        c->i++;
        settle(c);
    }
    return SQLITE_OK;
}

static int at_end(sqlite3_vtab_cursor *base) { return ((struct cursor *)base)->done; }

/* The integer that a value is, if it is one. */
static bool exact(sqlite3_value *value, int64_t *to)
{
    int type = sqlite3_value_numeric_type(value);
    double d = sqlite3_value_double(value);
    *to = sqlite3_value_int64(value);
    return type == SQLITE_INTEGER || (type == SQLITE_FLOAT && floor(d) == d && fabs(d) < 9e15);
}

static void find_key(struct cursor *c, int column, sqlite3_value *value)
{
    struct table *v = c->v;
    const struct gp_query *q = v->s->q;
    struct gp_query_index *x = &v->indexes[column];
    int64_t key;
    c->i = c->end = 0;
    if (!exact(value, &key)) return;
    if (!v->t->at && is_column(v, column, "id")) {
        size_t n = gp_query_count(q, v->t);
        if (key >= 0 && (uint64_t)key < n) c->i = (size_t)key, c->end = c->i + 1;
        return;
    }
    if (!x->made) gp_query_index_make(x, q, v->t, v->columns.v.at[column].f, v->columns.v.at[column].base);
    c->keys = x->at;
    c->i = gp_query_index_find(x, key, &c->end);
}

/* Bounds are only near: SQLite compares again. */
static void find_bounds(struct cursor *c, int plan, sqlite3_value **args)
{
    const struct gp_query *q = c->v->s->q;
    for (int bit = PLAN_FROM; bit <= PLAN_TO; bit *= 2) {
        if (!(plan & bit)) continue;
        sqlite3_value *value = *args++;
        int type = sqlite3_value_numeric_type(value);
        double d = sqlite3_value_double(value);
        if ((type != SQLITE_INTEGER && type != SQLITE_FLOAT) || fabs(d) > 9e18) continue;
        int64_t at = type == SQLITE_INTEGER ? sqlite3_value_int64(value) : (int64_t)floor(d);
        if (bit == PLAN_FROM) c->i = gp_query_from(q, c->v->t, at);
        else if (at < INT64_MAX - 1) c->end = gp_query_from(q, c->v->t, at + 2);
    }
}

static void take_generation(struct table *v)
{
    if (v->generation == v->s->generation) return;
    forget(v);
    v->generation = v->s->generation;
}

static int filter(sqlite3_vtab_cursor *base, int plan, const char *text, int n, sqlite3_value **args)
{
    struct cursor *c = (struct cursor *)base;
    struct table *v = c->v;
    (void)text, (void)n;
    c->done = !v->s->q;
    c->keys = NULL;
    c->order = NULL;
    if (c->done) return SQLITE_OK;
    take_generation(v);
    v->of = gp_query_rows_of(v->s->q, v->t);
    c->i = 0;
    c->end = gp_query_count(v->s->q, v->t);
    if (plan & PLAN_BY_TEXT) {
        c->ordered = plan >> PLAN_COLUMN;
        c->order = &v->orders[c->ordered];
        if (!c->order->bytes)
            gp_query_order_make(&v->orders[c->ordered], v->s->q, v->t, v->columns.v.at[c->ordered].f);
        memset(&c->walk, 0, sizeof c->walk);
        settle_in_order(c);
        return SQLITE_OK;
    }
    if (plan & PLAN_KEY) find_key(c, plan >> PLAN_COLUMN, args[0]);
    else find_bounds(c, plan, args);
    settle(c);
    return SQLITE_OK;
}

static int get_column(sqlite3_vtab_cursor *base, sqlite3_context *to, int column)
{
    const struct cursor *c = (const struct cursor *)base;
    const struct gp_sql_column *of = &c->v->columns.v.at[column];
    struct gp_cell cell = c->order && column == c->ordered
                              ? c->order->texts.at[c->walk.text].text
                              : gp_field_cell(of->f, (const char *)c->at.row + of->base, &c->v->of);
    if (cell.none) return SQLITE_OK; /* NULL */
    switch (*gp_sql_type_of(of->f)) {
    case 'T': sqlite3_result_text(to, cell.text, (int)cell.text_len, SQLITE_STATIC); break;
    case 'R': sqlite3_result_double(to, cell.d); break;
    default: sqlite3_result_int64(to, cell.i);
    }
    return SQLITE_OK;
}

static int get_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *to)
{
    const struct cursor *c = (const struct cursor *)base;
    *to = (sqlite3_int64)(c->order ? c->walk.row : c->keys ? c->keys[c->i].row : c->i);
    return SQLITE_OK;
}

static const sqlite3_module module = {
    .iVersion = 1,
    .xCreate = connect_table,
    .xConnect = connect_table,
    .xBestIndex = best_index,
    .xDisconnect = disconnect_table,
    .xDestroy = disconnect_table,
    .xOpen = open_cursor,
    .xClose = close_cursor,
    .xFilter = filter,
    .xNext = next_row,
    .xEof = at_end,
    .xColumn = get_column,
    .xRowid = get_rowid,
};

int gp_sql_make_module(struct gp_sql *s)
{
    return sqlite3_create_module_v2(s->db, "gpuprof", &module, s, NULL);
}
