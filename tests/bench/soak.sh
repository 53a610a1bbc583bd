#!/bin/sh
# soak.sh [MINUTES] -- a long test of the collector (default: 60 minutes), not part of the ordinary run: processes that start,
# fork, crash and are killed at random, two at a time (SOAK_JOBS), on the GPU that is not there of tests/mock. The launcher's
# memory must stay flat, nothing may be lost without a count, and the trace must open. SOAK_SEED makes another order.
here=$(cd "$(dirname "$0")" && pwd)
build=${SOAK_BUILD:-$here/../../build/release}
[ -x "$build/tests/mock/app" ] || { echo "$0: no mock in $build (it needs the headers of CUDA)" >&2; exit 2; }
scratch=$(mktemp -d "${TMPDIR:-/tmp}/gpuprof-soak.XXXXXX") || exit 2
trap 'rm -rf "$scratch"' EXIT
trap 'exit 2' HUP INT TERM
GPUPROF_LIBCUPTI=$build/tests/mock/libcupti.so.13
export GPUPROF_LIBCUPTI
unset RANK LOCAL_RANK SLURM_PROCID OMPI_COMM_WORLD_RANK PMI_RANK GPUPROF_DEBUG CUDA_INJECTION64_PATH NVTX_INJECTION64_PATH
python3 "$here/soak.py" "$build" "$scratch/soak.trace" "${1:-60}" "${SOAK_JOBS:-2}" "${SOAK_SEED:-1}"
