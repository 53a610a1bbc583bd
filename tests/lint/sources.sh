#!/bin/sh
# Nothing lies around: every source is built, every test is run, every test script can be executed.
. "$(dirname "$0")/lib.sh"

mentioned() {
    name=$1
    shift
    grep -qE -- "(^|[^A-Za-z0-9_.-])$name([^A-Za-z0-9_]|\$)" "$@" 2>/dev/null
}

# Sources are found by their folders, so what is not built lies in a folder that no gp_wing() or gp_reader() names.
unbuilt() {
    cat CMakeLists.txt */CMakeLists.txt formats/*/CMakeLists.txt 2>/dev/null >"$scratch/cmake"
    find formats analyze render collect -name '*.c' -type f | sort | while IFS= read -r c; do
        folder=${c%/*} stem=${c##*/}
        mentioned "gp_wing\($folder" "$scratch/cmake" || mentioned "gp_reader\(${folder#formats/}" "$scratch/cmake" ||
            mentioned "gp_tool\(${stem%.c}" "$scratch/cmake" || mentioned "$stem" "$folder/CMakeLists.txt" ||
            echo "$c is in no target"
    done
}

# What CTest knows in the build folder that holds the tools.
registered() {
    find "${GP_BIN%/bin}" -name CTestTestfile.cmake -type f -exec grep -h '^add_test' {} +
}

unregistered() {
    registered >"$scratch/registered"
    for t in $(find tests/unit -name "test_*.c" 2>/dev/null | sort); do
        [ -f "$t" ] || continue
        stem=${t##*/}
        grep -q "/${stem%.c}\"" "$scratch/registered" || echo "$t is not run"
    done
    for t in tests/cli/*.t tests/pipe/*.t tests/schema/*.t tests/lint/*.sh; do
        case ${t##*/} in lib.sh | report.sh) continue ;; esac # what all lints begin with, and what fails nothing
        [ -f "$t" ] || continue
        # What needs a library that was not built here is at least in CMakeLists.txt.
        grep -q "/$t\"" "$scratch/registered" || grep -qF "/${t#tests/}" tests/CMakeLists.txt 2>/dev/null ||
            echo "$t is not run"
    done
    for t in tests/fuzz/fuzz_*.c; do
        [ -f "$t" ] || continue
        stem=${t##*/}
        grep -q "${stem%.c}" "$scratch/registered" || echo "$t is not run"
    done
}

not_executable() {
    for t in tests/cli/*.t tests/pipe/*.t tests/schema/*.t tests/lint/*.sh tests/run.sh tests/setup/install.sh \
        samples/*.sh .ci/run; do
        [ -f "$t" ] && [ "${t##*/}" != lib.sh ] || continue
        [ -x "$t" ] || echo "$t is not executable"
    done
}

broken_scripts() {
    our_files | grep -E '\.(sh|t)$' | while IFS= read -r f; do
        case $(head -n 1 "$f") in
        *bash*) command -v bash >/dev/null && bash -n "$f" ;;
        *) sh -n "$f" ;;
        esac
    done 2>&1
}

plant() {
    mkdir -p "$scratch/tree/formats/x" "$scratch/tree/tests/unit" "$scratch/tree/tests/cli" "$scratch/tree/build/tests"
    cd "$scratch/tree" || exit 1
    echo 'gp_wing(formats DEPENDS formats/xy)' >formats/CMakeLists.txt
    echo 'add_test([=[unit.base]=] "prove" "/x/test_base")' >build/tests/CTestTestfile.cmake
    : >formats/trace.c
    : >formats/x/lost.c
    : >tests/unit/test_base.c
    : >tests/unit/test_lost.c
    : >tests/cli/lost.t
    GP_BIN=$PWD/build/bin
    unbuilt 2>/dev/null
    unregistered
    not_executable
}

clean "every source is in a target" unbuilt
clean "every test is run" unregistered
clean "scripts can be executed" not_executable
clean "scripts parse" broken_scripts
finds "planted: a source in a folder of no target" "formats/x/lost.c is in no target" eval '(plant)'
finds "planted: a unit test that is not run" "test_lost.c is not run" eval '(plant)'
finds "planted: a script that is not run" "cli/lost.t is not run" eval '(plant)'
finds "planted: a script that cannot be run" "cli/lost.t is not executable" eval '(plant)'
clean "what is built and run is not reported" eval '(plant | grep -E "trace|base"; :)'
done_checking
