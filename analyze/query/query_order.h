/* query_order.h -- rows of a table in other orders than that of the trace, made when they are first asked
 * for: by the value of a key, and by a text. Knows nothing of SQL.
 *
 *     struct gp_query_order o = {0};
 *     gp_query_order_make(&o, &q, table, field);
 *     struct gp_query_walk w = {0};
 *     while (gp_query_walk_next(&o, &w, gpu)) use(w.row);
 *     gp_query_order_release(&o);
 */
#ifndef GP_ANALYZE_QUERY_ORDER_H
#define GP_ANALYZE_QUERY_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "analyze/result/cell.h"
#include "formats/base/vec.h"

struct gp_events;
struct gp_field;
struct gp_query;
struct gp_query_table;

/* The rows of one text are in the order of the trace, so that most of them take a byte: the distance to the
 * one before, seven bits at a time. */
struct gp_query_text_rows {
    struct gp_cell text;
    uint32_t rows, last;
    size_t first; /* in bytes */
};

struct gp_query_order {
    GP_VEC(struct gp_query_text_rows) texts; /* in the order of their bytes */
    uint8_t *bytes;
};

enum { GP_QUERY_AHEAD = 32 };
struct gp_query_walk {
    size_t text;          /* at hand: an index in texts, */
    uint32_t row;         /* and one of its rows */
    uint32_t left, begun; /* rows of it that are not decoded yet; 1: it has been begun */
    const uint8_t *at;
    uint32_t ahead[GP_QUERY_AHEAD]; /* rows that follow, whose cells are on their way to the processor */
    uint32_t n, next;
};

/* Of GPU events, by F, a text that depends on their configuration only (GP_QUERY_BY_TEXT), as bytes. Memory:
 * one to two bytes per row. O(rows). */
void gp_query_order_make(struct gp_query_order *o, const struct gp_query *q,
                         const struct gp_query_table *table, const struct gp_field *f);
void gp_query_order_release(struct gp_query_order *o);
/* The next row in W, which starts zeroed, of those in GPU. False: there is none. */
bool gp_query_walk_next(const struct gp_query_order *o, struct gp_query_walk *w, const struct gp_events *gpu);

/* The rows of a table by a column with numbers; those without a value are left out. */
struct gp_query_index {
    bool made;
    struct gp_query_key {
        int64_t value;
        uint32_t row;
    } * at;
    size_t n;
};

/* F lies BASE bytes into the row. O(rows log rows), O(rows) if the values ascend. */
void gp_query_index_make(struct gp_query_index *x, const struct gp_query *q,
                         const struct gp_query_table *table, const struct gp_field *f, size_t base);
/* The first with VALUE and, in *END, the first after those. */
size_t gp_query_index_find(const struct gp_query_index *x, int64_t value, size_t *end);

#endif
