// Constants: launch geometry of PyTorch's elementwise kernels as measured with 2.11, whose names
// contain std::array<char*, operands>; vectorized ones of 2.6 have half as many elements. Earlier releases
// differ and have at::detail::Array: they are unknown
// here.
#include "analyze/cost/pointwise.h"

#include <stdlib.h>
#include <string.h>
#include "analyze/names/dtype.h"
#include "analyze/names/name_predicates.h"

enum { THREADS = 128, VECTORIZED = 1024, UNROLLED = 512 }; /* threads, and elements, of a block */

/* Bytes of the type that TEXT begins with; 0: none. */
static uint32_t type_at(const char *text)
{
    struct gp_dtype e;
    return gp_dtype_at(&e, text, strnlen(text, 24)) ? e.size : 0;
}

/* The arguments of the applied function: those of the last lambda before END whose first argument is a type,
 * otherwise the first type in angle brackets. *N is 0 if their number is unknown. */
static uint32_t argument(const char *from, const char *end, uint32_t *n)
{
    uint32_t size = 0;
    *n = 0;
    for (const char *at = from; (at = strstr(at, "lambda(")) && at < end;) {
        at += strlen("lambda(");
        if (!type_at(at)) continue;
        size = type_at(at);
        *n = 1;
        for (const char *c = at; c < end && *c && *c != ')'; c++) *n += *c == ',';
    }
    if (size) return size;
    for (const char *at = from; !size && (at = strchr(at, '<')) && at < end; at++) size = type_at(at + 1);
    return size;
}

/* Operands, from "std::array<char*, 3ul>"; 0: unknown. */
static uint32_t operands(const char *name)
{
    static const char mark[] = "std::array<char*, ";
    const char *at = strstr(name, mark);
    long n = at ? strtol(at + sizeof mark - 1, NULL, 10) : 0;
    return n > 0 && n < 64 ? (uint32_t)n : 0;
}

bool gp_pointwise_of(struct gp_pointwise *p, const char *name, uint32_t blocks)
{
    static const char strided[] = "::elementwise_kernel<128, ";
    memset(p, 0, sizeof *p);
    const char *at, *array = strstr(name, "std::array<char*, ");
    uint32_t a_block = 0, k = operands(name), n;
    if (k && (at = strstr(name, "vectorized_elementwise_kernel<"))) a_block = VECTORIZED;
    else if (k && (at = strstr(name, "unrolled_elementwise_kernel<"))) a_block = UNROLLED;
    else if ((at = strstr(name, strided)))
        a_block = THREADS * (uint32_t)strtol(at + strlen(strided), NULL, 10);
    const char *end = !at ? NULL : array && array > at ? array : strstr(at, ">(");
    uint32_t size = at ? argument(at, end ? end : at + strlen(at), &n) : 0;
    if (!a_block || a_block > 16 * THREADS || !size || !blocks) return false;
    if (!k) k = n ? n + 1 : strstr(at, "CUDAFunctor_add<") ? 3 : 0;
    if (!k) return false;
    p->elements = (int64_t)blocks * a_block;
    p->inputs = k - 1;
    /* A copy's lambda has the type that it copies into; other kernels that cast on load usually read at least
     * half of that. */
    p->in_size = p->out_size = size;
    if (strstr(name, "float16_copy_kernel")) p->out_size = 2; /* and bfloat16 */
    else if (strstr(name, "LoadWithCast")) p->in_size = size > 1 ? size / 2 : 1;
    return true;
}

bool gp_pointwise_is_vectorized(const char *name)
{
    return strstr(name, "vectorized_elementwise_kernel<") != NULL;
}

bool gp_pointwise_fills(const char *name) { return gp_name_has_one_of(name, " FillFunctor ZeroFunctor "); }

bool gp_pointwise_copies(const char *name) { return strstr(name, "copy_kernel_cuda") != NULL; }

bool gp_pointwise_casts(const char *name)
{
    return strstr(name, "float16_copy_kernel") ||
           (strstr(name, "direct_copy_kernel_cuda") && strstr(name, "WithCast"));
}

bool gp_pointwise_reorders(const char *name)
{
    return gp_kernel_joins(name) || strstr(name, "nchwToNhwc") || strstr(name, "nhwcToNchw") ||
           (gp_kernel_is_strided(name) && strstr(name, "direct_copy_kernel_cuda") &&
            !gp_pointwise_casts(name));
}
