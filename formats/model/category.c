#include "formats/model/category.h"

#include "formats/base/count.h"
#include "formats/base/str.h"
#include "formats/model/samples.h"

static const struct {
    const char *text;
    struct gp_category means;
} known[] = {
    {"kernel", {GP_GPU, GP_KERNEL}},
    {"Kernel", {GP_GPU, GP_KERNEL}},
    {"gpu_memcpy", {GP_GPU, GP_MEMCPY}},
    {"Memcpy", {GP_GPU, GP_MEMCPY}},
    {"gpu_memset", {GP_GPU, GP_MEMSET}},
    {"Memset", {GP_GPU, GP_MEMSET}},
    {"cuda_runtime", {GP_API, GP_KERNEL}},
    {"cuda_driver", {GP_API, GP_KERNEL}},
    {"runtime", {GP_API, GP_KERNEL}},
    {"Runtime", {GP_API, GP_KERNEL}},
    {"cpu_op", {GP_OP, GP_KERNEL}},
    {"Operator", {GP_OP, GP_KERNEL}},
    {"python_function", {GP_PYTHON, GP_KERNEL}},
    {GP_SAMPLED_CATEGORY, {GP_PYTHON, GP_KERNEL}},
    {GP_PYTHON_STACK_CATEGORY, {GP_PYTHON, GP_KERNEL}},
    {GP_NATIVE_STACK_CATEGORY, {GP_PYTHON, GP_KERNEL}},
    {"user_annotation", {GP_RANGE, GP_KERNEL}},
    {"gpu_user_annotation", {GP_GPU_RANGE, GP_KERNEL}},
    {"cuda_sync", {GP_SYNC, GP_KERNEL}},
    {"cuda_event", {GP_SYNC, GP_KERNEL}},
    {"overhead", {GP_OVERHEAD, GP_KERNEL}},
};

struct gp_category gp_category(const char *text, size_t n)
{
    for (size_t i = 0; i < GP_COUNT(known); i++)
        if (gp_is(text, n, known[i].text)) return known[i].means;
    return (struct gp_category){gp_begin(text, n, "hip") ? GP_API : GP_OTHER, GP_KERNEL};
}

bool gp_category_is_usual(const char *text, size_t n, enum gp_table table, enum gp_gpu_kind kind)
{
    return gp_is(text, n, table == GP_GPU ? gp_gpu_kind_category(kind) : gp_table_category(table));
}
