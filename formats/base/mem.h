/* mem.h -- allocation that never returns NULL, and a bump arena.
 * Running out of memory ends the program with one line on standard error and status 2: no caller could do
 * better. Sizes that come from input are checked against limits by the caller before they get here.
 *
 *     struct gp_arena a = {0};
 *     char *s = gp_arena_strndup(&a, text, n);
 *     gp_arena_release(&a);
 *     GP_RELEASE(free, names, sizes, order);
 */
#ifndef GP_BASE_MEM_H
#define GP_BASE_MEM_H

#include <stddef.h>

/* malloc/calloc/realloc that abort on failure. SIZE may be 0. The caller frees with free(). */
void *gp_alloc(size_t size);
void *gp_zalloc(size_t size);
void *gp_realloc(void *p, size_t size);
char *gp_strdup(const char *s);
/* All bits are 1, as in indexes of nothing. */
void *gp_alloc_ones(size_t size);
/* For megabytes that will be written at once: in huge pages if the system has them, which saves most of the
 * time of touching new memory. Freed with free(), not for gp_realloc. */
void *gp_alloc_large(size_t size);

/* Call RELEASE, a function of one pointer, for each of the pointers that follow it. They are read before
 * anything is released: GP_RELEASE(free, list->names, list) is right. */
#define GP_RELEASE(release, ...)                                                                             \
    do {                                                                                                     \
        void *const gp_of_[] = {__VA_ARGS__};                                                                \
        for (size_t gp_i_ = 0; gp_i_ < sizeof gp_of_ / sizeof *gp_of_; gp_i_++) release(gp_of_[gp_i_]);      \
    } while (0)

/* Return freed memory to the system, if there is a way: for use after much work in many small pieces. */
void gp_mem_trim(void);

/* Ends the program because WHAT could not be allocated. */
_Noreturn void gp_out_of_memory(size_t size);

/* A zeroed arena is ready for use. Memory from it is 16-byte aligned, lives until release and is not
 * zeroed. */
struct gp_arena {
    struct gp_arena_block *head; /* newest block */
    size_t used, size;           /* of the newest block */
    size_t total;                /* bytes taken from the system so far */
};

void *gp_arena_alloc(struct gp_arena *a, size_t size);
void *gp_arena_zalloc(struct gp_arena *a, size_t size);
/* A NUL-terminated copy of N bytes at S. */
char *gp_arena_strndup(struct gp_arena *a, const char *s, size_t n);
/* Frees everything; the arena is zeroed and can be used again. Accepts a zeroed arena. */
void gp_arena_release(struct gp_arena *a);

#endif
