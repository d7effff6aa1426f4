// Drawing on canvases: curves over an axis, bars of attempts on lanes, and how busy lanes were. Everything is drawn
// anew when its box changes size or the colours change.

import { h, at, time, number } from "./dom.js";

const dashes = [[], [6, 3], [2, 2], [8, 3, 2, 3], [4, 4], [10, 4], [1, 3]];
const tip = document.getElementById("tip");

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// tint is the colour and the dash of line i: six colours that all readers can tell apart, and dashes that differ.
const tint = (i) => ({ colour: colour("--c" + (i % 7)), dash: dashes[Math.floor(i / 7) % dashes.length] });

// watchers draw again what is on the page. One that has left the page is forgotten.
const watchers = new Map();
const observer = new ResizeObserver((entries) => entries.forEach((e) => watchers.get(e.target)?.()));
export function redraw() {
  for (const [canvas, draw] of watchers) {
    if (canvas.isConnected) draw();
    else {
      observer.unobserve(canvas);
      watchers.delete(canvas);
    }
  }
}

// surface makes a canvas of a height that paint fills: paint(context, width, height).
function surface(height, label, paint) {
  const canvas = h("canvas", { role: "img", "aria-label": label, style: { height: height + "px" } });
  const draw = () => {
    const width = canvas.clientWidth,
      scale = window.devicePixelRatio || 1;
    if (!width) return;
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    const c = canvas.getContext("2d");
    c.scale(scale, scale);
    c.font = "11px system-ui, 'Liberation Sans', 'DejaVu Sans', Arial, sans-serif";
    c.textBaseline = "middle";
    paint(c, width, height);
  };
  watchers.set(canvas, draw);
  observer.observe(canvas);
  return canvas;
}

// ticks are round numbers between two, about n.
function ticks(low, high, n) {
  const raw = (high - low) / n,
    unit = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((m) => m * unit).find((s) => s >= raw) || raw;
  const list = [];
  for (let x = Math.ceil(low / step) * step; x <= high + step * 1e-9; x += step) list.push(+x.toPrecision(12));
  return list;
}

const clock = [
  1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800, 2592000,
];

function timeTicks(low, high, n) {
  const raw = (high - low) / n;
  if (raw < 1) return ticks(low, high, n);
  const step = clock.find((s) => s >= raw);
  if (!step) return ticks(low, high, n);
  const list = [];
  for (let x = Math.ceil(low / step) * step; x <= high; x += step) list.push(x);
  return list;
}

// logTicks are instants that read well, each about ten times the last.
const logTicks = (low, high) =>
  [1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.1, 1, 10, 60, 600, 3600, 36000, 259200, 2592000].filter(
    (x) => x >= low * 0.999 && x <= high * 1.001,
  );

const box = { left: 52, right: 10, top: 8, bottom: 22 };

// chart draws lines over a common axis. options: {title, lines: [{name, x, y, thick}], most, least, height,
// log (of the time), along (writes x, where it is no time), write (of y), steps, left, right}.
export function chart(o) {
  const height = o.height || 170,
    lines = o.lines.filter((l) => l.x.length);
  const write = o.write || number;
  const low = o.least ?? Math.min(0, ...lines.map((l) => min(l.y)));
  let high = o.most ?? Math.max(...lines.map((l) => max(l.y)), low);
  if (high <= low) high = low + 1;
  if (o.most == null) high += (high - low) * 0.05;
  const log = o.log;
  let left = Math.min(...lines.map((l) => min(l.x))),
    right = Math.max(...lines.map((l) => max(l.x)));
  if (!lines.length) {
    left = log ? 1 : 0;
    right = 10;
  }
  if (log) left = Math.max(left, right / 1e7, 1e-9);
  if (o.left != null) {
    left = o.left;
    right = o.right;
  }
  if (right <= left) right = log ? left * 10 : left + 1;
  const map = (v) => (log ? Math.log(v / left) / Math.log(right / left) : (v - left) / (right - left));
  const unmap = (p) => (log ? left * (right / left) ** p : left + p * (right - left));
  const along = o.along || at;
  let place = null;
  const paint = (c, w, hh) => {
    const x0 = box.left,
      x1 = w - box.right,
      y0 = hh - box.bottom,
      y1 = box.top;
    const X = (v) => x0 + map(Math.max(v, log ? left : -Infinity)) * (x1 - x0),
      Y = (v) => y0 - ((v - low) / (high - low)) * (y0 - y1);
    place = { x0, x1, y0, y1, X, Y };
    c.clearRect(0, 0, w, hh);
    c.lineWidth = 1;
    c.strokeStyle = colour("--grid");
    c.fillStyle = colour("--soft");
    c.textAlign = "right";
    for (const t of ticks(low, high, Math.max(2, (y0 - y1) / 34))) {
      c.beginPath();
      c.moveTo(x0, Math.round(Y(t)) + 0.5);
      c.lineTo(x1, Math.round(Y(t)) + 0.5);
      c.stroke();
      c.fillText(write(t), x0 - 6, Y(t));
    }
    c.textAlign = "center";
    const marks = log ? logTicks(left, right) : (o.along ? ticks : timeTicks)(left, right, (x1 - x0) / 80);
    let last = -Infinity;
    for (const t of marks) {
      const label = along(t),
        half = c.measureText(label).width / 2;
      c.beginPath();
      c.moveTo(Math.round(X(t)) + 0.5, y0);
      c.lineTo(Math.round(X(t)) + 0.5, y0 + 4);
      c.stroke();
      if (X(t) - half < last + 6 || X(t) + half > w) continue;
      c.fillText(label, X(t), y0 + 13);
      last = X(t) + half;
    }
    if (!lines.length) {
      c.fillText("nothing to draw yet", (x0 + x1) / 2, (y0 + y1) / 2);
      return;
    }
    c.save();
    c.beginPath();
    c.rect(x0 - 1, y1 - 3, x1 - x0 + 2, y0 - y1 + 6);
    c.clip();
    o.lines.forEach((l, i) => {
      const { colour: ink, dash } = tint(l.tint ?? i);
      c.strokeStyle = ink;
      c.lineWidth = l.thin ? 1 : 1.75;
      c.setLineDash(l.thin ? [3, 3] : dash);
      c.beginPath();
      for (let k = 0; k < l.x.length; k++) {
        const x = X(l.x[k]),
          y = Y(l.y[k]);
        if (k === 0) c.moveTo(x, y);
        else {
          if (o.steps) c.lineTo(x, Y(l.y[k - 1]));
          c.lineTo(x, y);
        }
      }
      if (l.hold != null && l.x.length) c.lineTo(X(l.hold), Y(l.y[l.y.length - 1]));
      c.stroke();
    });
    c.restore();
  };
  const canvas = surface(height, o.title, paint);
  hover(
    canvas,
    () => place,
    (x) => {
      const v = unmap(x),
        first = o.lines.find((l) => l.x.length);
      if (!first) return "";
      const near = o.steps ? v : first.x[nearest(first.x, v)]; // what is told is of the instant that is told
      return [
        along(near),
        ...o.lines
          .map((l) => [l.name, o.steps ? find(l.x, near) : nearest(l.x, near), l])
          .filter(([, k]) => k >= 0)
          .map(([name, k, l]) => name + "  " + write(l.y[k])),
      ].join("\n");
    },
  );
  const keys = o.lines.map((l, i) => key(l.name, l.tint ?? i, l.thin));
  return h("figure", {}, h("figcaption", {}, h("strong", {}, o.title), keys), canvas);
}

// key is what stands for a line in a legend.
function key(name, i, thin) {
  const ns = "http://www.w3.org/2000/svg",
    svg = document.createElementNS(ns, "svg"),
    line = document.createElementNS(ns, "line");
  svg.setAttribute("viewBox", "0 0 22 8");
  for (const [k, v] of Object.entries({
    x1: 0,
    x2: 22,
    y1: 4,
    y2: 4,
    "stroke-width": thin ? 1 : 2.5,
    "stroke-dasharray": (thin ? [3, 3] : dashes[Math.floor(i / 7) % dashes.length]).join(" "),
  }))
    line.setAttribute(k, v);
  line.style.stroke = "var(--c" + (i % 7) + ")";
  svg.append(line);
  return h("span", { class: "key" }, svg, name);
}

const min = (a) => a.reduce((x, y) => (y < x ? y : x), Infinity);
const max = (a) => a.reduce((x, y) => (y > x ? y : x), -Infinity);

// find is the last place with a value that is not above v; -1: none.
function find(list, v) {
  let a = 0,
    b = list.length;
  while (a < b) {
    const m = (a + b) >> 1;
    if (list[m] <= v) a = m + 1;
    else b = m;
  }
  return a - 1;
}

// nearest is the place of the value that is nearest to v; -1: there is none.
function nearest(list, v) {
  const k = find(list, v);
  return k < 0 || (k + 1 < list.length && list[k + 1] - v < v - list[k]) ? Math.min(k + 1, list.length - 1) : k;
}

// pointers are the places that the keyboard has moved to, by the title of a chart: a live page draws charts anew.
const pointers = new Map();

// hover shows a tip, and lets a stretch be dragged to zoom. Both speak in parts of the width, from 0 to 1. At the
// keyboard the arrows move what is told: a hundredth of the width, a tenth with Shift, and from lane to lane.
function hover(canvas, where, say, zoom, click) {
  let from = null,
    dragged = false;
  const placed = () => {
    // a key or a click may come before the first picture
    if (!where()) watchers.get(canvas)?.();
    return where();
  };
  const tell = (text, x, y) => {
    tip.hidden = !text;
    if (!text) return;
    tip.textContent = text;
    const r = tip.getBoundingClientRect();
    tip.style.left = Math.max(4, Math.min(x + 14, innerWidth - r.width - 4)) + "px";
    tip.style.top = Math.max(4, Math.min(y + 14, innerHeight - r.height - 4)) + "px";
  };
  const place = pointers.get(canvas.getAttribute("aria-label")) || { x: 0.5, y: null };
  pointers.set(canvas.getAttribute("aria-label"), place);
  canvas.tabIndex = 0;
  canvas.setAttribute("aria-describedby", "tip");
  canvas.addEventListener("keydown", (e) => {
    const p = placed();
    if (!p || e.ctrlKey || e.metaKey || e.altKey) return;
    let { x, y } = place;
    y ??= p.y1 + 1;
    const step = e.shiftKey ? 0.1 : 0.01;
    if (e.key === "ArrowLeft") x = Math.max(0, x - step);
    else if (e.key === "ArrowRight") x = Math.min(1, x + step);
    else if (e.key === "Home") x = 0;
    else if (e.key === "End") x = 1;
    else if (p.one && e.key === "ArrowUp") y = Math.max(p.y1 + 1, y - Math.max(1, p.one));
    else if (p.one && e.key === "ArrowDown") y = Math.min(p.y0 - 1, y + Math.max(1, p.one));
    else if (e.key === "Enter" && click) click(x, y);
    else if (e.key === "+" && zoom) zoom(Math.max(0, x - 0.125), Math.min(1, x + 0.125));
    else return;
    Object.assign(place, { x, y });
    e.preventDefault();
    e.stopPropagation();
    const r = canvas.getBoundingClientRect();
    if (e.key !== "Enter" && e.key !== "+") tell(say(x, y), r.left + p.x0 + x * (p.x1 - p.x0), r.top + y);
  });
  canvas.addEventListener("blur", () => {
    tip.hidden = true;
  });
  const part = (e) => {
    const p = placed(),
      r = canvas.getBoundingClientRect();
    return p && Math.min(1, Math.max(0, (e.clientX - r.left - p.x0) / (p.x1 - p.x0)));
  };
  canvas.addEventListener("pointermove", (e) => {
    const p = placed();
    if (!p) return;
    tell(say(part(e), e.clientY - canvas.getBoundingClientRect().top), e.clientX, e.clientY);
  });
  canvas.addEventListener("pointerleave", () => {
    tip.hidden = true;
  });
  if (zoom) {
    canvas.dataset.zoom = "";
    canvas.addEventListener("pointerdown", (e) => {
      from = part(e);
      dragged = false;
    });
    canvas.addEventListener("pointerup", (e) => {
      const to = part(e);
      dragged = from != null && Math.abs(to - from) > 0.01;
      if (dragged) zoom(Math.min(from, to), Math.max(from, to));
      from = null;
    });
  }
  if (click) {
    canvas.addEventListener("click", (e) => {
      // Browsers end a drag with a click.
      if (!dragged && placed()) click(part(e), e.clientY - canvas.getBoundingClientRect().top);
    });
  }
}

// lanes draws what ran on nodes: bars, or how busy nodes were where bars would be too many. options: {title, data (of
// the interface), zoom, click (called with a bar), names (of jobs), last (what the last instant is called)}.
export function lanes(o) {
  const d = o.data,
    rows = d.lanes;
  if (!d.busy) d.bars ??= []; // an empty list is left out
  const packed = d.bars ? pack(d) : null;
  const slots = rows.map((r, i) => (packed ? Math.max(1, packed.depth[i]) : 1));
  const all = slots.reduce((a, b) => a + b, 0) || 1;
  const unit = packed ? Math.max(2, Math.min(14, 560 / all)) : Math.max(3, Math.min(16, 420 / rows.length));
  const height = Math.min(900, Math.ceil(all * unit)) + 30,
    from = d.from_s,
    until = d.until_s;
  let place = null;
  const starts = [];
  slots.reduce((sum, s, i) => {
    starts[i] = sum;
    return sum + s;
  }, 0);
  const paint = (c, w, hh) => {
    const x0 = 92,
      x1 = w - 10,
      y1 = 4,
      y0 = hh - box.bottom,
      one = (y0 - y1) / all;
    const X = (t) => x0 + ((t - from) / (until - from)) * (x1 - x0);
    place = { x0, x1, y0, y1, one };
    c.clearRect(0, 0, w, hh);
    c.textAlign = "right";
    let last = -Infinity;
    rows.forEach((r, i) => {
      const y = y1 + starts[i] * one;
      c.strokeStyle = colour("--grid");
      c.beginPath();
      c.moveTo(x0, Math.round(y) + 0.5);
      c.lineTo(x1, Math.round(y) + 0.5);
      c.stroke();
      const middle = y + (slots[i] * one) / 2;
      if (middle - last < 12) return;
      c.fillStyle = colour("--soft");
      c.fillText(fit(c, r.name, 84), x0 - 6, middle);
      last = middle;
    });
    c.textAlign = "center";
    for (const t of timeTicks(from, until, (x1 - x0) / 80)) {
      const label = at(t);
      if (X(t) + c.measureText(label).width / 2 <= w) c.fillText(label, X(t), y0 + 13);
    }
    if (packed) {
      const map = colour("--c0"),
        reduce = colour("--c5"),
        other = colour("--c2"),
        bad = colour("--bad");
      d.bars.forEach((b, k) => {
        const x = Math.max(X(b.start_s), x0),
          to = Math.min(X(b.end_s ?? until), x1);
        c.fillStyle = b.kind === "map" ? map : b.kind === "reduce" ? reduce : other;
        const failed = ["failed", "killed", "lost"].includes(b.outcome);
        c.globalAlpha = failed ? 0.35 : b.outcome === "ok" ? 0.85 : 1;
        const y = y1 + (starts[packed.lane[k]] + packed.slot[k]) * one,
          gap = one > 4 ? 1 : 0;
        c.fillRect(x, y + gap / 2, Math.max(1, to - x - (to - x > 3 ? 0.6 : 0)), Math.max(1, one - gap));
        if (failed) {
          c.globalAlpha = 1;
          c.fillStyle = bad;
          c.fillRect(to - 2, y + gap / 2, 2, Math.max(1, one - gap));
        }
      });
      c.globalAlpha = 1;
    } else {
      const ink = colour("--c0"),
        most = 100 * (d.most || 1),
        wide = (x1 - x0) / (d.busy[0]?.length || 1);
      c.fillStyle = ink;
      d.busy.forEach((row, i) => {
        const y = y1 + starts[i] * one;
        for (let k = 0; k < row.length;) {
          let n = k + 1;
          while (n < row.length && row[n] === row[k]) n++;
          if (row[k]) {
            c.globalAlpha = shade(row[k] / most);
            c.fillRect(x0 + k * wide, y, (n - k) * wide + 0.3, Math.max(1, one - (one > 4 ? 1 : 0)));
          }
          k = n;
        }
      });
      c.globalAlpha = 1;
    }
  };
  const canvas = surface(height, o.title, paint);
  const under = (x, y) => {
    const unitAt = (y - place.y1) / place.one;
    let lane = starts.findLastIndex((s) => s <= unitAt);
    if (lane < 0 || unitAt >= all) return {};
    const t = from + x * (until - from),
      slack = (until - from) / (place.x1 - place.x0);
    if (!packed) return { lane, t };
    const k = d.bars.findIndex(
      (b, i) =>
        packed.lane[i] === lane &&
        packed.slot[i] === Math.floor(unitAt - starts[lane]) &&
        b.start_s <= t + slack &&
        (b.end_s ?? until) >= t - slack,
    );
    return { lane, t, bar: d.bars[k] };
  };
  hover(
    canvas,
    () => place,
    (x, y) => {
      const u = under(x, y);
      if (u.lane == null) return "";
      const name = rows[u.lane].name;
      if (u.bar) {
        const b = u.bar,
          name2 = o.names?.get(b.job);
        return (
          `${name}\njob ${b.job}${name2 ? " " + name2 : ""}, ${b.kind}${b.task ? " task " + b.task : ""}\n` +
          `${at(b.start_s)} – ${b.end_s == null ? o.last : at(b.end_s)} ` +
          `(${time((b.end_s ?? until) - b.start_s)}), ${b.outcome}` +
          (b.locality ? `\n${b.locality}` : "") +
          (b.speculative ? "\nspeculative" : "")
        );
      }
      if (packed) return name + "\n" + at(u.t);
      const k = Math.min(d.busy[u.lane].length - 1, Math.floor(x * d.busy[u.lane].length));
      const running = number(d.busy[u.lane][k] / 100);
      return `${name}\n${at(u.t)}\n${running} attempts${rows[u.lane].nodes > 1 ? " a node" : ""}`;
    },
    o.zoom && ((a, b) => o.zoom(from + a * (until - from), from + b * (until - from))),
    o.click &&
      ((x, y) => {
        const u = under(x, y);
        if (u.bar) o.click(u.bar);
      }),
  );
  const legend = packed
    ? [
        h("span", { class: "key" }, swatch("--c0"), "map"),
        h("span", { class: "key" }, swatch("--c5"), "reduce"),
        h("span", { class: "key" }, swatch("--bad"), "ended without success"),
      ]
    : [
        h("span", { class: "key" }, empty(), "none"),
        h(
          "span",
          { class: "key" },
          scale(),
          "up to " + number(d.most || 0) + " attempts at a time" + (rows.some((r) => r.nodes > 1) ? " a node" : ""),
        ),
      ];
  return h("figure", {}, h("figcaption", {}, h("strong", {}, o.title), legend), canvas);
}

// boxes draws what stands for a colour in a legend: boxes of [x, width, opacity].
function boxes(name, list) {
  const ns = "http://www.w3.org/2000/svg",
    svg = document.createElementNS(ns, "svg");
  svg.setAttribute("viewBox", "0 0 22 8");
  for (const [x, width, opacity] of list) {
    const r = document.createElementNS(ns, "rect");
    for (const [k, v] of Object.entries({ x, width, height: 8, "fill-opacity": opacity })) r.setAttribute(k, v);
    r.style.fill = `var(${name})`;
    svg.append(r);
  }
  return svg;
}

const swatch = (name) => boxes(name, [[6, 10, 1]]);

// shade is how opaque a part of the most attempts at a time is drawn. The least is told from none in light and dark.
const shade = (part) => 0.3 + 0.7 * part;

const scale = () =>
  boxes(
    "--c0",
    [0, 0.25, 0.5, 0.75, 1].map((part, i) => [1 + 4 * i, 4, shade(part)]),
  );

// empty stands for none: a box of the ground, with a line around it.
function empty() {
  const svg = boxes("--back", [[6.5, 10, 1]]);
  svg.firstChild.style.stroke = "var(--soft)";
  return svg;
}

// pack gives each bar a place on its lane, so that none cover each other.
function pack(d) {
  const lane = new Map(d.lanes.map((l, i) => [l.node, i]));
  const order = d.bars
    .map((_, i) => i)
    .sort((a, b) => d.bars[a].start_s - d.bars[b].start_s || d.bars[a].attempt - d.bars[b].attempt);
  const ends = d.lanes.map(() => []),
    at = { lane: [], slot: [], depth: d.lanes.map(() => 0) };
  for (const i of order) {
    const b = d.bars[i],
      l = lane.get(b.node);
    let s = ends[l].findIndex((e) => e <= b.start_s + 1e-9);
    if (s < 0) s = ends[l].length;
    ends[l][s] = b.end_s ?? Infinity;
    at.lane[i] = l;
    at.slot[i] = s;
    at.depth[l] = Math.max(at.depth[l], s + 1);
  }
  return at;
}

// fit cuts a text to a width.
function fit(c, text, width) {
  if (c.measureText(text).width <= width) return text;
  while (text.length > 1 && c.measureText(text + "…").width > width) text = text.slice(0, -1);
  return text + "…";
}
