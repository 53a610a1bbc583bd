/* spank_gpuprof.c -- srun --gpuprof: a SPANK plugin for Slurm that records each task of a step.
 *
 *     cc -shared -fPIC -o spank_gpuprof.so spank_gpuprof.c     (Debian's libslurm-dev has slurm/spank.h)
 *     srun --gpuprof=traces python3 train.py
 *
 * with a line in plugstack.conf:
 *
 *     optional /usr/local/lib/spank_gpuprof.so task=/usr/local/libexec/gpuprof/gpuprof-task
 *
 * A step without the option is left alone. With it, gpuprof-task (beside this file) takes the place of each
 * task's program, which it runs under gpuprof-collect.
 */
#include <slurm/spank.h>
#include <stdlib.h>
#include <string.h>

SPANK_PLUGIN(gpuprof, 1)

static char *wanted; /* FOLDER[,OPTION...], of the command line */

static int on_option(int value, const char *text, int remote)
{
    (void)value, (void)remote;
    free(wanted);
    wanted = strdup(text && *text ? text : ".");
    return wanted ? 0 : -1;
}

struct spank_option spank_options[] = {
    {"gpuprof", "FOLDER[,OPTION...]",
     "record the GPU work of each task into FOLDER (default: .), with options of gpuprof-collect", 2, 0,
     on_option},
    SPANK_OPTIONS_TABLE_END};

/* In the process of the task, before its program begins. */
int slurm_spank_task_init(spank_t spank, int argc, char **argv)
{
    const char *task = "/usr/libexec/gpuprof/gpuprof-task";
    char **words;
    int count;
    for (int i = 0; i < argc; i++)
        if (!strncmp(argv[i], "task=", 5)) task = argv[i] + 5;
    if (!wanted || !spank_remote(spank)) return 0;
    if (spank_get_item(spank, S_JOB_ARGV, &count, &words) != ESPANK_SUCCESS || count < 1) return 0;
    if (spank_setenv(spank, "GPUPROF_TASK", words[0], 1) != ESPANK_SUCCESS ||
        spank_setenv(spank, "GPUPROF_TASK_WANTED", wanted, 1) != ESPANK_SUCCESS)
        return -1;
    words[0] = strdup(task);
    return words[0] ? 0 : -1;
}
