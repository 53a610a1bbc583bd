#!/bin/sh
# Functions are short: over 120 lines a function needs a line with its reason in sizes.allow. So are rooms: a folder holds
# at most 80 sources and headers, and the main of a tool at most 300 lines: options, open, call, write. Lines of C have at
# most 110 columns, comments and tables too, which clang-format leaves as they are.
. "$(dirname "$0")/lib.sh"
ctags --version 2>/dev/null | grep -q Universal || skip_all "universal-ctags is missing"
most=120
room=80
main=300
wide=110

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

# FILE LINES, for mains of the tree in the current folder with too many.
long_mains() {
    for tool in $(tools); do
        for f in formats/"$tool".c analyze/"$tool".c render/"$tool".c collect/"$tool".c; do
            [ ! -f "$f" ] || awk -v most=$main 'END { if (NR > most) print FILENAME " has " NR " lines, more than " most }' "$f"
        done
    done
}

# FILE:LINE: COLUMNS of lines of C with too many. A character of UTF-8 is one column.
wide_lines() {
    our_files | grep '\.[ch]$' | tr '\n' '\0' | xargs -0 -r awk -v most=$wide '{
        line = $0
        gsub(/[\200-\277]/, "", line)
        if (length(line) > most) print FILENAME ":" FNR ": " length(line) " columns, more than " most
    }'
}

# plant_line COLUMNS: a line of so many, the last of which takes two bytes.
plant_line() {
    rm -rf "$scratch/tree"
    mkdir -p "$scratch/tree"
    cd "$scratch/tree" || exit 1
    printf '// %*s\303\251\n' $(($1 - 4)) x >p.c
    wide_lines
}

plant_main() {
    rm -rf "$scratch/tree"
    mkdir -p "$scratch/tree/analyze"
    cd "$scratch/tree" || exit 1
    echo 'gp_tool(trace-x DEPENDS gp_analyze)' >analyze/CMakeLists.txt
    seq "$1" >analyze/trace-x.c
    seq 400 >analyze/other.c
    long_mains
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
finds "planted: a folder of 81 headers" "room has 81 sources" plant_room 81
clean "the mains of tools have at most $main lines" long_mains
finds "planted: a main of 301 lines" "analyze/trace-x.c has 301 lines" eval '(plant_main 301)'
clean "a main of 300 lines passes, and so does a long file that is not a tool" eval '(plant_main 300)'
clean "lines of C have at most $wide columns" wide_lines
finds "planted: a line of 111 columns" "p.c:1: 111 columns" eval '(plant_line 111)'
clean "a line of 110 columns passes" eval '(plant_line 110)'
done_checking
