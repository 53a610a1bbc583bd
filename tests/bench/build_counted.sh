#!/bin/sh
# build_counted.sh FOLDER -- build the tools in FOLDER, each of which writes how many basic blocks it ran to the file that
# GP_BLOCKS names.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
folder=$1
mkdir -p "$folder"
"${CC:-cc}" -O2 -c -o "$folder/blocks.o" "$root/tests/bench/count_blocks.c"
[ -f "$folder/CMakeCache.txt" ] || cmake -G Ninja -S "$root" -B "$folder" -DCMAKE_BUILD_TYPE=None \
    -DCMAKE_C_FLAGS="-O1 -fsanitize-coverage=trace-pc" -DCMAKE_EXE_LINKER_FLAGS="$folder/blocks.o" \
    -DCMAKE_SHARED_LINKER_FLAGS="$folder/blocks.o" -DCMAKE_DISABLE_FIND_PACKAGE_Python3=ON
cmake --build "$folder" -j 2 --target trace-hta trace2timeline trace-memory trace2flame trace-convert trace-suggest trace-diff
