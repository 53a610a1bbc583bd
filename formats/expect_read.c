#include "formats/expect_read.h"

#include <math.h>
#include <string.h>
#include "formats/base/buf.h"
#include "formats/base/err.h"
#include "formats/base/num.h"
#include "formats/base/json_scan.h"
#include "formats/base/str.h"

enum { MOST_ITEMS = 100000 };

static const char *copy_string(struct gp_expect_file *f, const struct gp_json_value *v)
{
    struct gp_buf text = {0};
    gp_json_decode(&text, v->p, v->n);
    const char *copy = gp_arena_strndup(&f->mem, text.n ? text.data : "", text.n);
    gp_buf_release(&text);
    return copy;
}

/* The known members of one prediction; unknown ones are ignored, for later versions. */
struct fields {
    struct gp_json_value name, low, high;
    enum gp_expect_sort sort;
    int names;
    bool percent;
};

static void take_member(struct fields *m, const struct gp_json_value *key, const struct gp_json_value *v)
{
    static const struct {
        const char *key;
        enum gp_expect_sort sort;
    } subjects[] = {
        {"metric", GP_EXPECT_METRIC}, {"idle", GP_EXPECT_IDLE}, {"operation", GP_EXPECT_OPERATION}};
    static const char *const units[] = {"", "_ns", "_bytes", "_pct"};
    for (size_t i = 0; i < GP_COUNT(subjects); i++) {
        if (!gp_json_is(key, subjects[i].key) || !gp_json_is_string(v)) continue;
        m->name = *v;
        m->sort = subjects[i].sort;
        m->names++;
    }
    for (size_t i = 0; i < GP_COUNT(units); i++) {
        if (v->kind != GP_JSON_NUMBER || !gp_ends(key->p, key->n, units[i])) continue;
        size_t n = key->n - strlen(units[i]);
        bool low = gp_is(key->p, n, "low"), high = gp_is(key->p, n, "high");
        if (!low && !high) continue;
        *(low ? &m->low : &m->high) = *v;
        m->percent = i == 3;
    }
}

static int add_item(struct gp_expect_file *f, const struct gp_json_value *object, const char *end,
                    struct gp_err *err)
{
    struct fields m = {0};
    struct gp_json_value key, v;
    size_t number = f->items.n + 1;
    if (object->kind != GP_JSON_OBJECT)
        return gp_fail(err, GP_E_SYNTAX, -1, "prediction %zu is not an object", number);
    for (const char *p = object->p + 1; gp_json_next(&p, end, &key, &v);) take_member(&m, &key, &v);
    if (m.names != 1)
        return gp_fail(err, GP_E_SYNTAX, -1, "prediction %zu must have one of metric, idle and operation",
                       number);
    struct gp_expect_item item = {.sort = m.sort, .percent = m.percent};
    if (!m.low.p || !m.high.p || !gp_double_from_text(m.low.p, m.low.n, &item.low) ||
        !gp_double_from_text(m.high.p, m.high.n, &item.high) || !isfinite(item.low) || !isfinite(item.high))
        return gp_fail(err, GP_E_SYNTAX, -1, "prediction %zu must have a lowest and a highest change",
                       number);
    if (item.low > item.high)
        return gp_fail(err, GP_E_SYNTAX, -1, "prediction %zu: low is above high", number);
    if (number > MOST_ITEMS) return gp_fail(err, GP_E_LIMIT, -1, "more than %d predictions", MOST_ITEMS);
    item.name = copy_string(f, &m.name);
    GP_VEC_PUSH(&f->items, item);
    return 0;
}

static int read_document(struct gp_expect_file *f, const char *text, const char *end, struct gp_err *err)
{
    struct gp_json_value root, key, v, element;
    const char *at = text;
    bool named = false;
    if (!gp_json_value(text, end, &root, &at) || root.kind != GP_JSON_OBJECT)
        return gp_fail(err, GP_E_SYNTAX, at - text, "not a JSON object with predictions");
    for (const char *p = root.p + 1; gp_json_next(&p, end, &key, &v);) {
        if (gp_json_is(&key, "schema"))
            named = v.kind == GP_JSON_STRING && gp_is(v.p, v.n, "gpuprof/expect/1");
        if (!gp_json_is(&key, "predictions") || v.kind != GP_JSON_ARRAY) continue;
        for (const char *q = v.p + 1; gp_json_next(&q, end, NULL, &element);)
            if (add_item(f, &element, end, err)) return -1;
    }
    if (!named) return gp_fail(err, GP_E_FORMAT, -1, "the schema is not \"gpuprof/expect/1\"");
    if (!f->items.n) return gp_fail(err, GP_E_FORMAT, -1, "no predictions");
    return 0;
}

int gp_expect_read(struct gp_expect_file *f, const char *text, size_t n, struct gp_err *err)
{
    struct gp_buf padded = {0};
    gp_buf_put(&padded, text, n);
    memset(gp_buf_reserve(&padded, GP_JSON_PAD), 0, GP_JSON_PAD);
    int failed = read_document(f, padded.data, padded.data + n, err);
    gp_buf_release(&padded);
    if (failed) gp_expect_file_release(f);
    return failed;
}

void gp_expect_file_release(struct gp_expect_file *f)
{
    GP_VEC_FREE(&f->items);
    gp_arena_release(&f->mem);
}
