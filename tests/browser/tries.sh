# tries.sh -- sourced by the tests of pages: how a script that drives a browser is run.
#
#   tries node page.js DIRECTORY
#
# A page answers when the browser gets to it, and a busy machine can be late for any pause that a script makes. So a
# script that fails is run again, three times in all; the last output counts. A fault fails every time.
tries() {
    tap=$(mktemp) || exit 1
    for try in 1 2 3; do
        tries_status=0
        "$@" >"$tap" || tries_status=$?
        [ $tries_status -ne 0 ] || break
        [ "$try" = 3 ] || awk '/^ok|^1\.\./ {p = 0} /^not ok/ {p = 1} p {print "# failed, and is tried again: " $0}' "$tap"
    done
    cat "$tap"
    rm -f "$tap"
    return $tries_status
}
