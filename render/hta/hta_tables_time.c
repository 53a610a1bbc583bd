#include "formats/base/scale.h"
#include "render/hta/hta_tables_priv.h"

#include <string.h>
#include "render/hta/hta_verdict.h"

/* ---- findings ---- */

static bool is_kernel(const struct gp_hta *h, gp_sid name)
{
    for (size_t i = 0; i < h->kernels.n; i++)
        if (h->kernels.at[i].name == name) return true;
    return false;
}

void gp_hta_table_findings(struct gp_hta_tables *m)
{
    const struct gp_hta *h = m->h;
    if (!h->findings.n) return;
    struct gp_report_table *t = gp_report_add(m->r, "findings", "What to look at first");
    COLUMN(t, "time_ns", "Time", GP_CELL_NS, 0, "GPU time affected, over all devices");
    COLUMN(t, "share_pct", "Share", GP_CELL_PCT, 0, "of the span of the affected devices");
    COLUMN(t, "rank", "Rank", GP_CELL_ID, 0, NULL);
    COLUMN(t, "id", "Id", GP_CELL_TEXT, GP_COLUMN_WIDE, "stable identifier of the finding");
    COLUMN(t, "finding", "Finding", GP_CELL_TEXT, 0, NULL);
    COLUMN(t, "where", "Where", GP_CELL_NAME, GP_COLUMN_BELOW, NULL);
    size_t n = gp_hta_rows_shown(m, h->findings.n);
    for (size_t i = 0; i < n; i++) {
        const struct gp_finding *f = &h->findings.at[i];
        gp_report_put(t, f->time_ns);
        gp_report_put_real(t, f->share_pct);
        gp_hta_put_rank(t, f->rank);
        gp_hta_put_sid(m, t, f->id);
        gp_hta_put_sid(m, t, f->text);
        if (is_kernel(h, f->where)) gp_hta_put_kernel(m, t, f->where);
        else gp_hta_put_sid(m, t, f->where);
    }
    gp_record_more(m->r, t, h->findings.n - n, 0);
}

/* ---- devices ---- */

enum { PARTS = 4 };

void gp_hta_table_breakdown(struct gp_hta_tables *m)
{
    static const char *const names[PARTS] = {"compute", "exposed communication", "exposed memory", "idle"};
    if (m->h->untimed) return;
    struct gp_report_table *t = gp_report_add(m->r, "breakdown", "Where the time went");
    t->note = "Every moment counts once: compute before communication before memory. Sums to the span.";
    t->detail = m->h->devices.n > GP_HTA_FEW_DEVICES;
    gp_hta_rank_columns(t);
    COLUMN(t, "part", "Part", GP_CELL_TEXT, 0, NULL);
    COLUMN(t, "time_ns", "Time", GP_CELL_NS, 0, NULL);
    COLUMN(t, "share_pct", "Share", GP_CELL_PCT, GP_COLUMN_BAR, "of the device's span");
    for (size_t i = 0; i < m->h->devices.n; i++) {
        const struct gp_hta_device *d = &m->h->devices.at[i];
        const bool possible[PARTS] = {true, m->all.b.communication_ns != 0, m->all.b.memory_ns != 0, true};
        const int64_t ns[PARTS] = {d->b.compute_ns, d->b.exposed_communication_ns, d->b.exposed_memory_ns,
                                   d->b.idle_ns};
        for (int p = 0; p < PARTS; p++) {
            if (!possible[p]) continue;
            gp_hta_put_place(m, t, d->rank, d->producer, d->device);
            gp_report_put_text(m->r, t, names[p]);
            gp_report_put(t, ns[p]);
            gp_report_put_real(t, gp_pct(ns[p], d->b.span_ns));
            GP_VEC_PUSH(&t->classes, (uint8_t)(p + 1)); /* the classes, and 4: idle */
        }
    }
}

void gp_hta_table_devices(struct gp_hta_tables *m)
{
    if (m->h->untimed) return;
    struct gp_report_table *t = gp_report_add(m->r, "devices", "Devices");
    t->note = "Compute, exposed communication, exposed memory and idle add up to the span.";
    t->detail = m->h->devices.n < 2;
    gp_hta_rank_columns(t);
    COLUMN(t, "name", "Name", GP_CELL_NAME, GP_COLUMN_SPARE, NULL);
    gp_hta_breakdown_columns(t);
    COLUMN(t, "sm_efficiency_pct", "SM efficiency", GP_CELL_PCT, GP_COLUMN_WIDE,
           "estimated: blocks per multiprocessor, at most 1, over the span");
    COLUMN(t, "occupancy_pct", "Occupancy", GP_CELL_PCT, GP_COLUMN_WIDE,
           "estimated from registers, shared memory and block size, weighted by kernel time");
    COLUMN(t, "tensor_core_pct", "Tensor Cores", GP_CELL_PCT, GP_COLUMN_WIDE,
           "share of kernel time in kernels that use Tensor Cores, by name");
    for (size_t i = 0; i < m->h->devices.n; i++) {
        const struct gp_hta_device *d = &m->h->devices.at[i];
        gp_hta_put_place(m, t, d->rank, d->producer, d->device);
        gp_hta_put_sid(m, t, d->name);
        gp_hta_put_breakdown(t, &d->b);
        gp_hta_put_part(t, d->sm_ns, gp_sm_known(d) ? d->b.span_ns : 0);
        gp_hta_put_part(t, (double)d->occupancy_ns, d->occupancy_known_ns);
        gp_hta_put_part(t, (double)d->tensor_core_ns, d->kernel_ns);
    }
    if (!m->h->bound.devices) return;
    struct gp_buf more = {0};
    gp_buf_puts(&more, "and ");
    gp_scale_put_count(&more, m->h->bound.devices);
    gp_buf_puts(&more, " more, which --all-ranks shows; these are the slowest, the fastest and a sample");
    t->more = gp_report_str(m->r, more.data, more.n);
    gp_buf_release(&more);
}

void gp_hta_table_streams(struct gp_hta_tables *m)
{
    if (m->h->untimed) return;
    struct gp_report_table *t = gp_report_add(m->r, "streams", "Streams");
    t->note = "Per stream: each span runs from the stream's first GPU event to its last.";
    t->detail = true;
    gp_hta_rank_columns(t);
    COLUMN(t, "stream", "Stream", GP_CELL_ID, 0, NULL);
    COLUMN(t, "name", "Name", GP_CELL_NAME, GP_COLUMN_SPARE, NULL);
    gp_hta_breakdown_columns(t);
    for (size_t i = 0; i < m->h->devices.n; i++) {
        const struct gp_hta_device *d = &m->h->devices.at[i];
        for (size_t j = 0; j < d->streams.n; j++) {
            gp_hta_put_place(m, t, d->rank, d->producer, d->device);
            gp_hta_put_device(t, d->streams.at[j].stream);
            gp_hta_put_sid(m, t, d->streams.at[j].name);
            gp_hta_put_breakdown(t, &d->streams.at[j].b);
        }
    }
}

/* ---- idle ---- */

void gp_hta_table_idle(struct gp_hta_tables *m)
{
    if (!m->all.b.idle_ns) return;
    struct gp_report_table *t = gp_report_add(m->r, "idle", "Why devices were idle");
    COLUMN(t, "cause", "Cause", GP_CELL_TEXT, GP_COLUMN_RAW, NULL);
    COLUMN(t, "why", "Why", GP_CELL_TEXT, 0, NULL);
    COLUMN(t, "idle_ns", "Idle", GP_CELL_NS, 0, "sum over the devices; the causes sum to their idle time");
    COLUMN(t, "share_pct", "Share", GP_CELL_PCT, GP_COLUMN_BAR, "of all idle time");
    bool done[GP_IDLE_CAUSE_COUNT] = {false};
    for (int k = 0; k < GP_IDLE_CAUSE_COUNT; k++) { /* the largest that is left */
        int c = -1;
        for (int i = 0; i < GP_IDLE_CAUSE_COUNT; i++)
            if (!done[i] && (c < 0 || m->all.idle_cause_ns[i] > m->all.idle_cause_ns[c])) c = i;
        done[c] = true;
        if (!m->all.idle_cause_ns[c]) break;
        gp_report_put_text(m->r, t, gp_idle_cause_name((enum gp_idle_cause)c));
        gp_report_put_text(m->r, t, gp_idle_cause_brief((enum gp_idle_cause)c));
        gp_report_put(t, m->all.idle_cause_ns[c]);
        gp_report_put_real(t, gp_pct(m->all.idle_cause_ns[c], m->all.b.idle_ns));
    }
}

void gp_hta_table_idle_list(struct gp_hta_tables *m)
{
    if (!m->all.b.idle_ns) return;
    struct gp_report_table *t = gp_report_add(m->r, "idle_list", "Idle time by device and cause");
    t->detail = true;
    gp_hta_rank_columns(t);
    COLUMN(t, "cause", "Cause", GP_CELL_TEXT, GP_COLUMN_RAW, NULL);
    COLUMN(t, "why", "Why", GP_CELL_TEXT, 0, NULL);
    COLUMN(t, "idle_ns", "Idle", GP_CELL_NS, 0, "sums to the device's idle time");
    COLUMN(t, "share_pct", "Share", GP_CELL_PCT, GP_COLUMN_BAR, "of the device's idle time");
    for (size_t i = 0; i < m->h->devices.n; i++) {
        const struct gp_hta_device *d = &m->h->devices.at[i];
        for (int c = 0; c < GP_IDLE_CAUSE_COUNT; c++) {
            gp_hta_put_place(m, t, d->rank, d->producer, d->device);
            gp_report_put_text(m->r, t, gp_idle_cause_name((enum gp_idle_cause)c));
            gp_report_put_text(m->r, t, gp_idle_cause_text((enum gp_idle_cause)c));
            gp_report_put(t, d->idle_cause_ns[c]);
            gp_report_put_real(t, gp_pct(d->idle_cause_ns[c], d->b.idle_ns));
        }
    }
}

static void put_host(struct gp_hta_tables *m, struct gp_report_table *t, const struct gp_idle_culprit *c)
{
    struct gp_row_of of = gp_hta_rows_of(m->h, 0);
    of.mem = &m->r->mem;
    struct gp_cell cell = gp_field_cell(&gp_hta_culprits.fields[0], c, &of);
    gp_report_put_cell(t, &cell);
}

/* What is not known of the rest. */
static void put_found(struct gp_report_table *t, const struct gp_idle_culprit *c, int64_t v)
{
    if (c->rest) gp_report_put_none(t);
    else gp_report_put(t, v);
}

static bool has_samples(const gp_idle_culprits *all)
{
    for (size_t i = 0; i < all->n; i++)
        if (all->at[i].samples) return true;
    return false;
}

void gp_hta_table_culprits(struct gp_hta_tables *m)
{
    gp_idle_culprits all = {0};
    gp_hta_culprit_sums(m->h, &all);
    if (all.n) {
        struct gp_report_table *t = gp_report_add(m->r, "culprits", "What the host was doing meanwhile");
        COLUMN(t, "host", "Host", GP_CELL_NAME, 0, "innermost range, Python frame, operator and call");
        COLUMN(t, "cause", "Cause", GP_CELL_TEXT, 0, "see Why devices were idle");
        COLUMN(t, "idle_ns", "Idle", GP_CELL_NS, 0, NULL);
        COLUMN(t, "gaps", "Gaps", GP_CELL_COUNT, 0, "number of idle gaps");
        COLUMN(t, "longest_ns", "Longest", GP_CELL_NS, 0, NULL);
        COLUMN(t, "samples", "Samples", GP_CELL_COUNT, has_samples(&all) ? 0 : GP_COLUMN_WIDE,
               "samples of the thread's stack in that time");
        COLUMN(t, "longest_at_ns", "Longest at", GP_CELL_ID, GP_COLUMN_WIDE, "on the clock of the trace, ns");
        COLUMN(t, "range", "Range", GP_CELL_NAME, GP_COLUMN_WIDE, NULL);
        COLUMN(t, "python", "Python", GP_CELL_NAME, GP_COLUMN_WIDE, NULL);
        COLUMN(t, "operator", "Operator", GP_CELL_NAME, GP_COLUMN_WIDE, NULL);
        COLUMN(t, "api", "Call", GP_CELL_NAME, GP_COLUMN_WIDE, NULL);
        size_t n = gp_hta_rows_shown(m, all.n);
        int64_t left = 0;
        for (size_t i = 0; i < all.n; i++) {
            const struct gp_idle_culprit *c = &all.at[i];
            if (i >= n) {
                left += c->idle_ns;
                continue;
            }
            put_host(m, t, c);
            gp_hta_put_word(m, t, gp_idle_cause_name((enum gp_idle_cause)c->cause));
            gp_report_put(t, c->idle_ns);
            put_found(t, c, (int64_t)c->gaps);
            put_found(t, c, c->longest_ns);
            put_found(t, c, (int64_t)c->samples);
            put_found(t, c, c->longest_at_ns);
            gp_hta_put_sid(m, t, c->range);
            gp_hta_put_sid(m, t, c->python);
            gp_hta_put_sid(m, t, c->op);
            gp_hta_put_sid(m, t, c->api);
        }
        gp_record_more(m->r, t, all.n - n, left);
    }
    GP_VEC_FREE(&all);
}
