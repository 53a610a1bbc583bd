#!/bin/sh
# Every script parses, with the shell that its first line names; ShellCheck, where it is installed, has no warnings.
# Python scripts compile. (Tests written with sharness, and what they source, are parsed only: ShellCheck does not know
# the variables that go between them.)
set -u
cd "${GP_SOURCE:-$(dirname "$0")/../..}" || exit 1
n=0
export PYTHONDONTWRITEBYTECODE=1

# verdict NAME STATUS OUTPUT: one line of TAP, with what went wrong below it.
verdict() {
    n=$((n + 1))
    if [ "$2" -eq 0 ]; then
        echo "ok $n - $1"
    else
        echo "not ok $n - $1"
        printf '%s\n' "$3" | sed 's/^/# /'
    fi
}

shell_scripts=$(find samples tests .ci -type f \( -name '*.sh' -o -name '*.t' -o -path '.ci/*' \) | LC_ALL=C sort)
for script in $shell_scripts; do
    case $(head -n 1 "$script") in
    *bash*) shell=bash ;;
    *perl* | *python*) continue ;;
    *) shell=sh ;;
    esac
    said=$($shell -n "$script" 2>&1)
    verdict "$shell -n $script" $? "$said"
    case $script in *.t) continue ;; esac
    [ "$(head -c 2 "$script")" = '#!' ] && command -v shellcheck >/dev/null || continue
    said=$(shellcheck -S warning "$script" 2>&1)
    verdict "shellcheck $script" $? "$said"
done
for script in $(find samples tests -type f -name '*.py' | LC_ALL=C sort); do
    said=$(python3 -c 'import sys; compile(open(sys.argv[1]).read(), sys.argv[1], "exec")' "$script" 2>&1)
    verdict "python3 compiles $script" $? "$said"
done
echo "1..$n"
