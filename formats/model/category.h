/* category.h -- categories of Chrome trace events and what they mean. Other formats use the same words.
 *
 *     struct gp_category c = gp_category("gpu_memcpy", n);       // GP_GPU, GP_MEMCPY
 */
#ifndef GP_FORMATS_MODEL_CATEGORY_H
#define GP_FORMATS_MODEL_CATEGORY_H

#include "formats/model/trace.h"

struct gp_category {
    enum gp_table table;   /* of spans; GP_OTHER: nothing is known */
    enum gp_gpu_kind kind; /* of GP_GPU */
};

struct gp_category gp_category(const char *text, size_t n);
/* Is it the category that events of TABLE, and of KIND if that is GP_GPU, have unless their `cat` column
 * differs? */
bool gp_category_is_usual(const char *text, size_t n, enum gp_table table, enum gp_gpu_kind kind);

#endif
