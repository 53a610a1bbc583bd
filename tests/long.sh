#!/bin/sh
# long.sh [--site] [BUILD]: what takes too long for the test run, at the lowest priority. With --site, what needs root, packages of the
# group site and a network: a cluster of one node, linters from npm, releases on bare systems (half an hour). Otherwise all samples
# through Perfetto and back, every timeline in two browsers, the pages that are used most in Firefox, a hundred attaches whose tool is killed, and 20,000 changed copies of the files in
# corpus/perfetto, corpus/xplane and corpus/flight. BUILD (default: build/release) may be one with sanitizers. Prints what differs or fails,
# and ends with 1 then.
set -u
here=$(cd "$(dirname "$0")" && pwd)
site=
[ "${1:-}" != --site ] || { site=yes; shift; }
build=$(cd "${1:-$here/../build/release}" && pwd) || exit 2
export PATH="$build/bin:$PATH" LSAN_OPTIONS="suppressions=$here/lsan.supp:print_suppressions=0"
last=$(mktemp) || exit 2
trap 'rm -f "$last"' EXIT
failed=0

if [ "$site" ]; then
    "$here/setup/install.sh" site || exit 2
    for script in "site/slurm.sh $build" site/lint.sh "setup/check_release.sh $build/release-files"; do
        # shellcheck disable=SC2086 # an argument is a word
        nice -n 19 "$here/"$script || failed=1
    done
    exit $failed
fi

# shellcheck disable=SC2046 # names without blanks
nice -n 19 python3 "$here/perfetto/round_trip.py" \
    $(find "$here/../samples" -name '*.trace' -o -name '*.json.gz' -o -path '*/broken/*.json') || failed=1

GP_BIN=$build/bin nice -n 19 "$here/browser/steps.sh" || failed=1
for page in timeline flame_html; do
    GP_BIN=$build/bin BROWSER=firefox nice -n 19 "$here/browser/$page.t" || failed=1
done

GP_BIN=$build/bin GP_KILLS=100 nice -n 19 "$here/pipe/collect_attach.t" || failed=1

for target in perfetto xplane flight; do
    files=$(find "$here/fuzz/corpus/$target" -type f | wc -l)
    each=$(((20000 + files - 1) / files))
    if nice -n 19 "$build/tests/fuzz_${target}_replay" --mutate "$each" --keep "$last" "$here/fuzz/corpus/$target" >/dev/null; then
        echo "$target: $((files * each)) changed copies, no finding"
    else
        cp "$last" "finding.$target"
        echo "$target: a finding, in finding.$target"
        failed=1
    fi
done
exit $failed
