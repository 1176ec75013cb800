// The page's own script against a running controller, with a document of the least that it uses.
import fs from "node:fs";

class Element {
  constructor() {
    this.parts = [];
    this.hidden = false;
  }
  append(...parts) { this.parts.push(...parts); }
  prepend(part) { this.parts.unshift(part); }
  replaceChildren(...parts) { this.parts = parts; }
  setAttribute(key, value) { this[key] = value; }
  get childElementCount() { return this.parts.length; }
  get lastElementChild() { return { remove: () => this.parts.pop() }; }
  set textContent(text) { this.parts = [text]; }
  get textContent() {
    return this.parts.map((part) => (typeof part === "string" ? part : part.textContent)).join(" ");
  }
}

const known = {};
for (const found of fs.readFileSync("index.html", "utf8").matchAll(/ id="([^"]+)"/g)) known[found[1]] = new Element();
const main = new Element();
globalThis.document = {
  getElementById: (id) => known[id],
  createElement: () => new Element(),
  createElementNS: () => new Element(),
  querySelector: () => main,
};
known.ink.namespaceURI = "svg";
globalThis.setInterval = () => {};
globalThis.sessionStorage = { getItem: () => null, setItem: () => {} };
const fetched = globalThis.fetch;
globalThis.fetch = (path, options) => fetched(process.env.BASE + path, options);
globalThis.FormData = class {
  constructor(fields) { this.fields = fields; }
  get(key) { return this.fields[key] ?? ""; }
};
await import("./page.mjs");

const sent = (target, value) => ({ preventDefault() {}, target, submitter: { value } });
known.token.value = process.env.TOKEN;
await known.login.onsubmit(sent({}));
console.log("status:", known.status.textContent);
if (main.hidden || !known.login.hidden) throw new Error("nothing is shown");
const flow = { name: "CAM", source: "s2", targets: "d1", size: "20 kB", kind: "message", period: "20 ms" };
await known.ask.onsubmit(sent(flow, "what-if"));
console.log("what-if:", known.answer.textContent);
await known.ask.onsubmit(sent({ ...flow, size: "220 kB" }, "add"));
console.log("refused:", known.answer.textContent);
await known.ask.onsubmit(sent(flow, "add"));
console.log("added:", known.answer.textContent);
const { delayChart, modeChart } = await import("./charts.js");
const chart = delayChart([{ at_ms: 0, delay_ns: 5 }, { at_ms: 10, delay_ns: 20 }], 10, "p");
console.log("chart:", chart.class, chart.parts.map((it) => it.points ?? it.y1).join(" | "));
const raise = { kind: "raised", from: "LO", to: "HI", at_ms: 5 };
console.log("modes:", modeChart([raise], ["LO", "HI"], 0, 10, "s").parts[0].points);
console.log("rows:", known.flows.parts.length);
const row = known.flows.parts.find((it) => it.textContent.startsWith("CAM"));
await row.parts.at(-1).parts[0].onclick();
console.log("removed:", known.answer.textContent);
process.exit(0);
