// Small charts as SVG, and their contents in words for who does not see them.
// Named by the document, so that no address of elsewhere stands in any file.
const SVG = document.getElementById("ink").namespaceURI;
const WIDTH = 300;
const HEIGHT = 50;
const EDGE = 4;

function drawn(name, attributes) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}

function chart(label, parts, name = "chart") {
  const svg = drawn("svg", { class: name, role: "img", "aria-label": label, viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none" });
  svg.append(...parts);
  return svg;
}

/** A place in time: the first instant is left, the last one right. */
const across = (at, from, to) => (to > from ? EDGE + ((at - from) / (to - from)) * (WIDTH - 2 * EDGE) : WIDTH / 2);
const joined = (points) => points.map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`).join(" ");

/** Delays over time below their bound, which is a dashed line. */
export function delayChart(samples, bound, label) {
  const most = Math.max(bound ?? 0, ...samples.map((it) => it.delay_ns), 1);
  const up = (ns) => HEIGHT - EDGE - (ns / most) * (HEIGHT - 2 * EDGE);
  const [from, to] = [samples[0].at_ms, samples.at(-1).at_ms];
  const points = samples.map((it) => [across(it.at_ms, from, to), up(it.delay_ns)]);
  const parts = [drawn("polyline", { points: joined(points) })];
  if (bound !== null) parts.push(drawn("line", { x1: 0, x2: WIDTH, y1: up(bound), y2: up(bound) }));
  const isAbove = bound !== null && samples.some((it) => it.delay_ns > bound);
  return chart(label, parts, isAbove ? "chart bad" : "chart");
}

/** The mode of a switch over time as steps, the lowest at the bottom; violations as dots. */
export function modeChart(changes, modes, from, to, label) {
  const up = (mode) => HEIGHT - EDGE - (Math.max(modes.indexOf(mode), 0) / Math.max(modes.length - 1, 1)) * (HEIGHT - 2 * EDGE);
  const steps = changes.filter((it) => ["raised", "swapped", "returned"].includes(it.kind));
  let level = up(steps[0]?.from ?? modes[0]);
  const points = [[EDGE, level]];
  for (const it of steps) {
    const x = across(it.at_ms, from, to);
    points.push([x, level]);
    level = up(it.to);
    points.push([x, level]);
  }
  points.push([WIDTH - EDGE, level]);
  const dots = changes.filter((it) => it.kind === "violation").map((it) => drawn("circle", { cx: across(it.at_ms, from, to).toFixed(1), cy: EDGE, r: 3 }));
  return chart(label, [drawn("polyline", { points: joined(points) }), ...dots]);
}
