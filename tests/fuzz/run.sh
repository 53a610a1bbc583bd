#!/bin/sh
# run.sh MINUTES [TARGET...] -- runs the fuzz targets, all of them unless some are named, and prints a table. The minutes are
# shared evenly; FUZZ_JOBS targets run at once (default: one per processor). What a run learned stays in
# build/fuzz/runs/TARGET/corpus for the next one, findings in build/fuzz/runs/TARGET/findings, and in
# build/fuzz/runs/TARGET/executions how many executions have ended well since the last finding.
# Exits with 1 when there are findings, also old ones (delete them when they are mended and in the committed corpus), and when
# the executions of a target, those of earlier runs included, are below its minimum: 1,000,000, or 100,000 of whole tools and
# analyses; FUZZ_LEAST is another number for all. With 0 minutes nothing runs, and the table shows what there is.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
build=${FUZZ_BUILD:-$root/build/fuzz}
runs=$build/runs

# The executions without a finding that a target needs. Those of query read every table of a trace; the hub's are of the whole
# launcher: clients, shared memory, the trace that is written, and reading it again.
least_of() {
    case $1 in
    trace* | diff | hta | suggest | query | hub | pages) echo "${FUZZ_LEAST:-100000}" ;;
    *) echo "${FUZZ_LEAST:-1000000}" ;;
    esac
}

count_findings() {
    find "$runs/$1/findings" -type f 2>/dev/null | wc -l
}

# A finding begins the count anew.
add_up() {
    ran=$(sed -n 's/^stat::number_of_executed_units: *//p' "$runs/$1/log" | tail -n 1)
    [ -n "$ran" ] || ran=$(sed -n 's/^#\([0-9]*\).*/\1/p' "$runs/$1/log" | tail -n 1)
    echo "${ran:-0}" >"$runs/$1/ran"
    before=$(cat "$runs/$1/executions" 2>/dev/null)
    if [ "$(cat "$runs/$1/status")" = 0 ] && [ "$(count_findings "$1")" = 0 ]; then
        echo $((${before:-0} + ${ran:-0})) >"$runs/$1/executions"
    else
        echo 0 >"$runs/$1/executions"
    fi
}

# One target for so many seconds.
run_one() {
    dir=$runs/$1
    mkdir -p "$dir/corpus" "$dir/findings"
    date +%s >"$dir/began"
    if [ "$1" = pages ]; then
        GP_BIN=$build/bin nice -n 19 "$here/pages.sh" --seconds "$2" --findings "$dir/findings" >"$dir/log" 2>&1
    else
        "$build/tests/fuzz_$1_replay" --expand "$dir/corpus" --traces "$here/corpus/traces" >/dev/null
        # With a small quarantine memory is used again, and a short stack of each allocation is enough: twice as fast.
        # shellcheck disable=SC2046 # empty, or one word
        FUZZ_QUIET=1 \
            ASAN_OPTIONS=detect_leaks=1:quarantine_size_mb=8:allocator_release_to_os_interval_ms=-1:malloc_context_size=8 \
            LSAN_OPTIONS="suppressions=$root/tests/lsan.supp:print_suppressions=0" \
            nice -n 19 "$build/tests/fuzz_$1" -max_total_time="$2" -entropic=0 -timeout=10 -rss_limit_mb=2048 \
            -max_len=32768 -print_final_stats=1 -artifact_prefix="$dir/findings/" "$dir/corpus" \
            $([ -d "$here/corpus/$1" ] && echo "$here/corpus/$1") >"$dir/log" 2>&1
    fi
    echo $? >"$dir/status"
    date +%s >"$dir/ended"
    add_up "$1"
}

# A line of the table from what a run left behind.
report_one() {
    dir=$runs/$1 seconds=0 ran=0 total=0 edges='' result=clean least=$(least_of "$1") found=$(count_findings "$1")
    if [ -f "$dir/ran" ]; then
        seconds=$(($(cat "$dir/ended") - $(cat "$dir/began")))
        ran=$(cat "$dir/ran") total=$(cat "$dir/executions")
        edges=$(sed -n 's/^#.* cov: \([0-9]*\) .*/\1/p' "$dir/log" | sed -n '1p;$p' | paste -sd' ' | sed 's/ / -> /')
        [ "$(cat "$dir/status")" = 0 ] || result="ended with $(cat "$dir/status")"
    fi
    [ "$result" != clean ] || [ "$total" -ge "$least" ] || result="$((least - total)) executions are missing"
    [ "$found" = 0 ] || result="$found in ${dir#"$root"/}/findings"
    printf '%-16s %7s %11s %9s %11s  %-16s %s\n' "$1" "$seconds" "$ran" $((ran / (seconds > 0 ? seconds : 1))) \
        "$total" "${edges:--}" "$result"
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
[ "$minutes" = 0 ] || printf '%s\n' "$@" | xargs -P "$jobs" -I '{}' "$0" --one '{}' "$each"
status=0
printf '%-16s %7s %11s %9s %11s  %-16s %s\n' target seconds executions "per s" "in sum" edges result
for target; do report_one "$target" || status=1; done
exit $status
