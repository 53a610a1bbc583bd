# setup.sh -- sourced by every *.t of tests/cli and tests/pipe, after test_description is set:
#
#     test_description='trace2flame: command line'
#     . "${GP_SOURCE:-$(dirname "$0")/../..}/tests/tap/setup.sh"
#
# Gives sharness's functions, the tools in PATH, an empty scratch directory to work in, and
#   GP_BIN      where the tools are (CTest says so; build/release/bin otherwise)
#   GP_LIB      where the injected library is
#   GP_SOURCE   the root of the repository
#   GP_SANITIZED  not empty in a sanitizer build, where comparisons in Python that the plain build makes are left out
#   samples     its samples folder
#   PLAIN       a prerequisite: what compares the figures of every sample, which the plain build does; other tests open them in both
#   status_of, on_some_try   see below
GP_SOURCE=$(cd "${GP_SOURCE:-$(dirname "$0")/../..}" && pwd) || exit 1
GP_BIN=$(cd "${GP_BIN:-$GP_SOURCE/build/release/bin}" && pwd) || {
    echo "Bail out! no tools: build them first (cmake --workflow --preset release)"
    exit 1
}
GP_LIB=${GP_LIB:-$GP_BIN/../lib}
GP_SANITIZED=${GP_SANITIZED:-}
samples=$GP_SOURCE/samples
# What was measured on this machine is nothing that a test may depend on.
XDG_CACHE_HOME=${GP_BIN%/bin}/tests/scratch/cache
export GP_SOURCE GP_BIN GP_LIB GP_SANITIZED XDG_CACHE_HOME samples

# Scratch directories belong to the build and to the folder of the test: two builds can be tested at the same time, and
# so can cli/trace-hta.t and schema/trace-hta.t.
SHARNESS_BUILD_DIRECTORY=$GP_BIN
SHARNESS_TEST_DIRECTORY=${GP_BIN%/bin}/tests/scratch/$(basename "$(cd "$(dirname "$0")" && pwd)")
SHARNESS_TEST_OUTDIR=$SHARNESS_TEST_DIRECTORY
mkdir -p "$SHARNESS_TEST_DIRECTORY" || exit 1
export SHARNESS_BUILD_DIRECTORY SHARNESS_TEST_DIRECTORY SHARNESS_TEST_OUTDIR

if [ ! -r /usr/share/sharness/sharness.sh ]; then
    echo "Bail out! sharness is missing; tests/setup/install.sh installs it"
    exit 1
fi
. /usr/share/sharness/sharness.sh
[ -n "$GP_SANITIZED" ] || test_set_prereq PLAIN
# With --verbose, what a test prints is no TAP, whatever it looks like.
[ "$verbose" != t ] || exec 3>&2

# status_of COMMAND ARG... -- run it, its output and messages to the files `out` and `err`, its exit status to the
# variable `status`; succeeds whatever happens, so that a test can then look at all three.
status_of() {
    status=0
    "$@" >out 2>err || status=$?
}

# on_some_try 'COMMANDS' -- for what depends on time, such as a signal that must arrive while a program runs: succeeds when
# one of ten tries does. A busy machine may spoil a try, a fault spoils all of them.
on_some_try() {
    for try in 1 2 3 4 5 6 7 8 9 10; do
        (eval "$1") && return
        echo "try $try failed"
        sleep 0.2
    done
    return 1
}
