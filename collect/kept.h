/* kept.h -- blocks in the order in which they came. The list owns them; a list of zeros is empty. */
#ifndef GP_COLLECT_KEPT_H
#define GP_COLLECT_KEPT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "formats/base/mem.h"

struct gp_kept {
    struct gp_kept *next;
    int64_t at_ns; /* when it came */
    size_t n;
    uint8_t data[];
};

struct gp_kept_list {
    struct gp_kept *head, **tail;
    size_t bytes; /* of all data */
};

static inline void gp_kept_add(struct gp_kept_list *l, const void *data, size_t n, int64_t now_ns)
{
    struct gp_kept *k = gp_alloc(sizeof *k + n);
    *k = (struct gp_kept){.at_ns = now_ns, .n = n};
    memcpy(k->data, data, n);
    *(l->head ? l->tail : &l->head) = k;
    l->tail = &k->next;
    l->bytes += n;
}

/* The oldest one, which the caller frees. There must be one. */
static inline struct gp_kept *gp_kept_take(struct gp_kept_list *l)
{
    struct gp_kept *k = l->head;
    l->head = k->next;
    l->bytes -= k->n;
    return k;
}

#endif
