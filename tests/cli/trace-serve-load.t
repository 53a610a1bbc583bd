#!/bin/sh
# trace-serve under load, with clients and files that misbehave, and uploads. Ten thousand requests: serve_client.py by hand.
test_description='trace-serve: many clients, slow ones, half requests, changing files, uploads'
. "${GP_SOURCE:-$(dirname "$0")/../..}/tests/tap/setup.sh"

[ -x "$GP_BIN/trace-serve" ] || { skip_all='trace-serve was not built'; test_done; }
command -v curl >/dev/null && command -v jq >/dev/null || { skip_all='curl or jq is missing'; test_done; }

limits=${GP_SANITIZED:+--memory-limit 0}
short=$(mktemp -d) || exit 1
sock=$short/s
servers=
trap 'kill $servers 2>/dev/null; wait; rm -rf "$short"; exit' EXIT
start() {
    rm -f link
    (eval "$before"; exec trace-serve --idle 60 --socket $sock $limits "$@") >link 2>err &
    pid=$!
    servers="$servers $pid"
    for i in $(seq 300); do
        [ ! -s link ] || return 0
        sleep 0.05
    done
    return 1
}
before=:
get() { path=$1; shift; curl -sS --max-time 60 --unix-socket $sock "$@" "http://localhost$path"; }
code() { get "$@" -o /dev/null -w '%{http_code}'; }
id_of() { get /api/traces | jq -r --arg n "$1" '.[] | select(.name == $n).id'; }
client() { python3 "$GP_SOURCE/tests/cli/serve_client.py" $sock $pid "$@"; }

mkdir runs && cp "$samples/h200/eager.trace" "$samples/h200/ranges.trace" runs/ && cp runs/eager.trace runs/victim.trace
start --request-time 1 --upload up --upload-size 100K --upload-files 4 runs
eager=$(id_of runs/eager.trace) victim=$(id_of runs/victim.trace)
requests=$(test -n "$GP_SANITIZED" && echo 200 || echo 1000)

test_expect_success 'many requests in a row, and the server does not grow' '
    client load $requests /api/traces "/api/profiler/hta?trace=$eager" / /nothing "/traces/$eager/flame"
'

test_expect_success '32 clients at once get the same answers, each made once' '
    client many 32 "/api/profiler/kernels?trace=$eager" "/api/advice?trace=$eager" /traces/$eager/timeline
'

test_expect_success 'half requests and slow ones are closed, and others are served meanwhile' 'client half'
test_expect_success 'a slow reader gets everything' 'client slow "/api/profiler/kernels?trace=$eager"'

test_expect_success 'a file that is replaced and rewritten while it is read' '
    client replace runs/victim.trace "$samples/h200/eager.trace" "$samples/h200/ranges.trace" "/api/profiler/memory?trace=$victim"
'

# ---- uploads ----

test_expect_success 'a file is taken, named by us, and listed' '
    get "/api/upload?name=../..%2fa+b%3b.trace" --data-binary @runs/ranges.trace >answer && jq -e ".name == \"uploads/a_b_.trace\"" answer &&
    cmp runs/ranges.trace up/a_b_.trace && test "$(stat -c %a up/a_b_.trace)" = 600 &&
    get "/api/profiler/hta?trace=$(jq -r .id answer)" | jq -e ".inputs[0].events > 0" &&
    get "/api/upload?name=a_b_.trace" --data-binary @runs/eager.trace | jq -e ".name == \"uploads/a_b_-2.trace\"" &&
    get /api/upload -H "Transfer-Encoding: chunked" --data-binary @runs/eager.trace | jq -e ".name == \"uploads/trace\""
'

test_expect_success 'attack: too large, with and without its size in front' '
    head -c 200000 /dev/zero >large && test "$(code /api/upload --data-binary @large)" = 413 &&
    test "$(code /api/upload --data-binary @large -H "Transfer-Encoding: chunked")" = 413
'

test_expect_success 'attack: something different, a page, nothing' '
    printf "<script>alert(1)</script>" >page && test "$(code /api/upload --data-binary @page)" = 415 &&
    test "$(code /api/upload -X POST)" = 415 && test "$(code "/api/upload?name=.bashrc" --data-binary @large)" = 413
'

test_expect_success 'attack: a small file that unpacks to a large one' '
    { printf "{\"traceEvents\": ["; head -c 70000000 /dev/zero | tr "\0" " "; } | gzip -1 >bomb.gz && test $(wc -c <bomb.gz) -gt 100000 ||
    { printf "{\"traceEvents\": ["; head -c 70000000 /dev/zero | tr "\0" " "; } | gzip -9 >bomb.gz &&
    test "$(code /api/upload --data-binary @bomb.gz)" = 413
'

test_expect_success 'attack: a page of another site sends a file' '
    test "$(code /api/upload --data-binary @runs/eager.trace -H "Origin: http://evil.example")" = 403
'

test_expect_success 'attack: too many files; a client that goes away leaves nothing' '
    get "/api/upload?name=x.trace" --data-binary @runs/eager.trace >/dev/null && test "$(code /api/upload --data-binary @runs/eager.trace)" = 507 &&
    rm up/x.trace && { get /api/upload -H "Expect:" -H "Content-Length: 50000" --data-binary @page --max-time 0.5 >/dev/null 2>&1; true; } &&
    for i in $(seq 60); do test -z "$(find up -name ".upload-*")" && break; sleep 0.1; done &&
    find up -type f | sort >left && printf "%s\n" up/a_b_-2.trace up/a_b_.trace up/trace | sort >expect && test_cmp expect left &&
    test_must_be_empty err
'

kill $pid
wait $pid

before='ulimit -f 16'
start --upload full runs
test_expect_success 'a full disk refuses an upload, leaves nothing, and the server goes on' '
    test "$(code /api/upload --data-binary @runs/eager.trace)" = 507 && test -z "$(find full -type f)" && test "$(code /api)" = 200
'
kill $pid
wait $pid

# ---- what others and what is kept may take ----

before='ulimit -Sn 100; ulimit -Hn 160'
start runs
eager=$(id_of eager.trace)
test_expect_success 'more different questions than descriptors are all answered' '
    client questions 200 "/api/profiler/flame?trace=$eager&format=folded&max-depth=" && test_must_be_empty err
'
kill $pid
wait $pid

before='ulimit -n 70'
start runs
test_expect_success 'where hardly any descriptors are left, what is kept makes room' '
    client questions 80 "/api/profiler/flame?trace=$eager&format=folded&max-depth=" && test_must_be_empty err
'
kill $pid
wait $pid

before=:
rm -f link
trace-serve --idle 60 $limits --connections 16 runs >link 2>err &
pid=$!
servers="$servers $pid"
for i in $(seq 300); do [ ! -s link ] || break; sleep 0.05; done
test_expect_success 'attack: slow clients of another user take all places, and whoever has the token is answered' '
    client crowd "$(cat link)" 16
'
kill $pid
wait $pid

start runs
test_expect_success 'without --upload, nothing is taken' '
    test "$(code /api/upload --data-binary @runs/eager.trace)" = 403
'

test_done
