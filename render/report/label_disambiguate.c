#include "render/report/label_disambiguate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "analyze/names/names.h"
#include "formats/base/buf.h"
#include "formats/base/order.h"
#include "formats/base/str.h"

/* Words of a name that are looked at; those that tell apart; bytes of one that are shown; how many bytes
 * longer a number may be than it is before it is preferred to a word. */
enum { WORDS = 160, ROUNDS = 3, SHOWN = 40, NUMBER_COSTS = 8 };

struct word {
    const char *s;
    size_t n;
};

/* A name while they are compared. */
struct item {
    struct gp_label *name;
    struct word word[WORDS];
    size_t words, tag_n;
    struct word key; /* the word by which items are sorted */
    struct gp_buf plain;
};

static bool is_word(char c)
{
    return gp_is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* The words of a demangled name, each without the namespaces before it. */
static void split(struct item *it)
{
    const char *s = it->plain.n ? it->plain.data : "";
    bool qualified = false;
    for (size_t i = 0; i < it->plain.n;) {
        size_t from = i;
        while (i < it->plain.n && is_word(s[i])) i++;
        if (i > from) {
            if (!qualified && it->words == WORDS) return;
            if (!qualified) it->words++;
            it->word[it->words - 1] = (struct word){s + from, i - from};
        }
        qualified = i > from && i + 1 < it->plain.n && s[i] == ':' && s[i + 1] == ':';
        if (qualified) i += 2;
        else if (i == from) i++;
    }
}

GP_COMPARE(by_key, struct item *const,
           GP_THEN(gp_order_bytes((*x)->key.s, (*x)->key.n, (*y)->key.s, (*y)->key.n)))

/* Sort by the word AT, and return how many there are of it, with the bytes of the longest. */
static size_t sort_by(struct item **items, size_t n, size_t at, size_t *cost)
{
    size_t kinds = 1;
    bool number = false;
    *cost = 0;
    for (size_t i = 0; i < n; i++) {
        items[i]->key = at < items[i]->words ? items[i]->word[at] : (struct word){"", 0};
        if (items[i]->key.n > *cost) *cost = items[i]->key.n;
        number |= items[i]->key.n && gp_is_digit(items[i]->key.s[0]);
    }
    if (number) *cost += NUMBER_COSTS;
    qsort(items, n, sizeof *items, by_key);
    for (size_t i = 1; i < n; i++) kinds += by_key(&items[i - 1], &items[i]) != 0;
    return kinds;
}

/* The place of the word that distinguishes most of the items, the shortest of these, rather a word than a
 * number; WORDS if none does. Names of different forms are compared up to their first difference in form. */
static size_t best_word(struct item **items, size_t n)
{
    size_t most = 1, least = 0, best = WORDS, end = items[0]->words;
    bool same_form = true;
    for (size_t i = 1; i < n; i++) {
        same_form &= items[i]->words == items[0]->words;
        if (items[i]->words > end) end = items[i]->words;
    }
    for (size_t at = 0, cost; at < end; at++) {
        size_t kinds = sort_by(items, n, at, &cost);
        if (kinds > most || (kinds == most && best < WORDS && cost < least))
            most = kinds, least = cost, best = at;
        if (kinds > 1 && !same_form) break;
    }
    return best;
}

/* A number comes with the one before it: "128, 4". */
static void add_word(struct item *it, size_t at)
{
    struct word w = at < it->words ? it->word[at] : (struct word){"", 0}, before = {"", 0};
    if (!w.n) return;
    if (at && gp_is_digit(w.s[0]) && gp_is_digit(it->word[at - 1].s[0]) && !it->tag_n)
        before = it->word[at - 1];
    char text[GP_LABEL_TAG];
    int n = snprintf(text, sizeof text, "%s%.*s%s%.*s]", it->tag_n ? ", " : " [", (int)before.n, before.s,
                     before.n ? ", " : "", (int)(w.n < SHOWN ? w.n : SHOWN), w.s);
    size_t at_byte = it->tag_n ? it->tag_n - 1 : 0;
    if (n < 0 || at_byte + (size_t)n >= GP_LABEL_TAG) return;
    memcpy(it->name->tag + at_byte, text, (size_t)n + 1);
    it->tag_n = at_byte + (size_t)n;
}

/* Tag N > 1 items with the same label and tag. */
static void tag_group(struct item **items, size_t n, int rounds)
{
    size_t at = best_word(items, n), cost;
    if (at == WORDS) return;
    for (size_t i = 0; i < n; i++) add_word(items[i], at);
    sort_by(items, n, at, &cost);
    for (size_t i = 0, end; i < n && rounds > 1; i = end) {
        end = i + 1;
        while (end < n && !by_key(&items[i], &items[end])) end++;
        if (end > i + 1) tag_group(items + i, end - i, rounds - 1);
    }
}

GP_COMPARE(by_label, struct gp_label *const,
           GP_THEN(gp_order_bytes((*x)->label, (*x)->label_n, (*y)->label, (*y)->label_n))
               GP_THEN(gp_order_bytes((*x)->full, (*x)->full_n, (*y)->full, (*y)->full_n)))

/* Names with the same label, in the order of their full names. */
static void summarize_group(struct gp_label **names, size_t n)
{
    struct item *all = gp_zalloc(n * sizeof *all), **items = gp_alloc(n * sizeof(*items));
    size_t kinds = 0;
    for (size_t i = 0; i < n; i++) {
        if (i && !by_label(&names[i - 1], &names[i])) continue;
        struct item *it = items[kinds] = &all[kinds];
        it->name = names[i];
        gp_name_demangle(&it->plain, names[i]->full, names[i]->full_n);
        split(it);
        kinds++;
    }
    if (kinds > 1) tag_group(items, kinds, ROUNDS);
    for (size_t i = 1; i < n; i++)
        if (!by_label(&names[i - 1], &names[i])) memcpy(names[i]->tag, names[i - 1]->tag, GP_LABEL_TAG);
    for (size_t i = 0; i < kinds; i++) gp_buf_release(&all[i].plain);
    free(items);
    free(all);
}

void gp_label_tag(struct gp_label *names, size_t n)
{
    struct gp_label **sorted = gp_alloc((n + 1) * sizeof(*sorted));
    for (size_t i = 0; i < n; i++) {
        names[i].tag[0] = '\0';
        sorted[i] = &names[i];
    }
    qsort(sorted, n, sizeof *sorted, by_label);
    for (size_t i = 0, end; i < n; i = end) {
        const struct gp_label *x = sorted[i];
        for (end = i + 1; end < n; end++)
            if (gp_order_bytes(x->label, x->label_n, sorted[end]->label, sorted[end]->label_n)) break;
        if (end > i + 1 && x->label_n) summarize_group(sorted + i, end - i);
    }
    free(sorted);
}

/* ---- the labels of tables ---- */

static void summarize_column(struct gp_report *r, struct gp_report_table *t, size_t column)
{
    size_t rows = gp_report_rows(t);
    struct gp_label *names = gp_zalloc((rows + 1) * sizeof *names);
    for (size_t i = 0; i < rows; i++) {
        const struct gp_cell *c = gp_report_cell(t, i, column);
        if (!c->none) names[i] = (struct gp_label){c->text, c->label, c->text_len, c->label_len, ""};
    }
    gp_label_tag(names, rows);
    struct gp_buf label = {0};
    for (size_t i = 0; i < rows; i++) {
        struct gp_cell *c = &t->cells.at[i * t->columns.n + column];
        if (!names[i].tag[0]) continue;
        label.n = 0;
        gp_buf_put(&label, c->label, c->label_len);
        gp_buf_puts(&label, names[i].tag);
        c->label = gp_report_str(r, label.data, label.n);
        c->label_len = (uint32_t)label.n;
    }
    gp_buf_release(&label);
    free(names);
}

void gp_label_disambiguate(struct gp_report *r)
{
    for (size_t i = 0; i < r->tables.n; i++)
        for (size_t k = 0; k < r->tables.at[i]->columns.n; k++)
            if (r->tables.at[i]->columns.at[k].type == GP_CELL_NAME) summarize_column(r, r->tables.at[i], k);
}
