#include "formats/base/option.h"

struct gp_option gp_option_plain(const struct gp_tool *tool, const struct gp_option *o, struct gp_buf *text)
{
    struct gp_option plain = *o;
    const char *word;
    if (o->kind != GP_OPT_FORMAT) return plain;
    for (size_t i = 0; (word = tool->format_name(i)); i++) {
        if (i) gp_buf_putc(text, '|');
        gp_buf_puts(text, word);
    }
    gp_buf_putc(text, '\0');
    size_t help = text->n;
    gp_buf_printf(text, "%s (default: %s)", o->help, tool->format_name(0));
    plain.kind = GP_OPT_CHOICE;
    plain.arg = gp_buf_str(text);
    plain.help = plain.arg + help;
    return plain;
}
