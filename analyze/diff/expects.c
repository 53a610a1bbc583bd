#include "analyze/diff/expects.h"

#include <inttypes.h>
#include <string.h>
#include "formats/base/buf.h"
#include "formats/base/err.h"

/* What a prediction is about, as gp_expect has it; UINT32_MAX: there is no such thing. */
static uint32_t subject_of(const struct gp_expect_item *item, struct gp_buf *subject)
{
    if (item->sort == GP_EXPECT_OPERATION) {
        gp_buf_printf(subject, "op %s", item->name);
        return GP_METRIC_COUNT;
    }
    if (item->sort == GP_EXPECT_IDLE) {
        gp_buf_printf(subject, "idle.%s", item->name);
        for (uint32_t c = 0; c < GP_IDLE_CAUSE_COUNT; c++)
            if (!strcmp(gp_idle_cause_name((enum gp_idle_cause)c), item->name))
                return GP_METRIC_COUNT + 1 + c;
        return UINT32_MAX;
    }
    gp_buf_puts(subject, item->name);
    for (uint32_t m = 0; m < GP_METRIC_COUNT; m++)
        if (!strcmp(gp_metric_name((enum gp_metric_id)m), item->name)) return m;
    return UINT32_MAX;
}

static int add_item(struct gp_expects *to, const struct gp_expect_item *item, uint32_t number,
                    struct gp_err *err)
{
    struct gp_buf subject = {0};
    struct gp_expect e = {.metric = subject_of(item, &subject),
                          .percent = item->percent,
                          .low = item->low,
                          .high = item->high,
                          .line = number};
    e.subject = gp_intern(&to->strings, subject.data, subject.n);
    gp_buf_release(&subject);
    if (e.metric == UINT32_MAX)
        return gp_fail(err, GP_E_SYNTAX, -1, "prediction %" PRIu32 ": unknown %s \"%.100s\"", number,
                       item->sort == GP_EXPECT_IDLE ? "idle cause" : "metric", item->name);
    if (item->sort == GP_EXPECT_OPERATION) e.op = gp_intern_cstr(&to->strings, item->name);
    GP_VEC_PUSH(&to->at, e);
    return 0;
}

int gp_expects_of_file(struct gp_expects *e, const struct gp_expect_file *f, struct gp_err *err)
{
    for (size_t i = 0; i < f->items.n; i++)
        if (add_item(e, &f->items.at[i], (uint32_t)i + 1, err)) return -1;
    return 0;
}
