/* trace-hta-mpi -- the ranks of a large job in, read by many processes; the report of trace-hta out. */
#include <fcntl.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "formats/base/err.h"
#include "render/hta_mpi/hta_mpi.h"

struct opts {
    struct gp_hta_main_opts ranks; /* first */
    const char *spill;
};

static const struct gp_option options[] = {
    GP_HTA_MAIN_OPTIONS,
    {0, "spill", "DIR", "keep what was read in DIR, and go on from there", GP_OPT_STRING,
     offsetof(struct opts, spill)},
    GP_OPTIONS_COMMON,
    {0},
};

static const struct gp_renamed renamed[] = {GP_HTA_MAIN_RENAMED, {0}};

/* Misuse is the same in every process: only the first one prints it and fails, since the launcher kills all
 * when one fails. Before MPI is begun, only the launcher's variables say which one this is. */
static bool is_first(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *rank = getenv(names[i]);
        if (rank && *rank) return !strcmp(rank, "0");
    }
    return true;
}

static int parse(struct gp_tool *tool, int argc, char **argv, struct opts *o)
{
    int null = is_first() ? -1 : open("/dev/null", O_WRONLY | O_CLOEXEC);
    int out = null < 0 ? -1 : dup(STDOUT_FILENO), errors = null < 0 ? -1 : dup(STDERR_FILENO);
    if (null >= 0) {
        dup2(null, STDOUT_FILENO);
        dup2(null, STDERR_FILENO);
    }
    int stop = gp_cli_parse(tool, argc, argv, o);
    if (out >= 0) dup2(out, STDOUT_FILENO);
    if (errors >= 0) dup2(errors, STDERR_FILENO);
    if (null >= 0) close(null);
    if (out >= 0) close(out);
    if (errors >= 0) close(errors);
    return stop;
}

/* Process 0 lists the inputs; the others get them from it. */
static int open_job(struct gp_hta_mpi *m, const struct gp_tool *tool, struct opts *o, struct gp_err *err)
{
    if (m->rank) o->ranks.from = NULL;
    int failed = gp_hta_main_open(&m->r, tool, &o->ranks, err);
    if (!failed && !m->rank && !tool->nargs && !o->ranks.from)
        failed = gp_fail(err, GP_E_USAGE, -1, "no input: name files, or a list with --from");
    MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (failed) return -1;
    gp_hta_mpi_share(m);
    m->r.keep_going |= m->r.app.n > 1 && !o->ranks.app.common.strict;
    return 0;
}

static int run(const struct gp_tool *tool, struct opts *o)
{
    struct gp_hta_mpi m = {0};
    struct gp_err err = {0};
    MPI_Comm_rank(MPI_COMM_WORLD, &m.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &m.size);
    int failed = open_job(&m, tool, o, &err) || gp_hta_mpi_read(&m, o->spill, &err);
    if (!m.rank && !failed) failed = gp_hta_main_end(&m.r, &err);
    int status = m.rank ? GP_EXIT_OK : gp_cli_end(tool, failed, &err, GP_EXIT_OK);
    MPI_Bcast(&status, 1, MPI_INT, 0, MPI_COMM_WORLD);
    gp_hta_main_close(&m.r);
    return status;
}

int main(int argc, char **argv)
{
    struct gp_tool tool = {
        .name = "trace-hta-mpi",
        .summary = "report where the time of the ranks of a job went, read by many processes",
        .operands = "[FILE...]",
        .example = "mpirun -n 16 trace-hta-mpi rank*.trace\n"
                   "srun -n 256 trace-hta-mpi --from ranks --spill spill -f json -o job.json\n",
        .options = options,
        .renamed = renamed,
        .formats = gp_hta_formats,
        .max_operands = -1,
    };
    struct opts o = {.ranks = {GP_HTA_MAIN_DEFAULTS}};
    struct gp_err err = {0};
    if (parse(&tool, argc, argv, &o)) return is_first() ? tool.status : GP_EXIT_OK;
    if (o.ranks.table && !strcmp(o.ranks.table, "help"))
        return is_first() ? gp_cli_end(&tool, gp_hta_main_list_tables(&err), &err, GP_EXIT_OK) : GP_EXIT_OK;
    if (MPI_Init(&argc, &argv)) return GP_EXIT_ERROR;
    int status = run(&tool, &o);
    MPI_Finalize();
    return status;
}
