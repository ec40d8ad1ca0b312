"use strict";

const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);
const sizes = [...new Set(data.panels.flatMap((panel) => Object.values(panel.curves).flatMap((curve) => curve.size)))];
sizes.sort((one, other) => one - other);
const dark = matchMedia("(prefers-color-scheme: dark)");
const coarse = matchMedia("(pointer: coarse)");
const BARS = {
  t: "Means over trials; bars: standard error. Arrows: T below the axis.",
  pooled: "Gain over the constant rule, summed over trials, divided by that of the best rule; bars: 95% bootstrap interval. Arrows: ratio below the axis.",
  success: "Means over trials; bars: standard error. Lines: the best rule (solid) and the best constant rule (dotted).",
};
const state = { off: new Set(), statistic: "t", axis: "log", printing: false };
const shown = () => data.learners.filter((learner) => !state.off.has(learner.name));
const isDark = () => dark.matches && !state.printing;

function element(tag, text, attributes = {}) {
  const made = document.createElement(tag);
  made.textContent = text;
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

const hue = (learner) => learner.color[isDark() ? "dark" : "light"];

function number(value, digits = 3) {
  if (value === null) return "–";
  const size = Math.abs(value).toFixed(digits);
  return `${value < 0 && Number(size) > 0 ? "−" : ""}${size}`;
}

/* Curves. */

function trace(panel, learner) {
  const curve = panel.curves[learner.name];
  const values = curve[state.statistic];
  const [low, high] = ["low", "high"].map((end) => curve[`${state.statistic}_${end}`]);
  const gap = (end) => end.map((value, point) => (value === null ? 0 : Math.abs(value - values[point])));
  return {
    name: learner.name, x: curve.size, y: values, mode: "lines+markers",
    line: { color: hue(learner), dash: learner.dash, width: 1.8 },
    marker: { color: hue(learner), symbol: learner.symbol, size: 7 },
    error_y: { type: "data", array: gap(high), arrayminus: gap(low), thickness: 1.2, width: 3 },
    text: values.map((value, point) => number(value) + (low[point] === null ? "" : ` (${number(low[point])} … ${number(high[point])})`)),
    hovertemplate: "%{text}",
  };
}

const present = (panel) => shown().filter((learner) => learner.name in panel.curves);

/* Arrows side by side at the floor, one for each learner whose value is below it. */
function arrows(panel) {
  if (state.statistic === "success") return [];
  const below = new Map();
  for (const learner of present(panel)) {
    const curve = panel.curves[learner.name];
    curve.size.forEach((size, point) => {
      const value = curve[state.statistic][point];
      if (value !== null && value < data.range[0]) below.set(size, [...(below.get(size) ?? []), learner]);
    });
  }
  return [...below].flatMap(([size, learners]) => learners.map((learner, place) => ({
    x: state.axis === "log" ? Math.log10(size) : size, y: data.range[0] + 0.01, ax: 0, ay: -15, text: "", showarrow: true,
    xshift: Math.min(8, 32 / learners.length) * (place - (learners.length - 1) / 2),
    arrowhead: 2, arrowwidth: 1.6, arrowcolor: hue(learner), name: learner.name,
  })));
}

function level(y, color, dash) {
  return { type: "line", xref: "paper", x0: 0, x1: 1, y0: y, y1: y, layer: "below", line: { color, dash, width: 1 } };
}

function layout(panel) {
  const [ink, line] = isDark() ? ["#e7eaee", "#353b43"] : ["#1c1f24", "#d5d9df"];
  const raw = state.statistic === "success";
  const best = panel.constant + panel.headroom;
  const [low, high] = raw ? [panel.constant, best] : [0, 1];
  const axis = { color: ink, gridcolor: line, zeroline: false, fixedrange: coarse.matches };
  return {
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: { color: ink, size: 12 },
    margin: { l: 48, r: 8, t: 8, b: 42 }, showlegend: false, hovermode: "x unified",
    hoverlabel: { bgcolor: isDark() ? "#1c2026" : "#ffffff", font: { color: ink, size: 12 } },
    dragmode: coarse.matches ? false : "zoom",
    xaxis: { ...axis, type: state.axis, title: { text: "training examples", standoff: 6 }, dtick: state.axis === "log" ? 1 : undefined, nticks: 5, tickformat: ",d", hoverformat: ",d", unifiedhovertitle: { text: "%{x} examples" } },
    yaxis: { ...axis, title: { text: data.statistics[state.statistic], standoff: 4 }, ...(raw ? { autorange: true } : { range: data.range, dtick: 0.5 }) },
    annotations: arrows(panel),
    shapes: [level(low, ink, raw ? "dot" : "solid"), level(high, ink, "solid")],
    ...(state.printing ? { width: 320, height: 250 } : { autosize: true }),
  };
}

function draw(plot) {
  const panel = data.panels[plot.dataset.panel];
  Plotly.react(plot, present(panel).map((learner) => trace(panel, learner)), layout(panel), { responsive: true, displaylogo: false, displayModeBar: false });
  plot.dataset.drawn = "yes";
}

const plots = () => [...document.querySelectorAll(".plot")];
const near = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    entry.target.dataset.near = entry.isIntersecting ? "yes" : "no";
    if (entry.isIntersecting && entry.target.dataset.drawn !== "yes") draw(entry.target);
  }
}, { rootMargin: "300px" });

function redraw() {
  byId("bars").textContent = BARS[state.statistic];
  for (const plot of plots()) {
    plot.dataset.drawn = "no";
    if (plot.dataset.near === "yes" || state.printing) draw(plot);
  }
}

function step(event) {
  const move = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  const plot = event.currentTarget;
  if (move === undefined || !plot.data) return;
  event.preventDefault();
  const known = sizes.filter((size) => plot.data.some((curve) => curve.x.includes(size)));
  const place = Math.min(Math.max(Number(plot.dataset.place ?? -1) + move, 0), known.length - 1);
  plot.dataset.place = place;
  Plotly.Fx.hover(plot, { xval: known[place] });
}

function addPanel(panel, position) {
  const figure = element("figure", "", { class: "panel" });
  const caption = element("figcaption", "");
  const note = `${panel.trials.toLocaleString("en")} ${panel.trials === 1 ? "trial" : "trials"}, mean headroom ${number(panel.headroom)}`;
  caption.append(element("h3", panel.world), element("span", note, { class: "note" }));
  const label = `Curves of ${panel.world}; use the left and right arrow keys to read values`;
  const plot = element("div", "", { class: "plot", "data-panel": position, tabindex: 0, role: "img", "aria-label": label });
  plot.addEventListener("keydown", step);
  figure.append(caption, plot);
  near.observe(plot);
  return figure;
}

function addPanels() {
  const places = new Map(data.panels.map((panel, position) => [panel.world, position]));
  for (const { columns, worlds } of data.grids) {
    const grid = element("div", "", { class: columns ? "panels fixed" : "panels" });
    grid.style.setProperty("--columns", columns);
    grid.append(...worlds.map((world) => (world === null ? element("div", "", { class: "hole" }) : addPanel(data.panels[places.get(world)], places.get(world)))));
    byId("panels").append(grid);
  }
}

/* Controls. */

function swatch(learner) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("width", 26);
  svg.setAttribute("height", 10);
  svg.setAttribute("aria-hidden", "true");
  svg.innerHTML = '<line x1="0" y1="5" x2="26" y2="5" stroke-width="3"/>';
  svg.firstChild.setAttribute("stroke", hue(learner));
  if (learner.dash !== "solid") svg.firstChild.setAttribute("stroke-dasharray", learner.dash.replaceAll("px", ""));
  return svg;
}

function addLearners() {
  for (const old of byId("learners").querySelectorAll("label")) old.remove();
  for (const learner of data.learners) {
    const label = element("label", "");
    const box = element("input", "", { type: "checkbox" });
    box.checked = !state.off.has(learner.name);
    box.value = learner.name;
    box.addEventListener("change", () => {
      state.off[box.checked ? "delete" : "add"](learner.name);
      redraw();
    });
    label.append(box, swatch(learner), element("span", learner.name));
    byId("learners").append(label);
  }
  for (const name of data.without_scores) {
    const label = element("label", "", { class: "absent" });
    label.append(element("input", "", { type: "checkbox", disabled: "" }), element("span", `${name} (no scores)`));
    byId("learners").append(label);
  }
}

function addStatistics() {
  for (const [key, name] of Object.entries(data.statistics)) {
    const label = element("label", "");
    const radio = element("input", "", { type: "radio", name: "statistic", value: key });
    radio.checked = key === state.statistic;
    label.append(radio, element("span", name));
    byId("statistics").append(label);
  }
  byId("controls").addEventListener("change", (event) => {
    if (event.target.type !== "radio") return;
    state[event.target.name] = event.target.value;
    redraw();
  });
}

/* Differences. */

function differences() {
  const [first, second] = [byId("first").value, byId("second").value];
  for (const pair of data.differences) {
    if (pair.first === first && pair.second === second) return pair.cells;
    if (pair.first === second && pair.second === first) {
      const minus = (value) => (value === null ? null : -value);
      return pair.cells.map(([world, size, trials, mean, low, high]) => [world, size, trials, minus(mean), minus(high), minus(low)]);
    }
  }
  return [];
}

function heatCell(cell, strongest) {
  if (cell === undefined) return element("td", "");
  const [world, size, trials, mean, low, high] = cell;
  const made = element("td", `${Number(mean.toFixed(2)) > 0 ? "+" : ""}${number(mean, 2)}`);
  made.append(element("small", low === null ? "" : `${number(low, 2)} … ${number(high, 2)}`));
  made.title = `${world}, ${size.toLocaleString("en")} examples, ${trials.toLocaleString("en")} trials: ${number(mean)}, 95% interval ${number(low)} … ${number(high)}`;
  const ahead = low !== null && low * high > 0;
  const winner = data.learners.find((learner) => learner.name === byId(mean > 0 ? "first" : "second").value);
  const most = winner.cell[isDark() ? "dark" : "light"];
  const share = ahead ? 20 + (most - 20) * Math.min(Math.abs(mean) / strongest, 1) : 6;
  made.style.background = `color-mix(in srgb, ${hue(winner)} ${share.toFixed(0)}%, var(--paper))`;
  made.classList.toggle("ahead", ahead);
  return made;
}

function drawHeatmap() {
  const cells = differences();
  const table = byId("heatmap");
  table.replaceChildren(element("caption", `T of ${byId("first").value} minus T of ${byId("second").value}`));
  const strongest = Math.min(Math.max(...cells.map((cell) => Math.abs(cell[3])), 1e-9), 0.5);
  const known = sizes.filter((size) => cells.some((cell) => cell[1] === size));
  if (!known.length) table.createTBody().insertRow().append(element("td", "no trial in common"));
  const head = table.createTHead().insertRow();
  head.append(element("th", "world"), ...known.map((size) => element("th", size.toLocaleString("en"), { scope: "col" })));
  const body = table.createTBody();
  for (const panel of data.panels) {
    const found = new Map(cells.filter((cell) => cell[0] === panel.world).map((cell) => [cell[1], cell]));
    if (!found.size) continue;
    const row = body.insertRow();
    row.append(element("th", panel.world, { scope: "row" }), ...known.map((size) => heatCell(found.get(size), strongest)));
  }
}

function addDifferences() {
  const names = data.learners.map((learner) => learner.name);
  byId("differences").hidden = names.length < 2;
  if (names.length < 2) return;
  const preferred = ["EM", "Winnow"].every((name) => names.includes(name)) ? ["EM", "Winnow"] : names;
  ["first", "second"].forEach((id, place) => {
    byId(id).append(...names.map((name) => element("option", name, { value: name })));
    byId(id).value = preferred[place];
    byId(id).addEventListener("change", drawHeatmap);
  });
  drawHeatmap();
}

/* Downloads. */

function save(text, type, name) {
  const link = element("a", "", { download: name, href: URL.createObjectURL(new Blob([text], { type })) });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

function toCsv(rows) {
  const quoted = (value) => (/[",\n\r]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);
  /* Spreadsheets would run text that begins like a formula. */
  const text = (value) => (typeof value === "string" && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value ?? ""));
  return rows.map((row) => row.map((value) => quoted(text(value))).join(",")).join("\n") + "\n";
}

function curveTable() {
  const statistic = state.statistic;
  const rows = [["world", ...data.parameters, "learner", "size", "trials", statistic, `${statistic}_low`, `${statistic}_high`]];
  for (const panel of data.panels) {
    for (const learner of present(panel)) {
      const curve = panel.curves[learner.name];
      curve.size.forEach((size, point) => {
        const values = ["", "_low", "_high"].map((end) => curve[statistic + end][point]);
        rows.push([panel.world, ...panel.parameters, learner.name, size, curve.trials[point], ...values]);
      });
    }
  }
  return rows;
}

function differenceTable() {
  const pair = [byId("first").value, byId("second").value];
  const head = ["world", "size", "trials", "difference", "low", "high", "first", "second"];
  return [head, ...differences().map((cell) => [...cell, ...pair])];
}

function addDownloads() {
  const csv = (table, what) => () => save(toCsv(table()), "text/csv", `${data.name}-${what}.csv`);
  byId("download-curves").addEventListener("click", csv(curveTable, "curves"));
  byId("download-differences").addEventListener("click", csv(differenceTable, "differences"));
  for (const button of document.querySelectorAll("button[data-source]")) {
    const { name, text } = data.sources[button.dataset.source];
    button.addEventListener("click", () => save(text, "application/json", `${name}.json`));
  }
}

function refresh() {
  addLearners();
  redraw();
  if (data.learners.length > 1) drawHeatmap();
}

addStatistics();
addPanels();
addDifferences();
addDownloads();
refresh();
dark.addEventListener("change", refresh);
for (const [event, printing] of [["beforeprint", true], ["afterprint", false]]) {
  window.addEventListener(event, () => {
    state.printing = printing;
    refresh();
  });
}
