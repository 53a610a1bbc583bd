#define _DEFAULT_SOURCE /* madvise */
#include "formats/base/mem.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

enum { FIRST_BLOCK = 4096, LARGEST_BLOCK = 1 << 20, HUGE_PAGE = 2 << 20 };

struct gp_arena_block {
    struct gp_arena_block *next;
    size_t pad; /* keeps the data 16-byte aligned */
};

void gp_out_of_memory(size_t size)
{
    fprintf(stderr, "gpuprof: out of memory (%zu bytes asked for)\n", size);
    exit(2);
}

void *gp_alloc(size_t size)
{
    void *p = malloc(size ? size : 1);
    if (!p) gp_out_of_memory(size);
    return p;
}

void *gp_zalloc(size_t size)
{
    void *p = calloc(1, size ? size : 1);
    if (!p) gp_out_of_memory(size);
    return p;
}

void *gp_alloc_ones(size_t size) { return memset(gp_alloc(size), 0xff, size); }

char *gp_strdup(const char *s)
{
    size_t n = strlen(s) + 1;
    return memcpy(gp_alloc(n), s, n);
}

void *gp_realloc(void *p, size_t size)
{
    void *q = realloc(p, size ? size : 1);
    if (!q) gp_out_of_memory(size);
    return q;
}

void *gp_alloc_large(size_t size)
{
    if (size < 2 * HUGE_PAGE || size > SIZE_MAX - HUGE_PAGE) return gp_alloc(size);
    /* If less than half of the last page would be used, small pages are better there. */
    size_t huge = (size + HUGE_PAGE / 2) & ~(size_t)(HUGE_PAGE - 1);
    size = (size + HUGE_PAGE - 1) & ~(size_t)(HUGE_PAGE - 1);
    void *p = aligned_alloc(HUGE_PAGE, size);
    if (!p) gp_out_of_memory(size);
#ifdef MADV_HUGEPAGE
    madvise(p, huge, MADV_HUGEPAGE); /* a hint: failure changes nothing */
#endif
    return p;
}

void gp_mem_trim(void)
{
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

static void add_block(struct gp_arena *a, size_t need)
{
    size_t size = a->size ? a->size * 2 : FIRST_BLOCK;
    if (size > LARGEST_BLOCK) size = LARGEST_BLOCK;
    if (size < need) size = need;
    struct gp_arena_block *b = gp_alloc(sizeof *b + size);
    b->next = a->head;
    a->head = b;
    a->used = 0;
    a->size = size;
    a->total += sizeof *b + size;
}

void *gp_arena_alloc(struct gp_arena *a, size_t size)
{
    if (size > SIZE_MAX - 64) gp_out_of_memory(size);
    size = (size + 15) & ~(size_t)15;
    if (!a->head || a->size - a->used < size) add_block(a, size);
    void *p = (char *)(a->head + 1) + a->used;
    a->used += size;
    return p;
}

void *gp_arena_zalloc(struct gp_arena *a, size_t size) { return memset(gp_arena_alloc(a, size), 0, size); }

char *gp_arena_strndup(struct gp_arena *a, const char *s, size_t n)
{
    char *p = gp_arena_alloc(a, n + 1);
    if (n) memcpy(p, s, n);
    p[n] = '\0';
    return p;
}

void gp_arena_release(struct gp_arena *a)
{
    for (struct gp_arena_block *b = a->head, *next; b; b = next) {
        next = b->next;
        free(b);
    }
    memset(a, 0, sizeof *a);
}
