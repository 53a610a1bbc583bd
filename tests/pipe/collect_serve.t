#!/bin/sh
# A recording that is shown while it runs: --serve, and trace-serve --live.
test_description='gpuprof-collect --serve: the last seconds as a trace, as events, and kept'
. "${GP_SOURCE:-$(dirname "$0")/../..}/tests/tap/setup.sh"
. "$GP_SOURCE/tests/pipe/mock.sh"

short=$(mktemp -d) || exit 1
running=
trap 'kill $running 2>/dev/null; wait; rm -rf "$short"; exit' EXIT
# fetch REQUEST -- what the recording sends for it, in the file `got`.
fetch() {
    timeout 20 python3 -c "
import socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
s.sendall(sys.argv[2].encode())
with open('got', 'wb') as f:
    while True:
        try:
            part = s.recv(1 << 20)
        except ConnectionError: # it was closed before it had read everything
            break
        if not part:
            break
        f.write(part)
" "$short/live" "$1"
}
there() { for i in $(seq 400); do [ ! -e "$1" ] || return 0; sleep 0.05; done; return 1; }
has_work() { fetch "last 60000000000
" && trace-hta -q -f json got 2>/dev/null | jq -e ".kernels | length > 0" >/dev/null; }

$collect --serve $short/live -o whole.trace sh -c 'echo $$ >app.pid; exec "$@"' sh timeout 60 $app long 60000 2>collect.err &
recording=$!
running=$recording
there $short/live

test_expect_success 'only the owner may connect, and the last seconds are a whole trace' '
    test "$(stat -c %a $short/live)" = 600 &&
    for i in $(seq 100); do has_work && break; sleep 0.1; done && has_work &&
    trace-hta -f json got 2>err | jq -e ".quality.verdict == \"clean\"" && test_must_be_empty err &&
    fetch "last 0
" && test_must_fail trace-hta got 2>err && grep "no GPU events" err
'

test_expect_success 'nonsense, half requests and readers that leave get nothing, and harm nothing' '
    for ask in "list
" "last -1
" "last x
" "$(head -c 100 /dev/zero | tr "\0" a)" "last 99999999999999999999999
"; do fetch "$ask" && test_must_be_empty got || return 1; done &&
    python3 -c "
import socket
for ask in (b\"\", b\"la\", b\"last 60000000000\\n\"):
    s = socket.socket(socket.AF_UNIX)
    s.connect(\"$short/live\")
    s.sendall(ask)
    s.close()" && has_work
'

if [ -x "$GP_BIN/trace-serve" ] && command -v curl >/dev/null; then test_set_prereq SERVE; fi
get() { path=$1; shift; curl -sS --unix-socket $short/s "$@" "http://localhost$path"; }
if test_have_prereq SERVE; then
    mkdir runs
    trace-serve --idle 60 ${GP_SANITIZED:+--memory-limit 0} --socket $short/s --live $short/live --upload runs runs >link 2>serve.err &
    server=$!
    running="$running $server"
    there $short/s
fi

test_expect_success SERVE 'events report on it in one line of JSON each' '
    { get /api/live -N --max-time 30 | head -n 4 >events; true; } && test "$(sed -n 1p events)" = "event: report" &&
    sed -n "2s/^data: //p" events | jq -e ".schema == \"gpuprof/trace-hta/1\" and .inputs[0].gpu_events > 0" &&
    test "$(get /live -o /dev/null -w "%{http_code}")" = 200
'

test_expect_success SERVE 'the last seconds can be kept as a trace' '
    get "/api/live/keep?last=60s" -X POST >kept && jq -e ".name == \"live.trace\"" kept && trace-hta -q -f json runs/live.trace >/dev/null &&
    test "$(get "/api/live/keep?last=no" -X POST -o /dev/null -w "%{http_code}")" = 400 &&
    test "$(get /api/live/keep -X POST -H "Origin: http://evil.example" -o /dev/null -w "%{http_code}")" = 403
'

test_expect_success 'the recording itself is whole, and the socket is gone with it' '
    kill $(cat app.pid) && { wait $recording; true; } && test ! -e $short/live && trace-hta -f json whole.trace >whole.json 2>err &&
    jq -e ".kernels | length > 0" whole.json && grep " 0 lost" collect.err
'

test_expect_success SERVE 'a recording that is not there any more is an event, and the server goes on' '
    { get /api/live -N --max-time 30 | sed "/^event: gone/q" >events; true; } && grep "^event: gone" events &&
    test "$(get /api/live/keep -X POST -o /dev/null -w "%{http_code}")" = 502 && kill $server && wait $server && test_must_be_empty serve.err
'

test_done
