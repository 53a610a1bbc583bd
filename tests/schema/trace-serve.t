#!/bin/sh
test_description='trace-serve: its API is what schemas/trace-serve.openapi.json describes'
. "${GP_SOURCE:-$(dirname "$0")/../..}/tests/tap/setup.sh"

[ -x "$GP_BIN/trace-serve" ] || { skip_all='trace-serve was not built'; test_done; }
command -v curl >/dev/null || { skip_all='curl is missing'; test_done; }
python3 -c 'import jsonschema' 2>/dev/null || { skip_all='python3-jsonschema is missing'; test_done; }

spec=$GP_SOURCE/schemas/trace-serve.openapi.json
short=$(mktemp -d) || exit 1
mkdir runs && cp "$samples/h200/ranges.trace" "$samples/memory/steady.pickle.gz" runs/
trace-serve --idle 60 --socket $short/s --upload up runs >link 2>err &
server=$!
trap 'kill $server 2>/dev/null; wait; rm -rf "$short"; exit' EXIT
for i in $(seq 300); do [ ! -s link ] || break; sleep 0.05; done
get() { path=$1; shift; curl -sS --max-time 60 --unix-socket $short/s "$@" "http://localhost$path"; }
check() { python3 "$GP_SOURCE/tests/schema/check_serve.py" "$@"; }

test_expect_success 'routes, questions, formats and arguments are those that are described, and answers are as described' '
    get /api >api && get /api/traces >list && get /nothing >error && get "/api/advice" >lacking && get /api/openapi.json >own &&
    get "/api/upload?name=x.trace" --data-binary @runs/ranges.trace >new &&
    test_cmp "$spec" own &&
    check "$spec" api trace=list error=error error=lacking trace=new
'

test_expect_success 'the check itself finds what is wrong' '
    sed "s|\"/api/compare\"|\"/api/comparison\"|" "$spec" >bad && test_must_fail check bad api >out 2>&1 &&
    sed "s|\"folded\"|\"unfolded\"|" "$spec" >bad && test_must_fail check bad api >out && grep formats out &&
    sed "s|\"kind\"|\"sort\"|" list >bad && test_must_fail check "$spec" api trace=bad >out && grep kind out
'

test_done
