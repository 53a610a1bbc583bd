#!/bin/sh
# Every tool has a man page without complaints from mandoc, and it names exactly the options that --help names. All pages
# use mdoc(7), have the same fixed date (without one, groff prints the day on which it runs) and lead to gpuprof(7), which
# lists every tool.
. "$(dirname "$0")/lib.sh"
command -v mandoc >/dev/null 2>&1 || skip_all "mandoc is missing (package mandoc)"

# Of lines that begin with an option, what looks like one before the description, which two spaces set off.
options_of_text() {
    grep -E '^ +--?[A-Za-z]' | sed -E 's/^ +//; s/  .*//' | grep -oE '(^|[ ,|])--?[A-Za-z][A-Za-z0-9-]*' | tr -d ' ,|' | sort -u
}

# HELP and MAN are files. Prints the options that only one of them has.
differences() {
    options_of_text <"$1" >"$scratch/help.options"
    mandoc -Tascii -Owidth=1000 "$2" | sed 's/.\x08//g' | options_of_text >"$scratch/man.options"
    comm -23 "$scratch/help.options" "$scratch/man.options" | sed "s|^|only in --help, not in $2: |"
    comm -13 "$scratch/help.options" "$scratch/man.options" | sed "s|^|only in $2, not in --help: |"
}

compare() {
    man=$(ls formats/"$1".1 analyze/"$1".1 render/"$1".1 collect/"$1".1 2>/dev/null)
    [ -n "$man" ] || { echo "$1 has no man page"; return; }
    mandoc -Tlint -Wwarning "$man"
    "$GP_BIN/$1" --help >"$scratch/help" </dev/null || echo "$1 --help failed"
    [ -s "$scratch/help.options" ] && rm "$scratch/help.options"
    differences "$scratch/help" "$man"
    [ -s "$scratch/help.options" ] || echo "$1 --help names no option"
}

# What is wrong with the frame of the man pages in the current tree.
bad_frames() {
    for page in */*.[1-8]; do
        [ "$(sed -n 1p "$page")" = "$(sed -n 1p formats/gpuprof.7)" ] || echo "$page:1: not the date of gpuprof(7)"
        sed -n 1p "$page" | grep -q '^\.Dd [A-Z][a-z]* [0-9]*, 20[0-9][0-9]$' || echo "$page:1: not mdoc(7) with a date"
        [ "$(sed -n 3p "$page")" = '.Os gpuprof' ] || echo "$page:3: not '.Os gpuprof'"
        [ "${page##*/}" = gpuprof.7 ] || grep -q '^\.Xr gpuprof 7$' "$page" || echo "$page: SEE ALSO lacks gpuprof 7"
        grep -E '^(\.It )?\.?Xr (gpuprof|trace)[a-z0-9-]* ' "$page" | sed 's/^\.It //; s/^\.*Xr //' |
            while read -r name section rest; do
                ls ./*/"$name.$section" >/dev/null 2>&1 || echo "$page: no such page: $name($section) $rest"
            done
    done
    for tool in $(tools); do
        grep -q "^\.It Xr $tool 1\$" formats/gpuprof.7 2>/dev/null || echo "formats/gpuprof.7: lacks .It Xr $tool 1"
    done
}

# mdoc takes a word that is a macro's name for the macro, also in a heading ("No steps" loses its "No"), and a quote that
# is opened by a macro within another one swallows the rest of the line. What is wrong with PAGEs as they are printed.
swallowed() {
    for page; do
        grep -nE '^\.S[hs] (.* )?(Ac|Ad|An|Ao|Ap|Aq|Ar|At|Bo|Bq|Bx|Cm|Do|Dq|Em|Er|Ev|Fa|Fl|Fn|Fx|Ic|In|Li|Lk|Ms|Mt|Nm|No|Ns|Nx|Oc|Oo|Op|Ox|Pa|Po|Pq|Ql|Qo|Qq|Sm|So|Sq|St|Sx|Sy|Tn|Ux|Va|Vt|Xr)( |$)' "$page" |
            sed "s|^|$page:|; s|\$|: write \\\\\&Word|"
        # shellcheck disable=SC1112 # these are the quotes that are looked for
        mandoc -Tutf8 -Owidth=1000 "$page" | sed 's/.\x08//g' | grep -nE '’’|‘[^’]*‘' | sed "s|^|$page, as printed: |"
    done
}

plant_swallowed() {
    printf '.Dd June 2, 2025\n.Dt T 7\n.Os gpuprof\n.Sh NAME\n.Nm t\n.Nd t\n.Ss No steps were found\n.Ss \\&No harm\n%s\n' \
        '.Pq Ql @500 , Ql @20kHz ; No at most' >"$scratch/s.7"
    swallowed "$scratch/s.7"
}

plant_frames() {
    mkdir -p "$scratch/tree/formats" "$scratch/tree/analyze"
    cd "$scratch/tree" || exit 1
    echo 'gp_tool(trace-x DEPENDS gp_formats)' >formats/CMakeLists.txt
    printf '.Dd June 2, 2025\n.Dt GPUPROF 7\n.Os gpuprof\n' >formats/gpuprof.7
    printf '.Dd ""\n.Dt TRACE-X 1\n.Os\n.Sh SEE ALSO\n.Xr trace-gone 1\n' >formats/trace-x.1
    printf '.Dd June 2, 2025\n.Dt GOOD 1\n.Os gpuprof\n.Xr trace-x 1 ,\n.Xr gpuprof 7\n' >analyze/good.1
    bad_frames
}

plant() {
    printf 'usage: t\n  -a, --all        all\n      --bytes=N    bytes\n  -q, --quiet  as --silent in other tools\n' >"$scratch/h"
    cat >"$scratch/t.1" <<'END'
.Dd January 1, 2025
.Dt T 1
.Os
.Sh NAME
.Nm t
.Nd test
.Sh OPTIONS
Not an option of ours: --other.
.Bl -tag -width Ds
.It Fl a , Fl -all
All.
.It Fl -gone
Gone.
.It Fl q , Fl -quiet
Quiet.
.El
END
    differences "$scratch/h" "$scratch/t.1"
}

for tool in $(tools); do
    if [ -x "$GP_BIN/$tool" ]; then clean "$tool: --help and the man page agree" compare "$tool"
    elif case $tool in trace-serve | trace-hta-mpi | trace-query) true ;; *) false ;; esac; then # need libmicrohttpd, MPI, SQLite
        echo "# $tool is not built, and not compared"
    else clean "$tool is built" eval "echo $GP_BIN/$tool is missing"; fi
done
clean "man pages have one frame and lead to each other" bad_frames
clean "what a man page prints has all its words, and quotes that end" eval 'swallowed $(our_files | grep -E "\.[1-8]$")'
finds "planted: a heading that loses its first word" "s.7:7:.Ss No steps" plant_swallowed
finds "planted: a quote that swallows the rest" "s.7, as printed: .*at most" plant_swallowed
clean "an escaped word is left alone" eval 'plant_swallowed | grep "No harm"; :'
for fault in "formats/trace-x.1:1: .*not the date" "formats/trace-x.1:1: .*with a date" "formats/trace-x.1:3: " "trace-x.1: SEE ALSO lacks gpuprof 7" \
    "no such page: trace-gone" "gpuprof.7: lacks .It Xr trace-x 1"; do
    finds "planted: $fault" "$fault" eval '(plant_frames)'
done
clean "a good frame is left alone" eval '(plant_frames | grep good; :)'
finds "planted: an option that the man page lacks" "only in --help.*--bytes" plant
finds "planted: an option that --help lacks" "only in .*not in --help: --gone" plant
clean "nothing else is reported" eval 'plant | grep -Ev -- "--(bytes|gone)$"; :'
done_checking
