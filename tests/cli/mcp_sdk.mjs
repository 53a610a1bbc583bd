// mcp_sdk.mjs MODULES FOLDER TRACE: the reference client lists all tools and calls each of them.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [modules, folder, trace] = process.argv.slice(2);
const load = async (name) => import(pathToFileURL(createRequire(`${modules}/`).resolve(name)));
const { Client } = await load("@modelcontextprotocol/sdk/client/index.js");
const { StdioClientTransport } = await load("@modelcontextprotocol/sdk/client/stdio.js");

const limits = process.env.GP_SANITIZED ? ["--memory-limit", "0"] : [];
const transport = new StdioClientTransport({ command: "trace-mcp", args: [...limits, folder], env: process.env });
const client = new Client({ name: "test", version: "1" });
const trouble = [];
client.onerror = (error) => trouble.push(error);
await client.connect(transport);
assert.equal(client.getServerVersion().name, "trace-mcp");
assert.match(client.getInstructions(), /summary and advice/);
await client.ping();

const asked = {
    traces: {},
    summary: { traces: [trace] },
    advice: { traces: [trace] },
    diff: { base: [trace], current: [trace] },
    query: { traces: [trace], sql: "SELECT count(*) AS n FROM kernels" },
    tables: {},
    picture: { traces: [trace] },
    trials: { answer: [`${folder}/tried.json`] },
};
const { tools } = await client.listTools();
assert.deepEqual(tools.map((t) => t.name), Object.keys(asked));
for (const { name } of tools) {
    const result = await client.callTool({ name, arguments: { ...asked[name], tokens: 20000 } });
    assert.equal(result.isError, false, name);
    assert.match(result.content[0].text, /^\$ (trace|gpuprof)/);
    if (name === "query") assert.match(result.content[0].text, /\nn\n\d+\n$/);
    if (name === "picture") assert.match(result.content[1].resource.text, /^<\?xml|^<svg/);
    console.log(`ok ${name}`);
}
await assert.rejects(client.callTool({ name: "nope", arguments: {} }), { code: -32602 });
await assert.rejects(client.callTool({ name: "summary", arguments: { traces: 7 } }), { code: -32602 });
assert.equal((await client.callTool({ name: "summary", arguments: { traces: ["/etc/passwd"] } })).isError, true);
const stop = new AbortController();
const endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT sum(x) FROM c, kernels";
const slow = client.callTool({ name: "query", arguments: { traces: [trace], sql: endless } }, undefined, { signal: stop.signal });
stop.abort();
await assert.rejects(slow);
await client.ping();
await client.close();
assert.deepEqual(trouble, []);
