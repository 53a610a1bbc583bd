#!/bin/sh
# Words that say that something is not done, and paths of somebody's machine.
. "$(dirname "$0")/lib.sh"

# The brackets keep this file from finding itself.
unfinished='TOD[O]|FIXM[E]|\bXX[X]\b|\bHAC[K]\b|for no[w]\b|not (yet )?implemente[d]|not yet supporte[d]|lorem ipsu[m]'
paths='(^|[^A-Za-z0-9_.$}-])/(home|root|Users|work|mnt|scratch)/[A-Za-z0-9_.]'

# Traces and pictures that were captured may hold anything; what we wrote may not.
texts() {
    our_files | grep -Ev '(^|/)(LICENSE)$|^samples/.*\.(json|trace|gz|zst|svg|html|folded|log)$|^tests/(fuzz/corpus|golden)/' |
        while IFS= read -r f; do grep -Iq . "$f" && printf '%s\n' "$f"; done
}

search() {
    texts | tr '\n' '\0' | xargs -0 -r grep -nHE -- "$1" || :
}

plant() {
    mkdir -p "$scratch/tree"
    cd "$scratch/tree" || exit 1
    printf 'a\n/* TO%s: later */\n// /ho%s/me/x\nb = (x) /rootless;\n' DO me >p.c
    search "$unfinished"
    search "$paths"
}

clean "nothing says that it is unfinished" search "$unfinished"
clean "no path of somebody's machine" search "$paths"
finds "planted: an unfinished thing" "p.c:2:" eval '(plant)'
finds "planted: a path" "p.c:3:" eval '(plant)'
clean "an ordinary line passes" eval '(plant | grep p.c:4:; :)'
done_checking
