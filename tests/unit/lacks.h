/* lacks.h -- for a test whose machine or build may lack something.
 *
 *     if (gp_lacks(!gp_graph_can(), "Graphviz")) return;
 *
 * cmocka's own skip() prints "not ok" in TAP, which fails the test. */
#ifndef GP_TEST_LACKS_H
#define GP_TEST_LACKS_H

#include <stdbool.h>
#include <stdio.h>

#include "tests/unit/unit.h"

static inline bool gp_lacks(bool lacks, const char *what)
{
    if (lacks) printf("# skipped: there is no %s\n", what);
    return lacks;
}

#endif
