/* gpt_pairs_priv.h -- which GPU event is written to the binary trace together with which API call; private to
 * the writer. Knows rows and correlation ids, but not bytes.
 *
 *     struct gp_pairs p = {0};
 *     gp_pairs_find(&p, &t->events[GP_GPU], &t->events[GP_API]);
 *     ... p.gpu[i] was launched by p.api[i] ...
 *     gp_pairs_release(&p);
 */
#ifndef GP_FORMATS_GPT_PAIRS_PRIV_H
#define GP_FORMATS_GPT_PAIRS_PRIV_H

#include "formats/model/trace.h"

/* All rows of both tables, each sorted by (start, longer first, row). Zeroed is empty; memory is kept between
 * calls. */
struct gp_pairs {
    uint32_t *gpu, *api; /* pairs, in the order of the GPU events */
    size_t n;
    uint32_t *lone_gpu, *lone_api; /* the rows that are not in a pair */
    size_t nlone_gpu, nlone_api;
    uint32_t *memory;
    size_t cap;
};

/* The first GPU event of a correlation id is paired with the call of that id. Events with equal start and
 * duration stay single if pairing would change their order, so that a reader restores the order of the
 * table. */
void gp_pairs_find(struct gp_pairs *p, const struct gp_events *gpu, const struct gp_events *api);
void gp_pairs_release(struct gp_pairs *p);

/* ORDER[0..e->n): the rows of E by (start, longer first, row). */
void gp_rows_sort(const struct gp_events *e, uint32_t *order);

#endif
