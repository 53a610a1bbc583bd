#!/bin/sh
# bundle.sh DIR: install the tools, the Python module, the manuals and every library that they need into DIR, to be carried to a
# machine with the same or a newer C library, where nothing can be installed. There: DIR/bin/gpuprof-collect ...
# GPUPROF_BIN names the tools of another build than build/release.
set -eu
case ${1:-} in
-h | --help)
    echo "usage: bundle.sh DIR"
    exit 0
    ;;
-*) set -- ;;
esac
[ $# -eq 1 ] || { echo "usage: bundle.sh DIR" >&2; exit 2; }
bin=${GPUPROF_BIN:-$(dirname "$0")/../build/release/bin}
mkdir -p "$1"
to=$(cd "$1" && pwd)

GPUPROF_BUNDLE=1 DESTDIR='' cmake --install "$(dirname "$bin")" --prefix "$to" --strip >/dev/null
if [ -x "$bin/../tests/bench/nvtx_cost" ]; then cp "$bin/../tests/bench/nvtx_cost" "$to/bin/"; fi
if [ -e "$to/bin/trace-hta-mpi" ]; then
    echo "bundle.sh: left out: trace-hta-mpi, which needs the MPI that it was built with" >&2
    find "$to" -name '*trace-hta-mpi*' -delete
fi
ls "$to/bin" "$to/lib" "$to/lib/gpuprof"
