"use strict";

/* What every page needs: its data, elements, numbers, colour schemes, printing and downloads. */

const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);
const dark = matchMedia("(prefers-color-scheme: dark)");
const coarse = matchMedia("(pointer: coarse)");
const state = { off: new Set(), statistic: "t", axis: "log", printing: false };
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

function addSources() {
  for (const button of document.querySelectorAll("button[data-source]")) {
    const { name, text } = data.sources[button.dataset.source];
    button.addEventListener("click", () => save(text, "application/json", `${name}.json`));
  }
}

/* Draw again when colours or the medium change. */
function follow(refresh) {
  dark.addEventListener("change", refresh);
  for (const [event, printing] of [["beforeprint", true], ["afterprint", false]]) {
    window.addEventListener(event, () => {
      state.printing = printing;
      refresh();
    });
  }
}
