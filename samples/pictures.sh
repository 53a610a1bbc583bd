#!/bin/sh
# usage: samples/pictures.sh [BIN_DIR]
# Draws the pictures of README.md anew from the committed traces. The commands of the SVG pictures are in
# tests/golden/cases; the pages are photographed in headless Chromium.
set -eu
cd "$(dirname "$0")/.."
unset CDPATH
case ${1:-} in
-h | --help) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//p;}' "samples/$(basename "$0")"; exit 0 ;;
esac
bin=$(cd "${1:-build/release/bin}" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
PATH=$bin:$PATH

grep -E '^[a-z0-9_]+\.svg ' tests/golden/cases | while read -r name command; do
    [ ! -e "samples/$name" ] || eval "$command" >"samples/$name" </dev/null
done

# photograph NAME HEIGHT COMMAND...: the top of the page that COMMAND writes.
photograph() {
    name=$1 height=$2
    shift 2
    "$@" >"$scratch/$name.html"
    chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --window-size=1000,"$height" \
        --screenshot="samples/$name.png" "file://$scratch/$name.html" >"$scratch/log" 2>&1 || { cat "$scratch/log" >&2; exit 1; }
}

photograph report 640 trace-hta -q -f html samples/h200/ddp.rank0.json.gz samples/h200/ddp.rank1.json.gz
photograph suggest 640 trace-suggest -q -f html samples/pairs/small.trace
