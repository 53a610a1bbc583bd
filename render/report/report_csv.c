#include "render/report/report_csv.h"

#include <string.h>
#include "formats/base/json_write.h"
#include "formats/base/utf8.h"

/* Quoted where RFC 4180 wants it, and where readers might trim blanks. */
static void put_field(struct gp_buf *b, const char *s, size_t n)
{
    bool quote = false;
    for (size_t i = 0; i < n && !quote; i++)
        quote = s[i] == '"' || s[i] == ',' || s[i] == '\n' || s[i] == '\r';
    if (n && (s[0] == ' ' || s[n - 1] == ' ')) quote = true;
    if (!quote) {
        gp_utf8_repair(b, s, n);
        return;
    }
    gp_buf_putc(b, '"');
    for (size_t i = 0; i < n;) {
        const char *q = memchr(s + i, '"', n - i);
        size_t end = q ? (size_t)(q - s) + 1 : n;
        gp_utf8_repair(b, s + i, end - i);
        if (q) gp_buf_putc(b, '"');
        i = end;
    }
    gp_buf_putc(b, '"');
}

static void put_cell(struct gp_buf *b, const struct gp_cell *c)
{
    if (c->none) return;
    switch ((enum gp_cell_type)c->type) {
    case GP_CELL_NAME:
    case GP_CELL_TEXT:
        put_field(b, c->text, c->text_len);
        break;
    case GP_CELL_ID:
    case GP_CELL_COUNT:
    case GP_CELL_NS:
    case GP_CELL_US:
    case GP_CELL_CHANGE_NS:
    case GP_CELL_CHANGE_US:
    case GP_CELL_BYTES:
        gp_buf_put_i64(b, c->i);
        break;
    case GP_CELL_PCT:
    case GP_CELL_CHANGE_PCT:
    case GP_CELL_GBPS:
    case GP_CELL_REAL:
    case GP_CELL_NS_REAL:
        gp_json_put_double(b, c->d);
        break;
    }
}

void gp_report_csv_write(struct gp_buf *b, const struct gp_report_table *t)
{
    if (!t) return;
    for (size_t c = 0; c < t->columns.n; c++) {
        if (c) gp_buf_putc(b, ',');
        put_field(b, t->columns.at[c].id, strlen(t->columns.at[c].id));
    }
    gp_buf_puts(b, "\r\n");
    for (size_t row = 0; row < gp_report_rows(t); row++) {
        for (size_t c = 0; c < t->columns.n; c++) {
            if (c) gp_buf_putc(b, ',');
            put_cell(b, gp_report_cell(t, row, c));
        }
        gp_buf_puts(b, "\r\n");
    }
}
