#include "render/report/report.h"

#include <string.h>
#include "formats/base/buf.h"
#include "formats/base/count.h"
#include "formats/base/json_write.h"
#include "formats/base/str.h"
#include "render/draw/text.h"

/* A spreadsheet reads a cell that begins like this as a formula; some take the full-width forms for the
 * same. */
static bool is_formula(const char *s, size_t n)
{
    static const char *const wide[] = {"\uFF1D", "\uFF0B", "\uFF0D", "\uFF20"};
    if (n && strchr("=+-@\t\r", s[0]) && s[0]) return true;
    for (size_t i = 0; i < GP_COUNT(wide); i++)
        if (gp_begin(s, n, wide[i])) return true;
    return false;
}

/* Printable ASCII that needs no quotes: almost every name. */
static bool is_plain(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (s[i] < 0x20 || s[i] > 0x7e || s[i] == ',' || s[i] == '"') return false;
    return !n || (s[0] != ' ' && s[n - 1] != ' ');
}

/* Quoted where RFC 4180 requires it, and where readers might trim blanks. */
static void put_clean(struct gp_buf *b, const char *s, size_t n)
{
    bool quote = n && (s[0] == ' ' || s[n - 1] == ' ');
    for (size_t i = 0; i < n && !quote; i++) quote = s[i] == '"' || s[i] == ',' || s[i] == '\n';
    if (quote) gp_buf_putc(b, '"');
    for (size_t i = 0; i < n; i++) {
        if (s[i] == '"') gp_buf_putc(b, '"');
        gp_buf_putc(b, s[i]);
    }
    if (quote) gp_buf_putc(b, '"');
}

void gp_report_csv_put(struct gp_buf *b, const char *s, size_t n)
{
    struct gp_buf clean = {0};
    bool formula = is_formula(s, n);
    if (!formula && is_plain(s, n)) {
        gp_buf_put(b, s, n);
        return;
    }
    if (formula) gp_buf_putc(&clean, '\'');
    for (size_t i = 0; i < n;) {
        struct gp_char c = s[i] == '\n' ? (struct gp_char){'\n', 1} : gp_text_next(s + i, n - i);
        gp_text_put(&clean, c.cp);
        i += c.len;
    }
    put_clean(b, clean.data, clean.n);
    gp_buf_release(&clean);
}

void gp_report_csv_cell(struct gp_buf *b, const struct gp_cell *c)
{
    if (c->none) return;
    switch (gp_cell_form(c->type)) {
    case GP_FORM_TEXT: gp_report_csv_put(b, c->text, c->text_len); break;
    case GP_FORM_BOOL: gp_buf_puts(b, c->i ? "true" : "false"); break;
    case GP_FORM_INTEGER: gp_buf_put_i64(b, c->i); break;
    case GP_FORM_REAL: gp_json_put_double(b, c->d); break;
    case GP_FORM_OTHER: break; /* no cells of tables */
    }
}

/* The end of a line that has N cells. */
static void end_line(struct gp_buf *b, size_t n, const char *last)
{
    if (last && n) gp_buf_putc(b, ',');
    if (last) gp_report_csv_put(b, last, strlen(last));
    gp_buf_puts(b, "\r\n");
}

/* The sum of rows left out. */
static void put_more(struct gp_buf *b, const struct gp_report_table *t, const char *note)
{
    bool named = false;
    for (size_t c = 0; c < t->columns.n; c++) {
        bool name = !named && t->columns.at[c].type <= GP_CELL_TEXT;
        named |= name;
        if (c) gp_buf_putc(b, ',');
        if (name) gp_buf_puts(b, "(other)");
        if (c + 1 == t->more_column) gp_buf_put_i64(b, t->more_sum);
    }
    end_line(b, t->columns.n, note);
}

void gp_report_csv_write(struct gp_buf *b, const struct gp_report_table *t, const char *note)
{
    size_t columns = t ? t->columns.n : 0, rows = t ? gp_report_rows(t) : 0;
    if (!t && !note) return;
    for (size_t c = 0; c < columns; c++) {
        if (c) gp_buf_putc(b, ',');
        gp_report_csv_put(b, t->columns.at[c].id, strlen(t->columns.at[c].id));
    }
    end_line(b, columns, note ? "note" : NULL);
    for (size_t row = 0; row < rows; row++) {
        for (size_t c = 0; c < columns; c++) {
            if (c) gp_buf_putc(b, ',');
            gp_report_csv_cell(b, gp_report_cell(t, row, c));
        }
        end_line(b, columns, note);
    }
    if (t && t->more_column) put_more(b, t, note);
    for (size_t c = 1; c < columns && !rows && note; c++) gp_buf_putc(b, ',');
    if (!rows && note) end_line(b, columns, note);
}
