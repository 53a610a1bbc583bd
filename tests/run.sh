#!/bin/sh
# usage: tests/run.sh [-R REGEX] [--release-only]
# Installs what is missing, builds gpuprof twice (plain, and with the address and undefined behaviour sanitizers), and
# runs every test of both builds, the lints included. The last lines are CTest's summary over all of it. Needs no GPU
# and, when the packages are there, no network.
#   -R REGEX         run only the tests whose name matches; those of the sanitizer build are called asan.NAME
#   --release-only   leave the sanitizer build out
set -eu
cd "$(dirname "$0")/.."
root=$(pwd)
export LC_ALL=C
unset CDPATH GREP_OPTIONS 2>/dev/null || :

regex=.
presets="asan release"
while [ $# -gt 0 ]; do
    case $1 in
    -R) [ $# -ge 2 ] || { echo "run.sh: -R needs a regular expression" >&2; exit 2; }
        regex=$2; shift ;;
    --release-only) presets=release ;;
    -h | --help) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//p;}' "$0"; exit 0 ;;
    *) echo "run.sh: unknown argument '$1'; see tests/run.sh --help" >&2; exit 2 ;;
    esac
    shift
done

tests/setup/install.sh build test
# Not every system has a browser that works without a desktop.
tests/setup/install.sh browser || echo "run.sh: no browser: the tests of pages and pictures are skipped"

jobs=$(nproc 2>/dev/null || echo 2)
[ "$jobs" -le 8 ] || jobs=8
for preset in $presets; do
    echo "== building: $preset"
    mkdir -p build
    cmake --preset "$preset" >"build/$preset.log" 2>&1 || { tail -n 60 "build/$preset.log"; exit 1; }
    cmake --build --preset "$preset" -j "$jobs" >>"build/$preset.log" 2>&1 || { tail -n 60 "build/$preset.log"; exit 1; }
    grep -E 'warning:|^-- .*(not built|with zlib)' "build/$preset.log" || :
done

# One CTest run over both builds, so that there is one summary. The tests of the sanitizer build get a prefix.
all=build/all-tests
rm -rf "$all"
mkdir -p "$all"
: >"$all/CTestTestfile.cmake"
for preset in $presets; do
    prefix=
    [ "$preset" = release ] || prefix=$preset.
    (cd "build/$preset" && find . -name CTestTestfile.cmake) | while IFS= read -r f; do
        mkdir -p "$all/$preset/${f%/*}"
        sed -E "s/^(add_test|set_tests_properties)\(((\[=*\[|\")?)/\1(\2$prefix/" "build/$preset/$f" >"$all/$preset/$f"
    done
    echo "subdirs(\"$preset\")" >>"$all/CTestTestfile.cmake"
done

# A python3 that is a script which looks for Python, such as that of pyenv, takes three times as long to start as the one it finds.
if python=$(command -v python3) && [ "$(head -c 2 "$python")" = "#!" ]; then
    PATH=$(python3 -c 'import os, sys; print(os.path.dirname(sys.executable))'):$PATH
fi

echo "== testing"
# Speed is measured without sanitizers.
# Tests wait for processes and browsers a good part of their time: four more than processors keep these busy.
ctest --test-dir "$root/$all" -j $((jobs + 4)) --output-on-failure --no-label-summary --no-tests=error \
    -R "$regex" -E '^asan\.bench\.' </dev/null 2>&1
