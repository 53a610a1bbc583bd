#!/bin/sh
# What the pages of trace2timeline answer, against the same worked out event by event. Skipped where there is no Node.
here=$(cd "$(dirname "$0")" && pwd)
command -v node >/dev/null 2>&1 || { echo "1..0 # SKIP node is missing"; exit 0; }
timeline=${GP_BIN:-$here/../../build/release/bin}/trace2timeline
samples=$here/../../samples/h200
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
for sample in compiled.trace ddp.trace eager.json.gz streams.trace; do
    "$timeline" -q "$samples/$sample" >"$scratch/$sample.html" || exit 1
done
node "$here/ask.js" "$scratch"/*.html
