
#include <string.h>
#include "analyze/hta/hta.h"
#include "analyze/math/sums.h"
#include "analyze/result/keep.h"
#include "formats/base/buf.h"
#include "formats/base/order.h"
#include "formats/base/scale.h"
#include "render/hta/hta_priv.h"
#include "render/report/label_disambiguate.h"

/* ---- time ---- */

static void add_findings(struct gp_hta_tables *m)
{
    enum { FEW = 5 };
    size_t top = m->few && (!m->top || m->top > FEW) ? FEW : m->top;
    gp_hta_table(m, &gp_hta_findings, m->h->findings.at, m->h->findings.n, top);
}

/* ---- devices ---- */

/* A part of a device's span. */
struct part_row {
    struct gp_hta_place at;
    const char *part;
    int64_t ns, span_ns;
    uint8_t colour; /* the classes, and 4: idle */
};

GP_GET(get_part_share, struct part_row, gp_cell_real(c, gp_pct(r->ns, r->span_ns)))

static uint8_t part_colour(const void *row) { return ((const struct part_row *)row)->colour; }

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

static void add_breakdown(struct gp_hta_tables *m)
{
    GP_VEC(struct part_row) rows = {0};
    if (m->h->untimed) return;
    GP_EACH(const struct gp_hta_device, d, m->h->devices) {
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
    struct gp_report_table *t = gp_hta_table(m, &part_rows, rows.at, rows.n, 0);
    if (t)
        t->note = "Every moment counts once: compute before communication before memory. Sums to the span.";
    if (t) t->detail = m->h->devices.n > GP_HTA_FEW_DEVICES;
    GP_VEC_FREE(&rows);
}

static void add_devices(struct gp_hta_tables *m)
{
    const struct gp_hta *h = m->h;
    struct gp_report_table *t =
        h->untimed ? NULL : gp_hta_table(m, &gp_hta_devices, h->devices.at, h->devices.n, 0);
    if (!t) return;
    t->note = "Compute, exposed communication, exposed memory and idle add up to the span.";
    t->detail = h->devices.n < 2;
    if (!h->bound.devices) return;
    struct gp_buf more = {0};
    gp_buf_printf(&more,
                  "and %s more, which --all-ranks shows; these are the slowest, the fastest and a sample",
                  GP_COUNTED(h->bound.devices));
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

static void add_streams(struct gp_hta_tables *m)
{
    GP_VEC(struct stream_row) rows = {0};
    if (m->h->untimed) return;
    GP_EACH(const struct gp_hta_device, d, m->h->devices)
        for (size_t k = 0; k < d->streams.n; k++)
            GP_VEC_PUSH(&rows, (struct stream_row){gp_hta_place_of(d), d->streams.at[k]});
    struct gp_report_table *t = gp_hta_table(m, &stream_rows, rows.at, rows.n, 0);
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

GP_GET(get_cause_share, struct cause_row, gp_cell_real(c, gp_pct(r->ns, r->all_ns)))

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

GP_COMPARE(longest_cause_first, struct cause_row, GP_DOWN(ns) GP_UP(place))

static void add_idle(struct gp_hta_tables *m)
{
    struct cause_row rows[GP_IDLE_CAUSE_COUNT];
    size_t n = 0;
    for (int i = 0; i < GP_IDLE_CAUSE_COUNT; i++)
        if (m->all.idle_cause_ns[i])
            rows[n++] = (struct cause_row){.cause = gp_idle_cause_name((enum gp_idle_cause)i),
                                           .why = gp_idle_cause_text((enum gp_idle_cause)i),
                                           .ns = m->all.idle_cause_ns[i],
                                           .all_ns = m->all.b.idle_ns,
                                           .place = i};
    if (n) qsort(rows, n, sizeof *rows, longest_cause_first);
    gp_hta_table(m, &cause_rows, rows, n, 0);
}

static void add_idle_list(struct gp_hta_tables *m)
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
    struct gp_report_table *t = gp_hta_table(m, &device_cause_rows, rows.at, rows.n, 0);
    if (t) t->detail = true;
    GP_VEC_FREE(&rows);
}

/* hta_tables.c */
static void add_culprits(struct gp_hta_tables *m)
{
    gp_idle_culprits all = {0};
    bool sampled = false;
    gp_hta_culprit_sums(m->h, &all);
    for (size_t i = 0; i < all.n; i++) sampled |= all.at[i].samples != 0;
    struct gp_report_table *t = gp_hta_table(m, &gp_hta_culprits, all.at, all.n, m->top);
    if (t) t->id = "culprits"; /* JSON has those of each device */
    if (t && !sampled) gp_report_flag(t, "samples", GP_COLUMN_WIDE);
    GP_VEC_FREE(&all);
}

/* ---- steps and ranks ---- */

/* ---- steps ---- */

static void add_steps(struct gp_hta_tables *m)
{
    gp_hta_spreads all = {0};
    gp_hta_find_spreads(m->h, false, &all);
    struct gp_report_table *t = gp_hta_table(m, &gp_hta_spread_rows, all.at, all.n, 0);
    if (t)
        t->note =
            "From a step's first GPU event to the next step's first; whole steps only, without warm-up.";
    GP_VEC_FREE(&all);
}

/* A row for each part of the devices' time, all devices together; shown where there is more than the
 * steps. */
static void add_parts(struct gp_hta_tables *m)
{
    struct gp_hta_part sums[GP_PART_AFTER + 1];
    size_t n = 0;
    if (!m->h->focus) return;
    for (uint32_t kind = GP_PART_START_UP; kind <= GP_PART_AFTER; kind++) {
        struct gp_hta_part sum = {.kind = kind};
        for (size_t i = 0; i < m->h->parts.n; i++)
            if (m->h->parts.at[i].kind == kind) gp_record_merge(&gp_hta_parts, &sum, &m->h->parts.at[i]);
        if (sum.b.span_ns) sums[n++] = sum;
    }
    struct gp_report_table *t = gp_hta_table(m, &gp_hta_parts, sums, n, m->top);
    if (t && !m->whole) t->note = "The findings and times above cover the steps; --whole covers everything.";
}

/* The length from which a step is listed: at most m->step_rows steps are longer. */
static int64_t least_length(const struct gp_hta_tables *m)
{
    const struct gp_hta *h = m->h;
    if (!m->step_rows || m->step_rows >= h->steps.n) return INT64_MIN;
    int64_t *lengths = gp_alloc(h->steps.n * sizeof *lengths);
    for (size_t i = 0; i < h->steps.n; i++) lengths[i] = h->steps.at[i].b.span_ns;
    qsort(lengths, h->steps.n, sizeof *lengths, gp_order_i64_down);
    int64_t least = lengths[m->step_rows - 1];
    free(lengths);
    return least;
}

static void add_step_list(struct gp_hta_tables *m)
{
    const struct gp_hta *h = m->h;
    if (!h->steps.n) return;
    int64_t least = least_length(m), left_ns = 0;
    size_t rows = 0, left = 0;
    struct gp_row_of of = gp_hta_rows_of(h, 0);
    struct gp_columns columns;
    of.merged = m->merged;
    gp_columns_find(&columns, &gp_hta_step_list);
    struct gp_report_table *t = gp_columns_table(m->r, &gp_hta_step_list, &columns, &of);
    t->id = "step_list"; /* JSON has them in "each" of their device */
    GP_EACH(const struct gp_hta_step, s, h->steps) {
        if (s->b.span_ns < least || (m->step_rows && rows == m->step_rows)) {
            left++;
            left_ns += s->b.span_ns;
            continue;
        }
        rows++;
        gp_columns_put(m->r, t, &columns, s, &of);
    }
    gp_columns_release(&columns);
    if (left) t->note = "The longest steps, in order of time; --each-step lists all.";
    gp_record_more(m->r, t, left, left_ns);
}

/* ---- communication ---- */

static void add_collectives(struct gp_hta_tables *m)
{
    const struct gp_hta *h = m->h;
    bool grouped = false;
    for (size_t i = 0; i < h->collective_stats.n; i++)
        grouped |= h->collective_stats.at[i].calls > h->collective_stats.at[i].count;
    struct gp_report_table *t =
        gp_hta_table(m, &gp_hta_collectives, h->collective_stats.at, h->collective_stats.n, m->top);
    if (t && grouped) t->note = "One kernel serves all calls of a group; sizes are per kernel.";
    else if (t) gp_report_flag(t, "calls", GP_COLUMN_WIDE);
}

static void add_matches(struct gp_hta_tables *m)
{
    struct gp_row_of of = gp_hta_rows_of(m->h, 0);
    struct gp_report_table *t =
        gp_record_table(m->r, &gp_hta_matches, m->h->matches.at, m->h->matches.n, 0, &of);
    if (t) t->id = "collective_list", t->detail = true;
}

static void add_offsets(struct gp_hta_tables *m)
{
    const struct gp_hta *h = m->h;
    size_t estimated = 0;
    for (size_t i = 0; i < h->offsets.n; i++) estimated += h->offsets.at[i].pairs > 0;
    if (!estimated) return;
    struct gp_report_table *t = gp_hta_table(m, &gp_hta_offsets, h->offsets.at, h->offsets.n, m->top);
    t->id = "offsets";
    t->note = "Estimated from the ends of collectives, relative to the lowest rank.";
}

/* ---- inputs ---- */

static void add_quality(struct gp_hta_tables *m)
{
    GP_VEC(struct gp_input_issue) issues = {0};
    GP_EACH(const struct gp_input_quality, in, m->h->inputs) {
        GP_VEC_RESERVE(&issues, issues.n + GP_ISSUE_COUNT);
        issues.n += gp_input_issues_of(issues.at + issues.n, in->path, in->issues);
    }
    struct gp_report_table *t = gp_hta_table(m, &gp_input_issues, issues.at, issues.n, 0);
    if (t) t->id = "quality";
    if (t) t->detail = true;
    GP_VEC_FREE(&issues);
}

/* All tables, in their order. */
struct builder {
    const char *id;
    enum { IN_SHORT, IN_FULL, ON_PAGES } place; /* the least text that has it; or only pages and CSV */
    bool steps;                                 /* of the steps only, where there are any */
    void (*build)(struct gp_hta_tables *m);
    /* where that is NULL: rows of this record, a list of gp_hta; all of them, or as many as others have */
    const struct gp_record *record;
    size_t list;
    bool all, detail;
    const char *note;
};
#define ROWS(record_, list_) .record = &(record_), .list = offsetof(struct gp_hta, list_)

static const struct builder builders[] = {
    {"findings", IN_SHORT, true, .build = add_findings},
    {"slow", IN_FULL, false, .build = gp_hta_table_slow},
    {"breakdown", IN_FULL, true, .build = add_breakdown},
    {"devices", IN_FULL, true, .build = add_devices},
    {"streams", ON_PAGES, true, .build = add_streams},
    {"idle", IN_FULL, true, .build = add_idle},
    {"idle_list", ON_PAGES, true, .build = add_idle_list},
    {"culprits", IN_FULL, true, .build = add_culprits},
    {"kernels", IN_SHORT, true, .build = gp_hta_table_kernels},
    {"operators", IN_FULL, true, .build = gp_hta_table_operators},
    {"operators_by_shape", IN_FULL, true, .build = gp_hta_table_op_shapes},
    {"ranges", IN_FULL, true, .build = gp_hta_table_ranges},
    {"modules", IN_FULL, true, .build = gp_hta_table_modules},
    {"functions", IN_FULL, true, .build = gp_hta_table_functions},
    {"launches", IN_FULL, true, .build = gp_hta_table_launches},
    {"launch_times", IN_FULL, true, .build = gp_hta_table_launch_times},
    {"api", IN_FULL, false, ROWS(gp_hta_api, api)},
    {"graphs", IN_FULL, false, ROWS(gp_hta_graphs, graphs)},
    {"parts", IN_FULL, false, .build = add_parts},
    {"steps", IN_FULL, false, .build = add_steps},
    {"step_list", IN_SHORT, false, .build = add_step_list},
    {"collectives", IN_FULL, false, .build = add_collectives},
    {"collective_list", ON_PAGES, false, .build = add_matches},
    {"stragglers", IN_FULL, false, ROWS(gp_hta_stragglers, stragglers)},
    {"offsets", IN_FULL, false, .build = add_offsets},
    {"copies", IN_FULL, false, ROWS(gp_hta_copies, copies)},
    {"memory", IN_FULL, false, .build = gp_hta_table_memory},
    {"range_memory", IN_FULL, false, .build = gp_hta_table_range_memory},
    {"sampled", IN_FULL, false, .build = gp_hta_table_sampled},
    {"clocks", IN_FULL, false, ROWS(gp_hta_clocks, clocks), .all = true,
     .note = "SM clock, as the driver reported it; slower: the time that work bound by it lost."},
    {"energy", IN_FULL, false, ROWS(gp_hta_energy, energy), .all = true,
     .note = "By the energy counter of the GPU, and between its readings by the power."},
    {"critical_path", IN_FULL, false, .build = gp_hta_table_path_bounds},
    {"critical_names", IN_FULL, false, .build = gp_hta_table_path_names},
    {"critical_pieces", ON_PAGES, false, .build = gp_hta_table_path_pieces},
    {"inputs", ON_PAGES, false, ROWS(gp_inputs, inputs), .all = true, .detail = true},
    {"quality", ON_PAGES, false, .build = add_quality},
};

const char *gp_hta_table_id(size_t i) { return i < GP_COUNT(builders) ? builders[i].id : NULL; }

bool gp_hta_has_table(const char *id)
{
    size_t i = 0;
    while (gp_hta_table_id(i) && strcmp(gp_hta_table_id(i), id) != 0) i++;
    return gp_hta_table_id(i) != NULL;
}

static void drop_empty(struct gp_report *r)
{
    size_t n = 0;
    for (size_t i = 0; i < r->tables.n; i++) {
        struct gp_report_table *t = r->tables.at[i];
        if (gp_report_rows(t)) r->tables.at[n++] = t;
        else GP_VEC_FREE(&t->columns);
    }
    r->tables.n = n;
}

/* The wide formats that programs read cover everything, unless a person reads the same table. */
static void build(struct gp_hta_tables *m, const struct builder *b, const struct gp_hta *h)
{
    m->h = b->steps ? gp_hta_about(h, m->whole) : h;
    m->all = gp_hta_totals(m->h);
    if (b->build) {
        b->build(m);
        return;
    }
    const void *list = (const char *)m->h + b->list;
    struct gp_report_table *t =
        gp_hta_table(m, b->record, gp_rows_at(list), gp_rows_n(list), b->all ? 0 : m->top);
    if (t && b->note) t->note = b->note;
    if (t) t->detail = b->detail;
}

void gp_hta_report(struct gp_report *r, const struct gp_hta *h, const struct gp_hta_report_opts *o)
{
    struct gp_hta_tables m = {
        .r = r, .whole = o->whole, .top = o->top, .step_rows = o->step_rows, .few = o->few};
    for (size_t i = 0; i < h->devices.n; i++)
        m.merged |= h->devices.at[i].producer != h->devices.at[0].producer;
    gp_hta_summary(r, h, o->whole);
    GP_EACH_OF(const struct builder, b, builders, GP_COUNT(builders)) {
        if (o->only ? strcmp(o->only, b->id) != 0 : b->place == ON_PAGES && o->brief) continue;
        if (strcmp(b->id, "step_list") == 0 && !o->steps) continue;
        size_t before = r->tables.n;
        build(&m, b, h);
        for (size_t t = before; t < r->tables.n && o->few; t++)
            r->tables.at[t]->detail |= b->place > (h->kernels.n || strcmp(b->id, "api") ? IN_SHORT : IN_FULL);
    }
    drop_empty(r);
    gp_label_disambiguate(r);
}
