/* Cells and columns that several of trace-hta's tables have. */
#include <string.h>
#include "analyze/names/names.h"
#include "render/hta/hta_tables_priv.h"
#include "render/report/record.h"

size_t gp_hta_rows_shown(const struct gp_hta_tables *m, size_t n)
{
    return m->top && m->top < n ? m->top : n;
}

struct gp_report_table *gp_hta_table_of(struct gp_hta_tables *m, const struct gp_record *rec,
                                        const void *rows, size_t n)
{
    struct gp_row_of of = gp_hta_rows_of(m->h, 0);
    of.merged = m->merged;
    return gp_record_table(m->r, rec, rows, n, m->top, &of);
}

void gp_hta_put_rank(struct gp_report_table *t, int32_t rank)
{
    if (rank < 0) gp_report_put_none(t);
    else gp_report_put(t, rank);
}

void gp_hta_put_device(struct gp_report_table *t, int64_t device)
{
    if (device < 0) gp_report_put_none(t);
    else gp_report_put(t, device);
}

void gp_hta_put_sid(struct gp_hta_tables *m, struct gp_report_table *t, gp_sid sid)
{
    size_t n = gp_string_len(&m->h->strings, sid);
    if (n) gp_report_put_name(m->r, t, gp_hta_str(m->h, sid), n, NULL, 0);
    else gp_report_put_none(t);
}

void gp_hta_put_kernel(struct gp_hta_tables *m, struct gp_report_table *t, gp_sid sid)
{
    const char *s = gp_hta_str(m->h, sid);
    size_t n = gp_string_len(&m->h->strings, sid);
    m->label.n = m->plain.n = 0;
    gp_name_demangle(&m->plain, s, n);
    gp_name_kernel_label(&m->label, m->plain.n ? m->plain.data : "", m->plain.n);
    gp_report_put_name(m->r, t, s, n, m->label.data, m->label.n);
}

void gp_hta_put_word(struct gp_hta_tables *m, struct gp_report_table *t, const char *word)
{
    m->label.n = 0;
    for (const char *s = word; *s; s++) gp_buf_putc(&m->label, *s == '_' ? ' ' : *s);
    gp_report_put_name(m->r, t, word, strlen(word), m->label.data, m->label.n);
}

void gp_hta_rank_columns(struct gp_report_table *t)
{
    COLUMN(t, "rank", "Rank", GP_CELL_ID, 0, NULL);
    COLUMN(t, "process", "Proc.", GP_CELL_ID, 0, "process in a merged trace; device numbers are per process");
    COLUMN(t, "device", "GPU", GP_CELL_ID, 0, "ordinal of the device");
}

void gp_hta_put_process(const struct gp_hta_tables *m, struct gp_report_table *t, uint32_t producer)
{
    if (m->merged) gp_report_put(t, producer);
    else gp_report_put_none(t);
}

void gp_hta_put_place(const struct gp_hta_tables *m, struct gp_report_table *t, int32_t rank,
                      uint32_t producer, int64_t device)
{
    gp_hta_put_rank(t, rank);
    gp_hta_put_process(m, t, producer);
    gp_hta_put_device(t, device);
}

/* The columns of a breakdown, the shares first: they are what text has room for. */
void gp_hta_breakdown_columns(struct gp_report_table *t)
{
    COLUMN(t, "span_ns", "Span", GP_CELL_NS, 0, "last GPU event's end - first GPU event's start");
    COLUMN(t, "compute_pct", "Compute", GP_CELL_PCT, 0, "compute_ns / span_ns");
    COLUMN(t, "exposed_communication_pct", "Exp. comm.", GP_CELL_PCT, 0,
           "exposed_communication_ns / span_ns");
    COLUMN(t, "exposed_memory_pct", "Exp. memory", GP_CELL_PCT, 0, "exposed_memory_ns / span_ns");
    COLUMN(t, "idle_pct", "Idle", GP_CELL_PCT, 0, "idle_ns / span_ns");
    COLUMN(t, "overlap_pct", "Overlap", GP_CELL_PCT, GP_COLUMN_SPARE,
           "communication under compute / communication_ns");
    COLUMN(t, "busy_ns", "Busy", GP_CELL_NS, GP_COLUMN_WIDE, "union of all GPU events");
    COLUMN(t, "idle_ns", "Idle time", GP_CELL_NS, GP_COLUMN_WIDE, "span_ns - busy_ns");
    COLUMN(t, "compute_ns", "Compute time", GP_CELL_NS, GP_COLUMN_WIDE,
           "union of compute kernels over streams");
    COLUMN(t, "communication_ns", "Comm. time", GP_CELL_NS, GP_COLUMN_WIDE,
           "union of communication kernels over streams");
    COLUMN(t, "memory_ns", "Memory time", GP_CELL_NS, GP_COLUMN_WIDE,
           "union of copies and sets over streams");
    COLUMN(t, "exposed_communication_ns", "Exp. comm. time", GP_CELL_NS, GP_COLUMN_WIDE,
           "communication not under compute");
    COLUMN(t, "exposed_memory_ns", "Exp. memory time", GP_CELL_NS, GP_COLUMN_WIDE,
           "copies and sets not under compute or communication");
    COLUMN(t, "gpu_events", "GPU events", GP_CELL_COUNT, GP_COLUMN_WIDE, "kernels, copies and sets");
    COLUMN(t, "gpu_ns", "GPU time", GP_CELL_NS, GP_COLUMN_WIDE, "sum of their durations");
}

void gp_hta_put_breakdown(struct gp_report_table *t, const struct gp_breakdown *b)
{
    gp_report_put(t, b->span_ns);
    gp_report_put_real(t, gp_pct(b->compute_ns, b->span_ns));
    gp_report_put_real(t, gp_pct(b->exposed_communication_ns, b->span_ns));
    gp_report_put_real(t, gp_pct(b->exposed_memory_ns, b->span_ns));
    gp_report_put_real(t, gp_pct(b->idle_ns, b->span_ns));
    if (b->communication_ns) gp_report_put_real(t, gp_pct(b->overlap_ns, b->communication_ns));
    else gp_report_put_none(t);
    const int64_t ns[] = {b->busy_ns,          b->idle_ns,   b->compute_ns,
                          b->communication_ns, b->memory_ns, b->exposed_communication_ns,
                          b->exposed_memory_ns};
    for (size_t i = 0; i < GP_COUNT(ns); i++) gp_report_put(t, ns[i]);
    gp_report_put(t, (int64_t)b->gpu_events);
    gp_report_put(t, b->gpu_ns);
}

void gp_hta_put_part(struct gp_report_table *t, double part, int64_t whole)
{
    if (whole) gp_report_put_real(t, 100 * part / (double)whole);
    else gp_report_put_none(t);
}
