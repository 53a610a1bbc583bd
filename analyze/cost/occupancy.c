#include "analyze/cost/occupancy.h"

#include <ctype.h>
#include <string.h>
#include "formats/base/buf.h"
#include "formats/base/num.h"

/* Private to occupancy.c: device limits, and kernel names that use matrix units or do not. */

/* Resident blocks per SM by compute capability, where the limit is not GP_MOST_BLOCKS. CUDA C++ Programming
 * Guide, "Technical Specifications per Compute Capability". */
enum { GP_MOST_BLOCKS = 32 };
static const struct gp_block_limit {
    int32_t major, minor;
    uint32_t blocks;
} gp_block_limits[] = {
    {.major = 7, .minor = 5, .blocks = 16},  {.major = 8, .minor = 6, .blocks = 16},
    {.major = 8, .minor = 7, .blocks = 16},  {.major = 8, .minor = 9, .blocks = 24},
    {.major = 11, .minor = 0, .blocks = 24}, {.major = 12, .minor = 0, .blocks = 24},
    {.major = 12, .minor = 1, .blocks = 24},
};

/* Tried from the top on the name in lower case; the first that occurs decides. */
static const struct gp_matrix_token {
    const char *text;
    enum gp_matrix_use use;
} gp_matrix_tokens[] = {
    {"tensorop", GP_MATRIX_YES}, /* CUTLASS, cuBLAS: cutlass_80_tensorop_..., OpClassTensorOp */
    {"wgmma", GP_MATRIX_YES},    /* Hopper: warp group instructions */
    {"gmma", GP_MATRIX_YES},     /* CUTLASS 3: MainloopSm90TmaGmma... */
    {"tcgen05", GP_MATRIX_YES},  /* Blackwell */
    {"utcmma", GP_MATRIX_YES},
    {"tmaumma", GP_MATRIX_YES}, /* plain "umma" would match "summary" */
    {"umma::", GP_MATRIX_YES},
    {"sm100_mma", GP_MATRIX_YES},
    {"nvjet", GP_MATRIX_YES}, /* cuBLAS for Hopper and Blackwell */

    {"splitkv_combine", GP_MATRIX_NEVER}, /* around FlashAttention, not it */
    {"dot_do_o", GP_MATRIX_NEVER},
    {"convert_dq", GP_MATRIX_NEVER},
    {"convert_dkv", GP_MATRIX_NEVER},
    {"clear_dkvaccum", GP_MATRIX_NEVER},
    {"flash_bwd_preprocess", GP_MATRIX_NEVER},
    {"flash_bwd_postprocess", GP_MATRIX_NEVER},
    {"flashattnbwdpreprocess", GP_MATRIX_NEVER},
    {"flashattnbwdpostprocess", GP_MATRIX_NEVER},
    {"flashattnfwdcombine", GP_MATRIX_NEVER},

    {"_ffma_", GP_MATRIX_NO}, /* cuBLAS: sm80_xmma_gemm_..._ffma_...: plain arithmetic in spite of xmma */
    {"_dfma_", GP_MATRIX_NO},
    {"simt", GP_MATRIX_NO}, /* CUTLASS: cutlass_80_simt_sgemm..., OpClassSimt */

    {"s884", GP_MATRIX_YES}, /* shapes of the instruction: accumulator, m, n, k. Volta */
    {"h884", GP_MATRIX_YES},
    {"d884", GP_MATRIX_YES},
    {"s1688", GP_MATRIX_YES}, /* Turing, and TF32 of Ampere */
    {"h1688", GP_MATRIX_YES},
    {"i8816", GP_MATRIX_YES},
    {"s16816", GP_MATRIX_YES}, /* Ampere and later */
    {"h16816", GP_MATRIX_YES},
    {"s161616", GP_MATRIX_YES},
    {"h161616", GP_MATRIX_YES},
    {"i16816", GP_MATRIX_YES},
    {"i16832", GP_MATRIX_YES},
    {"i16864", GP_MATRIX_YES},
    {"s16832", GP_MATRIX_YES}, /* FP8 */
    {"hmma", GP_MATRIX_YES},   /* instructions by name */
    {"imma", GP_MATRIX_YES},
    {"bmma", GP_MATRIX_YES},
    {"dmma", GP_MATRIX_YES},
    {"qmma", GP_MATRIX_YES},
    {"_omma", GP_MATRIX_YES}, /* not "command" */
    {"wmma", GP_MATRIX_YES},
    {"mma_sync", GP_MATRIX_YES},
    {"xmma", GP_MATRIX_YES},
    {"mfma", GP_MATRIX_YES}, /* AMD */
    {"_mi16x16", GP_MATRIX_YES},
    {"_mi32x32", GP_MATRIX_YES},
    {"_mi4x4", GP_MATRIX_YES},

    {"flash_fwd", GP_MATRIX_YES}, /* attention kernels that exist only for Tensor Cores */
    {"flash_bwd", GP_MATRIX_YES},
    {"flashattnfwd", GP_MATRIX_YES},
    {"flashattnbwd", GP_MATRIX_YES},
    {"flash_mla", GP_MATRIX_YES},
    {"fmha", GP_MATRIX_YES},
    {"marlin", GP_MATRIX_YES},
    {"machete", GP_MATRIX_YES},
    {"sm90_fp8_gemm", GP_MATRIX_YES}, /* DeepGEMM */
    {"sm90_bf16_gemm", GP_MATRIX_YES},
    {"sm100_fp8_gemm", GP_MATRIX_YES},
    {"sm100_bf16_gemm", GP_MATRIX_YES},
    {"bmm_mx", GP_MATRIX_YES}, /* TensorRT-LLM for Blackwell: type of the result, of the operands, ... */
    {"gemm_mx", GP_MATRIX_YES},
    {"bmm_fp16", GP_MATRIX_YES},
    {"gemm_fp16_", GP_MATRIX_YES},
    {"gemm_bfloat16_", GP_MATRIX_YES},
    {"bmm_e4m3", GP_MATRIX_YES},
    {"bmm_e2m1", GP_MATRIX_YES},
    {"bmm_bfloat16", GP_MATRIX_YES},
    {"gemm_e4m3", GP_MATRIX_YES},
    {"gemm_e2m1", GP_MATRIX_YES},

    {"sgemm", GP_MATRIX_NO}, /* cuBLAS and cuDNN without a shape in the name */
    {"dgemm", GP_MATRIX_NO},
    {"scudnn", GP_MATRIX_NO},
    {"gemv", GP_MATRIX_NEVER},
    {"winograd", GP_MATRIX_NO},
};

/* ---- blocks per multiprocessor ---- */

static uint32_t most_blocks(const struct gp_device *d)
{
    for (size_t i = 0; i < GP_COUNT(gp_block_limits); i++)
        if (d->cc_major == gp_block_limits[i].major && d->cc_minor == gp_block_limits[i].minor)
            return gp_block_limits[i].blocks;
    return GP_MOST_BLOCKS;
}

static uint64_t round_up(uint64_t v, uint64_t unit)
{
    return (v + unit - 1) / unit * unit;
}

/* Registers are allocated to warps in units of 256, and each quarter of an SM has its own. */
static uint64_t by_registers(const struct gp_config *c, const struct gp_device *d, uint64_t warps)
{
    enum { UNIT = 256, QUARTERS = 4 };
    if (!c->registers) return UINT32_MAX;
    uint64_t warp = round_up((uint64_t)c->registers * 32, UNIT);
    uint64_t regs = (uint64_t)(d->regs_per_sm > 0 ? d->regs_per_sm : d->regs_per_block);
    return regs / QUARTERS / warp * QUARTERS / warps;
}

/* From compute capability 8.0 on the system reserves 1 KB per block. */
static uint64_t by_shared(const struct gp_config *c, const struct gp_device *d)
{
    bool ampere = d->cc_major >= 8;
    uint64_t block = round_up(c->shared_bytes + (ampere ? UINT64_C(1024) : 0), ampere ? 128 : 256);
    return block ? (uint64_t)d->shared_per_sm / block : UINT32_MAX;
}

static uint64_t threads_of(const struct gp_config *c)
{
    if (!(c->has & GP_HAS_BLOCK)) return 0;
    uint64_t x = c->block[0], y = c->block[1], z = c->block[2];
    return x > 1024 || y > 1024 || z > 1024 ? 0 : x * y * z;
}

uint32_t gp_occupancy_fits(const struct gp_config *c, const struct gp_device *d)
{
    uint64_t threads = threads_of(c);
    if (!threads || !d || d->warp_size != 32 || d->cc_major < 5 || d->max_threads_per_sm <= 0) return 0;
    if (!(c->has & GP_HAS_REGS) || (d->regs_per_sm <= 0 && d->regs_per_block <= 0) || d->shared_per_sm <= 0)
        return 0;
    uint64_t warps = (threads + 31) / 32, fits = most_blocks(d);
    const uint64_t limits[] = {(uint64_t)d->max_threads_per_sm / 32 / warps, by_registers(c, d, warps),
                               by_shared(c, d)};
    for (size_t i = 0; i < GP_COUNT(limits); i++)
        if (limits[i] < fits) fits = limits[i];
    return (uint32_t)fits;
}

/* ---- recorded launches ---- */

/* The number after "KEY": in a JSON object of numbers and strings; 0 if there is none above 0. */
static double recorded(const char *object, const char *key)
{
    const char *p = strstr(object, key);
    if (!p) return 0;
    p += strlen(key);
    while (*p == ' ' || *p == ':' || *p == '"') p++;
    double v = 0;
    return gp_double_from_text(p, strspn(p, "0123456789.eE+-"), &v) && v > 0 ? v : 0;
}

static uint64_t blocks_of(const struct gp_config *c, const struct gp_device *d)
{
    if (!(c->has & GP_HAS_GRID)) return 0;
    if (d && d->warp_size != 32) return 0; /* AMD's tools write threads there */
    double blocks = (double)c->grid[0] * c->grid[1] * c->grid[2];
    return blocks < 0x1p62 ? (uint64_t)c->grid[0] * c->grid[1] * c->grid[2] : 0;
}

void gp_occupancy_of(struct gp_occupancy *o, const struct gp_trace *t, const struct gp_config *c,
                     const struct gp_device *d)
{
    memset(o, 0, sizeof *o);
    if (c->kind != GP_KERNEL) return;
    const char *extra = gp_trace_str(t, c->extra);
    o->blocks = blocks_of(c, d);
    o->fits = gp_occupancy_fits(c, d);
    if (d && d->sms > 0 && o->blocks) o->blocks_per_sm = (double)o->blocks / d->sms;
    else o->blocks_per_sm = recorded(extra, "\"blocks per SM\"");
    if (o->fits && o->blocks_per_sm > 0) {
        double resident = o->blocks_per_sm < o->fits ? o->blocks_per_sm : o->fits;
        o->waves = o->blocks_per_sm / o->fits;
        o->achieved = resident * (double)threads_of(c) / d->max_threads_per_sm;
    } else {
        o->achieved = recorded(extra, "\"est. achieved occupancy %\"") / 100;
    }
    if (o->achieved > 1) o->achieved = 1;
    o->known = o->achieved > 0;
}

/* ---- matrix units ---- */

enum gp_matrix_use gp_matrix_use_of(const char *name, size_t n)
{
    struct gp_buf lower = {0};
    enum gp_matrix_use use = GP_MATRIX_UNKNOWN;
    for (size_t i = 0; i < n; i++) gp_buf_putc(&lower, (char)tolower((unsigned char)name[i]));
    const char *text = gp_buf_str(&lower);
    for (size_t i = 0; i < GP_COUNT(gp_matrix_tokens) && use == GP_MATRIX_UNKNOWN; i++)
        if (strstr(text, gp_matrix_tokens[i].text)) use = gp_matrix_tokens[i].use;
    gp_buf_release(&lower);
    return use;
}
