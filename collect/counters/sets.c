#include "collect/counters/sets.h"

#include <stdio.h>
#include <string.h>
#include "formats/base/count.h"
#include "formats/base/err.h"
#include "formats/base/str.h"
#include "formats/model/metric.h"

/* Names, with a blank between. Those without anything else have the rollup .sum. %R, %W: device memory read
 * and written, whose names depend on the chip. */
static const char basic[] =
    "gpu__time_duration sm__cycles_elapsed.max sm__cycles_active.avg %R %W dram__bytes lts__t_bytes "
    "lts__t_sectors l1tex__t_bytes l1tex__t_sectors l1tex__t_sectors_lookup_hit "
    "sm__warps_active.avg.pct_of_peak_sustained_active smsp__inst_executed "
    "smsp__issue_active.avg.pct_of_peak_sustained_active "
    "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed";
static const char roofline[] =
    "gpu__time_duration %R %W lts__t_bytes sm__cycles_elapsed.max sm__cycles_elapsed.avg.per_second "
    "dram__bytes.sum.peak_sustained_elapsed.per_second "
    "lts__t_bytes.sum.peak_sustained_elapsed.per_second";
/* No counters of multiprocessors: for those the driver takes most of a millisecond per launch. */
static const char traffic[] = "gpu__time_duration sm__cycles_elapsed.max %R %W lts__t_bytes lts__t_sectors "
                              "dram__bytes.sum.peak_sustained_elapsed.per_second "
                              "lts__t_bytes.sum.peak_sustained_elapsed.per_second";
static const char vector_ops[] =
    "smsp__sass_thread_inst_executed_op_fadd_pred_on smsp__sass_thread_inst_executed_op_fmul_pred_on "
    "smsp__sass_thread_inst_executed_op_ffma_pred_on smsp__sass_thread_inst_executed_op_dadd_pred_on "
    "smsp__sass_thread_inst_executed_op_dmul_pred_on smsp__sass_thread_inst_executed_op_dfma_pred_on "
    "smsp__sass_thread_inst_executed_op_hadd_pred_on smsp__sass_thread_inst_executed_op_hmul_pred_on "
    "smsp__sass_thread_inst_executed_op_hfma_pred_on "
    "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum.peak_sustained_elapsed.per_second";
static const char memory[] =
    "gpu__time_duration %R %W dram__throughput.avg.pct_of_peak_sustained_elapsed lts__t_bytes "
    "lts__t_sectors_op_read lts__t_sectors_op_write lts__t_sectors lts__t_sectors_lookup_hit "
    "l1tex__t_bytes l1tex__t_sectors l1tex__t_sectors_lookup_hit "
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared";
static const char tensor[] =
    "gpu__time_duration sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed "
    "sm__inst_executed_pipe_tensor";
static const char occupancy[] =
    "gpu__time_duration sm__warps_active.avg.pct_of_peak_sustained_active sm__cycles_active.avg "
    "sm__cycles_elapsed.max smsp__issue_active.avg.pct_of_peak_sustained_active sm__ctas_launched "
    "smsp__warps_eligible.avg.per_cycle_active";
static const char savings[] =
    "gpu__time_duration %R %W lts__t_sectors_op_read lts__t_sectors_op_write smsp__inst_executed "
    "smsp__thread_inst_executed smsp__issue_active l1tex__data_pipe_lsu_wavefronts "
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared l1tex__t_requests_pipe_lsu_mem_global_op_ld "
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld l1tex__t_requests_pipe_lsu_mem_global_op_st "
    "l1tex__t_sectors_pipe_lsu_mem_global_op_st";
static const char stalls[] =
    "long_scoreboard short_scoreboard barrier math_pipe_throttle lg_throttle mio_throttle wait "
    "not_selected drain branch_resolving dispatch_stall imc_miss membar no_instruction selected "
    "sleeping tex_throttle misc";

/* What is sampled by default: all of it at once in one pass. */
static const char sampled[] =
    "gr__cycles_active.sum.pct_of_peak_sustained_elapsed "
    "sm__cycles_active.avg.pct_of_peak_sustained_elapsed "
    "sm__inst_executed_realtime.avg.pct_of_peak_sustained_elapsed "
    "sm__pipe_tensor_cycles_active_realtime.avg.pct_of_peak_sustained_elapsed %R %W pcie__read_bytes "
    "pcie__write_bytes";

static const struct {
    const char *name, *what;
} sets[] = {
    {"basic", "time, traffic of device memory and caches, occupancy, instructions, matrix units"},
    {"traffic",
     "time and traffic of device memory and the L2 cache: the cheapest, 0.06 ms per launch on an H200"},
    {"roofline", "time, traffic, operations of matrix units, and their peaks; roofline:TYPE for one type"},
    {"roofline+", "the same, plus the operations of ordinary units"},
    {"memory", "traffic, hits and conflicts at each level of memory"},
    {"tensor", "operations of matrix units, by type"},
    {"occupancy", "occupancy of the multiprocessors, and how often they issue instructions"},
    {"stalls", "what warps wait for"},
    {"why", "what narrows the savings of --pc-sample: lanes, sectors, traffic, conflicts"},
};

/* Operations of matrix units by type and chip, as far as one pass can count them together. */
static const struct {
    const char *chip, *type, *names[6];
} tensor_ops[] = {
    {"GH100",
     "",
     {"op_hgmma_src_bf16_dst_fp32", "op_hgmma_src_fp16", "op_hgmma_src_tf32_dst_fp32", "src_fp8"}},
    {"GB100", "", {"op_utchmma_src_bf16_dst_fp32", "op_hmma_src_bf16_dst_fp32"}},
    {"GH100", "fp16", {"src_fp16"}},
    {"TU102", "fp16", {"src_fp16_dst_fp16", "src_fp16_bf16_tf32_dst_fp32"}},
    {"", "", {"src_bf16_dst_fp32"}},
    {"", "bf16", {"src_bf16_dst_fp32"}},
    {"", "fp16", {"src_fp16_dst_fp32"}},
    {"", "tf32", {"src_tf32_dst_fp32"}},
    {"", "fp64", {"src_fp64"}},
    {"GB100", "fp8", {"src_fp4_fp6_fp8_dst_fp32"}},
    {"GB202", "fp8", {"src_fp8_dst_fp32"}},
    {"", "fp8", {"src_fp8"}},
};
static const char *const tensor_all[] = {"bf16", "fp16", "tf32", "fp64", "fp8"};

static int add(struct gp_metric_names *to, const char *name, struct gp_err *err)
{
    for (size_t i = 0; i < to->n; i++)
        if (!strcmp(to->at[i], name)) return 0;
    if (to->n == GP_METRICS_MOST)
        return gp_fail(err, GP_E_USAGE, -1, "--metrics: more than %d metrics", (int)GP_METRICS_MOST);
    GP_VEC_PUSH(to, strdup(name));
    return 0;
}

/* One of the names above in full. */
static int add_known(struct gp_metric_names *to, const char *name, const char *chip, struct gp_err *err)
{
    bool op = !strcmp(chip, "GB202");
    char full[200];
    if (!strcmp(name, "%R")) name = op ? "dram__bytes_op_read" : "dram__bytes_read";
    if (!strcmp(name, "%W")) name = op ? "dram__bytes_op_write" : "dram__bytes_write";
    snprintf(full, sizeof full, "%s%s", name, strchr(name, '.') ? "" : ".sum");
    return add(to, full, err);
}

static int add_list(struct gp_metric_names *to, const char *list, const char *chip, struct gp_err *err)
{
    char name[160];
    while (gp_next_of(&list, ' ', name, sizeof name))
        if (add_known(to, name, chip, err)) return -1;
    return 0;
}

static int add_stalls(struct gp_metric_names *to, const char *chip, struct gp_err *err)
{
    char full[200], why[40];
    for (const char *at = stalls; gp_next_of(&at, ' ', why, sizeof why);) {
        snprintf(full, sizeof full, "smsp__average_warps_issue_stalled_%s_per_issue_active.ratio", why);
        if (add(to, full, err)) return -1;
    }
    if (strcmp(chip, "GH100")) return 0;
    return add(to, "smsp__average_warps_issue_stalled_gmma_per_issue_active.ratio", err);
}

/* Operations of TYPE ("": as many as one pass can count), with PEAKS. */
static int add_tensor(struct gp_metric_names *to, const char *type, const char *chip, bool peaks,
                      struct gp_err *err)
{
    for (size_t i = 0; i < GP_COUNT(tensor_ops); i++) {
        if (strcmp(tensor_ops[i].type, type) || (*tensor_ops[i].chip && strcmp(tensor_ops[i].chip, chip)))
            continue;
        for (size_t k = 0; k < 6 && tensor_ops[i].names[k]; k++) {
            char full[200];
            snprintf(full, sizeof full, "sm__ops_path_tensor_%s.sum", tensor_ops[i].names[k]);
            if (add(to, full, err)) return -1;
            snprintf(full, sizeof full, "sm__ops_path_tensor_%s.sum.peak_sustained_elapsed.per_second",
                     tensor_ops[i].names[k]);
            if (peaks && add(to, full, err)) return -1;
        }
        return 0;
    }
    return gp_fail(err, GP_E_USAGE, -1, "--metrics: roofline:%s: not one of bf16, fp16, tf32, fp64, fp8",
                   type);
}

static int add_roofline(struct gp_metric_names *to, const char *type, const char *chip, struct gp_err *err)
{
    bool shows_others = !*type && !strcmp(chip, "GH100"); /* there they add no pass */
    if (add_list(to, roofline, chip, err) || add_tensor(to, type, chip, true, err)) return -1;
    return shows_others ? add_list(to, strchr(tensor, ' ') + 1, chip, err) : 0;
}

/* 1: WORD is not a set. */
static int add_set(struct gp_metric_names *to, const char *word, const char *chip, struct gp_err *err)
{
    if (!strcmp(word, "basic")) return add_list(to, basic, chip, err);
    if (!strcmp(word, "traffic")) return add_list(to, traffic, chip, err);
    if (!strcmp(word, "roofline")) return add_roofline(to, "", chip, err);
    if (gp_starts(word, "roofline:")) return add_roofline(to, word + strlen("roofline:"), chip, err);
    if (!strcmp(word, "roofline+"))
        return add_roofline(to, "", chip, err) || add_list(to, vector_ops, chip, err) ? -1 : 0;
    if (!strcmp(word, "memory")) return add_list(to, memory, chip, err);
    if (!strcmp(word, "occupancy")) return add_list(to, occupancy, chip, err);
    if (!strcmp(word, "why")) return add_list(to, savings, chip, err);
    if (!strcmp(word, "stalls")) return add_stalls(to, chip, err);
    if (strcmp(word, "tensor")) return 1;
    if (add_list(to, tensor, chip, err)) return -1;
    for (size_t i = 0; i < GP_COUNT(tensor_all); i++)
        if (add_tensor(to, tensor_all[i], chip, false, err)) return -1;
    return 0;
}

static int add_word(struct gp_metric_names *to, const char *word, const char *chip, struct gp_err *err)
{
    int rc = add_set(to, word, chip, err);
    if (rc <= 0) return rc;
    if (strchr(word, '.')) return add(to, word, err);
    if (strstr(word, "__"))
        return gp_fail(err, GP_E_USAGE, -1, "--metrics: %s needs a rollup, such as %s.sum", word, word);
    return gp_fail(err, GP_E_USAGE, -1,
                   "--metrics: no set '%s': basic, traffic, roofline[:TYPE], roofline+, memory, tensor, "
                   "occupancy, stalls, why, or "
                   "names of metrics",
                   word);
}

/* Add each of the words of TEXT with ADD_ONE. */
static int add_words(struct gp_metric_names *to, const char *text, const char *chip,
                     int (*add_one)(struct gp_metric_names *to, const char *word, const char *chip,
                                    struct gp_err *err),
                     struct gp_err *err)
{
    char word[160];
    for (const char *at = text; *at;) {
        size_t n = strcspn(at, ",");
        if (n >= sizeof word) return gp_fail(err, GP_E_USAGE, -1, "--metrics: a name of %zu characters", n);
        memcpy(word, at, n);
        word[n] = 0;
        if (n && add_one(to, word, chip, err)) return -1;
        at += n + (at[n] == ',');
    }
    return 0;
}

int gp_metric_names_parse(struct gp_metric_names *to, const char *text, const char *chip, struct gp_err *err)
{
    if (add_words(to, *text ? text : "basic", chip, add_word, err)) return -1;
    return add(to, "gpu__time_duration.sum", err); /* the weight of means */
}

static int add_sampled(struct gp_metric_names *to, const char *word, const char *chip, struct gp_err *err)
{
    (void)chip;
    if (strchr(word, '.') && strstr(word, "__")) return add(to, word, err);
    return gp_fail(err, GP_E_USAGE, -1,
                   "--sample-metrics: '%s' is not a metric with a rollup, such as dram__bytes_read.sum",
                   word);
}

int gp_sampled_names_parse(struct gp_metric_names *to, const char *text, const char *chip, struct gp_err *err)
{
    return *text ? add_words(to, text, chip, add_sampled, err) : add_list(to, sampled, chip, err);
}

void gp_metric_names_release(struct gp_metric_names *names)
{
    for (size_t i = 0; i < names->n; i++) free(names->at[i]);
    GP_VEC_FREE(names);
}

const char *gp_metric_set_name(size_t i, const char **what)
{
    if (i >= GP_COUNT(sets)) return NULL;
    *what = sets[i].what;
    return sets[i].name;
}
