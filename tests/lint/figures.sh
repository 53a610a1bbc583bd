#!/bin/sh
# usage: tests/lint/figures.sh
# Prints how often a result is described by hand, with what is aimed at: a report for reviewers, not a check.
set -eu
cd "$(dirname "$0")/../.."
export LC_ALL=C

row() { printf '%-62s %7s   aim %s\n' "$1" "$2" "$3"; }
count() { grep -rnE "$1" "$2" --include='*.c' | grep -cv '#define' || :; }

row "lines of render/*/*_json.c" "$(cat render/*/*_json.c | wc -l)" "1,300"
row "columns written by hand (COLUMN)" "$(count 'COLUMN\(' render)" "0"
row "transfer calls in analyze/" "$(grep -rhoE 'gp_xfer_[a-z0-9]+\(' analyze --include='*.c' | wc -l)" "80"
hand=0
for schema in schemas/trace-*.schema.json; do
    part=schemas/parts/$(basename "$schema" .schema.json).json
    [ -f "$part" ] || part=$schema
    hand=$((hand + $(wc -l <"$part")))
done
row "lines of schemas written by hand" "$((hand + $(cat schemas/parts/head.json schemas/parts/issues.json | wc -l)))" "1,800"
row "prototypes in analyze/hta/hta_priv.h" "$(grep -c '^[a-z].*(.*' analyze/hta/hta_priv.h)" "25"
row "callers of a page's verdict" "$(grep -rlE 'put_verdict\(' render/*/*_html.c render/page/page_doc.c | wc -l)" "1"
row "files that draw log-log rooflines" "$(find render -name '*roofline.c' ! -name '*page*' | wc -l)" "1"
row "private x_of and y_of" "$(count 'static .*[xy]_of\(' render)" "2"
row "lines of .c and .h outside tests and samples" "$(git ls-files 'formats/*.[ch]' 'analyze/*.[ch]' 'render/*.[ch]' 'collect/*.[ch]' | tr '\n' '\0' | xargs -0 cat | wc -l)" "135,000"
row "files of .c and .h outside tests and samples" "$(git ls-files 'formats/*.[ch]' 'analyze/*.[ch]' 'render/*.[ch]' 'collect/*.[ch]' | wc -l)" "790"
