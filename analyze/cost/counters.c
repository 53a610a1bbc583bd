#include "analyze/cost/counters.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include "formats/base/count.h"
#include "formats/base/str.h"

#define NOWHERE UINT32_MAX
static const char tensor_prefix[] = "sm__ops_path_tensor_";
static const char peak_suffix[] = ".sum.peak_sustained_elapsed.per_second";

/* The types of matrix operations, by what follows "src_"; integers are not floating point. */
static const struct {
    const char *type;
    enum gp_arith arith;
} tensor_types[] = {
    {"bf16", GP_ARITH_BF16},   {"fp16_bf16_tf32", GP_ARITH_FP16}, {"fp16", GP_ARITH_FP16},
    {"tf32", GP_ARITH_TF32},   {"fp64", GP_ARITH_FP64},           {"fp8", GP_ARITH_FP8},
    {"fp4_fp6", GP_ARITH_FP8},
};

static const char stall_prefix[] = "smsp__average_warps_issue_stalled_";
static const char stall_suffix[] = "_per_issue_active.ratio";

GP_WORD(gp_stall_name, enum gp_stall, GP_STALLS, 1)
GP_WORD(gp_stall_text, enum gp_stall, GP_STALLS, 2)

static uint32_t find(const char *const *names, size_t n, const char *name, size_t len)
{
    for (size_t i = 0; i < n; i++)
        if (strlen(names[i]) == len && !memcmp(names[i], name, len)) return (uint32_t)i;
    return NOWHERE;
}

/* The type of a counter of matrix operations; GP_ARITH_NONE for integers and other counters. */
static enum gp_arith tensor_type(const char *name)
{
    const char *src = gp_starts(name, tensor_prefix) ? strstr(name, "src_") : NULL;
    if (!src || strstr(name, "_sparsity_")) return GP_ARITH_NONE;
    for (size_t i = 0; i < GP_COUNT(tensor_types); i++)
        if (gp_starts(src + 4, tensor_types[i].type)) return tensor_types[i].arith;
    return GP_ARITH_NONE;
}

/* Is there a counter of the same type for all instructions together, of which NAME counts a part? */
static bool has_parent(const char *const *names, size_t n, const char *name)
{
    const char *src = strstr(name, "src_");
    if (gp_starts(name + sizeof tensor_prefix - 1, "src_")) return false;
    char parent[160];
    size_t head = sizeof tensor_prefix - 1, tail = strlen(src);
    if (head + tail >= sizeof parent) return false;
    memcpy(parent, tensor_prefix, head);
    memcpy(parent + head, src, tail);
    return find(names, n, parent, head + tail) != NOWHERE;
}

static void find_stalls(struct gp_counters *c, const char *const *names, size_t n)
{
    for (int s = 0; s < GP_STALL_COUNT; s++) {
        char name[100];
        int len = snprintf(name, sizeof name, "%s%s%s", stall_prefix, gp_stall_name((enum gp_stall)s),
                           stall_suffix);
        c->stall[s] = find(names, n, name, (size_t)len);
    }
}

void gp_counters_init(struct gp_counters *c, const char *const *names, size_t n)
{
    static const char *const parts[] = {GP_COUNTER_PARTS(GP_SECOND)};
    memset(c, 0, sizeof *c);
    for (size_t p = 0; p < GP_COUNT(parts); p++) c->at[p] = find(names, n, parts[p], strlen(parts[p]));
    find_stalls(c, names, n);
    for (size_t i = 0; i < n && c->ntensor < GP_COUNTERS_TENSOR; i++) {
        size_t len = strlen(names[i]);
        enum gp_arith arith = tensor_type(names[i]);
        bool sum = len > 4 && !strcmp(names[i] + len - 4, ".sum");
        if (!sum || arith == GP_ARITH_NONE || has_parent(names, n, names[i])) continue;
        char peak[200];
        size_t head = len - 4, tail = sizeof peak_suffix - 1;
        c->tensor[c->ntensor].at = (uint32_t)i;
        c->tensor[c->ntensor].arith = arith;
        c->tensor[c->ntensor].peak = NOWHERE;
        if (head + tail < sizeof peak) {
            memcpy(peak, names[i], head);
            memcpy(peak + head, peak_suffix, tail);
            c->tensor[c->ntensor].peak = find(names, n, peak, head + tail);
        }
        c->ntensor++;
    }
}

static double part(const struct gp_counters *c, const double *v, enum gp_counter_part p)
{
    return c->at[p] == NOWHERE ? NAN : v[c->at[p]];
}

double gp_counters_part(const struct gp_counters *c, const double *values, enum gp_counter_part p)
{
    return part(c, values, p);
}

static double share_pct(double some, double all) { return all > 0 ? 100 * some / all : NAN; }

/* Operations by type, added to BY_TYPE. The counters of half precision count instructions, each of which does
 * two. */
static double read_vector(const struct gp_counters *c, const double *v, double by_type[GP_ARITH_COUNT])
{
    enum { PACKED = 2 };
    double single = part(c, v, GP_PART_FADD) + part(c, v, GP_PART_FMUL) + 2 * part(c, v, GP_PART_FFMA);
    double full = part(c, v, GP_PART_DADD) + part(c, v, GP_PART_DMUL) + 2 * part(c, v, GP_PART_DFMA);
    double half =
        PACKED * (part(c, v, GP_PART_HADD) + part(c, v, GP_PART_HMUL) + 2 * part(c, v, GP_PART_HFMA));
    double all = single + full + half;
    if (isnan(all)) return NAN;
    by_type[GP_ARITH_FP32] += single;
    by_type[GP_ARITH_FP64] += full;
    by_type[GP_ARITH_FP16] += half;
    return all;
}

static void read_work(const struct gp_counters *c, const double *v, struct gp_counted *k)
{
    double by_type[GP_ARITH_COUNT] = {0}, peak[GP_ARITH_COUNT];
    for (int a = 0; a < GP_ARITH_COUNT; a++) peak[a] = NAN;
    k->tensor_flops = c->ntensor ? 0 : NAN;
    for (size_t i = 0; i < c->ntensor; i++) {
        double ops = v[c->tensor[i].at];
        uint32_t arith = c->tensor[i].arith;
        k->tensor_flops += ops;
        if (isnan(ops)) continue;
        by_type[arith] += ops;
        /* The peak is that of sparse matrices: measured on GH100. Doubles have none. */
        double dense = arith == GP_ARITH_FP64 ? 1 : 0.5;
        if (c->tensor[i].peak != NOWHERE) peak[arith] = dense * v[c->tensor[i].peak];
    }
    k->vector_flops = read_vector(c, v, by_type);
    if (isnan(peak[GP_ARITH_FP32])) peak[GP_ARITH_FP32] = 2 * part(c, v, GP_PART_PEAK_FFMA);
    /* Some half precision runs there as well: 4% of the cycles of a copy that converts. */
    enum { MUCH_PCT = 10 };
    double busy_pct = part(c, v, GP_PART_TENSOR);
    bool tensor_work = isnan(busy_pct) ? part(c, v, GP_PART_TENSOR_INST) > 0 : busy_pct > MUCH_PCT;
    k->tensor_unknown = tensor_work && !(k->tensor_flops > 0);
    k->flops = isnan(k->vector_flops) ? k->tensor_flops
                                      : k->vector_flops + (isnan(k->tensor_flops) ? 0 : k->tensor_flops);
    k->arith = GP_ARITH_NONE;
    for (uint32_t a = 0; a < GP_ARITH_COUNT; a++)
        if (by_type[a] > 0 && (k->arith == GP_ARITH_NONE || by_type[a] > by_type[k->arith])) k->arith = a;
    k->peak_flops = k->arith == GP_ARITH_NONE ? NAN : peak[k->arith];
}

void gp_counters_read(const struct gp_counters *c, const double *values, struct gp_counted *k)
{
    memset(k, 0, sizeof *k);
    k->time_ns = part(c, values, GP_PART_TIME);
    k->occupancy_pct = part(c, values, GP_PART_OCCUPANCY);
    k->issue_pct = part(c, values, GP_PART_ISSUE);
    k->tensor_pct = part(c, values, GP_PART_TENSOR);
    k->dram_written = part(c, values, GP_PART_DRAM_WRITE);
    k->dram_bytes = part(c, values, GP_PART_DRAM_READ) + k->dram_written;
    if (isnan(k->dram_bytes)) {
        k->dram_written = part(c, values, GP_PART_DRAM_OP_WRITE);
        k->dram_bytes = part(c, values, GP_PART_DRAM_OP_READ) + k->dram_written;
    }
    if (isnan(k->dram_bytes)) k->dram_bytes = part(c, values, GP_PART_DRAM);
    k->instructions = part(c, values, GP_PART_INST);
    k->tensor_instructions = part(c, values, GP_PART_TENSOR_INST);
    k->l2_bytes = part(c, values, GP_PART_L2);
    k->l1_bytes = part(c, values, GP_PART_L1);
    k->l1_hit_pct = share_pct(part(c, values, GP_PART_L1_HITS), part(c, values, GP_PART_L1_SECTORS));
    k->l2_hit_pct = share_pct(part(c, values, GP_PART_L2_HITS), part(c, values, GP_PART_L2_SECTORS));
    k->peak_dram_bps = part(c, values, GP_PART_PEAK_DRAM);
    k->peak_l2_bps = part(c, values, GP_PART_PEAK_L2);
    read_work(c, values, k);
    k->stall = GP_STALL_COUNT;
    k->stall_warps = NAN;
    for (uint32_t s = 0; s < GP_STALL_COUNT; s++) {
        double warps = c->stall[s] == NOWHERE ? NAN : values[c->stall[s]];
        if (isnan(warps) || (k->stall != GP_STALL_COUNT && warps <= k->stall_warps)) continue;
        k->stall = s;
        k->stall_warps = warps;
    }
}
