// draw.js - elements, tables, times and amounts for all pages
//
// Text is always set as text: no data of the cluster is parsed as markup.

export const el = (name, attributes = {}, ...children) => fill(document.createElement(name), attributes, children);
export const svg = (name, attributes = {}, ...children) =>
  fill(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);

const fill = (node, attributes, children) => {
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (value === true) node.setAttribute(key, "");
    else if (value !== false && value !== undefined && value !== null) node.setAttribute(key, value);
  }
  node.append(...children.flat(9).filter((c) => c !== null && c !== undefined && c !== false));
  return node;
};

export const link = (href, text) => el("a", { href }, text);
export const pathOf = (page, ...parts) => `#/${[page, ...parts.map(encodeURIComponent)].join("/")}`;

// ---- time ----

export const msOf = (text) => (text ? Date.parse(text) : NaN);

// As kubectl prints ages: 45s, 3m20s, 5h, 3d4h.
export const span = (ms) => {
  const s = Math.max(0, Math.floor(ms / 1000)), m = Math.floor(s / 60), h = Math.floor(m / 60), d = Math.floor(h / 24);
  const two = (a, x, b, y) => (b ? `${a}${x}${b}${y}` : `${a}${x}`);
  if (s < 120) return `${s}s`;
  if (m < 10) return two(m, "m", s % 60, "s");
  if (h < 3) return `${m}m`;
  if (h < 8) return two(h, "h", m % 60, "m");
  if (h < 48) return `${h}h`;
  return d < 8 ? two(d, "d", h % 24, "h") : `${d}d`;
};
export const age = (text) => {
  const ms = msOf(text);
  return Number.isNaN(ms) ? "" : el("time", { datetime: text, title: new Date(ms).toLocaleString() }, span(Date.now() - ms));
};

export const tick = () => {
  for (const t of document.querySelectorAll("time[datetime]")) {
    const text = span(Date.now() - msOf(t.dateTime));
    if (t.textContent !== text) t.textContent = text;
  }
};

// ---- amounts ----

const scales = { n: 1e-9, u: 1e-6, m: 1e-3, "": 1, k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15, E: 1e18,
  Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40, Pi: 2 ** 50, Ei: 2 ** 60 };
export const amount = (text) => {
  const parts = /^([+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?)([a-zA-Z]*)$/.exec(String(text ?? "0"));
  return parts ? Number(parts[1]) * (scales[parts[2]] ?? NaN) : NaN;
};
export const isBytes = (resource) => /memory|storage|hugepages/.test(resource);
export const amountText = (resource, n) => {
  if (!isBytes(resource)) return String(Math.round(n * 1000) / 1000);
  const units = ["", "Ki", "Mi", "Gi", "Ti", "Pi"];
  let i = 0;
  for (; n >= 1024 && i + 1 < units.length; i++) n /= 1024;
  return `${Math.round(n * 10) / 10}${units[i]}`;
};
export const amounts = (all) => Object.entries(all || {}).filter(([k]) => k !== "pods").map(([k, v]) => `${v} ${k}`).join(", ");

export const meter = (used, all, text) => {
  const bar = el("i"), part = all > 0 ? Math.min(used / all, 1) : 0;
  bar.style.width = `${part * 100}%`;
  if (part >= 0.9) bar.className = "full";
  return el("span", { class: "row" }, el("span", { class: "meter", role: "img", "aria-label": text }, bar), text);
};

// ---- states ----

const moods = {
  good: ["Completed", "Succeeded", "Ready", "Open"], busy: ["Running", "Inqueue", "ContainerCreating", "Completing"],
  wait: ["Pending", "Unknown", "Restarting", "Aborting", "Terminating", "Closing", "Unschedulable", "SchedulingDisabled"],
  bad: ["Failed", "Terminated", "NotReady", "Error", "OOMKilled", "CrashLoopBackOff", "ImagePullBackOff", "Evicted"],
};
export const moodOf = (word) => Object.keys(moods).find((m) => moods[m].includes(word)) || "rest";
export const state = (word) => el("span", { class: `state ${moodOf(word)}` }, word || "…");

// The STATUS of a pod as in kubectl.
export const podStatus = (pod) => {
  const s = pod.status || {};
  if (pod.metadata.deletionTimestamp) return "Terminating";
  for (const c of [...(s.initContainerStatuses || []), ...(s.containerStatuses || [])]) {
    const { waiting, terminated } = c.state || {};
    if (waiting && waiting.reason) return waiting.reason;
    if (terminated && terminated.exitCode) return terminated.reason || "Error";
  }
  return s.reason || s.phase || "Pending";
};
export const restartsOf = (pod) => ((pod.status || {}).containerStatuses || []).reduce((n, c) => n + c.restartCount, 0);
export const isOver = (pod) => ["Succeeded", "Failed"].includes((pod.status || {}).phase);

// ---- tables ----

// Natural order: w-2 comes before w-10.
const collator = new Intl.Collator("en", { numeric: true });
export const compare = (a, b) => (typeof a === "string" ? collator.compare(a, b) : a - b);

const SHOWN = 500;
const orders = new Map(); // by table: which column, and which way

// A column: [head, cell, {order, number, less, wide}]; `cell` returns text or an element, `order` the sort key.
export const table = (id, columns, rows, { key, empty, redraw }) => {
  if (!rows.length) return el("p", { class: "faint" }, empty);
  const order = orders.get(id);
  if (order) {
    const by = columns[order.column][2].order, way = order.isDown ? -1 : 1;
    rows = [...rows].sort((a, b) => way * compare(by(a), by(b)));
  }
  const shape = (o = {}) => [o.number && "number", o.less && "less", o.wide && "wide"].filter(Boolean).join(" ") || null;
  const turn = (column) => {
    const old = orders.get(id);
    orders.set(id, { column, isDown: old && old.column === column && !old.isDown });
    redraw();
  };
  const sortOf = (i) => (order && order.column === i ? (order.isDown ? "descending" : "ascending") : null);
  const head = columns.map(([text, , o], i) => el("th", { class: shape(o), scope: "col", "aria-sort": sortOf(i) },
    o && o.order ? el("button", { type: "button", onclick: () => turn(i) }, text, sortOf(i) === "ascending" ? " ▲" :
      sortOf(i) === "descending" ? " ▼" : "") : text));
  const body = rows.slice(0, SHOWN).map((row) => el("tr", { "data-key": key(row) },
    columns.map(([, cell, o]) => el("td", { class: shape(o) }, cell(row)))));
  return [el("div", { class: "scroll" }, el("table", { id }, el("thead", {}, el("tr", {}, head)), el("tbody", {}, body))),
    rows.length > SHOWN && el("p", { class: "faint more" }, `${SHOWN} of ${rows.length} are shown: filter for the others.`)];
};

export const facts = (pairs) => el("dl", { class: "facts" }, pairs.filter(([, v]) => v !== "" && v !== undefined && v !== null)
  .map(([k, v]) => [el("dt", {}, k), el("dd", {}, v)]));

// Replaces the content, and keeps the selected row and the focus.
export const renew = (out, ...parts) => {
  const chosen = out.querySelector("tr[aria-selected=true]")?.dataset.key, focused = out.contains(document.activeElement) && document.activeElement;
  const likes = (node) => [...out.querySelectorAll(node.tagName)].filter((n) => n.textContent === node.textContent);
  const rank = focused ? likes(focused).indexOf(focused) : -1;
  out.replaceChildren(...parts.flat(9).filter((c) => c !== null && c !== undefined && c !== false));
  for (const row of chosen ? out.querySelectorAll("tr[data-key]") : []) if (row.dataset.key === chosen) row.setAttribute("aria-selected", "true");
  if (rank >= 0) likes(focused)[rank]?.focus({ preventScroll: true });
};

// ---- dialogs ----

// A question with its details; true if the answer is yes.
export const ask = (title, details, yes, isDanger) => new Promise((resolve) => {
  const dialog = document.getElementById("dialog");
  const end = (answer) => { dialog.close(); resolve(answer); };
  dialog.oncancel = () => resolve(false);
  dialog.replaceChildren(el("h1", {}, title), ...[details].flat(), el("div", { class: "row" },
    el("button", { type: "button", onclick: () => end(false) }, yes ? "Cancel" : "Close"),
    yes && el("button", { type: "button", class: isDanger ? "danger" : "primary", onclick: () => end(true) }, yes)));
  dialog.showModal();
});
