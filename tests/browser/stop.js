// stop.js -- ends a browser that has a profile of its own, which goes with it: await stop(child, profile, () => send("close"));
"use strict";
const fs = require("node:fs");

module.exports = async function stop(child, profile, close) {
  const gone = child.exitCode === null && child.signalCode === null ? new Promise((r) => child.once("exit", r)) : null;
  close().catch(() => {});
  const timer = setTimeout(() => child.kill("SIGKILL"), 5000);
  await gone;
  clearTimeout(timer);
  fs.rmSync(profile, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
};
