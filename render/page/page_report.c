#include "render/page/page_report.h"

#include <stdlib.h>
#include <string.h>
#include "formats/base/buf.h"
#include "formats/base/scale.h"
#include "formats/base/str.h"
#include "render/draw/palette.h"
#include "render/page/page_html.h"

void gp_page_link(struct gp_svg *w, const char *id, const char *title)
{
    struct gp_buf href = {0};
    gp_page_open(w, "a", NULL);
    gp_buf_printf(&href, "#%s", id);
    gp_svg_attr_n(w, "href", href.data, href.n);
    gp_page_text(w, title);
    gp_svg_close(w);
    gp_buf_release(&href);
}

void gp_page_address_put(struct gp_buf *b, const char *s, size_t n, const char *safe)
{
    for (size_t i = 0; i < n; i++) {
        char c = s[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                     (c && strchr(safe, c));
        if (plain) gp_buf_putc(b, c);
        else gp_buf_printf(b, "%%%02x", (unsigned char)c);
    }
}

void gp_page_file_put(struct gp_buf *b, const char *file)
{
    if (file[0] != '/') gp_buf_puts(b, "./");
    gp_page_address_put(b, file, strlen(file), "/-._~");
}

void gp_page_href(struct gp_svg *w, const char *file, const char *text)
{
    struct gp_buf href = {0};
    gp_page_file_put(&href, file);
    gp_page_open(w, "a", NULL);
    gp_svg_attr_n(w, "href", href.data, href.n);
    gp_page_text(w, text);
    gp_svg_close(w);
    gp_buf_release(&href);
}

void gp_page_graph(struct gp_svg *w, const struct gp_buf *drawn, const char *label)
{
    gp_page_open(w, "figure", "pan");
    gp_svg_attr(w, "tabindex", "0"); /* so that keys can scroll it */
    gp_svg_attr(w, "aria-label", label);
    gp_svg_text(w, "", 0);
    gp_buf_put(w->out, drawn->data, drawn->n);
    gp_svg_close_line(w);
}

/* ---- table html ---- */

/* Labels up to this many bytes need no tooltip to be read in full. */
enum { SHORT_NAME = 32 };
/* More rows than this do not all go on paper. */
enum { PAPER_ROWS = 40 };

static void put_count(struct gp_svg *w, struct gp_buf *text, size_t rows, size_t shown)
{
    if (shown < rows) gp_buf_printf(text, "%s of ", GP_COUNTED(shown));
    gp_buf_printf(text, "%s row%s", GP_COUNTED(rows), rows == 1 ? "" : "s");
    gp_page_take(w, text, "span", "count");
}

static bool is_number(const struct gp_report_column *c)
{
    return gp_cell_is_number((enum gp_cell_type)c->type);
}

/* Does the column have any content? Ranks, for example, are known for few traces. */
static bool is_used(const struct gp_report_table *t, size_t column)
{
    if ((t->columns.at[column].flags & GP_COLUMN_RAW) == GP_COLUMN_RAW) return false;
    for (size_t row = 0; row < gp_report_rows(t); row++)
        if (!gp_report_cell(t, row, column)->none) return true;
    return false;
}

static void put_head(struct gp_svg *w, const struct gp_report_table *t, const bool *used)
{
    gp_page_open(w, "thead", NULL);
    gp_page_open(w, "tr", NULL);
    for (size_t i = 0; i < t->columns.n; i++) {
        const struct gp_report_column *c = &t->columns.at[i];
        if (!used[i]) continue;
        bool wide = c->flags & GP_COLUMN_WIDE;
        gp_page_open(w, "th", is_number(c) ? (wide ? "n wide" : "n") : wide ? "wide" : NULL);
        gp_svg_attr(w, "scope", "col");
        gp_svg_attr(w, "data-id", c->id);
        if (c->help) gp_svg_attr(w, "title", c->help);
        gp_page_text(w, c->heading);
        gp_svg_close(w);
    }
    gp_svg_close(w);
    gp_svg_close_line(w);
}

/* The value by which the cell is sorted, and as which it is copied. */
static void put_value(struct gp_svg *w, struct gp_buf *text, const struct gp_cell *c)
{
    if (gp_cell_form(c->type) == GP_FORM_REAL) gp_buf_printf(text, "%.6g", c->d);
    else gp_buf_put_i64(text, c->i);
    gp_svg_attr_n(w, "data-v", text->data, text->n);
    text->n = 0;
}

static void put_row(struct gp_svg *w, struct gp_buf *text, const struct gp_report_table *t, size_t row,
                    const bool *used, const struct gp_table_html_opts *o)
{
    int class = row < t->classes.n ? t->classes.at[row] : 0;
    const char *swatch = class && o->swatch ? o->swatch(class) : NULL;
    gp_page_open(w, "tr", NULL);
    for (size_t i = 0; i < t->columns.n; i++) {
        const struct gp_cell *c = gp_report_cell(t, row, i);
        if (!used[i]) continue;
        if (gp_cell_is_number((enum gp_cell_type)c->type)) {
            bool bar = t->columns.at[i].flags & GP_COLUMN_BAR && c->type == GP_CELL_PCT && !c->none;
            gp_page_open(w, "td", bar ? "n bar" : "n");
            if (!c->none) put_value(w, text, c);
            if (bar) {
                /* A share as the length of a bar after the number. */
                double pct = c->d < 0 ? 0 : c->d > 100 ? 100 : c->d;
                gp_buf_printf(text, "--p:%.1f%%", pct);
                gp_svg_attr_n(w, "style", text->data, text->n);
                text->n = 0;
            }
            gp_cell_put(text, c);
            gp_svg_text(w, text->data, text->n);
            text->n = 0;
            gp_svg_close(w);
        } else {
            gp_page_open(w, "td", c->none ? NULL : c->type == GP_CELL_NAME ? "name" : "words");
            bool text_cell = !c->none && c->type != GP_CELL_BOOL;
            bool other =
                text_cell && (c->label_len != c->text_len || memcmp(c->label, c->text, c->text_len) != 0);
            if (text_cell && (other || (c->type == GP_CELL_NAME && c->text_len > SHORT_NAME)))
                gp_svg_attr_n(w, "title", c->text, c->text_len);
            if (swatch) gp_page_swatch(w, swatch);
            gp_cell_put(text, c);
            if (!c->none && !text->n) gp_buf_puts(text, "(no name)");
            gp_page_take(w, text, "span", NULL);
            gp_svg_close(w);
            swatch = NULL; /* the first of the row has it */
        }
    }
    gp_svg_close_line(w);
}

static void put_definitions(struct gp_svg *w, const struct gp_report_table *t, const bool *used)
{
    size_t n = 0;
    for (size_t i = 0; i < t->columns.n; i++) n += used[i] && t->columns.at[i].help;
    if (!n) return;
    gp_page_open(w, "details", "definitions");
    gp_page_element(w, "summary", NULL, GP_TEXT("What the columns mean"));
    gp_page_open(w, "dl", NULL);
    for (size_t i = 0; i < t->columns.n; i++) {
        const struct gp_report_column *c = &t->columns.at[i];
        if (!used[i] || !c->help) continue;
        gp_page_put(w, "dt", NULL, c->heading);
        gp_page_put(w, "dd", NULL, c->help);
    }
    gp_svg_close(w);
    gp_svg_close(w);
}

static void put_rest(struct gp_svg *w, struct gp_buf *text, const struct gp_report_table *t, size_t rows,
                     size_t shown, bool only_json)
{
    if (shown < rows) {
        gp_buf_printf(text, "The first %s of %s rows; --format %s%s has them all.", GP_COUNTED(shown),
                      GP_COUNTED(rows), only_json ? "json" : "csv --table ", only_json ? "" : t->id);
        gp_page_take(w, text, "p", "more");
    }
    if (t->more) gp_page_put(w, "p", "more", t->more);
}

const char *gp_table_kind_swatch(int class)
{
    return gp_palette_class((enum gp_frame_kind)gp_row_kind((unsigned)class));
}

void gp_table_html_write(struct gp_svg *w, const struct gp_report_table *t,
                         const struct gp_table_html_opts *o)
{
    struct gp_buf text = {0};
    size_t rows = gp_report_rows(t), most = o->max_rows ? o->max_rows : GP_TABLE_HTML_ROWS;
    size_t shown = rows < most ? rows : most;
    bool *used = gp_alloc(t->columns.n * sizeof *used);
    for (size_t i = 0; i < t->columns.n; i++) used[i] = is_used(t, i);
    gp_page_open(w, "details", shown > PAPER_ROWS ? "table long" : "table");
    gp_svg_attr(w, "id", t->id);
    if (o->open) gp_svg_attr(w, "open", "");
    gp_page_open(w, "summary", NULL);
    gp_page_put(w, "h3", NULL, t->title);
    put_count(w, &text, rows, shown);
    gp_svg_close(w);
    if (t->note) gp_page_put(w, "p", "note", t->note);
    gp_page_open(w, "div", "scroll");
    gp_page_open(w, "table", NULL);
    gp_svg_attr(w, "aria-label", t->title);
    put_head(w, t, used);
    gp_page_open(w, "tbody", NULL);
    for (size_t i = 0; i < shown; i++) put_row(w, &text, t, i, used, o);
    gp_svg_close(w);
    gp_svg_close(w);
    gp_svg_close(w);
    put_rest(w, &text, t, rows, shown, o->only_json);
    put_definitions(w, t, used);
    gp_svg_close_line(w);
    free(used);
    gp_buf_release(&text);
}
