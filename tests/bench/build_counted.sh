#!/bin/sh
# build_counted.sh FOLDER [SOURCE] -- build the tools of SOURCE, by default this tree, in FOLDER; each writes how many basic blocks it
# ran to the file that GP_BLOCKS names. FOLDER/counts is there once all are built.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
folder=$1 source=${2:-$root}
grep -qsFx "CMAKE_HOME_DIRECTORY:INTERNAL=$source" "$folder/CMakeCache.txt" || rm -rf "$folder"
mkdir -p "$folder"
rm -f "$folder/counts"
"${CC:-cc}" -O2 -c -o "$folder/blocks.o" "$root/tests/bench/count_blocks.c"
[ -f "$folder/CMakeCache.txt" ] || cmake -G Ninja -S "$source" -B "$folder" -DCMAKE_BUILD_TYPE=None -DBUILD_TESTING=OFF \
    -DCMAKE_C_FLAGS="-O1 -fsanitize-coverage=trace-pc" -DCMAKE_EXE_LINKER_FLAGS="$folder/blocks.o" \
    -DCMAKE_SHARED_LINKER_FLAGS="$folder/blocks.o" -DCMAKE_DISABLE_FIND_PACKAGE_Python3=ON -DCMAKE_RANLIB=true
cmake --build "$folder" -j 2 --target gp_schema trace-hta trace2timeline trace-memory trace2flame trace-convert trace-suggest trace-diff
touch "$folder/counts"
