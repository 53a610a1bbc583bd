#include "collect/counters/list.h"

#include <stdio.h>
#include <string.h>
#include "collect/counters/measure_plan.h"
#include "formats/base/buf.h"
#include "formats/base/err.h"

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
            passes =
                gp_measure_passes(p, GP_PLAN_RANGES, chip, (const char *const *)names.at, names.n, &code);
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
