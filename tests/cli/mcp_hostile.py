#!/usr/bin/env python3
"""mcp_hostile.py FOLDER TRACE: what the protocol demands of trace-mcp, and clients that do not keep to it."""
import json
import os
import sys
import time

from mcp_client import Server, parts

PARSE, REQUEST, METHOD, PARAMS, BUSY = -32700, -32600, -32601, -32602, -32000


def error_of(server, line, id=None):
    server.raw(line)
    return server.wait(id)["error"]["code"]


def main(folder, trace):
    for asked, got in ("2025-11-25",) * 2, ("2025-06-18",) * 2, ("2024-11-05",) * 2, ("1999-01-01", "2025-11-25"):
        server = Server(folder)
        result = server.open(asked)
        assert result["protocolVersion"] == got and result["capabilities"] == {"tools": {}}, result
        assert result["serverInfo"]["name"] == "trace-mcp" and "tokens" in result["instructions"]
        assert server.close() == 0

    server = Server(folder)
    server.open()
    assert server.ask("ping")["result"] == {}
    tools = {t["name"]: t for t in server.ask("tools/list")["result"]["tools"]}
    assert list(tools) == ["traces", "summary", "advice", "diff", "query", "tables", "picture", "trials"], tools
    assert all(t["annotations"] == {"readOnlyHint": True, "openWorldHint": False} for t in tools.values())
    tables = os.popen("trace-hta --table help").read().split()
    assert tools["summary"]["inputSchema"]["properties"]["table"]["enum"] == tables
    server.raw('{"jsonrpc":"2.0","id":"a\\u0000\\"b","method":"ping"}')
    assert server.wait('a\0"b')["result"] == {}
    server.raw('  {"jsonrpc":"2.0","id":1.5e3,"method":"ping","params":{}}\r')
    assert server.wait(1500)["result"] == {}

    # Not JSON, or not JSON-RPC.
    deep = "[" * 100000 + "]" * 100000
    for line in ("{", "nonsense", '{"jsonrpc":"2.0","id":1,"method":"ping"', b"\xff\xfe", deep, '{"a":' * 80 + "1" + "}" * 80,
                 '{"jsonrpc":"2.0","id":1,"method":"ping"}{', b'{"jsonrpc":"2.0","id":1,"method":"p\0"}'):
        assert error_of(server, line) == PARSE, line[:40]
    for line in ("[]", "1", "null", '"x"', "{}", '[{"jsonrpc":"2.0","id":1,"method":"ping"}]', '{"jsonrpc":"1.0","method":"ping"}',
                 '{"jsonrpc":"2.0","id":null,"method":"ping"}', '{"jsonrpc":"2.0","id":{},"method":"ping"}',
                 '{"jsonrpc":"2.0","id":true,"method":"ping"}'):
        assert error_of(server, line) == REQUEST, line
    for line in ('{"jsonrpc":"2.0","id":7}', '{"jsonrpc":"2.0","id":7,"method":5}', '{"jsonrpc":"2.0","id":7,"method":"ping","params":[]}'):
        assert error_of(server, line, 7) == REQUEST, line
    for method in "nope", "", "tools/calls", "resources/list", "x" * 100000:
        assert error_of(server, json.dumps({"jsonrpc": "2.0", "id": 8, "method": method}), 8) == METHOD, method[:20]
    assert error_of(server, "x" * (3 << 20)) == REQUEST  # longer than a message may be
    for line in ("", "   ", '{"jsonrpc":"2.0","method":"notifications/nope"}', '{"jsonrpc":"2.0","id":99,"result":{}}',
                 '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":424242}}',
                 '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":[]}}',
                 '{"jsonrpc":"2.0","method":"tools/call","params":{"name":"traces"}}'):
        server.raw(line)  # nothing is answered
    assert server.ask("ping")["result"] == {}

    # Arguments of other types, names that do not exist, options that look like paths.
    good = {"traces": [trace]}
    for params in ({}, {"name": 3}, {"name": "nope"}, {"name": "summary"}, {"name": "summary", "arguments": []},
                   {"name": "summary", "arguments": {"traces": []}}, {"name": "summary", "arguments": {"traces": [7]}},
                   {"name": "summary", "arguments": {"traces": {}}}, {"name": "summary", "arguments": {"traces": trace}}, {"name": "summary", "arguments": {"traces": ["a\0b"]}},
                   {"name": "summary", "arguments": {"traces": ["--output=x"]}}, {"name": "summary", "arguments": {"traces": [""]}},
                   {"name": "diff", "arguments": {"base": ["--save=x"], "current": [trace]}},
                   {"name": "summary", "arguments": {**good, "nope": 1}}, {"name": "summary", "arguments": {**good, "table": "nope"}},
                   {"name": "summary", "arguments": {**good, "top": -1}}, {"name": "summary", "arguments": {**good, "top": "5"}},
                   {"name": "summary", "arguments": {**good, "top": 1e3}}, {"name": "summary", "arguments": {**good, "whole": 1}},
                   {"name": "summary", "arguments": {**good, "whole": None}}, {"name": "query", "arguments": {**good, "sql": ["x"]}},
                   {"name": "summary", "arguments": {**good, "tokens": 10}}, {"name": "summary", "arguments": {**good, "tokens": "many"}},
                   {"name": "summary", "arguments": {**good, "tokens": 10 ** 9}}):
        answer = server.ask("tools/call", params)
        assert answer["error"]["code"] == PARAMS, (params, answer)

    # What is outside, however it is named, and what only looks like a statement. The answers are errors of the tool.
    above = os.path.dirname(os.path.abspath(folder))
    for path in ("/etc/passwd", "/dev/stdin", "/proc/self/environ", f"{folder}/../outside.trace", f"{folder}/./a.trace", f"{folder}/link.trace",
                 f"{folder}/linked/outside.trace", f"{above}/outside.trace", folder, f"{folder}/", f"{folder}/nope.trace", f"{folder}/pipe",
                 f"{folder}//a.trace", "outside.trace"):
        for tool, arguments in ("summary", {"traces": [path]}), ("query", {"traces": [path], "sql": "SELECT 1 FROM kernels"}), (
                "diff", {"base": [trace], "current": [path]}), ("picture", {"traces": [path]}), ("advice", {"traces": [path]}), ("trials", {"answer": [path]}):
            result = server.call(tool, **arguments)["result"]
            assert result["isError"] and len(result["content"]) == 2, (tool, path, result)
            assert "root:" not in str(result), result
    for sql in ("/etc/passwd", f"{above}/outside.trace", "ATTACH '/etc/passwd' AS x", "SELECT readfile('/etc/passwd')", "VACUUM INTO 'gone'",
                "DELETE FROM kernels", "SELECT load_extension('x')", "", ";", "--", "SELECT 1; SELECT 2", "-o gone"):
        result = server.call("query", traces=[trace], sql=sql)["result"]
        assert result["isError"] and " is a file" not in str(result), (sql, result)
    assert not os.path.exists("gone")
    tiny = server.call("query", traces=[trace], sql="SELECT 1 -- " + "x" * 3000, tokens=250)
    assert tiny["result"]["isError"] and len(json.dumps(tiny["result"])) <= 1000, tiny
    assert "x" * 3000 in parts(server.call("query", traces=[trace], sql="SELECT 1 -- " + "x" * 3000)["result"])[0]

    # A call that is cancelled is not answered, and takes nothing along; others go on.
    endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT sum(x) FROM c, kernels"
    slow = [server.send("tools/call", {"name": "query", "arguments": {"traces": [trace], "sql": endless}}) for _ in range(3)]
    assert server.ask("ping")["result"] == {}
    for id in slow:
        server.raw(json.dumps({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id, "reason": "x"}}))
    assert "dur_ns" in parts(server.call("tables", name="kernels")["result"])[1]
    assert not [id for id in slow if id in server.answers]
    many = [server.send("tools/call", {"name": "query", "arguments": {"traces": [trace], "sql": endless}}) for _ in range(70)]
    assert [server.wait(id)["error"]["code"] for id in many[64:]] == [BUSY] * 6
    for id in many:
        server.raw(json.dumps({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}))
    assert server.close() == 0

    # A call that takes too long ends; what waits at the end of the input is answered.
    server = Server("--timeout", "200ms", "--jobs", "1", folder)
    late = server.send("tools/call", {"name": "query", "arguments": {"traces": [trace], "sql": endless}})
    ping = server.send("ping")
    began = time.monotonic()
    assert server.close() == 0 and time.monotonic() - began < 300
    result = server.wait(late)["result"]
    assert result["isError"] and "--timeout" in str(result) and server.wait(ping)["result"] == {}
    print("kept")


main(*sys.argv[1:])
