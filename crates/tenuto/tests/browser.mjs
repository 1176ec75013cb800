// The page in Chromium, over the pipe of its debugger: what a person does, and what is seen then.
import { spawn } from "node:child_process";
import fs from "node:fs";

const PATIENCE_MS = 120000;
const profile = fs.mkdtempSync("browser-");
const flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-pipe", `--user-data-dir=${fs.realpathSync(profile)}`];
const browser = spawn("chromium", [...flags, "about:blank"], { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
const timer = setTimeout(() => end(1, "the browser takes too long"), PATIENCE_MS);

function end(code, why) {
  if (why) console.error(why);
  clearTimeout(timer);
  browser.kill("SIGKILL");
  browser.on("exit", () => {
    fs.rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
    process.exit(code);
  });
}

let next = 1;
let errors = 0;
const waiting = new Map();
let rest = "";
browser.stdio[4].on("data", (bytes) => {
  const parts = (rest + bytes).split("\0");
  rest = parts.pop();
  for (const part of parts) {
    const message = JSON.parse(part);
    if (message.method === "Runtime.exceptionThrown" || (message.method === "Log.entryAdded" && message.params.entry.level === "error" && message.params.entry.source !== "network")) {
      errors += 1;
      console.error(JSON.stringify(message.params));
    }
    waiting.get(message.id)?.(message);
    waiting.delete(message.id);
  }
});

function call(method, params = {}, sessionId = undefined) {
  const id = next++;
  browser.stdio[3].write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
  return new Promise((done, fail) => {
    waiting.set(id, (message) => (message.error ? fail(new Error(JSON.stringify(message.error))) : done(message.result)));
  });
}

const { targetId } = await call("Target.createTarget", { url: "about:blank" });
const { sessionId } = await call("Target.attachToTarget", { targetId, flatten: true });
for (const domain of ["Runtime", "Log", "Page"]) await call(`${domain}.enable`, {}, sessionId);
await call("Page.navigate", { url: `${process.env.BASE}/` }, sessionId);

async function seen(expression) {
  const answer = await call("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true }, sessionId);
  if (answer.exceptionDetails) throw new Error(JSON.stringify(answer.exceptionDetails));
  return answer.result.value;
}

async function until(expression) {
  for (;;) {
    const value = await seen(expression);
    if (value) return value;
    await new Promise((done) => setTimeout(done, 50));
  }
}

const text = (id) => `document.getElementById("${id}")?.textContent`;
const fill = (fields) => Object.entries(fields).map(([name, value]) => `document.querySelector('#ask [name="${name}"]').value = ${JSON.stringify(value)};`).join("");
const press = (value) => `document.getElementById("answer").textContent = ""; document.querySelector('#ask button[value="${value}"]').click();`;

try {
  await until(`document.readyState === "complete" && document.getElementById("token") !== null && ${text("status")} !== ""`);
  await seen(`document.getElementById("token").value = ${JSON.stringify(process.env.TOKEN)}; document.querySelector("#login button").click();`);
  await until(`!document.querySelector("main").hidden`);
  console.log("title:", await seen("document.title"));
  const flow = { name: "CAM", source: "s2", targets: "d1", size: "20 kB", period: "20 ms" };
  for (const [what, fields, button] of [["what-if", flow, "what-if"], ["refused", { ...flow, size: "220 kB" }, "add"], ["added", flow, "add"]]) {
    await seen(fill(fields) + press(button));
    console.log(`${what}:`, await until(`${text("answer")}.length > 3 && ${text("answer")}`));
  }
  console.log("rows:", await until(`document.querySelectorAll("#flows tr").length === 2 && 2`));
  const drawn = `import("/charts.js").then(({ delayChart }) => {
    const chart = delayChart([{ at_ms: 0, delay_ns: 5 }, { at_ms: 10, delay_ns: 9 }], 10, "p");
    document.body.append(chart);
    const box = chart.querySelector("polyline").getBoundingClientRect();
    if (!(box.width > 100 && box.height > 5)) throw new Error("nothing is drawn: " + JSON.stringify(box));
    return chart.querySelectorAll("polyline").length + " polyline, " + chart.querySelectorAll("line").length + " line";
  })`;
  console.log("chart:", await seen(drawn));
  console.log("errors:", errors);
  end(0);
} catch (error) {
  end(1, String(error));
}
