#include <math.h>
#include <string.h>
#include "analyze/try/try.h"
#include "formats/base/buf.h"
#include "formats/base/count.h"
#include "formats/base/err.h"
#include "formats/base/json_scan.h"
#include "formats/base/num.h"
#include "formats/base/str.h"

enum { MOST_ROWS = 10000, MOST_SAMPLES = 100000 };

/* ---- members by name ---- */

enum kind { TEXT, INTEGER, REAL, FLAG };
struct member {
    const char *name;
    enum kind kind;
    size_t at;
};

#define T(kind, name)                                                                                        \
    {                                                                                                        \
#name, kind, offsetof(struct gp_trial, name)                                                         \
    }
static const struct member trial_members[] = {
    T(TEXT, change),
    T(TEXT, rule),
    T(TEXT, mode),
    T(TEXT, status),
    T(TEXT, reason),
    T(TEXT, permanent),
    T(TEXT, may_change),
    T(INTEGER, off_ns),
    T(INTEGER, on_ns),
    T(INTEGER, saving_ns),
    T(INTEGER, low_ns),
    T(INTEGER, high_ns),
    T(INTEGER, predicted_low_ns),
    T(INTEGER, predicted_high_ns),
    T(INTEGER, peak_bytes_off),
    T(INTEGER, peak_bytes_on),
    T(INTEGER, pairs),
    T(INTEGER, steps_per_block),
    T(INTEGER, outliers),
    T(REAL, drift_pct),
    T(FLAG, what_if),
};
#undef T
#define D(name)                                                                                              \
    {                                                                                                        \
#name, REAL, offsetof(struct gp_try_difference, name)                                                \
    }
static const struct member difference_members[] = {
    D(loss_off), D(loss_on), D(loss_relative), D(outputs_relative), D(update_relative), D(noise_relative)};
#undef D
static const struct member sample_members[] = {{"off_ns", INTEGER, offsetof(struct gp_try_sample, off_ns)},
                                               {"on_ns", INTEGER, offsetof(struct gp_try_sample, on_ns)}};

static const char *copy_text(struct gp_try *t, const struct gp_json_value *v)
{
    if (v->kind != GP_JSON_STRING && v->kind != GP_JSON_ODD_STRING) return NULL;
    struct gp_buf text = {0};
    gp_json_decode(&text, v->p, v->n);
    const char *copy = gp_arena_strndup(&t->mem, text.n ? text.data : "", text.n);
    gp_buf_release(&text);
    return copy;
}

static void set(struct gp_try *t, char *row, const struct member *m, const struct gp_json_value *v)
{
    int64_t i = GP_TRY_UNKNOWN;
    double d = NAN;
    switch (m->kind) {
    case TEXT:
        *(const char **)(void *)(row + m->at) = copy_text(t, v);
        break;
    case INTEGER:
        if (v->kind != GP_JSON_NUMBER || !gp_i64_from_text(v->p, v->n, &i)) i = GP_TRY_UNKNOWN;
        *(int64_t *)(void *)(row + m->at) = i;
        break;
    case REAL:
        if (v->kind != GP_JSON_NUMBER || !gp_double_from_text(v->p, v->n, &d)) d = NAN;
        *(double *)(void *)(row + m->at) = d;
        break;
    case FLAG:
        *(bool *)(void *)(row + m->at) = v->kind == GP_JSON_WORD && gp_is(v->p, v->n, "true");
        break;
    }
}

static void set_unknown(char *row, const struct member *m, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (m[i].kind == INTEGER) *(int64_t *)(void *)(row + m[i].at) = GP_TRY_UNKNOWN;
        if (m[i].kind == REAL) *(double *)(void *)(row + m[i].at) = NAN;
    }
}

/* The members of OBJECT that M, of N, names; the others are left to the caller, which gets them one by one. */
static void read_members(struct gp_try *t, char *row, const struct member *m, size_t n,
                         const struct gp_json_value *object, const char *end)
{
    struct gp_json_value key, v;
    set_unknown(row, m, n);
    if (object->kind != GP_JSON_OBJECT) return;
    for (const char *p = object->p + 1; gp_json_next(&p, end, &key, &v);)
        for (size_t i = 0; i < n; i++)
            if (gp_is(key.p, key.n, m[i].name)) set(t, row, &m[i], &v);
}

/* ---- rows ---- */

static void read_samples(struct gp_try *t, struct gp_trial *r, const struct gp_json_value *list,
                         const char *end)
{
    struct gp_json_value v;
    for (const char *p = list->p + 1; r->samples.n < MOST_SAMPLES && gp_json_next(&p, end, NULL, &v);) {
        struct gp_try_sample s;
        read_members(t, (char *)&s, sample_members, GP_COUNT(sample_members), &v, end);
        if (s.off_ns > 0 && s.on_ns > 0) GP_VEC_PUSH(&r->samples, s);
    }
}

static void read_trial(struct gp_try *t, gp_trials *to, const struct gp_json_value *row, const char *end)
{
    struct gp_trial r = {0};
    struct gp_json_value key, v, element;
    read_members(t, (char *)&r, trial_members, GP_COUNT(trial_members), row, end);
    for (const char *p = row->p + 1; gp_json_next(&p, end, &key, &v);) {
        bool notes = gp_is(key.p, key.n, "notes");
        if (gp_is(key.p, key.n, "difference") && v.kind == GP_JSON_OBJECT) {
            r.compared = true;
            read_members(t, (char *)&r.difference, difference_members, GP_COUNT(difference_members), &v, end);
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
                    r.low_ns != GP_TRY_UNKNOWN && r.high_ns != GP_TRY_UNKNOWN && gp_trial_measured(&r);
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
    struct {
        const char *name, *device, *reason;
    } head = {0};
    static const struct member members[] = {
        {"name", TEXT, 0}, {"device", TEXT, sizeof(char *)}, {"reason", TEXT, 2 * sizeof(char *)}};
    if (gp_is(kind->p, kind->n, "trial")) read_trial(t, &t->trials, row, end);
    if (gp_is(kind->p, kind->n, "control") && !t->control.n) read_trial(t, &t->control, row, end);
    if (gp_is(kind->p, kind->n, "together") && !t->together.n) read_trial(t, &t->together, row, end);
    if (gp_is(kind->p, kind->n, "steps") || gp_is(kind->p, kind->n, "refused"))
        read_members(t, (char *)&head, members, GP_COUNT(members), row, end);
    if (head.name) t->steps = head.name;
    if (head.device) t->device = head.device;
    if (head.reason) t->refused = head.reason;
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

static void release_trials(gp_trials *rows)
{
    for (size_t i = 0; i < rows->n; i++) {
        GP_VEC_FREE(&rows->at[i].notes);
        GP_VEC_FREE(&rows->at[i].changes);
        GP_VEC_FREE(&rows->at[i].samples);
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

bool gp_try_trusted(const struct gp_try *t)
{
    bool measured = false;
    for (size_t i = 0; i < t->trials.n; i++) measured |= gp_trial_measured(&t->trials.at[i]);
    const struct gp_trial *c = t->control.n ? &t->control.at[0] : NULL;
    return measured && c && gp_trial_measured(c) && c->low_ns <= 0 && c->high_ns >= 0;
}
