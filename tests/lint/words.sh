#!/bin/sh
# Words that show that something is not done, paths of somebody's machine, and phrases that readers stumble over.
. "$(dirname "$0")/lib.sh"

# The brackets keep this file from finding itself.
unfinished='TOD[O]|FIXM[E]|\bXX[X]\b|\bHAC[K]\b|for no[w]\b|not (yet )?implemente[d]|not yet supporte[d]|lorem ipsu[m]'
paths='(^|[^A-Za-z0-9_.$}-])/(home|root|Users|work|mnt|scratch)/[A-Za-z0-9_.]'

# Traces and pictures that were captured may hold anything; what we wrote may not.
texts() {
    our_files | grep -Ev '(^|/)(LICENSE)$|^samples/.*\.(json|trace|gz|zst|svg|html|folded|log)$|^tests/(fuzz/corpus|golden)/'
}

search() {
    texts | tr '\n' '\0' | xargs -0 -r grep -InHE -- "$1" || :
}

# Pages, manuals, comments, strings and names of tests; which phrases, and what to write instead: phrases.pl.
stumbling() {
    our_files | grep -E '\.([1-8]|md|c|h|js|cu|cpp|sh|py|t)$|(^|/)CMakeLists\.txt$' |
        grep -v '^tests/lint/words\.sh$' |
        tr '\n' '\0' | xargs -0 -r perl "$lint/phrases.pl"
}

plant_phrases() {
    mkdir -p "$scratch/prose"
    cd "$scratch/prose" || exit 1
    cat >p.c <<'END'
/* What is no error, a row a series; it is told by its name, or else
 * is read from a file alone. */
int longer; // there is no longer one, and nothing else
const char *s = "ranges that are steps (default: found by themselves)";
else alone(x);
END
    cat >p.sh <<'END'
# as far as it goes
if a; then b; else is no c; fi # and what can be had
END
    printf 'It prints one line per step.\nNobody knows; nobody knows why.\n' >p.md
    stumbling
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
clean "no phrase that readers stumble over" stumbling
for fault in "p.c:1: .is no. " "p.c:1: .a ... a. " "p.c:1: .told. " "p.c:1: .else. " "p.c:2: .alone. " "p.c:4: .found by" \
    "p.sh:1: .as far" "p.sh:2: .to be had. " "p.md:2: .nobody"; do
    finds "planted: $fault" "$fault" eval '(plant_phrases)'
done
clean "code and good sentences pass" eval '(plant_phrases | grep -E "p.c:[35]:|p.sh:2: .is no|p.md:1:"; :)'
done_checking
