#!/bin/sh
# build.sh OUTDIR: compile stalls.cu, second.cu, third.cu, fourth.cu, fifth.cu and sixth.cu, with the lines of their instructions, for the GPU that is here, or else for sm_90.
set -u
here=$(cd "$(dirname "$0")" && pwd)
[ $# -eq 1 ] || { echo "usage: build.sh OUTDIR" >&2; exit 2; }
nvcc=$(command -v nvcc || echo "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc")
[ -x "$nvcc" ] || { echo "build.sh: nvcc: not found (set CUDA_HOME)" >&2; exit 2; }
arch=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -n 1 | tr -d '. \r')
case $arch in '' | *[!0-9]*) arch=90 ;; esac
mkdir -p "$1" || exit 2
for name in stalls second third fourth fifth sixth; do
    "$nvcc" -O2 -std=c++17 -arch="sm_$arch" -lineinfo -cudart static -o "$1/$name" "$here/$name.cu" -ldl || exit 1
done
