/* The answer in the languages of builds: JUnit, GitHub's annotations, and the JSON that dashboards of
 * benchmarks take. */
#include <inttypes.h>
#include <string.h>
#include "formats/base/buf.h"
#include "formats/base/json_write.h"
#include "formats/base/num.h"
#include "formats/base/utf8.h"
#include "render/diff/diff_priv.h"

/* What a build checks: gates, or the verdict without any. */
struct check {
    const char *name, *why, *place;
    bool broken, undecided;
};

static struct check check_at(const struct gp_diff *d, size_t i)
{
    if (!d->gates.n || !d->comparable)
        return (struct check){"verdict", gp_diff_str(d, d->summary.headline), "", gp_diff_status(d) != 0,
                              false};
    const struct gp_diff_gate *g = &d->gates.at[i];
    return (struct check){gp_diff_str(d, g->text), g->why ? gp_diff_str(d, g->why) : "",
                          gp_diff_str(d, g->place), g->broken, g->undecided};
}

static size_t checks(const struct gp_diff *d) { return d->comparable && d->gates.n ? d->gates.n : 1; }

/* ---- JUnit ---- */

void gp_diff_junit_write(struct gp_buf *b, const struct gp_diff *d)
{
    size_t broken = 0, undecided = 0;
    for (size_t i = 0; i < checks(d); i++) {
        broken += check_at(d, i).broken;
        undecided += check_at(d, i).undecided && !check_at(d, i).broken;
    }
    gp_buf_printf(b,
                  "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n<testsuite name=\"trace-diff\" "
                  "tests=\"%zu\" failures=\"%zu\" errors=\"0\" skipped=\"%zu\">\n",
                  checks(d), broken, undecided);
    for (size_t i = 0; i < checks(d); i++) {
        struct check c = check_at(d, i);
        gp_buf_puts(b, "<testcase classname=\"trace-diff\" name=\"");
        gp_svg_escape(b, c.name, strlen(c.name));
        gp_buf_puts(b, c.broken || c.undecided ? "\">" : "\"/>\n");
        if (!c.broken && !c.undecided) continue;
        gp_buf_puts(b, c.broken ? "<failure message=\"" : "<skipped message=\"");
        gp_svg_escape(b, c.why, strlen(c.why));
        gp_buf_puts(b, "\"/></testcase>\n");
    }
    gp_buf_puts(b, "<system-out>");
    gp_svg_escape(b, gp_diff_str(d, d->summary.headline), strlen(gp_diff_str(d, d->summary.headline)));
    gp_buf_puts(b, "</system-out>\n</testsuite>\n</testsuites>\n");
}

/* ---- GitHub ---- */

/* %, and the ends of lines, and in properties what separates those. */
static void put_escaped(struct gp_buf *b, const char *s, size_t n, bool property)
{
    struct gp_buf clean = {0};
    gp_utf8_clean(&clean, s, n);
    for (size_t i = 0; i < clean.n; i++) {
        char c = clean.data[i];
        if (c == '%' || c == '\n' || c == '\r' || (property && (c == ':' || c == ',')))
            gp_buf_printf(b, "%%%02X", c);
        else gp_buf_putc(b, c);
    }
    gp_buf_release(&clean);
}

/* "model.py:88 forward" as file=model.py,line=88 */
static void put_place(struct gp_buf *b, const char *place)
{
    const char *space = strchr(place, ' '), *end = space ? space : place + strlen(place), *colon = NULL;
    for (const char *p = place; p < end; p++)
        if (*p == ':') colon = p;
    uint64_t line;
    if (!colon || !gp_u64_from_text(colon + 1, (size_t)(end - colon - 1), &line)) return;
    gp_buf_puts(b, "file=");
    put_escaped(b, place, (size_t)(colon - place), true);
    gp_buf_printf(b, ",line=%" PRIu64 ",", line);
}

void gp_diff_github_write(struct gp_buf *b, const struct gp_diff *d)
{
    const char *headline = gp_diff_str(d, d->summary.headline);
    for (size_t i = 0; i < checks(d); i++) {
        struct check c = check_at(d, i);
        if (!c.broken && !c.undecided) continue;
        gp_buf_puts(b, c.broken ? "::error " : "::warning ");
        put_place(b, c.place);
        gp_buf_puts(b, "title=");
        put_escaped(b, c.name, strlen(c.name), true);
        gp_buf_puts(b, "::");
        put_escaped(b, c.why, strlen(c.why), false);
        gp_buf_putc(b, '\n');
    }
    gp_buf_puts(b, "::notice title=trace-diff::");
    put_escaped(b, headline, strlen(headline), false);
    gp_buf_putc(b, '\n');
}

/* ---- dashboards ---- */

/* The current side's figures; smaller is better. */
void gp_diff_benchmark_write(struct gp_buf *b, const struct gp_diff *d)
{
    bool any = false;
    gp_buf_putc(b, '[');
    for (int m = 0; m < GP_METRIC_COUNT; m++) {
        const struct gp_diff_metric *metric = &d->metrics[m];
        const char *name = gp_metric_name((enum gp_metric_id)m), *unit = gp_metric_unit((enum gp_metric_id)m);
        if (!metric->known || metric->refused) continue;
        gp_buf_puts(b, any ? ",\n {\"name\":" : "\n {\"name\":");
        gp_json_put_string(b, name, strlen(name));
        gp_buf_puts(b, ",\"unit\":");
        gp_json_put_string(b, unit, strlen(unit));
        gp_buf_printf(b, ",\"value\":%" PRId64 "}", metric->side[GP_DIFF_CUR]);
        any = true;
    }
    gp_buf_puts(b, "\n]\n");
}
