// page.js -- the data of a page of trace2timeline in Node, without a browser: the module that the page runs, given the
// sections of the file. For tests and benchmarks.
//
//     const data = await load("timeline.html");
"use strict";
const fs = require("node:fs"), path = require("node:path"), vm = require("node:vm"), zlib = require("node:zlib");

const SOURCE = path.join(__dirname, "../../render/assets/timeline_data.js");

function sectionsOf(file) {
  const html = fs.readFileSync(file, "latin1"), sections = new Map();
  const open = '<script type="application/octet-stream" id="';
  for (let at = html.indexOf(open); at >= 0; at = html.indexOf(open, at + 1)) {
    const id = html.slice(at + open.length, html.indexOf('"', at + open.length));
    const from = html.indexOf(">", at) + 1;
    const part = Buffer.from(html.slice(from, html.indexOf("<", from)), "base64");
    const whole = id.replace(/(\.\d+)\.\d+$/, "$1");
    sections.set(whole, sections.has(whole) ? Buffer.concat([sections.get(whole), part]) : part);
  }
  return sections;
}

async function load(file) {
  const sections = sectionsOf(file);
  const gp = { unpack: async (id) => {
    if (!sections.has(id)) throw new Error(`no section ${id}`);
    const bytes = zlib.inflateSync(sections.get(id));
    return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length);
  } };
  const timeline = vm.runInThisContext(`(gp) => { ${fs.readFileSync(SOURCE, "utf8")}; return timeline; }`)(gp);
  return timeline.open();
}

module.exports = { load, sectionsOf };
