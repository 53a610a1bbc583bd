#include "collect/counters/measure_plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "formats/base/err.h"
#include "formats/base/mem.h"
#include "formats/base/buf.h"

static void *host_of(struct gp_perfworks *p, enum gp_plan_kind kind, const char *chip, int *code)
{
    struct gp_pw_host h = {GP_PW_SIZE(struct gp_pw_host, host), NULL, (uint32_t)kind, chip, NULL, NULL};
    *code = p->host_begin(&h);
    return *code ? NULL : h.host;
}

static void end_host(struct gp_perfworks *p, void *host)
{
    struct gp_pw_object o = {sizeof o, NULL, host};
    if (host) p->host_end(&o);
}

/* Add all N names to HOST at once: two calls would not share passes. Returns the passes and, in CONFIG, the
 * image; 0 with CODE. */
static uint32_t configure(struct gp_perfworks *p, void *host, const char *const *names, size_t n,
                          uint8_t **config, size_t *bytes, int *code)
{
    struct gp_pw_add a = {sizeof a, NULL, host, (const char **)(uintptr_t)names, n};
    if ((*code = p->add_metrics(&a))) return 0;
    struct gp_pw_config_size s = {sizeof s, NULL, host, 0};
    if ((*code = p->config_size(&s))) return 0;
    *config = gp_alloc(s.bytes + 1);
    *bytes = s.bytes;
    struct gp_pw_config c = {sizeof c, NULL, host, s.bytes, *config};
    struct gp_pw_passes k = {sizeof k, NULL, s.bytes, *config, 0};
    *code = p->config_image(&c);
    if (!*code) *code = p->passes(&k);
    return *code ? 0 : (uint32_t)k.passes;
}

static uint32_t passes_of(struct gp_perfworks *p, enum gp_plan_kind kind, const char *chip,
                          const char *const *names, size_t n, int *code)
{
    uint8_t *config = NULL;
    size_t bytes;
    void *host = host_of(p, kind, chip, code); /* a fresh one: a bad name makes it unusable */
    if (!host) return 0;
    uint32_t passes = configure(p, host, names, n, &config, &bytes, code);
    free(config);
    end_host(p, host);
    return passes;
}

/* Append names of CHIP that begin like NAME does. */
static void put_near(struct gp_perfworks *p, void *host, const char *name, char *to, size_t size)
{
    size_t used = 0, found = 0;
    for (size_t len = strcspn(name, "."); len >= 4 && !found; len--) {
        for (uint32_t type = 0; type < 3; type++) {
            struct gp_pw_base b = {sizeof b, NULL, host, type, NULL, 0};
            if (p->base_metrics(&b)) continue;
            for (size_t i = 0; i < b.n && found < 3; i++) {
                if (strncmp(b.names[i], name, len) != 0) continue;
                int k = snprintf(to + used, size - used, "%s%s", found ? ", " : "; near: ", b.names[i]);
                if (k < 0 || (size_t)k >= size - used) return;
                used += (size_t)k;
                found++;
            }
        }
    }
}

static void drop_name(struct gp_metric_names *names, size_t i)
{
    free(names->at[i]);
    memmove(&names->at[i], &names->at[i + 1], (names->n - i - 1) * sizeof *names->at);
    names->n--;
}

/* Every name must exist, with its rollup, before any is added; with LENIENT those that do not are dropped. */
static int check_names(struct gp_measure_plan *plan, struct gp_perfworks *p, const char *chip, bool lenient,
                       struct gp_err *err)
{
    plan->units = gp_zalloc((plan->names.n + 1) * sizeof *plan->units);
    plan->types = gp_zalloc((plan->names.n + 1) * sizeof *plan->types);
    for (size_t i = 0; i < plan->names.n; i++) {
        struct gp_pw_metric m = {
            GP_PW_SIZE(struct gp_pw_metric, type), NULL, plan->host, plan->names.at[i], NULL, NULL, NULL, 0};
        char near[240] = "";
        bool known = !p->metric_properties(&m);
        if (!known && lenient) {
            drop_name(&plan->names, i--);
            continue;
        }
        if (!known) {
            put_near(p, plan->host, plan->names.at[i], near, sizeof near);
            return gp_fail(err, GP_E_USAGE, -1, "no metric '%s' on %s%s", plan->names.at[i], chip, near);
        }
        plan->units[i] = m.unit ? m.unit : "";
        plan->types[i] = m.type;
    }
    return 0;
}

/* Say which metrics must go: those that do not fit beside the ones before them. */
static int refuse(const struct gp_measure_plan *plan, struct gp_perfworks *p, enum gp_plan_kind kind,
                  const char *chip, const char *text, uint32_t most, struct gp_err *err)
{
    const char **kept = gp_zalloc((plan->names.n + 1) * sizeof *kept);
    char dropped[260] = "";
    size_t n = 0, used = 0;
    int code;
    for (size_t i = 0; i < plan->names.n; i++) {
        kept[n] = plan->names.at[i];
        uint32_t passes = passes_of(p, kind, chip, kept, n + 1, &code);
        if (passes && passes <= most) {
            n++;
            continue;
        }
        int k = snprintf(dropped + used, sizeof dropped - used, "%s%s", used ? ", " : "", kept[n]);
        if (k > 0 && (size_t)k < sizeof dropped - used) used += (size_t)k;
        else dropped[used] = 0;
    }
    free(kept);
    if (kind == GP_PLAN_SAMPLES)
        return gp_fail(err, GP_E_USAGE, -1, "'%s' needs %u passes on %s, samples have one: drop %s",
                       *text ? text : "the default", (unsigned)plan->passes, chip, dropped);
    return gp_fail(err, GP_E_USAGE, -1,
                   "'%s' needs %u passes on %s, %u allowed: drop %s, or give --metrics-passes %u",
                   *text ? text : "basic", (unsigned)plan->passes, chip, (unsigned)most, dropped,
                   (unsigned)plan->passes);
}

int gp_measure_plan_make(struct gp_measure_plan *plan, struct gp_perfworks *p, enum gp_plan_kind kind,
                         const char *chip, const char *text, uint32_t most, struct gp_err *err)
{
    int code = 0;
    char why[200];
    bool samples = kind == GP_PLAN_SAMPLES;
    memset(plan, 0, sizeof *plan);
    if (samples ? gp_sampled_names_parse(&plan->names, text, chip, err)
                : gp_metric_names_parse(&plan->names, text, chip, err))
        return -1;
    plan->host = host_of(p, kind, chip, &code);
    if (!code && check_names(plan, p, chip, samples && !*text, err)) return -1;
    if (!code)
        plan->passes = configure(p, plan->host, (const char *const *)plan->names.at, plan->names.n,
                                 &plan->config, &plan->config_bytes, &code);
    if (code) {
        gp_perfworks_why(why, sizeof why, code, p, chip);
        return gp_fail(err, GP_E_USAGE, -1, "cannot read counters: %s", why);
    }
    if (most && plan->passes > most) return refuse(plan, p, kind, chip, text, most, err);
    return 0;
}

void gp_measure_plan_release(struct gp_measure_plan *plan, struct gp_perfworks *p)
{
    end_host(p, plan->host);
    gp_metric_names_release(&plan->names);
    GP_RELEASE(free, plan->units, plan->types, plan->config);
    memset(plan, 0, sizeof *plan);
}

/* ---- the list of metrics ---- */

static void put_sets(struct gp_buf *b, struct gp_perfworks *p, const char *chip)
{
    const char *name, *what;
    gp_buf_puts(b, "sets:\n");
    for (size_t i = 0; (name = gp_metric_set_name(i, &what)); i++) {
        struct gp_metric_names names = {0};
        struct gp_err err = {0};
        int code = 0;
        uint32_t passes = 0;
        if (!gp_metric_names_parse(&names, name, chip, &err))
            passes = passes_of(p, GP_PLAN_RANGES, chip, (const char *const *)names.at, names.n, &code);
        if (passes)
            gp_buf_printf(b, "  %-10s %2u %-6s %2zu metrics: %s\n", name, (unsigned)passes,
                          passes == 1 ? "pass" : "passes", names.n, what);
        else gp_buf_printf(b, "  %-10s not available on this chip\n", name);
        gp_metric_names_release(&names);
    }
}

static void put_metrics(struct gp_buf *b, struct gp_perfworks *p, void *host, uint32_t type)
{
    static const char *const headings[] = {
        ("counters, with rollup .sum, .avg, .min or .max, and then "
         "nothing, .per_second, .pct_of_peak_sustained_elapsed ...:"),
        "ratios, with .ratio, .pct or .max_rate:",
        "throughputs, with .avg.pct_of_peak_sustained_elapsed ...:",
    };
    struct gp_pw_base base = {sizeof base, NULL, host, type, NULL, 0};
    if (p->base_metrics(&base)) return;
    gp_buf_printf(b, "\n%s\n", headings[type]);
    for (size_t i = 0; i < base.n; i++) {
        struct gp_pw_metric m = {
            GP_PW_SIZE(struct gp_pw_metric, type), NULL, host, base.names[i], NULL, NULL, NULL, 0};
        bool known = !p->metric_properties(&m);
        gp_buf_printf(b, "  %s", base.names[i]);
        if (known && m.unit && *m.unit) gp_buf_printf(b, " [%s]", m.unit);
        if (known && m.description && *m.description) gp_buf_printf(b, ": %s", m.description);
        gp_buf_puts(b, "\n");
    }
}

static bool is_chip(const struct gp_pw_chips *c, const char *chip)
{
    for (size_t i = 0; i < c->n; i++)
        if (!strcmp(c->names[i], chip)) return true;
    return false;
}

static void put_chips(struct gp_buf *b, const struct gp_pw_chips *c)
{
    for (size_t i = 0; i < c->n; i++) gp_buf_printf(b, "%s%s", i ? ", " : "", c->names[i]);
}

int gp_metrics_list(struct gp_buf *b, struct gp_perfworks *p, const char *chip, struct gp_err *err)
{
    struct gp_pw_chips chips = {sizeof chips, NULL, 0, NULL};
    struct gp_pw_chip device = {sizeof device, NULL, 0, NULL};
    char why[200];
    int code = p->chips(&chips);
    if (code) {
        gp_perfworks_why(why, sizeof why, code, p, NULL);
        return gp_fail(err, GP_E_IO, -1, "--list-metrics: cannot list metrics: %s", why);
    }
    if (!*chip && p->driver && !p->chip_name(&device) && device.name) chip = device.name;
    if (!*chip) {
        gp_buf_puts(b, "no GPU here; name a chip, as in --list-metrics=GH100: ");
        put_chips(b, &chips);
        gp_buf_puts(b, "\n");
        return 0;
    }
    if (!is_chip(&chips, chip)) {
        struct gp_buf known = {0};
        put_chips(&known, &chips);
        gp_fail(err, GP_E_USAGE, -1, "--list-metrics: no chip '%s': %s", chip, gp_buf_str(&known));
        gp_buf_release(&known);
        return -1;
    }
    struct gp_pw_host h = {GP_PW_SIZE(struct gp_pw_host, host), NULL, 0, chip, NULL, NULL};
    if ((code = p->host_begin(&h))) {
        gp_perfworks_why(why, sizeof why, code, p, chip);
        return gp_fail(err, GP_E_IO, -1, "--list-metrics: %s: %s", chip, why);
    }
    gp_buf_printf(b, "metrics of %s\n", chip);
    put_sets(b, p, chip);
    for (uint32_t type = 0; type < 3; type++) put_metrics(b, p, h.host, type);
    p->host_end(&(struct gp_pw_object){sizeof(struct gp_pw_object), NULL, h.host});
    return 0;
}
