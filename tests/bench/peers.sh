#!/bin/sh
# Where gpuprof stands: one table of jobs that others do, too. usage: tests/bench/peers.sh [--rounds N] [BIN_DIR]
# A peer that is not installed has no row. PEERS_PYTHON (default: python3) is the Python of HTA and TraceLens, which PYTHONPATH may name.
BENCH_SCRIPT=peers.py exec "$(dirname "$0")/run.sh" "$@"
