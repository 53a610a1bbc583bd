#include "render/report/quality_text.h"

#include <string.h>
#include "formats/base/scale.h"
#include "render/draw/text.h"

enum { QUALITY_LINES = 8 };

static void say_input(struct gp_report *r, const struct gp_strings *s, const struct gp_input_quality *in,
                      struct gp_buf *b)
{
    const char *path = gp_string(s, in->path);
    gp_text_clean(b, path, strlen(path));
    gp_buf_puts(b, ": ");
    bool first = true;
    for (int k = 0; k < GP_ISSUE_COUNT; k++) {
        const struct gp_issue *q = &in->issues[k];
        if (!q->count) continue;
        gp_buf_puts(b, first ? "" : "; ");
        first = false;
        gp_buf_puts(b, gp_issue_text((enum gp_issue_kind)k));
        bool once = k == GP_Q_TRUNCATED || k == GP_Q_COMPRESSION; /* there is one end */
        if (q->count > 1 || !once) {
            gp_buf_puts(b, ": ");
            gp_scale_put_count(b, q->count);
        }
        if (q->first_offset >= 0) {
            gp_buf_puts(b, q->count > 1 ? " (first at byte " : " (byte ");
            gp_scale_put_count(b, (uint64_t)q->first_offset);
            gp_buf_putc(b, ')');
        }
    }
    if (first) gp_buf_puts(b, gp_string(s, in->verdict));
    bool usable = strcmp(gp_string(s, in->verdict), "unusable");
    gp_report_say(r, false, usable ? GP_TONE_WARN : GP_TONE_BAD, "%s", gp_buf_str(b));
    b->n = 0;
}

static bool is_clean(const struct gp_strings *s, const struct gp_input_quality *in, bool damage)
{
    if (damage && !strcmp(gp_string(s, in->verdict), "clean")) return true;
    for (int k = 0; k < GP_ISSUE_COUNT; k++)
        if (in->issues[k].count) return false;
    return true;
}

void gp_inputs_say(struct gp_report *r, const struct gp_strings *s, const struct gp_input_quality *inputs,
                   size_t n, bool damage)
{
    struct gp_buf b = {0};
    size_t damaged = 0;
    for (size_t i = 0; i < n; i++) {
        if (is_clean(s, &inputs[i], damage)) continue;
        if (++damaged <= QUALITY_LINES) say_input(r, s, &inputs[i], &b);
    }
    if (damaged > QUALITY_LINES)
        gp_report_say(r, false, GP_TONE_WARN, "and %zu more inputs like these", damaged - QUALITY_LINES);
    gp_buf_release(&b);
}
