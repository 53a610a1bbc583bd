#!/bin/sh
# capture.sh OUT [NAME...]: run samples/compile/capture.py in a folder of its own and leave its results in OUT as
# compile.tar.gz, and the full logs of the zoo and of the cold run, unchanged, in raw.tar.gz.
# PYTHON       a python3 with PyTorch (default: python3)
# GPUPROF_BIN  where gpuprof-collect is; without it only torch.profiler records
set -eu
[ $# -ge 1 ] || { sed -n '2,5s/^# \{0,1\}//p' "$0" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
out=$(cd "$1" && pwd)
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0
"${PYTHON:-python3}" "$here/capture.py" "$work" "$@" || status=$?
tar -C "$work" -czf "$out/compile.tar.gz" packed || status=$?
tar -C "$work/raw" -czf "$out/raw.tar.gz" . || status=$?
ls -l "$out"
exit "$status"
