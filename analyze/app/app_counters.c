#include "analyze/app/app_counters.h"
#include "formats/base/err.h"

int gp_app_counters(struct gp_app *f, const char *path, struct gp_trace *t, struct gp_err *err)
{
    const char *const *paths = f->paths;
    const bool *commands = f->commands;
    size_t n = f->n;
    f->commands = NULL;
    gp_app_inputs(f, &path, 1);
    int failed = gp_app_trace(f, 0, GP_NEED(GP_METRIC), t, err);
    gp_app_inputs(f, paths, n);
    f->commands = commands;
    if (failed) memset(t, 0, sizeof *t); /* it is released already */
    if (!failed && !t->events[GP_METRIC].n)
        failed = gp_fail(err, GP_E_FORMAT, -1,
                         "%s: no hardware counters: record it with gpuprof-collect --metrics roofline", path);
    return failed;
}
