#!/bin/sh
# How often a result is still described by hand, beside its record (analyze/result): each figure may only fall. Whoever brings
# one down lowers its limit here; the aims say where it should end.
. "$(dirname "$0")/lib.sh"

# NAME LIMIT AIM FIGURE -- prints the figure as a comment, and complains where it is above LIMIT.
figure() {
    printf '# %-58s %7s   at most %s, aim %s\n' "$1" "$4" "$2" "$3" >&3
    [ "$4" -le "$2" ] || echo "$1: $4, more than $2: describe it in a record (analyze/result/README.md)"
}

count() {
    grep -rnE "$1" "$2" --include='*.c' | grep -cv '#define' || :
}

# Of the schemas, what is not made from records.
schema_lines() {
    for schema in schemas/trace-*.schema.json; do
        part=schemas/parts/$(basename "$schema" .schema.json).json
        if [ -f "$part" ]; then cat "$part"; else cat "$schema"; fi
    done | cat - schemas/parts/head.json schemas/parts/summary.json schemas/parts/issues.json | wc -l
}

figures() {
    figure "calls that write JSON by hand, gp_doc_*()" 214 100 "$(cat render/*/*.c | grep -oE '\<gp_doc_[a-z0-9_]+\(' | wc -l)"
    figure "columns written by hand, COLUMN()" 0 0 "$(count 'COLUMN\(' render)"
    figure "transfer calls in analyze/" 67 80 "$(grep -rhoE 'gp_serialize_[a-z0-9]+\(' analyze --include='*.c' | wc -l)"
    figure "lines of schemas written by hand" 428 1800 "$(schema_lines)"
    figure "prototypes in analyze/hta/hta_priv.h" 18 25 "$(grep -c '^[a-z].*(.*' analyze/hta/hta_priv.h)"
    figure "files that draw rooflines" 1 1 "$(find render -name '*roofline.c' ! -name '*page*' | wc -l)"
}

plant() {
    figure "planted" 2 1 3
}

exec 3>&1
clean "what is described by hand does not grow" figures
exec 3>/dev/null
finds "planted: a figure above its limit" "planted: 3, more than 2" plant
done_checking
