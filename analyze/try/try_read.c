#include <math.h>
#include <string.h>
#include "analyze/try/try.h"
#include "formats/base/buf.h"
#include "formats/base/err.h"
#include "formats/base/json_scan.h"
#include "formats/base/num.h"
#include "formats/base/str.h"

enum { MOST_ROWS = 10000, MOST_SAMPLES = 100000 };
static const int64_t MOST = 1000000000000000; /* ns, bytes: more is not believed */

/* ---- members: those of the records, by their ids ---- */

static const char *copy_text(struct gp_try *t, const struct gp_json_value *v)
{
    if (!gp_json_is_string(v)) return NULL;
    struct gp_buf text = {0};
    gp_json_decode(&text, v->p, v->n);
    const char *copy = gp_arena_strndup(&t->mem, text.n ? text.data : "", text.n);
    gp_buf_release(&text);
    return copy;
}

/* The member of field F in ROW becomes V; unknown where that is NULL or not of its type. */
static void set(struct gp_try *t, char *row, const struct gp_field *f, const struct gp_json_value *v)
{
    void *at = row + f->at;
    bool number = v && v->kind == GP_JSON_NUMBER;
    switch ((enum gp_cell_type)f->type) {
    case GP_CELL_TEXT: *(const char **)at = v ? copy_text(t, v) : NULL; break;
    case GP_CELL_COUNT:
    case GP_CELL_NS:
    case GP_CELL_CHANGE_NS:
    case GP_CELL_BYTES:
        if (!number || !gp_i64_from_text(v->p, v->n, at) || *(int64_t *)at > MOST || *(int64_t *)at < -MOST)
            *(int64_t *)at = GP_TRY_UNKNOWN;
        break;
    case GP_CELL_REAL:
    case GP_CELL_PCT:
        if (!number || !gp_double_from_text(v->p, v->n, at)) *(double *)at = NAN;
        break;
    case GP_CELL_BOOL: *(bool *)at = v && v->kind == GP_JSON_WORD && gp_is(v->p, v->n, "true"); break;
    default: /* lists and objects: see read_trial() */ break;
    }
}

/* The members of OBJECT that fields of REC name; those that it lacks are unknown. */
static void read_members(struct gp_try *t, void *row, const struct gp_record *rec,
                         const struct gp_json_value *object, const char *end)
{
    struct gp_json_value key, v;
    for (size_t i = 0; i < rec->n; i++) set(t, row, &rec->fields[i], NULL);
    if (object->kind != GP_JSON_OBJECT) return;
    for (const char *p = object->p + 1; gp_json_next(&p, end, &key, &v);)
        for (size_t i = 0; i < rec->n; i++)
            if (gp_is(key.p, key.n, rec->fields[i].id)) set(t, row, &rec->fields[i], &v);
}

/* ---- rows ---- */

static void read_samples(struct gp_try *t, struct gp_trial *r, const struct gp_json_value *list,
                         const char *end)
{
    struct gp_json_value v;
    for (const char *p = list->p + 1; r->samples.n < MOST_SAMPLES && gp_json_next(&p, end, NULL, &v);) {
        struct gp_try_sample s;
        read_members(t, &s, &gp_try_samples, &v, end);
        if (s.off_ns > 0 && s.on_ns > 0) GP_VEC_PUSH(&r->samples, s);
    }
}

static void read_trial(struct gp_try *t, gp_trials *to, const struct gp_json_value *row, const char *end)
{
    struct gp_trial r = {0};
    struct gp_json_value key, v, element;
    read_members(t, &r, &gp_try_trials, row, end);
    for (const char *p = row->p + 1; gp_json_next(&p, end, &key, &v);) {
        bool notes = gp_is(key.p, key.n, "notes");
        if (gp_is(key.p, key.n, "difference") && v.kind == GP_JSON_OBJECT) {
            r.compared = true;
            read_members(t, &r.difference, &gp_try_differences, &v, end);
        }
        if (v.kind != GP_JSON_ARRAY) continue;
        if (gp_is(key.p, key.n, "samples")) read_samples(t, &r, &v, end);
        if (!notes && !gp_is(key.p, key.n, "changes")) continue;
        for (const char *q = v.p + 1; gp_json_next(&q, end, NULL, &element);) {
            const char *text = copy_text(t, &element);
            if (text && notes) GP_VEC_PUSH(&r.notes, text);
            else if (text) GP_VEC_PUSH(&r.changes, text);
        }
    }
    if (!r.change) r.change = "?";
    if (!r.permanent) r.permanent = "";
    if (!r.may_change) r.may_change = "nothing";
    r.mode = r.mode && !strcmp(r.mode, "processes") ? "processes" : "steps";
    bool measured = r.status && !strcmp(r.status, "measured") && r.off_ns > 0 && r.on_ns > 0 &&
                    gp_trial_measured(&r) && r.low_ns != GP_TRY_UNKNOWN && r.low_ns <= r.saving_ns &&
                    r.saving_ns <= r.high_ns;
    if (!measured) r.off_ns = r.on_ns = r.saving_ns = r.low_ns = r.high_ns = GP_TRY_UNKNOWN;
    r.status = measured                                          ? "measured"
               : r.status && !strcmp(r.status, "not_applicable") ? "not_applicable"
                                                                 : "failed";
    if (r.pairs < 0) r.pairs = 0;
    if (r.outliers < 0) r.outliers = 0;
    GP_VEC_PUSH(to, r);
}

static void read_row(struct gp_try *t, const struct gp_json_value *kind, const struct gp_json_value *row,
                     const char *end)
{
    struct gp_json_value key, v;
    if (gp_is(kind->p, kind->n, "trial")) read_trial(t, &t->trials, row, end);
    if (gp_is(kind->p, kind->n, "control") && !t->control.n) read_trial(t, &t->control, row, end);
    if (gp_is(kind->p, kind->n, "together") && !t->together.n) read_trial(t, &t->together, row, end);
    if (!gp_is(kind->p, kind->n, "steps") && !gp_is(kind->p, kind->n, "refused")) return;
    for (const char *p = row->p + 1; gp_json_next(&p, end, &key, &v);) {
        if (gp_is(key.p, key.n, "name")) t->steps = copy_text(t, &v);
        if (gp_is(key.p, key.n, "device")) t->device = copy_text(t, &v);
        if (gp_is(key.p, key.n, "reason")) t->refused = copy_text(t, &v);
    }
}

/* LINE is a copy with padding behind it, which is at byte OFFSET of the text. */
static int read_line(struct gp_try *t, const char *line, const char *end, int64_t offset, struct gp_err *err)
{
    struct gp_json_value root, key, v, kind = {0}, row = {0};
    const char *at = line;
    if (!gp_json_value(line, end, &root, &at) || root.kind != GP_JSON_OBJECT)
        return gp_fail(err, GP_E_SYNTAX, offset + (at - line), "a line is not a JSON object");
    for (const char *p = root.p + 1; gp_json_next(&p, end, &key, &v);) {
        if (gp_is(key.p, key.n, "kind")) kind = v;
        if (gp_is(key.p, key.n, "row")) row = v;
    }
    if (kind.kind != GP_JSON_STRING || row.kind != GP_JSON_OBJECT)
        return gp_fail(err, GP_E_SYNTAX, offset, "a line has no kind or no row");
    if (t->trials.n >= MOST_ROWS) return gp_fail(err, GP_E_LIMIT, offset, "more than %d rows", MOST_ROWS);
    read_row(t, &kind, &row, end);
    return 0;
}

int gp_try_read(struct gp_try *t, const char *text, size_t n, struct gp_err *err)
{
    struct gp_buf line = {0};
    int failed = 0;
    for (size_t i = 0, end; i < n && !failed; i = end + 1) {
        const char *stop = memchr(text + i, '\n', n - i);
        end = stop ? (size_t)(stop - text) : n;
        line.n = 0;
        gp_buf_put(&line, text + i, end - i);
        memset(gp_buf_reserve(&line, GP_JSON_PAD), 0, GP_JSON_PAD);
        if (end > i) failed = read_line(t, line.data, line.data + line.n, (int64_t)i, err);
    }
    gp_buf_release(&line);
    return failed;
}

static void read_list(struct gp_try *t, gp_trials *to, const struct gp_json_value *list, const char *end)
{
    struct gp_json_value v;
    if (list->kind == GP_JSON_OBJECT) read_trial(t, to, list, end);
    if (list->kind != GP_JSON_ARRAY) return;
    for (const char *p = list->p + 1; to->n < MOST_ROWS && gp_json_next(&p, end, NULL, &v);)
        if (v.kind == GP_JSON_OBJECT) read_trial(t, to, &v, end);
}

int gp_try_load(struct gp_try *t, const char *text, size_t n, struct gp_err *err)
{
    struct gp_json_value root, key, v;
    bool ours = false;
    struct gp_buf b = {0};
    gp_buf_put(&b, text, n);
    memset(gp_buf_reserve(&b, GP_JSON_PAD), 0, GP_JSON_PAD);
    const char *end = b.data + b.n, *at = b.data;
    if (gp_json_value(b.data, end, &root, &at) && root.kind == GP_JSON_OBJECT) {
        for (const char *p = root.p + 1; gp_json_next(&p, end, &key, &v);) {
            if (gp_is(key.p, key.n, "steps")) t->steps = copy_text(t, &v);
            if (gp_is(key.p, key.n, "device")) t->device = copy_text(t, &v);
            if (gp_is(key.p, key.n, "refused")) t->refused = copy_text(t, &v);
            if (gp_is(key.p, key.n, "schema")) ours = gp_begin(v.p, v.n, "gpuprof/gpuprof-try/");
            if (gp_is(key.p, key.n, "trials")) read_list(t, &t->trials, &v, end);
            if (gp_is(key.p, key.n, "control") && !t->control.n) read_list(t, &t->control, &v, end);
            if (gp_is(key.p, key.n, "together") && !t->together.n) read_list(t, &t->together, &v, end);
        }
    }
    gp_buf_release(&b);
    return ours ? 0 : gp_fail(err, GP_E_FORMAT, -1, "not an answer of gpuprof-try -f json");
}

static void release_trials(gp_trials *rows)
{
    for (size_t i = 0; i < rows->n; i++) {
        GP_RELEASE(gp_vec_free, &rows->at[i].notes, &rows->at[i].changes, &rows->at[i].samples);
    }
    GP_VEC_FREE(rows);
}

void gp_try_release(struct gp_try *t)
{
    release_trials(&t->trials);
    release_trials(&t->control);
    release_trials(&t->together);
    gp_arena_release(&t->mem);
    *t = (struct gp_try){0};
}
