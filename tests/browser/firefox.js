// firefox.js -- a page in headless Firefox, as page.js has one in Chromium, driven by WebDriver BiDi; needs nothing but Node and
// Firefox. page.call() takes those commands of Chromium's that the tests use; page.events are called as there.
"use strict";
const { spawn } = require("node:child_process");
const crypto = require("node:crypto"), fs = require("node:fs"), net = require("node:net"), os = require("node:os"), path = require("node:path");
const stop = require("./stop.js");

// ---- a client of WebSocket, for text ----

// send(text), and got(text) for each that comes.
function socket(port, where, got, gone) {
  return new Promise((yes, no) => {
    const s = net.connect(port, "127.0.0.1");
    let data = Buffer.alloc(0), open = false;
    s.on("error", no).on("close", gone);
    s.write(`GET ${where} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${crypto.randomBytes(16).toString("base64")}\r\n\r\n`);
    const send = (text) => {
      const body = Buffer.from(text), n = body.length, mask = crypto.randomBytes(4), head = Buffer.alloc(n < 126 ? 2 : n < 65536 ? 4 : 10);
      head.writeUInt16BE(0x8180 + (n < 126 ? n : n < 65536 ? 126 : 127)); // the last part of a text, masked
      if (n >= 65536) head.writeBigUInt64BE(BigInt(n), 2); else if (n >= 126) head.writeUInt16BE(n, 2);
      for (let i = 0; i < body.length; i++) body[i] ^= mask[i & 3];
      s.write(Buffer.concat([head, mask, body]));
    };
    s.on("data", (chunk) => {
      data = Buffer.concat([data, chunk]);
      if (!open) {
        const end = data.indexOf("\r\n\r\n");
        if (end < 0) return;
        if (!/^HTTP\/1.1 101 /.test(data)) return no(new Error(String(data.subarray(0, end))));
        open = true;
        data = data.subarray(end + 4);
        yes({ send, end: () => s.destroy() });
      }
      while (data.length >= 2) {
        const short = data[1] & 127, at = short === 127 ? 10 : short === 126 ? 4 : 2;
        if (data.length < at) return;
        const n = short === 127 ? Number(data.readBigUInt64BE(2)) : short === 126 ? data.readUInt16BE(2) : short;
        if (data.length < at + n) return;
        if ((data[0] & 15) === 1) got(data.subarray(at, at + n).toString());
        data = data.subarray(at + n);
      }
    });
  });
}

// ---- the browser ----

async function start() {
  const profile = fs.mkdtempSync(path.join(os.tmpdir(), "gpuprof-firefox-"));
  const prefs = { "remote.active-protocols": 1, "ui.prefersReducedMotion": 1, "ui.useOverlayScrollbars": 1, "browser.shell.checkDefaultBrowser": false, "app.update.enabled": false, "toolkit.telemetry.enabled": false,
    "datareporting.policy.dataSubmissionEnabled": false, "network.captive-portal-service.enabled": false, "network.connectivity-service.enabled": false, "dom.events.testing.asyncClipboard": true };
  fs.writeFileSync(path.join(profile, "user.js"), Object.entries(prefs).map(([k, v]) => `user_pref(${JSON.stringify(k)}, ${JSON.stringify(v)});\n`).join(""));
  const child = spawn("firefox-esr", ["--headless", "--no-remote", "--profile", profile, "--remote-debugging-port", "0", "--remote-allow-system-access", "about:blank"],
    { stdio: ["ignore", "ignore", "pipe"], env: { ...process.env, HOME: profile } });
  const gone = new Promise((r) => child.once("exit", r));
  process.once("exit", () => child.kill("SIGKILL")); // it does not see that nobody is there any more
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"]) process.once(signal, () => process.exit(1));
  const port = await new Promise((yes, no) => {
    let text = "";
    child.stderr.setEncoding("utf8").on("data", (chunk) => { const m = /ws:\/\/127\.0\.0\.1:(\d+)/.exec(text += chunk); if (m) yes(Number(m[1])); });
    gone.then(() => no(new Error("Firefox is gone: " + text)));
  });
  const waiting = new Map(), listeners = new Map();
  let last = 0;
  const link = await socket(port, "/session", (text) => {
    const m = JSON.parse(text), [yes, no] = waiting.get(m.id) || [];
    if (m.type === "event") return void (listeners.get(m.params.context ?? m.params.source?.context) || (() => {}))(m);
    waiting.delete(m.id);
    if (m.type === "error") no(new Error(`${m.error}: ${m.message}`)); else yes(m.result);
  }, () => { for (const [, no] of waiting.values()) no(new Error("the browser is gone")); });
  const send = (method, params = {}) => new Promise((yes, no) => {
    waiting.set(++last, [yes, no]);
    link.send(JSON.stringify({ id: last, method, params }));
  });
  await send("session.new", { capabilities: { alwaysMatch: { unhandledPromptBehavior: { default: "dismiss" } } } });
  await send("session.subscribe", { events: ["log.entryAdded", "network.beforeRequestSent", "browsingContext.userPromptOpened"] });
  const chrome = (await send("browsingContext.getTree", { "moz:scope": "chrome" })).contexts[0].context;
  return {
    send, listeners,
    // A property of the page that is in front: what cannot be had otherwise.
    front: (assign) => send("script.evaluate", { expression: `gBrowser.selectedBrowser.browsingContext.${assign}; 0`, target: { context: chrome }, awaitPromise: false }),
    stop: () => stop(child, profile, () => send("browser.close")),
  };
}

let browser = null; // a promise, once there is a page

async function quit() {
  await (await browser)?.stop();
  browser = null;
}

// ---- a page ----

const KEYS = { Enter: "\uE007", Escape: "\uE00C", ArrowLeft: "\uE012", ArrowUp: "\uE013", ArrowRight: "\uE014", ArrowDown: "\uE015", Home: "\uE011", End: "\uE010", PageUp: "\uE00E", PageDown: "\uE00F" };
const HELD = [[1, "\uE00A"], [2, "\uE009"], [4, "\uE03D"], [8, "\uE008"]]; // Chromium's bits of Alt, Control, Meta and Shift
const EVENTS = {
  "log.entryAdded": (p) => p.type !== "javascript" || /^Content-Security-Policy/.test(p.text) ? ["Runtime.consoleAPICalled", { type: p.text }] : ["Runtime.exceptionThrown", { exceptionDetails: { exception: { description: p.text } } }],
  "browsingContext.userPromptOpened": () => ["Page.javascriptDialogOpening", {}],
  "network.beforeRequestSent": (p) => ["Network.requestWillBeSent", { type: p.navigation ? "Document" : "Other", request: { url: p.request.url } }],
};

async function open(url, { width = 1200, height = 800, dark = false, scripts = true } = {}) {
  const { send, listeners, front } = await (browser ||= start());
  const events = [], { userContext } = await send("browser.createUserContext");
  const { context } = await send("browsingContext.create", { type: "tab", userContext });
  listeners.set(context, (m) => { const [method, params] = EVENTS[m.method](m.params); events.push({ method, params }); });
  const act = (...actions) => send("input.performActions", { context, actions });
  const buttons = { mousePressed: "pointerDown", mouseReleased: "pointerUp" };
  const moved = (x, y) => ({ type: "pointerMove", x: Math.round(x), y: Math.round(y) });
  const mouse = (...actions) => act({ type: "pointer", id: "mouse", parameters: { pointerType: "mouse" }, actions });
  const keys = (modifiers, ...actions) => {
    const held = HELD.filter(([bit]) => modifiers & bit).map(([, value]) => value);
    return { type: "key", id: "keys", actions: [...held.map((value) => ({ type: "keyDown", value })), ...actions, ...held.map((value) => ({ type: "keyUp", value }))] };
  };
  let touched = [];
  const commands = {
    "Input.dispatchMouseEvent": ({ type, x, y, deltaX, deltaY, modifiers = 0 }) => type === "mouseWheel" ?
      act(keys(modifiers, { type: "pause" }), { type: "wheel", id: "wheel", actions: [...modifiers ? [{ type: "pause" }] : [], { type: "scroll", x: Math.round(x), y: Math.round(y), deltaX, deltaY }] }) :
      mouse(moved(x, y), ...buttons[type] ? [{ type: buttons[type], button: 0 }] : []),
    "Input.dispatchTouchEvent": ({ type, touchPoints }) => {
      const before = touched;
      touched = touchPoints;
      return act(...(touchPoints.length ? touchPoints : before).map((p) => ({ type: "pointer", id: "touch" + p.id, parameters: { pointerType: "touch" },
        actions: type === "touchEnd" ? [{ type: "pointerUp", button: 0 }] : [moved(p.x, p.y), ...type === "touchStart" && !before.some((q) => q.id === p.id) ? [{ type: "pointerDown", button: 0 }] : []] })));
    },
    "Emulation.setEmulatedMedia": async ({ media, features = [] }) => {
      if (media !== undefined) await front(`mediumOverride = ${JSON.stringify(media)}`);
      for (const f of features) if (f.name === "prefers-color-scheme") await front(`prefersColorSchemeOverride = ${JSON.stringify(f.value)}`);
    },
    "Emulation.setDeviceMetricsOverride": (p) => send("browsingContext.setViewport", { context, viewport: { width: p.width, height: p.height } }),
    "Page.printToPDF": ({ printBackground = false }) => send("browsingContext.print", { context, background: printBackground }),
  };
  const call = (method, params = {}) => commands[method](params);

  const page = {
    call, events,
    go: (to) => send("browsingContext.navigate", { context, url: to, wait: "complete" }),
    reload: () => send("browsingContext.reload", { context, wait: "complete" }),
    async until(what, wanted) {
      const end = Date.now() + 60000;
      for (;;) {
        const value = await (what.call ? what() : page.eval(what)).catch((e) => { if (Date.now() > end) throw e; });
        if (wanted === undefined ? value : value === wanted) return value;
        if (Date.now() > end) return value;
        await page.sleep(25);
      }
    },
    sleep: (ms) => new Promise((r) => setTimeout(r, ms)),
    // The value comes as JSON; what it is made of is evaluated as a script of the page.
    async eval(expression) {
      const evaluate = (text) => send("script.evaluate", { expression: text, target: { context }, awaitPromise: true, userActivation: true, resultOwnership: "root" });
      const fail = (r) => { if (r.type === "exception") throw new Error(r.exceptionDetails.text); return r.result; };
      const value = fail(await evaluate(expression));
      if (value.type === "null") return null;
      if (!value.handle) return value.value; // text, a number, or nothing
      return JSON.parse(fail(await send("script.callFunction", { functionDeclaration: "(v) => JSON.stringify(v) ?? 'null'", arguments: [{ handle: value.handle }], target: { context }, awaitPromise: true })).value);
    },
    async key(key, modifiers = 0) {
      const value = KEYS[key] || key;
      await act(keys(modifiers, { type: "keyDown", value }, { type: "keyUp", value }));
    },
    async type(text) { for (const c of text) await page.key(c); },
    move: (x, y) => mouse(moved(x + 1, y), moved(x, y)), // so that it moves, wherever it was
    click: (x, y) => mouse(moved(x, y), { type: "pointerDown", button: 0 }, { type: "pointerUp", button: 0 }),
    async screenshot(file) { fs.writeFileSync(file, Buffer.from((await send("browsingContext.captureScreenshot", { context })).data, "base64")); },
    problems: () => events.filter((e) => ["Runtime.exceptionThrown", "Page.javascriptDialogOpening"].includes(e.method)),
    close: () => send("browser.removeUserContext", { userContext }),
  };
  await call("Emulation.setDeviceMetricsOverride", { width, height });
  await front(`prefersColorSchemeOverride = "${dark ? "dark" : "light"}"`);
  if (!scripts) await front("allowJavascript = false");
  await page.go(url);
  return page;
}

module.exports = { open, quit };
