// Elements, numbers and times. Text is only ever set as text, so that names cannot be markup.

import { terms, meaning } from "./terms.js";

// h makes an element. Attributes that begin with "on" are listeners; children are elements, texts, or lists of these.
export function h(tag, attributes = {}, ...children) {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) e.addEventListener(name.slice(2), value);
    else if (name === "style") for (const [k, v] of Object.entries(value)) e.style.setProperty(k, v);
    else if (value === true) e.setAttribute(name, "");
    else if (value !== false && value != null) e.setAttribute(name, value);
  }
  add(e, children);
  return e;
}

function add(e, children) {
  for (const c of children.flat(Infinity)) if (c != null && c !== false) e.append(c);
}

// show replaces what an element holds. What had the focus within it has the focus again, if it is still there, so that
// a reader at the keyboard keeps the place when a list is sorted or a live run goes on.
export function show(e, ...children) {
  const active = document.activeElement,
    held = active !== e && e.contains(active) ? sign(active) : "";
  e.replaceChildren();
  add(e, children);
  if (held)
    [...e.querySelectorAll("a, button, input, select, summary, canvas")]
      .find((x) => sign(x) === held)
      ?.focus({ preventScroll: true });
}

// sign tells an element that can have the focus from the others of its kind.
const sign = (x) =>
  x.id || x.tagName + " " + (x.getAttribute("href") || x.dataset.sort || x.getAttribute("aria-label") || x.textContent);

// time writes seconds as the commands read and write them: 4.2s, 3m20s, 2h5m, 3d4h.
export function time(s) {
  if (s == null || s < 0) return "–";
  if (s < 1e-9) return "0s";
  if (s < 0.9995) return +(s * 1000).toPrecision(3) + "ms";
  if (s < 59.95) return +s.toPrecision(3) + "s";
  const n = Math.round(s);
  if (n < 3600) return parts([n / 60, "m"], [n % 60, "s"]);
  return n < 86400
    ? parts([n / 3600, "h"], [(n % 3600) / 60, "m"])
    : parts([n / 86400, "d"], [(n % 86400) / 3600, "h"]);
}

// parts joins whole numbers and their units, without those that are 0.
const parts = (...list) =>
  list
    .map(([n, unit]) => [Math.floor(n), unit])
    .filter(([n]) => n > 0)
    .map(([n, unit]) => n + unit)
    .join("");

// at writes an instant of a run, to the second: 42.5s, 13m50s, 12h30m15s.
export function at(s) {
  const n = Math.round(s);
  return n < 60 ? time(s) : parts([n / 86400, "d"], [(n % 86400) / 3600, "h"], [(n % 3600) / 60, "m"], [n % 60, "s"]);
}

// signed writes seconds that may be less than none.
export const signed = (s) => (s < 0 ? "−" + time(-s) : time(s));

// instant reads a time of a run as a reader types it: 90, 90s, 1h30m, 1d2h, 4 min, 250ms or 12:05:10; NaN: it is none.
export function instant(text) {
  const parts = /^\s*(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s)?\s*$/.exec(text);
  if (parts && text.trim())
    return (parts[1] || 0) * 86400 + (parts[2] || 0) * 3600 + (parts[3] || 0) * 60 + +(parts[4] || 0);
  const m = /^\s*(\d+(?:\.\d+)?)(?::(\d+))?(?::(\d+(?:\.\d+)?))?\s*(d|h|min|s|ms|)\s*$/.exec(text);
  if (!m) return NaN;
  const unit = { d: 86400, h: 3600, min: 60, s: 1, ms: 0.001, "": m[2] ? 3600 : 1 }[m[4]];
  return m[1] * unit + ((m[2] || 0) * unit) / 60 + ((m[3] || 0) * unit) / 3600;
}

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

// count writes a whole number.
export const count = (n) => (n < 0 ? "?" : whole.format(n));

// numbered writes how many there are of something: 1 job, 2 jobs.
export const numbered = (n, what) => count(n) + " " + what + (n === 1 ? "" : "s");

// percent writes a part of a whole.
export const percent = (x) =>
  (100 * x).toFixed(x !== 0 && Math.abs(x) < 0.0995 ? 1 : 0).replace(/^-(?=[0.]*$)/, "") + " %";

const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

// bytes writes an amount of bytes.
export function bytes(n) {
  let u = 0;
  while (n >= 1024 && u < units.length - 1) {
    n /= 1024;
    u++;
  }
  return (u === 0 ? n : n.toPrecision(3)) + " " + units[u];
}

// amount writes an amount of a kind of resource.
export const amount = (kind, n) => (kind === "memory" ? bytes(n * 1048576) : count(n));

// amounts writes a vector.
export const amounts = (r) =>
  Object.entries(r || {})
    .map(([k, n]) => k.replaceAll("_", "-") + " " + amount(k, n))
    .join(", ") || "–";

// number writes a number with three figures.
export const number = (x) => (Math.abs(x) >= 1000 ? count(x) : String(+x.toPrecision(3)));

// exactly writes an instant of a run, to the millisecond, so that instant reads the same.
export function exactly(s) {
  const rest = +(s % 60).toFixed(3);
  return (s >= 60 ? at(s - (s % 60)) : "") + (rest || s < 60 ? rest + "s" : "");
}

// words makes a legend that says what words mean. It opens at a click or by the keyboard.
export const words = (...list) =>
  h("details", { class: "words" }, h("summary", {}, "what the words mean"), wordList(list));

// wordList lists words and what they mean; without a list all that there are.
export const wordList = (list = Object.keys(terms)) =>
  h(
    "dl",
    {},
    list.map((w) => [h("dt", {}, w), h("dd", {}, terms[w])]),
  );

// table makes a table. A column is {name, cell, sort, right, wide}; sort names the column for what sorts the rows.
export function table(columns, rows, sorted, resort, label) {
  const head = columns.map((c) => {
    const down = sorted === "-" + c.sort,
      up = sorted === c.sort;
    const text = c.sort
      ? h(
          "button",
          {
            type: "button",
            "data-sort": c.sort,
            onclick: () => resort(up || (!down && c.down) ? (down ? c.sort : "-" + c.sort) : c.sort),
          },
          c.name,
          down ? " ▾" : up ? " ▴" : "",
        )
      : c.name;
    return h(
      "th",
      {
        class: classes(c),
        scope: "col",
        "aria-sort": down ? "descending" : up ? "ascending" : null,
        title: c.title ?? meaning(c.name),
      },
      text,
    );
  });
  const body = rows.map((r) =>
    h(
      "tr",
      {},
      columns.map((c) => h("td", { class: classes(c), title: c.full && c.full(r) }, c.cell(r))),
    ),
  );
  return h(
    "div",
    { class: "scroll" },
    h("table", { "aria-label": label }, h("thead", {}, h("tr", {}, head)), h("tbody", {}, body)),
  );
}

const classes = (c) => [c.right && "n", c.wide && "wide", c.class].filter(Boolean).join(" ") || null;

// tile is a figure with what it means.
export const tile = (what, value, more) =>
  h(
    "div",
    { class: "tile", title: meaning(what) },
    h("div", { class: "what" }, what),
    h("div", { class: "value" }, value),
    h("div", { class: "more" }, more),
  );
