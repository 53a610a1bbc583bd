/* chains_priv.h -- private to suggest.c and rules_*.c: finds kernels that one kernel could replace, from
 * names, order and grids. A chain is a run of kernels that read and write memory more than they compute,
 * launched back to back on one stream, with nothing between them that has to end first. Chains of the same
 * kernels with the same grids are one kind.
 *
 *     struct gp_chains chains = {0};
 *     gp_chains_find(&chains, c);
 *     for (size_t i = 0; i < chains.kinds.n; i++) use(chains.kinds.at[i].total_ns);
 *     gp_chains_release(&chains);
 *
 * Method and constants: analyze/suggest/README.md, "Chains".
 */
#ifndef GP_ANALYZE_CHAINS_PRIV_H
#define GP_ANALYZE_CHAINS_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "formats/base/vec.h"

struct gp_rule_ctx;

struct gp_chain_kernel {
    uint32_t item;                               /* of the plan */
    int64_t elements, read_bytes, written_bytes; /* 0: unknown */
    int64_t passed_bytes; /* that it reads from what the previous member wrote; 0: none for certain */
};

struct gp_chain {
    uint32_t first, n; /* kernels; at least two */
    uint32_t kind;
    /* GPU time that a single kernel saves: at least what is not read again; at most all but the longest
     * kernel, or all but the time of its memory traffic. */
    int64_t total_ns, low_ns, high_ns;
};

struct gp_chain_kind {
    uint64_t signature;                /* of names and grids */
    uint32_t example;                  /* its first chain */
    uint32_t count;                    /* over all steps */
    int64_t total_ns, low_ns, high_ns; /* over all steps */
    bool counts;                       /* three times per step, or 0.5 % of the busy time */
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

/* Time that K, of duration DUR, saves if it need not read what was passed to it: at the best bandwidth, at
 * most its share of the bytes that K moves, or half where that is unknown. */
int64_t gp_chain_not_read(const struct gp_chains *chains, const struct gp_chain_kernel *k, int64_t dur_ns);

#endif
