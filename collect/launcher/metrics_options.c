#include "collect/launcher/metrics_options.h"

#include <stdlib.h>
#include "collect/counters/list.h"
#include "formats/base/answer.h"
#include "formats/base/buf.h"

int gp_collect_list(const struct gp_collect_opts *o, struct gp_err *err)
{
    struct gp_perfworks p;
    struct gp_buf b = {0};
    const char *path = getenv(GP_ENV_LIBCUPTI);
    int failed = gp_perfworks_find(&p, path && *path ? path : NULL, err) ||
                 gp_metrics_list(&b, &p, o->list_metrics, err);
    if (!failed) return gp_answer_file(o->output, &b, err);
    gp_buf_release(&b);
    return failed;
}
