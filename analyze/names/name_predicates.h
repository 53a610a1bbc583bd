/* name_predicates.h -- what the name of a kernel, a copy or a driver call shows: the one place that knows how
 * libraries, compilers and drivers spell what rules, views and costs look for. The tables that classify all
 * names are elsewhere: classes in classify.h, equal kernels in kernel_key.h, Tensor Cores in occupancy.h.
 *
 *     if (gp_kernel_is_multi_tensor(name)) ...     // one of an optimizer that takes many tensors at once
 *     if (gp_call_launches_graph(name)) ...        // "cudaGraphLaunch_v10000"
 *     if (gp_copy_to_host(name)) ...               // "Memcpy DtoH (Device -> Pinned)"
 *
 * Names are as recorded, and end with a NUL; kernels may be mangled. Knows nothing of traces. */
#ifndef GP_ANALYZE_NAME_PREDICATES_H
#define GP_ANALYZE_NAME_PREDICATES_H

#include <stdbool.h>

/* ---- kernels ---- */

/* How Triton's kernels begin. */
#define GP_KERNEL_TRITON "triton_"
bool gp_kernel_is_triton(const char *name);
/* Of torch.compile, which joined pointwise operators or reductions in it. */
bool gp_kernel_is_triton_fused(const char *name);
/* Made by XLA, JAX's compiler. */
bool gp_kernel_is_xla(const char *name);
bool gp_kernel_is_pytorch(const char *name);
/* A single operation of JAX outside of jax.jit, and one of CuPy's. */
bool gp_kernel_is_jax_single(const char *name);
bool gp_kernel_is_cupy(const char *name);
/* Made by a compiler from several operations: Triton's, and fusions of XLA. */
bool gp_kernel_is_compiled(const char *name);
/* PyTorch's foreach operators and optimizers, which take many tensors at once. */
bool gp_kernel_is_multi_tensor(const char *name);
/* Optimizers that do all of their work in one kernel. */
bool gp_kernel_is_fused_optimizer(const char *name);
/* The last kernel with which Adam, RMSprop or Adagrad update one tensor in a loop: it divides two tensors and
 * adds. */
bool gp_kernel_ends_update(const char *name);
/* Belongs to what a library does in several kernels, so that nothing of the program's can be joined with
 * it. */
bool gp_kernel_is_of_library(const char *name);
/* PyTorch's elementwise kernels. */
bool gp_kernel_is_elementwise(const char *name);
/* The one of them whose operands may have other strides, or be smaller than the result. */
bool gp_kernel_is_strided(const char *name);
/* Does its grid follow the number of channels, rows or pixels, so that neither users nor larger batches can
 * make it larger: normalization over a batch, gradients of weights of norms, upsampling? */
bool gp_kernel_has_own_grid(const char *name);
/* Does it gather rows at random, or join tensors, and cannot read them in another order? */
bool gp_kernel_gathers(const char *name);
/* Writes the elements that pass a condition, whose number the host has read before: of nonzero. */
bool gp_kernel_selects(const char *name);
/* Looks for infinities in gradients, as a GradScaler must. */
bool gp_kernel_checks_finite(const char *name);
/* PyTorch's that joins tensors into one. */
bool gp_kernel_joins(const char *name);
/* A time step of a recurrent layer: cuDNN's, or a cell of PyTorch's. */
bool gp_kernel_is_recurrent(const char *name);
bool gp_kernel_is_softmax(const char *name); /* or its logarithm */
bool gp_kernel_is_log_softmax(const char *name);
/* The smaller side of the tile in a matrix product's name ("128x64", "MT64x16x128"), 1 of a product with a
 * vector; 0: none. */
unsigned gp_kernel_tile(const char *name);
/* The elements that a product of CUTLASS loads at once, by its name ("..._tn_align1"); 0: it does not
 * show. */
unsigned gp_kernel_alignment(const char *name);
/* A product of CUTLASS of 16-bit elements on matrix units ("cutlass_75_tensorop_bf16_s1688gemm_..."). */
bool gp_kernel_is_half_tensorop(const char *name);
/* Of double precision and no other floating-point type, by its plain name, or a product's. */
bool gp_kernel_is_double(const char *name);
/* The same of single precision. */
bool gp_kernel_is_single(const char *name);
/* A product or convolution of 32 bits on matrix units, of which 10 bits of the mantissa count. */
bool gp_kernel_is_tf32(const char *name);

/* ---- operators ---- */

/* Must know on the host how large its result is, which depends on the values: nonzero, unique,
 * masked_select. */
bool gp_op_needs_size(const char *name);

/* ---- ranges ---- */

/* In which NCCL sets up communicators, once: "ncclCommInitRankConfig". */
bool gp_range_sets_up(const char *name);
/* A loop of XLA, which launches each turn anew: "hlo_op=while.12" in NVTX, "while.12" in JAX's profiles. */
bool gp_range_is_while(const char *name);

/* ---- copies ---- */

bool gp_copy_to_device(const char *name);
bool gp_copy_to_host(const char *name);
bool gp_copy_on_device(const char *name);
/* From or to memory of the host that may be paged out, or that may not. */
bool gp_copy_is_pageable(const char *name);
bool gp_copy_is_pinned(const char *name);

/* ---- Python frames ---- */

/* What a frame of the host does instead of launching work. */
enum gp_host_work { GP_WORK_OTHER, GP_WORK_GARBAGE, GP_WORK_LOCK, GP_WORK_LOGGING, GP_WORK_IMPORT };

/* By the name of a frame as profilers and samples write it ("logging/__init__.py(1624): _log"). */
enum gp_host_work gp_frame_work(const char *name);
/* Not a function, but the state of a sampled thread: see formats/model/samples.h. */
bool gp_frame_is_state(const char *name);
/* Runs PyTorch's backward pass, whose operators autograd's own thread launches meanwhile. */
bool gp_frame_runs_backward(const char *name);
/* The method of a module that computes its result. */
bool gp_frame_is_forward(const char *name);
/* Of PyTorch's activation checkpointing, which runs a part of the forward pass again. */
bool gp_frame_is_checkpoint(const char *name);
/* Of Python functions that were sampled. */
bool gp_category_is_sampled(const char *category);
/* Of functions that were in the exact stack of a call or range. */
bool gp_category_is_stack(const char *category);

/* ---- calls ---- */

bool gp_call_launches_graph(const char *name);
bool gp_call_launches_kernel(const char *name);
/* Gives the GPU something to do. */
bool gp_call_gives_work(const char *name);
bool gp_call_copies(const char *name);
/* Does NAME contain one of WORDS? These have a blank before and after each; '^' ties one to the beginning. */
bool gp_name_has_one_of(const char *name, const char *words);

/* In the order of a stream, without waiting. */
bool gp_call_is_async(const char *name);
/* Waits for the GPU and does nothing more. */
bool gp_call_synchronizes(const char *name);
/* Waits for all of a device. */
bool gp_call_synchronizes_device(const char *name);
/* Lets a stream wait. */
bool gp_call_orders_wait(const char *name);
/* Asks the driver for memory, or gives it back, and waits for it. */
bool gp_call_allocates(const char *name);
/* Makes the host wait for the device or for the system's allocator: those, reservations, and copies. */
bool gp_call_blocks(const char *name);
/* Loads code for the GPU. */
bool gp_call_loads_module(const char *name);
/* Compiles or links code for the GPU. */
bool gp_call_compiles(const char *name);
/* Of AMD's runtime. */
bool gp_call_is_hip(const char *name);

/* A native function that only carries others: of Python's interpreter, of how programs and threads begin, of
 * PyTorch's dispatcher, or of what takes stacks and memory. Pictures of stacks leave it out. */
bool gp_frame_is_machinery(const char *name);

#endif
