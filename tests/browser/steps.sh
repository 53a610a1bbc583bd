#!/bin/sh
# usage: tests/browser/steps.sh [FOLDER...]
# Every recording of the samples, and of the folders, opens on its steps in Chromium and in Firefox. Minutes: part of tests/long.sh.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
timeline=${GP_BIN:-$here/../../build/release/bin}/trace2timeline
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
find "$here/../../samples" "$@" \( -name '*.trace' -o -name '*.json.gz' \) -type f | while IFS= read -r file; do
    "$timeline" -q -o "$scratch/$(basename "$(dirname "$file")").$(basename "$file").html" "$file" 2>/dev/null || echo "# not drawn: $file"
done
node "$here/steps.js" "$scratch"
