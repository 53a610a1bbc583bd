#!/bin/sh
# The code on the page of trace-metrics in headless Chromium. Skipped where there is no browser.
here=$(cd "$(dirname "$0")" && pwd)
for need in node chromium; do
    command -v $need >/dev/null 2>&1 || { echo "1..0 # SKIP $need is missing"; exit 0; }
done
metrics=${GP_BIN:-$here/../../build/release/bin}/trace-metrics
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1

# Samples of lines 7 and 9 of k.cu, whose text attacks, and of a kernel without lines (tests/unit/pc_make.h).
"${metrics%/*}/../tests/make_metrics" stalls.trace stalls || exit 1
for line in 1 2 3 4 5 6 7 8 9 10; do
    echo "    $line </script><script>alert(1)</script><img src=x onerror=alert(2)>\"'"
done >k.cu
"$metrics" -q -f html --source . stalls.trace -o stalls.html || exit 1

. "$here/tries.sh"
tries node "$here/stalls.js" "$scratch"
