/* make_fleet -- write partial results of a simulated job, one file per rank, with faults that are planted:
 *     make_fleet DIR RANKS STEPS SEED [compute:RANK:PCT] [kernel:RANK:PCT:INDEX] [host:RANK:PCT]
 *                [copy:RANK:PCT] [once:RANK:PCT:STEP] [turn:0:PCT]
 * The list of the files is DIR/list. */
#include <string.h>
#include "analyze/hta/hta.h"
#include "formats/base/buf.h"
#include "tests/fleet/sim.h"

static int plant(struct sim *s, const char *text)
{
    static const struct {
        const char *name;
        enum sim_kind kind;
    } kinds[] = {{"compute", SIM_COMPUTE}, {"kernel", SIM_KERNEL}, {"host", SIM_HOST}, {"copy", SIM_COPY},
                 {"link", SIM_LINK},       {"once", SIM_ONCE},     {"turn", SIM_TURN}};
    char name[16];
    int rank, pct, which = 0;
    if (sscanf(text, "%15[a-z]:%d:%d:%d", name, &rank, &pct, &which) < 3 || s->n_faults == SIM_FAULTS)
        return -1;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(name, kinds[i].name) != 0) continue;
        s->faults[s->n_faults++] = (struct sim_fault){kinds[i].kind, rank, pct, which};
        return 0;
    }
    return -1;
}

static int write_rank(const struct sim *s, int32_t rank, const char *dir, FILE *list)
{
    struct gp_hta h;
    struct gp_trace t;
    struct gp_buf b = {0};
    char path[512];
    gp_hta_init(&h, NULL);
    sim_trace(s, rank, &t);
    int failed = gp_hta_add_trace(&h, &t, NULL);
    gp_trace_release(&t);
    gp_hta_save(&h, &b);
    gp_hta_release(&h);
    snprintf(path, sizeof path, "%s/rank%05d.part", dir, (int)rank);
    FILE *to = fopen(path, "wb");
    failed |= !to || fwrite(b.data, 1, b.n, to) != b.n;
    if (to) failed |= fclose(to) != 0;
    fprintf(list, "%s\n", path);
    gp_buf_release(&b);
    return failed;
}

int main(int argc, char **argv)
{
    if (argc < 5) {
        fprintf(stderr, "usage: make_fleet DIR RANKS STEPS SEED [KIND:RANK:PCT[:WHICH]]...\n");
        return 2;
    }
    struct sim s = {.ranks = (int32_t)strtol(argv[2], NULL, 10),
                    .steps = (int32_t)strtol(argv[3], NULL, 10),
                    .per_node = 8,
                    .seed = strtoull(argv[4], NULL, 10)};
    char path[512];
    for (int i = 5; i < argc; i++)
        if (plant(&s, argv[i])) {
            fprintf(stderr, "make_fleet: %s: not a fault\n", argv[i]);
            return 2;
        }
    snprintf(path, sizeof path, "%s/list", argv[1]);
    FILE *list = fopen(path, "w");
    int failed = !list;
    for (int32_t rank = 0; rank < s.ranks && !failed; rank++) failed = write_rank(&s, rank, argv[1], list);
    if (list) failed |= fclose(list) != 0;
    if (failed) fprintf(stderr, "make_fleet: cannot write to %s\n", argv[1]);
    return failed ? 1 : 0;
}
