#!/bin/sh
# Every tool has a man page that mandoc is content with, and it names exactly the options that --help names.
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
    # A page without a date is what we want: the same source gives the same bytes, whenever it is installed.
    mandoc -Tlint -Wwarning "$man" | grep -v 'missing date'
    "$GP_BIN/$1" --help >"$scratch/help" </dev/null || echo "$1 --help failed"
    [ -s "$scratch/help.options" ] && rm "$scratch/help.options"
    differences "$scratch/help" "$man"
    [ -s "$scratch/help.options" ] || echo "$1 --help names no option"
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
    else clean "$tool is built" eval "echo $GP_BIN/$tool is missing"; fi
done
finds "planted: an option that the man page lacks" "only in --help.*--bytes" plant
finds "planted: an option that --help lacks" "only in .*not in --help: --gone" plant
clean "nothing else is reported" eval 'plant | grep -Ev -- "--(bytes|gone)$"; :'
done_checking
