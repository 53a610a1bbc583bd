#!/bin/sh
# Every script parses, with the shell that its first line names; ShellCheck, where it is installed, has no warnings.
# Python scripts compile. (Tests written with sharness, and what they source, are parsed only: ShellCheck does not know
# the variables that go between them; SC2154, about those of lib.sh, is off for the same reason.)
. "$(dirname "$0")/lib.sh"

shell_scripts() {
    our_files | grep -E '(\.sh|\.t)$|^\.ci/'
}

unparsed() {
    for script; do
        case $(head -n 1 "$script") in
        *bash*) bash -n "$script" ;;
        *perl* | *python*) ;;
        *) sh -n "$script" ;;
        esac
    done 2>&1
}

warned() {
    command -v shellcheck >/dev/null 2>&1 || return 0
    for script; do
        shift
        case $script in *.t) continue ;; esac
        case $(head -n 1 "$script") in '#!'*sh) set -- "$@" "$script" ;; esac
    done
    [ $# = 0 ] || shellcheck -f gcc -S warning -e SC2154 "$@"
    return 0
}

uncompiled() {
    python3 -c 'if True:
        import sys, traceback
        for path in sys.argv[1:]:
            try:
                compile(open(path).read(), path, "exec")
            except Exception:
                print(path, traceback.format_exc().splitlines()[-1])' "$@" 2>&1
}

plant() {
    printf '#!/bin/sh\nif true; then\n' >"$scratch/p.sh"
    printf '#!/bin/sh\ncd "$1"\nrm -rf -- *\n' >"$scratch/q.sh"
    printf 'def f(:\n' >"$scratch/p.py"
    unparsed "$scratch/p.sh"
    warned "$scratch/q.sh"
    uncompiled "$scratch/p.py"
}

clean "shell scripts parse" eval 'unparsed $(shell_scripts)'
clean "ShellCheck has no warnings" eval 'warned $(shell_scripts)'
clean "Python scripts compile" eval 'uncompiled $(our_files | grep "\.py\$")'
finds "planted: an if without end" "p.sh: *[0-9]*" plant
finds "planted: Python that does not compile" "SyntaxError" plant
if command -v shellcheck >/dev/null 2>&1; then
    finds "planted: rm after a cd that can fail" "q.sh:2:.*SC2164" plant
fi
done_checking
