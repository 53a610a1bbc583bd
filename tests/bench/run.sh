#!/bin/sh
# The benchmarks: usage: tests/bench/run.sh [--rounds N] [--only NAME,...] [BIN_DIR]; tests/bench/peers.sh runs another script by it.
# BIN_DIR holds the built tools (default: build/release/bin). README.md beside this file says what is measured.
set -eu
here=$(cd "$(dirname "$0")" && pwd)

scratch=$(mktemp -d "${TMPDIR:-/tmp}/gpuprof-bench.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM

printf '#include <simdjson.h>\n' >"$scratch/probe.cpp"
if ${CXX:-g++} -std=c++17 -fsyntax-only "$scratch/probe.cpp" 2>/dev/null; then
    ${CXX:-g++} -std=c++17 -O2 "$here/simdjson_walk.cpp" -lsimdjson -o "$scratch/simdjson_walk"
else
    echo "skipped: simdjson as a peer (packages g++ and libsimdjson-dev)"
fi
python3 "$here/${BENCH_SCRIPT:-bench.py}" "$scratch" "$@"
