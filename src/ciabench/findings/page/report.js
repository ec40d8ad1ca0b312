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
  head.append(element("th", "world", { scope: "col" }), ...known.map((size) => element("th", size.toLocaleString("en"), { scope: "col" })));
  const body = table.createTBody();
  for (const panel of data.panels) {
    const found = new Map(cells.filter((cell) => cell[0] === panel.world).map((cell) => [cell[1], cell]));
    if (!found.size) continue;
    const row = body.insertRow();
    const name = element("th", panel.world, { scope: "row" });
    if (panel.title !== panel.world) name.append(element("small", panel.title));
    row.append(name, ...known.map((size) => heatCell(found.get(size), strongest)));
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

function differenceTable() {
  const pair = [byId("first").value, byId("second").value];
  const head = ["world", "size", "trials", "difference", "low", "high", "first", "second"];
  return [head, ...differences().map((cell) => [...cell, ...pair])];
}

function refresh() {
  addLearners();
  redraw();
  if (data.learners.length > 1) drawHeatmap();
}

addStatistics();
addPanels();
addDifferences();
addSources();
byId("download-curves").addEventListener("click", () => save(toCsv(curveTable()), "text/csv", `${data.name}-curves.csv`));
byId("download-differences").addEventListener("click", () => save(toCsv(differenceTable()), "text/csv", `${data.name}-differences.csv`));
refresh();
follow(refresh);
