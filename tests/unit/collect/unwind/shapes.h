/* shapes.h -- functions whose frames look different, so that a walk has something to pass. Each calls
 * P->next(P) once, from a frame of its own; shapes.c is compiled several times with different options. */
#ifndef GP_TESTS_SHAPES_H
#define GP_TESTS_SHAPES_H

struct path {
    void (*next)(struct path *p);
    unsigned seed;
    int left;
    void *ctx;
};

typedef int (*shape_fn)(struct path *p, int n);

#ifdef __cplusplus
extern "C" {
#endif
/* Of each compilation; the list ends with NULL. */
extern const shape_fn shapes_o0[], shapes_o2[], shapes_fp[], shapes_so[], shapes_cpp[];
#ifdef __cplusplus
}
#endif

#endif
