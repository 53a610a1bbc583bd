#!/bin/sh
# build.sh OUTDIR [NAME...]: compile the sample programs (all of them by default) with nvcc, for the GPU that is here
# or, where there is none, for sm_90. What is up to date is left alone.
set -u
here=$(cd "$(dirname "$0")" && pwd)
[ $# -ge 1 ] || { echo "usage: build.sh OUTDIR [NAME...]" >&2; exit 2; }
out=$1
shift
[ $# -gt 0 ] || set -- streams graph ranges storm twoproc early phases managed pace peers

nvcc=$(command -v nvcc || echo "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc")
[ -x "$nvcc" ] || { echo "build.sh: nvcc: not found (set CUDA_HOME)" >&2; exit 2; }
arch=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -n 1 | tr -d '. \r')
case $arch in '' | *[!0-9]*) arch=90 ;; esac

mkdir -p "$out" || exit 2
pids=
for name; do
    if [ -x "$out/$name" ] && [ -z "$(find "$here/$name.cu" "$here/sample.h" -newer "$out/$name")" ]; then continue; fi
    "$nvcc" -O2 -std=c++17 -arch="sm_$arch" -cudart static -o "$out/$name" "$here/$name.cu" -ldl &
    pids="$pids $!"
done
status=0
for pid in $pids; do wait "$pid" || status=2; done
exit $status
