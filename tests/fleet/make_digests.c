/* make_digests -- write the digests of a simulated job, one per rank and second, as trace-fleet reads them
 * from a file:
 *     make_digests RANKS SECONDS FROM[:TO] SEED SECRET_FILE|- [compute:RANK:PCT] [kernel:RANK:PCT:INDEX]
 *                  [host:RANK:PCT] [copy:RANK:PCT] [link:RANK:PCT] [now] >FILE
 * The faults last from second FROM to TO. A step takes a second, whose kernels are those of sim.h.
 * The job began 1000 s after 1970, or just now. */
#include <string.h>
#include <time.h>
#include "analyze/live/digest.h"
#include "formats/base/buf.h"
#include "formats/base/err.h"
#include "tests/fleet/sim_member.h"

static void write_digest(const struct sim *s, int32_t rank, int64_t begun_ns, const struct gp_digest_key *key)
{
    struct gp_fleet f;
    struct gp_buf b = {0}, framed = {0};
    gp_fleet_init(&f);
    sim_add(s, rank, &f);
    struct gp_digest d = {.run = 1,
                          .seq = (uint64_t)s->first + 1,
                          .merged = 1,
                          .last_step = s->first,
                          .time_ns = begun_ns + (int64_t)s->first * 1000000000 + rank * 1000,
                          .member = f.kept.at[0]};
    for (int k = 0; k < SIM_KERNELS && s->first >= 10; k++) d.usual_ns[k] = sim_ns[k];
    gp_digest_put(&b, &d, &f.strings, key);
    gp_digest_frame(&framed, b.data, b.n);
    fwrite(framed.data, 1, framed.n, stdout);
    gp_buf_release(&framed);
    gp_buf_release(&b);
    gp_fleet_release(&f);
}

static int plant(struct sim *s, const char *text)
{
    static const struct {
        const char *name;
        enum sim_kind kind;
    } kinds[] = {{"compute", SIM_COMPUTE},
                 {"kernel", SIM_KERNEL},
                 {"host", SIM_HOST},
                 {"copy", SIM_COPY},
                 {"link", SIM_LINK}};
    char name[16];
    struct sim_fault f = {0};
    if (sscanf(text, "%15[a-z]:%d:%d:%d", name, &f.rank, &f.pct, &f.which) < 3) return -1;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(name, kinds[i].name) != 0 || s->n_faults == SIM_FAULTS) continue;
        f.kind = kinds[i].kind;
        s->faults[s->n_faults++] = f;
        return 0;
    }
    return -1;
}

int main(int argc, char **argv)
{
    int seconds, from, to = INT32_MAX;
    struct gp_digest_key key;
    struct gp_err err = {0};
    struct sim bad = {.steps = 1, .per_node = 8};
    if (argc < 6 || sscanf(argv[3], "%d:%d", &from, &to) < 1) return 2;
    bad.ranks = (int32_t)strtol(argv[1], NULL, 10);
    bad.seed = strtoull(argv[4], NULL, 10);
    seconds = (int)strtol(argv[2], NULL, 10);
    if (gp_digest_key_read(strcmp(argv[5], "-") ? argv[5] : NULL, &key, &err)) {
        fprintf(stderr, "make_digests: %s\n", err.msg);
        return 2;
    }
    int64_t begun_ns = INT64_C(1000000000000);
    for (int i = 6; i < argc; i++)
        if (!strcmp(argv[i], "now")) begun_ns = (int64_t)time(NULL) * 1000000000;
        else if (plant(&bad, argv[i])) return 2;
    for (int second = 0; second < seconds; second++) {
        struct sim s = bad;
        s.first = second;
        if (second < from || second >= to) s.n_faults = 0;
        for (int32_t rank = 0; rank < s.ranks; rank++) write_digest(&s, rank, begun_ns, &key);
    }
    return 0;
}
