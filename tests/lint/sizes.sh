#!/bin/sh
# Functions are short: over 120 lines a function needs a line with its reason in sizes.allow. So are rooms: a folder holds
# at most 45 sources and headers.
. "$(dirname "$0")/lib.sh"
ctags --version 2>/dev/null | grep -q Universal || skip_all "universal-ctags is missing"
most=120
room=45

# FILE:FUNCTION LINES, longest first, for functions over $most lines.
long_functions() {
    find "$@" -name '*.c' -type f | sort |
        ctags -f - --languages=C --kinds-C=f --fields=ne --excmd=number --sort=no -L - 2>/dev/null |
        awk -F '\t' -v most=$most '{
            line = end = 0
            for (i = 4; i <= NF; i++) { split($i, kv, ":"); if (kv[1] == "line") line = kv[2]; if (kv[1] == "end") end = kv[2] }
            if (end - line + 1 > most) print $2 ":" $1, end - line + 1
        }'
}

too_long() {
    long_functions formats analyze render collect tests | while read -r name lines; do
        grep -Eq "^$name +[A-Za-z]" "$lint/sizes.allow" || echo "$name has $lines lines, more than $most"
    done
}

no_longer_long() {
    long_functions formats analyze render collect tests >"$scratch/long"
    grep -v '^#' "$lint/sizes.allow" | while read -r name _; do
        [ -z "$name" ] || grep -q "^$name " "$scratch/long" || echo "sizes.allow: $name is not over $most lines"
    done
}

# FOLDER FILES, for folders with too many.
crowded() {
    find "$@" \( -name '*.c' -o -name '*.h' \) -type f | sed 's|/[^/]*$||' | sort | uniq -c |
        awk -v most=$room '$1 > most { print $2 " has " $1 " sources and headers, more than " most }'
}

plant_room() {
    mkdir -p "$scratch/room"
    for i in $(seq "$1"); do : >"$scratch/room/$i.h"; done
    crowded "$scratch/room"
}

plant() {
    mkdir -p "$scratch/src"
    { echo 'int f(void)'; echo '{'; for i in $(seq "$1"); do echo "    g($i);"; done; echo '    return 0;'; echo '}'; } >"$scratch/src/f.c"
    long_functions "$scratch/src"
}

clean "functions have at most $most lines" too_long
clean "sizes.allow names long functions only" no_longer_long
finds "planted: a function of 121 lines" "f.c:f 121$" plant 117
clean "a function of 120 lines passes" plant 116
clean "folders have at most $room sources and headers" crowded formats analyze render collect tests
finds "planted: a folder of 46 headers" "room has 46 sources" plant_room 46
done_checking
