#!/bin/sh
# run.sh MINUTES [TARGET...] -- runs the fuzz targets, all of them unless some are named, and prints a table. The minutes are
# shared evenly; FUZZ_JOBS targets run at once (default: one per processor). What a run learned stays in
# build/fuzz/runs/TARGET/corpus for the next one, findings in build/fuzz/runs/TARGET/findings. Exits with 1 when there are
# findings, also old ones: delete them when they are mended and in the committed corpus.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
build=${FUZZ_BUILD:-$root/build/fuzz}
runs=$build/runs

# One target for so many seconds.
run_one() {
    dir=$runs/$1
    mkdir -p "$dir/corpus" "$dir/findings"
    date +%s >"$dir/began"
    if [ "$1" = pages ]; then
        GP_BIN=$build/bin nice -n 19 "$here/pages.sh" --seconds "$2" --findings "$dir/findings" >"$dir/log" 2>&1
    else
        "$build/tests/fuzz_$1_replay" --expand "$dir/corpus" --traces "$here/corpus/traces" >/dev/null
        # shellcheck disable=SC2046 # empty, or one word
        FUZZ_QUIET=1 ASAN_OPTIONS=detect_leaks=1 LSAN_OPTIONS="suppressions=$root/tests/lsan.supp:print_suppressions=0" \
            nice -n 19 "$build/tests/fuzz_$1" -max_total_time="$2" -timeout=10 -rss_limit_mb=2048 -max_len=32768 \
            -print_final_stats=1 -artifact_prefix="$dir/findings/" "$dir/corpus" \
            $([ -d "$here/corpus/$1" ] && echo "$here/corpus/$1") >"$dir/log" 2>&1
    fi
    echo $? >"$dir/status"
    date +%s >"$dir/ended"
}

# A line of the table from what a run left behind.
report_one() {
    dir=$runs/$1
    seconds=$(($(cat "$dir/ended") - $(cat "$dir/began")))
    executions=$(sed -n 's/^stat::number_of_executed_units: *//p' "$dir/log" | tail -n 1)
    [ -n "$executions" ] || executions=$(sed -n 's/^#\([0-9]*\).*/\1/p' "$dir/log" | tail -n 1)
    edges=$(sed -n 's/^#.* cov: \([0-9]*\) .*/\1/p' "$dir/log" | sed -n '1p;$p' | paste -sd' ' | sed 's/ / -> /')
    found=$(find "$dir/findings" -type f | wc -l)
    result=clean
    [ "$(cat "$dir/status")" = 0 ] || result="ended with $(cat "$dir/status")"
    [ "$found" = 0 ] || result="$found in ${dir#"$root"/}/findings"
    printf '%-16s %7s %11s %9s  %-16s %s\n' "$1" "$seconds" "${executions:-0}" \
        $((${executions:-0} / (seconds > 0 ? seconds : 1))) "${edges:--}" "$result"
    [ "$result" = clean ]
}

case ${1:-} in
--one)
    run_one "$2" "$3"
    exit 0
    ;;
'' | *[!0-9]*)
    echo "usage: $0 MINUTES [TARGET...]" >&2
    exit 2
    ;;
esac
[ -x "$build/tests/fuzz_gpt" ] || {
    echo "$0: no targets in $build; build them with: cmake --preset fuzz && cmake --build --preset fuzz" >&2
    exit 2
}
minutes=$1
shift
if [ $# = 0 ]; then
    # shellcheck disable=SC2046 # one word per target
    set -- $(sed -n 's/^gp_fuzz(\([^ )]*\).*/\1/p; s/^foreach(tool \(.*\))/\1/p' "$here/CMakeLists.txt")
    command -v node >/dev/null 2>&1 && set -- "$@" pages
fi
jobs=${FUZZ_JOBS:-$(getconf _NPROCESSORS_ONLN)}
each=$((minutes * 60 * jobs / $#))
[ "$each" -gt 0 ] || each=1
printf '%s\n' "$@" | xargs -P "$jobs" -I '{}' "$0" --one '{}' "$each"
status=0
printf '%-16s %7s %11s %9s  %-16s %s\n' target seconds executions "per s" edges result
for target; do report_one "$target" || status=1; done
exit $status
