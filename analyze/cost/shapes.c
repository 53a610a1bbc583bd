// Sizes stand in "[[64, 32], [], [[8], [8, 4]]]": a list of inputs, each a tensor's sizes, or a list of
// tensors.
#include "analyze/cost/shapes.h"

#include <string.h>
#include "analyze/names/args.h"

enum { LEVELS = 3 }; /* of brackets: inputs, a tensor or a list, a tensor of a list */
static const int64_t SIZE_MOST = INT64_C(1) << 60;

struct text {
    const char *at;
    size_t n;
};

/* Read a number at TEXT[*I] and advance *I past it. False for negative numbers and anything else. */
static bool read_size(struct text text, size_t *i, int64_t *v)
{
    size_t from = *i;
    for (*v = 0; *i < text.n && text.at[*i] >= '0' && text.at[*i] <= '9'; ++*i)
        if (*v < SIZE_MOST / 16) *v = *v * 10 + (text.at[*i] - '0');
        else *v = SIZE_MOST;
    return *i > from;
}

struct walk {
    struct gp_shapes *s;
    double tensor; /* elements of the tensor of a list that is being read */
};

static void take_size(struct walk *w, int depth, int64_t v)
{
    struct gp_shape *shape = &w->s->in[w->s->n];
    if (depth == 3) {
        w->tensor *= (double)v;
        return;
    }
    shape->elements *= (double)v;
    if (shape->n >= 0 && shape->n < GP_SHAPE_DIMS) shape->size[shape->n++] = v;
    else shape->n = -1;
}

/* Between sizes; lists that a tool has pretty-printed go over several lines. */
static bool is_between(char c) { return c == ',' || c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

static bool read_dims(struct gp_shapes *s, struct text text)
{
    struct walk w = {.s = s};
    int depth = 0;
    for (size_t i = 0; i < text.n && s->n < GP_SHAPE_INPUTS;) {
        char c = text.at[i];
        int64_t v;
        if (c == '[') {
            if (++depth > LEVELS) return false;
            struct gp_shape *shape = &w.s->in[w.s->n];
            if (depth == 2) *shape = (struct gp_shape){.sort = GP_SHAPE_TENSOR, .elements = 1};
            if (depth == 3 && shape->sort == GP_SHAPE_TENSOR) {
                shape->sort = GP_SHAPE_LIST;
                shape->elements = 0;
            }
            if (depth == 3) w.tensor = 1;
            i++;
        } else if (c == ']') {
            if (depth == 3) s->in[s->n].elements += w.tensor;
            if (depth == 2) s->n++;
            if (--depth < 0) return false;
            i++;
        } else if (is_between(c)) {
            i++;
        } else if (depth < 2 || !read_size(text, &i, &v)) {
            return false;
        } else {
            take_size(&w, depth, v);
        }
    }
    return true;
}

/* The next string of a JSON array, quotes minded; false at its end. */
static bool next_string(struct text text, size_t *i, struct text *one)
{
    while (*i < text.n && text.at[*i] != '"') ++*i;
    if (*i >= text.n) return false;
    size_t from = ++*i;
    for (; *i < text.n && text.at[*i] != '"'; ++*i)
        if (text.at[*i] == '\\') ++*i;
    if (*i >= text.n) return false;
    *one = (struct text){text.at + from, *i - from};
    ++*i;
    return true;
}

static bool is(struct text text, const char *word)
{
    return text.n == strlen(word) && !memcmp(text.at, word, text.n);
}

/* An input without sizes is a tensor without dimensions only if its type is an element type. */
static void read_types(struct gp_shapes *s, struct text text)
{
    struct text type;
    int known = 0;
    for (size_t i = 0; known < s->n && next_string(text, &i, &type); known++) {
        struct gp_shape *shape = &s->in[known];
        bool element = gp_dtype_at(&shape->element, type.at, type.n);
        if (shape->sort != GP_SHAPE_TENSOR || shape->n || element) continue;
        shape->sort = is(type, "TensorList") ? GP_SHAPE_UNKNOWN_LIST : GP_SHAPE_NOTHING;
    }
    for (; known < s->n; known++)
        if (s->in[known].sort == GP_SHAPE_TENSOR && !s->in[known].n) s->in[known].sort = GP_SHAPE_NOTHING;
}

bool gp_shapes_read(struct gp_shapes *s, const char *extra)
{
    struct gp_arg a;
    struct text dims = {0}, types = {0}, strides = {0};
    s->n = 0;
    s->concrete = NULL;
    s->concrete_n = 0;
    for (const char *at = extra; gp_args_next(&at, &a);) {
        if (a.key_n < 10) continue;
        if (gp_arg_is(&a, "Input Dims")) dims = (struct text){a.value, a.n};
        else if (gp_arg_is(&a, "Input type")) types = (struct text){a.value, a.n};
        else if (gp_arg_is(&a, "Input Strides")) strides = (struct text){a.value, a.n};
        else if (gp_arg_is(&a, "Concrete Inputs")) s->concrete = a.value, s->concrete_n = a.n;
    }
    if (!dims.at || !read_dims(s, dims)) return false;
    for (int i = 0; i < s->n; i++) s->in[i].distinct = s->in[i].elements;
    read_types(s, types);
    /* Dimensions of stride 0 are one element in memory. Lists of tensors, and what does not look like the
     * sizes, stay. */
    int depth = 0, input = -1, dim = 0;
    for (size_t i = 0; i < strides.n && input < s->n;) {
        char c = strides.at[i];
        int64_t v;
        if (c == '[') {
            depth++;
            if (depth == 2) input++, dim = 0;
        } else if (c == ']') {
            depth--;
        } else if (depth == 2 && input < s->n && read_size(strides, &i, &v)) {
            struct gp_shape *shape = &s->in[input];
            if (v == 0 && dim < shape->n && shape->size[dim] > 1) shape->distinct /= (double)shape->size[dim];
            dim++;
            continue;
        }
        i++;
    }
    return s->n > 0;
}

/* ---- values ---- */

static bool value_of(const struct gp_shapes *s, int i, struct text *value)
{
    struct text all = {s->concrete, s->concrete_n};
    if (!all.at || i < 0) return false;
    size_t at = 0;
    for (int k = 0; k <= i; k++)
        if (!next_string(all, &at, value)) return false;
    return true;
}

/* Read a number, True or False at TEXT[*I] and advance *I past it. */
static bool read_value(struct text text, size_t *i, int64_t *v)
{
    static const char *const words[] = {"False", "True"};
    for (int k = 0; k < 2; k++) {
        size_t n = strlen(words[k]);
        if (text.n - *i < n || memcmp(text.at + *i, words[k], n) != 0) continue;
        *v = k;
        *i += n;
        return true;
    }
    bool negative = text.at[*i] == '-';
    *i += negative;
    if (!read_size(text, i, v)) return false;
    if (negative) *v = -*v;
    return true;
}

int gp_shapes_ints(const struct gp_shapes *s, int i, int64_t *v, int cap)
{
    struct text text;
    int n = 0;
    if (!value_of(s, i, &text) || text.n < 2 || text.at[0] != '[' || text.at[text.n - 1] != ']') return 0;
    text.n--;
    for (size_t k = 1; k < text.n;) {
        if (is_between(text.at[k])) {
            k++;
            continue;
        }
        int64_t one;
        if (!read_value(text, &k, &one)) return 0;
        if (n < cap) v[n++] = one;
    }
    return n;
}

bool gp_shapes_int(const struct gp_shapes *s, int i, int64_t *v)
{
    struct text text;
    int64_t one;
    size_t k = 0;
    if (!value_of(s, i, &text) || !text.n || text.at[0] == 'T' || text.at[0] == 'F') return false;
    if (!read_value(text, &k, &one) || k != text.n) return false;
    *v = one;
    return true;
}

bool gp_shapes_bool(const struct gp_shapes *s, int i, bool *v)
{
    struct text text;
    if (!value_of(s, i, &text) || (!is(text, "True") && !is(text, "False"))) return false;
    *v = text.at[0] == 'T';
    return true;
}
