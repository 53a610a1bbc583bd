#include "analyze/cost/work.h"

#include <stdlib.h>
#include <string.h>
#include "analyze/cost/pointwise.h"
#include "analyze/cost/work_models_priv.h"
#include "analyze/cost/work_table.h"
#include "analyze/names/name_predicates.h"
#include "formats/base/count.h"

enum { CHUNK = 65536 };                                   /* elements of a block of multi_tensor_apply */
static const double FLOPS_MOST = 1e24, BYTES_MOST = 1e21; /* more cannot come from a real recording */

const char *const gp_work_tier_words[] = {"kind", "name and grid", "shapes", "counters", NULL};

const char *gp_work_tier_name(enum gp_work_tier t)
{
    return gp_work_tier_words[t];
}

/* ---- finding an operator ---- */

struct op_name {
    const char *at;
    size_t n;
};

static int compare_op(const void *key, const void *element)
{
    const struct op_name *name = key;
    const struct gp_work_model *m = element;
    int order = strncmp(name->at, m->op, name->n);
    return order ? order : m->op[name->n] ? -1 : 0;
}

static const struct gp_work_model *find_model(const char *op, size_t n)
{
    struct op_name name = {op, n};
    return bsearch(&name, gp_work_models, GP_COUNT(gp_work_models), sizeof *gp_work_models, compare_op);
}

/* Sets *IN_PLACE from the name. */
static const struct gp_work_model *model_of(const char *op, bool *in_place)
{
    static const char prefix[] = "aten::";
    *in_place = false;
    if (strncmp(op, prefix, sizeof prefix - 1) != 0) return NULL;
    op += sizeof prefix - 1;
    size_t n = strlen(op);
    *in_place = n > 1 && op[n - 1] == '_';
    return find_model(op, n - *in_place);
}

bool gp_work_knows_op(const char *op)
{
    bool in_place;
    return gp_kernel_is_triton(op) || model_of(op, &in_place);
}

/* ---- names of kernels ---- */

/* Bytes of an element of the tensors that a kernel works on, by "OpaqueType<2u>", or the first type of its
 * functor. */
static uint32_t size_in_name(const char *kernel)
{
    static const char opaque[] = "OpaqueType<", functor[] = "Functor";
    struct gp_dtype e;
    const char *at = strstr(kernel, opaque);
    long size = at ? strtol(at + sizeof opaque - 1, NULL, 10) : 0;
    if (size >= 1 && size <= 16) return (uint32_t)size;
    for (at = strstr(kernel, functor); at; at = strstr(at + 1, functor)) {
        const char *open = strpbrk(at, "<(>");
        if (open && *open == '<' && gp_dtype_at(&e, open + 1, strnlen(open + 1, 24))) return e.size;
    }
    return 0;
}

/* The numbers among the first arguments of a template; AT is after its opening bracket: "float, 2, 1, 1>". */
static int template_numbers(const char *at, long *v, int cap)
{
    int n = 0;
    for (bool fresh = true; *at && *at != '>' && *at != '<' && n < cap; at++) {
        if (fresh && *at >= '0' && *at <= '9') v[n++] = strtol(at, NULL, 10);
        fresh = *at == ' ' || *at == ',';
    }
    return n;
}

/* How often an element of one list is read or written: "TensorListMetadata<2>, UnaryOpFunctor<float, 2, 1,
 * 1>" has two lists and reads one of them. 0: unknown. */
static long passes_of(const char *name, long *lists)
{
    const char *metadata = strstr(name, "Metadata<"), *functor = strstr(name, "Functor<");
    long v[2];
    if (!metadata || template_numbers(metadata + strlen("Metadata<"), lists, 1) != 1) return 0;
    if (!functor || *lists < 1 || *lists > 8) return 0;
    if (strstr(name, "LpNorm")) return 1;
    if (strstr(name, "FusedAdam")) return 2 * *lists - 1; /* all but the gradient are written */
    int n = template_numbers(functor + strlen("Functor<"), v, 2);
    return (n == 2 && v[1] >= 0 && v[1] <= *lists ? v[1] : *lists) + 1;
}

/* Blocks work on 65536 elements each, the last one of each tensor on fewer. So many tensors fit one launch,
 * by lists. */
static bool of_multi_tensor(struct gp_work *w, const char *name, uint32_t blocks)
{
    static const uint32_t tensors[] = {110, 64, 48, 36, 30};
    long lists = 0, passes = passes_of(name, &lists);
    uint32_t size = size_in_name(name);
    if (!size || !blocks || !passes) return false;
    uint32_t most = lists <= 5 ? tensors[lists - 1] : tensors[4];
    double whole = blocks > most ? (double)(blocks - most) * CHUNK : 0, all = (double)blocks * CHUNK;
    double each = (double)size * (double)passes;
    gp_work_set_bytes(w, whole * each, all * each, -1);
    return true;
}

/* Its operands show whether a kernel only fills; a copy has no arithmetic. */
bool gp_work_of_kernel(struct gp_work *w, const char *name, uint32_t blocks)
{
    struct gp_pointwise p;
    memset(w, 0, sizeof *w);
    w->arith = GP_ARITH_NONE;
    w->written = -1;
    if (gp_kernel_is_multi_tensor(name)) return of_multi_tensor(w, name, blocks);
    if (!gp_pointwise_of(&p, name, blocks)) return false;
    double elements = (double)p.elements, written = elements * p.out_size;
    double read = elements * p.inputs * p.in_size;
    /* a broadcast operand is smaller than the longest one, which is all that the grid shows */
    bool may_broadcast = p.inputs > 1 && gp_kernel_is_strided(name);
    gp_work_set_bytes(w, (may_broadcast ? elements * p.in_size : read) + written, read + written, written);
    return true;
}

/* ---- all of it ---- */

/* The type of the largest input; for lists, the size only distinguishes FP32 from 16 bits. */
static struct gp_dtype main_element(const struct gp_shapes *s, uint32_t list_size)
{
    struct gp_dtype e = {list_size, list_size == 4 ? GP_ARITH_FP32 : GP_ARITH_NONE};
    double most = 0;
    for (int i = 0; i < s->n; i++) {
        gp_tensor t = gp_shapes_tensor(s, i);
        if (!t || gp_work_bytes_of(t) <= most) continue;
        most = gp_work_bytes_of(t);
        e = t->element;
    }
    return e;
}

bool gp_work_of_op(struct gp_work *w, const char *op, const struct gp_shapes *s, const char *kernel)
{
    bool in_place, known;
    uint32_t list_size = kernel ? size_in_name(kernel) : 0;
    const struct gp_work_model *m = model_of(op, &in_place);
    memset(w, 0, sizeof *w);
    w->arith = GP_ARITH_NONE;
    w->written = -1;
    if (m) {
        struct gp_work_model one = *m;
        one.in_place |= in_place;
        one.list_size = list_size;
        known = one.run(w, s, &one);
    } else {
        known = gp_kernel_is_triton(op) && gp_of_triton(w, s, op);
    }
    /* written so that NaN does not pass */
    known = known && w->flops >= 0 && w->flops < FLOPS_MOST && w->bytes_low >= 0 &&
            w->bytes_high < BYTES_MOST && w->bytes_high > 0 && w->bytes_low <= w->bytes_high;
    w->element = main_element(s, list_size);
    if (known) return true;
    memset(w, 0, sizeof *w);
    w->arith = GP_ARITH_NONE;
    w->written = -1;
    return false;
}
