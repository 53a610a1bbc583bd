#!/bin/sh
# What all tools have in common: section by section as the man pages promise it.
test_description='every tool: help, version, misuse, unusable input, exit status'
. "${GP_SOURCE:-$(dirname "$0")/../..}/tests/tap/setup.sh"

tools=$(cd "$GP_SOURCE" && sed -n 's/^ *gp_tool(\([A-Za-z0-9-]*\).*/\1/p' */CMakeLists.txt)
own_status() { case $1 in gpuprof-collect) echo 125 ;; *) echo 2 ;; esac }

test_expect_success 'there are tools' 'test -n "$tools"'

for tool in $tools; do
    failure=$(own_status $tool)

    test_expect_success "$tool --help: usage first, within 80 columns, nothing on standard error" '
        $tool --help >help 2>err &&
        head -n 1 help | grep "^usage: $tool" &&
        ! grep -E ".{80}" help &&
        grep -E "^ +-h, --help" help &&
        grep -A 3 "^examples\?:" help | grep "$tool" &&
        test_must_be_empty err &&
        $tool -h >h && test_cmp help h
    '

    test_expect_success "$tool --version: its name, the suite and the version" '
        $tool --version >version 2>err &&
        head -n 1 version | grep -Ex "$tool \(gpuprof\) [0-9]+\.[0-9]+\.[0-9]+" &&
        test_must_be_empty err &&
        $tool -V >v && test_cmp version v
    '

    test_expect_success "$tool: an unknown option is one line and a hint" '
        status_of $tool --no-such-option &&
        test $status = $failure &&
        test_must_be_empty out &&
        echo "$tool: unknown option '"'--no-such-option'"'" >expect &&
        echo "Try '"'$tool --help'"' for more information." >>expect &&
        test_cmp expect err
    '

    test_expect_success "$tool --help to a full disk fails" '
        test_expect_code $failure sh -c "$tool --help >/dev/full 2>err" &&
        grep "^$tool: standard output: " err
    '
done

# The filters: an operand is a file to read.
for tool in $tools; do
    test $tool != gpuprof-collect || continue
    case $tool in
    trace-diff) twice=yes ;;
    *) twice= ;;
    esac
    run() { if [ "$twice" ]; then status_of $tool "$@" "$1"; else status_of $tool "$@"; fi; }

    test_expect_success "$tool: a file that is not there" '
        run no-such-file.json &&
        test $status = 2 &&
        test_must_be_empty out &&
        grep "^$tool: no-such-file.json: " err &&
        test $(wc -l <err) = 1
    '

    test_expect_success "$tool: a directory" '
        mkdir -p folder &&
        run folder &&
        test $status = 2 && test_must_be_empty out &&
        grep "^$tool: folder: is a directory" err
    '

    test_expect_success "$tool: an empty file is no trace" '
        : >empty && run empty &&
        test $status = 2 && test_must_be_empty out &&
        grep "^$tool: empty: " err && test $(wc -l <err) = 1
    '

    test_expect_success "$tool: text that is no trace" '
        printf "hello world\n" >text && run text &&
        test $status = 2 && test_must_be_empty out &&
        grep "^$tool: text: " err && test $(wc -l <err) = 1
    '

    test_expect_success "$tool -o: a failed run leaves no file and harms none" '
        status_of $tool -o result text text && test $status = 2 && ! test -e result &&
        echo precious >kept &&
        status_of $tool -o kept text text && test $status = 2 &&
        echo precious >expect && test_cmp expect kept &&
        ! ls | grep "\.tmp$"
    '
done

test_done
