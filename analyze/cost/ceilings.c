// The table: NVIDIA's and AMD's public data sheets and architecture white papers, dense, at boost clocks;
// 16-bit rates with FP32 sums. Cache bandwidths come from white papers and are otherwise unknown.
#include "analyze/cost/ceilings.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const double TABLE_REACHED = 0.8, /* of the data sheet */
    TRACE_LEAST = 0.6,                   /* of the data sheet */
    QUANTILE = 0.99;

const char *gp_ceiling_source_name(enum gp_ceiling_source s)
{
    static const char *const names[] = {
#define X(id, name, text) name,
        GP_CEILING_SOURCES(X)
#undef X
    };
    return names[s];
}

const char *gp_ceiling_source_text(enum gp_ceiling_source s)
{
    static const char *const texts[] = {
#define X(id, name, text) text,
        GP_CEILING_SOURCES(X)
#undef X
    };
    return texts[s];
}

/* ---- data sheets ---- */

struct sheet {
    const char *device, *mark; /* words that its name has */
    double gbps, l2_gbps, l2_mib;
    double fp64, fp32, tf32, fp16, bf16, fp8, int8; /* 1e12 operations a second */
};

/* clang-format off */
static const struct sheet sheets[] = {
    /*                              GB/s   L2    MiB   fp64  fp32   tf32    fp16    bf16    fp8     int8 */
    {"NVIDIA B200",        "B200",  7700,  0,    126,  37,   75,    1125,   2250,   2250,   4500,   4500},
    {"NVIDIA GH200",       "GH200", 4000,  0,    50,   67,   67,    494.7,  989.4,  989.4,  1978.9, 1978.9},
    {"NVIDIA H200 NVL",    "H200 NVL", 4800, 0,  50,   60,   60,    417.5,  835.5,  835.5,  1671,   1671},
    {"NVIDIA H200",        "H200",  4800,  0,    50,   67,   67,    494.7,  989.4,  989.4,  1978.9, 1978.9},
    {"NVIDIA H100 NVL",    "H100 NVL", 3900, 0,  50,   60,   60,    417.5,  835.5,  835.5,  1671,   1671},
    {"NVIDIA H100 PCIe",   "H100 PCIe", 2000, 0, 50,   51,   51,    378,    756,    756,    1513,   1513},
    {"NVIDIA H100 SXM",    "H100",  3350,  0,    50,   67,   67,    494.7,  989.4,  989.4,  1978.9, 1978.9},
    {"NVIDIA H20",         "H20",   4000,  0,    60,   1,    44,    74,     148,    148,    296,    296},
    {"NVIDIA A100 80GB PCIe", "A100 80GB PCIe", 1935, 7219, 40, 19.5, 19.5, 156, 312, 312,  0,      624},
    {"NVIDIA A100 80GB",   "A100-SXM4-80GB", 2039, 7219, 40, 19.5, 19.5, 156, 312,  312,    0,      624},
    {"NVIDIA A100 40GB",   "A100",  1555,  7219, 40,   19.5, 19.5,  156,    312,    312,    0,      624},
    {"NVIDIA V100 SXM2",   "V100-SXM2", 900, 3133, 6,  7.8,  15.7,  0,      125,    0,      0,      0},
    {"NVIDIA V100 PCIe",   "V100",  900,   2826, 6,    7,    14,    0,      112,    0,      0,      0},
    {"NVIDIA L40S",        "L40S",  864,   0,    96,   1.4,  91.6,  183,    362.05, 362.05, 733,    733},
    {"NVIDIA L40",         "L40",   864,   0,    96,   1.4,  90.5,  90.5,   181.05, 181.05, 362,    362},
    {"NVIDIA L4",          "L4",    300,   0,    48,   0.5,  30.3,  60,     121,    121,    242.5,  242.5},
    {"NVIDIA A30",         "A30",   933,   0,    24,   10.3, 10.3,  82,     165,    165,    0,      330},
    {"NVIDIA A40",         "A40",   696,   0,    6,    0.6,  37.4,  74.8,   149.7,  149.7,  0,      299.3},
    {"NVIDIA A10G",        "A10G",  600,   0,    6,    0.5,  35,    35,     70,     70,     0,      140},
    {"NVIDIA A10",         "A10",   600,   0,    6,    0.5,  31.2,  62.5,   125,    125,    0,      250},
    {"NVIDIA RTX A6000",   "A6000", 768,   0,    6,    0.6,  38.7,  77.4,   154.8,  154.8,  0,      309.7},
    {"NVIDIA T4",          "T4",    320,   0,    4,    0.25, 8.1,   0,      65,     0,      0,      130},
    {"NVIDIA GeForce RTX 3090", "RTX 3090", 936, 0, 6, 0.56, 35.6,  35.6,   71,     71,     0,      284},
    {"NVIDIA GeForce RTX 4090", "RTX 4090", 1008, 0, 72, 1.3, 82.6, 82.6,   165.2,  165.2,  330.3,  660.6},
    {"NVIDIA GeForce RTX 5090", "RTX 5090", 1792, 0, 96, 1.6, 104.8, 104.8, 209.5,  209.5,  419,    838},
    {"AMD Instinct MI300X", "MI300X", 5300, 0,   256,  163.4, 163.4, 653.7, 1307.4, 1307.4, 2614.9, 2614.9},
};
/* clang-format on */

/* Does NAME contain MARK as whole words, not as part of a longer model number? */
static bool has_words(const char *name, const char *mark)
{
    size_t n = strlen(mark);
    for (const char *at = name; (at = strstr(at, mark)); at++)
        if ((at == name || !isalnum((unsigned char)at[-1])) && !isalnum((unsigned char)at[n])) return true;
    return false;
}

static const struct sheet *sheet_of(const char *name)
{
    for (size_t i = 0; i < sizeof sheets / sizeof *sheets; i++)
        if (has_words(name, sheets[i].mark)) return &sheets[i];
    return NULL;
}

static const struct sheet *sheet_called(const char *device)
{
    for (size_t i = 0; i < sizeof sheets / sizeof *sheets; i++)
        if (!strcmp(sheets[i].device, device)) return &sheets[i];
    return NULL;
}

static void set(struct gp_ceiling *c, double per_s, enum gp_ceiling_source source)
{
    if (per_s > 0) *c = (struct gp_ceiling){per_s, source};
}

static void take_sheet(struct gp_ceilings *c, const struct sheet *s)
{
    const double of[GP_ARITH_COUNT] = {s->fp64, s->fp32, s->tf32, s->fp16, s->bf16, s->fp8, s->int8};
    set(&c->memory, s->gbps * 1e9, GP_CEILING_TABLE);
    set(&c->l2, s->l2_gbps * 1e9, GP_CEILING_TABLE);
    for (int i = 0; i < GP_ARITH_COUNT; i++) set(&c->flops[i], of[i] * 1e12, GP_CEILING_TABLE);
    c->l2_bytes = s->l2_mib * 1048576;
    c->sheet = s->device;
}

/* ---- properties ---- */

/* Operations of a multiprocessor a clock: of its FP32 units, and of its matrix units in 16 bits. */
static const struct {
    int major, minor;
    double fp32, half, tf32;
} units[] = {
    {7, 0, 128, 1024, 0},   {7, 5, 128, 1024, 0},    {8, 0, 128, 2048, 1024},  {8, 6, 256, 1024, 512},
    {8, 9, 256, 1024, 512}, {9, 0, 256, 4096, 2048}, {10, 0, 256, 8192, 4096}, {12, 0, 256, 1024, 512},
};

static void take_properties(struct gp_ceilings *c, const struct gp_device *d)
{
    set(&c->memory, (double)d->memory_bandwidth_bps, GP_CEILING_DEVICE);
    for (size_t i = 0; i < sizeof units / sizeof *units && d->sms > 0 && d->core_clock_khz > 0; i++) {
        if (units[i].major != d->cc_major || units[i].minor != d->cc_minor) continue;
        double clocks = (double)d->sms * (double)d->core_clock_khz * 1e3;
        set(&c->flops[GP_ARITH_FP32], units[i].fp32 * clocks, GP_CEILING_DEVICE);
        set(&c->flops[GP_ARITH_FP16], units[i].half * clocks, GP_CEILING_DEVICE);
        if (d->cc_major >= 8) set(&c->flops[GP_ARITH_BF16], units[i].half * clocks, GP_CEILING_DEVICE);
        set(&c->flops[GP_ARITH_TF32], units[i].tf32 * clocks, GP_CEILING_DEVICE);
    }
}

/* Those of the large devices, the slowest version: of others there are too many. */
static const struct sheet *sheet_of_capability(const struct gp_device *d)
{
    if (d->cc_minor != 0 || d->warp_size == 64) return NULL;
    if (d->cc_major == 8) return sheet_called("NVIDIA A100 40GB");
    if (d->cc_major == 9) return sheet_called("NVIDIA H100 SXM");
    return d->cc_major == 10 ? sheet_called("NVIDIA B200") : NULL;
}

void gp_ceilings_of_device(struct gp_ceilings *c, const char *name, const struct gp_device *d)
{
    memset(c, 0, sizeof *c);
    const struct sheet *s = name ? sheet_of(name) : NULL;
    if (s) take_sheet(c, s);
    else if (d) take_properties(c, d);
    if (d && !s && c->memory.per_s <= 0 && (s = sheet_of_capability(d))) take_sheet(c, s);
    if (d && d->l2_bytes > 0) c->l2_bytes = (double)d->l2_bytes;
}

void gp_ceilings_prefer(struct gp_ceilings *c, const struct gp_ceilings *other)
{
    if (other->memory.per_s > 0) c->memory = other->memory;
    if (other->l2.per_s > 0) c->l2 = other->l2;
    for (int i = 0; i < GP_ARITH_COUNT; i++)
        if (other->flops[i].per_s > 0) c->flops[i] = other->flops[i];
    if (other->l2_bytes > 0) c->l2_bytes = other->l2_bytes;
    if (other->empty_ns > 0) c->empty_ns = other->empty_ns, c->empty_source = other->empty_source;
}

/* ---- what a trace shows ---- */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

void gp_ceiling_measure(struct gp_ceiling *top, double *rates, size_t n)
{
    if (n < GP_CEILING_SAMPLES) return;
    qsort(rates, n, sizeof *rates, by_value);
    double best = rates[(size_t)((double)(n - 1) * QUANTILE)];
    if (top->per_s > 0 && (top->source == GP_CEILING_FILE || best < TRACE_LEAST * top->per_s)) return;
    if (top->per_s > 0 && best > top->per_s) best = top->per_s;
    set(top, best, GP_CEILING_TRACE);
}

double gp_ceiling_attainable(const struct gp_ceiling *c)
{
    return c->source == GP_CEILING_TABLE || c->source == GP_CEILING_DEVICE ? TABLE_REACHED * c->per_s
                                                                           : c->per_s;
}
