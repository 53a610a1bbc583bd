#include "render/report/report.h"

#include <string.h>
#include "formats/base/buf.h"
#include "render/draw/text.h"
#include "render/report/label_fit.h"

enum { INDENT = 2, GAP = 2, NAME_MIN = 16, BAR_MIN = 10, BAR_MAX = 30, MAX_COLUMNS = 64 };

/* One column as it is laid out. */
struct place {
    size_t column;
    size_t width;
    uint8_t type; /* enum gp_cell_type */
};

struct layout {
    struct place at[MAX_COLUMNS];
    size_t n;
    int below; /* column that stands below its row, -1 */
    int bar;   /* column that is drawn as a bar, -1 */
    size_t bar_width;
    int name;                /* the place of the first column of names, -1 */
    struct gp_label_fit own; /* its names */
};

struct pen {
    struct gp_buf *b;
    struct gp_buf cell;
    bool color;
    size_t width;
};

static const char BOLD[] = "\033[1m", DIM[] = "\033[2m", RED[] = "\033[31m", GREEN[] = "\033[32m",
                  YELLOW[] = "\033[33m", RESET[] = "\033[0m";

static void style(struct pen *p, const char *code)
{
    if (p->color && code) gp_buf_puts(p->b, code);
}

static void spaces(struct pen *p, size_t n)
{
    while (n--) gp_buf_putc(p->b, ' ');
}

/* ---- sentences ---- */

static void put_lines(struct pen *p, const struct gp_report_line *lines, size_t n, const char *mark)
{
    static const char *const tones[] = {NULL, GREEN, YELLOW, RED};
    for (size_t i = 0; i < n; i++) {
        style(p, tones[lines[i].tone & 3]);
        gp_buf_puts(p->b, mark);
        gp_text_wrap(p->b, lines[i].text, strlen(lines[i].text), strlen(mark),
                     gp_report_prose_width(p->width));
        if (lines[i].tone) style(p, RESET);
        gp_buf_putc(p->b, '\n');
    }
}

/* ---- layout ---- */

static const char *cell_text(struct pen *p, const struct gp_cell *c, size_t *n)
{
    p->cell.n = 0;
    gp_cell_put(&p->cell, c);
    *n = p->cell.n;
    return p->cell.data ? p->cell.data : "";
}

/* Is the column without content? It is if every cell is unknown, or zero in a column that may be dropped. */
static bool is_empty(const struct gp_report_table *t, size_t column)
{
    for (size_t row = 0; row < gp_report_rows(t); row++) {
        const struct gp_cell *c = gp_report_cell(t, row, column);
        enum gp_cell_form form = gp_cell_form(c->type);
        if (!c->none && (form == GP_FORM_TEXT      ? c->label_len > 0
                         : form == GP_FORM_REAL    ? c->d != 0
                         : form == GP_FORM_INTEGER ? c->i || c->type == GP_CELL_ID
                                                   : form == GP_FORM_BOOL))
            return false;
    }
    return true;
}

static size_t natural_width(struct pen *p, const struct gp_report_table *t, size_t column)
{
    const struct gp_report_column *c = &t->columns.at[column];
    size_t width = gp_text_width(c->heading, strlen(c->heading));
    for (size_t row = 0; row < gp_report_rows(t); row++) {
        size_t n;
        const char *s = cell_text(p, gp_report_cell(t, row, column), &n);
        size_t w = gp_text_width(s, n);
        if (w > width) width = w;
    }
    return width;
}

static size_t line_width(const struct layout *l)
{
    size_t w = INDENT;
    for (size_t i = 0; i < l->n; i++) w += l->at[i].width + (i ? GAP : 0);
    return w;
}

static void drop(struct layout *l, size_t i)
{
    memmove(&l->at[i], &l->at[i + 1], (l->n - i - 1) * sizeof *l->at);
    l->n--;
}

/* Make the widest name column narrower until the line fits; false when that is not enough. */
static bool squeeze(struct layout *l, size_t width, size_t least)
{
    while (line_width(l) > width) {
        struct place *widest = NULL;
        for (size_t i = 0; i < l->n; i++)
            if (l->at[i].type == GP_CELL_NAME && (!widest || l->at[i].width > widest->width))
                widest = &l->at[i];
        if (!widest || widest->width <= least) return false;
        widest->width--;
    }
    return true;
}

static void fit(struct layout *l, const struct gp_report_table *t, size_t width)
{
    enum { COMFORT = 32, COMFORT_WRAPPED = 28 };
    struct place *last = l->n ? &l->at[l->n - 1] : NULL, wraps = {.type = GP_CELL_NAME};
    if (last && last->type == GP_CELL_TEXT) { /* it wraps, and takes the rest */
        wraps = *last;
        if (last->width > COMFORT_WRAPPED) last->width = COMFORT_WRAPPED;
    }
    while (!squeeze(l, width, COMFORT)) {
        size_t i = l->n;
        while (i > 0 && !(t->columns.at[l->at[i - 1].column].flags & GP_COLUMN_SPARE)) i--;
        if (!i) break;
        drop(l, i - 1);
    }
    last = l->n ? &l->at[l->n - 1] : NULL;
    if (last && wraps.type == GP_CELL_TEXT && last->width > NAME_MIN) last->width = NAME_MIN;
    while (!squeeze(l, width, NAME_MIN) && l->n > 2) drop(l, l->n - 1);
    last = l->n ? &l->at[l->n - 1] : NULL;
    if (!last || wraps.type != GP_CELL_TEXT || last->column != wraps.column) return;
    size_t others = line_width(l) - last->width;
    if (others + last->width < width)
        last->width = others + wraps.width < width ? wraps.width : width - others;
}

/* The first column of names; its rows must not read the same. */
static void find_names(struct layout *l, const struct gp_report_table *t)
{
    size_t columns[MAX_COLUMNS];
    l->name = -1;
    for (size_t i = l->n; i > 0; i--) {
        columns[i - 1] = l->at[i - 1].column;
        if (l->at[i - 1].type == GP_CELL_NAME) l->name = (int)i - 1;
    }
    if (l->name < 0) return;
    struct place *place = &l->at[l->name];
    gp_label_fit_init(&l->own, t, place->column, columns, l->n);
    size_t width = gp_label_fit_width(&l->own);
    if (width > place->width) place->width = width;
}

static struct layout lay_out(struct pen *p, const struct gp_report_table *t)
{
    struct layout l = {.below = -1, .bar = -1};
    for (size_t c = 0; c < t->columns.n && l.n < MAX_COLUMNS; c++) {
        const struct gp_report_column *col = &t->columns.at[c];
        if (col->flags & GP_COLUMN_WIDE || is_empty(t, c)) continue;
        if (col->flags & GP_COLUMN_BELOW) {
            l.below = (int)c;
            continue;
        }
        if (col->flags & GP_COLUMN_BAR) l.bar = (int)c;
        l.at[l.n++] = (struct place){c, natural_width(p, t, c), col->type};
    }
    find_names(&l, t);
    fit(&l, t, p->width);
    l.name = -1;
    for (size_t i = 0; i < l.n && l.own.rows; i++)
        if (l.at[i].column == l.own.column) gp_label_fit_cut(&l.own, l.at[l.name = (int)i].width);
    size_t used = line_width(&l) + GAP;
    l.bar_width = l.bar >= 0 && used < p->width ? p->width - used : 0;
    if (l.bar_width > BAR_MAX) l.bar_width = BAR_MAX;
    if (l.bar_width < BAR_MIN) l.bar = -1;
    return l;
}

/* ---- rows ---- */

static bool is_last(const struct layout *l, size_t i) { return i + 1 == l->n && l->bar < 0; }

static void put_cell(struct pen *p, const struct layout *l, size_t i, const char *s, size_t n, bool right,
                     bool name)
{
    size_t width = l->at[i].width, at = p->b->n;
    size_t w = gp_text_width(s, n);
    if (w > width && !name && !right) {
        gp_text_wrap(p->b, s, n, line_width(l) - width, p->width);
        return;
    }
    if (right) spaces(p, w < width ? width - w : 0);
    if (name) gp_text_fit_place(p->b, s, n, width);
    else gp_buf_put(p->b, s, n);
    if (!right && !is_last(l, i)) {
        w = gp_text_width(p->b->data + at, p->b->n - at);
        spaces(p, w < width ? width - w : 0);
    }
}

static void put_bar(struct pen *p, const struct layout *l, double pct)
{
    static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    double full = (pct > 100 ? 100 : pct < 0 ? 0 : pct) / 100 * (double)l->bar_width * 8;
    size_t n = (size_t)(full + 0.5);
    if (!n) return;
    spaces(p, GAP);
    for (size_t i = 0; i < n / 8; i++) gp_buf_puts(p->b, "█");
    gp_buf_puts(p->b, eighths[n % 8]);
}

/* Lines without blanks at the end can be pasted and compared. */
static void end_line(struct pen *p, size_t line)
{
    while (p->b->n > line && p->b->data[p->b->n - 1] == ' ') p->b->n--;
    gp_buf_putc(p->b, '\n');
}

/* The first cells of a row that repeat those of the row above are left blank where a bar makes groups of
 * rows. */
static bool repeats(const struct gp_report_table *t, const struct layout *l, size_t row, size_t i)
{
    if (l->bar < 0 || !row) return false;
    for (size_t k = 0; k <= i; k++) {
        const struct gp_cell *a = gp_report_cell(t, row - 1, l->at[k].column);
        const struct gp_cell *b = gp_report_cell(t, row, l->at[k].column);
        if (a->type != b->type || a->none != b->none) return false;
        bool text = b->type == GP_CELL_NAME || b->type == GP_CELL_TEXT;
        if (b->type != GP_CELL_ID && !text) return false;
        if (!text && a->i != b->i) return false;
        if (text && a->text_len != b->text_len) return false;
        if (text && b->text_len && memcmp(a->text, b->text, b->text_len) != 0) return false;
    }
    return true;
}

static void put_row(struct pen *p, const struct gp_report_table *t, const struct layout *l, size_t row)
{
    static const char *const tones[] = {NULL, "\033[36m", "\033[33m", "\033[35m", "\033[2m"};
    size_t line = p->b->n;
    unsigned class = gp_row_class(row < t->classes.n ? t->classes.at[row] : 0);
    spaces(p, INDENT);
    for (size_t i = 0; i < l->n; i++) {
        size_t n;
        const struct gp_cell *c = gp_report_cell(t, row, l->at[i].column);
        const char *s = cell_text(p, c, &n);
        if (i) spaces(p, GAP);
        if ((int)i == l->name) {
            struct gp_label_fit_text own = gp_label_fit_at(&l->own, row);
            s = own.s;
            n = own.n;
        }
        if (repeats(t, l, row, i)) {
            spaces(p, l->at[i].width);
            continue;
        }
        bool tinted = p->color && l->at[i].type == GP_CELL_TEXT && class && class < 5;
        if (tinted) style(p, tones[class]);
        put_cell(p, l, i, s, n, gp_cell_is_number((enum gp_cell_type)l->at[i].type), c->type == GP_CELL_NAME);
        if (tinted) style(p, RESET);
    }
    if (l->bar >= 0) {
        const struct gp_cell *c = gp_report_cell(t, row, (size_t)l->bar);
        style(p, class && class < 5 ? tones[class] : DIM);
        put_bar(p, l, c->none ? 0 : c->d);
        style(p, RESET);
    }
    end_line(p, line);
}

/* A name on its own line, below the last text column. */
static void put_below(struct pen *p, const struct gp_report_table *t, const struct layout *l, size_t row)
{
    size_t n, indent = line_width(l) - (l->n ? l->at[l->n - 1].width : 0);
    const struct gp_cell *c = gp_report_cell(t, row, (size_t)l->below);
    if (c->none) return;
    const char *s = cell_text(p, c, &n);
    spaces(p, indent);
    style(p, DIM);
    gp_buf_puts(p->b, "in ");
    gp_text_fit(p->b, s, n, p->width - indent - 3);
    style(p, RESET);
    gp_buf_putc(p->b, '\n');
}

static void put_table(struct pen *p, const struct gp_report_table *t)
{
    struct layout l = lay_out(p, t);
    gp_buf_putc(p->b, '\n');
    style(p, BOLD);
    gp_buf_puts(p->b, t->title);
    style(p, RESET);
    gp_buf_putc(p->b, '\n');
    size_t line = p->b->n;
    style(p, DIM);
    spaces(p, INDENT);
    for (size_t i = 0; i < l.n; i++) {
        const char *s = t->columns.at[l.at[i].column].heading;
        if (i) spaces(p, GAP);
        put_cell(p, &l, i, s, strlen(s), gp_cell_is_number((enum gp_cell_type)l.at[i].type), true);
    }
    if (p->color) {
        style(p, RESET);
        gp_buf_putc(p->b, '\n');
    } else {
        end_line(p, line);
    }
    for (size_t row = 0; row < gp_report_rows(t); row++) {
        put_row(p, t, &l, row);
        if (l.below >= 0) put_below(p, t, &l, row);
    }
    gp_label_fit_release(&l.own);
    if (t->more) {
        spaces(p, INDENT);
        style(p, DIM);
        gp_buf_puts(p->b, t->more);
        style(p, RESET);
        gp_buf_putc(p->b, '\n');
    }
}

size_t gp_report_prose_width(size_t width)
{
    if (!width) return GP_TEXT_WIDTH;
    return width > GP_TEXT_PROSE && width < GP_TEXT_FULL ? GP_TEXT_PROSE : width;
}

static struct pen pen_for(struct gp_buf *b, const struct gp_report_text_opts *o)
{
    return (struct pen){.b = b, .color = o->color, .width = o->width ? o->width : GP_TEXT_WIDTH};
}

void gp_report_text_table(struct gp_buf *b, const struct gp_report_table *t,
                          const struct gp_report_text_opts *o)
{
    struct pen p = pen_for(b, o);
    if (gp_report_rows(t)) put_table(&p, t);
    gp_buf_release(&p.cell);
}

void gp_report_text_write(struct gp_buf *b, const struct gp_report *r, const struct gp_report_text_opts *o)
{
    struct pen p = pen_for(b, o);
    if (!o->verdict_first) {
        put_lines(&p, r->quality.at, r->quality.n, "! ");
        if (r->quality.n) gp_buf_putc(b, '\n');
    }
    put_lines(&p, r->verdict.at, r->verdict.n, "");
    for (size_t i = 0; i < r->tables.n; i++)
        if (!r->tables.at[i]->detail && gp_report_rows(r->tables.at[i])) put_table(&p, r->tables.at[i]);
    if (o->verdict_first && r->quality.n) {
        gp_buf_putc(b, '\n');
        put_lines(&p, r->quality.at, r->quality.n, "! ");
    }
    gp_buf_release(&p.cell);
}
