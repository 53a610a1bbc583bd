#include "render/hta/hta_openmetrics.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "analyze/names/names.h"
#include "formats/base/json_write.h"
#include "formats/base/utf8.h"

enum {
    KERNELS = 20,     /* that have series */
    COLLECTIVES = 10, /* the same */
    COPIES = 10,
    NS_DIGITS = 9,
};

/* Upper bounds of step times in ns, from a millisecond to ten seconds; one more bucket holds the rest. */
static const int64_t bounds_ns[] = {1000000,    2500000,    5000000,    10000000,  25000000,
                                    50000000,   100000000,  250000000,  500000000, 1000000000,
                                    2500000000, 5000000000, 10000000000};

/* ---- pieces ---- */

static void put_family(struct gp_buf *b, const char *name, const char *type, const char *unit,
                       const char *help)
{
    gp_buf_printf(b, "# TYPE gpuprof_%s %s\n", name, type);
    if (*unit) gp_buf_printf(b, "# UNIT gpuprof_%s %s\n", name, unit);
    gp_buf_printf(b, "# HELP gpuprof_%s %s\n", name, help);
}

/* NS as seconds, exactly. */
static void put_seconds(struct gp_buf *b, int64_t ns)
{
    char text[48];
    int n = snprintf(text, sizeof text, "%s%" PRIu64 ".%09" PRIu64, ns < 0 ? "-" : "",
                     (ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns) / 1000000000,
                     (ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns) % 1000000000);
    for (int i = 0; i < NS_DIGITS - 1 && text[n - 1] == '0'; i++) n--;
    gp_buf_put(b, text, (size_t)n);
}

/* The value of a label: valid UTF-8, and escaped. */
static void put_value(struct gp_buf *b, const char *text, size_t n)
{
    struct gp_buf clean = {0};
    gp_utf8_repair(&clean, text, n);
    for (size_t i = 0; i < clean.n; i++) {
        char c = clean.data[i];
        if (c == '\\' || c == '"') gp_buf_putc(b, '\\');
        if (c == '\n') gp_buf_puts(b, "\\n");
        else gp_buf_putc(b, (unsigned char)c < 0x20 ? ' ' : c);
    }
    gp_buf_release(&clean);
}

static void put_label(struct gp_buf *b, char before, const char *name, const char *text, size_t n)
{
    gp_buf_printf(b, "%c%s=\"", before, name);
    put_value(b, text, n);
    gp_buf_putc(b, '"');
}

/* {gpu="0",process="0",rank="1" and leaves the braces open. */
static void put_device(struct gp_buf *b, const struct gp_hta_device *d)
{
    gp_buf_printf(b, "{gpu=\"%" PRId64 "\",process=\"%" PRIu32 "\"", d->device, d->producer);
    if (d->rank >= 0) gp_buf_printf(b, ",rank=\"%" PRId32 "\"", d->rank);
}

/* ---- families ---- */

static void put_time(struct gp_buf *b, const struct gp_hta *h)
{
    put_family(b, "gpu_seconds", "counter", "seconds",
               "Time of a GPU by what it did: compute, communication or memory not hidden by it, idle.");
    for (size_t i = 0; i < h->devices.n; i++) {
        const struct gp_hta_device *d = &h->devices.at[i];
        const struct {
            const char *state;
            int64_t ns;
        } parts[] = {{"compute", d->b.compute_ns},
                     {"exposed_communication", d->b.exposed_communication_ns},
                     {"exposed_memory", d->b.exposed_memory_ns},
                     {"idle", d->b.idle_ns}};
        for (size_t k = 0; k < GP_COUNT(parts); k++) {
            gp_buf_puts(b, "gpuprof_gpu_seconds_total");
            put_device(b, d);
            gp_buf_printf(b, ",state=\"%s\"} ", parts[k].state);
            put_seconds(b, parts[k].ns);
            gp_buf_putc(b, '\n');
        }
    }
    put_family(b, "gpu_busy_ratio", "gauge", "ratio",
               "Share of the time from the first to the last GPU event in which any ran.");
    for (size_t i = 0; i < h->devices.n; i++) {
        const struct gp_hta_device *d = &h->devices.at[i];
        gp_buf_puts(b, "gpuprof_gpu_busy_ratio");
        put_device(b, d);
        gp_buf_puts(b, "} ");
        gp_json_put_double(b, d->b.span_ns ? (double)d->b.busy_ns / (double)d->b.span_ns : 0);
        gp_buf_putc(b, '\n');
    }
}

static void put_idle(struct gp_buf *b, const struct gp_hta *h)
{
    int64_t sums[GP_IDLE_CAUSE_COUNT] = {0};
    for (size_t i = 0; i < h->devices.n; i++)
        for (int c = 0; c < GP_IDLE_CAUSE_COUNT; c++) sums[c] += h->devices.at[i].idle_cause_ns[c];
    put_family(b, "gpu_idle_seconds", "counter", "seconds", "Idle time of all GPUs by its cause.");
    for (int c = 0; c < GP_IDLE_CAUSE_COUNT; c++) {
        gp_buf_printf(b, "gpuprof_gpu_idle_seconds_total{cause=\"%s\"} ",
                      gp_idle_cause_name((enum gp_idle_cause)c));
        put_seconds(b, sums[c]);
        gp_buf_putc(b, '\n');
    }
}

static void put_steps(struct gp_buf *b, const struct gp_hta *h)
{
    uint64_t counts[GP_COUNT(bounds_ns) + 1] = {0}, n = 0;
    int64_t sum = 0;
    for (size_t i = 0; i < h->steps.n; i++) {
        const struct gp_hta_step *s = &h->steps.at[i];
        size_t at = 0;
        if (s->partial) continue;
        while (at < GP_COUNT(bounds_ns) && s->b.span_ns > bounds_ns[at]) at++;
        counts[at]++;
        sum += s->b.span_ns;
        n++;
    }
    put_family(b, "step_seconds", "histogram", "seconds", "Duration of complete steps on a GPU.");
    uint64_t below = 0;
    for (size_t i = 0; i < GP_COUNT(bounds_ns); i++) {
        below += counts[i];
        gp_buf_puts(b, "gpuprof_step_seconds_bucket{le=\"");
        put_seconds(b, bounds_ns[i]);
        gp_buf_printf(b, "\"} %" PRIu64 "\n", below);
    }
    gp_buf_printf(b, "gpuprof_step_seconds_bucket{le=\"+Inf\"} %" PRIu64 "\n", n);
    gp_buf_puts(b, "gpuprof_step_seconds_sum ");
    put_seconds(b, sum);
    gp_buf_printf(b, "\ngpuprof_step_seconds_count %" PRIu64 "\n", n);
}

static void put_total(struct gp_buf *b, const char *name, const char *unit, const char *help, int64_t v)
{
    put_family(b, name, "counter", unit, help);
    gp_buf_printf(b, "gpuprof_%s_total ", name);
    if (!strcmp(unit, "seconds")) put_seconds(b, v);
    else gp_buf_put_i64(b, v);
    gp_buf_putc(b, '\n');
}

static void put_totals(struct gp_buf *b, const struct gp_hta *h)
{
    uint64_t lost = 0, skipped = 0;
    for (size_t i = 0; i < h->inputs.n; i++) {
        lost += h->inputs.at[i].issues[GP_Q_LOSS].count;
        skipped += h->inputs.at[i].skipped;
    }
    put_total(b, "launches", "", "Calls that launched GPU work.", (int64_t)h->launches.calls);
    put_total(b, "launch_seconds", "seconds", "Time of threads in calls that launch GPU work.",
              h->launches.api_dur.sum);
    put_total(b, "launch_delay_seconds", "seconds",
              "Time between the end of a launch and the start of its work.", h->launches.delay.sum);
    put_total(b, "gpu_events", "", "Kernels, copies and sets.", (int64_t)h->launches.gpu_events);
    put_total(b, "events_lost", "", "Events that the recorder knows it lost.", (int64_t)lost);
    put_total(b, "events_skipped", "", "Events of the inputs that could not be used.", (int64_t)skipped);
}

static void put_copies(struct gp_buf *b, const struct gp_hta *h)
{
    size_t n = h->copies.n < COPIES ? h->copies.n : COPIES;
    put_family(b, "copy_seconds", "counter", "seconds", "Time of copies and sets on the GPU.");
    for (size_t i = 0; i < n; i++) {
        const struct gp_copy_stat *c = &h->copies.at[i];
        gp_buf_puts(b, "gpuprof_copy_seconds_total");
        put_label(b, '{', "kind", gp_hta_str(h, c->name), gp_string_len(&h->strings, c->name));
        gp_buf_puts(b, "} ");
        put_seconds(b, c->dur_ns);
        gp_buf_putc(b, '\n');
    }
    put_family(b, "copy_bytes", "counter", "bytes", "Bytes that copies and sets moved.");
    for (size_t i = 0; i < n; i++) {
        const struct gp_copy_stat *c = &h->copies.at[i];
        gp_buf_puts(b, "gpuprof_copy_bytes_total");
        put_label(b, '{', "kind", gp_hta_str(h, c->name), gp_string_len(&h->strings, c->name));
        gp_buf_printf(b, "} %" PRId64 "\n", c->bytes);
    }
}

/* Rows of one operation in several groups or types are one series. */
static void put_collectives(struct gp_buf *b, const struct gp_hta *h)
{
    size_t series = 0;
    put_family(b, "collective_seconds", "counter", "seconds", "Time of collectives on the GPU.");
    for (size_t i = 0; i < h->collective_stats.n && series < COLLECTIVES; i++) {
        gp_sid op = h->collective_stats.at[i].op;
        int64_t sum = 0;
        bool seen = false;
        for (size_t k = 0; k < i && !seen; k++) seen = h->collective_stats.at[k].op == op;
        for (size_t k = i; k < h->collective_stats.n; k++)
            if (h->collective_stats.at[k].op == op) sum += h->collective_stats.at[k].dur.sum;
        if (seen) continue;
        gp_buf_puts(b, "gpuprof_collective_seconds_total");
        put_label(b, '{', "operation", gp_hta_str(h, op), gp_string_len(&h->strings, op));
        gp_buf_puts(b, "} ");
        put_seconds(b, sum);
        gp_buf_putc(b, '\n');
        series++;
    }
}

/* Names are long, and a label must stay what it is from scrape to scrape: a hash of the name, whatever its rank. */
static void put_kernel(struct gp_buf *b, const struct gp_hta *h, const struct gp_kernel_stat *k)
{
    const char *name = gp_hta_str(h, k->name);
    gp_buf_printf(b, "{kernel=\"%016" PRIx64 "\"", gp_hash_bytes(name, gp_string_len(&h->strings, k->name)));
}

static void put_kernels(struct gp_buf *b, const struct gp_hta *h)
{
    size_t n = h->kernels.n < KERNELS ? h->kernels.n : KERNELS;
    put_family(b, "kernel", "info", "",
               "Which name the label of a kernel stands for, of those with the most time.");
    for (size_t i = 0; i < n; i++) {
        const struct gp_kernel_stat *k = &h->kernels.at[i];
        struct gp_buf plain = {0};
        gp_name_demangle(&plain, gp_hta_str(h, k->name), gp_string_len(&h->strings, k->name));
        gp_buf_puts(b, "gpuprof_kernel_info");
        put_kernel(b, h, k);
        put_label(b, ',', "name", plain.n ? plain.data : "", plain.n);
        gp_buf_printf(b, ",class=\"%s\"} 1\n", gp_class_name(gp_class_of((enum gp_frame_kind)k->kind)));
        gp_buf_release(&plain);
    }
    put_family(b, "kernel_seconds", "counter", "seconds", "Time of a kernel on the GPU.");
    for (size_t i = 0; i < n; i++) {
        gp_buf_puts(b, "gpuprof_kernel_seconds_total");
        put_kernel(b, h, &h->kernels.at[i]);
        gp_buf_puts(b, "} ");
        put_seconds(b, h->kernels.at[i].dur.sum);
        gp_buf_putc(b, '\n');
    }
    put_family(b, "kernel_executions", "counter", "", "How often a kernel ran.");
    for (size_t i = 0; i < n; i++) {
        gp_buf_puts(b, "gpuprof_kernel_executions_total");
        put_kernel(b, h, &h->kernels.at[i]);
        gp_buf_printf(b, "} %" PRIu64 "\n", h->kernels.at[i].dur.n);
    }
}

void gp_hta_openmetrics(struct gp_buf *b, const struct gp_hta *h)
{
    put_time(b, h);
    put_idle(b, h);
    put_steps(b, h);
    put_totals(b, h);
    put_copies(b, h);
    put_collectives(b, h);
    put_kernels(b, h);
    gp_buf_puts(b, "# EOF\n");
}
