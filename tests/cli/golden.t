#!/bin/sh
# Outputs as files: what changes in them is seen in review. With --update they are written anew.
test_description='outputs that are committed, byte for byte'
if [ "${1-}" = --update ]; then
    update=yes
    shift
fi
. "${GP_SOURCE:-$(dirname "$0")/../..}/tests/tap/setup.sh"
cases=$GP_SOURCE/tests/golden/cases

# file_of NAME: where the output of that name is kept; the picture of the README is a sample, too.
file_of() {
    if [ -e "$samples/$1" ]; then echo "$samples/$1"; else echo "$GP_SOURCE/tests/golden/$1"; fi
}

sed '/^#/d; /^$/d' "$cases" >list
while read -r name command; do
    kept=$(file_of "$name")
    [ -z "${update-}" ] || (cd "$GP_SOURCE" && eval "$command") >"$kept" </dev/null
    test_expect_success "$name" '(cd "$GP_SOURCE" && eval "$command") >out </dev/null && test_cmp "$kept" out'
done <list

test_expect_success 'nothing is kept that no command makes' '
    ls "$GP_SOURCE/tests/golden" | sed "/^cases$/d" | sort >kept && awk "{ print \$1 }" list >made &&
    while read -r name; do grep -Fx "$name" made >/dev/null || exit 1; done <kept
'

test_done
