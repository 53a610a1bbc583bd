/* Recompiles by function and guard. Each entry that did not fit says why. Of a recompile the newest entry
 * counts, unless an older one fits better: what that one fails on is the cause. */
#include <stdlib.h>
#include <string.h>
#include "analyze/compile/compile_priv.h"
#include "formats/base/buf.h"
#include "formats/base/order.h"
#include "formats/base/str.h"

GP_WORD(gp_recompile_kind_name, enum gp_recompile_kind, GP_RECOMPILE_KINDS, 1)
GP_WORD(gp_recompile_kind_text, enum gp_recompile_kind, GP_RECOMPILE_KINDS, 2)

/* ---- one guard ---- */

struct guard {
    enum gp_recompile_kind kind;
    gp_sid expression, expected, actual;
    gp_sid tensor;    /* that it is about; 0: not about a property of a tensor */
    uint32_t reached; /* how far the check of the tensor came before it failed */
};

static gp_sid piece(struct gp_compile *c, const char *s, const char *end)
{
    while (s < end && *s == ' ') s++;
    while (end > s && strchr(" .,", end[-1])) end--;
    return s < end ? gp_compile_print(c, "%.*s", (int)(end - s < 200 ? end - s : 200), s) : 0;
}

/* "expected A, actual B" */
static void read_expected(struct gp_compile *c, const char *s, struct guard *g)
{
    const char *expected = strstr(s, "expected "), *actual = strstr(s, "actual ");
    if (!expected) return;
    expected += 9;
    const char *end = actual ? actual : expected + strlen(expected);
    g->expected = piece(c, expected, end);
    if (actual) g->actual = piece(c, actual + 7, actual + strlen(actual));
}

/* "tensor 'x' size mismatch at index 0. expected 3, actual 5" */
static bool read_tensor(struct gp_compile *c, const char *s, struct guard *g)
{
    static const struct {
        const char *words;
        enum gp_recompile_kind kind;
    } kinds[] = {
        /* in the order in which PyTorch checks them */
        {"dispatch key", GP_RECOMPILE_GRAD},           {"dtype mismatch", GP_RECOMPILE_DTYPE},
        {"device mismatch", GP_RECOMPILE_DEVICE},      {"device index mismatch", GP_RECOMPILE_DEVICE},
        {"requires_grad mismatch", GP_RECOMPILE_GRAD}, {"rank mismatch", GP_RECOMPILE_SIZE},
        {"size mismatch", GP_RECOMPILE_SIZE},          {"stride mismatch", GP_RECOMPILE_STRIDE}};
    const char *quote = strchr(s, '\''), *end = quote ? strchr(quote + 1, '\'') : NULL,
               *index = strstr(s, "at index ");
    size_t i = 0;
    while (i < sizeof kinds / sizeof *kinds && !strstr(s, kinds[i].words)) i++;
    if (!gp_starts(s, "tensor ") || !end || i == sizeof kinds / sizeof *kinds) return false;
    g->kind = kinds[i].kind;
    g->tensor = gp_compile_print(c, "%.*s", (int)(end - quote - 1), quote + 1);
    g->reached = (uint32_t)i;
    int n = (int)(end - quote - 1 < 200 ? end - quote - 1 : 200);
    if (g->kind == GP_RECOMPILE_SIZE && index)
        g->expression = gp_compile_print(c, "%.*s.shape[%d]", n, quote + 1, atoi(index + 9));
    else g->expression = gp_compile_print(c, "%.*s", n, quote + 1);
    read_expected(c, s, g);
    return true;
}

static bool is_number(const char *s)
{
    s += *s == '-';
    return *s >= '0' && *s <= '9';
}

/* "n == 0", "flag == 'add'", "x.size()[0] == 3" */
static bool read_equality(struct gp_compile *c, const char *s, struct guard *g)
{
    const char *equals = strstr(s, " == ");
    if (!equals || equals == s) return false;
    bool size = strstr(s, "size()[") || strstr(s, ".shape[");
    bool keys = gp_starts(s, "len(") || strstr(s, "dict_keys");
    g->expression = piece(c, s, equals);
    g->expected = piece(c, equals + 4, equals + strlen(equals));
    g->kind = keys                    ? GP_RECOMPILE_KEYS
              : size                  ? GP_RECOMPILE_SIZE
              : is_number(equals + 4) ? GP_RECOMPILE_NUMBER
                                      : GP_RECOMPILE_FLAG;
    return true;
}

static struct guard read_guard(struct gp_compile *c, gp_sid reason)
{
    static const struct {
        const char *words;
        enum gp_recompile_kind kind;
    } kinds[] = {{"___check_obj_id", GP_RECOMPILE_OBJECT}, {"___check_type_id", GP_RECOMPILE_OBJECT},
                 {"___dict_contains", GP_RECOMPILE_KEYS},  {"___check_global_state", GP_RECOMPILE_GLOBAL},
                 {"GLOBAL_STATE", GP_RECOMPILE_GLOBAL},    {"global state", GP_RECOMPILE_GLOBAL},
                 {"grad_mode", GP_RECOMPILE_GLOBAL},       {"is_grad_enabled", GP_RECOMPILE_GLOBAL}};
    struct guard g = {.kind = GP_RECOMPILE_OTHER};
    const char *s = gp_compile_str(c, reason);
    if (!read_tensor(c, s, &g)) {
        size_t i = 0;
        while (i < sizeof kinds / sizeof *kinds && !strstr(s, kinds[i].words)) i++;
        if (i < sizeof kinds / sizeof *kinds) {
            g.kind = kinds[i].kind;
            g.expression = piece(c, s, s + strlen(s));
        } else if (!read_equality(c, s, &g)) {
            g.expression = piece(c, s, s + strlen(s));
        }
    }
    return g;
}

/* ---- groups ---- */

static struct gp_compile_recompile *group_of(struct gp_compile *c, const struct guard *g,
                                             const struct gp_compile_frame *f,
                                             const struct gp_clog_recompile *r)
{
    gp_sid function = f ? f->function : r->function, file = f && f->file ? f->file : r->file;
    GP_EACH(struct gp_compile_recompile, k, c->recompiles)
        if (k->kind == g->kind && k->expression == g->expression && k->function == function &&
            k->file == file)
            return k;
    GP_VEC_PUSH(&c->recompiles, (struct gp_compile_recompile){.kind = g->kind,
                                                              .function = function,
                                                              .file = file,
                                                              .line = f ? f->line : r->line,
                                                              .expression = g->expression,
                                                              .sample = r->reason});
    return &c->recompiles.at[c->recompiles.n - 1];
}

/* One recompile as a row, before rows are grouped. */
struct row {
    size_t group;
    uint32_t process;
    gp_sid compile_id, expected, actual;
};
typedef GP_VEC(struct row) rows;

static void add_value(struct gp_compile *c, struct gp_compile_recompile *k, gp_sid value)
{
    if (!value) return;
    for (uint32_t i = 0; i < k->n_values; i++)
        if (c->values.at[k->first_value + i] == value) return;
    GP_VEC_PUSH(&c->values, value);
    k->n_values++;
}

/* Fill the slices of group INDEX, one after the other so that they are contiguous. */
static void fill_group(struct gp_compile *c, const rows *all, size_t index)
{
    struct gp_compile_recompile *k = &c->recompiles.at[index];
    k->first_value = (uint32_t)c->values.n;
    k->first_id = (uint32_t)c->ids.n;
    for (size_t i = 0; i < all->n; i++)
        if (all->at[i].group == index) add_value(c, k, all->at[i].expected);
    for (size_t i = 0; i < all->n; i++)
        if (all->at[i].group == index) add_value(c, k, all->at[i].actual);
    GP_EACH(const struct row, r, *all) {
        if (r->group != index) continue;
        const struct gp_compile_frame *f = gp_compile_frame_of(c, r->process, r->compile_id);
        GP_VEC_PUSH(&c->ids, r->compile_id);
        k->n_ids++;
        k->count++;
        if (f) k->compile_ns += f->total_ns;
        if (f && f->outcome == GP_COMPILE_EAGER) k->limit = true;
    }
}

GP_COMPARE(by_weight, struct gp_compile_recompile,
           GP_DOWN(limit) GP_DOWN(count) GP_DOWN(compile_ns) GP_UP(first_id))

/* The guard of the entry that fits best, of those from FIRST on that the recompile lists; *REASON is it as
 * logged. */
static struct guard closest_guard(struct gp_compile *c, size_t first, gp_sid *reason)
{
    const struct gp_compile_log *log = c->log;
    const struct gp_clog_recompile *r = &log->recompiles.at[first];
    struct guard best = read_guard(c, r->reason);
    *reason = r->reason;
    for (size_t i = first + 1; i < log->recompiles.n; i++) {
        const struct gp_clog_recompile *older = &log->recompiles.at[i];
        if (!older->order || older->process != r->process || older->compile_id != r->compile_id) break;
        struct guard g = read_guard(c, older->reason);
        if (!g.tensor || g.tensor != best.tensor || g.reached <= best.reached) continue;
        best = g;
        *reason = older->reason;
    }
    return best;
}

void gp_compile_find_recompiles(struct gp_compile *c)
{
    const struct gp_compile_log *log = c->log;
    rows all = {0};
    struct gp_map known = {0}; /* compiles: a text log repeats those of the structured log */
    for (size_t i = 0; i < log->recompiles.n; i++) {
        struct gp_clog_recompile r = log->recompiles.at[i];
        if (r.order || (*gp_map_put(&known, (uint64_t)r.process << 32 | r.compile_id, 0))++) continue;
        struct guard g = closest_guard(c, i, &r.reason);
        struct gp_compile_recompile *k = group_of(c, &g, gp_compile_frame_of(c, r.process, r.compile_id), &r);
        struct row row = {(size_t)(k - c->recompiles.at), r.process, r.compile_id, g.expected, g.actual};
        GP_VEC_PUSH(&all, row);
    }
    for (size_t i = 0; i < c->recompiles.n; i++) fill_group(c, &all, i);
    if (c->recompiles.n) qsort(c->recompiles.at, c->recompiles.n, sizeof *c->recompiles.at, by_weight);
    gp_map_release(&known);
    GP_VEC_FREE(&all);
}

/* ---- fields ---- */

#define AT(member) offsetof(struct gp_compile_recompile, member)

GP_GET(get_number, struct gp_compile_recompile, c->i = r - gp_compile_of(x)->recompiles.at + 1)

GP_GET_TEXT(get_place, struct gp_compile_recompile,
            gp_compile_put_place(&b, x->of, r->file, r->line, r->function))

GP_GET(get_values, struct gp_compile_recompile,
       gp_cell_list(c, GP_VEC_FROM(&gp_compile_of(x)->values, r->first_value), r->n_values))

GP_GET(get_compile_ids, struct gp_compile_recompile,
       gp_cell_list(c, GP_VEC_FROM(&gp_compile_of(x)->ids, r->first_id), r->n_ids))

GP_GET_IF(get_reached, struct gp_compile_recompile, r->limit, gp_cell_text(c, "reached"))

/* "a number that is compiled in: n was 0..7" */
GP_GETTER_OF(get_reason, struct gp_compile_recompile, r)
{
    struct gp_buf text = {0};
    gp_buf_printf(&text, "%s: %s", gp_recompile_kind_text(r->kind), gp_string(x->strings, r->expression));
    if (r->n_values) {
        gp_buf_puts(&text, " was ");
        gp_compile_put_values(&text, x->of, r);
    }
    gp_cell_take(c, &text, x);
}

#define X(id, name, text) name,
static const char *const kinds[] = {GP_RECOMPILE_KINDS(X) NULL};
#undef X
static const struct gp_field recompile_fields[] = {
    {"number", "#", GP_CELL_ID, get_number, 0, .flags = GP_FIELD_TABLES},
    {"place", "Function", GP_CELL_NAME, get_place, 0, .flags = GP_FIELD_TABLES},
    {"frame", NULL, GP_CELL_NAME, gp_member_name, AT(function), .help = "the function",
     .flags = GP_FIELD_NULL},
    {"file", NULL, GP_CELL_NAME, gp_compile_get_path, AT(file), .flags = GP_FIELD_NULL},
    {"line", NULL, GP_CELL_ID, gp_member_known_i32, AT(line), .flags = GP_FIELD_NULL},
    {"kind", NULL, GP_CELL_TEXT, gp_member_word, AT(kind), .help = "of the guard", .words = kinds},
    {"expression", NULL, GP_CELL_NAME, gp_member_name, AT(expression), .help = "what the guard checks",
     .flags = GP_FIELD_NULL},
    {"values", NULL, GP_CELL_LIST, get_values, 0, .help = "that it had, in order", .rows = &gp_each_sid},
    {"count", "Times", GP_CELL_COUNT, gp_member_u32, AT(count), .help = "compiles"},
    {"compile_ids", NULL, GP_CELL_LIST, get_compile_ids, 0, .help = "as many as count", .rows = &gp_each_sid},
    {"compile_ns", "Time", GP_CELL_NS, gp_member_i64, AT(compile_ns),
     .help = "compile time of these recompiles"},
    {"limit", NULL, GP_CELL_BOOL, gp_member_bool, AT(limit),
     .help = "the limit was reached: the function runs eagerly from then on"},
    {"stalls", "In steps", GP_CELL_COUNT, gp_member_u32, AT(stalls),
     .help = "inside steady steps of the trace", .flags = GP_COLUMN_SPARE},
    {"reached", "Limit", GP_CELL_TEXT, get_reached, 0,
     .help = "reached: the function runs eagerly from then on", .flags = GP_FIELD_TABLES},
    {"reason", "Because", GP_CELL_TEXT, get_reason, 0, .flags = GP_FIELD_TABLES},
    {"guard", "Guard as logged", GP_CELL_NAME, gp_member_name, AT(sample), .help = "of the first of them",
     .flags = GP_COLUMN_WIDE | GP_FIELD_NULL},
    {"new", NULL, GP_CELL_BOOL, gp_member_bool, AT(is_new), .help = "not in the baseline of --against"},
};
#undef AT
const struct gp_record gp_compile_recompiles = {"recompiles",
                                                "Recompiles",
                                                GP_FIELDS(recompile_fields),
                                                sizeof(struct gp_compile_recompile),
                                                .note =
                                                    "compiles of a function again because of one expression",
                                                .rest = {{0}, {NULL, "compile_ns"}}};
