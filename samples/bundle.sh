#!/bin/sh
# bundle.sh DIR: copy the tools, the injected library and the shared libraries that they need into DIR, to be carried
# to a machine where nothing can be installed. There: LD_LIBRARY_PATH=DIR/lib DIR/bin/gpuprof-collect ...
set -eu
case ${1:-} in
-h | --help)
    echo "usage: bundle.sh DIR"
    exit 0
    ;;
-*) set -- ;;
esac
[ $# -eq 1 ] || { echo "usage: bundle.sh DIR" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
bin=${GPUPROF_BIN:-$here/../build/release/bin}

mkdir -p "$1/bin" "$1/lib"
for file in "$bin"/*; do
    if [ -f "$file" ] && [ -x "$file" ]; then cp "$file" "$1/bin/"; fi
done
if [ -x "$bin/../tests/bench/nvtx_cost" ]; then cp "$bin/../tests/bench/nvtx_cost" "$1/bin/"; fi
for file in "$bin"/../lib/*.so "$bin/../lib/gpuprof-bench"; do
    if [ -f "$file" ]; then cp "$file" "$1/lib/"; fi
done
# What every distribution has is left to the other machine: its programs are run with our lib folder in their path.
for file in "$1"/bin/* "$1"/lib/*.so "$1/lib/gpuprof-bench"; do
    ldd "$file" 2>/dev/null || :
done | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' | sort -u |
    grep -Ev '/(libc|libm|libdl|librt|libpthread|libgcc_s|libstdc\+\+|libz|libzstd)\.so' |
    while read -r library; do cp -L "$library" "$1/lib/"; done
ls "$1/bin" "$1/lib"
