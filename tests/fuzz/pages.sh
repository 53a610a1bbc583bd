#!/bin/sh
# pages.sh [OPTION...] -- makes pages of the small traces of corpus/traces, and of a snapshot, with the tools of a build, and gives them to
# pages.js with these options (default: --count 60), and with the findings that were kept in corpus/pages.
here=$(cd "$(dirname "$0")" && pwd)
command -v node >/dev/null 2>&1 || { echo "1..0 # SKIP node is missing"; exit 0; }
bin=${GP_BIN:-$here/../../build/release/bin}
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
for name in tiny_sorts torch_eager collect_graphs; do
    "$bin/trace2timeline" -q "$here/corpus/traces/$name.trace" >"$scratch/timeline_$name.html" || exit 1
    "$bin/trace2flame" -q -f html "$here/corpus/traces/$name.trace" >"$scratch/flame_$name.html" || exit 1
done
"$bin/trace2timeline" -q --max-size 100K --detail steps:0,gaps:0 "$here/corpus/traces/torch_eager.trace" \
    >"$scratch/timeline_overview.html" || exit 1
"$bin/trace-memory" -q -f html "$here/../../samples/memory/leak.pickle.gz" >"$scratch/memory_leak.html" || exit 1
[ $# -gt 0 ] || set -- --count 60
# shellcheck disable=SC2046 # names without spaces
node "$here/pages.js" "$@" "$scratch"/*.html $(find "$here/corpus/pages" -name '*.json' 2>/dev/null | sort)
