#include "render/fleet/fleet_lines.h"

#include <inttypes.h>
#include <string.h>
#include "formats/base/buf.h"
#include "formats/base/json_write.h"
#include "formats/base/utf8.h"
#include "formats/base/openmetrics.h"

static void put_value(struct gp_buf *b, const struct gp_cell *c)
{
    if (c->none) gp_buf_puts(b, "null");
    else if (c->type == GP_CELL_NAME || c->type == GP_CELL_TEXT) gp_json_put_string(b, c->text, c->text_len);
    else gp_buf_put_i64(b, c->i);
}

void gp_watch_line(struct gp_buf *b, const struct gp_watch_event *e, bool json)
{
    const struct gp_row_of of = {.of = NULL};
    if (!json) {
        gp_buf_printf(b, "+%" PRId64 " s  ", e->time_ns / 1000000000);
        gp_utf8_clean(b, e->text, strlen(e->text));
        gp_buf_putc(b, '\n');
        return;
    }
    gp_buf_puts(b, "{\"schema\":\"gpuprof/trace-fleet/1\"");
    for (size_t i = 0; i < gp_watch_events.n; i++) {
        const struct gp_field *f = &gp_watch_events.fields[i];
        struct gp_cell c = gp_field_cell(f, e, &of);
        gp_buf_printf(b, ",\"%s\":", f->id);
        put_value(b, &c);
    }
    gp_buf_puts(b, "}\n");
}

/* ---- OpenMetrics ---- */

static void put_gauge(struct gp_openmetrics *m, const char *name, const char *help, uint64_t v)
{
    gp_openmetrics_family(m, name, "gauge", "", help);
    if (gp_openmetrics_series(m, name)) gp_openmetrics_count(m, v);
}

static void put_label(struct gp_openmetrics *m, const char *name, const char *text)
{
    gp_openmetrics_label(m, name, text, strlen(text));
}

static void put_medians(struct gp_openmetrics *m, const struct gp_watch_state *s)
{
    static const char name[] = "fleet_median_seconds";
    gp_openmetrics_family(m, name, "gauge", "seconds",
                          "Time per step of the median rank, by what it is spent on.");
    for (int i = 0; i < GP_FLEET_METRIC_COUNT; i++) {
        if (!gp_openmetrics_series(m, name)) continue;
        put_label(m, "part", gp_fleet_metric_name((enum gp_fleet_metric)i));
        gp_openmetrics_seconds(m, s->ns[i]);
    }
}

static void put_slow(struct gp_openmetrics *m, const struct gp_watch_state *s)
{
    static const char name[] = "fleet_slow_seconds";
    gp_openmetrics_family(m, name, "gauge", "seconds",
                          "How much longer per step than the median rank, or before.");
    for (size_t i = 0; i < s->n_slow; i++) {
        const struct gp_slow *slow = &s->slow[i].slow;
        if (!gp_openmetrics_series(m, name)) continue;
        put_label(m, "what", gp_slow_what_name(slow->what));
        gp_openmetrics_label_int(m, "rank", slow->key.rank);
        gp_openmetrics_label_int(m, "device", slow->device);
        put_label(m, "cause", gp_slow_cause_name(slow->cause));
        put_label(m, "kernel", s->slow[i].kernel);
        gp_openmetrics_seconds(m, slow->ns - slow->median_ns);
    }
}

void gp_watch_openmetrics(struct gp_buf *b, const struct gp_watch_state *s)
{
    enum { SERIES_MOST = 200 };
    struct gp_openmetrics m = {.b = b, .most = SERIES_MOST};
    put_gauge(&m, "fleet_ranks", "Devices that send.", s->ranks);
    gp_openmetrics_total(&m, "fleet_digests", "", "Digests that were used.", (int64_t)s->digests);
    gp_openmetrics_total(&m, "fleet_late", "",
                         "Digests that came twice, out of order or from an earlier run.", (int64_t)s->late);
    gp_openmetrics_total(&m, "fleet_stepless", "", "Digests without steps, which cannot be compared.",
                         (int64_t)s->stepless);
    gp_openmetrics_total(&m, "fleet_missing", "", "Digests that never came.", (int64_t)s->missing);
    gp_openmetrics_total(&m, "fleet_dropped", "", "Digests and blocks of recordings that senders dropped.",
                         (int64_t)s->dropped);
    gp_openmetrics_total(&m, "fleet_crowded", "", "Digests of more ranks than are watched.",
                         (int64_t)s->crowded);
    put_medians(&m, s);
    put_slow(&m, s);
    gp_openmetrics_end(&m);
}
