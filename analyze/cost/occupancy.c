#include "analyze/cost/occupancy.h"

#include <ctype.h>
#include <string.h>
#include "analyze/names/name_predicates.h"
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
static const struct gp_matrix_tokens {
    enum gp_matrix_use use;
    const char *words; /* for gp_name_has_one_of() */
} gp_matrix_tokens[] = {
    /* CUTLASS and cuBLAS, instructions of Hopper and Blackwell. Plain "umma" would match "summary". */
    {GP_MATRIX_YES, " tensorop wgmma gmma tcgen05 utcmma tmaumma umma:: sm100_mma nvjet "},
    /* around FlashAttention, not it */
    {GP_MATRIX_NEVER, " splitkv_combine dot_do_o convert_dq convert_dkv clear_dkvaccum "
                      "flash_bwd_preprocess flash_bwd_postprocess flashattnbwdpreprocess "
                      "flashattnbwdpostprocess flashattnfwdcombine "},
    /* plain arithmetic, in spite of the xmma of sm80_xmma_gemm_..._ffma_... */
    {GP_MATRIX_NO, " _ffma_ _dfma_ simt "},
    /* The shape of the instruction: accumulator, m, n, k, from Volta (s884) to FP8 (s16832); then its name,
     * where "_omma" is not "command"; AMD's */
    {GP_MATRIX_YES, " s884 h884 d884 s1688 h1688 i8816 s16816 h16816 s161616 h161616 i16816 i16832 "
                    "i16864 s16832 hmma imma bmma dmma qmma _omma wmma mma_sync xmma mfma _mi16x16 "
                    "_mi32x32 _mi4x4 "},
    /* Attention that exists only for Tensor Cores; DeepGEMM (sm90_fp8_gemm); TensorRT-LLM (bmm_mx: the type
     * of the result, of the operands, ...) */
    {GP_MATRIX_YES, " flash_fwd flash_bwd flashattnfwd flashattnbwd flash_mla fmha marlin machete "
                    "sm90_fp8_gemm sm90_bf16_gemm sm100_fp8_gemm sm100_bf16_gemm bmm_mx gemm_mx bmm_fp16 "
                    "gemm_fp16_ gemm_bfloat16_ bmm_e4m3 bmm_e2m1 bmm_bfloat16 gemm_e4m3 gemm_e2m1 "},
    /* cuBLAS and cuDNN without a shape in the name */
    {GP_MATRIX_NO, " sgemm dgemm scudnn "},
    {GP_MATRIX_NEVER, " gemv "},
    {GP_MATRIX_NO, " winograd "},
};

/* ---- blocks per multiprocessor ---- */

static uint32_t most_blocks(const struct gp_device *d)
{
    for (size_t i = 0; i < GP_COUNT(gp_block_limits); i++)
        if (d->cc_major == gp_block_limits[i].major && d->cc_minor == gp_block_limits[i].minor)
            return gp_block_limits[i].blocks;
    return GP_MOST_BLOCKS;
}

static uint64_t round_up(uint64_t v, uint64_t unit) { return (v + unit - 1) / unit * unit; }

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
        if (gp_name_has_one_of(text, gp_matrix_tokens[i].words)) use = gp_matrix_tokens[i].use;
    gp_buf_release(&lower);
    return use;
}
