/* rules_table.h -- private: the names of all rules, in the order in which they run. A rule is one `const
 * struct gp_rule gp_rule_NAME` in the rules_*.c of its family, and one X here. */
#ifndef GP_ANALYZE_RULES_TABLE_H
#define GP_ANALYZE_RULES_TABLE_H

#include "analyze/suggest/suggest.h"

/* clang-format off */
#define GP_RULES(X)                                                                                          \
    /* rules_launch.c */ X(compile) X(cuda_graph) X(small_graphs) X(graph_breaks) X(python_gap)              \
    /* rules_sync.c */ X(scalar_read) X(blocking_sync)                                                       \
    /* rules_copy.c */ X(pageable_copy) X(synchronous_copy) X(copy_overlap) X(small_copies)                  \
    /* rules_host.c */ X(allocation) X(module_load) X(recompilation) X(input_stall)                          \
    X(garbage_collection) X(lock_wait) X(logging) X(import)                                                  \
    /* rules_end.c */ X(step_end) X(host_results)                                                            \
    /* rules_python.c */ X(python_overhead)                                                                  \
    /* rules_kernel.c */ X(tensor_cores) X(attention) X(optimizer)                                           \
    /* rules_shape.c */ X(small_grid) X(wave_quantisation) X(contention) X(tiny_kernels) X(tiny_blocks)      \
    /* rules_product.c */ X(odd_dimensions) X(gemm_roof)                                                     \
    /* rules_memory.c */ X(memory_access) X(low_precision) X(double_precision) X(donation)                   \
    /* rules_clocks.c */ X(throttling)                                                                       \
    /* rules_comm.c */ X(exposed_communication) X(small_collectives)                                         \
    /* rules_ranks.c */ X(straggler) X(gloo)                                                                 \
    /* rules_fusion.c */ X(fusion) X(epilogue) X(cast_churn) X(layout_churn) X(zero_fill)                    \
    /* of rules_shape.c, rules_host.c, rules_constants.c, rules_memory.c, rules_ranks.c */                   \
    X(batching) X(routing) X(caching) X(memory_peak) X(data_parallel)                                        \
    /* rules_repeat.c, rules_recompute.c, rules_waste.c: they take the launches that they explain */         \
    X(graph_messages) X(full_sort) X(pairwise_sums) X(unread_result) X(dense_gradient) X(experts)            \
    X(round_trip) X(repeated_work) X(recompute) X(scan_loop)                                                 \
    /* rules_anomaly.c, rules_decode.c */ X(anomaly_detection) X(cudnn_benchmark) X(no_cache)                \
    /* rules_stall.c */ X(stall_memory_access) X(stall_bank_conflicts) X(stall_barrier)                      \
    X(stall_dependent_chain) X(stall_busy_unit) X(stall_instructions) X(stall_spills)                        \
    X(stall_low_occupancy) X(stall_tail) X(stall_atomics) X(stall_divergence)                                \
    /* rules_end.c, rules_idle.c: they look at the suggestions of the others */ X(host_gap) X(low_utilisation)
/* clang-format on */

#define X(rule) extern const struct gp_rule gp_rule_##rule;
GP_RULES(X)
#undef X

#endif
