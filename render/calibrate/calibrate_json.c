#include "render/calibrate/calibrate_json.h"

#include <math.h>
#include <string.h>
#include "analyze/calibrate/compare.h"
#include "render/report/json_doc.h"

/* Rates in whole bytes and operations per second; times in tenths of a nanosecond. */
static void put_value(struct gp_doc *d, const char *key, enum gp_figure f, double v)
{
    if (gp_figure_facts(f)->unit == GP_FIGURE_NS) gp_doc_real(d, key, round(v * 10) / 10);
    else gp_doc_i64(d, key, llround(v));
}

/* The figures whose path begins with OBJECT and a dot, or has no dot if OBJECT is "". */
static void put_figures(struct gp_doc *d, const double *value, const char *object)
{
    size_t n = strlen(object);
    for (int i = 0; i < GP_FIGURE_COUNT; i++) {
        const char *path = gp_figure_facts((enum gp_figure)i)->path, *dot = strchr(path, '.');
        bool inside = n ? dot && !strncmp(path, object, n) && dot == path + n : !dot;
        if (inside && value[i] > 0) put_value(d, n ? dot + 1 : path, (enum gp_figure)i, value[i]);
    }
}

static bool has_flops(const double *value)
{
    for (int i = 0; i < GP_FIGURE_COUNT; i++)
        if (value[i] > 0 && gp_figure_facts((enum gp_figure)i)->unit == GP_FIGURE_FLOPS) return true;
    return false;
}

static void put_fact(struct gp_doc *d, const char *key, int64_t v, double unit)
{
    if (v < 0) return;
    if (unit == 1) gp_doc_i64(d, key, v);
    else gp_doc_real(d, key, (double)v / unit);
}

static void put_state(struct gp_doc *d, const int64_t *fact)
{
    put_fact(d, "sm_mhz", fact[GP_FACT_sm_mhz], 1);
    put_fact(d, "memory_mhz", fact[GP_FACT_memory_mhz], 1);
    put_fact(d, "power_w", fact[GP_FACT_power_mw], 1000);
    put_fact(d, "temperature_c", fact[GP_FACT_temperature_c], 1);
}

static void put_conditions(struct gp_doc *d, const struct gp_figures *f, bool full)
{
    gp_doc_object(d, "conditions");
    gp_doc_cstr(d, "method", full ? "full" : "quick");
    gp_doc_cstr(d, "inputs", "random");
    if (*f->driver) gp_doc_cstr(d, "driver", f->driver);
    put_fact(d, "power_limit_w", f->fact[GP_FACT_power_limit_mw], 1000);
    if (f->fact[GP_FACT_ecc] >= 0) gp_doc_bool(d, "ecc", f->fact[GP_FACT_ecc] > 0);
    if (f->fact[GP_FACT_mig] >= 0) gp_doc_bool(d, "mig", f->fact[GP_FACT_mig] > 0);
    put_fact(d, "users", f->fact[GP_FACT_users], 1);
    put_state(d, f->fact);
    gp_doc_end(d, '}');
}

static void put_missing(struct gp_doc *d, const struct gp_figures *f)
{
    if (!f->missing.n) return;
    gp_doc_list(d, "missing");
    for (size_t i = 0; i < f->missing.n; i++) {
        gp_doc_element(d);
        gp_doc_cstr(d, "name", f->missing.at[i].name);
        gp_doc_cstr(d, "reason", f->missing.at[i].why);
        gp_doc_end(d, '}');
    }
    gp_doc_end(d, ']');
}

/* Members of a device, with the figures VALUE. */
static void put_device(struct gp_doc *d, const struct gp_figures *f, const double *value)
{
    gp_doc_cstr(d, "device", f->device);
    put_figures(d, value, "");
    put_fact(d, "l2_bytes", f->fact[GP_FACT_l2_bytes] > 0 ? f->fact[GP_FACT_l2_bytes] : -1, 1);
    if (has_flops(value)) {
        gp_doc_object(d, "flops_per_s");
        put_figures(d, value, "flops_per_s");
        gp_doc_end(d, '}');
    }
    if (value[GP_FIGURE_SUSTAINED_BF16] > 0) {
        gp_doc_object(d, "sustained");
        put_figures(d, value, "sustained");
        put_state(d, f->soaked);
        gp_doc_end(d, '}');
    }
}

static void put_peers(struct gp_doc *d, const struct gp_calibration *c)
{
    bool any = false;
    for (size_t i = 0; c->peer && i < c->n * c->n; i++) any |= c->peer[i] > 0;
    if (!any) return;
    gp_doc_list(d, "peer_bytes_per_s");
    for (size_t i = 0; i < c->n; i++) {
        gp_doc_next(d);
        gp_doc_begin(d, '[');
        for (size_t k = 0; k < c->n; k++) {
            gp_doc_next(d);
            if (c->peer[i * c->n + k] > 0) gp_buf_put_i64(d->b, llround(c->peer[i * c->n + k]));
            else gp_buf_puts(d->b, "null");
        }
        gp_doc_end(d, ']');
    }
    gp_doc_end(d, ']');
}

static void put_devices(struct gp_doc *d, const struct gp_calibration *c)
{
    gp_doc_list(d, "devices");
    for (size_t i = 0; i < c->n; i++) {
        gp_doc_element(d);
        gp_doc_i64(d, "index", c->ids[i]);
        put_device(d, &c->devices[i], c->devices[i].value);
        put_conditions(d, &c->devices[i], c->full);
        put_missing(d, &c->devices[i]);
        gp_doc_end(d, '}');
    }
    gp_doc_end(d, ']');
}

void gp_ceilings_json_write(struct gp_buf *b, const struct gp_calibration *c)
{
    struct gp_doc d = {.b = b};
    double value[GP_FIGURE_COUNT];
    gp_compare_siblings(value, c->devices, c->n); /* of one device, its own */
    gp_doc_begin(&d, '{');
    gp_doc_cstr(&d, "schema", "gpuprof/ceilings/1");
    put_device(&d, &c->devices[0], value);
    put_peers(&d, c);
    if (c->n > 1) {
        put_devices(&d, c);
    } else {
        put_conditions(&d, &c->devices[0], c->full);
        put_missing(&d, &c->devices[0]);
    }
    gp_doc_end(&d, '}');
    gp_buf_putc(b, '\n');
}

/* ---- sweeps ---- */

static void put_share(struct gp_doc *d, const char *key, double share)
{
    if (share > 0) gp_doc_real(d, key, round(share * 1e4) / 1e4);
    else gp_doc_null(d, key);
}

static void put_point(struct gp_doc *d, const struct gp_sweep_point *p)
{
    gp_doc_element(d);
    gp_doc_u64(d, "elements", p->elements);
    gp_doc_u64(d, "bytes", p->bytes);
    gp_doc_u64(d, "flops", p->flops);
    gp_doc_real(d, "ns", round(p->ns * 10) / 10);
    gp_doc_real(d, "low_ns", round(p->low_ns * 10) / 10);
    gp_doc_real(d, "high_ns", round(p->high_ns * 10) / 10);
    gp_doc_u64(d, "repeats", p->repeats);
    gp_doc_i64(d, "bytes_per_s", llround((double)p->bytes / p->ns * 1e9));
    gp_doc_i64(d, "flops_per_s", llround((double)p->flops / p->ns * 1e9));
    put_share(d, "memory_share", p->memory_share);
    put_share(d, "compute_share", p->compute_share);
    gp_doc_cstr(d, "regime", gp_sweep_regime_name(p->regime));
    gp_doc_end(d, '}');
}

static void put_border(struct gp_doc *d, const struct gp_sweep_border *w)
{
    gp_doc_element(d);
    gp_doc_cstr(d, "below", gp_sweep_regime_name(w->below));
    gp_doc_cstr(d, "above", gp_sweep_regime_name(w->above));
    gp_doc_u64(d, "from", w->from);
    gp_doc_u64(d, "to", w->to);
    gp_doc_i64(d, "elements", llround(w->elements));
    gp_doc_end(d, '}');
}

void gp_sweep_json_write(struct gp_buf *b, const struct gp_calibration *c)
{
    struct gp_doc d = {.b = b};
    gp_doc_begin(&d, '{');
    gp_doc_cstr(&d, "schema", "gpuprof/sweep/1");
    gp_doc_object(&d, "ceilings");
    put_device(&d, &c->devices[0], c->devices[0].value);
    gp_doc_end(&d, '}');
    put_conditions(&d, &c->devices[0], c->full);
    gp_doc_list(&d, "sweeps");
    for (size_t i = 0; i < c->sweep.ops.n; i++) {
        const struct gp_sweep_op *o = &c->sweep.ops.at[i];
        gp_doc_element(&d);
        gp_doc_cstr(&d, "op", o->name);
        gp_doc_cstr(&d, "type", o->type);
        gp_doc_list(&d, "points");
        for (size_t k = 0; k < o->points.n; k++) put_point(&d, &o->points.at[k]);
        gp_doc_end(&d, ']');
        gp_doc_list(&d, "borders");
        for (size_t k = 0; k < o->borders.n; k++) put_border(&d, &o->borders.at[k]);
        gp_doc_end(&d, ']');
        gp_doc_end(&d, '}');
    }
    gp_doc_end(&d, ']');
    put_missing(&d, &c->devices[0]);
    gp_doc_end(&d, '}');
    gp_buf_putc(b, '\n');
}
