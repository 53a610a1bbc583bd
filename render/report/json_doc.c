#include "render/report/json_doc.h"

#include <string.h>
#include "formats/base/json_write.h"

enum {
    LINES_TO = 2, /* the depth down to which members have lines of their own */
    CHUNK = 1 << 20
};

/* ---- syntax ---- */

void gp_doc_next(struct gp_doc *d)
{
    if (d->comma) gp_buf_putc(d->b, ',');
    if (d->depth <= LINES_TO && d->depth > 0) {
        gp_buf_putc(d->b, '\n');
        for (int i = 0; i < d->depth; i++) gp_buf_puts(d->b, "  ");
    } else if (d->comma) {
        gp_buf_putc(d->b, ' ');
    }
    d->comma = true;
}

bool gp_doc_room(struct gp_doc *d)
{
    if (d->to && d->b->n > CHUNK) {
        gp_output_write(d->to, d->b->data, d->b->n);
        d->b->n = 0;
    }
    return !d->most || d->b->n <= d->most;
}

void gp_doc_key(struct gp_doc *d, const char *k)
{
    gp_doc_next(d);
    gp_buf_putc(d->b, '"');
    gp_buf_puts(d->b, k);
    gp_buf_puts(d->b, "\": ");
}

void gp_doc_begin(struct gp_doc *d, char bracket)
{
    gp_buf_putc(d->b, bracket);
    d->depth++;
    d->comma = false;
}

void gp_doc_end(struct gp_doc *d, char bracket)
{
    d->depth--;
    if (d->comma && d->depth < LINES_TO) {
        gp_buf_putc(d->b, '\n');
        for (int i = 0; i < d->depth; i++) gp_buf_puts(d->b, "  ");
    }
    gp_buf_putc(d->b, bracket);
    d->comma = true;
}

void gp_doc_list(struct gp_doc *d, const char *k)
{
    gp_doc_key(d, k);
    gp_doc_begin(d, '[');
}

void gp_doc_object(struct gp_doc *d, const char *k)
{
    gp_doc_key(d, k);
    gp_doc_begin(d, '{');
}

void gp_doc_element(struct gp_doc *d)
{
    gp_doc_next(d);
    gp_doc_begin(d, '{');
}

/* ---- members ---- */

void gp_doc_i64(struct gp_doc *d, const char *k, int64_t v)
{
    gp_doc_key(d, k);
    gp_buf_put_i64(d->b, v);
}

void gp_doc_u64(struct gp_doc *d, const char *k, uint64_t v)
{
    gp_doc_key(d, k);
    gp_buf_put_u64(d->b, v);
}

void gp_doc_real(struct gp_doc *d, const char *k, double v)
{
    gp_doc_key(d, k);
    gp_json_put_double(d->b, v);
}

void gp_doc_null(struct gp_doc *d, const char *k)
{
    gp_doc_key(d, k);
    gp_buf_puts(d->b, "null");
}

void gp_doc_bool(struct gp_doc *d, const char *k, bool v)
{
    gp_doc_key(d, k);
    gp_buf_puts(d->b, v ? "true" : "false");
}

void gp_doc_cstr(struct gp_doc *d, const char *k, const char *s)
{
    gp_doc_key(d, k);
    gp_json_put_string(d->b, s, strlen(s));
}

void gp_doc_sid(struct gp_doc *d, const char *k, gp_sid sid)
{
    gp_doc_key(d, k);
    gp_json_put_string(d->b, gp_string(d->strings, sid), gp_string_len(d->strings, sid));
}

void gp_doc_name(struct gp_doc *d, const char *k, gp_sid sid)
{
    if (gp_string_len(d->strings, sid)) gp_doc_sid(d, k, sid);
    else gp_doc_null(d, k);
}

void gp_doc_sids(struct gp_doc *d, const char *k, const gp_sid *at, size_t n)
{
    gp_doc_list(d, k);
    for (size_t i = 0; i < n; i++) {
        gp_doc_next(d);
        gp_json_put_string(d->b, gp_string(d->strings, at[i]), gp_string_len(d->strings, at[i]));
    }
    gp_doc_end(d, ']');
}

void gp_doc_known(struct gp_doc *d, const char *k, int64_t v)
{
    if (v < 0) gp_doc_null(d, k);
    else gp_doc_i64(d, k, v);
}

void gp_doc_issue(struct gp_doc *d, const char *kind, uint64_t count, int64_t offset)
{
    if (!count) return;
    gp_doc_element(d);
    gp_doc_cstr(d, "kind", kind);
    gp_doc_u64(d, "count", count);
    gp_doc_known(d, "first_offset", offset);
    gp_doc_end(d, '}');
}

/* ---- inputs and quality ---- */

static void put_issues(struct gp_doc *d, const struct gp_issue issues[GP_ISSUE_COUNT])
{
    gp_doc_list(d, "issues");
    for (int k = 0; k < GP_ISSUE_COUNT; k++)
        gp_doc_issue(d, gp_issue_name((enum gp_issue_kind)k), issues[k].count, issues[k].first_offset);
    gp_doc_end(d, ']');
}

void gp_doc_input(struct gp_doc *d, const struct gp_input_quality *in)
{
    gp_doc_element(d);
    gp_doc_sid(d, "path", in->path);
    gp_doc_sid(d, "format", in->format);
    gp_doc_sid(d, "compression", in->compression);
    gp_doc_known(d, "rank", in->rank);
    gp_doc_u64(d, "events", in->events);
    gp_doc_u64(d, "gpu_events", in->gpu_events);
    gp_doc_sid(d, "verdict", in->verdict);
    gp_doc_bool(d, "truncated", in->truncated);
    gp_doc_u64(d, "events_skipped", in->skipped);
    put_issues(d, in->issues);
    gp_doc_end(d, '}');
}

static int badness(const char *verdict)
{
    return !strcmp(verdict, "clean") ? 0 : !strcmp(verdict, "unusable") ? 2 : 1;
}

/* Of all inputs together: the worst verdict, unless other inputs are usable. An offset is given only for a
 * single input. */
static void put_quality(struct gp_doc *d, const struct gp_input_quality *inputs, size_t n)
{
    static const char *const words[] = {"clean", "repaired", "unusable"};
    struct gp_issue sum[GP_ISSUE_COUNT] = {{0}};
    uint64_t skipped = 0;
    bool truncated = false;
    int worst = 0;
    size_t unusable = 0;
    for (size_t i = 0; i < n; i++) {
        const struct gp_input_quality *in = &inputs[i];
        int bad = badness(gp_string(d->strings, in->verdict));
        if (bad > worst) worst = bad;
        unusable += bad == 2;
        truncated |= in->truncated;
        skipped += in->skipped;
        for (int k = 0; k < GP_ISSUE_COUNT; k++) {
            sum[k].count += in->issues[k].count;
            sum[k].first_offset = n == 1 ? in->issues[k].first_offset : -1;
        }
    }
    if (unusable && unusable < n) worst = 1;
    gp_doc_object(d, "quality");
    gp_doc_cstr(d, "verdict", words[worst]);
    gp_doc_bool(d, "truncated", truncated);
    gp_doc_u64(d, "events_skipped", skipped);
    put_issues(d, sum);
    gp_doc_end(d, '}');
}

void gp_doc_head_of(struct gp_doc *d, const struct gp_doc_tool *tool, const struct gp_input_quality *inputs,
                    size_t n, size_t judged)
{
    gp_doc_key(d, "schema");
    gp_buf_printf(d->b, "\"gpuprof/%s/1\"", tool->document);
    gp_doc_cstr(d, "tool", tool->name);
    gp_doc_cstr(d, "version", tool->version);
    gp_doc_list(d, "inputs");
    for (size_t i = 0; i < n; i++) gp_doc_input(d, &inputs[i]);
    gp_doc_end(d, ']');
    put_quality(d, inputs, judged);
}

void gp_doc_head(struct gp_doc *d, const char *tool, const char *version,
                 const struct gp_input_quality *inputs, size_t n)
{
    gp_doc_head_of(d, &(struct gp_doc_tool){tool, tool, version}, inputs, n, n);
}

void gp_doc_summary(struct gp_doc *d, const struct gp_report *r)
{
    struct gp_buf text = {0};
    for (size_t i = 0; i < r->verdict.n; i++)
        gp_buf_printf(&text, "%s%s", i ? " " : "", r->verdict.at[i].text);
    gp_doc_object(d, "summary");
    if (text.n) gp_doc_cstr(d, "headline", gp_buf_str(&text));
    else gp_doc_null(d, "headline");
    gp_doc_end(d, '}');
    gp_buf_release(&text);
}
