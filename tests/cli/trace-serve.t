#!/bin/sh
# trace-serve by curl: every route, and for every rule of its security an attack that the rule stops.
test_description='trace-serve: routes, formats, caching, and what it refuses'
. "${GP_SOURCE:-$(dirname "$0")/../..}/tests/tap/setup.sh"

[ -x "$GP_BIN/trace-serve" ] || { skip_all='trace-serve was not built'; test_done; }
command -v curl >/dev/null && command -v jq >/dev/null || { skip_all='curl or jq is missing'; test_done; }

# The address space of a tool with sanitizers has no limit.
limits=${GP_SANITIZED:+--memory-limit 0}
servers=
# start NAME ARG... -- a server in the background that ends by itself; its link in NAME.link.
start() {
    name=$1
    shift
    trace-serve --idle 60 $limits "$@" >$name.link 2>$name.err &
    servers="$servers $!"
    eval "${name}_pid=$!"
    for i in $(seq 300); do
        [ ! -s $name.link ] || return 0
        sleep 0.05
    done
    return 1
}
# The scratch folder is deep, and the name of a socket short.
short=$(mktemp -d) || exit 1
trap 'kill $servers 2>/dev/null; wait; rm -rf "$short"; exit' EXIT
sock=$short/s
get() { path=$1; shift; curl -sS --max-time 60 --unix-socket $sock "$@" "http://localhost$path"; }
code() { get "$@" -o /dev/null -w '%{http_code}'; }
id_of() { get /api/traces | jq -r --arg n "$1" '.[] | select(.name == $n).id'; }

mkdir -p runs/deep outside
cp "$samples/h200/eager.trace" runs/ && cp "$samples/h200/graph.trace" runs/deep/ && cp "$samples/h200/ranges.trace" runs/
cp "$samples/memory/steady.pickle.gz" runs/
cp "$samples/h200/nccl.trace" outside/
ln -s ../outside/nccl.trace runs/link.trace && ln -s ../outside runs/linked
printf 'hello\n' >runs/notes.txt
cp runs/eager.trace 'runs/<b>&"x.trace'
head -c 21000 runs/eager.trace >runs/cut.trace

start main --socket $sock runs

test_expect_success 'one line says where it listens, and only the owner may connect' '
    echo "unix:$sock" >expect && test_cmp expect main.link && test "$(stat -c %a $sock)" = 600
'

test_expect_success 'files are listed by content, newest first, and not through links' '
    get /api/traces >list && jq -r ".[].name" list | sort >names &&
    printf "%s\n" "<b>&\"x.trace" cut.trace deep/graph.trace eager.trace ranges.trace steady.pickle.gz | sort >expect &&
    test_cmp expect names &&
    jq -e "[.[].modified_ns] | . == (sort | reverse)" list && jq -e "[.[].id] | unique | length == 6" list &&
    jq -e "all(.[]; .id | test(\"^[0-9a-f]{16}\$\"))" list
'

eager=$(id_of eager.trace) graph=$(id_of deep/graph.trace) snapshot=$(id_of steady.pickle.gz)

test_expect_success 'files come and go, and keep their ids' '
    cp runs/ranges.trace runs/new.trace && sleep 0.3 && new=$(id_of new.trace) && test -n "$new" &&
    rm runs/new.trace && sleep 0.3 && test -z "$(id_of new.trace)" && test "$(code /api/traces/$new)" = 404 &&
    test "$(id_of eager.trace)" = $eager
'

test_expect_success 'each question is what its tool answers' '
    for q in hta:trace-hta:--each-step advice:trace-suggest: memory:trace-memory: compile:trace-compile:; do
        name=${q%%:*} tool=${q#*:} && option=${tool#*:} && tool=${tool%%:*} &&
        case $name in advice) path=/api/advice ;; *) path=/api/profiler/$name ;; esac &&
        get "$path?trace=$eager" >answer && (cd runs && $tool -q -f json $option eager.trace) >expect &&
        test_cmp expect answer || return 1
    done &&
    get "/api/profiler/kernels?trace=$eager" | jq "[.kernels[].count] | add" >sum &&
    trace-hta -q -f json --top 0 runs/eager.trace | jq "[.kernels[].count] | add" >expect && test_cmp expect sum
'

test_expect_success 'a format is asked for by name or by Accept, and anything else is refused' '
    get "/api/profiler/flame?trace=$eager&format=folded" >folded && (cd runs && trace2flame -f folded eager.trace) >expect &&
    test_cmp expect folded &&
    test "$(get "/api/profiler/flame?trace=$eager" -H "Accept: image/svg+xml" -o o -w "%{content_type}")" = image/svg+xml &&
    test "$(get "/api/profiler/hta?trace=$eager" -H "Accept: text/html,*/*;q=0.8" -o o -w "%{content_type}")" = "text/html; charset=utf-8" &&
    test "$(code "/api/profiler/hta?trace=$eager&format=doc")" = 400 &&
    test "$(code "/api/profiler/hta?trace=$eager" -H "Accept: video/mp4")" = 406
'

test_expect_success 'arguments become options; unknown ones and values that the tool refuses are errors with its reason' '
    get "/api/profiler/hta?trace=$eager&top=3" | jq -e ".kernels | length == 3" &&
    test "$(code "/api/profiler/hta?trace=$eager&output=/tmp/x")" = 400 &&
    get "/api/profiler/timeline?trace=$eager&range=1-2" | jq -e ".status == 422 and (.error | test(\"has no unit\"))"
'

test_expect_success 'comparisons: two traces, two groups' '
    ranges=$(id_of ranges.trace) &&
    get "/api/compare?a=$graph&b=$eager" | jq -e ".schema == \"gpuprof/trace-diff/1\" and (.inputs | length == 2)" &&
    get "/api/compare?a=$eager,$graph&b=$ranges" | jq -r ".inputs[].path" >got &&
    printf "%s\n" eager.trace deep/graph.trace ranges.trace >expect && test_cmp expect got &&
    test "$(code "/api/compare?a=$eager")" = 400
'

test_expect_success 'pages of a trace are linked with each other; a snapshot has only its own' '
    get /traces/$eager/report >page && grep -q "href=\"/traces/$eager/timeline\"" page && grep -q "/traces/$eager/flame#" page &&
    ! grep -q "http-equiv" page && test "$(code /traces/$snapshot/memory)" = 200 && test "$(code /traces/$snapshot/report)" = 404 &&
    test "$(code /traces/$eager/nothing)" = 404 && test "$(code /)" = 200 && test "$(code /compare)" = 200 &&
    test "$(code /perfetto?trace=$eager)" = 200
'

test_expect_success 'each page of a trace with counters per kernel says that times between launches mean nothing' '
    cp "$samples/counters/step.trace" runs/counted.trace && sleep 0.3 && counted=$(id_of counted.trace) &&
    for page in report timeline flame advice compile; do
        get /traces/$counted/$page | tr -s " \n" "  " | grep -q "measured kernel by kernel, so times between launches are not meaningful" ||
            { echo $page; return 1; }
    done && rm runs/counted.trace
'

test_expect_success 'for Perfetto: all of it, or a range' '
    get /traces/$eager/perfetto -D head >whole && grep -i "^content-disposition: attachment; filename=\"eager.trace.pftrace\"" head &&
    (cd runs && trace-convert --to perfetto eager.trace) >expect && test_cmp expect whole &&
    get "/traces/$eager/perfetto?range=0ms-5ms" | jq -e ".traceEvents | length > 0"
'

test_expect_success 'every route of /api answers, and nothing else does' '
    get /api | jq -r ".routes[].path" | sort -u >routes && test $(wc -l <routes) -ge 11 &&
    for p in /nothing /api/nothing /api/profiler/nothing /api/profiler/advice /traces /traces/$eager /a/b/c/d/e/f; do
        get $p | jq -e ".status == 404 and .error" || { get $p | jq -e ".status == 400 and .error"; } || return 1
    done &&
    test "$(code /api/traces -X DELETE)" = 405 && test "$(code /api/traces -I)" = 200
'

test_expect_success 'tags, compression and ranges' '
    get "/api/profiler/kernels?trace=$eager" -D head -o whole && tag=$(sed -n "s/^ETag: \(.*\)\r/\1/p" head) &&
    test "$(code "/api/profiler/kernels?trace=$eager" -H "If-None-Match: $tag")" = 304 &&
    get "/api/profiler/kernels?trace=$eager" --compressed -D head -o other && grep -i "^content-encoding: gzip" head &&
    test_cmp whole other && ! grep -qF "ETag: $tag" head &&
    test "$(get "/api/profiler/kernels?trace=$eager" -r 10-19 -o part -w "%{http_code}")" = 206 &&
    tail -c +11 whole | head -c 10 >expect && test_cmp expect part &&
    test "$(get "/api/profiler/kernels?trace=$eager" -r -5 -o part -w "%{http_code}")" = 206 && tail -c 5 whole >expect &&
    test_cmp expect part && test "$(code "/api/profiler/kernels?trace=$eager" -r 99999999-)" = 416
'

test_expect_success 'a damaged file costs one error; a cut one is used' '
    cp "$samples/broken/no_events.json" runs/bad.json && sleep 0.3 && bad=$(id_of bad.json) &&
    get "/api/profiler/hta?trace=$bad" | jq -e ".status == 422 and (.error | startswith(\"bad.json: \"))" &&
    get "/traces/$bad/report" -H "Accept: text/html" | grep -q "class=\"problem\"" && rm runs/bad.json &&
    get "/api/profiler/hta?trace=$(id_of cut.trace)" | jq -e ".quality.truncated" && test "$(code /api)" = 200
'

test_expect_success 'a file that is replaced gets another answer at once' '
    cp runs/ranges.trace runs/swap.trace && sleep 0.3 && swap=$(id_of swap.trace) &&
    get "/api/profiler/hta?trace=$swap" | jq ".inputs[0].events" >first && cp runs/eager.trace swap.tmp && mv swap.tmp runs/swap.trace &&
    get "/api/profiler/hta?trace=$swap" | jq ".inputs[0].events" >second && ! cmp -s first second && rm runs/swap.trace
'

# ---- attacks ----

test_expect_success 'attack: paths instead of ids, and ways out of the folder' '
    for id in ../outside/nccl.trace ..%2foutside%2fnccl.trace /etc/passwd link.trace linked/nccl.trace %00 0000000000000000; do
        get "/api/profiler/hta?trace=$id" | jq -e ".status == 404 or .status == 400" || return 1
    done &&
    get "/../../../etc/passwd" --path-as-is | jq -e ".status == 404" &&
    get "/traces/..%2f..%2fetc/report" | jq -e ".status == 404"
'

test_expect_success 'attack: a file becomes a link after it was listed' '
    cp runs/ranges.trace runs/victim.trace && sleep 0.3 && victim=$(id_of victim.trace) && test "$(code /api/traces/$victim)" = 200 &&
    rm runs/victim.trace && ln -s ../outside/nccl.trace runs/victim.trace &&
    get "/api/profiler/hta?trace=$victim" | jq -e ".status == 404" && rm runs/victim.trace &&
    mkdir runs/sub && cp runs/ranges.trace runs/sub/nccl.trace && sleep 0.3 && sub=$(id_of sub/nccl.trace) && test -n "$sub" &&
    rm -r runs/sub && ln -s ../outside runs/sub && get "/api/profiler/hta?trace=$sub" | jq -e ".status == 404" && rm runs/sub
'

test_expect_success 'attack: a name of DNS that leads here (rebinding)' '
    for host in evil.example evil.example:80 localhost.evil.example 127.0.0.1.evil.example "" "localhost@evil.example"; do
        test "$(code /api/traces -H "Host: $host")" = 421 || test "$(code /api/traces -H "Host: $host")" = 400 || return 1
    done
'

test_expect_success 'attack: a page of another site fetches, or sends' '
    test "$(code /api/traces -H "Origin: http://evil.example")" = 403 &&
    test "$(code /api/traces -H "Origin: null")" = 403 &&
    test "$(code /api/traces -H "Sec-Fetch-Site: cross-site" -H "Sec-Fetch-Mode: no-cors")" = 403 &&
    test "$(code /api/session -X POST -H "Sec-Fetch-Site: cross-site" -H "Sec-Fetch-Mode: navigate")" = 403 &&
    test "$(code /api/session -X POST -H "Sec-Fetch-Site: same-site")" = 403 &&
    test "$(code / -H "Sec-Fetch-Site: cross-site" -H "Sec-Fetch-Mode: navigate")" = 200 &&
    test "$(code /api/traces -H "Origin: http://localhost" -H "Sec-Fetch-Site: same-origin")" = 200
'

test_expect_success 'attack: a name that is a script; every answer has its headers' '
    for p in / /api/traces /traces/$eager/report /nothing "/api/profiler/flame?trace=$eager&format=svg"; do
        get "$p" -D head -o body && grep -i "^x-content-type-options: nosniff" head && grep -i "^x-frame-options: deny" head &&
        grep -i "^content-security-policy: default-src .none.*frame-ancestors .none." head && grep -i "^referrer-policy: no-referrer" head &&
        ! grep -i "^access-control" head && ! grep -i "^content-security-policy.*script-src[^;]*unsafe" head || return 1
    done &&
    get / >first && get / >second && ! cmp -s first second && ! grep -F "<b>&" first && grep -F "&lt;b&gt;&amp;&quot;x.trace" first &&
    get "/traces/$(id_of "<b>&\"x.trace")/report" | grep -F "&lt;b&gt;&amp;&quot;x.trace" >/dev/null
'

test_expect_success 'the policy for pages of tools allows every script of theirs' '
    for p in report timeline flame advice memory compile; do
        get /traces/$eager/$p -D head -o /dev/null || return 1
    done &&
    for tool in trace-hta trace2timeline trace2flame trace-suggest trace-memory trace-compile; do
        $tool -q -f html runs/eager.trace | grep -o "sha256-[A-Za-z0-9+/=]*" | sort -u
    done | sort -u >needed &&
    grep -i "^content-security-policy" head | grep -o "sha256-[A-Za-z0-9+/=]*" | sort -u >allowed && test -s needed &&
    comm -23 needed allowed >missing && test_must_be_empty missing
'

test_expect_success 'attack: headers and addresses without end' '
    long=$(head -c 60000 /dev/zero | tr "\0" a) &&
    { get /api -H "X-Long: $long" -o /dev/null -w "%{http_code}" >status 2>/dev/null; grep -E "^(431|000|400|413)" status; } &&
    test "$(code "/api?$(head -c 5000 /dev/zero | tr "\0" b)")" = 414 &&
    test "$(code "/api?$(seq -s "&" 200)")" = 400 && test "$(code /api)" = 200
'

start tcp runs
link=$(cat tcp.link) origin=${link%%/#*} token=${link##*=}
tcp() { path=$1; shift; curl -sS --max-time 60 --resolve "${origin#http://}:127.0.0.1" "$@" "$origin$path"; }
tcp_code() { tcp "$@" -o /dev/null -w '%{http_code}'; }

test_expect_success 'on TCP only loopback listens, and nothing is answered without the token' '
    echo "$link" | grep -Ex "http://g[0-9a-f]{16}\.localhost:[0-9]+/#token=[0-9a-f]{32}" && test_must_be_empty tcp.err &&
    for p in / /api /api/traces /compare "/api/profiler/hta?trace=$eager" /nothing; do test "$(tcp_code "$p")" = 401 || return 1; done &&
    test "$(tcp_code /api/traces -H "Authorization: Bearer $token")" = 200 &&
    test "$(tcp_code /api/traces -H "Authorization: Bearer ${token%?}0x")" = 401 &&
    test "$(tcp_code "/api/traces?token=$token")" = 401
'

test_expect_success 'the token becomes a strict cookie, which is not the token' '
    test "$(tcp_code /api/session -X POST)" = 401 &&
    tcp /api/session -X POST -H "Authorization: Bearer $token" -D head -c jar >/dev/null &&
    grep -iE "^set-cookie: gpuprof-[0-9]+=[0-9a-f]{32}; path=/; httponly; samesite=strict" head && ! grep -q $token jar &&
    test "$(tcp_code /api/traces -b jar)" = 200 && test "$(tcp_code /api/traces -b "${origin##*:}=x")" = 401
'

# Cookies know no ports: that of localhost would be sent to every server of the machine. curl keeps to the same rules.
test_expect_success 'attack: another server of this machine gets no cookie, as the name in the link is known to nobody' '
    test "$(grep -c . jar)" -ge 1 && grep "^#HttpOnly_g[0-9a-f]*\.localhost.FALSE" jar &&
    for name in 127.0.0.1 localhost gffffffffffffffff.localhost; do
        curl -sS --max-time 60 --resolve "$name:${origin##*:}:127.0.0.1" -b jar -v "http://$name:${origin##*:}/api/traces" >answer 2>said &&
        ! grep -i "^> cookie" said && jq -e ".status == 401 or .status == 421" answer || return 1
    done &&
    test "$(curl -s -o answer -w "%{http_code}" -H "Authorization: Bearer $token" "http://127.0.0.1:${origin##*:}/api/traces")" = 200
'

test_expect_success 'attack: nobody can listen where the name in the link also leads' '
    python3 - "${origin##*:}" <<-"END"
	import errno, socket, sys
	try:
	    for flags in (0, socket.SO_REUSEADDR):
	        s = socket.socket(socket.AF_INET6)
	        if flags: s.setsockopt(socket.SOL_SOCKET, flags, 1)
	        try: s.bind(("::1", int(sys.argv[1])))
	        except OSError as e:
	            assert e.errno in (errno.EADDRINUSE, errno.EADDRNOTAVAIL), e
	            continue
	        sys.exit("bound")
	except OSError as e:
	    assert e.errno == errno.EAFNOSUPPORT, e
	END
'

test_expect_success 'a host with another port is foreign' '
    test "$(tcp_code /api -H "Host: localhost:1" -H "Authorization: Bearer $token")" = 421 &&
    test "$(tcp_code /api -H "Host: localhost:${origin##*:}" -H "Authorization: Bearer $token")" = 200
'

# ---- addresses, and the browser ----

test_expect_success 'addresses that others can reach: a link that can be opened, and a warning' '
    start any --listen 0.0.0.0 runs && grep -Ex "http://127.0.0.1:[0-9]+/#token=[0-9a-f]{32}" any.link &&
    grep "^trace-serve: --listen: other machines can connect, without encryption.*--host" any.err &&
    any=$(cat any.link) && test "$(curl -s -o answer -w "%{http_code}" -H "Authorization: Bearer ${any##*=}" "${any%%/#*}/api")" = 200 &&
    start named --listen 0.0.0.0 --host gpubox.example runs && grep -E "^http://gpubox.example:[0-9]+/#token=" named.link &&
    grep "without encryption$" named.err &&
    start second --listen 127.0.0.2 runs && second=$(cat second.link) && test "${second%:*}" = http://127.0.0.2 && test_must_be_empty second.err &&
    test "$(curl -s -o answer -w "%{http_code}" -H "Authorization: Bearer ${second##*=}" "${second%%/#*}/api")" = 200 &&
    kill $any_pid $named_pid $second_pid
'

# A server that opens its page by fake/xdg-open; its link in open.link.
start_open() {
    path=$PATH XDG_RUNTIME_DIR=$short
    export XDG_RUNTIME_DIR
    PATH=$PWD/fake:$PATH
    start open --open runs
    PATH=$path
    unset XDG_RUNTIME_DIR
    for i in $(seq 300); do [ ! -s "$1" ] || break; sleep 0.05; done
}

# What xdg-open and the browser get as arguments can be read by every user.
test_expect_success 'attack: --open shows the token in no argument, but in a file that only its owner can read' '
    mkdir fake && printf "#!/bin/sh\nstat -c %%a \"\$1\" >mode\ncp \"\$1\" page\nprintf \"%%s\\\\n\" \"\$@\" >args\n" >fake/xdg-open && chmod +x fake/xdg-open &&
    start_open args && token=$(sed "s/.*token=//" open.link) && test ${#token} = 32 && test "$(wc -l <args)" = 1 && ! grep "$token" args &&
    test "$(dirname "$(cat args)")" = $short && echo 600 >expect && test_cmp expect mode &&
    grep -F "content=\"0; url=$(cat open.link)\"" page && test_must_be_empty open.err &&
    kill $open_pid && wait $open_pid && test ! -e "$(cat args)"
'

test_expect_success '--open without a browser says so' '
    printf "#!/bin/sh\nexit 3\n" >fake/xdg-open && start_open open.err && grep "^trace-serve: --open: xdg-open found no browser" open.err && test -s open.link && kill $open_pid && wait $open_pid
'

test_expect_success 'misuse is refused before anything is served' '
    status_of trace-serve && test $status = 2 &&
    status_of trace-serve nowhere && test $status = 2 && grep "^trace-serve: nowhere: " err &&
    status_of trace-serve --listen nonsense runs && test $status = 2 && grep "^trace-serve: --listen: nonsense: " err &&
    status_of trace-serve --socket $sock runs && test $status = 2 && grep "in use" err &&
    status_of trace-serve --port 99999 runs && test $status = 2
'

test_expect_success 'a signal ends it, with nothing left' '
    kill -TERM $main_pid && wait $main_pid && test ! -e $sock && test_must_be_empty main.err
'

test_done
