/* fuzz_names.c -- hostile names of kernels, ranges, operators and Python frames, mangled ones through the
 * demangler. Keys are the same for a name as recorded and demangled; a block of the name's own size shows
 * reading beyond it. */
#include <string.h>
#include "analyze/names/classify.h"
#include "analyze/names/kernel_key.h"
#include "analyze/names/names.h"
#include "formats/base/buf.h"
#include "tests/fuzz/help/fuzz.h"

typedef void name_function(struct gp_buf *to, const char *name, size_t n);

static bool same(const struct gp_buf *a, const struct gp_buf *b)
{
    return a->n == b->n && (!a->n || !memcmp(a->data, b->data, a->n));
}

/* It appends: what stood before stays. */
static void call(name_function *f, struct gp_buf *to, const char *name, size_t n)
{
    to->n = 0;
    gp_buf_puts(to, "\x7f");
    f(to, name, n);
    FUZZ_CHECK(to->n >= 1 && to->data[0] == 0x7f);
}

static void check_keys(const char *name, size_t n, const struct gp_buf *plain)
{
    static name_function *const keys[] = {gp_kernel_code, gp_kernel_family, gp_kernel_form};
    struct gp_buf a = {0}, b = {0};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        call(keys[i], &a, name, n);
        call(keys[i], &b, plain->data + 1, plain->n - 1);
        FUZZ_CHECK(same(&a, &b));
    }
    gp_buf_release(&a);
    gp_buf_release(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static name_function *const labels[] = {gp_name_kernel_function, gp_name_kernel_label,
                                            gp_name_range_label, gp_name_op_label, gp_name_python_label};
    struct gp_buf plain = {0}, b = {0};
    char *name = malloc(size ? size : 1);
    if (size) memcpy(name, data, size);
    call(gp_name_demangle, &plain, name, size);
    FUZZ_CHECK(plain.n - 1 <= GP_NAME_PLAIN_MAX || plain.n - 1 == size);
    check_keys(name, size, &plain);
    for (size_t i = 0; i < sizeof labels / sizeof *labels; i++) {
        call(labels[i], &b, name, size);
        call(labels[i], &b, plain.data + 1, plain.n - 1);
    }
    (void)gp_name_is_module(name, size);
    (void)gp_name_is_glue(name, size);
    (void)gp_name_is_backward(name, size);
    (void)gp_kernel_is_helper(name, size);
    (void)gp_kernel_is_fused(name, size);
    FUZZ_CHECK(gp_class_of(gp_classify(NULL, GP_KERNEL, name, size)) < GP_CLASS_COUNT);
    free(name);
    gp_buf_release(&plain);
    gp_buf_release(&b);
    return 0;
}
