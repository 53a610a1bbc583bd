#include "analyze/names/args.h"

#include "formats/base/num.h"

static const char *skip_space(const char *p)
{
    while (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r') p++;
    return p;
}

/* P is after an opening quote. Returns the closing quote, or the end of the text. */
static const char *end_of_string(const char *p)
{
    for (; *p && *p != '"'; p++)
        if (*p == '\\' && p[1]) p++;
    return p;
}

/* The end of an array or object, quotes minded; of anything else, where the member ends. */
static const char *end_of_value(const char *p)
{
    size_t depth = 0;
    for (; *p; p++) {
        if (*p == '"') {
            p = end_of_string(p + 1);
            if (!*p) return p;
        } else if (*p == '[' || *p == '{') {
            depth++;
        } else if (*p == ']' || *p == '}') {
            if (!depth) return p;
            if (!--depth) return p + 1;
        } else if (!depth && (*p == ',' || *p == ' ' || *p == '\t' || *p == '\n' || *p == '\r')) {
            return p;
        }
    }
    return p;
}

bool gp_args_next(const char **at, struct gp_arg *a)
{
    const char *p = skip_space(*at);
    if (*p == '{' || *p == ',') p = skip_space(p + 1);
    if (*p != '"') return false;
    a->key = ++p;
    p = end_of_string(p);
    if (!*p) return false;
    a->key_n = (size_t)(p - a->key);
    p = skip_space(p + 1);
    if (*p != ':') return false;
    p = skip_space(p + 1);
    a->is_text = *p == '"';
    a->value = p += a->is_text;
    p = a->is_text ? end_of_string(p) : end_of_value(p);
    a->n = (size_t)(p - a->value);
    if (a->is_text && !*p) return false;
    *at = p + a->is_text;
    return true;
}

bool gp_arg_u64(const struct gp_arg *a, uint64_t *v) { return gp_u64_from_text(a->value, a->n, v); }

/* Type 0 is the host. */
int64_t gp_memory_device(const char *args)
{
    int64_t device = 0;
    struct gp_arg a;
    uint64_t v;
    for (const char *at = args; gp_args_next(&at, &a);) {
        if (gp_arg_is(&a, "Device Type") && gp_arg_u64(&a, &v) && !v) return -1;
        if (gp_arg_is(&a, "Device Id") && gp_arg_u64(&a, &v) && v <= INT32_MAX) device = (int64_t)v;
    }
    return device;
}
