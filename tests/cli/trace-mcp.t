#!/bin/sh
test_description='trace-mcp: answers to agents'
. "${GP_SOURCE:-$(dirname "$0")/../..}/tests/tap/setup.sh"
if ! command -v python3 >/dev/null; then
    skip_all='no python3'
    test_done
fi
PYTHONDONTWRITEBYTECODE=1
export PYTHONDONTWRITEBYTECODE
modules=${GPUPROF_NODE_MODULES:-$GP_SOURCE/node_modules}
if command -v node >/dev/null && [ -d "$modules/@modelcontextprotocol/sdk" ]; then test_set_prereq SDK; fi
if command -v node >/dev/null && [ -d "$modules/@modelcontextprotocol/inspector" ]; then test_set_prereq INSPECTOR; fi

mkdir -p folder/linked outside
cp "$samples/h200/eager.trace" folder/a.trace
cp "$samples/h200/eager.trace" outside.trace
cp "$samples/h200/eager.trace" outside/outside.trace
ln -s ../outside.trace folder/link.trace
rmdir folder/linked && ln -s ../outside folder/linked
mkfifo folder/pipe
ln -s "$samples" samples
# The answers of one program among those that were measured.
tried() { grep -m 1 '"answer"' "$samples/try/h200/second.jsonl" | python3 -c 'import json, sys; json.dump(json.load(sys.stdin)["answer"], sys.stdout)'; }
tried >folder/tried.json

test_expect_success 'the list has what is in the folders, and nothing that a link leads to' '
    trace-mcp --list folder >out && printf "folder/a.trace\tgpuprof\nfolder/tried.json\ttrials\n" >expect && sort out >got && test_cmp expect got &&
    trace-mcp --list folder/ outside >out && grep -c "^outside/outside.trace" out &&
    trace-mcp --list folder/a.trace >out && echo "folder/a.trace	gpuprof" >expect && test_cmp expect out
'

test_expect_success 'misuse: no folder, a folder that is not there' '
    status_of trace-mcp </dev/null && test $status = 2 && test_must_be_empty out &&
    status_of trace-mcp no-such-folder </dev/null && test $status = 2 && test_must_be_empty out && grep "^trace-mcp: no-such-folder: " err &&
    trace-mcp folder </dev/null >out && test_must_be_empty out
'

test_expect_success 'the protocol, and clients that do not keep to it' '
    "$GP_SOURCE/tests/cli/mcp_hostile.py" folder folder/a.trace >out && grep kept out && ! ls | grep gone
'

# The leak sanitizer does not run under strace.
if command -v strace >/dev/null && [ -z "$GP_SANITIZED" ]; then test_set_prereq STRACE; fi
test_expect_success STRACE 'no program is started, no file is opened for writing, none outside the folders' '
    for name in summary advice picture; do
        printf "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"%s\",\"arguments\":{\"traces\":[\"folder/a.trace\"]}}}\n" $name
    done >asked &&
    strace -f -o calls -e trace=execve,execveat,open,openat,creat,rename,renameat,renameat2,unlink,unlinkat,socket \
        trace-mcp --memory-limit 0 folder <asked >out && test $(grep -c "\"isError\":false" out) = 3 &&
    test $(grep -c exec calls) = 1 && ! grep -E "O_WRONLY|O_RDWR|O_CREAT|rename|unlink|socket" calls &&
    ! grep "a.trace" calls | grep -v "openat([0-9]*, \"a.trace\", O_RDONLY|O_NOCTTY|O_NONBLOCK|O_NOFOLLOW|O_CLOEXEC"
'

# PLAIN: the sanitizers have seen all of it in the tests of the tools.
test_expect_success PLAIN 'answers about every sample are within their tokens, and their commands print the same again' '
    mkdir tried && cp folder/tried.json tried && "$GP_SOURCE/tests/cli/mcp_answers.py" samples tried
'

test_expect_success SDK 'the reference client lists and calls every tool' '
    node "$GP_SOURCE/tests/cli/mcp_sdk.mjs" "$modules" folder folder/a.trace >out && test $(grep -c "^ok " out) = 8
'

printf '#!/bin/sh\nexec trace-mcp --memory-limit 0 folder\n' >server && chmod +x server
inspect() { "$modules/.bin/mcp-inspector" --cli ./server "$@" </dev/null; }
test_expect_success INSPECTOR 'the inspector lists and calls every tool' '
    inspect --method tools/list >tools.json &&
    python3 -c "import json; print(*(t[\"name\"] for t in json.load(open(\"tools.json\"))[\"tools\"]))" >names &&
    echo "traces summary advice diff query tables picture trials" >expect && test_cmp expect names &&
    for name in $(cat names); do
        case $name in
        traces | tables) set -- ;;
        diff) set -- --tool-arg "base=[\"folder/a.trace\"]" --tool-arg "current=[\"folder/a.trace\"]" ;;
        query) set -- --tool-arg "traces=[\"folder/a.trace\"]" --tool-arg "sql=SELECT count(*) FROM kernels" ;;
        trials) set -- --tool-arg "answer=[\"folder/tried.json\"]" ;;
        *) set -- --tool-arg "traces=[\"folder/a.trace\"]" ;;
        esac
        inspect --method tools/call --tool-name $name "$@" >answer &&
        grep "\"isError\": false" answer && grep -F "\"text\": \"\$ " answer || return 1
    done
'

test_done
