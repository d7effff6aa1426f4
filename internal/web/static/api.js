// The REST interface, or the answers that a report carries within itself.

const prefix = "/api/v1";
const store = document.getElementById("answers");
export const frozen = store ? JSON.parse(store.textContent) : null;

// visitor is the name that the user gave, where the browser lets the page keep it.
export const visitor = () => {
  try {
    return localStorage.getItem("user") || "";
  } catch {
    return "";
  }
};

// get asks for an answer. Parameters that are empty are left out.
export async function get(path, params = {}) {
  if (frozen) return fromReport(path, params);
  const query = new URLSearchParams(visitor() && { "user.name": visitor() });
  for (const [name, value] of Object.entries(params)) if (value !== "" && value != null) query.set(name, value);
  const reply = await fetch(prefix + path + (query.size ? "?" + query : ""));
  const body = await reply.json();
  if (!reply.ok) throw new Error(body.error);
  return body;
}

// post sends a change of a user, with the token that only this page can know.
export async function post(path, body) {
  const session = await get("/session");
  const reply = await fetch(prefix + path + "?" + new URLSearchParams({ "user.name": visitor() }), {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-Sojourn-Token": session.token || "" },
    body: JSON.stringify(body),
  });
  const answer = await reply.json();
  if (!reply.ok) throw new Error(answer.error);
  return answer;
}

// follow calls back whenever runs have changed. Only a page that can be seen holds a connection: browsers open at most
// six to a server, which six pages in the background would use up.
export function follow(changed, lost) {
  if (frozen) return;
  let stream = null;
  const stop = () => {
    stream?.close();
    stream = null;
  };
  const start = () => {
    if (stream || document.hidden) return;
    stream = new EventSource(prefix + "/changes");
    stream.onmessage = (e) => changed(JSON.parse(e.data).versions);
    stream.onerror = () => lost();
  };
  document.addEventListener("visibilitychange", () => (document.hidden ? stop() : start()));
  addEventListener("pagehide", stop);
  addEventListener("pageshow", start);
  start();
}

const jobKey = {
  job: (j) => j.job,
  name: (j) => j.name,
  user: (j) => j.user,
  queue: (j) => j.queue,
  state: (j) => j.state,
  submit: (j) => j.submit_s,
  sojourn: (j) => j.sojourn_s,
  wait: (j) => j.wait_s,
  tasks: (j) => j.tasks,
  running: (j) => j.running,
  size: (j) => j.service_s ?? j.size_s ?? -1,
  priority: (j) => j.priority,
  slowdown: (j) => j.figures.slowdown ?? 0,
  failed: (j) => j.figures.failed,
  idle: (j) => j.figures.idle_s,
  late: (j) => j.figures.late_s ?? -Infinity,
};
const nodeKey = {
  node: (n) => n.node,
  name: (n) => n.name,
  class: (n) => n.class || "",
  rack: (n) => n.rack,
  busy: (n) => n.busy,
  running: (n) => n.running,
  done: (n) => n.done,
  failed: (n) => n.failed,
  mean: (n) => n.busy_mean,
  idle: (n) => n.idle_s,
};
const userKey = {
  user: (u) => u.user,
  jobs: (u) => u.jobs,
  unfinished: (u) => u.unfinished,
  waiting: (u) => u.waiting,
  failed: (u) => u.failed,
  running: (u) => u.running,
  pending: (u) => u.pending,
  service: (u) => u.service_s,
  sojourn: (u) => u.sojourn_s?.mean ?? -1,
  wait: (u) => u.wait_s?.mean ?? -1,
};
const userKeys = (rows, capacity) => ({
  ...userKey,
  used: (u) => Math.max(0, ...Object.entries(u.used).map(([k, n]) => n / capacity[k])),
  ...Object.fromEntries(
    rows.flatMap((u) => Object.keys(u.received)).map((k) => ["received." + k, (u) => u.received[k] || 0]),
  ),
});
const changeKey = {
  job: (d) => d.job,
  change: (d) => Math.max(...d.sojourn_s.slice(1).map((s) => (s < 0 ? 0 : Math.abs(s - d.sojourn_s[0])))),
  loss: (d) => Math.max(...d.sojourn_s.slice(1).map((s) => (s < 0 ? -Infinity : s - d.sojourn_s[0]))),
};
const changeKeys = (runs, down) => ({
  ...changeKey,
  ...Object.fromEntries(
    Array.from({ length: runs - 1 }, (_, i) => [
      "change." + (i + 1),
      (d) => (d.sojourn_s[i + 1] < 0 ? (down ? -Infinity : Infinity) : d.sojourn_s[i + 1] - d.sojourn_s[0]),
    ]),
  ),
});

// fromReport answers as a server would, from what the report holds.
function fromReport(path, params) {
  const whole = frozen[path];
  const [, run, number] = path.match(/^\/runs\/(\d+)\/nodes\/(\d+)$/) || [];
  if (number) {
    const row = frozen[`/runs/${run}/nodes`].rows.find((n) => n.node === Number(number));
    if (!row) throw new Error(`Node ${number} is not in this run.`);
    return row;
  }
  if (!whole) throw new Error("This report does not hold that: “sojourn record serve” shows everything.");
  if (path.endsWith("/queues") && Number.isFinite(params.at) && params.at < whole.now_s)
    return queuesAt(whole, params.at);
  if (path.endsWith("/jobs")) {
    const keep = keepsJob(params);
    return { ...part(whole, params, jobKey, "job", keep), ...sumsOf(whole.rows.filter(keep)) };
  }
  if (path.endsWith("/nodes")) {
    const text = (params.q || "").toLowerCase();
    return part(whole, params, nodeKey, "node", (n) => (n.name + "\n" + (n.class || "")).toLowerCase().includes(text));
  }
  if (path.endsWith("/users")) {
    const text = (params.q || "").toLowerCase();
    const capacity = Object.fromEntries(
      frozen[path.replace("/users", "/cluster")].kinds.map((k) => [k.kind.replaceAll("-", "_"), k.capacity]),
    );
    return part(whole, params, userKeys(whole.rows, capacity), "user", (u) => u.user.toLowerCase().includes(text));
  }
  if (path === "/compare") {
    const text = (params.q || "").toLowerCase();
    return part(whole, params, changeKeys(whole.runs.length, (params.sort || "").startsWith("-")), "-change", (d) =>
      (d.name + "\n" + d.queue).toLowerCase().includes(text),
    );
  }
  return whole;
}

// queuesAt tells the queues of an instant from their curves, which do not count jobs and tasks.
function queuesAt(whole, at) {
  const bin = Math.floor(at / whole.bin_s),
    of = (curve) => curve[Math.min(bin, curve.length - 1)] || 0;
  return {
    ...whole,
    at_s: at,
    queues: whole.queues.map((q) => ({
      ...q,
      used: of(q.used_over),
      demand: of(q.demand_over),
      owed_s: of(q.owed_over),
      jobs: -1,
      running: -1,
      pending: -1,
    })),
  };
}

function keepsJob(p) {
  const text = (p.q || "").toLowerCase();
  return (j) =>
    (!p.queue || j.queue === p.queue || j.queue.startsWith(p.queue + ".")) &&
    (!p.user || j.user === p.user) &&
    (p.at === "" || p.at == null || (j.submit_s <= p.at && (j.end_s == null || j.end_s > p.at))) &&
    (!p.state || j.state === p.state || (p.state === "unfinished" && j.end_s == null)) &&
    ([j.name, j.user, j.queue].some((s) => s.toLowerCase().includes(text)) || String(j.job) === text);
}

// sumsOf describes jobs as a server does.
function sumsOf(jobs) {
  return {
    sojourn_s: spreadOf(jobs.filter((j) => j.state === "done").map((j) => j.sojourn_s)),
    wait_s: spreadOf(jobs.filter((j) => j.start_s != null).map((j) => j.wait_s)),
    service_s: jobs.reduce((sum, j) => sum + (j.service_s || 0), 0),
  };
}

function spreadOf(values) {
  const n = values.length,
    rank = (percent) => values[Math.max(0, Math.ceil((n * percent) / 100) - 1)];
  if (!n) return undefined;
  values.sort((a, b) => a - b);
  return {
    jobs: n,
    mean: values.reduce((sum, v) => sum + v, 0) / n,
    p50: rank(50),
    p95: rank(95),
    p99: rank(99),
    max: values[n - 1],
  };
}

// part sorts, filters and cuts a list.
function part(whole, params, keys, usual, keep) {
  const sort = params.sort || usual,
    down = sort.startsWith("-"),
    key = keys[down ? sort.slice(1) : sort];
  const rows = whole.rows.filter(keep).sort((a, b) => {
    const x = key(a),
      y = key(b),
      by = x < y ? -1 : x > y ? 1 : 0;
    return down ? -by : by;
  });
  const offset = params.offset || 0;
  return { ...whole, total: rows.length, offset, rows: rows.slice(offset, offset + (params.limit || 100)) };
}
