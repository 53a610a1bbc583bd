/* fuzz_classes.c -- hostile rules for classes of kernels. What the system's regular expressions cost is not ours: patterns
 * are short here, and have one repetition with a count at most. */
#include <string.h>
#include "analyze/names/classify.h"
#include "tests/fuzz/help/fuzz.h"

enum { MOST = 256 };

static size_t copy(char *to, const uint8_t *data, size_t size)
{
    bool counted = false;
    size_t n = 0;
    for (; n < size && n < MOST; n++) {
        to[n] = data[n] == '{' && counted ? '(' : (char)data[n];
        counted = counted || data[n] == '{';
    }
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"void at::native::vectorized_elementwise_kernel<4, add>()",
                                        "ncclDevKernel", ""};
    struct gp_classes c = {0};
    struct gp_err err = {0};
    char text[MOST];
    size_t n = copy(text, data, size);
    char *exact = malloc(n + 1);
    memcpy(exact, text, n);
    int failed = gp_classes_parse(&c, exact, n, &err);
    free(exact);
    if (failed) FUZZ_CHECK(err.msg[0] && !c.rules.n);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        FUZZ_CHECK(gp_class_of(gp_classify(&c, GP_KERNEL, names[i], strlen(names[i]))) < GP_CLASS_COUNT);
    gp_classes_release(&c);
    return 0;
}
