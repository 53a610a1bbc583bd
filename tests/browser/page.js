// page.js -- a page in headless Chromium, driven over the debugging pipe; needs nothing but Node and Chromium.
//
//     const page = await open(url, {width: 1200, height: 800});
//     await page.eval("document.title");       // JSON of the value, promises awaited
//     await page.until("rows()", 5);           // once it is 5: what a page does by and by; no fixed time is long enough
//     await page.key("/");  await page.click(x, y);  await page.screenshot("a.png");
//     await page.close();
//     await quit();                            // the browser, which all pages share: starting one takes a second
//
// After use("firefox"), or with BROWSER=firefox in the environment, it is a page in Firefox: firefox.js.
"use strict";
const { spawn } = require("node:child_process");
const fs = require("node:fs"), os = require("node:os"), path = require("node:path");
const stop = require("./stop.js");

function findBrowser() {
  const names = [process.env.CHROMIUM, "chromium", "chromium-browser", "google-chrome"].filter(Boolean);
  for (const name of names)
    for (const dir of path.isAbsolute(name) ? [""] : process.env.PATH.split(":"))
      if (fs.existsSync(path.join(dir, name))) return path.join(dir, name);
  return null;
}

// Starts the browser. send(method, params, session) asks it; a session's page gets its events by listen(session, list).
async function start() {
  const profile = fs.mkdtempSync(path.join(os.tmpdir(), "gpuprof-browser-"));
  const child = spawn(findBrowser(), ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars",
    `--user-data-dir=${profile}`, "--remote-debugging-pipe", "about:blank"], { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
  const waiting = new Map(), listeners = new Map();
  let last = 0, text = "";
  child.stdio[4].setEncoding("utf8").on("data", (chunk) => {
    const parts = (text + chunk).split("\0");
    text = parts.pop();
    for (const part of parts) {
      const m = JSON.parse(part);
      if (!m.id) { listeners.get(m.sessionId)?.push(m); continue; }
      const [yes, no] = waiting.get(m.id);
      waiting.delete(m.id);
      if (m.error) no(new Error(m.error.message)); else yes(m.result);
    }
  });
  child.stdio[3].on("error", () => {});
  const send = (method, params = {}, sessionId = undefined) => new Promise((yes, no) => {
    waiting.set(++last, [yes, no]);
    child.stdio[3].write(JSON.stringify({ id: last, method, params, sessionId }) + "\0");
  });
  child.once("exit", () => { for (const [, no] of waiting.values()) no(new Error("the browser is gone")); });
  return {
    send,
    listen: (sessionId, events) => listeners.set(sessionId, events),
    stop: () => stop(child, profile, () => send("Browser.close")),
  };
}

let browser = null; // a promise, once there is a page

let spare = []; // windows of pages that were closed and left nothing behind: a new one takes half a second of processor time

async function quit() {
  await (await browser)?.stop();
  browser = null;
  spare = [];
}

async function newWindow(send, width, height) {
  const { browserContextId } = await send("Target.createBrowserContext");
  const { targetId } = await send("Target.createTarget", { url: "about:blank", browserContextId, width, height, newWindow: true });
  const { sessionId } = await send("Target.attachToTarget", { targetId, flatten: true });
  for (const domain of ["Page", "Runtime", "Log", "Network"]) await send(domain + ".enable", {}, sessionId);
  return { browserContextId, sessionId };
}

// A page with nothing stored, in a window of its own.
async function open(url, { width = 1200, height = 800, dark = false, reducedMotion = true, scripts = true } = {}) {
  const { send, listen } = await (browser ||= start());
  const window = spare.pop() || await newWindow(send, width, height);
  const { sessionId } = window, events = [];
  listen(sessionId, events);
  const call = (method, params) => send(method, params, sessionId);
  let changed = !scripts; // more than what is set here
  await call("Emulation.setEmulatedMedia", { features: [
    { name: "prefers-color-scheme", value: dark ? "dark" : "light" },
    { name: "prefers-reduced-motion", value: reducedMotion ? "reduce" : "no-preference" }] });
  await call("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: 1, mobile: false });
  if (!scripts) await call("Emulation.setScriptExecutionDisabled", { value: true });

  async function load(how, params) {
    const seen = events.length;
    await call(how, params);
    for (let i = 0; i < 4000; i++) {
      if (events.slice(seen).some((e) => e.method === "Page.loadEventFired")) return;
      await page.sleep(25);
    }
    throw new Error("the page did not load");
  }

  const page = {
    call: (...args) => { changed = true; return call(...args); },
    events,
    go: (to) => load("Page.navigate", { url: to }),
    reload: () => load("Page.reload", {}),
    // The value of the expression, or of what a function here gives, once it is wanted, or true if nothing is; after a
    // minute, what it is then.
    async until(what, wanted) {
      const end = Date.now() + 60000;
      for (;;) {
        const value = await (what.call ? what() : page.eval(what)).catch((e) => { if (Date.now() > end) throw e; }); // between two pages
        if (wanted === undefined ? value : value === wanted) return value;
        if (Date.now() > end) return value;
        await page.sleep(25);
      }
    },
    sleep: (ms) => new Promise((r) => setTimeout(r, ms)),
    async eval(expression) {
      const r = await call("Runtime.evaluate", { expression, returnByValue: true, awaitPromise: true, userGesture: true });
      if (r.exceptionDetails) throw new Error(r.exceptionDetails.exception?.description || r.exceptionDetails.text);
      return r.result.value;
    },
    async key(key, modifiers = 0) {
      const special = { Enter: "\r", Escape: "", ArrowUp: "", ArrowDown: "", ArrowLeft: "", ArrowRight: "" };
      const text = key in special ? special[key] : key;
      await call("Input.dispatchKeyEvent", { type: text ? "keyDown" : "rawKeyDown", key, text, modifiers });
      await call("Input.dispatchKeyEvent", { type: "keyUp", key, modifiers });
    },
    async type(text) { for (const c of text) await page.key(c); },
    async move(x, y) { await call("Input.dispatchMouseEvent", { type: "mouseMoved", x, y }); },
    async click(x, y) {
      await page.move(x, y);
      for (const type of ["mousePressed", "mouseReleased"])
        await call("Input.dispatchMouseEvent", { type, x, y, button: "left", clickCount: 1 });
    },
    async screenshot(file) {
      fs.writeFileSync(file, Buffer.from((await call("Page.captureScreenshot", { format: "png" })).data, "base64"));
    },
    // What went wrong on the page: exceptions and dialogs (a name that ran as a script would open one).
    problems: () => events.filter((e) => ["Runtime.exceptionThrown", "Page.javascriptDialogOpening"].includes(e.method)),
    // The mouse leaves, and the next page finds neither an address before its own nor anything stored.
    async close() {
      if (changed || page.problems().length || await page.eval("localStorage.length + sessionStorage.length").catch(() => true))
        return send("Target.disposeBrowserContext", { browserContextId: window.browserContextId });
      await page.move(-9, -9);
      await page.go("about:blank");
      await call("Page.resetNavigationHistory");
      spare.push(window);
    },
  };
  await page.go(url);
  return page;
}

let driver = { open, quit };
const use = (name) => { driver = name === "firefox" ? require("./firefox.js") : { open, quit }; };
use(process.env.BROWSER);

module.exports = { open: (...args) => driver.open(...args), quit: () => driver.quit(), use };
