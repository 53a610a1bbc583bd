#!/bin/sh
# Make the report of many traces through partial results, like make(1): what is there and newer than its traces is kept.
#     tree.sh LIST REPORT [PROCESSES]
# LIST has a trace per line, a path or "|COMMAND". The folder REPORT.parts keeps the partial results; delete it afterwards.
set -eu
[ $# -ge 2 ] || { echo "usage: tree.sh LIST REPORT [PROCESSES]" >&2; exit 2; }
list=$1 report=$2 processes=${3:-4} parts=$2.parts fan_in=32
mkdir -p "$parts"

# The lists of all groups of one level: the same groups each time, so that results can be found again.
split_list() { # FROM PREFIX
    rm -f "$2".*.new
    split -a 5 -d -l "$fan_in" "$1" "$2." --additional-suffix=.new
    for new in "$2".*.new; do
        old=${new%.new}.list
        if cmp -s "$new" "$old"; then rm "$new"; else mv "$new" "$old"; fi
    done
}

# Is the result of this list missing, or older than the list or one of its inputs?
stale() { # LIST
    part=${1%.list}.part
    [ -f "$part" ] && [ -z "$(find "$1" -newer "$part")" ] || return 0
    while IFS= read -r input; do
        case $input in '|'* | '#'* | '') continue ;; esac
        [ -z "$(find "$input" -newer "$part" 2>/dev/null)" ] || return 0
    done <"$1"
    return 1
}

# Make all results of a level, so many at once.
make_level() { # PREFIX OPTION...
    prefix=$1
    shift
    for group in "$prefix".*.list; do
        if stale "$group"; then printf '%s\0' "$group"; fi
    done | xargs -0 -r -P "$processes" -I GROUP sh -c '
        group=$1
        shift
        trace-hta -q --keep-going "$@" --from "$group" --save-partial "${group%.list}.part"' sh GROUP "$@"
}

split_list "$list" "$parts/0"
make_level "$parts/0"
level=0
while [ "$(find "$parts" -name "$level.*.list" | wc -l)" -gt 1 ]; do
    next=$((level + 1))
    find "$parts" -name "$level.*.list" | sort | sed 's/\.list$/.part/' >"$parts/$level.all"
    split_list "$parts/$level.all" "$parts/$next"
    make_level "$parts/$next" --merge
    level=$next
done
case $report in
*.html) format=html ;;
*.json) format=json ;;
*) format=text ;;
esac
trace-hta --merge -f "$format" -o "$report" "$parts/$level.00000.part"
