#include "analyze/app/folded.h"

#include <inttypes.h>
#include "formats/base/err.h"
#include "formats/base/input.h"

int gp_app_folded(struct gp_app *f, struct gp_input *in, gp_folded_sink *sink, void *ctx, bool *damaged,
                  struct gp_err *err)
{
    const struct gp_common_opts *c = &f->opts->common;
    const char *path = gp_input_path(in);
    struct gp_folded_stats st;
    struct gp_app_meter m = {.app = f};
    struct gp_err damage = {0};
    if (gp_folded_read(in, sink, ctx, gp_app_bytes, &m, &st, err)) return gp_err_context(err, "%s", path);
    bool cut = gp_input_status(in, &damage) != 0;
    if (!cut && st.cut >= 0)
        cut = gp_fail(&damage, GP_E_SYNTAX, st.cut,
                      "byte %" PRId64 ": the last line has no line end; its number may be cut", st.cut) != 0;
    *damaged |= cut || st.bad;
    if (c->strict && cut) return gp_fail(err, damage.code, damage.offset, "%s: %s", path, damage.msg);
    if (c->strict && st.bad)
        return gp_fail(err, GP_E_SYNTAX, st.first_bad, "%s: byte %" PRId64 ": not a folded stack", path,
                       st.first_bad);
    if (cut && !c->quiet) gp_cli_warn(f->tool, "%s: %s", path, damage.msg);
    if (st.bad && !c->quiet)
        gp_cli_warn(f->tool, "%s: lines that are not folded stacks: %" PRIu64 " (first at byte %" PRId64 ")",
                    path, st.bad, st.first_bad);
    return 0;
}
