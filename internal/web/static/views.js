// The views. Each fills the page with a frame and returns a function that fetches and shows its content; it is called
// again whenever the run has changed.

import { get, post, frozen } from "./api.js";
import { meaning } from "./terms.js";
import {
  h,
  show,
  table,
  tile,
  signed,
  time,
  at,
  count,
  numbered,
  percent,
  amount,
  amounts,
  bytes,
  number,
  instant,
  exactly,
  words,
} from "./dom.js";
import { chart, lanes } from "./draw.js";

const link = (run, ...path) => "#/" + [run, ...path].join("/");

// remember keeps values of a view in its address, without those that are empty or usual, so that a link to the page and
// the browser's way back show the same.
function remember(c, values, usual = {}) {
  for (const [k, v] of Object.entries(values))
    if (v == null || v === "" || v === usual[k]) c.query.delete(k);
    else c.query.set(k, v);
  history.replaceState(null, "", address(c));
}

// address is where a view is, with the values that it remembers.
const address = (c) => link(c.run, c.view, ...(c.id ? [c.id] : [])) + (c.query.size ? "?" + c.query : "");

// listed returns the values that a list is asked for with, those of the address or else the usual ones, and a function
// that sets some of them, keeps them in the address, and shows the list anew from its first row.
function listed(c, usual, again) {
  const p = { ...usual, offset: 0 };
  for (const k of Object.keys(p)) if (c.query.has(k)) p[k] = k === "offset" ? +c.query.get(k) : c.query.get(k);
  return [
    p,
    (values) => {
      Object.assign(p, { offset: 0 }, values);
      remember(c, p, { ...usual, offset: 0 });
      return again();
    },
  ];
}

// questions counts what lists were asked for. An answer that comes after a later question is not shown, or a live page
// could undo what the reader has chosen.
let questions = 0;

// rowsShown is how many rows of a list are shown at a time.
const rowsShown = 50;

// bins returns the middle of each bin of a curve, so that the curve is drawn where its averages are.
const bins = (values, width, now) => values.map((_, i) => Math.min((i + 0.5) * width, now));

const meter = (value, mark, behind) =>
  h(
    "div",
    { class: "meter", role: "img", "aria-label": percent(value) },
    behind > value && h("u", { style: { left: "0", width: 100 * Math.min(1, behind) + "%" } }),
    h("i", { style: { width: 100 * Math.min(1, value) + "%" } }),
    mark != null && h("b", { style: { left: `calc(${100 * Math.min(1, mark)}% - 1px)` } }),
  );

// hint writes a problem where the content would be.
const hint = (e) => h("p", { class: "empty" }, e.message || String(e));

// lastInstant is what the last instant of a run is called, of which the figures are that name no other.
const lastInstant = (c) => (c.live() ? "now" : "the end");

// asOf says of which instant the figures of a view are.
const asOf = (c, s) => h("span", { class: "soft" }, `${c.live() ? "now" : "at the end"}, ${at(s)}`);

const spread = (s) => (s ? `p50 ${time(s.p50)} · p95 ${time(s.p95)} · max ${time(s.max)}` : "no job has succeeded yet");

// ranOver makes what shows the attempts over time in a place, of the nodes that a call asks for. A stretch that is
// dragged is shown alone until the button leads back.
function ranOver(c, place, title) {
  let window = [0, 0],
    asked = 0;
  const picture = async (which) => {
    const mine = ++asked,
      d = await get(`/runs/${c.run}/lanes`, { from: window[0], until: window[1] || "", columns: 320, ...which });
    if (mine !== asked) return; // the stretch has changed since
    const zoom = (a, b) => {
      window = [a, b];
      return picture(which);
    };
    show(
      place,
      h(
        "h2",
        {},
        title + " ",
        window[1] > 0 && h("button", { type: "button", onclick: () => zoom(0, 0) }, "whole run"),
        h("span", { class: "soft" }, frozen ? "" : " drag to zoom, click an attempt to see its job"),
      ),
      lanes({
        title: d.bars ? "Attempts" : "Running attempts",
        data: d,
        last: lastInstant(c),
        zoom: frozen ? null : zoom,
        click: (b) => {
          location.hash = link(c.run, "jobs", b.job);
        },
      }),
    );
  };
  return picture;
}

// cluster shows the whole cluster.
export function cluster(main, c) {
  const title = h("h1", {}, "Cluster"),
    tiles = h("div", { class: "tiles" }),
    charts = h("div", { class: "charts" }),
    gantt = h("div");
  show(main, title, tiles, words("sojourn time", "wait"), charts, gantt);
  const picture = ranOver(c, gantt, "Nodes over time");
  return async () => {
    const d = await get(`/runs/${c.run}/cluster`);
    const average = (k) => {
      const all = k.used_over.reduce((a, u) => a + u, 0),
        had = k.capacity_over.reduce((a, u) => a + u, 0);
      return had ? all / had : 0;
    };
    show(title, "Cluster ", asOf(c, d.now_s));
    show(
      tiles,
      d.kinds.map((k) =>
        h(
          "div",
          { class: "tile" },
          h("div", { class: "what" }, k.kind),
          h("div", { class: "value" }, percent(k.capacity ? k.used / k.capacity : 0)),
          meter(k.capacity ? k.used / k.capacity : 0),
          h(
            "div",
            { class: "more" },
            `${amount(k.kind, k.used)} of ${amount(k.kind, k.capacity)}, ` +
              `${amount(k.kind, Math.max(0, k.capacity - k.used))} free; ${percent(average(k))} on average`,
          ),
        ),
      ),
      tile("jobs unfinished", count(d.jobs_now), count(d.waiting_now) + " of them not started"),
      tile(
        "jobs ended",
        count(d.jobs_ended),
        d.jobs_failed ? h("span", { class: "bad" }, count(d.jobs_failed) + " without success") : "all with success",
      ),
      tile("attempts running", count(d.running_now), count(d.pending_now) + " tasks wait"),
      tile(
        "nodes",
        count(d.nodes),
        d.nodes_lost ? h("span", { class: "bad" }, count(d.nodes_lost) + " lost") : "none lost",
      ),
      tile("mean sojourn time", d.sojourn_s ? time(d.sojourn_s.mean) : "–", spread(d.sojourn_s)),
      tile("mean wait", d.wait_s ? time(d.wait_s.mean) : "–", spread(d.wait_s)),
    );
    const x = bins(d.jobs, d.bin_s, d.now_s);
    const part = (k) => k.used_over.map((u, i) => (k.capacity_over[i] ? u / k.capacity_over[i] : 0));
    show(
      charts,
      chart({
        title: "Utilisation",
        most: 1,
        write: percent,
        lines: d.kinds.map((k) => ({ name: k.kind, x, y: part(k) })),
      }),
      chart({
        title: "Tasks",
        write: count,
        lines: [
          { name: "running", x, y: d.running },
          { name: "waiting", x, y: d.pending },
        ],
      }),
      chart({
        title: "Jobs",
        write: number,
        lines: [
          { name: "unfinished", x, y: d.jobs },
          { name: "not started", x, y: d.waiting },
        ],
      }),
    );
    await picture({ lanes: 60 });
  };
}

const measures = {
  used: ["used, part of the cluster", (q) => q.used_over, percent],
  demand: ["demand, part of the cluster (used and asked for)", (q) => q.demand_over, percent],
  owed: ["owed: lent and not got back, in time of the whole cluster", (q) => q.owed_over, signed],
};

const owing = (s) => (Math.abs(s) < 0.05 ? "–" : s > 0 ? "is owed " + time(s) : "owes " + time(-s));

// chosen are the instants that views are of, by run: those of queues, nodes and jobs follow the same one; null: now. A
// run without one has that at which the page opens.
const chosen = new Map();
let opened = null;

// opensAt sets the instant at which the page opens; null: now.
export const opensAt = (t) => {
  opened = t;
};

// momentOf returns the instant that views of a run are of; null: now.
const momentOf = (run) => (chosen.has(run) ? chosen.get(run) : opened);

// inAddress takes over the instant that the address of a view names, and returns it; NaN: it names none.
function inAddress(c) {
  const said = instant(c.query.get("at") || "");
  if (!Number.isNaN(said)) chosen.set(c.run, said);
  return said;
}

// moment makes a field and a slider for that instant; again shows the table anew.
function moment(c, again) {
  const said = inAddress(c);
  if (Number.isNaN(said) && momentOf(c.run) != null) remember(c, { at: at(momentOf(c.run)) });
  let until = 0,
    busy = false,
    more = false;
  const field = h("input", {
    id: "at",
    placeholder: lastInstant(c),
    title: `12h, 1h30m, or seconds; empty: ${lastInstant(c)}`,
    "aria-label": "instant that the table is of",
    style: { width: "8em" },
    onchange: () => choose(field.value.trim() ? instant(field.value) : null),
  });
  const slider = h("input", {
    id: "slide",
    type: "range",
    min: 0,
    max: 1000,
    "aria-label": "instant from the beginning to " + lastInstant(c),
    oninput: () => choose(slider.value < 1000 ? (slider.value / 1000) * until : null),
  });
  const note = h("span", { class: "soft", role: "status" });
  const write = () => {
    const t = momentOf(c.run);
    field.value = t == null ? "" : at(t);
    slider.value = t == null || !until ? 1000 : (1000 * t) / until;
  };
  const choose = async (t) => {
    if (Number.isNaN(t))
      return show(note, h("span", { class: "bad" }, "An instant is such as 12h, 1h30m, or a number of seconds."));
    chosen.set(c.run, t);
    remember(c, { at: t == null ? "" : at(t) });
    write();
    more = true;
    if (busy) return;
    busy = true;
    try {
      while (more) {
        more = false;
        await again();
      }
    } catch (e) {
      show(note, h("span", { class: "bad" }, e.message));
    }
    busy = false;
  };
  return {
    row: h("div", { class: "filters" }, h("label", {}, "at ", field), slider, note),
    get at() {
      return momentOf(c.run) ?? "";
    },
    shown: (now, text) => {
      if (until !== now) {
        until = now;
        write();
      }
      show(note, text);
    },
  };
}

// queueKeys are what the queues below a queue are sorted by.
const queueKeys = {
  queue: (q) => q.queue,
  used: (q) => q.used,
  mean: (q) => q.used_mean,
  share: (q) => q.share,
  demand: (q) => q.demand,
  asked: (q) => q.demand_mean,
  balance: (q) => q.owed_s,
  jobs: (q) => q.jobs,
  running: (q) => q.running,
  waiting: (q) => q.pending,
};

// sortTree sorts the queues below each queue by a column; those below a queue stay right after it. Equal ones stay in
// the order of their names.
function sortTree(rows, sort) {
  const down = sort.startsWith("-"),
    key = queueKeys[down ? sort.slice(1) : sort],
    top = [],
    open = [];
  if (!key) throw new Error(`sort=${sort}: must be one of ${Object.keys(queueKeys).sort().join(", ")}`);
  for (const q of rows) {
    // parents come before their children
    const n = { q, below: [] };
    (open[q.depth - 1]?.below ?? top).push(n);
    open[q.depth] = n;
  }
  const by = ({ q: a }, { q: b }) => {
    const x = key(a),
      y = key(b);
    return (x < y ? -1 : x > y ? 1 : 0) * (down ? -1 : 1);
  };
  const flat = (list) =>
    list
      .sort(by)
      .flatMap((n) => [n.q, flat(n.below)])
      .flat();
  return flat(top);
}

// queues shows the tree of queues.
export function queues(main, c) {
  const list = h("div"),
    drawn = h("div"),
    pick = h(
      "select",
      { "aria-label": "what is drawn", onchange: () => again() },
      Object.entries(measures).map(([k, m]) => h("option", { value: k }, m[0])),
    );
  const when = moment(c, () => again()),
    [p, change] = listed(c, { sort: "queue" }, () => again());
  show(
    main,
    h("h1", {}, "Queues"),
    when.row,
    list,
    words("used", "share", "demand", "lent", "owed"),
    h("h2", {}, "Over time ", pick),
    drawn,
  );
  let again = async () => {
    const mine = ++questions,
      d = await get(`/runs/${c.run}/queues`, { at: when.at }),
      [title, of, write] = measures[pick.value];
    if (mine !== questions) return;
    when.shown(d.now_s, d.at_s < d.now_s ? `means of ${time(d.bin_s)} around ${at(d.at_s)}` : asOf(c, d.now_s));
    show(
      list,
      table(
        [
          {
            name: "queue",
            sort: "queue",
            class: "name",
            cell: (q) =>
              h(
                "a",
                {
                  href:
                    link(c.run, "jobs") +
                    "?queue=" +
                    encodeURIComponent(q.depth ? q.queue : "") +
                    (when.at === "" ? "" : "&at=" + at(when.at)),
                  style: { "padding-left": 1.2 * q.depth + "em" },
                },
                q.queue || "root",
                q.gone ? " (gone)" : "",
              ),
          },
          {
            name: "used",
            sort: "used",
            down: true,
            title: "of the cluster; behind it the demand; the line is the share by weight",
            cell: (q) =>
              h("div", { class: "metered" }, meter(q.used, q.share, q.demand), h("span", {}, percent(q.used))),
          },
          {
            name: "mean used",
            sort: "mean",
            down: true,
            right: true,
            title: "since the run began",
            cell: (q) => percent(q.used_mean),
          },
          { name: "share", sort: "share", down: true, right: true, cell: (q) => percent(q.share) },
          { name: "demand", sort: "demand", down: true, right: true, cell: (q) => percent(q.demand) },
          {
            name: "mean demand",
            sort: "asked",
            down: true,
            right: true,
            wide: true,
            title: "since the run began",
            cell: (q) => percent(q.demand_mean),
          },
          {
            name: "balance",
            sort: "balance",
            down: true,
            right: true,
            title: meaning("owed") + "; in time of the whole cluster; of a queue with others below it: their sum",
            cell: (q) => owing(q.owed_s),
          },
          { name: "jobs", sort: "jobs", down: true, right: true, title: "unfinished", cell: (q) => count(q.jobs) },
          {
            name: "running",
            sort: "running",
            down: true,
            right: true,
            title: "attempts that run",
            cell: (q) => count(q.running),
          },
          {
            name: "waiting",
            sort: "waiting",
            down: true,
            right: true,
            title: "tasks that wait",
            cell: (q) => count(q.pending),
          },
          ...[
            ["minimum", "min"],
            ["maximum", "max"],
          ]
            .filter(([, k]) => d.queues.some((q) => q.depth && q[k]))
            .map(([name, k]) => ({ name, wide: true, cell: (q) => (q.depth ? amounts(q[k]) : "") })),
        ],
        sortTree(d.queues, p.sort),
        p.sort,
        (s) => change({ sort: s }),
        "queues",
      ),
      d.left > 0 && h("p", { class: "soft" }, `${count(d.left)} more queues are not shown.`),
    );
    const leaves = d.queues
      .filter((q) => q.leaf)
      .map((q) => [q, Math.max(0, ...of(q).map(Math.abs))])
      .sort((a, b) => b[1] - a[1])
      .slice(0, 12)
      .map(([q]) => q)
      .sort((a, b) => (a.queue < b.queue ? -1 : 1));
    show(
      drawn,
      chart({
        title,
        write,
        height: 300,
        most: pick.value === "used" ? 1 : null,
        lines: leaves.map((q) => ({ name: q.queue, x: bins(of(q), d.bin_s, d.now_s), y: of(q) })),
      }),
      leaves.length < d.queues.filter((q) => q.leaf).length &&
        h("p", { class: "soft" }, "The twelve queues with the largest values are drawn."),
    );
  };
  return () => again();
}

const state = (s) => h("span", { class: "state " + s }, s);

const progress = (j) => (j.tasks < 0 ? count(j.done) + " done" : count(j.done) + " / " + count(j.tasks));

const range = (j) => at(j.expected.end_low_s) + " to " + at(j.expected.end_high_s);

const foreseen = (j) =>
  j.expected.end_s == null ? "" : [at(j.expected.end_s), h("span", { class: "soft" }, " " + range(j))];

// expectation says when a job is expected to start and to end.
const expectation = (j) => [
  j.expected.start_s != null && tile("expected start", at(j.expected.start_s), "of the first task"),
  j.expected.end_s != null
    ? tile("expected end", at(j.expected.end_s), `nine of ten: ${range(j)}`)
    : j.expected.unknown && tile("expected end", "not known", j.expected.unknown),
];

// lateness says how a job stands to its deadline.
const lateness = (j) =>
  j.figures.late_s > 0
    ? h("span", { class: "bad" }, time(j.figures.late_s) + " late")
    : time(-j.figures.late_s) + (j.end_s == null ? " left" : " before it");

// totals says in a line what is true of all jobs that a filter allows.
const totals = (d) =>
  h(
    "p",
    { class: "soft", id: "totals" },
    numbered(d.total, "job"),
    d.sojourn_s && ` · sojourn: mean ${time(d.sojourn_s.mean)}, ${spread(d.sojourn_s)}`,
    d.wait_s && ` · wait: mean ${time(d.wait_s.mean)}, ${spread(d.wait_s)}`,
    d.service_s > 0 && ` · received ${time(d.service_s)} of the whole cluster`,
  );

// jobs shows the list of jobs.
export function jobs(main, c) {
  const [p, change] = listed(c, { q: "", queue: "", user: "", state: "", at: "", sort: "job" }, () => again());
  const list = h("div"),
    choices = {
      queue: h("select", { "aria-label": "queue" }),
      user: h("select", { "aria-label": "user" }),
      state: h(
        "select",
        { "aria-label": "state" },
        ["", "unfinished", "waiting", "stalled", "running", "done", "failed", "killed"].map((s) =>
          h("option", { value: s }, s || "any state"),
        ),
      ),
    };
  const text = h("input", {
    type: "search",
    placeholder: "name, user, queue or number  (/)",
    "aria-label": "search",
    value: p.q,
  });
  searching(text, change);
  const there = h("input", {
    id: "there",
    placeholder: "there at",
    title: "jobs that were there at an instant, submitted and not ended: 12h, 1h30m, or seconds",
    "aria-label": "there at an instant",
    value: p.at,
    style: { width: "6em" },
    onchange: () => change({ at: there.value.trim() }),
  });
  for (const [k, e] of Object.entries(choices)) e.addEventListener("change", () => change({ [k]: e.value }));
  choices.state.value = p.state;
  const sums = h("div");
  show(
    main,
    h("h1", {}, "Jobs"),
    h("div", { class: "filters" }, text, Object.values(choices), there),
    sums,
    list,
    words("sojourn time", "wait", "idle", "slowdown", "received"),
  );
  const fill = (e, name, values, chosen) => {
    const all = [...new Set([...values.filter(Boolean), ...(chosen ? [chosen] : [])])];
    if (e.options.length === all.length + 1 && all.every((v, i) => e.options[i + 1].value === v)) return;
    show(
      e,
      h("option", { value: "" }, "any " + name),
      all.map((v) => h("option", { value: v }, v)),
    );
    e.value = chosen;
  };
  let again = async () => {
    const then = p.at && instant(p.at);
    if (Number.isNaN(then))
      return show(sums, hint(new Error("An instant is such as 12h, 1h30m, or a number of seconds.")));
    const mine = ++questions,
      d = await get(`/runs/${c.run}/jobs`, { ...p, at: then, limit: rowsShown });
    if (mine !== questions) return;
    fill(choices.queue, "queue", d.queues, p.queue);
    fill(choices.user, "user", d.users, p.user);
    const any = (has) => d.rows.some(has);
    show(sums, totals(d));
    show(
      list,
      table(
        [
          { name: "job", sort: "job", right: true, cell: (j) => h("a", { href: link(c.run, "jobs", j.job) }, j.job) },
          {
            name: "name",
            sort: "name",
            class: "name",
            full: (j) => j.name,
            cell: (j) =>
              j.hidden
                ? h("span", { class: "soft", title: "you may not look at it" }, "hidden")
                : h("a", { href: link(c.run, "jobs", j.job) }, j.name || "–"),
          },
          { name: "state", sort: "state", cell: (j) => state(j.state) },
          { name: "queue", sort: "queue", wide: true, class: "name", cell: (j) => j.queue },
          { name: "user", sort: "user", wide: true, class: "name", cell: (j) => j.user },
          { name: "submitted", sort: "submit", wide: true, right: true, cell: (j) => at(j.submit_s) },
          { name: "wait", sort: "wait", down: true, right: true, cell: (j) => time(j.wait_s) },
          { name: "idle", sort: "idle", down: true, right: true, wide: true, cell: (j) => time(j.figures.idle_s) },
          { name: "sojourn", sort: "sojourn", down: true, right: true, cell: (j) => time(j.sojourn_s) },
          ...(any((j) => j.figures.slowdown != null) || p.sort.endsWith("slowdown")
            ? [
                {
                  name: "slowdown",
                  sort: "slowdown",
                  down: true,
                  right: true,
                  cell: (j) => (j.figures.slowdown == null ? "" : number(j.figures.slowdown)),
                },
              ]
            : []),
          ...(any((j) => j.deadline_s != null) || p.sort.endsWith("late")
            ? [
                {
                  name: "deadline",
                  sort: "late",
                  down: true,
                  right: true,
                  wide: true,
                  title: "how the job stands to its deadline: the latest first",
                  cell: (j) => (j.deadline_s == null ? "" : lateness(j)),
                },
              ]
            : []),
          ...(any((j) => j.end_s == null)
            ? [
                {
                  name: "expected start",
                  right: true,
                  wide: true,
                  title: "of the first task",
                  cell: (j) => (j.expected.start_s == null ? "" : at(j.expected.start_s)),
                },
                {
                  name: "expected end",
                  right: true,
                  title: "in the middle of what is likely, and where nine of ten ends lie",
                  cell: foreseen,
                },
              ]
            : []),
          { name: "tasks", sort: "tasks", down: true, right: true, cell: progress },
          ...(any((j) => j.end_s == null) || p.sort.endsWith("running")
            ? [
                {
                  name: "running",
                  sort: "running",
                  down: true,
                  right: true,
                  wide: true,
                  cell: (j) => (j.end_s == null ? count(j.running) : ""),
                },
              ]
            : []),
          ...(any((j) => j.figures.failed > 0) || p.sort.endsWith("failed")
            ? [
                {
                  name: "failed",
                  sort: "failed",
                  down: true,
                  right: true,
                  wide: true,
                  title: "attempts that failed, were killed, or went with their nodes",
                  cell: (j) => count(j.figures.failed),
                },
              ]
            : []),
          {
            name: "size",
            sort: "size",
            down: true,
            right: true,
            wide: true,
            title: "seconds of the whole cluster: received, or as estimated",
            cell: (j) => ((j.service_s ?? j.size_s) == null ? "?" : time(j.service_s ?? j.size_s)),
          },
          { name: "priority", sort: "priority", down: true, right: true, wide: true, cell: (j) => j.priority },
        ],
        d.rows,
        p.sort,
        (s) => change({ sort: s }),
        "jobs",
      ),
      d.total === 0 && h("p", { class: "empty" }, "No job matches."),
      pager(d, change),
    );
  };
  return () => again();
}

function pager(d, change) {
  return h(
    "div",
    { class: "pages" },
    h(
      "button",
      {
        type: "button",
        id: "before",
        disabled: d.offset === 0,
        onclick: () => change({ offset: Math.max(0, d.offset - rowsShown) }),
      },
      "◂ before",
    ),
    h(
      "span",
      {},
      d.total ? `${count(d.offset + 1)}–${count(Math.min(d.offset + rowsShown, d.total))} of ${count(d.total)}` : "0",
    ),
    h(
      "button",
      {
        type: "button",
        id: "after",
        disabled: d.offset + rowsShown >= d.total,
        onclick: () => change({ offset: d.offset + rowsShown }),
      },
      "after ▸",
    ),
  );
}

// searching asks for the list again when the reader has stopped typing.
function searching(field, change) {
  let typing = 0;
  field.addEventListener("input", () => {
    clearTimeout(typing);
    typing = setTimeout(() => change({ q: field.value }), 150);
  });
}

// job shows one job.
export function job(main, c) {
  const title = h("h1", {}, "Job " + c.id),
    tiles = h("div", { class: "tiles" }),
    doing = h("div"),
    why = h("div", { class: "why" }),
    stages = h("div"),
    gantt = h("div"),
    counters = h("div"),
    logs = h("div");
  const when = h("input", {
    "aria-label": "instant: 1h30m, 5m20s, or seconds",
    title: "1h30m, 5m20s, or seconds",
    style: { width: "9em" },
  });
  const asks = h(
    "div",
    {},
    h(
      "form",
      {
        onsubmit: (e) => {
          e.preventDefault();
          ask();
        },
      },
      h("h2", {}, "Why does it wait? ", h("label", {}, "at ", when, " "), h("button", {}, "ask")),
    ),
    why,
  );
  show(
    main,
    h("p", {}, h("a", { href: link(c.run, "jobs") }, "‹ jobs")),
    title,
    tiles,
    words("sojourn time", "wait", "idle", "slowdown", "received"),
    doing,
    asks,
    h("h2", {}, "Stages"),
    stages,
    gantt,
    counters,
    logs,
  );
  const said = inAddress(c);
  let names = null,
    asked = false,
    window = null,
    told = null; // the instant that the answer is of
  const explain = async (t) => {
    const mine = ++questions;
    told = t;
    show(why, h("p", { class: "soft" }, "reading the record …"));
    let answer;
    try {
      answer = explanation(c.run, await get(`/runs/${c.run}/jobs/${c.id}/why`, { at: t }));
    } catch (e) {
      answer = hint(e);
    }
    if (mine === questions) show(why, answer);
  };
  // ask asks at the instant of the field. The address takes it over, and the browser's way back leads to the one
  // before.
  const ask = () => {
    const t = told != null && when.value === at(told) ? told : instant(when.value); // the field may be rounded
    if (Number.isNaN(t))
      return show(why, hint(new Error("An instant is such as 1h30m, 5m20s, or a number of seconds.")));
    if (told != null && exactly(t) !== c.query.get("at")) {
      remember(c, { at: exactly(told) });
      c.query.set("at", exactly(t));
      history.pushState(null, "", address(c));
    }
    chosen.set(c.run, t);
    explain(t);
  };
  if (frozen) asks.hidden = true;
  const again = async () => {
    const d = await get(`/runs/${c.run}/jobs/${c.id}`);
    const end = d.end_s ?? d.now_s,
      longest = longestGap(d, end);
    show(title, `Job ${d.job} `, h("span", {}, d.name), " ", state(d.state));
    show(
      tiles,
      tile(
        "sojourn time",
        time(d.sojourn_s),
        d.end_s == null ? (c.live() ? "so far" : "not ended when the run did") : "ended at " + at(d.end_s),
      ),
      tile("wait", time(d.wait_s), d.start_s == null ? "not started" : "first attempt at " + at(d.start_s)),
      d.figures.idle_s > d.wait_s + 0.5e-3 &&
        tile(
          "idle",
          time(d.figures.idle_s),
          `nothing of it ran; the longest time from ${at(longest[0])} on, for ${time(longest[1] - longest[0])}`,
        ),
      tile("submitted", at(d.submit_s), `queue ${d.queue}${d.user ? ", user " + d.user : ""}, priority ${d.priority}`),
      tile("tasks", progress(d), d.end_s == null ? `${count(d.running)} run, ${count(d.pending)} wait` : ""),
      tile(
        "size",
        d.size_s == null ? "not known" : time(d.size_s),
        d.service_s == null ? "estimated, of the whole cluster" : "estimated; received " + time(d.service_s),
      ),
      expectation(d),
      d.figures.slowdown != null &&
        tile("slowdown", number(d.figures.slowdown), "sojourn time ÷ a lower bound of the time alone"),
      d.deadline_s != null && tile("deadline", at(d.deadline_s), lateness(d)),
    );
    const acts = c.acts() && d.end_s == null;
    // Not always, or what is being typed would go.
    if (acts !== doing.childElementCount > 0) show(doing, acts && actions(c, d, again));
    if (!asked) {
      asked = true;
      const t = momentOf(c.run); // which counts if the address names it, or if the job was there then
      const counts = t != null && (!Number.isNaN(said) || (t >= d.submit_s && t < (d.end_s ?? Infinity)));
      const first = counts ? t : d.end_s == null ? d.now_s : (longest[0] + longest[1]) / 2;
      when.value = at(first);
      asks.hidden = asks.hidden || !c.explains();
      if (!asks.hidden) {
        if (counts) remember(c, { at: exactly(first) });
        explain(first);
      }
    }
    const outcome = (s) =>
      [
        ["failed", s.failed],
        ["killed", s.killed],
        ["lost", s.lost],
        ["speculative", s.speculative],
      ]
        .filter(([, n]) => n)
        .map(([w, n]) => `${n} ${w}`)
        .join(", ") || "–";
    show(
      stages,
      table(
        [
          { name: "stage", cell: (s) => s.stage + " " + s.kind },
          { name: "tasks", right: true, cell: progress },
          {
            name: "running",
            right: true,
            cell: (s) => count(s.running) + (s.suspended ? " + " + s.suspended + " suspended" : ""),
          },
          { name: "a task takes", cell: (s) => amounts(s.per_task) },
          {
            name: "estimated",
            right: true,
            cell: (s) =>
              s.estimate_s ? time(s.estimate_s) + (s.estimate_stddev_s ? " ± " + time(s.estimate_stddev_s) : "") : "–",
          },
          { name: "measured", right: true, cell: (s) => (s.measured_s ? time(s.measured_s) : "–") },
          {
            name: "error",
            right: true,
            cell: (s) =>
              s.estimate_s && s.measured_s
                ? (s.estimate_s > s.measured_s ? "+" : "") + percent(s.estimate_s / s.measured_s - 1)
                : "–",
          },
          {
            name: "input near",
            wide: true,
            title: "node-local, rack-local, elsewhere",
            cell: (s) => (s.locality ? `${s.locality.node} node, ${s.locality.rack} rack, ${s.locality.off} off` : "–"),
          },
          { name: "other attempts", cell: outcome },
          { name: "from", right: true, cell: (s) => (s.start_s == null ? "–" : at(s.start_s)) },
          { name: "to", right: true, cell: (s) => (s.end_s == null ? "–" : at(s.end_s)) },
        ],
        d.stages || [],
        "",
        null,
        "stages",
      ),
    );
    draw(d, end);
    show(counters, d.counters && [h("h2", {}, "Counters"), count_(d.counters)]);
    if (!frozen) logged(logs, `/runs/${c.run}/jobs/${c.id}/logs`);
  };
  const draw = (d, end) => {
    const used = [...new Set(d.attempts.map((a) => a.node))].sort((a, b) => a - b),
      shown = used.slice(0, 200);
    const [from, until] = window || [d.submit_s, end > d.submit_s ? end : d.submit_s + 1];
    show(
      gantt,
      h(
        "h2",
        {},
        "Attempts by node ",
        window &&
          h(
            "button",
            {
              type: "button",
              onclick: () => {
                window = null;
                draw(d, end);
              },
            },
            "whole job",
          ),
      ),
      d.attempts.length === 0
        ? h("p", { class: "empty" }, "Nothing of it has run.")
        : lanes({
            title:
              `${numbered(d.attempts.length, "attempt")} on ${numbered(used.length, "node")}` +
              (d.figures.attempts > d.attempts.length ? ", earlier ones are not shown" : ""),
            data: {
              lanes: shown.map((n) => ({ node: n, name: c.node(n), nodes: 1 })),
              from_s: from,
              until_s: until,
              bars: d.attempts.filter((a) => shown.includes(a.node) && a.start_s < until && (a.end_s ?? end) > from),
            },
            names,
            last: lastInstant(c),
            zoom: (a, b) => {
              window = [a, b];
              draw(d, end);
            },
          }),
    );
  };
  return again;
}

// longestGap is the longest time in which nothing of a job ran, from its submission to its end, as far as its attempts
// are known.
function longestGap(d, end) {
  let until = d.figures.attempts > d.attempts.length ? (d.attempts[0]?.start_s ?? d.submit_s) : d.submit_s,
    best = [until, until];
  for (const a of [...d.attempts, { start_s: end }].sort((a, b) => a.start_s - b.start_s)) {
    if (a.start_s - until > best[1] - best[0]) best = [until, a.start_s];
    until = Math.max(until, a.end_s ?? end);
  }
  return best;
}

const count_ = (n) =>
  table(
    [
      { name: "counter", cell: (r) => r[0] },
      { name: "value", right: true, cell: (r) => r[1] },
    ],
    [
      ["input", bytes(n.input_bytes) + ", " + count(n.input_records) + " records"],
      ["output", bytes(n.output_bytes) + ", " + count(n.output_records) + " records"],
      ["read on the node / elsewhere", bytes(n.local_bytes) + " / " + bytes(n.remote_bytes)],
      ["spilled records", count(n.spilled_records)],
      ["processor time", time(n.cpu_s)],
      ...Object.entries(n.phases_s || {}).map(([k, v]) => ["time in phase " + k, time(v)]),
    ],
    "",
    null,
    "counters",
  );

// logged lists what programs wrote to standard error. An attempt that is opened is read then.
async function logged(to, path) {
  const d = await get(path),
    sum = JSON.stringify(d.logs);
  if (to.dataset.sum === sum) return;
  to.dataset.sum = sum;
  const open = new Set([...to.querySelectorAll("details[open]")].map((e) => e.dataset.attempt));
  if (!d.logs.length) return;
  show(
    to,
    h("h2", {}, "Logs"),
    d.logs.map((l) => {
      const text = h("pre", { class: "log" }),
        e = h(
          "details",
          { "data-attempt": l.attempt, open: open.has(l.attempt) },
          h("summary", {}, `${l.attempt}, ${bytes(l.bytes)}`),
          text,
        );
      e.addEventListener("toggle", async () => {
        if (e.open)
          try {
            text.textContent = (await get(`${path}/${l.attempt}`)).text;
          } catch (x) {
            text.textContent = x.message;
          }
      });
      return e;
    }),
  );
}

// foretold says what was expected at that instant, and what came.
function foretold({ since_s: since, outlook, start_s: start, end_s: end }) {
  const span = (what, s, came) =>
    s &&
    `${what} at ${at(since + s.p50_s)}, nine of ten between ${at(since + s.p5_s)} and ${at(since + s.p95_s)}` +
      (came ? `; it came at ${at(came)}` : "");
  return h(
    "p",
    {},
    "Expected then: " +
      ([span("first task", outlook.start, start), span("end", outlook.end, end)].filter(Boolean).join(". ") ||
        "not known, " + outlook.unknown) +
      ".",
  );
}

// explanation says in words why a job waits.
function explanation(run, x) {
  const job = (id, name) => [h("a", { href: link(run, "jobs", id) }, "job " + id), name ? " " + name : ""];
  const head =
    x.state === "ended"
      ? `It had ended at ${at(x.end_s)}, before ${at(x.at_s)}.`
      : x.state === "unfinished"
        ? `At ${at(x.at_s)}:`
        : `At ${at(x.at_s)}: ${x.state}.`;
  return [
    h("p", { class: "soft" }, head),
    (x.stages || []).map((s) =>
      h(
        "div",
        {},
        h(
          "p",
          {},
          h("span", { class: "reason" }, `${s.kind}: ${s.reason}`),
          ` – ${s.waiting} wait, ${s.running} run, ${s.done} are done`,
        ),
        s.reason !== "nothing waits" && h("p", {}, s.detail),
        s.wish && h("p", {}, "The policy's wish: " + s.wish),
        s.ahead > 0 &&
          h(
            "p",
            {},
            `${numbered(s.ahead, "stage")} ${s.ahead === 1 ? "comes" : "come"} first. Its place: ${s.key_words}`,
          ),
        (s.before || []).map((b) =>
          h("p", {}, "before it: ", job(b.stage.job, b.name), `, stage ${b.stage.index}: ${b.key_words}`),
        ),
        s.before?.length > 0 &&
          s.ahead > s.before.length &&
          h("p", {}, `and ${numbered(s.ahead - s.before.length, "stage")} more`),
        (s.holders || []).map((b) =>
          h("p", {}, "the room is held by ", job(b.job, b.name), ` with ${numbered(b.attempts, "attempt")}`),
        ),
      ),
    ),
    x.expected && foretold(x.expected),
    x.note && h("p", { class: "soft" }, x.note),
  ];
}

// actions are what a user may do to a job, each confirmed.
function actions(c, d, done) {
  const dialog = document.getElementById("dialog");
  const confirm = (text, body) => {
    const problem = h("p", { class: "bad", role: "alert" });
    show(
      dialog,
      h(
        "form",
        { method: "dialog" },
        h("p", {}, text),
        problem,
        h("button", { value: "no" }, "no"),
        " ",
        h(
          "button",
          {
            type: "button",
            id: "yes",
            onclick: async () => {
              try {
                await post(`/runs/${c.run}/jobs/${d.job}`, body);
                dialog.close();
                done();
              } catch (e) {
                show(problem, e.message);
              }
            },
          },
          "yes",
        ),
      ),
    );
    dialog.showModal();
  };
  const queue = h("input", { placeholder: "queue", "aria-label": "queue to move to" }),
    priority = h("input", {
      type: "number",
      step: 1,
      value: d.priority,
      "aria-label": "priority",
      style: { width: "6em" },
    });
  return h(
    "p",
    { class: "filters" },
    h(
      "button",
      { type: "button", id: "kill", onclick: () => confirm(`Kill job ${d.job} ${d.name}?`, { kill: true }) },
      "kill",
    ),
    queue,
    h(
      "button",
      {
        type: "button",
        onclick: () =>
          queue.value && confirm(`Move job ${d.job} ${d.name} to queue ${queue.value}?`, { queue: queue.value }),
      },
      "move",
    ),
    priority,
    h(
      "button",
      {
        type: "button",
        onclick: () =>
          confirm(`Give job ${d.job} ${d.name} priority ${priority.value}?`, { priority: Number(priority.value) }),
      },
      "set priority",
    ),
  );
}

// nodes shows the nodes.
export function nodes(main, c) {
  const [p, change] = listed(c, { q: "", sort: "node" }, () => again()),
    list = h("div"),
    gantt = h("div");
  const text = h("input", { type: "search", placeholder: "name or class  (/)", "aria-label": "search", value: p.q });
  searching(text, change);
  const when = moment(c, () => again());
  when.row.hidden = frozen; // a report has no table but the last
  const title = h("h1", {}, "Nodes");
  show(main, title, when.row, h("div", { class: "filters" }, text), list, words("idle"), gantt);
  const picture = ranOver(c, gantt, "What ran there");
  let again = async () => {
    const mine = ++questions,
      d = await get(`/runs/${c.run}/nodes`, { ...p, limit: rowsShown, at: frozen ? "" : when.at });
    if (mine !== questions) return;
    when.shown(
      d.now_s,
      d.at_s < d.now_s
        ? `what ran at ${at(d.at_s)}` + (d.forgotten ? ", as far as it is remembered" : "")
        : frozen
          ? ""
          : asOf(c, d.now_s),
    );
    if (frozen) show(title, "Nodes ", asOf(c, d.now_s));
    show(
      list,
      table(
        [
          {
            name: "node",
            sort: "node",
            right: true,
            cell: (n) => h("a", { href: link(c.run, "nodes", n.node) }, n.node),
          },
          {
            name: "name",
            sort: "name",
            class: "name",
            cell: (n) => [
              h("a", { href: link(c.run, "nodes", n.node) }, n.name),
              n.lost ? h("span", { class: "bad" }, " lost") : "",
            ],
          },
          { name: "class", sort: "class", wide: true, cell: (n) => n.class || "–" },
          { name: "rack", sort: "rack", wide: true, right: true, cell: (n) => n.rack },
          {
            name: "busy",
            sort: "busy",
            down: true,
            cell: (n) => h("div", { class: "metered" }, meter(n.busy), h("span", {}, percent(n.busy))),
          },
          {
            name: "mean busy",
            sort: "mean",
            down: true,
            right: true,
            title: "since the node joined",
            cell: (n) => percent(n.busy_mean),
          },
          {
            name: "idle",
            sort: "idle",
            down: true,
            right: true,
            title: "how long nothing ran there since the node joined",
            cell: (n) => time(n.idle_s),
          },
          { name: "used", title: "resources that attempts hold", cell: (n) => amounts(n.used) },
          { name: "capacity", wide: true, cell: (n) => amounts(n.capacity) },
          { name: "running", sort: "running", down: true, right: true, cell: (n) => count(n.running) },
          { name: "done", sort: "done", down: true, right: true, cell: (n) => count(n.done) },
          { name: "failed", sort: "failed", down: true, right: true, cell: (n) => count(n.failed) },
        ],
        d.rows,
        p.sort,
        (s) => change({ sort: s }),
        "nodes",
      ),
      pager(d, change),
    );
    if (d.rows.length)
      await picture({ lanes: 60, ...(p.sort === "node" && !p.q ? { offset: p.offset, nodes: rowsShown } : {}) });
  };
  return () => again();
}

// node shows one node.
export function node(main, c) {
  const title = h("h1", {}, "Node " + c.id),
    tiles = h("div", { class: "tiles" }),
    gantt = h("div");
  show(main, h("p", {}, h("a", { href: link(c.run, "nodes") }, "‹ nodes")), title, tiles, words("idle"), gantt);
  const picture = ranOver(c, gantt, "What ran there");
  return async () => {
    const n = await get(`/runs/${c.run}/nodes/${c.id}`);
    show(
      title,
      `Node ${n.node} `,
      h("span", {}, n.name),
      n.lost ? h("span", { class: "bad" }, " lost") : "",
      " ",
      asOf(c, c.now()),
    );
    show(
      tiles,
      h(
        "div",
        { class: "tile" },
        h("div", { class: "what" }, "busy"),
        h("div", { class: "value" }, percent(n.busy)),
        meter(n.busy),
        h(
          "div",
          { class: "more" },
          "used: " + amounts(n.used) + `; ${percent(n.busy_mean)} in the mean; nothing ran for ${time(n.idle_s)}`,
        ),
      ),
      tile("capacity", "", amounts(n.capacity)),
      tile("rack", n.rack, n.class ? "class " + n.class : ""),
      tile("attempts running", count(n.running)),
      tile("tasks done", count(n.done)),
      tile("attempts failed", n.failed ? h("span", { class: "bad" }, count(n.failed)) : "0"),
    );
    if (!frozen) await picture({ offset: c.id - 1, nodes: 1 });
  };
}

// heldFor names what a kind of resource was held for: the time for which one unit would have been, one GiB of memory.
const heldFor = (kind) =>
  ({ memory: ["GiB time", 1024] })[kind] || [kind.replaceAll("_", "-").replace(/s$/, "") + " time", 1];

// users shows the sums over the jobs of each user.
export function users(main, c) {
  const [p, change] = listed(c, { q: "", sort: "user" }, () => again()),
    list = h("div");
  const text = h("input", { type: "search", placeholder: "user  (/)", "aria-label": "search", value: p.q });
  searching(text, change);
  const title = h("h1", {}, "Users");
  show(main, title, h("div", { class: "filters" }, text), list, words("received", "sojourn time", "wait"));
  let again = async () => {
    const mine = ++questions,
      d = await get(`/runs/${c.run}/users`, { ...p, limit: rowsShown });
    if (mine !== questions) return;
    show(title, "Users ", asOf(c, d.now_s));
    const any = (has) => d.rows.some(has),
      going = any((u) => u.unfinished > 0);
    const kinds = [...new Set(d.rows.flatMap((u) => Object.keys(u.received)))];
    const whole = (name, key, title, more) => ({
      name,
      sort: key,
      down: true,
      right: true,
      title,
      cell: (u) => count(u[key]),
      ...more,
    });
    show(
      list,
      table(
        [
          {
            name: "user",
            sort: "user",
            class: "name",
            cell: (u) =>
              u.hidden
                ? h("span", { class: "soft", title: "you may not look at these jobs" }, "hidden")
                : u.user
                  ? h("a", { href: link(c.run, "jobs") + "?user=" + encodeURIComponent(u.user) }, u.user)
                  : h("span", { class: "soft", title: "jobs without a user" }, "–"),
          },
          whole("jobs", "jobs", "ended ones too"),
          ...(going || p.sort.endsWith("unfinished")
            ? [whole("unfinished", "unfinished", "jobs that have not ended")]
            : []),
          ...(going || p.sort.endsWith("waiting")
            ? [whole("not started", "waiting", "unfinished jobs without any attempt yet", { wide: true })]
            : []),
          ...(any((u) => u.failed > 0) || p.sort.endsWith("failed")
            ? [whole("failed", "failed", "jobs that ended without success")]
            : []),
          whole("running", "running", "attempts that run"),
          ...(going || p.sort.endsWith("pending")
            ? [whole("waiting", "pending", "tasks that wait", { wide: true })]
            : []),
          ...(going || p.sort.endsWith("used")
            ? [
                {
                  name: "used",
                  sort: "used",
                  down: true,
                  title: "resources that attempts hold; sorted by the dominant share",
                  cell: (u) => amounts(u.used),
                },
              ]
            : []),
          {
            name: "received",
            sort: "service",
            down: true,
            title:
              "by the jobs since the run began, in time of the whole cluster, and as a part of what all users have " +
              "received",
            cell: (u) =>
              h(
                "div",
                { class: "metered" },
                meter(d.service_s ? u.service_s / d.service_s : 0),
                h("span", {}, time(u.service_s)),
              ),
          },
          ...kinds.map((k) => ({
            name: heldFor(k)[0],
            sort: "received." + k,
            down: true,
            right: true,
            wide: true,
            title: "amount × time that the jobs have held: for how long one alone would have been held",
            cell: (u) => time((u.received[k] || 0) / heldFor(k)[1]),
          })),
          {
            name: "mean sojourn",
            sort: "sojourn",
            down: true,
            right: true,
            title: "of the jobs that succeeded",
            full: (u) => spread(u.sojourn_s),
            cell: (u) => time(u.sojourn_s?.mean),
          },
          {
            name: "mean wait",
            sort: "wait",
            down: true,
            right: true,
            title: "of the jobs that have started",
            full: (u) => u.wait_s && spread(u.wait_s),
            cell: (u) => time(u.wait_s?.mean),
          },
        ],
        d.rows,
        p.sort,
        (s) => change({ sort: s }),
        "users",
      ),
      d.total === 0 && h("p", { class: "empty" }, "No user matches."),
      pager(d, change),
    );
  };
  return () => again();
}

// policies shows runs side by side.
export function policies(main, c) {
  const [p, change] = listed(c, { q: "", sort: "-change" }, () => again()),
    figures = h("div"),
    charts = h("div", { class: "charts" }),
    list = h("div");
  const text = h("input", { type: "search", placeholder: "name or queue  (/)", "aria-label": "search", value: p.q });
  searching(text, change);
  show(
    main,
    h("h1", {}, "Policies"),
    figures,
    words("sojourn time", "wait", "slowdown"),
    charts,
    h("h2", {}, "Job by job"),
    h("div", { class: "filters" }, text),
    list,
  );
  let again = async () => {
    const mine = ++questions,
      d = await get("/compare", { ...p, limit: rowsShown }),
      runs = d.runs,
      first = runs[0];
    if (mine !== questions) return;
    const name = (r) => (runs.filter((o) => o.run.policy === r.run.policy).length > 1 ? r.run.name : r.run.policy);
    const alike = runs.filter((r) => r.common > 0),
      others = runs.filter((r) => first.common > 0 && r.sojourn_s && r.common === 0);
    const cell = (of, write) => (r) =>
      of(r) == null
        ? "–"
        : [
            alike.length > 1 && r.common > 0 && alike.every((o) => of(o) == null || of(o) >= of(r))
              ? h("span", { class: "good", title: "the best" }, "★ ")
              : "",
            write(of(r)),
          ];
    const column = (n, of, write = time, more) => ({ name: n, right: true, cell: cell(of, write), ...more });
    show(
      figures,
      table(
        [
          { name: "run", class: "name", cell: (r) => h("a", { href: link(r.run.id, "cluster") }, name(r)) },
          { name: "jobs", right: true, cell: (r) => count(r.run.jobs) },
          column("mean sojourn", (r) => r.sojourn_s?.mean),
          column("p50", (r) => r.sojourn_s?.p50),
          column("p95", (r) => r.sojourn_s?.p95),
          column("p99", (r) => r.sojourn_s?.p99),
          column("max", (r) => r.sojourn_s?.max),
          ...(runs.some((r) => r.slowdown) ? [column("mean slowdown", (r) => r.slowdown?.mean, number)] : []),
          column("mean wait", (r) => r.wait_s?.mean),
          {
            name: "jobs faster",
            right: true,
            title: "than in the first run",
            cell: (r) => (r === first ? "–" : count(r.faster)),
          },
          {
            name: "jobs slower",
            right: true,
            title: "than in the first run",
            cell: (r) => (r === first ? "–" : count(r.slower)),
          },
        ],
        runs,
        "",
        null,
        "runs",
      ),
      others.length
        ? h(
            "p",
            { class: "soft" },
            `${others.map(name).join(", ")}: no job in common with ${name(first)} by number and name. ` +
              "Runs of other workloads are not compared.",
          )
        : null,
    );
    const least = Math.min(...runs.flatMap((r) => r.times_s.filter((t) => t > 0).slice(0, 1))),
      most = Math.max(...runs.flatMap((r) => r.times_s.slice(-1)));
    const log = most > 50 * least;
    show(
      charts,
      chart({
        title: "Part of the jobs that took at most so long",
        log,
        most: 1,
        height: 260,
        steps: true,
        write: percent,
        lines: runs.map((r) => ({ name: name(r), x: r.times_s, y: r.parts, hold: most })),
      }),
      alike.length > 1
        ? chart({
            title: `Sojourn time of each job ÷ that under ${name(first)}, by part of the jobs`,
            along: percent,
            left: 0,
            right: 1,
            height: 260,
            write: (v) => (v < 0 ? "÷" + number(2 ** -v) : "×" + number(2 ** v)),
            least: Math.min(-1, ...runs.flatMap((r) => r.changes)),
            most: Math.max(1, ...runs.flatMap((r) => r.changes)),
            lines: runs.flatMap((r, i) =>
              i && r.common
                ? [{ name: name(r), tint: i, x: r.changes.map((_, k) => (k + 1) / r.changes.length), y: r.changes }]
                : [],
            ),
          })
        : null,
    );
    show(
      list,
      table(
        [
          {
            name: "job",
            sort: "job",
            right: true,
            cell: (j) => h("a", { href: link(first.run.id, "jobs", j.job) }, j.job),
          },
          { name: "name", class: "name", full: (j) => j.name, cell: (j) => j.name || "–" },
          { name: "queue", wide: true, class: "name", cell: (j) => j.queue },
          { name: "submitted", right: true, cell: (j) => at(j.submit_s) },
          ...(runs.length > 1
            ? [
                {
                  name: "largest difference",
                  right: true,
                  sort: "change",
                  down: true,
                  title: `from ${name(first)}, sorted by its size, longer or shorter`,
                  cell: (j) => difference(j.sojourn_s),
                },
              ]
            : []),
          ...runs.map((r, i) => ({
            name: name(r),
            right: true,
            sort: i > 0 ? "change." + i : "",
            down: true,
            title: i > 0 ? `sorted by the difference from ${name(first)}: longer first, or shorter first` : null,
            cell: (j) =>
              h(
                "a",
                { href: link(r.run.id, "jobs", j.job) },
                j.sojourn_s[i] < 0 ? "–" : time(j.sojourn_s[i]),
                i > 0 && j.sojourn_s[i] >= 0 && j.sojourn_s[0] > 0
                  ? h(
                      "span",
                      {
                        class:
                          j.sojourn_s[i] > j.sojourn_s[0] * 1.001
                            ? "bad"
                            : j.sojourn_s[i] < j.sojourn_s[0] / 1.001
                              ? "good"
                              : "soft",
                      },
                      "  " + ratio(j.sojourn_s[i] / j.sojourn_s[0]),
                    )
                  : "",
              ),
          })),
        ],
        d.rows,
        p.sort,
        (s) => change({ sort: s }),
        "job by job",
      ),
      pager(d, change),
    );
  };
  return () => again();
}

// difference writes the largest difference of a run from the first, with its sign.
function difference([first, ...others]) {
  const all = others
    .filter((s) => s >= 0)
    .map((s) => s - first)
    .sort((a, b) => Math.abs(b) - Math.abs(a));
  return all.length ? (all[0] > 0 ? "+" : "") + signed(all[0]) : "–";
}

const ratio = (x) =>
  x >= 2
    ? "×" + number(x)
    : x <= 0.5
      ? "÷" + number(1 / x)
      : (x >= 1 ? "+" : "−") + (100 * Math.abs(x - 1)).toFixed(0) + " %";
