/* chains.h -- private to suggest.c and rules_*.c: kernels that one kernel could be, told by names, order and grids. A chain
 * is a run of kernels that read and write memory more than they compute, one launched after the other on one stream, with
 * nothing between them that has to be over first. Chains of the same kernels with the same grids are one kind.
 *
 *     struct gp_chains chains = {0};
 *     gp_chains_find(&chains, c);
 *     for (size_t i = 0; i < chains.kinds.n; i++) use(chains.kinds.at[i].total_ns);
 *     gp_chains_release(&chains);
 *
 * Method and constants: analyze/suggest/README.md, "Chains".
 */
#ifndef GP_ANALYZE_CHAINS_H
#define GP_ANALYZE_CHAINS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "formats/base/vec.h"

struct gp_rule_ctx;

struct gp_chain_kernel {
    uint32_t item;                               /* of the plan */
    int64_t elements, read_bytes, written_bytes; /* 0: not known */
    int64_t passed_bytes; /* that it reads of what the member before it wrote; 0: none that is sure */
};

struct gp_chain {
    uint32_t first, n; /* kernels; at least two */
    uint32_t kind;
    /* What one kernel in its place saves of GPU time: at least what is not read again, at most all but its longest kernel,
     * or but the time that its memory takes. */
    int64_t total_ns, low_ns, high_ns;
};

struct gp_chain_kind {
    uint64_t signature;                /* of names and grids */
    uint32_t example;                  /* its first chain */
    uint32_t count;                    /* over all steps */
    int64_t total_ns, low_ns, high_ns; /* over all steps */
    bool counts;                       /* three times a step, or 0.5 % of the busy time */
};

struct gp_chains {
    GP_VEC(struct gp_chain_kernel) kernels;
    GP_VEC(struct gp_chain) all;        /* in the order of launches */
    GP_VEC(struct gp_chain_kind) kinds; /* by total, then signature */
    double bytes_ns;                    /* the best memory bandwidth that a kernel had; 0 unknown */
};

/* Find the chains of the plan. CHAINS must be zeroed. O(items). */
void gp_chains_find(struct gp_chains *chains, const struct gp_rule_ctx *c);
void gp_chains_release(struct gp_chains *chains);

/* What K, of DUR, does not take when it need not read what was passed to it: by the best bandwidth, never more than the
 * share of what it moves, or half where that is not known. */
int64_t gp_chain_not_read(const struct gp_chains *chains, const struct gp_chain_kernel *k, int64_t dur_ns);

#endif
