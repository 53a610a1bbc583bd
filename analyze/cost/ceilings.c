#include "analyze/cost/ceilings.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include "analyze/cost/ceilings_table.h"
#include "formats/base/err.h"
#include "formats/base/str.h"

static const double TABLE_REACHED = 0.8, /* of the data sheet */
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

static void take_properties(struct gp_ceilings *c, const struct gp_device *d)
{
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
    else if (d) take_properties(c, d);
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
    double part = (bytes - cached) / bytes; /* of the bytes, and of what is written */
    return gp_ceilings_memory_ns(c, part * bytes, written < 0 ? written : part * written) +
           cached / gp_ceilings_cache_per_s(c) * 1e9;
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
    bool peak =
        c->source == GP_CEILING_TABLE || c->source == GP_CEILING_DEVICE || c->source == GP_CEILING_COUNTERS;
    return peak ? TABLE_REACHED * c->per_s : c->per_s;
}

/* ---- fields ---- */

const char *const gp_ceiling_source_words[] = {GP_CEILING_SOURCES(GP_WORD_1) NULL};

GP_GETTER(get_source)
{
    gp_cell_text(c, gp_ceiling_source_name((enum gp_ceiling_source)((const struct gp_ceiling *)row)->source));
}

GP_GETTER(get_gbps)
{
    gp_cell_real(c, ((const struct gp_ceiling *)row)->per_s / 1e9);
}

GP_GETTER(get_tflops)
{
    gp_cell_real(c, ((const struct gp_ceiling *)row)->per_s / 1e12);
}

#define SOURCE                                                                                               \
    {                                                                                                        \
        "source", NULL, GP_CELL_TEXT, get_source, 0, .words = gp_ceiling_source_words                        \
    }
static const struct gp_field bandwidth_fields[] = {
    {"gbps", NULL, GP_CELL_GBPS, get_gbps, 0, .help = "10^9 bytes per second"}, SOURCE};
static const struct gp_field arithmetic_fields[] = {
    {"tflops", NULL, GP_CELL_REAL, get_tflops, 0, .help = "10^12 operations per second"}, SOURCE};
static const struct gp_record bandwidth = {"bandwidth", NULL, GP_FIELDS(bandwidth_fields),
                                           .size = sizeof(struct gp_ceiling)};
static const struct gp_record arithmetic = {"arithmetic", NULL, GP_FIELDS(arithmetic_fields),
                                            .size = sizeof(struct gp_ceiling)};

GP_GETTER(get_sheet)
{
    const struct gp_ceilings *top = row;
    c->none = !top->sheet;
    if (top->sheet) gp_cell_text(c, top->sheet);
}

GP_GETTER(get_ceiling)
{
    const struct gp_ceiling *one = gp_member_at(row, f);
    c->none = !(one->per_s > 0);
    c->at = one;
}

/* Of only reads or only writes: from where that of both is. */
GP_GETTER(get_one_way)
{
    struct gp_ceiling *one = gp_arena_alloc(x->mem, sizeof *one);
    *one = (struct gp_ceiling){*(const double *)gp_member_at(row, f),
                               ((const struct gp_ceilings *)row)->memory.source};
    c->none = !(one->per_s > 0);
    c->at = one;
}

GP_GETTER(get_l2_bytes)
{
    c->i = (int64_t)((const struct gp_ceilings *)row)->l2_bytes;
    c->none = c->i <= 0;
}

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
