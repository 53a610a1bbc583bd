#include "render/report/report.h"

#include <string.h>
#include "formats/base/buf.h"
#include "formats/base/utf8.h"

/* What GitHub takes as a comment ends at 65,536 characters. */
enum { MOST = 60000, ROWS = 30, OPEN_ROWS = 10, OPEN_TABLES = 3 };

static const char CUT[] = "\n_More than a comment holds: `-f html` has the rest._\n";

void gp_report_markdown_put(struct gp_buf *b, const char *s, size_t n)
{
    struct gp_buf clean = {0};
    gp_utf8_clean(&clean, s, n);
    for (size_t i = 0; i < clean.n; i++) {
        char c = clean.data[i];
        if (c == '@' || c == '#')
            gp_buf_printf(b, "&#%d;", c); /* neither calls a person nor names an issue */
        else if (c == '<') gp_buf_puts(b, "&lt;");
        else if (c == '&') gp_buf_puts(b, "&amp;");
        else if (c == '\n') gp_buf_putc(b, ' ');
        else {
            if (strchr("|\\`*_[]~$", c)) gp_buf_putc(b, '\\');
            gp_buf_putc(b, c);
        }
    }
    gp_buf_release(&clean);
}

static void put_text(struct gp_buf *b, const char *s) { gp_report_markdown_put(b, s, strlen(s)); }

/* Columns without any content are left out, as in text. */
static bool is_shown(const struct gp_report_table *t, size_t column)
{
    if (t->columns.at[column].flags & GP_COLUMN_WIDE) return false;
    for (size_t row = 0; row < gp_report_rows(t); row++)
        if (!gp_report_cell(t, row, column)->none) return true;
    return false;
}

static void put_row(struct gp_buf *b, const struct gp_report_table *t, size_t row)
{
    struct gp_buf cell = {0};
    for (size_t c = 0; c < t->columns.n; c++) {
        if (!is_shown(t, c)) continue;
        cell.n = 0;
        gp_cell_put(&cell, gp_report_cell(t, row, c));
        gp_buf_puts(b, "| ");
        gp_report_markdown_put(b, gp_buf_str(&cell), cell.n);
        gp_buf_putc(b, ' ');
    }
    gp_buf_puts(b, "|\n");
    gp_buf_release(&cell);
}

static void put_table(struct gp_buf *b, const struct gp_report_table *t, bool folded)
{
    size_t rows = gp_report_rows(t), shown = rows > ROWS ? ROWS : rows;
    folded |= rows > OPEN_ROWS;
    if (folded) gp_buf_printf(b, "\n<details><summary>%s</summary>\n\n", t->title);
    else gp_buf_printf(b, "\n**%s**\n\n", t->title);
    for (int line = 0; line < 2; line++) {
        for (size_t c = 0; c < t->columns.n; c++) {
            bool number = gp_cell_is_number((enum gp_cell_type)t->columns.at[c].type);
            if (!is_shown(t, c)) continue;
            gp_buf_puts(b, !line ? "| " : number ? "|---:" : "|:---");
            if (!line) put_text(b, t->columns.at[c].heading);
            if (!line) gp_buf_putc(b, ' ');
        }
        gp_buf_puts(b, "|\n");
    }
    for (size_t row = 0; row < shown; row++) put_row(b, t, row);
    if (shown < rows) gp_buf_printf(b, "\n_and %zu more rows_\n", rows - shown);
    else if (t->more) {
        gp_buf_puts(b, "\n_");
        put_text(b, t->more);
        gp_buf_puts(b, "_\n");
    }
    if (folded) gp_buf_puts(b, "\n</details>\n");
}

void gp_report_markdown_write(struct gp_buf *b, const struct gp_report *r)
{
    size_t begin = b->n, shown = 0;
    if (r->title) {
        gp_buf_puts(b, "### ");
        put_text(b, r->title);
        gp_buf_puts(b, "\n\n");
    }
    for (size_t i = 0; i < r->verdict.n; i++) {
        if (!i) gp_buf_puts(b, "**");
        put_text(b, r->verdict.at[i].text);
        gp_buf_puts(b, i ? "\n\n" : "**\n\n");
    }
    for (size_t i = 0; i < r->quality.n; i++) {
        gp_buf_puts(b, "> ");
        put_text(b, r->quality.at[i].text);
        gp_buf_puts(b, "\n\n");
    }
    for (size_t i = 0; i < r->tables.n; i++) {
        size_t before = b->n;
        if (r->tables.at[i]->detail || !gp_report_rows(r->tables.at[i])) continue;
        put_table(b, r->tables.at[i], shown++ >= OPEN_TABLES);
        if (b->n - begin <= MOST - sizeof CUT) continue;
        b->n = before;
        gp_buf_puts(b, CUT);
        return;
    }
}
