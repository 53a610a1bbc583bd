#include "analyze/view/quality_line.h"

#include <string.h>
#include "formats/base/buf.h"
#include "formats/base/scale.h"

enum { MOST_LINES = 8 };

bool gp_quality_line(struct gp_buf *b, const struct gp_issue issues[GP_ISSUE_COUNT])
{
    bool any = false;
    for (int k = 0; k < GP_ISSUE_COUNT; k++) {
        const struct gp_issue *q = &issues[k];
        bool once = k == GP_Q_TRUNCATED || k == GP_Q_COMPRESSION || k == GP_Q_COUNTERS; /* of an input */
        if (!q->count) continue;
        if (any) gp_buf_puts(b, "; ");
        any = true;
        gp_buf_puts(b, gp_issue_text((enum gp_issue_kind)k));
        if (k != GP_Q_COUNTERS && (q->count > 1 || !once)) {
            gp_buf_puts(b, ": ");
            gp_scale_put_count(b, q->count);
        }
        if (q->first_offset < 0) continue;
        gp_buf_puts(b, " (first at byte ");
        gp_buf_put_i64(b, q->first_offset);
        gp_buf_putc(b, ')');
    }
    return any;
}

static bool is_clean(const struct gp_strings *s, const struct gp_input_quality *in, bool damage_only)
{
    if (in->issues[GP_Q_COUNTERS].count) return false;
    if (damage_only && !strcmp(gp_string(s, in->verdict), "clean")) return true;
    for (int k = 0; k < GP_ISSUE_COUNT; k++)
        if (in->issues[k].count) return false;
    return true;
}

void gp_quality_lines(const struct gp_strings *s, const struct gp_input_quality *in, size_t n,
                      bool damage_only, void (*say)(void *ctx, const char *line, bool usable), void *ctx)
{
    struct gp_buf b = {0};
    size_t lines = 0;
    for (size_t i = 0; i < n; i++) {
        if (is_clean(s, &in[i], damage_only) || ++lines > MOST_LINES) continue;
        gp_buf_printf(&b, "%s: ", gp_string(s, in[i].path));
        if (!gp_quality_line(&b, in[i].issues)) gp_buf_puts(&b, gp_string(s, in[i].verdict));
        say(ctx, gp_buf_str(&b), strcmp(gp_string(s, in[i].verdict), "unusable") != 0);
        b.n = 0;
    }
    if (lines > MOST_LINES) {
        gp_buf_printf(&b, "and %zu more inputs like these", lines - MOST_LINES);
        say(ctx, gp_buf_str(&b), true);
    }
    gp_buf_release(&b);
}
