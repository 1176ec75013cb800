// What the service says, shown; what is typed, asked. Nothing is fetched from anywhere else.
import { delayChart, modeChart } from "./charts.js";

const at = (id) => document.getElementById(id);
const EVENTS_SHOWN = 200;
let token = sessionStorage.getItem("token");

/** Asks the service; problems are answers too. */
async function ask(method, path, body) {
  const headers = { authorization: `Bearer ${token}` };
  const answer = await fetch(path, { method, headers, body: body && JSON.stringify(body) });
  return { ok: answer.ok, status: answer.status, value: await answer.json() };
}

/** An element with texts or elements in it: texts are never read as markup. */
function made(tag, parts, attributes = {}) {
  const element = document.createElement(tag);
  element.append(...parts);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}

const ms = (ns) => (ns === null ? "none" : (Math.ceil(ns / 1000) / 1000).toFixed(3));

function showFlows(flows) {
  const rows = flows.flatMap((flow) => flow.bounds);
  const share = (row) => (row.slack_ns === null ? -1 : row.slack_ns / row.deadline_ns);
  rows.sort((a, b) => share(a) - share(b));
  at("flows").replaceChildren(...rows.map((row) => {
    const percent = row.slack_ns === null ? "none" : `${Math.floor(share(row) * 100)} %`;
    const remove = made("button", ["remove"], { "aria-label": `remove ${row.flow}` });
    remove.onclick = async () => {
      tell(await ask("DELETE", `/v1/flows/${encodeURIComponent(row.flow)}`));
      await refresh();
    };
    return made("tr", [
      made("td", [row.flow]), made("td", [row.target]), made("td", [row.mode]),
      made("td", [ms(row.delay_bound_ns)], { class: "n" }), made("td", [ms(row.deadline_ns)], { class: "n" }),
      made("td", [percent], { class: "n" }), made("td", [remove]),
    ]);
  }));
}

function showPorts(ports) {
  at("ports").replaceChildren(...ports.map((port) => {
    const load = port.rate_bps / port.capacity_bps;
    const text = `${(load * 100).toFixed(1)} %`;
    const bar = made("meter", [text], { value: load, max: 1, high: 0.8, "aria-label": `load ${text}` });
    return made("tr", [
      made("td", [port.port]), made("td", [port.to]), made("td", [port.mode]), made("td", [bar, ` ${text}`]),
      made("td", [(port.rate_bps / 1e6).toFixed(2)], { class: "n" }),
    ]);
  }));
}

function showObserved(queues) {
  const rows = queues.filter((it) => it.bound_ns !== null && it.samples.length);
  rows.sort((a, b) => b.longest_ns / b.bound_ns - a.longest_ns / a.bound_ns);
  at("observed-section").hidden = !rows.length;
  at("observed").replaceChildren(...rows.map((it) => {
    const words = `${it.port} class ${it.class}: at most ${ms(it.longest_ns)} of ${ms(it.bound_ns)} ms`;
    return made("tr", [
      made("td", [it.port]), made("td", [it.to]), made("td", [String(it.class)], { class: "n" }),
      made("td", [ms(it.longest_ns)], { class: "n" }), made("td", [ms(it.bound_ns)], { class: "n" }),
      made("td", [delayChart(it.samples, it.bound_ns, words)]),
    ], { title: it.flows.join(", ") });
  }));
}

function showModes(modes, switches, history) {
  const names = modes.map((it) => it.name);
  at("history-section").hidden = names.length < 2 || !switches.length;
  const [from, to] = [history[0]?.at_ms ?? 0, Date.now()];
  at("history").replaceChildren(...switches.map((it) => {
    const own = history.filter((change) => change.switch === it.switch);
    const words = own.map((change) => `${change.kind} ${change.from} to ${change.to}`).slice(-5).join("; ") || "no change";
    return made("tr", [
      made("td", [it.switch]), made("td", [it.mode]),
      made("td", [String(it.raises)], { class: "n" }), made("td", [String(it.returns)], { class: "n" }),
      made("td", [modeChart(own, names, from, to, `${it.switch}: ${words}`)]),
    ]);
  }));
}

function showAlarms(alarms) {
  const items = alarms.map((it) =>
    made("li", [`${it.kind} ${it.place}: ${it.text} (${it.count})`], it.is_raised ? { class: "raised" } : {}));
  at("alarms").replaceChildren(...(items.length ? items : [made("li", ["none"])]));
}

async function allFlows() {
  const flows = [];
  for (let after = ""; ;) {
    const page = await ask("GET", `/v1/flows?limit=1000${after}`);
    flows.push(...page.value.flows);
    if (!page.value.next) return flows;
    after = `&after=${encodeURIComponent(page.value.next)}`;
  }
}

async function refresh() {
  const status = await ask("GET", "/v1/status");
  if (!status.ok) {
    at("status").textContent = status.value.detail;
    return false;
  }
  const it = status.value;
  at("name").textContent = document.title = it.network;
  const stopped = it.stopped ? ` Nothing is admitted: ${it.stopped}` : "";
  at("status").textContent =
    `${it.flows} flows, decision ${it.decision}, ${it.state}${it.modelled ? ", for typical times only" : ""}.${stopped}`;
  const paths = ["ports", "alarms", "observed", "modes", "modes/switches", "modes/history"];
  const asked = paths.map((path) => ask("GET", `/v1/${path}`));
  const [flows, ports, alarms, observed, modes, switches, history] = await Promise.all([allFlows(), ...asked]);
  showFlows(flows);
  showPorts(ports.value);
  showAlarms(alarms.value);
  showObserved(observed.value);
  showModes(modes.value, switches.value, history.value);
  document.querySelector("main").hidden = false;
  at("login").hidden = true;
  return true;
}

/** An answer in words: bounds, or what is scarce and what would fit. */
function tell({ ok, value }) {
  const lines = [];
  if (ok) {
    lines.push(value.in_force ? `Admitted: decision ${value.decision}, ${value.state}` : "It would be admitted");
    for (const row of value.bounds) lines.push(`${row.flow} to ${row.target} in ${row.mode}: ${ms(row.delay_bound_ns)} of ${ms(row.deadline_ns)} ms`);
  } else {
    lines.push(`${value.title}: ${value.detail}`);
    for (const it of value.errors ?? []) lines.push(`${it.field}: ${it.message}. ${it.hint ?? ""}`);
    for (const it of value.refusals ?? []) {
      lines.push(`place ${it.place}`, `${it.resource}: needed ${it.needed} ${it.unit}, have ${it.available}`);
      if (it.would_fit.length) lines.push(`would fit: ${it.would_fit.join(", or ")}`);
    }
  }
  at("answer").textContent = lines.join("\n");
  at("answer").className = ok ? "" : "refused";
}

at("ask").onsubmit = async (event) => {
  event.preventDefault();
  const form = new FormData(event.target);
  const flow = { source: form.get("source"), targets: form.get("targets").split(",").map((it) => it.trim()) };
  flow[form.get("kind")] = form.get("size");
  for (const key of ["period", "deadline", "priority"]) if (form.get(key)) flow[key] = form.get(key);
  const name = form.get("name");
  at("answer").textContent = "…";
  if (event.submitter?.value === "add") {
    tell(await ask("POST", "/v1/flows", { name, flow }));
    await refresh();
  } else {
    tell(await ask("POST", "/v1/what-if", { changes: [{ action: "add", name, flow }] }));
  }
};

at("login").onsubmit = async (event) => {
  event.preventDefault();
  token = at("token").value;
  sessionStorage.setItem("token", token);
  await start();
};

function showEvent(event) {
  const time = new Date(event.at_ms).toLocaleTimeString();
  const item = made("li", [`${time} ${event.kind}: ${event.text}`]);
  if (event.kind === "refused" || event.kind === "alarm") item.className = "refused";
  at("events").prepend(item);
  while (at("events").childElementCount > EVENTS_SHOWN) at("events").lastElementChild.remove();
}

/** Listens for ever; a line that breaks is taken up where it was. */
async function listen() {
  for (let seen = 0; ;) {
    try {
      const headers = { authorization: `Bearer ${token}`, "last-event-id": String(seen) };
      const reader = (await fetch("/v1/events", { headers })).body.pipeThrough(new TextDecoderStream()).getReader();
      for (let rest = ""; ;) {
        const { value, done } = await reader.read();
        if (done) break;
        const parts = (rest + value).split("\n\n");
        rest = parts.pop();
        for (const part of parts) {
          const data = part.split("\n").find((line) => line.startsWith("data: "));
          if (!data) continue;
          const event = JSON.parse(data.slice(6));
          seen = event.number;
          showEvent(event);
        }
        await refresh();
      }
    } catch {
      at("status").textContent = "The controller does not answer.";
      seen = 0;
    }
    await new Promise((done) => setTimeout(done, 2000));
  }
}

// What switches tell every 10 s is no event.
const LOOK_EVERY_MS = 10000;
let isListening = false;
async function start() {
  if (token && (await refresh()) && !isListening) {
    isListening = true;
    listen();
    setInterval(refresh, LOOK_EVERY_MS);
  }
}
start();
