#include "analyze/cost/ceilings.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include "formats/base/err.h"
#include "formats/base/order.h"
#include "formats/base/str.h"

/* Private to ceilings.c: figures from data sheets and white papers, dense, at boost clocks; 16-bit rates
 * with FP32 sums. A missing figure is unknown, or the device has no such unit. The first row whose mark
 * occurs in a device's name applies, so longer marks come first.
 *
 * Each row names its source. Figures are as the vendor publishes them, not measured, unless the row says
 * otherwise. */

struct gp_sheet {
    const char *device, *mark;                      /* words in the name of the device */
    double gbps;                                    /* device memory: 1e9 bytes per second */
    double l2_gbps, l2_mib;                         /* last-level cache: 1e9 bytes per second, MiB */
    double fp64, fp32, tf32, fp16, bf16, fp8, int8; /* 1e12 operations per second */
};

/* clang-format off */
static const struct gp_sheet gp_sheets[] = {
    /* data sheet "NVIDIA Blackwell", column HGX B200, figures of one GPU, half of those with sparsity, as
     * published in 2024 (the architecture's technical brief has 40, 80 and 8000 in place of 37, 75 and 7700);
     * L2: articles that measure it */
    {.device = "NVIDIA B200", .mark = "B200", .gbps = 7700, .l2_mib = 126,
     .fp64 = 37, .fp32 = 75, .tf32 = 1100, .fp16 = 2250, .bf16 = 2250, .fp8 = 4500, .int8 = 4500},
    /* data sheet "NVIDIA GH200 Grace Hopper Superchip", of the version with 96 GB of HBM3, as published for
     * launch year 2023 (that with 144 GB of HBM3e moves 4900); L2: that of the H100, the same chip */
    {.device = "NVIDIA GH200", .mark = "GH200", .gbps = 4000, .l2_mib = 50,
     .fp64 = 67, .fp32 = 67, .tf32 = 494.7, .fp16 = 989.4, .bf16 = 989.4, .fp8 = 1978.9, .int8 = 1978.9},
    /* data sheet "NVIDIA H200 Tensor Core GPU", as published for launch year 2024 */
    {.device = "NVIDIA H200 NVL", .mark = "H200 NVL", .gbps = 4800, .l2_mib = 50,
     .fp64 = 60, .fp32 = 60, .tf32 = 417.5, .fp16 = 835.5, .bf16 = 835.5, .fp8 = 1671, .int8 = 1671},
    /* data sheet "NVIDIA H200 Tensor Core GPU", as published for launch year 2024 */
    {.device = "NVIDIA H200", .mark = "H200", .gbps = 4800, .l2_mib = 50,
     .fp64 = 67, .fp32 = 67, .tf32 = 494.7, .fp16 = 989.4, .bf16 = 989.4, .fp8 = 1978.9, .int8 = 1978.9},
    /* data sheet "NVIDIA H100 Tensor Core GPU", as published for launch year 2023 */
    {.device = "NVIDIA H100 NVL", .mark = "H100 NVL", .gbps = 3900, .l2_mib = 50,
     .fp64 = 60, .fp32 = 60, .tf32 = 417.5, .fp16 = 835.5, .bf16 = 835.5, .fp8 = 1671, .int8 = 1671},
    /* data sheet "NVIDIA H100 Tensor Core GPU", as published for launch year 2022 */
    {.device = "NVIDIA H100 PCIe", .mark = "H100 PCIe", .gbps = 2000, .l2_mib = 50,
     .fp64 = 51, .fp32 = 51, .tf32 = 378, .fp16 = 756, .bf16 = 756, .fp8 = 1513, .int8 = 1513},
    /* data sheet "NVIDIA H100 Tensor Core GPU", as published for launch year 2022 */
    {.device = "NVIDIA H100 SXM", .mark = "H100", .gbps = 3350, .l2_mib = 50,
     .fp64 = 67, .fp32 = 67, .tf32 = 494.7, .fp16 = 989.4, .bf16 = 989.4, .fp8 = 1978.9, .int8 = 1978.9},
    /* no public data sheet; figures as listed by sellers, launch year 2024 */
    {.device = "NVIDIA H20", .mark = "H20", .gbps = 4000, .l2_mib = 60,
     .fp64 = 1, .fp32 = 44, .tf32 = 74, .fp16 = 148, .bf16 = 148, .fp8 = 296, .int8 = 296},
    /* data sheet "NVIDIA A100 Tensor Core GPU", as published for launch year 2021; L2: white paper
     "NVIDIA A100 Tensor Core GPU Architecture", 2020 */
    {.device = "NVIDIA A100 80GB PCIe", .mark = "A100 80GB PCIe", .gbps = 1935, .l2_gbps = 7219, .l2_mib = 40,
     .fp64 = 19.5, .fp32 = 19.5, .tf32 = 156, .fp16 = 312, .bf16 = 312, .int8 = 624},
    /* data sheet "NVIDIA A100 Tensor Core GPU", as published for launch year 2020; L2: as above */
    {.device = "NVIDIA A100 80GB", .mark = "A100-SXM4-80GB", .gbps = 2039, .l2_gbps = 7219, .l2_mib = 40,
     .fp64 = 19.5, .fp32 = 19.5, .tf32 = 156, .fp16 = 312, .bf16 = 312, .int8 = 624},
    /* data sheet "NVIDIA A100 Tensor Core GPU", as published for launch year 2020; L2: as above */
    {.device = "NVIDIA A100 40GB", .mark = "A100", .gbps = 1555, .l2_gbps = 7219, .l2_mib = 40,
     .fp64 = 19.5, .fp32 = 19.5, .tf32 = 156, .fp16 = 312, .bf16 = 312, .int8 = 624},
    /* data sheet "NVIDIA V100 Tensor Core GPU", as published for launch year 2017; L2: white paper
     "NVIDIA Tesla V100 GPU Architecture", 2017 */
    {.device = "NVIDIA V100 SXM2", .mark = "V100-SXM2", .gbps = 900, .l2_gbps = 3133, .l2_mib = 6,
     .fp64 = 7.8, .fp32 = 15.7, .fp16 = 125},
    /* data sheet "NVIDIA V100 Tensor Core GPU", as published for launch year 2017; L2: as above */
    {.device = "NVIDIA V100 PCIe", .mark = "V100", .gbps = 900, .l2_gbps = 2826, .l2_mib = 6,
     .fp64 = 7, .fp32 = 14, .fp16 = 112},
    /* data sheet "NVIDIA L40S", as published for launch year 2023 */
    {.device = "NVIDIA L40S", .mark = "L40S", .gbps = 864, .l2_mib = 96,
     .fp64 = 1.4, .fp32 = 91.6, .tf32 = 183, .fp16 = 362.05, .bf16 = 362.05, .fp8 = 733, .int8 = 733},
    /* data sheet "NVIDIA L40", as published for launch year 2022 */
    {.device = "NVIDIA L40", .mark = "L40", .gbps = 864, .l2_mib = 96,
     .fp64 = 1.4, .fp32 = 90.5, .tf32 = 90.5, .fp16 = 181.05, .bf16 = 181.05, .fp8 = 362, .int8 = 362},
    /* data sheet "NVIDIA L4 Tensor Core GPU", as published for launch year 2023 */
    {.device = "NVIDIA L4", .mark = "L4", .gbps = 300, .l2_mib = 48,
     .fp64 = 0.5, .fp32 = 30.3, .tf32 = 60, .fp16 = 121, .bf16 = 121, .fp8 = 242.5, .int8 = 242.5},
    /* data sheet "NVIDIA A30 Tensor Core GPU", as published for launch year 2021 */
    {.device = "NVIDIA A30", .mark = "A30", .gbps = 933, .l2_mib = 24,
     .fp64 = 10.3, .fp32 = 10.3, .tf32 = 82, .fp16 = 165, .bf16 = 165, .int8 = 330},
    /* data sheet "NVIDIA A40", as published for launch year 2020 */
    {.device = "NVIDIA A40", .mark = "A40", .gbps = 696, .l2_mib = 6,
     .fp64 = 0.6, .fp32 = 37.4, .tf32 = 74.8, .fp16 = 149.7, .bf16 = 149.7, .int8 = 299.3},
    /* made for Amazon EC2 G5 (2021) and not in NVIDIA's catalogue: memory as articles that compare it with
     * the A10 list it; rates as listed by sellers, not checked against a data sheet */
    {.device = "NVIDIA A10G", .mark = "A10G", .gbps = 600, .l2_mib = 6,
     .fp64 = 0.5, .fp32 = 35, .tf32 = 35, .fp16 = 70, .bf16 = 70, .int8 = 140},
    /* data sheet "NVIDIA A10 Tensor Core GPU", as published for launch year 2021 */
    {.device = "NVIDIA A10", .mark = "A10", .gbps = 600, .l2_mib = 6,
     .fp64 = 0.5, .fp32 = 31.2, .tf32 = 62.5, .fp16 = 125, .bf16 = 125, .int8 = 250},
    /* data sheet "NVIDIA RTX A6000", as published for launch year 2020 */
    {.device = "NVIDIA RTX A6000", .mark = "A6000", .gbps = 768, .l2_mib = 6,
     .fp64 = 0.6, .fp32 = 38.7, .tf32 = 77.4, .fp16 = 154.8, .bf16 = 154.8, .int8 = 309.7},
    /* data sheet "NVIDIA T4 Tensor Core GPU", as published for launch year 2018 */
    {.device = "NVIDIA T4", .mark = "T4", .gbps = 320, .l2_mib = 4,
     .fp64 = 0.25, .fp32 = 8.1, .fp16 = 65, .int8 = 130},
    /* white paper "NVIDIA Ampere GA102 GPU Architecture", as published for launch year 2020 */
    {.device = "NVIDIA GeForce RTX 3090", .mark = "RTX 3090", .gbps = 936, .l2_mib = 6,
     .fp64 = 0.56, .fp32 = 35.6, .tf32 = 35.6, .fp16 = 71, .bf16 = 71, .int8 = 284},
    /* white paper "NVIDIA Ada GPU Architecture", as published for launch year 2022 */
    {.device = "NVIDIA GeForce RTX 4090", .mark = "RTX 4090", .gbps = 1008, .l2_mib = 72,
     .fp64 = 1.3, .fp32 = 82.6, .tf32 = 82.6, .fp16 = 165.2, .bf16 = 165.2, .fp8 = 330.3, .int8 = 660.6},
    /* white paper "NVIDIA RTX Blackwell GPU Architecture", as published for launch year 2025 */
    {.device = "NVIDIA GeForce RTX 5090", .mark = "RTX 5090", .gbps = 1792, .l2_mib = 96,
     .fp64 = 1.6, .fp32 = 104.8, .tf32 = 104.8, .fp16 = 209.5, .bf16 = 209.5, .fp8 = 419, .int8 = 838},
    /* data sheet "AMD Instinct MI300X Accelerator", as published for launch year 2023; the cache is the
     Infinity Cache */
    {.device = "AMD Instinct MI300X", .mark = "MI300X", .gbps = 5300, .l2_mib = 256,
     .fp64 = 163.4, .fp32 = 163.4, .tf32 = 653.7, .fp16 = 1307.4, .bf16 = 1307.4, .fp8 = 2614.9,
     .int8 = 2614.9},
};
/* clang-format on */

static const double CLOCK_REACHED = 0.9, /* of the data sheet at the clock that there was */
    TABLE_REACHED = 0.8,                 /* of the data sheet */
    TRACE_LEAST = 0.6,                   /* of the data sheet */
    QUANTILE = 0.99, CACHE_FACTOR = 4;   /* times as fast as memory an L2 cache of unknown bandwidth may be */

GP_WORD(gp_ceiling_source_name, enum gp_ceiling_source, GP_CEILING_SOURCES, 1)
GP_WORD(gp_ceiling_source_text, enum gp_ceiling_source, GP_CEILING_SOURCES, 2)

/* ---- data sheets ---- */

/* Does NAME contain MARK as whole words, not as part of a longer model number? */
static bool has_words(const char *name, const char *mark)
{
    size_t n = strlen(mark);
    for (const char *at = name; (at = strstr(at, mark)); at++)
        if ((at == name || !isalnum((unsigned char)at[-1])) && !isalnum((unsigned char)at[n])) return true;
    return false;
}

static const struct gp_sheet *sheet_of(const char *name)
{
    for (size_t i = 0; i < GP_COUNT(gp_sheets); i++)
        if (has_words(name, gp_sheets[i].mark)) return &gp_sheets[i];
    return NULL;
}

static const struct gp_sheet *sheet_called(const char *device)
{
    for (size_t i = 0; i < GP_COUNT(gp_sheets); i++)
        if (!strcmp(gp_sheets[i].device, device)) return &gp_sheets[i];
    return NULL;
}

static void set(struct gp_ceiling *c, double per_s, enum gp_ceiling_source source)
{
    if (per_s > 0) *c = (struct gp_ceiling){per_s, source};
}

static void take_sheet(struct gp_ceilings *c, const struct gp_sheet *s)
{
    const double of[GP_ARITH_COUNT] = {s->fp64, s->fp32, s->tf32, s->fp16, s->bf16, s->fp8, s->int8};
    set(&c->memory, s->gbps * 1e9, GP_CEILING_TABLE);
    set(&c->l2, s->l2_gbps * 1e9, GP_CEILING_TABLE);
    for (int i = 0; i < GP_ARITH_COUNT; i++) set(&c->flops[i], of[i] * 1e12, GP_CEILING_TABLE);
    c->l2_bytes = s->l2_mib * 1048576;
    c->sheet = s->device;
}

/* ---- properties ---- */

/* Operations of a multiprocessor per clock, by compute capability: of its FP32 units, and of its matrix units
 * in 16 bits and in TF32. CUDA C++ Programming Guide, "Throughput of Native Arithmetic Instructions", and the
 * architectures' white papers. */
static const struct {
    int major, minor;
    double fp32, half, tf32;
} units[] = {
    {.major = 7, .minor = 0, .fp32 = 128, .half = 1024},
    {.major = 7, .minor = 5, .fp32 = 128, .half = 1024},
    {.major = 8, .minor = 0, .fp32 = 128, .half = 2048, .tf32 = 1024},
    {.major = 8, .minor = 6, .fp32 = 256, .half = 1024, .tf32 = 512},
    {.major = 8, .minor = 9, .fp32 = 256, .half = 1024, .tf32 = 512},
    {.major = 9, .minor = 0, .fp32 = 256, .half = 4096, .tf32 = 2048},
    {.major = 10, .minor = 0, .fp32 = 256, .half = 8192, .tf32 = 4096},
    {.major = 12, .minor = 0, .fp32 = 256, .half = 1024, .tf32 = 512},
};

/* Only the large devices, in their slowest version: there are too many others. */
static const struct gp_sheet *sheet_of_capability(const struct gp_device *d)
{
    if (d->cc_minor != 0 || d->warp_size == 64) return NULL;
    if (d->cc_major == 8) return sheet_called("NVIDIA A100 40GB");
    if (d->cc_major == 9) return sheet_called("NVIDIA H100 SXM");
    return d->cc_major == 10 ? sheet_called("NVIDIA B200") : NULL;
}

void gp_ceilings_of_device(struct gp_ceilings *c, const char *name, const struct gp_device *d)
{
    memset(c, 0, sizeof *c);
    const struct gp_sheet *s = name ? sheet_of(name) : NULL;
    if (s) take_sheet(c, s);
    else if (d) {
        set(&c->memory, (double)d->memory_bandwidth_bps, GP_CEILING_DEVICE);
        for (size_t i = 0; i < GP_COUNT(units) && d->sms > 0 && d->core_clock_khz > 0; i++) {
            if (units[i].major != d->cc_major || units[i].minor != d->cc_minor) continue;
            double clocks = (double)d->sms * (double)d->core_clock_khz * 1e3;
            set(&c->flops[GP_ARITH_FP32], units[i].fp32 * clocks, GP_CEILING_DEVICE);
            set(&c->flops[GP_ARITH_FP16], units[i].half * clocks, GP_CEILING_DEVICE);
            if (d->cc_major >= 8) set(&c->flops[GP_ARITH_BF16], units[i].half * clocks, GP_CEILING_DEVICE);
            set(&c->flops[GP_ARITH_TF32], units[i].tf32 * clocks, GP_CEILING_DEVICE);
        }
    }
    if (d && !s && c->memory.per_s <= 0 && (s = sheet_of_capability(d))) take_sheet(c, s);
    if (d && d->l2_bytes > 0) c->l2_bytes = (double)d->l2_bytes;
}

int gp_ceilings_of_file(struct gp_ceilings *c, const struct gp_ceilings_file *f, struct gp_err *err)
{
    *c = (struct gp_ceilings){.memory = {f->memory_bytes_per_s, GP_CEILING_FILE},
                              .memory_read_per_s = f->memory_read_bytes_per_s,
                              .memory_write_per_s = f->memory_write_bytes_per_s,
                              .l2 = {f->l2_bytes_per_s, GP_CEILING_FILE},
                              .l2_bytes = f->l2_bytes,
                              .empty_ns = f->empty_kernel_ns,
                              .empty_source = GP_CEILING_FILE};
    for (size_t i = 0; i < f->n; i++) {
        enum gp_arith a = gp_arith_called(f->flops[i].type);
        if (a == GP_ARITH_NONE)
            return gp_fail(err, GP_E_SYNTAX, -1, "flops_per_s: no type \"%s\"", f->flops[i].type);
        c->flops[a] = (struct gp_ceiling){f->flops[i].per_s, GP_CEILING_FILE};
    }
    return 0;
}

void gp_ceilings_prefer(struct gp_ceilings *c, const struct gp_ceilings *other)
{
    if (other->memory.per_s > 0) {
        c->memory = other->memory;
        c->memory_read_per_s = other->memory_read_per_s;
        c->memory_write_per_s = other->memory_write_per_s;
    }
    if (other->l2.per_s > 0) c->l2 = other->l2;
    for (int i = 0; i < GP_ARITH_COUNT; i++)
        if (other->flops[i].per_s > 0) c->flops[i] = other->flops[i];
    if (other->l2_bytes > 0) c->l2_bytes = other->l2_bytes;
    if (other->empty_ns > 0) c->empty_ns = other->empty_ns, c->empty_source = other->empty_source;
}

/* ---- reads and writes ---- */

static double or_copy(double per_s, const struct gp_ceilings *c)
{
    return per_s > 0 ? per_s : c->memory.per_s;
}

static double fastest(const struct gp_ceilings *c)
{
    double read = or_copy(c->memory_read_per_s, c), write = or_copy(c->memory_write_per_s, c);
    double most = read > write ? read : write;
    return most > c->memory.per_s ? most : c->memory.per_s;
}

double gp_ceilings_memory_ns(const struct gp_ceilings *c, double bytes, double written)
{
    if (c->memory.per_s <= 0) return 0;
    if (written < 0) return bytes / fastest(c) * 1e9;
    double read = bytes > written ? bytes - written : 0, both = read < written ? read : written;
    return (2 * both / c->memory.per_s + (read - both) / or_copy(c->memory_read_per_s, c) +
            (written - both) / or_copy(c->memory_write_per_s, c)) *
           1e9;
}

double gp_ceilings_memory_bytes(const struct gp_ceilings *c, double ns, double written)
{
    double s = ns / 1e9, copied = c->memory.per_s > 0 ? 2 * written / c->memory.per_s : 0;
    if (written < 0) return fastest(c) * s;
    if (s >= copied) return 2 * written + (s - copied) * or_copy(c->memory_read_per_s, c);
    /* fewer are read than written; with none read it takes this long: */
    double write = or_copy(c->memory_write_per_s, c), only = written / write;
    if (s <= only) return write * s;
    return written + (s - only) / (2 / c->memory.per_s - 1 / write);
}

double gp_ceilings_cache_per_s(const struct gp_ceilings *c)
{
    return c->l2.per_s > 0 ? c->l2.per_s : CACHE_FACTOR * c->memory.per_s;
}

double gp_ceilings_cached_ns(const struct gp_ceilings *c, double bytes, double written)
{
    double cached = bytes < c->l2_bytes ? bytes : c->l2_bytes;
    if (c->memory.per_s <= 0 || bytes <= 0) return 0;
    double part = (bytes - cached) / bytes; /* of all bytes, and of those written */
    return gp_ceilings_memory_ns(c, part * bytes, written < 0 ? written : part * written) +
           cached / gp_ceilings_cache_per_s(c) * 1e9;
}

/* ---- from a trace ---- */

void gp_ceiling_measure(struct gp_ceiling *top, double *rates, size_t n)
{
    if (n < GP_CEILING_SAMPLES) return;
    qsort(rates, n, sizeof *rates, gp_order_double);
    double best = rates[(size_t)((double)(n - 1) * QUANTILE)];
    if (top->per_s > 0 && (top->source == GP_CEILING_FILE || best < TRACE_LEAST * top->per_s)) return;
    if (top->per_s > 0 && best > top->per_s) best = top->per_s;
    set(top, best, GP_CEILING_TRACE);
}

/* A counter's peak is at the clock of its own measurement, and a data sheet's at the highest one. */
static bool is_of_highest_clock(const struct gp_ceiling *c)
{
    return c->source == GP_CEILING_TABLE || c->source == GP_CEILING_DEVICE;
}

double gp_ceiling_attainable(const struct gp_ceiling *c)
{
    bool peak = is_of_highest_clock(c) || c->source == GP_CEILING_COUNTERS;
    return peak ? TABLE_REACHED * c->per_s : c->per_s;
}

double gp_ceiling_peak_at(const struct gp_ceiling *c, double clock)
{
    return clock > 0 && is_of_highest_clock(c) ? clock * c->per_s : c->per_s;
}

double gp_ceiling_at(const struct gp_ceiling *c, double clock)
{
    bool scaled = clock > 0 && is_of_highest_clock(c);
    return scaled ? CLOCK_REACHED * gp_ceiling_peak_at(c, clock) : gp_ceiling_attainable(c);
}

/* ---- fields ---- */

const char *const gp_ceiling_source_words[] = {GP_CEILING_SOURCES(GP_WORD_1) NULL};

GP_GETTER(get_gbps) { gp_cell_real(c, ((const struct gp_ceiling *)row)->per_s / 1e9); }

GP_GETTER(get_tflops) { gp_cell_real(c, ((const struct gp_ceiling *)row)->per_s / 1e12); }

#define SOURCE                                                                                               \
    {                                                                                                        \
        "source", NULL, GP_CELL_TEXT, gp_member_word, offsetof(struct gp_ceiling, source),                   \
            .words = gp_ceiling_source_words                                                                 \
    }
static const struct gp_field bandwidth_fields[] = {
    {"gbps", NULL, GP_CELL_GBPS, get_gbps, 0, .help = "10^9 bytes per second"}, SOURCE};
static const struct gp_field arithmetic_fields[] = {
    {"tflops", NULL, GP_CELL_REAL, get_tflops, 0, .help = "10^12 operations per second"}, SOURCE};
static const struct gp_record bandwidth = {"bandwidth", NULL, GP_FIELDS(bandwidth_fields),
                                           .size = sizeof(struct gp_ceiling)};
static const struct gp_record arithmetic = {"arithmetic", NULL, GP_FIELDS(arithmetic_fields),
                                            .size = sizeof(struct gp_ceiling)};

GP_GET_IF(get_sheet, struct gp_ceilings, r->sheet, gp_cell_text(c, r->sheet))

GP_GET_UNLESS(get_ceiling, void, gp_member_row, !(((const struct gp_ceiling *)c->at)->per_s > 0))

/* Of only reads or only writes: from where that of both is. */
GP_GETTER(get_one_way)
{
    struct gp_ceiling *one = gp_arena_alloc(x->mem, sizeof *one);
    *one = (struct gp_ceiling){*(const double *)gp_member_at(row, f),
                               ((const struct gp_ceilings *)row)->memory.source};
    c->none = !(one->per_s > 0);
    c->at = one;
}

GP_GET_IF(get_l2_bytes, struct gp_ceilings, r->l2_bytes >= 1, c->i = (int64_t)r->l2_bytes)

#define AT(member) offsetof(struct gp_ceilings, member)
#define BANDWIDTH  .flags = GP_FIELD_OPTIONAL, .rows = &bandwidth
static const struct gp_field ceiling_fields[] = {
    {"data_sheet", NULL, GP_CELL_TEXT, get_sheet, 0, .flags = GP_FIELD_OPTIONAL},
    {"memory", NULL, GP_CELL_ROW, get_ceiling, AT(memory), BANDWIDTH},
    {"memory_read", NULL, GP_CELL_ROW, get_one_way, AT(memory_read_per_s), BANDWIDTH},
    {"memory_write", NULL, GP_CELL_ROW, get_one_way, AT(memory_write_per_s), BANDWIDTH},
    {"l2", NULL, GP_CELL_ROW, get_ceiling, AT(l2), BANDWIDTH},
    {"l2_bytes", NULL, GP_CELL_BYTES, get_l2_bytes, 0, .help = "size of the L2 cache",
     .flags = GP_FIELD_OPTIONAL},
#define X(id, name)                                                                                          \
    {name, NULL, GP_CELL_ROW, get_ceiling, AT(flops[id]), .flags = GP_FIELD_OPTIONAL, .rows = &arithmetic},
    GP_ARITHS(X)
#undef X
};
#undef BANDWIDTH
#undef AT
const struct gp_record gp_cost_ceilings = {"ceilings", "Limits", GP_FIELDS(ceiling_fields),
                                           sizeof(struct gp_ceilings),
                                           .note = "limits of the device; unknown limits are left out"};
