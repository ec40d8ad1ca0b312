/* Panels of learning curves with their controls. */

const sizes = [...new Set(data.panels.flatMap((panel) => Object.values(panel.curves).flatMap((curve) => curve.size)))];
sizes.sort((one, other) => one - other);
const LANE = { t: " Marks in the lane: T below the axis.", pooled: " Marks in the lane: ratio below the axis.", success: "" };
const BARS = {
  t: "Means over trials; bars: standard error.",
  pooled: "Gain over the constant rule, summed over trials, divided by that of the best rule; bars: 95% bootstrap interval.",
  success: "Means over trials; bars: standard error. Lines: the best rule (solid) and the best constant rule (dotted).",
};
const shown = () => data.learners.filter((learner) => !state.off.has(learner.name));

function traces(panel, learner) {
  const curve = panel.curves[learner.name];
  const values = curve[state.statistic];
  const [low, high] = ["low", "high"].map((end) => curve[`${state.statistic}_${end}`]);
  const gap = (end) => end.map((value, point) => (value === null ? 0 : Math.abs(value - values[point])));
  const color = hue(learner);
  const line = {
    name: learner.name, x: curve.size, y: values, mode: learner.is_reference ? "lines" : "lines+markers",
    line: { color, dash: learner.dash, width: learner.is_reference ? 1 : 1.8 },
    marker: { color, symbol: learner.symbol, size: 7 },
    text: values.map((value, point) => number(value) + (low[point] === null ? "" : ` (${number(low[point])} … ${number(high[point])})`)),
    hovertemplate: "%{text}",
  };
  if (!learner.is_reference) return [{ ...line, error_y: { type: "data", array: gap(high), arrayminus: gap(low), thickness: 1.2, width: 0 } }];
  const edge = { x: curve.size, mode: "lines", line: { width: 0 }, hoverinfo: "skip", meta: "band" };
  const marked = learner.name === "limit" && curve.is_unmixed?.some(Boolean);
  const circles = marked ? { mode: "lines+markers", marker: { color, symbol: "circle-open", size: curve.is_unmixed.map((yes) => (yes ? 9 : 0)) } } : {};
  return [{ ...edge, y: low }, { ...edge, y: high, fill: "tonexty", fillcolor: `${color}40` }, { ...line, ...circles }];
}

const present = (panel) => shown().filter((learner) => learner.name in panel.curves);

/* Sizes at which a learner is below the axis. */
function below(panel, learner) {
  const curve = panel.curves[learner.name];
  if (state.statistic === "success" || curve === undefined) return [];
  return curve.size.filter((_, point) => curve[state.statistic][point] !== null && curve[state.statistic][point] < data.range[0]);
}

/* Learners that have a line in the lane under the axis, the same in all panels. */
const laned = () => shown().filter((learner) => !learner.is_reference && data.panels.some((panel) => below(panel, learner).length));

/* A learner that is nowhere below the axis has an empty place, so that every panel has the same lane. */
function marks(panel) {
  const lane = laned();
  return lane.map((learner, place) => {
    const found = below(panel, learner);
    return {
      name: learner.name, yaxis: "y2", mode: "markers", hoverinfo: "skip", cliponaxis: false, meta: "lane",
      x: found.length ? found : Object.values(panel.curves)[0].size.slice(0, 1), y: found.length ? found.map(() => lane.length - place - 0.5) : [null],
      marker: { color: hue(learner), symbol: `${learner.symbol}-open`, size: 6, line: { width: 1.4 } },
    };
  });
}

function level(y, color, dash) {
  return { type: "line", xref: "paper", x0: 0, x1: 1, y0: y, y1: y, layer: "below", line: { color, dash, width: 1 } };
}

function layout(panel) {
  const [ink, line, shade] = isDark() ? ["#e7eaee", "#353b43", "#2a3038"] : ["#1c1f24", "#d5d9df", "#e6e8ec"];
  const raw = state.statistic === "success";
  const best = panel.constant + panel.headroom;
  const [low, high] = raw ? [panel.constant, best] : [0, 1];
  const axis = { color: ink, gridcolor: line, zeroline: false, fixedrange: coarse.matches };
  const count = laned().length;
  const lane = Math.min(0.06 * count, 0.3);
  const lanes = { ...axis, domain: [0, lane], range: [0, count], showgrid: false, fixedrange: true, tickvals: [count / 2], ticktext: [`< ${number(data.range[0], 1)}`] };
  const ticks = lane ? [0, 0.5, 1] : [data.range[0], 0, 0.5, 1];
  const ground = { type: "rect", xref: "paper", yref: "paper", x0: 0, x1: 1, y0: 0, y1: lane, layer: "below", line: { width: 0 }, fillcolor: shade };
  return {
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: { color: ink, size: 12 },
    margin: { l: 56, r: 8, t: 8, b: 42 }, showlegend: false, hovermode: "x unified",
    hoverlabel: { bgcolor: isDark() ? "#1c2026" : "#ffffff", font: { color: ink, size: 12 } },
    dragmode: coarse.matches ? false : "zoom",
    xaxis: { ...axis, anchor: lane ? "y2" : "y", type: state.axis, title: { text: "training examples", standoff: 6, font: { size: 12 } }, dtick: state.axis === "log" ? 1 : undefined, nticks: 5, tickformat: ",d", hoverformat: ",d", unifiedhovertitle: { text: "%{x} examples" } },
    yaxis: { ...axis, domain: [lane, 1], title: { text: state.statistic === "t" ? panel.t_label : data.axes[state.statistic], standoff: 4, font: { size: 12 } }, ...(raw ? { autorange: true } : { range: data.range, tickvals: ticks, ticktext: ticks.map((tick) => number(tick, tick % 1 ? 1 : 0)) }) },
    ...(lane ? { yaxis2: lanes } : {}),
    shapes: [...(lane ? [ground] : []), level(low, ink, raw ? "dot" : "solid"), level(high, ink, "solid")],
    ...(state.printing ? { width: 320, height: 250 } : { autosize: true }),
  };
}

function draw(plot) {
  const panel = data.panels[plot.dataset.panel];
  Plotly.react(plot, [...present(panel).flatMap((learner) => traces(panel, learner)), ...marks(panel)], layout(panel), { responsive: true, displaylogo: false, displayModeBar: false });
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
  byId("bars").textContent = BARS[state.statistic] + (laned().length ? LANE[state.statistic] : "");
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
  byId("reading").textContent = reading(data.panels[plot.dataset.panel], known[place]);
}

/* Values at one size, for those who hear the page. */
function reading(panel, size) {
  const values = present(panel).map(({ name }) => {
    const curve = panel.curves[name];
    const point = curve.size.indexOf(size);
    return point < 0 ? "" : `, ${name} ${number(curve[state.statistic][point])}`;
  });
  return `${size.toLocaleString("en")} examples${values.join("")}`;
}

function addPanel(panel, position) {
  const figure = element("figure", "", { class: "panel" });
  const caption = element("figcaption", "");
  const note = `${panel.trials.toLocaleString("en")} ${panel.trials === 1 ? "trial" : "trials"}, mean headroom ${number(panel.headroom)}`;
  caption.append(element("h4", panel.title), element("span", panel.title === panel.world ? note : `${panel.world}, ${note}`, { class: "note" }));
  const label = `Curves of ${panel.world}; use the left and right arrow keys to read values`;
  const plot = element("div", "", { class: "plot", "data-panel": position, tabindex: 0, role: "group", "aria-label": label });
  plot.addEventListener("keydown", step);
  figure.append(caption, plot);
  near.observe(plot);
  return figure;
}

function addPanels() {
  const places = new Map(data.panels.map((panel, position) => [panel.world, position]));
  for (const { title, lines, worlds } of data.grids) {
    const grid = element("div", "", { class: lines ? "panels fixed" : "panels" });
    grid.style.setProperty("--lines", lines);
    byId("panels").append(element("h3", title));
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

