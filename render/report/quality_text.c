#include "render/report/quality_text.h"

#include <string.h>
#include "analyze/view/quality_line.h"
#include "formats/base/buf.h"
#include "render/draw/text.h"

static void say_line(void *ctx, const char *line, bool usable)
{
    struct gp_buf b = {0};
    gp_text_clean(&b, line, strlen(line));
    gp_report_note(ctx, usable ? GP_TONE_WARN : GP_TONE_BAD, "%s", gp_buf_str(&b));
    gp_buf_release(&b);
}

void gp_inputs_say(struct gp_report *r, const struct gp_strings *s, const struct gp_input_quality *inputs,
                   size_t n, bool damage)
{
    gp_quality_lines(s, inputs, n, damage, say_line, r);
}
