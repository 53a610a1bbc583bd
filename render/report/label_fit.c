#include "render/report/label_fit.h"

#include <stdlib.h>
#include <string.h>
#include "formats/base/order.h"
#include "render/draw/text.h"

enum { ROUNDS = 4, NUMBER_MAX = 12 };

/* A row while rows are sorted: qsort has no context. */
struct item {
    uint64_t others;
    const char *s;
    size_t n;
    uint32_t row;
};

static const struct gp_cell *cell_of(const struct gp_label_fit *u, size_t row)
{
    return gp_report_cell(u->table, row, u->column);
}

/* ---- the identity of a row ---- */

static uint64_t hash(uint64_t h, const void *bytes, size_t n)
{
    const unsigned char *p = bytes;
    for (size_t i = 0; i < n; i++) h = (h ^ p[i]) * UINT64_C(0x100000001b3);
    return h;
}

static uint64_t hash_cell(uint64_t h, const struct gp_cell *c)
{
    bool text = c->type == GP_CELL_NAME || c->type == GP_CELL_TEXT;
    h = hash(h, &c->none, sizeof c->none);
    if (c->none) return h;
    if (text) return hash(h, c->label ? c->label : "", c->label_len);
    return c->type == GP_CELL_ID ? hash(h, &c->i, sizeof c->i) : h;
}

GP_COMPARE(compare_items, struct item,
           GP_UP(others) GP_THEN(gp_order_bytes(x->s, x->n, y->s, y->n)) GP_UP(row))

/* The end of the run of equal items that begins at I. */
static size_t run_end(const struct item *items, size_t n, size_t i)
{
    size_t end = i + 1;
    while (end < n && (items[i].others == items[end].others && items[i].n == items[end].n &&
                       (!items[i].n || !memcmp(items[i].s, items[end].s, items[i].n))))
        end++;
    return end;
}

/* ---- numbers ---- */

/* Rows with the same full name are numbered in their order, from the second on. */
static void number_alike(struct gp_label_fit *u, struct item *items)
{
    for (size_t i = 0; i < u->rows; i++) {
        const struct gp_cell *c = cell_of(u, i);
        items[i] = (struct item){u->row[i].others, c->none || !c->label ? "" : c->label,
                                 c->none ? 0 : c->label_len, (uint32_t)i};
    }
    qsort(items, u->rows, sizeof *items, compare_items);
    for (size_t i = 0, end; i < u->rows; i = end) {
        end = run_end(items, u->rows, i);
        for (size_t k = i + 1; k < end && items[i].n; k++)
            u->row[items[k].row].number = (uint32_t)(k - i + 1);
    }
}

void gp_label_fit_init(struct gp_label_fit *u, const struct gp_report_table *table, size_t column,
                       const size_t *others, size_t n_others)
{
    *u = (struct gp_label_fit){.table = table, .column = column, .rows = gp_report_rows(table)};
    u->row = gp_zalloc((u->rows + 1) * sizeof *u->row);
    for (size_t i = 0; i < u->rows; i++) {
        uint64_t h = UINT64_C(0xcbf29ce484222325);
        for (size_t k = 0; k < n_others; k++)
            if (others[k] != column) h = hash_cell(h, gp_report_cell(table, i, others[k]));
        u->row[i].others = h;
    }
    struct item *items = gp_alloc((u->rows + 1) * sizeof *items);
    number_alike(u, items);
    free(items);
}

static size_t put_number(struct gp_buf *b, uint32_t number)
{
    size_t before = b->n;
    if (number) gp_buf_printf(b, " #%u", number);
    return b->n - before;
}

size_t gp_label_fit_width(const struct gp_label_fit *u)
{
    size_t widest = 0;
    struct gp_buf b = {0};
    for (size_t i = 0; i < u->rows; i++) {
        b.n = 0;
        gp_cell_put(&b, cell_of(u, i));
        put_number(&b, u->row[i].number);
        size_t w = gp_text_width(b.n ? b.data : "", b.n);
        if (w > widest) widest = w;
    }
    gp_buf_release(&b);
    return widest;
}

/* ---- cuts ---- */

#define ANYWHERE SIZE_MAX

/* Cut the name of ROW so that byte FROM is seen; ANYWHERE: as names are cut. */
static void cut(struct gp_label_fit *u, size_t row, size_t width, size_t from)
{
    struct gp_label_fit_row *r = &u->row[row];
    struct gp_buf number = {0}, whole = {0};
    size_t taken = put_number(&number, r->number), at = u->text.n;
    gp_cell_put(&whole, cell_of(u, row));
    size_t room = width > taken ? width - taken : 0;
    const char *s = whole.n ? whole.data : "";
    if (from == ANYWHERE) gp_text_fit_place(&u->text, s, whole.n, room);
    else gp_text_fit_at(&u->text, s, whole.n, room, from);
    gp_buf_put(&u->text, number.n ? number.data : "", number.n);
    r->from = from;
    r->at = at;
    r->n = u->text.n - at;
    gp_buf_release(&whole);
    gp_buf_release(&number);
}

/* Length of the common prefix of the names of N rows. */
static size_t common_start(const struct gp_label_fit *u, const struct item *items, size_t n)
{
    const struct gp_cell *first = cell_of(u, items[0].row);
    size_t same = first->label_len;
    for (size_t i = 1; i < n; i++) {
        const struct gp_cell *c = cell_of(u, items[i].row);
        size_t k = 0;
        while (k < same && k < c->label_len && first->label[k] == c->label[k]) k++;
        same = k;
    }
    return same;
}

/* Cut names that read the same again, so that their difference is seen. True if there was any. */
static bool cut_again(struct gp_label_fit *u, struct item *items, size_t width)
{
    bool any = false;
    for (size_t i = 0; i < u->rows; i++)
        items[i] = (struct item){u->row[i].others, u->text.n ? u->text.data + u->row[i].at : "", u->row[i].n,
                                 (uint32_t)i};
    qsort(items, u->rows, sizeof *items, compare_items);
    struct gp_buf kept = u->text; /* the items point into it */
    u->text = (struct gp_buf){0};
    gp_buf_put(&u->text, kept.n ? kept.data : "", kept.n);
    for (size_t i = 0, end; i < u->rows; i = end) {
        end = run_end(items, u->rows, i);
        if (end == i + 1 || !items[i].n) continue;
        size_t from = common_start(u, &items[i], end - i);
        for (size_t k = i; k < end; k++) cut(u, items[k].row, width, from);
        any = true;
    }
    gp_buf_release(&kept);
    return any;
}

/* Number the names that still read the same, as there is no room for their difference. No two rows get the
 * same number, since the rest of other names may be the same, too. */
static void number_rest(struct gp_label_fit *u, struct item *items, size_t width)
{
    for (size_t i = 0; i < u->rows; i++)
        items[i] = (struct item){u->row[i].others, u->text.data + u->row[i].at, u->row[i].n, (uint32_t)i};
    qsort(items, u->rows, sizeof *items, compare_items);
    uint32_t last = 1;
    for (size_t i = 0; i < u->rows; i++)
        if (u->row[i].number > last) last = u->row[i].number;
    for (size_t i = 0, end; i < u->rows; i = end) {
        end = run_end(items, u->rows, i);
        for (size_t k = i + 1; k < end && items[i].n; k++) u->row[items[k].row].number = ++last;
    }
    u->text.n = 0;
    for (size_t i = 0; i < u->rows; i++) cut(u, i, width, u->row[i].from);
}

void gp_label_fit_cut(struct gp_label_fit *u, size_t width)
{
    struct item *items = gp_alloc((u->rows + 1) * sizeof *items);
    bool alike = true;
    u->text.n = 0;
    for (size_t i = 0; i < u->rows; i++) cut(u, i, width, ANYWHERE);
    for (int round = 0; round < ROUNDS && alike; round++) alike = cut_again(u, items, width);
    if (alike && u->rows && width > NUMBER_MAX) number_rest(u, items, width);
    free(items);
}

struct gp_label_fit_text gp_label_fit_at(const struct gp_label_fit *u, size_t row)
{
    const struct gp_label_fit_row *r = &u->row[row];
    return (struct gp_label_fit_text){r->n ? u->text.data + r->at : "", r->n};
}

void gp_label_fit_release(struct gp_label_fit *u)
{
    free(u->row);
    gp_buf_release(&u->text);
    memset(u, 0, sizeof *u);
}
