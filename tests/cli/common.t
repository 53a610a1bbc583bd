#!/bin/sh
# What all tools have in common: section by section as the man pages promise it.
test_description='every tool: help, version, misuse, unusable input, exit status'
. "${GP_SOURCE:-$(dirname "$0")/../..}/tests/tap/setup.sh"

tools=$(cd "$GP_SOURCE" && sed -n 's/^ *gp_tool(\([A-Za-z0-9-]*\).*/\1/p' */CMakeLists.txt)
for optional in trace-serve trace-hta-mpi trace-query; do # need libmicrohttpd, MPI, SQLite
    [ -x "$GP_BIN/$optional" ] || tools=$(printf '%s\n' $tools | grep -vx $optional)
done
# Open MPI frees only some of its memory, which a sanitizer reports at each end.
[ -z "$GP_SANITIZED" ] || tools=$(printf '%s\n' $tools | grep -vx trace-hta-mpi)
own_status() { case $1 in gpuprof-collect) echo 125 ;; *) echo 2 ;; esac }

"$GP_SOURCE/tests/tap/on_terminal.py" 0 true 2>/dev/null && test_set_prereq TERMINAL

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

    test_expect_success "$tool --help-agent: the page for agents" '
        $tool --help-agent >page && test_cmp "$GP_SOURCE/formats/SKILL.md" page
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
    case $tool in gpuprof-collect | gpuprof-measure | gpuprof-try | trace-mcp | trace-serve) continue ;; esac # their own tests
    # What follows the files: another one, or a statement.
    run() {
        case $tool in
        trace-diff) status_of $tool "$@" "$1" ;;
        trace-query) status_of $tool "$@" "SELECT id FROM kernels" ;;
        *) status_of $tool "$@" ;;
        esac
    }

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

# Two kernels and the call that launched the first: about as small as a trace of PyTorch's profiler gets.
cat >one.json <<'END'
{"traceEvents": [
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 10.5, "dur": 4.25,
 "args": {"correlation": 7}},
{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 20.125, "dur": 30.001,
 "args": {"device": 0, "stream": 7, "correlation": 7}},
{"ph": "X", "cat": "kernel", "name": "relu", "pid": 0, "tid": 7, "ts": 60, "dur": 1, "args": {"device": 0, "stream": 7}}
]}
END
gzip -nk one.json
zstd -q one.json
sed 's/^{"traceEvents": //; s/^\]}$/]/' one.json >array.json

for tool in $tools; do
    case $tool in
    gpuprof-collect | gpuprof-measure | gpuprof-try | trace-diff | trace-fleet | trace-mcp | trace-serve) continue ;; # none of them is a filter of one trace
    trace-metrics | trace-hta-mpi | trace-query) continue ;; # one wants counters, one leaves standard input to mpirun, one ends in SQL
    trace-convert) options='-f chrome' ;; # anyone can distinguish text from rubbish
    *) options= ;;
    esac
    case $tool in trace2timeline) silent=-q ;; *) silent= ;; esac # its summary goes to standard error

    test_expect_success "$tool: standard input, a dash and a file are the same input" '
        $tool $options $silent one.json >by_name 2>err && test -s by_name && test_must_be_empty err &&
        $tool $options <one.json >stdin && $tool $options - <one.json >dash && test_cmp stdin dash &&
        cat one.json | $tool $options >pipe && test_cmp stdin pipe
    '

    test_expect_success "$tool: the same output from plain, gzip, zstd and a bare array" '
        $tool $options <one.json >plain &&
        for f in one.json.gz one.json.zst array.json; do
            $tool $options <$f >other && test_cmp plain other || return 1
        done
    '

    test_expect_success "$tool: the same output with one thread and with eight, and every time" '
        $tool $options <one.json >plain &&
        for threads in 0 1 2 8; do
            $tool $options --threads $threads <one.json.gz >other && test_cmp plain other || return 1
        done
    '

    test_expect_success "$tool -o: the file holds what standard output would" '
        $tool $options -o result one.json >out && test_must_be_empty out &&
        $tool $options one.json >expect && test_cmp expect result &&
        $tool $options --output=- one.json >again && test_cmp expect again &&
        ! ls | grep "\.tmp$"
    '

    test_expect_success "$tool -o: the name of the file chooses the format, and may ask for compression" '
        "$tool" --help >help &&
        for pair in html:html svg:svg json:json csv:csv dot:dot folded:folded text:txt gpuprof:trace perfetto:pftrace chrome:json; do
            format=${pair%:*} name=named.${pair#*:}
            grep -E "format=([a-z|]*[|])?$format([|]| |$)" help || continue
            $tool $silent -f $format one.json >expect || continue # it needs more than such a trace
            $tool $silent -o $name one.json 2>err && test_cmp expect $name && test_must_be_empty err &&
            $tool $silent -o $name.gz one.json && gzip -dc $name.gz >got && test_cmp expect got &&
            $tool $silent -o $name.zst one.json && zstd -dqc $name.zst >got && test_cmp expect got || return 1
        done >formats && test -s formats &&
        $tool $options -o named.odd one.json 2>err && grep "^$tool: named.odd holds " err &&
        $tool $options -q -o named.odd one.json 2>err && test_must_be_empty err
    '

    test_expect_success "$tool: a full disk is an error" '
        test_expect_code 2 sh -c "$tool $options one.json >/dev/full 2>err" &&
        grep "^$tool: standard output: write failed" err &&
        status_of $tool $options -o /dev/full one.json && test $status = 2 &&
        grep "^$tool: /dev/full: write failed" err
    '

    test_expect_success "$tool: an output folder that is not there" '
        status_of $tool $options -o nowhere/result one.json && test $status = 2 &&
        grep "^$tool: nowhere/result: " err && test $(wc -l <err) = 1
    '

    test_expect_success "$tool: a cut file is used, and told; with --strict it is an error" '
        head -c $(($(wc -c <one.json) - 30)) one.json >cut.json # inside the last event &&
        $tool $options cut.json >out 2>err && test -s out && grep "^$tool: cut.json: " err &&
        status_of $tool $options --strict -o strict cut.json && test $status = 2 &&
        grep "^$tool: cut.json: " err && ! test -e strict &&
        $tool $options -q cut.json >out 2>err && test_must_be_empty err
    '

    test_expect_success TERMINAL "$tool: a terminal as standard input gives a hint instead of waiting" '
        status_of "$GP_SOURCE/tests/tap/on_terminal.py" 0 $tool $options && test $status = 2 &&
        test_must_be_empty out && head -n 1 err | grep "^usage: $tool"
    '
done

# first_lines TOOL FILE: what the text begins with, as one line; the headline of JSON must be the same.
first_lines() { "$1" -q --width full "$2" | awk '/^!/ { next } /^$/ { if (sep) exit; next } { printf "%s%s", sep, $0; sep = " " }'; }

test_expect_success 'the JSON of every tool has the sentences that its text begins with' '
    for tool in trace-hta trace-suggest; do
        first_lines $tool "$samples/h200/eager.json.gz" >expect && test -s expect &&
        $tool -q -f json "$samples/h200/eager.json.gz" | jq -rj .summary.headline >out && test_cmp expect out || return 1
    done &&
    trace-memory -q -f json "$samples/memory/leak.pickle.gz" | jq -e ".summary.headline | startswith(\"cuda:0 leaks\")" &&
    trace-compile -q -f json "$samples/compile/h200/zoo" | jq -e ".summary.headline | startswith(\"First: \")"
'

test_expect_success 'a time without a unit is an error that shows how to write it; 0 needs none' '
    status_of trace2flame --min-duration=10 one.json && test $status = 2 && test_must_be_empty out &&
    grep "^trace2flame: --min-duration: .10. has no unit: write 10us, 10ms or 10s" err &&
    status_of trace-suggest --min-saving 5 one.json && test $status = 2 &&
    status_of trace2timeline --range 1-2 one.json && test $status = 2 && grep "has no unit" err &&
    trace2flame --min-duration 0 one.json >out &&
    status_of trace-diff --gate op:3 one.json one.json && test $status = 2 && grep "it has no unit" err
'

test_expect_success 'what people hand in by mistake is named, with the way on' '
    cp "$(command -v cat)" program && printf "<!DOCTYPE html><html></html>" >page &&
    printf "Time,Name,Duration\n1,gemm,2\n" >table && mkdir a_folder && printf "\200\004\225abc" >snapshot &&
    for wrong in "program:a program, not a trace: record it with gpuprof-collect" "page:an HTML page: pass the trace that it was made from" \
        "table:a table (CSV), not a trace" "a_folder:is a directory: name the files in it, such as a_folder/"; do
        for tool in trace-hta trace2flame trace2timeline trace-suggest; do
            status_of $tool "${wrong%%:*}" && test $status = 2 && test_must_be_empty out &&
            grep -F "${wrong#*:}" err && test $(wc -l <err) = 1 || return 1
        done
    done &&
    for tool in trace-hta trace2flame trace-suggest trace-convert; do
        status_of $tool snapshot && test $status = 2 && test_must_be_empty out &&
        grep -F "a pickle, not a trace: trace-memory reads snapshots of memory, trace2timeline draws them" err || return 1
    done &&
    status_of trace2timeline snapshot && test $status = 2 && test_must_be_empty out && grep "^trace2timeline: snapshot: byte" err
'

test_expect_success 'nothing is silent: no GPU events, a file that is cut before them, nothing that matches' '
    cat >host.json <<-\END &&
	{"traceEvents": [
	{"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 1, "tid": 1, "ts": 10, "dur": 5, "args": {}}
	]}
	END
    sed "\$d" host.json >cut.json &&
    for tool in trace2flame trace2timeline; do
        where= && test $tool = trace2timeline || where="; --weight cpu draws the time of the host" &&
        $tool host.json 2>err >out && test -s out && grep "^$tool: host.json: no GPU events$where" err &&
        $tool cut.json 2>err >out &&
        grep "^$tool: cut.json: no GPU events; the input ends early, and profilers write GPU events last" err || return 1
    done &&
    for tool in trace-hta trace-suggest; do
        status_of $tool cut.json && test $status = 2 && grep "no GPU events; the input ends early" err || return 1
    done &&
    trace2flame --filter nosuch one.json 2>err >out && grep "^trace2flame: --filter: no frame matches .nosuch." err &&
    status_of trace2timeline --range 500s-501s one.json && test $status = 2 && test_must_be_empty out &&
    grep "^trace2timeline: --range: 500s-501s is outside of the trace, which takes " err &&
    for tool in trace2timeline trace-hta; do
        $tool --step-marker nosuch one.json 2>err >out && grep "^$tool: --step-marker: no range matches .nosuch." err || return 1
    done
'

test_done
