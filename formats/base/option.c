#include "formats/base/option.h"

#include "formats/base/answer.h"
#include "formats/base/buf.h"

struct gp_option gp_option_plain(const struct gp_tool *tool, const struct gp_option *o, struct gp_buf *text)
{
    struct gp_option plain = *o;
    if (o->kind != GP_OPT_FORMAT) return plain;
    for (const struct gp_answer_format *f = tool->formats; f->name; f++)
        gp_buf_printf(text, "%s%s", f == tool->formats ? "" : "|", f->name);
    gp_buf_putc(text, '\0');
    size_t help = text->n;
    gp_buf_printf(text, "%s (default: %s)", o->help, tool->formats->name);
    plain.kind = GP_OPT_CHOICE;
    plain.arg = gp_buf_str(text);
    plain.help = plain.arg + help;
    return plain;
}
