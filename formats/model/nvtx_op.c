#include "formats/model/nvtx_op.h"

#include <string.h>
#include "formats/base/str.h"
#include "formats/model/trace.h"

struct rest {
    const char *at, *end;
};

static bool skip(struct rest *r, const char *text, size_t n)
{
    bool found = (size_t)(r->end - r->at) >= n && !memcmp(r->at, text, n);
    if (found) r->at += n;
    return found;
}

static bool number(struct rest *r, uint64_t *v)
{
    const char *from = r->at;
    uint64_t sum = 0;
    for (; r->at < r->end && *r->at >= '0' && *r->at <= '9'; r->at++) {
        if (sum > (GP_NO_ID - 10) / 10) return false;
        sum = sum * 10 + (uint64_t)(*r->at - '0');
    }
    *v = sum;
    return r->at > from;
}

/* A list in brackets, of digits and separators. */
static bool list(struct rest *r)
{
    int depth = 0;
    if (r->at == r->end || *r->at != '[') return false;
    for (; r->at < r->end; r->at++) {
        if (!memchr("[](), -0123456789", *r->at, sizeof "[](), -0123456789" - 1)) return false;
        depth += (*r->at == '[') - (*r->at == ']');
        if (!depth) return r->at++, true;
    }
    return false;
}

/* What follows the name, up to the end of the text. */
static bool fields(struct gp_nvtx_op *o, struct rest r)
{
    uint64_t id;
    o->seq = GP_NO_ID;
    o->sizes = NULL;
    o->sizes_n = 0;
    if (skip(&r, GP_TEXT(", seq = ")) && !number(&r, &o->seq)) return false;
    if (skip(&r, GP_TEXT(", op_id = ")) && !number(&r, &id)) return false;
    if (skip(&r, GP_TEXT(", sizes = "))) {
        o->sizes = r.at;
        if (!list(&r)) return false;
        o->sizes_n = (size_t)(r.at - o->sizes);
    }
    if (skip(&r, GP_TEXT(", input_op_ids = ")) && !list(&r)) return false;
    return r.at == r.end;
}

/* "aten::mm"; others have inputs, or the sequence number of a backward pass. */
static bool is_operator(const struct gp_nvtx_op *o, const char *name, size_t n)
{
    const char *space = memchr(name, ' ', n);
    size_t word = space ? (size_t)(space - name) : n;
    for (size_t i = 1; i + 2 < word; i++)
        if (name[i] == ':' && name[i + 1] == ':') return true;
    return o->sizes || o->seq != GP_NO_ID;
}

bool gp_nvtx_op(struct gp_nvtx_op *o, const char *text, size_t n)
{
    for (size_t i = 1; i + sizeof ", seq = " - 1 < n; i++) {
        if (text[i] != ',') continue;
        struct rest r = {text + i, text + n}, begin = r;
        if (!skip(&begin, GP_TEXT(", seq = ")) && !skip(&begin, GP_TEXT(", op_id = "))) continue;
        if (!fields(o, r)) continue;
        o->name_n = i;
        o->is_op = is_operator(o, text, i);
        return true;
    }
    return false;
}
