#include "analyze/query/query_order.h"

#include <stdlib.h>
#include <string.h>
#include "analyze/query/query.h"
#include "formats/base/order.h"

/* ---- by a text ---- */

static size_t varint_length(uint32_t v)
{
    size_t n = 1;
    while (v >>= 7) n++;
    return n;
}

struct of_config {
    struct gp_cell text;
    uint32_t config;
    bool used;
};

GP_COMPARE(compare_texts, struct gp_cell, GP_THEN(gp_order_bytes(x->text, x->text_len, y->text, y->text_len)))

GP_COMPARE(by_text, struct of_config, GP_DOWN(used) GP_THEN(x->used ? compare_texts(&x->text, &y->text) : 0))

/* The texts of all configurations that have rows, in order; PLACE_OF gets the place of each configuration. */
static void sort_texts(struct gp_query_order *o, const struct gp_query *q, const struct gp_field *f,
                       uint32_t *place_of)
{
    const struct gp_events *gpu = &q->t->events[GP_GPU];
    size_t configs = q->t->configs.n;
    struct of_config *all = gp_zalloc((configs + 1) * sizeof *all);
    for (uint32_t row = 0; row < gpu->n; row++) {
        struct of_config *c = &all[gp_get_config(gpu, row)];
        struct gp_query_event event = {q, GP_GPU, row, row};
        if (c->used) continue;
        *c = (struct of_config){gp_field_cell(f, &event, &q->rows_of), gp_get_config(gpu, row), true};
    }
    if (configs) qsort(all, configs, sizeof *all, by_text);
    for (size_t i = 0; i < configs && all[i].used; i++) {
        if (!i || compare_texts(&all[i].text, &all[i - 1].text))
            GP_VEC_PUSH(&o->texts, (struct gp_query_text_rows){.text = all[i].text});
        place_of[all[i].config] = (uint32_t)o->texts.n - 1;
    }
    free(all);
}

/* Where the bytes of each text begin, when the lengths are known. */
static void place_texts(struct gp_query_order *o)
{
    size_t bytes = 0;
    GP_EACH(struct gp_query_text_rows, t, o->texts) {
        size_t length = t->first;
        t->first = bytes;
        t->rows = t->last = 0;
        bytes += length;
    }
    o->bytes = gp_alloc(bytes + 1);
}

void gp_query_order_make(struct gp_query_order *o, const struct gp_query *q,
                         const struct gp_query_table *table, const struct gp_field *f)
{
    const struct gp_events *gpu = &q->t->events[GP_GPU];
    uint32_t *place_of = gp_zalloc((q->t->configs.n + 1) * sizeof *place_of);
    sort_texts(o, q, f, place_of);
    for (int pass = 0; pass < 2; pass++) {
        if (pass) place_texts(o);
        for (size_t row = 0; row < gpu->n; row++) {
            uint32_t config = gp_get_config(gpu, row);
            if (table->kinds && !(table->kinds >> q->t->configs.at[config].kind & 1)) continue;
            struct gp_query_text_rows *t = &o->texts.at[place_of[config]];
            uint32_t by = (uint32_t)row - t->last;
            t->last = (uint32_t)row;
            t->rows++;
            if (!pass) t->first += varint_length(by);
            else {
                for (; by > 127; by >>= 7) o->bytes[t->first++] = (uint8_t)(by | 128);
                o->bytes[t->first++] = (uint8_t)by;
            }
        }
    }
    for (size_t i = o->texts.n; i-- > 0;) o->texts.at[i].first = i ? o->texts.at[i - 1].first : 0;
    free(place_of);
}

void gp_query_order_release(struct gp_query_order *o)
{
    GP_VEC_FREE(&o->texts);
    free(o->bytes);
    memset(o, 0, sizeof *o);
}

/* Decode rows of the text at hand, and fetch what most statements ask of them. */
static void decode(struct gp_query_walk *w, const struct gp_events *gpu, uint32_t row)
{
    for (w->n = w->next = 0; w->left && w->n < GP_QUERY_AHEAD; w->left--) {
        uint32_t by = 0;
        int shift = 0;
        for (; *w->at > 127; shift += 7) by |= (uint32_t)(*w->at++ & 127) << shift;
        row += by | (uint32_t)*w->at++ << shift;
        __builtin_prefetch(&gpu->dur_ns[row]);
        w->ahead[w->n++] = row;
    }
}

bool gp_query_walk_next(const struct gp_query_order *o, struct gp_query_walk *w, const struct gp_events *gpu)
{
    uint32_t row = w->row;
    while (w->next == w->n) {
        if (!w->left) {
            w->text += w->begun;
            if (w->text >= o->texts.n) return false;
            w->begun = 1;
            w->left = o->texts.at[w->text].rows;
            w->at = o->bytes + o->texts.at[w->text].first;
            row = 0;
        }
        decode(w, gpu, row);
    }
    w->row = w->ahead[w->next++];
    return true;
}

/* ---- by a key ---- */

GP_COMPARE(by_value, struct gp_query_key, GP_UP(value) GP_UP(row))

void gp_query_index_make(struct gp_query_index *x, const struct gp_query *q,
                         const struct gp_query_table *table, const struct gp_field *f, size_t base)
{
    size_t n = gp_query_count(q, table);
    struct gp_row_of of = gp_query_rows_of(q, table);
    bool ascends = true;
    x->made = true;
    x->at = gp_alloc((n + 1) * sizeof *x->at);
    for (size_t i = 0; i < n; i++) {
        struct gp_query_at at;
        if (!gp_query_row(q, table, i, &at)) continue;
        struct gp_cell c = gp_field_cell(f, (const char *)at.row + base, &of);
        if (c.none) continue;
        ascends &= !x->n || x->at[x->n - 1].value <= c.i;
        x->at[x->n++] = (struct gp_query_key){c.i, (uint32_t)i};
    }
    if (!ascends) qsort(x->at, x->n, sizeof *x->at, by_value);
}

size_t gp_query_index_find(const struct gp_query_index *x, int64_t value, size_t *end)
{
    GP_SEARCH(lo, 0, x->n, mid, x->at[mid].value < value);
    for (*end = lo; *end < x->n && x->at[*end].value == value;) ++*end;
    return lo;
}
