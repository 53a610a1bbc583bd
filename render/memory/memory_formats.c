#include "render/memory/memory_formats.h"

#include <string.h>
#include "formats/base/buf.h"
#include "formats/base/str.h"
#include "render/memory/memory_priv.h"

/* ---- CSV ---- */

enum { CHUNK = 1 << 16 };

static void put_sid(struct gp_buf *b, const struct gp_memory *m, gp_sid sid)
{
    gp_buf_putc(b, ',');
    gp_report_csv_put(b, gp_memory_str(m, sid), gp_string_len(&m->strings, sid));
}

static void put_time(struct gp_buf *b, const struct gp_memory_device *d, uint32_t position)
{
    int64_t ns = position > d->rows ? INT64_MIN : gp_memory_time(d, position);
    gp_buf_putc(b, ',');
    if (ns != INT64_MIN) gp_buf_put_i64(b, ns);
}

/* A remark on the whole input: the last column of every line, HEAD in the first. */
static void end_line(struct gp_buf *b, const struct gp_memory *m, bool head)
{
    if (m->untimed) {
        gp_buf_putc(b, ',');
        if (head) gp_buf_puts(b, "note");
        else gp_report_csv_put(b, GP_TEXT(GP_UNTIMED_TEXT));
    }
    gp_buf_puts(b, "\r\n");
}

static void put_life(struct gp_buf *b, const struct gp_memory *m, const struct gp_memory_device *d,
                     const struct gp_memory_life *l)
{
    const struct gp_memory_site *site = &d->sites.at[l->site];
    uint32_t step = l->begin ? gp_memory_step_at(d, l->begin) : UINT32_MAX;
    bool recorded;
    gp_report_csv_put(b, gp_memory_str(m, d->label), gp_string_len(&m->strings, d->label));
    gp_buf_putc(b, ',');
    gp_buf_put_u64(b, l->addr);
    gp_buf_putc(b, ',');
    gp_buf_put_i64(b, l->bytes);
    gp_buf_putc(b, ',');
    gp_buf_put_i64(b, l->requested);
    put_time(b, d, l->begin);
    put_time(b, d, l->end);
    gp_buf_putc(b, ',');
    gp_buf_put_u64(b, l->stream < d->s->streams.n ? d->s->streams.at[l->stream] : 0);
    put_sid(b, m, step < d->steps.n ? d->steps.at[step].name : 0);
    put_sid(b, m, site->range ? site->range : l->span == GP_NO_SPAN ? 0 : d->spans.at[l->span].name);
    put_sid(b, m, site->op);
    gp_buf_putc(b, ',');
    gp_buf_puts(b, gp_category_name(gp_memory_category(d, l, &recorded)));
    gp_buf_putc(b, ',');
    gp_buf_put_u64(b, l->site);
    end_line(b, m, false);
}

static void flush(struct gp_output *out, struct gp_buf *b, size_t limit)
{
    if (b->n < limit) return;
    gp_output_write(out, b->data, b->n);
    b->n = 0;
}

/* One row per block: device, addr, bytes, requested, alloc_ns, free_ns, stream, step, range, op, category,
 * stack. */
static void write_allocations(struct gp_output *out, const struct gp_memory *m)
{
    struct gp_buf b = {0};
    gp_buf_puts(&b, "device,addr,bytes,requested_bytes,alloc_ns,free_ns,stream,step,range,op,category,stack");
    end_line(&b, m, true);
    GP_EACH(const struct gp_memory_device, d, m->devices) {
        if (d->history == GP_HISTORY_SUMS) continue; /* no blocks are known */
        for (size_t k = 0; k < d->lives.n; k++) {
            if (!d->lives.at[k].end) continue;
            put_life(&b, m, d, &d->lives.at[k]);
            flush(out, &b, CHUNK);
        }
    }
    flush(out, &b, 1);
    gp_buf_release(&b);
}

static void put_frames(struct gp_buf *b, struct gp_buf *text, const struct gp_snapshot *s, uint32_t stack)
{
    text->n = 0;
    for (uint32_t i = 0; i < s->stacks.at[stack].n; i++) {
        const struct gp_snapshot_frame *f = &s->frames.at[s->stack_frames.at[s->stacks.at[stack].first + i]];
        if (i) gp_buf_puts(text, " < ");
        gp_buf_puts(text, gp_string(&s->strings, f->file));
        if (f->line > 0) gp_buf_printf(text, ":%d", (int)f->line);
        if (*gp_string(&s->strings, f->file) || f->line > 0) gp_buf_putc(text, ' ');
        gp_buf_puts(text, gp_string(&s->strings, f->name));
    }
    gp_buf_putc(b, ',');
    gp_report_csv_put(b, text->n ? text->data : "", text->n);
}

/* One row per stack: its number as the rows of blocks have it, its key, and its frames, innermost first. */
static void write_stacks(struct gp_output *out, const struct gp_memory *m)
{
    struct gp_buf b = {0}, text = {0};
    gp_buf_puts(&b, "device,stack,key,range,op,module,frames");
    end_line(&b, m, true);
    GP_EACH(const struct gp_memory_device, d, m->devices) {
        for (size_t k = 0; k < d->sites.n; k++) {
            const struct gp_memory_site *site = &d->sites.at[k];
            gp_report_csv_put(&b, gp_memory_str(m, d->label), gp_string_len(&m->strings, d->label));
            gp_buf_printf(&b, ",%zu", k);
            put_sid(&b, m, site->key);
            put_sid(&b, m, site->range);
            put_sid(&b, m, site->op);
            put_sid(&b, m, site->module);
            put_frames(&b, &text, d->s, site->stack);
            end_line(&b, m, false);
            flush(out, &b, CHUNK);
        }
    }
    flush(out, &b, 1);
    gp_buf_release(&b);
    gp_buf_release(&text);
}

/* ---- formats ---- */

static void put_text(void *answer, struct gp_buf *b)
{
    struct gp_memory_answer *a = answer;
    struct gp_report r = {0};
    struct gp_report_text_opts o = {.color = a->color, .width = a->width};
    gp_memory_report(&r, a->m, &(struct gp_memory_report_opts){.top = a->top, .verbose = a->verbose});
    const struct gp_report_table *t = a->table ? gp_report_find(&r, a->table) : NULL;
    if (t) gp_report_text_table(b, t, &o);
    else if (!a->table) gp_report_text_write(b, &r, &o);
    a->empty = a->table && !t;
    gp_report_release(&r);
}

GP_PUT_MARKDOWN(put_markdown, struct gp_memory_answer,
                gp_memory_report(&r, a->m,
                                 &(struct gp_memory_report_opts){.top = a->top, .verbose = a->verbose}))

static void write_json(void *answer, struct gp_output *to)
{
    const struct gp_memory_answer *a = answer;
    gp_memory_json(to, a->m, GP_VERSION);
}

static void write_csv(void *answer, struct gp_output *to)
{
    struct gp_memory_answer *a = answer;
    struct gp_report r = {0};
    struct gp_buf b = {0};
    if (!a->table || !strcmp(a->table, "allocations")) {
        write_allocations(to, a->m);
        return;
    }
    if (!strcmp(a->table, "stacks")) {
        write_stacks(to, a->m);
        return;
    }
    gp_memory_report(&r, a->m, &(struct gp_memory_report_opts){.top = a->top, .verbose = true});
    const struct gp_report_table *t = gp_report_find(&r, a->table);
    gp_report_csv_write(&b, t, a->m->untimed ? GP_UNTIMED_TEXT : NULL);
    a->empty = !t;
    gp_report_release(&r);
    gp_output_write(to, b.data, b.n);
    gp_buf_release(&b);
}

static void write_folded(void *answer, struct gp_output *to)
{
    const struct gp_memory_answer *a = answer;
    gp_memory_folded(to, a->m);
}

GP_PUT_ANSWER(put_html, struct gp_memory_answer, gp_memory_html_write(b, a))

const struct gp_answer_format gp_memory_formats[] = {
    {"text", 10, GP_MEMORY_TAKES_TABLE, .put = put_text},
    {"markdown", 10, 0, .put = put_markdown},
    {"json", 0, 0, .write = write_json},
    {"csv", 0, GP_MEMORY_TAKES_TABLE, .write = write_csv},
    {"html", 200, GP_MEMORY_TAKES_PAGES, .put = put_html},
    {"folded", 0, 0, .write = write_folded},
    {0},
};
