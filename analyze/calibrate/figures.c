#include "analyze/calibrate/figures.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "formats/base/num.h"

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
    static const char *const names[] = {
#define X(member, name) name,
        GP_FACTS(X)
#undef X
    };
    return names[i];
}

static void add(struct gp_samples *s, double v)
{
    GP_VEC_PUSH(&s->v, v);
}

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

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double gp_samples_quantile(struct gp_samples *s, double part)
{
    if (!s->v.n) return 0;
    qsort(s->v.at, s->v.n, sizeof *s->v.at, by_size);
    double place = part * (double)(s->v.n - 1);
    size_t below = (size_t)place;
    double more = below + 1 < s->v.n ? s->v.at[below + 1] - s->v.at[below] : 0;
    return s->v.at[below] + (place - (double)below) * more;
}

static int64_t settled(struct gp_samples *s)
{
    return s->v.n ? llround(gp_samples_quantile(s, 0.5)) : -1;
}

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
