/* fuzz_classes.c -- hostile rules for classes of kernels: any pattern is compiled in proportion to its
 * length, or refused. */
#include <string.h>
#include "analyze/names/classify.h"
#include "formats/base/err.h"
#include "tests/fuzz/help/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"void at::native::vectorized_elementwise_kernel<4, add>()",
                                        "ncclDevKernel", ""};
    struct gp_classes c = {0};
    struct gp_err err = {0};
    int failed = gp_classes_parse(&c, (const char *)data, size, &err);
    if (failed) FUZZ_CHECK(err.msg[0] && !c.rules.n);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        FUZZ_CHECK(gp_class_of(gp_classify(&c, GP_KERNEL, names[i], strlen(names[i]))) < GP_CLASS_COUNT);
    gp_classes_release(&c);
    return 0;
}
