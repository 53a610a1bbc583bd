#include "analyze/stacks/idle_causes.h"

#include <string.h>

static const char prefix[] = "idle: ";

/* The name of the cause that NODE stands for; NULL: none. */
static const char *cause_of(const struct gp_flame *flame, const struct gp_calltree_node *node)
{
    const char *name = gp_string(&flame->strings, node->name);
    if (node->kind != GP_FRAME_IDLE || strncmp(name, prefix, sizeof prefix - 1)) return NULL;
    return name + sizeof prefix - 1;
}

size_t gp_idle_shares(const struct gp_flame *flame, struct gp_idle_share causes[GP_IDLE_SHARES])
{
    size_t n = 0;
    for (size_t i = 1; i < flame->tree.nodes.n; i++) {
        const char *name = cause_of(flame, &flame->tree.nodes.at[i]);
        if (!name) continue;
        size_t k = 0;
        while (k < n && causes[k].name != name) k++; /* equal names are one string */
        if (k == GP_IDLE_SHARES) continue;
        if (k == n) causes[n++] = (struct gp_idle_share){name, 0};
        causes[k].ns += flame->tree.total[i];
    }
    for (size_t i = 1; i < n; i++) /* the largest first; there are few */
        for (size_t k = i; k > 0 && causes[k].ns > causes[k - 1].ns; k--) {
            struct gp_idle_share smaller = causes[k - 1];
            causes[k - 1] = causes[k];
            causes[k] = smaller;
        }
    return n;
}
