/* period.h -- finds the repeating part of a sequence of symbols: the step of a program that does not mark its
 * steps. Knows nothing about traces.
 *
 *     struct gp_period p;
 *     if (gp_period_find(&p, symbols, n, 2)) ... symbols[p.first .. p.end) repeats every p.length ...
 *
 * A stretch repeats with length L if at least 98 of 100 of its symbols equal the symbol L places later, and
 * if it is at least three times as long as L. Anything may come before and after, such as the beginning and
 * the end of a program. */
#ifndef GP_ANALYZE_PERIOD_H
#define GP_ANALYZE_PERIOD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gp_period {
    size_t length;
    size_t first, end;  /* the stretch */
    size_t differences; /* places in it whose symbol is not that L places on */
};

/* The shortest period of the longest stretch that repeats. False if there is none, if it is shorter than
 * LEAST, or if the stretch is less than a third of the N symbols. O(N) time, about 2 bytes of memory per
 * symbol. */
bool gp_period_find(struct gp_period *p, const uint32_t *symbols, size_t n, size_t least);

#endif
