#include "analyze/calibrate/figures.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "analyze/calibrate/calibration.h"
#include "formats/base/err.h"
#include "formats/base/num.h"
#include "formats/base/order.h"

const struct gp_figure_facts *gp_figure_facts(enum gp_figure f)
{
    static const struct gp_figure_facts facts[] = {
#define X(id, name, path, words, unit) {name, path, words, GP_FIGURE_##unit},
        GP_FIGURES(X)
#undef X
    };
    return &facts[f];
}

static const char *fact_name(size_t i)
{
    static const char *const names[] = {GP_FACTS(GP_SECOND)};
    return names[i];
}

static void add(struct gp_samples *s, double v) { GP_VEC_PUSH(&s->v, v); }

void gp_figures_lack(struct gp_figures *f, const char *name, const char *why)
{
    struct gp_missing m;
    for (size_t i = 0; i < f->missing.n; i++)
        if (!strcmp(f->missing.at[i].name, name)) return;
    snprintf(m.name, sizeof m.name, "%s", name);
    snprintf(m.why, sizeof m.why, "%s", why);
    GP_VEC_PUSH(&f->missing, m);
}

/* Facts that are text. */
static bool take_text(struct gp_figures *f, const char *name, const char *value)
{
    const struct {
        const char *name;
        char *to;
        size_t n;
    } texts[] = {{"device", f->device, sizeof f->device},
                 {"driver", f->driver, sizeof f->driver},
                 {"pci", f->pci, sizeof f->pci},
                 {"compute_capability", f->capability, sizeof f->capability},
                 {"host_cpus", f->cpus, sizeof f->cpus}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (!strcmp(name, texts[i].name)) {
            snprintf(texts[i].to, texts[i].n, "%s", value);
            return true;
        }
    return false;
}

static void take_fact(struct gp_figures *f, const char *name, const char *value)
{
    uint64_t v;
    if (!strcmp(name, "phase")) f->soaking = !strcmp(value, "soak");
    if (!strcmp(name, "end")) f->ended = true;
    if (take_text(f, name, value) || !gp_u64_from_text(value, strlen(value), &v)) return;
    for (size_t i = 0; i < GP_FACT_COUNT; i++)
        if (!strcmp(name, fact_name(i))) add(f->soaking ? &f->soak_facts[i] : &f->facts[i], (double)v);
}

static int take_figure(struct gp_figures *f, const char *name, const char *value, struct gp_err *err)
{
    double v;
    if (!gp_double_from_text(value, strlen(value), &v) || !isfinite(v) || v <= 0)
        return gp_fail(err, GP_E_SYNTAX, -1, "%s: \"%.40s\" is not a number above 0", name, value);
    for (size_t i = 0; i < GP_FIGURE_COUNT; i++)
        if (!strcmp(name, gp_figure_facts((enum gp_figure)i)->name)) add(&f->samples[i], v);
    return 0;
}

int gp_figures_line(struct gp_figures *f, const char *line, struct gp_err *err)
{
    char kind[16], name[24];
    int at = 0;
    if (sscanf(line, "%15s %23s %n", kind, name, &at) != 2 || !at)
        return gp_fail(err, GP_E_SYNTAX, -1, "\"%.60s\" is not a line of measurements", line);
    const char *value = line + at;
    if (!strcmp(kind, "figure")) return take_figure(f, name, value, err);
    if (!strcmp(kind, "fact")) take_fact(f, name, value);
    else if (!strcmp(kind, "missing")) gp_figures_lack(f, name, value);
    else return gp_fail(err, GP_E_SYNTAX, -1, "\"%.60s\" is not a line of measurements", line);
    return 0;
}

double gp_samples_quantile(struct gp_samples *s, double part)
{
    if (!s->v.n) return 0;
    qsort(s->v.at, s->v.n, sizeof *s->v.at, gp_order_double);
    double place = part * (double)(s->v.n - 1);
    size_t below = (size_t)place;
    double more = below + 1 < s->v.n ? s->v.at[below + 1] - s->v.at[below] : 0;
    return s->v.at[below] + (place - (double)below) * more;
}

static int64_t settled(struct gp_samples *s) { return s->v.n ? llround(gp_samples_quantile(s, 0.5)) : -1; }

/* The part of the results that are not above the one that counts. */
static double place_of(enum gp_figure_unit unit)
{
    return unit == GP_FIGURE_NS ? 0 : unit == GP_FIGURE_FLOPS_MEDIAN ? 0.5 : 1;
}

void gp_figures_settle(struct gp_figures *f)
{
    for (size_t i = 0; i < GP_FIGURE_COUNT; i++)
        f->value[i] = gp_samples_quantile(&f->samples[i], place_of(gp_figure_facts((enum gp_figure)i)->unit));
    for (size_t i = 0; i < GP_FACT_COUNT; i++) {
        f->fact[i] = settled(&f->facts[i]);
        f->soaked[i] = settled(&f->soak_facts[i]);
    }
}

void gp_figures_release(struct gp_figures *f)
{
    for (size_t i = 0; i < GP_FIGURE_COUNT; i++) GP_VEC_FREE(&f->samples[i].v);
    for (size_t i = 0; i < GP_FACT_COUNT; i++) {
        GP_VEC_FREE(&f->facts[i].v);
        GP_VEC_FREE(&f->soak_facts[i].v);
    }
    GP_VEC_FREE(&f->missing);
}

bool gp_figures_unfit(const struct gp_figures *f, char *why, size_t n)
{
    int64_t limit = f->fact[GP_FACT_power_limit_mw], full = f->fact[GP_FACT_default_power_limit_mw];
    if (f->fact[GP_FACT_users] > 0)
        snprintf(why, n, "%lld other process%s on it", (long long)f->fact[GP_FACT_users],
                 f->fact[GP_FACT_users] == 1 ? " runs" : "es run");
    else if (f->fact[GP_FACT_mig] > 0) snprintf(why, n, "it is divided into instances (MIG)");
    else if (limit > 0 && full > 0 && limit < full)
        snprintf(why, n, "its power is capped at %lld of %lld W", (long long)limit / 1000,
                 (long long)full / 1000);
    else return false;
    return true;
}

/* ---- fields ---- */

GP_GETTER(get_chars) { gp_cell_text(c, gp_member_at(row, f)); }

GP_GET_UNLESS(get_known_chars, void, get_chars, !c->text_len)

/* Rates in whole bytes and operations per second; times in tenths of a nanosecond. */
GP_GETTER(get_rate)
{
    double v = *(const double *)gp_member_at(row, f);
    c->none = !(v > 0);
    c->i = c->none ? 0 : llround(v);
}

GP_GETTER(get_tenths)
{
    double v = *(const double *)gp_member_at(row, f);
    c->none = !(v > 0);
    c->d = c->none ? 0 : round(v * 10) / 10;
}

static const struct gp_field missing_fields[] = {
    {"name", NULL, GP_CELL_TEXT, get_chars, offsetof(struct gp_missing, name), .help = "of the figure"},
    {"reason", NULL, GP_CELL_TEXT, get_chars, offsetof(struct gp_missing, why),
     .help = "why it is not known"},
};
const struct gp_record gp_missing_rows = {"missing", NULL, GP_FIELDS(missing_fields),
                                          sizeof(struct gp_missing), .note = "what could not be measured"};

#define VALUE(id)  offsetof(struct gp_figures, value) + (id) * sizeof(double)
#define FACT(name) GP_FACT_##name * sizeof(int64_t)
#define FIELD_BYTES(id, path, words)                                                                         \
    {                                                                                                        \
        path, NULL, GP_CELL_COUNT, get_rate, VALUE(id), .help = words, .flags = GP_FIELD_OPTIONAL            \
    }
#define FIELD_NS(id, path, words)                                                                            \
    {                                                                                                        \
        path, NULL, GP_CELL_NS_REAL, get_tenths, VALUE(id), .help = words, .flags = GP_FIELD_OPTIONAL        \
    }

static const struct gp_field product_fields[] = {
#define X(id, name, path, words, unit) FIELD_BYTES(id, name, "of products of that type"),
    GP_FIGURES_OF_PRODUCTS(X)
#undef X
};
static const struct gp_record products = {"flops_per_s", NULL, GP_FIELDS(product_fields),
                                          sizeof(struct gp_figures),
                                          .note = "of large matrix products, by input type"};

GP_GETTER_OF(get_products, struct gp_figures, k)
{
    c->none = true;
    for (int i = 0; i < GP_FIGURE_COUNT; i++)
        c->none &= !(k->value[i] > 0 && gp_figure_facts((enum gp_figure)i)->unit == GP_FIGURE_FLOPS);
    c->at = k;
}

/* Thousandths. */
GP_GETTER(get_milli)
{
    int64_t v = *(const int64_t *)gp_member_at(row, f);
    c->none = v < 0;
    c->d = (double)v / 1000;
}

GP_GETTER(get_yes)
{
    gp_member_known_i64(c, f, row, x);
    c->i = c->i > 0;
}

static const struct gp_field state_fields[] = {
    {"sm_mhz", NULL, GP_CELL_COUNT, gp_member_known_i64, FACT(sm_mhz), .flags = GP_FIELD_OPTIONAL},
    {"memory_mhz", NULL, GP_CELL_COUNT, gp_member_known_i64, FACT(memory_mhz), .flags = GP_FIELD_OPTIONAL},
    {"power_w", NULL, GP_CELL_REAL, get_milli, FACT(power_mw), .flags = GP_FIELD_OPTIONAL},
    {"temperature_c", NULL, GP_CELL_COUNT, gp_member_known_i64, FACT(temperature_c),
     .flags = GP_FIELD_OPTIONAL},
};
static const struct gp_record state = {"state", NULL, GP_FIELDS(state_fields), sizeof(int64_t[GP_FACT_COUNT]),
                                       .note = NULL};
#define STATE(member)                                                                                        \
    {                                                                                                        \
        .type = GP_CELL_PART, .at = offsetof(struct gp_figures, member), .rows = &state                      \
    }

static const struct gp_field sustained_fields[] = {
    FIELD_BYTES(GP_FIGURE_SUSTAINED_BF16, "bf16_flops_per_s", "the rate of the last third"),
    STATE(soaked),
};
static const struct gp_record sustained = {"sustained", NULL, GP_FIELDS(sustained_fields),
                                           sizeof(struct gp_figures),
                                           .note = "under load for 10 s, and the device's state at its end"};

GP_GET_IF(get_sustained, struct gp_figures, r->value[GP_FIGURE_SUSTAINED_BF16] > 0, c->at = r)

GP_GET_IF(get_l2_bytes, struct gp_figures, r->fact[GP_FACT_l2_bytes] > 0, c->i = r->fact[GP_FACT_l2_bytes])

static const struct gp_field figure_fields[] = {
    {"device", NULL, GP_CELL_TEXT, get_chars, offsetof(struct gp_figures, device), .help = "for people"},
#define X(id, name, path, words, unit) FIELD_##unit(id, path, words),
    GP_FIGURES_OF_MEMORY(X) GP_FIGURES_OF_LINKS(X)
#undef X
        {"l2_bytes", NULL, GP_CELL_BYTES, get_l2_bytes, 0, .help = "size of the L2 cache",
         .flags = GP_FIELD_OPTIONAL},
    {"flops_per_s", NULL, GP_CELL_ROW, get_products, 0, .flags = GP_FIELD_OPTIONAL, .rows = &products},
    {"sustained", NULL, GP_CELL_ROW, get_sustained, 0, .flags = GP_FIELD_OPTIONAL, .rows = &sustained},
};
const struct gp_record gp_figure_members = {"figures", NULL, GP_FIELDS(figure_fields),
                                            sizeof(struct gp_figures),
                                            .note = "what a device was measured to do"};

GP_GETTER(get_method) { gp_cell_text(c, f->words[((const struct gp_calibration *)x->of)->full]); }

GP_GETTER(get_inputs) { gp_cell_text(c, f->words[0]); }

#define OF_FACT(name) offsetof(struct gp_figures, fact) + FACT(name)
static const char *const methods[] = {"quick", "full", NULL};
static const char *const inputs[] = {"random", NULL};
static const struct gp_field condition_fields[] = {
    {"method", NULL, GP_CELL_TEXT, get_method, 0, .words = methods},
    {"inputs", NULL, GP_CELL_TEXT, get_inputs, 0, .help = "of matrix products", .words = inputs},
    {"driver", NULL, GP_CELL_TEXT, get_known_chars, offsetof(struct gp_figures, driver),
     .flags = GP_FIELD_OPTIONAL},
    {"power_limit_w", NULL, GP_CELL_REAL, get_milli, OF_FACT(power_limit_mw), .flags = GP_FIELD_OPTIONAL},
    {"ecc", NULL, GP_CELL_BOOL, get_yes, OF_FACT(ecc), .flags = GP_FIELD_OPTIONAL},
    {"mig", NULL, GP_CELL_BOOL, get_yes, OF_FACT(mig), .flags = GP_FIELD_OPTIONAL},
    {"users", NULL, GP_CELL_COUNT, gp_member_known_i64, OF_FACT(users),
     .help = "other processes on the device", .flags = GP_FIELD_OPTIONAL},
    STATE(fact),
};
const struct gp_record gp_figure_conditions = {
    "conditions", NULL, GP_FIELDS(condition_fields), sizeof(struct gp_figures),
    .note = "how it was measured; clocks, power and temperature at the start"};

/* ---- devices ---- */

GP_GETTER(get_index)
{
    const struct gp_calibration *all = x->of;
    c->i = all->ids[(const struct gp_figures *)row - all->devices];
}

GP_GET_UNLESS(get_missing, void, gp_member_rows, !c->text_len)

static const struct gp_field device_fields[] = {
    {"index", NULL, GP_CELL_ID, get_index, 0, .help = "as CUDA counts"},
    {.type = GP_CELL_PART, .rows = &gp_figure_members},
    {"conditions", NULL, GP_CELL_ROW, gp_member_row, 0, .rows = &gp_figure_conditions},
    {"missing", NULL, GP_CELL_ROWS, get_missing, offsetof(struct gp_figures, missing),
     .flags = GP_FIELD_OPTIONAL, .rows = &gp_missing_rows},
};
const struct gp_record gp_calibrated_devices = {
    "devices", NULL, GP_FIELDS(device_fields), sizeof(struct gp_figures),
    .note = "one of several devices; the members above are then their medians"};
