# lib.sh -- sourced by every lint. A lint prints TAP: each check is a command that prints only what is wrong. Each lint
# proves itself by a planted fault that it must find.
set -u
export LC_ALL=C
GP_SOURCE=$(cd "${GP_SOURCE:-$(dirname "$0")/../..}" && pwd) || exit 1
GP_BIN=${GP_BIN:-$GP_SOURCE/build/release/bin}
GP_LIB=${GP_LIB:-$GP_SOURCE/build/release/lib}
lint=$GP_SOURCE/tests/lint
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
checks=0
cd "$GP_SOURCE" || exit 1

# clean NAME COMMAND...: passes when COMMAND prints nothing and succeeds.
clean() {
    checks=$((checks + 1))
    name=$1
    shift
    found=$("$@" 2>&1) && [ -z "$found" ] && { echo "ok $checks - $name"; return; }
    echo "not ok $checks - $name"
    printf '%s\n' "$found" | sed 's/^/# /'
}

# finds NAME PATTERN COMMAND...: passes when what COMMAND prints has a line that matches PATTERN (the self-tests). The same COMMAND once more
# is not run again.
finder=
finds() {
    checks=$((checks + 1))
    name=$1 pattern=$2
    shift 2
    [ "$*" = "$finder" ] || planted=$("$@" 2>&1)
    finder=$*
    printf '%s\n' "$planted" | grep -Eq -- "$pattern" && { echo "ok $checks - $name"; return; }
    echo "not ok $checks - $name"
    printf '# expected /%s/ in:\n' "$pattern"
    printf '%s\n' "$planted" | sed 's/^/# /'
}

done_checking() {
    echo "1..$checks"
}

skip_all() {
    echo "1..0 # SKIP $1"
    exit 0
}

# The names of the tools, from the CMake files of the tree in the current folder.
tools() {
    sed -n 's/^ *gp_tool(\([A-Za-z0-9-]*\).*/\1/p' formats/CMakeLists.txt analyze/CMakeLists.txt \
        render/CMakeLists.txt collect/CMakeLists.txt 2>/dev/null
}

# Our files of the tree in the current folder, as git would take them, whether or not it is a clone.
our_files() {
    if [ -e .git ] && git rev-parse --git-dir >/dev/null 2>&1; then
        git -c core.quotePath=off ls-files --cached --others --exclude-standard | sort -u |
            while IFS= read -r f; do [ -f "$f" ] && printf '%s\n' "$f"; done
    else
        find . \( -name build -o -name .git \) -prune -o -type f -print | sed 's|^\./||' | sort
    fi
}
