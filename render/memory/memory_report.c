#include "render/memory/memory_priv.h"

#include <string.h>
#include "formats/base/buf.h"
#include "formats/base/scale.h"
#include "formats/base/str.h"
#include "render/draw/text.h"
#include "render/report/record.h"

struct tables {
    struct gp_report *r;
    const struct gp_memory *m;
    const struct gp_memory_report_opts *o;
    struct gp_row_of of;
    bool several; /* devices: people need to see which */
};

/* A table with the first rows of each device. */
struct table {
    const struct gp_record *rec;
    struct gp_columns columns;
    struct gp_report_table *at; /* NULL until there is a row */
    size_t left;
    int64_t sum; /* of those that are left out */
};

static struct table start(const struct gp_record *rec)
{
    struct table to = {.rec = rec};
    gp_columns_find(&to.columns, rec);
    return to;
}

static void put_rows(struct tables *t, struct table *to, const void *rows, size_t n)
{
    size_t shown = t->o->top && t->o->top < n ? t->o->top : n, size = to->rec->size;
    struct gp_row_of of = t->of;
    of.mem = &t->r->mem;
    if (!n) return;
    if (!to->at) {
        to->at = gp_columns_table(t->r, to->rec, &to->columns, &of);
        if (!t->several && to->rec != &gp_memory_device_rows && to->rec != &gp_memory_outsiders)
            gp_report_flag(to->at, "device", GP_COLUMN_RAW);
    }
    for (size_t i = 0; i < shown; i++)
        gp_columns_put(t->r, to->at, &to->columns, (const char *)rows + i * size, &of);
    to->left += n - shown;
    to->sum += gp_record_sum(to->rec, 1, (const char *)rows + shown * size, n - shown, &of);
}

static struct gp_report_table *finish(struct tables *t, struct table *to)
{
    if (to->at) gp_record_left(t->r, to->at, to->rec, to->left, to->sum);
    gp_columns_release(&to->columns);
    return to->at;
}

/* A table with the rows of all devices that have LEAST or more. */
static struct gp_report_table *put_list(struct tables *t, const struct gp_record *rec, size_t least)
{
    struct table to = start(rec);
    for (size_t i = 0; i < t->m->devices.n; i++) {
        struct gp_memory_rows r = gp_memory_rows(&t->m->devices.at[i], rec);
        if (r.n >= least || t->o->verbose) put_rows(t, &to, r.at, r.n);
    }
    return finish(t, &to);
}

static void put_all(struct tables *t, const struct gp_record *rec, const void *rows, size_t n)
{
    struct table to = start(rec);
    put_rows(t, &to, rows, n);
    finish(t, &to);
}

/* All rows, for any --top. */
static struct tables unlimited(const struct tables *t, struct gp_memory_report_opts *o)
{
    struct tables all = *t;
    *o = *t->o;
    o->top = 0;
    all.o = o;
    return all;
}

/* ---- holders ---- */

static const char *title_of(const struct gp_memory *m)
{
    bool state = m->devices.n > 0;
    for (size_t i = 0; i < m->devices.n; i++) state &= gp_memory_is_state(&m->devices.at[i]);
    if (state && m->opts.at == GP_AT_PEAK) return "Memory held at the end";
    switch (m->opts.at) {
    case GP_AT_END: return "Memory held at the end";
    case GP_AT_OOM: return "Memory held when it ran out";
    case GP_AT_TIME: return "Memory held at that time";
    default: return "What held the peak";
    }
}

static void name_holders(const struct gp_memory *m, struct gp_report_table *table)
{
    static const char *const headings[] = {"Allocated by", "Range", "Operator", "Module", "Category"};
    table->title = title_of(m);
    for (size_t i = 0; i < table->columns.n; i++) {
        struct gp_report_column *c = &table->columns.at[i];
        bool any = false;
        if (!strcmp(c->id, "key")) c->heading = headings[m->opts.by];
        if (strcmp(c->id, "category") != 0) continue;
        for (size_t row = 0; row < gp_report_rows(table); row++)
            any |=
                !gp_is(gp_report_cell(table, row, i)->label, gp_report_cell(table, row, i)->label_len, "-");
        if (!any || m->opts.by == GP_BY_CATEGORY) c->flags |= GP_COLUMN_RAW;
    }
}

static void put_holders(struct tables *t)
{
    const gp_memory_holders *named = &t->m->named;
    struct table to = start(&gp_memory_holder_rows);
    for (size_t i = 0, end = 0; i < named->n; i = end) {
        t->of.whole_ns = 0;
        for (; end < named->n && named->at[end].device == named->at[i].device; end++)
            t->of.whole_ns += named->at[end].bytes;
        put_rows(t, &to, &named->at[i], end - i);
    }
    if (finish(t, &to)) name_holders(t->m, to.at);
}

/* ---- segments ---- */

/* A part of reserved memory. */
struct part {
    const struct gp_memory_device *device;
    const char *name;
    int64_t bytes;
};

#define AT(member) offsetof(struct part, member)

GP_GET(get_part_device, struct part, gp_memory_device_rows.fields->get(c, f, r->device, x))
GP_GET(get_part, struct part, gp_cell_text(c, r->name))
GP_GET(get_part_share, struct part,
       gp_cell_share(c, (double)r->bytes, (double)r->device->fragmentation.reserved))

static const struct gp_field part_fields[] = {
    {"device", "Device", GP_CELL_TEXT, get_part_device, 0, .help = NULL},
    {"part", "Part", GP_CELL_TEXT, get_part, 0, .help = NULL},
    {"bytes", "Bytes", GP_CELL_BYTES, gp_member_i64, AT(bytes), .help = NULL},
    {"share_pct", "Share", GP_CELL_PCT, get_part_share, 0, .help = "of what was reserved",
     .flags = GP_COLUMN_BAR},
};
#undef AT
static const struct gp_record parts = {"fragmentation", "What was reserved at the end",
                                       GP_FIELDS(part_fields), .size = sizeof(struct part)};

static void put_fragmentation(struct tables *t)
{
    struct gp_memory_report_opts o;
    struct tables all = unlimited(t, &o);
    struct table to = start(&parts);
    GP_EACH(const struct gp_memory_device, d, t->m->devices) {
        const struct gp_memory_fragmentation *f = &d->fragmentation;
        const struct part rows[] = {
            {d, "in use", f->active},
            {d, "  of it rounding", f->rounding},
            {d, "  of it freed, still used by a stream", f->active - f->allocated},
            {d, "free, whole segments (empty_cache returns them)", f->free_whole},
            {d, "free, inside used segments", f->free_split},
            {d, "largest free block", f->largest_free},
        };
        if (!f->known || f->reserved <= 0) continue;
        for (size_t k = 0; k < GP_COUNT(rows); k++)
            if ((k != 1 && k != 2) || rows[k].bytes > 0) put_rows(&all, &to, &rows[k], 1);
    }
    finish(&all, &to);
}

/* ---- churn ---- */

static void put_churn(struct tables *t)
{
    struct table to = start(&gp_memory_churns);
    for (size_t i = 0; i < t->m->devices.n; i++) {
        const struct gp_memory_churn *c = &t->m->devices.at[i].churn;
        put_rows(t, &to, c, c->allocations > 0);
    }
    finish(t, &to);
}

/* ---- all of it ---- */

/* Names of at most so many columns. */
static void fit_names(struct gp_report *r, size_t columns)
{
    for (size_t i = 0; i < r->tables.n; i++) {
        GP_EACH(struct gp_cell, c, r->tables.at[i]->cells) {
            struct gp_buf b = {0};
            if (c->type != GP_CELL_NAME || c->none || c->text_len <= columns) continue;
            gp_text_fit(&b, c->text, c->text_len, columns);
            gp_cell_label(c, gp_report_str(r, b.data, b.n), b.n, NULL, 0);
            gp_buf_release(&b);
        }
    }
}

void gp_memory_report(struct gp_report *r, struct gp_memory *m, const struct gp_memory_report_opts *o)
{
    struct gp_memory_of of = {m};
    struct gp_memory_report_opts no_limit;
    struct tables t = {.r = r, .m = m, .o = o, .of = gp_memory_rows_of(&of), .several = m->devices.n > 1};
    struct tables all = unlimited(&t, &no_limit);
    gp_memory_summary(r, m);
    if (t.several || o->verbose) put_all(&all, &gp_memory_device_rows, m->devices.at, m->devices.n);
    put_holders(&t);
    put_all(&t, &gp_memory_changes, m->changes.at, m->changes.n);
    put_list(&t, &gp_memory_growths, 1);
    put_list(&all, &gp_memory_ooms, 1);
    put_fragmentation(&t);
    put_list(&all, &gp_memory_pools, 2);
    put_all(&t, &gp_memory_outsiders, m->outside.at, m->outside.n);
    put_churn(&t);
    put_list(&t, &gp_memory_ranges, 2);
    put_list(&t, &gp_memory_operators, 2);
    struct gp_report_table *lifetimes = put_list(&all, &gp_memory_lifetimes, 1);
    if (lifetimes) lifetimes->detail = !o->verbose;
    if (o->names) fit_names(r, o->names);
}

/* ---- memory verdict ---- */

/* The sentences of the answer, as an expert would begin. */
enum { DEVICES_MOST = 8, NAMED_MOST = 2, STEPS_MOST = 1000000, NAME_MOST = 120 };

#define BYTES(v) GP_BYTES((v) < 0 ? 0 : (v))

static void put_name(struct gp_buf *b, const struct gp_memory *m, gp_sid sid)
{
    gp_text_fit(b, gp_memory_str(m, sid), gp_string_len(&m->strings, sid), NAME_MOST);
}

void gp_memory_step_put(struct gp_buf *b, const struct gp_memory *m, const struct gp_memory_device *d,
                        uint32_t step)
{
    if (d->steps_by_optimizer) gp_buf_printf(b, "step %u", (unsigned)step);
    else put_name(b, m, d->steps.at[step].name);
}

/* ---- against another run ---- */

static void summarize_changes(struct gp_report *r, struct gp_buf *b, const struct gp_memory *m)
{
    int64_t now = 0;
    if (!m->compared) return;
    for (size_t i = 0; i < m->holders.n; i++) now += m->holders.at[i].bytes;
    if (now == m->base_bytes) gp_buf_printf(b, "As much memory is held as in the base: %s", BYTES(now));
    else
        gp_buf_printf(b, "%s are held, %s %s than in the base", BYTES(now),
                      BYTES(now > m->base_bytes ? now - m->base_bytes : m->base_bytes - now),
                      now > m->base_bytes ? "more" : "less");
    if (m->changes.n && m->changes.at[0].bytes != m->changes.at[0].base_bytes) {
        gp_buf_puts(b, "; the largest change is ");
        /* "+1.23 MB", "-4 B". */
        gp_cell_put(b, &(struct gp_cell){.type = GP_CELL_CHANGE_BYTES,
                                         .i = (m->changes.at[0].bytes - m->changes.at[0].base_bytes)});
        gp_buf_puts(b, " by ");
        put_name(b, m, m->changes.at[0].key);
    }
    gp_buf_puts(b, ".");
    gp_report_take_verdict(r, now > m->base_bytes ? GP_TONE_WARN : GP_TONE_PLAIN, b);
}

/* ---- running out ---- */

/* "train.py:12 step asked for it (phase: eval)." */
static void summarize_asker(struct gp_report *r, struct gp_buf *b, const struct gp_memory *m,
                            const struct gp_memory_device *d, const struct gp_memory_oom *o)
{
    const char *metadata = gp_memory_oom_metadata(d, o);
    if (!o->key && !*metadata) return;
    if (o->key) put_name(b, m, o->key);
    else gp_buf_puts(b, "The program");
    gp_buf_puts(b, " asked for it");
    if (*metadata) {
        gp_buf_puts(b, " (");
        gp_text_fit(b, metadata, strlen(metadata), NAME_MOST);
        gp_buf_putc(b, ')');
    }
    gp_buf_putc(b, '.');
    gp_report_take_verdict(r, GP_TONE_PLAIN, b);
}

static void summarize_oom(struct gp_report *r, struct gp_buf *b, const struct gp_memory *m,
                          const struct gp_memory_device *d)
{
    if (!d->ooms.n) return;
    const struct gp_memory_oom *o = &d->ooms.at[d->ooms.n - 1];
    gp_memory_device_put(b, m, d);
    gp_buf_printf(b, " ran out of memory: %s were requested while ", BYTES(o->requested));
    if (o->verdict == GP_OOM_FRAGMENTATION) {
        gp_buf_printf(b, "%s were cached", BYTES(o->reserved - o->active));
        if (d->fragmentation.known && d->fragmentation.largest_free < o->requested)
            gp_buf_printf(b, ", but the largest free block has %s", BYTES(d->fragmentation.largest_free));
        gp_buf_puts(b, ": fragmentation");
    } else {
        gp_buf_printf(b, "%s were allocated and the device had %s free: %s", BYTES(o->allocated),
                      BYTES(o->device_free),
                      o->verdict == GP_OOM_OTHERS ? "other processes hold the rest of the device"
                                                  : "too large for the device");
        if (o->guessed)
            gp_buf_puts(b, " (a guess: the size of the device is not recorded; --device-memory states it)");
    }
    gp_buf_puts(b, ".");
    gp_report_take_verdict(r, GP_TONE_BAD, b);
    summarize_asker(r, b, m, d, o);
    if (o->verdict == GP_OOM_FRAGMENTATION)
        gp_report_verdict(
            r, GP_TONE_PLAIN,
            "Let free pieces join: set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, or allocate the "
            "large blocks first.");
}

/* ---- growth ---- */

static void summarize_growth(struct gp_report *r, struct gp_buf *b, const struct gp_memory *m,
                             const struct gp_memory_device *d)
{
    for (size_t i = 0; i < d->growth.n && i < NAMED_MOST; i++) {
        const struct gp_memory_growth *g = &d->growth.at[i];
        gp_memory_device_put(b, m, d);
        gp_buf_printf(b, " %s %s", g->certain ? "leaks" : "grows by", BYTES(g->bytes_per_step));
        int64_t each = g->blocks / g->steps;
        if (each * g->steps == g->blocks)
            gp_buf_printf(b, " per step (%lld block%s): ", (long long)each, each == 1 ? "" : "s");
        else
            gp_buf_printf(b, " per step (%lld block%s in %u steps): ", (long long)g->blocks,
                          g->blocks == 1 ? "" : "s", (unsigned)g->steps);
        put_name(b, m, d->sites.at[g->site].key);
        gp_buf_printf(b, " allocates memory that is never freed, in %u of %u steps", (unsigned)g->rises,
                      (unsigned)g->steps);
        int64_t left = g->bytes_per_step > 0 ? (d->total_bytes - d->peak_bytes) / g->bytes_per_step : 0;
        if (left > 0 && left < STEPS_MOST)
            gp_buf_printf(b, "; the device is full after %s more steps", GP_COUNTED(left));
        gp_buf_puts(b, ".");
        gp_report_take_verdict(r, g->certain ? GP_TONE_BAD : GP_TONE_WARN, b);
    }
}

/* ---- the peak ---- */

static const struct gp_memory_holder *largest(const struct gp_memory *m, const struct gp_memory_device *d)
{
    for (size_t i = 0; i < m->named.n; i++)
        if (&m->devices.at[m->named.at[i].device] == d) return &m->named.at[i];
    return NULL;
}

static void put_peak_place(struct gp_buf *b, const struct gp_memory *m, const struct gp_memory_device *d)
{
    bool in_step = d->peak_step < d->steps.n;
    if (d->peak_ns == INT64_MIN) {
        if (d->history == GP_HISTORY_TAIL) gp_buf_puts(b, ", before the history begins");
        return;
    }
    if (!m->untimed) {
        gp_buf_printf(b, ", %s%s",
                      GP_NS(d->peak_ns - (in_step ? d->steps.at[d->peak_step].begin_ns : d->begin_ns)),
                      in_step ? " into " : " into the history");
    } else if (in_step) {
        gp_buf_puts(b, ", in ");
    }
    if (in_step) gp_memory_step_put(b, m, d, d->peak_step);
    if (d->peak_span != GP_NO_SPAN &&
        (!in_step || d->spans.at[d->peak_span].name != d->steps.at[d->peak_step].name)) {
        gp_buf_puts(b, ", in ");
        put_name(b, m, d->spans.at[d->peak_span].name);
    }
}

/* "[allocated before the trace]" without its brackets. */
static void put_key(struct gp_buf *b, const struct gp_memory *m, gp_sid key)
{
    size_t begin = b->n;
    put_name(b, m, key);
    if (b->n < begin + 2 || b->data[begin] != '[' || b->data[b->n - 1] != ']') return;
    b->n -= 2;
    memmove(b->data + begin, b->data + begin + 1, b->n - begin);
}

/* The holder of the largest part of the peak. */
static void put_largest(struct gp_buf *b, const struct gp_memory *m, const struct gp_memory_device *d,
                        const struct gp_memory_holder *h)
{
    const struct gp_memory_site *site = h->site == UINT32_MAX ? NULL : &d->sites.at[h->site];
    if (site && site->stand_in && !site->range) return; /* nothing is known */
    gp_buf_printf(b, "; %s of it: ", GP_SHARE(h->bytes, d->peak_bytes));
    if (site && site->stand_in) {
        put_name(b, m, site->range);
        gp_buf_puts(b, ", whose stacks are not recorded");
    } else {
        put_key(b, m, h->key);
    }
    if (h->category == GP_CAT_UNKNOWN || m->opts.by == GP_BY_CATEGORY ||
        !strcmp(gp_memory_str(m, h->key), gp_category_name(h->category)))
        return;
    gp_buf_printf(b, " (%s%s)", h->category_recorded ? "" : "probably ", gp_category_text(h->category));
}

/* Other memory of the driver, such as the code of kernels, if it is next to nothing. */
static bool is_minor(const struct gp_memory *m, const struct gp_memory_device *d)
{
    int64_t most = 0;
    for (size_t i = 0; i < m->devices.n; i++)
        if (m->devices.at[i].peak_bytes > most) most = m->devices.at[i].peak_bytes;
    return d->kind && d->peak_bytes < most / 100;
}

static void summarize_peak(struct gp_report *r, struct gp_buf *b, const struct gp_memory *m,
                           const struct gp_memory_device *d)
{
    const struct gp_memory_holder *h = m->opts.at == GP_AT_PEAK ? largest(m, d) : NULL;
    if (is_minor(m, d)) return;
    gp_memory_device_put(b, m, d);
    gp_buf_printf(b, " %s %s", gp_memory_is_state(d) ? "held" : "peaked at", BYTES(d->peak_bytes));
    if (d->reserved_at_peak > 0) gp_buf_printf(b, " allocated of %s reserved", BYTES(d->reserved_at_peak));
    if (gp_memory_is_state(d)) gp_buf_puts(b, " when the snapshot was taken");
    put_peak_place(b, m, d);
    if (h && h->bytes > 0) put_largest(b, m, d, h);
    gp_buf_puts(b, ".");
    gp_report_take_verdict(r, GP_TONE_PLAIN, b);
}

static void summarize_cached(struct gp_report *r, struct gp_buf *b, const struct gp_memory *m,
                             const struct gp_memory_device *d)
{
    const struct gp_memory_fragmentation *f = &d->fragmentation;
    int64_t cached = f->free_whole + f->free_split;
    if (!f->known || d->ooms.n || cached < f->reserved / 5 || cached < (int64_t)100 << 20) return;
    gp_memory_device_put(b, m, d);
    gp_buf_printf(b,
                  " keeps %s in the cache at the end: %s in whole segments, which torch.cuda.empty_cache() "
                  "returns, and %s inside used ones.",
                  BYTES(cached), BYTES(f->free_whole), BYTES(f->free_split));
    gp_report_take_verdict(r, GP_TONE_WARN, b);
}

/* ---- gaps ---- */

static void summarize_outside(struct gp_report *r, struct gp_buf *b, const struct gp_memory *m)
{
    int64_t sum = 0;
    for (size_t i = 0; i < m->outside.n; i++) sum += m->outside.at[i].bytes;
    if (!sum) return;
    gp_buf_printf(b, "%s lie outside the allocator, according to the driver; most of it by ", BYTES(sum));
    put_name(b, m, m->outside.at[0].who);
    gp_buf_puts(b, ".");
    gp_report_take_verdict(r, GP_TONE_PLAIN, b);
}

static void summarize_graphs(struct gp_report *r, struct gp_buf *b, const struct gp_memory *m,
                             const struct gp_memory_device *d)
{
    if (!d->graph_launches || d->kind) return;
    gp_memory_device_put(b, m, d);
    gp_buf_printf(b, ": %llu launches of CUDA graphs; what graphs use was allocated when they were recorded",
                  (unsigned long long)d->graph_launches);
    gp_report_take_note(r, GP_TONE_PLAIN, b);
}

static void summarize_history(struct gp_report *r, struct gp_buf *b, const struct gp_memory *m,
                              const struct gp_memory_device *d)
{
    gp_memory_device_put(b, m, d);
    size_t begin = b->n;
    if (d->history == GP_HISTORY_NONE)
        gp_buf_puts(b, ": no history was recorded, so this is the state at the end (_record_memory_history() "
                       "records one)");
    else if (d->history == GP_HISTORY_STATE) gp_buf_puts(b, ": only the state at the end was recorded");
    else if (d->history == GP_HISTORY_SUMS)
        gp_buf_puts(b, ": only sums by category were recorded; allocations, frees and churn are unknown");
    else if (d->history == GP_HISTORY_TAIL && d->base_blocks) {
        gp_buf_printf(b, ": the history begins when %s", BYTES(d->base_bytes));
        if (d->known_base < 0) gp_buf_printf(b, " in %llu blocks", (unsigned long long)d->base_blocks);
        gp_buf_puts(b, " were allocated already");
    }
    if (b->n > begin) gp_report_take_note(r, GP_TONE_WARN, b);
    b->n = 0;
    uint64_t odd = d->lost_frees + d->double_frees + d->size_mismatches;
    if (!odd && !d->unordered) return;
    gp_memory_device_put(b, m, d);
    gp_buf_printf(
        b,
        ": the history contradicts itself: %llu frees are missing, %llu come twice, %llu have another size, "
        "%llu entries go back in time",
        (unsigned long long)d->lost_frees, (unsigned long long)d->double_frees,
        (unsigned long long)d->size_mismatches, (unsigned long long)d->unordered);
    gp_report_take_note(r, GP_TONE_WARN, b);
}

void gp_memory_summary(struct gp_report *r, const struct gp_memory *m)
{
    struct gp_buf b = {0};
    size_t shown = m->devices.n < DEVICES_MOST ? m->devices.n : DEVICES_MOST;
    gp_inputs_quality(r, &m->strings, m->inputs.at, m->inputs.n, true);
    for (size_t i = 0; i < m->devices.n; i++) summarize_history(r, &b, m, &m->devices.at[i]);
    for (size_t i = 0; i < m->devices.n; i++) summarize_graphs(r, &b, m, &m->devices.at[i]);
    summarize_changes(r, &b, m);
    for (size_t i = 0; i < shown; i++) summarize_oom(r, &b, m, &m->devices.at[i]);
    for (size_t i = 0; i < shown; i++) summarize_growth(r, &b, m, &m->devices.at[i]);
    for (size_t i = 0; i < shown; i++) summarize_peak(r, &b, m, &m->devices.at[i]);
    for (size_t i = 0; i < shown; i++) summarize_cached(r, &b, m, &m->devices.at[i]);
    summarize_outside(r, &b, m);
    if (shown < m->devices.n)
        gp_report_verdict(r, GP_TONE_PLAIN, "%zu more devices: see the table of devices.",
                          m->devices.n - shown);
    if (!m->devices.n)
        gp_report_verdict(r, GP_TONE_PLAIN,
                          "No memory events in the input. Record them with profile_memory=True, or save a "
                          "snapshot: torch.cuda.memory._record_memory_history() and _dump_snapshot().");
    gp_buf_release(&b);
}
