#include "collect/sample/python_stacks.h"

#include <stdlib.h>
#include <string.h>

static size_t hash_of(const struct gp_stack_node *n, uint64_t seed)
{
    return (size_t)gp_hash_place(n, sizeof *n, seed);
}

static void rehash(struct gp_stacks *s)
{
    size_t size = s->hash ? (s->mask + 1) * 2 : 1024;
    free(s->hash);
    s->hash = gp_zalloc(size * sizeof *s->hash);
    s->mask = size - 1;
    s->seed = gp_hash_seed();
    for (size_t i = 1; i < s->nodes.n; i++) {
        size_t at = hash_of(&s->nodes.at[i], s->seed) & s->mask;
        while (s->hash[at]) at = (at + 1) & s->mask;
        s->hash[at] = (uint32_t)i;
    }
}

uint32_t gp_stacks_put(struct gp_stacks *s, uint32_t parent, gp_sid name, gp_sid file, uint32_t line)
{
    struct gp_stack_node n = {parent, line, name, file};
    if (!s->nodes.n) GP_VEC_PUSH(&s->nodes, (struct gp_stack_node){0});
    if (!s->hash || s->nodes.n * 2 > s->mask) rehash(s);
    size_t at = hash_of(&n, s->seed) & s->mask;
    for (; s->hash[at]; at = (at + 1) & s->mask) {
        const struct gp_stack_node *k = &s->nodes.at[s->hash[at]];
        if (k->parent == parent && k->line == line && k->name == name && k->file == file) return s->hash[at];
    }
    if (s->nodes.n >= GP_STACKS_MOST) return parent;
    s->hash[at] = (uint32_t)s->nodes.n;
    GP_VEC_PUSH(&s->nodes, n);
    return s->hash[at];
}

void gp_stacks_release(struct gp_stacks *s)
{
    GP_VEC_FREE(&s->nodes);
    gp_strings_release(&s->strings);
    free(s->hash);
    memset(s, 0, sizeof *s);
}
