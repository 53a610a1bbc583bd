/* vec.h -- growable arrays of any type: `GP_VEC(struct gp_track) tracks;`, zeroed is empty.
 * Growth doubles the capacity and may move the elements: keep indices, not pointers.
 *
 *     GP_VEC(int) v = {0};
 *     GP_VEC_PUSH(&v, 7);
 *     GP_EACH(const int, x, v) use(*x);
 *     for (size_t i = 0; i < v.n; i++) use(i, v.at[i]);
 *     GP_VEC_FREE(&v);
 */
#ifndef GP_BASE_VEC_H
#define GP_BASE_VEC_H

#include <stdlib.h>
#include <string.h>
#include "formats/base/count.h"
#include "formats/base/mem.h"

#define GP_VEC(type)                                                                                         \
    struct {                                                                                                 \
        type *at;                                                                                            \
        size_t n, cap;                                                                                       \
    }

/* Make room for at least WANT elements in total. */
#define GP_VEC_RESERVE(v, want)                                                                              \
    do {                                                                                                     \
        if ((v)->cap < (want)) {                                                                             \
            size_t gp_cap_ = (v)->cap ? (v)->cap * 2 : 8;                                                    \
            while (gp_cap_ < (want)) gp_cap_ *= 2;                                                           \
            (v)->at = gp_realloc((v)->at, gp_cap_ * sizeof *(v)->at);                                        \
            (v)->cap = gp_cap_;                                                                              \
        }                                                                                                    \
    } while (0)

#define GP_VEC_PUSH(v, ...)                                                                                  \
    do {                                                                                                     \
        GP_VEC_RESERVE((v), (v)->n + 1);                                                                     \
        (v)->at[(v)->n++] = (__VA_ARGS__);                                                                   \
    } while (0)

/* The address of element I, to read as many from there as there are: NULL in a vector that never had any, as
 * C lets nothing be added to NULL, not even 0. */
#define GP_VEC_FROM(v, i) ((v)->at ? (v)->at + (i) : NULL)

/* Each element of the vector V in turn, at P; the body must not let V grow. */
#define GP_EACH(type, p, v) for (type *p = (v).at; p && p < (v).at + (v).n; p++)
/* The same for the N elements at AT. */
#define GP_EACH_OF(type, p, at, n) for (type *p = (at); p && p < (at) + (n); p++)

/* Free the elements and leave the vector empty. */
#define GP_VEC_FREE(v)                                                                                       \
    do {                                                                                                     \
        free((v)->at);                                                                                       \
        (v)->at = NULL;                                                                                      \
        (v)->n = (v)->cap = 0;                                                                               \
    } while (0)

/* The same of a vector of any type, for GP_RELEASE(). */
static inline void gp_vec_free(void *v)
{
    void *at;
    memcpy(&at, v, sizeof at);
    free(at);
    memset(v, 0, sizeof(GP_VEC(char)));
}

#endif
