#include "analyze/hta/hta.h"
#include "analyze/hta/hta_rows.h"
#include "analyze/math/sums.h"
#include "formats/base/buf.h"
#include "formats/base/scale.h"
#include "render/hta/hta_tables_priv.h"

void gp_hta_table_findings(struct gp_hta_tables *m)
{
    gp_hta_table_of(m, &gp_hta_findings, m->h->findings.at, m->h->findings.n);
}

/* ---- devices ---- */

/* A part of a device's span. */
struct part_row {
    struct gp_hta_place at;
    const char *part;
    int64_t ns, span_ns;
    uint8_t colour; /* the classes, and 4: idle */
};

GP_GETTER(get_part_share)
{
    const struct part_row *p = row;
    gp_cell_real(c, gp_pct(p->ns, p->span_ns));
}

static uint8_t part_colour(const void *row)
{
    return ((const struct part_row *)row)->colour;
}

#define AT(member) offsetof(struct part_row, member)
static const struct gp_field part_fields[] = {
    GP_PLACE(part_row, at),
    {"part", "Part", GP_CELL_TEXT, gp_member_text, AT(part), .help = NULL},
    {"time_ns", "Time", GP_CELL_NS, gp_member_i64, AT(ns), .help = NULL},
    {"share_pct", "Share", GP_CELL_PCT, get_part_share, 0, .help = "of the device's span",
     .flags = GP_COLUMN_BAR},
};
#undef AT
static const struct gp_record part_rows = {"breakdown", "Where the time went", GP_FIELDS(part_fields),
                                           sizeof(struct part_row), .colour = part_colour};

void gp_hta_table_breakdown(struct gp_hta_tables *m)
{
    GP_VEC(struct part_row) rows = {0};
    if (m->h->untimed) return;
    for (size_t i = 0; i < m->h->devices.n; i++) {
        const struct gp_hta_device *d = &m->h->devices.at[i];
        struct gp_hta_place at = gp_hta_place_of(d);
        int64_t span = d->b.span_ns;
        GP_VEC_PUSH(&rows, (struct part_row){at, "compute", d->b.compute_ns, span, 1});
        if (m->all.b.communication_ns)
            GP_VEC_PUSH(&rows, (struct part_row){at, "exposed communication", d->b.exposed_communication_ns,
                                                 span, 2});
        if (m->all.b.memory_ns)
            GP_VEC_PUSH(&rows, (struct part_row){at, "exposed memory", d->b.exposed_memory_ns, span, 3});
        GP_VEC_PUSH(&rows, (struct part_row){at, "idle", d->b.idle_ns, span, 4});
    }
    struct gp_report_table *t = gp_hta_table_all(m, &part_rows, rows.at, rows.n);
    if (t)
        t->note = "Every moment counts once: compute before communication before memory. Sums to the span.";
    if (t) t->detail = m->h->devices.n > GP_HTA_FEW_DEVICES;
    GP_VEC_FREE(&rows);
}

void gp_hta_table_devices(struct gp_hta_tables *m)
{
    const struct gp_hta *h = m->h;
    struct gp_report_table *t =
        h->untimed ? NULL : gp_hta_table_all(m, &gp_hta_devices, h->devices.at, h->devices.n);
    if (!t) return;
    t->note = "Compute, exposed communication, exposed memory and idle add up to the span.";
    t->detail = h->devices.n < 2;
    if (!h->bound.devices) return;
    struct gp_buf more = {0};
    gp_buf_puts(&more, "and ");
    gp_scale_put_count(&more, h->bound.devices);
    gp_buf_puts(&more, " more, which --all-ranks shows; these are the slowest, the fastest and a sample");
    t->more = gp_report_str(m->r, more.data, more.n);
    gp_buf_release(&more);
}

struct stream_row {
    struct gp_hta_place at;
    struct gp_hta_stream stream;
};

static const struct gp_field stream_fields[] = {
    GP_PLACE(stream_row, at),
    {.type = GP_CELL_PART, .at = offsetof(struct stream_row, stream), .rows = &gp_hta_streams},
};
static const struct gp_record stream_rows = {"streams", "Streams", GP_FIELDS(stream_fields),
                                             sizeof(struct stream_row), .note = NULL};

void gp_hta_table_streams(struct gp_hta_tables *m)
{
    GP_VEC(struct stream_row) rows = {0};
    if (m->h->untimed) return;
    for (size_t i = 0; i < m->h->devices.n; i++) {
        const struct gp_hta_device *d = &m->h->devices.at[i];
        for (size_t k = 0; k < d->streams.n; k++)
            GP_VEC_PUSH(&rows, (struct stream_row){gp_hta_place_of(d), d->streams.at[k]});
    }
    struct gp_report_table *t = gp_hta_table_all(m, &stream_rows, rows.at, rows.n);
    if (t) t->note = "Per stream: each span runs from the stream's first GPU event to its last.";
    if (t) t->detail = true;
    GP_VEC_FREE(&rows);
}

/* ---- idle ---- */

struct cause_row {
    struct gp_hta_place at;
    const char *cause, *why;
    int64_t ns, all_ns;
    int place; /* in the list of causes */
};

GP_GETTER(get_cause_share)
{
    const struct cause_row *r = row;
    gp_cell_real(c, gp_pct(r->ns, r->all_ns));
}

#define AT(member) offsetof(struct cause_row, member)
static const struct gp_field cause_fields[] = {
    {"cause", "Cause", GP_CELL_TEXT, gp_member_text, AT(cause), .flags = GP_COLUMN_RAW},
    {"why", "Why", GP_CELL_TEXT, gp_member_text, AT(why), .help = NULL},
    {"idle_ns", "Idle", GP_CELL_NS, gp_member_i64, AT(ns), .help = "the causes sum to the idle time"},
    {"share_pct", "Share", GP_CELL_PCT, get_cause_share, 0, .help = "of the idle time",
     .flags = GP_COLUMN_BAR},
};
#undef AT
static const struct gp_record cause_rows = {"idle", "Why devices were idle", GP_FIELDS(cause_fields),
                                            sizeof(struct cause_row), .note = NULL};
static const struct gp_field device_cause_fields[] = {
    GP_PLACE(cause_row, at),
    {.type = GP_CELL_PART, .rows = &cause_rows},
};
static const struct gp_record device_cause_rows = {"idle_list", "Idle time by device and cause",
                                                   GP_FIELDS(device_cause_fields), sizeof(struct cause_row),
                                                   .note = NULL};

static int longest_cause_first(const void *a, const void *b)
{
    const struct cause_row *x = a, *y = b;
    if (x->ns != y->ns) return x->ns > y->ns ? -1 : 1;
    return x->place - y->place;
}

void gp_hta_table_idle(struct gp_hta_tables *m)
{
    struct cause_row rows[GP_IDLE_CAUSE_COUNT];
    size_t n = 0;
    for (int i = 0; i < GP_IDLE_CAUSE_COUNT; i++)
        if (m->all.idle_cause_ns[i])
            rows[n++] = (struct cause_row){.cause = gp_idle_cause_name((enum gp_idle_cause)i),
                                           .why = gp_idle_cause_brief((enum gp_idle_cause)i),
                                           .ns = m->all.idle_cause_ns[i],
                                           .all_ns = m->all.b.idle_ns,
                                           .place = i};
    if (n) qsort(rows, n, sizeof *rows, longest_cause_first);
    gp_hta_table_all(m, &cause_rows, rows, n);
}

void gp_hta_table_idle_list(struct gp_hta_tables *m)
{
    GP_VEC(struct cause_row) rows = {0};
    for (size_t i = 0; i < m->h->devices.n && m->all.b.idle_ns; i++) {
        const struct gp_hta_device *d = &m->h->devices.at[i];
        for (int k = 0; k < GP_IDLE_CAUSE_COUNT; k++)
            GP_VEC_PUSH(&rows,
                        ((struct cause_row){gp_hta_place_of(d), gp_idle_cause_name((enum gp_idle_cause)k),
                                            gp_idle_cause_text((enum gp_idle_cause)k), d->idle_cause_ns[k],
                                            d->b.idle_ns, k}));
    }
    struct gp_report_table *t = gp_hta_table_all(m, &device_cause_rows, rows.at, rows.n);
    if (t) t->detail = true;
    GP_VEC_FREE(&rows);
}

void gp_hta_table_culprits(struct gp_hta_tables *m)
{
    gp_idle_culprits all = {0};
    bool sampled = false;
    gp_hta_culprit_sums(m->h, &all);
    for (size_t i = 0; i < all.n; i++) sampled |= all.at[i].samples != 0;
    struct gp_report_table *t = gp_hta_table_of(m, &gp_hta_culprits, all.at, all.n);
    if (t) t->id = "culprits"; /* JSON has those of each device */
    if (t && !sampled) gp_report_flag(t, "samples", GP_COLUMN_WIDE);
    GP_VEC_FREE(&all);
}
