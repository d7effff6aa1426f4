// The frame of the page: runs, views, keys, live updates.

import { get, follow, frozen, visitor } from "./api.js";
import { h, show, at, count, wordList } from "./dom.js";
import { redraw } from "./draw.js";
import { cluster, queues, jobs, job, nodes, node, users, policies, opensAt } from "./views.js";

const views = { cluster, queues, jobs, nodes, users, policies };
const main = document.getElementById("main"),
  picker = document.getElementById("run"),
  tabs = document.getElementById("tabs"),
  status = document.getElementById("state"),
  user = document.getElementById("user");
let runs = [],
  current = null,
  refresh = null,
  busy = false,
  stale = false,
  lost = false,
  names = new Map();
let landing = ""; // the view of an address that names none

// ofOne are the views of one row of a list.
const ofOne = { jobs: job, nodes: node };

// parse reads the address: #/run/view/id?query. What it names and is not there is told in unknown.
function parse() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?"),
    [number = "", name = "", id = "", ...more] = path.split("/");
  const to = {
    run: Number(number),
    view: name || landing,
    id: id && Number(id),
    query: new URLSearchParams(query),
    unknown: "",
  };
  if (!runs[to.run])
    to.unknown =
      `There is no run ${number}` + (runs.length > 1 ? `: runs are numbered from 0 to ${runs.length - 1}.` : ".");
  else if (!views[to.view] || more.length > 0) to.unknown = `The page has no view ${path.slice(number.length + 1)}.`;
  else if (id && !(ofOne[to.view] && to.id > 0 && Number.isInteger(to.id)))
    to.unknown = `The view ${to.view} has no row ${id}.`;
  if (!runs[to.run]) to.run = 0;
  return to;
}

// tellUnknown says what the address names that is not there, and where to go on.
function tellUnknown(main, c, why) {
  const list = views[c.view] && c.id !== "" ? c.view : "";
  show(
    main,
    h(
      "p",
      { class: "empty", role: "alert" },
      why,
      " ",
      h(
        "a",
        { href: "#/" + [c.run, list].filter((s) => s !== "").join("/") },
        list ? "‹ all " + list : "‹ the page of " + (runs[c.run]?.name || "runs"),
      ),
    ),
  );
}

// open shows what the address says.
async function open() {
  const to = parse();
  const mine = (current = {
    ...to,
    live: () => runs[to.run]?.live,
    now: () => runs[to.run]?.now_s,
    acts: () => runs[to.run]?.acts,
    explains: () => runs[to.run]?.explains,
    node: (n) => names.get(n) || "node " + n,
  });
  picker.value = String(to.run);
  show(
    tabs,
    Object.keys(views).map((v) =>
      h(
        "a",
        { href: `#/${to.run}/${v}`, "aria-current": v === to.view ? "page" : null },
        v[0].toUpperCase() + v.slice(1),
      ),
    ),
  );
  document.title =
    (to.unknown ? "Not known" : to.id ? { jobs: "Job ", nodes: "Node " }[to.view] + to.id : to.view) + " – Sojourn";
  document.getElementById("tip").hidden = true; // of a chart that goes, however it goes
  document.body.dataset.ready = ""; // what is being put together is not seen, so that nothing moves under a reader
  const found = await nodeNames(to.run);
  if (mine !== current) return; // the reader has gone on
  names = found;
  refresh = to.unknown ? () => tellUnknown(main, to, to.unknown) : (to.id ? ofOne : views)[to.view](main, current);
  scrollTo(0, 0);
  await update();
}

// nodeNames asks for the names of the first thousand nodes, once a run.
const known = new Map();
async function nodeNames(run) {
  if (!known.has(run) || known.get(run).size === 0) {
    try {
      const d = await get(`/runs/${run}/nodes`, { limit: 1000 });
      known.set(run, new Map(d.rows.map((n) => [n.node, n.name])));
    } catch {
      known.set(run, new Map());
    }
  }
  return known.get(run);
}

// update fetches and shows what the view needs. While one goes on another only notes that one more is wanted.
async function update() {
  if (busy) {
    stale = true;
    return;
  }
  if (lost) {
    lost = false;
    return open();
  } // the view has gone
  busy = true;
  const shown = refresh;
  try {
    runs = (await get("/runs")).runs;
    say();
    await shown();
  } catch (e) {
    if (shown === refresh) tellUnknown(main, current, e.message);
    lost = e instanceof TypeError; // no answer came
  }
  busy = false;
  if (shown === refresh) document.body.dataset.ready = "yes"; // else another view was opened, which is still empty
  if (stale || shown !== refresh) {
    stale = false;
    await update();
  }
}

// say tells which run is shown and how far it is.
function say() {
  user.hidden = !runs.some((r) => r.acts);
  const labels = runs.map((r) => r.name + (r.name.includes(r.policy) ? "" : " – " + r.policy));
  if (picker.options.length !== runs.length || labels.some((l, i) => picker.options[i].textContent !== l)) {
    show(
      picker,
      labels.map((l, i) => h("option", { value: i }, l)),
    );
    picker.value = String(current.run);
  }
  const r = runs[current.run];
  if (r)
    show(
      status,
      `${r.engine} · ${r.policy} · ${r.live ? "live, " : ""}${at(r.now_s)} · ${count(r.jobs)} jobs`,
      r.note ? h("span", { class: "bad" }, " · " + r.note) : "",
    );
}

const order = ["auto", "light", "dark"];
function theme(next) {
  const root = document.documentElement;
  if (next) {
    const dark =
      (root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
    root.dataset.theme = dark ? "light" : "dark";
    try {
      localStorage.setItem("theme", root.dataset.theme);
    } catch {
      /* a file may not store anything */
    }
  } else {
    let kept = null;
    try {
      kept = localStorage.getItem("theme");
    } catch {
      /* likewise */
    }
    if (order.includes(kept) && kept !== "auto") root.dataset.theme = kept;
  }
  redraw();
}

// help shows the keys, and what the words of the page mean.
function help() {
  const dialog = document.getElementById("dialog");
  const list = [
    ["1 … 6", "cluster, queues, jobs, nodes, users, policies"],
    ["/", "search"],
    ["j, k", "next, last row"],
    ["Enter", "open the row"],
    ["n, p", "next, last page"],
    ["[, ]", "last, next run"],
    ["t", "light or dark"],
    ["← → ↑ ↓", "on a chart (Tab): read values"],
    ["+", "zoom in on a chart of attempts"],
    ["Esc", "leave a field or this"],
  ];
  show(
    dialog,
    h(
      "form",
      { method: "dialog" },
      h("h2", {}, "Keys"),
      h(
        "dl",
        {},
        list.map(([k, what]) => [h("dt", {}, h("kbd", {}, k)), h("dd", {}, what)]),
      ),
      h("h2", {}, "Words"),
      wordList(),
      h("button", {}, "close"),
    ),
  );
  dialog.showModal();
}

// step moves the focus to the next or the last row.
function step(by) {
  const rows = [...main.querySelectorAll("tbody tr")].map((r) => r.querySelector("a")).filter(Boolean);
  if (!rows.length) return;
  const here = rows.findIndex((a) => a.closest("tr").contains(document.activeElement));
  rows[Math.min(rows.length - 1, Math.max(0, here + by))].focus();
}

addEventListener("keydown", (e) => {
  const field = e.target.closest?.("input, select, textarea, dialog");
  if (e.key === "Escape" && field) field.blur?.();
  if (field || e.ctrlKey || e.metaKey || e.altKey) return;
  const go = Object.keys(views)[+e.key - 1];
  if (go) location.hash = `#/${current.run}/${go}`;
  else if (e.key === "/") main.querySelector("input[type=search]")?.focus();
  else if (e.key === "j") step(1);
  else if (e.key === "k") step(-1);
  else if (e.key === "n") document.getElementById("after")?.click();
  else if (e.key === "p") document.getElementById("before")?.click();
  else if (e.key === "[" || e.key === "]") {
    const next = Math.min(runs.length - 1, Math.max(0, current.run + (e.key === "]" ? 1 : -1)));
    location.hash = `#/${next}/${current.view}`;
  } else if (e.key === "t") theme(true);
  else if (e.key === "?") help();
  else return;
  e.preventDefault();
});
addEventListener("hashchange", open);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
picker.addEventListener("change", () => {
  location.hash = `#/${picker.value}/${current.view}` + (current.id ? "/" + current.id : "");
});
user.value = visitor();
user.addEventListener("change", () => {
  try {
    localStorage.setItem("user", user.value.trim());
  } catch {
    /* it is not kept */
  }
  open();
});
document.getElementById("theme").addEventListener("click", () => theme(true));
document.getElementById("keys").addEventListener("click", help);

theme(false);
try {
  const all = await get("/runs");
  runs = all.runs;
  opensAt(all.at_s ?? null);
  landing = all.at_s != null ? "queues" : runs.length > 1 ? "policies" : "cluster";
  await open();
} catch (e) {
  show(main, h("p", { class: "empty", role: "alert" }, e.message));
}
follow(
  () => {
    if (refresh) update();
  },
  () => show(status, h("span", { class: "bad" }, "no connection; trying again")),
);
if (frozen) document.documentElement.dataset.report = "";
