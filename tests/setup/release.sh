#!/bin/sh
# usage: tests/setup/release.sh OUT
# Makes what is attached to a release: the Debian package, the tarball and the wheel of this version, each with all tools, the Python
# module, the manuals, the completions and the libraries that they need. They run with the C library of this machine or a newer one,
# so a release is made on Debian 11 (glibc 2.31). GPUPROF_CUDA_INCLUDE may name the folders of CUDA's headers, as for CMake.
set -eu
[ $# -eq 1 ] || { echo "usage: tests/setup/release.sh OUT" >&2; exit 2; }
root=$(cd "$(dirname "$0")/../.." && pwd)
mkdir -p "$1"
out=$(cd "$1" && pwd)
"$root/tests/setup/install.sh" build pack
cmake -G Ninja -S "$root" -B "$out/build" -DCMAKE_BUILD_TYPE=Release -DBUILD_TESTING=OFF -DGPUPROF_MPI=OFF \
    -DGPUPROF_CUDA_INCLUDE="${GPUPROF_CUDA_INCLUDE:-}" >"$out/configure.log"
grep -E '^-- .*(not built|not read|are text|no files and lines|with zlib|are slower)' "$out/configure.log" && exit 1
cmake --build "$out/build" --target all
export GPUPROF_BUNDLE=1
for kind in DEB TGZ; do cpack --config "$out/build/CPackConfig.cmake" -G $kind -B "$out/packed" >/dev/null; done
mv "$out"/packed/*.deb "$out"/packed/*.tar.gz "$out"
python3 "$root/collect/python/backend.py" "$out" "$out/build"
(cd "$out" && sha256sum -- *.deb *.tar.gz *.whl >SHA256SUMS && ls -l -- *.deb *.tar.gz *.whl)
