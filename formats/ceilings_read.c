#include "formats/ceilings_read.h"

#include <math.h>
#include <string.h>
#include "formats/base/buf.h"
#include "formats/base/count.h"
#include "formats/base/err.h"
#include "formats/base/num.h"
#include "formats/base/json_scan.h"

/* PREFIX and KEY name the member in messages. */
static int read_number(const char *prefix, const struct gp_json_value *key, const struct gp_json_value *v,
                       double *number, struct gp_err *err)
{
    double d = 0;
    if (v->kind != GP_JSON_NUMBER || !gp_double_from_text(v->p, v->n, &d) || !isfinite(d) || d <= 0)
        return gp_fail(err, GP_E_SYNTAX, -1, "%s%.*s must be a number above 0", prefix,
                       (int)(key->n < 64 ? key->n : 64), key->p);
    *number = d;
    return 0;
}

static int read_types(struct gp_ceilings_file *f, const struct gp_json_value *object, const char *end,
                      struct gp_err *err)
{
    struct gp_json_value key, v;
    if (object->kind != GP_JSON_OBJECT)
        return gp_fail(err, GP_E_SYNTAX, -1, "flops_per_s must be an object of types and numbers");
    for (const char *p = object->p + 1; gp_json_next(&p, end, &key, &v);) {
        if (f->n == GP_CEILINGS_TYPES)
            return gp_fail(err, GP_E_LIMIT, -1, "flops_per_s: more than %d types", GP_CEILINGS_TYPES);
        if (!key.n || key.n >= GP_CEILINGS_TYPE_BYTES)
            return gp_fail(err, GP_E_SYNTAX, -1, "flops_per_s: no type \"%.*s\"",
                           (int)(key.n < 64 ? key.n : 64), key.p);
        if (read_number("flops_per_s: ", &key, &v, &f->flops[f->n].per_s, err)) return -1;
        memcpy(f->flops[f->n].type, key.p, key.n);
        f->flops[f->n].type[key.n] = '\0';
        f->n++;
    }
    return 0;
}

static int read_member(struct gp_ceilings_file *f, const struct gp_json_value *key,
                       const struct gp_json_value *v, const char *end, struct gp_err *err)
{
    static const struct {
        const char *key;
        size_t offset;
    } numbers[] = {{"memory_bytes_per_s", offsetof(struct gp_ceilings_file, memory_bytes_per_s)},
                   {"memory_read_bytes_per_s", offsetof(struct gp_ceilings_file, memory_read_bytes_per_s)},
                   {"memory_write_bytes_per_s", offsetof(struct gp_ceilings_file, memory_write_bytes_per_s)},
                   {"l2_bytes_per_s", offsetof(struct gp_ceilings_file, l2_bytes_per_s)},
                   {"l2_bytes", offsetof(struct gp_ceilings_file, l2_bytes)},
                   {"empty_kernel_ns", offsetof(struct gp_ceilings_file, empty_kernel_ns)}};
    for (size_t i = 0; i < GP_COUNT(numbers); i++) {
        double d = 0;
        if (!gp_json_is(key, numbers[i].key)) continue;
        if (read_number("", key, v, &d, err)) return -1;
        memcpy((char *)f + numbers[i].offset, &d, sizeof d);
    }
    return gp_json_is(key, "flops_per_s") ? read_types(f, v, end, err) : 0;
}

static int read_document(struct gp_ceilings_file *f, const char *text, const char *end, struct gp_err *err)
{
    struct gp_json_value root, key, v;
    const char *at = text;
    bool named = false;
    if (!gp_json_value(text, end, &root, &at) || root.kind != GP_JSON_OBJECT)
        return gp_fail(err, GP_E_SYNTAX, at - text, "not a JSON object with ceilings");
    for (const char *p = root.p + 1; gp_json_next(&p, end, &key, &v);) {
        if (gp_json_is(&key, "schema"))
            named = v.kind == GP_JSON_STRING && gp_json_is(&v, "gpuprof/ceilings/1");
        if (read_member(f, &key, &v, end, err)) return -1;
    }
    if (!named) return gp_fail(err, GP_E_FORMAT, -1, "the schema is not \"gpuprof/ceilings/1\"");
    if (!f->n && f->memory_bytes_per_s <= 0 && f->memory_read_bytes_per_s <= 0 &&
        f->memory_write_bytes_per_s <= 0 && f->l2_bytes_per_s <= 0 && f->l2_bytes <= 0 &&
        f->empty_kernel_ns <= 0)
        return gp_fail(err, GP_E_FORMAT, -1, "no ceilings");
    return 0;
}

int gp_ceilings_read(struct gp_ceilings_file *f, const char *text, size_t n, struct gp_err *err)
{
    struct gp_buf padded = {0};
    memset(f, 0, sizeof *f);
    gp_buf_put(&padded, text, n);
    memset(gp_buf_reserve(&padded, GP_JSON_PAD), 0, GP_JSON_PAD);
    int failed = read_document(f, padded.data, padded.data + n, err);
    gp_buf_release(&padded);
    return failed;
}

/* The number of member PATH of the object with members from P on; a dot leads into a member. */
static double number_at(const char *p, const char *end, const char *path)
{
    struct gp_json_value key, v;
    size_t first = strcspn(path, ".");
    double d = 0;
    while (gp_json_next(&p, end, &key, &v)) {
        if (key.n != first || memcmp(key.p, path, first)) continue;
        if (path[first]) return v.kind == GP_JSON_OBJECT ? number_at(v.p + 1, end, path + first + 1) : 0;
        return v.kind == GP_JSON_NUMBER && gp_double_from_text(v.p, v.n, &d) && isfinite(d) && d > 0 ? d : 0;
    }
    return 0;
}

double gp_ceilings_number(const char *text, size_t n, const char *path)
{
    struct gp_buf padded = {0};
    struct gp_json_value root;
    const char *at;
    double d = 0;
    gp_buf_put(&padded, text, n);
    memset(gp_buf_reserve(&padded, GP_JSON_PAD), 0, GP_JSON_PAD);
    if (gp_json_value(padded.data, padded.data + n, &root, &at) && root.kind == GP_JSON_OBJECT)
        d = number_at(root.p + 1, padded.data + n, path);
    gp_buf_release(&padded);
    return d;
}
