/* What the JSON documents of all tools begin with. */
#include <string.h>
#include "formats/base/buf.h"
#include "render/report/record.h"

/* ---- inputs and quality ---- */

void gp_doc_input(struct gp_doc *d, const struct gp_input_quality *in)
{
    gp_record_rows(d, &gp_inputs, in, 1, &(struct gp_row_of){.strings = d->strings});
}

static void put_issues(struct gp_doc *d, const struct gp_issue issues[GP_ISSUE_COUNT])
{
    struct gp_input_issue there[GP_ISSUE_COUNT];
    size_t n = gp_input_issues_of(there, 0, issues);
    gp_record_json(d, &gp_input_issues, there, n, 0, &(struct gp_row_of){.strings = d->strings});
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
