/* family.h -- a process and its descendants, found in /proc.
 *
 *     struct gp_family f = {.root = pid};
 *     gp_family_look(&f);
 *     for (size_t i = 0; i < f.n; i++) use(f.pid[i]);
 */
#ifndef GP_COLLECT_SAMPLE_FAMILY_H
#define GP_COLLECT_SAMPLE_FAMILY_H

#include <stddef.h>
#include <sys/types.h>

enum { GP_FAMILY_MOST = 64 };

struct gp_family {
    pid_t root;
    pid_t pid[GP_FAMILY_MOST]; /* the root first, if it lives */
    size_t n;
};

/* Who lives now; of more than GP_FAMILY_MOST the first. */
void gp_family_look(struct gp_family *f);

#endif
