#include "analyze/names/dtype.h"

#include <string.h>
#include "formats/base/count.h"
#include "formats/base/str.h"

GP_WORDS(gp_arith_name, enum gp_arith, GP_ARITHS(GP_SECOND) "none")

enum gp_arith gp_arith_called(const char *name)
{
    enum gp_arith a = GP_ARITH_FP64;
    while (a < GP_ARITH_COUNT && strcmp(gp_arith_name(a), name) != 0) a++;
    return a;
}

/* "long" before "long int" would do, as beginnings count. */
static const struct {
    const char *name;
    struct gp_dtype element;
} elements[] = {
    {"c10::complex<double>", {16, GP_ARITH_FP64}},
    {"c10::complex<float>", {8, GP_ARITH_FP32}},
    {"c10::BFloat16", {2, GP_ARITH_BF16}},
    {"c10::Half", {2, GP_ARITH_FP16}},
    {"c10::Float8", {1, GP_ARITH_FP8}},
    {"unsigned char", {1, GP_ARITH_INT8}},
    {"signed char", {1, GP_ARITH_INT8}},
    {"double", {8, GP_ARITH_FP64}},
    {"float", {4, GP_ARITH_FP32}},
    {"long", {8, GP_ARITH_NONE}},
    {"short", {2, GP_ARITH_NONE}},
    {"bool", {1, GP_ARITH_NONE}},
    {"int", {4, GP_ARITH_NONE}},
};

bool gp_dtype_at(struct gp_dtype *e, const char *text, size_t n)
{
    memset(e, 0, sizeof *e);
    for (size_t i = 0; i < GP_COUNT(elements); i++) {
        size_t len = strlen(elements[i].name);
        if (len > n || memcmp(text, elements[i].name, len) != 0) continue;
        *e = elements[i].element;
        return true;
    }
    return false;
}
