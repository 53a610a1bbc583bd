/* trace-hta -- traces of one GPU or a thousand in; where the time went out. */
#include <string.h>
#include "formats/base/err.h"
#include "render/hta_main/hta_main.h"

static const struct gp_option options[] = {
    GP_HTA_MAIN_OPTIONS,
    GP_OPTIONS_COMMON,
    {0},
};

static const struct gp_renamed renamed[] = {GP_HTA_MAIN_RENAMED, {0}};

int main(int argc, char **argv)
{
    struct gp_tool tool = {
        .name = "trace-hta",
        .summary = "report where the time of one or many GPUs went",
        .operands = "[FILE...]",
        .example = "gpuprof-collect ./app | trace-hta\n"
                   "trace-hta rank*.json.gz\n"
                   "trace-hta -f csv --table kernels kineto.json.gz > kernels.csv\n",
        .options = options,
        .renamed = renamed,
        .formats = gp_hta_formats,
        .max_operands = -1,
        .stdin_default = true,
        .inputs_option = "from",
    };
    struct gp_hta_main_opts o = {GP_HTA_MAIN_DEFAULTS};
    struct gp_err err = {0};
    if (gp_cli_parse(&tool, argc, argv, &o)) return tool.status;
    if (o.table && !strcmp(o.table, "help"))
        return gp_cli_end(&tool, gp_hta_main_list_tables(&err), &err, GP_EXIT_OK);
    struct gp_hta_main r;
    int failed = gp_hta_main_open(&r, &tool, &o, &err);
    if (!failed && gp_hta_main_is_hang(&r)) failed = gp_hta_main_hang(&r, &err);
    else if (!failed) failed = gp_hta_main_read_all(&r, &err) || gp_hta_main_end(&r, &err);
    gp_hta_main_close(&r);
    return gp_cli_end(&tool, failed, &err, GP_EXIT_OK);
}
