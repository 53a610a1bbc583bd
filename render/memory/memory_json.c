#include "render/memory/memory_priv.h"

#include "formats/base/buf.h"
#include "render/report/record.h"

struct json {
    struct gp_doc d;
    struct gp_memory *m;
    struct gp_row_of of;
};

static void put_rows(struct json *j, const struct gp_record *rec, const void *rows, size_t n)
{
    gp_doc_list(&j->d, rec->id);
    gp_record_rows(&j->d, rec, rows, n, &j->of);
    gp_doc_end(&j->d, ']');
}

/* The rows of all devices, as the list KEY. */
static void put_list(struct json *j, const char *key, const struct gp_record *rec)
{
    gp_doc_list(&j->d, key);
    for (size_t i = 0; i < j->m->devices.n; i++) {
        struct gp_memory_rows r = gp_memory_rows(&j->m->devices.at[i], rec);
        gp_record_rows(&j->d, rec, r.at, r.n, &j->of);
    }
    gp_doc_end(&j->d, ']');
}

/* null without --base. */
static void put_comparison(struct json *j)
{
    const struct gp_memory *m = j->m;
    int64_t now = 0;
    if (!m->compared) {
        gp_doc_null(&j->d, "comparison");
        return;
    }
    for (size_t i = 0; i < m->holders.n; i++) now += m->holders.at[i].bytes;
    gp_doc_object(&j->d, "comparison");
    gp_doc_i64(&j->d, "base_bytes", m->base_bytes);
    gp_doc_i64(&j->d, "bytes", now);
    gp_doc_i64(&j->d, "change_bytes", now - m->base_bytes);
    gp_doc_list(&j->d, "holders");
    gp_record_rows(&j->d, &gp_memory_changes, m->changes.at, m->changes.n, &j->of);
    gp_doc_end(&j->d, ']');
    gp_doc_end(&j->d, '}');
}

/* Of all devices together: each pool names its own. null without a snapshot. */
static void put_fragmentation(struct json *j)
{
    struct gp_memory_fragmentation sum = {.known = false};
    for (size_t i = 0; i < j->m->devices.n; i++) {
        const struct gp_memory_fragmentation *f = &j->m->devices.at[i].fragmentation;
        sum.known |= f->known;
        sum.reserved += f->reserved;
        sum.allocated += f->allocated;
        sum.active += f->active;
        sum.free_whole += f->free_whole;
        sum.free_split += f->free_split;
        sum.rounding += f->rounding;
        if (f->largest_free > sum.largest_free) sum.largest_free = f->largest_free;
    }
    if (!sum.known) {
        gp_doc_null(&j->d, gp_memory_fragments.id);
        return;
    }
    gp_doc_object(&j->d, gp_memory_fragments.id);
    gp_record_members(&j->d, &gp_memory_fragments, &sum, &j->of);
    put_list(j, "by_pool", &gp_memory_pools);
    gp_doc_end(&j->d, '}');
}

static void put_all(struct gp_doc d, struct gp_memory *m, const char *version)
{
    const struct gp_record *const over_time[] = {&gp_memory_ooms, &gp_memory_ranges, &gp_memory_operators,
                                                 &gp_memory_churns, &gp_memory_lifetimes};
    struct gp_memory_of of = {m};
    struct json j = {d, m, gp_memory_rows_of(&of)};
    gp_doc_begin(&j.d, '{');
    gp_doc_head(&j.d, "trace-memory", version, m->inputs.at, m->inputs.n);
    struct gp_report r = {0};
    gp_memory_summary(&r, j.m);
    gp_doc_summary(&j.d, &r);
    gp_report_release(&r);
    put_rows(&j, &gp_memory_device_rows, m->devices.at, m->devices.n);
    static const char *const ats[] = {"peak", "end", "oom", "time"};
    gp_doc_cstr(&j.d, "at", ats[j.m->opts.at]);
    put_rows(&j, &gp_memory_holder_rows, j.m->holders.at, j.m->holders.n);
    put_comparison(&j);
    put_list(&j, gp_memory_growths.id, &gp_memory_growths);
    put_fragmentation(&j);
    for (size_t i = 0; i < GP_COUNT(over_time); i++) put_list(&j, over_time[i]->id, over_time[i]);
    put_rows(&j, &gp_memory_outsiders, m->outside.at, m->outside.n);
    put_list(&j, gp_memory_series.id, &gp_memory_series);
    gp_doc_end(&j.d, '}');
    gp_buf_putc(d.b, '\n');
}

void gp_memory_json(struct gp_output *to, struct gp_memory *m, const char *version)
{
    struct gp_buf b = {0};
    put_all((struct gp_doc){.b = &b, .strings = &m->strings, .to = to}, m, version);
    if (b.n) gp_output_write(to, b.data, b.n);
    gp_buf_release(&b);
}

bool gp_memory_json_short(struct gp_buf *b, struct gp_memory *m, const char *version, size_t most)
{
    put_all((struct gp_doc){.b = b, .strings = &m->strings, .most = most}, m, version);
    if (b->n <= most) return true;
    b->n = 0;
    return false;
}
